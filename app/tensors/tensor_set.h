/// Opens all tensors of a text that names files: one file, several, an archive or a folder.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/readers.h"
#include "app/tensors/tensor_names.h"
#include "kernels/experiment/tensor_spec.h"

namespace attoscope::app {

/// Texts that name tensor files, for messages and help.
inline std::string tensor_file_specs() {
  return file_specs({FileKind::named, FileKind::archive}) +
         ", a folder of such files or of .npy files, q.npy,k.npy,v.npy or several files with commas between";
}

/// FILE or FILE:HEAD with layout and scales, as typed.
struct HeadSpec {
  TensorSpec file;
  std::optional<std::string> head{};  ///< as typed; none: not named

  /// Head index; 0 if not named. Throws std::invalid_argument with one sentence on `subject` unless it is a whole number >= 0.
  int index(const std::string& subject) const;
};
/// Splits a typed text into files and head; `names` decides if a spec names files. None if `names` rejects the text both with
/// and without the part behind its last colon. A number behind a scale's file is the head, not a tensor's name.
std::optional<HeadSpec> head_spec(const std::string& text, bool (*names)(const TensorSpec& spec));

/// True if a number behind a scale's file would be taken for the head.
bool has_head_behind_scale(const std::string& text);

/// Drops a head index: FILE of FILE:NUMBER.
std::string without_head(const std::string& text);

/// Reference to a scale's tensor. Throws std::invalid_argument with one sentence if its file is no tensor file.
TensorRef scale_file(const ScaleSpec& scale);

/// File of entry `part` of ScaleSpecs: a scale or a mask. Throws std::invalid_argument with one sentence if it is no tensor
/// file.
std::string file_of_part(const ScaleSpec& spec, std::size_t part);

/// True if the text lists single tensors, Q, K, V and perhaps O in this order: "call.pt:x,call.pt:y,z.npy".
bool lists_tensors(const std::string& files);

/// True if the files may be tensors: lists of tensors, usual endings, several with commas between, or an existing folder.
bool names_tensor_files(const TensorSpec& spec);

/// Parts of a list: "a.npy", "b.safetensors:x"; else the text itself.
std::vector<std::string> files_in_list(const std::string& files);

/// True for one file of kind `one` or `named`.
bool is_single_file(const std::string& files);
/// True for one file of any kind.
bool names_one_file(const std::string& files);

/// All files of a spec, including files of scales, masks and tables; a folder is replaced by the tensor files in it.
std::vector<std::string> single_files_of(const TensorSpec& spec);

/// Replaces each path of a text, with or without a head, by `place(path)`. Throws std::invalid_argument with one sentence if
/// the text names no files.
std::string with_paths(const std::string& spec, const std::function<std::string(const std::string& path)>& place);
/// The paths of a text, as written.
std::vector<std::string> paths_of(const std::string& spec);

/// Makes all paths of a text, with or without a head, absolute.
std::string absolute_spec(const std::string& spec);

/// Opens the files and reads their headers. Does not follow links in folders. Throws std::runtime_error with one sentence.
TensorSet open_tensor_set(const std::string& files);

/// Throws the refusal of the only object of a file if it has no name, by which a list could show it.
void check_nameless(const TensorSet& set);
/// "'q', 'k', ...", for messages.
std::string tensor_list(const TensorSet& set);

/// Finds the tensor of FILE or FILE:TENSOR in `set`, the tensors of FILE. Without TENSOR: the first with one of the `usual`
/// names or, if `option` is empty, the only tensor. It may have a refusal. Throws std::runtime_error that lists the tensors and
/// says how `option` names one.
const NamedTensor& tensor_in(const TensorSet& set, const TensorRef& ref, std::span<const std::string_view> usual = {},
                             const std::string& option = "");
/// Opens the file of `ref` and returns its `tensor_in`.
NamedTensor open_tensor(const TensorRef& ref, std::span<const std::string_view> usual = {});
/// Parses the value of an option, FILE or FILE:TENSOR. Throws std::runtime_error with one sentence if FILE is no tensor file.
TensorRef ref_of_option(const std::string& option, const std::string& text);

/// A matrix of numbers, row-major; a vector has one column.
struct MatrixNumbers {
  int rows = 0, columns = 0;
  std::vector<double> values;
};
/// Reads the matrix (`rank` 2) or vector (`rank` 1) that an option names: any type, NaN and infinity included. Throws
/// std::runtime_error with one sentence that names the file, its content and what was expected; also if the matrix is empty or
/// needs more than half of the machine's memory.
MatrixNumbers read_numbers(const std::string& option, const std::string& text, std::size_t rank);

/// Names of the tensors, for `calls_in`.
std::vector<TensorName> names_of(const TensorSet& set);

}  // namespace attoscope::app
