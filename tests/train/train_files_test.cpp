// Files of trainings: records and checkpoints that read back bit for bit, texts, and malicious files.

#include <nlohmann/json.hpp>

#include "app/files/zip.h"
#include "app/train/checkpoint.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "app/words/numbers.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/train_support.h"
#include "tests/train/made_up_training.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

TEST(TrainJson, ReadsBackBitForBit) {
  Dice dice(1);
  for (const TrainKind kind : {TrainKind::methods, TrainKind::reference, TrainKind::bisect, TrainKind::replay}) {
    const TrainRecord record = made_up_record(kind, dice);
    const std::string text = json_text(train_json(record), -1);
    const TrainRecord again = train_record(parse_json(text, 8));
    expect_same(record, again);
    EXPECT_EQ(json_text(train_json(again), -1), text);
  }
}

TEST(TrainJson, NamesWhatItCannotUse) {
  Dice dice(2);
  const nlohmann::json good = nlohmann::json::parse(json_text(train_json(made_up_record(TrainKind::methods, dice))));
  const auto sentence = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    return sentence_of([&] { train_record(bad); });
  };
  EXPECT_THAT(sentence("/schema", "attoscope.train/2"), HasSubstr("attoscope.train/2"));
  EXPECT_THAT(sentence("/step", 10), AllOf(StartsWith("step is '10'"), HasSubstr("from 0 to 9")));
  EXPECT_THAT(sentence("/step", -1), StartsWith("step is '-1'"));
  EXPECT_THAT(sentence("/step", "x"), StartsWith("step is"));
  EXPECT_THAT(sentence("/vocabulary", 5000), StartsWith("vocabulary is '5000'"));
  EXPECT_THAT(sentence("/remark", 1), StartsWith("remark is '1', expected a text"));
  EXPECT_THAT(sentence("/surprise", 1), StartsWith("surprise is not a known key"));
  EXPECT_THAT(sentence("/plan/recipe/surprise", 1), StartsWith("plan.recipe.surprise is not a known key"));
  EXPECT_THAT(sentence("/plan/model/width", 9), HasSubstr("plan: model.width is 9"));
  EXPECT_THAT(sentence("/plan/model/width", 1 << 30), StartsWith("plan.model.width is"));
  EXPECT_THAT(sentence("/plan/model/layers", 3), HasSubstr("expected"));
  EXPECT_THAT(sentence("/plan/recipe/rate", "nan"), StartsWith("plan.recipe.rate is"));
  EXPECT_THAT(sentence("/plan/kind", "riddle"), StartsWith("plan.kind is"));
  EXPECT_THAT(sentence("/plan/kind", "bisect"), StartsWith("pairs holds 3 entries, expected 2"));
  EXPECT_THAT(sentence("/runs/0/name", "z"), AllOf(StartsWith("runs[0].name is"), HasSubstr("'a'")));
  EXPECT_THAT(sentence("/runs/1/steps/loss", nlohmann::json::array()),
              StartsWith("runs[1].steps.loss holds 0 entries, expected 6"));
  EXPECT_THAT(sentence("/runs/1/steps/loss", nlohmann::json::array_t(1, 1.0)),
              StartsWith("runs[1].steps.loss holds 1 entry, expected 6"));
  EXPECT_THAT(sentence("/runs/1/steps/loss/2", "much"), StartsWith("runs[1].steps.loss[2] is"));
  EXPECT_THAT(sentence("/runs/1/steps/step/2", 1), StartsWith("runs[1].steps.step[2] is '1'"));
  EXPECT_THAT(sentence("/runs/0/health/rows/0/1", -1), StartsWith("runs[0].health.rows[0][1] is '-1'"));
  EXPECT_THAT(sentence("/runs/0/health/rows/0", 5), StartsWith("runs[0].health.rows[0] is"));
  EXPECT_THAT(sentence("/pairs/0/points/max_abs/0", nlohmann::json::array()), HasSubstr("expected"));
  EXPECT_THAT(sentence("/pairs/0/points/profiles/0/0", nlohmann::json::array_t(65, 1.0)), HasSubstr("expected 64"));
  EXPECT_THAT(sentence("/forks/0", 5), StartsWith("forks[0] is"));
  nlohmann::json lacking = good;
  lacking["plan"]["recipe"].erase("seed");
  EXPECT_THAT(sentence_of([&] { train_record(lacking); }), StartsWith("plan lacks"));
  lacking = good;
  lacking.erase("pairs");
  EXPECT_EQ(sentence_of([&] { train_record(lacking); }), "pairs is missing");
}

TEST(TrainJson, KeptBeforeThereWereSuchKeysIsReadAsSuch) {
  Dice dice(3);
  TrainPlan plan = odd_plan(TrainKind::methods);
  plan.with_exact = false;
  plan.recipe.held_out = 0;
  nlohmann::json old = nlohmann::json::parse(json_text(train_json(made_up_record(plan, dice)), -1));
  old["plan"].erase("with_exact");
  old["plan"]["recipe"].erase("held_out");
  for (const char* const method : {"a", "b"})
    for (const char* const key : {"weights", "optimiser"}) EXPECT_EQ(old["plan"][method].erase(key), 1U);
  for (nlohmann::json& run : old["runs"]) run.erase("heldout_loss"), run.erase("skipped_steps");
  const TrainRecord read = train_record(old);
  EXPECT_EQ(read.plan, plan);
  EXPECT_EQ(read.runs.size(), 2U);
  for (const RunRecord& run : read.runs) EXPECT_TRUE(std::isnan(run.heldout_loss));
  EXPECT_EQ(read.pairs.size(), 1U);
}

TEST(Checkpoint, ReadsBackBitForBit) {
  Dice dice(3);
  const TemporaryDirectory scratch;
  for (const TrainKind kind : {TrainKind::methods, TrainKind::reference, TrainKind::bisect}) {
    const TrainRecord record = made_up_record(kind, dice);
    const PairedTrainingState state = made_up_state(record, dice);
    write_checkpoint(scratch / "c", record, state);
    EXPECT_EQ(scratch.count(), 1);
    const Checkpoint read = read_checkpoint(scratch / "c");
    expect_same(record, read.record);
    EXPECT_EQ(read.state.step, state.step);
    ASSERT_EQ(read.state.runs.size(), state.runs.size());
    for (std::size_t i = 0; i < state.runs.size(); ++i) {
      const TrainState &x = state.runs[i], &y = read.state.runs[i];
      EXPECT_TRUE(same_bits(x.weights, y.weights) && same_bits(x.m, y.m) && same_bits(x.v, y.v));
      EXPECT_TRUE(x.step == y.step && x.loss_scale == y.loss_scale && x.steps_since_overflow == y.steps_since_overflow &&
                  x.updates == y.updates && x.first_loss == y.first_loss);
    }
    ASSERT_EQ(read.state.paths.size(), state.paths.size());
    for (std::size_t i = 0; i < state.paths.size(); ++i) EXPECT_TRUE(same_bits(state.paths[i], read.state.paths[i]));
  }
}

TEST(Checkpoint, SaysWhyAFileIsNone) {
  const WrittenCheckpoint written;
  EXPECT_EQ(written.said_of(""), "is no checkpoint of attoscope train");
  EXPECT_EQ(written.said_of(zip_bytes({{"train.json", "{}"}})), "is no checkpoint of attoscope train");
  EXPECT_EQ(written.said_of("{\"schema\":\"attoscope.session/1\"}"), "is no checkpoint of attoscope train");
  EXPECT_THAT(written.said_of("attoscope.checkpoint/2\n" + written.bytes.substr(23)),
              StartsWith("was written by a newer version"));
  EXPECT_THAT(written.said_of("attoscope.checkpoint/1\n"), StartsWith("ends after 23 bytes"));
  EXPECT_THAT(written.said_of(written.bytes + "x"),
              AllOf(StartsWith("has "), HasSubstr(", expected " + std::to_string(written.bytes.size()))));
  EXPECT_THAT(sentence_of([&] { read_checkpoint(written.scratch / "none"); }), HasSubstr("none: cannot be opened"));
  EXPECT_THAT(sentence_of([&] { read_checkpoint("/"); }), HasSubstr("not a regular file"));
  std::string newer = written.bytes;
  newer.replace(newer.find("attoscope.train/1"), 17, "attoscope.train/2");
  EXPECT_THAT(written.said_of(resealed(newer, false)), HasSubstr("attoscope.train/2"));
  // too few weights for the plan
  std::string shorter = written.bytes;
  shorter.erase(shorter.size() - 48, 40);
  EXPECT_THAT(written.said_of(resealed(shorter, true)), AllOf(StartsWith("holds "), HasSubstr("bytes of weights, expected")));
}

TEST(Checkpoint, NoDamageGetsThrough) {
  const WrittenCheckpoint written;
  Dice dice(5);
  const int size = static_cast<int>(written.bytes.size());
  for (int i = 0; i < experiments(240); ++i) {
    std::string damaged = written.bytes;
    const auto at = static_cast<std::size_t>(i < 64 ? i : dice.between(0, size - 1));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << dice.between(0, 7)));
    EXPECT_NE(written.said_of(damaged), "") << at;
  }
  for (int i = 0; i < experiments(120); ++i)
    EXPECT_NE(written.said_of(written.bytes.substr(0, static_cast<std::size_t>(i < 64 ? i : dice.between(0, size - 1)))), "");
}

TEST(TrainedWeights, NanIsOneValueInTheDigest) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::uint64_t> digests = digests_of({{}, {{1, nan}, {1, -nan}, {nan, 1}}});
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_NE(digests[0], digests[2]);
}

TEST(Checkpoint, AnEnemyWithTheRightDigestIsSurvived) {
  const WrittenCheckpoint written;
  Dice dice(6);
  const int size = static_cast<int>(written.bytes.size()), json_begin = 39,
            json_end = static_cast<int>(written.bytes.find("\"state\""));
  int refused = 0;
  for (int i = 0; i < experiments(400); ++i) {
    std::string forged = written.bytes;
    switch (i % 4) {
      case 0:  // another character of the JSON
        forged[static_cast<std::size_t>(dice.between(json_begin, json_end))] =
            "0123456789-\"{}[],:aetx\x80"[dice.between(0, 22)];
        break;
      case 1:  // another size of the JSON
        forged[static_cast<std::size_t>(31 + dice.between(0, 7))] = static_cast<char>(dice.bits());
        break;
      case 2:  // anything
        forged[static_cast<std::size_t>(dice.between(0, size - 1))] = static_cast<char>(dice.bits());
        break;
      default:  // cut
        forged.resize(static_cast<std::size_t>(dice.between(48, size)));
    }
    refused += !written.said_of(resealed(forged, i % 4 == 3)).empty();
  }
  EXPECT_GT(refused, experiments(400) / 2);  // weights may be anything
}

TEST(TrainText, IsReadOrRefusedInOneSentence) {
  const TemporaryDirectory scratch;
  const std::string file = scratch.write("text.txt", made_text(4000));
  const TextSource source = read_text(file);
  EXPECT_EQ(source.file, file);
  EXPECT_EQ(source.corpus->text.size(), made_text(4000).size());
  EXPECT_EQ(source.digest, XXH3_64bits(made_text(4000).data(), made_text(4000).size()));
  EXPECT_EQ(text_name(source), file);
  EXPECT_EQ(text_name(TextSource{}), "the chronicle");
  EXPECT_EQ(read_same_text(source, scratch.write("copy.txt", made_text(4000))).corpus->text, source.corpus->text);
  EXPECT_THAT(sentence_of([&] { read_same_text(source, scratch.write("other.txt", made_text(4000) + "x")); }),
              AllOf(HasSubstr("other.txt has changed"), HasSubstr("expected " + hex16(source.digest))));
  EXPECT_THAT(sentence_of([&] { read_text(scratch / "none.txt"); }), HasSubstr("none.txt: cannot be opened"));
  EXPECT_THAT(sentence_of([&] { read_text(scratch.write("short.txt", "abc")); }), HasSubstr("short.txt"));
  EXPECT_THAT(sentence_of([&] { read_text(scratch.write("bytes.txt", made_text(4000) + "\xff")); }), HasSubstr("bytes.txt"));
}

}  // namespace
}  // namespace attoscope
