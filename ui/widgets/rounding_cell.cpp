#include "ui/widgets/rounding_cell.h"

#include <fmt/format.h>

#include <exception>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/arithmetic/format.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

void choose_stochastic(Rounding& r) {
  if_possible(r.kind != Rounding::Kind::exact, [&] { return toggle("stochastic", r.stochastic, px(148)); });
  explain(
      "Rounds up or down at random, with the probability given by the distance, instead of to the nearest: right on average, "
      "so errors do not add up in one direction. The seed starts the random numbers. The cell shows ~.",
      "P(up) = (x - down) / (up - down)");
}

/// Text field for any format; the reason below it if the text is none. True if Enter set one.
bool type_format(Format& format, std::string& typed) {
  if (ImGui::IsWindowAppearing()) typed.clear();
  ImGui::SetNextItemWidth(px(148));
  const bool entered = ImGui::InputTextWithHint("##format", "e5m7", &typed, ImGuiInputTextFlags_EnterReturnsTrue);
  explain(
      "Any format: eXmY, X 2 .. 11 exponent bits, Y 0 .. 52 mantissa bits, then /saturate, /nan or /infinity to choose what "
      "overflow gives. Enter sets it.",
      "e8m7 = bf16, e5m10 = fp16");
  if (typed.empty()) return false;
  try {
    format = parse_format(typed);
    return entered;
  } catch (const std::exception& error) {
    wrapped(Face::small, colours().bad, error.what(), px(220));
    return false;
  }
}

/// List of formats, and a text field for any other.
void choose_rounding(Rounding& r, const Format& main, std::string& typed) {
  const auto become = [&r](Rounding wanted) {
    wanted.stochastic = r.stochastic;
    r = wanted;
  };
  {
    const WithFace f(Face::mono);
    if (ImGui::Selectable("exact", r.kind == Rounding::Kind::exact)) r = exact;
    explain("Not rounded: the step stays in the working type, float or double.");
    if (ImGui::Selectable("D, the main format", r.kind == Rounding::Kind::main)) become(to_main);
    explain("Follows the main format, now " + name(main) + ".");
    ImGui::Separator();
    for (const auto& [text, format, what] : named_formats) {
      const bool is_set = r.kind == Rounding::Kind::format && r.format == format;
      if (ImGui::Selectable(std::string(text).c_str(), is_set)) become(to_format(format));
      explain("Always " + name(format) + ", whatever the main format is.",
              fmt::format("eps = {:g}, max = {:g}", epsilon(format), largest(format)));
    }
    Format other;
    if (type_format(other, typed)) {
      become(to_format(other));
      ImGui::CloseCurrentPopup();
    }
  }
  choose_stochastic(r);
}

/// Arrow that opens a cell's popup, drawn while the cell is hovered. True if the mouse is over the arrow.
bool over_arrow(ImVec2 from, ImVec2 to, Colour ink) {
  if (!ImGui::IsItemHovered() || ImGui::GetIO().NavVisible) return false;  // keyboard users open the popup with the key Menu
  const float x = to.x - px(9), y = (from.y + to.y) / 2, size = px(3.5f);
  ImGui::GetWindowDrawList()->AddTriangleFilled({x - size, y - size / 2}, {x + size, y - size / 2}, {x, y + size}, ink);
  return ImGui::GetMousePos().x > to.x - px(18);
}

/// Colour of bit `i` from the left; 0 is the sign.
Colour bit_colour(const Format& f, int i) {
  return i == 0 ? colours().moved : i <= f.exponent_bits ? colours().good : mixed(colours().faint, colours().text, 0.35f);
}

/// Tooltip of a cell.
void explain_cell(const Rounding& r, const RoundingCell& cell, const Format& main) {
  const bool is_exact = r.kind == Rounding::Kind::exact;
  std::string formula = is_exact ? std::string("not rounded: stays in the working type")
                                 : fmt::format("x -> round({}, x)", rounding_text(r, main));
  if (cell.usual) formula += fmt::format("\n{} has {} here", std::string(cell.preset), rounding_text(*cell.usual, main));
  explain(cell.what + "Click: exact or D. Right click, the arrow or the key Menu: a format of its own, stochastic.", formula);
}

}  // namespace

std::string rounding_text(const Rounding& r, const Format& main) {
  if (r.kind == Rounding::Kind::exact) return "exact";
  std::string text = name(format_of(r, main));
  if (r.stochastic) text.insert(text.begin(), '~');
  return text;
}

void draw_cell(ImVec2 from, ImVec2 to, Colour colour, const CellLook& look) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float rounding = px(2.5f), middle = (from.x + to.x) / 2, y = (from.y + to.y - line_height(Face::mono_small)) / 2;
  const bool main = look.kind == Rounding::Kind::main, own = look.kind == Rounding::Kind::format;
  const Colour fill = main ? mixed(colour, colours().panel, look.idle ? 0.6f : 0.0f) : colours().raised;
  list->AddRectFilled(from, to, ImGui::IsItemHovered() ? mixed(fill, colours().text, 0.15f) : fill, rounding);
  if (own) list->AddRect(from, to, colour, rounding, px(1.4f));
  const Colour ink = main ? colours().panel : own ? colour : colours().faint;
  draw_fitted({middle, y}, Face::mono_small, ink, look.text, to.x - from.x - px(24), 0.5f);
  if (look.differs)
    list->AddCircleFilled({from.x + px(8), (from.y + to.y) / 2}, px(3), main ? colours().panel : colours().text);
}

void edit_rounding(Rounding& r, const RoundingCell& cell, const Format& main, std::string& typed) {
  const ImVec2 from{cell.left, ImGui::GetCursorScreenPos().y}, to{from.x + cell.width, from.y + cell.height - px(2)};
  const std::string name(cell.name), popup = name + " rounding";
  const bool pressed = ImGui::InvisibleButton(name.c_str(), {cell.width, cell.height}, ImGuiButtonFlags_EnableNav);
  draw_cell(from, to, cell.colour, {r.kind, rounding_text(r, main), cell.usual && !(*cell.usual == r), cell.idle});
  const bool arrow = over_arrow(from, to, r.kind == Rounding::Kind::main ? colours().panel : colours().secondary);
  ImGui::OpenPopupOnItemClick(popup.c_str(), ImGuiPopupFlags_MouseButtonRight);
  if (ImGui::IsItemFocused() && ImGui::IsKeyPressed(ImGuiKey_Menu, false)) ImGui::OpenPopup(popup.c_str());
  explain_cell(r, cell, main);
  if (pressed && arrow) ImGui::OpenPopup(popup.c_str());
  if (pressed && !arrow) r = r.kind == Rounding::Kind::exact ? to_main : exact;
  if (!ImGui::BeginPopup(popup.c_str())) return;
  choose_rounding(r, main, typed);
  ImGui::EndPopup();
}

void draw_bit_boxes(const Format& f, const BitBoxes& boxes, ImVec2 at, ImVec2 size) {
  const int sign = boxes.has_sign ? 1 : 0, bits = sign + f.exponent_bits + f.mantissa_bits;
  const float step = size.x / static_cast<float>(boxes.columns), gap = step > px(6) ? px(2) : step > px(4) ? 1.0f : 0.5f;
  const float rounding = step > px(6) ? px(2) : 0, line = line_height(Face::mono_small);
  const bool written = step - gap >= text_width(Face::mono_small, "0") + 1 && size.y >= line;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (int i = 0; i < boxes.columns; ++i) {
    const float x = at.x + step * static_cast<float>(i);
    const ImVec2 from{x, at.y}, to{x + step - gap, at.y + size.y};
    if (i >= bits) {
      list->AddRect(from, to, i == boxes.hovered ? colours().secondary : colours().line, rounding);
      continue;
    }
    const Colour c = bit_colour(f, i + 1 - sign);
    const bool has_digit = static_cast<std::size_t>(i) < boxes.digits.size(),
               zero = has_digit && boxes.digits[static_cast<std::size_t>(i)] == '0';
    const Colour box = zero ? mixed(colours().panel, c, 0.22f) : c;
    list->AddRectFilled(from, to, i == boxes.hovered ? mixed(box, colours().text, 0.4f) : box, rounding);
    if (has_digit && written)
      draw_text({(from.x + to.x) / 2, at.y + (size.y - line) / 2}, Face::mono_small, zero ? colours().text : colours().panel,
                boxes.digits.substr(static_cast<std::size_t>(i), 1), 0.5f);
  }
}

int hovered_bit(int columns, ImVec2 at, ImVec2 size) {
  const auto place = pointed_place(at, {size.x / static_cast<float>(columns), size.y}, columns, 1);
  return place ? place->column : -1;
}

}  // namespace attoscope::ui
