#include "app/model/model_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "app/model/tokenizer.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

/// A measure of a run: its key and its column in the report.
struct RunMeasure {
  const char *key, *column;
  double (*of)(const RunMeasures&);
};
constexpr std::array<RunMeasure, 8> run_measures{
    {{"nll", "loss", [](const RunMeasures& m) { return m.nll; }},
     {"kl_mean", "KL mean", [](const RunMeasures& m) { return m.kl_mean; }},
     {"kl_max", "KL max", [](const RunMeasures& m) { return m.kl_max; }},
     {"top1_flips", "flips", [](const RunMeasures& m) { return double(m.top1_flips); }},
     {"dlogp_mean_abs", "|d log p|", [](const RunMeasures& m) { return m.dlogp_mean_abs; }},
     {"dlogp_median_abs", "median", [](const RunMeasures& m) { return m.dlogp_median_abs; }},
     {"dlogp_max_abs", "max", [](const RunMeasures& m) { return m.dlogp_max_abs; }},
     {"mean_exp_abs_dlogp", "mean exp", [](const RunMeasures& m) { return m.mean_exp_abs_dlogp; }}}};

Json run_json(const RunMeasures& m) {
  Json json;
  for (const RunMeasure& x : run_measures) json[x.key] = number_json(x.of(m));
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

/// "flash2 hw moves the median token by 0.0004 nats, bf16 everywhere by 0.012; layer 7 contributes 50 % of a's mean."
std::string conclusion(const ModelAnswer& x, const std::string& a_name) {
  std::string text = fmt::format("{} moves the median token by {:.2g} nats, bf16 everywhere by {:.2g}", a_name,
                                 x.a.dlogp_median_abs, x.bf16.dlogp_median_abs);
  if (!x.attribution.empty())
    text += fmt::format("; without the rounding of {} the mean is {:.0f} % smaller", place_text(x.attribution.front()),
                        100 * x.attribution.front().share);
  return text + ".\n";
}

std::string run_line(const char* name, const RunMeasures& m) {
  std::string line = fmt::format("{:<18}", name);
  for (const RunMeasure& x : run_measures) line += fmt::format(" {:>10.4g}", x.of(m));
  return line + "\n";
}

}  // namespace

std::vector<MovedToken> tokens_that_move_most(const ModelQuestion& q, const ModelAnswer& x, const std::string& checkpoint) {
  constexpr std::size_t most = 10;
  std::vector<std::size_t> order(x.dlogp_a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return std::fabs(x.dlogp_a[i]); });
  order.resize(std::min(order.size(), most));
  std::vector<MovedToken> moved;
  std::vector<int> ids;
  for (const std::size_t i : order) {
    ids.push_back(q.tokens[i + 1]);
    moved.push_back({static_cast<int>(i) + 1, ids.back(), "", x.logp_exact[i], x.logp_exact[i] + x.dlogp_a[i], x.logp_b[i]});
  }
  try {
    const std::vector<std::string> texts = read_tokenizer(checkpoint).texts(ids);
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i].text = texts[i];
  } catch (const std::runtime_error&) {  // models may come without a tokenizer that is known here
  }
  return moved;
}

Json model_json(const ModelQuestion& q, const ModelAnswer& x, const std::vector<MovedToken>& moved) {
  Json layers = Json::array(), attribution = Json::array();
  for (std::size_t l = 0; l < x.layers.size(); ++l)
    layers.push_back({{"layer", l},
                      {"a", {{"hidden_rel_rms", number_json(x.layers[l].a)}}},
                      {"b", {{"hidden_rel_rms", number_json(x.layers[l].b)}}}});
  for (const ModelShare& s : x.attribution) attribution.push_back(place_json(s));
  Json json;
  json["schema"] = "attoscope.model/1";
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
  std::string text = conclusion(x, a_name);
  text += fmt::format("{} tokens, {} parameters; exact: loss {:.6g} nats, perplexity {:.6g}\n\n{:<18}", q.tokens.size(),
                      parameters(*q.model), x.exact_nll, std::exp(x.exact_nll), "");
  for (const RunMeasure& m : run_measures) text += fmt::format(" {:>10}", m.column);
  text += "\n" + run_line("a", x.a) + run_line("b", x.b) + run_line("b against a", x.a_b);
  text += run_line("bf16 everywhere", x.bf16) + run_line("order, of bf16", x.order);
  text += "\nrelative RMS of the hidden state's difference after each layer\n";
  for (std::size_t l = 0; l < x.layers.size(); ++l)
    text += fmt::format("layer {:>3}  a {:>10.3g}  b {:>10.3g}\n", l, x.layers[l].a, x.layers[l].b);
  if (!x.attribution.empty()) text += "\npart of |d log p| of a that goes away where a is exact\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(x.attribution.size(), 20); ++i)
    text += fmt::format("{:<22} {:>7.2f} %\n", place_text(x.attribution[i]), 100 * x.attribution[i].share);
  text += "\ntokens that a moves most: log-probability, exact, a, b\n";
  for (const MovedToken& t : moved)
    text += fmt::format("{:>6} {:<20} {:>10.5g} {:>10.5g} {:>10.5g}\n", t.position,
                        t.text.empty() ? std::to_string(t.id) : in_quotes(t.text), t.exact, t.a, t.b);
  return text;
}

}  // namespace attoscope
