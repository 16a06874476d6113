#include "app/files/zip.h"

#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "app/files/files.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr std::uint64_t largest_archive = 1 << 28;
constexpr zip_int64_t most_members = 1000;
/// 1 January 1980, the earliest date in an archive, as a DOS date.
constexpr zip_uint16_t first_day = 1 << 5 | 1;

/// Owner of a libzip error.
class Error {
 public:
  Error() { zip_error_init(&error_); }
  ~Error() { zip_error_fini(&error_); }
  Error(Error&&) = delete;
  zip_error_t* get() { return &error_; }

 private:
  zip_error_t error_{};
};

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
template <class T>
using Held = std::unique_ptr<T, Discard>;

/// Throws std::bad_alloc for null, which libzip returns here only if memory is short.
template <class T>
T* made(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

void add(zip_t* archive, const ZipMember& member) {
  zip_source_t* const source = made(zip_source_buffer(archive, member.bytes.data(), member.bytes.size(), 0));
  const zip_int64_t index = zip_file_add(archive, member.name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    throw std::runtime_error("the archive cannot hold " + in_quotes(member.name));
  }
  zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, first_day, 0);
  if (member.stored) zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
}

std::string bytes_of(zip_source_t* source) {
  zip_stat_t stat;
  if (zip_source_open(source) < 0 || zip_source_stat(source, &stat) < 0)
    throw std::runtime_error("the archive cannot be read back");
  std::string bytes(stat.size, '\0');
  const zip_int64_t read = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (read != static_cast<zip_int64_t>(bytes.size())) throw std::runtime_error("the archive cannot be read back");
  return bytes;
}

/// Throws unless this is a plain file name without folders.
void check_name(std::string_view name, const std::string& path) {
  if (!name.empty() && name != "." && name != ".." && name.find_first_of("/\\:") == std::string_view::npos) return;
  throw std::runtime_error(path + ": holds " + in_quotes(name) + ", expected names without folders");
}

/// Index of the only member whose name ends with `ending`.
zip_uint64_t only_member(zip_t* archive, const std::string& path, std::string_view ending) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count > most_members)
    throw std::runtime_error(path + ": holds " + std::to_string(count) + " files, expected the few of a figure");
  zip_int64_t found = -1;
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name == nullptr || !std::string_view(name).ends_with(ending)) continue;
    check_name(name, path);
    if (found >= 0)
      throw std::runtime_error(path + ": holds several files that end in " + std::string(ending) + ", expected one");
    found = i;
  }
  if (found < 0) throw std::runtime_error(path + ": holds no file that ends in " + std::string(ending));
  return static_cast<zip_uint64_t>(found);
}

/// The member's bytes, at most `limit`, whatever its header says.
std::string member_bytes(zip_t* archive, zip_uint64_t index, const std::string& path, std::uint64_t limit) {
  const Held<zip_file_t> file(zip_fopen_index(archive, index, 0));
  if (!file) throw std::runtime_error(path + ": cannot be unpacked (" + zip_strerror(archive) + ")");
  std::string bytes, part(1 << 16, '\0');
  zip_int64_t read = 0;
  while ((read = zip_fread(file.get(), part.data(), part.size())) > 0) {
    bytes.append(part, 0, static_cast<std::size_t>(read));
    if (bytes.size() > limit)
      throw std::runtime_error(path + ": holds a file of more than " + std::to_string(limit) + " bytes");
  }
  if (read < 0) throw std::runtime_error(path + ": is damaged (" + zip_file_strerror(file.get()) + ")");
  return bytes;
}

/// Limits for an archive of tensors: files, and total unpacked bytes of compressed ones.
constexpr zip_int64_t most_tensors = 20'000;
constexpr std::uint64_t most_unpacked = std::uint64_t{1} << 31, longest_beginning = 1 << 17;
/// Limit of unpacked bytes per compressed byte (deflate's is 1032).
constexpr std::uint64_t largest_growth = 1040;

/// Length of the archive's path in the path of a file inside it; none: the path names no archive.
std::optional<std::size_t> archive_length(const std::string& path) {
  const std::string mark = std::string(pack_ending) + "/";
  const std::size_t at = path.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t length = at + pack_ending.size();
  std::error_code error;
  return std::filesystem::is_regular_file(path.substr(0, length), error) ? std::optional(length) : std::nullopt;
}

/// An open archive; one file is read at a time.
struct OpenArchive {
  explicit OpenArchive(const std::string& name) : path(name), file(name) {
    Error reason;
    archive.reset(archive_length(path) ? opened_in_memory(reason) : opened(reason));
    if (!archive)
      throw std::runtime_error(path + ": is no zip archive, or a damaged one (" + zip_error_strerror(reason.get()) + ")");
    places = zip_places(file);
  }
  std::string path;
  InputFile file;
  std::string bytes;                  ///< of an archive that lies in another one, which libzip does not enter
  std::vector<std::uint64_t> places;  ///< of the data of its files
  Held<zip_t> archive;
  std::mutex mutex;

 private:
  zip_t* opened(Error& reason) const {
    int error = 0;
    zip_t* const found = zip_open(path.c_str(), ZIP_RDONLY, &error);
    if (found == nullptr) zip_error_init_with_code(reason.get(), error);
    return found;
  }
  zip_t* opened_in_memory(Error& reason) {
    bytes.resize(file.size());
    file.read_at(0, bytes);
    zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, reason.get());
    if (source == nullptr) return nullptr;
    zip_t* const found = zip_open_from_source(source, ZIP_RDONLY, reason.get());
    if (found == nullptr) zip_source_free(source);
    return found;
  }
};

/// One file of an archive.
class ZippedFile {
 public:
  ZippedFile(std::shared_ptr<OpenArchive> archive, const zip_stat_t& stat, std::string label)
      : archive_(std::move(archive)),
        index_(stat.index),
        size_(stat.size),
        stored_(is_stored(stat)),
        label_(std::move(label)) {}

  static bool is_stored(const zip_stat_t& stat) {
    return stat.comp_method == ZIP_CM_STORE && stat.encryption_method == ZIP_EM_NONE;
  }

  void read_at(std::uint64_t offset, std::span<char> bytes) {
    if (stored_) return archive_->file.read_at(archive_->places[index_] + offset, bytes);
    const std::lock_guard lock(archive_->mutex);
    const bool early = offset + bytes.size() <= std::min(size_, longest_beginning);
    if (unpacked_.size() < (early ? offset + bytes.size() : size_)) unpack(early ? std::min(size_, longest_beginning) : size_);
    std::copy_n(unpacked_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(), bytes.begin());
  }

 private:
  Held<zip_file_t> open() const {
    Held<zip_file_t> file(zip_fopen_index(archive_->archive.get(), index_, 0));
    if (!file) throw std::runtime_error(label_ + " cannot be unpacked (" + zip_strerror(archive_->archive.get()) + ")");
    return file;
  }

  void fill(zip_file_t* file, std::span<char> bytes) const {
    while (!bytes.empty()) {
      const zip_int64_t read = zip_fread(file, bytes.data(), bytes.size());
      if (read < 0) throw std::runtime_error(label_ + " is damaged (" + zip_file_strerror(file) + ")");
      if (read == 0)
        throw std::runtime_error(label_ + " is shorter than the archive says, expected " + std::to_string(size_) + " bytes");
      bytes = bytes.subspan(static_cast<std::size_t>(read));
    }
  }

  void unpack(std::uint64_t count) {
    unpacked_.assign(count, '\0');
    try {
      fill(open().get(), unpacked_);
    } catch (...) {
      unpacked_.clear();
      throw;
    }
  }

  std::shared_ptr<OpenArchive> archive_;
  zip_uint64_t index_;
  std::uint64_t size_;
  bool stored_;
  std::string label_, unpacked_;
};

zip_stat_t stat_of(OpenArchive& archive, zip_uint64_t index) {
  zip_stat_t stat;
  constexpr zip_uint64_t wanted =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive.archive.get(), index, 0, &stat) < 0 || (stat.valid & wanted) != wanted ||
      index >= archive.places.size())
    throw std::runtime_error(archive.path + ": does not give name, size and method of its file " + std::to_string(index));
  const std::uint64_t held = std::min(stat.comp_size, archive.file.size()),
                      most = ZippedFile::is_stored(stat) ? held : largest_growth * (held + 1);
  if (stat.size > most)
    throw std::runtime_error(archive.path + ": says that " + in_quotes(stat.name) + " has " + std::to_string(stat.size) +
                             " bytes, expected at most " + std::to_string(most));
  return stat;
}

/// All files of an archive.
std::vector<zip_stat_t> stats_of(OpenArchive& archive) {
  const zip_int64_t count = zip_get_num_entries(archive.archive.get(), 0);
  if (count > most_tensors)
    throw std::runtime_error(archive.path + ": holds " + std::to_string(count) + " files, expected at most " +
                             std::to_string(most_tensors));
  std::vector<zip_stat_t> all;
  for (zip_int64_t i = 0; i < count; ++i) all.push_back(stat_of(archive, static_cast<zip_uint64_t>(i)));
  return all;
}

/// Reads a file of an archive.
InputFile::Read reading(const std::shared_ptr<OpenArchive>& archive, const zip_stat_t& stat, const std::string& label) {
  const auto file = std::make_shared<ZippedFile>(archive, stat, label);
  return [file](std::uint64_t offset, std::span<char> bytes) { file->read_at(offset, bytes); };
}

}  // namespace

std::string zip_bytes(const std::vector<ZipMember>& members) {
  Error error;
  const Held<zip_source_t> source(made(zip_source_buffer_create(nullptr, 0, 0, error.get())));
  zip_source_keep(source.get());  // the archive releases it too
  Held<zip_t> archive(zip_open_from_source(source.get(), ZIP_TRUNCATE, error.get()));
  if (!archive) {
    zip_source_free(source.get());
    throw std::runtime_error("the archive cannot be made");
  }
  for (const ZipMember& member : members) add(archive.get(), member);
  if (zip_close(archive.get()) < 0)
    throw std::runtime_error(std::string("the archive cannot be made: ") + zip_strerror(archive.get()));
  std::ignore = archive.release();
  return bytes_of(source.get());
}

std::vector<std::shared_ptr<const InputFile>> files_in_zip(const std::string& path, const std::string& ending) {
  const auto archive = std::make_shared<OpenArchive>(path);
  std::vector<std::shared_ptr<const InputFile>> files;
  std::uint64_t unpacked = 0;
  for (const zip_stat_t& stat : stats_of(*archive)) {
    if (!std::string_view(stat.name).ends_with(ending)) continue;
    if (!ZippedFile::is_stored(stat) && (stat.size > most_unpacked || (unpacked += stat.size) > most_unpacked))
      throw std::runtime_error(path + ": its compressed files have more than " + std::to_string(most_unpacked) +
                               " bytes together, expected them uncompressed");
    const std::string label = path + ": " + printable(stat.name);
    files.push_back(std::make_shared<const InputFile>(label, stat.size, reading(archive, stat, label)));
  }
  return files;
}

std::optional<PackedFile> packed_file(const std::string& path) {
  const std::optional<std::size_t> length = archive_length(path);
  if (!length) return std::nullopt;
  const auto archive = std::make_shared<OpenArchive>(path.substr(0, *length));
  const std::string name = path.substr(*length + 1);
  std::optional<zip_stat_t> found;
  for (const zip_stat_t& stat : stats_of(*archive)) {
    check_name(stat.name, archive->path);
    if (name == stat.name) found = stat;
  }
  if (!found) throw std::runtime_error(path + ": cannot be opened: the archive has no file " + in_quotes(name));
  if (!ZippedFile::is_stored(*found) && found->size > most_unpacked)
    throw std::runtime_error(path + ": has " + std::to_string(found->size) + " bytes, expected at most " +
                             std::to_string(most_unpacked) + " of a compressed file");
  return PackedFile{found->size, reading(archive, *found, path)};
}

std::string zip_member(const std::string& path, std::string_view ending, std::uint64_t limit) {
  const std::string bytes = read_file(path, largest_archive);
  Error error;
  zip_source_t* const source = made(zip_source_buffer_create(bytes.data(), bytes.size(), 0, error.get()));
  const Held<zip_t> archive(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error.get()));
  if (!archive) {
    zip_source_free(source);
    throw std::runtime_error(path + ": is no zip archive, or a damaged one (" + zip_error_strerror(error.get()) + ")");
  }
  return member_bytes(archive.get(), only_member(archive.get(), path, ending), path, limit);
}

}  // namespace attoscope::app
