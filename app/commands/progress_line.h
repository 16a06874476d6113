/// Progress of a long command: one line of a terminal, written over itself.
#pragma once

#include <chrono>
#include <ostream>
#include <string_view>

namespace attoscope::app {

/// Standard error where it is a terminal; null where it is a file or a pipe, in which such lines would only pile up.
std::ostream* terminal();

class ProgressLine {
 public:
  /// `terminal` null: nothing is shown.
  explicit ProgressLine(std::ostream* terminal) : terminal_(terminal) {}
  ~ProgressLine() { clear(); }
  ProgressLine(ProgressLine&&) = delete;

  /// Makes room for a line that stays.
  void clear();
  /// Since it was made.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

  /// Shows text(), unless the last one is less than a tenth of a second old.
  template <class F>
  void show(F text) {
    if (is_due()) write(text());
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due() const;
  void write(std::string_view text);

  std::ostream* terminal_;
  bool is_shown_ = false;
  Clock::time_point last_{}, begun_ = Clock::now();
};

}  // namespace attoscope::app
