/// The usual slips, each with the output that it would give.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/slips/slips.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

struct Suspect {
  Slip::Kind kind = Slip::Kind::scale;
  std::string text;
  std::function<ExpectedRow()> begin;  ///< may take memory and time; the function may be called from many threads
  std::optional<Problem> problem{};    ///< the problem whose exact output this slip gives, if there is one
  std::optional<Format> inputs{};      ///< the format of the inputs that the kernel saw, if that differs
};

/// Tile sizes that the kernel may have used for so many rows or keys: those of the other method, and powers of two from 16 to
/// 256, all below `length`.
std::vector<int> likely_tiles(const Experiment& experiment, int length);

/// Slips of the arithmetic, the simplest first; of other heads where `heads` has some.
std::vector<Suspect> arithmetic_suspects(const Result& result, const OtherHeads& heads);

/// Slips of the output's layout: rows or columns of the exact output in other places, found by searching for each row (and each
/// column) of `output` in it. `rows` selects the rows to search for.
std::vector<Suspect> layout_suspects(const Result& result, const Matrix& output, std::span<const int> rows,
                                     const Cancelled& cancelled);

/// The problem's right output, and the suspects in the order in which they were added.
class SuspectList {
 public:
  SuspectList(const Result& result, const OtherHeads& heads);

  /// A variant of the softmax over the problem's own head, and the problem that it solves, if there is one.
  void add(Slip::Kind kind, std::string text, SoftmaxVariant variant, std::optional<Problem> problem = {}) {
    add(kind, std::move(text), std::move(variant), own_, std::move(problem));
  }
  /// The same over another head, and the format of the inputs that the kernel saw, if that differs.
  void add(Slip::Kind kind, std::string text, SoftmaxVariant variant, MakeHead head, std::optional<Problem> problem = {},
           std::optional<Format> inputs = {});
  void add(Suspect suspect) { suspects_.push_back(std::move(suspect)); }
  /// The right softmax with a change.
  template <class Change>
  void add_with(Slip::Kind kind, std::string text, const Change& change) {
    SoftmaxVariant v = right_;
    change(v);
    add(kind, std::move(text), std::move(v));
  }
  /// The right softmax of another problem.
  void add_problem(Slip::Kind kind, std::string text, const Problem& p) { add(kind, std::move(text), right_softmax(p), p); }
  /// Keys combined with other rows of V than their own: value_row(key), negative for zeros.
  void add_values(Slip::Kind kind, std::string text, std::function<int(int)> value_row) {
    add_with(kind, std::move(text), [&](SoftmaxVariant& v) { v.value_row = std::move(value_row); });
  }

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
  SoftmaxVariant right_ = right_softmax(e_.problem);
  MakeHead own_ = made_once([inputs = inputs_] { return variant_head(inputs); });
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
