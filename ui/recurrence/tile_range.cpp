#include "ui/recurrence/tile_range.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ui/recurrence/recurrence.h"

namespace attoscope {
namespace {

constexpr double least_tiles = 1;

/// The largest number of a step's format; infinite if the step is not rounded.
double limit_of(const Experiment& e, Step step) {
  const Rounding& r = e.a.precision[step];
  return r.kind == Rounding::Kind::exact ? std::numeric_limits<double>::infinity() : largest<double>(format_of(r, e.format));
}

bool is_within(double x, double limit) { return std::isfinite(x) && std::abs(x) < limit; }

}  // namespace

TileRange all_tiles(const Result& r) { return {-0.5, std::max(1, r.rescales.tiles) - 0.5}; }

TileRange shown_tiles(const Result& r, const View& view) {
  const TileRange all = all_tiles(r), part{std::max(all.from, view.tiles.from), std::min(all.to, view.tiles.to)};
  return view.tiles == TileRange{} || part.to - part.from < least_tiles ? all : part;
}

bool shows_all_tiles(const Result& r, const View& view) { return shown_tiles(r, view) == all_tiles(r); }

void show_tiles(View& view, const Result& r, TileRange wanted) {
  const TileRange all = all_tiles(r);
  const double count = std::clamp(wanted.to - wanted.from, least_tiles, all.to - all.from);
  const double from = std::clamp(wanted.from, all.from, all.to - count);
  const bool is_all = count >= all.to - all.from;
  view.tiles = is_all ? TileRange{} : TileRange{from, from + count};
}

void reveal_tile(View& view, const Result& r, int tile) {
  const TileRange now = shown_tiles(r, view);
  const double half = (now.to - now.from) / 2;
  if (tile + 0.5 <= now.from || tile - 0.5 >= now.to) show_tiles(view, r, {tile - half, tile + half});
}

bool meets_limit(const Experiment& e, const TraceTile& t) {
  const double of_m = std::min(limit_of(e, Step::m), limit_of(e, Step::S));
  return t.saturated > 0 || !is_within(t.max_used, of_m) || !is_within(t.l, limit_of(e, Step::l)) || std::isinf(t.o_norm);
}

int tile_with(const Result& r, const View& view, TileEvent event, int by) {
  const auto& tiles = r.trace.tiles;
  const int count = static_cast<int>(tiles.size());
  for (int i = scrubbed(r, view) + by; i >= 0 && i < count; i += by) {
    const TraceTile& t = tiles[static_cast<std::size_t>(i)];
    if (event == TileEvent::rescale ? t.moved : meets_limit(r.experiment, t)) return i;
  }
  return -1;
}

void scrub_to_event(View& view, const Result* r, TileEvent event, int by) {
  if (r == nullptr || r->trace.tiles.empty()) return;
  if (const int index = tile_with(*r, view, event, by); index >= 0) scrub(view, r, index - scrubbed(*r, view));
}

}  // namespace attoscope
