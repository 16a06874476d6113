/// One row of scores, step by step, with the same bits as the kernel: for learning the recurrence.
#pragma once

#include <vector>

#include "kernels/experiment/result.h"

namespace attoscope {

/// Rows of Q and K whose products are the scores, for methods that store them with scales.
struct StepRows {
  int d = 0;                     ///< columns; 0: no rows, q is 1 and every k is its score
  int row = 0;                   ///< the row of Q to follow
  double scale = 1;              ///< scale of q.k
  std::vector<double> q{}, k{};  ///< as many rows as there are scores

  friend bool operator==(const StepRows&, const StepRows&) = default;
};

/// A row of scores and its values. Scores and values are rounded only to the working type.
struct StepQuestion {
  std::vector<double> scores;  ///< S_j
  std::vector<double> values;  ///< V, scores.size() x d
  int d = 1;
  Algorithm algorithm = Algorithm::flash2;  ///< must be an algorithm that can be stepped
  int block_k = 4;                          ///< keys per tile; three_pass has no tiles
  Format format = bf16;
  Precision precision{};              ///< the `input` step is skipped
  Accumulator pv = Accumulator::fma;  ///< accumulator of P.V; for a tensor core, scores and values are rounded to `format`
  Accumulator qk = Accumulator::fma;  ///< accumulator of q.k, same
  ExponentialKind exponential = ExponentialKind::natural;
  double tau = 8;               ///< for flash4
  int flush = flush_of_policy;  ///< for flash2 and flash4: 0 or 1 tiles (see Method)
  Scalings scaling{};
  StepRows rows{};  ///< for methods with scales

  friend bool operator==(const StepQuestion&, const StepQuestion&) = default;
};
inline constexpr int max_step_scores = 64, max_step_columns = 4;
inline constexpr double max_step_score = 1e6;  ///< largest magnitude of scores and values

/// One number computed by a line: before and after rounding, and its exact value.
struct RoundedNumber {
  Step step{};
  int key = -1, column = -1;  ///< set if the line computes several
  double before = 0, after = 0, exact = 0;
  bool rounds = false;  ///< the step rounds at all
};

/// m, l and O as stored.
struct RowState {
  double m = 0, l = 0;
  std::vector<double> O{};  ///< d numbers
};

/// One execution of one line of the algorithm.
struct RowStep {
  StepKind kind{};
  int pass = 0, tile = 0;       ///< passes over the scores from 0; tile -1: none
  Keys keys{};                  ///< keys that the step processes
  int reads = 0;                ///< scores read so far, over all passes
  double bytes = 0;             ///< bytes moved between HBM and the chip so far
  double alpha = 1, share = 1;  ///< latest exp(m_old - m_new), and flash1's exp(m~ - m_new)
  RowState state{}, exact{};    ///< after the step
  std::vector<RoundedNumber> numbers{};
};

/// Some numbers of one tensor as stored.
struct StoredVector {
  std::vector<double> given;     ///< before storage: rotated, and with the means subtracted
  std::vector<double> elements;  ///< stored elements; the given numbers if the tensor has no scales
  std::vector<double> scales;    ///< [element]; 1 if the tensor has no scales
  std::vector<double> operands;  ///< factors of the product: elements, or elements times their scales
};

/// Scales of a run, and where they are applied.
struct StepStorage {
  StoredVector q;                          ///< the row's q
  std::vector<StoredVector> k, v;          ///< [key]
  std::vector<double> S_factor;            ///< [key]: factor of q.k; empty: none
  bool factor_in_exponent = false;         ///< one factor for all keys, part of `exponent_factor` or of scale
  std::vector<double> S_added;             ///< [key]: added to q.k after the factor; empty: nothing
  std::vector<double> O_factor, O_offset;  ///< [column], applied at the end; empty: none
  /// [key]; empty: P has no scales. An element is the rounded quotient.
  std::vector<double> P_quotients, P_elements, P_scales;
  double P_factor = 1;  ///< factor of P but not of e and l; O is divided by it at the end
  double lift = 1;      ///< common factor of e, l and P
};

struct Steps {
  StepQuestion question;
  int passes = 1;                                  ///< passes over the scores
  std::vector<RowStep> steps;                      ///< the first is `start`
  std::vector<double> S, P;                        ///< [key]: score, and P in P.V
  double score_unit = 1;                           ///< S and m times this are the scores
  double exponent_factor = 1, exponent_shift = 0;  ///< for exp2: 2^(S * factor - m * factor + shift)
  StepStorage storage{};
  std::vector<double> output, exact_output{};
  bool same_bits = false;  ///< the kernel's own run has the same bits in every S, P, m, alpha, l, O and output
};

/// All steps, in order. Also runs the kernel on the row, and the steps with nothing rounded. Throws std::invalid_argument with
/// one sentence.
Steps steps(const StepQuestion& question);

/// The experiment with only this row's tensors: q = 1, k_j = S_j, scale 1; or the question's `rows`. Throws as `steps` does.
Experiment step_experiment(const StepQuestion& question);

/// The keys of `scores_of_row`, and the rows of Q that share a scale with this row, as many as fit.
StepRows step_rows(const Result& result, int row, int most);

/// The question with the method's settings apart from rounding: scales, exponential, accumulators, flushes.
StepQuestion with_scales_of(StepQuestion question, const Method& method);

/// Unrounded scores of the first keys, at most `most`, that a row of the result's inputs sees.
std::vector<double> scores_of_row(const Result& result, int row, int most);

}  // namespace attoscope
