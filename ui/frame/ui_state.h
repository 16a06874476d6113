/// State of the panels between frames: data derived from answers, so that a frame costs less than O(N d).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/deviation/fields.h"
#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/table.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/scores.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/pixel_image.h"
#include "ui/frame/requests.h"
#include "ui/session/history.h"

namespace attoscope::ui {

/// Index of a cell in a matrix stored row by row.
constexpr std::size_t cell_index(int row, int cols, int col) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col);
}

/// A matrix shown as a picture, and its axes.
struct CellPicture {
  int rows = 0, cols = 0;               ///< size of the matrix
  int n = 0, across = 0;                ///< size of the axes: rows of Q, and columns
  double first_row = 0, first_col = 0;  ///< origin of the matrix on the axes
  double per_row = 1;                   ///< rows of the matrix per row of Q
  std::vector<float> values;            ///< rows x cols
  std::vector<float> row_worst;         ///< largest |value| of each row; infinity if it has a NaN or infinity
  float largest = 0;                    ///< largest finite |value|
  bool has_nan = false, has_infinity = false, has_minus_infinity = false;
  bool has_masked = false;                          ///< the image has masked pixels
  std::shared_ptr<const DeviceMatrices> on_device;  ///< GPU copy of the values; that GPU then makes the pixels
  Field source_field = Field::golden;               ///< field of the GPU copy
  CellRect rect{};                                  ///< part in `image`, in units of the axes
  PixelImage image;
};

/// Golden, a and b on show: a tensor of an answer, or P, dP or dS of a window of a backward pass's rows and keys.
struct ShownTensor {
  std::shared_ptr<const Result> result;            ///< source of golden, a and b (see `seen_as`)
  std::string_view name = "O";                     ///< one of `answer_tensor_names` or `pair_tensor_names`
  bool keys_down = false;                          ///< its rows are keys
  std::shared_ptr<const GradientWindow> window{};  ///< window of rows and keys; null: a whole tensor
  bool is_output() const { return name == "O"; }
};

/// A tensor and its answer, cached while both are unchanged.
struct SeenTensor {
  std::shared_ptr<const Result> answer;
  AnswerTensor tensor = AnswerTensor::O;
  ShownTensor shown;
};

/// A pair tensor and its window, cached while both are unchanged.
struct SeenPairs {
  PairShow pair = PairShow::none;
  ShownTensor shown;
};

/// One field of a tensor, and its picture.
struct HeatState : CellPicture, ShownTensor {
  Field field = Field::a_error;
};

/// Content of the middle panel: kind, fields, comparison, slip, and what each kind shows. A held colour range applies while it
/// stays equal.
using PictureShown = std::tuple<PictureKind, Field, Field, Comparison, bool, RescaleShow, ScoreShow, PairShow, AnswerTensor>;

/// Colour ranges of the last frame, fitted to the values.
struct FollowedRanges {
  bool held = false;               ///< a control is being moved: the ranges stay
  std::optional<PictureShown> of;  ///< content that they were fitted to; none: fit again
  double first = 1, second = 1;    ///< second: range of the second field's own colour bar
};

/// Method, product and block, or page of steps, on show in the sum of the pinned cell.
struct CellSumState {
  bool of_b = false;
  AttentionProduct product = AttentionProduct::pv;
  int block = -1;  ///< index of a recorded block, or of a page of steps; -1: the last
};

/// m of a, or P outside its format, by rows and tiles.
struct RescaleState : CellPicture {
  std::shared_ptr<const Result> result;
  std::shared_ptr<const Clipping> clipping;
  RescaleShow show = RescaleShow::moved;
  std::vector<CellRect> marks;    ///< cells in which m moved, in pixels of the image
  std::vector<CellRect> visible;  ///< tiles with a key that the row sees
};

/// Scores of a window of rows and keys.
struct ScoreState : CellPicture {
  std::shared_ptr<const ScoreWindow> window;
  ScoreShow show = ScoreShow::P;
};

/// Heads on show, in their order.
template <class Row>
struct ShownHeads {
  std::size_t sort = 0;                             ///< index of the measure that orders them
  std::shared_ptr<const std::vector<Row>> found{};  ///< source of `shown`
  std::optional<std::size_t> sorted_by{};           ///< none: nothing was on show
  int of_layer = -1;
  std::vector<const Row*> shown{};  ///< pointers into `found`
  Table table{};                    ///< of `shown`
};

/// State of the picture of all heads.
struct HeadsState {
  int layer = -1;                                ///< layer on show; -1: all
  std::string stopped;                           ///< file whose search was stopped
  ShownHeads<HeadRow> outputs{unusual_measure};  ///< `sort` is an index of `head_measures`
  float largest = 0, largest_relative = 0;       ///< the largest finite error of all pictures, and over its head's RMS output
  std::vector<HeadOutlier> outliers;             ///< heads of `outputs` that stand apart
  MethodNames names{"a", "b", "b"};              ///< names of the methods of `outputs`
  int hovered = -1;                              ///< head under the mouse in the table beside the grid; -1: none
  ShownHeads<KvRow> kv{usual_kv_order};          ///< `sort` is an index of `kv_storages`
  std::string unjudged;                          ///< output whose verdicts were stopped
};

/// A curve along a row or a column of a picture, one value a cell.
struct ProfileCurve {
  Colour colour = 0;
  std::string name;
  std::vector<float> values;
};

/// Curves through one cell.
struct ProfileState {
  std::shared_ptr<const Result> result;
  Field field = Field::a_error;
  int row = -1, col = -1;  ///< index in the matrices
  Theme theme = Theme::dark;
  bool alone = false;  ///< only the field's own curve
  std::vector<ProfileCurve> along_row, along_col;
};

/// All rows of a recurrence, tile by tile.
struct StripRows {
  std::vector<double> tile, rescales, expected;  ///< moves of m, and their expected number for scores in random order
  std::vector<double> quantiles[5];              ///< quantiles of m
  std::vector<double> moves;                     ///< [k]: number of held rows in which m moved k times
};

/// Axes of the strip's plots.
struct StripAxes {
  double error_low = 1e-6, error_high = 1, P_low = 1e-3, P_high = 10;
  double first = -0.5, last = 0.5;  ///< range of tiles, shared by all plots
};

/// The traced row as series over tiles.
struct TracedSeries {
  std::vector<double> tile, max_true, max_used, alpha, l, P_max;  ///< l as a share of its largest
  std::vector<double> moved_tile, moved;                          ///< tiles in which m moved, and the new m
  std::vector<double> O_tile, O_norm;                             ///< norm of O, where it exists, as a share of its largest
  std::vector<double> tied_tile, tied_max;                        ///< tiles with a key whose score equals the max in use
  std::vector<double> error_tile, error;                          ///< tiles with an output, and its error
  std::vector<double> saturated_tile;                             ///< tiles with a P beyond the largest number of its format
  std::int64_t saturated = 0, ties = 0;                           ///< number of saturated P and of tied keys
  bool stale = false;                                             ///< some max in use is below the true max
};

/// The recurrence as series over tiles.
struct StripState {
  std::shared_ptr<const Result> result;
  TracedSeries row;
  StripRows rows;
  double P_limit = 0;              ///< largest number of P's format; 0: P is not rounded
  double b_error = 0;              ///< largest error of b in the traced row; 0: not computed
  bool of_b = false;               ///< the row is not a's row of the answer on screen; b of `result` is a loaded output
  int parts_at = -1;               ///< tile from which a loaded output's row differs from the row shown; -1: not known
  std::vector<double> run_begins;  ///< split_kv: first tile of each run but the first, minus 0.5
  unsigned hidden = 0;             ///< hidden curves, not included in the axes
  StripAxes axes;
  bool has_axes = false;  ///< the axes belong to `result`
};

/// Automatic play of the scrubber.
struct Playback {
  bool playing = false;
  double next_step = 0;  ///< time of the next step, in seconds of ImGui's clock
};

/// Errors over magnitudes: for each cell of a fine grid the point with the largest error.
struct ScatterPoints {
  std::shared_ptr<const Result> result;
  FigurePanel panel;                      ///< dots of b, dots of a, half an ulp of the format
  std::int64_t a_exact = 0, b_exact = 0;  ///< elements without error
};

struct ScatterWork;
/// Points on show, and the points of a newer answer in progress.
struct ScatterState : ScatterPoints {
  std::shared_ptr<ScatterWork> work;
};

/// Place of a panel in Explore; `left` and `pins` are columns left of the middle. Panels of one place are tabs.
enum class Dock : std::uint8_t { left, pins, middle, right, bottom, hidden };

/// Conditions of the current docking; scale 0: not docked yet.
struct Docked {
  float scale = 0;            ///< pixels per unit
  std::vector<Dock> docks{};  ///< place of each panel, in the order of their table
  PanelSizes panels{};

  /// Number of panels at a place.
  std::ptrdiff_t count(Dock dock) const { return std::ranges::count(docks, dock); }

  friend bool operator==(const Docked&, const Docked&) = default;
};

/// State of the open palette.
struct PaletteState {
  bool asked = false;  ///< open it in this frame
  std::string query;
  int chosen = 0;         ///< index in the matches
  std::string complaint;  ///< reason why the last command failed
};

/// An experiment, a kernel or a policy of the gallery.
struct GalleryEntry {
  enum class Kind : std::uint8_t { experiment, kernel, policy } kind = Kind::experiment;
  std::string name, title, sentence;
  GalleryQuestion question;  ///< question for its small picture
};

/// State of the open gallery.
struct GalleryState {
  bool asked = false;  ///< open it in this frame
  std::string query;
  int kind = 0;  ///< 0: all; else 1 + the shown kind
  std::vector<GalleryEntry> entries;
};

/// The list of pins.
struct PinState {
  bool shown = false;         ///< in the last frame
  bool compared = false;      ///< open their table in this frame
  Table table;                ///< on show
  std::vector<Pin> in_table;  ///< source of `table`
  int renamed = -1;           ///< pin that is being renamed; -1: none
  int origin = 0;             ///< origin of its session
  std::string typed_name;
  std::string complaint;  ///< the reason why the last request failed
};

/// Popup with a text field for a path, open until its file is loaded.
struct PathPrompt {
  std::string typed;
  int wanted_for = 0;    ///< frames until it opens while its panel has the focus (bringing a tab to the front closes
                         ///< popups); 0: not wanted
  bool asked = false;    ///< the file is being read
  bool failed = false;   ///< the file could not be opened; reset when the text changes
  bool edited = false;   ///< the text was changed since the popup opened
  bool refocus = false;  ///< the field gets the keyboard again
};

/// State of the session menu.
struct SessionMenuState {
  bool asked = false;   ///< open it in this frame
  bool typing = false;  ///< the text field gets the keyboard
  PathPrompt path;
  SessionRequest::Act entered = SessionRequest::Act::open;  ///< action on Enter
};

/// Popups over the panels.
struct Popups {
  PaletteState palette;
  GalleryState gallery;
  SessionMenuState session_menu;
  std::map<FileUse, PathPrompt> files;  ///< fields for the paths of files, by their use
  bool questions_asked = false;         ///< open the list of questions in this frame
  int numbers_wanted_for = 0;           ///< frames in which the statistics' tab is brought to the front
  bool forward_steps = false;           ///< the controls show the forward pass's steps while the backward pass is on
  bool help = false;
};

struct LearnState;
struct SweepState;
struct TrainPanelState;
struct ModelPanelState;

struct LoopPicture;

/// The traffic panel.
struct TrafficState {
  bool shows_loop = false;            ///< the picture of the loop instead of bars and roofline
  std::shared_ptr<LoopPicture> loop;  ///< null: not shown yet
};

struct GradientStrip;
struct KernelRows;

/// The list of a file's tensors.
struct TensorListState {
  bool shown = false;                                        ///< in the last frame
  std::string file;                                          ///< file of the members below
  std::array<std::string, call_part_names.size()> chosen{};  ///< specs that replace the tensors taken; empty: no replacement
  std::string opened{};                                      ///< spec of the tensor whose numbers are shown; empty: none
};

/// An error on show over the panels.
struct ErrorNote {
  std::string text;
  double since = 0;  ///< time of ImGui's clock, in seconds
};

struct UiState {
  SeenTensor seen;
  SeenPairs pairs;
  HeatState heat, second;  ///< second: field that the comparison shows
  FollowedRanges ranges;
  RescaleState rescale_map;
  ScoreState scores;
  HeadsState heads;
  CellSumState sum;
  std::tuple<int, int, int, int, int, bool, bool> before_click{0, -1, -1, -1, -1, false, false};  ///< restored by `on_click`
  ProfileState profiles, second_profiles;
  StripState strip;
  std::shared_ptr<KernelRows> kernel_rows;   ///< errors of a loaded output by rows; null until drawn
  std::shared_ptr<GradientStrip> gradients;  ///< plots of the strip's backward pass; null until drawn
  Playback playback;
  ScatterState scatter;
  TrafficState traffic;
  History history;
  Docked docked;
  Popups popups;
  ErrorNote error;
  PinState pins;
  TensorListState tensors;
  std::shared_ptr<SweepState> sweep;       ///< Sweep workspace; null until drawn
  std::shared_ptr<LearnState> learn;       ///< Learn workspace; null until drawn
  std::shared_ptr<TrainPanelState> train;  ///< Train workspace; null until drawn
  std::shared_ptr<ModelPanelState> model;  ///< Model workspace; null until drawn
  std::string dismissed_probe;             ///< probe whose sentence was dismissed
  std::string typed_format;
};

}  // namespace attoscope::ui
