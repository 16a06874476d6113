// Random changes of tensor files: every header gives a tensor or an error sentence.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

/// Applies up to four random changes: a byte or bit changed, bytes removed, a character inserted or replaced.
void mutate(std::string& text, std::mt19937& dice) {
  for (std::size_t times = 1 + dice() % 4; times > 0 && !text.empty(); --times) {
    const std::size_t at = dice() % text.size();
    static constexpr std::string_view favourites = "0129-.eE{}[]()\"',: nqkvF\\";
    switch (dice() % 5) {
      case 0:
        text[at] = static_cast<char>(dice());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << dice() % 8));
        break;
      case 2:
        text.erase(at, 1 + dice() % 8);
        break;
      case 3:
        text.insert(at, 1, favourites[dice() % favourites.size()]);
        break;
      default:
        text[at] = favourites[dice() % favourites.size()];
        break;
    }
  }
}

/// Reads a file of any content; true if it is valid.
bool survives(const std::string& spec) {
  try {
    Input input = parse_input(spec);
    describe_tensors(input.file);
    load_tensors(input);
    return true;
  } catch (const std::runtime_error& error) {
    EXPECT_STRNE(error.what(), "");
    return false;
  }
}

TEST(Mutations, OfTheExamplesHeader) {
  const TemporaryDirectory scratch;
  const std::string bytes = bytes_of_file(example);
  const std::size_t header_bytes = 8 + 528;
  std::mt19937 dice(1);
  int good = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string header = bytes.substr(i % 4 == 0 ? 0 : 8, i % 4 == 0 ? header_bytes : header_bytes - 8);
    mutate(header, dice);
    if (i % 4 != 0) header.insert(0, little_endian(header.size(), 8));  // the right length: the header itself is read
    const std::string path = scratch.write("x.safetensors", header);
    std::filesystem::resize_file(path, header.size() + bytes.size() - header_bytes);
    good += survives(path + ":1") ? 1 : 0;
  }
  EXPECT_GT(good, 0);  // changes of the notes keep the file valid
}

TEST(Mutations, OfAnNpyHeader) {
  const TemporaryDirectory scratch;
  std::mt19937 dice(2);
  for (int i = 0; i < 3000; ++i) {
    std::string header = npy_header("<f4", "(2, 3)");
    if (i % 2 == 0) mutate(header, dice);
    std::string file = npy(header, std::string(24, 'x'), 1 + i % 3);
    if (i % 2 == 1) mutate(file, dice);
    survives(npy_input(scratch, file).file);
  }
}

TEST(Mutations, TruncatedEverywhere) {
  const TemporaryDirectory scratch;
  const std::string bytes = safetensors(good_header(), 72);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(survives(scratch.write("x.safetensors", bytes.substr(0, size)))) << size;
  }
}

}  // namespace
}  // namespace attoscope
