#include "kernels/slips/slips.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/slips/last_slips.h"
#include "kernels/slips/other_roundings.h"
#include "kernels/slips/output_errors.h"
#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Verdict = Diagnosis::Verdict;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string times_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, ratio < 9.95 ? "%.1f×" : ratio < 9999.5 ? "%.0f×" : "%.1e×", ratio);
  return text;
}

class SlipFinder {
 public:
  SlipFinder(const Result& result, const OtherHeads& heads, const Options& options)
      : r_(result), e_(result.experiment), heads_(heads), options_(options), errors_(result, options) {}

  Diagnosis find() {
    Diagnosis d = judgement();
    if (d.verdict != Verdict::rounded && errors_.has_envelope()) {
      const OutputErrors::Place place = errors_.worst_place();
      d.first_row = place.row, d.worst_col = place.col;
    }
    if (e_.problem.input.kind == InputKind::tensors && (heads_.count > 1 || e_.loaded.index > 0))
      d.sentence += " Compared: head " + std::to_string(e_.loaded.index) + " of O with head " +
                    std::to_string(e_.problem.input.index) + " of Q, K, V.";
    return d;
  }

  /// The exact output of a slip that was found; none where it is not among the suspects.
  std::optional<Matrix> output_of(const Slip& slip) {
    if (!errors_.has_line()) return {};
    errors_.find_envelope();
    for (const Suspect& s : suspects(many_rows()))
      if (s.kind == slip.kind && s.text == slip.text) return whole_output(s.begin());
    return {};
  }

 private:
  Diagnosis judgement() {
    Diagnosis d{.experiment = e_, .where = {}, .bad_rows = {}, .slip = {}, .sentence = {}};
    if (!errors_.has_line()) return incomparable(std::move(d));
    errors_.find_envelope();
    const bool finite = errors_.deviation().nonfinite == 0;
    d.ratio = errors_.ratio();
    d.line = 2 * errors_.limit();
    d.bad_rows = errors_.bad_rows();
    const bool in_line = finite && d.ratio <= 2;
    d.verdict = in_line ? Verdict::rounded : errors_.subtle() ? Verdict::loose : Verdict::wrong;
    d.slip = slip();
    if (in_line && !d.slip) return standing_out(std::move(d));
    d.where = errors_.places();
    if (d.slip) d.verdict = d.slip->kind == Slip::Kind::format ? Verdict::incomparable : Verdict::wrong;
    if (!d.slip && finite) {
      if (std::optional<std::string> other = other_rounding(); other) return rounded_as(*other, std::move(d));
      if (d.where == "everywhere" || d.where == "in most rows")
        for (const Format& coarser : {fp16, bf16})
          if (epsilon(coarser) > epsilon(e_.format) && errors_.deviation().max_abs <= 2 * rival_error(coarser))
            return as_in(coarser, std::move(d));
    }
    d.sentence = sentence(d, in_line);
    return d;
  }

  static Diagnosis incomparable(Diagnosis d) {
    d.sentence = "Not comparable: the truth itself holds NaN or infinities, or there is no error to hold it to.";
    return d;
  }
  /// Outside the line, but no further off than kernels that work in a coarser format than D.
  static Diagnosis as_in(const Format& coarser, Diagnosis d) {
    d.verdict = Verdict::loose;
    d.sentence = "Outside the 2× line (" + times_text(d.ratio) + "), but no further off than a kernel that rounds to " +
                 name(coarser) + ": choose D = " + name(coarser) + " if yours does.";
    return d;
  }

  /// Outside the line, but a correct kernel of another kind.
  static Diagnosis rounded_as(const std::string& other, Diagnosis d) {
    d.verdict = Verdict::rounded;
    d.where.clear();
    d.bad_rows.clear();
    d.line = 0;
    d.sentence = "Rounded, but earlier than the other method: " + other + ". Its error is " + times_text(d.ratio) +
                 " that of the other method.";
    return d;
  }

  /// What correct kernels do before the softmax that brings this output inside the line.
  std::optional<std::string> other_rounding() const {
    const std::vector<int> some = some_rows(), many = many_rows();
    const auto explained = [&](const Fit& f, double drop) {
      const double rms = std::sqrt(f.left_square / static_cast<double>(std::max<std::int64_t>(1, f.compared)));
      return f.unexplained == 0 && f.compared > 0 && f.drop() >= drop && f.largest <= 4 * errors_.limit() &&
             rms <= 2 * errors_.limit_rms();
    };
    for (const OtherRounding& other : other_roundings(e_.problem, r_.inputs, nullptr, e_.format, e_.format)) {
      errors_.check();
      const ExpectedRow expected = [row_of = other.begin()](int row, double* out) {
        row_of(row, out, nullptr);
        return true;
      };
      if (explained(errors_.fit(expected, some), 1.5) && explained(errors_.fit(expected, many), 1.75)) return other.text;
    }
    return {};
  }

  /// Inside the line without a slip: rounded, unless a few rows are much worse than the others.
  Diagnosis standing_out(Diagnosis d) const {
    const std::vector<int> rows = errors_.outstanding_rows();
    if (rows.empty()) {
      d.sentence = "Rounded: its largest error is " + times_text(d.ratio) +
                   " that of the other method (the line is at 2×), and no usual slip shows in it.";
      return d;
    }
    d.verdict = Verdict::loose;
    d.bad_rows = rows;
    d.where = rows.size() == 1 ? "in row " : "in rows ";
    for (const int row : rows) d.where += (row == rows.front() ? "" : ", ") + std::to_string(row);
    d.sentence = "Inside the 2× line (" + times_text(d.ratio) + "), but " +
                 (rows.size() == 1 ? "one row stands out: " : std::to_string(rows.size()) + " rows stand out: ") +
                 d.where.substr(d.where.find_first_of("0123456789")) + "; no usual slip explains it.";
    return d;
  }

  std::string sentence(const Diagnosis& d, bool inside) const {
    const auto nonfinite = errors_.deviation().nonfinite;
    std::string text =
        inside ? "Inside the 2× line (" + times_text(d.ratio) + ")" : "Outside the 2× line (" + times_text(d.ratio) + ")";
    if (nonfinite > 0) text = std::to_string(nonfinite) + " values are NaN or infinite";
    if (d.slip && d.slip->kind == Slip::Kind::format)
      return "Not comparable as it stands, " + times_text(d.ratio) + " the other method's error: explained by " + d.slip->text +
             " (error then " + times_text(d.slip->ratio) + "). Choose D accordingly.";
    if (d.slip) {
      text += inside ? ", but wrong: explained by " : ": explained by ";
      return text + d.slip->text +
             (d.slip->kind == Slip::Kind::overflow ? "." : " (error then " + times_text(d.slip->ratio) + ").");
    }
    if (d.verdict == Verdict::loose) text += ", inside PyTorch's 5×";
    if (!d.where.empty()) text += ", " + d.where;
    return text + "; no usual slip explains it.";
  }

  /// The limit: the other method's largest error on the slip's problem; if the slip has none, the limit scaled with the values.
  double limit_of(const Suspect& suspect, const Fit& f) const {
    const double rounding = half_epsilon(e_.loaded.type) * f.size, size = errors_.size();
    if (suspect.inputs) return std::max(rounding, rival_error(*suspect.inputs));
    if (!suspect.problem) return std::max(rounding, errors_.limit() * std::max(1.0, size > 0 ? f.size / size : 1));
    Experiment e = e_;
    e.problem = *suspect.problem;
    return std::max(rounding, errors_.rival_error(std::move(e)));
  }
  /// The rival's largest error with another main format.
  double rival_error(const Format& format) const { return errors_.rival_error(with_format(e_, format)); }

  /// Whether so much of the error is explained that it is no chance: nearly all of it; or, near the line, where rounding is as
  /// large as the slip, the whole slip has to be there, and enough elements have to agree.
  bool explains(const Suspect& suspect, const Fit& f, double outside, double inside) const {
    if (f.unexplained > 0 || f.compared == 0 || !f.leaves_little()) return false;
    const double drop = f.drop();
    if (drop >= outside && !errors_.inside()) return true;
    return (errors_.subtle() || suspect.inputs) && drop >= inside && std::abs(std::log2(std::max(f.share(), 1e-3))) <= 0.4 &&
           static_cast<double>(f.telling) * std::log(drop) >= 20;
  }

  /// The suspect as a slip, if it explains the error; `left` is then what it leaves of it.
  std::optional<Slip> accepted(const Suspect& suspect, const std::vector<int>& some, const std::vector<int>& many,
                               double& left) const {
    const ExpectedRow expected = suspect.begin();
    if (!explains(suspect, errors_.fit(expected, some), 3, 1.3)) return {};
    const Fit all = errors_.fit(expected, many);
    if (!explains(suspect, all, 4, 1.6) || all.rows < std::min(2, errors_.output().rows)) return {};
    left = all.mean_left();
    const double ratio = all.largest / limit_of(suspect, all);
    if (!(ratio <= (all.drop() < 10 ? 2 : 5))) return {};
    Slip slip{suspect.kind, suspect.text, ratio, true};
    if (suspect.kind == Slip::Kind::mask && suspect.problem) slip.mask = suspect.problem->mask;
    return slip;
  }

  /// Inside the line only slips that change little are suspected.
  std::vector<Suspect> suspects(const std::vector<int>& rows) const {
    if (errors_.inside()) return arithmetic_suspects(r_, {});
    std::vector<Suspect> all = arithmetic_suspects(r_, heads_);
    std::ranges::move(layout_suspects(r_, errors_.output(), rows, options_.cancelled), std::back_inserter(all));
    return all;
  }

  /// The rows on which suspects are looked at, and those on which they are then tried.
  std::vector<int> some_rows() const { return errors_.chosen(std::clamp((1 << 17) / key_count(e_.problem), 8, 32)); }
  std::vector<int> many_rows() const { return errors_.chosen(std::clamp((1 << 20) / key_count(e_.problem), 32, 1024)); }

  /// All rows of what a suspect gives. A row that sees no key is 0, as in the golden output, unless the kernel's is NaN, too.
  Matrix whole_output(const ExpectedRow& expected) const {
    const Matrix& o = errors_.output();
    Matrix all = o;
    tbb::parallel_for(0, o.rows, [&](int i) {
      errors_.check();
      std::vector<double> row(static_cast<std::size_t>(o.cols));
      const bool known = expected(r_.rows[static_cast<std::size_t>(i)], row.data());
      for (int c = 0; c < o.cols; ++c) {
        const double x = known ? row[static_cast<std::size_t>(c)] : errors_.golden_at(i, c);
        all.values[static_cast<std::size_t>(i) * static_cast<std::size_t>(o.cols) + static_cast<std::size_t>(c)] =
            std::isnan(x) && std::isfinite(o(i, c)) ? 0 : x;
      }
    });
    return all;
  }

  /// The first slip that fits as well as the best.
  std::optional<Slip> slip() const {
    const std::vector<int> some = some_rows(), many = many_rows();
    std::vector<std::pair<Slip, double>> found;
    double best = infinity;
    for (const Suspect& s : suspects(many)) {
      errors_.check();
      double left = 0;
      if (std::optional<Slip> slip = accepted(s, some, many, left)) {
        found.emplace_back(std::move(*slip), left);
        best = std::min(best, left);
      }
    }
    const double elements = static_cast<double>(many.size()) * errors_.output().cols;
    for (auto& [slip, left] : found)
      if (elements * (left - best) <= 30 * std::max(best, 1e-300)) return std::move(slip);
    if (errors_.inside()) return {};
    if (std::optional<Slip> tail = tail_slip(e_, errors_)) return tail;
    return errors_.deviation().nonfinite > 0 ? overflow_slip(r_, errors_) : std::nullopt;
  }

  const Result& r_;
  const Experiment& e_;
  const OtherHeads& heads_;
  const Options& options_;
  OutputErrors errors_;
};

}  // namespace

Diagnosis diagnose(const Result& result, const OtherHeads& heads, const Options& options) {
  Diagnosis found;
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] { found = SlipFinder(result, heads, options).find(); });
  return found;
}

std::shared_ptr<const Result> with_slip_output(const Result& result, const Slip& slip, const OtherHeads& heads,
                                               const Options& options) {
  std::optional<Matrix> output;
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] { output = SlipFinder(result, heads, options).output_of(slip); });
  if (!output) return nullptr;
  auto changed = std::make_shared<Result>(result);
  (result.experiment.a.algorithm == Algorithm::loaded ? changed->a : changed->b) = std::move(*output);
  changed->on_device = nullptr;
  return changed;
}

}  // namespace attoscope
