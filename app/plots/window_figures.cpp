#include "app/plots/window_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "app/judge/judgement.h"
#include "app/papers/figure_maker.h"
#include "app/papers/sweep_figure.h"
#include "app/plots/own_numbers.h"
#include "app/session/kernel_gradients.h"
#include "app/sweep/sweeper.h"
#include "app/tensors/tensors.h"
#include "app/train/ordered_training.h"
#include "app/train/train_figures.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/setting.h"
#include "kernels/judge/call_judgement.h"
#include "kernels/questions/gradient_window.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/views/views.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/train/series.h"
#include "ui/words/sentences.h"

namespace attoscope::app {
namespace {

/// Description of an input's file, for names of heads; empty if it cannot be read.
ui::TensorFileInfo file_of(const Input& input) try {
  return input.kind == InputKind::tensors ? describe_tensors(input.file) : ui::TensorFileInfo{};
} catch (const std::exception&) {
  return {};
}

/// The window of scores that a figure shows, independent of earlier views.
ScoreQuestion figure_scores(const ui::Session& session) {
  const Problem& p = session.experiment.problem;
  return ui::score_question(session.experiment, ui::seen(session.view.score_look.zoom, p.n, key_count(p)), traced_row(p),
                            nullptr);
}

/// True if the plot shows the errors of a loaded output over their tolerances.
bool needs_shares(ui::Plot plot, const ui::Session& s) {
  const bool shown = s.view.field == Field::tolerance || (heat_panel_count(s) > 1 && s.view.second_field == Field::tolerance);
  return plot == ui::Plot::heat_map && shown && has_loaded(s.experiment);
}

/// The methods' names in legends.
std::array<std::string, 2> print_names(const Experiment& e) { return ui::legend_names(std::span(&e, 1)); }

/// Replaces the window's short method names in the label by full ones: "flash2" by "flash2 hw".
std::string in_full_names(const std::string& label, const Experiment& e) {
  const ui::MethodNames names = ui::method_names(e);
  const std::array<std::string, 2> full = print_names(e);
  const std::array<std::pair<std::string_view, const std::string*>, 3> words{
      {{names.a, &full[0]}, {names.b, &full[1]}, {names.b_after_a, &full[1]}}};
  const auto is_end = [&](std::size_t at) { return at >= label.size() || label[at] == ' ' || label[at] == ','; };
  std::string result;
  for (std::size_t at = 0; at < label.size();) {
    const auto* found = words.end();
    if (at == 0 || is_end(at - 1))
      found = std::ranges::find_if(words, [&](const auto& w) {
        return std::string_view(label).substr(at).starts_with(w.first) && is_end(at + w.first.size());
      });
    result += found != words.end() ? *found->second : label.substr(at, 1);
    at += found != words.end() ? found->first.size() : 1;
  }
  return result;
}

/// Uses full names in every legend and value axis.
void use_full_names(std::vector<ui::FigurePanel>& panels, const Experiment& e) {
  for (ui::FigurePanel& p : panels) {
    for (ui::Series& s : p.series) s.label = in_full_names(s.label, e);
    p.y.label = in_full_names(p.y.label, e);
    if (p.heat) p.heat->label = in_full_names(p.heat->label, e);
  }
}

/// True if the plot follows a method other than a tile by tile, next to a loaded output.
bool needs_followed(ui::Plot plot, const Experiment& e) { return is_over_tiles(plot) && ui::follows_another(e); }

/// The answer with a slip's output instead of the loaded one (see `slip_called`); null if there is no such slip.
std::shared_ptr<const Result> slip_output_of(const Result& result, const std::string& text, const Options& options) {
  const CallJudgement call = judge_experiment(result.experiment, options);
  const Slip* const slip = slip_called(call, text);
  return slip != nullptr ? with_slip_output(result, *slip, options) : nullptr;
}

/// Describes the computed experiment: end of every caption.
std::string conditions(const Result& r) {
  const Experiment& e = r.experiment;
  const std::string seed = e.problem.input.kind == InputKind::tensors ? "" : fmt::format("seed {}, ", e.problem.seed);
  return fmt::format("{}{}; {}; attoscope " ATTOSCOPE_VERSION ".", seed, ui::rows_text(r), experiment_words(std::span(&e, 1)));
}

/// "dQ of your kernel was read from dq.npy; " for each gradient of a kernel that replaces a's.
std::string kernels_words(const ui::Session& session, const Result& r) {
  const ui::KernelGradients& files = session.kernel_gradients;
  std::string words;
  if (!r.backward) return words;
  for (const auto& [tensor, file] : {std::pair{"dQ", &files.dq}, {"dK", &files.dk}, {"dV", &files.dv}})
    if (!file->empty()) words += fmt::format("{} of your kernel was read from {}; ", tensor, *file);
  return words;
}

/// " in b" if the plot follows b.
std::string in_other(ui::Plot plot, const Experiment& e) {
  return needs_followed(plot, e) ? " in " + std::string(ui::followed_name(e)) : "";
}

/// A plot's short title, and its panels.
struct Drawn {
  std::string title;
  std::vector<ui::FigurePanel> panels;
};

Drawn drawn_heat(const ui::Session& session, const PlotData& data, const PanelPrint& print) {
  ui::View view = session.view;
  if (view.picture == ui::PictureKind::heads) view.picture = ui::PictureKind::output;  // of the open head
  const ui::ShownTensor shown = shown_in(session, data);
  const bool fields = view.picture == ui::PictureKind::output || shown.window, two = heat_panel_count(session) > 1;
  const bool of_slip = two && view.second_slip && data.slip_output;
  const std::string title = ui::picture_title({view, data.result->experiment, shown, data.file}, view.field,
                                              two && !of_slip ? std::optional(view.second_field) : std::nullopt);
  const char* const places = !fields           ? ""
                             : shown.window    ? ", by rows and keys"
                             : shown.keys_down ? ", by keys and head dimensions"
                                               : ", by rows and head dimensions";
  return {fmt::format(
              "{}{}{}{}", title, of_slip ? ", beside the slip" : "", places,
              view.picture == ui::PictureKind::rescales ? "" : "; each pixel shows the largest |value| of the cells under it"),
          heat_panels(session, data, print)};
}

/// True if the plot is one of the strip's backward pass.
bool is_of_gradients(ui::Plot plot, const ui::Session& s) {
  return follows_gradients(s) &&
         (plot == ui::Plot::strip || std::ranges::find(ui::gradient_plots, plot) != ui::gradient_plots.end());
}

/// Draws one plot of the strip's backward pass, or all.
Drawn drawn_gradients(ui::Plot plot, const ui::View& view, const GradientTrace& trace) {
  const bool of_key = view.follows_key;
  if (const std::string why = ui::why_no_gradients(trace, of_key); !why.empty()) throw std::invalid_argument(why);
  std::vector<ui::FigurePanel> panels;
  for (const ui::Plot one : ui::gradient_plots)
    if (plot == ui::Plot::strip || plot == one) panels.push_back(gradient_panel(one, trace, of_key));
  for (ui::FigurePanel& p : panels) {
    if (view.figure.shown_tiles && view.tiles != ui::TileRange{}) {
      p.x.min = view.tiles.from;
      p.x.max = view.tiles.to;
    }
    if (p.series.empty()) p.series.push_back(series_of("", ui::Ink::text, ui::Shape::line));
  }
  const GradientTraceQuestion& q = trace.question;
  return {of_key ? fmt::format("The backward pass of key {}, query tile by query tile", q.key)
                 : fmt::format("The backward pass of query {}, key tile by key tile", q.query),
          std::move(panels)};
}

/// Draws one plot of the recurrence, or all shown plots: of a; if a is loaded, of the followed method in its own colour.
Drawn drawn_strip(ui::Plot plot, const ui::View& view, const PlotData& data) {
  ui::PanelInput input;
  input.answer.result = data.result;
  input.side.followed = data.side.followed;
  if (plot == ui::Plot::largest_dS || plot == ui::Plot::lost_dS || plot == ui::Plot::gradient_sums)
    throw std::invalid_argument("The strip shows no backward pass, so there are no gradients to draw.");
  if (const std::string why = why_no_recurrence(input); !why.empty()) throw std::invalid_argument(why);
  ui::StripState state;
  const std::shared_ptr<const Result> followed = recurrence_answer(input);
  const bool of_b = followed != data.result;
  const ui::Ink own = ui::followed_name(data.result->experiment) == "b" ? ui::Ink::b : ui::Ink::text;
  refresh_strip(state, followed, view.hidden_curves, of_b);
  if (view.figure.shown_tiles) show_axes(state, shown_tiles(*followed, view));
  std::vector<ui::FigurePanel> panels;
  for (const ui::Plot one : plot == ui::Plot::strip ? strip_plots(view) : std::span(&plot, 1))
    panels.push_back(strip_panel(one, state, view));
  if (plot == ui::Plot::rescales && (view.hidden_curves & bit(ui::Curve::row_moves)) == 0 && !state.rows.moves.empty())
    panels.push_back(row_move_panel(state));
  for (ui::FigurePanel& p : panels) {
    for (ui::Series& s : p.series)
      if (of_b) s.ink = s.ink == ui::Ink::a ? own : s.ink == ui::Ink::b ? ui::Ink::a : s.ink;
    if (p.series.empty()) p.series.push_back(series_of("", ui::Ink::text, ui::Shape::line));
  }
  const Result& r = *data.result;
  const std::string of = in_other(plot, r.experiment);
  return {plot == ui::Plot::rescales ? fmt::format("Rows whose running max moved{}, tile by tile", of)
                                     : fmt::format("The recurrence of row {}{}, tile by tile", r.trace.row, of),
          std::move(panels)};
}

std::vector<ui::FigurePanel> scatter_panels(const ui::ShownTensor& shown) {
  ui::ScatterState state;
  refresh_scatter(state, shown.result);
  if (const std::string why(why_no_points(state)); !why.empty()) throw std::invalid_argument(why);
  for (ui::FigureAxis* const axis : {&state.panel.x, &state.panel.y}) axis->label = of_tensor(shown, axis->label);
  return {state.panel};
}

/// Draws the errors of a loaded output's rows over their tolerances.
Drawn drawn_kernel_rows(const PlotData& data) {
  if (!data.side.verdict) throw std::invalid_argument("No output of a kernel is loaded, so there are no rows to judge.");
  if (const std::string& why = data.side.verdict->call.incomparable(); !why.empty()) throw std::invalid_argument(why);
  ui::PanelInput input;
  input.answer.result = data.result;
  input.side.verdict = data.side.verdict;
  ui::KernelRows rows;
  if (!refresh_kernel_rows(rows, input)) throw std::invalid_argument("The verdict is on another output than the one loaded.");
  return {"The largest error of each tile of rows over its tolerance", {kernel_rows_panel(rows)}};
}

Drawn drawn_plot(ui::Plot plot, const ui::Session& session, const PlotData& data, const PanelPrint& print) {
  const Result& r = *data.result;
  if (plot == ui::Plot::heat_map) return drawn_heat(session, data, print);
  if (plot == ui::Plot::kernel_rows) return drawn_kernel_rows(data);
  if (is_of_gradients(plot, session)) return drawn_gradients(plot, session.view, *data.side.gradient_trace);
  if (is_over_tiles(plot)) return drawn_strip(plot, session.view, data);
  ui::SeenTensor seen;
  const ui::ShownTensor& shown = shown_answer(seen, data.result, session.view);
  const std::array<std::string, 2> names = print_names(r.experiment), on_show = print_names(shown.result->experiment);
  if (plot == ui::Plot::ulps)
    return {about_tensor(shown, fmt::format("Signed errors in ulps of {}; the outermost bins hold all beyond {} ulps",
                                            name(r.experiment.format), UlpHistogram::reach)),
            {ui::ulps_panel(*shown.result)}};
  if (plot == ui::Plot::scatter)
    return {
        about_tensor(
            shown, fmt::format("Errors of {} and {} over the magnitude of golden; of elements that fall on one point the worst",
                               on_show[0], on_show[1])),
        scatter_panels(shown)};
  const std::optional<AnswerTensor> gradient = ui::attributed_gradient(session.view.tensor, session.experiment);
  const std::string& explained = names[explains_b(session) ? 1 : 0];
  if (plot == ui::Plot::why && (gradient ? data.side.gradient_why->shares.empty() : data.side.why->steps.empty()))
    throw std::invalid_argument("No step of " + explained +
                                (gradient ? "'s backward pass rounds anything" : " rounds anything but the inputs") +
                                ", so there is nothing to attribute.");
  if (plot == ui::Plot::why && gradient)
    return {fmt::format("Change of the mean error of {}'s {} if one step were exact", explained, name(*gradient)),
            {ui::why_panel(data.side.gradient_why->total[gradient_place(*gradient)].mean_abs,
                           ui::named_shares(ui::sorted_shares(*data.side.gradient_why, *gradient), *gradient),
                           explains_b(session))}};
  if (plot == ui::Plot::why)
    return {"Change of the mean error of " + explained + " if one step were exact",
            {ui::why_panel(data.side.why->total.mean_abs, named_shares(*data.side.why), explains_b(session))}};
  const std::vector<ui::TrafficOf> all = ui::traffic_of_passes(r);
  return {"Bytes between HBM and the chip, and the roofline of a data sheet",
          {bytes_panel(all), roofline_panel(all, data_sheets[static_cast<std::size_t>(session.view.machine)])}};
}

/// Panels are lower where several are stacked.
constexpr double usual_aspect = 0.72, flat_aspect = 0.5;

/// An empty figure with the plot's name and the session's width.
Figure figure_of(ui::Plot plot, const ui::Session& session) {
  Figure f;
  f.name = ui::plot_names[plot];
  return in_style(std::move(f), style_of(session.view.figure));
}

/// Figure of the session's sweep, as far as `table` has it.
Figure sweep_plot(const ui::Session& session, const std::shared_ptr<const ui::SweepTable>& table) {
  const PlannedSweep plan = planned(session.sweep, session.experiment);
  if (!plan.sweep) {
    const auto& [of_first, of_second] = plan.about.wrong_values;
    const std::string& why = !of_first.empty() ? of_first : !of_second.empty() ? of_second : plan.about.wrong;
    throw std::invalid_argument("The plan of the sweep cannot be drawn: " + why);
  }
  if (!table || table->cells.empty())
    throw std::invalid_argument("Nothing of the sweep is known yet, so there is nothing to draw.");
  const bool has_numbers = std::ranges::any_of(table->cells, [](const ui::SweepCell& cell) { return cell.count > 0; });
  if (!has_numbers && !table->errors.empty()) throw std::invalid_argument(with_full_stop(table->errors[0]));
  const ui::SweepPlan& p = session.sweep;
  return sweep_figure(*plan.sweep, *table, {{p.spread, p.log_x, p.log_y}, p.heat_map, style_of(session.view.figure)});
}

/// Title of a plot that only lessons have.
std::string lesson_title(const std::string& kind, const Experiment& e) {
  if (kind == "staircase") return "x rounded to " + name(e.format) + ", and the error";
  if (kind == "exp") return "exp of a score, and the largest and the smallest numbers of formats";
  if (kind == "loop") return "The double loop over blocks of queries and tiles of keys; " + experiment_words(std::span(&e, 1));
  if (kind == "sweep") return "A number of a lesson along one parameter; " + experiment_words(std::span(&e, 1));
  if (kind == "bytes") return "Bytes between HBM and chip of three algorithms; " + experiment_words(std::span(&e, 1));
  return fmt::format("The first {} weights of models from seeds {} and {}; their sorted values are joined", e.problem.n,
                     e.problem.seed, e.problem.seed + 1);
}

/// A plot that only lessons have.
Figure lesson_plot(const ui::Session& session, const ui::LessonAnswerPtr& answer) {
  if (session.lesson.views.empty())
    throw std::invalid_argument("The session holds no plot of a lesson, so there is nothing to draw.");
  std::vector<ui::LessonParameter> keys = session.lesson.views[0].changes;
  const std::string& kind = session.lesson.views[0].lesson;
  keys.push_back({"kind", kind});
  Figure f = figure_of(ui::Plot::lesson, session);
  f.name = kind;
  f.panels = lesson_panels(session.experiment, keys, answer);
  f.caption = lesson_title(kind, session.experiment);
  for (const ui::LessonParameter& key : keys)
    if (key.key != "kind" && key.key != "height" && key.key != "controls") f.caption += "; " + key.key + " " + key.value;
  f.caption += "; attoscope " ATTOSCOPE_VERSION ".";
  if (f.panels.size() > 1) f.aspect = flat_aspect;
  return f;
}

/// Replaces the words a and b by the methods of a training.
void use_names_of(const TrainPlan& plan, ui::FigurePanel& p) {
  Experiment e;
  e.a = plan.a.method;
  e.b = plan.b.method;
  e.format = plan.a.format;
  std::array<std::string, 2> names = print_names(e);
  if (plan.a.format != plan.b.format)
    names = {ui::method_words(e.a) + " in " + name(plan.a.format), ui::method_words(e.b) + " in " + name(plan.b.format)};
  const ui::MethodNames words{names[0], names[1], names[1]};
  for (ui::Series& s : p.series) s.label = with_names(s.label, words);
  p.y.label = with_names(p.y.label, words);
  if (p.heat) p.heat->label = with_names(p.heat->label, words);
}

/// Draws curves over the training's steps with the session's look.
Figure train_plot(ui::Plot plot, const ui::Session& session, const ui::TrainView& train) {
  const std::shared_ptr<const TrainRecord>& record = train.record;
  if (!record || record->step == 0) throw std::invalid_argument("Nothing was trained yet, so there is nothing to draw.");
  Figure f = figure_of(plot, session);
  if (plot == ui::Plot::train_weights) {
    const bool matrix = session.train_look.picture == ui::WeightPicture::matrix;
    f.panels.push_back(matrix ? matrix_panel(*record, session.train_look, train.gap.get())
                              : weights_panel(*record, session.train_look));
    if (matrix && !f.panels[0].heat)
      throw std::invalid_argument("No tensor is chosen, or it was not measured yet, so there is no matrix to draw.");
    if (!f.panels[0].heat)
      throw std::invalid_argument("No difference of weights was measured yet, so there is nothing to draw.");
    f.panels[0].heat->log = session.view.scale == ui::ValueScale::log;
    use_names_of(record->plan, f.panels[0]);
    f.caption = (matrix ? fmt::format("Difference of the weights at step {}, element by element; ", train.gap->step)
                        : "Largest difference of the weights over training; ") +
                training_conditions(*record, false);
    return f;
  }
  ui::TrainDrawing drawing;
  refresh(drawing, record, session.train_look, train.seeds);
  const bool of_runs = plot == ui::Plot::train_runs;
  f.panels.push_back((of_runs ? ui::run_panel : ui::deviation_panel)(drawing, drawing.look));
  if (f.panels[0].series.empty()) f.panels[0].series.push_back(series_of("", ui::Ink::text, ui::Shape::line));
  use_names_of(record->plan, f.panels[0]);
  f.caption =
      std::string(of_runs ? "Each run, step by step; " : "Difference of weights over training; ") +
      (drawing.seeds.empty() ? "" : fmt::format("bars: the least and the greatest of {} seeds; ", drawing.seeds.size() + 1)) +
      training_conditions(*record, false);
  return f;
}

/// Trains the session's plan and its further seeds.
void answer_training(PlotData& known, const ui::Session& session, const TrainOptions& options) {
  Trained all = trained(session.train, options);
  known.train.gap = weight_gap(all.record, {session.train_look.pair, session.train_look.tensor}, all.weights);
  known.train.record = std::make_shared<const TrainRecord>(std::move(all.record));
  known.train.seeds = trained_further(session.train, session.train_look.seeds, options);
}

/// Computes the answers that a heat map of the session needs besides the result.
void answer_map(PlotData& known, const ui::Session& session, const Options& options) {
  const Experiment& e = session.experiment;
  const ui::View& view = session.view;
  known.file = file_of(e.problem.input);
  if (shows_pairs(view, e)) {
    const ScoreQuestion question = figure_scores(session);
    if (!known.side.gradient_window || !(known.side.gradient_window->question == question))
      known.side.gradient_window = std::make_shared<const GradientWindow>(gradient_window(question, options));
  } else if (view.picture == ui::PictureKind::scores) {
    const ScoreQuestion question = figure_scores(session);
    if (!known.side.scores || !(known.side.scores->question == question))
      known.side.scores = std::make_shared<const ScoreWindow>(scores(question, options));
  }
  const bool counts = view.picture == ui::PictureKind::rescales && shows_counts(view.rescale_show);
  if (counts && (!known.side.clipping || !ui::answers(known.side.clipping->experiment, e)))
    known.side.clipping = std::make_shared<const Clipping>(clipping(e, clipping_rows, options));
  if (heat_panel_count(session) > 1 && view.second_slip && has_loaded(e) && !known.slip_output)
    known.slip_output = slip_output_of(*known.result, view.slip, options);
}

}  // namespace

PlotData answered(ui::Plot plot, const ui::Session& session, PlotData known, const Options& options, int steps) {
  const Experiment& e = session.experiment;
  if (plot == ui::Plot::sweep) {
    if (!known.sweep) known.sweep = computed_sweep(session, options.cancelled).table;
    return known;
  }
  if (plot == ui::Plot::lesson) {
    const std::optional<ui::LessonQuestion> question =
        session.lesson.views.empty() ? std::nullopt
                                     : lesson_question(e, session.lesson.views[0].lesson, session.lesson.views[0].changes);
    if (question) known.lesson = std::make_shared<const ui::LessonAnswer>(answer(*question, options));
    return known;
  }
  if (is_of_training(plot)) {
    if (!known.train.record)
      answer_training(known, session, {.cancelled = options.cancelled, .device = options.device, .steps = steps});
    return known;
  }
  if (!known.result) {
    known.result = std::make_shared<const Result>(compute(e, options));
    known.result = read_kernel_gradients(known.result, session.kernel_gradients).answer;
  }
  if (needs_shares(plot, session) && !known.result->shares)
    if (const auto shares = shares_of(judge_experiment(e, options))) known.result = with_shares(*known.result, *shares);
  if (plot == ui::Plot::heat_map) answer_map(known, session, options);
  if (needs_followed(plot, e) && !is_of_gradients(plot, session) &&
      (!known.side.followed || known.side.followed->answer->experiment != ui::followed_beside(e)))
    known.side.followed = std::make_shared<const ui::FollowedRow>(
        ui::FollowedRow{std::make_shared<const Result>(compute(ui::followed_beside(e), options)), {}});
  if (is_of_gradients(plot, session)) {
    const GradientTraceQuestion question = gradient_question(session);
    if (!known.side.gradient_trace || !(known.side.gradient_trace->question == question))
      known.side.gradient_trace = std::make_shared<const GradientTrace>(gradient_trace(question, options));
  }
  if (plot == ui::Plot::kernel_rows && has_loaded(e) &&
      (!known.side.verdict || known.side.verdict->experiment != ui::verdict_question(e)))
    known.side.verdict = std::make_shared<const ui::HeadVerdict>(ui::HeadVerdict{
        .experiment = ui::verdict_question(e), .call = judge_experiment(ui::verdict_question(e), options), .shares = nullptr});
  if (plot != ui::Plot::why) return known;
  const Experiment explained = explained_experiment(session);
  if (ui::attributed_gradient(session.view.tensor, e)) {
    if (!known.side.gradient_why || !ui::answers(known.side.gradient_why->experiment, explained))
      known.side.gradient_why = std::make_shared<const GradAttribution>(attribute_gradients(explained, options));
  } else if (!known.side.why || !ui::answers(known.side.why->experiment, explained)) {
    known.side.why = std::make_shared<const Attribution>(attribute(explained, options));
  }
  return known;
}

Figure plot_figure(ui::Plot plot, const ui::Session& session, const PlotData& data) {
  if (plot == ui::Plot::sweep) return sweep_plot(session, data.sweep);
  if (plot == ui::Plot::lesson) return lesson_plot(session, data.lesson);
  if (is_of_training(plot)) return train_plot(plot, session, data.train);
  Figure f = figure_of(plot, session);
  const int expected = plot == ui::Plot::heat_map ? heat_panel_count(session) : 1;
  const double page = width_mm(f);
  f.aspect = expected == 1 && f.columns == 2 ? flat_aspect : usual_aspect;
  const double width = page / (f.columns == 2 ? expected : 1);
  Drawn drawn = drawn_plot(plot, session, data, {width, width * f.aspect});
  f.panels = std::move(drawn.panels);
  use_full_names(f.panels, data.result->experiment);
  const auto count = static_cast<int>(f.panels.size());
  f.panels_across = f.columns == 2 ? std::min(2, count) : 1;
  if (count > 1 && f.panels_across == 1 && plot != ui::Plot::heat_map) f.aspect = flat_aspect;
  f.caption = drawn.title + "; " + kernels_words(session, *data.result) + conditions(*data.result);
  return f;
}

}  // namespace attoscope::app
