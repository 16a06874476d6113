/// A device like a GPU for backward passes, run by the host: the same code in the same teams, panels and launches.
#pragma once

// clang-format off: comes before the kernels' headers, whose lanes it selects
#include "tests/twin/host_team.h"
// clang-format on

#include <cstring>
#include <vector>

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/gradient_launches.h"

namespace attoscope::testing {

struct HostGradientOptions {
  std::uint64_t seed = 1;
  int warps = 2;                     ///< warps of a team
  int slice_teams = 3;               ///< most teams of a launch
  std::size_t tile_room = 0;         ///< bytes of shared memory for S, in addition to a piece of keys
  std::size_t panel_bytes = 100000;  ///< of P and dS
  int parts = 0;                     ///< about the launches for a slice's work; 0: from random times
  int fails_at = -1;                 ///< the launch that fails; -1: none
  int* launches = nullptr;           ///< counts launches, if not null
};

class HostGradients final : public GradientDevice {
 public:
  explicit HostGradients(const HostGradientOptions& how)
      : options_(how), team_(how.seed, how.warps * simt_host::warp_lanes), dice_(how.seed + 1) {}

  void forward(const Job<float>& job, int queries, Matrix& output, RowStates<float>& states, const StopSign& stop) override {
    forward_of(job, queries, output, states, stop);
  }
  void forward(const Job<double>& job, int queries, Matrix& output, RowStates<double>& states, const StopSign& stop) override {
    forward_of(job, queries, output, states, stop);
  }
  void run(const GradientPass<float>& pass, Gradients& g, const StopSign& stop) override { pass_of(pass, g, stop); }
  void run(const GradientPass<double>& pass, Gradients& g, const StopSign& stop) override { pass_of(pass, g, stop); }

  // --- the device behind the launches (see gradient_launches.h) ---

  template <class X>
  X* room(std::size_t count) {
    memory_.emplace_back();
    return static_cast<X*>(std::memset(memory_.back().at_least(count * sizeof(X) + 1), 0xff, count * sizeof(X)));
  }
  template <class X>
  X* copied(const X* host, std::size_t count) {
    return static_cast<X*>(std::memcpy(static_cast<void*>(room<X>(count)), host, count * sizeof(X)));
  }
  template <class X>
  void clear(X* x, std::size_t count) {
    std::fill_n(x, count, X{0});
  }
  template <class X>
  void fetch(X* host, const X* x, std::size_t count) {
    std::copy_n(x, count, host);
  }
  int warps() const { return options_.warps; }
  std::size_t tile_room() const { return options_.tile_room; }
  std::size_t panel_bytes() const { return options_.panel_bytes; }
  int most_teams(const simt_host::TeamNeeds&) const { return options_.slice_teams; }
  template <class Launch>
  LaunchPace pace(const Launch&, const simt_host::TeamNeeds& needs) {
    constexpr int held = 8;
    const std::int64_t whole = needs.work.whole;
    if (options_.parts > 0) return {options_.slice_teams, held, 5, {whole, whole / options_.parts + 1}, 1};
    return {options_.slice_teams, held, 5, {whole, whole / dice_.between(1, 30) + 1}, dice_.between(1, 200000)};
  }
  template <class Launch>
  LaunchEnd run(Launch launch, int teams, const simt_host::TeamNeeds& needs) {
    if (launches_++ == options_.fails_at) throw DeviceFailure("The GPU was lost.");
    if (options_.launches != nullptr) ++*options_.launches;
    const std::size_t bytes = needs.scratch_bytes * static_cast<std::size_t>(teams);
    launch.scratch = static_cast<char*>(scratch_.at_least(bytes));
    if (launch.range.from == 0) fill_with_remains(launch.scratch, bytes);
    std::int64_t reached = 0;
    for (int team = 0; team < teams; ++team)
      team_.run(
          [&](const simt_host::LaneGroup& group) {
            reached = std::max(reached, simt_host::launch_thread(launch, team, group));
          },
          needs.shared_bytes);
    const float far_too_long = 1e9f;
    return {reached, options_.parts > 0 ? far_too_long : 0.01f * static_cast<float>(dice_.between(1, 5000))};
  }

 private:
  /// Fills memory as another launch may leave it: NaN, or 0.72 in fp32. As the index of a tile, 0.72's bits times 128 exceed 32
  /// bits.
  void fill_with_remains(char* scratch, std::size_t bytes) {
    const std::uint32_t word = dice_.one_in(2) ? 0xffffffffu : 0x3f380000u;
    for (std::size_t at = 0; at + sizeof word <= bytes; at += sizeof word) std::memcpy(scratch + at, &word, sizeof word);
  }
  template <class T>
  void forward_of(const Job<T>& job, int queries, Matrix& output, RowStates<T>& states, const StopSign& stop) {
    simt_host::ForwardLaunches<T, HostGradients>(*this, stop).run(job, queries, output, states);
    memory_.clear();
  }
  template <class T>
  void pass_of(const GradientPass<T>& pass, Gradients& g, const StopSign& stop) {
    simt_host::GradientLaunches<T, HostGradients>(*this, pass, stop).run(g);
    memory_.clear();
  }

  HostGradientOptions options_;
  HostTeam team_;
  Dice dice_;
  int launches_ = 0;
  std::vector<AlignedBuffer> memory_;
  AlignedBuffer scratch_;
};

}  // namespace attoscope::testing
