// The heat map: its values, its toolbar, the mouse in it, comparison of two fields, curves through a cell; and stable
// parts while numbers change.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "app/tensors/npy.h"
#include "imgui_internal.h"
#include "kernels/compute.h"
#include "tests/ui/cases.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/words/sentences.h"

namespace attoscope::testing::picture_cases {
namespace {

const std::string picture = heatmap + "picture", second = heatmap + "second picture", divider = heatmap + "divider";

/// The item of a field in a list of fields.
std::string item_of(Hand& hand, Field field) {
  return std::string(text(field).name) + "/     " + escaped(field_title(field, method_names(hand.experiment())));
}

CASE(picture, every_field) {
  Session session = small_session();
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  session.experiment.b.scaling.V = parse_scaling("e4m3/head");
  hand.open(session);
  for (int i = field_count - 1; i >= 0; --i) {
    const auto field = static_cast<Field>(i);
    if (field == Field::tolerance) continue;  // of a loaded output alone: verdict_cases.cpp
    const std::string item = item_of(hand, field);
    hand.changes(item, [&] { hand.choose(heatmap + "##field", item); }, [&](Session& s) { s.view.field = field; });
  }
}

/// Parts of an error are offered if a method stores with scales, or if one is shown.
CASE(picture, parts_of_an_error) {
  const std::string storage = "//$FOCUSED/" + item_of(hand, Field::a_storage);
  const auto is_offered = [&] {
    hand.click(heatmap + "##field");
    const bool offered = hand.exists(storage);
    hand.key(ImGuiKey_Escape);
    return offered;
  };
  hand.check(!is_offered(), "nothing is stored with scales");
  hand.show(&View::field, Field::a_storage);
  hand.check(is_offered(), "a shown field is in the list");
  hand.view().field = Field::a_error;
  hand.experiment().a.scaling.K = parse_scaling("int8/token");
  hand.settle();
  hand.check(is_offered(), "a stores K");
}

CASE(picture, scale_and_tiles) {
  hand.each({{heatmap + "###scale", [](Session& s) { s.view.scale = ValueScale::linear; }},
             {heatmap + "###scale", [](Session& s) { s.view.scale = ValueScale::log; }},
             {heatmap + "##tiles", [](Session& s) { s.view.show_tiles = true; }},
             {heatmap + "##tiles", [](Session& s) { s.view.show_tiles = false; }}});
}

CASE(picture, range) {
  const auto pinned = [](double value) { return [value](Session& s) { s.view.range_pinned = true, s.view.range = value; }; };
  const auto unpinned = [](Session& s) { s.view.range_pinned = false; };
  const std::string field = heatmap + "##range";
  hand.each({{field, pinned(0.25), "0.25"},
             {field, pinned(0.03), "±3e-2"},
             {heatmap + "pin", unpinned},
             {field, unpinned, "nothing"},
             {field, unpinned, "-0"},
             {field, unpinned, "inf"},
             {heatmap + "pin", [&](Session& s) { s.view.range_pinned = true, s.view.range = hand.view().range; }}});
  const double largest = hand.result()->a_error.max_abs;
  hand.check(hand.view().range >= largest && hand.view().range < 1.2 * largest, "the pinned range is the shown one");
  hand.show(&View::range, 2.5);
  hand.click(field);
  const ImGuiInputTextState* const typed = ImGui::GetInputTextState(hand.id(field));
  if (hand.check(typed != nullptr, "the field takes text")) hand.expect_text(typed->TextA.Data, "±2.5");
  hand.key(ImGuiKey_Escape);
}

CASE(picture, zoom) {
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
             "the zoom centres on the mouse: " + std::to_string(seen.row0) + " " + std::to_string(seen.row1));
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
  hand.check(seen == CellRect{}, "and out to the whole picture");
}

CASE(picture, pan_and_reset) {
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
  hand.check(after.col0 > before.col0 && after.row0 < before.row0, "the picture follows the mouse");
  hand.check(std::abs((after.row1 - after.row0) - (before.row1 - before.row0)) < 1e-9, "the zoom stays");
  hand.changes("double click", [&] { hand.press(at, 2); }, [](Session& s) { s.view.zoom = {}; });
  hand.wheel(at, 4);
  hand.changes("reset", [&] { hand.click(heatmap + "reset zoom"); }, [](Session& s) { s.view.zoom = {}; });
  hand.check(hand.disabled(heatmap + "reset zoom"), "nothing left to reset");
}

CASE(picture, click_a_cell) {
  const auto at = [&](int row, int col) {
    return hand.place(picture, (static_cast<float>(col) + 0.5f) / 16, (static_cast<float>(row) + 0.5f) / 96);
  };
  for (const auto& [row, col] : {std::pair{0, 0}, {40, 3}, {95, 15}}) {
    hand.press(at(row, col), [row = row, col = col](Session& s) {
      s.view.cell_row = s.experiment.problem.traced_row = row;
      s.view.cell_col = col;
    });
    hand.check(hand.result()->trace.row == row, "its row is traced");
    hand.frames(40);  // beyond a double click
  }
  hand.changes("click again", [&] { hand.press(at(95, 15)); }, [](Session& s) { s.view.cell_row = s.view.cell_col = -1; });
}

// --- two fields -------------------------------------------------------------------------------------------------------

CASE(comparison, ways_to_compare) {
  for (std::size_t i = comparison_names.size(); i-- > 0;)
    hand.choose(heatmap + "##comparison", "###" + std::string(comparison_names[i]),
                [&](Session& s) { s.view.comparison = static_cast<Comparison>(i); });
  for (std::size_t i = 1; i <= comparison_names.size(); ++i)
    hand.key(ImGuiKey_V, [&](Session& s) { s.view.comparison = static_cast<Comparison>(i % comparison_names.size()); });
}

CASE(comparison, second_field) {
  hand.check(!hand.exists(heatmap + "##second field"), "one picture has no second field");
  hand.show(&View::comparison, Comparison::swipe);
  for (const Field field : {Field::golden, Field::a_ulps, Field::a_error}) {
    const std::string item = item_of(hand, field);
    hand.choose(heatmap + "##second field", item, [&](Session& s) { s.view.second_field = field; });
    hand.check(hand.stage.state->second.field == field, "the second field has its values");
  }
  hand.changes("swap", [&] { hand.key(ImGuiKey_B); }, [](Session& s) { std::swap(s.view.field, s.view.second_field); });
}

CASE(comparison, side_by_side) {
  hand.show(&View::comparison, Comparison::side_by_side);
  const ImVec2 at = hand.place(second, 0.5f, 0.5f);
  CellRect zoom{};
  hand.changes(
      "wheel over the second",
      [&] {
        hand.wheel(at, 4);
        zoom = hand.view().zoom;
      },
      [&](Session& s) { s.view.zoom = zoom; });
  hand.check(zoom.row1 > zoom.row0 && zoom.row1 - zoom.row0 < 96, "zooms both");
  const UiState& state = *hand.stage.state;
  hand.check(state.heat.rect == zoom && state.second.rect == zoom, "both show the same cells");
  hand.show(&View::zoom, {});
  hand.press(hand.place(second, 3.5f / 16, 40.5f / 96), [](Session& s) {
    s.view.cell_row = s.experiment.problem.traced_row = 40;
    s.view.cell_col = 3;
  });
}

CASE(comparison, swipe) {
  hand.show(&View::comparison, Comparison::swipe);
  const float left = hand.place(picture, 0).x, right = hand.place(picture, 1).x;
  const auto drag_to = [&](float x) {
    const ImVec2 grip = hand.place(divider, 0.5f, 0.3f);
    hand.drag(grip, {x, grip.y}, [&](Session& s) { s.view.swipe = hand.view().swipe; });
  };
  drag_to(left + 0.8f * (right - left));
  hand.check(std::abs(hand.view().swipe - 0.8) < 0.02, "the swipe follows the mouse");
  drag_to(left - 30);
  hand.check(hand.view().swipe == 0, "the swipe stops at the edge");
}

CASE(comparison, flicker) {
  const auto changes_by_itself = [&] {
    const Picture before = hand.picture();
    for (int i = 0; i < 12; ++i) {
      hand.frames(4);
      if (hand.picture().rgb != before.rgb) return true;
    }
    return false;
  };
  hand.frames(60);
  hand.check(!changes_by_itself(), "one picture stands still");
  hand.view().comparison = Comparison::flicker;
  hand.check(changes_by_itself(), "flicker takes turns");
}

CASE(comparison, range_of_two_fields) {
  hand.show(&View::comparison, Comparison::side_by_side);
  const UiState& state = *hand.stage.state;
  const double largest = std::max(state.heat.largest, state.second.largest);
  const double range = colour_range(state, hand.view());
  hand.check(range >= largest && range < 1.2 * largest, "both errors have the range of the larger one");
  hand.show(&View::second_field, Field::golden);
  const double alone = colour_range(state, hand.view());
  hand.check(alone >= static_cast<double>(state.heat.largest) && alone < 1.2 * static_cast<double>(state.heat.largest),
             "fields of different kinds have their own ranges");
}

CASE(comparison, curves_through_a_cell) {
  hand.changes("curves", [&] { hand.click(heatmap + "##curves"); }, [](Session& s) { s.view.profiles = true; });
  hand.move(hand.place(picture, 3.5f / 16, 40.5f / 96));
  hand.frames(2);
  const UiState& state = *hand.stage.state;
  const Result& r = *state.heat.result;
  hand.check(state.profiles.row == 40 && state.profiles.col == 3, "curves pass through the cell under the mouse");
  const ProfileCurve& a = state.profiles.along_row.back();
  const ProfileCurve& down = state.profiles.along_col.back();
  hand.check(a.values.size() == 16 && down.values.size() == 96, "over every cell of the row and of the column");
  for (int c = 0; c < 16; ++c)
    hand.check(a.values[static_cast<std::size_t>(c)] == static_cast<float>(r.a(40, c) - (*r.golden)(40, c)),
               "the error of a along the row");
  for (int row = 0; row < 96; ++row)
    hand.check(down.values[static_cast<std::size_t>(row)] == static_cast<float>(r.a(row, 3) - (*r.golden)(row, 3)),
               "the error of a down the column");
  hand.show(&View::field, Field::a);
  hand.check(state.profiles.along_row.size() == 3, "golden and the other output have curves, too");
  hand.changes("key X", [&] { hand.key(ImGuiKey_X); }, [](Session& s) { s.view.profiles = false; });
}

/// Side by side each picture has its own field's curve.
CASE(comparison, own_curves_side_by_side) {
  hand.view().comparison = Comparison::side_by_side;
  hand.show(&View::profiles, true, 3);
  const auto names = method_names(hand.experiment());
  const auto check = [&](const ProfileState& curves, Field field) {
    hand.check(
        curves.along_row.size() == 1 && curves.along_col.size() == 1 && curves.along_row[0].name == field_title(field, names),
        "one curve, of the picture's field");
  };
  check(hand.stage.state->profiles, Field::a_error);
  check(hand.stage.state->second_profiles, Field::b_error);
}

CASE(comparison, curves_keep_extremes) {
  std::vector<float> values;
  for (int i = 0; i < 997; ++i) values.push_back(std::sin(static_cast<float>(i) * 0.37f) + (i == 613 ? 50.0f : 0.0f));
  values[100] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [from, to, pixels] :
       {std::tuple{0.0, 997.0, 64}, {12.3, 700.9, 131}, {600.0, 620.0, 400}, {-5.0, 1100.0, 33}}) {
    const std::vector<Extremes> found = extremes(values, from, to, pixels);
    hand.check(static_cast<int>(found.size()) == pixels, "one pair a pixel");
    for (int p = 0; p < pixels; ++p) {
      const double low = from + p * (to - from) / pixels, high = from + (p + 1) * (to - from) / pixels;
      float least = std::numeric_limits<float>::infinity(), largest = -least;
      for (int i = 0; i < 997; ++i)
        if (i < high - 1e-6 && i + 1 > low + 1e-6) {
          least = values[static_cast<std::size_t>(i)] < least ? values[static_cast<std::size_t>(i)] : least;
          largest = values[static_cast<std::size_t>(i)] > largest ? values[static_cast<std::size_t>(i)] : largest;
        }
      const Extremes& e = found[static_cast<std::size_t>(p)];
      hand.check(e.least == least && e.largest == largest, "least and largest of the values under the pixel");
    }
  }
}

// --- stable parts -----------------------------------------------------------------------------------------------------

double range_on_show(Hand& hand) { return colour_range(*hand.stage.state, hand.view()); }
/// The automatic range for the shown values.
double range_of_values(Hand& hand) { return automatic_range(largest_shown(*hand.stage.state, hand.view())); }

/// Drags the mantissa's slider to `at` without releasing the mouse, and waits for the answer.
void hold_slider(Hand& hand, float at) {
  const std::string mantissa = controls + "main format/##mantissa";
  hand.move(hand.place(mantissa, 0.1f));
  hand.hold_mouse(true);
  hand.move(hand.place(mantissa, at));
  hand.settle();
}

CASE(steady, range_while_a_slider_moves) {
  for (const PictureKind kind : {PictureKind::output, PictureKind::rescales}) {
    Session s = small_session();
    s.view.picture = kind;
    s.view.rescale_show = RescaleShow::amount;
    s.experiment.a.precision[Step::S] = to_main;
    hand.open(s, 2);
    const double before = range_on_show(hand);
    hand.check(before == range_of_values(hand), "the range follows the values");
    hold_slider(hand, 0.02f);
    hand.check(hand.experiment().format.mantissa_bits < 3, "the slider moved");
    hand.check(range_of_values(hand) != before, "other values, other range");
    hand.check(range_on_show(hand) == before, "the range stays while the slider is held");
    hand.hold_mouse(false);
    hand.settle();
    hand.check(range_on_show(hand) == range_of_values(hand), "after the release it follows the values");
  }
}

CASE(steady, fields_that_share_a_range) {
  hand.check(same_unit(Field::a_error, Field::b_storage) && same_unit(Field::a_ulps, Field::b_ulps), "errors of one unit");
  hand.check(!same_unit(Field::tolerance, Field::b_error) && !same_unit(Field::a_ulps, Field::a_abs), "other units");
}

/// Shift+P fits a held or a fixed range to the values.
CASE(steady, range_fitted_by_a_key) {
  constexpr int fit = ImGuiMod_Shift | ImGuiKey_P;
  hold_slider(hand, 0.02f);
  hand.check(range_on_show(hand) != range_of_values(hand), "the range is held");
  hand.key(fit);
  hand.frames(2);
  hand.check(range_on_show(hand) == range_of_values(hand), "fitted while the slider is held");
  hand.hold_mouse(false);
  hand.settle();
  hand.fill(heatmap + "##range", "7", [](Session& s) { s.view.range_pinned = true, s.view.range = 7; });
  hand.key(fit, [&](Session& s) { s.view.range = range_of_values(hand); });
  hand.check(hand.view().range < 7, "a fixed range is fitted to the values and stays fixed");
}

/// The verdict on a loaded output comes later than its answer, and again after every click: its buttons and its rows have
/// reserved room, and unloading moves nothing either.
CASE(steady, a_verdict_moves_nothing) {
  Session s = small_session();
  s.experiment.b = s.experiment.a;
  hand.open(s);
  const std::string plot = strip + "running max", lower = "//Statistics/detail/why";
  hand.await("the recurrence is drawn", [&] { return hand.exists(plot); });
  hand.frames(20);
  const auto places = [&] {
    return std::array{hand.place(plot, 0, 0).y, hand.place(plot, 0, 1).y, hand.place(picture, 0, 0).y,
                      hand.place(picture, 0, 1).y, hand.place(lower, 0, 0).y};
  };
  const auto before = places();
  const auto stands = [&](const std::string& what) {
    hand.frames(3);
    hand.await(what + ", and the strip is drawn", [&] { return hand.exists(plot); });  // a worker computes b's row
    hand.check(places() == before, what + ": strip, picture and table stay");
  };
  Result r = compute(s.experiment);
  r.a.values[37 * 16 + 5] += 3;
  hand.drop({hand.folder.write("wrong.npy", npy_bytes(96, 16, r.a.values.data()))});
  stands("the output is loaded");
  const auto known = [&] {
    const PanelInput input = hand.stage.panel_input();
    return shown_verdict(input) != nullptr && recurrence_answer(input) != input.answer.result;
  };
  hand.await("a verdict, and b's recurrence", known);
  stands("its verdict is there");
  hand.check(hand.exists("//Statistics/###first wrong"), "the output is wrong");
  const float right = hand.place(plot, 1, 0).x;
  hand.tell().side.verdict = nullptr;
  for (const bool drawn : {true, false}) {  // the rows of an earlier verdict, or none
    if (!drawn) hand.stage.state->kernel_rows = nullptr;
    stands("without a verdict");
    hand.check(!hand.exists("//Statistics/###first wrong") && hand.place(plot, 1, 0).x == right, "the plots keep their width");
  }
  hand.stage.told.reset();
  hand.click(controls + "kernel as/off", settled);
  stands("it is put away");
}

/// The headline is above the picture if the statistics are a tab behind the controls; a click on it shows them.
CASE(steady, headline_in_a_narrow_window) {
  hand.frames(3);
  hand.check(!hand.exists(heatmap + "headline"), "the right panel has the headline");
  hand.resize(900, 800, 4);
  const auto height = [&] { return hand.place(heatmap + "headline", 0, 1).y - hand.place(heatmap + "headline", 0, 0).y; };
  const float in_one_line = height();
  PanelSizes sizes = hand.view().panels;
  sizes.left = 640;
  hand.show(&View::panels, sizes, 4);
  hand.check(height() == in_one_line + line_height(Face::body), "in less room its sentence has a line of its own");
  hand.leaves("a click", [&] { hand.click(heatmap + "headline"); });
  hand.frames(3);
  hand.check(hand.exists("//Statistics/detail/why"), "a click shows the numbers");
}

}  // namespace

}  // namespace attoscope::testing::picture_cases
