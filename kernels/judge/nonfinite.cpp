#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "kernels/judge/wrong_output.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// Wrong elements caused by NaN or infinity in K or V.
class NonfinitePlaces {
 public:
  NonfinitePlaces(const JudgedOutput& output, const Judged& judged)
      : problem_(output.problem), o_(*output.values), judged_(judged) {
    const Tensors& t = *output.problem.input.tensors;
    const auto size_of = [](double x) { return std::isnan(x) ? 2 : std::isinf(x) ? 1 : 0; };
    of_v_.resize(at(t.d_v));
    for (int j = 0; j < t.n_k; ++j) {
      int of_k = 0;
      for (int c = 0; c < t.d; ++c) of_k = std::max(of_k, size_of(t.k[at(j) * at(t.d) + at(c)]));
      if (of_k > 0) of_k_.push_back({j, of_k == 2});
      for (int c = 0; c < t.d_v; ++c)
        if (const int of_v = size_of(t.v[at(j) * at(t.d_v) + at(c)]); of_v > 0) of_v_[at(c)].push_back({j, of_v == 2});
    }
  }

  std::optional<Slip> slip(const StopSign& stop) {
    for (int row = 0; row < golden().rows; ++row) {
      stop.check();
      if (!take(row)) return {};
    }
    if (lost_.empty() == leaks_.empty()) return {};
    if (leaks_.empty())
      return Slip{.kind = Slip::Kind::place,
                  .text = "numbers in " + rows_text(lost_) + ", which see a NaN or an infinity: it is lost"};
    const std::string what = has_nan_ ? "NaN" : "infinity";
    return Slip{.kind = Slip::Kind::mask,
                .text = "a masked key's " + what + " in " + (by_v_ ? "V" : "K") + " reaches " + rows_text(leaks_) +
                        (by_v_ ? ": 0 * " + what : ": a sum with -inf masks its score"),
                .ratio = ratio_,
                .output = with_leaks(),
                .keys = runs()};
  }

 private:
  const Matrix& golden() const { return judged_.tolerance.golden; }
  double output(int row, int c) const { return o_[at(row) * at(golden().cols) + at(c)]; }

  /// False if an element of the row is wrong for another reason than a NaN or an infinity.
  bool take(int row) {
    bool leaks = false, lost = false, by_v = true;
    for (int c = 0; c < golden().cols; ++c) {
      const double o = output(row, c), exact = golden()(row, c);
      if (judged_.tolerance.is_due(row, c, o, exact)) continue;
      if (std::isfinite(o) && std::isfinite(exact)) {
        const double ratio = std::abs(o - exact) / judged_.tolerance.of(row, c, o);
        ratio_ = std::max(ratio_, ratio);
        if (!(ratio <= 1)) return false;
      } else if (std::isnan(o)) {
        leaks = true;
        by_v = by_v && hides(of_v_[at(c)], row);
      } else if (std::isfinite(o)) {
        lost = true;
      } else {
        return false;
      }
    }
    if (leaks && !by_v && !hides(of_k_, row)) return false;
    by_v_ = by_v_ && by_v;
    if (lost) lost_.push_back(row);
    if (leaks) leaks_.push_back(row);
    return true;
  }

  /// A key that holds NaN or infinity.
  struct Odd {
    int key;
    bool is_nan;
  };
  /// True if the row does not see one of these keys; records the keys not seen.
  bool hides(const std::vector<Odd>& keys, int row) {
    bool any = false;
    for (const Odd& x : keys) {
      if (sees_key(problem_, row, x.key)) continue;
      any = true;
      has_nan_ = has_nan_ || x.is_nan;
      hidden_.insert(x.key);
    }
    return any;
  }

  std::vector<Keys> runs() const {
    std::vector<Keys> all;
    for (const int key : hidden_) add_key(all, key);
    return all;
  }

  /// Golden with the leaked NaN.
  ExpectedRow with_leaks() const {
    const auto leaking = std::make_shared<Matrix>(golden());
    for (std::size_t i = 0; i < o_.size(); ++i)
      if (std::isnan(o_[i])) leaking->values[i] = o_[i];
    return rows_of_matrix(leaking);
  }

  const Problem& problem_;
  const std::vector<double>& o_;
  const Judged& judged_;
  std::vector<Odd> of_k_;
  std::vector<std::vector<Odd>> of_v_;  ///< [column]
  std::vector<int> leaks_, lost_;       ///< rows
  std::set<int> hidden_;                ///< keys that leak
  bool has_nan_ = false, by_v_ = true;
  double ratio_ = 0;  ///< largest ratio of the elements that are finite
};

}  // namespace

std::optional<Slip> zeros_without_keys(const JudgedOutput& output, const Judged& judged) {
  const std::vector<int>& rows = judged.head.wrong_rows;
  const auto is_zero = [&](int row) {
    const auto first = output.values->begin() + static_cast<std::ptrdiff_t>(row) * judged.tolerance.golden.cols;
    return visible_keys(output.problem, row).empty() &&
           std::all_of(first, first + judged.tolerance.golden.cols, [](double x) { return x == 0; });
  };
  if (output.problem.empty_rows != EmptyRule::nan || rows.empty() || !std::ranges::all_of(rows, is_zero)) return {};
  return Slip{.kind = Slip::Kind::place,
              .text = "zeros in " + rows_text(rows) + ", which see no key, where --empty-rows nan asks for NaN"};
}

std::optional<Slip> nonfinite_slip(const JudgedOutput& output, const Judged& judged, const Options& options) {
  const Tensors& t = *output.problem.input.tensors;
  if (all_finite(t) || !judged.head.incomparable.empty()) return {};
  return NonfinitePlaces(output, judged).slip(StopToken(options));
}

}  // namespace attoscope
