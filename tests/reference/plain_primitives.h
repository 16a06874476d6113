/// The rule of kernels/train/primitives/primitives.h as plainly as it can be written: scalar loops of one thread, and
/// attention by tests/reference/plain.h. The tests compare every device with it.
#pragma once

#include <memory>

#include "kernels/train/primitives/primitives.h"

namespace attoscope::plain {

template <class T>
class Device : public Primitives<T> {
 public:
  std::string name() const override { return "plain"; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void upload(const void* host, std::size_t bytes, void* device) override;
  void download(const void* device, std::size_t bytes, void* host) override;

  void product(const MatrixProduct<T>& p) override;
  void rounded(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) override;
  void clear(T* y, std::int64_t count) override;
  void embed(const std::uint16_t* tokens, int rows, int context, int width, const T* embedding, const T* positions,
             T* x) override;
  void embed_gradient(const std::uint16_t* tokens, int rows, int context, int width, int vocabulary, const T* d_x,
                      T* d_embedding, T* d_positions) override;
  void norm(const NormRows<T>& n) override;
  void norm_gradient(const NormGradient<T>& g) override;
  void gelu(const T* x, std::int64_t count, const RounderPlan<T>& plan, T* y) override;
  void gelu_gradient(const T* x, const T* d_y, std::int64_t count, const RounderPlan<T>& plan, T* d_x) override;
  void attention(const HeadBatch<T>& heads) override;
  void attention_gradient(const HeadGradient<T>& heads) override;
  void cross_entropy(const CrossEntropy<T>& c) override;
  GradientSize gradient_size(const T* g, std::int64_t count, double unscale) override;
  void adam(const AdamStep<T>& s) override;
};

template <class T>
std::unique_ptr<Primitives<T>> primitives() {
  return std::make_unique<Device<T>>();
}

}  // namespace attoscope::plain
