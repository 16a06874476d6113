// Commands: the palette finds everything by typing, ui/commands/README.md has the table of keys, modifiers may be released
// in every order, Esc closes one thing at a time, F6 reaches every panel.
#include <algorithm>
#include <fstream>

#include "imgui_internal.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "tests/ui/cases.h"
#include "ui/commands/commands.h"
#include "ui/frame/ui_state.h"
#include "ui/session/settings.h"
#include "ui/sweep/panels.h"

namespace attoscope::testing {
namespace {

/// Commands that the palette finds for a query.
std::vector<PaletteCommand> names_found(Hand& hand, const std::string& query) {
  Requests requests;
  const PanelInput input = hand.stage.panel_input();
  const Frame target{hand.session(), input, *hand.stage.state, requests};
  return found(query, commands(target), target, 12);
}

CASE(palette, settings_by_typing) {
  hand.ask("set N to 64", [](Session& s) { s.experiment.problem.n = 64; });
  hand.ask("n 80", [](Session& s) { s.experiment.problem.n = 80; });
  hand.ask("set block_k 8", [](Session& s) {
    s.experiment.a.block_k = s.experiment.a.block_q = s.experiment.b.block_k = s.experiment.b.block_q = 8;
  });
  hand.ask("b.tau = 2.5", [](Session& s) { s.experiment.b.tau = 2.5; });
  hand.ask("set a.S to e5m7", [](Session& s) { s.experiment.a.precision[Step::S] = to_format(Format{5, 7}); });
  hand.ask("format: fp16", [](Session& s) { s.experiment.format = fp16; });
  hand.ask("a algorithm split_kv", [](Session& s) { s.experiment.a.algorithm = Algorithm::split_kv; });
  hand.ask("a policy eager", [](Session& s) { s.experiment.a.precision = policy("eager").precision; });
  hand.ask("a: sums h100", [](Session& s) { s.experiment.a.accumulator = {Accumulator::h100, Accumulator::h100}; });
  hand.ask("b: kernel fa3_h100", [](Session& s) { s.experiment = with_kernel_as_b(s.experiment, kernel_preset("fa3_h100")); });
  hand.ask("theme contrast", [](Session& s) { s.view.theme = Theme::high_contrast; });
  hand.ask("theme: dark", [](Session& s) { s.view.theme = Theme::dark; });
  hand.ask("mask: causal", [](Session& s) { s.experiment.problem.mask.kind = Mask::Kind::causal; });
  hand.ask("tile grid", [](Session& s) { s.view.show_tiles = true; });
  hand.ask("b_ulps", [](Session& s) { s.view.field = Field::b_ulps; });
  hand.ask("set seed to 77", [](Session& s) { s.experiment.problem.seed = 77; });
  hand.ask("undo", [](Session& s) { s.experiment.problem.seed = 1; });
}

CASE(palette, by_arrows_and_by_mouse) {
  hand.leaves("Esc closes it", [&] {
    hand.key(ImGuiKey_Slash);
    hand.frames(2);
    hand.check(hand.exists("//$FOCUSED/##query"), "/ opens the palette");
    hand.key(ImGuiKey_Escape);
    hand.frames(60);
    hand.check(!hand.exists("//$FOCUSED/##query"), "the palette is closed");
  });
  const std::vector<PaletteCommand> list = names_found(hand, "theme:");
  const auto light = std::ranges::find(list, "theme: light", &PaletteCommand::name);
  if (!hand.check(light != list.end(), "the list has the light theme")) return;
  hand.changes(
      "arrows and Enter",
      [&] {
        hand.key(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P);
        hand.frames(2);
        hand.type_only("theme:");
        for (auto i = list.begin(); i != light; ++i) hand.key(ImGuiKey_DownArrow);
        hand.key(ImGuiKey_DownArrow), hand.key(ImGuiKey_UpArrow);
        hand.key(ImGuiKey_Enter);
      },
      [](Session& s) { s.view.theme = Theme::light; });
  hand.changes(
      "a click",
      [&] {
        hand.click(top_bar + "###find");
        hand.frames(2);
        hand.type_only("theme: dark");
        hand.click("//$FOCUSED/##command 0");
      },
      [](Session& s) { s.view.theme = Theme::dark; });
}

CASE(palette, impossible_settings_are_refused) {
  hand.leaves("N of a million and a half", [&] { hand.ask("set N to 1500000"); });
  hand.check(hand.exists("//$FOCUSED/##query"), "the palette stays open");
  const std::string complaint = hand.stage.state->popups.palette.complaint;
  hand.expect_text(complaint, "problem.n cannot be 1500000: expected a whole number from 1 to 1048576.");
  hand.key(ImGuiKey_Escape);
  hand.leaves("nothing at all", [&] {
    hand.ask("zzqqxx");
    hand.key(ImGuiKey_Escape);
  });
  Session s = hand.session();
  for (const auto& [path, value] :
       {std::pair{"problem.n", "x"}, std::pair{"problem.m", "1"}, std::pair{"format", "bf17"}, std::pair{"", ""},
        std::pair{"view", "1"}, std::pair{"a.precision.S", "exact/stochastic"}, std::pair{"view.theme", "2"},
        std::pair{"a.precision", "main"}, std::pair{"problem.scale", "nan"}, std::pair{"a.policy", ""}})
    hand.check(!set_setting(s, path, value).empty() && s == hand.session(), std::string(path) + " = " + value + " is refused");
  const std::string whole(39, 'x'), sentence = set_setting(s, "format", whole + "é");
  hand.check(sentence.starts_with("format cannot be " + whole + ": "), "only whole characters are shown: " + sentence);
}

/// Every field of a session and every key with an action has a command; every offered value can be set.
CASE(palette, every_field_and_key_has_a_command) {
  Requests requests;
  const PanelInput input = hand.stage.panel_input();
  const Frame target{hand.session(), input, *hand.stage.state, requests};
  const std::vector<PaletteCommand> all = commands(target);
  for (const Key& key : keys())
    if (key.act != nullptr)
      hand.check(std::ranges::any_of(all, [&](const PaletteCommand& c) { return c.name == key.what && c.keys == key.keys; }),
                 std::string(key.what));
  for (const char* wanted :
       {"format: bf16", "format: e4m3", "a: algorithm: flash4", "b: algorithm: two_pass", "theme: high_contrast", "a: S: exact",
        "reset layout", "device: cpu", "detail: traffic", "picture: rescales", "b: policy base_ops"})
    hand.check(std::ranges::find(all, wanted, &PaletteCommand::name) != all.end(), wanted);
  for (const ProbeEntry& p : *input.choices.probes)
    hand.check(std::ranges::find(all, "preset: " + p.title, &PaletteCommand::name) != all.end(), p.title);
  const std::vector<SettingText> listed = setting_texts(hand.session());
  hand.check(listed.size() > 100, "all fields are listed");
  for (const SettingText& s : listed) {
    Session changed = hand.session();
    hand.check(set_setting(changed, s.path, s.text).empty() && changed == hand.session(), s.path + " is set to what it is");
    for (const std::string& choice : s.choices)
      hand.check(set_setting(changed, s.path, choice).empty(), s.path + " can be " + choice);
  }
}

CASE(palette, order_of_the_commands_found) {
  const auto command = [](const char* name, const char* what = "") { return PaletteCommand{name, what}; };
  hand.check(fitness("light", command("theme: light")) > fitness("light", command("highlight")), "words before parts");
  hand.check(fitness("tm lt", command("theme: light")) > 0, "letters in order are enough");
  hand.check(fitness("light theme", command("theme: light")) > 0, "in any order of words");
  hand.check(fitness("x", command("theme: light")) < 0, "other letters do not match");
  hand.check(fitness("theme", command("theme: light")) > fitness("theme", command("palette", "theme of the window")),
             "name before explanation");
  hand.check(fitness("THEME", command("theme: light")) > 0, "in any case of letters");
}

PaletteCommand first_found(Hand& hand, const std::string& query) {
  const std::vector<PaletteCommand> list = names_found(hand, query);
  return list.empty() ? PaletteCommand{} : list.front();
}

/// Workspaces, lessons and their steps, plans and figures are found by a few letters, and opened.
CASE(palette, workspaces_lessons_and_plans_by_typing) {
  hand.check(!hand.stage.panel_input().learn.lessons, "no lesson was read yet");
  hand.key(ImGuiMod_Ctrl | ImGuiKey_P);
  hand.frames(3);
  hand.key(ImGuiKey_Escape);
  hand.frames(2);
  const auto lessons = hand.stage.panel_input().learn.lessons;
  if (!hand.check(lessons && lessons->size() > 10, "the palette read the lessons")) return;
  const Lesson &fifth = (*lessons)[4], &last = lessons->back();
  const auto finds = [&](const std::string& query, const std::string& name) {
    const std::string first = first_found(hand, query).name;
    hand.check(first == name, query + " finds " + first);
  };
  const auto leads = [&](const char* query, const char* name, const Hand::Change& change) {
    finds(query, name);
    hand.ask(query, change);
  };
  const auto open = [](Session& s, const Lesson& lesson, int step) {
    s.view.workspace = Workspace::learn;
    s.lesson.name = lesson.name, s.lesson.step = step;
  };
  const std::string of_step = "lesson 5, step 2: " + fifth.steps[1].title,
                    of_last = "lesson " + std::to_string(lessons->size());
  const auto to = [](Workspace workspace) { return [workspace](Session& s) { s.view.workspace = workspace; }; };
  leads("sweep workspace", "workspace: Sweep", to(Workspace::sweep));
  leads("wrksp train", "workspace: Train", to(Workspace::train));
  leads("wrksp model", "workspace: Model", to(Workspace::model));
  leads("workspace: explore", "workspace: Explore", to(Workspace::explore));
  leads("which tile size", "sweep: Which tile size?",
        [](Session& s) { s.view.workspace = Workspace::sweep, s.sweep = plan_of(ready_plans()[0], s.sweep); });
  leads("workspace: explore", "workspace: Explore", to(Workspace::explore));
  finds("lesson 5", "lesson 5: " + fifth.title);
  const std::vector<PaletteCommand> list = names_found(hand, "lesson");
  for (std::size_t i = 0; i < 12; ++i)
    hand.check(list.size() == 12 && list[i].name.starts_with("lesson " + std::to_string(i + 1) + ": "), "in their order");
  finds(of_step, of_step);
  const auto seen = [](Session& s, const Lesson& lesson, int steps) { s.lesson.progress.push_back({lesson.name, steps}); };
  hand.changes("a lesson", [&] { hand.ask("lesson 5"); }, [&](Session& s) { open(s, fifth, 0), seen(s, fifth, 1); });
  hand.ask(of_step, [&](Session& s) { open(s, fifth, 1), s.lesson.progress[0].steps_seen = 2; });
  hand.changes("the last", [&] { hand.ask(of_last); }, [&](Session& s) { open(s, last, 0), seen(s, last, 1); });
}

/// "your kernel" opens the field for its path in every workspace.
CASE(palette, file_of_an_output_by_typing) {
  for (const char* query : {"your kernel", "rounded or wrong", "kernel output"})
    hand.expect_text(first_found(hand, query).name, "your kernel: open its output …");
  hand.show(&View::workspace, Workspace::sweep);
  hand.ask("your kernel", [](Session& s) { s.view.workspace = Workspace::explore; });
  hand.check(hand.exists("//$FOCUSED/##path"), "its path can be typed");
  hand.key(ImGuiKey_Escape);
  hand.frames(2);
  hand.leaves("Q, K, V", [&] { hand.ask("open Q, K, V"); });
  hand.check(hand.exists("//$FOCUSED/##path"), "the path of Q, K, V can be typed");
  hand.key(ImGuiKey_Escape);
}

/// The table of keys in the commands' README, line by line.
CASE(keys, table_of_keys_in_the_readme) {
  std::ifstream file("ui/commands/README.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| ") && !line.starts_with("| key ")) lines.push_back(line);
  std::vector<std::string> expected;
  for (const Key& key : keys()) expected.push_back("| " + std::string(key.keys) + " | " + std::string(key.what) + " |");
  hand.check(lines.size() == expected.size(),
             std::to_string(lines.size()) + " keys in the README, " + std::to_string(expected.size()) + " in the program");
  for (std::size_t i = 0; i < std::min(lines.size(), expected.size()); ++i)
    hand.check(lines[i] == expected[i], "README: " + lines[i] + "  expected: " + expected[i]);
}

// --- keys -------------------------------------------------------------------------------------------------------------

/// A separate Dear ImGui context, whose key events and frames the test controls.
class Keyboard {
 public:
  explicit Keyboard(float seconds) : before_(ImGui::GetCurrentContext()), own_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(own_);
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = {640, 400};
    io.DeltaTime = seconds;
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
  }
  ~Keyboard() {
    ImGui::DestroyContext(own_);
    ImGui::SetCurrentContext(before_);
  }
  Keyboard(const Keyboard&) = delete;
  Keyboard& operator=(const Keyboard&) = delete;

  Session session = small_session();
  UiStatePtr state = make_ui_state();

  /// C and P press, c and p release, each "|" draws a frame; then draws frames until no event is left.
  void type(const std::string& events) {
    for (const char event : events) {
      if (event == '|') {
        frame();
        continue;
      }
      ImGuiIO& io = ImGui::GetIO();
      const bool control = event == 'C' || event == 'c', down = event == 'C' || event == 'P';
      if (control) io.AddKeyEvent(ImGuiMod_Ctrl, down);
      io.AddKeyEvent(control ? ImGuiKey_LeftCtrl : ImGuiKey_P, down);
    }
    for (int i = 0; i < 8; ++i) frame();
  }

 private:
  void frame() {
    ImGui::NewFrame();
    Requests requests;
    const PanelInput input;
    handle_keys({session, input, *state, requests});
    ImGui::EndFrame();
  }

  ImGuiContext *before_, *own_;
};

/// The events, with a frame after event i if bit i of `frames` is set.
std::string with_frames(const std::string& events, unsigned frames) {
  std::string all;
  for (std::size_t i = 0; i < events.size(); ++i) {
    all += events[i];
    if ((frames >> i & 1) != 0) all += '|';
  }
  return all;
}

/// Ctrl+P acts as Ctrl+P in whatever order its keys are released, and P as P.
CASE(keys, modifiers_in_any_order) {
  for (const float seconds : {1.0f / 60, 1.0f / 5})
    for (unsigned frames = 0; frames < 16; ++frames) {
      for (const char* order : {"CPpc", "CPcp"}) {
        Keyboard keyboard(seconds);
        keyboard.type(with_frames(order, frames));
        hand.check(keyboard.state->popups.palette.asked && keyboard.session == small_session(),
                   "the palette by " + with_frames(order, frames));
      }
      for (const char* order : {"PpCc", "PCpc", "PCcp"}) {
        Keyboard keyboard(seconds);
        keyboard.type(with_frames(order, frames));
        hand.check(!keyboard.state->popups.palette.asked && keyboard.session.view.range_pinned,
                   "the range of the colours by " + with_frames(order, frames));
      }
    }
}

/// Esc closes the keys, then the sum, then unpins the cell: one at a time.
CASE(keys, esc_closes_one_thing_at_a_time) {
  hand.view().cell_row = 3, hand.view().cell_col = 2;
  hand.show(&View::show_sum, true);
  hand.key(ImGuiKey_H);
  hand.check(hand.stage.state->popups.help, "the keys are shown");
  hand.leaves("Esc closes the keys alone", [&] { hand.key(ImGuiKey_Escape); });
  hand.check(!hand.stage.state->popups.help, "the keys are closed");
  hand.changes("then the sum", [&] { hand.key(ImGuiKey_Escape); }, [](Session& s) { s.view.show_sum = false; });
  hand.key(ImGuiKey_Escape, [](Session& s) { s.view.cell_row = s.view.cell_col = -1; });
  hand.click(controls + "##kernel");
  hand.pick("open a file ...");
  hand.frames(3);
  hand.check(ImGui::GetIO().WantTextInput, "a path is typed");
  hand.leaves("Esc closes its prompt at once", [&] { hand.key(ImGuiKey_Escape); });
  hand.check(!hand.has_popup(), "the prompt is closed");
  for (const char* popup : {"###session", "###presets"}) {
    hand.click(top_bar + popup);
    hand.frames(2);
    hand.check(hand.has_popup(), std::string(popup) + " is open");
    hand.leaves("Esc closes it", [&] { hand.key(ImGuiKey_Escape); });
    hand.check(!hand.has_popup(), std::string(popup) + " is closed");
  }
}

/// Name of the panel with the keyboard's focus.
std::string focused_window() {
  const ImGuiWindow* const at = ImGui::GetCurrentContext()->NavWindow;
  return at != nullptr ? at->RootWindow->Name : "";
}

/// F6 goes through these panels, the last of which is the status bar; Shift+F6 goes back.
void go_through(Hand& hand, const std::vector<std::string>& order) {
  for (int i = 0; i < 9 && focused_window() != "Status bar"; ++i) hand.key(ImGuiKey_F6), hand.frames(2);
  for (const std::string& name : order) {
    hand.leaves("F6", [&] { hand.key(ImGuiKey_F6); });
    hand.frames(2);
    hand.check(focused_window() == name, "F6 comes to " + name + ": " + focused_window());
  }
  for (auto name = order.rbegin() + 1; name != order.rend(); ++name) {
    hand.leaves("Shift+F6", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_F6); });
    hand.frames(2);
    hand.check(focused_window() == *name, "Shift+F6 comes to " + *name + ": " + focused_window());
  }
}

/// F6 goes through all panels, also through tabs behind others; Tab stays in the panel.
CASE(keys, the_keyboard_reaches_every_panel) {
  hand.show(&View::show_pins, true, 4);
  go_through(hand, {"Top bar", "Controls", "Statistics", "Pins", "Heat map", "Recurrence", "Status bar"});
  hand.key(ImGuiKey_F6);
  hand.leaves("Tab", [&] { hand.key(ImGuiKey_Tab); });
  hand.check(focused_window() == "Controls", "Tab stays in the panel");
  hand.show(&View::workspace, Workspace::train, 3);
  std::vector<std::string> seen;
  for (int i = 0; i < 5; ++i) hand.key(ImGuiKey_F6), seen.push_back(focused_window());
  for (const char* name : {"Train plan", "Train", "Train numbers"})
    hand.check(std::ranges::find(seen, name) != seen.end(), std::string(name) + " is reached in its workspace");
}

}  // namespace

}  // namespace attoscope::testing
