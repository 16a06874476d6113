// Sliders and menus for the keys of an experiment that a lesson hands to its reader.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr float name_width = 90;

/// A control of a parameter: a slider of whole numbers, a row of choices, a menu of words, or a switch. Its explanation is in
/// the table of parameters.
struct Control {
  std::string_view key;
  Slider slider{};                            ///< with a name: a slider
  std::span<const Choice> choices{};          ///< buttons of a row
  std::span<const std::string_view> words{};  ///< entries of a menu
  const char* title = nullptr;                ///< beside a menu or a row; null: the key
};

/// The named formats but fp64, whose errors are too small to show.
constexpr std::array narrow_formats = [] {
  std::array<Choice, named_formats.size() - 1> words{};
  std::size_t count = 0;
  for (const NamedFormat& f : named_formats)
    if (f.format != fp64) words[count++] = {f.name, f.what};
  return words;
}();
constexpr std::array<Choice, 2> masks{
    {{"none", "Every query sees every key."}, {"causal", "A query sees itself and the keys before it."}}};
constexpr std::array<Choice, 5> scales{
    {{"auto", "Every score is q.k / sqrt(d)."},
     {"0.25", "Every score is 0.25 q.k."},
     {"0.5", "Every score is 0.5 q.k."},
     {"1", "Every score is q.k itself: with d = 64 eight times larger than usual, and the softmax sharper."},
     {"2", "Every score is 2 q.k."}}};
constexpr std::array<Choice, 3> betas{
    {{"0", "No mitigation of ties."}, {"2", "A tied tile max is scaled by 2."}, {"8", "A tied tile max is scaled by 8."}}};
constexpr std::array<Choice, 5> accumulators{{{"fma", "One chain of fma."},
                                              {"f64", "A chain of fma in fp64: nearly exact."},
                                              {"a100", "The tensor cores of an A100."},
                                              {"h100", "The tensor cores of an H100."},
                                              {"b200", "The tensor cores of a B200."}}};
constexpr std::array<Choice, 5> flushes{{{"-1", "As the policy says."},
                                         {"0", "Never: one accumulator over all keys."},
                                         {"1", "After every tile."},
                                         {"4", "After every 4 tiles."},
                                         {"64", "After every 64 tiles."}}};
constexpr std::array<Choice, 2> output_gradients{
    {{"normal", "dO is N(0, 1): its signs are random."}, {"ones", "All of dO is 1."}}};
constexpr std::array<Choice, 2> deltas{
    {{"output", "delta = rowsum(dO*O)"}, {"probabilities", "delta = rowsum(P*dP): O takes no part."}}};
using Words = std::string_view[];
constexpr Words storages_QK = {"off",
                               "int8/head",
                               "int8/token",
                               "int8/channel",
                               "e4m3/head",
                               "e4m3/token",
                               "e4m3/block:32/e8m0/ceil",
                               "e4m3/block:32/e8m0/floor",
                               "e2m1/block:16/nvfp4"};
constexpr Words storages_V = {"off",
                              "int8/head",
                              "int8/token",
                              "int8/channel",
                              "e4m3/head",
                              "e4m3/channel",
                              "e4m3/block:32/e8m0/ceil",
                              "e2m1/block:16/nvfp4"};
constexpr Words storages_P = {"off", "e4m3/x1", "e4m3/x256/shift", "e4m3/x448", "e2m1/block:16/e4m3/x2688/shift"};
constexpr Words inputs = {"normal", "uniform", "outliers", "ones", "ties", "ascending", "descending", "shuffled"};

constexpr Words orders = {"ascending", "descending", "shuffled"};

const std::array<Control, 29> controls{{
    {"n", {"N", 16, 4096, 1, 65536, true}},
    {"d", {"d", 8, 256, 1, max_d, true}},
    {"block_k", {"block_k", 1, 2048, 1, max_n, true}},
    {"block_q", {"block_q", 1, 2048, 1, max_n, true}},
    {"mantissa_bits", {"mantissa", 0, 23, 0, max_mantissa_bits}},
    {"exponent_bits", {"exponent", min_exponent_bits, 8, min_exponent_bits, max_exponent_bits}},
    {"seed", {"seed", 1, 32, 0, 1 << 30}},
    {"tau", {"tau", 0, 16, 0, static_cast<int>(max_tau)}},
    {"splits", {"splits", 1, 16, 1, max_splits}},
    {"p_exponent", {"P times 2^", 0, 16, -max_p_exponent, max_p_exponent}},
    {"format", {}, narrow_formats},
    {"mask", {}, masks},
    {"scale", {}, scales},
    {"tie_beta", {}, betas},
    {"accumulator", {}, accumulators},
    {"flush", {}, flushes},
    {"do", {}, output_gradients, {}, "dO"},
    {"a.grad.delta_from", {}, deltas, {}, "delta from"},
    {"a.grad.order", {}, {}, orders, "order, a"},
    {"a.grad.order_seed", {"run", 1, 32, 0, 1 << 30}},
    {"algorithm", {}, {}, emulated_names},
    {"input", {}, {}, inputs},
    {"scaling.Q", {}, {}, storages_QK, "Q stored"},
    {"scaling.K", {}, {}, storages_QK, "K stored"},
    {"scaling.V", {}, {}, storages_V, "V stored"},
    {"scaling.P", {}, {}, storages_P, "P stored"},
    {"a.scaling.hadamard"},
    {"a.scaling.smooth_K"},
    {"a.scaling.smooth_V"},
}};

const Parameter& about(const Control& c) {
  const Parameter* const found = find_parameter(c.key);
  return found != nullptr ? *found : *parameter_at(c.key);
}

/// The value of the control's parameter as text.
std::string value_text(const Experiment& e, const Control& c) {
  if (c.key == "mantissa_bits") return std::to_string(e.format.mantissa_bits);
  if (c.key == "exponent_bits") return std::to_string(e.format.exponent_bits);
  if (c.key == "scale" && e.problem.scale == 0) return "auto";
  const Settings all = settings_to_read(e);
  return text(*find(all, c.key == "accumulator" ? "a.accumulator.pv" : about(c).path));
}

std::optional<Step> step_called(std::string_view text) {
  for (int i = 0; i < step_count; ++i)
    if (name(static_cast<Step>(i)) == text) return static_cast<Step>(i);
  return {};
}

/// Removes the reader's changes that another change overrides.
template <class Void>
void forget(LessonScene& scene, Void is_void) {
  std::erase_if(scene.edits.changes, [&](const LessonParameter& p) { return is_void(p.key); });
}

void put_name(std::string_view text) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::label, colours().secondary, text);
  ImGui::SetCursorScreenPos({at.x + px(name_width), at.y});
}

void edit_number(LessonScene& scene, const Control& c) {
  constexpr double most = 0x7fffffff;
  int value = static_cast<int>(std::min(to_number<double>(value_text(scene.experiment, c)).value_or(0), most));
  if (slider(c.slider, value)) change(scene, c.key, std::to_string(value));
  explain(about(c).sentence, about(c).formula);
}

void edit_choice(LessonScene& scene, const Control& c) {
  const auto found = std::ranges::find(c.choices, value_text(scene.experiment, c), &Choice::label);
  int chosen = found == c.choices.end() ? -1 : static_cast<int>(found - c.choices.begin());
  put_name(c.title == nullptr ? c.key : std::string_view(c.title));
  if (!segmented(std::string(c.key).c_str(), c.choices, chosen)) return;
  if (c.key == "format") forget(scene, [](std::string_view key) { return key == "mantissa_bits" || key == "exponent_bits"; });
  change(scene, c.key, std::string(c.choices[static_cast<std::size_t>(chosen)].label));
}

/// The menu's word for a value: a storage can be written in several ways.
std::string word_of(const Control& c, const std::string& value) {
  const bool stored = c.key.starts_with("scaling.");
  for (const std::string_view word : c.words)
    if (stored && parse_scaling(word) == parse_scaling(value)) return std::string(word);
  return value;
}

void edit_menu(LessonScene& scene, const Control& c) {
  put_name(c.title == nullptr ? c.key : std::string_view(c.title));
  const WithField f(Face::mono);
  const std::string now = word_of(c, value_text(scene.experiment, c));
  if (!begin_combo(("##" + std::string(c.key)).c_str(), now, ImGui::GetContentRegionAvail().x))
    return explain(about(c).sentence);
  for (const std::string_view word : c.words)
    if (ImGui::Selectable(std::string(word).c_str(), word == now)) change(scene, c.key, std::string(word));
  ImGui::EndCombo();
}

void edit_flag(LessonScene& scene, const Control& c) {
  bool on = value_text(scene.experiment, c) == "true";
  if (toggle(std::string(about(c).label).c_str(), on)) change(scene, c.key, on ? "true" : "false");
  explain(about(c).sentence, about(c).formula);
}

/// A list of the named rounding policies: `policy` is a's, `baseline` b's.
void edit_named_policy(LessonScene& scene, bool of_a) {
  put_name(of_a ? "policy" : "baseline");
  const WithField f(Face::mono);
  const Method before = of_a ? scene.experiment.a : scene.experiment.b;
  Method method = before;
  const WithId id(of_a ? "policy" : "baseline");
  edit_policy(method, of_a ? colours().a : colours().b, ImGui::GetContentRegionAvail().x);
  if (method == before) return;
  forget(scene, [of_a](std::string_view key) {  // fields that belong to the rounding policy
    if (!key.starts_with(of_a ? "a." : "b.")) return false;
    const std::string_view field = key.substr(2);
    return step_called(field) || field == "sum_rounded_P" || field == "accumulate_in_O";
  });
  change(scene, of_a ? "policy" : "baseline", std::string(policy_name(method.precision, method.algorithm)));
}

/// A switch that rounds one step of a method to D.
void edit_step(LessonScene& scene, const std::string& key) {
  const Step step = *step_called(std::string_view(key).substr(2));
  const Method& method = key[0] == 'a' ? scene.experiment.a : scene.experiment.b;
  bool rounded = method.precision[step].kind != Rounding::Kind::exact;
  if (toggle((key + " rounded").c_str(), rounded)) change(scene, key, rounded ? "main" : "exact");
  explain("Rounds " + std::string(name(step)) + " to the main format: " + std::string(info(step).what) + ".",
          "x -> round(D, x)");
}

/// Every key that a lesson may offer a control for.
std::string known_keys() {
  std::string text;
  for (const Control& c : controls) text += std::string(c.key) + ", ";
  return text + "policy, baseline or a step such as a.O";
}

/// Draws the control of a key; false if there is none.
bool draw_control(LessonScene& scene, const std::string& key) {
  if (const auto c = std::ranges::find(controls, key, &Control::key); c != controls.end()) {
    const auto draw = c->slider.name != nullptr ? edit_number
                      : !c->choices.empty()     ? edit_choice
                      : !c->words.empty()       ? edit_menu
                                                : edit_flag;
    draw(scene, *c);
    return true;
  }
  if (key == "policy" || key == "baseline") {
    edit_named_policy(scene, key == "policy");
    return true;
  }
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
  take_room(at, {scene.width, lines * row});
  return "";
}

}  // namespace attoscope::ui
