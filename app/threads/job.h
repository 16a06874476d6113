/// A job whose outcome is one sentence.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>

#include "kernels/compute.h"

namespace attoscope::app {

/// Returns a sentence on success; throws with one sentence on failure, Stopped after cancellation.
using JobWork = std::function<std::string(const Cancelled& cancelled)>;

struct JobOutcome {
  bool well = true;
  std::string sentence;
};

/// Runs the job; turns exceptions into sentences.
inline JobOutcome outcome_of(const JobWork& job, const Cancelled& cancelled) {
  try {
    return {true, job(cancelled)};
  } catch (const Stopped&) {
    return {false, "Stopped before it was done; nothing was written."};
  } catch (const std::bad_alloc&) {
    return {false, "There is not enough memory for this."};
  } catch (const std::exception& error) {
    return {false, error.what()};
  }
}

}  // namespace attoscope::app
