#include "kernels/model/model_run.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/scaled_operands.h"
#include "kernels/cpu/simulate.h"
#include "kernels/experiment/all_heads.h"

namespace attoscope {
namespace {

/// The largest magnitudes of a layer's Q, K and V over all heads.
template <class T>
std::shared_ptr<const AllHeads> all_heads_of(const LayerHeads<T>& x) {
  return std::make_shared<const AllHeads>([&x](ScaledTensor t, const StopSign&) {
    const std::vector<T>& all = t == ScaledTensor::Q ? x.q : t == ScaledTensor::K ? x.k : x.v;
    double largest = 0;
    for (const T v : all)
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(static_cast<double>(v)));
    return largest;
  });
}

Matrix golden_head(const Experiment& e, const Tensors& t, const StopSign& stop) {
  return run(golden_job(e.problem, t), computed_rows(e.problem), nullptr, stop);
}

/// Computes a head as `compute` runs a: the input step, storage with scales, the method.
template <class T>
Matrix method_head(const Experiment& e, const Tensors& t, const StopSign& stop) {
  const Operands<T> rounded = operands<T>(t, e.a.precision[Step::input], e.format, e.problem.seed, stop);
  const MethodOperands<T> own(e.problem, e.a, e.format, rounded, stop);
  return run(job(e.problem, e.a, e.format, own.get()), computed_rows(e.problem), nullptr, stop);
}

ModelSet set_of(std::string_view name) {
  const std::string_view isa = instruction_set(name).name;
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  if (isa == "avx512") return avx512::model_set();
  if (isa == "avx2") return avx2::model_set();
#endif
  static_cast<void>(isa);
  return sse2::model_set();
}

}  // namespace

template <>
ModelLanes<float> model_lanes(std::string_view name) {
  return set_of(name).in_float;
}
template <>
ModelLanes<double> model_lanes(std::string_view name) {
  return set_of(name).in_double;
}
LogitLanes logit_lanes(std::string_view name) { return set_of(name).logits; }

Experiment head_experiment(const Architecture& a, int n, const Method& method, const Format& format, std::uint64_t seed) {
  Experiment e;
  e.problem.n = n;
  e.problem.d = a.head_dim;
  e.problem.mask.kind = Mask::Kind::causal;
  e.problem.seed = seed;
  e.format = format;
  e.a = method;
  return e;
}

template <class T>
ModelRun<T>::ModelRun(const LanguageModel& model, const Architecture& architecture, std::span<const int> tokens,
                      const Surroundings& around, const StopSign& stop)
    : model_(model),
      a_(architecture),
      tokens_(tokens),
      around_(around),
      stop_(stop),
      n_(static_cast<int>(tokens.size())),
      lanes_(model_lanes<T>(stop.isa)) {
  const RopeTable table = rope_table(a_.rope, a_.head_dim, n_, around_);
  cos_.assign(table.cos.begin(), table.cos.end());
  sin_.assign(table.sin.begin(), table.sin.end());
  if (!is_tensor_core(around_.sums)) return;
  const Format& factors = factor_format(around_);
  block_sum_ =
      block_sum(around_.sums, tensor_core_rule(gpu_of(around_.sums), factors, sums_of(around_.sums)), factors, factors);
}

template <class T>
std::vector<T> ModelRun<T>::widened(const WeightMatrix& w, AroundStep step) const {
  std::vector<T> y(w.values.size());
  lanes_.widened(w.values.data(), static_cast<std::int64_t>(y.size()), rounder(step), y.data());
  return y;
}

template <class T>
std::vector<T> ModelRun<T>::embedded() {
  const auto width = static_cast<std::size_t>(a_.width);
  std::vector<T> x(static_cast<std::size_t>(n_) * width);
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    lanes_.widened(model_.embedding.values.data() + static_cast<std::size_t>(tokens_[i]) * width, a_.width,
                   rounder(AroundStep::weights), x.data() + i * width);
  return tapped(ModelTensor::embedding, -1, std::move(x));
}

template <class T>
std::vector<T> ModelRun<T>::norm(const WeightMatrix& w, const std::vector<T>& x, int rows, bool of_residual) {
  const std::vector<T> weight = widened(w, AroundStep::norm_weight);
  std::vector<T> y(x.size());
  const RmsNorm<T> norm{x.data(),
                        weight.data(),
                        y.data(),
                        w.cols,
                        static_cast<T>(a_.epsilon),
                        of_residual && around_.unrounded_variance ? rounder(AroundStep::residual) : RounderPlan<T>{},
                        rounder(AroundStep::square_sum),
                        rounder(AroundStep::normalised),
                        rounder(AroundStep::norm)};
  constexpr int band = 16;
  parallel_for(0, (rows + band - 1) / band, [&](int i) {
    stop_.check();
    for (int r = i * band; r < std::min(rows, (i + 1) * band); ++r) lanes_.norm(norm, r);
  });
  return y;
}

template <class T>
void ModelRun<T>::project_slice(const T* w, const WeightMatrix& shape, int first, int count, const T* x, int rows,
                                const RounderPlan<T>& rounding, std::vector<T>& y) {
  MatrixProduct<T> p;
  p.a = x;
  p.a_row = shape.cols;
  p.a_col = 1;
  p.b = w;
  p.b_row = 1;
  p.b_col = shape.cols;
  p.c = y.data() + first;
  p.c_row = shape.rows;
  p.m = rows;
  p.n = count;
  p.k = shape.cols;
  if (around_.sum_pieces > 1) p.piece = (p.k + around_.sum_pieces - 1) / around_.sum_pieces;
  p.rounding = rounding;
  const int columns = lanes_.panel_columns, height = std::min(40 * lanes_.block_rows, rows);
  const int panels = (count + columns - 1) / columns, bands = (rows + height - 1) / height;
  const bool in_blocks = is_tensor_core(around_.sums);
  const std::size_t bytes = in_blocks ? lanes_.block_scratch(height, p.k) : lanes_.product_scratch(height) * sizeof(T);
  parallel_for_single(0, panels * bands, [&](int i) {
    stop_.check();
    const int panel = i / bands, band = i % bands;
    const ProductPart part{band * height, std::min(rows, (band + 1) * height), panel * columns,
                           std::min(count, (panel + 1) * columns)};
    void* const scratch = scratch_.local().at_least(bytes);
    if (in_blocks)
      lanes_.block_product(p, block_sum_, part, scratch);
    else
      lanes_.product(p, part, static_cast<T*>(scratch));
  });
}

template <class T>
std::vector<T> ModelRun<T>::project(const WeightMatrix& w, const WeightMatrix& bias, const T* x, int rows, AroundStep step) {
  constexpr int slice_elements = 1 << 20;
  const RounderPlan<T> weights = rounder(AroundStep::weights);
  const int slice = std::max(1, slice_elements / w.cols / lanes_.panel_columns) * lanes_.panel_columns;
  const auto cols = static_cast<std::size_t>(w.cols), outputs = static_cast<std::size_t>(w.rows);
  std::vector<T> y(static_cast<std::size_t>(rows) * outputs), factors;
  if constexpr (std::is_same_v<T, float>)
    if (around_.rounds_factors) {
      factors.resize(static_cast<std::size_t>(rows) * cols);
      lanes_.widened(x, static_cast<std::int64_t>(factors.size()), weights, factors.data());
      x = factors.data();
    }
  for (int first = 0; first < w.rows; first += slice) {
    const int count = std::min(slice, w.rows - first);
    const float* const from = w.values.data() + static_cast<std::size_t>(first) * cols;
    const T* here = nullptr;
    if constexpr (std::is_same_v<T, float>)
      if (!weights.rounds()) here = from;
    if (here == nullptr) {
      slice_.resize(std::max(slice_.size(), static_cast<std::size_t>(count) * cols));
      parallel_for(0, count, [&](int r) {
        const std::size_t place = static_cast<std::size_t>(r) * cols;
        lanes_.widened(from + place, w.cols, weights, slice_.data() + place);
      });
      here = slice_.data();
    }
    project_slice(here, w, first, count, x, rows, bias.empty() ? rounder(step) : RounderPlan<T>{}, y);
  }
  if (bias.empty()) return y;
  const std::vector<T> added = widened(bias);
  parallel_for(0, rows, [&](int r) {
    T* const row = y.data() + static_cast<std::size_t>(r) * outputs;
    lanes_.rounded_sum(row, added.data(), w.rows, rounder(step), row);
  });
  return y;
}

/// x[p], x[q] become x[p] cos - x[q] sin, x[q] cos + x[p] sin: four products, each rounded, and two sums.
template <class T>
void ModelRun<T>::turn(std::vector<T>& x, int heads) const {
  const RounderPlan<T> product = rounder(AroundStep::rope_product), sum = rounder(AroundStep::rope);
  const auto rounded = [](const RounderPlan<T>& p, T v) { return p.rounds() ? round(p.format, v) : v; };
  const int pairs = a_.head_dim / 2;
  const bool halves = around_.pairs.value_or(a_.rope.pairs) == RotaryPairs::halves;
  parallel_for(0, n_, [&](int row) {
    const T *cos = cos_.data() + static_cast<std::ptrdiff_t>(row) * pairs, *sin = sin_.data() + (cos - cos_.data());
    for (int h = 0; h < heads; ++h) {
      T* const head = x.data() + (static_cast<std::ptrdiff_t>(row) * heads + h) * a_.head_dim;
      for (int i = 0; i < pairs; ++i) {
        T &p = head[halves ? i : 2 * i], &q = head[halves ? i + pairs : 2 * i + 1];
        const T u = p, v = q;
        p = rounded(sum, rounded(product, u * cos[i]) - rounded(product, v * sin[i]));
        q = rounded(sum, rounded(product, v * cos[i]) + rounded(product, u * sin[i]));
      }
    }
  });
}

template <class T>
LayerHeads<T> ModelRun<T>::heads(int l, const std::vector<T>& x) {
  const LayerWeights& w = layer(l);
  const std::vector<T> y = tapped(ModelTensor::attention_norm, l, norm(of(w, LayerTensor::attention_norm), x, n_, true));
  const auto projected = [&](LayerTensor matrix, LayerTensor bias, ModelTensor t) {
    return tapped(t, l, project(of(w, matrix), of(w, bias), y.data(), n_, AroundStep::projection));
  };
  LayerHeads<T> h;
  h.q = projected(LayerTensor::q, LayerTensor::q_bias, ModelTensor::q);
  h.k = projected(LayerTensor::k, LayerTensor::k_bias, ModelTensor::k);
  h.v = projected(LayerTensor::v, LayerTensor::v_bias, ModelTensor::v);
  const auto normed = [&](LayerTensor weight, std::vector<T>& heads, int count, ModelTensor t) {
    if (!of(w, weight).empty()) heads = tapped(t, l, norm(of(w, weight), heads, n_ * count, false));
  };
  normed(LayerTensor::q_norm, h.q, a_.heads, ModelTensor::q_norm);
  normed(LayerTensor::k_norm, h.k, a_.kv_heads, ModelTensor::k_norm);
  turn(h.q, a_.heads);
  turn(h.k, a_.kv_heads);
  if (tap) {
    tap(ModelTensor::q_rope, l, h.q);
    tap(ModelTensor::k_rope, l, h.k);
  }
  return h;
}

template <class T>
std::vector<T> ModelRun<T>::attended(int l, const LayerHeads<T>& x, const AttentionChoice& choice) {
  const int d = a_.head_dim, width = a_.heads * d;
  std::vector<T> o(static_cast<std::size_t>(n_) * static_cast<std::size_t>(width));
  const auto all = all_heads_of(x);
  const RounderPlan<T> output = rounder(AroundStep::attention);
  for (int h = 0; h < a_.heads; ++h) {
    stop_.check();
    const int kv = h / (a_.heads / a_.kv_heads);
    Tensors t = Tensors::shaped(AttentionShape::square(n_, d));
    t.q = head_columns(x.q, n_, a_.heads, h, d);
    t.k = head_columns(x.k, n_, a_.kv_heads, kv, d);
    t.v = head_columns(x.v, n_, a_.kv_heads, kv, d);
    t.all_heads = all;
    const bool rounds = choice.rounds(l, h);
    const Experiment e = head_experiment(a_, n_, rounds ? *choice.method : Method{}, choice.format,
                                         choice.seed + static_cast<std::uint64_t>(l * a_.heads + h));
    const Matrix m = !rounds              ? golden_head(e, t, stop_)
                     : works_in_double(e) ? method_head<double>(e, t, stop_)
                                          : method_head<float>(e, t, stop_);
    for (int i = 0; i < n_; ++i)
      for (int c = 0; c < d; ++c) o[at(i) * at(width) + at(h * d + c)] = static_cast<T>(m(i, c));
  }
  if (output.rounds()) lanes_.rounded_sum(o.data(), nullptr, static_cast<std::int64_t>(o.size()), output, o.data());
  return tapped(ModelTensor::attention, l, std::move(o));
}

template <class T>
void ModelRun<T>::add_to_residual(std::vector<T>& x, const std::vector<T>& y) const {
  const auto count = static_cast<std::int64_t>(x.size());
  const RounderPlan<T> plan = rounder(AroundStep::residual);
  const bool later = around_.unrounded_variance;
  if (later && plan.rounds()) lanes_.rounded_sum(x.data(), nullptr, count, plan, x.data());
  lanes_.rounded_sum(x.data(), y.data(), count, later ? RounderPlan<T>{} : plan, x.data());
}

template <class T>
void ModelRun<T>::finish(int l, const std::vector<T>& attended, std::vector<T>& x) {
  const LayerWeights& w = layer(l);
  const auto add = [&](const std::vector<T>& y, ModelTensor t) {
    add_to_residual(x, y);
    if (tap) tap(t, l, x);
  };
  const auto projected = [&](LayerTensor matrix, const WeightMatrix& bias, const std::vector<T>& y, ModelTensor t) {
    return tapped(t, l, project(of(w, matrix), bias, y.data(), n_, AroundStep::projection));
  };
  add(projected(LayerTensor::o, of(w, LayerTensor::o_bias), attended, ModelTensor::o), ModelTensor::middle);
  const std::vector<T> y = tapped(ModelTensor::mlp_norm, l, norm(of(w, LayerTensor::mlp_norm), x, n_, true));
  std::vector<T> gate = projected(LayerTensor::gate, {}, y, ModelTensor::gate);
  const std::vector<T> up = projected(LayerTensor::up, {}, y, ModelTensor::up);
  const std::int64_t inner = a_.inner;
  parallel_for(0, n_, [&](int row) {
    const std::int64_t place = row * inner;
    lanes_.gated({gate.data() + place, up.data() + place, gate.data() + place, inner, rounder(AroundStep::silu),
                  rounder(AroundStep::gated)});
  });
  if (tap) tap(ModelTensor::gated, l, gate);
  add(projected(LayerTensor::down, {}, gate, ModelTensor::down), ModelTensor::output);
}

template <class T>
std::vector<double> ModelRun<T>::logits(const std::vector<T>& last, int first, int count) {
  const T* const x = last.data() + static_cast<std::ptrdiff_t>(first) * a_.width;
  const std::vector<T> y = project(model_.output(), {}, x, count, AroundStep::logits);
  return {y.begin(), y.end()};
}

template <class T>
OnlineLoss<T> ModelRun<T>::loss() const {
  return {around_.loss_block, rounder(AroundStep::loss_exp), rounder(AroundStep::loss_sum),
          rounder(AroundStep::log_probability)};
}

template class ModelRun<float>;
template class ModelRun<double>;

}  // namespace attoscope
