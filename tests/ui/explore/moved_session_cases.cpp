// Sessions that travel, in the window: saved with their tensors, located again, tried again, and told of changes.
#include <filesystem>

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

const ChoicesInput& choices_on_screen(const Hand& hand, std::optional<PanelInput>& kept) {
  kept = hand.stage.panel_input();
  return kept->choices;
}

void open_file(Hand& hand, const std::string& file) {
  open_files({file}, hand.stage.context());
  hand.frames(3);
}

CASE(moved_session, save_with_its_tensors) {
  const TemporaryDirectory here;
  hand.open(session_on_files(here));
  hand.settle();
  const std::uint64_t digest = hand.experiment().problem.input.digest;
  const std::string packed = here / "shared.attoscope.zip";
  hand.click(top_bar + "###session");
  hand.frames(2);
  hand.pick("##pack");
  hand.frames(3);
  hand.fill("//$FOCUSED/##path", packed);
  hand.await("the archive is written", [&] { return fs::exists(packed); });
  for (const char* const name : {"q.npy", "k.npy", "v.npy"}) fs::remove(here / name);
  hand.open(small_session());
  open_file(hand, packed);
  hand.await("it opens without the files", [&] { return hand.experiment().problem.input.tensors != nullptr; });
  hand.check(hand.experiment().problem.input.digest == digest, "with the same bits");
  std::optional<PanelInput> kept;
  hand.check(choices_on_screen(hand, kept).changed_text.empty(), "nothing has changed");
}

CASE(moved_session, locate_and_try_again) {
  const TemporaryDirectory here, there;
  const Session s = session_on_files(here);
  const std::string file = there.write("s.json", session_text(s));
  fs::create_directory(there / "data");
  for (const char* const name : {"q.npy", "k.npy", "v.npy"}) fs::rename(here / name, there / (std::string("data/") + name));
  hand.open(small_session());
  open_file(hand, file);
  std::optional<PanelInput> kept;
  hand.await("says which file is missing", [&] { return choices_on_screen(hand, kept).missing == here / "q.npy"; });
  hand.check(choices_on_screen(hand, kept).missing_text.find(here / "q.npy") != std::string::npos &&
                 choices_on_screen(hand, kept).missing_text.find("digest") != std::string::npos,
             "names it and its digest: " + choices_on_screen(hand, kept).missing_text);
  hand.check(hand.session().sweep.first.values == "8,16", "the rest of the session is there");
  hand.view().workspace = Workspace::sweep;
  hand.frames(4);
  hand.click_at_rest("//Sweep picture/###run sweep");
  const auto progress = [&] { return hand.stage.panel_input().sweep.progress; };
  hand.await("no point can be computed", [&] { return progress().failed == 2; });
  hand.check(!hand.disabled("//Sweep picture/###run sweep"), "but tried again");
  hand.key(ImGuiKey_R);
  hand.await("and they fail again", [&] { return progress().failed == 2 && progress().done == 2; });
  hand.view().workspace = Workspace::explore;
  hand.frames(4);
  hand.click(controls + "###locate");
  hand.frames(3);
  hand.fill("//$FOCUSED/##path", there / "data/q.npy");
  hand.await("is found, with those beside it", [&] { return hand.experiment().problem.input.tensors != nullptr; });
  hand.check(hand.experiment().problem.input.digest == s.experiment.problem.input.digest, "the same bits");
  hand.view().workspace = Workspace::sweep;
  hand.frames(4);
  hand.key(ImGuiKey_R);
  hand.await("now every point is computed", [&] { return progress().done == 2 && progress().failed == 0; });
}

CASE(moved_session, failed_points_are_tried_again_when_the_file_is_back) {
  const TemporaryDirectory here;
  const std::string file = here.write("s.json", session_text(session_on_files(here)));
  fs::rename(here / "v.npy", here / "away");
  hand.open(small_session());
  open_file(hand, file);
  std::optional<PanelInput> kept;
  hand.await("a file is missing", [&] { return choices_on_screen(hand, kept).missing == here / "v.npy"; });
  open_file(hand, here / "absent.npy");
  hand.expect_error("absent.npy");
  hand.view().workspace = Workspace::sweep;
  hand.frames(4);
  hand.click_at_rest("//Sweep picture/###run sweep");
  const auto progress = [&] { return hand.stage.panel_input().sweep.progress; };
  hand.await("no point can be computed", [&] { return progress().failed == 2; });
  fs::rename(here / "away", here / "v.npy");
  hand.await("it is read when it is back", [&] { return choices_on_screen(hand, kept).missing.empty(); });
  hand.click_at_rest("//Sweep picture/###run sweep");
  hand.await("the file is back", [&] { return progress().done == 2 && progress().failed == 0; });
}

CASE(moved_session, a_changed_tensor_is_said) {
  const TemporaryDirectory here;
  const std::string file = here.write("s.json", session_text(session_on_files(here)));
  write_matrix(here, "v.npy", 4);
  hand.open(small_session());
  open_file(hand, file);
  std::optional<PanelInput> kept;
  hand.await("is said at the input", [&] { return !choices_on_screen(hand, kept).changed_text.empty(); });
  const std::string text = choices_on_screen(hand, kept).changed_text;
  hand.check(text.find(here / "v.npy") != std::string::npos && text.find("q.npy") == std::string::npos, text);
  hand.check(kept->messages.notice.find("v.npy") != std::string::npos, "and below: " + kept->messages.notice);
  hand.settle();
  hand.check(!choices_on_screen(hand, kept).changed_text.empty(), "and stays");
}

}  // namespace
}  // namespace attoscope::testing
