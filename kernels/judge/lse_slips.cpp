#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <utility>

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/lse_judge.h"
#include "kernels/judge/margins.h"
#include "kernels/slips/slips.h"
#include "kernels/slips/softmax_variant.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

constexpr double log2_of_e = std::numbers::log2e;
constexpr std::size_t most_tile_states = std::size_t{1} << 22;

constexpr const char* no_mask = "no mask: every query counts all keys";

void ignore_mask_tensor(Problem& p) {
  Tensors without = *p.input.tensors;
  without.mask = nullptr;
  p.input.tensors = std::make_shared<const Tensors>(std::move(without));
}

/// Log-sum-exp and max of each row's keys up to the end of each tile of keys.
class PrefixSums final : public Recorder<double> {
 public:
  PrefixSums(const LseForm& form, const Format& format, int tile, const StopSign& stop)
      : tiles_(at(tile_count(key_count(form.problem), tile))), lse_(tiles_ * at(form.problem.n), -infinity), max_(lse_) {
    const Problem& p = form.problem;
    const Tensors& t = *form.inputs;
    Method method{.algorithm = Algorithm::flash2, .block_k = tile};
    method.precision[Step::S] = form.scores;
    Job<double> j = job(p, method, format, Operands<double>{});
    j.q = t.q.data();
    j.k = t.k.data();
    j.v = t.v.data();
    run(j, numbers(p.n), this, stop);
    for (std::size_t i = 0; i < lse_.size(); ++i)
      if (i % tiles_ > 0 && lse_[i] == -infinity) {
        lse_[i] = lse_[i - 1];
        max_[i] = max_[i - 1];
      }
  }
  int kept_lane(const RowBlock&) const override { return -1; }
  void tile(const RowBlock& block, const TileView<double>& view) override {
    for (int lane = 0; lane < block.count; ++lane) {
      if (!view.sees(lane)) continue;
      const std::size_t place = static_cast<std::size_t>(block.rows[lane]) * tiles_ + static_cast<std::size_t>(view.tile);
      max_[place] = view.m[lane * view.lane_stride];
      lse_[place] = max_[place] + std::log(view.l[lane * view.lane_stride]);
    }
  }
  std::size_t tiles() const { return tiles_; }
  /// Share of a tile's keys in the sum of exp, in units of exp(of).
  double share(std::size_t row, std::size_t tile, double of) const {
    const double* const x = &lse_[row * tiles_ + tile];
    return std::exp(*x - of) - (tile > 0 ? std::exp(x[-1] - of) : 0);
  }
  double max(std::size_t row, std::size_t tile) const { return max_[row * tiles_ + tile]; }

 private:
  std::size_t tiles_;
  std::vector<double> lse_, max_;  ///< [row * tiles + tile]
};

/// Finds the mistake whose exact numbers match the given ones.
class LseSlips {
 public:
  LseSlips(const LseForm& form, const JudgedLse& given, LseBase base, const LseJudgement& judged, const Options& options)
      : form_(form), given_(given), base_(base), judged_(judged), stop_(options) {}

  std::optional<LseSlip> best() {
    try_empty_rows();
    try_bases();
    try_max();
    try_problems();
    for (const int tile : {64, 128, 32, 16, 256})
      if (best_ratio_ > 1) try_tiles(tile);
    return best_;
  }

 private:
  using Numbers = std::vector<double>;  ///< per row, as a kernel would store them

  /// Keeps the mistake if all wrong rows match its numbers and no earlier mistake is nearer. `error` is of the natural
  /// logarithm.
  void try_numbers(const char* kind, const std::string& text, const Numbers& expected, const Numbers& error,
                   std::optional<LseBase> base = {}) {
    stop_.check();
    double ratio = 0;
    bool elsewhere = false;
    for (std::size_t i = 0; i < expected.size() && ratio <= 1; ++i) {
      const double x = given_.values[i];
      const double off = std::abs(x - expected[i]) /
                         lse_tolerance(margins.element * judged_.kappa * error[i], unit_of(LseBase::two), given_.stored, x);
      if (judged_.wrong[i]) ratio = std::max(ratio, std::isfinite(off) ? off : infinity);
      elsewhere |= !judged_.wrong[i] && !(off <= 1) && std::isfinite(right_.lse[i]);
    }
    const double with_place = ratio + (elsewhere ? 0.5 : 0);
    if (ratio > 1 || with_place >= best_ratio_) return;
    best_ratio_ = with_place;
    best_ = {kind, text + (elsewhere ? " " + judged_.where : ""), base};
  }
  /// Tries both bases, since the base of a wrong log-sum-exp is only a guess.
  void try_natural(const char* kind, const std::string& text, const Numbers& natural, const Numbers& error) {
    for (const LseBase base : {base_, base_ == LseBase::e ? LseBase::two : LseBase::e}) {
      Numbers expected = natural;
      for (double& x : expected) x *= unit_of(base);
      try_numbers(kind, text, expected, error, base);
    }
  }
  template <class F>
  void try_formula(const char* kind, const std::string& text, const F& natural_of) {
    Numbers expected(right_.lse.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = natural_of(i);
    try_natural(kind, text, expected, right_.error);
  }
  double log_l(std::size_t i) const { return right_.lse[i] - right_.max[i]; }

  /// Names the mistake if only rows without keys are wrong.
  void try_empty_rows() {
    std::array<std::pair<const char*, bool>, 3> kinds{{{"0", false}, {"a number", false}, {"NaN", false}}};
    for (std::size_t i = 0; i < right_.lse.size(); ++i) {
      if (!judged_.wrong[i]) continue;
      if (right_.lse[i] != -infinity) return;
      const double x = given_.values[i];
      kinds[std::isnan(x) ? 2 : x == 0 ? 0 : 1].second = true;
    }
    std::string held;
    for (const auto& [text, any] : kinds)
      if (any) held += (held.empty() ? "" : " or ") + std::string(text);
    best_ratio_ = 0;
    best_ = {"empty", "queries without keys hold " + held + " instead of -infinity"};
  }

  void try_bases() {
    const auto try_with = [&](const std::string& text, double of_max, double of_log_l) {
      Numbers expected(right_.lse.size());
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = of_max * right_.max[i] + of_log_l * log_l(i);
      try_numbers("base", text, expected, right_.error);
    };
    if (base_ == LseBase::two) try_with("natural numbers among those of base 2", 1, 1);
    if (base_ == LseBase::e) try_with("numbers of base 2 among natural ones", log2_of_e, log2_of_e);
    try_with("the max is natural, ln l is taken in base 2", 1, log2_of_e);
    try_with("the max is in base 2, ln l is natural", log2_of_e, 1);
    try_with("it is multiplied by ln 2", 1 / log2_of_e, 1 / log2_of_e);
    try_with("it is multiplied by log2 e twice", log2_of_e * log2_of_e, log2_of_e * log2_of_e);
    try_formula("sign", "it has the other sign", [&](std::size_t i) { return -right_.lse[i]; });
  }

  /// Tries the exponential of each row's `logarithm_of`.
  template <class F>
  void try_exponential(const std::string& text, const F& logarithm_of) {
    Numbers expected(right_.lse.size()), error = right_.error;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] = std::exp(logarithm_of(i));
      error[i] *= expected[i];
    }
    try_numbers("log", "no logarithm is taken: " + text, expected, error);
  }

  void try_max() {
    try_formula("max", "the max is left out: it is ln l", [&](std::size_t i) { return log_l(i); });
    try_formula("max", "it is the max alone, without ln l", [&](std::size_t i) { return right_.max[i]; });
    try_exponential("it is exp(L), the sum of exp(S)", [&](std::size_t i) { return right_.lse[i]; });
    try_exponential("it is l, the sum of exp(S - m)",
                    [&](std::size_t i) { return right_.lse[i] == -infinity ? -infinity : log_l(i); });
    Numbers with_l(right_.lse.size()), error = right_.error;
    for (std::size_t i = 0; i < with_l.size(); ++i) {
      with_l[i] = right_.max[i] + std::exp(log_l(i));
      error[i] *= std::exp(log_l(i));
    }
    try_natural("max", "l is added to the max instead of ln l", with_l, error);
    try_formula("mean", "its sum is divided by the number of keys", [&](std::size_t i) {
      const Keys keys = visible_keys(given_.problem, static_cast<int>(i));
      return right_.lse[i] - std::log(keys.end - keys.first);
    });
  }

  void try_problem(const char* kind, const std::string& text, const std::function<void(Problem&)>& change) {
    Problem other = form_.problem;
    change(other);
    const LseRows rows = rows_in(form_, other, given_.claim.format, stop_);
    try_natural(kind, text, rows.lse, rows.error);
  }

  void try_problems() {
    const double scale = scale_of(given_.problem);
    const auto try_scale = [&](const char* kind, const std::string& text, double by) {
      try_problem(kind, text, [by](Problem& p) { p.scale = by * scale_of(p); });
    };
    try_scale("scale", "the scores are not scaled", 1 / scale);
    try_scale("scale", "the scores are scaled twice", scale);
    try_scale("base", "the scores are multiplied by log2 e, and their exp is natural", log2_of_e);
    try_scale("base", "powers of 2 are taken of natural scores", 1 / log2_of_e);
    const Problem& p = given_.problem;
    if (p.sink) try_problem("sink", "the sink is left out", [](Problem& x) { x.sink.reset(); });
    if (p.softcap != 0) try_problem("soft cap", "the soft cap is left out", [](Problem& x) { x.softcap = 0; });
    if (p.alibi != 0) try_problem("ALiBi", "ALiBi's term is left out", [](Problem& x) { x.alibi = 0; });
    const bool has_tensor = mask_view(p).rows != nullptr;
    if (has_tensor) try_problem("mask", "the mask tensor is ignored", ignore_mask_tensor);
    if (p.mask.kind == Mask::Kind::none) return;
    const char* const without_rule = has_tensor ? "the mask's rule is left out: only the mask tensor hides keys" : no_mask;
    try_problem("mask", without_rule, [](Problem& x) { x.mask = {}; });
    if (has_tensor) try_problem("mask", no_mask, [](Problem& x) { x.mask = {}, ignore_mask_tensor(x); });
    if (p.mask.kind != Mask::Kind::causal)
      try_problem("mask", "the mask is causal", [](Problem& x) { x.mask.kind = Mask::Kind::causal; });
    if (p.n != key_count(p))
      try_problem("mask", "the mask is aligned at the other corner", [](Problem& x) { x.mask.top_left = !x.mask.top_left; });
    for (const int more : {1, -1})
      if (p.mask.has_width() && p.mask.window + more > 0)
        try_problem("mask", more > 0 ? "the mask's width is one key larger" : "the mask's width is one key smaller",
                    [more](Problem& x) { x.mask.window += more; });
  }

  void try_tiles(int tile) {
    const int n_k = key_count(given_.problem);
    if (tile >= n_k || at(tile_count(n_k, tile)) * right_.lse.size() > most_tile_states) return;
    const PrefixSums sums(form_, given_.claim.format, tile, stop_);
    const std::string size = std::to_string(tile);
    const auto seen = [&](std::size_t i) { return visible_keys(given_.problem, static_cast<int>(i)); };
    const auto first = [&](std::size_t i) { return static_cast<std::size_t>(seen(i).first / tile); };
    const auto last = [&](std::size_t i) { return static_cast<std::size_t>(std::max(seen(i).end - 1, 0) / tile); };
    const auto lost = [&](std::size_t i, double share) { return right_.lse[i] + std::log1p(-share); };
    const auto share = [&](std::size_t i, std::size_t t) { return sums.share(i, t, right_.lse[i]); };
    try_formula("tile", "each row's last tile of " + size + " keys is left out",
                [&](std::size_t i) { return lost(i, share(i, last(i))); });
    try_formula("tile", "each row's first tile of " + size + " keys is left out",
                [&](std::size_t i) { return lost(i, share(i, first(i))); });
    try_formula("tile", "only each row's last tile of " + size + " keys counts",
                [&](std::size_t i) { return right_.lse[i] + std::log(share(i, last(i))); });
    try_formula("rescale", "l is not rescaled when the max moves, in tiles of " + size + " keys", [&](std::size_t i) {
      double sum = 0;
      for (std::size_t t = first(i); t <= last(i); ++t) sum += sums.share(i, t, sums.max(i, t));
      return right_.max[i] + std::log(sum);
    });
    for (std::size_t t = 0; t < sums.tiles() && sums.tiles() <= 256; ++t) {
      const auto key = static_cast<int>(t) * tile;
      const int last_key = std::min(key + tile, n_k) - 1;
      try_formula("tile", run_text("key", key, last_key, " is left out", " are left out"),
                  [&](std::size_t i) { return lost(i, share(i, t)); });
      try_formula("tile", run_text("key", key, last_key, " counts twice", " count twice"),
                  [&](std::size_t i) { return lost(i, -share(i, t)); });
    }
  }

  const LseForm& form_;
  const JudgedLse& given_;
  LseBase base_;
  const LseJudgement& judged_;
  StopToken stop_;
  const LseRows& right_ = form_.rows;
  double best_ratio_ = infinity;
  std::optional<LseSlip> best_{};
};

}  // namespace

std::optional<LseSlip> lse_slip_in(const LseForm& form, const JudgedLse& given, LseBase base, const LseJudgement& judged,
                                   const Options& options) {
  return LseSlips(form, given, base, judged, options).best();
}

}  // namespace attoscope
