// Undo and redo, copy and paste, the shipped experiments, and answers that come in two parts.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "app/files/files.h"
#include "app/session/session.h"
#include "kernels/compute.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/office.h"
#include "ui/commands/bars.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/progress.h"

namespace attoscope::testing::session_cases {
namespace {

constexpr int redo_key = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z;

CASE(session, undo_everything) {
  const std::vector<std::function<void()>> acts{
      [&] { hand.click(controls + "mask/causal"); },
      [&] { hand.choose(controls + "a/##algorithm", "flash4"); },
      [&] { hand.click(controls + "a/P"); },
      [&] { hand.click(heatmap + "###scale"); },
      [&] { hand.press(hand.place(heatmap + "picture", 0.5f, 0.5f)), hand.frames(40); },
      [&] { hand.click(strip + "###previous tile"); },
      [&] { hand.fill(controls + "##seed", "1234567"); },
      [&] { hand.drag(hand.place(controls + "##N", 0.3f), hand.place(controls + "##N", 0.5f)); },
  };
  std::vector<Session> seen{hand.session()};
  for (const auto& act : acts) {
    act();
    hand.settle();
    hand.check(!(hand.session() == seen.back()), "act " + std::to_string(seen.size()) + " changes something");
    seen.push_back(hand.session());
  }
  for (std::size_t i = seen.size() - 1; i-- > 0;)
    hand.changes("undo to " + std::to_string(i), [&] { hand.key(undo_key); }, [&](Session& s) { s = seen[i]; });
  hand.leaves("nothing is left to undo", [&] { hand.key(undo_key); });
  for (std::size_t i = 1; i < seen.size(); ++i)
    hand.key(i % 2 ? redo_key : ImGuiMod_Ctrl | ImGuiKey_Y, [&](Session& s) { s = seen[i]; });
  hand.leaves("nothing is left to redo", [&] { hand.key(redo_key); });
}

/// Theme, scale and zooms are no steps of undo: undo skips them, keeps theme and scale, and restores the zoom.
CASE(session, undo_goes_past_theme_and_zoom) {
  const auto zoom = [&] { return hand.view().zoom; };
  hand.click(controls + "mask/causal", settled);
  hand.wheel(hand.place(heatmap + "picture", 0.4f, 0.4f), 3);
  hand.frames(40);
  const CellRect near = zoom();
  hand.check(!(near == CellRect{}), "the picture is zoomed");
  hand.key(ImGuiKey_T);
  hand.key(ImGuiKey_Equal);
  hand.frames(3);
  const Theme theme = hand.view().theme;
  const double scale = hand.view().ui_scale;
  hand.check(theme != small_session().view.theme && scale > 1, "another theme, larger");
  hand.choose(controls + "a/##algorithm", "flash4", settled);
  const Session last = hand.session();
  hand.key(undo_key, settled);
  hand.check(hand.experiment().a.algorithm == Algorithm::flash2 && zoom() == near, "one step back is the algorithm alone");
  hand.key(undo_key, settled);
  hand.check(hand.experiment() == small_session().experiment, "the next one is the mask");
  hand.check(hand.view().theme == theme && hand.view().ui_scale == scale, "theme and scale stay");
  hand.leaves("nothing is left to undo", [&] { hand.key(undo_key); });
  hand.key(redo_key);
  hand.key(redo_key, settled);
  hand.check(hand.session() == last, "redo comes back to all of it");
}

/// The row that the program chooses for a new session is no step of undo.
CASE(session, undo_goes_past_a_chosen_row) {
  const Experiment before = hand.experiment();
  hand.key(ImGuiMod_Ctrl | ImGuiKey_N, settled);
  hand.check(hand.experiment().problem.traced_row != Problem{}.traced_row, "the row with most moves of m is traced");
  hand.key(undo_key);
  hand.check(hand.experiment() == before, "one undo returns to the session before");
}

CASE(session, undo_buttons) {
  const auto mask = [](Mask::Kind kind) { return [kind](Session& s) { s.experiment.problem.mask.kind = kind; }; };
  hand.check(hand.disabled(top_bar + "###undo") && hand.disabled(top_bar + "###redo"), "there is nothing to undo");
  hand.each({{controls + "mask/causal", mask(Mask::Kind::causal)},
             {top_bar + "###undo", mask(Mask::Kind::none)},
             {top_bar + "###redo", mask(Mask::Kind::causal)},
             {top_bar + "###undo", mask(Mask::Kind::none)}});
  hand.click(controls + "a/P");
  hand.check(hand.disabled(top_bar + "###redo"), "a change discards undone steps");
}

/// Clicks a line of the menu of sessions.
void in_menu(Hand& hand, const std::string& line) {
  hand.click(top_bar + "###session");
  hand.frames(2);
  hand.pick(line);
}

CASE(session, copy_and_paste) {
  hand.click(controls + "mask/causal");
  hand.choose(controls + "a/##algorithm", "split_kv");
  const Session copied = hand.session();
  hand.leaves("copy", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_C); });
  hand.check(!hand.notice().empty(), "says that it was copied");
  std::vector<std::string> remarks;
  hand.check(parse_session(ImGui::GetClipboardText(), remarks) == copied && remarks.empty(), "the clipboard holds the session");
  hand.open(small_session());
  hand.view().theme = Theme::light;
  hand.key(ImGuiMod_Ctrl | ImGuiKey_V, [&](Session& s) { s = copied, s.view.theme = Theme::light; });
  hand.key(undo_key, [](Session& s) { s = small_session(), s.view.theme = Theme::light; });
  ImGui::SetClipboardText("a poem");
  hand.leaves("text that is no session", [&] { in_menu(hand, "###paste"); });
  hand.check(hand.error().starts_with("The clipboard"), "is refused: " + hand.error());
}

CASE(session, keys_in_a_text_field) {
  hand.leaves("keys of commands in a text field", [&] {
    hand.click(controls + "##input");
    hand.pick("open a file ...");
    hand.fill("//$FOCUSED/##path", "");
    for (const int key : {ImGuiKey_C, ImGuiKey_V, ImGuiKey_Z}) hand.key(ImGuiMod_Ctrl | key);
    for (const ImGuiKey key : {ImGuiKey_T, ImGuiKey_5, ImGuiKey_Escape, ImGuiKey_Escape}) hand.key(key);
  });
}

CASE(session, presets) {
  const ProbeEntries probes = hand.stage.panel_input().choices.probes;
  if (!hand.check(probes && probes->size() >= 10, "the shipped experiments are there")) return;
  for (const ProbeEntry& p : *probes) {
    if (static_cast<double>(p.experiment.problem.n) * p.experiment.problem.n * p.experiment.problem.d > 1e8) continue;
    hand.click(top_bar + "###presets");
    hand.pick("##" + p.name);
    hand.settle();
    Experiment expected = p.experiment;
    expected.problem.input.digest = hand.experiment().problem.input.digest;
    hand.check(hand.experiment() == expected, p.name + " is opened");
    hand.check(hand.exists(heatmap + "###dismiss"), p.name + " has its sentence");
  }
  hand.leaves("closing the sentence", [&] { hand.click(heatmap + "###dismiss"); });
  hand.frames(2);
  hand.check(!hand.exists(heatmap + "###dismiss"), "the sentence is gone");
}

/// The answer to `experiment` from some of its rows.
PanelInput first_of(const Experiment& experiment, int rows) {
  Experiment part = experiment;
  part.problem.rows = rows;
  Result result = compute(part);
  result.experiment = experiment;
  PanelInput input;
  input.answer.computing = true;
  input.answer.computing_seconds = 0.5;
  input.answer.result = std::make_shared<const Result>(std::move(result));
  return input;
}

/// The row of Q under a point of the picture, as a click pins it.
int pinned_row(Hand& hand, float y) {
  hand.frames(40);
  hand.view().cell_row = hand.view().cell_col = -1;
  hand.press(hand.place(heatmap + "picture", 0.52f, y));
  return hand.view().cell_row;
}

/// The axes are as long as all rows before all rows are there; zoom and clicks count rows of Q.
CASE(session, an_answer_in_two_parts) {
  Session session = small_session();
  session.experiment.problem.n = 8192;
  session.experiment.problem.d = 8;
  session.view.show_tiles = true;
  hand.stage.open(session);
  hand.stage.told = first_of(session.experiment, 512);
  hand.frames(3);
  hand.check(is_first_answer(*hand.stage.told->answer.result), "the first answer is known as such");
  for (const float y : {0.01f, 0.5f, 0.99f})
    hand.check(std::abs(pinned_row(hand, y) - y * 8192) <= 60, "the axis is that of all rows, at " + std::to_string(y));
  hand.view().zoom = {2000, 0, 6000, 8};
  hand.check(std::abs(pinned_row(hand, 0.25f) - 3000) <= 60, "the zoom counts rows of Q");
  const CellRect seen = hand.view().zoom;
  hand.leaves("the whole answer", [&] { hand.stage.told = first_of(session.experiment, 8192); });
  hand.check(!is_first_answer(*hand.stage.told->answer.result) && hand.view().zoom == seen, "the second answer keeps the zoom");
  hand.check(std::abs(pinned_row(hand, 0.25f) - 3000) <= 12, "a click finds the same row");
}

CASE(session, the_first_answer_comes) {
  Session session = small_session();
  session.experiment.problem.n = 8192;
  session.view.zoom = {1000, 0, 3000, 16};
  hand.stage.open(session);
  std::size_t fewest = 1u << 30;
  for (int i = 0; i < 4000 && fewest > 8192; ++i) {
    hand.frames(1);
    if (const auto& r = hand.result()) fewest = std::min(fewest, r->rows.size());
  }
  hand.check(fewest < 8192, "some rows come first: " + std::to_string(fewest));
  hand.settle();
  hand.await("nothing is computed any more", [&] { return !hand.stage.panel_input().answer.computing; });
  hand.check(hand.result()->rows.size() == 8192, "then all rows");
  hand.check(hand.session() == session, "the session does not change");
}

/// Number of moves of m in a row.
int moves_in(const Experiment& experiment, int row) {
  Experiment e = experiment;
  e.problem.traced_row = row;
  int moves = 0;
  for (const TraceTile& t : compute(e).trace.tiles) moves += t.moved;
  return moves;
}

constexpr int save_key = ImGuiMod_Ctrl | ImGuiKey_S, save_as_key = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_S,
              open_key = ImGuiMod_Ctrl | ImGuiKey_O, new_key = ImGuiMod_Ctrl | ImGuiKey_N;

/// An act: a key chord that asks for a file, then the typed path.
std::function<void()> by_path(Hand& hand, int chord, const std::string& path) {
  return [&hand, chord, path] {
    hand.key(chord);
    hand.frames(2);
    hand.enter(path);
    hand.frames(3);
  };
}

CASE(session, saving_by_typed_path) {
  Office office(hand);
  hand.expect_text(window_title(office.files()), "untitled — Attoscope");
  hand.leaves("Ctrl+S without a file asks for one", by_path(hand, save_key, hand.folder / "mine"));
  hand.check(office.on_disk("mine.attoscope.json") == hand.session(), "the file holds the session");
  hand.expect_text(hand.notice(), "Saved " + (hand.folder / "mine.attoscope.json") + ".");
  hand.expect_text(window_title(office.files()), "mine — Attoscope");
  hand.click(controls + "mask/causal");
  hand.frames(2);
  hand.expect_text(window_title(office.files()), "● mine — Attoscope");
  hand.leaves("Ctrl+S", [&] { hand.key(save_key), hand.frames(2); });
  hand.check(!office.files().unsaved && office.on_disk("mine.attoscope.json") == hand.session(), "writes the same file");
  hand.leaves("save as", by_path(hand, save_as_key, hand.folder / "yours.json"));
  hand.check(office.files().file == hand.folder / "yours.json", "the session has the new file");
  hand.click(controls + "mask/none");
  hand.leaves("the line of the menu", [&] { in_menu(hand, "##save"), hand.frames(2); });
  hand.check(office.on_disk("yours.json") == hand.session() && !(office.on_disk("mine.attoscope.json") == hand.session()),
             "only the new file is saved");
  hand.leaves("where nothing can be written", by_path(hand, save_as_key, "/dev/null/x.json"));
  hand.expect_error("/dev/null");
  hand.check(office.files().file == hand.folder / "yours.json", "the session's file stays");
}

CASE(session, opening_and_undo) {
  Office office(hand);
  Session other = small_session();
  other.experiment.format = fp16;
  other.view.theme = Theme::light;
  write_file(hand.folder / "other.json", session_text(other));
  const Session before = hand.session();
  hand.changes("a typed path", by_path(hand, open_key, hand.folder / "other.json"),
               [&](Session& s) { s = other, s.origin = 1; });
  hand.check(session_name(office.files()) == "other" && !office.files().unsaved, "the file is open");
  hand.changes("undo", [&] { hand.key(undo_key); }, [&](Session& s) { s = before, s.view.theme = Theme::light; });
  hand.check(office.files().file.empty(), "undo restores the session without a file");
  hand.key(redo_key);
  hand.frames(2);
  hand.check(office.files().file == hand.folder / "other.json", "redo opens it again");
  hand.changes(
      "new", [&] { hand.key(new_key), hand.frames(2); },
      [&](Session& s) {
        const Session shown = s;
        s = first_session();
        s.view.theme = shown.view.theme;
        s.origin = 2;
        s.experiment.problem.input.digest = hand.experiment().problem.input.digest;
        s.experiment.problem.traced_row = hand.experiment().problem.traced_row;
      });
  hand.check(moves_in(hand.experiment(), hand.experiment().problem.traced_row) > 1, "the traced row has moves of the max");
  hand.check(session_name(office.files()) == "untitled" && !office.files().unsaved, "a new session has no file");
  for (const auto& [name, text] :
       {std::pair{"cut.json", "{\"schema\": "}, {"else.json", "{\"schema\":\"attoscope.result/1\"}"}}) {
    const std::string path = hand.folder.write(name, text);
    hand.leaves(name, by_path(hand, open_key, path));
    hand.expect_error(name);
  }
}

CASE(session, recent_sessions) {
  Office office(hand);
  for (const char* name : {"a.json", "b.json", "c.json"}) {
    Session session = small_session();
    session.experiment.problem.seed = static_cast<std::uint64_t>(name[0]);
    write_file(hand.folder / name, session_text(session));
    hand.open_files({hand.folder / name});
  }
  std::filesystem::remove(hand.folder / "a.json");
  hand.click(top_bar + "###session");
  hand.frames(3);
  hand.check(hand.disabled("//$FOCUSED/##recent 0"), "the open session is grey");
  hand.check(hand.disabled("//$FOCUSED/##recent 2") && office.files().recent[2].reason == "It is no longer there.",
             "a missing file is grey");
  for (const auto& [id, name] : hand.items("//$FOCUSED"))
    if (!name.empty() && !name.starts_with("#SCROLL") && !name.starts_with("#RESIZE"))
      hand.check(hand.explained(id), name + " has a tooltip");
  hand.pick("##recent 1");
  hand.settle();
  hand.check(hand.experiment().problem.seed == 'b' && session_name(office.files()) == "b", "a click opens the file");
  hand.ask("open session: c", settled);
  hand.check(hand.experiment().problem.seed == 'c', "the palette opens a file");
}

CASE(session, remarks_are_listed) {
  Office office(hand);
  std::string text = R"({"schema":"attoscope.session/7","experiment":{"problem":{"n":40,"d":8}})";
  for (int i = 0; i < 30; ++i) text += ",\"key" + std::to_string(i) + "\":" + std::to_string(i);
  hand.open_files({hand.folder.write("newer.json", text + "}")});
  hand.check(hand.experiment().problem.n == 40, "known keys are shown");
  hand.check(hand.stage.panel_input().messages.remarks.size() == 31, "every remark is listed");
  hand.check(hand.exists("//Remarks/###remarks read"), "the list is open");
  hand.leaves("Esc", [&] { hand.key(ImGuiKey_Escape), hand.frames(2); });
  hand.check(!hand.exists("//Remarks/###remarks read") && hand.stage.panel_input().messages.remarks.empty(), "closes the list");
  open_files({hand.folder / "newer.json"}, hand.stage.context());
  hand.frames(3);
  hand.leaves("its button", [&] { hand.click("//Remarks/###remarks read"), hand.frames(2); });
  hand.check(hand.stage.panel_input().messages.remarks.empty(), "its button closes the list");
  open_files({hand.folder.write("one.json", R"({"schema":"attoscope.session/1","x":1})")}, hand.stage.context());
  hand.frames(3);
  hand.check(!hand.exists("//Remarks/###remarks read"), "one remark is in the status bar");
  hand.expect_error("x is not a known key");
}

CASE(session, dialogs_of_the_desktop) {
  Office office(hand);
  const Desktop desktop(hand.folder);
  hand.open(small_session());
  hand.check(office.files().has_dialogs, "the desktop has a dialog");
  setenv("ATTOSCOPE_DIALOGS", "none", 1);
  hand.open(small_session());
  hand.check(!office.files().has_dialogs, "unwanted dialogs are off");
  setenv("ATTOSCOPE_DIALOGS", "desktop", 1);
  hand.open(small_session());
  const auto asks = [&](int chord, const std::string& answer) {
    hand.key(chord);
    answer_dialog(hand, desktop, answer);
  };
  hand.leaves("saving", [&] { asks(save_key, (hand.folder / "chosen") + "\n"); });
  hand.check(office.on_disk("chosen.attoscope.json") == hand.session() && session_name(office.files()) == "chosen",
             "the session is saved under the chosen name");
  Session other = small_session();
  other.experiment.format = fp16;
  write_file(hand.folder / "other.json", session_text(other));
  hand.changes(
      "opening", [&] { asks(open_key, (hand.folder / "other.json") + "\n"); },
      [&](Session& s) { s.experiment.format = fp16, ++s.origin; });
  hand.leaves("no answer", [&] { asks(open_key, ""); });
  hand.open(small_session());
  hand.leaves("a session without a name", [&] { asks(save_key, ""); });
  const std::string asked = read_file(hand.folder / "asked", 1 << 16);
  hand.check(has(asked, "/untitled.attoscope.json"), "a name is proposed: " + asked);
  hand.key(open_key);
  hand.frames(2);
  hand.open(small_session());  // closing the window closes the dialog, which would wait forever otherwise
}

/// The first window traces a row in which m moves most, and shows a hint above the picture; later windows do neither.
CASE(session, first_start) {
  Session first = small_session();
  first.view.welcome = true;
  hand.stage.first_start = true;
  hand.open(first);
  hand.stage.first_start = false;
  for (int i = 0; i < 3; ++i) hand.settle(), hand.frames(1);
  const int chosen = hand.experiment().problem.traced_row;
  int most = 0;
  for (int row = 0; row < 96; ++row) most = std::max(most, moves_in(small_session().experiment, row));
  hand.check(chosen >= 0 && moves_in(small_session().experiment, chosen) == most && most > 1, "the busiest row is traced");
  hand.experiment().problem.traced_row = -1;
  hand.settle();
  hand.check(hand.experiment().problem.traced_row == -1, "only once");
  const std::string lesson = heatmap + "###first lesson", dismiss = heatmap + "###dismiss welcome";
  hand.check(hand.exists(lesson) && hand.exists(dismiss), "the hint is shown");
  hand.click(lesson);
  hand.frames(2);
  hand.check(hand.view().workspace == Workspace::learn && hand.session().lesson.name.empty(), "lesson 1 is open");
  hand.show(&View::workspace, Workspace::explore, 3);
  hand.changes("dismissed", [&] { hand.click(dismiss); }, [](Session& s) { s.view.welcome = false; });
  hand.frames(2);
  hand.check(!hand.exists(dismiss), "the hint is gone");
  hand.key(ImGuiMod_Ctrl | ImGuiKey_N, settled);
  hand.check(!hand.view().welcome, "new sessions have no hint");
  hand.open(small_session());
  hand.check(hand.experiment().problem.traced_row == -1 && !hand.exists(dismiss), "a later window has neither");
}

}  // namespace

}  // namespace attoscope::testing::session_cases
