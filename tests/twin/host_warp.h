/// A GPU's warp, or a part of it, run by the host: its lanes take turns and wait for each other where a GPU's lanes would. The
/// code is the GPU's own.
#pragma once

#define ATTOSCOPE_SIMT simt_host

#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/lanes/warp.h"
#include "tests/support/support.h"

namespace attoscope::testing {

/// Runs a body in every lane, each on its own stack. Between two barriers the lanes run one after the other in an order that
/// changes from barrier to barrier: code that depends on an order that no barrier ensures gives wrong results. Throws
/// std::logic_error where some lanes wait at a barrier and others have ended.
class HostWarp final : public simt_host::WarpBarrier {
 public:
  explicit HostWarp(std::uint64_t seed, int count = simt_host::warp_lanes)
      : lanes_(count),
        dice_(seed),
        contexts_(static_cast<std::size_t>(count)),
        stacks_(contexts_.size()),
        ended_(contexts_.size()),
        brought_(contexts_.size()) {
    for (auto& stack : stacks_) stack = std::make_unique<char[]>(stack_bytes);
  }

  void run(const std::function<void(const simt_host::LaneGroup&)>& body) {
    body_ = &body;
    std::fill(ended_.begin(), ended_.end(), false);
    for (int lane = 0; lane < lanes_; ++lane) start(lane);
    for (int ended = 0; ended == 0;) {
      for (int lane : shuffled()) swapcontext(&scheduler_, &contexts_[static_cast<std::size_t>(lane)]);
      for (const char e : ended_) ended += e;
      if (ended != 0 && ended != lanes_) throw std::logic_error(std::to_string(ended) + " lanes ended while others wait");
      least_ = *std::min_element(brought_.begin(), brought_.end());
      ++barriers;
    }
  }

  int least(int lane, int x) override {
    brought_[static_cast<std::size_t>(lane)] = x;
    swapcontext(&contexts_[static_cast<std::size_t>(lane)], &scheduler_);
    return least_;
  }

  std::int64_t barriers = 0;

 private:
  static constexpr std::size_t stack_bytes = 256 * 1024;

  void start(int lane) {
    ucontext_t& context = contexts_[static_cast<std::size_t>(lane)];
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_[static_cast<std::size_t>(lane)].get();
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = &scheduler_;
    const auto self = reinterpret_cast<std::uintptr_t>(this);
    makecontext(&context, reinterpret_cast<void (*)()>(&enter), 3, static_cast<unsigned>(self),
                static_cast<unsigned>(self >> 32), lane);
  }
  static void enter(unsigned low, unsigned high, int lane) {
    auto* self = reinterpret_cast<HostWarp*>(static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high) << 32);
    (*self->body_)(simt_host::LaneGroup{self, lane, self->stage_});
    self->ended_[static_cast<std::size_t>(lane)] = true;
  }

  std::vector<int> shuffled() {
    std::vector<int> order(contexts_.size());
    std::iota(order.begin(), order.end(), 0);
    for (int i = lanes_ - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(dice_.between(0, i))]);
    return order;
  }

  const int lanes_;
  Dice dice_;
  const std::function<void(const simt_host::LaneGroup&)>* body_ = nullptr;
  std::vector<ucontext_t> contexts_;
  ucontext_t scheduler_{};
  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<char> ended_;
  std::vector<int> brought_;
  int least_ = 0;
  alignas(16) char stage_[simt_host::staged_bytes] = {};
};

}  // namespace attoscope::testing
