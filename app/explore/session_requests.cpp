#include "app/explore/session_requests.h"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "app/explore/lesson_pages.h"
#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/link/link.h"
#include "app/session/experiment_options.h"
#include "app/session/session.h"
#include "app/session/session_pack.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_list.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/threads/job.h"
#include "imgui.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// Runs `act`; the explorer shows its exception.
template <class Act>
void attempt(Explorer& explorer, Act act) {
  if (std::string failure = failure_of(act); !failure.empty()) explorer.show_error(std::move(failure));
}

std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); }

/// Path of the list of chosen tensors, beside the list of recent sessions; "": no list is kept.
std::string choices_list(const SessionStore& store) {
  const std::string& recent = store.places().recent;
  return recent.empty() ? "" : (std::filesystem::path(recent).parent_path() / "tensors.json").string();
}

void open_session(const std::string& file, const SessionContext& context) {
  const auto read = [file, context](const ReadWatch& watch) -> FileReader::Then {
    return [opened = SessionStore::read(file, watch), context](ui::Session& session) {
      context.explorer.adopt(session, context.store.open(opened), opened.remarks);
    };
  };
  context.explorer.read(context.session, is_quick_session(file), read);
}

void save_session(const std::string& file, const SessionContext& context) {
  attempt(context.explorer, [&] {
    context.explorer.show_notice(context.store.save(context.session, file));
    context.explorer.show_error("");
  });
}

/// Writes the session and its tensors on another thread; keeps a file that is there beside the new one.
void save_packed(const std::string& file, const SessionContext& context) {
  const std::string to = file.ends_with(pack_ending) ? file : pack_name(file);
  const auto pack = [to, context, session = context.session](const ReadWatch& watch) -> FileReader::Then {
    const SessionPack packed = pack_session(session, watch);
    const std::string aside = keep_aside(to);
    if (aside.empty() && std::filesystem::exists(to))
      throw std::runtime_error(to + ": is there and cannot be kept aside, so the session was not saved");
    write_safely(to, packed.bytes);
    std::string more = aside.empty() ? "" : " The file that was there is kept as " + aside + ".";
    for (const std::string& sentence : packed.remarks) more += " " + sentence + ".";
    return [to, more, context](ui::Session&) { context.explorer.show_notice("Saved " + to + ", with its tensors." + more); };
  };
  context.explorer.read(context.session, false, pack);
}

/// Opens the desktop's dialog, starting at the session's file, or beside the shown tensors.
void ask_desktop(ui::FileUse use, bool saves, const SessionContext& context) {
  FileQuestion question{use, saves};
  const ui::SessionFiles files = context.store.files(context.session);
  if (use == ui::FileUse::session) question.start = files.file.empty() && saves ? files.proposed : files.file;
  if (use == ui::FileUse::checkpoint && saves) question.start = folder_of(files.proposed) + "training.checkpoint";
  if (use == ui::FileUse::model) question.start = context.session.model.checkpoint;
  if (use == ui::FileUse::pack) question.start = pack_name(files.file.empty() ? "untitled" : files.file);
  if (use > ui::FileUse::model) {
    question.start =
        use == ui::FileUse::missing ? context.explorer.missing() : folder_of(context.session.experiment.problem.input.file);
    for (const std::string& ending : tensor_endings()) question.patterns += (question.patterns.empty() ? "*" : " *") + ending;
  }
  context.dialog.ask(question);
}

/// Opens the requested output, gradient or captured run.
void open_output(const ui::FileRequest& f, ui::Session& session, Explorer& explorer) {
  using Use = ui::FileUse;
  if (f.use == Use::captured_run) session.model.against = f.spec;
  if (f.use == Use::output) explorer.open_kernel(session, with_home(f.spec), f.as_b);
  const auto of = [&](Use use) { return f.use == use ? with_home(f.spec) : std::string(); };
  const GradientSpecs gradients{
      .d_o = of(Use::d_o), .d_lse = of(Use::d_lse), .dq = of(Use::dq), .dk = of(Use::dk), .dv = of(Use::dv)};
  if (gradients.any()) explorer.open_gradients(session, gradients);
}

void handle(const ui::SessionRequest& request, const SessionContext& context) {
  switch (request.act) {
    case ui::SessionRequest::Act::fresh:
      return attempt(context.explorer, [&] {
        context.explorer.adopt(context.session, context.store.fresh(context.session), {});
        context.explorer.choose_row_again();
      });
    case ui::SessionRequest::Act::open:
      return request.file.empty() ? ask_desktop(ui::FileUse::session, false, context) : open_session(request.file, context);
    case ui::SessionRequest::Act::save:
      if (context.store.has_file(context.session)) return save_session("", context);
      [[fallthrough]];
    case ui::SessionRequest::Act::save_as:
      if (request.file.ends_with(pack_ending)) return save_packed(request.file, context);
      return request.file.empty() ? ask_desktop(ui::FileUse::session, true, context) : save_session(request.file, context);
    case ui::SessionRequest::Act::pack:
      return request.file.empty() ? ask_desktop(ui::FileUse::pack, true, context) : save_packed(request.file, context);
  }
}

void handle(const ui::TrainRequest& request, const SessionContext& context) {
  using Act = ui::TrainRequest::Act;
  if (!request.file.empty() || (request.act != Act::save && request.act != Act::open))
    return context.train.handle(request, context.session);
  ask_desktop(ui::FileUse::checkpoint, request.act == Act::save, context);
}

/// Sets the checkpoint of the Model workspace and shows the workspace.
void open_model(const std::string& file, const SessionContext& context) {
  const std::string checkpoint = checkpoint_at(file);
  context.session.model.checkpoint = checkpoint.empty() ? file : checkpoint;  // the workspace reports errors in it
  context.session.view.workspace = ui::Workspace::model;
}

/// Takes a dropped file for the Model workspace: a checkpoint, or a text or tokens if it is shown. Returns false for others.
bool drop_on_model(const std::string& file, const SessionContext& context) {
  const bool shown = context.session.view.workspace == ui::Workspace::model;
  if (!checkpoint_at(file).empty()) {
    open_model(file, context);
    return true;
  }
  if (!shown || !(file.ends_with(".txt") || file.ends_with(".md") || is_tensor_file(file))) return false;
  context.session.model.text = ui::ModelText::file;
  context.session.model.file = file;
  return true;
}

void take_chosen(const SessionContext& context) {
  attempt(context.explorer, [&] {
    const std::optional<FileAnswer> answer = context.dialog.take();
    if (!answer || answer->files.empty()) return;
    const auto [use, saves, start, patterns] = answer->question;
    const std::string& file = answer->files.front();
    if (use == ui::FileUse::session)
      return handle({.act = saves ? ui::SessionRequest::Act::save_as : ui::SessionRequest::Act::open, .file = file}, context);
    if (use == ui::FileUse::checkpoint)
      return handle(ui::TrainRequest{.act = saves ? ui::TrainRequest::Act::save : ui::TrainRequest::Act::open, .file = file},
                    context);
    if (use == ui::FileUse::pack) return save_packed(file, context);
    if (use == ui::FileUse::model) return open_model(file, context);
    if (use == ui::FileUse::missing) return context.explorer.locate(context.session, file);
    if (use == ui::FileUse::tensors) return open_files(answer->files, context);
    const bool as_b = loaded_place(context.session.experiment) == LoadedPlace::b;
    open_output({.use = use, .spec = file, .as_b = as_b}, context.session, context.explorer);
  });
}

/// A session with the experiment of a pin, and only that pin.
ui::Session alone(const ui::Pin& pin) {
  ui::Session session;
  session.experiment = pin.experiment;
  session.pins = {pin};
  return session;
}

void to_clipboard(const ui::Session& session) { ImGui::SetClipboardText(session_text(session).c_str()); }

std::string from_clipboard() {
  const char* const text = ImGui::GetClipboardText();
  return text != nullptr ? text : "";
}

}  // namespace

void handle(const ui::Requests& requests, const ui::PanelInput& shown, ui::Session& session, Explorer& explorer,
            PlotExporter& exporter) {
  if (requests.open_number)  // like a link of a lesson's page
    attempt(explorer, [&] { explorer.follow_link(session, short_session_text(session_of(*requests.open_number))); });
  if (requests.cancel) explorer.cancel();
  if (!requests.error.empty()) explorer.show_error(requests.error);
  if (requests.clipboard.paste) explorer.paste(session, requests.clipboard.paste_text);
  if (requests.clipboard.paste_pins) explorer.add_pins(session, from_clipboard());
  explorer.look_into(requests.files.look, requests.files.look_for);
  if (requests.files.open) open_output(*requests.files.open, session, explorer);
  explorer.ask_beside(requests, session);
  explorer.want(requests.wanted);
  if (requests.exports.plot) explorer.show_notice(exporter.ask(*requests.exports.plot, session, shown));
  if (!requests.exports.figure.empty()) exporter.draw(requests.exports.figure, session.view);
  if (requests.exports.stop_figures) exporter.stop_figures();
  if (requests.clipboard.copy_pin && *requests.clipboard.copy_pin < static_cast<int>(session.pins.size())) {
    const ui::Pin& pin = session.pins[static_cast<std::size_t>(*requests.clipboard.copy_pin)];
    to_clipboard(alone(pin));
    explorer.show_notice("The pin \u201c" + pin.name + "\u201d is on the clipboard as text.");
  }
  if (requests.clipboard.copy_link)
    attempt(explorer, [&] {
      ImGui::SetClipboardText(session_link(short_session_text(session)).c_str());
      explorer.show_notice("A link to the session is on the clipboard.");
    });
  if (!requests.clipboard.copy) return;
  to_clipboard(session);
  explorer.show_notice("The session is on the clipboard as text; Ctrl+V brings it back.");
}

void open_files(const std::vector<std::string>& files, const SessionContext& context, bool keeps_format, GradientSpecs beside) {
  if (files.size() == 1 && drop_on_model(files.front(), context)) return;
  if (files.size() == 1 && (files.front().ends_with(".json") || files.front().ends_with(pack_ending)))
    return open_session(files.front(), context);
  const std::string chosen = files.size() == 1 ? chosen_tensors(choices_list(context.store), files.front()) : "";
  context.session.view.show_tensors |= !chosen.empty();  // the panel shows the earlier choice
  context.explorer.open_dropped(context.session, chosen.empty() ? files : std::vector{chosen}, keeps_format, std::move(beside));
}

void open_sent(const LinkMessage& message, const SessionContext& context) {
  if (!message.session.empty()) return context.explorer.follow_link(context.session, message.session);
  attempt(context.explorer, [&] {
    ExperimentOptions options;
    options.typed = message.settings;
    const auto change = [options](Experiment& e) {
      set_problem(e.problem, options);
      if (const std::string* const format = options.find("format")) e = with_format(std::move(e), parse_format(*format));
    };
    context.session.view.workspace = ui::Workspace::explore;
    GradientSpecs beside{message.d_o, ""};
    for (const auto& [key, path] : message.gradients)
      (key == "dq" ? beside.dq : key == "dk" ? beside.dk : key == "dv" ? beside.dv : beside.lse) = path;
    context.explorer.open_changed(
        change, [&] { open_files(message.files, context, options.find("format") != nullptr, std::move(beside)); });
  });
}

void open_captured(const CapturedFile& captured, ui::Session& session, Explorer& explorer) {
  const auto read = [captured, &explorer](const ReadWatch& watch) -> FileReader::Then {
    Experiment e = captured.experiment;
    e.problem.input = parse_input(captured.file);
    load_tensors(e.problem.input, watch);
    e.problem = with_shape(e.problem, e.problem.input.tensors->shape());
    return [e, title = captured.title, &explorer](ui::Session& shown) {
      ui::Session opened = shown;
      opened.experiment = e;
      opened.kernel_gradients = {};
      opened.view.workspace = ui::Workspace::explore;
      opened.view.square_tiles &= has_square_tiles(e.a);
      opened.view.listed_file.clear();
      look_at_all(opened.view);
      explorer.adopt(shown, std::move(opened), {});
      explorer.tell("Q, K and V of " + title + ".");
    };
  };
  explorer.read(session, quick_to_read(without_head(captured.file)), read);
}

void take_trained(const SessionContext& context) {
  if (std::optional<std::string> note = context.train.take_note()) context.explorer.show_notice(std::move(*note));
  if (const std::optional<CapturedFile> captured = context.train.take_captured())
    open_captured(*captured, context.session, context.explorer);
  if (const std::optional<CapturedFile> captured = context.model.take_captured())
    open_captured(*captured, context.session, context.explorer);
}

void handle_sessions(const ui::Requests& requests, const SessionContext& context) {
  handle(requests.train, context);
  context.model.handle(requests.model, context.session);
  if (requests.files.session) handle(*requests.files.session, context);
  if (requests.files.list_sessions) context.store.look_for_recent();
  if (requests.remarks_read) context.explorer.forget_remarks();
  if (const std::optional<ui::FileRequest>& asked = requests.files.open) {
    if (asked->use == ui::FileUse::missing) context.explorer.locate(context.session, with_home(asked->spec));
    if (!asked->choice_of.empty()) remember_tensors(choices_list(context.store), asked->choice_of, asked->spec);
    if (asked->use == ui::FileUse::tensors) open_files({with_home(asked->spec)}, context);
  }
  if (requests.files.ask) ask_desktop(*requests.files.ask, false, context);
  take_chosen(context);
}

void settle_row(const SessionContext& context, ui::History& history) {
  const std::optional<int> row = context.explorer.take_replaced_row();
  if (!row) return;
  ui::Session before = context.session;
  before.experiment.problem.traced_row = *row;
  context.store.settle(before, context.session);
  history.settle(before, context.session);
}

void autosave(const SessionContext& context, double now, bool at_once) {
  attempt(context.explorer, [&] { context.store.autosave(context.session, now, at_once); });
}

ui::SessionFiles session_files(const ui::Session& session, const SessionStore& store, const FileDialog& dialog) {
  ui::SessionFiles files = store.files(session);
  files.has_dialogs = dialog.available();
  files.asking = dialog.asking();
  return files;
}

}  // namespace attoscope::app
