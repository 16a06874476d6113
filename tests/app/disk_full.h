/// Tests of writers on a disk that fills up at a random byte: they leave all old or all new files, none truncated.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/app/outcome.h"
#include "tests/support/full_disk.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

/// A writer whose files get new content at each call; `write` throws an error sentence if it fails.
struct TestedWriter {
  std::string name;
  std::vector<std::string> files;
  std::function<void(int version)> write;
};

inline std::vector<std::string> contents(const std::vector<std::string>& files) {
  std::vector<std::string> all;
  for (const std::string& file : files) all.push_back(bytes_of_file(file));
  return all;
}

/// Fails if a temporary or partial file is left in a folder of the files.
inline void expect_nothing_half(const std::vector<std::string>& files, const std::string& about) {
  for (const std::string& file : files)
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(file).parent_path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(name.find(".part-") == std::string::npos && !name.starts_with(".attoscope-")) << about << ": " << name;
    }
}

/// Overwrites the files many times, each time with disk space for a random part of them.
inline void expect_whole_whenever_full(const TestedWriter& writer, int times, Dice& dice) {
  int version = 0, failures = 0;
  writer.write(++version);
  for (int i = 0; i < times; ++i) {
    const std::vector<std::string> before = contents(writer.files);
    int size = 0;
    for (const std::string& bytes : before) size += static_cast<int>(bytes.size());
    ASSERT_GT(size, 0) << writer.name;
    std::string sentence;
    const int room = dice.between(0, size + size / 8);
    {
      const FullDisk disk(room);
      try {
        writer.write(++version);
      } catch (const std::exception& error) {
        sentence = error.what();
      }
      EXPECT_EQ(sentence.empty(), !disk.was_full()) << writer.name << ", room for " << room << ": " << sentence;
    }
    const std::string about = writer.name + ", room for " + std::to_string(room) + " of " + std::to_string(size);
    const std::vector<std::string> after = contents(writer.files);
    for (std::size_t f = 0; f < after.size(); ++f)
      EXPECT_EQ(after[f] == before[f], !sentence.empty()) << about << ": " << writer.files[f];
    if (!sentence.empty()) {
      EXPECT_THAT(sentence, ::testing::HasSubstr("No space left on device")) << about;
      EXPECT_EQ(sentence.find('\n'), std::string::npos) << about;
    }
    expect_nothing_half(writer.files, about);
    failures += !sentence.empty();
  }
  EXPECT_GT(failures, 0) << writer.name;
  const std::vector<std::string> before = contents(writer.files);
  writer.write(++version);
  for (std::size_t f = 0; f < before.size(); ++f) EXPECT_NE(contents(writer.files)[f], before[f]) << "the disk has room again";
}

}  // namespace attoscope::testing
