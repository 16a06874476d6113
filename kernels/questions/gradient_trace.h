/// The backward pass of one query, key tile by key tile, and of one key, query tile by query tile, as methods a and b compute
/// it.
#pragma once

#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// The query and the key whose gradients are traced.
struct GradientTraceQuestion {
  Experiment experiment;  ///< with a backward pass
  int query = 0, key = 0;

  friend bool operator==(const GradientTraceQuestion&, const GradientTraceQuestion&) = default;
};

/// One key tile of the traced query, in the order in which the method adds the tiles.
struct QueryTile {
  int tile = 0;           ///< counted from key 0
  double largest_P = 0;   ///< over the tile's keys
  double largest_dP = 0;  ///< largest |dP - delta|
  double largest_dS = 0;  ///< largest |dS|
  int seen = 0;           ///< keys that the query sees
  int lost = 0;           ///< of these: rounded dS is 0, the exact dS of the method's own P, dP and delta is not
  double added = 0;       ///< Euclidean norm of the tile's sum for dQ
  double dq_norm = 0;     ///< Euclidean norm of the running dQ after the tile, times the final factor
  double dq_error = 0;    ///< max |running dQ - golden's dQ over the same keys|
};

/// One query tile of the traced key, in the order in which the method adds the tiles.
struct KeyTile {
  int tile = 0;  ///< counted from query 0
  double largest_P = 0, largest_dS = 0;
  int seen = 0, lost = 0;             ///< numbers of queries, as in QueryTile
  double dk_norm = 0, dv_norm = 0;    ///< Euclidean norms of the running dK, times the final factor, and dV
  double dk_error = 0, dv_error = 0;  ///< max |running sum - golden's over the same queries|
};

/// Trace of one method; only tiles with a pair that is seen.
struct GradientSteps {
  double lse = 0, delta = 0;  ///< of the query
  std::vector<QueryTile> of_query;
  std::vector<KeyTile> of_key;
};

struct GradientTrace {
  GradientTraceQuestion question;
  double golden_lse = 0, golden_delta = 0;  ///< of the query
  GradientSteps a, b;                       ///< empty for a method without a backward pass of its own
};

/// The last tile's sums have the bits of the whole backward pass. Throws as `compute` does; std::invalid_argument without a
/// backward pass or for a query or key out of range.
GradientTrace gradient_trace(const GradientTraceQuestion& question, const Options& options = {});

}  // namespace attoscope
