/// An output that is wrong, and kernels with a mistake that its elements are compared with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/judge/judge.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// A kernel with a mistake. Every member that is not set is right.
struct MistakenKernel {
  std::shared_ptr<const VariantHead> head;  ///< the Q, K, V that it sees; of keys maybe more
  SoftmaxVariant softmax;                   ///< its scale, mask, soft cap, bias and sink
  std::function<double(int row, int key, double s)> score{};
  std::function<bool(int row, int key)> sees{};
  std::function<double(int row, int key, double e)> in_O{}, in_l{};  ///< the weight exp(S - m) as O and l count it
  /// All weights of a row at once, those of hidden keys 0: may change them for O and for l; `s` are the scores.
  std::function<void(int row, const std::vector<double>& s, std::vector<double>& of_O, std::vector<double>& of_l)> weights{};
  double slack = 0;  ///< by how many times its tolerance a row may be off more, for roundings that nobody knows
};

/// Rows as words: "rows 64 to 127", "rows 16 to 31 of every 64".
std::string rows_text(const std::vector<int>& rows);

/// A x = b by Cholesky, where A is n x n, symmetric and positive, with a diagonal that is made a little larger; of A what lies
/// on and below it is read. An unknown that A says nothing of gets 0.
std::vector<double> solved(std::vector<double> a, std::vector<double> b);

/// sum exp(S) over the row's visible keys, and the sink's.
double sum_of_exp(const VariantHead& head, const SoftmaxVariant& right, int row);

class WrongOutput {
 public:
  /// All stay in use.
  WrongOutput(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
              const Options& options);
  /// Sets other options, which stay in use.
  void follow(const Options& options) { options_ = &options; }

  const Problem& problem() const { return output_.problem; }
  const KernelClaim& claim() const { return output_.claim; }
  const Tensors& tensors() const { return *output_.problem.input.tensors; }
  const OtherHeads& others() const { return heads_; }
  /// The output beside the usual kernel's.
  const Result& result() const { return result_; }
  const HeadJudgement& found() const { return judged_.head; }
  const Matrix& golden() const { return judged_.tolerance.golden; }
  const std::vector<double>& values() const { return *output_.values; }
  const std::shared_ptr<const VariantHead>& head() const { return head_; }
  const SoftmaxVariant& right() const { return right_; }
  const double* output(int row) const { return values().data() + at(row) * at(golden().cols); }
  const double* golden_row(int row) const { return golden().values.data() + at(row) * at(golden().cols); }
  /// Rows with an element beyond its tolerance, and at most `count` of them, spread over all.
  const std::vector<int>& wrong() const { return wrong_; }
  std::vector<int> some(int count) const;
  bool is_wrong(int row, int c) const;
  void check() const;

  /// True if the row is rounded from this.
  bool fits(int row, const RoundedRow& expected) const;
  /// True if the row is as near to o / l as rounding allows, roughly.
  bool may_be(int row, const std::vector<double>& o, double l) const;
  /// The error tolerated beyond that of the right weights where sqrt(sum of P^2 V^2) is `weight`.
  double more_tolerated(int row, int c, double weight) const;
  /// The kernel's rows, with what its weights make the tolerance more than that of the right ones.
  RoundedRow rows_of(MistakenKernel kernel) const;
  MistakenKernel right_kernel() const { return {.head = head_, .softmax = right_}; }
  /// The right kernel on tensors like the problem's.
  MistakenKernel kernel_of(Tensors tensors) const;
  /// The right kernel with other numbers for Q, K or V.
  MistakenKernel kernel_with(TensorsPart part, std::vector<double> numbers) const;

  /// The slip, where every element of the output is rounded from `expected`; or, `in_wrong_rows`, where all wrong rows are, and
  /// then the text says in which rows.
  std::optional<Slip> named(Slip::Kind kind, const std::string& text, const RoundedRow& expected) const;
  std::optional<Slip> named_in_rows(Slip::Kind kind, const std::string& text, const RoundedRow& expected) const;

 private:
  bool leaves_little(const std::vector<double>& expected) const;
  /// With what is lost when such a row is stored, where it is larger than golden.
  RoundedRow as_stored(const RoundedRow& expected) const;

  const JudgedOutput& output_;
  const Judged& judged_;
  const Result& result_;
  const OtherHeads& heads_;
  const Options* options_;
  std::shared_ptr<const VariantHead> head_ = std::make_shared<const VariantHead>(variant_head(output_.problem.input.tensors));
  SoftmaxVariant right_ = right_softmax(output_.problem);
  std::vector<int> wrong_;
};

using NamedSlip = std::optional<Slip>;
/// The slip, if there is one, with the keys that are wrong.
inline NamedSlip with_keys(NamedSlip slip, std::vector<Keys> keys) {
  if (slip) slip->keys = std::move(keys);
  return slip;
}
/// Mistakes of a kind each, the first that explains the output; see the sources of these names.
NamedSlip count_fit(const WrongOutput& wrong);
NamedSlip place_fit(const WrongOutput& wrong);
NamedSlip suspect_fit(const WrongOutput& wrong);
NamedSlip mask_fit(const WrongOutput& wrong);
NamedSlip sequence_fit(const WrongOutput& wrong);
NamedSlip key_place_fit(const WrongOutput& wrong);
NamedSlip loop_fit(const WrongOutput& wrong);
NamedSlip rotary_fit(const WrongOutput& wrong);
NamedSlip foreign_key_fit(const WrongOutput& wrong);
NamedSlip rounding_fit(const WrongOutput& wrong);

/// The first fit, in the order of fits.cpp, with which the exact output explains every element of `output`, by the criterion of
/// `judge`; README.md says what each of them fits. None where none does. `judged` is the judgement on `output`, `result` the
/// output beside the usual kernel's. `fit` is the one to try, negative for all, and becomes the one that is found. Throws
/// Stopped when cancelled, and what `heads.read` throws.
std::optional<Slip> fitted_slip(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
                                const Options& options, int& fit);

}  // namespace attoscope
