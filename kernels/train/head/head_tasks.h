/// Attention of many heads as launches on a device: the threads' copies of the warps' inputs and outputs, and the order of the
/// launches. The warps' code is in kernels/train/head/head_warps.h.
#pragma once

#include <algorithm>

#include "kernels/arithmetic/plan_rounder.h"
#include "kernels/arithmetic/random.h"
#include "kernels/train/head/head.h"

namespace attoscope {

/// Heads of a batch that are computed together: places first .. first + count - 1, a place being sequence * heads + head.
struct HeadPart {
  int first = 0, count = 0;
};

/// Offset of a place's first element in the model's matrices.
ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t offset_of(const HeadBatch<float>& batch, int place) {
  return static_cast<std::int64_t>(place / batch.heads) * batch.context * batch.row_stride + (place % batch.heads) * batch.d;
}

/// Element i of a part's contiguous matrices, [place - first][row][column].
struct HeadCell {
  int index = 0, row = 0, column = 0;
};
ATTOSCOPE_HOST_DEVICE_INLINE HeadCell head_cell(const HeadBatch<float>& batch, std::int64_t i) {
  const auto at = static_cast<std::uint32_t>(i), d = static_cast<std::uint32_t>(batch.d);
  const auto context = static_cast<std::uint32_t>(batch.context), line = at / d, index = line / context;
  return {static_cast<int>(index), static_cast<int>(line - index * context), static_cast<int>(at - line * d)};
}

/// Contiguous copies of a part's matrices; a thread copies the same element of each. Q, K and V are rounded by the input step,
/// K and V from the last row to the first if the job is reversed and `reverses`; dO, if it is wanted, is copied unchanged.
struct GatherTask {
  HeadBatch<float> batch;  ///< its rules lie on the device
  HeadPart part;
  bool reverses = true;
  const float* d_o = nullptr;
  float* out = nullptr;  ///< [matrix][place - first][row][column]

  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t count() const { return std::int64_t{part.count} * batch.context * batch.d; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const HeadCell cell = head_cell(batch, i);
    const int place = part.first + cell.index;
    const Job<float>& job = batch.rules[place % batch.heads].job;
    const std::int64_t from = offset_of(batch, place) + cell.row * batch.row_stride + cell.column;
    const int turned_row = reverses && job.reversed ? batch.context - 1 - cell.row : cell.row;
    const std::int64_t reversed = i + (turned_row - cell.row) * std::int64_t{batch.d};
    const std::uint64_t seed = head_seed(batch.rounding_seed, place);
    out[i] = as_input(job[Step::input], batch.q[from], {seed, cell, 0});
    out[count() + reversed] = as_input(job[Step::input], batch.k[from], {seed, cell, 1});
    out[2 * count() + reversed] = as_input(job[Step::input], batch.v[from], {seed, cell, 2});
    if (d_o) out[3 * count() + i] = d_o[from];
  }

 private:
  /// Key of stochastic rounding's random bits.
  struct Draw {
    std::uint64_t seed;
    HeadCell cell;
    int tensor;
  };
  ATTOSCOPE_HOST_DEVICE_INLINE static float as_input(const RounderPlan<float>& plan, float x, const Draw& draw) {
    if (plan.kind != RounderKind::stochastic) return rounded(plan, x);
    return round_stochastic(plan.format, x, random_bits(draw.seed, Step::input, draw.cell.row, draw.cell.column, draw.tensor));
  }
};

/// Copies the outputs of a part's heads, contiguous doubles, into the model's matrix.
struct ScatterTask {
  HeadBatch<float> batch;
  HeadPart part;
  const double* out = nullptr;

  std::int64_t count() const { return std::int64_t{part.count} * batch.context * batch.d; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const HeadCell cell = head_cell(batch, i);
    batch.o[offset_of(batch, part.first + cell.index) + cell.row * batch.row_stride + cell.column] = static_cast<float>(out[i]);
  }
};

/// The forward pass of a part: `teams` teams of warps for each head, each with its own rows.
struct AttendTask {
  HeadBatch<float> batch;  ///< its rules lie on the device
  HeadPart part;
  int teams = 1;
  const float *q = nullptr, *k = nullptr, *v = nullptr;  ///< gathered
  const int* rows = nullptr;                             ///< 0, 1, 2, ...
  double* out = nullptr;                                 ///< [place - first][row][column]
  char* scratch = nullptr;                               ///< [place - first][team]
  std::size_t team_bytes = 0, shared_bytes = 0;          ///< of a team: scratch, shared memory
};

/// The backward pass of a part: first a warp for each block of rows of a head, then one for each block of its keys.
struct DifferentiateTask {
  HeadGradient<float> gradient;  ///< its rules lie on the device
  HeadPart part;
  int warps = 1;
  const float *q = nullptr, *k = nullptr, *v = nullptr, *d_o = nullptr;  ///< gathered
  char* scratch = nullptr;                                               ///< [place - first][warp]
  std::size_t warp_bytes = 0;
};

/// The teams and warps of a head on a device, forward and backward, and the memory that they need.
struct HeadLaunchSize {
  int teams = 1, warps = 1;
  std::size_t team_bytes = 0, shared_bytes = 0;  ///< of a team: scratch, shared memory
  std::size_t warp_bytes = 0;                    ///< of scratch for a warp
};

/// Hands out 256-byte aligned arrays from one block of memory; with a null block it only counts.
class DeviceArena {
 public:
  explicit DeviceArena(void* memory) : memory_(static_cast<char*>(memory)) {}

  template <class X>
  X* take(std::size_t count) {
    X* const part = memory_ ? reinterpret_cast<X*>(memory_ + used_) : nullptr;
    used_ += (count * sizeof(X) + 255) / 256 * 256;
    return part;
  }
  std::size_t used() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

/// work(part) for all places, as many at a time as fit into `available` bytes; each needs `bytes`.
template <class Work>
void in_parts(const HeadBatch<float>& batch, std::size_t bytes, std::size_t available, Work work) {
  const int places = batch.sequences * batch.heads;
  const int at_once = static_cast<int>(std::clamp<std::size_t>(available / bytes, 1, static_cast<std::size_t>(places)));
  for (int first = 0; first < places; first += at_once) work(HeadPart{first, std::min(at_once, places - first)});
}

/// The arrays of one part of the forward or backward pass.
struct HeadArrays {
  HeadArrays(void* memory, const HeadBatch<float>& batch, int places, int matrices, bool with_output, std::size_t scratch_bytes)
      : arena(memory) {
    const std::size_t size =
        static_cast<std::size_t>(places) * static_cast<std::size_t>(batch.context) * static_cast<std::size_t>(batch.d);
    gathered = arena.take<float>(static_cast<std::size_t>(matrices) * size);
    if (with_output) out = arena.take<double>(size);
    scratch = arena.take<char>(static_cast<std::size_t>(places) * scratch_bytes);
    matrix_size = size;
  }
  const float* matrix(std::size_t i) const { return gathered + i * matrix_size; }

  DeviceArena arena;
  float* gathered = nullptr;
  double* out = nullptr;
  char* scratch = nullptr;
  std::size_t matrix_size = 0;
};

/// Attention on a Device, which has head_launch_size(batch), rules(batch) on the device, row_numbers(), attend(task),
/// differentiate_rows(task) and differentiate_keys(task) in addition to the members that DevicePrimitives needs.
template <class Device>
void attention_on(Device& on, HeadBatch<float> batch) {
  const HeadLaunchSize size = on.head_launch_size(batch);
  batch.rules = on.rules(batch);
  const std::size_t scratch = static_cast<std::size_t>(size.teams) * size.team_bytes;
  const std::size_t bytes = HeadArrays(nullptr, batch, 1, 3, true, scratch).arena.used();
  in_parts(batch, bytes, on.workspace_floats() * sizeof(float), [&](const HeadPart& part) {
    const HeadArrays counted(nullptr, batch, part.count, 3, true, scratch);
    const HeadArrays arrays(on.workspace(counted.arena.used()), batch, part.count, 3, true, scratch);
    on.each(GatherTask{.batch = batch, .part = part, .out = arrays.gathered});
    on.attend(AttendTask{batch, part, size.teams, arrays.matrix(0), arrays.matrix(1), arrays.matrix(2), on.row_numbers(),
                         arrays.out, arrays.scratch, size.team_bytes, size.shared_bytes});
    on.each(ScatterTask{batch, part, arrays.out});
  });
}
template <class Device>
void attention_gradient_on(Device& on, HeadGradient<float> gradient) {
  HeadBatch<float>& batch = gradient.forward;
  const HeadLaunchSize size = on.head_launch_size(batch);
  batch.rules = on.rules(batch);
  const std::size_t scratch = static_cast<std::size_t>(size.warps) * size.warp_bytes;
  const std::size_t bytes = HeadArrays(nullptr, batch, 1, 4, false, scratch).arena.used();
  in_parts(batch, bytes, on.workspace_floats() * sizeof(float), [&](const HeadPart& part) {
    const HeadArrays counted(nullptr, batch, part.count, 4, false, scratch);
    const HeadArrays arrays(on.workspace(counted.arena.used()), batch, part.count, 4, false, scratch);
    on.each(GatherTask{.batch = batch, .part = part, .reverses = false, .d_o = gradient.d_o, .out = arrays.gathered});
    const DifferentiateTask task{
        gradient,         part,           size.warps,     arrays.matrix(0), arrays.matrix(1), arrays.matrix(2),
        arrays.matrix(3), arrays.scratch, size.warp_bytes};
    on.differentiate_rows(task);
    on.differentiate_keys(task);
  });
}

}  // namespace attoscope
