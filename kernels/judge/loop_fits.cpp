// Fits steps of the online softmax that are skipped or use another row's numbers, and splits merged with wrong weights.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/judge/wrong_output.h"
#include "kernels/parallel/parallel.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

constexpr int smallest_tile = 16;

/// Per row: the largest score of each tile of 16 keys, m, and the sum of exp(S - m).
class RowSums {
 public:
  explicit RowSums(const WrongOutput& wrong) : tiles_((wrong.head()->shape.n_k + smallest_tile - 1) / smallest_tile) {
    m_.resize(at(wrong.golden().rows));
    l_.resize(m_.size());
    top_.resize(m_.size());
    parallel_for(0, wrong.golden().rows, [&](int row) {
      wrong.check();
      const std::vector<double> s = scores(*wrong.head(), wrong.right(), row);
      const Keys keys = wrong.right().keys(row);
      std::vector<double> top(at(tiles_), -infinity);
      double l = 0, m = -infinity;
      for (int j = keys.first; j < keys.end; ++j) {
        top[at(j / smallest_tile)] = std::max(top[at(j / smallest_tile)], s[at(j)]);
        m = std::max(m, s[at(j)]);
      }
      for (int j = keys.first; j < keys.end; ++j) l += std::exp(s[at(j)] - m);
      m_[at(row)] = m;
      l_[at(row)] = l + sink_weight(wrong.right(), m);
      top_[at(row)] = std::move(top);
    });
  }

  int rows() const { return static_cast<int>(m_.size()); }
  double l(int row) const { return l_[at(row)]; }
  double m(int row) const { return m_[at(row)]; }
  /// The running max before key `end`, a multiple of 16 or the end of all keys.
  double max_before(int row, int end) const {
    double m = -infinity;
    for (int t = 0; t < std::min(tiles_, (end + smallest_tile - 1) / smallest_tile); ++t) m = std::max(m, top_[at(row)][at(t)]);
    return m;
  }
  /// Factor by which tile `t` rescales the earlier sums.
  double alpha(int row, int tile, int t) const {
    const double before = max_before(row, t * tile), after = max_before(row, (t + 1) * tile);
    return before == -infinity ? 1 : std::exp(before - after);
  }

 private:
  int tiles_;
  std::vector<double> m_, l_;
  std::vector<std::vector<double>> top_;
};

/// Another row, whose number a lane may use by mistake.
struct Neighbour {
  std::string text;
  std::function<int(int row)> row;
};

std::vector<Neighbour> neighbours(int rows) {
  std::vector<Neighbour> all;
  const auto add = [&](const std::string& text, const std::function<int(int)>& row) {
    all.push_back({text, [row, rows](int i) { return std::clamp(row(i), 0, rows - 1); }});
  };
  for (const int bit : {1, 2, 4, 8, 16}) add("row ^ " + std::to_string(bit), [bit](int i) { return i ^ bit; });
  for (const int by : {1, 8, 16}) {
    add("row + " + std::to_string(by), [by](int i) { return i + by; });
    add("row - " + std::to_string(by), [by](int i) { return i - by; });
  }
  return all;
}

class LoopFits {
 public:
  explicit LoopFits(const WrongOutput& wrong) : wrong_(wrong), sums_(wrong), n_k_(wrong.head()->shape.n_k) {}

  NamedSlip slip() {
    if (NamedSlip slip = sum_of_neighbour()) return slip;
    if (NamedSlip slip = two_splits()) return slip;
    for (int tile = smallest_tile; tile <= 256 && tile < n_k_; tile *= 2) {
      if (NamedSlip slip = other_alphas(tile)) return slip;
      if (NamedSlip slip = first_of_O("the accumulator of O does not begin at 0" + of(tile), [&](int row) {
            return std::exp(sums_.max_before(row, std::max(1, first_tile_end(row, tile))) - sums_.m(row));
          }))
        return slip;
    }
    return first_of_O("the accumulator of O does not begin at 0", [](int) { return 1.0; });
  }

 private:
  static std::string of(int tile) { return " (tiles of " + std::to_string(tile) + " keys)"; }
  int first_tile_end(int row, int tile) const { return (wrong_.right().keys(row).first / tile + 1) * tile; }

  NamedSlip sum_of_neighbour() const {
    for (const Neighbour& other : neighbours(sums_.rows())) {
      MistakenKernel kernel = wrong_.right_kernel();
      kernel.in_O = [this, other](int row, int, double e) { return e * sums_.l(row) / sums_.l(other.row(row)); };
      if (NamedSlip slip =
              wrong_.named_in_rows(Kind::division, "l is that of another row, " + other.text, wrong_.rows_of(kernel)))
        return slip;
    }
    return {};
  }

  /// Fits keys before and after a boundary, merged with weights that are a power of their sums.
  NamedSlip two_splits() const {
    constexpr std::array<std::pair<double, const char*>, 3> powers{
        {{0, "averaged instead of merged by their log-sum-exp"},
         {std::numbers::log2e, "merged with a base-2 log-sum-exp taken for one of base e"},
         {std::numbers::ln2, "merged with a base-e log-sum-exp taken for one of base 2"}}};
    for (int boundary = 16; boundary < n_k_; boundary += n_k_ > 1024 ? 64 : 16)
      for (const auto& [power, text] : powers) {
        MistakenKernel kernel = wrong_.right_kernel();
        kernel.weights = [boundary, power = power](int, const std::vector<double>&, std::vector<double>& of_O,
                                                   std::vector<double>& of_l) {
          double l[2]{};
          for (std::size_t j = 0; j < of_l.size(); ++j) l[j >= at(boundary)] += of_l[j];
          for (double& own : l) own = own > 0 ? std::pow(own, power - 1) : 1;
          for (std::size_t j = 0; j < of_l.size(); ++j) {
            of_O[j] *= l[j >= at(boundary)];
            of_l[j] *= l[j >= at(boundary)];
          }
        };
        if (NamedSlip slip =
                wrong_.named(Kind::rescale, "keys before " + std::to_string(boundary) + " and from there on are " + text,
                             wrong_.rows_of(kernel)))
          return slip;
      }
    return {};
  }

  using Alpha = std::function<double(int row, int t, double right)>;

  NamedSlip other_alphas(int tile) const {
    const int last = (n_k_ + tile - 1) / tile - 1;
    if (NamedSlip slip = with_alpha(tile, "the last rescale by alpha, at the last tile, is missing",
                                    [this, tile, last](int row, int t, double a) {
                                      return t == std::min(last, (wrong_.right().keys(row).end - 1) / tile) ? 1 : a;
                                    }))
      return slip;
    for (const int log2 : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12})
      if (NamedSlip slip = with_alpha(tile,
                                      "no rescale by alpha where the max grows by less than a factor of 2^" +
                                          std::to_string(log2) + ", though P is taken with the new max",
                                      [log2](int, int, double a) { return a > std::ldexp(1, -log2) ? 1 : a; }))
        return slip;
    for (const Neighbour& other : neighbours(sums_.rows()))
      if (NamedSlip slip =
              with_alpha(tile, "alpha is that of another row, " + other.text,
                         [this, tile, other](int row, int t, double) { return sums_.alpha(other.row(row), tile, t); }))
        return slip;
    return {};
  }

  NamedSlip with_alpha(int tile, const std::string& text, const Alpha& alpha) const {
    constexpr std::array<const char*, 3> sums{"", " (of O alone)", " (of l alone)"};
    for (std::size_t which = 0; which < sums.size(); ++which) {
      MistakenKernel kernel = wrong_.right_kernel();
      kernel.weights = [this, tile, alpha, which](int row, const std::vector<double>&, std::vector<double>& of_O,
                                                  std::vector<double>& of_l) {
        double factor = 1;
        for (int t = (n_k_ - 1) / tile; t >= 0; --t) {
          for (int j = t * tile; j < std::min(n_k_, (t + 1) * tile); ++j) {
            if (which != 2) of_O[at(j)] *= factor;
            if (which != 1) of_l[at(j)] *= factor;
          }
          const double right = sums_.alpha(row, tile, t);
          if (t * tile > wrong_.right().keys(row).first && right > 0) factor *= alpha(row, t, right) / right;
        }
      };
      if (NamedSlip slip = wrong_.named_in_rows(Kind::rescale, text + sums[which] + of(tile), wrong_.rows_of(kernel)))
        return slip;
    }
    return {};
  }

  /// Fits a wrong start of O: one row of numbers, the same for all queries, times `part` of the row over l.
  NamedSlip first_of_O(const std::string& text, const std::function<double(int row)>& part) const {
    if (wrong_.wrong().size() < 3) return {};  // with one number per column, any single row would fit
    const int columns = wrong_.golden().cols;
    std::vector<double> first(at(columns)), factor(at(sums_.rows()));
    double square = 0;
    for (const int row : wrong_.wrong()) {
      const double f = factor[at(row)] = part(row) / sums_.l(row);
      square += f * f;
      for (int c = 0; c < columns; ++c) first[at(c)] += f * (wrong_.output(row)[c] - wrong_.golden_row(row)[c]);
    }
    for (double& x : first) x /= square;
    return wrong_.named(Kind::rescale, text, [this, columns, first, factor](int row, double* out, double*) {
      for (int c = 0; c < columns; ++c) out[c] = wrong_.golden_row(row)[c] + factor[at(row)] * first[at(c)];
    });
  }

  const WrongOutput& wrong_;
  RowSums sums_;
  int n_k_;
};

}  // namespace

NamedSlip loop_fit(const WrongOutput& wrong) { return LoopFits(wrong).slip(); }

}  // namespace attoscope
