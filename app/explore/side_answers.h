/// Answers to the panels' additional questions, one thread for each kind.
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
  /// Other threads call `published` whenever `update` has something to take.
  explicit SideAnswers(const std::function<void()>& published);

  /// Asks the requested questions. `complete`: the answer to the session's question; null: not known yet.
  void ask(const SideRequests& requests, const Question& question, const std::shared_ptr<const Result>& complete);
  /// Drops pending questions.
  void forget();
  /// Takes new answers. Returns a sentence on failures, or "".
  std::string update();
  /// Input of the panels.
  SideInput input() const;
  const std::shared_ptr<const HeadVerdict>& verdict() const { return verdict_.answer(); }

 private:
  /// Question for the output of a slip, in the place of the answer's loaded one.
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
