#include "app/explore/side_answers.h"

#include <exception>
#include <new>

#include "app/explore/judging.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/attribution.h"
#include "ui/frame/loaded_output.h"

namespace attoscope {
namespace {

/// Device of a GPU check: the first GPU of `device`; else any.
std::string one_gpu(const std::string& device) {
  const std::string first = device.substr(0, device.find(','));
  return first.starts_with("cuda") ? first : "cuda";
}

}  // namespace

SideAnswers::SideAnswers(const std::function<void()>& published)
    : why_(
          [](const Question& q, const Cancelled& stop) {
            return Why{q.experiment, attribute(q.experiment, {.cancelled = stop, .device = q.device})};
          },
          published),
      scores_([](const ScoreQuestion& q, const Cancelled& stop) { return scores(q, {.cancelled = stop}); }, published),
      sum_([](const ProductSumQuestion& q, const Cancelled& stop) { return product_sum(q, {.cancelled = stop}); }, published),
      clipping_([](const Experiment& e, const Cancelled& stop) { return clipping(e, clipping_rows, {.cancelled = stop}); },
                published),
      same_bits_([](const Question& q,
                    const Cancelled& stop) { return same_bits(q.experiment, {.cancelled = stop, .device = q.device}); },
                 published),
      invariance_([](const Question& q,
                     const Cancelled& stop) { return invariance(q.experiment, {.cancelled = stop, .device = q.device}); },
                  published),
      gpu_check_([](const GpuCheckQuestion& q,
                    const Cancelled& stop) { return gpu_check(q, checked_gpu(q.device), {.cancelled = stop}); },
                 published),
      verdict_([](const Experiment& e, const Cancelled& stop) { return head_verdict(e, {.cancelled = stop}); }, published),
      slip_output_(slip_output, published),
      followed_([](const Question& q,
                   const Cancelled& stop) { return followed_row(q.experiment, {.cancelled = stop, .device = q.device}); },
                published) {}

SideAnswers::SlipOutput SideAnswers::slip_output(const SlipQuestion& question, const Cancelled& stop) {
  return {with_slip_output(*question.answer, question.slip, {.cancelled = stop}), question.slip.text};
}

void SideAnswers::ask(const SideRequests& requests, const Question& question, const std::shared_ptr<const Result>& complete) {
  if (requests.attribute) why_.ask(question);
  if (requests.scores) scores_.ask(*requests.scores);
  if (requests.sum) sum_.ask(*requests.sum);
  if (requests.clipping) clipping_.ask(question.experiment);
  if (requests.same_bits) same_bits_.ask(question);
  if (requests.invariance) invariance_.ask({invariance_question(question.experiment), question.device});
  if (requests.gpu_check) gpu_check_.ask({.device = one_gpu(question.device)});
  if (complete) ask_of_loaded(requests, question, complete);
}

/// Asks questions on a loaded output once its answer is complete.
void SideAnswers::ask_of_loaded(const SideRequests& requests, const Question& question,
                                const std::shared_ptr<const Result>& complete) {
  if (requests.verdict) verdict_.ask(verdict_question(complete->experiment));
  if (requests.slip_output) slip_output_.ask({complete, *requests.slip_output});
  if (requests.followed) followed_.ask({followed_beside(question.experiment), question.device});
}

void SideAnswers::forget() {
  why_.forget();
  scores_.forget();
  sum_.forget();
  clipping_.forget();
  same_bits_.forget();
  invariance_.forget();
  gpu_check_.forget();
  verdict_.forget();
  slip_output_.forget();
  followed_.forget();
}

std::string SideAnswers::update() {
  std::string failure;
  const auto take = [&](auto& question) {
    try {
      question.update();
    } catch (const std::bad_alloc&) {
      failure = "There is not enough memory for this experiment.";
    } catch (const std::exception& error) {
      failure = error.what();
    }
  };
  take(why_);
  take(scores_);
  take(sum_);
  take(clipping_);
  take(same_bits_);
  take(invariance_);
  take(gpu_check_);
  take(verdict_);
  take(slip_output_);
  take(followed_);
  return failure;
}

SideInput SideAnswers::input() const {
  return {.why = why_.answer(),
          .attributing = why_.busy(),
          .scores = scores_.answer(),
          .clipping = clipping_.answer(),
          .sum = sum_.answer(),
          .same_bits = same_bits_.answer(),
          .checking_bits = same_bits_.busy(),
          .invariance = invariance_.answer(),
          .comparing_schedules = invariance_.busy(),
          .gpu_check = gpu_check_.answer(),
          .checking_gpu = gpu_check_.busy(),
          .verdict = verdict_.answer(),
          .slip_output = slip_output_.answer() ? slip_output_.answer()->answer : nullptr,
          .slip_text = slip_output_.answer() ? slip_output_.answer()->text : "",
          .followed = followed_.answer(),
          .heads = {},
          .kv = {},
          .judged = {},
          .gallery = {}};
}

}  // namespace attoscope
