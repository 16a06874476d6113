/// Comparison of somebody's run of a model with this program's: the first tensor that differs, and a change that explains it.
#pragma once

#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/method.h"
#include "kernels/model/architecture.h"
#include "kernels/model/surroundings.h"

namespace attoscope {

/// Captured tensors of somebody's run; their rows are the question's tokens.
class CapturedRun {
 public:
  virtual ~CapturedRun() = default;
  virtual bool has(ModelTensor t, int layer) const = 0;
  /// Numbers [n, columns], row-major; [n - 1] for logprobs. Throws std::runtime_error with one sentence.
  virtual std::vector<double> numbers(ModelTensor t, int layer) const = 0;
  /// The format of the stored tensor.
  virtual Format stored(ModelTensor t, int layer) const = 0;
};

struct RunQuestion {
  const LanguageModel* model = nullptr;
  std::vector<int> tokens;
  Surroundings around{};   ///< the stated rounding of the run
  Method a{};              ///< its attention, for layers without captured Q, K, V or O of the heads
  int first_position = 0;  ///< position of the first token in the run's rotary embedding, tried as a change
  const CapturedRun* captured = nullptr;
};

/// A tensor of the run, computed from the captured tensors before it. ratio: distance over tolerance; above 1: it differs.
struct TensorDistance {
  ModelTensor tensor{};
  int layer = -1;
  double ratio = 0;
  std::string where;  ///< "head 3", "rows 257 to 299"; "": everywhere, or nowhere
};

/// A target whose log-probability exceeds its tolerance; nats.
struct TokenDistance {
  int position = 0;  ///< of the token that is predicted
  double captured = 0, expected = 0, tolerance = 0;
};

struct RunJudgement {
  std::vector<TensorDistance> tensors;  ///< all captured tensors, in order of computation
  int first = -1;                       ///< index of the first that differs; -1: none
  int differing = 0;
  std::string explanation;            ///< of the first difference: a sentence
  bool explained = false;             ///< the explanation accounts for all of the first difference
  std::vector<TokenDistance> tokens;  ///< of captured log-probabilities, furthest first
};

/// The main format of the surroundings: the format of attention's output; fp32 or fp64 if it is not rounded.
Format format_of(const Surroundings& around);

/// Compares tensor by tensor. Each is computed from the captured tensors before it by the exact model, under the question's
/// rounding, and by two rivals with other orders of sums; README.md derives the tolerance. Runs changes of the program to
/// explain the first difference. Throws std::invalid_argument in a sentence, std::runtime_error of `captured`, Stopped.
RunJudgement judge_run(const RunQuestion& question, const Options& options = {});

}  // namespace attoscope
