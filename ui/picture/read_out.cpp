#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// At least ten characters: "-2.2351700".
std::string decimal(double x) {
  if (!std::isfinite(x)) return scientific(x);
  const double magnitude = std::abs(x);
  return magnitude != 0 && (magnitude < 1e-3 || magnitude >= 1e4) ? scientific(x, 7) : fmt::format("{:.7f}", x);
}

/// "-0x1.1e1a0d3aap+1".
std::string hex_float(double x) { return std::isfinite(x) ? fmt::format("{:a}", x) : scientific(x); }

/// Error of a cell as text, also in ulps.
struct CellError {
  std::string by, ulps;
};
CellError off_by(const Result& r, const Cell& cell, Field error, Field ulps) {
  const double off = field_value(r, error, cell.row, cell.col), in_ulps = std::abs(field_value(r, ulps, cell.row, cell.col));
  if (off == 0) return {"exact", ""};
  return {signed_scientific(off, 4),
          fmt::format("{:>7} ulp", in_ulps < 1000 ? fmt::format("{:.1f}", in_ulps) : scientific(in_ulps, 3))};
}

/// Sign, exponent and mantissa in three colours.
void draw_bits(ImDrawList* list, ImVec2 at, const Format& format, double x) {
  if (format.exponent_bits + format.mantissa_bits + 1 > 32) {
    draw_text(list, at, Face::mono_small, colours().secondary, hex_float(x));
    return;
  }
  const BitText bits = bits_of(format, x);
  at.x += draw_text(list, at, Face::mono_small, colours().moved, bits.sign) + px(4);
  at.x += draw_text(list, at, Face::mono_small, colours().good, bits.exponent) + px(4);
  at.x += draw_text(list, at, Face::mono_small, colours().text, bits.mantissa);
  if (!bits.exact) draw_text(list, at, Face::mono_small, colours().faint, " +");
}

/// Line of golden, a or b.
struct Line {
  std::string name;
  Colour colour;
  double value;
  CellError off{};  ///< empty for golden
};

/// Columns of a read-out, from its left edge. wide: value, bits, error, ulps in one line. tall: bits and ulps in a second line.
/// brief: no bits. tiny: value and ulps.
struct Columns {
  enum class Kind { wide, tall, brief, tiny } kind;
  float value_end, bits_at, width, height, line;
  bool shows_bits() const { return kind == Kind::wide || kind == Kind::tall; }
};

Columns columns(Columns::Kind kind, const Format& format) {
  const float character = text_width(Face::mono_small, "0"), line = std::floor(px(kind == Columns::Kind::tall ? 17 : 19)),
              pad = std::floor(px(12));
  const int bits = format.exponent_bits + format.mantissa_bits + 1;
  const int bits_size = (bits > 32 ? 22 : bits) + 2;
  const auto sized = [&](float at, int characters, int lines) {
    return Columns{kind,
                   pad + character * 24,
                   at,
                   2 * pad + character * static_cast<float>(characters),
                   static_cast<float>(lines) * line + px(14),
                   line};
  };
  switch (kind) {
    case Columns::Kind::wide:
      return sized(pad + character * 26, 26 + bits_size + 22, 4);
    case Columns::Kind::tall:
      return sized(pad, std::max(36, bits_size + 12), 7);
    case Columns::Kind::brief:
      return sized(0, 47, 4);
    case Columns::Kind::tiny:
      break;
  }
  return sized(0, 37, 4);
}

/// The first kind that covers at most a third of the picture and 90 % of its width; else tiny.
Columns fitting(const Format& format, ImVec2 size) {
  for (const auto kind : {Columns::Kind::wide, Columns::Kind::tall, Columns::Kind::brief}) {
    const Columns l = columns(kind, format);
    if (3 * l.width * l.height <= size.x * size.y && l.width <= 0.9f * size.x) return l;
  }
  return columns(Columns::Kind::tiny, format);
}

ImVec2 corner(const Columns& l, const Box& bounds, ImVec2 at) {
  ImVec2 from{at.x + px(18), at.y - l.height - px(14)};
  if (from.y < bounds.min.y + px(4)) from.y = at.y + px(18);
  from.x = std::clamp(from.x, bounds.min.x + px(4) - px(40), std::max(bounds.min.x - px(36), bounds.max.x - l.width - px(4)));
  from.y = std::min(from.y, bounds.max.y - l.height - px(4));
  return from;
}

void draw_line(ImDrawList* list, const Line& line, const Columns& l, ImVec2 at, const Format& format) {
  const float pad = std::floor(px(12)), right = at.x + l.width - pad, below = at.y + l.line;
  const float name_room = l.value_end - pad - text_width(Face::mono_small, "0") * 13;
  draw_text(list, {at.x + pad, at.y}, Face::mono_small, line.colour, fitted(Face::mono_small, line.name, name_room));
  draw_text(list, {at.x + l.value_end, at.y}, Face::mono_small, colours().text, decimal(line.value), 1);
  const bool tall = l.kind == Columns::Kind::tall, tiny = l.kind == Columns::Kind::tiny;
  const std::string beside =
      tall ? line.off.by : (tiny && !line.off.ulps.empty() ? line.off.ulps : line.off.by + line.off.ulps);
  draw_text(list, {right, at.y}, Face::mono_small, colours().secondary, beside, 1);
  if (tall) draw_text(list, {right, below}, Face::mono_small, colours().secondary, line.off.ulps, 1);
  if (!l.shows_bits()) return;
  const ImVec2 bits{at.x + l.bits_at, tall ? below : at.y};
  if (line.off.by.empty())
    draw_text(list, bits, Face::mono_small, colours().secondary, "= " + hex_float(line.value));
  else
    draw_bits(list, bits, format, line.value);
}

}  // namespace

Box draw_read_out(const HeatState& shown, const Cell& cell, const Box& bounds, ImVec2 at) {
  const Result& r = *shown.result;
  const MethodNames names = method_names(r.experiment);
  const Format& format = r.experiment.format;
  const Columns l = fitting(format, bounds.size());
  const ImVec2 from = corner(l, bounds, at);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, {from.x + l.width, from.y + l.height}, faded(colours().background, 0.96f), px(4));
  list->AddRect(from, {from.x + l.width, from.y + l.height}, colours().line, px(4));
  const float pad = std::floor(px(12)), step = l.line;
  float y = from.y + px(8);
  const std::string place =
      cell_words(shown, r.rows[static_cast<std::size_t>(cell.row)], static_cast<int>(shown.first_col) + cell.col);
  const float after = from.x + pad + draw_text(list, {from.x + pad, y}, Face::mono_small, colours().secondary, place);
  if (r.shares) {
    const double share = (*r.shares)(cell.row, cell.col);
    draw_text(list, {after, y}, Face::mono_small, share > 1 ? colours().bad : colours().secondary,
              "  " + times(share) + " tolerance");
  }
  if (l.shows_bits() && (!r.shares || l.kind == Columns::Kind::wide))
    draw_text(list, {from.x + l.width - pad, y}, Face::mono_small, colours().faint, "bits in " + name(format), 1);
  const Line lines[] = {{"golden", colours().golden, (*r.golden)(cell.row, cell.col)},
                        {names.a, colours().a, r.a(cell.row, cell.col), off_by(r, cell, Field::a_error, Field::a_ulps)},
                        {names.b, colours().b, r.b(cell.row, cell.col), off_by(r, cell, Field::b_error, Field::b_ulps)}};
  y += step;
  for (const Line& line : lines) {
    draw_line(list, line, l, {from.x, y}, format);
    y += l.kind == Columns::Kind::tall ? 2 * step : step;
  }
  return {from, {from.x + l.width, from.y + l.height}};
}

}  // namespace attoscope::ui
