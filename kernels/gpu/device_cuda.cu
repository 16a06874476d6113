// Lists the GPUs, and queries a kernel's attributes to find out if each GPU accepts this program's code.
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "kernels/gpu/deviation_cuda.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_answer.h"
#include "kernels/gpu/device_matrices.h"
#include "kernels/gpu/gpu.h"
#include "kernels/gpu/gradients_cuda.h"
#include "kernels/gpu/simulate_cuda.h"

namespace attoscope {
namespace {

// Checks the error numbers in kernels/gpu/device_answer.h.
constexpr std::pair<CudaError, cudaError_t> errors[] = {
    {CudaError::none, cudaSuccess},
    {CudaError::stub_library, cudaErrorStubLibrary},
    {CudaError::insufficient_driver, cudaErrorInsufficientDriver},
    {CudaError::devices_unavailable, cudaErrorDevicesUnavailable},
    {CudaError::invalid_device_function, cudaErrorInvalidDeviceFunction},
    {CudaError::no_device, cudaErrorNoDevice},
    {CudaError::no_kernel_image, cudaErrorNoKernelImageForDevice},
    {CudaError::invalid_ptx, cudaErrorInvalidPtx},
    {CudaError::unsupported_ptx, cudaErrorUnsupportedPtxVersion},
    {CudaError::jit_compiler_not_found, cudaErrorJitCompilerNotFound},
    {CudaError::jit_compilation_disabled, cudaErrorJitCompilationDisabled},
    {CudaError::system_driver_mismatch, cudaErrorSystemDriverMismatch},
};
static_assert(std::ranges::all_of(errors,
                                  [](const auto& e) { return static_cast<int>(e.first) == static_cast<int>(e.second); }));

/// Compiled like all other kernels, and small: a driver compiles it quickly.
__global__ void probe_kernel(int* x) { *x = 1; }

CudaVersions versions() {
  CudaVersions v;
  ignore(cudaDriverGetVersion(&v.driver));
  ignore(cudaRuntimeGetVersion(&v.runtime));
  return v;
}

/// Loads our code on the GPU, which creates a context there. Sets `compiles` if its driver must compile the code.
cudaError_t loaded_on(int device, bool& compiles) {
  cudaFuncAttributes attributes{};
  cudaError_t refused = cudaSetDevice(device);
  if (refused == cudaSuccess) refused = cudaFuncGetAttributes(&attributes, probe_kernel);
  const char* const forced = std::getenv("CUDA_FORCE_PTX_JIT");
  compiles = refused == cudaSuccess &&
             ((forced != nullptr && std::string_view(forced) == "1") ||
              is_compiled_by_driver({attributes.binaryVersion, attributes.ptxVersion}, ATTOSCOPE_ARCHITECTURES));
  return refused;
}

DeviceAnswer answer_of(cudaError_t error, DeviceInfo device) {
  ignore(error);
  return {std::move(device), static_cast<CudaError>(error), error == cudaSuccess ? "" : cudaGetErrorString(error)};
}

/// Tests GPU `index`. GPUs with the same capability and driver give the same result: only the first of them is tested, since a
/// test takes memory on the GPU.
DeviceAnswer answer_of(int index, const std::vector<DeviceAnswer>& before) {
  cudaDeviceProp p{};
  if (const cudaError_t refused = cudaGetDeviceProperties(&p, index); refused != cudaSuccess)
    return answer_of(refused, {index, "GPU " + std::to_string(index), 0, 0, 0});
  DeviceInfo device{index, p.name, p.major, p.minor, p.totalGlobalMem};
  device.multiprocessors = p.multiProcessorCount;
  int draws = 0;
  ignore(cudaDeviceGetAttribute(&draws, cudaDevAttrKernelExecTimeout, index));
  device.draws = draws != 0;
  const auto alike = std::ranges::find_if(before, [&](const DeviceAnswer& a) {
    return a.error == CudaError::none && a.device.major == p.major && a.device.minor == p.minor;
  });
  if (alike == before.end()) {
    const cudaError_t refused = loaded_on(index, device.compiles);
    return answer_of(refused, std::move(device));
  }
  device.compiles = alike->device.compiles;
  return answer_of(cudaSuccess, std::move(device));
}

DeviceList listed_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    ignore(error);
    return {{}, why_no_list(static_cast<CudaError>(error), versions(), cudaGetErrorString(error))};
  }
  std::vector<DeviceAnswer> answers;
  for (int i = 0; i < count; ++i) answers.push_back(answer_of(i, answers));
  DeviceList list = device_list(answers, versions(), ATTOSCOPE_ARCHITECTURES);
  mark_drawing(list.devices, std::getenv("WAYLAND_DISPLAY") != nullptr);
  return list;
}

const DeviceList& known() {
  static const DeviceList first = listed_devices();
  return first;
}

}  // namespace

const std::vector<DeviceInfo>& cuda_devices() { return known().devices; }
const std::string& why_no_cuda() { return known().reason; }
int cuda_of_driver() { return versions().driver; }

void attention_code(int gpu) {
  use_device(gpu);
  load_attention_in_float();
  load_attention_in_double();
  load_gradients_in_float();
  load_gradients_in_double();
  load_deviations();
  load_pictures();
}

}  // namespace attoscope
