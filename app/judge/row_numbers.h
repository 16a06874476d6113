/// A number for each query of a call, such as its log-sum-exp, from a file.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/call_files.h"

namespace attoscope::app {

/// The tensor of `--option FILE` or `FILE:NAME`, where it has one of the usual names or is the only one in its file if none is
/// named. Throws std::runtime_error in a sentence.
CallPart tensor_of_option(const std::string& spec, const char* option, std::span<const std::string_view> usual_names);

/// The format that numbers of this type are in; fp64 where only double holds it.
Format format_of_elements(ElementType type);

/// The tensor, and its shape with one column; of a packed or paged call also those of each sequence.
struct RowNumbers {
  CallPart part;
  HeadShape shape;
  std::vector<CallFiles::Output> sequences{};

  /// Numbers of a head of Q, counted over all sequences.
  std::vector<double> of(int head) const {
    if (sequences.empty()) return read_scaled_head(part, shape, head);
    const CallFiles::Output& own = sequences[static_cast<std::size_t>(head / shape.heads)];
    return read_scaled_head(own.part, own.shape, head % shape.heads);
  }
};

/// (n), (heads, n), (batch, heads, n), the same with tokens before heads, or either with a last dimension of 1. Where both
/// orders fit, that of `wanted`. None if it does not fit.
std::optional<RowNumbers> row_numbers(CallPart part, const HeadShape& wanted);
/// The same of an option, behind which [h n] or [n h] may say the order. Throws std::runtime_error in a sentence if it does not
/// fit, or if both orders do and none is said (of packed sequences that of Q is taken).
RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const HeadShape& q);
RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const CallFiles& call);

/// Usual names of a log-sum-exp.
inline constexpr std::array<std::string_view, 4> lse_names{"lse", "softmax_lse", "logsumexp", "stats"};
/// The log-sum-exp `spec`, or where that is "" the one beside Q, K and V in `input`, of the one layer or of all sequences of a
/// call; none: there is none. Throws std::runtime_error in a sentence if it does not fit, or there are several layers.
std::optional<RowNumbers> open_lse(const std::string& spec, const TensorSpec& input, const CallFiles& call);
/// FILE:NAME of the log-sum-exp with a usual name, or one that ends with ".lse", in this file; "": it has none that fits.
std::string lse_beside(const TensorSpec& input, const CallFiles& call);

}  // namespace attoscope::app
