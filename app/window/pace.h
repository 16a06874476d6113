/// Time of the next frame; an idle window draws nothing.
#pragma once

#include <limits>

namespace attoscope::app {

/// Three frames at once after every event, to settle the layout; slow ones for 0.8 s, for tooltips; then none.
class Pace {
 public:
  static constexpr double forever = std::numeric_limits<double>::infinity();

  /// Records an event.
  void stir(double now) {
    at_once_ = 3;
    stirred_ = now;
  }
  /// Records a drawn frame.
  void drawn() {
    if (at_once_ > 0) --at_once_;
  }
  /// Seconds until the next frame without an event. `moving`: something on screen moves by itself. `computing`: an answer will
  /// cause an event soon; waiting 8 ms avoids a frame with the old one.
  double patience(double now, bool moving, bool computing) const {
    constexpr double a_moment = 0.008;
    if (at_once_ > 0) return computing ? a_moment : 0;
    return moving || now - stirred_ < 0.8 ? 0.1 : forever;
  }

 private:
  int at_once_ = 3;
  double stirred_ = 0;
};

}  // namespace attoscope::app
