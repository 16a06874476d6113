#include "kernels/cpu/simulate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/arithmetic/random.h"
#include "kernels/cpu/aligned_buffer.h"
#include "kernels/cpu/rows.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/experiment.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

/// Calls block(rows, scratch, output) for blocks of `height` rows, on all threads.
template <class F>
Matrix in_blocks(const std::vector<int>& rows, int height, int d, std::size_t scratch_bytes, const StopSign& stop, F block) {
  const int count = static_cast<int>(rows.size());
  Matrix out{count, d, {}};
  timed(stop, [&] { out.values = zeros<double>(place(count, d), stop); });
  PerThread<AlignedBuffer> scratch;
  parallel_for_single(0, (count + height - 1) / height, [&](int i) {
    const int first = i * height;
    const RowBlock rows_of_block{rows.data() + first, std::min(height, count - first), first};
    timed(stop, [&] {
      block(rows_of_block, scratch.local().at_least(scratch_bytes), out.values.data() + static_cast<std::ptrdiff_t>(first) * d);
    });
    stop.report_rows(at(rows_of_block.count));
  });
  return out;
}

/// Rounds the largest magnitudes of all heads to nearest; above the format's range they become its largest number.
template <class T>
std::shared_ptr<const AllHeads> rounded(const std::shared_ptr<const AllHeads>& all, Rounding r, const Format& main) {
  if (!all) return nullptr;
  r.stochastic = false;
  return std::make_shared<const AllHeads>([all, p = plan<T>(r, main)](ScaledTensor t, const StopSign& stop) {
    const double x = all->largest(t, stop);
    T y = 0;
    instruction_set(stop.isa).in<T>().rounded(&x, 1, p, &y);
    if (std::isfinite(y)) return static_cast<double>(y);
    return static_cast<double>(p.rounds() ? p.largest : std::numeric_limits<T>::max());
  });
}

/// Reverses the order of x's rows.
template <class T>
void reverse_rows(std::vector<T>& x, int d) {
  const std::ptrdiff_t rows = static_cast<std::ptrdiff_t>(x.size()) / d;
  for (std::ptrdiff_t i = 0, j = rows - 1; i < j; ++i, --j)
    std::swap_ranges(x.begin() + i * d, x.begin() + (i + 1) * d, x.begin() + j * d);
}

/// Sets the job's factors from the scales of `x`. If Q and K have one scale each, their product becomes part of the scores'
/// factor.
template <class T>
void take_scales(Job<T>& j, const OperandScales<T>& x) {
  const auto array = [](const std::vector<T>& y) { return y.empty() ? nullptr : y.data(); };
  if (x.is_one) {
    const T factor = x.q[0] * x.k[0];
    j.scale = j.exp2.folded ? T(1) : j.scale * factor;
    j.exp2.scale = j.exp2.folded ? j.exp2.scale * factor : j.exp2.scale;
    j.exp2.score_unit = j.exp2.folded ? j.exp2.score_unit * factor : T(1);
  } else {
    j.scales.q = array(x.q);
    j.scales.k = array(x.k);
  }
  j.scales.bias = array(x.bias);
  j.scales.bias_rows = x.bias_rows;
  j.scales.bias_count = static_cast<std::int64_t>(x.bias.size());
  j.scales.o = array(x.o);
  j.scales.o_offset = array(x.o_offset);
}

/// Sets the scaling of P: its factor, inside or outside e and l, and its blocks of keys.
template <class T>
void scale_P(Job<T>& j, const Scaling& P) {
  const double p_exponent = j.method.p_exponent;
  j.P.lift = power_of_two<T>(j.method.p_exponent);
  j.P.log_lift = static_cast<T>(p_exponent) * ln_2<T>;
  if (!P.is_on()) return;
  j.plans[static_cast<int>(Step::P)] = P.granularity == Granularity::block ? RounderPlan<T>{} : plan<T>(P.element);
  if (P.shifts && j.method.exponential == ExponentialKind::exp2) {
    j.exp2.shift = static_cast<T>(std::log2(P.factor));
  } else if (P.shifts) {
    j.P.lift = j.P.lift * static_cast<T>(P.factor);
  } else {
    j.P.factor = j.scales.P_factor = static_cast<T>(P.factor);
  }
  if (P.shifts) j.P.log_lift = j.P.log_lift + static_cast<T>(std::log(P.factor));
  if (P.granularity != Granularity::block) return;
  j.P.block = P.block;
  j.P.element = plan<T>(P.element);
  j.P.largest_exponent = largest_exponent(P.element);
  j.P.rule = P.rule;
  j.P.scale = P.scale;
  j.P.quotient = P.quotient;
  j.P.scale_plan = plan<T>(element_e4m3);
}

/// Rule for adding the product's terms. If a method variant leaves one factor in fp32 before sums of a GPU, the other factor
/// selects the rule. If it leaves both, no GPU has such products, and the sums are f64.
BlockSum sums_of(const Method& m, AttentionProduct product, const Format& input, const Format& main) {
  const Accumulator accumulator = m.accumulator[product];
  if (!is_tensor_core(accumulator)) return {.accumulator = accumulator};
  const ProductFactors factors = factors_of(m, product, input, main);
  const Format& known = factors.a != fp32 ? factors.a : factors.b;
  if (!why_no_tensor_core(gpu_of(accumulator), known, sums_of(accumulator)).empty()) return {.accumulator = Accumulator::f64};
  return block_sum(accumulator, tensor_core_rule(gpu_of(accumulator), known, sums_of(accumulator)), factors.a, factors.b);
}

/// True if q.k are chains of fma, which do not depend on the tiles of keys.
template <class T>
bool has_plain_products(const Job<T>& job) {
  return job.qk_sum.accumulator == Accumulator::fma && job.method.order == SumOrder::sequential && !job[Step::qk_step].rounds();
}

/// q.k of a single row that sees many keys, by key, computed on all threads; otherwise one thread would compute all of its
/// tiles. Empty in all other cases.
template <class T>
std::vector<T> products_of_lone_row(const Job<T>& job, const std::vector<int>& rows, const LaneCode<T>& code,
                                    const StopSign& stop) {
  constexpr int chunk = 1024;
  if (code.products == nullptr || rows.size() != 1 || job.n < 4 * chunk || !has_plain_products(job)) return {};
  std::vector<T> products = zeros<T>(at(job.n), stop);
  const Keys keys = job.keys_of(rows[0]);
  parallel_for(keys.first / chunk, (keys.end + chunk - 1) / chunk, [&](int i) {
    stop.check();
    const Keys part{std::max(keys.first, i * chunk), std::min(keys.end, (i + 1) * chunk)};
    code.products(job, rows[0], part, products.data());
  });
  return products;
}

/// The last set bit of x (not 0) as a power of two.
double last_bit(double x) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x), fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const int exponent =
      field == 0 ? -1074 + std::countr_zero(fraction) : field - 1023 + (fraction == 0 ? 0 : std::countr_zero(fraction) - 52);
  return std::ldexp(1.0, exponent);
}

/// Spans of V in double, see MeasuredOperands.
std::vector<ValueSpan> spans_of(const Job<double>& job) {
  const std::size_t columns = at(job.d_v), keys = at(job.n);
  std::vector<ValueSpan> spans((keys + keys_of_a_span - 1) / keys_of_a_span * columns);
  parallel_for(std::size_t{0}, spans.size() / columns, [&](std::size_t i) {
    for (std::size_t j = i * keys_of_a_span; j < std::min(keys, (i + 1) * keys_of_a_span); ++j)
      for (std::size_t c = 0; c < columns; ++c) {
        ValueSpan& span = spans[i * columns + c];
        const double v = job.v[j * columns + c];
        span.sum += std::fabs(v) * 1.01;
        if (v != 0) span.unit = std::min(span.unit, last_bit(v));
      }
  });
  return spans;
}
std::vector<ValueSpan> spans_of(const Job<float>&) { return {}; }

/// The ranges of Q, K and V, with the mantissa bits that their numbers use.
template <class T>
OperandRanges measured_ranges(const Job<T>& job, const StopSign& stop) {
  const auto range = [&](const T* x, int rows, int columns) {
    const std::span<const T> all(x, place(rows, columns));
    typename Layout<T>::Bits bits = 0;
    each_element(all.size(), stop, [&](std::size_t i) { bits |= std::bit_cast<typename Layout<T>::Bits>(all[i]); });
    return range_of(all, used_mantissa_bits<T>(bits), stop);
  };
  OperandRanges ranges;
  parallel_invoke([&] { ranges.q = range(job.q, job.queries, job.d); }, [&] { ranges.k = range(job.k, job.n, job.d); },
                  [&] { ranges.v = range(job.v, job.n, job.d_v); });
  return ranges;
}

}  // namespace

template <class T>
std::vector<T> rounded(const std::vector<double>& x, int d, const RounderPlan<T>& p, std::uint64_t seed, int tensor,
                       const StopSign& stop) {
  const InstructionSet isa = instruction_set(stop.isa);
  std::vector<T> y;
  timed(stop, [&] { y = zeros<T>(x.size(), stop); });
  constexpr std::size_t piece = 1 << 14;
  parallel_for(std::size_t{0}, (x.size() + piece - 1) / piece, [&](std::size_t i) {
    stop.check();
    const std::size_t first = i * piece, count = std::min(piece, x.size() - first), width = at(d);
    if (p.kind != RounderKind::stochastic) {
      timed(stop, [&] { isa.in<T>().rounded(x.data() + first, static_cast<std::int64_t>(count), p, y.data() + first); });
      return;
    }
    for (std::size_t j = first; j < first + count; ++j)
      y[j] = round_stochastic(p.format, static_cast<T>(x[j]),
                              random_bits(seed, Step::input, static_cast<int>(j / width), static_cast<int>(j % width), tensor));
  });
  return y;
}

/// Compares magnitudes by their bit patterns, as integers, which vectorises; NaN is larger than infinity.
template <class T>
Magnitudes range_of(std::span<const T> x, int mantissa_bits, const StopSign& stop) {
  using Int = std::make_signed_t<typename Layout<T>::Bits>;
  constexpr Int size = std::numeric_limits<Int>::max();
  Int least = size, greatest = 0;  // least: the smallest magnitude other than 0, less 1
  each_element(x.size(), stop, [&](std::size_t i) {
    const Int bits = std::bit_cast<Int>(x[i]) & size;
    least = std::min(least, static_cast<Int>((bits - 1) & size));
    greatest = std::max(greatest, bits);
  });
  const auto number = [](Int bits) {
    return static_cast<double>(std::bit_cast<T>(std::min(bits, static_cast<Int>(Layout<T>::infinity))));
  };
  return {greatest == 0 ? 0.0 : number(least + 1), number(greatest), mantissa_bits};
}

namespace {

/// Sets NaN and infinities to 0 in keys that no query keeps and in queries that keep no key: their P is 0, and 0 times NaN is
/// NaN.
template <class T>
void clear_unseen(Operands<T>& x, const Tensors& t, const StopSign& stop) {
  if (std::isfinite(x.ranges.q.largest + x.ranges.k.largest + x.ranges.v.largest)) return;
  const MaskView mask = t.mask->view();
  std::vector<bool> queries(at(t.n)), keys(at(t.n_k));
  for (int row = 0; row < t.n; ++row, stop.check())
    for (int key = mask.rows[row].first; key < mask.rows[row].end; ++key)
      if (!mask.drops(row, key)) queries[at(row)] = keys[at(key)] = true;
  const auto clear = [&](std::vector<T>& values, const std::vector<bool>& kept, int columns, Magnitudes& range) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]) && !kept[i / at(columns)]) values[i] = 0;
    range = range_of<T>(values, range.mantissa_bits, stop);
  };
  clear(x.q, queries, t.d, x.ranges.q);
  clear(x.k, keys, t.d, x.ranges.k);
  clear(x.v, keys, t.d_v, x.ranges.v);
}

}  // namespace

template <class T>
Operands<T> operands(const Tensors& t, const Rounding& r, const Format& main, std::uint64_t seed, const StopSign& stop) {
  const RounderPlan<T> p = plan<T>(r, main);
  Operands<T> x;
  x.format = r.kind != Rounding::Kind::exact ? format_of(r, main) : std::is_same_v<T, double> ? fp64 : fp32;
  x.all_heads = rounded<T>(t.all_heads, r, main);
  x.mask = t.mask;
  const auto take = [&](const std::vector<double>& from, int columns, int tensor, std::vector<T>& values, Magnitudes& range) {
    values = rounded(from, columns, p, seed, tensor, stop);
    timed(stop, [&] { range = range_of<T>(values, p.mantissa_bits(), stop); });
  };
  parallel_invoke([&] { take(t.q, t.d, 0, x.q, x.ranges.q); }, [&] { take(t.k, t.d, 1, x.k, x.ranges.k); },
                  [&] { take(t.v, t.d_v, 2, x.v, x.ranges.v); });
  if (t.mask != nullptr && !t.mask->terms.empty()) clear_unseen(x, t, stop);
  return x;
}

template <class T>
Operands<T> with_reversed_keys(const Operands<T>& x, const AttentionShape& shape) {
  Operands<T> y = x;
  reverse_rows(y.k, shape.d);
  reverse_rows(y.v, shape.d_v);
  std::ranges::reverse(y.scales.k);
  for (auto first = y.scales.bias.begin(); first != y.scales.bias.end(); first += shape.n_k)
    std::reverse(first, first + shape.n_k);
  return y;
}

template <class T>
std::shared_ptr<const Tensors> as_tensors(const Operands<T>& x, const AttentionShape& shape, const StopSign& stop) {
  const auto doubles = [&](const std::vector<T>& part) {
    std::vector<double> y;
    y.reserve(part.size());
    ask_for_huge_pages(y.data(), part.size() * sizeof(double));
    each_range(part.size(), stop,
               [&](std::size_t first, std::size_t end) { y.insert(y.end(), part.data() + first, part.data() + end); });
    return y;
  };
  auto t = std::make_shared<Tensors>(Tensors::shaped(shape));
  t->all_heads = x.all_heads;
  t->mask = x.mask;
  const auto take = [&](std::vector<double>& to, const std::vector<T>& from) { timed(stop, [&] { to = doubles(from); }); };
  parallel_invoke([&] { take(t->q, x.q); }, [&] { take(t->k, x.k); }, [&] { take(t->v, x.v); });
  return t;
}

template <class T>
Job<T> job(const Problem& problem, const Method& method, const Format& main, const Operands<T>& x) {
  Job<T> j;
  j.q = x.q.data();
  j.k = x.k.data();
  j.v = x.v.data();
  j.queries = problem.n;
  j.n = key_count(problem);
  j.d = problem.d;
  j.d_v = value_columns(problem);
  j.diagonal = diagonal(problem);
  const double scale = scale_of(problem);
  const bool folded = method.exponential == ExponentialKind::exp2 && problem.softcap == 0 && problem.alibi == 0 &&
                      mask_view(problem).terms == nullptr;
  j.exp2.folded = folded;
  j.scale = folded ? T(1) : static_cast<T>(scale);
  j.exp2.scale = static_cast<T>(folded ? scale * log2_e<double> : log2_e<double>);
  j.exp2.score_unit = folded ? static_cast<T>(scale) : T(1);
  j.mask = problem.mask;
  j.mask_tensor = mask_view(problem);
  j.lowest_term = lowest_term(method);
  j.softcap = static_cast<T>(problem.softcap);
  j.alibi = static_cast<T>(problem.alibi);
  j.has_sink = problem.sink.has_value();
  j.sink = static_cast<T>(problem.sink.value_or(0));
  j.empty_rows = problem.empty_rows;
  j.method = method;
  j.method.block_k = std::min(method.block_k, j.n);
  j.reversed = method.reverse_keys;
  j.seed = problem.seed;
  for (std::size_t i = 0; i < step_count; ++i) j.plans[i] = plan<T>(method.precision.steps[i], main);
  j.partial = plan<T>(method.partial, main);
  if (std::is_same_v<T, float>) {
    j.qk_sum = sums_of(method, AttentionProduct::qk, x.format, main);
    j.pv_sum = sums_of(method, AttentionProduct::pv, x.format, main);
  }
  j.flush = flush_interval(method);
  take_scales(j, x.scales);
  scale_P(j, method.scaling.P);
  j.ranges = x.ranges;
  return j;
}

Job<double> golden_job(const Problem& problem, const Tensors& x) {
  Job<double> j = job(problem, Method{.algorithm = Algorithm::three_pass}, fp64, Operands<double>{});
  j.q = x.q.data();
  j.k = x.k.data();
  j.v = x.v.data();
  if (j.mask_tensor.terms != nullptr) j.ranges.v = range_of<double>(x.v, 52);
  return j;
}

template <class T>
Matrix run(const Job<T>& given, const std::vector<int>& rows, Recorder<std::type_identity_t<T>>* recorder, const StopSign& stop,
           RowStates<std::type_identity_t<T>>* states) {
  const InstructionSet isa = instruction_set(stop.isa);
  const LaneCode<T>& code = isa.in<T>();
  Job<T> job = given;
  MeasuredOperands measured;
  std::vector<ValueSpan> spans;
  if (isa.emulates_fma && rows.size() > 1) {
    spans = spans_of(job);
    measured = {measured_ranges(job, stop), spans.empty() ? nullptr : spans.data()};
    job.measured = &measured;
  }
  const std::vector<T> products = products_of_lone_row(job, rows, code, stop);
  CpuObserver<T> observer{recorder, stop, products.empty() ? nullptr : products.data()};
  if (states != nullptr) {
    for (std::vector<T>* x : {&states->m, &states->l}) *x = zeros<T>(at(job.queries), stop);
    observer.m = states->m.data();
    observer.l = states->l.data();
  }
  return in_blocks(rows, code.rows, job.d_v, code.scratch(job), stop,
                   [&](const RowBlock& block, void* scratch, double* out) { code.run(job, block, observer, scratch, out); });
}

Matrix run_double_double(const Job<double>& job, const std::vector<int>& rows, const StopSign& stop) {
  const InstructionSet isa = instruction_set(stop.isa);
  return in_blocks(rows, isa.dd_rows, job.d_v, isa.dd_scratch(job), stop,
                   [&](const RowBlock& block, void* scratch, double* out) { isa.run_dd(job, block, stop, scratch, out); });
}

template Magnitudes range_of(std::span<const float>, int, const StopSign&);
template Magnitudes range_of(std::span<const double>, int, const StopSign&);
template std::vector<float> rounded(const std::vector<double>&, int, const RounderPlan<float>&, std::uint64_t, int,
                                    const StopSign&);
template std::vector<double> rounded(const std::vector<double>&, int, const RounderPlan<double>&, std::uint64_t, int,
                                     const StopSign&);
template Operands<float> operands(const Tensors&, const Rounding&, const Format&, std::uint64_t, const StopSign&);
template Operands<double> operands(const Tensors&, const Rounding&, const Format&, std::uint64_t, const StopSign&);
template Operands<float> with_reversed_keys(const Operands<float>&, const AttentionShape&);
template Operands<double> with_reversed_keys(const Operands<double>&, const AttentionShape&);
template std::shared_ptr<const Tensors> as_tensors(const Operands<float>&, const AttentionShape&, const StopSign&);
template std::shared_ptr<const Tensors> as_tensors(const Operands<double>&, const AttentionShape&, const StopSign&);
template Matrix run(const Job<float>&, const std::vector<int>&, Recorder<float>*, const StopSign&, RowStates<float>*);
template Matrix run(const Job<double>&, const std::vector<int>&, Recorder<double>*, const StopSign&, RowStates<double>*);
template Job<float> job(const Problem&, const Method&, const Format&, const Operands<float>&);
template Job<double> job(const Problem&, const Method&, const Format&, const Operands<double>&);

}  // namespace attoscope
