#include "app/tensors/npy_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "app/tensors/npy.h"

namespace attoscope {
namespace {

[[noreturn]] void refuse_shape(const StoredTensor& t, const char* expected) {
  throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected " + expected);
}

int checked_size(const StoredTensor& t, std::uint64_t size) {
  if (size >= 1 && size <= std::numeric_limits<int>::max()) return static_cast<int>(size);
  refuse_shape(t, "sizes from 1 to 2147483647");
}

std::string place(const NpyNumbers& x, std::size_t at) {
  const auto cols = static_cast<std::size_t>(x.cols);
  return "row " + std::to_string(at / cols) + (x.cols > 1 ? ", column " + std::to_string(at % cols) : "");
}

void check_numbers(const std::string& path, const NpyNumbers& x) {
  const auto nan = std::ranges::find_if(x.values, [](double value) { return std::isnan(value); });
  if (nan == x.values.end()) return;
  throw std::runtime_error(path + " holds NaN at " + place(x, static_cast<std::size_t>(nan - x.values.begin())) +
                           ", expected numbers");
}

NpyNumbers read(const std::string& path, std::size_t rank, const char* expected) {
  const InputFile file(path);
  StoredTensor t = read_npy(file);
  if (t.shape.size() != rank) refuse_shape(t, expected);
  if (rank == 1) t.shape.push_back(1);
  NpyNumbers x{checked_size(t, t.shape[0]), checked_size(t, t.shape[1]), {}};
  check_memory(path, 2, x.rows, x.cols);
  x.values = read_matrix(file, t, {1, x.rows, x.cols}, 0);
  check_numbers(path, x);
  return x;
}

}  // namespace

NpyNumbers read_npy_matrix(const std::string& path) { return read(path, 2, "[rows, K]"); }
NpyNumbers read_npy_vector(const std::string& path) { return read(path, 1, "[rows]"); }

}  // namespace attoscope
