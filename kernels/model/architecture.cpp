#include "kernels/model/architecture.h"

#include <stdexcept>

namespace attoscope {

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
  if (a.heads % a.kv_heads != 0)
    refuse("has " + std::to_string(a.heads) + " heads of Q over " + std::to_string(a.kv_heads) +
           " of K and V, expected a multiple");
  if (a.head_dim % 2 != 0)
    refuse("has a head of " + std::to_string(a.head_dim) + " columns, expected an even number, for the rotary embedding");
  if (!(a.epsilon >= 0 && a.epsilon < 1)) refuse("has an epsilon of " + std::to_string(a.epsilon) + ", expected 0 to 1");
  if (!(a.rope.theta > 1 && a.rope.theta < 1e30))
    refuse("has a rope_theta of " + std::to_string(a.rope.theta) + ", expected more than 1");
}

}  // namespace attoscope
