#include "app/tensors/strided_file.h"

#include <algorithm>
#include <span>
#include <utility>

namespace attoscope::app {
namespace {

/// Runs of adjacent bytes, and the dimensions along which they repeat, slowest first; strides in bytes.
struct Runs {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dimensions;  ///< size, stride
  std::uint64_t bytes = 0;                                          ///< of a run
};

Runs runs_of(const StridedView& view) {
  Runs runs{{}, static_cast<std::uint64_t>(view.width)};
  std::size_t inner = view.shape.size();
  const auto width = static_cast<std::uint64_t>(view.width);
  while (inner > 0 && (view.shape[inner - 1] == 1 || view.strides[inner - 1] * width == runs.bytes))
    runs.bytes *= view.shape[--inner];
  for (std::size_t i = 0; i < inner; ++i)
    if (view.shape[i] != 1) runs.dimensions.emplace_back(view.shape[i], view.strides[i] * width);
  return runs;
}

std::uint64_t byte_of_run(const Runs& runs, std::uint64_t index) {
  std::uint64_t byte = 0;
  for (std::size_t i = runs.dimensions.size(); i-- > 0;) {
    const auto [size, stride] = runs.dimensions[i];
    byte += index % size * stride;
    index /= size;
  }
  return byte;
}

}  // namespace

bool is_contiguous(const StridedView& view) { return runs_of(view).dimensions.empty(); }

std::shared_ptr<const InputFile> gathered(const StridedView& view, const std::string& label, std::uint64_t bytes) {
  const auto read = [file = view.file, begin = view.offset, runs = runs_of(view)](std::uint64_t offset, std::span<char> to) {
    while (!to.empty()) {
      const std::uint64_t within = offset % runs.bytes, now = std::min<std::uint64_t>(runs.bytes - within, to.size());
      file->read_at(begin + byte_of_run(runs, offset / runs.bytes) + within, to.first(now));
      offset += now;
      to = to.subspan(now);
    }
  };
  return std::make_shared<const InputFile>(label, bytes, read);
}

}  // namespace attoscope::app
