/// Zip archives: a few small files in one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// A file of an archive.
struct ZipMember {
  std::string name, bytes;
};

/// An archive of these files; the same files give the same bytes, whenever and wherever they are packed.
std::string zip_bytes(const std::vector<ZipMember>& members);

/// The one file of the archive at `path` whose name ends with `ending`. Nothing is ever unpacked to disk. Throws
/// std::runtime_error in a sentence that names the archive: it is damaged, holds none or several, one in a folder, or one of
/// more than `limit` bytes.
std::string zip_member(const std::string& path, std::string_view ending, std::uint64_t limit);

/// The files of the archive at `path` whose names end with `ending`, each named "PATH: NAME" and read where it lies: one that
/// is stored as it is costs nothing before it is read, one that is packed is unpacked in memory when its first numbers are
/// read. Throws std::runtime_error in a sentence that names the archive: it is damaged, or the packed ones are too large
/// together.
std::vector<std::shared_ptr<const class InputFile>> files_in_zip(const std::string& path, const std::string& ending);

}  // namespace attoscope
