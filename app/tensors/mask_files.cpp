#include "app/tensors/mask_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "app/tensors/name_words.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t most_places = 1 << 26;  ///< of a head's mask
constexpr EnumArray<MaskUse> use_names{"keep", "drop", "add"};
constexpr std::string_view drop_name = "key_padding_mask";
constexpr std::array<std::string_view, 6> mask_names_in_files{"mask",        "attn_mask", "attention_mask",
                                                              "custom_mask", "attn_bias", drop_name};
constexpr std::array<std::string_view, 5> document_names{"document_ids", "document_id", "doc_ids", "segment_ids", "seq_idx"};

/// True for whole numbers and booleans, which select the keys that are kept.
bool is_whole(const NamedTensor& t) {
  return t.tensor.type == ElementType::U8 || t.tensor.type == ElementType::I8 || is_index_type(t.tensor.type);
}

/// The four axes [b, h, n_q, n_k] of a mask of this shape, each of the first three its size or 1; none: it does not fit.
std::optional<std::vector<std::uint64_t>> axes_of(std::vector<std::uint64_t> s, const MaskedCall& call) {
  const auto b = static_cast<std::uint64_t>(call.batch), h = static_cast<std::uint64_t>(call.heads),
             n = static_cast<std::uint64_t>(call.n);
  if (s.size() == 2)
    s = s[0] == b && s[0] != n ? std::vector{b, std::uint64_t{1}, std::uint64_t{1}, s[1]}
                               : std::vector{std::uint64_t{1}, std::uint64_t{1}, s[0], s[1]};
  if (s.size() == 3) s.insert(s.begin(), 1);
  const auto is = [](std::uint64_t size, std::uint64_t whole) { return size == whole || size == 1; };
  if (s.size() != 4 || !is(s[0], b) || !is(s[1], h) || !is(s[2], n) || s[3] != static_cast<std::uint64_t>(call.n_k)) return {};
  return s;
}

[[noreturn]] void refuse_element(const NamedTensor& t, std::size_t place, int columns, double x, const std::string& expected) {
  const auto width = static_cast<std::size_t>(columns);
  throw std::runtime_error(t.tensor.label + ": element [" + std::to_string(place / width) + ", " +
                           std::to_string(place % width) + "] of a head is " + shortest(x) + ", expected " + expected);
}

}  // namespace

MaskSpec mask_spec(const std::string& text) {
  MaskSpec spec;
  std::string rest = text;
  for (std::size_t i = 0; i < use_names.size(); ++i)
    if (text.ends_with(":" + std::string(use_names[i]))) {
      spec.use = static_cast<MaskUse>(i);
      rest.resize(rest.size() - use_names[i].size() - 1);
      break;
    }
  spec.ref = tensor_ref(rest);
  if (is_tensor_file(spec.ref.file)) return spec;
  throw std::invalid_argument("mask " + in_quotes(text) + " is not understood, expected " + mask_specs());
}

std::vector<NamedTensor> masks_beside(const TensorSet& set) {
  std::vector<NamedTensor> found;
  for (const NamedTensor& t : set.tensors)
    if (std::ranges::find(mask_names_in_files, last_name(t.name)) != mask_names_in_files.end()) found.push_back(t);
  return found;
}

bool is_mask_of(const NamedTensor& tensor, const MaskedCall& call) {
  return has_numbers(tensor) && axes_of(tensor.tensor.shape, call).has_value();
}

MaskFiles::MaskFiles(const MaskSources& x, const MaskedCall& call) : call_(call), rule_(x.rule) {
  const bool is_tensor = !x.mask.empty() || x.beside, has_documents = !x.documents.empty();
  const std::int64_t places = static_cast<std::int64_t>(call.n) * call.n_k;
  if (places > most_places && (is_tensor || has_documents))
    throw std::runtime_error(in_quotes(!x.mask.empty() ? x.mask
                                       : has_documents ? x.documents
                                                       : x.beside->tensor.label) +
                             " masks " + std::to_string(call.n) + " x " + std::to_string(call.n_k) +
                             " scores, expected at most " + std::to_string(most_places));
  if (!x.mask.empty()) {
    const MaskSpec spec = mask_spec(x.mask);
    mask_ = open_tensor(spec.ref, mask_names_in_files);
    take_mask(spec.use);
  } else if (x.beside) {
    mask_ = *x.beside;
    take_mask(is_whole(mask_) && mask_.name.ends_with(drop_name) ? std::optional(MaskUse::drop) : std::nullopt);
  }
  if (!has_documents) return;
  documents_ = numeric(open_tensor(mask_spec(x.documents).ref, document_names));
  const std::vector<std::uint64_t>& s = documents_.tensor.shape;
  const auto keys = static_cast<std::uint64_t>(call.n_k), batch = static_cast<std::uint64_t>(call.batch);
  if (call.n > call.n_k)
    throw std::runtime_error(documents_.tensor.label + " cuts a call of " + std::to_string(call.n) + " queries and " +
                             std::to_string(call.n_k) + " keys into documents, expected no more queries than keys");
  if (s.empty() || s.size() > 2 || s.back() != keys || (s.size() == 2 && s[0] != batch && s[0] != 1))
    refuse_shape(documents_.tensor, "[n_k] or [b, n_k], here [" + std::to_string(keys) + "] or [" + std::to_string(batch) +
                                        ", " + std::to_string(keys) + "]");
}

/// Finds the use and the axes of the mask.
void MaskFiles::take_mask(std::optional<MaskUse> use) {
  numeric(mask_);
  use_ = use.value_or(is_whole(mask_) ? MaskUse::keep : MaskUse::add);
  const auto b = static_cast<std::uint64_t>(call_.batch), h = static_cast<std::uint64_t>(call_.heads),
             n = static_cast<std::uint64_t>(call_.n), n_k = static_cast<std::uint64_t>(call_.n_k);
  std::vector<std::uint64_t>& s = mask_.tensor.shape;
  const auto sizes = [](std::vector<std::uint64_t> x) { return shape_text(x); };
  if (s.size() == 2 && s[1] == n_k && s[0] == n && s[0] == b && n > 1)
    refuse_shape(mask_.tensor, "four axes, since these fit [n_q, n_k] and [b, n_k]: " + sizes({1, 1, n, n_k}) + " or " +
                                   sizes({b, 1, 1, n_k}));
  const std::optional<std::vector<std::uint64_t>> axes = axes_of(s, call_);
  if (!axes) {
    std::vector<std::string> fitting;
    for (const std::string& shape : {sizes({n, n_k}), sizes({h, n, n_k}), sizes({b, 1, n, n_k}), sizes({b, h, n, n_k}),
                                     sizes({b, 1, 1, n_k}), sizes({b, n_k})})
      if (std::ranges::find(fitting, shape) == fitting.end()) fitting.push_back(shape);
    refuse_shape(mask_.tensor, listed(fitting));
  }
  s = *axes;
  by_batch_ = s[0] > 1;
  by_head_ = s[1] > 1;
  by_query_ = s[2] == n;
}

std::shared_ptr<const MaskTensor> MaskFiles::of(int batch, int head, const ReadWatch& watch) const {
  const std::vector<std::uint64_t>& ids = documents_.tensor.shape;
  const bool of_batch = by_batch_ || (ids.size() == 2 && ids[0] > 1);
  const int key = (of_batch ? batch : 0) * call_.heads + (by_head_ ? head : 0);
  const std::scoped_lock lock(mutex_);
  std::erase_if(held_, [](const Held& x) { return x.mask.expired(); });
  for (const Held& x : held_)
    if (x.key == key)
      if (std::shared_ptr<const MaskTensor> mask = x.mask.lock()) return mask;
  MaskTensor own = read(batch, head, watch);
  own.of_one_head = of_batch || by_head_;
  auto mask = std::make_shared<const MaskTensor>(std::move(own));
  held_.push_back({key, mask});
  return mask;
}

MaskTensor MaskFiles::read(int batch, int head, const ReadWatch& watch) const {
  if (!has_mask() && !documents_.file) {
    MaskTensor of_rule{call_.n, call_.n_k, {}, {}};
    for (int row = 0; row < call_.n; ++row) of_rule.rows.push_back(keys_of_rule(row));
    return of_rule;
  }
  std::vector<double> terms(static_cast<std::size_t>(call_.n) * static_cast<std::size_t>(call_.n_k));
  if (has_mask()) {
    const int heads = by_head_ ? call_.heads : 1;
    add_mask(terms, (by_batch_ ? batch : 0) * heads + (by_head_ ? head : 0), watch);
  }
  if (documents_.file) add_documents(terms, batch, watch);
  if (rule_) add_rule(terms);
  return mask_of_terms(call_.n, call_.n_k, std::move(terms));
}

Keys MaskFiles::keys_of_rule(int row) const {
  return visible_keys(*rule_, row + (rule_->top_left ? 0 : call_.n_k - call_.n), call_.n_k);
}

void MaskFiles::add_rule(std::vector<double>& terms) const {
  for (int row = 0; row < call_.n; ++row) {
    const auto first = terms.begin() + static_cast<std::ptrdiff_t>(row) * call_.n_k;
    const Keys keys = keys_of_rule(row);
    std::fill(first, first + keys.first, -infinity);
    std::fill(first + keys.end, first + call_.n_k, -infinity);
  }
}

void MaskFiles::add_mask(std::vector<double>& terms, int matrix, const ReadWatch& watch) const {
  const int rows = by_query_ ? call_.n : 1, count = (by_batch_ ? call_.batch : 1) * (by_head_ ? call_.heads : 1);
  std::vector<double> x = read_matrix(*mask_.file, mask_.tensor, {count, rows, call_.n_k}, matrix, watch);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_bit = x[i] == 0 || x[i] == 1;
    if (use_ == MaskUse::add ? std::isnan(x[i]) || x[i] == infinity : !is_bit)
      refuse_element(mask_, i, call_.n_k, x[i], use_ == MaskUse::add ? "a number or -infinity" : "0 or 1");
    if (use_ != MaskUse::add) x[i] = (x[i] == 1) == (use_ == MaskUse::keep) ? 0 : -infinity;
  }
  for (std::size_t i = 0; i < terms.size(); ++i) terms[i] += x[i % x.size()];
}

void MaskFiles::add_documents(std::vector<double>& terms, int batch, const ReadWatch& watch) const {
  const bool by_batch = documents_.tensor.shape.size() == 2 && documents_.tensor.shape[0] > 1;
  StoredTensor t = documents_.tensor;
  t.shape = {static_cast<std::uint64_t>(by_batch ? call_.batch : 1), 1, static_cast<std::uint64_t>(call_.n_k)};
  const std::vector<double> ids =
      read_matrix(*documents_.file, t, {by_batch ? call_.batch : 1, 1, call_.n_k}, by_batch ? batch : 0, watch);
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!std::isfinite(ids[i])) refuse_element(documents_, i, call_.n_k, ids[i], "the number of a document");
  const auto keys = static_cast<std::size_t>(call_.n_k), first = keys - static_cast<std::size_t>(call_.n);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (ids[first + i / keys] != ids[i % keys]) terms[i] = -infinity;
}

}  // namespace attoscope::app
