/// A wrong output, and kernels with a mistake to compare it with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/judge/judge.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// A kernel with one mistake. Members that are not set are right.
struct MistakenKernel {
  std::shared_ptr<const VariantHead> head;  ///< its Q, K and V; it may have more keys
  SoftmaxVariant softmax;                   ///< its scale, mask, soft cap, bias and sink
  std::function<double(int row, int key, double s)> score{};
  std::function<bool(int row, int key)> sees{};
  std::function<double(int row, int key, double e)> in_O{}, in_l{};  ///< weight in O, and in l, of a key with exp(S - m) = e
  /// Changes all weights of a row for O and for l; `s` are the scores, hidden keys have weight 0.
  std::function<void(int row, const std::vector<double>& s, std::vector<double>& of_O, std::vector<double>& of_l)> weights{};
  double slack = 0;  ///< unknown rounding: a row may be off by this many times more of its tolerance
};

/// Text of rows: "rows 64 to 127", "rows 16 to 31 of every 64".
std::string rows_text(const std::vector<int>& rows);

/// The expected rows, infinite where they are not known.
RoundedRow rows_or_infinity(ExpectedRow expected, int columns);

/// At most `count` of the rows, evenly spread.
std::vector<int> spread_of(const std::vector<int>& rows, int count);

/// Adds a key behind the last of `runs`, or to it.
void add_key(std::vector<Keys>& runs, int key);

/// Sum of products of `count` numbers, in eight chains that a processor adds side by side.
double dot(const double* x, const double* y, std::size_t count);

/// Solves A x = b by Cholesky decomposition. A is n x n, symmetric and positive; only its lower triangle is read, and its
/// diagonal is slightly increased. An unknown that A does not determine becomes 0.
std::vector<double> solved(std::vector<double> a, std::vector<double> b);

/// Sum of exp(S) over the row's visible keys and the sink.
double sum_of_exp(const VariantHead& head, const SoftmaxVariant& right, int row);

class WrongOutput {
 public:
  /// All arguments must outlive the object.
  WrongOutput(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
              const Options& options);
  /// Sets other options, which must outlive the object.
  void follow(const Options& options) { options_ = &options; }

  const Problem& problem() const { return output_.problem; }
  const KernelClaim& claim() const { return output_.claim; }
  const Tensors& tensors() const { return *output_.problem.input.tensors; }
  const OtherHeads& others() const { return heads_; }
  /// The output compared with the usual kernel's.
  const Result& result() const { return result_; }
  const HeadJudgement& found() const { return judged_.head; }
  const Matrix& golden() const { return judged_.tolerance.golden; }
  const std::vector<double>& values() const { return *output_.values; }
  const std::shared_ptr<const VariantHead>& head() const { return head_; }
  const SoftmaxVariant& right() const { return right_; }
  const double* output(int row) const { return values().data() + at(row) * at(golden().cols); }
  const double* golden_row(int row) const { return golden().values.data() + at(row) * at(golden().cols); }
  /// Rows with an element beyond its tolerance; `some`: at most `count` of them, evenly spread.
  const std::vector<int>& wrong() const { return wrong_; }
  std::vector<int> some(int count) const { return spread_of(wrong_, count); }
  bool is_wrong(int row, int c) const;
  /// Throws Stopped when cancelled, as `fits` and the rows of `rows_of` do.
  void check() const;

  /// True if the row may be rounded from `expected`.
  bool fits(int row, const RoundedRow& expected) const;
  /// True if the row is roughly as near to o / l as rounding allows.
  bool may_be(int row, const std::vector<double>& o, double l) const;
  /// Additional tolerance of weights whose sqrt(sum of P^2 V^2) is `weight`, over the right weights' tolerance.
  double more_tolerated(int row, int c, double weight) const;
  /// The kernel's rows; their slack is the additional tolerance of its weights.
  RoundedRow rows_of(MistakenKernel kernel) const;
  MistakenKernel right_kernel() const { return {.head = head_, .softmax = right_}; }
  /// The right kernel on tensors like the problem's.
  MistakenKernel kernel_of(Tensors tensors) const;
  /// The right kernel with other numbers for Q, K or V.
  MistakenKernel kernel_with(TensorsPart part, std::vector<double> numbers) const;

  /// The slip, if every element of the output is rounded from `expected`. `named_in_rows` accepts it also if all wrong rows
  /// are, and then adds the rows to the text.
  std::optional<Slip> named(Slip::Kind kind, const std::string& text, const RoundedRow& expected) const;
  std::optional<Slip> named_in_rows(Slip::Kind kind, const std::string& text, const RoundedRow& expected) const;

 private:
  bool leaves_little(const Matrix& expected) const;
  /// Adds to the slack the rounding error of storage where `expected` is larger than golden.
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
/// `slip`, if any, with the keys that are wrong.
inline NamedSlip with_keys(NamedSlip slip, std::vector<Keys> keys) {
  if (slip) slip->keys = std::move(keys);
  return slip;
}
/// Fits of one kind of mistake each; the result is the first mistake that explains the output. Each is described in its source
/// file.
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

/// Place of `sequence_fit` in the order of fits.cpp.
inline constexpr int sequence_fit_at = 1;

/// The first fit, in the order of fits.cpp, whose exact output explains every element of `output` by the criterion of `judge`;
/// none if no fit does. README.md describes each fit. `judged` is the judgement on `output`, `result` compares the output with
/// the usual kernel's. `fit` is the fit to try, or negative for all; it is set to the fit that was found. Throws Stopped when
/// cancelled, and what `heads.read` throws.
std::optional<Slip> fitted_slip(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
                                const Options& options, int& fit);

}  // namespace attoscope
