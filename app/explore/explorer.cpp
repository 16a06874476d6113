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

}  // namespace

ProbeEntries probe_entries() {
  auto entries = std::make_shared<std::vector<ProbeEntry>>();
  for (Probe& p : probes())
    entries->push_back({std::move(p.name), std::move(p.title), std::move(p.sentence), std::move(p.experiment)});
  return entries;
}

Explorer::Explorer(const Start& start, std::function<void()> published, Compute compute)
    : cpu_(device_name()), answer_(published, std::move(compute)), side_(published), lessons_(published) {
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

void Explorer::adopt(Session& session, Session opened, std::vector<std::string> remarks) {
  load_tensors(opened.experiment.problem.input);
  session = std::move(opened);
  messages_.error = joined(remarks, "  ");
  remarked_ = !remarks.empty();
  messages_.remarks = std::move(remarks);
}

void Explorer::paste(Session& session, const std::string& text) {
  try {
    std::vector<std::string> remarks;
    Session opened = parse_session(text, remarks);
    opened.view.theme = session.view.theme;
    opened.view.ui_scale = session.view.ui_scale;
    opened.view.panels = session.view.panels;
    opened.view.show_pins = session.view.show_pins;
    opened.origin = session.origin;
    if (opened.pins.empty()) opened.pins = session.pins;
    adopt(session, std::move(opened), std::move(remarks));
  } catch (const std::exception& error) {
    messages_.error = std::string("The clipboard: ") + error.what();
  }
}

void Explorer::add_pins(Session& session, const std::string& text) {
  try {
    std::vector<std::string> remarks;
    std::vector<Pin> pins = parse_session(text, remarks).pins;
    if (pins.empty()) throw std::runtime_error("holds a session without pins, expected one with some");
    if (session.pins.size() + pins.size() > max_pins)
      throw std::runtime_error("holds " + std::to_string(pins.size()) + " pins, expected at most " +
                               std::to_string(max_pins - session.pins.size()) + " more");
    std::ranges::move(pins, std::back_inserter(session.pins));
    messages_.error = joined(remarks, "  ");
  } catch (const std::exception& error) {
    messages_.error = std::string("The clipboard: ") + error.what();
  }
}

void Explorer::open(Session& session, const std::string& spec) {
  try {
    if (is_kernel_output(spec)) return open_output(session, spec, false);
    Problem problem = session.experiment.problem;
    problem.input = parse_input(spec);
    load_tensors(problem.input);
    if (problem.input.tensors) {
      problem = with_sizes(problem, problem.input.tensors->n, problem.input.tensors->d);
      loader_.loaded(problem.input);
    }
    session.experiment.problem = problem;
    look_at_all(session.view);
  } catch (const std::exception& error) {
    messages_.error = error.what();
  }
}

/// Throws where that output cannot be read.
void Explorer::open_output(Session& session, const std::string& spec, bool as_b) {
  KernelOutput output = parse_kernel_output(spec);
  load_kernel_output(output, session.experiment.problem.n, session.experiment.problem.d);
  use_kernel_output(session.experiment, std::move(output), as_b);
}

void Explorer::open_kernel(Session& session, const std::string& spec, bool as_b) {
  try {
    open_output(session, spec, as_b);
  } catch (const std::exception& error) {
    messages_.error = error.what();
  }
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
