// Numbers of tensor cores' sums.
#include <stdexcept>

#include "app/plots/own_numbers.h"
#include "app/words/numbers.h"
#include "kernels/questions/sum_drift.h"
#include "ui/frame/lesson.h"

namespace attoscope::app {
namespace {

constexpr std::string_view sum_prefix = "sum.", flush = "flush", centred = "centred";
constexpr int largest_flush = 1 << 20;

[[noreturn]] void refuse_measure(std::string_view measure) {
  throw std::invalid_argument("measure is " + in_quotes(measure) +
                              ", expected sum. and a GPU, then perhaps .flush with a number of tiles, and .centred");
}

SumDrift question_of(std::string_view measure) {
  const std::vector<std::string> words = ui::split(measure.substr(sum_prefix.size()), '.');
  SumDrift q{.gpu = parse_tensor_core(words[0])};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool flushes = words[i].starts_with(flush);
    const auto tiles = flushes ? to_number<int>(std::string_view(words[i]).substr(flush.size())) : std::nullopt;
    if (flushes ? !tiles || *tiles < 1 || *tiles > largest_flush : words[i] != centred) refuse_measure(measure);
    if (flushes) q.flush = *tiles;
    if (!flushes) q.mean = 0;
  }
  return q;
}

void check_sum_number(std::string_view measure) { question_of(measure); }

std::string sum_number_title(std::string_view measure) {
  const SumDrift q = question_of(measure);
  std::string title = "mean |error| of P·V on " + std::string(name(q.gpu)) + ", of mean |P·V|";
  if (q.flush > 0) title += ", flushed every " + std::to_string(q.flush) + " tiles";
  return title + (q.mean == 0 ? ", V of mean 0" : "");
}

double sum_number(std::string_view measure, const Experiment& experiment, const Cancelled& cancelled) {
  SumDrift q = question_of(measure);
  q.n = experiment.problem.n;
  q.format = experiment.format;
  q.seed = experiment.problem.seed;
  return sum_drift(q, cancelled);
}

}  // namespace

const OwnNumbers sum_numbers{sum_prefix, check_sum_number, sum_number_title, sum_number};

}  // namespace attoscope::app
