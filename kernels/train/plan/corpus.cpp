#include "kernels/train/plan/corpus.h"

#include <optional>
#include <stdexcept>

#include "kernels/arithmetic/quoted.h"
#include "kernels/arithmetic/random.h"

namespace attoscope {
namespace {

constexpr char32_t code_points = 0x110000;  ///< of Unicode

/// Calls f(character) for every character, in order.
template <class F>
void each_character(std::string_view text, const std::string& name, F f) {
  for (std::size_t i = 0; i < text.size();) {
    const std::optional<Decoded> next = decoded(text, i);
    if (!next)
      throw std::invalid_argument(name + " is not UTF-8: its byte " + std::to_string(i) +
                                  ", counted from 0, begins no character");
    f(next->character);
    i += next->bytes;
  }
}

void check_characters(std::size_t count, std::size_t different, const std::string& name) {
  if (count < min_text)
    throw std::invalid_argument(name + " has " + std::to_string(count) + " characters, expected at least " +
                                std::to_string(min_text));
  if (different < 2) throw std::invalid_argument(name + " repeats one character, expected at least two different ones");
  if (different > static_cast<std::size_t>(max_vocabulary))
    throw std::invalid_argument(name + " has " + std::to_string(different) + " different characters, expected at most " +
                                std::to_string(max_vocabulary));
}

/// Uniform in 0 .. count - 1, count below 2^32: 64 random bits as a fraction, times count.
std::uint64_t below(std::uint64_t count, const Philox<std::uint64_t>& random) {
  return (random.x[0] * count + ((random.x[1] * count) >> 32)) >> 32;
}

constexpr std::uint64_t batch_stream = 0x62617463;

/// The number of places at which a piece can begin: its last target is one character after its input.
std::uint64_t places_in(std::span<const std::uint16_t> text, int context) {
  return text.size() - static_cast<std::size_t>(context);
}

void add_piece(Batch& batch, std::span<const std::uint16_t> text, std::uint64_t place, int context) {
  const auto first = text.begin() + static_cast<std::ptrdiff_t>(place);
  batch.input.insert(batch.input.end(), first, first + context);
  batch.target.insert(batch.target.end(), first + 1, first + 1 + context);
}

}  // namespace

std::shared_ptr<const Corpus> corpus_of(std::string_view text, const std::string& name) {
  if (text.size() > max_text)
    throw std::invalid_argument(name + " has " + std::to_string(text.size()) + " bytes, expected at most " +
                                std::to_string(max_text));
  std::vector<bool> seen(code_points);
  std::size_t count = 0;
  each_character(text, name, [&](char32_t c) {
    seen[c] = true;
    ++count;
  });
  auto corpus = std::make_shared<Corpus>();
  std::vector<std::uint16_t> index(code_points);
  for (char32_t c = 0; c < code_points; ++c) {
    if (!seen[c]) continue;
    index[c] = static_cast<std::uint16_t>(corpus->characters.size());
    corpus->characters.push_back(c);
  }
  check_characters(count, corpus->characters.size(), name);
  corpus->text.reserve(count);
  each_character(text, name, [&](char32_t c) { corpus->text.push_back(index[c]); });
  return corpus;
}

Batch batch_at(std::span<const std::uint16_t> text, std::uint64_t seed, int step, int sequences, int context) {
  const std::uint64_t places = places_in(text, context);
  Batch batch;
  for (int s = 0; s < sequences; ++s) {
    const auto random =
        philox<std::uint64_t>(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(s), batch_stream, seed);
    add_piece(batch, text, below(places, random), context);
  }
  return batch;
}

Batch spaced_batch(std::span<const std::uint16_t> text, int index, int count, int sequences, int context) {
  const std::uint64_t places = places_in(text, context), each = static_cast<std::uint64_t>(sequences);
  Batch batch;
  const std::uint64_t first = static_cast<std::uint64_t>(index) * each, pieces = static_cast<std::uint64_t>(count) * each;
  for (std::uint64_t piece = first; piece < first + each; ++piece) add_piece(batch, text, piece * places / pieces, context);
  return batch;
}

}  // namespace attoscope
