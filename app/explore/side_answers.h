/// What the panels want to know beside the answer: each question has a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/explore/main_answer.h"
#include "app/threads/side_question.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/gpu_check.h"
#include "kernels/questions/invariance.h"
#include "kernels/questions/product_sum.h"
#include "kernels/questions/same_bits.h"
#include "kernels/questions/scores.h"
#include "ui/frame/followed_row.h"
#include "ui/frame/head_verdict.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"
#include "ui/frame/why.h"

namespace attoscope {

class SideAnswers {
 public:
  /// `published` is called from other threads whenever `update` has something to take.
  explicit SideAnswers(const std::function<void()>& published);

  /// Asks what is requested of the session's question. `complete`: its answer; null where it is not known yet.
  void ask(const SideRequests& requests, const Question& question, const std::shared_ptr<const Result>& complete);
  /// Gives up what is not yet known.
  void forget();
  /// Takes what was found. Returns a sentence about what failed, or "".
  std::string update();
  /// What the panels are told.
  SideInput input() const;
  const std::shared_ptr<const HeadVerdict>& verdict() const { return verdict_.answer(); }

 private:
  /// What the output of a slip is, found in the answer's loaded one.
  struct SlipQuestion {
    std::shared_ptr<const Result> answer;
    Slip slip;

    friend bool operator==(const SlipQuestion& x, const SlipQuestion& y) {
      return x.answer == y.answer && x.slip.kind == y.slip.kind && x.slip.text == y.slip.text;
    }
  };
  struct SlipOutput {
    std::shared_ptr<const Result> answer;
    std::string text;
  };
  static SlipOutput slip_output(const SlipQuestion& question, const Cancelled& stop);
  void ask_of_loaded(const SideRequests& requests, const Question& question, const std::shared_ptr<const Result>& complete);

  SideQuestion<Question, Why> why_;
  SideQuestion<ScoreQuestion, ScoreWindow> scores_;
  SideQuestion<ProductSumQuestion, ProductSum> sum_;
  SideQuestion<Experiment, Clipping> clipping_;
  SideQuestion<Question, SameBits> same_bits_;
  SideQuestion<Question, Invariance> invariance_;
  SideQuestion<GpuCheckQuestion, GpuCheck> gpu_check_;
  SideQuestion<Experiment, HeadVerdict> verdict_;
  SideQuestion<SlipQuestion, SlipOutput> slip_output_;
  SideQuestion<Question, FollowedRow> followed_;
};

}  // namespace attoscope
