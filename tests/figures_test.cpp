// `attoscope figure`: every named figure end to end, its data recomputed, labels that mean harm, and what is left when it fails.
#include "app/figures/gnuplot.h"
#include "app/figures/named.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/csv.h"
#include "app/numbers.h"
#include "kernels/compute.h"
#include "kernels/presets.h"
#include "tests/outcome.h"
#include "tests/temporary_directory.h"

namespace attoscope {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace testing;  // attoscope::testing

bool has_gnuplot() {
  return std::system("command -v gnuplot >/dev/null 2>&1") == 0;  // NOLINT: a test's own question
}

/// A figure of small size; the files are FILE and beside it.
Outcome small_figure(const std::string& what, const std::string& file, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"figure", what, "--out", file, "--quiet", "--no-cache"};
  if (!what.ends_with(".json")) arguments.insert(arguments.end(), {"--n", "64", "--d", "16", "--seeds", "2"});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return attoscope(arguments);
}

class Named : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Named, DrawsAndSaysWhatItComputed) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const std::string name(GetParam());
  const Outcome o = small_figure(name, scratch / "f.pdf");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(scratch.count(), 4);
  EXPECT_THAT(bytes_of_file(scratch / "f.pdf"), StartsWith("%PDF"));
  const nlohmann::json bundle = nlohmann::json::parse(bytes_of_file(scratch / "f.json"));
  EXPECT_EQ(bundle["figure"], name);
  const std::string caption = bundle["caption"];
  EXPECT_THAT(caption, HasSubstr("d = 16"));
  EXPECT_THAT(caption, HasSubstr("attoscope " ATTOSCOPE_VERSION));
  for (const auto& line : csv_lines(bytes_of_file(scratch / "f.csv"))) EXPECT_EQ(line.size(), 7u);
}

TEST_P(Named, IsDrawnAgainFromItsJson) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  ASSERT_EQ(small_figure(std::string(GetParam()), scratch / "one.svg", {"--policy", "tile"}).code, 0);
  const Outcome again = small_figure(scratch / "one.json", scratch / "two.svg");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(bytes_of_file(scratch / "one.csv"), bytes_of_file(scratch / "two.csv"));
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const NamedFigure& f : named_figures()) names.push_back(f.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Figures, Named, ::testing::ValuesIn(all_names()), [](const auto& tested) {
  std::string name(tested.param);
  std::erase(name, '-');
  return name;
});

/// The value of a series at x in a figure's CSV.
double value_at(const std::string& csv, const std::string& series, const std::string& x) {
  for (const auto& line : csv_lines(csv))
    if (line[1] == series && line[2] == x) return to_number<double>(line[3]).value();
  ADD_FAILURE() << "no " << series << " at " << x;
  return NAN;
}

Figure small(std::string_view name, const FigureSettings& settings) {
  return named_figure(name).make(settings, [](const Sweep& s) { return run_sweep(s, {}); });
}

double mean_over_seeds(Experiment e, int seeds, double Deviation::*value, bool of_b = false) {
  double sum = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    e.problem.seed = static_cast<std::uint64_t>(seed);
    const Result r = compute(e);
    sum += of_b ? r.b_error.*value : r.a_error.*value;
  }
  return sum / seeds;
}

TEST(FigureData, AreThoseOfCompute) {
  const FigureSettings settings{.policy = "eager", .all_policies = false, .n = 64, .d = 16, .seeds = 3};
  Experiment e = default_experiment();
  e.problem.n = 64;
  e.problem.d = 16;
  e.a.precision = policy("eager").precision;
  e.format = fp16;
  const std::string golden = figure_csv(small("format-golden", settings));
  EXPECT_DOUBLE_EQ(value_at(golden, "flash, eager", "fp16"), mean_over_seeds(e, 3, &Deviation::mean_abs));
  EXPECT_DOUBLE_EQ(value_at(golden, "three-pass, base_eager", "fp16"), mean_over_seeds(e, 3, &Deviation::mean_abs, true));
  e.format = bf16;
  e.problem.n = 128;
  EXPECT_DOUBLE_EQ(value_at(figure_csv(small("sequence-length", settings)), "three-pass, base_eager", "128"),
                   mean_over_seeds(e, 3, &Deviation::mean_abs, true));
  e.problem.n = 64;
  e.a.precision[Step::S] = {};
  EXPECT_DOUBLE_EQ(value_at(figure_csv(small("attribution", settings)), "", "S exact"), mean_over_seeds(e, 3, &Deviation::mean_abs));
}

TEST(FigureData, AllPoliciesAreDrawn) {
  const FigureSettings settings{.policy = "eager", .all_policies = true, .n = 64, .d = 16, .seeds = 1};
  EXPECT_EQ(small("tile-square", settings).panels.size(), 5u);
  EXPECT_EQ(small("format-golden", settings).panels.at(0).series.size(), 6u);
}

TEST(FigureData, PolicyDecidesWhichAttentionIsBetter) {
  const auto ratio = [](const char* rounding) {
    const FigureSettings settings{.policy = rounding, .all_policies = false, .n = 256, .d = 64, .seeds = 2};
    const std::string csv = figure_csv(small("format-golden", settings));
    return value_at(csv, std::string("flash, ") + rounding, "bf16") / value_at(csv, "three-pass, base_eager", "bf16");
  };
  EXPECT_GT(ratio("eager"), 1.2);
  EXPECT_LT(ratio("hw"), 0.8);
}

Figure hostile(const std::string& label) {
  Figure f;
  f.name = "hostile";
  FigurePanel p;
  p.title = p.x.label = p.y.label = label;
  p.x.categories = {label, "plain"};
  Series s;
  s.label = label;
  s.x = {0, 1};
  s.y = {1, 2};
  p.series = {s, s};
  f.panels.push_back(p);
  return f;
}

TEST(Gnuplot, NoLabelMeansAnythingToIt) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const std::string touched = scratch / "touched";
  for (const std::string& label :
       {std::string("_^{}@&%~\"'`$#\\n"), "`touch " + touched + "`", "'; system('touch " + touched + "'); '", "\"; !touch " + touched,
        std::string("a\nsystem 'touch ") + touched + "'\n", std::string("EOD\nshell"), std::string(3000, '\''), std::string("\xff\xfe\x01")}) {
    const std::string picture = drawn(gnuplot_script(hostile(label), PictureFormat::svg, "f"), "f.svg");
    EXPECT_THAT(picture, HasSubstr("</svg>"));
    EXPECT_FALSE(std::filesystem::exists(touched)) << label;
  }
}

TEST(Gnuplot, LabelsAreShownAsTheyAre) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const std::string svg = drawn(gnuplot_script(hostile("x-2 a_1^{2} @ 5 % 'x'"), PictureFormat::svg, "f"), "f.svg");
  EXPECT_THAT(svg, ::testing::AnyOf(HasSubstr("x-2 a_1^{2} @ 5 % 'x'"), HasSubstr("x-2 a_1^{2} @ 5 % &apos;x&apos;"), HasSubstr("x-2 a_1^{2} @ 5 % &#39;x&#39;")));
}

TEST(FigureCommand, WithoutGnuplotTheDataAreWrittenAndThePackageIsNamed) {
  const TemporaryDirectory scratch;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (scratch / "nothing").c_str(), 1);
  const Outcome o = small_figure("bias", scratch / "f.pdf");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("package gnuplot-nox"));
  EXPECT_EQ(scratch.count(), 3);
}

TEST(FigureCommand, WrongUsageIsOneSentence) {
  const TemporaryDirectory scratch;
  EXPECT_THAT(small_figure("figure-9", scratch / "f.pdf").err, HasSubstr("figure 'figure-9' is unknown, expected format-difference"));
  EXPECT_THAT(small_figure("bias", scratch / "f.gif").err, HasSubstr("ends in .pdf, .svg or .png"));
  EXPECT_THAT(small_figure("bias", scratch / "f.pdf", {"--policy", "base_ops"}).err, HasSubstr("a policy of Flash Attention"));
  EXPECT_THAT(small_figure("bias", scratch / "no/such/directory/f.pdf").err, HasSubstr("no/such/directory"));
  EXPECT_THAT(small_figure(scratch / "none.json", scratch / "f.pdf").err, HasSubstr("none.json"));
  EXPECT_THAT(small_figure(scratch.write("bad.json", R"({"schema":"attoscope.figure/1","figure":"bias","n":0})"), scratch / "f.pdf").err,
              HasSubstr("n is '0', expected a whole number from 1"));
  EXPECT_EQ(scratch.count(), 1);
}

}  // namespace
}  // namespace attoscope
