#include "app/explore/heads_desk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/explore/judging.h"
#include "app/heads/heads.h"
#include "app/heads/kept_heads.h"
#include "app/heads/kv_heads.h"
#include "ui/frame/loaded_output.h"

namespace attoscope {
namespace {

constexpr std::size_t most_kept = 6;

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

/// Question and search of each kind of row.
template <class Row>
struct Search;
template <>
struct Search<HeadRow> {
  static const Experiment& base(const Experiment& e) { return e; }
  static constexpr auto compute = compute_heads;
};
template <>
struct Search<KvRow> {
  static Experiment base(const Experiment& e) { return kv_question(e); }
  static constexpr auto compute = compute_kv_heads;
};
template <>
struct Search<JudgedHead> {
  static Experiment base(const Experiment& e) { return verdict_question(e); }
  static constexpr auto compute = judge_heads;
};

}  // namespace

template <class Row>
HeadsDesk<Row>::HeadsDesk(std::function<void()> published, std::shared_ptr<KeptHeads> kept)
    : question_(
          [published, kept](const Asked& asked, const Cancelled& stop) { return find(asked, stop, published, kept.get()); },
          published) {}

/// The question of an experiment, the same for all heads of the file.
template <class Row>
auto HeadsDesk<Row>::asked_of(const Experiment& experiment) -> Asked {
  Asked asked{Search<Row>::base(experiment), true, nullptr};
  Problem& p = asked.base.problem;
  asked.whole = p.n >= p.input.tensors->n;
  if (asked.whole) p.n = Problem{}.n;
  p.d = Problem{}.d;
  p.traced_row = 0;
  p.input.index = 0;
  p.input.digest = 0;
  p.input.tensors.reset();
  KernelOutput& output = asked.base.loaded;
  output.index = 0;
  output.digest = 0;
  output.values.reset();
  return asked;
}

template <class Row>
auto HeadsDesk<Row>::find(const Asked& asked, const Cancelled& stop, const std::function<void()>& published, KeptHeads* kept)
    -> Done {
  const CallFiles files(asked.base.problem.input.file);
  HeadsQuestion question{asked.base, asked.whole, {}, kept};
  {
    const std::lock_guard lock(asked.found->mutex);
    question.heads = missing_heads(files, asked.found->rows);
    asked.found->all = files.heads();
    asked.found->share = 0;
    asked.found->began = Clock::now();
  }
  const auto progress = [&](double share) {
    {
      const std::lock_guard lock(asked.found->mutex);
      if (share < 1 && share < asked.found->share + 0.005) return;  // a wake-up of the window each half a percent
      asked.found->share = share;
    }
    if (published) published();
  };
  Search<Row>::compute(question, files, {.cancelled = stop, .progress = progress}, [&](const Row& row) {
    {
      const std::lock_guard lock(asked.found->mutex);
      asked.found->rows.push_back(row);
    }
    if (published) published();
  });
  return {};
}

template <class Row>
void HeadsDesk<Row>::ask(const Experiment& experiment) {
  if (!experiment.problem.input.tensors) return;  // not read yet
  Asked asked = asked_of(experiment);
  if (!asked_ || !(*asked_ == asked)) {
    question_.forget();
    const auto kept = std::ranges::find(kept_, asked);
    asked.found = kept != kept_.end() ? kept->found : std::make_shared<Found>();
    if (kept != kept_.end()) kept_.erase(kept);
    kept_.push_back(asked);
    if (kept_.size() > most_kept) kept_.pop_front();
    asked_ = std::move(asked);
  }
  question_.ask(*asked_);
}

template <class Row>
void HeadsDesk<Row>::forget() {
  question_.forget();
  kept_.clear();
  asked_.reset();
}

template <class Row>
bool HeadsDesk<Row>::has_all(const Experiment& experiment) const {
  if (!asked_ || !experiment.problem.input.tensors || !(*asked_ == asked_of(experiment))) return false;
  const std::lock_guard lock(asked_->found->mutex);
  return asked_->found->all > 0 && asked_->found->rows.size() == static_cast<std::size_t>(asked_->found->all);
}

template <class Row>
FoundHeads<Row> HeadsDesk<Row>::view() const {
  if (!asked_) return {};
  Found& found = *asked_->found;
  const std::lock_guard lock(found.mutex);
  const std::size_t count = found.rows.size();
  if (!found.seen || found.seen->size() != count) found.seen = std::make_shared<const std::vector<Row>>(found.rows);
  FoundHeads<Row> view{found.seen, found.all, question_.busy(), -1, asked_->base.problem.input.file};
  const double seconds = std::chrono::duration<double>(Clock::now() - found.began).count();
  if (found.share > 0) view.seconds_left = seconds / found.share * (1 - found.share);
  return view;
}

template <class Row>
FoundHeads<Row> all_heads(const Experiment& experiment) {
  const CallFiles files(experiment.problem.input.file);
  const bool whole = experiment.problem.n >= experiment.problem.input.tensors->n;
  auto rows = std::make_shared<std::vector<Row>>();
  Search<Row>::compute({Search<Row>::base(experiment), whole, missing_heads(files, *rows)}, files, {},
                       [&](const Row& row) { rows->push_back(row); });
  return {rows, files.heads(), false, -1, experiment.problem.input.file};
}

template class HeadsDesk<HeadRow>;
template class HeadsDesk<KvRow>;
template class HeadsDesk<JudgedHead>;
template FoundHeads<HeadRow> all_heads<HeadRow>(const Experiment&);
template FoundHeads<KvRow> all_heads<KvRow>(const Experiment&);
template FoundHeads<JudgedHead> all_heads<JudgedHead>(const Experiment&);

}  // namespace attoscope
