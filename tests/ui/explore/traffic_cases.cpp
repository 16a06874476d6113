// The traffic panel: bytes of three algorithms, on-chip memory, the roofline.
#include <array>
#include <string_view>

#include "kernels/experiment/traffic.h"
#include "tests/ui/cases.h"
#include "ui/statistics/traffic.h"
#include "ui/words/units.h"

namespace attoscope::testing {
namespace {

const std::string panel = "//Statistics/";

Session with_traffic() {
  Session session = small_session();
  session.view.detail = Detail::traffic;
  return session;
}

void machines(Hand& hand) {
  hand.stage.resize(1600, 1000);
  hand.open(with_traffic());
  for (const std::size_t i : {1u, 2u, 3u, 0u})
    hand.changes(
        std::string(data_sheets[i].name), [&] { hand.choose(panel + "##machine", std::string(data_sheets[i].name)); },
        [&](Session& s) { s.view.machine = static_cast<Machine>(i); });
}

void rows(Hand& hand) {
  hand.stage.resize(1600, 1000);
  hand.open(with_traffic());
  for (const char* name : {"Algorithm 0", "FA-1", "FA-2", "on chip", "roofline"}) {
    hand.check(hand.exists(panel + name), std::string(name) + " is there");
    hand.leaves(std::string("a click on ") + name, [&] { hand.click(panel + name); });
  }
}

/// M is a line over the tiles: another M is another picture.
void state(Hand& hand) {
  hand.stage.resize(1600, 1000);
  hand.open(with_traffic());
  const Picture wide = hand.picture();
  hand.view().on_chip_elements = 100;
  const Picture narrow = hand.picture();
  hand.check(wide.rgb != narrow.rgb, "M is seen");
}

void extremes(Hand& hand) {
  struct Extreme {
    int n, d, block_q, block_k, window, M;
  };
  for (const auto& [n, d, block_q, block_k, window, M] :
       {Extreme{1, 1, 1, 1, 1, 1}, Extreme{96, 16, 1, 2048, 4000, 1 << 30}, Extreme{300, 3, 2048, 1, 2, 24576}})
    for (const auto kind : {Mask::Kind::none, Mask::Kind::padding}) {
      Session session = with_traffic();
      Problem& p = session.experiment.problem;
      p.n = n, p.d = d;
      p.mask = {kind, window};  // a padding of all keys leaves no pair and no operation
      session.experiment.a.block_q = block_q, session.experiment.a.block_k = block_k;
      session.view.on_chip_elements = M;
      hand.open(session);
      for (const auto& [width, height] : {std::pair{1280, 800}, std::pair{1920, 1080}, std::pair{800, 500}}) {
        hand.stage.resize(width, height);
        hand.frames(3);
        for (const float y : {0.55f, 0.6f, 0.65f, 0.7f})
          hand.move({static_cast<float>(width) - 100, y * static_cast<float>(height)});
      }
    }
  hand.stage.told = PanelInput{};
  hand.frames(3);
  hand.check(hand.well(), "no answer");
}

/// The numbers that are drawn, against the kernels' own.
void numbers(Hand& hand) {
  Session session = with_traffic();
  session.experiment.a.algorithm = Algorithm::flash1;
  hand.open(session);
  const Result& r = *hand.stage.panel_input().answer.result;
  const Palette& colours = palette(Theme::dark);
  const TrafficOfAll all = traffic_of_all(r, colours);
  const double n = 96, d = 16;
  hand.check(all[0].bytes == 2 * (4 * n * d + 4 * n * n), "Algorithm 0 writes S and P");
  hand.check(all[1].bytes == 2 * (2 * n * d + 6 * n * (3 * d + 4)), "FA-1 has six tiles of keys");
  hand.check(all[2].bytes == 2 * (2 * n * d + n + 6 * 2 * n * d), "FA-2 has six tiles of queries");
  for (const TrafficOf& t : all) {
    hand.check(t.counted.ends_with(bytes_text(t.bytes)) || t.counted.find(bytes_text(t.bytes) + "\n") != std::string::npos,
               t.counted);
    hand.check(t.intensity == 4 * n * n * d / t.bytes, std::string(t.name) + " does 4 N^2 d");
  }
  hand.check(all[1].colour == colours.a && all[0].colour == colours.b, "a is FA-1 and b is Algorithm 0");
  hand.check(all[2].colour != colours.a && all[2].colour != colours.b, "nobody is FA-2");
  const DataSheet& h200 = data_sheets[static_cast<std::size_t>(Machine::h200)];
  hand.check(least_seconds({.bytes = 4.8e12}, 1, h200) == 1, "4.8 TB take a second");
  hand.check(least_seconds({.bytes = 1}, 989e12, h200) == 1, "989 Tflop take a second");
  hand.check(bytes_text(999) == "999 B" && bytes_text(4456448) == "4.46 MB" && bytes_text(999.9e6) == "1.00 GB",
             "three digits");
  hand.check(seconds_text(2.19e-6) == "2.19 µs" && seconds_text(12) == "12.0 s", "and a unit");
}

/// Elements and scales count with their own sizes.
void stored(Hand& hand) {
  Session session = with_traffic();
  session.experiment.a.algorithm = Algorithm::flash2;
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  hand.open(session);
  const double n = 96, d = 16, K = 1 + 4 / d;
  const TrafficOfAll all = traffic_of_all(*hand.stage.panel_input().answer.result, palette(Theme::dark));
  hand.check(all[2].bytes == n * d * (2 + 2) + n * 2 + 6 * n * d * (K + 2),
             "FA-2 reads six times K in int8 with a scale a row");
  for (const TrafficOf& t : all) {
    hand.check(t.counted.find("K 1.25 B a number as stored, scales included") != std::string::npos, t.counted);
    hand.check(t.counted.find(bytes_text(t.bytes)) != std::string::npos, t.counted);
  }
  hand.check(all[2].counted.find("+ 576 * (16 * 1.25 + 16 * 2) B") != std::string::npos, all[2].counted);
}

/// The loop stands in place of bars and roofline, and moves with the scrubber of the recurrence.
void loop(Hand& hand) {
  hand.stage.resize(1600, 1000);
  hand.open(with_traffic());
  hand.leaves("a click on loop", [&] { hand.click(panel + "##loop"); });
  hand.frames(2);
  hand.check(hand.exists(panel + "loop picture") && !hand.exists(panel + "roofline"), "the loop is there");
  hand.view().scrubbed_tile = 0;
  hand.frames(2);
  hand.move({2, 2});
  const Picture first = hand.picture();
  hand.view().scrubbed_tile = 3;
  hand.frames(2);
  hand.check(hand.picture().rgb != first.rgb, "another tile is another picture");
  hand.leaves("and back", [&] { hand.click(panel + "##loop"); });
  hand.frames(2);
  hand.check(hand.exists(panel + "roofline"), "the roofline is back");
}

constexpr std::array cases{
    Case{"traffic", "machines", machines}, Case{"traffic", "rows", rows},       Case{"traffic", "memory", state},
    Case{"traffic", "extremes", extremes}, Case{"traffic", "numbers", numbers}, Case{"traffic", "loop", loop},
    Case{"traffic", "stored", stored},
};

}  // namespace

std::span<const Case> traffic_cases() { return cases; }

}  // namespace attoscope::testing
