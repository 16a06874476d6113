/// Rounded or wrong: compares the log-sum-exp of one head's queries with the values of correct kernels on the same tensors.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/judge/judge.h"

namespace attoscope {

/// A log-sum-exp to judge.
struct JudgedLse {
  Problem problem;             ///< its input holds Q, K, V as in the files
  KernelClaim claim;           ///< claim of the kernel that wrote O
  Format stored = fp32;        ///< format of the values
  std::vector<double> values;  ///< n, in either base
};

/// e: natural logarithm of the sum of exp(S). two: logarithm in base 2.
enum class LseBase : std::uint8_t { e, two };
inline constexpr EnumArray<LseBase> lse_base_names{"e", "2"};
constexpr std::string_view name(LseBase b) { return lse_base_names[b]; }

/// A mistake that explains a wrong log-sum-exp.
struct LseSlip {
  std::string kind;               ///< "max"
  std::string text;               ///< "the max is left out: it is ln l"
  std::optional<LseBase> base{};  ///< base of the numbers that it explains; none: it is about the base, or may have either
};

/// Judgement on one head in one base. The tolerance of a query is 2 kappa times its expected error plus half a unit in the last
/// place of the stored format: see README.md.
struct LseJudgement {
  bool rounded = false;
  std::string as;                    ///< unusual rounding that explains it: "its scores are rounded to bf16"; "": none
  double ratio = 0;                  ///< largest error over its tolerance, infinite for NaN
  std::vector<bool> wrong;           ///< [query]: beyond its tolerance
  std::vector<double> errors;        ///< [query]: L - golden, in units of the base; NaN if either is not finite
  std::vector<double> shares;        ///< [query]: |error| over tolerance, infinite if L is wrongly NaN or infinite
  int suspects = 0;                  ///< number of wrong queries
  int worst_row = -1;                ///< query with the largest ratio; -1: there is no query
  double held = 0, expected = 0;     ///< L and golden of worst_row, in units of the base
  double max_abs = 0;                ///< largest finite error, in units of the base
  std::string where;                 ///< "in rows 960 to 999"; "" if nothing is wrong
  double kappa = 1;                  ///< factor of the tolerance
  std::vector<RivalError> family{};  ///< largest errors of the rivals, natural logarithm
};

/// Judgements in both bases, natural first. Accepts -infinity and +infinity for queries without keys. Throws Stopped when
/// cancelled.
std::array<LseJudgement, 2> judge_lse(const JudgedLse& given, const Options& options = {});

/// The slip that explains a wrong log-sum-exp best; none if no slip does. `judged` is what `judge_lse` found in `base`. Kernels
/// that round elsewhere are tried last. Throws Stopped when cancelled.
std::optional<LseSlip> lse_slip(const JudgedLse& given, LseBase base, const LseJudgement& judged, const Options& options = {});

/// Natural log-sum-exp of each query; -infinity for a query without keys.
struct LseRows {
  std::vector<double> lse, max;  ///< n each; max: the largest score
  std::vector<double> error;     ///< expected error of fp32 arithmetic (fp64 if D is wider than fp32)
};
/// Computed in double from scores rounded to `stored`; a mask tensor's terms are multiplied by `mask_factor`. Throws what
/// `stop` throws.
LseRows lse_rows(const Problem& problem, const Tensors& inputs, const Format& format, const StopSign& stop,
                 const Rounding& stored = exact, double mask_factor = 1);

/// A form of correct kernels: its operands, golden with the expected error of each row, and rivals.
struct LseForm {
  std::string as{};  ///< as in `LseJudgement`
  Problem problem;
  std::shared_ptr<const Tensors> inputs;
  Rounding scores = exact;       ///< of the scores
  bool rounds_products = false;  ///< q.k is rounded to D before it is scaled
  bool sums_rounded_P = false;   ///< its sums add P rounded to D
  bool has_short_sums = false;   ///< its q.k have 14 bits, as on an H100
  LseRows rows;
  std::vector<Rival> rivals;
};
/// Rows of another problem in this form. If scores are rounded, a score so near the middle of two numbers that fp32 may round
/// it the other way is found by scaling all scores up and down by a little; a q.k so near it, by the error of its sum. Throws
/// what `stop` throws.
LseRows rows_in(const LseForm& form, const Problem& problem, const Format& format, const StopSign& stop);
/// `lse_slip` of one form; `judged` is the judgement in it.
std::optional<LseSlip> lse_slip_in(const LseForm& form, const JudgedLse& given, LseBase base, const LseJudgement& judged,
                                   const Options& options);

/// Allowed error of the number x in units of its base; `natural` is the allowed error of the natural logarithm.
double lse_tolerance(double natural, double unit, const Format& stored, double x);
/// log2 e for base 2, 1 for base e.
double unit_of(LseBase base);

}  // namespace attoscope
