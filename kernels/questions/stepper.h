/// One row of scores followed step by step, with the same bits as the kernel: for learning the recurrence.
#pragma once

#include <vector>

#include "kernels/experiment/result.h"

namespace attoscope {

/// Rows of Q and K whose products are the scores, where a method stores them with scales.
struct StepRows {
  int d = 0;                     ///< numbers of a row; 0: none, q is 1 and every k its score
  int row = 0;                   ///< of Q: the one that is followed
  double scale = 1;              ///< of q.k
  std::vector<double> q{}, k{};  ///< as many rows as there are scores

  friend bool operator==(const StepRows&, const StepRows&) = default;
};

/// A row of scores and the values that its weights average. Scores and values are not rounded beyond the working type.
struct StepQuestion {
  std::vector<double> scores;  ///< S_j
  std::vector<double> values;  ///< V, scores.size() x d
  int d = 1;
  Algorithm algorithm = Algorithm::flash2;  ///< one that is stepped
  int block_k = 4;                          ///< keys of a tile; three_pass has none
  Format format = bf16;
  Precision precision{};              ///< the `input` step is skipped
  Accumulator pv = Accumulator::fma;  ///< accumulator of P.V; a tensor core gets scores and values rounded to `format`
  Accumulator qk = Accumulator::fma;  ///< accumulator of q.k, likewise
  ExponentialKind exponential = ExponentialKind::natural;
  double tau = 8;               ///< of flash4
  int flush = flush_of_policy;  ///< of flash2 and flash4: 0 or 1 tiles (see Method)
  Scalings scaling{};
  StepRows rows{};  ///< of scaled methods

  friend bool operator==(const StepQuestion&, const StepQuestion&) = default;
};
inline constexpr int max_step_scores = 64, max_step_columns = 4;
inline constexpr double max_step_score = 1e6;  ///< of scores and values, in magnitude

/// One number that a line computed: before and after its rounding, and its value without any rounding.
struct RoundedNumber {
  Step step{};
  int key = -1, column = -1;  ///< its place, if there are several
  double before = 0, after = 0, exact = 0;
  bool rounds = false;  ///< true: the step rounds at all
};

/// m, l and O as they are stored.
struct RowState {
  double m = 0, l = 0;
  std::vector<double> O{};  ///< d numbers
};

/// One execution of one line of the algorithm.
struct RowStep {
  StepKind kind{};
  int pass = 0, tile = 0;       ///< passes over the scores from 0 on; tile -1: none
  Keys keys{};                  ///< keys that it handles
  int reads = 0;                ///< scores read so far, over all passes
  double bytes = 0;             ///< moved between HBM and the chip so far
  double alpha = 1, share = 1;  ///< latest exp(m_old - m_new), and flash1's exp(m~ - m_new)
  RowState state{}, exact{};    ///< after it
  std::vector<RoundedNumber> numbers{};
};

/// A few numbers of one tensor as they are stored.
struct StoredVector {
  std::vector<double> given;     ///< before storage: rotated, and without the subtracted means
  std::vector<double> elements;  ///< the stored elements; the given numbers if the tensor is not scaled
  std::vector<double> scales;    ///< of each element; 1 if it is not scaled
  std::vector<double> operands;  ///< numbers that enter the product: elements, or elements times their scales
};

/// Scales of a run, and the places where they enter.
struct StepStorage {
  StoredVector q;                          ///< of the row
  std::vector<StoredVector> k, v;          ///< of each key
  std::vector<double> S_factor;            ///< factor of q.k of each key; empty: none
  bool factor_in_exponent = false;         ///< the factor is the same for all keys, and a part of `exponent_factor` or of scale
  std::vector<double> S_added;             ///< then added to q.k; empty: nothing
  std::vector<double> O_factor, O_offset;  ///< of each column, at the end; empty: none
  /// Numbers of each key; empty: P is not scaled. An element is rounded from its quotient.
  std::vector<double> P_quotients, P_elements, P_scales;
  double P_factor = 1;  ///< of P beside e and l: O is divided by it at the end
  double lift = 1;      ///< factor of e, l and P
};

struct Steps {
  StepQuestion question;
  int passes = 1;                                  ///< over the scores
  std::vector<RowStep> steps;                      ///< the first is `start`
  std::vector<double> S, P;                        ///< of each key: as scored, and as it enters P.V
  double score_unit = 1;                           ///< S and m times this are scores
  double exponent_factor = 1, exponent_shift = 0;  ///< of exp2: 2^(S * factor - m * factor + shift)
  StepStorage storage{};
  std::vector<double> output, exact_output{};
  bool same_bits = false;  ///< the kernel's own run had every S, P, m, alpha, l, O and output of these steps, bit for bit
};

/// All steps, in order. The kernel runs the row as well, and once more with nothing rounded. Throws std::invalid_argument in
/// one sentence.
Steps steps(const StepQuestion& question);

/// The experiment with this row in place of all: q = 1, k_j = S_j, scale 1; or those of `rows`. Throws as `steps` does.
Experiment step_experiment(const StepQuestion& question);

/// The keys that `scores_of_row` takes, with all rows of Q that share a scale with this one as far as there is room.
StepRows step_rows(const Result& result, int row, int most);

/// The question with the method's settings beside rounding: scales, exponential, accumulators, flushes.
StepQuestion with_scales_of(StepQuestion question, const Method& method);

/// Scores, before any rounding, of the first keys that a row of an answer's inputs sees, at most so many.
std::vector<double> scores_of_row(const Result& result, int row, int most);

}  // namespace attoscope
