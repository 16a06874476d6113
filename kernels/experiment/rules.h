/// Consequences of a change. The window, the command line, sweeps, lessons and trainings change experiments by these functions,
/// so that the same change leads to the same experiment everywhere. Sessions and presets are read as they stand: they are
/// descriptions, not changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"

namespace attoscope {

/// Another main format. The tau of a method follows it while it is the usual one of the format before: FlashAttention-4 uses 8
/// where P has 16 bits and 0 where it has 8. Any other tau was chosen and stays.
Experiment with_format(Experiment e, const Format& format);
/// The same for a single method, whose main format changes.
Method with_main_format(Method method, const Format& before, const Format& after);

/// Policies describe two families of kernels: those of three_pass, and those of all other algorithms.
constexpr bool same_family(Algorithm x, Algorithm y) { return has_tiles(x) == has_tiles(y); }
/// The policy of the same spirit in the other family: hw and base_hw, eager and base_eager. Several policies may share one.
std::string_view counterpart(std::string_view policy);
/// The usual roundings of an algorithm: hw, or base_eager for three_pass.
const Policy& usual_policy(Algorithm algorithm);

/// Another algorithm. A named policy of the other family becomes its counterpart, so that only the algorithm changes as far as
/// that is possible; roundings that no policy names stay. An algorithm that is not emulated rounds by itself: the roundings
/// stay for the one that comes after it.
Method with_algorithm(Method method, Algorithm algorithm);
/// A named policy. It brings its algorithm along where the method's is of the other family.
Method with_policy(Method method, const Policy& policy);
/// The rival as a policy names it: with the policy's algorithm, whatever b's was.
Experiment with_baseline(Experiment e, const Policy& policy);

/// The usual backward pass of a forward pass: that of the kernel that rounds so.
GradMethod usual_gradient(const Method& forward, const Problem& p);
/// The backward pass is computed, too; where it was not before, a gradient that nobody has set becomes the usual one of its
/// forward pass.
Experiment with_backward(Experiment e);
/// `after`, in which each gradient that was the usual one of its forward pass in `before` is the usual one again, also while
/// the backward pass is off. For changes of a forward pass; where there was no backward pass yet nothing changes.
Experiment with_gradients_in_step(const Experiment& before, Experiment after);

/// Every option as it is by default with this main format; algorithm, tiles and roundings stay.
Method with_usual_options(const Method& method, const Format& main);

/// Rows of queries and keys of a tile.
struct TileSizes {
  int block_q = 1, block_k = 1;
  friend constexpr bool operator==(const TileSizes&, const TileSizes&) = default;
};
constexpr TileSizes tiles_of(const Method& m) { return {m.block_q, m.block_k}; }
constexpr bool has_square_tiles(const Method& m) { return m.block_q == m.block_k; }
Method with_tiles(Method method, const TileSizes& tiles);

/// Tiles of a kernel up to a head dimension, without a mask and with one.
struct TilesUpTo {
  int most_d;
  TileSizes plain, masked = plain;
};
/// The tiles of the first row that has the head dimension.
TileSizes tiles_for(std::span<const TilesUpTo> rows, int d, bool is_masked);

/// A tile size belongs to both methods, so that they differ in their computation and not in their tiles. One method alone gets
/// another by its own field, "b.block_k"; that stays until the same side of the tile is changed for both.
Experiment with_tiles(Experiment e, const TileSizes& tiles);
Experiment with_block_q(Experiment e, int block_q);
Experiment with_block_k(Experiment e, int block_k);
/// block_q and block_k of a, exchanged, for both methods.
Experiment with_swapped_tiles(Experiment e);

/// FlashAttention-1's tiles for M on-chip elements (arXiv 2205.14135, Algorithm 1, line 1): Bc = ceil(M / 4d), Br = min(Bc, d).
TileSizes tiles_for_memory(double on_chip_elements, int d);

/// Tiles of `block` that cover `n`; the last one may be shorter.
constexpr int tile_count(int n, int block) { return n <= 0 ? 0 : (n - 1) / block + 1; }
/// Rows of queries, and keys, of a tile on `n` tokens; three_pass has a single tile of all keys. At least one, so that a
/// picture of an experiment that is not valid yet can be drawn.
constexpr int tile_rows(const Method& m, int n) { return std::max(1, std::min(m.block_q, n)); }
constexpr int tile_keys(const Method& m, int n) { return std::max(1, has_tiles(m.algorithm) ? std::min(m.block_k, n) : n); }
/// T = ceil(N / block_k): tiles that the keys of a row are cut into.
constexpr int key_tiles(const Method& m, int n) { return tile_count(n, tile_keys(m, n)); }
/// Tiles of one of split_kv's runs, but for the last ones, which may be shorter. Other algorithms have a single run.
constexpr int tiles_of_a_run(const Method& m, int n) {
  return tile_count(key_tiles(m, n), m.algorithm == Algorithm::split_kv ? m.splits : 1);
}

/// Another source of Q, K, V. Tensors that were read stay if the file and the head stay; the value of a constant input stays
/// for when it is chosen again.
Problem with_input(Problem problem, Input input);
/// Another head of the same file, which is yet to be read.
Problem with_head(Problem problem, int index);
/// Another head of the same output, which is yet to be read.
KernelOutput with_head(KernelOutput output, int index);
/// Format in which a kernel's output was made: as it is stored, except for F64, which says nothing; but bf16 or fp16, if that
/// is `main` and holds all values of a wider type, since outputs are often widened before they are stored. A main format of
/// eight bits or fewer stays, since kernels in such a format give wider outputs.
Format format_of_output(const KernelOutput& output, const Format& main);
/// Sizes of a file's tensors, whole, for a file that has just been chosen.
Problem with_shape(Problem problem, const AttentionShape& shape);
/// Sizes made to fit a file whose tensors may be shorter than asked for, or of another d. The window and lessons use it, since
/// they show the result; commands and sweeps compute the sizes that were asked for, and refuse those that do not fit.
Problem fitted(Problem problem, const AttentionShape& given);

/// Somebody's output in the place of a or of b; the other is computed as by default where it was an output before.
enum class LoadedPlace : std::uint8_t { a, b, nowhere };
LoadedPlace loaded_place(const Experiment& e);
/// The same question with a and b exchanged.
Experiment exchanged(Experiment e);
/// True if a or b is a loaded output.
bool has_loaded(const Experiment& e);
/// True if a or b is the kernel that runs on a GPU.
bool has_hardware(const Experiment& e);
/// True if some scale may be of all heads of a file, whose bits the input's digest does not hold.
bool depends_on_other_heads(const Experiment& e);
Experiment with_loaded(Experiment e, LoadedPlace place);

/// `after` is `before` with the field at `path` ("format", "a.algorithm", "problem.input.index", as in session files) set to
/// `value`; returns it with the consequences by the rules above. For fields that are set by their names. One of the backward
/// pass (see `is_of_backward`) turns it on.
Experiment following(const Experiment& before, const Experiment& after, std::string_view path, std::string_view value);

/// True if the seed changes results: something is drawn, or rounded at random.
bool depends_on_seed(const Experiment& e);

}  // namespace attoscope
