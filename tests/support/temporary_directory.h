/// A temporary directory, and the messages of calls that must fail.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/support/rooms.h"

namespace attoscope::testing {

/// An empty directory; the destructor removes it with its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "attoscope-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  /// Writes a file in the directory; returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }

  /// Like write(), with a time of change an hour ago: FileWatch takes a file changed within the last tick for one that is
  /// still being written.
  std::string write_old(std::string_view name, std::string_view bytes) const {
    const std::string path = write(name, bytes);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    return path;
  }

  /// Number of entries.
  long count() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

/// A test with a temporary directory of its own.
class ScratchTest : public ::testing::Test {
 protected:
  TemporaryDirectory scratch_;
};

/// All bytes of a file.
inline std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The message of the E that `act` throws; "" and a failure if it throws none.
template <class E = std::runtime_error, class F>
std::string sentence_of(F act) {
  try {
    act();
  } catch (const E& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    return sentence;
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace attoscope::testing
