// The lessons as static pages: text, formulas, numbers and the names of pictures.
#include "app/explore/lesson_pages.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/explore/lessons.h"
#include "app/explore/render.h"
#include "app/link/link.h"
#include "app/model/model_files.h"
#include "app/model/model_plan.h"
#include "app/session/session.h"
#include "app/words/mathml.h"
#include "tests/app/lesson_prose.h"
#include "tests/app/outcome.h"
#include "tests/app/own_cache.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "ui/frame/panel_input.h"
#include "ui/widgets/widgets.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

std::string plain_html(std::string_view markdown) {
  return html_of(markdown, [](int i) { return "#" + std::to_string(i); });
}

TEST(MathMl, WritesWhatLessonsUse) {
  EXPECT_EQ(mathml("x", false), "<math><mrow><mi>x</mi></mrow></math>");
  EXPECT_THAT(mathml("\\frac{a}{b}", true), AllOf(HasSubstr("display=\"block\""), HasSubstr("<mfrac><mrow><mi>a</mi></mrow>")));
  EXPECT_THAT(mathml("m_{i-1}", false), HasSubstr("<msub><mi>m</mi><mrow><mi>i</mi><mo>−</mo><mn>1</mn></mrow></msub>"));
  EXPECT_THAT(mathml("\\sum_{j=1}^N", false), HasSubstr("<munderover><mo>∑</mo>"));
  EXPECT_THAT(mathml("\\tilde o_i", false), HasSubstr("<msub><mover><mi>o</mi><mo>~</mo></mover><mi>i</mi></msub>"));
  EXPECT_THAT(mathml("\\left( x \\right) < 1", false),
              HasSubstr("<mo>(</mo><mrow><mi>x</mi></mrow><mo>)</mo></mrow><mo>&lt;</mo>"));
  EXPECT_THAT(mathml("\\mathrm{ulp}(x)", false), HasSubstr("<mi>ulp</mi>"));
  EXPECT_THAT(mathml("\\text{scale } x", false), HasSubstr("<mtext>scale&#160;</mtext><mi>x</mi>"));
}

TEST(MathMl, NamesWhatItDoesNotKnow) {
  for (const char* const bad : {"\\foo", "{a", "a}", "x_", "\\frac{a}", "#"})
    EXPECT_THAT(sentence_of<std::invalid_argument>([&] { mathml(bad, false); }), HasSubstr(bad)) << bad;
}

TEST(Html, OfMarkdown) {
  EXPECT_EQ(plain_html("One *two* **three** `<4>`\n"),
            "<p>One <em>two</em> <strong>three</strong> <code>&lt;4&gt;</code></p>\n");
  EXPECT_EQ(plain_html("- a\n- b\n  c\n"), "<ul>\n<li>a</li>\n<li>b\n  c</li>\n</ul>\n");
  EXPECT_EQ(plain_html("| a | $x|$ |\n|---|---:|\n| `b|` | <num3/> |\n"),
            "<div class=\"table\"><table>\n<tr><th>a</th><th class=\"right\">" + mathml("x|", false) +
                "</th></tr>\n<tr><td><code>b|</code></td><td class=\"right\">#3</td></tr>\n</table></div>\n");
  EXPECT_EQ(plain_html("```sh\na < b\n```\n"), "<pre><code>a &lt; b\n</code></pre>\n");
  EXPECT_EQ(plain_html("[a](b.html)\n\n$$x$$\n"),
            "<p><a href=\"b.html\">a</a></p>\n<div class=\"formula\"><span>" + mathml("x", true) + "</span></div>\n");
  EXPECT_EQ(plain_html("> Drag *it*,\n> far.\n\na\n> Drop it.\n"), "<p>a</p>\n") << "a paragraph about controls is left out";
  EXPECT_EQ(plain_html("2 * 3 and a lone $ and [x\n"), "<p>2 * 3 and a lone $ and [x</p>\n");
}

TEST(Html, IsValidUtf8) {
  EXPECT_EQ(html_escaped("\xc3\xa4<\xff\xc3>\n"), "\xc3\xa4&lt;??&gt;\n");
  EXPECT_EQ(plain_html("é → *ü* [\n"), "<p>é → <em>ü</em> [</p>\n");
}

TEST(Html, PartsOfFormulasGoBelowEachOther) {
  EXPECT_EQ(plain_html("$$a = \\frac{b = c}{d} \\le e, \\qquad (f = g) \\approx h$$\n"),
            "<div class=\"formula\"><span>" + mathml("a = \\frac{b = c}{d} ", true) + "</span><span>" +
                mathml("\\le e, ", true) + "</span><span class=\"apart\">" + mathml(" (f = g) \\approx h", true) +
                "</span></div>\n");
}

Lesson resolved(const std::string& name, const std::string& text) {
  Lesson lesson = parse_lesson(name, text);
  resolve(lesson);
  return lesson;
}

/// A stand-in answer: 0.5 for every question.
LessonAnswerPtr half(const LessonQuestion& question) {
  LessonAnswer a{.question = question};
  a.table.measure = "made up";
  for (const double x : {0.5, 0.25, 1.0}) a.table.cells.push_back({.count = 1, .mean = x});
  if (!question.vary.empty())
    a.table.axes = {{.key = "format", .title = "format", .names = {"bf16", "tf32", "fp16"}, .numbers = {}}};
  return std::make_shared<const LessonAnswer>(std::move(a));
}

std::string says_nothing(const PageView&) { return ""; }

/// A shipped lesson, and its page with made-up numbers.
struct ShippedPage {
  Lesson lesson;
  std::string html;
};
const std::vector<ShippedPage>& shipped_pages() {
  static const std::vector<ShippedPage> all = [] {
    std::vector<ShippedPage> pages;
    const Lessons& lessons = shipped_lessons();
    for (std::size_t i = 0; i < lessons.size(); ++i) pages.push_back({lessons[i], lesson_page(lessons, i, half, says_nothing)});
    return pages;
  }();
  return all;
}

/// All that a pattern's first group matches.
std::vector<std::string> all_of(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i) found.push_back((*i)[1].str());
  return found;
}

bool is_sentence(const std::string& text) {
  return text.size() > 20 && std::isupper(static_cast<unsigned char>(text[0])) != 0 && text.ends_with('.') &&
         text.find(' ') != std::string::npos;
}

TEST(LessonPages, HoldTextNumbersQuestionsAndPictures) {
  const Lesson lesson = resolved(
      "07-x",
      "# T & U\n\nNeeds lesson 2. Takes 9 minutes.\n\n## S?\n\nIt is [1.5](live:a.mean_abs) $x$.\n\n```heatmap\nfield: "
      "a_error\n```\n\n"
      "```quiz\nquestion: Which?\nvary: format=bf16,tf32,fp16\nmeasure: a.rms\nbest: least\nexplanation: So.\n```\n\n"
      "```quiz\nquestion: How much?\nask: number\nequals: 7\nexplanation: Seven.\n```\n");
  const std::string html = lesson_page({lesson}, 0, half, says_nothing);
  EXPECT_THAT(
      html,
      AllOf(HasSubstr("<h1>T &amp; U</h1>\n<p class=\"part\">Needs lesson 2. Takes 9 minutes.</p>"), HasSubstr("<h2>S?</h2>"),
            ContainsRegex(
                "<a class=\"live a\" href=\"attoscope:open[?]session=[-_A-Za-z0-9]+\" title=\"Made up[.] [^\"]*\">0.5</a>"),
            HasSubstr("<math>")));
  EXPECT_THAT(lessons_index({lesson}), HasSubstr("Takes 9 minutes."));
  EXPECT_THAT(html, AllOf(HasSubstr("srcset=\"07-x-1-dark.png\""), HasSubstr("src=\"07-x-1-light.png\""),
                          HasSubstr("07-x-1-narrow-dark.png"),
                          HasSubstr("alt=\"The heat map shows a - golden, a row for each query.\"")));
  EXPECT_THAT(html,
              AllOf(HasSubstr("Which? <em>(bf16, tf32, fp16)</em>"), HasSubstr("<strong>tf32</strong>"),
                    ContainsRegex("<li>fp16: <a [^>]*>1</a></li>"), HasSubstr("<strong>7</strong>"), HasSubstr("Seven.")));
}

TEST(LessonPages, OfTheShippedLessonsNeedNoNetwork) {
  const std::string index = lessons_index(shipped_lessons());
  std::set<std::string> pictures;
  for (const auto& [lesson, html] : shipped_pages()) {
    for (const char* const outside : {"<script src", "src=\"http", "srcset=\"http", "@import", "url("})
      EXPECT_THAT(html, Not(HasSubstr(outside))) << lesson.name;
    EXPECT_THAT(html, Not(HasSubstr("$"))) << lesson.name << ": a formula is left";
    EXPECT_THAT(html, Not(HasSubstr("live:"))) << lesson.name;
    for (const LessonView& view : views_of(lesson))
      for (const PageView& picture : pictures_of(view))
        for (const Theme theme : {Theme::light, Theme::dark}) {
          const std::string name = view_picture_name(lesson, picture, theme);
          EXPECT_TRUE(pictures.insert(name).second) << name;
          EXPECT_THAT(html, HasSubstr(name));
        }
    const std::regex steps("<section data-session=\"[-_A-Za-z0-9]+\">");
    EXPECT_EQ(std::distance(std::sregex_iterator(html.begin(), html.end(), steps), {}), std::ssize(lesson.steps));
    EXPECT_THAT(index, HasSubstr(lesson.name + ".html"));
  }
}

/// No sentence of a page tells the reader to use a control: pages have none.
TEST(LessonPages, SpeakOfNoControls) {
  const std::regex controls(
      "[^.]*\\b(Move|Drag|drag|Click|click|Choose|Type|Step through|Step to|Set the|Use the|Change N|slider)\\b[^.]*[.]");
  for (const auto& [lesson, html] : shipped_pages()) {
    const std::string text = std::regex_replace(html.substr(html.find("<h1>")), std::regex("<[^>]*>"), "");
    std::smatch found;
    EXPECT_FALSE(std::regex_search(text, found, controls)) << lesson.name << ": " << found.str();
  }
}

TEST(LessonPages, SpeakInSentencesAndFitAPhone) {
  const Lessons& lessons = shipped_lessons();
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const std::string html = lesson_page(lessons, i, half, [](const PageView&) { return "it says so"; });
    const std::vector<std::string> alts = all_of(html, "<img [^>]*alt=\"([^\"]*)\""), figures = all_of(html, "(<figure)");
    EXPECT_EQ(alts.size(), all_of(html, "(<img )").size());
    for (const std::string& alt : alts) EXPECT_TRUE(is_sentence(alt)) << lessons[i].name << ": " << alt;
    const std::vector<std::string> captions =
        all_of(html, "<figcaption>([^<]*[.]) <a href=\"attoscope:open[?]session=[-_\\w]+\">");
    EXPECT_EQ(captions.size(), figures.size()) << lessons[i].name;
    for (const std::string& caption : captions) EXPECT_TRUE(is_sentence(caption)) << lessons[i].name << ": " << caption;
    EXPECT_EQ(all_of(html, "(<table>)").size(), all_of(html, "(<div class=\"table\"><table>)").size()) << lessons[i].name;
    for (const char* const scrolled : {"pre, details", "[.]table", "[.]formula span"})
      EXPECT_EQ(all_of(html, std::string(scrolled) + " [{][^}]*(overflow-x: auto)").size(), 1U) << scrolled;
    for (const std::string& width : all_of(html, "[^-](?:min-)?width: ([0-9.]+(?:px|rem|em))")) ADD_FAILURE() << width;
  }
}

TEST(LessonPages, EachNumberLinksToItsSetting) {
  for (const auto& [lesson, html] : shipped_pages()) {
    const std::vector<LessonNumber> numbers = numbers_of(lesson);
    const std::vector<std::string> links = all_of(html, "<a class=\"live[^\"]*\" href=\"([^\"]*)\"");
    EXPECT_GE(links.size(), numbers.size()) << lesson.name;
    const std::set<std::string> known(links.begin(), links.end());
    for (const LessonNumber& number : numbers) {
      const LessonQuestion& q = number.question;
      const Session session = session_of(q);
      const std::string link = link_url({.files = {}, .settings = {}, .session = short_session_text(session)});
      EXPECT_TRUE(known.contains(link)) << q.measure;
      EXPECT_LT(link.size(), 1200u) << q.measure;
      std::vector<std::string> remarks;
      const Session read = parse_session(parse_link_url(link).session, remarks);
      EXPECT_TRUE(read == session) << lesson.name << ": " << q.measure << ": " << parse_link_url(link).session;
      EXPECT_TRUE(remarks.empty()) << remarks.front();
    }
  }
}

TEST(LessonPages, NumbersOfAModelOpenItsWeightsAndTokensInModel) {
  const auto asked = [](const std::string& measure) { return parse_live(measure + "?n=40&policy=all_direct&seed=7"); };
  const LessonQuestion q = asked("model.a.dlogp_median_abs");
  const Session session = session_of(q);
  EXPECT_EQ(session.view.workspace, Workspace::model);
  EXPECT_EQ(session.model.checkpoint, "random:7");
  EXPECT_EQ(session.model.file, "random:7");
  EXPECT_EQ(session.experiment, q.experiment);
  const ModelView shown = computed_model(session);
  ASSERT_EQ(shown.reading->wrong, "");
  EXPECT_EQ(shown.reading->tokens.size(), 40U);
  EXPECT_EQ(shown.reading->name, "random weights of seed 7");
  EXPECT_THAT(shown.reading->about, StartsWith("not a trained model: 4 layers of 4 heads"));
  ASSERT_TRUE(shown.found) << shown.progress.remark;
  const auto cell = [&](std::size_t row, std::string_view key) {
    const auto& columns = shown.found->runs.columns;
    const auto at = std::ranges::find(columns, key, &ColumnHeading::key) - columns.begin();
    return std::get<double>(shown.found->runs.rows[row][static_cast<std::size_t>(at)]);
  };
  const auto number = [&](const std::string& measure) { return answer(asked(measure), {}).number(); };
  EXPECT_EQ(cell(1, "dlogp_median_abs"), number("model.a.dlogp_median_abs"));
  EXPECT_EQ(cell(4, "dlogp_max_abs"), number("model.bf16.dlogp_max_abs"));
  EXPECT_EQ(shown.found->answer->layers[3].a, number("model.hidden.3"));
}

TEST(LessonPages, SharesOfAModelAreThoseOfTheirSession) {
  const OwnCache cache;
  const LessonQuestion q = parse_live("model.share.1?n=24&seed=5");
  const Session session = session_of(q);
  const ModelView shown = computed_model(session);
  ASSERT_TRUE(shown.found) << shown.reading->wrong;
  const ModelShares shares = attributed(shown.found, ModelPart::layer, read_language_model(session.model.checkpoint), {});
  const auto& parts = shares.answer->attribution;
  const auto second = std::ranges::find(parts, 1, &ModelShare::layer);
  ASSERT_NE(second, parts.end());
  EXPECT_EQ(second->share, answer(q, {}).number());
}

/// Views of every kind with all their controls: the language and the lines of the block.
constexpr std::pair<const char*, const char*> every_view[] = {
    {"recurrence", "scores: 1 3 2 5\nalgorithms: two_pass, flash2\nblock_k: 2\n"},
    {"code", "algorithm: flash2\n"},
    {"bits", "value: 0.1\nformats: fp16, bf16\n"},
    {"bits", "storage: int8/token\nnumbers: 1, 2, 3\noutlier: 4\n"},
    {"heatmap", "n: 64\ncontrols: n, format, policy, input, scaling.K, a.scaling.hadamard, a.O\n"},
    {"policy", "n: 64\nblock_k: 16\n"},
    {"sum",
     "gpu: h100\na: 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2\n"
     "b: 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2\n"},
    {"plot", "kind: loop\nn: 64\n"},
    {"plot", "kind: bytes\nover: M\n"},
    {"plot", "kind: exp\n"},
    {"plot", "kind: staircase\ncontrols: format\n"},
    {"plot", "kind: trace\nn: 64\nblock_k: 16\ncontrols: mask, block_k\n"},
    {"plot", "kind: sweep\nn: 64\nvary: block_k=16:64:x2\ncontrols: seed\n"}};

Lesson lesson_of_every_view() {
  std::string text = "# T\n## S\n";
  for (const auto& [language, lines] : every_view) text += std::string("```") + language + "\n" + lines + "```\n";
  return resolved("x", text);
}

std::vector<PageView> pictures_of(const Lesson& lesson) {
  std::vector<PageView> all;
  for (const LessonView& view : views_of(lesson))
    for (const PageView& picture : app::pictures_of(view)) all.push_back(picture);
  return all;
}

LessonAnswerPtr computed(const LessonQuestion& question) { return std::make_shared<const LessonAnswer>(answer(question, {})); }

TEST(LessonPages, PaintNoControls) {
  const std::vector<PageView> views = pictures_of(lesson_of_every_view());
  constexpr std::size_t steppers = 2;  // in as many parts; the others are wide and narrow
  ASSERT_EQ(views.size(), steppers * page_parts + (std::size(every_view) - steppers) * 2);
  for (const LessonViewInfo& info : lesson_views) {
    const auto is_of_it = [&](const PageView& v) { return v.view.kind == info.kind; };
    EXPECT_TRUE(is_question(info.kind) || std::ranges::any_of(views, is_of_it)) << "every_view lacks " << info.name;
  }
  const int before = controls_drawn();
  const std::vector<PagePicture> pictures = render_views(views, Theme::light, computed);
  EXPECT_EQ(controls_drawn(), before);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const LessonView& view = views[i].view;
    EXPECT_TRUE(view.problem.empty()) << view.problem;
    EXPECT_EQ(pictures[i].summary.empty(), view.kind == LessonViewKind::code) << name(view.kind) << " " << pictures[i].summary;
    EXPECT_LE(pictures[i].picture.width, views[i].narrow ? 640 : 1320);
    EXPECT_LT(pictures[i].picture.height, views[i].narrow ? 2500 : 1600) << "the background around the picture must be cropped";
  }
}

/// The pictures of a stepper show different steps; the last picture shows the last step.
TEST(LessonPages, SteppersAreShownAtSeveralSteps) {
  std::vector<PageView> views = pictures_of(lesson_of_every_view());
  views.resize(page_parts);
  std::set<std::string> summary;
  const std::vector<PagePicture> pictures = render_views(views, Theme::dark, computed);
  for (const PagePicture& p : pictures) summary.insert(p.summary);
  EXPECT_EQ(summary.size(), 4u);
  EXPECT_THAT(pictures.front().summary, Not(HasSubstr("Step 0 of")));
  EXPECT_THAT(pictures.back().summary, HasSubstr("after the last score"));
}

TEST(LessonPages, DrawEachViewAlone) {
  const std::vector<PageView> views =
      pictures_of(resolved("x", "# T\n## S\n```plot\nkind: loop\nn: 64\nat: 1\n```\n\n```bits\nvalue: 0.1\n```\n"));
  ASSERT_EQ(views.size(), 4u);
  const std::vector<PagePicture> light = render_views(views, Theme::light, computed),
                                 dark = render_views(views, Theme::dark, computed);
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_GT(light[i].picture.width, 400);
    EXPECT_GT(light[i].picture.height, 100);
    EXPECT_GT(light[i].picture.rgb[0], 200);
    EXPECT_LT(dark[i].picture.rgb[0], 80);
  }
}

TEST(LessonPages, ACancelledWriterLeavesNothing) {
  const TemporaryDirectory scratch;
  std::ostringstream out;
  EXPECT_THROW(write_lesson_pages(scratch / "pages", out, [] { return true; }), Stopped);
  EXPECT_EQ(scratch.count(), 0);
}

TEST(LessonPages, CommandSaysWhatIsMissing) {
  expect_refused({"lessons"}, 2, "--html is required");
  expect_refused({"lessons", "--html", ""}, 2, "--html is '', expected a directory");
  expect_refused({"lessons", "--html", "/dev/null/pages"}, 1, "/dev/null: cannot be made a directory");
}

}  // namespace
}  // namespace attoscope
