// All combinations with their numbers, one line each.
#include "ui/sweep/panels.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

TableCell number_cell(const SweepCell& cell, double number) { return cell.count > 0 ? TableCell(number) : TableCell(); }

/// The means and their spread; a column of errors where there are some.
Table rows_table(const SweepTable& t) {
  Table table;
  for (const SweepValues& axis : t.axes) table.columns.push_back({.key = axis.key, .meaning = axis.title + "."});
  table.columns.push_back({.key = "mean", .digits = 4, .meaning = "Mean over the seeds."});
  table.columns.push_back({.key = "std", .digits = 3, .meaning = "Standard deviation over the seeds."});
  table.columns.push_back({.key = "min", .digits = 4, .meaning = "The least of the seeds.", .minor = true});
  table.columns.push_back({.key = "max", .digits = 4, .meaning = "The largest of the seeds.", .minor = true});
  table.columns.push_back({.key = "n", .meaning = "Seeds that are computed."});
  if (!t.errors.empty()) table.columns.push_back({.key = "error", .meaning = "The reason why there is no number."});
  for (std::size_t i = 0; i < t.cells.size(); ++i) {
    const SweepCell& c = t.cells[i];
    auto& row = table.rows.emplace_back(1, t.axes[0].names[i / t.across()]);
    if (t.axes.size() > 1) row.push_back(t.axes[1].names[i % t.across()]);
    for (const double x : {c.mean, c.std, c.min, c.max}) row.push_back(number_cell(c, x));
    row.push_back(table_cell(c.count));
    if (!t.errors.empty()) row.push_back(c.error >= 0 ? t.errors[static_cast<std::size_t>(c.error)] : "");
  }
  return table;
}

}  // namespace

void draw_sweep_rows(const SweepScene& s) {
  const float width = ImGui::GetContentRegionAvail().x;
  if (!s.state.drawing.table) {
    wrapped(Face::label, "The table of all combinations: mean over seeds, standard deviation, least and largest value.", width);
    return;
  }
  const SweepTable& t = *s.state.drawing.table;
  if (s.state.rows_of != s.state.drawing.table) s.state.rows_of = s.state.drawing.table, s.state.rows = rows_table(t);
  label(Face::label, colours().text, fitted(Face::label, t.measure, width));
  const auto place = [&](std::size_t i) {
    return SweepPlace{static_cast<int>(i / t.across()), static_cast<int>(i % t.across())};
  };
  std::optional<std::size_t> hovered;
  const auto row = [&](std::size_t i) {
    const SweepCell& c = t.cells[i];
    return TableRow{.id = "row " + std::to_string(i),
                    .meaning = c.error >= 0  ? t.errors[static_cast<std::size_t>(c.error)]
                               : c.count > 0 ? "A click opens this experiment in Explore; Ctrl+Z returns."
                                             : "Not computed yet.",
                    .formula = "",
                    .chosen = s.state.pointed == place(i),
                    .mark = {}};
  };
  const auto clicked = draw_table("rows", s.state.rows, {.row = row, .bar = {}, .hovered = &hovered});
  if (hovered) s.state.pointing = place(*hovered);
  if (clicked && t.cells[*clicked].count > 0) s.requests.open_point = place(*clicked);
}

}  // namespace attoscope
