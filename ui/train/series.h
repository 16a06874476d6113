/// Curves, ranges, colours and panels made from a training record, for the window and for figures. Nothing is drawn here.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/train/record.h"
#include "ui/frame/figure_panel.h"
#include "ui/session/train_look.h"
#include "ui/widgets/legend.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/theme.h"

namespace attoscope {

/// A curve that only gets longer. It keeps the least and the largest number of each stretch of neighbours, which bounds the
/// cost of drawing. x ascends.
class GrowingCurve {
 public:
  static constexpr std::size_t most_stretches = 1024;

  void add(double x, double y) { add(x, y, y, y); }
  /// A number of several seeds: `y` and the least and the greatest of all of them.
  void add(double x, double y, double least, double greatest);
  bool empty() const { return stretches_.empty(); }
  /// The points over [x0, x1], about two a pixel; gaps are NaN.
  Points points(double x0, double x1, double pixels) const;
  /// The same, kept until the curve or what is asked changes.
  const Points& drawn(double x0, double x1, double pixels);
  /// The least and the greatest of all seeds at each of these x, which ascend; both empty where there is one seed alone.
  void band(const std::vector<double>& x, std::vector<double>& least, std::vector<double>& greatest) const;
  /// The range of all finite numbers; `least` > `largest` if there is none. `least_above`: the least one above 0.
  double least() const { return least_; }
  double largest() const { return largest_; }
  double least_above() const { return least_above_; }
  double last_x() const { return last_x_; }
  double last_y() const { return last_y_; }

 private:
  struct Stretch {
    double low_x, low, high_x, high;  ///< NaN: nothing finite
    std::size_t count;
    double first_x, least, greatest;  ///< of all seeds
  };
  void merge();
  std::vector<Stretch> stretches_;
  std::size_t each_ = 1;  ///< points of a stretch
  bool has_band_ = false;
  double least_ = 1e308, largest_ = -1e308, least_above_ = 1e308, last_x_ = 0, last_y_ = 0;
  std::array<double, 3> asked_{};  ///< the arguments that `drawn_` was made for
  Points drawn_;
};

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

/// The shown measure of a comparison at a step, divided by that of `reference` unless it is -1; NaN if it was not measured.
double shown_measure(const TrainRecord& record, std::size_t pair, int step, const TrainLook& look, int reference);
/// The shown number of a run at a step; NaN if there is none.
double shown_number(const TrainRecord& record, std::size_t run, int step, const TrainLook& look);

/// The curves of a record with their styles, made once for a record and a look; grows with the record.
struct TrainDrawing {
  std::shared_ptr<const TrainRecord> record;
  std::vector<std::shared_ptr<const TrainRecord>> seeds;  ///< further ones, as many as the look asks for
  TrainLook look{};
  std::vector<GrowingCurve> pairs, runs;               ///< replay: behind the pairs the direct effects so far, added up
  std::vector<double> skipped;                         ///< steps that some run left out
  int reference = -1;                                  ///< as `reference_of` says, while measures are relative
  std::vector<std::size_t> taken_points, taken_steps;  ///< numbers of points and steps in the curves
  double direct_total = 0;
  double last = 1;  ///< the end of the axis of steps
};
/// True if anything changed.
bool refresh(TrainDrawing& drawing, const std::shared_ptr<const TrainRecord>& record, const TrainLook& look,
             std::vector<std::shared_ptr<const TrainRecord>> seeds = {});
/// True if curve i is drawn, by the bits of TrainLook.
constexpr bool is_shown(std::uint64_t hidden, std::size_t i) { return i >= 64 || (hidden >> i & 1) == 0; }

/// The look of a curve.
struct CurveStyle {
  Colour colour = 0;
  CurveMark mark = CurveMark::line;  ///< line, dashes or band
  float weight = 1.4f, dash = 0;     ///< at UI scale 1
};
CurveStyle pair_style(const TrainRecord& record, std::size_t pair, Theme theme);
/// A curve's name: of a comparison, or of what lies behind them in `TrainDrawing::pairs`.
std::string pair_name(const TrainRecord& record, std::size_t pair);
CurveStyle run_style(const TrainRecord& record, std::size_t run, Theme theme);

/// The range of an axis over the curves that are not hidden.
struct TrainAxis {
  double from = 0, to = 1;
  bool log = false;
  bool has_any = false;  ///< something can be drawn
};
TrainAxis axis_of(const std::vector<const GrowingCurve*>& curves, bool log);
TrainAxis axis_of(const std::vector<GrowingCurve>& curves, std::uint64_t hidden, bool log);

/// Steps that are shown, and how finely: about two points of a curve on each of `pixels`.
struct StepView {
  double from, to, pixels;
};

/// The comparisons that `look` does not hide, in order; it may differ from the drawing's own in what is hidden and in its axes.
FigurePanel deviation_panel(TrainDrawing& drawing, const TrainLook& look, const StepView& view);
/// A number of each run that `look` does not hide, in order.
FigurePanel run_panel(TrainDrawing& drawing, const TrainLook& look, const StepView& view);

}  // namespace attoscope
