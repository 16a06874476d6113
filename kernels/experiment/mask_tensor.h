/// A mask that is given as a tensor.
#pragma once

#include <optional>
#include <vector>

#include "kernels/experiment/mask.h"

namespace attoscope {

/// The mask tensor of one head. A key that it drops takes part in nothing; a term that it adds enters S behind scale, soft cap
/// and ALiBi, before S is rounded.
struct MaskTensor {
  int n = 0, n_k = 0;
  std::vector<Keys> rows;     ///< [n]: from the first key that the query keeps to the last; empty where it keeps none
  std::vector<double> terms;  ///< n x n_k, -infinity where the key is dropped; empty: the queries keep all keys of `rows`

  MaskView view() const { return {rows.data(), terms.empty() ? nullptr : terms.data(), n_k}; }
};

/// The mask of these terms, n x n_k. Terms that are all 0 or, outside of a run of each row's keys, -infinity are not kept.
MaskTensor mask_of_terms(int n, int n_k, std::vector<double> terms);

/// The largest magnitude of a term that some of a row's keys have beside its largest one; 0 where that one hides all of q.k.
double term_size(const MaskView& mask, int row, Keys keys);

/// The rule that shows every query the same keys, the last query at the last key or the first at the first; none: no rule does,
/// or numbers are added.
std::optional<Mask> rule_of(const MaskTensor& mask);

}  // namespace attoscope
