// Files of torch.save with padded, grouped, packed and paged calls, judged by a command that names only the file.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/matrix.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/saved_dict.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;
using Numbers = std::vector<double>;
using Words = std::vector<std::string>;

/// Tensors of one sequence, tokens before heads.
struct Tokens {
  int n = 0, n_k = 0;
  Numbers q, k, v, d_o;
};

/// Outputs and gradients of a sequence, from a plain loop.
struct Answer {
  Numbers o, lse, dq, dk, dv, dsink;
};

/// A kernel's shape and parameters; wrong values plant a fault.
struct Plain {
  int h = 4, h_k = 2, d = 16;
  double scale = 0.25, cap = 0;
  /// True if a query of a head sees a key; both indices count from 0. The last query is at the last key.
  std::function<bool(const Tokens&, int head, int query, int key)> sees = [](const Tokens&, int, int, int) { return true; };
  std::function<int(int head)> head_of_k = [](int head) { return head / 2; };
  double scale_of_dk = 1;
  Numbers sinks{};  ///< one per head, or empty

  std::size_t at(int token, int head, int heads, int column) const {
    return static_cast<std::size_t>((token * heads + head) * d + column);
  }

  Numbers probabilities(const Tokens& x, int head, int i, double& lse) const {
    Numbers p(static_cast<std::size_t>(x.n_k));
    double sum = 0;
    for (int j = 0; j < x.n_k; ++j) {
      double s = 0;
      for (int c = 0; c < d; ++c) s += x.q[at(i, head, h, c)] * x.k[at(j, head_of_k(head), h_k, c)];
      s *= scale;
      if (cap > 0) s = cap * std::tanh(s / cap);
      sum += p[static_cast<std::size_t>(j)] = sees(x, head, i, j) ? std::exp(s) : 0;
    }
    if (!sinks.empty()) sum += std::exp(sinks[static_cast<std::size_t>(head)]);
    lse = std::log(sum);
    for (double& y : p) y = sum > 0 ? y / sum : 0;
    return p;
  }

  Answer answer(const Tokens& x) const {
    Answer a{Numbers(x.q.size()), {}, Numbers(x.q.size()), Numbers(x.k.size()), Numbers(x.v.size()), Numbers(sinks.size())};
    for (int head = 0; head < h; ++head)
      for (int i = 0; i < x.n; ++i) add_row(x, head, i, a);
    return a;
  }

  void add_row(const Tokens& x, int head, int i, Answer& a) const {
    const int kv = head_of_k(head);
    a.lse.push_back(0);
    const Numbers p = probabilities(x, head, i, a.lse.back());
    Numbers dp(p.size());
    double delta = 0;
    for (int j = 0; j < x.n_k; ++j)
      for (int c = 0; c < d; ++c) {
        const std::size_t key = at(j, kv, h_k, c), row = at(i, head, h, c), to = static_cast<std::size_t>(j);
        a.o[row] += p[to] * x.v[key], dp[to] += x.d_o[row] * x.v[key], a.dv[key] += p[to] * x.d_o[row];
        delta += p[to] * x.d_o[row] * x.v[key];
      }
    for (int j = 0; j < x.n_k; ++j)
      for (int c = 0; c < d; ++c) {
        const double ds = p[static_cast<std::size_t>(j)] * (dp[static_cast<std::size_t>(j)] - delta) * scale;
        a.dq[at(i, head, h, c)] += ds * x.k[at(j, kv, h_k, c)];
        a.dk[at(j, kv, h_k, c)] += ds * scale_of_dk * x.q[at(i, head, h, c)];
      }
    const auto of_head = static_cast<std::size_t>(head);
    if (!sinks.empty()) a.dsink[of_head] -= std::exp(sinks[of_head] - a.lse.back()) * delta;
  }
};

bool causal(const Tokens& x, int, int i, int j) { return j <= i + x.n_k - x.n; }

Numbers random(Dice& dice, int count) {
  Numbers x;
  for (int i = 0; i < count; ++i) x.push_back(round(bf16, dice.normal()));
  return x;
}

/// Sequences of a call with their outputs and gradients.
struct Sequences {
  Plain call;
  std::vector<Tokens> tokens;
  std::vector<Answer> answers;

  Sequences(Plain plain, const std::vector<std::array<int, 2>>& lengths) : call(std::move(plain)) {
    Dice dice(1);
    for (const auto& [n, n_k] : lengths) {
      Tokens x{n, n_k, random(dice, n * call.h * call.d), {}, {}, {}};
      x.k = random(dice, n_k * call.h_k * call.d), x.v = random(dice, n_k * call.h_k * call.d);
      x.d_o = random(dice, n * call.h * call.d);
      tokens.push_back(std::move(x));
    }
    solve();
  }
  void solve() {
    answers.clear();
    for (const Tokens& x : tokens) answers.push_back(call.answer(x));
  }
};

/// One tensor of all sequences, concatenated.
template <class Part, class From>
Numbers joined(const std::vector<From>& all, Part part) {
  Numbers x;
  for (const From& one : all) x.insert(x.end(), (one.*part).begin(), (one.*part).end());
  return x;
}

std::vector<std::int32_t> bounds(const std::vector<Tokens>& all, int Tokens::* count) {
  std::vector<std::int32_t> x{0};
  for (const Tokens& one : all) x.push_back(x.back() + one.*count);
  return x;
}

/// Runs `judge --input FILE`; expects exit code `code`.
json judged(const SavedDict& saved, int code, const Words& more = {}) {
  const TemporaryDirectory scratch;
  return json_of(with({"judge", "--input", scratch.write("call.pt", saved.bytes())}, more), code);
}
std::string first_sentence(const json& told) { return told.is_object() ? told["sentences"][0].get<std::string>() : ""; }
/// Judges a file; expects a wrong verdict whose first sentence has `says` if a fault is planted.
json judged_if(bool planted, const SavedDict& saved, const std::string& says) {
  const json told = judged(saved, planted ? 3 : 0);
  EXPECT_THAT(first_sentence(told), HasSubstr(planted ? says : ""));
  return told;
}
std::string derivation(const json& told) { return told.is_object() ? told["derivation"].dump() : ""; }

/// FlashAttention's variable-length call with its gradients.
struct Packed : Sequences {
  Packed() : Sequences({.sees = causal}, {{5, 9}, {7, 14}, {6, 6}}) {}
  int total(int Tokens::* count) const { return bounds(tokens, count).back(); }

  SavedDict saved() const {
    const std::vector<int> q{total(&Tokens::n), call.h, call.d}, k{total(&Tokens::n_k), call.h_k, call.d};
    SavedDict dict;
    dict.bf16s("q", q, joined(tokens, &Tokens::q)).bf16s("k", k, joined(tokens, &Tokens::k));
    dict.bf16s("v", k, joined(tokens, &Tokens::v)).bf16s("out", q, joined(answers, &Answer::o));
    const auto count = static_cast<int>(tokens.size()) + 1;
    dict.ints("cu_seqlens_q", {count}, bounds(tokens, &Tokens::n)).ints("cu_seqlens_k", {count}, bounds(tokens, &Tokens::n_k));
    dict.value("softmax_scale", SavedDict::real(call.scale)).value("causal", SavedDict::boolean(true));
    dict.value("window_size", SavedDict::tuple({-1, -1})).value("softcap", SavedDict::real(0));
    dict.value("dropout_p", SavedDict::real(0.125)).value("alibi_slopes", SavedDict::nothing());
    return dict.value("max_seqlen_q", SavedDict::integer(7));
  }
  /// The log-sum-exp as (heads, total), or (total, heads).
  Numbers lse(bool by_tokens) const {
    Numbers all(static_cast<std::size_t>(total(&Tokens::n) * call.h));
    int first = 0;
    for (std::size_t s = 0; s < tokens.size(); first += tokens[s++].n)
      for (int head = 0; head < call.h; ++head)
        for (int i = 0; i < tokens[s].n; ++i) {
          const int at = by_tokens ? (first + i) * call.h + head : head * total(&Tokens::n) + first + i;
          all[static_cast<std::size_t>(at)] = answers[s].lse[static_cast<std::size_t>(head * tokens[s].n + i)];
        }
    return all;
  }
  SavedDict with_gradients() const {
    SavedDict dict = saved();
    const std::vector<int> q{total(&Tokens::n), call.h, call.d}, k{total(&Tokens::n_k), call.h_k, call.d};
    dict.floats("softmax_lse", {call.h, q[0]}, lse(false)).bf16s("dout", q, joined(tokens, &Tokens::d_o));
    dict.bf16s("dq", q, joined(answers, &Answer::dq)).bf16s("dk", k, joined(answers, &Answer::dk));
    return dict.bf16s("dv", k, joined(answers, &Answer::dv));
  }
};

TEST(SavedCall, APackedCallIsJudgedByItsNamesAlone) {
  const json right = judged(Packed().saved(), 0);
  EXPECT_THAT(derivation(right), AllOf(HasSubstr("--scale is taken from"), HasSubstr("--mask is causal, by"),
                                       HasSubstr("also holds dropout_p = 0.125: judged without.")));
  Packed wrong;
  Tokens mixed = wrong.tokens[2];
  mixed.n_k = 14, mixed.k = wrong.tokens[1].k, mixed.v = wrong.tokens[1].v;
  wrong.answers[2] = wrong.call.answer(mixed);
  const json told = judged(wrong.saved(), 3);
  EXPECT_THAT(first_sentence(told), AllOf(HasSubstr("sequence 2"), HasSubstr("keys of sequence 1")));
}

TEST(SavedCall, GradientsOfAPackedCallAreJudgedInEachSequence) {
  const json right = judged(Packed().with_gradients(), 0);
  ASSERT_EQ(right["gradients"].size(), 3U);
  for (const json& t : right["gradients"]) EXPECT_EQ(t["verdict"], "rounded") << t;
  EXPECT_EQ(right["lse"]["verdict"], "rounded");
  EXPECT_THAT(first_sentence(right), HasSubstr("dQ, dK and dV are rounded"));
  Packed wrong;
  wrong.call.scale_of_dk = 1 / wrong.call.scale;
  wrong.answers[1].dk = wrong.call.answer(wrong.tokens[1]).dk;
  const json told = judged(wrong.with_gradients(), 3);
  EXPECT_THAT(first_sentence(told),
              AllOf(HasSubstr("dK is wrong in sequence 1"), HasSubstr("scale"), HasSubstr("O is rounded")));
  EXPECT_EQ(told["gradients"][1]["tensor"], "dk");
  EXPECT_EQ(told["gradients"][1]["sequence"], 1);
  EXPECT_EQ(told["gradients"][1]["by_heads"][0]["heads"], (json{{4, 7}}));
  EXPECT_EQ(told["gradients"][0]["verdict"], "rounded");
}

/// dQ is wrong in head 3 only; heads 2 and 3 share K and V.
TEST(SavedCall, WrongHeadsOfASequenceAreNamed) {
  Packed wrong;
  Numbers& dq = wrong.answers[2].dq;
  for (int i = 0; i < 6; ++i)
    for (int c = 0; c < 16; ++c) dq[wrong.call.at(i, 3, 4, c)] *= 1.25;
  const json told = judged(wrong.with_gradients(), 3);
  EXPECT_THAT(first_sentence(told), HasSubstr("dQ is wrong in heads 2 to 3 of sequence 2"));
  EXPECT_THAT(told["sentences"][1].get<std::string>(), HasSubstr("(sequence 2, head 3)"));
}

TEST(SavedCall, LogSumExpOfAPackedCallIsReadInEveryShape) {
  const Packed right;
  const int total = right.total(&Tokens::n), h = right.call.h;
  Numbers padded(at(3 * h * 8));
  for (int s = 0; s < 3; ++s)
    for (int head = 0; head < h; ++head)
      for (int i = 0; i < right.tokens[at(s)].n; ++i)
        padded[at((s * h + head) * 8 + i)] = right.answers[at(s)].lse[at(head * right.tokens[at(s)].n + i)];
  struct Shape {
    std::vector<int> sizes;
    Numbers lse;
  };
  for (const Shape& x : std::vector<Shape>{{{h, total}, right.lse(false)},
                                           {{total, h}, right.lse(true)},
                                           {{total, h, 1}, right.lse(true)},
                                           {{3, h, 8}, padded}})
    for (const bool planted : {false, true}) {
      Numbers lse = x.lse;
      if (planted) lse[lse.size() / 2] += 0.5;  // in sequence 1 or head 2, by the order
      if (planted && x.sizes[0] == 3) lse = x.lse, lse[at(h * 8)] += 0.5;
      SavedDict dict = right.saved();
      const json told = judged(dict.floats("lse", x.sizes, lse), planted ? 3 : 0);
      EXPECT_EQ(told["lse"]["verdict"], planted ? "wrong" : "rounded") << ::testing::PrintToString(x.sizes);
      if (planted) {
        EXPECT_GE(told["lse"]["sequence"], 0);
      }
    }
}

TEST(SavedCall, AVariedHeadHasAllTokensOfItsSequence) {
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("call.pt", Packed().saved().bytes());
  const auto swept = [&](const Words& more) {
    return json_of(with({"sweep", "--input", file + ":4", "--vary", "head=4,0,8", "--no-cache", "--quiet"}, more))["rows"];
  };
  const auto run = [&](const std::string& head, const Words& more) {
    return json_of(with({"run", "--input", file + ":" + head}, more))["a"]["mean_abs"];
  };
  const json rows = swept({}), cut = swept({"--n", "5", "--n-k", "6"});
  for (const auto& [row, head] : {std::pair{0, "4"}, {1, "0"}, {2, "8"}}) {
    EXPECT_EQ(rows[row]["mean"], run(head, {})) << head;
    EXPECT_EQ(cut[row]["mean"], run(head, {"--n", "5", "--n-k", "6"})) << head;
  }
}

/// Every sequence uses the sink: dSink is the sum over the sequences.
TEST(SavedCall, TheGradientOfASinkIsSummedOverSequences) {
  Packed packed;
  packed.call.sinks = {0.5, 1, -1, 0};  // heads 0 and 1 share K and V
  packed.solve();
  Numbers dsink(4);
  for (const Answer& a : packed.answers)
    std::transform(dsink.begin(), dsink.end(), a.dsink.begin(), dsink.begin(), std::plus<>());
  for (const double factor : {1.0, -1.0}) {
    Numbers given = dsink;
    for (double& x : given) x *= factor;
    SavedDict dict = packed.saved();
    const std::vector<int> q{packed.total(&Tokens::n), 4, 16};
    dict.floats("sinks", {4}, packed.call.sinks).bf16s("dout", q, joined(packed.tokens, &Tokens::d_o));
    dict.floats("dsink", {4}, given);
    EXPECT_EQ(judged_if(factor < 0, dict, "dSink has the wrong sign")["gradients"][0]["tensor"], "dsink");
  }
}

/// A call of several batches, tokens before heads or heads before tokens.
struct Batched : Sequences {
  bool heads_first = false;

  Batched(Plain plain, int n, int n_k, int batches = 2)
      : Sequences(std::move(plain), std::vector<std::array<int, 2>>(static_cast<std::size_t>(batches), {n, n_k})) {}
  Numbers ordered(const Numbers& x, int heads) const {
    if (!heads_first) return x;
    const int rows = static_cast<int>(x.size()) / heads / call.d / static_cast<int>(tokens.size());
    Numbers y(x.size());
    std::size_t next = 0;
    for (int b = 0; b < static_cast<int>(tokens.size()); ++b)
      for (int head = 0; head < heads; ++head)
        for (int i = 0; i < rows; ++i)
          for (int c = 0; c < call.d; ++c) y[next++] = x[call.at(b * rows + i, head, heads, c)];
    return y;
  }
  std::vector<int> sizes(int heads, int rows) const {
    const int b = static_cast<int>(tokens.size());
    return heads_first ? std::vector{b, heads, rows, call.d} : std::vector{b, rows, heads, call.d};
  }
  SavedDict saved() const {
    const std::vector<int> q = sizes(call.h, tokens[0].n), k = sizes(call.h_k, tokens[0].n_k);
    SavedDict dict;
    dict.bf16s("query", q, ordered(joined(tokens, &Tokens::q), call.h));
    dict.bf16s("key", k, ordered(joined(tokens, &Tokens::k), call.h_k));
    dict.bf16s("value", k, ordered(joined(tokens, &Tokens::v), call.h_k));
    return dict.bf16s("attn_output", q, ordered(joined(answers, &Answer::o), call.h));
  }
};

/// Hugging Face's padded batch: a 0/1 mask per token with left padding of the second sequence, and is_causal.
TEST(SavedCall, APaddedCallIsJudgedWithItsAttentionMask) {
  constexpr int n = 12, pad = 4;
  std::vector<std::int32_t> mask(2 * n, 1);
  for (int j = 0; j < pad; ++j) mask[at(n + j)] = 0;
  Batched call({.sees = causal}, n, n);
  const Tokens* const second = &call.tokens[1];
  const auto sees = [&](const Tokens& x, int, int i, int j) { return j <= i && (&x != second || j >= pad); };
  for (const bool planted : {false, true}) {
    call.call.sees = planted ? causal : std::function<bool(const Tokens&, int, int, int)>(sees);
    call.solve();
    SavedDict dict = call.saved();
    dict.ints("attention_mask", {2, n}, mask).value("is_causal", SavedDict::boolean(true));
    dict.value("scaling", SavedDict::real(0.25));
    EXPECT_EQ(judged_if(planted, dict, "the mask tensor ignored (batch 1, head 0")["table"].size(), 8U);
  }
}

/// PyTorch's grouped queries: heads before tokens, is_causal aligned at the first key, an explicit scale.
TEST(SavedCall, AGroupedCallIsJudgedByItsNamesAlone) {
  const auto from_first = [](const Tokens&, int, int i, int j) { return j <= i; };
  for (const bool planted : {false, true}) {
    Batched call({.h = 8, .scale = 0.5, .sees = from_first, .head_of_k = [](int head) { return head / 4; }}, 9, 14);
    call.heads_first = true;
    if (planted) call.call.head_of_k = [](int head) { return head % 2; };
    call.solve();
    SavedDict dict = call.saved();
    dict.value("is_causal", SavedDict::boolean(true)).value("scale", SavedDict::real(0.5));
    const json told = judged_if(planted, dict.value("enable_gqa", SavedDict::boolean(true)), "head");
    EXPECT_THAT(derivation(told), HasSubstr("--mask is causal:top-left, by"));
  }
}

/// Sequences whose K and V are stored in pages of 4 tokens.
struct Paged : Sequences {
  static constexpr int page = 4, blocks = 12;
  std::vector<std::vector<int>> pages{{7, 2, 11}, {4, 0, 9, 1}, {5, 10}};

  explicit Paged(Plain plain) : Sequences(std::move(plain), {{5, 9}, {7, 14}, {1, 8}}) {}
  /// K or V of all sequences in pages: [blocks, page, heads, d].
  Numbers cache(Numbers Tokens::* part) const {
    Dice dice(9);
    Numbers all = random(dice, blocks * page * call.h_k * call.d);
    const std::size_t token = static_cast<std::size_t>(call.h_k * call.d);
    for (std::size_t s = 0; s < tokens.size(); ++s)
      for (std::size_t j = 0; j < static_cast<std::size_t>(tokens[s].n_k); ++j)
        for (std::size_t x = 0; x < token; ++x)
          all[(static_cast<std::size_t>(pages[s][j / page]) * page + j % page) * token + x] = (tokens[s].*part)[j * token + x];
    return all;
  }
  /// Plants a fault: page `place` of sequence 1 is read from block `block` of another sequence.
  void plant(int place, int block) {
    const Numbers k = cache(&Tokens::k), v = cache(&Tokens::v);
    Tokens x = tokens[1];
    const std::size_t token = static_cast<std::size_t>(call.h_k * call.d),
                      from = static_cast<std::size_t>(block * page) * token,
                      to = static_cast<std::size_t>(place * page) * token, count = std::min(page * token, x.k.size() - to);
    std::copy_n(k.begin() + static_cast<std::ptrdiff_t>(from), count, x.k.begin() + static_cast<std::ptrdiff_t>(to));
    std::copy_n(v.begin() + static_cast<std::ptrdiff_t>(from), count, x.v.begin() + static_cast<std::ptrdiff_t>(to));
    answers[1] = call.answer(x);
  }
};

TEST(SavedCall, APagedCallIsJudgedByItsNamesAlone) {
  for (const bool planted : {false, true}) {
    Paged paged({.cap = 2, .sees = [](const Tokens& x, int, int i, int j) {
                   const int at = i + x.n_k - x.n;
                   return j <= at && j >= at - 6;
                 }});
    if (planted) paged.plant(3, 2);
    SavedDict dict;
    dict.bf16s("q", {13, 4, 16}, joined(paged.tokens, &Tokens::q));
    dict.bf16s("k_cache", {12, 4, 2, 16}, paged.cache(&Tokens::k)).bf16s("v_cache", {12, 4, 2, 16}, paged.cache(&Tokens::v));
    dict.ints("block_table", {3, 4}, {7, 2, 11, -1, 4, 0, 9, 1, 5, 10, -1, -1}).ints("cache_seqlens", {3}, {9, 14, 8});
    dict.ints("cu_seqlens_q", {4}, {0, 5, 12, 13}).bf16s("out", {13, 4, 16}, joined(paged.answers, &Answer::o));
    dict.value("softmax_scale", SavedDict::real(0.25)).value("causal", SavedDict::boolean(true));
    dict.value("window_size", SavedDict::tuple({6, 0})).value("softcap", SavedDict::real(2));
    const json told = judged_if(planted, dict, "page 3 of sequence 1 holds keys of sequence 0, page 1");
    EXPECT_THAT(derivation(told), AllOf(HasSubstr("--mask is window:6:0, by"), HasSubstr("--softcap is taken from")));
  }
}

/// FlashInfer's tables, with K and V in one tensor.
TEST(SavedCall, FlashInfersPagedCallIsJudgedByItsNamesAlone) {
  for (const bool planted : {false, true}) {
    Paged paged({.sees = causal});
    if (planted) paged.plant(2, 5);
    const Numbers k = paged.cache(&Tokens::k), v = paged.cache(&Tokens::v);
    Numbers both;
    constexpr std::ptrdiff_t size = 4 * 2 * 16;
    for (std::ptrdiff_t block = 0; block < 12; ++block)
      for (const Numbers* const x : {&k, &v})
        both.insert(both.end(), x->begin() + block * size, x->begin() + (block + 1) * size);
    SavedDict dict;
    dict.bf16s("q", {13, 4, 16}, joined(paged.tokens, &Tokens::q)).bf16s("paged_kv_cache", {12, 2, 4, 2, 16}, both);
    dict.ints("qo_indptr", {4}, {0, 5, 12, 13}).ints("paged_kv_indptr", {4}, {0, 3, 7, 9});
    dict.ints("paged_kv_indices", {9}, {7, 2, 11, 4, 0, 9, 1, 5, 10}).ints("paged_kv_last_page_len", {3}, {1, 2, 4});
    dict.bf16s("out", {13, 4, 16}, joined(paged.answers, &Answer::o)).value("sm_scale", SavedDict::real(0.25));
    dict.value("causal", SavedDict::boolean(true)).value("kv_layout", SavedDict::text("NHD"));
    judged_if(planted, dict.value("window_left", SavedDict::integer(-1)),
              "page 2 of sequence 1 holds keys of sequence 2, page 0");
  }
}

/// Gradients of paged keys and meaningless values are refused with a sentence.
TEST(SavedCall, UnusableCallsGetASentence) {
  const TemporaryDirectory scratch;
  const auto refused = [&](const char* name, const std::string& pickled, const std::string& says) {
    SavedDict call = Batched({}, 5, 5).saved();
    expect_refused({"judge", "--input", scratch.write("call.pt", call.value(name, pickled).bytes())}, 1, says);
  };
  refused("is_causal", SavedDict::integer(3), "value 'is_causal' is '3', expected true or false");
  refused("window_size", SavedDict::tuple({1, 2, 3}),
          "value 'window_size' holds no window, expected one whole number, or two: keys before and behind");
  refused("softmax_scale", SavedDict::real(-1), "softmax_scale");
  SavedDict paged;
  paged.bf16s("q", {1, 4, 16}, Numbers(64)).bf16s("k_cache", {2, 4, 2, 16}, Numbers(256));
  paged.bf16s("v_cache", {2, 4, 2, 16}, Numbers(256)).ints("block_table", {1, 1}, {1}).ints("cache_seqlens", {1}, {3});
  paged.bf16s("out", {1, 4, 16}, Numbers(64)).bf16s("dout", {1, 4, 16}, Numbers(64)).bf16s("dk", {2, 4, 2, 16}, Numbers(256));
  const std::string file = scratch.write("paged.pt", paged.bytes());
  expect_refused({"judge", "--input", file, "--do", file, "--dk", file}, 1,
                 "the keys lie in pages, expected packed sequences (--cu-seqlens-k) where gradients are judged");
}

/// pytorch#174861: 32 heads of Q over 2 of K and V, one query, 1024 keys, 128 columns.
TEST(SavedCall, ADecodingStepOf32HeadsOver2) {
  for (const bool planted : {false, true}) {
    Plain plain{.h = 32, .d = 128, .scale = 1 / std::sqrt(128.0), .head_of_k = [](int head) { return head / 16; }};
    if (planted) plain.sees = [](const Tokens&, int, int, int j) { return j < 1008; };  // the kernel misses the last 16 keys
    Batched call(plain, 1, 1024, 1);
    call.heads_first = true;
    EXPECT_EQ(judged_if(planted, call.saved(), "1008")["table"].size(), 32U);
  }
}

/// mlx#3585: heads and tokens are swapped.
TEST(SavedCall, TokensBeforeHeadsAreProposedWhereTheOtherOrderIsWrong) {
  Batched call({.h = 8, .h_k = 8, .sees = causal, .head_of_k = [](int head) { return head; }}, 82, 82, 1);
  const json told = judged(call.saved(), 3, {"--mask", "causal"});
  EXPECT_THAT(told["sentences"][2].get<std::string>(), HasSubstr("say --layout nhd"));
  EXPECT_EQ(judged(call.saved(), 0, {"--mask", "causal", "--layout", "nhd"})["table"].size(), 8U);
  SavedDict of_flash_attention = call.saved();
  judged(of_flash_attention.value("causal", SavedDict::boolean(true)), 0);
}

/// A sweep over heads uses each head's own slope: its mean equals the mean over separate runs.
TEST(SavedCall, NumbersOfTheFileFollowTheHeadsOfASweep) {
  Batched call({.h_k = 4, .head_of_k = [](int head) { return head; }}, 12, 12, 1);
  SavedDict dict = call.saved();
  dict.floats("alibi_slopes", {4}, {0.5, 0.25, 2, 0.0625}).value("causal", SavedDict::boolean(true));
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("call.pt", dict.bytes());
  double sum = 0;
  for (int head = 0; head < 4; ++head)
    sum += json_of({"run", "--input", file + ":" + std::to_string(head)})["a"]["mean_abs"].get<double>();
  const auto over = [&](const Words& more) {
    return with({"sweep", "--input", file, "--vary", "format=bf16", "--csv", "-", "--no-cache", "--over"}, more);
  };
  const std::string swept = output_of(over({"head"}));
  EXPECT_NEAR(std::stod(swept.substr(swept.find("\nbf16,") + 6)), sum / 4, 1e-12);
  EXPECT_EQ(attoscope(over({"window:4"})).code, 0);
  const json varied = json_of({"sweep", "--input", file, "--vary", "head=0:3", "--no-cache", "--quiet"});
  for (std::size_t head = 0; head < 4; ++head)
    EXPECT_EQ(varied["rows"][head]["mean"], json_of({"run", "--input", file + ":" + std::to_string(head)})["a"]["mean_abs"]);
  expect_refused(over({"head", "--alibi", "1,2,3,4"}), 2, "--alibi is '1,2,3,4', expected one number beside --over head");
}

}  // namespace
}  // namespace attoscope::testing
