#include "app/explore/explorer.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "app/session/probes.h"
#include "app/session/session.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/words/devices.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// A fresh look at a matrix of another shape.
void look_at_all(View& view) {
  view.zoom = {};
  view.cell_row = view.cell_col = view.scrubbed_tile = -1;
}

/// FILE of FILE:INDEX.
std::string files_of(const std::string& spec) {
  const std::size_t colon = spec.rfind(':');
  const bool has_index = colon != std::string::npos && to_number<int>(std::string_view(spec).substr(colon + 1));
  return has_index ? spec.substr(0, colon) : spec;
}

/// Reads an output that takes the place of a or of b.
FileReader::Read output_reading(const std::string& spec, int n, int d, bool as_b) {
  return [spec, n, d, as_b](const ReadWatch& watch) -> FileReader::Then {
    KernelOutput output = parse_kernel_output(spec);
    load_kernel_output(output, n, d, watch);
    return [output, as_b](Session& shown) { use_kernel_output(shown.experiment, output, as_b); };
  };
}

}  // namespace

ProbeEntries probe_entries() {
  auto entries = std::make_shared<std::vector<ProbeEntry>>();
  for (Probe& p : probes())
    entries->push_back({std::move(p.name), std::move(p.title), std::move(p.sentence), std::move(p.experiment)});
  return entries;
}

Explorer::Explorer(const Start& start, std::function<void()> published, Compute compute)
    : cpu_(device_name()), files_(published), answer_(published, std::move(compute)), side_(published), lessons_(published) {
  choices_.example_file = start.example_file;
  choices_.devices = device_entries(cpu_);
  messages_ = {.error = joined(start.remarks, "  "), .notice = {}, .remarks = start.remarks};
  try {
    choices_.probes = probe_entries();
  } catch (const std::exception& error) {
    if (messages_.error.empty()) messages_.error = error.what();
  }
}

void Explorer::update(Session& session) {
  files_.update(session);
  choose_device(session);
  Experiment& experiment = session.experiment;
  if (loader_.load(experiment.problem, messages_.error) && loader_.load_output(experiment, messages_.error) &&
      answer_.asked() != Question{experiment, device_.usable.spec})
    ask(experiment);
  const Input& input = experiment.problem.input;
  const std::string& file = input.kind == InputKind::tensors ? input.file : choices_.example_file;
  choices_.tensors = loader_.describe(file, messages_.error);
  for (std::string failure : {answer_.update(), side_.update(), take_lesson_answers()})
    if (!failure.empty()) messages_.error = std::move(failure);
  if (session.view.workspace == Workspace::learn) open_lessons_ = lessons_.lessons();
}

PanelInput Explorer::panel_input() const {
  PanelInput input;
  input.answer = answer_.input();
  if (!input.answer.result) input.answer.device = cpu_;
  input.side = side_.input();
  input.choices = choices_;
  input.messages = messages_;
  for (std::string* const sentence : {&input.messages.error, &input.messages.notice}) *sentence = printable(*sentence);
  if (files_.busy()) {
    AnswerInput& answer = input.answer;
    answer.reading = answer.computing = true;
    answer.progress = files_.share();
    answer.computing_seconds = files_.seconds();
    answer.seconds_left = -1;
  }
  input.learn = {open_lessons_, lessons_.answers(), vary_in_lesson};
  return input;
}

/// Brings the device that computes up to date with the one that the session asks for.
void Explorer::choose_device(const Session& session) {
  const int d = session.experiment.problem.d;
  if (device_.requested == session.device && device_.d == d) return;
  if (device_.requested != session.device) {
    if (messages_.error == device_.usable.remark) messages_.error.clear();
    device_.usable = usable_device(session.device);
    if (const std::string& remark = device_.usable.remark; !remark.empty())
      messages_.error += (messages_.error.empty() ? "" : "  ") + remark;
  }
  device_.requested = session.device;
  device_.d = d;
  choices_.no_hardware = why_no_hardware(device_.usable.spec, d);
}

void Explorer::ask(const Experiment& experiment) {
  if (answer_.asked() && !std::exchange(remarked_, false)) messages_.error.clear(), messages_.notice.clear();
  answer_.ask({experiment, device_.usable.spec});
  loader_.retry();
  side_.forget();
}

void Explorer::ask_beside(const Requests& requests, const Session& session) {
  side_.ask(requests.side, {session.experiment, device_.usable.spec}, answer_.complete(session.experiment));
  if (session.view.workspace == Workspace::learn) lessons_.ask(requests.lesson);
}

/// A sentence about what failed, or "".
std::string Explorer::take_lesson_answers() {
  try {
    lessons_.update();
    return "";
  } catch (const std::bad_alloc&) {
    return "There is not enough memory for this experiment.";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void Explorer::read(Session& session, bool at_once, FileReader::Read read, const std::string& before) {
  const auto failed = [this, before](const std::string& sentence) { messages_.error = before + sentence; };
  if (!at_once) return files_.read(std::move(read), failed);
  try {
    read({})(session);
  } catch (const std::exception& error) {
    failed(error.what());
  }
}

void Explorer::adopt(Session& session, Session opened, std::vector<std::string> remarks) {
  Input& input = opened.experiment.problem.input;
  if (input.kind == InputKind::tensors && !input.tensors && !quick_to_read(input.file)) {
    const auto load = [this, opened, remarks](const ReadWatch& watch) -> FileReader::Then {
      Session whole = opened;
      load_tensors(whole.experiment.problem.input, watch);
      return [this, whole, remarks](Session& shown) { show(shown, whole, remarks); };
    };
    return read(session, false, load);
  }
  load_tensors(input);
  show(session, std::move(opened), std::move(remarks));
}

void Explorer::show(Session& session, Session opened, std::vector<std::string> remarks) {
  session = std::move(opened);
  if (session.experiment.problem.input.tensors) loader_.loaded(session.experiment.problem.input);
  messages_.error = joined(remarks, "  ");
  remarked_ = !remarks.empty();
  messages_.remarks = std::move(remarks);
}

void Explorer::paste(Session& session, const std::string& text) {
  const auto parse = [this, text](const ReadWatch&) -> FileReader::Then {
    std::vector<std::string> remarks;
    Session opened = parse_session(text, remarks);
    return [this, opened, remarks](Session& shown) {
      Session whole = opened;
      whole.view.theme = shown.view.theme;
      whole.view.ui_scale = shown.view.ui_scale;
      whole.view.panels = shown.view.panels;
      whole.view.show_pins = shown.view.show_pins;
      whole.origin = shown.origin;
      if (whole.pins.empty()) whole.pins = shown.pins;
      adopt(shown, std::move(whole), remarks);
    };
  };
  read(session, text.size() <= quick_text, parse, "The clipboard: ");
}

void Explorer::add_pins(Session& session, const std::string& text) {
  const auto parse = [this, text](const ReadWatch&) -> FileReader::Then {
    std::vector<std::string> remarks;
    const std::vector<Pin> pins = parse_session(text, remarks).pins;
    if (pins.empty()) throw std::runtime_error("holds a session without pins, expected one with some");
    return [this, pins, remarks](Session& shown) {
      if (shown.pins.size() + pins.size() > max_pins)
        throw std::runtime_error("holds " + std::to_string(pins.size()) + " pins, expected at most " +
                                 std::to_string(max_pins - shown.pins.size()) + " more");
      std::ranges::copy(pins, std::back_inserter(shown.pins));
      messages_.error = joined(remarks, "  ");
    };
  };
  read(session, text.size() <= quick_text, parse, "The clipboard: ");
}

/// Reads what `spec` names: somebody's output, or tensors.
FileReader::Read Explorer::reading(const std::string& spec, const Problem& problem) {
  return [this, spec, n = problem.n, d = problem.d](const ReadWatch& watch) -> FileReader::Then {
    if (is_kernel_output(spec)) return output_reading(spec, n, d, false)(watch);
    Input input = parse_input(spec);
    load_tensors(input, watch);
    return [this, input](Session& shown) {
      Problem changed = shown.experiment.problem;
      changed.input = input;
      if (input.tensors) {
        changed = with_sizes(changed, input.tensors->n, input.tensors->d);
        loader_.loaded(input);
      }
      shown.experiment.problem = changed;
      look_at_all(shown.view);
    };
  };
}

void Explorer::open(Session& session, const std::string& spec) {
  read(session, quick_to_read(files_of(spec)), reading(spec, session.experiment.problem));
}

void Explorer::open_kernel(Session& session, const std::string& spec, bool as_b) {
  const Problem& problem = session.experiment.problem;
  read(session, quick_to_read(files_of(spec)), output_reading(spec, problem.n, problem.d, as_b));
}

void Explorer::open_dropped(Session& session, const std::vector<std::string>& files) {
  if (files.empty()) return;
  if (files.size() == 1) return open(session, files.front());
  std::vector<std::string> sorted = files;  // k.npy, q.npy, v.npy: the names' order, with q first
  std::ranges::sort(sorted);
  if (sorted.size() != 3 || !std::ranges::all_of(sorted, [](const std::string& f) { return f.ends_with(".npy"); }))
    return show_error("Drop one .safetensors, .npy or session file, or q.npy, k.npy and v.npy together; these are " +
                      std::to_string(files.size()) + " files.");
  std::swap(sorted[0], sorted[1]);
  open(session, joined(sorted, ","));
}

}  // namespace attoscope
