#include "app/explore/explorer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/explore/side_answers.h"
#include "app/files/paths.h"
#include "app/judge/judgement.h"
#include "app/session/probes.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/tensors/call_scales.h"
#include "app/tensors/changed_tensors.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/threads/job.h"
#include "app/words/devices.h"
#include "app/words/numbers.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/tensor_core/hardware.h"
#include "ui/frame/loaded_output.h"

namespace attoscope::app {
ui::ProbeEntries probe_entries() {
  auto entries = std::make_shared<std::vector<ui::ProbeEntry>>();
  for (Probe& p : probes())
    entries->push_back({std::move(p.name), std::move(p.title), std::move(p.sentence), std::move(p.experiment)});
  return entries;
}

Explorer::Explorer(const Start& start, std::function<void()> published, Compute compute)
    : cpu_(device_name()),
      chooses_row_(start.first),
      files_(published),
      watch_(published),
      answer_(published, std::move(compute)),
      side_(published, std::make_shared<KeptHeads>(default_point_cache())),
      lessons_(published) {
  choices_.example_file = start.example_file;
  choices_.devices = device_entries(cpu_);
  messages_ = {
      .error = fmt::format("{}", fmt::join(start.remarks, "  ")), .notice = {}, .load_failed = false, .remarks = start.remarks};
  const std::string failure = failure_of([&] { choices_.probes = probe_entries(); });
  if (messages_.error.empty()) messages_.error = failure;
}

void Explorer::update(ui::Session& session) {
  files_.update(session);
  choose_device(session);
  Experiment& experiment = session.experiment;
  gradient_files_ = session.kernel_gradients;
  forget_mended(session);
  follow_head(experiment);
  drop_chosen_row(experiment);
  read_rewritten(session);
  if (load_files(experiment) && !has_asked(experiment)) ask(experiment);
  ask_what_is_missing();
  const Input& input = experiment.problem.input;
  std::string unlisted;
  choices_.tensors = loader_.describe(input.kind == InputKind::tensors ? input.file : "", unlisted);
  if (!unlisted.empty() && choices_.missing.empty()) messages_.error = unlisted;
  choices_.output = loader_.describe_output(experiment.loaded, experiment.problem);
  watch_files(experiment);
  for (std::string failure : {answer_.update(), side_.update(), failure_of([&] { lessons_.update(); }, "this experiment")})
    if (!failure.empty()) messages_.error = std::move(failure);
  judged_answer_.take(answer_.newest(), side_.verdict());
  judged_answer_.show_worst(session, side_.judged());
  choose_row(experiment);
  if (session.view.workspace == ui::Workspace::learn) open_lessons_ = lessons_.lessons();
}

/// Reads the experiment's files; reports a missing file, and tensors that differ from the session's.
bool Explorer::load_files(Experiment& e) {
  std::string failure;
  const bool loaded = loader_.load(e.problem, failure) && loader_.load_beside(e, failure);
  if (loaded) choices_.missing.clear();
  if (!failure.empty()) {
    const std::optional<MissingFile> missing = missing_file(e);
    choices_.missing = missing ? missing->path : "";
    choices_.missing_text = missing ? missing->sentence + ": locate it at the input." : "";
    messages_.error = missing ? choices_.missing_text : failure;
  }
  std::string changed = loader_.changed(e);
  if (changed != choices_.changed_text && !changed.empty()) tell(changed);
  choices_.changed_text = std::move(changed);
  return loaded;
}

void Explorer::locate(ui::Session& session, const std::string& found) {
  session = with_file_at(session, choices_.missing, absolute_spec(found));
  loader_.try_again();
  messages_.error.clear();
}

ui::PanelInput Explorer::panel_input() const {
  ui::PanelInput input;
  input.answer = answer_.input();
  const auto& gradients = side_.kernel_gradients();
  input.answer.result =
      with_kernel_gradients(judged_answer_.shown(input.answer.result), gradient_files_, gradients.answer(), gradients.busy());
  if (!input.answer.result) input.answer.device = cpu_;
  side_.tell(input);
  input.choices = choices_;
  input.messages = messages_;
  for (std::string* const sentence : {&input.messages.error, &input.messages.notice}) *sentence = printable(*sentence);
  if (files_.busy()) {
    ui::AnswerInput& answer = input.answer;
    answer.reading = answer.computing = true;
    answer.progress = files_.share();
    answer.computing_seconds = files_.seconds();
    answer.seconds_left = -1;
  }
  input.learn = {open_lessons_, lessons_.answers(), vary_in_lesson};
  return input;
}

/// Updates the device for the session's choice.
void Explorer::choose_device(const ui::Session& session) {
  const int d = session.experiment.problem.d;
  const Format& format = session.experiment.format;
  if (device_.requested == session.device && device_.d == d && device_.format == format) return;
  if (device_.requested != session.device) {
    if (messages_.error == device_.usable.remark) messages_.error.clear();
    device_.usable = usable_device(session.device);
    if (const std::string& remark = device_.usable.remark; !remark.empty())
      messages_.error += (messages_.error.empty() ? "" : "  ") + remark;
  }
  device_.requested = session.device;
  device_.d = d;
  device_.format = format;
  choices_.no_hardware = why_no_hardware(device_.usable.spec, d, format);
}

/// After the first answer, traces an eventful row unless another row was chosen meanwhile.
void Explorer::choose_row(Experiment& e) {
  if (!chooses_row_) return;
  const std::shared_ptr<const Result> answer = answer_.complete(e);
  if (!answer) return;
  chooses_row_ = false;
  const int row = busiest_row(*answer);
  if (e.problem.traced_row != Problem{}.traced_row || row < 0) return;
  replaced_row_ = std::exchange(e.problem.traced_row, row);
  chosen_row_ = {row, e.problem.n};
  remarked_ = true;  // keep the sentence on opened files
}

/// Chooses the row again if the number of tokens changed: the old row may see few keys, or not exist.
void Explorer::drop_chosen_row(Experiment& e) {
  if (!chosen_row_ || (chosen_row_->first == e.problem.traced_row && chosen_row_->second == e.problem.n)) return;
  if (chosen_row_->first == e.problem.traced_row) {
    replaced_row_ = std::exchange(e.problem.traced_row, Problem{}.traced_row);
    chooses_row_ = true;
  }
  chosen_row_.reset();
}

/// Clears an error after the next change of lesson, plan, device or pins, which it may be about. A change of the experiment
/// clears it in `ask`.
void Explorer::forget_mended(const ui::Session& session) {
  if (messages_.error.empty() || messages_.load_failed) return mistaken_.reset();
  if (!mistaken_) mistaken_ = session;
  const ui::Session& s = *mistaken_;
  if (s.lesson == session.lesson && s.sweep == session.sweep && s.train == session.train && s.device == session.device &&
      s.kernel_gradients == session.kernel_gradients && s.pins.size() == session.pins.size())
    return;
  messages_.error.clear();
  mistaken_.reset();
}

void Explorer::ask(const Experiment& experiment) {
  if (answer_.asked() && !std::exchange(remarked_, false)) {
    messages_.error.clear();
    messages_.notice.clear();
  }
  messages_.load_failed = false;
  if (messages_.notice.empty()) messages_.notice = gpu_code().sentence(devices_of(device_.usable.spec));
  answer_.ask({experiment, device_.usable.spec, wanted_, reading_});
  loader_.retry();
  side_.forget();
}

bool Explorer::has_asked(const Experiment& experiment) const {
  return answer_.asked() && answer_.asked()->experiment == experiment && answer_.asked()->device == device_.usable.spec &&
         answer_.asked()->reading == reading_;
}

/// Asks again if a panel needs a part that the last question did not request.
void Explorer::ask_what_is_missing() {
  if (!answer_.asked() || answer_.asked()->wanted.covers(wanted_)) return;
  Question more = *answer_.asked();
  more.wanted = wanted_;
  answer_.ask(more);
}

void Explorer::ask_beside(const ui::Requests& requests, const ui::Session& session) {
  side_.ask(requests.side, device_.usable.spec, answer_.complete(session.experiment), answer_.busy());
  if (session.view.workspace == ui::Workspace::learn) lessons_.ask(requests.lesson);
  if (requests.list_lessons) open_lessons_ = lessons_.lessons();
}

void Explorer::read(ui::Session& session, bool at_once, FileReader::Read read, const std::string& before) {
  messages_.load_failed = false;
  messages_.error.clear();
  if (change_)
    read = [change = change_, read](const ReadWatch& watch) -> FileReader::Then {
      return [change, then = read(watch)](ui::Session& shown) { change(shown.experiment), then(shown); };
    };
  const auto failed = [this, before](const std::string& sentence) {
    messages_.error = before + sentence;
    messages_.load_failed = true;
  };
  if (!at_once) return files_.read(std::move(read), failed);
  if (const std::string failure = failure_of([&] { read({})(session); }); !failure.empty()) failed(failure);
}

void Explorer::adopt(ui::Session& session, ui::Session opened, std::vector<std::string> remarks) {
  Input& input = opened.experiment.problem.input;
  if (input.kind == InputKind::tensors && !input.tensors && !quick_to_read(input.file)) {
    const auto load = [this, opened, remarks](const ReadWatch& watch) -> FileReader::Then {
      ui::Session whole = opened;
      load_tensors(whole.experiment.problem.input, watch);
      return
          [this, opened, whole, remarks](ui::Session& shown) { show(shown, whole, remarks, opened.experiment.problem.input); };
    };
    return read(session, false, load);
  }
  const Input kept = input;
  if (!missing_file(opened.experiment)) load_tensors(input);  // else the panels ask for the file
  show(session, std::move(opened), std::move(remarks), kept);
}

void Explorer::show(ui::Session& session, ui::Session opened, std::vector<std::string> remarks, const Input& kept) {
  opened.view.reduced_motion = session.view.reduced_motion;                                // of the user, not of the file
  if (opened.view.figure == ui::FigureChoice{}) opened.view.figure = session.view.figure;  // likewise, unless the file has one
  session = std::move(opened);
  const Input& input = session.experiment.problem.input;
  loader_.try_again();
  if (input.tensors) loader_.loaded(input, changed_tensors(kept, input));
  messages_.error = fmt::format("{}", fmt::join(remarks, "  "));
  remarked_ = !remarks.empty();
  messages_.remarks = std::move(remarks);
}

namespace {

/// `whole` with the window settings of the session that it replaces.
ui::Session in_place_of(const ui::Session& shown, ui::Session whole) {
  take_look(whole.view, shown.view);
  whole.view.show_pins = shown.view.show_pins;
  whole.view.welcome = shown.view.welcome;
  whole.origin = shown.origin;
  if (whole.pins.empty()) whole.pins = shown.pins;
  return whole;
}

}  // namespace

void Explorer::paste(ui::Session& session, const std::string& text) {
  const auto parse = [this, text](const ReadWatch&) -> FileReader::Then {
    std::vector<std::string> remarks;
    ui::Session opened = parse_session(text, remarks);
    return [this, opened, remarks](ui::Session& shown) { adopt(shown, in_place_of(shown, opened), remarks); };
  };
  read(session, text.size() <= quick_text, parse, "The clipboard: ");
}

void Explorer::follow_link(ui::Session& session, const std::string& text) {
  const auto parse = [this, text](const ReadWatch&) -> FileReader::Then {
    std::vector<std::string> remarks;
    ui::Session opened = parse_session(text, remarks);
    return [this, opened, remarks](ui::Session& shown) {
      const bool to_lesson = opened.view.workspace == ui::Workspace::learn;
      ui::Session whole = to_lesson ? shown : in_place_of(shown, opened);
      whole.lesson = shown.lesson;
      whole.view.workspace = opened.view.workspace;
      if (to_lesson) {
        whole.lesson.name = opened.lesson.name;
        whole.lesson.step = opened.lesson.step;
      }
      whole.device = shown.device;
      adopt(shown, std::move(whole), remarks);
    };
  };
  read(session, true, parse, "The link: ");
}

void Explorer::add_pins(ui::Session& session, const std::string& text) {
  const auto parse = [this, text](const ReadWatch&) -> FileReader::Then {
    std::vector<std::string> remarks;
    const std::vector<ui::Pin> pins = parse_session(text, remarks).pins;
    if (pins.empty()) throw std::runtime_error("holds a session without pins, expected one with some");
    return [this, pins, remarks](ui::Session& shown) {
      if (shown.pins.size() + pins.size() > ui::max_pins)
        throw std::runtime_error("holds " + std::to_string(pins.size()) + " pins, expected at most " +
                                 std::to_string(ui::max_pins - shown.pins.size()) + " more");
      std::ranges::copy(pins, std::back_inserter(shown.pins));
      messages_.error = fmt::format("{}", fmt::join(remarks, "  "));
    };
  };
  read(session, text.size() <= quick_text, parse, "The clipboard: ");
}

}  // namespace attoscope::app
