/// Work whose outcome is one sentence.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>

#include "kernels/compute.h"

namespace attoscope::app {

/// Calls f; returns the sentence of the exception that it throws, "" if it throws none. `what` needs the memory.
template <class F>
std::string failure_of(F f, const char* what = "this") {
  try {
    f();
    return "";
  } catch (const std::bad_alloc&) {
    return std::string("There is not enough memory for ") + what + ".";
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Returns a sentence on success; throws with one sentence on failure, Stopped after cancellation.
using JobWork = std::function<std::string(const Cancelled& cancelled)>;

struct JobOutcome {
  bool well = true;
  std::string sentence;
};

/// Runs the job; turns exceptions into sentences.
inline JobOutcome outcome_of(const JobWork& job, const Cancelled& cancelled) try {
  std::string done;
  const std::string failure = failure_of([&] { done = job(cancelled); });
  return failure.empty() ? JobOutcome{true, done} : JobOutcome{false, failure};
} catch (const Stopped&) {
  return {false, "Stopped before it was done; nothing was written."};
}

}  // namespace attoscope::app
