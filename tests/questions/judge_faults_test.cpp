// Mistakes reported of kernels: none of relevant size passes, most get their own names, none gets another mistake's name.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>

#include "tests/questions/planted_faults.h"

namespace attoscope {
namespace {

using namespace planted;

bool matches(const std::string& text, const char* pattern) { return std::regex_search(text, std::regex(pattern)); }

JudgedOutput output_of(const Call& call, Values o) {
  return {call.p, stored(std::move(o), call.stored), {.format = call.f, .stored = call.stored, .declared = {}}};
}

/// Verdict on one fault.
struct Answer {
  bool rounded = false, named = false, misnamed = false, placed = false;
  std::string name{}, place{};
  std::vector<Keys> keys{};
  double ratio = 0, seconds = 0;
};

Answer answer_to(const PlantedFault& fault, std::uint64_t seed) {
  const Call call = fault.call(seed);
  const JudgedOutput output = output_of(call, fault.output(call));
  const auto begin = std::chrono::steady_clock::now();
  const Judged judged = judge(output);
  Answer a{.rounded = judged.head.rounded, .name = {}, .place = judged.head.where, .ratio = judged.head.ratio};
  if (!a.rounded)
    if (const std::optional<Slip> slip = slips_of(output, judged, call.others()).found)
      a.name = std::string(name(slip->kind)) + ": " + slip->text, a.keys = slip->keys;
  a.named = matches(a.name, fault.name);
  a.misnamed = !a.named && !a.name.empty();
  a.placed = matches(a.place + "; " + a.name, fault.place);
  a.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return a;
}

/// The correct kernel of each call passes, so that findings come from the fault.
TEST(JudgeFaults, WithoutTheFaultNothingIsSeen) {
  int wrong = 0, calls = 0;
  for (const PlantedFault& fault : planted_faults()) {
    const Call call = fault.call(1);
    const HeadJudgement h = judge(output_of(call, correct_output(call))).head;
    ++calls, wrong += !h.rounded;
    EXPECT_TRUE(h.rounded) << fault.kind << ": " << h.ratio << " " << h.where;
  }
  std::printf("| correct twins of the faults | %d | %d |\n", calls, wrong);
}

TEST(JudgeFaults, AreSeenAndNamed) {
  const char* only = std::getenv("ATTOSCOPE_FAULT");
  int planted = 0, runs = 0, caught = 0, named = 0, misnamed = 0, placed = 0, places = 0;
  std::printf("| fault | verdict | error / limit | name | named | where | placed | s |\n|---|---|---|---|---|---|---|---|\n");
  for (const PlantedFault& fault : planted_faults()) {
    if (only && !matches(fault.kind, only)) continue;
    const Answer a = answer_to(fault, 1);
    const bool asks = *fault.place != '\0';
    std::printf("| %s | %s | %.3g | %s | %s | %s | %s | %.1f |\n", fault.kind, a.rounded ? "rounded" : "wrong", a.ratio,
                a.name.c_str(),
                !fault.has_effect ? ""
                : a.misnamed      ? "WRONGLY"
                : a.named         ? "yes"
                                  : "no",
                a.place.c_str(),
                !asks      ? ""
                : a.placed ? "yes"
                           : "no",
                a.seconds);
    std::fflush(stdout);
    std::smatch run;
    if (std::regex_search(a.name, run, std::regex("[KVP:] (?:of )?keys (\\d+) to (\\d+) (?:is|are|count)"))) {
      EXPECT_TRUE(!a.keys.empty() && a.keys[0].first == std::stoi(run[1]) && a.keys[0].end > std::stoi(run[2])) << a.name;
      ++runs;
    }
    if (!fault.has_effect) continue;
    ++planted, caught += !a.rounded, named += a.named, misnamed += a.misnamed, places += asks, placed += asks && a.placed;
    EXPECT_FALSE(a.rounded) << fault.kind;
  }
  std::printf("faults: %d, caught %d, named rightly %d, named wrongly %d, place right %d of %d\n", planted, caught, named,
              misnamed, placed, places);
  if (only || testing::sanitized) return;
  EXPECT_GE(runs, 4);
  EXPECT_GE(named, 75);
  EXPECT_LE(misnamed, 1);
}

/// Tensors of other seeds than the patterns were written for.
TEST(JudgeFaults, AreNotCalledByOtherNamesOnOtherTensors) {
  if (testing::sanitized) return;
  const char* seeds = std::getenv("ATTOSCOPE_SEEDS");
  int planted = 0, named = 0, misnamed = 0;
  for (std::uint64_t seed = 2; seed < 2 + (seeds ? std::strtoull(seeds, nullptr, 10) : 1); ++seed)
    for (const PlantedFault& fault : planted_faults()) {
      if (!fault.has_effect) continue;
      const Answer a = answer_to(fault, seed);
      ++planted, named += a.named, misnamed += a.misnamed;
      EXPECT_FALSE(a.rounded) << fault.kind << ", seed " << seed;
      if (!a.named) std::printf("%s, seed %d: %s\n", fault.kind, static_cast<int>(seed), a.name.c_str());
    }
  std::printf("other tensors: %d, named rightly %d, named wrongly %d\n", planted, named, misnamed);
  EXPECT_LE(100 * misnamed, 2 * planted);
}

}  // namespace
}  // namespace attoscope
