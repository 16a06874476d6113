// The bottom panel: how the running state of one row came to be, tile by tile.
#include "ui/recurrence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// Least and largest finite values, widened a little.
void span_of(std::initializer_list<const std::vector<double>*> series, double& low, double& high) {
  low = std::numeric_limits<double>::infinity();
  high = -low;
  for (const auto* values : series)
    for (const double v : *values)
      if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  if (!(low <= high)) low = 0, high = 1;
  const double pad = std::max({0.08 * (high - low), 1e-6 * std::abs(high), 1e-30});
  low -= pad;
  high += pad;
}

/// The largest finite error of b in the traced row; 0 where the row was not computed.
double error_of_b(const Result& r) {
  const auto at = std::lower_bound(r.rows.begin(), r.rows.end(), r.trace.row);
  if (at == r.rows.end() || *at != r.trace.row || !r.golden) return 0;
  const int row = static_cast<int>(at - r.rows.begin());
  double worst = 0;
  for (int c = 0; c < r.b.cols; ++c) {
    const double error = std::abs(r.b(row, c) - (*r.golden)(row, c));
    if (std::isfinite(error)) worst = std::max(worst, error);
  }
  return worst;
}

void take_trace(StripMemory& m, const Trace& trace) {
  for (const TraceTile& t : trace.tiles) {
    m.tile.push_back(t.tile);
    m.max_true.push_back(t.max_true);
    m.max_used.push_back(t.max_used);
    m.alpha.push_back(t.alpha);
    m.l.push_back(t.l);
    if (!std::isnan(t.error)) m.error_tile.push_back(t.tile), m.error.push_back(t.error);
    if (t.saturated > 0) m.saturated_tile.push_back(t.tile);
    m.saturated += t.saturated;
    m.stale |= t.max_used < t.max_true;
  }
  m.l_largest = 0;
  for (const double l : m.l)
    if (std::isfinite(l)) m.l_largest = std::max(m.l_largest, l);
  for (double& l : m.l) l = m.l_largest > 0 ? l / m.l_largest : 0;
}

void take_rescales(StripMemory& m, const Rescales& r) {
  m.rescales_high = 0;
  for (std::size_t t = 0; t < r.per_tile.size(); ++t) {
    m.all_tiles.push_back(static_cast<double>(t));
    m.rescales.push_back(static_cast<double>(r.per_tile[t]));
    m.expected.push_back(t < r.expected_per_tile.size() ? r.expected_per_tile[t] : 0);
    m.rescales_high = std::max({m.rescales_high, m.rescales.back(), m.expected.back()});
  }
  if (m.rescales_high <= 0) m.rescales_high = 1;
  for (std::size_t q = 0; q < 5; ++q)
    for (const auto& quantiles : r.max_quantiles) m.quantiles[q].push_back(static_cast<double>(quantiles[q]));
}

/// Whole decades about the errors, at least three of them.
void take_error_range(StripMemory& m) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  const auto take = [&](double e) {
    if (std::isfinite(e) && e > 0) low = std::min(low, e), high = std::max(high, e);
  };
  for (const double e : m.error) take(e);
  take(m.b_error);
  if (!(high > 0)) low = 1e-8, high = 1e-5;
  m.error_high = std::pow(10.0, std::ceil(std::log10(high) + 0.05));
  m.error_low = std::max(std::pow(10.0, std::floor(std::log10(low))), m.error_high * 1e-8);
  m.error_low = std::min(m.error_low, m.error_high * 1e-3);
}

}  // namespace

void refresh_strip(StripMemory& memory, const std::shared_ptr<const Result>& result) {
  if (memory.result == result) return;
  memory = StripMemory{};
  memory.result = result;
  if (!result) return;
  take_trace(memory, result->trace);
  take_rescales(memory, result->rescales);
  memory.b_error = error_of_b(*result);
  span_of({&memory.max_true, &memory.max_used, &memory.quantiles[0], &memory.quantiles[4]}, memory.m_low, memory.m_high);
  take_error_range(memory);
  memory.last = std::max(1, result->rescales.tiles) - 0.5;
}

int scrubbed(const Result& result, const View& view) {
  const auto& tiles = result.trace.tiles;
  if (tiles.empty()) return -1;
  if (view.scrubbed_tile < 0) return static_cast<int>(tiles.size()) - 1;
  const auto at = std::lower_bound(tiles.begin(), tiles.end(), view.scrubbed_tile,
                                   [](const TraceTile& t, int tile) { return t.tile < tile; });
  return static_cast<int>(std::min<std::ptrdiff_t>(at - tiles.begin(), static_cast<std::ptrdiff_t>(tiles.size()) - 1));
}

void scrub(View& view, const Result* result, int by) {
  if (result == nullptr || result->trace.tiles.empty()) return;
  const int count = static_cast<int>(result->trace.tiles.size());
  const int index = std::clamp(scrubbed(*result, view) + std::clamp(by, -count, count), 0, count - 1);
  view.scrubbed_tile = index == count - 1 ? -1 : result->trace.tiles[static_cast<std::size_t>(index)].tile;
}

void scrub_to(View& view, const Result& result, double tile) {
  const auto& tiles = result.trace.tiles;
  if (tiles.empty()) return;
  const double first = tiles.front().tile, last = tiles.back().tile;
  view.scrubbed_tile = tile >= last ? -1 : static_cast<int>(std::max(first, tile));
}

namespace {

/// Text pieces one after another on a line, as far as there is room.
struct Pieces {
  ImVec2 at;
  float end;
  void add(Colour colour, const std::string& text) {
    if (at.x >= end || at.x + text_width(Face::mono_small, text) > end) {
      at.x = end;
      return;
    }
    at.x += draw_text(at, Face::mono_small, colour, text);
  }
};

/// What becomes of O at a tile.
std::string_view output_formula(Algorithm a, bool first) {
  if (a == Algorithm::two_pass) return "O waits for the second pass";
  if (a == Algorithm::flash1) return first ? "O = P·V / l" : "O = (α·l·O + β·P·V) / l";
  return first ? "O = P·V" : "O = α·O + P·V";
}

/// True where a tile has no state before it: the row's first, and the first of each run of split_kv.
bool begins(const Result& r, int index) {
  const Method& a = r.experiment.a;
  if (index == 0 || a.algorithm != Algorithm::split_kv) return index == 0;
  const auto& tiles = r.trace.tiles;
  const int per_run = std::max(1, (r.rescales.tiles - 1) / std::max(1, a.splits) + 1);
  const auto run = [&](int i) { return tiles[static_cast<std::size_t>(i)].tile / per_run; };
  return run(index) != run(index - 1);
}

/// The step of the recurrence at one tile, with its numbers.
void draw_worked(const Result& r, int index, ImVec2 at, float width, const Palette& colours) {
  const auto& tiles = r.trace.tiles;
  const TraceTile& t = tiles[static_cast<std::size_t>(index)];
  const std::string tail = std::isnan(t.error) ? std::string("no output yet") : "so far " + scientific(t.error);
  const float tail_width = text_width(Face::mono_small, tail);
  draw_text({at.x + width, at.y}, Face::mono_small, colours.secondary, tail, 1);
  Pieces p{at, at.x + width - tail_width - px(12)};
  const Algorithm algorithm = r.experiment.a.algorithm;
  if (t.saturated > 0) p.add(colours.bad, printed("%d P saturated  ", t.saturated));
  const std::string extra = (t.underflowed > 0 ? printed("  %d P underflow", t.underflowed) : "") +
                            (t.ties > 0 ? printed("  %d ties", t.ties) : "");
  if (begins(r, index)) {
    p.add(colours.text, printed("m = %.4f", t.max_used));
    p.add(colours.secondary, index == 0 ? "  first tile, nothing to rescale  " : "  a new run begins  ");
    p.add(colours.text, printed("l = Σe = %.5g  ", t.l) + std::string(output_formula(algorithm, true)));
  } else {
    const TraceTile& before = tiles[static_cast<std::size_t>(index) - 1];
    p.add(colours.secondary, printed("m %.3f → ", before.max_used));
    p.add(t.moved ? colours.moved : colours.text, printed("%.3f  ", t.max_used));
    p.add(colours.moved, printed("α = exp(%.3f) = %.4f  ", before.max_used - t.max_used, t.alpha));
    p.add(colours.text, printed("l = α·%.5g + %.5g = %.5g  ", before.l, t.l - t.alpha * before.l, t.l));
    p.add(colours.text, std::string(output_formula(algorithm, false)));
  }
  if (t.max_used < t.max_true) p.add(colours.golden, printed("  max %.3f is %.3f above m", t.max_true, t.max_true - t.max_used));
  p.add(colours.secondary, extra);
}

void draw_scrubber(View& view, const Result& r, const Palette& colours) {
  const auto& tiles = r.trace.tiles;
  const int index = scrubbed(r, view), count = static_cast<int>(tiles.size());
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(4), 0});
  if (push_button("◀###previous tile", colours, false, {px(28), 0})) scrub(view, &r, -1);
  explain("One tile back. Key , (comma).");
  ImGui::SameLine();
  if (push_button("▶###next tile", colours, false, {px(28), 0})) scrub(view, &r, 1);
  explain("One tile on. Key . (period).");
  ImGui::SameLine();
  const std::string text = printed("tile %d of %d", tiles[static_cast<std::size_t>(index)].tile, tiles.back().tile);
  const ImVec2 words = ImGui::GetCursorScreenPos();
  const float width =
      text_width(Face::mono, "tile of ") + 2 * text_width(Face::mono, std::to_string(tiles.back().tile)) + px(4);
  draw_text({words.x + px(4), words.y + (px(control_height) - line_height(Face::mono)) / 2}, Face::mono, colours.text, text);
  ImGui::SetCursorScreenPos({words.x + px(8) + width, words.y});
  int shown = index;
  if (track({"tile", 0, std::max(1, count - 1), 0, count - 1}, colours, shown, {px(96), px(control_height)}))
    scrub(view, &r, shown - index);
  explain("The tile whose step is worked out at the right and shaded in the plots. Tiles are counted from key 0.");
  ImGui::SameLine(0, px(14));
  ImGui::PopStyleVar();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_worked(r, scrubbed(r, view), {at.x, at.y + (px(control_height) - line_height(Face::mono_small)) / 2},
              ImGui::GetContentRegionAvail().x, colours);
}

/// Why there is nothing to follow, where that is so.
std::string why_empty(const Result* r, const Frame& frame) {
  if (r == nullptr) return frame.computing ? "computing" : "no answer yet";
  if (r->experiment.a.algorithm == Algorithm::three_pass)
    return "Three passes: the max is known before the first exp, so nothing runs, nothing is rescaled.";
  if (r->trace.tiles.empty()) return printed("Row %d sees no key: its output is zero.", r->trace.row);
  if (r->rescales.tiles <= 1)
    return "One tile holds every key: this is plain softmax. Make block_k smaller than N to see the recurrence.";
  return {};
}

}  // namespace

void draw_recurrence(Session& session, const Frame& frame, StripMemory& memory, const Palette& colours) {
  refresh_strip(memory, frame.result);
  const Result* r = frame.result.get();
  const std::string why = why_empty(r, frame);
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  if (!why.empty()) {
    draw_text({at.x + room.x / 2, at.y + room.y / 2 - px(20)}, Face::label, colours.secondary, why, 0.5f);
    if (r != nullptr && !r->trace.tiles.empty()) {
      const TraceTile& t = r->trace.tiles.back();
      draw_text(
          {at.x + room.x / 2, at.y + room.y / 2 + px(6)}, Face::mono, colours.faint,
          printed("row %d: m = %.6g, l = %.6g, largest error %s", r->trace.row, t.max_used, t.l, scientific(t.error).c_str()),
          0.5f);
    }
    return;
  }
  draw_recurrence_plots(session.view, memory, {room.x, room.y - px(36)}, colours);
  ImGui::SetCursorScreenPos({at.x, at.y + room.y - px(29)});
  draw_scrubber(session.view, *r, colours);
  dim_if_stale(frame, colours);
}

}  // namespace attoscope
