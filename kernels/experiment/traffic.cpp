#include "kernels/experiment/traffic.h"

#include <algorithm>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

/// Blocks of `rows` queries and tiles of `keys` keys; `reversed`: key tiles start at the last key.
struct Grid {
  const Problem& p;
  int n_k, rows, keys;
  bool reversed;

  Grid(const Problem& problem, int block_q, int block_k, bool is_reversed)
      : p(problem), n_k(key_count(p)), rows(std::min(block_q, p.n)), keys(std::min(block_k, n_k)), reversed(is_reversed) {}
  explicit Grid(const Experiment& e) : Grid(e.problem, e.a.block_q, e.a.block_k, e.a.reverse_keys) {}

  int query_blocks() const { return tile_count(p.n, rows); }
  int key_tiles() const { return tile_count(n_k, keys); }
  std::int64_t cells() const { return std::int64_t{query_blocks()} * key_tiles(); }
  int rows_of(int block) const { return std::min(rows, p.n - block * rows); }
  int keys_of(int tile) const { return std::min(keys, n_k - tile * keys); }

  /// The range of the tiles that hold a key that some query of the block sees.
  Keys tiles_of(int block) const {
    const Keys seen = keys_of_rows(p, block * rows, block * rows + rows_of(block) - 1);
    if (seen.empty()) return {};
    const int first = reversed ? n_k - seen.end : seen.first, end = reversed ? n_k - seen.first : seen.end;
    return {first / keys, tile_count(end, keys)};
  }
};

/// The tiles that hold a visible pair.
struct VisitedTiles {
  std::int64_t count = 0;
  double query_rows = 0, key_rows = 0;  ///< rows of Q and of K, summed over these tiles
};

VisitedTiles visited_tiles(const Grid& grid) {
  VisitedTiles v;
  for (int block = 0; block < grid.query_blocks(); ++block) {
    const Keys tiles = grid.tiles_of(block);
    const int count = tiles.end - tiles.first;
    v.count += count;
    v.query_rows += double{1} * count * grid.rows_of(block);
    v.key_rows += std::min(grid.n_k, tiles.end * grid.keys) - tiles.first * grid.keys;
  }
  return v;
}

/// Bytes of a row of Q, of a row of K with its row of V, of a row of O, and of one more number.
struct RowBytes {
  double Q, KV, O, number;

  explicit RowBytes(const Experiment& e)
      : Q(e.problem.d * stored_bytes(e, ScaledTensor::Q)),
        KV(e.problem.d * stored_bytes(e, ScaledTensor::K) + value_columns(e.problem) * stored_bytes(e, ScaledTensor::V)),
        O(value_columns(e.problem) * element_bytes(e.format)),
        number(element_bytes(e.format)) {}
};

/// Adds up moved bytes and operations.
struct Counter {
  const Grid& grid;
  RowBytes row;
  double bytes = 0, flops = 0;

  /// Returns the bytes moved.
  double move(double moved) {
    bytes += moved;
    return moved;
  }
  LoopStep step(int block, int tile, bool outer_begins, double stored) {
    flops += 2.0 * (grid.p.d + value_columns(grid.p)) * grid.rows_of(block) * grid.keys_of(tile);
    return {block, tile, outer_begins, bytes, stored, flops};
  }
};

/// Loads Q of a block and each of its tiles of K and V, stores O and the log-sum-exp. Q and O move even if no key is seen.
void add_query_block(const Grid& grid, Counter& c, int block, std::vector<LoopStep>& steps) {
  const double rows = grid.rows_of(block);
  c.move(rows * c.row.Q);
  const Keys tiles = grid.tiles_of(block);
  for (int tile = tiles.first; tile < tiles.end; ++tile) {
    c.move(grid.keys_of(tile) * c.row.KV);
    steps.push_back(c.step(block, tile, tile == tiles.first, 0));
  }
  const double stored = c.move(rows * (c.row.O + c.row.number));
  if (steps.empty()) return;
  steps.back().bytes = c.bytes;
  steps.back().stored += stored;
}

/// Loads K and V of a tile; for each block loads Q, O, l, m and stores O, l, m.
void add_key_tile(const Grid& grid, Counter& c, int tile, std::vector<LoopStep>& steps) {
  c.move(grid.keys_of(tile) * c.row.KV);
  const std::size_t before = steps.size();
  for (int block = 0; block < grid.query_blocks(); ++block) {
    if (const Keys tiles = grid.tiles_of(block); tile < tiles.first || tile >= tiles.end) continue;
    const double rows = grid.rows_of(block), result = rows * (c.row.O + 2 * c.row.number);
    c.move(rows * c.row.Q + result);
    const double stored = c.move(result);
    steps.push_back(c.step(block, tile, steps.size() == before, stored));
  }
  if (!steps.empty()) steps.back().bytes = c.bytes;
}

/// Bytes of a number of the result of a step of a's backward pass.
double step_bytes(const Experiment& e, GradStep step) {
  const Rounding& r = e.backward.a.precision[step];
  if (r.kind == Rounding::Kind::exact) return works_in_double(e) ? sizeof(double) : sizeof(float);
  return element_bytes(format_of(r, e.format));
}

}  // namespace

Traffic traffic(const Experiment& e) {
  const Problem& p = e.problem;
  const double n = p.n, n_k = key_count(p);
  const Grid grid(e);
  const VisitedTiles v = visited_tiles(grid);
  Traffic t;
  t.element_bytes = element_bytes(e.format);
  t.on_chip_elements = 1ll * (grid.keys + grid.rows) * (p.d + value_columns(p));
  t.tiles = grid.cells();
  t.skipped_tiles = t.tiles - v.count;
  const RowBytes row(e);
  // read Q, K; write S; read S; write P; read P, V; write O
  t.algorithm0 = n * (row.Q + row.O) + n_k * row.KV + 4 * n * n_k * row.number;
  // K, V once; for every visited tile read Q, O, l, m and write O, l, m
  t.flash1 = n_k * row.KV + v.query_rows * (row.Q + (2 * row.O + 4 * row.number));
  // Q and O once, the log-sum-exp once; for every visited tile read K, V
  t.flash2 = n * (row.Q + row.O) + n * row.number + v.key_rows * row.KV;
  return t;
}

int element_bytes(const Format& f) { return (1 + f.exponent_bits + f.mantissa_bits + 7) / 8; }

int seen_keys(const Problem& p, int row) {
  const MaskView mask = mask_view(p);
  const Keys keys = visible_keys(p, row);
  int hidden = 0;
  for (int key = keys.first; mask.terms != nullptr && key < keys.end; ++key) hidden += mask.drops(row, key) ? 1 : 0;
  return std::max(0, keys.end - keys.first - hidden);
}

double visible_pairs(const Problem& p) {
  double pairs = 0;
  for (int row = 0; row < p.n; ++row) pairs += seen_keys(p, row);
  return pairs;
}

double useful_flops(const Problem& p) { return 2.0 * (p.d + value_columns(p)) * visible_pairs(p); }

OnChip on_chip(const Problem& p, const Method& m) {
  const double rows = std::min(m.block_q, p.n), keys = std::min(m.block_k, key_count(p)), d = p.d, d_v = value_columns(p);
  return {.Q = rows * d, .K = keys * d, .V = keys * d_v, .O = rows * d_v, .S = rows * keys, .m_and_l = 2 * rows};
}

double ridge(const DataSheet& machine) { return 1e3 * machine.tera_flops / machine.giga_bytes; }

double attainable(const DataSheet& machine, double flops_per_byte) {
  return std::min(machine.tera_flops, 1e-3 * machine.giga_bytes * flops_per_byte);
}

double stored_bytes(const Experiment& e, ScaledTensor t) {
  const Scaling& s = e.a.scaling[t];
  const Problem& p = e.problem;
  const int rows = t == ScaledTensor::Q ? p.n : key_count(p), columns = t == ScaledTensor::V ? value_columns(p) : p.d;
  return s.is_on() ? bits_per_element(s, t, rows, columns) / 8 : element_bytes(e.format);
}

std::string stored_bytes_text(const Experiment& e) {
  std::string text;
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V}) {
    if (!e.a.scaling[t].is_on()) continue;
    text.append(text.empty() ? "" : ", ").append(scaled_tensor_names[t]).append(" " + four_digits(stored_bytes(e, t)));
  }
  return text;
}

std::int64_t loop_cells(const Experiment& e) { return Grid(e).cells(); }

std::vector<LoopStep> loop_steps(const Experiment& e, LoopOrder order) {
  const Grid grid(e);
  Counter c{.grid = grid, .row = RowBytes(e)};
  std::vector<LoopStep> steps;
  if (order == LoopOrder::queries_outside)
    for (int block = 0; block < grid.query_blocks(); ++block) add_query_block(grid, c, block, steps);
  else
    for (int tile = 0; tile < grid.key_tiles(); ++tile) add_key_tile(grid, c, tile, steps);
  return steps;
}

double total_bytes(const std::vector<TrafficPart>& parts) {
  double bytes = 0;
  for (const TrafficPart& part : parts) bytes += part.elements * part.bytes;
  return bytes;
}

BackwardTraffic backward_traffic(const Experiment& e) {
  const Problem& p = e.problem;
  const GradMethod& m = e.backward.a;
  const double n = p.n, n_k = key_count(p), d = p.d, d_v = value_columns(p), main = element_bytes(e.format), pairs = n * n_k;
  const double Q = stored_bytes(e, ScaledTensor::Q), K = stored_bytes(e, ScaledTensor::K), V = stored_bytes(e, ScaledTensor::V),
               dO = m.scaling.dO.is_on() ? bits_per_element(m.scaling.dO, ScaledTensor::Q, p.n, value_columns(p)) / 8 : main;
  const double L = step_bytes(e, GradStep::lse), delta = step_bytes(e, GradStep::delta), sum = step_bytes(e, GradStep::dq_sum);
  const double dQ = step_bytes(e, GradStep::dQ), dK = step_bytes(e, GradStep::dK), dV = step_bytes(e, GradStep::dV);
  const Grid grid(p, m.block_q, m.block_k, false);
  const VisitedTiles v = visited_tiles(grid);
  const double rows = v.query_rows, buffers = m.order == GradOrder::buffers ? m.buffers : 1;
  BackwardTraffic t;
  t.tiles = grid.cells();
  t.skipped_tiles = t.tiles - v.count;
  t.stored_P = {{"P in, twice", 2 * pairs, main},
                {"dP out and in", 2 * pairs, main},
                {"dS out", pairs, main},
                {"dS in, twice", 2 * pairs, main},
                {"dO in, twice", 2 * n * d_v, main},
                {"Q in", n * d, Q},
                {"K in", n_k * d, K},
                {"V in", n_k * d_v, V},
                {"dQ out", n * d, dQ},
                {"dK out", n_k * d, dK},
                {"dV out", n_k * d_v, dV}};
  t.flash1 = {{"K in", n_k * d, K},
              {"V in", n_k * d_v, V},
              {"Q in", rows * d, Q},
              {"O in", rows * d_v, main},
              {"dO in", rows * d_v, dO},
              {"l, m in", 2 * rows, L},
              {"dQ in and out", 2 * rows * d, sum},
              {"dK out", n_k * d, dK},
              {"dV out", n_k * d_v, dV}};
  t.flash2 = {{"O, dO in for delta", 2 * n * d_v, main},
              {"delta out", n, delta},
              {"K in", n_k * d, K},
              {"V in", n_k * d_v, V},
              {"Q in", rows * d, Q},
              {"dO in", rows * d_v, dO},
              {"L in", rows, L},
              {"delta in", rows, delta},
              {"sum of dQ in and out", 2 * rows * d, sum},
              {"dK out", n_k * d, dK},
              {"dV out", n_k * d_v, dV},
              {"sum of dQ in at the end", buffers * n * d, sum},
              {"dQ out", n * d, dQ}};
  return t;
}

double useful_backward_flops(const Problem& p) { return 2 * useful_flops(p); }

}  // namespace attoscope
