/// Zip archives: of a few small files, of tensors, of a session with its tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

/// A file of an archive.
struct ZipMember {
  std::string name, bytes;
  bool stored = false;  ///< uncompressed, which can be read in place
};

/// Bytes of an archive of these files; equal files give equal bytes.
std::string zip_bytes(const std::vector<ZipMember>& members);

/// The only file of the archive at `path` whose name ends with `ending`. Nothing is unpacked to disk. Throws std::runtime_error
/// with one sentence that names the archive: it is damaged, or has no such file, several, one in a folder, or one of more than
/// `limit` bytes.
std::string zip_member(const std::string& path, std::string_view ending, std::uint64_t limit);

/// The files of the archive at `path` whose names end with `ending`, each named "PATH: NAME". Stored files are read in place;
/// compressed ones are unpacked in memory on their first read. Throws std::runtime_error with one sentence that names the
/// archive: it is damaged, or its compressed files are too large together.
std::vector<std::shared_ptr<const class InputFile>> files_in_zip(const std::string& path, const std::string& ending);

/// Ending of an archive that holds a session and its tensors.
inline constexpr std::string_view pack_ending = ".attoscope.zip";

/// A file inside such an archive.
struct PackedFile {
  std::uint64_t size = 0;
  std::function<void(std::uint64_t offset, std::span<char> bytes)> read;  ///< as `InputFile::Read`
};
/// The file that a path names inside an archive: "calls.attoscope.zip/q.npy"; none: the path names no such file. Throws as
/// `files_in_zip`, and if the archive has no file of this name, or a file with a folder in its name.
std::optional<PackedFile> packed_file(const std::string& path);

class InputFile;

/// For each file, in the order of the central directory (PKWARE's APPNOTE 6.3.10, 4.3.12, with Zip64): the byte at which its
/// data begins. Throws std::runtime_error with one sentence if the directory is damaged.
std::vector<std::uint64_t> zip_places(const InputFile& archive);

}  // namespace attoscope::app
