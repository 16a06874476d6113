/// The backward pass, compiled once per instruction set with its flags. A GPU's lanes have no double-double.
#include "kernels/cpu/aligned_buffer.h"
#ifdef ATTOSCOPE_SIMT
#include "kernels/backward/gradient_warps.h"
#else
#include "kernels/backward/gradient_keys.h"
#include "kernels/backward/gradient_rows.h"
#include "kernels/backward/precise_lanes.h"
#endif

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

#ifdef ATTOSCOPE_SIMT

/// Calls work(group) for each lane of one warp in turn, each as a group of one lane.
template <class Work>
void each_lane(int count, void* shared, Work work) {
  for (int lane = 0; lane < count; ++lane) work(LaneGroup{.lane_ = lane, .shared_ = shared});
}

template <class T>
std::size_t scratch_of(const GradientRule<T>& rule) {
  const StopSign never;
  const TeamNeeds needs = rows_needs(rule, 1, CpuObserver<T>{nullptr, never});
  return needs.scratch_bytes + needs.shared_bytes;
}

template <class T, RowsPart part>
void part_of_block(const GradientRule<T>& rule, const RowsTask<T>& task, const StopSign& stop, void* scratch) {
  const CpuObserver<T> observer{nullptr, stop};
  char* const shared = static_cast<char*>(scratch) + rows_needs(rule, 1, observer).scratch_bytes;
  each_lane(task.block.count, shared,
            [&](const LaneGroup& group) { gradient_rows_thread(rule, task, part, group, observer, scratch); });
}

template <class T, KeysPart part>
void part_of_keys(const GradientRule<T>& rule, const KeysTask<T>& task, double* d_k, double* d_v) {
  const TeamNeeds needs = keys_needs(rule, 1);
  AlignedBuffer memory;
  char* const scratch = static_cast<char*>(memory.at_least(needs.scratch_bytes + needs.shared_bytes));
  for (int first = task.first; first < task.end; first += warp_lanes) {
    KeysTask<T> own = task;
    own.first = first;
    own.end = std::min(task.end, first + warp_lanes);
    each_lane(own.end - own.first, scratch + needs.scratch_bytes, [&](const LaneGroup& group) {
      gradient_keys_thread(rule, own, part, group, GradientObserver<T>{}, scratch, d_k, d_v);
    });
  }
}
template <class T>
void sums_of_keys(const GradientRule<T>& rule, const KeysTask<T>& task, const StopSign& stop) {
  stop.check();
  part_of_keys<T, KeysPart::sums>(rule, task, nullptr, nullptr);
}

template <class T>
GradientLanes<T> gradient_lanes() {
  return {warp_lanes,
          1,
          scratch_of<T>,
          part_of_block<T, RowsPart::pairs>,
          part_of_block<T, RowsPart::queries>,
          sums_of_keys<T>,
          part_of_keys<T, KeysPart::finish>};
}

}  // namespace

GradientCode gradient_code() { return {gradient_lanes<float>(), gradient_lanes<double>(), {}}; }

#else

template <class T, class Rows, class KeysOfTask>
GradientLanes<T> gradient_lanes(int rows, int parts) {
  using Rule = GradientRule<T>;
  return {.rows = rows,
          .parts = parts,
          .scratch =
              [](const Rule& rule) {
                const StopSign never;
                const RowsTask<T> task;
                Arena arena(nullptr);
                const Rows counted(rule, task, never, arena);
                return arena.used();
              },
          .rows_of_block =
              [](const Rule& rule, const RowsTask<T>& task, const StopSign& stop, void* scratch) {
                Arena arena(scratch);
                Rows(rule, task, stop, arena).run();
              },
          .queries_of_block =
              [](const Rule& rule, const RowsTask<T>& task, const StopSign& stop, void* scratch) {
                Arena arena(scratch);
                Rows(rule, task, stop, arena).queries();
              },
          .sums_of_keys =
              [](const Rule& rule, const KeysTask<T>& task, const StopSign& stop) {
                stop.check();
                KeysOfTask(rule, task).add();
              },
          .finish_keys = [](const Rule& rule, const KeysTask<T>& task, double* d_k,
                            double* d_v) { KeysOfTask(rule, task).finish(d_k, d_v); }};
}

}  // namespace

GradientCode gradient_code() {
  return {gradient_lanes<float, GradientRows<float>, GradientKeys<float> >(Lanes<float>::rows, 1),
          gradient_lanes<double, GradientRows<double>, GradientKeys<double> >(Lanes<double>::rows, 1),
          gradient_lanes<double, PreciseRows, PreciseKeys>(Lanes<double>::width, 2)};
}

#endif

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
