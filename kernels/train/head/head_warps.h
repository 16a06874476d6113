/// Work of a GPU's warps for attention in training, in code that the host can run too: forward in teams, backward each for
/// itself.
#pragma once

#include <algorithm>

#include "kernels/lanes/team.h"
#include "kernels/train/head/head_lanes.h"
#include "kernels/train/head/head_tasks.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Bytes of shared memory for a team's copy of a head's rule.
inline constexpr std::size_t rule_bytes = (sizeof(HeadRule<float>) + 15) / 16 * 16;

/// The team's copy of a rule, in shared memory, since all lanes read it often.
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

/// One thread of team `team` of the part's head `index`. All threads of the team call it.
ATTOSCOPE_HOST_DEVICE inline void attend_thread(const AttendTask& t, int index, int team, const LaneGroup& group,
                                                void* shared) {
  const HeadBatch<float>& batch = t.batch;
  const int place = t.part.first + index;
  const std::int64_t first = std::int64_t{index} * batch.context * batch.d, state = std::int64_t{place} * batch.context;
  Job<float>& job = shared_copy(batch.rules[place % batch.heads], shared, group).job;
  if (group.thread() == 0) {
    job.q = t.q + first;
    job.k = t.k + first;
    job.v = t.v + first;
    job.seed = head_seed(batch.rounding_seed, place);
    // their magnitudes are not known, so ShortRounder must not be used
    job.ranges.q.largest = job.ranges.k.largest = job.ranges.v.largest = std::numeric_limits<double>::infinity();
  }
  group.sync();
  const HeadObserver<float> observer{batch.m + state, batch.l + state};
  attention_thread(job, RowSlice{t.rows, batch.context, 0}, team, group, observer,
                   {t.scratch + static_cast<std::size_t>(index * t.teams + team) * t.team_bytes, head_tile_room},
                   t.out + first);
}

/// State that the warps of one head share in its backward pass; each begins with a copy of its rule.
class HeadDifferentiation {
 public:
  ATTOSCOPE_HOST_DEVICE HeadDifferentiation(const DifferentiateTask& t, int index, const LaneGroup& group, void* shared)
      : rule_(shared_copy(t.gradient.forward.rules[(t.part.first + index) % t.gradient.forward.heads], shared, group)),
        head_(matrices(t, index)),
        group_(group),
        scratch_(t.scratch + static_cast<std::size_t>(index * t.warps) * t.warp_bytes),
        warp_bytes_(t.warp_bytes) {}

  /// work(gradient) with the arrays of a block of rows.
  template <class Work>
  ATTOSCOPE_HOST_DEVICE void with_block(int block, Work work) const {
    LaneArena arena(scratch_ + static_cast<std::size_t>(block) * warp_bytes_, group_);
    HeadGradientBlock<float> gradient(rule_, head_, group_.lane(), group_, arena);
    work(gradient);
  }

 private:
  ATTOSCOPE_HOST_DEVICE static HeadMatrices<float> matrices(const DifferentiateTask& t, int index) {
    const HeadBatch<float>& batch = t.gradient.forward;
    const int place = t.part.first + index;
    const std::int64_t first = std::int64_t{index} * batch.context * batch.d, state = std::int64_t{place} * batch.context,
                       offset = offset_of(batch, place);
    return {.q = t.q + first,
            .k = t.k + first,
            .v = t.v + first,
            .d_o = t.d_o + first,
            .m = batch.m + state,
            .l = batch.l + state,
            .o = batch.o + offset,
            .d_q = t.gradient.d_q + offset,
            .d_k = t.gradient.d_k + offset,
            .d_v = t.gradient.d_v + offset,
            .row_stride = batch.row_stride,
            .seed = head_seed(batch.rounding_seed, place)};
  }

  const HeadRule<float>& rule_;
  const HeadMatrices<float> head_;
  const LaneGroup group_;
  char* scratch_;
  std::size_t warp_bytes_;
};

/// One lane of the warp that has block `block` of the rows of the part's head `index`.
ATTOSCOPE_HOST_DEVICE inline void differentiate_rows_lane(const DifferentiateTask& t, int index, int block,
                                                          const LaneGroup& group, void* shared) {
  HeadDifferentiation(t, index, group, shared).with_block(block, [&](HeadGradientBlock<float>& gradient) {
    gradient.begin();
    gradient.rows(block);
    group.sync();
    gradient.queries(block);
  });
}

/// One lane of the warp that has block `own` of the keys of the part's head `index`.
ATTOSCOPE_HOST_DEVICE inline void differentiate_keys_lane(const DifferentiateTask& t, int index, int own,
                                                          const LaneGroup& group, void* shared) {
  const HeadDifferentiation head(t, index, group, shared);
  for (int block = own; block < t.warps; ++block)
    head.with_block(block, [&](HeadGradientBlock<float>& gradient) {
      gradient.keys(block, own, own);
      group.sync();
      if (block == t.warps - 1) gradient.end(own, own);
    });
}

/// Memory of the teams, of so many warps, and the lone warps of a batch; the batch's rules lie on the host.
inline HeadLaunchSize head_launch_size(const HeadBatch<float>& batch, int warps = team_warps) {
  HeadLaunchSize size{.teams = teams_of(batch.context), .warps = (batch.context - 1) / group_width<float> + 1};
  for (int head = 0; head < batch.heads; ++head) {
    const TeamNeeds needs = attention_needs<HeadObserver<float>>(batch.rules[head].job, warps, head_tile_room);
    LaneArena backward(1, 0);
    const HeadGradientBlock<float> gradient(batch.rules[head], HeadMatrices<float>{}, 0, LaneGroup{}, backward);
    size.team_bytes = std::max(size.team_bytes, needs.scratch_bytes);
    size.shared_bytes = std::max(size.shared_bytes, needs.shared_bytes);
    size.warp_bytes = std::max(size.warp_bytes, backward.used());
  }
  return size;
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
