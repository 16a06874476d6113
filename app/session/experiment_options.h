/// An experiment from typed options, as in `run`, `sweep` and `train`.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/tensor_spec.h"

namespace attoscope::app {

/// An option as typed; none if it was not.
using Typed = std::optional<std::string>;

/// An option that sets the field with its key.
struct FieldOption {
  const char *option, *key, *what;
};

/// The options as typed.
struct ExperimentOptions {
  Typed preset;   ///< initial probe; none: the default experiment
  Typed session;  ///< file of the session that the experiment begins with, in place of a probe
  std::map<std::string, std::string, std::less<>>
      typed;                    ///< by the keys of `experiment_parameters()`: "--n 4096" is typed["n"]
  Typed like;                   ///< a whole kernel for a
  Typed layout;                 ///< layout of the input's tensors
  std::array<Typed, 6> scales;  ///< files of the scales of Q, K, V and a judged O, the mask, and documents' ids
  PackedSpecs packed;           ///< parts of packed and paged calls
  Typed kernel;                 ///< file of a loaded output
  std::string kernel_as = "a";
  std::vector<std::string> set{};

  /// Typed value of a parameter; null: not typed.
  const std::string* find(std::string_view key) const {
    const auto found = typed.find(key);
    return found == typed.end() ? nullptr : &found->second;
  }
};

/// Options of these files.
inline constexpr std::array<const char*, 6> scale_options{"--scale-q", "--scale-k",   "--scale-v",
                                                          "--scale-o", "--mask-file", "--document-ids"};

/// The scale that this option names. Throws std::invalid_argument with one sentence unless it may be one.
ScaleSpec scale_of_option(std::size_t part, const std::string& typed);

/// "--block-table"
std::string option_of(PackedPart part);

/// The options without those that name a number for each head (app/tensors/head_numbers.h).
ExperimentOptions without_head_numbers(ExperimentOptions options);

/// The experiment of the options, with its tensors read, and the numbers of its head. Throws std::invalid_argument with one
/// sentence on an invalid option, std::runtime_error on an invalid file. `changed` (null: nobody asks) receives the sentences
/// on tensors that are not those of the session (`changed_tensors`).
Experiment experiment_of(const ExperimentOptions& options, std::vector<std::string>* changed = nullptr);

/// The traced row of n tokens from --row: 0 to n - 1, or -n to -1 from the end. Throws std::invalid_argument with one sentence.
int row_of(const std::string& typed, int n);

/// Sets the options of the problem; reads no file.
void set_problem(Problem& problem, const ExperimentOptions& options);

/// Sets whole kernel, main format, a and b from the options, but for `set`, by the rules of kernels/experiment/rules.h.
/// `fresh`: there was no choice before, so another kind of algorithm gets its usual policy unless one is given.
void set_methods(Experiment& experiment, const ExperimentOptions& options, bool fresh);

/// Applies `--set`: "a.O=fp32", "b.P=main/stochastic", "a.accumulate_in_O=true", "a.tau=4", "b.order=interleaved:4",
/// "b.policy=tile".
void apply_setting(Experiment& experiment, const std::string& setting);

}  // namespace attoscope::app
