#include "app/explore/lesson_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "app/explore/lessons.h"
#include "app/explore/render.h"
#include "app/files/files.h"
#include "app/words/html.h"
#include "app/words/mathml.h"
#include "ui/learn/live_numbers.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

constexpr std::array themes{Theme::light, Theme::dark};

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --text: #1b2027; --soft: #59636f; --ground: #ffffff; --card: #f1f3f6; --line: #d6dae0;
        --a: #9a5f00; --b: #0b68a8; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ee; --soft: #9aa5b3; --ground: #14171c; --card: #1e232a; --line: #343b45; --a: #f0b35a; --b: #6cb8f0; }
}
body { background: var(--ground); color: var(--text); font: 17px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 46rem;
       padding: 1.5rem; }
h1, h2 { line-height: 1.25; } h2 { margin-top: 2.5rem; }
nav { color: var(--soft); font-size: .9rem; } a { color: var(--b); }
code, .live { font-family: ui-monospace, monospace; font-size: .92em; } .live.a { color: var(--a); } .live.b { color: var(--b); }
pre, details { background: var(--card); border-radius: 6px; overflow-x: auto; padding: .8rem 1rem; }
details { margin: 1rem 0; } summary { cursor: pointer; }
table { border-collapse: collapse; } th, td { border-bottom: 1px solid var(--line); padding: .25rem .7rem; text-align: left; }
.right { text-align: right; } .formula { margin: 1rem 0; overflow-x: auto; text-align: center; }
figure { margin: 1.2rem 0; } img { border: 1px solid var(--line); border-radius: 6px; height: auto; max-width: 100%; }
)";

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_escaped(title), style, body);
}

std::string file_of(const Lesson& lesson) { return lesson.name + ".html"; }

std::string number_html(const LessonNumber& number, const AnswerLesson& answer) {
  std::string text = number.written;
  if (number.problem.empty())
    if (const LessonAnswerPtr a = answer(number.question); a->problem.empty() && !a->points.empty())
      text = live_text(number.written, a->points[0].mean);
  const std::string kind = number.target.starts_with("a.") ? " a" : number.target.starts_with("b.") ? " b" : "";
  return "<span class=\"live" + kind + "\" title=\"" + html_escaped(number.target) + "\">" + html_escaped(text) + "</span>";
}

std::string short_number(double x) {
  const double size = std::abs(x);
  return size == 0 || (size >= 1e-3 && size < 1e5) ? fmt::format("{:.4g}", x) : fmt::format("{:.3g}", x);
}

/// What the right answer is, and the number of every choice.
std::string answer_html(const LessonView& quiz, const AnswerLesson& answer) {
  if (const std::string_view equals = written(quiz, "equals"); !equals.empty())
    return "<p><strong>" + html_escaped(equals) + "</strong></p>\n";
  LessonQuestion question{.experiment = quiz.experiment, .measure = std::string(written(quiz, "measure"))};
  if (!written(quiz, "vary").empty()) question.vary = {std::string(written(quiz, "vary"))};
  const LessonAnswerPtr found = answer(question);
  if (!found->problem.empty() || found->points.empty()) return "<p>" + html_escaped(found->problem) + "</p>\n";
  if (found->axes.empty()) return "<p><strong>" + short_number(found->points[0].mean) + "</strong></p>\n";
  const bool greatest = written(quiz, "best") == "greatest";
  const auto by_number = [&](const LessonPoint& p) { return greatest ? -p.mean : p.mean; };
  const auto best = static_cast<std::size_t>(std::ranges::min_element(found->points, {}, by_number) - found->points.begin());
  std::string html =
      "<p><strong>" + html_escaped(found->axes[0].values[best]) + "</strong>. " + html_escaped(found->title) + ":</p>\n<ul>\n";
  for (std::size_t i = 0; i < found->points.size(); ++i)
    html += "<li>" + html_escaped(found->axes[0].values[i]) + ": " + short_number(found->points[i].mean) + "</li>\n";
  return html + "</ul>\n";
}

/// "hw, tile, eager": what may be answered.
std::string choices_html(const LessonView& quiz) {
  const std::string_view vary = written(quiz, "vary");
  const std::size_t equals = vary.find('=');
  if (equals == std::string_view::npos) return "";
  std::string choices(vary.substr(equals + 1));
  for (std::size_t at = choices.find(','); at != std::string::npos; at = choices.find(',', at + 2)) choices.insert(at + 1, " ");
  return " <em>(" + html_escaped(choices) + ")</em>";
}

std::string quiz_html(const LessonView& quiz, const AnswerLesson& answer) {
  return "<details>\n<summary>" + html_escaped(written(quiz, "question")) + choices_html(quiz) + "</summary>\n" +
         answer_html(quiz, answer) + "<p>" + html_escaped(written(quiz, "explanation")) + "</p>\n</details>\n";
}

/// What a picture shows, for those who cannot see it.
std::string description(const LessonView& view) {
  std::string text(name(view.kind));
  for (const LessonParameter& p : view.parameters) text += ", " + p.key + " " + p.value;
  return text;
}

std::string picture_html(const Lesson& lesson, const LessonView& view) {
  return fmt::format(
      "<figure><picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"{}\"><img src=\"{}\" alt=\"{}\" "
      "loading=\"lazy\"></picture></figure>\n",
      view_picture_name(lesson, view, Theme::dark), view_picture_name(lesson, view, Theme::light),
      html_escaped(description(view)));
}

std::string block_html(const Lesson& lesson, const LessonBlock& block, const AnswerLesson& answer) {
  if (block.view.empty())
    return html_of(block.markdown, [&](int i) {
      return i >= 0 && i < static_cast<int>(block.numbers.size())
                 ? number_html(block.numbers[static_cast<std::size_t>(i)], answer)
                 : std::string();
    });
  const LessonView& view = block.view.front();
  if (!view.problem.empty()) return "<p>" + html_escaped(view.problem) + "</p>\n";
  return is_drawn(view) ? picture_html(lesson, view) : quiz_html(view, answer);
}

std::string turning(const Lessons& lessons, std::size_t index) {
  std::string html = "<nav><a href=\"index.html\">all lessons</a>";
  if (index > 0)
    html += " · <a href=\"" + file_of(lessons[index - 1]) + "\">‹ " + html_escaped(lessons[index - 1].title) + "</a>";
  if (index + 1 < lessons.size())
    html += " · <a href=\"" + file_of(lessons[index + 1]) + "\">" + html_escaped(lessons[index + 1].title) + " ›</a>";
  return html + "</nav>\n";
}

/// The views of a lesson that are drawn.
std::vector<LessonView> drawn_views(const Lesson& lesson) {
  std::vector<LessonView> views;
  for (const LessonStep& step : lesson.steps)
    for (const LessonBlock& block : step.blocks)
      if (!block.view.empty() && block.view.front().problem.empty() && is_drawn(block.view.front()))
        views.push_back(block.view.front());
  return views;
}

/// Remembers what was answered.
class Answers {
 public:
  LessonAnswerPtr operator()(const LessonQuestion& question) {
    const auto known = std::ranges::find_if(known_, [&](const LessonAnswerPtr& a) { return a->question == question; });
    if (known != known_.end()) return *known;
    known_.push_back(std::make_shared<const LessonAnswer>(answer(question, {.cache = &cache_})));
    return known_.back();
  }

 private:
  LessonAnswers known_;
  ComputeCache cache_;
};

}  // namespace

bool is_drawn(const LessonView& view) { return view.kind != LessonViewKind::quiz; }

std::string view_picture_name(const Lesson& lesson, const LessonView& view, Theme theme) {
  return fmt::format("{}-{}-{}.png", lesson.name, view.index + 1, theme == Theme::dark ? "dark" : "light");
}

std::string lesson_page(const Lessons& lessons, std::size_t index, const AnswerLesson& answer) {
  const Lesson& lesson = lessons[index];
  std::string body = turning(lessons, index) + "<h1>" + html_escaped(lesson.title) + "</h1>\n";
  for (const LessonStep& step : lesson.steps) {
    body += "<section>\n<h2>" + html_escaped(step.title) + "</h2>\n";
    for (const LessonBlock& block : step.blocks) body += block_html(lesson, block, answer);
    body += "</section>\n";
  }
  return page(lesson.title, body + turning(lessons, index));
}

std::string lessons_index(const Lessons& lessons) {
  std::string body =
      "<h1>Lessons of Attoscope</h1>\n<p>Every number was computed when these pages were written, by "
      "attoscope " ATTOSCOPE_VERSION ".</p>\n<ol>\n";
  for (const Lesson& lesson : lessons)
    body += "<li><a href=\"" + file_of(lesson) + "\">" + html_escaped(lesson.title) + "</a></li>\n";
  return page("Lessons of Attoscope", body + "</ol>\n");
}

void write_lesson_pages(const std::string& directory, std::ostream& out) {
  const Lessons lessons = read_lessons(lessons_directory());
  if (lessons.empty()) throw std::runtime_error("there are no lessons: assets/lessons was not installed with the program");
  StagedFiles files;
  files.make_directory(directory);
  Answers answers;
  const auto place = [&](const std::string& name) { return (fs::path(directory) / name).string(); };
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const std::vector<LessonView> views = drawn_views(lessons[i]);
    for (const Theme theme : themes) {
      const std::vector<Picture> pictures = render_views(views, theme);
      for (std::size_t v = 0; v < views.size(); ++v)
        files.add(place(view_picture_name(lessons[i], views[v], theme)), to_png(pictures[v]));
    }
    files.add(place(file_of(lessons[i])), lesson_page(lessons, i, [&](const LessonQuestion& q) { return answers(q); }));
    out << lessons[i].name << ": " << views.size() << " views\n" << std::flush;
  }
  files.add(place("index.html"), lessons_index(lessons));
  files.commit();
  out << place("index.html") << "\n";
}

}  // namespace attoscope
