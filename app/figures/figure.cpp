#include "app/figures/figure.h"

#include <algorithm>

#include "app/words/numbers.h"
#include "kernels/experiment/letters.h"

namespace attoscope::app {
namespace {

std::string place_text(const ui::FigureAxis& axis, double x) {
  const bool has_name = !axis.categories.empty() && x > -1 && x < static_cast<double>(axis.categories.size());
  return has_name ? axis.categories[static_cast<std::size_t>(x)] : shortest(x);
}

std::string heat_lines(const ui::FigurePanel& p) {
  const ui::FigureHeat& h = *p.heat;
  std::string text;
  for (int y = 0; y < h.height; ++y)
    for (int x = 0; x < h.width; ++x) {
      const auto i = static_cast<std::size_t>(y) * static_cast<std::size_t>(h.width) + static_cast<std::size_t>(x);
      if (h.values[i] == ui::FigureHeat::nothing || h.values[i] == ui::FigureHeat::masked) continue;
      text += csv_line({p.title, h.label, place_text(p.x, h.x0 + (x + 0.5) * (h.x1 - h.x0) / h.width),
                        place_text(p.y, h.y0 + (y + 0.5) * (h.y1 - h.y0) / h.height), "", "",
                        shortest(static_cast<double>(h.values[i]))});
    }
  return text;
}

}  // namespace

double width_mm(const Figure& f) { return f.style.slide ? slide_mm : f.columns == 1 ? one_column_mm : two_columns_mm; }

int font_points(const Figure& f) {
  return f.style.font_size > 0 ? f.style.font_size : !f.style.slide ? 8 : f.panels_across > 1 ? 12 : 18;
}

bool is_font_name(std::string_view name) {
  return !name.empty() && name.size() < 100 &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == ' ' || c == '-'; });
}

Figure in_style(Figure f, const FigureStyle& style) {
  f.style = style;
  if (style.slide) f.columns = 2;
  if (style.columns > 0 && !style.slide) f.columns = style.columns;
  if (style.columns == 1 && !style.slide) f.panels_across = 1;
  return f;
}

std::string figure_csv(const Figure& figure) {
  std::string text = csv_line({"panel", "series", "x", "y", "low", "high", "value"});
  for (const ui::FigurePanel& p : figure.panels) {
    for (const ui::Series& s : p.series)
      for (std::size_t i = 0; i < s.x.size(); ++i)
        text += csv_line({p.title, s.label, place_text(p.x, s.x[i]), shortest(s.y[i]), s.low.empty() ? "" : shortest(s.low[i]),
                          s.high.empty() ? "" : shortest(s.high[i]), ""});
    if (p.heat) text += heat_lines(p);
  }
  return text;
}

}  // namespace attoscope::app
