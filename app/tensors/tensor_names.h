/// Tensors that belong together, found by name: q, query, layers.7.self_attn.q_proj.out, 0_q.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/tensor_spec.h"

namespace attoscope::app {

/// Names of a call's parts, in files and options.
inline constexpr std::array<const char*, 4> part_names{"q", "k", "v", "o"};

/// A tensor's name, and whether its numbers can be read.
struct TensorName {
  std::string name;
  bool readable = true;
};

/// Q, K, V and perhaps the output of one call, as indices in the list of names; -1: none.
struct NamedCall {
  std::string shared;  ///< common part of the names: "layers.7.self_attn.*_proj.out"
  int q = -1, k = -1, v = -1, o = -1;
};

struct CallNames {
  std::vector<NamedCall> calls;         ///< layer 2 before layer 10; only the plain q, k, v if they exist
  std::vector<int> outputs;             ///< tensors with names of outputs, in the same order
  std::vector<std::string> incomplete;  ///< sentences on missing parts: "'0_q' and '0_k' have no v"
};

/// Usual names of a kernel's output in files.
inline constexpr std::array<std::string_view, 8> usual_output_names{
    "o", "O", "out", "output", "attn_out", "attn_output", "attention_output", "context"};

/// Usual names of the gradients that a backward pass takes as inputs.
inline constexpr std::array<std::string_view, 8> usual_output_gradient_names{"do",    "dO",     "d_o",      "dout",
                                                                             "d_out", "grad_o", "grad_out", "grad_output"};
inline constexpr std::array<std::string_view, 4> usual_lse_gradient_names{"dlse", "d_lse", "grad_lse", "dL"};

/// Usual names of the gradients that a kernel computes.
inline constexpr std::array<std::string_view, 5> usual_dq_names{"dq", "dQ", "d_q", "grad_q", "q_grad"};
inline constexpr std::array<std::string_view, 5> usual_dk_names{"dk", "dK", "d_k", "grad_k", "k_grad"};
inline constexpr std::array<std::string_view, 5> usual_dv_names{"dv", "dV", "d_v", "grad_v", "v_grad"};
inline constexpr std::array<std::string_view, 4> usual_dsink_names{"dsink", "d_sink", "dsinks", "grad_sinks"};

/// The part of a packed or paged call that a tensor's name denotes in FlashAttention, FlashInfer, vLLM or xformers:
/// "layers.3.block_table", "qo_indptr"; none: another tensor.
std::optional<PackedPart> packed_part_of(const std::string& name);

/// Calls and outputs among the names.
CallNames calls_in(const std::vector<TensorName>& names);

/// "layer 7" of "layers.7.self_attn.*_proj.out"; "" if the names share nothing.
std::string layer_name(const std::string& shared);

/// Compares texts with numbers by value: "layer 2" before "layer 10".
bool natural_less(const std::string& x, const std::string& y);

}  // namespace attoscope::app
