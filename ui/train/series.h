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

/// A missing number, and a gap in a curve.
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A measure of a pair at a point, of tensor `tensor`; over all tensors if that is -1 or unknown.
double measure_of(const PairPoint& point, TrainMeasure measure, int tensor);
/// The title of a measure, its unit, its explanation and its formula.
struct MeasureText {
  const char *title, *unit, *what, *formula;
};
const MeasureText& text_of(TrainMeasure measure);
const MeasureText& text_of(RunMeasure measure);
/// True if a measure can be divided by a reference band's measure, and can be on a logarithmic axis.
bool is_size(TrainMeasure measure);
/// True if a number belongs to single heads.
bool is_of_heads(RunMeasure measure);
/// A number of one head.
double measure_of(const HeadHealth& head, RunMeasure measure);
/// A number of head `head` of a run; -1: of the head whose number has the largest magnitude.
double measure_of(const RunHealth& health, RunMeasure measure, int head);

/// The comparison that relative curves are divided by: another initialisation, else the format band with the largest newest
/// measure; -1: there is none.
int reference_of(const TrainRecord& record, TrainMeasure measure, int tensor);

/// The pair and the tensor that the look chooses; null: there is no pair, or all tensors.
const PairRecord* pair_of(const TrainRecord& record, const TrainLook& look);
const ParameterTensor* tensor_of(const TrainRecord& record, const TrainLook& look);

/// The newest point at or before a step; a negative step: the newest of all. Null: none.
const PairPoint* point_at(const PairRecord& pair, int step);
const RunHealth* health_at(const RunRecord& run, int step);
const StepReport* step_at(const RunRecord& run, int step);

/// The curves of a record, made once for a record and a look; they grow with the record.
struct TrainDrawing {
  std::shared_ptr<const TrainRecord> record;
  std::vector<std::shared_ptr<const TrainRecord>> seeds;  ///< records of further seeds, as many as the look shows
  TrainLook look{};
  FigurePanel pairs, runs;                             ///< all curves; replay: the last of `pairs` adds up the direct effects
  std::vector<double> skipped;                         ///< steps that some run left out
  int reference = -1;                                  ///< `reference_of` if measures are relative, else -1
  std::vector<std::size_t> taken_points, taken_steps;  ///< numbers of points and steps in the curves
  double last = 1;                                     ///< the end of the axis of steps
};
/// Updates the drawing; true if it changed.
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

/// Figure of `weight_cells` for the pair and the tensor of `look`.
FigurePanel weights_panel(const TrainRecord& record, const TrainLook& look);

/// Figure of the elements of the tensor of `look`; without a heat map if `gap` is null or of another tensor or pair.
FigurePanel matrix_panel(const TrainRecord& record, const TrainLook& look, const WeightGap* gap);

/// Figure of the comparisons that `look` does not hide. `look` may hide other curves and have other axes than the drawing.
FigurePanel deviation_panel(const TrainDrawing& drawing, const TrainLook& look);
/// Figure of a number of each run that `look` does not hide.
FigurePanel run_panel(const TrainDrawing& drawing, const TrainLook& look);

// --- words and tables; all numbers are taken from the record ------------------------------------------------------------

/// The answer in one sentence, and its meaning.
struct TrainWords {
  std::string headline, sentence;
  bool bad = false;  ///< something failed
};
TrainWords train_words(const TrainView& train);

/// Replaces the words a and b in a text by the names of the plan's methods: "flash2 − three-pass" for "a - b", "flash2 in
/// fp16". Equal names are completed by formats or the backward pass.
std::string named(const TrainPlan& plan, std::string_view text);

/// Replaces the run by its method's name in a sentence about its stop: "The run of flash2 diverged at step 3" for "Run a
/// diverged at step 3".
std::string with_run_named(const TrainPlan& plan, std::string_view sentence);

/// A suspect's measure over a - b's measure at a step; NaN: not known.
struct RankedSuspect {
  std::size_t pair = 0;
  double share = 0;
  bool lives = true;  ///< its run did not stop
};
/// The suspects of a bisection, in ascending order of the deviation that is left if the suspect is exact.
std::vector<RankedSuspect> ranked_suspects(const TrainRecord& record, TrainMeasure measure, int tensor, int step);

/// "held-out loss flash2 0.672, three-pass 0.675; skipped steps flash2 0, three-pass 3": of every run; "" if neither is known
/// yet.
std::string runs_text(const TrainRecord& record);

/// The cells of the table of seeds: the skipped steps of a and b, their losses on held-out text.
std::array<std::string, 4> seed_cells(const TrainRecord& record);

/// "seed 2 of 3, step   240 of 400,  18.3 steps/s", or "45 s a step".
std::string progress_words(const TrainProgress& progress);
/// One sentence on what a kind of training compares.
std::string_view kind_words(TrainKind kind);

/// A number from 0.01 to 9999 without an exponent, "1.904"; others with an exponent, "3.05e-4".
std::string value_text(double x, int digits);

/// "0 W_Q" of "layer 0 W_Q": a tensor's short name.
std::string short_name(const ParameterTensor& tensor);

/// CSV of the plots, the picture and the tables.
std::string deviation_csv(const TrainRecord& record);
std::string runs_csv(const TrainRecord& record);
/// The last numbers of each run of each seed.
std::string seeds_csv(const TrainDrawing& drawing);
std::string tensors_csv(const TrainRecord& record, int pair, int step);
/// CSV of the heads of every run: at a step, and at all measured steps.
std::string heads_csv(const TrainRecord& record, int step);
std::string health_csv(const TrainRecord& record);

}  // namespace attoscope::ui
