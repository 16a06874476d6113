/// Q, K, V and perhaps O of attention, for all layers and heads, from files of all supported kinds; used by all commands and
/// the window.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/tensors/call_scales.h"
#include "app/tensors/head_layout.h"
#include "app/tensors/mask_files.h"
#include "app/tensors/packed.h"
#include "app/tensors/tensor_names.h"
#include "app/tensors/tensor_set.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/input.h"
#include "kernels/slips/slips.h"
#include "ui/frame/entries.h"

namespace attoscope::app {

/// Puts tensors into the input, with digests of their bits and sizes: one of all together, and one of each.
void take_tensors(Input& input, Tensors tensors);
/// Digest of the bits of an output's head, which has n rows, and d columns in its file.
std::uint64_t output_digest(const std::vector<double>& values, int n, int d);

/// Files of one call's tensors, each as in `tensor_specs`. A tensor that is not named is taken from `input`.
struct CallSources {
  TensorSpec input{};
  std::string q, k, v, o;
  std::optional<HeadLayout> layout{};
  ScaleSpecs scales{};  ///< replace the scales in `input`, as `packed` does
  PackedSpecs packed{};
};

/// Opened tensors of matching shapes; heads are read one by one. A head's index counts layers, then batches, then heads of Q; K
/// and V are its group's. Each sequence of a packed or paged call is a layer of its own. 8-bit tensors are multiplied by
/// the scales beside them, all tensors by explicitly named ones, in double, which holds e4m3 and int8 times fp32 exactly.
class CallFiles {
 public:
  /// One call of the files, such as a layer's, or one sequence of it.
  struct Layer {
    std::string name, shared;  ///< "layer 7", "layers.7.*_proj"; empty if the names share nothing
    HeadShape q, k, v, o;
    int first = 0;            ///< index of its first head
    bool has_output = false;  ///< true if it has an output whose shape fits
    int sequence = -1;        ///< index in its packed or paged call; negative: the call is neither

    /// Shape of a head.
    AttentionShape shape() const { return {q.n, k.n, q.d, v.d}; }
    /// Shape of an output: the heads and rows of Q, and the columns of V.
    HeadShape output_shape() const { return {q.order, q.batch, q.heads, q.n, v.d}; }
  };

  /// Opens `files`. Throws std::runtime_error with one sentence that names the file, the tensor, its
  /// shape and what was expected.
  explicit CallFiles(const TensorSpec& files);
  /// Opens one call with its output.
  explicit CallFiles(const CallSources& sources);

  const std::vector<Layer>& layers() const { return layers_; }
  /// Number of heads of all layers.
  int heads() const;
  /// Layer of a head. Throws std::runtime_error if the index is out of range.
  const Layer& layer_of(int head) const;
  /// Index in `layers` of a head's layer.
  int layer_index(int head) const { return static_cast<int>(&layer_of(head) - layers_.data()); }
  /// Names of all heads: "layer 7, head 3".
  std::vector<std::string> head_names() const;
  /// A sentence for each layer that was left out, and one for scales of tensors that take none.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// Indices of the sequences with queries and no keys, which are left out, in all packed and paged calls.
  std::vector<int> sequences_without_keys() const {
    std::set<int> all;
    for (const Place& place : places_)
      if (place.call && place.index == 0)
        for (const Sequence& s : place.call->without_keys) all.insert(s.index);
    return {all.begin(), all.end()};
  }
  /// A sentence if the first layer's shapes fit another layout as well; "": they do not.
  const std::string& other_reading() const { return other_reading_; }
  /// A tensor of a layer with its scale: part 0 q, 1 k, 2 v, 3 o.
  const CallPart& part(const Layer& layer, int part) const;
  const NamedTensor& tensor(const Layer& layer, int part) const { return this->part(layer, part).tensor; }
  /// Kinds of a layer's scales: "k per head, v per head"; "": none.
  std::string scales_text(const Layer& layer) const;
  /// `scales_text` of all layers, without duplicates.
  std::vector<std::string> scale_texts() const;

  /// Q of this head, K and V of its group, and its mask tensor. Throws if `watch` asks to stop.
  Tensors inputs(int head, const ReadWatch& watch = {}) const;
  /// `inputs` as an experiment's input, with its digest and access to the other heads of its layer.
  Input input(int head, const ReadWatch& watch = {}) const;
  /// The largest finite magnitude over all heads of a layer, of 0 q, 1 k or 2 v.
  double largest(const Layer& layer, int of, const ReadWatch& watch = {}) const;
  /// The output of this head, n x d_v. Throws if its layer has none.
  std::vector<double> output(int head, const ReadWatch& watch = {}) const;
  /// Scale of each element of part 0 q, 1 k, 2 v, 3 o of this head, row-major; empty: no scale. `swapped`: as if the scale's
  /// heads and tokens were exchanged. Throws if part is 3 and the layer has no output.
  std::vector<double> scale(int head, int part, bool swapped = false) const;
  /// K and V of all sequences of this head's call; null if the call is neither packed nor paged, or is too large.
  std::shared_ptr<const StoredKeys> stored_keys(int head) const;
  /// Explicitly named scales of q, k, v and o.
  const ScaleSpecs& named_scales() const { return named_scales_; }
  /// Throws if a layer has no output, or one of another shape.
  void check_outputs() const;
  /// Contents for the head picker.
  ui::TensorFileInfo info() const;
  /// An output from other files.
  struct Output {
    CallPart part;
    HeadShape shape;
  };
  /// Splits a tensor, which must have the tokens of part 0 q or 1 k, `heads` heads and `d` columns, into one entry for each
  /// layer or sequence, or for each sequence without keys. Empty if it does not fit, or if there are several layers that
  /// are no sequences.
  std::vector<Output> like(const CallPart& tensor, int part, int heads, int d, bool without_keys = false) const;
  /// Numbers of a sequence with queries and no keys.
  struct Keyless {
    int sequence = 0;  ///< its index
    Output numbers;
  };
  /// O in all `sequences_without_keys`.
  std::vector<Keyless> outputs_without_keys() const;
  /// "a shape like O's: 8 heads of 1024 x 64", the expectation of `like` of one layer or of sequences.
  std::string expected_like(const std::string& name, int part, int heads, int d) const;
  /// Part 0 q .. 3 o of the last call, with all its sequences.
  const NamedTensor& whole(std::size_t part) const { return whole_[part].tensor; }
  /// The file that holds a layer's Q; "" if it is not of kind `named`.
  std::string file_of(const Layer& layer) const;
  /// True if K and V are stored in pages.
  bool is_paged() const { return !places_.empty() && places_.front().call && places_.front().call->paged; }
  /// Uses these as the layers' outputs; false, without changes, unless there is one for each layer with its number of heads.
  bool take_outputs(const std::vector<Output>& outputs);

 private:
  using Parts = std::array<CallPart, 4>;
  /// The place of a layer among the sequences of its call; `call` null: the layer is a whole call.
  struct Place {
    std::shared_ptr<const PackedCall> call{};
    std::size_t index = 0;
  };
  TensorSet opened(const TensorSpec& files);
  void add_call(const Parts& parts, const std::string& shared, const LayoutHints& hints, const PackedTables& tables);
  void add_layer(Parts parts, const std::string& shared, const LayoutHints& hints, const Place& place);
  void add_layers(const TensorSet& set, const CallNames& names, const LayoutHints& hints);
  void add_input(const CallSources& sources, LayoutHints& hints);
  void find_scales(Parts& parts, const Layer& layer, const LayoutHints& hints, const Place& place) const;
  const CallPart& output_of(const Layer& layer) const;
  int place_of(int head, int part) const;
  void name_layers();
  void tell_unused_scales();
  void tell_unread_table(const std::string& file);
  void tell_unread_masks();
  void find_mask(const TensorSet& set);
  void open_masks();

  TensorSpec files_;
  ScaleSpecs named_scales_;
  PackedSpecs named_packed_;
  std::vector<Layer> layers_;
  std::vector<Place> places_;  ///< of each layer
  int calls_ = 0;
  Parts whole_;                                             ///< parts of the last call, before it is split into sequences
  PackedTables tables_;                                     ///< of that call
  std::vector<Parts> parts_;                                ///< of each layer; no file: no output
  std::vector<std::shared_ptr<const AllHeads>> all_heads_;  ///< of each layer; null: it has one head
  std::optional<NamedTensor> mask_beside_;                  ///< from the files of Q, K and V
  std::optional<Mask> captured_mask_;                       ///< the rule that a capture kept
  std::vector<std::string> unused_masks_;                   ///< a sentence for each mask in these files that is not used
  std::shared_ptr<const MaskFiles> masks_;                  ///< null: there is none
  std::vector<std::string> given_names_, left_out_;
  std::string other_reading_;
};

/// The experiment on a head of the files; reads its tensors and the same head of a loaded output. `whole`: on all tokens; else
/// on at most as many as `e` has. Throws as CallFiles.
Experiment on_head(Experiment e, const CallFiles& files, int head, bool whole);
/// The experiment on `count` rows of its Q, K and V from row `first` on. Its tensors must be read and have as many keys as
/// queries.
Experiment on_tokens(Experiment e, int first, int count);

}  // namespace attoscope::app
