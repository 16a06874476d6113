// Bits of the traced row under other schedules of its keys.
#include "kernels/questions/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "kernels/questions/invariance_words.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float row_height = 18;

/// A column of the table, its right edge as a share of the width.
struct Column {
  std::string_view label;
  float right;
};
constexpr std::array<Column, 8> columns{{{"splits", 0.09f},
                                         {"block_k", 0.25f},
                                         {"order", 0.355f},
                                         {"sums", 0.46f},
                                         {"differ", 0.60f},
                                         {"ulps", 0.70f},
                                         {"from", 0.85f},
                                         {"max err", 1.0f}}};
using Cells = std::array<std::string, columns.size()>;

void draw_cells(ImVec2 at, float width, float height, Face face, Colour colour, const Cells& cells) {
  const float y = at.y + (height - line_height(face)) / 2;
  for (std::size_t i = 0; i < columns.size(); ++i)
    draw_text({at.x + px(8) + columns[i].right * (width - px(8)), y}, face, colour, cells[i], 1);
}

/// First place from which the traced row differs, in a word.
std::string parting_word(const ScheduleRun& run) {
  switch (run.place) {
    case PartingPlace::nowhere:
      return "";
    case PartingPlace::tile:
      return "tile " + std::to_string(run.parting.parting->tile);
    case PartingPlace::merge:
      return "merge";
    case PartingPlace::end:
      return "end";
    case PartingPlace::no_common:
      return "–";
  }
  return "";
}

Cells cells_of(const Invariance& answer, std::size_t i) {
  const ScheduleRun& run = answer.runs[i];
  const Schedule& s = run.schedule;
  return {std::to_string(s.splits),
          std::to_string(s.block_k),
          s.reverse_keys ? "rev" : "fwd",
          sums_name(s),
          i == 0            ? "first"
          : run.same_bits() ? "same"
                            : fmt::format("{}/{}", run.differing_in_row, answer.columns),
          run.same_bits() ? "" : fmt::format("{:.3g}", run.max_ulp),
          parting_word(run),
          scientific(run.max_error, 2)};
}

/// Tooltip of a line, with all numbers.
std::string numbers_text(const Invariance& answer, const ScheduleRun& run) {
  const std::string parts = parting_text(run);
  return fmt::format(
      "row {}: {} of {} numbers of O differ{}\nall rows: {} of {}, at most {} ulp of {}\nmax |O - golden| {}\n{}", answer.row,
      run.differing_in_row, answer.columns, parts.empty() ? "" : ",\n  " + parts, run.differing,
      static_cast<std::int64_t>(answer.rows) * answer.columns, compact(run.max_ulp), name(answer.experiment.format),
      scientific(run.max_error), hex16(run.digest));
}

/// Draws a line; true if it was clicked.
bool draw_schedule(const Invariance& answer, std::size_t i, bool is_b, float width, const Palette& colours) {
  const ScheduleRun& run = answer.runs[i];
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{width, px(row_height)};
  const bool clicked = ImGui::InvisibleButton(("##schedule " + std::to_string(i)).c_str(), size);
  const bool hovered = ImGui::IsItemHovered();
  explain(schedule_text(run.schedule) + (i == 0 ? ": a itself, with which the others are compared." : ".") +
              (is_b ? " It is b." : " A click makes it b, so that a against b shows what differs; Ctrl+Z comes back."),
          numbers_text(answer, run));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImVec2 end{at.x + size.x, at.y + size.y};
  if (is_b || hovered) list->AddRectFilled(at, end, is_b ? faded(colours.accent, 0.18f) : faded(colours.raised, 0.6f));
  list->AddCircleFilled({at.x + px(4), at.y + size.y / 2}, px(3), run.same_bits() ? colours.good : colours.bad);
  draw_cells(at, width, size.y, Face::mono_small, is_b || hovered ? colours.text : colours.secondary, cells_of(answer, i));
  return clicked;
}

void draw_heads(const Invariance& answer, float width, const Palette& colours) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({width, px(row_height)});
  explain(fmt::format(
              "Numbers of O in row {} with other bits than under the first schedule; the largest difference in all rows; the "
              "first tile after which the row's state has other bits; the largest error in all rows.",
              answer.row),
          "same: all rows have the same bits\nmerge: only where splits begin, and their merge\n–: no state of the same keys");
  Cells labels;
  for (std::size_t i = 0; i < columns.size(); ++i) labels[i] = columns[i].label;
  draw_cells(at, width, px(row_height), Face::small, colours.faint, labels);
}

/// The sentence, or its first line if there is little room.
void draw_sentence(const std::string& sentence, ImVec2 room, const Palette& colours) {
  if (room.y > wrapped_height(Face::small, sentence, room.x) + px(7 * row_height))
    return wrapped(Face::small, sentence, room.x);
  label(Face::small, colours.text, fitted(Face::small, sentence, room.x));
  explain(sentence);
}

/// The sentence, the column headings and the lines.
void draw_answer(Session& session, const Invariance& answer, const Palette& colours) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  draw_sentence(invariance_sentence(answer), room, colours);
  ImGui::Dummy({0, px(4)});
  draw_heads(answer, room.x, colours);
  ImGui::BeginChild("schedules", {room.x + px(12), 0}, 0, ImGuiWindowFlags_NoBackground);
  const Method a = session.experiment.a;
  for (std::size_t i = 0; i < answer.runs.size(); ++i) {
    const Method other = with_schedule(a, answer.runs[i].schedule);
    if (draw_schedule(answer, i, session.experiment.b == other, room.x, colours)) session.experiment.b = other;
  }
  ImGui::EndChild();
}

/// The answer to the current question; null: not known.
const Invariance* known_answer(const PanelInput& input, const Experiment& asked) {
  const Invariance* const known = input.side.invariance.get();
  return known != nullptr && known->experiment == invariance_question(asked) ? known : nullptr;
}

}  // namespace

void draw_schedules(Session& session, const PanelInput& input, const Palette& colours, Requests& requests) {
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({0, px(4)});
  if (const std::string why = why_no_schedules(session.experiment.a); !why.empty())
    return wrapped(Face::label, "There are no schedules: " + why + ".", width);
  if (const Invariance* const answer = known_answer(input, session.experiment)) return draw_answer(session, *answer, colours);
  label(Face::label, colours.secondary, "computing a under every schedule ...");
  requests.side.invariance = !input.answer.computing && !input.side.comparing_schedules && !ImGui::IsAnyMouseDown();
}

}  // namespace attoscope
