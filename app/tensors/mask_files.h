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
/// Parses a mask. Throws std::invalid_argument with one sentence if FILE is no tensor file.
MaskSpec mask_spec(const std::string& text);

/// The sizes that a mask must fit.
struct MaskedCall {
  int batch = 1, heads = 1, n = 0, n_k = 0;
  friend bool operator==(const MaskedCall&, const MaskedCall&) = default;
};

/// Masks of a call. All of them apply together.
struct MaskSources {
  std::string mask{}, documents{};      ///< texts of options; "": none
  std::optional<NamedTensor> beside{};  ///< a tensor beside Q, K and V
  std::optional<Mask> rule{};           ///< mask rule of a captured call
};
/// The tensors with usual names of masks in the file of Q, K and V. In `key_padding_mask`, a name from PyTorch's
/// MultiheadAttention, 1 drops the key.
std::vector<NamedTensor> masks_beside(const TensorSet& set);
/// True if the tensor has numbers and a shape of a mask of the call.
bool is_mask_of(const NamedTensor& tensor, const MaskedCall& call);

/// The mask tensor of a call, combined with document ids: a query sees only keys of its own document; the last query is at the
/// place of the last key. Shapes of masks: [n_q, n_k], [h, n_q, n_k], [b, n_k], or [b, h, n_q, n_k] with b, h or n_q perhaps 1.
class MaskFiles {
 public:
  /// Opens them. Throws std::runtime_error with one sentence that names the file, the shape and what was expected.
  MaskFiles(const MaskSources& sources, const MaskedCall& call);

  /// The mask of a head. Heads that share a mask share the tensor while one of them holds it. Throws if `watch` asks to stop,
  /// or if the mask's use does not allow an element.
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
  bool by_batch_ = false, by_head_ = false, by_query_ = true;  ///< the mask differs along this axis
  struct Held {
    int key = -1;
    std::weak_ptr<const MaskTensor> mask;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Held> held_;
};

}  // namespace attoscope::app
