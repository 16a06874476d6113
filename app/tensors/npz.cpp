// NumPy's .npz: a zip archive of .npy files.
#include <algorithm>

#include "app/files/zip.h"
#include "app/tensors/npy.h"
#include "app/tensors/readers.h"

namespace attoscope::app {
namespace {

TensorSet list_npz(const std::shared_ptr<const InputFile>& archive) {
  TensorSet set;
  for (const auto& file : files_in_zip(archive->path(), ".npy")) {
    std::string name = without_ending(file->path().substr(archive->path().size() + 2));  // the file's path is "PATH: NAME"
    std::ranges::replace(name, '/', '.');
    StoredTensor tensor = read_npy(*file);
    std::string refusal = why_not_of_a_call(tensor);
    set.tensors.push_back({std::move(name), std::string(type_name(tensor.type)), std::move(refusal), file, std::move(tensor)});
  }
  return set;
}

std::uint64_t effort_of_npz(const InputFile& archive) {
  constexpr std::uint64_t largest_growth = 1032;  // of a packed byte
  return largest_growth * archive.size();
}

}  // namespace

Reader npz_reader() { return {{".npz"}, FileKind::archive, list_npz, effort_of_npz}; }

}  // namespace attoscope::app
