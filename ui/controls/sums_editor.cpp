// Accumulators of the products of both passes, and the flush interval of P.V.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/controls/gradient_target.h"
#include "ui/controls/matrix.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// The products of a pass and their accumulators. `why_not`: one sentence, without a full stop, why the accumulator is
/// impossible for the product; "": possible. `rule`: rule of a possible tensor-core accumulator; none: another one.
struct Sums {
  std::vector<std::string_view> titles;
  std::vector<Accumulator*> now;
  std::function<std::string(std::size_t product, Accumulator)> why_not;
  std::function<std::optional<TensorCoreRule>(std::size_t product, Accumulator)> rule;
  std::string_view steps;  ///< steps that round a chain of fma
};

/// Indices of the products that the list sets: all if target is 0, else product target - 1.
std::vector<std::size_t> products_of(const Sums& sums, int target) {
  if (target > 0) return {static_cast<std::size_t>(target - 1)};
  std::vector<std::size_t> all(sums.titles.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

bool has_accumulator(const Sums& sums, std::span<const std::size_t> products, Accumulator accumulator) {
  return std::ranges::all_of(products, [&](std::size_t p) { return *sums.now[p] == accumulator; });
}

/// One sentence why these products cannot have the accumulator, with the product's name if there are several; "": they can.
std::string reason_against(const Sums& sums, std::span<const std::size_t> products, Accumulator accumulator) {
  for (const std::size_t p : products)
    if (const std::string why = sums.why_not(p, accumulator); !why.empty())
      return products.size() == 1 ? why + "." : fmt::format("{}: {}.", sums.titles[p], why);
  return "";
}

/// Reason why the current accumulators are impossible; "": possible.
std::string reason_against_now(const Sums& sums) {
  std::string text;
  for (const std::size_t p : products_of(sums, 0)) text += reason_against(sums, {&p, 1}, *sums.now[p]);
  return text;
}

/// "q·k: blocks of 16, 25 bits, towards zero to fp32; recorded", one line for each product on tensor cores.
std::string rules_text(const Sums& sums, std::span<const std::size_t> products, std::optional<Accumulator> a = {}) {
  std::string text;
  for (const std::size_t p : products)
    if (const auto rule = sums.rule(p, a.value_or(*sums.now[p])))
      text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", sums.titles[p], rule_text(*rule));
  return text;
}

/// Weakest evidence among the products' rules, "model, not recorded"; "" if all are recorded.
std::string evidence_text(const Sums& sums, std::span<const std::size_t> products, Accumulator a) {
  SumEvidence least = SumEvidence::recorded;
  for (const std::size_t p : products)
    if (const auto rule = sums.rule(p, a)) least = std::max(least, rule->evidence);
  if (least == SumEvidence::recorded) return "";
  if (least == SumEvidence::model) return "model, not recorded";
  if (least == SumEvidence::recorded_without_c) return "recorded for c = 0";
  return least == SumEvidence::recorded_to_32 ? "recorded for K up to 32" : "recorded for K up to 4";
}

/// Short description of an accumulator, without the remark after the colon.
std::string_view meaning_of(Accumulator a) {
  if (a == Accumulator::fma) return "one chain, rounded as set by the steps";
  if (a == Accumulator::f64) return "in fp64, rounded to fp32 at the end";
  const std::string_view what = tensor_core_texts[static_cast<std::size_t>(gpu_of(a))].what;
  return what.substr(0, what.find(':'));
}

std::string explanation(Accumulator a, const Sums& sums) {
  if (a == Accumulator::fma) return fmt::format("One chain of fma in the working type, rounded as set by {}.", sums.steps);
  if (a == Accumulator::f64)
    return "A chain of fma in fp64: nearly exact. It is rounded to fp32 at the end of q.k, and in P.V after every 64 keys of a "
           "tile.";
  return fmt::format("The tensor cores of {} ({}), bit for bit, with sums in {}.", name(gpu_of(a)),
                     tensor_core_texts[static_cast<std::size_t>(gpu_of(a))].what, sums_of(a) == SumType::f16 ? "fp16" : "fp32");
}

using Products = std::span<const std::size_t>;

/// A button of one accumulator.
void choose_accumulator(const Sums& sums, Products products, Accumulator a, const char* text, ImVec2 size) {
  const std::string reason = reason_against(sums, products, a);
  const bool is_set = has_accumulator(sums, products, a);
  const bool pressed = if_possible(reason.empty(), [&] { return ImGui::Selectable(text, is_set, 0, size); });
  const std::string what = explanation(a, sums);
  explain(reason.empty() ? what : what + " Not here: " + reason, reason.empty() ? rules_text(sums, products, a) : "");
  if (!pressed) return;
  for (const std::size_t p : products) *sums.now[p] = a;
}

/// A line of the list: accumulator, description, evidence of its rule, and its variant with fp16 sums.
void accumulator_line(const Sums& sums, Products products, Accumulator a, float width) {
  const float f16 = is_tensor_core(a) ? px(44) : 0;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  choose_accumulator(sums, products, a, std::string(name(a)).c_str(), {width - f16, 0});
  const float right = at.x + width - f16 - px(10);
  draw_text({at.x + px(64), at.y}, Face::small, colours().secondary, meaning_of(a));
  draw_text({right, at.y}, Face::small, colours().moved, evidence_text(sums, products, a), 1);
  if (!is_tensor_core(a)) return;
  const auto in_fp16 = static_cast<Accumulator>(static_cast<std::size_t>(a) + tensor_core_texts.size());
  ImGui::SameLine(0, 0);
  choose_accumulator(sums, products, in_fp16, fmt::format("f16###{}", name(in_fp16)).c_str(), {f16, 0});
}

constexpr std::array<Choice, 3> flush_choices{{
    {"as the policy", "Never if P.V continues in O under the policy, else after every tile."},
    {"never", "The sum of P.V is O: the bits that a block cuts off grow with the number of tiles."},
    {"every n tiles", "After every n tiles the sum is added to O in fp32 and starts at 0 again."},
}};

void edit_flush(Method& m) {
  const Parameter& about = parameter("flush");
  if (!matters(about, m)) return;
  begin_option("flush", m.flush != flush_of_policy);
  int chosen = m.flush == flush_of_policy ? 0 : m.flush == 0 ? 1 : 2;
  if (segmented("flush", flush_choices, chosen, px(300)))
    m.flush = chosen == 0 ? flush_of_policy : chosen == 1 ? 0 : std::max(m.flush, 4);
  if (m.flush < 1) return;
  begin_option("tiles", false);
  whole_field("##flush", m.flush, 1, max_tile);
  explain(about.sentence, about.formula);
}

/// The products that the list sets, as buttons.
void choose_products(const Sums& sums, int& target, float width) {
  std::vector<std::string> texts;
  std::vector<Choice> targets{{sums.titles.size() == 2 ? "both" : "all", "The list sets the accumulators of all products."}};
  for (const std::string_view title : sums.titles) texts.push_back(fmt::format("The list sets the accumulator of {}.", title));
  for (std::size_t i = 0; i < texts.size(); ++i) targets.push_back({sums.titles[i], texts[i]});
  segmented("sums of", targets, target, width);
}

void edit_popup(const Sums& sums) {
  const float width = px(option_name_width + 300);
  int* const target = ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("target"), 0);
  if (ImGui::IsWindowAppearing()) *target = 0;
  choose_products(sums, *target, width);
  const std::vector<std::size_t> products = products_of(sums, *target);
  const WithFace f(Face::mono);
  for (std::size_t i = 0; i < static_cast<std::size_t>(Accumulator::v100_f16); ++i)
    accumulator_line(sums, products, static_cast<Accumulator>(i), width);
}

/// Text of the closed field: "h100", "h100, fma" (q.k, P.V).
std::string preview_of(const Sums& sums) {
  std::string text(name(*sums.now.front()));
  if (!has_accumulator(sums, products_of(sums, 0), *sums.now.front()))
    for (std::size_t p = 1; p < sums.now.size(); ++p) text.append(", ").append(name(*sums.now[p]));
  return text;
}

/// A combo of the sums; `more`: drawn under the list. `about`: the tooltip of the closed field.
void sums_combo(const Sums& sums, const std::string& preview, std::string_view about, Colour colour, float width,
                const std::function<void()>& more = {}) {
  const std::string reason = reason_against_now(sums);
  const auto choose = [&] {
    edit_popup(sums);
    if (more) more();
  };
  column_combo("##sums", preview, {reason.empty() ? colour : colours().bad, width}, choose, [&] {
    explain(reason.empty() ? fmt::format("{} Now {}.", about, preview) : reason, rules_text(sums, products_of(sums, 0)));
  });
}

}  // namespace

void edit_sums(const Experiment& e, Method& m, Colour colour, float width) {
  if (!is_emulated(m.algorithm)) {
    if_possible(false, [&] { return begin_combo("##sums", "its own", width); });
    return explain("This method is not emulated: its sums are fixed.");
  }
  const auto why_not = [&](std::size_t p, Accumulator a) {
    return why_no_accumulator(e, m, static_cast<AttentionProduct>(p), a);
  };
  const auto rule = [&](std::size_t p, Accumulator a) -> std::optional<TensorCoreRule> {
    if (!why_not(p, a).empty()) return {};
    Method tried = m;
    tried.accumulator = {a, a};
    return tensor_core_rule_of(e, tried, static_cast<AttentionProduct>(p));
  };
  const Sums sums{{"q·k", "P·V"}, {&m.accumulator.qk, &m.accumulator.pv}, why_not, rule, "qk_step and pv_step"};
  std::string preview = preview_of(sums);
  if (m.flush != flush_of_policy && matters(parameter("flush"), m)) preview += fmt::format(" flush {}", m.flush);
  sums_combo(sums, preview, parameter("accumulator").sentence, colour, width, [&] { edit_flush(m); });
}

void edit_gradient_sums(const GradTarget& t, Colour colour, float width) {
  GradMethod& g = t.gradient();
  GradAccumulators& a = g.accumulator;
  const auto with = [&](Accumulator x) {
    GradMethod tried = g;
    tried.accumulator = {x, x, x, x};
    return tried;
  };
  const auto why_not = [&](std::size_t p, Accumulator x) {
    return why_no_accumulator(t.e, t.method(), with(x), static_cast<GradProduct>(p));
  };
  const auto rule = [&](std::size_t p, Accumulator x) -> std::optional<TensorCoreRule> {
    if (!why_not(p, x).empty()) return {};
    return tensor_core_rule_of(t.e, t.method(), with(x), static_cast<GradProduct>(p));
  };
  const Sums sums{{grad_product_names.begin(), grad_product_names.end()},
                  {&a.dP, &a.dV, &a.dK, &a.dQ},
                  why_not,
                  rule,
                  "dp_step, dv_step, dk_step and dq_step"};
  sums_combo(sums, preview_of(sums),
             "Each product of the backward pass is a chain of fma, or is accumulated as on tensor cores.", colour, width);
}

}  // namespace attoscope::ui
