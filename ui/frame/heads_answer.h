/// Results of every head of a file, and the measures that order them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/input.h"
#include "kernels/questions/kv_cache.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

/// Numbers of one head, and its error of a as a small picture.
struct HeadRow {
  static constexpr int across = 16, down = 24;

  int head = 0, layer = 0;
  AttentionShape shape;
  double a_max = 0, a_rms = 0, a_rel = 0;  ///< max |error|, RMS error, RMS error over the RMS of golden
  double b_max = 0, b_rms = 0, b_rel = 0;
  double ratio = 0;                       ///< RMS error of a over the RMS error of b
  double rescales = 0;                    ///< rescales of a per row
  double largest_score = 0;               ///< largest running max of its rows, of a, or of flash2 if a has no running max
  double largest_V = 0;                   ///< largest |V|
  double unusual = NAN;                   ///< see `mark_unusual`
  double nonfinite = 0;                   ///< elements of a that are NaN or infinite
  double tolerance = NAN;                 ///< largest error of a loaded output over its tolerance; NaN: none is loaded
  bool rounded = false;                   ///< a correct kernel can produce this output
  bool incomparable = false;              ///< no verdict is possible
  int first_row = -1, worst_column = -1;  ///< first wrong row and its worst column; -1: none
  std::array<float, static_cast<std::size_t>(across) * down> picture{};  ///< max |error| of a, rows of Q downwards
};

/// A number of a head.
struct HeadMeasure {
  std::string_view key;    ///< in CSV, JSON and --sort
  std::string_view title;  ///< heading of the column
  std::string_view what;   ///< in a sentence
  double HeadRow::* value;
};
inline constexpr std::array<HeadMeasure, 13> head_measures{{
    {"a.rel_rms", "a, rel. RMS", "RMS error of a over the RMS of the exact output.", &HeadRow::a_rel},
    {"a.max_abs", "a, max", "The largest error of a.", &HeadRow::a_max},
    {"a.rms", "a, RMS", "The root mean square error of a.", &HeadRow::a_rms},
    {"b.rel_rms", "b, rel. RMS", "RMS error of b over the RMS of the exact output.", &HeadRow::b_rel},
    {"b.max_abs", "b, max", "The largest error of b.", &HeadRow::b_max},
    {"b.rms", "b, RMS", "The root mean square error of b.", &HeadRow::b_rms},
    {"ratio", "a / b", "RMS error of a over that of b.", &HeadRow::ratio},
    {"rescales", "rescales a row", "Moves of a row's running max in a.", &HeadRow::rescales},
    {"max_score", "largest score", "The largest score, taken from the running max of a, or of FlashAttention 2 if a has none.",
     &HeadRow::largest_score},
    {"a.nonfinite", "a, NaN, inf", "Elements of a that are NaN or infinite.", &HeadRow::nonfinite},
    {"tolerance", "error / tolerance", "The largest error of a loaded output over its tolerance: above 1 it is wrong.",
     &HeadRow::tolerance},
    {"max_value", "largest |V|", "The largest magnitude in V, as a reads it.", &HeadRow::largest_V},
    {"unusual", "unusual", "A head's most extreme number, as a multiple of the largest number of the other heads.",
     &HeadRow::unusual},
}};
/// Puts the methods' names into the measure's title or sentence.
inline std::string named_text(const HeadMeasure& m, std::string_view text, const MethodNames& names) {
  const bool of_method = m.key.starts_with("a.") || m.key.starts_with("b.") || m.key == "ratio";
  return of_method ? with_names(text, names) : std::string(text);
}
inline std::string title_of(const HeadMeasure& m, const MethodNames& names) { return named_text(m, m.title, names); }
/// Index of the measure that finds heads that stand apart.
inline constexpr std::size_t unusual_measure = head_measures.size() - 1;

/// The measure to show where this one is asked for: a head stands apart only from others.
inline std::size_t shown_measure(std::size_t asked, int heads) { return asked == unusual_measure && heads < 2 ? 0 : asked; }
/// True for a number that needs other heads, or a loaded output, which are missing.
inline bool is_unknown(const HeadRow& row, double HeadRow::* value) {
  return std::isnan(row.*value) && (value == &HeadRow::unusual || value == &HeadRow::tolerance);
}

/// Order from the worst: heads with NaN or infinity, then by this measure, then by index.
inline bool is_worse(const HeadRow& x, const HeadRow& y, const HeadMeasure& by) {
  const auto broken = [](const HeadRow& r) { return r.nonfinite > 0 || std::isnan(r.a_rms); };
  const auto size = [&](const HeadRow& r) { return std::isnan(r.*by.value) ? -INFINITY : r.*by.value; };
  if (broken(x) != broken(y)) return broken(x);
  if (size(x) != size(y)) return size(x) > size(y);
  return x.head < y.head;
}
inline void sort_worst_first(std::vector<HeadRow>& rows, const HeadMeasure& by) {
  std::ranges::sort(rows, [&](const HeadRow& x, const HeadRow& y) { return is_worse(x, y, by); });
}

/// Sets `unusual` of every row: the maximum of its errors, its largest score and its largest |V|, each divided by the largest
/// value among all heads but the top 5 % (at least one head). NaN if there is no other head.
void mark_unusual(std::vector<HeadRow>& rows);

/// A head that stands apart from the other heads of its file, and the number by which it does.
struct HeadOutlier {
  int head = 0;
  const HeadMeasure* measure = nullptr;
  double value = 0, next = 0;  ///< the head's number, and the largest number of the heads that do not stand apart
};
/// Returns the heads that stand apart, after `mark_unusual`: first the most unusual head of each measure, then the others, each
/// group by falling `unusual`. The measure is the largest score or |V| if it stands apart (a cause of errors), else an error.
std::vector<HeadOutlier> head_outliers(const std::vector<HeadRow>& rows);

/// "layer 17, head 4: largest score 154, the next has 26"
std::string outlier_words(const HeadOutlier& outlier, std::string_view name, const MethodNames& names = {"a", "b", "b"});

/// The judgement on one head of a loaded output.
struct JudgedHead {
  int head = 0, layer = 0;
  AttentionShape shape;
  double ratio = NAN;         ///< see `HeadJudgement::ratio`
  bool rounded = false;       ///< a correct kernel can produce this output
  bool incomparable = false;  ///< no verdict is possible
  int first_row = -1;         ///< first wrong row; -1: none

  bool wrong() const { return !rounded && !incomparable; }
};

/// Asks for all heads of a file under an experiment; depends on the open head only by its numbers.
struct HeadsOfFile {
  Experiment base;    ///< its input names the file, without the open head
  bool whole = true;  ///< all tokens of each head; else at most the base's n
  int open = 0;       ///< the open head, from which the base's scale, soft cap, slope, sink and mask are; not compared

  friend bool operator==(const HeadsOfFile& x, const HeadsOfFile& y) { return x.base == y.base && x.whole == y.whole; }
};
/// Asks for the heads of the experiment's file; none: its tensors are not read yet.
inline std::optional<HeadsOfFile> heads_of_file(const Experiment& experiment) {
  HeadsOfFile heads{experiment};
  Input& input = heads.base.problem.input;
  KernelOutput& output = heads.base.loaded;
  if (!input.tensors) return std::nullopt;
  heads.whole = experiment.problem.n >= input.tensors->n;
  heads.open = input.index;
  if (heads.whole) {
    heads.base.problem.n = Problem{}.n;
    heads.base.problem.n_k = Problem{}.n_k;
  }
  heads.base.problem.d = Problem{}.d;
  heads.base.problem.d_v = Problem{}.d_v;
  heads.base.problem.traced_row = 0;
  input.index = output.index = 0;
  input.digest = output.digest = 0;
  input.tensors.reset();
  output.values.reset();
  return heads;
}

/// Results of the heads so far.
template <class Row>
struct FoundHeads {
  HeadsOfFile question;
  std::shared_ptr<const std::vector<Row>> rows;  ///< in any order; null: not asked
  int all = 0;                                   ///< number of heads asked for
  double seconds_left = -1;                      ///< negative: unknown
};
/// Returns the heads of the experiment's file found so far; empty if `found` answers another question.
template <class Row>
FoundHeads<Row> found_of(const std::shared_ptr<const FoundHeads<Row>>& found, const Experiment& experiment) {
  const Input& input = experiment.problem.input;
  if (!found || found->question.base.problem.input.file != input.file) return {};
  return !input.tensors || found->question == heads_of_file(experiment) ? *found : FoundHeads<Row>{};
}
using HeadsView = FoundHeads<HeadRow>;
using KvView = FoundHeads<KvRow>;
using JudgedView = FoundHeads<JudgedHead>;

/// Verdicts on all heads of a loaded output.
struct HeadVerdicts {
  int all = 0, judged = 0, wrong = 0, incomparable = 0;
  const JudgedHead* worst = nullptr;  ///< the wrong head with the largest ratio; null: no head is wrong

  bool complete() const { return all > 0 && judged == all; }
  bool rounded() const { return complete() && wrong == 0 && incomparable == 0; }
};
inline HeadVerdicts verdicts_of(const JudgedView& heads) {
  HeadVerdicts found{.all = heads.all, .judged = heads.rows ? static_cast<int>(heads.rows->size()) : 0};
  for (int i = 0; i < found.judged; ++i) {
    const JudgedHead& head = (*heads.rows)[static_cast<std::size_t>(i)];
    found.incomparable += head.incomparable;
    found.wrong += head.wrong();
    const auto before = [&](const JudgedHead& other) {
      return head.ratio > other.ratio || (!(head.ratio < other.ratio) && head.head < other.head);
    };
    if (head.wrong() && (found.worst == nullptr || before(*found.worst))) found.worst = &head;
  }
  return found;
}

}  // namespace attoscope::ui
