// The lessons as static pages: text, formulas, numbers and the names of pictures.
#include "app/explore/lesson_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "app/explore/lessons.h"
#include "app/explore/render.h"
#include "app/words/html.h"
#include "app/words/mathml.h"
#include "tests/app/outcome.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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
            "<table>\n<tr><th>a</th><th class=\"right\">" + mathml("x|", false) +
                "</th></tr>\n<tr><td><code>b|</code></td><td class=\"right\">#3</td></tr>\n</table>\n");
  EXPECT_EQ(plain_html("```sh\na < b\n```\n"), "<pre><code>a &lt; b\n</code></pre>\n");
  EXPECT_EQ(plain_html("[a](b.html)\n\n$$x$$\n"),
            "<p><a href=\"b.html\">a</a></p>\n<div class=\"formula\">" + mathml("x", true) + "</div>\n");
  EXPECT_EQ(plain_html("2 * 3 and a lone $ and [x\n"), "<p>2 * 3 and a lone $ and [x</p>\n");
}

/// Numbers that nobody computed: 0.5 for every question.
LessonAnswerPtr half(const LessonQuestion& question) {
  LessonAnswer a{.question = question};
  a.title = "made up";
  a.points = {{0.5, 0}, {0.25, 0}, {1, 0}};
  if (!question.vary.empty())
    a.axes = {{.key = "format", .title = "format", .numeric = false, .values = {"x", "y", "z"}, .numbers = {}}};
  return std::make_shared<const LessonAnswer>(std::move(a));
}

TEST(LessonPages, HoldTextNumbersQuestionsAndPictures) {
  Lesson lesson =
      parse_lesson("07-x",
                   "# T & U\n\n## S?\n\nIt is [1.5](live:a.mean_abs) $x$.\n\n```heatmap\nfield: a_error\n```\n\n"
                   "```quiz\nquestion: Which?\nvary: format=x,y,z\nmeasure: a.rms\nbest: least\nexplanation: So.\n```\n\n"
                   "```quiz\nquestion: How much?\nask: number\nequals: 7\nexplanation: Seven.\n```\n");
  const std::string html = lesson_page({lesson}, 0, half);
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>T &amp; U</h1>"), HasSubstr("<h2>S?</h2>"),
                          HasSubstr("<span class=\"live a\" title=\"a.mean_abs\">0.5</span>"), HasSubstr("<math>")));
  EXPECT_THAT(html, AllOf(HasSubstr("srcset=\"07-x-1-dark.png\""), HasSubstr("src=\"07-x-1-light.png\""),
                          HasSubstr("alt=\"heatmap, field a_error\"")));
  EXPECT_THAT(html, AllOf(HasSubstr("Which? <em>(x, y, z)</em>"), HasSubstr("<strong>y</strong>"), HasSubstr("<li>z: 1</li>"),
                          HasSubstr("<strong>7</strong>"), HasSubstr("Seven.")));
}

TEST(LessonPages, OfTheShippedLessonsNeedNoNetworkAndNoScript) {
  const Lessons lessons = read_lessons(lessons_directory());
  std::set<std::string> pictures;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    const std::string html = lesson_page(lessons, i, half);
    EXPECT_THAT(html, Not(HasSubstr("<script"))) << lessons[i].name;
    for (const char* const outside : {"src=\"http", "srcset=\"http", "@import", "url("})
      EXPECT_THAT(html, Not(HasSubstr(outside))) << lessons[i].name;
    EXPECT_THAT(html, Not(HasSubstr("$"))) << lessons[i].name << ": a formula is left";
    EXPECT_THAT(html, Not(HasSubstr("live:"))) << lessons[i].name;
    for (const LessonStep& step : lessons[i].steps)
      for (const LessonBlock& block : step.blocks)
        if (!block.view.empty() && is_drawn(block.view[0])) {
          for (const Theme theme : {Theme::light, Theme::dark}) {
            const std::string name = view_picture_name(lessons[i], block.view[0], theme);
            EXPECT_TRUE(pictures.insert(name).second) << name;
            EXPECT_THAT(html, HasSubstr(name));
          }
        }
    EXPECT_THAT(lessons_index(lessons), HasSubstr(lessons[i].name + ".html"));
  }
}

TEST(LessonPages, DrawEachViewAlone) {
  Lesson lesson = parse_lesson("x", "# T\n## S\n```plot\nkind: loop\nn: 64\n```\n\n```bits\nvalue: 0.1\n```\n");
  resolve(lesson);
  const std::array views{lesson.steps[0].blocks.at(0).view.at(0), lesson.steps[0].blocks.at(1).view.at(0)};
  const std::vector<Picture> light = render_views(views, Theme::light), dark = render_views(views, Theme::dark);
  ASSERT_EQ(light.size(), 2u);
  for (std::size_t i = 0; i < views.size(); ++i) {
    EXPECT_GT(light[i].width, 400);
    EXPECT_GT(light[i].height, 100);
    EXPECT_LT(light[i].height, 1600) << "the ground around it is cut off";
    EXPECT_GT(light[i].rgb[0], 200);
    EXPECT_LT(dark[i].rgb[0], 80);
  }
}

TEST(LessonPages, CommandSaysWhatIsMissing) {
  expect_refused({"lessons"}, 2, "--html is required");
  expect_refused({"lessons", "--html", "/dev/null/pages"}, 1, "/dev/null: cannot be made a directory");
}

}  // namespace
}  // namespace attoscope
