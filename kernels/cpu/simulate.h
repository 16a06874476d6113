/// Emulated kernels on the CPU: blocks of query rows over all threads, in the lanes of the best instruction set.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/experiment/matrix.h"
#include "kernels/lanes/job.h"

namespace attoscope {

struct Problem;
struct Tensors;

/// Q, K, V in the working type, with what ShortRounder needs to know about them.
template <class T>
struct Operands {
  std::vector<T> q, k, v;
  Magnitudes q_range{}, k_range{}, v_range{};
  Format format = fp32;  ///< that the numbers have
};

/// What ShortRounder needs to know about numbers of that many mantissa bits.
template <class T>
Magnitudes range_of(std::span<const T> x, int mantissa_bits, const StopSign& stop = {});

/// `t` rounded by `r` (D = main) in working type T; `seed` is what stochastic rounding draws from.
template <class T>
Operands<T> operands(const Tensors& t, const Rounding& r, const Format& main, std::uint64_t seed, const StopSign& stop = {});

/// The same with K and V from the last key to the first.
template <class T>
Operands<T> with_reversed_keys(const Operands<T>& x, int d);

/// `x` as doubles.
template <class T>
std::shared_ptr<const Tensors> as_tensors(const Operands<T>& x, int n, int d, const StopSign& stop = {});

/// `method` on `problem`, ready to run; points into `x`, whose keys are reversed already if the method wants that.
template <class T>
Job<T> job(const Problem& problem, const Method& method, const Format& main, const Operands<T>& x);

/// Output rows of the job, in the order of `rows`. `recorder` may be null. Throws what `stop` throws.
Matrix run(const Job<float>& job, const std::vector<int>& rows, Recorder<float>* recorder, const StopSign& stop);
Matrix run(const Job<double>& job, const std::vector<int>& rows, Recorder<double>* recorder, const StopSign& stop);
/// The same for three-pass softmax in double-double, rounded to double.
Matrix run_double_double(const Job<double>& job, const std::vector<int>& rows, const StopSign& stop);

}  // namespace attoscope
