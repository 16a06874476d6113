/// The settings of an experiment: names in every front end, meaning and range. `validate`, session files, options of `run`,
/// axes of sweeps, controls, tooltips and the palette read them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/setting.h"  // IWYU pragma: export

namespace attoscope {

/// The settings of an object, in the order of files; they point into it.
Settings settings(Experiment& e);
Settings settings(Problem& p);
Settings settings(Method& m);
Settings settings(GradPrecision& p);
Settings settings(GradMethod& m);
Settings settings(Backward& b);
Settings settings(KernelOutput& o);

/// A setting of an experiment that has texts; `value` points into a default experiment.
struct Parameter : Setting {
  std::string key;   ///< name in sweeps and lessons: "n", "mask", "scaling.Q"
  std::string path;  ///< path in an experiment; "a.tau" stands for b as well; empty: it sets several settings
};
/// All parameters, those of sweeps first, in the order of their rank.
const std::vector<Parameter>& experiment_parameters();

/// The parameter called `key`, or null.
const Parameter* find_parameter(std::string_view key);
/// The parameter called `key`, which exists.
const Parameter& parameter(std::string_view key);
/// The parameter at `path`, "problem.n" or "b.tau"; null if there is none.
const Parameter* parameter_at(std::string_view path);

/// True if it is an option of an algorithm: a setting of a method other than its algorithm, tiles and roundings.
bool is_option(const Parameter& p);
/// True if the path, or the key of a sweep's axis, is of a setting of the backward pass alone: "a.grad.dS", "backward.d_o".
bool is_of_backward(std::string_view path);
inline bool is_of_a_method(const Parameter& p) { return p.path.starts_with("a."); }

/// Help of the parameter's option: "tokens (1024, or the file's)".
std::string help_of(const Parameter& p);

}  // namespace attoscope
