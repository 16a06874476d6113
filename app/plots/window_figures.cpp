#include "app/plots/window_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "app/judge/judgement.h"
#include "app/plots/window_plots.h"
#include "app/sweep/sweeper.h"
#include "app/tensors/tensors.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/shares.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/why.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/rescale_values.h"
#include "ui/picture/score_window.h"
#include "ui/statistics/statistics.h"
#include "ui/words/sentences.h"

namespace attoscope {
namespace {

/// The window of scores that a figure shows: it depends on nothing that was shown before.
ScoreQuestion figure_scores(const Session& session) {
  const Problem& p = session.experiment.problem;
  return score_question(session.experiment, seen(session.view.score_look.zoom, p.n, p.n), traced_row(p), nullptr);
}

bool needs_scores(Plot plot, const View& v) { return plot == Plot::heat_map && v.picture == PictureKind::scores; }
bool needs_clipping(Plot plot, const View& v) {
  return plot == Plot::heat_map && v.picture == PictureKind::rescales && shows_counts(v.rescale_show);
}

bool needs_slip(Plot plot, const Session& s) {
  return plot == Plot::heat_map && heat_panel_count(s.view) > 1 && s.view.second_slip && has_loaded(s.experiment);
}
/// True if it shows the errors of a loaded output over their tolerances.
bool needs_shares(Plot plot, const Session& s) {
  const bool shown =
      s.view.field == Field::tolerance || (heat_panel_count(s.view) > 1 && s.view.second_field == Field::tolerance);
  return plot == Plot::heat_map && shown && has_loaded(s.experiment);
}
/// True if the plot follows another method than a tile by tile, beside a loaded output.
bool needs_followed(Plot plot, const Experiment& e) { return is_over_tiles(plot) && follows_another(e); }
/// The loaded output's answer with what a slip gives in its place: the one of that text, or the named one; null: there is none.
std::shared_ptr<const Result> slip_output_of(const Result& result, const std::string& text, const Options& options) {
  const CallJudgement call = judge_experiment(result.experiment, options);
  const Slip* const slip = slip_called(call, text);
  return slip != nullptr ? with_slip_output(result, *slip, options) : nullptr;
}

/// "flash2 hw": what a method is and where it rounds.
std::string method_words(const Method& m) {
  if (!is_emulated(m.algorithm)) return std::string(name(m.algorithm));
  const NearestPolicy nearest = nearest_policy(m.precision, m.algorithm);
  const std::string changed = nearest.changed > 0 ? fmt::format(" with {} steps changed", nearest.changed) : "";
  return fmt::format("{} {}{}", name(m.algorithm), nearest.name, changed);
}

/// "N = 1024, d = 64"; with the keys and the columns of V where there are others.
std::string shape_words(const Problem& p) {
  std::string words = fmt::format("N = {}", p.n);
  if (key_count(p) != p.n) words += fmt::format(", {} keys", key_count(p));
  words += fmt::format(", d = {}", p.d);
  if (value_columns(p) != p.d) words += fmt::format(", d_v = {}", value_columns(p));
  return words;
}

/// What was computed: the end of every caption.
std::string conditions(const Result& r) {
  const Experiment& e = r.experiment;
  const Problem& p = e.problem;
  const std::string input = input_spec(p.input) + (p.input.kind == InputKind::tensors ? "" : fmt::format(", seed {}", p.seed));
  const std::string_view mask = mask_names[static_cast<std::size_t>(p.mask.kind)];
  return fmt::format("input {}, {}, mask {}, {}, {}; a is {}, tile {} x {}; b is {}; attoscope " ATTOSCOPE_VERSION ".", input,
                     shape_words(p), mask, name(e.format), rows_text(r), method_words(e.a), e.a.block_q, e.a.block_k,
                     method_words(e.b));
}

/// What a plot shows, in a few words.
std::string title_of(Plot plot, const View& view, const Result& r) {
  const MethodNames names = method_names(r.experiment);
  const std::string of_other = needs_followed(plot, r.experiment) ? " in " + std::string(followed_name(r.experiment)) : "";
  switch (plot) {
    case Plot::heat_map:
      if (view.picture == PictureKind::rescales) return "Tiles in which the running max moved or P left its format, by rows";
      if (view.picture == PictureKind::scores) return "Scores of a by rows and keys";
      return field_title(view.field, names) +
             " by rows and head dimensions; each pixel shows the largest |value| of the cells under it";
    case Plot::strip:
    case Plot::running_max:
    case Plot::row_sum:
    case Plot::largest_P:
    case Plot::error:
      return fmt::format("The recurrence of row {}{}, tile by tile", r.trace.row, of_other);
    case Plot::rescales:
      return fmt::format("Rows whose running max moved{}, tile by tile", of_other);
    case Plot::ulps:
      return "Signed errors in ulps of " + name(r.experiment.format);
    case Plot::scatter:
      return "Errors of a and b over the magnitude of golden; of elements that fall on one point the worst";
    case Plot::why:
      return "Change of a's mean error if one step were exact";
    case Plot::traffic:
      return "Bytes between HBM and the chip, and the roofline of a data sheet";
    case Plot::window:
    case Plot::sweep:
    case Plot::train_deviation:
    case Plot::train_runs:
      break;
  }
  return "";
}

std::vector<FigurePanel> panels_of(Plot plot, const Session& session, const PlotData& data, const PanelPrint& print) {
  switch (plot) {
    case Plot::heat_map:
      return heat_panels(session, data, print);
    case Plot::strip:
    case Plot::running_max:
    case Plot::rescales:
    case Plot::row_sum:
    case Plot::largest_P:
    case Plot::error:
      return strip_panels(plot, session.view, data);
    case Plot::ulps:
      return ulps_panels(*data.result);
    case Plot::scatter:
      return scatter_panels(data.result);
    case Plot::why:
      return why_panels(data.why->attribution);
    case Plot::traffic:
      return traffic_panels(*data.result, session.view.machine);
    case Plot::window:
    case Plot::sweep:
    case Plot::train_deviation:
    case Plot::train_runs:
      break;
  }
  throw std::invalid_argument(fmt::format("{} is no plot of an experiment", plot_names[static_cast<std::size_t>(plot)]));
}

/// Panels are lower where several are stacked.
constexpr double usual_aspect = 0.72, flat_aspect = 0.5;

}  // namespace

PlotData answered(Plot plot, const Session& session, PlotData known, const Options& options, int steps) {
  const Experiment& e = session.experiment;
  if (plot == Plot::sweep) {
    if (!known.sweep) known.sweep = computed_sweep(session, options.cancelled).table;
    return known;
  }
  if (is_of_training(plot)) {
    if (known.train.record) return known;
    const TrainOptions as_asked{.cancelled = options.cancelled, .device = options.device, .steps = steps};
    known.train.record = std::make_shared<const TrainRecord>(trained(session.train, as_asked).record);
    known.train.seeds = trained_further(session.train, session.train_look.seeds, as_asked);
    return known;
  }
  if (!known.result) known.result = std::make_shared<const Result>(compute(e, options));
  if (needs_shares(plot, session) && !known.result->shares)
    if (const auto shares = shares_of(judge_experiment(e, options))) known.result = with_shares(*known.result, *shares);
  if (needs_scores(plot, session.view)) {
    const ScoreQuestion question = figure_scores(session);
    if (!known.scores || !(known.scores->question == question))
      known.scores = std::make_shared<const ScoreWindow>(scores(question, options));
  }
  if (needs_clipping(plot, session.view) && (!known.clipping || !same_counts(known.clipping->experiment, e)))
    known.clipping = std::make_shared<const Clipping>(clipping(e, clipping_rows, options));
  if (needs_slip(plot, session) && !known.slip_output)
    known.slip_output = slip_output_of(*known.result, session.view.slip, options);
  if (needs_followed(plot, e) && (!known.followed || known.followed->answer->experiment != followed_beside(e)))
    known.followed = std::make_shared<const FollowedRow>(
        FollowedRow{std::make_shared<const Result>(compute(followed_beside(e), options)), {}});
  if (plot == Plot::why && (!known.why || !answers(known.why->experiment, e)))
    known.why = std::make_shared<const Why>(Why{e, attribute(e, options)});
  return known;
}

Figure plot_figure(Plot plot, const Session& session, const PlotData& data) {
  if (plot == Plot::sweep) return sweep_plot(session, data.sweep);
  if (is_of_training(plot)) return train_plot(plot, session, data.train);
  Figure f;
  f.name = plot_names[static_cast<std::size_t>(plot)];
  f.columns = session.view.figure.two_columns ? 2 : 1;
  const int expected = plot == Plot::heat_map ? heat_panel_count(session.view) : 1;
  const double page = f.columns == 1 ? one_column_mm : two_columns_mm;
  f.aspect = expected == 1 && f.columns == 2 ? flat_aspect : usual_aspect;
  const double width = page / (f.columns == 2 ? expected : 1);
  f.panels = panels_of(plot, session, data, {width, width * f.aspect});
  const auto count = static_cast<int>(f.panels.size());
  f.panels_across = f.columns == 2 ? std::min(2, count) : 1;
  if (count > 1 && f.panels_across == 1 && plot != Plot::heat_map) f.aspect = flat_aspect;
  f.caption = title_of(plot, session.view, *data.result) + "; " + conditions(*data.result);
  return f;
}

}  // namespace attoscope
