/// One row of scores followed step by step, with the same bits as the kernel: for learning the recurrence.
#pragma once

#include <vector>

#include "kernels/experiment/result.h"

namespace attoscope {

/// A row of scores and the values that its weights average. Scores and values are not rounded beyond the working type.
struct StepQuestion {
  std::vector<double> scores;  ///< S_j
  std::vector<double> values;  ///< V, scores.size() x d
  int d = 1;
  Algorithm algorithm = Algorithm::flash2;  ///< three_pass, two_pass, flash1 or flash2
  int block_k = 4;                          ///< keys of a tile; three_pass has none
  Format format = bf16;
  Precision precision{};              ///< the `input` step is skipped
  Accumulator pv = Accumulator::fma;  ///< what adds up P.V; a tensor core gets scores and values rounded to `format`

  friend bool operator==(const StepQuestion&, const StepQuestion&) = default;
};
inline constexpr int max_step_scores = 64, max_step_columns = 4;
inline constexpr double max_step_score = 1e6;  ///< of scores and values, in magnitude

/// What one line of an algorithm does. In flash1, `alpha` computes beta too.
enum class StepKind : std::uint8_t { start, max, tile_max, alpha, weights, sum, normalise, output, finish };

/// One number that a line computed: before and after its rounding, and its value if nothing were ever rounded.
struct RoundedNumber {
  Step step{};
  int key = -1, column = -1;  ///< which, where there are several
  double before = 0, after = 0, exact = 0;
  bool rounds = false;  ///< whether the step rounds at all
};

/// m, l and O as they are stored.
struct RowState {
  double m = 0, l = 0;
  std::vector<double> O;  ///< d numbers
};

/// One execution of one line of the algorithm.
struct RowStep {
  StepKind kind{};
  int pass = 0, tile = 0;       ///< passes over the scores from 0 on; tile -1: none
  Keys keys{};                  ///< keys that it handles
  int reads = 0;                ///< scores read so far, over all passes
  double bytes = 0;             ///< moved between HBM and the chip so far
  double alpha = 1, share = 1;  ///< latest exp(m_old - m_new), and flash1's exp(m~ - m_new)
  RowState state, exact;        ///< after it
  std::vector<RoundedNumber> numbers;
};

struct Steps {
  StepQuestion question;
  int passes = 1;              ///< over the scores
  std::vector<RowStep> steps;  ///< the first is `start`
  std::vector<double> S, P;    ///< of each key: as scored, and as it enters P.V
  std::vector<double> exact_P;
  std::vector<double> output, exact_output;
  bool same_bits = false;  ///< the kernel's own run had every S, P, m, alpha, l, O and output of these steps, bit for bit
};

/// All steps, in order. The kernel runs the row as well, and once more with nothing rounded. Throws std::invalid_argument in
/// one sentence.
Steps steps(const StepQuestion& question);

/// The experiment whose rows all are this one: q = 1, k_j = S_j, scale 1. Throws as `steps` does.
Experiment step_experiment(const StepQuestion& question);

/// Scores, before any rounding, of the first keys that a row of an answer's inputs sees, at most so many.
std::vector<double> scores_of_row(const Result& result, int row, int most);

}  // namespace attoscope
