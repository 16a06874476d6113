// Names of inputs, and every type of number in tensor files.
#include "app/tensors/tensors.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/tensors/call_files.h"
#include "app/tensors/npy.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing: the files made by hand

// Texts of inputs.

TEST(InputSpec, EveryKindRoundTrips) {
  for (const char* const spec : {"normal", "uniform", "outliers", "ones", "constant:0.1", "constant:-2.5e-300", "ties",
                                 "ascending", "descending", "shuffled", "a/b.safetensors:3", "q.npy,k.npy,v.npy:0"}) {
    EXPECT_EQ(input_spec(parse_input(spec)), spec);
    EXPECT_EQ(parse_input(input_spec(parse_input(spec))), parse_input(spec));
  }
}

TEST(InputSpec, NamesAFileAndAHead) {
  const Input input = parse_input("odd:name/x.safetensors:12");
  EXPECT_EQ(input.kind, InputKind::tensors);
  EXPECT_EQ(input.file, "odd:name/x.safetensors");
  EXPECT_EQ(input.index, 12);
  EXPECT_EQ(parse_input("x.safetensors").index, 0);
  EXPECT_EQ(parse_input("with,comma/q.npy,k.npy,v.npy").file, "with,comma/q.npy,k.npy,v.npy");
}

TEST(InputSpec, RefusesWhatItDoesNotKnow) {
  for (const char* const spec :
       {"", "norml", "tensors", "constant", "constant:", "constant:1,5", "constant:nan", "constant:1e999",
        "x.safetensors:", "x.safetensors:-1", "x.safetensors:1.5", "x.safetensors:99999999999", "q.npy", "q.npy,k.npy",
        "q.npy,k.npy,v.npy,w.npy", "x.dat", ":"}) {
    EXPECT_THAT(sentence_of<std::invalid_argument>([&] { parse_input(spec); }), AllOf(HasSubstr("'"), HasSubstr("expected")))
        << spec;
  }
}

// Valid files.

TEST(Tensors, TheExampleIsRead) {
  const Input input = loaded(parse_input(example + ":1"));
  ASSERT_NE(input.tensors, nullptr);
  EXPECT_EQ(input.tensors->n, 1024);
  EXPECT_EQ(input.tensors->d, 64);
  EXPECT_EQ(input.tensors->v.size(), 1024U * 64U);
  const std::string bytes = bytes_of_file(example);
  float second_head_of_k = 0;
  std::memcpy(&second_head_of_k, bytes.data() + 8 + 528 + 1024 * 64 * 4, 4);
  EXPECT_EQ(input.tensors->k[0], second_head_of_k);
  EXPECT_NE(input.digest, loaded(parse_input(example + ":2")).digest);
  EXPECT_NE(input.digest, 0U);
}

TEST(Tensors, TheExampleIsDescribed) {
  const TensorFileInfo info = describe_tensors(example);
  EXPECT_EQ(info.heads, 4);
  EXPECT_EQ(info.shape.n, 1024);
  EXPECT_EQ(info.shape.d, 64);
  EXPECT_THAT(info.head_names,
              ::testing::ElementsAre("layer 0, head 0", "layer 7, head 7", "layer 18, head 7", "layer 24, head 7"));
}

TEST(Tensors, HeadsWithoutNamesAreNumbered) {
  const TemporaryDirectory scratch;
  const std::string path =
      scratch.write("x.safetensors", safetensors(good_header("\"__metadata__\":{\"heads\":\"a,b\"},"), 72));
  EXPECT_THAT(describe_tensors(path).head_names, ::testing::ElementsAre("head 0"));
}

TEST(Tensors, OtherInputsAreLeftAlone) { EXPECT_EQ(loaded(parse_input("normal")), parse_input("normal")); }

TEST(Tensors, TheDigestFollowsTheBits) {
  const TemporaryDirectory scratch;
  std::string bytes = safetensors(good_header(), 72);
  const Input before = loaded(parse_input(scratch.write("x.safetensors", bytes)));
  bytes.back() ^= 1;
  const Input after = loaded(parse_input(scratch.write("x.safetensors", bytes)));
  EXPECT_NE(before.digest, after.digest);
  EXPECT_FALSE(before == after);
}

TEST(Tensors, NanIsOneValueInTheDigest) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(output_digest({1, nan}, 1, 2), output_digest({1, -nan}, 1, 2));
  EXPECT_NE(output_digest({1, nan}, 1, 2), output_digest({nan, 1}, 1, 2));
  const auto input_with = [](double x) {
    Tensors t = Tensors::shaped(AttentionShape::square(1, 1));
    t.q = {1}, t.k = {2}, t.v = {x};
    Input input;
    take_tensors(input, std::move(t));
    return input;
  };
  EXPECT_EQ(input_with(nan).digest, input_with(-nan).digest);
  EXPECT_EQ(input_with(nan).parts.v, input_with(-nan).parts.v);
}

TEST(Tensors, NamesInCapitalsAndInWords) {
  const TemporaryDirectory scratch;
  for (const auto& [q, k, v] : {std::array{"Q", "K", "V"}, std::array{"query", "key", "value"}}) {
    const std::string one(4, '\0'),
        file = safetensors(
            {{q, "F32", "[1,1]", one}, {k, "F32", "[1,1]", one}, {v, "F32", "[1,1]", one}, {"other", "I64", "[0]", ""}});
    EXPECT_NO_THROW(loaded(parse_input(scratch.write("x.safetensors", file))));
  }
}

TEST(Tensors, EveryElementTypeOfSafetensors) {
  const TemporaryDirectory scratch;
  const std::string file = safetensors({{"q", "F16", "[1,1,1,2]", raw<std::uint16_t>({0x0001, 0xC100})},
                                        {"k", "BF16", "[1,1,1,2]", raw<std::uint16_t>({0x3FC0, 0xFF80})},
                                        {"v", "F64", "[1,1,1,2]", raw<double>({0.1, -0.0})}});
  const Input input = loaded(parse_input(scratch.write("x.safetensors", file)));
  EXPECT_EQ(input.tensors->q, (std::vector<double>{std::ldexp(1.0, -24), -2.5}));
  EXPECT_EQ(input.tensors->k, (std::vector<double>{1.5, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(input.tensors->v[0], 0.1);
  EXPECT_TRUE(std::signbit(input.tensors->v[1]));
}

TEST(Tensors, NotANumberIsANumberLikeOthers) {
  const TemporaryDirectory scratch;
  std::string bytes = safetensors(good_header(), 0) + raw(std::vector<float>(18, std::numeric_limits<float>::quiet_NaN()));
  EXPECT_TRUE(std::isnan(loaded(parse_input(scratch.write("x.safetensors", bytes))).tensors->q[5]));
}

TEST(Tensors, F16HasInfinitiesAndNaN) {
  const TemporaryDirectory scratch;
  const std::string halves = raw<std::uint16_t>({0x7C00, 0xFC00, 0x7E01, 0x7BFF, 0x0400, 0x8000});
  const Input input = loaded(npy_input(scratch, npy(npy_header("<f2", "(2, 3)"), halves)));
  const std::vector<double>& q = input.tensors->q;
  EXPECT_EQ(q[0], INFINITY);
  EXPECT_EQ(q[1], -INFINITY);
  EXPECT_TRUE(std::isnan(q[2]));
  EXPECT_EQ(q[3], 65504);
  EXPECT_EQ(q[4], std::ldexp(1.0, -14));
  EXPECT_TRUE(std::signbit(q[5]));
}

TEST(Npy, ByteOrders) {
  const TemporaryDirectory scratch;
  std::vector<std::uint32_t> big(6, 0);
  big[1] = __builtin_bswap32(std::bit_cast<std::uint32_t>(1.5F));
  const Input input = loaded(npy_input(scratch, npy(npy_header(">f4", "(2, 3)"), raw(big), 2)));
  EXPECT_EQ(input.tensors->q, (std::vector<double>{0, 1.5, 0, 0, 0, 0}));
}

TEST(Npy, FortranOrder) {
  const TemporaryDirectory scratch;
  const std::string columns = raw<double>({1, 4, 2, 5, 3, 6});
  const Input input = loaded(npy_input(scratch, npy(npy_header("<f8", "(2, 3)", "True"), columns, 3)));
  EXPECT_EQ(input.tensors->q, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

/// The same (2, 2, 2, 3) numbers in C and Fortran order; head 2 is head 0 of batch 1.
TEST(Npy, FortranOrderOfHeads) {
  const TemporaryDirectory scratch;
  std::vector<double> c(24), f(24);
  for (std::size_t b = 0, at = 0; b < 2; ++b)
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 3; ++j, ++at) f[b + 2 * (h + 2 * (i + 2 * j))] = c[at] = static_cast<double>(at);
  const std::string in_c = scratch.write("c.npy", npy_of("(2, 2, 2, 3)", c));
  const std::string in_f = scratch.write("f.npy", npy(npy_header("<f8", "(2,2,2,3)", "True"), raw(f)));
  for (int head = 0; head < 4; ++head) {
    const Input input = loaded(parse_input(in_c + "," + in_f + "," + in_c + ":" + std::to_string(head)));
    EXPECT_EQ(input.tensors->q, input.tensors->k) << head;
    EXPECT_EQ(input.tensors->q[0], 6 * head);
  }
}

TEST(Npy, WrittenFilesAreReadBack) {
  const TemporaryDirectory scratch;
  const std::vector<double> values{0.1, -0.0, INFINITY, 5e-324, 1e308, -7};
  write_file(scratch / "q.npy", npy_bytes(2, 3, values.data()));
  EXPECT_EQ(scratch.count(), 1);
  const std::string q = scratch / "q.npy";
  const Input input = loaded(parse_input(q + "," + q + "," + q));
  EXPECT_EQ(input.tensors->v, values);
  EXPECT_EQ(describe_tensors(input.file).shape.d, 3);
  EXPECT_EQ((bytes_of_file(q).size() - 48) % 64, 0U);
}

}  // namespace
}  // namespace attoscope
