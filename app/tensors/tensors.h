/// Q, K, V from files, and the text of an input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/readers.h"
#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/input.h"
#include "ui/frame/entries.h"

namespace attoscope::app {

/// Texts that `parse_input` accepts, for messages and help.
inline std::string input_specs() {
  return "normal, uniform, outliers, ones, constant:V, ties, ascending, descending, shuffled, biased:MEAN, " +
         file_specs({FileKind::named, FileKind::archive}, "[:INDEX]") + ", q.npy,k.npy,v.npy or a folder of such files";
}

/// Parses an input; files are not opened. Throws std::invalid_argument with one sentence.
Input parse_input(const std::string& spec);

/// The input as text for `parse_input`.
std::string input_spec(const Input& input);

/// Reads the file of an input of kind `tensors` without tensors: sets `tensors` and `digest`. Other inputs stay unchanged.
/// Throws std::runtime_error with one sentence that names the file, the key, the value and what was expected, or if `watch`
/// asks to stop.
void load_tensors(Input& input, const ReadWatch& watch = {});

/// True if `load_tensors`, `describe_tensors` and `load_kernel_output` of these files ("a.npy,b.npy,c.npy" or a single one)
/// take less than a frame: files and headers are small and on this machine, or there are no such files.
bool quick_to_read(const TensorSpec& files);

/// The input with this layout for its files; unchanged if it is not from files.
Input with_layout(Input input, const HeadLayout& layout);

/// Contents of tensor files or FILE.npy, with or without :INDEX: "q: [8, 1024, 64] F16" for each tensor, "scales: k per head, v
/// per head" if it has scales. Reads no data. Throws as `load_tensors`.
std::vector<std::string> contents_of(const std::string& spec);

/// Description of tensor files; reads no data. Throws as `load_tensors`.
ui::TensorFileInfo describe_tensors(const TensorSpec& file);

}  // namespace attoscope::app
