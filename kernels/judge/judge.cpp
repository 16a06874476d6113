#include "kernels/judge/judge.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/wrong_output.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/slip_suspects.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// Comparison of one row with the expected row.
struct RowFinding {
  double ratio = 0;      ///< largest share
  double row_ratio = 0;  ///< root mean square of error over expected error, divided by the row's bound
  double square = 0, relative = 0, max_abs = 0;
  int suspects = 0, nonfinite = 0, due = 0, worst_col = 0;
  std::vector<double> shares;  ///< [column]: |error| / tolerance
  bool is_bad() const { return suspects > 0 || row_ratio > 1; }
};

RoundedRow golden_rows(const Matrix& golden) {
  return [&golden](int row, double* out, double*) { std::copy_n(&golden.values[at(row) * at(golden.cols)], golden.cols, out); };
}

/// Compares a row with what a kernel is expected to give, or with golden if the row sees no key.
RowFinding finding(const Tolerance& tolerance, const std::vector<double>& values, int row, const RoundedRow& expected) {
  const std::size_t columns = at(tolerance.golden.cols);
  const double* const output = &values[at(row) * columns];
  std::vector<double> centres(columns, std::nan("")), slacks(columns);
  expected(row, centres.data(), slacks.data());
  if (std::isnan(centres[0]) && std::isfinite(*output)) {
    golden_rows(tolerance.golden)(row, centres.data(), nullptr);
    std::ranges::fill(slacks, 0.0);
  }
  RowFinding f;
  f.shares.resize(columns);
  double worst = -1;
  for (int c = 0; c < tolerance.golden.cols; ++c) {
    const double o = output[c], centre = centres[at(c)], slack = slacks[at(c)], error = std::abs(o - centre);
    if (tolerance.is_due(row, c, o, centre)) {
      ++f.due;
      continue;
    }
    const bool are_numbers = std::isfinite(o) && std::isfinite(centre);
    const double ratio = are_numbers ? error / (tolerance.of(row, c, o) + slack) : infinity;
    if (ratio > worst) {
      worst = ratio;
      f.worst_col = c;
    }
    f.ratio = std::max(f.ratio, ratio);
    f.shares[at(c)] = ratio;
    f.suspects += !(ratio <= 1);
    f.nonfinite += !std::isfinite(o);
    if (!are_numbers) continue;
    const double z = error / std::hypot(tolerance.expected(row, c), slack);
    f.square += error * error;
    f.relative += z * z;
    f.max_abs = std::max(f.max_abs, error);
  }
  f.row_ratio = std::sqrt(f.relative / tolerance.golden.cols) / std::max(tolerance.row[at(row)], 1e-300);
  return f;
}

std::vector<RowFinding> findings(const Tolerance& tolerance, const std::vector<double>& values, const RoundedRow& expected,
                                 const StopSign& stop) {
  std::vector<RowFinding> all(at(tolerance.golden.rows));
  parallel_for(0, tolerance.golden.rows, [&](int row) {
    stop.check();
    all[at(row)] = finding(tolerance, values, row, expected);
  });
  return all;
}

double whole_of(const std::vector<RowFinding>& all, int columns) {
  double sum = 0, due = 0;
  for (const RowFinding& f : all) {
    sum += f.relative;
    due += f.due;
  }
  return std::sqrt(sum / std::max(1.0, static_cast<double>(all.size()) * columns - due));
}

void sum_up(HeadJudgement& h, const std::vector<RowFinding>& all, const Tolerance& tolerance) {
  std::vector<bool> rows(all.size()), columns(at(tolerance.golden.cols));
  double square = 0, of_rows = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const RowFinding& f = all[i];
    h.ratio = std::max(h.ratio, f.ratio);
    of_rows = std::max(of_rows, f.row_ratio);
    h.row_ratio.push_back(f.ratio);
    h.suspects += f.suspects;
    h.nonfinite += f.nonfinite;
    h.due += f.due;
    square += f.square;
    h.max_abs = std::max(h.max_abs, f.max_abs);
    if (!f.is_bad()) continue;
    h.wrong_rows.push_back(static_cast<int>(i));
    if (h.first_row < 0) {
      h.first_row = static_cast<int>(i);
      h.worst_col = f.worst_col;
    }
    rows[i] = true;
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = columns[c] || !(f.shares[c] <= 1) || f.suspects == 0;
  }
  h.rms = std::sqrt(square / static_cast<double>(std::max<std::int64_t>(1, h.elements - h.nonfinite - h.due)));
  h.whole = whole_of(all, tolerance.golden.cols);
  if (h.suspects == 0) h.ratio = std::max({h.ratio, of_rows, h.whole / tolerance.whole});
  h.where = error_places(rows, columns);
  if (h.where.empty() && h.whole > tolerance.whole) h.where = "everywhere, a little";
  h.rounded = h.wrong_rows.empty() && h.nonfinite == 0 && h.whole <= tolerance.whole;
}

/// True if the output may be rounded from what the compared kernel computes.
bool all_fit(const std::vector<RowFinding>& all, const Tolerance& tolerance) {
  return std::ranges::none_of(all, [](const RowFinding& f) { return f.nonfinite > 0 || f.is_bad(); }) &&
         whole_of(all, tolerance.golden.cols) <= tolerance.whole;
}

/// Judges an output by a tolerance.
class Judge {
 public:
  Judge(const JudgedOutput& output, const Tolerance& tolerance, const Options& options)
      : output_(output), p_(output.problem), tolerance_(tolerance), o_(*output.values), stop_(options) {}

  /// Sets all but the tolerance. `inputs` are `used_inputs`.
  void judge(const std::shared_ptr<const Tensors>& inputs, Judged& found) const {
    HeadJudgement& h = found.head;
    h.elements = static_cast<std::int64_t>(o_.size());
    h.incomparable = why_incomparable();
    if (!h.incomparable.empty()) return;
    std::vector<RowFinding> all = findings(tolerance_, o_, golden_rows(tolerance_.golden), stop_);
    sum_up(h, all, tolerance_);
    if (!h.rounded) explain_by_rounding(h, all, inputs);
    auto shares = std::make_shared<Matrix>(Matrix{tolerance_.golden.rows, tolerance_.golden.cols, {}});
    for (const RowFinding& f : all) shares->values.insert(shares->values.end(), f.shares.begin(), f.shares.end());
    found.shares = std::move(shares);
  }

  double ratio_to(const RoundedRow& expected) const {
    if (!may_fit(expected)) return infinity;
    const std::vector<RowFinding> all = findings(tolerance_, o_, expected, stop_);
    return all_fit(all, tolerance_) ? std::ranges::max_element(all, {}, &RowFinding::ratio)->ratio : infinity;
  }

 private:
  std::string why_incomparable() const {
    if (tolerance_.inputs_finite && !is_golden_finite()) return "attention of its Q, K and V is NaN or infinite even in fp64";
    return tolerance_.digits_left ? "" : "its scores are so large that fp32 keeps none of their digits after the point";
  }

  /// Checks the rows that see keys.
  bool is_golden_finite() const {
    const Matrix& golden = tolerance_.golden;
    const auto is_finite = [](double x) { return std::isfinite(x); };
    for (int row = 0; row < golden.rows; ++row) {
      const auto first = golden.values.begin() + static_cast<std::ptrdiff_t>(row) * golden.cols;
      if (!std::all_of(first, first + golden.cols, is_finite) && !visible_keys(p_, row).empty()) return false;
    }
    return true;
  }

  /// Checks a few rows only.
  bool may_fit(const RoundedRow& expected) const {
    for (int k = 0; k < 8; ++k) {
      stop_.check();
      const auto row = static_cast<int>((2 * k + 1) * static_cast<std::int64_t>(p_.n) / 16);
      if (finding(tolerance_, o_, row, expected).is_bad()) return false;
    }
    return true;
  }

  void explain_by_rounding(HeadJudgement& h, std::vector<RowFinding>& rows,
                           const std::shared_ptr<const Tensors>& inputs) const {
    if (h.nonfinite > 0 || output_.claim.declared) return;
    const std::shared_ptr<const Tensors> given = inputs == p_.input.tensors ? nullptr : without_unseen(p_.input.tensors);
    for (const OtherRounding& other :
         other_roundings(p_, inputs, given, output_.claim.format, output_.claim.stored, output_.claim.of_P)) {
      if (h.P && (!other.P || other.P->sum_error != h.P->sum_error)) return;
      const RoundedRow expected = other.begin();
      if (!may_fit(expected)) continue;
      std::vector<RowFinding> all = findings(tolerance_, o_, expected, stop_);
      if (!all_fit(all, tolerance_)) continue;
      HeadJudgement fitted;
      fitted.elements = h.elements;
      sum_up(fitted, all, tolerance_);
      if (h.P && fitted.ratio >= h.ratio) continue;
      fitted.as = other.text;
      fitted.P = other.P;
      fitted.max_abs = h.max_abs;
      fitted.rms = h.rms;
      h = std::move(fitted);
      rows = std::move(all);
      if (!h.P) return;
    }
  }

  const JudgedOutput& output_;
  const Problem& p_;
  const Tolerance& tolerance_;
  const std::vector<double>& o_;
  StopToken stop_;
};

/// Share of the error's root mean square that `expected` leaves.
double left_by(const JudgedOutput& output, const Judged& judged, const ExpectedRow& expected, const Options& options) {
  const StopToken stop(options);
  const Matrix& golden = judged.tolerance.golden;
  std::vector<double> row(at(golden.cols));
  double before = 0, left = 0;
  for (int i = 0; i < golden.rows; ++i) {
    stop.check();
    if (!expected(i, row.data())) continue;
    for (int c = 0; c < golden.cols; ++c) {
      const double o = (*output.values)[at(i) * at(golden.cols) + at(c)];
      if (judged.tolerance.is_due(i, c, o, golden(i, c))) continue;
      before += (o - golden(i, c)) * (o - golden(i, c));
      const double x = std::isnan(row[at(c)]) && std::isfinite(o) ? 0 : row[at(c)];  // a row without keys is 0 or NaN
      left += (o - x) * (o - x);
    }
  }
  return before > 0 ? std::sqrt(left / before) : 1;
}

/// True if the slip leaves no more than the usual kernel's largest error, or every element is within its tolerance of it.
bool explains_all(const JudgedOutput& output, const Judged& judged, const Slip& slip, const Options& options) {
  if (slip.ratio <= 1 || !slip.output) return true;
  return std::isfinite(ratio_to(output, judged, rows_or_infinity(slip.output, judged.tolerance.golden.cols), options));
}

/// The experiment for `find_slips`: the output against a kernel of this policy.
Experiment experiment_of(const JudgedOutput& output, const char* policy_name) {
  Experiment e = with_format(default_experiment(), output.claim.format);
  e.problem = output.problem;
  e.b = with_policy(e.b, policy(policy_name));
  if (output.claim.declared) e.b = *output.claim.declared;
  if (output.claim.scaled_inputs) {
    e.b.accumulator = {};  // sums of tensor cores take inputs of one format
    e.a.precision[Step::input] = e.b.precision[Step::input] = exact;
  }
  e.loaded = {.file = "o", .type = {}, .n = e.problem.n, .d = value_columns(e.problem), .values = output.values};
  e.loaded.type = output.claim.stored == fp16 ? "F16" : output.claim.stored == bf16 ? "BF16" : "F32";
  e.a.algorithm = Algorithm::loaded;
  return e;
}

Judged judged_as_claimed(const JudgedOutput& output, const Options& options) {
  const std::shared_ptr<const Tensors> inputs = used_inputs(output);
  Judged judged{.head = {}, .tolerance = tolerance_of(output.problem, *inputs, output.claim, options)};
  Judge(output, judged.tolerance, options).judge(inputs, judged);
  return judged;
}

/// Judges by the declared rounding first, then by the others.
Judged judged_as_declared_or_not(const JudgedOutput& output, const Options& options) {
  Judged judged = judged_as_claimed(output, options);
  if (judged.head.rounded || !judged.head.incomparable.empty() || !output.claim.declared) return judged;
  JudgedOutput undeclared = output;
  undeclared.claim.declared.reset();
  Options quiet = options;
  quiet.progress = {};
  Judged other = judged_as_claimed(undeclared, quiet);
  if (!other.head.rounded) return judged;
  other.head.undeclared = true;
  if (other.head.as.empty()) other.head.as = "it rounds as kernels with an fp32 softmax do, not as declared";
  return other;
}

/// Judges by the inputs that a kernel sees first, then by scaled inputs rounded to D.
Judged judged_by_inputs(const JudgedOutput& output, const Options& options) {
  Judged judged = judged_as_declared_or_not(output, options);
  if (judged.head.rounded || !judged.head.incomparable.empty()) return judged;
  const std::optional<JudgedOutput> rounded = with_rounded_inputs(output);
  if (!rounded) return judged;
  Options quiet = options;
  quiet.progress = {};
  Judged other = judged_as_declared_or_not(*rounded, quiet);
  if (!other.head.rounded) return judged;
  const std::string more = other.head.as.empty() ? "" : ", and if " + other.head.as;
  other.head.as = "its Q, K, V are rounded to " + name(output.claim.format) + more;
  return other;
}

/// Same heads, but reads each only once.
OtherHeads read_once(OtherHeads heads) {
  if (heads.read) heads.read = once_each<std::shared_ptr<const Tensors>>(heads.read);
  return heads;
}

/// The output with inputs rounded as the kernel's own loads round them.
JudgedOutput with_seen_inputs(JudgedOutput output) {
  output.problem.input.tensors = seen_by(output.claim, output.problem.input.tensors);
  return output;
}

/// Calls `fitted_slip` with the inputs of `result`: as the kernel sees them, and without NaN of keys that a mask tensor
/// drops from all queries.
std::optional<Slip> fitted_to_seen(const JudgedOutput& output, const Judged& judged, const Result& result,
                                   const OtherHeads& heads, const Options& options, int& fit) {
  JudgedOutput seen = output;
  seen.problem.input.tensors = result.inputs;
  return on_threads(options.threads, [&] { return fitted_slip(seen, judged, result, heads, options, fit); });
}

/// The judgement against a kernel that rounds so; none if inputs are not finite, or a q.k overflows to infinity.
std::optional<Judged> judged_as(const KernelRounding& rounds, const JudgedOutput& output, Judged judged,
                                const Options& options) {
  Tolerance& t = judged.tolerance;
  if (!t.inputs_finite) return {};
  judged.rounds = rounds;
  const SoftmaxVariant right = right_softmax(output.problem, rounds);
  const VariantHead head = variant_head(used_inputs(output));
  const auto columns = at(t.golden.cols);
  const StopToken stop(options);
  on_threads(options.threads, [&] {
    parallel_for(0, t.golden.rows, [&](int row) {
      stop.check();
      if (right.keys(row).empty()) return;
      std::vector<double> slack(columns);
      attend(head, right, row, &t.golden.values[at(row) * columns], slack.data());
      for (std::size_t c = 0; c < columns; ++c) t.weight.values[at(row) * columns + c] += slack[c] / t.factor[at(row)];
    });
    judged.head = held_to(t, *output.values, stop);
  });
  if (!all_finite(t.golden.values)) return {};
  return judged;
}

/// Replaces NaN by zeros in rows without keys and in golden; the slip search expects zeros there.
struct HeadWithZeros {
  JudgedOutput output;
  Judged judged;

  HeadWithZeros(const JudgedOutput& of, const Judged& by) : output(of), judged(by) {
    std::vector<double> values = *of.values;
    const auto columns = at(by.tolerance.golden.cols);
    for (int row = 0; row < by.tolerance.golden.rows; ++row) {
      if (!visible_keys(of.problem, row).empty()) continue;
      const std::size_t first = at(row) * columns;
      for (std::size_t i = first; i < first + columns; ++i) {
        judged.tolerance.golden.values[i] = 0;
        judged.tolerance.weight.values[i] = 1e-300;
        if (std::isnan(values[i])) values[i] = 0;
      }
    }
    output.values = std::make_shared<const std::vector<double>>(std::move(values));
    output.problem.empty_rows = EmptyRule::zeros;
  }
};

}  // namespace

std::shared_ptr<const Tensors> used_inputs(const JudgedOutput& output) {
  return without_unseen(with_seen_inputs(output).problem.input.tensors);
}

HeadJudgement held_to(const Tolerance& tolerance, const std::vector<double>& values, const StopSign& stop) {
  HeadJudgement found;
  found.elements = static_cast<std::int64_t>(values.size());
  sum_up(found, findings(tolerance, values, golden_rows(tolerance.golden), stop), tolerance);
  return found;
}

Judged judge(const JudgedOutput& output, const Options& options) {
  return on_threads(options.threads, [&] { return judged_by_inputs(output, options); });
}

double ratio_to(const JudgedOutput& output, const Judged& judged, const RoundedRow& expected, const Options& options) {
  return on_threads(options.threads, [&] { return Judge(output, judged.tolerance, options).ratio_to(expected); });
}

double row_ratio(const Tolerance& tolerance, const std::vector<double>& values, int row, const RoundedRow& expected) {
  const RowFinding f = finding(tolerance, values, row, expected);
  return f.suspects > 0 && f.ratio <= 1 ? infinity : std::max(f.ratio, f.row_ratio);
}

/// The output as that of a kernel with this rounding; none if there is no such kernel.
std::optional<JudgedOutput> output_of(const JudgedOutput& output, KnownName::Rounds rounds) {
  if (rounds == KnownName::Rounds::inputs) return with_rounded_inputs(output);
  if (!output.claim.of_P || output.claim.declared) return {};
  JudgedOutput other = output;
  other.claim.format = *output.claim.of_P;
  other.claim.of_P.reset();
  other.claim.P.reset();
  return other;
}

/// True if the search found another mistake than a coarser format.
bool names_mistake(const SlipSearch& x) { return x.found && x.found->kind != Slip::Kind::format; }

/// Fits mistakes of a kernel that rounds so; sets `search` and `known` and returns true if one is found.
bool fit_mistake(KernelRounding rounds, const JudgedOutput& output, const Judged& judged, const OtherHeads& heads,
                 const Options& options, SlipSearch& search, KnownName& known) {
  constexpr double fitted_error = 0x1p-14;  // of a fitted number: P near the middle of two numbers may be either
  if (rounds.P) rounds.P->product_error = std::max(rounds.P->product_error, fitted_error);
  const std::optional<Judged> rounded = judged_as(rounds, output, judged, options);
  if (!rounded) return false;
  const char* const policy = rounds.products ? "base_eager" : known.policy;
  int fit = -1;
  std::optional<Slip> fitted =
      fitted_to_seen(output, *rounded, compute(experiment_of(output, policy), options), heads, options, fit);
  if (!fitted) return false;
  if (fitted->output) search.ranked.insert(search.ranked.begin(), {*fitted, left_by(output, judged, fitted->output, options)});
  known = {.text = fitted->text, .fit = fit, .policy = policy, .kernel = rounds};
  search.found = std::move(fitted);
  return true;
}

/// Searches among kernels that round P as the call's right heads do, that round scaled inputs to D or P to V's format of eight
/// bits, then among those that round their scores or q.k; `search` if no name is found.
SlipSearch search_of_others(const JudgedOutput& output, const Judged& judged, SlipSearch search, const OtherHeads& heads,
                            const Options& options, KnownName& known) {
  if (output.claim.P && fit_mistake({.products = {}, .P = output.claim.P}, output, judged, heads, options, search, known))
    return search;
  for (const auto rounds : {KnownName::Rounds::inputs, KnownName::Rounds::P_to_eight_bits}) {
    const std::optional<JudgedOutput> rounded = output_of(output, rounds);
    if (!rounded) continue;
    const Judged as_rounded = judge(*rounded, options);
    if (as_rounded.head.rounded) continue;
    KnownName of_rounded;
    SlipSearch other = slips_of(*rounded, as_rounded, heads, options, of_rounded);
    if (!names_mistake(other)) continue;
    known = of_rounded;
    known.rounds = rounds;
    return other;
  }
  if (output.claim.declared) return search;
  constexpr const char* eager = "base_eager";
  SlipSearch other = find_slips(compute(experiment_of(output, eager), options), heads, options);
  if (names_mistake(other)) {
    known = {.text = other.found->text, .policy = eager};
    return other;
  }
  const Format& d = output.claim.format;
  if (d == bf16 || d == fp16) fit_mistake({.products = d, .P = {}}, output, judged, heads, options, search, known);
  return search;
}

SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& all_heads, const Options& options,
                    KnownName& known) {
  std::optional<Slip> odd = zeros_without_keys(output, judged);
  if (!odd && output.problem.empty_rows == EmptyRule::nan) {
    const HeadWithZeros head(output, judged);
    return slips_of(head.output, head.judged, all_heads, options, known);
  }
  if (!odd) odd = nonfinite_slip(with_seen_inputs(output), judged, options);
  if (odd) {
    known.text = odd->text;
    return {.found = std::move(odd)};
  }
  const OtherHeads heads = read_once(all_heads);
  const Result result = compute(experiment_of(output, known.policy), options);
  SlipSearch search = find_slips(result, heads, options);
  if (search.found) known.text = search.found->text;
  const bool is_guess = search.found && search.found->kind == Slip::Kind::tail && !search.found->output,
             named = names_mistake(search) && !is_guess;
  if (!judged.head.incomparable.empty()) return search;
  int fit = sequence_fit_at;
  std::optional<Slip> fitted;
  const auto fits = [&] { fitted = fitted_to_seen(output, judged, result, heads, options, fit); };
  const auto left = [&](const Slip& slip) { return left_by(output, judged, slip.output, options); };
  // a mask of one query and a length of its sequence hide the same keys
  if (named && search.found->kind == Slip::Kind::mask && output.problem.n == 1 && heads.keys) fits();
  if (!fitted) {
    if (named && explains_all(output, judged, *search.found, options)) return search;
    fit = -1;
    fits();
    if (named && !(fitted && fitted->output && 2 * left(*fitted) < left(*search.found))) return search;
  }
  const bool same_place = is_guess && fitted && fitted->kind == Slip::Kind::place && !fitted->output;
  if (same_place && search.found->text.find("never written") != std::string::npos) return search;  // it also names the tile
  if (!fitted) {
    if (is_guess) return search;
    return search_of_others(output, judged, std::move(search), heads, options, known);
  }
  if (fitted->output) search.ranked.insert(search.ranked.begin(), {*fitted, left(*fitted)});
  known = {.text = fitted->text, .fit = fit};
  search.found = std::move(fitted);
  return search;
}

SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads, const Options& options) {
  KnownName known;
  return slips_of(output, judged, heads, options, known);
}

std::optional<Slip> confirmed_slip(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads,
                                   const Options& options, const KnownName& known) {
  if (known.text.empty() || !judged.head.incomparable.empty()) return {};
  if (known.rounds != KnownName::Rounds::as_claimed) {
    const JudgedOutput rounded = output_of(output, known.rounds).value_or(output);
    KnownName of_rounded = known;
    of_rounded.rounds = KnownName::Rounds::as_claimed;
    return confirmed_slip(rounded, judge(rounded, options), heads, options, of_rounded);
  }
  if (std::optional<Slip> own = zeros_without_keys(output, judged)) return own;
  if (output.problem.empty_rows == EmptyRule::nan) {
    const HeadWithZeros head(output, judged);
    return confirmed_slip(head.output, head.judged, heads, options, known);
  }
  if (std::optional<Slip> own = nonfinite_slip(with_seen_inputs(output), judged, options)) return own;
  const Result result = compute(experiment_of(output, known.policy), options);
  const bool rounds = known.kernel.products || known.kernel.P;
  const std::optional<Judged> other = rounds ? judged_as(known.kernel, output, judged, options) : std::nullopt;
  int fit = known.fit;
  std::optional<Slip> slip = fit < 0 ? find_slips(result, heads, options, known.text).found
                                     : fitted_to_seen(output, other.value_or(judged), result, heads, options, fit);
  if (slip && !alike(slip->text, known.text)) slip.reset();
  return slip;
}

}  // namespace attoscope
