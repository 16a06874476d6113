// Texts of the lessons: every number is computed, every quiz has one clear answer, formulas and spelling hold.
// ATTOSCOPE_LESSONS=write writes the computed live numbers into the files.

#include <array>
#include <cstdlib>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "app/explore/lessons.h"
#include "app/files/files.h"
#include "app/plots/own_numbers.h"
#include "app/sweep/axis.h"
#include "kernels/arithmetic/element.h"
#include "kernels/arithmetic/tensor_core_sum.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/scaling.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/sum_drift.h"
#include "tests/app/lesson_prose.h"
#include "tests/app/probe_measures.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "ui/learn/lesson_steps.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr std::uint64_t largest_file = 1 << 20;

std::string path_of(const Lesson& lesson) { return lessons_directory() + "/" + lesson.name + ".md"; }
std::string text_of(const Lesson& lesson) { return read_file(path_of(lesson), largest_file); }

/// True for large experiments under sanitizers: only small experiments are computed there.
bool is_left_out(const LessonQuestion& question) {
  return sanitized && question.experiment.problem.n > lesson_experiment().problem.n;
}

/// Computes the single number of a question with a measure.
double number_of(const LessonQuestion& question, ComputeCache& cache) {
  const LessonAnswer a = answer(question, {.cache = &cache});
  EXPECT_THAT(a.problem, IsEmpty());
  return a.number();
}
double live(std::string_view target) {
  ComputeCache cache;
  return number_of(parse_live(target), cache);
}

/// `text` with the first live number of this target and old value replaced by the value `now`.
std::string rewritten(std::string text, const LessonNumber& number, const std::string& now) {
  const std::string link = "](live:" + number.target + ")", old = "[" + number.written + link;
  if (const std::size_t at = text.find(old); at != std::string::npos) text.replace(at, old.size(), "[" + now + link);
  return text;
}

/// A step explains one idea: more ideas give more steps, not longer steps.
TEST(LessonsText, EighteenLessonsOfFiveToThirteenSteps) {
  const Lessons& lessons = shipped_lessons();
  ASSERT_EQ(lessons.size(), 18u);
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    SCOPED_TRACE(lessons[i].name);
    EXPECT_EQ(std::stoul(lessons[i].name.substr(0, 2)), i + 1);
    EXPECT_GE(lessons[i].steps.size(), 5u);
    EXPECT_LE(lessons[i].steps.size(), 13u);
    EXPECT_TRUE(lessons[i].steps.front().title.ends_with("?")) << "begins with its question";
    EXPECT_EQ(lessons[i].steps[lessons[i].steps.size() - 2].title, "Check yourself");
    EXPECT_EQ(lessons[i].steps.back().title, "What you know now");
    EXPECT_THAT(lessons[i].steps.back().blocks.back().markdown, HasSubstr("**Sources**\n\n- "));
  }
}

/// The numbers of a line "Needs lessons 2 and 4. Takes 20 minutes."; empty for any other line.
std::vector<std::string> needed(const std::string& line) {
  static const std::regex form("Needs (no other lesson|lesson [0-9]+|lessons [0-9]+ and [0-9]+)[.] Takes [0-9]+ minutes[.]");
  std::vector<std::string> numbers;
  if (!std::regex_match(line, form)) return numbers;
  for (std::size_t at = 0; (at = line.find_first_of("0123456789", at)) != std::string::npos;) {
    const std::size_t end = line.find_first_not_of("0123456789", at);
    numbers.push_back(line.substr(at, end - at));
    at = end;
  }
  return numbers;
}

/// Minutes that a lesson takes: 120 words per minute, and 1.5 minutes for each view or question.
double reading_minutes(const Lesson& lesson) {
  std::istringstream text(prose_of(text_of(lesson)).words);
  const auto words = std::distance(std::istream_iterator<std::string>(text), {});
  return static_cast<double>(words) / 120 + 1.5 * static_cast<double>(views_of(lesson).size());
}

TEST(LessonsText, SayWhichLessonsAndHowManyMinutesTheyNeed) {
  for (const Lesson& lesson : shipped_lessons()) {
    std::vector<std::string> numbers = needed(lesson.needs);
    ASSERT_FALSE(numbers.empty()) << lesson.name << ": " << lesson.needs;
    EXPECT_NEAR(std::stod(numbers.back()), reading_minutes(lesson), 6) << lesson.name;
    numbers.pop_back();
    for (const std::string& earlier : numbers) EXPECT_LT(std::stoi(earlier), std::stoi(lesson.name)) << lesson.name;
  }
  EXPECT_THAT(needed("Needs lessons 2 and 4. Takes 20 minutes."), ElementsAre("2", "4", "20"));
  EXPECT_THAT(needed("Needs patience."), IsEmpty());
}

/// True for a step of questions: they are on cards below each other and are read one at a time.
bool asks(const std::string& step) { return step.find("## Check yourself") != std::string::npos; }

TEST(LessonsText, AStepFitsAScreen) {
  for (const Lesson& lesson : shipped_lessons()) {
    for (const std::string& step : prose_of(text_of(lesson)).steps) {
      if (asks(step)) continue;
      std::istringstream text(step);
      const auto words = std::count_if(std::istream_iterator<std::string>(text), {},
                                       [](const std::string& word) { return std::ranges::any_of(word, is_letter); });
      EXPECT_LE(words, 150) << lesson.name << ": " << step;
    }
    for (const LessonStep& step : lesson.steps) {
      const auto asks_reader = [](const LessonBlock& b) { return !b.view.empty() && is_question(b.view[0].kind); };
      const auto views = std::ranges::count_if(step.blocks, [](const LessonBlock& b) { return !b.view.empty(); });
      const auto questions = std::ranges::count_if(step.blocks, asks_reader);
      EXPECT_LE(views - questions, 1) << lesson.name << ": " << step.title;
      EXPECT_LE(questions, step.title == "Check yourself" ? 5 : 1) << lesson.name << ": " << step.title;
    }
  }
}

TEST(LessonsText, LiveNumbersAreComputed) {
  const char* const mode = std::getenv("ATTOSCOPE_LESSONS");
  const bool writes = mode != nullptr && std::string_view(mode) == "write";
  ComputeCache cache;
  for (const Lesson& lesson : shipped_lessons()) {
    std::string text = text_of(lesson);
    for (const LessonNumber& n : numbers_of(lesson)) {
      ASSERT_THAT(n.problem, IsEmpty()) << lesson.name;
      if (is_left_out(n.question)) continue;
      const std::string now = live_text(n.written, number_of(n.question, cache));
      if (writes)
        text = rewritten(std::move(text), n, now);
      else
        EXPECT_EQ(n.written, now) << lesson.name << ", line " << n.line << ": " << n.target;
    }
    if (writes) write_file(path_of(lesson), text);
  }
}

/// The words between the commas of a view's value.
std::vector<std::string> listed(const LessonView& view, std::string_view key) {
  std::vector<std::string> words;
  std::string_view rest = written(view, key);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, end);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    words.emplace_back(word);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

/// Question of a view with a measure, for one seed: this is enough to check that it has an answer.
LessonQuestion question_of(const LessonView& view) {
  LessonQuestion q{.experiment = view.experiment, .measure = std::string(written(view, "measure"))};
  for (const std::string_view key : {"vary", "vary2"})
    if (!written(view, key).empty()) q.vary.emplace_back(written(view, key));
  return q;
}

TEST(LessonsText, EveryViewIsKnownAndCanBeAnswered) {
  for (const Lesson& lesson : shipped_lessons())
    for (const LessonView& view : views_of(lesson)) {
      SCOPED_TRACE(lesson.name + ", line " + std::to_string(view.line));
      ASSERT_THAT(view.problem, IsEmpty());
      for (const std::string& control : listed(view, "controls")) EXPECT_NO_THROW(axis_key(control));
      for (const std::string& name : listed(view, "algorithms"))
        EXPECT_NE(std::ranges::find(algorithm_names, name), algorithm_names.end());
      for (const std::string& name : listed(view, "formats")) EXPECT_NO_THROW(parse_format(name));
      if (view.kind == LessonViewKind::heatmap) {
        EXPECT_NE(std::ranges::find(field_texts, written(view, "field"), &FieldText::name), field_texts.end());
      }
      const LessonQuestion question = question_of(view);
      if (is_left_out(question)) continue;
      const LessonAnswer a = answer(question, {});
      EXPECT_THAT(a.problem, IsEmpty());
      for (const SweepCell& p : a.table.cells) EXPECT_TRUE(std::isfinite(p.mean));
    }
}

TEST(LessonsText, QuizzesHaveOneClearAnswer) {
  for (const Lesson& lesson : shipped_lessons()) {
    int quizzes = 0;
    for (const LessonView& view : views_of(lesson)) {
      if (view.kind != LessonViewKind::quiz) continue;
      SCOPED_TRACE(lesson.name + ", line " + std::to_string(view.line));
      ++quizzes;
      EXPECT_FALSE(written(view, "question").empty());
      EXPECT_FALSE(written(view, "explanation").empty());
      if (!written(view, "equals").empty()) continue;  // FactsAreTrue checks it
      const LessonQuestion question = question_of(view);
      if (is_left_out(question)) continue;
      const LessonAnswer a = answer(question, {});
      if (written(view, "ask") == "number") {
        EXPECT_EQ(a.table.cells.size(), 1u);
        continue;
      }
      std::vector<double> numbers;
      for (const SweepCell& p : a.table.cells) numbers.push_back(written(view, "best") == "greatest" ? -p.mean : p.mean);
      std::ranges::sort(numbers);
      ASSERT_GE(numbers.size(), 2u);
      EXPECT_GT(numbers[1] - numbers[0], 0.1 * std::max(std::abs(numbers[0]), std::abs(numbers[1])));
    }
    EXPECT_GE(quizzes, 1) << lesson.name;
  }
}

/// A number in a lesson that is not live, and its value.
struct Fact {
  std::string_view lesson, said;
  double value;

  bool stands_in(const Lesson& l, std::string_view number) const { return said == number && l.name.starts_with(lesson); }
};

/// l after each score, as compute() traces it with one key per tile.
std::vector<double> row_sums(const std::vector<double>& scores) {
  Experiment e = lesson_experiment();
  const int n = static_cast<int>(scores.size());
  e.format = fp32;
  e.problem.input = given({n, n, 1, 1, std::vector<double>(scores.size(), 1), scores, scores});
  e.problem.n = n;
  e.problem.d = 1;
  e.problem.scale = 1;
  e.a.block_k = e.b.block_k = 1;
  std::vector<double> sums;
  for (const TraceTile& t : compute(e).trace.tiles) sums.push_back(t.l);
  return sums;
}

/// Value of `what` in the full result of the experiment of a live number's target.
double measured(std::string_view target, std::string_view what) {
  const LessonAnswer a = answer({.experiment = parse_live(target).experiment}, {});
  return a.result ? measure(*a.result, what) : std::nan("");
}

std::vector<Fact> facts_of_formats() {
  std::vector<Fact> facts{{"01", "0.0999755859375", round(fp16, 0.1)},
                          {"01", "0.10009765625", round(bf16, 0.1)},
                          {"01", "0.1015625", round(e4m3, 0.1)},
                          {"01", "2048", 2 / epsilon(fp16)},
                          {"01", "256", 2 / epsilon(bf16)},
                          {"01", "16", 2 / epsilon(e4m3)},
                          {"01", "59874", std::exp(11)},
                          {"01", "162755", std::exp(12)},
                          {"01", "11.09", std::log(largest(fp16))},
                          {"01", "88.72", std::log(largest(bf16))},
                          {"01", "88.72", std::log(largest(fp32))},
                          {"01", "80000", 100.0 * 100 * 64 / std::sqrt(64)},
                          {"01", "258", 256 + ulp(bf16, 256)},
                          {"02", "8", 1.0 * 1 * 64 / std::sqrt(64)},
                          {"02", "11.09", std::log(largest(fp16))},
                          {"02", "80000", 100.0 * 100 * 64 / std::sqrt(64)},
                          {"02", "800", 10.0 * 10 * 64 / std::sqrt(64)},
                          {"02", "65504", largest(fp16)},
                          {"02", "0.03125", ulp(bf16, 8) / 2},
                          {"03", "256", 2 / epsilon(bf16)},
                          {"09", "448", largest(e4m3)},
                          {"09", "1.75", largest(e4m3) / 256},
                          {"09", "0.807", std::log2(largest(e4m3)) - 8},
                          {"10", "0.0078125", ulp(bf16, 1)}};
  struct Row {
    Format format;
    std::array<std::string_view, 5> said;
  };
  for (const Row& r :
       {Row{fp32, {"8", "23", "3.4e38", "1.2e-38", "1.4e-45"}}, Row{bf16, {"8", "7", "3.4e38", "1.2e-38", "9.2e-41"}},
        Row{fp16, {"5", "10", "65504", "6.1e-5", "6.0e-8"}}, Row{e5m2, {"5", "2", "57344", "6.1e-5", "1.5e-5"}},
        Row{e4m3, {"4", "3", "448", "0.0156", "0.00195"}}}) {
    const Format& f = r.format;
    const std::array<double, 5> is{double(f.exponent_bits), double(f.mantissa_bits), largest(f), smallest_normal(f),
                                   smallest_subnormal(f)};
    for (std::size_t i = 0; i < is.size(); ++i) facts.push_back({"01", r.said[i], is[i]});
  }
  return facts;
}

std::vector<Fact> facts_of_results() {
  const std::vector<double> l = row_sums({1, 3, 2, 5});
  constexpr std::string_view tied =
      "a.bias?input=presets/tied_maxima.safetensors&n=128&policy=exact&a.P=main&a.O=main&a.output=main";
  constexpr std::string_view stale =
      "a.rms?n=1024&input=ascending&format=e4m3&a.output=exact&p_exponent=8&algorithm=flash4&tau=8";
  const double P = live("a.mean_abs?n=1024&policy=exact&a.P=main"),
               output = live("a.mean_abs?n=1024&policy=exact&a.output=main");
  const std::vector<double> by_hand = row_sums({1, 3, 2});
  return {{"04", "1.5032", by_hand[2]},
          {"04", "1.1353", l[1]},
          {"04", "1.5032", l[2]},
          {"04", "1.2034", l[3]},
          {"04", "1.2034", std::exp(-4) + std::exp(-2) + std::exp(-3) + 1},
          {"04", "0.1353", std::exp(-2)},
          {"04", "0.3679", std::exp(-1)},
          {"04", "0.42", 1 - 0.57721566490153286},
          {"07", "8.2e-5", std::sqrt(P * P + output * output)},
          {"09", "719", measured(stale, "sum trace.tiles.*.saturated")},
          {"10", "-0.25", measured(tied, "mean fields.a_ulps")}};
}

/// Answers to questions that are solved by hand, and numbers of machines and tiles.
std::vector<Fact> facts_of_derivations() {
  const DataSheet& a100 = data_sheets[0];
  double sum = 0;
  for (int i = 0; i < 300; ++i) sum = round(bf16, sum + 1);
  const double tied = round(bf16, -1 - 1.0078125 - 1e-3);
  return {{"01", "256", sum},
          {"02", "1", 3 * (1 / 3.0)},
          {"03", "7", 3 + 3 + 1},
          {"03", "16384", 1 / smallest_normal(fp16)},
          {"03", "6.1e-5", smallest_normal(fp16)},
          {"05", "2", 6 / (2 + std::exp(0))},
          {"06", "312", a100.tera_flops},
          {"06", "16384", 4.0 * 64 * 64},
          {"06", "2039", a100.giga_bytes},
          {"06", "153", ridge(a100)},
          {"06", "20.7", 192 * 108 * 1e-3},
          {"06", "16", 1024.0 / 64},
          {"07", "5", std::sqrt(3.0 * 3 + 4 * 4)},
          {"07", "2", ulp(bf16, 1000) / 2},
          {"08", "4", std::sqrt(16.0)},
          {"09", "8", std::exp2(3)},
          {"10", "-2.015625", tied},
          {"10", "-2", round(bf16, -1 - 1.0078125)},
          {"11", "1.5", 0.006 / 0.004},
          {"11", "94", 100 * (1 - 1 / 16.0)},
          {"12", "1", (0 + 3 + 0) / 3.0},
          {"12", "0.002", 2 * 0.001},
          {"12", "2", 0.5 * 3 + 0.5 * 1},
          {"12", "32", double(trained_model.width)},
          {"12", "60", double(trained_model.steps)},
          // SmolLM2-135M: tests/python/against_test.py computes these numbers if the model is installed
          {"18", "0.0063", 0.0063},
          {"18", "0.029", 0.029},
          {"18", "25", 100 * (0.04 - 0.03) / 0.04}};
}

/// Sum of the numbers and c in an adder that truncates to `bits` bits below the largest exponent.
double cut_sum(int bits, std::vector<float> numbers, float c) {
  TensorCoreRule rule = tensor_core_rule(TensorCore::h100, fp16, SumType::f32);
  rule.aligned_bits = bits;
  const std::vector<float> ones(numbers.size(), 1.0F);
  return tensor_core_dot(rule, numbers, ones, c);
}

std::vector<Fact> facts_of_tensor_cores() {
  const TensorCoreRule eight = tensor_core_rule(TensorCore::h100, e4m3, SumType::f32),
                       half = tensor_core_rule(TensorCore::h100, bf16, SumType::f32),
                       blackwell = tensor_core_rule(TensorCore::b200, e4m3, SumType::f32);
  float whole = 512;
  for (int i = 0; i < 100; ++i) whole = static_cast<float>(cut_sum(9, {0.9F}, whole));
  return {{"13", "8", cut_sum(3, {8, 0.75F, 0.75F}, 0)},
          {"13", "2", std::ldexp(1.0, 14 - eight.aligned_bits)},
          {"13", "512", whole},
          {"13", "1", 100 * 0.01},
          {"13", "13", double(eight.aligned_bits)},
          {"13", "25", double(half.aligned_bits)},
          {"13", "25", double(blackwell.aligned_bits)},
          {"13", "23", double(fp32.mantissa_bits)},
          {"13", "16", double(half.block)},
          {"13", "128", double(drift_tile)},
          {"13", "0.5", SumDrift{}.mean},
          {"13", "256", std::exp2(8)}};
}

std::vector<Fact> facts_of_scales() {
  constexpr int n = 1024, d = 64;  // shape of the example's heads
  const auto bits = [](const char* storage) { return bits_per_element(parse_scaling(storage), ScaledTensor::K, n, d); };
  const ElementRounder<double> to_e4m3(element_e4m3), to_int8(element_int8);
  std::vector<Fact> facts{{"14", "8.0005", bits("int8/head")},
                          {"14", "8.03", bits("int8/channel")},
                          {"14", "8.5", bits("int8/token")},
                          {"14", "9", bits("int8/block:32")},
                          {"14", "8.25", bits("e4m3/block:32/e8m0/ceil")},
                          {"14", "4.25", bits("e2m1/block:32/e8m0/ceil")},
                          {"14", "4.5", bits("e2m1/block:16/e4m3")},
                          {"14", "496", std::floor(std::ldexp(0.97, 9))},
                          {"14", "448", to_e4m3(std::ldexp(0.97, 9))},
                          {"14", "127", largest(element_int8)},
                          {"14", "0", to_int8(0.9 / (254 / largest(element_int8)))},
                          {"14", "6", largest(element_e2m1)},
                          {"14", "32", double(parse_scaling("e4m3/block:32/e8m0/ceil").block)},
                          {"14", "16", double(parse_scaling("e2m1/block:16/nvfp4").block)},
                          {"14", "256", std::exp2(8)}};
  const double scale = 4.0 / 127, stored = to_int8(3 / scale);  // the first tile of the stepper
  facts.push_back({"14", "95", stored});
  facts.push_back({"14", "2.9921", stored * scale});
  const ElementRounder<double> to_e2m1(element_e2m1);
  for (const auto& [said, x] : {std::pair{"0.5", 0.5}, std::pair{"1.5", 1.5}, std::pair{"6", 6.0}})
    facts.push_back({"14", said, to_e2m1(x)});
  return facts;
}

std::vector<Fact> facts_of_gradients() {
  constexpr double tokens = 65536, kib = 1024;
  const double delta = 0.25 * 4 + 0.75 * 0;
  return {{"15", "65536", tokens},
          {"15", "8", tokens * tokens * 2 / (kib * kib * kib)},
          {"15", "256", tokens * 4 / kib},
          {"15", "1", delta},
          {"15", "0.75", 0.25 * (4 - delta)},
          {"15", "-0.75", 0.75 * (0 - delta)},
          {"16", "8", std::sqrt(64.0)},
          {"16", "0.128", 64 * 0.002},
          {"17", "256", round(bf16, round(bf16, 256.0 + 1) + 1)},
          {"17", "258", round(bf16, 256 + round(bf16, 1.0 + 1))}};
}

std::vector<Fact> facts() {
  std::vector<Fact> all;
  for (const auto& part : {facts_of_formats(), facts_of_gradients(), facts_of_results(), facts_of_derivations(),
                           facts_of_tensor_cores(), facts_of_scales()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(LessonsText, AnswersFoundByHandAreFacts) {
  const std::vector<Fact> known = facts();
  for (const Lesson& lesson : shipped_lessons())
    for (const LessonView& view : views_of(lesson)) {
      const std::string_view equals = written(view, "equals");
      if (equals.empty()) continue;
      EXPECT_TRUE(std::ranges::any_of(known, [&](const Fact& f) { return f.stands_in(lesson, equals); }))
          << lesson.name << ", line " << view.line;
    }
}

TEST(LessonsText, FactsAreTrue) {
  for (const Fact& f : facts()) EXPECT_EQ(f.said, live_text(f.said, f.value)) << "lesson " << f.lesson;
}

/// Numbers that a lesson sets itself: in its experiment, its views and the targets of its live numbers.
std::set<std::string> chosen_numbers(const Lesson& lesson) {
  const Problem usual = lesson_experiment().problem;
  std::set<std::string> chosen{"0", "1", "2", "3", "4", "5", std::to_string(usual.n), std::to_string(usual.d)};
  const auto add = [&](std::string_view text) {
    for (const std::string& number : numbers_in(text)) chosen.insert(number);
  };
  const auto spaced = [](std::string text) {
    std::ranges::replace_if(text, [](char c) { return c == '=' || c == ':' || c == ',' || c == '&'; }, ' ');
    return text;
  };
  for (const LessonView& view : views_of(lesson)) {
    const bool by_hand = !written(view, "equals").empty();  // the text of a question solved by hand sets its own numbers
    for (const LessonParameter& p : view.parameters)
      if (by_hand || (p.key != "question" && p.key != "explanation")) add(spaced(p.value));
  }
  for (const LessonNumber& n : numbers_of(lesson)) add(spaced(n.target));
  return chosen;
}

/// Numbers quoted from a paper or a data sheet, chosen for an example, or checked by claims_test.cpp and causes_test.cpp.
constexpr Fact quoted[] = {{"06", "80", 0},   {"06", "108", 0},  {"06", "192", 0},  {"07", "1000", 0}, {"08", "1.7", 0},
                           {"08", "13.6", 0}, {"09", "0.86", 0}, {"09", "2026", 0}, {"14", "0.8", 0},  {"14", "1.4", 0},
                           {"14", "0.05", 0}, {"14", "2.7", 0},  {"17", "37.9", 0}};

TEST(LessonsText, EveryNumberIsLiveChosenOrAFact) {
  const std::vector<Fact> known = facts();
  for (const Lesson& lesson : shipped_lessons()) {
    const std::set<std::string> chosen = chosen_numbers(lesson);
    const Prose prose = prose_of(text_of(lesson));
    const auto accounted = [&](const std::string& number) {
      const auto is_it = [&](const Fact& f) { return f.stands_in(lesson, number); };
      return chosen.contains(number) || std::ranges::any_of(known, is_it) || std::ranges::any_of(quoted, is_it);
    };
    for (const std::string& number : numbers_in(prose.words))
      EXPECT_TRUE(accounted(number)) << lesson.name << " says " << number;
    for (const std::string& formula : prose.formulas)
      for (const std::string& number : numbers_in(formula))
        EXPECT_TRUE(number.size() < 3 || accounted(number)) << lesson.name << " says " << number << " in " << formula;
  }
}

TEST(LessonsText, FindsTheNumbersOfASentence) {
  EXPECT_THAT(numbers_in("In bf16, 27 of 1.2e-7 at -0.25 by FlashAttention-2 (lesson 8), the 2nd, 3. And 64 x 64."),
              ElementsAre("27", "1.2e-7", "-0.25", "3", "64", "64"));
  EXPECT_EQ(
      prose_of("# A\n\n## B?\n\nIt is $x = 1$ or [2](live:a.rms), `c 3`\n\n```bits\nvalue: 4\n```\n\n**Sources**\n5\n").words,
      "# A\n\n## B?\n\nIt is   or  ,  \n\n\n");
}

/// Commands that MicroTeX and web pages both draw.
const std::set<std::string_view> commands{"alpha", "approx", "beta",  "cdot",       "cdots",     "delta", "frac",   "hat",
                                          "infty", "lceil",  "le",    "left",       "ln",        "log",   "mathrm", "max",
                                          "min",   "qquad",  "quad",  "rceil",      "right",     "sigma", "sqrt",   "sum",
                                          "tau",   "text",   "tilde", "underbrace", "Rightarrow"};

/// The fault of a formula, or "".
std::string fault_of(std::string_view formula) {
  int depth = 0;
  std::ptrdiff_t sides = 0;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    depth += formula[i] == '{' ? 1 : formula[i] == '}' ? -1 : 0;
    if (depth < 0) return "a brace too many is closed";
    if (formula[i] != '\\') continue;
    std::size_t end = i + 1;
    while (end < formula.size() && is_letter(formula[end]) && formula[end] != '_') ++end;
    const std::string_view command = formula.substr(i + 1, end - i - 1);
    if (!commands.contains(command)) return "\\" + std::string(command) + " is not drawn everywhere";
    sides += command == "left" ? 1 : command == "right" ? -1 : 0;
  }
  return depth != 0 ? "a brace is left open" : sides != 0 ? "left without right" : "";
}

TEST(LessonsText, FormulasAreDrawnEverywhere) {
  for (const Lesson& lesson : shipped_lessons()) {
    const Prose prose = prose_of(text_of(lesson));
    EXPECT_EQ(prose.words.find('$'), std::string::npos) << lesson.name << ": a dollar without its partner";
    for (const std::string& formula : prose.formulas) {
      EXPECT_THAT(fault_of(formula), IsEmpty()) << lesson.name << ": " << formula;
      EXPECT_EQ(formula.find("\n\n"), std::string::npos) << lesson.name << ": " << formula;
    }
  }
  EXPECT_THAT(fault_of("\\frac{a}{b"), HasSubstr("open"));
  EXPECT_THAT(fault_of("a}"), HasSubstr("too many"));
  EXPECT_THAT(fault_of("\\left( a"), HasSubstr("left"));
  EXPECT_THAT(fault_of("a \\, b"), HasSubstr("not drawn"));
}

/// The formula draws no blank around a word in \text: the word needs its own beside a letter or a number.
TEST(LessonsText, WordsInFormulasAreApartFromTheirNeighbours) {
  const std::regex joined(R"(\\text\{[^}]*[^ }]\} ?[A-Za-z0-9]|(_[a-z]|[0-9]) ?\\text\{[^ ])");
  for (const Lesson& lesson : shipped_lessons())
    for (const std::string& formula : prose_of(text_of(lesson)).formulas)
      EXPECT_FALSE(std::regex_search(formula, joined)) << lesson.name << ": " << formula;
  EXPECT_TRUE(std::regex_search("\\text{scale} dS K", joined));
  EXPECT_TRUE(std::regex_search("\\alpha_i \\text{scale}", joined));
  EXPECT_FALSE(std::regex_search("\\text{scale } dS, \\quad a_i \\text{ by } \\text{rowsum}(P)", joined));
}

/// The text without words that contain a digit, such as bf16 or FlashAttention-2.
std::string without_names(const std::string& text) {
  std::istringstream words(text);
  std::string kept;
  for (std::string word; words >> word;)
    if (std::ranges::none_of(word, is_digit)) kept += word + "\n";
  return kept;
}

/// Words of `text` that are in neither aspell's British English nor tests/words.txt, one a line.
std::string misspelt(const std::string& text) {
  const TemporaryDirectory directory;
  write_file(directory / "text", without_names(text));
  const std::string command = "aspell list --lang=en_GB-ise --encoding=utf-8 --personal=\"$PWD/tests/words.txt\" <\"" +
                              (directory / "text") + "\" >\"" + (directory / "words") + "\" 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  return read_file(directory / "words", largest_file);
}

TEST(LessonsText, IsSpeltWell) {
  if (std::system("command -v aspell >/dev/null") != 0) GTEST_SKIP() << "aspell is missing: NO LESSON'S SPELLING WAS CHECKED";
  EXPECT_EQ(misspelt("We recieve a number in bf16.\n"), "recieve\n");
  for (const Lesson& lesson : shipped_lessons()) EXPECT_EQ(misspelt(prose_of(text_of(lesson)).words), "") << lesson.name;
}

}  // namespace
}  // namespace attoscope
