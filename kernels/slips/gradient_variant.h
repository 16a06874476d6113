/// Attention's gradient of one head in double, with the deviations of mistaken kernels, and each element's expected rounding
/// error. kernels/judge/README.md has the derivation.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/stop_sign.h"

namespace attoscope {

/// One head of Q, K and V of its group, and the incoming gradients; all rounded to D.
struct GradientOperands {
  std::shared_ptr<const Tensors> tensors;
  std::shared_ptr<const std::vector<double>> d_o;                        ///< n x d_v
  std::vector<double> d_lse{};                                           ///< n; empty: 0
  std::vector<double> k_columns{}, v_columns{};                          ///< d x n_k, d_v x n_k
  std::vector<double> q_squares{}, k_squares{}, d_o_squares{};           ///< squares of the elements, row-major
  std::vector<double> q_length{}, k_length{}, v_length{}, d_o_length{};  ///< Euclidean norms of rows

  AttentionShape shape() const { return tensors->shape(); }
};
GradientOperands gradient_operands(std::shared_ptr<const Tensors> tensors, std::shared_ptr<const std::vector<double>> d_o,
                                   std::vector<double> d_lse);

/// Formats of stored scores and of the softmax's intermediate results, rounded exactly as such kernels do; none: not rounded.
struct StoredScores {
  std::optional<Format> products{};  ///< q.k
  std::optional<Format> scores{};    ///< q.k times the scale, before a soft cap and ALiBi
  std::optional<Format> biased{};    ///< scores with ALiBi's bias
  std::optional<Format> softmax{};   ///< S - m, its exp, and l
  std::optional<Format> divisor{};   ///< 1 / scale, by which the kernel divides q.k; none: it multiplies by the scale
};

/// Roundings of a kernel that its expected errors depend on.
struct GradientRounding {
  Format format = bf16, stored_o = bf16;  ///< format of P and dS; format of O
  bool stores_dP = false;                 ///< dP is rounded to `format`, and dS again after its scale
  bool stores_tiles = false;              ///< sums of dQ, dK and dV are rounded to `format` after every tile
  StoredScores stored{};
  std::optional<StoredScores> forward{};  ///< of the forward pass, which gives L and O; none: `stored`
};

/// Results of the right forward pass, one per query.
struct GradientRows {
  Matrix o;                         ///< exact, n x d_v
  std::vector<double> max, lse;     ///< of the scores less `lowest`; -infinity if a query sees no key
  std::vector<double> lowest;       ///< m of rows that see only a mask tensor's lowest numbers, else 0
  std::vector<double> delta;        ///< rowsum(dO*O) - dL
  std::vector<double> relative;     ///< expected relative error of P and dS
  std::vector<double> delta_error;  ///< expected error of delta
  StoredScores stored{};
};
GradientRows gradient_rows(const GradientOperands& x, const Problem& problem, const GradientRounding& rounding,
                           const StopSign& stop);

/// Number of times that a pair of a query and a key counts.
using PairCount = std::function<double(int query, int key)>;

/// A backward pass. Defaults are correct except for `scale`, `keys`, `lse` and `delta`.
struct GradientVariant {
  double scale = 1;
  std::function<Keys(int row)> keys{};
  double softcap = 0, alibi = 0;
  int diagonal = 0;                                     ///< key index of query 0
  std::shared_ptr<const MaskTensor> mask{};             ///< mask whose terms are added to scores; null: no terms
  std::vector<double> max{}, lse{}, lowest{}, delta{};  ///< [query], as in `GradientRows`
  std::vector<double> delta_error{};                    ///< [query]: expected error; empty: the right delta's
  bool has_cap_factor = true;                           ///< dS gets the soft cap's derivative
  int dp_columns = 0;                                   ///< columns of dO and V that dP sums; 0: all
  std::optional<Format> products{};                     ///< format of P and dS in products; none: not rounded
  PairCount dq_count{}, dk_count{}, dv_count{};         ///< default: every pair counts once
  StoredScores stored{};
  bool rounds_tiles = false;                                ///< dK and dV are rounded after every tile of queries
  const Matrix *dk_before = nullptr, *dv_before = nullptr;  ///< sums that such tiles start from; null: 0
  bool goes_on = false;                                     ///< another head's tiles are added to these sums later
  bool sums_delta = false;  ///< delta is rowsum(P*dP) - dL with this pass's P and dP; ignores `delta`
};
GradientVariant right_gradient(const Problem& problem, const GradientRows& rows);

/// Gradients, and the expected rounding error of each element (root mean square, w).
struct ExactGradients {
  Matrix dq, dk, dv;
  Matrix dq_error, dk_error, dv_error;
};

/// Receives the finished rows [first, end) of dQ; returns false to end the pass.
using RowsSeen = std::function<bool(int first, int end, const ExactGradients& so_far)>;

/// Computes the gradients of `variant`; false if `seen` ended the pass. Goes from the last row to the first, or, if tiles are
/// stored, from the first to the last. Throws what `stop` throws.
bool exact_gradients(const GradientOperands& x, const GradientVariant& variant, const GradientRows& rows,
                     const GradientRounding& rounding, ExactGradients& out, const StopSign& stop, const RowsSeen& seen = {});

/// P and dS of one query and all keys (n_k values each), or of one key and all queries (n values each). `fixed` is the query,
/// if `is_query`, or the key.
struct PairNumbers {
  std::vector<double> p, ds;
};
PairNumbers pairs_of(const GradientOperands& x, const GradientVariant& variant, int fixed, bool is_query);

/// Gradient of the sink, and its expected error; 0 without a sink.
struct SinkGradient {
  double value = 0, error = 0;
};
SinkGradient sink_gradient(const Problem& problem, const GradientRows& rows);

}  // namespace attoscope
