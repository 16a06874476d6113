/// The backward pass of one query, key tile by key tile, and of one key, query tile by query tile, as methods a and b ran it.
#pragma once

#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// A query and a key whose gradients are followed.
struct GradientTraceQuestion {
  Experiment experiment;  ///< with a backward pass
  int query = 0, key = 0;

  friend bool operator==(const GradientTraceQuestion&, const GradientTraceQuestion&) = default;
};

/// One key tile of the followed query, in the order in which the method adds the tiles.
struct QueryTile {
  int tile = 0;           ///< index of the tile, from key 0 on
  double largest_P = 0;   ///< of the tile's keys
  double largest_dP = 0;  ///< largest |dP - delta|
  double largest_dS = 0;  ///< largest |dS|
  int seen = 0;           ///< keys that the query sees
  int lost = 0;           ///< of these: the exact dS of the method's own P, dP and delta is not 0, and its rounded dS is
  double added = 0;       ///< Euclidean norm of what the tile adds to dQ
  double dq_norm = 0;     ///< Euclidean norm of the running dQ after the tile, times the final factor
  double dq_error = 0;    ///< max |running dQ - golden's dQ of the same keys|
};

/// One query tile of the followed key, in the order in which the method adds the tiles.
struct KeyTile {
  int tile = 0;  ///< index of the tile, from query 0 on
  double largest_P = 0, largest_dS = 0;
  int seen = 0, lost = 0;             ///< queries, as of a QueryTile
  double dk_norm = 0, dv_norm = 0;    ///< Euclidean norms of the running dK, times the final factor, and dV
  double dk_error = 0, dv_error = 0;  ///< max |running - golden of the same queries|
};

/// One method's way; only tiles in which something is seen.
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

/// Throws as `compute` does, and std::invalid_argument without a backward pass or for a query or key that is not there. The
/// last tile's sums are the bits of the whole backward pass.
GradientTrace gradient_trace(const GradientTraceQuestion& question, const Options& options = {});

}  // namespace attoscope
