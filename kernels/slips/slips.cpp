#include "kernels/slips/slips.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/slips/error_places.h"
#include "kernels/slips/other_roundings.h"
#include "kernels/slips/slip_suspects.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

using Verdict = Diagnosis::Verdict;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Half an ulp of 1 of the type as stored; 0 for one unknown.
double half_epsilon(const std::string& type) {
  if (type == "F16") return epsilon(fp16) / 2;
  if (type == "BF16") return epsilon(bf16) / 2;
  return type == "F32" ? epsilon(fp32) / 2 : type == "F64" ? epsilon(fp64) / 2 : 0;
}

double largest_of(const Matrix& m) {
  double most = 0;
  for (const double x : m.values)
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  return most;
}

/// How well an expectation fits the output over some rows, compared with how well the golden value does.
struct Fit {
  /// Sums of squares over the rows in which the expectation can be told from the golden value: the output's distance from the
  /// golden value and from the expectation, the expectation's from the golden value, and the product of both of the latter.
  double truth_square = 0, square = 0, apart_square = 0, along = 0;
  std::int64_t telling = 0;                    ///< elements in these rows
  double output_square = 0, left_square = 0;   ///< over all rows: of the output, and of its distance from the expectation
  double left = 0;                             ///< the same distance in units of each row's rounding error
  double largest = 0;                          ///< distance from the expectation
  double size = 0;                             ///< largest |expectation|
  std::int64_t compared = 0, unexplained = 0;  ///< NaN or infinite where a number was expected
  int rows = 0;

  void add(const Fit& x) {
    truth_square += x.truth_square, square += x.square, apart_square += x.apart_square, along += x.along;
    telling += x.telling, output_square += x.output_square, left_square += x.left_square, left += x.left;
    largest = std::max(largest, x.largest), size = std::max(size, x.size);
    compared += x.compared, unexplained += x.unexplained, rows += x.rows;
  }
  /// How much smaller the root mean square becomes.
  double drop() const { return telling > 0 ? std::sqrt(truth_square / std::max(square, 1e-300)) : 0; }
  /// How much of the expected difference is in the output: 1 if it is all there.
  double share() const { return along / std::max(apart_square, 1e-300); }
  /// True if what the expectation leaves is small against the output itself.
  bool leaves_little() const { return 16 * left_square <= output_square; }
  double mean_left() const { return left / static_cast<double>(std::max<std::int64_t>(1, compared)); }
};

std::string times_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, ratio < 9.95 ? "%.1f×" : ratio < 9999.5 ? "%.0f×" : "%.1e×", ratio);
  return text;
}

class SlipFinder {
 public:
  SlipFinder(const Result& result, const OtherHeads& heads, const Options& options)
      : r_(result),
        e_(result.experiment),
        heads_(heads),
        options_(options),
        of_a_(e_.a.algorithm == Algorithm::loaded),
        o_(of_a_ ? r_.a : r_.b),
        own_(of_a_ ? r_.a_error : r_.b_error) {
    const Method& other = of_a_ ? e_.b : e_.a;
    rounding_ = half_epsilon(e_.loaded.type);
    rival_ = is_emulated(other.algorithm) ? other : default_experiment().b;
    const Deviation& theirs = of_a_ ? r_.b_error : r_.a_error;
    const double rounding = rounding_, size = largest_of(*r_.golden);
    const bool compares = other.algorithm != Algorithm::loaded && theirs.nonfinite == 0;
    limit_ = std::max(compares ? theirs.max_abs : 0, rounding * size);
    limit_rms_ = std::max(compares ? theirs.rms : 0, rounding * r_.golden_rms / 2);
    size_ = size;
  }

  Diagnosis find() {
    Diagnosis d = judgement();
    if (d.verdict != Verdict::rounded && !tight_max_.empty()) point_at(d);
    if (e_.problem.input.kind == InputKind::tensors && (heads_.count > 1 || e_.loaded.index > 0))
      d.sentence += " Compared: head " + std::to_string(e_.loaded.index) + " of O with head " +
                    std::to_string(e_.problem.input.index) + " of Q, K, V.";
    return d;
  }

  /// The exact output of a slip that was found; none where it is not among the suspects.
  std::optional<Matrix> output_of(const Slip& slip) {
    if (!has_line()) return {};
    look();
    for (const Suspect& s : suspects(many_rows()))
      if (s.kind == slip.kind && s.text == slip.text) return whole_output(s.begin());
    return {};
  }

 private:
  bool is_square() const { return shape_of(e_.problem).is_square(); }
  bool has_line() const { return r_.golden_nonfinite == 0 && limit_ > 0; }

  /// What the search depends on.
  void look() {
    const double ratio = own_.max_abs / limit_;
    inside_ = own_.nonfinite == 0 && ratio <= 2 && own_.rms <= 2 * limit_rms_;
    subtle_ = own_.nonfinite == 0 && ratio <= 5;
    find_envelope();
  }

  Diagnosis judgement() {
    Diagnosis d{.experiment = e_, .where = {}, .bad_rows = {}, .slip = {}, .sentence = {}};
    if (!has_line()) return incomparable(std::move(d));
    look();
    d.ratio = own_.max_abs / limit_;
    d.line = 2 * limit_;
    d.bad_rows = bad_rows();
    const bool in_line = own_.nonfinite == 0 && d.ratio <= 2;
    d.verdict = in_line ? Verdict::rounded : own_.nonfinite == 0 && d.ratio <= 5 ? Verdict::loose : Verdict::wrong;
    d.slip = slip();
    if (in_line && !d.slip) return standing_out(std::move(d));
    d.where = places();
    if (d.slip) d.verdict = d.slip->kind == Slip::Kind::format ? Verdict::incomparable : Verdict::wrong;
    if (!d.slip && own_.nonfinite == 0)
      if (std::optional<std::string> other = other_rounding(); other) return rounded_as(*other, std::move(d));
    const bool scattered = d.where == "everywhere" || d.where == "in most rows";
    if (!d.slip && scattered && own_.nonfinite == 0)
      for (const Format& coarser : {fp16, bf16})
        if (epsilon(coarser) > epsilon(e_.format) && own_.max_abs <= 2 * rival_error(coarser))
          return as_in(coarser, std::move(d));
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
    d.sentence = "Outside the line (" + times_text(d.ratio) + "), but no further off than a kernel that rounds to " +
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
    if (!is_square()) return {};
    const std::vector<int> some = chosen(std::clamp((1 << 17) / e_.problem.n, 8, 32)), many = many_rows();
    const auto explained = [&](const Fit& f, double drop) {
      const double rms = std::sqrt(f.left_square / static_cast<double>(std::max<std::int64_t>(1, f.compared)));
      return f.unexplained == 0 && f.compared > 0 && f.drop() >= drop && f.largest <= 4 * limit_ && rms <= 2 * limit_rms_;
    };
    for (const OtherRounding& other : other_roundings(e_.problem, r_.inputs, nullptr, e_.format)) {
      check();
      const ExpectedRow expected = other.begin();
      if (explained(fit(expected, some), 1.5) && explained(fit(expected, many), 1.75)) return other.text;
    }
    return {};
  }

  /// Inside the line without a slip: rounded, unless a few rows are much worse than the others.
  Diagnosis standing_out(Diagnosis d) const {
    const std::vector<int> rows = outstanding_rows();
    if (rows.empty()) {
      d.sentence = "Rounded: its largest error is " + times_text(d.ratio) +
                   " that of the other method (the line is at 2×), and no usual slip shows in it.";
      return d;
    }
    d.verdict = Verdict::loose;
    d.bad_rows = rows;
    d.where = rows.size() == 1 ? "in row " : "in rows ";
    for (const int row : rows) d.where += (row == rows.front() ? "" : ", ") + std::to_string(row);
    d.sentence = "Inside the line (" + times_text(d.ratio) + "), but " +
                 (rows.size() == 1 ? "one row stands out: " : std::to_string(rows.size()) + " rows stand out: ") +
                 d.where.substr(d.where.find_first_of("0123456789")) + "; no usual slip explains it.";
    return d;
  }

  std::string sentence(const Diagnosis& d, bool inside) const {
    std::string text =
        inside ? "Inside the line (" + times_text(d.ratio) + ")" : "Outside the line (" + times_text(d.ratio) + ")";
    if (own_.nonfinite > 0) text = std::to_string(own_.nonfinite) + " values are NaN or infinite";
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

  /// How far the tightest rival is from the truth in each row: scores and sums in fp32, P in D, the output as stored. In rows
  /// that are too many to be computed: its error in some of them.
  void find_envelope() {
    Experiment e = e_;
    Method& tight = of_a_ ? e.b : e.a;
    tight = {.algorithm = Algorithm::three_pass, .precision = policy("base_hw").precision};
    const std::string& type = e_.loaded.type;
    if (type == "F16" || type == "BF16" || type == "F32")
      tight.precision[Step::output] = to_format(type == "F16" ? fp16 : type == "BF16" ? bf16 : fp32);
    const double work = static_cast<double>(r_.rows.size()) * e.problem.n * e.problem.d;
    has_envelope_ = work <= 4e9;
    if (!has_envelope_) e.problem.rows = 256;
    const Result answer = compute(e, {.cancelled = options_.cancelled, .threads = options_.threads});
    const Deviation& all = of_a_ ? answer.b_error : answer.a_error;
    const double floor = std::max({rounding_, epsilon(e_.format) / 64, 1e-9}) * r_.golden_rms / 4;
    tight_rms_.assign(r_.rows.size(), std::max(all.rms, floor));
    tight_max_.assign(r_.rows.size(), std::max(all.max_abs, floor));
    if (!has_envelope_) return;
    const Matrix& x = of_a_ ? answer.b : answer.a;
    for (int i = 0; i < x.rows; ++i) {
      double square = 0, most = 0;
      for (int c = 0; c < x.cols; ++c) {
        const double error = std::abs(x(i, c) - golden_at(i, c));
        square += error * error, most = std::max(most, error);
      }
      tight_rms_[static_cast<std::size_t>(i)] = std::max(std::sqrt(square / x.cols), floor);
      tight_max_[static_cast<std::size_t>(i)] = std::max(most, floor);
    }
  }

  /// A row's largest error in units of what the tightest rival has there: its largest error in the row and half a unit in the
  /// last place of the element.
  double excess(int index) const {
    const double unit = std::max(rounding_, epsilon(e_.format) / 2);
    double most = 0;
    for (int c = 0; c < o_.cols; ++c) {
      const double error = error_at(index, c);
      most = std::max(most, std::isnan(error)
                                ? infinity
                                : error / (tight_max_[static_cast<std::size_t>(index)] + unit * std::abs(golden_at(index, c))));
    }
    return most;
  }

  /// A row's largest error in units of the other method's there, or of what it has at least.
  double excess_over_rival(int index) const {
    const Matrix& rival = of_a_ ? r_.b : r_.a;
    double own = 0, theirs = tight_max_[static_cast<std::size_t>(index)];
    for (int c = 0; c < o_.cols; ++c) {
      own = std::max(own, error_at(index, c));
      theirs = std::max(theirs, std::abs(rival(index, c) - golden_at(index, c)));
    }
    return own / theirs;
  }

  /// The value that 19 of 20 stay below.
  static double usual_of(std::vector<double> all) {
    const auto usual = all.begin() + static_cast<std::ptrdiff_t>(all.size() * 19 / 20);
    std::ranges::nth_element(all, usual);
    return *usual;
  }

  /// Rows of Q whose error is far above that of nearly all other rows, whichever rival says what rounding gives in each; none
  /// where many are.
  std::vector<int> outstanding_rows() const {
    const bool has_rival = is_emulated((of_a_ ? e_.b : e_.a).algorithm);
    if (!has_envelope_ || o_.rows < 32) return {};
    std::vector<double> all, over_rival;
    for (int i = 0; i < o_.rows; ++i) {
      all.push_back(excess(i));
      over_rival.push_back(has_rival ? excess_over_rival(i) : all.back());
    }
    const double usual = usual_of(all), usual_over_rival = usual_of(over_rival);
    std::vector<int> rows;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] > std::max(2.0, 3 * usual) && over_rival[i] > 2 * usual_over_rival) rows.push_back(r_.rows[i]);
    return rows.size() <= 4 ? rows : std::vector<int>{};
  }

  /// Sets where to look first.
  void point_at(Diagnosis& d) const {
    int index = 0, worst = -1;
    double most = 0;
    for (int i = 0; i < o_.rows && worst < 0; ++i)
      for (int c = 0; c < o_.cols && worst < 0; ++c)
        if (is_bad(i, c)) index = i, worst = i;
    for (int i = 0; i < o_.rows && worst < 0; ++i)
      if (const double x = excess(i); x > most) most = x, index = i;
    d.first_row = r_.rows[static_cast<std::size_t>(index)];
    d.worst_col = 0;
    for (int c = 1; c < o_.cols; ++c)
      if (!(error_at(index, c) <= error_at(index, d.worst_col)) && !std::isnan(error_at(index, d.worst_col))) d.worst_col = c;
  }

  double golden_at(int index, int c) const { return (*r_.golden)(index, c); }
  double error_at(int index, int c) const { return std::abs(o_(index, c) - golden_at(index, c)); }
  bool is_bad(int index, int c) const { return !(error_at(index, c) <= 2 * limit_); }

  std::vector<int> bad_rows() const {
    std::vector<int> rows;
    for (int i = 0; i < o_.rows; ++i)
      for (int c = 0; c < o_.cols; ++c)
        if (is_bad(i, c)) {
          rows.push_back(r_.rows[static_cast<std::size_t>(i)]);
          break;
        }
    return rows;
  }

  std::string places() const {
    std::vector<bool> rows(r_.rows.size()), columns(static_cast<std::size_t>(o_.cols));
    for (int i = 0; i < o_.rows; ++i)
      for (int c = 0; c < o_.cols; ++c)
        if (is_bad(i, c)) rows[static_cast<std::size_t>(i)] = columns[static_cast<std::size_t>(c)] = true;
    return error_places(rows, columns, r_.rows, e_.problem.n);
  }

  /// Half of them where the error is largest against rounding, half spread irregularly, so that a periodic pattern of rows is
  /// not missed.
  std::vector<int> chosen(int count) const {
    const int rows = o_.rows;
    std::vector<int> order(static_cast<std::size_t>(rows));
    std::vector<double> worst(order.size());
    for (int i = 0; i < rows; ++i) {
      order[static_cast<std::size_t>(i)] = i;
      worst[static_cast<std::size_t>(i)] = excess(i);
    }
    if (count >= rows) return order;
    std::stable_sort(order.begin(), order.end(),
                     [&](int x, int y) { return worst[static_cast<std::size_t>(x)] > worst[static_cast<std::size_t>(y)]; });
    std::set<int> picked(order.begin(), order.begin() + count / 2);
    for (std::uint64_t k = 0; k < 16 * static_cast<std::uint64_t>(count) && static_cast<int>(picked.size()) < count; ++k)
      picked.insert(static_cast<int>((k * 0x9e3779b97f4a7c15U >> 32) * static_cast<std::uint64_t>(rows) >> 32));
    return {picked.begin(), picked.end()};
  }

  void check() const {
    if (options_.cancelled && options_.cancelled()) throw Stopped{};
  }

  Fit fit_of_row(int index, const double* expected) const {
    Fit f{.rows = 1};
    Fit part;
    const double unit = tight_rms_[static_cast<std::size_t>(index)];
    for (int c = 0; c < o_.cols; ++c) {
      const double x = o_(index, c), y = expected[c], g = golden_at(index, c);
      if (!std::isfinite(x)) {
        f.unexplained += std::isfinite(y);
        continue;
      }
      const double wanted = std::isfinite(y) ? y : 0, distance = x - wanted;  // a row without keys may be 0 or NaN
      part.truth_square += (x - g) * (x - g), part.square += distance * distance;
      part.apart_square += (wanted - g) * (wanted - g), part.along += (x - g) * (wanted - g);
      f.output_square += x * x;
      f.left += distance * distance / (unit * unit);
      f.largest = std::max(f.largest, std::abs(distance));
      if (std::isfinite(y)) f.size = std::max(f.size, std::abs(y));
      ++f.compared;
    }
    f.left_square = part.square;
    part.telling = f.compared;
    if (4 * part.apart_square >= unit * unit * static_cast<double>(f.compared)) f.add(part);
    return f;
  }

  Fit fit(const ExpectedRow& expected, const std::vector<int>& indices) const {
    std::vector<Fit> fits(indices.size());
    tbb::parallel_for(std::size_t{0}, indices.size(), [&](std::size_t i) {
      check();
      std::vector<double> row(static_cast<std::size_t>(o_.cols));
      if (expected(r_.rows[static_cast<std::size_t>(indices[i])], row.data())) fits[i] = fit_of_row(indices[i], row.data());
    });
    Fit sum;
    for (const Fit& f : fits) sum.add(f);
    return sum;
  }

  /// The limit: the other method's largest error on the slip's problem; if the slip has none, the limit scaled with the values.
  double limit_of(const Suspect& suspect, const Fit& f) const {
    const double rounding = half_epsilon(e_.loaded.type) * f.size;
    if (suspect.inputs) return std::max(rounding, rival_error(*suspect.inputs));
    if (!suspect.problem) return std::max(rounding, limit_ * std::max(1.0, size_ > 0 ? f.size / size_ : 1));
    Experiment e = e_;
    e.problem = *suspect.problem;
    return std::max(rounding, rival_error(std::move(e)));
  }

  /// The rival's largest error.
  double rival_error(Experiment e) const {
    const int rows = e.problem.n <= 2048 ? e.problem.n : 1024;
    e.problem.rows = e.problem.rows == 0 ? rows : std::min(e.problem.rows, rows);
    const Method rivals[]{rival_};
    return errors_of(e, rivals, {.cancelled = options_.cancelled, .threads = options_.threads})[0].max_abs;
  }
  /// The same with another main format.
  double rival_error(const Format& format) const { return rival_error(with_format(e_, format)); }

  /// Whether so much of the error is explained that it is no chance: nearly all of it; or, near the line, where rounding is as
  /// large as the slip, the whole slip has to be there, and enough elements have to agree.
  bool explains(const Suspect& suspect, const Fit& f, double outside, double inside) const {
    if (f.unexplained > 0 || f.compared == 0 || !f.leaves_little()) return false;
    const double drop = f.drop();
    if (drop >= outside && !inside_) return true;
    return (subtle_ || suspect.inputs) && drop >= inside && std::abs(std::log2(std::max(f.share(), 1e-3))) <= 0.4 &&
           static_cast<double>(f.telling) * std::log(drop) >= 20;
  }

  /// The suspect as a slip, if it explains the error; `left` is then what it leaves of it.
  std::optional<Slip> accepted(const Suspect& suspect, const std::vector<int>& some, const std::vector<int>& many,
                               double& left) const {
    const ExpectedRow expected = suspect.begin();
    if (!explains(suspect, fit(expected, some), 3, 1.3)) return {};
    const Fit all = fit(expected, many);
    if (!explains(suspect, all, 4, 1.6) || all.rows < 2) return {};
    left = all.mean_left();
    const double ratio = all.largest / limit_of(suspect, all);
    if (!(ratio <= (all.drop() < 10 ? 2 : 5))) return {};
    return Slip{suspect.kind, suspect.text, ratio, true};
  }

  /// Inside the line only slips that change little are suspected; none is known yet of a head that is not square.
  std::vector<Suspect> suspects(const std::vector<int>& rows) const {
    if (!is_square()) return {};
    if (inside_) return arithmetic_suspects(r_, {});
    std::vector<Suspect> all = arithmetic_suspects(r_, heads_);
    std::ranges::move(layout_suspects(r_, o_, rows, options_.cancelled), std::back_inserter(all));
    return all;
  }

  /// The rows on which suspects are tried.
  std::vector<int> many_rows() const { return chosen(std::clamp((1 << 20) / e_.problem.n, 32, 1024)); }

  /// All rows of what a suspect gives. A row that sees no key is 0, as in the golden output, unless the kernel's is NaN, too.
  Matrix whole_output(const ExpectedRow& expected) const {
    Matrix all = o_;
    tbb::parallel_for(0, o_.rows, [&](int i) {
      check();
      std::vector<double> row(static_cast<std::size_t>(o_.cols));
      const bool known = expected(r_.rows[static_cast<std::size_t>(i)], row.data());
      for (int c = 0; c < o_.cols; ++c) {
        const double x = known ? row[static_cast<std::size_t>(c)] : golden_at(i, c);
        all.values[static_cast<std::size_t>(i) * static_cast<std::size_t>(o_.cols) + static_cast<std::size_t>(c)] =
            std::isnan(x) && std::isfinite(o_(i, c)) ? 0 : x;
      }
    });
    return all;
  }

  /// The first slip that fits as well as the best.
  std::optional<Slip> slip() const {
    const int n = e_.problem.n;
    const std::vector<int> some = chosen(std::clamp((1 << 17) / n, 8, 32)), many = many_rows();
    std::vector<std::pair<Slip, double>> found;
    double best = infinity;
    for (const Suspect& s : suspects(many)) {
      check();
      double left = 0;
      if (std::optional<Slip> slip = accepted(s, some, many, left)) {
        found.emplace_back(std::move(*slip), left);
        best = std::min(best, left);
      }
    }
    const double elements = static_cast<double>(many.size()) * o_.cols;
    for (auto& [slip, left] : found)
      if (elements * (left - best) <= 30 * std::max(best, 1e-300)) return std::move(slip);
    if (inside_) return {};
    if (std::optional<Slip> tail = tail_slip()) return tail;
    return own_.nonfinite > 0 ? overflow_slip() : std::nullopt;
  }

  /// The slip that only rows of the last, partial tile are wrong.
  std::optional<Slip> tail_slip() const {
    const int n = e_.problem.n;
    if (o_.rows != n) return {};
    int first = n, bad = 0;
    bool zero = true;
    double good = 0;
    for (int i = n - 1; i >= 0; --i) {
      double worst = 0, size = 0;
      for (int c = 0; c < o_.cols; ++c)
        worst = std::max(worst, is_bad(i, c) ? infinity : error_at(i, c)), size = std::max(size, std::abs(o_(i, c)));
      if (worst == infinity)
        first = i, ++bad, zero = zero && size == 0;
      else
        good = std::max(good, worst);
    }
    std::string tiles;
    int start = 0;
    for (const int tile : likely_tiles(e_)) {
      const int at = n - n % tile;
      if (n % tile == 0 || at > first || at < start) continue;
      tiles = at > start ? std::to_string(tile) : tiles + " or " + std::to_string(tile);
      start = at;
    }
    if (start == 0 || bad == 0 || 2 * bad < n - start) return {};
    return Slip{
        Slip::Kind::tail,
        std::string(zero ? "the last, partial tile of rows never written" : "garbage in the last, partial tile of rows") +
            " (rows " + std::to_string(start) + " to " + std::to_string(n - 1) + " of tiles of " + tiles + ")",
        good / limit_};
  }

  /// What would make a row NaN or infinite, and whether it does in this row.
  struct Cause {
    const char* text;
    bool holds;
  };
  static std::vector<Cause> causes(const VariantHead& head, const SoftmaxVariant& right, int row) {
    std::vector<double> s;
    products(head, row, s);
    const Keys keys = right.keys(row);
    double product = 0, score = -infinity, l = 0;
    for (int j = keys.first; j < keys.end; ++j) {
      product = std::max(product, std::abs(s[static_cast<std::size_t>(j)]));
      score = std::max(score, s[static_cast<std::size_t>(j)] * right.scale);
    }
    for (int j = keys.first; j < keys.end; ++j) l += std::exp(s[static_cast<std::size_t>(j)] * right.scale - score);
    const double most16 = largest(fp16), most32 = largest(fp32);
    return {{"a division by l = 0 in rows that see no key", keys.empty()},
            {"q.k beyond 65504 before the scale (fp16 overflows)", product > most16},
            {"exp(S) without its max subtracted (fp16 overflows)", score > std::log(most16)},
            {"exp(S) without its max subtracted (fp32 overflows)", score > std::log(most32)},
            {"a row sum l beyond 65504 (fp16 overflows)", l > most16}};
  }

  bool has_nonfinite(int index) const {
    for (int c = 0; c < o_.cols; ++c)
      if (!std::isfinite(o_(index, c))) return true;
    return false;
  }

  /// The cause that holds in nearly all rows with NaN or infinities and in nearly none without.
  std::optional<Slip> overflow_slip() const {
    if (!is_square()) return {};
    const VariantHead head = variant_head(r_.inputs->n, r_.inputs->d, r_.inputs->q, r_.inputs->k, r_.inputs->v);
    const SoftmaxVariant right = right_softmax(e_.problem);
    struct Guess {
      const char* text;
      int hits = 0, alarms = 0;
    };
    std::vector<Guess> guesses(5);
    int bad = 0, good = 0;
    for (const int index : chosen(std::clamp((1 << 20) / e_.problem.n, 32, 256))) {
      check();
      const bool broken = has_nonfinite(index);
      (broken ? bad : good) += 1;
      const std::vector<Cause> all = causes(head, right, r_.rows[static_cast<std::size_t>(index)]);
      for (std::size_t i = 0; i < all.size(); ++i) {
        guesses[i].text = all[i].text;
        (broken ? guesses[i].hits : guesses[i].alarms) += all[i].holds;
      }
    }
    for (const Guess& g : guesses)
      if (bad > 0 && g.hits * 20 >= bad * 19 && g.alarms * 20 <= good) return Slip{Slip::Kind::overflow, g.text, 0};
    return {};
  }

  const Result& r_;
  const Experiment& e_;
  const OtherHeads& heads_;
  const Options& options_;
  bool of_a_;
  const Matrix& o_;
  const Deviation& own_;
  Method rival_;
  double limit_ = 0, limit_rms_ = 0, size_ = 0;
  double rounding_ = 0;                        ///< half a unit in the last place of 1, as stored
  bool inside_ = false;                        ///< neither the largest error nor the root mean square is beyond the line
  bool subtle_ = false;                        ///< the largest error is within five times that of the other method
  bool has_envelope_ = false;                  ///< `tight_max_` is known for each row
  std::vector<double> tight_rms_, tight_max_;  ///< of the tightest rival, for each row of the matrices
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
