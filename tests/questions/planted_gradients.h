/// Plain backward kernels, written row by row in float and double, with a mistake planted in them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/judge/gradient_judge.h"
#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// Roundings of correct kernels (kernels/backward/README.md and its sources). generic_blas: PyTorch's kernel for CPUs with a
/// BLAS without bf16 and fp16, which rounds the scores and dP of the backward pass, and in fp16 the q.k of the forward pass.
enum class GradientKind { fp32_inside, flash, memory_efficient, flex, eager, roots, prescaled, generic_blas };
/// The kinds that any problem may have.
inline constexpr std::array gradient_kinds{GradientKind::fp32_inside, GradientKind::flash, GradientKind::memory_efficient,
                                           GradientKind::flex,        GradientKind::eager, GradientKind::roots,
                                           GradientKind::prescaled};
/// True for kernels op by op, which store scores, P and dP; `roots` first multiplies Q and K by the square root of the scale.
constexpr bool is_eager(GradientKind kind) { return kind == GradientKind::eager || kind == GradientKind::roots; }

/// A group of heads of Q that share K and V.
struct GradientCall {
  Problem p;                    ///< without tensors
  std::vector<Problem> own{};   ///< one per head; empty: p
  std::vector<Tensors> heads;   ///< one per head, with equal K and V
  std::vector<Values> d_o;      ///< of each
  std::vector<Values> d_lse{};  ///< dL per head, or empty
  Format f = bf16;
};

/// Sizes of a call, whose numbers every format holds; `of_dl`: with a gradient of the log-sum-exp.
struct CallSizes {
  AttentionShape shape = AttentionShape::square(150, 32);
  int heads = 1;
  bool of_dl = false;
  double size = 1;  ///< factor of Q
  double low = 0;   ///< scores about -`low` and -2 `low`, 16 rows each; 0: scores around 0
};
GradientCall gradient_call(const CallSizes& sizes, const Mask& mask, const Format& f, std::uint64_t seed);
/// Gives each head its own scale, soft cap, slope and sink.
void take_own_numbers(GradientCall& call);

/// A query's correct numbers, from which a mistake computes its own.
struct PlantedRow {
  int head = 0, row = 0;
  double m = 0, l = 0, lse = 0, delta = 0;  ///< the correct values
  const double *o = nullptr, *d_o = nullptr;
  int d_v = 0;
  double d_lse = 0;
};

/// A kernel's mistakes; none by default.
struct GradientMistake {
  std::function<bool(const GradientCall&, int row, int key)> sees{};  ///< the mask of the backward pass
  std::function<double(const PlantedRow&)> lse{}, delta{};
  std::function<double(int row, int key)> in_dq{}, in_dk{}, in_dv{};  ///< factor of a pair in the sum
  double dq_factor = 1, dk_factor = 1, dv_factor = 1;
  double scale = 0;  ///< of the backward pass; 0: the right one
  bool caps = true, cap_derivative = true, biases = true, sinks = true;
  int dp_columns = 0;
  double Problem::* of_head_0 = nullptr;  ///< head 0's number that all heads use in the backward pass
  bool tf32_products = false;
  bool averages = false, sums_twice = false;       ///< dK and dV over the heads of a group
  int only_head = -1;                              ///< the only head of a group that adds to dK and dV
  bool in_group_dk = true, in_group_dv = true;     ///< the tensors in which these three are made
  std::function<void(JudgedGradients&)> writes{};  ///< changes the written gradients
  std::shared_ptr<const GradientCall> beside{};    ///< another group, with which dK or dV, or both, are exchanged
  bool exchanges_dk = true, exchanges_dv = true;
};

/// O of a correct forward pass and the gradients of a kernel of this kind, stored in the call's format.
JudgedGradients gradients_of(const GradientCall& call, GradientKind kind, const GradientMistake& mistake = {});

/// A planted slip and its right names.
struct PlantedGradient {
  const char* kind;
  const char* name;   ///< regular expression of its right names, "kind: text"
  const char* wrong;  ///< the tensors that it makes wrong: "dq dk"
  std::function<GradientMistake(const GradientCall&)> mistake;
  CallSizes sizes{};
  std::function<void(Problem&)> problem{};  ///< changes the problem
  enum class Needs { nothing, a_mask, no_mask, fp32_numbers, fp16_numbers } needs = Needs::nothing;
  bool by_head = false;  ///< each head has its own scale, soft cap, slope and sink
};
std::vector<PlantedGradient> planted_gradients();

}  // namespace attoscope::planted
