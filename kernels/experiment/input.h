/// Sources of Q, K, V and of loaded outputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

/// Q is n x d, K n_k x d, V n_k x d_v, O n x d_v.
struct AttentionShape {
  int n = 0, n_k = 0;  ///< queries, keys
  int d = 0, d_v = 0;  ///< columns of Q and K, of V and O

  static constexpr AttentionShape square(int n, int d) { return {n, n, d, d}; }
  /// True if there are as many keys as queries, and one number of columns.
  constexpr bool is_square() const { return n == n_k && d == d_v; }
  friend constexpr bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

class AllHeads;
struct MaskTensor;

/// Q, K, V of one head, row-major, as read from a file or drawn.
struct Tensors {
  int n = 0, n_k = 0;  ///< rows of Q; of K and V
  int d = 0, d_v = 0;  ///< columns of Q and K; of V
  std::vector<double> q, k, v;
  std::shared_ptr<const AllHeads> all_heads{};  ///< of the same call; null: there is no other head
  std::shared_ptr<const MaskTensor> mask{};     ///< applied in addition to the problem's rule; null: none

  /// Tensors of this shape, still without numbers.
  static Tensors shaped(const AttentionShape& s) { return {s.n, s.n_k, s.d, s.d_v, {}, {}, {}, {}, {}}; }
  AttentionShape shape() const { return {n, n_k, d, d_v}; }
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
  biased,
  tensors
};
inline constexpr EnumArray<InputKind> input_names{"normal",    "uniform",    "outliers", "ones",   "constant", "ties",
                                                  "ascending", "descending", "shuffled", "biased", "tensors"};
/// True if Input::value is used.
constexpr bool has_value(InputKind k) { return k == InputKind::constant || k == InputKind::biased; }
constexpr std::string_view name(InputKind k) { return input_names[k]; }

/// Digests of the bits and sizes of single tensors; 0: there is none, or it is not known.
struct PartDigests {
  std::uint64_t q = 0, k = 0, v = 0, mask = 0;
};

/// Source of Q, K, V. The file is read outside kernels/; `tensors` then holds its numbers.
struct Input {
  InputKind kind = InputKind::normal;
  double value = 1;          ///< of `constant`; of `biased` the mean of V, which is N(value, 1)
  std::string file;          ///< of `tensors`: FILE.safetensors or q.npy,k.npy,v.npy
  int index = 0;             ///< of `tensors`: which head
  std::uint64_t digest = 0;  ///< of `tensors`: of the bits that were read, so that a changed file is another experiment
  PartDigests parts{};       ///< digests of the parts of `digest`; not compared
  std::shared_ptr<const Tensors> tensors{};  ///< not compared

  friend bool operator==(const Input& x, const Input& y) {
    return x.kind == y.kind && x.value == y.value && x.file == y.file && x.index == y.index && x.digest == y.digest;
  }
};

/// The output of a kernel outside this program, n x d_v. The file is read outside kernels/; `values` then holds its numbers.
struct KernelOutput {
  std::string file;          ///< FILE.npy or FILE.safetensors[:INDEX]; empty: none
  int index = 0;             ///< which head
  std::uint64_t digest = 0;  ///< of the bits that were read, so that a changed file is another experiment
  std::string type{};        ///< of its elements as stored: "BF16"
  int n = 0, d = 0;
  std::shared_ptr<const std::vector<double>> values{};  ///< row-major; not compared
  std::string lse{};  ///< FILE[:NAME] of the kernel's log-sum-exp, which is judged with it; empty: not given

  friend bool operator==(const KernelOutput& x, const KernelOutput& y) {
    return x.file == y.file && x.index == y.index && x.digest == y.digest && x.lse == y.lse;
  }
};

}  // namespace attoscope
