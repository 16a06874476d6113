#include "kernels/train/activations.h"

namespace attoscope {
namespace {

/// True if the result of this step needs no rounding to D.
template <class T>
bool leaves_D(const RounderPlan<T>& step, const RounderPlan<T>& to_D) {
  return !to_D.rounds() || (step.rounds() && step.format == to_D.format);
}

/// Sets the rules of a layer's heads, and the layer's roundings to D that they require.
template <class T>
void choose_rules(Layer<T>& layer, Primitives<T>& on, const ModelShape& shape, const TrainMethod& method, int index) {
  const RounderPlan<T> to_D = plan<T>(to_main, method.format);
  bool o_is_in_D = true;
  for (int head = 0; head < shape.heads; ++head) {
    const HeadRule<T>& rule = layer.rules.emplace_back(head_rule<T>(shape, method, method.is_exact(index, head)));
    o_is_in_D = o_is_in_D && leaves_D(rule.job[Step::output], to_D);
    for (const GradStep s : {GradStep::dQ, GradStep::dK, GradStep::dV})
      layer.gradients_are_in_D = layer.gradients_are_in_D && leaves_D(rule[s], to_D);
  }
  if (!o_is_in_D) layer.o_in_D = {on, layer.o.size()};
}

}  // namespace

double bytes_of_training(const ModelShape& shape, int vocabulary, int batch) {
  const ModelSize size(shape, vocabulary, batch);
  const double width = static_cast<double>(size.width), words = static_cast<double>(size.words);
  const double layer = 18 * width + 4 + 2 * static_cast<double>(size.heads);  // per token: 10 streams, and 2 of 4 x width
  const double rest = 12 * width + 2 * words + 3;                             // after the layers, and the gradients
  const double weights = 5 * static_cast<double>(parameters(shape, vocabulary).size);
  return (static_cast<double>(size.rows) * (shape.layers * layer + rest) + weights) * sizeof(float);
}

template <class T>
Layer<T>::Layer(Primitives<T>& on, const ModelSize& size, const Parameters& p, int index)
    : W_Q(p.find(index, Weight::W_Q)),
      W_K(p.find(index, Weight::W_K)),
      W_V(p.find(index, Weight::W_V)),
      W_O(p.find(index, Weight::W_O)),
      W_1(p.find(index, Weight::W_1)),
      W_2(p.find(index, Weight::W_2)),
      norm_1(on, size, p.find(index, Weight::norm_1_gain), p.find(index, Weight::norm_1_bias)),
      norm_2(on, size, p.find(index, Weight::norm_2_gain), p.find(index, Weight::norm_2_bias)),
      x(on, size.rows * size.width),
      middle(on, x.size()),
      q(on, x.size()),
      k(on, x.size()),
      v(on, x.size()),
      o(on, x.size()),
      d_o(on, x.size()),
      m(on, size.rows * size.heads),
      l(on, m.size()),
      hidden(on, 4 * x.size()),
      gelu(on, 4 * x.size()) {}

template <class T>
Activations<T>::Activations(Primitives<T>& on, const ModelSize& size, const Parameters& parameters, const ModelShape& shape,
                            const TrainMethod& method)
    : last(on, size.rows * size.width),
      final_norm(on, size, parameters.find("final norm gain"), parameters.find("final norm bias")),
      logits(on, size.rows * size.words),
      losses(on, size.rows) {
  for (int i = 0; i < shape.layers; ++i) choose_rules(layers.emplace_back(on, size, parameters, i), on, shape, method, i);
}

template <class T>
std::vector<std::pair<std::string, const DeviceNumbers<T>*>> Activations<T>::named() const {
  std::vector<std::pair<std::string, const DeviceNumbers<T>*>> all{{"the embedded text", &layers[0].x}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer<T>& y = layers[i];
    const std::pair<const char*, const DeviceNumbers<T>*> parts[] = {
        {"output of norm 1", &y.norm_1.y},
        {"queries Q", &y.q},
        {"keys K", &y.k},
        {"values V", &y.v},
        {"attention output O", &y.o},
        {"residual stream after attention", &y.middle},
        {"output of norm 2", &y.norm_2.y},
        {"MLP before GELU", &y.hidden},
        {"MLP after GELU", &y.gelu},
        {"residual stream after the MLP", i + 1 < layers.size() ? &layers[i + 1].x : &last}};
    for (const auto& [what, numbers] : parts) all.emplace_back("layer " + std::to_string(i) + ", " + what, numbers);
  }
  all.emplace_back("the final norm", &final_norm.y);
  all.emplace_back("the array of logits", &logits);
  all.emplace_back("the array of losses", &losses);
  return all;
}

template struct Layer<float>;
template struct Layer<double>;
template struct Activations<float>;
template struct Activations<double>;

}  // namespace attoscope
