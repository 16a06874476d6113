/// Answers about a loaded output: its verdict, the row followed in its place, a slip's output.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "kernels/experiment/matrix.h"
#include "kernels/experiment/result.h"
#include "kernels/judge/call_judgement.h"
#include "kernels/judge/lse_judge.h"
#include "kernels/slips/slips.h"
#include "ui/session/session.h"

namespace attoscope::ui {

/// The answer whose a is followed, `followed_beside` the output, and where the output's row may end early.
struct FollowedRow {
  std::shared_ptr<const Result> answer;
  RowPrefix prefix;
};

/// A slip whose output is asked for.
struct SlipQuestion {
  std::shared_ptr<const Result> answer;  ///< with the loaded output; the app sets it
  Slip slip;

  friend bool operator==(const SlipQuestion& x, const SlipQuestion& y) {
    return x.answer == y.answer && x.slip.kind == y.slip.kind && x.slip.text == y.slip.text;
  }
};

/// The answer with a slip's output in the place of the loaded one.
struct SlipOutput {
  std::shared_ptr<const Result> answer;
  std::string text;  ///< names the slip
};

/// Gradients of somebody's kernel whose answer is asked for.
struct KernelGradientsQuestion {
  std::shared_ptr<const Result> answer;  ///< with a's own gradients; the app sets it
  KernelGradients files;

  friend bool operator==(const KernelGradientsQuestion&, const KernelGradientsQuestion&) = default;
};

/// The answer with these gradients in the place of a's, and their verdict.
struct KernelGradientsAnswer {
  KernelGradientsQuestion question;
  std::shared_ptr<const Result> answer;
  std::array<std::string, 3> sentences{};        ///< as `attoscope judge` says them; empty: they are not judged yet
  std::array<std::optional<bool>, 3> rounded{};  ///< dQ, dK and dV; none: not given, or not judged
  std::array<bool, 3> sums{};                    ///< those that are sums over the heads of a group: judged, and not on screen
};

/// The verdict on the log-sum-exp beside a loaded output.
struct HeadLse {
  LseBase base = LseBase::e;
  double unit = 1;  ///< numbers of the base to one of base e
  LseJudgement judged{};
};

/// Rounded or wrong: one head, as `attoscope judge --head` says it.
struct HeadVerdict {
  Experiment experiment;  ///< result of `verdict_question`
  CallJudgement call;
  std::shared_ptr<const Matrix> shares;         ///< each element's error over its tolerance; null: nothing to judge
  int furthest_row = -1, furthest_column = -1;  ///< element with the largest share; -1: none
  std::optional<HeadLse> lse{};                 ///< none: no log-sum-exp lies beside the output; `call` has its sentences
};

}  // namespace attoscope::ui
