#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "app/judge/judge_report.h"
#include "app/words/numbers.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"
#include "kernels/judge/margins.h"

namespace attoscope::app {
namespace {

constexpr std::size_t most_lines = 16;

/// "layer 17, head 4, ", the prefix of a row or a column; "" if there is one head.
std::string head_prefix(const CallJudgement& call, const JudgedRow& row) { return call.heads > 1 ? row.name + ", " : ""; }

/// True if a head's name is its number.
bool is_numbered(const JudgedRow& row) { return row.name == "head " + std::to_string(row.head); }

/// "head 3", "heads 0, 1 and 5", "layer 2, head 4 and layer 17, head 4", "all 32 heads", "9 of 32 heads, the worst head 5"
std::string heads_text(const CallJudgement& call, const std::vector<const JudgedRow*>& heads) {
  if (heads.size() == 1) return heads[0]->name;
  if (heads.size() == call.table.size()) return fmt::format("all {} heads", heads.size());
  if (heads.size() > 4)
    return fmt::format("{} of {} heads", heads.size(), call.table.size()) +
           (call.rounded() ? "" : ", the worst " + call.worst_row().name);
  const bool numbered = std::ranges::all_of(heads, [](const JudgedRow* r) { return is_numbered(*r); });
  std::string text = numbered ? "heads " : "";
  for (std::size_t i = 0; i < heads.size(); ++i)
    text += (i == 0                  ? ""
             : i + 1 == heads.size() ? " and "
             : numbered              ? ", "
                                     : "; ") +
            (numbered ? std::to_string(heads[i]->head) : heads[i]->name);
  return text;
}

/// "keys 128 to 191", "keys 3 and 7", "128 keys, the first 7"; "" for none.
std::string keys_text(const std::vector<Keys>& runs) {
  if (runs.empty()) return "";
  if (runs.size() > 4) {
    int count = 0;
    for (const Keys& run : runs) count += run.end - run.first;
    return fmt::format("{} keys, the first {}", grouped(count), runs.front().first);
  }
  const auto is_one = [](const Keys& run) { return run.end == run.first + 1; };
  std::vector<std::string> texts;
  for (const Keys& run : runs)
    texts.push_back(is_one(run) ? std::to_string(run.first) : fmt::format("{} to {}", run.first, run.end - 1));
  return (runs.size() == 1 && is_one(runs[0]) ? "key " : "keys ") + listed(texts, " and ");
}

template <class Chosen>
std::vector<const JudgedRow*> heads_that(const CallJudgement& call, const Chosen& chosen) {
  std::vector<const JudgedRow*> heads;
  for (const JudgedRow& r : call.table)
    if (chosen(r)) heads.push_back(&r);
  return heads;
}

bool is_wrong(const JudgedRow& row) { return !row.found.rounded; }
std::string wrong_heads(const CallJudgement& call) { return heads_text(call, heads_that(call, is_wrong)); }

/// Names the slip, the heads in which it was found, perhaps with other numbers, and the number of wrong heads.
std::string slip_sentence(const CallJudgement& call) {
  const std::string& text = call.worst_row().slip->text;
  if (call.heads == 1) return "Wrong: " + text + ".";
  const std::vector<const JudgedRow*> named = heads_that(
                                          call, [&](const JudgedRow& r) { return r.slip && alike(r.slip->text, text); }),
                                      wrong = heads_that(call, is_wrong);
  std::string heads = heads_text(call, named);
  if (std::ranges::any_of(named, [&](const JudgedRow* r) { return r->slip->text != text; }))
    heads += ", the numbers are those of " + call.worst_row().name;
  if (named.size() < wrong.size()) heads += fmt::format("; {} of {} heads are wrong", wrong.size(), call.table.size());
  return "Wrong: " + text + " (" + heads + ").";
}

/// Counts the elements that are NaN or infinite, with their heads, and the other wrong ones.
std::string nonfinite_sentence(const CallJudgement& call) {
  const std::int64_t count = call.sum_of(&HeadJudgement::nonfinite);
  const std::vector<const JudgedRow*> heads = heads_that(call, [](const JudgedRow& r) { return r.found.nonfinite > 0; });
  std::string text = fmt::format("Wrong: {} {} NaN or infinite{}{}", grouped(count), count == 1 ? "element is" : "elements are",
                                 call.sum_of(&HeadJudgement::due) > 0 ? " where attention is not" : "",
                                 call.heads > 1 ? " (" + heads_text(call, heads) + ")" : "");
  if (const std::int64_t others = call.sum_of(&HeadJudgement::suspects) - count; others > 0)
    text +=
        fmt::format(", and {} more {} further off than in any correct {} kernel{}", grouped(others), others == 1 ? "is" : "are",
                    name(call.claim.format), call.heads > 1 ? " (" + wrong_heads(call) + " in all)" : "");
  return text + ".";
}

std::string wrong_sentence(const CallJudgement& call) {
  const JudgedRow& worst = call.worst_row();
  const std::string in = call.heads > 1 ? " (" + wrong_heads(call) + ")" : "";
  if (call.also && call.also->rounded)
    return fmt::format("Wrong: rounded as {0} (P in {0}); as {1}, which the tensors are, it is {2}{3}.",
                       name(call.also->format), name(call.claim.format),
                       std::isfinite(worst.found.ratio) ? times(worst.found.ratio) + " off" : "NaN or infinite", in);
  if (worst.slip) return slip_sentence(call);
  if (std::ranges::any_of(call.table, [](const JudgedRow& r) { return r.found.nonfinite > 0; }))
    return nonfinite_sentence(call);
  const std::int64_t suspects = call.sum_of(&HeadJudgement::suspects);
  if (suspects == 0)
    return "Wrong: no single element is out of bounds, but together they are further off than rounding explains" + in + ".";
  const std::int64_t elements = call.sum_of(&HeadJudgement::elements);
  return fmt::format("Wrong: {} of {} element{} {} further off than in any correct {} kernel{}.", grouped(suspects),
                     grouped(elements), elements == 1 ? "" : "s", suspects == 1 ? "is" : "are", name(call.claim.format), in);
}

/// The element that is named as evidence.
std::string element_text(const CallJudgement& call) {
  const HeadJudgement& h = call.worst_row().found;
  const Tolerance& t = call.detail.tolerance;
  const int row = h.first_row, c = h.worst_col;
  if (row < 0) return "";
  const double o =
      call.output[static_cast<std::size_t>(row) * static_cast<std::size_t>(call.shape.d_v) + static_cast<std::size_t>(c)];
  const std::string text = fmt::format("; the first such row is {}, where O is {} in column {}, golden {}", row,
                                       number_text(o, 6), c, number_text(t.golden(row, c), 6));
  return std::isfinite(t.golden(row, c)) ? fmt::format("{}, and {} is tolerated", text, number_text(t.of(row, c, o), 2)) : text;
}

std::string wrong_evidence(const CallJudgement& call) {
  const HeadJudgement& h = call.worst_row().found;
  const std::string in = call.heads == 1          ? ""
                         : call.table.size() == 1 ? fmt::format("In {}, ", call.worst_row().name)
                                                  : fmt::format("In {}, the worst, ", call.worst_row().name);
  if (h.suspects == 0)
    return fmt::format("{} errors' root mean square is {} what may be expected of rounding; {} would be tolerated.",
                       in.empty() ? "Its" : in + "the", times(h.whole), fmt::format("{:.2f}", call.detail.tolerance.whole));
  const std::string far = !std::isfinite(h.ratio) ? ""
                          : h.suspects == 1       ? ", by " + times(h.ratio)
                                                  : ", by up to " + times(h.ratio);
  return fmt::format("{}{} {} beyond {} tolerance, {}{}{}.", in, grouped(h.suspects),
                     h.suspects == 1 ? "element is" : "elements are", h.suspects == 1 ? "its" : "their",
                     h.where.empty() ? "here and there" : h.where, far, element_text(call));
}

std::string advice(const CallJudgement& call, const std::string& accepting) {
  const JudgedRow& worst = call.worst_row();
  if (call.also && call.also->rounded)
    return fmt::format("If it is meant to round to {0}, give it tensors of that type, or say so by --format {0}.",
                       name(call.also->format));
  if (worst.slip && worst.slip->kind == Slip::Kind::overflow)
    return std::string(
               "Nearly all rows in which that holds are NaN or infinite, and nearly no others: look for it in the kernel.") +
           (worst.slip->text.find(division_without_keys) != std::string::npos ? " If NaN is meant there: --empty-rows nan."
                                                                              : "");
  if (worst.slip && worst.slip->kind == Slip::Kind::place && worst.slip->ratio == 0)
    return "Nothing else is wrong: look for it in the kernel.";
  if (worst.slip) {
    const std::string option = worst.slip->mask ? "--mask " + mask_text(*worst.slip->mask) : accepting;
    return fmt::format(
        "With that mistake made on purpose, the exact output is as near to yours as rounding allows ({} the limit): look for "
        "it in the kernel.{}",
        times(worst.slip->ratio), option.empty() ? "" : " If it is meant: " + option + ".");
  }
  if (!accepting.empty())
    return "Its errors have no sign, and a kernel that rounds more would be as far off. If yours is meant to, say so by " +
           accepting + "; that hides mistakes of this size.";
  if (worst.found.first_row < 0)
    return "No usual mistake explains it; compare with --policy if the kernel rounds at other places.";
  return fmt::format("No usual mistake explains it: look at {}row {} first.", head_prefix(call, worst), worst.found.first_row);
}

std::string rounded_sentence(const CallJudgement& call) {
  std::set<std::string> ways;
  for (const JudgedRow& r : call.table)
    if (!r.found.as.empty()) ways.insert(r.found.as);
  std::string text =
      fmt::format("Rounded: every element is what a correct {} kernel can give on these tensors", name(call.claim.format));
  for (const std::string& way : ways) {
    text += (way == *ways.begin() ? ", if " : ", and if ") + way;
    const std::vector<const JudgedRow*> heads = heads_that(call, [&](const JudgedRow& r) { return r.found.as == way; });
    if (heads.size() < call.table.size()) text += " (" + heads_text(call, heads) + ")";
  }
  return text + ".";
}

/// The largest error over its tolerance of all elements of a head.
double furthest_share(const JudgedRow& row) { return std::ranges::max(row.found.row_ratio); }

std::string rounded_evidence(const CallJudgement& call) {
  const JudgedRow &furthest = *std::ranges::max_element(call.table, {}, furthest_share), &worst = call.worst_row();
  const double share = furthest_share(furthest), together = worst.found.ratio;
  const std::vector<double>& rows = furthest.found.row_ratio;
  const std::int64_t elements = call.sum_of(&HeadJudgement::elements);
  std::string text = elements == 1
                         ? "The one element is within its tolerance; it"
                         : fmt::format("None of {} elements is beyond its tolerance; the furthest", grouped(elements));
  text += fmt::format(" uses {:.0f} % of it ({}row {}), ", 100 * share, head_prefix(call, furthest),
                      std::ranges::max_element(rows) - rows.begin());
  if (together > share)
    text += fmt::format("rows or all together {:.0f} % of theirs{}, ", 100 * together,
                        call.heads > 1 ? " (" + worst.name + ")" : "");
  const auto largest = std::ranges::max_element(call.table, {}, [](const JudgedRow& r) { return r.found.max_abs; });
  return text + fmt::format("and the largest error is {:.2g}.", largest->found.max_abs);
}

/// The elements that are NaN or infinite and not wrong; "": there are none.
std::string due_text(const CallJudgement& call) {
  const std::int64_t count = call.sum_of(&HeadJudgement::due);
  if (count == 0) return "";
  return fmt::format(" {} {} NaN or infinite, as attention of these Q, K and V is there.", grouped(count),
                     count == 1 ? "element is" : "elements are");
}

/// The columns of O that are not judged; "": all are.
std::string left_out_text(const CallJudgement& call) {
  const int d_v = call.shape.d_v, all = d_v + call.columns_left_out;
  if (call.columns_left_out == 0) return "";
  return fmt::format(" V has d_v = {} columns and O {}: columns {} to {} of O are not judged.", d_v, all, d_v, all - 1);
}

/// The sequences with queries that are not judged, as they have no keys; "": there are none.
std::string without_keys_text(const CallJudgement& call) {
  const std::vector<int>& all = call.sequences_without_keys;
  if (all.empty()) return "";
  return " " + as_sentence(keyless_text(all) + (all.size() == 1 ? ": it is not judged" : ": they are not judged"));
}

/// A sentence on the mistakes that would be visible on these tensors.
std::string seen_text(const CallJudgement& call) {
  const SeenMistakes& seen = call.seen;
  const std::string on = call.heads > 1 ? "In " + call.worst_row().name + " " : "On these tensors ",
                    key = seen.masked ? "a mask off by one key" : "a last key left out",
                    scale = fmt::format("a scale off by {:.2g} %", 100 * seen.scale);
  if (seen.scale < 1)
    return on + scale + (seen.key ? " or " + key + " would have been seen." : " would have been seen, " + key + " would not.");
  return on + (seen.key ? key + " would have been seen, a wrong scale would not: larger scores show more."
                        : "neither a wrong scale nor " + key + " would have been seen: larger scores show more.");
}

/// The roundings of the rivals; heads that do not fit the declared policy have the usual rivals.
std::string rivals_text(const CallJudgement& call, const JudgeQuestion& question) {
  const std::string usual = "keep scores, max and sums in fp32, and round P and O,",
                    declared = (call.family.size() == 1 ? "rounds as " : "round as ") + question.declared_name + " does";
  const std::size_t others = heads_that(call, [](const JudgedRow& r) { return r.found.undeclared; }).size();
  if (!call.claim.declared || others == call.table.size()) return usual;
  return others == 0 ? declared : declared + ", or " + usual;
}

}  // namespace

std::string as_sentence(std::string clause) {
  clause.front() = capital_letter(clause.front());
  return clause + ".";
}

std::string keyless_text(const std::vector<int>& sequences) {
  if (sequences.size() > 4)
    return fmt::format("{} sequences, the first {}, have queries and no keys", sequences.size(), sequences.front());
  std::vector<std::string> texts;
  for (const int sequence : sequences) texts.push_back(std::to_string(sequence));
  return (texts.size() == 1 ? "sequence " : "sequences ") + listed(texts, " and ") +
         (texts.size() == 1 ? " has queries and no keys" : " have queries and no keys");
}

std::string times(double ratio) {
  if (ratio < 9.95) return fmt::format("{:.{}f} times", ratio, ratio < 1.995 ? 2 : 1);
  if (ratio >= 1e9) return fmt::format("{:.2g} times", ratio);
  const double digits = ratio < 99999 ? 1 : std::pow(10, std::floor(std::log10(ratio)) - 1);  // two of a large number
  return grouped(static_cast<std::int64_t>(std::round(ratio / digits) * digits)) + " times";
}

std::string number_text(double x, int digits) {
  if (std::isnan(x)) return "NaN";
  return fmt::format("{:.{}g}", std::abs(x) < 1e-200 ? 0 : x, digits);
}

std::string place_text(const JudgedRow& row) {
  std::string text = is_numbered(row) ? "" : row.name;
  for (const std::string& part : {row.found.where, row.slip ? keys_text(row.slip->keys) : ""})
    if (!part.empty()) text += (text.empty() ? "" : ": ") + part;
  return text;
}

std::array<std::string, 3> judgement_sentences(const CallJudgement& call, const std::string& accepting) {
  if (const std::string why = call.incomparable(); !why.empty()) return {"Not comparable: " + why + ".", "", ""};
  const std::string others = due_text(call) + left_out_text(call) + without_keys_text(call);
  if (!call.rounded()) return {wrong_sentence(call), wrong_evidence(call) + others, advice(call, accepting)};
  return {rounded_sentence(call), rounded_evidence(call) + others, seen_text(call)};
}

std::vector<std::string> derivation_of(const CallJudgement& call, const JudgeQuestion& question) {
  if (call.family.empty()) return {};
  const auto worst = std::ranges::max_element(call.family, {}, &RivalError::max_abs);
  const auto rivals = static_cast<std::int64_t>(call.family.size());
  std::vector<std::string> steps{
      fmt::format("D is {}, {}; O is in {}.", name(call.claim.format), call.why_format, stored_text(call.claim)),
      fmt::format("Golden is attention of Q, K and V in fp64{}.", significand_bits(call.claim.format) > 24 ? " and more" : ""),
      fmt::format("{} that {} {} computed on these tensors; the furthest off, {}, has an error of {:.2g}.",
                  counted(rivals, "kernel"), rivals_text(call, question), rivals == 1 ? "was" : "were", worst->name,
                  worst->max_abs),
      "An element may be off by twice what the worst of them is in its row, in units of w = sqrt(sum over keys of P² V²), and "
      "by half a unit in the last place of O's format.",
      fmt::format("A row's root mean square may be twice theirs, that of all elements {:.2f} where theirs is {:.2f}.",
                  call.detail.tolerance.whole, call.detail.tolerance.whole / margins.whole)};
  if (!question.reading.empty()) steps.push_back(question.reading + ".");
  steps.insert(steps.end(), question.numbers.found().begin(), question.numbers.found().end());
  return steps;
}

std::string mask_sentence(const MaskTensor& mask, const std::string& head) {
  const std::optional<Mask> rule = rule_of(mask);
  const std::string subject = "The mask of " + (mask.of_one_head ? head : "the file") + " ";
  if (rule) return subject + (rule->kind == Mask::Kind::none ? "shows every key." : "is " + mask_text(*rule) + ".");
  return subject + (mask.terms.empty() ? "shows each query a run of keys." : "has gaps, or adds numbers to scores.");
}

std::string verdict_text(const CallJudgement& call) {
  std::string text;
  for (const std::string& s : call.sentences)
    if (!s.empty()) text += (text.empty() ? "" : " ") + s;
  return text;
}

std::string judgement_report(const CallJudgement& call) {
  std::string text;
  for (const std::string& s : call.sentences)
    if (!s.empty()) text += s + "\n";
  text += fmt::format("\n  {:>6}  {:<8}{:>12}{:>12}{:>14}{:>12}  {}\n", "head", "", "error/limit", "suspects", "largest error",
                      "rms", "where");
  std::vector<const JudgedRow*> rows;
  for (const JudgedRow& r : call.table) rows.push_back(&r);
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const JudgedRow* r) { return r->found.ratio; });
  for (std::size_t i = 0; i < std::min(rows.size(), most_lines); ++i) {
    const HeadJudgement& h = rows[i]->found;
    text += fmt::format("  {:>6}  {:<8}{:>12.3g}{:>12}{:>14.3g}{:>12.3g}  {}\n", rows[i]->head, h.rounded ? "rounded" : "wrong",
                        h.ratio, h.suspects, h.max_abs, h.rms, place_text(*rows[i]));
  }
  if (rows.size() > most_lines) text += fmt::format("  and {} more heads, with smaller errors\n", rows.size() - most_lines);
  text += "\nHow the tolerance came about:\n";
  for (const std::string& s : call.derivation) text += "  " + s + "\n";
  return text;
}

}  // namespace attoscope::app
