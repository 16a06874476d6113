/// An experiment: everything that changes a number, as one comparable value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/gradient.h"
#include "kernels/experiment/input.h"
#include "kernels/experiment/mask.h"
#include "kernels/experiment/method.h"

namespace attoscope {

/// The problem that methods compute.
struct Problem {
  Input input{};
  std::uint64_t seed = 1;
  int n = 1024;      ///< queries: rows of Q and O; also keys if n_k is 0
  int n_k = 0;       ///< keys: rows of K and V; 0: n
  int d = 64;        ///< head dimension: columns of Q and K
  int d_v = 0;       ///< columns of V and O; 0: d
  double scale = 0;  ///< factor of the scores; 0: 1/sqrt(d)
  Mask mask{};
  std::optional<double> sink{};             ///< one extra logit in every denominator
  double softcap = 0;                       ///< S becomes softcap * tanh(S / softcap); 0: off
  double alibi = 0;                         ///< slope: S loses alibi * |row - key|
  EmptyRule empty_rows = EmptyRule::zeros;  ///< O of queries that see no key, in golden and in every method
  int rows = 0;                             ///< number of computed query rows, evenly spread; 0: all
  int traced_row = -1;                      ///< query row whose recurrence is traced; negative counts from the end

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// dO: N(0, 1), ones, or a file.
enum class OutputGradient : std::uint8_t { normal, ones, file };
inline constexpr EnumArray<OutputGradient> output_gradient_names{"normal", "ones", "file"};

/// The backward pass of an experiment (kernels/backward/README.md): its incoming gradients, and the methods of a and b.
struct Backward {
  bool on = false;
  OutputGradient d_o = OutputGradient::normal;
  KernelOutput d_o_file{};    ///< n x d_v; read if d_o is `file`
  KernelOutput d_lse_file{};  ///< n x 1, the gradient of the log-sum-exp; 0 without a file
  GradMethod a{}, b{};

  friend bool operator==(const Backward&, const Backward&) = default;
};

/// The whole experiment: method `a` is examined, method `b` is compared with it. Inputs are rounded by a's `input` step for
/// both and for the golden value; b's own `input` step applies on top.
struct Experiment {
  Problem problem{};
  Format format = bf16;  ///< the main format D
  Method a{}, b{.algorithm = Algorithm::three_pass};
  KernelOutput loaded{};  ///< output of a method whose algorithm is `loaded`
  Backward backward{};

  friend bool operator==(const Experiment&, const Experiment&) = default;
};

/// True if the experiment works in double: the main format or the format of a step has more than 24 significant bits.
bool works_in_double(const Experiment& e);

/// Keys: rows of K and V.
constexpr int key_count(const Problem& p) { return p.n_k > 0 ? p.n_k : p.n; }
/// Columns of V and O.
constexpr int value_columns(const Problem& p) { return p.d_v > 0 ? p.d_v : p.d; }
constexpr AttentionShape shape_of(const Problem& p) { return {p.n, key_count(p), p.d, value_columns(p)}; }
/// Key position of query 0; masks and ALiBi count from it. Bottom-right (FlashAttention since 2.1): the last query is at the
/// last key. Top-left: the first query is at the first key.
constexpr int diagonal(const Problem& p) { return p.mask.top_left ? 0 : key_count(p) - p.n; }
/// The mask tensor of the inputs; an empty view if there is none.
inline MaskView mask_view(const Problem& p) {
  const bool has_mask = p.input.kind == InputKind::tensors && p.input.tensors && p.input.tensors->mask;
  return has_mask ? p.input.tensors->mask->view() : MaskView{};
}
/// The range of keys that query `row` sees; a mask tensor may drop keys inside it.
inline Keys visible_keys(const Problem& p, int row) {
  return mask_view(p).within(row, visible_keys(p.mask, row + diagonal(p), key_count(p)));
}
/// True if query `row` sees the key.
inline bool sees_key(const Problem& p, int row, int key) {
  const MaskView mask = mask_view(p);
  return visible_keys(p, row).contains(key) && (mask.terms == nullptr || !mask.drops(row, key));
}
/// True if every query sees every key.
inline bool sees_all(const Problem& p) { return p.mask.kind == Mask::Kind::none && mask_view(p).rows == nullptr; }

/// The smallest range that covers the keys of queries first .. last; empty if they see no key.
Keys keys_of_rows(const Problem& p, int first, int last);

/// The factor of the scores.
double scale_of(const Problem& p);

/// The traced row as an index 0 .. n-1, clamped.
int traced_row(const Problem& p);

/// The computed rows of Q, ascending: all, or `rows` of them, evenly spread and with the traced row.
std::vector<int> computed_rows(const Problem& p);

/// Largest sizes accepted.
inline constexpr int max_n = 1 << 20, max_d = 1024;
inline constexpr double max_alibi = 1e6;

/// Throws std::invalid_argument in one sentence with the key ("problem.n"), the value and the expected one.
void validate(const Experiment& e);

/// The reason why `g` cannot be the backward pass of `m`, which is e.a or e.b: one sentence without a full stop; "": it can.
std::string why_no_gradient(const Experiment& e, const Method& m, const GradMethod& g);

/// The first such reason for the backward pass of a, then of b, on or off; "": both can.
std::string why_no_gradients(const Experiment& e);

}  // namespace attoscope
