#include "ui/sweep/value_editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// The values separated by commas, or by semicolons if one has a comma.
std::string listed(const std::vector<std::string>& values) {
  const bool semicolons = std::ranges::any_of(values, [](const std::string& v) { return v.find(',') != std::string::npos; });
  std::string text;
  for (const std::string& v : values) text += (text.empty() ? "" : semicolons ? ";" : ",") + v;
  return semicolons && values.size() == 1 ? text + ";" : text;
}

}  // namespace

ValueForm form_of(std::string_view values) {
  const std::size_t last = values.rfind(':');
  if (last == std::string_view::npos) return ValueForm::list;
  return values.substr(last + 1).starts_with('x') ? ValueForm::doubling : ValueForm::linear;
}

std::string in_form(ValueForm form, const std::vector<std::string>& values) {
  if (form == ValueForm::list || values.empty()) return listed(values);
  std::vector<double> numbers;
  for (const std::string& v : values) numbers.push_back(std::atof(v.c_str()));
  const auto [least, largest] = std::ranges::minmax(numbers);
  if (form == ValueForm::doubling) {
    const double first = least > 0 ? least : 1;
    return fmt::format("{:.12g}:{:.12g}:x2", first, std::max(first, largest));
  }
  const double apart = (largest - least) / std::max(1.0, static_cast<double>(values.size()) - 1);
  const bool whole = std::ranges::all_of(numbers, [](double x) { return x == std::floor(x); });
  const double step = whole ? std::max(1.0, std::round(apart)) : apart > 0 ? apart : 1;
  return fmt::format("{:.12g}:{:.12g}:{:.12g}", least, largest, step);
}

std::string without(const std::vector<std::string>& values, std::size_t removed) {
  std::vector<std::string> rest = values;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(removed));
  return listed(rest);
}

}  // namespace attoscope
