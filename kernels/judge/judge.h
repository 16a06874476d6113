/// Rounded or wrong: a kernel's output on one head held to what correct kernels give on the same tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/judge/tolerance.h"
#include "kernels/slips/slips.h"

namespace attoscope {

/// An output to be judged.
struct JudgedOutput {
  Problem problem;                                    ///< its input holds Q, K, V as the files have them
  std::shared_ptr<const std::vector<double>> values;  ///< O, n x d_v, row-major
  KernelClaim claim;
};

/// The judgement on one head.
struct HeadJudgement {
  bool rounded = false;
  std::string incomparable;  ///< reason why nothing can be said of it: half a sentence; "": it can
  std::string as;            ///< "its scores are rounded to bf16": what else than the usual explains it; "" none
  /// Largest error over its tolerance, infinite for NaN; where no element is beyond its own, that of a row or of all, if
  /// larger.
  double ratio = 0;
  std::int64_t suspects = 0;                 ///< elements beyond their tolerance
  std::int64_t elements = 0, nonfinite = 0;  ///< nonfinite: NaN or infinite where correct kernels give something else
  std::int64_t due = 0;                      ///< NaN or infinite as attention is there
  std::vector<int> wrong_rows;               ///< rows with a suspect, or that are too far off as a whole
  double max_abs = 0, rms = 0;               ///< of the finite elements' errors
  std::string where;                         ///< "in rows 960 to 999"; "" where nothing is suspect
  int first_row = -1, worst_col = -1;        ///< the first row with a suspect, and its worst column; -1: none
  double whole = 0;  ///< root mean square error over what is expected at first sight; tolerated: see `Tolerance::whole`
  std::vector<double> row_ratio;  ///< for each row the largest error over its tolerance

  /// "rounded", "wrong" or "incomparable"
  std::string_view verdict() const { return !incomparable.empty() ? "incomparable" : rounded ? "rounded" : "wrong"; }
};

/// The judgement, with the tolerance that it rests on.
struct Judged {
  HeadJudgement head;
  Tolerance tolerance;
};

/// Throws std::invalid_argument for a problem that is not valid, Stopped when cancelled.
Judged judge(const JudgedOutput& output, const Options& options = {});

/// The fit of the exact output `expected` to the output that `judged` is the judgement on: the largest distance over its
/// tolerance; infinite where an element, a row or all together are further off than a correct kernel would be. Throws Stopped.
double ratio_to(const JudgedOutput& output, const Judged& judged, const RoundedRow& expected, const Options& options = {});

/// The fit of one row of an output, d_v values, to those expected: the largest distance over its tolerance and `slack`, or that
/// of the row as a whole, if larger; infinite where only one of both is finite.
double row_ratio(const Tolerance& tolerance, int row, const double* output, const double* expected, const double* slack);

/// The slip that explains a wrong output best, if one does, and others by what they leave of its error: see `find_slips`, and
/// where that finds none `fitted_slip`.
SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads = {},
                    const Options& options = {});

/// A name that was found in one head, and by which fit; negative: by the list of `find_slips`, beside a kernel of `policy`.
struct KnownName {
  std::string text;
  int fit = -1;
  const char* policy = "base_hw";
};
/// The same, and in `known` how the name was found; an empty text where none was.
SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads, const Options& options,
                    KnownName& known);
/// The same mistake in another head, its numbers fitted to that one; none where it does not explain that head. Throws as
/// `slips_of`.
std::optional<Slip> confirmed_slip(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads,
                                   const Options& options, const KnownName& known);

/// True if the output's error follows golden, its rows or its keys, as mistakes do and coarser rounding does not: summed row
/// by row, its products with golden, with golden times the row's place, or with what one key adds to the output,
/// P (V - O), exceed four standard deviations of such a sum of random signs. `judged` is the judgement on `output`; elements
/// that are not finite count as following.
bool error_has_sign(const JudgedOutput& output, const Judged& judged);

/// The slip that a NaN or an infinity of hidden keys reaches rows that do not see them, by 0 * NaN of V or by NaN - inf of the
/// scores, or that rows lose one that they see; none where any other element is wrong. `output` holds Q, K and V as the kernel
/// sees them.
std::optional<Slip> nonfinite_slip(const JudgedOutput& output, const Judged& judged);

/// The slip that rows without keys hold zeros where the problem asks for NaN; none where anything else is wrong.
std::optional<Slip> zeros_without_keys(const JudgedOutput& output, const Judged& judged);

/// `values`, as many as `tolerance.golden` has, held to it. Throws what `stop` throws.
HeadJudgement held_to(const Tolerance& tolerance, const std::vector<double>& values, const StopSign& stop);

}  // namespace attoscope
