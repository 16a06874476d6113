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

/// The tensor of `--option FILE:NAME` or `--option FILE`; without NAME, one with a usual name or the only one of the file.
/// Throws std::runtime_error in a sentence.
CallPart tensor_of_option(const std::string& spec, const char* option, std::span<const std::string_view> usual_names);

/// The format of numbers of this type; fp64 if it is not F16, BF16 or F32.
Format format_of_elements(ElementType type);

/// A tensor and its shape with one column; for a packed or paged call also one entry for each sequence.
struct RowNumbers {
  CallPart part;
  HeadShape shape;
  std::vector<CallFiles::Output> sequences{};

  /// Number of queries of a head of Q, counted over all sequences; 0: there is no such head.
  int queries(int head) const {
    if (sequences.empty()) return head < shape.count() ? shape.n : 0;
    const auto i = static_cast<std::size_t>(head / shape.heads);
    return i < sequences.size() ? sequences[i].shape.n : 0;
  }
  /// Numbers of such a head.
  std::vector<double> of(int head) const {
    if (sequences.empty()) return read_scaled_head(part, shape, head);
    const CallFiles::Output& own = sequences[static_cast<std::size_t>(head / shape.heads)];
    return read_scaled_head(own.part, own.shape, head % shape.heads);
  }
};

/// Finds the shape: (n), (heads, n), (batch, heads, n), the same with tokens before heads, or any of these with a last
/// dimension of 1. If both orders fit, takes the order of `wanted`. None if it does not fit.
std::optional<RowNumbers> row_numbers(CallPart part, const HeadShape& wanted);
/// Opens the numbers that an option names, behind which [h n] or [n h] may give the order. Throws std::runtime_error in a
/// sentence if they do not fit, or if both orders fit and none is given. Packed sequences have the order of Q.
RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const HeadShape& q);
RowNumbers open_row_numbers(const std::string& spec, const char* option, std::span<const std::string_view> usual_names,
                            const CallFiles& call);

/// Usual names of a log-sum-exp.
inline constexpr std::array<std::string_view, 4> lse_names{"lse", "softmax_lse", "logsumexp", "stats"};
/// Opens the log-sum-exp `spec`, or if that is "" the one beside Q, K and V in `input`, of the one layer or of all sequences of
/// a call; none: there is none. Throws std::runtime_error in a sentence if it does not fit, or if there are several layers.
std::optional<RowNumbers> open_lse(const std::string& spec, const TensorSpec& input, const CallFiles& call);
/// The file in a text that `open_row_numbers` reads.
std::string file_of_row_numbers(const std::string& spec);

/// FILE:NAME of the log-sum-exp with a usual name, or one that ends with ".lse", in this file; "": it has none that fits.
std::string lse_beside(const TensorSpec& input, const CallFiles& call);
/// A sentence on the first tensor in this file with such a name, if none of them is a log-sum-exp of the call that can be read;
/// "": there is none, or there are several layers.
std::string unused_lse(const TensorSpec& input, const CallFiles& call);

}  // namespace attoscope::app
