/// Q, K, V and perhaps O of attention, all layers and heads, from whatever files hold them: the one reader of all commands and
/// of the window.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/tensors/call_scales.h"
#include "app/tensors/head_layout.h"
#include "app/tensors/tensor_names.h"
#include "app/tensors/tensor_set.h"
#include "kernels/experiment/input.h"
#include "ui/frame/entries.h"

namespace attoscope {

/// Where the tensors of one call are, each named by itself: FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR. What is not
/// named lies in `input`, whatever that holds.
struct CallSources {
  std::string input, q, k, v, o;
  std::optional<HeadLayout> layout{};
  ScaleSpecs scales{};  ///< instead of those that `input` names
};

/// The tensors, opened and found to fit each other; heads are read one by one. A head's index counts layers, then batches, then
/// heads of Q; K and V are those of its group. Tensors of eight bits are multiplied by the scales beside them, all by those
/// that somebody names: in double, which holds e4m3 and int8 times fp32 exactly.
class CallFiles {
 public:
  /// One call, or one layer, of a file.
  struct Layer {
    std::string name, shared;  ///< "layer 7", "layers.7.*_proj"; empty where the names share nothing
    HeadShape q, k, v, o;
    int first = 0;            ///< its first head's index
    bool has_output = false;  ///< and it has been found to fit

    /// Of each of its heads.
    AttentionShape shape() const { return {q.n, k.n, q.d, v.d}; }
  };

  /// What `files` names, a layout behind it or not. Throws std::runtime_error in a sentence that names the file, the tensor,
  /// its shape and what was expected.
  explicit CallFiles(const std::string& files);
  /// One call with its output.
  explicit CallFiles(const CallSources& sources);

  const std::vector<Layer>& layers() const { return layers_; }
  /// Of all layers.
  int heads() const;
  /// The layer of a head. Throws std::runtime_error where there is no such head.
  const Layer& layer_of(int head) const;
  /// Its place among `layers`.
  int layer_index(int head) const { return static_cast<int>(&layer_of(head) - layers_.data()); }
  /// "layer 7, head 3"
  std::vector<std::string> head_names() const;
  /// A sentence for each layer that fits nothing and was left out, and one for scales beside tensors that take none.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// A tensor of a layer, where it lies and its scale: 0 q, 1 k, 2 v, 3 o.
  const CallPart& part(const Layer& layer, int part) const;
  const NamedTensor& tensor(const Layer& layer, int part) const { return this->part(layer, part).tensor; }
  /// Which scales a layer has: "k per head, v per head"; "" none.
  std::string scales_text(const Layer& layer) const;
  /// The same of all layers, each text once.
  std::vector<std::string> scale_texts() const;

  /// Q of this head, and K and V of the one that it shares with its group. Throws where `watch` asks to stop.
  Tensors inputs(int head, const ReadWatch& watch = {}) const;
  /// The same as an experiment's input, with its digest, and what it takes to look at the other heads of its layer.
  Input input(int head, const ReadWatch& watch = {}) const;
  /// The largest finite magnitude of all heads of a layer: of 0 q, 1 k, 2 v.
  double largest(const Layer& layer, int of, const ReadWatch& watch = {}) const;
  /// The output of this head, n x d. Throws where its layer has none.
  std::vector<double> output(int head, const ReadWatch& watch = {}) const;
  /// What each element of part 0 q, 1 k, 2 v, 3 o of this head is multiplied by, row-major; empty: it has no scale. `swapped`:
  /// as if heads and tokens of the scale stood the other way round. Throws where a layer without output is asked for its scale.
  std::vector<double> scale(int head, int part, bool swapped = false, const ReadWatch& watch = {}) const;
  /// Of q, k, v and o, those that somebody named.
  const ScaleSpecs& named_scales() const { return named_scales_; }
  /// Throws where a layer has no output, or one of another shape.
  void check_outputs() const;
  /// What the head picker shows.
  TensorFileInfo info() const;
  /// An output of other files.
  struct Output {
    CallPart part;
    HeadShape shape;
  };
  /// Takes these for the layers' outputs; false, and nothing has changed, where they are not one for each layer, of its heads.
  bool take_outputs(const std::vector<Output>& outputs);

 private:
  using Parts = std::array<CallPart, 4>;
  void add_layer(Parts parts, const std::string& shared, const LayoutHints& hints);
  void add_layers(const TensorSet& set, const CallNames& names, const LayoutHints& hints);
  void add_input(const CallSources& sources, const std::string& files, LayoutHints& hints);
  void find_scales(Parts& parts, const Layer& layer, const LayoutHints& hints) const;
  const CallPart& output_of(const Layer& layer) const;
  int place_of(int head, int part) const;
  void name_layers();
  void tell_unused_scales();
  const Parts& parts_of(const Layer& layer) const;

  std::string files_;
  ScaleSpecs named_scales_;
  std::vector<Layer> layers_;
  std::vector<Parts> parts_;                                ///< of each layer; no file: there is no output
  std::vector<std::shared_ptr<const AllHeads>> all_heads_;  ///< of each layer; null: it has one
  std::vector<std::string> given_names_, left_out_;
};

}  // namespace attoscope
