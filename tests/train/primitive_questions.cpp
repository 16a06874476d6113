#include "tests/train/primitive_questions.h"

#include <algorithm>
#include <limits>

#include "tests/support/support.h"

namespace attoscope::testing {
namespace {

/// State of one question: dice, arrays on the device, and the numbers read from them.
template <class T>
class Asking {
 public:
  Asking(Primitives<T>& on, std::uint64_t seed) : dice(seed), on_(on) {}

  /// `count` numbers of all magnitudes that occur in training.
  std::vector<T> numbers(int count) {
    std::vector<T> x(static_cast<std::size_t>(count));
    const double size = std::exp2(dice.between(-6, 3));
    for (T& v : x) v = static_cast<T>(dice.one_in(50) ? 0.0 : dice.normal() * size);
    return x;
  }
  /// `count` numbers, some of them 0, -0, infinite, NaN, tiny or huge.
  std::vector<T> nasty_numbers(int count) {
    using L = std::numeric_limits<T>;
    const T hard[] = {T(0),      T(-0.0),  L::infinity(), -L::infinity(), L::quiet_NaN(), L::denorm_min(),
                      -L::min(), L::max(), T(-88),        T(1e-7)};
    std::vector<T> x = numbers(count);
    for (T& v : x)
      if (dice.one_in(20)) v = dice.any(hard);
    return x;
  }
  std::vector<std::uint16_t> words(int count, int vocabulary) {
    std::vector<std::uint16_t> x(static_cast<std::size_t>(count));
    for (auto& w : x) w = static_cast<std::uint16_t>(dice.between(0, dice.one_in(3) ? 0 : vocabulary - 1));
    return x;
  }
  RounderPlan<T> rounding() {
    return dice.one_in(3) ? RounderPlan<T>{}
                          : plan<T>({.kind = Rounding::Kind::main}, dice.one_in(2) ? bf16 : random_format(dice));
  }

  template <class X>
  DeviceArray<T, X> device(const std::vector<X>& x) {
    DeviceArray<T, X> array(on_, x.size());
    array.write(x);
    return array;
  }
  void read(const DeviceArray<T, T>& x) {
    for (const T v : x.read()) answer.push_back(static_cast<double>(v));
  }

  Dice dice;
  std::vector<double> answer;

 private:
  Primitives<T>& on_;
};

template <class T>
std::vector<double> product(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  Dice& dice = ask.dice;
  MatrixProduct<T> p{.m = dice.between(1, 75), .n = dice.between(1, 150), .k = dice.between(1, dice.one_in(6) ? 600 : 90)};
  // contiguous rows or columns, sometimes neither
  const auto layout = [&](int rows, int cols, std::int64_t& row, std::int64_t& col) {
    const int gap = dice.between(0, 3), step = dice.one_in(5) ? 2 : 1;
    const bool transposed = dice.one_in(2);
    row = transposed ? step : cols * step + gap;
    col = transposed ? rows * step + gap : step;
    return static_cast<int>(std::max((rows - 1) * row + (cols - 1) * col, row + col) + 1);
  };
  const int a_size = layout(p.m, p.k, p.a_row, p.a_col), b_size = layout(p.k, p.n, p.b_row, p.b_col);
  p.c_row = p.n + dice.between(0, 5);
  p.piece = dice.one_in(2) ? 0 : dice.between(1, p.k + 3);
  p.adds = dice.one_in(2);
  p.rounding = ask.rounding();
  const bool nasty = dice.one_in(4);
  const auto values = [&](int count) { return nasty ? ask.nasty_numbers(count) : ask.numbers(count); };
  const auto a = ask.device(values(a_size)), b = ask.device(values(b_size)),
             c = ask.device(values(static_cast<int>(p.m * p.c_row)));
  p.a = a.get();
  p.b = b.get();
  p.c = c.get();
  on.product(p);
  ask.read(c);
  return ask.answer;
}

template <class T>
std::vector<double> rounded(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int count = ask.dice.between(1, 20000);
  const DeviceArray<T, T> x = ask.device(ask.nasty_numbers(count)), y = ask.device(ask.numbers(count));
  on.rounded(x.get(), count, ask.rounding(), y.get());
  ask.read(y);
  on.clear(y.get(), count / 2);
  ask.read(y);
  return ask.answer;
}

template <class T>
std::vector<double> embedding(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int context = ask.dice.between(1, 40), rows = context * ask.dice.between(1, 5), width = ask.dice.between(1, 70);
  const int vocabulary = ask.dice.between(1, 30);
  const auto tokens = ask.device(ask.words(rows, vocabulary));
  const auto embedding = ask.device(ask.numbers(vocabulary * width)), positions = ask.device(ask.numbers(context * width));
  const auto x = ask.device(ask.numbers(rows * width)), d_x = ask.device(ask.numbers(rows * width));
  on.embed(tokens.get(), rows, context, width, embedding.get(), positions.get(), x.get());
  on.embed_gradient(tokens.get(), rows, context, width, vocabulary, d_x.get(), embedding.get(), positions.get());
  for (const auto* written : {&x, &embedding, &positions}) ask.read(*written);
  return ask.answer;
}

template <class T>
std::vector<double> norm(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int rows = ask.dice.between(1, 70), width = ask.dice.between(1, 150), size = rows * width;
  const bool has_mean = ask.dice.one_in(2), nasty = ask.dice.one_in(5);
  const auto x = ask.device(nasty ? ask.nasty_numbers(size) : ask.numbers(size));
  const auto gain = ask.device(ask.numbers(width)), bias = ask.device(ask.numbers(width)), y = ask.device(ask.numbers(size));
  const auto mean = ask.device(ask.numbers(rows)), reciprocal = ask.device(ask.numbers(rows));
  const auto d_y = ask.device(ask.numbers(size)), d_x = ask.device(ask.numbers(size));
  const auto d_gain = ask.device(ask.numbers(width)), d_bias = ask.device(ask.numbers(width));
  NormRows<T> n{.norm = has_mean ? Norm::layer : Norm::rms, .rows = rows, .width = width, .x = x.get(), .gain = gain.get()};
  n.bias = has_mean ? bias.get() : nullptr;
  n.y = y.get();
  n.mean = mean.get();
  n.reciprocal = reciprocal.get();
  n.rounding = ask.rounding();
  on.norm(n);
  on.norm_gradient({.forward = n,
                    .d_y = d_y.get(),
                    .d_x = d_x.get(),
                    .d_gain = d_gain.get(),
                    .d_bias = has_mean ? d_bias.get() : nullptr,
                    .piece = ask.dice.one_in(3) ? 0 : ask.dice.between(1, rows)});
  for (const auto* written : {&y, &mean, &reciprocal, &d_x, &d_gain, &d_bias}) ask.read(*written);
  return ask.answer;
}

template <class T>
std::vector<double> gelu(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int count = ask.dice.between(1, 20000);
  const auto x = ask.device(ask.nasty_numbers(count)), d_y = ask.device(ask.numbers(count));
  const auto y = ask.device(ask.numbers(count)), d_x = ask.device(ask.numbers(count));
  on.gelu(x.get(), count, ask.rounding(), y.get());
  on.gelu_gradient(x.get(), d_y.get(), count, ask.rounding(), d_x.get());
  ask.read(y);
  ask.read(d_x);
  return ask.answer;
}

template <class T>
std::vector<double> cross_entropy(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int rows = ask.dice.between(1, 70), vocabulary = ask.dice.between(1, 120);
  const auto logits = ask.device(ask.numbers(rows * vocabulary)), losses = ask.device(ask.numbers(rows));
  const auto d_logits = ask.device(ask.numbers(rows * vocabulary));
  const auto targets = ask.device(ask.words(rows, vocabulary));
  on.cross_entropy({.rows = rows,
                    .vocabulary = vocabulary,
                    .logits = logits.get(),
                    .targets = targets.get(),
                    .factor = static_cast<T>(65536.0 / rows),
                    .losses = losses.get(),
                    .d_logits = ask.dice.one_in(5) ? nullptr : d_logits.get(),
                    .rounding = ask.rounding()});
  ask.read(losses);
  ask.read(d_logits);
  return ask.answer;
}

template <class T>
std::vector<double> gradient_size(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int count = ask.dice.between(1, 20000);
  const auto g = ask.device(ask.dice.one_in(2) ? ask.nasty_numbers(count) : ask.numbers(count));
  const GradientSize size = on.gradient_size(g.get(), count, std::exp2(-ask.dice.between(0, 16)));
  return {size.squares, static_cast<double>(size.nonfinite), static_cast<double>(size.first)};
}

template <class T>
std::vector<double> adam(Primitives<T>& on, std::uint64_t seed) {
  Asking<T> ask(on, seed);
  const int count = ask.dice.between(1, 20000);
  std::vector<T> squares = ask.numbers(count);
  for (T& v : squares) v = v * v;
  const auto w = ask.device(ask.numbers(count)), m = ask.device(ask.numbers(count)), v = ask.device(squares);
  const auto g = ask.device(ask.numbers(count));
  AdamStep<T> step{.count = count, .w = w.get(), .m = m.get(), .v = v.get(), .g = g.get()};
  for (T* factor : {&step.unscale, &step.clip, &step.beta1, &step.beta2, &step.rate, &step.epsilon, &step.decay})
    *factor = static_cast<T>(ask.dice.unit());
  step.correction1 = T(1) + static_cast<T>(ask.dice.unit());
  step.correction2 = T(1) + static_cast<T>(ask.dice.unit());
  for (RounderPlan<T>* const stored : {&step.weights, &step.moments}) {
    const Rounding kept{Rounding::Kind::format, ask.dice.one_in(2) ? bf16 : fp16, ask.dice.one_in(2)};
    if (!ask.dice.one_in(3)) *stored = plan<T>(kept, bf16);
  }
  step.first = ask.dice.between(0, 1000);
  step.seed = seed;
  on.adam(step);
  on.adam(step);
  for (const auto* written : {&w, &m, &v}) ask.read(*written);
  return ask.answer;
}

}  // namespace

template <class T>
std::vector<PrimitiveQuestion<T>> primitive_questions() {
  return {{"product", product<T>},
          {"rounded", rounded<T>},
          {"embedding", embedding<T>},
          {"norm", norm<T>},
          {"gelu", gelu<T>},
          {"cross entropy", cross_entropy<T>},
          {"gradient size", gradient_size<T>},
          {"adam", adam<T>}};
}
template std::vector<PrimitiveQuestion<float>> primitive_questions();
template std::vector<PrimitiveQuestion<double>> primitive_questions();

std::string difference(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) return std::to_string(x.size()) + " numbers against " + std::to_string(y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same(x[i], y[i]))
      return "number " + std::to_string(i) + " of " + std::to_string(x.size()) + " is " + std::to_string(x[i]) + " against " +
             std::to_string(y[i]);
  return "";
}

}  // namespace attoscope::testing
