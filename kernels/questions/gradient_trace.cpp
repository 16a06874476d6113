#include "kernels/questions/gradient_trace.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/parallel/parallel.h"
#include "kernels/questions/gradient_passes.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

double euclidean_norm(const std::vector<double>& x) {
  double squares = 0;
  for (const double number : x) squares += number * number;
  return std::sqrt(squares);
}
/// Raises `largest` to |x|; NaN is above every number.
void raise(double& largest, double x) {
  if (!std::isnan(largest) && !(std::abs(x) <= largest)) largest = std::abs(x);
}
double largest_gap(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) raise(largest, x[i] - y[i]);
  return largest;
}

/// x += factor * row of a matrix with x.size() columns.
void add_row(std::vector<double>& x, double factor, const std::vector<double>& matrix, int row) {
  const double* const from = matrix.data() + static_cast<std::ptrdiff_t>(row) * static_cast<std::ptrdiff_t>(x.size());
  for (std::size_t c = 0; c < x.size(); ++c) x[c] += factor * from[c];
}

/// Indices [first, end) of a tile.
struct TileRange {
  int first, end;
};
TileRange range_of_tile(int tile, int block, int count) {
  const std::int64_t first = static_cast<std::int64_t>(tile) * block;
  return {static_cast<int>(first), static_cast<int>(std::min<std::int64_t>(first + block, count))};
}

/// Adds a pair that is seen to the statistics of a tile of a query or of a key.
template <class Tile>
void tell_pair(const GradientPairs& pairs, std::size_t at, Tile& tile) {
  ++tile.seen;
  raise(tile.largest_P, pairs.p[at]);
  raise(tile.largest_dS, pairs.ds[at]);
  tile.lost += pairs.lost[at];
}

class GradientTracer {
 public:
  GradientTracer(const GradientTraceQuestion& q, const PartialPasses& passes)
      : problem_(q.experiment.problem), query_(q.query), key_(q.key), passes_(passes) {}

  double golden_lse() const { return golden_query_.pairs.lse[0]; }
  double golden_delta() const { return golden_query_.pairs.delta[0]; }

  GradientSteps steps(PartialBackward& pass, const GradMethod& grad) const {
    GradientSteps found;
    const QueryRun query = pass.of_query(query_);
    found.lse = query.pairs.lse[0];
    found.delta = query.pairs.delta[0];
    const int keys = key_count(problem_);
    std::vector<double> dq(static_cast<std::size_t>(problem_.d));
    for (const QueryTileSums& sums : query.tiles)
      found.of_query.push_back(query_tile(sums, query.pairs, range_of_tile(sums.tile, std::min(grad.block_k, keys), keys), dq));
    const KeyRun key = pass.of_key(key_);
    std::vector<double> dk(dq.size()), dv(static_cast<std::size_t>(value_columns(problem_)));
    for (const KeyTileSums& sums : key.tiles)
      found.of_key.push_back(key_tile(sums, key.pairs, range_of_tile(sums.tile, grad.block_q, problem_.n), dk, dv));
    return found;
  }

 private:
  /// `golden` is golden's dQ of the keys so far.
  QueryTile query_tile(const QueryTileSums& sums, const GradientPairs& pairs, const TileRange& range,
                       std::vector<double>& golden) const {
    QueryTile tile{.tile = sums.tile};
    for (int key = range.first; key < range.end; ++key) {
      if (!sees_key(problem_, query_, key)) continue;
      const auto at = static_cast<std::size_t>(key);
      tell_pair(pairs, at, tile);
      raise(tile.largest_dP, pairs.dp[at] - pairs.delta[0]);
      add_row(golden, scale_of(problem_) * golden_query_.pairs.ds[at], passes_.inputs->k, key);
    }
    tile.added = euclidean_norm(sums.added);
    tile.dq_norm = euclidean_norm(sums.running);
    tile.dq_error = largest_gap(sums.running, golden);
    return tile;
  }

  /// golden_dk and golden_dv are golden's dK and dV of the queries so far.
  KeyTile key_tile(const KeyTileSums& sums, const GradientPairs& pairs, const TileRange& range, std::vector<double>& golden_dk,
                   std::vector<double>& golden_dv) const {
    KeyTile tile{.tile = sums.tile};
    for (int row = range.first; row < range.end; ++row) {
      if (!sees_key(problem_, row, key_)) continue;
      const auto at = static_cast<std::size_t>(row);
      tell_pair(pairs, at, tile);
      add_row(golden_dk, scale_of(problem_) * golden_key_.pairs.ds[at], passes_.inputs->q, row);
      add_row(golden_dv, golden_key_.pairs.p[at], passes_.d_o, row);
    }
    tile.dk_norm = euclidean_norm(sums.dk);
    tile.dv_norm = euclidean_norm(sums.dv);
    tile.dk_error = largest_gap(sums.dk, golden_dk);
    tile.dv_error = largest_gap(sums.dv, golden_dv);
    return tile;
  }

  const Problem& problem_;
  int query_, key_;
  const PartialPasses& passes_;
  QueryRun golden_query_ = passes_.golden->of_query(query_);
  KeyRun golden_key_ = passes_.golden->of_key(key_);
};

void check_traced(const char* what, int index, int count) {
  if (index >= 0 && index < count) return;
  throw std::invalid_argument("gradient trace: " + std::string(what) + " is " + std::to_string(index) + ", expected 0 .. " +
                              std::to_string(count - 1));
}

}  // namespace

GradientTrace gradient_trace(const GradientTraceQuestion& question, const Options& options) {
  const Experiment& e = question.experiment;
  check_traced("query", question.query, e.problem.n);
  check_traced("key", question.key, key_count(e.problem));
  GradientTrace trace{.question = question, .a = {}, .b = {}};
  const StopToken stop(options);
  on_threads(options.threads, [&] {
    const std::shared_ptr<const PartialPasses> passes = gradient_passes(e, options, stop);
    const GradientTracer tracer(question, *passes);
    trace.golden_lse = tracer.golden_lse();
    trace.golden_delta = tracer.golden_delta();
    if (passes->a) trace.a = tracer.steps(*passes->a, e.backward.a);
    if (passes->b) trace.b = tracer.steps(*passes->b, e.backward.b);
  });
  return trace;
}

}  // namespace attoscope
