/// A number for each query of a call, such as its log-sum-exp, from a file.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/call_files.h"

namespace attoscope {

/// The tensor of `--option FILE` or `FILE:NAME`, where it has one of the usual names or is the only one in its file if none is
/// named. Throws std::runtime_error in a sentence.
CallPart tensor_of_option(const std::string& spec, const char* option, std::span<const std::string_view> usual_names);

/// The format that numbers of this type are in; fp64 where only double holds it.
Format format_of_elements(ElementType type);

/// Throws std::runtime_error that names the tensor, its shape and what was expected.
[[noreturn]] void refuse_shape(const StoredTensor& tensor, const std::string& expected);

/// The tensor, and its shape with one column.
struct RowNumbers {
  /// The queries of a sequence of a packed or paged call.
  struct Span {
    int first_head = 0, heads = 0;  ///< among the heads of all sequences
    int batch = 0, first = 0, n = 0;
  };
  CallPart part;
  HeadShape shape;
  std::vector<Span> sequences{};  ///< empty: the call is no such one

  /// The numbers of a head; those of all sequences count on.
  std::vector<double> of(int head) const;
};

/// (n), (heads, n), (batch, heads, n), the same with tokens before heads, or either with a last dimension of 1. Where both
/// orders fit, that of `wanted`. None if it does not fit.
std::optional<RowNumbers> row_numbers(CallPart part, const HeadShape& wanted);
/// The same of an option, behind which [h n] or [n h] may say the order. Throws std::runtime_error in a sentence if it does not
/// fit, or if both orders do and none is said.
RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const HeadShape& q);

/// Usual names of a log-sum-exp.
inline constexpr std::array<std::string_view, 4> lse_names{"lse", "softmax_lse", "logsumexp", "stats"};
/// The log-sum-exp `spec`, or where that is "" the one beside Q, K and V in `input`, of the one layer or of all sequences of a
/// call; none: there is none. Throws std::runtime_error in a sentence if it does not fit, or there are several layers.
std::optional<RowNumbers> open_lse(const std::string& spec, const TensorSpec& input, const CallFiles& files);
/// FILE:NAME of the log-sum-exp with a usual name, or one that ends with ".lse", in this file; "": it has none that fits.
std::string lse_beside(const TensorSpec& input, const HeadShape& q);

}  // namespace attoscope
