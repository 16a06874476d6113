// Files of torch.save: valid files written by PyTorch (tests/data/torch_files), and invalid files made by hand.

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/files.h"
#include "app/files/zip.h"
#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/pickle.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_set.h"
#include "tests/support/matchers.h"
#include "tests/tensors/saved_dict.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

const std::string folder = "tests/data/torch_files/";

std::map<std::string, NamedTensor> tensors_of(const std::string& path) {
  std::map<std::string, NamedTensor> tensors;
  for (NamedTensor& t : list_file(path).tensors) tensors.emplace(t.name, std::move(t));
  return tensors;
}

/// All numbers of a tensor in C order.
std::vector<double> numbers_of(const NamedTensor& t) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : t.tensor.shape) count *= size;
  if (count == 0) return {};
  return read_matrix(*readable(t).file, t.tensor, {1, 1, static_cast<int>(count)}, 0);
}

/// Expected value at [b][h][n][d] of a tensor (2, 3, 6, 4) that is a view of (batch, n, heads, d).
double viewed(int first, int b, int h, int n, int d) { return (first + ((b * 6 + n) * 3 + h) * 4 + d) / 8.0; }

void expect_view(const NamedTensor& t, int first) {
  ASSERT_EQ(t.tensor.shape, (std::vector<std::uint64_t>{2, 3, 6, 4}));
  const std::vector<double> x = numbers_of(t);
  std::size_t i = 0;
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 3; ++h)
      for (int n = 0; n < 6; ++n)
        for (int d = 0; d < 4; ++d) ASSERT_EQ(x[i++], viewed(first, b, h, n, d)) << b << h << n << d;
}

void expect_call(const std::string& path) {
  const auto tensors = tensors_of(path);
  expect_view(tensors.at("inputs.q"), 0);
  expect_view(tensors.at("inputs.k"), 100);
  expect_view(tensors.at("inputs.v"), 244);
  EXPECT_EQ(tensors.at("inputs.q").dtype, "BF16");
  EXPECT_EQ(tensors.at("inputs.k").dtype, "F16");
  EXPECT_EQ(numbers_of(tensors.at("outputs.0")).back(), (7 + 143) / 8.0);
  EXPECT_EQ(tensors.at("5").dtype, "I64");
  EXPECT_THAT(tensors.at("5").refusal, HasSubstr("has dtype 'I64'"));
  EXPECT_THAT(tensors.at("meta").refusal, HasSubstr("'meta' is an object of 'my_model.Config', expected a tensor"));
  EXPECT_FALSE(tensors.contains("scale"));
}

TEST(TorchFile, NamesTensorsByTheirWayAndReadsViews) { expect_call(folder + "call.pt"); }
TEST(TorchFile, ReadsTheFormatBeforeZipArchives) { expect_call(folder + "old.pth"); }

TEST(TorchFile, ReadsEveryTypeAndStride) {
  const auto tensors = tensors_of(folder + "types.pt");
  const std::map<std::string, std::string> real{{"float64", "F64"},   {"float32", "F32"},         {"float16", "F16"},
                                                {"bfloat16", "BF16"}, {"float8_e5m2", "F8_E5M2"}, {"float8_e4m3fn", "F8_E4M3"}};
  for (const auto& [name, dtype] : real) {
    EXPECT_EQ(tensors.at(name).dtype, dtype) << name;
    EXPECT_THAT(numbers_of(tensors.at(name)), ElementsAre(0, 1, -1.5, 0.25)) << name;
  }
  EXPECT_THAT(numbers_of(tensors.at("int8")), ElementsAre(0, 1, -1, 0));
  EXPECT_THAT(numbers_of(tensors.at("uint8")), ElementsAre(0, 1, 1, 0));
  for (const auto& [name, dtype] : std::map<std::string, std::string>{
           {"int16", "I16"}, {"int32", "I32"}, {"uint16", "U16"}, {"uint64", "U64"}, {"bool", "BOOL"}})
    EXPECT_EQ(tensors.at(name).dtype, dtype) << name;
  EXPECT_THAT(numbers_of(tensors.at("expanded")), ElementsAre(2, 2, 2, 3, 3, 3));
  EXPECT_THAT(numbers_of(tensors.at("stepped")), ElementsAre(6 / 8.0, 9 / 8.0, 18 / 8.0, 21 / 8.0));
  EXPECT_THAT(numbers_of(tensors.at("turned")), ElementsAre(0, 3 / 8.0, 1 / 8.0, 4 / 8.0, 2 / 8.0, 5 / 8.0));
  EXPECT_THAT(numbers_of(tensors.at("empty")), ElementsAre());
}

TEST(TorchFile, ReadsBareTensorsParametersAndStateDicts) {
  for (const std::string file : {"bare.pt", "protocol_5.bin"}) {
    const auto tensors = tensors_of(folder + file);
    ASSERT_EQ(tensors.size(), 1u) << file;
    EXPECT_EQ(numbers_of(tensors.at("")).back(), 24 / 8.0) << file;
  }
  EXPECT_THAT(numbers_of(tensors_of(folder + "state.pth").at("bias")), ElementsAre(9 / 8.0, 10 / 8.0, 11 / 8.0));
  EXPECT_THAT(numbers_of(tensors_of(folder + "parameter.pt").at("weight")).back(), 5 / 8.0);
}

TEST(TorchFile, IsAnInputAndAnOutputAsOtherFilesAre) {
  const Input input = loaded(parse_input(folder + "call.pt:4"));  // batch 1, head 1
  ASSERT_NE(input.tensors, nullptr);
  EXPECT_EQ(input.tensors->q[4 * 5 + 2], viewed(0, 1, 1, 5, 2));
  KernelOutput output = parse_kernel_output(folder + "bare.pt");
  load_kernel_output(output, {.n = 6, .d = 4});
  EXPECT_EQ(output.values->back(), 24 / 8.0);
}

TEST(TorchFile, RefusesPrograms) {
  EXPECT_THAT(sentence_of([] { list_file(folder + "script.pt"); }), HasSubstr("is a TorchScript program"));
}

/// An archive of torch.save with this pickle and a storage of 16 bytes.
std::string archive(const std::string& pickle) {
  return zip_bytes({{"x/data.pkl", pickle}, {"x/data/0", std::string(16, '\0')}, {"x/version", "3\n"}});
}
std::string sentence_on(const std::string& bytes) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("x.pt", bytes);
  return sentence_of([&] {
    for (const NamedTensor& t : list_file(path).tensors) readable(t);
  });
}

const std::string begin = "\x80\x02";
std::string tuple_of_one(int x) { return SavedDict::integer(x) + "\x85"; }

/// An archive whose tensor claims a storage of `elements` floats.
std::string tensor_in_archive(int elements, int offset, const std::string& shape, const std::string& strides) {
  return archive(begin + SavedDict::view("FloatStorage", "0", elements, offset, shape, strides) + ".");
}

TEST(BadTorchFile, AViewBeyondItsStorage) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(tensors_of(scratch.write("x.pt", tensor_in_archive(4, 0, tuple_of_one(4), tuple_of_one(1)))).size(), 1u);
  for (const auto& [offset, size, stride] : {std::array{1, 4, 1}, {0, 4, 2}, {0, 5, 1}, {0, 1 << 30, 1 << 30}})
    EXPECT_THAT(sentence_on(tensor_in_archive(4, offset, tuple_of_one(size), tuple_of_one(stride))),
                HasSubstr("x.pt: the value reaches beyond its storage of 4 elements"));
  EXPECT_THAT(sentence_on(tensor_in_archive(5, 0, tuple_of_one(5), tuple_of_one(1))),
              HasSubstr("has a storage of 16 bytes, expected 5 elements of F32"));
  for (const int wrong : {-1, -4})
    EXPECT_THAT(sentence_on(tensor_in_archive(4, 0, tuple_of_one(wrong), tuple_of_one(1))),
                HasSubstr("no whole number from 0 on"));
  EXPECT_THAT(sentence_on(tensor_in_archive(4, 0, tuple_of_one(4), ")")), HasSubstr("has 0 strides"));
}

/// z.conj().imag of a complex z shares z's storage, whose numbers have the other sign.
TEST(BadTorchFile, AViewWithTheNegativeBitIsRefused) {
  std::string view = SavedDict::view("FloatStorage", "0", 4, 0, tuple_of_one(4), tuple_of_one(1));
  view.insert(view.size() - 2, "}" + SavedDict::text("neg") + SavedDict::boolean(true) + "s");
  EXPECT_THAT(sentence_on(archive(begin + view + ".")), HasSubstr("is a view with torch's negative bit, which .resolve_neg()"));
}

TEST(BadTorchFile, NothingIsEverCalled) {
  const std::string call = "cposix\nsystem\n" + SavedDict::text("touch /tmp/attoscope_was_here") + "\x85R";
  EXPECT_THAT(sentence_on(archive(begin + call + ".")), HasSubstr("is an object of 'posix.system', expected a tensor"));
  EXPECT_THAT(sentence_on(archive(begin + "(iposix\nsystem\n.")), HasSubstr("has the operation 105 of pickle"));
}

/// A list of the file's tensors could not show it.
TEST(BadTorchFile, AnObjectWithoutANameIsToldByItsClass) {
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("x.pt", archive(begin + "cmy\nConfig\n)R."));
  const char* const says = "is an object of 'my.Config', expected a tensor";
  EXPECT_THAT(sentence_of([&] { CallFiles files{TensorSpec(file)}; }), HasSubstr(says));
  EXPECT_THAT(sentence_of([&] { tensor_in(list_file(file), {file, ""}, std::array<std::string_view, 1>{"q"}, "--q"); }),
              HasSubstr(says));
}

TEST(BadTorchFile, PicklesThatAreCutOrWrong) {
  EXPECT_THAT(sentence_on(archive(begin)), HasSubstr("ends within a value"));
  EXPECT_THAT(sentence_on(archive(begin + ".")), HasSubstr("takes a value that is not there"));
  EXPECT_THAT(sentence_on(archive(begin + "h\x05.")), HasSubstr("takes the kept value 5, which is not there"));
  EXPECT_THAT(sentence_on(archive(begin + "t.")), HasSubstr("closes a mark that was not opened"));
  EXPECT_THAT(sentence_on(archive(begin + "}(" + SavedDict::text("q") + "u.")), HasSubstr("has a key without a value"));
  EXPECT_THAT(sentence_on(archive(begin + "X\xff\xff\xff\xff.")), HasSubstr("ends within a value"));
  EXPECT_THAT(sentence_on(archive("\x80\x09N.")), HasSubstr("is of protocol 9, expected 2 to 5"));
  EXPECT_THAT(sentence_on(zip_bytes({{"x/other", ""}})), HasSubstr("without data.pkl"));
  EXPECT_THAT(sentence_on("hello"), HasSubstr("is no file of torch.save"));
}

/// Lists that hold the previous list twice, nested 60 deep, have 2^60 elements.
TEST(BadTorchFile, ListsOfListsEndSoon) {
  const auto kept = [](int place) { return std::string(1, static_cast<char>(place)); };
  std::string pickle = begin + "]q" + kept(0);
  for (int i = 1; i < 60; ++i) pickle += "](h" + kept(i - 1) + "h" + kept(i - 1) + "eq" + kept(i);
  EXPECT_THAT(sentence_on(archive(pickle + ".")), HasSubstr("holds more than 1000000 values"));
  const std::string itself = begin + "]q" + kept(0) + "h" + kept(0) + "a.";
  EXPECT_THAT(sentence_on(archive(itself)), HasSubstr("nested deeper than 64 values"));
}

/// A rebuilt object whose arguments are itself, or 300,000 rebuilt objects one in the other.
TEST(BadTorchFile, RebuiltObjectsEndSoon) {
  const std::string rebuild = begin + "ctorch._tensor\n_rebuild_from_type_v2\nq\1";
  EXPECT_THAT(sentence_on(archive(rebuild + "]q\2(h\1Nh\2eR.")), HasSubstr("nested deeper than 64 values"));
  std::string before, behind;
  for (int i = 0; i < 300'000; ++i) before += "h\1N", behind += "\x87";
  EXPECT_THAT(sentence_on(archive(rebuild + before + ")" + behind + "R.")), HasSubstr("nested deeper than 64 values"));
}

TEST(BadTorchFile, AnyChangeIsReadOrRefused) {
  std::mt19937 random(1);
  for (const std::string file : {"call.pt", "old.pth", "types.pt", "protocol_5.bin"}) {
    const std::string good = read_file(folder + file, 1 << 20);
    for (int i = 0; i < 300; ++i) {
      std::string bytes = good;
      const int changes = 1 + static_cast<int>(random() % 4);
      for (int c = 0; c < changes; ++c) bytes[random() % bytes.size()] = static_cast<char>(random());
      if (random() % 8 == 0) bytes.resize(random() % bytes.size());
      const TemporaryDirectory scratch;  // a file system may write a file to the disk before it is written again
      const std::string path = scratch.write(file, bytes);
      try {
        for (const NamedTensor& t : list_file(path).tensors)
          if (t.refusal.empty() && byte_count(t.tensor.shape, 1, "") < 4096) numbers_of(t);
      } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr(path));
      }
    }
  }
}

}  // namespace
}  // namespace attoscope
