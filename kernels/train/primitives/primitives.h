/// The operations that a model consists of, as a device runs them: the same bits on every device.
///
/// The written rule (in C++: kernels/train/primitives/row_math.h): every operation is one IEEE operation of T, rounded to
/// nearest even; a product and a sum are one fma only where stated. Every matrix product is one chain of fma in ascending k
/// from 0.
///   sum over the channels of a token: 16 interleaved chains from 0 (element i into chain i mod 16), joined by halves: to chain
///     i is added chain i + 8, then i + 4, i + 2, i + 1;
///   sum over tokens: cut in pieces of `piece` tokens (a sequence each), one chain in ascending order from 0 for every piece;
///     to the first piece's sum the others are added in ascending order.
/// exp and log are those of kernels/arithmetic/exponential.h, square roots and divisions those of IEEE 754; 1e-5 and other
/// constants are rounded to T. Results in the main format D are rounded once, to nearest even, after the operation; only
/// numbers that an optimiser stores may be rounded stochastically.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/gpu/device.h"
#include "kernels/train/head/head.h"
#include "kernels/train/plan/parameters.h"

namespace attoscope {

/// C = round(A.B), or C + round(A.B). A is m x k, B is k x n, C is m x n; any strides.
template <class T>
struct MatrixProduct {
  const T* a = nullptr;
  std::int64_t a_row = 0, a_col = 0;  ///< element (i, k) at a[i * a_row + k * a_col]
  const T* b = nullptr;
  std::int64_t b_row = 0, b_col = 0;  ///< element (k, j) at b[k * b_row + j * b_col]
  T* c = nullptr;
  std::int64_t c_row = 0;  ///< element (i, j) at c[i * c_row + j]
  int m = 0, n = 0, k = 0;
  int piece = 0;  ///< sums over tokens: k cut into pieces of this size, one chain each from 0, added in ascending order; 0: one
  bool adds = false;          ///< adds to C instead of replacing it: C + round(sum), one addition
  RounderPlan<T> rounding{};  ///< of the sum of all pieces, before it is added
};

/// A norm of `rows` tokens of `width` channels; bias is null with Norm::rms.
///   mean = total(x) / width (0 with rms);  c = x - mean;  variance = total(c*c, each added by one fma) / width
///   reciprocal = 1 / sqrt(variance + 1e-5);  y = round(fma(c * reciprocal, gain, bias)), with rms round((c * reciprocal) *
///   gain)
template <class T>
struct NormRows {
  Norm norm = Norm::layer;
  int rows = 0, width = 0;
  const T *x = nullptr, *gain = nullptr, *bias = nullptr;
  T* y = nullptr;                            ///< round(norm(x) * gain + bias)
  T *mean = nullptr, *reciprocal = nullptr;  ///< [row]: mean (0 with rms), 1/sqrt(variance + 1e-5)
  RounderPlan<T> rounding{};                 ///< of y
};

/// The backward pass of a norm: adds to d_x; the gradients of gain and bias are replaced by sums over tokens. With the token's
/// mean and reciprocal from the forward pass:
///   n = (x - mean) * reciprocal;  h = d_y * gain;  s = total(h) / width;  t = total(h*n, each added by one fma) / width
///   d_x = fma(reciprocal, fma(-n, t, h - s), d_x), with rms fma(reciprocal, fma(-n, t, h), d_x)
///   d_bias: sum of d_y;  d_gain: chain = fma(d_y, n, chain)
template <class T>
struct NormGradient {
  NormRows<T> forward;
  const T* d_y = nullptr;
  T *d_x = nullptr, *d_gain = nullptr, *d_bias = nullptr;
  int piece = 0;
};

/// Cross-entropy of `rows` tokens in nats: losses, and round((softmax - onehot) * factor).
///   top = max of the logits;  sum = total(exp(x - top));  loss = (top + log(sum)) - x[target]
///   d = round((exp(x - top) / sum - onehot) * factor)
template <class T>
struct CrossEntropy {
  int rows = 0, vocabulary = 0;
  const T* logits = nullptr;
  const std::uint16_t* targets = nullptr;
  T factor = 1;           ///< loss scale / rows
  T* losses = nullptr;    ///< [row]
  T* d_logits = nullptr;  ///< may be null
  RounderPlan<T> rounding{};
};

/// One step of AdamW over a range of the flat array; all in T. g is the gradient of the scaled loss.
///   g' = (g * unscale) * clip;  m = store(fma(beta1, m, (1 - beta1) * g'));  v = store(fma(beta2, v, (1 - beta2) * (g' * g')))
///   w = store(fma(-rate, fma(decay, w, (m * correction1) / (sqrt(v * correction2) + epsilon)), w))
/// store rounds to the formats `weights` and `moments`; the random bits of element i of the flat array are random_bits(seed,
/// Step::input, 0 for w, 1 for m, 2 for v, i, 0).
template <class T>
struct AdamStep {
  std::int64_t count = 0;
  T *w = nullptr, *m = nullptr, *v = nullptr;
  const T* g = nullptr;
  T unscale = 1, clip = 1, beta1 = 0, beta2 = 0, correction1 = 1, correction2 = 1, rate = 0, epsilon = 0, decay = 0;
  RounderPlan<T> weights{}, moments{};
  std::int64_t first = 0;  ///< place of w[0] in the flat array
  std::uint64_t seed = 0;
};

/// The size of the gradient over all tensors, after multiplication by `unscale`, which removes the loss scale.
struct GradientSize {
  double squares = 0;  ///< sum of squares of double(g) * unscale over finite terms, in the order of kernels/deviation/meter.h
  std::int64_t nonfinite = 0;
  std::int64_t first = -1;  ///< index of the first element that is not finite
};

/// A device that trains. One per run; not thread-safe. Calls are executed in order; `download` and calls that return a value
/// wait. Arrays are in the device's memory; everything throws DeviceFailure if the device fails.
template <class T>
class Primitives {
 public:
  virtual ~Primitives() = default;
  virtual std::string name() const = 0;  ///< "cpu avx512, 2 threads", "cuda:0 NVIDIA H200"

  virtual void* allocate(std::size_t bytes) = 0;  ///< 64-byte aligned, zeros
  virtual void release(void* memory) noexcept = 0;
  virtual void upload(const void* host, std::size_t bytes, void* device) = 0;
  virtual void download(const void* device, std::size_t bytes, void* host) = 0;

  virtual void product(const MatrixProduct<T>& p) = 0;
  /// y = round(x); y may be x.
  virtual void rounded(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) = 0;
  /// y = 0
  virtual void clear(T* y, std::int64_t count) = 0;
  /// x[row][c] = embedding[token][c] + positions[row % context][c]
  virtual void embed(const std::uint16_t* tokens, int rows, int context, int width, const T* embedding, const T* positions,
                     T* x) = 0;
  /// Replaces d_embedding and d_positions by sums of d_x over tokens, in pieces of `context` tokens; each row of the embedding
  /// sums over the tokens with its number.
  virtual void embed_gradient(const std::uint16_t* tokens, int rows, int context, int width, int vocabulary, const T* d_x,
                              T* d_embedding, T* d_positions) = 0;
  virtual void norm(const NormRows<T>& n) = 0;
  virtual void norm_gradient(const NormGradient<T>& n) = 0;
  /// y = round(gelu(x)), gelu(x) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3) (arXiv 1606.08415):
  /// e = exp(fma((x * x) * x, 0.044715, x) * (-2 sqrt(2/pi))),  y = round(x / (1 + e))
  virtual void gelu(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) = 0;
  /// d_x = round(d_y * gelu'(x)), d_x may be d_y, with s = 1 / (1 + e), a = 2 sqrt(2/pi):
  /// gelu'(x) = fma(x * (s * (1 - s)), fma(x * x, 3 * 0.044715 * a, a), s), where 3 * 0.044715 * a is one constant
  virtual void gelu_gradient(const T* x, const T* d_y, std::int64_t count, const RounderPlan<T>& plan, T* d_x) = 0;
  virtual void attention(const HeadBatch<T>& heads) = 0;
  virtual void attention_gradient(const HeadGradient<T>& heads) = 0;
  virtual void cross_entropy(const CrossEntropy<T>& c) = 0;
  virtual GradientSize gradient_size(const T* g, std::int64_t count, double unscale) = 0;
  virtual void adam(const AdamStep<T>& step) = 0;
};

/// Primitives on the CPU, by `threads` threads (0: all) with the instruction set called `isa` (empty: the best).
std::unique_ptr<Primitives<float>> cpu_primitives(int threads = 0, std::string_view isa = {});
/// Primitives on a GPU. Throws DeviceFailure, also if the program has no GPU code.
std::unique_ptr<Primitives<float>> gpu_primitives(int device);
/// Loads the code of training into a GPU.
LoadCode training_code;

/// An array on a device that lives as long as this object.
template <class T, class X>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(Primitives<T>& on, std::size_t count) : count_(count), data_(on.allocate(count * sizeof(X)), Release{&on}) {}

  X* get() const { return static_cast<X*>(data_.get()); }
  std::size_t size() const { return count_; }
  void write(std::span<const X> x) { data_.get_deleter().on->upload(x.data(), x.size_bytes(), data_.get()); }
  std::vector<X> read() const {
    std::vector<X> x(count_);
    data_.get_deleter().on->download(data_.get(), count_ * sizeof(X), x.data());
    return x;
  }

 private:
  struct Release {
    Primitives<T>* on = nullptr;
    void operator()(void* memory) const { on->release(memory); }
  };
  std::size_t count_ = 0;
  std::unique_ptr<void, Release> data_;
};

}  // namespace attoscope
