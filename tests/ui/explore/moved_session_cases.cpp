// Moved sessions in the window: saved with their tensors, files located, points tried again, changed files reported.
#include <filesystem>

#include "app/files/files.h"
#include "app/files/zip.h"
#include "app/session/session.h"
#include "app/tensors/npy.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/rules.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

namespace fs = std::filesystem;

constexpr int file_rows = 32, file_columns = 8;

std::string write_matrix(const TemporaryDirectory& place, const char* name, std::uint64_t seed) {
  Dice dice(seed);
  std::vector<double> x(file_rows * file_columns);
  for (double& value : x) value = dice.normal();
  return place.write(name, npy_bytes(file_rows, file_columns, x.data()));
}

/// A session on files of this folder.
Session session_on_files(const TemporaryDirectory& place) {
  Session s = small_session();
  s.experiment.problem.input = parse_input(write_matrix(place, "q.npy", 1) + "," + write_matrix(place, "k.npy", 2) + "," +
                                           write_matrix(place, "v.npy", 3));
  load_tensors(s.experiment.problem.input);
  s.experiment.problem = fitted(s.experiment.problem, s.experiment.problem.input.tensors->shape());
  s.sweep.first = {"block_k", "8,16"};
  s.sweep.seeds = 1;
  return s;
}

ChoicesInput choices_of(const Hand& hand) { return hand.stage.panel_input().choices; }

void open_file(Hand& hand, const std::string& file) {
  open_files({file}, hand.stage.context());
  hand.frames(3);
}

CASE(moved_session, save_with_its_tensors) {
  hand.open(session_on_files(hand.folder));
  hand.settle();
  const std::uint64_t digest = hand.experiment().problem.input.digest;
  const std::string packed = hand.folder.write("shared.attoscope.zip", "an earlier one"), kept = packed + ".kept";
  hand.click(top_bar + "###session");
  hand.frames(2);
  hand.pick("##pack");
  hand.frames(3);
  hand.fill("//$FOCUSED/##path", packed);
  hand.await("the archive is written", [&] { return has(hand.notice(), "is kept as " + kept); });
  hand.check(read_file(kept, 100) == "an earlier one", "the file that was there is kept");
  for (const char* const name : {"q.npy", "k.npy", "v.npy"}) fs::remove(hand.folder / name);
  hand.open(small_session());
  open_file(hand, packed);
  hand.await("it opens without the files", [&] { return hand.experiment().problem.input.tensors != nullptr; });
  hand.check(hand.experiment().problem.input.digest == digest, "with the same bits");
  hand.check(choices_of(hand).changed_text.empty(), "nothing has changed");
}

CASE(moved_session, locate_and_try_again) {
  const TemporaryDirectory there;
  const Session s = session_on_files(hand.folder);
  const std::string file = there.write("s.json", session_text(s));
  fs::create_directory(there / "data");
  for (const char* const name : {"q.npy", "k.npy", "v.npy"})
    fs::rename(hand.folder / name, there / (std::string("data/") + name));
  open_file(hand, file);
  hand.await("says which file is missing", [&] { return choices_of(hand).missing == hand.folder / "q.npy"; });
  hand.check(has(choices_of(hand).missing_text, hand.folder / "q.npy") && has(choices_of(hand).missing_text, "digest"),
             "the text names the file and its digest: " + choices_of(hand).missing_text);
  hand.check(hand.session().sweep.first.values == "8,16", "the rest of the session is there");
  hand.show(&View::workspace, Workspace::sweep, 4);
  hand.click_at_rest("//Sweep picture/###run sweep");
  const auto progress = [&] { return hand.stage.panel_input().sweep.progress; };
  hand.await("no point can be computed", [&] { return progress().failed == 2; });
  hand.check(!hand.disabled("//Sweep picture/###run sweep"), "the sweep can be tried again");
  hand.key(ImGuiKey_R);
  hand.await("the points fail again", [&] { return progress().failed == 2 && progress().done == 2; });
  hand.show(&View::workspace, Workspace::explore, 4);
  hand.click(controls + "###locate");
  hand.frames(3);
  hand.fill("//$FOCUSED/##path", there / "data/q.npy");
  hand.await("the files in the folder are found", [&] { return hand.experiment().problem.input.tensors != nullptr; });
  hand.check(hand.experiment().problem.input.digest == s.experiment.problem.input.digest, "the same bits");
  hand.show(&View::workspace, Workspace::sweep, 4);
  hand.key(ImGuiKey_R);
  hand.await("now every point is computed", [&] { return progress().done == 2 && progress().failed == 0; });
}

CASE(moved_session, failed_points_are_tried_again_when_the_file_is_back) {
  const std::string file = hand.folder.write("s.json", session_text(session_on_files(hand.folder)));
  fs::rename(hand.folder / "v.npy", hand.folder / "away");
  open_file(hand, file);
  hand.await("a file is missing", [&] { return choices_of(hand).missing == hand.folder / "v.npy"; });
  open_file(hand, hand.folder / "absent.npy");
  hand.expect_error("absent.npy");
  hand.show(&View::workspace, Workspace::sweep, 4);
  hand.click_at_rest("//Sweep picture/###run sweep");
  const auto progress = [&] { return hand.stage.panel_input().sweep.progress; };
  hand.await("no point can be computed", [&] { return progress().failed == 2; });
  fs::rename(hand.folder / "away", hand.folder / "v.npy");
  hand.await("the returned file is read", [&] { return choices_of(hand).missing.empty(); });
  hand.click_at_rest("//Sweep picture/###run sweep");
  hand.await("the file is back", [&] { return progress().done == 2 && progress().failed == 0; });
}

CASE(moved_session, a_changed_tensor_is_said) {
  const std::string file = hand.folder.write("s.json", session_text(session_on_files(hand.folder)));
  write_matrix(hand.folder, "v.npy", 4);
  open_file(hand, file);
  hand.await("the input shows the change", [&] { return !choices_of(hand).changed_text.empty(); });
  const std::string text = choices_of(hand).changed_text;
  hand.check(has(text, hand.folder / "v.npy") && !has(text, "q.npy"), text);
  hand.check(has(hand.notice(), "v.npy"), "the notice names the file: " + hand.notice());
  hand.settle();
  hand.check(!choices_of(hand).changed_text.empty(), "the text stays");
}

}  // namespace
}  // namespace attoscope::testing
