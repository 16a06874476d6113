/// The allowed error of a correct kernel's output, for every element, derived from the errors of rivals on the same
/// tensors.
///
/// README.md says how: an element may be off by 2 kappa[i] w[i, c] and half a unit in the last place of the output's format.
/// Rows that see a NaN, or an infinite score, have no finite attention, and take no part in this: see `is_due`.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"

namespace attoscope {

/// A correct kernel, by a name that says how it computes: "hw, tiles of 64".
struct Rival {
  std::string name;
  Method method;
};

/// Known properties of the kernel whose output is judged.
struct KernelClaim {
  Format format = bf16;              ///< D: what its P is rounded to
  Format stored = bf16;              ///< format of its output
  std::optional<Method> declared{};  ///< where it says that it rounds; none: as kernels with an fp32 softmax do
  bool whole = false;                ///< its output is rounded to whole numbers instead
  std::shared_ptr<const std::vector<double>> scale{};  ///< scales of its elements, n x d; null: none
};

/// True if it differs from the others in the sums of a tensor core alone, which take as long as all others.
bool is_slow(const Rival& rival, const KernelClaim& claim);

/// "bf16", "e4m3 with a scale"
std::string stored_text(const KernelClaim& claim);

/// The rivals of such a kernel on `problem`: its policy, or fp32 softmax in the forms in use, with other tiles, orders of sums
/// and accumulators. Their output stays in the working type.
std::vector<Rival> rivals_of(const KernelClaim& claim, const Problem& problem);

/// One rival's distance from golden.
struct RivalError {
  std::string name;
  double max_abs = 0, rms = 0;
  double whole = 0;  ///< root mean square of its errors over those expected at first sight
};

/// The tolerance of each element, row by row of Q, n x d_v.
struct Tolerance {
  Matrix golden;                       ///< on the inputs that everybody sees
  Matrix weight;                       ///< w
  std::vector<double> factor;          ///< 2 kappa, for each row
  std::vector<double> at_first_sight;  ///< relative error of P that is expected in each row
  std::vector<double> row;             ///< limit of the root mean square over a row, over that expected
  double whole = 0;                    ///< the same over all elements
  bool digits_left = true;    ///< false: a score may be so large that fp32 keeps no digit behind the point, and says nothing
  bool inputs_finite = true;  ///< false: Q, K or V holds NaN or infinity, and so may `golden`
  std::vector<bool> nan_too;  ///< row by row, where attention is infinite: P of an infinite V may be 0, and 0 * inf is NaN
  KernelClaim claim;          ///< as what the output is stored
  std::vector<RivalError> family;

  /// The allowed error of element (i, c) where the output holds o.
  double of(int i, int c, double o) const;
  /// The error that is expected of it at first sight.
  double expected(int i, int c) const;
  /// True if `expected`, of element (i, c), is NaN or infinite, and o is what correct kernels give there: NaN, infinity of that
  /// sign, or where `nan_too` says so either.
  bool is_due(int i, int c, double o, double expected) const;
  /// x as element (i, c) stores it, and how far apart such numbers are there.
  double as_stored(int i, int c, double x) const;
  double spacing(int i, int c, double x) const;
};

/// The bound of nine of ten; 1 of none.
double usual_of(std::vector<double> bounds);

/// The errors of rivals on these tensors, where attention is finite. Throws Stopped when cancelled.
Tolerance tolerance_of(const Problem& problem, const Tensors& inputs, const KernelClaim& claim, const Options& options = {});

}  // namespace attoscope
