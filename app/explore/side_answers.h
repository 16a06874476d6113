/// Answers to the panels' side questions, one thread each.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/threads/side_question.h"
#include "kernels/experiment/result.h"
#include "kernels/questions/attribution.h"
#include "kernels/questions/clipping.h"
#include "kernels/questions/gpu_check.h"
#include "kernels/questions/invariance.h"
#include "ui/frame/heads_answer.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/output_answer.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/requests.h"

namespace attoscope::app {

class KeptHeads;

/// A search of the heads that the known answer lacks; one thread for each head; publishes each result.
template <class Row>
using SearchOfHeads = std::function<ui::FoundHeads<Row>(const ui::HeadsOfFile&, const SideRun<ui::FoundHeads<Row>>&)>;
/// Search for rows of one type. HeadRow: heads under a and b; KvRow: with K and V in fewer bits; JudgedHead: verdicts on a
/// loaded output. `kept` may be null.
template <class Row>
SearchOfHeads<Row> found_heads(const std::shared_ptr<KeptHeads>& kept);

class SideAnswers {
 public:
  /// Other threads call `published` whenever `update` has something to take. `kept`: heads of earlier searches; may be null.
  explicit SideAnswers(const std::function<void()>& published, const std::shared_ptr<KeptHeads>& kept = nullptr);

  /// Asks the requested questions. `complete`: the answer to the session's question; null: not known yet. No heads are judged
  /// while `computing` it.
  void ask(ui::SideRequests requests, const std::string& device, const std::shared_ptr<const Result>& complete, bool computing);
  /// Stops all questions on the experiment, because it changed; `with_answers`: drops the answers, because numbers changed that
  /// its digests do not cover.
  void forget(bool with_answers = false);
  /// Drops the gradients of a kernel, because they were opened again.
  void forget_gradients() { questions_.kernel_gradients.clear(); }
  /// Drops the verdict on a loaded output, because its log-sum-exp was opened again.
  void forget_verdict() { questions_.verdict.clear(); }
  /// Drops answers that depend on files, because the files changed.
  void forget_files();
  /// Takes new answers. Returns a sentence on failures, or "".
  std::string update();
  /// Input of the panels.
  void tell(ui::PanelInput& input) const;
  /// True while an answer is computed.
  bool busy() const;
  const std::shared_ptr<const ui::HeadVerdict>& verdict() const { return questions_.verdict.answer(); }
  const SideQuestion<ui::KernelGradientsQuestion, ui::KernelGradientsAnswer>& kernel_gradients() const {
    return questions_.kernel_gradients;
  }
  const std::shared_ptr<const ui::JudgedView>& judged() const { return questions_.judged.answer(); }

 private:
  ui::SideList<SideQuestion> questions_;
};

}  // namespace attoscope::app
