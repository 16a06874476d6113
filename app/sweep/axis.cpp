#include "app/sweep/axis.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <variant>

#include "app/session/experiment_options.h"
#include "app/tensors/tensors.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

using Set = void (*)(Experiment&, std::string_view key, const std::string& value);

std::string label_of(std::string_view key) { return "vary " + printable(key); }

/// Sets the setting at `path`, "problem.alibi" or "a.tau".
void set_at(Experiment& e, std::string_view path, const std::string& label, const std::string& value) {
  Experiment changed = e;
  set_field(label, settings(changed), path, value);
  e = following(e, changed, path, value);
}
int side_of(std::string_view key, std::string_view value) { return whole_number(label_of(key), value, 1, max_tile); }
void set_block_k(Experiment& e, std::string_view key, const std::string& value) { e = with_block_k(e, side_of(key, value)); }
void set_block_q(Experiment& e, std::string_view key, const std::string& value) { e = with_block_q(e, side_of(key, value)); }

void set_bits(Experiment& e, std::string_view key, const std::string& value) {
  Format f = e.format;
  const bool mantissa = key == "mantissa_bits";
  (mantissa ? f.mantissa_bits : f.exponent_bits) =
      whole_number(label_of(key), value, mantissa ? 0 : min_exponent_bits, mantissa ? max_mantissa_bits : max_exponent_bits);
  e = with_format(e, f);
}

void set_input(Experiment& e, std::string_view, const std::string& value) {
  e.problem = with_input(e.problem, parse_input(value));
}
void set_head(Experiment& e, std::string_view key, const std::string& value) {
  if (e.problem.input.kind != InputKind::tensors) refuse(label_of(key), value, "an input that is a file of tensors");
  e.problem = with_head(e.problem, whole_number(label_of(key), value, 0, INT_MAX));
}
void set_mask(Experiment& e, std::string_view, const std::string& value) { e.problem.mask = parse_mask(value); }
void set_scale(Experiment& e, std::string_view key, const std::string& value) {
  set_at(e, "problem.scale", label_of(key), value == "auto" ? "0" : value);
}

/// Sets tiles from "64" or "16x256": rows of queries x keys.
void set_tile_text(Experiment& e, std::string_view key, const std::string& value) {
  const std::size_t x = value.find('x');
  const int rows = side_of(key, std::string_view(value).substr(0, x));
  e = with_tiles(e, {rows, x == std::string::npos ? rows : side_of(key, std::string_view(value).substr(x + 1))});
}
/// Sets block_k so that a tile has this number of scores with the experiment's block_q.
void set_tile_area(Experiment& e, std::string_view key, const std::string& value) {
  const int area = side_of(key, value), rows = e.a.block_q;
  if (area % rows != 0) refuse(label_of(key), value, "a multiple of block_q, which is " + std::to_string(rows));
  e = with_tiles(e, {rows, area / rows});
}
void set_tile_order(Experiment& e, std::string_view key, const std::string& value) {
  if (value != "natural" && value != "swapped") refuse(label_of(key), value, "natural or swapped");
  if (value == "swapped") e = with_swapped_tiles(e);
}

void set_accumulator(Experiment& e, std::string_view key, const std::string& value) {
  for (const char* const path : {"a.accumulator.qk", "a.accumulator.pv"}) set_at(e, path, label_of(key), value);
}
void set_baseline(Experiment& e, std::string_view, const std::string& value) { e = with_baseline(e, policy(value)); }
void set_gradient(Experiment& e, std::string_view key, const std::string& value) {
  e = with_backward(std::move(e));
  (key == "gradient" ? e.backward.a : e.backward.b) = grad_method(value, e.problem.d, e.problem.mask);
}
void set_order_of_gradient(Experiment& e, std::string_view, const std::string& value) {
  apply_setting(e, "a.grad.order=" + value, "vary");
}

/// A key that does more than set the field of its parameter.
struct Special {
  std::string_view key;
  Set set;
};
constexpr std::array<Special, 17> specials{{
    {"mantissa_bits", set_bits},
    {"exponent_bits", set_bits},
    {"input", set_input},
    {"head", set_head},
    {"scale", set_scale},
    {"mask", set_mask},
    {"block_k", set_block_k},
    {"block_q", set_block_q},
    {"tile", set_tile_text},
    {"tile_square", set_tile_text},
    {"tile_area", set_tile_area},
    {"tile_order", set_tile_order},
    {"accumulator", set_accumulator},
    {"baseline", set_baseline},
    {"gradient", set_gradient},
    {"baseline_gradient", set_gradient},
    {"grad.order", set_order_of_gradient},
}};

/// The parameter of this key, if sweeps can vary it; else null.
const Parameter* swept(std::string_view key) {
  const Parameter* const found = find_parameter(key);
  return found != nullptr && !found->sweep.group.empty() ? found : nullptr;
}

AxisKey about(const Parameter& p) { return {p.key, p.label, p.what, p.sweep.numeric, p.sweep.moves_golden, p.sweep.rank}; }

bool of_a_method(std::string_view key) { return key.size() > 2 && (key.starts_with("a.") || key.starts_with("b.")); }

/// True if the setting at this path of an experiment is a number: "a.splits".
bool is_number(std::string_view path) {
  Experiment e;
  const Settings all = settings(e);
  const Setting* const s = find(all, path);
  return s != nullptr && (std::holds_alternative<int*>(s->value) || std::holds_alternative<unsigned*>(s->value) ||
                          std::holds_alternative<std::uint64_t*>(s->value) || std::holds_alternative<double*>(s->value));
}

void refuse_key(std::string_view key) {
  std::string known;
  for (const AxisKey& k : axis_keys()) known += std::string(k.key) + ", ";
  throw std::invalid_argument("vary: " + in_quotes(key) + " is unknown, expected " + known + "a.NAME or b.NAME");
}

[[noreturn]] void refuse_range(std::string_view key, std::string_view text) {
  throw std::invalid_argument(
      label_of(key) + " is " + in_quotes(text) +
      ", expected values FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:xFACTOR that lead from first to last in at most " +
      std::to_string(max_axis_values) + " values");
}

/// Numbers of FIRST:LAST[:STEP|:xFACTOR].
std::vector<std::string> range_values(std::string_view key, const std::string& text) {
  const std::vector<std::string> ends = split(text, ':');
  const bool stepped = ends.size() == 3, grows = stepped && ends[2].starts_with('x');
  if (ends.size() < 2 || ends.size() > 3) refuse_range(key, text);
  const auto first = to_number<double>(ends[0]), last = to_number<double>(ends[1]),
             step = stepped ? to_number<double>(std::string_view(ends[2]).substr(grows ? 1 : 0)) : std::optional<double>(1);
  if (!first || !last || !step || !std::isfinite(*first) || !std::isfinite(*last)) refuse_range(key, text);
  const bool leads = grows ? *step > 1 && *first > 0 && std::isfinite(*step) : *step > 0 && std::isfinite(*step);
  if (!leads || *first > *last) refuse_range(key, text);
  std::vector<std::string> values;
  const double end = *last + (grows ? 1e-12 * *last : 1e-6 * *step);  // sums and powers are rounded
  for (std::size_t i = 0;; ++i) {
    const double next = grows ? *first * std::pow(*step, static_cast<double>(i)) : *first + static_cast<double>(i) * *step;
    if (next > end) return values;
    if (i == max_axis_values) refuse_range(key, text);
    const double x = std::min(next, *last);
    const bool whole = x == std::floor(x) && std::abs(x) < 1e15;
    values.push_back(whole ? shortest(static_cast<std::int64_t>(x)) : shortest(x));  // "100000", not "1e+05"
  }
}

}  // namespace

std::vector<AxisKey> axis_keys() {
  std::vector<AxisKey> keys;
  for (const Parameter& p : experiment_parameters())
    if (!p.sweep.group.empty()) keys.push_back(about(p));
  return keys;
}

AxisKey axis_key(std::string_view key) {
  if (const Parameter* const p = swept(key)) return about(*p);
  if (!of_a_method(key)) refuse_key(key);
  return {key, key, "a field of a method", false, key == "a.input", std::numeric_limits<int>::max()};
}

Axis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals + 1 == text.size())
    throw std::invalid_argument("vary is " + in_quotes(text) +
                                ", expected KEY=VALUES, such as block_k=16:1024:x2 or format=bf16,fp16");
  Axis axis{std::string(text.substr(0, equals)), {}};
  const std::string values(text.substr(equals + 1));
  const bool numeric = axis_key(axis.key).numeric || is_number(axis.key);
  axis.values = numeric && values.find(':') != std::string::npos
                    ? range_values(axis.key, values)
                    : split(values, values.find(';') == std::string::npos ? ',' : ';');
  if (axis.values.size() > max_axis_values)
    throw std::invalid_argument(label_of(axis.key) + " has " + std::to_string(axis.values.size()) +
                                " values, expected at most " + std::to_string(max_axis_values));
  std::set<std::string_view> seen;
  for (const std::string& value : axis.values)
    if (!seen.insert(value).second)
      throw std::invalid_argument(label_of(axis.key) + " has the value " + in_quotes(value) + " twice");
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
  if (const auto* const special = std::ranges::find(specials, key, &Special::key); special != specials.end())
    return special->set(experiment, key, value);
  if (const Parameter* const p = swept(key)) return set_at(experiment, p->path, label_of(key), value);
  if (!of_a_method(key)) refuse_key(key);
  apply_setting(experiment, std::string(key) + "=" + value, "vary");
}

}  // namespace attoscope::app
