/// Consequences of a change. The window, the command line, sweeps, lessons and trainings change experiments by these functions,
/// so that the same change leads to the same experiment everywhere. Sessions and presets are read as they are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/presets.h"

namespace attoscope {

/// Changes the main format. A method's tau becomes the usual one of the new format (FlashAttention-4: 8 if P has 16 bits, 0 if
/// P has 8) if it was the usual one of the old format; any other tau stays.
Experiment with_format(Experiment e, const Format& format);
/// The part of `with_format` for a single method.
Method with_main_format(Method method, const Format& before, const Format& after);

/// Policies describe two families of kernels: three_pass, and all other algorithms.
constexpr bool same_family(Algorithm x, Algorithm y) { return has_tiles(x) == has_tiles(y); }
/// The usual roundings of an algorithm: hw, or base_eager for three_pass.
const Policy& usual_policy(Algorithm algorithm);

/// Changes the algorithm. A named policy of the other family becomes its counterpart; roundings that no policy names stay. An
/// algorithm that is not emulated ignores the roundings, which stay for the algorithm after it.
Method with_algorithm(Method method, Algorithm algorithm);
/// Applies a named policy, and its algorithm if the method's algorithm is of the other family.
Method with_policy(Method method, const Policy& policy);
/// Gives b the policy's roundings and algorithm.
Experiment with_baseline(Experiment e, const Policy& policy);

/// The usual backward pass for the roundings of a forward pass.
GradMethod usual_gradient(const Method& forward, const Problem& p);
/// Turns the backward pass on. If it was off, a method's backward pass that is still the default becomes the usual one of its
/// forward pass.
Experiment with_backward(Experiment e);
/// `after`, in which each backward pass that was the usual one of its forward pass in `before` is the usual one of the changed
/// forward pass, even while the backward pass is off. Nothing changes if `after.backward` is the default. For changes of a
/// forward pass.
Experiment with_gradients_in_step(const Experiment& before, Experiment after);

/// Resets every option to its default for this main format; algorithm, tiles and roundings stay.
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
/// The tiles of the first row with d <= most_d, else of the last row.
TileSizes tiles_for(std::span<const TilesUpTo> rows, int d, bool is_masked);

/// Sets the tile sizes of both methods, so that the methods differ by their computation and not by their tiles. A field such as
/// "b.block_k" sets a size of one method, which stays until that side is set for both.
Experiment with_tiles(Experiment e, const TileSizes& tiles);
Experiment with_block_q(Experiment e, int block_q);
Experiment with_block_k(Experiment e, int block_k);
/// block_q and block_k of a, exchanged, for both methods.
Experiment with_swapped_tiles(Experiment e);

/// FlashAttention-1's tiles for M on-chip elements (arXiv 2205.14135, Algorithm 1, line 1): Bc = ceil(M / 4d), Br = min(Bc, d).
TileSizes tiles_for_memory(double on_chip_elements, int d);

/// Tiles of `block` that cover `n`; the last one may be shorter.
constexpr int tile_count(int n, int block) { return n <= 0 ? 0 : (n - 1) / block + 1; }
/// Rows of queries, and keys, of a tile on `n` tokens; three_pass has a single tile of all keys. At least 1: the window draws
/// invalid experiments, too.
constexpr int tile_rows(const Method& m, int n) { return std::max(1, std::min(m.block_q, n)); }
constexpr int tile_keys(const Method& m, int n) { return std::max(1, has_tiles(m.algorithm) ? std::min(m.block_k, n) : n); }
/// T = ceil(N / block_k): tiles that the keys of a row are cut into.
constexpr int key_tiles(const Method& m, int n) { return tile_count(n, tile_keys(m, n)); }
/// Tiles of a run of split_kv; the last runs may be shorter. Other algorithms have a single run.
constexpr int tiles_of_a_run(const Method& m, int n) {
  return tile_count(key_tiles(m, n), m.algorithm == Algorithm::split_kv ? m.splits : 1);
}

/// Changes the source of Q, K, V. Loaded tensors stay if file and head stay; the value of a constant input stays for later.
Problem with_input(Problem problem, Input input);
/// Selects another head of the same file; drops the loaded tensors.
Problem with_head(Problem problem, int index);
/// Selects another head of the same output; drops the loaded values.
KernelOutput with_head(KernelOutput output, int index);
/// Guesses the format in which a kernel made its output: `main` if it has 8 bits or fewer (kernels in such a format give wider
/// outputs); fp16 or bf16 if stored so; for wider types the first of main, bf16 and fp16 that holds all values (outputs are
/// often widened before they are stored), else fp32 for F32 and `main` for F64.
Format format_of_output(const KernelOutput& output, const Format& main);
/// Takes the sizes of the tensors of a newly chosen file.
Problem with_shape(Problem problem, const AttentionShape& shape);
/// Takes at most as many queries and keys as a file's tensors have, and the tensors' d and d_v. The window and lessons use it,
/// since they show the result; commands and sweeps refuse sizes that do not fit.
Problem fitted(Problem problem, const AttentionShape& given);

/// The method that is a loaded output. `with_loaded` gives a method that was a loaded output before the default algorithm.
enum class LoadedPlace : std::uint8_t { a, b, nowhere };
LoadedPlace loaded_place(const Experiment& e);
/// The experiment with a and b exchanged, and their backward passes.
Experiment exchanged(Experiment e);
/// True if a or b is a loaded output.
bool has_loaded(const Experiment& e);
/// True if a or b is the kernel that runs on a GPU.
bool has_hardware(const Experiment& e);
/// True if a scale may depend on all heads of a file, which the input's digest does not cover.
bool depends_on_other_heads(const Experiment& e);
Experiment with_loaded(Experiment e, LoadedPlace place);

/// Returns `after` with the consequences by the rules above; `after` is `before` with the field at `path` ("format",
/// "a.algorithm", "problem.input.index", as in session files) set to `value`. For fields that are set by their names. A field
/// of the backward pass (see `is_of_backward`) turns it on.
Experiment following(const Experiment& before, const Experiment& after, std::string_view path, std::string_view value);

/// True if the seed changes results: something is drawn, or rounded at random.
bool depends_on_seed(const Experiment& e);

}  // namespace attoscope
