/// Controller of the Model workspace: reads checkpoint and text, runs the model, opens its heads.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/model/model_plan.h"
#include "app/threads/side_question.h"
#include "app/train/ordered_training.h"
#include "ui/frame/model_answer.h"
#include "ui/session/session.h"

namespace attoscope::app {

/// Runs language models in the background for the panels; a newer question replaces a running one. Independent of the window.
class ModelController {
 public:
  /// Other threads call `published` whenever `update` has something to take. `directory`: for Q, K and V, and the list of
  /// recent checkpoints; empty: Q, K and V go to the temporary directory, and there is no list.
  ModelController(std::function<void()> published, std::string directory);

  /// Reads the plan if the Model workspace is shown, and takes answers.
  void update(const ui::Session& session);
  /// Input of the panels in this frame.
  ui::ModelView view() const;
  /// Starts or stops work as requested.
  void handle(const ui::ModelRequest& request, const ui::Session& session);
  /// Requested Q, K and V, returned once.
  std::optional<CapturedFile> take_captured();
  /// True during work that ends by itself.
  bool busy() const { return read_.busy() || work_.busy() || heads_.busy(); }

 private:
  /// Weights of the last used checkpoint, shared by the threads.
  class Weights {
   public:
    std::shared_ptr<const LanguageModel> of(const std::string& checkpoint);

   private:
    std::mutex mutex_;
    std::string key_;  ///< of the checkpoint's files when they were read
    std::shared_ptr<const LanguageModel> model_;
  };
  /// A run, an attribution of an answer, or heads of an answer.
  struct Work {
    std::uint64_t number = 0;  ///< unique, ascending
    std::string checkpoint;
    std::shared_ptr<const ui::ModelFound> asked;
    ModelPart part = ModelPart::none;
    int layer = 0, head = 0;

    friend bool operator==(const Work& x, const Work& y) { return x.number == y.number; }
  };
  /// A question, and the seconds of an answer with each part made exact; negative: unknown.
  struct Timed {
    ui::ModelFound asked{};
    Architecture architecture{};
    std::array<double, 4> seconds{-1, -1, -1, -1};

    friend bool operator==(const Timed& x, const Timed& y) { return same_question(x.asked, y.asked); }
  };
  struct Done {
    std::shared_ptr<const ui::ModelFound> found;
    std::shared_ptr<const ui::ModelShares> shares;
  };

  Done done(const Work& work, const SideRun<Done>& run) const;
  CapturedFile captured(const Work& work, const SideRun<CapturedFile>& run) const;
  void estimate(const ui::Session& session);
  void remember(const std::string& checkpoint);

  const std::string directory_;
  const std::shared_ptr<Weights> weights_ = std::make_shared<Weights>();
  std::vector<std::string> recent_;
  ui::Session session_;  ///< at the last update that showed the Model workspace
  std::uint64_t asked_ = 0;
  ModelPart running_ = ModelPart::none;         ///< part of the work under way
  std::shared_ptr<const CapturedFile> opened_;  ///< returned by `take_captured`
  std::string remark_;
  bool reading_ = false;  ///< the plan was still being read when the newest answer was taken
  /// A plan, and the state of its text. Last, so that they join before anything they use goes away.
  SideQuestion<std::pair<ui::ModelPlan, std::string>, ReadPlan> read_;
  SideQuestion<Timed, Timed> times_;
  SideQuestion<Work, Done> work_;
  SideQuestion<Work, CapturedFile> heads_;
};

}  // namespace attoscope::app
