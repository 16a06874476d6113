#include "app/train/train_controller.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "app/files/files.h"
#include "app/threads/job.h"
#include "app/train/train_seeds.h"
#include "app/train/trained.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

using namespace std::chrono_literals;
using State = ui::TrainProgress::State;

/// True for requests that need the text of the session's plan.
bool needs_plan(ui::TrainRequest::Act act) {
  using Act = ui::TrainRequest::Act;
  return act == Act::run || act == Act::one_step || act == Act::restart || act == Act::fork;
}

/// Reads the text of a plan.
TextAnswer read_plan_text(const TextSource& asked) {
  TextAnswer answer{asked, {}, {}};
  answer.wrong = with_full_stop(failure_of([&] { answer.text = text_of(asked); }));
  return answer;
}

/// Sets the fields about a plan and its text.
void tell_plan(const PlannedTraining& planned, ui::TrainProgress& p) {
  const TextSource& text = planned.plan.text;
  p.wrong = planned.wrong;
  if (!text.corpus) return;
  p.vocabulary = static_cast<int>(text.corpus->characters.size());
  p.text = fmt::format("{}, {} characters, {} different", text_name(text),
                       grouped(static_cast<std::int64_t>(text.corpus->text.size())), p.vocabulary);
}

}  // namespace

PlannedTraining planned(const TrainPlan& plan, const TextAnswer& text) {
  PlannedTraining p{plan, text.wrong};
  p.plan.text = text.text;
  if (p.wrong.empty()) p.wrong = with_full_stop(failure_of([&] { validate(p.plan); }));
  return p;
}

ui::TrainView computed_training(const ui::Session& session, const Cancelled& cancelled) {
  const PlannedTraining p = planned(session.train, read_plan_text(session.train.text));
  ui::TrainView view;
  view.progress.steps = p.plan.recipe.steps;
  tell_plan(p, view.progress);
  if (!p.wrong.empty()) return view;
  const std::string failure = with_full_stop(failure_of([&] {
    Trained t = trained(p.plan, {.cancelled = cancelled, .device = session.device});
    const TensorAt at{session.train_look.pair, session.train_look.tensor};
    view.progress.step = t.record.step;
    view.progress.state = t.record.finished() ? State::done : State::stopped;
    view.progress.remark = t.record.remark;
    view.gap = weight_gap(t.record, at, t.weights);
    view.record = std::make_shared<const TrainRecord>(std::move(t.record));
    view.seeds = trained_further(p.plan, session.train_look.seeds, {.cancelled = cancelled, .device = session.device});
  }));
  if (!failure.empty()) view.progress.remark = failure;
  return view;
}

TrainController::TrainController(std::function<void()> published, TrainKeeping keeping, MakeDevice make)
    : text_([](const auto& asked, const auto&) { return read_plan_text(asked.first); }, published),
      thread_(published, std::move(keeping), std::move(make)) {
  std::error_code error;
  const std::string own = thread_.own_checkpoint();
  if (!own.empty() && std::filesystem::is_regular_file(own, error)) left_over_ = own;
}

void TrainController::update(ui::Session& session, bool explore_computes) {
  const Clock::time_point now = Clock::now();
  if (explore_computes) explored_at_ = now;
  thread_.hold(now - explored_at_ < 200ms);
  take(session);
  seeds_ = session.train_look.seeds;
  if (session.view.workspace != ui::Workspace::train && !waiting_) return;
  plan(session);
  thread_.look_at(
      {session.train_look.pair, session.train_look.picture == ui::WeightPicture::matrix ? session.train_look.tensor : -1});
  if (!waiting_ || !planned_ || reading_) return;
  waiting_->plan = planned_->plan;
  if (planned_->wrong.empty()) thread_.give(std::move(*waiting_));
  waiting_.reset();
}

/// Sets `planned_` from the session's plan when its text is read.
void TrainController::plan(const ui::Session& session) {
  const TextSource& asked = session.train.text;
  text_.ask({asked, file_state(asked.file)});
  reading_ = text_.busy();  // read before the answer is taken: an answer taken after the reading ended is the last one
  text_.update();
  const std::shared_ptr<const TextAnswer>& text = text_.answer();
  if (!text || !(text->asked == asked)) return planned_.reset();
  if (planned_ && text == read_text_ && read_ == session.train) return;
  read_ = session.train;
  read_text_ = text;
  planned_ = planned(session.train, *text);
}

/// Takes over the reports of the thread.
void TrainController::take(ui::Session& session) {
  TrainTold told = thread_.told();
  if (!told.note.empty()) note_ = std::move(told.note);
  if (told.captured) captured_ = std::move(told.captured);
  if (told.opened) {
    session.train = std::move(*told.opened);
    session.train.text.digest = 0;  // the next reading accepts any content of the file
    session.train.text.corpus.reset();
  }
  if (told.record) left_over_.clear();
  told_ = std::move(told);
}

ui::TrainView TrainController::view() const {
  ui::TrainView view{told_.record, told_.gap, told_.progress, told_.seeds};
  ui::TrainProgress& p = view.progress;
  p.left_over = left_over_;
  if (!planned_) return view;
  tell_plan(*planned_, p);
  if (!view.record) {
    p.steps = planned_->plan.recipe.steps;
    return view;
  }
  p.stale = !(planned_->plan == view.record->plan);
  p.seeds = seeds_;
  const bool more = view.record->forks.empty() && static_cast<int>(view.seeds.size()) + 1 < seeds_;
  if (p.state == State::done && more) p.state = State::paused;
  if (p.stale) p.forkable = p.wrong.empty() ? why_no_fork(*view.record, planned_->plan) : p.wrong;
  return view;
}

void TrainController::handle(const ui::TrainRequest& request, const ui::Session& session) {
  if (request.act == ui::TrainRequest::Act::none) return;
  TrainOrder order{request, {}, training_device(session.device), session.train_look.seeds};
  if (!needs_plan(request.act)) return thread_.give(std::move(order));
  if (planned_ && !planned_->wrong.empty()) text_.forget();  // reads the text again
  waiting_ = std::move(order);
}

std::optional<std::string> TrainController::take_note() {
  return note_.empty() ? std::nullopt : std::optional(std::exchange(note_, {}));
}

std::optional<CapturedFile> TrainController::take_captured() { return std::exchange(captured_, std::nullopt); }

bool TrainController::busy() const {
  return told_.progress.state == State::running || thread_.busy() || text_.busy() || waiting_.has_value();
}

}  // namespace attoscope::app
