#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "app/files/files.h"
#include "app/files/zip.h"

namespace attoscope::app {
namespace {

constexpr std::uint64_t end_bytes = 22, locator_bytes = 20, end64_bytes = 56, entry_bytes = 46, local_bytes = 30,
                        longest_comment = 65'535, longest_directory = std::uint64_t{1} << 28;
constexpr std::uint32_t end_mark = 0x06054b50, locator_mark = 0x07064b50, end64_mark = 0x06064b50, entry_mark = 0x02014b50,
                        local_mark = 0x04034b50;

/// Bytes of an archive.
struct Part {
  std::string bytes;

  /// The integer of `count` bytes at `at`, lowest first.
  std::uint64_t number(std::size_t at, std::size_t count) const { return number_in({&bytes[at], count}); }
  bool has(std::uint64_t at, std::uint64_t count) const { return at <= bytes.size() && count <= bytes.size() - at; }
};

/// Central directory of an archive.
struct Directory {
  std::uint64_t files = 0, bytes = 0, begin = 0;
};

class PlaceReader {
 public:
  explicit PlaceReader(const InputFile& archive) : archive_(archive) {}

  std::vector<std::uint64_t> read() const {
    const Directory directory = found_directory();
    if (directory.bytes > longest_directory) fail();
    const Part entries = part(directory.begin, directory.bytes);
    std::vector<std::uint64_t> places;
    for (std::uint64_t at = 0; places.size() < directory.files;) {
      if (!entries.has(at, entry_bytes) || entries.number(at, 4) != entry_mark) fail();
      const std::uint64_t name = entries.number(at + 28, 2), extra = entries.number(at + 30, 2);
      if (!entries.has(at + entry_bytes, name + extra)) fail();
      places.push_back(data_of(local_header(entries, at, at + entry_bytes + name, extra)));
      at += entry_bytes + name + extra + entries.number(at + 32, 2);
    }
    return places;
  }

 private:
  Directory found_directory() const {
    const std::uint64_t size = archive_.size(), tail_bytes = std::min(size, end_bytes + longest_comment);
    const Part tail = part(size - tail_bytes, tail_bytes);
    for (std::uint64_t at = tail_bytes; at-- > 0;)
      if (tail.has(at, end_bytes) && tail.number(at, 4) == end_mark && at + end_bytes + tail.number(at + 20, 2) <= tail_bytes) {
        const Directory plain{tail.number(at + 10, 2), tail.number(at + 12, 4), tail.number(at + 16, 4)};
        const bool large = plain.files == 0xffff || plain.bytes == 0xffffffff || plain.begin == 0xffffffff;
        const bool located = at >= locator_bytes && tail.number(at - locator_bytes, 4) == locator_mark;
        return large && located ? large_directory(tail.number(at - locator_bytes + 8, 8)) : plain;
      }
    fail();
  }
  Directory large_directory(std::uint64_t begin) const {
    const Part end = part(begin, end64_bytes);
    if (end.number(0, 4) != end64_mark) fail();
    return {end.number(32, 8), end.number(40, 8), end.number(48, 8)};
  }

  /// Offset of the local header of the entry at `at`; from the Zip64 extra field if it needs 64 bits.
  std::uint64_t local_header(const Part& entries, std::uint64_t at, std::uint64_t extra, std::uint64_t extra_bytes) const {
    constexpr std::uint64_t large = 0xffffffff;
    const std::uint64_t place = entries.number(at + 42, 4), end = extra + extra_bytes;
    if (place != large) return place;
    while (extra + 4 <= end) {
      const std::uint64_t id = entries.number(extra, 2), bytes = entries.number(extra + 2, 2);
      const std::uint64_t before =
          (entries.number(at + 20, 4) == large ? 8U : 0U) + (entries.number(at + 24, 4) == large ? 8U : 0U);
      if (id == 1 && bytes >= before + 8 && extra + 4 + before + 8 <= end) return entries.number(extra + 4 + before, 8);
      extra += 4 + bytes;
    }
    fail();
  }
  std::uint64_t data_of(std::uint64_t local) const {
    const Part header = part(local, local_bytes);
    if (header.number(0, 4) != local_mark) fail();
    return local + local_bytes + header.number(26, 2) + header.number(28, 2);
  }

  Part part(std::uint64_t begin, std::uint64_t count) const {
    if (begin > archive_.size() || count > archive_.size() - begin) fail();
    Part p{std::string(count, '\0')};
    archive_.read_at(begin, std::span(p.bytes.data(), p.bytes.size()));
    return p;
  }
  [[noreturn]] void fail() const { throw std::runtime_error(archive_.path() + ": is no zip archive, or a damaged one"); }

  const InputFile& archive_;
};

}  // namespace

std::vector<std::uint64_t> zip_places(const InputFile& archive) { return PlaceReader(archive).read(); }

}  // namespace attoscope::app
