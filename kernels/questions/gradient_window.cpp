#include "kernels/questions/gradient_window.h"

#include <limits>
#include <utility>

#include "kernels/parallel/parallel.h"
#include "kernels/questions/gradient_passes.h"
#include "kernels/stop_token.h"

namespace attoscope {

GradientWindow gradient_window(const ScoreQuestion& question, const Options& options) {
  check_window(question);
  GradientWindow window{.question = question, .tensors = {}};
  const StopToken stop(options);
  on_threads(options.threads, [&] {
    const std::shared_ptr<const PartialPasses> passes = gradient_passes(question.experiment, options, stop);
    const auto ask = [&](PartialBackward* pass, std::vector<double> PairValues::* to) {
      GradientPairs pairs;
      if (pass != nullptr)
        pairs = pass->pairs(numbers(question.rows, question.first_row), numbers(question.keys, question.first_key));
      for (std::vector<double>* x : {&pairs.p, &pairs.dp, &pairs.ds})
        x->resize(at(question.rows) * at(question.keys), std::numeric_limits<double>::quiet_NaN());
      window.tensors[static_cast<std::size_t>(PairTensor::P)].*to = std::move(pairs.p);
      window.tensors[static_cast<std::size_t>(PairTensor::dP)].*to = std::move(pairs.dp);
      window.tensors[static_cast<std::size_t>(PairTensor::dS)].*to = std::move(pairs.ds);
    };
    ask(passes->golden.get(), &PairValues::golden);
    ask(passes->a.get(), &PairValues::a);
    ask(passes->b.get(), &PairValues::b);
  });
  return window;
}

}  // namespace attoscope
