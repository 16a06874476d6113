// Algorithm of a method, and its named rounding policy.
#include <fmt/format.h>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/controls/matrix.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// One sentence why an algorithm cannot be chosen; empty: it can.
std::string reason_against(Algorithm a, const Experiment& e, const PanelInput& input) {
  if (a == Algorithm::hardware && !input.choices.no_hardware.empty()) return input.choices.no_hardware;
  if (a == Algorithm::loaded && e.loaded.file.empty())
    return "No output has been loaded: choose the .npy or .safetensors file that your kernel wrote first.";
  return is_emulated(a) || !e.backward.on ? "" : "It has no backward pass: turn that off first.";
}

void choose_from_all(Method& m, const Experiment& e, const PanelInput& input) {
  for (const AlgorithmInfo& row : algorithm_infos) {
    const Algorithm algorithm = row.algorithm;
    const std::string reason = reason_against(algorithm, e, input);
    const std::string text(row.name);
    const bool pressed = if_possible(reason.empty(), [&] { return ImGui::Selectable(text.c_str(), algorithm == m.algorithm); });
    explain(std::string(row.what) + (reason.empty() ? "" : " " + reason), row.formula);
    if (pressed && algorithm != m.algorithm) m = with_algorithm(m, algorithm);
  }
}

/// The steps that a policy rounds to D, and its flags.
std::string steps_of(const Precision& p) {
  std::string text = "to D:";
  for (const StepInfo& row : step_infos)
    if (p[row.step].kind != Rounding::Kind::exact) text.append(" ").append(row.name);
  if (p.sum_rounded_P) text += "\nl sums P";
  if (p.accumulate_in_O) text += "\nP.V continues in O";
  return text;
}

/// Name of the nearest policy, shortened to fit, and the number of steps that differ from it.
std::string preview_of(const Method& m, float combo) {
  if (!is_emulated(m.algorithm)) return "its own";
  const NearestPolicy nearest = nearest_policy(m.precision, m.algorithm);
  const float width = combo - ImGui::GetFrameHeight() - px(5);
  if (nearest.changed == 0) return std::string(nearest.name);
  const std::string more = fmt::format(" +{}", nearest.changed);
  return fitted(Face::mono_small, nearest.name, width - text_width(Face::mono_small, more)) + more;
}

void explain_policy(const Method& m) {
  if (!is_emulated(m.algorithm)) return explain("This method is not emulated: its rounding is fixed, so no policy applies.");
  const NearestPolicy nearest = nearest_policy(m.precision, m.algorithm);
  explain(
      "The steps that common kernels round. " + std::string(nearest.name) + ": " + std::string(policy(nearest.name).what) + ".",
      nearest.changed > 0 ? fmt::format("+{}: cells that differ, marked with a dot", nearest.changed) : std::string());
}

void choose_policy(Method& m) {
  for (const Policy& p : policies()) {
    if (!same_family(p.algorithm, m.algorithm)) continue;
    if (ImGui::Selectable(std::string(p.name).c_str(), p.precision == m.precision)) m = with_policy(m, p);
    explain(p.what, steps_of(p.precision));
  }
}

/// Groups of the list of whole kernels.
enum class KernelGroup : std::uint8_t { plain, scaled, cache };
constexpr EnumArray<KernelGroup, const char*> group_titles{"whole kernels", "kernels with scales", "quantised KV caches"};
/// cache: K is dequantised before the products.
KernelGroup group_of(const Method& m) {
  if (!m.scaling.any()) return KernelGroup::plain;
  return m.scaling.Q.is_on() || !m.scaling.K.in_operand ? KernelGroup::scaled : KernelGroup::cache;
}

/// One sentence why a kernel cannot be b with the current main format; "": it can.
std::string reason_against_b(const Experiment& with_b) {
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv})
    if (std::string why = why_no_accumulator(with_b, with_b.b, product, with_b.b.accumulator[product]); !why.empty())
      return why + ". Choose the main format first.";
  return "";
}

/// Whole kernels: tiles, roundings, options and sums at once.
void choose_kernel(Experiment& e, bool of_b) {
  const std::string_view current = kernel_name(of_b ? e.b : e.a, e.problem, e.format);
  auto group = KernelGroup::plain;
  for (const KernelPreset& k : kernel_presets()) {
    Experiment chosen = of_b ? with_kernel_as_b(e, k) : with_kernel(e, k);
    const Method& m = of_b ? chosen.b : chosen.a;
    if (const KernelGroup its = group_of(m); its != group) ImGui::SeparatorText(group_titles[group = its]);
    std::string reason = of_b ? reason_against_b(chosen) : "";
    if (const std::string why = why_not_scaled(m, chosen.problem); !why.empty()) reason += "Not here: " + why + ".";
    const std::string text(k.name);
    const bool pressed = if_possible(reason.empty(), [&] { return ImGui::Selectable(text.c_str(), k.name == current); });
    explain(std::string(k.what) + ". " + reason, k.source);
    if (pressed) e = std::move(chosen);
  }
}

}  // namespace

void edit_algorithm(Method& m, const Experiment& e, const PanelInput& input, Colour colour, float width) {
  const AlgorithmInfo& row = info(m.algorithm);
  const std::string reason = reason_against(m.algorithm, e, input);
  if (!begin_combo("##algorithm", std::string(name(m.algorithm)), width, reason.empty() ? colour : colours().bad)) {
    return explain("The order of operations. " + std::string(row.name) + ": " + std::string(row.what) +
                       (reason.empty() ? "" : " " + reason),
                   row.formula);
  }
  choose_from_all(m, e, input);
  ImGui::EndCombo();
}

void edit_policy(Method& m, Colour colour, float width) {
  column_combo(
      "##preset", preview_of(m, width), {colour, width, is_emulated(m.algorithm), true}, [&] { choose_policy(m); },
      [&] { explain_policy(m); });
}

void edit_preset(Experiment& e, bool of_b, Colour colour, float width) {
  Method& m = of_b ? e.b : e.a;
  const std::string_view kernel = kernel_name(m, e.problem, e.format);
  const auto choose = [&] {
    choose_policy(m);
    ImGui::SeparatorText(group_titles[0]);
    choose_kernel(e, of_b);
  };
  const auto explain_closed = [&] {
    if (kernel.empty()) return explain_policy(m);
    explain(std::string(kernel) + ": " + std::string(kernel_preset(kernel).what) + ".", kernel_preset(kernel).source);
  };
  column_combo("##preset", kernel.empty() ? preview_of(m, width) : std::string(kernel),
               {colour, width, is_emulated(m.algorithm), true}, choose, explain_closed);
}

}  // namespace attoscope::ui
