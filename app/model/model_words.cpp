#include "app/model/model_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "app/model/tokenizer.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#include "kernels/model/logit_measures.h"

namespace attoscope::app {
namespace {

/// A measure of a run: its key, its column in the report and in the window's table, and what it is.
struct ReportMeasure {
  const char *key, *column, *meaning;
  double (*of)(const RunMeasures&);
};
constexpr std::array<ReportMeasure, 8> run_measures{
    {{"nll", "loss", "Mean negative log-probability of the targets, nats.", [](const RunMeasures& m) { return m.nll; }},
     {"kl_mean", "KL mean", "Mean of KL(exact || x) over the positions, nats.", [](const RunMeasures& m) { return m.kl_mean; }},
     {"kl_max", "KL max", "The largest of them.", [](const RunMeasures& m) { return m.kl_max; }},
     {"top1_flips", "flips", "Positions whose likeliest token differs.",
      [](const RunMeasures& m) { return double(m.top1_flips); }},
     {"dlogp_mean_abs", "|d log p|", "Mean |difference of the targets' log-probabilities|, nats.",
      [](const RunMeasures& m) { return m.dlogp_mean_abs; }},
     {"dlogp_median_abs", "median", "The median of them.", [](const RunMeasures& m) { return m.dlogp_median_abs; }},
     {"dlogp_max_abs", "max", "The largest of them.", [](const RunMeasures& m) { return m.dlogp_max_abs; }},
     {"mean_exp_abs_dlogp", "mean exp", "Mean of exp |difference of log p|: the gate of reinforcement learning.",
      [](const RunMeasures& m) { return m.mean_exp_abs_dlogp; }}}};

Json run_json(const RunMeasures& m) {
  Json json;
  for (const ReportMeasure& x : run_measures) json[x.key] = number_json(x.of(m));
  json["top1_flips"] = m.top1_flips;
  return json;
}

Json place_json(const ModelShare& s) {
  Json json{{"layer", nullptr}, {"head", nullptr}, {"step", nullptr}, {"share", number_json(s.share)}};
  if (s.layer >= 0) json["layer"] = s.layer;
  if (s.head >= 0) json["head"] = s.head;
  if (!s.step.empty()) json["step"] = s.step;
  return json;
}

std::string place_text(const ModelShare& s) {
  if (!s.step.empty()) return "step " + s.step;
  return s.head < 0 ? fmt::format("layer {}", s.layer) : fmt::format("layer {} head {}", s.layer, s.head);
}

/// x for the report: a NaN without the sign that would be printed.
double shown(double x) { return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; }

std::string run_line(const char* name, const RunMeasures& m) {
  std::string line = fmt::format("{:<18}", name);
  for (const ReportMeasure& x : run_measures) line += fmt::format(" {:>10.4g}", shown(x.of(m)));
  return line + "\n";
}

/// A row of the window's table; exact has only the loss and the perplexity.
std::vector<TableCell> run_row(const std::string& name, const RunMeasures& m, bool is_exact) {
  std::vector<TableCell> row{name, m.nll, std::exp(m.nll)};
  for (std::size_t i = 1; i < run_measures.size(); ++i) row.push_back(is_exact ? TableCell() : run_measures[i].of(m));
  return row;
}

}  // namespace

std::vector<std::size_t> most_moved(const ModelAnswer& x, std::size_t most) {
  std::vector<std::size_t> order(x.dlogp_a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return size_of_difference(x.dlogp_a[i]); });
  order.resize(std::min(order.size(), most));
  return order;
}

std::vector<MovedToken> tokens_that_move_most(const ModelQuestion& q, const ModelAnswer& x, const std::string& checkpoint) {
  std::vector<MovedToken> moved;
  for (const std::size_t i : most_moved(x, 10))
    moved.push_back(
        {static_cast<int>(i) + 1, q.tokens[i + 1], "", x.tokens[0].logp[i], x.tokens[1].logp[i], x.tokens[2].logp[i]});
  try {
    const std::vector<std::string> texts = read_tokenizer(checkpoint).texts();
    for (MovedToken& m : moved)
      if (static_cast<std::size_t>(m.id) < texts.size()) m.text = texts[static_cast<std::size_t>(m.id)];
  } catch (const std::runtime_error&) {  // a model need not have a known tokenizer
  }
  return moved;
}

std::string method_name(const Method& m) {
  const std::string_view policy = policy_name(m.precision, m.algorithm);
  return std::string(name(m.algorithm)) + (policy.empty() ? "" : " " + std::string(policy));
}

ModelPlace parse_place(const std::string& label, const std::string& text) {
  if (text.empty()) return {};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view all = text;
  const auto layer = to_number<int>(all.substr(0, colon));
  const auto head = colon == text.size() ? std::optional(-1) : to_number<int>(all.substr(colon + 1));
  if (!layer || !head || *layer < 0 || (colon < text.size() && *head < 0))
    refuse(label, text, "L or L:H, a layer and a head of it, from 0 on");
  return {*layer, *head};
}

std::string model_conclusion(const ModelQuestion& q, const ModelAnswer& x, const std::string& a_name) {
  std::string text = fmt::format("{} moves the median token by {:.2g} nats", a_name, x.a.dlogp_median_abs);
  if (q.yardsticks) text += fmt::format(", bf16 everywhere by {:.2g}", x.bf16.dlogp_median_abs);
  if (x.attribution.empty()) return text + ".";
  const ModelShare& first = x.attribution.front();
  if (std::isnan(first.share)) return text + "; the mean is not finite, whichever of them does not round.";
  if (!std::isfinite(x.a.dlogp_mean_abs) && first.share > 0)
    return text + fmt::format("; without the rounding of {} the mean is finite.", place_text(first));
  if (first.share > 0)
    return text +
           fmt::format("; without the rounding of {} the mean is {:.0f} % smaller.", place_text(first), 100 * first.share);
  return text + "; without the rounding of any one of them the mean is no smaller.";
}

std::string run_times(const ModelAnswer& x) {
  return fmt::format("exact {:.2g} s, a {:.2g} s, b {:.2g} s", x.seconds[0], x.seconds[1], x.seconds[2]);
}

Table runs_table(const ModelQuestion& q, const ModelAnswer& x, const std::string& a, const std::string& b) {
  Table table{.columns = {{.key = "run",
                           .meaning = a + " and " + b + " differ from exact in attention and in what was chosen around it."}},
              .rows = {}};
  for (const ReportMeasure& m : run_measures) {
    table.columns.push_back(
        {.key = m.key, .title = m.column, .digits = 3, .meaning = m.meaning, .minor = m.key == std::string_view("kl_max")});
    if (table.columns.size() == 2) {
      table.columns.push_back({.key = "perplexity", .digits = 4, .meaning = "exp of the loss."});
      table.columns[1].digits = 5;
    }
  }
  table.rows = {run_row("exact", {.nll = x.exact_nll}, true), run_row(a, x.a, false), run_row(b, x.b, false),
                run_row(b + " against " + a, x.a_b, false)};
  if (!q.yardsticks) return table;
  table.rows.push_back(run_row("bf16 everywhere", x.bf16, false));
  table.rows.push_back(run_row("bf16, other order, against it", x.order, false));
  return table;
}

Json model_json(const ModelQuestion& q, const ModelAnswer& x, const std::string& a_name, const std::vector<MovedToken>& moved) {
  Json layers = Json::array(), attribution = Json::array();
  for (std::size_t l = 0; l < x.layers.size(); ++l)
    layers.push_back({{"layer", l},
                      {"a", {{"hidden_rel_rms", number_json(x.layers[l].a)}}},
                      {"b", {{"hidden_rel_rms", number_json(x.layers[l].b)}}}});
  for (const ModelShare& s : x.attribution) attribution.push_back(place_json(s));
  Json json;
  json["schema"] = "attoscope.model/1";
  json["sentence"] = model_conclusion(q, x, a_name);
  json["tokens"] = q.tokens.size();
  json["parameters"] = parameters(*q.model);
  json["exact"] = {{"nll", number_json(x.exact_nll)}};
  json["a"] = run_json(x.a);
  json["b"] = run_json(x.b);
  json["a_b"] = run_json(x.a_b);
  json["yardsticks"] = {{"bf16", run_json(x.bf16)}, {"order", run_json(x.order)}};
  json["layers"] = std::move(layers);
  json["attribution"] = std::move(attribution);
  json["tokens_most"] = Json::array();
  for (const MovedToken& t : moved)
    json["tokens_most"].push_back({{"position", t.position},
                                   {"id", t.id},
                                   {"text", t.text.empty() ? Json(nullptr) : Json(json_string(t.text))},
                                   {"exact", number_json(t.exact)},
                                   {"a", number_json(t.a)},
                                   {"b", number_json(t.b)}});
  json["first_difference"] = nullptr;
  return json;
}

std::string model_report(const ModelQuestion& q, const ModelAnswer& x, const std::string& a_name,
                         const std::vector<MovedToken>& moved) {
  std::string text = model_conclusion(q, x, a_name) + "\n";
  text += fmt::format("{} tokens, {} parameters; exact: loss {:.6g} nats, perplexity {:.6g}\n\n{:<18}", q.tokens.size(),
                      parameters(*q.model), x.exact_nll, std::exp(x.exact_nll), "");
  for (const ReportMeasure& m : run_measures) text += fmt::format(" {:>10}", m.column);
  text += "\n" + run_line("a", x.a) + run_line("b", x.b) + run_line("b against a", x.a_b);
  text += run_line("bf16 everywhere", x.bf16) + run_line("order, of bf16", x.order);
  if (const auto lost = std::ranges::count_if(x.dlogp_a, [](double d) { return std::isnan(d); }))
    text += fmt::format("\n{} of {} tokens have no number under a: each counts as infinitely far\n", lost, x.dlogp_a.size());
  text += "\ntime of the layers and logits: " + run_times(x) + "\n";
  text += "\nrelative RMS of the hidden state's difference after each layer\n";
  for (std::size_t l = 0; l < x.layers.size(); ++l)
    text += fmt::format("layer {:>3}  a {:>10.3g}  b {:>10.3g}\n", l, shown(x.layers[l].a), shown(x.layers[l].b));
  if (!x.attribution.empty()) text += "\npart of |d log p| of a that goes away if that part is exact\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(x.attribution.size(), 20); ++i)
    text += fmt::format("{:<22} {:>7.2f} %\n", place_text(x.attribution[i]), 100 * shown(x.attribution[i].share));
  text += "\ntokens that a moves most: log-probability, exact, a, b\n";
  for (const MovedToken& t : moved)
    text += fmt::format("{:>6} {:<20} {:>10.5g} {:>10.5g} {:>10.5g}\n", t.position,
                        t.text.empty() ? std::to_string(t.id) : in_quotes(t.text), shown(t.exact), shown(t.a), shown(t.b));
  return text;
}

}  // namespace attoscope::app
