// Every file is read or refused with a sentence within seconds. The bounds are generous: a file beyond them takes minutes.

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/files/zip.h"
#include "app/json/json.h"
#include "app/json/settings_json.h"
#include "app/papers/named_bundle.h"
#include "app/session/session.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/train/checkpoint.h"
#include "app/words/numbers.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// Fails if `act` uses much CPU time; other load of the machine does not count.
template <class F>
void soon(F act) {
  const std::clock_t began = std::clock();
  act();
  EXPECT_LT((std::clock() - began) / CLOCKS_PER_SEC, testing::sanitized ? 60 : 5);
}

/// Fails unless `act` soon throws an error that contains these words.
template <class F>
void refused_soon(const std::string& words, F act) {
  soon([&] { EXPECT_THAT(sentence_of(act), HasSubstr(words)); });
}

std::string repeated(const std::string& item, std::size_t count) {
  std::string text;
  text.reserve(count * (item.size() + 1));
  for (std::size_t i = 0; i < count; ++i) text.append(item).append(i + 1 < count ? "," : "");
  return text;
}

TEST(BoundedJson, ObjectsSideBySideTakeTheirNumberAndNotItsSquare) {
  soon([] { EXPECT_EQ(parse_json("[" + repeated("{}", 400'000) + "]", 2).size(), 400'000u); });
  soon([] { EXPECT_EQ(parse_json("[" + repeated("{\"x\":[1]}", 200'000) + "]", 3).size(), 200'000u); });
}

TEST(BoundedJson, MoreValuesThanAnybodyMeansAreRefused) {
  soon([] {
    EXPECT_EQ(sentence_of([] { parse_json("[" + repeated("{}", 1'000'000) + "]", 2); }), "holds more than 1000000 values");
  });
  EXPECT_NO_THROW(parse_json("[1,2,[],{\"a\":null}]", 2, 6));
  EXPECT_EQ(sentence_of([] { parse_json("[1,2,[],{\"a\":null}]", 2, 5); }), "holds more than 5 values");
}

TEST(BoundedJson, TheFirstErrorIsSaid) {
  const auto said = [](const std::string& text) { return sentence_of([&] { parse_json(text, 2); }); };
  EXPECT_EQ(said("[1,"), "is not JSON at byte 4");
  EXPECT_EQ(said(""), "is not JSON at byte 1");
  EXPECT_EQ(said("[[[1]]"), "is nested deeper than 2");
  EXPECT_EQ(said("{\"a\":1,\"a\":"), "gives the key 'a' twice");
  EXPECT_EQ(said("{\"a\":{\"b\":1,\"b\":2}}"), "gives the key 'b' twice");
  EXPECT_EQ(said("{\"a\":1e999}"), "is not JSON: a number is beyond the range of double");
  EXPECT_EQ(said("{\"\\u001b[2J\":1,\"\\u001b[2J\":1}"), "gives the key '?[2J' twice");
  EXPECT_EQ(parse_json("[{\"a\":1},{\"a\":2}]", 2).size(), 2u);
}

class Bounded : public ScratchTest {
 protected:
  /// Writes a sparse file of `size` bytes.
  std::string sparse(const std::string& name, const std::string& begin, std::uint64_t size) const {
    std::filesystem::resize_file(scratch_.write(name, begin), size);
    return scratch_ / name;
  }
};

TEST_F(Bounded, HeadersOfManyTensors) {
  std::string header = "{";
  for (int i = 0; i < 20'000; ++i) header += testing::entry("t" + std::to_string(i), "F32", "[1]", 4 * i, 4 * i + 4) + ",";
  header.back() = '}';
  soon([&] {
    EXPECT_THAT(testing::refusal(testing::safetensors(header, 80'000)), HasSubstr("no three tensors called q, k, v"));
  });
}

TEST_F(Bounded, SessionsOfManyPins) {
  std::vector<std::string> remarks;
  soon([&] { parse_session(R"({"schema":"attoscope.session/1","pins":[)" + repeated("{}", 160'000) + "]}", remarks); });
  EXPECT_THAT(remarks, SizeIs(1));
}

TEST_F(Bounded, FiguresOfManyDigests) {
  const std::string text = R"({"schema":"attoscope.figure/1","digests":[)" + repeated("{}", 300'000) + "]}";
  refused_soon("digests holds 300000 entries", [&] { parse_asked_figure(text); });
}

TEST_F(Bounded, RemarksAboutManyThings) {
  std::string keys;
  for (int i = 0; i < 100'000; ++i) keys += ",\"key" + std::to_string(i) + "\":1";
  std::vector<std::string> remarks;
  soon([&] { parse_session(R"({"schema":"attoscope.session/1")" + keys + "}", remarks); });
  ASSERT_THAT(remarks, SizeIs(most_remarks + 1));
  EXPECT_EQ(remarks.front(), "key0 is not a known key");
  EXPECT_EQ(remarks.back(), "There is more that cannot be used.");
}

TEST_F(Bounded, ArchivesThatUnpackToMuch) {
  const std::string bomb = zip_bytes({{"f.json", std::string(200 << 20, ' ')}});
  ASSERT_LT(bomb.size(), 1u << 20);
  const std::string path = scratch_.write("bomb.zip", bomb);
  refused_soon("holds a file of more than 1048576 bytes", [&] { zip_member(path, ".json", 1 << 20); });
}

constexpr std::uint64_t huge = std::uint64_t{100} << 30;

/// True if this process has mapped the file.
bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line))
    if (line.ends_with(path)) return true;
  return false;
}

TEST(InputFile, IsMappedAndSaysWhereAFileThatIsCutMeanwhileEnds) {
  const TemporaryDirectory scratch;
  constexpr std::uint64_t page = 4096;
  for (const std::uint64_t kept : {std::uint64_t{0}, page, page + 10, 3 * page - 1}) {
    const std::string path = scratch.write("x.bin", std::string(3 * page, 'x'));
    const InputFile file(path);
    EXPECT_TRUE(is_mapped(std::filesystem::canonical(path).string()));
    std::string bytes(3 * page, '\0');
    file.read_at(0, bytes);
    EXPECT_EQ(bytes, std::string(3 * page, 'x'));
    std::filesystem::resize_file(path, kept);
    std::string sentence;
    std::thread([&] { sentence = sentence_of([&] { file.read_at(0, bytes); }); }).join();
    EXPECT_EQ(sentence, path + ": ends at byte " + std::to_string(kept) + ", expected more");
    std::string rest(kept, '\0');
    file.read_at(0, rest);
    EXPECT_EQ(rest, std::string(kept, 'x'));
  }
}

TEST(InputFileDeathTest, AnotherPageThatIsMissingEndsTheProgramAsBefore) {
  const TemporaryDirectory scratch;
  const InputFile file(scratch.write("x.bin", "x"));
  char byte = 0;
  file.read_at(0, {&byte, 1});
  EXPECT_DEATH(std::raise(SIGBUS), "");
}

TEST_F(Bounded, TensorsOfAHundredGigabytes) {
  const std::string header = testing::npy(testing::npy_header("<f2", "(51200, 1024, 1024)", "True"), "");
  const std::string path = sparse("x.npy", header, header.size() + huge);
  soon([&] {
    Input input = parse_input(path + "," + path + "," + path + "[h n d]:7");
    EXPECT_THAT(sentence_of([&] { load_tensors(input); }),
                AllOf(HasSubstr("x.npy is in Fortran order"), HasSubstr("107374182400 bytes"), HasSubstr("expected at most")));
  });
  refused_soon("is in Fortran order", [&] {
    KernelOutput output = parse_kernel_output(path + ":7");
    load_kernel_output(output, {.n = 0, .d = 0});
  });
  refused_soon("header length is 0 bytes", [&] {
    Input input = parse_input(sparse("x.safetensors", "", huge));
    load_tensors(input);
  });
}

TEST_F(Bounded, TextsOfAHundredGigabytes) {
  std::vector<std::string> remarks;
  const std::string words = "has 107374182400 bytes, expected at most";
  refused_soon(words, [&] { read_session(sparse("s.json", "{", huge), remarks); });
  refused_soon(words, [&] { zip_member(sparse("z.zip", "PK", huge), ".json", 1 << 20); });
}

TEST_F(Bounded, CheckpointsOfAHundredGigabytes) {
  const auto numbers = [](std::uint64_t total, std::uint64_t json) {
    return testing::little_endian(total, 8) + testing::little_endian(json, 8);
  };
  const auto refused = [&](const std::string& begin, const std::string& words) {
    refused_soon(words, [&] { read_checkpoint(sparse("c", "attoscope.checkpoint/1\n" + begin, huge)); });
  };
  refused(numbers(huge, 1 << 30), "is not JSON at byte 1");
  refused(numbers(huge, 2) + "{}", "has no key 'schema'");
  refused(numbers(huge, huge), "bytes of JSON, expected at most");
  refused(numbers(huge - 1, 2) + "{}", "has 107374182400 bytes, expected 107374182399");
}

TEST(Messages, HoldTextOfFilesAndArgumentsInQuotes) {
  const std::string nasty = "\x1b]0;x\x07\nline\xff";
  std::vector<std::string> remarks;
  parse_session(R"({"schema":"attoscope.session/1","a\u001b[31m\nb":1,"view":{"x y":1},"device":7})", remarks);
  EXPECT_THAT(remarks, ::testing::UnorderedElementsAre("'a?[31m?b' is not a known key", "view.'x y' is not a known key",
                                                       "device is '7', expected a text; the default is kept"));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"run", "--format", nasty},
                                             {"run", "--policy", nasty},
                                             {"run", "--input", nasty + ".safetensors"},
                                             {"run", "--device", nasty},
                                             {"run", "--set", nasty},
                                             {"run", nasty},
                                             {nasty},
                                             {"figure", nasty},
                                             {"figure", nasty + ".json", "--out", "x.pdf"},
                                             {"sweep", "--vary", nasty},
                                             {"train", "--text", nasty},
                                             {"run", "--json", nasty + "/x"}}) {
    const testing::Outcome outcome = testing::attoscope(arguments);
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, AllOf(StartsWith("attoscope: "), EndsWith("\n")));
    EXPECT_EQ(outcome.err.find_first_of("\x1b\x07\xff"), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST(BoundedJson, HoldsPathsThatAreNoUtf8) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& bytes :
       {all, std::string("plain \xc3\xa4"), std::string("\xf4\x8f\xbe\x80 \xff\xf4\x8f"), std::string()}) {
    EXPECT_EQ(bytes_of_json(json_string(bytes)), bytes);
    EXPECT_EQ(parse_json(json_text(json_string(bytes)), 1), nlohmann::json(json_string(bytes)));
  }
  EXPECT_EQ(json_string("plain \xc3\xa4"), "plain \xc3\xa4");
  EXPECT_EQ(bytes_of_json("plain \xc3\xa4"), "plain \xc3\xa4");
}

TEST(SessionPath, FindsAFileWhoseNameIsNoUtf8) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("x\xff.safetensors", testing::safetensors(testing::good_header(), 72));
  Session session;
  session.experiment.problem.input = parse_input(path);
  std::vector<std::string> remarks;
  Session read = parse_session(session_text(session, path), remarks);
  EXPECT_TRUE(remarks.empty());
  EXPECT_EQ(read.experiment.problem.input.file, path);
  EXPECT_NO_THROW(load_tensors(read.experiment.problem.input));
}

TEST(Messages, CutNoCharacterInTwo) {
  EXPECT_EQ(in_quotes("\xc3\xa4"), "'\xc3\xa4'");
  EXPECT_EQ(in_quotes("\xc3"), "'?'");
  EXPECT_EQ(in_quotes("\xc2\x9b"
                      "31m"),
            "'?31m'");  // a control character of two bytes
  const std::string long_one = std::string(79, 'x') + "\xc3\xa4";
  EXPECT_EQ(in_quotes(long_one), "'" + std::string(79, 'x') + "...'");
  EXPECT_EQ(printable("a\tb\x7f"), "a?b?");
  EXPECT_EQ(shown_key("block_k"), "block_k");
  EXPECT_EQ(shown_key(""), "''");
}

}  // namespace
}  // namespace attoscope
