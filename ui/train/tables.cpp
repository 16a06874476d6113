// Tables at the picked step: seeds, the deviation left without each suspect, tensors, heads. Replay: the direct effect of a
// step, and added up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>

#include "kernels/experiment/csv_text.h"
#include "ui/frame/pair_look.h"
#include "ui/train/panels.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr float row_height = 18;

/// Draws a table under its title, `height` high in all; the button that saves its picture also saves `csv`. Returns the clicked
/// row.
std::optional<std::size_t> draw_titled(const TrainScene& s, const char* name, const std::string& title, float height,
                                       const Table& table, const TableLook& look, const std::function<std::string()>& csv) {
  constexpr float title_height = 20;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  draw_fitted(at, Face::label, colours().text, title, width);
  ImGui::SetCursorScreenPos({at.x, at.y + px(title_height)});
  std::optional<std::size_t> clicked;
  if (ImGui::BeginChild(name, {width, height - px(title_height)}, ImGuiChildFlags_NavFlattened))
    clicked = draw_table(name, table, look);
  ImGui::EndChild();
  offer_export({Plot::window, name, at, {at.x + width, at.y + height}, csv}, s.session.view, s.requests);
  return clicked;
}

/// A line with a name and a number.
void draw_number(const char* name, const std::string& number, const char* what, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(name, {width, px(row_height)});
  explain(what);
  draw_text({at.x, at.y + px(2)}, Face::label, colours().secondary, name);
  draw_text({at.x + width, at.y + px(3)}, Face::mono_small, colours().text, number, 1);
}

/// The numbers of all tensors together, then of each.
Table tensors_table(const TrainRecord& r, const PairPoint* point) {
  constexpr std::array<const char*, shown_weight_numbers> titles{"max", "W1", "rel. L2", "cos", "direct."};
  Table table;
  table.columns.push_back({.key = "tensor", .meaning = "A tensor of the model; all: over all of them."});
  for (std::size_t i = 0; i < titles.size(); ++i)
    table.columns.push_back({.key = std::string(weight_numbers[i].first),
                             .title = titles[i],
                             .digits = i < 3 ? 2 : 3,
                             .meaning = text_of(static_cast<TrainMeasure>(i)).what});
  for (std::size_t t = 0; point != nullptr && t < std::min(point->deviations.size(), r.parameters.tensors.size() + 1); ++t) {
    auto& row = table.rows.emplace_back(1, t == 0 ? "all" : short_name(r.parameters.tensors[t - 1]));
    for (std::size_t i = 0; i < titles.size(); ++i) row.push_back(point->deviations[t].*weight_numbers[i].second);
  }
  return table;
}

/// A number of a head: its key, name and explanation.
struct HeadColumn {
  const char *key, *title, *what;
  double (*of)(const HeadHealth&);
};
constexpr std::array<HeadColumn, 6> head_columns{{
    {"delta_bias", "δ bias",
     "Signed mean error of delta as a share of the mean |delta|: one-sided errors add up over steps (arXiv 2510.04212).",
     [](const HeadHealth& h) { return h.delta_bias(); }},
    {"query_norm", "‖W_Q‖", "Spectral norm of the head's W_Q.", [](const HeadHealth& h) { return h.query_norm; }},
    {"ties", "", "Share of the rows whose largest score belongs to several keys.",
     [](const HeadHealth& h) { return measure_of(h, RunMeasure::ties); }},
    {"saturated", "sat.", "Share of scores and P beyond the largest number of their format, infinite or NaN.",
     [](const HeadHealth& h) { return measure_of(h, RunMeasure::saturated); }},
    {"underflowed", "under.", "Share of the weights above 0 that round to P = 0.",
     [](const HeadHealth& h) { return measure_of(h, RunMeasure::underflowed); }},
    {"lost_dS", "lost dS", "Share of dS that rounds to 0 though P (dP - delta) is not.",
     [](const HeadHealth& h) {
       return static_cast<double>(h.statistics.lost_dS) / static_cast<double>(std::max<std::int64_t>(1, h.statistics.weights));
     }},
}};

/// Two rows for every head: the numbers of a, and of b.
Table heads_table(const TrainRecord& r, int step) {
  Table table;
  table.columns = {{.key = "head", .meaning = "Layer and head."}, {.key = "of", .meaning = "The model, by its method."}};
  for (const HeadColumn& c : head_columns)
    table.columns.push_back({.key = c.key, .title = c.title, .digits = 2, .meaning = c.what});
  const std::array names{named(r.plan, "a"), named(r.plan, "b")};
  const int heads = r.plan.model.heads;
  for (int i = 0; i < r.plan.model.layers * heads; ++i)
    for (std::size_t run = 0; run < std::min(names.size(), r.runs.size()); ++run) {
      const RunHealth* const health = health_at(r.runs[run], step);
      if (health == nullptr || static_cast<std::size_t>(i) >= health->heads.size()) continue;
      auto& row = table.rows.emplace_back(1, fmt::format("{}.{}", i / heads, i % heads));
      row.push_back(names[run]);
      for (const HeadColumn& c : head_columns) row.push_back(c.of(health->heads[static_cast<std::size_t>(i)]));
    }
  return table;
}

/// A menu of the trained models.
void pick_run(const TrainScene& s, float width) {
  const TrainRecord& r = *s.record();
  const auto shown = std::min(r.runs.size() - 1, static_cast<std::size_t>(s.look().run));
  const WithField f(Face::label, 22);
  if (!begin_combo("##run", named(r.plan, r.runs[shown].run.name), width))
    return explain("The model whose Q, K, V are opened.");
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    if (ImGui::Selectable((named(r.plan, r.runs[i].run.name) + "###run " + std::to_string(i)).c_str(), i == shown))
      s.look().run = static_cast<int>(i);
    explain("The model with this name.");
  }
  ImGui::EndCombo();
}

/// The header of a table: `first`, then the names of numbers, then `last`.
template <class Numbers>
std::string header_of(std::string first, const Numbers& numbers, std::string_view last = "") {
  for (const auto& [key, member] : numbers) first.append(",").append(key);
  return first.append(last);
}

constexpr std::span weight_columns = std::span(weight_numbers).first<shown_weight_numbers>();

void add_numbers(CsvText& table, const WeightDeviation& d) {
  for (const auto& [key, member] : weight_columns) table.add(in_full(d.*member));
}

std::string health_header() { return header_of("run,step,layer,head,delta_bias,query_norm", head_counts); }

void add_health(CsvText& table, const TrainRecord& r, const RunRecord& run, const RunHealth& health) {
  const int heads = r.plan.model.heads;
  for (int i = 0; i < static_cast<int>(health.heads.size()); ++i) {
    const HeadHealth& h = health.heads[static_cast<std::size_t>(i)];
    table.add(run.run.name).add(health.step).add(i / heads).add(i % heads);
    table.add(in_full(h.delta_bias())).add(in_full(h.query_norm));
    for (const auto& [key, member] : head_counts) table.add(h.statistics.*member);
    table.end_line();
  }
}

}  // namespace

void draw_train_suspects(const TrainScene& s, float height) {
  const TrainRecord& r = *s.record();
  const TrainMeasure measure = is_size(s.look().measure) ? s.look().measure : TrainMeasure::rel_l2;
  const std::vector<RankedSuspect> ranked = ranked_suspects(r, measure, s.look().tensor, s.look().step);
  const bool a_stopped = !r.runs[0].stopped.empty();
  double longest = 1.25;
  for (const RankedSuspect& x : ranked)
    if (std::isfinite(x.share)) longest = std::max(longest, std::min(x.share, 4.0));
  const std::string what = text_of(measure).title + named(r.plan, " of (a with the piece exact) − b over that of a − b.");
  Table table{{{.key = "piece", .meaning = named(r.plan, "The piece of a that is exact.")},
               {.key = "left", .title = "what is left", .digits = 3, .meaning = what}},
              {}};
  if (a_stopped)
    table.columns.push_back({.key = "goes on", .meaning = named(r.plan, "yes: this run goes on after a stopped.")});
  for (const RankedSuspect& x : ranked) {
    const std::string& name = r.pairs[x.pair].pair.name;
    auto& row = table.rows.emplace_back(1, name.substr(0, name.rfind(" exact")));
    row.push_back(std::isfinite(x.share) ? TableCell(x.share) : TableCell());
    if (a_stopped) row.push_back(x.lives ? "yes" : "no");
  }
  const auto row = [&](std::size_t i) {
    const PairRecord& pair = r.pairs[ranked[i].pair];
    return TableRow{.id = "suspect " + pair.pair.name,
                    .meaning = pair.pair.name + ": a click shows its weights. The bar is what is left.",
                    .chosen = s.look().pair == static_cast<int>(ranked[i].pair),
                    .mark = ink_colour(pair_ink(pair.pair, ranked[i].pair))};
  };
  const auto bar = [&](std::size_t i, std::size_t column) {
    return column == 1 && std::isfinite(ranked[i].share) ? static_cast<float>(std::clamp(ranked[i].share / longest, 0.0, 1.0))
                                                         : -1.0f;
  };
  if (const auto clicked = draw_titled(s, "suspects", "Drift left with each piece exact", height, table,
                                       {.row = row, .bar = bar}, [&] { return deviation_csv(r); }))
    s.look().pair = static_cast<int>(ranked[*clicked].pair);
}

void draw_train_replay(const TrainScene& s) {
  const TrainRecord& r = *s.record();
  const TrainMeasure measure = is_size(s.look().measure) ? s.look().measure : TrainMeasure::rel_l2;
  const float width = ImGui::GetContentRegionAvail().x - px(10);
  double sum = 0, squares = 0, newest = 0;
  std::size_t count = 0;
  if (!r.pairs.empty())
    for (const PairPoint& p : r.pairs[0].points) {
      if (s.look().step >= 0 && p.step > s.look().step) break;
      newest = measure_of(p, measure, s.look().tensor);
      sum += newest;
      squares += newest * newest;
      ++count;
    }
  const WithSpacing spacing({0, 0});
  label(Face::label, colours().text, std::string("Direct effect, ") + text_of(measure).title);
  ImGui::Dummy({0, px(4)});
  const auto number = [&](double x) { return count > 0 ? scientific(x, 3) : "–"; };
  draw_number("of this step", number(newest),
              named(r.plan, "The distance between one step by a and one step by b from the same state.").c_str(), width);
  draw_number("mean of a step", number(sum / static_cast<double>(count)), "Over the measured steps so far.", width);
  draw_number("added up", number(sum),
              "The sum if all measured steps had one direction: an upper bound of their direct effects.", width);
  draw_number("added up at random", number(std::sqrt(squares)),
              "The sum if the measured steps had random directions: the root of the sum of squares.", width);
}

void draw_train_seeds(const TrainScene& s, float height) {
  std::vector<const TrainRecord*> all{s.record()};
  for (const auto& further : s.state.drawing.seeds) all.push_back(further.get());
  const std::string a = named(s.record()->plan, "a"), b = named(s.record()->plan, "b");
  Table table{{{.key = "seed", .meaning = "The seed of weights and batches."},
               {.key = "skipped a", .title = "skipped " + a, .meaning = "Steps that " + a + " skipped."},
               {.key = "skipped b", .title = b, .meaning = "Steps that " + b + " skipped."},
               {.key = "held-out a", .title = "held-out " + a, .meaning = "Loss of " + a + " on text kept out of training."},
               {.key = "held-out b", .title = b, .meaning = "Loss of " + b + " on text kept out of training."}},
              {}};
  for (const TrainRecord* const r : all) {
    auto& row = table.rows.emplace_back(1, std::to_string(r->plan.recipe.seed));
    for (const std::string& cell : seed_cells(*r)) row.push_back(cell);
  }
  const auto row = [&](std::size_t i) {
    const std::string seed = std::to_string(all[i]->plan.recipe.seed);
    return TableRow{.id = "seed " + seed,
                    .meaning = "Seed " + seed + ": " + runs_text(*all[i]) + ".",
                    .formula = "loss = -mean log P(next character)"};
  };
  draw_titled(s, "seeds", "Seeds", height, table, {.row = row}, [&] { return seeds_csv(s.state.drawing); });
}

void draw_train_tensors(const TrainScene& s, float height) {
  const TrainRecord& r = *s.record();
  const PairRecord* const pair = pair_of(r, s.look());
  const PairPoint* const point = pair != nullptr ? point_at(*pair, s.look().step) : nullptr;
  std::string title = pair != nullptr ? named(r.plan, pair->pair.name) : "Weights";
  if (point != nullptr) title += fmt::format(", step {}", point->step);
  const auto row = [&](std::size_t i) {
    const ParameterTensor* const t = i > 0 ? &r.parameters.tensors[i - 1] : nullptr;
    return TableRow{.id = "tensor " + (t != nullptr ? t->name : "all"),
                    .meaning = t != nullptr ? t->name + fmt::format(", {} × {}. A click shows its curves and its picture.",
                                                                    t->rows, t->cols)
                                            : "Over all tensors. A click shows their curves and picture.",
                    .chosen = s.look().tensor == static_cast<int>(i) - 1};
  };
  if (const auto clicked = draw_titled(s, "tensors", title, height, tensors_table(r, point), {.row = row},
                                       [&] { return tensors_csv(r, s.look().pair, s.look().step); }))
    s.look().tensor = static_cast<int>(*clicked) - 1;
}

void draw_train_heads(const TrainScene& s, float height) {
  const TrainRecord& r = *s.record();
  const Table table = heads_table(r, s.look().step);
  const auto place = [&](std::size_t i) {
    const std::string& name = std::get<std::string>(table.rows[i][0]);
    return std::pair{std::stoi(name), std::stoi(name.substr(name.find('.') + 1))};
  };
  const auto row = [&, a = named(r.plan, "a")](std::size_t i) {
    const auto [layer, head] = place(i);
    const bool of_a = std::get<std::string>(table.rows[i][1]) == a;
    return TableRow{.id = fmt::format("layer {} head {}{}", layer, head, of_a ? "" : " of b"),
                    .meaning = fmt::format("Layer {}, head {}. A click chooses it for the curves of the runs, and for Explore.",
                                           layer, head),
                    .chosen = s.look().layer == layer && s.look().head == head,
                    .mark = of_a ? colours().a : colours().b};
  };
  if (const auto clicked =
          draw_titled(s, "heads", "Heads", height, table, {.row = row}, [&] { return heads_csv(r, s.look().step); })) {
    std::tie(s.look().layer, s.look().head) = place(*clicked);
    s.look().worst = false;
  }
}

void draw_train_explore(const TrainScene& s) {
  const TrainRecord& r = *s.record();
  if (r.runs.empty()) return;
  const float width = ImGui::GetContentRegionAvail().x, run = px(84), place = px(76);
  TrainLook& look = s.look();
  const int layer = std::min(look.layer, r.plan.model.layers - 1), head = std::min(look.head, r.plan.model.heads - 1),
            sequence = std::min(look.sequence, r.plan.recipe.batch - 1);
  pick_run(s, run);
  const ImVec2 at{ImGui::GetItemRectMax().x + px(10), ImGui::GetItemRectMin().y};
  draw_in_line(at, px(22), Face::mono_small, colours().text, fmt::format("head {}.{}", layer, head));
  ImGui::SetCursorScreenPos({at.x + place, at.y - px(1)});
  draw_in_line({at.x + place, at.y}, px(22), Face::label, colours().secondary, "sequence");
  const float left = place + text_width(Face::label, "sequence") + px(8);
  ImGui::SetCursorScreenPos({at.x + left, at.y - px(1)});
  whole_field("##sequence", look.sequence, 0, std::max(0, r.plan.recipe.batch - 1), (width - run - px(10) - left) / px(1));
  explain("The sequence in the step's batch.");
  const int step = look.step >= 0 ? look.step : r.step;
  if (push_button(fmt::format("open its Q, K, V of step {} in Explore###open head", step).c_str(), false, {width, 0}))
    s.requests.train = {.act = TrainRequest::Act::explore,
                        .step = step,
                        .run = std::min(look.run, static_cast<int>(r.runs.size()) - 1),
                        .layer = layer,
                        .head = head,
                        .sequence = sequence};
  explain(
      "The input of this head in the batch after the selected step: rounded inputs and a causal mask, with the methods of the "
      "training. States in between are trained again from the last kept one, with the same bits.");
}

std::string deviation_csv(const TrainRecord& r) {
  CsvText table(header_of("pair,step,tensor", weight_columns, ",loss_difference"));
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
    for (const RunRecord& run : r->runs) {
      table.add(std::to_string(r->plan.recipe.seed)).add(run.run.name).add(r->step);
      table.add(skipped_steps(run)).add(in_full(run.heldout_loss)).end_line();
    }
  return table.take();
}

std::string runs_csv(const TrainRecord& r) {
  CsvText table(header_of("run,step", step_numbers, ",skipped"));
  for (const RunRecord& run : r.runs)
    for (const StepReport& s : run.steps) {
      table.add(run.run.name).add(s.step);
      for (const auto& [key, member] : step_numbers) table.add(in_full(s.*member));
      table.add(s.skipped ? 1 : 0).end_line();
    }
  return table.take();
}

std::string tensors_csv(const TrainRecord& r, int pair, int step) {
  CsvText table(header_of("tensor,rows,cols", weight_columns));
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
  CsvText table(health_header());
  for (const RunRecord& run : r.runs)
    if (const RunHealth* const health = health_at(run, step)) add_health(table, r, run, *health);
  return table.take();
}

std::string health_csv(const TrainRecord& r) {
  CsvText table(health_header());
  for (const RunRecord& run : r.runs)
    for (const RunHealth& health : run.health) add_health(table, r, run, health);
  return table.take();
}

}  // namespace attoscope::ui
