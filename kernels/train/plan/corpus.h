/// A text as numbered characters, and the batches that training takes from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// The characters of a text, numbered in ascending order of their code points.
struct Corpus {
  std::vector<char32_t> characters;  ///< the vocabulary, ascending
  std::vector<std::uint16_t> text;   ///< index of every character
};
inline constexpr int max_vocabulary = 1024;
inline constexpr std::size_t min_text = 2000, max_text = 256u << 20;  ///< characters; bytes

/// The corpus of UTF-8 `text`, called `name` in messages. Throws std::invalid_argument in a sentence if it is not UTF-8 (at
/// which byte), is shorter than min_text, has only one character, or more than max_vocabulary different characters.
std::shared_ptr<const Corpus> corpus_of(std::string_view text, const std::string& name);

/// The text that comes with the program: the chronicle of an invented country, written by a rule, in ASCII. It has the same
/// bytes on every machine, since it is made of Philox's numbers and of whole numbers alone.
///
/// An entry says where a person lives, as what, since when, and what the person owns; its later sentences, and later entries,
/// repeat it. The letters of a name can therefore be known from text that is far back, and hardly from the last few letters.
std::string chronicle();

/// Input and target of a step: [sequence * context + position].
struct Batch {
  std::vector<std::uint16_t> input, target;  ///< target is the next character
};

/// The batch of a step: `sequences` pieces of the text from random places, which depend on the seed and the step alone. The
/// text must be longer than `context`.
Batch batch_at(std::span<const std::uint16_t> text, std::uint64_t seed, int step, int sequences, int context);

/// Batch `index` of `count`: pieces from places that are evenly spaced over the text, which must be longer than `context`.
Batch spaced_batch(std::span<const std::uint16_t> text, int index, int count, int sequences, int context);

}  // namespace attoscope
