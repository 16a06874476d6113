#include "app/tensors/npy_numbers.h"

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

NpyNumbers read(const std::string& path, std::size_t rank, const char* expected) {
  const InputFile file(path);
  StoredTensor t = read_npy(file);
  if (t.shape.size() != rank) refuse_shape(t, expected);
  if (rank == 1) t.shape.push_back(1);
  NpyNumbers x{checked_size(t, t.shape[0]), checked_size(t, t.shape[1]), {}};
  check_memory(path, 2, x.rows, x.cols);
  x.values = read_matrix(file, t, {1, x.rows, x.cols}, 0);
  return x;
}

}  // namespace

NpyNumbers read_npy_matrix(const std::string& path) { return read(path, 2, "[rows, K]"); }
NpyNumbers read_npy_vector(const std::string& path) { return read(path, 1, "[rows]"); }

}  // namespace attoscope
