// The live view `recurrence`: the stepper, its clock, and the algorithms side by side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "kernels/experiment/text.h"
#include "ui/learn/stepper/stepper.h"
#include "ui/learn/views/view_parts.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

constexpr float name_width = 104;

/// A number of every lane: its name among a view's `columns`, its title, its width in characters, and the least width of a
/// table that shows it if the lesson names no columns; 0: no table does.
struct LaneColumn {
  std::string_view name, title;
  Face face;
  float characters, needs;
};
constexpr std::array<LaneColumn, 6> lane_columns{{{"reads", "SCORES READ", Face::section, 10, 340},
                                                  {"bytes", "HBM BYTES", Face::section, 12, 620},
                                                  {"m", "m", Face::mono_small, 9, 560},
                                                  {"l", "l", Face::mono_small, 9, 440},
                                                  {"O1", "O₁", Face::mono_small, 9, 0},
                                                  {"O2", "O₂", Face::mono_small, 9, 0}}};

/// The shown columns with their right edges, and the right end of the passes.
struct ShownColumns {
  std::vector<std::pair<const LaneColumn*, float>> columns;
  float passes_end;
};
ShownColumns shown_columns(const std::vector<std::string>& wanted, float x, float width) {
  const float number = text_width(Face::mono_small, "0"), gap = px(14), least_left = x + px(name_width + 48);
  ShownColumns shown{{}, x + width};
  for (std::size_t i = lane_columns.size(); i-- > 0;) {
    const LaneColumn& c = lane_columns[i];
    const float left = shown.passes_end - c.characters * number - gap;
    const bool usual = c.needs > 0 && width >= px(c.needs), named = std::ranges::find(wanted, c.name) != wanted.end();
    if (!(wanted.empty() ? usual : named && left >= least_left)) continue;
    shown.columns.emplace_back(&c, shown.passes_end);
    shown.passes_end = left;
  }
  return shown;
}

std::string number_of(const LaneColumn& c, const Steps& row, const RowStep& step) {
  if (c.name == "reads") return fmt::format("{} of {}", step.reads, row.steps.back().reads);
  if (c.name == "bytes") return fmt::format("{:.0f} of {:.0f}", step.bytes, row.steps.back().bytes);
  if (c.name == "m" || c.name == "l") return state_number(c.name == "m" ? step.state.m : step.state.l);
  const std::size_t column = c.name == "O1" ? 0 : 1;
  return column < step.state.O.size() ? state_number(step.state.O[column]) : "";
}

/// Draws `slots` passes, the number of the longest algorithm, each filled up to its read head.
void draw_heads(ImVec2 at, float end, int slots, const Steps& row, const RowStep& step, bool followed) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float slot = (end - at.x + px(6)) / static_cast<float>(slots), n = static_cast<float>(row.S.size());
  for (int pass = 0; pass < row.passes; ++pass) {
    const ImVec2 from{at.x + slot * static_cast<float>(pass), at.y + px(7)}, to{from.x + slot - px(6), from.y + px(10)};
    list->AddRectFilled(from, to, colours().raised, px(3));
    const float share = std::clamp(static_cast<float>(step.reads) / n - static_cast<float>(pass), 0.0f, 1.0f);
    if (share <= 0) continue;
    const float x = from.x + (to.x - from.x) * share;
    const Colour colour = followed ? colours().a : mixed(colours().raised, colours().secondary, 0.7f);
    list->AddRectFilled(from, {x, to.y}, colour, px(3));
    const bool runs = step.pass == pass && step.kind != StepKind::finish;
    if (runs)
      list->AddTriangleFilled({x - px(5), at.y + px(1)}, {x + px(5), at.y + px(1)}, {x, at.y + px(8)},
                              followed ? colours().text : colours().secondary);
  }
}

void draw_lane(LessonScene& scene, const StepperData& s, int a, ImVec2 at, const ShownColumns& shown) {
  const Steps& row = s.rows[static_cast<std::size_t>(a)];
  const RowStep& step = row.steps[static_cast<std::size_t>(s.at[static_cast<std::size_t>(a)])];
  const bool followed = a == s.followed;
  const std::string called(name(row.question.algorithm));
  const Colour colour = followed ? colours().a : colours().secondary;
  const float y = at.y + (px(step_lane_height) - line_height(Face::mono_small)) / 2;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + px(8)}, {at.x + px(8), at.y + px(16)}, colour, px(2));
  draw_in_line({at.x + px(16), at.y}, px(step_lane_height), Face::mono, followed ? colours().text : colours().secondary,
               called);
  const int slots = std::ranges::max_element(s.rows, {}, &Steps::passes)->passes;
  draw_heads({at.x + px(name_width), at.y}, shown.passes_end, slots, row, step, followed);
  for (const auto& [c, end] : shown.columns)
    draw_text({end, y}, Face::mono_small, followed ? colours().text : colours().secondary, number_of(*c, row, step), 1);
  ImGui::SetCursorScreenPos(at);
  if (ImGui::InvisibleButton(("###lane " + called).c_str(), {scene.width, px(step_lane_height)}, ImGuiButtonFlags_EnableNav))
    change(scene, "follow", called);
  explain(std::string(info(row.question.algorithm).title) +
              ". Click: its code, its formula and its state below. Bytes between HBM and the chip for this one "
              "query, elements as large as the format's:",
          info(row.question.algorithm).bytes);
}

/// Computes all steps again if the questions changed; this takes far less than a frame.
void refresh(RecurrenceViewState& state, std::vector<StepQuestion> questions) {
  if (questions == state.asked) return;
  state.rows.clear();
  state.problem.clear();
  state.asked = std::move(questions);
  try {
    for (const StepQuestion& q : state.asked) state.rows.push_back(steps(q));
  } catch (const std::exception& error) {
    state.rows.clear();
    state.problem = error.what();
  }
  state.clock = step_clock(state.rows);
  state.typed_scores = typed(state.asked.front().scores);
  state.refusal.clear();
}

/// The followed algorithm: the chosen one, else the last.
int followed(const LessonScene& scene, const RecurrenceViewState& state) {
  const std::string chosen = value_of(scene, "follow");
  const auto found = std::ranges::find_if(state.asked, [&](const StepQuestion& q) { return name(q.algorithm) == chosen; });
  return static_cast<int>(found == state.asked.end() ? state.asked.size() - 1
                                                     : static_cast<std::size_t>(found - state.asked.begin()));
}

/// Draws one lane for each algorithm: read heads over the scores, and the numbers of `columns`. A click selects it. Returns a
/// sentence if a column is unknown.
std::string draw_step_lanes(LessonScene& scene, const StepperData& stepped) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::vector<std::string> wanted = list_of(scene, "columns");
  std::array<std::string_view, lane_columns.size()> known;
  std::ranges::transform(lane_columns, known.begin(), &LaneColumn::name);
  if (std::string unknown = unknown_word("columns", wanted, known); !unknown.empty()) return unknown;
  const ShownColumns columns = shown_columns(wanted, at.x, scene.width);
  const std::string_view whole = "PASSES OVER THE SCORES";
  const bool fits = text_width(Face::section, whole) <= columns.passes_end - at.x - px(name_width + 14);
  draw_text({at.x + px(name_width), at.y}, Face::section, colours().faint, fits ? whole : "PASSES");
  for (const auto& [c, end] : columns.columns) draw_text({end, at.y}, c->face, colours().faint, c->title, 1);
  const float top = at.y + px(18);
  for (int a = 0; a < static_cast<int>(stepped.rows.size()); ++a)
    draw_lane(scene, stepped, a, {at.x, top + px(step_lane_height) * static_cast<float>(a)}, columns);
  take_room(at, {scene.width, px(18) + px(step_lane_height) * static_cast<float>(stepped.rows.size())});
  return "";
}

/// Buttons and track of the clock, which ends at `last`.
void draw_step_transport(LessonScene& scene, const StepperData& stepped, int tick, int last) {
  struct Button {
    const char* id;
    TransportIcon icon;
    int to;
    const char* what;
  };
  Stepping& stepping = scene.stepping;
  const bool playing = stepping.playing == scene.view.index;
  const std::array<Button, 5> buttons{
      {{"###first step", TransportIcon::first, 0, "Before any score. Key Shift+, (comma)."},
       {"###step back", TransportIcon::previous, std::max(0, tick - 1), "One step back. Key , (comma)."},
       {"###play steps", playing ? TransportIcon::pause : TransportIcon::play, tick,
        "Plays the steps to the last one; then, or when pressed again, it stops. Key J."},
       {"###step", TransportIcon::next, std::min(last, tick + 1), "One step forward: one line of the code. Key . (period)."},
       {"###last step", TransportIcon::last, last, "To the output. Key Shift+. (period)."}}};
  int to = tick;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(2), 0});
  for (const Button& b : buttons) {
    const bool plays = b.id[3] == 'p';
    if (transport_button(b.id, b.icon, plays && playing)) {
      to = plays ? play_or_pause(scene, tick, last) : b.to;
      if (!plays && playing) stepping.playing = -1;
    }
    explain(b.what);
    ImGui::SameLine();
  }
  draw_speed(scene);
  ImGui::PopStyleVar();
  const float digits = text_width(Face::mono, fmt::format("step {} of {}", last, last)),
              place = text_width(Face::label, "pass 3, scores 60 to 64");
  const ImVec2 at{ImGui::GetCursorScreenPos().x + px(8), ImGui::GetCursorScreenPos().y};
  const float right = ImGui::GetCursorScreenPos().x + scene.width - 5 * (transport_width() + px(2)) - px(speed_width + 2),
              y = at.y + (px(control_height) - line_height(Face::mono)) / 2;
  const bool both = right - at.x > digits + place + px(140);
  const float track_width = std::max(px(60), right - at.x - digits - px(16) - (both ? place + px(16) : 0));
  ImGui::SetCursorScreenPos(at);
  track({"steps", 0, std::max(1, last), 0, last}, to, {track_width, px(control_height)});
  explain("The step that is shown. All algorithms advance by the number of scores processed, so that they stay side by side.");
  if (both)
    draw_text({at.x + track_width + px(16), y}, Face::label, colours().secondary, step_place(stepped.row(), stepped.index()));
  draw_text({right, y}, Face::mono, colours().text,
            fmt::format("step {:{}} of {}", tick, static_cast<int>(std::to_string(last).size()), last), 1);
  if (to != tick) change(scene, "at", std::to_string(to));
}

}  // namespace

std::string draw_recurrence_view(LessonScene& scene) {
  auto& state = own_state<RecurrenceViewState>(scene);
  std::string problem;
  std::vector<StepQuestion> questions = step_questions(scene, state, problem);
  const int at = whole_of(scene, "at", 0, 0, max_lesson_tick, problem);
  if (!problem.empty()) return problem;
  refresh(state, std::move(questions));
  if (state.rows.empty()) return state.problem;
  const int last = static_cast<int>(state.clock.size()) - 1, shown = shown_step(scene, at, last),
            start = std::clamp(to_number<int>(written(scene.view, "at")).value_or(0), 0, last),
            tick = ui::stepped(scene, shown, start, last);
  if (tick != shown) change(scene, "at", std::to_string(tick));
  const StepperData stepped{state.rows, state.clock[static_cast<std::size_t>(tick)], followed(scene, state)};
  const WithSpacing spacing({px(8), px(8)});
  scene.state.summary = fmt::format("Step {} of {}: {}, {}.", tick, last, name(stepped.row().question.algorithm),
                                    step_place(stepped.row(), stepped.index()));
  if (!is_on_page(scene)) draw_step_choices(scene, state);
  problem = draw_score_row(scene, state, stepped);
  if (!is_on_page(scene)) draw_step_transport(scene, stepped, tick, last);
  if (const std::string unknown = draw_step_lanes(scene, stepped); problem.empty()) problem = unknown;
  draw_step_detail(scene, stepped);
  return problem;
}

}  // namespace attoscope::ui
