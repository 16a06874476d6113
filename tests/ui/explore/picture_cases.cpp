// The heat map: its values, and the mouse in it.
#include <array>
#include <cmath>

#include "tests/ui/cases.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string picture = heatmap + "picture";

/// A label as a part of a path: its slashes are escaped.
std::string escaped(const std::string& label) {
  std::string part;
  for (const char c : label) part += c == '/' ? std::string("\\/") : std::string(1, c);
  return part;
}

void fields(Hand& hand) {
  Session session = small_session();
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  session.experiment.b.scaling.V = parse_scaling("e4m3/head");
  hand.open(session);
  for (int i = field_count - 1; i >= 0; --i) {
    const auto field = static_cast<Field>(i);
    if (field == Field::tolerance) continue;  // of a loaded output alone: verdict_cases.cpp
    const std::string item =
        std::string(text(field).name) + "/     " + escaped(field_title(field, method_names(hand.experiment())));
    hand.changes(item, [&] { hand.choose(heatmap + "##field", item); }, [&](Session& s) { s.view.field = field; });
  }
}

/// Parts of an error are offered if a method stores with scales; a chosen part without storage is drawn and explained.
void parts(Hand& hand) {
  hand.open(small_session());
  const std::string storage = "//$FOCUSED/a_storage/     storage of " + escaped(method_names(hand.experiment()).a);
  const auto is_offered = [&] {
    hand.click(heatmap + "##field");
    const bool offered = hand.exists(storage);
    hand.key(ImGuiKey_Escape);
    return offered;
  };
  hand.check(!is_offered(), "nothing is stored with scales");
  hand.view().field = Field::a_storage;
  hand.frames(2);
  hand.check(is_offered(), "what is shown is in the list");
  const Picture nothing = hand.picture();
  hand.experiment().a.scaling.K = parse_scaling("int8/token");
  hand.settle();
  hand.check(is_offered(), "a stores K");
  hand.check(hand.picture().rgb != nothing.rgb, "what storage does is seen");
}

void scale_and_tiles(Hand& hand) {
  hand.changes("linear", [&] { hand.click(heatmap + "###scale"); }, [](Session& s) { s.view.scale = ValueScale::linear; });
  hand.changes("log", [&] { hand.click(heatmap + "###scale"); }, [](Session& s) { s.view.scale = ValueScale::log; });
  hand.changes("tiles", [&] { hand.click(heatmap + "##tiles"); }, [](Session& s) { s.view.show_tiles = true; });
  hand.changes("no tiles", [&] { hand.click(heatmap + "##tiles"); }, [](Session& s) { s.view.show_tiles = false; });
}

void range(Hand& hand) {
  const auto pins = [&](const std::string& text, double value) {
    hand.changes(
        "range " + text, [&] { hand.fill(heatmap + "##range", text); },
        [&](Session& s) { s.view.range_pinned = true, s.view.range = value; });
  };
  pins("0.25", 0.25);
  pins("±3e-2", 0.03);
  hand.changes("unpinned", [&] { hand.click(heatmap + "pin"); }, [](Session& s) { s.view.range_pinned = false; });
  double shown = 0;
  hand.changes(
      "pinned",
      [&] {
        hand.click(heatmap + "pin");
        shown = hand.view().range;
      },
      [&](Session& s) { s.view.range_pinned = true, s.view.range = shown; });
  const double largest = hand.stage.panel_input().answer.result->a_error.max_abs;
  hand.check(shown >= largest && shown < 1.2 * largest, "what is pinned is what was shown");
  for (const char* text : {"nothing", "-0", "inf"})
    hand.changes(
        std::string("range ") + text, [&] { hand.fill(heatmap + "##range", text); },
        [](Session& s) { s.view.range_pinned = false; });
}

void zoom(Hand& hand) {
  const ImVec2 middle = hand.place(picture, 0.5f, 0.5f);
  CellRect seen{};
  const auto wheel = [&](float by) {
    hand.changes(
        "wheel",
        [&] {
          hand.wheel(middle, by);
          seen = hand.view().zoom;
        },
        [&](Session& s) { s.view.zoom = seen; });
  };
  wheel(3);
  hand.check(seen.row1 - seen.row0 < 96 && seen.col1 - seen.col0 < 16, "the wheel zooms in");
  hand.check(std::abs((seen.row0 + seen.row1) / 2 - 48) < 1,
             "about the mouse: " + std::to_string(seen.row0) + " " + std::to_string(seen.row1));
  const CellRect near = seen;
  hand.hold_key(ImGuiMod_Shift, true);
  wheel(1);
  hand.hold_key(ImGuiMod_Shift, false);
  hand.check(seen.row0 == near.row0 && seen.row1 == near.row1 && seen.col1 - seen.col0 < near.col1 - near.col0,
             "with Shift the columns alone");
  const CellRect narrow = seen;
  hand.hold_key(ImGuiMod_Ctrl, true);
  wheel(1);
  hand.hold_key(ImGuiMod_Ctrl, false);
  hand.check(seen.col0 == narrow.col0 && seen.row1 - seen.row0 < narrow.row1 - narrow.row0, "with Ctrl the rows alone");
  wheel(60);
  hand.check(std::abs(seen.row1 - seen.row0 - 4) < 1e-9 && std::abs(seen.col1 - seen.col0 - 2) < 1e-9, "to 4 x 2 cells");
  wheel(-60);
  hand.check(seen == CellRect{}, "and out to all of it");
}

void pan_and_reset(Hand& hand) {
  const ImVec2 at = hand.place(picture, 0.5f, 0.5f);
  hand.leaves("drag of the whole", [&] { hand.drag(at, {at.x + 60, at.y + 60}); });
  hand.wheel(at, 4);
  const CellRect before = hand.view().zoom;
  CellRect after{};
  hand.changes(
      "drag",
      [&] {
        hand.drag(at, {at.x - 40, at.y + 30});
        after = hand.view().zoom;
      },
      [&](Session& s) { s.view.zoom = after; });
  hand.check(after.col0 > before.col0 && after.row0 < before.row0, "the picture follows the hand");
  hand.check(std::abs((after.row1 - after.row0) - (before.row1 - before.row0)) < 1e-9, "and keeps its scale");
  hand.changes("double click", [&] { hand.press(at, 2); }, [](Session& s) { s.view.zoom = {}; });
  hand.wheel(at, 4);
  hand.changes("reset", [&] { hand.click(heatmap + "reset zoom"); }, [](Session& s) { s.view.zoom = {}; });
  hand.check(hand.disabled(heatmap + "reset zoom"), "nothing left to reset");
}

void click_a_cell(Hand& hand) {
  const auto at = [&](int row, int col) {
    return hand.place(picture, (static_cast<float>(col) + 0.5f) / 16, (static_cast<float>(row) + 0.5f) / 96);
  };
  for (const auto& [row, col] : {std::pair{0, 0}, std::pair{40, 3}, std::pair{95, 15}}) {
    hand.changes(
        "click", [&, row = row, col = col] { hand.press(at(row, col)); },
        [row = row, col = col](Session& s) {
          s.view.cell_row = s.experiment.problem.traced_row = row;
          s.view.cell_col = col;
        });
    hand.check(hand.stage.panel_input().answer.result->trace.row == row, "its row is traced");
    hand.frames(40);  // beyond a double click
  }
  hand.changes("click again", [&] { hand.press(at(95, 15)); }, [](Session& s) { s.view.cell_row = s.view.cell_col = -1; });
}

void hover(Hand& hand) {
  const Picture before = hand.picture();
  hand.leaves("hover", [&] { hand.move(hand.place(picture, 0.3f, 0.6f)); });
  hand.check(hand.picture().rgb != before.rgb, "the read-out appears");
}

void pictures(Hand& hand) {
  const auto colours_in_the_picture = [&] {
    const ImVec2 from = hand.place(picture, 0, 0), to = hand.place(picture, 1, 1);
    const Picture all = hand.picture();
    std::vector<int> found;
    for (int y = static_cast<int>(from.y); y < static_cast<int>(to.y); y += 3)
      for (int x = static_cast<int>(from.x); x < static_cast<int>(to.x); x += 3) {
        const std::uint8_t* p = &all.rgb[(static_cast<std::size_t>(y) * all.width + x) * 3];
        found.push_back(p[0] << 16 | p[1] << 8 | p[2]);
      }
    std::sort(found.begin(), found.end());
    return std::unique(found.begin(), found.end()) - found.begin();
  };
  std::vector<std::uint8_t> last;
  for (int i = 0; i < static_cast<int>(Field::a_storage); ++i) {
    hand.view().field = static_cast<Field>(i);
    hand.check(colours_in_the_picture() > 60, std::string(text(hand.view().field).name) + " has many colours");
    const Picture now = hand.picture();
    hand.check(now.rgb != last, "another field, another picture");
    last = now.rgb;
  }
  for (const auto change : {+[](View& v) { v.scale = ValueScale::linear; }, +[](View& v) { v.show_tiles = true; },
                            +[](View& v) { v.theme = Theme::light; }, +[](View& v) { v.range_pinned = true; }}) {
    change(hand.view());
    const Picture now = hand.picture();
    hand.check(now.rgb != last, "a change of the view is seen");
    last = now.rgb;
  }
}

constexpr std::array cases{
    Case{"picture", "fields", fields},
    Case{"picture", "parts of an error", parts},
    Case{"picture", "scale and tiles", scale_and_tiles},
    Case{"picture", "range", range},
    Case{"picture", "zoom", zoom},
    Case{"picture", "pan, reset", pan_and_reset},
    Case{"picture", "click a cell", click_a_cell},
    Case{"picture", "hover", hover},
    Case{"picture", "pixels", pictures},
};

}  // namespace

std::span<const Case> picture_cases() { return cases; }

}  // namespace attoscope::testing
