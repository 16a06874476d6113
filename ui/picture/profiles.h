/// The row and the column through a cell of a picture, as curves beside it.
#pragma once

#include "ui/picture/picture_frame.h"
#include "ui/words/sentences.h"

namespace attoscope {

/// Cell and field through which curves are drawn.
struct ProfilePlace {
  Field field = Field::a_error;
  int row = -1, col = -1;
  bool alone = false;  ///< only the field's own curve; else golden, a and b, or the same field of a and b
};
/// Updates the curves through a cell, with these names.
void refresh_profiles(ProfileState& state, const std::shared_ptr<const Result>& result, const ProfilePlace& place,
                      const MethodNames& names);

/// Opacity of each of `curves` curves that share a panel.
float column_alpha(std::size_t curves);

/// Curves over the columns, below the picture, on the colour bar's scale, with its end values at the left or right.
void draw_along_row(const Places& p, const CellRect& rect, const CellPicture& picture, std::span<const ProfileCurve> curves,
                    const Colouring& how, const std::string& title, bool named_at_right = false);
/// Curves over the rows, at the picture's right.
void draw_along_col(const Places& p, const CellRect& rect, const CellPicture& picture, std::span<const ProfileCurve> curves,
                    const Colouring& how, const std::string& title);

/// Smallest and largest value of each of `pixels` pixels over [from, to); a pixel without values has least > largest.
struct Extremes {
  float least, largest;
  bool has_nan;
};
std::vector<Extremes> extremes(std::span<const float> values, double from, double to, int pixels);

}  // namespace attoscope
