/// Gradients that are expected of a group of heads, and how far off a correct kernel may be.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/gradients.h"
#include "kernels/judge/gradient_judge.h"
#include "kernels/judge/margins.h"

namespace attoscope {

/// Correct backward kernels that round in one way: their expected errors, and rivals.
struct GradientFamily {
  struct Form {
    std::string as;  ///< "" for the usual one
    GradientRounding rounding{};
    bool scales_both = false;  ///< Q and K are rounded once each is multiplied by the scale's root
  };
  std::vector<Form>
      forms;  ///< the error that is expected; the rivals have the first form's roundings, and bound the others, too
  struct Rival {
    std::string name;
    Method forward;
    GradMethod backward;
    bool sums_after_cast = false;  ///< the heads of a group
    bool stores_tiles = false;     ///< dK and dV of the group are rounded after every tile of queries
  };
  std::vector<Rival> rivals{};
};
/// The usual family first: P and dS are rounded to D. Then those op by op, whose sums are stored from tile to tile, and that
/// round K times the scale.
std::vector<GradientFamily> gradient_families(const JudgedGradients& given);

/// dQ of each head, dK and dV of the group, and the errors that rounding is expected to leave in them.
struct GroupGradients {
  std::vector<ExactGradients> heads;  ///< dK and dV are those of the head
  Matrix dk, dv, dk_error, dv_error;

  /// dQ of a head, dK or dV.
  const Matrix& of(GradientTensor t, int head) const {
    return t == GradientTensor::dq ? heads[at(head)].dq : t == GradientTensor::dk ? dk : dv;
  }
};

/// Bounds of a tensor's rows in units of the expected error.
struct GradientBounds {
  std::vector<double> factor, row;  ///< 2 kappa; the largest root mean square over a row
  double whole = margins.whole;
};

/// A variant of a head's gradient: changes the right one.
using GradientChange = std::function<void(GradientVariant& variant, int head)>;

/// A group with all that its judgement needs.
class GradientGroup {
 public:
  /// Computes golden. `given` and `stop` must outlive the group.
  GradientGroup(const JudgedGradients& given, const GradientFamily::Form& form, const StopSign& stop);

  /// Computes golden of kernels that round like this; the bounds stay.
  void round_like(const GradientFamily::Form& form);

  /// Derives bounds from rivals; returns the largest of each rival's errors over those expected.
  std::vector<RivalError> bound_by(const GradientFamily& family);

  const JudgedGradients& given() const { return given_; }
  int heads() const { return static_cast<int>(operands_.size()); }
  AttentionShape shape() const { return operands_[0].shape(); }
  const GradientOperands& operands(int head) const { return operands_[at(head)]; }
  /// Mask, scores and sink of a head, with its tensors.
  const Problem& problem(int head) const { return problems_[at(head)]; }
  const GradientRows& rows(int head) const { return rows_[at(head)]; }
  const GradientRounding& rounding() const { return rounding_; }
  const GroupGradients& golden() const { return golden_; }
  const StopSign& stop() const { return stop_; }
  GradientVariant right(int head) const { return right_gradient(problem(head), rows(head)); }
  /// dSink of a head, with what other sequences add.
  SinkGradient sink(int head) const;
  /// True if the tensor was given.
  bool has(GradientTensor t) const;

  /// The gradients with this change; false if dQ was seen not to be those while it was computed. `checks_dq`: look at that.
  bool changed(const GradientChange& change, GroupGradients& out, bool checks_dq) const;
  /// The same on other operands, with their own forward pass, as a kernel rounds them.
  void changed_on(const std::vector<GradientOperands>& operands, const GradientRounding& rounding, const GradientChange& change,
                  GroupGradients& out) const;

  /// Sums dK and dV over the heads. Where no tiles are stored, a kernel may cast them before it sums.
  void sum_heads(GroupGradients& x) const;

  /// A given tensor held to these gradients.
  TensorJudgement judged(GradientTensor tensor, const GroupGradients& expected) const;
  /// All given ones of dQ, dK and dV, and dSink held to golden.
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
  GradientRounding rounding_;
  const StopSign& stop_;
  std::vector<Problem> problems_;
  std::vector<GradientOperands> operands_;
  std::vector<GradientRows> rows_;
  GroupGradients golden_;
  std::vector<GradientBounds> of_dq_;
  GradientBounds of_dk_, of_dv_;
};

/// Looks at a group as kernels of one form round, with the bounds of its family; true ends the walk.
using FormSeen = std::function<bool(const GradientGroup& group, const std::string& as, const std::vector<RivalError>& rivals)>;
/// Walks over the forms of all families, the usual one first, or over that called `only` alone.
void each_form(const JudgedGradients& given, const StopSign& stop, const FormSeen& seen,
               const std::optional<std::string>& only = {});

/// The name of a wrong dQ whose wrong rows are those where a padded key's P or dS is infinite, times K = 0, and of a dK or dV
/// that is NaN for every key where the last query's L makes a padded query's P infinite. Finite ones times 0 leave no trace.
std::optional<GradientSlip> padding_slip(const GradientGroup& group, const TensorJudgement& wrong);

/// Keys, or queries, [first, end) that count `times` times.
struct CountedRun {
  int first = 0, end = 0;
  double times = 0;
};

/// The run that explains a wrong tensor best: of keys in dQ, of queries in dK and dV; none where it explains little.
std::optional<CountedRun> counted_run(const GradientGroup& group, const TensorJudgement& wrong);

}  // namespace attoscope
