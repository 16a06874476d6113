/// An experiment from options as they are typed: what `run`, `sweep` and `train` share.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// An option as typed; none where it was not.
using Typed = std::optional<std::string>;

/// An option that sets one field, whose key tells what it may hold.
struct FieldOption {
  const char *option, *key, *what;
};

/// The options as typed.
struct ExperimentOptions {
  Typed preset;  ///< the probe that everything starts from; none: the default experiment
  std::map<std::string, std::string, std::less<>> typed;  ///< "--n 4096" is typed["n"]: by the keys of `experiment_parameters`
  Typed like;                                             ///< a whole kernel as a
  Typed layout;                                           ///< of the input's tensors
  std::array<Typed, 4> scales;                            ///< files of what Q, K, V and a judged O are multiplied by
  Typed kernel;                                           ///< the file of a loaded output
  std::string kernel_as = "a";
  std::vector<std::string> set{};

  /// What was typed for a parameter; null: nothing.
  const std::string* find(std::string_view key) const {
    const auto found = typed.find(key);
    return found == typed.end() ? nullptr : &found->second;
  }
};

/// The options of these files, and their names.
inline constexpr std::array<const char*, 4> scale_options{"--scale-q", "--scale-k", "--scale-v", "--scale-o"};

/// The experiment that the options describe, with its tensors read. Throws std::invalid_argument in a sentence where an option
/// makes no sense, std::runtime_error where a file does not.
Experiment experiment_of(const ExperimentOptions& options);

/// The traced row of n tokens as --row says: 0 to n - 1, or -n to -1 from the end. Throws std::invalid_argument in a sentence.
int row_of(const std::string& typed, int n);

/// Sets what the options say of the problem; no file is read.
void set_problem(Problem& problem, const ExperimentOptions& options);

/// Sets what the options say of a whole kernel, the main format, a and b, but for `set`, by the rules of
/// kernels/experiment/rules.h. Where `fresh`, there was no choice before: another kind of algorithm then has its usual policy
/// where none is named.
void set_methods(Experiment& experiment, const ExperimentOptions& options, bool fresh);

/// `--set`: "a.O=fp32", "b.P=main/stochastic", "a.accumulate_in_O=true", "a.tau=4", "b.order=interleaved:4", "b.policy=tile".
void apply_setting(Experiment& experiment, const std::string& setting);

}  // namespace attoscope
