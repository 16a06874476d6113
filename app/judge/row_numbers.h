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

/// A tensor and its shape with one column; for a packed or paged call, or several layers, also one entry for each sequence or
/// layer.
struct RowNumbers {
  CallPart part;
  HeadShape shape;
  std::vector<CallFiles::Output> layers{};        ///< of 0 queries: the layer has no such tensor
  std::vector<CallFiles::Output> without_keys{};  ///< of each of `CallFiles::sequences_without_keys`

  /// Number of queries of a head of Q, counted over all layers; 0: there is no such head.
  int queries(int head) const {
    if (layers.empty()) return head < shape.count() ? shape.n : 0;
    const CallFiles::Output* const own = place_of(head).layer;
    return own != nullptr ? own->shape.n : 0;
  }
  /// True if the layer of a head has no such tensor.
  bool lacks(int head) const { return !layers.empty() && place_of(head).layer != nullptr && queries(head) == 0; }
  /// The tensor with the numbers of a head with queries.
  const CallPart& part_of(int head) const { return layers.empty() ? part : place_of(head).layer->part; }
  /// Numbers of such a head.
  std::vector<double> of(int head) const {
    if (layers.empty()) return read_scaled_head(part, shape, head);
    const auto [own, index] = place_of(head);
    return read_scaled_head(own->part, own->shape, index);
  }

 private:
  struct Place {
    const CallFiles::Output* layer = nullptr;  ///< null: there is no such head
    int index = 0;                             ///< of the head in its layer
  };
  Place place_of(int head) const {
    for (const CallFiles::Output& own : layers) {
      if (head < own.shape.count()) return {&own, head};
      head -= own.shape.count();
    }
    return {};
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
/// Opens the log-sum-exp `spec`, or if that is "" the one beside Q, K and V in `input`, of the one layer, of all sequences of a
/// call, or of each layer that has one; none: there is none. Throws std::runtime_error in a sentence if it does not fit, or if
/// one is named and there are several layers.
std::optional<RowNumbers> open_lse(const std::string& spec, const TensorSpec& input, const CallFiles& call);
/// The file in a text that `open_row_numbers` reads.
std::string file_of_row_numbers(const std::string& spec);

/// FILE:NAME of the log-sum-exp with a usual name, or one that ends with ".lse", in this file; "": it has none that fits.
std::string lse_beside(const TensorSpec& input, const CallFiles& call);
/// A sentence on the first tensor in this file with such a name, if none of them is a log-sum-exp of the call that can be read,
/// or that is none of a layer; "": there is none.
std::string unused_lse(const TensorSpec& input, const CallFiles& call);

}  // namespace attoscope::app
