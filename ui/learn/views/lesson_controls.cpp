// Sliders and menus for the keys of an experiment that a lesson hands to its reader.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "imgui.h"
#include "kernels/arithmetic/named_formats.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/presets.h"
#include "ui/controls/controls.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float name_width = 90;

/// A slider for a whole number of the experiment; what it means is in the table of parameters.
struct NumberControl {
  std::string_view key;
  Slider slider;
  int (*get)(const Experiment&);
};
constexpr std::array<NumberControl, 10> numbers{{
    {"n", {"N", 16, 4096, 1, 65536, true}, [](const Experiment& e) { return e.problem.n; }},
    {"d", {"d", 8, 256, 1, max_d, true}, [](const Experiment& e) { return e.problem.d; }},
    {"block_k", {"block_k", 1, 2048, 1, max_n, true}, [](const Experiment& e) { return e.a.block_k; }},
    {"block_q", {"block_q", 1, 2048, 1, max_n, true}, [](const Experiment& e) { return e.a.block_q; }},
    {"mantissa_bits", {"mantissa", 0, 23, 0, max_mantissa_bits}, [](const Experiment& e) { return e.format.mantissa_bits; }},
    {"exponent_bits",
     {"exponent", min_exponent_bits, 8, min_exponent_bits, max_exponent_bits},
     [](const Experiment& e) { return e.format.exponent_bits; }},
    {"seed", {"seed", 1, 32, 0, 1 << 30}, [](const Experiment& e) { return static_cast<int>(e.problem.seed & 0x7fffffffu); }},
    {"tau", {"tau", 0, 16, 0, static_cast<int>(max_tau)}, [](const Experiment& e) { return static_cast<int>(e.a.tau); }},
    {"splits", {"splits", 1, 16, 1, max_splits}, [](const Experiment& e) { return e.a.splits; }},
    {"p_exponent", {"P times 2^", 0, 16, -max_p_exponent, max_p_exponent}, [](const Experiment& e) { return e.a.p_exponent; }},
}};

/// A choice between a few words.
struct WordControl {
  std::string_view key;
  std::array<Choice, 6> words;
  std::size_t count;
  std::string (*get)(const Experiment&);
  std::span<const Choice> all() const { return std::span(words).first(count); }
};
std::string text_of_mask(const Experiment& e) { return std::string(mask_names[static_cast<std::size_t>(e.problem.mask.kind)]); }
std::string text_of_beta(const Experiment& e) { return e.a.tie_beta == 0 ? "0" : std::to_string(std::lround(e.a.tie_beta)); }
std::string text_of_scale(const Experiment& e) { return e.problem.scale == 0 ? "auto" : compact(e.problem.scale); }
/// The named formats but fp64, whose errors are too small to show.
constexpr std::array<Choice, 6> narrow_formats() {
  std::array<Choice, 6> words{};
  std::size_t count = 0;
  for (const NamedFormat& f : named_formats)
    if (f.format != fp64) words[count++] = {f.name, f.what};
  return words;
}
constexpr std::array<WordControl, 6> word_controls{{
    {"format", narrow_formats(), 6, [](const Experiment& e) { return name(e.format); }},
    {"mask",
     {{{"none", "Every query sees every key."}, {"causal", "A query sees itself and the keys before it."}}},
     2,
     text_of_mask},
    {"scale",
     {{{"auto", "Every score is q.k / sqrt(d)."},
       {"0.25", "Every score is 0.25 q.k."},
       {"0.5", "Every score is 0.5 q.k."},
       {"1", "Every score is q.k itself: with d = 64 eight times larger than usual, and the softmax sharper."},
       {"2", "Every score is 2 q.k."}}},
     5,
     text_of_scale},
    {"tie_beta",
     {{{"0", "No mitigation of ties."}, {"2", "A tied tile max is scaled by 2."}, {"8", "A tied tile max is scaled by 8."}}},
     3,
     text_of_beta},
    {"accumulator",
     {{{"fma", "One chain of fma."},
       {"f64", "A chain of fma in fp64: nearly exact."},
       {"a100", "The tensor cores of an A100."},
       {"h100", "The tensor cores of an H100."},
       {"b200", "The tensor cores of a B200."}}},
     5,
     [](const Experiment& e) { return std::string(name(e.a.accumulator.pv)); }},
    {"flush",
     {{{"-1", "As the policy says."},
       {"0", "Never: one accumulator over all keys."},
       {"1", "After every tile."},
       {"4", "After every 4 tiles."},
       {"64", "After every 64 tiles."}}},
     5,
     [](const Experiment& e) { return std::to_string(e.a.flush); }},
}};

/// A menu of many words.
struct MenuControl {
  std::string_view key;
  std::span<const std::string_view> words;
  std::string (*get)(const Experiment&);
  const char* what;
  const char* title = nullptr;  ///< beside it; null: the key
};
constexpr std::array<std::string_view, 9> storages_QK{"off",
                                                      "int8/head",
                                                      "int8/token",
                                                      "int8/channel",
                                                      "e4m3/head",
                                                      "e4m3/token",
                                                      "e4m3/block:32/e8m0/ceil",
                                                      "e4m3/block:32/e8m0/floor",
                                                      "e2m1/block:16/nvfp4"};
constexpr std::array<std::string_view, 8> storages_V{"off",
                                                     "int8/head",
                                                     "int8/token",
                                                     "int8/channel",
                                                     "e4m3/head",
                                                     "e4m3/channel",
                                                     "e4m3/block:32/e8m0/ceil",
                                                     "e2m1/block:16/nvfp4"};
constexpr std::array<std::string_view, 5> storages_P{"off", "e4m3/x1", "e4m3/x256/shift", "e4m3/x448",
                                                     "e2m1/block:16/e4m3/x2688/shift"};
template <ScaledTensor t>
std::string text_of_storage(const Experiment& e) {
  const Scaling& s = e.a.scaling[t];
  const std::string text = scaling_text(s);
  for (const std::span<const std::string_view> words :
       {std::span<const std::string_view>(storages_QK), {storages_V}, {storages_P}})
    for (const std::string_view word : words)
      if (parse_scaling(word) == s) return std::string(word);
  return text;
}
constexpr std::array<std::string_view, 8> inputs{"normal", "uniform",   "outliers",   "ones",
                                                 "ties",   "ascending", "descending", "shuffled"};
constexpr std::array<MenuControl, 6> menus{{
    {"algorithm", emulated_names, [](const Experiment& e) { return std::string(name(e.a.algorithm)); },
     "The order of a's operations."},
    {"input", inputs, [](const Experiment& e) { return std::string(name(e.problem.input.kind)); }, "The source of Q, K and V."},
    {"scaling.Q", storages_QK, text_of_storage<ScaledTensor::Q>, "The elements that Q is stored in, and which share a scale.",
     "Q stored"},
    {"scaling.K", storages_QK, text_of_storage<ScaledTensor::K>, "The elements that K is stored in, and which share a scale.",
     "K stored"},
    {"scaling.V", storages_V, text_of_storage<ScaledTensor::V>, "The elements that V is stored in, and which share a scale.",
     "V stored"},
    {"scaling.P", storages_P, text_of_storage<ScaledTensor::P>, "The elements that P is rounded to, and its factor.",
     "P stored"},
}};

/// A yes or no.
struct FlagControl {
  std::string_view key;
  bool Scalings::* flag;
};
constexpr std::array<FlagControl, 3> flags{{{"a.scaling.hadamard", &Scalings::hadamard},
                                            {"a.scaling.smooth_K", &Scalings::smooth_K},
                                            {"a.scaling.smooth_V", &Scalings::smooth_V}}};

std::optional<Step> step_called(std::string_view text) {
  for (int i = 0; i < step_count; ++i)
    if (name(static_cast<Step>(i)) == text) return static_cast<Step>(i);
  return {};
}
/// True if a field of a method belongs to its rounding policy.
bool is_rounding(std::string_view field) {
  return step_called(field) || field == "sum_rounded_P" || field == "accumulate_in_O";
}

/// Removes the reader's changes that another change overrides.
template <class Void>
void forget(LessonScene& scene, Void is_void) {
  std::erase_if(scene.edits.changes, [&](const LessonParameter& p) { return is_void(p.key); });
}

void put_name(const LessonScene& scene, std::string_view text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_text({at.x, at.y + (px(control_height) - line_height(Face::label)) / 2}, Face::label, scene.colours.secondary, text);
  ImGui::SetCursorScreenPos({at.x + px(name_width), at.y});
}

void edit_number(LessonScene& scene, const NumberControl& c) {
  int value = c.get(scene.experiment);
  if (slider(c.slider, scene.colours, value)) change(scene, c.key, std::to_string(value));
  const ExperimentParameter* const p = find_parameter(c.key);
  explain(p->sentence, p->formula);
}

void edit_word(LessonScene& scene, const WordControl& c) {
  const auto all = c.all();
  const auto found = std::ranges::find(all, c.get(scene.experiment), &Choice::label);
  int chosen = found == all.end() ? -1 : static_cast<int>(found - all.begin());
  put_name(scene, c.key);
  if (!segmented(std::string(c.key).c_str(), scene.colours, all, chosen)) return;
  if (c.key == "format") forget(scene, [](std::string_view key) { return key == "mantissa_bits" || key == "exponent_bits"; });
  change(scene, c.key, std::string(all[static_cast<std::size_t>(chosen)].label));
}

void edit_menu(LessonScene& scene, const MenuControl& c) {
  put_name(scene, c.title == nullptr ? c.key : std::string_view(c.title));
  const WithField f(Face::mono);
  if (!begin_combo(("##" + std::string(c.key)).c_str(), c.get(scene.experiment), ImGui::GetContentRegionAvail().x))
    return explain(c.what);
  for (const std::string_view word : c.words)
    if (ImGui::Selectable(std::string(word).c_str(), word == c.get(scene.experiment))) change(scene, c.key, std::string(word));
  ImGui::EndCombo();
}

void edit_flag(LessonScene& scene, const FlagControl& c) {
  const ExperimentParameter& p = *parameter_at(c.key);
  bool on = scene.experiment.a.scaling.*c.flag;
  if (toggle(std::string(p.label).c_str(), scene.colours, on)) change(scene, c.key, on ? "true" : "false");
  explain(p.sentence, p.formula);
}

/// A list of the named rounding policies: `policy` is a's, `baseline` b's.
void edit_named_policy(LessonScene& scene, bool of_a) {
  put_name(scene, of_a ? "policy" : "baseline");
  const WithField f(Face::mono);
  Method method = of_a ? scene.experiment.a : scene.experiment.b;
  ImGui::PushID(of_a ? "policy" : "baseline");
  const bool chosen = edit_policy(method, of_a ? scene.colours.a : scene.colours.b, ImGui::GetContentRegionAvail().x);
  ImGui::PopID();
  if (!chosen) return;
  forget(scene, [of_a](std::string_view key) { return key.starts_with(of_a ? "a." : "b.") && is_rounding(key.substr(2)); });
  change(scene, of_a ? "policy" : "baseline", std::string(policy_name(method.precision, method.algorithm)));
}

/// A switch that rounds one step of a method to D.
void edit_step(LessonScene& scene, const std::string& key) {
  const Step step = *step_called(std::string_view(key).substr(2));
  const Method& method = key[0] == 'a' ? scene.experiment.a : scene.experiment.b;
  bool rounded = method.precision[step].kind != Rounding::Kind::exact;
  if (toggle((key + " rounded").c_str(), scene.colours, rounded)) change(scene, key, rounded ? "main" : "exact");
  explain("Whether " + std::string(name(step)) + " is rounded to the main format: " + std::string(info(step).what) + ".",
          "x -> round(D, x)");
}

/// Every key that a lesson may offer a control for.
std::string known_keys() {
  std::string text;
  for (const NumberControl& c : numbers) text += std::string(c.key) + ", ";
  for (const WordControl& c : word_controls) text += std::string(c.key) + ", ";
  for (const MenuControl& c : menus) text += std::string(c.key) + ", ";
  for (const FlagControl& c : flags) text += std::string(c.key) + ", ";
  return text + "policy, baseline or a step such as a.O";
}

/// Draws the control of a key; false where there is none.
bool draw_control(LessonScene& scene, const std::string& key) {
  if (const auto number = std::ranges::find(numbers, key, &NumberControl::key); number != numbers.end())
    return edit_number(scene, *number), true;
  if (const auto word = std::ranges::find(word_controls, key, &WordControl::key); word != word_controls.end())
    return edit_word(scene, *word), true;
  if (const auto menu = std::ranges::find(menus, key, &MenuControl::key); menu != menus.end())
    return edit_menu(scene, *menu), true;
  if (const auto flag = std::ranges::find(flags, key, &FlagControl::key); flag != flags.end())
    return edit_flag(scene, *flag), true;
  if (key == "policy" || key == "baseline") return edit_named_policy(scene, key == "policy"), true;
  const bool is_step = (key.starts_with("a.") || key.starts_with("b.")) && step_called(std::string_view(key).substr(2));
  if (is_step) edit_step(scene, key);
  return is_step;
}

}  // namespace

std::string draw_lesson_controls(LessonScene& scene) {
  const std::vector<std::string> keys = list_of(scene, "controls");
  if (keys.empty() || is_on_page(scene)) return "";
  const float gap = px(24), columns = std::max(1.0f, std::floor((scene.width + gap) / px(352))),
              cell = std::floor((scene.width + gap) / columns - gap);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float row = px(28);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto column = static_cast<float>(i % static_cast<std::size_t>(columns)),
               line = static_cast<float>(i / static_cast<std::size_t>(columns));
    ImGui::SetCursorScreenPos({at.x + column * (cell + gap), at.y + line * row});
    const WithWidth within(cell);
    if (!draw_control(scene, keys[i])) return refusal("controls", keys[i], known_keys());
  }
  const float lines = std::ceil(static_cast<float>(keys.size()) / columns);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({scene.width, lines * row});
  return "";
}

}  // namespace attoscope
