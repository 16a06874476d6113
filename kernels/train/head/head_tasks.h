/// Attention of many heads as launches on a device: copies of the warps' inputs and outputs, and the order of the launches. The
/// warps' code is in kernels/train/head/head_warps.h.
#pragma once

#include <algorithm>

#include "kernels/arithmetic/plan_rounder.h"
#include "kernels/arithmetic/random.h"
#include "kernels/backward/gradient_device.h"
#include "kernels/lanes/arena.h"
#include "kernels/train/head/head.h"

namespace attoscope {

/// Heads of a batch that are computed together: places first .. first + count - 1, a place being sequence * heads + head.
struct HeadPart {
  int first = 0, count = 0;
};

/// Element i of a part's contiguous matrices, [place - first][row][column].
struct HeadCell {
  int index = 0, row = 0, column = 0;
};
ATTOSCOPE_HOST_DEVICE_INLINE HeadCell head_cell(const HeadBatch<float>& batch, std::int64_t i) {
  const auto at = static_cast<std::uint32_t>(i), d = static_cast<std::uint32_t>(batch.d);
  const auto context = static_cast<std::uint32_t>(batch.context), line = at / d, index = line / context;
  return {static_cast<int>(index), static_cast<int>(line - index * context), static_cast<int>(at - line * d)};
}

/// A part's matrices, contiguous, [place - first][row][column].
struct GatheredHeads {
  float *q = nullptr, *keys = nullptr, *v = nullptr;  ///< keys: K as read by the forward pass; v, too, in that pass
  float *k = nullptr, *d_o = nullptr;                 ///< of the backward pass alone
  double* o = nullptr;                                ///< of the backward pass alone
};

/// Copies a batch's numbers to GatheredHeads; each thread copies the same element of each tensor. Q, K and V are rounded by the
/// input step; rows for the forward pass are reversed if the job is.
struct GatherTask {
  HeadBatch<float> batch;  ///< its rules are on the device
  HeadPart part{};
  const float* d_o = nullptr;  ///< null: copies for the forward pass
  GatheredHeads to{};

  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t count() const { return std::int64_t{part.count} * batch.context * batch.d; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const HeadCell cell = head_cell(batch, i);
    const int place = part.first + cell.index;
    const Job<float>& job = batch.rules[place % batch.heads].job;
    const std::int64_t from = offset_of(batch, place) + cell.row * batch.row_stride + cell.column;
    const int turned_row = job.reversed ? batch.context - 1 - cell.row : cell.row;
    const std::int64_t turned = i + (turned_row - cell.row) * std::int64_t{batch.d};
    const std::uint64_t seed = head_seed(batch.rounding_seed, place);
    const float key = as_input(job[Step::input], batch.k[from], seed, cell, 1);
    to.q[i] = as_input(job[Step::input], batch.q[from], seed, cell, 0);
    to.keys[turned] = key;
    to.v[d_o != nullptr ? i : turned] = as_input(job[Step::input], batch.v[from], seed, cell, 2);
    if (d_o == nullptr) return;
    to.k[i] = key;
    to.d_o[i] = d_o[from];
    to.o[i] = static_cast<double>(batch.o[from]);
  }

 private:
  ATTOSCOPE_HOST_DEVICE_INLINE static float as_input(const RounderPlan<float>& plan, float x, std::uint64_t seed,
                                                     const HeadCell& cell, int tensor) {
    if (plan.kind != RounderKind::stochastic) return rounded(plan, x);
    return round_stochastic(plan.format, x, random_bits(seed, Step::input, cell.row, cell.column, tensor));
  }
};

/// Copies a part's numbers, contiguous doubles, into a matrix of the model.
struct ScatterTask {
  HeadBatch<float> batch;
  HeadPart part{};
  const double* from = nullptr;
  float* to = nullptr;

  std::int64_t count() const { return std::int64_t{part.count} * batch.context * batch.d; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const HeadCell cell = head_cell(batch, i);
    to[offset_of(batch, part.first + cell.index) + cell.row * batch.row_stride + cell.column] = static_cast<float>(from[i]);
  }
};

/// Makes the blocks of rows of a head.
struct BlocksTask {
  const int* rows = nullptr;  ///< 0, 1, 2, ...
  int context = 0;
  RowBlock* blocks = nullptr;
  int* first_rows = nullptr;  ///< [block]: the first row of its query tile, which is 0: the tile has all rows

  ATTOSCOPE_HOST_DEVICE_INLINE std::int64_t count() const { return (context - 1) / device_rows + 1; }
  ATTOSCOPE_HOST_DEVICE_INLINE void operator()(std::int64_t i) const {
    const int first = static_cast<int>(i) * device_rows, left = context - first;
    blocks[i] = {rows + first, left < device_rows ? left : device_rows, first};
    first_rows[i] = 0;
  }
};

/// Bytes of a team on a device: scratch, shared memory.
struct TeamBytes {
  std::size_t scratch = 0, shared = 0;
};
/// The teams of a head on a device, and their memory in the forward pass and in the backward pass's launches for rows and keys.
struct HeadLaunchSize {
  int teams = 1;
  TeamBytes forward{}, rows{}, keys{};
};

/// The forward pass of a part: teams of warps for each head, each with its own rows.
struct AttendTask {
  HeadBatch<float> batch;  ///< its rules are on the device
  HeadPart part{};
  HeadLaunchSize size{};
  GatheredHeads x{};
  const int* rows = nullptr;  ///< 0, 1, 2, ...
  double* out = nullptr;      ///< [place - first][row][column]
  char* scratch = nullptr;    ///< [place - first][team]
};

/// The backward pass of a part: first a team for each block of rows of a head, then one for each block of its keys.
struct DifferentiateTask {
  HeadBatch<float> batch;  ///< its rules are on the device
  HeadPart part{};
  HeadLaunchSize size{};
  GatheredHeads x{};
  const int* rows = nullptr;  ///< 0, 1, 2, ...
  RowBlock* blocks = nullptr;
  int* first_rows = nullptr;                              ///< [block]
  float *p = nullptr, *ds = nullptr;                      ///< [place - first][block][key][lane]
  float *dk_sums = nullptr, *dv_sums = nullptr;           ///< [place - first][row][column], 0 at first
  double *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;  ///< [place - first][row][column]
  char* scratch = nullptr;                                ///< [place - first][team]
};

/// Takes the task's arrays from `memory`; returns their number of bytes.
inline std::size_t take_arrays(AttendTask& task, void* memory) {
  const std::size_t heads = static_cast<std::size_t>(task.part.count),
                    numbers = heads * static_cast<std::size_t>(task.batch.context) * static_cast<std::size_t>(task.batch.d);
  Arena arena(memory);
  for (float** x : {&task.x.q, &task.x.keys, &task.x.v}) *x = arena.take<float>(numbers);
  task.out = arena.take<double>(numbers);
  task.scratch = arena.take<char>(heads * static_cast<std::size_t>(task.size.teams) * task.size.forward.scratch);
  return arena.used();
}
inline std::size_t take_arrays(DifferentiateTask& task, void* memory) {
  const std::size_t heads = static_cast<std::size_t>(task.part.count), teams = static_cast<std::size_t>(task.size.teams),
                    context = static_cast<std::size_t>(task.batch.context),
                    numbers = heads * context * static_cast<std::size_t>(task.batch.d);
  Arena arena(memory);
  task.dk_sums = arena.take<float>(2 * numbers);  // both are cleared at once
  if (task.dk_sums != nullptr) task.dv_sums = task.dk_sums + numbers;
  GatheredHeads& x = task.x;
  for (float** y : {&x.q, &x.keys, &x.v, &x.k, &x.d_o}) *y = arena.take<float>(numbers);
  for (float** y : {&task.p, &task.ds}) *y = arena.take<float>(heads * teams * context * device_rows);
  for (double** y : {&x.o, &task.d_q, &task.d_k, &task.d_v}) *y = arena.take<double>(numbers);
  task.blocks = arena.take<RowBlock>(teams);
  task.first_rows = arena.take<int>(teams);
  task.scratch = arena.take<char>(heads * teams * std::max(task.size.rows.scratch, task.size.keys.scratch));
  return arena.used();
}

/// Calls work(task) for one part of `task` after the other, with the part's arrays in the device's workspace.
template <class Device, class Task, class Work>
void with_parts(Device& on, Task task, Work work) {
  task.size = on.head_launch_size(task.batch);
  task.batch.rules = on.rules(task.batch);
  task.rows = on.row_numbers();
  task.part.count = 1;
  const int places = task.batch.sequences * task.batch.heads;
  const std::size_t fit = static_cast<std::size_t>(on.workspace_floats()) * sizeof(float) / take_arrays(task, nullptr);
  const int at_once = static_cast<int>(std::clamp<std::size_t>(fit, 1, static_cast<std::size_t>(places)));
  for (int first = 0; first < places; first += at_once) {
    task.part = {first, std::min(at_once, places - first)};
    take_arrays(task, on.workspace(take_arrays(task, nullptr)));
    work(task);
  }
}

/// Attention on a Device. In addition to the members that DevicePrimitives needs, it has head_launch_size(batch), rules(batch)
/// on the device, row_numbers(), attend(task), differentiate_rows(task) and differentiate_keys(task).
template <class Device>
void attention_on(Device& on, const HeadBatch<float>& batch) {
  with_parts(on, AttendTask{.batch = batch}, [&](const AttendTask& task) {
    on.each(GatherTask{.batch = task.batch, .part = task.part, .to = task.x});
    on.attend(task);
    on.each(ScatterTask{task.batch, task.part, task.out, batch.o});
  });
}
template <class Device>
void attention_gradient_on(Device& on, const HeadGradient<float>& gradient) {
  with_parts(on, DifferentiateTask{.batch = gradient.forward}, [&](const DifferentiateTask& task) {
    const auto scatter = [&](const double* from, float* to) { on.each(ScatterTask{task.batch, task.part, from, to}); };
    on.each(GatherTask{task.batch, task.part, gradient.d_o, task.x});
    on.each(BlocksTask{task.rows, task.batch.context, task.blocks, task.first_rows});
    on.clear(task.dk_sums, 2 * sizeof(float) * static_cast<std::size_t>(task.dv_sums - task.dk_sums));
    on.differentiate_rows(task);
    on.differentiate_keys(task);
    scatter(task.d_q, gradient.d_q);
    scatter(task.d_k, gradient.d_k);
    scatter(task.d_v, gradient.d_v);
  });
}

}  // namespace attoscope
