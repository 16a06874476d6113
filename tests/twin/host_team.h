/// A GPU's thread block, or a part of it, run by the host: its threads run in turns and wait at barriers as on a GPU. The code
/// is the GPU's own.
#pragma once

#define ATTOSCOPE_SIMT simt_host

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "kernels/lanes/team.h"
#include "tests/support/support.h"

namespace attoscope::testing {

/// Tested numbers of warps of a team; bits must not depend on them.
inline constexpr int warps_of_teams[] = {1, 2, 3, 8};

/// Runs a body in every thread, each on its own stack. Between two barriers the threads run one after the other in an order
/// that changes from barrier to barrier: code that depends on an order without a barrier gives wrong results. Throws
/// std::logic_error if some threads wait at a barrier and others have ended.
class HostTeam final : public simt_host::TeamBarrier {
 public:
  explicit HostTeam(std::uint64_t seed, int count = simt_host::warp_lanes)
      : threads_(count),
        dice_(seed),
        stacks_(static_cast<std::size_t>(count)),
        fibers_(stacks_.size()),
        ended_(stacks_.size()),
        brought_(stacks_.size()) {
    for (auto& stack : stacks_) stack = std::make_unique<char[]>(Stack::bytes);
  }

  /// Fills `shared` bytes of shared memory with garbage, then runs the body.
  void run(const std::function<void(const simt_host::LaneGroup&)>& body, std::size_t shared = 0) {
    shared_.assign(shared / sizeof(Quad) + 1, Quad{{nowhere, nowhere}});
    body_ = &body;
    std::fill(ended_.begin(), ended_.end(), false);
    for (int thread = 0; thread < threads_; ++thread) start(thread);
    for (int ended = 0; ended == 0;) {
      for (const int thread : shuffled()) {
        Fiber& turn = fibers_[static_cast<std::size_t>(thread)];
        turn = std::move(turn).resume();
      }
      for (const char e : ended_) ended += e;
      if (ended != 0 && ended != threads_) throw std::logic_error(std::to_string(ended) + " threads ended while others wait");
      least_ = *std::min_element(brought_.begin(), brought_.end());
      ++barriers;
    }
  }

  int least(int thread, int x) override {
    brought_[static_cast<std::size_t>(thread)] = x;
    scheduler_ = std::move(scheduler_).resume();
    return least_;
  }

  std::int64_t barriers = 0;

 private:
  using Fiber = boost::context::fiber;
  static constexpr double nowhere = std::numeric_limits<double>::quiet_NaN();
  struct alignas(16) Quad {
    double x[2];
  };
  /// A thread's stack, owned by the team and used in every run.
  struct Stack {
    static constexpr std::size_t bytes = 256 * 1024;
    char* first;

    boost::context::stack_context allocate() const {
      boost::context::stack_context all;
      all.size = bytes, all.sp = first + bytes;
      return all;
    }
    void deallocate(boost::context::stack_context&) const {}
  };

  void start(int thread) {
    const auto t = static_cast<std::size_t>(thread);
    fibers_[t] = Fiber(std::allocator_arg, Stack{stacks_[t].get()}, [this, thread](Fiber&& scheduler) {
      using simt_host::warp_lanes;
      scheduler_ = std::move(scheduler);
      const int warps = (threads_ - 1) / warp_lanes + 1;
      (*body_)(simt_host::LaneGroup{this, thread % warp_lanes, thread / warp_lanes, warps, shared_.data()});
      ended_[static_cast<std::size_t>(thread)] = true;
      return std::move(scheduler_);
    });
  }

  std::vector<int> shuffled() {
    std::vector<int> order(stacks_.size());
    std::iota(order.begin(), order.end(), 0);
    for (int i = threads_ - 1; i > 0; --i)
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(dice_.between(0, i))]);
    return order;
  }

  const int threads_;
  Dice dice_;
  const std::function<void(const simt_host::LaneGroup&)>* body_ = nullptr;
  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<Fiber> fibers_;  ///< after their stacks, which they unwind
  Fiber scheduler_;
  std::vector<char> ended_;
  std::vector<int> brought_;
  int least_ = 0;
  std::vector<Quad> shared_;
};

/// A test that runs teams.
class TeamTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "this sanitizer does not support switching of stacks";
#endif
  }
};

}  // namespace attoscope::testing
