#include "ui/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ui/heatmap_view.h"
#include "ui/numbers.h"

namespace attoscope {

namespace {

/// Lines of values with commas between them.
class Csv {
 public:
  explicit Csv(std::string_view head) : text_(head) { text_ += '\n'; }

  Csv& add(std::string_view word) {
    if (!first_) text_ += ',';
    first_ = false;
    text_ += word;
    return *this;
  }
  Csv& add(double x) { return add_number(x); }
  Csv& add(float x) { return add_number(x); }
  Csv& add(int x) { return add_number(x); }
  Csv& add(std::int64_t x) { return add_number(x); }
  void end_line() {
    text_ += '\n';
    first_ = true;
  }
  std::string take() { return std::move(text_); }

 private:
  template <class T>
  Csv& add_number(T x) {
    char digits[40];
    return add(
        std::string_view(digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, x).ptr - digits)));
  }
  std::string text_;
  bool first_ = true;
};

/// "row,0,1,2": the first word, then `count` numbers.
std::string numbered(std::string_view first, int from, int count) {
  std::string head(first);
  for (int i = 0; i < count; ++i) head.append(",").append(std::to_string(from + i));
  return head;
}

std::string field_csv(const View& view, const HeatMemory& heat) {
  if (!heat.result) return {};
  const CellRect rect = seen(view.zoom, heat.n, heat.cols);
  const int col0 = std::clamp(static_cast<int>(std::floor(rect.col0)), 0, heat.cols);
  const int col1 = std::clamp(static_cast<int>(std::ceil(rect.col1)), col0, heat.cols);
  Csv csv(numbered("row", col0, col1 - col0));
  for (int i = 0; i < heat.rows; ++i) {
    const int row = heat.result->rows[static_cast<std::size_t>(i)];
    if (row + 1 <= rect.row0 || row >= rect.row1) continue;
    csv.add(row);
    for (int j = col0; j < col1; ++j)
      csv.add(heat.values[static_cast<std::size_t>(i) * static_cast<std::size_t>(heat.cols) + static_cast<std::size_t>(j)]);
    csv.end_line();
  }
  return csv.take();
}

std::string rescales_csv(const Result& r) {
  const RescaleMap& map = r.rescale_map;
  if (map.tiles == 0) return {};
  const int rows = static_cast<int>(map.m.size()) / map.tiles;
  Csv csv(numbered("row", 0, map.tiles));
  for (int i = 0; i < rows; ++i) {
    csv.add(r.rows[static_cast<std::size_t>(i * map.row_step)]);
    for (int t = 0; t < map.tiles; ++t)
      csv.add(map.m[static_cast<std::size_t>(t) * static_cast<std::size_t>(rows) + static_cast<std::size_t>(i)]);
    csv.end_line();
  }
  return csv.take();
}

std::string scores_csv(ScoreShow show, const ScoreWindow& w) {
  Csv csv(numbered("row", w.question.first_key, w.question.keys));
  for (int i = 0; i < w.question.rows; ++i) {
    csv.add(w.question.first_row + i);
    for (int j = 0; j < w.question.keys; ++j) {
      const std::size_t at =
          static_cast<std::size_t>(i) * static_cast<std::size_t>(w.question.keys) + static_cast<std::size_t>(j);
      csv.add(show == ScoreShow::S ? w.S[at] : show == ScoreShow::P ? w.P[at] : w.P[at] - w.weight[at]);
    }
    csv.end_line();
  }
  return csv.take();
}

std::string histogram_csv(const Result& r) {
  Csv csv("from_ulps,a,b");
  for (std::size_t i = 0; i < r.a_error.ulps.counts.size(); ++i) {
    if (i == 0)
      csv.add("-inf");
    else
      csv.add(-UlpHistogram::reach + (static_cast<double>(i) - 1) / UlpHistogram::per_ulp);
    csv.add(r.a_error.ulps.counts[i]).add(r.b_error.ulps.counts[i]).end_line();
  }
  return csv.take();
}

std::string scatter_csv(const Result& r) {
  Csv csv("row,column,golden,a_error,b_error");
  for (int i = 0; i < r.golden->rows; ++i)
    for (int j = 0; j < r.golden->cols; ++j) {
      csv.add(r.rows[static_cast<std::size_t>(i)]).add(j).add(field_value(r, Field::golden, i, j));
      csv.add(field_value(r, Field::a_error, i, j)).add(field_value(r, Field::b_error, i, j)).end_line();
    }
  return csv.take();
}

std::string why_csv(const Attribution& all) {
  Csv csv("step,mean_without,mean_alone,mean_now");
  for (const StepShare& s : all.steps)
    csv.add(name(s.step)).add(s.without.mean_abs).add(s.alone.mean_abs).add(all.total.mean_abs).end_line();
  return csv.take();
}

std::string bits_csv(const SameBits& bits) {
  Csv csv("run,golden,a,b,skipped");
  const auto digest = [](std::uint64_t x) { return printed("%016llx", static_cast<unsigned long long>(x)); };
  for (const SameBitsRun& run : bits.runs) {
    std::string why = run.skipped;
    std::ranges::replace(why, ',', ';');
    csv.add(run.what).add(digest(run.golden)).add(digest(run.a)).add(digest(run.b)).add(why).end_line();
  }
  return csv.take();
}

std::string traffic_csv(const Traffic& t) {
  Csv csv("algorithm,bytes");
  csv.add("algorithm 0").add(t.algorithm0).end_line();
  csv.add("flash 1").add(t.flash1).end_line();
  csv.add("flash 2").add(t.flash2).end_line();
  return csv.take();
}

}  // namespace

std::string picture_csv(const View& view, const Frame& frame, const HeatMemory& heat) {
  switch (view.picture) {
    case PictureKind::rescales:
      return frame.result ? rescales_csv(*frame.result) : std::string();
    case PictureKind::scores:
      return frame.scores ? scores_csv(view.score_show, *frame.scores) : std::string();
    case PictureKind::output:
      break;
  }
  return field_csv(view, heat);
}

std::string recurrence_csv(const Result& r) {
  Csv csv("tile,max_true,max_used,alpha,l,o_norm,p_max,saturated,underflowed,ties,moved,error,rows_moved,rows_moved_expected");
  for (const TraceTile& t : r.trace.tiles) {
    const auto at = static_cast<std::size_t>(t.tile);
    csv.add(t.tile).add(t.max_true).add(t.max_used).add(t.alpha).add(t.l).add(t.o_norm).add(t.p_max).add(t.saturated);
    csv.add(t.underflowed).add(t.ties).add(t.moved ? 1 : 0).add(t.error);
    if (at < r.rescales.per_tile.size() && at < r.rescales.expected_per_tile.size())
      csv.add(r.rescales.per_tile[at]).add(r.rescales.expected_per_tile[at]);
    else
      csv.add("").add("");
    csv.end_line();
  }
  return csv.take();
}

std::string detail_csv(Detail detail, const Frame& frame) {
  if (!frame.result) return {};
  switch (detail) {
    case Detail::scatter:
      return scatter_csv(*frame.result);
    case Detail::why:
      return frame.why ? why_csv(frame.why->attribution) : std::string();
    case Detail::same_bits:
      return frame.same_bits ? bits_csv(*frame.same_bits) : std::string();
    case Detail::traffic:
      return traffic_csv(frame.result->traffic);
    case Detail::ulps:
      break;
  }
  return histogram_csv(*frame.result);
}

}  // namespace attoscope
