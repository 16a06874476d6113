/// A block of numbers that share a scale, bit by bit: what a `bits` view with the key `storage` shows.
#pragma once

#include <string>

#include "kernels/experiment/scaling.h"
#include "ui/learn/views/views.h"

namespace attoscope {

/// The bits of an element, or of a scale's code, from the left: a float's sign, exponent and significand, an integer in two's
/// complement, e8m0's exponent alone.
std::string element_digits(const Element& element, double x);
std::string scale_digits(ScaleFormat format, double x);

/// Choices, the numbers, the scale's bits, each element's bits, what they stand for and how far that is off.
std::string draw_block_bits(LessonScene& scene);

}  // namespace attoscope
