#include "app/explore/lessons.h"

#include <algorithm>
#include <exception>
#include <filesystem>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/sweep/sweep.h"
#include "app/threads/job.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/exercise.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t largest_lesson = 1 << 20;
/// Limits of answers that are kept after no page asks for them: number and total bytes.
constexpr std::size_t remembered = 96, remembered_bytes = 64 << 20;

std::string in_line(int line, const std::string& sentence) { return "line " + std::to_string(line) + ": " + sentence; }

/// Replaces "example" and "example:1" by the shipped tensors, "presets/FILE" by those of a probe.
std::string with_example(const std::string& value) {
  constexpr std::string_view name = "example";
  if (value.starts_with("presets/")) return (fs::path(assets_directory()) / value).string();
  if (!value.starts_with(name) || (value.size() > name.size() && value[name.size()] != ':')) return value;
  return example_file() + value.substr(name.size());
}

/// Throws as `validate`; tensors of a file are checked later, when they are read.
void check(Experiment e) {
  if (e.problem.input.kind == InputKind::tensors) e.problem.input = {};
  validate(e);
}

/// The name of a measure. Throws std::invalid_argument with one sentence if it is unknown.
std::string known_measure(std::string_view text) {
  const OwnNumbers* const own = own_numbers(text);
  if (own == nullptr) return parse_measure(text).name;
  own->check(text);
  return std::string(text);
}

/// Throws on errors in a view's axes and measure.
void check_sweep(const ui::LessonView& view) {
  for (const std::string_view key : {"vary", "vary2"})
    if (const std::string_view text = written(view, key); !text.empty()) parse_axis(text);
  if (const std::string_view text = written(view, "measure"); !text.empty()) known_measure(text);
}

void resolve(ui::LessonView& view) {
  if (!view.problem.empty()) {
    view.problem = in_line(view.line, view.problem);
    return;
  }
  view.experiment = ui::lesson_experiment();
  try {
    for (const ui::LessonParameter& p : view.parameters)
      if (!is_own_key(view.kind, p.key)) vary(view.experiment, p.key, p.key == "input" ? with_example(p.value) : p.value);
    check_sweep(view);
    check(view.experiment);
    if (view.kind == ui::LessonViewKind::exercise) exercise_of(view);
  } catch (const std::exception& error) {
    view.problem = in_line(view.line, std::string(name(view.kind)) + ": " + error.what());
  }
}

void resolve(ui::LessonNumber& number) {
  try {
    number.question = parse_live(number.target);
  } catch (const std::exception& error) {
    number.problem = in_line(number.line, error.what());
  }
}

}  // namespace

std::string lessons_directory() {
  const std::string assets = assets_directory();
  return assets.empty() ? "" : (fs::path(assets) / "lessons").string();
}

ui::Lessons read_lessons(const std::string& directory) {
  std::vector<fs::path> files;
  std::error_code error;
  if (!directory.empty())
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
      if (entry.path().extension() == ".md" && entry.path().stem() != "README") files.push_back(entry.path());
  std::ranges::sort(files);
  ui::Lessons lessons;
  for (const fs::path& file : files) {
    std::string text;
    try {
      text = read_file(file.string(), largest_lesson);
    } catch (const NotFetched&) {
      throw;
    } catch (const std::exception& unreadable) {
      text = "# " + file.stem().string() + "\n\n" + unreadable.what() + "\n";
    }
    lessons.push_back(ui::parse_lesson(file.stem().string(), text));
    resolve(lessons.back());
  }
  return lessons;
}

void resolve(ui::Lesson& lesson) {
  for (ui::LessonStep& step : lesson.steps)
    for (ui::LessonBlock& block : step.blocks) {
      for (ui::LessonView& view : block.view) resolve(view);
      for (ui::LessonNumber& number : block.numbers) resolve(number);
    }
}

std::string vary_in_lesson(Experiment& experiment, std::string_view key, const std::string& value) {
  return failure_of([&] {
    Experiment changed = experiment;
    vary(changed, key, key == "input" ? with_example(value) : value);
    check(changed);
    experiment = std::move(changed);
  });
}

ui::LessonQuestion parse_live(std::string_view target) {
  ui::LessonQuestion question{.experiment = ui::lesson_experiment()};
  const std::size_t mark = std::min(target.find('?'), target.size());
  question.measure = known_measure(target.substr(0, mark));
  const std::string_view settings = target.substr(std::min(mark + 1, target.size()));
  for (const std::string_view setting : settings.empty() ? std::vector<std::string_view>{} : attoscope::split(settings, "&")) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos)
      throw std::invalid_argument("live number: " + in_quotes(setting) + " has no value, expected key=value");
    const std::string key(setting.substr(0, equals)), value(setting.substr(equals + 1));
    vary(question.experiment, key, key == "input" ? with_example(value) : value);
  }
  check(question.experiment);
  return question;
}

namespace {

/// Bytes of an answer, as far as they grow with N and d.
std::size_t bytes_of(const ui::LessonAnswer& a) {
  if (!a.result) return 0;
  const Result& r = *a.result;
  const std::size_t inputs = r.inputs ? r.inputs->q.size() + r.inputs->k.size() + r.inputs->v.size() : 0;
  return sizeof(double) * (inputs + r.golden->values.size() + r.a.values.size() + r.b.values.size()) +
         sizeof(float) * r.rescale_map.m.size();
}

/// Drops the oldest answers that no page asks for, as far as there are too many.
void forget_oldest(ui::LessonAnswers& known, const std::vector<ui::LessonQuestion>& questions) {
  std::size_t held = 0;
  for (const ui::LessonAnswerPtr& a : known) held += bytes_of(*a);
  while (held > remembered_bytes || known.size() > remembered + questions.size()) {
    const auto oldest = std::ranges::find_if(
        known, [&](const ui::LessonAnswerPtr& a) { return std::ranges::find(questions, a->question) == questions.end(); });
    if (oldest == known.end()) return;
    held -= bytes_of(**oldest);
    known.erase(oldest);
  }
}

}  // namespace

LessonAnswerer::LessonAnswerer(std::function<void()> published)
    : worker_(
          [cache = std::make_shared<ComputeCache>()](const Questions& questions, const Cancelled& cancelled,
                                                     const std::function<void(ui::LessonAnswers)>& publish) {
            ui::LessonAnswers found;
            for (const ui::LessonQuestion& q : questions) {
              if (!found.empty()) publish(found);
              found.push_back(
                  std::make_shared<const ui::LessonAnswer>(answer(q, {.cancelled = cancelled, .cache = cache.get()})));
            }
            return found;
          },
          std::move(published)) {}

const std::shared_ptr<const ui::Lessons>& LessonAnswerer::lessons() try {
  if (!lessons_) lessons_ = std::make_shared<const ui::Lessons>(read_lessons(lessons_directory()));
  return lessons_;
} catch (const NotFetched&) {
  return lessons_;
}

void LessonAnswerer::ask(const std::vector<ui::LessonQuestion>& questions) {
  if (questions == asked_) return;
  asked_ = questions;
  Questions unknown;
  for (const ui::LessonQuestion& q : questions)
    if (!answer_of(answers_.get(), q)) unknown.push_back(q);
  if (!unknown.empty()) worker_.submit(unknown);
}

void LessonAnswerer::update() {
  const std::optional<ui::LessonAnswers> found = worker_.take();
  if (!found) return;
  ui::LessonAnswers known = answers_ ? *answers_ : ui::LessonAnswers();
  for (const ui::LessonAnswerPtr& a : *found)
    if (!answer_of(&known, a->question)) known.push_back(a);
  forget_oldest(known, asked_);
  answers_ = std::make_shared<const ui::LessonAnswers>(std::move(known));
}

}  // namespace attoscope::app
