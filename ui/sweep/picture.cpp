// Choice of the picture for a plan, and the mouse in all of them.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "ui/picture/picture_frame.h"
#include "ui/sweep/panels.h"
#include "ui/sweep/words.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The read-out of a combination.
std::vector<NoteLine> note(const SweepScene& s, const SweepPlace& place, const SweepCell& c) {
  const SweepDrawing& d = s.state.drawing;
  const SweepTable& t = *d.table;
  const auto in_digits = [&](double x) { return mean_text(d.extremes, x, 1); };
  std::vector<NoteLine> lines{{colours().text, place_text(t, place)}};
  if (c.count > 0) {
    lines.push_back({colours().text, fmt::format("mean {:10} std {:10}", in_digits(c.mean), in_digits(c.std))});
    lines.push_back({colours().secondary, fmt::format("min  {:10} max {:10}", in_digits(c.min), in_digits(c.max))});
  }
  if (t.has_rival && c.count > 0) lines.push_back({colours().b, "b    " + in_digits(c.rival)});
  if (c.error >= 0) lines.push_back({colours().bad, t.errors[static_cast<std::size_t>(c.error)]});
  lines.push_back({colours().faint, fmt::format("{} of {} seeds", c.count, t.seeds) +
                                        (c.count > 0 && s.opens ? "; a click opens it in Explore" : "")});
  return lines;
}

/// Text in the place of a missing picture.
void draw_empty(const SweepScene& s, const Box& box) {
  const SweepProgress& p = s.sweep().progress;
  std::string text = "Run the sweep: its points appear here as they are computed.";
  if (p.points == 0)
    text = "The red sentence at the left says what the plan still needs.";
  else if (p.state == SweepProgress::State::running)
    text = "The first points are being computed.";
  else if (p.failed > 0 && p.failed == p.done)
    text = "No point could be computed: the table says why.";
  else if (p.done > 0 && s.state.drawing.extremes.known == 0)
    text = "No mean is a finite number: see the table.";
  draw_text({(box.min.x + box.max.x) / 2, (box.min.y + box.max.y) / 2}, Face::label, colours().faint, text, 0.5f);
}

}  // namespace

void point_at(const SweepScene& s, const std::optional<SweepPlace>& place, bool over, bool clicked, const Box& box) {
  const SweepCell* const cell = place ? cell_at(*s.state.drawing.table, *place) : nullptr;
  if (!over || cell == nullptr) return;
  s.state.pointing = place;
  if (clicked && s.opens && cell->count > 0) s.requests.open_point = place;
  draw_note(box, ImGui::GetIO().MousePos, note(s, *place, *cell));
}

void draw_sweep_picture(const SweepScene& s) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const Box box{{at.x, at.y + px(8)}, {at.x + room.x, at.y + room.y}};
  if (room.x < px(120) || room.y < px(80)) return;
  const SweepDrawing& d = s.state.drawing;
  const bool shows_names = d.table && has_categories(*d.table);
  if (!d.table || (d.extremes.known == 0 && !(shows_names && s.sweep().progress.done > 0))) return draw_empty(s, box);
  if (d.table->axes.size() > 1 && s.plan().heat_map)
    draw_sweep_heat_map(s, box);
  else
    draw_sweep_lines(s, box);
  if (s.sweep().progress.stale) ImGui::GetWindowDrawList()->AddRectFilled(box.min, box.max, faded(colours().panel, 0.5f));
  offer_export({Plot::sweep, "sweep", at, box.max, [&] { return sweep_csv(*d.table); }}, s.session.view, s.requests);
}

}  // namespace attoscope
