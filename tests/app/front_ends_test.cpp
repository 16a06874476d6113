// The same change through the command line, a sweep, a lesson and the window's list of settings gives the same experiment.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/explore/lessons.h"
#include "app/session/experiment_options.h"
#include "app/session/probes.h"
#include "app/sweep/axis.h"
#include "kernels/experiment/rules.h"
#include "ui/session/settings.h"

namespace attoscope::app {
namespace {

/// One changed setting, as each front end writes it.
struct Change {
  std::string key, value;          ///< written in a sweep and in a lesson
  std::vector<std::string> paths;  ///< paths of the window's settings; empty: the window has no such setting
  std::string text{};              ///< value at `paths` if it differs from `value`
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all{
      {"format", "e4m3", {"format"}},
      {"format", "fp32", {"format"}},
      {"format", "e5m7", {"format"}},
      {"algorithm", "three_pass", {"a.algorithm"}},
      {"algorithm", "two_pass", {"a.algorithm"}},
      {"algorithm", "flash4", {"a.algorithm"}},
      {"policy", "hw", {"a.policy"}},
      {"policy", "eager", {"a.policy"}},
      {"policy", "base_ops", {"a.policy"}},
      {"baseline", "base_hw", {}},
      {"baseline", "tile", {}},
      {"block_k", "16", {"a.block_k", "b.block_k"}},
      {"block_q", "48", {"a.block_q", "b.block_q"}},
      {"n", "300", {"problem.n"}},
      {"d", "16", {"problem.d"}},
      {"seed", "77", {"problem.seed"}},
      {"scale", "0.5", {"problem.scale"}},
      {"scale", "auto", {"problem.scale"}, "0"},
      {"mask", "causal", {"problem.mask.kind"}},
      {"input", "uniform", {"problem.input.kind"}},
      {"sink", "1.5", {"problem.sink"}},
      {"sink", "none", {"problem.sink"}},
      {"softcap", "30", {"problem.softcap"}},
      {"alibi", "0.25", {"problem.alibi"}},
      {"tau", "2.5", {"a.tau"}},
      {"splits", "5", {"a.splits"}},
      {"tie_beta", "4", {"a.tie_beta"}},
      {"p_exponent", "8", {"a.p_exponent"}},
      {"a.exponential", "exp2", {"a.exponential"}},
      {"a.kahan_l", "true", {"a.kahan_l"}},
      {"a.order", "pairwise", {"a.order"}},
      {"a.reverse_keys", "true", {"a.reverse_keys"}},
  };
  return all;
}

/// The experiment of `attoscope run --preset NAME` with the option of the change.
Experiment by_options(const std::string& preset, const Change& c) {
  ExperimentOptions options;
  options.preset = preset;
  options.typed[c.key.starts_with("a.") ? c.key.substr(2) : c.key] = c.value;
  return experiment_of(options);
}

Experiment by_sweep(Experiment e, const Change& c) {
  vary(e, c.key, c.value);
  return e;
}

Experiment by_lesson(Experiment e, const Change& c) {
  EXPECT_EQ(vary_in_lesson(e, c.key, c.value), "") << c.key;
  return e;
}

Experiment by_window(const Experiment& e, const Change& c) {
  ui::Session session;
  session.experiment = e;
  for (const std::string& path : c.paths)
    EXPECT_EQ(ui::set_setting(session, path, c.text.empty() ? c.value : c.text), "") << path;
  return session.experiment;
}

/// Differences of two experiments, for the message.
std::string told_apart(const Experiment& x, const Experiment& y) {
  std::string text;
  for (const ui::Difference& d : ui::differences(x, y)) text += d.path + " " + d.x + " | " + d.y + "  ";
  return text;
}

/// Expects the same experiment of every front end that has this setting.
void expect_alike(const Experiment& start, const Change& c, const Experiment& expected) {
  for (const Experiment& e : {by_sweep(start, c), by_lesson(start, c), c.paths.empty() ? expected : by_window(start, c)})
    EXPECT_EQ(e, expected) << c.key << " = " << c.value << ": " << told_apart(e, expected);
}

TEST(FrontEnds, TheSameChangeGivesTheSameExperiment) {
  int compared = 0;
  for (const char* const preset : {"two_errors", "fp8_stale_max", "fp8_underflow", "stalled_row_sum", "huge_scores"}) {
    SCOPED_TRACE(preset);
    const Probe start = probe(preset);
    for (const Change& c : changes()) {
      expect_alike(start.experiment, c, by_options(preset, c));
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

/// One field of a method by its path: `--set`, a sweep over it, a lesson, the window.
TEST(FrontEnds, AMethodsOwnFieldIsSetAlike) {
  for (const auto& [path, value] : {std::pair{"b.algorithm", "flash2"}, std::pair{"a.algorithm", "three_pass"},
                                    std::pair{"b.policy", "tile"}, std::pair{"a.policy", "base_all"},
                                    std::pair{"b.block_k", "8"}, std::pair{"b.tau", "4"}, std::pair{"b.kahan_l", "true"}}) {
    const Experiment start = default_experiment();
    const Change c{path, value, {path}};
    ExperimentOptions options;
    options.set = {std::string(path) + "=" + value};
    const Experiment expected = experiment_of(options);
    EXPECT_NE(expected, start) << path;
    expect_alike(start, c, expected);
  }
}

/// Bits of the main format: the window's sliders and the keys of sweeps and lessons.
TEST(FrontEnds, BitsOfTheFormatAreSetAlike) {
  for (const int bits : {2, 5, 10}) {
    Format format = bf16;
    format.mantissa_bits = bits;
    const Experiment expected = with_format(default_experiment(), format);
    const Change c{"mantissa_bits", std::to_string(bits), {"format"}, name(format)};
    expect_alike(default_experiment(), c, expected);
  }
}

/// A fresh `run` describes an experiment instead of changing one: options that are not named have their defaults.
TEST(FrontEnds, AFreshRunHasTheUsualPolicyOfItsAlgorithm) {
  for (const auto& [algorithm, policy_name] :
       {std::pair{"flash2", "hw"}, std::pair{"split_kv", "hw"}, std::pair{"three_pass", "base_eager"}}) {
    ExperimentOptions options;
    options.typed["algorithm"] = algorithm;
    EXPECT_EQ(experiment_of(options).a.precision, policy(policy_name).precision) << algorithm;
    options.typed["policy"] = "tile";
    EXPECT_EQ(experiment_of(options).a.precision, policy("tile").precision) << "a policy with an algorithm is taken as named";
    EXPECT_EQ(name(experiment_of(options).a.algorithm), algorithm);
  }
}

}  // namespace
}  // namespace attoscope::app
