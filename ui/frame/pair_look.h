/// Colour, name and dashes of a training's comparisons in figures.
#pragma once

#include <array>
#include <string>

#include "kernels/train/record.h"
#include "ui/frame/figure_panel.h"

namespace attoscope::ui {

/// The colour of the i-th comparison of a record.
inline Ink pair_ink(const PairPlan& pair, std::size_t i) {
  constexpr std::array others{Ink::one, Ink::three, Ink::four, Ink::five, Ink::six};  // in print Ink::two is close to a's
  if (pair.role == Role::method || pair.role == Role::direct) return Ink::a;
  return pair.role == Role::initialisation ? Ink::golden : others[i % others.size()];
}

/// Short name of a comparison.
inline std::string pair_label(const PairPlan& pair) { return pair.role == Role::initialisation ? "another seed" : pair.name; }

/// True for the reference and every second format: overlapping curves stay visible.
inline bool is_dashed(const PairPlan& pair, std::size_t i) {
  return pair.role == Role::initialisation || (pair.role == Role::format && i % 2 == 0);
}

}  // namespace attoscope::ui
