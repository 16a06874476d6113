/// The backward pass that an editor changes.
#pragma once

#include <string>

#include "kernels/experiment/experiment.h"
#include "ui/widgets/theme.h"

namespace attoscope::ui {

/// The backward pass of a, or of b.
struct GradTarget {
  Experiment& e;
  bool of_b;

  const Method& method() const { return of_b ? e.b : e.a; }
  GradMethod& gradient() const { return of_b ? e.backward.b : e.backward.a; }
  /// One sentence why `chosen` is impossible; "": it is possible, or the current pass has the same problem.
  std::string why_not(const GradMethod& chosen) const;
};

/// Accumulators of the products of the backward pass.
void edit_gradient_sums(const GradTarget& target, Colour colour, float width);
/// Storage and scales of dO, P and dS. `typed`: text of a format in the popups of roundings.
void edit_gradient_scales(const GradTarget& target, Colour colour, float width, std::string& typed);
/// A button with a popup: tiles, orders and rules; all settings except roundings, sums and storage.
void edit_gradient_options(const GradTarget& target, float width, float height);

}  // namespace attoscope::ui
