/// Mask tensors and ids of documents, from files.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/readers.h"
#include "kernels/experiment/mask_tensor.h"
#include "kernels/experiment/tensor_spec.h"

namespace attoscope {

/// Texts that name a mask tensor, for messages and help.
inline constexpr std::string_view mask_specs =
    "FILE.npy, FILE.safetensors, FILE.safetensors:TENSOR or FILE.pt:TENSOR, with :keep, :drop or :add behind it or not";

/// Meaning of a mask tensor's elements: 1 keeps the key, 1 drops it, or they are added to the scores.
enum class MaskUse : std::uint8_t { keep, drop, add };

/// FILE[:TENSOR][:keep|drop|add].
struct MaskSpec {
  TensorRef ref;
  std::optional<MaskUse> use{};  ///< none: booleans and bytes keep, other numbers are added
};
/// Throws std::invalid_argument with one sentence unless it may be one.
MaskSpec mask_spec(const std::string& text);

/// Usual names of mask tensors in files; of those that MultiheadAttention takes 1 drops the key.
inline constexpr std::array<std::string_view, 5> usual_mask_names{"mask", "attn_mask", "attention_mask", "custom_mask",
                                                                  "attn_bias"};
inline constexpr std::string_view usual_drop_name = "key_padding_mask";

/// The sizes that a mask must fit.
struct MaskedCall {
  int batch = 1, heads = 1, n = 0, n_k = 0;
  friend bool operator==(const MaskedCall&, const MaskedCall&) = default;
};

/// The mask tensor of a call, joined by its documents' ids: queries see keys of their own document; the last query stands at
/// the last key. Masks are [n_q, n_k], [h, n_q, n_k], [b, n_k], or of four axes, each of b, h and n_q or 1.
class MaskFiles {
 public:
  /// Opens them; "" is none. Throws std::runtime_error with one sentence that names the file, the shape and what was expected.
  MaskFiles(const std::string& mask, const std::string& documents, const MaskedCall& call);

  /// The mask of a head, read once for all heads that share it and are held. Throws if `watch` asks to stop, or an element is
  /// none that its use allows.
  std::shared_ptr<const MaskTensor> of(int batch, int head, const ReadWatch& watch = {}) const;

 private:
  void take_shape();
  void add_mask(std::vector<double>& terms, int matrix, const ReadWatch& watch) const;
  void add_documents(std::vector<double>& terms, int batch, const ReadWatch& watch) const;
  bool has_mask() const { return mask_.file != nullptr; }

  MaskedCall call_;
  NamedTensor mask_, documents_;  ///< without a file: none
  MaskUse use_ = MaskUse::keep;
  bool by_batch_ = false, by_head_ = false, by_query_ = true;  ///< axes that are no 1
  struct Held {
    int key = -1;
    std::weak_ptr<const MaskTensor> mask;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Held> held_;
};

}  // namespace attoscope
