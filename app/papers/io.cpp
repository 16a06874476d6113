// Bytes between HBM and the chip.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"

namespace attoscope::papers {

Figure io(const FigureSettings& x, const AnswerSweep&) {
  Experiment e = base_of(x);
  Figure f = figure_of("io", 2);
  constexpr std::array<std::pair<const char*, double Traffic::*>, 3> counts{
      {{"Algorithm 0", &Traffic::algorithm0}, {"FlashAttention", &Traffic::flash1}, {"FlashAttention-2", &Traffic::flash2}}};
  const auto curve = [&](auto set, const std::vector<std::string>& values, double Traffic::* count) {
    Series s;
    for (const std::string& v : values) {
      set(*to_number<int>(v));
      s.x.push_back(*to_number<double>(v));
      s.y.push_back(traffic(e).*count);
    }
    return s;
  };
  const auto panel = [&](const char* label, auto set, const std::vector<std::string>& values) {
    FigurePanel p = panel_of(numbers(label, 2), "HBM bytes");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      p.series.push_back(curve(set, values, counts[i].second));
      p.series.back().label = counts[i].first;
      p.series.back().ink = series_ink(i);
    }
    f.panels.push_back(std::move(p));
  };
  panel("N", [&](int n) { e.problem.n = n; }, powers(128, 65536));
  e.problem.n = x.n;
  panel(
      "on-chip memory M, elements", [&](int memory) { e = with_tiles(e, tiles_for_memory(memory, x.d)); },
      powers(4 * x.d, 4 * x.d * 1024));
  const std::vector<Series>& all = f.panels[0].series;
  f.caption = fmt::format(
      "Bytes moved between HBM and on-chip memory, counted from the loops of each algorithm: left over N with 64 x 64 tiles, "
      "right over on-chip memory M at N = {} with Bc = ceil(M/4d), Br = min(Bc, d). At the largest N FlashAttention moves {} "
      "and "
      "FlashAttention-2 {} of what attention without tiles moves; all grow with the square of N; d = {}, bf16, "
      "attoscope " ATTOSCOPE_VERSION ".",
      x.n, two_digits(all[1].y.back() / all[0].y.back()), two_digits(all[2].y.back() / all[0].y.back()), x.d);
  return f;
}

}  // namespace attoscope::papers
