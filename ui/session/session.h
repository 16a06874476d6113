/// The saved session: question, view and pinned questions. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/deviation/fields.h"
#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"
#include "kernels/train/plan/plan.h"

namespace attoscope::ui {

/// A part of the window that can be saved. window: only a picture. strip: all plots of the strip at the bottom; running_max,
/// rescales and row_sum belong to the recurrence, largest_dS, lost_dS and gradient_sums to the backward pass, largest_P and
/// error to either. lesson: a plot that only lessons have, given by the first view of the session's lesson.
enum class Plot : std::uint8_t {
  window,
  heat_map,
  strip,
  running_max,
  rescales,
  row_sum,
  largest_P,
  error,
  largest_dS,
  lost_dS,
  gradient_sums,
  ulps,
  scatter,
  why,
  traffic,
  kernel_rows,
  sweep,
  train_deviation,
  train_runs,
  train_weights,
  lesson
};
inline constexpr EnumArray<Plot> plot_names{
    "window",  "heat_map",    "strip",   "running_max",     "rescales",   "row_sum",       "largest_P",
    "error",   "largest_dS",  "lost_dS", "gradient_sums",   "ulps",       "scatter",       "why",
    "traffic", "kernel_rows", "sweep",   "train_deviation", "train_runs", "train_weights", "lesson"};
/// True if the plot shows a training, not an experiment's answer.
constexpr bool is_of_training(Plot p) { return p >= Plot::train_deviation && p <= Plot::train_weights; }

/// True if the plot's x axis is the tiles of the strip.
constexpr bool is_over_tiles(Plot p) { return p >= Plot::strip && p <= Plot::gradient_sums; }

/// screen: a PNG of the pixels and a CSV. Others: a figure for print with its data, script and JSON.
enum class ExportAs : std::uint8_t { screen, pdf, svg, png, tex };
inline constexpr EnumArray<ExportAs> export_as_names{"screen", "pdf", "svg", "png", "tex"};

/// Format of an exported plot.
struct FigureChoice {
  ExportAs as = ExportAs::screen;
  bool two_columns = false;  ///< as wide as two columns of a page: 175 mm instead of 85 mm
  bool slide = false;        ///< as wide as a slide instead: 254 mm, with larger letters
  std::string font = "Inter";
  int font_size = 0;         ///< points; 0: 8 in print, 18 on a slide
  bool zip = false;          ///< one file instead of a folder
  bool shown_tiles = false;  ///< recurrence: only the tiles that the window shows

  friend bool operator==(const FigureChoice&, const FigureChoice&) = default;
};

/// Settings of a named figure of the papers.
struct FigureSettings {
  std::string policy = "eager";  ///< policy of method a
  bool all_policies = false;     ///< draw every flash policy instead of one
  int n = 1024, d = 64, seeds = 5;

  friend bool operator==(const FigureSettings&, const FigureSettings&) = default;
};
inline constexpr int most_figure_n = 65536, most_figure_seeds = 10000;

/// A parameter and its values as typed: "16:1024:x2", "bf16,fp16".
struct VariedParameter {
  std::string key;  ///< "block_k", "format", "a.O"; empty: none
  std::string values;

  friend bool operator==(const VariedParameter&, const VariedParameter&) = default;
};

/// Method whose error is measured.
enum class SweepSubject : std::uint8_t { a, b, a_minus_b };
inline constexpr EnumArray<SweepSubject> sweep_subject_names{"a", "b", "a_minus_b"};

/// Measure as it is, divided by the RMS of golden, or a's divided by b's.
enum class SweepRelation : std::uint8_t { absolute, golden, ratio };
inline constexpr EnumArray<SweepRelation> sweep_relation_names{"absolute", "golden", "ratio"};

/// Spread around a mean over seeds.
enum class SeedSpread : std::uint8_t { std, min_max };
inline constexpr EnumArray<SeedSpread> seed_spread_names{"std", "min_max"};

/// Repetitions of one combination: drawn numbers, or parts of a file.
enum class SweepOver : std::uint8_t { seed, head, layer, window };
inline constexpr EnumArray<SweepOver> sweep_over_names{"seed", "head", "layer", "window"};
constexpr std::string_view name(SweepOver over) { return sweep_over_names[over]; }

/// A sweep of the session's experiment.
struct SweepPlan {
  VariedParameter first{"block_k", "16:1024:x2"}, second{};
  int seeds = 3;
  SweepOver over = SweepOver::seed;  ///< instead of seeds if Q, K and V come from a file
  int window = 256;                  ///< tokens
  std::string measure = "mean_abs";
  SweepSubject subject = SweepSubject::a;
  SweepRelation relation = SweepRelation::absolute;
  SeedSpread spread = SeedSpread::std;
  bool log_x = true, log_y = true;  ///< an axis is logarithmic only if all values are above 0
  bool heat_map = false;            ///< for two parameters, instead of lines; its colours are as `log_y` says

  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;
};
inline constexpr int most_plan_seeds = 10000;

/// A measure between two models' weights at a measured step; the first five are the numbers of WeightDeviation, in order.
enum class TrainMeasure : std::uint8_t { max_abs, wasserstein, rel_l2, update_cosine, directionality, loss_difference };
inline constexpr EnumArray<TrainMeasure> train_measure_names{"max_abs",       "wasserstein",    "rel_l2",
                                                             "update_cosine", "directionality", "loss_difference"};

/// A measure of each run, at every step, or of a head at the measured steps.
enum class RunMeasure : std::uint8_t { loss, gradient_norm, delta_bias, query_norm, ties, saturated, underflowed };
inline constexpr EnumArray<RunMeasure> run_measure_names{"loss", "gradient_norm", "delta_bias", "query_norm",
                                                         "ties", "saturated",     "underflowed"};

/// over_steps: max |dW| along the tensor's rows, step by step. matrix: |dW| of the tensor at the newest measured step.
enum class WeightPicture : std::uint8_t { over_steps, matrix };
inline constexpr EnumArray<WeightPicture> weight_picture_names{"over_steps", "matrix"};

inline constexpr int max_train_seeds = 1000;

struct TrainLook {
  TrainMeasure measure = TrainMeasure::rel_l2;
  RunMeasure of_runs = RunMeasure::loss;
  WeightPicture picture = WeightPicture::over_steps;
  bool relative = false;  ///< divided by the reference band's measure at the same step
  bool log_y = true, log_runs = false;
  std::uint64_t hidden = 0, hidden_runs = 0;  ///< bit i hides comparison i, run i; from 64 on always shown
  int pair = 0;                               ///< index of the pair in the weight picture
  int tensor = -1;                            ///< -1: all; else an index of Parameters::tensors
  bool worst = true;                          ///< measures of heads: the head with the largest value; else `layer` and `head`
  int run = 0, layer = 0, head = 0, sequence = 0;  ///< source of Q, K, V that a click opens in Explore
  int step = -1;                                   ///< step picked in the curves; -1: none
  int seeds = 1;  ///< number of trainings, with consecutive seeds from the plan's; curves of several have bands

  friend bool operator==(const TrainLook&, const TrainLook&) = default;
};

/// The text that a language model reads. chronicle: the training text. licence: this program's licence. typed: entered by the
/// user. file: a text file, or tokens in a tensor file.
enum class ModelText : std::uint8_t { chronicle, licence, typed, file };
inline constexpr EnumArray<ModelText> model_text_names{"chronicle", "licence", "typed", "file"};

/// "random:SEED" names random weights where a checkpoint is expected, and random tokens where a file of them is.
inline constexpr std::string_view random_name = "random:";

/// A run of a language model under the experiment's a and b.
struct ModelPlan {
  std::string checkpoint;  ///< a folder, a .gguf or "random:SEED"; empty: the one downloaded by app/fetch-model
  ModelText text = ModelText::chronicle;
  std::string typed, file;
  int limit = 128;               ///< tokens; 0: all
  std::string around = "exact";  ///< text of `attoscope model --around`
  std::string only{};            ///< text of `attoscope model --only`
  std::string against{};         ///< a captured run to compare with; empty: none
  bool yardsticks = true;

  friend bool operator==(const ModelPlan&, const ModelPlan&) = default;
};
inline constexpr int most_model_tokens = 1 << 20;

enum class ValueScale : std::uint8_t { linear, log };  ///< log: signed, asinh

/// sRGB with alpha, as ImGui packs it (ImU32).
using Colour = unsigned int;

enum class Theme : std::uint8_t { dark, light, high_contrast };
inline constexpr EnumArray<Theme> theme_names{"dark", "light", "high_contrast"};
constexpr bool is_light(Theme t) { return t == Theme::light; }
constexpr Theme next(Theme t) { return static_cast<Theme>((static_cast<int>(t) + 1) % static_cast<int>(theme_names.size())); }

/// Workspace in the window between the bars.
enum class Workspace : std::uint8_t { explore, sweep, train, model, learn };
inline constexpr EnumArray<Workspace> workspace_names{"explore", "sweep", "train", "model", "learn"};

/// Sizes of the panels at UI scale 1, in pixels; the heat map gets the rest.
struct PanelSizes {
  double left = 316, right = 348, bottom = 262, pins = 288;

  friend bool operator==(const PanelSizes&, const PanelSizes&) = default;
};

/// output: a field of the N x d_v matrices. rescales: m of a by rows x tiles. scores: S or P of some rows and keys. heads: all
/// heads of the input's file.
enum class PictureKind : std::uint8_t { output, rescales, scores, heads };
inline constexpr EnumArray<PictureKind> picture_names{"output", "rescales", "scores", "heads"};

/// Display of a second field: beside the first, beyond a divider, or alternating.
enum class Comparison : std::uint8_t { none, side_by_side, swipe, flicker };
inline constexpr EnumArray<Comparison> comparison_names{"none", "side_by_side", "swipe", "flicker"};

/// Value of the rescale map for a row and a tile: m moved (yes or no), by how much, saturated P, e whose P is 0.
enum class RescaleShow : std::uint8_t { moved, amount, saturated, underflowed };
inline constexpr EnumArray<RescaleShow> rescale_names{"moved", "amount", "saturated", "underflowed"};

/// grid: layers by heads in the colours of a measure, and a table. outputs: a picture of a for each head. kv_cache: a row for
/// each head, errors with K and V in fewer bits. verdict: layers by heads, error of a loaded output over its tolerance.
enum class HeadsShow : std::uint8_t { grid, outputs, kv_cache, verdict };
inline constexpr EnumArray<HeadsShow> heads_show_names{"grid", "outputs", "kv_cache", "verdict"};

/// Range of the colours of the heads' small pictures. relative: errors over the RMS of the head's exact output, one range for
/// all. own: one range for each picture. shared: absolute errors, one range for all.
enum class HeadsRange : std::uint8_t { relative, own, shared };
inline constexpr EnumArray<HeadsRange> heads_range_names{"relative", "own", "shared"};

enum class ScoreShow : std::uint8_t { S, P, P_error };  ///< P_error: P of a minus the true weight
inline constexpr EnumArray<ScoreShow> score_names{"S", "P", "P_error"};

/// Tensor of the backward pass that a picture by rows and keys shows; none: S or P of the forward pass.
enum class PairShow : std::uint8_t { none, P, dP, dS };
inline constexpr EnumArray<PairShow> pair_show_names{"none", "P", "dP", "dS"};

/// Panel at the lower right.
enum class Detail : std::uint8_t { ulps, scatter, why, same_bits, traffic };
inline constexpr EnumArray<Detail> detail_names{"ulps", "scatter", "why", "same_bits", "traffic"};

/// runs: runs that must have the same bits. schedules: a with other splits of the keys, whose bits may differ. orders: dQ of a
/// with its key tiles added in other orders.
enum class BitsShow : std::uint8_t { runs, schedules, orders };
inline constexpr EnumArray<BitsShow> bits_show_names{"runs", "schedules", "orders"};

/// Machine of the traffic panel's roofline: an index of `data_sheets`.
enum class Machine : std::uint8_t { a100, h100, h200, rtx4090 };
inline constexpr EnumArray<Machine> machine_names{"a100", "h100", "h200", "rtx4090"};

/// Curves of the recurrence strip, in the order of View::hidden_curves.
enum class Curve : std::uint8_t {
  m,
  max_true,
  rows,
  ties,
  rescales,
  expected,
  row_moves,
  l,
  alpha,
  O_norm,
  P_max,
  error,
  b_error
};
constexpr unsigned bit(Curve c) { return 1u << static_cast<unsigned>(c); }
/// Hidden by default; all curves together are hard to read.
inline constexpr unsigned usually_hidden = bit(Curve::row_moves) | bit(Curve::O_norm) | bit(Curve::P_max);

/// View of a picture with its own axes.
struct Look {
  CellRect zoom{};  ///< visible part, in units of its axes; all zero: everything
  bool range_pinned = false;
  double range = 1;  ///< largest |value| of the colour bar while pinned

  friend bool operator==(const Look&, const Look&) = default;
};

/// Tiles in the plots of the recurrence, the middle of tile t at t; both 0: all.
struct TileRange {
  double from = 0, to = 0;

  friend bool operator==(const TileRange&, const TileRange&) = default;
};

inline constexpr double min_ui_scale = 0.5, max_ui_scale = 4;

/// Display settings, which change no number: of the matrices, of the recurrence and the numbers at the right, of the window.
struct View {
  PictureKind picture = PictureKind::output;
  Field field = Field::a_error;
  ValueScale scale = ValueScale::log;
  bool range_pinned = false;
  double range = 0.01;               ///< largest |value| of the colour bar while pinned
  bool show_tiles = false;           ///< tile grid over the heat map
  CellRect zoom{};                   ///< visible part, in rows of Q; all zero: everything
  int cell_row = -1, cell_col = -1;  ///< pinned cell, row of Q; -1: none
  Comparison comparison = Comparison::none;
  Field second_field = Field::b_error;  ///< second field of `comparison`
  bool second_slip = false;             ///< the second field shows the output of the slip that a loaded output is compared
                                        ///< with, if there is a slip
  std::string slip{};                   ///< text of the chosen slip; "": the slip named by the verdict
  double swipe = 0.5;                   ///< share of the picture left of the divider
  RescaleShow rescale_show = RescaleShow::moved;
  ScoreShow score_show = ScoreShow::P;
  PairShow pair_show = PairShow::none;
  AnswerTensor tensor = AnswerTensor::O;  ///< tensor of the picture `output`, the statistics and their files
  HeadsShow heads_show = HeadsShow::grid;
  HeadsRange heads_range = HeadsRange::relative;
  Look rescale_look{}, score_look{};  ///< looks of the rescale map and of the scores
  bool show_sum = false;              ///< the sum of the pinned cell's last product
  bool profiles = false;              ///< row and column through the cell under the mouse, as curves

  int traced_key = -1;                      ///< key whose dK and dV the strip follows; -1: the traced row's own, or key 0
  bool follows_key = false;                 ///< the strip of the backward pass shows the key instead of the query
  bool follows_forward = false;             ///< the strip shows the forward pass although the backward pass is on
  int scrubbed_tile = -1;                   ///< tile under the scrubber of the strip; -1: the last. If tiles are added out of
                                            ///< order, the index in that order
  TileRange tiles{};                        ///< shown tiles of the strip's plots
  unsigned hidden_curves = usually_hidden;  ///< bit c: curve c of the recurrence strip is hidden
  Detail detail = Detail::ulps;
  BitsShow bits_show = BitsShow::runs;
  int on_chip_elements = 24576;     ///< M of the FA-1 helper and the traffic panel, in elements
  Machine machine = Machine::a100;  ///< machine of the roofline

  Theme theme = Theme::dark;
  double ui_scale = 1;
  bool reduced_motion = false;  ///< nothing on screen moves by itself unless it is played
  PanelSizes panels{};
  FigureChoice figure{};  ///< format of exported plots
  Workspace workspace = Workspace::explore;
  bool square_tiles = true;       ///< block_q follows block_k
  bool show_pins = false;         ///< the list of pins beside the controls
  bool show_tensors = false;      ///< the list of all tensors of a file, over the picture
  std::string listed_file{};      ///< the file of that list; empty: the input's
  bool welcome = false;           ///< first steps above the picture, until dismissed
  FigureSettings named_figure{};  ///< settings of the papers' figures

  friend bool operator==(const View&, const View&) = default;
};

/// Copies the window's look from `of`: a setting of the user, kept by undo, by a new session and by a pasted one.
inline void take_look(View& view, const View& of) {
  view.theme = of.theme;
  view.ui_scale = of.ui_scale;
  view.reduced_motion = of.reduced_motion;
  view.panels = of.panels;
  view.figure = of.figure;
}

/// Resets the view for another question: no zoom, no pinned cell, no scrubbed tile.
inline void look_at_all(View& view) {
  view.zoom = {};
  view.tiles = {};
  view.cell_row = view.cell_col = view.scrubbed_tile = -1;
}

/// A kept experiment with its results.
struct Pin {
  std::string name;
  Experiment experiment;
  double a_mean = 0, b_mean = 0, a_max = 0, b_max = 0;  ///< errors against golden; -1: not finite
  std::uint64_t digest = 0;                             ///< digest of a
  std::vector<std::int8_t> thumbnail;  ///< a - golden, pin_width x pin_height from the top: position on the colour map, -127 ..
                                       ///< 127, or -128 if not finite; empty: none

  friend bool operator==(const Pin&, const Pin&) = default;
};
inline constexpr int pin_width = 40, pin_height = 24, max_pins = 1000;

/// One `key: value` of a live view of a lesson.
struct LessonParameter {
  std::string key, value;

  friend bool operator==(const LessonParameter&, const LessonParameter&) = default;
};

/// Changes of the reader in a live view of a lesson.
struct LessonViewEdits {
  std::string lesson;
  int view = 0;  ///< LessonView::index
  std::vector<LessonParameter> changes;

  friend bool operator==(const LessonViewEdits&, const LessonViewEdits&) = default;
};

/// Reading progress of a lesson.
struct LessonProgress {
  std::string lesson;
  int steps_seen = 0;  ///< all steps before this one were on screen

  friend bool operator==(const LessonProgress&, const LessonProgress&) = default;
};

/// The open lesson, its display, and the reader's changes and progress.
struct LessonState {
  std::string name;  ///< name of the lesson; empty: the first
  int step = 0;
  bool presenting = false;  ///< one step at a time, in large type
  std::vector<LessonViewEdits> views;
  std::vector<LessonProgress> progress;

  friend bool operator==(const LessonState&, const LessonState&) = default;
};
inline constexpr int max_lesson_steps = 1000, max_lesson_views = 1000, max_lesson_changes = 200;

/// Gradients computed by a user's kernel; they replace a's while the backward pass is on.
struct KernelGradients {
  std::string dq, dk, dv;  ///< FILE.npy or FILE.safetensors, with :HEAD if it is not Q's head; empty: a's own

  bool any() const { return !dq.empty() || !dk.empty() || !dv.empty(); }
  friend bool operator==(const KernelGradients&, const KernelGradients&) = default;
};

struct Session {
  Experiment experiment = default_experiment();
  View view{};
  KernelGradients kernel_gradients{};
  std::string device = "auto";  ///< auto, cpu, cuda, cuda:K or a list of these GPUs
  std::vector<Pin> pins;        ///< in the order in which they were kept
  LessonState lesson{};
  SweepPlan sweep{};
  TrainPlan train = default_train_plan();
  TrainLook train_look{};
  ModelPlan model{};
  int origin = 0;  ///< id of its file or new session in this window; part of undo, not saved

  friend bool operator==(const Session&, const Session&) = default;
};

}  // namespace attoscope::ui
