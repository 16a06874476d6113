/// Any field of a result as a NumPy array.
#pragma once

#include <string>
#include <string_view>

#include "kernels/deviation/fields.h"

namespace attoscope {

struct Result;

/// The field called so in files, "a_error". Throws std::invalid_argument that lists the known ones.
Field field_named(std::string_view name);

/// All its values as doubles (f8, rows x d), as the bytes of a .npy file.
std::string field_npy(const Result& result, Field field);

}  // namespace attoscope
