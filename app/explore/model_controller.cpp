#include "app/explore/model_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/model/model_files.h"
#include "app/threads/job.h"
#include "app/words/numbers.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_recent_models = 8, longest_list = 1 << 16;

/// Path of the list of recent checkpoints, one per line; "" without a directory.
std::string recent_models_file(const std::string& directory) {
  return directory.empty() ? "" : (fs::path(directory) / "models.txt").string();
}

std::vector<std::string> lines_of(const std::string& file) try {
  std::vector<std::string> lines;
  std::string text = file.empty() ? "" : read_file(file, longest_list);
  for (std::size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1))
    if (end > 0 && lines.size() < most_recent_models) lines.push_back(text.substr(0, end));
  return lines;
} catch (const std::exception&) {  // the first start, or an unreadable list
  return {};
}

/// True if one layer is small enough to be made for timing: at most 1 GB.
bool has_small_layers(const Architecture& a) {
  constexpr double most_weights = 1 << 28;
  double count = 0;
  for (std::size_t t = 0; t < layer_tensor_count; ++t) {
    const auto [rows, cols] = shape_of(a, static_cast<LayerTensor>(t));
    count += static_cast<double>(rows) * cols;
  }
  return count <= most_weights;
}

/// A text that changes when a file of the checkpoint does: its files with their sizes and times.
std::string state_of(const std::string& checkpoint) {
  std::vector<std::string> files{checkpoint};
  std::error_code error;
  for (fs::directory_iterator at(checkpoint, error), end; !error && at != end; at.increment(error))
    files.push_back(at->path().string());
  std::ranges::sort(files);
  std::string state;
  for (const std::string& file : files) state += file + " " + file_state(file) + "\n";
  return state;
}

/// Expected seconds of the answer by ModelPart; negative if the question is invalid, which its run reports.
std::array<double, 4> seconds_of(const ui::ModelFound& asked, const Architecture& architecture, const Options& options) try {
  const LanguageModel shape{.architecture = architecture, .embedding = {}, .layers = {}, .norm = {}, .head = {}};
  return expected_seconds(app::question_of(asked, shape), options);
} catch (const std::exception&) {
  return {-1, -1, -1, -1};
}

}  // namespace

std::shared_ptr<const LanguageModel> ModelController::Weights::of(const std::string& checkpoint) {
  const std::lock_guard lock(mutex_);
  const std::string key = state_of(checkpoint);
  if (model_ && key == key_) return model_;
  model_.reset();  // free its memory before reading another model
  model_ = std::make_shared<const LanguageModel>(read_language_model(checkpoint));
  key_ = key;
  return model_;
}

ModelController::ModelController(std::function<void()> published, std::string directory)
    : directory_(std::move(directory)),
      recent_(lines_of(recent_models_file(directory_))),
      read_([](const auto& asked, const auto&) { return read_plan(asked.first); }, published),
      times_(
          [](Timed timed, const SideRun<Timed>& run) {
            timed.seconds = seconds_of(timed.asked, timed.architecture, run.options);
            return timed;
          },
          published),
      work_([this](const Work& work, const SideRun<Done>& run) { return done(work, run); }, published),
      heads_([this](const Work& work, const SideRun<CapturedFile>& run) { return captured(work, run); }, published) {}

ModelController::Done ModelController::done(const Work& work, const SideRun<Done>& run) const {
  const std::shared_ptr<const LanguageModel> model = weights_->of(work.checkpoint);
  run.options.progress(0);  // the estimate excludes reading the weights
  if (work.part != ModelPart::none)
    return {work.asked, std::make_shared<const ui::ModelShares>(attributed(work.asked, work.part, *model, run.options))};
  return {std::make_shared<const ui::ModelFound>(answered(*work.asked, *model, run.options)), nullptr};
}

CapturedFile ModelController::captured(const Work& work, const SideRun<CapturedFile>& run) const {
  const std::shared_ptr<const LanguageModel> model = weights_->of(work.checkpoint);
  const std::string bytes = heads_file(*work.asked, work.layer, *model, run.options);
  const std::string title = heads_title(*work.asked, work.layer);
  const fs::path folder =
      directory_.empty() ? fs::path(temporary_directory()) / "attoscope" : fs::path(directory_) / "captures";
  const std::string file =
      (folder / fmt::format("{} layer {} {}.safetensors", work.asked->reading->name, work.layer, hex16(hash_of(bytes))))
          .string();
  std::error_code error;
  if (!fs::exists(file, error)) write_safely(file, bytes);
  CapturedFile captured{fmt::format("{}:{}", file, work.head), fmt::format("{}, head {}", title, work.head),
                        head_experiment(model->architecture, static_cast<int>(work.asked->reading->tokens.size()),
                                        work.asked->a, work.asked->format, work.asked->seed)};
  captured.experiment.b = work.asked->b;
  return captured;
}

void ModelController::update(const ui::Session& session) {
  const bool is_shown = session.view.workspace == ui::Workspace::model;
  if (is_shown) {
    session_ = session;
    read_.ask({session.model, text_state(session.model)});
  }
  reading_ = read_.busy();  // read before the answer is taken: an answer taken after the reading ended is the last one
  const auto update_all = [&] { read_.update(), work_.update(), heads_.update(); };
  if (const std::string failure = failure_of(update_all, "this model"); !failure.empty()) remark_ = with_full_stop(failure);
  if (is_shown) estimate(session);
}

void ModelController::estimate(const ui::Session& session) {
  times_.update();
  const std::shared_ptr<const ReadPlan>& read = read_.answer();
  if (!read || !(read->reading->asked == session.model) || !read->reading->wrong.empty()) return;
  if (!work_.busy() && !heads_.busy() && has_small_layers(read->architecture))
    times_.ask({asked_by(session, read->reading), read->architecture});
}

ui::ModelView ModelController::view() const {
  ui::ModelView view{.checkpoint = checkpoint_of(session_.model), .recent = recent_};
  if (work_.answer()) {
    view.found = work_.answer()->found;
    view.shares = work_.answer()->shares;
  }
  ui::ModelProgress& p = view.progress;
  if (read_.answer()) view.reading = read_.answer()->reading;
  p.reads = reading_ || !view.reading || !(view.reading->asked == session_.model);
  const bool works = work_.busy() && asked_ > 0;
  p.runs = works && running_ == ModelPart::none;
  p.attributes = works && running_ != ModelPart::none;
  p.opens = heads_.busy();
  p.share = work_.effort().share();
  if (works) p.seconds_left = work_.effort().seconds_left().value_or(p.seconds_left);
  p.remark = remark_;
  if (const auto& found = view.found)
    p.stale = p.reads || found->reading->tokens != view.reading->tokens || !(found->reading->asked == session_.model) ||
              !same_question(*found, asked_by(session_, found->reading));
  if (times_.answer() && view.reading && same_question(times_.answer()->asked, asked_by(session_, view.reading)))
    p.expected = times_.answer()->seconds;
  return view;
}

void ModelController::remember(const std::string& checkpoint) {
  std::erase(recent_, checkpoint);
  recent_.insert(recent_.begin(), checkpoint);
  if (recent_.size() > most_recent_models) recent_.resize(most_recent_models);
  if (directory_.empty()) return;
  std::string text;
  for (const std::string& line : recent_) text += line + "\n";
  try {
    write_safely(recent_models_file(directory_), text);
  } catch (const std::exception&) {  // this window keeps its list in memory
  }
}

void ModelController::handle(const ui::ModelRequest& request, const ui::Session& session) {
  using Act = ui::ModelRequest::Act;
  if (request.act == Act::none) return;
  remark_.clear();
  if (request.act == Act::cancel) {
    work_.forget();
    return heads_.forget();
  }
  Work work{++asked_, checkpoint_of(session.model), {}, request.part, request.layer, request.head};
  if (work_.answer()) work.asked = work_.answer()->found;
  if (request.act == Act::run) {
    const std::shared_ptr<const ReadPlan>& read = read_.answer();
    if (!read || reading_ || !(read->reading->asked == session.model) || !read->reading->wrong.empty()) return;
    work.asked = std::make_shared<const ui::ModelFound>(asked_by(session, read->reading));
    work.part = ModelPart::none;
    remember(work.checkpoint);
  }
  if (!work.asked) return;
  work.checkpoint = checkpoint_of(work.asked->reading->asked);
  if (request.act == Act::explore) return heads_.ask(work);
  work_.forget();  // the newest question replaces a running one at once
  running_ = work.part;
  work_.ask(work);
}

std::optional<CapturedFile> ModelController::take_captured() {
  if (heads_.answer() == opened_) return std::nullopt;
  return *(opened_ = heads_.answer());
}

}  // namespace attoscope::app
