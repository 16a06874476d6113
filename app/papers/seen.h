/// What is seen in a figure, in words that its own numbers choose.
#pragma once

#include <string>
#include <string_view>

#include "app/figures/figure.h"

namespace attoscope {

/// The last y of a series over its first; NaN where it has none.
double growth(const Series& series);
/// "rises 2.9-fold", "falls 1.9-fold", "changes by less than 10 %".
std::string growth_words(const Series& series);
/// The y of a series where its x is a category of that name, or the i-th; NaN: none.
double value_at(const FigurePanel& panel, const Series& series, std::string_view category);
/// "2.9".
std::string two_digits(double x);
/// The largest y of a series over its least.
double range_of(const Series& series);

}  // namespace attoscope
