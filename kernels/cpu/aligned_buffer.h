/// 64-byte aligned memory of the CPU.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace attoscope {

inline constexpr std::align_val_t cpu_alignment{64};

/// Frees memory allocated with `cpu_alignment`.
struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete(memory, cpu_alignment); }
};

/// A buffer that grows on demand: a thread's scratch memory.
class AlignedBuffer {
 public:
  /// Memory of at least `bytes` bytes; the contents are lost if the buffer grows.
  void* at_least(std::size_t bytes) {
    if (!memory_ || bytes > bytes_) {
      memory_.reset();
      memory_.reset(::operator new(bytes, cpu_alignment));
      bytes_ = bytes;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<void, AlignedDelete> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace attoscope
