#include "app/plots/window_bundle.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/files/interrupts.h"
#include "app/papers/figure_maker.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/tensors/head_numbers.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/setting.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {

/// The parts of the session that the figure depends on, without pins and lessons.
ui::Session bare(ui::Plot plot, const ui::Session& session) {
  ui::Session kept;
  if (plot == ui::Plot::lesson) kept.lesson.views = session.lesson.views;
  kept.experiment = session.experiment;
  kept.view = session.view;
  kept.kernel_gradients = session.kernel_gradients;
  kept.device = session.device;
  kept.sweep = session.sweep;
  kept.train = session.train;
  kept.train_look = session.train_look;
  return kept;
}

ui::Plot plot_named(const std::string& text) {
  const auto* const found = std::ranges::find(ui::plot_names, text);
  if (found == ui::plot_names.end() || text == "window")
    refuse("--plot", text, listed(std::vector<std::string_view>(ui::plot_names.begin() + 1, ui::plot_names.end())));
  return static_cast<ui::Plot>(found - ui::plot_names.begin());
}

/// "after step 100 a: policy eager -> hw; after step 200 ..."
std::string forks_text(const TrainRecord& record) {
  std::string text;
  for (const Fork& fork : record.forks)
    text += (text.empty() ? "" : "; ") + ("after step " + std::to_string(fork.step) + " " + fork.sentence);
  return text;
}

/// Refuses an output path at which a file of the figure would overwrite the session.
void keep_session(const FigureArguments& x) {
  std::error_code error;
  for (const std::string& file : bundle_files(x.out))
    if (std::filesystem::equivalent(file, x.what, error))
      refuse("--out", x.out, "another name than the session's, which the figure would overwrite");
}

/// Reads a bundle, or a session for the plot of --plot; applies the typed style.
PlotBundle asked_for(const FigureArguments& x, std::vector<std::string>& remarks) {
  PlotBundle asked;
  if (x.plot.empty()) {
    asked = parsed_bundle(x.what, [&](const std::string& text) { return parse_plot(text, remarks); });
    find_files(asked.session.experiment, std::filesystem::absolute(x.what).parent_path().string());
  } else {
    asked = {plot_named(x.plot), read_session(x.what, remarks), std::nullopt};
    keep_session(x);
  }
  ui::FigureChoice& choice = asked.session.view.figure;
  const FigureStyle style = typed_style(x.style, style_of(choice));
  choice.two_columns = style.columns == 2;
  choice.slide = style.slide;
  choice.font = style.font;
  choice.font_size = style.font_size;
  return asked;
}

/// A sentence on the matrices that differ; "" if none.
std::string changed_digests(const Digests& then, const Digests& now) {
  std::vector<std::string_view> changed;
  if (then.golden != now.golden) changed.push_back("golden");
  if (then.a != now.a) changed.push_back("a");
  if (then.b != now.b) changed.push_back("b");
  return changed_bits(changed);
}

/// Digest of the points of the sweep that the plot shows; 0: it shows none.
std::uint64_t points_of(const PlotData& data) {
  return data.sweep ? data.sweep->digest : data.lesson ? data.lesson->table.digest : 0;
}

}  // namespace

Json plot_json(ui::Plot plot, const ui::Session& session, const PlotData& data, const std::string& caption) {
  Json json{{"schema", figure_schema}, {"version", ATTOSCOPE_VERSION}, {"plot", ui::plot_names[plot]}, {"caption", caption}};
  if (data.train.record && is_of_training(plot)) {
    json["steps"] = data.train.record->step;
    if (!data.train.record->forks.empty()) json["forked"] = forks_text(*data.train.record);
  }
  if (data.result && is_of_experiment(plot)) {
    const Digests& d = data.result->digests;
    json["digests"] = {{"golden", hex16(d.golden)}, {"a", hex16(d.a)}, {"b", hex16(d.b)}};
  }
  if (const std::uint64_t points = points_of(data); points != 0) json["digests"]["points"] = hex16(points);
  json["session"] = Json::parse(session_text(bare(plot, session)));
  return json;
}

void draw_plot(const FigureArguments& x, std::ostream& out, const TellChanged& tell) try {
  refuse_settings_of_named(x);
  std::vector<std::string> remarks;
  PlotBundle asked = asked_for(x, remarks);
  check_bundle_place("--out", x.out);  // before computing
  if (!asked.forked.empty())
    throw std::runtime_error(x.what + ": the training was forked (" + asked.forked + "), so that no one plan makes it again");
  const std::vector<std::string> tensors = is_of_experiment(asked.plot) || asked.plot == ui::Plot::sweep
                                               ? load_found(asked.session.experiment)
                                               : std::vector<std::string>();
  tell(tensors);
  if (is_of_experiment(asked.plot))
    std::ranges::move(other_numbers(asked.session.experiment.problem), std::back_inserter(remarks));
  const Interrupts interrupts;
  const UsableDevice device = usable_device(asked.session.device);
  const PlotData data = answered(asked.plot, asked.session, {},
                                 {.cancelled = [&] { return interrupts.arrived(); }, .device = device.spec}, asked.steps);
  const Figure figure = plot_figure(asked.plot, asked.session, data);
  write_bundle(x.out, figure, plot_json(asked.plot, asked.session, data, figure.caption), [&] { return interrupts.arrived(); });
  for (const std::string& remark : remarks) out << remark << "\n";
  out << figure.caption << "\n" << x.out << "\n";
  if (!tensors.empty()) return;
  if (asked.digests && data.result) refuse_changed(x.what, changed_digests(*asked.digests, data.result->digests), x.out);
  refuse_changed(x.what, changed_points(asked.points, points_of(data)), x.out);
} catch (const Stopped&) {
  throw std::runtime_error("stopped before the figure was drawn; nothing was written");
}

}  // namespace attoscope::app
