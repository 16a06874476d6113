/// RAII wrappers of CUDA's handles: device memory, streams, events. Only *.cu and app/window/texture_cuda.cpp include this.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/gpu/device.h"

namespace attoscope {

/// Failure of a CUDA call. what() is one sentence with the place of the call and CUDA's message.
struct DeviceError : DeviceFailure {
  using DeviceFailure::DeviceFailure;
};

/// "gpu/simulate_cuda.cu": the last folder and the file name, to leave out build folders.
inline std::string short_path(const char* path) {
  const std::string whole(path);
  const std::size_t last = whole.rfind('/');
  const std::size_t before = last == std::string::npos || last == 0 ? std::string::npos : whole.rfind('/', last - 1);
  return before == std::string::npos ? whole : whole.substr(before + 1);
}

/// A source line, like std::source_location, which clang 14 lacks. Code compiled by nvcc 12, which fails at such default
/// arguments, has an empty file and no line.
struct CallSite {
  const char* file;
  int line;
#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ < 13
  static constexpr CallSite current() { return {"", 0}; }
#else
  static constexpr CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
#endif
  /// " at gpu/simulate_cuda.cu:12", or nothing if the place is unknown.
  std::string words() const { return *file == '\0' ? "" : " at " + short_path(file) + ":" + std::to_string(line); }
};

/// Throws DeviceError with the caller's place if `error` is not success.
inline void check(cudaError_t error, const CallSite place = CallSite::current()) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears the error, so that no later call reports it
  throw DeviceError("The GPU refused" + place.words() + ": " + cudaGetErrorString(error) + ".");
}

/// Clears an error, so that no later call reports it; for destructors, which cannot throw.
inline void ignore(cudaError_t error) noexcept {
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
}

/// Makes `device` the calling thread's GPU. Callers do not restore the previous one: that alone could create a context, and
/// take memory, on an unused GPU.
inline void use_device(int device, const CallSite place = CallSite::current()) { check(cudaSetDevice(device), place); }

/// Value of an attribute of the current GPU.
inline int device_attribute(cudaDeviceAttr which, const CallSite place = CallSite::current()) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), place);
  check(cudaDeviceGetAttribute(&value, which, device), place);
  return value;
}

/// Loads the module of this kernel on the current GPU; slow if the driver has to compile it.
template <class Kernel>
void load_file_of(Kernel* kernel, const CallSite place = CallSite::current()) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)), place);
}

/// Frees CUDA's handles.
struct DestroyHandle {
  void operator()(cudaStream_t stream) const { ignore(cudaStreamDestroy(stream)); }
  void operator()(cudaEvent_t event) const { ignore(cudaEventDestroy(event)); }
};

/// A stream of the GPU that is current at construction; does not synchronise with other streams.
class Stream {
 public:
  explicit Stream(const CallSite place = CallSite::current()) {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), place);
    stream_.reset(stream);
  }

  cudaStream_t get() const { return stream_.get(); }
  /// Waits until all work of the stream is done.
  void wait(const CallSite place = CallSite::current()) const { check(cudaStreamSynchronize(get()), place); }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyHandle> stream_;
};

/// A point in a stream.
class Event {
 public:
  explicit Event(const CallSite place = CallSite::current()) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), place);
    event_.reset(event);
  }

  cudaEvent_t get() const { return event_.get(); }
  void record(const Stream& stream, const CallSite place = CallSite::current()) {
    check(cudaEventRecord(get(), stream.get()), place);
  }
  void wait(const CallSite place = CallSite::current()) const { check(cudaEventSynchronize(get()), place); }
  /// Milliseconds from `start` to this event; both must have been reached.
  float since(const Event& start, const CallSite place = CallSite::current()) const {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, start.get(), get()), place);
    return ms;
  }

 private:
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyHandle> event_;
};

/// `size` elements of T on the GPU that is current at construction; the destructor frees them on the same GPU.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size, const CallSite place = CallSite::current()) : size_(size) {
    if (size == 0) return;
    check(cudaGetDevice(&device_), place);
    check(cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(T)), place);
  }
  /// A copy of x, made in the stream's order. `x` must live until a wait for the stream.
  Buffer(const std::vector<T>& x, const Stream& stream, const CallSite place = CallSite::current()) : Buffer(x.size(), place) {
    upload(x.data(), x.size(), stream, place);
  }
  Buffer(Buffer&& x) noexcept : data_(std::exchange(x.data_, nullptr)), size_(std::exchange(x.size_, 0)), device_(x.device_) {}
  Buffer& operator=(Buffer&& x) noexcept {
    std::swap(data_, x.data_);
    std::swap(size_, x.size_);
    std::swap(device_, x.device_);
    return *this;
  }
  ~Buffer() {
    if (!data_) return;
    ignore(cudaSetDevice(device_));  // otherwise cudaFree could create a context on the thread's current GPU
    ignore(cudaFree(data_));
  }

  T* get() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  int device() const { return device_; }

  /// Makes room for at least `size` elements; loses the contents if it grows.
  void reserve(std::size_t size, const CallSite place = CallSite::current()) {
    if (size <= size_) return;
    *this = Buffer();
    *this = Buffer(size, place);
  }
  /// Before growing, waits for the stream, which may use the buffer.
  void reserve(std::size_t size, const Stream& stream) {
    if (size > size_) stream.wait();
    reserve(size);
  }
  /// Copies `count` elements from the host, in the stream's order. `x` must live until a wait for the stream.
  void upload(const T* x, std::size_t count, const Stream& stream, const CallSite place = CallSite::current()) {
    if (count != 0) check(cudaMemcpyAsync(data_, x, count * sizeof(T), cudaMemcpyHostToDevice, stream.get()), place);
  }
  /// Copies elements [first, first + count) to the host, in the stream's order.
  void download(T* x, std::size_t first, std::size_t count, const Stream& stream,
                const CallSite place = CallSite::current()) const {
    if (count != 0) check(cudaMemcpyAsync(x, data_ + first, count * sizeof(T), cudaMemcpyDeviceToHost, stream.get()), place);
  }
  void clear(const Stream& stream, const CallSite place = CallSite::current()) {
    if (size_ != 0) check(cudaMemsetAsync(data_, 0, bytes(), stream.get()), place);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  int device_ = 0;
};

}  // namespace attoscope
