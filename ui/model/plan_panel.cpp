// The panel of the plan: checkpoint, text, methods, surroundings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <stdexcept>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"
#include "kernels/model/surroundings.h"
#include "ui/controls/controls.h"
#include "ui/model/panels.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<ModelText, Choice> model_texts{{
    {"chronicle", "The training text of Train: the chronicle of an invented country."},
    {"licence", "The licence of this program, ordinary English."},
    {"own", "A text typed below."},
    {"file",
     "A UTF-8 text, split by the checkpoint's own tokenizer, or tokens in a tensor file (.npy, .safetensors, .pt): whole "
     "numbers [n]; or random:1, 1024 random tokens from the seed 1."},
}};
constexpr std::array<Choice, around_preset_names.size()> presets{{
    {"exact", "Everything around attention in double, without rounding: all differences come from attention."},
    {"fp32", "Every operation in fp32."},
    {"hf_bf16", "As the modules of Hugging Face in bf16, operation by operation."},
    {"fused", "As in a fused engine: norm, rotary embedding and gated MLP round once, at their end."},
}};
constexpr std::array<std::string_view, 6> step_formats{"exact", "fp32", "bf16", "fp16", "tf32", "e4m3"};

/// A text of one line, stored in `path` on Enter or when the field loses the focus.
void path_line(const char* id, const char* hint, std::string& typed, std::string& path, float width) {
  const WithField f(Face::mono);
  if (!ImGui::IsAnyItemActive()) typed = path;
  ImGui::SetNextItemWidth(width);
  ImGui::InputTextWithHint(id, hint, &typed);
  if (ImGui::IsItemDeactivatedAfterEdit()) path = typed;
}

void edit_checkpoint(const ModelScene& s, float width) {
  const float button = px(64), gap = px(8);
  path_line("##checkpoint", "folder or FILE.gguf", s.state.typed_checkpoint, s.plan().checkpoint, width - button - gap);
  explain(
      "A folder with config.json and .safetensors, or a .gguf, of the layouts Llama, Mistral, Qwen2 and Qwen3; or "
      "random:1, a small model with random weights from the seed 1, as in the lesson on the next token. Empty: the "
      "SmolLM2-135M that app/fetch-model downloads. A checkpoint can be dropped on the window.");
  ImGui::SameLine(0, gap);
  if (push_button("open …###open checkpoint", false, {button, 0})) ImGui::OpenPopup("checkpoints");
  explain("The desktop's dialog for a .gguf or a config.json, and the checkpoints of earlier runs.");
  if (begin_panel_popup("checkpoints")) {
    if (if_possible(s.input.sessions.has_dialogs, [] { return ImGui::Selectable("by the desktop's dialog …###dialog"); }))
      s.requests.files.ask = FileUse::model;
    if (ImGui::Selectable("SmolLM2 of app/fetch-model###fetched", s.plan().checkpoint.empty())) s.plan().checkpoint.clear();
    for (const std::string& file : s.model().recent)
      if (ImGui::Selectable((fitted(Face::label, file, px(440)) + "###" + file).c_str(), file == s.plan().checkpoint))
        s.plan().checkpoint = file;
    ImGui::EndPopup();
  }
  if (!s.model().reading) return wrapped(Face::small, colours().secondary, "Checkpoint and text are being read.", width);
  const ModelReading& r = *s.model().reading;
  if (!r.about.empty()) wrapped(Face::small, colours().secondary, r.name + ", " + r.about + ".", width);
  if (r.about.empty() && !r.asked.checkpoint.empty()) wrapped(Face::small, colours().bad, r.wrong, width);
}

void edit_text(const ModelScene& s, float width) {
  ModelPlan& plan = s.plan();
  segmented("text", model_texts, plan.text, width);
  if (plan.text == ModelText::file)
    path_line("##text file", "folder/text.txt or tokens.npy", s.state.typed_file, plan.file, width);
  if (plan.text == ModelText::typed) {
    const WithField f(Face::label);
    if (!ImGui::IsAnyItemActive()) s.state.typed_text = plan.typed;
    ImGui::InputTextMultiline("##own text", &s.state.typed_text, {width, px(96)}, ImGuiInputTextFlags_WordWrap);
    if (ImGui::IsItemDeactivatedAfterEdit()) plan.typed = s.state.typed_text;
    explain("Any text; the checkpoint's own tokenizer splits it, and adds no token in front.");
  }
  slider({.name = "tokens", .from = 16, .to = 1024, .least = 0, .most = most_model_tokens, .powers = true}, plan.limit);
  explain("The number of tokens, from the start of the text; 0: all. The time grows with it.");
  if (s.model().reading && s.model().reading->all_tokens > 0)
    label(Face::mono_small, colours().faint,
          fmt::format("{} of {} tokens", s.model().reading->tokens.size(), s.model().reading->all_tokens));
}

/// Algorithm, policy and options of a and b, shared with Explore.
void edit_methods(const ModelScene& s, float width) {
  Experiment& e = s.session.experiment;
  const float gap = px(6), column = std::floor((width - gap) / 2);
  const ImVec2 from = ImGui::GetCursorScreenPos();
  PanelInput input;
  input.choices.no_hardware = "The heads of a model run only emulated methods.";
  for (const bool of_b : {false, true}) {
    const WithField f(Face::mono_small, 22);
    const float left = from.x + (of_b ? column + gap : 0);
    Method& m = of_b ? e.b : e.a;
    const Colour colour = of_b ? colours().b : colours().a;
    const WithId id(of_b ? "b" : "a");
    ImGui::SetCursorScreenPos({left, from.y});
    edit_algorithm(m, e, input, colour, column);
    ImGui::SetCursorScreenPos({left, from.y + px(26)});
    edit_preset(e, of_b, colour, column);
    ImGui::SetCursorScreenPos({left, from.y + px(52)});
    edit_method_options(m, e.format, column, px(22));
  }
  ImGui::SetCursorScreenPos({from.x, from.y + px(80)});
  edit_format("main format", e);
  ImGui::Dummy({0, px(3)});
  label(Face::label, colours().secondary, "only in layer, or layer:head");
  path_line("##only", "every layer; 7 or 7:4: only there", s.state.typed_only, s.plan().only, width);
  explain("A layer, or a layer and its head, counted from 0: a and b run only there, and golden attention elsewhere.");
  if (push_button("edit in Explore###edit methods", false, {width, 0})) s.session.view.workspace = Workspace::explore;
  explain("a, b and the main format are shared with Explore, where every rounding step, sum and scale can be changed.");
}

/// Splits into the preset's name and the changes after it: ",norm=fp16".
std::pair<std::string, std::string> parts_of_around(const std::string& text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  return {text.substr(0, comma), text.substr(comma)};
}

/// A line of the popup: a name and a list of values. `text_with` returns the whole text with a value, or throws: the value is
/// then greyed, with the reason as tooltip. True if `text` changed.
bool edit_around_line(std::string_view name, std::string_view meaning, const std::string& now, const std::string& usual,
                      std::span<const std::string_view> offered, const std::function<std::string(std::string_view)>& text_with,
                      std::string& text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text({at.x, at.y + px(4)}, Face::mono_small, now == usual ? colours().secondary : colours().accent, std::string(name));
  ImGui::SetCursorScreenPos({at.x + px(130), at.y});
  const WithField f(Face::mono_small, 22);
  if (!begin_combo(("##" + std::string(name)).c_str(), now, px(110))) {
    explain(fmt::format("{}.", meaning), "as the preset: " + usual);
    return false;
  }
  bool changed = false;
  for (const std::string_view value : offered) {
    if (value.empty()) continue;
    std::string with, refusal;
    try {
      with = text_with(value);
    } catch (const std::invalid_argument& error) {
      refusal = error.what();
    }
    const auto flags = refusal.empty() ? ImGuiSelectableFlags_None : ImGuiSelectableFlags_Disabled;
    if (ImGui::Selectable(std::string(value).c_str(), now == value, flags)) {
      text = with;
      changed = true;
    }
    if (!refusal.empty()) explain(refusal + ".");
  }
  ImGui::EndCombo();
  return changed;
}

/// Every step and choice around attention.
void edit_around_lines(const std::string& preset, const Surroundings& around, std::string& text) {
  const Surroundings usual = surroundings(preset);
  for (const AroundStepInfo& step : around_steps) {
    const auto with = [&](std::string_view value) {
      Surroundings s = around;
      s[step.step] = parse_rounding(value);
      std::string all = surroundings_text(preset, s);
      surroundings(all);
      return all;
    };
    if (edit_around_line(step.name, step.meaning, rounding_text(around[step.step]), rounding_text(usual[step.step]),
                         step_formats, with, text))
      return;
  }
  for (const AroundChoice& choice : around_choices) {
    const auto with = [&](std::string_view value) {
      const std::string all = fmt::format("{},{}={}", surroundings_text(preset, around), choice.name, value);
      return surroundings_text(preset, surroundings(all));
    };
    if (edit_around_line(choice.name, choice.meaning, choice.text(around), choice.text(usual), choice.offered, with, text))
      return;
  }
}

void edit_surroundings(const ModelScene& s, float width) {
  std::string& text = s.plan().around;
  const auto [preset, changes] = parts_of_around(text);
  const auto* const found = std::ranges::find(around_preset_names, preset);
  int chosen = found == around_preset_names.end() ? -1 : static_cast<int>(found - around_preset_names.begin());
  if (segmented("around", presets, chosen, width)) text = around_preset_names[static_cast<std::size_t>(chosen)];
  Surroundings around;
  try {
    around = surroundings(text);
  } catch (const std::invalid_argument& error) {
    return wrapped(Face::small, colours().bad, error.what() + std::string("."), width);
  }
  const auto count = std::ranges::count(changes, ',');
  if (push_button(count > 0 ? fmt::format("steps {}###around steps", count).c_str() : "steps###around steps", false,
                  {width, 0}))
    ImGui::OpenPopup("around attention");
  explain(
      "The format of each step around attention in a and b, and how projections and the loss are summed. The number counts "
      "those that differ from the preset.",
      text);
  if (begin_panel_popup("around attention")) {
    edit_around_lines(preset, around, text);
    ImGui::EndPopup();
  }
  toggle("yardsticks", s.plan().yardsticks);
  explain(
      "Two more runs: everything in bf16 as in Hugging Face, compared with exact, and the same with another order of sums, "
      "compared with the first. Without them a run takes three fifths of the time.");
}

void edit_against(const ModelScene& s, float width) {
  const float button = px(64), gap = px(8);
  path_line("##against", "captured.safetensors", s.state.typed_against, s.plan().against, width - button - gap);
  takes_files(FileUse::captured_run);
  explain(
      "Activations by layer, or log-probabilities, of the same tokens in another program, saved by attoscope.capture(..., "
      "everything=True). The next run names the first tensor that differs by more than its tolerance, and why. "
      "Empty: none. A file can be dropped here.");
  ImGui::SameLine(0, gap);
  if (push_button("open …###open captured run", false, {button, 0}, s.input.sessions.has_dialogs))
    s.requests.files.ask = FileUse::captured_run;
  explain("The desktop's dialog for the file.");
}

}  // namespace

void draw_model_plan(const ModelScene& s) {
  const float width = ImGui::GetContentRegionAvail().x;
  label(Face::section, colours().faint, "CHECKPOINT");
  edit_checkpoint(s, width);
  section("TEXT");
  edit_text(s, width);
  section("ATTENTION");
  edit_methods(s, width);
  section("AROUND ATTENTION");
  edit_surroundings(s, width);
  section("AGAINST A CAPTURED RUN");
  edit_against(s, width);
}

}  // namespace attoscope::ui
