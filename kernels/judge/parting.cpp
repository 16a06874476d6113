#include <algorithm>
#include <cmath>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/call_judgement.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

/// Keys per tile of a.
int keys_of_a_tile(const Experiment& e) { return tile_keys(e.a, key_count(e.problem)); }

bool meets(const Trace& trace, int tile) { return std::ranges::find(trace.tiles, tile, &TraceTile::tile) != trace.tiles.end(); }

/// The first wrong key in a tile of the row's trace, or the first wrong key if no such tile is traced.
int first_key(const std::vector<Keys>& wrong, const Trace& trace, int tile) {
  for (const Keys& run : wrong)
    for (int key = run.first; key < run.end; key = (key / tile + 1) * tile)
      if (meets(trace, key / tile)) return key;
  return wrong.front().first;
}

/// The first key of the row that another mask shows or hides, as a run of one key.
std::vector<Keys> masked_otherwise(Problem p, const Mask& mask, int row) {
  const Keys right = visible_keys(p, row);
  p.mask = mask;
  const Keys other = visible_keys(p, row);
  if (right == other) return {};
  const int first = right.first != other.first ? std::min(right.first, other.first) : std::min(right.end, other.end);
  return {{first, first + 1}};
}

}  // namespace

RowPrefix nearest_prefix(const Result& r) {
  const Experiment& e = r.experiment;
  RowPrefix nearest{.row = r.trace.row};
  if (!r.inputs || !e.loaded.values || r.trace.tiles.size() < 2) return nearest;
  const VariantHead head = variant_head(r.inputs);
  const SoftmaxVariant right = right_softmax(e.problem);
  const std::vector<double> s = scores(head, right, nearest.row);
  const Keys keys = right.keys(nearest.row);
  const int columns = head.shape.d_v, tile = keys_of_a_tile(e);
  const double* const output = &(*e.loaded.values)[at(nearest.row) * at(columns)];
  const double m = *std::max_element(s.begin() + keys.first, s.begin() + keys.end);
  double l = sink_weight(right, m), least = infinity;
  std::vector<double> sum(at(columns));
  for (int j = keys.first; j < keys.end; ++j) {
    if (j % tile == 0 && j > keys.first) {
      double square = 0;
      for (int c = 0; c < columns; ++c) square += std::pow(sum[at(c)] / l - output[c], 2);
      if (square < least) {
        least = square;
        nearest.tiles = j / tile;
        nearest.output = sum;
        for (double& x : nearest.output) x /= l;
      }
    }
    const double P = std::exp(s[at(j)] - m);
    l += P;
    for (int c = 0; c < columns; ++c) sum[at(c)] += P * head.v[at(j) * at(columns) + at(c)];
  }
  return nearest;
}

Parting parting_of(const CallJudgement& call, const Result& followed, const RowPrefix& prefix) {
  const int row = followed.trace.row, tile = keys_of_a_tile(followed.experiment);
  const JudgedRow& judged = call.worst_row();
  if (followed.trace.tiles.empty() || !std::ranges::binary_search(judged.found.wrong_rows, row)) return {};
  std::vector<Keys> wrong;
  if (judged.slip) wrong = judged.slip->keys;
  if (judged.slip && judged.slip->mask) wrong = masked_otherwise(followed.experiment.problem, *judged.slip->mask, row);
  if (!wrong.empty()) {
    const int key = first_key(wrong, followed.trace, tile);
    return {.by = Parting::By::keys, .tile = key / tile, .key = key};
  }
  if (prefix.row != row || prefix.output.empty()) return {};
  const RoundedRow exact = [&](int, double* out, double*) { std::ranges::copy(prefix.output, out); };
  if (row_ratio(call.detail.tolerance, call.output, row, exact) > 1) return {};
  return {.by = Parting::By::prefix, .tile = prefix.tiles, .key = -1};
}

}  // namespace attoscope
