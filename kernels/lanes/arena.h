/// A thread's scratch memory, handed out as 64-byte aligned arrays.
#pragma once

#include <cstddef>

namespace attoscope {

/// Hands out arrays from one block of memory; with a null block it only counts, to find the size.
class Arena {
 public:
  explicit Arena(void* memory) : memory_(static_cast<char*>(memory)) {}

  /// `count` elements of T, 64-byte aligned; null while counting.
  template <class T>
  T* take(std::size_t count) {
    T* array = memory_ ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return array;
  }
  /// On a CPU the same as `take`; simt_lanes.h distinguishes them for GPU threads.
  template <class T>
  T* take_own(std::size_t count) {
    return take<T>(count);
  }
  template <class T>
  T* take_tile(std::size_t count) {
    return take<T>(count);
  }
  template <class T>
  bool has_room_for(std::size_t) const {
    return true;
  }
  std::size_t used() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

}  // namespace attoscope
