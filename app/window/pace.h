/// When the next frame is due: an idle window draws nothing.
#pragma once

#include <limits>

namespace attoscope {

/// A few frames at once after every event, so that the layout settles; slow ones until tooltips had their time; then none.
class Pace {
 public:
  static constexpr double forever = std::numeric_limits<double>::infinity();

  /// Something happened.
  void stir(double now) {
    at_once_ = 3;
    stirred_ = now;
  }
  /// A frame was drawn.
  void drawn() {
    if (at_once_ > 0) --at_once_;
  }
  /// Seconds to wait for an event before the next frame is drawn anyway. `moving`: something on screen changes by itself.
  /// `computing`: an answer is on its way, and its event; a frame that began just before it would show the old one.
  double patience(double now, bool moving, bool computing) const {
    constexpr double a_moment = 0.008;
    if (at_once_ > 0) return computing ? a_moment : 0;
    return moving || now - stirred_ < 0.8 ? 0.1 : forever;
  }

 private:
  int at_once_ = 3;
  double stirred_ = 0;
};

}  // namespace attoscope
