/// Checks that training on a GPU gives the CPU's bits, and measures its speed.
#pragma once

#include <functional>
#include <string>

#include "tests/gpu/tally.h"

namespace attoscope::gpu_check {

/// Every primitive, products in the sizes of real models, and steps of training, on the CPU and on `device`.
void compare_training(const std::string& device, bool quick, Tally& tally);

/// Trains on a GPU that `lose` takes away after some steps: the CPU continues with the same bits, and the record says so.
void compare_lost_training(const std::string& device, const std::function<void()>& lose, Tally& tally);

/// Prints the times of the operations of a model of 6 layers x 384, context 256, for a batch of 64, and its steps a second.
void print_training_speed(const std::string& device);

}  // namespace attoscope::gpu_check
