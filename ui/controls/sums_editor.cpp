// Accumulators of q.k and P.V, and the flush interval of P.V.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr std::array both_products{AttentionProduct::qk, AttentionProduct::pv};
constexpr std::array<std::string_view, 2> product_titles{"q·k", "P·V"};
std::string_view title(AttentionProduct p) { return product_titles[static_cast<std::size_t>(p)]; }

/// Products that the list sets.
constexpr std::array<Choice, 3> targets{{
    {"both", "The list sets what adds up q.k and what adds up P.V."},
    {"q·k", "The list sets what adds up q.k."},
    {"P·V", "The list sets what adds up P.V."},
}};
/// Products of a target: both, or one.
std::span<const AttentionProduct> products_of(int target) {
  const std::span<const AttentionProduct> all = both_products;
  return target == 0 ? all : all.subspan(static_cast<std::size_t>(target - 1), 1);
}

Method with_accumulator(Method m, std::span<const AttentionProduct> products, Accumulator accumulator) {
  for (const AttentionProduct p : products) (p == AttentionProduct::qk ? m.accumulator.qk : m.accumulator.pv) = accumulator;
  return m;
}

bool has_accumulator(const Method& m, std::span<const AttentionProduct> products, Accumulator accumulator) {
  return std::ranges::all_of(products, [&](AttentionProduct p) { return accumulator_of(m, p) == accumulator; });
}

/// One sentence why these products cannot have the accumulator, with the product's name if there are two; "": they can.
std::string reason_against(const Experiment& e, const Method& m, std::span<const AttentionProduct> products,
                           Accumulator accumulator) {
  for (const AttentionProduct p : products)
    if (const std::string why = why_no_accumulator(e, m, p, accumulator); !why.empty())
      return products.size() == 1 ? why + "." : fmt::format("{}: {}.", title(p), why);
  return "";
}

/// Tensor-core rule of a product, if tensor cores compute it.
std::optional<TensorCoreRule> rule_of(const Experiment& e, const Method& m, AttentionProduct p) {
  if (!why_no_accumulator(e, m, p, accumulator_of(m, p)).empty()) return {};
  return tensor_core_rule_of(e, m, p);
}

/// "q·k: blocks of 16, 25 bits, towards zero to fp32; recorded", one line for each product on tensor cores.
std::string rules_text(const Experiment& e, const Method& m, std::span<const AttentionProduct> products) {
  std::string text;
  for (const AttentionProduct p : products)
    if (const auto rule = rule_of(e, m, p))
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", title(p), rule_text(*rule));
  return text;
}

/// Weakest evidence of the products' rules, "model, not recorded"; "" if all are recorded.
std::string evidence_text(const Experiment& e, const Method& m, std::span<const AttentionProduct> products) {
  SumEvidence least = SumEvidence::recorded;
  for (const AttentionProduct p : products)
    if (const auto rule = rule_of(e, m, p)) least = std::max(least, rule->evidence);
  if (least == SumEvidence::recorded) return "";
  if (least == SumEvidence::model) return "model, not recorded";
  return least == SumEvidence::recorded_to_32 ? "recorded for K up to 32" : "recorded for c = 0";
}

/// Short description of an accumulator, without the remark that the list shows beside it.
std::string_view meaning_of(Accumulator a) {
  if (a == Accumulator::fma) return "one chain, rounded as the steps say";
  if (a == Accumulator::f64) return "in fp64, rounded to fp32 at the end";
  const std::string_view what = tensor_core_texts[static_cast<std::size_t>(gpu_of(a))].what;
  return what.substr(0, what.find(':'));
}

std::string explanation(Accumulator a) {
  if (a == Accumulator::fma) return "One chain of fma in the working type, rounded as qk_step and pv_step say.";
  if (a == Accumulator::f64)
    return "A chain of fma in fp64: nearly exact. It is rounded to fp32 at the end of q.k, and in P.V after every 64 keys of a "
           "tile.";
  return fmt::format("The tensor cores of {} ({}), bit for bit, with sums in {}.", name(gpu_of(a)),
                     tensor_core_texts[static_cast<std::size_t>(gpu_of(a))].what, sums_of(a) == SumType::f16 ? "fp16" : "fp32");
}

/// Method that is edited, in its experiment.
struct Target {
  const Experiment& e;
  Method& m;
  std::span<const AttentionProduct> products;
};

/// A button of one accumulator. True if it was chosen.
bool choose_accumulator(const Target& t, Accumulator a, const char* text, ImVec2 size) {
  const std::string reason = reason_against(t.e, t.m, t.products, a);
  ImGui::BeginDisabled(!reason.empty());
  const bool pressed = ImGui::Selectable(text, has_accumulator(t.m, t.products, a), 0, size);
  ImGui::EndDisabled();
  const Method chosen = with_accumulator(t.m, t.products, a);
  const std::string what = explanation(a);
  explain(reason.empty() ? what : what + " Not here: " + reason, reason.empty() ? rules_text(t.e, chosen, t.products) : "");
  if (!pressed || chosen == t.m) return false;
  t.m = chosen;
  return true;
}

/// A line of the list: accumulator, description, evidence of its rule, and its variant with fp16 sums.
bool accumulator_line(const Target& t, Accumulator a, float width) {
  const float f16 = is_tensor_core(a) ? px(44) : 0;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  bool changed = choose_accumulator(t, a, std::string(name(a)).c_str(), {width - f16, 0});
  const float right = at.x + width - f16 - px(10);
  draw_text({at.x + px(64), at.y}, Face::small, colours().secondary, meaning_of(a));
  draw_text({right, at.y}, Face::small, colours().moved, evidence_text(t.e, with_accumulator(t.m, t.products, a), t.products),
            1);
  if (!is_tensor_core(a)) return changed;
  const auto in_fp16 = static_cast<Accumulator>(static_cast<std::size_t>(a) + tensor_core_texts.size());
  ImGui::SameLine(0, 0);
  changed |= choose_accumulator(t, in_fp16, fmt::format("f16###{}", name(in_fp16)).c_str(), {f16, 0});
  return changed;
}

constexpr std::array<Choice, 3> flushes{{
    {"as the policy", "Never where the policy has P.V continue in O, else after every tile."},
    {"never", "The sum of P.V is O: what a block cuts off grows with the number of tiles."},
    {"every n tiles", "After every n tiles the sum is added to O in fp32 and starts at 0 again."},
}};

bool edit_flush(Method& m) {
  const Parameter& about = parameter("flush");
  if (!matters(about, m)) return false;
  begin_option("flush", m.flush != flush_of_policy);
  int chosen = m.flush == flush_of_policy ? 0 : m.flush == 0 ? 1 : 2;
  bool changed = segmented("flush", flushes, chosen, px(300));
  if (changed) m.flush = chosen == 0 ? flush_of_policy : chosen == 1 ? 0 : std::max(m.flush, 4);
  if (m.flush < 1) return changed;
  begin_option("tiles", false);
  changed |= whole_field("##flush", m.flush, 1, max_tile);
  explain(about.sentence, about.formula);
  return changed;
}

bool edit_popup(const Experiment& e, Method& m) {
  const float width = px(option_name_width + 300);
  int* const target = ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("target"), 0);
  if (ImGui::IsWindowAppearing()) *target = 0;
  segmented("sums of", targets, *target, width);
  const Target t{e, m, products_of(*target)};
  bool changed = false;
  {
    const WithFace f(Face::mono);
    for (std::size_t i = 0; i < static_cast<std::size_t>(Accumulator::v100_f16); ++i)
      changed |= accumulator_line(t, static_cast<Accumulator>(i), width);
  }
  return edit_flush(m) || changed;
}

/// Text of the closed field: "h100", "h100, fma" (q.k, P.V), "h100 flush 4".
std::string preview_of(const Method& m) {
  std::string text(name(m.accumulator.qk));
  if (m.accumulator.pv != m.accumulator.qk) text.append(", ").append(name(m.accumulator.pv));
  if (m.flush != flush_of_policy && matters(parameter("flush"), m)) text += fmt::format(" flush {}", m.flush);
  return text;
}

}  // namespace

bool edit_sums(const Experiment& e, Method& m, Colour colour, float width) {
  const std::string reason = reason_against(e, m, {both_products.data(), 1}, m.accumulator.qk) +
                             reason_against(e, m, {both_products.data() + 1, 1}, m.accumulator.pv);
  ImGui::BeginDisabled(!is_emulated(m.algorithm));
  ImGui::PushStyleColor(ImGuiCol_Text, reason.empty() ? colour : colours().bad);
  const float room = width - ImGui::GetFrameHeight() - px(5);
  const bool open = begin_combo(
      "##sums", is_emulated(m.algorithm) ? fitted(Face::mono_small, preview_of(m), room) : std::string("its own"), width);
  ImGui::PopStyleColor();
  const bool changed = open && edit_popup(e, m);
  if (open) ImGui::EndCombo();
  ImGui::EndDisabled();
  if (open) return changed;
  const Parameter& about = parameter("accumulator");
  if (!is_emulated(m.algorithm))
    explain("This method is not emulated: it adds up in its own way.");
  else
    explain(reason.empty() ? fmt::format("{} Now {}.", about.sentence, preview_of(m)) : reason,
            rules_text(e, m, both_products));
  return false;
}

}  // namespace attoscope
