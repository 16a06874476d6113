/// NumPy's .npy files, versions 1 to 3, and .npz archives of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace attoscope {
enum class Field : std::uint8_t;
struct Result;
}  // namespace attoscope

namespace attoscope::app {

/// A rows x cols matrix of double (f8, C order) as a .npy file.
std::string npy_bytes(int rows, int cols, const double* values);
/// A rows x cols matrix of float (f4, C order) as a .npy file.
std::string npy_bytes(int rows, int cols, const float* values);
/// A vector of float, or of double, as a .npy file.
std::string npy_bytes(std::span<const float> values);
std::string npy_bytes(std::span<const double> values);
/// Numbers of any shape (f8, C order) as a .npy file.
std::string npy_bytes(std::span<const int> shape, std::span<const double> values);

/// All values of a field of a result as a .npy file of doubles (f8, rows x d_v).
std::string field_npy(const Result& result, Field field);

}  // namespace attoscope::app
