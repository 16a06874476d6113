// Rounded or wrong: plain kernels written here plant every slip, and the judge finds it; clean outputs have no slip.
#include "kernels/slips/slips.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/questions/planted_slips.h"
#include "tests/support/support.h"

namespace attoscope::slips_test {
namespace {

using namespace planted;
using Kind = Slip::Kind;

TEST(Slips, TheRightOutputIsRounded) {
  for (const Mask& mask : {Mask{}, causal, window(20), Mask{Mask::Kind::padding, 9}}) {
    const Problem p = problem(200, 32, mask);
    for (const Format& f : {bf16, fp16}) {
      Values o = right(seen(p));
      for (double& x : o) x = std::isnan(x) ? 0 : x;  // rows without keys
      const Said d = said_of(p, o, f);
      EXPECT_EQ(d.head.verdict(), "rounded") << d.text();
      EXPECT_FALSE(d.slip);
      EXPECT_LE(d.head.ratio, 1);
    }
  }
}

TEST(Slips, Scales) {
  const Problem p = problem();
  const Seen x = seen(p);
  const auto scaled = [&](double scale) { return rescored(x, [&, scale](int i, int j) { return x.dot(i, j) * scale; }); };
  const double s = scale_of(p);
  expect_found(p, scaled(1), Kind::scale, "missing scale");
  expect_found(p, scaled(s * s), Kind::scale, "applied twice");
  expect_found(p, scaled(1 / s), Kind::scale, "divided by the scale");
  expect_found(p, scaled(s * std::log(2.0)), Kind::exponential, "exp2 without log2 e");
  expect_found(p, scaled(s / std::log(2.0)), Kind::exponential, "meant for exp2");
  expect_found(p, scaled(0), Kind::scale, "all equal");
  Problem odd = problem(200, 24), own = problem();
  const Seen y = seen(odd);
  expect_found(odd, rescored(y, [&](int i, int j) { return y.dot(i, j) / std::sqrt(32.0); }), Kind::scale, "padded");
  own.scale = 0.5;
  expect_found(own, scaled(s), Kind::scale, "1/sqrt(d) instead");
}

TEST(Slips, Masks) {
  const Problem p = problem(200, 32, causal), none = problem();
  const Seen x = seen(p);
  expect_found(p, masked(x, [](int, int) { return true; }), Kind::mask, "missing causal mask");
  expect_found(p, masked(x, [](int i, int j) { return j < i; }), Kind::mask, "hides the diagonal");
  expect_found(p, masked(x, [](int i, int j) { return j <= i + 1; }), Kind::mask, "shows the next");
  expect_found(p, masked(x, [](int i, int j) { return j >= i; }), Kind::mask, "upside down");
  expect_found(p, masked(x, [](int i, int j) { return j / 32 <= i / 32; }), Kind::mask,
               "diagonal tile left unmasked (tiles of 32");
  expect_found(none, masked(x, [](int i, int j) { return j <= i; }), Kind::mask, "where none is wanted");
}

TEST(Slips, WindowsAndPadding) {
  const Problem p = problem(200, 32, window(20)), padded = problem(200, 32, {Mask::Kind::padding, 9});
  const Seen x = seen(p);
  const auto band = [&](int w) { return masked(x, [w](int i, int j) { return j <= i && j > i - w; }); };
  expect_found(p, band(21), Kind::mask, "too wide");
  expect_found(p, band(19), Kind::mask, "too narrow");
  expect_found(p, band(1000), Kind::mask, "without its window");
  expect_found(p, masked(x, [](int i, int j) { return std::abs(i - j) < 20; }), Kind::mask, "looks ahead");
  expect_found(padded, band(1000), Kind::mask, "shows the padding");
  const Problem both_sides = problem(200, 32, {.kind = Mask::Kind::window, .window = 21, .right = 5});
  expect_found(both_sides, masked(seen(both_sides), [](int i, int j) { return j <= i + 20 && j >= i - 5; }), Kind::mask,
               "a window with its two sides exchanged");
}

TEST(Slips, Chunks) {
  const Problem p = problem(200, 32, {Mask::Kind::chunk, 32});
  for (const int width : {16, 64})
    expect_found(p, masked(seen(p), [width](int i, int j) { return j <= i && j / width == i / width; }), Kind::mask,
                 "chunks of " + std::to_string(width) + " keys instead of 32");
}

TEST(Slips, Biases) {
  Problem capped = problem(), sloped = problem(), sunk = problem();
  capped.softcap = 1.5;
  sloped.alibi = 0.05;
  sunk.sink = 3;
  const Seen x = seen(capped), y = seen(sloped), z = seen(sunk);
  const double s = scale_of(capped);
  const auto plain = [&](int i, int j) { return x.dot(i, j) * s; };
  expect_found(capped, rescored(x, plain), Kind::bias, "missing soft cap");
  expect_found(capped, rescored(x, [&](int i, int j) { return 1.5 * std::tanh(x.dot(i, j) / 1.5) * s; }), Kind::bias,
               "before the scale");
  expect_found(sloped, rescored(y, plain), Kind::bias, "missing ALiBi");
  expect_found(sloped, rescored(y, [&](int i, int j) { return plain(i, j) + 0.05 * std::abs(i - j); }), Kind::bias,
               "wrong sign");
  expect_found(sunk, right(z), Kind::bias, "missing sink");
  const Problem few = problem(24, 32);
  const Seen w = seen(few);
  const Values extra = softmax(w, [&](int i, int j) { return w.S(i, j); }, [&](int j, int c) { return w.v(j, c); }, 1);
  expect_found(few, extra, Kind::bias, "extra logit");
}

TEST(Slips, Operands) {
  const Problem p = problem();
  const Seen x = seen(p);
  const auto S = [&](int i, int j) { return x.S(i, j); };
  const auto with = [x](auto change) {
    Seen y = x;
    change(y.t);
    return right(y);
  };
  const auto value = [&](int shift) { return [&x, shift](int j, int c) { return x.v((j + shift + 200) % 200, c); }; };
  expect_found(p, with([](Tensors& t) { std::swap(t.k, t.v); }), Kind::operands, "K and V swapped");
  expect_found(p, with([](Tensors& t) { t.k = t.v; }), Kind::operands, "V in the place of K");
  expect_found(p, with([](Tensors& t) { t.v = t.k; }), Kind::operands, "K in the place of V");
  expect_found(p, with([](Tensors& t) { std::swap(t.q, t.k); }), Kind::operands, "Q and K swapped");
  expect_found(p, softmax(x, S, value(1)), Kind::operands, "V[j + 1]");
  expect_found(p, softmax(x, S, value(-1)), Kind::operands, "V[j - 1]");
  const auto v_misread = [&](int j, int c) { return x.t.v[static_cast<std::size_t>(c * 200 + j)]; };
  expect_found(p, softmax(x, S, v_misread), Kind::operands, "V read as d x n");
}

TEST(Slips, Tiles) {
  const Problem p = problem(200, 32, causal), none = problem();
  for (const Problem& one : {p, none}) {
    const Seen x = seen(one);
    expect_found(one, stale(x, 32, false, true), Kind::rescale, "O never rescaled by alpha (tiles of 32");
    expect_found(one, stale(x, 64, true, false), Kind::rescale, "l never rescaled by alpha (tiles of 64");
    expect_found(one, stale(x, 16, false, false), Kind::rescale, "neither O nor l rescaled by alpha (tiles of 16");
  }
  const Seen x = seen(none);
  expect_found(none, masked(x, [](int, int j) { return j < 192; }), Kind::tail, "tile of keys left out");
  const Values counted = softmax(x, [&](int i, int j) { return x.S(i, j); }, [&](int j, int c) { return x.v(j, c); }, 56);
  expect_found(none, counted, Kind::tail, "counted in l (tiles of 64 keys)");
}

/// The exact output of a found slip is the output of the kernel with this slip, in every row.
TEST(Slips, TheirOutputsCanBeSeen) {
  const Problem p = problem();
  const Seen x = seen(p);
  Values turned = right(x);
  std::copy(turned.begin() + 32, turned.end(), turned.begin());  // the last row stays: a shift has no row to put there
  for (const Values& o : {stale(x, 32, false, true), masked(x, [](int, int j) { return j < 192; }), turned}) {
    const Result r = compute(with_output(p, o, bf16));
    const Said d = said_of(p, o);
    ASSERT_TRUE(d.slip && d.slip->output) << d.text();
    ASSERT_FALSE(d.head.wrong_rows.empty());
    EXPECT_EQ(d.head.wrong_rows.front(), d.head.first_row);
    const std::shared_ptr<const Result> seen_slip = with_slip_output(r, *d.slip);
    ASSERT_TRUE(seen_slip);
    ASSERT_EQ(seen_slip->a.values.size(), r.a.values.size());
    EXPECT_EQ(seen_slip->golden, r.golden);
    for (std::size_t i = 0; i < r.a.values.size(); ++i)
      ASSERT_NEAR(seen_slip->a.values[i], r.a.values[i], 0.01 * r.a_error.max_abs) << d.slip->text << " at " << i;
  }
  EXPECT_EQ(with_slip_output(compute(with_output(p, right(x), bf16)), {.kind = Kind::scale, .text = "no slip"}), nullptr);
}

TEST(Slips, MissingDivision) {
  const Problem p = problem();
  const Seen x = seen(p);
  Values o = right(x);
  for (int i = 0; i < 200; ++i) {
    double m = -infinity, l = 0;
    for (int j = 0; j < 200; ++j) m = std::max(m, x.S(i, j));
    for (int j = 0; j < 200; ++j) l += std::exp(x.S(i, j) - m);
    for (int c = 0; c < 32; ++c) o[static_cast<std::size_t>(i * 32 + c)] *= l;
  }
  expect_found(p, o, Kind::division, "missing division by l");
}

TEST(Slips, LayoutsOfTheOutput) {
  const Problem p = problem();
  const Values o = right(seen(p));
  expect_found(p, moved(o, 32, [](int i) { return (i + 1) % 200; }), Kind::layout,
               "rows shifted by 1 (O[i] is golden's i + 1)");
  expect_found(p, moved(o, 32, [](int i) { return std::max(i - 1, 0); }), Kind::layout,
               "rows shifted by 1 (O[i] is golden's i - 1)");
  expect_found(p, moved(o, 32, [](int i) { return 199 - i; }), Kind::layout, "from the last to the first");
  expect_found(p, moved(o, 32, [](int i) { return i / 8 * 8 + (i % 8 * 3) % 8; }), Kind::layout, "permuted within tiles of 8");
  expect_found(p, moved(o, 32, [](int i) { return i >= 40 && i < 60 ? 39 : i; }), Kind::layout, "copies of row 39");
  expect_found(p, moved(o, 32, [](int i) { return i >= 40 && i < 60 ? i + 1 : i; }), Kind::layout, "some rows shifted by 1");
  expect_found(p, moved(o, 32, {}, [](int c) { return (c + 3) % 32; }), Kind::layout, "columns rotated by 3");
  expect_found(p, moved(o, 32, {}, [](int c) { return (c + 16) % 32; }), Kind::layout, "halves of the columns swapped");
  expect_found(p, moved(o, 32, {}, [](int c) { return c % 2 * 16 + c / 2; }), Kind::layout, "interleaved");
  expect_found(p, moved(o, 32, {}, [](int c) { return 31 - c; }), Kind::layout, "columns from the last");
  Values across(o.size());
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t c = 0; c < 32; ++c) across[c * 200 + i] = o[i * 32 + c];
  expect_found(p, across, Kind::layout, "d x n written");
}

TEST(Slips, MultiplesOfTheTruth) {
  const Problem p = problem();
  const Values o = right(seen(p));
  const auto times = [&](double factor, double noise = 0) {
    Values x = o;
    testing::Dice dice(3);
    for (double& y : x) y = y * factor + noise * dice.normal();
    return x;
  };
  expect_found(p, times(-1), Kind::scale, "-1 times golden");
  expect_found(p, times(2), Kind::scale, "2 times golden");
  expect_found(p, times(std::sqrt(32.0)), Kind::scale, "sqrt(d) = 5.657 times golden");
  expect_found(p, times(1 / 32.0), Kind::scale, "1/d = 0.03125 times golden");
  expect_found(p, times(std::log2(std::exp(1.0))), Kind::scale, "log2 e = 1.443 times golden");
  expect_found(p, Values(o.size()), Kind::scale, "an output that is 0");
  for (const double factor : {-3.0, 0.3}) expect_found(p, times(factor), Kind::row_factor, " times golden");
  // A factor that leaves nearly all of the output explains nothing.
  for (const Values& x : {times(0.002, 0.05), times(1e-5, 1e-4), times(1 / 32.0, 0.1)})
    for (const Format& f : {bf16, fp16, fp32}) {
      const Said d = said_of(p, x, f);
      EXPECT_FALSE(d.slip) << d.text();
      EXPECT_EQ(d.head.verdict(), "wrong");
    }
}

/// A kernel whose inputs have another format than golden's: the experiment is wrong, not the kernel.
TEST(Slips, InputsInAnotherFormat) {
  for (const auto& [own, asked] :
       {std::pair{fp16, bf16}, std::pair{fp32, bf16}, std::pair{fp32, fp16}, std::pair{bf16, fp16}}) {
    const Problem p{.n = 200, .d = 32, .mask = causal};
    Experiment e = default_experiment();
    e.problem = p;
    e.format = own;
    const Values o = compute(e).a.values;
    Experiment loaded = with_output(p, o, own);
    EXPECT_TRUE(said_of(p, o, own).head.rounded) << "under its own format";
    loaded.format = asked;
    const std::optional<Slip> slip = find_slips(compute(loaded)).found;
    ASSERT_TRUE(slip) << name(own) << " " << name(asked);
    EXPECT_EQ(slip->text, "inputs in " + name(own) + ", where golden saw them in " + name(asked));
  }
}

TEST(Slips, TheLastPartialTileOfRows) {
  const Problem p = problem(200, 32, causal);
  Values zero = right(seen(p)), garbage = zero;
  for (std::size_t i = 192 * 32; i < zero.size(); ++i) zero[i] = 0, garbage[i] = 17 + static_cast<double>(i % 5);
  expect_found(p, zero, Kind::tail, "never written (rows 192 to 199 of tiles of 16 or 32 or 64)");
  expect_found(p, garbage, Kind::tail, "garbage in the last, partial tile of rows");
  garbage[0] = infinity;
  EXPECT_FALSE(said_of(p, garbage).slip) << "another row is wrong, too";
}

/// tanh by exponentials of fp32, each form named by the rows in which it is infinity over infinity.
TEST(Slips, ASoftCapByExponentials) {
  struct Form {
    const char* text;
    float (*tanh)(float);
    double deviation;  ///< of S / cap
  };
  const std::array<Form, 3> forms{
      {{"(e^x - e^-x) / (e^x + e^-x)", [](float x) { return (std::exp(x) - std::exp(-x)) / (std::exp(x) + std::exp(-x)); }, 30},
       {"(e^2x - 1) / (e^2x + 1)", [](float x) { return (std::exp(2 * x) - 1) / (std::exp(2 * x) + 1); }, 18},
       {"(1 - e^-2x) / (1 + e^-2x)", [](float x) { return (1 - std::exp(-2 * x)) / (1 + std::exp(-2 * x)); }, 18}}};
  const auto expect_form = [](const Form& form, const Problem& p) {
    const Seen x = seen(p);
    Values o = right(x);
    for (int i = 0; i < x.t.n; ++i) {
      bool broken = false;
      for (int j = 0; j < x.t.n_k; ++j)
        broken = broken || (x.sees(i, j) && std::isnan(form.tanh(static_cast<float>(x.dot(i, j) * scale_of(p) / p.softcap))));
      for (int c = 0; broken && c < x.t.d_v; ++c) o[static_cast<std::size_t>(i * x.t.d_v + c)] = std::nan("");
    }
    const Said said = said_of(p, o, fp32);
    ASSERT_TRUE(said.slip) << form.text << ": " << said.text();
    EXPECT_EQ(name(said.slip->kind), "overflow");
    EXPECT_NE(said.slip->text.find(form.text), std::string::npos) << said.slip->text;
    EXPECT_NE(said.slip->text.find("fp32 overflows"), std::string::npos) << said.slip->text;
  };
  for (const Form& form : forms) {
    Problem p = problem(200, 32, causal);
    p.softcap = 50, p.scale = form.deviation * 50 / std::sqrt(32.0);
    expect_form(form, p);
  }
  Tensors t = Tensors::shaped({9, 9, 1, 1});
  t.q.assign(9, 1), t.k = {1, 100, 1e3, 3e3, 5e3, 1e4, -1, -1e4, 4400}, t.v = {1, -2, 3, 5, -7, 11, 13, -17, 19};
  Problem p = problem(9, 1);
  p.softcap = 50, p.scale = 1, p.input = testing::given(t);
  expect_form(forms[0], p);
}

TEST(Slips, Overflow) {
  Problem p = problem(200, 32, {Mask::Kind::padding, 9});
  const Said empty = said_of(p, right(seen(p)));  // 0/0 in the first nine rows
  ASSERT_TRUE(empty.slip) << empty.text();
  EXPECT_EQ(name(empty.slip->kind), "overflow");
  EXPECT_NE(empty.slip->text.find("see no key"), std::string::npos);
  EXPECT_EQ(empty.head.nonfinite, 288);

  Problem large = problem(200, 32);
  large.input.kind = InputKind::outliers;
  large.scale = 0.25;
  Tensors t = seen(large).t;
  for (double& x : t.q) x *= 64;
  for (double& x : t.k) x *= 32;
  large.input = testing::given(t);
  large.scale = 1.0 / 4096;
  const Seen x = seen(large);
  Values o = right(x);
  int broken = 0;
  for (int i = 0; i < 200; ++i) {
    double most = 0;
    for (int j = 0; j < 200; ++j) most = std::max(most, std::abs(x.dot(i, j)));
    broken += most > 65504;
    for (int c = 0; most > 65504 && c < 32; ++c) o[static_cast<std::size_t>(i * 32 + c)] = std::nan("");
  }
  ASSERT_TRUE(broken > 0 && broken < 200) << broken;
  const Said d = said_of(large, o, fp16);
  ASSERT_TRUE(d.slip) << d.text();
  EXPECT_NE(d.slip->text.find("q.k beyond 65504"), std::string::npos) << d.text();
}

/// A merge of 2 splits, of which the first 8 of 16 rows see one, makes whole rows NaN, and no other error.
TEST(Slips, AMergeExplainsWholeRowsOfNaNAlone) {
  const Problem p = problem(16, 32, causal);
  const Values exact = right(seen(p));
  const auto named = [&](int columns, double factor) {
    Values o = exact;
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) o[i * 32 + c] = std::nan("");
    for (std::size_t i = 8 * 32; i < o.size(); ++i) o[i] *= factor;
    const std::optional<Slip> slip = said_of(p, o).slip;
    return slip ? slip->text : "";
  };
  EXPECT_EQ(named(32, 1), "a merge of 2 splits, one of which sees no key (0 / 0)");
  for (const auto& [columns, factor] : {std::pair{1, 1.0}, {1, -1.5}, {32, -1.5}})
    EXPECT_EQ(named(columns, factor).find("merge"), std::string::npos) << columns << " " << factor;
}

TEST(Slips, OtherHeads) {
  std::vector<std::shared_ptr<const Tensors>> files;
  for (int h = 0; h < 4; ++h)
    files.push_back(std::make_shared<const Tensors>(drawn(200, 32, 100 + static_cast<std::uint64_t>(h))));
  const OtherHeads heads{4, [&](int h) { return files[static_cast<std::size_t>(h)]; }};
  Problem p = problem();
  p.input = testing::given(*files[1]);
  p.input.index = 1;
  const auto of_heads = [&](std::size_t q, std::size_t k, std::size_t v) {
    Seen x{*files[q], p};
    x.t.k = files[k]->k, x.t.v = files[v]->v;
    return right(x);
  };
  const auto expect_head = [&](const Values& o, const char* words) {
    expect_slip(said_of(p, o, bf16, heads), Kind::head, words);
  };
  expect_head(of_heads(3, 3, 3), "head 3 instead of head 1");
  expect_head(of_heads(1, 3, 3), "K and V of head 3 with Q of head 1");
  expect_head(of_heads(1, 3, 1), "K of head 3 with Q and V of head 1");
  expect_head(of_heads(3, 1, 1), "Q of head 3 with K and V of head 1");
  expect_head(of_heads(1, 1, 3), "V of head 3 with Q and K of head 1");
  std::vector<Values> outputs;
  for (std::size_t h = 0; h < 4; ++h) outputs.push_back(of_heads(h, h, h));
  Values mixed;
  for (std::size_t row = 0; row < 200; ++row)
    for (std::size_t c = 0; c < 32; ++c) mixed.push_back(outputs[(200 + row) % 4][(200 + row) / 4 * 32 + c]);
  expect_head(mixed, "n x heads x d read as heads x n x d");
  EXPECT_TRUE(said_of(p, of_heads(1, 1, 1), bf16, heads).head.rounded);
}

TEST(Slips, EitherMethodMayBeTheLoadedOne) {
  const Problem p = problem(200, 32, causal);
  Experiment e = with_output(p, masked(seen(p), [](int, int) { return true; }));
  EXPECT_TRUE(has_loaded(e));
  std::swap(e.a, e.b);
  e.a = default_experiment().a;
  EXPECT_TRUE(has_loaded(e));
  EXPECT_FALSE(has_loaded(default_experiment()));
}

TEST(Slips, GarbageIsWrongWithoutASlip) {
  const Problem p = problem();
  Values o;
  testing::Dice dice(7);
  for (int i = 0; i < 200 * 32; ++i) o.push_back(dice.normal());
  const Said d = said_of(p, o);
  EXPECT_EQ(d.head.verdict(), "wrong");
  EXPECT_FALSE(d.slip) << d.text();
  EXPECT_EQ(d.head.where, "everywhere");
}

TEST(Slips, CanBeStopped) {
  const Problem p = problem();
  const Result r = compute(with_output(p, Values(200 * 32, 1.0)));
  EXPECT_THROW(find_slips(r, {}, {.cancelled = [] { return true; }}), Stopped);
}

TEST(Slips, ATruthThatIsNoNumberIsMissed) {
  Problem p = problem(20, 8);
  Tensors t = seen(p).t;
  t.v[5] = infinity;
  p.input = testing::given(t);
  EXPECT_EQ(said_of(p, Values(20 * 8)).head.verdict(), "wrong");
}

}  // namespace
}  // namespace attoscope::slips_test
