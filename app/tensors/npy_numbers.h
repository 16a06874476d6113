/// Vectors and matrices of any size from .npy files.
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// What a file holds, row-major; a vector has one column.
struct NpyNumbers {
  int rows = 0, cols = 0;
  std::vector<double> values;
};

/// Reads a matrix, or a vector. Throws std::runtime_error in a sentence that names the file, what it has and what was expected:
/// also for an empty one, and one that would take more than half of the machine's memory. NaN and infinities are read as they
/// are.
NpyNumbers read_npy_matrix(const std::string& path);
NpyNumbers read_npy_vector(const std::string& path);

}  // namespace attoscope
