/// A view of stored numbers, read as if it were stored in C order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/files/files.h"

namespace attoscope::app {

/// A view: from `offset` on, sizes and strides in elements of `width` bytes.
struct StridedView {
  std::shared_ptr<const InputFile> file{};
  std::uint64_t offset = 0;  ///< byte of the first element
  int width = 1;
  std::vector<std::uint64_t> shape, strides;
};

/// True if the elements lie in C order, end to end.
bool is_contiguous(const StridedView& view);
/// A file whose bytes are the view's elements in C order; each read gathers them. The view lies within its file.
std::shared_ptr<const InputFile> gathered(const StridedView& view, const std::string& label, std::uint64_t bytes);

}  // namespace attoscope::app
