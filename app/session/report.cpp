#include "app/session/report.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "app/judge/judge_report.h"
#include "app/session/probes.h"
#include "app/session/session.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/table.h"
#include "kernels/experiment/text.h"
#include "kernels/experiment/traffic.h"

namespace attoscope::app {
namespace {

/// True if the field is an option that matters in this method.
bool is_option_of(const Method& m, const std::string& key) {
  const Parameter* const p = parameter_at("a." + key);
  return p != nullptr && is_option(*p) && matters(*p, m);
}

/// ", sums h100", ", sums of q.k fma, of P.V h100"; "" for fma.
std::string accumulators_text(const Accumulators& a) {
  if (a == Accumulators{}) return "";
  return a.qk == a.pv ? fmt::format(", sums {}", name(a.qk))
                      : fmt::format(", sums of q.k {}, of P.V {}", name(a.qk), name(a.pv));
}

/// ", tau 8, reverse_keys true": options that differ from the default, and tau and splits.
std::string options_text(const Method& m) {
  std::string text;
  const Json mine = method_json(m), usual = method_json(Method{});
  for (const auto& [key, value] : mine.items()) {
    if (key == "accumulator") {
      text += accumulators_text(m.accumulator);
    } else if (is_option_of(m, key) && (value != usual[key] || key == "tau" || key == "splits"))
      text += fmt::format(", {} {}", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return text;
}

/// "N 1024, d 64", with n_k and d_v if they differ.
std::string shape_text(const Problem& p) {
  return fmt::format("N {}, ", p.n) + (key_count(p) != p.n ? fmt::format("{} keys, ", key_count(p)) : "") +
         fmt::format("d {}", p.d) + (value_columns(p) != p.d ? fmt::format(", d_v {}", value_columns(p)) : "");
}

std::string bias_text(const Problem& p) {
  return (p.sink ? fmt::format(", sink {:g}", *p.sink) : "") +
         (p.softcap != 0 ? fmt::format(", softcap {:g}", p.softcap) : "") +
         (p.alibi != 0 ? fmt::format(", alibi {:g}", p.alibi) : "");
}

std::string tiles_text(const Experiment& e) {
  if (e.a.algorithm == Algorithm::three_pass) return "";
  return fmt::format(", tiles {} x {}", e.a.block_q, e.a.block_k);
}

/// "normal", "ones", or the file.
std::string d_o_text(const Backward& b) {
  const std::string file = b.d_lse_file.file.empty() ? "" : ", dL " + printable(kernel_output_spec(b.d_lse_file));
  if (b.d_o == OutputGradient::file) return printable(kernel_output_spec(b.d_o_file)) + file;
  return std::string(output_gradient_names[b.d_o]) + file;
}

/// "grad_hw", "grad_hw, order shuffled:1", "grad_hw (changed)"
std::string gradient_text(const GradMethod& g, const Problem& p) {
  GradMethod named = g;
  const GradMethod usual{};
  named.order = usual.order;
  named.order_seed = usual.order_seed;
  named.buffers = usual.buffers;
  const std::string_view called = grad_kernel_name(g, p.d, p.mask), but_for_order = grad_kernel_name(named, p.d, p.mask);
  if (!called.empty()) return std::string(called);
  std::string order = "order " + std::string(grad_order_names[g.order]);
  if (g.order == GradOrder::shuffled) order += fmt::format(":{}", g.order_seed);
  if (g.order == GradOrder::buffers) order += fmt::format(":{}", g.buffers);
  return but_for_order.empty() ? "(own backward pass), " + order : std::string(but_for_order) + ", " + order;
}

/// Tensor-core rules of a method's products, one line each.
std::string sums(const Experiment& e, const Method& m, const char* which) {
  std::string text;
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv})
    if (const auto rule = tensor_core_rule_of(e, m, product))
      text += fmt::format("{}'s {} as {} adds {}: {}\n", which, product == AttentionProduct::qk ? "q.k" : "P.V",
                          name(gpu_of(m.accumulator[product])), name(rule->factors), rule_text(*rule));
  return text;
}

std::string question(const Result& r) {
  const Experiment& e = r.experiment;
  const Problem& p = e.problem;
  std::string text = fmt::format("a: {}   b: {}   main format {}, working in {}\n", method_text(e.a, e.loaded),
                                 method_text(e.b, e.loaded), name(e.format), works_in_double(e) ? "double" : "float");
  text += fmt::format("input {}, seed {}, {}, scale {:.6g}, mask {}{}{}\n", printable(input_spec(p.input)), p.seed,
                      shape_text(p), scale_of(p), mask_text(p.mask), bias_text(p), tiles_text(e));
  if (p.input.tensors && p.input.tensors->mask) text += mask_sentence(*p.input.tensors->mask) + "\n";
  text += sums(e, e.a, "a") + sums(e, e.b, "b");
  if (static_cast<int>(r.rows.size()) != p.n) text += fmt::format("{} of {} rows\n", r.rows.size(), p.n);
  if (r.rows_without_keys > 0)
    text += fmt::format("{} output is {}\n", counted(r.rows_without_keys, "row sees no key: its", "rows see no key: their"),
                        p.empty_rows == EmptyRule::nan ? "NaN" : "0");
  return text;
}

std::string number(double x) { return std::isnan(x) ? "-" : fmt::format("{:.4g}", x); }

std::string row(std::string_view what, double a, double b, bool with_ratio = true) {
  return fmt::format("  {:<22}{:>12}{:>12}{:>10}\n", what, number(a), number(b), with_ratio ? number(a / b) : "");
}

std::string errors(const Deviation& a, const Deviation& b) {
  using Form = DeviationMeasure::Form;
  std::string text = fmt::format("\n  {:<22}{:>12}{:>12}{:>10}\n", "error from golden", "a", "b", "a/b");
  const DeviationNumbers of_a = numbers_of(a), of_b = numbers_of(b);
  for (const DeviationMeasure& m : deviation_measures) {
    const double x = of_a.*m.value, y = of_b.*m.value;
    if (m.form == Form::count && x + y == 0) continue;
    text += row(m.row, shown_number(m, x), shown_number(m, y), m.form == Form::magnitude);
  }
  return text;
}

/// A gradient and a measure of it.
struct GradientRow {
  std::string_view tensor;
  const DeviationMeasure* measure;
  double a, b;
};

std::vector<GradientRow> gradient_rows(const BackwardResult& r) {
  constexpr std::array<std::pair<std::string_view, Deviation GradientDeviations::*>, 3> tensors{
      {{"dQ", &GradientDeviations::dq}, {"dK", &GradientDeviations::dk}, {"dV", &GradientDeviations::dv}}};
  std::vector<GradientRow> rows;
  for (const auto& [name, tensor] : tensors)
    for (const DeviationMeasure& m : deviation_measures) {
      const double a = numbers_of(r.a_error.*tensor).*m.value, b = numbers_of(r.b_error.*tensor).*m.value;
      const bool said = m.key == "max_abs" || m.key == "mean_abs" || m.key == "rel_rms" || m.key == "bias" ||
                        m.key == "max_ulp" || (m.form == DeviationMeasure::Form::count && a + b > 0);
      if (said) rows.push_back({name, &m, a, b});
    }
  return rows;
}

/// The lines, indented by two blanks.
std::string indented(const std::string& lines) {
  std::string text;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) text += "  " + line + "\n";
  return text;
}

std::string backward(const Result& r) {
  if (!r.backward) return "";
  const BackwardResult& b = *r.backward;
  const std::vector<GradientRow> rows = gradient_rows(b);
  const auto cell = [](double x) { return std::isnan(x) ? TableCell{} : TableCell{x}; };
  const std::vector<TableColumn<GradientRow>> columns{
      table_column<GradientRow>({.key = "gradient"}, [](const GradientRow& x) { return std::string(x.tensor); }),
      table_column<GradientRow>({.key = "error from golden"}, [](const GradientRow& x) { return std::string(x.measure->row); }),
      table_column<GradientRow>({.key = "a", .digits = 4}, [&](const GradientRow& x) { return cell(x.a); }),
      table_column<GradientRow>({.key = "b", .digits = 4}, [&](const GradientRow& x) { return cell(x.b); }),
      table_column<GradientRow>({.key = "a/b", .digits = 4}, [&](const GradientRow& x) {
        return x.measure->form == DeviationMeasure::Form::magnitude ? cell(x.a / x.b) : TableCell{};
      })};
  const Experiment& e = r.experiment;
  std::string text = fmt::format("\n  backward pass, a: {}   b: {}   dO {}; dQ of {} rows, dK and dV of {} keys\n",
                                 gradient_text(e.backward.a, e.problem), gradient_text(e.backward.b, e.problem),
                                 d_o_text(e.backward), r.rows.size(), b.keys.size());
  text += indented(plain_text(table_of(columns, std::span<const GradientRow>(rows))));
  const auto delta = [](const DeltaDeviation& d) {
    return fmt::format("max {:.4g}, rms {:.4g}, bias {:.4g}", d.max_abs, d.rms, d.bias);
  };
  text += fmt::format("  error of delta: a {}; b {}\n", delta(b.a_delta), delta(b.b_delta));
  if (e.problem.sink)
    text += fmt::format("  gradient of the sink: golden {:.6g}, a {:.6g}, b {:.6g}\n", b.golden->dsink, b.a.dsink, b.b.dsink);
  const BackwardTiming& t = r.timing.backward;
  return text +
         fmt::format("  {:.1f} ms: golden {:.1f}, a {:.1f}, b {:.1f}, deviation {:.1f}\n", t.golden + t.a + t.b + t.deviation,
                     t.golden, t.a, t.b, t.deviation) +
         fmt::format("  digests: golden {}, a {}, b {}\n", hex16(b.golden_digest), hex16(b.a_digest), hex16(b.b_digest));
}

/// Storage and arithmetic parts of the errors; "" unless a method stores Q, K or V with scales.
std::string parts(const Result& r) {
  if (!r.a_parts && !r.b_parts) return "";
  const auto of = [](const std::optional<ErrorParts>& p, auto value) { return p ? value(*p) : std::nan(""); };
  const auto line = [&](std::string_view what, auto value) { return row(what, of(r.a_parts, value), of(r.b_parts, value)); };
  return fmt::format("\n  {:<22}{:>12}{:>12}{:>10}\n", "of which", "a", "b", "a/b") +
         line("storage, mean", [](const ErrorParts& p) { return p.storage.mean_abs; }) +
         line("storage, max", [](const ErrorParts& p) { return p.storage.max_abs; }) +
         line("arithmetic, mean", [](const ErrorParts& p) { return p.arithmetic.mean_abs; }) +
         line("arithmetic, max", [](const ErrorParts& p) { return p.arithmetic.max_abs; });
}

/// FlashAttention's test (a <= 2 b) and PyTorch's (5x), on the largest errors.
std::string tests(const Result& r) {
  const double a = r.a_error.max_abs, b = r.b_error.max_abs;
  if (std::isnan(b)) return "\n  b has no finite value to compare a with\n";
  const bool more_nonfinite = r.a_error.nonfinite > r.b_error.nonfinite;
  const auto verdict = [&](double factor) { return a <= factor * b && !more_nonfinite ? "passes" : "FAILS"; };
  const std::string ratio = b > 0 ? fmt::format("max error {:.3g} times b's: ", a / b) : "";
  const std::string why = more_nonfinite ? fmt::format(", since a has more NaN or infinite elements ({}, b {})",
                                                       r.a_error.nonfinite, r.b_error.nonfinite)
                                         : "";
  return fmt::format("\n  {}{} FlashAttention's test (at most 2), {} PyTorch's (at most 5){}\n", ratio, verdict(2), verdict(5),
                     why);
}

std::string rescales(const Rescales& r) {
  if (r.tiles == 0) return "";
  return fmt::format("  rescales per row: {:.4g} of {:.4g} possible, {:.4g} expected for exchangeable scores\n",
                     r.effective_mean, r.nominal, r.expected);
}

/// "1.5 MiB"
std::string bytes(double count) {
  const char* unit = "B";
  for (const char* const larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (count < 1024) break;
    count /= 1024;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", count, unit);
}

/// Differences of a real kernel to its second run and to its emulation.
std::string hardware(const std::optional<HardwareCheck>& check) {
  if (!check) return "";
  return fmt::format(
      "  hardware ({}): a second run differs in {} elements, by {:.4g} ulps of fp32 at most; from emulated hw by {:.4g} ulps "
      "at most, {:.4g} on average\n",
      check->instruction, check->changed, check->run_to_run_ulp, check->emulator_max_ulp, check->emulator_mean_ulp);
}

std::string traffic(const Experiment& e, const Traffic& t) {
  const std::string stored = stored_bytes_text(e);
  return fmt::format("  HBM traffic at {} B per element{}: Algorithm 0 {}, FA-1 {}, FA-2 {}; {} of {} tiles skipped\n",
                     t.element_bytes, stored.empty() ? "" : " (stored with scales: " + stored + " B)", bytes(t.algorithm0),
                     bytes(t.flash1), bytes(t.flash2), t.skipped_tiles, t.tiles);
}

std::string timing(const Result& r) {
  const Timing& t = r.timing;
  const std::string remark = r.remark.empty() ? "" : "  " + r.remark + "\n";
  return fmt::format("  {:.1f} ms on {}: inputs {:.1f}, golden {:.1f}, a {:.1f}, b {:.1f}, deviation {:.1f}\n", t.total,
                     r.device, t.inputs, t.golden, t.a, t.b, t.deviation) +
         remark;
}

std::string digests(const Digests& d) {
  return fmt::format("  digests: golden {}, a {}, b {}\n", hex16(d.golden), hex16(d.a), hex16(d.b));
}

/// Names of the rounded steps; S: Step or GradStep.
template <class S, std::size_t count>
std::string rounded_names(const std::array<Rounding, count>& steps) {
  std::string text;
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (steps[i] == exact) continue;
    text += (rounded++ > 0 ? ", " : "") + std::string(name(static_cast<S>(i)));
  }
  return rounded == count ? "every step" : rounded == 0 ? "nothing" : text;
}

std::string rounded_steps(const Precision& p) {
  std::string text = rounded_names<Step>(p.steps);
  if (p.sum_rounded_P) text += "; sum_rounded_P";
  if (p.accumulate_in_O) text += "; accumulate_in_O";
  return text;
}

/// The words in indented lines of at most `width` characters.
std::string wrapped(const std::string& words, std::size_t indent, std::size_t width) {
  std::string text, line;
  std::istringstream stream(words);
  const std::string margin(indent, ' ');
  for (std::string word; stream >> word;) {
    if (!line.empty() && margin.size() + line.size() + 1 + word.size() > width) text += margin + std::exchange(line, "") + "\n";
    line += (line.empty() ? "" : " ") + word;
  }
  return text + margin + line + "\n";
}

/// "64 x 64", or "all"
std::string tiles_text(const GradMethod& m) {
  const auto side = [](int size) { return size == max_tile ? std::string("all") : std::to_string(size); };
  return side(m.block_q) + " x " + side(m.block_k);
}

}  // namespace

std::string method_text(const Method& m, const KernelOutput& loaded) {
  if (m.algorithm == Algorithm::loaded)
    return fmt::format("loaded {} ({})", printable(kernel_output_spec(loaded)), loaded.type);
  const std::string_view called = policy_name(m.precision, m.algorithm);
  return fmt::format("{} {}{}", name(m.algorithm), called.empty() ? "(own rounding)" : called, options_text(m));
}

std::string report(const Result& r) {
  return question(r) + errors(r.a_error, r.b_error) + parts(r) + tests(r) + hardware(r.hardware) + rescales(r.rescales) +
         traffic(r.experiment, r.traffic) + timing(r) + digests(r.digests) + backward(r);
}

std::string attribution_report(const Attribution& a) {
  std::string text = fmt::format("\n  {:<22}{:>14}{:>14}{:>14}{:>14}\n", "a's mean |x - y|", "step exact", "relief",
                                 "step alone", "not finite");
  const auto line = [&](std::string_view what, const StepError& without, double relief, const StepError& alone) {
    text += fmt::format("  {:<22}{:>14}{:>14}{:>14}{:>14}\n", what, number(without.mean_abs), number(relief),
                        number(alone.mean_abs), without.nonfinite);
  };
  for (const StepShare& s : a.steps) line(name(s.source), s.without, s.relief, s.alone);
  text += fmt::format("  all steps {}, none {} (the input's rounding is no error: golden sees the same)\n",
                      number(a.total.mean_abs), number(a.floor.mean_abs));
  return text + fmt::format("  rms {}; {} if the steps' errors were independent; interaction {}\n", number(a.total.rms),
                            number(a.combined_rms), number(a.interaction));
}

std::string verdict_report(const CallJudgement& call) { return "\n" + wrapped(verdict_text(call), 2, 100); }

std::string presets_report() {
  std::string text = "Policies (--policy, --baseline):\n";
  for (const Policy& p : policies()) {
    text +=
        fmt::format("{:<11} {:<10} {}\n{:23}rounds {}\n", p.name, name(p.algorithm), p.what, "", rounded_steps(p.precision));
  }
  text += "\nWhole kernels (--like), with the tiles of d = 64 and no mask:\n";
  for (const KernelPreset& k : kernel_presets()) {
    const Experiment e = with_kernel(default_experiment(), k);
    text += fmt::format("{}: {}, tiles {} x {}\n{}{}", k.name, method_text(e.a, e.loaded), e.a.block_q, e.a.block_k,
                        wrapped(std::string(k.what) + ".", 2, 100), wrapped("Source: " + std::string(k.source) + ".", 2, 100));
  }
  text += "\nBackward passes (--gradient, --baseline-gradient; attoscope train has the first " +
          std::to_string(grad_policies().size()) + "):\n";
  for (const GradKernel& k : grad_kernels()) {
    const GradMethod m = grad_method(k.name, 64, {});
    text += fmt::format("{}: tiles {}\n{}{}{}", k.name, tiles_text(m), wrapped(with_full_stop(std::string(k.what)), 2, 100),
                        wrapped("Rounds " + rounded_names<GradStep>(m.precision.steps) + ".", 2, 100),
                        wrapped("Source: " + std::string(k.source) + ".", 2, 100));
  }
  text += "\nProbes (--preset):\n";
  for (const Probe& p : probes()) text += fmt::format("{}: {}\n{}", p.name, p.title, wrapped(p.sentence, 2, 100));
  return text;
}

}  // namespace attoscope::app
