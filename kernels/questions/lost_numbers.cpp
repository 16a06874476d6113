#include "kernels/questions/lost_numbers.h"

#include <cmath>

namespace attoscope {
namespace {

void count(LostNumbers& all, const LostNumber& number, const Format& format) {
  ++all.rounded;
  if (std::isfinite(number.before) && std::fabs(number.before) > largest(format)) {
    ++all.overflowed;
    if (!all.overflow) all.overflow = number;
  } else if (number.before != 0 && number.after == 0) {
    ++all.underflowed;
    if (!all.underflow) all.underflow = number;
  }
}

}  // namespace

LostNumbers lost_numbers(const StepQuestion& q) {
  const Steps row = steps(q);
  LostNumbers all;
  const auto format = [&](Step step) { return format_of(q.precision[step], q.format); };
  for (std::size_t j = 0; q.precision[Step::S] != exact && j < row.S.size(); ++j)
    count(all, {Step::S, static_cast<int>(j), q.scores[j], row.S[j]}, format(Step::S));
  for (const RowStep& step : row.steps)
    for (const RoundedNumber& number : step.numbers)
      if (number.rounds) count(all, {number.step, number.key, number.before, number.after}, format(number.step));
  return all;
}

}  // namespace attoscope
