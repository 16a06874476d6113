/// Q, K, V from files, and the text that names an input.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/input.h"
#include "ui/frame/entries.h"

namespace attoscope {

/// What `parse_input` understands, for messages and help.
inline constexpr std::string_view input_specs =
    "normal, uniform, outliers, ones, constant:V, ties, ascending, descending, shuffled, biased:MEAN, "
    "FILE.safetensors[:INDEX], "
    "FILE.npz, q.npy,k.npy,v.npy or a folder of such files";

/// The input that `spec` names; files are not opened. Throws std::invalid_argument in a sentence.
Input parse_input(std::string_view spec);

/// The text that `parse_input` reads back.
std::string input_spec(const Input& input);

/// Reads the file of an input of kind `tensors` that holds none yet: sets `tensors` and `digest`; other inputs stay as they
/// are. Throws std::runtime_error in a sentence that names the file, the key, the value and what was expected, or where `watch`
/// asks to stop.
void load_tensors(Input& input, const ReadWatch& watch = {});

/// True if what `load_tensors`, `describe_tensors` and `load_kernel_output` do with these files ("a.npy,b.npy,c.npy" or a
/// single one) takes no longer than a frame: they are small, and so are their headers, or they are no files.
bool quick_to_read(const std::string& files);

/// The same input, its files read in this layout; one that is drawn stays as it is.
Input with_layout(Input input, const HeadLayout& layout);

/// What lies in tensor files or FILE.npy, an :INDEX behind them or not: "q: [8, 1024, 64] F16" for each
/// tensor, "scales: k per head, v per head" where these have some. Data are not read. Throws as `load_tensors` does.
std::vector<std::string> contents_of(const std::string& spec);

/// What tensor files offer; data are not read. Throws as `load_tensors` does.
TensorFileInfo describe_tensors(const std::string& file);

}  // namespace attoscope
