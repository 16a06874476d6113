#include "kernels/judge/key_counts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace attoscope {
namespace {

constexpr int run = 16, most_unknowns = 640, most_single_keys = 160, most_parts = 4;
constexpr double counts_right = 0.05;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// exp(S - m) of all keys, as if none were hidden; m is the visible keys' largest score. `sink` is the sink's weight.
struct RowWeights {
  std::vector<double> e;
  Keys visible;
  double m = 0, sink = 0;
};

RowWeights row_weights(const VariantHead& head, const SoftmaxVariant& right, int row) {
  SoftmaxVariant all = right;
  all.keys = [n_k = head.shape.n_k](int) { return Keys{0, n_k}; };
  all.sink.reset();
  RowWeights w{.e = scores(head, all, row), .visible = right.keys(row)};
  if (w.visible.empty()) return w;
  w.m = *std::max_element(w.e.begin() + w.visible.first, w.e.begin() + w.visible.end);
  for (double& x : w.e) x = std::exp(std::min(x - w.m, 60.0));
  w.sink = right.sink ? std::exp(*right.sink - w.m) : 0;
  return w;
}

bool sees(const Keys& keys, int j) { return j >= keys.first && j < keys.end; }

/// Keys [first, end) where they are visible, or where they are hidden, as one unknown of the fit.
struct Part {
  int first = 0, end = 0;
  bool hidden = false;
};

/// Least squares for what the parts' counts have more than they should.
class CountFit {
 public:
  CountFit(const VariantHead& head, std::vector<Part> parts)
      : head_(head), parts_(std::move(parts)), square_(parts_.size() * parts_.size()), along_(parts_.size()) {}

  /// The row's equations: the sum over parts of b (T - o M) is what o is more than the truth, times l.
  void add(const RowWeights& w, const double* o) {
    const int columns = head_.shape.d_v;
    std::vector<double> slopes(parts_.size() * at(columns)), truth(at(columns));
    double l = w.sink;
    for (int j = w.visible.first; j < w.visible.end; ++j) {
      l += w.e[at(j)];
      for (int c = 0; c < columns; ++c) truth[at(c)] += w.e[at(j)] * value(j, c);
    }
    for (std::size_t p = 0; p < parts_.size(); ++p)
      for (int j = parts_[p].first; j < parts_[p].end; ++j) {
        if (sees(w.visible, j) == parts_[p].hidden) continue;
        for (int c = 0; c < columns; ++c) slopes[p * at(columns) + at(c)] += w.e[at(j)] / l * (value(j, c) - o[c]);
      }
    std::vector<double> more(at(columns));
    for (int c = 0; c < columns; ++c) more[at(c)] = o[c] - truth[at(c)] / l;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const double* x = &slopes[p * at(columns)];
      for (int c = 0; c < columns; ++c) along_[p] += x[c] * more[at(c)];
      for (std::size_t q = 0; q <= p; ++q) {
        const double* y = &slopes[q * at(columns)];
        double sum = 0;
        for (int c = 0; c < columns; ++c) sum += x[c] * y[c];
        square_[p * parts_.size() + q] += sum;
      }
    }
  }

  /// By Cholesky; what no row tells anything of gets 0.
  std::vector<double> solution() {
    const std::size_t n = parts_.size();
    double largest = 0;
    for (std::size_t p = 0; p < n; ++p) largest = std::max(largest, square_[p * n + p]);
    for (std::size_t p = 0; p < n; ++p) square_[p * n + p] += 1e-9 * largest + 1e-300;
    std::vector<double> b = along_;
    for (std::size_t p = 0; p < n; ++p) {
      double* x = &square_[p * n];
      for (std::size_t q = 0; q <= p; ++q) {
        const double* y = &square_[q * n];
        double sum = x[q];
        for (std::size_t k = 0; k < q; ++k) sum -= x[k] * y[k];
        x[q] = q == p ? std::sqrt(std::max(sum, 1e-300)) : sum / y[q];
      }
      for (std::size_t q = 0; q < p; ++q) b[p] -= x[q] * b[q];
      b[p] /= x[p];
    }
    for (std::size_t p = n; p-- > 0;) {
      for (std::size_t q = p + 1; q < n; ++q) b[p] -= square_[q * n + p] * b[q];
      b[p] /= square_[p * n + p];
    }
    return b;
  }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  double value(int j, int c) const { return head_.v[at(j) * at(head_.shape.d_v) + at(c)]; }

  const VariantHead& head_;
  std::vector<Part> parts_;
  std::vector<double> square_, along_;
};

/// Counts are known but for a factor that they share: most visible keys count once.
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
std::string count_text(double count) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", count);
  return text;
}

/// 0, 1 or 2 where it is nearly that.
double settled(double count) {
  const double whole = std::round(count);
  return std::abs(count - whole) < counts_right ? std::max(0.0, whole) : count;
}

/// The parts whose keys do not count as they should, and how often they do, in words; "" where there are too many.
std::string counts_text(const KeyCounts& counts) {
  std::string text;
  int parts = 0;
  for (const bool hidden : {false, true}) {
    const std::vector<double>& all = hidden ? counts.hidden : counts.visible;
    const double right = hidden ? 0 : 1;
    for (std::size_t j = 0; j < all.size();) {
      std::size_t end = j + 1;
      while (end < all.size() && std::abs(all[end] - all[j]) < counts_right) ++end;
      if (all[j] != right) {
        ++parts;
        text += (text.empty() ? "" : ", ") + std::string(hidden ? "hidden " : "") + "key" + (end - j > 1 ? "s " : " ") +
                std::to_string(j);
        if (end - j > 1) text += " to " + std::to_string(end - 1);
        text += std::string(end - j > 1 ? " count " : " counts ") + count_text(all[j]) + (all[j] == 1 ? " time" : " times");
      }
      j = end;
    }
  }
  return parts <= most_parts ? text : "";
}

}  // namespace

double sum_of_exp(const VariantHead& head, const SoftmaxVariant& right, int row) {
  const RowWeights w = row_weights(head, right, row);
  double l = w.sink;
  for (int j = w.visible.first; j < w.visible.end; ++j) l += w.e[at(j)];
  return l * std::exp(w.m);
}

void attend(const VariantHead& head, const SoftmaxVariant& right, const KeyCounts& counts, int row, double* out) {
  const RowWeights w = row_weights(head, right, row);
  double l = w.sink;
  std::vector<double> sum(at(head.shape.d_v));
  for (int j = 0; j < head.shape.n_k; ++j) {
    const double e = w.e[at(j)] * (sees(w.visible, j) ? counts.visible : counts.hidden)[at(j)];
    if (e == 0) continue;
    l += e;
    for (int c = 0; c < head.shape.d_v; ++c) sum[at(c)] += e * head.v[at(j) * at(head.shape.d_v) + at(c)];
  }
  for (int c = 0; c < head.shape.d_v; ++c) out[c] = sum[at(c)] / l;
}

KeyCounts fitted_counts(const VariantHead& head, const SoftmaxVariant& right, const std::vector<double>& output,
                        const std::vector<int>& rows, const Options& options) {
  const int n_k = head.shape.n_k, length = std::max(run, (2 * n_k + most_unknowns - 1) / most_unknowns);
  KeyCounts counts{std::vector<double>(at(n_k), 1), std::vector<double>(at(n_k), 0)};
  const auto fitted = [&](std::vector<Part> parts) {
    CountFit fit(head, std::move(parts));
    for (const int row : rows) {
      if (options.cancelled && options.cancelled()) throw Stopped();
      const RowWeights w = row_weights(head, right, row);
      if (!w.visible.empty()) fit.add(w, &output[at(row) * at(head.shape.d_v)]);
    }
    return std::pair{fit.parts(), fit.solution()};
  };
  std::vector<Part> runs, keys;
  for (const bool hidden : {false, true})
    for (int j = 0; j < n_k; j += length) runs.push_back({j, std::min(n_k, j + length), hidden});
  auto [parts, more] = fitted(std::move(runs));
  make_most_count_once(parts, more);
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (std::abs(more[p]) >= counts_right)
      for (int j = parts[p].first; j < parts[p].end; ++j) keys.push_back({j, j + 1, parts[p].hidden});
  if (keys.empty()) return counts;
  if (keys.size() <= most_single_keys) {
    const auto [single, of_key] = fitted(std::move(keys));
    for (std::size_t p = 0; p < single.size(); ++p) {
      double& count = (single[p].hidden ? counts.hidden : counts.visible)[at(single[p].first)];
      count = settled(count + of_key[p]);
    }
  } else {
    for (std::size_t p = 0; p < parts.size(); ++p)
      for (int j = parts[p].first; j < parts[p].end && std::abs(more[p]) >= counts_right; ++j) {
        double& count = (parts[p].hidden ? counts.hidden : counts.visible)[at(j)];
        count = settled(count + more[p]);
      }
  }
  counts.text = counts_text(counts);
  return counts;
}

}  // namespace attoscope
