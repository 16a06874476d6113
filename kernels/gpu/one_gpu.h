/// One GPU's share of an engine's work: persistent inputs and scratch, launches, their records and times. Only *.cu include
/// this.
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/gpu/device_memory.h"
#include "kernels/gpu/engine.h"
#include "kernels/gpu/input_copies.h"
#include "kernels/gpu/launch_pace.h"
#include "kernels/gpu/simulate_cuda.h"

namespace attoscope {

/// Kinds of kernels, whose speeds are unrelated.
enum class KernelKind : std::uint8_t { in_float, in_double, in_double_double };
inline constexpr int kernel_kinds = 3;

/// Construct, use and destroy it while its GPU is current. All work goes into its single stream.
class OneGpu {
 public:
  OneGpu(int device, float limit_ms)
      : device_(device), multiprocessors_(device_attribute(cudaDevAttrMultiProcessorCount)), reached_(1) {
    launches_.limit_ms = limit_ms;
  }

  int device() const { return device_; }
  const Stream& stream() const { return stream_; }
  Staging& staging() { return staging_; }
  const LaunchTimes& launches() const { return launches_; }

  /// Waits for pending work and drops its results.
  void begin() {
    if (is_busy_) wait();
    staging_.reset();
    pool_->trim();
    arriving_ = {};
  }
  void wait() {
    stream_.wait();
    is_busy_ = false;
    for (Run& run : runs_)
      if (std::exchange(run.is_open, false)) note_time(run);
  }

  Pooled matrix(std::size_t count) { return {pool_, std::max<std::size_t>(1, count) * sizeof(double)}; }
  /// Copies the host's bytes, which may be freed before the copy is complete.
  Pooled uploaded(const void* host, std::size_t bytes) {
    Pooled copy(pool_, bytes);
    is_busy_ = true;
    if (bytes > Staging::most_bytes) {
      check(cudaMemcpyAsync(copy.get(), host, bytes, cudaMemcpyHostToDevice, stream_.get()));
      stream_.wait();
    } else {
      char* const staged = staging_.take(bytes);
      std::memcpy(staged, host, bytes);
      check(cudaMemcpyAsync(copy.get(), staged, bytes, cudaMemcpyHostToDevice, stream_.get()));
    }
    return copy;
  }

  /// Runs rows [first, first + rows.size()) of the computed rows in launches of `shape` by `launch(job, slice, notes, stream)`.
  template <class T, class Launch>
  void run(const Job<T>& job, std::uint64_t inputs, std::span<const int> rows, int first, Output output, KernelKind kind,
           const BlockShape& shape, Launch launch, const DeviceNotes& notes, double* out, const StopSign& stop) {
    const CopiedJob<T, Pooled> mine =
        inputs_.of(job, inputs, [this](const char* host, std::size_t bytes) { return uploaded(host, bytes); });
    name_rows(rows);
    is_busy_ = true;
    Run& run = runs_[static_cast<std::size_t>(output)];
    run.kind = kind;
    run.start.record(stream_);
    const int count = static_cast<int>(rows.size()), blocks = (count - 1) / shape.rows + 1;
    const auto launch_part = [&](const LaunchPart& part) {
      if (part.range.from == 0) scratch_.reserve(static_cast<std::size_t>(part.blocks) * shape.scratch_bytes, stream_);
      const DeviceSlice slice{{rows_.get() + part.first, part.rows, first + part.first},
                              part.range,
                              scratch_.get(),
                              out + static_cast<std::ptrdiff_t>(part.first) * job.d_v,
                              reached_.get()};
      launch(mine.job, slice, notes, stream_);
      ++launches_.count;
    };
    const LaunchPace pace(multiprocessors_, shape.held, launches_.limit_ms, shape.work, speed(kind));
    const int room = parts_that_fit(scratch_, shape.scratch_bytes);
    run.work = pace.work_of(blocks);
    run.is_alone = pace.holds(blocks) && blocks <= room;
    if (run.is_alone) {
      reached_.clear(stream_);
      launch_part({0, count, blocks, {}});
    } else {
      in_launches(count, shape.rows, room, pace, stop,
                  [&](const LaunchPart& part) { return timed([&] { launch_part(part); }); });
    }
    run.end.record(stream_);
    run.is_open = true;
  }
  /// Milliseconds of the output's last run.
  double run_ms(Output output) const { return runs_[static_cast<std::size_t>(output)].ms; }

  /// Cleared arrays for the records of launches.
  template <class T>
  DeviceNotes notes_for(const RunRecorder<T>& recorder) {
    const auto tiles = static_cast<std::size_t>(recorder.tiles());
    moved_.reserve(tiles, stream_);
    m_.reserve(tiles * static_cast<std::size_t>(recorder.held()), stream_);
    moved_.clear(stream_);
    check(cudaMemsetAsync(m_.get(), 0xff, m_.bytes(), stream_.get()));  // a NaN that arithmetic never returns
    return {moved_.get(), m_.get(), recorder.row_step(), recorder.held()};
  }
  /// Memory for the states of `rows` rows of an output.
  double* states_of(Output output, std::size_t rows) {
    Buffer<double>& states = states_[static_cast<std::size_t>(output)];
    states.reserve(2 * rows, stream_);
    return states.get();
  }
  /// Queues a copy of the states of `count` rows from `first` on to the host; complete after a wait.
  const double* sent_states(Output output, std::size_t first, std::size_t count) {
    return staging_.sent(states_[static_cast<std::size_t>(output)], 2 * first, 2 * count, stream_);
  }
  /// Queues copies of the records of `tiles` tiles, and of `count` values of m, to the host.
  void send_notes(std::size_t tiles, std::size_t count) {
    const auto* const moved = staging_.sent(moved_, 0, tiles, stream_);
    const auto* const m = staging_.sent(m_, 0, count, stream_);
    arriving_ = {moved, m, tiles, count};
  }
  /// Adds the records that were sent to `moved` and `m`, after a wait.
  void add_notes(std::vector<std::int64_t>& moved, std::vector<float>& m) const {
    for (std::size_t i = 0; i < arriving_.tiles; ++i) moved[i] += static_cast<std::int64_t>(arriving_.moved[i]);
    for (std::size_t i = 0; i < arriving_.count; ++i)
      if (bit_as<std::uint32_t>(arriving_.m[i]) != 0xffffffffu) m[i] = arriving_.m[i];
  }

 private:
  /// The last run of one output.
  struct Run {
    Event start, end;
    KernelKind kind{};
    std::int64_t work = 0;  ///< see LaunchPace
    bool is_open = false;   ///< queued and not yet timed
    bool is_alone = false;  ///< done in a single launch
    float ms = 0;
  };
  struct Notes {
    const unsigned long long* moved = nullptr;
    const float* m = nullptr;
    std::size_t tiles = 0, count = 0;
  };

  std::int64_t& speed(KernelKind kind) { return first_work_[static_cast<std::size_t>(kind)]; }

  /// Sets the work of the next first launch: what takes half of the limit at the run's speed.
  void note_time(Run& run) {
    run.ms = run.end.since(run.start);
    if (run.is_alone) launches_.longest_ms = std::max(launches_.longest_ms, run.ms);
    const std::int64_t fits = LaunchPace::work_in_time(static_cast<double>(run.work), run.ms, launches_.limit_ms);
    speed(run.kind) = run.is_alone ? fits : std::max(speed(run.kind), fits);
  }

  /// Runs `launch` and waits for its end.
  template <class Launch>
  LaunchEnd timed(Launch launch) {
    auto* const reached = reinterpret_cast<unsigned long long*>(staging_.take(sizeof(unsigned long long)));
    reached_.clear(stream_);
    start_.record(stream_);
    launch();
    end_.record(stream_);
    reached_.download(reached, 0, 1, stream_);
    stream_.wait();
    const float ms = end_.since(start_);
    launches_.longest_ms = std::max(launches_.longest_ms, ms);
    return {static_cast<std::int64_t>(*reached), ms};
  }

  void name_rows(std::span<const int> rows) {
    if (std::ranges::equal(rows, named_)) return;
    named_.clear();  // valid again only after the copy
    rows_.reserve(rows.size(), stream_);
    int* const staged = reinterpret_cast<int*>(staging_.take(rows.size_bytes()));
    std::ranges::copy(rows, staged);
    rows_.upload(staged, rows.size(), stream_);
    named_.assign(rows.begin(), rows.end());
  }

  int device_, multiprocessors_;
  LaunchTimes launches_;
  std::array<std::int64_t, kernel_kinds> first_work_{LaunchPace::usual_first_work, LaunchPace::usual_first_work,
                                                     LaunchPace::usual_first_work};
  Stream stream_;
  std::shared_ptr<DevicePool> pool_ = std::make_shared<DevicePool>();
  Staging staging_;
  bool is_busy_ = false;
  std::array<Run, output_count> runs_;
  Event start_, end_;
  Buffer<unsigned long long> reached_;
  InputCopies<Pooled> inputs_;
  std::vector<int> named_;
  Buffer<int> rows_;
  Buffer<char> scratch_;
  Buffer<unsigned long long> moved_;
  Buffer<float> m_;
  std::array<Buffer<double>, output_count> states_;
  Notes arriving_;
};

}  // namespace attoscope
