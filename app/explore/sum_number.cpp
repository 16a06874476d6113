// Numbers of tensor cores' sums.
#include <stdexcept>

#include "app/explore/own_numbers.h"
#include "app/words/numbers.h"
#include "kernels/questions/sum_drift.h"

namespace attoscope {
namespace {

constexpr std::string_view prefix = "sum.", flush = "flush", centred = "centred";
constexpr int largest_flush = 1 << 20;

[[noreturn]] void refuse_measure(std::string_view measure) {
  throw std::invalid_argument("measure is " + in_quotes(measure) +
                              ", expected sum. and a GPU, then perhaps .flush with a number of tiles, and .centred");
}

/// Removes the first word of `rest`, and the dot behind it, and returns the word.
std::string_view next_word(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('.'), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return word;
}

SumDrift question_of(std::string_view measure) {
  std::string_view rest = measure.substr(prefix.size());
  SumDrift q{.gpu = parse_tensor_core(next_word(rest))};
  while (!rest.empty()) {
    const std::string_view word = next_word(rest);
    const bool flushes = word.starts_with(flush);
    const auto tiles = flushes ? to_number<int>(word.substr(flush.size())) : std::nullopt;
    if (flushes ? !tiles || *tiles < 1 || *tiles > largest_flush : word != centred) refuse_measure(measure);
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

const OwnNumbers sum_numbers{prefix, check_sum_number, sum_number_title, sum_number};

}  // namespace attoscope
