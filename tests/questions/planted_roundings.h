/// Correct kernels that round at unusual steps, written out operation by operation as PyTorch and shipping kernels store their
/// results.
#pragma once

#include <functional>

#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// The step at which eager attention multiplies by the scale.
enum class Scaled { scores, queries, keys, roots, divided, unstored };
inline constexpr Scaled scaled_forms[]{Scaled::scores, Scaled::queries, Scaled::keys,
                                       Scaled::roots,  Scaled::divided, Scaled::unstored};

struct EagerForm {
  Scaled scaled = Scaled::scores;
  bool stores_P = true;        ///< in D
  bool subtracts_max = false;  ///< in D, as gpt-oss does
  bool bias_by_key = false;    ///< ALiBi counts from the first key, as BLOOM's does
};

/// Eager attention in fp32, each operation's result stored in f.
Values eager(const Problem& p, const Format& f, const EagerForm& form = {});

/// A flash kernel in double with these scores; `of_P` rounds P = e^(S - m).
Values flash(const Problem& p, const Entry& S, const std::function<double(double)>& of_P,
             const std::function<double(double)>& of_O = {}, int splits = 1, const std::function<double(double)>& of_part = {});

/// A causal flash kernel that stores q.k, and P.V of each tile of keys, in f.
Values flash_of_stored_products(const Problem& p, const Format& f, int tile);

}  // namespace attoscope::planted
