#include <cmath>

#include "kernels/model/architecture.h"

namespace attoscope {
namespace {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Mean 0 and variance 1: the sum of twelve uniform numbers.
  double nearly_normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(bits() >> 11) * 0x1p-53;
    return sum;
  }

 private:
  std::uint64_t state_;
};

WeightMatrix random_matrix(RandomNumbers& random, int rows, int cols, double mean, double size) {
  WeightMatrix w{rows, cols, {}};
  for (int i = 0; i < rows * cols; ++i) w.values.push_back(static_cast<float>(mean + size * random.nearly_normal()));
  return w;
}

}  // namespace

LanguageModel random_model(std::uint64_t seed) {
  RandomNumbers random(seed);
  LanguageModel m;
  m.architecture = {.vocabulary = 256, .width = 64, .layers = 4, .heads = 4, .kv_heads = 2, .head_dim = 16, .inner = 128};
  const Architecture& a = m.architecture;
  m.embedding = random_matrix(random, a.vocabulary, a.width, 0, 1);
  m.layers.resize(static_cast<std::size_t>(a.layers));
  for (LayerWeights& layer : m.layers)
    for (std::size_t i = 0; i < layer_tensor_count; ++i) {
      const auto t = static_cast<LayerTensor>(i);
      if (is_optional(t)) continue;
      const auto [rows, cols] = shape_of(a, t);
      layer[i] =
          rows == 1 ? random_matrix(random, 1, cols, 1, 0.2) : random_matrix(random, rows, cols, 0, 1.5 / std::sqrt(cols));
    }
  m.norm = random_matrix(random, 1, a.width, 1, 0.2);
  return m;
}

std::vector<int> random_tokens(std::uint64_t seed, int n, int vocabulary) {
  RandomNumbers random(~seed);
  std::vector<int> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back(static_cast<int>(random.bits() % static_cast<std::uint64_t>(vocabulary)));
  return tokens;
}

}  // namespace attoscope
