// Loaders of text: sessions, figures, points, typed text, lessons.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "app/explore/lessons.h"
#include "app/link/link.h"
#include "app/papers/named_bundle.h"
#include "app/papers/sweep_figure.h"
#include "app/plots/plot_bundle.h"
#include "app/session/experiment_options.h"
#include "app/session/probes.h"
#include "app/session/session.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/sweep_json.h"
#include "app/sweep/table.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/words/devices.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"
#include "kernels/questions/expression.h"
#include "kernels/train/plan/plan.h"
#include "tests/fuzz/loaders.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "ui/frame/exercise.h"
#include "ui/frame/lesson.h"

namespace attoscope::testing {
namespace {

/// Runs all readers on `text`; each may refuse it.
template <class... Read>
void each_may_refuse(std::string_view text, Read... read) {
  (refused_in_a_sentence(read, text), ...);
}

/// Reads `text`, writes the value and reads it again; expects an equal value.
template <class Read, class Write>
void expect_again(std::string_view text, Read read, Write write) {
  const auto first = read(std::string(text));
  const std::string written = write(first);
  bool again = false;
  try {
    again = read(written) == first;
  } catch (const std::invalid_argument&) {
  }
  expect_that(again, "'" + written + "' was written and is read as something else");
}

Sweep two_axes() {
  Sweep sweep{.base = small_experiment(), .axes = {parse_axis("block_k=16,32"), parse_axis("format=bf16,fp16")}, .seeds = 2};
  return sweep;
}

PointSummary made_up_summary(Dice& dice) {
  PointSummary summary;
  visit_summary(summary, [&](const std::string&, auto& x) { x = static_cast<std::decay_t<decltype(x)>>(100 * dice.unit()); });
  return summary;
}

/// A session with made-up values of its other parts.
Session full_session() {
  Session session;
  Dice dice(3);
  for (int i = 0; i < 2; ++i) {
    Pin& pin = session.pins.emplace_back();
    pin.name = "pin " + std::to_string(i);
    pin.experiment.a.order = SumOrder::interleaved;
    pin.thumbnail.assign(static_cast<std::size_t>(pin_width * pin_height), static_cast<std::int8_t>(dice.between(-90, 90)));
  }
  session.sweep.first = {"block_k", "16,32"};
  return session;
}

void load_sessions(std::string_view bytes) {
  std::vector<std::string> remarks;
  const Session session = parse_session(bytes, remarks);
  for (const std::string& remark : remarks)
    expect_that(!remark.empty() && printable(remark) == remark, "no printable sentence: " + printable(remark));
  remarks.clear();
  parse_session(session_text(session), remarks);
  expect_that(remarks.empty(), "a session that was written is not understood");
}

std::vector<std::string> session_texts() { return {session_text(Session()), session_text(full_session())}; }

void load_figures(std::string_view bytes) {
  each_may_refuse(
      bytes, +[](std::string_view text) { parse_asked_figure(std::string(text)); },
      +[](std::string_view text) {
        std::vector<std::string> remarks;
        parse_plot(std::string(text), remarks);
      },
      +[](std::string_view text) {
        std::vector<std::string> remarks;
        parse_sweep(text, remarks);
        parse_sweep_style(text, remarks);
        parse_points_digest(text, remarks);
      });
}

std::vector<std::string> figure_texts() {
  AskedFigure trained{.name = "training", .plan = default_train_plan(), .plan_seeds = 2, .digests = {{"a", 1}, {"b", 2}}};
  Json plot{{"schema", figure_schema}, {"version", ATTOSCOPE_VERSION}, {"plot", "heat_map"}, {"caption", "c"}};
  plot["digests"] = {{"golden", hex16(1)}, {"a", hex16(2)}, {"b", hex16(3)}};
  plot["session"] = Json::parse(session_text(Session()));
  return {json_text(asked_json({.name = "sequence-length", .points = 1})), json_text(asked_json(trained)),
          json_text(sweep_reproduction(two_axes(), {}, "c", 1)), json_text(plot)};
}

void load_points(std::string_view bytes) {
  if (const std::optional<PointSummary> summary = unpacked_summary(bytes))
    expect_that(packed_summary(*summary) == bytes, "a summary that was read is written otherwise");
  parse_points_csv(two_axes(), std::string(bytes));
}

std::vector<std::string> point_texts() {
  Dice dice(5);
  const SweepAnswer good{.index = 1, .summary = made_up_summary(dice), .error = {}},
      bad{.index = 2, .summary = std::nullopt, .error = "has no answer, \"why\""};
  return {points_csv(two_axes(), std::vector{good, bad}), points_csv(two_axes(), {}), packed_summary(*good.summary)};
}

void load_command_texts(std::string_view bytes) {
  each_may_refuse(
      bytes, +[](std::string_view text) { expect_again(text, parse_format, [](const Format& f) { return name(f); }); },
      +[](std::string_view text) { expect_again(text, parse_rounding, rounding_text); },
      +[](std::string_view text) { expect_again(text, parse_mask, mask_text); },
      +[](std::string_view text) { expect_again(text, parse_input, input_spec); },
      +[](std::string_view text) { expect_again(text, parse_kernel_output, kernel_output_spec); },
      +[](std::string_view text) { expect_again(text, parse_axis, axis_text); },
      +[](std::string_view text) { parse_measure(text); }, +[](std::string_view text) { policy(text); },
      +[](std::string_view text) { grad_policy(text); }, +[](std::string_view text) { check_device("--device", text); },
      +[](std::string_view text) { row_of(std::string(text), 64); },
      +[](std::string_view text) {
        Experiment e = small_experiment();
        apply_setting(e, std::string(text));
        validate(e);
      },
      +[](std::string_view text) {
        Experiment e = small_experiment();
        const std::size_t equals = std::min(text.find('='), text.size());
        vary(e, text.substr(0, equals), std::string(text.substr(std::min(equals + 1, text.size()))));
      });
}

std::vector<std::string> command_texts() {
  std::vector<std::string> texts{"bf16",
                                 "e5m7",
                                 "e4m3:saturate",
                                 "main/stochastic",
                                 "window:17",
                                 "padding:3",
                                 "constant:1.5",
                                 "x.safetensors:3",
                                 "x.safetensors,k_scale=s.npy[token]:3",
                                 "x.safetensors,v_scale=s.safetensors:7:0",
                                 "q.npy,k.npy,v.npy:1",
                                 "o.npy:2",
                                 "block_k=16:1024:x2",
                                 "alibi=0:1:0.25",
                                 "format=bf16,fp16",
                                 "a.order=interleaved:4;pairwise",
                                 "a.mean_abs/golden",
                                 "ratio.rms",
                                 "cuda:0,cuda:1",
                                 "-7",
                                 "a.O=fp32",
                                 "b.order=interleaved:4",
                                 "b.policy=tile",
                                 "a.tau=4"};
  for (const Policy& p : policies()) texts.emplace_back(p.name);
  for (const GradPolicy& p : grad_policies()) texts.emplace_back(p.name);
  for (const Parameter& p : experiment_parameters()) texts.push_back(p.key + "=" + std::string(p.sweep.example));
  return texts;
}

/// Any answer to an exercise gives a printable sentence.
void try_exercise(const LessonView& view) {
  if (!view.problem.empty()) return;
  const Exercise x = exercise_of(view);
  std::vector<std::string> sentences;
  for (const Blank& blank : x.blanks) sentences.push_back(judge_blank(blank, x.question).sentence);
  if (!x.formats.empty()) sentences.push_back(judge_format(x, x.question).sentence);
  for (const std::string& said : sentences) expect_that(printable(said) == said, "no printable sentence: " + printable(said));
}

/// Evaluates an expression over a few names; expects the same value in parentheses.
void load_expressions(std::string_view bytes) {
  const std::vector<std::string> names{"s", "m_old", "m", "l_old", "α", "m'", "m~", "V_t"};
  const std::vector<double> values{1.5, -2, 3, 0, 0.25, -1, 7, 1e300};
  const double x = evaluated(bytes, names, values);
  if (bytes.size() + 2 > longest_expression) return;
  try {
    const double y = evaluated("(" + std::string(bytes) + ")", names, values);
    expect_that(x == y || (std::isnan(x) && std::isnan(y)), "parentheses change a value");
  } catch (const std::invalid_argument& refusal) {
    expect_that(std::string_view(refusal.what()).find("too deeply") != std::string_view::npos, "parentheses are not read");
  }
}

std::vector<std::string> expressions() {
  return {"exp(m_old - m) * l_old + exp(s - m)", "alpha*(l_old+1.5e-3)/max(s, m', -2)", "-(-m~)·V_t - .5", "max(1,2", "l_new"};
}

void load_lessons(std::string_view bytes) {
  Lesson lesson = parse_lesson("name", bytes);
  resolve(lesson);
  expect_that(!lesson.steps.empty(), "a lesson without a step");
  for (const LessonStep& step : lesson.steps)
    for (const LessonBlock& block : step.blocks)
      for (const LessonView& view : block.view)
        if (view.kind == LessonViewKind::exercise) try_exercise(view);
  parse_live(bytes.substr(0, bytes.find('\n')));
}

std::vector<std::string> lesson_texts() {
  std::vector<std::string> texts{"a.mean_abs?policy=eager&n=256"};
  constexpr std::string_view exercise = "```exercise\n";
  for (const auto& file : std::filesystem::directory_iterator(lessons_directory())) {
    if (file.path().extension() != ".md") continue;
    const std::string text = bytes_of_file(file.path().string());
    texts.push_back(text);
    for (std::size_t at = text.find(exercise); at != std::string::npos; at = text.find(exercise, at + 1))  // also alone
      texts.push_back("# T\n\n## S\n\n" + text.substr(at, text.find("```\n", at + exercise.size()) + 4 - at));
  }
  return texts;
}

/// Reads the session of a link as the window does; expects that its short text gives the same session.
void read_linked_session(const std::string& text) {
  std::vector<std::string> remarks;
  const Session session = parse_session(text, remarks);
  remarks.clear();
  expect_that(parse_session(short_session_text(session), remarks) == session, "the short text gives another session");
}

/// Reads a link, as from a click or from another program.
void load_links(std::string_view bytes) {
  const LinkMessage message = parse_link_url(bytes);
  expect_that(parse_link_url(link_url(message)) == message, "a link that is not read back");
  if (!message.session.empty()) read_linked_session(message.session);
}

std::vector<std::string> links() {
  Session session;
  session.experiment.problem.n = 77;
  return {link_url({.files = {"/tmp/a b.npy", "/tmp/\xff"}, .settings = {{"mask", "window:7"}, {"scale", "0.5"}}}),
          link_url({.files = {"/q", "/k", "/v", "/o"}}),
          link_url({.files = {}, .settings = {}, .session = short_session_text(session)}),
          link_url({.files = {}, .settings = {}, .session = short_session_text(Session{})})};
}

}  // namespace

std::vector<Loader> text_loaders() {
  return {{"sessions", checked<load_sessions>, session_texts},
          {"figures", checked<load_figures>, figure_texts},
          {"points", checked<load_points>, point_texts},
          {"command_texts", checked<load_command_texts>, command_texts},
          {"lessons", checked<load_lessons>, lesson_texts},
          {"expressions", checked<load_expressions>, expressions},
          {"links", checked<load_links>, links}};
}

}  // namespace attoscope::testing
