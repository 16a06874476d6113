/// The words of tensors' names: what names a part of attention, a place in a model, or neither.
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

namespace attoscope {

/// A run of letters or of digits in a name.
struct Word {
  std::size_t begin = 0;
  std::string text;
  std::string lower() const;
};

std::vector<Word> words_of(const std::string& name);

/// How a part is called: q, Q or query.
enum class PartStyle : std::uint8_t { small, capital, word };

/// What a word says of Q, K and V.
struct PartWord {
  int role = 0;  ///< 0 q, 1 k, 2 v
  PartStyle style = PartStyle::small;
};
std::optional<PartWord> part_of(const Word& word);

bool is_one_of(const std::string& word, std::span<const std::string_view> list);

/// What scales are called; "inv" behind one changes nothing: `weight_scale_inv` of DeepSeek's files is multiplied, too.
inline constexpr std::array<std::string_view, 5> scale_words{"scale", "scales", "descale", "descales", "scaling"};

/// Tensors beside a call that are none of its parts.
bool is_beside(const std::vector<Word>& words);

/// True for what is called as outputs of attention are; the projection behind it is none, but what goes into it.
bool is_called_output(const std::vector<Word>& words);

/// What is left of a name for its layer: without what names parts, modules and files.
std::string place_of(const std::vector<Word>& words);
std::string place_of(const std::string& name);

}  // namespace attoscope
