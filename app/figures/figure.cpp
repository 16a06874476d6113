#include "app/figures/figure.h"

#include "app/words/numbers.h"

namespace attoscope {
namespace {

std::string place_text(const FigureAxis& axis, double x) {
  const auto i = static_cast<std::size_t>(x);
  return i < axis.categories.size() ? axis.categories[i] : shortest(x);
}

std::string heat_lines(const FigurePanel& p) {
  const FigureHeat& h = *p.heat;
  std::string text;
  for (int y = 0; y < h.height; ++y)
    for (int x = 0; x < h.width; ++x) {
      const auto i = static_cast<std::size_t>(y) * static_cast<std::size_t>(h.width) + static_cast<std::size_t>(x);
      if (h.values[i] == FigureHeat::nothing || h.values[i] == FigureHeat::masked) continue;
      text += csv_line({p.title, h.label, place_text(p.x, h.x0 + (x + 0.5) * (h.x1 - h.x0) / h.width),
                        place_text(p.y, h.y0 + (y + 0.5) * (h.y1 - h.y0) / h.height), "", "",
                        shortest(static_cast<double>(h.values[i]))});
    }
  return text;
}

}  // namespace

std::string figure_csv(const Figure& figure) {
  std::string text = csv_line({"panel", "series", "x", "y", "low", "high", "value"});
  for (const FigurePanel& p : figure.panels) {
    for (const Series& s : p.series)
      for (std::size_t i = 0; i < s.x.size(); ++i)
        text += csv_line({p.title, s.label, place_text(p.x, s.x[i]), shortest(s.y[i]), s.low.empty() ? "" : shortest(s.low[i]),
                          s.high.empty() ? "" : shortest(s.high[i]), ""});
    if (p.heat) text += heat_lines(p);
  }
  return text;
}

}  // namespace attoscope
