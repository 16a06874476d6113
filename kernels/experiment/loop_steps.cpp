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
  int rows, keys;
  bool reversed;

  explicit Grid(const Experiment& e)
      : p(e.problem),
        rows(std::min(e.a.block_q, e.problem.n)),
        keys(std::min(e.a.block_k, e.problem.n)),
        reversed(e.a.reverse_keys) {}
  int query_blocks() const { return tile_count(p.n, rows); }
  int key_tiles() const { return tile_count(p.n, keys); }
  int rows_of(int block) const { return std::min(rows, p.n - block * rows); }
  int keys_of(int tile) const { return std::min(keys, p.n - tile * keys); }

  /// True if some query of the block sees some key of the tile.
  bool meets(int block, int tile) const {
    const int first_row = block * rows, end_row = first_row + rows_of(block);
    const Keys earliest = visible_keys(p.mask, first_row, p.n), latest = visible_keys(p.mask, end_row - 1, p.n);
    const int first = earliest.empty() ? latest.first : earliest.first;
    if (latest.end <= first) return false;
    const int from = reversed ? p.n - latest.end : first, to = reversed ? p.n - first : latest.end;
    return tile * keys < to && tile * keys + keys_of(tile) > from;
  }
};

/// Adds up what is moved and computed.
struct Counter {
  const Grid& grid;
  double element, d, bytes = 0, flops = 0;

  void move(double elements) { bytes += elements * element; }
  LoopStep step(int block, int tile, bool outer_begins) {
    flops += 4 * d * grid.rows_of(block) * grid.keys_of(tile);
    return {block, tile, outer_begins, bytes, flops};
  }
};

/// Q of a block in, each of its tiles of K and V in, O and the log-sum-exp out. A block that sees no key moves Q and O as well.
void add_query_block(const Grid& grid, Counter& c, int block, std::vector<LoopStep>& steps) {
  const double rows = grid.rows_of(block);
  c.move(rows * c.d);
  const std::size_t before = steps.size();
  for (int tile = 0; tile < grid.key_tiles(); ++tile) {
    if (!grid.meets(block, tile)) continue;
    c.move(2 * c.d * grid.keys_of(tile));
    steps.push_back(c.step(block, tile, steps.size() == before));
  }
  c.move(rows * c.d + rows);
  if (!steps.empty()) steps.back().bytes = c.bytes;
}

/// K and V of a tile in; for each block Q, O, l, m in, and O, l, m out.
void add_key_tile(const Grid& grid, Counter& c, int tile, std::vector<LoopStep>& steps) {
  c.move(2 * c.d * grid.keys_of(tile));
  const std::size_t before = steps.size();
  for (int block = 0; block < grid.query_blocks(); ++block) {
    if (!grid.meets(block, tile)) continue;
    c.move(grid.rows_of(block) * (3 * c.d + 4));
    steps.push_back(c.step(block, tile, steps.size() == before));
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
  Counter c{.grid = grid, .element = static_cast<double>(element_bytes(e.format)), .d = static_cast<double>(e.problem.d)};
  std::vector<LoopStep> steps;
  if (order == LoopOrder::queries_outside)
    for (int block = 0; block < grid.query_blocks(); ++block) add_query_block(grid, c, block, steps);
  else
    for (int tile = 0; tile < grid.key_tiles(); ++tile) add_key_tile(grid, c, tile, steps);
  return steps;
}

}  // namespace attoscope
