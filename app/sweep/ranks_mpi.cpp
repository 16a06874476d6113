// One thread of a rank calls MPI, another computes. The root deals points on request, and computes some itself.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/sweep/point_scheduler.h"
#include "app/sweep/ranks.h"

namespace attoscope {
namespace {

using Clock = std::chrono::steady_clock;

/// Messages. ask: requests work. work: indices of points. finish: end, together. leave: end, a rank died. answer: one point.
/// alive: heartbeat.
enum Tag : int { ask = 1, work, finish, leave, answer, alive };

constexpr std::chrono::milliseconds nap{1}, beat{1000};
/// Silence after which a rank counts as dead; later answers of it are still accepted.
constexpr std::chrono::seconds patience{5};

/// An answer as bytes: index, seconds, kind (cached, computed, error), then the summary's text or the error.
std::string packed(const SweepAnswer& a) {
  const std::uint64_t index = a.index;
  std::string bytes(sizeof index + sizeof a.seconds, '\0');
  std::memcpy(bytes.data(), &index, sizeof index);
  std::memcpy(bytes.data() + sizeof index, &a.seconds, sizeof a.seconds);
  bytes += a.remembered ? 'r' : a.summary ? 'c' : 'e';
  return bytes + (a.summary ? summary_text(*a.summary) : a.error);
}

/// None if the bytes are invalid.
std::optional<SweepAnswer> unpacked(const std::string& bytes) {
  SweepAnswer a;
  std::uint64_t index = 0;
  constexpr std::size_t head = sizeof index + sizeof a.seconds;
  if (bytes.size() <= head) return std::nullopt;
  std::memcpy(&index, bytes.data(), sizeof index);
  std::memcpy(&a.seconds, bytes.data() + sizeof index, sizeof a.seconds);
  a.index = index;
  a.remembered = bytes[head] == 'r';
  if (bytes[head] == 'e')
    a.error = bytes.substr(head + 1);
  else
    a.summary = parse_summary(std::string_view(bytes).substr(head + 1));
  if (!a.summary && a.error.empty()) return std::nullopt;
  return a;
}

void send(int to, Tag tag, const void* bytes, std::size_t size) {
  MPI_Send(bytes, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

/// A received message.
struct Message {
  int from = 0, tag = 0;
  std::string bytes;
};
/// Receives a waiting message; false if there is none.
bool receive(Message& message) {
  int there = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return false;
  MPI_Get_count(&status, MPI_BYTE, &size);
  message = {status.MPI_SOURCE, status.MPI_TAG, std::string(static_cast<std::size_t>(size), '\0')};
  MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.from, message.tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return true;
}

SweepOptions of_rank(const SweepOptions& options, std::vector<std::size_t> only,
                     std::function<void(const SweepAnswer&)> finished) {
  SweepOptions own = options;
  own.only = std::move(only);
  own.finished = std::move(finished);
  return own;
}

/// Rank 0: deals points, computes on a thread, collects answers.
class Root {
 public:
  Root(const Sweep& sweep, const SweepOptions& options, int ranks)
      : sweep_(sweep),
        options_(options),
        scheduler_(points_of(sweep, options), ranks),
        ranks_(static_cast<std::size_t>(ranks)) {}

  std::vector<SweepAnswer> run(bool& lost) {
    std::thread own([this] { compute_own(); });
    while (!is_over() || !all_dismissed()) {
      Message message;
      bool any = false;
      while (receive(message)) any = true, take(message);
      deal();
      bury_the_dead();
      if (!any) std::this_thread::sleep_for(nap);
    }
    own.join();
    lost = lost_one();
    std::ranges::sort(answers_, {}, &SweepAnswer::index);
    return std::move(answers_);
  }

 private:
  struct Rank {
    Clock::time_point heard = Clock::now();
    bool asks = false, dismissed = false, dead = false;
  };

  static std::vector<std::size_t> points_of(const Sweep& sweep, const SweepOptions& options) {
    std::vector<std::size_t> points;
    for (std::size_t i = options.shard, count = point_count(sweep); i < count; i += options.shards) points.push_back(i);
    return points;
  }

  bool is_over() {
    const std::lock_guard lock(mutex_);
    return scheduler_.complete() || (options_.cancelled && options_.cancelled());
  }
  bool all_dismissed() const {
    return std::all_of(ranks_.begin() + 1, ranks_.end(), [](const Rank& r) { return r.dismissed || r.dead; });
  }

  void keep(const SweepAnswer& a) {
    const std::lock_guard lock(mutex_);
    if (!scheduler_.finished(a.index)) return;
    if (options_.finished) options_.finished(a);
    answers_.push_back(a);
  }

  void compute_own() {
    while (!is_over()) {
      std::vector<std::size_t> run;
      {
        const std::lock_guard lock(mutex_);
        run = scheduler_.next(0);
      }
      if (run.empty())
        std::this_thread::sleep_for(nap);
      else
        run_sweep(sweep_, of_rank(options_, std::move(run), [this](const SweepAnswer& a) { keep(a); }));
    }
  }

  void take(const Message& message) {
    Rank& rank = ranks_[static_cast<std::size_t>(message.from)];
    rank.heard = Clock::now();
    rank.dead = false;  // was slow, not dead
    if (message.tag == ask) rank.asks = true;
    if (message.tag == answer)
      if (const std::optional<SweepAnswer> a = unpacked(message.bytes)) keep(*a);
  }

  bool lost_one() const { return std::ranges::any_of(ranks_, &Rank::dead); }

  /// Sends a run to each rank that asks; after the end, and once every rank has asked or died, dismisses them.
  void deal() {
    const bool over = is_over();
    if (over && !std::all_of(ranks_.begin() + 1, ranks_.end(), [](const Rank& r) { return r.asks || r.dead || r.dismissed; }))
      return;
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      if (!rank.asks || rank.dead) continue;
      const std::lock_guard lock(mutex_);
      if (over) {
        send(static_cast<int>(i), lost_one() ? leave : finish, nullptr, 0);
      } else {
        const std::vector<std::size_t> next = scheduler_.next(static_cast<int>(i));
        if (next.empty()) continue;  // a rank may still die and return points
        const std::vector<std::uint64_t> run(next.begin(), next.end());
        send(static_cast<int>(i), work, run.data(), run.size() * sizeof run[0]);
      }
      rank.asks = false;
      rank.dismissed = over;
    }
  }

  void bury_the_dead() {
    const auto now = Clock::now();
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      Rank& rank = ranks_[i];
      if (rank.dead || rank.dismissed || now - rank.heard < patience) continue;
      rank.dead = true;
      const std::lock_guard lock(mutex_);
      scheduler_.lost(static_cast<int>(i));
    }
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  std::mutex mutex_;
  PointScheduler scheduler_;
  std::vector<Rank> ranks_;
  std::vector<SweepAnswer> answers_;
};

/// Any other rank: computes runs from the root until it is dismissed.
class Helper {
 public:
  Helper(const Sweep& sweep, const SweepOptions& options) : sweep_(sweep), options_(options) {}

  /// Stops early if only this rank is cancelled; the root then deals its points to others. False if a rank died, so that MPI
  /// cannot be finalized.
  bool run() {
    while (!options_.cancelled || !options_.cancelled()) {
      const Message dealt = ask_for_work();
      if (dealt.tag != work) return dealt.tag == finish;
      const std::vector<std::size_t> run = indices(dealt);
      std::atomic<bool> done{false};
      std::thread computing([&] {
        run_sweep(sweep_, of_rank(options_, run, [this](const SweepAnswer& a) { put(a); }));
        done = true;
      });
      while (!done) tell();
      computing.join();
      tell();
    }
    return false;
  }

 private:
  Message ask_for_work() {
    send(0, ask, nullptr, 0);
    Message message;
    while (!receive(message)) tell();
    return message;
  }

  static std::vector<std::size_t> indices(const Message& dealt) {
    std::vector<std::uint64_t> run(dealt.bytes.size() / sizeof(std::uint64_t));
    std::memcpy(run.data(), dealt.bytes.data(), run.size() * sizeof run[0]);
    return {run.begin(), run.end()};
  }

  void put(const SweepAnswer& a) {
    const std::lock_guard lock(mutex_);
    found_.push_back(packed(a));
  }

  /// Sends new answers, or a heartbeat.
  void tell() {
    std::deque<std::string> found;
    {
      const std::lock_guard lock(mutex_);
      found.swap(found_);
    }
    for (const std::string& bytes : found) send(0, answer, bytes.data(), bytes.size());
    const auto now = Clock::now();
    if (found.empty() && now - told_ > beat) send(0, alive, nullptr, 0), told_ = now;
    if (!found.empty())
      told_ = now;
    else
      std::this_thread::sleep_for(nap);
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  std::mutex mutex_;
  std::deque<std::string> found_;
  Clock::time_point told_ = Clock::now();
};

/// True if the process was started by mpirun, or by srun with a process manager.
bool was_started_by_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_RANK") != nullptr;
}

}  // namespace

Ranks::Ranks() {
  if (!was_started_by_mpi()) return;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  started_ = true;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
}

Ranks::~Ranks() {
  if (started_ && !lost_one_) MPI_Finalize();  // would wait for dead ranks
}

bool Ranks::agree(const std::function<void()>& preparation) const {
  int ready = 0;
  const auto tell = [&] {
    if (count_ > 1) MPI_Bcast(&ready, 1, MPI_INT, 0, MPI_COMM_WORLD);
  };
  if (!is_root()) {
    tell();
    if (ready != 0) preparation();
    return ready != 0;
  }
  try {
    preparation();
  } catch (...) {
    tell();
    throw;
  }
  ready = 1;
  tell();
  return true;
}

std::vector<SweepAnswer> Ranks::run(const Sweep& sweep, const SweepOptions& options) {
  if (count_ == 1) return run_sweep(sweep, options);
  if (is_root()) return Root(sweep, options, count_).run(lost_one_);
  lost_one_ = !Helper(sweep, options).run();
  return {};
}

}  // namespace attoscope
