#include "kernels/judge/lse_judge.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/cpu/simulate.h"
#include "kernels/experiment/experiment.h"
#include "kernels/judge/margins.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/slips.h"
#include "kernels/slips/softmax_variant.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// Adds the error that fp32 arithmetic is expected to leave in each row.
void add_errors(LseRows& rows, const Problem& problem, const Tensors& inputs, const Format& format) {
  const std::vector<double> largest = largest_scores(problem, inputs);
  const double unit = significand_bits(format) > 24 ? 0x1p-53 : 0x1p-24;
  for (std::size_t i = 0; i < rows.lse.size(); ++i)
    rows.error.push_back(unit * (4 + largest[i] + (std::isfinite(rows.lse[i]) ? std::abs(rows.lse[i]) : 0)));
}

/// Rows of kernels that round q.k to D before they scale it.
LseRows rows_of_products(const Problem& problem, const std::shared_ptr<const Tensors>& inputs, const Format& format,
                         const StopSign& stop) {
  SoftmaxVariant variant = right_softmax(problem);
  variant.rounds.products = format;
  const VariantHead head = variant_head(inputs);
  std::vector<RowSum> sums(at(problem.n));
  parallel_for(0, problem.n, [&](int i) {
    stop.check();
    sums[at(i)] = row_sum(head, variant, i);
  });
  LseRows rows;
  for (const RowSum& sum : sums) {
    rows.lse.push_back(sum.lse);
    rows.max.push_back(sum.max);
  }
  add_errors(rows, problem, *inputs, format);
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (std::isfinite(sums[i].slack)) rows.error[i] += sums[i].slack;
  return rows;
}

/// sqrt(sum_j P^2) of each row, from the log-sum-exp of doubled scores.
std::vector<double> spread_of(Problem problem, const Tensors& inputs, const Format& format, const LseRows& rows,
                              const StopSign& stop) {
  problem.scale = 2 * scale_of(problem);
  problem.softcap *= 2;
  problem.alibi *= 2;
  problem.sink.reset();
  std::vector<double> spread = lse_rows(problem, inputs, format, stop, exact, 2).lse;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const double root = std::exp(spread[i] / 2 - rows.lse[i]);
    spread[i] = std::isfinite(root) ? std::min(root, 1.0) : 1;
  }
  return spread;
}

std::string rounded_text(const KernelClaim& claim) { return "its Q, K are rounded to " + name(claim.format); }

class LseJudge {
 public:
  LseJudge(const JudgedLse& given, const Options& options) : given_(given), claim_(given.claim), stop_(options) {}

  std::array<LseJudgement, 2> judgements() const {
    const LseForm usual = usual_form();
    std::array<LseJudgement, 2> found = judged_in(usual);
    const auto fits = [](const LseJudgement& j) { return j.rounded; };
    if (std::ranges::any_of(found, fits)) return found;
    for (const LseForm& form : other_forms(usual)) {
      std::array<LseJudgement, 2> other = judged_in(form);
      for (std::size_t b = 0; b < found.size(); ++b)
        if (other[b].rounded) found[b] = std::move(other[b]);
      if (std::ranges::any_of(found, fits)) break;
    }
    return found;
  }

  LseForm usual_form() const { return form_of("", given_.problem, seen_by(claim_, given_.problem.input.tensors)); }

  /// Forms that round scaled Q and K to D and, if no rounding is declared, that do not round Q and K to D, that round before
  /// the exponential, or that sum rounded P.
  std::vector<LseForm> other_forms(const LseForm& usual) const {
    std::vector<LseForm> all;
    const std::string d = name(claim_.format);
    if (std::shared_ptr<const Tensors> rounded = rounded_after_scales(claim_, given_.problem.input.tensors))
      all.push_back(form_of(rounded_text(claim_), given_.problem, std::move(rounded)));
    if (claim_.declared) return all;
    if (const std::shared_ptr<const Tensors>& given = given_.problem.input.tensors; given != usual.inputs)
      all.push_back(form_of("its Q, K are used as they are, not rounded to " + d, given_.problem, given));
    if (claim_.of_P) {
      LseForm& short_sums = all.emplace_back(usual);
      short_sums.as = "its sums have 14 bits, as on an H100";
      short_sums.has_short_sums = true;
      short_sums.rows = rows_in(short_sums, short_sums.problem, claim_.format, stop_);
    }
    if (significand_bits(claim_.format) > 16) return all;
    LseForm& stored = all.emplace_back(usual);
    stored.as = "its scores are rounded to " + d;
    stored.scores = to_format(claim_.format);
    for (Rival& r : stored.rivals) r.method.precision[Step::S] = to_main;
    stored.rows = rows_in(stored, stored.problem, claim_.format, stop_);
    LseForm& products = all.emplace_back(usual);
    products.as = "its q.k are rounded to " + d + " before they are scaled";
    products.rounds_products = true;
    products.rows = rows_in(products, products.problem, claim_.format, stop_);
    LseForm& sums = all.emplace_back(usual);
    sums.as = "its sums add P rounded to " + d;
    sums.sums_rounded_P = true;
    std::erase_if(sums.rivals, [](const Rival& r) { return normalises_P(r.method.algorithm); });
    for (Rival& r : sums.rivals) r.method.precision.sum_rounded_P = true;
    sums.rows = rows_in(sums, sums.problem, claim_.format, stop_);
    const double scale = scale_of(given_.problem), root = std::sqrt(scale);
    for (const auto& [of_q, of_k, said] : {std::tuple{scale, 1.0, "Q times the scale is"},
                                           {scale * std::numbers::log2e, 1.0, "Q times the scale and log2 e is"},
                                           {1.0, scale, "K times the scale is"},
                                           {root, root, "Q and K times the root of the scale are"}})
      all.push_back(prescaled(usual, of_q, of_k, std::string(said) + " rounded to " + d));
    return all;
  }

  std::array<LseJudgement, 2> judged_in(const LseForm& form) const {
    LseJudgement bounds;
    bounds.as = form.as;
    // no rival rounds q.k: the usual ones, held to their own golden, bound what follows
    const std::optional<LseForm> usual = form.rounds_products ? std::optional(usual_form()) : std::nullopt;
    const LseForm& bounding = usual ? *usual : form;
    significand_bits(claim_.format) > 24 ? bound_by<double>(bounding, bounds) : bound_by<float>(bounding, bounds);
    return {held_to_golden(form, bounds, LseBase::e), held_to_golden(form, bounds, LseBase::two)};
  }

 private:
  LseForm form_of(std::string as, const Problem& problem, std::shared_ptr<const Tensors> inputs) const {
    LseForm form{
        .as = std::move(as), .problem = problem, .inputs = std::move(inputs), .rows = {}, .rivals = rivals_of(claim_, problem)};
    form.rows = rows_in(form, problem, claim_.format, stop_);
    return form;
  }

  /// Kernels that multiply Q and K by these factors and round the products.
  LseForm prescaled(const LseForm& usual, double of_q, double of_k, std::string as) const {
    auto inputs = std::make_shared<Tensors>(*usual.inputs);
    for (double& x : inputs->q) x = round(claim_.format, x * of_q);
    for (double& x : inputs->k) x = round(claim_.format, x * of_k);
    Problem problem = usual.problem;
    problem.scale = scale_of(problem) / (of_q * of_k);
    return form_of(std::move(as), problem, inputs);
  }

  template <class T>
  std::vector<double> run_rival(const LseForm& form, const Operands<T>& x, const Method& m,
                                const std::vector<int>& rows) const {
    RowStates<T> states;
    const Operands<T> reversed = m.reverse_keys ? with_reversed_keys(x, shape_of(form.problem)) : Operands<T>{};
    const Job<T> j = job(form.problem, m, claim_.format, m.reverse_keys ? reversed : x);
    run(j, rows, nullptr, stop_, &states);
    return log_sum_exps(j, rows, states);
  }

  template <class T>
  void bound_by(const LseForm& form, LseJudgement& j) const {
    Operands<T> x = operands<T>(*form.inputs, exact, claim_.format, form.problem.seed, stop_);
    x.format = claim_.format;
    for (const Rival& rival : form.rivals) {
      std::vector<int> rows;
      const std::size_t count = given_.values.size(), step = is_slow(rival, claim_) ? std::max<std::size_t>(1, count / 64) : 1;
      for (std::size_t i = 0; i < count; i += step) rows.push_back(static_cast<int>(i));
      const std::vector<double> found = run_rival<T>(form, x, rival.method, rows);
      RivalError error{rival.name};
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const auto i = static_cast<std::size_t>(rows[k]);
        const double off = std::abs(found[k] - form.rows.lse[i]);
        if (!std::isfinite(off) || std::abs(form.rows.lse[i]) > 1e30) continue;  // the row sees only a mask's lowest numbers
        error.max_abs = std::max(error.max_abs, off);
        j.kappa = std::max(j.kappa, off / form.rows.error[i]);
      }
      j.family.push_back(error);
    }
  }

  LseJudgement held_to_golden(const LseForm& form, LseJudgement j, LseBase base) const {
    const double unit = unit_of(base);
    const std::size_t count = given_.values.size();
    j.wrong.resize(count);
    j.errors.resize(count);
    j.shares.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = given_.values[i], golden = form.rows.lse[i], error = std::abs(x - golden * unit);
      double ratio = error / lse_tolerance(margins.element * j.kappa * form.rows.error[i], unit, given_.stored, x);
      if (!std::isfinite(golden))  // without keys: either infinity; if the scores are not finite: anything not finite
        ratio = (golden < 0 ? std::isinf(x) : !std::isfinite(x)) ? 0 : infinity;
      else if (!std::isfinite(x))
        ratio = infinity;
      else
        j.max_abs = std::max(j.max_abs, error);
      j.wrong[i] = !(ratio <= 1);
      j.suspects += j.wrong[i];
      j.errors[i] = std::isfinite(error) ? x - golden * unit : std::nan("");
      j.shares[i] = ratio;
      if (j.worst_row >= 0 && !(ratio > j.ratio)) continue;
      j.ratio = ratio;
      j.worst_row = static_cast<int>(i);
      j.held = x;
      j.expected = golden * unit;
    }
    j.rounded = j.suspects == 0;
    j.where = error_places(j.wrong, {true});
    return j;
  }

  const JudgedLse& given_;
  const KernelClaim& claim_;
  StopToken stop_;
};

}  // namespace

double unit_of(LseBase base) { return base == LseBase::two ? std::numbers::log2e : 1; }

double lse_tolerance(double natural, double unit, const Format& stored, double x) {
  return natural * unit + (std::isfinite(x) ? ulp(stored, x) / 2 : 0);
}

LseRows lse_rows(const Problem& problem, const Tensors& inputs, const Format& format, const StopSign& stop,
                 const Rounding& stored, double mask_factor) {
  Method method{.algorithm = Algorithm::flash2};
  method.precision[Step::S] = stored;
  Job<double> j = job(problem, method, format, Operands<double>{});
  j.q = inputs.q.data();
  j.k = inputs.k.data();
  j.v = inputs.v.data();
  j.mask_tensor.factor = mask_factor;
  const std::vector<int> rows = numbers(problem.n);
  RowStates<double> states;
  run(j, rows, nullptr, stop, &states);
  LseRows found{.lse = log_sum_exps(j, rows, states), .max = states.m, .error = {}};
  add_errors(found, problem, inputs, format);
  return found;
}

LseRows rows_in(const LseForm& form, const Problem& problem, const Format& format, const StopSign& stop) {
  if (form.rounds_products) return rows_of_products(problem, form.inputs, format, stop);
  const auto rows_at = [&](double factor) {
    Problem scaled = problem;
    scaled.scale = factor * scale_of(scaled);
    return lse_rows(scaled, *form.inputs, format, stop, form.scores);
  };
  LseRows rows = rows_at(1);
  if (form.scores != exact)
    for (const double off : {0x1p-21, -0x1p-21}) {
      const LseRows moved = rows_at(1 + off);
      for (std::size_t i = 0; i < moved.lse.size(); ++i)
        if (const double by = std::abs(moved.lse[i] - rows.lse[i]); std::isfinite(by)) rows.error[i] += by;
    }
  if (form.has_short_sums) {
    const std::vector<double> largest = largest_scores(problem, *form.inputs);
    for (std::size_t i = 0; i < largest.size(); ++i) rows.error[i] += 0x1p-14 * largest[i];
  }
  if (form.sums_rounded_P) {
    const std::vector<double> spread = spread_of(problem, *form.inputs, format, rows, stop);
    for (std::size_t i = 0; i < spread.size(); ++i) rows.error[i] += epsilon(format) / 2 * spread[i];
  }
  return rows;
}

std::optional<LseSlip> lse_slip(const JudgedLse& given, LseBase base, const LseJudgement& judged, const Options& options) {
  const LseJudge judge(given, options);
  const LseForm usual = judge.usual_form();
  std::optional<LseSlip> slip = lse_slip_in(usual, given, base, judged, options);
  if (slip) return slip;
  for (const LseForm& form : judge.other_forms(usual)) {
    const LseJudgement other = judge.judged_in(form)[static_cast<std::size_t>(base)];
    // fewer wrong rows may fit by chance, since rounded P leaves large errors
    if (other.suspects < (form.sums_rounded_P ? 4 : 1)) continue;
    slip = lse_slip_in(form, given, base, other, options);
    if (!slip) continue;
    slip->text += ", and " + form.as;
    break;
  }
  return slip;
}

std::array<LseJudgement, 2> judge_lse(const JudgedLse& given, const Options& options) {
  std::array<LseJudgement, 2> found = LseJudge(given, options).judgements();
  if (found[0].rounded || found[1].rounded || given.claim.declared) return found;
  const std::optional<JudgedLse> rounded = with_rounded_inputs(given);
  if (!rounded) return found;
  std::array<LseJudgement, 2> others = LseJudge(*rounded, options).judgements();
  for (std::size_t b = 0; b < found.size(); ++b) {
    if (!others[b].rounded) continue;
    others[b].as = rounded_text(given.claim) + (others[b].as.empty() ? "" : ", and if " + others[b].as);
    found[b] = std::move(others[b]);
  }
  return found;
}

}  // namespace attoscope
