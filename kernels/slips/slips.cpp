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
#include "kernels/slips/error_places.h"
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
  double truth_square = 0, square = 0;         ///< sums of squared distances
  double largest = 0;                          ///< distance from the expectation
  double size = 0;                             ///< largest |expectation|
  std::int64_t compared = 0, unexplained = 0;  ///< NaN or infinite where a number was expected
  int rows = 0;

  void add(const Fit& x) {
    truth_square += x.truth_square, square += x.square;
    largest = std::max(largest, x.largest), size = std::max(size, x.size);
    compared += x.compared, unexplained += x.unexplained, rows += x.rows;
  }
  /// How much smaller the root mean square becomes.
  double drop() const { return std::sqrt(truth_square / std::max(square, 1e-300)); }
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
    rival_ = is_emulated(other.algorithm) ? other : default_experiment().b;
    const Deviation& theirs = of_a_ ? r_.b_error : r_.a_error;
    const double rounding = half_epsilon(e_.loaded.type), size = largest_of(*r_.golden);
    const bool compares = other.algorithm != Algorithm::loaded && theirs.nonfinite == 0;
    limit_ = std::max(compares ? theirs.max_abs : 0, rounding * size);
    limit_rms_ = std::max(compares ? theirs.rms : 0, rounding * r_.golden_rms / 2);
    size_ = size;
  }

  Diagnosis find() {
    Diagnosis d{.experiment = e_, .where = {}, .slip = {}, .sentence = {}};
    if (r_.golden_nonfinite > 0 || !(limit_ > 0)) return incomparable(std::move(d));
    d.ratio = own_.max_abs / limit_;
    const bool inside = own_.nonfinite == 0 && d.ratio <= 2;
    d.verdict = inside ? Verdict::rounded : own_.nonfinite == 0 && d.ratio <= 5 ? Verdict::loose : Verdict::wrong;
    if (inside && own_.rms <= 2 * limit_rms_) return rounded(std::move(d));
    d.slip = slip();
    if (inside && !d.slip) return rounded(std::move(d));
    d.where = places();
    if (d.slip) d.verdict = Verdict::wrong;
    d.sentence = sentence(d, inside);
    return d;
  }

 private:
  static Diagnosis incomparable(Diagnosis d) {
    d.sentence = "Not comparable: the truth itself holds NaN or infinities, or there is no error to hold it to.";
    return d;
  }
  static Diagnosis rounded(Diagnosis d) {
    d.sentence =
        "Rounded, not wrong: its largest error is " + times_text(d.ratio) + " that of the other method (the line is at 2×).";
    return d;
  }

  std::string sentence(const Diagnosis& d, bool inside) const {
    std::string text =
        inside ? "Inside the line (" + times_text(d.ratio) + ")" : "Outside the line (" + times_text(d.ratio) + ")";
    if (own_.nonfinite > 0) text = std::to_string(own_.nonfinite) + " values are NaN or infinite";
    if (d.slip) {
      text += inside ? ", but wrong: explained by " : ": explained by ";
      return text + d.slip->text +
             (d.slip->kind == Slip::Kind::overflow ? "." : " (error then " + times_text(d.slip->ratio) + ").");
    }
    if (d.verdict == Verdict::loose) text += ", inside PyTorch's 5×";
    if (!d.where.empty()) text += ", " + d.where;
    return text + "; no usual slip explains it.";
  }

  double golden_at(int index, int c) const { return (*r_.golden)(index, c); }
  double error_at(int index, int c) const { return std::abs(o_(index, c) - golden_at(index, c)); }
  bool is_bad(int index, int c) const { return !(error_at(index, c) <= 2 * limit_); }

  std::string places() const {
    std::vector<bool> rows(r_.rows.size()), columns(static_cast<std::size_t>(o_.cols));
    for (int i = 0; i < o_.rows; ++i)
      for (int c = 0; c < o_.cols; ++c)
        if (is_bad(i, c)) rows[static_cast<std::size_t>(i)] = columns[static_cast<std::size_t>(c)] = true;
    return error_places(rows, columns, r_.rows, e_.problem.n);
  }

  /// Half of them where the error is largest, half spread irregularly, so that a periodic pattern of rows is not missed.
  std::vector<int> chosen(int count) const {
    const int rows = o_.rows;
    std::vector<int> order(static_cast<std::size_t>(rows));
    std::vector<double> worst(order.size());
    for (int i = 0; i < rows; ++i) {
      order[static_cast<std::size_t>(i)] = i;
      for (int c = 0; c < o_.cols; ++c) {
        const double error = error_at(i, c);
        worst[static_cast<std::size_t>(i)] = std::max(worst[static_cast<std::size_t>(i)], std::isnan(error) ? infinity : error);
      }
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
    for (int c = 0; c < o_.cols; ++c) {
      const double x = o_(index, c), y = expected[c];
      if (!std::isfinite(x)) {
        f.unexplained += std::isfinite(y);
        continue;
      }
      const double distance = x - (std::isfinite(y) ? y : 0);  // a row without keys may be 0 or NaN
      f.truth_square += error_at(index, c) * error_at(index, c);
      f.square += distance * distance;
      f.largest = std::max(f.largest, std::abs(distance));
      if (std::isfinite(y)) f.size = std::max(f.size, std::abs(y));
      ++f.compared;
    }
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
    if (!suspect.problem) return std::max(rounding, limit_ * std::max(1.0, size_ > 0 ? f.size / size_ : 1));
    Experiment e = e_;
    e.problem = *suspect.problem;
    const int rows = e.problem.n <= 2048 ? e.problem.n : 1024;
    e.problem.rows = e.problem.rows == 0 ? rows : std::min(e.problem.rows, rows);
    const Method rivals[]{rival_};
    return std::max(rounding, errors_of(e, rivals, {.cancelled = options_.cancelled, .threads = options_.threads})[0].max_abs);
  }

  /// The suspect as a slip, if it explains nearly all of the error.
  std::optional<Slip> accepted(const Suspect& suspect, const std::vector<int>& some, const std::vector<int>& many,
                               double& drop) const {
    const ExpectedRow expected = suspect.begin();
    const Fit first = fit(expected, some);
    if (first.unexplained > 0 || !(first.drop() >= 3)) return {};
    const Fit all = fit(expected, many);
    if (all.unexplained > 0 || all.rows < 2 || all.compared == 0 || !(all.drop() >= 4)) return {};
    drop = all.drop();
    const double ratio = all.largest / limit_of(suspect, all);
    if (!(ratio <= (drop < 10 ? 2 : 5))) return {};
    return Slip{suspect.kind, suspect.text, ratio};
  }

  /// The first slip that fits nearly as well as the best.
  std::optional<Slip> slip() const {
    const int n = e_.problem.n;
    const std::vector<int> some = chosen(std::clamp((1 << 17) / n, 8, 32)), many = chosen(std::clamp((1 << 20) / n, 32, 1024));
    std::vector<Suspect> suspects = arithmetic_suspects(r_, heads_);
    std::ranges::move(layout_suspects(r_, o_, many, options_.cancelled), std::back_inserter(suspects));
    std::vector<std::pair<Slip, double>> found;
    double best = 0;
    for (const Suspect& s : suspects) {
      check();
      double drop = 0;
      if (std::optional<Slip> slip = accepted(s, some, many, drop)) {
        found.emplace_back(std::move(*slip), drop);
        best = std::max(best, drop);
      }
    }
    for (auto& [slip, drop] : found)
      if (drop * 2 >= best) return std::move(slip);
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
};

}  // namespace

Diagnosis diagnose(const Result& result, const OtherHeads& heads, const Options& options) {
  Diagnosis found;
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] { found = SlipFinder(result, heads, options).find(); });
  return found;
}

}  // namespace attoscope
