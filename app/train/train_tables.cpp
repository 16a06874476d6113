#include "app/train/train_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/session/report.h"
#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

/// "flash2 eager, backward grad_eager, bf16, layer 1 exact"
std::string train_method_text(const TrainMethod& m) {
  const std::string_view gradient = grad_policy_name(m.gradient);
  std::string text =
      fmt::format("{}, backward {}, {}", method_text(m.method), gradient.empty() ? "(own rounding)" : gradient, name(m.format));
  text += stored_text(m);
  for (const HeadPlace& p : m.exact)
    text += fmt::format(", layer {}{} exact", p.layer, p.head < 0 ? "" : fmt::format(" head {}", p.head));
  return text;
}

double loss_at(const RunRecord& run, int step) {
  const auto found = std::ranges::find(run.steps, step, &StepReport::step);
  return found == run.steps.end() ? NAN : found->loss;
}

/// The losses of a and b at a's last step; "" before the first.
std::string losses(const TrainRecord& r) {
  if (r.runs[0].steps.empty() && r.runs[1].steps.empty()) return "";
  const int step = r.runs[0].steps.empty() ? r.step : r.runs[0].steps.back().step;
  const double a = loss_at(r.runs[0], step), b = loss_at(r.runs[1], step);
  return fmt::format("{}loss of a {:.4f}, of b {:.4f}, difference {}\n",
                     step == r.step ? "" : fmt::format("at step {}: ", step), a, b, short_number(a - b));
}

/// "steps skipped by the loss scale: a 0, b in fp16 3"; "" if no run scales its loss.
std::string skipped_text(const TrainRecord& r) {
  std::string text;
  for (const RunRecord& run : r.runs)
    if (scales_loss(run.run.method.format))
      text +=
          fmt::format("{}{} {}", text.empty() ? "steps skipped by the loss scale: " : ", ", run.run.name, skipped_steps(run));
  return text.empty() ? text : text + "\n";
}

std::string question(const TrainRecord& r) {
  const TrainPlan& p = r.plan;
  std::string text = train_conditions(p);
  text += fmt::format("step {} of {}, {}", r.step, p.recipe.steps, r.device);
  if (r.seconds > 0) text += fmt::format(", {:.3g} s in all: {:.3g} steps a second", r.seconds, r.step / r.seconds);
  text += "\n" + losses(r);
  if (!std::isnan(r.runs[0].heldout_loss) || !std::isnan(r.runs[1].heldout_loss))
    text += fmt::format("held-out loss of a {:.4f}, of b {:.4f}, difference {}\n", r.runs[0].heldout_loss,
                        r.runs[1].heldout_loss, short_number(r.runs[0].heldout_loss - r.runs[1].heldout_loss));
  text += skipped_text(r);
  if (!r.remark.empty()) text += r.remark + "\n";
  for (const Fork& f : r.forks) text += fmt::format("changed at step {}: {}\n", f.step, f.sentence);
  for (const RunRecord& run : r.runs)
    if (!run.stopped.empty()) text += run.stopped + "\n";
  return text;
}

/// The last deviation of a pair over all tensors; null if nothing was measured.
const WeightDeviation* newest(const PairRecord& pair) {
  return pair.points.empty() ? nullptr : pair.points.back().deviations.data();
}

/// Distances of a and of b from exact attention, divided by the distance a - b; "" if exact attention was not trained or a - b
/// is 0.
std::string exact_shares(const TrainRecord& r) {
  const WeightDeviation* const whole = newest(r.pairs[0]);
  std::vector<const WeightDeviation*> from_exact;
  for (const PairRecord& p : r.pairs)
    if (p.pair.role == Role::from_exact && newest(p) != nullptr) from_exact.push_back(newest(p));
  if (from_exact.size() != 2 || !(whole->rel_l2 > 0)) return "";
  const auto shares = [&](const char* label, double WeightDeviation::* value) {
    return fmt::format("  {:<28}{:>14} x a - b{:>14} x a - b\n", label, short_number(from_exact[0]->*value / (whole->*value)),
                       short_number(from_exact[1]->*value / (whole->*value)));
  };
  return fmt::format("\n  {:<28}{:>22}{:>22}\n", "beside exact attention", "a - exact", "b - exact") +
         shares("Wasserstein-1", &WeightDeviation::wasserstein) + shares("rel L2", &WeightDeviation::rel_l2);
}

bool is_band(const PairRecord& pair) { return pair.pair.role == Role::initialisation || pair.pair.role == Role::format; }

std::string pair_rows(const TrainRecord& r) {
  const WeightDeviation* const first = newest(r.pairs[0]);
  const bool banded = std::ranges::any_of(r.pairs, is_band);
  std::string text = fmt::format("\n  {:<28}{:>16}{:>12}{:>12}{:>16}{}\n", "weights apart", "Wasserstein-1", "rel L2",
                                 "max |dW|", "directionality", banded ? fmt::format("{:>16}", "a - b over it") : "");
  for (const PairRecord& p : r.pairs) {
    const WeightDeviation* const d = newest(p);
    if (d == nullptr || p.pair.role == Role::suspect) continue;
    text += fmt::format("  {:<28}{:>16}{:>12}{:>12}{:>16}{}\n", p.pair.name, short_number(d->wasserstein),
                        short_number(d->rel_l2), short_number(d->max_abs), short_number(d->directionality),
                        is_band(p) ? fmt::format("{:>16}", short_number(first->rel_l2 / d->rel_l2)) : "");
  }
  return text;
}

/// The deviation over all tensors at a measured step; null if there is none.
const WeightDeviation* at_step(const PairRecord& pair, int step) {
  const auto point = std::ranges::find(pair.points, step, &PairPoint::step);
  return point == pair.points.end() ? nullptr : point->deviations.data();
}

/// "gone" if a's failure does not occur with the suspect exact, else "there"; "" if a did not fail.
std::string failure(const TrainRecord& r, const RunRecord& suspect) {
  if (r.runs[0].stopped.empty()) return "";
  return fmt::format("{:>12}", suspect.stopped.empty() ? "gone" : "there");
}

/// The suspects, sorted by the share of a - b that remains at the last measured step, the least first.
std::string ranking(const TrainRecord& r) {
  const std::vector<PairPoint>& points = r.pairs[0].points;
  std::vector<const PairRecord*> suspects;
  for (const PairRecord& p : r.pairs)
    if (p.pair.role == Role::suspect && !points.empty() && at_step(p, points.back().step) != nullptr) suspects.push_back(&p);
  if (suspects.empty()) return "";
  const auto left = [&](const PairRecord* p) { return *at_step(*p, points.back().step); };
  std::ranges::stable_sort(suspects, {}, [&](const PairRecord* p) {
    const double x = left(p).rel_l2;
    return std::isnan(x) ? HUGE_VAL : x;
  });
  std::string text = fmt::format("\n  {:<28}{:>12}{:>12}{:>16}{}\n", "a with this made exact", "max |dW|", "rel L2",
                                 "left of a - b", r.runs[0].stopped.empty() ? "" : fmt::format("{:>12}", "failure"));
  for (const PairRecord* const p : suspects)
    text += fmt::format("  {:<28}{:>12}{:>12}{:>14} %{}\n", p->pair.name, short_number(left(p).max_abs),
                        short_number(left(p).rel_l2), short_number(100 * left(p).rel_l2 / points.back().deviations[0].rel_l2),
                        failure(r, r.runs[static_cast<std::size_t>(p->pair.x)]));
  return text;
}

/// The error of a's step relative to b's step: over all tensors, and in those with the largest errors.
std::string direct_effect(const TrainRecord& r) {
  const PairRecord& pair = r.pairs[0];
  if (pair.pair.role != Role::direct || newest(pair) == nullptr) return "";
  const std::vector<WeightDeviation>& d = pair.points.back().deviations;
  const auto share = [&](std::size_t i) { return d[i].step_size > 0 ? d[i].rel_l2 / d[i].step_size : 0; };
  std::vector<std::size_t> tensors;
  for (std::size_t i = 1; i < d.size(); ++i) tensors.push_back(i);
  std::ranges::stable_sort(tensors, std::ranges::greater{}, share);
  tensors.resize(std::min<std::size_t>(tensors.size(), 5));
  std::string text = fmt::format("\n  {:<28}{:>24}\n  {:<28}{:>24}\n", "a's step off by", "share of b's own step",
                                 "all tensors", short_number(share(0)));
  for (const std::size_t i : tensors)
    text += fmt::format("  {:<28}{:>24}\n", r.parameters.tensors[i - 1].name, short_number(share(i)));
  return text;
}

/// Lines of the long table.
struct Lines {
  std::string text = csv_line({"step", "pair", "tensor", "measure", "value"});

  void add(int step, const std::string& pair, const std::string& tensor, std::string_view measure, double value) {
    text += csv_line({std::to_string(step), pair, tensor, std::string(measure), shortest(value)});
  }
};

void add_pair(Lines& lines, const TrainRecord& r, const PairRecord& pair) {
  for (const PairPoint& p : pair.points) {
    for (std::size_t i = 0; i < p.deviations.size(); ++i) {
      const WeightDeviation& d = p.deviations[i];
      const std::string tensor = i == 0 ? "all" : r.parameters.tensors[i - 1].name;
      for (const auto& [key, member] : weight_numbers) lines.add(p.step, pair.pair.name, tensor, key, d.*member);
    }
    lines.add(p.step, pair.pair.name, "all", "loss_difference", p.loss_difference);
  }
}

void add_health(Lines& lines, const TrainRecord& r, const std::string& run, const RunHealth& health) {
  for (std::size_t i = 0; i < health.heads.size(); ++i) {
    const HeadHealth& h = health.heads[i];
    const int layer = static_cast<int>(i) / r.plan.model.heads, head = static_cast<int>(i) % r.plan.model.heads;
    const auto add = [&](std::string_view measure, double value) {
      lines.add(health.step, run, fmt::format("layer {} head {}", layer, head), measure, value);
    };
    add("delta_bias", h.delta_bias());
    add("query_norm", h.query_norm);
    for (const auto& [key, member] : head_counts) add(key, static_cast<double>(h.statistics.*member));
  }
}

void add_run(Lines& lines, const TrainRecord& r, const RunRecord& run) {
  const std::string name = "run " + run.run.name;
  for (const StepReport& s : run.steps) {
    for (const auto& [key, member] : step_numbers) lines.add(s.step, name, "all", key, s.*member);
    lines.add(s.step, name, "all", "skipped", s.skipped ? 1 : 0);
  }
  if (!std::isnan(run.heldout_loss)) lines.add(r.step, name, "all", "heldout_loss", run.heldout_loss);
  for (const RunHealth& health : run.health) add_health(lines, r, name, health);
}

}  // namespace

std::string stored_text(const TrainMethod& m) {
  std::string text;
  if (m.weights != exact) text += ", weights " + rounding_text(m.weights);
  if (m.optimiser != exact) text += ", optimiser " + rounding_text(m.optimiser);
  return text;
}

std::string short_number(double x) { return std::isnan(x) ? "-" : fmt::format("{:.3g}", x); }

std::string train_conditions(const TrainPlan& p) {
  const ModelShape& m = p.model;
  return fmt::format("a: {}\nb: {}\n{} x {}, {}, context {}, {} norm, batch {}, {}, seed {}, data seed {}\n",
                     train_method_text(p.a), train_method_text(p.b), counted(m.layers, "layer"), m.width,
                     counted(m.heads, "head"), m.context, norm_names[m.norm], p.recipe.batch, text_name(p.text), p.recipe.seed,
                     p.recipe.data_seed);
}

std::string train_report(const TrainRecord& record) {
  std::string text = question(record);
  if (newest(record.pairs[0]) == nullptr) return text + "nothing was measured yet\n";
  return text + pair_rows(record) + exact_shares(record) + ranking(record) + direct_effect(record);
}

std::string train_csv(const TrainRecord& record) {
  Lines lines;
  for (const PairRecord& pair : record.pairs) add_pair(lines, record, pair);
  for (const RunRecord& run : record.runs) add_run(lines, record, run);
  return std::move(lines.text);
}

}  // namespace attoscope::app
