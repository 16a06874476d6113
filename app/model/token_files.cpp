#include "app/model/token_files.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/model/tokenizer.h"
#include "app/tensors/npy.h"
#include "app/words/numbers.h"
#include "kernels/train/plan/corpus.h"

namespace attoscope::app {

static constexpr std::uint64_t longest_text = 1 << 22;

std::optional<std::string> shipped_text(std::string_view name) {
  if (name == shipped_text_names[0]) return chronicle();
  if (name == shipped_text_names[1])
    return read_file((std::filesystem::path(assets_directory()) / "LICENSE").string(), longest_text);
  return std::nullopt;
}

std::vector<int> read_tokens(const std::string& path, int limit) {
  constexpr std::uint64_t most_tokens = 1 << 20;
  const InputFile file(path);
  StoredTensor t = read_npy(file);
  const bool is_whole = t.type == ElementType::I32 || t.type == ElementType::I64;
  if (!is_whole || t.shape.size() != 1 || t.shape[0] > most_tokens)
    throw std::runtime_error(t.label + " has " + std::string(type_name(t.type)) + " of shape " + shape_text(t.shape) +
                             ", expected I32 or I64 of shape [n], at most " + std::to_string(most_tokens) + " tokens");
  const auto count =
      static_cast<int>(limit > 0 ? std::min<std::uint64_t>(t.shape[0], static_cast<std::uint64_t>(limit)) : t.shape[0]);
  t.shape = {1, static_cast<std::uint64_t>(count)};
  std::vector<int> tokens;
  for (const double x : read_matrix(file, t, {1, 1, count}, 0)) {
    if (!(x >= 0 && x <= std::numeric_limits<int>::max()))
      throw std::runtime_error(t.label + " has token " + shortest(x) + " at place " + std::to_string(tokens.size()) +
                               ", expected a place in the vocabulary");
    tokens.push_back(static_cast<int>(x));
  }
  return tokens;
}

std::vector<int> tokens_of_text(const std::string& path, const std::string& checkpoint, int limit) {
  const Tokenizer tokenizer = read_tokenizer(checkpoint);
  const std::optional<std::string> shipped = shipped_text(path);
  const std::string text = shipped ? *shipped : read_file(path, longest_text);
  std::vector<int> tokens;
  try {
    tokens = tokenizer.tokens(text);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(checkpoint + ": " + error.what());
  }
  if (limit > 0 && tokens.size() > static_cast<std::size_t>(limit)) tokens.resize(static_cast<std::size_t>(limit));
  return tokens;
}

}  // namespace attoscope::app
