/// The backward pass on one GPU. Only *.cu include this.
#pragma once

#include <memory>

#include "kernels/backward/gradient_device.h"

namespace attoscope {

/// Loads the kernels on the current GPU.
void load_gradients_in_float();
void load_gradients_in_double();

/// The backward pass in one working type on the GPU that is current at construction, with launches shorter than `limit_ms`. The
/// GPU must be current in all calls.
template <class T>
class GpuGradients {
 public:
  virtual ~GpuGradients() = default;
  virtual void forward(const Job<T>& job, int queries, Matrix& output, RowStates<T>& states, const StopSign& stop) = 0;
  virtual void run(const GradientPass<T>& pass, Gradients& g, const StopSign& stop) = 0;
};
std::unique_ptr<GpuGradients<float>> gpu_gradients_in_float(float limit_ms);
std::unique_ptr<GpuGradients<double>> gpu_gradients_in_double(float limit_ms);

}  // namespace attoscope
