/// `attoscope run`: one experiment from options, its table, JSON and matrices.
#pragma once

#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/result.h"

namespace attoscope {

/// An option as typed; none where it was not.
using Typed = std::optional<std::string>;

/// An option that sets one field of method a or of the problem, whose key tells what it may hold.
struct FieldOption {
  const char *option, *key, *what;
  bool is_flag = false;  ///< takes no value: sets true
};
inline constexpr std::array<FieldOption, 9> method_options{{
    {"--splits", "splits", "split_kv: runs of tiles (2)"},
    {"--tau", "tau", "flash4: log2 by which the max may be stale (8; 0 where the main format has 8 bits)"},
    {"--tie-beta", "tie_beta", "scale a tied positive max by this, set a negative one to 0 (0: off)"},
    {"--exponential", "exponential", "natural, or exp2 with scale*log2 e folded into one fma (natural)"},
    {"--exp2-degree", "exp2_degree", "exp2 by a polynomial of degree 1 to 5 (0: full precision)"},
    {"--p-exponent", "p_exponent", "P and l carry a factor 2^this, so that 8-bit P underflows later (0)"},
    {"--order", "order", "of every sum: sequential, pairwise or interleaved[:LANES] (sequential)"},
    {"--kahan", "kahan_l", "compensate the row sum", true},
    {"--reverse-keys", "reverse_keys", "take the keys from the last to the first", true},
}};
inline constexpr std::array<FieldOption, 3> problem_options{{
    {"--sink", "sink", "one extra logit in every denominator (none)"},
    {"--softcap", "softcap", "S becomes CAP*tanh(S/CAP) (0: off)"},
    {"--alibi", "alibi", "slope: S loses SLOPE*|row - key| (0)"},
}};

/// The options as typed.
struct RunArguments {
  Typed preset;  ///< the probe that everything starts from; none: the default experiment
  Typed input, n, d, seed, scale, mask;
  Typed format, algorithm, policy, block_q, block_k, baseline;
  std::array<Typed, method_options.size()> of_a{};
  std::array<Typed, problem_options.size()> of_problem{};
  Typed kernel;  ///< the file of a loaded output
  std::string kernel_as = "a";
  std::vector<std::string> set{};
  Typed rows, row;
  std::string device = "auto", threads = "0";
  bool attribute = false;
  std::string json, save;                 ///< where to write; "" nowhere, json "-" to standard output
  std::vector<std::string> save_field{};  ///< "a_error=FILE.npy"
};

/// The experiment that the options describe, with its tensors read. Throws std::invalid_argument in a sentence where an option
/// makes no sense, std::runtime_error where a file does not.
Experiment experiment_of(const RunArguments& arguments);

/// Sets what the options say of the main format, a and b, but for `set`. Where `fresh`, they start from the defaults: tau
/// follows the format, b's tiles a's.
void set_methods(Experiment& experiment, const RunArguments& arguments, bool fresh);

/// `--set`: "a.O=fp32", "b.P=main/stochastic", "a.accumulate_in_O=true", "a.tau=4", "b.order=interleaved:4", "b.policy=tile".
void apply_setting(Experiment& experiment, const std::string& setting);

/// Computes, and writes what was asked for: nothing at all if anything fails. A signal stops it.
void run(const RunArguments& arguments, std::ostream& out);

}  // namespace attoscope
