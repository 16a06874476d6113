/// Curves, ranges, colours, panels, sentences and tables made from a training record, for the window and for figures. Nothing
/// is drawn here.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/train/plan/parameters.h"
#include "kernels/train/record.h"
#include "ui/frame/figure_panel.h"
#include "ui/frame/train_answer.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// A number that there is not, and a gap in a curve.
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A measure of a pair at a point: of tensor `tensor`, or over all where that is -1 or unknown.
double measure_of(const PairPoint& point, TrainMeasure measure, int tensor);
/// The title of a measure, its unit, its explanation and its formula.
struct MeasureText {
  const char *title, *unit, *what, *formula;
};
const MeasureText& text_of(TrainMeasure measure);
const MeasureText& text_of(RunMeasure measure);
/// True if a measure may be divided by that of a reference band, and lie on a logarithmic axis.
bool is_size(TrainMeasure measure);
/// True if a number belongs to single heads.
bool is_of_heads(RunMeasure measure);
/// A number of one head.
double measure_of(const HeadHealth& head, RunMeasure measure);
/// A number of a run's heads: of one of them (an index), or of the one where it is largest in size (-1).
double measure_of(const RunHealth& health, RunMeasure measure, int head);

/// The comparison that relative curves are divided by: another initialisation, else the format band with the largest newest
/// measure; -1: there is none.
int reference_of(const TrainRecord& record, TrainMeasure measure, int tensor);

/// The newest point at or before a step; a negative step: the newest of all. Null where there is none.
const PairPoint* point_at(const PairRecord& pair, int step);
const RunHealth* health_at(const RunRecord& run, int step);
const StepReport* step_at(const RunRecord& run, int step);

/// The curves of a record, made once for a record and a look; they grow with the record.
struct TrainDrawing {
  std::shared_ptr<const TrainRecord> record;
  std::vector<std::shared_ptr<const TrainRecord>> seeds;  ///< further ones, as many as the look asks for
  TrainLook look{};
  FigurePanel pairs, runs;                             ///< all curves; replay: behind the pairs the direct effects, added up
  std::vector<double> skipped;                         ///< steps that some run left out
  int reference = -1;                                  ///< as `reference_of` says, while measures are relative
  std::vector<std::size_t> taken_points, taken_steps;  ///< numbers of points and steps in the curves
  double last = 1;                                     ///< the end of the axis of steps
};
/// True if anything changed.
bool refresh(TrainDrawing& drawing, const std::shared_ptr<const TrainRecord>& record, const TrainLook& look,
             std::vector<std::shared_ptr<const TrainRecord>> seeds = {});

/// True if a shown curve can lie on a logarithmic axis.
bool has_positive(const FigurePanel& panel, std::uint64_t hidden);

/// |dW| at a measured step from top to bottom: rows of the tensor, or all tensors (-1).
std::vector<float> weight_column(const PairPoint& point, int tensor);
/// The steps that are shown.
struct StepSpan {
  double from = 0, to = 1;
};
/// |dW| of a tensor's rows, or of all tensors (-1), from top to bottom, with steps from left to right over a part of the axis;
/// a step holds until the next measured one. [rows, columns]
struct WeightCells {
  int rows = 0, columns = 0;
  std::vector<float> values;  ///< FigureHeat::nothing where nothing was measured
};
WeightCells weight_cells(const std::vector<PairPoint>& points, int tensor, const StepSpan& steps, int every);

/// The same as a figure, of the pair and the tensor of `look`.
FigurePanel weights_panel(const TrainRecord& record, const TrainLook& look);

/// The tensor of `look` element by element, as a figure; without a heat map where `gap` is of another, or null.
FigurePanel matrix_panel(const TrainRecord& record, const TrainLook& look, const WeightGap* gap);

/// The figure of the comparisons that `look` does not hide; it may differ from the drawing's own in that and in its axes.
FigurePanel deviation_panel(const TrainDrawing& drawing, const TrainLook& look);
/// The same of a number of each run.
FigurePanel run_panel(const TrainDrawing& drawing, const TrainLook& look);

// --- words and tables; all numbers are taken from the record ------------------------------------------------------------

/// The answer in one sentence, and what it means.
struct TrainWords {
  std::string headline, sentence;
  bool bad = false;  ///< something failed
};
TrainWords train_words(const TrainView& train);

/// A text with the names of the plan's methods in place of the words a and b: "flash2 − three-pass" of "a - b", "flash2 in
/// fp16"; methods with one name are told apart by formats or the backward pass.
std::string named(const TrainPlan& plan, std::string_view text);

/// A sentence about a run that stopped with its method's name: "The run of flash2 diverged at step 3" of "Run a diverged at
/// step 3".
std::string with_run_named(const TrainPlan& plan, std::string_view sentence);

/// A suspect's measure as a share of that of a - b at a step; NaN: not known.
struct RankedSuspect {
  std::size_t pair = 0;
  double share = 0;
  bool lives = true;  ///< its run did not stop
};
/// The suspects of a bisection by the deviation that is left without them, the least first.
std::vector<RankedSuspect> ranked_suspects(const TrainRecord& record, TrainMeasure measure, int tensor, int step);

/// "held-out loss flash2 0.672, three-pass 0.675; skipped steps flash2 0, three-pass 3": of every run; "" where there is
/// neither yet.
std::string runs_text(const TrainRecord& record);

/// The cells of the table of seeds: the skipped steps of a and b, their losses on held-out text.
std::array<std::string, 4> seed_cells(const TrainRecord& record);

/// "seed 2 of 3, step   240 of 400,  18.3 steps/s", or "45 s a step".
std::string progress_words(const TrainProgress& progress);
/// One sentence on what a kind of training compares.
std::string_view kind_words(TrainKind kind);

/// A number of a handy size as it is, "1.904"; others with an exponent, "3.05e-4".
std::string value_text(double x, int digits);

/// "0 W_Q" of "layer 0 W_Q": a tensor's short name.
std::string short_name(const ParameterTensor& tensor);

/// The numbers of the plots, the picture and the tables.
std::string deviation_csv(const TrainRecord& record);
std::string runs_csv(const TrainRecord& record);
/// The last numbers of each run of each seed.
std::string seeds_csv(const TrainDrawing& drawing);
std::string tensors_csv(const TrainRecord& record, int pair, int step);
/// The heads of every run at a step; at all measured steps.
std::string heads_csv(const TrainRecord& record, int step);
std::string health_csv(const TrainRecord& record);

}  // namespace attoscope::ui
