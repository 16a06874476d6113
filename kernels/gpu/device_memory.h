/// Memory that an engine reuses between updates: GPU memory, and host memory for copies to and from the GPU. Only *.cu include
/// this.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/gpu/gpu.h"

namespace attoscope {

/// Free bytes on the current GPU.
inline std::size_t free_bytes() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all));
  return free;
}
/// Number of parts of `bytes` bytes that fit into a quarter of the current GPU's free memory, or into `taken` if it is larger;
/// at least 1, for which the allocation may fail.
inline int parts_that_fit(const Buffer<char>& taken, std::size_t bytes) {
  const std::size_t room = std::max(taken.bytes(), free_bytes() / 4);
  return static_cast<int>(std::clamp<std::size_t>(room / bytes, 1, 1 << 20));
}

/// Free buffers of one GPU, kept since cudaMalloc and cudaFree wait for all of the GPU's work. Use a buffer only in the stream
/// in which it was last used, or later.
class DevicePool {
 public:
  /// Takes a buffer of at least `bytes`, on the current GPU.
  Buffer<char> take(std::size_t bytes) {
    const std::size_t whole = (bytes + granule - 1) / granule * granule;
    {
      const std::scoped_lock lock(mutex_);
      const auto fits = std::ranges::find_if(idle_, [whole](const Idle& x) { return x.buffer.bytes() == whole; });
      if (fits != idle_.end()) {
        Buffer<char> taken = std::move(fits->buffer);
        idle_.erase(fits);
        return taken;
      }
    }
    return Buffer<char>(whole);
  }
  void give(Buffer<char> buffer) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back({std::move(buffer), false});
  }
  /// Frees the buffers that were not taken since the previous call.
  void trim() {
    std::vector<Idle> freed;
    const std::scoped_lock lock(mutex_);
    const auto unused = std::ranges::partition(idle_, [](const Idle& x) { return !x.is_old; });
    std::ranges::move(unused, std::back_inserter(freed));
    idle_.erase(unused.begin(), unused.end());
    for (Idle& x : idle_) x.is_old = true;
  }

 private:
  struct Idle {
    Buffer<char> buffer;
    bool is_old;
  };
  static constexpr std::size_t granule = 4096;

  std::mutex mutex_;
  std::vector<Idle> idle_;
};

/// A buffer that returns to its pool; it is freed if the pool is gone.
class Pooled {
 public:
  Pooled() = default;
  Pooled(const std::shared_ptr<DevicePool>& pool, std::size_t bytes) : pool_(pool), buffer_(pool->take(bytes)) {}
  Pooled(Pooled&&) noexcept = default;
  Pooled& operator=(Pooled&& x) noexcept {
    std::swap(pool_, x.pool_);
    std::swap(buffer_, x.buffer_);
    return *this;
  }
  ~Pooled() {
    if (const auto pool = pool_.lock(); pool && buffer_.get()) pool->give(std::move(buffer_));
  }

  char* get() const { return buffer_.get(); }

 private:
  std::weak_ptr<DevicePool> pool_;
  Buffer<char> buffer_;
};

/// Page-locked host memory; copies through it overlap with the host's work.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes, const CallSite place = CallSite::current()) : bytes_(bytes) {
    char* data = nullptr;
    check(cudaMallocHost(reinterpret_cast<void**>(&data), bytes), place);
    data_.reset(data);
  }

  char* get() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* data) const { ignore(cudaFreeHost(data)); }
  };
  std::unique_ptr<char, Free> data_;
  std::size_t bytes_ = 0;
};

/// Host memory for pending copies to or from a GPU. Nothing is reused before `reset`, which must follow a wait for the stream.
class Staging {
 public:
  /// Larger copies are not staged: they take long anyway, and the host waits for them.
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  char* take(std::size_t bytes) {
    const std::size_t whole = (bytes + 255) / 256 * 256;
    if (blocks_.empty() || used_ + whole > blocks_.back().bytes()) {
      blocks_.emplace_back(std::max({whole, least_block, blocks_.empty() ? 0 : 2 * blocks_.back().bytes()}));
      used_ = 0;
    }
    used_ += whole;
    return blocks_.back().get() + used_ - whole;
  }
  /// Copies `count` elements of x to the host; complete after a wait for the stream.
  template <class T>
  const T* sent(const Buffer<T>& x, std::size_t first, std::size_t count, const Stream& stream) {
    T* const staged = reinterpret_cast<T*>(take(count * sizeof(T)));
    x.download(staged, first, count, stream);
    return staged;
  }
  /// Frees all blocks except the last, which is the largest.
  void reset() {
    if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
    used_ = 0;
  }

 private:
  static constexpr std::size_t least_block = std::size_t{1} << 20;

  std::vector<PinnedBuffer> blocks_;
  std::size_t used_ = 0;
};

}  // namespace attoscope
