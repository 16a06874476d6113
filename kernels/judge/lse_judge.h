/// Rounded or wrong: the log-sum-exp of one head's queries, held to what correct kernels give on the same tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/stop_sign.h"
#include "kernels/judge/judge.h"

namespace attoscope {

/// A log-sum-exp to be judged.
struct JudgedLse {
  Problem problem;             ///< its input holds Q, K, V as the files have them
  KernelClaim claim;           ///< of the kernel's O
  Format stored = fp32;        ///< of the numbers
  std::vector<double> values;  ///< n, in either base
};

/// e: ln of the sum of exp(S). two: log2 of it.
enum class LseBase : std::uint8_t { e, two };
inline constexpr EnumArray<LseBase> lse_base_names{"e", "2"};
constexpr std::string_view name(LseBase b) { return lse_base_names[b]; }

/// A mistake that explains a wrong log-sum-exp.
struct LseSlip {
  std::string kind;  ///< "max"
  std::string text;  ///< "the max is left out: it is ln l"
};

/// The judgement on one head in one base. A query may be off by 2 kappa times the error that is expected of it, and half a unit
/// in the last place of the stored format: see README.md.
struct LseJudgement {
  bool rounded = false;
  std::string as;                    ///< "its scores are rounded to bf16": what else than the usual explains it; "" none
  double ratio = 0;                  ///< largest error over its tolerance, infinite for NaN
  std::vector<bool> wrong;           ///< of each query: beyond its tolerance
  std::vector<double> errors;        ///< of each query: L less golden, in the base; NaN where one of them is not finite
  std::vector<double> shares;        ///< of each query: |error| over its tolerance, infinite where L is wrongly NaN or infinite
  int suspects = 0;                  ///< number of those
  int worst_row = -1;                ///< of the largest ratio; -1: there is no row
  double held = 0, expected = 0;     ///< there, in the base
  double max_abs = 0;                ///< largest finite error, in units of the base
  std::string where;                 ///< "in rows 960 to 999"; "" where nothing is wrong
  double kappa = 1;                  ///< of the tolerance
  std::vector<RivalError> family{};  ///< largest errors of the rivals, natural
};

/// The judgements in both bases, natural first. Queries without keys may hold -infinity or +infinity. Throws Stopped when
/// cancelled.
std::array<LseJudgement, 2> judge_lse(const JudgedLse& given, const Options& options = {});

/// The slip that explains a wrong log-sum-exp best; none: none does. Throws Stopped when cancelled.
std::optional<LseSlip> lse_slip(const JudgedLse& given, LseBase base, const LseJudgement& judged, const Options& options = {});

/// Natural; -infinity without keys.
struct LseRows {
  std::vector<double> lse, max;  ///< n; the max of the scores
  std::vector<double> error;     ///< that fp32's arithmetic is expected to leave (fp64's, where D is wider than fp32)
};
/// In double, of scores that are rounded to `stored` where it is given. Throws what `stop` throws.
LseRows lse_rows(const Problem& problem, const Tensors& inputs, const Format& format, const StopSign& stop,
                 const Rounding& stored = exact);

/// The allowed error of the number x in units of its base, where the natural one may be off by `natural`.
double lse_tolerance(double natural, double unit, const Format& stored, double x);
/// log2 e for base 2, 1 for base e.
double unit_of(LseBase base);

}  // namespace attoscope
