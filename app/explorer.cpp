#include "app/explorer.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include "app/kernel_output.h"
#include "app/probes.h"
#include "app/session.h"
#include "app/tensors.h"
#include "kernels/attribution.h"
#include "kernels/device.h"

namespace attoscope {
namespace {

using Answer = std::shared_ptr<const Result>;

/// How many rows are shown first, so that a picture comes at once where all rows would take long; 0: all at once. By useful
/// operations: golden, a and b together do about a hundred of them a nanosecond on two cores, and some thousand on a GPU.
int first_rows(const Problem& p, const std::string& device) {
  const double per_second = devices_of(device).empty() ? 1e11 : 5e12;
  constexpr double at_once = 0.04, soon = 0.008;
  const double row = 3 * 4.0 * p.n * p.d / per_second;
  const int all = p.rows == 0 ? p.n : std::min(p.rows, p.n);
  return row * all < at_once ? 0 : std::clamp(static_cast<int>(soon / row), 64, std::max(64, all / 4));
}

/// The answer to `experiment` from `rows` of its rows, as a first answer to all of it.
Answer first_answer(const Compute& compute, const Experiment& experiment, int rows, const Options& options) {
  Experiment part = experiment;
  part.problem.rows = rows;
  Result result = compute(part, options);
  result.experiment = experiment;
  return std::make_shared<const Result>(std::move(result));
}

/// True if both name the same head of the same file.
bool same_source(const Input& x, const Input& y) { return x.file == y.file && x.index == y.index; }

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

/// The worker's work: where it would take long, some rows first. It remembers inputs and golden values from one question to the
/// next, of the first rows and of all.
Worker<Question, Answer>::Work Explorer::answerer(std::shared_ptr<Effort> effort, Compute compute) {
  struct Memories {
    Memory first, all;
  };
  return [memories = std::make_shared<Memories>(), effort = std::move(effort), compute = std::move(compute)](
             const Question& q, const Cancelled& cancelled, const std::function<void(Answer)>& publish) -> Answer {
    const Cancelled stop = [&] { return effort->unwanted || cancelled(); };
    if (const int rows = first_rows(q.experiment.problem, q.device))
      publish(first_answer(compute, q.experiment, rows, {.cancelled = stop, .memory = &memories->first, .device = q.device}));
    effort->share = 0;
    effort->began = Clock::now().time_since_epoch().count();
    const Progress told = [&](double share) { effort->share = share; };
    return std::make_shared<const Result>(
        compute(q.experiment, {.cancelled = stop, .progress = told, .memory = &memories->all, .device = q.device}));
  };
}

Explorer::Explorer(const Start& start, std::function<void()> published, Compute compute)
    : example_file_(start.example_file),
      cpu_(device_name()),
      message_(joined(start.remarks, "  ")),
      remarks_(start.remarks),
      devices_(device_entries(cpu_)),
      worker_(answerer(effort_, std::move(compute)), published),
      why_(
          [](const Question& q, const Cancelled& stop) {
            return Why{q.experiment, attoscope::attribute(q.experiment, {.cancelled = stop, .device = q.device})};
          },
          published),
      scores_([](const ScoreQuestion& q, const Cancelled& stop) { return scores(q, {.cancelled = stop}); }, published),
      clipping_([](const Experiment& e, const Cancelled& stop) { return clipping(e, clipping_rows, {.cancelled = stop}); },
                published),
      same_bits_([](const Question& q,
                    const Cancelled& stop) { return same_bits(q.experiment, {.cancelled = stop, .device = q.device}); },
                 published),
      diagnosis_([](const Answer& a, const Cancelled& stop) { return diagnose_with_heads(*a, {.cancelled = stop}); },
                 published),
      lessons_(published) {
  try {
    probes_ = probe_entries();
  } catch (const std::exception& error) {
    if (message_.empty()) message_ = error.what();
  }
}

void Explorer::update(Session& session) {
  choose_device(session);
  if (load(session.experiment.problem) && load_output(session.experiment) &&
      asked_ != Question{session.experiment, device_.spec})
    ask(session.experiment);
  describe(session.experiment.problem.input);
  busy_ = worker_.busy();  // before the answer is taken: what is taken once nothing is on its way is the last
  take_answer();
  take_side_answers();
  if (session.view.workspace == Workspace::learn) open_lessons_ = lessons_.lessons();
}

Frame Explorer::frame() const {
  Frame frame;
  frame.result = result_;
  frame.computing = busy_;
  if (frame.computing) frame.computing_seconds = std::chrono::duration<double>(Clock::now() - asked_at_).count();
  frame.progress = effort_->share;
  if (frame.progress > 0.02) {
    const Clock::duration spent = Clock::now().time_since_epoch() - Clock::duration(effort_->began.load());
    frame.seconds_left = std::chrono::duration<double>(spent).count() * (1 - frame.progress) / frame.progress;
  }
  frame.message = message_;
  frame.note = note_;
  frame.remarks = remarks_;
  frame.probes = probes_;
  frame.why = why_.answer();
  frame.attributing = why_.busy();
  frame.scores = scores_.answer();
  frame.clipping = clipping_.answer();
  frame.same_bits = same_bits_.answer();
  frame.checking_bits = same_bits_.busy();
  frame.diagnosis = diagnosis_.answer();
  frame.devices = devices_;
  frame.no_hardware = no_hardware_;
  frame.device = result_ ? result_->device : cpu_;
  frame.tensors = tensors_;
  frame.example_file = example_file_;
  frame.lessons = open_lessons_;
  frame.lesson_answers = lessons_.answers();
  frame.vary = vary_in_lesson;
  return frame;
}

/// False if the problem's tensors cannot be read; the shape is made to fit those that can.
bool Explorer::load(Problem& problem) {
  Input& input = problem.input;
  if (input.kind != InputKind::tensors) return true;
  if (unreadable_ && same_source(*unreadable_, input)) return false;
  if (!input.tensors || !loaded_ || !same_source(*loaded_, input)) {
    try {
      input.tensors.reset();
      load_tensors(input);
      loaded_ = input;
      unreadable_.reset();
    } catch (const std::exception& error) {
      unreadable_ = input;
      message_ = error.what();
      return false;
    }
  }
  problem.n = std::min(problem.n, input.tensors->n);
  problem.d = input.tensors->d;
  return true;
}

/// False if somebody's output is wanted and cannot be read.
bool Explorer::load_output(Experiment& experiment) {
  if (!has_loaded(experiment) || experiment.loaded.values) return true;
  if (unreadable_output_ == experiment) return false;
  try {
    load_kernel_output(experiment.loaded, experiment.problem.n, experiment.problem.d);
    unreadable_output_.reset();
    return true;
  } catch (const std::exception& error) {
    unreadable_output_ = experiment;
    message_ = error.what();
    return false;
  }
}

void Explorer::describe(const Input& input) {
  const std::string& file = input.kind == InputKind::tensors ? input.file : example_file_;
  if (file == described_) return;
  described_ = file;
  tensors_ = {};
  try {
    if (!file.empty()) tensors_ = describe_tensors(file);
    tensors_.has_output = holds_kernel_output(file);
  } catch (const std::exception& error) {
    message_ = error.what();
  }
}

/// Brings what computes up to date with what the session wishes for.
void Explorer::choose_device(const Session& session) {
  const int d = session.experiment.problem.d;
  if (wished_device_ == session.device && d == described_d_) return;
  if (wished_device_ != session.device) {
    if (message_ == device_.remark) message_.clear();
    device_ = usable_device(session.device);
    if (!device_.remark.empty()) message_ += (message_.empty() ? "" : "  ") + device_.remark;
  }
  wished_device_ = session.device;
  described_d_ = d;
  no_hardware_ = why_no_hardware(device_.spec, d);
}

void Explorer::ask(const Experiment& experiment) {
  if (!worker_.busy()) asked_at_ = Clock::now(), effort_->share = 0;
  effort_->unwanted = false;
  if (asked_ && !std::exchange(remarked_, false)) message_.clear(), note_.clear();
  asked_ = Question{experiment, device_.spec};
  unreadable_.reset();
  why_.forget();
  scores_.forget();
  clipping_.forget();
  same_bits_.forget();
  diagnosis_.forget();
  worker_.submit(*asked_);
}

void Explorer::ask_beside(const Wishes& wishes, const Session& session) {
  if (wishes.attribute) why_.ask({session.experiment, device_.spec});
  if (wishes.scores) scores_.ask(*wishes.scores);
  if (wishes.clipping) clipping_.ask(session.experiment);
  if (wishes.same_bits) same_bits_.ask({session.experiment, device_.spec});
  if (session.view.workspace == Workspace::learn) lessons_.ask(wishes.lesson);
  if (wishes.diagnose && result_ && !busy_ && result_->experiment == session.experiment) diagnosis_.ask(result_);
}

void Explorer::take_side_answers() {
  const auto take = [this](auto& question) {
    try {
      question.update();
    } catch (const std::bad_alloc&) {
      message_ = "There is not enough memory for this experiment.";
    } catch (const std::exception& error) {
      message_ = error.what();
    }
  };
  take(why_);
  take(scores_);
  take(clipping_);
  take(same_bits_);
  take(diagnosis_);
  take(lessons_);
}

void Explorer::take_answer() {
  try {
    if (std::optional<Answer> answer = worker_.take()) {
      result_ = std::move(*answer);
      if (!result_->remark.empty()) message_ = result_->remark;
    }
  } catch (const Stopped&) {
    message_ = stopped_sentence();
  } catch (const std::bad_alloc&) {
    message_ = "There is not enough memory for this experiment.";
  } catch (const std::exception& error) {
    message_ = error.what();
  }
}

void Explorer::cancel() {
  if (worker_.busy()) effort_->unwanted = true;
}

std::string Explorer::stopped_sentence() const {
  if (!result_) return "Stopped: there is no answer yet.";
  if (asked_ && result_->experiment == asked_->experiment)
    return "Stopped: the picture holds " + std::to_string(result_->rows.size()) + " of " +
           std::to_string(asked_->experiment.problem.n) + " rows.";
  return "Stopped: the picture answers the question before this one.";
}

void Explorer::adopt(Session& session, Session opened, std::vector<std::string> remarks) {
  load_tensors(opened.experiment.problem.input);
  session = std::move(opened);
  message_ = joined(remarks, "  ");
  remarked_ = !remarks.empty();
  remarks_ = std::move(remarks);
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
    message_ = std::string("The clipboard: ") + error.what();
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
    message_ = joined(remarks, "  ");
  } catch (const std::exception& error) {
    message_ = std::string("The clipboard: ") + error.what();
  }
}

void Explorer::open(Session& session, const std::string& spec) {
  try {
    if (is_kernel_output(spec)) return open_output(session, spec, false);
    Problem problem = session.experiment.problem;
    problem.input = parse_input(spec);
    load_tensors(problem.input);
    if (problem.input.tensors) {
      problem.n = problem.input.tensors->n;
      problem.d = problem.input.tensors->d;
      loaded_ = problem.input;
      unreadable_.reset();
    }
    session.experiment.problem = problem;
    look_at_all(session.view);
  } catch (const std::exception& error) {
    message_ = error.what();
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
    message_ = error.what();
  }
}

void Explorer::open_dropped(Session& session, const std::vector<std::string>& files) {
  if (files.empty()) return;
  if (files.size() == 1) return open(session, files.front());
  std::vector<std::string> sorted = files;  // k.npy, q.npy, v.npy: the names' order, with q first
  std::ranges::sort(sorted);
  if (sorted.size() != 3 || !std::ranges::all_of(sorted, [](const std::string& f) { return f.ends_with(".npy"); }))
    return say("Drop one .safetensors, .npy or session file, or q.npy, k.npy and v.npy together; these are " +
               std::to_string(files.size()) + " files.");
  std::swap(sorted[0], sorted[1]);
  open(session, joined(sorted, ","));
}

}  // namespace attoscope
