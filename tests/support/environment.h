/// Sets an environment variable and restores it.
#pragma once

#include <stdlib.h>

#include <optional>
#include <string>

#include "tests/support/rooms.h"

namespace attoscope::testing {

/// Sets the environment variable `name` for its lifetime.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = ::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace attoscope::testing
