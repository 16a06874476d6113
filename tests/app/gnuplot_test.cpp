// A gnuplot that never ends can be cancelled. Line styles for print, and TikZ.
#include "app/figures/gnuplot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "app/figures/bundle.h"
#include "app/figures/gnuplot_text.h"
#include "app/threads/job_queue.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/figure_support.h"
#include "tests/support/gnuplot_stand_in.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::app {
namespace {

using testing::TemporaryDirectory;

TEST(Gnuplot, IsKilledWhenNobodyWantsItsPicture) {
  const testing::GnuplotStandIn gnuplot("exec sleep 1000");
  EXPECT_THROW(drawn("", {"f.svg"}, [&] { return gnuplot.began(); }), Stopped);
  EXPECT_FALSE(gnuplot.runs());
}

/// Ctrl-C in a terminal ends gnuplot, too, by the signal or with a failure, and perhaps before this program looks.
TEST(Gnuplot, IsStoppedByASignalToBoth) {
  for (const std::string end : {"kill -TERM $$", "exit 1"}) {
    const testing::GnuplotStandIn gnuplot(end);
    EXPECT_THROW(drawn("", {"f.svg"}, [&] { return gnuplot.began(); }), Stopped) << end;
  }
  const testing::GnuplotStandIn alone("kill -TERM $$");
  EXPECT_THROW(drawn("", {"f.svg"}, [] { return false; }), Stopped);
}

TEST(Gnuplot, DoesNotKeepAQueueFromEnding) {
  const testing::GnuplotStandIn gnuplot("exec sleep 1000");
  {
    JobQueue jobs({});
    jobs.add([](const Cancelled& cancelled) { return drawn("", {"f.svg"}, cancelled)[0]; });
    ASSERT_TRUE(testing::eventually([&] { return gnuplot.began(); }));
  }
  EXPECT_FALSE(gnuplot.runs());
}

TEST(Gnuplot, IsStoppedByItsButton) {
  const testing::GnuplotStandIn gnuplot("exec sleep 1000");
  JobQueue jobs({});
  jobs.add([](const Cancelled& cancelled) { return drawn("", {"f.svg"}, cancelled)[0]; });
  ASSERT_TRUE(testing::eventually([&] { return gnuplot.began(); }));
  jobs.stop();
  EXPECT_EQ(testing::awaited(jobs).sentence, "Stopped before it was done; nothing was written.");
  EXPECT_FALSE(gnuplot.runs());
}

TEST(Gnuplot, DrawsInATemporaryDirectoryOfAnyName) {
  const TemporaryDirectory scratch;
  const std::string folder = scratch / "it's a \"$HOME\" \\n";
  std::filesystem::create_directory(folder);
  const testing::Environment there("TMPDIR", folder);
  const std::string picture = drawn("set terminal svg\nset output 'f.svg'\nplot x\n", {"f.svg"})[0];
  EXPECT_NE(picture.find("</svg>"), std::string::npos);
}

TEST(Gnuplot, NamesATemporaryDirectoryThatIsNone) {
  const testing::Environment none("TMPDIR", "/dev/null");
  EXPECT_EQ(testing::sentence_of([] { drawn("", {"f.svg"}); }), "TMPDIR is '/dev/null', expected a directory");
}

double linear(std::uint32_t byte) {
  const double c = byte / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

/// Lightness L* of a colour's luminance, as printed in grey.
double lightness(std::uint32_t rgb) {
  const double y = 0.2126 * linear(rgb >> 16) + 0.7152 * linear(rgb >> 8 & 255U) + 0.0722 * linear(rgb & 255U);
  return 116 * std::cbrt(y) - 16;
}

TEST(Print, SixSeriesStayApartInGrey) {
  for (int i = 0; i < 6; ++i)
    for (int k = 0; k < i; ++k) {
      const PrintLook x = print_look(static_cast<ui::Ink>(static_cast<int>(ui::Ink::one) + i)),
                      y = print_look(static_cast<ui::Ink>(static_cast<int>(ui::Ink::one) + k));
      EXPECT_GT(std::abs(lightness(x.colour) - lightness(y.colour)), 5) << i << " " << k;
      EXPECT_NE(x.mark, y.mark) << i << " " << k;
      EXPECT_STRNE(x.dash, y.dash) << i << " " << k;
      EXPECT_LT(lightness(x.colour), 80) << "visible on white paper";
    }
  const PrintLook a = print_look(ui::Ink::a), b = print_look(ui::Ink::b);
  EXPECT_GT(lightness(b.colour) - lightness(a.colour), 15) << "dots and bars differ by lightness alone";
  EXPECT_NE(a.mark, b.mark);
  for (const ui::Ink exact : {ui::Ink::golden, ui::Ink::three})  // of the run, and of a's distance from it
    EXPECT_NE(b.mark, print_look(exact).mark) << "the exact model is drawn with a and b";
  EXPECT_STRNE(a.dash, b.dash);
}

/// A figure of these series, each of three points.
Figure figure_of(std::vector<std::string> labels, double y, double step) {
  Figure f{.name = "f", .caption = {}, .panels = {{}}};
  f.panels[0].x = ui::number_axis("x_1 & 50 % of #2"), f.panels[0].y = ui::number_axis("mean |error| × 10² ≤ α");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    f.panels[0].series.push_back(
        ui::series_of(labels[i], ui::Ink::one, ui::Shape::line_and_marks, {1, 2, 3}, {y, y + step, y + 2 * step}));
    ui::take_turn(f.panels[0].series[i], i);
  }
  return f;
}

TEST(Gnuplot, LeavesTheOldFilesIfASignalEndsIt) {
  const testing::GnuplotStandIn gnuplot("kill -TERM $$");
  const TemporaryDirectory scratch;
  for (const char* const name : {"f.svg", "f.csv", "f.zip"}) scratch.write(name, "old");
  for (const char* const name : {"f.svg", "f.zip"})
    EXPECT_THROW(write_bundle(scratch / name, figure_of({"one"}, 1, 1), Json::object()), Stopped);
  for (const char* const name : {"f.svg", "f.csv", "f.zip"}) EXPECT_EQ(testing::bytes_of_file(scratch / name), "old") << name;
  EXPECT_EQ(scratch.count(), 3);
}

TEST(Print, EverySeriesHasADashOfItsOwnUnlessADashMeansSomething) {
  Figure f = figure_of({"one", "two", "three", "four", "five"}, 1, 1);
  const auto dashes = [&](const std::string& dash) {
    return testing::occurrences(gnuplot_script(f, PictureFormat::pdf, "f"), " dt " + dash + " ");
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(dashes(print_look(f.panels[0].series[static_cast<std::size_t>(i)].ink).dash), 1u) << i;
  f.panels[0].series[1].dashed = true;
  EXPECT_EQ(dashes("2"), 1u);
  EXPECT_EQ(dashes("1"), 4u) << "the other series stay solid";
}

TEST(Print, FurtherSeriesHaveOtherMarksAndDashes) {
  const Figure f = figure_of(std::vector<std::string>(18, "one"), 1, 1);
  const std::string script = gnuplot_script(f, PictureFormat::pdf, "f");
  const std::vector<ui::Series>& series = f.panels[0].series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const PrintLook x = print_look(series[i].ink, series[i].round);
    EXPECT_EQ(
        testing::occurrences(script, fmt::format("lc rgb {} lw 1.6 dt {} pt {} ps", gnuplot_colour(x.colour), x.dash, x.mark)),
        1u)
        << i;
    for (std::size_t k = i % 6; k < i; k += 6) {
      const PrintLook y = print_look(series[k].ink, series[k].round);
      EXPECT_EQ(x.colour, y.colour) << i << " " << k;
      EXPECT_NE(x.mark, y.mark) << i << " " << k;
      EXPECT_STRNE(x.dash, y.dash) << i << " " << k;
    }
  }
}

TEST(Print, ALogarithmicBarBendsAtItsKnee) {
  Figure f{.name = "f", .caption = {}, .panels = {{}}};
  ui::FigureHeat& heat = f.panels[0].heat.emplace();
  heat.width = heat.height = 1;
  heat.values = {1};
  heat.log = true, heat.diverging = false;
  heat.range = 10;
  const auto ticks_at = [&](const char* name, double share, double ratio) {
    const std::string tick = gnuplot_literal(name) + " " + gnuplot_number(std::asinh(share * ratio) / std::asinh(ratio));
    return testing::occurrences(gnuplot_script(f, PictureFormat::pdf, "f"), tick);
  };
  EXPECT_EQ(ticks_at("1", 0.1, 300), 1u);
  EXPECT_EQ(ticks_at("0.1", 0.01, 300), 1u);
  heat.knee = 0.5;
  EXPECT_EQ(ticks_at("1", 0.1, 20), 1u);
  EXPECT_EQ(ticks_at("0.1", 0.01, 20), 0u) << "its number would lie on that of 0";
}

TEST(Print, ALongLabelOfABarIsInLines) {
  Figure f{.name = "f", .caption = {}, .panels = {{}}};
  ui::FigureHeat& heat = f.panels[0].heat.emplace();
  heat.width = heat.height = 1;
  heat.values = {1};
  heat.label = "max difference of flash two eager from three passes base eager";
  EXPECT_EQ(testing::occurrences(gnuplot_script(f, PictureFormat::pdf, "f"),
                                 R"(set cblabel "max difference of flash two eager"."\n"."from three passes base eager" )"),
            1u);
}

TEST(Print, ABandWithinABandIsAsDarkInTheLegendAsInThePlot) {
  Figure f = figure_of({"90 % of rows", "50 % of rows"}, 1, 1);
  for (ui::Series& s : f.panels[0].series) s.ink = ui::Ink::text, s.shape = ui::Shape::band, s.low = s.high = s.y;
  const std::string script = gnuplot_script(f, PictureFormat::pdf, "f"),
                    colour = gnuplot_colour(print_look(ui::Ink::text).colour);
  const auto filled = [&](const char* dark) {
    return fmt::format("with filledcurves lc rgb {} fs transparent solid {} noborder ", colour, dark);
  };
  EXPECT_EQ(testing::occurrences(script, filled("0.14") + "title "), 1u);
  EXPECT_EQ(testing::occurrences(script, filled("0.14") + "notitle"), 1u);
  EXPECT_EQ(testing::occurrences(script, "NaN " + filled("0.26") + "title "), 1u) << "1 - 0.86 * 0.86";
}

TEST(Print, OnlyNamesOfXAreRotated) {
  Figure f{.name = "f", .caption = {}, .panels = {{}}};
  f.panels[0].x.categories = f.panels[0].y.categories = std::vector<std::string>(8, "all_direct");
  const std::string script = gnuplot_script(f, PictureFormat::pdf, "f");
  EXPECT_EQ(testing::occurrences(script, ") rotate by -35"), 1u);
  EXPECT_LT(script.find(") rotate by -35"), script.find("set ytics ("));
}

TEST(Print, NamesDoNotOverlap) {
  Figure f{.name = "f", .caption = {}, .panels = {{}}};
  const auto names = [&](int x, int y) {
    f.panels[0].x.categories.assign(static_cast<std::size_t>(x), "all_direct");
    f.panels[0].y.categories.assign(static_cast<std::size_t>(y), "W_Q");
    return gnuplot_script(f, PictureFormat::pdf, "f");
  };
  const std::string steep = names(17, 16);
  EXPECT_EQ(testing::occurrences(steep, ") rotate by -90"), 1u) << "lines at 35 degrees would be 2 mm apart";
  EXPECT_EQ(testing::occurrences(steep, gnuplot_literal("all_direct")), 17u);
  EXPECT_EQ(testing::occurrences(steep, gnuplot_literal("W_Q")), 16u);
  const std::string many = names(40, 32);
  EXPECT_EQ(testing::occurrences(many, gnuplot_literal("all_direct")), 20u);
  EXPECT_EQ(testing::occurrences(many, gnuplot_literal("W_Q") + " 30"), 1u);
  EXPECT_EQ(testing::occurrences(many, gnuplot_literal("W_Q")), 16u);
}

TEST(Print, LongNamesOfYLeaveRoomForTheTicksOfX) {
  Figure f{.name = "f", .caption = {}, .panels = {{}}};
  ui::FigureHeat& heat = f.panels[0].heat.emplace();
  heat.width = heat.height = 1;
  heat.values = {1};
  heat.x1 = 40;
  f.panels[0].y.categories = {"layer 0 norm 1 gain"};
  EXPECT_EQ(testing::occurrences(gnuplot_script(f, PictureFormat::pdf, "f"), "set xtics ('0' 0, '20' 20, '40' 40) "), 1u);
}

/// The texts of the ticks of y in a script: 'text' place, ...
std::set<std::string> tick_texts_in(const std::string& script, std::size_t& count) {
  const std::size_t from = script.find("set ytics ("), end = script.find(')', from);
  std::set<std::string> texts;
  count = 0;
  std::string part = script.substr(from + 11, end - from - 11);
  for (std::size_t at = 0; (at = part.find('\'', at)) != std::string::npos; ++at) {
    const std::size_t close = part.find('\'', at + 1);
    const std::string text = part.substr(at + 1, close - at - 1);
    if (!text.empty()) texts.insert(text), ++count;
    at = close;
  }
  return texts;
}

TEST(Print, TicksOfANarrowRangeAreToldApart) {
  for (const double step : {1e-5, 1e-7, 1e-9})
    for (const bool log : {false, true}) {
      Figure f = figure_of({"one"}, 1.1e-4, step);
      f.panels[0].y.log = log;
      std::size_t count = 0;
      const std::set<std::string> texts = tick_texts_in(gnuplot_script(f, PictureFormat::pdf, "f"), count);
      EXPECT_GE(count, 2u) << step << log;
      EXPECT_EQ(texts.size(), count) << step << log;
    }
}

TEST(Print, ASingleNumberIsInTheMiddleOfItsAxis) {
  Figure f = figure_of({"one"}, 1, 1);
  ui::Series& s = f.panels[0].series[0];
  s.y = {1};
  for (const auto& [x, range] : {std::pair{64.0, "[32:96]"}, {-3.0, "[-4.5:-1.5]"}, {0.0, "[-1:1]"}}) {
    s.x = {x};
    EXPECT_NE(gnuplot_script(f, PictureFormat::pdf, "f").find(std::string("set xrange ") + range), std::string::npos) << x;
  }
}

TEST(Print, LargeWholeNumbersAreToldApart) {
  EXPECT_EQ(gnuplot_number(3000000001), "3000000001");
  EXPECT_EQ(gnuplot_number(0.1), "0.1");
  EXPECT_EQ(gnuplot_number(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(gnuplot_number(-INFINITY), "NaN");
}

TEST(Print, WidthFontAndSizeAreThoseOfTheStyle) {
  const Figure f = figure_of({"one"}, 1, 1);
  const auto script = [&](const FigureStyle& style, PictureFormat format) {
    return gnuplot_script(in_style(f, style), format, "f");
  };
  EXPECT_NE(script({.columns = 1, .font = "Times", .font_size = 9}, PictureFormat::pdf).find("font 'Times,9' size 3.3"),
            std::string::npos);
  const std::string slide = script({.slide = true}, PictureFormat::pdf);
  EXPECT_NE(slide.find("font 'Inter,18' size 10.0"), std::string::npos);
  EXPECT_NE(slide.find("lw 3.2"), std::string::npos) << "heavier lines";
  EXPECT_EQ(script({.font = "x' ; system 'rm"}, PictureFormat::svg).find("system"), std::string::npos);
  EXPECT_THROW(typed_style({.columns = "3"}), std::invalid_argument);
  EXPECT_THROW(typed_style({.font = "x'"}), std::invalid_argument);
  EXPECT_EQ(typed_style({.columns = "slide", .font_size = "20"}), (FigureStyle{2, true, "Inter", 20}));
}

TEST(Tikz, TextsAreLatex) {
  EXPECT_EQ(latex_text("a_b & 5 % of #2 {x} ~^\\"),
            "a\\_b \\& 5 \\% of \\#2 \\{x\\} \\textasciitilde{}\\textasciicircum{}"
            "\\textbackslash{}");
  EXPECT_EQ(latex_text("|α − β| ≤ 2²"), "$|$$\\alpha$ $-$ $\\beta$$|$ $\\le$ 2$^2$");
}

/// LaTeX draws the picture with only the style files of its folder; skipped without LaTeX.
TEST(Tikz, LatexDrawsThePicture) {
  if (!testing::has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  Figure f = figure_of({"flash2 hw", "three-pass base_eager", "100 % {odd} $names$ #1 & \\more~^", "x < y > \"z\"", "‖ΔW‖"},
                       1.1e-4, 1e-6);
  f.panels.push_back(f.panels[0]);
  f.panels[1].x.categories = {"a_b", "50 %", "σ"};
  for (ui::Series& s : f.panels[1].series) s.x = {0, 1, 2};
  ui::FigureHeat& heat = f.panels.emplace_back().heat.emplace();
  heat.width = heat.height = 2, heat.values = {1, -1, 0.5, NAN}, heat.label = "P − true_weight";
  write_bundle(scratch / "f.tex", f, Json::object());
  EXPECT_EQ(scratch.count(), 6) << "the picture, its data, script and JSON, and two style files";
  scratch.write("paper.tex",
                "\\documentclass{article}\\usepackage{gnuplot-lua-tikz}\\begin{document}\\input{f.tex}\\end{document}\n");
  if (std::system("command -v pdflatex >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "THERE IS NO LATEX: the picture was not compiled";
  ASSERT_EQ(
      std::system(
          ("cd '" + (scratch / "") + "' && pdflatex -interaction=nonstopmode -halt-on-error paper.tex >log.txt 2>&1").c_str()),
      0)
      << testing::bytes_of_file(scratch / "log.txt");
  EXPECT_EQ(testing::bytes_of_file(scratch / "paper.pdf").substr(0, 4), "%PDF");
}

}  // namespace
}  // namespace attoscope::app
