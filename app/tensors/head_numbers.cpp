#include "app/tensors/head_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "app/tensors/call_files.h"
#include "app/tensors/name_words.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/settings.h"

namespace attoscope {
namespace {

using Numbers = std::vector<std::string>;

/// A number of the problem, its option, and the names of tensors that hold it.
struct HeadNumber {
  std::string_view key;
  std::array<std::string_view, 3> names;
};
constexpr std::array<HeadNumber, 4> head_numbers{{{"scale", {"scale", "softmax_scale", "sm_scale"}},
                                                  {"softcap", {"softcap", "soft_cap", "logits_soft_cap"}},
                                                  {"alibi", {"alibi_slopes", "alibi", "slopes"}},
                                                  {"sink", {"sinks", "sink", "s_aux"}}}};
constexpr std::uint64_t most_numbers = 1 << 20;

bool names_file(const std::string& text) { return is_tensor_file(tensor_ref(text).file); }

std::uint64_t count_of(const StoredTensor& t) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : t.shape)
    count = size > most_numbers ? most_numbers + 1 : std::min(count * size, most_numbers + 1);
  return count;
}

/// All numbers of a tensor of any shape, as texts that are read back with the same bits.
Numbers numbers_of(const NamedTensor& tensor) {
  StoredTensor t = readable(tensor).tensor;
  const std::uint64_t count = count_of(t);
  if (count == 0 || count > most_numbers)
    throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected a number for each head");
  t.shape = {1, count};
  Numbers texts;
  for (const double x : read_head(*tensor.file, t, {HeadOrder::heads_first, 1, 1, 1, static_cast<int>(count)}, 0))
    texts.push_back(fmt::format("{}", x));
  return texts;
}

/// The numbers of a typed list, or of a file's tensor.
Numbers typed_numbers(const HeadNumber& of, const std::string& text) {
  if (names_file(text)) {
    const TensorRef ref = tensor_ref(text);
    const std::array<std::string_view, 1> asked{ref.tensor};
    const bool named = ref.file != text;
    return numbers_of(part_in_file(ref.file, named ? std::span<const std::string_view>(asked) : of.names, !named, 3).tensor);
  }
  Numbers texts{""};
  for (const char c : text)
    if (c == ',')
      texts.emplace_back();
    else
      texts.back().push_back(c);
  return texts;
}

/// The tensor of a number that lies beside a layer's: in the same place, or the only one where there is one layer.
const NamedTensor* beside(const TensorSet& set, const HeadNumber& of, const CallFiles::Layer& layer, bool is_only) {
  std::vector<const NamedTensor*> here, all;
  for (const NamedTensor& t : set.tensors) {
    const std::size_t dot = t.name.rfind('.'), last = dot == std::string::npos ? 0 : dot + 1;
    if (!t.refusal.empty() || std::ranges::find(of.names, std::string_view(t.name).substr(last)) == of.names.end()) continue;
    all.push_back(&t);
    if (place_of(t.name.substr(0, last)) == place_of(layer.shared)) here.push_back(&t);
  }
  if (here.size() == 1) return here.front();
  return is_only && all.size() == 1 ? all.front() : nullptr;
}

bool fits(std::uint64_t count, const CallFiles::Layer& layer) {
  return count == 1 || count == static_cast<std::uint64_t>(layer.q.heads) ||
         count == static_cast<std::uint64_t>(layer.q.count());
}

/// Tensors that lie beside Q, K and V of every layer, one for each; none where a layer has none.
std::vector<NamedTensor> beside_all(const HeadNumber& of, const CallFiles& files) {
  std::map<std::string, TensorSet> sets;
  std::vector<NamedTensor> tensors;
  for (const CallFiles::Layer& layer : files.layers()) {
    const std::string path = files.tensor(layer, 0).file->path();
    if (!holds(FileKind::named, path)) return {};
    const auto [set, is_new] = sets.try_emplace(path);
    if (is_new) set->second = list_file(path);
    const NamedTensor* const found = beside(set->second, of, layer, files.layers().size() == 1);
    if (found == nullptr || !fits(count_of(found->tensor), layer)) return {};
    tensors.push_back(*found);
  }
  return tensors;
}

/// Numbers of all heads of a layer, from one, those of a batch, or its own.
void append(Numbers& all, const Numbers& numbers, const CallFiles::Layer& layer) {
  for (int i = 0; i < layer.q.count(); ++i) all.push_back(numbers[static_cast<std::size_t>(i) % numbers.size()]);
}

/// Numbers of all heads of all layers. Throws unless there are as many as heads of a batch, of a layer, or of all.
Numbers of_all_heads(const std::string& label, const Numbers& numbers, const CallFiles& files) {
  if (numbers.size() == static_cast<std::size_t>(files.heads())) return numbers;
  Numbers all;
  for (const CallFiles::Layer& layer : files.layers()) {
    if (!fits(numbers.size(), layer))
      throw std::invalid_argument(
          fmt::format("{} holds {} numbers, expected {}, one for each head{}", label, numbers.size(), layer.q.heads,
                      layer.q.batch > 1 ? fmt::format(", or {}, those of {} batches", layer.q.count(), layer.q.batch) : ""));
    append(all, numbers, layer);
  }
  return all;
}

/// Sets a number of the problem. Throws with one sentence that begins with `label`.
void set_number(Problem& problem, const std::string& label, const std::string& key, const std::string& text) {
  set_field(label, settings(problem), key, text);
  if (key == "scale" && problem.scale == 0) attoscope::refuse(label, text, "a finite number above 0");
}
void check(const std::string& label, const std::string& key, const Numbers& numbers) {
  Problem problem;
  for (const std::string& x : numbers) set_number(problem, label, key, x);
}

}  // namespace

TypedTexts head_number_texts(const TypedTexts& typed) {
  TypedTexts lists;
  for (const HeadNumber& of : head_numbers)
    if (const auto found = typed.find(of.key); found != typed.end())
      if (found->second.find(',') != std::string::npos || names_file(found->second)) lists.insert(*found);
  return lists;
}

HeadNumbers::HeadNumbers(const TypedTexts& typed, const CallFiles& files) {
  const TypedTexts lists = head_number_texts(typed);
  for (const HeadNumber& of : head_numbers) {
    const std::string key(of.key), option = "--" + key;
    Numbers all;
    if (const auto list = lists.find(key); list != lists.end()) {
      all = of_all_heads(option, typed_numbers(of, list->second), files);
      check(option, key, all);
    } else if (!typed.contains(key)) {
      const std::vector<NamedTensor> tensors = beside_all(of, files);
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Numbers own = numbers_of(tensors[i]);
        check(tensors[i].tensor.label, key, own);
        append(all, own, files.layers()[i]);
      }
      if (!tensors.empty()) found_.push_back(fmt::format("{} is taken from {}.", option, tensors.front().tensor.label));
    }
    if (!all.empty()) texts_[key] = std::move(all);
  }
}

Problem HeadNumbers::of_head(Problem problem, int head) const {
  for (const auto& [key, texts] : texts_) set_number(problem, "--" + key, key, texts[static_cast<std::size_t>(head)]);
  return problem;
}

std::string HeadNumbers::text(std::string_view key, int head) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? "" : found->second[static_cast<std::size_t>(head)];
}

}  // namespace attoscope
