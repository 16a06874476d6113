/// A kernel's output, from a file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/call_files.h"
#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {

/// Texts that `parse_kernel_output` accepts, for messages and help.
inline std::string kernel_output_specs() { return file_specs({FileKind::one, FileKind::named}, "[:INDEX]"); }

/// Parses an output's name; the file is not opened. Throws std::invalid_argument with one sentence.
KernelOutput parse_kernel_output(const std::string& spec);

/// The output as text for `parse_kernel_output`.
std::string kernel_output_spec(const KernelOutput& output);

/// Reads the file of an output that was named and not yet read: sets values, digest, type and shape. Tensors are called o, out,
/// output, attn_out or the like, or are the only one of their file; they hold n x d, heads x n x d or n x heads x d, each after
/// a batch if there is one. n and d are what is wanted, the first d of more columns; 0: whatever the file has. Throws
/// std::runtime_error in a sentence that names the file, the tensor, its shape and what was expected, or where `watch` asks to
/// stop.
void load_kernel_output(KernelOutput& output, int n = 0, int d = 0, const ReadWatch& watch = {});

/// Number of heads of such an output for n x d.
int kernel_output_heads(const TensorSpec& file, int n = 0, int d = 0);

/// Parses and reads an output for a problem; the head is that of the problem's input, if `spec` names none and the file has it.
/// Throws as `parse_kernel_output` and `load_kernel_output`.
KernelOutput read_kernel_output(const std::string& spec, const Problem& problem, int n = 0, int d = 0,
                                const ReadWatch& watch = {});

/// Parses the name of a gradient; the file is not opened. Throws as `parse_kernel_output`.
KernelOutput parse_gradient(const std::string& spec);
/// The gradient of a problem's output, n x d_v, or (`of_lse`) of its log-sum-exp, n x 1, whose tensors may also be [n] or
/// [heads, n]. Named, read and refused as outputs are; tensors are called do, dout, grad_output or the like, dlse or the like,
/// or are the only one of their file.
KernelOutput read_gradient(const std::string& spec, const Problem& problem, bool of_lse, const ReadWatch& watch = {});
/// Reads one that was named and not yet read.
void load_gradient(KernelOutput& gradient, const Problem& problem, bool of_lse, const ReadWatch& watch = {});
/// Reads those of the experiment that were named and not yet read; none without a backward pass.
void load_gradients(Experiment& e, const ReadWatch& watch = {});

/// Reads dQ, dK or dV that a kernel computed, n x d or keys x d_v: of the head of Q, or of the one that `spec` names. Without
/// values where the file has dK or dV with the heads of K and V: sums over the heads of a group are no head's. Throws as
/// `read_gradient`, also where the file has other heads.
KernelOutput read_kernel_gradient(const std::string& spec, const Problem& problem, AnswerTensor tensor,
                                  const ReadWatch& watch = {});

/// Files of dO and dL, and of the gradients that a kernel computed, as typed; "": none.
struct GradientSpecs {
  std::string d_o{}, d_lse{}, dq{}, dk{}, dv{};
  std::string dsink{};  ///< for `attoscope judge` alone
  std::string lse{};    ///< a kernel's log-sum-exp, beside its output

  bool any_computed() const { return !dq.empty() || !dk.empty() || !dv.empty(); }
  /// True if there is one to judge with its dO.
  bool any_judged() const { return any_computed() || !dsink.empty(); }
  bool any() const { return !d_o.empty() || !d_lse.empty() || !lse.empty() || any_computed(); }
};
/// The gradients that a kernel computed.
inline constexpr std::array computed_gradients{&GradientSpecs::dq, &GradientSpecs::dk, &GradientSpecs::dv};
/// Finds them among the tensors of these files, by their names; a kernel's gradients only beside a dO, or alone in a file.
/// Throws std::runtime_error where a file cannot be read.
GradientSpecs gradients_in(const TensorSpec& files);

/// True if the file is called q, k or v, so that its tensor is no output.
bool is_part_alone(const std::string& file);
/// True for one tensor that is not called so, and for files with an output but without Q, K, V: dropping them opens an output.
bool is_kernel_output(const TensorSpec& files);
/// True if there is an output among the tensors.
bool holds_kernel_output(const TensorSpec& files);

/// True if the files have Q, K, V and an output; false if they cannot be read.
bool holds_whole_call(const TensorSpec& files);

/// All outputs of `spec`, one entry per layer. Throws as `load_kernel_output`.
std::vector<CallFiles::Output> outputs_of(const TensorSpec& spec, int n, int d);

/// Makes the loaded output method a or b.
void use_kernel_output(Experiment& experiment, KernelOutput output, bool as_b);

}  // namespace attoscope::app
