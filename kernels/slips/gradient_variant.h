/// Attention's gradient of one head in double, with the deviations of mistaken kernels, and the error that rounding is expected
/// to leave in each element. The derivation is written in kernels/judge/README.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// One head of Q with K and V of its group, and the gradients that come in; all rounded to D.
struct GradientOperands {
  std::shared_ptr<const Tensors> tensors;
  std::shared_ptr<const std::vector<double>> d_o;                        ///< n x d_v
  std::vector<double> d_lse{};                                           ///< n; empty: 0
  std::vector<double> k_columns{}, v_columns{};                          ///< d x n_k, d_v x n_k
  std::vector<double> q_squares{}, k_squares{}, d_o_squares{};           ///< of each element, by rows
  std::vector<double> q_length{}, k_length{}, v_length{}, d_o_length{};  ///< Euclidean norms of rows

  AttentionShape shape() const { return tensors->shape(); }
};
GradientOperands gradient_operands(std::shared_ptr<const Tensors> tensors, std::shared_ptr<const std::vector<double>> d_o,
                                   std::vector<double> d_lse);

/// Formats that the scores, and what a softmax makes of them, are rounded to, exactly as such kernels do; none: not rounded.
struct StoredScores {
  std::optional<Format> products{};  ///< q.k
  std::optional<Format> scores{};    ///< q.k times the scale, before a soft cap and ALiBi
  std::optional<Format> biased{};    ///< with ALiBi's bias
  std::optional<Format> softmax{};   ///< S - m, its exp, and l
  double scale_factor = 1;           ///< q.k gets the scale times this, of a divisor that is rounded
};

/// Roundings of a kernel, as far as its expected errors depend on them.
struct GradientRounding {
  Format format = bf16, stored_o = bf16;  ///< of P and dS; of O
  bool stores_dP = false;                 ///< in `format`, and dS again once it is scaled
  bool stores_tiles = false;              ///< dQ, dK and dV are sums in `format` from tile to tile
  StoredScores stored{};
};

/// Numbers of the right forward pass, one for each query.
struct GradientRows {
  Matrix o;                         ///< exact, n x d_v
  std::vector<double> max, lse;     ///< of the scores less `lowest`; -infinity where a query sees no key
  std::vector<double> lowest;       ///< m of a row of a mask tensor's lowest numbers alone, else 0
  std::vector<double> delta;        ///< rowsum(dO*O) - dL
  std::vector<double> relative;     ///< expected relative error of P and dS
  std::vector<double> delta_error;  ///< expected error of delta
  StoredScores stored{};
};
GradientRows gradient_rows(const GradientOperands& x, const Problem& problem, const GradientRounding& rounding,
                           const StopSign& stop);

/// Number of times that a pair of a query and a key counts.
using PairCount = std::function<double(int query, int key)>;

/// A backward pass. The default of every field is the correct one, but for `scale`, `keys`, `lse` and `delta`.
struct GradientVariant {
  double scale = 1;
  std::function<Keys(int row)> keys{};
  double softcap = 0, alibi = 0;
  int diagonal = 0;                                     ///< the key at which query 0 stands
  std::shared_ptr<const MaskTensor> mask{};             ///< whose terms are added to scores; null: none are
  std::vector<double> max{}, lse{}, lowest{}, delta{};  ///< of each query, as in `GradientRows`
  std::vector<double> delta_error{};                    ///< expected, of each query; empty: that of the right delta
  bool has_cap_factor = true;                           ///< dS gets the soft cap's derivative
  int dp_columns = 0;                                   ///< columns of dO and V that dP sums; 0: all
  std::optional<Format> products{};              ///< P and dS are rounded to it as they enter products; none: not rounded
  PairCount dq_count{}, dk_count{}, dv_count{};  ///< none: once
  StoredScores stored{};
  bool rounds_tiles = false;                                ///< dK and dV are rounded after every tile of queries
  const Matrix *dk_before = nullptr, *dv_before = nullptr;  ///< sums that such tiles are added to; null: 0
  bool goes_on = false;                                     ///< tiles of another head are added to the last of these sums
  bool sums_delta = false;  ///< delta is rowsum(P*dP) - dL of this pass's own P and dP, not `delta`
};
GradientVariant right_gradient(const Problem& problem, const GradientRows& rows);

/// Gradients, and the error of each element that rounding is expected to leave (its root mean square, w).
struct ExactGradients {
  Matrix dq, dk, dv;
  Matrix dq_error, dk_error, dv_error;
};

/// Looks at rows [first, end) of dQ, which are done; false ends the pass.
using RowsSeen = std::function<bool(int first, int end, const ExactGradients& so_far)>;

/// The gradients of `variant`; false where `seen` ended it. Rows come from the last to the first,
/// where tiles are stored from the first to the last. Throws what `stop` throws.
bool exact_gradients(const GradientOperands& x, const GradientVariant& variant, const GradientRows& rows,
                     const GradientRounding& rounding, ExactGradients& out, const StopSign& stop, const RowsSeen& seen = {});

/// dS of one query and all keys, n_k values, and of one key and all queries, n values; P in the same way.
struct PairNumbers {
  std::vector<double> p, ds;
};
PairNumbers pairs_of_row(const GradientOperands& x, const GradientVariant& variant, int row);
PairNumbers pairs_of_key(const GradientOperands& x, const GradientVariant& variant, int key);

/// The gradient of the sink, and its expected error. 0 without a sink.
struct SinkGradient {
  double value = 0, error = 0;
};
SinkGradient sink_gradient(const Problem& problem, const GradientRows& rows);

}  // namespace attoscope
