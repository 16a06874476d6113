#include "kernels/model/architecture.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/experiment/text.h"

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

std::int64_t parameters(const LanguageModel& model) {
  const auto count = [](const WeightMatrix& w) { return static_cast<std::int64_t>(w.values.size()); };
  std::int64_t all = count(model.embedding) + count(model.norm) + count(model.head);
  for (const LayerWeights& layer : model.layers)
    for (const WeightMatrix& w : layer) all += count(w);
  return all;
}

std::array<int, 2> shape_of(const Architecture& a, LayerTensor t) {
  const int q = a.heads * a.head_dim, kv = a.kv_heads * a.head_dim;
  switch (t) {
    case LayerTensor::attention_norm:
    case LayerTensor::mlp_norm:
    case LayerTensor::o_bias:
      return {1, a.width};
    case LayerTensor::q:
      return {q, a.width};
    case LayerTensor::k:
    case LayerTensor::v:
      return {kv, a.width};
    case LayerTensor::q_bias:
      return {1, q};
    case LayerTensor::k_bias:
    case LayerTensor::v_bias:
      return {1, kv};
    case LayerTensor::q_norm:
    case LayerTensor::k_norm:
      return {1, a.head_dim};
    case LayerTensor::o:
      return {a.width, q};
    case LayerTensor::gate:
    case LayerTensor::up:
      return {a.inner, a.width};
    case LayerTensor::down:
      break;
  }
  return {a.width, a.inner};
}

bool is_optional(LayerTensor t) {
  return t == LayerTensor::q_bias || t == LayerTensor::k_bias || t == LayerTensor::v_bias || t == LayerTensor::o_bias ||
         t == LayerTensor::q_norm || t == LayerTensor::k_norm;
}

void validate(const Architecture& a) {
  constexpr int most = 1 << 24;
  const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
  for (const int size : {a.vocabulary, a.width, a.layers, a.heads, a.kv_heads, a.head_dim, a.inner})
    if (size < 1 || size > most)
      refuse("has a size of " + std::to_string(size) + ", expected sizes from 1 to " + std::to_string(most));
  if (a.head_dim > 1024) refuse("has a head of " + std::to_string(a.head_dim) + " columns, expected at most 1024");
  if (static_cast<std::int64_t>(a.heads) * a.head_dim > most)
    refuse("has " + std::to_string(a.heads) + " heads of " + std::to_string(a.head_dim) + ", expected at most " +
           std::to_string(most) + " columns");
  constexpr int most_heads = 1 << 20;
  if (static_cast<std::int64_t>(a.layers) * a.heads > most_heads)
    refuse("has " + std::to_string(a.layers) + " layers of " + std::to_string(a.heads) + " heads, expected at most " +
           std::to_string(most_heads) + " heads altogether");
  if (a.heads % a.kv_heads != 0)
    refuse("has " + std::to_string(a.heads) + " heads of Q over " + std::to_string(a.kv_heads) +
           " of K and V, expected a multiple");
  if (a.head_dim % 2 != 0)
    refuse("has a head of " + std::to_string(a.head_dim) + " columns, expected an even number, for the rotary embedding");
  if (!(a.epsilon >= 0 && a.epsilon < 1)) refuse("has an epsilon of " + shortest(a.epsilon) + ", expected 0 to 1");
  if (!(a.rope.theta > 1 && a.rope.theta < 1e30))
    refuse("has a rope_theta of " + shortest(a.rope.theta) + ", expected more than 1 and less than 1e30");
  if (a.rope.scaling == RopeScaling::dynamic && a.head_dim == 2)
    refuse("has a head of 2 columns, expected more for a rope_type of dynamic, which divides by the columns less 2");
}

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
