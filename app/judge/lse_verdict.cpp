#include "app/judge/lse_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/judge/judge_report.h"
#include "app/threads/each_head.h"
#include "app/words/mathml.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

/// Throws std::runtime_error in a sentence unless `given` has this head, with the output's queries.
JudgedLse judged_lse(const RowNumbers& given, const JudgedOutput& output, int head) {
  if (given.queries(head) != output.problem.n)
    refuse_shape(given.part.tensor.tensor, fmt::format("{} queries of head {}", output.problem.n, head));
  JudgedLse lse{output.problem, output.claim, format_of_elements(given.part_of(head).tensor.tensor.type), given.of(head)};
  const Format& d = output.claim.format;
  const bool fits_d = std::ranges::all_of(lse.values, [&](double x) { return !std::isfinite(x) || round(d, x) == x; });
  if (fits_d && significand_bits(lse.stored) > significand_bits(d)) lse.stored = d;
  return lse;
}

std::string wrong_lse(const CallLse& lse) { return "log-sum-exp is wrong" + (lse.slip ? ": " + lse.slip->text : "") + "."; }

std::string verdict_of(const CallLse& lse) {
  if (!lse.rounded()) return "The " + wrong_lse(lse);
  const std::string base = lse.base == LseBase::two ? "in base 2" : "natural";
  return "The log-sum-exp, " + base + ", is rounded" + (lse.worst.as.empty() ? "" : ", if " + lse.worst.as) +
         (lse.without > 0 ? "; " + counted(lse.without, "head has none", "heads have none") : "") + ".";
}

std::string lse_evidence(const CallLse& lse) {
  const LseJudgement& w = lse.worst;
  const std::string heads = lse.heads > 1
                                ? fmt::format("{}{}; {} of {} heads {} wrong", w.where.starts_with("in ") ? " of " : " in ",
                                              lse.head_name, lse.wrong_heads, lse.heads, lse.wrong_heads == 1 ? "is" : "are")
                                : "";
  const std::string off = std::isfinite(w.ratio) ? ": " + times(w.ratio) + " its tolerance off" : "";
  return fmt::format("Read as {}, L of query {} is {}, expected {}{}; {}, {}{}.",
                     lse.base == LseBase::two ? "base 2" : "natural", w.worst_row, number_text(w.held, 7),
                     number_text(w.expected, 7), off,
                     counted(w.suspects, "query is beyond its tolerance", "queries are beyond theirs"), w.where, heads);
}

/// Chooses the base in which more heads are right, and finds the head that is furthest off in it.
CallLse concluded(const std::vector<JudgedRow>& rows, const std::vector<std::array<LseJudgement, 2>>& found,
                  const std::function<JudgedLse(int)>& lse_of, const Options& options) {
  CallLse all{.heads = static_cast<int>(rows.size())};
  const auto right_in = [&](std::size_t base) {
    return std::ranges::count_if(found, [&](const auto& head) { return head[base].rounded; });
  };
  const auto furthest_in = [&](std::size_t base) {
    return std::ranges::max_element(found, {}, [&](const auto& head) { return head[base].ratio; });
  };
  const bool more = right_in(1) > right_in(0), nearer = (*furthest_in(1))[1].ratio < (*furthest_in(0))[0].ratio;
  all.base = more || (right_in(1) == right_in(0) && nearer) ? LseBase::two : LseBase::e;
  const auto base = static_cast<std::size_t>(all.base);
  const auto right = right_in(base);
  all.wrong_heads = all.heads - static_cast<int>(right);
  const auto worst = furthest_in(base);
  const JudgedRow& row = rows[static_cast<std::size_t>(worst - found.begin())];
  all.head = row.head;
  all.worst = (*worst)[base];
  all.sequence = row.sequence;
  all.head_name = row.name;
  if (!all.rounded()) all.slip = lse_slip(lse_of(all.head), all.base, all.worst, options);
  if (all.slip && right == 0) {  // no head told the base
    all.base = all.slip->base.value_or(all.base);
    all.worst = (*worst)[static_cast<std::size_t>(all.base)];
  }
  return all;
}

/// The derivation of the tolerance, one sentence a step.
std::vector<std::string> lse_derivation(const CallLse& lse) {
  const auto worst = std::ranges::max_element(lse.worst.family, {}, &RivalError::max_abs);
  std::vector<std::string> all{
      "The golden log-sum-exp is that of the scores in fp64, of Q and K rounded to D, or times their scales if they have some, "
      "if the verdict names no other rounding."};
  if (worst != lse.worst.family.end())
    all.push_back(fmt::format("{} kernels were computed on these tensors; the furthest off, {}, has an error of {:.2g}.",
                              lse.worst.family.size(), worst->name, worst->max_abs));
  all.emplace_back(
      "A query may be off by twice what the worst of them is, in units of the error that fp32 is expected to leave in it, and "
      "by half a unit in the last place.");
  return all;
}

}  // namespace

std::optional<CallLse> judge_lse_of(const RowNumbers& given, const JudgedCall& call, const JudgeQuestion& question,
                                    const CallJudgement& judgement, const Options& options) {
  std::vector<JudgedRow> rows;
  for (const JudgedRow& x : judgement.table)
    if (!given.lacks(x.head))
      rows.push_back({x.head, given.layers.empty() ? fmt::format("head {}", x.head) : x.name, x.sequence, {}});
  if (rows.empty()) return {};
  std::vector<std::array<LseJudgement, 2>> found(rows.size());
  const auto lse_of = [&](int head) { return judged_lse(given, judged_output(judgement.claim, call, question, head), head); };
  each_head(numbers(static_cast<int>(rows.size())), options, [&](int place, const Options& own) {
    const auto i = static_cast<std::size_t>(place);
    found[i] = judge_lse(lse_of(rows[i].head), own);
  });
  CallLse all = concluded(rows, found, lse_of, options);
  all.without = static_cast<int>(judgement.table.size() - rows.size());
  return all;
}

namespace {

bool has_files(const Problem& p) { return p.input.kind == InputKind::tensors && names_tensor_files(p.input.file); }

}  // namespace

std::optional<RowNumbers> opened_lse(const Experiment& e) {
  const TensorSpec input(e.problem.input.file);
  if (has_files(e.problem)) return open_lse(e.loaded.lse, input, CallFiles(input));
  if (e.loaded.lse.empty()) return {};
  return open_row_numbers(e.loaded.lse, "--lse", lse_names, HeadShape{.n = e.problem.n, .d = e.problem.d});
}

std::optional<CallLse> judge_lse_beside(const Experiment& e, const CallJudgement& judgement, const Options& options) {
  const std::optional<RowNumbers> given = opened_lse(e);
  if (!given) return {};
  const ExperimentCall call = call_of(e);
  JudgeQuestion question{.problem = e.problem};
  question.problem.rows = 0;
  if (call.whole) return judge_lse_of(*given, *call.call, question, judgement, options);
  const int of_files = e.loaded.lse.empty() ? e.problem.input.index : e.loaded.index;  // beside Q, K and V: of their head
  const int head = has_files(e.problem) ? of_files : 0;
  if (given->lacks(head)) return {};
  const JudgedLse lse = judged_lse(*given, judged_output(judgement.claim, *call.call, question, 0), head);
  const JudgedRow row{e.loaded.index, fmt::format("head {}", e.loaded.index), -1, {}};
  return concluded({row}, {judge_lse(lse, options)}, [&](int) { return lse; }, options);
}

std::array<std::string, 3> with_lse(std::array<std::string, 3> s, const CallLse& lse, bool rounded) {
  if (lse.rounded()) {
    s[0] += " " + verdict_of(lse);
    return s;
  }
  s[0] = rounded ? "Wrong: the " + wrong_lse(lse) + " The rest is rounded." : s[0] + " " + verdict_of(lse);
  s[1] = rounded ? lse_evidence(lse) : s[1] + " " + lse_evidence(lse);
  if (rounded)
    s[2] = lse.slip ? fmt::format("All wrong numbers{} fit that mistake: look for it in the kernel.",
                                  lse.heads > 1 ? " of " + lse.head_name : "")
                    : "Compare m and ln l of that query apart: L is their sum.";
  return s;
}

std::string lse_report(const CallLse& lse) {
  const std::string line =
      fmt::format("\n  {:>6}  {:<8}{:>12.3g}{:>12}{:>14.3g}  base {}  {}\n", "L", lse.rounded() ? "rounded" : "wrong",
                  lse.worst.ratio, lse.worst.suspects, lse.worst.max_abs, name(lse.base), lse.worst.where);
  std::string all =
      fmt::format("\n  {:>6}  {:<8}{:>12}{:>12}{:>14}  where", "", "", "error/limit", "suspects", "largest error") + line +
      "\nHow the tolerance of the log-sum-exp came about:\n";
  for (const std::string& s : lse_derivation(lse)) all += "  " + s + "\n";
  return all;
}

std::string lse_html(const CallLse& lse) {
  std::string html = fmt::format(
      "<h2>Log-sum-exp</h2>\n<table><tr><th class=\"text\">verdict</th><th class=\"text\">base</th><th>error / "
      "tolerance</th><th>suspects</th><th>largest error</th><th class=\"text\">where</th><th class=\"text\">explained "
      "by</th></tr>\n"
      "<tr{}><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{:.3g}</td><td>{}</td><td>{:.3g}</td><td "
      "class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n</table>\n<ul>\n",
      lse.rounded() ? "" : " class=\"wrong\"", lse.rounded() ? "rounded" : "wrong", name(lse.base), lse.worst.ratio,
      lse.worst.suspects, lse.worst.max_abs, html_escaped(lse.worst.where), html_escaped(lse.slip ? lse.slip->text : ""));
  for (const std::string& s : lse_derivation(lse)) html += "<li>" + html_escaped(s) + "</li>\n";
  return html + "</ul>\n";
}

}  // namespace attoscope::app
