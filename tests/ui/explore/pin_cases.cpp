// Pins: kept, restored, compared, renamed, moved, deleted, copied and pasted; undo loses none of them.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "app/session/session.h"
#include "imgui_internal.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"
#include "tests/ui/cases.h"
#include "ui/controls/controls.h"
#include "ui/explore.h"

namespace attoscope::testing {
namespace {

const std::string pin_panel = "//Pins/";

/// The path of an item of a pin's entry for the test engine.
std::string entry(int i, const std::string& item) { return "//Pins/**/$$" + std::to_string(i) + "/" + item; }

/// The path of a row of the open table of pins, without its number.
std::string compared_row() {
  return std::string("//") + ImGui::GetCurrentContext()->NavWindow->RootWindow->Name + "/**/##pin row ";
}

Pin expected_pin(Hand& hand, const std::string& name) {
  const Result& r = *hand.result();
  Pin pin = make_pin(r);
  hand.check(pin.a_mean == r.a_error.mean_abs && pin.b_mean == r.b_error.mean_abs && pin.a_max == r.a_error.max_abs &&
                 pin.b_max == r.b_error.max_abs && pin.digest == r.digests.a && pin.experiment == r.experiment,
             "a pin has the answer's numbers");
  hand.check(pin.name == name, "it is called " + name + ": " + pin.name);
  hand.check(!pin.experiment.problem.input.tensors, "it holds no tensors");
  return pin;
}

/// Three pins: block_k 16, 32, 48.
void keep_three(Hand& hand) {
  hand.view().show_pins = true;
  for (const int block : {16, 32, 48}) {
    hand.experiment().a.block_k = block;
    hand.settle();
    hand.key(ImGuiKey_K);
  }
  hand.frames(3);
  hand.check(hand.session().pins.size() == 3, "three pins are kept");
}

CASE(pins, keep) {
  const Pin first = expected_pin(hand, "flash2 hw bf16 N 96");
  hand.changes("K keeps", [&] { hand.key(ImGuiKey_K); }, [&](Session& s) { s.pins = {first}; });
  hand.leaves("keeping it again", [&] { hand.key(ImGuiKey_K); });
  hand.expect_text(hand.error(), "This experiment is pinned already, as “flash2 hw bf16 N 96”.");
  hand.stage.explorer().show_error("");
  hand.click(top_bar + "###pins", [](Session& s) { s.view.show_pins = true; });
  hand.experiment().format = fp16;
  hand.experiment().problem.mask.kind = Mask::Kind::causal;
  hand.settle();
  const Pin second = expected_pin(hand, "flash2 hw fp16 N 96 causal");
  hand.click(pin_panel + "###keep", [&](Session& s) { s.pins = {first, second}; });
  hand.changes("undo", [&] { hand.key(undo_key); }, [&](Session& s) { s.pins = {first}; });
  hand.changes("redo", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_Y); }, [&](Session& s) { s.pins = {first, second}; });
  hand.changes("close", [&] { hand.click(pin_panel + "###close pins"); }, [](Session& s) { s.view.show_pins = false; });
  std::vector<std::string> remarks;
  hand.check(parse_session(session_text(hand.session()), remarks) == hand.session() && remarks.empty(), "saved with the pins");
}

CASE(pins, a_changed_policy_has_the_name_of_legends) {
  hand.experiment().a.precision[Step::S] = to_main;
  hand.settle();
  expected_pin(hand, "flash2 hw +1 bf16 N 96");
}

/// In a narrow window, or with large text, the list is a tab over the controls.
CASE(pins, pins_in_a_narrow_window) {
  for (const auto& [width, height, scale] : {std::tuple{700, 600, 1.0}, {1280, 800, 1.5}}) {
    hand.view().ui_scale = scale;
    hand.resize(width, height, 4);
    hand.changes("shown", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_K); }, [](Session& s) { s.view.show_pins = true; });
    hand.frames(4);
    hand.check(hand.exists(pin_panel + "###keep"), "the tab is in front");
    const float picture = ImGui::FindWindowByName(heatmap_window)->Size.x;
    hand.check(picture > static_cast<float>(width) / 2, "the picture keeps its room");
    hand.changes("closed", [&] { hand.click(pin_panel + "###close pins"); }, [](Session& s) { s.view.show_pins = false; });
  }
}

CASE(pins, nothing_to_keep) {
  hand.view().show_pins = true;
  hand.stage.told = PanelInput{};
  hand.frames(3);
  hand.leaves("no answer", [&] { hand.click(pin_panel + "###keep"); });
  hand.expect_text(hand.stage.state->pins.complaint, "There is nothing to pin: the experiment has no complete answer.");
  hand.stage.told.reset();
  hand.settle();
  hand.tell();
  hand.experiment().problem.seed = 9;
  const Session before = hand.session();
  hand.key(ImGuiKey_K);
  hand.check(hand.session() == before, "an answer to another question is not kept");
}

CASE(pins, restore) {
  keep_three(hand);
  const Session before = hand.session();
  hand.click(entry(0, "##pin"), [&](Session& s) { s.experiment = before.pins[0].experiment; });
  hand.check(hand.result()->digests.a == before.pins[0].digest, "the answer has the pin's digest");
  hand.key(undo_key, [&](Session& s) { s.experiment = before.experiment; });
  hand.choose(entry(1, "###menu"), "restore", [&](Session& s) { s.experiment = before.pins[1].experiment; });
}

CASE(pins, rename_and_delete) {
  keep_three(hand);
  hand.changes(
      "rename",
      [&] {
        hand.choose(entry(1, "###menu"), "rename");
        hand.frames(2);
        hand.enter("my kernel");
      },
      [](Session& s) { s.pins[1].name = "my kernel"; });
  hand.changes(
      "a long name",
      [&] {
        hand.choose(entry(2, "###menu"), "rename");
        hand.frames(2);
        hand.enter(std::string(79, 'x') + "é");
      },
      [](Session& s) { s.pins[2].name = std::string(79, 'x'); });
  hand.leaves("Esc keeps the name", [&] {
    hand.choose(entry(0, "###menu"), "rename");
    hand.frames(2);
    hand.key(ImGuiKey_Escape);
  });
  hand.choose(entry(0, "###menu"), "delete", [](Session& s) { s.pins.erase(s.pins.begin()); });
  hand.key(undo_key, [&](Session& s) { s.pins.insert(s.pins.begin(), s.pins.front()), s.pins[0] = hand.session().pins[0]; });
  hand.check(hand.session().pins.size() == 3 && hand.session().pins[0].experiment.a.block_k == 16, "undo restores the pin");
}

/// A name that is being typed goes with its session.
CASE(pins, another_session_while_a_name_is_typed) {
  keep_three(hand);
  const std::string file = hand.folder.write("three.json", session_text(hand.session()));
  hand.choose(entry(1, "###menu"), "rename");
  hand.frames(2);
  hand.check(hand.exists(entry(1, "##pin name")), "the name is being typed");
  const int before = hand.session().origin;
  hand.open_files({file});
  hand.await("the session is replaced", [&] { return hand.session().origin != before; });
  hand.check(!hand.exists(entry(1, "##pin name")), "a pin of the other session is not renamed");
}

CASE(pins, reorder) {
  keep_three(hand);
  const std::vector<Pin> before = hand.session().pins;
  hand.drag(hand.place(entry(0, "##pin"), 0.5f), hand.place(entry(2, "##pin"), 0.5f),
            [&](Session& s) { s.pins = {before[1], before[2], before[0]}; });
  hand.drag(hand.place(entry(2, "##pin"), 0.5f), hand.place(entry(0, "##pin"), 0.5f), [&](Session& s) { s.pins = before; });
}

CASE(pins, compare) {
  keep_three(hand);
  const Session before = hand.session();
  hand.choose(entry(0, "###menu"), "use its a as b", [&](Session& s) { s.experiment.b = before.pins[0].experiment.a; });
  hand.check(hand.result()->digests.b == before.pins[0].digest, "b has the bits of the pin's a");
  hand.experiment().problem.n = 64;
  hand.settle();
  hand.leaves("another problem", [&] { hand.choose(entry(1, "###menu"), "use its a as b"); });
  Session other = hand.session();
  const std::string why = compare_with_pin(other, 1);
  hand.check(why == "Not the same question: problem.n is 64 here and 96 in the pin." && other == hand.session(), why);
  other = before;
  other.experiment.problem.traced_row = 5;
  hand.check(compare_with_pin(other, 1).empty(), "the traced row does not matter");
}

/// While gradients are on show, b has the pin's backward pass too; that of a pin without gradients is the usual one.
CASE(pins, compare_gradients) {
  Session session = small_session();
  session.experiment = with_backward(session.experiment);
  Experiment& pinned = session.pins.emplace_back().experiment;
  pinned = session.experiment;
  pinned.backward.a = grad_method("grad_fa2", 16, {});
  hand.check(compare_with_pin(session, 0).empty() && session.experiment.backward.b == pinned.backward.a, "the pin's own");
  pinned.backward = {};
  hand.check(compare_with_pin(session, 0).empty() && session.experiment.backward.b == session.experiment.backward.a,
             "the usual one");
}

/// An experiment has one loaded output.
CASE(pins, compare_two_outputs) {
  keep_three(hand);
  Session session = hand.session();
  for (const auto& [e, file] : {std::pair{&session.experiment, "o2.npy"}, std::pair{&session.pins[0].experiment, "o1.npy"}})
    *e = session.experiment, e->a.algorithm = Algorithm::loaded, e->loaded.file = file;
  const Session before = session;
  const std::string why = compare_with_pin(session, 0);
  hand.check(session == before && has(why, "o1.npy") && has(why, "o2.npy"), why);
  session.experiment.loaded = session.pins[0].experiment.loaded;
  hand.check(compare_with_pin(session, 0).empty() && session.experiment.b.algorithm == Algorithm::loaded, "the same output");
}

/// A pin of a named kernel has the kernel's name; pins with equal names also name the setting that differs.
CASE(pins, names_say_what_pins_are) {
  keep_three(hand);
  const std::vector<Pin>& pins = hand.session().pins;
  hand.check(pins[0].name == "flash2 hw bf16 N 96" && pins[1].name == "flash2 hw bf16 N 96, block_k 32" &&
                 pins[2].name == "flash2 hw bf16 N 96, block_k 48",
             pins[1].name + "; " + pins[2].name);
  for (const char* kernel : {"fa3_fp8", "sage2"}) {
    hand.experiment() = with_kernel(hand.experiment(), kernel_preset(kernel));
    hand.settle();
    hand.key(ImGuiKey_K);
    hand.check(pins.back().name.starts_with(std::string(kernel) + " "), pins.back().name);
  }
}

/// One table compares all pins, with a column for each setting that differs; a click restores a pin, a file saves the table.
CASE(pins, compared_in_one_table) {
  hand.view().show_pins = true;
  hand.key(ImGuiKey_K);
  hand.frames(2);
  hand.check(hand.disabled(pin_panel + "###compare"), "one pin alone is not compared");
  hand.session().pins.clear();
  keep_three(hand);
  const std::vector<Pin> pins = hand.session().pins;
  const Table table = pins_table(pins);
  std::vector<std::string> keys;
  for (const ColumnHeading& c : table.columns) keys.push_back(c.key);
  const std::vector<std::string> expected{"name",       "ratio",     "a.mean_abs", "a.max_abs",
                                          "b.mean_abs", "b.max_abs", "digest",     "a.block_k"};
  hand.check(keys == expected, "errors, and the one setting that differs");
  for (std::size_t i = 0; i < pins.size(); ++i) {
    hand.check(table.rows[i][0] == TableCell(pins[i].name) && table.rows[i][2] == TableCell(pins[i].a_mean), "its numbers");
    hand.check(text_of(table.columns[7], table.rows[i][7]) == std::to_string(pins[i].experiment.a.block_k), "its block_k");
  }
  hand.click(pin_panel + "###compare");
  hand.frames(3);
  const std::string row = compared_row();
  hand.check(hand.exists(row + "0") && hand.exists(row + "2"), "the table has all pins");
  hand.changes("a click restores", [&] { hand.click(row + "1"); }, [&](Session& s) { s.experiment = pins[1].experiment; });
}

/// The open table follows the pins, which another session replaces.
CASE(pins, replaced_while_compared) {
  keep_three(hand);
  hand.click(pin_panel + "###compare");
  hand.frames(3);
  const std::string row = compared_row();
  hand.session().pins.pop_back();
  hand.frames(3);
  hand.check(hand.exists(row + "1") && !hand.exists(row + "2"), "the table has the pins that are left");
}

CASE(pins, copy_and_paste_pins) {
  keep_three(hand);
  const std::vector<Pin> before = hand.session().pins;
  hand.leaves("copy one", [&] { hand.choose(entry(1, "###menu"), "copy as text"); });
  std::vector<std::string> remarks;
  const Session copied = parse_session(ImGui::GetClipboardText(), remarks);
  hand.check(remarks.empty() && copied.pins == std::vector{before[1]} && copied.experiment == before[1].experiment,
             "a pin is copied as a session");
  hand.changes("paste", [&] { hand.click(pin_panel + "###paste pins"); }, [&](Session& s) { s.pins.push_back(before[1]); });
  ImGui::SetClipboardText(session_text(small_session()).c_str());
  hand.leaves("a session without pins", [&] { hand.click(pin_panel + "###paste pins"); });
  hand.expect_error("without pins");
  hand.key(ImGuiMod_Ctrl | ImGuiKey_V, settled);
  hand.check(hand.session().pins.size() == 4 && hand.experiment() == small_session().experiment,
             "a pasted session leaves the pins");
  ImGui::SetClipboardText("{");
  hand.leaves("no session", [&] { hand.click(pin_panel + "###paste pins"); });
  hand.check(hand.error().starts_with("The clipboard"), hand.error());
}

/// Draws the largest number of pins, with every value of a thumbnail; a further pin is refused.
CASE(pins, as_many_as_there_may_be) {
  Session session = small_session();
  session.view.show_pins = true;
  for (int i = 0; i < max_pins; ++i)
    session.pins.push_back(
        {.name = std::string(static_cast<std::size_t>(i), 'x'), .experiment = {}, .a_mean = i % 3 - 1.0, .thumbnail = {}});
  for (std::size_t i = 0; i < 100; ++i)
    session.pins[i].thumbnail.assign(pin_width * pin_height, static_cast<std::int8_t>(i * 5 - 128));
  hand.open(session);
  hand.leaves("one too many", [&] { hand.key(ImGuiKey_K); });
  hand.picture();
}

CASE(pins, not_finite_pins) {
  Result r = *hand.result();
  r.a_error.mean_abs = std::nan("");
  r.a_error.max_abs = std::numeric_limits<double>::infinity();
  r.a.values[0] = std::nan("");
  r.a.values.back() = std::numeric_limits<double>::infinity();
  const Pin pin = make_pin(r);
  hand.check(pin == pin && pin.a_mean == -1 && pin.a_max == -1, "a session stores no NaN");
  hand.check(pin.thumbnail.size() == pin_width * pin_height && pin.thumbnail.front() == -128 && pin.thumbnail.back() == -128,
             "the thumbnail marks NaN");
  hand.check(std::ranges::count(pin.thumbnail, -128) < 20, "only NaN cells are marked as NaN");
  const auto [least, most] = std::minmax_element(pin.thumbnail.begin() + 1, pin.thumbnail.end() - 1);
  hand.check(*least < -60 && *most > 60, "other cells have both signs");
}

}  // namespace

}  // namespace attoscope::testing
