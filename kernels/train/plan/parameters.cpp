#include "kernels/train/plan/parameters.h"

#include <algorithm>
#include <cmath>

#include "kernels/lanes/job.h"

namespace attoscope {
namespace {

constexpr std::size_t alignment = 16;
constexpr double deviation = 0.02;

std::string name_in_layer(int layer, Weight weight) {
  return "layer " + std::to_string(layer) + " " + std::string(weight_names[weight]);
}

void add(Parameters& p, const std::string& name, int rows, int cols, int layer = -1, bool decays = false) {
  p.tensors.push_back({name, rows, cols, p.size, layer, decays});
  p.size += (p.tensors.back().size() + alignment - 1) / alignment * alignment;
}

void add_layer(Parameters& p, const ModelShape& shape, int layer) {
  const auto vector = [&](Weight weight) { add(p, name_in_layer(layer, weight), 1, shape.width, layer); };
  const auto matrix = [&](Weight weight, int inputs, int outputs) {
    add(p, name_in_layer(layer, weight), inputs * shape.width, outputs * shape.width, layer, true);
  };
  const bool biased = shape.norm == Norm::layer;
  vector(Weight::norm_1_gain);
  if (biased) vector(Weight::norm_1_bias);
  for (const Weight weight : {Weight::W_Q, Weight::W_K, Weight::W_V, Weight::W_O}) matrix(weight, 1, 1);
  vector(Weight::norm_2_gain);
  if (biased) vector(Weight::norm_2_bias);
  matrix(Weight::W_1, 1, 4);
  matrix(Weight::W_2, 4, 1);
}

/// True for W_O and W_2, which add to the residual stream 2 x layers times.
bool feeds_residual(const ParameterTensor& tensor) { return tensor.name.ends_with(" W_O") || tensor.name.ends_with(" W_2"); }

void draw(const ParameterTensor& tensor, double spread, std::uint64_t seed, std::uint32_t stream, float* out) {
  const std::size_t even = (tensor.size() + 1) / 2 * 2;
  std::vector<double> normals(even);
  instruction_set().normals(seed, stream, 0, static_cast<std::int64_t>(even), normals.data());
  for (std::size_t i = 0; i < tensor.size(); ++i) out[i] = static_cast<float>(spread * normals[i]);
}

}  // namespace

int Parameters::index(int layer, Weight weight) const { return index(name_in_layer(layer, weight)); }

int Parameters::index(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &ParameterTensor::name);
  return found == tensors.end() ? -1 : static_cast<int>(found - tensors.begin());
}

Parameters parameters(const ModelShape& shape, int vocabulary) {
  Parameters p;
  add(p, "embedding", vocabulary, shape.width);
  add(p, "positions", shape.context, shape.width);
  for (int layer = 0; layer < shape.layers; ++layer) add_layer(p, shape, layer);
  add(p, "final norm gain", 1, shape.width);
  if (shape.norm == Norm::layer) add(p, "final norm bias", 1, shape.width);
  add(p, "head", shape.width, vocabulary, -1, true);
  return p;
}

std::vector<float> first_weights(const Parameters& parameters, const ModelShape& shape, std::uint64_t seed) {
  std::vector<float> weights(parameters.size);
  const double residual = deviation / std::sqrt(2.0 * shape.layers);
  for (std::uint32_t i = 0; i < parameters.tensors.size(); ++i) {
    const ParameterTensor& tensor = parameters.tensors[i];
    float* first = weights.data() + tensor.first;
    if (tensor.name.ends_with("gain"))
      std::fill_n(first, tensor.size(), 1.0f);
    else if (!tensor.name.ends_with("bias"))
      draw(tensor, feeds_residual(tensor) ? residual : deviation, seed, i, first);
  }
  return weights;
}

}  // namespace attoscope
