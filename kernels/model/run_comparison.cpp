#include "kernels/model/run_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"
#include "kernels/judge/judge.h"
#include "kernels/model/followed_run.h"
#include "kernels/model/logit_measures.h"
#include "kernels/model/run_distance.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// Programs that run side by side: the exact one, the run's own rounding, and two rivals with other orders of sums.
constexpr std::size_t exact_program = 0, expected_program = 1, program_count = 4;

/// A rotary embedding whose frequencies are off by a unit in the last place of the working type, as in tables made in it.
Architecture with_frequencies(Architecture a, double factor) {
  if (a.rope.divisors.empty()) a.rope.divisors.assign(static_cast<std::size_t>(a.head_dim / 2), 1.0);
  for (double& x : a.rope.divisors) x *= factor;
  return a;
}

std::vector<ModelProgram> programs_of(const RunQuestion& q) {
  const Architecture& a = q.model->architecture;
  const Format format = format_of(q.around);
  const bool precise = q.around.in_double;
  ModelProgram expected{.around = q.around, .architecture = a, .heads = q.a, .golden = precise, .format = format};
  ModelProgram golden{.architecture = a, .golden = true};
  for (const AroundStep step : {AroundStep::weights, AroundStep::norm_weight}) golden.around[step] = q.around[step];
  golden.around.pairs = q.around.pairs;
  ModelProgram eager = expected, fused = expected;
  const double unit = precise ? 0x1p-52 : 0x1p-23;
  eager.around.sum_pieces = 8;
  eager.architecture = with_frequencies(a, 1 + unit);
  eager.heads = policy("base_eager").method();
  fused.around.sum_pieces = 3;
  fused.architecture = with_frequencies(a, 1 - unit);
  fused.heads = policy("hw").method();
  return {golden, expected, eager, fused};
}

double largest_abs(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::fabs(x[i] - y[i]));
  return largest;
}

/// Tolerances of log-probabilities: of the mean distance, and of the largest.
struct LogTolerance {
  double mean = 0, largest = 0;
  explicit LogTolerance(const TensorRivals& x, double factor = 2) {
    const double least = x.in_double ? 1e-12 : 1e-6;
    std::vector<std::vector<double>> all = x.rivals;
    all.push_back(x.exact);
    for (const std::vector<double>& rival : all) {
      mean = std::max({mean, least, factor * mean_abs_difference(rival, x.expected)});
      largest = std::max({largest, 4 * least, 2 * factor * largest_abs(rival, x.expected)});
    }
  }
  double ratio(const TensorRivals& x, const std::vector<double>& y) const {
    return size_of_difference(std::max(mean_abs_difference(x.captured, y) / mean, largest_abs(x.captured, y) / largest));
  }
};

class RunJudge {
 public:
  RunJudge(const RunQuestion& q, StopToken& stop, const Options& options)
      : q_(q), a_(q.model->architecture), stop_(stop), options_(options), programs_(programs_of(q)) {
    for (const ModelProgram& p : programs_) runs_.push_back(followed_run(q_, p, stop_));
  }

  RunJudgement judgement() {
    each([](FollowedRun& r) { r.begin(); });
    anchor_ = before_ = {0, runs_[expected_program]->state()};
    compare(-1);
    for (int l = 0; l < a_.layers; ++l) {
      each([&](FollowedRun& r) { r.layer(l), stop_.report(1); });
      compare(l);
      if (q_.captured->has(ModelTensor::output, l)) before_ = std::exchange(anchor_, {l + 1, runs_[expected_program]->state()});
    }
    each([](FollowedRun& r) { r.end(); });
    compare(a_.layers);
    compare_logits();
    return std::move(found_);
  }

 private:
  /// The residual stream before a layer.
  struct Anchor {
    int layer = 0;
    std::vector<double> state;
  };

  template <class Act>
  void each(Act act) {
    for (const auto& run : runs_) act(*run);
  }

  int heads_of(ModelTensor t) const {
    const bool q = t == ModelTensor::q || t == ModelTensor::q_norm || t == ModelTensor::q_rope || t == ModelTensor::attention;
    const bool kv = t == ModelTensor::k || t == ModelTensor::v || t == ModelTensor::k_norm || t == ModelTensor::k_rope;
    return q ? a_.heads : kv ? a_.kv_heads : 1;
  }

  /// Compares the tensors that all runs have just computed; `step`: a layer, -1 before layer 0, a_.layers at the end.
  void compare(int step) {
    for (const auto& [t, own] : runs_[expected_program]->made) {
      const int layer = is_of_layer(t) ? step : -1;
      TensorRivals x{.captured = q_.captured->numbers(t, layer),
                     .expected = own,
                     .exact = runs_[exact_program]->made.at(t),
                     .cols = static_cast<int>(own.size() / q_.tokens.size()),
                     .heads = heads_of(t),
                     .in_double = q_.around.in_double};
      for (std::size_t r = expected_program + 1; r < program_count; ++r) x.rivals.push_back(runs_[r]->made.at(t));
      if (t == ModelTensor::attention && has_heads(layer))
        judge_heads(layer, x);
      else
        hold(t, layer, step, x);
    }
  }

  void hold(ModelTensor t, int layer, int step, const TensorRivals& x) {
    const RunTolerance tolerance(x);
    const RunTolerance::Found found = tolerance.of(x.expected);
    add({t, layer, found.ratio, found.ratio > 1 ? place_of_difference(found, x) : ""}, [&] {
      if (const std::string text = not_finite(x); !text.empty()) {
        found_.explained = true;
        return text;
      }
      return explanation(t, step, [&](const std::vector<double>& y) { return tolerance.of(y); });
    });
  }

  template <class Explain>
  void add(TensorDistance d, Explain explain) {
    const bool differs = !(d.ratio <= 1);
    found_.tensors.push_back(std::move(d));
    if (!differs || found_.differing++ > 0) return;
    found_.first = static_cast<int>(found_.tensors.size()) - 1;
    found_.explanation = explain();
  }

  // --- attention of a layer whose heads are all captured: judged as a call ---

  bool has_heads(int layer) const {
    return std::ranges::all_of(std::array{ModelTensor::q_rope, ModelTensor::k_rope, ModelTensor::v},
                               [&](ModelTensor t) { return q_.captured->has(t, layer); });
  }

  /// Head h of a layer whose captured inputs are `all` and whose output is o.
  JudgedOutput head_of(int layer, int h, const LayerHeads<double>& all, const std::vector<double>& o) const {
    const int n = static_cast<int>(q_.tokens.size()), d = a_.head_dim, kv = h / (a_.heads / a_.kv_heads);
    const auto columns = [&](const std::vector<double>& x, int heads, int head) { return head_columns(x, n, heads, head, d); };
    auto t = std::make_shared<Tensors>(Tensors::shaped(AttentionShape::square(n, d)));
    t->q = columns(all.q, a_.heads, h);
    t->k = columns(all.k, a_.kv_heads, kv);
    t->v = columns(all.v, a_.kv_heads, kv);
    const Format format = format_of(q_.around);
    JudgedOutput output{head_experiment(a_, n, Method{}, format, 1).problem,
                        std::make_shared<const std::vector<double>>(columns(o, a_.heads, h)),
                        {.format = format, .stored = q_.captured->stored(ModelTensor::attention, layer)}};
    output.problem.input.kind = InputKind::tensors;
    output.problem.input.tensors = std::move(t);
    return output;
  }

  void judge_heads(int layer, const TensorRivals& x) {
    int worst = 0, wrong = 0;
    double ratio = 0;
    std::string heads;
    Judged of_worst;
    const LayerHeads<double> all{.q = q_.captured->numbers(ModelTensor::q_rope, layer),
                                 .k = q_.captured->numbers(ModelTensor::k_rope, layer),
                                 .v = q_.captured->numbers(ModelTensor::v, layer)};
    for (int h = 0; h < a_.heads; ++h) {
      stop_.check();
      Judged judged = judge(head_of(layer, h, all, x.captured), head_options());
      const double own = judged.head.ratio;
      if (!judged.head.rounded) heads += (wrong++ > 0 ? ", " : "") + std::to_string(h);
      if (own > ratio || h == 0) {
        ratio = own;
        worst = h;
        of_worst = std::move(judged);
      }
    }
    if (wrong == 0) ratio = std::min(ratio, 1.0);
    add({ModelTensor::attention, layer, wrong > 0 ? std::max(ratio, 1.0000001) : ratio,
         wrong == 0 || wrong == a_.heads ? "" : (wrong > 1 ? "heads " : "head ") + heads},
        [&] {
          const SlipSearch slips = slips_of(head_of(layer, worst, all, x.captured), of_worst, {}, head_options());
          found_.explained = slips.found.has_value();
          return slips.found ? "head " + std::to_string(worst) + ": " + slips.found->text : unexplained("mistake of attention");
        });
  }

  Options head_options() const { return {.cancelled = options_.cancelled, .isa = options_.isa}; }

  // --- explanations of a difference ---

  static std::string unexplained(const std::string& what) { return "no " + what + " known here explains it"; }

  /// "2 of its 64 numbers are infinite or NaN" where the model's are not; else "".
  static std::string not_finite(const TensorRivals& x) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < x.captured.size(); ++i) count += std::isfinite(x.expected[i]) && !std::isfinite(x.captured[i]);
    if (count == 0) return "";
    return std::to_string(count) + " of its " + std::to_string(x.captured.size()) + " numbers are infinite or NaN";
  }

  /// Tensor t of a changed program that runs from the last captured residual stream up to `step`.
  std::vector<double> replayed(const RunChange& change, ModelTensor t, int step) {
    const bool earlier = change.from_layer_before && before_.layer < anchor_.layer;
    const Anchor& from = earlier ? before_ : anchor_;
    const std::unique_ptr<FollowedRun> run = followed_run(q_, change.program, stop_);
    if (step < 0)
      run->begin();
    else
      run->resume(from.state);
    for (int l = from.layer; l <= std::min(step, a_.layers - 1); ++l) run->layer(l);
    if (step < a_.layers) return run->made.at(t);
    run->end();
    return t == ModelTensor::norm ? run->made.at(t) : logits_of(*run, change.program, t);
  }

  template <class FitOf>
  std::string explanation(ModelTensor t, int step, FitOf fit_of) {
    const bool wide = step - anchor_.layer > 2;
    const std::vector<RunChange> changes = run_changes(q_, programs_[expected_program], wide);
    const RunChange* best = nullptr;
    RunTolerance::Found least;
    for (const RunChange& change : changes) {
      stop_.check();
      RunTolerance::Found fit = fit_of(replayed(change, t, step));
      if (best == nullptr || fit.whole < least.whole) {
        best = &change;
        least = std::move(fit);
      }
    }
    found_.explained = best != nullptr && least.ratio <= 1;
    if (found_.explained) return best->text;
    return unexplained("single change of the program") +
           (best == nullptr ? ""
                            : "; the nearest: " + best->text + ", at " + shortest(least.ratio, std::chars_format::general, 3) +
                                  " times its tolerance");
  }

  // --- logits and log-probabilities ---

  /// Logits of a run of `program`, or log-probabilities.
  std::vector<double> logits_of(FollowedRun& run, const ModelProgram& program, ModelTensor t) {
    if (t == ModelTensor::logprobs) return compared_logits({&run}, {}, q_.tokens, a_.vocabulary, stop_).logp[0];
    const int n = static_cast<int>(q_.tokens.size());
    std::vector<double> all;
    const Format stored = q_.captured->stored(t, -1);
    for (int first = 0; first < n; first += logit_block) {
      const std::vector<double> some = run.logits(first, std::min(logit_block, n - first));
      for (const double v : some) all.push_back(program.around.in_double ? v : round(stored, v));
    }
    return all;
  }

  void compare_logits() {
    for (const ModelTensor t : {ModelTensor::logits, ModelTensor::logprobs}) {
      if (!q_.captured->has(t, -1)) continue;
      const auto of = [&](std::size_t p) { return logits_of(*runs_[p], programs_[p], t); };
      TensorRivals x{.captured = q_.captured->numbers(t, -1),
                     .expected = of(expected_program),
                     .exact = of(exact_program),
                     .in_double = q_.around.in_double};
      for (std::size_t r = expected_program + 1; r < program_count; ++r) x.rivals.push_back(of(r));
      x.cols = static_cast<int>(t == ModelTensor::logits ? x.expected.size() / q_.tokens.size() : 1);
      if (t == ModelTensor::logits)
        hold(t, -1, a_.layers, x);
      else
        hold_tokens(x);
    }
  }

  void hold_tokens(const TensorRivals& x) {
    const LogTolerance tolerance(x);
    add({ModelTensor::logprobs, -1, tolerance.ratio(x, x.expected), ""}, [&] {
      if (const std::string text = not_finite(x); !text.empty()) {
        found_.explained = true;
        return text;
      }
      return explanation(ModelTensor::logprobs, a_.layers, [&](const std::vector<double>& y) {
        return RunTolerance::Found{tolerance.ratio(x, y), mean_abs_difference(x.captured, y), {}, {}};
      });
    });
    for (std::size_t i = 0; i < x.captured.size(); ++i)
      if (!(std::fabs(x.captured[i] - x.expected[i]) <= tolerance.largest))
        found_.tokens.push_back({static_cast<int>(i) + 1, x.captured[i], x.expected[i], tolerance.largest});
    std::ranges::stable_sort(found_.tokens, std::ranges::greater{},
                             [](const TokenDistance& d) { return size_of_difference(d.captured - d.expected); });
  }

  const RunQuestion& q_;
  const Architecture& a_;
  StopToken& stop_;
  const Options& options_;
  std::vector<ModelProgram> programs_;
  std::vector<std::unique_ptr<FollowedRun>> runs_;
  RunJudgement found_;
  Anchor anchor_, before_;  ///< the last two captured residual streams
};

}  // namespace

Format format_of(const Surroundings& around) {
  const Rounding& r = around[AroundStep::attention];
  if (r.kind == Rounding::Kind::format) return r.format;
  return around.in_double ? fp64 : fp32;
}

RunJudgement judge_run(const RunQuestion& question, const Options& options) {
  return on_threads(options.threads, [&] {
    StopToken stop(options);
    stop.expect(static_cast<double>(program_count) * question.model->architecture.layers);
    return RunJudge(question, stop, options).judgement();
  });
}

}  // namespace attoscope
