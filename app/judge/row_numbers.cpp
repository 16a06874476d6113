#include "app/judge/row_numbers.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "app/tensors/head_layout.h"
#include "app/tensors/name_words.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {

CallPart tensor_of_option(const std::string& spec, const char* option, std::span<const std::string_view> usual_names) {
  return part_in_file(ref_of_option(option, spec), usual_names, 3);
}

Format format_of_elements(ElementType t) {
  return t == ElementType::F16 ? fp16 : t == ElementType::BF16 ? bf16 : t == ElementType::F32 ? fp32 : fp64;
}

namespace {

/// The text of an option without the order behind it.
struct TextWithOrder {
  std::string text;
  std::optional<HeadOrder> said{};
};
TextWithOrder with_order(const std::string& spec) {
  for (const auto& [ending, order] : {std::pair{"[h n]", HeadOrder::heads_first},
                                      {"[hn]", HeadOrder::heads_first},
                                      {"[n h]", HeadOrder::tokens_first},
                                      {"[nh]", HeadOrder::tokens_first}})
    if (spec.ends_with(ending)) return {spec.substr(0, spec.size() - std::string_view(ending).size()), order};
  if (spec.ends_with(']')) throw std::runtime_error(in_quotes(spec) + " has an order that is unknown, expected [h n] or [n h]");
  return {spec};
}

/// `row_numbers` for the queries of a call; shapes for a packed or paged call: (heads, total), (total, heads), or a row of
/// padded queries for each sequence, (sequences, heads, n).
std::optional<RowNumbers> row_numbers_of(CallPart part, const CallFiles& call) {
  const CallFiles::Layer& layer = call.layers().front();
  if (layer.sequence < 0) return row_numbers(std::move(part), layer.q);
  StoredTensor& t = part.tensor.tensor;
  const std::vector<std::uint64_t> stored = t.shape;
  for (const bool has_columns : {false, true}) {
    t.shape = stored;
    if (!has_columns) t.shape.push_back(1);
    if (t.shape.size() > 4 || t.fortran_order) continue;
    if (std::vector<CallFiles::Output> found = call.like(part, 0, layer.q.heads, 1); !found.empty()) {
      const HeadShape shape = found.front().shape;
      return RowNumbers{part, shape, std::move(found), call.like(part, 0, layer.q.heads, 1, true)};
    }
  }
  return {};
}

}  // namespace

std::optional<RowNumbers> row_numbers(CallPart part, const HeadShape& wanted_in) {
  StoredTensor& t = part.tensor.tensor;
  if (t.fortran_order || t.shape.empty() || t.shape.size() > 4) return {};
  const HeadShape wanted{wanted_in.order, wanted_in.batch, wanted_in.heads, wanted_in.n, 1};
  const auto in_heads = [&]() -> std::optional<HeadShape> {
    const std::optional<HeadShape> found = shape_of_output(t, wanted);
    return found && found->same_sizes(wanted) && found->order != HeadOrder::side_by_side ? found : std::nullopt;
  };
  if (t.shape.size() < 4) {
    t.shape.push_back(1);
    if (const std::optional<HeadShape> found = in_heads()) return RowNumbers{part, *found};
    t.shape.pop_back();
  }
  const std::optional<HeadShape> found = t.shape.back() == 1 ? in_heads() : std::nullopt;
  return found ? std::optional(RowNumbers{part, *found}) : std::nullopt;
}

RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const HeadShape& q) {
  const auto [text, said] = with_order(spec);
  const CallPart part = tensor_of_option(text, option, usual_names);
  refuse_fortran_order(part.tensor.tensor);
  HeadShape wanted = q;
  if (said) wanted.order = *said;
  if (std::optional<RowNumbers> found = row_numbers(part, wanted);
      found && (!said || q.heads == 1 || found->shape.order == *said)) {
    if (!said && q.heads == q.n && q.n > 1)
      refuse_shape(part.tensor.tensor,
                   "its order, since it fits heads before tokens and tokens before heads: " + std::string(option) + " " +
                       in_quotes(text + "[h n]") + " or " + in_quotes(text + "[n h]"));
    return *std::move(found);
  }
  refuse_shape(part.tensor.tensor, "(batch, heads, n) or (n, heads) with " + counted(q.count(), "head") + " of " +
                                       std::to_string(q.n) + " queries");
}

RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const CallFiles& call) {
  const CallFiles::Layer& layer = call.layers().front();
  if (layer.sequence < 0) return open_row_numbers(spec, option, usual_names, layer.q);
  if (const auto [text, said] = with_order(spec); said)
    throw std::runtime_error(std::string(option) + " " + in_quotes(spec) +
                             " names an order, which packed and paged calls share with Q: expected " + in_quotes(text));
  const CallPart part = tensor_of_option(spec, option, usual_names);
  refuse_fortran_order(part.tensor.tensor);
  if (std::optional<RowNumbers> found = row_numbers_of(part, call)) return *std::move(found);
  refuse_shape(part.tensor.tensor, "(heads, total), (total, heads) or (sequences, heads, n) with " +
                                       counted(layer.q.heads, "head") + " and the tokens of q's " +
                                       shape_text(call.whole(0).tensor.shape));
}

std::string file_of_row_numbers(const std::string& spec) {
  return tensor_ref(spec.ends_with(']') ? spec.substr(0, spec.rfind('[')) : spec).file;
}

namespace {

/// The tensors of this file with a usual name of a log-sum-exp, in the order of these names.
std::vector<NamedTensor> tensors_named_lse(const TensorSpec& input) {
  std::vector<NamedTensor> found;
  if (!names_one_file(input.files())) return found;
  const TensorSet set = open_tensor_set(input.files());
  for (const std::string_view name : lse_names)
    for (const NamedTensor& t : set.tensors)
      if (last_name(t.name) == name) found.push_back(t);
  return found;
}

bool has_layers(const CallFiles& call) { return call.layers().size() > 1 && call.layers().front().sequence < 0; }

/// The log-sum-exp of each layer, beside its Q, K and V; none: no layer has one.
std::optional<RowNumbers> lse_of_layers(const TensorSpec& input, const CallFiles& call) {
  RowNumbers all;
  const std::vector<NamedTensor> named = tensors_named_lse(input);
  for (const CallFiles::Layer& layer : call.layers()) {
    CallFiles::Output& own = all.layers.emplace_back(CallFiles::Output{{}, layer.q});
    own.shape.n = 0;
    for (const NamedTensor& t : named) {
      if (own.shape.n > 0 || !t.refusal.empty() || !is_in_place(t.name, layer.shared)) continue;
      if (const std::optional<RowNumbers> found = row_numbers({t, {}, {}}, layer.q)) own = {found->part, found->shape};
    }
    if (own.shape.n > 0) all.part = own.part;
  }
  return all.part.tensor.file ? std::optional(all) : std::nullopt;
}

}  // namespace

std::optional<RowNumbers> open_lse(const std::string& spec, const TensorSpec& input, const CallFiles& call) {
  if (has_layers(call)) {
    if (spec.empty()) return input.empty() ? std::nullopt : lse_of_layers(input, call);
    throw std::runtime_error("--lse names one tensor and the files hold " + std::to_string(call.layers().size()) +
                             " layers, expected no --lse: a layer's log-sum-exp is found beside its q, as layers.0.lse");
  }
  const std::string found = spec.empty() && !input.empty() ? lse_beside(input, call) : spec;
  if (found.empty()) return {};
  return open_row_numbers(found, "--lse", lse_names, call);
}

std::string lse_beside(const TensorSpec& input, const CallFiles& call) {
  for (const NamedTensor& t : tensors_named_lse(input))
    if (t.refusal.empty() && row_numbers_of({t, {}, {}}, call)) return input.files() + ":" + t.name;
  return "";
}

std::string unused_lse(const TensorSpec& input, const CallFiles& call) {
  if (input.empty()) return "";
  const bool layers = has_layers(call);
  const std::optional<RowNumbers> used = layers ? lse_of_layers(input, call) : std::nullopt;
  std::vector<NamedTensor> named = tensors_named_lse(input);
  std::erase_if(named, [&](const NamedTensor& t) {
    return used &&
           std::ranges::find(used->layers, t.name, [](const auto& own) { return own.part.tensor.name; }) != used->layers.end();
  });
  if (named.empty() || (!layers && !lse_beside(input, call).empty())) return "";
  const NamedTensor& first = named.front();
  if (!first.refusal.empty()) return first.refusal + ": it is not used";
  return first.tensor.label + " has shape " + shape_text(first.tensor.shape) + ", which is no log-sum-exp of " +
         (layers ? "a layer beside it" : "this call") + ": it is not used";
}

}  // namespace attoscope::app
