/// A forward or backward pass on a device of threads, in panels of rows that fit into memory and in short launches. The device
/// is a GPU, or the host in the tests. Included by files in which ATTOSCOPE_SIMT names the lanes.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/backward/gradient_device.h"
#include "kernels/backward/gradient_warps.h"
#include "kernels/experiment/matrix.h"
#include "kernels/gpu/launch_pace.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// `Device` must have
///   X* copied(const X* host, std::size_t count)     a copy on the device, valid until the pass ends
///   X* room<X>(std::size_t count)                   uninitialised memory, valid until the pass ends
///   void clear(X*, std::size_t count)
///   void fetch(X* host, const X*, std::size_t count)
///   int warps()                                     warps per team
///   std::size_t tile_room()                         shared memory in addition to the slabs
///   std::size_t panel_bytes()                       memory for a panel's P and dS
///   LaunchPace pace(const Launch&, const TeamNeeds&)
///   LaunchEnd run(const Launch&, int teams, const TeamNeeds&)
///   int most_teams(const TeamNeeds&)                number of teams whose scratch fits
template <class T, class Device>
class DeviceWork {
 public:
  DeviceWork(Device& device, const StopSign& stop) : device_(device), stop_(stop) {}

 protected:
  static std::size_t size(int count, int columns) {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(columns);
  }
  template <class X>
  void copy(const X*& array, std::size_t count) {
    if (array != nullptr) array = device_.copied(array, count);
  }
  template <class X = double>
  X* output(std::size_t count) {
    X* const x = device_.template room<X>(count);
    device_.clear(x, count);
    return x;
  }
  void copy_scores(Job<T>& job, int queries) {
    copy(job.q, size(queries, job.d));
    copy(job.k, size(job.n, job.d));
    copy(job.scales.q, static_cast<std::size_t>(queries));
    copy(job.scales.k, static_cast<std::size_t>(job.n));
    copy(job.scales.bias, static_cast<std::size_t>(job.scales.bias_count));
    job.measured = nullptr;
  }
  /// Runs `launch` for `teams` teams from `first` on, dividing their work into parts.
  template <class Launch>
  void in_parts(Launch launch, int first, int teams, const TeamNeeds& needs) {
    launch.scratch_bytes = needs.scratch_bytes;
    const UncountedSign stop(stop_);
    in_launches(teams, 1, device_.most_teams(needs), device_.pace(launch, needs), stop, [&](const LaunchPart& part) {
      launch.first = first + part.first;
      launch.range = part.range;
      return device_.run(launch, part.rows, needs);
    });
  }

  Device& device_;
  const StopSign& stop_;
};

/// Computes the forward pass of rows 0 .. queries - 1, and its states.
template <class T, class Device>
class ForwardLaunches : private DeviceWork<T, Device> {
  using Base = DeviceWork<T, Device>;
  using Base::device_, Base::size;

 public:
  using Base::Base;
  void run(Job<T> job, int queries, Matrix& output, RowStates<T>& states) {
    const std::size_t count = static_cast<std::size_t>(queries);
    const std::vector<int> rows = numbers(queries);
    this->copy_scores(job, queries);
    this->copy(job.v, size(job.n, job.d_v));
    this->copy(job.scales.o, static_cast<std::size_t>(job.d_v));
    this->copy(job.scales.o_offset, static_cast<std::size_t>(job.d_v));
    const ForwardLaunch<T> launch{.job = device_.copied(&job, 1),
                                  .rows = device_.copied(rows.data(), count),
                                  .count = queries,
                                  .out = this->output(size(queries, job.d_v)),
                                  .m = device_.template room<T>(count),
                                  .l = device_.template room<T>(count),
                                  .tile_room = device_.tile_room()};
    this->in_parts(launch, 0, teams_of(queries),
                   attention_needs<GradientObserver<T>>(job, device_.warps(), device_.tile_room()));
    output = {queries, job.d_v, std::vector<double>(size(queries, job.d_v))};
    states.m.resize(count);
    states.l.resize(count);
    device_.fetch(output.values.data(), launch.out, output.values.size());
    device_.fetch(states.m.data(), launch.m, count);
    device_.fetch(states.l.data(), launch.l, count);
  }
};

/// Computes a backward pass.
template <class T, class Device>
class GradientLaunches : private DeviceWork<T, Device> {
  using Base = DeviceWork<T, Device>;
  using Base::device_, Base::stop_, Base::copy, Base::output, Base::size, Base::in_parts;

 public:
  GradientLaunches(Device& device, const GradientPass<T>& pass, const StopSign& stop)
      : Base(device, stop), pass_(pass), rule_(pass.rule) {}

  void run(Gradients& g) {
    copy_rule();
    copy_blocks();
    make_outputs(g);
    const std::vector<int> cut = panels();
    int longest = 0;
    for (std::size_t i = 1; i < cut.size(); ++i) longest = std::max(longest, cut[i] - cut[i - 1]);
    const std::size_t pairs = pairs_of_block() * static_cast<std::size_t>(longest);
    keys_.task.p = rows_.p = device_.template room<T>(pairs);
    keys_.task.ds = rows_.ds = device_.template room<T>(pairs);
    for (std::size_t i = 1; i < cut.size(); ++i) {
      run_rows(cut[i - 1], cut[i]);
      if (!pass_.has_sums) continue;
      run_keys(cut[i - 1], cut[i], KeysPart::sums);
      int rows = 0;
      for (int block = cut[i - 1]; block < cut[i]; ++block) rows += pass_.blocks[block].count;
      stop_.report_rows(static_cast<std::size_t>(rows));
    }
    if (pass_.has_sums) run_keys(0, 0, KeysPart::finish);
    fetch(g);
  }

 private:
  void copy_rule() {
    GradientRule<T>& r = rule_;
    Job<T>& job = r.job;
    const std::size_t queries = static_cast<std::size_t>(pass_.queries);
    this->copy_scores(job, pass_.queries);
    job.v = nullptr;  // the rule has its own
    job.scales.o = job.scales.o_offset = nullptr;
    const bool is_given = r.given_d_o != r.d_o;
    copy(r.q, size(pass_.queries, r.width));
    copy(r.k, size(job.n, r.width));
    copy(r.v, size(job.n, r.width_v));
    copy(r.d_o, size(pass_.queries, r.width_v));
    is_given ? copy(r.given_d_o, size(pass_.queries, r.width_v)) : void(r.given_d_o = r.d_o);
    copy(r.m, queries);
    copy(r.l, queries);
    copy(r.o, size(pass_.queries, job.d_v));
    copy(r.d_lse, queries);
    copy(r.known_delta, queries);
    r.column_numbers = nullptr;
    rows_.rule = keys_.rule = device_.copied(&rule_, 1);
  }
  void copy_blocks() {
    const RowBlocks& blocks = pass_.blocks;
    const std::vector<int>& rows = blocks.rows();
    const int* const on_device = device_.copied(rows.data(), rows.size());
    for (int i = 0; i < blocks.count(); ++i) blocks_.push_back({on_device + blocks[i].first, blocks[i].count, blocks[i].first});
    rows_.blocks = device_.copied(blocks_.data(), blocks_.size());
    rows_.first_rows = device_.copied(blocks.first_rows(), blocks_.size());
    rows_.places = device_.copied(blocks.all_places().data(), rows.size());
    rows_.block_q = pass_.block_q;
    rows_.keys = pass_.keys;
    copy(rows_.keys.keys, static_cast<std::size_t>(pass_.keys.count));
    keys_.task.keys = rows_.keys;
  }
  void make_outputs(const Gradients& g) {
    if (pass_.has_queries) rows_.d_q = output(g.dq.values.size());
    if (pass_.lost_count != nullptr)
      rows_.lost_count = this->template output<std::int64_t>(static_cast<std::size_t>(pass_.queries));
    if (!pass_.has_sums) return;
    rows_.delta = output(g.delta.size());
    rows_.lse = output(g.lse.size());
    keys_.d_k = output(g.dk.values.size());
    keys_.d_v = output(g.dv.values.size());
    for (auto [sums, width] : {std::pair{&keys_.task.d_k, rule_.width}, {&keys_.task.d_v, rule_.width_v}}) {
      *sums = device_.template room<T>(size(pass_.keys.count, width));
      device_.clear(*sums, size(pass_.keys.count, width));
    }
  }
  void fetch(Gradients& g) {
    if (pass_.has_queries) device_.fetch(g.dq.values.data(), rows_.d_q, g.dq.values.size());
    if (pass_.lost_count != nullptr) device_.fetch(pass_.lost_count, rows_.lost_count, static_cast<std::size_t>(pass_.queries));
    if (!pass_.has_sums) return;
    device_.fetch(g.delta.data(), rows_.delta, g.delta.size());
    device_.fetch(g.lse.data(), rows_.lse, g.lse.size());
    device_.fetch(g.dk.values.data(), keys_.d_k, g.dk.values.size());
    device_.fetch(g.dv.values.data(), keys_.d_v, g.dv.values.size());
  }

  std::size_t pairs_of_block() const { return size(pass_.keys.count, warp_lanes); }

  /// First block of each panel, and the end of the last.
  std::vector<int> panels() const {
    const std::size_t fit = std::max<std::size_t>(1, device_.panel_bytes() / (2 * sizeof(T) * pairs_of_block()));
    std::vector<int> cut{0};
    for (std::size_t i = 1; i < pass_.cuts.size(); ++i) {
      const bool is_last = i + 1 == pass_.cuts.size();
      const int next = is_last ? pass_.cuts[i] : pass_.cuts[i + 1];
      if (is_last || static_cast<std::size_t>(next - cut.back()) > fit) cut.push_back(pass_.cuts[i]);
    }
    return cut;
  }

  void run_rows(int first, int end) {
    rows_.panel = first;
    in_parts(rows_, first, end - first, rows_needs(rule_, device_.warps(), GradientObserver<T>{}, true));
  }
  void run_keys(int first, int end, KeysPart part) {
    keys_.part = part;
    keys_.task.blocks = rows_.blocks + first;
    keys_.task.first_rows = rows_.first_rows + first;
    keys_.task.block_count = end - first;
    in_parts(keys_, 0, (pass_.keys.count - 1) / warp_lanes + 1, keys_needs(rule_, device_.warps(), (end - first) * warp_lanes));
  }

  const GradientPass<T>& pass_;
  GradientRule<T> rule_;  ///< with arrays on the device
  std::vector<RowBlock> blocks_;
  RowsLaunch<T> rows_;
  KeysLaunch<T> keys_;
};

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
