#include "ui/widgets/save_menu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "imgui_internal.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<ExportAs, Choice> formats{{
    {"screen", "The pixels as they are in the window (.png), and their numbers (.csv)."},
    {"PDF",
     "A figure for print, drawn by gnuplot: vectors, embedded fonts, white background, colours that are safe for colour-vision "
     "deficiencies."},
    {"SVG", "The same figure for web pages and for editing."},
    {"PNG", "The same figure at 300 dots an inch."},
    {"TikZ", "The same figure as a .tex for \\input in a LaTeX document, in the document's fonts, with gnuplot's style files."},
}};
constexpr std::array<Choice, 3> widths{{
    {"one column", "85 mm wide: one column of a two-column page."},
    {"two columns", "175 mm wide: across the page."},
    {"slide", "254 mm wide, with letters of 18 points and heavier lines."},
}};
constexpr std::array<const char*, 5> fonts_of_print{"Inter", "Helvetica", "Times", "Latin Modern Roman", "CMU Serif"};
constexpr std::array<Choice, 2> bundles{{
    {"folder", "A folder with the figure, its data (.csv), its gnuplot script (.gp) and the .json that makes it again."},
    {".zip", "One .zip with the figure, its data (.csv), its gnuplot script (.gp) and the .json that makes it again."},
}};

/// Draws the name of a menu row and moves the cursor to the start of its choice. Returns that position.
ImVec2 row_name(const char* name, bool possible) {
  constexpr float name_width = 56;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::label, possible ? colours().secondary : colours().faint, name);
  ImGui::SetCursorScreenPos({at.x + px(name_width), at.y});
  return ImGui::GetCursorScreenPos();
}

/// A row of the menu: name at the left, a segmented choice at the right. True if it changed.
template <class Value>
bool choose(const char* name, const char* id, std::span<const Choice> choices, Value& chosen, bool possible) {
  constexpr float choice_width = 240;
  row_name(name, possible);
  return if_possible(possible, [&] { return segmented(id, choices, chosen, px(choice_width)); });
}

/// Names of the files to be written, in a line.
std::string files_of(const FigureChoice& c, bool has_numbers) {
  if (c.as == ExportAs::screen) return has_numbers ? "a .png of the screen and a .csv" : "a .png of the screen";
  const std::string_view name = export_as_names[c.as];
  return fmt::format("{}, .csv, .gp and .json in a {}", c.as == ExportAs::tex ? ".tex" : name, c.zip ? ".zip" : "folder");
}

constexpr std::array<Choice, 2> ranges{{
    {"all", "Every tile of the recurrence."},
    {"shown", "The tiles that the window shows."},
}};

/// Font and size of a figure's letters; TikZ uses the document's.
void choose_letters(FigureChoice& c, bool possible) {
  const ImVec2 at = row_name("font", possible);
  ImGui::BeginDisabled(!possible);
  {
    const WithField field(Face::label);
    if (begin_combo("##font", c.font, px(140))) {
      for (const char* const font : fonts_of_print)
        if (ImGui::Selectable(font, c.font == font)) c.font = font;
      ImGui::EndCombo();
    } else {
      explain("The font of figures in PDF, SVG and PNG; kept for the next figures. A font that is not installed is replaced.");
    }
  }
  ImGui::SetCursorScreenPos({at.x + px(140 + 8), at.y});
  int size = c.font_size > 0 ? c.font_size : c.slide ? 18 : 8;
  {
    const WithField field(Face::mono);
    ImGui::SetNextItemWidth(px(92));
    if (ImGui::InputInt("##font size", &size, 1, 2)) c.font_size = std::clamp(size, 4, 72);
  }
  explain("Points of the letters: 8 are usual in print, 18 on a slide.");
  ImGui::EndDisabled();
}

void edit_choice(FigureChoice& c, bool drawable, bool has_range) {
  ExportAs as = drawable ? c.as : ExportAs::screen;
  const bool drawn = as != ExportAs::screen;
  if (choose("as", "keep as", std::span<const Choice>(formats).first(drawable ? formats.size() : 1), as, true)) c.as = as;
  int columns = c.slide ? 2 : c.two_columns;
  if (choose("width", "columns", widths, columns, drawn)) {
    c.two_columns = columns == 1;
    c.slide = columns == 2;
  }
  choose_letters(c, drawn && c.as != ExportAs::tex);
  choose("in a", "bundle", bundles, c.zip, drawn);
  if (has_range) choose("tiles", "range", ranges, c.shown_tiles, drawn);
}

/// A small button in the upper (or lower) right corner of the plot, visible while the mouse is over the plot or the keyboard's
/// focus on the button, which Tab reaches in a panel with that focus. True if it was clicked.
bool save_button(const Exportable& plot) {
  constexpr ImGuiHoveredFlags over = ImGuiHoveredFlags_AllowWhenBlockedByActiveItem | ImGuiHoveredFlags_ChildWindows;
  const ImGuiWindow* const focused = ImGui::GetIO().NavVisible ? ImGui::GetCurrentContext()->NavWindow : nullptr;
  const bool by_key = focused != nullptr && focused->RootWindow == ImGui::GetCurrentWindow()->RootWindow;
  const bool pointed = ImGui::IsWindowHovered(over) && ImGui::IsMouseHoveringRect(plot.min, plot.max);
  if (!by_key && !pointed) return false;
  const std::string text = "save###save " + plot.name;
  const bool reached = by_key && ImGui::GetCurrentContext()->NavId == ImGui::GetID(text.c_str());
  ImGuiWindowTempData& layout = ImGui::GetCurrentWindow()->DC;
  const ImGuiWindowTempData before = layout;
  const ImVec2 size{px(40), px(control_height)};
  ImGui::SetCursorScreenPos({plot.max.x - size.x, plot.low ? plot.max.y - size.y : plot.min.y + plot.header + px(4)});
  ImGui::PushStyleVar(ImGuiStyleVar_Alpha, pointed || reached ? ImGui::GetStyle().Alpha : 0);
  const bool pressed = push_button(text.c_str(), false, size);
  ImGui::PopStyleVar();
  explain("Saves this plot: the picture and its numbers, or a figure for print.");
  layout.CursorPos = before.CursorPos;
  layout.CursorPosPrevLine = before.CursorPosPrevLine;
  layout.CurrLineSize = before.CurrLineSize;
  layout.PrevLineSize = before.PrevLineSize;
  layout.IsSameLine = before.IsSameLine;
  layout.IsSetPos = before.IsSetPos;
  return pressed;
}

ExportRequest export_request_of(const Exportable& plot) {
  ExportRequest kept{plot.name, plot.min.x, plot.min.y, plot.max.x, plot.max.y, plot.csv ? plot.csv() : "", plot.plot};
  if (plot.of) kept.of = std::make_shared<const Session>(plot.of());
  return kept;
}

void draw_menu(const Exportable& plot, View& view, Requests& requests) {
  constexpr float width = 296;
  const bool drawable = plot.plot != Plot::window;
  const WithSpacing spacing({px(8), px(8)});
  label(Face::body, colours().text, "Keep the " + plot.name);
  edit_choice(view.figure, drawable, is_over_tiles(plot.plot) && view.tiles != TileRange{});
  label(Face::small, colours().faint, files_of(drawable ? view.figure : FigureChoice{}, plot.csv != nullptr));
  if (push_button("save###keep", true, {px(plot.has_field ? 96 : width), px(control_height)})) {
    requests.exports.plot = export_request_of(plot);
    ImGui::CloseCurrentPopup();
  }
  explain(
      "Saves it in the pictures folder, or if there is none where the program was started; a line at the bottom of the window "
      "shows the path.");
  if (plot.has_field) {
    ImGui::SameLine(0, px(8));
    if (push_button("whole field as .npy###npy", false, {px(width - 104), px(control_height)})) {
      requests.exports.plot = export_request_of(plot);
      requests.exports.plot->npy = true;
      ImGui::CloseCurrentPopup();
    }
    explain("Every element of the shown field, not only the visible ones, as a NumPy array of doubles.");
  }
}

}  // namespace

void offer_export(const Exportable& plot, View& view, Requests& requests) {
  const std::string menu = "keep " + plot.name;
  if (save_button(plot)) ImGui::OpenPopup(menu.c_str());
  if (!begin_panel_popup(menu.c_str())) return;
  draw_menu(plot, view, requests);
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
