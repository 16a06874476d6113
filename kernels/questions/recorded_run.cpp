// One row through the lanes of a GPU's thread, run by the CPU, with a rounder that logs.
#define ATTOSCOPE_SIMT recorded
#define ATTOSCOPE_RECORDS

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/lanes/attention_lanes.h"
#include "kernels/lanes/rounding_log.h"
#include "kernels/questions/row_tiles.h"

namespace attoscope {
namespace {

template <class T>
struct RecordingObserver : CpuObserver<T> {
  RoundingLog* log;
};

}  // namespace

template <class T>
std::vector<double> recorded_run(const Job<T>& job, int row, Recorder<T>& recorder, RoundingLog& log) {
  using Block = recorded::AttentionBlock<T, RecordingObserver<T>>;
  const StopSign never;
  const RecordingObserver<T> observer{{&recorder, never}, &log};
  const RowBlock block{&row, 1, 0};
  recorded::LaneArena sizes(1, 0);
  const Block sized(job, block, recorded::LaneGroup{}, observer, sizes);
  AlignedBuffer memory;
  auto* const scratch = static_cast<char*>(memory.at_least(sizes.used() + sizes.shared()));
  const recorded::LaneGroup lane{.shared_ = scratch + sizes.used()};
  recorded::LaneArena arena(scratch, lane);
  std::vector<double> output(static_cast<std::size_t>(job.d_v));
  Block(job, block, lane, observer, arena).run(output.data());
  return output;
}

template std::vector<double> recorded_run(const Job<float>&, int, Recorder<float>&, RoundingLog&);
template std::vector<double> recorded_run(const Job<double>&, int, Recorder<double>&, RoundingLog&);

}  // namespace attoscope
