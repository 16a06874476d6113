/// Vectors and matrices of any size from .npy files.
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// Numbers of a file, row-major; a vector has one column.
struct NpyNumbers {
  int rows = 0, cols = 0;
  std::vector<double> values;
};

/// Reads a matrix or a vector; NaN and infinity are allowed. Throws std::runtime_error with one sentence that names the file,
/// its content and what was expected, also for an empty one, or one that needs more than half of the machine's memory.
NpyNumbers read_npy_matrix(const std::string& path);
NpyNumbers read_npy_vector(const std::string& path);

}  // namespace attoscope
