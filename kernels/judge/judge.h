/// Rounded or wrong: compares a kernel's output on one head with the outputs of correct kernels on the same tensors.
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
  Problem problem;                                    ///< its input holds Q, K, V as in the files
  std::shared_ptr<const std::vector<double>> values;  ///< O, n x d_v, row-major
  KernelClaim claim;
};

/// The judgement on one head.
struct HeadJudgement {
  bool rounded = false;
  std::string incomparable;     ///< half a sentence: reason why it cannot be judged; "" if it can
  std::string as;               ///< the unusual rounding that explains it: "its scores are rounded to bf16"; "" if not needed
  std::optional<RoundedP> P{};  ///< its P, if that explains it
  bool undeclared = false;      ///< it rounds as kernels with an fp32 softmax do, though another rounding is declared
  /// Largest error over its tolerance, infinite for NaN; if no element exceeds its tolerance, the ratio of a row or of the
  /// whole, if larger.
  double ratio = 0;
  std::int64_t suspects = 0;                 ///< elements beyond their tolerance
  std::int64_t elements = 0, nonfinite = 0;  ///< nonfinite: NaN or infinite, and correct kernels give something else
  std::int64_t due = 0;                      ///< NaN or infinite as attention demands
  std::vector<int> wrong_rows;               ///< rows with a suspect, or too far off as a whole
  double max_abs = 0, rms = 0;               ///< of the finite elements' errors
  std::string where;                         ///< "in rows 960 to 999"; "" without suspects
  int first_row = -1, worst_col = -1;        ///< the first row with a suspect, and its worst column; -1: none
  double whole = 0;                          ///< root mean square of error over expected error; bound: `Tolerance::whole`
  std::vector<double> row_ratio;             ///< [row]: largest error over its tolerance

  /// "rounded", "wrong" or "incomparable"
  std::string_view verdict() const { return !incomparable.empty() ? "incomparable" : rounded ? "rounded" : "wrong"; }
};

/// A judgement and the tolerance used.
struct Judged {
  HeadJudgement head;
  Tolerance tolerance;
  /// Error over tolerance of each element, from the unusual rounding if one explains the output, n x d_v; infinite for NaN.
  /// Null if the output cannot be judged.
  std::shared_ptr<const Matrix> shares{};
  KernelRounding rounds{};  ///< of the kernel compared with
};

/// Throws std::invalid_argument for a problem that is not valid, Stopped when cancelled.
Judged judge(const JudgedOutput& output, const Options& options = {});

/// Distance of the judged output from the exact output `expected`: largest distance over tolerance; infinite if an element, a
/// row or the whole is further off than a correct kernel would be. Throws Stopped.
double ratio_to(const JudgedOutput& output, const Judged& judged, const RoundedRow& expected, const Options& options = {});

/// Same of one row of an output: largest distance over tolerance plus slack, or the ratio of the row as a whole, if larger;
/// infinite if only one of the values is finite.
double row_ratio(const Tolerance& tolerance, const std::vector<double>& values, int row, const RoundedRow& expected);

/// Q, K and V as correct kernels use them: `seen_by` them and `without_unseen`.
std::shared_ptr<const Tensors> used_inputs(const JudgedOutput& output);

/// The slip that explains a wrong output best, if any, and others ordered by what they leave of its error: from `find_slips`,
/// or from `fitted_slip` if that finds none, or if its slip leaves more than the tolerance and twice as much as a fit.
SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads = {},
                    const Options& options = {});

/// A name found in one head, and the fit that found it; negative: the list of `find_slips`, compared with a kernel of `policy`.
struct KnownName {
  std::string text;
  int fit = -1;
  const char* policy = "base_hw";
  /// Found for a kernel that rounds scaled Q, K and V to D, or P to the format of eight bits of V.
  enum class Rounds : std::uint8_t { as_claimed, inputs, P_to_eight_bits } rounds = Rounds::as_claimed;
  KernelRounding kernel{};  ///< found for a kernel that rounds so
};
/// Same; sets `known` to how the name was found, with an empty text if none was.
SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads, const Options& options,
                    KnownName& known);
/// The same mistake in another head, with numbers fitted to that head; none if it does not explain that head. Throws as
/// `slips_of`.
std::optional<Slip> confirmed_slip(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads,
                                   const Options& options, const KnownName& known);

/// True if the output's error correlates with golden, its rows or its keys, as mistakes do and coarser rounding does not: a sum
/// over rows of its products with golden, with golden times the row's position, or with P (V - O), the contribution of one key,
/// exceeds four standard deviations of a sum with random signs. `judged` is the judgement on `output`. Elements that are not
/// finite count as correlated. Throws Stopped when cancelled.
bool error_has_sign(const JudgedOutput& output, const Judged& judged, const Options& options = {});

/// The slip that a NaN or an infinity of hidden keys reaches rows that do not see them (by 0 * NaN of V or by NaN - inf of the
/// scores), or that rows lose one that they see; none if any other element is wrong. `output` holds Q, K and V as the kernel
/// sees them.
std::optional<Slip> nonfinite_slip(const JudgedOutput& output, const Judged& judged, const Options& options);

/// The slip that rows without keys hold zeros but the problem wants NaN; none if anything else is wrong.
std::optional<Slip> zeros_without_keys(const JudgedOutput& output, const Judged& judged);

/// Judges `values`, as many as `tolerance.golden` has, by the tolerance. Throws what `stop` throws.
HeadJudgement held_to(const Tolerance& tolerance, const std::vector<double>& values, const StopSign& stop);

}  // namespace attoscope
