#include "app/tensors/call_files.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <stdexcept>

#include "app/tensors/name_words.h"
#include "app/tensors/tensor_names.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope::app {
namespace {

constexpr std::array<std::string_view, 3> q_names{"q", "Q", "query"}, k_names{"k", "K", "key"}, v_names{"v", "V", "value"};

/// Shape of part 0 q .. 3 o.
const HeadShape& shape_of(const CallFiles::Layer& layer, int part) {
  const std::array<const HeadShape*, 4> shapes{&layer.q, &layer.k, &layer.v, &layer.o};
  return *shapes[static_cast<std::size_t>(part)];
}

std::span<const std::string_view> usual_names(std::size_t part) {
  constexpr std::array<std::span<const std::string_view>, 4> all{q_names, k_names, v_names, usual_output_names};
  return all[part];
}

std::uint64_t hash(const std::vector<double>& values, std::uint64_t seed) {
  const std::vector<double> digested = with_one_nan(values);
  return XXH3_64bits_withSeed(digested.data(), digested.size() * sizeof(double), seed);
}

std::uint64_t mask_hash(const MaskTensor& mask, std::uint64_t seed) {
  return XXH3_64bits_withSeed(mask.rows.data(), mask.rows.size() * sizeof(Keys), hash(mask.terms, seed));
}

std::uint64_t sizes(int rows, int columns) {
  return static_cast<std::uint64_t>(rows) << 32 | static_cast<std::uint64_t>(columns);
}

/// Access to all heads of a layer, which opens the files again on each call; null if there is one head.
std::shared_ptr<const AllHeads> all_heads_of(const TensorSpec& files, std::size_t place, const CallFiles::Layer& layer) {
  if (layer.q.count() == 1) return nullptr;
  return std::make_shared<const AllHeads>([files, place](ScaledTensor t, const StopSign& stop) {
    const CallFiles again(files);
    if (place >= again.layers().size()) throw std::runtime_error(files.text() + ": has lost layers since it was read");
    return again.largest(again.layers()[place], static_cast<int>(t), [&stop](double) {
      stop.check();
      return false;
    });
  });
}

/// "layer7.head12" as "layer 7, head 12".
std::string spoken(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') {
      text += ", ";
      continue;
    }
    if (i > 0 && is_digit(name[i]) && is_letter(name[i - 1])) text += ' ';
    text += name[i];
  }
  return text;
}

std::string option_of(std::size_t part) { return "--" + std::string(part_names[part]); }

/// The tensor of `--q`, `--k`, `--v` or `--o`.
CallPart open_named(const std::string& spec, std::size_t part) {
  const TensorRef ref = ref_of_option(option_of(part), spec);
  return part_in_file(ref, usual_names(part), static_cast<int>(part));
}

bool is_single(const std::string& files) { return names_one_file(files) && !holds(FileKind::one, files); }

/// The tensor of a file with a usual name of this part.
CallPart usual_tensor(const std::string& path, std::size_t part) {
  if (!is_single(path))
    throw std::runtime_error(path + ": holds no " + std::string(part_names[part]) + ", expected one, or " + option_of(part));
  return part_in_file({path, ""}, usual_names(part), static_cast<int>(part), option_of(part));
}

/// K and V of `--kv`.
std::array<CallPart, 2> open_kv(const std::string& text, const PackedSpecs& packed) {
  constexpr std::array<std::string_view, 3> usual{"kv", "kv_cache", "paged_kv_cache"};
  const CallPart both = part_in_file(ref_of_option("--kv", text), usual, 1);
  auto [k, v] = split_kv(both.tensor, !packed[PackedPart::kv_indices].empty());
  return {CallPart{std::move(k), both.beside}, CallPart{std::move(v), both.beside}};
}

/// True if values have the names of FlashAttention's arguments, whose tensors have tokens before heads.
bool is_flash_attentions(const TensorSet& set) {
  constexpr std::array<std::string_view, 3> names{"softmax_scale", "causal", "window_size"};
  return std::ranges::any_of(set.values,
                             [&](const StoredValue& v) { return std::ranges::find(names, last_name(v.name)) != names.end(); });
}

[[noreturn]] void refuse_nameless(const std::string& files, const TensorSet& set, const CallNames& names) {
  check_nameless(set);
  std::string sentence = files +
                         ": has no three tensors called q, k, v, or Q, K, V, or query, key, value, or by names that share " +
                         "the rest, such as layers.7.q_proj, only " + tensor_list(set);
  if (!names.incomplete.empty()) sentence += "; " + names.incomplete.front();
  if (set.tensors.size() >= 3) sentence += "; FILE:TENSOR,FILE:TENSOR,FILE:TENSOR names others";
  throw std::runtime_error(sentence);
}

}  // namespace

void take_tensors(Input& input, Tensors tensors) {
  const Tensors& t = tensors;
  PartDigests& parts = input.parts;
  parts = {hash(t.q, sizes(t.n, t.d)), hash(t.k, sizes(t.n_k, t.d)), hash(t.v, sizes(t.n_k, t.d_v)), 0};
  const std::uint64_t of_q = t.shape().is_square() ? parts.q : hash(t.q, sizes(t.n, t.d) ^ sizes(t.n_k, t.d_v));
  input.digest = hash(t.v, hash(t.k, of_q));
  if (t.mask) {
    parts.mask = mask_hash(*t.mask, sizes(t.n, t.n_k));
    input.digest = mask_hash(*t.mask, input.digest);
  }
  input.tensors = std::make_shared<const Tensors>(std::move(tensors));
}

std::uint64_t output_digest(const std::vector<double>& values, int n, int d) { return hash(values, sizes(n, d)); }

CallFiles::CallFiles(const TensorSpec& files) : files_(files), named_scales_(files.scales()), named_packed_(files.packed()) {
  const TensorSet set = opened(files);
  LayoutHints hints{.said = files.layout()};
  if (set.is_dump || is_flash_attentions(set)) hints.likely = HeadOrder::tokens_first;
  const CallNames names = calls_in(names_of(set));
  if (names.calls.empty()) refuse_nameless(files_.text(), set, names);
  add_layers(set, names, hints);
  tell_unused_scales();
  find_mask(set);
  open_masks();
  if (const auto given = set.metadata.find("heads"); given != set.metadata.end())
    for (const std::string& name : split(given->second)) given_names_.push_back(spoken(name));
}

CallFiles::CallFiles(const CallSources& x) : files_(x.input), named_packed_(x.packed.over(x.input.packed())) {
  LayoutHints hints{.said = x.layout ? x.layout : x.input.layout(), .asks = false};
  for (std::size_t i = 0; i < named_scales_.size(); ++i) named_scales_[i] = x.scales[i] ? x.scales[i] : x.input.scales()[i];
  if (!x.input.empty()) add_input(x, hints);
  if (!layers_.empty() && x.q.empty() && x.k.empty() && x.v.empty() && x.o.empty() &&
      std::ranges::all_of(parts_, [](const Parts& parts) { return parts[3].tensor.file != nullptr; })) {
    tell_unused_scales();
    open_masks();
    return;
  }
  if (calls_ > 1)
    throw std::runtime_error(x.input.text() + ": holds " + std::to_string(calls_) +
                             " layers, expected an output for each, or one layer");
  const std::array<const std::string*, 4> typed{&x.q, &x.k, &x.v, &x.o};
  Parts parts;
  for (std::size_t i = 0; i < 4; ++i) {
    if (!typed[i]->empty())
      parts[i] = open_named(*typed[i], i);
    else if (const std::string& both = named_packed_[PackedPart::kv]; !both.empty() && (i == 1 || i == 2))
      parts[i] = open_kv(both, named_packed_)[i - 1];
    else if (!layers_.empty() && whole_[i].tensor.file)
      parts[i] = whole_[i];
    else
      parts[i] = usual_tensor(x.input.files(), i);
  }
  layers_.clear();
  parts_.clear();
  all_heads_.clear();
  places_.clear();
  left_out_.clear();
  if (!tables_.any()) tables_ = packed_tables({}, named_packed_, "*");
  add_call(parts, "*", hints, PackedTables(tables_));
  name_layers();
  tell_unused_scales();
  if (!tables_.any() && !x.q.empty()) tell_unread_table(tensor_ref(x.q).file);
  if (!x.q.empty() || !x.k.empty() || !x.v.empty()) tell_unread_masks();
  open_masks();
}

/// Finds the mask beside Q, K and V, and the mask rule in a capture's metadata.
void CallFiles::find_mask(const TensorSet& set) {
  const std::vector<NamedTensor> masks = masks_beside(set);
  if (masks.size() == 1) mask_beside_ = masks.front();
  if (masks.size() > 1)
    unused_masks_.push_back(masks[0].tensor.label + " and " + masks[1].name +
                            " may both be the mask: none is used, expected one, or " + "--mask-file");
  const auto rule = set.metadata.find("mask");
  if (rule == set.metadata.end() || !set.metadata.contains("layers")) return;
  try {
    captured_mask_ = parse_mask(rule->second);
  } catch (const std::invalid_argument&) {
    unused_masks_.push_back(files_.text() + ": its mask " + in_quotes(rule->second) + " is not understood and not used");
  }
}

/// Opens the mask that all layers share: the named one, or else the one beside Q, K and V.
void CallFiles::open_masks() {
  left_out_.insert(left_out_.end(), unused_masks_.begin(), unused_masks_.end());
  const auto named = [&](std::size_t part) { return named_scales_[part] ? scale_spec_text(*named_scales_[part]) : ""; };
  const auto call_of = [](const Layer& x) { return MaskedCall{x.q.batch, x.q.heads, x.q.n, x.k.n}; };
  MaskSources sources{named(mask_part), named(documents_part), {}, captured_mask_};
  if (mask_beside_ && !named_scales_[mask_part]) {
    const std::vector<std::uint64_t>& shape = mask_beside_->tensor.shape;
    const auto fits = [&](const Layer& layer) { return is_mask_of(*mask_beside_, call_of(layer)); };
    const auto may_be_of_sequences = [&](const Place& place) {
      return place.call && place.call->count > 1 && shape.size() == 2 && shape[0] == place.call->count;
    };
    const bool fits_all = std::ranges::all_of(layers_, fits),
               fits_twice = fits_all && std::ranges::any_of(places_, may_be_of_sequences);
    if (fits_all && !fits_twice)
      sources.beside = mask_beside_;
    else
      left_out_.push_back(mask_beside_->tensor.label + " has shape " + shape_text(shape) +
                          (fits_twice ? ", which fits [n_q, n_k] and [sequences, n_k]" : ", which is no mask of these calls") +
                          ": it is not used");
  }
  const bool any = !sources.mask.empty() || !sources.documents.empty() || sources.beside ||
                   (captured_mask_ && captured_mask_->kind != Mask::Kind::none);
  if (!any || layers_.empty()) return;
  for (const Layer& layer : layers_)
    if (!(call_of(layer) == call_of(layers_.front())))
      throw std::runtime_error(
          files_.text() + (layer.sequence < 0 ? ": its layers have several numbers of heads or tokens, expected one for a mask"
                                              : ": its sequences have several lengths, for which a mask tensor and document "
                                                "ids are not supported"));
  masks_ = std::make_shared<const MaskFiles>(sources, call_of(layers_.front()));
}

/// Opens the tensors of the files; splits a tensor that holds both K and V.
TensorSet CallFiles::opened(const TensorSpec& files) {
  TensorSet set = open_tensor_set(files.files());
  const std::string& both = named_packed_[PackedPart::kv];
  if (both.empty()) return calls_in(names_of(set)).calls.empty() ? with_kv_split(std::move(set)) : set;
  for (CallPart& part : open_kv(both, named_packed_)) set.tensors.push_back(std::move(part.tensor));
  return set;
}

/// Adds the layers of `input`, from which the parts without a name of their own are taken.
void CallFiles::add_input(const CallSources& x, LayoutHints& hints) {
  const std::string& files = x.input.files();
  if (!names_tensor_files(x.input))
    throw std::runtime_error("--input " + in_quotes(x.input.text()) + " is not understood, expected " + tensor_file_specs());
  if (!x.q.empty() && !x.k.empty() && !x.v.empty()) return;
  const TensorSet set = opened(x.input);
  if (set.is_dump || is_flash_attentions(set)) hints.likely = HeadOrder::tokens_first;
  if (x.q.empty() && x.k.empty() && x.v.empty()) find_mask(set);
  const CallNames names = calls_in(names_of(set));
  if (!names.calls.empty()) return add_layers(set, names, hints);
  tables_ = packed_tables(set, named_packed_, "*");
  if (!is_single(files)) refuse_nameless(files_.text(), set, names);
}

void CallFiles::check_outputs() const {
  for (const Layer& layer : layers_)
    if (!layer.has_output) output_of(layer);
}

bool CallFiles::take_outputs(const std::vector<Output>& outputs) {
  const auto fits = [](const Layer& layer, const Output& o) {
    return o.shape.count() == layer.q.count() && o.shape.n == layer.q.n && o.shape.d >= layer.v.d;
  };
  if (!std::ranges::equal(layers_, outputs, fits)) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    parts_[i][3] = outputs[i].part;
    layers_[i].o = outputs[i].shape;
    layers_[i].has_output = true;
  }
  return true;
}

/// Adds a call, or its sequences.
void CallFiles::add_call(const Parts& parts, const std::string& shared, const LayoutHints& hints, const PackedTables& tables) {
  ++calls_;
  whole_ = parts;
  tables_ = tables;
  if (!tables.any()) return add_layer(parts, shared, hints, {});
  const auto call = std::make_shared<const PackedCall>(
      packed_call({parts[0].tensor, parts[1].tensor, parts[2].tensor, parts[3].tensor}, tables, hints.said));
  LayoutHints by_tokens = hints;
  by_tokens.said = HeadLayout{HeadOrder::tokens_first};
  for (std::size_t i = 0; i < call->sequences.size(); ++i) {
    Parts own = parts;
    for (int part = 0; part < 4; ++part) own[static_cast<std::size_t>(part)].tensor = call->tensor(call->sequences[i], part);
    add_layer(std::move(own), shared, by_tokens, {call, i});
  }
  left_out_.insert(left_out_.end(), call->left_out.begin(), call->left_out.end());
}

void CallFiles::add_layer(Parts parts, const std::string& shared, const LayoutHints& given, const Place& place) {
  LayoutHints hints = given;
  if (parts[3].tensor.file) hints.sibling = &parts[3].tensor.tensor;
  for (const CallPart& p : parts) readable(p.tensor);
  const std::array<StoredTensor, 3> qkv{parts[0].tensor.tensor, parts[1].tensor.tensor, parts[2].tensor.tensor};
  const std::array<HeadShape, 3> shapes = shapes_of_call(qkv, hints);
  if (layers_.empty()) other_reading_ = app::other_reading(qkv, hints);
  Layer layer{"", shared == "*" ? "" : shared, shapes[0], shapes[1], shapes[2], {}, heads()};
  if (parts[3].tensor.file) {
    const auto o = shape_of_output(parts[3].tensor.tensor, layer.output_shape());
    layer.has_output = o.has_value();
    if (o) layer.o = *o;
  }
  if (layer.first > (1 << 20) - layer.q.count()) throw std::runtime_error(files_.text() + ": holds more than 1048576 heads");
  if (place.call) layer.sequence = place.call->sequences[place.index].index;
  find_scales(parts, layer, hints, place);
  places_.push_back(place);
  all_heads_.push_back(all_heads_of(files_, layers_.size(), layer));
  layers_.push_back(std::move(layer));
  parts_.push_back(std::move(parts));
}

/// Finds the scale of each part that exists and fits.
void CallFiles::find_scales(Parts& parts, const Layer& layer, const LayoutHints& hints, const Place& place) const {
  const std::optional<HeadOrder> order = hints.said ? std::optional(hints.said->order) : std::nullopt;
  for (int i = 0; i < (layer.has_output ? 4 : 3); ++i) {
    const auto part = static_cast<std::size_t>(i);
    ScaleTarget target{i, shape_of(layer, i), layer.k.heads, order};
    if (const PackedCall* const call = place.call.get()) {
      const Sequence& own = call->sequences[place.index];
      if (call->count > 1 || !call->has_all(own, i)) {
        target.call = call;
        target.sequence = &own;
      }
    }
    find_scale(parts[part], named_scales_[part], target);
  }
}

void CallFiles::add_layers(const TensorSet& set, const CallNames& names, const LayoutHints& hints) {
  const TensorSet with_scales = with_scales_of_values(set);
  const ScaleNames scales(names_of(with_scales), names.calls.size() == 1);
  for (const NamedCall& call : names.calls) {
    const auto part = [&](int i, int place) {
      if (i < 0) return CallPart{};
      const NamedTensor& t = set.tensors[static_cast<std::size_t>(i)];
      return CallPart{t, tensors_at(with_scales, scales.of(t.name, place, call.shared))};
    };
    try {
      add_call({part(call.q, 0), part(call.k, 1), part(call.v, 2), part(call.o, 3)}, call.shared, hints,
               packed_tables(set, named_packed_, call.shared));
    } catch (const std::runtime_error& error) {
      if (names.calls.size() == 1) throw;
      left_out_.emplace_back(error.what());
    }
  }
  if (layers_.empty()) throw std::runtime_error(left_out_.front());
  name_layers();
}

/// Sets short names if they are unique, else everything that a layer's names share.
void CallFiles::name_layers() {
  std::map<std::string, int> count;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].name = printable(layer_name(layers_[i].shared));
    if (places_[i].index == 0) ++count[layers_[i].name];
  }
  for (Layer& layer : layers_) {
    if (count[layer.name] > 1) layer.name = printable(layer.shared);
    if (layer.sequence >= 0) layer.name += (layer.name.empty() ? "" : ", ") + ("sequence " + std::to_string(layer.sequence));
  }
}

void CallFiles::tell_unused_scales() {
  std::set<std::string> unused;
  const CallPart* first = nullptr;
  for (const Parts& parts : parts_)
    for (const CallPart& p : parts) {
      if (!p.leaves_scale()) continue;
      if (first == nullptr) first = &p;
      for (const NamedTensor& scale : p.beside) unused.insert(scale.tensor.label);
    }
  if (first == nullptr) return;
  const std::string others = unused.size() == 1 ? "" : "; other unused scales: " + std::to_string(unused.size() - 1);
  left_out_.push_back(first->beside.front().tensor.label + " multiplies nothing, as " + first->tensor.tensor.label + " is " +
                      first->tensor.dtype + " and not of 8 bits" + others);
}

/// Reports a table of sequences in the file of a named q: such a table is read only with `--input` or by name.
void CallFiles::tell_unread_table(const std::string& file) {
  for (const NamedTensor& t : open_tensor_set(file).tensors)
    if (const auto part = packed_part_of(t.name); part && *part != PackedPart::kv) {
      left_out_.push_back(t.tensor.label +
                          " may say where sequences lie, but is not read if q is named: name it, too, or --input " + file +
                          " instead of q");
      return;
    }
}

/// Reports masks in the file of a call with named tensors: they are read only with `--input` or by name.
void CallFiles::tell_unread_masks() {
  const std::string file = file_of(layers_.front());
  if (file.empty() || named_scales_[mask_part]) return;
  for (const NamedTensor& t : masks_beside(open_tensor_set(file)))
    left_out_.push_back(t.tensor.label +
                        " may be the mask, but is not read if q, k or v is named: name it, too, by --mask-file");
}

int CallFiles::heads() const { return layers_.empty() ? 0 : layers_.back().first + layers_.back().q.count(); }

const CallFiles::Layer& CallFiles::layer_of(int head) const {
  if (head < 0 || head >= heads())
    throw std::runtime_error(files_.text() + ": head index is " + std::to_string(head) + ", expected 0 to " +
                             std::to_string(heads() - 1));
  return *(std::ranges::upper_bound(layers_, head, {}, &Layer::first) - 1);
}

const CallPart& CallFiles::part(const Layer& layer, int part) const {
  return parts_[static_cast<std::size_t>(&layer - layers_.data())][static_cast<std::size_t>(part)];
}

std::string CallFiles::scales_text(const Layer& layer) const {
  std::string text;
  for (std::size_t i = 0; i < part_names.size(); ++i)
    if (const auto& scale = part(layer, static_cast<int>(i)).scale)
      text += (text.empty() ? "" : ", ") + std::string(part_names[i]) + " " + scale_text(scale->stored);
  return text;
}

std::vector<std::string> CallFiles::head_names() const {
  if (static_cast<int>(given_names_.size()) == heads()) return given_names_;
  std::vector<std::string> names;
  for (const Layer& layer : layers_) {
    const std::string before = layers_.size() > 1 && !layer.name.empty() ? layer.name + ", " : "";
    for (int i = 0; i < layer.q.count(); ++i) {
      const std::string batch = layer.q.batch > 1 && layer.q.order != HeadOrder::heads_first
                                    ? "batch " + std::to_string(i / layer.q.heads) + ", "
                                    : "";
      const int head = batch.empty() ? i : i % layer.q.heads;
      names.push_back(before + batch + "head " + std::to_string(head));
    }
  }
  return names;
}

std::vector<std::string> CallFiles::scale_texts() const {
  std::vector<std::string> texts;
  for (const Layer& layer : layers_)
    if (std::string text = scales_text(layer); !text.empty() && std::ranges::find(texts, text) == texts.end())
      texts.push_back(std::move(text));
  return texts;
}

/// Index of a head in a part's tensor; K and V have one head for each group of Q's.
int CallFiles::place_of(int head, int part) const {
  const Layer& layer = layer_of(head);
  const int own = head - layer.first, heads = layer.q.heads, group = heads / layer.k.heads;
  return part == 1 || part == 2 ? own / heads * layer.k.heads + own % heads / group : own;
}

Tensors CallFiles::inputs(int head, const ReadWatch& watch) const {
  const Layer& layer = layer_of(head);
  check_memory(tensor(layer, 0).file->path(), 3, std::max(layer.q.n, layer.k.n), std::max(layer.q.d, layer.v.d));
  const auto matrix = [&](int i) {
    const ReadWatch third = [&](double share) { return watch && watch((i + share) / 3); };
    return read_scaled_head(part(layer, i), shape_of(layer, i), place_of(head, i), third);
  };
  Tensors t = Tensors::shaped(layer.shape());
  t.q = matrix(0);
  t.k = matrix(1);
  t.v = matrix(2);
  const int own = head - layer.first;
  if (masks_) t.mask = masks_->of(own / layer.q.heads, own % layer.q.heads, watch);
  return t;
}

Input CallFiles::input(int head, const ReadWatch& watch) const {
  Tensors read = inputs(head, watch);
  read.all_heads = all_heads_[static_cast<std::size_t>(layer_index(head))];
  Input input;
  input.kind = InputKind::tensors;
  input.file = files_.text();
  input.index = head;
  take_tensors(input, std::move(read));
  return input;
}

double CallFiles::largest(const Layer& layer, int of, const ReadWatch& watch) const {
  const HeadShape& shape = shape_of(layer, of);
  double most = 0;
  for (int head = 0; head < shape.count(); ++head)
    most = std::max(most, largest_finite(read_scaled_head(part(layer, of), shape, head, watch)));
  return most;
}

/// The output of a layer; throws if there is none.
const CallPart& CallFiles::output_of(const Layer& layer) const {
  const CallPart& o = part(layer, 3);
  if (!o.tensor.file)
    throw std::runtime_error(files_.text() + ": has no output" + (layer.name.empty() ? "" : " of " + layer.name));
  if (!layer.has_output)
    refuse_shape(o.tensor.tensor,
                 "a shape like q's " + shape_text((layer.sequence < 0 ? part(layer, 0) : whole_[0]).tensor.tensor.shape) +
                     (layer.v.d == layer.q.d ? "" : ", but with v's " + std::to_string(layer.v.d) + " columns a head"));
  return o;
}

std::vector<double> CallFiles::output(int head, const ReadWatch& watch) const {
  const Layer& layer = layer_of(head);
  const CallPart& o = output_of(layer);
  check_memory(o.tensor.file->path(), 1, layer.o.n, layer.o.d);
  return first_columns(read_scaled_head(o, layer.o, head - layer.first, watch), layer.o.d, layer.v.d);
}

std::vector<double> CallFiles::scale(int head, int part, bool swapped) const {
  const Layer& layer = layer_of(head);
  const std::optional<OpenedScale>& scale = (part == 3 ? output_of(layer) : this->part(layer, part)).scale;
  if (!scale) return {};
  const HeadShape& shape = shape_of(layer, part);
  StoredScale stored = scale->stored;
  if (swapped)
    stored.shape.order = stored.shape.order == HeadOrder::tokens_first ? HeadOrder::heads_first : HeadOrder::tokens_first;
  std::vector<double> ones(static_cast<std::size_t>(shape.n) * static_cast<std::size_t>(shape.d), 1.0);
  multiply_head(ones, shape, place_of(head, part), *scale->tensor.file, scale->tensor.tensor, stored);
  return part == 3 ? first_columns(std::move(ones), layer.o.d, layer.v.d) : ones;
}

std::string CallFiles::file_of(const Layer& layer) const {
  const std::string& path = tensor(layer, 0).file->path();  // "call.pt: call/data/0" of an archive's storage
  for (std::size_t end = path.find(": "); end != std::string::npos; end = path.find(": ", end + 1))
    if (holds(FileKind::named, path.substr(0, end))) return path.substr(0, end);
  return holds(FileKind::named, path) ? path : "";
}

std::vector<CallFiles::Output> CallFiles::like(const CallPart& tensor, int part, int heads, int d, bool without_keys) const {
  const auto& call = places_.front().call;
  if (!call) {
    if (without_keys) return {};
    HeadShape wanted = shape_of(layers_.front(), part);
    wanted.heads = heads;
    wanted.d = d;
    const auto shape = layers_.size() == 1 ? shape_of_output(tensor.tensor.tensor, wanted) : std::nullopt;
    return shape && shape->d == d ? std::vector{Output{tensor, *shape}} : std::vector<Output>();
  }
  const bool is_one_call = std::ranges::all_of(places_, [&](const Place& place) { return place.call == call; });
  const std::optional<TokenStore> store = is_one_call ? call->store_like(tensor.tensor, part, heads, d) : std::nullopt;
  std::vector<Output> all;
  if (!store) return all;
  for (const Sequence& s : without_keys ? call->without_keys : call->sequences) {
    HeadShape shape = call->shape(s, part);
    shape.heads = heads;
    shape.d = d;
    all.push_back({{call->tensor(*store, s, part), tensor.beside, {}}, shape});
  }
  return all;
}

std::vector<CallFiles::Keyless> CallFiles::outputs_without_keys() const {
  std::vector<Keyless> all;
  for (const auto& [call, index] : places_)
    if (call && index == 0 && call->parts[3].page > 0)
      for (const Sequence& s : call->without_keys) all.push_back({s.index, {{call->tensor(s, 3), {}, {}}, call->shape(s, 3)}});
  return all;
}

std::string CallFiles::expected_like(const std::string& name, int part, int heads, int d) const {
  const Layer& layer = layers_.front();
  const bool is_packed = layer.sequence >= 0;
  return "a shape like " + name + ": " + counted(is_packed ? heads : layer.q.batch * heads, "head") + " of " +
         (is_packed ? "all tokens" : std::to_string(part == 0 ? layer.q.n : layer.k.n)) + " x " + std::to_string(d);
}

std::shared_ptr<const StoredKeys> CallFiles::stored_keys(int head) const {
  const Place& place = places_[static_cast<std::size_t>(layer_index(head))];
  if (!place.call) return nullptr;
  const Layer& layer = layer_of(head);
  const auto has_scale_of_tokens = [&](int of) {
    const std::optional<OpenedScale>& scale = part(layer, of).scale;
    return scale && is_of_tokens(scale->stored.group);
  };
  if (!place.call->has_all(place.call->sequences[place.index], 1) && (has_scale_of_tokens(1) || has_scale_of_tokens(2)))
    return nullptr;  // the scale is that of the sequence's tokens alone
  return app::stored_keys(*place.call, place.index, layer.shape(), [&](const Sequence& all, int part) {
    const CallPart stored{place.call->tensor(all, part), {}, this->part(layer, part).scale};
    return read_scaled_head(stored, place.call->shape(all, part), place_of(head, part));
  });
}

ui::TensorFileInfo CallFiles::info() const {
  ui::TensorFileInfo info{.file = files_.text(), .heads = heads(), .shape = layers_[0].shape(), .head_names = head_names()};
  for (const Layer& layer : layers_) {
    info.layers.push_back(
        {layer.name, layer.first, layer.q.count(), layer.k.heads, layer.shape(), scales_text(layer), layer.sequence});
    info.has_output |= layer.has_output;
  }
  info.left_out = left_out_;
  return info;
}

}  // namespace attoscope::app
