/// A device that trains as the CPU does and is lost for good at a given call, as a GPU may be.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "kernels/parallel/parallel.h"
#include "kernels/train/paired_training.h"

namespace attoscope::testing {

/// Counts the calls of all its runs; making a run is one.
struct FailingGpu {
  int fails_at = std::numeric_limits<int>::max();  ///< the first call that fails, from 0 on
  int calls = 0, made = 0;
  int threads = 0;  ///< the most that a caller might use

  void call() {
    threads = std::max(threads, max_concurrency());
    if (calls++ >= fails_at) throw DeviceFailure("The GPU was lost");
  }
};

class FailingPrimitives final : public Primitives<float> {
 public:
  explicit FailingPrimitives(FailingGpu& gpu) : gpu_(gpu), on_(cpu_primitives(1)) {}
  std::string name() const override { return "cuda:0 stand-in"; }

  void* allocate(std::size_t bytes) override { return live().allocate(bytes); }
  void release(void* memory) noexcept override { on_->release(memory); }
  void upload(const void* host, std::size_t bytes, void* device) override { live().upload(host, bytes, device); }
  void download(const void* device, std::size_t bytes, void* host) override { live().download(device, bytes, host); }
  void product(const MatrixProduct<float>& p) override { live().product(p); }
  void rounded(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) override {
    live().rounded(x, count, plan, y);
  }
  void clear(float* y, std::int64_t count) override { live().clear(y, count); }
  void embed(const std::uint16_t* tokens, int rows, int context, int width, const float* embedding, const float* positions,
             float* x) override {
    live().embed(tokens, rows, context, width, embedding, positions, x);
  }
  void embed_gradient(const std::uint16_t* tokens, int rows, int context, int width, int vocabulary, const float* d_x,
                      float* d_embedding, float* d_positions) override {
    live().embed_gradient(tokens, rows, context, width, vocabulary, d_x, d_embedding, d_positions);
  }
  void norm(const NormRows<float>& n) override { live().norm(n); }
  void norm_gradient(const NormGradient<float>& n) override { live().norm_gradient(n); }
  void gelu(const float* x, std::int64_t count, const RounderPlan<float>& plan, float* y) override {
    live().gelu(x, count, plan, y);
  }
  void gelu_gradient(const float* x, const float* d_y, std::int64_t count, const RounderPlan<float>& plan,
                     float* d_x) override {
    live().gelu_gradient(x, d_y, count, plan, d_x);
  }
  void attention(const HeadBatch<float>& heads) override { live().attention(heads); }
  void attention_gradient(const HeadGradient<float>& heads) override { live().attention_gradient(heads); }
  void cross_entropy(const CrossEntropy<float>& c) override { live().cross_entropy(c); }
  GradientSize gradient_size(const float* g, std::int64_t count, double unscale) override {
    return live().gradient_size(g, count, unscale);
  }
  void adam(const AdamStep<float>& step) override { live().adam(step); }

 private:
  Primitives<float>& live() {
    gpu_.call();
    return *on_;
  }

  FailingGpu& gpu_;
  std::unique_ptr<Primitives<float>> on_;
};

inline MakePrimitives primitives_of(FailingGpu& gpu) {
  return [&gpu] {
    gpu.call();
    ++gpu.made;
    return std::make_unique<FailingPrimitives>(gpu);
  };
}

/// A FailingGpu device with `instead` as its substitute.
inline TrainDevice lost(FailingGpu& gpu, MakePrimitives instead = primitives_on("cpu", 1).make) {
  return {primitives_of(gpu), std::move(instead)};
}

}  // namespace attoscope::testing
