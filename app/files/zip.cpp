#include "app/files/zip.h"

#include <zip.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "app/files/files.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

constexpr std::uint64_t largest_archive = 1 << 28;
constexpr zip_int64_t most_members = 1000;
/// 1 January 1980, midnight: the first moment that an archive can tell.
constexpr zip_uint16_t first_day = 1 << 5 | 1;

/// libzip's error, said and let go of.
class Error {
 public:
  Error() { zip_error_init(&error_); }
  ~Error() { zip_error_fini(&error_); }
  Error(const Error&) = delete;
  Error& operator=(const Error&) = delete;
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

/// What libzip could not do for want of memory, the only thing that it can want here.
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

/// The index of the only member whose name ends so.
zip_uint64_t only_member(zip_t* archive, const std::string& path, std::string_view ending) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count > most_members)
    throw std::runtime_error(path + ": holds " + std::to_string(count) + " files, expected the few of a figure");
  zip_int64_t found = -1;
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* const name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name == nullptr || !std::string_view(name).ends_with(ending)) continue;
    if (std::string_view(name).find_first_of("/\\:") != std::string_view::npos)
      throw std::runtime_error(path + ": holds " + in_quotes(name) + ", expected names without folders");
    if (found >= 0)
      throw std::runtime_error(path + ": holds several files that end in " + std::string(ending) + ", expected one");
    found = i;
  }
  if (found < 0) throw std::runtime_error(path + ": holds no file that ends in " + std::string(ending));
  return static_cast<zip_uint64_t>(found);
}

/// The member's bytes, at most `limit` of them whatever its header says.
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

}  // namespace

std::string zip_bytes(const std::vector<ZipMember>& members) {
  Error error;
  const Held<zip_source_t> source(made(zip_source_buffer_create(nullptr, 0, 0, error.get())));
  zip_source_keep(source.get());  // the archive lets go of it too
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

}  // namespace attoscope
