/// Any field of a result as a NumPy array.
#pragma once

#include <string>
#include <string_view>

#include "kernels/deviation/fields.h"

namespace attoscope {
struct Result;
}  // namespace attoscope

namespace attoscope::app {

/// The field with this name in files, "a_error". Throws std::invalid_argument that lists the known ones.
Field field_named(std::string_view name);

/// All values of a field as a .npy file of doubles (f8, rows x d_v).
std::string field_npy(const Result& result, Field field);

}  // namespace attoscope::app
