#include "kernels/simulate.h"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace attoscope {
namespace {

/// 64-byte aligned memory of one thread.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : memory_(::operator new(bytes, std::align_val_t{64})) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::operator delete(memory_, std::align_val_t{64}); }
  void* get() { return memory_; }

 private:
  void* memory_;
};

/// Calls block(rows, scratch, output) for every `height` rows, on all threads.
template <class F>
Matrix in_blocks(const std::vector<int>& rows, int height, int d, std::size_t scratch_bytes, F block) {
  const int count = static_cast<int>(rows.size());
  Matrix out{count, d, std::vector<double>(static_cast<std::size_t>(count) * static_cast<std::size_t>(d))};
  tbb::enumerable_thread_specific<std::unique_ptr<Scratch>> scratch;
  tbb::parallel_for(0, (count + height - 1) / height, [&](int i) {
    std::unique_ptr<Scratch>& mine = scratch.local();
    if (!mine) mine = std::make_unique<Scratch>(scratch_bytes);
    const int first = i * height;
    const RowBlock rows_of_block{rows.data() + first, std::min(height, count - first), first};
    block(rows_of_block, mine->get(), out.values.data() + static_cast<std::ptrdiff_t>(first) * d);
  }, tbb::simple_partitioner{});
  return out;
}

template <class T>
Magnitudes range_of(const std::vector<T>& x, int mantissa_bits) {
  Magnitudes m{std::numeric_limits<double>::infinity(), 0, mantissa_bits};
  for (const T value : x) {
    const double a = std::fabs(static_cast<double>(value));
    if (a > 0 && a < m.smallest) m.smallest = a;
    if (!(a <= m.largest)) m.largest = std::isnan(a) ? std::numeric_limits<double>::infinity() : a;
  }
  if (m.largest == 0) m.smallest = 0;
  return m;
}

template <class T>
std::vector<T> rounded(const std::vector<double>& x, const RounderPlan<T>& p) {
  std::vector<T> y(x.size());
  constexpr std::size_t piece = 1 << 14;
  tbb::parallel_for(std::size_t{0}, (x.size() + piece - 1) / piece, [&](std::size_t i) {
    const std::size_t end = std::min(x.size(), (i + 1) * piece);
    for (std::size_t j = i * piece; j < end; ++j) {
      const T value = static_cast<T>(x[j]);
      y[j] = p.rounds() ? round(p.format, value) : value;
    }
  });
  return y;
}

}  // namespace

template <class T>
Operands<T> operands(const Tensors& t, const Rounding& r, const Format& main) {
  const RounderPlan<T> p = plan<T>(r, main);
  Operands<T> x{rounded(t.q, p), rounded(t.k, p), rounded(t.v, p)};
  x.q_range = range_of(x.q, p.mantissa_bits());
  x.k_range = range_of(x.k, p.mantissa_bits());
  x.v_range = range_of(x.v, p.mantissa_bits());
  return x;
}

template <class T>
std::shared_ptr<const Tensors> as_tensors(const Operands<T>& x, int n, int d) {
  const auto doubles = [](const std::vector<T>& part) { return std::vector<double>(part.begin(), part.end()); };
  return std::make_shared<Tensors>(Tensors{n, d, doubles(x.q), doubles(x.k), doubles(x.v)});
}

template <class T>
Job<T> job(const Problem& problem, const Method& method, const Format& main, const Operands<T>& x) {
  Job<T> j;
  j.q = x.q.data();
  j.k = x.k.data();
  j.v = x.v.data();
  j.n = problem.n;
  j.d = problem.d;
  j.scale = static_cast<T>(scale_of(problem));
  j.mask = problem.mask;
  j.algorithm = method.algorithm;
  j.block_k = std::min(method.block_k, problem.n);
  j.sum_rounded_P = method.precision.sum_rounded_P;
  j.accumulate_in_O = method.precision.accumulate_in_O;
  for (std::size_t i = 0; i < step_count; ++i) j.plans[i] = plan<T>(method.precision.steps[i], main);
  j.q_range = x.q_range;
  j.k_range = x.k_range;
  j.v_range = x.v_range;
  return j;
}

Matrix run(const Job<float>& job, const std::vector<int>& rows, Recorder<float>* recorder, const StopSign& stop) {
  const InstructionSet isa = instruction_set();
  return in_blocks(rows, isa.float_rows, job.d, isa.float_scratch(job), [&](const RowBlock& block, void* scratch, double* out) {
    isa.run_float(job, block, recorder, stop, scratch, out);
  });
}

Matrix run(const Job<double>& job, const std::vector<int>& rows, Recorder<double>* recorder, const StopSign& stop) {
  const InstructionSet isa = instruction_set();
  return in_blocks(rows, isa.double_rows, job.d, isa.double_scratch(job), [&](const RowBlock& block, void* scratch, double* out) {
    isa.run_double(job, block, recorder, stop, scratch, out);
  });
}

Matrix run_double_double(const Job<double>& job, const std::vector<int>& rows, const StopSign& stop) {
  const InstructionSet isa = instruction_set();
  return in_blocks(rows, isa.dd_rows, job.d, isa.dd_scratch(job), [&](const RowBlock& block, void* scratch, double* out) {
    isa.run_dd(job, block, stop, scratch, out);
  });
}

template Operands<float> operands(const Tensors&, const Rounding&, const Format&);
template Operands<double> operands(const Tensors&, const Rounding&, const Format&);
template std::shared_ptr<const Tensors> as_tensors(const Operands<float>&, int, int);
template std::shared_ptr<const Tensors> as_tensors(const Operands<double>&, int, int);
template Job<float> job(const Problem&, const Method&, const Format&, const Operands<float>&);
template Job<double> job(const Problem&, const Method&, const Format&, const Operands<double>&);

}  // namespace attoscope
