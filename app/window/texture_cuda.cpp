#include "app/window/texture.h"

#ifdef ATTOSCOPE_CUDA
// OpenGL's header must come before CUDA's.
// clang-format off
#include <epoxy/gl.h>
#include <cuda_gl_interop.h>
// clang-format on

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/gpu/device_matrices.h"
#include "kernels/gpu/gpu.h"

namespace attoscope::app {
namespace {

/// GPUs that draw the current GL context; none for a software renderer.
std::vector<int> devices_of_context() {
  std::array<int, 16> found{};
  unsigned count = 0;
  if (cudaGLGetDevices(&count, found.data(), static_cast<unsigned>(found.size()), cudaGLDeviceListAll) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  return {found.begin(), found.begin() + std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(found.size()))};
}

struct Destroy {
  void operator()(CUstream_st* stream) const { ignore(cudaStreamDestroy(stream)); }
  void operator()(cudaGraphicsResource* resource) const { ignore(cudaGraphicsUnregisterResource(resource)); }
};
using UrgentStream = std::unique_ptr<CUstream_st, Destroy>;
using Registration = std::unique_ptr<cudaGraphicsResource, Destroy>;

/// A stream of higher priority than the worker's: pictures do not wait for its launches.
UrgentStream urgent_stream() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  return UrgentStream(stream);
}

Registration registered(unsigned texture) {
  cudaGraphicsResource_t resource = nullptr;
  check(cudaGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_2D,
                                    cudaGraphicsRegisterFlagsSurfaceLoadStore | cudaGraphicsRegisterFlagsWriteDiscard));
  return Registration(resource);
}

/// Maps the texture for CUDA from construction to `end` or destruction; GL must not use it meanwhile.
class Mapping {
 public:
  Mapping(cudaGraphicsResource_t resource, cudaStream_t stream) : resource_(resource), stream_(stream) {
    check(cudaGraphicsMapResources(1, &resource_, stream_));
  }
  ~Mapping() {
    if (resource_) ignore(cudaGraphicsUnmapResources(1, &resource_, stream_));
  }
  Mapping(Mapping&&) = delete;

  /// The texels; they change with every mapping.
  cudaArray_t array() const {
    cudaArray_t texels = nullptr;
    check(cudaGraphicsSubResourceGetMappedArray(&texels, resource_, 0, 0));
    return texels;
  }
  /// Unmaps: later GL commands come after the stream's current work.
  void end() {
    cudaGraphicsResource_t resource = std::exchange(resource_, nullptr);
    check(cudaGraphicsUnmapResources(1, &resource, stream_));
  }

 private:
  cudaGraphicsResource_t resource_;
  cudaStream_t stream_;
};

/// Texels for writing by a kernel.
class Surface {
 public:
  explicit Surface(cudaArray_t texels) {
    cudaResourceDesc what{};
    what.resType = cudaResourceTypeArray;
    what.res.array.array = texels;
    check(cudaCreateSurfaceObject(&surface_, &what));
  }
  ~Surface() { ignore(cudaDestroySurfaceObject(surface_)); }
  Surface(Surface&&) = delete;
  cudaSurfaceObject_t get() const { return surface_; }

 private:
  cudaSurfaceObject_t surface_ = 0;
};

/// Used on the UI thread. The matrices need no synchronisation: a result is published after its GPU has finished, and never
/// changes.
class CudaTexture final : public SharedTexture {
 public:
  CudaTexture(unsigned texture, int device) : device_(device) {
    use_device(device_);
    stream_ = urgent_stream();
    resource_ = registered(texture);
  }
  ~CudaTexture() override {
    ignore(cudaSetDevice(device_));
    ignore(cudaStreamSynchronize(stream_.get()));
    surface_.reset();
    resource_.reset();
    stream_.reset();
  }

  bool serves(const ui::CellSource& source) const override { return source.on_device && source.on_device->device == device_; }

  void paint(const ui::CellSource& source, int width, int height) override {
    use_device(device_);
    check(cudaStreamSynchronize(stream_.get()));  // the last picture is finished: its surface can be deleted
    surface_.reset();
    painted_ = source.on_device;
    Mapping mapping(resource_.get(), stream_.get());
    surface_.emplace(mapping.array());
    sample_on_device(*source.on_device, source.field, source.cells, width, height, ui::PixelImage::nothing, surface_->get(),
                     stream_.get());
    mapping.end();
  }

 private:
  int device_;
  UrgentStream stream_;
  Registration resource_;
  std::optional<Surface> surface_;                 ///< of the last picture; the GPU may still write it
  std::shared_ptr<const DeviceMatrices> painted_;  ///< matrices that the GPU may still read
};

}  // namespace

ShareTexture cuda_sharing() {
  return [devices = std::optional<std::vector<int>>()](unsigned texture,
                                                       const ui::CellSource& source) mutable -> std::unique_ptr<SharedTexture> {
    if (!source.on_device) return nullptr;
    if (!devices) {
      ignore(cudaSetDevice(source.on_device->device));  // the query would create a context on another device
      devices = devices_of_context();
    }
    if (std::ranges::find(*devices, source.on_device->device) == devices->end()) return nullptr;
    return std::make_unique<CudaTexture>(texture, source.on_device->device);
  };
}

}  // namespace attoscope::app

#else

namespace attoscope::app {

ShareTexture cuda_sharing() {
  return [](unsigned, const ui::CellSource&) { return nullptr; };
}

}  // namespace attoscope::app

#endif
