/// Fields of a Result that a heat map shows, and the sampling of cells to pixels that keeps outliers visible.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/enum_array.h"

namespace attoscope {

struct Result;

enum class Field : std::uint8_t {
  golden,
  a,
  b,
  a_error,
  b_error,
  a_abs,
  b_abs,
  a_ulps,
  b_ulps,
  a_relative,
  b_relative,
  a_minus_b,
  a_storage,
  a_arithmetic,
  b_storage,
  b_arithmetic,
  tolerance
};

/// True for fields that only some results have: the error of scaled storage, the error of arithmetic on the stored numbers, and
/// the error of a judged output over its tolerance.
constexpr bool is_extra(Field f) { return f >= Field::a_storage; }
/// True if the result has the field. Methods that store Q, K or V with scales have parts of the error; for others storage is 0
/// and arithmetic the whole error. A judged loaded output has a tolerance; otherwise it is NaN.
bool has_field(const Result& result, Field field);

struct FieldText {
  std::string_view name;   ///< name in files: "a_error"
  std::string_view title;  ///< title with a and b for the methods: "a - golden", displayed as "flash - golden"
  std::string_view what;   ///< one sentence with the formula
  bool is_signed;          ///< displayed with the diverging colour map
};
inline constexpr int field_count = enum_count<Field>();
extern const std::array<FieldText, field_count> field_texts;
inline const FieldText& text(Field f) { return field_texts[static_cast<std::size_t>(f)]; }

/// One value of the field at (row, column) of the result's matrices.
double field_value(const Result& result, Field field, int row, int col);

/// All values, row-major, as shown on screen (float); NaN and infinity are kept.
std::vector<float> field_values(const Result& result, Field field);

/// A rectangle of cells of a matrix; may exceed the matrix and may be fractional.
struct CellRect {
  double row0 = 0, col0 = 0, row1 = 0, col1 = 0;
  friend bool operator==(const CellRect&, const CellRect&) = default;
};

/// The picture of `rect` at width x height pixels, row-major from the top. Each pixel shows the value of largest |value| among
/// the cells under it (NaN before infinity before numbers), which never hides an outlier; `outside` if there is no cell.
std::vector<float> sampled(const std::vector<float>& values, int rows, int cols, const CellRect& rect, int width, int height,
                           float outside);

}  // namespace attoscope
