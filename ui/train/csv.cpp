// The numbers of a training record as CSV.
#include "ui/numbers.h"
#include "ui/train/series.h"
#include "ui/train/words.h"

namespace attoscope {

namespace {

/// Lines of cells.
class Table {
 public:
  explicit Table(const char* head) : text_(head) { text_ += '\n'; }
  Table& cell(const std::string& text) {
    const bool quotes = text.find(',') != std::string::npos;
    if (quotes) text_ += '"';
    text_ += text;
    if (quotes) text_ += '"';
    text_ += ',';
    return *this;
  }
  Table& number(double x) { return cell(in_full(x)); }
  Table& count(std::int64_t n) { return cell(std::to_string(n)); }
  void end() { text_.back() = '\n'; }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_numbers(Table& table, const WeightDeviation& d) {
  for (const double x : {d.max_abs, d.wasserstein, d.rel_l2, d.update_cosine, d.directionality}) table.number(x);
}

constexpr const char* health_head =
    "run,step,layer,head,delta_bias,query_norm,rows,tied_rows,weights,saturated,underflowed,lost_dS,overflowed_dS";

void add_health(Table& table, const TrainRecord& r, const RunRecord& run, const RunHealth& health) {
  const int heads = r.plan.model.heads;
  for (int i = 0; i < static_cast<int>(health.heads.size()); ++i) {
    const HeadHealth& h = health.heads[static_cast<std::size_t>(i)];
    table.cell(run.run.name).count(health.step).count(i / heads).count(i % heads).number(h.delta_bias()).number(h.query_norm);
    const HeadCensus& c = h.census;
    for (const std::int64_t n : {c.rows, c.tied_rows, c.weights, c.saturated, c.underflowed, c.lost_dS, c.overflowed_dS})
      table.count(n);
    table.end();
  }
}

}  // namespace

std::string deviation_csv(const TrainRecord& r) {
  Table table("pair,step,tensor,max_abs,wasserstein,rel_l2,update_cosine,directionality,loss_difference");
  for (const PairRecord& pair : r.pairs)
    for (const PairPoint& point : pair.points)
      for (std::size_t t = 0; t < point.deviations.size(); ++t) {
        table.cell(pair.pair.name).count(point.step).cell(t == 0 ? "all" : r.parameters.tensors[t - 1].name);
        add_numbers(table, point.deviations[t]);
        table.number(point.loss_difference).end();
      }
  return std::move(table).text();
}

std::string runs_csv(const TrainRecord& r) {
  Table table("run,step,loss,gradient_norm,rate,loss_scale,skipped");
  for (const RunRecord& run : r.runs)
    for (const StepReport& s : run.steps)
      table.cell(run.run.name)
          .count(s.step)
          .number(s.loss)
          .number(s.gradient_norm)
          .number(s.rate)
          .number(s.loss_scale)
          .count(s.skipped)
          .end();
  return std::move(table).text();
}

std::string tensors_csv(const TrainRecord& r, int pair, int step) {
  Table table("tensor,rows,cols,max_abs,wasserstein,rel_l2,update_cosine,directionality");
  const PairPoint* const point =
      static_cast<std::size_t>(pair) < r.pairs.size() ? point_at(r.pairs[static_cast<std::size_t>(pair)], step) : nullptr;
  for (std::size_t t = 0; point != nullptr && t < point->deviations.size(); ++t) {
    if (t == 0)
      table.cell("all").cell("").cell("");
    else
      table.cell(r.parameters.tensors[t - 1].name)
          .count(r.parameters.tensors[t - 1].rows)
          .count(r.parameters.tensors[t - 1].cols);
    add_numbers(table, point->deviations[t]);
    table.end();
  }
  return std::move(table).text();
}

std::string heads_csv(const TrainRecord& r, int step) {
  Table table(health_head);
  for (const RunRecord& run : r.runs)
    if (const RunHealth* const health = health_at(run, step)) add_health(table, r, run, *health);
  return std::move(table).text();
}

std::string health_csv(const TrainRecord& r) {
  Table table(health_head);
  for (const RunRecord& run : r.runs)
    for (const RunHealth& health : run.health) add_health(table, r, run, health);
  return std::move(table).text();
}

}  // namespace attoscope
