#include "app/judge/gradient_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "app/judge/judge_report.h"
#include "app/judge/judgement.h"
#include "app/threads/each_head.h"
#include "app/words/mathml.h"
#include "kernels/experiment/matrix.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {
namespace {

std::string slip_text(const std::optional<GradientSlip>& slip) { return slip ? slip->text : ""; }

std::string right_tensors(const CallGradients& g) {
  std::vector<std::string> names;
  for (const CallTensor& t : g.tensors)
    if (t.rounded) names.emplace_back(text(t.tensor));
  return listed(names, " and ");
}
bool is_are(const std::string& names) { return names.find(' ') != std::string::npos; }

/// "head 3", or "sequence 1, head 3" of a packed call.
std::string head_text(const CallGradients& g, int head) {
  if (g.heads_of_sequence == 0) return fmt::format("head {}", head);
  return fmt::format("sequence {}, head {}", sequence_of(g, head), head % g.heads_of_sequence);
}

/// Text of runs of heads of a packed call: "sequence 1 and heads 0 to 1 of sequence 2".
std::string sequences_text(const CallGradients& g, const std::vector<std::array<int, 2>>& runs) {
  std::vector<std::string> texts;
  for (const auto& [first, last] : runs) {
    const int begin = first % g.heads_of_sequence, end = last % g.heads_of_sequence;
    const std::string sequence = fmt::format("sequence {}", sequence_of(g, first));
    texts.push_back((end - begin + 1 == g.heads_of_sequence ? "" : run_text("head", begin, end) + " of ") + sequence);
  }
  return listed(texts, " and ");
}

/// " in heads 0 to 3 and 8 to 11"; "" if the tensor has the same mistake in all judged heads.
std::string places_text(const CallGradients& g, const CallTensor& t, const WrongGroups& wrong) {
  if (t.wrong.size() == 1 && static_cast<int>(wrong.groups.size()) == g.judged_groups) return "";
  const std::vector<std::array<int, 2>> runs = head_runs(g, wrong.groups);
  if (runs.size() > 3)
    return fmt::format(" in {} heads, the first {}", static_cast<int>(wrong.groups.size()) * g.heads_of_group,
                       g.heads_of_sequence > 0 ? head_text(g, runs[0][0]) : std::to_string(runs[0][0]));
  if (g.heads_of_sequence > 0) return " in " + sequences_text(g, runs);
  std::vector<std::string> texts;
  for (const auto& [first, last] : runs)
    texts.push_back(first == last ? std::to_string(first) : fmt::format("{} to {}", first, last));
  return (runs.size() == 1 && runs[0][0] == runs[0][1] ? " in head " : " in heads ") + listed(texts, " and ");
}

/// The mistakes of a tensor with their heads: "no delta: dS is P*dP in heads 0 to 3; ...".
std::string names_text(const CallGradients& g, const CallTensor& t) {
  std::string all;
  for (const WrongGroups& wrong : t.wrong)
    if (wrong.slip) all += (all.empty() ? "" : "; ") + wrong.slip->text + places_text(g, t, wrong);
  return all;
}

/// "dQ and dK are wrong in heads 0 to 3: no delta: dS is P*dP." One sentence for tensors with one mistake in the same heads.
std::string wrong_gradients(const CallGradients& g) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_slip;
  for (const CallTensor& t : g.tensors)
    for (const WrongGroups& wrong : t.wrong) {
      const std::string slip = places_text(g, t, wrong) + (wrong.slip ? ": " + wrong.slip->text : "");
      const auto same = std::ranges::find(by_slip, slip, [](const auto& x) { return x.first; });
      if (same == by_slip.end())
        by_slip.push_back({slip, {std::string(text(t.tensor))}});
      else
        same->second.emplace_back(text(t.tensor));
    }
  std::string sentences;
  for (const auto& [slip, names] : by_slip)
    sentences +=
        (sentences.empty() ? "" : " ") + listed(names, " and ") + (names.size() > 1 ? " are wrong" : " is wrong") + slip + ".";
  return sentences;
}

/// The verdict on gradients that are right.
std::string right_gradients(const CallGradients& g) {
  const std::string names = right_tensors(g);
  std::string text = is_are(names) ? names + " are rounded" : names + " is rounded";
  if (g.worst.fits_given_o && g.worst.fits_given_lse)
    return text + " from the O and the L that were given, not from the right ones.";
  if (g.worst.fits_given_o) return text + " from that O: their delta comes from it.";
  if (g.worst.fits_given_lse) return text + " from the L that was given, which is not attention's.";
  if (!g.worst.as.empty()) text += ", if " + g.worst.as;
  if (!g.o_is_rounded) return text + " from the right O, not from the one that was given.";
  return text + ".";
}

std::string tensor_evidence(const CallGradients& g, const CallTensor& t) {
  const std::string where = t.worst.found.where.empty() ? "" : " " + t.worst.found.where;
  const std::string in = g.groups * g.heads_of_group > 1 ? " (" + head_text(g, t.head) + ")" : "";
  const std::string off =
      std::isfinite(t.ratio) ? "is up to " + times(t.ratio) + " its tolerance off" : "holds NaN or infinity, and is off";
  return fmt::format("{} {}{}{}.", text(t.tensor), off, where, in);
}

std::string evidence(const CallGradients& g) {
  std::string all;
  for (const CallTensor& t : g.tensors)
    if (!t.rounded) all += (all.empty() ? "" : " ") + tensor_evidence(g, t);
  if (const std::string right = right_tensors(g); !right.empty())
    all +=
        " " + right + (is_are(right) ? " are" : " is") + " rounded" + (g.worst.as.empty() ? "." : ", if " + g.worst.as + ".");
  return all;
}

std::string notes(const CallGradients& g) {
  return g.heads_of_q ? " dK and dV have the heads of Q: each is judged by itself, not summed over a group." : "";
}

/// The largest ratio of its tensors.
double ratio_of(const GroupJudgement& judged) {
  double most = 0;
  for (const TensorJudgement& t : judged.tensors) most = std::max(most, t.found.ratio);
  return most;
}

/// Collects the judgements of groups; keeps the worst.
class Worst {
 public:
  explicit Worst(CallGradients& all) : all_(all) {}

  void take(int group, int first_head, GroupJudgement judged) {
    add_family(all_.family, judged.family);
    if (!judged.incomparable.empty() && all_.incomparable.empty())
      all_.incomparable =
          fmt::format("{}: {}, so that nothing can be judged by it", head_text(all_, first_head), judged.incomparable);
    for (const TensorJudgement& t : judged.tensors) take_tensor(group, first_head, t);
    const double ratio = ratio_of(judged);
    const bool worse = any_ && (judged.rounded() != all_.worst.rounded() ? !judged.rounded() : ratio > ratio_);
    if (!any_ || worse) {
      all_.worst = std::move(judged);
      ratio_ = ratio;
    }
    any_ = true;
  }

 private:
  void take_tensor(int group, int first_head, const TensorJudgement& t) {
    auto known = std::ranges::find(all_.tensors, t.tensor, &CallTensor::tensor);
    if (known == all_.tensors.end())
      known = all_.tensors.insert(known, {.tensor = t.tensor, .worst = t, .head = first_head + t.head});
    known->rounded = known->rounded && t.found.rounded;
    const bool worse = known->worst.found.rounded != t.found.rounded ? !t.found.rounded : t.found.ratio > known->ratio;
    if (worse) {
      known->worst = t;
      known->head = first_head + t.head;
    }
    known->ratio = std::max(known->ratio, t.found.ratio);
    if (t.found.rounded) return;
    const auto same =
        std::ranges::find(known->wrong, slip_text(t.slip), [](const WrongGroups& w) { return slip_text(w.slip); });
    if (same == known->wrong.end())
      known->wrong.push_back({t.slip, {group}});
    else
      same->groups.push_back(group);
  }

  CallGradients& all_;
  double ratio_ = 0;
  bool any_ = false;
};

/// Searches the mistakes of the worst wrong group, tries them on the others, and repeats with the groups that are left: at most
/// four times, and not after two searches that find nothing.
void find_slips(std::vector<GroupJudgement>& found, const std::function<JudgedGradients(int place)>& given,
                const Options& options) {
  constexpr int most_searches = 4, most_nameless = 2;
  int nameless = 0;
  const auto is_named = [&](int place) {
    return std::ranges::all_of(found[static_cast<std::size_t>(place)].tensors,
                               [](const TensorJudgement& t) { return t.found.rounded || t.slip; });
  };
  std::vector<int> left;
  for (int i = 0; i < static_cast<int>(found.size()); ++i)
    if (!is_named(i)) left.push_back(i);
  std::ranges::stable_sort(left, std::greater{}, [&](int place) { return ratio_of(found[static_cast<std::size_t>(place)]); });
  for (int k = 0; k < most_searches && nameless < most_nameless && !left.empty(); ++k) {
    GroupJudgement& worst = found[static_cast<std::size_t>(left.front())];
    find_gradient_slips(given(left.front()), worst, options);
    left.erase(left.begin());
    if (std::ranges::none_of(worst.tensors, [](const TensorJudgement& t) { return t.slip.has_value(); })) {
      ++nameless;
      continue;
    }
    each_head(left, options, [&](int place, const Options& own) {
      find_gradient_slips(given(place), found[static_cast<std::size_t>(place)], own, worst);
    });
    std::erase_if(left, is_named);
  }
}

JudgedGradients group_of(const GradientFiles& files, const JudgeQuestion& question, const CallJudgement& call, int group) {
  return files.group(group, [&](int head) { return question.problem_of(head); }, call.claim);
}

/// dSink is the sum over all batches or sequences. For each group of the first one, returns the sum over the others; empty:
/// there are no others.
std::vector<std::vector<SinkGradient>> sinks_of_others(const GradientFiles& files, const JudgeQuestion& question,
                                                       const CallJudgement& call, const std::vector<int>& judged,
                                                       const Options& options) {
  const int first = files.groups_of_sequence();
  if (files.dsink_of(0).empty() || files.groups() == first) return {};
  if (static_cast<int>(judged.size()) < files.groups())
    throw UnjudgedGradients("dSink is the sum over all batches and sequences, expected no --head");
  std::vector<std::vector<SinkGradient>> sums(static_cast<std::size_t>(first));
  for (int group = first; group < files.groups(); ++group) {
    const std::vector<SinkGradient> own = sink_gradients(group_of(files, question, call, group), options);
    std::vector<SinkGradient>& sum = sums[static_cast<std::size_t>(group % first)];
    sum.resize(own.size());
    for (std::size_t h = 0; h < own.size(); ++h) {
      sum[h].value += own[h].value;
      sum[h].error = std::hypot(sum[h].error, own[h].error);
    }
  }
  return sums;
}

bool is_rounded_in(const CallJudgement& call, int first, int count) {
  return std::ranges::all_of(call.table,
                             [&](const JudgedRow& r) { return r.head < first || r.head >= first + count || r.found.rounded; });
}

/// The derivation of the gradients' tolerance, one sentence a step.
std::vector<std::string> gradient_derivation(const CallGradients& g) {
  if (g.family.empty()) return {};
  const auto worst = std::ranges::max_element(g.family, {}, &RivalError::max_abs);
  return {"Golden dQ, dK and dV are the gradients of attention in fp64, of Q, K, V and dO rounded to D.",
          fmt::format("{} backward kernels were computed on these tensors; the furthest off, {}, has an error of {:.2g}.",
                      g.family.size(), worst->name, worst->max_abs),
          "An element of a gradient may be off by twice what the worst of them is in its row, in units of w, the error that "
          "rounding is expected to leave in it, and by half a unit in the last place."};
}

}  // namespace

bool CallGradients::rounded() const {
  return std::ranges::all_of(tensors, [](const CallTensor& t) { return t.rounded; });
}

CallGradients judge_gradients_of(const GradientFiles& files, const JudgeQuestion& question, const CallJudgement& call,
                                 const Options& options) {
  const Format& d = call.claim.format;
  if (d != fp32 && d != bf16 && d != fp16)
    throw UnjudgedGradients("D is " + name(d) +
                            ", expected fp32, bf16 or fp16 where gradients are judged (--format names another)");
  if (!files.dsink_of(0).empty() && !question.problem_of(0).sink)
    throw UnjudgedGradients("dSink was given and the call has no sink, expected --sink, or a tensor called sinks beside Q");
  CallGradients all{.tensors = {},
                    .groups = files.groups(),
                    .heads_of_group = files.heads_of_group(),
                    .heads_of_q = files.has_heads_of_q(),
                    .o_is_rounded = call.rounded()};
  if (call.table.front().sequence >= 0) {
    all.heads_of_sequence = files.groups_of_sequence() * files.heads_of_group();
    all.sequences = files.sequences();
  }
  std::vector<int> groups = numbers(files.groups());
  if (call.table.size() == 1 && call.heads > 1) groups = {call.table[0].head / files.heads_of_group()};
  all.judged_groups = static_cast<int>(groups.size());
  const std::vector<std::vector<SinkGradient>> sinks = sinks_of_others(files, question, call, groups, options);
  const auto given = [&](int place) {
    const int group = groups[static_cast<std::size_t>(place)];
    JudgedGradients g = group_of(files, question, call, group);
    g.o_is_rounded = is_rounded_in(call, files.first_head(group), files.heads_of_group());
    if (std::vector<double> dsink = files.dsink_of(group); !dsink.empty() && group < files.groups_of_sequence()) {
      g.dsink = std::move(dsink);
      if (!sinks.empty()) g.dsink_of_others = sinks[static_cast<std::size_t>(group)];
    }
    return g;
  };
  std::vector<GroupJudgement> found(groups.size());
  each_head(numbers(all.judged_groups), options, [&](int place, const Options& own) {
    found[static_cast<std::size_t>(place)] = judge_gradients(given(place), own);
  });
  if (std::ranges::all_of(found, [](const GroupJudgement& g) { return g.incomparable.empty(); }))
    find_slips(found, given, options);
  Worst worst(all);
  for (std::size_t i = 0; i < groups.size(); ++i) worst.take(groups[i], files.first_head(groups[i]), std::move(found[i]));
  std::ranges::sort(all.tensors, {}, &CallTensor::tensor);
  for (CallTensor& t : all.tensors)
    std::ranges::stable_sort(t.wrong, std::greater{},
                             [&](const WrongGroups& w) { return slip_text(w.slip) == slip_text(t.worst.slip); });
  return all;
}

std::vector<std::array<int, 2>> head_runs(const CallGradients& g, const std::vector<int>& groups) {
  std::vector<std::array<int, 2>> runs;
  for (const int group : groups) {
    const int first = group * g.heads_of_group;
    const bool begins_sequence = g.heads_of_sequence > 0 && first % g.heads_of_sequence == 0;
    if (runs.empty() || runs.back()[1] + 1 != first || begins_sequence) runs.push_back({first, first});
    runs.back()[1] = first + g.heads_of_group - 1;
  }
  return runs;
}

int sequence_of(const CallGradients& g, int head) {
  return g.heads_of_sequence == 0 ? -1 : g.sequences[static_cast<std::size_t>(head / g.heads_of_sequence)];
}

CallGradients judge_gradients_of(const JudgedGradients& given, const Options& options) {
  CallGradients all{.tensors = {}, .groups = 1, .judged_groups = 1, .heads_of_group = 1, .o_is_rounded = given.o_is_rounded};
  GroupJudgement judged = judge_gradients(given, options);
  find_gradient_slips(given, judged, options);
  Worst(all).take(0, 0, std::move(judged));
  return all;
}

std::array<std::string, 3> sentences_of(const CallGradients& g) {
  if (!g.incomparable.empty()) return {"Not comparable: " + g.incomparable + ".", "", ""};
  if (g.rounded()) return {right_gradients(g), notes(g), ""};
  return {"Wrong: " + wrong_gradients(g), evidence(g) + notes(g), narrowed_cause(g.worst)};
}

std::array<std::string, 3> with_gradients(const CallJudgement& call, const CallGradients& g) {
  std::array<std::string, 3> s = call.sentences;
  if (!g.incomparable.empty()) return {"Not comparable: " + g.incomparable + ".", "", ""};
  if (g.rounded()) {
    s[0] += " " + right_gradients(g);
    s[1] += notes(g);
    return s;
  }
  s[0] = call.rounded() ? "Wrong: " + wrong_gradients(g) + " O is rounded." : s[0] + " " + wrong_gradients(g);
  s[1] = (call.rounded() ? "" : s[1] + " ") + evidence(g) + notes(g);
  const std::string cause = narrowed_cause(g.worst);
  if (!cause.empty()) s[2] = (call.rounded() ? "" : s[2] + " ") + cause;
  const bool has_all =
      std::ranges::count_if(g.tensors, [](const CallTensor& t) { return t.tensor != GradientTensor::dsink; }) == 3;
  if (cause.empty() && call.rounded())
    s[2] = has_all ? "" : "Give all of dQ, dK and dV: which of them is wrong narrows the cause.";
  return s;
}

std::string gradient_report(const CallGradients& g) {
  std::string all =
      fmt::format("\n  {:>6}  {:<8}{:>12}{:>12}{:>14}  {}\n", "", "", "error/limit", "suspects", "largest error", "where");
  for (const CallTensor& t : g.tensors)
    all += fmt::format("  {:>6}  {:<8}{:>12.3g}{:>12}{:>14.3g}  {}\n", text(t.tensor), t.rounded ? "rounded" : "wrong", t.ratio,
                       t.worst.found.suspects, t.worst.found.max_abs, t.worst.found.where);
  all += "\nHow the tolerance of the gradients came about:\n";
  for (const std::string& s : gradient_derivation(g)) all += "  " + s + "\n";
  return all;
}

std::string gradient_html(const CallGradients& g) {
  std::string html =
      "<h2>Gradients</h2>\n<table><tr><th class=\"text\">gradient</th><th class=\"text\">verdict</th><th>error / "
      "tolerance</th><th>suspects</th><th>largest error</th><th class=\"text\">where</th><th class=\"text\">explained "
      "by</th></tr>\n";
  for (const CallTensor& t : g.tensors)
    html += fmt::format(
        "<tr{}><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{:.3g}</td><td>{}</td><td>{:.3g}</td><td "
        "class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
        t.rounded ? "" : " class=\"wrong\"", text(t.tensor), t.rounded ? "rounded" : "wrong", t.ratio, t.worst.found.suspects,
        t.worst.found.max_abs, html_escaped(t.worst.found.where), html_escaped(names_text(g, t)));
  html += "</table>\n<ul>\n";
  for (const std::string& s : gradient_derivation(g)) html += "<li>" + html_escaped(s) + "</li>\n";
  return html + "</ul>\n";
}

}  // namespace attoscope::app
