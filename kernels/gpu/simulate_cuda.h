/// One launch of an emulated kernel on a GPU. Only *.cu include this.
#pragma once

#include "kernels/gpu/gpu.h"
#include "kernels/gpu/launch_pace.h"
#include "kernels/lanes/job.h"

namespace attoscope {

/// Loads the kernels on the current GPU.
void load_attention_in_float();
void load_attention_in_double();

/// Rows of a launch, the range of their work, and memory on the GPU for the output and the scratch.
struct DeviceSlice : RowBlock {
  WorkRange range{};
  char* scratch = nullptr;                ///< scratch of the slice's blocks, unchanged since the previous launch
  double* out = nullptr;                  ///< output of the slice, row-major
  unsigned long long* reached = nullptr;  ///< raised to the largest amount of work done by a row
};

/// Memory for results of a launch other than its output: the moves of m (`moved` is null if they are not recorded) and the
/// states of its rows (null if not requested).
struct DeviceNotes {
  unsigned long long* moved = nullptr;  ///< [tile]
  float* m = nullptr;                   ///< [tile * held + row / row_step]
  int row_step = 1, held = 0;
  double* states = nullptr;  ///< [2 * index among all computed rows]: m, then l
};

/// Launch parameters of a job on the current GPU: rows per thread block, memory and work.
struct BlockShape {
  int rows = 0;
  std::size_t scratch_bytes = 0, shared_bytes = 0;
  std::size_t tile_room = 0;  ///< bytes of shared memory for S of a tile of keys
  int held = 1;               ///< blocks that a multiprocessor runs at a time
  WorkEstimate work{};
};
BlockShape block_shape(const Job<float>& job);
BlockShape block_shape(const Job<double>& job);
BlockShape block_shape_double_double(const Job<double>& job);

/// Launches the job, whose arrays are on the GPU, for a slice. Its output is complete after the last range of work.
void launch(const Job<float>& job, const BlockShape& shape, const DeviceSlice& slice, const DeviceNotes& notes,
            const Stream& stream);
void launch(const Job<double>& job, const BlockShape& shape, const DeviceSlice& slice, const DeviceNotes& notes,
            const Stream& stream);
/// Launches three-pass softmax in double-double, rounded to double.
void launch_double_double(const Job<double>& job, const BlockShape& shape, const DeviceSlice& slice, const Stream& stream);

}  // namespace attoscope
