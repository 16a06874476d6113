#include <fmt/format.h>

#include <array>
#include <utility>

#include "kernels/experiment/rules.h"
#include "ui/commands/bars.h"
#include "ui/commands/commands.h"
#include "ui/controls/controls.h"
#include "ui/frame/entries.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/session/settings.h"
#include "ui/sweep/panels.h"

namespace attoscope {

namespace {

void add_workspaces(std::vector<Command>& all) {
  for (std::size_t i = 0; i < workspaces.size(); ++i)
    all.push_back({"workspace: " + std::string(workspaces[i].label), "go to tab: " + std::string(workspaces[i].what), "",
                   [i](KeyTarget& t) { t.session.view.workspace = static_cast<Workspace>(i); }, ""});
}

void go_to_lesson(KeyTarget& t, const Lesson& lesson, int step) {
  t.session.view.workspace = Workspace::learn;
  open_lesson(t.session.lesson, lesson, step);
}

void add_lessons(const LearnInput& learn, std::vector<Command>& all) {
  if (!learn.lessons) return;
  int number = 0;
  for (const Lesson& lesson : *learn.lessons) {
    const std::string title = fmt::format("lesson {}", ++number);
    all.push_back({title + ": " + lesson.title, "Learn", "",
                   [lessons = learn.lessons, &lesson](KeyTarget& t) { go_to_lesson(t, lesson, 0); }, "", 1 + 0.01 * number});
    for (int step = 1; step < static_cast<int>(lesson.steps.size()); ++step)
      all.push_back({fmt::format("{}, step {}: {}", title, step + 1, lesson.steps[static_cast<std::size_t>(step)].title),
                     lesson.title, "",
                     [lessons = learn.lessons, &lesson, step](KeyTarget& t) { go_to_lesson(t, lesson, step); }, "",
                     2 + 0.01 * number});
  }
}

/// Opens the text field for a path in the controls.
void type_path(KeyTarget& t, PathPrompt Popups::* prompt) {
  t.session.view.workspace = Workspace::explore;
  (t.state.popups.*prompt).wanted_for = 3;
}

/// Commands for the loaded output of a kernel.
void add_your_kernel(const Session& session, std::vector<Command>& all) {
  constexpr std::string_view words = "loaded output O of your kernel, rounded or wrong? judge, verdict, .npy, .safetensors";
  all.push_back(
      {"your kernel: open its output …", std::string(words), "", [](KeyTarget& t) { type_path(t, &Popups::kernel); }, ""});
  all.push_back(
      {"input: open Q, K, V …", "tensor file, .npy, .safetensors", "", [](KeyTarget& t) { type_path(t, &Popups::file); }, ""});
  if (session.experiment.loaded.file.empty()) return;
  constexpr std::array<std::pair<LoadedPlace, const char*>, 3> places{
      {{LoadedPlace::a, "a"}, {LoadedPlace::b, "b"}, {LoadedPlace::nowhere, "off"}}};
  for (const auto& [place, text] : places)
    all.push_back({std::string("your kernel: ") + text, "in the place of a, of b, or of neither; " + std::string(words), "",
                   [place = place](KeyTarget& t) { t.session.experiment = with_loaded(t.session.experiment, place); }, ""});
}

void add_presets(const ChoicesInput& choices, std::vector<Command>& all) {
  if (choices.probes)
    for (const ProbeEntry& p : *choices.probes)
      all.push_back({"preset: " + p.title, p.sentence, "", [p](KeyTarget& t) { ask_probe(t.session, t.state, p); }, ""});
  for (const DeviceEntry& d : choices.devices)
    if (d.reason.empty())
      all.push_back({"device: " + d.spec, d.name, "", [spec = d.spec](KeyTarget& t) { t.session.device = spec; }, ""});
}

void add_heads(const Session& session, const PanelInput& input, std::vector<Command>& all) {
  if (session.experiment.problem.input.kind != InputKind::tensors) return;
  for (std::size_t i = 0; i < input.choices.tensors.head_names.size(); ++i)
    all.push_back({"head: " + input.choices.tensors.head_names[i], "of the tensor file", "",
                   [i](KeyTarget& t) {
                     t.state.popups.palette.complaint = set_setting(t.session, "problem.input.index", std::to_string(i));
                   },
                   ""});
}

void add_kept(const Session& session, const SessionFiles& files, std::vector<Command>& all) {
  for (const RecentSession& r : files.recent)
    if (r.reason.empty())
      all.push_back(
          {"open session: " + r.file.substr(r.file.find_last_of('/') + 1), "recent file " + r.file, "",
           [file = r.file](KeyTarget& t) { t.requests.files.session = SessionRequest{SessionRequest::Act::open, file}; }, ""});
  for (std::size_t i = 0; i < session.pins.size(); ++i)
    all.push_back({"pin: " + session.pins[i].name, "restore this pin", "",
                   [i](KeyTarget& t) { restore_pin(t.session, static_cast<int>(i)); }, ""});
}

void add_plans_and_figures(const PanelInput& input, std::vector<Command>& all) {
  for (std::size_t i = 0; i < ready_plans().size(); ++i)
    all.push_back({"sweep: " + std::string(ready_plans()[i].title),
                   "ready-made plan: " + std::string(ready_plans()[i].sentence), "",
                   [i](KeyTarget& t) {
                     t.session.view.workspace = Workspace::sweep;
                     t.session.sweep = plan_of(ready_plans()[i], t.session.sweep);
                   },
                   ""});
  if (!input.figures.entries) return;
  for (const FigureEntry& f : *input.figures.entries)
    all.push_back({"figure: " + f.title, "draw for print, of a paper: " + f.what, "",
                   [name = f.name](KeyTarget& t) { t.requests.exports.figure = name; }, ""});
}

}  // namespace

void add_offers(const KeyTarget& target, std::vector<Command>& all) {
  add_workspaces(all);
  add_your_kernel(target.session, all);
  add_presets(target.input.choices, all);
  add_heads(target.session, target.input, all);
  add_kept(target.session, target.input.sessions, all);
  add_lessons(target.input.learn, all);
  add_plans_and_figures(target.input, all);
}

}  // namespace attoscope
