#include "app/sweep/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "app/field_setter.h"
#include "app/run_command.h"
#include "app/tensors.h"

namespace attoscope {
namespace {

using Set = void (*)(Experiment&, std::string_view key, const std::string& value);

std::string label_of(std::string_view key) { return "vary " + std::string(key); }

/// Sets the field of the problem that is called `key`.
void set_of_problem(Experiment& e, std::string_view key, const std::string& value) {
  FieldSetter setter(label_of(key), key, value);
  visit_problem(setter, e.problem);
}
/// Sets the field of method a that is called `key`.
void set_of_a(Experiment& e, std::string_view key, const std::string& value) {
  FieldSetter setter(label_of(key), key, value);
  visit_method(setter, e.a);
}
void set_of_both(Experiment& e, std::string_view key, const std::string& value) {
  for (Method* m : {&e.a, &e.b}) {
    FieldSetter setter(label_of(key), key, value);
    visit_method(setter, *m);
  }
}

/// Another main format; a tau that is the usual one follows it.
void set_main(Experiment& e, const Format& format) {
  for (Method* m : {&e.a, &e.b})
    if (m->tau == usual_tau(e.format)) m->tau = usual_tau(format);
  e.format = format;
}
void set_format(Experiment& e, std::string_view, const std::string& value) { set_main(e, parse_format(value)); }
void set_bits(Experiment& e, std::string_view key, const std::string& value) {
  Format f = e.format;
  const bool mantissa = key == "mantissa_bits";
  (mantissa ? f.mantissa_bits : f.exponent_bits) =
      whole_number(label_of(key), value, mantissa ? 0 : min_exponent_bits, mantissa ? max_mantissa_bits : max_exponent_bits);
  set_main(e, f);
}

void set_input(Experiment& e, std::string_view, const std::string& value) {
  Input input = parse_input(value);
  if (input.file == e.problem.input.file)
    input.tensors = e.problem.input.index == input.index ? e.problem.input.tensors : nullptr;
  e.problem.input = input;
}
void set_head(Experiment& e, std::string_view key, const std::string& value) {
  Input& input = e.problem.input;
  if (input.kind != InputKind::tensors) refuse(label_of(key), value, "an input that is a file of tensors");
  const int index = whole_number(label_of(key), value, 0, INT_MAX);
  if (index == input.index) return;
  input.index = index;
  input.tensors.reset();
}
void set_mask(Experiment& e, std::string_view, const std::string& value) { e.problem.mask = parse_mask(value); }
void set_scale(Experiment& e, std::string_view key, const std::string& value) {
  set_of_problem(e, key, value == "auto" ? "0" : value);
}

void set_tile(Experiment& e, int block_q, int block_k) {
  for (Method* m : {&e.a, &e.b}) {
    m->block_q = block_q;
    m->block_k = block_k;
  }
}
/// "64" or "16x256": rows of queries x keys.
void set_tile_text(Experiment& e, std::string_view key, const std::string& value) {
  const std::size_t x = value.find('x');
  const int rows = whole_number(label_of(key), std::string_view(value).substr(0, x), 1, max_tile);
  set_tile(e, rows,
           x == std::string::npos ? rows : whole_number(label_of(key), std::string_view(value).substr(x + 1), 1, max_tile));
}
/// As many scores a tile, in the experiment's block_q rows.
void set_tile_area(Experiment& e, std::string_view key, const std::string& value) {
  const int area = whole_number(label_of(key), value, 1, max_tile);
  set_tile(e, e.a.block_q, std::max(1, area / e.a.block_q));
}
void set_tile_order(Experiment& e, std::string_view key, const std::string& value) {
  if (value != "natural" && value != "swapped") refuse(label_of(key), value, "natural or swapped");
  if (value == "swapped") set_tile(e, e.a.block_k, e.a.block_q);
}

/// Another kind of algorithm brings its usual policy along.
void set_algorithm(Experiment& e, std::string_view key, const std::string& value) {
  const bool was_baseline = e.a.algorithm == Algorithm::three_pass;
  set_of_a(e, key, value);
  const bool is_baseline = e.a.algorithm == Algorithm::three_pass;
  if (is_baseline != was_baseline) e.a.precision = policy(is_baseline ? "base_eager" : "hw").precision;
}
/// A policy, and with it its kind of algorithm where a's is of the other kind.
void set_policy(Experiment& e, std::string_view, const std::string& value) {
  const Policy& p = policy(value);
  if ((p.algorithm == Algorithm::three_pass) != (e.a.algorithm == Algorithm::three_pass)) e.a.algorithm = p.algorithm;
  e.a.precision = p.precision;
}
void set_baseline(Experiment& e, std::string_view, const std::string& value) {
  const Policy& p = policy(value);
  e.b.algorithm = p.algorithm;
  e.b.precision = p.precision;
}

struct Entry {
  AxisKey about;
  Set set;
};
/// In the order in which they are set.
constexpr std::array<Entry, 26> entries{{
    {{"format", "main format", "bf16, fp16, e5m7, ...", false, true}, set_format},
    {{"mantissa_bits", "mantissa bits", "of the main format", true, true}, set_bits},
    {{"exponent_bits", "exponent bits", "of the main format", true, true}, set_bits},
    {{"n", "N", "tokens", true, true}, set_of_problem},
    {{"d", "d", "head dimension", true, true}, set_of_problem},
    {{"input", "input", "Q, K, V as --input says", false, true}, set_input},
    {{"seed", "seed", "of the random inputs", true, true}, set_of_problem},
    {{"head", "head", "of a file of tensors", true, true}, set_head},
    {{"scale", "scale", "of the scores, or auto", true, true}, set_scale},
    {{"mask", "mask", "none, causal, window:W, padding:W", false, true}, set_mask},
    {{"sink", "sink", "one extra logit", true, true}, set_of_problem},
    {{"softcap", "softcap", "of the scores", true, true}, set_of_problem},
    {{"alibi", "ALiBi slope", "of the scores", true, true}, set_of_problem},
    {{"block_k", "block_k", "keys of a tile", true, false}, set_of_both},
    {{"block_q", "block_q", "query rows of a tile", true, false}, set_of_both},
    {{"tile", "tile", "64, or 16x256: query rows x keys", false, false}, set_tile_text},
    {{"tile_square", "tile side", "block_q = block_k", true, false}, set_tile_text},
    {{"tile_area", "tile area", "scores of a tile of block_q rows", true, false}, set_tile_area},
    {{"tile_order", "tile order", "natural, or swapped: block_q for block_k", false, false}, set_tile_order},
    {{"algorithm", "algorithm", "of a", false, false}, set_algorithm},
    {{"policy", "policy", "where a rounds", false, false}, set_policy},
    {{"baseline", "baseline", "where b rounds", false, false}, set_baseline},
    {{"tau", "tau", "flash4: how stale the max may be", true, false}, set_of_a},
    {{"splits", "splits", "split_kv: runs of tiles", true, false}, set_of_a},
    {{"tie_beta", "tie beta", "mitigation of ties", true, false}, set_of_a},
    {{"p_exponent", "P exponent", "P and l carry 2^this", true, false}, set_of_a},
}};

const Entry* entry_of(std::string_view key) {
  const auto* const found = std::ranges::find(entries, key, [](const Entry& e) { return e.about.key; });
  return found == entries.end() ? nullptr : found;
}

bool of_a_method(std::string_view key) { return key.size() > 2 && (key.starts_with("a.") || key.starts_with("b.")); }

void refuse_key(std::string_view key) {
  std::string known;
  for (const Entry& e : entries) known += std::string(e.about.key) + ", ";
  throw std::invalid_argument("vary: " + in_quotes(key) + " is unknown, expected " + known + "a.NAME or b.NAME");
}

std::vector<std::string> parts(std::string_view text, char between) {
  std::vector<std::string> result;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    result.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

[[noreturn]] void refuse_range(std::string_view key, std::string_view text) {
  throw std::invalid_argument(
      "vary " + std::string(key) + " is " + in_quotes(text) +
      ", expected values FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:xFACTOR that lead from first to last in at most " +
      std::to_string(max_axis_values) + " steps");
}

/// The numbers of FIRST:LAST[:STEP|:xFACTOR].
std::vector<std::string> range_values(std::string_view key, const std::string& text) {
  const std::vector<std::string> ends = parts(text, ':');
  const bool stepped = ends.size() == 3, grows = stepped && ends[2].starts_with('x');
  if (ends.size() < 2 || ends.size() > 3) refuse_range(key, text);
  const auto first = to_number<double>(ends[0]), last = to_number<double>(ends[1]),
             step = stepped ? to_number<double>(std::string_view(ends[2]).substr(grows ? 1 : 0)) : std::optional<double>(1);
  if (!first || !last || !step || !std::isfinite(*first) || !std::isfinite(*last)) refuse_range(key, text);
  const bool leads = grows ? *step > 1 && *first > 0 && std::isfinite(*step) : *step > 0 && std::isfinite(*step);
  if (!leads || *first > *last) refuse_range(key, text);
  std::vector<std::string> values;
  const double end = *last * (1 + 1e-12 * (*last > 0 ? 1 : -1));
  for (std::size_t i = 0;; ++i) {
    const double x = grows ? *first * std::pow(*step, static_cast<double>(i)) : *first + static_cast<double>(i) * *step;
    if (x > end) return values;
    if (i == max_axis_values) refuse_range(key, text);
    values.push_back(shortest(x));
  }
}

}  // namespace

std::vector<AxisKey> axis_keys() {
  std::vector<AxisKey> keys;
  for (const Entry& e : entries) keys.push_back(e.about);
  return keys;
}

AxisKey axis_key(std::string_view key) {
  constexpr int last = static_cast<int>(entries.size());
  if (const Entry* e = entry_of(key)) {
    AxisKey about = e->about;
    about.rank = static_cast<int>(e - entries.data());
    return about;
  }
  if (!of_a_method(key)) refuse_key(key);
  return {key, key, "a field of a method", false, key == "a.input", last};
}

Axis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size())
    throw std::invalid_argument("vary is " + in_quotes(text) +
                                ", expected KEY=VALUES, such as block_k=16:1024:x2 or format=bf16,fp16");
  Axis axis{std::string(text.substr(0, equals)), {}};
  const std::string values(text.substr(equals + 1));
  const bool numeric = axis_key(axis.key).numeric;
  axis.values = numeric && values.find(':') != std::string::npos
                    ? range_values(axis.key, values)
                    : parts(values, values.find(';') == std::string::npos ? ',' : ';');
  if (axis.values.size() > max_axis_values) refuse_range(axis.key, values);
  for (std::size_t i = 0; i < axis.values.size(); ++i)
    if (std::find(axis.values.begin(), axis.values.begin() + static_cast<std::ptrdiff_t>(i), axis.values[i]) !=
        axis.values.begin() + static_cast<std::ptrdiff_t>(i))
      throw std::invalid_argument("vary " + axis.key + " has the value " + in_quotes(axis.values[i]) + " twice");
  return axis;
}

std::string axis_text(const Axis& axis) {
  const auto has_comma = [](const std::string& v) { return v.find(',') != std::string::npos; };
  const bool semicolons = std::ranges::any_of(axis.values, has_comma);
  std::string text = axis.key + "=";
  for (std::size_t i = 0; i < axis.values.size(); ++i) text += (i == 0 ? "" : semicolons ? ";" : ",") + axis.values[i];
  return semicolons && axis.values.size() == 1 ? text + ";" : text;
}

void vary(Experiment& experiment, std::string_view key, const std::string& value) {
  if (const Entry* e = entry_of(key)) return e->set(experiment, key, value);
  if (!of_a_method(key)) refuse_key(key);
  apply_setting(experiment, std::string(key) + "=" + value);
}

}  // namespace attoscope
