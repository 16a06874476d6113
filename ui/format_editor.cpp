// The main format: named ones, its bits, its limits.
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

struct Named {
  Choice choice;
  Format format;
};
const std::array<Named, 7> named{{
    {{"bf16", "bfloat16: 8 exponent bits, 7 mantissa bits. The range of fp32, an ulp of 0.8 %."}, bf16},
    {{"fp16", "IEEE half: 5 exponent bits, 10 mantissa bits. Overflows beyond 65504."}, fp16},
    {{"tf32", "TensorFloat-32: 8 exponent bits, 10 mantissa bits."}, tf32},
    {{"fp32", "IEEE single: 8 exponent bits, 23 mantissa bits."}, fp32},
    {{"fp64", "IEEE double: 11 exponent bits, 52 mantissa bits. The golden value is then computed in double-double."}, fp64},
    {{"e4m3", "OCP 8-bit float: largest 448, saturating, no infinity."}, e4m3},
    {{"e5m2", "OCP 8-bit float: 5 exponent bits, 2 mantissa bits, with infinity."}, e5m2},
}};

bool named_buttons(Format& format, const Palette& colours) {
  std::array<Choice, named.size()> choices;
  int chosen = -1;
  for (std::size_t i = 0; i < named.size(); ++i) {
    choices[i] = named[i].choice;
    if (named[i].format == format) chosen = static_cast<int>(i);
  }
  if (!segmented("format", colours, choices, chosen)) return false;
  format = named[static_cast<std::size_t>(chosen)].format;
  return true;
}

/// One box a bit: sign purple, exponent green, mantissa grey; as many columns as the format has bits, at most 32 visible.
void draw_layout(const Format& f, const Palette& colours) {
  const float room = ImGui::GetContentRegionAvail().x, height = px(14);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int bits = 1 + f.exponent_bits + f.mantissa_bits, columns = std::max(16, bits);
  const float step = room / static_cast<float>(columns), gap = step > px(6) ? px(2) : step > px(4) ? 1.0f : 0.5f;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (int i = 0; i < bits; ++i) {
    const Colour c = i == 0 ? colours.moved : i <= f.exponent_bits ? colours.good : mixed(colours.faint, colours.text, 0.35f);
    const float x = at.x + step * static_cast<float>(i);
    list->AddRectFilled({x, at.y}, {x + step - gap, at.y + height}, c, step > px(6) ? px(2) : 0);
  }
  ImGui::Dummy({room, height});
  explain("The bits of a number: sign, exponent, mantissa.",
          printed("(-1)^s * 2^(E - %d) * 1.M\np = %d significant bits", (1 << (f.exponent_bits - 1)) - 1, significand_bits(f)));
}

/// What overflow gives, one click further each time.
bool edit_overflow(Format& f, const Palette& colours) {
  static constexpr const char* texts[] = {"∞###overflow", "sat###overflow", "NaN###overflow"};
  const float width = px(38);
  ImGui::SameLine(ImGui::GetWindowContentRegionMax().x - width);
  const bool pressed = push_button(texts[static_cast<std::size_t>(f.overflow)], colours, false, {width, px(18)});
  explain("What a value beyond the largest becomes: infinity, the largest number (saturates), or NaN. Click for the next.",
          "|x| > max  ->  inf | max | NaN");
  if (!pressed) return false;
  f.overflow = static_cast<Overflow>((static_cast<int>(f.overflow) + 1) % 3);
  if (f.top_code_nan && f.overflow == Overflow::infinity) f.overflow = Overflow::saturate;  // such a format has no infinity
  return true;
}

}  // namespace

bool edit_format(const char* id, Format& f, const Palette& colours) {
  ImGui::PushID(id);
  bool changed = named_buttons(f, colours);
  draw_layout(f, colours);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  changed |= slider({"exponent", min_exponent_bits, max_exponent_bits, min_exponent_bits, max_exponent_bits}, colours,
                    f.exponent_bits);
  explain("Exponent bits: the range. Each one more squares the largest number.", "max about 2^(2^(E-1)), min 2^(2 - 2^(E-1))");
  changed |= slider({"mantissa", 0, max_mantissa_bits, 0, max_mantissa_bits}, colours, f.mantissa_bits);
  explain(
      "Mantissa bits: the resolution. Each one more halves every rounding error. More than 23 make the experiment work in "
      "double.",
      "eps = 2^-M, half an ulp = 2^-(M+1) relative");
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({width - px(42), px(18)});
  draw_text({at.x, at.y + px(2)}, Face::small, colours.faint,
            fitted(Face::small,
                   "eps " + compact(epsilon(f)) + " · max " + scientific(largest(f), 2) + " · min " +
                       scientific(smallest_normal(f), 2),
                   width - px(42)));
  explain(
      "The spacing of numbers just above 1; the largest finite number; the smallest normal one (subnormals reach further "
      "down).",
      printed("eps = %g\nmax = %g\nmin = %g, subnormal %g", epsilon(f), largest(f), smallest_normal(f), smallest_subnormal(f)));
  changed |= edit_overflow(f, colours);
  ImGui::PopStyleVar();
  ImGui::PopID();
  return changed;
}

}  // namespace attoscope
