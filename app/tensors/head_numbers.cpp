#include "app/tensors/head_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "app/tensors/call_files.h"
#include "app/tensors/name_words.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {

using Numbers = std::vector<std::string>;

/// A number of the problem, its option, and the names of tensors that hold it.
struct HeadNumber {
  std::string_view key;
  std::array<std::string_view, 4> names;
};
constexpr std::array<HeadNumber, 4> head_numbers{{{"scale", {"scale", "softmax_scale", "sm_scale", "scaling"}},
                                                  {"softcap", {"softcap", "soft_cap", "logits_soft_cap"}},
                                                  {"alibi", {"alibi_slopes", "alibi", "slopes"}},
                                                  {"sink", {"sinks", "sink", "s_aux"}}}};
constexpr std::uint64_t most_numbers = 1 << 20;

constexpr std::array<std::string_view, 2> causal_names{"causal", "is_causal"};
constexpr std::array<std::string_view, 2> window_names{"window_size", "sliding_window"};
constexpr std::array<std::string_view, 1> window_left_names{"window_left"};
/// Values that are not listed as unused: the tensors themselves, or the verdict, show them.
constexpr std::array<std::string_view, 8> told_otherwise{"max_seqlen_q", "max_seqlen_k", "max_seqlen", "kv_layout",
                                                         "page_layout",  "page_size",    "return_lse", "enable_gqa"};
constexpr std::size_t most_listed = 6;

bool names_file(const std::string& text) { return is_tensor_file(tensor_ref(text).file); }

std::uint64_t count_of(const StoredTensor& t) { return byte_count(t.shape, 1, t.label); }

/// All numbers of a tensor of any shape, as texts that are read back with the same bits.
Numbers numbers_of(const NamedTensor& tensor) {
  const StoredTensor& t = numeric(tensor).tensor;
  const std::uint64_t count = count_of(t);
  if (count == 0 || count > most_numbers) refuse_shape(t, "a number for each head");
  refuse_fortran_order(t);
  Numbers texts;
  for (const double x : read_flat(*tensor.file, t, 0, static_cast<int>(count))) texts.push_back(fmt::format("{}", x));
  return texts;
}

/// Numbers stored beside a layer, read as texts.
struct Beside {
  std::string label;
  std::uint64_t count = 0;
  const NamedTensor* tensor = nullptr;  ///< null: a value
  const StoredValue* value = nullptr;
  std::ptrdiff_t rank = 0;  ///< index of its name among the usual names

  Numbers numbers() const { return value != nullptr ? value->texts : numbers_of(*tensor); }
};

/// The files that hold Q of a call's layers, each listed once.
class Sets {
 public:
  explicit Sets(const CallFiles& files) : files_(files) {
    for (const CallFiles::Layer& layer : files.layers()) {
      const std::string path = files.file_of(layer);
      if (!path.empty() && !sets_.contains(path)) sets_.emplace(path, list_file(path));
    }
  }

  /// Tensors of the file that holds a layer's Q; null: the file is of another kind.
  const TensorSet* of(const CallFiles::Layer& layer) const {
    const auto found = sets_.find(files_.file_of(layer));
    return found == sets_.end() ? nullptr : &found->second;
  }

  /// The tensor or value with the first of these names beside a layer: in the same place or, if there is one call, the only
  /// one anywhere.
  std::optional<Beside> beside(std::span<const std::string_view> names, const CallFiles::Layer& layer) const {
    const TensorSet* const set = of(layer);
    if (set == nullptr) return {};
    std::vector<Beside> here, all;
    const auto take = [&](const std::string& name, Beside found) {
      const auto known = std::ranges::find(names, last_name(name));
      if (known == names.end()) return;
      found.rank = known - names.begin();
      if (is_in_place(name, layer.shared)) here.push_back(found);
      all.push_back(std::move(found));
    };
    for (const NamedTensor& t : set->tensors)
      if (has_numbers(t)) take(t.name, {t.tensor.label, count_of(t.tensor), &t, nullptr});
    for (const StoredValue& v : set->values) take(v.name, {v.label, v.texts.size(), nullptr, &v});
    if (!here.empty()) return *std::ranges::min_element(here, {}, [&](const Beside& x) { return x.rank; });
    const bool is_only = files_.layers().size() == 1 || layer.sequence >= 0;
    return is_only && all.size() == 1 ? std::optional(all.front()) : std::nullopt;
  }

 private:
  const CallFiles& files_;
  std::map<std::string, TensorSet> sets_;
};

bool fits(std::uint64_t count, const CallFiles::Layer& layer) {
  return count == 1 || count == static_cast<std::uint64_t>(layer.q.heads) ||
         count == static_cast<std::uint64_t>(layer.q.count());
}

/// A sentence on values that only some of the layers have.
std::string only_of_some(const std::string& label) { return "Not every layer has a value like " + label + ": judged without."; }

/// Values beside the layers, one for each; empty if no layer has one. Empty, too, if only some have one, or if one has a wrong
/// count, on which `misfit` gets a sentence.
std::vector<Beside> beside_all(const HeadNumber& of, const CallFiles& files, const Sets& sets, std::string& misfit) {
  std::vector<Beside> all;
  for (const CallFiles::Layer& layer : files.layers()) {
    std::optional<Beside> found = sets.beside(of.names, layer);
    const bool of_all = found && layer.sequence >= 0 && found->count == static_cast<std::uint64_t>(files.heads());
    if (!found) continue;
    if (!of_all && !fits(found->count, layer)) {
      misfit = fmt::format("{} holds {} numbers, expected 1 or {}, one for each head: judged without.", found->label,
                           found->count, layer.q.heads);
      return {};
    }
    all.push_back(*std::move(found));
  }
  if (all.empty() || all.size() == files.layers().size()) return all;
  misfit = only_of_some(all.front().label);
  return {};
}

/// Appends a number for each head of a layer. `numbers`: one for all, one for each head of a batch, of the layer, or of all
/// layers.
void append(Numbers& all, const Numbers& numbers, const CallFiles::Layer& layer) {
  const bool of_all = !fits(numbers.size(), layer);
  for (int i = 0; i < layer.q.count(); ++i)
    all.push_back(numbers[static_cast<std::size_t>(of_all ? layer.first + i : i) % numbers.size()]);
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

/// A boolean beside a layer; none: there is none. Throws with one sentence if it is no boolean.
std::optional<bool> boolean_of(const std::optional<Beside>& found) {
  if (!found) return {};
  const Numbers texts = found->count == 1 ? found->numbers() : Numbers{};
  if (texts == Numbers{"true"} || texts == Numbers{"1"}) return true;
  if (texts == Numbers{"false"} || texts == Numbers{"0"}) return false;
  throw std::runtime_error(found->label + " is " + (texts.empty() ? "no single value" : in_quotes(texts[0])) +
                           ", expected true or false");
}

/// Numbers of keys before and behind a query that are visible; none: all.
struct WindowSides {
  std::optional<int> left, right;
};

/// Reads a window, one whole number or two; below 0: all keys.
WindowSides sides_of(const Beside& found, bool is_left, std::optional<bool> causal) {
  std::vector<int> numbers;
  if (found.count <= 2)
    for (const std::string& text : found.numbers())
      if (const auto x = to_number<int>(text); x && *x < max_tile) numbers.push_back(*x);
  if (numbers.size() != found.count)
    throw std::runtime_error(found.label + " holds no window, expected one whole number, or two: keys before and behind");
  const auto side = [](int x) { return x < 0 ? std::nullopt : std::optional(x); };
  if (numbers.size() == 2) return {side(numbers[0]), side(numbers[1])};
  if (is_left) return {side(numbers[0]), {}};
  if (numbers[0] < 1) return {};
  return {numbers[0] - 1, causal == false ? numbers[0] - 1 : 0};  // a sliding window counts the query
}

/// The mask that causal, window_size and the like beside a layer describe; "": there are none. A side without a bound shows
/// `most_keys`. `names` receives their names if it is empty.
std::string mask_beside(const Sets& sets, const CallFiles::Layer& layer, int most_keys, std::string& names) {
  const std::optional<Beside> causal = sets.beside(causal_names, layer), left = sets.beside(window_left_names, layer),
                              window = left ? left : sets.beside(window_names, layer);
  if (!causal && !window) return "";
  const std::optional<bool> is_causal = boolean_of(causal);
  if (names.empty()) names = (causal ? causal->label : "") + (causal && window ? " and " : "") + (window ? window->label : "");
  WindowSides sides = window ? sides_of(*window, left.has_value(), is_causal) : WindowSides{};
  if (is_causal == true) sides.right = 0;
  if (!sides.left && !sides.right) return "none";
  const bool is_pytorchs = causal && causal_names[static_cast<std::size_t>(causal->rank)] == "is_causal" &&
                           layer.sequence < 0 && layer.q.n != layer.k.n;
  const std::string where = is_pytorchs && is_causal == true ? ":top-left" : "";
  if (!sides.left && sides.right == 0) return "causal" + where;
  return fmt::format("window:{}:{}", sides.left.value_or(most_keys), sides.right.value_or(most_keys)) + where;
}

/// The masks of all heads, if values beside each layer describe one; else none. `names` receives the names of the first ones.
Numbers masks_beside(const Sets& sets, const CallFiles& files, std::string& names) {
  Numbers all;
  int most_keys = 1;  // of all sequences, whose masks then have one text
  for (const CallFiles::Layer& layer : files.layers()) most_keys = std::max({most_keys, layer.q.n, layer.k.n});
  for (const CallFiles::Layer& layer : files.layers())
    if (const std::string mask = mask_beside(sets, layer, most_keys, names); !mask.empty()) append(all, {mask}, layer);
  return static_cast<int>(all.size()) == files.heads() ? all : Numbers();
}

bool is_used(std::string_view name) {
  const auto is_one = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  return is_one(causal_names) || is_one(window_names) || is_one(window_left_names) || is_one(told_otherwise) ||
         std::ranges::any_of(head_numbers, [&](const HeadNumber& of) { return is_one(of.names); });
}

/// True if the number may scale a part of the layer, and is used or named with the scales.
bool is_scale_of(const StoredValue& v, const CallFiles& files, const CallFiles::Layer& layer) {
  for (int part = 0; part < 4; ++part)
    for (const NamedTensor& scale : files.part(layer, part).beside)
      if (scale.tensor.label == v.label) return true;
  return false;
}

/// A sentence that lists unused numbers and booleans beside the first layer; "": there are none.
std::string unused_beside(const Sets& sets, const CallFiles& files) {
  const CallFiles::Layer& layer = files.layers().front();
  const TensorSet* const set = sets.of(layer);
  std::string listed;
  std::size_t count = 0;
  for (const StoredValue& v : set != nullptr ? std::span(set->values) : std::span<const StoredValue>()) {
    if (v.texts.size() != 1 || v.texts[0] == "0" || v.texts[0] == "false") continue;
    if (!is_in_place(v.name, layer.shared) || is_used(last_name(v.name)) || is_scale_of(v, files, layer)) continue;
    if (++count <= most_listed) listed += (listed.empty() ? "" : ", ") + printable(v.name) + " = " + printable(v.texts[0]);
  }
  if (count == 0) return "";
  return files.file_of(layer) + " also holds " + listed + (count > most_listed ? ", ..." : "") + ": judged without.";
}

/// Sets a number of the problem. Throws with one sentence that begins with `label`.
void set_number(Problem& problem, const std::string& label, const std::string& key, const std::string& text) {
  if (key == "mask") return void(problem.mask = parse_mask(text));
  if (const double x = to_number<double>(text).value_or(0); key == "scale" && !(x > 0 && std::isfinite(x)))
    app::refuse(label, text, "a finite number above 0");
  set_field(label, settings(problem), key, text);
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
  const Sets sets(files);
  for (const HeadNumber& of : head_numbers) {
    const std::string key(of.key), option = "--" + key;
    Numbers all;
    if (const auto list = lists.find(key); list != lists.end()) {
      const std::string& text = list->second;
      all = of_all_heads(option, names_file(text) ? numbers_of(readable(open_tensor(tensor_ref(text), of.names))) : split(text),
                         files);
      check(option, key, all);
    } else if (!typed.contains(key)) {
      std::string misfit;
      const std::vector<Beside> found = beside_all(of, files, sets, misfit);
      if (!misfit.empty()) found_.push_back(std::move(misfit));
      for (std::size_t i = 0; i < found.size(); ++i) {
        const Numbers own = found[i].numbers();
        try {
          check(found[i].label, key, own);
        } catch (const std::invalid_argument& error) {
          throw std::runtime_error(error.what());
        }
        append(all, own, files.layers()[i]);
      }
      if (!found.empty()) found_.push_back(fmt::format("{} is taken from {}.", option, found.front().label));
    }
    if (!all.empty()) texts_[key] = std::move(all);
  }
  if (std::string names; !typed.contains("mask")) {
    if (Numbers masks = masks_beside(sets, files, names); !masks.empty()) {
      found_.push_back(fmt::format("--mask is {}, by {}.", masks.front(), names));
      texts_["mask"] = std::move(masks);
    } else if (!names.empty()) {
      found_.push_back(only_of_some(names));
    }
  }
  if (std::string unused = unused_beside(sets, files); !unused.empty()) found_.push_back(std::move(unused));
  for (const std::string& sentence : files.left_out()) found_.push_back("Left out: " + sentence + ".");
}

Problem HeadNumbers::without(Problem problem) const {
  const Problem usual;
  for (const auto& [key, texts] : texts_) {
    if (key == "mask") problem.mask = usual.mask;
    if (key == "scale") problem.scale = usual.scale;
    if (key == "softcap") problem.softcap = usual.softcap;
    if (key == "alibi") problem.alibi = usual.alibi;
    if (key == "sink") problem.sink = usual.sink;
  }
  return problem;
}

HeadNumbers numbers_of_head_in(const Problem& problem, const CallFiles& files) {
  HeadNumbers numbers({}, files);
  const int head = problem.input.index;
  return head < files.heads() && numbers.of_head(problem, head) == problem ? numbers : HeadNumbers();
}

std::vector<std::string> other_numbers(const Problem& problem, const TypedTexts& typed) {
  if (problem.input.kind != InputKind::tensors) return {};
  const CallFiles files(problem.input.file);
  const HeadNumbers numbers({}, files);
  std::vector<std::string> sentences;
  for (const HeadNumber& of : head_numbers) {
    const std::string key(of.key), own = numbers.text(key, problem.input.index);
    bool differ = false;
    for (int head = 0; head < files.heads(); ++head) differ = differ || numbers.text(key, head) != own;
    Problem of_file = problem;
    if (differ && !typed.contains(key)) set_number(of_file, "--" + key, key, own);
    if (of_file == problem) continue;
    sentences.push_back(fmt::format("{}: {} of head {} is {}, expected the session's {}, which all heads have instead",
                                    problem.input.file, key, problem.input.index, own,
                                    attoscope::text(*find(settings_to_read(problem), key))));
  }
  return sentences;
}

Problem HeadNumbers::of_head(Problem problem, int head) const {
  for (const auto& [key, texts] : texts_) set_number(problem, "--" + key, key, texts[static_cast<std::size_t>(head)]);
  return problem;
}

std::string HeadNumbers::text(std::string_view key, int head) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? "" : found->second[static_cast<std::size_t>(head)];
}

}  // namespace attoscope::app
