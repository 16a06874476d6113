// Tokenizers of checkpoints: tokenizer.json of Hugging Face, and the lists of a .gguf; and tokens in files.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/json/json.h"
#include "app/json/json_place.h"
#include "app/model/model_files.h"
#include "app/model/tokenizer.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"
#include "kernels/train/plan/corpus.h"

namespace attoscope::app {
namespace {

constexpr std::uint64_t longest_text = 1 << 22;
constexpr std::string_view llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string way_out = "a byte-level BPE of GPT-2, SmolLM2, Llama 3 or Qwen2, or a file of tokens";

/// The rule of a pre_tokenizer, found from its parts. Throws if it is no known one.
WordRule rule_of(const JsonPlace& place) {
  std::vector<nlohmann::json> parts{place.json()};
  if (place.json().value("type", "") == "Sequence") {
    place.at("pretokenizers").size();
    parts = place.json().at("pretokenizers").get<std::vector<nlohmann::json>>();
  }
  const auto is = [&](std::size_t i, const char* type) {
    return i < parts.size() && parts[i].is_object() && parts[i].value("type", "") == type;
  };
  const bool bytes_last = is(parts.size() - 1, "ByteLevel") && !parts.back().value("add_prefix_space", false);
  const bool words = bytes_last && parts.back().value("use_regex", true);
  if (parts.size() == 1 && words) return WordRule::gpt2;
  if (parts.size() == 2 && words && is(0, "Digits") && parts[0].value("individual_digits", false))
    return WordRule::single_digits;
  if (parts.size() == 2 && bytes_last && !words && is(0, "Split") && parts[0].contains("pattern")) {
    const std::string regex = parts[0].at("pattern").value("Regex", "");
    const bool isolated = parts[0].value("behavior", "") == "Isolated" && !parts[0].value("invert", false);
    if (isolated && regex == llama3_words) return WordRule::llama3;
    if (isolated && regex == qwen2_words) return WordRule::qwen2;
  }
  place.refuse(way_out);
}

/// A merge as "a b", also from ["a", "b"].
std::string merge_of(const JsonPlace& place) {
  if (!place.json().is_array()) return place.text();
  place.expect_size(2);
  return place.at(std::size_t{0}).text() + " " + place.at(std::size_t{1}).text();
}

Tokenizer of_json(const JsonPlace& all) {
  constexpr int most = 1 << 22;  // each number up to the greatest takes memory
  Tokenizer t;
  const JsonPlace model = all.at("model");
  if (model.json().value("type", "BPE") != "BPE") model.at("type").refuse(way_out);
  if (model.json().value("byte_fallback", false)) model.at("byte_fallback").refuse("false, or a file of tokens");
  for (const char* const key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    const nlohmann::json option = model.json().value(key, nlohmann::json());
    if (!option.is_null() && option != "" && option != 0) model.at(key).refuse("null, or a file of tokens");
  }
  t.rule = rule_of(all.at("pre_tokenizer"));
  const nlohmann::json normalizer = all.json().value("normalizer", nlohmann::json());
  if (normalizer.is_object() && normalizer.value("type", "") == "NFC")
    t.composed = true;
  else if (!normalizer.is_null())
    all.at("normalizer").refuse("none or NFC");
  t.whole_words = model.json().value("ignore_merges", false);
  const JsonPlace vocabulary = model.at("vocab");
  for (const auto& [token, id] : vocabulary.json().items()) t.vocabulary[token] = vocabulary.at(token).whole(0, most);
  const JsonPlace merges = model.at("merges");
  for (std::size_t i = 0; i < merges.size(); ++i) t.ranks.emplace(merge_of(merges.at(i)), static_cast<int>(i));
  if (!all.json().contains("added_tokens")) return t;
  const JsonPlace added = all.at("added_tokens");
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string content = added.at(i).at("content").text();
    for (const char* const key : {"lstrip", "rstrip", "single_word"})
      if (added.at(i).json().value(key, false)) added.at(i).at(key).refuse("false, or a file of tokens");
    if (!content.empty()) t.added[content] = added.at(i).at("id").whole(0, most);
  }
  return t;
}

Tokenizer of_folder(const std::string& file) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 28;
  constexpr std::size_t most_values = 4'000'000;
  const std::string text = read_file(file, longest);
  try {
    const nlohmann::json json = parse_json(text, 32, most_values);
    return of_json(JsonPlace(json, ""));
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error(file + ": has a value of another type than tokenizers write, expected " + way_out);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(file + ": " + error.what());
  }
}

WordRule rule_of(const std::string& pre, const std::string& file) {
  if (pre == "smollm") return WordRule::single_digits;
  if (pre == "gpt-2") return WordRule::gpt2;
  if (pre == "llama-bpe") return WordRule::llama3;
  if (pre == "qwen2") return WordRule::qwen2;
  throw std::runtime_error(file + ": tokenizer.ggml.pre is " + in_quotes(pre) + ", expected " + way_out);
}

Tokenizer of_gguf(const std::string& file) {
  const std::string tokens = "tokenizer.ggml.tokens", merges = "tokenizer.ggml.merges", types = "tokenizer.ggml.token_type";
  GgufLists lists{{tokens, {}}, {merges, {}}, {types, {}}};
  std::map<std::string, std::string> keys = read_gguf_metadata(file, lists);
  if (keys["tokenizer.ggml.model"] != "gpt2")
    throw std::runtime_error(file + ": tokenizer.ggml.model is " + in_quotes(keys["tokenizer.ggml.model"]) + ", expected " +
                             way_out);
  Tokenizer t;
  t.rule = rule_of(keys["tokenizer.ggml.pre"], file);
  t.whole_words = t.rule == WordRule::llama3;
  t.composed = t.rule == WordRule::qwen2;
  for (std::size_t i = 0; i < lists[tokens].size(); ++i) {
    const std::string& name = lists[tokens][i];
    const bool is_added =
        i < lists[types].size() && (lists[types][i] == "3" || lists[types][i] == "4");  // control, user-defined
    if (!name.empty()) (is_added ? t.added : t.vocabulary).emplace(name, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < lists[merges].size(); ++i) t.ranks.emplace(lists[merges][i], static_cast<int>(i));
  return t;
}

}  // namespace

Tokenizer read_tokenizer(const std::string& checkpoint) {
  if (random_seed(checkpoint))
    throw std::runtime_error(checkpoint +
                             ": random weights have no tokenizer, expected --tokens, a file of them or random:SEED");
  std::error_code error;
  if (!std::filesystem::is_directory(checkpoint, error)) return of_gguf(checkpoint);
  return of_folder((std::filesystem::path(checkpoint) / "tokenizer.json").string());
}

std::optional<std::string> shipped_text(std::string_view name) {
  if (name == shipped_text_names[0]) return chronicle();
  if (name == shipped_text_names[1])
    return read_file((std::filesystem::path(assets_directory()) / "LICENSE").string(), longest_text);
  return std::nullopt;
}

std::vector<int> read_tokens(const std::string& path, const std::string& checkpoint, int limit) {
  constexpr int random_count = 1024;
  if (const auto seed = random_seed(path))
    return random_tokens(*seed, limit > 0 ? std::min(limit, random_count) : random_count,
                         read_model_config(checkpoint).architecture.vocabulary);
  constexpr std::uint64_t most_tokens = 1 << 20;
  constexpr std::array<std::string_view, 3> usual{"tokens", "input_ids", "token_ids"};
  const NamedTensor found = numeric(open_tensor(ref_of_option("--tokens", path), usual));  // floats of `--capture`, too
  StoredTensor t = found.tensor;
  while (t.shape.size() > 1 && t.shape.front() == 1) t.shape.erase(t.shape.begin());  // a batch of one
  if (t.shape.size() != 1 || t.shape[0] > most_tokens)
    refuse_shape(t, "[n], at most " + std::to_string(most_tokens) + " tokens");
  const auto count =
      static_cast<int>(limit > 0 ? std::min<std::uint64_t>(t.shape[0], static_cast<std::uint64_t>(limit)) : t.shape[0]);
  std::vector<int> tokens;
  for (const double x : read_flat(*found.file, t, 0, count)) {
    if (!(x >= 0 && x <= std::numeric_limits<int>::max() && x == std::floor(x)))
      throw std::runtime_error(t.label + " has token " + shortest(x) + " at place " + std::to_string(tokens.size()) +
                               ", expected a whole number, an index in the vocabulary");
    tokens.push_back(static_cast<int>(x));
  }
  return tokens;
}

std::vector<int> tokens_of_text(const std::string& path, const std::string& checkpoint, int limit) {
  const Tokenizer tokenizer = read_tokenizer(checkpoint);
  const std::optional<std::string> shipped = shipped_text(path);
  const std::string text = shipped ? *shipped : read_file(path, longest_text);
  std::vector<int> tokens = named_in_errors(checkpoint, [&] { return tokenizer.tokens(text); });
  if (limit > 0 && tokens.size() > static_cast<std::size_t>(limit)) tokens.resize(static_cast<std::size_t>(limit));
  return tokens;
}

}  // namespace attoscope::app
