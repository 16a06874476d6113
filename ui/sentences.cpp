#include "ui/sentences.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "kernels/presets.h"
#include "ui/numbers.h"

namespace attoscope {

namespace {

std::string short_name(Algorithm a) {
  std::string text(name(a));
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

int differences(const Precision& x, const Precision& y) {
  int count = (x.sum_rounded_P != y.sum_rounded_P) + (x.accumulate_in_O != y.accumulate_in_O);
  for (std::size_t i = 0; i < x.steps.size(); ++i) count += !(x.steps[i] == y.steps[i]);
  return count;
}

std::string count_of(std::int64_t count, const char* what) { return printed("%lld %s", static_cast<long long>(count), what); }

}  // namespace

NearestPolicy nearest_policy(const Precision& precision, Algorithm algorithm) {
  NearestPolicy best;
  for (const Policy& p : policies()) {
    if ((p.algorithm == Algorithm::three_pass) != (algorithm == Algorithm::three_pass)) continue;
    const int changed = differences(precision, p.precision);
    if (best.precision == nullptr || changed < best.changed) best = {p.name, changed, &p.precision};
  }
  return best;
}

MethodNames method_names(const Experiment& e) {
  MethodNames names{short_name(e.a.algorithm), short_name(e.b.algorithm)};
  if (names.a != names.b) return names;
  const auto a = policy_name(e.a.precision, e.a.algorithm), b = policy_name(e.b.precision, e.b.algorithm);
  if (a != b && !a.empty() && !b.empty()) return {std::string(a), std::string(b)};
  return {"a", "b"};
}

std::string field_title(Field field, const MethodNames& names) {
  const std::string_view title = text(field).title;
  std::string result;
  for (std::size_t i = 0; i < title.size(); ++i) {
    const auto letter = [&](std::size_t k) { return k < title.size() && std::isalnum(static_cast<unsigned char>(title[k])); };
    const bool alone = !(i > 0 && letter(i - 1)) && !letter(i + 1);
    if (alone && title[i] == 'a')
      result += names.a;
    else if (alone && title[i] == 'b')
      result += names.b;
    else if (title[i] == '-' && i > 0 && title[i - 1] == ' ')
      result += "−";
    else
      result += title[i];
  }
  return result;
}

Verdict verdict(const Result& r) {
  using Tone = Verdict::Tone;
  const MethodNames names = method_names(r.experiment);
  const double a = r.a_error.mean_abs, b = r.b_error.mean_abs;
  if (r.golden_nonfinite > 0)
    return {Tone::bad, "Not comparable", "golden itself has " + count_of(r.golden_nonfinite, "NaN or infinities")};
  if (r.a_error.nonfinite > 0)
    return {Tone::bad, capital(names.a) + " overflows",
            count_of(r.a_error.nonfinite, "values are NaN or infinite; ") + names.b + ": " + count_of(r.b_error.nonfinite, "")};
  if (r.b_error.nonfinite > 0)
    return {Tone::plain, capital(names.b) + " overflows",
            count_of(r.b_error.nonfinite, "values are NaN or infinite, none of ") + names.a};
  if (a == 0 && b == 0) return {Tone::good, "Identical to golden", "neither method errs anywhere"};
  if (a == 0)
    return {Tone::good, capital(names.a) + " is identical to golden", names.b + " errs by " + scientific(b) + " on average"};
  if (b == 0) return {Tone::plain, capital(names.a) + " errs, " + names.b + " does not", "there is no 2× line to hold it to"};
  const bool inside = r.a_error.max_abs <= 2 * r.b_error.max_abs;
  return {inside ? Tone::good : Tone::bad, capital(names.a) + " errs " + times(a / b) + " " + names.b,
          inside ? "inside the 2× line: rounded, not wrong" : "outside the 2× line: more than rounding explains"};
}

std::string rows_text(const Result& r) { return printed("%zu of %d rows", r.rows.size(), r.experiment.problem.n); }

}  // namespace attoscope
