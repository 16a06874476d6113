/// Byte-level byte-pair encoding as in GPT-2: converts text to tokens of a model. Also reads tokens from files.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attoscope::app {

/// The rule that cuts a text into words before bytes are joined. single_digits: every digit alone, then gpt2 within each piece
/// (SmolLM2); llama3 and qwen2: the regular expressions in their tokenizer.json.
enum class WordRule : std::uint8_t { gpt2, single_digits, llama3, qwen2 };

struct Tokenizer {
  WordRule rule = WordRule::gpt2;
  bool whole_words = false;                         ///< a word that is a token is taken without merges (ignore_merges)
  bool composed = false;                            ///< texts must be in Unicode's composed form (NFC)
  std::unordered_map<std::string, int> vocabulary;  ///< in GPT-2's characters for bytes
  std::unordered_map<std::string, int> ranks;       ///< index of "left right" among the merges
  std::unordered_map<std::string, int> added;       ///< tokens that are matched literally in the text

  /// Tokens of a text. Throws std::runtime_error with half a sentence if it is not UTF-8, may need composition, or has a
  /// byte that the vocabulary lacks.
  std::vector<int> tokens(std::string_view text) const;
  /// The bytes of each token, by its number; empty if there is no such token.
  std::vector<std::string> texts() const;
};

/// Reads the tokenizer of a checkpoint: tokenizer.json of a folder, or the lists of a .gguf. Throws std::runtime_error with one
/// sentence; for a tokenizer of another kind, and for random weights, it suggests a file of tokens.
Tokenizer read_tokenizer(const std::string& checkpoint);

/// Reads whole numbers [n] or [1, n] of any type from FILE or FILE:TENSOR, or draws the 1024 tokens of "random:SEED" from
/// the checkpoint's vocabulary: the first `limit` of them, 0: all. Throws std::runtime_error with one sentence.
std::vector<int> read_tokens(const std::string& path, const std::string& checkpoint, int limit);

/// Names of the texts that come with the program; the first 1024 tokens of each under SmolLM2 are in assets/texts.
inline constexpr std::array<std::string_view, 2> shipped_text_names{"chronicle", "licence"};
/// The shipped text of this name; none: no text has it. Throws std::runtime_error with one sentence if its file cannot be read.
std::optional<std::string> shipped_text(std::string_view name);

/// The tokens of a text, a file or one of `shipped_text_names`, by the checkpoint's own tokenizer; no token is put in front.
/// Throws std::runtime_error with one sentence.
std::vector<int> tokens_of_text(const std::string& path, const std::string& checkpoint, int limit);

/// \p{L}, \p{N} and \s of regular expressions.
bool is_letter(char32_t c);
bool is_number(char32_t c);
bool is_space(char32_t c);
/// True for characters that Unicode's composed form (NFC) leaves alone in a text of them; false for all that may combine or
/// decompose, and for scripts that are not listed.
bool is_composed(char32_t c);

}  // namespace attoscope::app
