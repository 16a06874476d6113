/// Range of tiles in the plots of the recurrence, and tiles with events.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

struct Experiment;
struct Result;
struct TraceTile;

/// Range of all tiles of an answer, from edge to edge.
TileRange all_tiles(const Result& result);
/// The view's range within the answer's tiles; all tiles if they do not overlap.
TileRange shown_tiles(const Result& result, const View& view);
bool shows_all_tiles(const Result& result, const View& view);

/// Shows these tiles, limited to existing ones and to at least one.
void show_tiles(View& view, const Result& result, TileRange wanted);
/// Centres the range on the tile if the tile is outside.
void reveal_tile(View& view, const Result& result, int tile);

/// Events of a tile. rescale: m moved and l, O were rescaled. limit: a number reached the largest of its format.
enum class TileEvent { rescale, limit };
/// True if P, m or l of the traced row reached the largest number of its format, or one of them or |O| is not finite.
bool meets_limit(const Experiment& experiment, const TraceTile& tile);
/// Index in `trace.tiles` of the next tile with the event after the scrubbed one (`by` 1) or before it (-1); -1: none.
int tile_with(const Result& result, const View& view, TileEvent event, int by);
/// Scrubs to `tile_with`, if there is one.
void scrub_to_event(View& view, const Result* result, TileEvent event, int by);

}  // namespace attoscope
