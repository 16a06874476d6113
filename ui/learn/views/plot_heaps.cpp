// Two heaps of weights, their sorted values paired by lines: Wasserstein-1 is the mean length of the lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/train/measures.h"
#include "kernels/train/plan/parameters.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {
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

/// A heap as a histogram that stands on `base` and is at most `height` high: above it, or below where `height` is negative.
void draw_heap(const HeapsRoom& room, std::span<const float> values, float base, float height, Colour colour) {
  std::array<int, heap_bins> counts{};
  for (const float v : values)
    ++counts[static_cast<std::size_t>(std::clamp((v - room.low) / (room.high - room.low) * heap_bins, 0.0, heap_bins - 1.0))];
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

}  // namespace

std::string draw_heaps_plot(LessonScene& scene, float height) {
  auto& state = own_state<HeapsState>(scene);
  refresh_heaps(state, scene.experiment.problem);
  draw_view_summary(scene, colours().secondary,
                    fmt::format("{} weights of each model: sorted, they are {} apart on average.", state.x.size(),
                                scientific(state.distance, 3)));
  draw_plot_head(scene, fmt::format("weights from seed {} above, from seed {} below", state.seed, state.seed + 1),
                 "sorted values are joined");
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const double low = std::min(state.x.front(), state.y.front()), high = std::max(state.x.back(), state.y.back());
  const float text = line_height(Face::small), margin = px(12);
  const HeapsRoom room{from.x + margin,           from.x + scene.width - margin, from.y, from.y + height - text - px(4), low,
                       std::max(high, low + 1e-9)};
  draw_heaps(state, room);
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

}  // namespace attoscope
