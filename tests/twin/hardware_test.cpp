/// The tensor-core kernel without a GPU: its own code, run over blocks, warps and lanes by a model of ldmatrix, mma and
/// cp.async that checks bounds, races and bank conflicts; its result against the golden value and against emulated `hw`.
#include "kernels/tensor_core/hardware.h"

#include <nlohmann/json.hpp>

#include "app/session/report.h"
#include "app/session/result_json.h"
#include "kernels/compute.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/presets.h"
#include "kernels/gpu/device.h"
#include "tests/reference/plain_hardware.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/twin/host_block.h"

namespace attoscope::testing {
namespace {

constexpr int head_dimensions[] = {32, 64, 96, 128};
constexpr Format formats[] = {bf16, fp16, e4m3};

Experiment hardware_experiment(int n, int d, HardwareTile tile, bool causal, Format format) {
  Experiment e = default_experiment();
  e.problem.n = n;
  e.problem.d = d;
  e.problem.mask.kind = causal ? Mask::Kind::causal : Mask::Kind::none;
  e.format = format;
  e.a.block_q = tile.block_q;
  e.a.block_k = tile.block_k;
  e.a = emulation_of(e.a);
  e.a.precision[Step::output] = exact;
  return e;
}

HardwareLaunch launch_of(const Experiment& e, const Result& r) {
  return hardware_launch(e.problem, e.format, e.a, *r.inputs, r.rows, StopSign{});
}

Matrix as_matrix(const std::vector<float>& x, int d) {
  return {static_cast<int>(x.size()) / d, d, std::vector<double>(x.begin(), x.end())};
}

/// Expects the model's answer to be as close to golden as emulated `hw`, and much closer to `hw` than both are to golden.
void expect_like_the_emulation(const Experiment& e, const std::string& what) {
  const Result r = compute(e);
  HostFindings findings;
  const Matrix o = as_matrix(host_output(launch_of(e, r), findings), e.problem.d);
  EXPECT_EQ(findings.fault_count, 0) << what << ": " << (findings.faults.empty() ? "" : findings.faults[0]);
  EXPECT_EQ(findings.conflicts, 0) << what;
  EXPECT_GT(findings.products, 0) << what;
  const Deviation from_truth = deviation(unsorted(o), unsorted(*r.golden), e.format),
                  from_hw = deviation(unsorted(o), unsorted(r.a), e.format);
  EXPECT_EQ(from_truth.nonfinite, 0) << what;
  EXPECT_LE(from_truth.max_abs, 1.5 * r.a_error.max_abs + 1e-6) << what;
  EXPECT_LE(from_hw.rms, 0.4 * r.a_error.rms + 1e-6) << what;
}

TEST(Layout, IsTheOneOfThePtxManual) {
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2, in_group = lane & 3;
    for (int i = 0; i < 8; ++i) {
      const bool lower = i < 2 || (i >= 4 && i < 6);
      EXPECT_EQ(mma::a_cell<2>(lane, i), (mma::Cell{lower ? group : group + 8, in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)}));
      EXPECT_EQ(mma::b_cell<1>(lane, i), (mma::Cell{in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group}));
    }
    for (int i = 0; i < 16; ++i) {
      const bool lower = i < 4 || (i >= 8 && i < 12);
      EXPECT_EQ(mma::a_cell<1>(lane, i), (mma::Cell{lower ? group : group + 8, in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)}));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(mma::b_cell<2>(lane, i), (mma::Cell{in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group}));
      EXPECT_EQ(mma::c_cell(lane, i), (mma::Cell{i < 2 ? group : group + 8, in_group * 2 + (i & 1)}));
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(mma::received(lane, i, false), (mma::Cell{group, in_group * 2 + i}));
      EXPECT_EQ(mma::received(lane, i, true), (mma::Cell{in_group * 2 + i, group}));
    }
    EXPECT_EQ(mma::named_row(lane), (mma::Cell{lane & 7, lane >> 3}));
  }
}

/// The row, and the byte in it, that ldmatrix puts at byte `byte` of register j of `lane`.
mma::Cell loaded(int lane, int j, int byte, bool by_keys, bool transposed) {
  const mma::Cell in = mma::received(lane, byte / 2, transposed);
  const int namer = j * 8 + in.row;
  const mma::Cell at = by_keys ? mma::named_by_keys(namer) : mma::named_by_rows(namer);
  return {at.row, at.col * 16 + in.col * 2 + byte % 2};
}

/// ldmatrix puts the row that a lane addresses into the register where mma expects it: Q as A, K as B.
template <int element_bytes>
void expect_operands_of_scores() {
  for (int lane = 0; lane < 32; ++lane)
    for (int j = 0; j < 4; ++j)
      for (int byte = 0; byte < 4; ++byte) {
        const int i = byte / element_bytes, each = 4 / element_bytes;
        const auto element = [&](bool by_keys) {
          const mma::Cell at = loaded(lane, j, byte, by_keys, false);
          EXPECT_EQ(at.col % element_bytes, byte % element_bytes);
          return mma::Cell{at.row, at.col / element_bytes};
        };
        EXPECT_EQ(element(false), mma::a_cell<element_bytes>(lane, each * j + i));
        const mma::Cell b = mma::b_cell<element_bytes>(lane, each * (j % 2) + i);  // registers 0, 1 are one B, 2 and 3 the next
        EXPECT_EQ(element(true), (mma::Cell{b.col + 8 * (j / 2), b.row})) << "keys are columns of B";
      }
}

TEST(Layout, LoadsAreTheOperandsOfProducts) {
  expect_operands_of_scores<2>();
  expect_operands_of_scores<1>();
  for (int lane = 0; lane < 32; ++lane)
    for (int j = 0; j < 4; ++j)
      for (int half = 0; half < 2; ++half) {
        const mma::Cell at = loaded(lane, j, 2 * half, false, true), b = mma::b_cell<2>(lane, 2 * (j % 2) + half);
        EXPECT_EQ(at, (mma::Cell{b.row, 2 * (b.col + 8 * (j / 2))})) << "V: keys are rows of B";
      }
}

/// 8-bit V: every byte of a register of B has the key that A has at this byte, and the column of O's fragment.
TEST(Layout, BytesOfValuesAreTheOperandsOfProducts) {
  for (int lane = 0; lane < 32; ++lane)
    for (int f = 0; f < 4; ++f)  // of the fragments of 32 columns
      for (int first : {0, 16})  // the step's first or last 16 keys: register 0 or 1 of B
        for (int byte = 0; byte < 4; ++byte) {
          const mma::Cell b = mma::b_cell<1>(lane, first / 4 + byte);
          const int j = f / 2 * 2 + byte / 2,
                    taken = byte % 2 * 2 + f % 2;  // the byte of each register that `alternate_bytes` selects
          EXPECT_EQ(loaded(lane, j, taken, false, true),
                    (mma::Cell{mma::key_at<1>(b.row) - first, mma::value_column<1>(f, b.col)}));
        }
  EXPECT_EQ(mma::alternate_bytes(0x33221100, 0x77665544, 0), 0x66442200U);
  EXPECT_EQ(mma::alternate_bytes(0x33221100, 0x77665544, 1), 0x77553311U);
}

/// 8-bit P: every byte of A has the key that the lane has in two neighbouring fragments of S.
TEST(Layout, BytesOfProbabilitiesAreWhereTheirLaneHasThem) {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 16; ++i) {
      const int r = i / 4, piece = r / 2 * 2 + i % 4 / 2;
      const mma::Cell s = mma::c_cell(lane, 2 * (r % 2) + i % 2), a = mma::a_cell<1>(lane, i);
      EXPECT_EQ(mma::key_at<1>(a.col), 8 * piece + s.col);
      EXPECT_EQ(a.row, s.row);
    }
}

template <int row_bytes>
void expect_a_permutation() {
  using Tile = mma::TileLayout<row_bytes>;
  std::vector<int> seen(128 * Tile::chunks, 0);
  for (int row = 0; row < 128; ++row)
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      const int offset = Tile::offset(row, chunk);
      ASSERT_EQ(offset % 16, 0);
      ASSERT_LT(offset, 128 * row_bytes);
      ++seen[static_cast<std::size_t>(offset / 16)];
      EXPECT_EQ(Tile::block_offset(Tile::lane({row % 16, chunk % 2}), row / 16, chunk / 2), offset)
          << row_bytes << ": " << row << ", " << chunk;
    }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
}

TEST(Layout, SwizzleIsAPermutationAndSplits) {
  expect_a_permutation<32>();
  expect_a_permutation<64>();
  expect_a_permutation<96>();
  expect_a_permutation<128>();
  expect_a_permutation<192>();
  expect_a_permutation<256>();
}

template <int element_bytes>
void expect_the_plan() {
  for (const int d : head_dimensions)
    for (const HardwareTile& tile : hardware_tiles()) {
      const bool found = mma::with_shape<element_bytes>(d, tile.block_q, tile.block_k, [&](auto shape) {
        using S = decltype(shape);
        EXPECT_EQ(S::block_q, tile.block_q);
        EXPECT_EQ(S::block_k, tile.block_k);
        EXPECT_EQ(S::shared_bytes,
                  element_bytes * d * (tile.block_q + 4 * tile.block_k) + 4 * S::threads * (S::row_tiles == 1 ? 1 : 5))
            << "Q once, K and V twice, and the threads' own part";
        EXPECT_LE(S::shared_bytes, element_bytes == 2 ? 163 * 1024 : 99 * 1024);
      });
      EXPECT_TRUE(found);
    }
  EXPECT_FALSE(mma::with_shape<element_bytes>(48, 64, 64, [](auto) {}));
  EXPECT_FALSE(mma::with_shape<element_bytes>(64, 64, 128, [](auto) {}));
}

TEST(Layout, SharedMemoryIsWhatThePlanSays) {
  expect_the_plan<2>();
  expect_the_plan<1>();
}

TEST(Model, AgreesWithTheEmulationForEveryShape) {
  for (const Format& format : formats)
    for (const int d : head_dimensions)
      for (const HardwareTile& tile : hardware_tiles())
        for (const bool causal : {false, true})
          expect_like_the_emulation(hardware_experiment(sanitized ? 97 : 201, d, tile, causal, format),
                                    name(format) + ", d = " + std::to_string(d) + ", " + std::to_string(tile.block_q) + " x " +
                                        std::to_string(tile.block_k) + (causal ? ", causal" : ""));
}

TEST(Model, AgreesForEveryLength) {
  for (const int n : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 257})
    for (const bool causal : {false, true})
      for (const HardwareTile& tile : hardware_tiles())
        for (const Format& format : {bf16, e4m3})
          expect_like_the_emulation(hardware_experiment(n, 32, tile, causal, format),
                                    name(format) + ", n = " + std::to_string(n) + (causal ? ", causal" : ""));
}

TEST(Model, ScoresFarApartAndFarFromZero) {
  for (const InputKind kind : {InputKind::ascending, InputKind::descending, InputKind::outliers, InputKind::ties}) {
    Experiment e = hardware_experiment(150, 64, {64, 64}, true, bf16);
    e.problem.input.kind = kind;
    expect_like_the_emulation(e, std::string(name(kind)));
    e.problem.scale = 2;
    expect_like_the_emulation(e, std::string(name(kind)) + ", scale 2");
  }
}

TEST(Model, SomeRowsAreThoseOfAll) {
  for (const Format& format : {bf16, e4m3}) {
    Experiment e = hardware_experiment(200, 64, {64, 64}, true, format);
    HostFindings findings;
    const std::vector<float> all = host_output(launch_of(e, compute(e)), findings);
    e.problem.rows = 70;
    const Result r = compute(e);
    ASSERT_EQ(r.rows.size(), 70u);
    const std::vector<float> some = host_output(launch_of(e, r), findings);
    EXPECT_EQ(findings.fault_count, 0);
    for (std::size_t i = 0; i < r.rows.size(); ++i)
      for (std::size_t c = 0; c < 64; ++c)
        ASSERT_EQ(some[i * 64 + c], all[static_cast<std::size_t>(r.rows[i]) * 64 + c]) << r.rows[i];
  }
}

TEST(Model, SlicesHeadsAndTheOrderOfWarpsChangeNothing) {
  for (const Format& format : {fp16, e4m3}) {
    const Experiment e = hardware_experiment(300, 32, {64, 64}, true, format);
    HardwareLaunch launch = launch_of(e, compute(e));
    HostFindings findings;
    const std::vector<float> whole = host_output(launch, findings);
    EXPECT_EQ(host_output(launch, findings, {.slice = 1}), whole);
    EXPECT_EQ(host_output(launch, findings, {.slice = 2, .backwards = true}), whole);
    for (const int keys : {1, 2, 3}) {
      EXPECT_EQ(host_output(launch, findings, {.keys = keys}), whole) << keys << " tiles of keys a launch";
      EXPECT_EQ(host_output(launch, findings, {.slice = 2, .backwards = true, .keys = keys}), whole)
          << keys << " tiles of keys a launch";
    }
    const std::vector<std::uint8_t> q = launch.q, k = launch.k, v = launch.v;
    launch.heads = 2;
    launch.q.insert(launch.q.end(), q.begin(), q.end());
    launch.k.insert(launch.k.end(), k.begin(), k.end());
    launch.v.insert(launch.v.end(), k.begin(), k.end());  // another V in the second head
    const std::vector<float> both = host_output(launch, findings);
    EXPECT_TRUE(std::equal(whole.begin(), whole.end(), both.begin()));
    EXPECT_FALSE(std::equal(whole.begin(), whole.end(), both.begin() + static_cast<std::ptrdiff_t>(whole.size())));
    EXPECT_EQ(findings.fault_count, 0);
  }
}

std::int64_t differing(const std::vector<float>& x, const std::vector<float>& y) {
  std::int64_t count = x.size() == y.size() ? 0 : 1 << 30;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) count += !same_sum(x[i], y[i]);
  return count;
}

std::vector<plain::IntegerScores> integer_questions(const Format& format, bool all) {
  std::vector<plain::IntegerScores> questions;
  for (const int d : head_dimensions)
    for (const HardwareTile& tile : hardware_tiles())
      for (const bool causal : {false, true}) {
        const int i = static_cast<int>(questions.size());
        questions.push_back({.format = format,
                             .n = 1 + i * 37 % 211,
                             .d = d,
                             .tile = tile,
                             .causal = causal,
                             .p_exponent = i % 3 == 0 ? 0 : 8,
                             .seed = static_cast<std::uint64_t>(i)});
      }
  if (!all) questions.erase(questions.begin() + 4, questions.end());
  return questions;
}

/// If only the products' sums are rounded, the kernel's code gives the bits of a plain attention by the same rule, and no other
/// rule's.
TEST(Rule, GivesEveryBitWhereScoresAreIntegers) {
  for (const Format& format : formats) {
    const std::vector<ProductRule> rules = product_rules({format});
    for (const ProductRule& rule : rules) {
      std::int64_t apart = 0;
      for (const plain::IntegerScores& question : integer_questions(format, !sanitized && &rule == rules.data())) {
        const HardwareLaunch launch = plain::integer_scores(question);
        HostFindings findings;
        const std::vector<float> o = host_output(launch, findings, {.rule = &rule});
        EXPECT_EQ(differing(o, plain::hardware_output(launch, rule)), 0)
            << name(format) << " by " << name(rule) << ", n = " << question.n << ", d = " << question.d;
        apart += differing(o, plain::hardware_output(launch, &rule == rules.data() ? rules.back() : rules.front()));
      }
      EXPECT_GT(apart, 0) << name(format) << " by " << name(rule);
    }
  }
}

/// The emulation also gives these bits, with the sums that the kernel has on that GPU.
TEST(Rule, IsTheEmulations) {
  const std::vector<ProductRule> rules = product_rules({e4m3});
  for (const auto& [sums, gpu] : {std::pair{Accumulator::ada, TensorCore::ada}, {Accumulator::rtx50, TensorCore::rtx50}}) {
    const auto rule = std::ranges::find_if(
        rules, [gpu = gpu](const ProductRule& r) { return !r.as_fp16 && std::ranges::count(r.gpus, gpu) > 0; });
    ASSERT_NE(rule, rules.end());
    for (const plain::IntegerScores& question : integer_questions(e4m3, !sanitized)) {
      const std::vector<float> o = plain::hardware_output(plain::integer_scores(question), *rule);
      const Result r = compute(plain::integer_experiment(question, sums));
      EXPECT_EQ(differing(o, {r.a.values.begin(), r.a.values.end()}), 0)
          << name(sums) << ", n = " << question.n << ", d = " << question.d;
    }
  }
}

TEST(Rule, OfTheDevice) {
  EXPECT_EQ(hardware_sums(bf16, 8, 9), Accumulator::fma);
  EXPECT_EQ(hardware_sums(e4m3, 8, 9), Accumulator::ada);
  EXPECT_EQ(hardware_sums(e4m3, 9, 0), Accumulator::fma);
  EXPECT_EQ(hardware_sums(e4m3, 12, 0), Accumulator::rtx50);
}

/// The model itself finds planted faults.
TEST(Model, FindsRacesAndIndicesOutOfBounds) {
  HostFindings findings;
  HostShared shared(64, findings);
  const std::uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  shared.copy(16, bytes);
  shared.read(16);  // the copy has not arrived yet
  EXPECT_EQ(findings.fault_count, 1);
  shared.arrive();
  shared.read(16);  // arrived, but another thread's copy is visible only after a barrier
  EXPECT_EQ(findings.fault_count, 2);
  shared.barrier();
  EXPECT_EQ(shared.read(16)[7], 8);
  EXPECT_EQ(findings.fault_count, 2);
  shared.copy(16, nullptr);  // another warp may still read it
  EXPECT_EQ(findings.fault_count, 3);
  shared.read(64);
  shared.read(8);
  shared.copy(-16, bytes);
  EXPECT_EQ(findings.fault_count, 6);
}

TEST(Reason, OneSentenceForWhatTheKernelDoesNotTake) {
  const Experiment good = hardware_experiment(100, 64, {64, 64}, true, bf16);
  EXPECT_EQ(hardware_reason(good.problem, good.format, good.a), "");
  const auto reason = [&](auto change) {
    Experiment e = good;
    change(e);
    const std::string text = hardware_reason(e.problem, e.format, e.a);
    EXPECT_THROW(hardware_launch(e.problem, e.format, e.a, Tensors{}, {}, StopSign{}), std::invalid_argument);
    EXPECT_EQ(text.empty() ? ' ' : text.back(), '.');
    return text;
  };
  EXPECT_EQ(hardware_reason(good.problem, e4m3, good.a), "");
  EXPECT_EQ(reason([](Experiment& e) { e.format = e5m2; }),
            "The hardware kernel takes bf16, fp16 and e4m3, and the main format is e5m2.");
  EXPECT_EQ(reason([](Experiment& e) { e.problem.d = 48; }),
            "The hardware kernel takes head dimensions 32, 64, 96, 128, and d is 48.");
  EXPECT_EQ(reason([](Experiment& e) { e.a.block_k = 32; }),
            "The hardware kernel takes tiles (block_q x block_k) of 64 x 64, 128 x 64, 128 x 128, and this one is 64 x 32.");
  EXPECT_EQ(reason([](Experiment& e) { e.problem.mask.kind = Mask::Kind::window; }),
            "The hardware kernel takes no mask or the causal one, and the mask is window.");
  EXPECT_NE(reason([](Experiment& e) { e.problem.sink = 1; }), "");
  EXPECT_NE(reason([](Experiment& e) { e.problem.softcap = 1; }), "");
  EXPECT_NE(reason([](Experiment& e) { e.problem.alibi = 1; }), "");
  EXPECT_EQ(reason([](Experiment& e) { e.a.precision[Step::output] = {.kind = Rounding::Kind::main, .stochastic = true}; }),
            "The hardware kernel takes outputs rounded to nearest, and this one is main/stochastic.");
}

TEST(Reason, NamesTheGpuWhatItHasAndWhatIsNeeded) {
  const auto reason = [](int major, int minor, const Format& format) {
    return why_no_hardware({.name = "NVIDIA X", .major = major, .minor = minor}, format);
  };
  EXPECT_EQ(reason(8, 0, bf16), "");
  EXPECT_EQ(reason(8, 9, e4m3), "");
  EXPECT_EQ(reason(9, 0, e4m3), "");
  EXPECT_EQ(reason(7, 5, bf16), "The hardware method needs compute capability 8.0, and NVIDIA X has 7.5.");
  EXPECT_EQ(reason(8, 6, e4m3), "The hardware method needs compute capability 8.9 for e4m3, and NVIDIA X has 8.6.");
}

TEST(Output, IsRoundedAsTheMethodSays) {
  Method m;
  const float x = 1 + 0x1p-10F + 0x1p-20F;
  const auto rounded = [&](const Rounding& output) {
    m.precision[Step::output] = output;
    return rounded_output(m, bf16, x);
  };
  EXPECT_EQ(rounded(exact), x);
  EXPECT_EQ(rounded(to_main), 1);
  EXPECT_EQ(rounded(to_format(fp16)), 1 + 0x1p-10);
  EXPECT_EQ(rounded(to_format(fp32)), x);
}

TEST(Code, IsLoadedForEachFormatByItself) {
  EXPECT_NE(hardware_code(bf16), hardware_code(fp16));
  EXPECT_NE(hardware_code(e4m3), hardware_code(fp16));
  EXPECT_NE(hardware_code(e4m3), hardware_code(bf16));
}

TEST(Check, CountsUlpsOfBothKinds) {
  HardwareRun run{.output = {1, 3, {1.0, 2.0, -4.0}}, .changed = 2, .run_to_run_ulp = 3};
  const Matrix emulated{1, 3, {1.0, 2.0 + 2 * epsilon(bf16), -4.0}};
  const HardwareCheck check = hardware_check(run, emulated, bf16);
  EXPECT_EQ(check.instruction, "mma.sync.m16n8k16");
  EXPECT_EQ(hardware_check(run, emulated, e4m3).instruction, "mma.sync.m16n8k32");
  EXPECT_EQ(check.changed, 2);
  EXPECT_EQ(check.run_to_run_ulp, 3);
  EXPECT_EQ(check.emulator_max_ulp, 1);
  EXPECT_NEAR(check.emulator_mean_ulp, 1.0 / 3, 1e-15);
}

TEST(Check, IsReported) {
  Result r = compute(small_experiment());
  EXPECT_FALSE(result_json(r).contains("hardware"));
  EXPECT_EQ(report(r).find("hardware"), std::string::npos);
  r.hardware = HardwareCheck{"mma.sync.m16n8k16", 2, 3, 1.5, 0.25};
  EXPECT_EQ(result_json(r)["hardware"], (Json{{"instruction", "mma.sync.m16n8k16"},
                                              {"changed", 2},
                                              {"run_to_run_ulp", 3.0},
                                              {"emulator_max_ulp", 1.5},
                                              {"emulator_mean_ulp", 0.25}}));
  EXPECT_NE(report(r).find("hardware (mma.sync.m16n8k16): a second run differs in 2 elements, by 3 ulps of fp32 at most; from "
                           "emulated hw by 1.5 ulps at most, 0.25 on average\n"),
            std::string::npos);
}

/// Without a device that can run it, the method is refused in a sentence, before anything is computed for it.
TEST(Method, NeedsADevice) {
  Experiment e = hardware_experiment(64, 64, {64, 64}, false, bf16);
  e.a.algorithm = Algorithm::hardware;
  EXPECT_THAT(testing::message_of<std::runtime_error>([&] { compute(e, {.device = "cpu"}); }),
              ::testing::AllOf(::testing::StartsWith("The hardware method needs "), ::testing::EndsWith(".")));
}

TEST(Emulation, IsHwWithTheSameTile) {
  const Method m = emulation_of(
      {.algorithm = Algorithm::hardware, .block_q = 128, .block_k = 128, .p_exponent = 8, .precision = policy("hw").precision});
  EXPECT_EQ(m.algorithm, Algorithm::flash2);
  EXPECT_EQ(m.block_k, 128);
  EXPECT_EQ(m.p_exponent, 8);
  EXPECT_EQ(m.exponential, ExponentialKind::exp2);
  EXPECT_EQ(m.precision, policy("hw").precision);
}

}  // namespace
}  // namespace attoscope::testing
