#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/experiment/grad_kernels.h"
#include "ui/frame/pair_look.h"
#include "ui/train/series.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// The measure of conclusions, with Wasserstein-1: max |ΔW| is two learning rates after Adam's first step whatever the cause.
constexpr TrainMeasure concluded_from = TrainMeasure::rel_l2;

/// Short numbers for sentences: "0.02", "3.4", "12".
std::string ratio_text(double x) {
  if (!std::isfinite(x)) return "–";
  if (x == 0) return "0";
  if (x < 0.01 || x >= 1e4) return scientific(x, 2);
  return fmt::format("{:.{}f}", x, x < 0.1 ? 3 : x < 10 ? 2 : 0);
}

/// "0.02× another seed, 0.30× fp16 − fp32": a - b over each band at a point.
std::string bands_text(const TrainRecord& r, const PairPoint& point, double size) {
  std::string text;
  int count = 0;
  for (const PairRecord& pair : r.pairs) {
    if (pair.pair.role != Role::initialisation && pair.pair.role != Role::format) continue;
    const PairPoint* const by = point_at(pair, point.step);
    if (by == nullptr || by->step != point.step || count == 3) continue;
    const std::string share = times(size / measure_of(*by, concluded_from, -1));
    text += (count++ > 0 ? ", " : "") + share + " " + named(r.plan, pair_label(pair.pair));
  }
  return text;
}

/// "a − exact is 0.95× a − b, b − exact 0.90×"; "" if no exact attention was trained.
std::string exact_text(const TrainRecord& r, const PairPoint& point, double size) {
  std::string text;
  for (const PairRecord& pair : r.pairs) {
    const PairPoint* const from = pair.pair.role == Role::from_exact ? point_at(pair, point.step) : nullptr;
    if (from == nullptr || from->step != point.step) continue;
    const std::string share = times(measure_of(*from, concluded_from, -1) / size);
    text += named(r.plan, text.empty() ? "a − exact is " + share + " a − b" : ", b − exact " + share);
  }
  return text;
}

/// A sentence on the common direction of the steps by which the two models drift apart.
std::string drift_text(const TrainPlan& plan, const PairPoint& point, const WeightDeviation& d) {
  const double random = 1, straight = std::sqrt(static_cast<double>(point.step));
  std::string text = fmt::format("directionality {} (random steps: {:.0f}, steps in one direction: {})",
                                 ratio_text(d.directionality), random, ratio_text(straight));
  if (std::isfinite(point.loss_difference))
    text = named(plan, "Loss a − b ") + signed_scientific(point.loss_difference, 2) + "; " + text;
  else
    text[0] = 'D';
  return text + ".";
}

std::string bisect_text(const TrainRecord& r) {
  const std::vector<RankedSuspect> ranked = ranked_suspects(r, concluded_from, -1, -1);
  if (ranked.empty() || !std::isfinite(ranked.front().share)) return "The pieces are measured with the next steps.";
  std::string text = "Deviation left";
  for (std::size_t i = 0; i < std::min<std::size_t>(2, ranked.size()); ++i)
    text += (i == 0 ? ": " : ", ") + ratio_text(ranked[i].share) + " with " + r.pairs[ranked[i].pair].pair.name;
  if (ranked.size() > 2) text += fmt::format(", more with the other {}", ranked.size() - 2);
  return text + ".";
}

std::string replay_text(const TrainRecord& r) {
  double sum = 0, most = 0;
  for (const PairPoint& p : r.pairs[0].points) {
    const double x = measure_of(p, concluded_from, -1);
    sum += x;
    most = std::max(most, x);
  }
  const auto count = r.pairs[0].points.size();
  return fmt::format("Mean over {} measured steps {}, largest {}; feedback from step to step is excluded.", count,
                     scientific(sum / static_cast<double>(count), 2), scientific(most, 2));
}

std::string meaning_text(const TrainRecord& r, const PairPoint& point, const WeightDeviation& d) {
  if (r.plan.kind == TrainKind::bisect) return bisect_text(r);
  if (r.plan.kind == TrainKind::replay) return replay_text(r);
  std::string text;
  if (const std::string bands = bands_text(r, point, d.rel_l2); !bands.empty())
    text = named(r.plan, "a − b is ") + bands + ". ";
  if (const std::string shares = exact_text(r, point, d.rel_l2); !shares.empty()) text += shares + ".";
  return text.empty() ? drift_text(r.plan, point, d) : text;
}

TrainWords known_words(const TrainRecord& r, const PairPoint& point, const WeightDeviation& d) {
  if (!std::isfinite(d.max_abs))
    return {"After " + counted(point.step, "step") + " a weight is not finite", "The table at the right says in which tensor.",
            true};
  if (d.max_abs == 0 && r.plan.kind != TrainKind::bisect)
    return {
        "After " + counted(point.step, "step") + named(r.plan, " a and b are the same, bit for bit"),
        r.plan.kind == TrainKind::replay ? "The step has no direct effect." : "Every weight is equal: max |ΔW| is exactly 0."};
  const std::string by = scientific(d.rel_l2, 2) + " in relative L2, " + scientific(d.wasserstein, 2) + " in Wasserstein-1";
  if (r.plan.kind == TrainKind::replay)
    return {"Step " + std::to_string(point.step) + named(r.plan, " alone: a and b differ by ") + by, meaning_text(r, point, d)};
  return {"After " + counted(point.step, "step") + named(r.plan, " a and b differ by ") + by, meaning_text(r, point, d)};
}

}  // namespace

std::string named(const TrainPlan& plan, std::string_view text) {
  Experiment e;
  e.a = plan.a.method;
  e.b = plan.b.method;
  e.format = plan.a.format;
  MethodNames names = method_names(e);
  if (names.a == "a") names = {method_words(e.a), method_words(e.b), ""};
  if (plan.a.format != plan.b.format) {
    names.a += " in " + name(plan.a.format);
    names.b += " in " + name(plan.b.format);
  }
  const std::string_view a_gradient = grad_policy_name(plan.a.gradient), b_gradient = grad_policy_name(plan.b.gradient);
  if (names.a == names.b && a_gradient != b_gradient) {
    names.a += fmt::format(", backward {}", a_gradient);
    names.b += fmt::format(", backward {}", b_gradient);
  }
  if (names.a == names.b) {
    names.a += " (a)";
    names.b += " (b)";
  }
  return with_names(text, names);
}

std::string with_run_named(const TrainPlan& plan, std::string_view sentence) {
  constexpr std::string_view run = "Run ";
  const std::size_t name_ends = sentence.find(" diverged");
  if (!sentence.starts_with(run) || name_ends == std::string_view::npos) return std::string(sentence);
  return "The run of " + named(plan, sentence.substr(run.size(), name_ends - run.size())).append(sentence.substr(name_ends));
}

TrainWords train_words(const TrainView& train) {
  const TrainProgress& p = train.progress;
  if (!train.record) {
    if (p.state == TrainProgress::State::running) return {"Training begins", "The first numbers appear after the first step."};
    return {"Does the deviation matter?",
            "Two copies of a small transformer learn the same text from the same weights, one with each attention: how far do "
            "their weights drift apart?"};
  }
  const TrainRecord& r = *train.record;
  const PairPoint* const point = r.pairs.empty() ? nullptr : point_at(r.pairs[0], -1);  // every band has this point, too
  if (std::string sentence = with_run_named(r.plan, ended(r)); !sentence.empty()) {
    if (!p.kept.empty())
      sentence += fmt::format(" All steps until then are kept; the last kept state is of step {}.", p.kept.back());
    return {"Training stopped after " + counted(r.step, "step"), sentence, true};
  }
  if (point == nullptr || point->deviations.empty())
    return {counted(r.step, "step") + " taken", "The first measures appear after the first measured step."};
  return known_words(r, *point, point->deviations[0]);
}

std::vector<RankedSuspect> ranked_suspects(const TrainRecord& r, TrainMeasure measure, int tensor, int step) {
  std::vector<RankedSuspect> ranked;
  const PairPoint* const whole = r.pairs.empty() ? nullptr : point_at(r.pairs[0], step);
  for (std::size_t p = 0; p < r.pairs.size(); ++p) {
    if (r.pairs[p].pair.role != Role::suspect) continue;
    const PairPoint* const left = whole != nullptr ? point_at(r.pairs[p], whole->step) : nullptr;
    double share = std::numeric_limits<double>::quiet_NaN();
    if (left != nullptr) share = measure_of(*left, measure, tensor) / measure_of(*whole, measure, tensor);
    ranked.push_back({p, share, r.runs[static_cast<std::size_t>(r.pairs[p].pair.x)].stopped.empty()});
  }
  std::ranges::stable_sort(ranked, [](const RankedSuspect& x, const RankedSuspect& y) {
    if (std::isnan(x.share) || std::isnan(y.share)) return !std::isnan(x.share) && std::isnan(y.share);
    return x.share < y.share;
  });
  return ranked;
}

std::string runs_text(const TrainRecord& r) {
  std::string losses, skipped;
  for (const RunRecord& run : r.runs) {
    if (std::isfinite(run.heldout_loss))
      losses += fmt::format("{}{} {}", losses.empty() ? "held-out loss " : ", ", named(r.plan, run.run.name),
                            value_text(run.heldout_loss, 3));
    if (scales_loss(run.run.method.format))
      skipped +=
          fmt::format("{}{} {}", skipped.empty() ? "skipped steps " : ", ", named(r.plan, run.run.name), skipped_steps(run));
  }
  return losses + (losses.empty() || skipped.empty() ? "" : "; ") + skipped;
}

std::array<std::string, 4> seed_cells(const TrainRecord& r) {
  const RunRecord &a = r.runs[0], &b = r.runs[1];
  const auto loss = [](const RunRecord& run) {
    return std::isfinite(run.heldout_loss) ? value_text(run.heldout_loss, 3) : "–";
  };
  return {std::to_string(skipped_steps(a)), std::to_string(skipped_steps(b)), loss(a), loss(b)};
}

std::string progress_words(const TrainProgress& p) {
  const std::string all = std::to_string(p.steps);
  std::string text = p.seeds > 1 ? fmt::format("seed {} of {}, ", p.seed, p.seeds) : "";
  text += fmt::format("step {:{}} of {}", p.step, static_cast<int>(all.size()), all);
  if (p.steps_per_second >= 0.1) {
    text += fmt::format(", {:5.{}f} steps/s", p.steps_per_second, p.steps_per_second < 100 ? 1 : 0);
  } else if (p.steps_per_second > 0) {
    text += fmt::format(", {:.0f} s a step", 1 / p.steps_per_second);
  }
  return text;
}

std::string_view kind_words(TrainKind kind) {
  constexpr EnumArray<TrainKind> words{
      "Two models with the same text, first weights and batches; only attention differs (arXiv 2405.02803, figure 7).",
      "The same, and other differences as scales: b from another seed, and b in fp16, bf16 and fp32 (figure 8).",
      "The same, and copies of a, each with one piece made exact: which rounding causes the difference?",
      "b is trained; at every measured step a takes the same step from b's state: the direct effect, without feedback."};
  return words[kind];
}

std::string value_text(double x, int digits) {
  const double size = std::abs(x);
  if (!(size >= 0.01 && size < 1e4)) return scientific(x, digits);
  const int whole = size >= 1 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1;
  return fmt::format("{:.{}f}", x, std::max(0, digits + 1 - whole));
}

std::string short_name(const ParameterTensor& t) {
  const std::string prefix = "layer " + std::to_string(t.layer) + " ", last = "final ";
  if (t.name.starts_with(last)) return t.name.substr(last.size());
  return t.layer >= 0 && t.name.starts_with(prefix) ? std::to_string(t.layer) + " " + t.name.substr(prefix.size()) : t.name;
}

}  // namespace attoscope::ui
