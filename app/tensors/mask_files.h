/// Mask tensors and ids of documents, from files.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/readers.h"
#include "kernels/experiment/mask.h"
#include "kernels/experiment/tensor_spec.h"

namespace attoscope::app {

/// Texts that name a mask tensor, for messages and help.
inline std::string mask_specs() { return tensor_specs() + ", with :keep, :drop or :add behind it or not"; }

/// Meaning of a mask tensor's elements: 1 keeps the key, 1 drops it, or they are added to the scores.
enum class MaskUse : std::uint8_t { keep, drop, add };

/// FILE[:TENSOR][:keep|drop|add].
struct MaskSpec {
  TensorRef ref;
  std::optional<MaskUse> use{};  ///< none: booleans and whole numbers keep, others are added
};
/// Throws std::invalid_argument with one sentence unless it may be one.
MaskSpec mask_spec(const std::string& text);

/// The sizes that a mask must fit.
struct MaskedCall {
  int batch = 1, heads = 1, n = 0, n_k = 0;
  friend bool operator==(const MaskedCall&, const MaskedCall&) = default;
};

/// Masks of a call that all join.
struct MaskSources {
  std::string mask{}, documents{};      ///< texts of options; "": none
  std::optional<NamedTensor> beside{};  ///< a tensor beside Q, K and V
  std::optional<Mask> rule{};           ///< that of a captured call
};
/// The mask tensors that lie beside Q, K and V in their file, by usual names. In `key_padding_mask`, the name of
/// MultiheadAttention, 1 drops the key.
std::vector<NamedTensor> masks_beside(const TensorSet& set);
/// True if the shape is that of a mask of the call.
bool is_mask_of(const NamedTensor& tensor, const MaskedCall& call);

/// The mask tensor of a call, joined by its documents' ids: queries see keys of their own document; the last query stands at
/// the last key. Masks are [n_q, n_k], [h, n_q, n_k], [b, n_k], or of four axes, each of b, h and n_q or 1.
class MaskFiles {
 public:
  /// Opens them. Throws std::runtime_error with one sentence that names the file, the shape and what was expected.
  MaskFiles(const MaskSources& sources, const MaskedCall& call);

  /// The mask of a head, read once for all heads that share it and are held. Throws if `watch` asks to stop, or an element is
  /// none that its use allows.
  std::shared_ptr<const MaskTensor> of(int batch, int head, const ReadWatch& watch = {}) const;

 private:
  void take_mask(std::optional<MaskUse> use);
  MaskTensor read(int batch, int head, const ReadWatch& watch) const;
  void add_rule(std::vector<double>& terms) const;
  Keys keys_of_rule(int row) const;
  void add_mask(std::vector<double>& terms, int matrix, const ReadWatch& watch) const;
  void add_documents(std::vector<double>& terms, int batch, const ReadWatch& watch) const;
  bool has_mask() const { return mask_.file != nullptr; }

  MaskedCall call_;
  NamedTensor mask_, documents_;  ///< without a file: none
  std::optional<Mask> rule_;
  MaskUse use_ = MaskUse::keep;
  bool by_batch_ = false, by_head_ = false, by_query_ = true;  ///< axes that are no 1
  struct Held {
    int key = -1;
    std::weak_ptr<const MaskTensor> mask;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Held> held_;
};

}  // namespace attoscope::app
