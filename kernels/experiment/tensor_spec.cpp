#include "kernels/experiment/tensor_spec.h"

#include <algorithm>
#include <utility>

#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

constexpr std::array<std::string_view, 6> scale_keys{
    ",q_scale=", ",k_scale=", ",v_scale=", ",o_scale=", ",mask=", ",document_ids="};
constexpr std::array<std::string_view, 6> scale_group_names{"tensor", "head", "token", "channel", "tokens", "columns"};

/// A text, and the part in brackets at its end that `parse` understands; none: all is text.
template <class Parse>
auto bracketed(std::string_view text, Parse parse) {
  const std::size_t open = text.rfind('[');
  decltype(parse(text)) read;
  if (text.ends_with(']') && open != std::string_view::npos) read = parse(text.substr(open + 1, text.size() - open - 2));
  return std::pair(read ? text.substr(0, open) : text, read);
}

/// Position and part of the first scale that is not in `known`; at the end: none.
struct ScalePlace {
  std::size_t at = 0, part = 0;
};

ScalePlace first_scale(std::string_view text, const ScaleSpecs& known) {
  ScalePlace first{text.size(), 0};
  for (std::size_t part = 0; part < known.size(); ++part)
    if (const std::size_t at = text.find(scale_keys[part]); !known[part] && at < first.at) first = {at, part};
  return first;
}

/// The scale behind each key, up to the next one; `text` begins with a key.
ScaleSpecs scales_in(std::string_view text) {
  ScaleSpecs scales;
  while (!text.empty()) {
    const std::size_t part = first_scale(text, scales).part;
    text.remove_prefix(scale_keys[part].size());
    scales[part] = ScaleSpec{" "};  // a second key of this part is text
    const std::size_t end = first_scale(text, scales).at;
    if (end > 0) scales[part] = scale_spec(text.substr(0, end));
    text.remove_prefix(end);
  }
  return scales;
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
  const auto* const group = std::ranges::find(scale_group_names, in_blocks ? text.substr(space + 1) : text);
  const auto block = in_blocks ? to_number<int>(text.substr(0, space)) : 1;
  if (group == scale_group_names.end() || !block || in_blocks != (*block >= 2)) return std::nullopt;
  const SaidGroup said{static_cast<ScaleGroup>(group - scale_group_names.begin()), *block};
  return in_blocks == (said.group >= ScaleGroup::tokens) ? std::optional(said) : std::nullopt;
}

std::string scale_group_text(const SaidGroup& said) {
  const std::string text(scale_group_names[static_cast<std::size_t>(said.group)]);
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
  const std::size_t first = first_scale(plain, {}).at;
  scales_ = scales_in(plain.substr(first));
  const auto [files, of_files] = bracketed(plain.substr(0, first), parse_layout);
  files_ = of_files && layout ? plain.substr(0, first) : files;  // a layout given twice belongs to the files
  layout_ = layout ? layout : of_files;
}

TensorSpec::TensorSpec(std::string files, const std::optional<HeadLayout>& layout, ScaleSpecs scales)
    : text_(files), files_(std::move(files)), layout_(layout), scales_(std::move(scales)) {
  for (std::size_t part = 0; part < scales_.size(); ++part)
    if (scales_[part]) text_.append(scale_keys[part]).append(scale_spec_text(*scales_[part]));
  if (layout_) text_ += "[" + layout_text(*layout_) + "]";
}

}  // namespace attoscope
