/// A training GPU, run by the host: the GPU's own code for every launch's blocks, warps and threads, one after the other in
/// random orders.
#pragma once

// clang-format off: comes before the kernels' headers, whose lanes it selects
#include "tests/twin/host_team.h"
// clang-format on

#include <cstring>
#include <numeric>

#include "kernels/train/head/head_warps.h"
#include "kernels/train/primitives/device_primitives.h"

namespace attoscope::testing {

/// Calls work(i) for 0 .. count - 1, each once, in a random order.
template <class Work>
void in_any_order(std::int64_t count, Dice& dice, Work work) {
  if (count <= 0) return;
  std::int64_t stride = 1 + static_cast<std::int64_t>(dice.bits() % static_cast<std::uint64_t>(count));
  while (std::gcd(stride, count) != 1) ++stride;
  std::int64_t i = static_cast<std::int64_t>(dice.bits() % static_cast<std::uint64_t>(count));
  for (std::int64_t done = 0; done < count; ++done, i = (i + stride) % count) work(i);
}

/// Lanes that share a row and exchange numbers through an array, between two barriers.
struct HostLanes {
  const simt_host::LaneGroup& group;
  float* board;

  int lane() const { return group.lane(); }
  float above(float x, int distance) const { return from(x, lane() + distance < row_chains ? lane() + distance : lane()); }
  float first(float x) const { return from(x, 0); }

 private:
  float from(float x, int lane_there) const {
    board[lane()] = x;
    group.sync();
    const float y = board[lane_there];
    group.sync();
    return y;
  }
};

/// A thread block of a product. Throws std::logic_error if its threads do not meet between two parts of their work.
template <class Tile>
class HostProductBlock {
 public:
  HostProductBlock(const ProductTask& task, const ProductPlace& place, Dice& dice)
      : dice_(dice), stages_(2 * Tile::stage_size / 4) {
    for (int thread = 0; thread < Tile::threads; ++thread) threads_.emplace_back(task, place, thread);
    for (Quad& quad : stages_)
      for (float& x : quad.x) x = std::numeric_limits<float>::quiet_NaN();
  }
  template <class Work>
  void each(Work work) {
    if (!met_) throw std::logic_error("the threads of a block have not met");
    met_ = false;
    in_any_order(Tile::threads, dice_, [&](std::int64_t i) { work(threads_[static_cast<std::size_t>(i)]); });
  }
  void sync() { met_ = true; }
  float* stage(int i) { return stages_[0].x + i * Tile::stage_size; }

 private:
  Dice& dice_;
  std::vector<ProductThread<Tile>> threads_;
  std::vector<Quad> stages_;
  bool met_ = true;
};

/// The device behind DevicePrimitives. Its workspace loses its contents at every call, as a growing workspace would.
class HostDevice {
 public:
  HostDevice(std::uint64_t seed, std::int64_t workspace_floats, int wanted_blocks)
      : dice_(seed),
        team_(seed + 3, warps * simt_host::warp_lanes),
        row_warp_(seed + 2, row_chains),
        workspace_floats_(workspace_floats),
        wanted_blocks_(wanted_blocks),
        rows_(max_context) {
    std::iota(rows_.begin(), rows_.end(), 0);
  }

  std::string name() const { return "run by the host"; }
  void* allocate(std::size_t bytes) {
    return std::memset(::operator new(std::max<std::size_t>(1, bytes), std::align_val_t{256}), 0, bytes);
  }
  void release(void* memory) noexcept { ::operator delete(memory, std::align_val_t{256}); }
  void upload(const void* host, std::size_t bytes, void* device) { std::memcpy(device, host, bytes); }
  void download(const void* device, std::size_t bytes, void* host) { std::memcpy(host, device, bytes); }
  void clear(void* memory, std::size_t bytes) { std::memset(memory, 0, bytes); }
  void* workspace(std::size_t bytes) {
    workspace_ = AlignedMemory(allocate(bytes), {});
    return std::memset(workspace_.get(), 0xff, bytes);
  }
  std::int64_t workspace_floats() const { return workspace_floats_; }

  template <class Task>
  void each(const Task& task) {
    in_any_order(task.count(), dice_, [&](std::int64_t i) { task(i); });
  }
  template <class Task>
  void each_row(const Task& task) {
    float board[row_chains];
    in_any_order(task.rows(), dice_, [&](std::int64_t row) {
      row_warp_.run([&](const simt_host::LaneGroup& group) { task(SharedRow<HostLanes>{{group, board}}, row); });
    });
  }
  int wanted_blocks() const { return wanted_blocks_; }
  void multiply(const ProductTask& task, bool large) { large ? multiply_by<LargeTile>(task) : multiply_by<SmallTile>(task); }

  void attention(const HeadBatch<float>& heads) { attention_on(*this, heads); }
  void attention_gradient(const HeadGradient<float>& heads) { attention_gradient_on(*this, heads); }
  HeadLaunchSize head_launch_size(const HeadBatch<float>& heads) const { return simt_host::head_launch_size(heads, warps); }
  const HeadRule<float>* rules(const HeadBatch<float>& heads) const { return heads.rules; }
  const int* row_numbers() const { return rows_.data(); }
  void attend(const AttendTask& task) { in_blocks(task, task.size.forward.shared, simt_host::attend_thread); }
  void differentiate_rows(const DifferentiateTask& task) {
    in_blocks(task, task.size.rows.shared, simt_host::differentiate_rows_thread);
  }
  void differentiate_keys(const DifferentiateTask& task) {
    in_blocks(task, task.size.keys.shared, simt_host::differentiate_keys_thread);
  }

 private:
  struct AlignedDelete {
    void operator()(void* memory) const { ::operator delete(memory, std::align_val_t{256}); }
  };
  using AlignedMemory = std::unique_ptr<void, AlignedDelete>;

  /// A thread block for each head and team of the part.
  template <class Task, class Thread>
  void in_blocks(const Task& task, std::size_t shared_bytes, Thread thread) {
    const int teams = task.size.teams;
    in_any_order(std::int64_t{task.part.count} * teams, dice_, [&](std::int64_t i) {
      const int team = static_cast<int>(i);
      team_.run([&](const simt_host::LaneGroup& group) { thread(task, team / teams, team % teams, group, shared_); },
                shared_bytes);
    });
  }

  template <class Tile>
  void multiply_by(const ProductTask& task) {
    const ProductPlace blocks = blocks_of<Tile>(task);
    in_any_order(std::int64_t{blocks.m} * blocks.n * blocks.piece, dice_, [&](std::int64_t i) {
      const int block = static_cast<int>(i);
      const ProductPlace place{block / blocks.n % blocks.m, block % blocks.n, block / blocks.n / blocks.m};
      HostProductBlock<Tile> threads(task, place, dice_);
      multiply_block<Tile>(task, place, threads);
    });
  }

  static constexpr int warps = 2;  ///< of a team
  Dice dice_;
  HostTeam team_, row_warp_;
  std::int64_t workspace_floats_;
  int wanted_blocks_;
  std::vector<int> rows_;
  AlignedMemory workspace_;
  alignas(16) char shared_[simt_host::rule_bytes] = {};
};

}  // namespace attoscope::testing
