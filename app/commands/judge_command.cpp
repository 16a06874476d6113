/// `attoscope judge`: decides if a kernel's output is only rounded, or wrong.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/judge/judge_report.h"
#include "app/judge/judged_call.h"
#include "app/judge/keyless.h"
#include "app/link/link.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/readers.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// The options as typed.
struct JudgeArguments : ExperimentOptions, GradientSpecs {
  std::string q, k, v, o, input;
  std::string threads = "0";
  Typed head{};
  std::string json, report;  ///< output files; "" is none, "-" of json standard output
  bool unsaved = false;      ///< the files are temporary: the page does not name them
};

/// An option that names a file: Q, K, V and O are mandatory; each gradient that is given is judged.
struct FileOption {
  const char* option;
  std::string JudgeArguments::* file;
  const char* about;
};
constexpr FileOption tensor_options[]{{"--q", &JudgeArguments::q, "Q"},
                                      {"--k", &JudgeArguments::k, "K (its heads may be fewer than those of Q)"},
                                      {"--v", &JudgeArguments::v, "V"},
                                      {"--o", &JudgeArguments::o, "your kernel's output"}};
constexpr FileOption gradient_options[]{
    {"--do", &GradientSpecs::d_o, "gradient of the output, with which dQ, dK and dV are judged"},
    {"--dq", &GradientSpecs::dq, "your kernel's gradient of Q"},
    {"--dk", &GradientSpecs::dk, "your kernel's gradient of K, with heads of K (sums over groups) or of Q"},
    {"--dv", &GradientSpecs::dv, "your kernel's gradient of V, likewise"},
    {"--lse", &GradientSpecs::lse,
     "your kernel's log-sum-exp (batch, heads, n) or (n, heads), natural or in base 2, judged as well; with gradients also the "
     "one that P is made from"},
    {"--dlse", &GradientSpecs::d_lse, "gradient of the log-sum-exp (batch, heads, n)"},
    {"--dsink", &GradientSpecs::dsink, "your kernel's gradient of the sink, a number for each head"}};

CallSources sources_of(const JudgeArguments& x) {
  const std::optional<HeadLayout> layout = x.layout ? parse_layout(*x.layout) : std::nullopt;
  if (!layout && x.layout) refuse("--layout", *x.layout, std::string(layout_specs));
  for (const auto& [option, file, about] : tensor_options) {
    const bool is_in_kv = !x.packed[PackedPart::kv].empty() && (file == &JudgeArguments::k || file == &JudgeArguments::v);
    if ((x.*file).empty() && x.input.empty() && !is_in_kv)
      throw std::invalid_argument(std::string(option) + " is missing: expected --q, --k, --v and --o, or --input with --o");
  }
  if (!x.packed[PackedPart::kv].empty() && !x.k.empty() && !x.v.empty())
    throw std::invalid_argument("--kv was not expected beside --k and --v");
  CallSources sources{x.input, x.q, x.k, x.v, x.o, layout, {}, x.packed};
  for (std::size_t part = 0; part < x.scales.size(); ++part)
    if (x.scales[part]) sources.scales[part] = scale_of_option(part, *x.scales[part]);
  return sources;
}

JudgeQuestion question_of(const JudgeArguments& x, const JudgedFiles& files) {
  JudgeQuestion question;
  question.numbers = HeadNumbers(x.typed, files.files());
  question.reading = files.files().other_reading();
  Experiment e = default_experiment();
  set_problem(e.problem, without_head_numbers(x));
  e.problem = with_shape(e.problem, files.shape());
  set_methods(e, x, true);
  if (e.a.scaling.any())
    refuse("--like", x.like.value_or(""),
           "a kernel that stores nothing with scales, of FP8 kernels fa3_fp8_h100: judge has no rivals of those that do");
  if (x.like || x.find("policy") != nullptr) {
    question.declared = e.a;
    const std::string* const policy = x.find("policy");
    question.declared_name = !x.like ? *policy : policy ? *x.like + " with --policy " + *policy : *x.like;
  }
  if (x.find("format") != nullptr || (x.like && e.format == e4m3)) question.format = e.format;
  question.problem = e.problem;
  if (x.head) question.head = whole_number("--head", *x.head, 0, 1 << 20);
  return question;
}

/// Link that opens the worst head in the window; "" if the files have no names for it. With `gradients` (null: none) it shows
/// the backward pass instead of the verdict on O.
std::string link_of(const JudgeArguments& x, const JudgedFiles& files, const CallJudgement& call,
                    const CallGradients* gradients) {
  if (x.d_o.empty() || !x.any_computed() || !x.d_lse.empty()) gradients = nullptr;  // a link has no place for dL
  const int head =
      gradients == nullptr ? call.worst_row().head : std::ranges::max_element(gradients->tensors, {}, &CallTensor::ratio)->head;
  const HeadNumbers numbers(x.typed, files.files());
  LinkMessage message{.files = files.files_for_window(head)};
  if (message.files.empty()) return "";
  for (std::string& file : message.files) file = absolute_spec(file);
  const auto add = [&](std::string_view key, const std::string& spec) {
    if (!spec.empty()) message.gradients[std::string(key)] = absolute_spec(spec);
  };
  add("lse", x.lse);
  if (gradients != nullptr) {
    message.d_o = absolute_spec(x.d_o);
    add("dq", x.dq);
    add("dk", x.dk);
    add("dv", x.dv);
  }
  for (const std::string_view key : link_settings)
    if (const std::string own = numbers.text(key, head); !own.empty())
      message.settings[std::string(key)] = own;
    else if (const std::string* const value = x.find(key))
      message.settings[std::string(key)] = *value;
  return link_url(message);
}

/// Returns work(options); throws std::runtime_error if a signal stopped it.
template <class Work>
auto judged(int threads, Work work) {
  return unless_stopped("stopped before the verdict was there; nothing was written",
                        [&](const Cancelled& cancelled) { return work(Options{.cancelled = cancelled, .threads = threads}); });
}

CallJudgement answer(const JudgeArguments& x, const JudgedFiles& files, int threads, std::ostream* terminal) {
  ProgressLine line(terminal);
  const JudgeQuestion question = question_of(x, files);
  const int heads = question.head < 0 ? files.heads() : 1;
  const auto show = [&](double share) {
    line.show([&] {
      const std::string part = fmt::format("{:.0f} %", 100 * share);
      return heads > 1 ? fmt::format("{} of {} heads, {}", static_cast<int>(share * heads), heads, part) : part;
    });
  };
  return judged(threads, [&](Options options) {
    options.progress = show;
    return judge_call(files, question, options);
  });
}

/// True if all judged heads of the output are rounded when the tensors are read in this layout; false if the shapes, or a list
/// of numbers, do not fit it.
bool is_rounded_in(const HeadLayout& layout, const JudgeArguments& x, CallSources sources, const JudgedFiles& files,
                   const Options& options) try {
  sources.layout = layout;
  const JudgedFiles read(sources);
  if (read.heads() == 1 && files.heads() == 1) return false;  // both are the same
  const JudgeQuestion question = question_of(x, read);
  const KernelClaim claim = claim_of(read, question, options.cancelled).claim;
  const int first = std::max(question.head, 0), end = question.head < 0 ? read.heads() : first + 1;
  for (int head = first; head < end; ++head)
    if (head >= read.heads() || !judge_head(read, question, claim, head, options).head.rounded) return false;
  return true;
} catch (const std::exception&) {
  return false;
}

/// Layouts in which the tensors may be meant: the other order of heads and tokens, and heads side by side if they are read as
/// heads first, (batch, n, heads * d) as (heads, n, d).
std::vector<HeadLayout> other_layouts(const JudgedFiles& files) {
  if (files.order() == HeadOrder::tokens_first) return {{HeadOrder::heads_first}};
  std::vector<HeadLayout> layouts{{HeadOrder::tokens_first}};
  const CallFiles::Layer& layer = files.files().layers().front();
  const auto stored = [&](int part) { return files.files().tensor(layer, part).tensor; };
  if (files.order() == HeadOrder::heads_first && layer.sequence < 0)
    for (const HeadLayout& layout : layouts_side_by_side({stored(0), stored(1), stored(2)})) layouts.push_back(layout);
  return layouts;
}

/// A sentence that proposes another layout, if the output is only rounded when read in it; "" if there is none.
std::string other_reading(const JudgeArguments& x, const CallSources& sources, const JudgedFiles& files, int threads) try {
  const Interrupts interrupts;
  const Options options{.cancelled = [&] { return interrupts.arrived(); }, .threads = threads};
  for (const HeadLayout& layout : other_layouts(files)) {
    if (!is_rounded_in(layout, x, sources, files, options)) continue;
    const std::string text = layout_text(layout);
    const auto told = [&](const char* heads, const std::string& option) {
      return fmt::format("Read as {}, heads {}, it is rounded: if the tensors are meant so, say --layout {}.", text, heads,
                         option);
    };
    if (layout.order == HeadOrder::side_by_side) return told("side by side", in_quotes(text));
    return layout.order == HeadOrder::heads_first ? told("before tokens", "hnd") : told("behind tokens", "nhd");
  }
  return "";
} catch (const Stopped&) {
  return "";
}

/// Gradients with usual names in the one file of --input that has Q, K, V and O; none if they cannot be judged.
GradientSpecs gradients_beside(const JudgeArguments& x, const JudgedFiles& files) {
  const CallFiles& call = files.files();
  const bool one_call = call.layers().size() == 1 || call.layers().front().sequence >= 0;
  const TensorSpec input = x.input;
  if (x.input.empty() || !names_one_file(input.files()) || !one_call || call.is_paged()) return {};
  return gradients_in(input);
}

/// True if an option names a gradient.
bool names_gradients(const JudgeArguments& x) {
  return std::ranges::any_of(gradient_options,
                             [&](const FileOption& o) { return o.file != &GradientSpecs::lse && !(x.*o.file).empty(); });
}

/// Opened files of the gradients; empty if there are none. An option replaces one tensor of the file of --input.
std::optional<GradientFiles> gradient_files(const JudgeArguments& x, const JudgedFiles& files) {
  GradientSpecs all = gradients_beside(x, files);
  if (!names_gradients(x) && (all.d_o.empty() || !all.any_judged())) return {};
  for (const FileOption& o : gradient_options)
    if (!(x.*o.file).empty()) all.*static_cast<std::string GradientSpecs::*>(o.file) = x.*o.file;
  if (!all.any_judged()) throw std::invalid_argument("--dq, --dk, --dv and --dsink are missing: expected a gradient to judge");
  return std::optional<GradientFiles>(std::in_place, all, files.files());
}

/// Judges the gradients. If no option names them and they cannot be judged, returns nothing, and `call` gets a sentence.
std::optional<CallGradients> judged_gradients(const JudgeArguments& x, const GradientFiles& given, const JudgedFiles& files,
                                              CallJudgement& call, int threads) {
  try {
    CallGradients found =
        judged(threads, [&](const Options& o) { return judge_gradients_of(given, question_of(x, files), call, o); });
    if (!found.incomparable.empty()) throw UnjudgedGradients(found.incomparable);
    return found;
  } catch (const UnjudgedGradients& error) {
    if (names_gradients(x))
      throw std::runtime_error(fmt::format("{}; O by itself is {}", error.what(), call.rounded() ? "rounded" : "wrong"));
    std::string& second = call.sentences[1];
    second += fmt::format("{}The gradients in {} are not judged: {}.", second.empty() ? "" : " ", x.input, error.what());
    return {};
  }
}

bool is_unexplained(const CallJudgement& call) {
  return !call.rounded() && !call.worst_row().slip && !(call.also && call.also->rounded);
}

/// Judges and writes the outputs: none if anything fails. Returns true if every head is only rounded.
bool tell_verdict(const JudgeArguments& x, const Streams& streams) {
  const int threads = thread_option(x.threads);
  const CallSources sources = sources_of(x);
  check_outputs({{"--report", x.report}, {"--json", x.json}}, streams.files);
  const JudgedFiles files(sources);
  const std::optional<GradientFiles> given = gradient_files(x, files);
  const std::optional<RowNumbers> given_lse = open_lse(x.lse, sources.input, files.files());
  CallJudgement call = answer(x, files, threads, streams.terminal);
  if (const std::string why = call.incomparable(); !why.empty()) throw std::runtime_error(why);
  if (x.lse.empty())
    if (const std::string unused = unused_lse(sources.input, files.files()); !unused.empty())
      call.derivation.push_back("Left out: " + unused + ".");
  if (is_unexplained(call))
    if (std::string advice = other_reading(x, sources, files, threads); !advice.empty()) call.sentences[2] = std::move(advice);
  std::optional<CallGradients> gradients;
  if (given) gradients = judged_gradients(x, *given, files, call, threads);
  if (gradients) call.sentences = with_gradients(call, *gradients);
  std::optional<CallLse> lse;
  if (given_lse)
    lse = judged(threads, [&](const Options& o) { return judge_lse_of(*given_lse, files, question_of(x, files), call, o); });
  const bool rest_is_rounded = call.rounded() && (!gradients || gradients->rounded());
  if (lse) call.sentences = with_lse(call.sentences, *lse, rest_is_rounded);
  const bool shows_gradients = gradients && call.rounded() && (!lse || lse->rounded());
  if (!x.head) call.wrong_without_keys = wrong_without_keys(files, given_lse, question_of(x, files).problem.empty_rows);
  if (!call.wrong_without_keys.empty())
    call.sentences =
        with_wrong_without_keys(call.sentences, call.wrong_without_keys, rest_is_rounded && (!lse || lse->rounded()));
  const SeenAgain again{streams.typed, link_of(x, files, call, shows_gradients ? &*gradients : nullptr), !x.unsaved};
  write_outputs(
      {{x.report, [&] { return judgement_html(call, again, gradients, lse); }},
       {x.json, [&] { return json_text(judgement_json(call, again, gradients, lse)); }}},
      [&] { return judgement_report(call) + (gradients ? gradient_report(*gradients) : "") + (lse ? lse_report(*lse) : ""); },
      streams.out);
  return rest_is_rounded && call.rounded() && (!lse || lse->rounded());
}

void declare(OptionList& c, JudgeArguments& x) {
  c.group("Tensors");
  const std::string one = " of the call, all heads: " + tensor_specs();
  for (const FileOption& o : tensor_options) c.add(o.option, x.*o.file, o.about + one);
  c.add("--input,file", x.input, "FILE.safetensors or FILE.pt with those of q, k, v and o that are not named; may stand alone");
  c.add("--layout", x.layout, layout_help() + " (told by the shapes, else b h n d)");
  c.add("--head", x.head, "judge this head alone");
  c.scales(x, 4).packed(x);
  c.group("Gradients");
  for (const FileOption& o : gradient_options) c.add(o.option, x.*o.file, std::string(o.about) + ": a file as for --q");
  c.group("The kernel's attention").parameters(x, {"mask", "scale", "softcap", "alibi", "sink", "empty_rows"}).of_heads();
  c.group("How it rounds");
  c.parameter(x, parameter("format"), "main format D of its P (that of Q, or the narrow one that all its numbers fit)");
  c.parameter(x, parameter("policy"),
              "where it rounds (see attoscope presets); without it, as kernels do that keep scores, max and sums in fp32");
  c.add("--like", x.like, "a whole kernel (see attoscope presets), such as fa3_h100");
  c.group("Device").add("--threads", x.threads, "0 is all");
  c.group("Output");
  c.add("--json", x.json, "write the verdict to this file, - for standard output");
  c.add("--report", x.report, "write a page with the verdict, a map of the errors and how the tolerance came about: FILE.html");
  c.add("--unsaved", x.unsaved, "the files will be gone: the page names no command and no link").quiet();
}

}  // namespace

Command judge_command() {
  return command<JudgeArguments>("judge",
                                 "Tell whether your kernel's output is rounded or wrong: exit code 0 is rounded, 3 is wrong",
                                 declare, tell_verdict);
}

}  // namespace attoscope::app
