// The tokens of a model's report, and the shares that its window keeps.
#include "app/model/model_words.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "app/model/kept_shares.h"
#include "app/model/model_files.h"
#include "app/model/model_plan.h"
#include "app/model/tokenizer.h"
#include "tests/app/outcome.h"
#include "tests/app/own_cache.h"
#include "tests/support/matchers.h"

namespace attoscope {
namespace {

using namespace app;
using namespace testing;  // attoscope::testing

TEST(ModelWords, TokensWithoutANumberMoveMost) {
  const LanguageModel model = random_model(3);
  ModelQuestion q{.model = &model, .tokens = {0, 1, 2, 3, 4}};
  ModelAnswer x;
  x.dlogp_a = {0.5, NAN, -2, NAN};
  for (RunTokens& run : x.tokens) run.logp = {-1, -1, -1, -1};
  const std::vector<MovedToken> moved = tokens_that_move_most(q, x, "no checkpoint");
  std::vector<int> positions;
  for (const MovedToken& m : moved) positions.push_back(m.position);
  EXPECT_EQ(positions, (std::vector{2, 4, 3, 1}));
  EXPECT_THAT(model_report(q, x, "a", moved), HasSubstr("2 of 4 tokens have no number under a"));
}

TEST(ModelWords, ANaNHasNoSign) {
  const LanguageModel model = random_model(3);
  const ModelQuestion q{.model = &model, .tokens = {0, 1}};
  const double odd = std::copysign(NAN, -1);
  ModelAnswer x;
  x.a.nll = odd;
  x.layers = {{odd, odd}};
  x.attribution = {{0, -1, "", odd}};
  x.dlogp_a = {odd};
  for (RunTokens& run : x.tokens) run.logp = {odd};
  const std::string report = model_report(q, x, "a", tokens_that_move_most(q, x, "no checkpoint"));
  EXPECT_THAT(report, HasSubstr("nan"));
  EXPECT_THAT(report, Not(HasSubstr("-nan")));
}

TEST(ModelPlan, RandomWeightsAreReadByName) {
  EXPECT_EQ(read_language_model("random:3").norm.values, random_model(3).norm.values);
  EXPECT_EQ(read_tokens("random:4", "random:3", 20), random_tokens(4, 20, 256));
  EXPECT_EQ(read_tokens("random:4", "random:3", 0), random_tokens(4, 1024, 256));
  const Outcome run = attoscope({"model", "random:3", "--tokens", "random:4", "--limit", "20"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("20 tokens, "));
}

TEST(ModelPlan, AWrongSeedIsRefusedInASentence) {
  for (const std::string name : {"random:", "random:x", "random:-1", "random:18446744073709551616", "random:1 "}) {
    EXPECT_THAT(sentence_of([&] { read_language_model(name); }),
                HasSubstr(name + "' is wrong, expected a whole number from 0"));
    EXPECT_THAT(sentence_of([&] { read_tokens(name, "random:3", 0); }), HasSubstr(name)) << "as tokens";
    ui::ModelPlan plan;
    plan.checkpoint = name;
    EXPECT_THAT(read_plan(plan).reading->wrong, AllOf(HasSubstr(name), EndsWith(".")));
    EXPECT_NE(attoscope({"model", name, "--tokens", "random:4"}).code, 0) << name;
  }
  EXPECT_THAT(attoscope({"model", "random:3", "--text", "licence"}).err,
              HasSubstr("random weights have no tokenizer, expected --tokens, a file of them or random:SEED"));
}

TEST(ModelPlan, RandomWeightsAskForRandomTokensInTheWindow) {
  ui::ModelPlan plan;
  plan.checkpoint = "random:3";
  EXPECT_EQ(read_plan(plan).reading->wrong,
            "random:3: random weights have no tokenizer, choose file under TEXT and type random:1 there.");
  plan.text = ui::ModelText::file;
  plan.file = "random:1";
  EXPECT_EQ(read_plan(plan).reading->wrong, "");
  EXPECT_EQ(read_plan(plan).reading->all_tokens, 1024U);
}

TEST(ModelPlan, AnAttributionKeepsItsSharesAndGoesOn) {
  const OwnCache cache;
  const LanguageModel model = random_model(3);
  const auto reading = std::make_shared<ui::ModelReading>();
  reading->tokens = random_tokens(1, 20, model.architecture.vocabulary);
  reading->text.resize(20);
  const Options options{.threads = 1};
  ui::ModelFound asked{.reading = reading};
  asked.a.precision[Step::S] = to_format(bf16);
  const auto found = std::make_shared<const ui::ModelFound>(answered(asked, model, options));
  ModelQuestion parts = question_of(*found, model);
  parts.attribute = ModelPart::layer;
  EXPECT_EQ(KeptShares(cache.directory(), parts).on_disk(), 0);
  int kept = 0;
  const Options stopped{.cancelled = [&] { return (kept = KeptShares(cache.directory(), parts).on_disk()) > 1; }, .threads = 1};
  EXPECT_THROW(attributed(found, ModelPart::layer, model, stopped), Stopped);
  EXPECT_EQ(kept, 2);
  attributed(found, ModelPart::layer, model, options);
  EXPECT_EQ(KeptShares(cache.directory(), parts).on_disk(), 4);
  EXPECT_EQ(cache.points(), 4U);
}

/// Raises SIGINT in this thread when the first text is written to it.
struct InterruptingBuffer : std::stringbuf {
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (str().empty()) ::raise(SIGINT);
    return std::stringbuf::xsputn(text, count);
  }
};

TEST(ModelCommand, ASignalDuringTheCaptureLeavesNothing) {
  const OwnCache cache;
  const TemporaryDirectory scratch;
  const std::vector<std::string> command = words("model random:3 --tokens random:4 --limit 20 --attribute layer --threads 1");
  succeed(command);
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  InterruptingBuffer told;  // the first text comes after the answer, whose parts are all known
  std::ostringstream out;
  std::ostream err(&told);
  const int code = run_command_line(with(command, {"--save", scratch / "d", "--capture", scratch / "c.safetensors"}), out, err);
  const timespec soon{};
  sigtimedwait(&set, nullptr, &soon);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(code, 1);
  EXPECT_THAT(told.str(), AllOf(HasSubstr("were known from an earlier run"),
                                HasSubstr("stopped before the capture was there; nothing was written")));
  EXPECT_THAT(out.str(), IsEmpty());
  EXPECT_EQ(scratch.count(), 0);
}

}  // namespace
}  // namespace attoscope
