/// An explorer without a window, its session, and files to open in it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/explore/explorer.h"
#include "kernels/compute.h"
#include "tests/support/eventually.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

/// 48 queries of 8 numbers.
inline Session small_session() {
  Session session;
  session.experiment.problem.n = 48;
  session.experiment.problem.d = 8;
  session.device = "cpu";
  return session;
}

class ExplorerTest : public ScratchTest {
 protected:
  explicit ExplorerTest(Session session = {}, Compute computes = compute)
      : session_(std::move(session)), explorer_(Start{}, [] {}, std::move(computes)) {}

  /// Waits until nothing is read or computed; returns the input of the panels.
  PanelInput settled() {
    EXPECT_TRUE(eventually([&] {
      explorer_.update(session_);
      return !explorer_.computing();
    }));
    explorer_.update(session_);
    return explorer_.panel_input();
  }
  PanelInput drop(const std::vector<std::string>& files, const GradientSpecs& gradients = {}) {
    explorer_.open_dropped(session_, files, false, gradients);
    return settled();
  }
  /// Requests the verdict on a kernel's gradients as the window does, and waits for it.
  PanelInput judged() {
    Requests requests;
    requests.side.kernel_gradients = KernelGradientsQuestion{nullptr, session_.kernel_gradients};
    EXPECT_TRUE(eventually([&] {
      explorer_.update(session_);
      explorer_.ask_beside(requests, session_);
      const PanelInput input = explorer_.panel_input();
      const auto& found = input.side.kernel_gradients;
      return found && input.answer.result == found->answer && !input.answering.kernel_gradients && !found->sentences[0].empty();
    }));
    return explorer_.panel_input();
  }

  Session session_;
  Explorer explorer_;
};

}  // namespace attoscope::testing
