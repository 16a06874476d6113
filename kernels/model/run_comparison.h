/// Somebody's run of a model held to this one: which of its tensors differs first, and what would explain it.
#pragma once

#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/method.h"
#include "kernels/model/architecture.h"
#include "kernels/model/surroundings.h"

namespace attoscope {

/// Tensors of somebody's run; their rows are those of the question's tokens.
class CapturedRun {
 public:
  virtual ~CapturedRun() = default;
  virtual bool has(ModelTensor t, int layer) const = 0;
  /// [n, columns] as the model makes them, row-major; of logprobs [n - 1]. Throws std::runtime_error with one sentence.
  virtual std::vector<double> numbers(ModelTensor t, int layer) const = 0;
  /// The format that it is stored in.
  virtual Format stored(ModelTensor t, int layer) const = 0;
};

struct RunQuestion {
  const LanguageModel* model = nullptr;
  std::vector<int> tokens;
  Surroundings around{};   ///< as the run is said to round
  Method a{};              ///< its attention, where Q, K, V or O of the heads are not captured
  int first_position = 0;  ///< of the first token in the run's rotary embedding, to be tried
  const CapturedRun* captured = nullptr;
};

/// A tensor of the run, computed from the captured tensors before it. ratio: distance over tolerance, above 1 where it differs.
struct TensorDistance {
  ModelTensor tensor{};
  int layer = -1;
  double ratio = 0;
  std::string where;  ///< "head 3", "rows 257 to 299"; "" everywhere, or nowhere
};

/// A target whose log-probability is beyond its tolerance; nats.
struct TokenDistance {
  int position = 0;  ///< of the token that is predicted
  double captured = 0, expected = 0, tolerance = 0;
};

struct RunJudgement {
  std::vector<TensorDistance> tensors;  ///< all that were captured, in order of computation
  int first = -1;                       ///< the first that differs; -1: none
  int differing = 0;
  std::string explanation;            ///< of the first: a sentence
  bool explained = false;             ///< the explanation accounts for all of the first difference
  std::vector<TokenDistance> tokens;  ///< of captured log-probabilities, the furthest first
};

/// The main format of such surroundings: that of attention's output; fp32 or fp64 where it is not rounded.
Format format_of(const Surroundings& around);

/// Compares tensor by tensor. Each is computed from the captured ones before it, by the exact model, under the question's
/// rounding, and by two rivals whose sums have other orders; README.md derives the tolerance. Changes of the program
/// are run for the first difference. Throws std::invalid_argument in a sentence, std::runtime_error of `captured`, Stopped.
RunJudgement judge_run(const RunQuestion& question, const Options& options = {});

}  // namespace attoscope
