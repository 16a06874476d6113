// The backward pass in `compute`: parts recomputed after a change, stops, and the needed memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/same_answer.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::backward_answer_test {
namespace {

using testing::expect_same_answer;
using testing::sentence_of;

Experiment question() {
  Experiment e = testing::small_experiment(bf16, 50, 12);
  e.a = with_policy(e.a, policy("hw"));
  e.b = with_policy(e.b, policy("base_eager"));
  return with_backward(e);
}

/// Names of the gradients that were computed, not reused.
std::string computed(const Result& r) { return testing::computed_parts(r.timing.backward); }

struct Change {
  const char* name;
  std::function<void(Experiment&)> change;
  const char* again;
};
const std::vector<Change> changes{
    {"nothing", [](Experiment&) {}, ""},
    {"traced row", [](Experiment& e) { e.problem.traced_row = 3; }, ""},
    {"block_q of the forward pass", [](Experiment& e) { e = with_block_q(e, 16); }, ""},
    {"gradient of b", [](Experiment& e) { e.backward.b = grad_method("grad_math", 12, {}); }, "b"},
    {"gradient of a", [](Experiment& e) { e.backward.a.precision[GradStep::dS] = exact; }, "a"},
    {"order of a", [](Experiment& e) { e.backward.a.order = GradOrder::descending; }, "a"},
    {"step of a's forward pass", [](Experiment& e) { e.a.precision[Step::S] = to_main; }, "a"},
    {"algorithm of b", [](Experiment& e) { e.b.algorithm = Algorithm::two_pass; }, "b"},
    {"dO", [](Experiment& e) { e.backward.d_o = OutputGradient::ones; }, "golden a b"},
    {"mask", [](Experiment& e) { e.problem.mask.kind = Mask::Kind::causal; }, "golden a b"},
    {"seed", [](Experiment& e) { ++e.problem.seed; }, "golden a b"},
    {"rows", [](Experiment& e) { e.problem.rows = 9; }, "golden a b"},
    {"input step of a", [](Experiment& e) { e.a.precision[Step::input] = to_format(e5m2); }, "golden a b"},
};

TEST(BackwardAnswer, IsComputedAgainAsFarAsAChangeGoes) {
  for (const Change& c : changes) {
    SCOPED_TRACE(c.name);
    ComputeCache cache;
    Experiment e = question();
    EXPECT_EQ(computed(compute(e, {.cache = &cache})), "golden a b");
    c.change(e);
    const Result changed = compute(e, {.cache = &cache});
    EXPECT_EQ(computed(changed), c.again);
    expect_same_answer(changed, compute(e));
    const Result back = compute(question(), {.cache = &cache});
    EXPECT_EQ(computed(back), c.again);
    expect_same_answer(back, compute(question()));
  }
}

TEST(BackwardAnswer, LeavesTheForwardPassAlone) {
  ComputeCache cache;
  Experiment e = question();
  e.backward.on = false;
  const Result forward = compute(e, {.cache = &cache});
  EXPECT_FALSE(forward.backward.has_value());
  e.backward.on = true;
  const Result both = compute(e, {.cache = &cache});
  EXPECT_EQ(both.timing.golden + both.timing.a + both.timing.b, 0) << "the forward pass was computed again";
  EXPECT_EQ(both.digests.golden, forward.digests.golden);
  EXPECT_EQ(both.digests.a, forward.digests.a);
  EXPECT_EQ(both.digests.b, forward.digests.b);
  e.backward.b.precision[GradStep::dS] = exact;
  const Result again = compute(e, {.cache = &cache});
  EXPECT_EQ(again.timing.golden + again.timing.a + again.timing.b, 0);
}

TEST(BackwardAnswer, WassersteinComesWhenItIsWanted) {
  ComputeCache cache;
  const Result without = compute(question(), {.cache = &cache, .wanted = {.wasserstein = false}});
  EXPECT_TRUE(std::isnan(without.backward->a_error.dq.wasserstein));
  const Result with = compute(question(), {.cache = &cache});
  EXPECT_EQ(computed(with), "");
  expect_same_answer(with, compute(question()));
}

/// A computation stopped at any of its checks leaves nothing that later counts as an answer.
TEST(BackwardAnswer, AStoppedOneLeavesWhatWasKnown) {
  const Experiment first = question();
  Experiment second = first;
  second.problem.scale = 0.3;
  const Result expected_first = compute(first), expected_second = compute(second);
  int stopped = 0;
  for (int checks = 1; checks < 400; checks += 7) {
    ComputeCache cache;
    compute(first, {.cache = &cache});
    std::atomic<int> left = checks;
    try {
      compute(second, {.cancelled = [&] { return --left < 0; }, .cache = &cache});
    } catch (const Stopped&) {
      ++stopped;
    }
    expect_same_answer(compute(second, {.cache = &cache}), expected_second);
    expect_same_answer(compute(first, {.cache = &cache}), expected_first);
  }
  EXPECT_GT(stopped, 3);
}

TEST(BackwardAnswer, IsAPartOfTheProgress) {
  for (const auto& [n, rows] : {std::pair{50, 0}, {1500, 0}, {1500, 40}}) {
    Experiment e = question();
    e.problem.n = n, e.problem.rows = rows;
    std::mutex mutex;
    std::vector<double> shares;
    compute(e, {.progress = [&](double share) {
              const std::lock_guard lock(mutex);
              shares.push_back(share);
            }});
    ASSERT_FALSE(shares.empty());
    EXPECT_NEAR(std::ranges::max(shares), 1, 1e-9);
    const std::ptrdiff_t between = std::ranges::count_if(shares, [](double s) { return s > 0.4 && s < 0.99; });
    EXPECT_GT(between, n > 50 && rows == 0 ? 12 : 0) << "each part of many rows reports steps of progress";
  }
}

TEST(BackwardAnswer, SaysWhatItNeeds) {
  Experiment e = testing::sized_experiment(max_n, max_d);
  const double forward = bytes_needed(e, 1);
  e = with_backward(e);
  EXPECT_GT(bytes_needed(e, 1), forward + 8.0 * max_n * max_d * 9);
  EXPECT_NE(sentence_of<std::runtime_error>([&] { compute(e); }).find(" bytes, expected at most the "), std::string::npos);
}

TEST(BackwardAnswer, FollowsTheForwardPassWhileItIsTheUsualOne) {
  const Experiment usual = with_backward(default_experiment());
  const auto set = [](const Experiment& e, std::string_view path, std::string_view value) {
    Experiment changed = e;
    if (path == "a.policy") changed.a.precision = policy(value).precision;
    if (path == "b.algorithm") changed.b.algorithm = Algorithm::flash2;
    return following(e, changed, path, value);
  };
  EXPECT_EQ(set(usual, "a.policy", "eager").backward.a, grad_method("grad_eager", 64, {}));
  EXPECT_EQ(set(usual, "b.algorithm", "flash2").backward.b, grad_method("grad_eager", 64, {}));
  EXPECT_EQ(with_baseline(usual, policy("base_all")).backward.b, grad_method("grad_base_all", 64, {}));
  Experiment own = usual;
  own.backward.a = grad_method("grad_fa2", 64, {});
  EXPECT_EQ(set(own, "a.policy", "eager").backward.a, own.backward.a);
  const Experiment off = default_experiment();
  EXPECT_EQ(set(off, "a.policy", "eager").backward, Backward{});
  Experiment paused = usual;
  paused.backward.on = false;
  EXPECT_EQ(with_backward(set(paused, "a.policy", "eager")).backward.a, grad_method("grad_eager", 64, {}));
}

}  // namespace
}  // namespace attoscope::backward_answer_test
