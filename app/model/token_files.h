/// Tokens for a model, from files.
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// Whole numbers [n] of a .npy, int32 or int64; the first `limit` of them, 0: all. Throws std::runtime_error with one sentence.
std::vector<int> read_tokens(const std::string& path, int limit);

/// The tokens of a text, by the checkpoint's own tokenizer; nothing is put in front. Throws std::runtime_error with one
/// sentence.
std::vector<int> tokens_of_text(const std::string& path, const std::string& checkpoint, int limit);

}  // namespace attoscope
