/// Words of tensors' names: each names a part of attention, a place in a model, or neither.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/letters.h"

namespace attoscope::app {

/// A run of letters or of digits in a name.
struct Word {
  std::size_t begin = 0;
  std::string text;
  std::string lower() const;
};

std::vector<Word> words_of(const std::string& name);

/// "scale" of "layers.7.scale".
constexpr std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

/// Style of a part's name: q, Q or query.
enum class PartStyle : std::uint8_t { small, capital, word };

/// Part that a word names.
struct PartWord {
  int role = 0;  ///< 0 q, 1 k, 2 v
  PartStyle style = PartStyle::small;
};
std::optional<PartWord> part_of(const Word& word);

bool is_one_of(const std::string& word, std::span<const std::string_view> list);

/// Words for scales. "inv" after one has no effect: `weight_scale_inv` of DeepSeek's files multiplies, too.
inline constexpr std::array<std::string_view, 5> scale_words{"scale", "scales", "descale", "descales", "scaling"};

/// True for tensors beside a call that are not parts of it.
bool is_beside(const std::vector<Word>& words);

/// True for usual names of attention outputs, including the input of the output projection, but not that projection's output.
bool is_called_output(const std::vector<Word>& words);

/// Name of the layer: `words` without names of parts, modules and files.
std::string place_of(const std::vector<Word>& words);
std::string place_of(const std::string& name);
/// True if "layers.7.scale" is beside the tensors whose names share "layers.7.*_proj".
bool is_in_place(const std::string& name, const std::string& shared);

}  // namespace attoscope::app
