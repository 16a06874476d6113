/// An engine like a GPU's, run by the host: the same code in the same teams, slices and shares, inputs copied once.
#pragma once

// clang-format off: comes before the kernels' headers, whose lanes it selects
#include "tests/twin/host_team.h"
// clang-format on

#include <algorithm>
#include <stdexcept>

#include "kernels/deviation/meter.h"
#include "kernels/gpu/engine.h"
#include "kernels/gpu/input_copies.h"
#include "kernels/gpu/launch_pace.h"
#include "kernels/lanes/deviation_lanes.h"
#include "tests/twin/host_gradients.h"

namespace attoscope::testing {

struct HostEngineOptions {
  std::uint64_t seed = 1;
  int devices = 1;            ///< number that share the rows
  int slice_teams = 3;        ///< most teams of a launch
  int warps = 2;              ///< warps of a team
  std::size_t tile_room = 0;  ///< bytes of shared memory for S, in addition to a piece of keys
  int parts = 0;              ///< about the launches for a slice's work; 0: from random launch times
  int fails_at = -1;          ///< the call or launch that fails; -1: none
  int* runs = nullptr;        ///< counts runs, if not null
  int* launches = nullptr;    ///< counts launches, if not null
  int* copies = nullptr;      ///< counts copied arrays of inputs, if not null
  int* waits = nullptr;       ///< counts waits for the device, if not null
  int* sent = nullptr;        ///< counts returned matrices, if not null
};

class HostEngine final : public Engine {
 public:
  explicit HostEngine(const HostEngineOptions& how)
      : options_(how),
        team_(how.seed, how.warps * simt_host::warp_lanes),
        lone_warp_(how.seed + 2),
        dice_(how.seed + 1),
        gradients_({.seed = how.seed + 3, .warps = how.warps, .slice_teams = how.slice_teams, .tile_room = how.tile_room}) {}

  std::string name() const override { return "run by the host"; }

  void begin() override {
    answers_ = {};
    is_sent_ = {};
  }
  void wait(const StopSign&) override {
    if (options_.waits) ++*options_.waits;
    called();
  }

  void run(const Job<float>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
           RunRecorder<float>* recorder, RowStates<float>* states, const StopSign& stop) override {
    run_noted(job, inputs, rows, output, recorder, states, stop);
  }
  void run(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
           RunRecorder<double>* recorder, RowStates<double>* states, const StopSign& stop) override {
    run_noted(job, inputs, rows, output, recorder, states, stop);
  }
  void run_double_double(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows,
                         const StopSign& stop) override {
    using Notes = simt_host::LaunchObserver<double>;
    const CopiedJob<double, HostCopy> mine = copied(job, inputs);
    in_slices(job.d_v, rows, {lone_warp_, simt_host::dd_needs(job)}, Output::golden, stop, [&](const Thread& thread) {
      return simt_host::dd_thread(mine.job, thread.slice, thread.team, thread.group, Notes{.range = thread.range},
                                  thread.scratch, thread.out);
    });
  }
  void take(const Matrix& matrix, Output output) override {
    called();
    at(output) = matrix;
  }

  void send(Output output) override {
    if (options_.sent) ++*options_.sent;
    called();
    is_sent_[static_cast<std::size_t>(output)] = true;
  }

  void measure(Output output, const StopSign&) override {
    called();
    Moments& all = answers_.moments[static_cast<std::size_t>(output)] = {};
    const std::vector<double>& x = at(output).values;
    each_chain(x.size(), [&](std::size_t chunk, int chain) {
      const ChainMoments m = chain_moments(x.data(), x.size(), chunk, chain);
      all.squares.push_back(m.squares);
      all.nonfinite += static_cast<std::int64_t>(m.nonfinite);
      all.digest_sum += m.digest;
    });
    const double squares = ordered_total(all.squares);
    floors_[static_cast<std::size_t>(output)] = ulp_floor(rms_of(squares, static_cast<std::int64_t>(x.size()) - all.nonfinite));
  }
  void compare(Output x, Output y, const Format& main, bool sorts, const StopSign&) override {
    called();
    ComparisonSums& c = answers_.comparisons[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)];
    DeviationRule rule{.format = main, .floor = floors_[static_cast<std::size_t>(y)]};
    c.chunks = sums(at(x).values, at(y).values, rule);
    rule.centre = mean_difference(c.chunks.data(), c.chunks.size());
    rule.centred_alone = true;
    c.centred = sums(at(x).values, at(y).values, rule);
    if (!sorts) return;
    const std::vector<std::uint64_t> p = sorted(at(x).values), q = sorted(at(y).values);
    each_chain(p.size(),
               [&](std::size_t chunk, int chain) { c.gaps.push_back(chain_gap(p.data(), q.data(), p.size(), chunk, chain)); });
  }

  Matrix output(Output x) override {
    if (!is_sent_[static_cast<std::size_t>(x)]) throw std::logic_error("This matrix was not sent.");
    return at(x);
  }
  const Moments& moments(Output x) const override { return answers_.moments[static_cast<std::size_t>(x)]; }
  const ComparisonSums& comparison(Output x, Output y) const override {
    return answers_.comparisons[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)];
  }
  double run_ms(Output) const override { return 1; }
  GradientDevice& gradients() override { return gradients_; }
  std::shared_ptr<const DeviceMatrices> matrices(const Format&, double) override { return nullptr; }

 private:
  struct HostCopy {
    std::vector<char> bytes;
    const char* get() const { return bytes.data(); }
  };
  static constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();

  void called() {
    if (calls_++ == options_.fails_at) throw DeviceFailure("The GPU was lost.");
  }

  Matrix& at(Output output) { return outputs_[static_cast<std::size_t>(output)]; }

  static std::vector<DeviationSums> sums(const std::vector<double>& x, const std::vector<double>& y,
                                         const DeviationRule& rule) {
    std::vector<DeviationSums> chunks(chunk_count(x.size()));
    each_chain(x.size(), [&](std::size_t chunk, int chain) {
      const std::size_t first = chunk * chunk_size;
      const int count = static_cast<int>(std::min(chunk_size, x.size() - first));
      const DeviationSums part = simt_host::DeviationChunk(rule, chain).sums(x.data() + first, y.data() + first, count);
      if (chain == 0) {
        chunks[chunk] = part;
      } else {
        join(chunks[chunk], part);
      }
    });
    return chunks;
  }

  template <class F>
  static void each_chain(std::size_t count, F f) {
    for (std::size_t chunk = 0; chunk < chunk_count(count); ++chunk)
      for (int chain = 0; chain < chains; ++chain) f(chunk, chain);
  }

  static std::vector<std::uint64_t> sorted(const std::vector<double>& x) {
    std::vector<std::uint64_t> keys;
    for (const double v : x) keys.push_back(key_of(v));
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  template <class T>
  CopiedJob<T, HostCopy> copied(const Job<T>& job, std::uint64_t inputs) {
    return inputs_.of(job, inputs, [this](const char* host, std::size_t bytes) {
      if (options_.copies) ++*options_.copies;
      return HostCopy{{host, host + bytes}};
    });
  }

  template <class T>
  void run_noted(const Job<T>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output, RunRecorder<T>* recorder,
                 RowStates<T>* states, const StopSign& stop) {
    if (options_.runs) ++*options_.runs;
    std::vector<unsigned long long> moved(recorder ? static_cast<std::size_t>(recorder->tiles()) : 0);
    std::vector<float> m(recorder ? moved.size() * static_cast<std::size_t>(recorder->held()) : 0,
                         std::numeric_limits<float>::quiet_NaN());
    simt_host::LaunchObserver<T> notes;
    if (recorder) notes = {moved.data(), m.data(), recorder->row_step(), recorder->held(), job.exp2.score_unit};
    std::vector<double> ends(states ? 2 * rows.size() : 0, nowhere);
    notes.states = states ? ends.data() : nullptr;
    const CopiedJob<T, HostCopy> mine = copied(job, inputs);
    const Shape shape{team_, simt_host::attention_needs<simt_host::LaunchObserver<T>>(job, options_.warps, options_.tile_room)};
    in_slices(job.d_v, rows, shape, output, stop, [&](const Thread& thread) {
      notes.range = thread.range;
      return simt_host::attention_thread(mine.job, thread.slice, thread.team, thread.group, notes,
                                         {thread.scratch, options_.tile_room}, thread.out);
    });
    if (recorder) recorder->take_in({moved.begin(), moved.end()}, std::move(m));
    if (states == nullptr) return;
    for (std::vector<T>* x : {&states->m, &states->l}) x->assign(static_cast<std::size_t>(job.queries), T(0));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      states->m[static_cast<std::size_t>(rows[i])] = static_cast<T>(ends[2 * i]);
      states->l[static_cast<std::size_t>(rows[i])] = static_cast<T>(ends[2 * i + 1]);
    }
  }

  /// Arguments of one thread of a launch.
  struct Thread {
    simt_host::RowSlice slice;
    WorkRange range;
    int team;
    simt_host::LaneGroup group;
    void* scratch;  ///< the team's
    double* out;    ///< the slice's
  };
  struct Shape {
    HostTeam& team;
    simt_host::TeamNeeds needs;
    std::size_t scratch_doubles() const { return needs.scratch_bytes / sizeof(double) + 1; }
  };

  /// thread(Thread) for all rows: devices, slices, windows, teams, threads.
  template <class F>
  void in_slices(int d, const std::vector<int>& rows, const Shape& shape, Output output, const StopSign& stop, F thread) {
    called();
    const int count = static_cast<int>(rows.size()), share = (count - 1) / options_.devices + 1;
    Matrix out{count, d, std::vector<double>(rows.size() * static_cast<std::size_t>(d), -1e300)};
    std::vector<double> scratch;
    for (int first = 0; first < count; first += share)
      in_launches(std::min(share, count - first), simt_host::team_rows, options_.slice_teams, pace(shape.needs.work), stop,
                  [&](const LaunchPart& part) {
                    called();
                    if (part.range.from == 0)
                      scratch.assign(static_cast<std::size_t>(part.blocks) * shape.scratch_doubles(), nowhere);
                    return launch({rows.data() + first + part.first, part.rows, first + part.first}, part.range, shape, scratch,
                                  out.values.data() + static_cast<std::ptrdiff_t>(first + part.first) * d, thread);
                  });
    this->at(output) = std::move(out);
  }

  template <class F>
  LaunchEnd launch(const simt_host::RowSlice& slice, const WorkRange& range, const Shape& shape, std::vector<double>& scratch,
                   double* out, F thread) {
    if (options_.launches) ++*options_.launches;
    std::int64_t reached = 0;
    for (int team = 0; team < simt_host::teams_of(slice.count); ++team) {
      void* const mine = scratch.data() + static_cast<std::size_t>(team) * shape.scratch_doubles();
      const auto body = [&](const simt_host::LaneGroup& group) {
        reached = std::max(reached, thread(Thread{slice, range, team, group, mine, out}));
      };
      shape.team.run(body, shape.needs.shared_bytes);
    }
    const float far_too_long = 1e9f;
    return {reached, options_.parts > 0 ? far_too_long : 0.01f * static_cast<float>(dice_.between(1, 5000))};
  }

  LaunchPace pace(const WorkEstimate& estimate) {
    constexpr int held = 8;
    if (options_.parts > 0) return {options_.slice_teams, held, 5, {estimate.whole, estimate.whole / options_.parts + 1}, 1};
    const WorkEstimate in_steps{estimate.whole, estimate.whole / dice_.between(1, 30) + 1};
    return {options_.slice_teams, held, 5, in_steps, dice_.between(1, 200000)};
  }

  HostEngineOptions options_;
  HostTeam team_, lone_warp_;
  Dice dice_;
  HostGradients gradients_;
  int calls_ = 0;
  InputCopies<HostCopy> inputs_;
  std::array<Matrix, output_count> outputs_;
  std::array<bool, output_count> is_sent_{};
  EngineAnswers answers_;
  std::array<double, output_count> floors_{};  ///< of ulps, if the output is a reference
};

}  // namespace attoscope::testing
