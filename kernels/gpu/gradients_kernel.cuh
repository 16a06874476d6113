/// The kernels of the backward pass, for the working type of the including file. Compiled like simulate_kernel.cuh.
#pragma once

#define ATTOSCOPE_SIMT simt_cuda

#include <algorithm>
#include <vector>

#include "kernels/gpu/device_memory.h"
#include "kernels/gpu/gradient_launches.h"
#include "kernels/gpu/gradients_cuda.h"

namespace attoscope {
namespace simt_cuda {

template <class Launch>
__global__ void __launch_bounds__(team_threads, 2)
    gradient_kernel(const __grid_constant__ Launch launch, unsigned long long* reached) {
  const LaneGroup group;
  const std::int64_t end = launch_thread(launch, static_cast<int>(blockIdx.x), group);
  if (group.thread() == 0) atomicMax(reached, static_cast<unsigned long long>(end));
}

/// The GPU as the device of gradient_launches.h. Memory of a pass comes from a pool.
template <class T>
class CudaGradients final : public GpuGradients<T> {
 public:
  explicit CudaGradients(float limit_ms) : limit_ms_(limit_ms), reached_(1) {}

  void forward(const Job<T>& job, int queries, Matrix& output, RowStates<T>& states, const StopSign& stop) override {
    begin();
    ForwardLaunches<T, CudaGradients>(*this, stop).run(job, queries, output, states);
    memory_.clear();
  }
  void run(const GradientPass<T>& pass, Gradients& g, const StopSign& stop) override {
    begin();
    GradientLaunches<T, CudaGradients>(*this, pass, stop).run(g);
    memory_.clear();
  }

  template <class X>
  X* room(std::size_t count) {
    memory_.emplace_back(pool_, std::max<std::size_t>(1, count) * sizeof(X));
    return reinterpret_cast<X*>(memory_.back().get());
  }
  template <class X>
  X* copied(const X* host, std::size_t count) {
    X* const x = room<X>(count);
    check(cudaMemcpyAsync(x, host, count * sizeof(X), cudaMemcpyHostToDevice, stream_.get()));
    stream_.wait();
    return x;
  }
  template <class X>
  void clear(X* x, std::size_t count) {
    check(cudaMemsetAsync(x, 0, count * sizeof(X), stream_.get()));
  }
  template <class X>
  void fetch(X* host, const X* x, std::size_t count) {
    check(cudaMemcpyAsync(host, x, count * sizeof(X), cudaMemcpyDeviceToHost, stream_.get()));
    stream_.wait();
  }
  int warps() const { return team_warps; }
  std::size_t tile_room() const { return tile_room_; }
  /// A quarter of the GPU's free memory.
  std::size_t panel_bytes() const { return free_bytes() / 4; }
  int most_teams(const TeamNeeds& needs) const { return parts_that_fit(scratch_, needs.scratch_bytes); }
  template <class Launch>
  LaunchPace pace(const Launch&, const TeamNeeds& needs) const {
    int held = 1;
    check(cudaFuncSetAttribute(gradient_kernel<Launch>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(needs.shared_bytes)));
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&held, gradient_kernel<Launch>, team_threads, needs.shared_bytes));
    return {multiprocessors_, held, limit_ms_, needs.work};
  }
  /// Runs the launch and waits for its end.
  template <class Launch>
  LaunchEnd run(Launch launch, int teams, const TeamNeeds& needs) {
    if (launch.range.from == 0) scratch_.reserve(needs.scratch_bytes * static_cast<std::size_t>(teams));
    launch.scratch = scratch_.get();
    unsigned long long reached = 0;
    reached_.clear(stream_);
    start_.record(stream_);
    gradient_kernel<<<static_cast<unsigned>(teams), team_threads, needs.shared_bytes, stream_.get()>>>(launch, reached_.get());
    check(cudaGetLastError());
    end_.record(stream_);
    reached_.download(&reached, 0, 1, stream_);
    stream_.wait();
    return {static_cast<std::int64_t>(reached), end_.since(start_)};
  }

 private:
  /// Drops an interrupted pass.
  void begin() {
    stream_.wait();
    memory_.clear();
    pool_->trim();
  }

  float limit_ms_;
  int multiprocessors_ = device_attribute(cudaDevAttrMultiProcessorCount);
  std::size_t tile_room_ = static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) - staged_bytes;
  Stream stream_;
  Event start_, end_;
  Buffer<unsigned long long> reached_;
  Buffer<char> scratch_;
  std::shared_ptr<DevicePool> pool_ = std::make_shared<DevicePool>();
  std::vector<Pooled> memory_;
};

}  // namespace simt_cuda
}  // namespace attoscope
