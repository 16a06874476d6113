/// Texts of named figures with placeholders {...}.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "app/figures/figure.h"

namespace attoscope::app {

/// The values that a text can use.
struct FigureScope {
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, double, std::less<>> numbers;
  const Figure* figure = nullptr;  ///< figure of points such as {y0_1_last}; null: none

  /// Binds a name to a text, and to its number if the text is one.
  void bind(const std::string& name, const std::string& value);
};

/// The text with each pair of braces replaced:
///   {policy}              a text of the scope
///   {32*N}                an expression (kernels/questions/expression.h) over the scope's numbers and over points of the
///   figure:
///                         y0_1_last is y of panel 0, series 1, at its last point; x0_1_2; a point is first, last, least (of
///                         y), an index or the name of a category; NaN if there is none
///   {32*N:two}            two digits; {...:fold}: "rises 2.9-fold", for a ratio; {...:.2g}: a format of fmt; "not known" for
///                         a number that is not finite
///   {N > 64 ?this|that}   one of two texts, which may contain braces; "that" if one of the numbers is not finite
///   {name0_1_least}       the category of a point
///   {places_7_14}         the label, panel and x of every point of undashed series with y in 7 to 14
/// Throws std::invalid_argument in a sentence for an invalid expression.
std::string filled(std::string_view text, const FigureScope& scope);

/// filled(text) as a number. Throws std::invalid_argument in a sentence if it is none.
double filled_number(std::string_view text, const FigureScope& scope);

/// "2.9"; "not known" if not finite.
std::string two_digits(double x);

}  // namespace attoscope::app
