#include "kernels/slips/slips.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/experiment/rules.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/output_errors.h"
#include "kernels/slips/slip_suspects.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

constexpr std::size_t most_ranked = 8;
constexpr double most_left = 0.9;  ///< largest share of the error that a ranked suspect leaves

class SlipFinder {
 public:
  SlipFinder(const Result& result, const OtherHeads& heads, const Options& options, const std::string& like)
      : r_(result), e_(result.experiment), heads_(heads), options_(options), like_(like), errors_(result, options) {}

  /// Returns the first slip that fits about as well as the best.
  SlipSearch find() {
    if (!errors_.has_line()) return {};
    errors_.find_envelope();
    // rows for a first look at suspects, and rows for the check
    const std::vector<int> some = errors_.chosen(std::clamp((1 << 17) / key_count(e_.problem), 8, 32)),
                           many = errors_.chosen(std::clamp((1 << 20) / key_count(e_.problem), 32, 1024));
    const Fit nothing = errors_.fit(rows_of_matrix(r_.golden), some);
    const std::vector<Suspect> all = suspects(many);
    std::vector<Tried> tries(all.size());
    parallel_for_single(std::size_t{0}, all.size(), [&](std::size_t i) { tries[i] = tried(all[i], some, many, nothing); });
    return best_of(tries, static_cast<double>(many.size()) * errors_.output().cols);
  }

 private:
  /// The limit: b's largest error on the slip's problem, or, if the slip has no problem, the limit scaled with the values.
  double limit_of(const Suspect& suspect, const Fit& f) const {
    const double rounding = half_epsilon(e_.loaded.type) * f.size, size = errors_.size();
    if (suspect.inputs) return std::max(rounding, errors_.rival_error(with_format(e_, *suspect.inputs)));
    if (!suspect.problem) return std::max(rounding, errors_.limit() * std::max(1.0, size > 0 ? f.size / size : 1));
    Experiment e = e_;
    e.problem = *suspect.problem;
    return std::max(rounding, errors_.rival_error(std::move(e)));
  }

  /// True if the suspect explains more of the error than chance would: nearly all of it; or, near the limit, where rounding is
  /// as large as the slip, if the output has the whole slip and enough elements agree.
  bool explains(const Suspect& suspect, const Fit& f, double outside, double inside) const {
    if (f.unexplained > 0 || f.compared == 0 || !f.leaves_little()) return false;
    const double drop = f.drop();
    if (drop >= outside && !errors_.inside()) return true;
    return (errors_.subtle() || suspect.inputs) && drop >= inside && std::abs(std::log2(std::max(f.share(), 1e-3))) <= 0.4 &&
           static_cast<double>(f.telling) * std::log(drop) >= 20;
  }

  /// The suspect as a slip, if it explains the error in `many` rows as well as in `some`; sets `left` to the remaining share of
  /// the error.
  std::optional<Slip> accepted(const Suspect& suspect, const ExpectedRow& expected, const Fit& some,
                               const std::vector<int>& many, double& left) const {
    if (!explains(suspect, some, 3, 1.3)) return {};
    const Fit all = errors_.fit(expected, many);
    if (!explains(suspect, all, 4, 1.6) || all.rows < std::min(2, errors_.output().rows)) return {};
    left = all.mean_left();
    const double ratio = all.largest / limit_of(suspect, all);
    if (!(ratio <= (all.drop() < 10 ? 2 : 5))) return {};
    Slip slip{suspect.kind, suspect.text, ratio, expected};
    if (suspect.kind == Slip::Kind::mask && suspect.problem) slip.mask = suspect.problem->mask;
    return slip;
  }

  /// All suspects; if the error is within the limit, only arithmetic ones of this head.
  std::vector<Suspect> suspects(const std::vector<int>& rows) const {
    if (errors_.inside()) return arithmetic_suspects(r_, {});
    std::vector<Suspect> all = arithmetic_suspects(r_, heads_);
    std::ranges::move(layout_suspects(r_, errors_.output(), rows, options_.cancelled), std::back_inserter(all));
    if (!like_.empty()) std::erase_if(all, [&](const Suspect& s) { return !alike(s.text, like_); });
    return all;
  }

  /// Share of the error that a suspect leaves in these rows; rows that it does not predict keep their error.
  double left_by(const Fit& f, const Fit& nothing) const {
    if (f.unexplained > 0 || !(nothing.error_square > 0)) return 1;
    return std::sqrt(std::max(0.0, nothing.error_square - f.error_square + f.left_square) / nothing.error_square);
  }

  /// Inserts the slip if it is among the best.
  static void rank(std::vector<RankedSlip>& ranked, RankedSlip slip) {
    if (!(slip.left < most_left)) return;
    ranked.insert(std::ranges::upper_bound(ranked, slip.left, {}, &RankedSlip::left), std::move(slip));
    if (ranked.size() > most_ranked) ranked.pop_back();
  }

  /// Result of trying one suspect; keeps its output only if needed.
  struct Tried {
    RankedSlip ranked{};
    std::optional<Slip> slip{};
    double left = infinity;  ///< remaining error in many rows, if there is a slip
  };
  Tried tried(const Suspect& s, const std::vector<int>& some, const std::vector<int>& many, const Fit& nothing) const {
    errors_.check();
    Tried t;
    const ExpectedRow expected = s.begin();
    const std::optional<Fit> f = errors_.fit_within(most_left, nothing, expected, some);
    if (!f) return t;
    t.ranked.left = left_by(*f, nothing);
    if (t.ranked.left < most_left) t.ranked.slip = {s.kind, s.text, 0, expected};
    t.slip = accepted(s, expected, *f, many, t.left);
    return t;
  }

  SlipSearch best_of(std::vector<Tried>& tries, double elements) const {
    SlipSearch search;
    std::vector<std::pair<Slip, double>> found;
    double best = infinity;
    for (Tried& t : tries) {
      rank(search.ranked, std::move(t.ranked));
      if (!t.slip) continue;
      found.emplace_back(std::move(*t.slip), t.left);
      best = std::min(best, t.left);
    }
    for (auto& [slip, left] : found)
      if (!search.found && elements * (left - best) <= 30 * std::max(best, 1e-300)) search.found = std::move(slip);
    if (!search.found && !errors_.inside()) search.found = last_slip();
    return search;
  }

  /// Slips found by the places of the error or by NaN and infinity, not by a suspect.
  std::optional<Slip> last_slip() const {
    if (std::optional<Slip> tail = tail_slip(e_, errors_)) return tail;
    return errors_.has_more_nonfinite() ? overflow_slip(r_, errors_) : std::nullopt;
  }

  const Result& r_;
  const Experiment& e_;
  const OtherHeads& heads_;
  const Options& options_;
  const std::string& like_;
  OutputErrors errors_;
};

/// The slip's output in all rows. NaN becomes 0 where the kernel's output is a number, as golden has it in rows without keys.
Matrix whole_output(const Result& r, const Matrix& o, const ExpectedRow& expected, const Options& options) {
  Matrix all = o;
  parallel_for(0, o.rows, [&](int i) {
    if (options.cancelled && options.cancelled()) throw Stopped{};
    std::vector<double> row(at(o.cols));
    const bool known = expected(r.rows[at(i)], row.data());
    for (int c = 0; c < o.cols; ++c) {
      const double x = known ? row[at(c)] : (*r.golden)(i, c);
      all.values[at(i) * at(o.cols) + at(c)] = std::isnan(x) && std::isfinite(o(i, c)) ? 0 : x;
    }
  });
  return all;
}

/// True if the format represents all these numbers exactly. For bf16, tf32 and fp32, checks the bits of the float.
bool holds(const Format& f, const std::vector<double>& x) {
  if (f.exponent_bits != 8 || f.mantissa_bits > 23)
    return std::ranges::all_of(x, [&](double y) { return round(f, y) == y || std::isnan(y); });
  std::uint64_t lost = 0;
  std::uint32_t bits = 0;
  for (const double y : x) {
    const auto z = static_cast<float>(y);
    bits |= std::bit_cast<std::uint32_t>(z);
    lost |= std::bit_cast<std::uint64_t>(y) ^ std::bit_cast<std::uint64_t>(static_cast<double>(z));
  }
  return lost == 0 && (bits & ((std::uint32_t{1} << (23 - f.mantissa_bits)) - 1)) == 0;
}

}  // namespace

ExpectedRow rows_of_matrix(std::shared_ptr<const Matrix> matrix) {
  return [m = std::move(matrix)](int row, double* out) {
    std::copy_n(&m->values[at(row) * at(m->cols)], m->cols, out);
    return true;
  };
}

SlipSearch find_slips(const Result& result, const OtherHeads& heads, const Options& options, const std::string& like) {
  return on_threads(options.threads, [&] { return SlipFinder(result, heads, options, like).find(); });
}

bool alike(std::string text, std::string other) {
  for (std::string* x : {&text, &other}) {
    std::erase_if(*x, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (const std::size_t range = x->find(", to :"); range != std::string::npos) x->erase(range + 1, 4);  // "a number, 1 to 2:"
  }
  return text == other;
}

std::shared_ptr<const Result> with_slip_output(const Result& result, const Slip& slip, const Options& options) {
  if (!slip.output) return nullptr;
  const bool of_a = result.experiment.a.algorithm == Algorithm::loaded;
  auto changed = std::make_shared<Result>(result);
  on_threads(options.threads, [&] {
    (of_a ? changed->a : changed->b) = whole_output(result, of_a ? result.a : result.b, slip.output, options);
  });
  changed->on_device = nullptr;
  return changed;
}

std::shared_ptr<const Tensors> seen_in(const Format& format, const std::shared_ptr<const Tensors>& tensors) {
  if (holds(format, tensors->q) && holds(format, tensors->k) && holds(format, tensors->v)) return tensors;
  const auto seen = std::make_shared<Tensors>(*tensors);
  for (auto* part : {&seen->q, &seen->k, &seen->v})
    for (double& x : *part) x = round(format, x);
  return seen;
}

}  // namespace attoscope
