/// NumPy's .npy files, versions 1 to 3, and .npz archives of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/tensors/stored_tensor.h"

namespace attoscope {
enum class Field : std::uint8_t;
struct Result;
}  // namespace attoscope

namespace attoscope::app {

/// Reads the header of `file`: b1, i1 to i8, u1 to u8, f2, f4 or f8 of either byte order, C or Fortran order. Throws
/// std::runtime_error with one sentence that names the file, the key, the value and what was expected.
StoredTensor read_npy(const InputFile& file);

/// One sentence why the tensor's type is not allowed for Q, K, V or O; "": it is allowed.
std::string why_not_of_a_call(const StoredTensor& tensor);

/// A rows x cols matrix of double (f8, C order) as a .npy file.
std::string npy_bytes(int rows, int cols, const double* values);
/// A rows x cols matrix of float (f4, C order) as a .npy file.
std::string npy_bytes(int rows, int cols, const float* values);
/// A vector of float, or of double, as a .npy file.
std::string npy_bytes(std::span<const float> values);
std::string npy_bytes(std::span<const double> values);
/// Numbers of any shape (f8, C order) as a .npy file.
std::string npy_bytes(std::span<const int> shape, std::span<const double> values);

/// Field by its name in files, such as "a_error". Throws std::invalid_argument that lists the known names.
Field field_named(std::string_view name);
/// All values of a field of a result as a .npy file of doubles (f8, rows x d_v).
std::string field_npy(const Result& result, Field field);

}  // namespace attoscope::app
