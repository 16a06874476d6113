// The main format: named ones, its bits, its limits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

void named_buttons(Format& format) {
  std::array<Choice, named_formats.size()> choices;
  int chosen = -1;
  for (std::size_t i = 0; i < named_formats.size(); ++i) {
    choices[i] = {named_formats[i].name, named_formats[i].what};
    if (named_formats[i].format == format) chosen = static_cast<int>(i);
  }
  if (segmented("format", choices, chosen)) format = named_formats[static_cast<std::size_t>(chosen)].format;
}

/// Boxes of the drawing: all bits, at least 16.
int columns_of(const Format& f) { return std::max(16, 1 + f.exponent_bits + f.mantissa_bits); }

/// The format after a click on bit `i`: the bit's field then ends at i; a click on a field's last bit removes the bit.
Format clicked(Format f, int i) {
  if (i == 0) return f;
  const int k = i - f.exponent_bits;
  if (k <= 0)
    f.exponent_bits = std::max(min_exponent_bits, i == f.exponent_bits ? i - 1 : i);
  else
    f.mantissa_bits = k == f.mantissa_bits ? k - 1 : k;
  return f;
}

/// Meaning of bit `i` from the left, and the effect of a click on it.
std::string bit_text(const Format& f, int i) {
  if (i == 0) return "The sign.";
  const int k = i - f.exponent_bits;
  if (k <= 0) return fmt::format("Exponent bit of weight {}. Click: {} exponent bits.", 1 << -k, clicked(f, i).exponent_bits);
  const std::string weight = k <= f.mantissa_bits ? fmt::format("Mantissa bit of weight 2^-{}", k) : "Not part of the format";
  return fmt::format("{}. Click: {}.", weight, counted(clicked(f, i).mantissa_bits, "mantissa bit"));
}

void edit_bits(Format& f) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{ImGui::GetContentRegionAvail().x, px(14)};
  const bool pressed = ImGui::InvisibleButton("bits", size, ImGuiButtonFlags_EnableNav);
  const int i = hovered_bit(columns_of(f), at, size);
  draw_bit_boxes(f, {columns_of(f), {}, i}, at, size);
  explain(
      "The bits of a number: sign, exponent, mantissa. " + (i < 0 ? "" : bit_text(f, i)),
      fmt::format("(-1)^s * 2^(E - {}) * 1.M\np = {} significant bits", (1 << (f.exponent_bits - 1)) - 1, significand_bits(f)));
  if (pressed && i >= 0) f = clicked(f, i);
}

/// Result of an overflow; a click sets the next choice.
void edit_overflow(Format& f, ImVec2 size) {
  constexpr EnumArray<Overflow, const char*> texts{"overflow ∞###overflow", "overflow max###overflow",
                                                   "overflow NaN###overflow"};
  const bool pressed = push_button(texts[f.overflow], false, size);
  explain(
      "A value beyond the largest number becomes infinity, the largest number (saturation) or NaN. Click for the next choice.",
      "|x| > max  ->  inf | max | NaN");
  if (!pressed) return;
  f.overflow = static_cast<Overflow>((static_cast<int>(f.overflow) + 1) % 3);
  if (f.top_code_nan && f.overflow == Overflow::infinity) f.overflow = Overflow::saturate;  // no code is left for infinity
}

/// Meaning of the largest exponent: infinity and NaN (ieee), or numbers (fn).
void edit_top_code(Format& f, ImVec2 size) {
  const bool pressed = push_button(f.top_code_nan ? "no ∞ (fn)###top code" : "has ∞ (ieee)###top code", false, size);
  explain(
      "The meaning of the largest exponent. ieee: infinity and NaN, as in IEEE 754. fn: numbers, and NaN only where all "
      "mantissa bits are set, as in OCP's e4m3; twice the range and no infinity.",
      "e4m3: ieee max 240, fn max 448");
  if (!pressed) return;
  f.top_code_nan = !f.top_code_nan;
  if (f.top_code_nan && f.overflow == Overflow::infinity) f.overflow = Overflow::saturate;
}

/// A limit of the format: its name and its value.
void draw_limit(const char* title, double value, ImVec2 at, ImVec2 size, const char* what, const char* formula) {
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton(title, size);
  const float y = at.y + (size.y - line_height(Face::mono_small)) / 2;
  draw_text({at.x, y - px(1)}, Face::small, colours().faint, title);
  draw_text({at.x + size.x, y}, Face::mono_small, colours().secondary, scientific(value, 3), 1);
  explain(what, fmt::format("{} = {:.9g}", formula, value));
}

/// Range and resolution in two by two fields; to their right the result of an overflow and the top code.
void edit_limits(Format& f) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x, height = px(control_height), button = px(92), gap = px(8);
  const ImVec2 cell{std::floor((room - button - 2 * gap) / 2), height};
  const float second = at.x + cell.x + gap, below = at.y + height;
  draw_limit("max", largest(f), at, cell, "The largest finite number.", "max");
  draw_limit("eps", epsilon(f), {second, at.y}, cell,
             "The spacing of numbers just above 1: half of it is the largest relative error of one rounding.", "2^-M");
  draw_limit("min", smallest_normal(f), {at.x, below}, cell,
             "The smallest normal number: down to it every number has all its significant bits.", "2^(2 - 2^(E-1))");
  draw_limit("sub.", smallest_subnormal(f), {second, below}, cell,
             "The smallest subnormal number, and the spacing of all subnormals. Half of it and less become 0.",
             "2^(2 - 2^(E-1) - M)");
  const float right = at.x + room - button;
  ImGui::SetCursorScreenPos({right, at.y});
  edit_overflow(f, {button, height - px(2)});
  ImGui::SetCursorScreenPos({right, below});
  edit_top_code(f, {button, height - px(2)});
}

}  // namespace

void edit_format(const char* id, Experiment& e) {
  Format f = e.format;
  const WithId field(id);
  named_buttons(f);
  edit_bits(f);
  const WithSpacing close({0, px(2)});
  slider({"exponent", min_exponent_bits, max_exponent_bits, min_exponent_bits, max_exponent_bits}, f.exponent_bits);
  explain(parameter("exponent_bits").sentence, parameter("exponent_bits").formula);
  slider({"mantissa", 0, max_mantissa_bits, 0, max_mantissa_bits}, f.mantissa_bits);
  explain(parameter("mantissa_bits").sentence, parameter("mantissa_bits").formula);
  edit_limits(f);
  if (f != e.format) e = with_format(e, f);
}

}  // namespace attoscope::ui
