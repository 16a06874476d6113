/// Expected gradients of a group of heads, and the bounds on a correct kernel's error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/gradients.h"
#include "kernels/judge/gradient_judge.h"
#include "kernels/judge/margins.h"

namespace attoscope {

/// Correct backward kernels with the same kind of rounding: their expected errors, and rivals.
struct GradientFamily {
  struct Form {
    std::string as;  ///< "" for the usual form
    GradientRounding rounding{};
    bool scales_both = false;  ///< Q and K are each multiplied by the scale's root and rounded
  };
  std::vector<Form> forms;  ///< each with its expected error; the rivals round as the first form, but bound the others, too
  struct Rival {
    std::string name;
    Method forward;
    GradMethod backward;
    bool sums_after_cast = false;  ///< rounds each head's dK and dV before it sums the heads of a group
    bool stores_tiles = false;     ///< rounds dK and dV of the group after every tile of queries
  };
  std::vector<Rival> rivals{};
};
/// All families. The usual one is first: P and dS rounded to D. Then: op by op; sums stored after every tile; K times the scale
/// rounded.
std::vector<GradientFamily> gradient_families(const JudgedGradients& given);

/// dQ of each head, dK and dV of the group, and their expected rounding errors.
struct GroupGradients {
  std::vector<ExactGradients> heads;  ///< with each head's own dK and dV
  Matrix dk, dv, dk_error, dv_error;

  /// dQ of a head, dK or dV.
  const Matrix& of(GradientTensor t, int head) const {
    return t == GradientTensor::dq ? heads[at(head)].dq : t == GradientTensor::dk ? dk : dv;
  }
};

/// Bounds of a tensor's rows, in units of the expected error.
struct GradientBounds {
  std::vector<double> factor, row;  ///< 2 kappa; largest root mean square of a row
  double whole = margins.whole;
};

/// A change of a head's correct gradient.
using GradientChange = std::function<void(GradientVariant& variant, int head)>;

/// A group of heads with everything that its judgement needs.
class GradientGroup {
 public:
  /// Computes golden. `given` and `stop` must outlive the group.
  GradientGroup(const JudgedGradients& given, const GradientFamily::Form& form, const StopSign& stop);

  /// Recomputes golden for kernels that round as `form`; keeps the bounds.
  void round_like(const GradientFamily::Form& form);

  /// Derives bounds from rivals; returns each rival's largest errors over the expected ones.
  std::vector<RivalError> bound_by(const GradientFamily& family);

  const JudgedGradients& given() const { return given_; }
  int heads() const { return static_cast<int>(operands_.size()); }
  AttentionShape shape() const { return operands_[0].shape(); }
  const GradientOperands& operands(int head) const { return operands_[at(head)]; }
  /// Mask, scores and sink of a head, with its tensors.
  const Problem& problem(int head) const { return problems_[at(head)]; }
  const GradientRows& rows(int head) const { return rows_[at(head)]; }
  const GradientFamily::Form& form() const { return form_; }
  const GradientRounding& rounding() const { return form_.rounding; }
  const GroupGradients& golden() const { return golden_; }
  const StopSign& stop() const { return stop_; }
  GradientVariant right(int head) const { return right_gradient(problem(head), rows(head)); }
  /// dSink of a head, including other sequences' contributions.
  SinkGradient sink(int head) const;
  /// True if the tensor was given.
  bool has(GradientTensor t) const;

  /// Computes the gradients with this change. With `checks_dq`, returns false as soon as a row of dQ does not fit.
  bool changed(const GradientChange& change, GroupGradients& out, bool checks_dq) const;
  /// Same on other operands, with their own forward pass and `rounding`.
  void changed_on(const std::vector<GradientOperands>& operands, const GradientRounding& rounding, const GradientChange& change,
                  GroupGradients& out) const;

  /// Sums dK and dV over the heads. A kernel that stores no tiles may cast them before the sum.
  void sum_heads(GroupGradients& x) const;

  /// Judges a given tensor against these gradients.
  TensorJudgement judged(GradientTensor tensor, const GroupGradients& expected) const;
  /// Judges all given tensors: dQ, dK and dV against `expected`, dSink against golden.
  std::vector<TensorJudgement> judged_all(const GroupGradients& expected) const;

 private:
  Tolerance tolerance_of(const GroupGradients& expected, GradientTensor t, int head) const;
  TensorJudgement judged_sink() const;
  bool add_head(int head, const GradientOperands& x, GradientVariant variant, const GradientRows& rows,
                const GradientRounding& rounding, GroupGradients& out, const RowsSeen& seen) const;
  void store_tiles(int head, const Matrix& dk_before, const Matrix& dv_before, Gradients& g) const;
  void take_rival(const GradientFamily::Rival& rival, RivalError& found);
  bool row_fits(int head, int row, const ExactGradients& so_far) const;

  const JudgedGradients& given_;
  GradientFamily::Form form_;
  const StopSign& stop_;
  std::vector<Problem> problems_;
  std::vector<GradientOperands> operands_;
  std::vector<GradientRows> rows_;
  GroupGradients golden_;
  std::vector<GradientBounds> of_dq_;
  GradientBounds of_dk_, of_dv_;
};

/// Receives a group for one form of rounding, with the bounds of its family; returns true to end the walk.
using FormSeen = std::function<bool(const GradientGroup& group, const std::string& as, const std::vector<RivalError>& rivals)>;
/// Walks over the forms of all families, the usual one first, or only over the form called `only`.
void each_form(const JudgedGradients& given, const StopSign& stop, const FormSeen& seen,
               const std::optional<std::string>& only = {});

/// Names errors by padding: a wrong dQ whose wrong rows are those where a padded key has infinite P or dS, multiplied by K = 0;
/// a dK or dV that is NaN for every key if the last query's L makes a padded query's P infinite. Finite P and dS times 0 leave
/// no trace.
std::optional<GradientSlip> padding_slip(const GradientGroup& group, const TensorJudgement& wrong);

/// Keys, or queries, [first, end) that count `times` times.
struct CountedRun {
  int first = 0, end = 0;
  double times = 0;
};

/// The run that explains a wrong tensor best: of keys for dQ, of queries for dK and dV; none if no run explains enough.
std::optional<CountedRun> counted_run(const GradientGroup& group, const TensorJudgement& wrong);

}  // namespace attoscope
