// `attoscope figure`: every named figure and every plot of the window end to end, with recomputed data; malicious labels and
// archives; files that a failure leaves.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "app/figures/gnuplot.h"
#include "app/files/zip.h"
#include "app/papers/figure_maker.h"
#include "app/papers/named.h"
#include "app/papers/planned_figure.h"
#include "app/sweep/table.h"
#include "app/tensors/npy.h"
#include "app/words/numbers.h"
#include "kernels/compute.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "tests/app/outcome.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/figure_support.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

class FigureCommand : public ScratchTest {};
class Zip : public ScratchTest {};

/// The options that change nothing in a figure.
std::string without_effect(std::string_view figure) {
  const std::string policies = "--policy --all-policies ";
  const std::map<std::string_view, std::string> known{{"paper-region", policies},
                                                      {"fa3-table3", policies},
                                                      {"rescales", "--all-policies "},
                                                      {"lag", policies},
                                                      {"bias", policies},
                                                      {"attribution", "--all-policies "},
                                                      {"accumulator", policies},
                                                      {"formats-2026", policies + "--d --seeds "},
                                                      {"kv-cache", policies + "--d --seeds "},
                                                      {"smoothing", policies + "--d --seeds "},
                                                      {"gradient-reach", policies},
                                                      {"gradient-format", policies},
                                                      {"gradient-underflow", policies},
                                                      {"gradient-order", policies},
                                                      {"heads", "--all-policies --d --seeds "},
                                                      {"io", policies + "--seeds "}};
  const auto found = known.find(figure);
  return found == known.end() ? "" : found->second;
}

/// The command of a small figure; it writes FILE and further files in the same folder.
std::vector<std::string> small_figure(const std::string& what, const std::string& file,
                                      const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"figure", what, "--out", file, "--quiet", "--no-cache"};
  for (const auto& [option, value] : {std::pair{"--n ", "64"}, {"--d ", "16"}, {"--seeds ", "2"}})
    if (!what.ends_with(".json") && without_effect(what).find(option) == std::string::npos)
      arguments = with(arguments, {words(option)[0], value});
  return with(arguments, more);
}

class Named : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Named, SaysWhatItComputedAndIsDrawnAgainFromItsJson) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const std::string name(GetParam());
  const bool has_policy = without_effect(name).find("--policy ") == std::string::npos;
  succeed(small_figure(name, scratch / "f.pdf", has_policy ? words("--policy tile") : words("")));
  EXPECT_EQ(scratch.count(), 4);
  EXPECT_THAT(bytes_of_file(scratch / "f.pdf"), StartsWith("%PDF"));
  const nlohmann::json bundle = nlohmann::json::parse(bytes_of_file(scratch / "f.json"));
  EXPECT_EQ(bundle["figure"], name);
  const std::string caption = bundle["caption"];
  const bool of_shipped_heads = name == "formats-2026" || name == "kv-cache" || name == "smoothing" || name == "heads";
  EXPECT_THAT(caption, HasSubstr(of_shipped_heads ? "d = 64" : "d = 16"));
  EXPECT_THAT(caption, HasSubstr("attoscope " ATTOSCOPE_VERSION));
  EXPECT_THAT(caption, ::testing::Not(::testing::ContainsRegex("[{}]| nan| -?inf[ ,.]")));
  for (const auto& line : csv_lines(bytes_of_file(scratch / "f.csv"))) EXPECT_EQ(line.size(), 7u);
  succeed(small_figure(scratch / "f.json", scratch / "two.svg"));
  EXPECT_EQ(bytes_of_file(scratch / "f.csv"), bytes_of_file(scratch / "two.csv"));
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const NamedFigure& f : named_figures())
    if (std::holds_alternative<FromSweeps>(f.made)) names.push_back(f.name);  // train_controller_test tests the trained figures
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
  return std::get<FromSweeps>(named_figure(name).made)(settings, [](const Sweep& s) { return run_sweep(s, {}); });
}

double mean_error_over_seeds(Experiment e, int seeds) {
  double sum = 0;
  for (e.problem.seed = 1; e.problem.seed <= static_cast<std::uint64_t>(seeds); ++e.problem.seed)
    sum += compute(e).a_error.mean_abs;
  return sum / seeds;
}

TEST(FigureData, AllPoliciesAreDrawn) {
  const FigureSettings settings{.policy = "eager", .all_policies = true, .n = 64, .d = 16, .seeds = 1};
  EXPECT_EQ(small("tile-square", settings).panels.size(), 5u);
  EXPECT_EQ(small("format-golden", settings).panels.at(0).series.size(), 6u);
  std::set<std::pair<Ink, int>> looks;
  const Figure lengths = small("sequence-length", settings);
  for (const Series& s : lengths.panels.at(0).series) EXPECT_TRUE(looks.emplace(s.ink, s.round).second) << s.label;
  EXPECT_EQ(looks.size(), 10u);
}

TEST(FigureData, NoCaptionStatesWhatIsNotKnown) {
  const std::map<std::string_view, int> least{{"tile-area", 16}, {"tile-square", 8}, {"rescales", 4}};
  for (const std::string_view name : all_names()) {
    const int n = least.contains(name) ? least.at(name) : 1;
    const FigureSettings settings{.policy = "eager", .all_policies = false, .n = n, .d = 1, .seeds = 1};
    EXPECT_THAT(small(name, settings).caption,
                ::testing::Not(::testing::ContainsRegex(
                    "nan|[^a-z]inf[^a-z]|known times|[0-9] to 1[,.]|[{}]|Left|Right|left over|the left")))
        << name << ": one column stacks the panels";
    if (n == 1) continue;
    const std::string refusal = fmt::format("figure {}: N is '{}', expected {} or more", name, n - 1, n);
    EXPECT_EQ(message_of<std::invalid_argument>([&] { small(name, {.n = n - 1, .d = 1, .seeds = 1}); }), refusal);
  }
  const FigureSettings exact{.policy = "exact", .all_policies = false, .n = 32, .d = 8, .seeds = 1};
  EXPECT_THAT(small("attribution", exact).caption, HasSubstr("No step takes off any of the error; N = 32"));
  EXPECT_EQ(small("attribution", exact).panels.at(0).y.label, "mean |error|");
  EXPECT_THAT(small("bias", exact).caption, HasSubstr("N = 32, d = 8 where inputs are drawn, else N = 128, d = 64, seed 1"));
}

TEST(FigureData, CaptionsNameTheStoresOnlyWhereTheDifferenceFalls) {
  const auto caption = [](const char* figure, const char* policy_of_a) {
    return small(figure, {.policy = policy_of_a, .all_policies = false, .n = 128, .d = 64, .seeds = 1}).caption;
  };
  EXPECT_THAT(caption("tile-square", "tile"), HasSubstr("-fold: wider tiles mean fewer stores of the state. Summaries"));
  EXPECT_THAT(caption("tile-square", "hw"), HasSubstr("it changes by less than 10 %. Summaries"));
  EXPECT_THAT(caption("tile-square", "all_tile"), HasSubstr("-fold. Summaries"));
  EXPECT_THAT(caption("tile-swap", "tile"), HasSubstr("of 16x64: the number of keys a tile matters. The number"));
  EXPECT_THAT(caption("tile-swap", "hw"), HasSubstr("of 16x64. The number of query rows changes no bit;"));
}

/// An entry of an untrusted figures.json.
nlohmann::json entry() {
  return nlohmann::json::parse(R"({"name": "mine", "x": "keys a tile", "x_log": 2, "set": ["policy=hw"],
    "vary": ["block_k=16:{N}:x2", "input=normal,uniform"],
    "panels": [{"y": "mean error", "lines": [{"measure": "a.mean_abs", "label": "{input}", "dashed": "uniform"}]}],
    "caption": "From {y0_0_first:.2g} to {y0_1_last:.2g}{N > 32 ?, many|}; {over_seeds}."})");
}

TEST(FigurePlan, IsOneEntryWithTheNumbersOfCompute) {
  const FigureSettings settings{.policy = "eager", .all_policies = false, .n = 64, .d = 16, .seeds = 3};
  const Figure f = planned_figure(entry(), settings, [](const Sweep& s) { return run_sweep(s, {}); });
  Experiment e = sized_experiment(64, 16);
  e.a.block_k = e.b.block_k = 16;
  const double first = mean_error_over_seeds(e, 3);
  e.a.block_k = e.b.block_k = 64;
  e.problem.input.kind = InputKind::uniform;
  const double last = mean_error_over_seeds(e, 3);
  const std::string csv = figure_csv(f);
  EXPECT_DOUBLE_EQ(value_at(csv, "normal", "16"), first);
  EXPECT_DOUBLE_EQ(value_at(csv, "uniform", "64"), last);
  EXPECT_TRUE(f.panels.at(0).series.at(1).dashed);
  EXPECT_EQ(f.caption, fmt::format("From {:.2g} to {:.2g}, many; mean and standard deviation over seeds 1 to 3.", first, last));
}

TEST(FigurePlan, WrongEntriesAreOneSentence) {
  const auto said = [](const char* key, const char* value) {
    nlohmann::json plan = entry();
    plan["panels"][0]["lines"][0][key] = nlohmann::json::parse(value);
    return message_of<std::exception>([&] {
      check_plan(plan);
      planned_figure(plan, {.n = 32, .d = 8, .seeds = 1}, [](const Sweep& s) { return run_sweep(s, {}); });
    });
  };
  EXPECT_EQ(said("colour", R"("a")"), "'colour' is not a known key");
  EXPECT_THAT(said("ink", R"("red")"), HasSubstr("'red' is unknown, expected a, b, golden"));
  EXPECT_EQ(said("label", R"("{N")"), "") << "an open brace is closed at the end of the text";
  EXPECT_THAT(said("label", R"("{M + 1}")"), HasSubstr("'M' is no name here"));
  EXPECT_THAT(said("label", R"("{N ?this|that}")"), HasSubstr("is no condition, expected < or >"));
  EXPECT_THAT(said("label", R"("{N:zz}")"), HasSubstr("'zz' is no form of a number"));
  EXPECT_THAT(said("set", R"(["polcy=hw"])"), HasSubstr("'polcy' is unknown"));
  EXPECT_THAT(said("for", R"("polices")"), HasSubstr("for is 'polices', expected rows or policies"));
  EXPECT_THAT(said("measure", R"("a.mean")"), HasSubstr("a.mean"));
}

TEST_P(Named, RefusesOptionsThatChangeNothing) {
  const std::string name(GetParam()), useless = without_effect(name);
  for (const char* const option : {"--policy hw", "--all-policies ", "--n 100", "--d 24", "--seeds 3"}) {
    const Outcome o = attoscope(with({"figure", name, "--out", "/no/such/place/f.pdf"}, words(option)));
    const std::string typed = words(option)[0];
    const bool refused = useless.find(typed + " ") != std::string::npos;
    EXPECT_EQ(o.code, refused ? 2 : 1) << typed;
    EXPECT_THAT(o.err, HasSubstr(refused ? "expected it with another figure: it changes nothing in " + name
                                         : std::string("there is no directory /no/such/place")));
  }
}

TEST(FigureText, IsFilledWithValues) {
  Figure f;
  FigurePanel p;
  p.title = "left";
  p.x.categories = {"bf16", "fp16"};
  p.series = {series_of("one", Ink::a, Shape::marks, {0, 1}, {8, 2}), series_of("none", Ink::a, Shape::marks)};
  f.panels = {p};
  FigureScope scope{.texts = {{"policy", "hw"}}, .numbers = {{"N", 64}}, .figure = &f};
  scope.bind("lift", "8");
  for (const auto& [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {"plain", "plain"},
           {"{policy}, {2*N} and {lift}", "hw, 128 and 8"},
           {"{100000*N}", "6400000"},
           {"{y0_0_first/y0_0_last:two}", "4.0"},
           {"{y0_0_last/y0_0_first:fold}", "falls 4.0-fold"},
           {"{y0_0_bf16/y0_0_first:fold}", "changes by less than 10 %"},
           {"{y0_0_fp16:.2g} at {x0_0_1}, {name0_0_least}", "2 at 1, fp16"},
           {"{y0_1_last:fold}, {y7_0_0:.1g}, {N/0:two}", "is not known, not known, not known"},
           {"{0*N:fold}, {N/0:fold}", "falls to 0, is not known"},
           {"{N/0 > 1 ?a|b} {y7_0_0 < 1 ?a|b}", "b b"},
           {"{places_7_9}; {places_3_4}", "one, left, 0; nowhere"},
           {"{N > 64 ?a {policy}|b {policy}}{lift < 9 ?!}", "b hw!"}})
    EXPECT_EQ(filled(text, scope), expected) << text;
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
       {std::string("_^{}@&%~\"'`$#\\n"), "`touch " + touched + "`", "'; system('touch " + touched + "'); '",
        "\"; !touch " + touched, std::string("a\nsystem 'touch ") + touched + "'\n", std::string("EOD\nshell"),
        std::string(3000, '\''), std::string("\xff\xfe\x01")}) {
    const std::string picture = drawn(gnuplot_script(hostile(label), PictureFormat::svg, "f"), {"f.svg"})[0];
    EXPECT_THAT(picture, HasSubstr("</svg>"));
    EXPECT_FALSE(std::filesystem::exists(touched)) << label;
  }
}

TEST(Gnuplot, LabelsAreShownAsTheyAre) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const std::string svg = drawn(gnuplot_script(hostile("x-2 a_1^{2} @ 5 % 'x'"), PictureFormat::svg, "f"), {"f.svg"})[0];
  EXPECT_THAT(svg, ::testing::AnyOf(HasSubstr("x-2 a_1^{2} @ 5 % 'x'"), HasSubstr("x-2 a_1^{2} @ 5 % &apos;x&apos;"),
                                    HasSubstr("x-2 a_1^{2} @ 5 % &#39;x&#39;")));
}

TEST(Gnuplot, DoesNotReadTheUsersOwnSettings) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  const std::string script = gnuplot_script(hostile("x"), PictureFormat::svg, "f"), picture = drawn(script, {"f.svg"})[0];
  scratch.write(".gnuplot", "set label 'of the user' at graph 0.5,0.5\nset samples 7\n");
  const Environment at_home("HOME", scratch / "");
  EXPECT_EQ(drawn(script, {"f.svg"})[0], picture);
}

TEST_F(FigureCommand, WithoutGnuplotTheDataAreWrittenAndThePackageIsNamed) {
  const Environment no_programs("PATH", scratch_ / "nothing");
  const Outcome o = attoscope(small_figure("bias", scratch_ / "f.pdf"));
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("package gnuplot-nox"));
  EXPECT_EQ(scratch_.count(), 3);
}

TEST_F(FigureCommand, WrongUsageIsOneSentence) {
  const auto refused = [](const std::vector<std::string>& command, const std::string& words) {
    EXPECT_THAT(attoscope(command).err, HasSubstr(words));
  };
  refused(small_figure("figure-9", scratch_ / "f.pdf"), "figure 'figure-9' is unknown, expected format-difference");
  refused(small_figure("bias", scratch_ / "f.gif"), "ends in .pdf, .svg, .png, .tex or .zip");
  refused({"figure", "bias"}, "--out is missing, expected a name that ends in .pdf, .svg, .png, .tex or .zip");
  expect_refused({"figure", "bias", "--plot", "heat_map", "--out", scratch_ / "f.pdf"}, 2,
                 "--plot is 'heat_map', expected it with a session: bias is a named figure");
  refused(small_figure("bias", "/dev/null/f.pdf"), "/dev/null/f");
  refused(small_figure("bias", scratch_ / "f.pdf", {"--policy", "base_ops"}), "a policy of Flash Attention");
  refused(small_figure("bias", scratch_ / "no/such/directory/f.pdf"), "no/such/directory");
  refused(small_figure(scratch_ / "none.json", scratch_ / "f.pdf"), "none.json");
  const std::string bad = scratch_.write("bad.json", R"({"schema":"attoscope.figure/1","figure":"bias","n":0})");
  refused(small_figure(bad, scratch_ / "f.pdf"), "n is '0', expected a whole number from 1");
  EXPECT_EQ(scratch_.count(), 1);
}

// --- legends, archives, the background ----------------------------------------------------------------------------------

TEST(Gnuplot, OneLegendWherePanelsShowTheSameSeries) {
  const FigureSettings all{.policy = "eager", .all_policies = true, .n = 64, .d = 16, .seeds = 1};
  const std::string shared = gnuplot_script(small("tile-square", all), PictureFormat::pdf, "f");
  EXPECT_EQ(occurrences(shared, "set key at screen"), 1u);
  EXPECT_EQ(occurrences(shared, "\nunset key\n"), 4u);
  Figure different = small("lag", all);
  different.panels[1].series[0].label = "another";
  const std::string own = gnuplot_script(different, PictureFormat::pdf, "f");
  EXPECT_EQ(occurrences(own, "set key at screen"), 0u);
  EXPECT_EQ(occurrences(own, "set key above left"), 2u);
}

TEST(FigureData, ShowWhatTheirCaptionsSay) {
  const FigureSettings settings{.policy = "eager", .all_policies = false, .n = 512, .d = 64, .seeds = 3};
  const Figure lengths = small("sequence-length", settings), ties = small("bias", settings), stale = small("lag", settings),
               outliers = small("fa3-table3", settings);
  const auto first_to_last = [](const Series& s) { return s.y.back() / s.y.front(); };
  EXPECT_LT(first_to_last(lengths.panels[0].series[0]), 0.8) << "the error of normal inputs falls";
  EXPECT_GT(first_to_last(lengths.panels[0].series[1]), 1.2) << "the error of uniform inputs rises";
  EXPECT_GT(first_to_last(lengths.panels[2].series[0]), 1.2) << "the relative error rises";
  const std::vector<double>& bias = ties.panels[0].series[0].y;
  EXPECT_LT(bias[2], -1e-3) << "tied maxima, negative values";
  EXPECT_LT(std::abs(bias[3]), 0.4 * std::abs(bias[2])) << "beta 2";
  EXPECT_LT(std::abs(bias[0]), 0.05 * std::abs(bias[2])) << "normal inputs";
  EXPECT_LT(first_to_last(stale.panels[0].series[0]), 1.5) << "bf16 has enough range";
  EXPECT_GT(first_to_last(stale.panels[0].series[2]), 5) << "e4m3 saturates";
  ASSERT_EQ(outliers.panels.size(), 2u);
  const auto ratio = [&](std::size_t panel) {
    return outliers.panels[panel].series[0].y[0] / outliers.panels[panel].series[0].y[1];
  };
  EXPECT_GT(ratio(0), 2.5) << "golden value of the rounded inputs";
  EXPECT_LT(ratio(1), 1.7) << "golden value of the unrounded inputs";
  EXPECT_GT(ratio(1), 1);
}

TEST_F(FigureCommand, FontsAreEmbeddedAtTheWidthOfAColumn) {
  if (!has_gnuplot() || std::system("command -v pdffonts >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "there is no gnuplot or no pdffonts";  // NOLINT
  succeed(small_figure("io", scratch_ / "two.pdf"));
  succeed(small_figure("bias", scratch_ / "one.pdf"));
  for (const auto& [file, points] : {std::pair{"one", 85 / 25.4 * 72}, std::pair{"two", 175 / 25.4 * 72}}) {
    const std::string base = scratch_ / file;
    ASSERT_EQ(
        std::system(("pdffonts " + base + ".pdf > " + base + ".fonts && pdfinfo " + base + ".pdf > " + base + ".info").c_str()),
        0);  // NOLINT
    const std::string fonts = bytes_of_file(base + ".fonts"), info = bytes_of_file(base + ".info");
    EXPECT_EQ(occurrences(fonts, " yes yes yes "), occurrences(fonts, "\n") - 2) << fonts;
    EXPECT_NEAR(std::stod(info.substr(info.find("Page size:") + 10)), points, 0.5) << info;
    ASSERT_EQ(std::system(("pdftotext -bbox " + base + ".pdf " + base + ".words").c_str()), 0);  // NOLINT
    const std::string words = bytes_of_file(base + ".words");
    double least = points, right = 0;
    for (std::size_t at = words.find("<word "); at != std::string::npos; at = words.find("<word ", at + 1)) {
      const auto number = [&](const char* key) { return std::stod(words.substr(words.find(key, at) + std::strlen(key))); };
      least = std::min(least, number("xMax=\"") - number("xMin=\"") + number("yMax=\"") - number("yMin=\""));
      right = std::max(right, number("xMax=\""));
      EXPECT_GE(std::min(number("xMin=\""), number("yMin=\"")), 0) << "nothing is cut off: " << words.substr(at, 120);
    }
    EXPECT_GT(least, 11) << "a digit of 8 points is 5 wide and 9.7 high";
    EXPECT_LE(right, points);
  }
}

TEST_F(FigureCommand, AZipHoldsAllFourAndIsDrawnAgain) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  succeed(small_figure("bias", scratch_ / "f.zip"));
  EXPECT_EQ(scratch_.count(), 1);
  EXPECT_THAT(zip_member(scratch_ / "f.zip", ".pdf", 1 << 20), StartsWith("%PDF"));
  EXPECT_THAT(zip_member(scratch_ / "f.zip", ".gp", 1 << 20), HasSubstr("set output \"f\\056pdf\""));
  succeed({"figure", scratch_ / "f.zip", "--out", scratch_ / "g.svg", "--quiet", "--no-cache"});
  EXPECT_EQ(bytes_of_file(scratch_ / "g.csv"), zip_member(scratch_ / "f.zip", ".csv", 1 << 20));
}

TEST_F(FigureCommand, ChangedBitsOfThePointsOfAllSweepsAreSaid) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  succeed(small_figure("lag", scratch_ / "f.svg"));
  nlohmann::json json = nlohmann::json::parse(bytes_of_file(scratch_ / "f.json"));
  std::uint64_t points = 0;
  int sweeps = 0;
  const auto answer = [&](const Sweep& sweep) {
    std::vector<SweepAnswer> answers = run_sweep(sweep, {});
    points = points_digest(answers, points);
    ++sweeps;
    return answers;
  };
  std::get<FromSweeps>(named_figure("lag").made)({.n = 64, .d = 16, .seeds = 2}, answer);
  EXPECT_GT(sweeps, 1);
  EXPECT_EQ(json["digests"]["points"], hex16(points));
  const auto again = [&](const std::vector<std::string>& more = {}) {
    return attoscope(small_figure(scratch_.write("x.json", json.dump()), scratch_ / "again.svg", more));
  };
  EXPECT_EQ(again().code, 0);
  json["digests"]["points"] = "0123456789abcdef";
  const Outcome other = again();
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("x.json: the bits of its points are not those that the figure was first made of"));
  EXPECT_EQ(bytes_of_file(scratch_ / "again.csv"), bytes_of_file(scratch_ / "f.csv"));
  EXPECT_EQ(nlohmann::json::parse(bytes_of_file(scratch_ / "again.json"))["digests"]["points"], hex16(points));
  EXPECT_EQ(again({"--seeds", "1"}).code, 0) << "these are other points";
  json.erase("digests");
  EXPECT_EQ(again().code, 0) << "older figures have none";
}

TEST_F(Zip, SameFilesSameBytes) {
  const std::vector<ZipMember> members{{"a.csv", "1,2\n"}, {"a.json", std::string(5000, 'x')}};
  const std::string bytes = zip_bytes(members);
  EXPECT_EQ(bytes, zip_bytes(members));
  const std::string file = scratch_.write("f.zip", bytes);
  for (const ZipMember& m : members) EXPECT_EQ(zip_member(file, m.name.substr(1), 1 << 20), m.bytes);
}

TEST_F(Zip, HostileArchivesGetOneSentence) {
  const auto said = [&](const std::string& bytes) {
    const std::string file = scratch_.write("f.zip", bytes);
    const Outcome o = attoscope({"figure", file, "--out", scratch_ / "f.pdf", "--quiet"});
    EXPECT_EQ(o.code, 1) << o.err;
    EXPECT_EQ(occurrences(o.err, "\n"), 1u) << o.err;
    EXPECT_THAT(o.err, HasSubstr("f.zip"));
    EXPECT_EQ(scratch_.count(), 1);
    return o.err;
  };
  const std::string good = zip_bytes({{"f.json", R"({"schema":"attoscope.figure/1","figure":"bias"})"}});
  EXPECT_THAT(said(""), HasSubstr("holds no file that ends in .json"));
  EXPECT_THAT(said("PK\x03\x04 and nothing more"), HasSubstr("is no zip archive, or a damaged one"));
  said(good.substr(0, good.size() - 30));
  std::string flipped = good;
  flipped[40] = static_cast<char>(flipped[40] ^ 0x55);
  said(flipped);
  EXPECT_THAT(said(zip_bytes({{"../../f.json", "{}"}})), HasSubstr("expected names without folders"));
  EXPECT_THAT(said(zip_bytes({{"C:f.json", "{}"}})), HasSubstr("expected names without folders"));
  EXPECT_THAT(said(zip_bytes({{"a.json", "{}"}, {"b.json", "{}"}})), HasSubstr("several files that end in .json"));
  EXPECT_THAT(said(zip_bytes({{"a.csv", "{}"}})), HasSubstr("no file that ends in .json"));
  EXPECT_THAT(said(zip_bytes({{"f.json", std::string(64 << 20, ' ')}})), HasSubstr("a file of more than 16777216 bytes"));
  EXPECT_THAT(said(zip_bytes({{"f.json", std::string(100000, '[')}})), HasSubstr("nested"));
  for (std::size_t cut = 1; cut < good.size(); cut += 7) said(good.substr(0, cut));
}

TEST_F(FigureCommand, AFullDiskIsSaidAndLeavesNothing) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  std::filesystem::create_symlink("/dev/full", scratch_ / "f.svg");
  const Outcome o = attoscope(small_figure("bias", scratch_ / "f.svg"));
  EXPECT_EQ(o.code, 1);
  EXPECT_THAT(o.err, HasSubstr("f.svg: cannot be written"));
  EXPECT_EQ(scratch_.count(), 1);
}

TEST(FigureMaker, DrawsOneAfterAnotherAndStops) {
  if (!has_gnuplot()) GTEST_SKIP() << "there is no gnuplot";
  const TemporaryDirectory scratch;
  FigureMaker maker(scratch / "pictures", "", {});
  EXPECT_FALSE(maker.progress());
  const FigureSettings settings{.policy = "hw", .n = 32, .d = 8, .seeds = 2};
  maker.ask({"bias", settings}, {});
  maker.ask({"io", settings}, {.as = ExportAs::svg, .zip = true});
  EXPECT_EQ(awaited(maker).sentence, "Saved " + (scratch / "pictures/attoscope-bias-1/attoscope-bias-1.pdf") + ".");
  EXPECT_EQ(awaited(maker).sentence, "Saved " + (scratch / "pictures/attoscope-io-1.zip") + ".");
  EXPECT_THAT(zip_member(scratch / "pictures/attoscope-io-1.zip", ".svg", 1 << 24), HasSubstr("</svg>"));
  maker.ask({"bias", {.policy = "base_ops"}}, {});
  const FigureMaker::Outcome wrong = awaited(maker);
  EXPECT_FALSE(wrong.well);
  EXPECT_THAT(wrong.sentence, HasSubstr("a policy of Flash Attention"));
  maker.ask({"sequence-length", {.policy = "hw", .n = 16384, .d = 64, .seeds = 50}}, {});
  ASSERT_TRUE(eventually([&] { return !maker.take() && maker.progress() && maker.progress()->all > 0; }));
  maker.stop();
  EXPECT_THAT(awaited(maker).sentence, HasSubstr("stopped before the figure was complete"));
}

TEST(FigureMaker, KnowsHowManyPointsThereAre) {
  std::size_t finished = 0;
  const AskedFigure asked{"lag", {.policy = "hw", .n = 32, .d = 8, .seeds = 2}};
  made_figure(asked, {.finished = [&](bool) { ++finished; }});
  EXPECT_EQ(point_count(asked), finished);
}

TEST(SaveField, WritesEveryElementAsNumPyDoes) {
  const TemporaryDirectory scratch;
  const std::string a_error = scratch / "e.npy", b_ulps = scratch / "u.npy";
  succeed(with(small_sizes, {"--save-field", "a_error=" + a_error, "--save-field", "b_ulps=" + b_ulps}));
  const Result r = compute(sized_experiment(48, 16));
  for (const auto& [file, field] : {std::pair{a_error, Field::a_error}, std::pair{b_ulps, Field::b_ulps}}) {
    const std::vector<double> values = last_numbers<double>(file, 48 * 16);
    for (int i = 0; i < 48 * 16; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], field_value(r, field, i / 16, i % 16));
  }
  expect_refused({"run", "--save-field", "errors=x.npy"}, 2, "field 'errors' is unknown, expected golden, a");
  expect_refused({"run", "--save-field", "a_error"}, 2, "expected FIELD=FILE.npy");
  expect_refused({"run", "--save-field", "a=/no/such/place/x.npy"}, 1, "there is no directory /no/such/place");
  expect_refused(with(small_sizes, {"--save-field", "tolerance=" + scratch / "x.npy"}), 2, "it with a loaded output");
  for (const char* const field : {"a_storage", "b_arithmetic"})
    expect_refused(with(small_sizes, {"--save-field", field + ("=" + scratch / "x.npy")}), 2, "it with a method that stores Q");
  expect_refused({"run", "--n", "1048576", "--save-field", "a_storage=" + scratch / "x.npy"}, 2,
                 "it with a method that stores Q");  // before the computation, which takes hours
  EXPECT_EQ(scratch.count(), 2);
}

}  // namespace
}  // namespace attoscope
