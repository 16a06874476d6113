/// What the warps of a GPU do for attention in training, line by line as the host can run them too.
#pragma once

#include <algorithm>

#include "kernels/train/head_lanes.h"
#include "kernels/train/head_tasks.h"
#include "kernels/warp.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Bytes near a warp that hold its own copy of a head's rule.
inline constexpr std::size_t rule_bytes = (sizeof(HeadRule<float>) + 15) / 16 * 16;

/// The warp's copy of a rule, in `near`: all lanes read it all the time.
ATTOSCOPE_ANYWHERE inline HeadRule<float>& near_copy(const HeadRule<float>& rule, void* near, const Crew& crew) {
  static_assert(std::is_trivially_copyable_v<HeadRule<float>> && sizeof(HeadRule<float>) % 4 == 0);
  const char* const from = reinterpret_cast<const char*>(&rule);
  char* const to = static_cast<char*>(near);
  const int step = crew.width() * 4;
  for (int i = crew.lane() * 4; i < static_cast<int>(sizeof(HeadRule<float>)); i += step) __builtin_memcpy(to + i, from + i, 4);
  crew.sync();
  return *reinterpret_cast<HeadRule<float>*>(near);
}

/// One lane of warp `warp` of the part's head `index`. All lanes of the warp call it.
ATTOSCOPE_ANYWHERE inline void attend_lane(const AttendTask& t, int index, int warp, const Crew& crew, void* near) {
  const HeadBatch<float>& batch = t.batch;
  const int place = t.part.first + index;
  const std::int64_t first = std::int64_t{index} * batch.context * batch.d, state = std::int64_t{place} * batch.context;
  Job<float>& job = near_copy(batch.rules[place % batch.heads], near, crew).job;
  if (crew.lane() == 0) {
    job.q = t.q + first;
    job.k = t.k + first;
    job.v = t.v + first;
    job.seed = head_seed(batch.dice, place);
    // nothing is known of them: ShortRounder has no place
    job.q_range.largest = job.k_range.largest = job.v_range.largest = std::numeric_limits<double>::infinity();
  }
  crew.sync();
  const HeadWatch<float> watch{batch.m + state, batch.l + state};
  attention_lane(job, RowSlice{t.rows, batch.context, 0}, warp, crew.lane(), crew, watch,
                 t.scratch + static_cast<std::size_t>(index * t.warps + warp) * t.warp_bytes, t.out + first);
}

/// What the warps of one head share in its backward pass; they begin with a copy of its rule.
class HeadDifferentiation {
 public:
  ATTOSCOPE_ANYWHERE HeadDifferentiation(const DifferentiateTask& t, int index, const Crew& crew, void* near)
      : rule_(near_copy(t.gradient.forward.rules[(t.part.first + index) % t.gradient.forward.heads], near, crew)),
        head_(matrices(t, index)),
        crew_(crew),
        scratch_(t.scratch + static_cast<std::size_t>(index * t.warps) * t.warp_bytes),
        warp_bytes_(t.warp_bytes) {}

  /// work(gradient) with the arrays of a block of rows.
  template <class Work>
  ATTOSCOPE_ANYWHERE void with_block(int block, Work work) const {
    LaneArena arena(scratch_ + static_cast<std::size_t>(block) * warp_bytes_, crew_.lane());
    HeadGradientBlock<float> gradient(rule_, head_, crew_.lane(), crew_, arena);
    work(gradient);
  }

 private:
  ATTOSCOPE_ANYWHERE static HeadMatrices<float> matrices(const DifferentiateTask& t, int index) {
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
            .seed = head_seed(batch.dice, place)};
  }

  const HeadRule<float>& rule_;
  const HeadMatrices<float> head_;
  const Crew crew_;
  char* scratch_;
  std::size_t warp_bytes_;
};

/// One lane of the warp that has block `block` of the rows of the part's head `index`.
ATTOSCOPE_ANYWHERE inline void differentiate_rows_lane(const DifferentiateTask& t, int index, int block, const Crew& crew,
                                                       void* near) {
  HeadDifferentiation(t, index, crew, near).with_block(block, [&](HeadGradientBlock<float>& gradient) {
    gradient.begin();
    gradient.rows(block);
    crew.sync();
    gradient.queries(block);
  });
}

/// One lane of the warp that has block `own` of its keys.
ATTOSCOPE_ANYWHERE inline void differentiate_keys_lane(const DifferentiateTask& t, int index, int own, const Crew& crew,
                                                       void* near) {
  const HeadDifferentiation head(t, index, crew, near);
  for (int block = own; block < t.warps; ++block)
    head.with_block(block, [&](HeadGradientBlock<float>& gradient) {
      gradient.keys(block, own, own);
      crew.sync();
      if (block == t.warps - 1) gradient.end(own, own);
    });
}

/// What the warps of a batch need; its rules lie on the host.
inline HeadRoom head_room(const HeadBatch<float>& batch) {
  static_assert(crew_width<float> == warp_lanes * Lanes<float>::rows, "both passes cut a head into the same warps");
  HeadRoom room{.warps = warps_of(batch.context, Lanes<float>::rows)};
  for (int head = 0; head < batch.heads; ++head) {
    LaneArena forward(nullptr), backward(nullptr);
    const AttentionBlock<float, HeadWatch<float>> attention(batch.rules[head].job, RowBlock{}, Crew{}, HeadWatch<float>{},
                                                            forward);
    const HeadGradientBlock<float> gradient(batch.rules[head], HeadMatrices<float>{}, 0, Crew{}, backward);
    room.attend_bytes = std::max(room.attend_bytes, forward.used());
    room.differentiate_bytes = std::max(room.differentiate_bytes, backward.used());
  }
  return room;
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
