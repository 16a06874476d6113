#include "app/explore/side_answers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/explore/judging.h"
#include "app/heads/heads.h"
#include "app/tensors/tensor_list.h"
#include "app/tensors/tensors.h"
#include "app/threads/job.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/gradient_attribution.h"
#include "kernels/questions/gradient_spread.h"
#include "kernels/questions/gradient_trace.h"
#include "kernels/questions/gradient_window.h"
#include "kernels/questions/product_sum.h"
#include "kernels/questions/same_bits.h"
#include "kernels/questions/scores.h"
#include "ui/frame/heads_answer.h"
#include "ui/picture/heatmap_view.h"

namespace attoscope::app {
namespace {

/// Device of a GPU check: the first GPU of `device`; "cuda" if it has none.
std::string one_gpu(const std::string& device) {
  const std::string first = device.substr(0, device.find(','));
  return first.starts_with("cuda") ? first : "cuda";
}

/// Errors and thumbnail of at most 128 rows of the experiment. A failure goes to `problem`; throws Stopped.
ui::GalleryPicture gallery_picture(const ui::GalleryQuestion& question, const Options& options) {
  constexpr int most_rows = 128;
  ui::GalleryPicture picture{.key = question.key};
  Experiment e = question.experiment;
  int& rows = e.problem.rows;
  rows = std::min(rows > 0 ? rows : e.problem.n, most_rows);
  picture.problem = failure_of([&] {
    load_tensors(e.problem.input);
    const Result r = compute(e, {.cancelled = options.cancelled});
    picture.a_mean = r.a_error.mean_abs;
    picture.b_mean = r.b_error.mean_abs;
    picture.thumbnail = ui::thumbnail_of(r);
  });
  return picture;
}

/// Wraps `f` with a cache that persists between questions until their answers are dropped.
template <class Question, class F>
auto with_own_cache(F f) {
  return [f, cache = std::make_shared<ComputeCache>()](const Question& q, const auto& run) {
    if (!run.known) *cache = {};
    Options options = run.options;
    options.cache = cache.get();
    return f(q, options);
  };
}

/// Heads of the file without a row in `rows`.
template <class Row>
std::vector<int> missing_heads(const CallFiles& files, const std::vector<Row>& rows) {
  std::set<int> there;
  for (const Row& row : rows) there.insert(row.head);
  std::vector<int> missing;
  for (int head = 0; head < files.heads(); ++head)
    if (!there.contains(head)) missing.push_back(head);
  return missing;
}

/// The numbers of all heads, if the question has those of the open head; else none.
HeadNumbers numbers_for(const ui::HeadsOfFile& question, const CallFiles& files) {
  Problem problem = question.base.problem;
  problem.input.index = question.open;
  return numbers_of_head_in(problem, files);
}

/// True if both have the same rows, though each may have the numbers of another open head.
bool asks_alike(ui::HeadsOfFile x, ui::HeadsOfFile y, const CallFiles& files) {
  const HeadNumbers of_x = numbers_for(x, files), of_y = numbers_for(y, files);
  x.base.problem = of_x.of_head(x.base.problem, 0);
  y.base.problem = of_y.of_head(y.base.problem, 0);
  return x == y && of_x.any() == of_y.any();
}

/// The function that computes each kind of row.
template <class Row>
constexpr auto search = compute_heads;
template <>
constexpr auto search<KvRow> = compute_kv_heads;
template <>
constexpr auto search<ui::JudgedHead> = judge_heads;

template <class Row>
ui::FoundHeads<Row> find(const ui::HeadsOfFile& question, const SideRun<ui::FoundHeads<Row>>& run, KeptHeads* kept) {
  using Clock = std::chrono::steady_clock;
  const CallFiles files(question.base.problem.input.file);
  std::vector<Row> rows;
  ui::FoundHeads<Row> found{.question = question, .rows = std::make_shared<const std::vector<Row>>(), .all = files.heads()};
  if (run.known && asks_alike(run.known->question, question, files)) rows = *(found.rows = run.known->rows);
  run.publish(found);
  std::mutex mutex;  // rows and shares come from several threads
  double share = 0;
  const Clock::time_point began = Clock::now();
  const auto progress = [&](double now) {
    const std::lock_guard lock(mutex);
    if (now < 1 && now < share + 0.005) return;  // wake the window only every half percent
    share = now;
    found.seconds_left = std::chrono::duration<double>(Clock::now() - began).count() / share * (1 - share);
    run.publish(found);
  };
  search<Row>({question.base, question.whole, missing_heads(files, rows), kept, numbers_for(question, files)}, files,
              {.cancelled = run.options.cancelled, .progress = progress}, [&](const Row& row) {
                const std::lock_guard lock(mutex);
                rows.push_back(row);
                if constexpr (std::is_same_v<Row, ui::HeadRow>) mark_unusual(rows);
                found.rows = std::make_shared<const std::vector<Row>>(rows);
                run.publish(found);
              });
  return found;
}

}  // namespace

template <class Row>
SearchOfHeads<Row> found_heads(const std::shared_ptr<KeptHeads>& kept) {
  return [kept](const ui::HeadsOfFile& question, const SideRun<ui::FoundHeads<Row>>& run) {
    return find<Row>(question, run, kept.get());
  };
}
template SearchOfHeads<ui::HeadRow> found_heads(const std::shared_ptr<KeptHeads>& kept);

namespace {

using Pictures = std::vector<ui::GalleryPicture>;

/// The known pictures, and the questions' pictures, computed one after the other.
Pictures gallery_pictures(const std::vector<ui::GalleryQuestion>& questions, const SideRun<Pictures>& run) {
  Pictures found = run.known ? *run.known : Pictures();
  for (const ui::GalleryQuestion& q : questions) {
    if (std::ranges::find(found, q.key, &ui::GalleryPicture::key) != found.end()) continue;
    found.push_back(gallery_picture(q, run.options));
    run.publish(found);
  }
  return found;
}

}  // namespace

SideAnswers::SideAnswers(const std::function<void()>& published, const std::shared_ptr<KeptHeads>& kept)
    : questions_{
          .why = {[](const Experiment& e, const auto& run) { return attribute(e, run.options); }, published},
          .scores = {[](const ScoreQuestion& q, const auto& run) { return scores(q, run.options); }, published},
          .sum = {[](const ProductSumQuestion& q, const auto& run) { return product_sum(q, run.options); }, published},
          .clipping = {[](const Experiment& e, const auto& run) { return clipping(e, clipping_rows, run.options); }, published},
          .same_bits = {[](const Experiment& e, const auto& run) { return same_bits(e, run.options); }, published},
          .invariance = {[](const Experiment& e, const auto& run) { return invariance(e, run.options); }, published},
          .gradient_why = {[](const Experiment& e, const auto& run) { return attribute_gradients(e, run.options); }, published},
          .gradient_window = {with_own_cache<ScoreQuestion>(gradient_window), published},
          .gradient_trace = {with_own_cache<GradientTraceQuestion>(gradient_trace), published},
          .order_spread = {[](const Experiment& e, const auto& run) { return order_spread(e, run.options); }, published},
          .kernel_gradients = {found_kernel_gradients, published},
          .tensors = {[](const std::string& files, const auto&) { return tensors_of(files); }, published},
          .tensor_statistics = {[](const std::string& tensor, const auto& run) {
                                  return statistics_of(tensor, [&](double) { return run.options.cancelled(); });
                                },
                                published},
          .gpu_check = {[](const std::string&, const auto& run) {
                          const std::string gpu = one_gpu(run.options.device);
                          return attoscope::gpu_check({.device = gpu}, checked_gpu(gpu), {.cancelled = run.options.cancelled});
                        },
                        published},
          .verdict = {[](const Experiment& e, const auto& run) {
                        return head_verdict(e, {.cancelled = run.options.cancelled});
                      },
                      published},
          .slip_output = {[](const ui::SlipQuestion& q, const auto& run) {
                            return ui::SlipOutput{with_slip_output(*q.answer, q.slip, {.cancelled = run.options.cancelled}),
                                                  q.slip.text};
                          },
                          published},
          .followed = {[](const Experiment& e, const auto& run) { return followed_row(e, run.options); }, published},
          .heads = {found_heads<ui::HeadRow>(kept), published},
          .kv = {found_heads<KvRow>(kept), published},
          .judged = {found_heads<ui::JudgedHead>(kept), published},
          .gallery = {gallery_pictures, published}} {}

void SideAnswers::ask(ui::SideRequests requests, const std::string& device, const std::shared_ptr<const Result>& complete,
                      bool computing) {
  auto [heads, kv, judged] = std::tie(questions_.heads, questions_.kv, questions_.judged);
  if (requests.stop_heads || requests.kv) heads.forget();
  if (requests.stop_heads || requests.heads) kv.forget();
  if (requests.stop_heads) {
    requests.heads.reset();
    requests.kv.reset();
  }
  if (!complete) {
    requests.verdict.reset();
    requests.slip_output.reset();
    requests.followed.reset();
    requests.kernel_gradients.reset();
  }
  if (requests.slip_output) requests.slip_output->answer = complete;
  if (requests.kernel_gradients) requests.kernel_gradients->answer = complete;
  const std::optional<ui::HeadsOfFile> to_judge = std::exchange(requests.judged, std::nullopt);
  const auto ask = [&](const auto& asked, auto& question) {
    if (asked) question.ask(*asked, device);
  };
  for_each_side(ask, requests, questions_);
  // Each search takes all threads: verdicts wait for the answer and for tables.
  const bool waits = computing || heads.busy() || kv.busy();
  if (requests.stop_heads || waits) return judged.forget();
  if (to_judge) judged.ask(*to_judge, device);
}

void SideAnswers::forget(bool with_answers) {
  const std::array<const void*, 2> of_files{&questions_.tensors, &questions_.tensor_statistics};  // not of an experiment
  for_each_side(
      [&](auto& question) {
        if (std::ranges::find(of_files, static_cast<const void*>(&question)) != of_files.end()) return;
        with_answers ? question.clear() : question.forget();
      },
      questions_);
}

void SideAnswers::forget_files() {
  questions_.heads.clear();
  questions_.kv.clear();
  questions_.judged.clear();
  questions_.verdict.clear();
  questions_.kernel_gradients.clear();
  questions_.tensors.clear();
  questions_.tensor_statistics.clear();
}

std::string SideAnswers::update() {
  std::string failure;
  const auto take = [&](auto& question) {
    if (std::string told = failure_of([&] { question.update(); }, "this experiment"); !told.empty()) failure = std::move(told);
  };
  for_each_side(take, questions_);
  return failure;
}

void SideAnswers::tell(ui::PanelInput& input) const {
  for_each_side(
      [](const auto& question, auto& answer, bool& answering) {
        answer = question.answer();
        answering = question.busy();
      },
      questions_, input.side, input.answering);
}

bool SideAnswers::busy() const {
  bool busy = false;
  for_each_side([&](const auto& question) { busy |= question.busy(); }, questions_);
  return busy;
}

}  // namespace attoscope::app
