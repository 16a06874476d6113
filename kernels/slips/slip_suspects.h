/// The usual slips, each with the output that it gives.
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
  std::function<ExpectedRow()> begin;  ///< may take memory and time; the result is thread-safe
  std::optional<Problem> problem{};    ///< the problem whose exact output the slip gives, if there is one
  std::optional<Format> inputs{};      ///< input format of the kernel, if it differs
};

/// Likely tile sizes of the kernel for `length` rows or keys: the other method's, and powers of two from 16 to 256, all below
/// `length`.
std::vector<int> likely_tiles(const Experiment& experiment, int length);

/// Slips of the arithmetic, the simplest first, in kernels that round so; includes other heads if `heads` has any.
std::vector<Suspect> arithmetic_suspects(const Result& result, const OtherHeads& heads, const KernelRounding& rounds = {});

/// Slips of the output's layout: rows or columns of the exact output in other places. Searches the exact output for the rows
/// `rows` and the columns of `output`.
std::vector<Suspect> layout_suspects(const Result& result, const Matrix& output, std::span<const int> rows,
                                     const Cancelled& cancelled);

/// Collects suspects, in the order in which they are added; holds the problem's right softmax and inputs.
class SuspectList {
 public:
  SuspectList(const Result& result, const OtherHeads& heads, const KernelRounding& rounds);

  /// Adds a softmax variant with the problem's own head, and the problem that it solves, if there is one.
  void add(Slip::Kind kind, std::string text, SoftmaxVariant variant, std::optional<Problem> problem = {}) {
    add(kind, std::move(text), std::move(variant), own_, std::move(problem));
  }
  /// Same with another head, and the input format of the kernel, if it differs.
  void add(Slip::Kind kind, std::string text, SoftmaxVariant variant, MakeHead head, std::optional<Problem> problem = {},
           std::optional<Format> inputs = {});
  void add(Suspect suspect) { suspects_.push_back(std::move(suspect)); }
  /// Adds the right softmax with a change.
  template <class Change>
  void add_with(Slip::Kind kind, std::string text, const Change& change) {
    SoftmaxVariant v = right_;
    change(v);
    add(kind, std::move(text), std::move(v));
  }
  /// Adds the right softmax of another problem.
  void add_problem(Slip::Kind kind, std::string text, const Problem& p) {
    add(kind, std::move(text), right_softmax(p, right_.rounds), p);
  }
  /// Adds keys combined with the row value_row(key) of V, or with zeros if it is negative.
  void add_values(Slip::Kind kind, std::string text, std::function<int(int)> value_row) {
    add_with(kind, std::move(text), [&](SoftmaxVariant& v) { v.value_row = std::move(value_row); });
  }

  const Experiment& experiment() const { return e_; }
  const Problem& problem() const { return e_.problem; }
  AttentionShape shape() const { return shape_of(e_.problem); }
  const OtherHeads& heads() const { return heads_; }
  const std::shared_ptr<const Tensors>& inputs() const { return inputs_; }
  /// The right softmax.
  const SoftmaxVariant& right() const { return right_; }
  const MakeHead& own() const { return own_; }
  /// Returns a function that rounds other tensors like the inputs and cuts them to as many rows; it returns null if the shapes
  /// differ. The function may outlive the list and is thread-safe.
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
/// Adds Q, K and V in other roles, read in another layout, or rounded differently.
void add_operand_suspects(SuspectList& list);
/// Adds slips of loops over tiles of keys, and of merged runs of keys.
void add_tile_suspects(SuspectList& list);
/// Adds Q, K or V of other heads of the same file.
void add_head_suspects(SuspectList& list);

}  // namespace attoscope
