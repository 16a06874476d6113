#include "tests/questions/planted_slips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/questions/planted_loop.h"

namespace attoscope::planted {

Tensors drawn(const AttentionShape& shape, std::uint64_t seed) {
  testing::Dice dice(seed);
  return testing::drawn_tensors(shape, [&] { return std::round(dice.normal() * 64) / 64; });
}
Tensors drawn(int n, int d, std::uint64_t seed) { return drawn(AttentionShape::square(n, d), seed); }
Problem problem(const AttentionShape& shape, Mask mask, std::uint64_t seed) {
  Problem p = with_shape(Problem{}, shape);
  p.mask = mask;
  p.input = testing::given(drawn(shape, seed));
  return p;
}
Problem problem(int n, int d, Mask mask, std::uint64_t seed) { return problem(AttentionShape::square(n, d), mask, seed); }

Problem problem_in(const Format& f, const AttentionShape& shape, Mask mask, std::uint64_t seed, double size) {
  Problem p = problem(shape, mask, seed);
  Tensors t = *p.input.tensors;
  for (double& q : t.q) q *= size;
  for (Values* x : {&t.q, &t.k, &t.v})
    for (double& y : *x) y = round(f, y);
  p.input = testing::given(std::move(t));
  return p;
}

Seen seen(const Problem& p) { return {*p.input.tensors, p}; }

Values softmax(const Seen& x, const Entry& score, const Entry& value, double extra_l) {
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values scores, row(static_cast<std::size_t>(x.t.d_v));
    for (int j = 0; j < x.t.n_k; ++j) scores.push_back(score(i, j)), m = std::max(m, scores.back());
    for (int j = 0; j < x.t.n_k; ++j) {
      const double e = m == -infinity ? 0 : std::exp(scores[static_cast<std::size_t>(j)] - m);
      l += e;
      for (int c = 0; c < x.t.d_v; ++c) row[static_cast<std::size_t>(c)] += e * value(j, c);
    }
    if (extra_l > 0) l += extra_l * std::exp(-m);
    for (const double r : row) o.push_back(r / l);
  }
  return o;
}
Values softmax(const Seen& x, const Entry& score) {
  return softmax(x, score, [&](int j, int c) { return x.v(j, c); });
}
Values right(const Seen& x) {
  return softmax(x, [&](int i, int j) { return x.score(i, j); });
}
Values masked(const Seen& x, const std::function<bool(int, int)>& sees) {
  return softmax(x, [&](int i, int j) { return sees(i, j) ? x.S(i, j) : -infinity; });
}
Values rescored(const Seen& x, const Entry& S) {
  return softmax(x, [&](int i, int j) { return x.sees(i, j) ? S(i, j) : -infinity; });
}

Values stale(const Seen& x, int tile, bool rescales_O, bool rescales_l) {
  Loop kernel({.p = x.p, .heads = {x.t}, .head = 0});
  const auto kept = [](int, int, double) { return 1.0; };
  kernel.tile = tile;
  kernel.round_P = [](double e) { return e; };
  if (!rescales_O) kernel.alpha_of_O = kept;
  if (!rescales_l) kernel.alpha_of_l = kept;
  return kernel.run();
}

Values merged(const Seen& x, int length, double power, const std::optional<Format>& of_P) {
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    Values row(static_cast<std::size_t>(x.t.d_v));
    double all = 0;
    for (int first = 0; first < x.t.n_k; first += length) {
      const int end = std::min(x.t.n_k, first + length);
      double m = -infinity, l = 0;
      Values part(row.size());
      for (int j = first; j < end; ++j) m = std::max(m, x.score(i, j));
      if (m == -infinity) continue;
      for (int j = first; j < end; ++j) {
        const double e = std::exp(x.score(i, j) - m), P = of_P ? round(*of_P, e) : e;
        l += e;
        for (int c = 0; c < x.t.d_v; ++c) part[static_cast<std::size_t>(c)] += P * x.v(j, c);
      }
      const double weight = std::exp(power * (m + std::log(l)));
      all += weight;
      for (std::size_t c = 0; c < row.size(); ++c) row[c] += weight * part[c] / l;
    }
    for (const double r : row) o.push_back(r / all);
  }
  return o;
}

Values stale_max(const Seen& x, int tile, Max kind) {
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0, alpha_before = 1;
    Values row(static_cast<std::size_t>(x.t.d));
    for (int first = 0; first < visible_keys(x.p.mask, i, x.t.n).end; first += tile) {
      double top = m;
      const int end = std::min(x.t.n, first + tile);
      for (int j = first; j < end; ++j) top = std::max(top, x.score(i, j));
      double alpha = m == -infinity ? 0 : std::exp(m - top);
      const double now = first == 0 ? 1 : alpha;
      if (kind == Max::alpha_one_tile_late) alpha = alpha_before;
      alpha_before = now;
      const double used = kind == Max::P_of_the_tile_before && first > 0 ? m : top;
      l *= alpha;
      for (double& r : row) r *= alpha;
      for (int j = first; j < end && top > -infinity; ++j) {
        const double e = std::exp(x.score(i, j) - used);
        l += e;
        for (int c = 0; c < x.t.d; ++c) row[static_cast<std::size_t>(c)] += e * x.v(j, c);
      }
      if (kind == Max::never_stored || (kind == Max::never_after_the_first_tile && first > 0)) continue;
      m = top;
    }
    for (const double r : row) o.push_back(r / l);
  }
  return o;
}

Values moved(const Values& o, int columns, const std::function<int(int)>& row, const std::function<int(int)>& column) {
  Values x;
  for (int i = 0; i < static_cast<int>(o.size()); ++i) {
    const int from_row = row ? row(i / columns) : i / columns, from_column = column ? column(i % columns) : i % columns;
    x.push_back(from_row < 0 ? 0 : o[static_cast<std::size_t>(from_row * columns + from_column)]);
  }
  return x;
}

std::vector<Format> planted_formats() {
  return testing::sanitized ? std::vector<Format>{bf16} : std::vector<Format>{bf16, fp16, fp32};
}

std::shared_ptr<const Values> stored(Values o, const Format& f) {
  for (double& x : o) x = round(f, x);
  return std::make_shared<const Values>(std::move(o));
}

JudgedOutput judged_output(const Problem& p, Values o, const Format& f, const std::optional<Method>& declared) {
  return {p, stored(std::move(o), f), {.format = f, .stored = f, .declared = declared}};
}
Judged judged(const Problem& p, Values o, const Format& f, const std::optional<Method>& declared) {
  return judge(judged_output(p, std::move(o), f, declared));
}

Experiment with_output(const Problem& p, Values o, const Format& f) {
  Experiment e = default_experiment();
  e.problem = p;
  e.format = f;
  e.a.algorithm = Algorithm::loaded;
  e.loaded = {.file = "o.npy",
              .index = 0,
              .digest = 1,
              .type = f == bf16   ? "BF16"
                      : f == fp16 ? "F16"
                                  : "F32",
              .n = p.n,
              .d = value_columns(p),
              .values = stored(std::move(o), f)};
  return e;
}

std::string Said::text() const {
  return std::string(head.verdict()) + " " + head.where + (slip ? ": " + slip->text : "") + " (" + std::to_string(head.ratio) +
         ")";
}

Said said_of(const Problem& p, Values o, const Format& f, const OtherHeads& heads) {
  JudgedOutput output = judged_output(p, std::move(o), f);
  if (p.input.kind != InputKind::tensors)
    output.problem.input = testing::given(*compute(with_output(p, *output.values, f)).inputs);
  const Judged judged = judge(output);
  const bool wrong = !judged.head.rounded && judged.head.incomparable.empty();
  return {judged.head, wrong ? slips_of(output, judged, heads).found : std::nullopt};
}

void expect_slip(const Said& d, Slip::Kind kind, const std::string& words) {
  EXPECT_EQ(d.head.verdict(), "wrong") << d.text();
  ASSERT_TRUE(d.slip) << d.text();
  EXPECT_EQ(name(d.slip->kind), name(kind)) << d.text();
  EXPECT_NE(d.slip->text.find(words), std::string::npos) << d.text();
  EXPECT_LE(d.slip->ratio, 5) << d.text();
}
void expect_found(const Problem& p, const Values& o, Slip::Kind kind, const std::string& words, const OtherHeads& heads) {
  for (const Format& f : planted_formats()) {
    SCOPED_TRACE(name(f));
    expect_slip(said_of(p, o, f, heads), kind, words);
  }
}

}  // namespace attoscope::planted
