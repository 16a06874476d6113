#include "app/judge/judgement.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "app/judge/judge_report.h"
#include "app/threads/each_head.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/judge.h"

namespace attoscope::app {
namespace {

constexpr std::size_t most_searched = 4;
constexpr double most_scores = 1 << 18;  ///< of a head: limit for a search in every head with another mistake than the worst

/// The format of numbers of this type. All 8-bit whole numbers, and powers of two, are in bf16.
Format stored_format(ElementType t) { return format_of(t, bf16); }

bool fits(const std::vector<double>& x, const Format& f) {
  return std::ranges::all_of(x, [&](double y) { return !(round(f, y) != y) || std::isnan(y); });
}
bool fits(const Tensors& t, const Format& f) { return fits(t.q, f) && fits(t.k, f) && fits(t.v, f); }

bool is_wide(const Format& f) { return significand_bits(f) > 16; }

/// The first of these formats that holds the numbers of all heads; none if none does. Throws Stopped when cancelled.
template <class NumbersOf>
std::optional<Format> first_fitting(std::vector<Format> formats, int heads, const Cancelled& cancelled,
                                    const NumbersOf& numbers) {
  decltype(numbers(0)) held;  // heads that share a mask read it once while one of them is held
  for (int head = 0; head < heads && !formats.empty(); ++head) {
    if (cancelled && cancelled()) throw Stopped{};
    held = numbers(head);
    std::erase_if(formats, [&](const Format& f) { return !fits(*held, f); });
  }
  return formats.empty() ? std::nullopt : std::optional(formats.front());
}
std::optional<Format> fitting_inputs(const JudgedCall& files, const std::vector<Format>& formats, const Cancelled& cancelled) {
  return first_fitting(formats, files.heads(), cancelled, [&](int head) { return files.inputs(head); });
}
std::optional<Format> fitting_output(const JudgedCall& files, const std::vector<Format>& formats, const Cancelled& cancelled) {
  return first_fitting(formats, files.heads(), cancelled, [&](int head) { return files.output(head); });
}

/// The formats that may be meant where this wider one is stored.
std::vector<Format> narrower_than(const Format& stored) {
  if (!is_wide(stored)) return {};
  return stored == fp64 ? std::vector{bf16, fp16, fp32} : std::vector{bf16, fp16};
}

/// D, the reason for it, and a narrower format that may be meant instead.
struct FoundFormat {
  Format d;
  std::string why;
  std::optional<Format> narrower{};
};

/// D if the question names none, as `claim_of` describes.
FoundFormat format_of_call(const JudgedCall& files, const Format& of_o, const Cancelled& cancelled) {
  const bool is_scaled = files.has_scaled_inputs(),
             doubles_hold_fp32 = files.type_of_q() == ElementType::F64 && !files.tells_format() &&
                                 significand_bits(of_o) <= significand_bits(fp32) &&
                                 (is_scaled || fitting_inputs(files, {fp32}, cancelled));  // products with scales fit no format
  const Format stored = doubles_hold_fp32 ? fp32 : stored_format(files.type_of_q());
  const Format narrow = fitting_inputs(files, narrower_than(stored), cancelled).value_or(stored);
  const Format o = files.tells_format() ? stored_format(files.type_of_o()) : of_o;
  const bool has_scale = files.output_scale(0) != nullptr, is_widened = !files.tells_format() && narrow != stored,
             o_fits = is_widened && (of_o == narrow || (of_o == fp16 && fitting_output(files, {narrow}, cancelled)));
  if (is_wide(stored) && !is_wide(o) && !has_scale && (!is_widened || (!o_fits && !is_scaled))) return {o, "since O is in it"};
  if (is_scaled && is_widened && !o_fits && !has_scale && of_o != fp64) return {of_o, "since O is in it"};
  if (narrow == stored && is_scaled) return {stored, has_scale ? "since Q and O have scales" : "since O is in it"};
  if (narrow == stored) return {stored, "since Q is stored in it"};
  if (files.tells_format()) return {stored, "since Q is stored in it", narrow};
  if (is_scaled || narrow == fp32 || o_fits || has_scale) return {narrow, "since all numbers of Q, K and V fit it"};
  return {stored, "since Q is stored in it and not all numbers of O fit " + name(narrow), narrow};
}

/// Replaces a mask tensor that equals a rule by that rule, whose slips have names of their own.
void take_rule_of_mask(Problem& p) {
  const std::shared_ptr<const MaskTensor>& mask = p.input.tensors->mask;
  const std::optional<Mask> rule = mask ? rule_of(*mask) : std::nullopt;
  if (!rule || (p.mask.kind != Mask::Kind::none && !(p.mask == *rule)) || (p.alibi != 0 && rule->top_left != p.mask.top_left))
    return;
  Tensors without = *p.input.tensors;
  without.mask = nullptr;
  p.input.tensors = std::make_shared<const Tensors>(std::move(without));
  p.mask = *rule;
}

/// The format of eight bits that V is stored in, to which a kernel may round P; none if D is it, or V is in no such format.
std::optional<Format> format_of_eight_bits(const JudgedCall& files, const Format& d) {
  const Format f = stored_format(files.type_of_v());
  return significand_bits(f) + f.exponent_bits <= 8 && f != d ? std::optional(f) : std::nullopt;
}

/// The option of a D or, unless the output `has_name`, of a policy, at most two steps coarser than the one in use, or of the
/// format of eight bits that V is stored in, under which the output would be rounded; "": there is none, or the errors have a
/// sign, which shows a mistake.
std::string option_that_accepts(const JudgedOutput& output, const Judged& judged, bool has_name, const Options& options) {
  if (output.claim.declared || error_has_sign(output, judged, options)) return "";
  const auto accepts = [&](const auto& change) {
    JudgedOutput other = output;
    change(other.claim);
    return judge(other, options).head.rounded;
  };
  std::vector<Format> coarser;
  if (is_wide(output.claim.format)) coarser = {tf32, bf16};
  if (output.claim.of_P) coarser.push_back(*output.claim.of_P);
  for (const Format& f : coarser)
    if (accepts([&](KernelClaim& claim) { claim.format = f; })) return "--format " + name(f);
  if (has_name) return "";
  for (const char* name : {"tile", "eager"})
    if (accepts([&](KernelClaim& claim) { claim.declared = with_policy(Method{}, policy(name)); }))
      return std::string("--policy ") + name;
  return "";
}

/// Rows of the table that are wrong, the worst first.
std::vector<std::size_t> wrong_rows(const CallJudgement& call) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < call.table.size(); ++i)
    if (!call.table[i].found.rounded) rows.push_back(i);
  std::ranges::stable_sort(rows, std::ranges::greater{}, [&](std::size_t i) { return call.table[i].found.ratio; });
  return rows;
}

/// The judgement on the whole call with another D.
AlsoJudged judged_as(const Format& format, const CallJudgement& call, const JudgedCall& files, const JudgeQuestion& question,
                     const Options& options) {
  AlsoJudged also{.format = format, .rounded = true};
  const Format of_o = fitting_output(files, narrower_than(call.claim.stored), options.cancelled).value_or(call.claim.stored);
  for (const JudgedRow& row : call.table) {
    JudgedOutput output = judged_output(call.claim, files, question, row.head);
    output.claim.format = format;
    output.claim.stored = of_o;
    const HeadJudgement found = judge(output, options).head;
    also.rounded = also.rounded && found.rounded;
    also.ratio = std::max(also.ratio, found.ratio);
  }
  return also;
}

/// Searches the mistake of the worst head, then tries it on the other heads. If it does not explain some, searches the first
/// of them, or all if heads are small.
class NameSearch {
 public:
  NameSearch(CallJudgement& call, const JudgedCall& files, const JudgeQuestion& question)
      : call_(call), files_(files), question_(question) {}

  void search(const std::vector<std::size_t>& rows, const Options& options) {
    KnownName known;
    SlipSearch found = searched(rows.front(), options, known);
    call_.table[rows.front()].slip = std::move(found.found);
    call_.suspects = std::move(found.ranked);
    const std::vector<int> others(rows.begin() + 1, rows.end());
    each_head(others, options, [&](int i, const Options& own) {
      const Head head = of(static_cast<std::size_t>(i), own);
      call_.table[static_cast<std::size_t>(i)].slip = confirmed_slip(head.output, head.judged, head.others, own, known);
    });
    const bool is_large = static_cast<double>(call_.shape.n) * call_.shape.n_k > most_scores;
    int more = is_large ? 1 : static_cast<int>(others.size());
    for (const int other : others) {
      const auto i = static_cast<std::size_t>(other);
      if (!call_.table[i].slip && more-- > 0) call_.table[i].slip = searched(i, options, known).found;
    }
  }

 private:
  /// A wrong head with its judgement, which is computed again unless it is the worst head.
  struct Head {
    JudgedOutput output;
    OtherHeads others;
    Judged judged;
  };
  Head of(std::size_t i, const Options& options) const {
    const int head = call_.table[i].head;
    Head x{judged_output(call_.claim, files_, question_, head), files_.layer_of(head).heads, {}};
    for (const JudgedRow& row : call_.table)
      if (row.found.P) x.output.claim.P = row.found.P;
    x.judged = i == call_.worst ? call_.detail : judge(x.output, options);
    return x;
  }
  SlipSearch searched(std::size_t i, const Options& options, KnownName& known) const {
    known = {};
    const Head head = of(i, options);
    return slips_of(head.output, head.judged, head.others, options, known);
  }

  CallJudgement& call_;
  const JudgedCall& files_;
  const JudgeQuestion& question_;
};

/// Searches slips in the worst heads. Returns the option that would accept the worst head if no slip explains it, or if that is
/// a rounding that may be meant.
std::string explain(CallJudgement& call, const JudgedCall& files, const JudgeQuestion& question, const Options& options) {
  std::vector<std::size_t> rows = wrong_rows(call);
  if (rows.empty() || (call.also && call.also->rounded)) return "";
  rows.resize(std::min(rows.size(), most_searched));
  NameSearch(call, files, question).search(rows, options);
  const std::optional<Slip>& slip = call.worst_row().slip;
  if (slip && (slip->kind != Slip::Kind::rounding || !call.claim.of_P)) return "";
  return option_that_accepts(judged_output(call.claim, files, question, call.worst_row().head), call.detail, slip.has_value(),
                             options);
}

/// Sets the results that need all heads judged.
void conclude(CallJudgement& call, const std::optional<Format>& narrower, const JudgedCall& files,
              const JudgeQuestion& question, const Options& options) {
  std::string accepting;
  if (call.incomparable().empty()) {
    if (narrower && !call.rounded()) call.also = judged_as(*narrower, call, files, question, options);
    if (call.rounded())
      call.seen = seen_mistakes(judged_output(call.claim, files, question, call.worst_row().head), call.detail, options);
    accepting = explain(call, files, question, options);
  }
  call.sentences = judgement_sentences(call, accepting);
  call.derivation = derivation_of(call, question);
  if (const auto mask = files.inputs(call.worst_row().head)->mask)
    call.sentences[1] += " " + mask_sentence(*mask, call.worst_row().name);
}

/// Judges the heads that the question names.
void judge_heads(CallJudgement& call, const JudgedCall& files, const JudgeQuestion& question, const Options& options) {
  const std::vector<int> heads = question.head < 0 ? numbers(files.heads()) : std::vector{question.head};
  const std::vector<std::string> names = files.head_names();
  for (const int head : heads) call.table.push_back({head, names[static_cast<std::size_t>(head)], files.sequence_of(head), {}});
  std::vector<std::vector<RivalError>> families(heads.size());
  std::mutex mutex;
  bool any = false;
  const auto take = [&](int head, Judged judged) {
    const std::lock_guard lock(mutex);
    const auto i = static_cast<std::size_t>(head - heads.front());
    families[i] = judged.tolerance.family;
    call.table[i].found = judged.head;
    const double most = call.worst_row().found.ratio;
    if (!any || judged.head.ratio > most || (judged.head.ratio == most && i < call.worst)) {
      call.worst = i;
      call.detail = std::move(judged);
    }
    any = true;
  };
  each_head(heads, options,
            [&](int head, const Options& own) { take(head, judge_head(files, question, call.claim, head, own)); });
  for (const std::vector<RivalError>& family : families) add_family(call.family, family);
  call.output = *files.output(call.worst_row().head);
  call.shape = files.shape_at(call.worst_row().head);
}

}  // namespace

JudgedOutput judged_output(const KernelClaim& claim, const JudgedCall& files, const JudgeQuestion& question, int head) {
  JudgedOutput output{question.problem_of(head), files.output(head), claim};
  output.claim.scale = files.output_scale(head);
  Problem& p = output.problem;
  p = with_shape(p, files.shape_at(head));
  p.input = {.kind = InputKind::tensors,
             .file = "q,k,v",
             .index = files.layer_of(head).own,
             .digest = 1,
             .tensors = files.inputs(head)};
  take_rule_of_mask(p);
  return output;
}

CallClaim claim_of(const JudgedCall& files, const JudgeQuestion& question, const Cancelled& cancelled) {
  if (question.claim) return *question.claim;
  KernelClaim claim;
  claim.declared = question.declared;
  claim.scale = files.output_scale(0);
  claim.scaled_inputs = files.has_scales();
  claim.whole = claim.scale && (files.type_of_o() == ElementType::I8 || files.type_of_o() == ElementType::U8);
  const Format stored_o = stored_format(files.type_of_o());
  const Format narrow_o = fitting_output(files, narrower_than(stored_o), cancelled).value_or(stored_o);
  const FoundFormat found =
      question.format ? FoundFormat{*question.format, "as asked for"} : format_of_call(files, narrow_o, cancelled);
  claim.format = found.d;
  claim.of_P = format_of_eight_bits(files, found.d);
  const bool holds_d = is_wide(found.d) && is_wide(stored_o) && !question.format;
  // .npy has no bf16, so that such an output may be stored as F16
  const bool fits_d = stored_o == fp16 && found.d == bf16 && !files.tells_format() && fitting_output(files, {bf16}, cancelled);
  claim.stored = holds_d || fits_d ? found.d : narrow_o;
  return {claim, found.why, found.narrower};
}

Judged judge_head(const JudgedCall& files, const JudgeQuestion& question, const KernelClaim& claim, int head,
                  const Options& options) {
  return judge(judged_output(claim, files, question, head), options);
}

CallJudgement judge_call(const JudgedCall& files, const JudgeQuestion& question, const Options& options) {
  if (question.head >= files.heads())
    throw std::invalid_argument("--head is " + std::to_string(question.head) + ", expected 0 to " +
                                std::to_string(files.heads() - 1));
  const CallClaim known = claim_of(files, question, options.cancelled);
  CallJudgement call;
  call.shape = files.shape();
  call.heads = files.heads();
  call.claim = known.claim;
  call.why_format = known.why_format;
  call.columns_left_out = files.columns_of_o() - call.shape.d_v;
  if (question.head >= 0) call.sequences_without_keys = files.sequences_without_keys();
  judge_heads(call, files, question, options);
  Options quiet = options;
  quiet.progress = {};
  conclude(call, known.narrower, files, question, quiet);
  return call;
}

JudgeQuestion question_of(const Experiment& e, const ExperimentCall& call, const Cancelled& cancelled) {
  JudgeQuestion question;
  question.problem = e.problem;
  question.head = call.head;
  question.problem.rows = 0;
  if (call.whole) question.claim = claim_of(*call.call, question, cancelled);
  if (!call.whole || question.claim->claim.format != e.format) {
    question.claim.reset();
    question.format = e.format;
  }
  return question;
}

CallJudgement judge_experiment(const Experiment& experiment, const Options& options) {
  const ExperimentCall call = call_of(experiment);
  return judge_call(*call.call, question_of(experiment, call, options.cancelled), options);
}

Format format_of_loaded(const Experiment& e) {
  const bool is_narrow = significand_bits(e.format) + e.format.exponent_bits < 9;
  const std::shared_ptr<const JudgedCall> call = is_narrow ? nullptr : whole_call_of(e);
  return call ? claim_of(*call, {}).claim.format : format_of_output(e.loaded, e.format);
}

}  // namespace attoscope::app
