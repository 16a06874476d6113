/// Q, K, V from files, and the text that names an input.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/stored_tensor.h"
#include "kernels/experiment/input.h"
#include "ui/frame/entries.h"

namespace attoscope {

/// What `parse_input` understands, for messages and help.
inline constexpr std::string_view input_specs =
    "normal, uniform, outliers, ones, constant:V, ties, ascending, descending, shuffled, biased:MEAN, FILE.safetensors[:INDEX] "
    "or "
    "q.npy,k.npy,v.npy[:INDEX]";

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

/// "a.npy", "b.npy", "c.npy" from their list; none where it is no such list. Commas in directory names are left alone.
std::optional<std::array<std::string, 3>> npy_paths(std::string_view list);

/// What lies in FILE.safetensors, FILE.npy or q.npy,k.npy,v.npy, an :INDEX behind it or not: "q: [8, 1024, 64] F16" for each
/// tensor. Data are not read. Throws as `load_tensors` does.
std::vector<std::string> contents_of(const std::string& spec);

/// What FILE.safetensors or q.npy,k.npy,v.npy offers; data are not read. Throws as `load_tensors` does.
TensorFileInfo describe_tensors(const std::string& file);

}  // namespace attoscope
