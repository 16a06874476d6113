// The traced row under other schedules of its keys: does it keep its bits?
#include "kernels/questions/schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/questions/invariance.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The tooltip of a row.
std::string numbers_text(const Invariance& answer, const ScheduleRun& run) {
  const std::string parts = parting_text(run);
  return fmt::format(
      "row {}: {} of {} numbers of O differ{}\nall rows: {} of {}, at most {} ulp of {}\nmax |O - golden| {}\n{}", answer.row,
      run.differing_in_row, answer.columns, parts.empty() ? "" : ",\n  " + parts, run.differing,
      static_cast<std::int64_t>(answer.rows) * answer.columns, compact(run.max_ulp), name(answer.experiment.format),
      scientific(run.max_error), hex16(run.digest));
}

void draw_answer(Session& session, const Invariance& answer) {
  const std::string sentence = invariance_sentence(answer);
  label(Face::small, colours().text, fitted(Face::small, sentence, ImGui::GetContentRegionAvail().x));
  explain(sentence);
  const Method a = session.experiment.a;
  const auto method = [&](std::size_t i) { return with_schedule(a, answer.runs[i].schedule); };
  const auto row = [&](std::size_t i) {
    const ScheduleRun& run = answer.runs[i];
    const bool is_b = session.experiment.b == method(i);
    const std::string which = schedule_text(run.schedule) + (i == 0 ? ": a itself, with which the others are compared." : "."),
                      click = is_b ? " It is b."
                                   : " A click makes it b, so that a against b shows what differs; Ctrl+Z comes back.";
    return TableRow{.id = "schedule " + std::to_string(i),
                    .meaning = which + click,
                    .formula = numbers_text(answer, run),
                    .chosen = is_b,
                    .mark = run.same_bits() ? colours().good : colours().bad};
  };
  if (const auto clicked = draw_table("schedules", invariance_table(answer), {.row = row}))
    session.experiment.b = method(*clicked);
}

/// The answer to the current question; null: not known.
const Invariance* known_answer(const PanelInput& input, const Experiment& asked) {
  const Invariance* const known = input.side.invariance.get();
  return known != nullptr && known->experiment == invariance_question(asked) ? known : nullptr;
}

}  // namespace

void draw_schedules(Session& session, const PanelInput& input, Requests& requests) {
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({0, px(4)});
  if (const std::string why = why_no_schedules(session.experiment.a); !why.empty())
    return wrapped(Face::label, "There are no schedules: " + why + ".", width);
  if (const Invariance* const answer = known_answer(input, session.experiment)) return draw_answer(session, *answer);
  label(Face::label, colours().secondary, "computing a under every schedule ...");
  if (!input.answer.computing && !ImGui::IsAnyMouseDown()) requests.side.invariance = invariance_question(session.experiment);
}

}  // namespace attoscope
