// Editor of the plan: varied parameters, measure, seeds; and the ready-made plans.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/letters.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

const std::array<ReadyPlan, 9> ready{{
    {"tile size", "Which tile size?",
     "The error over the keys of a tile, beside the baseline's: under many policies larger tiles mean longer chains of rounded "
     "sums.",
     SweepPlan{.first = {"block_k", "16:1024:x2"}, .seeds = 5}},
    {"format", "Which format?",
     "The error relative to the output for every usual format: each mantissa bit halves it, unless the range ends first.",
     SweepPlan{.first = {"format", "e4m3,e5m2,fp16,bf16,tf32,fp32"}, .relation = SweepRelation::golden}},
    {"bits", "How many mantissa bits?",
     "Each bit halves a rounding error: where the slope changes, the error has another cause.",
     SweepPlan{.first = {"mantissa_bits", "2:16"}}},
    {"statement", "Where does the paper's statement turn?",
     "Flash's error over three-pass attention's under every policy and format: below 1, Flash has the smaller error.",
     SweepPlan{.first = {"policy", "hw,tile,eager,all_tile,all_direct"},
               .second = {"format", "bf16,fp16"},
               .seeds = 5,
               .relation = SweepRelation::ratio}},
    {"length", "What does length do?", "The ratio of the two errors over N, a line for each policy.",
     SweepPlan{.first = {"n", "64:1024:x2"}, .second = {"policy", "hw,tile,eager,all_tile"}, .relation = SweepRelation::ratio}},
    {"tile shape", "Square or long tiles?", "Tiles of one area and five shapes, query rows x keys.",
     SweepPlan{.first = {"tile", "16x256,32x128,64x64,128x32,256x16"}, .seeds = 5, .log_y = false}},
    {"bits and length", "Bits and length",
     "A map of the error over mantissa bits and N: how many bits a longer sequence needs.",
     SweepPlan{.first = {"n", "64:1024:x2"},
               .second = {"mantissa_bits", "4:12"},
               .seeds = 2,
               .relation = SweepRelation::golden,
               .heat_map = true}},
    {"one step", "What does one step cost?", "Only the running output in four formats; the other steps follow the policy.",
     SweepPlan{.first = {"a.O", "exact,fp32,fp16,bf16"}, .seeds = 5}},
    {"stale max", "How stale may the max be?", "Rescales of a row over flash4's threshold tau.",
     SweepPlan{.first = {"tau", "0,1,2,4,8,16"}, .second = {"algorithm", "flash4"}, .measure = "rescales", .log_y = false}},
}};

constexpr EnumArray<ValueForm, Choice> forms{{
    {"list", "A list of values separated by commas."},
    {"linear", "FIRST:LAST:STEP, from the first to the last in equal steps."},
    {"×2", "FIRST:LAST:x2, each twice the previous one; x1.5 and others can be typed."},
}};
constexpr EnumArray<SweepSubject, Choice> subjects{{
    {"a", "The error of method a, from golden; b is drawn, too, if one parameter is varied."},
    {"b", "The error of method b, from golden."},
    {"a − b", "The difference of the two outputs, a - b, independent of golden."},
}};
constexpr EnumArray<SweepRelation, Choice> relations{{
    {"absolute", "The value itself, in the output's unit or in ulps."},
    {"/ golden", "Divided by the RMS of the golden output: inputs and N can be compared."},
    {"a / b", "The error of a over the error of b: below 1, a has the smaller one."},
}};
constexpr EnumArray<SeedSpread, Choice> spreads{{
    {"std", "Bars reach one standard deviation over the seeds (n − 1); on a log axis never below the least seed."},
    {"min–max", "Bars reach from the least to the largest seed."},
}};
constexpr EnumArray<SweepOver, Choice> repeats{{
    {"seeds", "Every combination is computed with several seeds, if something is drawn at random."},
    {"heads", "Every head of the file."},
    {"layers", "The head at this place of every layer."},
    {"windows", "Windows of this many tokens, of every head of the file."},
}};
constexpr std::array<Choice, 2> shapes{{
    {"lines", "A line over the first parameter for each value of the second; values with names are bars or dots."},
    {"heat map", "The first parameter across, the second upwards, the mean as a colour."},
}};

/// Field for the values as text; an edit applies on Enter or when the field loses the focus.
void type_values(const SweepScene& s, std::size_t index, VariedParameter& varied, float width) {
  std::string &typed = s.state.typed[index], &from = s.state.typed_from[index];
  if (from != varied.values) typed = from = varied.values;
  {
    const WithField f(Face::mono);
    ImGui::SetNextItemWidth(width);
    ImGui::InputText("##values", &typed);
  }
  if (ImGui::IsItemDeactivatedAfterEdit()) varied.values = from = typed;
  explain("A list, or a range that leads from its first value to its last. Enter takes it.",
          "16,32,64    16:64:16    16:1024:x2\nbf16,fp16,e5m7    values with commas: q.npy,k.npy,v.npy;normal");
}

/// Every value as a chip, in at most three lines; a click removes the value.
void draw_chips(const std::vector<std::string>& values, VariedParameter& varied, float width) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float height = px(20), gap = px(4), more = px(56);
  ImVec2 at = from;
  std::size_t shown = 0;
  for (int line = 0; shown < values.size(); ++shown) {
    const std::string text = fitted(Face::mono_small, values[shown], width - px(12));
    const float chip = text_width(Face::mono_small, text) + px(12),
                end = line == 2 && shown + 1 < values.size() ? width - more : width;
    if (at.x > from.x && at.x + chip > from.x + end) {
      if (++line == 3 || end < width) break;
      at = {from.x, at.y + height + gap};
    }
    ImGui::SetCursorScreenPos(at);
    const bool pressed = ImGui::InvisibleButton(("##" + values[shown]).c_str(), {chip, height}, ImGuiButtonFlags_EnableNav);
    const bool hot = ImGui::IsItemHovered();
    explain(values.size() > 1 ? "A click removes this value." : "The only value.");
    ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + chip, at.y + height}, hot ? colours().line : colours().raised, px(3));
    draw_in_line({at.x + px(6), at.y}, height, Face::mono_small, colours().text, text);
    if (pressed && values.size() > 1) {
      varied.values = without(values, shown);
      break;
    }
    at.x += chip + gap;
  }
  if (shown < values.size())
    draw_in_line({at.x + px(4), at.y}, height, Face::small, colours().faint, fmt::format("+ {}", values.size() - shown));
  ImGui::SetCursorScreenPos({from.x, at.y + height + px(4)});
}

const SweepParameter* parameter(const SweepScene& s, const std::string& key) {
  if (!s.sweep().offer) return nullptr;
  const auto at = std::ranges::find(s.sweep().offer->parameters, key, &SweepParameter::key);
  return at == s.sweep().offer->parameters.end() ? nullptr : &*at;
}

bool fits(const SweepParameter& p, const std::string& search) {
  return in_small_letters(p.key + " " + p.title + " " + p.what + " " + p.group).find(in_small_letters(search)) !=
         std::string::npos;
}

/// The parameter that Enter takes: the one with the typed key, else the first whose key begins with it, else the first that
/// fits.
const SweepParameter* best_fit(const std::vector<SweepParameter>& all, const std::string& search) {
  const std::string typed = in_small_letters(search);
  const SweepParameter* best = nullptr;
  int rank = 3;
  for (const SweepParameter& p : all) {
    const std::string key = in_small_letters(p.key);
    const int of = key == typed ? 0 : key.starts_with(typed) ? 1 : fits(p, search) ? 2 : 3;
    if (of < rank) {
      best = &p;
      rank = of;
    }
  }
  return best;
}

/// A parameter: key and title. True if it was clicked.
bool parameter_entry(const SweepParameter& p, bool chosen) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = px(22), key_width = px(128), width = px(400);
  const bool pressed = ImGui::Selectable(("##" + p.key).c_str(), chosen, 0, {width, height});
  const Colour ink = ink_of_entry(chosen, colours().secondary);
  explain(p.what, "for instance " + p.key + " = " + p.example);
  draw_in_line({at.x + px(4), at.y}, height, Face::mono, colours().text, p.key);
  draw_in_line({at.x + key_width, at.y}, height, Face::small, ink,
               fitted(Face::small, p.title == p.key ? p.what : p.title + ": " + p.what, width - key_width));
  return pressed;
}

/// Search field; Enter takes the first match.
bool search_field(std::string& search) {
  const WithField f(Face::label);
  if (ImGui::IsWindowAppearing()) {
    search.clear();
    ImGui::SetKeyboardFocusHere();
  }
  ImGui::SetNextItemWidth(px(400));
  const bool entered = ImGui::InputTextWithHint("##search", "find a parameter", &search, ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  explain("Part of a name, a group or an explanation. Enter takes the parameter of this name, else the first that fits.");
  return entered;
}

/// A searchable list of all parameters; true if it changed the choice.
bool pick_parameter(const SweepScene& s, const char* name, VariedParameter& varied, bool may_be_none, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextWindowSizeConstraints({0, 0}, {std::numeric_limits<float>::max(), px(520)});
  if (!begin_combo(name, varied.key.empty() ? "none" : varied.key, width)) {
    explain(may_be_none ? "A second parameter: every value of the first is computed with every value of this one."
                        : "The parameter that is varied; everything else of the experiment stays as it is.");
    return false;
  }
  std::string& search = s.state.search;
  const bool entered = search_field(search);
  bool changed = false, first = true;
  if (may_be_none && search.empty()) {
    if (ImGui::Selectable("none", varied.key.empty())) {
      changed = !varied.key.empty();
      varied = {};
    }
    explain("One parameter alone.");
  }
  std::string group;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(2)});
  if (s.sweep().offer) {
    const SweepParameter* const taken = entered ? best_fit(s.sweep().offer->parameters, search) : nullptr;
    for (const SweepParameter& p : s.sweep().offer->parameters) {
      if (!fits(p, search)) continue;
      if (group != p.group) section(in_capitals(group = p.group));
      first = false;
      if (!parameter_entry(p, varied.key == p.key) && taken != &p) continue;
      ImGui::CloseCurrentPopup();
      if (varied.key != p.key) {
        varied = {p.key, p.example};
        changed = true;
      }
    }
  }
  ImGui::PopStyleVar();
  if (first && !search.empty()) label(Face::label, colours().secondary, "No parameter has this name.");
  ImGui::EndCombo();
  return changed;
}

/// A parameter, and its values as a list or a range, with the result as chips.
void edit_varied(const SweepScene& s, std::size_t index, VariedParameter& varied, float width) {
  const WithId id(index == 0 ? "first" : "second");
  pick_parameter(s, "##parameter", varied, index == 1, width);
  if (!varied.key.empty()) {
    const std::vector<std::string>& values = s.sweep().progress.values[index];
    const SweepParameter* const about = parameter(s, varied.key);
    const bool numeric = about != nullptr && about->numeric;
    const float form_width = px(136);
    type_values(s, index, varied, numeric ? width - form_width - px(8) : width);
    if (numeric) {
      ImGui::SameLine(0, px(8));
      int form = static_cast<int>(form_of(varied.values));
      if (if_possible(!values.empty(), [&] { return segmented("form", forms, form, form_width); }))
        varied.values = in_form(static_cast<ValueForm>(form), values);
    }
    wrapped(Face::small, colours().bad, s.sweep().progress.wrong_values[index], width);
    if (!values.empty()) draw_chips(values, varied, width);
  }
}

/// "7 × 6 values, 3 seeds: 126 points"; with one answer for each combination "7 × 6 values: 42 points".
std::string count_text(const SweepProgress& p) {
  if (p.values[0].empty()) return "";
  std::string text = std::to_string(p.values[0].size());
  std::size_t points = p.values[0].size() * static_cast<std::size_t>(p.count);
  if (!p.values[1].empty()) {
    text += " × " + std::to_string(p.values[1].size());
    points *= p.values[1].size();
  }
  text += text == "1" ? " value" : " values";
  if (p.no_seeds.empty() || p.count > 1) text += ", " + p.repeats;
  return text + ": " + counted(points, "point");
}

/// Method of the measure, and its divisor.
void edit_relation(SweepPlan& plan, bool of_method, bool has_unit, float width) {
  if_possible(of_method && plan.relation != SweepRelation::ratio, [&] { segmented("subject", subjects, plan.subject, width); });
  bool is_ratio = plan.relation == SweepRelation::ratio;
  const std::array without_unit{relations[SweepRelation::absolute], relations[SweepRelation::ratio]};
  ImGui::BeginDisabled(!of_method);
  if (has_unit)
    segmented("relation", relations, plan.relation, width);
  else if (segmented("relation", without_unit, is_ratio, width))
    plan.relation = is_ratio ? SweepRelation::ratio : SweepRelation::absolute;
  ImGui::EndDisabled();
}

void edit_measure(const SweepScene& s, float width) {
  SweepPlan& plan = s.plan();
  if (!s.sweep().offer) return;
  const std::vector<SweepQuantity>& all = s.sweep().offer->quantities;
  const auto chosen = std::ranges::find(all, plan.measure, &SweepQuantity::name);
  {
    const WithField f(Face::label);
    if (begin_combo("##measure", chosen == all.end() ? plan.measure : chosen->title, width)) {
      for (const SweepQuantity& q : all) {
        if (ImGui::Selectable((q.title + "###" + q.name).c_str(), q.name == plan.measure)) plan.measure = q.name;
        explain(q.of_method ? "A number of each method's error from golden." : "A number of the whole experiment.", q.name);
      }
      ImGui::EndCombo();
    } else {
      explain("The number that is measured at every point and averaged over the seeds. Changing it needs no new computation.");
    }
  }
  const bool of_method = chosen != all.end() && chosen->of_method, has_unit = chosen != all.end() && chosen->has_unit;
  edit_relation(plan, of_method, has_unit, width);
}

/// True if the first parameter's values are numbers above 0, which a logarithmic axis can show.
bool has_numbers(const SweepScene& s) {
  return std::ranges::all_of(s.sweep().progress.values[0], [](const std::string& value) {
    const auto x = to_number<double>(value);
    return x && std::isfinite(*x) && *x > 0;
  });
}

void edit_drawing(const SweepScene& s, float width) {
  SweepPlan& plan = s.plan();
  if_possible(s.sweep().progress.count != 1, [&] { segmented("spread", spreads, plan.spread, width); });
  const float half = (width - px(8)) / 2;
  bool log_x = plan.log_x && has_numbers(s);
  if (if_possible(has_numbers(s), [&] { return toggle("log x", log_x, half); })) plan.log_x = log_x;
  explain("A logarithmic axis of the first parameter, if its values are numbers above 0.");
  ImGui::SameLine(0, px(8));
  toggle("log y", plan.log_y, half);
  explain("A logarithmic colour map of the measure, or an axis, if all its values are above 0.");
  if_possible(!plan.second.key.empty(), [&] { segmented("shape", shapes, plan.heat_map, width); });
}

void edit_second(const SweepScene& s, float width) {
  SweepPlan& plan = s.plan();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  section("AND");
  if (!plan.second.key.empty()) {
    const ImVec2 below = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos({at.x + width - px(52), at.y + px(4)});
    if (push_button("swap###swap parameters", false, {px(52), px(20)})) std::swap(plan.first, plan.second);
    explain("Exchanges the two parameters, and so the axes of the picture. Nothing is computed again.");
    ImGui::SetCursorScreenPos({at.x, std::max(below.y, at.y + px(28))});
  }
  edit_varied(s, 1, plan.second, width);
}

/// The parts of a file that are repeated, or the number of seeds, or the reason why seeds change nothing.
void edit_repeats(const SweepScene& s, float width) {
  SweepPlan& plan = s.plan();
  if (s.session.experiment.problem.input.kind == InputKind::tensors) {
    segmented("over", repeats, plan.over, width);
    if (plan.over == SweepOver::window)
      slider({.name = "window", .from = 16, .to = 4096, .least = 1, .most = max_n, .powers = true}, plan.window);
    if (plan.over != SweepOver::seed) return;
  }
  const std::string& none = s.sweep().progress.no_seeds;
  const Slider seeds{.name = "seeds", .from = 1, .to = 32, .least = 1, .most = most_plan_seeds};
  if_possible(none.empty(), [&] { slider(seeds, s.plan().seeds); });
  explain(none.empty() ? "Every combination is computed with this many seeds, the experiment's own first: the picture "
                         "shows their mean and spread."
                       : none);
  if (none.empty()) return;
  wrapped(Face::small, colours().secondary, none, width);
}

/// A button with a menu of the ready-made plans.
void ready_plans_button(const SweepScene& s, float width) {
  if (push_button("ready-made plans###ready plans", false, {width, 0})) ImGui::OpenPopup("ready plans");
  explain("Plans that each answer one question, for the experiment in Explore.");
  const ImGuiViewport* view = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + px(4)}, ImGuiCond_Appearing);
  ImGui::SetNextWindowSizeConstraints({0, 0}, {view->Size.x, view->Size.y - px(36 + 26 + 48)});
  if (!ImGui::BeginPopup("ready plans")) return;
  for (const ReadyPlan& r : ready) {
    const SweepPlan plan = plan_of(r, s.plan());
    if (titled_entry(r.name, r.title, r.sentence, plan == s.plan(), std::min(px(460), view->Size.x - px(60)))) s.plan() = plan;
  }
  ImGui::EndPopup();
}

}  // namespace

std::span<const ReadyPlan> ready_plans() { return ready; }

SweepPlan plan_of(const ReadyPlan& r, const SweepPlan& before) {
  SweepPlan plan = r.plan;
  plan.spread = before.spread;
  return plan;
}

void draw_sweep_plan(const SweepScene& s) {
  SweepPlan& plan = s.plan();
  const float width = ImGui::GetContentRegionAvail().x;
  ready_plans_button(s, width);
  section("VARY");
  edit_varied(s, 0, plan.first, width);
  edit_second(s, width);
  section("OVER");
  edit_repeats(s, width);
  wrapped(Face::small, colours().bad, s.sweep().progress.wrong, width);
  label(Face::mono_small, colours().secondary, count_text(s.sweep().progress));
  section("MEASURE");
  edit_measure(s, width);
  section("DRAW");
  edit_drawing(s, width);
  section("FIXED");
  wrapped(Face::small, colours().secondary, fixed_text(s.session.experiment, plan, s.input.choices.tensors), width);
  if (push_button("edit in Explore###edit experiment", false, {width, 0})) s.session.view.workspace = Workspace::explore;
  explain("The experiment that is varied is the one in Explore; edit it there.");
}

}  // namespace attoscope::ui
