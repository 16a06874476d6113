// Accessibility: contrast in all themes, the keyboard's order through a panel, sizes of click targets, text at 225 %,
// reduced motion.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "imgui_internal.h"
#include "tests/ui/cases.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace attoscope::testing::access {
namespace {

// --- contrast ---------------------------------------------------------------------------------------------------------

/// A colour of ImGui's style over a surface.
Colour over(ImGuiCol index, Colour surface) {
  const ImVec4 top = ImGui::GetStyle().Colors[index], under = ImGui::ColorConvertU32ToFloat4(surface);
  const auto mix = [&](float x, float y) { return std::lerp(y, x, top.w); };
  return ImGui::ColorConvertFloat4ToU32({mix(top.x, under.x), mix(top.y, under.y), mix(top.z, under.z), 1});
}

struct Role {
  const char* name;
  Colour Palette::* colour;
};
constexpr Role texts[] = {
    {"text", &Palette::text}, {"secondary", &Palette::secondary}, {"faint", &Palette::faint}, {"a", &Palette::a},
    {"b", &Palette::b},       {"golden", &Palette::golden},       {"moved", &Palette::moved}, {"bad", &Palette::bad},
    {"good", &Palette::good}, {"accent", &Palette::accent}};
constexpr Role surfaces[] = {{"panel", &Palette::panel}, {"raised", &Palette::raised}, {"background", &Palette::background}};
constexpr double aa_text = 4.5, aa_part = 3;

CASE(access, text_has_contrast_in_all_themes) {
  hand.check(std::abs(contrast_ratio(0xff000000, 0xffffffff) - 21) < 1e-9 && contrast_ratio(0xff777777, 0xffffffff) < aa_text &&
                 contrast_ratio(0xff767676, 0xffffffff) > aa_text,
             "the measure is WCAG's: #767676 is the lightest grey on white");
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast}) {
    hand.show(&View::theme, theme);
    const Palette& p = palette(theme);
    const auto expect = [&](const std::string& what, Colour x, Colour y, double least) {
      hand.check(contrast_ratio(x, y) >= least,
                 std::string(theme_names[theme]) + ": " + what + " has " + std::to_string(contrast_ratio(x, y)) + " : 1");
    };
    for (const Role& surface : surfaces) {
      const Colour under = p.*surface.colour;
      for (const Role& text : texts) expect(std::string(text.name) + " on " + surface.name, p.*text.colour, under, aa_text);
      for (const ImGuiCol state : {ImGuiCol_FrameBg, ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive, ImGuiCol_Button,
                                   ImGuiCol_ButtonHovered, ImGuiCol_ButtonActive, ImGuiCol_Header, ImGuiCol_HeaderHovered,
                                   ImGuiCol_HeaderActive, ImGuiCol_TabHovered, ImGuiCol_TextSelectedBg})
        expect(std::string("text on ") + ImGui::GetStyleColorName(state) + " over " + surface.name, p.text, over(state, under),
               aa_text);
      for (const ImGuiCol part : {ImGuiCol_NavCursor, ImGuiCol_CheckMark, ImGuiCol_SliderGrab, ImGuiCol_InputTextCursor,
                                  ImGuiCol_TabSelectedOverline})
        expect(std::string(ImGui::GetStyleColorName(part)) + " on " + surface.name, over(part, under), under, aa_part);
    }
    if (theme == Theme::high_contrast)
      for (const Role& text : texts) expect(std::string(text.name) + " on panel", p.*text.colour, p.panel, 7);
  }
}

CASE(access, numbers_in_cells_have_contrast) {
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast})
    for (const bool diverging : {false, true})
      hand.check(std::ranges::all_of(colour_table(diverging, theme),
                                     [](Colour ground) { return contrast_ratio(ink_on(ground), ground) >= aa_text; }),
                 std::string(theme_names[theme]) + " has black or white on every colour of its maps");
  hand.check(ink_on(rgb(0x52ab81)) == rgb(0x000000) && ink_on(rgb(0x0b8023)) == rgb(0xffffff), "a green, light and dark");
}

/// CIELAB (D65) of a colour as people see it whose vision is simulated by a matrix of linear RGB.
std::array<double, 3> lab(Colour c, const std::array<double, 9>& vision) {
  std::array<double, 3> rgb{}, seen{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double x = static_cast<double>(c >> (8 * i) & 255U) / 255;
    rgb[i] = x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  }
  for (std::size_t i = 0; i < 3; ++i)
    seen[i] = std::clamp(vision[3 * i] * rgb[0] + vision[3 * i + 1] * rgb[1] + vision[3 * i + 2] * rgb[2], 0.0, 1.0);
  const auto root = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = root((0.4124564 * seen[0] + 0.3575761 * seen[1] + 0.1804375 * seen[2]) / 0.95047),
               y = root(0.2126729 * seen[0] + 0.7151522 * seen[1] + 0.0721750 * seen[2]),
               z = root((0.0193339 * seen[0] + 0.1191920 * seen[1] + 0.9503041 * seen[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// Least distance of two colours in CIELAB under usual vision, protanopia, deuteranopia and tritanopia (Machado et al. 2009).
double apart(Colour x, Colour y) {
  constexpr std::array<std::array<double, 9>, 4> visions{
      {{1, 0, 0, 0, 1, 0, 0, 0, 1},
       {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
       {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
       {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}}};
  double least = HUGE_VAL;
  for (const std::array<double, 9>& vision : visions) {
    const std::array<double, 3> p = lab(x, vision), q = lab(y, vision);
    least = std::min(least, std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]));
  }
  return least;
}

CASE(access, curves_keep_apart_under_every_vision) {
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast}) {
    const WithColours themed(palette(theme));
    const auto expect = [&](Ink x, Ink y, double least) {
      const double found = apart(ink_colour(x), ink_colour(y));
      hand.check(found >= least, fmt::format("{}: inks {} and {} are {:.1f} apart", theme_names[theme], static_cast<int>(x),
                                             static_cast<int>(y), found));
    };
    for (int i = static_cast<int>(Ink::one); i <= static_cast<int>(Ink::six); ++i) {
      const auto ink = static_cast<Ink>(i);
      for (const Ink method : {Ink::a, Ink::b}) expect(ink, method, 20);
      for (const Ink role : {Ink::golden, Ink::moved}) expect(ink, role, 16);
      for (int k = static_cast<int>(Ink::one); k < i; ++k) expect(ink, static_cast<Ink>(k), 14);
      hand.check(contrast_ratio(ink_colour(ink), colours().panel) >= aa_text, "labels in the curve's colour are legible");
    }
  }
}

/// Largest contrast of a pixel between two heights, 0 to 1, of a rectangle on screen to the rectangle's ground.
double contrast_in(const Picture& p, const ImRect& r, float from, float to) {
  const auto pixel = [&](float x, float y) {
    const std::uint8_t* const c =
        p.rgb.data() + (static_cast<std::ptrdiff_t>(y) * p.width + static_cast<std::ptrdiff_t>(x)) * 3;
    return rgb(static_cast<std::uint32_t>(c[0] << 16 | c[1] << 8 | c[2]));
  };
  const Colour ground = pixel(r.Min.x + 3, r.Min.y + 3);
  double most = 1;
  for (float y = r.Min.y + from * r.GetHeight() + 2; y < r.Min.y + to * r.GetHeight() - 2; ++y)
    for (float x = r.Min.x + 2; x < r.Min.x + 0.8f * r.GetWidth(); ++x)
      most = std::max(most, contrast_ratio(pixel(x, y), ground));
  return most;
}

/// The chosen entry of a list: its title in the upper half, its sentence in the lower one.
CASE(access, chosen_entries_have_contrast) {
  hand.resize(1600, 1000);
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast}) {
    Session session = small_session(Workspace::learn);
    session.view.theme = theme;
    session.view.ui_scale = 1.5;
    hand.open(session, 4);
    hand.move({2, 2});
    const std::string lesson = (*hand.stage.panel_input().learn.lessons)[0].title;
    const ImRect row = hand.rect(hand.id("//Learn/**/##" + lesson));
    const Picture picture = hand.picture();
    const float middle = 1 - (px(10) + line_height(Face::small)) / row.GetHeight();
    for (const auto& [name, from, to] : {std::tuple{"title", 0.0f, middle}, {"sentence", middle, 1.0f}}) {
      const double contrast = contrast_in(picture, row, from, to);
      hand.check(contrast >= aa_text,
                 std::string(theme_names[theme]) + ": the chosen " + name + " has " + std::to_string(contrast));
    }
  }
}

// --- keyboard ---------------------------------------------------------------------------------------------------------

/// The items of a panel in the order in which Tab reaches them, from the first one on.
std::vector<ImGuiID> tab_order(Hand& hand, const char* panel) {
  ImGui::FocusWindow(ImGui::FindWindowByName(panel));
  ImGui::NavInitWindow(ImGui::FindWindowByName(panel), true);
  hand.frames(2);
  std::vector<ImGuiID> order;
  std::set<ImGuiID> seen;
  for (int i = 0; i < 400; ++i) {
    hand.key(ImGuiKey_Tab);
    const ImGuiID at = ImGui::GetCurrentContext()->NavId;
    if (!seen.insert(at).second) break;
    order.push_back(at);
  }
  return order;
}

/// Tab goes to every control of the panel, line by line from the top, and from left to right.
CASE(access, tab_goes_through_the_controls_in_reading_order) {
  hand.resize(1600, 1500);  // all controls at once
  const std::vector<ImGuiID> order = tab_order(hand, "Controls");
  std::vector<std::tuple<ImGuiID, std::string, ImRect>> items;
  for (const auto& [id, label] : hand.items("//Controls"))
    if (!label.starts_with("#SCROLL") && !label.starts_with("#RESIZE")) items.emplace_back(id, label, hand.rect(id));
  const std::set<std::string> labels{"bits", "max", "eps", "min", "sub."};  // text, or names of sliders next to them
  for (const auto& [id, label, rect] : items)
    if (!label.empty() && !label.starts_with("about ") && !labels.contains(label))
      hand.check(hand.disabled(id) || std::ranges::find(order, id) != order.end(), "Tab comes to " + label);
  hand.check(order.size() >= 70, "Tab comes to " + std::to_string(order.size()) + " controls");
  const auto rect_of = [&](ImGuiID id) { return hand.rect(id); };
  const auto name_of = [&](ImGuiID id) {
    const auto at = std::ranges::find(items, id, [](const auto& item) { return std::get<0>(item); });
    return at == items.end() ? std::to_string(id) : std::get<1>(*at);
  };
  const std::size_t first = static_cast<std::size_t>(
      std::ranges::min_element(order, {}, [&](ImGuiID id) { return rect_of(id).Min.y * 4096 + rect_of(id).Min.x; }) -
      order.begin());
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ImGuiID from = order[(first + i - 1) % order.size()], to = order[(first + i) % order.size()];
    const ImRect a = rect_of(from), b = rect_of(to);
    const bool later_line = b.Min.y >= a.Max.y - 4, right = b.Min.x >= a.Min.x && b.Max.y > a.Min.y;
    hand.check(later_line || right, name_of(from) + " comes before " + name_of(to));
  }
}

constexpr Workspace workspaces[] = {Workspace::explore, Workspace::sweep, Workspace::train, Workspace::model, Workspace::learn};

// --- the mouse --------------------------------------------------------------------------------------------------------

/// A place to click; a small one is less than 24 pixels wide or high.
struct Target {
  std::string label;
  ImRect at;
  bool is_small() const { return at.GetWidth() < 24 || at.GetHeight() < 24; }
};

/// True if a circle of 24 pixels around x touches y, or the circle of a small y (WCAG 2.2, 2.5.8).
bool is_too_near(const Target& x, const Target& y) {
  const ImVec2 c = x.at.GetCenter(), d = y.at.GetCenter();
  const ImVec2 near{std::clamp(c.x, y.at.Min.x, y.at.Max.x), std::clamp(c.y, y.at.Min.y, y.at.Max.y)};
  return std::hypot(c.x - near.x, c.y - near.y) < 12 || (y.is_small() && std::hypot(c.x - d.x, c.y - d.y) < 24);
}

/// Every click target has 24 pixels for itself. Left out: the tiles' slider, whose buttons are above it, rows
/// of tables, and the bits, which the sliders below them set.
CASE(access, targets_of_24_pixels) {
  for (const Workspace workspace : workspaces) {
    hand.stage.resize(1600, 1500);  // all controls at once
    hand.open(small_session(workspace), 4);
    std::size_t looked_at = 0;
    for (const ImGuiWindow* const window : ImGui::GetCurrentContext()->Windows) {
      const std::string name = window->Name;
      if (!window->WasActive || window->Hidden || (window->Flags & ImGuiWindowFlags_ChildWindow) != 0 || name == "Sweep rows")
        continue;
      std::vector<Target> all;
      for (const auto& [id, label] : hand.items("//" + name))
        if (!label.empty() && !label.starts_with("about ") && label != "##tile" && label != "bits" &&
            (label[0] != '#' || label.starts_with("##")))
          all.push_back({label, hand.rect(id)});
      looked_at += all.size();
      for (const Target& x : all)
        for (const Target& y : all)
          if (&x != &y && x.is_small()) hand.check(!is_too_near(x, y), name + ": " + x.label + " is too near to " + y.label);
    }
    hand.check(looked_at > 20, std::to_string(looked_at) + " targets");
  }
}

// --- large text -------------------------------------------------------------------------------------------------------

/// At 225 %, or the largest size that a narrow window allows, every panel lies in the window, and no control is cut off.
CASE(access, text_at_225_percent) {
  for (const auto& [width, height] : {std::pair{1024, 768}, {1280, 800}, {1600, 1000}, {1920, 1080}, {1920, 1200}})
    for (const Workspace workspace : workspaces) {
      hand.stage.resize(width, height);
      Session session = small_session(workspace);
      session.view.ui_scale = 2.25;
      hand.open(session, 4);
      const std::string where =
          std::string(workspace_names[workspace]) + " at " + std::to_string(width) + " x " + std::to_string(height);
      hand.check(ImGui::GetFontSize() > (width < 1280 ? 24 : 30), where + " has large text");
      hand.check(static_cast<float>(width) / px(1) >= 560, where + " has room for its controls");
      int looked_at = 0;
      for (const ImGuiWindow* const w : ImGui::GetCurrentContext()->Windows) {
        const bool is_part = (w->Flags & ImGuiWindowFlags_ChildWindow) != 0 && !w->DockIsActive;
        if (!w->WasActive || w->Hidden || is_part) continue;
        const ImRect r = w->Rect();
        hand.check(r.Min.x >= -1 && r.Min.y >= -1 && r.Max.x <= static_cast<float>(width) + 1 &&
                       r.Max.y <= static_cast<float>(height) + 1,
                   where + ": " + w->Name + " reaches beyond the window");
        if (w->DockNode == nullptr && !has(std::string(w->Name), "plan")) continue;
        ++looked_at;
        for (const auto& [id, label] : hand.items(std::string("//") + w->Name)) {
          const ImRect item = hand.rect(id);
          hand.check(label.empty() || item.Max.x <= w->InnerRect.Max.x + 2 || w->ScrollMax.x > 0,
                     where + ": '" + label + "' is cut off in " + w->Name);
        }
      }
      hand.check(workspace != Workspace::explore || looked_at > 0, where + ": panels are looked at");
    }
}

// --- motion -----------------------------------------------------------------------------------------------------------

CASE(access, shortened_text_keeps_what_fits) {
  const float room = text_width(Face::label, "aé…");
  hand.expect_text(fitted(Face::label, "aéxxxxxx", room), "aé…");
  hand.expect_text(fitted(Face::label, "aé", room), "aé");
  hand.expect_text(fitted_lines(Face::label, "aé aéxxxxxx", room, 2), "aé\naé…");
  hand.expect_text(fitted_lines(Face::label, "aé aé", room, 2), "aé\naé");
  hand.expect_text(fitted_lines(Face::label, "aé", room, 2), "aé");
  hand.expect_text(fitted_lines(Face::label, "aé aé aé aéx", room, 3), "aé\naé\naé…");
  const float two = wrapped_height(Face::label, "aé aé", room);
  hand.check(lines_within(Face::label, two) == 2 && lines_within(Face::label, two - 1) == 1, "lines that fit a height");
}

/// True if the screen changes within a second without input.
bool moves(Hand& hand) {
  const Picture first = hand.picture();
  for (int i = 0; i < 6; ++i) {
    hand.frames(10);
    if (hand.picture().rgb != first.rgb) return true;
  }
  return false;
}

/// With reduced motion, set in the list of keys, flicker stands still, and B shows the other field.
CASE(access, reduced_motion) {
  Session session = small_session();
  session.view.comparison = Comparison::flicker;
  session.view.field = Field::golden;
  hand.open(session);
  hand.move({2, 2});
  hand.check(moves(hand), "flicker moves");
  hand.key(ImGuiKey_H);
  hand.frames(2);
  hand.click("//Help/##reduced motion", [](Session& s) { s.view.reduced_motion = true; });
  hand.key(ImGuiKey_Escape);
  hand.frames(2);
  hand.move({2, 2});
  hand.check(!moves(hand), "nothing moves");
  const Picture first = hand.picture();
  hand.key(ImGuiKey_B);
  hand.frames(2);
  hand.check(hand.picture().rgb != first.rgb && !moves(hand), "key B shows the other field steadily");
  hand.check(!ImGui::GetIO().ConfigInputTextCursorBlink, "the text cursor does not blink");
  hand.key(ImGuiMod_Ctrl | ImGuiKey_N, settled);
  hand.check(hand.view().reduced_motion, "a new session keeps it");
}

}  // namespace

}  // namespace attoscope::testing::access
