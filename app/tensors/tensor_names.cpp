#include "app/tensors/tensor_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "app/tensors/name_words.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

std::string without(const std::string& name, const Word& word) {
  return name.substr(0, word.begin) + "*" + name.substr(word.begin + word.text.size());
}

/// Names that share everything but the part, in one style.
struct Family {
  std::string shared;
  PartStyle style = PartStyle::small;
  friend auto operator<=>(const Family&, const Family&) = default;
};

using Members = std::array<int, 3>;
constexpr Members nobody{-1, -1, -1};
bool is_whole(const Members& m) { return std::ranges::find(m, -1) == m.end(); }

std::map<Family, Members> families_of(const std::vector<TensorName>& names) {
  std::map<Family, Members> families;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<Word> words = words_of(names[i].name);
    if (is_beside(words)) continue;
    for (const Word& word : words)
      if (const auto part = part_of(word))
        families.try_emplace({without(names[i].name, word), part->style}, nobody)
            .first->second[static_cast<std::size_t>(part->role)] = static_cast<int>(i);
  }
  return families;
}

/// Calls whose names share everything but the part.
std::vector<NamedCall> whole_calls(const std::map<Family, Members>& families) {
  std::vector<NamedCall> calls;
  std::set<int> used;
  for (const auto& [family, m] : families) {
    if (!is_whole(m) || std::ranges::any_of(m, [&](int i) { return used.contains(i); })) continue;
    used.insert(m.begin(), m.end());
    calls.push_back({family.shared, m[0], m[1], m[2]});
    if (family.shared == "*") return {calls.back()};  // plain q, k, v are the whole file's call
  }
  return calls;
}

/// Calls whose names share only a place: 0.q_proj, 0.cache.k, 0.cache.v.
std::vector<NamedCall> calls_by_place(const std::vector<TensorName>& names) {
  std::map<std::string, std::array<std::vector<int>, 3>> places;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<Word> words = words_of(names[i].name);
    const auto last = std::ranges::find_if(words.rbegin(), words.rend(), [](const Word& w) { return part_of(w).has_value(); });
    if (last == words.rend() || is_beside(words)) continue;
    places[place_of(without(names[i].name, *last))][static_cast<std::size_t>(part_of(*last)->role)].push_back(
        static_cast<int>(i));
  }
  std::vector<NamedCall> calls;
  for (const auto& [place, parts] : places)
    if (std::ranges::all_of(parts, [](const std::vector<int>& p) { return p.size() == 1; }))
      calls.push_back({place.empty() ? "*" : place, parts[0][0], parts[1][0], parts[2][0]});
  return calls;
}

/// Calls whose tensors are arguments by position: arg_1, arg_2, arg_3.
std::vector<NamedCall> calls_by_position(const std::vector<TensorName>& names) {
  std::map<std::string, std::map<std::int64_t, int>> lists;  // by prefix: position to index in names
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<Word> words = words_of(names[i].name);
    if (words.size() < 2 || !names[i].readable) continue;
    if (const std::string before = words[words.size() - 2].lower(); before != "arg" && before != "args") continue;
    if (const auto position = to_number<int>(words.back().text))
      lists[names[i].name.substr(0, words.back().begin) + "*"][*position] = static_cast<int>(i);
  }
  std::vector<NamedCall> calls;
  for (const auto& [shared, list] : lists) {
    const std::int64_t first = list.begin()->first;
    if (list.contains(first + 1) && list.contains(first + 2))
      calls.push_back({shared, list.at(first), list.at(first + 1), list.at(first + 2)});
  }
  return calls;
}

std::vector<int> outputs_in(const std::vector<TensorName>& names, const std::vector<NamedCall>& calls) {
  std::set<int> inputs;
  for (const NamedCall& c : calls) inputs.insert({c.q, c.k, c.v});
  std::vector<int> outputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<Word> words = words_of(names[i].name);
    if (names[i].readable && !inputs.contains(static_cast<int>(i)) && !is_beside(words) && is_called_output(words))
      outputs.push_back(static_cast<int>(i));
  }
  const auto usual = [](const std::string& name) { return std::ranges::find(usual_output_names, name); };
  std::ranges::stable_sort(outputs, [&](int x, int y) {
    const std::string &a = names[static_cast<std::size_t>(x)].name, &b = names[static_cast<std::size_t>(y)].name;
    return usual(a) != usual(b) ? usual(a) < usual(b) : natural_less(a, b);
  });
  return outputs;
}

void give_outputs(CallNames& found, const std::vector<TensorName>& names) {
  const auto name = [&](int i) { return names[static_cast<std::size_t>(i)].name; };
  for (NamedCall& call : found.calls) {
    const auto own = std::ranges::find_if(found.outputs, [&](int o) { return place_of(name(o)) == place_of(call.shared); });
    if (own != found.outputs.end()) call.o = *own;
  }
  if (found.calls.size() == 1 && found.calls[0].o < 0 && found.outputs.size() == 1) found.calls[0].o = found.outputs[0];
}

/// Sentences on calls with one missing part.
std::vector<std::string> incomplete_calls(const std::vector<TensorName>& names, const std::map<Family, Members>& families) {
  std::vector<std::string> sentences;
  for (const auto& [family, m] : families) {
    if (std::ranges::count(m, -1) != 1) continue;
    std::string there, missing;
    for (std::size_t i = 0; i < 3; ++i) {
      if (m[i] >= 0)
        there += (there.empty() ? "" : " and ") + in_quotes(names[static_cast<std::size_t>(m[i])].name);
      else
        missing = part_names[i];
    }
    sentences.push_back(there + " have no " + missing);
  }
  return sentences;
}

}  // namespace

bool natural_less(const std::string& x, const std::string& y) {
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    if (!is_digit(x[i]) || !is_digit(y[j])) {
      if (x[i] != y[j]) return x[i] < y[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [](const std::string& text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return std::string_view(text).substr(begin, at - begin);
    };
    const std::string_view a = number(x, i), b = number(y, j);
    if (a.size() != b.size()) return a.size() < b.size();
    if (a != b) return a < b;
  }
  return x.size() - i != y.size() - j ? x.size() - i < y.size() - j : x < y;
}

std::optional<PackedPart> packed_part_of(const std::string& name) {
  using enum PackedPart;
  static const std::map<PackedPart, std::vector<std::string_view>> parts{
      {cu_seqlens_q, {"cu_seqlens_q", "cu_seq_lens_q", "cu_seqlens", "qo_indptr", "q_indptr", "query_start_loc", "q_seqstart"}},
      {cu_seqlens_k, {"cu_seqlens_k", "cu_seqlens_kv", "cu_seq_lens_k", "cu_seq_lens_kv", "k_seqstart"}},
      {leftpad_k, {"leftpad_k", "cache_leftpad"}},
      {block_table, {"block_table", "block_tables", "page_table"}},
      {cache_seqlens,
       {"cache_seqlens", "seqused_k", "seq_lens", "seqlens_k", "context_lens", "kv_lens", "key_value_seq_lengths"}},
      {kv, {"kv", "kv_cache", "paged_kv_cache"}},
      {kv_indptr, {"kv_indptr", "paged_kv_indptr"}},
      {kv_indices, {"kv_indices", "paged_kv_indices"}},
      {kv_last_page_len, {"kv_last_page_len", "paged_kv_last_page_len"}}};
  const std::string_view last = std::string_view(name).substr(name.find_last_of("./") + 1);
  for (const auto& [part, usual] : parts)
    if (std::ranges::find(usual, last) != usual.end()) return part;
  return std::nullopt;
}

CallNames calls_in(const std::vector<TensorName>& names) {
  const std::map<Family, Members> families = families_of(names);
  CallNames found{whole_calls(families), {}, {}};
  if (found.calls.empty()) found.calls = calls_by_place(names);
  if (found.calls.empty()) found.calls = calls_by_position(names);
  std::ranges::sort(found.calls, [](const NamedCall& x, const NamedCall& y) { return natural_less(x.shared, y.shared); });
  found.outputs = outputs_in(names, found.calls);
  give_outputs(found, names);
  if (found.calls.empty()) found.incomplete = incomplete_calls(names, families);
  return found;
}

std::string layer_name(const std::string& shared) {
  constexpr std::array<std::string_view, 6> layers{"layer", "layers", "block", "blocks", "h", "call"};
  const std::vector<Word> words = words_of(shared);
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_digit(words[i].text.front())) continue;
    const std::string digits = words[i].text.substr(std::min(words[i].text.find_first_not_of('0'), words[i].text.size() - 1));
    if (i > 0 && is_one_of(words[i - 1].lower(), layers)) return (words[i - 1].lower() == "call" ? "call " : "layer ") + digits;
    numbers.push_back(digits);
  }
  if (numbers.size() == 1) return "layer " + numbers.front();
  const std::size_t first = shared.find_first_not_of(".*_/- "), last = shared.find_last_not_of(".*_/- ");
  return first == std::string::npos ? "" : shared.substr(first, last - first + 1);
}

}  // namespace attoscope::app
