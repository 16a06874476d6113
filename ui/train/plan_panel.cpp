// The panel of the plan: models, methods, recipe and text.
#include <fmt/format.h>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/train/plan/plan_settings.h"
#include "ui/train/panels.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<TrainKind, Choice> kinds{{
    {"pair", "Two models that differ only in their attention."},
    {"bands", "The same, and as a scale for a − b other differences: another seed and other formats."},
    {"bisect", "a with one piece at a time made exact: without which piece does the deviation, or the failure, go away?"},
    {"replay", "a's step from b's state at every measured step: the direct effect of the method, without feedback."},
}};
constexpr EnumArray<BisectBy, Choice> pieces{{
    {"step", "Every rounding step of a's forward pass is made exact by itself."},
    {"gradient", "Every rounding step of a's backward pass is made exact by itself."},
    {"layer", "Every layer's attention is made exact by itself."},
    {"head", "Every head's attention is made exact by itself."},
}};
constexpr EnumArray<Norm, Choice> norms{{
    {"LayerNorm", "(x − mean) / √(variance + ε) · gain + bias"},
    {"RMSNorm", "x / √(mean of x² + ε) · gain"},
}};

/// A switch that also trains a model with exact attention; its help names the cost.
void edit_exact(const TrainScene& s) {
  TrainPlan others_alone = s.plan();
  others_alone.with_exact = false;
  const std::size_t others = runs_of(others_alone).runs.size();
  toggle("exact attention too", s.plan().with_exact);
  explain(
      fmt::format("Trains one more model, b with exact attention, and compares a and b with it: a − exact is what a's "
                  "rounding changes, b − exact what b's does. A step takes about {} / {} of the time.",
                  others + 1, others));
}

void edit_kind(const TrainScene& s, float width) {
  TrainPlan& plan = s.plan();
  segmented("kind", kinds, plan.kind, width);
  if (plan.kind == TrainKind::bisect) segmented("bisect", pieces, plan.bisect, width);
  if (may_add_exact(plan.kind)) edit_exact(s);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(3)});
  wrapped(Face::small, colours().secondary, named(plan, kind_words(plan.kind)), width);
  ImGui::PopStyleVar();
  ImGui::Dummy({0, px(1)});
  const TrainRuns all = runs_of(plan);
  const std::string sizes = fmt::format("{} models side by side, {}", all.runs.size(), counted(all.pairs.size(), "comparison"));
  wrapped(Face::mono_small, colours().faint, sizes, width);
  complain(s, PlanPart::kind, width);
}

void edit_model(const TrainScene& s, float width) {
  ModelShape& m = s.plan().model;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  slider({"layers", 1, max_layers, 1, max_layers}, m.layers);
  explain("Blocks of attention and MLP.");
  slider({"width", 32, max_width, 8, max_width, true}, m.width);
  explain("Numbers per character in the residual stream; the MLP is four times as wide. A multiple of the heads.",
          "d = width / heads");
  slider({"heads", 1, max_heads, 1, max_heads, true}, m.heads);
  explain("Heads of attention in every layer.", fmt::format("d = {} / {}", m.width, m.heads));
  slider({"context", 16, max_context, 8, max_context, true}, m.context);
  explain("The largest number of characters that attention sees: its N, with a causal mask.");
  ImGui::PopStyleVar();
  segmented("norm", norms, m.norm, width);
  complain(s, PlanPart::model, width);
}

/// An option of the popup `more`; `step`: the step of its buttons, 0: no buttons.
struct MoreOption {
  std::string_view path;
  double step = 0;
};
constexpr std::array<MoreOption, 6> optimiser_options{{{"recipe.final_rate"},
                                                       {"recipe.beta1", 0.01},
                                                       {"recipe.beta2", 0.01},
                                                       {"recipe.epsilon"},
                                                       {"recipe.weight_decay", 0.01},
                                                       {"recipe.clip", 0.5}}};
constexpr std::array<MoreOption, 7> other_options{{{"recipe.seed"},
                                                   {"recipe.data_seed"},
                                                   {"recipe.loss_scale"},
                                                   {"recipe.scale_growth"},
                                                   {"recipe.held_out", 0.05},
                                                   {"measure_every"},
                                                   {"checkpoint_every"}}};

bool differs(const Settings& plan, std::string_view path) {
  const TrainPlan usual;
  return text(*find(plan, path)) != text(*find(settings_to_read(usual), path));
}

void edit_options(const TrainScene& s, std::span<const MoreOption> options) {
  const Settings all = settings(s.plan());
  for (const MoreOption& o : options) edit_setting(*find(all, o.path), differs(all, o.path), {.step = o.step});
}

void more_button(const TrainScene& s, float width) {
  const auto is_changed = [all = settings(s.plan())](const MoreOption& o) { return differs(all, o.path); };
  const auto count = std::ranges::count_if(optimiser_options, is_changed) + std::ranges::count_if(other_options, is_changed);
  if (push_button(count > 0 ? fmt::format("more {}###more", count).c_str() : "more###more", false, {width, 0}))
    ImGui::OpenPopup("more of the recipe");
  explain("Optimiser, seeds, loss scale, and how often to measure and keep. The number counts changed options.");
  in_popup("more of the recipe", [&] {
    label(Face::section, colours().faint, "OPTIMISER");
    edit_options(s, optimiser_options);
    section("SEEDS, SCALE, MEASURES");
    edit_options(s, other_options);
  });
}

void edit_recipe(const TrainScene& s, float width) {
  Recipe& r = s.plan().recipe;
  constexpr int usual_steps = 2000;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  slider({"steps", 10, usual_steps, 1, max_train_steps}, r.steps);
  explain("Steps of the whole training; the learning rate's cosine ends with them.");
  slider({"batch", 1, 64, 1, max_batch, true}, r.batch);
  explain("Sequences in the batch of a step.",
          fmt::format("{} x {} = {} characters a step", r.batch, s.plan().model.context, r.batch * s.plan().model.context));
  slider({"warm-up", 0, 200, 0, max_train_steps}, r.warmup);
  explain("Steps in which the learning rate rises from 0.", "rate_t = rate t / warm-up");
  slider({"seeds", 1, 10, 1, max_train_seeds}, s.look().seeds);
  explain(
      "The number of trainings, one after the other; their seeds of weights and batches count up from the plan's. The curves "
      "are of the first training, and their bands reach from the least to the greatest of all.");
  ImGui::PopStyleVar();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::label, colours().secondary, "rate");
  ImGui::SetCursorScreenPos({at.x + px(90), at.y});
  const float more = px(72);
  real_field("##rate", r.rate, {.min = 0, .max = 10}, 0, (width - px(90) - more - px(8)) / px(1));
  explain("The learning rate after the warm-up; it then falls along a cosine to the final rate.", "AdamW, arXiv 1711.05101");
  ImGui::SameLine(0, px(8));
  more_button(s, more);
  complain(s, PlanPart::recipe, width);
}

void edit_text(const TrainScene& s, float width) {
  TextSource& text = s.plan().text;
  std::string& typed = s.state.typed_text;
  const float button = px(80);
  if (!ImGui::IsAnyItemActive()) typed = text.file;
  {
    const WithField f(Face::mono);
    ImGui::SetNextItemWidth(width - button - px(8));
    if (ImGui::InputTextWithHint("##text", "folder/text.txt", &typed, ImGuiInputTextFlags_EnterReturnsTrue) &&
        typed != text.file) {
      text = {};
      text.file = typed;
    }
  }
  explain("The path of your own UTF-8 text file; Enter reads it. It is learned character by character.");
  ImGui::SameLine(0, px(8));
  if (push_button("embedded###embedded text", text.file.empty(), {button, 0}) && !text.file.empty()) text = {};
  explain("The text that comes with the program: the chronicle of an invented country, the same on every machine.");
  wrapped(Face::small, colours().secondary, s.progress().text.empty() ? "The text is being read." : s.progress().text, width);
  complain(s, PlanPart::text, width);
}

}  // namespace

PlanPart part_of(std::string_view wrong) {
  const auto begins = [&](std::initializer_list<std::string_view> keys) {
    return std::ranges::any_of(keys, [&](std::string_view key) { return wrong.starts_with(key); });
  };
  if (begins({"bisect"})) return PlanPart::kind;
  if (begins({"model."})) return PlanPart::model;
  if (begins({"recipe.", "measure_every", "checkpoint_every"})) return PlanPart::recipe;
  return begins({"a.", "b.", "problem.", "format"}) ? PlanPart::methods : PlanPart::text;
}

void complain(const TrainScene& s, PlanPart part, float width) {
  const std::string& wrong = s.progress().wrong;
  if (wrong.empty() || part_of(wrong) != part) return;
  wrapped(Face::small, colours().bad, wrong, width);
}

void draw_train_plan(const TrainScene& s) {
  const float width = ImGui::GetContentRegionAvail().x;
  label(Face::section, colours().faint, "QUESTION");
  edit_kind(s, width);
  edit_train_methods(s, width);
  section("MODEL");
  edit_model(s, width);
  section("RECIPE");
  edit_recipe(s, width);
  section("TEXT");
  edit_text(s, width);
}

}  // namespace attoscope::ui
