// Two windows, a window and a sweep, two trainings, on the same files and under random kills: nothing is lost and nothing
// mixed. ATTOSCOPE_SECONDS=60 runs for a minute instead of ten seconds. This program starts no thread, so that its forks may
// start some.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/session/session.h"
#include "app/session/session_store.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/sweeper.h"
#include "app/words/numbers.h"
#include "tests/app/outcome.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

/// Time of each of the three tests.
std::chrono::duration<double> time_to_run() {
  const char* const wanted = std::getenv("ATTOSCOPE_SECONDS");
  return std::chrono::duration<double>((wanted == nullptr ? 10.0 : std::atof(wanted)) / 3);
}

/// Forks a process that runs `work`; it ends without the clean-up of the test program.
pid_t begun(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(99);
    }
  }
  return child;
}

/// The exit code; -1: it was killed.
int ended(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Keeps two of each kind of process at work, kills them one after the other at random moments, and then calls `between` with
/// their index. All end with it.
void under_kills(const std::vector<std::function<int()>>& kinds, Dice& dice, int longest_ms,
                 const std::function<void(std::size_t)>& between) {
  std::vector<pid_t> running;
  for (const auto& work : kinds) running.push_back(begun(work));
  const auto end = Clock::now() + time_to_run();
  for (int kills = 0; Clock::now() < end || kills < 4; ++kills) {
    const auto which = static_cast<std::size_t>(dice.between(0, static_cast<int>(kinds.size()) - 1));
    ::usleep(static_cast<unsigned>(dice.between(0, longest_ms * 1000)));
    ::kill(running[which], SIGKILL);
    const int code = ended(running[which]);
    EXPECT_TRUE(code == -1 || code == 0) << "process " << which << " ended with " << code << " before it was killed";
    between(which);
    running[which] = begun(kinds[which]);
  }
  for (const pid_t process : running) {
    ::kill(process, SIGKILL);
    ended(process);
  }
}

void expect_no_parts(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    EXPECT_TRUE(entry.path().string().find(".part-") == std::string::npos &&
                entry.path().string().find(".attoscope-") == std::string::npos)
        << entry.path();
}

/// A window's states are numbered by its seed: window * stride + state.
constexpr std::uint64_t stride = 1000000;

/// The newest state of each window that a session holds, itself or, as names of pins, of the sessions that it continues.
std::map<std::uint64_t, std::uint64_t> states_of(const Session& session) {
  std::map<std::uint64_t, std::uint64_t> newest;
  const auto note = [&](std::uint64_t seed) {
    std::uint64_t& state = newest[seed / stride];
    state = std::max(state, seed % stride);
  };
  note(session.experiment.problem.seed);
  for (const Pin& pin : session.pins) note(to_number<std::uint64_t>(pin.name).value());
  return newest;
}

/// A window that goes on from its autosave, changes it again and again, and tells every state that it has kept.
int live_in_a_window(const TemporaryDirectory& folder, std::uint64_t window, int told) {
  std::vector<std::string> remarks;
  const auto own = std::make_shared<const Autosave>(folder / "session.json");
  SessionStore store({own, folder / "recent.json"}, Session(), "");
  Session session = fs::exists(own->file()) ? read_session(own->file(), remarks) : Session();
  if (!remarks.empty()) return 3;
  const auto before = states_of(session);
  session.pins.clear();
  for (const auto& [of, state] : before)
    session.pins.push_back({.name = std::to_string(of * stride + state), .experiment = {}, .thumbnail = {}});
  store.observe(session);
  for (std::uint64_t state = 1;; ++state) {
    session.experiment.problem.seed = window * stride + state;
    store.autosave(session, static_cast<double>(state), true);
    const std::uint64_t seed = session.experiment.problem.seed;
    if (::write(told, &seed, sizeof seed) != sizeof seed) return 4;
    if (state % 5 == 0) store.save(session, folder / "shared.json");
  }
}

TEST(TwoOfEverything, TwoWindowsLoseNoSession) {
  const TemporaryDirectory folder;
  Dice dice(1);
  int told[2];
  ASSERT_EQ(::pipe2(told, O_NONBLOCK), 0);
  ::fcntl(told[1], F_SETFL, 0);  // the windows wait until they are heard
  std::map<std::uint64_t, std::uint64_t> kept;
  const auto listen = [&](std::size_t) {
    for (std::uint64_t seed = 0; ::read(told[0], &seed, sizeof seed) == sizeof seed;) {
      std::uint64_t& state = kept[seed / stride];
      state = std::max(state, seed % stride);
    }
  };
  const auto window = [&] { return live_in_a_window(folder, static_cast<std::uint64_t>(::getpid()), told[1]); };
  under_kills({window, window}, dice, 60, listen);
  listen(0);
  std::map<std::uint64_t, std::uint64_t> found;
  const std::vector<std::string> files = autosaves(folder / "session.json");
  EXPECT_LE(files.size(), 3u) << "a window takes what another has left";
  for (const std::string& file : files) {
    std::vector<std::string> remarks;
    for (const auto& [of, state] : states_of(read_session(file, remarks))) found[of] = std::max(found[of], state);
    EXPECT_TRUE(remarks.empty()) << file;
  }
  EXPECT_GE(kept.size(), 4u);
  for (const auto& [of, state] : kept) EXPECT_GE(found[of], state) << "the newest session of window " << of;
  SessionStore after({nullptr, folder / "recent.json"}, Session(), "");
  after.save(Session(), folder / "mine.json");
  EXPECT_EQ(after.files(Session()).recent.at(0).file, folder / "mine.json") << "the list survives them, too";
}

const std::vector<std::string> sweep_command{
    "sweep",   "--n", "64",        "--d", "16",     "--vary", "block_k=8:64:x2", "--vary", "format=bf16,fp16",
    "--seeds", "60",  "--threads", "2",   "--quiet"};

/// The command with more words; its exit code, and its standard error if that is not 0.
int run_command(std::vector<std::string> command, const std::vector<std::string>& more) {
  command.insert(command.end(), more.begin(), more.end());
  const Outcome outcome = attoscope(command);
  if (outcome.code != 0) std::fputs(outcome.err.c_str(), stderr);
  return outcome.code;
}

/// The Sweep workspace of a window, on the same points.
int sweep_in_a_window() {
  Session session;
  session.experiment.problem.n = 64;
  session.experiment.problem.d = 16;
  session.view.workspace = Workspace::sweep;
  session.sweep.first = {"block_k", "8:64:x2"};
  session.sweep.second = {"format", "bf16,fp16"};
  session.sweep.seeds = 60;
  Sweeper sweeper([] {}, default_point_cache());
  Requests run;
  run.sweep = SweepRequest::run;
  sweeper.update(session, false);
  sweeper.handle(run, session);
  while (sweeper.view().progress.state != SweepProgress::State::done) {
    sweeper.update(session, false);
    ::usleep(1000);
  }
  return sweeper.view().progress.remark.empty() ? 0 : 5;
}

TEST(TwoOfEverything, AWindowAndTwoSweepsShareTheirPoints) {
  const TemporaryDirectory folder;
  ::setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
  Dice dice(2);
  ASSERT_EQ(ended(begun([&] { return run_command(sweep_command, {"--no-cache", "--out", folder / "alone"}); })), 0);
  const auto sweep = [&](const char* name) {
    return [&folder, name] { return run_command(sweep_command, {"--out", folder / name}); };
  };
  under_kills({sweep("one"), sweep("two"), sweep_in_a_window}, dice, 300, [&](std::size_t) {
    if (dice.one_in(6)) {  // all points are there after a while: makes some anew
      std::error_code ignored;
      for (const auto& file : fs::directory_iterator(default_point_cache(), ignored))
        if (dice.one_in(3)) fs::remove(file.path(), ignored);
    }
    const std::string out = folder / "one/points.csv";
    if (fs::exists(out)) {
      EXPECT_EQ(bytes_of_file(out), bytes_of_file(folder / "alone/points.csv"));
    }
  });
  ASSERT_EQ(ended(begun(sweep("one"))), 0);
  ASSERT_EQ(ended(begun(sweep("two"))), 0);
  ::unsetenv("XDG_CACHE_HOME");
  for (const char* const name : {"one/points.csv", "two/points.csv"})
    EXPECT_EQ(bytes_of_file(folder / name), bytes_of_file(folder / "alone/points.csv"));
  expect_no_parts(folder / "one");
  expect_no_parts(folder / "two");
}

TEST(TwoOfEverything, TwoTrainingsShareACheckpoint) {
  const TemporaryDirectory folder;
  Dice dice(3);
  std::string text;
  for (int i = 0; i < 4000; ++i) text += static_cast<char>("etaoin shrdlu\n"[dice.between(0, 13)]);
  folder.write("text.txt", text);
  const std::vector<std::string> fresh{"train",     "--quiet", "--text",    folder / "text.txt",
                                       "--layers",  "1",       "--width",   "16",
                                       "--heads",   "2",       "--context", "16",
                                       "--batch",   "2",       "--steps",   "600",
                                       "--warmup",  "1",       "--device",  "cpu",
                                       "--threads", "1"};
  const std::string shared = folder / "shared.checkpoint";
  const auto train = [&](const char* json) -> std::function<int()> {
    return [&folder, &fresh, shared, json] {
      const std::vector<std::string> resumed{"train", "--quiet", "--resume", shared, "--device", "cpu", "--threads", "1"};
      return run_command(fs::exists(shared) ? resumed : fresh,
                         {"--checkpoint", shared, "--checkpoint-every", "3", "--json", folder / json});
    };
  };
  ASSERT_EQ(ended(begun([&] { return run_command(fresh, {"--checkpoint-every", "3", "--json", folder / "alone.json"}); })), 0);
  under_kills({train("one.json"), train("two.json")}, dice, 200, [](std::size_t) {});
  ASSERT_EQ(ended(begun(train("one.json"))), 0);
  const auto timeless = [&](const std::string& file) {
    nlohmann::json json = nlohmann::json::parse(bytes_of_file(file));
    json.erase("seconds");
    return json;
  };
  EXPECT_EQ(timeless(folder / "one.json"), timeless(folder / "alone.json"));
  expect_no_parts(folder / "");
}

}  // namespace
}  // namespace attoscope
