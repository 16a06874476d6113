/// Experiments for which CPU and GPU must give the same bits.
#pragma once

#include <span>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::gpu_check {

/// Every algorithm with every policy, in every named format and some odd ones, under every mask, over odd sizes.
std::vector<Experiment> full_cross();
/// `count` random experiments: options, formats, masks, biases, nasty inputs; the last quarter rounds stochastically.
std::vector<Experiment> random_ones(int count);
/// Every named backward pass under every mask, with dQ's tiles in all orders; some choose rows.
std::vector<Experiment> backward_ones();
/// A few experiments that fill a GPU.
std::vector<Experiment> large_ones();
/// More rows than one launch takes, each with few keys: N = 70,000.
std::vector<Experiment> many_rows();
/// A few small experiments of every kind, for a tool that slows everything down.
std::vector<Experiment> sample_of_all();

/// Experiments that the tensor-core kernel takes: types, head dimensions, tiles, masks, odd lengths, chosen rows; a is its
/// emulation on a GPU of this compute capability.
std::vector<Experiment> hardware_ones(std::span<const Format> formats, int major, int minor);

}  // namespace attoscope::gpu_check
