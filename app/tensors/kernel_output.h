/// A kernel's output, from a file.
#pragma once

#include <array>
#include <cstdint>
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
/// a batch if there is one, or all sequences if the problem's input is a packed call. A head has the problem's rows and the
/// first of its columns; 0 rows or columns: as in the file. Throws std::runtime_error with one sentence that names the file,
/// the tensor, its shape and what was expected, or if `watch` asks to stop.
void load_kernel_output(KernelOutput& output, const Problem& problem, const ReadWatch& watch = {});

/// Number of heads of an output.
int kernel_output_heads(const TensorSpec& file, const Problem& problem);

/// Parses and reads an output. If `spec` names no head, takes the head of the problem's input, or 0 if the file does not have
/// it. Throws as `parse_kernel_output` and `load_kernel_output`.
KernelOutput read_kernel_output(const std::string& spec, const Problem& problem, const ReadWatch& watch = {});

/// Parses the name of a gradient; the file is not opened. Throws as `parse_kernel_output`.
KernelOutput parse_gradient(const std::string& spec);
/// Reads dO of a problem, n x d_v, or (`of_lse`) dL, n x 1, whose tensors may also be [n] or [heads, n]. Parses, reads and
/// throws as for outputs; tensors are called do, dout, grad_output or the like, dlse or the like, or are the only one of their
/// file.
KernelOutput read_gradient(const std::string& spec, const Problem& problem, bool of_lse, const ReadWatch& watch = {});

/// A tensor beside Q, K and V that an experiment reads: a loaded output, dO or dL.
enum class GivenTensor : std::uint8_t { o, d_o, d_lse };
inline constexpr std::array given_names{"o", "dO", "dL"};
template <class ExperimentOrConst>
auto& given_tensor(ExperimentOrConst& e, GivenTensor which) {
  return which == GivenTensor::o ? e.loaded : which == GivenTensor::d_o ? e.backward.d_o_file : e.backward.d_lse_file;
}
/// The tensors that the experiment names.
std::vector<GivenTensor> given_tensors(const Experiment& e);
/// False for a file of dO while another dO is chosen.
bool is_in_use(const Experiment& e, GivenTensor which);
/// Reads a tensor that was named and not yet read. Throws as `load_kernel_output`.
void load_given(KernelOutput& output, const Problem& problem, GivenTensor which, const ReadWatch& watch = {});
/// Reads all tensors in use that were named and not yet read.
void load_given(Experiment& e, const ReadWatch& watch = {});

/// Reads dQ, dK or dV that a kernel computed, n x d or keys x d_v: for the head of the problem's input, or the head that `spec`
/// names. Leaves the values empty if the file has dK or dV with the heads of K and V, which are sums over the heads of a group.
/// Throws as `read_gradient`, also if the file has another number of heads.
KernelOutput read_kernel_gradient(const std::string& spec, const Problem& problem, AnswerTensor tensor,
                                  const ReadWatch& watch = {});

/// Number of heads of a dO or dL of a problem; 0 if they are of sequences that differ in length. Throws as `read_gradient`.
int gradient_heads(const std::string& file, const Problem& problem, bool of_lse);
/// The same of dQ, dK or dV.
int gradient_heads(const std::string& file, const Problem& problem, AnswerTensor tensor);

/// Files of dO and dL, and of the gradients that a kernel computed, as typed; "": none.
struct GradientSpecs {
  std::string d_o{}, d_lse{}, dq{}, dk{}, dv{};
  std::string dsink{};  ///< for `attoscope judge` alone
  std::string lse{};    ///< a kernel's log-sum-exp, beside its output

  bool any_computed() const { return !dq.empty() || !dk.empty() || !dv.empty(); }
  /// True if there is a gradient to judge, for which dO is needed.
  bool any_judged() const { return any_computed() || !dsink.empty(); }
  bool any() const { return !d_o.empty() || !d_lse.empty() || !lse.empty() || any_computed(); }
};
/// The gradients that a kernel computed.
inline constexpr std::array computed_gradients{&GradientSpecs::dq, &GradientSpecs::dk, &GradientSpecs::dv};
/// Finds gradients among the tensors of these files by name; a kernel's gradients only beside a dO, or alone in a file. Throws
/// std::runtime_error if a file cannot be read.
GradientSpecs gradients_in(const TensorSpec& files);

/// True if the file is called q, k or v; its tensor is then no output.
bool is_part_alone(const std::string& file);
/// True if dropping the files on the window opens an output: a file of one tensor that is not called q, k or v, or files with
/// an output but without Q, K, V.
bool is_kernel_output(const TensorSpec& files);
/// True if there is an output among the tensors.
bool holds_kernel_output(const TensorSpec& files);

/// True if the files have Q, K, V and an output; false if they cannot be read.
bool holds_whole_call(const TensorSpec& files);

/// All outputs of `spec`, one entry per layer or sequence. Throws as `load_kernel_output`.
std::vector<CallFiles::Output> outputs_of(const TensorSpec& spec, const Problem& problem);

/// Sets the experiment's loaded output, and makes it method b (`as_b`) or a.
void use_kernel_output(Experiment& experiment, KernelOutput output, bool as_b);

}  // namespace attoscope::app
