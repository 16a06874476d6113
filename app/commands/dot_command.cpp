/// `attoscope dot`: dot products added as a GPU's tensor cores add them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <vector>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/session/result_json.h"
#include "app/tensors/npy.h"
#include "app/tensors/tensor_set.h"
#include "app/words/field_setter.h"
#include "kernels/arithmetic/accumulator.h"
#include "kernels/arithmetic/tensor_core_sum.h"

namespace attoscope::app {
namespace {

/// The options as typed; "" is no file.
struct DotArguments {
  std::string gpu, format, result = "f32";
  std::string a, b, c;
  std::string out, json;  ///< json "-" to standard output
};

/// The parsed question.
struct Asked {
  TensorCore gpu;
  SumType sums;
  TensorCoreRule rule;
};

Asked asked(const DotArguments& x) {
  const TensorCore gpu = parse_tensor_core(x.gpu);
  const Format format = of_option("--format", [&] { return parse_format(x.format); });
  const SumType sums = of_option("--result", [&] { return parse_sum_type(x.result); });
  return {gpu, sums, tensor_core_rule(gpu, format, sums)};
}

/// Numbers rounded to a format, and how many of them rounding changed.
struct Rounded {
  std::vector<float> values;
  std::size_t changed = 0;
};
Rounded rounded(const Format& f, const std::vector<double>& values) {
  Rounded x;
  x.values.reserve(values.size());
  for (const double value : values) {
    const double number = round(f, value);
    x.changed += number != value && !std::isnan(value) ? 1 : 0;
    x.values.push_back(static_cast<float>(number));
  }
  return x;
}

/// The terms of the sum.
struct Operands {
  int rows = 0, k = 0;
  Rounded a, b, c;  ///< c: one number for each row
};

[[noreturn]] void refuse_sizes(const std::string& file, const std::string& has, const std::string& expected) {
  throw std::runtime_error(fmt::format("{} has {}, expected {}", file, has, expected));
}

Operands operands(const DotArguments& x, const Asked& q) {
  const MatrixNumbers a = read_numbers("--a", x.a, 2);
  Operands o{.rows = a.rows, .k = a.columns, .a = rounded(q.rule.factors, a.values), .b = {}, .c = {}};
  const MatrixNumbers b = read_numbers("--b", x.b, 2);
  if (b.rows != a.rows || b.columns != a.columns)
    refuse_sizes(x.b, fmt::format("shape [{}, {}]", b.rows, b.columns),
                 fmt::format("that of --a, [{}, {}]", a.rows, a.columns));
  o.b = rounded(q.rule.factors, b.values);
  if (x.c.empty()) {
    o.c.values.assign(static_cast<std::size_t>(a.rows), 0.0F);
    return o;
  }
  const MatrixNumbers c = read_numbers("--c", x.c, 1);
  if (c.rows != a.rows) refuse_sizes(x.c, fmt::format("{} numbers", c.rows), fmt::format("{}, one for each row", a.rows));
  o.c = rounded(q.sums == SumType::f16 ? fp16 : fp32, c.values);
  return o;
}

std::vector<float> dot_products(const TensorCoreRule& rule, const Operands& o) {
  std::vector<float> d;
  d.reserve(o.c.values.size());
  const auto k = static_cast<std::size_t>(o.k);
  for (std::size_t row = 0; row < o.c.values.size(); ++row)
    d.push_back(tensor_core_dot(rule, std::span(o.a.values).subspan(row * k, k), std::span(o.b.values).subspan(row * k, k),
                                o.c.values[row]));
  return d;
}

/// True if recorded products cover these sums: some rules were recorded only for K up to 32 or 4, or for one block with c = 0.
bool is_recorded(const TensorCoreRule& rule, const Operands& o) {
  if (rule.evidence == SumEvidence::recorded_to_32) return o.k <= 32;
  if (rule.evidence == SumEvidence::recorded_to_4) return o.k <= 4;
  if (rule.evidence != SumEvidence::recorded_without_c) return rule.evidence == SumEvidence::recorded;
  return o.k <= rule.block && std::ranges::all_of(o.c.values, [](float c) { return c == 0; });
}

Json json_of(const Asked& q, const Operands& o, std::size_t nonfinite) {
  const TensorCoreRule& r = q.rule;
  return {{"schema", "attoscope.dot/1"},
          {"gpu", name(q.gpu)},
          {"architecture", tensor_core_texts[static_cast<std::size_t>(q.gpu)].what},
          {"format", name(r.factors)},
          {"result", sum_type_names[q.sums]},
          {"rule", tensor_core_rule_json(r)},
          {"recorded", is_recorded(r, o)},
          {"rows", o.rows},
          {"k", o.k},
          {"changed", {{"a", o.a.changed}, {"b", o.b.changed}, {"c", o.c.changed}}},
          {"nonfinite", nonfinite}};
}

std::string table_of(const Asked& q, const Operands& o, std::size_t nonfinite) {
  const TensorCoreRule& r = q.rule;
  std::string table = fmt::format("{} ({}): products of {}, sums in {}; {}\n", name(q.gpu),
                                  tensor_core_texts[static_cast<std::size_t>(q.gpu)].what, name(r.factors),
                                  sum_type_names[q.sums], is_recorded(r, o) ? "recorded" : "model, not recorded");
  table += fmt::format("blocks of {}{}, cut {} bits below the largest exponent, rounded {}; c {}\n", r.block,
                       r.carry == CarryPlace::after_the_halves ? ", products 0 and 1 of every four before 2 and 3" : "",
                       r.aligned_bits, text(r.rounding), text(r.carry));
  table += fmt::format("{} dot products of K = {}; rounded first: {} of {} values of a changed, {} of b, {} of c\n", o.rows,
                       o.k, o.a.changed, o.a.values.size(), o.b.changed, o.c.changed);
  if (nonfinite > 0) table += fmt::format("{} of them are infinite or NaN\n", nonfinite);
  return table;
}

/// Reads a and b (rows x K) and c (rows), rounds them to the format, and writes one sum for each row.
void dot(const DotArguments& x, const Streams& streams) {
  const Asked q = asked(x);
  if (x.out == "-") refuse("--out", x.out, "a file");
  check_outputs({{"--out", x.out}, {"--json", x.json}}, streams.files);
  const Operands o = operands(x, q);
  const std::vector<float> d = dot_products(q.rule, o);
  const auto nonfinite = static_cast<std::size_t>(std::ranges::count_if(d, [](float value) { return !std::isfinite(value); }));
  StagedFiles files;
  files.add(x.out, npy_bytes(d));
  write_outputs(
      files, {{x.json, [&] { return json_text(json_of(q, o, nonfinite)); }}}, [&] { return table_of(q, o, nonfinite); },
      streams.out);
}

void declare(OptionList& c, DotArguments& x) {
  std::string gpus = "one of";
  for (const TensorCoreText& gpu : tensor_core_texts) gpus += " " + std::string(gpu.name);
  c.add("GPU", x.gpu, gpus).required();
  c.group("Input");
  c.add("--format", x.format, "of a and b, which are rounded to it first: fp16, bf16, tf32, e4m3 or e5m2").required();
  c.add("--a", x.a, "rows x K numbers: " + tensor_specs()).required();
  c.add("--b", x.b, "rows x K numbers, as --a").required();
  c.add("--c", x.c, "one number a row, to start from (0)");
  c.add("--result", x.result, "type of sums and of c: f32 or f16");
  c.group("Output");
  c.add("--out", x.out, ".npy file for the sums, one a row, in float32").required();
  c.add("--json", x.json, "write the rule and what was rounded to this file, - for standard output");
}

}  // namespace

Command dot_command() {
  return command<DotArguments>("dot", "Add up dot products bit for bit as a GPU's tensor cores do, on any machine", declare,
                               dot);
}

}  // namespace attoscope::app
