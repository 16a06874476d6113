/// A GPU's thread block, or a part of it, run by the host: its threads take turns and wait for each other as on a GPU. The code
/// is the GPU's own.
#pragma once

#define ATTOSCOPE_SIMT simt_host

#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/lanes/team.h"
#include "tests/support/support.h"

namespace attoscope::testing {

/// Warps of a team: they change no bits.
inline constexpr int warps_of_teams[] = {1, 2, 3, 8};

/// Runs a body in every thread, each on its own stack. Between two barriers the threads run one after the other in an order
/// that changes from barrier to barrier: code that depends on an order without a barrier gives wrong results. Throws
/// std::logic_error if some threads wait at a barrier and others have ended.
class HostTeam final : public simt_host::TeamBarrier {
 public:
  explicit HostTeam(std::uint64_t seed, int count = simt_host::warp_lanes)
      : threads_(count),
        dice_(seed),
        contexts_(static_cast<std::size_t>(count)),
        stacks_(contexts_.size()),
        ended_(contexts_.size()),
        brought_(contexts_.size()) {
    for (auto& stack : stacks_) stack = std::make_unique<char[]>(stack_bytes);
  }

  /// Fills `shared` bytes of shared memory with garbage, then runs the body.
  void run(const std::function<void(const simt_host::LaneGroup&)>& body, std::size_t shared = 0) {
    shared_.assign(shared / sizeof(Quad) + 1, Quad{{nowhere, nowhere}});
    body_ = &body;
    std::fill(ended_.begin(), ended_.end(), false);
    for (int thread = 0; thread < threads_; ++thread) start(thread);
    for (int ended = 0; ended == 0;) {
      for (int thread : shuffled()) swapcontext(&scheduler_, &contexts_[static_cast<std::size_t>(thread)]);
      for (const char e : ended_) ended += e;
      if (ended != 0 && ended != threads_) throw std::logic_error(std::to_string(ended) + " threads ended while others wait");
      least_ = *std::min_element(brought_.begin(), brought_.end());
      ++barriers;
    }
  }

  int least(int thread, int x) override {
    brought_[static_cast<std::size_t>(thread)] = x;
    swapcontext(&contexts_[static_cast<std::size_t>(thread)], &scheduler_);
    return least_;
  }

  std::int64_t barriers = 0;

 private:
  static constexpr std::size_t stack_bytes = 256 * 1024;
  static constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
  struct alignas(16) Quad {
    double x[2];
  };

  void start(int thread) {
    ucontext_t& context = contexts_[static_cast<std::size_t>(thread)];
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_[static_cast<std::size_t>(thread)].get();
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = &scheduler_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&enter), 3, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32), thread);
  }
  static void enter(unsigned low, unsigned high, int thread) {
    using simt_host::warp_lanes;
    auto* self = reinterpret_cast<HostTeam*>(static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high) << 32);
    const int warps = (self->threads_ - 1) / warp_lanes + 1;
    (*self->body_)(simt_host::LaneGroup{self, thread % warp_lanes, thread / warp_lanes, warps, self->shared_.data()});
    self->ended_[static_cast<std::size_t>(thread)] = true;
  }

  std::vector<int> shuffled() {
    std::vector<int> order(contexts_.size());
    std::iota(order.begin(), order.end(), 0);
    for (int i = threads_ - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(dice_.between(0, i))]);
    return order;
  }

  const int threads_;
  Dice dice_;
  const std::function<void(const simt_host::LaneGroup&)>* body_ = nullptr;
  std::vector<ucontext_t> contexts_;
  ucontext_t scheduler_{};
  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<char> ended_;
  std::vector<int> brought_;
  int least_ = 0;
  std::vector<Quad> shared_;
};

}  // namespace attoscope::testing
