/// Rounded or wrong: compares dQ, dK and dV of the heads of Q that share a head of K and V with the gradients of correct
/// kernels.
#pragma once

#include <cstdint>
#include <functional>
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
/// "dQ", the form in sentences
inline constexpr EnumArray<GradientTensor> gradient_tensor_texts{"dQ", "dK", "dV", "dSink"};
constexpr std::string_view text(GradientTensor t) { return gradient_tensor_texts[t]; }

/// A gradient as the kernel wrote it; empty: not given.
struct GivenGradient {
  std::vector<std::shared_ptr<const std::vector<double>>> values{};  ///< dQ: one per head; dK and dV: one
  Format stored = bf16;
};

struct JudgedGradients;
/// Another group of the same call, whose dK and dV may be exchanged with those of one.
struct OtherGroup {
  int place = 0;                                               ///< as `JudgedGradients::place`
  std::function<std::vector<double>(GradientTensor)> numbers;  ///< its dK or dV
  std::function<JudgedGradients()> read;                       ///< all of it
};

/// The gradients of one group of heads.
struct JudgedGradients {
  Problem problem;                                                 ///< its input is ignored
  std::vector<Problem> own{};                                      ///< [head], if they may differ; empty: `problem`
  Format format = bf16, stored_o = bf16;                           ///< D, and the format of O
  std::vector<std::shared_ptr<const Tensors>> heads;               ///< per head of Q; all have the same K and V
  std::vector<std::shared_ptr<const std::vector<double>>> d_o, o;  ///< [head], n x d_v each
  std::vector<std::vector<double>> d_lse{}, lse{};                 ///< [head], n each; empty: not given
  GivenGradient dq{}, dk{}, dv{};                                  ///< dK and dV are summed over the heads
  std::optional<std::vector<double>> dsink{};                      ///< [head]
  std::vector<SinkGradient> dsink_of_others{};                     ///< [head]: contributions of other sequences; empty: none
  bool o_is_rounded = true;
  int place = 0;                     ///< head of dK and dV in the call or its sequence
  std::vector<OtherGroup> others{};  ///< other groups of the call or its sequence

  const Problem& problem_of(std::size_t head) const { return own.empty() ? problem : own[head]; }
  template <class Chosen>
  bool any_head(const Chosen& chosen) const {
    for (std::size_t h = 0; h < heads.size(); ++h)
      if (chosen(problem_of(h))) return true;
    return false;
  }
  /// dQ, dK or dV.
  const GivenGradient& of(GradientTensor t) const { return t == GradientTensor::dq ? dq : t == GradientTensor::dk ? dk : dv; }
  /// The numbers of a given dQ, dK or dV; only dQ uses `head`.
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
  HeadJudgement found;  ///< of dQ: judgement on the worst head
  int head = 0;         ///< of dQ: index of that head in the group
  std::optional<GradientSlip> slip{};
};

/// The judgement on a group.
struct GroupJudgement {
  std::string incomparable;  ///< half a sentence; "" if the group can be judged
  std::string as;  ///< other rounding that explains gradients that are right: "its scores, dP and dS are rounded to bf16"
  bool fits_given_o = false;             ///< the gradients match a delta from the given O, which is wrong
  bool fits_given_lse = false;           ///< the gradients match the given L
  std::vector<TensorJudgement> tensors;  ///< one per given tensor
  std::vector<RivalError> family;        ///< rivals, and their largest errors over w of all tensors
  bool rounded() const;
};

/// Throws Stopped when cancelled.
GroupJudgement judge_gradients(const JudgedGradients& given, const Options& options = {});

/// Gradient of each head's sink, without other sequences' contributions. Throws Stopped when cancelled.
std::vector<SinkGradient> sink_gradients(const JudgedGradients& given, const Options& options = {});

/// Searches the slips of wrong gradients for all forms of rounding, and sets them in `judged` with the judgement for the form
/// in which they were found. If `like`, another group, has slips, tries only those. Throws Stopped when cancelled.
void find_gradient_slips(const JudgedGradients& given, GroupJudgement& judged, const Options& options = {},
                         const GroupJudgement& like = {});

/// The step that the wrong tensors point to: "dQ and dK are wrong and dV is not: P and L are right, look at delta, dP or dS.";
/// "" if nothing is wrong. Ignores dSink.
std::string narrowed_cause(const GroupJudgement& judged);

}  // namespace attoscope
