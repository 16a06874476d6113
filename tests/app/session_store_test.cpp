// Files of sessions: the open file, the autosaved session, the recent files; no change is lost.
#include "app/session/session_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>

#include "app/files/files.h"
#include "app/session/session.h"
#include "tests/app/outcome.h"
#include "tests/support/full_disk.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

Session of_tokens(int n) {
  Session session;
  session.experiment.problem.n = n;
  return session;
}

/// A window's session and files, in a temporary directory.
struct OpenSession {
  const TemporaryDirectory folder;
  const std::string last = folder / "state/session.json";
  SessionStore::Places places{std::make_shared<const Autosave>(last), folder / "state/recent.json"};
  Session session = of_tokens(8);
  SessionStore store{places, session, ""};

  OpenSession() { store.observe(session); }
  /// Another window that starts with this window's session.
  SessionStore window(const std::string& document = {}) const { return {places, session, document}; }
  void open(const std::string& path) {
    session = store.open(SessionStore::read(path));
    store.observe(session);
  }
  std::vector<std::string> recent() const {
    std::vector<std::string> names;
    for (const RecentSession& r : store.files(session).recent) names.push_back(r.file);
    return names;
  }
};

Session read(const std::string& path) {
  std::vector<std::string> remarks;
  Session session = read_session(path, remarks);
  EXPECT_THAT(remarks, IsEmpty());
  return session;
}

TEST(SessionStore, SavesUnderANameAndKnowsWhatIsUnsaved) {
  OpenSession open;
  EXPECT_EQ(open.store.files(open.session).file, "");
  EXPECT_FALSE(open.store.files(open.session).unsaved);
  EXPECT_FALSE(open.store.has_file(open.session));
  EXPECT_THAT(sentence_of([&] { open.store.save(open.session); }), HasSubstr("no file yet"));
  open.session.view.show_tiles = true;
  EXPECT_TRUE(open.store.files(open.session).unsaved);
  EXPECT_EQ(open.store.save(open.session, open.folder / "mine"), "Saved " + (open.folder / "mine.attoscope.json") + ".");
  EXPECT_EQ(open.store.files(open.session).file, open.folder / "mine.attoscope.json");
  EXPECT_FALSE(open.store.files(open.session).unsaved);
  EXPECT_EQ(read(open.folder / "mine.attoscope.json"), open.session);
  open.session.experiment.problem.seed = 9;
  EXPECT_TRUE(open.store.files(open.session).unsaved);
  EXPECT_EQ(read(open.folder / "mine.attoscope.json").experiment.problem.seed, 1u);
  open.store.save(open.session);
  EXPECT_EQ(read(open.folder / "mine.attoscope.json").experiment.problem.seed, 9u);
  EXPECT_FALSE(std::filesystem::exists(open.folder / "mine.attoscope.json.kept")) << "this window saved the overwritten file";
}

TEST(SessionStore, UndoAcrossAnOpenedFileFindsTheEarlierFileAgain) {
  OpenSession open;
  open.store.save(open.session, open.folder / "first.json");
  const Session first = open.session;
  write_file(open.folder / "second.json", session_text(of_tokens(16)));
  open.open(open.folder / "second.json");
  EXPECT_EQ(open.session.experiment.problem.n, 16);
  EXPECT_EQ(open.store.files(open.session).file, open.folder / "second.json");
  EXPECT_FALSE(open.store.files(open.session).unsaved);
  const Session second = open.session;
  open.session = first;  // as after undo
  EXPECT_EQ(open.store.files(open.session).file, open.folder / "first.json");
  open.store.save(open.session);
  EXPECT_EQ(read(open.folder / "second.json").experiment.problem.n, 16) << "the other file is unchanged";
  open.session = open.store.fresh(second);
  open.store.observe(open.session);
  EXPECT_EQ(open.store.files(open.session).file, "");
  EXPECT_EQ(open.session.experiment, first_session().experiment);
  EXPECT_EQ(open.store.files(second).file, open.folder / "second.json");
}

TEST(SessionStore, AnotherWindowsSessionIsKeptBesideAndSaidOnce) {
  OpenSession open;
  const std::string file = open.folder / "shared.json";
  open.store.save(open.session, file);
  SessionStore other = open.window(file);
  EXPECT_EQ(other.save(of_tokens(32)), "Saved " + file + ".");
  EXPECT_EQ(open.store.save(of_tokens(64)),
            "Saved " + file + ". The file that was there, and not opened here, is kept as " + file + ".kept.");
  EXPECT_EQ(read(file).experiment.problem.n, 64);
  EXPECT_EQ(read(file + ".kept").experiment.problem.n, 32);
  EXPECT_EQ(open.store.save(of_tokens(65)), "Saved " + file + ".") << "this window wrote the file last";
}

TEST(SessionStore, SavingOverSomeOtherFileKeepsThat) {
  OpenSession open;
  const std::string poem = open.folder.write("poem.json", "roses are red");
  EXPECT_THAT(open.store.save(open.session, poem), HasSubstr("is kept as " + poem + ".kept."));
  EXPECT_EQ(bytes_of_file(poem + ".kept"), "roses are red");
  EXPECT_EQ(read(poem), open.session);
}

TEST(SessionStore, UnknownKeysAreNotLostBySaving) {
  OpenSession open;
  const std::string text = R"({"schema":"attoscope.session/3","experiment":{"problem":{"n":40}},"orbits":3})";
  const std::string file = open.folder.write("newer.json", text);
  const SessionStore::Read opened = SessionStore::read(file);
  open.session = open.store.open(opened);
  EXPECT_THAT(opened.remarks, ElementsAre(HasSubstr("newer than"), HasSubstr("newer.json: orbits is not a known key")));
  EXPECT_THAT(open.store.save(open.session), HasSubstr(".kept"));
  EXPECT_EQ(bytes_of_file(file + ".kept"), text);
  EXPECT_EQ(read(file).experiment.problem.n, 40);
}

TEST(SessionStore, ADamagedFileIsOneSentenceAndNothingChanges) {
  OpenSession open;
  const std::string file = open.folder.write("bad.json", "{\"schema\": ");
  EXPECT_THAT(sentence_of([&] { SessionStore::read(file); }), AllOf(HasSubstr("bad.json"), HasSubstr("is not JSON")));
  EXPECT_EQ(bytes_of_file(file), "{\"schema\": ");
  EXPECT_EQ(open.store.files(open.session).file, "");
  EXPECT_THAT(open.recent(), IsEmpty());
  EXPECT_THAT(sentence_of([&] { open.store.save(open.session, "/dev/null/x.json"); }), HasSubstr("/dev/null"));
  EXPECT_EQ(open.store.files(open.session).file, "") << "an unsaved session has no file";
}

TEST(SessionStore, AChangeIsKeptAtOnceWhenIdleAndWithinAMinuteOtherwise) {
  OpenSession open;
  const std::string last = open.last;
  open.store.autosave(open.session, 1000, true);
  EXPECT_EQ(read(last).experiment.problem.n, 8);
  const auto written = std::filesystem::last_write_time(last);
  open.store.autosave(open.session, 5000, true);
  EXPECT_EQ(std::filesystem::last_write_time(last), written) << "nothing changed";
  open.session.experiment.problem.n = 9;
  open.store.autosave(open.session, 6000, false);
  open.session.experiment.problem.n = 10;
  open.store.autosave(open.session, 6059.9, false);
  EXPECT_EQ(read(last).experiment.problem.n, 8);
  open.store.autosave(open.session, 6060, false);
  EXPECT_EQ(read(last).experiment.problem.n, 10);
  open.session.experiment.problem.n = 11;
  open.store.autosave(open.session, 6061, false);
  EXPECT_EQ(read(last).experiment.problem.n, 10) << "the minute counts from the change";
  open.store.autosave(open.session, 6061.5, true);
  EXPECT_EQ(read(last).experiment.problem.n, 11);
}

TEST(SessionStore, TheNextWindowGoesOnWithTheFileAndKnowsThatItIsUnsaved) {
  OpenSession open;
  SessionStore& store = open.store;
  store.save(open.session, open.folder / "mine.json");
  for (const bool changed : {false, true}) {
    if (changed) open.session.view.show_tiles = true;
    store.autosave(open.session, 0, true);
    std::vector<std::string> remarks;
    const LastSession last = last_session(open.last, remarks);
    EXPECT_THAT(remarks, IsEmpty());
    EXPECT_EQ(last.session, open.session);
    EXPECT_EQ(last.document, open.folder / "mine.json");
    SessionStore next = open.window(last.document);
    next.observe(last.session);
    EXPECT_EQ(next.files(last.session).file, open.folder / "mine.json");
    EXPECT_EQ(next.files(last.session).unsaved, changed);
  }
  std::filesystem::remove(open.folder / "mine.json");
  SessionStore without = open.window(open.folder / "mine.json");
  without.observe(open.session);
  EXPECT_TRUE(without.files(open.session).unsaved) << "the file does not exist any more";
}

/// The text is deleted between, so that a second search would not find it.
TEST(SessionStore, FilesOfTheSessionAreSearchedOnce) {
  OpenSession open;
  const std::string file = open.folder / "mine.json", text = open.folder.write("text.txt", "x");
  open.session.train.text.file = open.folder / "gone/text.txt";
  open.store.save(open.session, file);
  open.session = read(file);
  EXPECT_EQ(open.session.train.text.file, text);
  std::filesystem::remove(text);
  EXPECT_FALSE(open.window(file).files(open.session).unsaved);
}

TEST(Autosave, EachWindowHasItsOwnAndTheNextTakesTheNewest) {
  const TemporaryDirectory folder;
  const std::string path = folder / "state/session.json";
  auto first = std::make_optional<Autosave>(path), second = std::make_optional<Autosave>(path);
  EXPECT_EQ(first->file(), path);
  EXPECT_EQ(second->file(), folder / "state/session-2.json");
  using namespace std::chrono_literals;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& [own, age] : {std::pair(&*first, 2h), std::pair(&*second, 1h)}) {
    write_file(own->file(), "x");
    std::filesystem::last_write_time(own->file(), now - age);
  }
  EXPECT_THAT(autosaves(path), ElementsAre(second->file(), first->file())) << "newest first";
  first.reset();
  EXPECT_EQ(Autosave(path).file(), path) << "the second autosave is in use";
  second.reset();
  EXPECT_EQ(Autosave(path).file(), folder / "state/session-2.json") << "takes the newest autosave";
  EXPECT_EQ(Autosave(path, true).file(), folder / "state/session-3.json") << "a window with another file gets a new one";
}

TEST(Autosave, OfTooManyTheOldestIsTakenAndNoneThatIsInUse) {
  const TemporaryDirectory folder;
  std::vector<Autosave> all;
  for (int i = 0; i < Autosave::most; ++i) {
    all.emplace_back(folder / "s.json");
    write_file(all.back().file(), "x");
  }
  EXPECT_THAT(sentence_of([&] { Autosave(folder / "s.json"); }), HasSubstr("64 windows are open"));
  const std::string freed = all[5].file();
  all.erase(all.begin() + 5);
  EXPECT_EQ(Autosave(folder / "s.json", true).file(), freed);
}

TEST(LastSession, AFileThatCannotBeCopiedAsideStays) {
  const TemporaryDirectory folder;
  const std::string precious = R"({"schema": "attoscope.session/2", "precious": ")" + std::string(5000, 'p') + "\"}",
                    file = folder.write("session.json", precious);
  std::vector<std::string> remarks;
  const FullDisk disk(1000);
  EXPECT_TRUE(last_session(file, remarks).stays);
  EXPECT_THAT(remarks, ::testing::Contains(HasSubstr("It cannot be copied now, and stays.")));
  EXPECT_EQ(bytes_of_file(file), precious);
  EXPECT_FALSE(std::filesystem::exists(file + ".kept")) << "no partial copy is left";
}

TEST(SessionStore, AChangeThatCouldNotBeWrittenIsWrittenOnceThereIsRoom) {
  OpenSession open;
  open.store.autosave(open.session, 0, true);
  open.session.experiment.problem.seed = 42;
  open.store.autosave(open.session, 1, false);
  {
    const FullDisk disk(100);
    EXPECT_THAT(sentence_of([&] { open.store.autosave(open.session, 62, false); }), HasSubstr("No space left"));
    EXPECT_TRUE(open.store.unkept());
    EXPECT_NO_THROW(open.store.autosave(open.session, 63, true)) << "the failed write is not repeated at every frame";
    EXPECT_THAT(sentence_of([&] { open.store.close(open.session); }), HasSubstr("No space left"));
  }
  EXPECT_EQ(read(open.last).experiment.problem.seed, 1u);
  open.store.autosave(open.session, 62 + SessionStore::retried_after, false);
  EXPECT_EQ(read(open.last).experiment.problem.seed, 42u);
  EXPECT_FALSE(open.store.unkept());
}

TEST(SessionStore, TheRecentOnesNewestFirstAndWhyOneIsGone) {
  OpenSession open;
  for (int i = 0; i < 13; ++i) open.store.save(open.session, open.folder / (std::to_string(i) + ".json"));
  ASSERT_EQ(open.recent().size(), SessionStore::most_recent);
  EXPECT_EQ(open.recent().front(), open.folder / "12.json");
  EXPECT_EQ(open.recent().back(), open.folder / "3.json");
  open.open(open.folder / "5.json");
  EXPECT_EQ(open.recent().front(), open.folder / "5.json");
  EXPECT_EQ(open.recent().size(), SessionStore::most_recent) << "no file is listed twice";
  SessionStore other = open.window();
  other.save(open.session, open.folder / "others.json");
  std::filesystem::remove(open.folder / "12.json");
  std::filesystem::remove(open.folder / "11.json");
  std::filesystem::create_directory(open.folder / "11.json");
  open.store.look_for_recent();
  const std::vector<RecentSession> recent = open.store.files(open.session).recent;
  EXPECT_EQ(recent[0].file, open.folder / "others.json");
  EXPECT_EQ(recent[1].reason, "");
  EXPECT_EQ(recent[2].reason, "It is no longer there.");
  EXPECT_EQ(recent[3].reason, "It is not a file.");
  open.folder.write("state/recent.json", "{\"schema\":\"attoscope.recent/1\",\"files\":[7,");
  EXPECT_THAT(open.window().files(open.session).recent, IsEmpty()) << "a damaged list starts empty";
}

TEST(SessionStore, ADeviceOfThisWindowAloneIsNeverWritten) {
  OpenSession open;
  Session session = open.session;
  session.device = "cpu";
  SessionStore store(open.places, session, "", "cuda:0");
  session.device = "cuda:0";
  store.observe(session);
  EXPECT_FALSE(store.files(session).unsaved);
  store.save(session, open.folder / "x.json");
  EXPECT_EQ(read(open.folder / "x.json").device, "cpu");
  EXPECT_FALSE(store.files(session).unsaved);
  session.device = "auto";  // chosen by the user
  store.save(session);
  EXPECT_EQ(read(open.folder / "x.json").device, "auto");
}

/// Runs `work(told)` in a child process, which writes a byte to `told` after each round and never ends; kills it after a random
/// number of rounds plus up to `microseconds`.
template <class Work>
void work_until_killed(Work work, std::mt19937& dice, unsigned microseconds) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) work(told[1]);
  char byte = 0;
  for (unsigned rounds = 1 + dice() % 4; rounds > 0; --rounds) ASSERT_EQ(::read(told[0], &byte, 1), 1);
  usleep(dice() % microseconds);  // into the next round
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int end : told) close(end);
}

/// Saves two sessions alternately until the process is killed; writes a byte to `told` after each save.
[[noreturn]] void save_for_ever(SessionStore& store, const Session& x, const Session& y, int told) {
  for (bool turn_of_x = true;; turn_of_x = !turn_of_x) {
    store.autosave(turn_of_x ? x : y, 0, true);
    if (write(told, "x", 1) != 1) _exit(1);
  }
}

TEST(SessionStore, KilledAtAnyMomentItLeavesTheOldFileOrTheNewOne) {
  const OpenSession open;
  Session x = of_tokens(100), y = of_tokens(200);
  for (int i = 0; i < 40; ++i) y.pins.push_back({.name = std::string(500, 'y'), .experiment = {}, .thumbnail = {}});
  std::mt19937 dice(7);
  bool seen_x = false, seen_y = false;
  for (int i = 0; i < testing::experiments(32) || !(seen_x && seen_y); ++i) {
    ASSERT_LT(i, 1000) << "both sessions must be found after a kill";
    const auto work = [&](int told) {
      SessionStore store = open.window();
      save_for_ever(store, x, y, told);
    };
    ASSERT_NO_FATAL_FAILURE(work_until_killed(work, dice, 4000));
    const Session found = read(open.last);
    EXPECT_TRUE(found == x || found == y) << "after " << i << " kills";
    seen_x |= found == x;
    seen_y |= found == y;
  }
  const SessionStore next = open.window();
  for (const auto& file : std::filesystem::directory_iterator(open.folder / "state"))
    EXPECT_EQ(file.path().filename().string().find(".part-"), std::string::npos) << "leftovers of killed processes are removed";
}

TEST(Files, FilesOfLivingProcessesAreLeftAlone) {
  const TemporaryDirectory scratch;
  const std::string part = "s.json.part-" + std::to_string(getpid());
  const std::string strange = scratch.write("s.json.part-x", "x"), other = scratch.write("t.json.part-1999999999-0", "x");
  const std::string of_no_process = scratch.write("s.json.part-1999999999-0", "x"),
                    of_this_id = scratch.write(part + "-9", "x");
  StagedFiles living;
  living.add(scratch / "s.json", "x");
  EXPECT_FALSE(std::filesystem::exists(of_no_process) || std::filesystem::exists(of_this_id)) << "nobody writes them";
  // a writer in another container, where the id of no process here is its own
  const std::string far = scratch.write("s.json.part-1999999998-0", "x");
  const Descriptor lock(::open(far.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  remove_leftovers(scratch / "s.json");
  for (const std::string& file : {scratch / (part + "-0"), far, strange, other})
    EXPECT_TRUE(std::filesystem::exists(file)) << file;
  remove_leftovers(scratch / "missing/s.json");
}

TEST(Files, AFolderOfOldFilesWhoseWriterLivesIsLeftAlone) {
  const TemporaryDirectory scratch;
  const LockedPath aside = make_locked_folder(scratch / ".attoscope-replaced-");
  std::filesystem::create_directory(scratch / ".attoscope-replaced-1999999999-0");
  for (const std::string& folder : {aside.path, scratch / ".attoscope-replaced-1999999999-0"})
    std::ofstream(folder + (folder == aside.path ? "/a" : "/b")) << "old";
  remove_leftovers(scratch / "s.json");
  EXPECT_FALSE(std::filesystem::exists(scratch / "a"));
  EXPECT_EQ(bytes_of_file(scratch / "b"), "old") << "restored, as its writer was killed";
}

TEST(Files, KeptAsideUnderAFreeNameAndNeverOverAnEarlierOne) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "s";
  for (int i = 1; i <= 12; ++i) {
    scratch.write("s", std::to_string(i));
    const std::string copy = path + (i == 1 ? ".kept" : ".kept-" + std::to_string(i));
    EXPECT_EQ(keep_aside(path), copy);
    EXPECT_EQ(keep_aside(path), copy) << "the same bytes are copied once";
  }
  EXPECT_EQ(bytes_of_file(path + ".kept"), "1");
  EXPECT_EQ(keep_aside(scratch / "missing"), "");
}

TEST(Files, ACopyThatDoesNotFitIsNotLeft) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("s", std::string(1000, 's'));
  for (const int room : {0, 1, 999}) {
    const FullDisk disk(room);
    EXPECT_EQ(keep_aside(path), "");
    EXPECT_EQ(scratch.count(), 1);
  }
}

TEST(Files, AWrittenFileRemovesTheRestsOfDeadProcesses) {
  const TemporaryDirectory scratch;
  scratch.write("s.json.part-1999999999-3", "x");
  write_file(scratch / "s.json", "new");
  EXPECT_EQ(scratch.count(), 1);
}

TEST(Files, AFileThatIsReplacedKeepsItsMode) {
  const TemporaryDirectory scratch;
  const std::string path = scratch.write("a", "old");
  using std::filesystem::perms;
  for (const perms mode : {perms::owner_read | perms::owner_write, perms(0640), perms(0666)}) {
    std::filesystem::permissions(path, mode);
    write_file(path, "new");
    EXPECT_EQ(std::filesystem::status(path).permissions(), mode);
  }
}

/// Writes two sets of files alternately until the process is killed; writes a byte to `told` after each set.
[[noreturn]] void replace_for_ever(const TemporaryDirectory& folder, int told) {
  for (char set = 'x';; set = set == 'x' ? 'y' : 'x') {
    StagedFiles files;
    for (const char* const name : {"f.pdf", "f.csv", "f.gp", "f.json"}) files.add(folder / name, std::string(100, set));
    files.commit();
    if (write(told, "x", 1) != 1) _exit(1);
  }
}

TEST(Files, ASetNeverMixesWithAnEarlierOneWhenItIsKilled) {
  const TemporaryDirectory folder;
  std::mt19937 dice(11);
  for (int i = 0; i < testing::experiments(80); ++i) {
    ASSERT_NO_FATAL_FAILURE(work_until_killed([&](int told) { replace_for_ever(folder, told); }, dice, 400));
    std::set<std::string> contents;
    for (const char* const name : {"f.pdf", "f.csv", "f.gp", "f.json"})
      if (std::filesystem::exists(folder / name)) contents.insert(bytes_of_file(folder / name));
    EXPECT_LE(contents.size(), 1u) << "after " << i << " kills";
    contents.clear();
    remove_leftovers(folder / "f.pdf");
    for (const char* const name : {"f.pdf", "f.csv", "f.gp", "f.json"}) {
      EXPECT_TRUE(std::filesystem::exists(folder / name)) << name << " after " << i << " kills: the old set is restored";
      contents.insert(bytes_of_file(folder / name));
    }
    EXPECT_EQ(contents.size(), 1u) << "after " << i << " kills";
    for (const char* const name : {"f.csv", "f.gp", "f.json"}) remove_leftovers(folder / name);
    EXPECT_EQ(folder.count(), 4);
  }
}

#ifdef ATTOSCOPE_GUI
TEST(Sessions, RenderDrawsTheOneThatIsNamed) {
  const TemporaryDirectory scratch;
  const std::string picture = scratch / "x.png";
  const auto render = [&](const std::string& name, const std::string& text) -> std::vector<std::string> {
    return {"render", scratch.write(name, text), "--out", picture, "--size", "640x400"};
  };
  EXPECT_EQ(output_of(render("good.json", session_text(of_tokens(16)))), picture + ": 640 x 400 pixels\n");
  EXPECT_EQ(bytes_of_file(picture).substr(1, 3), "PNG");
  const std::string newer = R"({"schema":"attoscope.session/2","experiment":{"problem":{"n":9}},"x":1})";
  EXPECT_THAT(output_of(render("newer.json", newer)),
              AllOf(HasSubstr("newer.json: schema is"), HasSubstr("newer.json: x is not a known key")));
  std::filesystem::remove(picture);
  expect_refused(render("damaged.json", "{"), 1, "damaged.json: is not JSON");
  EXPECT_FALSE(std::filesystem::exists(picture));
}
#endif

}  // namespace
}  // namespace attoscope
