#include "ui/words/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

std::string short_name(Algorithm a) {
  if (a == Algorithm::loaded) return "your kernel";
  std::string text(name(a));
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string capital(std::string text) {
  if (!text.empty()) text[0] = capital_letter(text[0]);
  return text;
}

int differences(const Precision& x, const Precision& y) {
  int count = (x.sum_rounded_P != y.sum_rounded_P) + (x.accumulate_in_O != y.accumulate_in_O);
  for (std::size_t i = 0; i < x.steps.size(); ++i) count += !(x.steps[i] == y.steps[i]);
  return count;
}

/// "9.1×": two digits, for a headline.
std::string short_times(double ratio) {
  if (!(ratio >= 0.01 && ratio < 9999.5)) return times(ratio);
  return fmt::format("{:.{}f}×", ratio, ratio < 0.995 ? 2 : ratio < 9.95 ? 1 : 0);
}

/// Compares a's largest error with twice b's (`max_ratio`: a's over b's). Only a loaded output can be wrong: an emulated
/// method's error is all rounding.
std::string beside_line(Algorithm a, double max_ratio) {
  const bool inside = max_ratio <= 2;
  const std::string line = inside ? "inside the 2× line: " : "outside the 2× line: ";
  if (a == Algorithm::loaded) return line + (inside ? "rounding explains it" : "wrong, rounded more, or for other inputs");
  if (a == Algorithm::hardware) return line + (inside ? "rounding explains it" : "the device rounds more than b");
  return line + "its largest error is " + short_times(max_ratio);
}

/// Format of a step: "exact", "bf16", "bf16 dice" (stochastic).
std::string rounding_name(const Rounding& r, const Format& main) {
  if (r.kind == Rounding::Kind::exact) return "exact";
  return name(format_of(r, main)) + (r.stochastic ? " dice" : "");
}

/// Name of an option with its value in a and in b; equal texts if the values do not differ.
struct Option {
  std::string a, b;
};

Option number(const std::string& what, double a, double b) { return {what + " " + compact(a), what + " " + compact(b)}; }

/// "h100", or "q.k h100, P.V fma" if the products differ.
std::string sums_of(const Method& m) {
  if (m.accumulator.qk == m.accumulator.pv) return std::string(name(m.accumulator.pv));
  return "q.k " + std::string(name(m.accumulator.qk)) + ", P.V " + std::string(name(m.accumulator.pv));
}

/// "flush 4"; "flush as the policy".
std::string flush_of(const Method& m) {
  return m.flush == flush_of_policy ? "flush as the policy" : fmt::format("flush {}", m.flush);
}

Option choice(const char* yes, const char* no, bool a, bool b) { return {a ? yes : no, b ? yes : no}; }

/// Options beyond rounding, those with the largest effect first.
std::vector<Option> options_of(const Method& a, const Method& b) {
  std::vector<Option> all;
  if (a.algorithm == Algorithm::flash4) all.push_back(number("tau", a.tau, b.tau));
  if (a.algorithm == Algorithm::split_kv) all.push_back(number("splits", a.splits, b.splits));
  all.push_back({sums_of(a), sums_of(b)});
  all.push_back({flush_of(a), flush_of(b)});
  if (a.algorithm != Algorithm::three_pass) all.push_back(number("block_k", a.block_k, b.block_k));
  all.push_back({std::string(exponential_names[a.exponential]), std::string(exponential_names[b.exponential])});
  all.push_back(number("degree", a.exp2_degree, b.exp2_degree));
  all.push_back(number("P 2^", a.p_exponent, b.p_exponent));
  all.push_back(number("beta", a.tie_beta, b.tie_beta));
  all.push_back(choice("Kahan", "plain l", a.kahan_l, b.kahan_l));
  all.push_back({std::string(sum_order_names[a.order]), std::string(sum_order_names[b.order])});
  all.push_back(number("chains", a.sum_lanes, b.sum_lanes));
  all.push_back(choice("reversed", "forward", a.reverse_keys, b.reverse_keys));
  all.push_back(choice("l sums P", "l sums e", a.precision.sum_rounded_P, b.precision.sum_rounded_P));
  all.push_back(choice("P·V into O", "P·V apart", a.precision.accumulate_in_O, b.precision.accumulate_in_O));
  return all;
}

/// First difference of two methods of one algorithm; empty if there is none.
Option difference_of(const Experiment& e) {
  const auto a = policy_name(e.a.precision, e.a.algorithm), b = policy_name(e.b.precision, e.b.algorithm);
  if (a != b && !a.empty() && !b.empty()) return {std::string(a), std::string(b)};
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    const std::string label = std::string(name(step)) + " ";
    if (e.a.precision[step] != e.b.precision[step])
      return {label + rounding_name(e.a.precision[step], e.format), label + rounding_name(e.b.precision[step], e.format)};
  }
  for (Option& option : options_of(e.a, e.b))
    if (option.a != option.b) return std::move(option);
  return {};
}

/// "hw", "hw +2" with two steps changed; empty for a method that is not emulated.
std::string policy_words(const Method& m) {
  if (!is_emulated(m.algorithm)) return "";
  const NearestPolicy nearest = nearest_policy(m.precision, m.algorithm);
  return std::string(nearest.name) + (nearest.changed > 0 ? fmt::format(" +{}", nearest.changed) : "");
}

/// The text of one method if it is the same in all experiments; else empty.
template <class F>
std::string common_words(std::span<const Experiment> all, Method Experiment::* method, F text) {
  const std::string first = text(all[0].*method, all[0]);
  return std::ranges::all_of(all, [&](const Experiment& e) { return text(e.*method, e) == first; }) ? first : "";
}

std::string legend_name(std::span<const Experiment> all, Method Experiment::* method) {
  const auto kernel = [](const Method& m, const Experiment& e) { return std::string(kernel_name(m, e.problem, e.format)); };
  if (const std::string name = common_words(all, method, kernel); !name.empty()) return name;
  const std::string algorithm = common_words(all, method, [](const Method& m, const auto&) { return short_name(m.algorithm); }),
                    rounding = common_words(all, method, [](const Method& m, const auto&) { return policy_words(m); });
  if (algorithm.empty() && !rounding.empty()) return "policy " + rounding;
  return algorithm + (rounding.empty() ? "" : " ") + rounding;
}

}  // namespace

std::string method_words(const Method& m) {
  const std::string rounding = policy_words(m);
  return short_name(m.algorithm) + (rounding.empty() ? "" : " ") + rounding;
}

std::array<std::string, 2> legend_names(std::span<const Experiment> all) {
  std::array<std::string, 2> names{legend_name(all, &Experiment::a), legend_name(all, &Experiment::b)};
  if (names[0] == names[1] && !names[0].empty()) {
    const Option differs = difference_of(all[0]);
    if (!differs.a.empty()) {
      names[0] += ", " + differs.a;
      names[1] += ", " + differs.b;
    }
  }
  if (names[0].empty()) names[0] = "the varied method";
  if (names[1].empty()) names[1] = "the other method";
  if (names[0] == names[1]) {
    names[0] += " (a)";
    names[1] += " (b)";
  }
  return names;
}

NearestPolicy nearest_policy(const Precision& precision, Algorithm algorithm) {
  NearestPolicy best;
  for (const Policy& p : policies()) {
    if (!same_family(p.algorithm, algorithm)) continue;
    const int changed = differences(precision, p.precision);
    if (best.precision == nullptr || changed < best.changed) best = {p.name, changed, &p.precision};
  }
  return best;
}

MethodNames method_names(const Experiment& e) {
  const auto kernel_or_algorithm = [&](const Method& m) {
    const std::string_view kernel = kernel_name(m, e.problem, e.format);
    return kernel.empty() ? short_name(m.algorithm) : std::string(kernel);
  };
  const std::string a = kernel_or_algorithm(e.a), b = kernel_or_algorithm(e.b);
  if (a != b) return {a, b, b};
  const Option differs = is_emulated(e.a.algorithm) ? difference_of(e) : Option{};
  if (differs.a.empty()) return {"a", "b", "b"};
  return {a + " " + differs.a, b + " " + differs.b, differs.b};
}

MethodNames names_with_slip(const Experiment& e) {
  MethodNames names = method_names(e);
  (e.a.algorithm == Algorithm::loaded ? names.a : names.b) = "the slip";
  return names;
}

std::string field_title(Field field, const MethodNames& names) { return with_names(text(field).title, names); }

std::string with_names(std::string_view title, const MethodNames& names) {
  std::string result;
  for (std::size_t i = 0; i < title.size(); ++i) {
    const auto letter = [&](std::size_t k) { return k < title.size() && is_letter_or_digit(title[k]); };
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
  const std::int64_t of_golden = r.golden_nonfinite, of_a = r.a_error.nonfinite - of_golden,
                     of_b = r.b_error.nonfinite - of_golden;
  const std::string in_golden = counted(of_golden, "NaN or infinity", "NaN or infinities"),
                    left_out = of_golden > 0 ? "; golden has " + in_golden + ", left out" : "";
  const auto nonfinite = [](std::int64_t count) {
    return counted(count, "value is NaN or infinite", "values are NaN or infinite");
  };
  if (of_golden > 0 && of_golden == static_cast<std::int64_t>(r.rows.size()) * value_columns(r.experiment.problem))
    return {Tone::bad, "Not comparable", "golden itself has " + in_golden};
  if (of_a > 0)
    return {Tone::bad, capital(names.a) + " overflows",
            nonfinite(of_a) + ": " + names.b + " has " + std::to_string(of_b) + left_out};
  if (of_b > 0) return {Tone::plain, capital(names.b) + " overflows", nonfinite(of_b) + ", none of " + names.a + left_out};
  if (a == 0 && b == 0) return {Tone::good, "Identical to golden", "neither method has any error"};
  if (a == 0)
    return {Tone::good, capital(names.a) + " is identical to golden", "mean error of " + names.b + ": " + scientific(b)};
  if (b == 0)
    return {Tone::plain, capital(names.b) + " is identical to golden", "mean error of " + names.a + ": " + scientific(a)};
  const bool inside = r.a_error.max_abs <= 2 * r.b_error.max_abs;
  const Tone beyond = is_emulated(r.experiment.a.algorithm) ? Tone::plain : Tone::bad;
  return {inside ? Tone::good : beyond, capital(names.a) + " errs " + short_times(a / b) + " " + names.b_after_a,
          beside_line(r.experiment.a.algorithm, r.a_error.max_abs / r.b_error.max_abs) + left_out};
}

HardwareWords hardware_words(const Result& r) {
  if (!r.hardware) return {};
  const HardwareCheck& h = *r.hardware;
  const std::string who = r.experiment.a.algorithm == Algorithm::hardware ? "hardware a" : "hardware b";
  const std::string most = compact(h.emulator_max_ulp), mean = compact(h.emulator_mean_ulp);
  return {h.changed == 0 ? who + ": a second run gave the same bits"
                         : who + ": a second run changed " + counted(h.changed, "value") + " by at most " +
                               compact(h.run_to_run_ulp) + " ulp of fp32",
          "emulated: at most " + most + " ulp of " + name(r.experiment.format) + " away, " + mean + " on average",
          h.changed == 0};
}

std::string hardware_lines(const Result& r) {
  const HardwareWords words = hardware_words(r);
  return words.runs.empty() ? "" : "\n" + words.runs + "\n" + words.emulation;
}

std::string rows_text(const Result& r) {
  return fmt::format("{} of {}", r.rows.size(), counted(r.experiment.problem.n, "row"));
}

std::string shown_file(const std::string& files) {
  constexpr std::size_t most = 4;
  std::vector<std::string_view> names;
  std::size_t more = 0;
  for (const std::string_view part : split(files, ",")) {
    if (!names.empty() && part.find('=') < part.find('/')) break;  // scales, masks and tables follow
    const std::string_view name = part.substr(part.find_last_of('/') + 1), file = name.substr(0, name.find(':'));
    if (std::ranges::any_of(names, [&](std::string_view n) { return n.substr(0, n.find(':')) == file; }))
      names.back() = file;  // tensors of one file
    else
      names.size() < most ? names.push_back(names.empty() ? name : file) : void(++more);
  }
  const std::string text = listed(names, ", ");
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

std::string shown_stem(const std::string& files) {
  const std::string name = shown_file(files);
  return name.find(',') == std::string::npos ? name.substr(0, name.find_last_of('.')) : name;
}

}  // namespace attoscope::ui
