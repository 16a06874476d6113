// Slips planted by plain kernels with other numbers of keys than of queries, or of columns of V than of Q and K: decode steps,
// chunks of a prompt, groups of heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/presets.h"
#include "tests/questions/planted_slips.h"

namespace attoscope::slips_of_shapes_test {
namespace {

using namespace planted;
using Kind = Slip::Kind;
using namespace testing;  // attoscope::testing

constexpr AttentionShape decode{1, 200, 32, 48}, chunk{40, 200, 32, 32}, latent{40, 200, 48, 32};

TEST(SlipsOfShapes, TheRightOutputIsRounded) {
  for (const AttentionShape& shape : {decode, chunk, latent, AttentionShape{200, 40, 32, 32}, AttentionShape{3, 500, 16, 64}})
    for (const Mask& mask : {Mask{}, causal, window(20), Mask{Mask::Kind::padding, 9}, Mask{Mask::Kind::causal, 256, true}})
      for (const Format& f : planted_formats()) {
        const Problem p = problem(shape, mask);
        Values o = right(seen(p));
        for (double& x : o) x = std::isnan(x) ? 0 : x;  // rows without keys
        const Said d = said_of(p, o, f);
        EXPECT_EQ(d.head.verdict(), "rounded") << d.text() << shape.n << ' ' << shape.n_k << ' ' << name(f);
        EXPECT_FALSE(d.slip) << d.slip->text;
      }
}

TEST(SlipsOfShapes, ADecodeStep) {
  const Problem p = problem(decode);
  const Seen x = seen(p);
  expect_found(p, rescored(x, [&](int i, int j) { return x.dot(i, j); }), Kind::scale, "missing scale");
  expect_found(p, rescored(x, [&](int i, int j) { return x.dot(i, j) / std::sqrt(48.0); }), Kind::scale, "1/sqrt(d_v)");
  expect_found(p,
               softmax(
                   x, [&](int i, int j) { return x.S(i, j); }, [&](int j, int c) { return x.v((j + 1) % 200, c); }),
               Kind::operands, "V[j + 1]");
  expect_found(p, masked(x, [](int, int j) { return j < 192; }), Kind::tail, "partial tile of keys left out");
  expect_found(p, merged(x, 200 / 4, 0), Kind::rescale, "4 splits averaged");
}

TEST(SlipsOfShapes, SplitsMergedInTheWrongBase) {
  const Problem p = problem(decode);
  const Seen x = seen(p);
  expect_found(p, merged(x, 200 / 8, std::log2(std::exp(1.0))), Kind::rescale, "8 splits merged with a base-2 log-sum-exp");
  expect_found(p, merged(x, 200 / 4, std::log(2.0)), Kind::rescale, "4 splits merged with a base-e log-sum-exp");
  const Said right_one = said_of(p, merged(x, 200 / 8, 1));
  EXPECT_EQ(right_one.head.verdict(), "rounded") << right_one.text();
}

/// ALiBi puts the first splits of late rows so far below the row's max that their weights are 0 in double.
TEST(SlipsOfShapes, SplitsFarBelowTheMaxAveraged) {
  Problem p = problem(200, 32, causal);
  p.alibi = 8;
  expect_found(p, merged(seen(p), 200 / 4, 0), Kind::rescale, "4 splits averaged");
}

TEST(SlipsOfShapes, KeysOfTheLastTileCountedTwice) {
  for (const AttentionShape& shape : {decode, chunk, AttentionShape::square(200, 32)}) {
    const Problem p = problem(shape);
    const Seen x = seen(p);
    expect_found(p, rescored(x, [&](int i, int j) { return x.S(i, j) + (j >= 192 ? std::log(2.0) : 0); }), Kind::tail,
                 "keys of the last, partial tile counted twice (tiles of 16");
  }
}

TEST(SlipsOfShapes, MasksAlignedAtTheOtherCorner) {
  const Problem p = problem(chunk, causal), top = problem(latent, {Mask::Kind::causal, 256, true}),
                windowed = problem(chunk, window(20));
  const Seen x = seen(p), y = seen(top), z = seen(windowed);
  expect_found(p, masked(x, [](int i, int j) { return j <= i; }), Kind::mask, "aligned top-left");
  expect_found(top, masked(y, [](int i, int j) { return j <= i + 160; }), Kind::mask, "aligned bottom-right");
  expect_found(windowed, masked(z, [](int i, int j) { return j <= i && j > i - 20; }), Kind::mask, "aligned top-left");
  const Problem none = problem(chunk);
  expect_found(none, masked(seen(none), [](int i, int j) { return j <= i; }), Kind::mask, "aligned top-left");
}

TEST(SlipsOfShapes, MasksShiftedByOneKey) {
  const Problem p = problem(chunk, causal);
  const Seen x = seen(p);
  expect_found(p, masked(x, [](int i, int j) { return j <= i + 161; }), Kind::mask, "shows the next");
  expect_found(p, masked(x, [](int i, int j) { return j < i + 160; }), Kind::mask, "hides the diagonal");
  expect_found(p, masked(x, [](int i, int j) { return j / 32 <= (i + 160) / 32; }), Kind::mask,
               "diagonal tile left unmasked (tiles of 32");
  expect_found(p, masked(x, [](int, int) { return true; }), Kind::mask, "missing causal mask");
}

TEST(SlipsOfShapes, FiniteMaskValues) {
  // with more queries than keys the first rows see no key
  const Problem p = problem(AttentionShape{60, 40, 32, 32}, causal);
  const Seen x = seen(p);
  const auto hidden = [&](double value) {
    return softmax(x, [&, value](int i, int j) { return x.sees(i, j) ? x.S(i, j) : value; });
  };
  const auto added = [&](double value) {
    return softmax(x, [&, value](int i, int j) { return x.S(i, j) + (x.sees(i, j) ? 0 : value); });
  };
  expect_found(p, hidden(-1e4), Kind::mask, "a finite mask value");
  expect_found(p, hidden(-5e4), Kind::mask, "a finite mask value");
  expect_found(p, added(-1e4), Kind::mask, "added to hidden scores");
  // now with low scores, about -16000
  Tensors t = drawn(120, 32);
  for (std::size_t i = 0; i < t.q.size(); i += 32) t.q[i] = 4, t.k[i] = -4;
  Problem low = problem(120, 32, causal);
  low.input = given(t);
  low.scale = 1000;
  const Seen y = seen(low);
  const Values o = softmax(y, [&](int i, int j) { return y.sees(i, j) ? y.S(i, j) : -1e4; });
  expect_found(low, o, Kind::mask, "such as -1e4 as the score of hidden keys");
}

TEST(SlipsOfShapes, SinksDropped) {
  for (const AttentionShape& shape : {decode, chunk}) {
    Problem p = problem(shape);
    p.sink = 4;
    const Seen x = seen(p);
    expect_found(p, rescored(x, [&](int i, int j) { return x.S(i, j); }), Kind::bias, "missing sink");
  }
}

TEST(SlipsOfShapes, SoftCapsFoldedIntoTheScale) {
  for (const AttentionShape& shape : {decode, AttentionShape::square(120, 32)}) {
    Problem p = problem(shape);
    p.softcap = 3;
    p.scale = 0.5;
    const Seen x = seen(p);
    const auto with = [&](auto cap) { return rescored(x, [&](int i, int j) { return cap(x.dot(i, j) * 0.5); }); };
    expect_found(p, with([](double s) { return std::tanh(s / 3); }), Kind::bias, "tanh(S / cap) is not multiplied");
    expect_found(p, with([](double s) { return 3 * std::tanh(s); }), Kind::bias, "whose tanh takes S");
    expect_found(p, with([](double s) { return s / 3; }), Kind::bias, "without a tanh");
  }
}

/// Four heads of Q over two of K and V.
class Grouped {
 public:
  Grouped() {
    for (std::uint64_t head = 0; head < 4; ++head) {
      Tensors t = drawn(chunk, 10 + head);
      if (head % 2 == 1) t.k = files_.back()->k, t.v = files_.back()->v;
      files_.push_back(std::make_shared<const Tensors>(std::move(t)));
    }
  }
  OtherHeads heads() const {
    return {4, [files = files_](int head) { return files[static_cast<std::size_t>(head)]; }, 4, 2, {}};
  }
  Problem problem(int head) const {
    Problem p = with_shape(Problem{}, chunk);
    p.input = given(*files_[static_cast<std::size_t>(head)]);
    p.input.index = head;
    return p;
  }
  /// Q of one head with K and V of another.
  Values mixed(int q, int kv) const {
    Tensors t = *files_[static_cast<std::size_t>(q)];
    t.k = files_[static_cast<std::size_t>(kv)]->k, t.v = files_[static_cast<std::size_t>(kv)]->v;
    return right({t, problem(q)});
  }

 private:
  std::vector<std::shared_ptr<const Tensors>> files_;
};

TEST(SlipsOfShapes, GroupsTakenForInterleaved) {
  const Grouped grouped;
  expect_found(grouped.problem(1), grouped.mixed(1, 2), Kind::head,
               "K and V of kv head 1 (head modulo 2) instead of 0 (head / 2): interleaved groups", grouped.heads());
  expect_found(grouped.problem(2), grouped.mixed(2, 0), Kind::head, "K and V of kv head 0 (head modulo 2) instead of 1",
               grouped.heads());
  EXPECT_TRUE(said_of(grouped.problem(1), grouped.mixed(1, 1), bf16, grouped.heads()).head.rounded);
  expect_found(grouped.problem(0), grouped.mixed(0, 2), Kind::head, "K and V of head 2 with Q of head 0", grouped.heads());
}

}  // namespace
}  // namespace attoscope::slips_of_shapes_test
