// Cached results of heads: the same rows without computing them, and never rows of another experiment.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/heads/heads.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

constexpr const char* file = "assets/examples/grouped.safetensors";

HeadsQuestion question(KeptHeads* kept, std::vector<int> heads = {0, 3, 6}) {
  HeadsQuestion q{default_experiment(), false, std::move(heads), kept};
  q.base.problem.n = 48;
  q.base.problem.input = {.kind = InputKind::tensors, .file = file, .tensors = nullptr};
  return q;
}

std::vector<HeadRow> rows_of(const HeadsQuestion& q) {
  std::vector<HeadRow> rows;
  compute_heads(q, CallFiles(file), {.threads = 1}, [&](const HeadRow& row) { rows.push_back(row); });
  return rows;
}

bool same_bits(const HeadRow& x, const HeadRow& y) {
  return x.head == y.head && x.layer == y.layer && x.a_rms == y.a_rms && x.b_max == y.b_max && x.rescales == y.rescales &&
         x.picture == y.picture;
}

class HeadsOnDisk : public ScratchTest {
 protected:
  KeptHeads kept_{scratch_ / "points"};
};

TEST_F(HeadsOnDisk, AreTheRowsThatWereComputed) {
  const std::vector<HeadRow> computed = rows_of(question(nullptr));
  for (const char* const program : {"this program", "another program"}) {
    KeptHeads kept(scratch_ / "kept");
    EXPECT_TRUE(std::ranges::equal(rows_of(question(&kept)), computed, same_bits)) << "of " << program;
  }
}

TEST_F(HeadsOnDisk, AreLookedUpBeforeAnythingIsComputed) {
  const HeadsQuestion q = question(&kept_, {3});
  const Experiment e = experiment_of_head(q, CallFiles(file), 3);
  HeadRow planted = rows_of(q).front();
  planted.a_rms = 42, planted.head = 7, planted.layer = 5;  // the same tensors in another file may be another head or layer
  kept_.keep(e, planted);
  const HeadRow found = rows_of(q).front();
  EXPECT_EQ(found.a_rms, 42);
  EXPECT_EQ(found.head, 3);
  EXPECT_EQ(found.layer, 0);
}

TEST_F(HeadsOnDisk, OfAnotherQuestionAreNotFound) {
  const HeadsQuestion q = question(&kept_, {3});
  const CallFiles files(file);
  const Experiment e = experiment_of_head(q, files, 3);
  EXPECT_FALSE(kept_.find(e));
  rows_of(q);
  EXPECT_TRUE(kept_.find(e));
  EXPECT_FALSE(kept_.find(experiment_of_head(q, files, 2)));
  EXPECT_FALSE(kept_.find(with_format(e, fp16)));
  Experiment other = e;
  other.problem.mask = parse_mask("causal");
  EXPECT_FALSE(kept_.find(other));
  EXPECT_FALSE(kept_.find(e, KvRange{1, 1})) << "errors of a stored KV cache have another cache key";
}

TEST_F(HeadsOnDisk, WithScalesOfAllHeadsAreNotKept) {
  HeadsQuestion q = question(&kept_, {3});
  q.base.a.scaling.K = parse_scaling("e4m3");
  ASSERT_EQ(q.base.a.scaling.K.granularity, Granularity::head);
  rows_of(q);
  EXPECT_TRUE(kept_.find(experiment_of_head(q, CallFiles(file), 3)));
  q.base.a.scaling.K = parse_scaling("e4m3/tensor");
  rows_of(q);
  EXPECT_FALSE(kept_.find(experiment_of_head(q, CallFiles(file), 3)));
}

TEST_F(HeadsOnDisk, CachesInFewerBitsToo) {
  const auto errors = [&](KeptHeads* where) {
    std::vector<std::vector<double>> all;
    compute_kv_heads(question(where), CallFiles(file), {.threads = 1}, [&](const KvRow& row) { all.push_back(row.errors); });
    return all;
  };
  const auto computed = errors(nullptr);
  EXPECT_EQ(errors(&kept_), computed);
  EXPECT_EQ(errors(&kept_), computed);
  const Experiment e = experiment_of_head(question(&kept_, {3}), CallFiles(file), 3);
  const KvRange range{2, 3};
  EXPECT_FALSE(kept_.find(e, range));
  kept_.keep(e, range, std::vector<double>(kv_storages.size(), 0.5));
  EXPECT_EQ(kept_.find(e, range), std::vector<double>(kv_storages.size(), 0.5));
  EXPECT_FALSE(kept_.find(e, KvRange{2, 4}));
}

TEST_F(HeadsOnDisk, RowsFoundBeforeAStopAreKept) {
  int found = 0;
  EXPECT_THROW(compute_heads(question(&kept_), CallFiles(file), {.cancelled = [&] { return found == 2; }, .threads = 1},
                             [&](const HeadRow&) { ++found; }),
               Stopped);
  EXPECT_TRUE(kept_.find(experiment_of_head(question(&kept_), CallFiles(file), 0)));
  EXPECT_TRUE(kept_.find(experiment_of_head(question(&kept_), CallFiles(file), 3)));
  EXPECT_FALSE(kept_.find(experiment_of_head(question(&kept_), CallFiles(file), 6)));
}

/// The row of the one head of a call with these numbers in Q and K, and in V.
template <class OfV>
HeadRow row_of_call(const TemporaryDirectory& scratch, float of_q, OfV of_v) {
  const auto same = [&](int) { return of_q; };
  const std::string call =
      scratch.write("call.safetensors",
                    safetensors({counted("q", {48, 32}, same), counted("k", {48, 32}, same), counted("v", {48, 32}, of_v)}));
  HeadsQuestion q{default_experiment(), true, {0}, nullptr};
  q.base.problem.input = {.kind = InputKind::tensors, .file = call, .tensors = nullptr};
  HeadRow found;
  compute_heads(q, CallFiles(call), {.threads = 1}, [&](const HeadRow& row) { found = row; });
  return found;
}

/// A cell of the picture stands for two rows and two columns; column 0 of O is NaN.
TEST(RowsOfHeads, ShowNaNBesideNumbers) {
  const TemporaryDirectory scratch;
  const auto of_v = [](int i) { return i % 32 == 0 ? std::numeric_limits<float>::quiet_NaN() : 1.0F; };
  const HeadRow row = row_of_call(scratch, 0, of_v);
  for (std::size_t cell = 0; cell < row.picture.size(); ++cell)
    EXPECT_EQ(std::isnan(row.picture[cell]), cell % HeadRow::across == 0) << cell;
}

TEST(RowsOfHeads, TellScoresBeyondTheRangeOfFloat) {
  const TemporaryDirectory scratch;
  EXPECT_EQ(row_of_call(scratch, 1e30F, [](int) { return 1.0F; }).largest_score, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace attoscope::testing
