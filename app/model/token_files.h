/// Tokens for a model, from files.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

/// Whole numbers [n] of a .npy, int32 or int64; the first `limit` of them, 0: all. Throws std::runtime_error with one sentence.
std::vector<int> read_tokens(const std::string& path, int limit);

/// Names of the texts that come with the program; the first 1024 tokens of each under SmolLM2 lie in assets/texts.
inline constexpr std::array<std::string_view, 2> shipped_text_names{"chronicle", "licence"};
/// The text of that name; none: no text has it. Throws std::runtime_error with one sentence where its file cannot be read.
std::optional<std::string> shipped_text(std::string_view name);

/// The tokens of a text, which is a file or one of `shipped_text_names`, by the checkpoint's own tokenizer; nothing is put in
/// front. Throws std::runtime_error with one sentence.
std::vector<int> tokens_of_text(const std::string& path, const std::string& checkpoint, int limit);

}  // namespace attoscope::app
