/// One number of a method, as it is added up by tensor cores or by fma: the blocks or the steps of q.k of a row and its last
/// key, or of P.V of the last tile in which a row sees a key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/arithmetic/fma_chain.h"
#include "kernels/arithmetic/tensor_core_sum.h"
#include "kernels/compute.h"
#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// The number to follow.
struct ProductSumQuestion {
  Experiment experiment;
  bool of_b = false;
  AttentionProduct product = AttentionProduct::pv;
  int row = 0;     ///< of Q
  int column = 0;  ///< of the output, for P.V

  friend bool operator==(const ProductSumQuestion&, const ProductSumQuestion&) = default;
};

/// The sum. A factor's place is a key as the file has it, or a column of Q and K.
struct ProductSum {
  ProductSumQuestion question;
  std::string why_none;                   ///< one sentence that says why there is no sum to show; else empty
  std::optional<TensorCoreRule> rule{};   ///< of tensor cores; none: by fma
  std::vector<TensorCoreBlock> blocks{};  ///< the last ones, at most `most_shown_blocks`; of a rule with halves these
  int earlier_blocks = 0;                 ///< those before them
  std::vector<int> first_places{};        ///< of each block's first factor, or of the chain's first
  FmaChain chain{};                       ///< without a rule: the steps in place of blocks
  int step = 1;                           ///< from one factor's place to the next: -1 where keys are taken in reverse
  int key = -1;                           ///< the last key that the row sees, for q.k
  int tile = -1;                          ///< the last tile in which the row sees a key, for P.V
  int tiles_in_sum = 0;                   ///< of P.V: tiles that this sum has in it, this one included
  float start = 0;                        ///< start of the product's first block or step
  float result = 0;                       ///< of the last one
  double exact = 0;                       ///< start and all products in double
  bool continues_O = false;               ///< of P.V: the sum is O itself
  float O_before = 0;                     ///< of P.V: the rescaled O that the sum is added to; 0 if the sum is O
  float O_after = 0;                      ///< of P.V: O after the tile, as the kernel has it
  float S = 0;                            ///< of q.k: the score, as the kernel has it
};
inline constexpr int most_shown_blocks = 256;

/// The blocks or the steps; with `why_none` if the order of the method's sums is not one of these. Throws as `compute` does,
/// and std::invalid_argument if there is no such row or column.
ProductSum product_sum(const ProductSumQuestion& question, const Options& options = {});

}  // namespace attoscope
