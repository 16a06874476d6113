#include "app/tensors/name_words.h"

#include <algorithm>

namespace attoscope::app {

std::string Word::lower() const { return in_small_letters(text); }

std::vector<Word> words_of(const std::string& name) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < name.size();) {
    const auto same_kind = is_digit(name[i]) ? is_digit : is_letter;
    std::size_t end = i;
    while (end < name.size() && same_kind(name[end])) ++end;
    if (end > i) words.push_back({i, name.substr(i, end - i)});
    i = std::max(end, i + 1);
  }
  return words;
}

std::optional<PartWord> part_of(const Word& word) {
  constexpr std::array<std::array<std::string_view, 3>, 3> words{
      {{"q", "query", "queries"}, {"k", "key", "keys"}, {"v", "value", "values"}}};
  const std::string lower = word.lower();
  for (std::size_t role = 0; role < 3; ++role) {
    const auto found = std::ranges::find(words[role], lower);
    if (found == words[role].end()) continue;
    const bool is_word = found != words[role].begin();
    const PartStyle letter = word.text == lower ? PartStyle::small : PartStyle::capital;
    return PartWord{static_cast<int>(role), is_word ? PartStyle::word : letter};
  }
  return std::nullopt;
}

bool is_one_of(const std::string& word, std::span<const std::string_view> list) {
  return std::ranges::find(list, std::string_view(word)) != list.end();
}

bool is_beside(const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 17> others{"seqlen", "weight",   "weights", "bias",    "mask",    "lse",
                                                    "indptr", "indices",  "grad",    "rstd",    "lengths", "seqlens",
                                                    "lens",   "seqstart", "loc",     "seqused", "leftpad"};
  return std::ranges::any_of(words,
                             [&](const Word& w) { return is_one_of(w.lower(), others) || is_one_of(w.lower(), scale_words); });
}

bool is_called_output(const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 6> output_words{"o", "out", "output", "outputs", "context", "result"};
  bool called = false, projected = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    called |= is_one_of(words[i].lower(), output_words);
    projected |= i > 0 && words[i].lower() == "proj" && words[i - 1].lower() == "o";
  }
  return called && (!projected || words.back().lower() == "in" || words.back().lower() == "input");
}

std::string place_of(const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 27> plain{"paged",  "cache",   "proj",      "in",      "input",  "inputs", "states",
                                                   "self",   "attn",    "attention", "core",    "fwd",    "act",    "arg",
                                                   "kwarg",  "args",    "mha",       "sdpa",    "tensor", "o",      "out",
                                                   "output", "outputs", "kv",        "context", "result", "forward"};
  std::string place;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string lower = words[i].lower();
    const bool of_result = i > 0 && words[i - 1].lower() == "result";  // result_0
    if (!is_one_of(lower, plain) && !of_result) place += lower + ".";
  }
  return place;
}

std::string place_of(const std::string& name) { return place_of(words_of(name)); }

bool is_in_place(const std::string& name, const std::string& shared) {
  return place_of(name.substr(0, name.size() - last_name(name).size())) == place_of(shared);
}

}  // namespace attoscope::app
