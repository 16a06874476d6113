// Sessions: a written session is read back unchanged, and remarks name unusable parts.
#include "app/session/session.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/words/base64.h"
#include "kernels/experiment/presets.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// A pin whose members all differ from their defaults.
Pin unusual_pin(int number) {
  Pin pin;
  pin.name = "pin \"" + std::to_string(number) + "\" \xc3\xa4";
  pin.experiment.problem.n = 100 + number;
  pin.experiment.a.precision[Step::S] = to_format(Format{5, number});
  pin.a_mean = 1.0 / 3;
  pin.b_mean = -1;
  pin.a_max = 1e300;
  pin.b_max = 5e-324;
  pin.digest = 0xfedcba9876543210;
  for (int i = 0; i < pin_width * pin_height; ++i) pin.thumbnail.push_back(static_cast<std::int8_t>(i * 37 + number));
  return pin;
}

/// A session whose members all differ from their defaults.
Session unusual() {
  Session s;
  Problem& p = s.experiment.problem;
  p.input.kind = InputKind::tensors;
  p.input.value = 0.1;
  p.input.file = "dir with \"quotes\" and \xc3\xa4/x.safetensors";
  p.input.index = 3;
  p.input.digest = 0xfedcba9876543210;
  p.seed = std::numeric_limits<std::uint64_t>::max();
  p.n = 777;
  p.d = 33;
  p.scale = 1.0 / 3;
  p.mask = {Mask::Kind::window, 17};
  p.sink = -1.0 / 3;
  p.softcap = 30.25;
  p.alibi = -0.1;
  p.rows = 5;
  p.traced_row = -7;
  s.experiment.format = Format{5, 7, Overflow::nan, true};
  s.experiment.a.block_q = 48;
  s.experiment.a.precision[Step::l] = to_format(Format{6, 9, Overflow::saturate, false});
  s.experiment.a.precision[Step::alpha] = to_main;
  s.experiment.a.precision.sum_rounded_P = true;
  s.experiment.a.precision[Step::P] = {Rounding::Kind::main, {}, true};
  s.experiment.a.precision[Step::e] = {Rounding::Kind::format, e4m3, true};
  s.experiment.b.algorithm = Algorithm::split_kv;
  s.experiment.b.block_k = 1;
  s.experiment.b.splits = 7;
  s.experiment.b.tau = 1.0 / 3;
  s.experiment.b.tie_beta = 1.1;
  s.experiment.b.exponential = ExponentialKind::exp2;
  s.experiment.b.exp2_degree = 3;
  s.experiment.b.p_exponent = -8;
  s.experiment.b.kahan_l = true;
  s.experiment.b.order = SumOrder::interleaved;
  s.experiment.b.sum_lanes = 5;
  s.experiment.b.reverse_keys = true;
  s.experiment.a.scaling.K = parse_scaling("int8/rows:48/most:2.25/plus:0.001/reciprocal/away/to:fp16");
  s.experiment.a.scaling.smooth_Q = 64;
  s.experiment.a.scaling.smoothed = to_format(Format{6, 9});
  s.experiment.b.scaling.V = parse_scaling("e2m1/block:16/nvfp4");
  s.experiment.b.scaling.P = parse_scaling("e2m1/block:16/e4m3/x2688/unrounded/shift");
  s.view.field = Field::b_ulps;
  s.view.second_field = Field::a_storage;
  s.view.scale = ValueScale::linear;
  s.view.picture = PictureKind::heads;
  s.view.heads_show = HeadsShow::kv_cache;
  s.view.bits_show = BitsShow::schedules;
  s.view.range_pinned = true;
  s.view.range = 5e-324 * 1e10;
  s.view.show_tiles = true;
  s.view.zoom = {-0.5, 1.0 / 3, 100, 64.25};
  s.view.cell_row = 12;
  s.view.cell_col = 5;
  s.view.scrubbed_tile = 2;
  s.view.tiles = {1.5, 1.0 / 3 * 100};
  s.view.figure.shown_tiles = true;
  s.view.square_tiles = false;
  s.view.theme = Theme::light;
  s.view.ui_scale = 1.25;
  s.view.range = 1e-300;
  s.view.panels = {222.5, 1.0 / 3 * 1000, 8192, 64.5};
  s.view.show_pins = s.view.show_tensors = true;
  s.view.listed_file = "a b,c.pt:x";
  s.kernel_gradients = {"dq.npy:1", "", "x.pt:dv"};
  s.pins = {unusual_pin(1), unusual_pin(2), Pin{.name = {}, .experiment = {}, .thumbnail = {}}};
  return s;
}

/// Parses a session; expects no remarks.
Session clean(const std::string& text) {
  std::vector<std::string> remarks;
  Session session = parse_session(text, remarks);
  EXPECT_THAT(remarks, IsEmpty());
  return session;
}

/// Remarks on a session with only these members.
std::vector<std::string> remarks_on(const std::string& members) {
  std::vector<std::string> remarks;
  parse_session("{\"schema\":\"attoscope.session/1\"," + members + "}", remarks);
  return remarks;
}

TEST(Session, RoundTrip) {
  for (const Session& session : {Session(), unusual()}) EXPECT_EQ(clean(session_text(session)), session);
}

TEST(Session, EveryPolicyRoundTrips) {
  for (const Policy& p : policies()) {
    Session session;
    session.experiment.a.algorithm = p.algorithm;
    session.experiment.a.precision = p.precision;
    EXPECT_EQ(clean(session_text(session)), session) << p.name;
  }
}

TEST(Session, EveryFormatAndFieldRoundTrips) {
  for (int i = 0; i < field_count * 3; ++i) {
    Session session;
    session.view.field = static_cast<Field>(i % field_count);
    session.experiment.format = Format{2 + i % 10, i, static_cast<Overflow>(i % 3), i % 3 != 0 && i % 2 == 0};
    EXPECT_EQ(clean(session_text(session)), session) << name(session.experiment.format);
  }
}

TEST(Session, APolicyByName) {
  const Session s = clean(R"({"schema":"attoscope.session/1","experiment":{"a":{"policy":"tile","precision":{"O":"e5m7"}}}})");
  Precision expected = policy("tile").precision;
  expected[Step::O] = to_format(Format{5, 7});
  EXPECT_EQ(s.experiment.a.precision, expected);
}

TEST(Session, WritesEveryStep) {
  const nlohmann::json steps = nlohmann::json::parse(session_text(Session()))["experiment"]["a"]["precision"];
  for (const StepInfo& step : step_infos) EXPECT_TRUE(steps.contains(std::string(step.name))) << step.name;
}

TEST(Session, MissingKeysKeepDefaults) { EXPECT_EQ(clean(R"({"schema":"attoscope.session/1"})"), Session()); }

TEST(Session, UnknownKeysAreNamed) {
  EXPECT_THAT(remarks_on(R"("extra":1)"), ElementsAre("extra is not a known key"));
  EXPECT_THAT(remarks_on(R"("experiment":{"problem":{"N":3}})"), ElementsAre("experiment.problem.N is not a known key"));
  EXPECT_THAT(remarks_on(R"("experiment":{"a":{"precision":{"Q":"main"}}})"),
              ElementsAre("experiment.a.precision.Q is not a known key"));
}

TEST(Session, ValuesOutOfRangeAreNamedAndLeftOut) {
  std::vector<std::string> remarks;
  const Session s =
      parse_session(R"({"schema":"attoscope.session/1","experiment":{"problem":{"n":0,"d":8,"seed":-1}}})", remarks);
  EXPECT_EQ(s.experiment.problem.n, 1024);
  EXPECT_EQ(s.experiment.problem.d, 8);
  EXPECT_THAT(
      remarks,
      ElementsAre(
          "experiment.problem.seed is '-1', expected a whole number from 0 to 18446744073709551615; the default is kept",
          "experiment.problem.n is '0', expected a whole number from 1 to 1048576; the default is kept"));
}

TEST(Session, EveryKindOfWrongValueIsNamed) {
  const std::pair<const char*, const char*> wrong[] = {
      {R"("experiment":3)", "experiment is '3', expected an object"},
      {R"("experiment":{"format":"bf17"})", "experiment.format is '\"bf17\"', expected a format"},
      {R"("experiment":{"format":"e5m7/fn"})", "experiment.format is '\"e5m7/fn\"'"},
      {R"("experiment":{"format":16})", "experiment.format is '16'"},
      {R"("experiment":{"a":{"algorithm":"flash9"}})",
       "experiment.a.algorithm is '\"flash9\"', expected three_pass, two_pass, flash1"},
      {R"("experiment":{"a":{"policy":"nobody"}})", "experiment.a.policy is"},
      {R"("experiment":{"a":{"block_k":1e99}})", "experiment.a.block_k is '1e+99'"},
      {R"("experiment":{"b":{"precision":{"S":"fp99"}}})",
       "experiment.b.precision.S is '\"fp99\"', expected exact, main or a format"},
      {R"("experiment":{"b":{"precision":{"accumulate_in_O":1}}})",
       "experiment.b.precision.accumulate_in_O is '1', expected true or false"},
      {R"("experiment":{"problem":{"mask":{"kind":"box"}}})", "experiment.problem.mask.kind is '\"box\"'"},
      {R"("experiment":{"problem":{"input":{"kind":"dice"}}})", "experiment.problem.input.kind"},
      {R"("experiment":{"problem":{"input":{"digest":"12"}}})",
       "experiment.problem.input.digest is '\"12\"', expected 16 hexadecimal digits"},
      {R"("experiment":{"problem":{"input":{"file":[]}}})", "experiment.problem.input.file is '[]', expected a text"},
      {R"("experiment":{"problem":{"input":{"kind":"tensors"}}})", "experiment.problem.input.file is missing"},
      {R"("experiment":{"problem":{"scale":"big"}})", "experiment.problem.scale"},
      {R"("experiment":{"problem":{"n":18446744073709551615}})", "experiment.problem.n"},
      {R"("experiment":{"problem":{"scale":-1}})",
       "experiment.problem.scale is '-1', expected a finite number above 0, or 0 for 1/sqrt(d)"},
      {R"("experiment":{"problem":{"sink":"x"}})", "experiment.problem.sink is '\"x\"', expected a finite number, or null"},
      {R"("experiment":{"problem":{"softcap":-2}})",
       "experiment.problem.softcap is '-2', expected a number from 1e-06 to 1e+06, or 0 for off"},
      {R"("experiment":{"problem":{"alibi":1e7}})",
       "experiment.problem.alibi is '10000000.0', expected a number from -1e+06 to 1e+06"},
      {R"("experiment":{"a":{"precision":{"P":"exact/stochastic"}}})",
       "experiment.a.precision.P is '\"exact/stochastic\"', expected exact, main or a format"},
      {R"("experiment":{"a":{"precision":{"P":"bf16/random"}}})", "experiment.a.precision.P is '\"bf16/random\"'"},
      {R"("view":{"field":"c_error"})", "view.field is '\"c_error\"'"},
      {R"("view":{"scale":null})", "view.scale is 'null', expected linear or log"},
      {R"("view":{"range":0})", "view.range is '0'"},
      {R"("view":{"ui_scale":99})", "view.ui_scale is '99', expected a number from 0.5 to 4"},
      {R"("view":{"zoom":{"row0":"x"}})", "view.zoom.row0"},
      {R"("view":{"panels":{"left":1}})", "view.panels.left is '1', expected a number from 64 to 8192"},
      {R"("view":{"workspace":"dream"})", "view.workspace is '\"dream\"', expected explore, sweep, train, model or learn"},
      {R"("pins":7)", "pins is '7', expected a list; the default is kept"},
      {R"("pins":[{},7])", "pins[1] is '7', expected an object; it is left out"},
      {R"("pins":[{"colour":1}])", "pins[0].colour is not a known key"},
      {R"("pins":[{},{},{},{"experiment":{"problem":{"n":0}}}])",
       "pins[3].experiment.problem.n is '0', expected a whole number from 1 to 1048576; the default is kept"},
      {R"("pins":[{"experiment":{"problem":{"input":{"kind":"tensors"}}}}])",
       "pins[0].experiment.problem.input.file is missing"},
      {R"("pins":[{"a_mean":null}])", "pins[0].a_mean is 'null', expected a finite number"},
      {R"("pins":[{"thumbnail":"AAAA"}])", "pins[0].thumbnail is '\"AAAA\"', expected the text of 960 pixels"},
      {R"("pins":[{"thumbnail":[1,2]}])", "pins[0].thumbnail is '[1,2]'"},
  };
  for (const auto& [members, remark] : wrong) EXPECT_THAT(remarks_on(members), ElementsAre(HasSubstr(remark))) << members;
}

TEST(Session, OtherTextsAreRefused) {
  const std::pair<const char*, const char*> bad[] = {
      {"", "is not JSON"},
      {"hello", "is not JSON"},
      {"{\"schema\":", "is not JSON"},
      {"[]", "has no key 'schema'"},
      {"{}", "has no key 'schema'"},
      {"7", "has no key 'schema'"},
      {R"({"schema":"attoscope.session/0"})", "expected 'attoscope.session/1'"},
      {R"({"schema":"attoscope.session/x"})", "expected 'attoscope.session/1'"},
      {R"({"schema":"attoscope.result/2"})", "has schema 'attoscope.result/2', expected"},
      {R"({"schema":7})", "has schema '7'"},
      {R"({"schema":"attoscope.session/1","schema":1})", "twice"},
      {R"({"schema":"attoscope.session/1","x":1e999})", "beyond the range"}};
  for (const auto& [text, sentence] : bad) {
    const TemporaryDirectory scratch;
    std::vector<std::string> remarks;
    const std::string path = scratch.write("s.json", text);
    EXPECT_THAT(sentence_of([&] { read_session(path, remarks); }), AllOf(HasSubstr("s.json: "), HasSubstr(sentence)));
  }
}

TEST(Session, ALaterProgramsSessionOpensAsFarAsItIsUnderstood) {
  std::vector<std::string> remarks;
  const Session s = parse_session(
      R"({"schema":"attoscope.session/2","experiment":{"problem":{"n":77}},"view":{"theme":"neon"},"dreams":[]})", remarks);
  EXPECT_EQ(s.experiment.problem.n, 77);
  EXPECT_EQ(s.view, View{});
  EXPECT_THAT(
      remarks,
      ElementsAre(
          "schema is 'attoscope.session/2', newer than attoscope.session/1 of this program; what it does not know is left out",
          HasSubstr("view.theme is '\"neon\"'"), "dreams is not a known key"));
}

TEST(Session, BadPinsAreLeftOutAndTheOthersStay) {
  std::vector<std::string> remarks;
  const Session s =
      parse_session(R"({"schema":"attoscope.session/1","pins":[{"name":"x"},null,"y",{"name":"z","a_max":"big"}]})", remarks);
  ASSERT_EQ(s.pins.size(), 2u);
  EXPECT_EQ(s.pins[0].name, "x");
  EXPECT_EQ(s.pins[1].name, "z");
  EXPECT_THAT(remarks,
              ElementsAre(HasSubstr("pins[1] is 'null'"), HasSubstr("pins[2] is"), HasSubstr("pins[3].a_max is '\"big\"'")));
}

TEST(Session, AThousandPinsAreReadAndNoMore) {
  Session session;
  for (int i = 0; i < max_pins; ++i) session.pins.push_back(unusual_pin(i % 50));
  const TemporaryDirectory scratch;
  const std::string path = scratch / "many.json";
  write_file(path, session_text(session));
  std::vector<std::string> remarks;
  EXPECT_EQ(read_session(path, remarks), session);
  EXPECT_THAT(remarks, IsEmpty());
  std::string many = R"({"schema":"attoscope.session/1","pins":[{})";
  for (int i = 0; i < max_pins; ++i) many += ",{}";
  EXPECT_EQ(parse_session(many + "]}", remarks).pins.size(), static_cast<std::size_t>(max_pins));
  EXPECT_THAT(remarks, ElementsAre("pins holds 1001 entries, expected at most 1000; the others are left out"));
}

TEST(Pixels, AsTextAndBack) {
  std::vector<std::int8_t> all;
  for (int i = -128; i < 128; ++i) all.push_back(static_cast<std::int8_t>(i));
  all.resize(255);
  EXPECT_EQ(parse_pixels(pixel_text(all), 255), all);
  EXPECT_EQ(pixel_text({0, 0, 0}), "AAAA");
  EXPECT_EQ(pixel_text({-1, -1, -1}), "////");
  EXPECT_EQ(pixel_text({77, 97, 110}), "TWFu");
  for (const char* bad : {"", "AAA", "AAAAA", "AA=A", "AA A", "AAAAAAAA"})
    EXPECT_THROW(parse_pixels(bad, 3), std::invalid_argument) << bad;
}

TEST(Session, DeepNestingIsRefused) {
  std::vector<std::string> remarks;
  EXPECT_THAT(sentence_of([&] { parse_session(std::string(1 << 20, '['), remarks); }), HasSubstr("nested deeper"));
}

TEST(Session, RemarksBeginWithTheFile) {
  const TemporaryDirectory scratch;
  std::vector<std::string> remarks{"an earlier one"};
  const std::string path = scratch.write("s.json", R"({"schema":"attoscope.session/1","x":1})");
  read_session(path, remarks);
  EXPECT_THAT(remarks, ElementsAre("an earlier one", path + ": x is not a known key"));
}

TEST(Session, MissingAndHugeFilesAreRefused) {
  const TemporaryDirectory scratch;
  std::vector<std::string> remarks;
  EXPECT_THAT(sentence_of([&] { read_session(scratch / "no.json", remarks); }), HasSubstr("cannot be opened"));
  const std::string huge = scratch.write("huge.json", "{");
  std::filesystem::resize_file(huge, 1 << 30);
  EXPECT_THAT(sentence_of([&] { read_session(huge, remarks); }), HasSubstr("expected at most"));
}

TEST(Session, ALastSessionThatIsBrokenDoesNotStopTheWindow) {
  const TemporaryDirectory scratch;
  const std::string file = scratch / "session.json";
  std::vector<std::string> remarks;
  EXPECT_EQ(last_session(file, remarks).session, first_session());
  EXPECT_THAT(remarks, IsEmpty());
  EXPECT_TRUE(last_session(file, remarks).first);
  scratch.write("session.json", "garbage");
  EXPECT_EQ(last_session(file, remarks).session, first_session());
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("is not JSON"), HasSubstr("session.json.kept")));
  EXPECT_EQ(bytes_of_file(file + ".kept"), "garbage");
  write_file(file, session_text(unusual()));
  remarks.clear();
  EXPECT_EQ(last_session(file, remarks).session, unusual());
  EXPECT_FALSE(last_session(file, remarks).first);
  EXPECT_THAT(remarks, IsEmpty());
  EXPECT_EQ(bytes_of_file(file + ".kept"), "garbage");
}

TEST(Session, TheFirstOneShowsTheExample) {
  const Session session = first_session();
  EXPECT_EQ(session.experiment.problem.input.kind, InputKind::tensors);
  EXPECT_THAT(session.experiment.problem.input.file, HasSubstr("smollm2_135m.safetensors"));
  EXPECT_EQ(session.experiment.problem.mask.kind, Mask::Kind::causal);
}

TEST(Session, NamesShippedFilesForAnyInstallation) {
  Session s = first_session();
  Pin& pin = s.pins.emplace_back();
  pin.name = "kept", pin.experiment = s.experiment;
  const std::string link = short_session_text(s);
  EXPECT_THAT(link, AllOf(HasSubstr("shipped:examples/"), Not(HasSubstr(example_file()))));
  EXPECT_EQ(clean(link), s);
  Session elsewhere = s;
  for (Input* const input : {&elsewhere.experiment.problem.input, &elsewhere.pins[0].experiment.problem.input})
    input->file = "/another/assets/examples/" + std::filesystem::path(input->file).filename().string();
  EXPECT_EQ(clean(session_text(elsewhere)), s);
}

TEST(Files, AFailureLeavesNothingBehind) {
  const TemporaryDirectory scratch;
  {
    StagedFiles files;
    files.make_directory(scratch / "out/deep");
    files.add(scratch / "out/deep/a", "text");
    EXPECT_ANY_THROW(files.add(scratch / "missing/b", "text"));
  }
  EXPECT_EQ(scratch.count(), 0);
}

TEST(Files, AFileIsReplacedAtOnceAndALinkFollowed) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("a", "old");
  std::filesystem::create_symlink("a", scratch / "link");
  StagedFiles files;
  files.add(scratch / "link", "new");
  EXPECT_EQ(bytes_of_file(path), "old");
  files.commit();
  EXPECT_EQ(bytes_of_file(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_EQ(scratch.count(), 2);
}

TEST(Files, ADeviceIsNotReplaced) {
  EXPECT_NO_THROW(write_file("/dev/null", "text"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace attoscope
