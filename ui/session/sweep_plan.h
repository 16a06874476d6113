/// Plan of the Sweep workspace: plain values, saved with the session.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace attoscope {

/// A parameter and its values as typed: "16:1024:x2", "bf16,fp16".
struct VariedParameter {
  std::string key;  ///< "block_k", "format", "a.O"; empty: none
  std::string values;

  friend bool operator==(const VariedParameter&, const VariedParameter&) = default;
};

/// Method whose error is measured.
enum class SweepSubject : std::uint8_t { a, b, a_minus_b };
inline constexpr std::array<std::string_view, 3> sweep_subject_names{"a", "b", "a_minus_b"};

/// Measure as it is, divided by the RMS of golden, or a's divided by b's.
enum class SweepRelation : std::uint8_t { absolute, golden, ratio };
inline constexpr std::array<std::string_view, 3> sweep_relation_names{"absolute", "golden", "ratio"};

/// Spread around a mean over seeds.
enum class SeedSpread : std::uint8_t { std, min_max };
inline constexpr std::array<std::string_view, 2> seed_spread_names{"std", "min_max"};

/// A sweep of the session's experiment.
struct SweepPlan {
  VariedParameter first{"block_k", "16:1024:x2"}, second{};
  int seeds = 3;
  std::string measure = "mean_abs";
  SweepSubject subject = SweepSubject::a;
  SweepRelation relation = SweepRelation::absolute;
  SeedSpread spread = SeedSpread::std;
  bool log_x = true, log_y = true;  ///< if all values are above 0
  bool heat_map = false;            ///< for two parameters, instead of lines

  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;
};
inline constexpr int most_plan_seeds = 10000;

}  // namespace attoscope
