/// The usual slips of one problem, collected one kind after another.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/slips/slip_suspects.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// The problem's right output, and the suspects in the order in which they were added.
class SuspectList {
 public:
  SuspectList(const Result& result, const OtherHeads& heads);

  /// A variant of the softmax over the problem's own head, and the problem that it solves, if there is one.
  void add(Slip::Kind kind, std::string text, SoftmaxVariant variant, std::optional<Problem> problem = {});
  /// The same over another head.
  void add(Slip::Kind kind, std::string text, SoftmaxVariant variant, MakeHead head, std::optional<Problem> problem = {});
  void add(Suspect suspect) { suspects_.push_back(std::move(suspect)); }
  /// Keys combined with other rows of V than their own: value_row(key), negative for zeros.
  void add_values(Slip::Kind kind, std::string text, std::function<int(int)> value_row);

  const Experiment& experiment() const { return e_; }
  const Problem& problem() const { return e_.problem; }
  AttentionShape shape() const { return shape_of(e_.problem); }
  const OtherHeads& heads() const { return heads_; }
  const std::shared_ptr<const Tensors>& inputs() const { return inputs_; }
  /// The correct softmax, to be copied and changed.
  const SoftmaxVariant& right() const { return right_; }
  const MakeHead& own() const { return own_; }
  /// Rounds other tensors like the inputs, with as many rows; null if they have other shapes. The function may outlive the
  /// list and be called from many threads.
  using AsSeen = std::function<std::shared_ptr<const Tensors>(const std::shared_ptr<const Tensors>&)>;
  AsSeen as_seen() const;

  std::vector<Suspect> take() { return std::move(suspects_); }

 private:
  Experiment e_;
  std::shared_ptr<const Tensors> inputs_;
  OtherHeads heads_;
  SoftmaxVariant right_;
  MakeHead own_;
  std::vector<Suspect> suspects_;
};

void add_mask_suspects(SuspectList& list);
/// Q, K and V in other roles, read in another layout, or rounded differently.
void add_operand_suspects(SuspectList& list);
/// Slips of loops over tiles of keys, and of merged runs of keys.
void add_tile_suspects(SuspectList& list);
/// Q, K or V of other heads of the same file.
void add_head_suspects(SuspectList& list);

}  // namespace attoscope
