/// Copies of inputs on an engine's device, made once, and again when the host's arrays may hold other numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/lanes/job.h"

namespace attoscope {

/// A job that reads copies of its inputs.
template <class T, class Copy>
struct CopiedJob {
  Job<T> job;
  std::vector<Copy> own;  ///< copies used by this job only
};

/// Copies by address within one generation (see `Engine::run`). An address alone does not identify its numbers: a new array may
/// get the address of a deleted one. `Copy` has a `const char* get()`.
template <class Copy>
class InputCopies {
 public:
  /// The job with its arrays replaced by copies; `copy(host, bytes)` makes one. Frees copies of earlier generations first.
  template <class T, class F>
  CopiedJob<T, Copy> of(Job<T> job, std::uint64_t generation, F copy) {
    if (generation != 0 && generation != generation_) {
      held_.clear();
      generation_ = generation;
    }
    std::vector<Copy> own;
    for (const auto& [array, count] : arrays_of(job)) {
      if (*array == nullptr) continue;
      const std::size_t bytes = count * sizeof(T);
      if (generation == 0) {
        own.push_back(copy(reinterpret_cast<const char*>(*array), bytes));
        *array = reinterpret_cast<const T*>(own.back().get());
      } else {
        *array = reinterpret_cast<const T*>(held(reinterpret_cast<const char*>(*array), bytes, copy).get());
      }
    }
    return {job, std::move(own)};
  }

 private:
  /// A job's arrays and their numbers of elements.
  template <class T>
  static std::vector<std::pair<const T**, std::size_t>> arrays_of(Job<T>& job) {
    const std::size_t queries = static_cast<std::size_t>(job.queries), keys = static_cast<std::size_t>(job.n),
                      d = static_cast<std::size_t>(job.d), d_v = static_cast<std::size_t>(job.d_v);
    JobScales<T>& s = job.scales;
    return {{&job.q, queries * d}, {&job.k, keys * d}, {&job.v, keys * d_v},
            {&s.q, queries},       {&s.k, keys},       {&s.bias, static_cast<std::size_t>(s.bias_count)},
            {&s.o, d_v},           {&s.o_offset, d_v}};
  }

  struct Held {
    const char* host;
    std::size_t bytes;
    Copy copy;
  };

  template <class F>
  const Copy& held(const char* host, std::size_t bytes, F copy) {
    for (const Held& h : held_)
      if (h.host == host && h.bytes == bytes) return h.copy;
    held_.push_back({host, bytes, copy(host, bytes)});
    return held_.back().copy;
  }

  std::uint64_t generation_ = 0;
  std::vector<Held> held_;
};

}  // namespace attoscope
