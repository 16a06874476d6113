// The choices above the stepper's row.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/arithmetic/format.h"
#include "kernels/experiment/presets.h"
#include "ui/learn/stepper/stepper.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Puts items after one another, and into the next line if one does not fit.
class Flow {
 public:
  explicit Flow(float width)
      : left_(ImGui::GetCursorScreenPos().x), right_(left_ + width), y_(ImGui::GetCursorScreenPos().y), x_(left_) {}
  /// Moves the cursor to the place of the next item, which is `width` wide, and returns it.
  ImVec2 next(float width) {
    if (x_ > left_ && x_ + width > right_) {
      x_ = left_;
      y_ += px(control_height + 8);
    }
    const ImVec2 at{x_, y_};
    ImGui::SetCursorScreenPos(at);
    x_ += width + px(8);
    return at;
  }
  /// Takes the room of all items in the layout.
  void end() const { take_room({left_, y_}, {right_ - left_, px(control_height)}); }

 private:
  float left_, right_, y_, x_;
};

constexpr float room_for_all = 640;  ///< height of a presented stepper that shows all its choices
constexpr float number_width = 124, others_width = 64, format_width = 72, policy_width = 96, source_width = 112;

/// Draws a name, a slider's track and a value, close together.
bool number(Flow& flow, const Slider& spec, int& value) {
  const ImVec2 at = flow.next(px(number_width));
  const float name_width = text_width(Face::label, spec.name) + px(8);
  const bool enabled = (ImGui::GetItemFlags() & ImGuiItemFlags_Disabled) == 0;
  draw_in_line(at, px(control_height), Face::label, enabled ? colours().secondary : colours().faint, spec.name);
  ImGui::SetCursorScreenPos({at.x + name_width, at.y});
  const bool changed = track(spec, value, {px(number_width - 28) - name_width, px(control_height)});
  draw_in_line({at.x + px(number_width - 4), at.y}, px(control_height), Face::mono, enabled ? colours().text : colours().faint,
               std::to_string(value), 1);
  return changed;
}

enum class Source { typed, random, ascending, descending, pinned };
struct SourceRow {
  Source source;
  std::string_view name, what;
};
constexpr std::array<SourceRow, 5> sources{{
    {Source::typed, "typed", "These numbers; type others into the field, or drag and click the bars."},
    {Source::random, "random",
     "Twice the program's normal random numbers, to two digits: the same for everybody with the same seed."},
    {Source::ascending, "ascending", "Each score is larger than all before it, so each one moves m."},
    {Source::descending, "descending", "The largest score first: m never moves again."},
    {Source::pinned, "pinned",
     "The first 64 scores of the row traced in the Explore workspace: a click on the picture there chooses another. If "
     "method a stores Q, K, V or P with scales, these steps do, too, with the row's own q and keys."},
}};
static_assert(is_in_order(sources, &SourceRow::source));
std::string source_name(Source source) { return std::string(sources[static_cast<std::size_t>(source)].name); }

Source source_of(const std::string& text) {
  for (const SourceRow& row : sources)
    if (row.source != Source::typed && text.starts_with(row.name)) return row.source;
  return Source::typed;
}

int count_of(const RecurrenceViewState& state) { return static_cast<int>(state.asked.front().scores.size()); }

/// Text for scores from this source, as many as now.
std::string text_from(Source source, const RecurrenceViewState& state) {
  if (source == Source::typed) return typed(state.asked.front().scores);
  if (source == Source::pinned) return "pinned";
  return fmt::format("{}:{}{}", source_name(source), std::max(fewest_scores, count_of(state)),
                     source == Source::random ? ":1" : "");
}

void choose_source(LessonScene& scene, const RecurrenceViewState& state, Flow& flow) {
  const Source source = source_of(scores_text(scene));
  const float width = px(source_width);
  flow.next(width);
  const WithField field(Face::label);
  if (!begin_combo("##source", source_name(source), width))
    return explain("The source of the scores. They are S itself, one for each key of a single query: q·k is done.",
                   "S_j = q·k_j");
  for (const SourceRow& row : sources) {
    const bool missing = row.source == Source::pinned && !scene.input.answer.result;
    if (if_possible(!missing, [&] { return ImGui::Selectable(std::string(row.name).c_str(), row.source == source); }))
      change(scene, "scores", text_from(row.source, state));
    explain(row.what);
  }
  ImGui::EndCombo();
}

/// "1 3 2" for "1; 3; 2", "1, 3, 2" or a tab after each; "random:16:7" as it is.
std::string separated_by_blanks(const std::string& text) {
  std::string words = text;
  std::ranges::replace_if(words, [](char c) { return c == '\t' || c == ';' || c == ',' || c == '\n' || c == '\r'; }, ' ');
  return fmt::format("{}", fmt::join(listed_words(words), " "));
}

void type_scores(LessonScene& scene, RecurrenceViewState& state, Flow& flow, float width) {
  flow.next(width);
  const WithField field(Face::mono);
  ImGui::SetNextItemWidth(width);
  const ImGuiIO& io = ImGui::GetIO();
  const bool pastes = io.KeyCtrl || (io.KeyShift && ImGui::IsKeyDown(ImGuiKey_Insert));  // tabs of a pasted row stay
  const bool entered = ImGui::InputText("##scores", &state.typed_scores,
                                        ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll |
                                            (pastes ? ImGuiInputTextFlags_AllowTabInput : ImGuiInputTextFlags_None));
  if (ImGui::IsItemDeactivated() && !entered && (state.refusal.empty() || ImGui::IsKeyPressed(ImGuiKey_Escape))) {
    state.typed_scores = typed(state.asked.front().scores);
    state.refusal.clear();
  }
  if (state.refusal.empty())  // the tooltip would cover the reason
    explain(
        "The scores, 1 to 64 of them: type them, or paste a row or a column, with blanks, commas, semicolons or lines "
        "between them; or random:COUNT:SEED. Drag a bar to change one, click it to type it.");
  if (!entered) return;
  state.refusal.clear();
  const std::string text = separated_by_blanks(state.typed_scores);
  if (scores_of(text, scene.input.answer.result.get(), state.refusal).empty()) return;  // the text stays for correction
  state.typed_scores = text;
  change(scene, "scores", text);
}

/// Number and seed of the scores, unless they are typed.
void choose_size(LessonScene& scene, const RecurrenceViewState& state, Flow& flow) {
  const std::string text = scores_text(scene);
  const Source source = source_of(text);
  const bool sized = source != Source::typed && source != Source::pinned;
  const std::string word = source_name(source);
  const std::string seed = source == Source::random ? text.substr(text.rfind(':')) : "";
  ImGui::BeginDisabled(!sized);
  int count = count_of(state);
  if (number(flow, {"N", fewest_scores, max_step_scores, 1, max_step_scores}, count))
    change(scene, "scores", word + ":" + std::to_string(count) + seed);
  explain("The number of scores in the row. Golden changes with it.", "l = Σ exp(S_j - m), j = 1 .. N");
  ImGui::EndDisabled();
  const float width = px(others_width);
  flow.next(width);
  if (push_button("others", false, {width, 0}, source == Source::random))
    change(scene, "scores",
           fmt::format("{}:{}:{}", word, count_of(state), (std::atoi(seed.c_str() + 1) + 1) % (max_step_seed + 1)));
  explain("Other random scores: the next seed.", "S_j = 2 N(0, 1), to two digits");
}

void choose_tile(LessonScene& scene, const RecurrenceViewState& state, Flow& flow) {
  const int n = count_of(state);
  int block_k = std::min(state.asked.front().block_k, n);
  if (number(flow, {"block_k", 1, std::max(2, n), 1, n}, block_k)) change(scene, "block_k", std::to_string(block_k));
  explain(
      "Keys of a tile: how many scores are on chip at once. 1: element by element; all: plain softmax. three_pass has no "
      "tiles.",
      "T = ceil(N / block_k) tiles");
}

void choose_algorithms(LessonScene& scene, const RecurrenceViewState& state, Flow& flow) {
  const auto is_asked = [&](Algorithm a) {
    return std::ranges::find(state.asked, a, &StepQuestion::algorithm) != state.asked.end();
  };
  for (const Algorithm algorithm : stepped_algorithms) {
    const bool on = is_asked(algorithm);
    if (algorithm == Algorithm::flash4 && !on && !state.has_lazy_max) continue;
    const std::string why = why_no_scales(state.asked.front(), algorithm);
    const std::string called(name(algorithm));
    const float width = text_width(Face::label, called) + px(12);
    flow.next(width);
    // the last one cannot be switched off, but looks like the others
    ImGui::PushStyleVar(ImGuiStyleVar_DisabledAlpha, why.empty() ? 1 : 0.5f);
    if (push_button(called.c_str(), on, {width, 0}, on ? state.asked.size() != 1 : why.empty())) {
      std::string list;
      for (const Algorithm other : stepped_algorithms)
        if (is_asked(other) != (other == algorithm)) list += (list.empty() ? "" : ", ") + std::string(name(other));
      change(scene, "algorithms", list);
    }
    ImGui::PopStyleVar();
    explain(on            ? "Removes this algorithm; the last one stays."
            : why.empty() ? "Shows this algorithm beside the others, on the same scores."
                          : "Not with these scales: " + why + ".",
            info(algorithm).title);
  }
}

void choose_format(LessonScene& scene, Flow& flow) {
  const float width = px(format_width);
  flow.next(width);
  const WithField field(Face::mono);
  const Format& format = scene.experiment.format;
  if (!begin_combo("##format", name(format), width))
    return explain("D, the main format: the steps that the policy names round to it.", "x <- round(D, x)");
  const auto offer = [&](const std::string& text) {
    if (ImGui::Selectable(text.c_str(), parse_format(text) == format)) change(scene, "format", text);
  };
  for (const NamedFormat& f : named_formats)
    if (f.format != fp64) offer(std::string(f.name));
  offer("e3m2");  // coarse enough to see every step
  ImGui::EndCombo();
}

void choose_policy(LessonScene& scene, const RecurrenceViewState& state, Flow& flow) {
  const float width = px(policy_width);
  flow.next(width);
  const WithField field(Face::mono);
  std::string_view chosen = policy_name(scene.experiment.a.precision, Algorithm::flash2);
  if (chosen.empty()) chosen = policy_name(scene.experiment.a.precision, Algorithm::three_pass);
  if (!begin_combo("##policy", chosen.empty() ? "its own" : std::string(chosen), width))
    return explain("The rounding policy of all these algorithms. The scores are used as given: `input` is not rounded here.");
  for (const Policy& p : policies()) {
    if (p.algorithm != Algorithm::flash2) continue;
    const bool sums_P = p.precision.sum_rounded_P && state.asked.front().scaling.P.is_on();  // l sums e, P is stored later
    const std::string text(p.name);
    if (if_possible(!sums_P, [&] { return ImGui::Selectable(text.c_str(), text == chosen); })) change(scene, "policy", text);
    explain(sums_P ? "It sums P as stored; kernels that store P with a scale do not." : p.what);
  }
  ImGui::EndCombo();
}

}  // namespace

void draw_step_choices(LessonScene& scene, RecurrenceViewState& state) {
  Flow flow(scene.width);
  choose_source(scene, state, flow);
  type_scores(scene, state, flow,
              std::clamp(scene.width - px(source_width + number_width + others_width + 3 * 8), px(160), px(520)));
  choose_size(scene, state, flow);
  if (scene.room == 0 || scene.room >= px(room_for_all)) {
    choose_tile(scene, state, flow);
    choose_format(scene, flow);
    choose_policy(scene, state, flow);
    choose_algorithms(scene, state, flow);
  }
  flow.end();
  if (!state.refusal.empty()) wrapped(Face::label, colours().bad, state.refusal + ".", scene.width);
}

}  // namespace attoscope::ui
