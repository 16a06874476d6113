/// Specification of tensors in files, parsed from text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

/// Maximum number of heads of a file, and of a layout.
inline constexpr int most_heads = 1 << 20;

enum class HeadOrder : std::uint8_t {
  heads_first,   ///< n d, h n d or b h n d
  tokens_first,  ///< n h d or b n h d
  side_by_side   ///< n (h d) or b n (h d): the heads of a token in one row
};

/// A layout given by the user. `heads`: heads of Q for side_by_side; 0: not given.
struct HeadLayout {
  HeadOrder order = HeadOrder::heads_first;
  int heads = 0;
  friend bool operator==(const HeadLayout&, const HeadLayout&) = default;
};

/// Layouts that `parse_layout` accepts, for messages and help.
inline constexpr std::string_view layout_specs = "h n d, b h n d, n h d, b n h d, n (h d) or, for 32 heads of Q, n (32 d)";

/// Parses a layout, with or without spaces; none if it is invalid.
std::optional<HeadLayout> parse_layout(std::string_view text);
/// The layout as text for `parse_layout`: "h n d".
std::string layout_text(const HeadLayout& layout);

/// Numbers that share a scale. token, channel: a row or a column of a head, or of all heads if the scale has no heads. tokens:
/// a block of rows of a head. columns: a block of columns of a row.
enum class ScaleGroup : std::uint8_t { tensor, head, token, channel, tokens, columns };

/// The group of a scale as given by the user, for a shape that fits two groups.
struct SaidGroup {
  ScaleGroup group = ScaleGroup::tensor;
  int block = 1;  ///< tokens or columns per number, if in blocks
  friend bool operator==(const SaidGroup&, const SaidGroup&) = default;
};

/// Texts that `parse_scale_group` accepts, for messages and help.
inline constexpr std::string_view scale_groups = "tensor, head, token, channel, 64 tokens or 16 columns";
std::optional<SaidGroup> parse_scale_group(std::string_view text);
/// The group as text for `parse_scale_group`.
std::string scale_group_text(const SaidGroup& said);

/// A scale: "s.safetensors:k_scale[64 tokens]".
struct ScaleSpec {
  std::string tensor;  ///< FILE, or FILE:TENSOR
  std::optional<SaidGroup> said{};
  friend bool operator==(const ScaleSpec&, const ScaleSpec&) = default;
};
/// Parses a scale; brackets that hold no group are part of the tensor's name.
ScaleSpec scale_spec(std::string_view text);
std::string scale_spec_text(const ScaleSpec& scale);

/// Further tensors of a call: the scales of q, k, v and o, the mask, and the ids of documents. The last two have no group.
using ScaleSpecs = std::array<std::optional<ScaleSpec>, 6>;
inline constexpr std::size_t mask_part = 4, documents_part = 5;

/// Parts of a call with packed or paged sequences: tensors of whole numbers, K and V in one tensor (kv), and the layout of a
/// page, NHD or HND.
enum class PackedPart : std::uint8_t {
  cu_seqlens_q,
  cu_seqlens_k,
  leftpad_k,
  block_table,
  cache_seqlens,
  page_layout,
  kv,
  kv_indptr,
  kv_indices,
  kv_last_page_len
};
inline constexpr EnumArray<PackedPart> packed_part_names{"cu_seqlens_q",  "cu_seqlens_k",    "leftpad_k", "block_table",
                                                         "cache_seqlens", "page_layout",     "kv",        "kv_indptr",
                                                         "kv_indices",    "kv_last_page_len"};

/// The parts that are tensors.
inline constexpr std::array packed_tensors{PackedPart::cu_seqlens_q, PackedPart::cu_seqlens_k,  PackedPart::leftpad_k,
                                           PackedPart::block_table,  PackedPart::cache_seqlens, PackedPart::kv,
                                           PackedPart::kv_indptr,    PackedPart::kv_indices,    PackedPart::kv_last_page_len};

/// Text of each part: FILE or FILE:TENSOR, for page_layout NHD or HND; "": not given.
class PackedSpecs {
 public:
  std::string& operator[](PackedPart part) { return texts_[static_cast<std::size_t>(part)]; }
  const std::string& operator[](PackedPart part) const { return texts_[static_cast<std::size_t>(part)]; }
  bool any() const { return *this != PackedSpecs(); }
  /// These texts; parts that are not given are taken from `other`.
  PackedSpecs over(PackedSpecs other) const {
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (!texts_[i].empty()) other.texts_[i] = texts_[i];
    return other;
  }
  friend bool operator==(const PackedSpecs&, const PackedSpecs&) = default;

 private:
  std::array<std::string, packed_part_names.size()> texts_;
};

/// Files of tensors, followed by scales and masks, the parts of packed calls, and the layout:
/// "qkv.safetensors,k_scale=s.npy,block_table=t.npy[n h d]". Keeps the text as written, for sessions and messages.
class TensorSpec {
 public:
  TensorSpec() = default;
  /// Parses any text; parts that are neither a scale, a packed part nor a layout belong to the names of files.
  TensorSpec(std::string text);                                    // NOLINT(google-explicit-constructor)
  TensorSpec(const char* text) : TensorSpec(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  TensorSpec(std::string files, const std::optional<HeadLayout>& layout, ScaleSpecs scales = {}, PackedSpecs packed = {});

  const std::string& text() const { return text_; }
  /// One file, several with commas between, or a folder.
  const std::string& files() const { return files_; }
  const std::optional<HeadLayout>& layout() const { return layout_; }
  const ScaleSpecs& scales() const { return scales_; }
  const PackedSpecs& packed() const { return packed_; }
  bool empty() const { return text_.empty(); }

  friend bool operator==(const TensorSpec& x, const TensorSpec& y) { return x.text_ == y.text_; }

 private:
  std::string text_, files_;
  std::optional<HeadLayout> layout_;
  ScaleSpecs scales_;
  PackedSpecs packed_;
};

}  // namespace attoscope
