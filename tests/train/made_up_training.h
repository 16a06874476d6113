/// Made-up records and states of training, with every kind of number in every field, and their comparison bit for bit.
#pragma once

#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/train/checkpoint.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0);
}

/// Any double, NaN, infinities, subnormals and -0 among them.
inline double any_double(Dice& dice) {
  constexpr double special[]{0.0, -0.0, NAN, HUGE_VAL, -HUGE_VAL, 5e-324, 1.7976931348623157e308, 0.1, 1.0};
  return dice.one_in(4) ? dice.any(special) : std::bit_cast<double>(dice.bits());
}
inline float any_float(Dice& dice) {
  return dice.one_in(3) ? static_cast<float>(any_double(dice)) : std::bit_cast<float>(static_cast<std::uint32_t>(dice.bits()));
}

/// A small plan without default values.
inline TrainPlan odd_plan(TrainKind kind) {
  TrainPlan plan = default_train_plan();
  plan.model = {.layers = 2, .width = 8, .heads = 2, .context = 8, .norm = Norm::rms};
  plan.recipe.steps = 9;
  plan.recipe.warmup = 2;
  plan.recipe.rate = 0.1;
  plan.recipe.seed = 0xfedcba9876543210;
  plan.text = {"some \"text\".txt", 0x0123456789abcdef, nullptr};
  plan.kind = kind;
  plan.bisect = BisectBy::head;
  plan.b.format = fp16;
  plan.a.exact = {{1, -1}, {0, 1}};
  plan.a.method.precision[Step::O] = Rounding{.kind = Rounding::Kind::format, .format = Format{5, 7}};
  plan.measure_every = 3;
  return plan;
}

/// A record of made-up numbers in every place.
inline TrainRecord made_up_record(const TrainPlan& plan, Dice& dice) {
  TrainRecord r;
  r.plan = plan;
  r.parameters = parameters(r.plan.model, 7);
  r.device = "cpu of \xce\xb1 kind";
  if (dice.one_in(2)) r.remark = "The GPU was lost after step 3. The CPU took over.";
  r.step = 6;
  r.seconds = 12.5;
  const TrainRuns all = runs_of(r.plan);
  for (const RunPlan& run : all.runs) {
    RunRecord known{run, {}, {}, dice.one_in(2) ? "Run a diverged at step 7: \"why\"." : "", any_double(dice)};
    for (int step = 1; step <= r.step; ++step)
      known.steps.push_back({step, any_double(dice), any_double(dice), any_double(dice), any_double(dice), dice.one_in(2), {}});
    for (int step = 3; step <= r.step; step += 3) {
      RunHealth& health = known.health.emplace_back(RunHealth{step, std::vector<HeadHealth>(4)});
      for (HeadHealth& h : health.heads) {
        const auto count = [&] { return static_cast<std::int64_t>(dice.bits() >> dice.between(1, 60)); };
        h = {{count(), count(), count(), count(), count(), count(), count(), any_double(dice), any_double(dice)},
             any_double(dice)};
      }
    }
    r.runs.push_back(known);
  }
  for (const PairPlan& pair : all.pairs) {
    PairRecord& known = r.pairs.emplace_back(PairRecord{pair, {}});
    for (int step = 3; step <= r.step; step += 3) {
      PairPoint p{.step = step, .loss_difference = any_double(dice), .deviations = {}, .profiles = {}};
      for (std::size_t i = 0; i <= r.parameters.tensors.size(); ++i)
        p.deviations.push_back(
            {any_double(dice), any_double(dice), any_double(dice), any_double(dice), any_double(dice), any_double(dice)});
      for (const ParameterTensor& t : r.parameters.tensors) {
        std::vector<float>& profile = p.profiles.emplace_back(static_cast<std::size_t>(std::min(t.rows, profile_height)));
        for (float& x : profile) x = any_float(dice);
      }
      known.points.push_back(std::move(p));
    }
  }
  r.forks = {{2, "a: policy eager -> hw"}, {4, "recipe: steps 8 -> 9"}};
  return r;
}
inline TrainRecord made_up_record(TrainKind kind, Dice& dice) { return made_up_record(odd_plan(kind), dice); }

inline PairedTrainingState made_up_state(const TrainRecord& record, Dice& dice) {
  PairedTrainingState state{.step = record.step, .runs = {}, .paths = {}};
  for (std::size_t i = 0; i < record.runs.size(); ++i) {
    TrainState& s = state.runs.emplace_back();
    s.step = dice.between(0, 6);
    s.loss_scale = 4096;
    s.steps_since_overflow = dice.between(0, 6);
    s.updates = dice.between(0, 6);
    s.first_loss = 1.25;
    for (std::vector<float>* const x : {&s.weights, &s.m, &s.v}) {
      x->resize(record.parameters.size);
      for (float& value : *x) value = std::bit_cast<float>(static_cast<std::uint32_t>(dice.bits()));
    }
  }
  for (std::size_t i = 0; i < record.pairs.size(); ++i) {
    std::vector<double>& paths = state.paths.emplace_back(record.parameters.tensors.size());
    for (double& x : paths) x = std::bit_cast<double>(dice.bits());
  }
  return state;
}

inline bool same_deviation(const WeightDeviation& x, const WeightDeviation& y) {
  return same(x.max_abs, y.max_abs) && same(x.wasserstein, y.wasserstein) && same(x.rel_l2, y.rel_l2) &&
         same(x.update_cosine, y.update_cosine) && same(x.directionality, y.directionality) && same(x.step_size, y.step_size);
}

inline void expect_same(const TrainRecord& x, const TrainRecord& y) {
  EXPECT_EQ(x.plan, y.plan);
  EXPECT_EQ(x.parameters.size, y.parameters.size);
  EXPECT_EQ(x.device, y.device);
  EXPECT_EQ(x.remark, y.remark);
  EXPECT_EQ(x.step, y.step);
  EXPECT_EQ(x.seconds, y.seconds);
  ASSERT_EQ(x.runs.size(), y.runs.size());
  for (std::size_t i = 0; i < x.runs.size(); ++i) {
    const RunRecord &u = x.runs[i], &v = y.runs[i];
    EXPECT_EQ(u.run, v.run);
    EXPECT_EQ(u.stopped, v.stopped);
    EXPECT_TRUE(same(u.heldout_loss, v.heldout_loss));
    EXPECT_TRUE(std::ranges::equal(u.steps, v.steps, [](const StepReport& p, const StepReport& q) {
      return p.step == q.step && p.skipped == q.skipped && same(p.loss, q.loss) && same(p.gradient_norm, q.gradient_norm) &&
             same(p.rate, q.rate) && same(p.loss_scale, q.loss_scale);
    }));
    ASSERT_EQ(u.health.size(), v.health.size());
    for (std::size_t s = 0; s < u.health.size(); ++s)
      for (std::size_t h = 0; h < u.health[s].heads.size(); ++h) {
        const HeadStatistics &p = u.health[s].heads[h].statistics, &q = v.health[s].heads[h].statistics;
        EXPECT_TRUE(p.rows == q.rows && p.tied_rows == q.tied_rows && p.weights == q.weights && p.saturated == q.saturated &&
                    p.underflowed == q.underflowed && p.lost_dS == q.lost_dS && p.overflowed_dS == q.overflowed_dS);
        EXPECT_TRUE(same(p.delta_error, q.delta_error) && same(p.delta_size, q.delta_size));
        EXPECT_TRUE(same(u.health[s].heads[h].query_norm, v.health[s].heads[h].query_norm));
      }
  }
  ASSERT_EQ(x.pairs.size(), y.pairs.size());
  for (std::size_t i = 0; i < x.pairs.size(); ++i) {
    EXPECT_EQ(x.pairs[i].pair, y.pairs[i].pair);
    ASSERT_EQ(x.pairs[i].points.size(), y.pairs[i].points.size());
    for (std::size_t s = 0; s < x.pairs[i].points.size(); ++s) {
      const PairPoint &p = x.pairs[i].points[s], &q = y.pairs[i].points[s];
      EXPECT_TRUE(p.step == q.step && same(p.loss_difference, q.loss_difference));
      EXPECT_TRUE(std::ranges::equal(p.deviations, q.deviations, same_deviation));
      EXPECT_TRUE(std::ranges::equal(p.profiles, q.profiles, [](const auto& of_p, const auto& of_q) {
        return std::ranges::equal(of_p, of_q, same<float>);
      }));
    }
  }
  EXPECT_TRUE(std::ranges::equal(x.forks, y.forks,
                                 [](const auto& p, const auto& q) { return p.step == q.step && p.sentence == q.sentence; }));
}

/// The numbers of two records, bit for bit; plan, time, device and remark may differ.
inline void expect_same_curves(TrainRecord x, TrainRecord y) {
  for (TrainRecord* const r : {&x, &y}) r->plan = {}, r->seconds = 0, r->device = r->remark = "";
  expect_same(x, y);
}

/// Altered bytes of a checkpoint with a matching digest and, if `sized`, a matching size.
inline std::string resealed(std::string bytes, bool sized) {
  const std::size_t at = std::string_view("attoscope.checkpoint/1\n").size();
  const std::uint64_t size = bytes.size();
  if (sized) std::memcpy(bytes.data() + at, &size, sizeof size);
  const std::uint64_t digest = XXH3_64bits(bytes.data(), bytes.size() - sizeof digest);
  std::memcpy(bytes.data() + bytes.size() - sizeof digest, &digest, sizeof digest);
  return bytes;
}

/// A checkpoint in a file, and error sentences about other bytes in such a file.
struct WrittenCheckpoint {
  TemporaryDirectory scratch;
  std::string file = scratch / "c";
  std::string bytes;

  WrittenCheckpoint() {
    Dice dice(4);
    const TrainRecord record = made_up_record(TrainKind::methods, dice);
    write_checkpoint(file, record, made_up_state(record, dice));
    bytes = bytes_of_file(file);
  }
  /// The error sentence about a file with the bytes `other`; "" if it can be read.
  std::string said_of(const std::string& other) const {
    scratch.write("c", other);
    try {
      read_checkpoint(file);
      return "";
    } catch (const std::runtime_error& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with(file + ": ")) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
      return what.substr(what.find(": ") + 2);
    }
  }
};

}  // namespace attoscope::testing
