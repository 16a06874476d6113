// Models of llama.cpp: tests/data/gguf_files, compared with numbers read by the package gguf, and damaged copies.

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/files.h"
#include "app/tensors/readers.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

const std::string gguf_folder = "tests/data/gguf_files/";

std::vector<double> gguf_numbers(const NamedTensor& t, int head, int n, int d) {
  return read_matrix(*readable(t).file, t.tensor, {1, n, d}, head);
}

TEST(Gguf, ReadsWhatItsOwnPackageReads) {
  const TensorSet set = list_file(gguf_folder + "types.gguf");
  const TensorSet expected = list_file(gguf_folder + "expected.npy");
  const NamedTensor& all = expected.tensors.at(0);
  int known = 0;
  for (const NamedTensor& t : set.tensors) {
    EXPECT_EQ(t.tensor.shape, (std::vector<std::uint64_t>{3, 512}));
    if (t.dtype == "type 13") {
      EXPECT_THAT(t.refusal, HasSubstr("tensor 'Q5_K' has type 13, expected F32"));
      continue;
    }
    EXPECT_EQ(t.name, t.dtype);
    const std::vector<double> x = gguf_numbers(t, 0, 3, 512), y = read_matrix(*all.file, all.tensor, {8, 3, 512}, known);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(x[i]), std::bit_cast<std::uint64_t>(y[i])) << t.name << " " << i;
    ++known;
  }
  EXPECT_EQ(known, 8);
  EXPECT_EQ(set.metadata.at("general.architecture"), "llama");
  EXPECT_EQ(set.metadata.at("llama.context_length"), "2048");
  EXPECT_EQ(set.metadata.at("test.yes"), "true");
}

/// Reading part of a quantised row equals this part of the whole row, whatever the block boundaries.
TEST(Gguf, ReadsPartsOfBlocks) {
  for (const NamedTensor& t : list_file(gguf_folder + "types.gguf").tensors) {
    if (!t.refusal.empty()) continue;
    const std::vector<double> x = gguf_numbers(t, 0, 3, 512);
    for (const int first : {0, 1, 31, 255, 256, 700}) {
      StoredTensor part = t.tensor;
      part.offset += static_cast<std::uint64_t>(first * bytes_of(part.type));
      const std::vector<double> y = read_matrix(*t.file, part, {1, 1, 300}, 0);
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[static_cast<std::size_t>(first) + i]) << t.name;
    }
  }
}

std::string gguf_sentence(const std::string& bytes) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("x.gguf", bytes);
  return sentence_of([&] { list_file(path); });
}

TEST(Gguf, BadFilesGetASentence) {
  const std::string good = read_file(gguf_folder + "types.gguf", 1 << 20);
  const auto changed = [&](std::string_view before, std::size_t after, std::string bytes) {
    std::string s = good;
    s.replace(s.find(before) + before.size() + after, bytes.size(), bytes);
    return gguf_sentence(s);
  };
  using namespace std::string_literals;
  EXPECT_THAT(gguf_sentence("GGML" + good.substr(4)), HasSubstr("does not begin with 'GGUF'"));
  EXPECT_THAT(changed("GGUF", 0, "\x00\x00\x00\x03"s), HasSubstr("version 50331648, expected 2 or 3"));
  EXPECT_THAT(changed("GGUF", 4, "\xff\xff\xff\xff\xff"s), HasSubstr("tensors, expected at most 1048576"));
  EXPECT_THAT(changed("general.architecture", 0, "\x0d"s), HasSubstr("key 'general.architecture' has type 13"));
  EXPECT_THAT(changed("Q4_0", 0, "\x09"s), HasSubstr("tensor 'Q4_0' has 9 dimensions, expected at most 4"));
  EXPECT_THAT(changed("Q4_0", 4, "\x21"s), HasSubstr("has rows of 545, expected a multiple of 32, the block of Q4_0"));
  EXPECT_THAT(changed("Q4_0", 24, "\xff\xff\xff"s), HasSubstr("of the data, which has"));
  EXPECT_THAT(gguf_sentence(good.substr(0, 100)), HasSubstr("ends within its header at byte 100"));
}

TEST(Gguf, NoChangedFileCrashes) {
  const std::string good = read_file(gguf_folder + "types.gguf", 1 << 20);
  std::mt19937 dice(7);
  int listed = 0;
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 1 + i % 3; ++k) bytes[dice() % 1200] = static_cast<char>(dice());
    if (i % 5 == 0) bytes.resize(dice() % bytes.size());
    const TemporaryDirectory scratch;  // a file system may write a file to the disk before it is written again
    const std::string path = scratch.write("x.gguf", bytes);
    try {
      for (const NamedTensor& t : list_file(path).tensors)
        if (t.refusal.empty() && t.tensor.shape == std::vector<std::uint64_t>{3, 512}) gguf_numbers(t, 0, 3, 512);
      ++listed;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
  EXPECT_GT(listed, 40);
}

}  // namespace
}  // namespace attoscope
