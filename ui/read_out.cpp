#include "ui/read_out.h"

#include <algorithm>
#include <cmath>

#include "ui/numbers.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// Ten characters wide and more: "-2.2351700".
std::string decimal(double x) {
  if (!std::isfinite(x)) return scientific(x);
  const double magnitude = std::abs(x);
  return magnitude != 0 && (magnitude < 1e-3 || magnitude >= 1e4) ? scientific(x, 7) : printed("%.7f", x);
}

std::string off_by(const Result& r, const Cell& cell, Field error, Field ulps) {
  const double off = field_value(r, error, cell.row, cell.col), in_ulps = std::abs(field_value(r, ulps, cell.row, cell.col));
  if (off == 0) return "exact";
  return printed("%10s %7s ulp", signed_scientific(off, 4).c_str(),
                 in_ulps < 1000 ? printed("%.1f", in_ulps).c_str() : scientific(in_ulps, 3).c_str());
}

/// sign, exponent, mantissa, each in its tint.
float draw_bits(ImDrawList* list, ImVec2 at, const Format& format, double x, const Palette& colours) {
  const float from = at.x;
  if (format.exponent_bits + format.mantissa_bits + 1 > 32) {
    at.x += draw_text(list, at, Face::mono_small, colours.secondary, hex_float(x));
    return at.x - from;
  }
  const BitText bits = bits_of(format, x);
  at.x += draw_text(list, at, Face::mono_small, colours.moved, bits.sign) + px(4);
  at.x += draw_text(list, at, Face::mono_small, colours.good, bits.exponent) + px(4);
  at.x += draw_text(list, at, Face::mono_small, colours.text, bits.mantissa);
  if (!bits.exact) at.x += draw_text(list, at, Face::mono_small, colours.faint, " +");
  return at.x - from;
}

}  // namespace

void draw_read_out(const Result& r, const Cell& cell, const Box& bounds, ImVec2 at, const Palette& colours) {
  const MethodNames names = method_names(r.experiment);
  const Format& format = r.experiment.format;
  const double golden = (*r.golden)(cell.row, cell.col), a = r.a(cell.row, cell.col), b = r.b(cell.row, cell.col);
  const int bits = format.exponent_bits + format.mantissa_bits + 1;
  const float character = text_width(Face::mono_small, "0"), line = std::floor(px(19)), pad = std::floor(px(12));
  const float values = character * 11, bits_at = values + character * 13;
  const float errors_at = bits_at + character * static_cast<float>((bits > 32 ? 22 : bits) + 1);
  const float width = errors_at + character * 22 + 2 * pad, height = 4 * line + px(16);

  ImVec2 from{at.x + px(18), at.y - height - px(14)};
  if (from.y < bounds.min.y + px(4)) from.y = at.y + px(18);
  from.x = std::clamp(from.x, bounds.min.x + px(4) - px(40), std::max(bounds.min.x - px(36), bounds.max.x - width - px(4)));
  from.y = std::min(from.y, bounds.max.y - height - px(4));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, {from.x + width, from.y + height}, faded(colours.background, 0.96f), px(4));
  list->AddRect(from, {from.x + width, from.y + height}, colours.line, px(4));

  float x = from.x + pad, y = from.y + px(8);
  draw_text(list, {x, y}, Face::mono_small, colours.secondary,
            printed("row %d, dim %d", r.rows[static_cast<std::size_t>(cell.row)], cell.col));
  draw_text(list, {from.x + width - pad, y}, Face::mono_small, colours.faint, "bits in " + name(format), 1);
  struct Line {
    const std::string name;
    Colour colour;
    double value;
  };
  const Line lines[] = {{"golden", colours.golden, golden}, {names.a, colours.a, a}, {names.b, colours.b, b}};
  for (int i = 0; i < 3; ++i) {
    y += line;
    draw_text(list, {x, y}, Face::mono_small, lines[i].colour, lines[i].name);
    draw_text(list, {x + values + character * 11, y}, Face::mono_small, colours.text, decimal(lines[i].value), 1);
    if (i == 0) {
      draw_text(list, {x + bits_at, y}, Face::mono_small, colours.secondary, "= " + hex_float(golden));
      continue;
    }
    draw_bits(list, {x + bits_at, y}, format, lines[i].value, colours);
    draw_text(list, {from.x + width - pad, y}, Face::mono_small, colours.secondary,
              i == 1 ? off_by(r, cell, Field::a_error, Field::a_ulps) : off_by(r, cell, Field::b_error, Field::b_ulps), 1);
  }
}

}  // namespace attoscope
