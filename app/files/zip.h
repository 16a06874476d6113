/// Zip archives of a few small files.
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

/// An archive of these files; equal files give equal bytes.
std::string zip_bytes(const std::vector<ZipMember>& members);

/// The only file of the archive at `path` whose name ends with `ending`. Nothing is unpacked to disk. Throws std::runtime_error
/// with one sentence that names the archive: it is damaged, or has no such file, several, one in a folder, or one of more than
/// `limit` bytes.
std::string zip_member(const std::string& path, std::string_view ending, std::uint64_t limit);

/// The files of the archive at `path` whose names end with `ending`, each named "PATH: NAME". Stored files are read in place;
/// compressed ones are unpacked in memory on their first read. Throws std::runtime_error with one sentence that names the
/// archive: it is damaged, or its compressed files are too large together.
std::vector<std::shared_ptr<const class InputFile>> files_in_zip(const std::string& path, const std::string& ending);

}  // namespace attoscope
