/// The recurrence strip under test.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kernels/experiment/result.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {

/// The change that chooses a tile.
inline std::function<void(Session&)> scrubbed(int tile) {
  return [tile](Session& s) { s.view.scrubbed_tile = tile; };
}

/// Input of the panels with an answer.
inline PanelInput telling(Result result) {
  PanelInput input;
  input.answer.device = result.device;
  input.answer.result = std::make_shared<const Result>(std::move(result));
  return input;
}

}  // namespace attoscope::testing
