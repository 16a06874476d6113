/// One sum of a method, as tensor cores or fma add it up: the blocks or steps of q.k for a row and the last key that it sees,
/// or of P.V in the last tile in which the row sees a key.
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

/// The sum to follow.
struct ProductSumQuestion {
  Experiment experiment;
  bool of_b = false;
  AttentionProduct product = AttentionProduct::pv;
  int row = 0;     ///< of Q
  int column = 0;  ///< of the output, for P.V

  friend bool operator==(const ProductSumQuestion&, const ProductSumQuestion&) = default;
};

/// The sum. The place of a factor is its key in the file's order, or its column of Q and K.
struct ProductSum {
  ProductSumQuestion question;
  std::string why_none;                   ///< one sentence: the reason why there is no sum to show; else empty
  std::optional<TensorCoreRule> rule{};   ///< rule of tensor cores; none: fma
  std::vector<TensorCoreBlock> blocks{};  ///< the last ones, at most `most_shown_blocks`; for a rule with halves: the halves
  int earlier_blocks = 0;                 ///< number of blocks before them
  std::vector<int> first_places{};        ///< place of the first factor of each block, or of the chain
  FmaChain chain{};                       ///< without a rule: the steps, instead of blocks
  int step = 1;                           ///< from one factor's place to the next; -1 if keys are added in reverse
  int key = -1;                           ///< for q.k: the last key that the row sees
  int tile = -1;                          ///< for P.V: the last tile in which the row sees a key
  int tiles_in_sum = 0;                   ///< for P.V: number of tiles in this sum, including this one
  float start = 0;                        ///< start of the product's first block or step
  float result = 0;                       ///< result of the last one
  double exact = 0;                       ///< start and all products in double
  bool continues_O = false;               ///< for P.V: the sum is O itself
  float O_before = 0;                     ///< for P.V: the rescaled O before the sum is added; 0 if the sum is O; not of flash1
  float O_after = 0;                      ///< for P.V: the kernel's O after the tile
  float S = 0;                            ///< for q.k: the kernel's score
};
inline constexpr int most_shown_blocks = 256;

/// Returns the blocks or the steps, or `why_none` if the method's order of sums cannot be shown. Throws as `compute` does;
/// std::invalid_argument if there is no such row or column.
ProductSum product_sum(const ProductSumQuestion& question, const Options& options = {});

}  // namespace attoscope
