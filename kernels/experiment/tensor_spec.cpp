#include "kernels/experiment/tensor_spec.h"

#include <utility>

#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

/// Keys behind the files, in the order of ScaleSpecs and of PackedPart.
constexpr std::array<std::string_view, 16> part_keys{
    ",q_scale=",      ",k_scale=",      ",v_scale=",    ",o_scale=",         ",mask=",          ",document_ids=",
    ",cu_seqlens_q=", ",cu_seqlens_k=", ",leftpad_k=",  ",block_table=",     ",cache_seqlens=", ",page_layout=",
    ",kv=",           ",kv_indptr=",    ",kv_indices=", ",kv_last_page_len="};
constexpr std::size_t scale_parts = 6;
constexpr EnumArray<ScaleGroup> scale_group_names{"tensor", "head", "token", "channel", "tokens", "columns"};

/// Splits a text into its beginning and the part in brackets at its end that `parse` accepts; none: all is text.
template <class Parse>
auto bracketed(std::string_view text, Parse parse) {
  const std::size_t open = text.rfind('[');
  decltype(parse(text)) read;
  if (text.ends_with(']') && open != std::string_view::npos) read = parse(text.substr(open + 1, text.size() - open - 2));
  return std::pair(read ? text.substr(0, open) : text, read);
}

using PartTexts = std::array<std::string_view, part_keys.size()>;

/// Position and part of the first key whose part is not in `known`; at the end: none.
struct PartPlace {
  std::size_t at = 0, part = 0;
};

PartPlace first_part(std::string_view text, const PartTexts& known) {
  PartPlace first{text.size(), 0};
  for (std::size_t part = 0; part < known.size(); ++part)
    if (const std::size_t at = text.find(part_keys[part]); known[part].data() == nullptr && at < first.at) first = {at, part};
  return first;
}

/// The text behind each key, up to the next one; `text` begins with a key.
PartTexts parts_in(std::string_view text) {
  PartTexts parts;
  while (!text.empty()) {
    const std::size_t part = first_part(text, parts).part;
    text.remove_prefix(part_keys[part].size());
    parts[part] = text;  // a repeated key of this part is text
    parts[part] = text.substr(0, first_part(text, parts).at);
    text.remove_prefix(parts[part].size());
  }
  return parts;
}

}  // namespace

std::optional<HeadLayout> parse_layout(std::string_view text) {
  std::string plain(text);
  std::erase(plain, ' ');
  const bool batch = plain.starts_with('b');
  if (batch) plain.erase(0, 1);
  if (plain == "hnd" || (plain == "nd" && !batch)) return HeadLayout{HeadOrder::heads_first};
  if (plain == "nhd") return HeadLayout{HeadOrder::tokens_first};
  if (plain == "n(hd)") return HeadLayout{HeadOrder::side_by_side};
  if (!plain.starts_with("n(") || !plain.ends_with("d)")) return std::nullopt;
  const auto heads = to_number<int>(std::string_view(plain).substr(2, plain.size() - 4));
  if (!heads || *heads < 1 || *heads > most_heads) return std::nullopt;
  return HeadLayout{HeadOrder::side_by_side, *heads};
}

std::string layout_text(const HeadLayout& layout) {
  if (layout.order == HeadOrder::heads_first) return "h n d";
  if (layout.order == HeadOrder::tokens_first) return "n h d";
  return "n (" + (layout.heads > 0 ? std::to_string(layout.heads) : "h") + " d)";
}

std::optional<SaidGroup> parse_scale_group(std::string_view text) {
  const std::size_t space = text.find(' ');
  const bool in_blocks = space != std::string_view::npos;
  const std::optional<ScaleGroup> group = scale_group_names.value_of(in_blocks ? text.substr(space + 1) : text);
  const auto block = in_blocks ? to_number<int>(text.substr(0, space)) : 1;
  if (!group || !block || in_blocks != (*block >= 2)) return std::nullopt;
  const SaidGroup said{*group, *block};
  return in_blocks == (said.group >= ScaleGroup::tokens) ? std::optional(said) : std::nullopt;
}

std::string scale_group_text(const SaidGroup& said) {
  const std::string text(scale_group_names[said.group]);
  return said.group >= ScaleGroup::tokens ? std::to_string(said.block) + " " + text : text;
}

ScaleSpec scale_spec(std::string_view text) {
  const auto [tensor, said] = bracketed(text, parse_scale_group);
  return {std::string(tensor), said};
}

std::string scale_spec_text(const ScaleSpec& scale) {
  return scale.said ? scale.tensor + "[" + scale_group_text(*scale.said) + "]" : scale.tensor;
}

TensorSpec::TensorSpec(std::string text) : text_(std::move(text)) {
  const auto [plain, layout] = bracketed(text_, parse_layout);
  const std::size_t first = first_part(plain, {}).at;
  const PartTexts parts = parts_in(plain.substr(first));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].data() == nullptr) continue;
    const std::string_view part = parts[i].empty() ? " " : parts[i];  // a key without a name must fail when read
    if (i < scale_parts)
      scales_[i] = scale_spec(part);
    else
      packed_[static_cast<PackedPart>(i - scale_parts)] = part;
  }
  const auto [files, of_files] = bracketed(plain.substr(0, first), parse_layout);
  files_ = of_files && layout ? plain.substr(0, first) : files;  // of two layouts, the first belongs to the files
  layout_ = layout ? layout : of_files;
}

TensorSpec::TensorSpec(std::string files, const std::optional<HeadLayout>& layout, ScaleSpecs scales, PackedSpecs packed)
    : text_(files), files_(std::move(files)), layout_(layout), scales_(std::move(scales)), packed_(std::move(packed)) {
  for (std::size_t i = 0; i < part_keys.size(); ++i) {
    const bool is_scale = i < scale_parts;
    const std::string part = !is_scale    ? packed_[static_cast<PackedPart>(i - scale_parts)]
                             : scales_[i] ? scale_spec_text(*scales_[i])
                                          : "";
    if (!part.empty()) text_.append(part_keys[i]).append(part);
  }
  if (layout_) text_ += "[" + layout_text(*layout_) + "]";
}

}  // namespace attoscope
