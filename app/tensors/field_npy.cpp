#include "app/tensors/field_npy.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "app/tensors/npy.h"
#include "app/words/numbers.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {

Field field_named(std::string_view name) {
  const auto found = std::ranges::find(field_texts, name, &FieldText::name);
  if (found != field_texts.end()) return static_cast<Field>(found - field_texts.begin());
  std::vector<std::string_view> known;
  for (const FieldText& f : field_texts) known.push_back(f.name);
  throw std::invalid_argument("field " + in_quotes(name) + " is unknown, expected " + listed(known));
}

std::string field_npy(const Result& result, Field field) {
  std::vector<double> values;
  values.reserve(result.golden->values.size());
  for (int row = 0; row < result.golden->rows; ++row)
    for (int col = 0; col < result.golden->cols; ++col) values.push_back(field_value(result, field, row, col));
  return npy_bytes(result.golden->rows, result.golden->cols, values.data());
}

}  // namespace attoscope::app
