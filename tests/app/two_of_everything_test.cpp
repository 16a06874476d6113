// A window beside two sweeps, and two trainings on one checkpoint, under random kills: nothing is lost and nothing mixed. This
// program starts no thread, so that its forks may start some.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "app/files/paths.h"
#include "app/sweep/sweeper.h"
#include "tests/app/outcome.h"
#include "tests/app/own_cache.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "ui/session/session.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing
namespace fs = std::filesystem;

/// Forks a process that runs `work`; it ends without the clean-up of the test program.
pid_t begun(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    ::_exit(work());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ::_exit(99);
  }
}

/// The exit code; -1: it was killed.
int ended(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Keeps a process of each kind at work for two seconds, kills one after the other at random moments, and then calls `between`.
void under_kills(const std::vector<std::function<int()>>& kinds, Dice& dice, int longest_ms,
                 const std::function<void()>& between) {
  std::vector<pid_t> running;
  for (const auto& work : kinds) running.push_back(begun(work));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int kills = 0; std::chrono::steady_clock::now() < end || kills < 4; ++kills) {
    const auto which = static_cast<std::size_t>(dice.between(0, static_cast<int>(kinds.size()) - 1));
    ::usleep(static_cast<unsigned>(dice.between(0, longest_ms * 1000)));
    ::kill(running[which], SIGKILL);
    const int code = ended(running[which]);
    EXPECT_TRUE(code == -1 || code == 0) << "process " << which << " ended with " << code << " before it was killed";
    between();
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

/// The command's exit code; prints its standard error if that is not 0.
int code_of(const std::vector<std::string>& command) {
  const Outcome outcome = attoscope(command);
  if (outcome.code != 0) std::fputs(outcome.err.c_str(), stderr);
  return outcome.code;
}

/// The Sweep workspace of a window, on the points of the sweeps below.
int sweep_in_a_window() {
  ui::Session session;
  session.experiment.problem.n = 64;
  session.experiment.problem.d = 16;
  session.view.workspace = ui::Workspace::sweep;
  session.sweep.first = {"block_k", "8:64:x2"};
  session.sweep.second = {"format", "bf16,fp16"};
  session.sweep.seeds = 20;
  app::Sweeper sweeper([] {}, app::default_point_cache());
  ui::Requests run;
  run.sweep = ui::SweepRequest::run;
  sweeper.update(session, false);
  sweeper.handle(run, session);
  while (sweeper.view().progress.state != ui::SweepProgress::State::done) {
    sweeper.update(session, false);
    ::usleep(1000);
  }
  return sweeper.view().progress.remark.empty() ? 0 : 5;
}

TEST(TwoOfEverything, AWindowAndTwoSweepsShareTheirPoints) {
  const OwnCache own;
  const TemporaryDirectory folder;
  Dice dice(2);
  const auto sweep = [&folder](const std::string& name, const std::vector<std::string>& more = {}) -> std::function<int()> {
    return [=, &folder] {
      return code_of(
          with(with(words("sweep --n 64 --d 16 --vary block_k=8:64:x2 --vary format=bf16,fp16 --seeds 20 --threads 2 --quiet"),
                    more),
               {"--out", folder / name}));
    };
  };
  const auto points = [&](const std::string& name) { return bytes_of_file(folder / (name + "/points.csv")); };
  ASSERT_EQ(ended(begun(sweep("alone", {"--no-cache"}))), 0);
  const std::string alone = points("alone");
  under_kills({sweep("one"), sweep("two"), sweep_in_a_window}, dice, 150, [&] {
    std::error_code ignored;
    if (dice.one_in(4))  // all points are there after a while: makes some anew
      for (const fs::directory_entry& file : fs::directory_iterator(own.directory(), ignored))
        if (dice.one_in(3)) fs::remove(file.path(), ignored);
    if (fs::exists(folder / "one/points.csv")) {
      EXPECT_EQ(points("one"), alone);
    }
  });
  for (const char* const name : {"one", "two"}) {
    ASSERT_EQ(ended(begun(sweep(name))), 0);
    EXPECT_EQ(points(name), alone);
    expect_no_parts(folder / name);
  }
}

TEST(TwoOfEverything, TwoTrainingsShareACheckpoint) {
  const TemporaryDirectory folder;
  Dice dice(3);
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "etaoin shrdlu\n"[dice.between(0, 13)];
  const std::string shared = folder / "shared.checkpoint", text_file = folder.write("text.txt", text);
  const std::vector<std::string> usual = words("train --quiet --device cpu --threads 1 --checkpoint-every 10"),
                                 fresh = with(usual, words("--layers 1 --width 16 --heads 2 --context 16 --batch 2 --steps 400 "
                                                           "--warmup 1 --text " +
                                                           text_file));
  const auto train = [&](const std::string& json) -> std::function<int()> {
    return [&, json] {
      return code_of(with(fs::exists(shared) ? with(usual, {"--resume", shared}) : fresh,
                          {"--checkpoint", shared, "--json", folder / json}));
    };
  };
  ASSERT_EQ(ended(begun([&] { return code_of(with(fresh, {"--json", folder / "alone.json"})); })), 0);
  under_kills({train("one.json"), train("two.json")}, dice, 200, [] {});
  ASSERT_EQ(ended(begun(train("one.json"))), 0);
  const auto timeless = [&](const char* file) {
    nlohmann::json json = nlohmann::json::parse(bytes_of_file(folder / file));
    json.erase("seconds");
    return json;
  };
  EXPECT_EQ(timeless("one.json"), timeless("alone.json"));
  expect_no_parts(folder / "");
}

}  // namespace
}  // namespace attoscope
