/// Allowed error of each element of a correct kernel's output, derived from the errors of rivals on the same tensors.
///
/// An element may be off by 2 kappa[i] w[i, c] plus half a unit in the last place of the output's format: see README.md. Rows
/// that see a NaN or an infinite score have no finite attention and are ignored here: see `is_due`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// A correct kernel and its descriptive name: "hw, tiles of 64".
struct Rival {
  std::string name;
  Method method;
};

/// Known properties of the kernel whose output is judged.
struct KernelClaim {
  Format format = bf16;                                ///< D, the format that P is rounded to
  Format stored = bf16;                                ///< format of its output
  std::optional<Method> declared{};                    ///< its declared roundings; none: as kernels with an fp32 softmax
  bool whole = false;                                  ///< its output is rounded to whole numbers instead of `stored`
  std::shared_ptr<const std::vector<double>> scale{};  ///< scales of its elements, n x d; null: none
  std::optional<Format>
      of_P{};  ///< format of eight bits that V is stored in, to which P may be rounded instead of D; none: no such format
  std::optional<RoundedP> P{};  ///< P of the call's right heads, if it is rounded to `of_P`
  bool scaled_inputs = false;   ///< Q, K or V has a scale: their numbers are of no format, and are used as they are
};

/// True if no number of Q, K and V is NaN or infinite.
inline bool all_finite(const Tensors& t) { return all_finite(t.q) && all_finite(t.k) && all_finite(t.v); }

/// True if the rival has tensor-core sums, which take as long to emulate as all other rivals; never true of a declared policy.
bool is_slow(const Rival& rival, const KernelClaim& claim);

/// "bf16", "e4m3 with a scale"
std::string stored_text(const KernelClaim& claim);

/// Rivals of such a kernel on `problem`: its declared policy, or the usual kinds of fp32 softmax, each with several tiles,
/// orders of sums and accumulators. Their output stays in the working type.
std::vector<Rival> rivals_of(const KernelClaim& claim, const Problem& problem);

/// One rival's distance from golden.
struct RivalError {
  std::string name;
  double max_abs = 0, rms = 0;
  double whole = 0;  ///< root mean square of error over expected error
};
/// Keeps for each rival, known by its name, its largest errors.
void add_family(std::vector<RivalError>& all, const std::vector<RivalError>& more);

/// Tolerance of each element of the output, n x d_v.
struct Tolerance {
  Matrix golden;                       ///< on inputs `seen_by` the kernel
  Matrix weight;                       ///< w
  std::vector<double> factor;          ///< [row]: 2 kappa
  std::vector<double> at_first_sight;  ///< [row]: expected relative error of P
  std::vector<double> row;             ///< [row]: bound of the row's root mean square of error over expected error
  double whole = 0;                    ///< same bound over all elements
  bool digits_left = true;             ///< false: fp32 may keep no digit of a score after the point; nothing can be judged
  bool inputs_finite = true;           ///< false: used numbers of Q, K or V are NaN or infinite, and so may `golden` be
  std::vector<bool> nan_too;  ///< [row, column] of infinite attention: accepts NaN, too, as P may be 0, and 0 * inf is NaN
  KernelClaim claim;          ///< its formats give the spacing of the output
  std::vector<RivalError> family;

  /// Allowed error of element (i, c) if the output is o.
  double of(int i, int c, double o) const;
  /// Expected error of element (i, c).
  double expected(int i, int c) const;
  /// True if `expected`, of element (i, c), is NaN or infinite, and correct kernels may give o: NaN, the same infinity, or NaN
  /// for infinity if `nan_too`.
  bool is_due(int i, int c, double o, double expected) const;
  /// x as element (i, c) is stored, and the spacing of stored numbers at x.
  double as_stored(int i, int c, double x) const;
  double spacing(int i, int c, double x) const;
};

/// The value that nine of ten bounds do not exceed; 1 if there are no bounds.
double usual_of(std::vector<double> bounds);

/// The tensors as the kernel sees them: rounded to D, but as they are if one has a scale.
std::shared_ptr<const Tensors> seen_by(const KernelClaim& claim, const std::shared_ptr<const Tensors>& tensors);

/// Scaled tensors rounded to D, as some kernels use them. Null if none has a scale, if D holds their numbers, or if D has eight
/// bits: numbers stored in eight bits are not rounded to eight bits again.
std::shared_ptr<const Tensors> rounded_after_scales(const KernelClaim& claim, const std::shared_ptr<const Tensors>& tensors);

/// An output or a log-sum-exp as that of a kernel with `rounded_after_scales`; none if there is no such kernel.
template <class Given>
std::optional<Given> with_rounded_inputs(Given given) {
  std::shared_ptr<const Tensors> rounded = rounded_after_scales(given.claim, given.problem.input.tensors);
  if (!rounded) return {};
  given.problem.input.tensors = std::move(rounded);
  given.claim.scaled_inputs = false;
  return given;
}

/// The tensors with zeros in place of NaN and infinities in keys that a mask tensor drops from all queries, and in queries from
/// which it drops all keys; the same pointer if there are none.
std::shared_ptr<const Tensors> without_unseen(const std::shared_ptr<const Tensors>& tensors);

/// Tolerance from the errors of rivals on these tensors, where attention is finite. Throws Stopped when cancelled.
Tolerance tolerance_of(const Problem& problem, const Tensors& inputs, const KernelClaim& claim, const Options& options = {});

}  // namespace attoscope
