#include "app/explore/main_answer.h"

#include <algorithm>
#include <utility>

#include "app/threads/job.h"
#include "kernels/gpu/device.h"

namespace attoscope::app {
namespace {

using Answer = MainAnswer::Answer;

constexpr double at_once = 0.04;  ///< seconds below which no preview is needed

/// Multiply-adds of q.k or P.V in a row that sees all keys; their mean if d_v differs from d.
double products_of_a_row(const Problem& p) { return 0.5 * key_count(p) * (p.d + value_columns(p)); }

/// CPU: estimates the time from useful operations, about 100 per ns on two cores for golden, a and b together.
int first_rows_of_cpu(const Problem& p, int all) {
  constexpr double per_second = 1e11, soon = 0.008;
  const double row = 3 * 4.0 * products_of_a_row(p) / per_second;
  return row * all < at_once ? 0 : std::clamp(static_cast<int>(soon / row), 64, std::max(64, all / 4));
}

/// GPU: preview one wave of rows if at least four waves are needed.
int first_rows_of_gpu(const Problem& p, int all, int rows_at_a_time) {
  constexpr double seconds_of_a_key = 4e-6;  ///< golden, a and b together at d = 64
  constexpr int least_rounds = 4;
  const int rounds = (all - 1) / rows_at_a_time + 1;
  const double round = seconds_of_a_key * products_of_a_row(p) / 64;
  return rounds < least_rounds || rounds * round < at_once ? 0 : rows_at_a_time;
}

/// Answer from the first `rows` rows, labelled as an answer to `experiment`.
Answer first_answer(const Compute& compute, const Experiment& experiment, int rows, const Options& options) {
  Experiment part = experiment;
  part.problem.rows = rows;
  Result result = compute(part, options);
  result.experiment = experiment;
  return std::make_shared<const Result>(std::move(result));
}

}  // namespace

int first_rows(const Problem& p, int rows_at_a_time) {
  const int all = p.rows == 0 ? p.n : std::min(p.rows, p.n);
  return rows_at_a_time > 0 ? first_rows_of_gpu(p, all, rows_at_a_time) : first_rows_of_cpu(p, all);
}

/// The worker's function: publishes some rows first if all rows take long. Caches inputs and golden values between questions,
/// separately for first rows and all rows, of one reading.
MainAnswer::Background::Work MainAnswer::work(Compute compute) {
  struct Caches {
    ComputeCache first, all;
    int reading = 0;
  };
  return [caches = std::make_shared<Caches>(), compute = std::move(compute)](const Question& q, const Cancelled& cancelled,
                                                                             const Background::Publish& publish) -> Answer {
    if (caches->reading != q.reading) *caches = {{}, {}, q.reading};
    if (const int rows = first_rows(q.experiment.problem, rows_at_a_time(devices_of(q.device)))) {
      refuse(q.experiment, 0);  // check all rows first: the preview may fit even if they do not
      publish(first_answer(compute, q.experiment, rows,
                           {.cancelled = cancelled, .cache = &caches->first, .wanted = q.wanted, .device = q.device}));
    }
    publish.share(0);
    return std::make_shared<const Result>(compute(
        q.experiment,
        {.cancelled = cancelled, .progress = publish.share, .cache = &caches->all, .wanted = q.wanted, .device = q.device}));
  };
}

MainAnswer::MainAnswer(std::function<void()> published, Compute compute)
    : worker_(work(std::move(compute)), std::move(published)) {}

void MainAnswer::ask(const Question& question) {
  if (!worker_.busy()) asked_at_ = Clock::now();
  asked_ = question;
  worker_.submit(question);
}

std::string MainAnswer::update() {
  busy_ = worker_.busy();  // read before `take`: an answer taken while idle is the last one
  std::optional<Answer> answer;
  try {
    if (std::string failure = failure_of([&] { answer = worker_.take(); }, "this experiment"); !failure.empty()) return failure;
  } catch (const Stopped&) {
    return stopped_sentence();
  }
  if (!answer) return "";
  result_ = std::move(*answer);
  return result_->remark;
}

std::string MainAnswer::stopped_sentence() const {
  if (!result_) return "Stopped: there is no answer yet.";
  if (asked_ && result_->experiment == asked_->experiment)
    return "Stopped: the picture holds " + std::to_string(result_->rows.size()) + " of " +
           std::to_string(asked_->experiment.problem.n) + " rows.";
  return "Stopped: the picture answers the question before this one.";
}

MainAnswer::Answer MainAnswer::complete(const Experiment& experiment) const {
  return result_ && !busy_ && result_->experiment == experiment ? result_ : nullptr;
}

ui::AnswerInput MainAnswer::input() const {
  const Effort& effort = worker_.effort();
  ui::AnswerInput input{
      .result = result_, .computing = busy_, .progress = effort.share(), .device = result_ ? result_->device : ""};
  if (busy_) input.computing_seconds = std::chrono::duration<double>(Clock::now() - asked_at_).count();
  if (input.progress > 0.02) input.seconds_left = effort.seconds_left().value_or(input.seconds_left);
  return input;
}

}  // namespace attoscope::app
