// Planted kernels and correct ones, and what must be said of each. Nothing that is said may be wrong; a slip that a kernel's
// own rounding hides may stay unexplained, but it may not get another name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "tests/questions/planted_slips.h"

namespace attoscope {
namespace {

using namespace planted;

/// A mistake as another problem, or other tensors, than what was asked for.
using Edit = std::function<void(Problem&, Tensors&)>;
/// A mistake as a kernel that is written plainly.
using Plain = std::function<Values(const Seen&)>;

constexpr int n = 250, d = 64, tile = 64, tail = n / tile * tile;

/// What a method gives, rounded where it rounds, once `edit` made its problem another one.
Values emulated(const Problem& p, const Method& method, const Format& f, const Edit& edit = {}) {
  Experiment e = default_experiment();
  e.problem = p;
  e.format = f;
  e.a = method;
  Tensors t = *compute(e).inputs;
  if (edit) edit(e.problem, t);
  e.problem.input = testing::given(t);
  return compute(e).a.values;
}

Method method(std::string_view name, int tile_size) {
  Method m;
  m.algorithm = policy(name).algorithm;
  m.precision = policy(name).precision;
  m.block_q = m.block_k = tile_size;
  return m;
}

double* row_of(std::vector<double>& x, int row) { return x.data() + static_cast<std::ptrdiff_t>(row) * d; }
void copy_row(std::vector<double>& x, int from, int to) { std::copy_n(row_of(x, from), d, row_of(x, to)); }

Edit scaled(double scale) {
  return [scale](Problem& p, Tensors&) { p.scale = scale; };
}
Edit with_mask(Mask mask) {
  return [mask](Problem& p, Tensors&) { p.mask = mask; };
}
/// Rows of V that `from` names in the last, partial tile; what it reads was not yet changed.
Edit tail_of_V(std::function<int(int)> from) {
  return [from = std::move(from)](Problem&, Tensors& t) {
    const std::vector<double> before = t.v;
    for (int j = tail; j < n; ++j) {
      const int row = from(j);
      for (int c = 0; c < d; ++c) row_of(t.v, j)[c] = row < 0 ? 0 : before[static_cast<std::size_t>(row * d + c)];
    }
  };
}
Edit copied_row(int from, int to) {
  return [from, to](Problem&, Tensors& t) { copy_row(t.v, from, to); };
}

struct Planted {
  const char* kernel;
  Mask mask;
  Edit edit;
  const char* name;  ///< what it must be called
};

std::vector<Planted> planted_kernels() {
  return {
      {"no scale", {}, scaled(1), "a missing scale"},
      {"scale 1/d", causal, scaled(1.0 / d), "the scale applied twice"},
      {"scale 1/sqrt(63)", {}, scaled(1 / std::sqrt(63.0)), "1/sqrt(d - 1)"},
      {"scale 1/sqrt(63), causal", causal, scaled(1 / std::sqrt(63.0)), "1/sqrt(d - 1)"},
      {"scale 1/sqrt(65)", {}, scaled(1 / std::sqrt(65.0)), "1/sqrt(d + 1)"},
      {"exp2 without log2 e", {}, scaled(std::log(2.0) / 8), "exp2 without log2 e"},
      {"no mask", causal, with_mask({}), "a missing causal mask"},
      {"causal where none is wanted", {}, with_mask(causal), "where none is wanted"},
      {"window too wide", window(40), with_mask(window(41)), "one key too wide"},
      {"window too narrow", window(40), with_mask(window(39)), "one key too narrow"},
      {"last row of V duplicated", {}, copied_row(n - 2, n - 1), "the last row of V replaced by the one before it"},
      {"the same, causal", causal, copied_row(n - 2, n - 1), "the last row of V replaced by the one before it"},
      {"last row of V twice", {}, copied_row(n - 1, n - 2), "the last row of V in the place of the one before it"},
      {"tail of V zeroed", {}, tail_of_V([](int) { return -1; }), "rows of V zeroed in the last, partial tile"},
      {"tail of V zeroed, causal", causal, tail_of_V([](int) { return -1; }), "rows of V zeroed in the last, partial tile"},
      {"tail of V repeated", {}, tail_of_V([](int) { return tail; }), "the first row of V repeated in the last, partial tile"},
      {"tail of V clamped", {}, tail_of_V([](int) { return n - 1; }), "the last row of V repeated in the last, partial tile"},
      {"tail of V stale", {}, tail_of_V([](int j) { return j - tile; }), "taken from the tile before"},
      {"tail of V shifted down", {}, tail_of_V([](int j) { return j - 1; }), "shifted by one (P[j] V[j - 1]) in the last"},
      {"tail of V shifted up",
       {},
       tail_of_V([](int j) { return j + 1 < n ? j + 1 : -1; }),
       "shifted by one (P[j] V[j + 1]) in the last"},
      {"tail of V read to the end", {}, tail_of_V([](int j) { return j - (tile - (n - tail)); }), "read up to the last row"},
  };
}

/// Says what is wrong with a diagnosis that may name `words` and nothing else; it must where `must`.
std::string mistake(const Diagnosis& found, const std::string& words, bool must) {
  if (found.slip && found.slip->text.find(words) == std::string::npos) return "another name: " + found.sentence;
  if (found.slip && found.verdict != Diagnosis::Verdict::wrong) return "named, but not called wrong: " + found.sentence;
  return must && !found.slip ? "not named: " + found.sentence : "";
}

TEST(VerdictTable, PlantedKernelsAreNamedAndNeverMisnamed) {
  for (const Planted& kernel : planted_kernels())
    for (const Format& f : {bf16, fp16, fp32})
      for (const char* rounding : {"hw", "base_eager", "all_tile"}) {
        if (testing::sanitized && !(f == bf16)) continue;
        const Problem p = problem(n, d, kernel.mask);
        const Diagnosis found = diagnosis(p, emulated(p, method(rounding, tile), f, kernel.edit), f);
        EXPECT_EQ(mistake(found, kernel.name, rounding == std::string("hw")), "")
            << kernel.kernel << ", " << name(f) << ", " << rounding;
      }
}

TEST(VerdictTable, StaleMaxima) {
  const std::vector<std::pair<Max, const char*>> kinds{{Max::P_of_the_tile_before, "with the m before its tile"},
                                                       {Max::never_after_the_first_tile, "from the m of the first tile"},
                                                       {Max::alpha_one_tile_late, "alpha is that of the tile before"},
                                                       {Max::never_stored, "never stored"}};
  for (const Mask& mask : {Mask{}, causal})
    for (const int size : {16, 64})
      for (const auto& [kind, words] : kinds)
        for (const Format& f : {bf16, fp16, fp32}) {
          const Problem p = problem(250, 32, mask);
          const Diagnosis found = diagnosis(p, stale_max(seen(p), size, kind), f);
          EXPECT_EQ(mistake(found, words, true), "") << words << ", tiles of " << size << ", " << name(f);
          EXPECT_NE(found.sentence.find("(tiles of " + std::to_string(size)), std::string::npos) << found.sentence;
        }
}

TEST(VerdictTable, OneWrongRowStandsOut) {
  for (const Mask& mask : {Mask{}, causal})
    for (const Format& f : {bf16, fp16, fp32}) {
      const Problem p = problem(n, d, mask);
      Values o = emulated(p, method("hw", tile), f);
      const Diagnosis before = diagnosis(p, o, f);
      EXPECT_EQ(name(before.verdict), "rounded") << before.sentence;
      double rms = 0;
      for (int c = 0; c < d; ++c)
        rms += o[static_cast<std::size_t>(211 * d + c)] * o[static_cast<std::size_t>(211 * d + c)] / d;
      for (int c = 0; c < d; ++c)
        o[static_cast<std::size_t>(211 * d + c)] += (c % 2 ? 1 : -1) * (f == fp32 ? 64 : 16) * epsilon(f) * std::sqrt(rms);
      const Diagnosis found = diagnosis(p, o, f);
      EXPECT_NE(name(found.verdict), "rounded") << found.sentence;
      EXPECT_FALSE(found.slip) << found.sentence;
      EXPECT_NE(found.sentence.find("211"), std::string::npos) << found.sentence;
      if (found.ratio <= 2) {
        EXPECT_NE(found.sentence.find("one row stands out: 211"), std::string::npos) << found.sentence;
        EXPECT_EQ(found.where, "in row 211");
      }
    }
}

/// Every policy, format, mask and kind of input at several sizes and tiles: no correct output has a slip, and none that rounds
/// as kernels do is doubted.
TEST(VerdictTable, CorrectKernelsAreNotDoubted) {
  constexpr std::tuple<int, int, int> shapes[]{{200, 64, 32}, {193, 40, 64}, {256, 16, 128}, {131, 32, 16}};
  int shape = 0, doubted = 0;
  for (const InputKind kind :
       {InputKind::normal, InputKind::uniform, InputKind::outliers, InputKind::ascending, InputKind::ties, InputKind::biased})
    for (const Mask& mask : {Mask{}, causal, window(31), Mask{Mask::Kind::padding, 9}})
      for (const Format& f : {bf16, fp16, fp32})
        for (const Policy& policy : policies()) {
          const auto& [rows, columns, size] = shapes[++shape % 4];
          if (testing::sanitized && shape % 9 != 0) continue;
          Problem p;
          p.n = rows, p.d = columns, p.mask = mask, p.input.kind = kind;
          p.seed = static_cast<std::uint64_t>(shape);
          const Diagnosis found = diagnosis(p, emulated(p, method(policy.name, size), f), f);
          SCOPED_TRACE(::testing::Message() << name(kind) << ", " << policy.name << ", mask " << static_cast<int>(mask.kind)
                                            << ", " << name(f) << ", n " << rows);
          EXPECT_FALSE(found.slip) << found.sentence;
          const bool usual = policy.name == "hw" || policy.name == "base_hw" || policy.name == "base_floor";
          EXPECT_TRUE(!usual || found.verdict == Diagnosis::Verdict::rounded) << found.sentence;
          doubted += found.sentence.find("out: ") != std::string::npos;
        }
  EXPECT_LE(doubted, 4) << "rows of unusual kernels that stand out";
}

/// The same numbers by other algorithms, orders and tiles.
TEST(VerdictTable, CorrectKernelsByOtherAlgorithms) {
  for (const Algorithm algorithm : {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv})
    for (const Mask& mask : {Mask{}, causal})
      for (const Format& f : {bf16, fp16})
        for (const int size : {16, 48, 128})
          for (const bool reversed : {false, true}) {
            if (testing::sanitized && !(size == 48)) continue;
            const Problem p = problem(250, 64, mask);
            Method m = with_algorithm(method("hw", size), algorithm);
            m.reverse_keys = reversed;
            m.splits = 3;
            const Diagnosis found = diagnosis(p, emulated(p, m, f), f);
            EXPECT_EQ(name(found.verdict), "rounded")
                << name(algorithm) << ", " << name(f) << ", tiles of " << size << ": " << found.sentence;
          }
}

}  // namespace
}  // namespace attoscope
