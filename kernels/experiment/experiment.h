/// The question: everything that changes a number, as one comparable value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/experiment/input.h"
#include "kernels/experiment/mask.h"
#include "kernels/experiment/method.h"

namespace attoscope {

/// What is to be computed, by whichever method.
struct Problem {
  Input input{};
  std::uint64_t seed = 1;
  int n = 1024;      ///< tokens: rows of Q, K, V
  int d = 64;        ///< head dimension
  double scale = 0;  ///< of the scores; 0 means 1/sqrt(d)
  Mask mask{};
  std::optional<double> sink{};  ///< one extra logit in every denominator
  double softcap = 0;            ///< S becomes softcap * tanh(S / softcap); 0: off
  double alibi = 0;              ///< slope: S loses alibi * |row - key|
  int rows = 0;                  ///< how many query rows, evenly spread; 0 means all
  int traced_row = -1;           ///< whose recurrence is traced; negative counts from the end

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The whole question: method `a` is examined, method `b` is compared with it. Inputs are rounded by a's `input` step for both
/// and for the golden value; b's own `input` step applies on top.
struct Experiment {
  Problem problem{};
  Format format = bf16;  ///< the main format D
  Method a{}, b{.algorithm = Algorithm::three_pass};
  KernelOutput loaded{};  ///< what a method whose algorithm is `loaded` stands for

  friend bool operator==(const Experiment&, const Experiment&) = default;
};

/// True if the experiment works in double: a format in it has more than 24 significant bits.
bool works_in_double(const Experiment& e);

/// The factor of the scores.
double scale_of(const Problem& p);

/// The traced row as an index 0 .. n-1, clamped.
int traced_row(const Problem& p);

/// The rows of Q that are computed, ascending: all, or `rows` of them evenly spread, the traced one among them.
std::vector<int> computed_rows(const Problem& p);

/// Largest sizes accepted.
inline constexpr int max_n = 1 << 20, max_d = 1024;
inline constexpr double max_alibi = 1e6;

/// Throws std::invalid_argument in one sentence that names the key ("problem.n"), the value and what was expected.
void validate(const Experiment& e);

}  // namespace attoscope
