/// What the panels remember between frames: answers turned into what is drawn, so that a frame costs no O(N d).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/deviation/fields.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/scores.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/heads_answer.h"
#include "ui/frame/pixel_image.h"
#include "ui/frame/requests.h"
#include "ui/session/history.h"

namespace attoscope {

struct Result;

/// A matrix of values that is shown as a picture, and what its axes count.
struct CellPicture {
  int rows = 0, cols = 0;               ///< of the matrix
  int n = 0, across = 0;                ///< what the picture's axes count: rows of Q, and columns
  double first_row = 0, first_col = 0;  ///< where the matrix begins on them
  double per_row = 1;                   ///< rows of the matrix for a row of Q
  std::vector<float> values;            ///< rows x cols
  std::vector<float> row_worst;         ///< largest |value| of each row; infinity where there is a NaN or infinity
  float largest = 0;                    ///< largest finite |value|
  bool has_nan = false, has_infinity = false, has_minus_infinity = false;
  std::shared_ptr<const DeviceMatrices> on_device;  ///< where the values lie too: the GPU then makes the pixels
  Field source_field = Field::golden;               ///< and which field of its matrices they are
  CellRect rect{};                                  ///< what `image` shows, in units of the axes
  PixelImage image;
  int earlier_traced_row = 0, earlier_scrubbed_tile = -1;  ///< before the last click: a double click changes neither
};

/// One field of one result, and its picture.
struct HeatState : CellPicture {
  std::shared_ptr<const Result> result;
  Field field = Field::a_error;
  int earlier_cell_row = -1, earlier_cell_col = -1;  ///< before the last click
};

/// What the middle panel shows: a range of the colours that is held is of the same.
struct PictureShown {
  PictureKind picture = PictureKind::output;
  Field field = Field::a_error, second_field = Field::b_error;
  Comparison comparison = Comparison::none;
  bool second_slip = false;
  RescaleShow rescale_show = RescaleShow::moved;
  ScoreShow score_show = ScoreShow::P;

  friend bool operator==(const PictureShown&, const PictureShown&) = default;
};

/// The ranges of the colours that follow the values, as the last frame had them.
struct FollowedRanges {
  bool held = false;               ///< a control is being moved: they stay as they are
  std::optional<PictureShown> of;  ///< none: not yet drawn, or to follow the values again
  double first = 1, second = 1;    ///< of the second field's own colour bar
};

/// What the sum behind the pinned cell is shown of.
struct CellSumState {
  bool of_b = false;
  AttentionProduct product = AttentionProduct::pv;
  int block = -1;  ///< counted from 0 among those that are kept; -1: the last
};

/// m of a by rows and tiles, or what left its format there.
struct RescaleState : CellPicture {
  std::shared_ptr<const Result> result;
  std::shared_ptr<const Clipping> clipping;
  RescaleShow show = RescaleShow::moved;
  std::vector<CellRect> marks;    ///< where m moved, in pixels of the image
  std::vector<CellRect> visible;  ///< where the row sees a key of the tile
};

/// The scores of a window of rows and keys.
struct ScoreState : CellPicture {
  std::shared_ptr<const ScoreWindow> window;
  ScoreShow show = ScoreShow::P;
};

/// Heads that are on show, in which order.
template <class Row>
struct ShownHeads {
  std::size_t sort = 0;                             ///< the number that they are ordered by
  std::shared_ptr<const std::vector<Row>> found{};  ///< what `shown` was made of
  std::size_t sorted_by = 0;
  int of_layer = -1;
  std::vector<const Row*> shown{};  ///< of `found`
};

/// Every head of the file.
struct HeadsState {
  int layer = -1;                        ///< whose heads are on show; -1: all
  bool stopped = false;                  ///< nothing more is asked until somebody goes on
  ShownHeads<HeadRow> outputs;           ///< `sort` is of `head_measures`
  float largest = 0;                     ///< the largest finite error of all pictures
  ShownHeads<KvRow> kv{usual_kv_order};  ///< `sort` is of `kv_storages`
  double kv_least = 0, kv_most = 0;      ///< the finite errors of the table; 0: there are none
  std::string unjudged;                  ///< the output whose heads are not judged until somebody goes on
};

/// A curve along a row or a column of a picture, one value a cell.
struct ProfileCurve {
  Colour colour = 0;
  std::string name;
  std::vector<float> values;
};

/// The curves through one cell.
struct ProfileState {
  std::shared_ptr<const Result> result;
  Field field = Field::a_error;
  int row = -1, col = -1;  ///< of the matrices
  Theme theme = Theme::dark;
  bool alone = false;  ///< the field's own curve alone
  std::vector<ProfileCurve> along_row, along_col;
};

/// All rows of a recurrence, tile by tile.
struct StripRows {
  std::vector<double> tile, rescales, expected;  ///< how often m moved, and how often it would for scores in random order
  std::vector<double> quantiles[5];              ///< of m
  std::vector<double> moves;                     ///< [k]: rows, of those that are held, in which m moved k times
};

/// What the axes of its plots show.
struct StripAxes {
  double m_low = 0, m_high = 1, rescales_high = 1, error_low = 1e-6, error_high = 1, P_low = 1e-3, P_high = 10;
  double first = -0.5, last = 0.5;  ///< of the tiles that are shown, the same for all plots
};

/// The traced row as series over tiles.
struct TracedSeries {
  std::vector<double> tile, max_true, max_used, alpha, l, P_max;  ///< l as a share of its largest
  std::vector<double> moved_tile, moved;                          ///< where m moved, and to what
  std::vector<double> O_tile, O_norm;                             ///< where there is an O; as a share of its largest norm
  std::vector<double> tied_tile, tied_max;                        ///< tiles with a key whose score equals the max in use
  std::vector<double> error_tile, error;                          ///< where there is an output to err
  std::vector<double> saturated_tile;                             ///< tiles with a P beyond the largest number of its format
  std::int64_t saturated = 0, ties = 0;                           ///< how many P, how many keys these are
  bool stale = false;                                             ///< a max in use lies below the true one somewhere
};

/// The recurrence as series over tiles.
struct StripState {
  std::shared_ptr<const Result> result;
  TracedSeries row;
  StripRows rows;
  double P_limit = 0;              ///< the largest number of P's format; 0: P is not rounded
  double b_error = 0;              ///< largest error of b in the traced row; 0: not computed
  bool of_b = false;               ///< what is followed is not a of the answer on screen, and b of `result` is a loaded output
  int parts_at = -1;               ///< the tile in which a loaded output's row parts from what is followed; -1: not known
  std::vector<double> run_begins;  ///< of split_kv, but the first: half a tile before the one that it begins with
  unsigned hidden = 0;             ///< the curves that the axes leave out
  StripAxes axes;
  bool has_axes = false;  ///< they are those of `result`
};

/// What the mouse does on the plots over tiles.
struct StripMouse {
  bool selects = false, pans = false;  ///< while it is held: a range, or the tiles under it
  bool is_done = false;                ///< after a double click, until it is released
  double from = 0, to = 0;             ///< what is selected
  int scrubbed_before = -1;            ///< the last click: a double click changes nothing
};

/// The scrubber while it goes by itself.
struct Playback {
  bool playing = false;
  double next_step = 0;  ///< when, in seconds of ImGui's clock
};

/// Errors over magnitudes: of every cell of a fine grid the point with the largest error.
struct ScatterPoints {
  std::shared_ptr<const Result> result;
  FigurePanel panel;                      ///< dots of b and of a, then half an ulp of the format
  std::int64_t a_exact = 0, b_exact = 0;  ///< elements without any error
};

struct ScatterWork;
/// The points on show, and those of a newer answer while they are found.
struct ScatterState : ScatterPoints {
  std::shared_ptr<ScatterWork> work;
};

/// Where the list of pins is: beside the controls, or, where there is no room, a tab over them.
enum class PinPlace : std::uint8_t { none, column, tab };

/// What the panels were docked for; scale 0: never.
struct Docked {
  float scale = 0;      ///< pixels of a length 1
  bool narrow = false;  ///< the statistics are a tab beside the controls
  bool low = false;     ///< the recurrence is a tab beside the heat map
  PinPlace pins = PinPlace::none;
  PanelSizes panels{};

  friend bool operator==(const Docked&, const Docked&) = default;
};

/// The palette while it is open.
struct PaletteState {
  bool asked = false;  ///< to be opened in this frame
  std::string query;
  int chosen = 0;         ///< of what was found
  std::string complaint;  ///< why the last command could not be done
};

/// An experiment, a kernel or a policy of the gallery.
struct GalleryEntry {
  enum class Kind : std::uint8_t { experiment, kernel, policy } kind = Kind::experiment;
  std::string name, title, sentence;
  GalleryQuestion question;  ///< of its small picture
};

/// The gallery while it is open.
struct GalleryState {
  bool asked = false;  ///< to be opened in this frame
  std::string query;
  int kind = 0;  ///< 0: all; else one more than the kind that is shown
  std::vector<GalleryEntry> entries;
};

/// The list of pins.
struct PinState {
  bool shown = false;           ///< in the frame before
  int first = -1, second = -1;  ///< which two are compared
  int renamed = -1;             ///< whose name is being typed
  std::string typed_name;
  std::string complaint;  ///< why the last request could not be met
};

/// A path that is typed into a popup, which stays until its file is open.
struct PathPrompt {
  std::string typed;
  int wanted_for = 0;   ///< to be opened once its panel has had the focus for so many frames: a tab that comes to the front
                        ///< closes popups
  bool asked = false;   ///< for the file, which is being read
  bool failed = false;  ///< it could not be opened; until something else is typed
};

/// The menu of sessions.
struct SessionMenuState {
  bool asked = false;   ///< to be opened in this frame
  bool typing = false;  ///< with the keyboard in its path
  PathPrompt path;
  SessionRequest::Act entered = SessionRequest::Act::open;  ///< what Enter does with it
};

/// What lies over the panels while it is open.
struct Popups {
  PaletteState palette;
  GalleryState gallery;
  SessionMenuState session_menu;
  PathPrompt file, kernel;  ///< of Q, K, V; of a kernel's output
  bool help = false;
};

struct LearnState;
struct SweepState;
struct TrainPanelState;

struct LoopPicture;

/// The traffic panel.
struct TrafficState {
  bool shows_loop = false;            ///< instead of bars and roofline
  std::shared_ptr<LoopPicture> loop;  ///< null: not yet shown
};

struct KernelRows;

struct UiState {
  HeatState heat, second;  ///< second: what the comparison holds against it
  FollowedRanges ranges;
  RescaleState rescale_map;
  ScoreState scores;
  HeadsState heads;
  CellSumState sum;
  ProfileState profiles, second_profiles;
  StripState strip;
  StripMouse strip_mouse;
  std::shared_ptr<KernelRows> kernel_rows;  ///< where a loaded output is wrong; null until it is drawn
  Playback playback;
  ScatterState scatter;
  TrafficState traffic;
  History history;
  Docked docked;
  Popups popups;
  PinState pins;
  std::shared_ptr<SweepState> sweep;       ///< of the Sweep workspace; null until it is drawn
  std::shared_ptr<LearnState> learn;       ///< of the Learn workspace; null until it is drawn
  std::shared_ptr<TrainPanelState> train;  ///< of the Train workspace; null until it is drawn
  std::string dismissed_probe;             ///< whose sentence was read
  std::string typed_format;
};

}  // namespace attoscope
