#include "kernels/train/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/arithmetic/random.h"
#include "kernels/train/activations.h"

namespace attoscope {

std::uint64_t rounding_seed_of(std::uint64_t seed, int index, std::uint64_t stream) {
  const auto p = philox<std::uint64_t>(static_cast<std::uint32_t>(index), 0, stream, seed);
  return (p.x[0] << 32) | p.x[1];
}

template <class T>
struct Model<T>::Parts {
  using Numbers = DeviceNumbers<T>;
  static constexpr std::uint64_t layer_stream = 0x6c617965;  ///< of the layers of a step

  Parts(const ModelShape& model, int vocabulary, int sequences, const TrainMethod& method, Primitives<T>& device)
      : shape(model),
        batch(sequences),
        words(vocabulary),
        rows(sequences * model.context),
        parameters(attoscope::parameters(model, words)),
        to_D(plan<T>(to_main, method.format)),
        on(device),
        size(model, words, sequences),
        kept(on, size, parameters, shape, method),
        d(on, size),
        input(on, size.rows),
        target(on, size.rows) {
    if (to_D.rounds()) weights_in_D = {on, parameters.size};
  }

  // --- forward --------------------------------------------------------------------------------------------------------

  /// Casts all weights to D; called once per step.
  void take_weights(const T* w) {
    weights = w;
    matrices = to_D.rounds() ? weights_in_D.get() : w;
    if (to_D.rounds()) on.rounded(w, count(weights_in_D), to_D, weights_in_D.get());
  }

  void embed() {
    on.embed(input.get(), rows, shape.context, shape.width, weights + tensor("embedding").first,
             weights + tensor("positions").first, kept.layers[0].x.get());
  }

  /// middle = x + attention(norm(x)).W_O
  void attend(Layer<T>& y, int layer) {
    on.norm(norm_of(y.x, y.norm_1));
    multiply(y.norm_1.y.get(), *y.W_Q, y.q.get());
    multiply(y.norm_1.y.get(), *y.W_K, y.k.get());
    multiply(y.norm_1.y.get(), *y.W_V, y.v.get());
    on.attention(heads_of(y, layer));
    if (y.o_in_D.get()) on.rounded(y.o.get(), count(y.o), to_D, y.o_in_D.get());
    copy(y.x, y.middle);
    multiply(y.projected(), *y.W_O, y.middle.get(), true);
  }

  /// next = middle + gelu(norm(middle).W_1).W_2
  void think(Layer<T>& y, Numbers& next) {
    on.norm(norm_of(y.middle, y.norm_2));
    multiply(y.norm_2.y.get(), *y.W_1, y.hidden.get());
    on.gelu(y.hidden.get(), count(y.hidden), to_D, y.gelu.get());
    copy(y.middle, next);
    multiply(y.gelu.get(), *y.W_2, next.get(), true);
  }

  void predict() {
    on.norm(norm_of(kept.last, kept.final_norm));
    multiply(kept.final_norm.y.get(), tensor("head"), kept.logits.get());
    on.cross_entropy(cross_entropy(1, nullptr));
  }

  // --- backward -------------------------------------------------------------------------------------------------------

  void predict_back(T scale) {
    const ParameterTensor& head = tensor("head");
    on.cross_entropy(cross_entropy(scale, d.logits.get()));
    weight_gradient(kept.final_norm.y.get(), d.logits.get(), head);
    multiply_back(d.logits.get(), head, d.normed.get());
    on.clear(d.x.get(), count(d.x));
    normalise_back(kept.last, kept.final_norm);
  }

  void think_back(Layer<T>& y) {
    const T* d_y = stream_gradient_in_D();
    weight_gradient(y.gelu.get(), d_y, *y.W_2);
    multiply_back(d_y, *y.W_2, d.wide.get());
    on.gelu_gradient(y.hidden.get(), d.wide.get(), count(d.wide), to_D, d.wide.get());
    weight_gradient(y.norm_2.y.get(), d.wide.get(), *y.W_1);
    multiply_back(d.wide.get(), *y.W_1, d.normed.get());
    normalise_back(y.middle, y.norm_2);
  }

  /// Adds the gradients through Q, K and V in this order, in T.
  void attend_back(Layer<T>& y, int layer) {
    const T* d_y = stream_gradient_in_D();
    weight_gradient(y.projected(), d_y, *y.W_O);
    multiply_back(d_y, *y.W_O, y.d_o.get());
    on.attention_gradient(
        {.forward = heads_of(y, layer), .d_o = y.d_o.get(), .d_q = d.q.get(), .d_k = d.k.get(), .d_v = d.v.get()});
    const std::pair<const Numbers*, const ParameterTensor*> inputs[] = {{&d.q, y.W_Q}, {&d.k, y.W_K}, {&d.v, y.W_V}};
    for (const auto& [d_input, weight] : inputs) {
      if (!y.gradients_are_in_D) round_in_place(*d_input);
      weight_gradient(y.norm_1.y.get(), d_input->get(), *weight);
      multiply_back(d_input->get(), *weight, d.normed.get(), weight != y.W_Q);
    }
    normalise_back(y.x, y.norm_1);
  }

  void embed_back() {
    on.embed_gradient(input.get(), rows, shape.context, shape.width, words, d.x.get(), gradient + tensor("embedding").first,
                      gradient + tensor("positions").first);
  }

  // --- parts of both --------------------------------------------------------------------------------------------------

  /// y = round(x.W), or y += round(x.W).
  void multiply(const T* x, const ParameterTensor& w, T* y, bool adds = false) {
    on.product({.a = x,
                .a_row = w.rows,
                .a_col = 1,
                .b = matrices + w.first,
                .b_row = w.cols,
                .b_col = 1,
                .c = y,
                .c_row = w.cols,
                .m = rows,
                .n = w.cols,
                .k = w.rows,
                .adds = adds,
                .rounding = to_D});
  }

  /// d_x = round(d_y.W^T), or d_x += round(d_y.W^T).
  void multiply_back(const T* d_y, const ParameterTensor& w, T* d_x, bool adds = false) {
    on.product({.a = d_y,
                .a_row = w.cols,
                .a_col = 1,
                .b = matrices + w.first,
                .b_row = 1,
                .b_col = w.cols,
                .c = d_x,
                .c_row = w.rows,
                .m = rows,
                .n = w.rows,
                .k = w.cols,
                .adds = adds,
                .rounding = to_D});
  }

  /// dW = round(x^T.d_y), summed over the tokens of a sequence, then over sequences.
  void weight_gradient(const T* x, const T* d_y, const ParameterTensor& w) {
    on.product({.a = x,
                .a_row = 1,
                .a_col = w.rows,
                .b = d_y,
                .b_row = w.cols,
                .b_col = 1,
                .c = gradient + w.first,
                .c_row = w.cols,
                .m = w.rows,
                .n = w.cols,
                .k = rows,
                .piece = shape.context,
                .rounding = to_D});
  }

  /// Adds the gradient through a norm to the stream's; d.normed is the gradient of the norm's output.
  void normalise_back(const Numbers& x, const Normed<T>& n) {
    on.norm_gradient({.forward = norm_of(x, n),
                      .d_y = d.normed.get(),
                      .d_x = d.x.get(),
                      .d_gain = within(gradient, n.gain),
                      .d_bias = within(gradient, n.bias),
                      .piece = shape.context});
  }

  void round_in_place(const Numbers& x) { on.rounded(x.get(), count(x), to_D, x.get()); }
  void copy(const Numbers& x, const Numbers& y) { on.rounded(x.get(), count(x), {}, y.get()); }
  const T* stream_gradient_in_D() {
    if (!to_D.rounds()) return d.x.get();
    on.rounded(d.x.get(), count(d.x), to_D, d.x_in_D.get());
    return d.x_in_D.get();
  }

  NormRows<T> norm_of(const Numbers& x, const Normed<T>& n) const {
    return {.norm = shape.norm,
            .rows = rows,
            .width = shape.width,
            .x = x.get(),
            .gain = within(weights, n.gain),
            .bias = within(weights, n.bias),
            .y = n.y.get(),
            .mean = n.mean.get(),
            .reciprocal = n.reciprocal.get(),
            .rounding = to_D};
  }

  HeadBatch<T> heads_of(const Layer<T>& y, int layer) const {
    return {.rules = y.rules.data(),
            .sequences = batch,
            .heads = shape.heads,
            .context = shape.context,
            .d = shape.head_dimension(),
            .row_stride = shape.width,
            .q = y.q.get(),
            .k = y.k.get(),
            .v = y.v.get(),
            .o = y.o.get(),
            .m = y.m.get(),
            .l = y.l.get(),
            .rounding_seed = rounding_seed_of(rounding_seed, layer, layer_stream)};
  }

  CrossEntropy<T> cross_entropy(T scale, T* d_logits) const {
    return {.rows = rows,
            .vocabulary = words,
            .logits = kept.logits.get(),
            .targets = target.get(),
            .factor = scale / static_cast<T>(rows),
            .losses = kept.losses.get(),
            .d_logits = d_logits,
            .rounding = to_D};
  }

  const ParameterTensor& tensor(std::string_view name) const { return *parameters.find(name); }
  static std::int64_t count(const Numbers& x) { return static_cast<std::int64_t>(x.size()); }

  ModelShape shape;
  int batch, words, rows;
  Parameters parameters;
  RounderPlan<T> to_D;
  Primitives<T>& on;
  ModelSize size;
  Activations<T> kept;
  StreamGradients<T> d;
  DeviceArray<T, std::uint16_t> input, target;
  Numbers weights_in_D;         ///< empty if D rounds nothing
  const T* weights = nullptr;   ///< of the current pass
  const T* matrices = nullptr;  ///< the weights as they enter matrix products
  T* gradient = nullptr;
  std::uint64_t rounding_seed = 0;
};

template <class T>
Model<T>::Model(const ModelShape& shape, int vocabulary, int batch, const TrainMethod& method, Primitives<T>& on)
    : parts_(std::make_unique<Parts>(shape, vocabulary, batch, method, on)) {}

template <class T>
Model<T>::~Model() = default;

template <class T>
const Parameters& Model<T>::parameters() const {
  return parts_->parameters;
}

template <class T>
double Model<T>::forward(const T* weights, const Batch& batch, std::uint64_t rounding_seed) {
  Parts& p = *parts_;
  std::vector<Layer<T>>& layers = p.kept.layers;
  p.rounding_seed = rounding_seed;
  p.input.write(batch.input);
  p.target.write(batch.target);
  p.take_weights(weights);
  p.embed();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    p.attend(layers[i], static_cast<int>(i));
    p.think(layers[i], i + 1 < layers.size() ? layers[i + 1].x : p.kept.last);
  }
  p.predict();
  double sum = 0;
  for (const T loss : p.kept.losses.read()) sum += static_cast<double>(loss);
  return sum / p.rows;
}

template <class T>
void Model<T>::backward(const T* weights, T scale, T* gradient) {
  Parts& p = *parts_;
  p.weights = weights;
  p.gradient = gradient;
  p.predict_back(scale);
  for (int i = p.shape.layers; i-- > 0;) {
    p.think_back(p.kept.layers[static_cast<std::size_t>(i)]);
    p.attend_back(p.kept.layers[static_cast<std::size_t>(i)], i);
  }
  p.embed_back();
}

template <class T>
std::vector<HeadStatistics> Model<T>::statistics(int layer) const {
  const Layer<T>& y = parts_->kept.layers[static_cast<std::size_t>(layer)];
  const std::vector<T> q = y.q.read(), k = y.k.read(), v = y.v.read(), d_o = y.d_o.read();
  std::vector<T> o = y.o.read(), m = y.m.read(), l = y.l.read();
  HeadGradient<T> heads{.forward = parts_->heads_of(y, layer), .d_o = d_o.data()};
  heads.forward.q = q.data();
  heads.forward.k = k.data();
  heads.forward.v = v.data();
  heads.forward.o = o.data();
  heads.forward.m = m.data();
  heads.forward.l = l.data();
  if constexpr (std::is_same_v<T, float>)
    return attoscope::head_statistics(heads);
  else
    return {};
}

template <class T>
CapturedHead Model<T>::captured(int layer, int head, int sequence) const {
  const Layer<T>& y = parts_->kept.layers[static_cast<std::size_t>(layer)];
  const ModelShape& shape = parts_->shape;
  const int d = shape.head_dimension();
  const auto part = [&](const DeviceNumbers<T>& numbers) {
    const std::vector<T> all = numbers.read();
    std::vector<float> values;
    for (int token = 0; token < shape.context; ++token) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(sequence * shape.context + token) * shape.width + head * d;
      std::transform(first, first + d, std::back_inserter(values), [](T x) { return static_cast<float>(x); });
    }
    return values;
  };
  return {shape.context, d, part(y.q), part(y.k), part(y.v)};
}

template <class T>
std::string Model<T>::first_nonfinite() const {
  for (const auto& [name, numbers] : parts_->kept.named())
    if (!std::ranges::all_of(numbers->read(), [](T x) { return std::isfinite(x); })) return name;
  return {};
}

template <class T>
std::string Model<T>::largest() const {
  std::string place;
  T most = -1;
  for (const auto& [name, numbers] : parts_->kept.named())
    for (const T x : numbers->read()) {
      const T magnitude = std::isnan(x) ? std::numeric_limits<T>::infinity() : std::abs(x);
      if (magnitude <= most) continue;
      most = magnitude;
      place = name;
    }
  return place;
}

template class Model<float>;
template class Model<double>;

}  // namespace attoscope
