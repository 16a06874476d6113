// The numbers of a training record as CSV.
#include <span>
#include <string>

#include "kernels/experiment/csv_text.h"
#include "kernels/train/record.h"
#include "ui/train/series.h"
#include "ui/train/words.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The head of a table: `first`, then the names of numbers, then `last`.
template <class Numbers>
std::string head_of(std::string first, const Numbers& numbers, std::string_view last = "") {
  for (const auto& [key, member] : numbers) first.append(",").append(key);
  return first.append(last);
}

constexpr std::span weight_columns = std::span(weight_numbers).first<shown_weight_numbers>();

void add_numbers(CsvText& table, const WeightDeviation& d) {
  for (const auto& [key, member] : weight_columns) table.add(in_full(d.*member));
}

std::string health_head() { return head_of("run,step,layer,head,delta_bias,query_norm", head_counts); }

void add_health(CsvText& table, const TrainRecord& r, const RunRecord& run, const RunHealth& health) {
  const int heads = r.plan.model.heads;
  for (int i = 0; i < static_cast<int>(health.heads.size()); ++i) {
    const HeadHealth& h = health.heads[static_cast<std::size_t>(i)];
    table.add(run.run.name)
        .add(health.step)
        .add(i / heads)
        .add(i % heads)
        .add(in_full(h.delta_bias()))
        .add(in_full(h.query_norm));
    for (const auto& [key, member] : head_counts) table.add(h.statistics.*member);
    table.end_line();
  }
}

}  // namespace

std::string deviation_csv(const TrainRecord& r) {
  CsvText table(head_of("pair,step,tensor", weight_columns, ",loss_difference"));
  for (const PairRecord& pair : r.pairs)
    for (const PairPoint& point : pair.points)
      for (std::size_t t = 0; t < point.deviations.size(); ++t) {
        table.add(pair.pair.name).add(point.step).add(t == 0 ? "all" : r.parameters.tensors[t - 1].name);
        add_numbers(table, point.deviations[t]);
        table.add(in_full(point.loss_difference)).end_line();
      }
  return table.take();
}

std::string seeds_csv(const TrainDrawing& d) {
  CsvText table("seed,run,step,skipped_steps,heldout_loss");
  std::vector<std::shared_ptr<const TrainRecord>> all = d.seeds;
  all.insert(all.begin(), d.record);
  for (const auto& r : all)
    for (const RunRecord& run : r->runs)
      table.add(std::to_string(r->plan.recipe.seed))
          .add(run.run.name)
          .add(r->step)
          .add(skipped_steps(run))
          .add(in_full(run.heldout_loss))
          .end_line();
  return table.take();
}

std::string runs_csv(const TrainRecord& r) {
  CsvText table(head_of("run,step", step_numbers, ",skipped"));
  for (const RunRecord& run : r.runs)
    for (const StepReport& s : run.steps) {
      table.add(run.run.name).add(s.step);
      for (const auto& [key, member] : step_numbers) table.add(in_full(s.*member));
      table.add(s.skipped ? 1 : 0).end_line();
    }
  return table.take();
}

std::string tensors_csv(const TrainRecord& r, int pair, int step) {
  CsvText table(head_of("tensor,rows,cols", weight_columns));
  const PairPoint* const point =
      static_cast<std::size_t>(pair) < r.pairs.size() ? point_at(r.pairs[static_cast<std::size_t>(pair)], step) : nullptr;
  for (std::size_t t = 0; point != nullptr && t < point->deviations.size(); ++t) {
    if (t == 0)
      table.add("all").add("").add("");
    else
      table.add(r.parameters.tensors[t - 1].name).add(r.parameters.tensors[t - 1].rows).add(r.parameters.tensors[t - 1].cols);
    add_numbers(table, point->deviations[t]);
    table.end_line();
  }
  return table.take();
}

std::string heads_csv(const TrainRecord& r, int step) {
  CsvText table(health_head());
  for (const RunRecord& run : r.runs)
    if (const RunHealth* const health = health_at(run, step)) add_health(table, r, run, *health);
  return table.take();
}

std::string health_csv(const TrainRecord& r) {
  CsvText table(health_head());
  for (const RunRecord& run : r.runs)
    for (const RunHealth& health : run.health) add_health(table, r, run, health);
  return table.take();
}

}  // namespace attoscope
