#include "app/commands/judge_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/progress_line.h"
#include "app/files/files.h"
#include "app/files/interrupts.h"
#include "app/json/json.h"
#include "app/judge/judge_json.h"
#include "app/judge/judge_report.h"
#include "app/judge/judge_words.h"
#include "app/judge/judged_files.h"
#include "app/judge/judgement.h"
#include "app/link/link_url.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

CallSources sources_of(const JudgeArguments& x) {
  const std::optional<HeadLayout> layout = x.layout ? parse_layout(*x.layout) : std::nullopt;
  if (!layout && x.layout) refuse("--layout", *x.layout, std::string(layout_specs));
  for (const auto& [option, file] : {std::pair{"--q", &x.q}, {"--k", &x.k}, {"--v", &x.v}, {"--o", &x.o}})
    if (file->empty() && x.input.empty())
      throw std::invalid_argument(std::string(option) + " is missing: expected --q, --k, --v and --o, or --input with --o");
  CallSources sources{x.input, x.q, x.k, x.v, x.o, layout};
  for (std::size_t part = 0; part < x.scales.size(); ++part) {
    if (!x.scales[part]) continue;
    of_option(scale_options[part], [&] { return parse_scale_file(*x.scales[part]); });
    sources.scales[part] = *x.scales[part];
  }
  return sources;
}

/// Before anything is read: could the files be written at all, and is none of them read?
void check_places(const JudgeArguments& x) {
  if (!x.report.empty()) check_place("--report", x.report);
  if (!x.json.empty() && x.json != "-") check_place("--json", x.json);
  for (const OutputPlace& read : {OutputPlace{"--q", x.q}, {"--k", x.k}, {"--v", x.v}, {"--o", x.o}, {"--input", x.input}})
    check_distinct({{"--report", x.report}, {"--json", x.json}, read});
  for (std::size_t part = 0; part < x.scales.size(); ++part)
    if (x.scales[part])
      check_distinct(
          {{"--report", x.report}, {"--json", x.json}, {scale_options[part], parse_scale_file(*x.scales[part]).file}});
}

JudgeQuestion question_of(const JudgeArguments& x, const AttentionShape& shape) {
  JudgeQuestion question;
  Experiment e = default_experiment();
  set_problem(e.problem, x);
  e.problem = with_shape(e.problem, shape);
  set_methods(e, x, true);
  if (e.a.scaling.any())
    refuse("--like", x.like.value_or(""), "a kernel that stores nothing with scales: judge has no rivals of those that do");
  if (x.like || x.find("policy") != nullptr) {
    question.declared = e.a;
    question.declared_name = x.like ? *x.like : *x.find("policy");
  }
  if (x.find("format") != nullptr || (x.like && e.format == e4m3)) question.format = e.format;
  question.problem = e.problem;
  if (x.head) question.head = whole_number("--head", *x.head, 0, 1 << 20);
  return question;
}

/// A word as a shell reads it back.
std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                          "_-./:=,+@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The command that judges the same again.
std::string command_of(const JudgeArguments& x) {
  std::string text = "attoscope judge";
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) text += " " + option + " " + shell_word(value);
  };
  add("--input", x.input), add("--q", x.q), add("--k", x.k), add("--v", x.v), add("--o", x.o);
  for (std::size_t part = 0; part < x.scales.size(); ++part) add(scale_options[part], x.scales[part].value_or(""));
  for (const auto& [key, value] : x.typed) add("--" + key, value);
  add("--like", x.like.value_or(""));
  add("--head", x.head.value_or(""));
  add("--layout", x.layout.value_or(""));
  return text;
}

/// The link that shows the worst head.
std::string link_of(const JudgeArguments& x, const JudgedFiles& files, int head) {
  LinkMessage message{.files = files.files_for_window(head)};
  if (message.files.empty()) return "";
  for (std::string& file : message.files) file = absolute_spec(file);
  for (const std::string_view key : link_settings)
    if (const std::string* const value = x.find(key)) message.settings[std::string(key)] = *value;
  return link_url(message);
}

CallJudgement answer(const JudgeArguments& x, const JudgedFiles& files, int threads, std::ostream* terminal) {
  const Interrupts interrupts;
  ProgressLine line(terminal);
  const JudgeQuestion question = question_of(x, files.shape());
  const int heads = question.head < 0 ? files.heads() : 1;
  const auto show = [&](double share) {
    line.show([&] {
      const std::string part = fmt::format("{:.0f} %", 100 * share);
      return heads > 1 ? fmt::format("{} of {} heads, {}", static_cast<int>(share * heads), heads, part) : part;
    });
  };
  try {
    return judge_call(files, question,
                      {.cancelled = [&] { return interrupts.arrived(); }, .progress = show, .threads = threads});
  } catch (const Stopped&) {
    throw std::runtime_error("stopped before the verdict was there; nothing was written");
  }
}

/// Heads and tokens the other way round: "h n d" for "b n h d".
HeadLayout other_layout(HeadOrder order) {
  return {order == HeadOrder::tokens_first ? HeadOrder::heads_first : HeadOrder::tokens_first};
}

/// A sentence that names the other order of heads and tokens, where a wrong output that nothing explains is rounded in it; "":
/// it is not, or the shapes do not allow it.
std::string other_reading(const JudgeArguments& x, CallSources sources, const JudgedFiles& files, int threads) {
  sources.layout = other_layout(files.order());
  try {
    const JudgedFiles read(sources);
    if (read.heads() == 1 && files.heads() == 1) return "";  // both are the same
    const JudgeQuestion question = question_of(x, read.shape());
    const KernelClaim claim = claim_of(read, question).claim;
    const Interrupts interrupts;
    const Options options{.cancelled = [&] { return interrupts.arrived(); }, .threads = threads};
    const int first = std::max(question.head, 0), end = question.head < 0 ? read.heads() : first + 1;
    for (int head = first; head < end; ++head)
      if (head >= read.heads() || !judge_head(read, question, claim, head, options).head.rounded) return "";
  } catch (const std::runtime_error&) {
    return "";
  } catch (const Stopped&) {
    return "";
  }
  const bool behind = sources.layout->order == HeadOrder::tokens_first;
  return fmt::format("Read as {}, heads {} tokens, it is rounded: if the tensors are meant so, say --layout {}.",
                     layout_text(*sources.layout), behind ? "behind" : "before", behind ? "nhd" : "hnd");
}

bool is_unexplained(const CallJudgement& call) {
  return !call.rounded() && !call.worst_row().slip && !(call.also && call.also->rounded);
}

}  // namespace

bool judge(const JudgeArguments& x, std::ostream& out, std::ostream* terminal) {
  const int threads = whole_number("--threads", x.threads, 0, 4096);
  const CallSources sources = sources_of(x);
  check_places(x);
  const JudgedFiles files(sources);
  CallJudgement call = answer(x, files, threads, terminal);
  if (const std::string why = call.incomparable(); !why.empty()) throw std::runtime_error(why);
  if (is_unexplained(call))
    if (std::string advice = other_reading(x, sources, files, threads); !advice.empty()) call.sentences[2] = std::move(advice);
  const SeenAgain again{command_of(x), link_of(x, files, call.worst_row().head), !x.unsaved};
  const std::string json = x.json.empty() ? "" : json_text(judgement_json(call, again.command, again.link));
  StagedFiles written;
  if (!x.report.empty()) written.add(x.report, judgement_html(call, again));
  if (!json.empty() && x.json != "-") written.add(x.json, json);
  written.commit();
  out << (x.json == "-" ? json : judgement_report(call)) << std::flush;
  return call.rounded();
}

}  // namespace attoscope
