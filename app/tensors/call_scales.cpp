#include "app/tensors/call_scales.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <string_view>

#include "app/tensors/name_words.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr int role_of_k = 1, role_of_v = 2, role_of_o = 3;

bool is_scale_word(const Word& word) {
  constexpr std::array<std::string_view, 2> behind{"inv", "inverse"};
  return is_one_of(word.lower(), scale_words) || is_one_of(word.lower(), behind);
}

/// True for scales of weights, of a projection's input, and of P.
bool is_of_something_else(const std::vector<Word>& words) {
  constexpr std::array<std::string_view, 11> others{"weight", "weights", "bias", "grad",  "mask", "input",
                                                    "inputs", "in",      "prob", "probs", "p"};
  return std::ranges::any_of(words, [&](const Word& w) { return is_one_of(w.lower(), others); });
}

std::string joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += word.lower() + ".";
  return text;
}

/// Parts of q, k, v and o that a scale's name refers to, and its place.
struct Scaled {
  std::vector<int> roles;
  std::string place;
};

Scaled scaled_by(std::vector<Word> words) {
  Scaled found;
  const auto is_part = [](const Word& w) { return part_of(w).has_value(); };
  if (const auto last = std::find_if(words.rbegin(), words.rend(), is_part); last != words.rend())
    found.roles = {part_of(*last)->role};
  else if (std::ranges::any_of(words, [](const Word& w) { return w.lower() == "kv"; }))
    found.roles = {role_of_k, role_of_v};
  else if (is_called_output(words))
    found.roles = {role_of_o};
  std::erase_if(words, is_part);
  found.place = place_of(words);
  return found;
}

std::string place_of_call(const std::string& shared) {
  std::vector<Word> words = words_of(shared);
  std::erase_if(words, [](const Word& w) { return part_of(w).has_value(); });
  return place_of(words);
}

std::vector<int> found_in(const auto& map, const auto& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::vector<int>() : found->second;
}

/// The tensor of `k_scale=` or `--scale-k`.
NamedTensor open_scale(const TensorRef& named, int part) {
  const std::string letter(part_names[static_cast<std::size_t>(part)]), own = letter + "_scale", inverse = letter + "_descale";
  const std::array<std::string_view, 2> usual{own, inverse};
  return readable(open_tensor(named, usual));
}

[[noreturn]] void refuse_several(const CallPart& part, const std::string& letter) {
  std::string names;
  for (const NamedTensor& t : part.beside) names += (names.empty() ? "" : " and ") + in_quotes(t.name);
  throw std::runtime_error(part.tensor.tensor.label + " has the scales " + names + ", expected one: say which by --scale-" +
                           letter + ", or behind the file's name as ," + letter + "_scale=FILE");
}

/// True for shapes [sequences, heads] and [sequences, heads of K], FlashAttention-3's.
bool is_of_each_sequence(const std::vector<std::uint64_t>& shape, const ScaleTarget& target) {
  if (shape.size() < 2 || shape[0] != target.call->count) return false;
  const bool of_heads =
      shape[1] == static_cast<std::uint64_t>(target.shape.heads) || shape[1] == static_cast<std::uint64_t>(target.kv_heads);
  return of_heads && std::all_of(shape.begin() + 2, shape.end(), [](std::uint64_t size) { return size == 1; });
}

/// The numbers that a scale of a whole packed call has for a sequence.
OpenedScale fitted_to_sequence(NamedTensor scale, const ScaleTarget& target, const std::optional<SaidGroup>& said) {
  const TokenStore& all = target.call->parts[static_cast<std::size_t>(target.part)];
  refuse_fortran_order(scale.tensor);
  ScaledMatrix matrix{all.tensor.tensor, target.shape, target.kv_heads};
  if (is_of_each_sequence(scale.tensor.shape, target) && (!said || said->group == ScaleGroup::head)) {
    const std::uint64_t heads = scale.tensor.shape[1], row = heads * static_cast<std::uint64_t>(bytes_of(scale.tensor.type));
    scale.tensor.shape = {heads};
    scale.tensor.offset += static_cast<std::uint64_t>(target.sequence->index) * row;
    const StoredScale stored = stored_scale(scale.tensor, matrix, {}, SaidGroup{ScaleGroup::head});
    return {std::move(scale), stored};
  }
  matrix.of_sequences = static_cast<int>(target.call->count);
  matrix.shape.batch = static_cast<int>(all.pages);
  matrix.shape.n = static_cast<int>(all.page);
  if (all.head_step > all.token_step) matrix.shape.order = HeadOrder::heads_first;
  StoredScale stored = stored_scale(scale.tensor, matrix, matrix.shape.order, said);
  if (!is_of_tokens(stored.group)) return {std::move(scale), stored};
  HeadShape& s = stored.shape;
  const auto n = static_cast<std::uint64_t>(s.n), d = static_cast<std::uint64_t>(s.d),
             heads = static_cast<std::uint64_t>(s.heads);
  const bool apart = s.order == HeadOrder::heads_first;
  scale =
      target.call->tensor({scale, all.pages, all.page, s.heads, s.d, n * heads * d, apart ? d : heads * d, apart ? n * d : d},
                          *target.sequence, target.part);
  s = {HeadOrder::tokens_first, 1, s.heads, target.shape.n, s.d};
  return {std::move(scale), stored};
}

OpenedScale fitted(const NamedTensor& tensor, NamedTensor scale, const ScaleTarget& target,
                   const std::optional<SaidGroup>& said) {
  if (target.call != nullptr) return fitted_to_sequence(std::move(scale), target, said);
  const StoredScale stored = stored_scale(scale.tensor, {tensor.tensor, target.shape, target.kv_heads}, target.order, said);
  return {std::move(scale), stored};
}

}  // namespace

bool is_called_scale(const std::string& name) {
  return std::ranges::any_of(words_of(name), [](const Word& w) { return is_one_of(w.lower(), scale_words); });
}

ScaleNames::ScaleNames(const std::vector<TensorName>& names, bool has_one_call) : has_one_call_(has_one_call) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_called_scale(names[i].name)) continue;
    std::vector<Word> words = words_of(names[i].name);
    std::erase_if(words, is_scale_word);
    if (!words.empty()) by_name_[joined(words)].push_back(static_cast<int>(i));
    if (is_of_something_else(words)) continue;
    const Scaled scaled = scaled_by(words);
    for (const int role : scaled.roles)
      (scaled.roles.size() == 1 ? own_ : of_both_)[{role, scaled.place}].push_back(static_cast<int>(i));
  }
}

std::vector<int> ScaleNames::of(const std::string& tensor, int part, const std::string& shared) const {
  const std::string place = place_of_call(shared);
  for (const std::vector<int>& found : {found_in(by_name_, joined(words_of(tensor))), found_in(own_, std::pair(part, place)),
                                        found_in(of_both_, std::pair(part, place))})
    if (!found.empty()) return found;
  return has_one_call_ ? only(part) : std::vector<int>();
}

std::vector<int> ScaleNames::only(int part) const {
  for (const auto* const map : {&own_, &of_both_}) {
    std::vector<int> found;
    for (const auto& [key, places] : *map)
      if (key.first == part) found.insert(found.end(), places.begin(), places.end());
    if (!found.empty()) return found.size() == 1 ? found : std::vector<int>();
  }
  return {};
}

TensorSet with_scales_of_values(TensorSet set) {
  for (const StoredValue& v : set.values) {
    const auto number = v.texts.size() == 1 ? to_number<double>(v.texts[0]) : std::nullopt;
    if (!number || !is_called_scale(v.name)) continue;
    const auto read = [bytes = std::bit_cast<std::array<char, sizeof(double)>>(*number)](std::uint64_t at, std::span<char> to) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
    };
    set.tensors.push_back({v.name,
                           "F64",
                           "",
                           std::make_shared<const InputFile>(v.label, sizeof(double), read),
                           {v.label, ElementType::F64, std::endian::native == std::endian::big, false, {1}}});
  }
  return set;
}

std::vector<NamedTensor> tensors_at(const TensorSet& set, const std::vector<int>& indices) {
  std::vector<NamedTensor> tensors;
  for (const int i : indices) tensors.push_back(set.tensors[static_cast<std::size_t>(i)]);
  return tensors;
}

CallPart part_in_file(const TensorRef& ref, std::span<const std::string_view> usual, int part, const std::string& option) {
  const TensorSet set = list_file(ref.file), scales = with_scales_of_values(set);
  const NamedTensor& t = readable(tensor_in(set, ref, usual, option));
  return {t, tensors_at(scales, ScaleNames(names_of(scales)).of(t.name, part, t.name))};
}

void find_scale(CallPart& part, const std::optional<ScaleSpec>& named, const ScaleTarget& target) {
  if (named) {
    part.scale = fitted(part.tensor, open_scale(scale_file(*named), target.part), target, named->said);
    return;
  }
  if (part.beside.empty() || !takes_scale(part.tensor.tensor.type)) return;
  if (part.beside.size() > 1) refuse_several(part, part_names[static_cast<std::size_t>(target.part)]);
  part.scale = fitted(part.tensor, readable(part.beside.front()), target, {});
}

std::vector<double> read_scaled_head(const CallPart& part, const HeadShape& shape, int index, const ReadWatch& watch) {
  std::vector<double> values = read_head(*part.tensor.file, part.tensor.tensor, shape, index, watch);
  if (part.scale)
    multiply_head(values, shape, index, *part.scale->tensor.file, part.scale->tensor.tensor, part.scale->stored, watch);
  return values;
}

}  // namespace attoscope::app
