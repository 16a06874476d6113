// Verdicts on kernels with planted slips and on correct kernels. None may be wrong; a slip hidden by the kernel's rounding may
// stay unexplained, but it may not get another name.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "tests/questions/planted_kernels.h"

namespace attoscope::verdict_table_test {
namespace {

using namespace planted;

constexpr int n = kernel_n, d = kernel_d, tile = kernel_tile;

/// The fault of a verdict; "": none. The verdict may name only `words`, and has to if `must`.
std::string mistake(const Said& found, const std::string& words, bool must) {
  if (found.slip && found.slip->text.find(words) == std::string::npos) return "another name: " + found.text();
  if (found.slip && found.head.rounded) return "named, but not called wrong: " + found.text();
  return must && !found.slip ? "not named: " + found.text() : "";
}

TEST(VerdictTable, PlantedKernelsAreNamedAndNeverMisnamed) {
  for (const Planted& kernel : planted_kernels())
    for (const Format& f : planted_formats())
      for (const char* rounding : {"hw", "base_eager", "all_tile"}) {
        const Problem p = problem(n, d, kernel.mask);
        const Said found = said_of(p, emulated(p, method(rounding, tile), f, kernel.edit), f);
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
          const Said found = said_of(p, stale_max(seen(p), size, kind), f);
          EXPECT_EQ(mistake(found, words, true), "") << words << ", tiles of " << size << ", " << name(f);
          EXPECT_NE(found.text().find("(tiles of " + std::to_string(size)), std::string::npos) << found.text();
        }
}

TEST(VerdictTable, OneWrongRowStandsOut) {
  for (const Mask& mask : {Mask{}, causal})
    for (const Format& f : {bf16, fp16, fp32}) {
      const Problem p = problem(n, d, mask);
      Values o = emulated(p, method("hw", tile), f);
      const Said before = said_of(p, o, f);
      EXPECT_EQ(before.head.verdict(), "rounded") << before.text();
      double rms = 0;
      for (int c = 0; c < d; ++c)
        rms += o[static_cast<std::size_t>(211 * d + c)] * o[static_cast<std::size_t>(211 * d + c)] / d;
      for (int c = 0; c < d; ++c)
        o[static_cast<std::size_t>(211 * d + c)] += (c % 2 ? 1 : -1) * (f == fp32 ? 64 : 16) * epsilon(f) * std::sqrt(rms);
      const Said found = said_of(p, o, f);
      EXPECT_EQ(found.head.verdict(), "wrong") << found.text();
      EXPECT_FALSE(found.slip) << found.text();
      EXPECT_EQ(found.head.where, "in row 211");
    }
}

/// Policies, formats, masks and kinds of input at several sizes and tiles: no correct output has a slip, and no output with a
/// kernel's usual roundings is doubted. Tries every second combination: any three of the four settings meet.
TEST(VerdictTable, CorrectKernelsAreNotDoubted) {
  constexpr std::tuple<int, int, int> shapes[]{{200, 64, 32}, {193, 40, 64}, {256, 16, 128}, {131, 32, 16}};
  int shape = 0;
  for (const InputKind kind :
       {InputKind::normal, InputKind::uniform, InputKind::outliers, InputKind::ascending, InputKind::ties, InputKind::biased})
    for (const Mask& mask : {Mask{}, causal, window(31), Mask{Mask::Kind::padding, 9}})
      for (const Format& f : {bf16, fp16, fp32})
        for (const Policy& policy : policies()) {
          const auto& [rows, columns, size] = shapes[++shape % 4];
          if ((static_cast<int>(kind) + static_cast<int>(mask.kind) + f.mantissa_bits + (&policy - policies().data())) % 2 != 0)
            continue;
          Problem p{.seed = static_cast<std::uint64_t>(shape), .n = rows, .d = columns, .mask = mask};
          p.input.kind = kind;
          const Said found = said_of(p, emulated(p, method(policy.name, size), f), f);
          SCOPED_TRACE(::testing::Message() << name(kind) << ", " << policy.name << ", mask " << static_cast<int>(mask.kind)
                                            << ", " << name(f) << ", n " << rows);
          EXPECT_FALSE(found.slip) << found.text();
          const bool usual = policy.name == "hw" || policy.name == "base_hw" || policy.name == "base_floor";
          EXPECT_TRUE(!usual || found.head.rounded) << found.text();
        }
}

/// Correct outputs of other algorithms, orders and tiles.
TEST(VerdictTable, CorrectKernelsByOtherAlgorithms) {
  for (const Algorithm algorithm : {Algorithm::flash1, Algorithm::flash2, Algorithm::flash4, Algorithm::split_kv})
    for (const Mask& mask : {Mask{}, causal})
      for (const Format& f : {bf16, fp16})
        for (const int size : {16, 48, 128})
          for (const bool reversed : {false, true}) {
            const Problem p = problem(250, 64, mask);
            Method m = with_algorithm(method("hw", size), algorithm);
            m.reverse_keys = reversed;
            m.splits = 3;
            const Said found = said_of(p, emulated(p, m, f), f);
            EXPECT_EQ(found.head.verdict(), "rounded")
                << name(algorithm) << ", " << name(f) << ", tiles of " << size << ": " << found.text();
          }
}

}  // namespace
}  // namespace attoscope::verdict_table_test
