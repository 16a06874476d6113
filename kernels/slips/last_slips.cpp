#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/experiment/result.h"
#include "kernels/slips/output_errors.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

/// Rows with an error beyond the limit.
struct BadRows {
  int first = 0, count = 0;
  bool zero = true;  ///< all of them are zero
  double good = 0;   ///< largest error of the other rows
};

BadRows bad_rows_of(const OutputErrors& errors) {
  const Matrix& o = errors.output();
  BadRows bad{.first = o.rows};
  for (int i = o.rows - 1; i >= 0; --i) {
    double worst = 0, size = 0;
    for (int c = 0; c < o.cols; ++c) {
      worst = std::max(worst, errors.is_bad(i, c) ? infinity : errors.error_at(i, c));
      size = std::isnan(o(i, c)) ? infinity : std::max(size, std::abs(o(i, c)));
    }
    if (worst == infinity) {
      bad.first = i;
      ++bad.count;
      bad.zero = bad.zero && size == 0;
    } else {
      bad.good = std::max(bad.good, worst);
    }
  }
  return bad;
}

/// A cause of NaN or infinity in a row.
struct Cause {
  std::string text;
  bool holds;              ///< present in this row
  bool fills_row = false;  ///< it leaves no number in the row
};

bool misses_split(const VariantHead& head, Keys keys, int splits) {
  const int length = (head.shape.n_k + splits - 1) / splits;
  return keys.first >= length || keys.end <= (head.shape.n_k - 1) / length * length;
}

/// A formula of a soft cap's tanh x by exponentials that overflows from x = `most` on, or below `least`, in units of the
/// logarithm of the format's largest number.
struct NaiveTanh {
  const char *text, *of_fp32, *of_fp16;  ///< the formula, and where it overflows in each format
  double least, most;
};
constexpr std::array<NaiveTanh, 3> naive_tanhs{
    {{"a soft cap by (e^x - e^-x) / (e^x + e^-x), NaN from |x| = ", "88.7 on", "11.1 on", -1, 1},
     {"a soft cap by (e^2x - 1) / (e^2x + 1), NaN from x = ", "44.4 on", "5.5 on", -infinity, 0.5},
     {"a soft cap by (1 - e^-2x) / (1 + e^-2x), NaN up to x = ", "-44.4", "-5.5", -0.5, infinity}}};

/// Causes, the likely ones first: no keys, then for fp16 and for fp32 (fp16 first if it is D) a soft cap, q.k, exp and l, then
/// merges of splits.
std::vector<Cause> causes(const VariantHead& head, const SoftmaxVariant& right, int row, const Format& format) {
  const Keys keys = right.keys(row);
  std::vector<double> s = products(head, row, keys);
  const double log16 = std::log(largest(fp16)), log32 = std::log(largest(fp32));
  double product = 0, score = -infinity, l = 0, least = 0, most = 0;
  for (int j = keys.first; j < keys.end; ++j) {
    double& x = s[at(j)];
    product = std::max(product, std::abs(x));
    x *= right.scale;
    if (right.softcap != 0) {
      least = std::min(least, x / right.softcap);
      most = std::max(most, x / right.softcap);
      x = right.softcap * std::tanh(x / right.softcap);
    }
    score = std::max(score, x);
  }
  for (int j = keys.first; j < keys.end; ++j) l += std::exp(s[at(j)] - score);
  std::vector<Cause> all{{division_without_keys, keys.empty(), true}};
  for (const bool narrow : {format == fp16, format != fp16}) {
    const double log = narrow ? log16 : log32;
    const std::string overflows = narrow ? " (fp16 overflows)" : " (fp32 overflows)";
    for (const NaiveTanh& t : naive_tanhs)
      all.push_back({t.text + ((narrow ? t.of_fp16 : t.of_fp32) + overflows), least < t.least * log || most > t.most * log});
    if (narrow) all.push_back({"q.k beyond 65504 before the scale" + overflows, product > largest(fp16)});
    all.push_back({"exp(S) without its max subtracted" + overflows, score > log});
    if (narrow) all.push_back({"a row sum l beyond 65504" + overflows, l > largest(fp16)});
  }
  for (const int splits : {2, 4, 8, 16})
    all.push_back({"a merge of " + std::to_string(splits) + " splits, one of which sees no key (0 / 0)",
                   misses_split(head, keys, splits), true});
  return all;
}

/// Number of elements of a row that are NaN or infinite.
int nonfinite_count(const Matrix& o, int index) {
  int count = 0;
  for (int c = 0; c < o.cols; ++c) count += !std::isfinite(o(index, c));
  return count;
}

/// True if an element that is a number has an error beyond the limit, which no cause of NaN explains; a 0 may be x / infinity.
bool has_bad_number(const OutputErrors& errors) {
  const Matrix& o = errors.output();
  for (int i = 0; i < o.rows; ++i)
    for (int c = 0; c < o.cols; ++c)
      if (o(i, c) != 0 && std::isfinite(errors.error_at(i, c)) && errors.is_bad(i, c)) return true;
  return false;
}

}  // namespace

std::optional<Slip> tail_slip(const Experiment& e, const OutputErrors& errors) {
  const int n = e.problem.n;
  const BadRows bad = bad_rows_of(errors);
  std::string tiles;
  int start = 0;
  for (const int tile : likely_tiles(e, n)) {
    const int at = n - n % tile;
    if (n % tile == 0 || at > bad.first || at < start) continue;
    tiles = at > start ? std::to_string(tile) : tiles + " or " + std::to_string(tile);
    start = at;
  }
  if (start == 0 || bad.count < n - start) return {};
  return Slip{
      Slip::Kind::tail,
      std::string(bad.zero ? "the last, partial tile of rows never written" : "garbage in the last, partial tile of rows") +
          " (" + run_text("row", start, n - 1) + " of tiles of " + tiles + ")",
      bad.good / errors.limit()};
}

std::optional<Slip> overflow_slip(const Result& r, const OutputErrors& errors) {
  if (has_bad_number(errors)) return {};
  const VariantHead head = variant_head(r.inputs);
  const SoftmaxVariant right = right_softmax(r.experiment.problem);
  struct Guess {
    std::string text;
    int hits = 0, alarms = 0;
  };
  std::vector<Guess> guesses;
  int bad = 0, good = 0;
  for (const int index : errors.chosen(std::clamp((1 << 20) / head.shape.n_k, 32, 256))) {
    errors.check();
    const int nonfinite = nonfinite_count(errors.output(), index);
    const bool broken = nonfinite > 0, filled = nonfinite == errors.output().cols;
    (broken ? bad : good) += 1;
    const std::vector<Cause> all = causes(head, right, index, r.experiment.format);
    guesses.resize(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      guesses[i].text = all[i].text;
      (broken ? guesses[i].hits : guesses[i].alarms) += all[i].holds && (filled || !broken || !all[i].fills_row);
    }
  }
  for (const Guess& g : guesses)
    if (bad > 0 && g.hits * 20 >= bad * 19 && g.alarms * 20 <= good) return Slip{Slip::Kind::overflow, g.text, 0};
  return {};
}

}  // namespace attoscope
