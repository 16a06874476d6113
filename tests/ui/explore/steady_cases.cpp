// Stable parts while numbers change: the range of the colours while a slider moves, the picture's place, one line of the
// headline.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "app/files/files.h"
#include "app/tensors/npy.h"
#include "imgui_internal.h"
#include "kernels/compute.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/theme.h"

namespace attoscope::testing {
namespace {

const std::string picture = heatmap + "picture", second = heatmap + "second picture",
                  mantissa = controls + "main format/##mantissa";

double range_on_show(Hand& hand) { return colour_range(*hand.stage.state, hand.view()); }
/// The range of the shown values.
double range_of_values(Hand& hand) { return automatic_range(largest_shown(*hand.stage.state, hand.view())); }

/// Presses the mouse on the mantissa's slider and moves it there, without releasing it; the answer follows.
void hold_slider(Hand& hand, float at) {
  hand.move(hand.place(mantissa, 0.1f));
  hand.hold_mouse(true);
  hand.move(hand.place(mantissa, at));
  hand.settle();
}

void held_range(Hand& hand) {
  for (const PictureKind kind : {PictureKind::output, PictureKind::rescales}) {
    Session s = small_session();
    s.view.picture = kind;
    s.view.rescale_show = RescaleShow::amount;
    s.experiment.a.precision[Step::S] = to_main;
    hand.open(s);
    hand.frames(2);
    const double before = range_on_show(hand);
    hand.check(before == range_of_values(hand), "the range follows the values");
    hold_slider(hand, 0.02f);
    hand.check(hand.experiment().format.mantissa_bits < 3, "the slider moved");
    hand.check(range_of_values(hand) != before, "other values, other range");
    hand.check(range_on_show(hand) == before, "which is held while the slider is");
    hand.hold_mouse(false);
    hand.settle();
    hand.check(range_on_show(hand) == range_of_values(hand), "and followed when it is let go");
  }
}

/// Two fields in different units have a range each, and both are held.
void held_pair(Hand& hand) {
  Session s = small_session();
  s.view.comparison = Comparison::side_by_side;
  s.view.field = Field::a_error, s.view.second_field = Field::a_ulps;
  hand.open(s);
  hand.frames(2);
  const UiState& state = *hand.stage.state;
  const double first = range_on_show(hand), other = second_colour_range(state, hand.view());
  hand.check(first != other, "each has its own");
  hold_slider(hand, 0.02f);
  hand.check(range_on_show(hand) == first && second_colour_range(state, hand.view()) == other, "both are held");
  hand.check(automatic_range(static_cast<double>(state.second.largest)) != other,
             "though the second one's values changed, too");
  hand.hold_mouse(false);
  hand.settle();
  hand.check(second_colour_range(state, hand.view()) == automatic_range(static_cast<double>(state.second.largest)), "let go");
}

/// Shift+P fits the range to the values: a held one, and a fixed one.
void fitted_range(Hand& hand) {
  constexpr int fit = ImGuiMod_Shift | ImGuiKey_P;
  hold_slider(hand, 0.02f);
  hand.check(range_on_show(hand) != range_of_values(hand), "held");
  hand.key(fit);
  hand.frames(2);
  hand.check(range_on_show(hand) == range_of_values(hand), "fitted while the slider is held");
  hand.hold_mouse(false);
  hand.settle();
  hand.changes(
      "a fixed range", [&] { hand.fill(heatmap + "##range", "7"); },
      [](Session& s) { s.view.range_pinned = true, s.view.range = 7; });
  hand.changes("is fitted and stays fixed", [&] { hand.key(fit); }, [&](Session& s) { s.view.range = range_of_values(hand); });
  hand.check(hand.view().range < 7, "to the values");
}

/// The lock below the colour bar; a range other than the values' is marked beside the bar.
void lock(Hand& hand) {
  const auto still = [&] {
    hand.move({2, 2});
    return hand.picture().rgb;
  };
  const auto open = still();
  const double range = range_on_show(hand);
  hand.changes(
      "closed", [&] { hand.click(heatmap + "pin"); }, [&](Session& s) { s.view.range_pinned = true, s.view.range = range; });
  hand.check(still() != open, "the lock is seen to be closed");
  hand.changes("open", [&] { hand.click(heatmap + "pin"); }, [](Session& s) { s.view.range_pinned = false; });
  hand.check(hand.explained(hand.id(heatmap + "pin")), "and explained");
  hand.view().picture = PictureKind::rescales;
  hand.frames(30);
  hand.check(!hand.exists(heatmap + "pin"), "two colours have no range");
}

/// A right output of the small session as a file.
std::string right_output(const TemporaryDirectory& folder) {
  const Result r = compute(small_session().experiment);
  write_file(folder / "right.npy", npy_bytes(r.a.rows, r.a.cols, r.a.values.data()));
  return folder / "right.npy";
}

/// The picture's place: from its top left to its lower edge; and, for one picture, its right edge.
struct Place {
  ImVec2 from;
  float right, bottom;
};
Place place_of(Hand& hand) {
  hand.frames(5);
  const ImVec2 from = hand.place(picture, 0, 0), to = hand.place(picture, 1, 1);
  return {from, to.x, to.y};
}

/// Every comparison leaves the picture where it is.
void check_comparisons(Hand& hand, const Place& right, const std::string& what) {
  for (std::size_t i = 0; i < comparison_names.size(); ++i) {
    hand.view().comparison = static_cast<Comparison>(i);
    const Place now = place_of(hand);
    const bool beside = hand.view().comparison == Comparison::side_by_side;
    hand.check(now.from.x == right.from.x && now.from.y == right.from.y && now.bottom == right.bottom &&
                   (beside || now.right == right.right),
               what + ", " + std::string(comparison_names[i]) + ": the picture moved");
    if (beside) hand.check(hand.place(second, 0, 0).y == right.from.y, what + ": the second picture stands beside it");
  }
  hand.view().comparison = Comparison::none;
}

void await_scores(Hand& hand) {
  hand.check(eventually([&] { return hand.stage.panel_input().side.scores != nullptr; }, [&] { hand.frames(1); }), "scores");
}

void steady_place(Hand& hand) {
  const TemporaryDirectory folder;
  const std::string file = right_output(folder);
  for (const int width : {1280, 1600, 1920}) {
    hand.stage.resize(width, width == 1280 ? 800 : width == 1600 ? 1000 : 1080);
    hand.open(small_session());
    const Place right = place_of(hand);
    const std::string at = std::to_string(width) + " wide";
    check_comparisons(hand, right, at);
    for (const PictureKind kind : {PictureKind::rescales, PictureKind::scores}) {
      hand.view().picture = kind;
      hand.settle();
      if (kind == PictureKind::scores) await_scores(hand);
      hand.check(place_of(hand).from.y == right.from.y && place_of(hand).bottom == right.bottom,
                 at + ": another kind moved it");
    }
    hand.view().picture = PictureKind::output;
    hand.stage.explorer().open_dropped(hand.session(), {file});
    hand.settle();
    hand.check(eventually([&] { return shown_verdict(hand.stage.panel_input()) != nullptr; }, [&] { hand.frames(1); }),
               "a verdict");
    check_comparisons(hand, right, at + " with a loaded output");
  }
}

/// The verdict on a loaded output comes later than its answer, and again after every click: its buttons and its rows have
/// reserved room. The strip keeps its height, though it follows b.
void verdict_moves_nothing(Hand& hand) {
  const TemporaryDirectory folder;
  Session s = small_session();
  s.experiment.b = s.experiment.a;
  hand.open(s);
  hand.frames(3);
  const std::string plot = strip + "running max", numbers = "//Statistics/same bits";
  const float top = hand.place(plot, 0, 0).y, bottom = hand.place(plot, 0, 1).y;
  Result r = compute(s.experiment);
  r.a.values[37 * 16 + 5] += 3;
  write_file(folder / "wrong.npy", npy_bytes(96, 16, r.a.values.data()));
  hand.stage.explorer().open_dropped(hand.session(), {folder / "wrong.npy"});
  hand.settle();
  const auto known = [&] {
    const PanelInput input = hand.stage.panel_input();
    return shown_verdict(input) != nullptr && recurrence_answer(input) != input.answer.result;
  };
  hand.check(eventually(known, [&] { hand.frames(1); }), "a verdict, and b's recurrence");
  hand.frames(3);
  hand.check(hand.exists("//Statistics/###first wrong"), "the output is wrong");
  hand.check(hand.place(plot, 0, 0).y == top && hand.place(plot, 0, 1).y == bottom, "the strip is as high as without it");
  const ImVec2 table = hand.place(numbers, 0, 0), right = hand.place(plot, 1, 0);
  PanelInput before = hand.stage.panel_input();
  before.side.verdict = nullptr;
  hand.stage.told = before;
  for (const bool drawn : {true, false}) {  // the rows of an earlier verdict, or none
    if (!drawn) hand.stage.state->kernel_rows = nullptr;
    hand.frames(3);
    hand.check(!hand.exists("//Statistics/###first wrong"), "without a verdict");
    hand.check(hand.place(numbers, 0, 0).y == table.y, "the numbers stand where they will stand");
    hand.check(hand.place(plot, 1, 0).x == right.x, "and so do the plots");
  }
  hand.stage.told.reset();
}

/// Top, lower edge and width of the table of numbers.
std::array<float, 3> table_place() {
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->Active && std::string_view(window->Name).find("/deviations_") != std::string_view::npos)
      return {window->Pos.y, window->Pos.y + window->Size.y, window->Size.x};
  return {};
}

/// Loading an output, its verdict, and unloading it leave the table of numbers and the parts below it in place.
void output_moves_no_number(Hand& hand) {
  const TemporaryDirectory folder;
  Result r = compute(small_session().experiment);
  r.a.values[37 * 16 + 5] += 3;
  write_file(folder / "wrong.npy", npy_bytes(96, 16, r.a.values.data()));
  for (const ImVec2 size : {ImVec2{1280, 800}, ImVec2{1600, 1000}, ImVec2{2560, 1440}}) {
    hand.stage.resize(static_cast<int>(size.x), static_cast<int>(size.y));
    hand.open(small_session());
    hand.frames(20);
    const std::string at = " at " + std::to_string(static_cast<int>(size.x)), lower = "//Statistics/detail/why";
    const auto table = table_place();
    const float below = hand.place(lower, 0, 0).y;
    const auto stands = [&](const std::string& what) {
      hand.frames(3);
      hand.check(table[1] > table[0] && table_place() == table && hand.place(lower, 0, 0).y == below, what + at);
    };
    hand.stage.explorer().open_dropped(hand.session(), {folder / "wrong.npy"});
    hand.settle();
    stands("the output is loaded");
    hand.check(eventually([&] { return shown_verdict(hand.stage.panel_input()) != nullptr; }, [&] { hand.frames(1); }),
               "a verdict");
    stands("its verdict is there");
    hand.check(hand.exists("//Statistics/###first wrong"), "with the way to the first wrong row");
    hand.check(hand.place("//Statistics/same bits", 1, 1).y < table[0], "and the badge above the table");
    hand.click(controls + "kernel as/off");
    hand.settle();
    stands("it is put away");
  }
}

/// The controls are on one line if they fit, with legible fields.
void one_line(Hand& hand) {
  hand.stage.resize(1600, 1000);
  hand.view().comparison = Comparison::side_by_side;
  hand.frames(3);
  const float top = hand.place(heatmap + "##comparison", 0, 0).y;
  for (const char* item : {"##field", "##second field", "###scale", "##range", "##tiles", "##curves", "reset zoom"}) {
    const ImVec2 from = hand.place(heatmap + item, 0, 0.5f), to = hand.place(heatmap + item, 1, 0.5f);
    hand.check(std::abs(from.y - top - 12) <= 2, std::string(item) + " is on the first line");
    hand.check(to.x <= 1600 - 348 - 12, std::string(item) + " is not cut");
  }
  hand.check(hand.place(heatmap + "##field", 1, 0).x - hand.place(heatmap + "##field", 0, 0).x >= 120,
             "there is room for words");
}

/// The headline stands above the picture if the statistics are behind the controls; a click shows the rest.
void headline(Hand& hand) {
  const std::string line = heatmap + "headline", table = "//Statistics/detail/why";
  hand.frames(3);
  hand.check(!hand.exists(line), "the panel at the right has it");
  for (const int width : {1279, 900, 640}) {
    hand.stage.resize(width, 800);
    hand.frames(4);
    const std::string at = " at " + std::to_string(width);
    if (!hand.check(hand.exists(line), "the headline is there" + at)) continue;
    const ImVec2 from = hand.place(line, 0, 0), to = hand.place(line, 1, 1);
    const Picture p = hand.picture();
    const Colour text = palette(Theme::dark).text;
    int seen = 0;
    for (int y = static_cast<int>(from.y); y < static_cast<int>(to.y); ++y)
      for (int x = static_cast<int>(from.x); x < static_cast<int>(to.x); ++x) {
        const std::uint8_t* at_pixel = p.rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * p.width + x);
        seen += at_pixel[0] == (text & 255) && at_pixel[1] == (text >> 8 & 255) && at_pixel[2] == (text >> 16 & 255);
      }
    hand.check(seen > 40 && to.x <= static_cast<float>(width), "with its words" + at);
    hand.check(hand.place(picture, 0, 0).y >= to.y, "above the picture" + at);
  }
  hand.leaves("a click", [&] { hand.click(line); });
  hand.frames(3);
  hand.check(hand.exists(table), "shows the numbers");
}

constexpr std::array cases{
    Case{"steady", "range while a slider moves", held_range},
    Case{"steady", "two ranges while a slider moves", held_pair},
    Case{"steady", "range fitted by a key", fitted_range},
    Case{"steady", "lock of the range", lock},
    Case{"steady", "place of the picture", steady_place},
    Case{"steady", "a verdict moves nothing", verdict_moves_nothing},
    Case{"steady", "an output moves no number", output_moves_no_number},
    Case{"steady", "toolbar on one line", one_line},
    Case{"steady", "headline in a narrow window", headline},
};

}  // namespace

std::span<const Case> steady_cases() { return cases; }

}  // namespace attoscope::testing
