#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/experiment/csv_text.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/attribution.h"
#include "kernels/questions/gradient_attribution.h"
#include "kernels/questions/gradient_spread.h"
#include "kernels/questions/gradient_window.h"
#include "kernels/questions/invariance.h"
#include "kernels/questions/same_bits.h"
#include "ui/picture/heatmap_view.h"
#include "ui/statistics/statistics.h"

namespace attoscope::ui {

namespace {

/// A matrix with a line for each row that `row_of` numbers: the number, then the values of `cols` columns. The header names
/// the columns by numbers from `first_col`.
template <class RowOf, class Value>
std::string matrix_csv(std::string header, int first_col, int rows, int cols, const RowOf& row_of, const Value& value) {
  for (int j = 0; j < cols; ++j) header.append(",").append(std::to_string(first_col + j));
  CsvText csv(header);
  for (int i = 0; i < rows; ++i) {
    const std::optional<int> row = row_of(i);
    if (!row) continue;
    csv.add(*row);
    for (int j = 0; j < cols; ++j) csv.add(value(i, j));
    csv.end_line();
  }
  return csv.take();
}

std::string field_csv(const View& view, const HeatState& heat) {
  if (!heat.result) return {};
  const CellRect rect = seen(view.zoom, heat.n, heat.cols);
  const int col0 = std::clamp(static_cast<int>(std::floor(rect.col0)), 0, heat.cols);
  const int col1 = std::clamp(static_cast<int>(std::ceil(rect.col1)), col0, heat.cols);
  const auto row_of = [&](int i) {
    const int row = heat.result->rows[static_cast<std::size_t>(i)];
    return row + 1 <= rect.row0 || row >= rect.row1 ? std::nullopt : std::optional(row);
  };
  return matrix_csv(about_tensor(heat, heat.keys_down ? "key" : "row", " "), col0, heat.rows, col1 - col0, row_of,
                    [&](int i, int j) { return heat.values[cell_index(i, heat.cols, col0 + j)]; });
}

/// A field of P, dP or dS, whose columns are keys; NaN where the row does not see the key.
std::string pairs_csv(const HeatState& heat) {
  const ScoreQuestion& q = heat.window->question;
  return matrix_csv(
      about_tensor(heat, "row", " "), q.first_key, q.rows, q.keys, [&](int i) { return q.first_row + i; },
      [&](int i, int j) { return static_cast<float>(field_value(*heat.result, heat.field, i, j)); });
}

/// Values [tile][row] of every `step`-th one of the rows.
template <class Values>
std::string tiles_csv(const Values& values, int tiles, const std::vector<int>& rows, int step) {
  if (tiles == 0) return {};
  const int held = static_cast<int>(values.size()) / tiles;
  return matrix_csv(
      "row", 0, held, tiles, [&](int i) { return rows[static_cast<std::size_t>(i * step)]; },
      [&](int i, int t) { return values[cell_index(t, held, i)]; });
}

/// m, or the counts of P on show.
std::string rescales_csv(RescaleShow show, const Result& r, const Clipping* counted) {
  if (!shows_counts(show)) return tiles_csv(r.rescale_map.m, r.rescale_map.tiles, r.rows, r.rescale_map.row_step);
  if (counted == nullptr) return {};
  return tiles_csv(show == RescaleShow::saturated ? counted->saturated : counted->underflowed, counted->tiles,
                   computed_rows(counted->experiment.problem), counted->row_step);
}

std::string scores_csv(ScoreShow show, const ScoreWindow& w) {
  const ScoreQuestion& q = w.question;
  const auto value = [&](int i, int j) {
    const std::size_t at = cell_index(i, q.keys, j);
    return show == ScoreShow::S ? w.S[at] : show == ScoreShow::P ? w.P[at] : w.P[at] - w.weight[at];
  };
  return matrix_csv("row", q.first_key, q.rows, q.keys, [&](int i) { return q.first_row + i; }, value);
}

std::string histogram_csv(const ShownTensor& shown) {
  const Result& r = *shown.result;
  CsvText csv("from_ulps," + about_tensor(shown, "a", "_") + "," + about_tensor(shown, "b", "_"));
  for (std::size_t i = 0; i < r.a_error.ulps.counts.size(); ++i) {
    const double from = -UlpHistogram::reach + (static_cast<double>(i) - 1) / UlpHistogram::per_ulp;
    csv.add(i == 0 ? "-inf" : shortest(from)).add(r.a_error.ulps.counts[i]).add(r.b_error.ulps.counts[i]).end_line();
  }
  return csv.take();
}

std::string scatter_csv(const ShownTensor& shown) {
  const Result& r = *shown.result;
  std::vector<Field> fields{Field::golden, Field::a_error, Field::b_error};
  for (const Field f : {Field::a_storage, Field::a_arithmetic, Field::b_storage, Field::b_arithmetic})
    if (has_field(r, f)) fields.push_back(f);
  std::string header = shown.keys_down ? "key,column" : "row,column";
  for (const Field f : fields) header.append(",").append(about_tensor(shown, std::string(text(f).name), "_"));
  CsvText csv(header);
  for (int i = 0; i < r.golden->rows; ++i)
    for (int j = 0; j < r.golden->cols; ++j) {
      csv.add(r.rows[static_cast<std::size_t>(i)]).add(j);
      for (const Field f : fields) csv.add(field_value(r, f, i, j));
      csv.end_line();
    }
  return csv.take();
}

std::string traffic_csv(const Result& r) {
  const Traffic& t = r.traffic;
  CsvText csv("algorithm,bytes");
  csv.add("algorithm 0").add(t.algorithm0).end_line();
  csv.add("flash 1").add(t.flash1).end_line();
  csv.add("flash 2").add(t.flash2).end_line();
  if (r.experiment.backward.on) {
    const BackwardTraffic back = backward_traffic(r.experiment);
    csv.add("backward, p stored").add(total_bytes(back.stored_P)).end_line();
    csv.add("backward, flash 1").add(total_bytes(back.flash1)).end_line();
    csv.add("backward, flash 2").add(total_bytes(back.flash2)).end_line();
  }
  return csv.take();
}

}  // namespace

std::string picture_csv(const View& view, const PanelInput& input, const HeatState& heat) {
  if (view.picture == PictureKind::rescales)
    return input.answer.result ? rescales_csv(view.rescale_show, *input.answer.result, input.side.clipping.get()) : "";
  if (view.picture != PictureKind::scores) return field_csv(view, heat);
  if (heat.window) return pairs_csv(heat);
  return input.side.scores ? scores_csv(view.score_show, *input.side.scores) : "";
}

std::string recurrence_csv(const Result& r) {
  std::string header;
  visit_tile({}, [&](const char* key, auto) { header.append(key).append(","); });
  CsvText csv(header + "rows_moved,rows_moved_expected");
  for (const TraceTile& t : r.trace.tiles) {
    const auto at = static_cast<std::size_t>(t.tile);
    visit_tile(t, [&](const char*, auto number) { csv.add(+number); });  // flags as 0 or 1
    if (at < r.rescales.per_tile.size() && at < r.rescales.expected_per_tile.size())
      csv.add(r.rescales.per_tile[at]).add(r.rescales.expected_per_tile[at]);
    else
      csv.add("").add("");
    csv.end_line();
  }
  return csv.take();
}

std::string gradients_csv(const GradientTrace& t, bool of_key) {
  CsvText csv(of_key ? "method,query_tile,largest_p,largest_ds,seen,lost,dk_norm,dv_norm,dk_error,dv_error"
                     : "method,key_tile,largest_p,largest_dp,largest_ds,seen,lost,added,dq_norm,dq_error");
  for (const auto& [name, steps] : {std::pair{"a", &t.a}, std::pair{"b", &t.b}}) {
    if (of_key)
      for (const KeyTile& k : steps->of_key) {
        csv.add(name).add(k.tile).add(k.largest_P).add(k.largest_dS).add(k.seen).add(k.lost);
        csv.add(k.dk_norm).add(k.dv_norm).add(k.dk_error).add(k.dv_error).end_line();
      }
    else
      for (const QueryTile& q : steps->of_query) {
        csv.add(name).add(q.tile).add(q.largest_P).add(q.largest_dP).add(q.largest_dS).add(q.seen).add(q.lost);
        csv.add(q.added).add(q.dq_norm).add(q.dq_error).end_line();
      }
  }
  return csv.take();
}

std::string detail_csv(const View& view, const PanelInput& input, const ShownTensor& shown) {
  if (!input.answer.result) return {};
  switch (view.detail) {
    case Detail::scatter:
      return scatter_csv(shown);
    case Detail::why:
      if (shown.keys_down || shown.name == name(AnswerTensor::dQ))
        return input.side.gradient_why ? csv_text(gradient_attribution_table(*input.side.gradient_why)) : std::string();
      return input.side.why ? csv_text(attribution_table(*input.side.why)) : std::string();
    case Detail::same_bits:
      if (view.bits_show == BitsShow::orders)
        return input.side.order_spread ? csv_text(order_spread_table(*input.side.order_spread)) : std::string();
      if (view.bits_show == BitsShow::schedules)
        return input.side.invariance ? csv_text(invariance_table(*input.side.invariance)) : std::string();
      return input.side.same_bits ? csv_text(same_bits_table(*input.side.same_bits)) : std::string();
    case Detail::traffic:
      return traffic_csv(*input.answer.result);
    case Detail::ulps:
      break;
  }
  return histogram_csv(shown);
}

}  // namespace attoscope::ui
