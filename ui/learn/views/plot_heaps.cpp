// Two heaps of weights, their sorted values paired by lines: Wasserstein-1 is the mean length of the lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/train/measures.h"
#include "kernels/train/plan/parameters.h"
#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

constexpr int heap_bins = 32;

/// Weights of two models, sorted, and how far apart they are.
struct HeapsState {
  int n = 0;  ///< of each
  std::uint64_t seed = 0;
  std::vector<float> x, y;
  double distance = 0;  ///< Wasserstein-1
};

/// The first `n` weights of W_Q in layer 0 of a model that starts from `seed`, sorted.
std::vector<float> sorted_weights(const Parameters& all, int n, std::uint64_t seed) {
  const ParameterTensor& tensor = all.tensors[static_cast<std::size_t>(all.index(0, Weight::W_Q))];
  const std::vector<float> weights = first_weights(all, ModelShape{}, seed);
  const auto first = weights.begin() + static_cast<std::ptrdiff_t>(tensor.first);
  std::vector<float> sorted(first, first + std::min<std::ptrdiff_t>(n, static_cast<std::ptrdiff_t>(tensor.size())));
  std::ranges::sort(sorted);
  return sorted;
}

void refresh_heaps(HeapsState& state, const Problem& problem) {
  if (state.n == problem.n && state.seed == problem.seed && !state.x.empty()) return;
  const Parameters all = parameters(ModelShape{}, 64);
  state = {problem.n, problem.seed, sorted_weights(all, problem.n, problem.seed),
           sorted_weights(all, problem.n, problem.seed + 1), 0};
  state.distance = wasserstein(state.x, state.y);
}

/// The places of the picture's parts: the numbers from `low` to `high` lie between x0 and x1.
struct HeapsRoom {
  float x0, x1, top, bottom;
  double low, high;
  float at(double value) const { return x0 + static_cast<float>((value - low) / (high - low)) * (x1 - x0); }
};

/// The numbers of values in equal parts of [low, high].
std::array<int, heap_bins> counts_of(std::span<const float> values, double low, double high) {
  std::array<int, heap_bins> counts{};
  for (const float v : values)
    ++counts[static_cast<std::size_t>(std::clamp((v - low) / (high - low) * heap_bins, 0.0, heap_bins - 1.0))];
  return counts;
}

/// A heap as a histogram that stands on `base` and is at most `height` high: above it, or below where `height` is negative.
void draw_heap(const HeapsRoom& room, std::span<const float> values, float base, float height, Colour colour) {
  const std::array<int, heap_bins> counts = counts_of(values, room.low, room.high);
  const float most = static_cast<float>(*std::ranges::max_element(counts)), wide = (room.x1 - room.x0) / heap_bins;
  for (int i = 0; i < heap_bins; ++i) {
    const float x = room.x0 + static_cast<float>(i) * wide,
                y = base - height * static_cast<float>(counts[static_cast<std::size_t>(i)]) / most;
    ImGui::GetWindowDrawList()->AddRectFilled({x, std::min(base, y)}, {x + wide - px(1), std::max(base, y)}, colour);
  }
}

void draw_heaps(const HeapsState& state, const HeapsRoom& room) {
  const float upper = room.top + 0.32f * (room.bottom - room.top), lower = room.bottom - 0.32f * (room.bottom - room.top);
  draw_heap(room, state.x, upper, upper - room.top, colours().a);
  draw_heap(room, state.y, lower, lower - room.bottom, colours().b);
  const float alpha = std::clamp(64 / static_cast<float>(state.x.size()), 0.08f, 0.8f);
  for (std::size_t k = 0; k < state.x.size(); ++k)
    ImGui::GetWindowDrawList()->AddLine({room.at(state.x[k]), upper + px(2)}, {room.at(state.y[k]), lower - px(2)},
                                        faded(colours().text, alpha), px(1));
}

/// A heap as steps that stand on 0, or hang from it where `sign` is negative.
Series heap_series(std::string label, Ink ink, std::span<const float> values, double low, double high, double sign) {
  Series s = series_of(std::move(label), ink, Shape::steps);
  const std::array<int, heap_bins> counts = counts_of(values, low, high);
  for (int i = 0; i < heap_bins; ++i) {
    s.x.push_back(low + (i + 0.5) / heap_bins * (high - low));
    s.y.push_back(sign * counts[static_cast<std::size_t>(i)]);
  }
  return s;
}

}  // namespace

std::vector<FigurePanel> heaps_panels(const LessonScene& scene, std::string&) {
  constexpr double gap = std::numeric_limits<double>::quiet_NaN();
  HeapsState state;
  refresh_heaps(state, scene.experiment.problem);
  const double low = std::min(state.x.front(), state.y.front()),
               high = std::max({static_cast<double>(std::max(state.x.back(), state.y.back())), low + 1e-9});
  FigurePanel p;
  p.x = number_axis("weight"), p.y = number_axis("weights of the first model up, of the second down");
  p.series = {heap_series(fmt::format("seed {}", state.seed), Ink::a, state.x, low, high, 1),
              heap_series(fmt::format("seed {}", state.seed + 1), Ink::b, state.y, low, high, -1)};
  const double height = 0.3 * std::ranges::max(p.series[0].y);
  Series lines = series_of("sorted values, joined", Ink::golden, Shape::line);
  for (std::size_t k = 0; k < state.x.size(); ++k) {
    for (const double x : {double{state.x[k]}, double{state.y[k]}, double{state.y[k]}}) lines.x.push_back(x);
    for (const double y : {height, -height, gap}) lines.y.push_back(y);
  }
  p.series.push_back(std::move(lines));
  return {std::move(p)};
}

std::string draw_heaps_plot(LessonScene& scene, float height) {
  auto& state = own_state<HeapsState>(scene);
  refresh_heaps(state, scene.experiment.problem);
  draw_view_summary(scene, colours().secondary,
                    fmt::format("{} weights of each model: sorted, they are {} apart on average.", state.x.size(),
                                scientific(state.distance, 3)));
  draw_plot_header(scene, fmt::format("weights from seed {} above, from seed {} below", state.seed, state.seed + 1),
                   "sorted values are joined");
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const double low = std::min(state.x.front(), state.y.front()), high = std::max(state.x.back(), state.y.back());
  const float text = line_height(Face::small), margin = px(12);
  const HeapsRoom room{from.x + margin,           from.x + scene.width - margin, from.y, from.y + height - text - px(4), low,
                       std::max(high, low + 1e-9)};
  draw_heaps(state, room);
  offer_own_figure(scene, from, {from.x + scene.width, from.y + height});
  for (const auto& [value, align] : {std::pair{low, 0.0f}, {high, 1.0f}})
    draw_text({room.at(value), room.bottom + px(4)}, Face::small, colours().faint, scientific(value, 2), align);
  ImGui::Dummy({scene.width, height});
  wrapped(
      Face::small, colours().secondary,
      "Wasserstein-1 is the mean length of the lines. It sorts, so it does not see which weight moved; and it depends on the "
      "number of weights.",
      scene.width);
  return "";
}

}  // namespace attoscope::ui
