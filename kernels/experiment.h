/// The question: everything that changes a number, as one comparable value.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/format.h"

namespace attoscope {

/// How one step's result is rounded: left in the working type, to the main format, or to a format of its own.
struct Rounding {
  enum class Kind : std::uint8_t { exact, main, format };
  Kind kind = Kind::exact;
  Format format{};          ///< read only where kind is `format`
  bool stochastic = false;  ///< up or down with the probability of the distance, instead of to nearest; not where exact

  friend constexpr bool operator==(const Rounding& x, const Rounding& y) {
    return x.kind == y.kind && (x.kind != Kind::format || x.format == y.format) &&
           (x.kind == Kind::exact || x.stochastic == y.stochastic);
  }
};
inline constexpr Rounding exact{};
inline constexpr Rounding to_main{Rounding::Kind::main, {}, false};
constexpr Rounding to_format(const Format& f) { return {Rounding::Kind::format, f, false}; }

/// The named steps, in the order of the data; the letters are FlashAttention-2's (arXiv 2307.08691, Algorithm 1).
enum class Step : std::uint8_t {
  input,
  qk_step,
  S,
  m,
  shifted,
  e,
  P,
  l_step,
  tile_sum,
  alpha,
  rescaled,
  l,
  pv_step,
  PV,
  O,
  output
};
inline constexpr int step_count = 16;

/// What a step is called in files and menus, and what it rounds.
struct StepText {
  std::string_view name, what;
};
inline constexpr std::array<StepText, step_count> step_texts{{
    {"input", "Q, K, V, before anything; the golden value sees the same rounded inputs"},
    {"qk_step", "the accumulator after every fma of q.k"},
    {"S", "scale * (q.k), one multiplication"},
    {"m", "running max, as stored"},
    {"shifted", "S - m"},
    {"e", "exp(S - m)"},
    {"P", "e as it enters P.V (three-pass: e/l)"},
    {"l_step", "row sum after every addition"},
    {"tile_sum", "the tile's sum as handed over"},
    {"alpha", "exp(m_old - m_new)"},
    {"rescaled", "the products alpha*l and alpha*O"},
    {"l", "running row sum, as stored"},
    {"pv_step", "P.V after every fma"},
    {"PV", "the tile's P.V as handed over"},
    {"O", "running output, as stored"},
    {"output", "O/l at the end (three-pass: O)"},
}};
constexpr std::string_view name(Step s) { return step_texts[static_cast<std::size_t>(s)].name; }

/// Where rounding happens: one choice per step, and two flags.
struct Precision {
  std::array<Rounding, step_count> steps{};
  bool sum_rounded_P = false;    ///< l sums P instead of e (flash algorithms)
  bool accumulate_in_O = false;  ///< P.V continues in the rescaled O instead of a fresh accumulator that is then added

  constexpr Rounding& operator[](Step s) { return steps[static_cast<std::size_t>(s)]; }
  constexpr const Rounding& operator[](Step s) const { return steps[static_cast<std::size_t>(s)]; }
  friend constexpr bool operator==(const Precision&, const Precision&) = default;
};

/// three_pass: safe softmax (max; sum; normalise, then P.V).
/// two_pass: online softmax (arXiv 1805.02867): one pass for m and l, tile by tile; a second normalises, then P.V.
/// flash1: FlashAttention (arXiv 2205.14135), Algorithm 1: max of the tile alone, O divided by l at every tile.
/// flash2: FlashAttention-2 (arXiv 2307.08691), Algorithm 1: O divided once.
/// flash4: flash2 that keeps a stale max while the new one exceeds it by at most tau (FlashAttention-4).
/// split_kv: flash2 over `splits` runs of tiles, merged by their log-sum-exp (Flash-Decoding).
/// hardware: a real kernel on a GPU's tensor cores, not emulated; its rounding is the device's.
/// loaded: no kernel at all: O of somebody else's, `Experiment::loaded`.
enum class Algorithm : std::uint8_t { three_pass, two_pass, flash1, flash2, flash4, split_kv, hardware, loaded };
inline constexpr std::array<std::string_view, 8> algorithm_names{"three_pass", "two_pass", "flash1",   "flash2",
                                                                 "flash4",     "split_kv", "hardware", "loaded"};
constexpr std::string_view name(Algorithm a) { return algorithm_names[static_cast<std::size_t>(a)]; }
/// Those that are written rules of IEEE operations, with a trace and steps; they come first.
inline constexpr int emulated_count = 6;
constexpr bool is_emulated(Algorithm a) { return static_cast<int>(a) < emulated_count; }
/// Whether P is normalised before P.V, so that nothing is divided at the end.
constexpr bool normalises_P(Algorithm a) { return a == Algorithm::three_pass || a == Algorithm::two_pass; }

/// natural: exp(S - m). exp2: 2^(S*c - m*c), c = scale*log2 e, folded into one fma over the unscaled S: FlashAttention-2's way;
/// m*c is rounded once, so that the exponent at the max is not exactly 0.
enum class ExponentialKind : std::uint8_t { natural, exp2 };
inline constexpr std::array<std::string_view, 2> exponential_names{"natural", "exp2"};

/// The order in which q.k, the row sum and P.V add their terms. interleaved: `sum_lanes` chains, then their sum in order.
enum class SumOrder : std::uint8_t { sequential, pairwise, interleaved };
inline constexpr std::array<std::string_view, 3> sum_order_names{"sequential", "pairwise", "interleaved"};

/// One emulated kernel. Tiles may be of any size from 1; those above N act as N. three_pass has no tiles.
struct Method {
  Algorithm algorithm = Algorithm::flash2;
  int block_q = 64;  ///< Br: rows of a tile; changes traffic, never a bit of the output
  int block_k = 64;  ///< Bc: keys of a tile
  int splits = 2;    ///< split_kv: runs of equally many tiles, the last ones shorter
  double tau = 8;    ///< flash4: the stale max stays while (m_new - m_old) log2 e <= tau
  double tie_beta =
      0;  ///< tie mitigation of arXiv 2510.04212: a tied tile max is scaled by beta if positive, set to 0 if negative; 0: off
  ExponentialKind exponential = ExponentialKind::natural;
  int exp2_degree = 0;   ///< exp2 by a polynomial of degree 1..5 on [0, 1) (FlashAttention-4); 0: full precision
  int p_exponent = 0;    ///< e and l carry a factor 2^p_exponent, so that 8-bit P underflows later (FlashAttention-3: 8)
  bool kahan_l = false;  ///< the row sum carries its rounding error along (Kahan 1965), within and between tiles
  SumOrder order = SumOrder::sequential;
  int sum_lanes = 8;          ///< chains of `interleaved`
  bool reverse_keys = false;  ///< keys are taken from the last to the first
  Precision precision{};

  friend bool operator==(const Method&, const Method&) = default;
};
inline constexpr int max_tile = 1 << 30, max_splits = 64, max_sum_lanes = 64, max_p_exponent = 64, max_exp2_degree = 5;
inline constexpr double max_tau = 64, max_tie_beta = 64;

/// The tau that FlashAttention-4 uses with a main format: no stale max where P has 8 bits.
constexpr double usual_tau(const Format& main) { return 1 + main.exponent_bits + main.mantissa_bits > 8 ? 8 : 0; }

/// Q, K, V of one head, row-major N x d, as read from a file or drawn.
struct Tensors {
  int n = 0, d = 0;
  std::vector<double> q, k, v;
};

enum class InputKind : std::uint8_t {
  normal,
  uniform,
  outliers,
  ones,
  constant,
  ties,
  ascending,
  descending,
  shuffled,
  tensors
};
inline constexpr std::array<std::string_view, 10> input_names{"normal", "uniform",   "outliers",   "ones",     "constant",
                                                              "ties",   "ascending", "descending", "shuffled", "tensors"};
constexpr std::string_view name(InputKind k) { return input_names[static_cast<std::size_t>(k)]; }

/// Where Q, K, V come from. The file is read outside kernels/; `tensors` then holds what was read.
struct Input {
  InputKind kind = InputKind::normal;
  double value = 1;          ///< of `constant`
  std::string file;          ///< of `tensors`: FILE.safetensors or q.npy,k.npy,v.npy
  int index = 0;             ///< of `tensors`: which head
  std::uint64_t digest = 0;  ///< of `tensors`: of the bits that were read, so that a changed file is a new question
  std::shared_ptr<const Tensors> tensors;  ///< not compared

  friend bool operator==(const Input& x, const Input& y) {
    return x.kind == y.kind && x.value == y.value && x.file == y.file && x.index == y.index && x.digest == y.digest;
  }
};

/// The output of somebody else's kernel, n x d. The file is read outside kernels/; `values` then holds what was read.
struct KernelOutput {
  std::string file;          ///< FILE.npy or FILE.safetensors[:INDEX]; empty: none
  int index = 0;             ///< which head
  std::uint64_t digest = 0;  ///< of the bits that were read, so that a changed file is a new question
  std::string type;          ///< of its elements as stored: "BF16"
  int n = 0, d = 0;
  std::shared_ptr<const std::vector<double>> values;  ///< row-major; not compared

  friend bool operator==(const KernelOutput& x, const KernelOutput& y) {
    return x.file == y.file && x.index == y.index && x.digest == y.digest;
  }
};

/// Which keys a query sees. window: itself and the `window` - 1 keys before it (causal). padding: causal, without the first
/// `window` keys (a sequence padded on the left), so that as many rows see no key at all.
struct Mask {
  enum class Kind : std::uint8_t { none, causal, window, padding };
  Kind kind = Kind::none;
  int window = 256;

  constexpr bool has_width() const { return kind == Kind::window || kind == Kind::padding; }
  friend constexpr bool operator==(const Mask& x, const Mask& y) {
    return x.kind == y.kind && (!x.has_width() || x.window == y.window);
  }
};
inline constexpr std::array<std::string_view, 4> mask_names{"none", "causal", "window", "padding"};

/// The keys [first, end) that `row` sees among n; empty, with end = first, where it sees none.
struct Keys {
  int first = 0, end = 0;
  constexpr bool empty() const { return end <= first; }
};
constexpr Keys visible_keys(const Mask& mask, int row, int n) {
  if (mask.kind == Mask::Kind::none) return {0, n};
  const int end = row + 1 < n ? row + 1 : n;
  if (mask.kind == Mask::Kind::causal) return {0, end};
  if (mask.kind == Mask::Kind::padding) return mask.window < end ? Keys{mask.window, end} : Keys{end, end};
  const int first = row + 1 - mask.window;
  return {first > 0 ? first : 0, end};
}

/// What is to be computed, whoever computes it.
struct Problem {
  Input input{};
  std::uint64_t seed = 1;
  int n = 1024;      ///< tokens: rows of Q, K, V
  int d = 64;        ///< head dimension
  double scale = 0;  ///< of the scores; 0 means 1/sqrt(d)
  Mask mask{};
  std::optional<double> sink{};  ///< one extra logit in every denominator
  double softcap = 0;            ///< S becomes softcap * tanh(S / softcap); 0: off
  double alibi = 0;              ///< slope: S loses alibi * |row - key|
  int rows = 0;                  ///< how many query rows, evenly spread; 0 means all
  int traced_row = -1;           ///< whose recurrence is traced; negative counts from the end

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The whole question: `a` is under the microscope, `b` is its rival. Inputs are rounded by a's `input` step for everybody
/// (the golden value included); b's own `input` step applies on top.
struct Experiment {
  Problem problem{};
  Format format = bf16;  ///< the main format D
  Method a{}, b{.algorithm = Algorithm::three_pass};
  KernelOutput loaded{};  ///< what a method whose algorithm is `loaded` stands for

  friend bool operator==(const Experiment&, const Experiment&) = default;
};

/// The format that `r` rounds to when the main format is `main`; never call it for an exact one.
constexpr const Format& format_of(const Rounding& r, const Format& main) {
  return r.kind == Rounding::Kind::main ? main : r.format;
}

/// True if the experiment works in double: a format in it has more than 24 significant bits.
bool works_in_double(const Experiment& e);

/// The factor of the scores.
double scale_of(const Problem& p);

/// The traced row as an index 0 .. n-1, clamped.
int traced_row(const Problem& p);

/// The rows of Q that are computed, ascending: all, or `rows` of them evenly spread, the traced one among them.
std::vector<int> computed_rows(const Problem& p);

/// Largest sizes accepted.
inline constexpr int max_n = 1 << 20, max_d = 1024;
inline constexpr double max_alibi = 1e6;

/// Throws std::invalid_argument in one sentence that names the key ("problem.n"), the value and what was expected.
void validate(const Experiment& e);

}  // namespace attoscope
