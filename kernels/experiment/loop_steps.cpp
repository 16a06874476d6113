#include "kernels/experiment/loop_steps.h"

#include <algorithm>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"

namespace attoscope {
namespace {

/// Blocks and tiles of an experiment, and how long each is.
struct Grid {
  const Problem& p;
  int n_k, rows, keys;
  bool reversed;

  explicit Grid(const Experiment& e)
      : p(e.problem),
        n_k(key_count(p)),
        rows(std::min(e.a.block_q, e.problem.n)),
        keys(std::min(e.a.block_k, n_k)),
        reversed(e.a.reverse_keys) {}
  int query_blocks() const { return tile_count(p.n, rows); }
  int key_tiles() const { return tile_count(n_k, keys); }
  int rows_of(int block) const { return std::min(rows, p.n - block * rows); }
  int keys_of(int tile) const { return std::min(keys, n_k - tile * keys); }

  /// True if some query of the block sees some key of the tile.
  bool meets(int block, int tile) const {
    const int first_row = block * rows, end_row = first_row + rows_of(block);
    const Keys seen = keys_of_rows(p, first_row, end_row - 1);
    if (seen.empty()) return false;
    const int from = reversed ? n_k - seen.end : seen.first, to = reversed ? n_k - seen.first : seen.end;
    return tile * keys < to && tile * keys + keys_of(tile) > from;
  }
};

/// Adds up moved bytes and operations.
struct Counter {
  const Grid& grid;
  double element, d, d_v, bytes = 0, flops = 0;

  /// Returns how many bytes these elements have.
  double move(double elements) {
    bytes += elements * element;
    return elements * element;
  }
  LoopStep step(int block, int tile, bool outer_begins, double stored) {
    flops += 2 * (d + d_v) * grid.rows_of(block) * grid.keys_of(tile);
    return {block, tile, outer_begins, bytes, stored, flops};
  }
};

/// Q of a block in, each of its tiles of K and V in, O and the log-sum-exp out. A block that sees no key moves Q and O as well.
void add_query_block(const Grid& grid, Counter& c, int block, std::vector<LoopStep>& steps) {
  const double rows = grid.rows_of(block);
  c.move(rows * c.d);
  const std::size_t before = steps.size();
  for (int tile = 0; tile < grid.key_tiles(); ++tile) {
    if (!grid.meets(block, tile)) continue;
    c.move((c.d + c.d_v) * grid.keys_of(tile));
    steps.push_back(c.step(block, tile, steps.size() == before, 0));
  }
  const double stored = c.move(rows * c.d_v + rows);
  if (steps.empty()) return;
  steps.back().bytes = c.bytes;
  steps.back().stored += stored;
}

/// K and V of a tile in; for each block Q, O, l, m in, and O, l, m out.
void add_key_tile(const Grid& grid, Counter& c, int tile, std::vector<LoopStep>& steps) {
  c.move((c.d + c.d_v) * grid.keys_of(tile));
  const std::size_t before = steps.size();
  for (int block = 0; block < grid.query_blocks(); ++block) {
    if (!grid.meets(block, tile)) continue;
    const double rows = grid.rows_of(block);
    c.move(rows * (c.d + c.d_v + 2));
    const double stored = c.move(rows * (c.d_v + 2));
    steps.push_back(c.step(block, tile, steps.size() == before, stored));
  }
  if (!steps.empty()) steps.back().bytes = c.bytes;
}

}  // namespace

long long loop_cells(const Experiment& e) {
  const Grid grid(e);
  return 1ll * grid.query_blocks() * grid.key_tiles();
}

std::vector<LoopStep> loop_steps(const Experiment& e, LoopOrder order) {
  const Grid grid(e);
  Counter c{.grid = grid,
            .element = static_cast<double>(element_bytes(e.format)),
            .d = static_cast<double>(e.problem.d),
            .d_v = static_cast<double>(value_columns(e.problem))};
  std::vector<LoopStep> steps;
  if (order == LoopOrder::queries_outside)
    for (int block = 0; block < grid.query_blocks(); ++block) add_query_block(grid, c, block, steps);
  else
    for (int tile = 0; tile < grid.key_tiles(); ++tile) add_key_tile(grid, c, tile, steps);
  return steps;
}

}  // namespace attoscope
