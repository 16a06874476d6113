// The right panel: the parts below the table, the bits, the steps, the scatter, and the words.
#include <algorithm>
#include <array>
#include <cmath>

#include "imgui_internal.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/shown_number.h"
#include "kernels/questions/gpu_check.h"
#include "kernels/questions/same_bits.h"
#include "tests/ui/cases.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/ui_state.h"
#include "ui/statistics/csv.h"
#include "ui/statistics/panels.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/theme.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string statistics = "//Statistics/", chooser = statistics + "detail/";

void show(Session& s, Detail detail) { s.view.detail = detail; }

void chooses(Hand& hand) {
  const auto to = [](Detail detail) { return [detail](Session& s) { show(s, detail); }; };
  hand.changes("scatter", [&] { hand.click(chooser + "scatter"); }, to(Detail::scatter));
  hand.changes("why", [&] { hand.click(chooser + "why"); }, to(Detail::why));
  hand.changes("bits", [&] { hand.click(chooser + "bits"); }, to(Detail::same_bits));
  hand.changes("traffic", [&] { hand.click(chooser + "traffic"); }, to(Detail::traffic));
  hand.changes("ulps", [&] { hand.click(chooser + "ulps"); }, to(Detail::ulps));
  hand.leaves("ulps again", [&] { hand.click(chooser + "ulps"); });
  hand.changes("the badge shows the runs", [&] { hand.click(statistics + "same bits"); }, to(Detail::same_bits));
}

/// Number of pixels of a colour in a part of the picture.
int pixels_of(const Picture& picture, ImVec2 from, ImVec2 to, Colour colour) {
  int count = 0;
  for (int y = static_cast<int>(from.y); y < static_cast<int>(to.y); ++y)
    for (int x = static_cast<int>(from.x); x < static_cast<int>(to.x); ++x) {
      const std::uint8_t* rgb = picture.rgb.data() + (static_cast<std::ptrdiff_t>(y) * picture.width + x) * 3;
      count += rgb[0] == (colour & 255) && rgb[1] == ((colour >> 8) & 255) && rgb[2] == ((colour >> 16) & 255);
    }
  return count;
}

int badge_pixels(Hand& hand, Colour colour) {
  hand.move({2, 2});
  return pixels_of(hand.picture(), hand.place(statistics + "same bits", 0, 0), hand.place(statistics + "same bits", 1, 1),
                   colour);
}

void bits(Hand& hand) {
  const Palette& colours = palette(Theme::dark);
  hand.click(chooser + "bits");
  hand.check(badge_pixels(hand, colours.good) == 0 && badge_pixels(hand, colours.bad) == 0, "nobody checked yet");
  hand.leaves("check", [&] { hand.click(statistics + "###check bits"); });
  for (int i = 0; i < 2000 && (hand.stage.panel_input().answering.same_bits || !hand.stage.panel_input().side.same_bits); ++i)
    hand.frames(1);
  const PanelInput input = hand.stage.panel_input();
  if (!hand.check(input.side.same_bits != nullptr, "the bits were checked")) return;
  hand.check(input.side.same_bits->experiment == hand.experiment() && input.side.same_bits->agree() &&
                 input.side.same_bits->compared() >= 6,
             "they are the same");
  hand.check(badge_pixels(hand, colours.good) > 8, "the badge is green");
  const std::vector<std::string> lines = apart_lines(input.side.same_bits->methods, hand.experiment());
  hand.check(lines.size() > 1 && lines[0].starts_with("a and b differ in "), "a against b: " + lines[0]);
  hand.experiment().a.block_k = 32;
  hand.settle();
  hand.check(badge_pixels(hand, colours.good) == 0, "another question is not checked yet");
}

void other_bits(Hand& hand) {
  SameBits found = same_bits(hand.experiment());
  std::ranges::find_if(found.runs.begin() + 1, found.runs.end(), [](const SameBitsRun& run) {
    return run.skipped.empty();
  })->digests.a ^= 1;
  PanelInput input = hand.stage.panel_input();
  input.side.same_bits = std::make_shared<const SameBits>(found);
  hand.stage.told = input;
  hand.view().detail = Detail::same_bits;
  hand.frames(2);
  hand.check(badge_pixels(hand, palette(Theme::dark).bad) > 8, "one other bit makes the badge coral");
  hand.stage.told->answering.same_bits = true;
  hand.frames(2);
  hand.check(hand.disabled(statistics + "###check bits"), "one check at a time");
}

/// The check of the GPU: its button without a GPU, during a check and after one.
void gpu_sums(Hand& hand) {
  const std::string button = statistics + "###check gpu";
  hand.view().detail = Detail::same_bits;
  PanelInput input = hand.stage.panel_input();
  input.choices.devices = {{"cpu", "CPU", ""}, {"cuda", "an NVIDIA GPU", "There is no driver."}};
  hand.stage.told = input;
  hand.frames(2);
  hand.check(hand.disabled(button) && hand.explained(hand.id(button)), "without a GPU the button says why");
  input.choices.devices[1] = {"cuda:0", "NVIDIA H200", ""};
  input.answering.gpu_check = true;
  hand.stage.told = input;
  hand.frames(2);
  hand.check(hand.disabled(button), "one check at a time");
  GpuCheck check{.question = {}, .gpu = {0, "NVIDIA H200", 9, 0, 0}, .digests = {.count = 40, .agree = 40}};
  input.answering.gpu_check = false;
  for (const int agree : {40, 39}) {
    check.digests.agree = agree;
    input.side.gpu_check = std::make_shared<const GpuCheck>(check);
    hand.stage.told = input;
    hand.frames(2);
  }
  hand.check(!hand.disabled(button), "it can be checked again");
}

void answers_for(Hand& hand) {
  const Experiment known = small_session().experiment;
  Experiment asked = known;
  asked.problem.traced_row = 3;
  hand.check(answers(known, asked), "the traced row changes nothing");
  asked.a.precision[Step::S] = to_main;
  hand.check(!answers(known, asked), "a step does");
  asked = known;
  asked.problem.rows = 10;
  Experiment other_rows = asked;
  other_rows.problem.traced_row = 3;
  hand.check(!answers(asked, other_rows), "of some rows the traced one is always one");
}

/// Turns the wheel over the panel until the item is in sight.
std::string scrolled_to(Hand& hand, const std::string& item) {
  const ImVec2 chooser_at = hand.place(chooser + "why", 0, 1), over{chooser_at.x, chooser_at.y + 60};
  hand.wheel(over, 40);
  for (int i = 0; i < 20 && !hand.exists(statistics + "**/" + item); ++i) hand.wheel(over, -1);
  return statistics + "**/" + item;
}

/// Every step that rounds has a bar, reached by scrolling if there is no room, and a click makes it exact.
void steps(Hand& hand) {
  Session session = small_session();
  session.experiment.a.precision = policy("all_tile").precision;
  session.view.detail = Detail::why;
  hand.open(session);
  for (int i = 1; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    const auto known = [&] {
      return hand.stage.panel_input().side.why && answers(hand.stage.panel_input().side.why->experiment, hand.experiment());
    };
    for (int wait = 0; wait < 2000 && !known(); ++wait) hand.frames(1);
    if (!hand.check(known(), "the steps are weighed")) return;
    hand.frames(2);
    hand.changes(
        std::string(name(step)) + " made exact", [&] { hand.click(scrolled_to(hand, "##why " + std::string(name(step)))); },
        [&](Session& s) { s.experiment.a.precision[step] = exact; });
  }
}

/// Storage with scales is a source, too, and a click removes it.
void stored(Hand& hand) {
  Session session = small_session();
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  session.experiment.a.scaling.V = parse_scaling("e4m3/channel");
  session.view.detail = Detail::why;
  hand.open(session);
  const auto known = [&] {
    return hand.stage.panel_input().side.why && answers(hand.stage.panel_input().side.why->experiment, hand.experiment());
  };
  for (int wait = 0; wait < 2000 && !known(); ++wait) hand.frames(1);
  if (!hand.check(known(), "storage is weighed")) return;
  hand.frames(2);
  const std::string item = scrolled_to(hand, "##why K stored");
  hand.check(hand.explained(hand.id(item)), "K stored is explained");
  hand.changes("K stored made exact", [&] { hand.click(item); }, [](Session& s) { s.experiment.a.scaling.K = {}; });
}

/// Methods that store with scales have lines for storage and arithmetic below their errors.
void parts(Hand& hand) {
  Session session = small_session();
  session.experiment.a.scaling.K = parse_scaling("int8/token");
  hand.stage.resize(1600, 1200);
  hand.open(session);
  hand.frames(2);
  hand.move({2, 2});
  PanelInput input = hand.stage.panel_input();
  const std::string csv = detail_csv({.detail = Detail::scatter}, input);
  hand.check(csv.starts_with("row,column,golden,a_error,b_error,a_storage,a_arithmetic\n"), csv.substr(0, 80));
  Result other = *input.answer.result;
  hand.check(other.a_parts && !other.b_parts, "a stores K");
  const Picture before = hand.picture();
  other.a_parts->storage.mean_abs *= 3;
  input.answer.result = std::make_shared<const Result>(other);
  hand.stage.told = input;
  hand.frames(2);
  hand.check(hand.picture().rgb != before.rgb, "the storage's mean is drawn");
  hand.stage.told.reset();
}

Result planted_result() {
  Result r;
  r.experiment = small_session().experiment;
  Matrix golden{200, 50, std::vector<double>(10000)};
  for (std::size_t i = 0; i < golden.values.size(); ++i)
    golden.values[i] = std::ldexp(1.0 + 0.37 * static_cast<double>(i % 7), -static_cast<int>(i % 11));
  r.a = r.b = golden;
  for (std::size_t i = 0; i < golden.values.size(); ++i) {
    r.a.values[i] += 1e-4 * golden.values[i] * static_cast<double>(i % 13);
    r.b.values[i] -= 1e-3 * golden.values[i];
  }
  r.golden = std::make_shared<const Matrix>(std::move(golden));
  return r;
}

const Series& dots_of(const ScatterState& state, Ink ink) {
  return *std::ranges::find_if(state.panel.series, [&](const Series& s) { return s.shape == Shape::dots && s.ink == ink; });
}

bool holds(const Series& dots, double magnitude, double error) {
  for (std::size_t i = 0; i < dots.x.size(); ++i)
    if (std::abs(std::log10(dots.x[i] / magnitude)) < 1e-5 && std::abs(std::log10(dots.y[i] / error)) < 1e-5) return true;
  return false;
}

void scatter(Hand& hand) {
  Result r = planted_result();
  const double lone = std::abs((*r.golden).values[77]);
  r.a.values[77] = r.golden->values[77] + 3.5;
  r.a.values[500] = std::nan("");
  r.a.values[501] = std::numeric_limits<double>::infinity();
  ScatterState state;
  const auto result = std::make_shared<const Result>(r);
  refresh_scatter(state, result);
  const Series &a = dots_of(state, Ink::a), &b = dots_of(state, Ink::b);
  hand.check(holds(a, lone, 3.5), "the outlier is kept where it is");
  hand.check(state.b_exact == 0 && state.a_exact == 10000 / 13 + 1, "those without an error are counted");
  for (const Series* const s : {&a, &b})
    for (std::size_t i = 0; i < s->x.size(); ++i)
      hand.check(s->x[i] > 0 && s->y[i] > 0 && s->x[i] <= *state.panel.x.max && s->y[i] <= *state.panel.y.max,
                 "points lie on the axes");
  hand.check(a.x.size() > 100 && a.x.size() <= 10000 && b.x.size() <= 10000, "neither none nor too many");
  hand.check(std::abs(std::log10(std::ranges::max(b.y) / (1e-3 * (1 + 0.37 * 6)))) < 0.5, "the largest error of b is kept");
  const auto* kept = a.x.data();
  refresh_scatter(state, result);
  hand.check(dots_of(state, Ink::a).x.data() == kept, "made once per answer");
}

/// Points found in small parts are those found at once, and the earlier ones stay until then.
void scatter_in_parts(Hand& hand) {
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
    hand.check(parts.result == earlier && has_points(parts), "the earlier points stay");
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

/// Each cell's largest error stays: no element errs more than the worst kept one of about its magnitude.
void scatter_keeps_the_worst(Hand& hand) {
  Experiment e = small_session().experiment;
  e.problem.n = 300;
  const auto result = std::make_shared<const Result>(compute(e));
  ScatterState state;
  refresh_scatter(state, result);
  const Series& a = dots_of(state, Ink::a);
  for (std::size_t i = 0; i < result->a.values.size(); ++i) {
    const double g = result->golden->values[i], error = std::abs(result->a.values[i] - g);
    if (error == 0 || g == 0) continue;
    const double x = std::max(std::abs(g), *state.panel.x.min);
    bool covered = false;
    for (std::size_t k = 0; k < a.x.size(); ++k)
      covered |= std::abs(std::log10(a.x[k] / x)) < 0.15 && a.y[k] >= error * (1 - 1e-5);
    if (!hand.check(covered, "an element errs more than every point near it")) return;
  }
}

void scatter_without_errors(Hand& hand) {
  Result r = planted_result();
  r.a = r.b = *r.golden;
  ScatterState state;
  refresh_scatter(state, std::make_shared<const Result>(r));
  hand.check(!has_points(state) && state.a_exact == 10000, "no errors, no points");
  hand.check(*state.panel.x.min < *state.panel.x.max && *state.panel.y.min < *state.panel.y.max, "axes all the same");
  hand.stage.told = PanelInput{};
  hand.stage.told->answer.result = std::make_shared<const Result>(compute(hand.experiment()));
  hand.view().detail = Detail::scatter;
  hand.frames(3);
}

void check_names(Hand& hand, const Experiment& e, const std::string& a, const std::string& b) {
  const MethodNames found = method_names(e);
  hand.check(found.a == a && found.b == b, "called " + found.a + " and " + found.b + ", not " + a + " and " + b);
}

void names(Hand& hand) {
  Experiment e;
  e.a = e.b = Method{.algorithm = Algorithm::flash4};
  check_names(hand, e, "a", "b");
  e.b.tau = 0;
  check_names(hand, e, "flash4 tau 8", "flash4 tau 0");
  hand.check(method_names(e).b_after_a == "tau 0", "short after a");
  e.a = e.b = Method{.algorithm = Algorithm::flash2};
  e.b.block_k = 128;
  check_names(hand, e, "flash2 block_k 64", "flash2 block_k 128");
  e.b.block_k = e.a.block_k;
  e.b.kahan_l = true;
  check_names(hand, e, "flash2 plain l", "flash2 Kahan");
  e.b.kahan_l = false;
  e.a.precision = policy("hw").precision;
  e.b.precision = policy("tile").precision;
  check_names(hand, e, "flash2 hw", "flash2 tile");
  e.b.precision = e.a.precision;
  e.b.precision[Step::O] = to_format(fp16);
  check_names(hand, e, "flash2 O exact", "flash2 O fp16");
  e.a.algorithm = Algorithm::loaded;
  check_names(hand, e, "your kernel", "flash2");
  e.b.algorithm = Algorithm::loaded;
  check_names(hand, e, "a", "b");
  e.a.algorithm = Algorithm::hardware;
  check_names(hand, e, "hardware", "your kernel");
}

void verdicts(Hand& hand) {
  Result r;
  r.experiment.b.algorithm = Algorithm::three_pass;
  const auto found = [&](Algorithm a, double error) {
    r.experiment.a.algorithm = a;
    r.a_error.mean_abs = r.a_error.max_abs = error;
    r.b_error.mean_abs = r.b_error.max_abs = 1;
    return verdict(r);
  };
  using Tone = Verdict::Tone;
  for (const Algorithm a : {Algorithm::flash2, Algorithm::hardware, Algorithm::loaded}) {
    hand.check(found(a, 2).tone == Tone::good && found(a, 2.001).tone != Tone::good, "the line stands at 2 b");
    hand.check((found(a, 3).tone == Tone::bad) == !is_emulated(a), "an emulated method has no fault");
    hand.check(found(a, 3).sentence.starts_with("outside the 2× line: "), "outside");
  }
  hand.check(found(Algorithm::flash2, 3).sentence == "outside the 2× line: all of it is rounding", "an emulated one");
  hand.check(found(Algorithm::loaded, 3).headline == "Mean error 3.0× three-pass's", found(Algorithm::loaded, 3).headline);
  hand.check(found(Algorithm::hardware, 0.5).headline == "Mean error 0.50× three-pass's",
             found(Algorithm::hardware, 0.5).headline);
  hand.check(found(Algorithm::flash2, 27.3).headline == "Mean error 27× three-pass's", found(Algorithm::flash2, 27.3).headline);
  hand.check(found(Algorithm::loaded, 3).sentence != found(Algorithm::flash2, 3).sentence,
             "a loaded output may be another question's");
}

/// The words about a real kernel stand above the runs: their two lines push these down, in green if the kernel repeats its
/// bits.
void real_kernel(Hand& hand) {
  Result r = *hand.stage.panel_input().answer.result;
  hand.check(hardware_words(r).runs.empty() && hardware_lines(r).empty(), "an emulated method has no such words");
  hand.view().detail = Detail::same_bits;
  hand.frames(2);
  // text is thin: no pixel of it need have the colour in full
  const auto pixels = [&](bool green) {
    hand.move({2, 2});
    const ImVec2 button = hand.place(statistics + "###check bits", 1, 1), left = hand.place(chooser + "ulps", 0, 1);
    const Picture picture = hand.picture();
    int count = 0;
    for (int y = static_cast<int>(button.y) + 2; y < static_cast<int>(button.y) + 16; ++y)
      for (int x = static_cast<int>(left.x); x < static_cast<int>(button.x); ++x) {
        const std::uint8_t* rgb = picture.rgb.data() + (static_cast<std::ptrdiff_t>(y) * picture.width + x) * 3;
        count += (green ? rgb[1] - rgb[0] : rgb[0] - rgb[1]) > 50;
      }
    return count;
  };
  hand.check(pixels(true) == 0 && pixels(false) == 0, "nothing is said of an emulated method");
  r.experiment.b.algorithm = Algorithm::hardware;
  r.hardware = HardwareCheck{"mma.sync.m16n8k16", 0, 0, 1.5, 0.25};
  hand.check(hardware_words(r).runs == "hardware b: a second run gave the same bits", hardware_words(r).runs);
  hand.check(hardware_words(r).emulation == "emulated: at most 1.5 ulp of bf16 away, 0.25 on average",
             hardware_words(r).emulation);
  hand.check(hardware_lines(r) ==
                 "\nhardware b: a second run gave the same bits\nemulated: at most 1.5 ulp of bf16 away, 0.25 on average",
             hardware_lines(r));
  hand.stage.told = hand.stage.panel_input();
  hand.stage.told->answer.result = std::make_shared<const Result>(r);
  hand.frames(2);
  hand.check(pixels(true) > 100 && pixels(false) == 0, "the same bits are green");
  r.experiment.a.algorithm = Algorithm::hardware;
  r.hardware->changed = 3;
  r.hardware->run_to_run_ulp = 2;
  hand.check(hardware_words(r).runs == "hardware a: a second run changed 3 values by at most 2 ulp of fp32",
             hardware_words(r).runs);
  hand.stage.told->answer.result = std::make_shared<const Result>(r);
  hand.frames(2);
  hand.check(pixels(true) == 0 && pixels(false) > 100, "other bits are coral");
}

/// Errors of fp64 are whole ulps: the histogram has a bin for each, none of them empty between two that are not.
void whole_ulps(Hand& hand) {
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
  for (const auto& [bits, bins] : {std::pair{52, 17u}, std::pair{51, 33u}, std::pair{50, 66u}, std::pair{7, 66u}}) {
    Result other = r;
    other.experiment.format.mantissa_bits = bits;
    hand.check(ulps_panel(other).series[0].x.size() == bins, std::to_string(bits) + " mantissa bits");
  }
}

/// Numbers with long exponents leave the columns beside them alone.
void columns_apart(Hand& hand) {
  Session session = small_session();
  session.experiment = with_format(session.experiment, fp64);
  hand.open(session);
  PanelInput input = hand.stage.panel_input();
  Result r = *input.answer.result;
  const auto spread = [](Deviation& d) {
    d.max_abs = d.mean_abs = d.rms = d.std = d.rel_rms = d.wasserstein = 8.888e-188;
    d.bias = -8.888e-188;
    d.cosine = 1 + 4.4e-16;
  };
  spread(r.a_error), spread(r.b_error), spread(r.a_minus_b);
  input.answer.result = std::make_shared<const Result>(r);
  hand.stage.told = input;
  hand.move({2, 2});
  const Picture p = hand.picture();
  const float right = hand.place(statistics + "detail/traffic", 1).x, top = hand.place(statistics + "same bits", 0, 1).y + 96,
              bottom = hand.place(statistics + "detail/ulps", 0, 0).y - 8;
  const Colour panel = palette(Theme::dark).panel;
  for (const float edge : {206.0f, 131.0f, 75.0f})
    for (float x = right - edge + 2; x < right - edge + 7; ++x)
      hand.check(pixels_of(p, {x, top}, {x + 1, bottom}, panel) == static_cast<int>(bottom) - static_cast<int>(top),
                 "nothing stands between the columns at " + std::to_string(edge) + ", " + std::to_string(x));
  const DeviationMeasure& cosine = *deviation_measure("cosine");
  hand.check(shown_number(cosine, 1 + 4.4e-16) == 0 && shown_number(cosine, 0.75) == 0.25, "1 - cos is never below 0");
  hand.check(shown_number(*deviation_measure("bias"), -2) == -2, "other numbers are as they are");
}

/// At every size and scale the panel below the table has room, and its chooser can be clicked.
void room(Hand& hand) {
  struct Window {
    int width, height;
    double scale;
  };
  for (const auto& [width, height, scale] :
       {Window{1280, 800, 1}, Window{1600, 1000, 1}, Window{1600, 1000, 1.25}, Window{1920, 1080, 1.5}}) {
    hand.stage.resize(width, height);
    hand.view().ui_scale = scale;
    hand.frames(4);
    for (const char* detail : {"scatter", "why", "bits", "traffic", "ulps"}) {
      hand.click(chooser + detail);
      hand.frames(2);
    }
    hand.check(hand.place(chooser + "ulps", 0, 1).y < hand.place(strip + "###play", 0, 0).y, "the chooser is above the strip");
  }
}

/// A panel that is high enough shows the histogram and the scatter, the chosen one first; each is saved by its own name.
void both_plots(Hand& hand) {
  const auto can_save = [&](float y, const char* name) {
    const ImGuiWindow& panel = *ImGui::FindWindowByName("Statistics");
    hand.move({panel.Pos.x + panel.Size.x / 2, panel.Pos.y + y * panel.Size.y});
    hand.frames(3);
    return hand.exists(statistics + "###save " + name);
  };
  hand.stage.resize(1920, 1600);
  hand.frames(4);
  hand.check(can_save(0.45f, "ulps") && can_save(0.75f, "scatter"), "the scatter is below");
  hand.view().detail = Detail::scatter;
  hand.frames(4);
  hand.check(can_save(0.45f, "scatter") && can_save(0.75f, "ulps"), "the histogram is below");
  hand.stage.resize(1920, 1080);
  hand.frames(4);
  hand.check(can_save(0.75f, "scatter") && !hand.exists(statistics + "###save ulps"), "there is room for one");
}

constexpr std::array cases{
    Case{"statistics", "both plots", both_plots},
    Case{"statistics", "chooser", chooses},
    Case{"statistics", "bits", bits},
    Case{"statistics", "other bits", other_bits},
    Case{"statistics", "sums of a GPU", gpu_sums},
    Case{"statistics", "answers", answers_for},
    Case{"statistics", "steps", steps},
    Case{"statistics", "storage as a source", stored},
    Case{"statistics", "parts of an error", parts},
    Case{"statistics", "scatter", scatter},
    Case{"statistics", "scatter keeps the worst", scatter_keeps_the_worst},
    Case{"statistics", "scatter without errors", scatter_without_errors},
    Case{"statistics", "scatter in parts", scatter_in_parts},
    Case{"statistics", "names", names},
    Case{"statistics", "verdicts", verdicts},
    Case{"statistics", "real kernel", real_kernel},
    Case{"statistics", "whole ulps", whole_ulps},
    Case{"statistics", "columns apart", columns_apart},
    Case{"statistics", "room", room},
};

}  // namespace

std::span<const Case> statistics_cases() { return cases; }

}  // namespace attoscope::testing
