/// Rounded or wrong: dQ, dK and dV of the heads of Q that share a head of K and V, held to what correct kernels give.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/judge/judge.h"
#include "kernels/slips/gradient_variant.h"

namespace attoscope {

enum class GradientTensor : std::uint8_t { dq, dk, dv, dsink };
inline constexpr EnumArray<GradientTensor> gradient_tensor_names{"dq", "dk", "dv", "dsink"};
constexpr std::string_view name(GradientTensor t) { return gradient_tensor_names[t]; }
/// "dQ", as sentences have it
inline constexpr EnumArray<GradientTensor> gradient_tensor_texts{"dQ", "dK", "dV", "dSink"};
constexpr std::string_view text(GradientTensor t) { return gradient_tensor_texts[t]; }

/// A gradient as it was written; empty: it was not given.
struct GivenGradient {
  std::vector<std::shared_ptr<const std::vector<double>>> values{};  ///< of dQ one for each head, else one
  Format stored = bf16;
};

/// The gradients of one group of heads.
struct JudgedGradients {
  Problem problem;                                                 ///< its input is not looked at
  std::vector<Problem> own{};                                      ///< of each head, where they may differ; empty: `problem`
  Format format = bf16, stored_o = bf16;                           ///< D; of O
  std::vector<std::shared_ptr<const Tensors>> heads;               ///< of Q; K and V are the same in all
  std::vector<std::shared_ptr<const std::vector<double>>> d_o, o;  ///< of each head, n x d_v
  std::vector<std::vector<double>> d_lse{}, lse{};                 ///< of each head, n; empty: not given
  GivenGradient dq{}, dk{}, dv{};                                  ///< dK and dV are summed over the heads
  std::optional<std::vector<double>> dsink{};                      ///< of each head
  std::vector<SinkGradient> dsink_of_others{};                     ///< of each head what other sequences add; empty: nothing
  bool o_is_rounded = true;

  const Problem& problem_of(std::size_t head) const { return own.empty() ? problem : own[head]; }
  template <class Chosen>
  bool any_head(const Chosen& chosen) const {
    for (std::size_t h = 0; h < heads.size(); ++h)
      if (chosen(problem_of(h))) return true;
    return false;
  }
  /// dQ, dK or dV.
  const GivenGradient& of(GradientTensor t) const { return t == GradientTensor::dq ? dq : t == GradientTensor::dk ? dk : dv; }
  /// The numbers of one of them that was given; `head` counts of dQ alone.
  const std::vector<double>& numbers_of(GradientTensor t, int head) const {
    return *of(t).values[t == GradientTensor::dq ? at(head) : 0];
  }
};

/// A mistake that explains wrong gradients.
struct GradientSlip {
  std::string kind;  ///< "delta"
  std::string text;  ///< "no delta: dS is P*dP"
};

/// The judgement on one tensor.
struct TensorJudgement {
  GradientTensor tensor;
  HeadJudgement found;  ///< of dQ that of the worst head
  int head = 0;         ///< of dQ: which of the group is that
  std::optional<GradientSlip> slip{};
};

/// The judgement on a group.
struct GroupJudgement {
  std::string incomparable;  ///< half a sentence; "": it can be judged
  std::string as;  ///< another rounding that explains those that are right: "its scores, dP and dS are rounded to bf16"
  bool fits_given_o = false;             ///< they are the gradients with delta of the O that was given, which is wrong
  bool fits_given_lse = false;           ///< they are those with the L that was given
  std::vector<TensorJudgement> tensors;  ///< those that were given
  std::vector<RivalError> family;        ///< the rivals, and their largest errors of all tensors over w
  bool rounded() const;
};

/// Throws Stopped when cancelled.
GroupJudgement judge_gradients(const JudgedGradients& given, const Options& options = {});

/// The gradient of each head's sink, without that of others. Throws Stopped when cancelled.
std::vector<SinkGradient> sink_gradients(const JudgedGradients& given, const Options& options = {});

/// Looks for the slips of wrong gradients, in all ways of rounding, and sets them in `judged` with the judgement of the way in
/// which they were found; tries those alone that `like`, another group, has, if it has any. Throws Stopped when cancelled.
void find_gradient_slips(const JudgedGradients& given, GroupJudgement& judged, const Options& options = {},
                         const GroupJudgement& like = {});

/// The step that the wrong tensors point to: "dQ and dK are wrong and dV is not: P and L are right, delta, dP or dS is wrong";
/// "" where nothing is wrong. Only dQ, dK and dV count.
std::string narrowed_cause(const GroupJudgement& judged);

}  // namespace attoscope
