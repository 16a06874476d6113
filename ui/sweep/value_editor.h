/// The values of a varied parameter as text: lists and ranges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// Notation of values: "16,32,64", "16:64:16", "16:64:x2".
enum class ValueForm { list, linear, doubling };
ValueForm form_of(std::string_view values);

/// The same first and last value in another notation; a list holds all of `values`. For a range the values must be numbers.
std::string in_form(ValueForm form, const std::vector<std::string>& values);

/// A list without one of its values.
std::string without(const std::vector<std::string>& values, std::size_t removed);

}  // namespace attoscope
