// Opening files by the desktop's dialog, a completed path, the list of recent files and drops; errors over the panels.
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/tensors/npy.h"
#include "app/window/fonts.h"
#include "imgui_internal.h"
#include "tests/support/figure_support.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/office.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/theme.h"
#include "ui/words/sentences.h"

namespace attoscope::testing::opening {
namespace {

constexpr int n = 96, d = 16;  // of a small session

/// A file of one n x d tensor filled with `value`.
std::string tensor(const TemporaryDirectory& folder, const std::string& name, double value) {
  const std::vector<double> values(n * d, value);
  return folder.write(name, npy_bytes(n, d, values.data()));
}

/// q.npy, k.npy, v.npy and o.npy: attention of equal scores is V.
struct Call {
  explicit Call(const TemporaryDirectory& folder)
      : q(tensor(folder, "q.npy", 1)),
        k(tensor(folder, "k.npy", 2)),
        v(tensor(folder, "v.npy", 3)),
        o(tensor(folder, "o.npy", 3)) {}
  std::string q, k, v, o;
};

const std::string path_field = "//$FOCUSED/##path";

const Tensors& shown(Hand& hand) { return *hand.experiment().problem.input.tensors; }

/// True while a window of this name is on screen.
bool is_on_screen(const char* name) {
  const ImGuiWindow* const window = ImGui::FindWindowByName(name);
  return window != nullptr && window->Active && !window->Hidden;
}

/// The desktop's dialog opens Q, K, V, an output and a gradient, as it opens sessions.
CASE(opening, by_the_desktops_dialog) {
  Office office(hand);
  const Desktop desktop(hand.folder);
  const Call call(hand.folder);
  hand.open(small_session());
  hand.click(controls + "##input");
  hand.pick("open a file ...");
  hand.check(!hand.has_popup(), "no path is typed");
  answer_dialog(hand, desktop, call.k + "\n" + call.q + "\n" + call.v + "\n");
  hand.check(hand.experiment().problem.input.kind == InputKind::tensors && shown(hand).q[0] == 1 && shown(hand).k[0] == 2 &&
                 shown(hand).v[0] == 3,
             "three files are Q, K and V in any order: " + hand.error());
  const std::string asked = read_file(hand.folder / "asked", 1 << 16);
  hand.check(has(asked, "*.npy") && has(asked, "*.safetensors"), "the dialog shows files of tensors: " + asked);
  hand.choose(controls + "##kernel", "open a file ...");
  answer_dialog(hand, desktop, call.o + "\n");
  hand.check(hand.experiment().loaded.file == call.o && hand.experiment().a.algorithm == Algorithm::loaded, "it becomes a");
  hand.ask("your kernel: open its output");
  answer_dialog(hand, desktop, hand.folder / "absent.npy\n");
  hand.check(has(hand.error(), "absent.npy") && is_on_screen("Error"), "a failure is shown over the panels: " + hand.error());
  hand.choose(controls + "##kernel", "a recent file, or a typed path ...");
  hand.check(hand.has_popup(), "a path can be typed, too");
  hand.fill(path_field, call.o, settled);
  hand.check(hand.error().empty() && !is_on_screen("Error"), "the earlier error is gone: " + hand.error());
}

/// At 1280 x 800 the mouse alone opens a call and its output, reads the verdict and why, and saves a figure.
CASE(opening, from_a_file_to_a_figure_by_the_mouse) {
  Office office(hand);
  const Desktop desktop(hand.folder);
  const Call call(hand.folder);
  std::vector<double> values, causal;  // V, and O under an unwanted mask
  for (int i = 0; i < n * d; ++i) values.push_back(i / d), causal.push_back(0.5 * (i / d));
  write_file(call.v, npy_bytes(n, d, values.data()));
  write_file(call.o, npy_bytes(n, d, causal.data()));
  hand.open(small_session());
  hand.stage.exporter = PlotExporter(hand.folder / "pictures");
  hand.resize(1280, 800);
  const double last_key = ImGui::GetCurrentContext()->LastKeyboardKeyPressTime;
  hand.choose(controls + "##input", "open a file ...");
  answer_dialog(hand, desktop, call.q + "\n" + call.k + "\n" + call.v + "\n");
  hand.choose(controls + "##kernel", "open a file ...");
  answer_dialog(hand, desktop, call.o + "\n");
  hand.await("the output is judged", [&] { return shown_verdict(hand.stage.panel_input()) != nullptr; });
  const CallJudgement* const found = shown_verdict(hand.stage.panel_input());
  hand.check(found != nullptr && found->sentences[0].starts_with("Wrong: a causal mask"), "the mistake is named");
  hand.click("//Statistics/detail/why");
  const std::string named = "//Statistics/**/suspect 0";
  hand.await("why lists the suspects", [&] { return hand.exists(named); });
  hand.click(named);
  hand.check(hand.view().comparison == Comparison::swipe && hand.view().slip.starts_with("a causal mask"),
             "a click swipes against the slip");
  hand.move(hand.place(heatmap + "picture", 0.25f));
  hand.frames(2);
  hand.click(heatmap + "###save heat map");
  hand.frames(2);
  hand.click(has_gnuplot() ? "//$FOCUSED/keep as/PDF" : "//$FOCUSED/keep as/screen");
  hand.pick("###keep");
  const std::string figure = hand.folder / "pictures/attoscope-heat-map-1" + (has_gnuplot() ? "" : ".png");
  hand.await("a figure is saved", [&] { return !hand.stage.exporter.busy() && std::filesystem::exists(figure); });
  hand.check(ImGui::GetCurrentContext()->LastKeyboardKeyPressTime == last_key, "no key was pressed");
  hand.stage.exporter = PlotExporter("");
}

/// Tab completes a path as far as its files agree; the rest is listed, and opened by a click.
CASE(opening, a_path_is_completed) {
  const Call call(hand.folder);
  std::filesystem::create_directory(hand.folder / "queries");
  tensor(hand.folder, "queries/first.npy", 4);
  hand.folder.write("q.txt", "no tensor");
  hand.choose(controls + "##kernel", "open a file ...");
  hand.frames(60);
  hand.check(!hand.has_tooltip(), "no tooltip covers the list");
  hand.click(path_field);
  hand.type_only(hand.folder / "quer");
  hand.frames(2);
  hand.key(ImGuiKey_Tab);
  hand.frames(3);
  const PathPrompt& prompt = hand.stage.state->popups.files[FileUse::output];
  hand.check(prompt.typed == hand.folder / "queries/", "Tab completes: " + prompt.typed);
  hand.check(hand.exists("//$FOCUSED/##suggestion 0"), "the folder's file is listed");
  for (const char* name : {"wè.npy", "wé.npy"}) tensor(hand.folder, name, 4);  // their first letters share a byte
  hand.type_only(hand.folder / "w");
  hand.frames(3);
  hand.key(ImGuiKey_Tab);
  hand.frames(3);
  hand.check(prompt.typed == hand.folder / "w", "a character is completed as a whole: " + prompt.typed);
  hand.click(path_field);
  hand.type_only(hand.folder / "q");
  hand.frames(3);
  hand.check(hand.stage.panel_input().choices.content.completions == std::vector<std::string>{call.q, hand.folder / "queries/"},
             "matching tensors and folders are listed, texts are not");
  hand.type_only(hand.folder / "o");
  hand.frames(3);
  hand.click("//$FOCUSED/##suggestion 0", settled);
  hand.frames(3);
  hand.check(hand.experiment().loaded.file == call.o && !hand.has_popup(), "a click opens it: " + hand.error());
}

/// Files that were shown are offered before anything is typed, newest first, in the next window, too.
CASE(opening, recent_files_of_tensors) {
  Office office(hand);
  const Call call(hand.folder);
  hand.open_files({call.q, call.k, call.v});
  hand.open_files({call.o});
  hand.frames(3);
  hand.open(small_session());
  hand.choose(controls + "##input", "open a file ...");
  hand.frames(3);
  const std::vector<RecentSession> recent = hand.stage.panel_input().sessions.tensors;
  const std::string three = call.q + "," + call.k + "," + call.v;
  hand.check(recent.size() == 2 && recent[0].file == call.o && recent[1].file == three, "the list has two recent files");
  hand.click("//$FOCUSED/##suggestion 1", settled);
  hand.check(hand.experiment().problem.input.file == three, "a click opens a recent file: " + hand.error());
  hand.check(shown_file(three) == "q.npy, k.npy, v.npy" && shown_file("/x/c.pt:a.x,/x/c.pt:a.y,/x/c.pt:b.z") == "c.pt",
             "the list names all files: " + shown_file(three));
}

/// A dropped file is shown from every workspace and every picture: tensors in Explore, an output with its error.
CASE(opening, a_drop_shows_its_picture) {
  const Call call(hand.folder);
  for (const auto& [workspace, picture] :
       {std::pair{Workspace::sweep, PictureKind::rescales}, std::pair{Workspace::learn, PictureKind::output},
        std::pair{Workspace::train, PictureKind::heads}, std::pair{Workspace::explore, PictureKind::scores}}) {
    const auto look_elsewhere = [&hand, workspace = workspace, picture = picture] {
      hand.view().workspace = workspace, hand.view().picture = picture, hand.view().field = Field::b;
      hand.frames(4);
    };
    hand.open(small_session());
    look_elsewhere();
    hand.open_files({call.v, call.q, call.k});
    hand.check(hand.view().workspace == Workspace::explore, "tensors are shown in Explore");
    hand.expect_notice("q.npy, k.npy, v.npy");
    look_elsewhere();
    hand.open_files({call.o});
    hand.check(hand.view().workspace == Workspace::explore && hand.view().picture == PictureKind::output &&
                   hand.view().field == Field::a_error,
               "an output is shown as its error");
  }
  hand.check(!is_on_screen("Drop"), "no file is held over the window");
  hand.tell().dragging = true;
  hand.frames(3);
  hand.check(is_on_screen("Drop"), "the window shows the effect of a drop");
  hand.check(!held_over(), "no field is under the files");
  hand.move(hand.place(controls + "##kernel", 0.5f));
  hand.frames(3);
  hand.check(held_over() == FileUse::output, "the output's field accepts the files");
  hand.move(hand.place(controls + "##input", 0.5f));
  hand.frames(3);
  hand.check(held_over() == FileUse::tensors, "the input's field accepts Q, K and V");
  hand.move(hand.place(controls + "##seed", 0.5f));
  hand.frames(3);
  hand.check(!held_over(), "another field accepts none");
  hand.stage.told->dragging = false;
  hand.frames(3);
  hand.check(!held_over() && !is_on_screen("Drop"), "no file is held any more");
}

/// The settings of a link come with its files, or not at all.
CASE(opening, a_link_with_settings) {
  const Call call(hand.folder);
  hand.open(small_session());
  hand.settle();
  LinkMessage link{.files = {hand.folder / "gone.npy"}, .settings = {{"mask", "causal"}, {"format", "fp16"}}};
  hand.leaves("files that are gone", [&] { open_sent(link, hand.stage.context()), hand.settle(); });
  hand.expect_error("gone.npy");
  link.files = {call.q, call.k, call.v};
  open_sent(link, hand.stage.context());
  hand.settle();
  hand.check(hand.error().empty() && shown(hand).v[0] == 3, "the files are open: " + hand.error());
  hand.check(hand.experiment().problem.mask.kind == Mask::Kind::causal && hand.experiment().format == fp16,
             "with the settings");
}

/// An error is shown over the panels for some seconds, and is cleared when the mistake is corrected.
CASE(opening, an_error_goes_with_its_mistake) {
  const Call call(hand.folder);
  const std::string broken = hand.folder.write("broken.npy", "garbage");
  open_files({broken}, hand.stage.context());
  hand.frames(3);
  hand.check(has(hand.error(), "broken.npy") && is_on_screen("Error"), "the error is shown: " + hand.error());
  hand.open_files({call.o});
  hand.check(hand.error().empty() && !is_on_screen("Error"), "a file that opens clears the error");
  hand.stage.explorer().show_error("The text of the sweep is wrong.");
  hand.frames(3);
  hand.check(is_on_screen("Error"), "another error is shown");
  hand.frames(60 * 8);
  hand.check(!is_on_screen("Error") && !hand.error().empty(), "after a while only the status bar has it");
  hand.show(&View::zoom, {0, 0, 4, 4}, 3);
  hand.check(!hand.error().empty(), "a zoom does not clear the error");
  hand.session().sweep.seeds = 5;
  hand.frames(3);
  hand.check(hand.error().empty(), "another plan clears the error");
}

/// Letters that no font of the program has are drawn in another font of this machine.
CASE(opening, names_in_other_letters) {
  const auto missing = [&](unsigned letter) {
    ImFontBaked* const baked = ImGui::GetIO().Fonts->Fonts[0]->GetFontBaked(15);
    return baked->FindGlyphNoFallback(static_cast<ImWchar>(letter)) == nullptr;
  };
  constexpr unsigned script_A = 0x1d4d0, han = 0x6a21;  // a letter of mathematics; the first of 模型
  const bool has_script = !find_font_with({script_A}).file.empty(), has_han = !find_font_with({han}).file.empty();
  if (!has_script && !has_han) return;  // no font of this machine is tried
  const std::string name = "\xf0\x9d\x93\x90 \xe6\xa8\xa1.npy";
  hand.open_files({tensor(hand.folder, name, 1)});
  for (int i = 0; i < 3; ++i) hand.frames(8);
  hand.picture();
  hand.frames(3);
  if (has_script) hand.check(!missing(script_A), "a letter of mathematics is drawn");
  if (has_han) hand.check(!missing(han), "a Chinese character is drawn");
  hand.check(missing(0x3fffd), "a character that no font has stays missing");
}

}  // namespace

}  // namespace attoscope::testing::opening
