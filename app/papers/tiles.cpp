// Over tiles.
#include <algorithm>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "app/words/numbers.h"

namespace attoscope::papers {
namespace {

/// Every y over the first: formats whose errors are decades apart are then seen on one axis.
Series over_first(Series s) {
  const double first = s.y.empty() ? 1 : s.y.front();
  for (std::vector<double>* values : {&s.y, &s.low, &s.high})
    for (double& v : *values) v /= first;
  return s;
}

/// One panel a policy, one series a format, over tiles: the mean difference over that of the first tile.
Figure over_tiles(const FigureSettings& x, const AnswerSweep& answer, const char* name, const Axis& tiles,
                  const FigureAxis& axis) {
  Figure f = figure_of(name, x.all_policies ? 2 : 1);
  for (const std::string& rounding : policies_of(x)) {
    FigureSettings own = x;
    own.policy = rounding;
    const Sweep sweep = two_axes(x, base_of(own), tiles, formats());
    const auto answers = answer(sweep);
    FigurePanel panel = panel_of(axis, "mean |flash - three-pass| / first tile's", false);
    panel.title = "policy " + rounding;
    panel.y.min = 0;
    for (std::size_t i = 0; i < formats().values.size(); ++i) {
      Series s = over_first(
          rows_series(sweep, rows(sweep, {"a_minus_b.mean_abs"}, answers), formats().values[i], !axis.categories.empty()));
      s.label = formats().values[i];
      s.ink = series_ink(i);
      s.shape = axis.categories.empty() ? Shape::line_and_marks : Shape::marks;
      panel.series.push_back(std::move(s));
    }
    f.panels.push_back(std::move(panel));
  }
  return f;
}

}  // namespace

Figure tile_area(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = over_tiles(x, answer, "tile-area", {"tile_area", powers(1024, 64 * std::min(1024, x.n))},
                        numbers("tile area, 64 query rows", 2));
  const Series& bf16_series = f.panels[0].series[0];
  f.caption =
      "Mean difference between Flash Attention and three-pass attention over the area of a tile of 64 query rows, as a "
      "share of that of the smallest tile. In bf16, policy " +
      policies_of(x)[0] + ", it " + growth_words(bf16_series) + " from the smallest tile to the largest" +
      (growth(bf16_series) < 0.9 ? ", as in the paper's figure 6 (a); " : ", unlike the paper's figure 6 (a); ") +
      conditions(x, base_of(x), "tile");
  return f;
}

Figure tile_square(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f =
      over_tiles(x, answer, "tile-square", {"tile_square", powers(8, std::min(512, x.n))}, numbers("side of a square tile", 2));
  const Series& bf16_series = f.panels[0].series[0];
  f.caption =
      "Mean difference between Flash Attention and three-pass attention over the side of a square tile, as a share of "
      "that of the smallest. In bf16, policy " +
      policies_of(x)[0] + ", it " + growth_words(bf16_series) +
      ": wider tiles mean fewer stores of the state. Summaries of the paper say of its figure 6 (b) that square tiles "
      "have little influence; " +
      conditions(x, base_of(x), "tile");
  return f;
}

Figure tile_swap(const FigureSettings& x, const AnswerSweep& answer) {
  const Axis tiles{"tile", {"16x64", "64x16", "16x128", "128x16", "32x256", "256x32"}};
  Figure f = over_tiles(x, answer, "tile-swap", tiles, names("block_q x block_k", tiles.values));
  const Series& bf16_series = f.panels[0].series[0];
  f.caption =
      "Mean difference between Flash Attention and three-pass attention for rectangular tiles and the same tiles "
      "swapped, as a share of that of 16x64. In bf16, policy " +
      policies_of(x)[0] + ", 64x16 has " + two_digits(value_at(f.panels[0], bf16_series, "64x16")) +
      " times the difference of 16x64: the number of keys a tile matters, the number of query rows changes no bit; " +
      conditions(x, base_of(x), "tile");
  return f;
}

}  // namespace attoscope::papers
