/// Work of a GPU's teams for attention in training, in code that the host can run, too.
#pragma once

#include <algorithm>

#include "kernels/backward/gradient_warps.h"
#include "kernels/train/head/head_tasks.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Shared memory of a team for S of a tile in training: as much as every GPU has by default in addition to the slabs.
inline constexpr std::size_t head_tile_room = 28 * 1024;

/// Bytes of shared memory for a team's copy of a head's rule.
inline constexpr std::size_t rule_bytes = (sizeof(HeadRule<float>) + 15) / 16 * 16;

/// Copies a rule to the team's shared memory: all lanes read it often.
ATTOSCOPE_HOST_DEVICE inline HeadRule<float>& shared_copy(const HeadRule<float>& rule, void* shared, const LaneGroup& group) {
  static_assert(std::is_trivially_copyable_v<HeadRule<float>> && sizeof(HeadRule<float>) % 4 == 0);
  const char* const from = reinterpret_cast<const char*>(&rule);
  char* const to = static_cast<char*>(shared);
  const int step = group.threads() * 4;
  for (int i = group.thread() * 4; i < static_cast<int>(sizeof(HeadRule<float>)); i += step)
    __builtin_memcpy(to + i, from + i, 4);
  group.sync();
  return *reinterpret_cast<HeadRule<float>*>(shared);
}

/// Scratch of team `team` of the part's head `index`.
template <class Task>
ATTOSCOPE_HOST_DEVICE char* scratch_of(const Task& t, const TeamBytes& bytes, int index, int team) {
  return t.scratch + static_cast<std::size_t>(index * t.size.teams + team) * bytes.scratch;
}

/// The forward pass in one thread of team `team` of the part's head `index`. All threads of the team call it.
ATTOSCOPE_HOST_DEVICE inline void attend_thread(const AttendTask& t, int index, int team, const LaneGroup& group,
                                                void* shared) {
  const HeadBatch<float>& batch = t.batch;
  const int place = t.part.first + index;
  const std::int64_t first = std::int64_t{index} * batch.context * batch.d, state = std::int64_t{place} * batch.context;
  Job<float>& job = shared_copy(batch.rules[place % batch.heads], shared, group).job;
  if (group.thread() == 0) {
    job.q = t.x.q + first;
    job.k = t.x.keys + first;
    job.v = t.x.v + first;
    job.seed = head_seed(batch.rounding_seed, place);
    // the magnitudes are not known, so ShortRounder must not be used
    job.ranges.q.largest = job.ranges.k.largest = job.ranges.v.largest = std::numeric_limits<double>::infinity();
  }
  group.sync();
  const GradientObserver<float> observer{{}, batch.m + state, batch.l + state};
  attention_thread(job, RowSlice{t.rows, batch.context, 0}, team, group, observer,
                   {scratch_of(t, t.size.forward, index, team), head_tile_room}, t.out + first);
}

/// The rule of the backward pass of the part's head `index`, in shared memory.
ATTOSCOPE_HOST_DEVICE inline const GradientRule<float>& rule_of(const DifferentiateTask& t, int index, const LaneGroup& group,
                                                                void* shared) {
  const HeadBatch<float>& batch = t.batch;
  const int place = t.part.first + index;
  const std::int64_t first = std::int64_t{index} * batch.context * batch.d;
  GradientRule<float>& rule = shared_copy(batch.rules[place % batch.heads], shared, group);
  if (group.thread() == 0) {
    const float* const q = t.x.q + first;
    take_head(rule, batch, place,
              {q, t.x.keys + first, q, t.x.k + first, t.x.v + first, t.x.d_o + first, batch.d, t.x.o + first});
    // the magnitudes are not known, so ShortRounder must not be used
    rule.job.ranges.q.largest = rule.job.ranges.k.largest = std::numeric_limits<double>::infinity();
  }
  group.sync();
  return rule;
}
/// Offset of P and dS of the head's block of rows.
ATTOSCOPE_HOST_DEVICE inline std::ptrdiff_t pairs_of(const DifferentiateTask& t, int index, int block) {
  return std::ptrdiff_t{index * t.size.teams + block} * t.batch.context * device_rows;
}

/// One thread of the team of row block `block` of the part's head `index`. All threads of the team call it.
ATTOSCOPE_HOST_DEVICE inline void differentiate_rows_thread(const DifferentiateTask& t, int index, int block,
                                                            const LaneGroup& group, void* shared) {
  const GradientRule<float>& rule = rule_of(t, index, group, shared);
  const std::ptrdiff_t pairs = pairs_of(t, index, block);
  const RowBlock rows = t.blocks[block];
  const RowsTask<float> task{.block = rows,
                             .keys = {nullptr, t.batch.context},
                             .p = t.p + pairs,
                             .ds = t.ds + pairs,
                             .d_q = t.d_q + std::int64_t{index} * t.batch.context * t.batch.d,
                             .places = rows.rows};
  gradient_rows_thread(rule, task, RowsPart::both, group, GradientObserver<float>{}, scratch_of(t, t.size.rows, index, block));
}

/// The same for key block `own`; row blocks from `own` on see its keys.
ATTOSCOPE_HOST_DEVICE inline void differentiate_keys_thread(const DifferentiateTask& t, int index, int own,
                                                            const LaneGroup& group, void* shared) {
  const GradientRule<float>& rule = rule_of(t, index, group, shared);
  const std::int64_t first = std::int64_t{index} * t.batch.context * t.batch.d;
  const std::ptrdiff_t pairs = pairs_of(t, index, own);
  const int key = own * device_rows, left = t.batch.context - key;
  const KeysTask<float> task{.blocks = t.blocks + own,
                             .first_rows = t.first_rows + own,
                             .block_count = t.size.teams - own,
                             .keys = {nullptr, t.batch.context},
                             .first = key,
                             .end = key + (left < device_rows ? left : device_rows),
                             .p = t.p + pairs,
                             .ds = t.ds + pairs,
                             .d_k = t.dk_sums + first,
                             .d_v = t.dv_sums + first};
  char* const scratch = scratch_of(t, t.size.keys, index, own);
  for (const KeysPart part : {KeysPart::sums, KeysPart::finish})
    gradient_keys_thread(rule, task, part, group, GradientObserver<float>{}, scratch, t.d_k + first, t.d_v + first);
}

/// Memory of the teams of a batch, of `warps` warps each; the batch's rules are on the host.
inline HeadLaunchSize head_launch_size(const HeadBatch<float>& batch, int warps = team_warps) {
  static_assert(device_rows == team_rows);
  HeadLaunchSize size{.teams = teams_of(batch.context)};
  const auto add = [](TeamBytes& most, const TeamNeeds& needs) {
    most = {std::max(most.scratch, needs.scratch_bytes), std::max(most.shared, needs.shared_bytes)};
  };
  for (int head = 0; head < batch.heads; ++head) {
    GradientRule<float> rule = batch.rules[head];
    add(size.forward, attention_needs<GradientObserver<float>>(rule.job, warps, head_tile_room));
    take_head(rule, batch, head, {.width = batch.d});
    add(size.rows, rows_needs(rule, warps, GradientObserver<float>{}, true));
    add(size.keys, keys_needs(rule, warps));
  }
  return size;
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
