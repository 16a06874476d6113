// Where sessions are kept: the file that is open, the last session, the recent ones; and that nothing is lost on the way.
#include "app/session_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "app/files.h"
#include "app/session.h"
#include "tests/outcome.h"
#include "tests/support.h"
#include "tests/temporary_directory.h"

namespace attoscope {
namespace {

using ::testing::AllOf;
using testing::bytes_of_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::sentence_of;
using testing::TemporaryDirectory;

Session of_tokens(int n) {
  Session session;
  session.experiment.problem.n = n;
  return session;
}

/// A window's files in a directory of their own, and the session that it shows.
struct Desk {
  const TemporaryDirectory folder;
  SessionKeeper::Places places{folder / "state/session.json", folder / "state/recent.json"};
  Session session = of_tokens(8);
  SessionKeeper keeper{places, session, ""};

  Desk() { keeper.observe(session); }
  /// Another window that begins with what this one shows.
  SessionKeeper window(const std::string& document = {}) const { return {places, session, document}; }
  void open(const std::string& path) {
    std::vector<std::string> remarks;
    session = keeper.open(path, remarks);
    keeper.observe(session);
  }
  std::vector<std::string> recent() const {
    std::vector<std::string> names;
    for (const RecentSession& r : keeper.files(session).recent) names.push_back(r.file);
    return names;
  }
};

Session read(const std::string& path) {
  std::vector<std::string> remarks;
  Session session = read_session(path, remarks);
  EXPECT_THAT(remarks, IsEmpty());
  return session;
}

TEST(SessionKeeper, SavesUnderANameAndKnowsWhatIsUnsaved) {
  Desk desk;
  EXPECT_EQ(desk.keeper.files(desk.session).file, "");
  EXPECT_FALSE(desk.keeper.files(desk.session).unsaved);
  EXPECT_FALSE(desk.keeper.has_file(desk.session));
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { desk.keeper.save(desk.session); }), HasSubstr("no file yet"));
  desk.session.view.show_tiles = true;
  EXPECT_TRUE(desk.keeper.files(desk.session).unsaved);
  EXPECT_EQ(desk.keeper.save(desk.session, desk.folder / "mine"), "Saved " + (desk.folder / "mine.json") + ".");
  EXPECT_EQ(desk.keeper.files(desk.session).file, desk.folder / "mine.json");
  EXPECT_FALSE(desk.keeper.files(desk.session).unsaved);
  EXPECT_EQ(read(desk.folder / "mine.json"), desk.session);
  desk.session.experiment.problem.seed = 9;
  EXPECT_TRUE(desk.keeper.files(desk.session).unsaved);
  EXPECT_EQ(read(desk.folder / "mine.json").experiment.problem.seed, 1u);
  desk.keeper.save(desk.session);
  EXPECT_EQ(read(desk.folder / "mine.json").experiment.problem.seed, 9u);
  EXPECT_FALSE(std::filesystem::exists(desk.folder / "mine.json.kept")) << "it was this window's own";
}

TEST(SessionKeeper, UndoAcrossAnOpenedFileFindsTheEarlierFileAgain) {
  Desk desk;
  desk.keeper.save(desk.session, desk.folder / "first.json");
  const Session first = desk.session;
  write_session(desk.folder / "second.json", of_tokens(16));
  desk.open(desk.folder / "second.json");
  EXPECT_EQ(desk.session.experiment.problem.n, 16);
  EXPECT_EQ(desk.keeper.files(desk.session).file, desk.folder / "second.json");
  EXPECT_FALSE(desk.keeper.files(desk.session).unsaved);
  const Session second = desk.session;
  desk.session = first;  // what undo does
  EXPECT_EQ(desk.keeper.files(desk.session).file, desk.folder / "first.json");
  desk.keeper.save(desk.session);
  EXPECT_EQ(read(desk.folder / "second.json").experiment.problem.n, 16) << "the other file is left alone";
  desk.session = desk.keeper.fresh(second);
  desk.keeper.observe(desk.session);
  EXPECT_EQ(desk.keeper.files(desk.session).file, "");
  EXPECT_EQ(desk.session.experiment, first_session().experiment);
  EXPECT_EQ(desk.keeper.files(second).file, desk.folder / "second.json");
}

TEST(SessionKeeper, WhatAnotherWindowSavedIsKeptBesideAndSaidOnce) {
  Desk desk;
  const std::string file = desk.folder / "shared.json";
  desk.keeper.save(desk.session, file);
  SessionKeeper other = desk.window(file);
  EXPECT_EQ(other.save(of_tokens(32)), "Saved " + file + ".");
  EXPECT_EQ(desk.keeper.save(of_tokens(64)),
            "Saved " + file + ". What was there, and not opened here, is kept as " + file + ".kept.");
  EXPECT_EQ(read(file).experiment.problem.n, 64);
  EXPECT_EQ(read(file + ".kept").experiment.problem.n, 32);
  EXPECT_EQ(desk.keeper.save(of_tokens(65)), "Saved " + file + ".") << "now it is known";
}

TEST(SessionKeeper, SavingOverSomeOtherFileKeepsThat) {
  Desk desk;
  const std::string poem = desk.folder.write("poem.json", "roses are red");
  EXPECT_THAT(desk.keeper.save(desk.session, poem), HasSubstr("is kept as " + poem + ".kept."));
  EXPECT_EQ(bytes_of_file(poem + ".kept"), "roses are red");
  EXPECT_EQ(read(poem), desk.session);
}

TEST(SessionKeeper, WhatWasNotUnderstoodIsNotLostBySaving) {
  Desk desk;
  const std::string text = R"({"schema":"attoscope.session/3","experiment":{"problem":{"n":40}},"orbits":3})";
  const std::string file = desk.folder.write("newer.json", text);
  std::vector<std::string> remarks;
  desk.session = desk.keeper.open(file, remarks);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("newer than"), HasSubstr("newer.json: orbits is not a known key")));
  EXPECT_THAT(desk.keeper.save(desk.session), HasSubstr(".kept"));
  EXPECT_EQ(bytes_of_file(file + ".kept"), text);
  EXPECT_EQ(read(file).experiment.problem.n, 40);
}

TEST(SessionKeeper, ADamagedFileIsOneSentenceAndNothingChanges) {
  Desk desk;
  const std::string file = desk.folder.write("bad.json", "{\"schema\": ");
  std::vector<std::string> remarks;
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { desk.keeper.open(file, remarks); }),
              AllOf(HasSubstr("bad.json"), HasSubstr("is not JSON")));
  EXPECT_EQ(bytes_of_file(file), "{\"schema\": ");
  EXPECT_EQ(desk.keeper.files(desk.session).file, "");
  EXPECT_THAT(desk.recent(), IsEmpty());
  EXPECT_THAT(sentence_of<std::runtime_error>([&] { desk.keeper.save(desk.session, "/dev/null/x.json"); }),
              HasSubstr("/dev/null"));
  EXPECT_EQ(desk.keeper.files(desk.session).file, "") << "what could not be saved has no file";
}

TEST(SessionKeeper, AChangeIsKeptAtOnceWhenIdleAndWithinAMinuteOtherwise) {
  Desk desk;
  const std::string last = desk.places.last;
  desk.keeper.autosave(desk.session, 1000, true);
  EXPECT_EQ(read(last).experiment.problem.n, 8);
  const auto written = std::filesystem::last_write_time(last);
  desk.keeper.autosave(desk.session, 5000, true);
  EXPECT_EQ(std::filesystem::last_write_time(last), written) << "nothing changed";
  desk.session.experiment.problem.n = 9;
  desk.keeper.autosave(desk.session, 6000, false);
  desk.session.experiment.problem.n = 10;
  desk.keeper.autosave(desk.session, 6059.9, false);
  EXPECT_EQ(read(last).experiment.problem.n, 8);
  desk.keeper.autosave(desk.session, 6060, false);
  EXPECT_EQ(read(last).experiment.problem.n, 10);
  desk.session.experiment.problem.n = 11;
  desk.keeper.autosave(desk.session, 6061, false);
  EXPECT_EQ(read(last).experiment.problem.n, 10) << "a minute counts from the change";
  desk.keeper.autosave(desk.session, 6061.5, true);
  EXPECT_EQ(read(last).experiment.problem.n, 11);
}

TEST(SessionKeeper, TheNextWindowGoesOnWithTheFileAndKnowsThatItIsUnsaved) {
  Desk desk;
  setenv("XDG_STATE_HOME", (desk.folder / "x").c_str(), 1);
  SessionKeeper keeper({desk.folder / "x/attoscope/session.json", ""}, desk.session, "");
  keeper.save(desk.session, desk.folder / "mine.json");
  for (const bool changed : {false, true}) {
    if (changed) desk.session.view.show_tiles = true;
    keeper.autosave(desk.session, 0, true);
    std::vector<std::string> remarks;
    const LastSession last = last_session(remarks);
    EXPECT_THAT(remarks, IsEmpty());
    EXPECT_EQ(last.session, desk.session);
    EXPECT_EQ(last.document, desk.folder / "mine.json");
    SessionKeeper next = desk.window(last.document);
    next.observe(last.session);
    EXPECT_EQ(next.files(last.session).file, desk.folder / "mine.json");
    EXPECT_EQ(next.files(last.session).unsaved, changed);
  }
  unsetenv("XDG_STATE_HOME");
  std::filesystem::remove(desk.folder / "mine.json");
  SessionKeeper without = desk.window(desk.folder / "mine.json");
  without.observe(desk.session);
  EXPECT_TRUE(without.files(desk.session).unsaved) << "its file is gone";
}

TEST(SessionKeeper, TwoWindowsKeepEachOthersLastSession) {
  Desk desk;
  desk.keeper.autosave(of_tokens(8), 0, true);
  SessionKeeper other = desk.window();
  EXPECT_EQ(other.autosave(of_tokens(16), 0, true), "");
  EXPECT_EQ(desk.keeper.autosave(of_tokens(9), 0, true),
            "Another window is open: its last session is kept as " + desk.places.last + ".kept.");
  EXPECT_EQ(read(desk.places.last).experiment.problem.n, 9);
  EXPECT_EQ(read(desk.places.last + ".kept").experiment.problem.n, 16);
  other.autosave(of_tokens(17), 0, true);
  EXPECT_EQ(desk.keeper.autosave(of_tokens(10), 0, true), "") << "it is said once";
}

TEST(SessionKeeper, TheRecentOnesNewestFirstAndWhyOneIsGone) {
  Desk desk;
  for (int i = 0; i < 13; ++i) desk.keeper.save(desk.session, desk.folder / (std::to_string(i) + ".json"));
  ASSERT_EQ(desk.recent().size(), SessionKeeper::most_recent);
  EXPECT_EQ(desk.recent().front(), desk.folder / "12.json");
  EXPECT_EQ(desk.recent().back(), desk.folder / "3.json");
  desk.open(desk.folder / "5.json");
  EXPECT_EQ(desk.recent().front(), desk.folder / "5.json");
  EXPECT_EQ(desk.recent().size(), SessionKeeper::most_recent) << "none twice";
  SessionKeeper other = desk.window();
  other.save(desk.session, desk.folder / "others.json");
  std::filesystem::remove(desk.folder / "12.json");
  std::filesystem::remove(desk.folder / "11.json");
  std::filesystem::create_directory(desk.folder / "11.json");
  desk.keeper.look_for_recent();
  const std::vector<RecentSession> recent = desk.keeper.files(desk.session).recent;
  EXPECT_EQ(recent[0].file, desk.folder / "others.json");
  EXPECT_EQ(recent[1].reason, "");
  EXPECT_EQ(recent[2].reason, "It is no longer there.");
  EXPECT_EQ(recent[3].reason, "It is not a file.");
  desk.folder.write("state/recent.json", "{\"schema\":\"attoscope.recent/1\",\"files\":[7,");
  EXPECT_THAT(desk.window().files(desk.session).recent, IsEmpty()) << "a damaged list is begun anew";
}

TEST(SessionKeeper, ADeviceOfThisWindowAloneIsNeverWritten) {
  Desk desk;
  Session session = desk.session;
  session.device = "cpu";
  SessionKeeper keeper(desk.places, session, "", "cuda:0");
  session.device = "cuda:0";
  keeper.observe(session);
  EXPECT_FALSE(keeper.files(session).unsaved);
  keeper.save(session, desk.folder / "x.json");
  EXPECT_EQ(read(desk.folder / "x.json").device, "cpu");
  EXPECT_FALSE(keeper.files(session).unsaved);
  session.device = "auto";  // chosen by hand
  keeper.save(session);
  EXPECT_EQ(read(desk.folder / "x.json").device, "auto");
}

/// Saves one of two sessions after the other until it is killed; tells `started` after the first.
[[noreturn]] void save_for_ever(SessionKeeper& keeper, const Session& x, const Session& y, int started) {
  for (bool first = true;; first = false) {
    keeper.autosave(x, 0, true);
    if (first && write(started, "x", 1) != 1) _exit(1);
    keeper.autosave(y, 0, true);
  }
}

TEST(SessionKeeper, KilledAtAnyMomentItLeavesTheOldFileOrTheNewOne) {
  const Desk desk;
  Session x = of_tokens(100), y = of_tokens(200);
  for (int i = 0; i < 40; ++i) y.pins.push_back({.name = std::string(500, 'y'), .experiment = {}, .thumbnail = {}});
  std::mt19937 dice(7);
  bool seen_x = false, seen_y = false;
  for (int i = 0; i < testing::experiments(32) || !(seen_x && seen_y); ++i) {
    ASSERT_LT(i, 1000) << "it is killed in both";
    int started[2];
    ASSERT_EQ(pipe(started), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      SessionKeeper keeper = desk.window();
      save_for_ever(keeper, x, y, started[1]);
    }
    char told = 0;
    ASSERT_EQ(::read(started[0], &told, 1), 1);
    usleep(dice() % 20000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const int end : started) close(end);
    const Session found = read(desk.places.last);
    EXPECT_TRUE(found == x || found == y) << "after " << i << " kills";
    seen_x |= found == x;
    seen_y |= found == y;
  }
  const SessionKeeper next = desk.window();
  for (const auto& file : std::filesystem::directory_iterator(desk.folder / "state"))
    EXPECT_EQ(file.path().filename().string().find(".part-"), std::string::npos) << "what the dead left is swept up";
}

TEST(Files, WhatTheLivingWriteIsLeftAlone) {
  const TemporaryDirectory scratch;
  const std::string mine = scratch.write("s.json.part-" + std::to_string(getpid()) + "-0", "x");
  const std::string strange = scratch.write("s.json.part-x", "x"), other = scratch.write("t.json.part-1999999999-0", "x");
  const std::string dead = scratch.write("s.json.part-1999999999-0", "x");
  remove_leftovers(scratch / "s.json");
  EXPECT_TRUE(std::filesystem::exists(mine) && std::filesystem::exists(strange) && std::filesystem::exists(other));
  EXPECT_FALSE(std::filesystem::exists(dead));
  remove_leftovers(scratch / "missing/s.json");
}

TEST(Files, KeptAsideUnderAFreeNameAndNeverMoreThanNine) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "s";
  for (int i = 1; i <= 9; ++i) {
    scratch.write("s", std::to_string(i));
    const std::string copy = path + (i == 1 ? ".kept" : ".kept-" + std::to_string(i));
    EXPECT_EQ(keep_aside(path), copy);
    EXPECT_EQ(keep_aside(path), copy) << "the same bytes are kept once";
    std::filesystem::last_write_time(copy,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(i == 4 ? 99 : 10));
  }
  scratch.write("s", "new");
  EXPECT_EQ(keep_aside(path), path + ".kept-4") << "the oldest gives way";
  EXPECT_EQ(bytes_of_file(path + ".kept-4"), "new");
  EXPECT_EQ(keep_aside(scratch / "missing"), "");
}

#ifdef ATTOSCOPE_GUI
TEST(Sessions, RenderDrawsTheOneThatIsNamed) {
  const TemporaryDirectory scratch;
  const std::string picture = scratch / "x.png";
  const auto render = [&](const std::string& session) {
    return testing::attoscope({"render", session, "--out", picture, "--size", "640x400"});
  };
  write_session(scratch / "good.json", of_tokens(16));
  const testing::Outcome good = render(scratch / "good.json");
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(good.out, picture + ": 640 x 400 pixels\n");
  EXPECT_EQ(bytes_of_file(picture).substr(1, 3), "PNG");
  const testing::Outcome newer =
      render(scratch.write("newer.json", R"({"schema":"attoscope.session/2","experiment":{"problem":{"n":9}},"x":1})"));
  EXPECT_EQ(newer.code, 0) << newer.err;
  EXPECT_THAT(newer.out, AllOf(HasSubstr("newer.json: schema is"), HasSubstr("newer.json: x is not a known key")));
  std::filesystem::remove(picture);
  const testing::Outcome damaged = render(scratch.write("damaged.json", "{"));
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.err, AllOf(HasSubstr("damaged.json: is not JSON"), ::testing::EndsWith("\n")));
  EXPECT_FALSE(std::filesystem::exists(picture));
}
#endif

}  // namespace
}  // namespace attoscope
