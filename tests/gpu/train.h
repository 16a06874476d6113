/// Training on a GPU: the CPU's bits, and how fast.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace attoscope::gpu_check {

/// One comparison, and where its bits differ or what went wrong; empty: they are the same.
struct TrainAnswer {
  std::string name, fault;
};

/// Every primitive, products in the sizes of real models, and steps of training, on the CPU and on `device`.
std::vector<TrainAnswer> compare_training(const std::string& device, bool quick);

/// A training whose GPU is lost after some steps, by `lose`: the CPU goes on with its own bits, and says so.
TrainAnswer compare_lost_training(const std::string& device, const std::function<void()>& lose);

/// Prints how long the operations of a model of 6 layers x 384, context 256, take for a batch of 64, and its steps a second.
void print_training_speed(const std::string& device);

}  // namespace attoscope::gpu_check
