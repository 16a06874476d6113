// The right panel: the parts below the table, the bits, the steps, the scatter, the schedules, the traffic, and its texts.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compute.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "kernels/questions/gpu_check.h"
#include "kernels/questions/invariance.h"
#include "kernels/questions/same_bits.h"
#include "tests/ui/cases.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/ui_state.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/theme.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string chooser = statistics + "detail/";

void show(Session& s, Detail detail) { s.view.detail = detail; }

CASE(statistics, every_detail) {
  const auto to = [](Detail detail) { return [detail](Session& s) { show(s, detail); }; };
  hand.each({{chooser + "scatter", to(Detail::scatter)},
             {chooser + "why", to(Detail::why)},
             {chooser + "bits", to(Detail::same_bits)},
             {statistics + "bits show/schedules", [](Session& s) { s.view.bits_show = BitsShow::schedules; }},
             {statistics + "bits show/runs", [](Session& s) { s.view.bits_show = BitsShow::runs; }},
             {chooser + "traffic", to(Detail::traffic)},
             {chooser + "ulps", to(Detail::ulps)},
             {chooser + "ulps", to(Detail::ulps)},
             {statistics + "same bits", to(Detail::same_bits)}});
}

CASE(statistics, check_of_the_bits) {
  hand.click(chooser + "bits");
  hand.leaves("check", [&] { hand.click(statistics + "###check bits"); });
  const auto checked = [&] { return !hand.stage.panel_input().answering.same_bits && hand.stage.panel_input().side.same_bits; };
  if (!hand.await("the bits were checked", checked)) return;
  const PanelInput input = hand.stage.panel_input();
  hand.check(input.side.same_bits->experiment == hand.experiment() && input.side.same_bits->agree() &&
                 input.side.same_bits->compared() >= 6,
             "all ways give the same bits");
  const std::vector<std::string> lines = apart_lines(input.side.same_bits->methods, hand.experiment());
  hand.check(lines.size() > 1 && lines[0].starts_with("flash2 and three-pass differ in "), "a against b: " + lines[0]);
}

CASE(statistics, other_bits) {
  SameBits found = same_bits(hand.experiment());
  std::ranges::find_if(found.runs.begin() + 1, found.runs.end(), [](const SameBitsRun& run) {
    return run.skipped.empty();
  })->digests.a ^= 1;
  hand.tell().side.same_bits = std::make_shared<const SameBits>(found);
  hand.show(&View::detail, Detail::same_bits);
  hand.check(!found.agree(), "the check finds one other bit");
  hand.stage.told->answering.same_bits = true;
  hand.frames(2);
  hand.check(hand.disabled(statistics + "###check bits"), "one check at a time");
}

/// The check of the GPU: its button without a GPU, during a check and after one.
CASE(statistics, check_of_a_gpu) {
  const std::string button = statistics + "###check gpu";
  hand.view().detail = Detail::same_bits;
  PanelInput& input = hand.tell();
  input.choices.devices = {{"cpu", "CPU", ""}, {"cuda", "an NVIDIA GPU", "There is no driver."}};
  hand.frames(2);
  hand.check(hand.disabled(button) && hand.explained(hand.id(button)), "without a GPU the button has the reason");
  input.choices.devices[1] = {"cuda:0", "NVIDIA H200", ""};
  input.answering.gpu_check = true;
  hand.frames(2);
  hand.check(hand.disabled(button), "one check at a time");
  GpuCheck check{.question = {}, .gpu = {0, "NVIDIA H200", 9, 0, 0}, .digests = {.count = 40, .agree = 40}};
  input.answering.gpu_check = false;
  for (const int agree : {40, 39}) {
    check.digests.agree = agree;
    input.side.gpu_check = std::make_shared<const GpuCheck>(check);
    hand.frames(2);
  }
  hand.check(!hand.disabled(button), "the GPU can be checked again");
}

CASE(statistics, changes_that_keep_an_answer) {
  const Experiment known = small_session().experiment;
  Experiment asked = known;
  asked.problem.traced_row = 3;
  hand.check(answers(known, asked), "the traced row changes nothing");
  asked.a.precision[Step::S] = to_main;
  hand.check(!answers(known, asked), "a rounding step changes the answer");
  asked = known;
  asked.problem.rows = 10;
  Experiment other_rows = asked;
  other_rows.problem.traced_row = 3;
  hand.check(!answers(asked, other_rows), "computed rows depend on the traced row");
}

/// Turns the wheel over the panel until the item is visible; returns its path.
std::string scrolled_to(Hand& hand, const std::string& item) {
  const ImVec2 chooser_at = hand.place(chooser + "why", 0, 1), over{chooser_at.x, chooser_at.y + 60};
  hand.wheel(over, 40);
  for (int i = 0; i < 20 && !hand.exists(statistics + "**/" + item); ++i) hand.wheel(over, -1);
  return statistics + "**/" + item;
}

/// Waits until the sources of the error are known.
bool await_sources(Hand& hand) {
  return hand.await("the sources are known", [&] {
    return hand.stage.panel_input().side.why && answers(hand.stage.panel_input().side.why->experiment, hand.experiment());
  });
}

/// Every step that rounds has a bar, reached by scrolling if there is no room, and a click makes it exact.
CASE(statistics, every_step_as_a_source) {
  Session session = small_session();
  session.experiment.a.precision = policy("all_tile").precision;
  session.view.detail = Detail::why;
  hand.open(session);
  for (int i = 1; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    if (!await_sources(hand)) return;
    hand.click(scrolled_to(hand, "##why " + std::string(name(step))),
               [&](Session& s) { s.experiment.a.precision[step] = exact; });
  }
}

/// Storage with scales is a source, too, and a click removes it.
CASE(statistics, storage_as_a_source) {
  Session session = small_session();
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  session.experiment.a.scaling.V = parse_scaling("e4m3/channel");
  session.view.detail = Detail::why;
  hand.open(session);
  if (!await_sources(hand)) return;
  const std::string item = scrolled_to(hand, "##why K stored");
  hand.check(hand.explained(hand.id(item)), "K stored is explained");
  hand.changes("K stored made exact", [&] { hand.click(item); }, [](Session& s) { s.experiment.a.scaling.K = {}; });
}

/// A choice in *why* shows the other method's sources, and its error as the picture; a click makes that method's step exact.
CASE(statistics, sources_of_either_method) {
  Session session = small_session();
  session.experiment.a.precision = policy("hw").precision;
  session.experiment.b.precision = policy("all_tile").precision;
  session.view.detail = Detail::why;
  session.view.field = Field::a_ulps;
  hand.open(session);
  const MethodNames names = method_names(hand.experiment());
  const auto choose = [&](const std::string& name, Field field) {
    hand.changes(name, [&] { hand.click(statistics + "why of/" + name); }, [&](Session& s) { s.view.field = field; });
    hand.await("the sources of " + name + " are known", [&] {
      const auto why = hand.stage.panel_input().side.why;
      return why && answers(why->experiment, explained_experiment(hand.session()));
    });
  };
  choose(names.b, Field::b_ulps);
  hand.check(hand.stage.panel_input().side.why->total.mean_abs == hand.result()->b_error.mean_abs, "the error is b's");
  hand.click(scrolled_to(hand, "##why O"), [](Session& s) { s.experiment.b.precision[Step::O] = exact; });
  choose(method_names(hand.experiment()).a, Field::a_ulps);
  hand.check(
      field_of_method(Field::a_minus_b, true) == Field::b_error && field_of_method(Field::golden, false) == Field::a_error,
      "a field of both methods becomes one method's error");
}

/// Methods that store with scales have lines for storage and arithmetic below their errors.
CASE(statistics, parts_of_an_error) {
  Session session = small_session();
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  hand.open(session);
  const PanelInput input = hand.stage.panel_input();
  const std::string csv = detail_csv({.detail = Detail::scatter}, input, {.result = input.answer.result});
  hand.check(csv.starts_with("row,column,golden,a_error,b_error,a_storage,a_arithmetic\n"), csv.substr(0, 80));
  hand.check(input.answer.result->a_parts && !input.answer.result->b_parts, "a stores K");
}

const Series& dots_of(const ScatterState& state, Ink ink) {
  return *std::ranges::find_if(state.panel.series, [&](const Series& s) { return s.shape == Shape::dots && s.ink == ink; });
}

/// Points computed in parts equal points computed at once; the earlier points stay until all are computed.
CASE(statistics, scatter_in_parts) {
  const auto of_seed = [](std::uint64_t seed) {
    Experiment e = small_session().experiment;
    e.problem.n = 131;
    e.problem.d = 13;
    e.problem.seed = seed;
    return std::make_shared<const Result>(compute(e));
  };
  const auto earlier = of_seed(1), newer = of_seed(2);
  ScatterState whole, parts;
  refresh_scatter(whole, newer);
  hand.check(!refresh_scatter(parts, earlier, 1), "the first answer's points are found at once");
  int frames = 1;
  while (refresh_scatter(parts, newer, 100)) {
    hand.check(parts.result == earlier && why_no_points(parts).empty(), "the earlier points stay");
    if (++frames > 1000) break;
  }
  hand.check(frames > 60 && frames < 100, "a part at a time");
  const FigurePanel &p = parts.panel, &w = whole.panel;
  hand.check(parts.result == newer && std::ranges::equal(p.series, w.series,
                                                         [](const Series& s, const Series& t) {
                                                           return s.ink == t.ink && s.x == t.x && s.y == t.y;
                                                         }),
             "the same points");
  hand.check(p.x.min == w.x.min && p.x.max == w.x.max && p.y.min == w.y.min && p.y.max == w.y.max, "the same axes");
  hand.check(parts.a_exact == whole.a_exact && parts.b_exact == whole.b_exact, "the same counts");
}

/// The scatter keeps each cell's largest error: no element has a larger error than kept ones of about its magnitude. Values not
/// finite are no points; elements without an error are counted.
CASE(statistics, scatter_keeps_the_worst) {
  Experiment e = small_session().experiment;
  e.problem.n = 300;
  Result r = compute(e);
  r.a.values[7] = std::nan(""), r.a.values[8] = std::numeric_limits<double>::infinity();
  r.a.values[77] = (*r.golden).values[77] + 3.5;
  r.b = *r.golden;
  ScatterState state;
  const auto result = std::make_shared<const Result>(r);
  refresh_scatter(state, result);
  hand.check(state.b_exact == 300 * 16, "b has no errors");
  const Series& a = dots_of(state, Ink::a);
  hand.check(a.x.size() > 100 && a.x.size() <= 300 * 16, "neither none nor too many");
  for (std::size_t i = 0; i < a.x.size(); ++i)
    hand.check(a.x[i] > 0 && a.y[i] > 0 && a.x[i] <= *state.panel.x.max && a.y[i] <= *state.panel.y.max, "on the axes");
  for (std::size_t i = 0; i < result->a.values.size(); ++i) {
    const double g = result->golden->values[i], error = std::abs(result->a.values[i] - g);
    if (!std::isfinite(error) || error == 0 || g == 0) continue;
    const double x = std::max(std::abs(g), *state.panel.x.min);
    bool covered = false;
    for (std::size_t k = 0; k < a.x.size(); ++k)
      covered |= std::abs(std::log10(a.x[k] / x)) < 0.15 && a.y[k] >= error * (1 - 1e-5);
    if (!hand.check(covered, "an element's error exceeds every point near it")) return;
  }
}

CASE(statistics, scatter_without_errors) {
  Result r = compute(small_session().experiment);
  r.a = r.b = *r.golden;
  ScatterState state;
  refresh_scatter(state, std::make_shared<const Result>(r));
  hand.check(why_no_points(state) == "All finite values are exact." && state.a_exact == 96 * 16, "no errors, no points");
  hand.check(*state.panel.x.min < *state.panel.x.max && *state.panel.y.min < *state.panel.y.max, "axes all the same");
  hand.tell().answer.result = std::make_shared<const Result>(r);
  hand.show(&View::detail, Detail::scatter, 3);
  for (Matrix* const m : {&r.a, &r.b}) std::ranges::fill(m->values, std::nan(""));
  ScatterState broken;
  refresh_scatter(broken, std::make_shared<const Result>(r));
  hand.check(why_no_points(broken) == "Every error is NaN or infinite.", "errors that are no numbers");
}

CASE(statistics, names_of_methods) {
  Experiment e;
  const auto expect = [&](const std::string& a, const std::string& b, void (*edit)(Experiment&)) {
    edit(e);
    const MethodNames found = method_names(e);
    hand.check(found.a == a && found.b == b, "called " + found.a + " and " + found.b + ", not " + a + " and " + b);
  };
  expect("a", "b", [](Experiment& x) { x.a = x.b = Method{.algorithm = Algorithm::flash4}; });
  expect("flash4 tau 8", "flash4 tau 0", [](Experiment& x) { x.b.tau = 0; });
  expect("flash2 block_k 64", "flash2 block_k 128",
         [](Experiment& x) { x.a = x.b = Method{.algorithm = Algorithm::flash2}, x.b.block_k = 128; });
  expect("flash2 plain l", "flash2 Kahan", [](Experiment& x) { x.b = x.a, x.b.kahan_l = true; });
  expect("flash2 hw", "flash2 tile",
         [](Experiment& x) { x.b = x.a, x.a.precision = policy("hw").precision, x.b.precision = policy("tile").precision; });
  expect("flash2 O exact", "flash2 O fp16", [](Experiment& x) { x.b = x.a, x.b.precision[Step::O] = to_format(fp16); });
  expect("your kernel", "flash2", [](Experiment& x) { x.a.algorithm = Algorithm::loaded; });
  expect("hardware", "your kernel",
         [](Experiment& x) { x.a.algorithm = Algorithm::hardware, x.b.algorithm = Algorithm::loaded; });
}

CASE(statistics, verdicts) {
  Result r;
  r.experiment.b.algorithm = Algorithm::three_pass;
  const auto found = [&](Algorithm a, double error) {
    r.experiment.a.algorithm = a;
    r.a_error.mean_abs = r.a_error.max_abs = error;
    r.b_error.mean_abs = r.b_error.max_abs = 1;
    return ui::verdict(r);
  };
  using Tone = Verdict::Tone;
  for (const Algorithm a : {Algorithm::flash2, Algorithm::hardware, Algorithm::loaded}) {
    hand.check(found(a, 2).tone == Tone::good && found(a, 2.001).tone != Tone::good, "the line is at 2 b");
    hand.check((found(a, 3).tone == Tone::bad) == !is_emulated(a), "an emulated method has no fault");
  }
  for (const auto& [error, words] : {std::pair{3.0, "3.0×"}, {0.5, "0.50×"}, {27.3, "27×"}})
    hand.check(found(Algorithm::flash2, error).headline == "Flash2 errs " + std::string(words) + " three-pass", words);
  hand.check(found(Algorithm::flash2, 0.5).sentence == "inside the 2× line: its largest error is 0.50×" &&
                 found(Algorithm::flash2, 3).sentence == "outside the 2× line: its largest error is 3.0×",
             "two emulated methods have nothing to explain");
  hand.check(found(Algorithm::loaded, 3).sentence != found(Algorithm::flash2, 3).sentence,
             "a loaded output may belong to another problem");
  r.b_error.nonfinite = 1;
  hand.expect_text(found(Algorithm::flash2, 3).sentence, "1 value is NaN or infinite, none of flash2");
  r.a_error.nonfinite = r.golden_nonfinite = 1;
  hand.expect_text(found(Algorithm::flash2, 3).sentence,
                   "outside the 2× line: its largest error is 3.0×; golden has 1 NaN or infinity, left out");
  r.a_error.nonfinite = 2;
  hand.expect_text(found(Algorithm::flash2, 3).sentence,
                   "1 value is NaN or infinite: three-pass has 0; golden has 1 NaN or infinity, left out");
}

/// Texts about a real kernel: repeated bits, and distance from the emulation.
CASE(statistics, words_about_a_real_kernel) {
  Result r = *hand.result();
  hand.check(hardware_words(r).runs.empty() && hardware_lines(r).empty(), "an emulated method has no such text");
  r.experiment.b.algorithm = Algorithm::hardware;
  r.hardware = HardwareCheck{"mma.sync.m16n8k16", 0, 0, 1.5, 0.25};
  hand.check(hardware_lines(r) ==
                 "\nhardware b: a second run gave the same bits\nemulated: at most 1.5 ulp of bf16 away, 0.25 on average",
             hardware_lines(r));
  r.experiment.a.algorithm = Algorithm::hardware;
  r.hardware->changed = 3;
  r.hardware->run_to_run_ulp = 2;
  hand.expect_text(hardware_words(r).runs, "hardware a: a second run changed 3 values by at most 2 ulp of fp32");
  r.hardware->changed = 1;
  hand.expect_text(hardware_words(r).runs, "hardware a: a second run changed 1 value by at most 2 ulp of fp32");
  hand.tell().answer.result = std::make_shared<const Result>(r);
  hand.show(&View::detail, Detail::same_bits);
}

/// Errors of fp64 are whole ulps: the histogram has a bin for each, and no empty bin between two that are not empty.
CASE(statistics, whole_ulps) {
  Experiment e = small_session().experiment;
  e.problem.n = 256, e.problem.d = 64;
  e = with_format(e, fp64);
  const Result r = compute(e);
  int comb = 0;
  const auto& raw = r.a_error.ulps.counts;
  for (std::size_t i = 2; i + 2 < raw.size(); ++i) comb += raw[i] == 0 && raw[i - 1] + raw[i + 1] > 0;
  hand.check(comb > 3, "a quarter of the quarters of an ulp are met");
  const FigurePanel panel = ulps_panel(r);
  for (const Series& s : panel.series) {
    double sum = 0;
    int gaps = 0;
    for (std::size_t i = 0; i < s.y.size(); ++i) {
      sum += s.y[i];
      hand.check(s.x[i] == std::round(s.x[i]), "a bin about every whole ulp");
      if (i > 0 && i + 1 < s.y.size()) gaps += s.y[i] == 0 && s.y[i - 1] > 0 && s.y[i + 1] > 0;
    }
    hand.check(gaps == 0 && std::abs(sum - 1) < 1e-12, "none is empty between two, and none is lost");
  }
  for (const auto& [bits, bins] : {std::pair{52, 17u}, {51, 33u}, {50, 66u}, {7, 66u}}) {
    Result other = r;
    other.experiment.format.mantissa_bits = bits;
    hand.check(ulps_panel(other).series[0].x.size() == bins, std::to_string(bits) + " mantissa bits");
  }
}

/// 1 - cos is shown as 0 if below 0; other numbers are unchanged.
CASE(statistics, shown_numbers) {
  const DeviationMeasure& cosine = *deviation_measure("cosine");
  hand.check(shown_number(cosine, 1 + 4.4e-16) == 0 && shown_number(cosine, 0.75) == 0.25, "1 - cos");
  hand.check(shown_number(*deviation_measure("bias"), -2) == -2, "bias");
}

// --- schedules --------------------------------------------------------------------------------------------------------

std::string row_of(std::size_t i) { return statistics + "**/##schedule " + std::to_string(i); }

/// Opens a session of one query over 200 keys that shows the schedules.
Session schedules_of_a_query(Hand& hand) {
  hand.stage.resize(1600, 1000);
  Session s = small_session();
  s.experiment.problem.n = 1;
  s.experiment.problem.n_k = 200;
  s.experiment.a.precision = policy("eager").precision;
  s.view.detail = Detail::same_bits;
  s.view.bits_show = BitsShow::schedules;
  return s;
}

bool is_known(Hand& hand) {
  const auto& known = hand.stage.panel_input().side.invariance;
  return known && known->experiment == invariance_question(hand.experiment());
}
bool await_answer(Hand& hand) {
  return hand.await("the schedules are compared", [&] { return is_known(hand); });
}

/// The window and the command compute the same numbers and write the same table.
CASE(schedules, schedules_as_asked_alone) {
  hand.open(schedules_of_a_query(hand));
  if (!await_answer(hand)) return;
  const PanelInput input = hand.stage.panel_input();
  const std::string csv = detail_csv(hand.view(), input, {.result = input.answer.result});
  hand.check(csv == csv_text(invariance_table(invariance(hand.experiment()))), "the table of the command");
  hand.check(std::ranges::count(csv, '\n') > 5, "with several schedules");
  for (const std::size_t i : {0u, 1u}) hand.check(hand.explained_at(hand.place(row_of(i), 0.2f)), "a line is explained");
}

CASE(schedules, schedule_by_click) {
  hand.open(schedules_of_a_query(hand));
  if (!await_answer(hand)) return;
  const auto answer = hand.stage.panel_input().side.invariance;
  const std::size_t other = 1;
  const Method before = hand.experiment().b;
  hand.press(hand.place(row_of(other), 0.2f),
             [&](Session& s) { s.experiment.b = with_schedule(s.experiment.a, answer->runs[other].schedule); });
  hand.settle();
  hand.check(hand.result()->digests.b == answer->runs[other].digest, "b has the bits of the schedule");
  hand.check(hand.stage.panel_input().side.invariance == answer && is_known(hand), "what was found does not depend on b");
  hand.key(undo_key, settled);
  hand.check(hand.experiment().b == before, "Ctrl+Z comes back");
}

/// Another method a has no answer yet; the former answer is not shown.
CASE(schedules, schedules_of_another_question) {
  hand.open(schedules_of_a_query(hand));
  if (!await_answer(hand)) return;
  hand.experiment().a.precision = policy("hw").precision;
  hand.settle();
  if (!await_answer(hand)) return;
  hand.check(hand.stage.panel_input().side.invariance->runs[0].digest == hand.result()->digests.a,
             "the first schedule is a's own");
}

CASE(schedules, schedules_of_three_passes) {
  Session s = schedules_of_a_query(hand);
  s.experiment.a.algorithm = Algorithm::three_pass;
  hand.open(s);
  if (!await_answer(hand)) return;
  hand.check(hand.stage.panel_input().side.invariance->runs.size() == 5, "the order of keys, then three tensor cores' sums");
}

// --- traffic ----------------------------------------------------------------------------------------------------------

Session with_traffic() {
  Session session = small_session();
  session.view.detail = Detail::traffic;
  return session;
}

CASE(traffic, every_machine) {
  hand.stage.resize(1600, 1000);
  hand.open(with_traffic());
  for (const std::size_t i : {1u, 2u, 3u, 0u})
    hand.choose(statistics + "##machine", std::string(data_sheets[i].name),
                [&](Session& s) { s.view.machine = static_cast<Machine>(i); });
}

/// Every row is shown; the loop replaces bars and roofline.
CASE(traffic, rows_of_traffic) {
  hand.stage.resize(1600, 1000);
  hand.open(with_traffic());
  for (const char* name : {"Algorithm 0", "FA-1", "FA-2", "on chip", "roofline"})
    hand.leaves(std::string("a click on ") + name, [&] { hand.click(statistics + name); });
  hand.leaves("a click on loop", [&] { hand.click(statistics + "##loop"); });
  hand.frames(2);
  hand.check(hand.exists(statistics + "loop picture") && !hand.exists(statistics + "roofline"), "the loop is shown");
  hand.leaves("and back", [&] { hand.click(statistics + "##loop"); });
  hand.frames(2);
  hand.check(hand.exists(statistics + "roofline"), "the roofline is back");
}

CASE(traffic, extreme_traffic) {
  struct Extreme {
    int n, d, block_q, block_k, window, M;
  };
  for (const auto& [n, d, block_q, block_k, window, M] :
       {Extreme{1, 1, 1, 1, 1, 1}, {96, 16, 1, 2048, 4000, 1 << 30}, {300, 3, 2048, 1, 2, 24576}})
    for (const auto kind : {Mask::Kind::none, Mask::Kind::padding}) {
      Session session = with_traffic();
      Problem& p = session.experiment.problem;
      p.n = n, p.d = d;
      p.mask = {kind, window};  // a padding of all keys leaves no pair and no operation
      session.experiment.a.block_q = block_q, session.experiment.a.block_k = block_k;
      session.view.on_chip_elements = M;
      hand.open(session);
      for (const float y : {0.55f, 0.6f, 0.65f, 0.7f}) hand.move({1180, y * 800});
    }
}

/// Compares the drawn numbers with formulas of the kernels.
CASE(traffic, numbers_of_traffic) {
  Session session = with_traffic();
  session.experiment.a.algorithm = Algorithm::flash1;
  hand.open(session);
  const Result& r = *hand.result();
  const TrafficOfAll all = traffic_of_all(r);
  const double n = 96, d = 16;
  hand.check(all[0].bytes == 2 * (4 * n * d + 4 * n * n), "Algorithm 0 writes S and P");
  hand.check(all[1].bytes == 2 * (2 * n * d + 6 * n * (3 * d + 4)), "FA-1 has six tiles of keys");
  hand.check(all[2].bytes == 2 * (2 * n * d + n + 6 * 2 * n * d), "FA-2 has six tiles of queries");
  for (const TrafficOf& t : all) {
    hand.check(t.counted.ends_with(bytes_text(t.bytes)) || has(t.counted, bytes_text(t.bytes) + "\n"), t.counted);
    hand.check(t.intensity == 4 * n * n * d / t.bytes, std::string(t.name) + " does 4 N^2 d");
  }
  hand.check(all[1].ink == Ink::a && all[0].ink == Ink::b, "a is FA-1 and b is Algorithm 0");
  hand.check(all[2].ink == Ink::golden, "neither method is FA-2");
  const DataSheet& h200 = data_sheets[static_cast<std::size_t>(Machine::h200)];
  hand.check(least_seconds({.bytes = 4.8e12, .flops = 1}, h200) == 1, "4.8 TB take a second");
  hand.check(least_seconds({.bytes = 1, .flops = 989e12}, h200) == 1, "989 Tflop take a second");
}

/// Elements and scales count with their own sizes.
CASE(traffic, traffic_of_stored_tensors) {
  Session session = with_traffic();
  session.experiment.a.algorithm = Algorithm::flash2;
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  hand.open(session);
  const double n = 96, d = 16, K = 1 + 4 / d;
  const TrafficOfAll all = traffic_of_all(*hand.result());
  hand.check(all[2].bytes == n * d * (2 + 2) + n * 2 + 6 * n * d * (K + 2),
             "FA-2 reads six times K in int8 with a scale a row");
  for (const TrafficOf& t : all) {
    hand.check(has(t.counted, "K 1.25 B per number as stored, scales included"), t.counted);
    hand.check(has(t.counted, bytes_text(t.bytes)), t.counted);
  }
  hand.check(has(all[2].counted, "+ 576 * (16 * 1.25 + 16 * 2) B"), all[2].counted);
}

}  // namespace

}  // namespace attoscope::testing
