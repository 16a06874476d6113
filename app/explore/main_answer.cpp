#include "app/explore/main_answer.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "app/explore/first_rows.h"
#include "kernels/gpu/device.h"

namespace attoscope {
namespace {

using Answer = MainAnswer::Answer;

/// Answer from the first `rows` rows, labelled as an answer to `experiment`.
Answer first_answer(const Compute& compute, const Experiment& experiment, int rows, const Options& options) {
  Experiment part = experiment;
  part.problem.rows = rows;
  Result result = compute(part, options);
  result.experiment = experiment;
  return std::make_shared<const Result>(std::move(result));
}

}  // namespace

/// The worker's function: publishes some rows first if all take long. Keeps inputs and golden values between questions,
/// separately for first rows and all.
Worker<Question, MainAnswer::Answer>::Work MainAnswer::work(std::shared_ptr<Effort> effort, Compute compute) {
  struct Caches {
    ComputeCache first, all;
  };
  return [caches = std::make_shared<Caches>(), effort = std::move(effort), compute = std::move(compute)](
             const Question& q, const Cancelled& cancelled, const std::function<void(Answer)>& publish) -> Answer {
    const Cancelled stop = [&] { return effort->unwanted || cancelled(); };
    if (const int rows = first_rows(q.experiment.problem, rows_at_a_time(devices_of(q.device))))
      publish(first_answer(compute, q.experiment, rows,
                           {.cancelled = stop, .cache = &caches->first, .wanted = q.wanted, .device = q.device}));
    effort->share = 0;
    effort->began = Clock::now().time_since_epoch().count();
    const Progress told = [&](double share) { effort->share = share; };
    return std::make_shared<const Result>(compute(
        q.experiment, {.cancelled = stop, .progress = told, .cache = &caches->all, .wanted = q.wanted, .device = q.device}));
  };
}

MainAnswer::MainAnswer(std::function<void()> published, Compute compute)
    : worker_(work(effort_, std::move(compute)), std::move(published)) {}

void MainAnswer::ask(const Question& question) {
  if (!worker_.busy()) asked_at_ = Clock::now(), effort_->share = 0;
  effort_->unwanted = false;
  asked_ = question;
  worker_.submit(question);
}

std::string MainAnswer::update() {
  busy_ = worker_.busy();  // before `take`: an answer taken while idle is the last
  try {
    std::optional<Answer> answer = worker_.take();
    if (!answer) return "";
    result_ = std::move(*answer);
    return result_->remark;
  } catch (const Stopped&) {
    return stopped_sentence();
  } catch (const std::bad_alloc&) {
    return "There is not enough memory for this experiment.";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void MainAnswer::cancel() {
  if (worker_.busy()) effort_->unwanted = true;
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

AnswerInput MainAnswer::input() const {
  AnswerInput input{
      .result = result_, .computing = busy_, .progress = effort_->share, .device = result_ ? result_->device : ""};
  if (busy_) input.computing_seconds = std::chrono::duration<double>(Clock::now() - asked_at_).count();
  if (input.progress > 0.02) {
    const Clock::duration spent = Clock::now().time_since_epoch() - Clock::duration(effort_->began.load());
    input.seconds_left = std::chrono::duration<double>(spent).count() * (1 - input.progress) / input.progress;
  }
  return input;
}

}  // namespace attoscope
