#include <chrono>
#include <mutex>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/explore/judging.h"
#include "app/explore/side_answers.h"
#include "app/heads/heads.h"
#include "ui/frame/heads_answer.h"

namespace attoscope::app {
namespace {

/// Heads of the file that are missing in `rows`.
template <class Row>
std::vector<int> missing_heads(const CallFiles& files, const std::vector<Row>& rows) {
  std::set<int> there;
  for (const Row& row : rows) there.insert(row.head);
  std::vector<int> missing;
  for (int head = 0; head < files.heads(); ++head)
    if (!there.contains(head)) missing.push_back(head);
  return missing;
}

/// The search of each kind of row.
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
  if (run.known && run.known->question == question) rows = *(found.rows = run.known->rows);
  run.publish(found);
  std::mutex mutex;  // rows and shares come from several threads
  double share = 0;
  const Clock::time_point began = Clock::now();
  const auto progress = [&](double now) {
    const std::lock_guard lock(mutex);
    if (now < 1 && now < share + 0.005) return;  // a wake-up of the window each half a percent
    share = now;
    found.seconds_left = std::chrono::duration<double>(Clock::now() - began).count() / share * (1 - share);
    run.publish(found);
  };
  search<Row>(
      {question.base, question.whole, missing_heads(files, rows), kept, numbers_of_head_in(question.base.problem, files)},
      files, {.cancelled = run.options.cancelled, .progress = progress}, [&](const Row& row) {
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
typename SideQuestion<ui::HeadsOfFile, ui::FoundHeads<Row>>::Work found_heads(std::shared_ptr<KeptHeads> kept) {
  return [kept = std::move(kept)](const ui::HeadsOfFile& question, const SideRun<ui::FoundHeads<Row>>& run) {
    return find<Row>(question, run, kept.get());
  };
}

template SideQuestion<ui::HeadsOfFile, ui::HeadsView>::Work found_heads<ui::HeadRow>(std::shared_ptr<KeptHeads>);
template SideQuestion<ui::HeadsOfFile, ui::KvView>::Work found_heads<KvRow>(std::shared_ptr<KeptHeads>);
template SideQuestion<ui::HeadsOfFile, ui::JudgedView>::Work found_heads<ui::JudgedHead>(std::shared_ptr<KeptHeads>);

}  // namespace attoscope::app
