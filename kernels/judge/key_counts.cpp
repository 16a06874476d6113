// Fits how many times a kernel counted each key.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/experiment/text.h"
#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

constexpr int most_counted_rows = 48, shortest_run = 16, most_unknowns = 640, most_single_keys = 160, most_parts = 4,
              most_own_counts = 384;
constexpr double counts_right = 0.03, most_noise = 0.3, nearly_whole = 0.12;

/// Sums in which a key may count differently: O and l, or only one of them.
enum class Counted : std::uint8_t { everywhere, in_O, in_l };

/// Weight with which a kernel counts each key; a correct kernel has 1 for visible and 0 for hidden keys.
struct KeyCounts {
  std::vector<double> visible, hidden;  ///< n_k each
  Counted where = Counted::everywhere;
  std::string text{};  ///< "keys 128 to 191 count 0 times"; "" if the counts are right, or fit nothing simple
};

/// exp(S - m) of all keys without the mask; m is the visible keys' largest score, `sink` the sink's weight.
struct RowWeights {
  std::vector<double> e;
  Keys visible;
  double m = 0, sink = 0;
};

RowWeights row_weights(const VariantHead& head, const SoftmaxVariant& right, int row) {
  RowWeights w{.e = scores_of_all(head, right, row), .visible = right.keys(row)};
  if (w.visible.empty()) return w;
  w.m = *std::max_element(w.e.begin() + w.visible.first, w.e.begin() + w.visible.end);
  for (double& x : w.e) x = std::exp(std::min(x - w.m, 60.0));
  w.sink = sink_weight(right, w.m);
  return w;
}

/// Keys with one common count, either if visible or if hidden: one unknown of the fit.
struct Part {
  std::vector<int> keys;
  bool hidden = false;
};
Part part_of(int first, int end, bool hidden = false, int step = 1) {
  Part part{.keys = {}, .hidden = hidden};
  for (int j = first; j < end; j += step) part.keys.push_back(j);
  return part;
}

/// Least-squares fit of each part's count minus its right count.
class CountFit {
 public:
  CountFit(const VariantHead& head, std::vector<Part> parts, Counted where)
      : head_(head), parts_(std::move(parts)), in_O_(where != Counted::in_l), in_l_(where != Counted::in_O) {}

  /// Adds the row's equations: sum over parts of b (T - o M) = l (o - golden); b is the part's excess count, T and M its sums
  /// in O and in l, 0 if it does not count there.
  void add(const RowWeights& w, const double* o) {
    const int columns = head_.shape.d_v;
    std::vector<double> slopes(parts_.size() * at(columns)), numerators(at(columns));
    double l = w.sink;
    for (int j = w.visible.first; j < w.visible.end; ++j) {
      l += w.e[at(j)];
      for (int c = 0; c < columns; ++c) numerators[at(c)] += w.e[at(j)] * value(j, c);
    }
    std::vector<std::size_t> counted;  // parts with keys that are visible or hidden as theirs are
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      bool counts = false;
      for (const int j : parts_[p].keys) {
        if (w.visible.contains(j) == parts_[p].hidden) continue;
        counts = true;
        for (int c = 0; c < columns; ++c)
          slopes[p * at(columns) + at(c)] += w.e[at(j)] / l * ((in_O_ ? value(j, c) : 0) - (in_l_ ? o[c] : 0));
      }
      if (counts) counted.push_back(p);
    }
    std::vector<double> more(at(columns));
    for (int c = 0; c < columns; ++c) more[at(c)] = o[c] - numerators[at(c)] / l;
    const auto slope = [&](std::size_t p) { return &slopes[p * at(columns)]; };
    for (auto p = counted.begin(); p != counted.end(); ++p) {
      along_[*p] += dot(slope(*p), more.data(), more.size());
      for (auto q = counted.begin(); q <= p; ++q) square_[*p * parts_.size() + *q] += dot(slope(*p), slope(*q), more.size());
    }
  }

  std::vector<double> solution() const { return solved(square_, along_); }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  double value(int j, int c) const { return head_.v[at(j) * at(head_.shape.d_v) + at(c)]; }

  const VariantHead& head_;
  std::vector<Part> parts_;
  bool in_O_, in_l_;
  std::vector<double> square_ = std::vector<double>(parts_.size() * parts_.size()), along_ = std::vector<double>(parts_.size());
};

/// Divides all counts by their common unknown factor, chosen so that most visible keys count once.
void make_most_count_once(const std::vector<Part>& parts, std::vector<double>& more) {
  std::vector<double> visible;
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (!parts[p].hidden) visible.push_back(1 + more[p]);
  const auto middle = visible.begin() + static_cast<std::ptrdiff_t>(visible.size() / 2);
  std::ranges::nth_element(visible, middle);
  if (!(*middle > 0)) return;
  for (std::size_t p = 0; p < parts.size(); ++p) more[p] = parts[p].hidden ? more[p] / *middle : (1 + more[p]) / *middle - 1;
}

/// "0", "2", "0.24"
std::string count_text(double count) { return shortest(count, std::chars_format::general, 3); }

/// The nearest whole number if within `near`, else the count.
double settled(double count, double near = nearly_whole) {
  const double whole = std::round(count);
  return std::abs(count - whole) <= near ? std::max(0.0, whole) : count;
}

const char* where_text(Counted where) {
  return where == Counted::everywhere ? "" : where == Counted::in_O ? " in O, not in l" : " in l, not in O";
}

std::string times_text(std::size_t keys, double count) {
  return std::string(keys > 1 ? " count " : " counts ") + count_text(count) + (count == 1 ? " time" : " times");
}

/// Describes the parts whose keys do not count as they should; "" if there are too many.
std::string counts_text(const KeyCounts& counts) {
  std::string text;
  int parts = 0;
  for (const bool hidden : {false, true}) {
    const std::vector<double>& all = hidden ? counts.hidden : counts.visible;
    const double right = hidden ? 0 : 1;
    for (std::size_t j = 0; j < all.size();) {
      std::size_t end = j + 1;
      while (end < all.size() && std::abs(all[end] - all[j]) < 0.05) ++end;
      if (all[j] != right) {
        ++parts;
        text += (text.empty() ? "" : ", ") + std::string(hidden ? "hidden " : "") +
                run_text("key", static_cast<int>(j), static_cast<int>(end) - 1) + times_text(end - j, all[j]);
      }
      j = end;
    }
  }
  return parts == 0 || parts > most_parts ? "" : text + where_text(counts.where);
}

/// "every 8th key from key 7 on counts 0 times", "keys 1, 2 and 3 of every 4 count 0 times"; "" if their counts differ.
std::string classes_text(const std::vector<double>& of_class) {
  std::vector<std::size_t> other;
  for (std::size_t r = 0; r < of_class.size(); ++r)
    if (of_class[r] != 1) other.push_back(r);
  if (other.empty() || other.size() == of_class.size()) return "";
  for (const std::size_t r : other)
    if (std::abs(of_class[r] - of_class[other[0]]) > 0.05) return "";
  std::string text = series_text("key", static_cast<int>(of_class.size()), static_cast<int>(other[0]));
  if (other.size() > 1)
    text = "keys " + listed(other, " and ", [](std::size_t r) { return std::to_string(r); }) + " of every " +
           std::to_string(of_class.size());
  return text + times_text(other.size(), of_class[other[0]]);
}

/// Fits of the counts of one output.
class CountFits {
 public:
  CountFits(const WrongOutput& wrong, Counted where)
      : wrong_(wrong), head_(*wrong.head()), where_(where), n_k_(head_.shape.n_k) {
    for (const int row : wrong.some(most_counted_rows)) {
      wrong.check();
      RowWeights w = row_weights(head_, wrong.right(), row);
      if (!w.visible.empty() && std::isfinite(wrong.output(row)[0])) rows_.emplace_back(row, std::move(w));
    }
  }

  /// Two results: counts as fitted, and all rounded to whole numbers.
  std::vector<KeyCounts> of_runs() const {
    const int length = std::max(shortest_run, (2 * n_k_ + most_unknowns - 1) / most_unknowns);
    std::vector<Part> runs, keys;
    for (const bool hidden : {false, true})
      for (int j = 0; j < n_k_; j += length) runs.push_back(part_of(j, std::min(n_k_, j + length), hidden));
    if (!determined(runs.size() / 2)) return {};  // a row sees a run or not
    auto [parts, more] = fitted(std::move(runs));
    std::vector<double> sizes;
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (!parts[p].hidden) sizes.push_back(std::abs(more[p]));
    if (sizes.empty()) return {};
    std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
    const double least = std::clamp(4 * sizes[sizes.size() / 2], counts_right, most_noise);
    const auto stands_out = [&more = more, least](std::size_t p) { return std::abs(more[p]) >= least; };
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (stands_out(p) || (p > 0 && stands_out(p - 1)) || (p + 1 < parts.size() && stands_out(p + 1)))
        for (const int j : parts[p].keys) keys.push_back(part_of(j, j + 1, parts[p].hidden));
    const bool few = keys.size() <= most_single_keys && determined(keys.size());
    const auto [single, of_key] = few ? fitted(std::move(keys), false) : std::pair{parts, more};
    std::vector<KeyCounts> all;
    for (const double near : {nearly_whole, 0.5}) {
      all.push_back(right_counts());
      set(all.back(), single, of_key, near);
      all.back().text = counts_text(all.back());
    }
    return all;
  }

  KeyCounts of_every(int period) const {
    if (!determined(at(period))) return {};
    std::vector<Part> classes;
    for (int r = 0; r < period; ++r) classes.push_back(part_of(r, n_k_, false, period));
    const auto [parts, more] = fitted(std::move(classes));
    KeyCounts counts = right_counts();
    set(counts, parts, more);
    counts.text = classes_text({counts.visible.begin(), counts.visible.begin() + period});
    if (!counts.text.empty()) counts.text += where_text(where_);
    return counts;
  }

  KeyCounts of_single_keys() const {
    if (!determined(at(n_k_))) return {};
    std::vector<Part> keys;
    for (int j = 0; j < n_k_; ++j) keys.push_back(part_of(j, j + 1));
    const auto [parts, more] = fitted(std::move(keys), false);
    KeyCounts counts = right_counts();
    double least = 1, most = 1;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      counts.visible[p] = 1 + more[p];
      least = std::min(least, 1 + more[p]);
      most = std::max(most, 1 + more[p]);
    }
    counts.text = "the value of each key is multiplied by a number of its own, " + count_text(least) + " to " +
                  count_text(most) + ", as by the scale of another one";
    return counts;
  }

 private:
  /// True if the rows have twice as many numbers: with fewer, unknowns explain any output.
  bool determined(std::size_t unknowns) const { return 2 * unknowns <= rows_.size() * at(head_.shape.d_v); }

  KeyCounts right_counts() const {
    return {.visible = std::vector<double>(at(n_k_), 1), .hidden = std::vector<double>(at(n_k_), 0), .where = where_};
  }

  static void set(KeyCounts& counts, const std::vector<Part>& parts, const std::vector<double>& more,
                  double near = nearly_whole) {
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (const int j : parts[p].keys) {
        double& count = (parts[p].hidden ? counts.hidden : counts.visible)[at(j)];
        count = settled(count + more[p], near);
      }
  }

  std::pair<std::vector<Part>, std::vector<double>> fitted(std::vector<Part> parts, bool all_keys = true) const {
    CountFit fit(head_, std::move(parts), where_);
    for (const auto& [row, w] : rows_) {
      wrong_.check();
      fit.add(w, wrong_.output(row));
    }
    std::vector<double> more = fit.solution();
    if (all_keys && where_ == Counted::everywhere) make_most_count_once(fit.parts(), more);
    return {fit.parts(), more};
  }

  const WrongOutput& wrong_;
  const VariantHead& head_;
  Counted where_;
  int n_k_;
  std::vector<std::pair<int, RowWeights>> rows_;
};

/// Runs of keys with wrong counts.
std::vector<Keys> miscounted(const KeyCounts& counts) {
  std::vector<Keys> runs;
  for (int j = 0; at(j) < counts.visible.size(); ++j)
    if (counts.visible[at(j)] != 1 || counts.hidden[at(j)] != 0) add_key(runs, j);
  return runs;
}

/// Counts that bring O nearest to the output and that have a text. O sum a M = sum a T is linear in the counts a; M and T are a
/// part's sums of P and P V. Least squares over runs of 16 keys, then over single keys of the runs that stand out and of their
/// neighbours; over every 4th to every 32nd key; and, only for O, over single keys.
std::vector<KeyCounts> fitted_counts(const WrongOutput& wrong, Counted where) {
  const CountFits fits(wrong, where);
  const int n_k = wrong.head()->shape.n_k;
  std::vector<KeyCounts> all = fits.of_runs();
  for (const int period : {4, 8, 16, 32})
    if (4 * period <= n_k) all.push_back(fits.of_every(period));
  if (where == Counted::in_O && n_k <= most_own_counts) all.push_back(fits.of_single_keys());
  std::erase_if(all, [](const KeyCounts& c) { return c.text.empty(); });
  return all;
}

}  // namespace

double sum_of_exp(const VariantHead& head, const SoftmaxVariant& right, int row) {
  const RowWeights w = row_weights(head, right, row);
  double l = w.sink;
  for (int j = w.visible.first; j < w.visible.end; ++j) l += w.e[at(j)];
  return l * std::exp(w.m);
}

NamedSlip count_fit(const WrongOutput& wrong) {
  for (const Counted where : {Counted::everywhere, Counted::in_O, Counted::in_l}) {
    for (const KeyCounts& counts : fitted_counts(wrong, where)) {
      MistakenKernel kernel = wrong.right_kernel();
      const auto counted = [right = wrong.right().keys, counts](Counted alone, int row, int key, double e) {
        const bool sees = right(row).contains(key);
        if (counts.where != Counted::everywhere && counts.where != alone) return sees ? e : 0;
        return e * (sees ? counts.visible : counts.hidden)[at(key)];
      };
      kernel.sees = [counts, right = wrong.right().keys](int row, int key) {
        return right(row).contains(key) || counts.hidden[at(key)] != 0;
      };
      kernel.in_O = [counted](int row, int key, double e) { return counted(Counted::in_O, row, key, e); };
      kernel.in_l = [counted](int row, int key, double e) { return counted(Counted::in_l, row, key, e); };
      if (NamedSlip slip = wrong.named(Slip::Kind::key_counts, counts.text, wrong.rows_of(std::move(kernel))))
        return with_keys(std::move(slip), miscounted(counts));
    }
  }
  return {};
}

}  // namespace attoscope
