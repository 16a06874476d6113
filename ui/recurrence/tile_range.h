/// Which tiles the plots of the recurrence show, and the tiles in which something happened.
#pragma once

#include "ui/frame/ui_state.h"

namespace attoscope {

struct Experiment;
struct Result;
struct TraceTile;

/// From the edge of the first tile of an answer to that of its last.
TileRange all_tiles(const Result& result);
/// What of the view's range the answer has; all where it has none of it.
TileRange shown_tiles(const Result& result, const View& view);
bool shows_all_tiles(const Result& result, const View& view);

/// Shows these tiles, of those that there are, and no less than one of them.
void show_tiles(View& view, const Result& result, TileRange wanted);
/// So many times as many tiles, with `about` in its place.
void zoom_tiles(View& view, const Result& result, double about, double factor);
/// As many tiles, so many further on.
void pan_tiles(View& view, const Result& result, double by);
/// Moves the range, if the tile is outside, until the tile is in its middle.
void reveal_tile(View& view, const Result& result, int tile);

/// What may happen in a tile. rescale: m moved, so that l and O were rescaled. limit: a number met the largest of its format.
enum class TileEvent { rescale, limit };
/// True if P, m or l of the traced row met the largest number of the format that it is rounded to, or one of them or |O| is not
/// finite.
bool meets_limit(const Experiment& experiment, const TraceTile& tile);
/// The nearest tile of the traced row after the scrubbed one (`by` 1), or before it (-1), in which it happened: an index into
/// `trace.tiles`; -1: there is none.
int tile_with(const Result& result, const View& view, TileEvent event, int by);
/// Scrubs to it, if there is one.
void scrub_to_event(View& view, const Result* result, TileEvent event, int by);

}  // namespace attoscope
