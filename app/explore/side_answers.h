/// Answers to the panels' questions beside the main answer, one thread for each.
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

/// The work that finds the heads that its known answer lacks, with a thread for each head, and publishes each.
template <class Row>
using SearchOfHeads = std::function<ui::FoundHeads<Row>(const ui::HeadsOfFile&, const SideRun<ui::FoundHeads<Row>>&)>;
/// HeadRow: heads under a and b; KvRow: with K and V in fewer bits; JudgedHead: verdicts on a loaded output. `kept` may be
/// null.
template <class Row>
SearchOfHeads<Row> found_heads(const std::shared_ptr<KeptHeads>& kept);

class SideAnswers {
 public:
  /// Other threads call `published` whenever `update` has something to take. `kept`: heads of earlier searches; may be null.
  explicit SideAnswers(const std::function<void()>& published, const std::shared_ptr<KeptHeads>& kept = nullptr);

  /// Asks the requested questions. `complete`: the answer to the session's question; null: not known yet. While `computing`
  /// one, no heads are judged.
  void ask(ui::SideRequests requests, const std::string& device, const std::shared_ptr<const Result>& complete, bool computing);
  /// Stops all that is being answered about the experiment, as it has changed.
  void forget();
  /// Drops the gradients of a kernel, as they were opened again.
  void forget_gradients() { questions_.kernel_gradients.clear(); }
  /// Drops what comes from files, as they have changed.
  void forget_files();
  /// Takes new answers. Returns a sentence on failures, or "".
  std::string update();
  /// Input of the panels.
  void tell(ui::PanelInput& input) const;
  /// True while an answer is on its way.
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
