/// Answers about a loaded output: its verdict, the row shown tile by tile instead of its own, a slip's output.
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

/// The answer whose a is shown tile by tile (see `followed_beside`), and the tile at which the output's row may end early.
struct FollowedRow {
  std::shared_ptr<const Result> answer;
  RowPrefix prefix;
};

/// A request for the output of a slip.
struct SlipQuestion {
  std::shared_ptr<const Result> answer;  ///< with the loaded output; the app sets it
  Slip slip;

  friend bool operator==(const SlipQuestion& x, const SlipQuestion& y) {
    return x.answer == y.answer && x.slip.kind == y.slip.kind && x.slip.text == y.slip.text;
  }
};

/// The answer with a slip's output instead of the loaded output.
struct SlipOutput {
  std::shared_ptr<const Result> answer;
  std::string text;  ///< text of the slip
};

/// A request to compare a kernel's gradients.
struct KernelGradientsQuestion {
  std::shared_ptr<const Result> answer;  ///< with a's own gradients; the app sets it
  KernelGradients files;

  friend bool operator==(const KernelGradientsQuestion&, const KernelGradientsQuestion&) = default;
};

/// The answer with the kernel's gradients instead of a's, and their verdicts.
struct KernelGradientsAnswer {
  KernelGradientsQuestion question;
  std::shared_ptr<const Result> answer;
  std::array<std::string, 3> sentences{};        ///< the lines of `attoscope judge`; empty: not judged yet
  std::array<std::optional<bool>, 3> rounded{};  ///< dQ, dK and dV; none: not given, or not judged
  std::array<bool, 3> sums{};                    ///< sums over the heads of a group: judged, but not on screen
};

/// The verdict on the log-sum-exp stored with a loaded output.
struct HeadLse {
  LseBase base = LseBase::e;
  double unit = 1;  ///< factor from base e to `base`
  LseJudgement judged{};
};

/// Verdict on one head, rounded or wrong, as `attoscope judge --head` prints it.
struct HeadVerdict {
  Experiment experiment;  ///< result of `verdict_question`
  CallJudgement call;
  std::shared_ptr<const Matrix> shares;         ///< each element's error over its tolerance; null: nothing to judge
  int furthest_row = -1, furthest_column = -1;  ///< element with the largest share; -1: none
  std::optional<HeadLse> lse{};                 ///< none: the output has no log-sum-exp; `call` has its sentences
};

}  // namespace attoscope::ui
