// The views of lessons with numbers, pictures and plots: their texts, and the effects of their controls.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>

#include "app/explore/lessons.h"
#include "implot.h"
#include "implot_internal.h"
#include "kernels/experiment/answer_tensor.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "tests/support/figure_support.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/views/view_parts.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/sum_rows.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::testing::lesson_view_cases {
namespace {

const std::string page = "//Learn/**/";

using Changes = std::vector<LessonParameter>;

/// Shows a lesson with a single view and these answers.
void show(Hand& hand, const std::string& block, const std::vector<LessonAnswerPtr>& answers = {}) {
  Session session = small_session(Workspace::learn);
  session.lesson.name = "test";
  hand.stage.resize(1600, 1000);
  hand.stage.open(session);
  PanelInput input;
  Lesson lesson = parse_lesson("test", "# Test\n\n## Step\n\n```" + block + "\n```\n");
  resolve(lesson);
  input.learn.lessons = std::make_shared<const Lessons>(Lessons{std::move(lesson)});
  input.learn.answers = std::make_shared<const LessonAnswers>(answers);
  input.learn.vary = vary_in_lesson;
  hand.stage.told = std::move(input);
  hand.frames(3);
}

const LessonView& view_of(Hand& hand) {
  return hand.stage.told->learn.lessons->front().steps.back().blocks.back().view.front();
}
/// The view's sentence about itself.
std::string summary(Hand& hand) { return hand.stage.state->learn->views.at(0).summary; }

/// Shows the view with the answer to its experiment, or to `question`; returns the answer.
LessonAnswerPtr show_answered(Hand& hand, const std::string& block, LessonQuestion question = {}) {
  show(hand, block);
  question.experiment = view_of(hand).experiment;
  auto known = std::make_shared<const LessonAnswer>(answer(question, {}));
  hand.check(known->problem.empty(), known->problem);
  show(hand, block, {known});
  hand.check(hand.stage.state->learn->problems.empty(), "nothing is wrong with " + block);
  return known;
}

/// The change of exactly these keys of the view by the reader.
std::function<void(Session&)> changed(Changes changes) {
  return [changes = std::move(changes)](Session& s) {
    s.lesson.views.clear();
    if (!changes.empty()) s.lesson.views = {{"test", 0, changes}};
  };
}

void expect(Hand& hand, const std::string& block, const std::string& what, const std::function<void()>& act, Changes changes,
            Hand::Where where = Hand::Where::current()) {
  show(hand, block);
  hand.changes(what, act, changed(std::move(changes)), where);
}

/// Expects the page to show a sentence with `part`.
void expect_problem(Hand& hand, const std::string& block, const std::string& part, Hand::Where where = Hand::Where::current()) {
  show(hand, block);
  const auto& problems = hand.stage.state->learn->problems;
  const std::string all = view_of(hand).problem + (problems.empty() ? "" : problems[0]);
  hand.check(has(all, part), block + " says \"" + all + "\"", where);
}

// --- numbers ----------------------------------------------------------------------------------------------------------

/// The digits of a code of a format.
BitText bits_of_code(const Format& f, unsigned code) {
  std::string digits;
  for (int i = f.exponent_bits + f.mantissa_bits; i >= 0; --i) digits += ((code >> i) & 1u) != 0 ? '1' : '0';
  const auto e = static_cast<std::size_t>(f.exponent_bits);
  return {digits.substr(0, 1), digits.substr(1, e), digits.substr(1 + e)};
}

/// Every code of a format: its number has these bits, and the next code's number is its neighbour.
CASE(lesson_views, codes) {
  for (const Format& f :
       {e4m3, e5m2, fp16, bf16, Format{2, 1}, Format{4, 3}, Format{5, 0}, Format{3, 0, Overflow::nan, true}}) {
    int wrong_bits = 0, wrong_neighbours = 0;
    const unsigned positive = 1u << (f.exponent_bits + f.mantissa_bits);
    for (unsigned code = 0; code < 2 * positive; ++code) {
      const BitText bits = bits_of_code(f, code);
      const double x = number_of(f, code);
      if (!std::isfinite(x)) continue;
      const BitText back = bits_of(f, x);
      wrong_bits += back.sign != bits.sign || back.exponent != bits.exponent || back.mantissa != bits.mantissa || !back.exact;
      const double next = code + 1 < positive ? number_of(f, code + 1) : NAN;
      if (!std::isfinite(next) || code + 1 >= positive) continue;
      wrong_neighbours += neighbour(f, x, true) != next || neighbour(f, next, false) != x || neighbour(f, -x, false) != -next ||
                          (x != 0 && neighbour(f, -next, true) != -x);
    }
    hand.check(wrong_bits == 0, name(f) + ": bits and back");
    hand.check(wrong_neighbours == 0, name(f) + ": neighbours");
    const double beyond = neighbour(f, largest(f), true), rounded = round(f, INFINITY);
    hand.check(beyond == rounded || (std::isnan(beyond) && std::isnan(rounded)), name(f) + ": beyond the largest");
  }
  hand.check(neighbour(fp16, INFINITY, false) == 65504 && std::isnan(neighbour(fp16, NAN, true)), "infinity and NaN");
  hand.check(std::isnan(number_of(fp16, 0x7c01)) && std::isinf(number_of(fp16, 0xfc00)), "the top exponent");
}

CASE(lesson_views, reals) {
  hand.check(real_of("0.1") == 0.1 && real_of("-1/4") == -0.25 && real_of("2^-14") == std::ldexp(1.0, -14), "numbers");
  hand.check(real_of("exp(11)") == std::exp(11.0) && real_of("-exp(0)") == -1.0 && real_of("+2") == 2.0,
             "exponentials and signs");
  hand.check(real_of("inf") == INFINITY && std::isnan(real_of("nan").value_or(0)), "infinity and NaN as text");
  for (const char* text : {"", "x", "1/0", "0/0", "-1/0", "exp()", "exp(1", "exp(1000)", "2^", "2^inf", "1e999", "0x10", "in"})
    hand.check(!real_of(text), std::string("'") + text + "' is no number");
  hand.check(in_full(0.1) == "0.1" && in_full(round(fp16, 0.1)) == "0.0999755859375" && in_full(INFINITY) == "inf", "in full");
  hand.check(compact(999999) == "999999" && compact(-999999.5) == "-1e6" && compact(1.5e6) == "1.5e6", "compact");
}

// --- bits -------------------------------------------------------------------------------------------------------------

/// Errors that do not fit beside the formulas stand below all of them, also while x needs less room.
CASE(lesson_views, errors_of_bits) {
  show(hand, "bits\nvalue: 0.1\nformats: fp32, fp16");
  const auto row = [&] { return hand.place(page + "fp16/bits", 0).y - hand.place(page + "fp32/bits", 0).y; };
  const float beside = row();
  hand.resize(1280, 800);
  const float below = row();
  hand.check(below > beside + 10, "the error of fp32 has its own line");
  hand.fill(page + "##value", "1");
  hand.frames(2);
  hand.check(row() == below, "the rows keep their places");
  hand.resize(1600, 1000);
  hand.check(row() == beside, "and stand beside where there is room");
}

CASE(lesson_views, bits) {
  const std::string one = "bits\nvalue: 0.1\nformat: fp16";
  const auto press = [&](const char* what) { return [&hand, what] { hand.click(page + what); }; };
  expect(hand, one, "another value", [&] { hand.fill(page + "##value", "1/3"); }, {{"value", in_full(1.0 / 3)}});
  expect(hand, one, "what is written is no change", [&] { hand.fill(page + "##value", "0.1"); }, {});
  expect(hand, one, "no number", [&] { hand.fill(page + "##value", "much"); }, {});
  expect(hand, one, "the other sign", press("###sign"), {{"value", "-0.1"}});
  expect(hand, one, "the next number", press("###next"), {{"value", "0.10003662109375"}});
  expect(hand, one, "the previous number", press("###previous"), {{"value", "0.09991455078125"}});
  expect(hand, one, "exponent", [&] { hand.type(page + "##exponent", "-3"); }, {{"value", "0.2"}});
  expect(hand, one, "fraction", [&] { hand.type(page + "##fraction", "512"); }, {{"value", in_full(1.5 / 16)}});
  show(hand, one);
  const auto bit = [&](int i) { return hand.place(page + "fp16/bits", (static_cast<float>(i) + 0.5f) / 16); };
  hand.changes("the last bit", [&] { hand.press(bit(15)); }, changed({{"value", "0.10003662109375"}}));
  hand.changes("the sign bit", [&] { hand.press(bit(0)); }, changed({{"value", "-0.10003662109375"}}));
  hand.press(bit(1), changed({{"value", in_full(-0.10003662109375 * 65536)}}));
}

CASE(lesson_views, bits_words) {
  show(hand, "bits\nvalue: 0.1\nformat: fp16");
  hand.expect_text(summary(hand), "x = 0.1 is stored in fp16 as 0.0999755859375.");
  show(hand, "bits\nvalue: 65520\nformats: fp16, bf16, fp32");
  hand.expect_text(summary(hand), "x = 65520 is a number of 1 of these 3 formats.");
  show(hand, "bits\nvalue: 1/3\nformats: fp16, bf16");
  hand.check(has(summary(hand), "fp16 is closest, " + scientific(1.0 / 3 - round(fp16, 1.0 / 3))), summary(hand));
  for (const char* value : {"inf", "nan", "0", "1e-320", "1.7e308", "-2^-24"})
    for (const char* rest : {"formats: fp64, fp32, tf32, e4m3, e5m2, e2m0\nshow: neighbours, range",
                             "format: e4m3/ieee/infinity\nshow: overflow", "format: e5m0", "format: e11m52"}) {
      show(hand, std::string("bits\nvalue: ") + value + "\n" + rest);
      hand.check(hand.stage.state->learn->problems.empty() && !summary(hand).empty(), std::string(value) + " in " + rest);
    }
  expect_problem(hand, "bits\nvalue: much", "value is 'much', expected a number such as");
  expect_problem(hand, "bits\nformats: fp16, fp17", "fp17");
  expect_problem(hand, "bits\nshow: everything", "show is 'everything', expected neighbours, range or overflow");
}

// --- sum --------------------------------------------------------------------------------------------------------------

constexpr const char* sum_block = "sum\ngpu: h100\nformat: fp16\na: 1.5, 0.25\nb: 1, 2\nc: 4";

/// Digits of elements and scales against known codes: OCP MX 1.0, tables of e2m1 and e8m0.
CASE(lesson_views, digits_of_blocks) {
  const auto is = [&](const Element& e, double x, const char* digits) {
    hand.check(element_digits(e, x) == digits, name(e) + " " + std::to_string(x) + " is " + element_digits(e, x));
  };
  is(element_e2m1, 6, "0111");
  is(element_e2m1, -0.5, "1001");
  is(element_e2m1, 4, "0110");
  is(element_e2m1, 1.5, "0011");
  is(element_e3m2, 28, "011111");
  is(element_e4m3, 448, "01111110");
  is(element_e4m3, std::ldexp(1.0, -9), "00000001");
  is(element_int8, -127, "10000001");
  is(element_int8, 5, "00000101");
  is(element_int4, -7, "1001");
  hand.check(scale_digits(ScaleFormat::e8m0_scale, 1) == "01111111", "2^0 in e8m0");
  hand.check(scale_digits(ScaleFormat::e8m0_scale, std::ldexp(1.0, -9)) == "01110110", "2^-9 in e8m0");
  hand.check(scale_digits(ScaleFormat::e4m3_scale, 224) == "01110110", "224 in e4m3");
}

CASE(lesson_views, block_bits) {
  const std::string block = "bits\nstorage: int8/token\nnumbers: 254, 3, 0.9, -5";
  show(hand, block);
  hand.expect_text(summary(hand), "4 elements of 8 bits and one scale of 32: mean |error| 7.25e-1, 1 became 0.");
  const auto press = [&](const char* what) { return [&hand, what] { hand.click(page + what); }; };
  expect(hand, block, "NVFP4", press("storage/NVFP4"), {{"storage", "e2m1/block:16/nvfp4"}});
  expect(hand, block, "what is written is no change", press("storage/int8"), {});
  expect(hand, block, "other numbers", [&] { hand.fill(page + "##numbers", "1, 2^-3"); }, {{"numbers", "1, 2^-3"}});
  expect(hand, block, "no number", [&] { hand.fill(page + "##numbers", "1, much"); }, {});
  expect(hand, block, "an outlier", [&] { hand.type(page + "##outlier", "64"); }, {{"outlier", "64"}});
  const std::string stored = "bits\nstorage: int8/token\n";
  expect(hand, stored + "numbers: 1e35", "an outlier beyond fp32", [&] { hand.type(page + "##outlier", "4096"); }, {});
  hand.check(has(hand.stage.state->learn->views.at(0).complaint, "outlier or head is too large"), "the outlier is refused");
  expect(hand, stored + "outlier: 4096", "a number beyond fp32", [&] { hand.fill(page + "##numbers", "1e35"); }, {});
  hand.check(has(hand.stage.state->learn->views.at(0).complaint, "outlier or head is too large"), "the number is refused");
  show(hand, "bits\nstorage: int8/token\nnumbers: 5");
  hand.check(has(summary(hand), "1 element of 8 bits and one scale of 32: "), summary(hand));
  show(hand, "bits\nstorage: e4m3/block:32/e8m0/floor\nnumbers: 0.97, -0.25");
  hand.check(has(summary(hand), "2 elements of 8 bits and one scale of 8") && has(summary(hand), "1 saturated"), summary(hand));
  for (const char* storage :
       {"e2m1/block:16/nvfp4", "e2m1/block:32/e8m0/ceil", "int4/token", "e3m2/head", "e5m2/x2", "e4m3/block:16/e4m3"})
    for (const char* numbers : {"0", "1e30, 1e-30, -3", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17"}) {
      show(hand, std::string("bits\nstorage: ") + storage + "\nnumbers: " + numbers);
      hand.check(has(summary(hand), "one scale of"), std::string(storage) + " of " + numbers + ": " + summary(hand));
    }
  expect_problem(hand, "bits\nstorage: e4m3/sideways", "expected off, or an element");
  expect_problem(hand, "bits\nstorage: int8/token\nnumbers: 1, much", "numbers is 'much'");
  expect_problem(hand, "bits\nstorage: int8/token\nnumbers: 1, 1e39", "numbers is '1e39', expected finite numbers of fp32");
  for (const char* large : {"outlier: 4096", "head: 1e300"})
    expect_problem(hand, std::string("bits\nstorage: e2m1/block:16/nvfp4\nnumbers: 3e38\n") + large,
                   "outlier or head is too large");
}

/// The digits of a row from the first column to the last; a bar before the lost ones.
std::string digits_of(const SumRow& row, const SumTable& table) {
  std::string digits;
  for (int power = table.top; power >= table.bottom; --power) {
    if (power == row.kept_from - 1) digits += '|';
    digits += row.digit(power);
  }
  return digits;
}

/// A block with three bits after the largest exponent: 8 + 0.75 * 1.5 + 2, in columns from 2^3 to 2^-3.
CASE(lesson_views, sum_rows) {
  TensorCoreRule rule = tensor_core_rule(TensorCore::h100, fp16, SumType::f32);
  rule.aligned_bits = 3;
  const std::vector<float> a{0.75F, -1, 0}, b{1.5F, 2, 5};
  const TensorCoreBlock block = tensor_core_blocks(rule, a, b, 8).front();
  const SumTable table = sum_table(rule, block, {.first = 16}, 40);
  hand.check(table.rows.size() == 5 && table.terms == 3 && table.top == 3 && table.bottom == -3, "its rows and columns");
  hand.check(table.rows[0].label == "a·b 16" && table.rows[1].label == "a·b 17" && table.rows[2].label == "c", "its labels");
  hand.expect_text(digits_of(table.rows[0], table), "   1|001");
  hand.expect_text(digits_of(table.rows[1], table), "  10|   ");
  hand.expect_text(digits_of(table.rows[2], table), "1000|   ");
  hand.check(table.rows[3].value == 7 && table.rows[4].value == 7, "8 + 1 - 2");
  hand.check(table.lost == 0.125 && !table.more, "the part that was cut off");
  const SumTable narrow = sum_table(rule, block, {}, 5);
  hand.check(narrow.bottom == -1 && narrow.more, "fewer columns");
  const TensorCoreRule eight = tensor_core_rule(TensorCore::b200, e4m3, SumType::f32);
  const std::vector<float> two{2};
  const SumTable later = sum_table(eight, tensor_core_blocks(eight, two, two, 0.5F).front(), {}, 40);
  hand.check(later.terms == 1 && later.rows.size() == 4 && later.rows[2].label == "c" && later.rows[3].value == 4.5,
             "c after the block");
}

CASE(lesson_views, sum) {
  const auto press = [&](const char* what) { return [&hand, what] { hand.click(page + what); }; };
  expect(hand, sum_block, "another GPU", press("gpu/a100"), {{"gpu", "a100"}});
  expect(hand, sum_block, "another format", press("format/bf16"), {{"format", "bf16"}});
  expect(hand, sum_block, "sums in fp16", press("result/f16"), {{"result", "f16"}});
  expect(hand, sum_block, "what is written is no change", press("gpu/h100"), {});
  expect(hand, sum_block, "other factors", [&] { hand.fill(page + "##a", "1, 2^-3, 1/4"); }, {{"a", "1, 2^-3, 1/4"}});
  expect(hand, sum_block, "another c", [&] { hand.fill(page + "##c", "-7"); }, {{"c", "-7"}});
  expect(hand, sum_block, "no number", [&] { hand.fill(page + "##b", "1, much"); }, {});
  expect(hand, sum_block, "c is one number", [&] { hand.fill(page + "##c", "1, 2"); }, {});
  const std::string five = "sum\ngpu: v100\na: 1, 1, 1, 1, 1\nb: 1, 1, 1, 1, 1";
  expect(hand, five, "the next block", press("###next block"), {{"block", "2"}});
  expect(hand, five + "\nblock: 2", "the one before", press("###block before"), {{"block", "1"}});
}

CASE(lesson_views, sum_words) {
  show(hand, sum_block);
  hand.expect_text(summary(hand), "h100, block 1 of 1: nothing is cut off; the result is 6, the exact sum.");
  show(hand, "sum\ngpu: h100\nformat: e4m3\na: 1.5, 1.25\nb: 1, 1\nc: 30000");
  hand.expect_text(summary(hand),
                   "h100, block 1 of 1: bits below 2^1 are cut off, 2.75 in all; the result is 30000, off by -2.75.");
  show(hand, "sum\ngpu: v100\na: 1, 1, 1, 1, 1\nb: 1\nblock: 9");
  hand.check(has(summary(hand), "v100, block 2 of 2: "), "the last block: " + summary(hand));
  show(hand, "sum\ngpu: v100\nformat: bf16");
  hand.check(has(summary(hand), "v100 multiplies no bf16, expected fp16, or for bf16 a100"), summary(hand));
  for (const char* c : {"inf", "nan", "1e38", "0", "2^-149"})
    for (const char* rest : {"", "\nresult: f16", "\ngpu: b200\nformat: e5m2", "\na: 0", "\na: 60000, -inf\nb: 60000, 1"}) {
      show(hand, std::string("sum\nc: ") + c + rest);
      hand.check(hand.stage.state->learn->problems.empty() && !summary(hand).empty(), std::string(c) + rest);
    }
  expect_problem(hand, "sum\ngpu: h800", "GPU 'h800' is unknown");
  expect_problem(hand, "sum\na: 1, much", "a is 'much', expected a number such as");
  expect_problem(hand, "sum\nblock: 0", "block is '0'");
}

// --- heat map ---------------------------------------------------------------------------------------------------------

constexpr const char* small = "\nn: 32\nd: 8\nblock_k: 8\n";

CASE(lesson_views, heatmap) {
  const std::string block = std::string("heatmap\nfield: a_error\ncontrols: format, policy, n, block_k") + small;
  const auto known = show_answered(hand, block);
  const Result& r = *known->result;
  hand.check(has(summary(hand), verdict(r).headline) && has(summary(hand), "a " + scientific(r.a_error.mean_abs)) &&
                 has(summary(hand), "b " + scientific(r.b_error.mean_abs)),
             summary(hand));
  hand.each({{page + "golden", changed({{"field", "golden"}})}, {page + "a − golden", changed({})}});
  hand.changes("a control", [&] { hand.type(page + "##N", "64"); }, changed({{"n", "64"}}));
  hand.move(hand.place(page + "picture", 0.5f, 0.5f));
  hand.frames(2);
  expect_problem(hand, "heatmap\nfield: c_error", "field is 'c_error', expected golden, a, b,");
  expect_problem(hand, "heatmap\ncontrols: colour", "controls is 'colour', expected");
  const std::string gradient = std::string("heatmap\nfield: golden\ntensor: dV\ndo: normal") + small;
  const auto backward = show_answered(hand, gradient);
  hand.check(backward->result->backward.has_value(), "the answer has a backward pass");
  hand.check(has(summary(hand), verdict(*seen_as(backward->result, AnswerTensor::dV)).headline), summary(hand));
  hand.each({{page + "dK", changed({{"tensor", "dK"}})}, {page + "dV", changed({})}});
  expect_problem(hand, "heatmap\ntensor: dX", "tensor is 'dX', expected O, dO, dQ");
  expect_problem(hand, "heatmap\nheight: 5", "height is '5', expected a whole number from 160 to 1000");
}

// --- controls ---------------------------------------------------------------------------------------------------------

CASE(lesson_views, controls) {
  const std::string all =
      "plot\nkind: staircase\ncontrols: n, d, block_k, block_q, mantissa_bits, exponent_bits, seed, tau, splits, p_exponent, "
      "format, mask, scale, "
      "tie_beta, accumulator, flush, algorithm, input, policy, baseline, a.S, b.P, do, a.grad.delta_from, a.grad.order_seed";
  struct Typed {
    const char *label, *value, *key;
  };
  for (const Typed& t :
       {Typed{"N", "512", "n"}, Typed{"d", "32", "d"}, Typed{"block_k", "16", "block_k"}, Typed{"block_q", "32", "block_q"},
        Typed{"mantissa", "5", "mantissa_bits"}, Typed{"exponent", "6", "exponent_bits"}, Typed{"seed", "7", "seed"},
        Typed{"run", "3", "a.grad.order_seed"}, Typed{"tau", "3", "tau"}, Typed{"splits", "4", "splits"},
        Typed{"P times 2^", "8", "p_exponent"}})
    expect(hand, all, t.key, [&] { hand.type(page + "##" + t.label, t.value); }, {{t.key, t.value}});
  struct Clicked {
    const char *label, *key, *value;
  };
  for (const Clicked& c :
       {Clicked{"format/e4m3", "format", "e4m3"}, Clicked{"mask/causal", "mask", "causal"}, Clicked{"scale/1", "scale", "1"},
        Clicked{"tie_beta/2", "tie_beta", "2"}, Clicked{"accumulator/h100", "accumulator", "h100"},
        Clicked{"flush/4", "flush", "4"}, Clicked{"do/ones", "do", "ones"},
        Clicked{"a.grad.delta_from/probabilities", "a.grad.delta_from", "probabilities"},
        Clicked{"##a.S rounded", "a.S", "main"}, Clicked{"##b.P rounded", "b.P", "exact"}})
    expect(hand, all, c.key, [&] { hand.click(page + c.label); }, {{c.key, c.value}});
  for (const Clicked& c : {Clicked{"##algorithm", "algorithm", "flash4"}, Clicked{"##input", "input", "ascending"},
                           Clicked{"policy/##preset", "policy", "eager"}, Clicked{"baseline/##preset", "baseline", "base_hw"}})
    expect(hand, all, c.key, [&] { hand.choose(page + c.label, c.value); }, {{c.key, c.value}});
}

/// The last change wins: a policy resets the steps, a format resets its bits.
CASE(lesson_views, last_counts) {
  show(hand, "plot\nkind: staircase\ncontrols: format, mantissa_bits, policy, a.O, a.m");
  hand.changes("bits", [&] { hand.type(page + "##mantissa", "3"); }, changed({{"mantissa_bits", "3"}}));
  hand.changes("a format", [&] { hand.click(page + "format/fp16"); }, changed({{"format", "fp16"}}));
  hand.check(hand.stage.state->learn->views.at(0).experiment->format == fp16, "the format is fp16");
  hand.each({{page + "##a.O rounded", changed({{"format", "fp16"}, {"a.O", "main"}})},
             {page + "policy/##preset", changed({{"format", "fp16"}, {"policy", "all_tile"}}), {}, "all_tile"},
             {page + "##a.m rounded", changed({{"format", "fp16"}, {"policy", "all_tile"}, {"a.m", "exact"}})}});
  hand.frames(2);
  const Method& a = hand.stage.state->learn->views.at(0).experiment->a;
  Precision wanted = policy("all_tile").precision;
  wanted[Step::m] = exact;
  hand.check(a.precision == wanted, "all_tile but for m");
}

// --- policy -----------------------------------------------------------------------------------------------------------

CASE(lesson_views, policies_by_step) {
  const std::string block = std::string("policy\npolicy: eager") + small;
  const auto known = show_answered(hand, block);
  hand.check(has(summary(hand), verdict(*known->result).headline), summary(hand));
  hand.click(page + "a/O", changed({{"a.O", "exact"}}));
  hand.click(page + "a/O", changed({{"a.O", "main"}}));
  hand.click(page + "b/l", changed({{"a.O", "main"}, {"b.l", "main"}}));
  hand.click(page + "a/sum_rounded_P", changed({{"a.O", "main"}, {"b.l", "main"}, {"a.sum_rounded_P", "true"}}));
  hand.frames(2);
  const Experiment& e = *hand.stage.state->learn->views.at(0).experiment;
  hand.check(e.a.precision.sum_rounded_P && e.b.precision[Step::l] == to_main && e.a.precision[Step::O] == to_main,
             "the experiment has the steps");
  show(hand, block);
  hand.choose(page + "a/##preset", "hw");
  hand.frames(3);
  hand.check(hand.stage.state->learn->views.at(0).experiment->a.precision == policy("hw").precision,
             "a preset sets every step");
  show_answered(hand, block);
  hand.click(page + "###previous tile", changed({{"tile", "2"}}));
}

// --- plots ------------------------------------------------------------------------------------------------------------

CASE(lesson_views, row_plots) {
  for (const char* kind : {"trace", "error", "rescales"}) {
    const std::string block = std::string("plot\nkind: ") + kind + small;
    const auto known = show_answered(hand, block);
    const Result& r = *known->result;
    const std::string number = kind == std::string("rescales") ? fmt::format("{:.2f} times a row", r.rescales.effective_mean)
                                                               : scientific(r.trace.tiles.back().error);
    hand.check(has(summary(hand), number), summary(hand) + " has " + number);
    hand.each({{page + "###previous tile", changed({{"tile", "2"}})}, {page + "###last tile", changed({{"tile", "-1"}})}});
  }
  show_answered(hand, "plot\nkind: trace\nn: 32\nd: 8\nblock_k: 32");
  hand.check(has(summary(hand), ", 1 tile: m moved 0 times and ends at "), summary(hand));
  show_answered(hand, "plot\nkind: trace\nn: 32\nd: 8\nblock_k: 16\ninput: ascending");
  hand.check(has(summary(hand), ", 2 tiles: m moved 1 time and ends at "), summary(hand));
  show_answered(hand, std::string("plot\nkind: trace") + small);
  const auto hidden = [](unsigned curves) { return std::to_string(usually_hidden | curves); };
  hand.changes("a curve", [&] { hand.click(page + "legend l"); }, changed({{"hidden", hidden(bit(Curve::l))}}));
  show_answered(hand, std::string("plot\nkind: trace\nalgorithm: three_pass") + small);
  expect_problem(hand, "plot\nkind: pie", "kind is 'pie', expected trace, error,");
  expect_problem(hand, "plot\ncontrols: n", "kind is '', expected trace");
}

LessonQuestion sweep_of(const char* measure, std::vector<std::string> vary, int seeds) {
  LessonQuestion question;
  question.measure = measure;
  question.vary = std::move(vary);
  question.seeds = seeds;
  return question;
}

CASE(lesson_views, sweeps) {
  const std::string block =
      std::string("plot\nkind: sweep\nvary: block_k=4:32:x2\nvary2: policy=hw,eager\nmeasure: a.mean_abs\nseeds: 2") + small;
  const auto known = show_answered(hand, block, sweep_of("a.mean_abs", {"block_k=4:32:x2", "policy=hw,eager"}, 2));
  const auto [least, most] = std::ranges::minmax_element(known->table.cells, {}, &SweepCell::mean);
  hand.check(known->table.cells.size() == 8, "four sizes, two policies");
  hand.check(has(summary(hand), "least " + scientific(least->mean)) &&
                 has(summary(hand), "greatest " + scientific(most->mean)) && has(summary(hand), "2 seeds"),
             summary(hand));
  const auto i = static_cast<std::size_t>(least - known->table.cells.begin());
  hand.check(
      has(summary(hand), "at block_k " + known->table.axes[0].names[i / 2] + ", policy " + known->table.axes[1].names[i % 2]),
      "the sentence names the least point and its place");
  show_answered(hand, std::string("plot\nkind: sweep\nvary: policy=hw,tile,eager\nmeasure: ratio.mean_abs") + small,
                sweep_of("ratio.mean_abs", {"policy=hw,tile,eager"}, 1));
  expect_problem(hand, "plot\nkind: sweep", "vary is '', expected KEY=VALUES");
  expect_problem(hand, "plot\nkind: sweep\nvary: n=16,32\nseeds: 0", "seeds is '0', expected a whole number from 1 to 100");
}

/// A measure that only lessons have is saved as a figure of the lesson's own sweep.
CASE(lesson_views, figure_of_a_models_numbers) {
  if (!has_gnuplot()) return;
  hand.stage.exporter = PlotExporter(hand.folder / "pictures");
  show_answered(hand, "plot\nkind: sweep\nn: 16\nvary: block_k=4,8\nmeasure: model.hidden.3\ncontrols: format",
                sweep_of("model.hidden.3", {"block_k=4,8"}, 1));
  hand.view().figure.as = ExportAs::svg;
  const ImVec2 control = hand.place(page + "format/fp16", 0.5f);
  hand.move({control.x, control.y + 200});  // the plot is below its controls
  hand.frames(2);
  hand.click(page + "###save sweep");
  hand.pick("###keep");
  hand.await("the work is done", [&] { return !hand.stage.exporter.busy(); });
  hand.frames(1);
  hand.check(std::filesystem::exists(hand.folder / "pictures/attoscope-sweep-1/attoscope-sweep-1.svg"),
             "a figure is drawn: " + hand.stage.context().explorer.panel_input().messages.error);
  hand.stage.exporter = PlotExporter("");
}

/// Sweeps with points that cannot be computed, one point, equal points, no finite point.
CASE(lesson_views, odd_sweeps) {
  show(hand, std::string("plot\nkind: sweep\nvary: n=16,32\nmeasure: b.rms") + small);
  LessonAnswer odd{.question = {view_of(hand).experiment, "b.rms", {"n=16,32"}, 1}};
  odd.table.axes = {{"n", "N", {"16", "32"}, {16, 32}}};
  odd.table.measure = "RMS error, b";
  for (const auto& [y0, y1] :
       {std::pair<double, double>{NAN, 1.0}, {NAN, NAN}, {INFINITY, -INFINITY}, {0.0, 0.0}, {-1.0, -1.0}, {1e-300, 1e300}}) {
    odd.table.cells = {{.count = 1, .mean = y0}, {.count = 1, .mean = y1, .std = NAN}};
    hand.stage.told->learn.answers =
        std::make_shared<const LessonAnswers>(LessonAnswers{std::make_shared<const LessonAnswer>(odd)});
    hand.frames(3);
    hand.check(has(summary(hand), std::isfinite(y1) ? "least" : "No point has a finite value"), summary(hand));
    hand.check(has(summary(hand), "; 1 point is not finite") == (std::isnan(y0) && std::isfinite(y1)), summary(hand));
  }
  odd.problem = "block_k is 'x', expected a number.";
  hand.stage.told->learn.answers =
      std::make_shared<const LessonAnswers>(LessonAnswers{std::make_shared<const LessonAnswer>(odd)});
  hand.frames(3);
  hand.check(hand.well(), "a question without an answer");
}

CASE(lesson_views, bytes) {
  const std::string block = "plot\nkind: bytes\nover: n\nn: 1024\nblock_q: 32\ncontrols: block_q";
  show(hand, block);
  const Traffic t = traffic(view_of(hand).experiment);
  for (const double x : {t.algorithm0, t.flash1, t.flash2}) hand.check(has(summary(hand), bytes_text(x)), summary(hand));
  for (const char* row : {"Algorithm 0", "FA-1", "FA-2"}) hand.check(hand.exists(page + row), row);
  show(hand, "plot\nkind: bytes\nover: M\nn: 1024");
  const std::string before = summary(hand);
  hand.changes("M", [&] { hand.type(page + "##M", "4096"); }, changed({{"memory", "4096"}}));
  hand.frames(2);
  Experiment e = view_of(hand).experiment;
  const TileSizes tiles = tiles_for_memory(4096, e.problem.d);
  e.a.block_q = tiles.block_q, e.a.block_k = tiles.block_k;
  hand.check(before != summary(hand) && has(summary(hand), bytes_text(traffic(e).flash1)), summary(hand));
  show(hand, "plot\nkind: bytes\nover: n\nmemory: 1024");
  hand.check(hand.stage.state->learn->problems.empty(), "the tiles of M over N");
  expect_problem(hand, "plot\nkind: bytes\nover: M\nmemory: 0", "memory is '0', expected a whole number from 1 to");
  expect_problem(hand, "plot\nkind: bytes\nover: time", "over is 'time', expected n or M");
}

CASE(lesson_views, loop) {
  show(hand, "plot\nkind: loop\nn: 64\nblock_q: 16\nblock_k: 32");
  const Traffic t = traffic(view_of(hand).experiment);
  hand.check(has(summary(hand), "Query block 1 of 4, key tile 1 of 2: loads Q, K, V."), summary(hand));
  hand.check(has(summary(hand), " of " + bytes_text(t.flash2)), summary(hand));
  hand.changes("a step", [&] { hand.click(page + "###loop step"); }, changed({{"at", "1"}}));
  hand.frames(2);
  hand.check(has(summary(hand), "key tile 2 of 2: loads K, V, stores O"), summary(hand));
  hand.changes("to the beginning", [&] { hand.click(page + "###loop first"); }, changed({{"at", "0"}}));
  show(hand, "plot\nkind: loop\nn: 64\nblock_q: 16\nblock_k: 32\nalgorithm: flash1\nat: 5");
  hand.check(has(summary(hand), "Query block 2 of 4, key tile 2 of 2: loads Q, O, l, m, stores O"), summary(hand));
  hand.check(has(summary(hand), " of " + bytes_text(t.flash1)), summary(hand));
  show(hand, "plot\nkind: loop\nn: 4096\nblock_q: 1\nblock_k: 1");
  hand.check(has(summary(hand), "too many tiles"), summary(hand));
  expect_problem(hand, "plot\nkind: loop\nat: x", "at is 'x', expected a whole number from 0 to 1048576");
}

/// Two heaps and their distance, which depends on N, the number of weights.
CASE(lesson_views, heaps) {
  const std::string block = "plot\nkind: heaps\nn: ";
  show(hand, block + "16\ncontrols: n");
  const std::string few = summary(hand);
  hand.check(has(few, "16 weights of each model: sorted, they are "), few);
  hand.changes("N", [&] { hand.type(page + "##N", "1024"); }, changed({{"n", "1024"}}));
  hand.frames(2);
  hand.check(has(summary(hand), "1024 weights") && summary(hand).substr(4) != few.substr(2), summary(hand));
  for (const char* const n : {"20000", "1"}) show(hand, block + n);
  hand.check(has(summary(hand), "1 weight of each model: "), summary(hand));
  hand.check(hand.stage.state->learn->problems.empty(), "any number of weights");
}

/// The plots on screen whose x axis is this one.
std::vector<const ImPlotPlot*> plots_over(double from, double to) {
  std::vector<const ImPlotPlot*> found;
  ImPool<ImPlotPlot>& all = ImPlot::GetCurrentContext()->Plots;
  for (int i = 0; i < all.GetBufSize(); ++i) {
    const ImPlotPlot* const plot = all.GetByIndex(i);
    if (plot->Axes[ImAxis_X1].Range.Min == from && plot->Axes[ImAxis_X1].Range.Max == to) found.push_back(plot);
  }
  return found;
}

CASE(lesson_views, staircase) {
  show(hand, "plot\nkind: staircase\nformat: e4m3\nfrom: 1.25\nto: 3.75");
  hand.frames(2);
  const std::vector<const ImPlotPlot*> plots = plots_over(1.25, 3.75);
  if (!hand.check(plots.size() == 2, "the steps and their errors")) return;
  hand.check(plots[0]->PlotRect.Min.x == plots[1]->PlotRect.Min.x, "one x is above the other");
  for (const ImPlotPlot* const plot : plots)
    hand.check(plot->Axes[ImAxis_Y1].Range.Min < 1.25, "no name of y stands beside the first of x");
}

CASE(lesson_views, formats) {
  for (const auto& [range, words] : {std::pair{"from: 1\nto: 4", "from 1 to 4: its numbers are 0.125 to 0.25 apart"},
                                     {"from: -4\nto: -1", "from -4 to -1: its numbers are 0.125 to 0.25 apart"},
                                     {"from: 2\nto: 4", "from 2 to 4: its numbers are 0.25 apart"},
                                     {"from: -2\nto: 2", "from -2 to 2: its numbers are 2e-3 to 0.125 apart"}}) {
    show(hand, std::string("plot\nkind: staircase\nformat: e4m3\n") + range);
    hand.expect_text(summary(hand), std::string("e4m3 ") + words + "; no error exceeds half of that.");
  }
  for (const char* range : {"from: 0\nto: 1e-9", "from: -600\nto: 600", "from: 400\nto: 1e9"})
    show(hand, std::string("plot\nkind: staircase\nformat: e4m3\n") + range);
  hand.check(hand.stage.state->learn->problems.empty(), "any range");
  expect_problem(hand, "plot\nkind: staircase\nfrom: 2\nto: 1", "to is '1', expected a number above from, 2");
  show(hand, "plot\nkind: exp");
  hand.expect_text(summary(hand), "exp(12) = 1.628e5:  fp16 ∞,  bf16 162816,  e4m3 448");
  hand.changes("a score", [&] { hand.type(page + "##score x", "11"); }, changed({{"value", "11"}}));
  hand.frames(2);
  hand.check(has(summary(hand), "fp16 " + compact(round(fp16, std::exp(11.0)))), summary(hand));
}

// --- states -----------------------------------------------------------------------------------------------------------

/// Views without answers and with NaN.
CASE(lesson_views, states) {
  const std::array<std::string, 9> blocks{"bits\nformats: fp16, fp64",
                                          "heatmap\nfield: b_ulps",
                                          "policy",
                                          "plot\nkind: trace",
                                          "plot\nkind: error",
                                          "plot\nkind: rescales",
                                          "plot\nkind: bytes",
                                          "plot\nkind: sweep\nvary: n=16,32",
                                          "plot\nkind: exp"};
  for (const std::string& block : blocks) {
    show(hand, block + small);
    hand.check(hand.stage.state->learn->problems.empty(), block + ": drawn without an answer");
  }
  const std::string nan = "\ninput: constant:200\nscale: 1\nformat: fp16\npolicy: eager";
  for (const std::string& block : {blocks[1], blocks[2], blocks[3], blocks[4]}) {
    const auto known = show_answered(hand, block + small + nan);
    hand.check(known->result->a_error.nonfinite > 0, "a overflows");
    hand.frames(2);
  }
}

CASE(lesson_views, tooltips) {
  for (const std::string& block :
       {std::string("bits\nvalue: 0.1"), std::string("plot\nkind: exp"), std::string("plot\nkind: bytes\nover: M"),
        std::string("sum\ngpu: v100\na: 1, 2, 3, 4, 5\nb: 1"),
        std::string("plot\nkind: staircase\ncontrols: n, format, policy, algorithm, a.O")}) {
    show(hand, block);
    for (const char* what :
         {"##value",         "###sign",     "###next",       "###previous", "##exponent", "##fraction", "fp16/bits",
          "neighbours fp16", "range",       "##score x",     "##M",         "FA-1",       "##N",        "format/fp16",
          "##preset",        "##algorithm", "##a.O rounded", "gpu/a100",    "result/f16", "##a",        "##c",
          "###next block",   "block"})
      if (hand.exists(page + what)) hand.check(hand.explained(hand.id(page + what)), block + ": " + what + " explains itself");
  }
}

}  // namespace

}  // namespace attoscope::testing::lesson_view_cases
