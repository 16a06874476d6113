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

/// An option as typed; empty if it was not typed.
using Typed = std::optional<std::string>;

/// An option that sets the field with its key.
struct FieldOption {
  const char *option, *key, *what;
};

/// The options as typed.
struct ExperimentOptions {
  Typed preset;   ///< initial probe; none: the default experiment
  Typed session;  ///< file of the session with the initial experiment, instead of a probe
  std::map<std::string, std::string, std::less<>>
      typed;                    ///< by the keys of `experiment_parameters()`: "--n 4096" is typed["n"]
  Typed like;                   ///< a whole kernel for a
  Typed layout;                 ///< layout of the input's tensors
  std::array<Typed, 6> scales;  ///< files of the scales of Q, K, V and a judged O, the mask, and documents' ids
  PackedSpecs packed;           ///< parts of packed and paged calls
  Typed kernel;                 ///< file of a loaded output
  Typed kernel_as;              ///< its place: a, the default, or b
  std::vector<std::string> set{};

  friend bool operator==(const ExperimentOptions&, const ExperimentOptions&) = default;
  /// Typed value of a parameter; null: not typed.
  const std::string* find(std::string_view key) const {
    const auto found = typed.find(key);
    return found == typed.end() ? nullptr : &found->second;
  }
};

/// Options of `ExperimentOptions::scales`.
inline constexpr std::array<const char*, 6> scale_options{"--scale-q", "--scale-k",   "--scale-v",
                                                          "--scale-o", "--mask-file", "--document-ids"};

/// The scale that option `part` of `scale_options` names. Throws std::invalid_argument with one sentence if it is none.
ScaleSpec scale_of_option(std::size_t part, const std::string& typed);

/// "--block-table"
std::string option_of(PackedPart part);

/// Removes options that give a number for each head (app/tensors/head_numbers.h).
ExperimentOptions without_head_numbers(ExperimentOptions options);

/// Sentences on the session that an experiment begins with.
struct SessionRemarks {
  std::vector<std::string> unread;   ///< its parts that could not be read, as of `read_session`, and `other_numbers`
  std::vector<std::string> changed;  ///< tensors that differ from the session's (`changed_tensors`)
};

/// The experiment of the options, with its tensors read, and the numbers of its head. Throws std::invalid_argument with one
/// sentence on an invalid option, std::runtime_error on an invalid file. `about`, if not null, receives the remarks on the
/// session.
Experiment experiment_of(const ExperimentOptions& options, SessionRemarks* about = nullptr);

/// A sentence on each typed option or setting of a method that changes nothing in it, such as --tau with flash2.
std::vector<std::string> options_without_effect(const ExperimentOptions& options, const Experiment& experiment);

/// The traced row of n tokens from --row: 0 to n - 1, or -n to -1 from the end. Throws std::invalid_argument with one sentence.
int row_of(const std::string& typed, int n);

/// Sets the options of the problem; reads no file.
void set_problem(Problem& problem, const ExperimentOptions& options);

/// Sets whole kernel, main format, a and b from all options except `set`, by the rules of kernels/experiment/rules.h. `fresh`:
/// nothing was chosen before; an algorithm of another kind then gets its usual policy unless one is given.
void set_methods(Experiment& experiment, const ExperimentOptions& options, bool fresh);

/// Applies `--set`: "a.O=fp32", "b.P=main/stochastic", "a.accumulate_in_O=true", "a.tau=4", "b.order=interleaved:4",
/// "b.policy=tile". Sentences begin with `option`.
void apply_setting(Experiment& experiment, const std::string& setting, const std::string& option = "--set");

}  // namespace attoscope::app
