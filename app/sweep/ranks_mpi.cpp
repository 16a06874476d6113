// Each rank computes every count-th point, and sends its answers to the root as they are found.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "app/sweep/ranks.h"

namespace attoscope::app {
namespace {

enum Tag : int { answer = 1, done };

/// An answer as bytes: index, seconds, kind (cached, computed, error), then the summary or the error.
std::string packed(const SweepAnswer& a) {
  const std::uint64_t index = a.index;
  std::string bytes(sizeof index + sizeof a.seconds, '\0');
  std::memcpy(bytes.data(), &index, sizeof index);
  std::memcpy(bytes.data() + sizeof index, &a.seconds, sizeof a.seconds);
  bytes += a.remembered ? 'r' : a.summary ? 'c' : 'e';
  return bytes + (a.summary ? packed_summary(*a.summary) : a.error);
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
    a.summary = unpacked_summary(std::string_view(bytes).substr(head + 1));
  if (!a.summary && a.error.empty()) return std::nullopt;
  return a;
}

void send(Tag tag, const std::string& bytes) {
  MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, tag, MPI_COMM_WORLD);
}

/// Waits for a message of any rank by polling each millisecond: MPI_Recv would keep a core busy.
std::pair<Tag, std::string> received() {
  int there = 0, size = 0;
  MPI_Status status;
  while (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status), there == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  MPI_Get_count(&status, MPI_BYTE, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  MPI_Recv(bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return {static_cast<Tag>(status.MPI_TAG), std::move(bytes)};
}

/// The root computes its own points on another thread, and collects the answers of `others` ranks.
std::vector<SweepAnswer> root_answers(const Sweep& sweep, const SweepOptions& options, int others) {
  std::mutex mutex;
  std::vector<SweepAnswer> answers;
  const auto keep = [&](const SweepAnswer& a) {
    const std::lock_guard lock(mutex);
    if (options.finished) options.finished(a);
    answers.push_back(a);
  };
  SweepOptions own = options;
  own.finished = keep;
  {
    const std::jthread computing([&] { run_sweep(sweep, own); });
    while (others > 0) {
      const auto [tag, bytes] = received();
      if (tag == done) --others;
      if (tag == answer)
        if (const std::optional<SweepAnswer> a = unpacked(bytes)) keep(*a);
    }
  }
  std::ranges::sort(answers, {}, &SweepAnswer::index);
  return answers;
}

/// True if the process was started by mpirun, or by srun with a process manager.
bool was_started_by_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_RANK") != nullptr;
}

}  // namespace

Ranks::Ranks() {
  if (!was_started_by_mpi()) return;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  started_ = true;
  if (given < MPI_THREAD_SERIALIZED)
    throw std::runtime_error("this MPI cannot be used from several threads, expected MPI_THREAD_SERIALIZED");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
}

Ranks::~Ranks() {
  if (started_) MPI_Finalize();
}

bool Ranks::agree(const std::function<void()>& preparation) const {
  if (count_ == 1) {
    preparation();
    return true;
  }
  int ready = 0, all_ready = 0;
  std::exception_ptr failure;
  const auto prepare = [&] {
    try {
      preparation();
    } catch (...) {
      failure = std::current_exception();
    }
    ready = failure == nullptr ? 1 : 0;
  };
  if (is_root()) prepare();
  MPI_Bcast(&ready, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!is_root() && ready != 0) prepare();
  MPI_Allreduce(&ready, &all_ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (failure != nullptr) std::rethrow_exception(failure);
  return all_ready != 0;
}

std::vector<SweepAnswer> Ranks::run(const Sweep& sweep, const SweepOptions& options) {
  if (count_ == 1) return run_sweep(sweep, options);
  SweepOptions own = options;
  own.shard = options.shard + options.shards * static_cast<std::size_t>(rank_);
  own.shards = options.shards * static_cast<std::size_t>(count_);
  if (is_root()) return root_answers(sweep, own, count_ - 1);
  own.finished = [](const SweepAnswer& a) { send(answer, packed(a)); };
  run_sweep(sweep, own);
  send(done, {});
  return {};
}

}  // namespace attoscope::app
