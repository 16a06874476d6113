// Two fields compared, and the curves through a cell.
#include <array>
#include <cmath>
#include <limits>

#include "tests/ui/cases.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/profiles.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string picture = heatmap + "picture", second = heatmap + "second picture", divider = heatmap + "divider";

void comparisons(Hand& hand) {
  for (std::size_t i = comparison_names.size(); i-- > 0;)
    hand.changes(
        std::string(comparison_names[i]),
        [&] { hand.choose(heatmap + "##comparison", "###" + std::string(comparison_names[i])); },
        [&](Session& s) { s.view.comparison = static_cast<Comparison>(i); });
  for (std::size_t i = 1; i <= comparison_names.size(); ++i)
    hand.changes(
        "key V", [&] { hand.key(ImGuiKey_V); },
        [&](Session& s) { s.view.comparison = static_cast<Comparison>(i % comparison_names.size()); });
}

void second_fields(Hand& hand) {
  hand.check(!hand.exists(heatmap + "##second field"), "one picture has no second field");
  hand.view().comparison = Comparison::swipe;
  hand.frames(2);
  for (const Field field : {Field::golden, Field::a_ulps, Field::a_error}) {
    std::string title;
    for (const char c : field_title(field, method_names(hand.experiment())))
      title += c == '/' ? std::string("\\/") : std::string(1, c);
    const std::string item = std::string(text(field).name) + "/     " + title;
    hand.changes(
        item, [&] { hand.choose(heatmap + "##second field", item); }, [&](Session& s) { s.view.second_field = field; });
    hand.check(hand.stage.state->second.field == field, "and its values are there");
  }
  hand.changes("swap", [&] { hand.key(ImGuiKey_B); }, [](Session& s) { std::swap(s.view.field, s.view.second_field); });
}

void side_by_side(Hand& hand) {
  hand.view().comparison = Comparison::side_by_side;
  hand.frames(2);
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
  hand.check(state.heat.rect == zoom && state.second.rect == zoom, "to the same cells");
  hand.view().zoom = {};
  hand.frames(2);
  hand.changes(
      "click in the second", [&] { hand.press(hand.place(second, 3.5f / 16, 40.5f / 96)); },
      [](Session& s) {
        s.view.cell_row = s.experiment.problem.traced_row = 40;
        s.view.cell_col = 3;
      });
  const Picture still = hand.picture();
  hand.move(hand.place(picture, 0.8f, 0.8f));
  hand.check(hand.picture().rgb != still.rgb, "the crosshair follows the mouse");
}

void swipe(Hand& hand) {
  hand.view().comparison = Comparison::swipe;
  hand.view().second_field = Field::golden;
  hand.frames(2);
  const ImVec2 from = hand.place(divider, 0.5f, 0.3f), left = hand.place(picture, 0, 0), right = hand.place(picture, 1, 0);
  for (const float share : {0.25f, 0.8f, 0.5f}) {
    const ImVec2 grip = hand.place(divider, 0.5f, 0.3f);
    double to = 0;
    hand.changes(
        "drag the divider",
        [&] {
          hand.drag(grip, {left.x + share * (right.x - left.x), from.y});
          to = hand.view().swipe;
        },
        [&](Session& s) { s.view.swipe = to; });
    hand.check(std::abs(to - static_cast<double>(share)) < 0.02, "it follows the mouse");
  }
  hand.changes(
      "beyond the edge", [&] { hand.drag(hand.place(divider, 0.5f, 0.3f), {left.x - 30, from.y}); },
      [](Session& s) { s.view.swipe = 0; });
  const Picture one = hand.picture();
  hand.view().swipe = 1;
  hand.check(hand.picture().rgb != one.rgb, "either end shows another field");
}

void flicker(Hand& hand) {
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

void one_range(Hand& hand) {
  hand.view().comparison = Comparison::side_by_side;
  hand.frames(2);
  const UiState& state = *hand.stage.state;
  const double largest = std::max(state.heat.largest, state.second.largest);
  const double range = colour_range(state, hand.view());
  hand.check(range >= largest && range < 1.2 * largest, "both errors have the range of the larger one");
  hand.view().second_field = Field::golden;
  hand.frames(2);
  const double alone = colour_range(state, hand.view());
  hand.check(alone >= static_cast<double>(state.heat.largest) && alone < 1.2 * static_cast<double>(state.heat.largest),
             "unlike fields have their own");
}

void profiles(Hand& hand) {
  hand.changes("curves", [&] { hand.click(heatmap + "##curves"); }, [](Session& s) { s.view.profiles = true; });
  hand.move(hand.place(picture, 3.5f / 16, 40.5f / 96));
  hand.frames(2);
  const UiState& state = *hand.stage.state;
  const Result& r = *state.heat.result;
  hand.check(state.profiles.row == 40 && state.profiles.col == 3, "through the cell under the mouse");
  const ProfileCurve& a = state.profiles.along_row.back();
  const ProfileCurve& down = state.profiles.along_col.back();
  hand.check(a.values.size() == 16 && down.values.size() == 96, "over every cell of the row and of the column");
  for (int c = 0; c < 16; ++c)
    hand.check(a.values[static_cast<std::size_t>(c)] == static_cast<float>(r.a(40, c) - (*r.golden)(40, c)),
               "the error of a along the row");
  for (int row = 0; row < 96; ++row)
    hand.check(down.values[static_cast<std::size_t>(row)] == static_cast<float>(r.a(row, 3) - (*r.golden)(row, 3)),
               "and down the column");
  hand.view().field = Field::a;
  hand.frames(2);
  hand.check(state.profiles.along_row.size() == 3, "an output stands beside golden and the other");
  hand.changes("key X", [&] { hand.key(ImGuiKey_X); }, [](Session& s) { s.view.profiles = false; });
}

/// Pixels of a part of the screen that have about this colour.
int pixels_of(const Picture& p, ImVec2 from, ImVec2 to, Colour colour) {
  int count = 0;
  for (int y = static_cast<int>(from.y); y < static_cast<int>(to.y); ++y)
    for (int x = static_cast<int>(from.x); x < static_cast<int>(to.x); ++x) {
      bool same = true;
      for (int i = 0; i < 3; ++i)
        same &= std::abs(p.rgb[static_cast<std::size_t>((y * p.width + x) * 3 + i)] -
                         static_cast<int>(colour >> (8 * i) & 255)) <= 3;
      count += same;
    }
  return count;
}

/// Side by side each picture has its own curve, below and beside it.
void own_curves(Hand& hand) {
  hand.view().comparison = Comparison::side_by_side;
  hand.view().profiles = true;
  hand.frames(3);
  hand.move({2, 2});
  const UiState& state = *hand.stage.state;
  const Palette& colours = palette(Theme::dark);
  const auto names = method_names(hand.experiment());
  const auto check = [&](const ProfileState& curves, Field field, Colour colour, const std::string& item, Colour other) {
    const bool alone = curves.along_row.size() == 1 && curves.along_col.size() == 1;
    if (!hand.check(alone && curves.along_row[0].name == field_title(field, names), "one curve, of the picture's field"))
      return;
    hand.check(curves.along_row[0].colour == colour && curves.along_col[0].colour == colour, "in its colour");
    const ImVec2 from = hand.place(item, 1, 0), to = hand.place(item, 1, 1);
    const Picture p = hand.picture();
    const ImVec2 left{from.x + 8, from.y}, right{from.x + 8 + 60, to.y};
    const float alpha = column_alpha(1);
    hand.check(pixels_of(p, left, right, mixed(colours.panel, colour, alpha)) > 100, item + " has its column at its right");
    hand.check(pixels_of(p, left, right, mixed(colours.panel, other, alpha)) == 0, "and no other");
  };
  check(state.profiles, Field::a_error, colours.a, picture, colours.b);
  check(state.second_profiles, Field::b_error, colours.b, second, colours.a);
}

/// In one panel a's curve does not hide b's: both are seen where they overlap.
void curves_through_each_other(Hand& hand) {
  hand.view().profiles = true;
  hand.frames(3);
  hand.move({2, 2});
  const Palette& colours = palette(Theme::dark);
  const float alpha = column_alpha(2);
  const Colour b = mixed(colours.panel, colours.b, alpha), both = mixed(b, colours.a, alpha);
  const ImVec2 from = hand.place(picture, 1, 0), to = hand.place(picture, 1, 1);
  const Picture p = hand.picture();
  const ImVec2 left{from.x + 8, from.y}, right{from.x + 8 + 96, to.y};
  hand.check(pixels_of(p, left, right, both) > 100, "a over b is a colour of its own");
  hand.check(pixels_of(p, left, right, b) > 20 && pixels_of(p, left, right, mixed(colours.panel, colours.a, alpha)) > 20,
             "beside each alone");
}

void decimation(Hand& hand) {
  std::vector<float> values;
  for (int i = 0; i < 997; ++i) values.push_back(std::sin(static_cast<float>(i) * 0.37f) + (i == 613 ? 50.0f : 0.0f));
  values[100] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [from, to, pixels] : {std::tuple{0.0, 997.0, 64}, std::tuple{12.3, 700.9, 131},
                                         std::tuple{600.0, 620.0, 400}, std::tuple{-5.0, 1100.0, 33}}) {
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

/// The toolbar of every kind of picture; the pictures themselves are read, not explained.
void explained(Hand& hand) {
  for (const PictureKind kind : {PictureKind::output, PictureKind::rescales, PictureKind::scores}) {
    Session s = small_session();
    s.view.picture = kind;
    s.view.comparison = Comparison::swipe;
    s.view.rescale_show = RescaleShow::amount;
    hand.open(s);
    int count = 0;
    for (const auto& [id, label] : hand.items("//Heat map")) {
      if (label.find("picture") != std::string::npos) continue;
      hand.check(hand.explained(id), "'" + label + "' says nothing");
      ++count;
    }
    hand.check(count >= 7, "the toolbar has " + std::to_string(count) + " items");
  }
}

constexpr std::array cases{
    Case{"comparison", "explained", explained},
    Case{"comparison", "ways to compare", comparisons},
    Case{"comparison", "second field", second_fields},
    Case{"comparison", "side by side", side_by_side},
    Case{"comparison", "swipe", swipe},
    Case{"comparison", "flicker", flicker},
    Case{"comparison", "one range", one_range},
    Case{"comparison", "curves", profiles},
    Case{"comparison", "own curves side by side", own_curves},
    Case{"comparison", "curves through each other", curves_through_each_other},
    Case{"comparison", "curves keep extremes", decimation},
};

}  // namespace

std::span<const Case> comparison_cases() { return cases; }

}  // namespace attoscope::testing
