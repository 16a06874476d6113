/// What the panels remember between frames: answers turned into what is drawn, so that a frame costs no O(N d).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/fields.h"
#include "kernels/result.h"
#include "ui/history.h"
#include "ui/ui.h"

namespace attoscope {

/// One field of one result, and its picture.
struct HeatMemory {
  std::shared_ptr<const Result> result;
  Field field = Field::a_error;
  int rows = 0, cols = 0;        ///< of the matrix: the rows that were computed
  int n = 0;                     ///< rows of Q, which the picture's axis counts; `rows` of them, evenly spread, fill it
  std::vector<float> values;     ///< rows x cols
  std::vector<float> row_worst;  ///< largest |value| of each row; infinity where there is a NaN or infinity
  float largest = 0;             ///< largest finite |value|
  bool has_nan = false, has_infinity = false, has_minus_infinity = false;
  CellRect rect{};  ///< what `image` shows, in rows of Q
  int earlier_cell_row = -1, earlier_cell_col = -1,
      earlier_traced_row = 0;  ///< before the last click: a double click pins nothing
  PixelImage image;
};

/// The recurrence as series over tiles.
struct StripMemory {
  std::shared_ptr<const Result> result;
  std::vector<double> tile, max_true, max_used, alpha, l;  ///< of the traced row
  std::vector<double> error_tile, error;        ///< where there is an output to err
  std::vector<double> saturated_tile;           ///< tiles with a P beyond the largest number of its format
  std::int64_t saturated = 0;                   ///< how many P these are
  bool stale = false;                           ///< a max in use lies below the true one somewhere
  std::vector<double> all_tiles, rescales, expected;              ///< over all rows
  std::vector<double> quantiles[5];
  double m_low = 0, m_high = 1, rescales_high = 1, error_low = 1e-6, error_high = 1, l_largest = 1;
  double b_error = 0;               ///< largest error of b in the traced row; 0 where the row was not computed
  double first = -0.5, last = 0.5;  ///< the tile axis, shared by the four plots
};

struct UiMemory {
  HeatMemory heat;
  StripMemory strip;
  History history;
  float docked_scale = 0;  ///< the pixel scale the layout was made for; 0: no layout yet
  bool docked_narrow = false;
  bool show_help = false;
  std::string dismissed_probe;  ///< whose sentence was read
  std::string typed_format, typed_file;
};

}  // namespace attoscope
