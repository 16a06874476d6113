// Training on a GPU: the Device of DevicePrimitives. One stream; a workspace for data between launches; nothing is allocated
// after the first step.
#include <cstring>
#include <map>

#include "kernels/gpu/device_memory.h"
#include "kernels/train/primitives/device_primitives.h"
#include "kernels/train/primitives/gpu_primitives.h"

namespace attoscope {
namespace {

constexpr int threads_per_block = 256;

template <class Task>
__global__ void __launch_bounds__(threads_per_block) each_kernel(const __grid_constant__ Task task, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
  if (i < count) task(i);
}

/// The 16 lanes of half a warp.
struct HalfWarp {
  ATTOSCOPE_HOST_DEVICE_INLINE int lane() const {
#ifdef __CUDA_ARCH__
    return static_cast<int>(threadIdx.x % row_chains);
#else
    return 0;
#endif
  }
  ATTOSCOPE_HOST_DEVICE_INLINE float above(float x, [[maybe_unused]] int distance) const {
#ifdef __CUDA_ARCH__
    return __shfl_down_sync(mask(), x, static_cast<unsigned>(distance), row_chains);
#else
    return x;
#endif
  }
  ATTOSCOPE_HOST_DEVICE_INLINE float first(float x) const {
#ifdef __CUDA_ARCH__
    return __shfl_sync(mask(), x, 0, row_chains);
#else
    return x;
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  __device__ static unsigned mask() { return 0xffffu << (threadIdx.x / row_chains % 2 * row_chains); }
#endif
};

/// The halves of a warp work independently: each has a row, or none.
template <class Task>
__global__ void __launch_bounds__(threads_per_block) row_kernel(const __grid_constant__ Task task, std::int64_t rows) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x) / row_chains;
  if (row < rows) task(SharedRow<HalfWarp>{}, row);
}

unsigned blocks_for(std::int64_t threads) { return static_cast<unsigned>((threads - 1) / threads_per_block + 1); }

/// Makes a GPU current before the members after it are made there.
struct OnDevice {
  explicit OnDevice(int index) : device(index) { use_device(index); }
  int device;
};

/// The Device of DevicePrimitives. Every call makes this GPU current in the calling thread.
class Gpu {
 public:
  explicit Gpu(int device)
      : on_(device),
        multiprocessors_(device_attribute(cudaDevAttrMultiProcessorCount)),
        going_(pinned_bytes),
        coming_(pinned_bytes),
        rows_(max_context) {
    upload(numbers(max_context).data(), rows_.bytes(), rows_.get());
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all));
    workspace_floats_ = std::min(most_workspace, all / 8) / sizeof(float);
  }
  Gpu(Gpu&&) = delete;
  ~Gpu() {
    ignore(cudaSetDevice(on_.device));
    ignore(cudaStreamSynchronize(stream_.get()));
  }

  std::string name() const {
    const auto found = std::ranges::find(cuda_devices(), on_.device, &DeviceInfo::index);
    return "cuda:" + std::to_string(on_.device) + (found == cuda_devices().end() ? "" : " " + found->name);
  }

  // --- memory -----------------------------------------------------------------------------------------------------------

  void* allocate(std::size_t bytes) {
    const Stream& stream = current();
    Buffer<char> memory(std::max<std::size_t>(1, bytes));
    memory.clear(stream);
    void* const first = memory.get();
    memory_.emplace(first, std::move(memory));
    return first;
  }
  void release(void* memory) noexcept { memory_.erase(memory); }

  /// Small arrays are copied through pinned memory, without waiting.
  void upload(const void* host, std::size_t bytes, void* device) {
    const Stream& stream = current();
    if (bytes > going_.bytes()) {
      copy(device, host, bytes, cudaMemcpyHostToDevice);
      return stream.wait();
    }
    if (used_ + bytes > going_.bytes()) waited();
    std::memcpy(going_.get() + used_, host, bytes);
    copy(device, going_.get() + used_, bytes, cudaMemcpyHostToDevice);
    used_ = std::min(used_ + (bytes + 63) / 64 * 64, going_.bytes());
  }
  void download(const void* device, std::size_t bytes, void* host) {
    static_cast<void>(current());
    const bool small = bytes <= coming_.bytes();
    copy(small ? coming_.get() : host, device, bytes, cudaMemcpyDeviceToHost);
    waited();
    if (small) std::memcpy(host, coming_.get(), bytes);
  }
  void clear(void* memory, std::size_t bytes) {
    if (bytes != 0) check(cudaMemsetAsync(memory, 0, bytes, current().get()));
  }
  void* workspace(std::size_t bytes) {
    static_cast<void>(current());
    workspace_.reserve(bytes);
    return workspace_.get();
  }
  std::int64_t workspace_floats() const { return static_cast<std::int64_t>(workspace_floats_); }

  // --- launches ---------------------------------------------------------------------------------------------------------

  template <class Task>
  void each(const Task& task) {
    const std::int64_t count = task.count();
    if (count <= 0) return;
    each_kernel<<<blocks_for(count), threads_per_block, 0, current().get()>>>(task, count);
    check(cudaGetLastError());
  }
  template <class Task>
  void each_row(const Task& task) {
    const std::int64_t rows = task.rows();
    if (rows <= 0) return;
    row_kernel<<<blocks_for(rows * row_chains), threads_per_block, 0, current().get()>>>(task, rows);
    check(cudaGetLastError());
  }
  int wanted_blocks() const { return multiprocessors_; }
  void multiply(const ProductTask& task, bool large) { launch_product(task, large, current()); }

  void attention(const HeadBatch<float>& heads) { attention_on(*this, heads); }
  void attention_gradient(const HeadGradient<float>& heads) { attention_gradient_on(*this, heads); }
  HeadLaunchSize head_launch_size(const HeadBatch<float>& heads) const { return gpu_head_launch_size(heads); }
  const int* row_numbers() const { return rows_.get(); }
  void attend(const AttendTask& task) { launch_attend(task, current()); }
  void differentiate_rows(const DifferentiateTask& task) { launch_differentiate_rows(task, current()); }
  void differentiate_keys(const DifferentiateTask& task) { launch_differentiate_keys(task, current()); }

  /// The device's copy of a batch's rules, cached by their bytes.
  const HeadRule<float>* rules(const HeadBatch<float>& heads) {
    const auto* const first = reinterpret_cast<const char*>(heads.rules);
    const std::vector<char> bytes(first, first + static_cast<std::size_t>(heads.heads) * sizeof(HeadRule<float>));
    const auto known = rules_.find(bytes);
    if (known != rules_.end()) return known->second.get();
    static_cast<void>(current());
    if (rules_.size() >= most_rules) {
      waited();
      rules_.clear();
    }
    Buffer<HeadRule<float>> copied(static_cast<std::size_t>(heads.heads));
    upload(bytes.data(), bytes.size(), copied.get());
    return rules_.emplace(bytes, std::move(copied)).first->second.get();
  }

 private:
  static constexpr std::size_t pinned_bytes = std::size_t{1} << 20, most_workspace = std::size_t{1} << 30, most_rules = 256;

  const Stream& current() {
    use_device(on_.device);
    return stream_;
  }
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes != 0) check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()));
  }
  /// Waits for the stream; all pinned memory is free after that.
  void waited() {
    stream_.wait();
    used_ = 0;
  }

  OnDevice on_;
  int multiprocessors_;
  Stream stream_;
  PinnedBuffer going_, coming_;
  std::size_t used_ = 0;  ///< bytes of `going_` used by copies that may not be done
  std::size_t workspace_floats_ = 0;
  Buffer<char> workspace_;
  Buffer<int> rows_;
  std::map<void*, Buffer<char>> memory_;
  std::map<std::vector<char>, Buffer<HeadRule<float>>> rules_;
};

}  // namespace

std::unique_ptr<Primitives<float>> gpu_primitives(int device) { return std::make_unique<DevicePrimitives<Gpu>>(device); }

void training_code(int gpu) {
  use_device(gpu);
  load_products();
  load_heads();
  load_file_of(each_kernel<RoundTask>);
}

}  // namespace attoscope
