#include "app/explore/lesson_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <stdexcept>

#include "app/explore/lessons.h"
#include "app/files/files.h"
#include "app/files/png.h"
#include "app/link/link.h"
#include "app/session/session.h"
#include "app/tensors/tensors.h"
#include "app/words/mathml.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/exercise.h"
#include "ui/frame/panel_input.h"
#include "ui/learn/lesson_steps.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

constexpr std::array themes{ui::Theme::light, ui::Theme::dark};

/// A file shared by all pages: their style, or their script.
std::string part_of_page(const char* name) { return read_file((fs::path(lessons_directory()) / name).string(), 1 << 16); }

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}<script "
      "type=\"module\">\n{}</script>\n</body>\n</html>\n",
      html_escaped(title), part_of_page("page.css"), body, part_of_page("page.mjs"));
}

std::string file_of(const ui::Lesson& lesson) { return lesson.name + ".html"; }

/// A link that opens a setting in the program.
std::string setting_link(const ui::LessonQuestion& question) {
  return link_url({.files = {}, .settings = {}, .session = short_session_text(session_of(question))});
}

/// A live number as a link to its setting.
std::string linked_number(const ui::LessonQuestion& question, const std::string& text, const std::string& title) {
  const std::string& measure = question.measure;
  const std::string kind = measure.starts_with("a.") ? " a" : measure.starts_with("b.") ? " b" : "";
  return fmt::format("<a class=\"live{}\" href=\"{}\" title=\"{}\">{}</a>", kind, html_escaped(setting_link(question)),
                     html_escaped(ui::as_sentence(title) + " The link opens its setting in Attoscope."), html_escaped(text));
}

std::string number_html(const ui::LessonNumber& number, const AnswerLesson& answer) {
  if (!number.problem.empty()) return html_escaped(number.written);
  const ui::LessonAnswerPtr a = answer(number.question);
  const bool known = a->problem.empty() && !a->table.cells.empty();
  return linked_number(number.question, known ? ui::live_text(number.written, a->number()) : number.written,
                       known ? a->table.measure : number.target);
}

std::string short_number(double x) {
  const double size = std::abs(x);
  return size == 0 || (size >= 1e-3 && size < 1e5) ? fmt::format("{:.4g}", x) : fmt::format("{:.3g}", x);
}

/// The question of one choice of a quiz.
ui::LessonQuestion question_of(const ui::LessonAnswer& all, std::size_t choice) {
  ui::LessonQuestion q{.experiment = all.question.experiment, .measure = all.question.measure};
  vary_in_lesson(q.experiment, all.table.axes[0].key, all.table.axes[0].names[choice]);
  return q;
}

/// The right answer, and the number of each choice.
std::string answer_html(const ui::LessonView& quiz, const AnswerLesson& answer) {
  if (const std::string_view equals = written(quiz, "equals"); !equals.empty())
    return "<p><strong>" + html_escaped(equals) + "</strong></p>\n";
  ui::LessonQuestion question{.experiment = quiz.experiment, .measure = std::string(written(quiz, "measure"))};
  if (!written(quiz, "vary").empty()) question.vary = {std::string(written(quiz, "vary"))};
  const ui::LessonAnswerPtr found = answer(question);
  if (!found->problem.empty() || found->table.cells.empty()) return "<p>" + html_escaped(found->problem) + "</p>\n";
  const auto linked = [&](const ui::LessonQuestion& q, std::size_t i) {
    return linked_number(q, short_number(found->table.cells[i].mean), found->table.measure);
  };
  if (found->table.axes.empty()) return "<p><strong>" + linked(question, 0) + "</strong></p>\n";
  const bool greatest = written(quiz, "best") == "greatest";
  const auto by_number = [&](const ui::SweepCell& p) { return greatest ? -p.mean : p.mean; };
  const auto best =
      static_cast<std::size_t>(std::ranges::min_element(found->table.cells, {}, by_number) - found->table.cells.begin());
  std::string html = "<p><strong>" + html_escaped(found->table.axes[0].names[best]) + "</strong>. " +
                     html_escaped(found->table.measure) + ":</p>\n<ul>\n";
  for (std::size_t i = 0; i < found->table.cells.size(); ++i)
    html += "<li>" + html_escaped(found->table.axes[0].names[i]) + ": " + linked(question_of(*found, i), i) + "</li>\n";
  return html + "</ul>\n";
}

/// The choices: "hw, tile, eager".
std::string choices_html(const ui::LessonView& quiz) {
  const std::string_view vary = written(quiz, "vary");
  std::string choices;
  for (const std::string_view choice : attoscope::split(vary.substr(std::min(vary.find('=') + 1, vary.size())), ","))
    choices.append(choices.empty() ? "" : ", ").append(choice);
  return choices.empty() ? "" : " <em>(" + html_escaped(choices) + ")</em>";
}

std::string quiz_html(const ui::LessonView& quiz, const AnswerLesson& answer) {
  return "<details>\n<summary>" + html_escaped(written(quiz, "question")) + choices_html(quiz) + "</summary>\n" +
         answer_html(quiz, answer) + "<p>" + html_escaped(written(quiz, "explanation")) + "</p>\n</details>\n";
}

/// The lines of an exercise with blanks, or with their solutions.
std::string lines_html(const ui::Exercise& x, bool solved) {
  std::string text;
  for (const ui::ExerciseLine& line : x.lines) {
    const std::string filling = line.blank < 0 ? "" : solved ? x.blanks[static_cast<std::size_t>(line.blank)].solution : "____";
    text += line.before + filling + line.after + "\n";
  }
  return text.empty() ? "" : "<pre><code>" + html_escaped(text) + "</code></pre>\n";
}

/// "70000 (value 0.5), ...": the row of an order or format exercise.
std::string row_html(const ui::Exercise& x) {
  std::string text;
  for (std::size_t j = 0; j < x.row.scores.size(); ++j)
    text += fmt::format("{}{} (value {})", j == 0 ? "" : ", ", short_number(x.row.scores[j]), short_number(x.row.values[j]));
  return "<p>Scores: " + text + ".</p>\n";
}

std::string paragraph(const std::string& text) { return "<p>" + html_escaped(text) + "</p>\n"; }

/// The order with the largest error, as scores.
std::string order_html(const ui::Exercise& x, const AnswerLesson& answer) {
  const ui::LessonAnswerPtr found = answer(order_question(x));
  if (!found->problem.empty() || found->table.axes.empty()) return paragraph(found->problem);
  const std::vector<int> order = ui::order_of(found->table.axes[0].names[0], x.row.scores.size());
  std::string scores;
  for (const int key : order)
    scores += (scores.empty() ? "" : ", ") + short_number(x.row.scores[static_cast<std::size_t>(key)]);
  return "<p><strong>" + scores + "</strong></p>\n" +
         paragraph(judge_order(x, row_in_order(step_experiment(x.row), order), found->number()).sentence);
}

std::string formats_html(const ui::Exercise& x) {
  std::string html = "<ul>\n";
  for (const Format& f : x.formats) html += "<li>" + html_escaped(judge_format(x, name(f)).sentence) + "</li>\n";
  return html + "</ul>\n";
}

std::string exercise_html(const ui::LessonView& view, const AnswerLesson& answer) {
  const ui::Exercise x = exercise_of(view);
  const bool has_blanks = x.kind == ui::ExerciseKind::blanks;
  const std::string asked = has_blanks ? lines_html(x, false) : row_html(x);
  std::string solved = has_blanks ? lines_html(x, true) : "";
  if (x.kind == ui::ExerciseKind::order) solved = order_html(x, answer);
  if (x.kind == ui::ExerciseKind::format) solved = formats_html(x);
  return paragraph(x.question) + asked + "<details>\n<summary>Answer</summary>\n" + solved +
         (x.explanation.empty() ? "" : paragraph(x.explanation)) + "</details>\n";
}

/// True for steppers, of which a page shows several steps.
bool has_parts(const ui::LessonView& view) {
  const bool steps = view.kind == ui::LessonViewKind::recurrence || written(view, "kind") == "loop";
  return steps && written(view, "at").empty();
}

/// A picture in both themes and, if it exists, in the narrow width for phones.
std::string picture_html(const ui::Lesson& lesson, const PageView& view, const std::string& description) {
  std::string sources;
  const auto add = [&](const PageView& v, const char* width) {
    for (const ui::Theme theme : {ui::Theme::dark, ui::Theme::light})
      sources += fmt::format("<source media=\"{}(prefers-color-scheme: {})\" srcset=\"{}\">", width,
                             theme == ui::Theme::dark ? "dark" : "light", view_picture_name(lesson, v, theme));
  };
  if (!view.narrow) add({view.view, view.part, true}, "(max-width: 600px) and ");
  add(view, "");
  return fmt::format("<picture>{}<img src=\"{}\" alt=\"{}\" loading=\"lazy\"></picture>", sources,
                     view_picture_name(lesson, view, ui::Theme::light), html_escaped(description));
}

/// A link that opens a lesson's step in the program, with interactive views.
std::string step_link(const ui::Lesson& lesson, int step) {
  ui::Session session;
  session.view.workspace = ui::Workspace::learn;
  session.lesson.name = lesson.name;
  session.lesson.step = step;
  return link_url({.files = {}, .settings = {}, .session = short_session_text(session)});
}

/// The step's session in the form that the browser's window takes.
std::string page_session(const ui::Lesson& lesson, int step) {
  const std::string link = step_link(lesson, step);
  return link.substr(link.find('=') + 1);
}

std::string figure_html(const ui::Lesson& lesson, int step, const ui::LessonView& view, const SummaryOfView& summary) {
  std::string html = has_parts(view) ? "<figure class=\"strip\">" : "<figure>";
  for (const PageView& v : pictures_of(view)) {
    if (v.narrow && !has_parts(view)) continue;
    const std::string line = summary(v), picture = picture_html(lesson, v, description_of(view, line));
    html += has_parts(view) ? "<div>" + picture + "<p class=\"part\">" + html_escaped(ui::as_sentence(line)) + "</p></div>"
                            : picture;
  }
  return html + "<figcaption>" + html_escaped(caption_of(view)) + " <a href=\"" + html_escaped(step_link(lesson, step)) +
         "\">Open this step in Attoscope.</a></figcaption></figure>\n";
}

std::string block_html(const ui::Lesson& lesson, int step, const ui::LessonBlock& block, const AnswerLesson& answer,
                       const SummaryOfView& summary) {
  if (block.view.empty())
    return html_of(block.markdown, [&](int i) {
      return i >= 0 && i < static_cast<int>(block.numbers.size())
                 ? number_html(block.numbers[static_cast<std::size_t>(i)], answer)
                 : std::string();
    });
  const ui::LessonView& view = block.view.front();
  if (!view.problem.empty()) return "<p>" + html_escaped(view.problem) + "</p>\n";
  if (view.kind == ui::LessonViewKind::exercise) return exercise_html(view, answer);
  return view.kind == ui::LessonViewKind::quiz ? quiz_html(view, answer) : figure_html(lesson, step, view, summary);
}

std::string turning(const ui::Lessons& lessons, std::size_t index) {
  std::string html = "<nav><a href=\"index.html\">all lessons</a>";
  if (index > 0)
    html += " · <a href=\"" + file_of(lessons[index - 1]) + "\">‹ " + html_escaped(lessons[index - 1].title) + "</a>";
  if (index + 1 < lessons.size())
    html += " · <a href=\"" + file_of(lessons[index + 1]) + "\">" + html_escaped(lessons[index + 1].title) + " ›</a>";
  return html + "</nav>\n";
}

std::string needs_html(const ui::Lesson& lesson) {
  return lesson.needs.empty() ? "" : "<p class=\"part\">" + html_escaped(lesson.needs) + "</p>\n";
}

/// All pictures of a lesson.
std::vector<PageView> pictures_of(const ui::Lesson& lesson) {
  std::vector<PageView> views;
  for (const ui::LessonStep& step : lesson.steps)
    for (const ui::LessonBlock& block : step.blocks)
      if (!block.view.empty() && block.view.front().problem.empty())
        std::ranges::copy(app::pictures_of(block.view.front()), std::back_inserter(views));
  return views;
}

}  // namespace

std::vector<PageView> pictures_of(const ui::LessonView& view) {
  if (is_question(view.kind)) return {};
  if (!has_parts(view)) return {{view, ui::page_parts, false}, {view, ui::page_parts, true}};
  std::vector<PageView> parts;
  for (int part = 1; part <= ui::page_parts; ++part) parts.push_back({view, part, true});
  return parts;
}

std::string view_picture_name(const ui::Lesson& lesson, const PageView& view, ui::Theme theme) {
  const std::string which = has_parts(view.view) ? fmt::format("-step{}", view.part) : view.narrow ? "-narrow" : "";
  return fmt::format("{}-{}{}-{}.png", lesson.name, view.view.index + 1, which, theme == ui::Theme::dark ? "dark" : "light");
}

ui::Session session_of(const ui::LessonQuestion& question) {
  ui::Session session;
  Experiment& e = session.experiment = question.experiment;
  Input read = e.problem.input;
  load_tensors(read);
  if (read.tensors) e.problem = fitted(e.problem, read.tensors->shape());
  if (own_numbers(question.measure) == &train_numbers) {
    session.train = train_number_plan(question.measure, e);
    session.view.workspace = ui::Workspace::train;
  } else if (own_numbers(question.measure) == &sum_numbers) {
    const std::string gpu = question.measure.substr(sum_numbers.prefix.size());
    vary_in_lesson(e, "accumulator", gpu.substr(0, gpu.find('.')));
  } else if (own_numbers(question.measure) == &model_numbers) {
    session.model.checkpoint = session.model.file = std::string(ui::random_name) + std::to_string(e.problem.seed);
    session.model.text = ui::ModelText::file;
    session.model.limit = e.problem.n;
    session.view.workspace = ui::Workspace::model;
  }
  return session;
}

std::string lesson_page(const ui::Lessons& lessons, std::size_t index, const AnswerLesson& answer,
                        const SummaryOfView& summary) {
  const ui::Lesson& lesson = lessons[index];
  std::string body = turning(lessons, index) + "<h1>" + html_escaped(lesson.title) + "</h1>\n" + needs_html(lesson);
  for (int i = 0; const ui::LessonStep& step : lesson.steps) {
    body += "<section data-session=\"" + page_session(lesson, i) + "\">\n<h2>" + html_escaped(step.title) + "</h2>\n";
    for (const ui::LessonBlock& block : step.blocks) body += block_html(lesson, i, block, answer, summary);
    body += "</section>\n";
    ++i;
  }
  return page(lesson.title, body + turning(lessons, index));
}

std::string lessons_index(const ui::Lessons& lessons) {
  std::string body =
      "<h1>Lessons of Attoscope</h1>\n<p>Every number was computed when these pages were written, by "
      "attoscope " ATTOSCOPE_VERSION
      ". If that program is installed, a number is a link to its setting, and a picture has a link to its step, where it "
      "moves; here the pictures are still. If the pages are served from a folder inside the one of "
      "<code>app/package --web</code>, each step runs in its page.</p>\n<ol>\n";
  for (const ui::Lesson& lesson : lessons)
    body += "<li><a href=\"" + file_of(lesson) + "\">" + html_escaped(lesson.title) + "</a>" + needs_html(lesson) + "</li>\n";
  return page("Lessons of Attoscope", body + "</ol>\n");
}

void write_lesson_pages(const std::string& directory, std::ostream& out, const Cancelled& cancelled) {
  const ui::Lessons lessons = read_lessons(lessons_directory());
  if (lessons.empty()) throw std::runtime_error("there are no lessons: assets/lessons was not installed with the program");
  StagedFiles files;
  files.make_directory(directory);
  const auto place = [&](const std::string& name) { return (fs::path(directory) / name).string(); };
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    ui::LessonAnswers known;  // kept for one lesson only: each holds whole results
    ComputeCache cache;
    const AnswerLesson find = [&](const ui::LessonQuestion& q) {
      if (cancelled && cancelled()) throw Stopped();
      if (ui::LessonAnswerPtr before = answer_of(&known, q)) return before;
      return known.emplace_back(std::make_shared<const ui::LessonAnswer>(answer(q, {.cancelled = cancelled, .cache = &cache})));
    };
    const std::vector<PageView> views = pictures_of(lessons[i]);
    std::map<std::string, std::string> summary;
    for (const ui::Theme theme : themes) {
      const std::vector<PagePicture> pictures = render_views(views, theme, find);
      for (std::size_t v = 0; v < views.size(); ++v) {
        files.add(place(view_picture_name(lessons[i], views[v], theme)), to_png(pictures[v].picture));
        summary[view_picture_name(lessons[i], views[v], ui::Theme::light)] = pictures[v].summary;
      }
    }
    const auto summary_of = [&](const PageView& v) { return summary[view_picture_name(lessons[i], v, ui::Theme::light)]; };
    files.add(place(file_of(lessons[i])), lesson_page(lessons, i, find, summary_of));
    out << lessons[i].name << ": " << views.size() << " pictures in two themes\n" << std::flush;
  }
  files.add(place("index.html"), lessons_index(lessons));
  files.commit();
  out << place("index.html") << "\n";
}

}  // namespace attoscope::app
