/// Places of the files of a zip archive, so that those that are stored as they are can be read in place.
#pragma once

#include <cstdint>
#include <vector>

namespace attoscope {

class InputFile;

/// For each file, in the order of the central directory (PKWARE's APPNOTE 6.3.10, 4.3.12, with Zip64): the byte at which its
/// data begins. Throws std::runtime_error with one sentence if the directory is damaged.
std::vector<std::uint64_t> zip_places(const InputFile& archive);

}  // namespace attoscope
