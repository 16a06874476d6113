// The list of a file's tensors: tensors used, choosing another by a click, numbers, the kept choice; a kernel's
// gradients.
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "app/files/files.h"
#include "imgui_internal.h"
#include "kernels/experiment/rules.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/output_files.h"
#include "ui/controls/controls.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/pictures.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/plot.h"

namespace attoscope::testing::tensor_list {
namespace {

const std::string list = "//Tensors/", row = "//Tensors/**/";
constexpr int n = 32, d = 16;

/// A file of n x d tensors with these names, filled with 1, 2, 3, ...
std::string file_of(const TemporaryDirectory& folder, const std::vector<std::string>& names) {
  std::vector<Stored> tensors;
  for (const std::string& name : names)
    tensors.push_back({name, {n, d}, std::vector<double>(n * d, static_cast<double>(tensors.size() + 1))});
  return folder.write("call.safetensors", bf16_file(tensors));
}

const Tensors& shown(Hand& hand) { return *hand.experiment().problem.input.tensors; }

/// Sequences of a packed call have a field next to the field of heads: a choice in one keeps the choice in the other.
CASE(tensors, sequences_have_a_field) {
  hand.open_files({"tests/data/packed/packed.pt"});
  const auto index = [&] { return hand.experiment().problem.input.index; };
  hand.check(index() < 4 && hand.experiment().problem.n == 5, "a head of the first sequence is shown");
  hand.choose(controls + "##head", "###head 3");
  hand.choose(controls + "##sequence", "###sequence 1", settled);
  hand.check(index() == 7 && hand.experiment().problem.n == 7 && key_count(hand.experiment().problem) == 14,
             "head 3 of sequence 1 is shown, with its own tokens");
  hand.choose(controls + "##head", "###head 5", settled);
  hand.check(index() == 5 && hand.experiment().problem.n == 7, "head 1 of the same sequence is shown");
}

/// Tensors without usual names are chosen by their letters; the choice is kept for the file until it is taken back.
CASE(tensors, letters_take_tensors) {
  hand.stage.places.recent = hand.folder / "state/recent.json";
  hand.open(small_session());
  const std::string file = file_of(hand.folder, {"a.x", "a.y", "b.z", "b.w"});
  hand.open_files({file});
  hand.await("a file without names shows its tensors", [&] { return hand.exists(row + "###Q a.x"); });
  hand.check(hand.view().show_tensors && hand.view().listed_file == file, "the list is of this file");
  hand.expect_error("has no three tensors");
  hand.check(hand.experiment().problem.input.kind == InputKind::normal, "the question stays");
  hand.leaves("Q alone", [&] { hand.click(row + "###Q a.x"); });
  hand.leaves("Q and K", [&] { hand.click(row + "###K b.z"); });
  hand.click(row + "###V a.y", settled);
  hand.check(hand.experiment().problem.input.kind == InputKind::tensors && shown(hand).q[0] == 1 && shown(hand).k[0] == 3 &&
                 shown(hand).v[0] == 2,
             "the third letter opens the call");
  hand.await("the list has V b.w", [&] { return hand.exists(row + "###V b.w"); });
  hand.click(row + "###V b.w", settled);
  hand.check(shown(hand).q[0] == 1 && shown(hand).k[0] == 3 && shown(hand).v[0] == 4, "one click takes another V");

  hand.click(list + "###close tensors");
  hand.check(!hand.view().show_tensors, "closed");
  hand.open(small_session());
  hand.open_files({file});
  hand.check(hand.experiment().problem.input.kind == InputKind::tensors && shown(hand).v[0] == 4,
             "the choice is kept for the file");
  hand.await("the list is open again", [&] { return hand.exists(list + "###as named"); });
  hand.click(list + "###as named");
  hand.await("by its names there is no call", [&] { return hand.view().listed_file == file; });
}

/// The table of the list on screen; null: none.
ImGuiTable* table_of_list() {
  ImGuiContext& g = *ImGui::GetCurrentContext();
  for (int i = 0; i < g.Tables.GetMapSize(); ++i)
    if (ImGuiTable* const t = g.Tables.TryGetMapData(i);
        t != nullptr && t->LastFrameActive >= g.FrameCount - 1 && std::string(t->OuterWindow->Name) == "Tensors")
      return t;
  return nullptr;
}

/// Names keep room in narrow panels, and all letters are within reach.
CASE(tensors, list_with_large_text) {
  hand.stage.places.recent = "";
  const std::string file = file_of(hand.folder, {"q", "k", "v", "mine", "grads", "e", "f", "g", "h"});
  for (const auto& [width, height, scale] : {std::tuple{1280, 800, 2.25}, {1024, 768, 1.5}, {800, 600, 1.0}}) {
    hand.resize(width, height);
    Session session = small_session();
    session.view.ui_scale = scale;
    hand.open(session);
    hand.open_files({file});
    const std::string where = std::to_string(width) + " pixels: ";
    if (!hand.await(where + "the list is shown", [] { return table_of_list() != nullptr; })) return;
    const ImGuiTable* const table = table_of_list();
    const float names = table->Columns[0].WidthGiven;
    hand.check(names >= px(100), where + "names have " + std::to_string(names));
    ImGui::SetScrollX(table->InnerWindow, table->InnerWindow->ScrollMax.x);
    hand.frames(3);
    const float right = hand.rect(hand.id(row + "###dO e")).Max.x;
    hand.check(right <= table->InnerWindow->InnerRect.Max.x, where + "the last letter ends at " + std::to_string(right));
  }
}

/// A tensor without finite elements has no smallest number, largest number or mean.
CASE(tensors, numbers_in_words) {
  hand.expect_text(statistics_text({}), "it is empty");
  hand.expect_text(statistics_text({.spec = "", .count = 3, .nonfinite = 3}), "3 numbers, none of them finite");
  hand.expect_text(statistics_text({.spec = "", .count = 3, .zeros = 1, .nonfinite = 2}),
                   "3 numbers, 0 .. 0, mean 0, RMS 0, 1 zero, 2 not finite");
}

/// An opened row shows its numbers; names select Q, K, V, and letters select O and dO.
CASE(tensors, rows_and_parts) {
  hand.stage.places.recent = "";
  hand.open(small_session());
  const std::string file = file_of(hand.folder, {"q", "k", "v", "mine", "grads", "e", "f", "g", "h"});
  hand.open_files({file});
  hand.frames(4);
  hand.check(hand.view().show_tensors && shown(hand).v[0] == 3, "a file with many tensors shows them");
  hand.click(row + "###mine");
  const auto numbers = [&] { return hand.stage.panel_input().side.tensor_statistics; };
  hand.await("the numbers are read", [&] { return numbers() != nullptr && numbers()->mean == 4 && numbers()->count == n * d; });
  hand.check(hand.stage.state->tensors.opened == file + ":mine", "the row is open");
  const ImRect name = hand.rect(hand.id(row + "###mine")), letter = hand.rect(hand.id(row + "###O mine"));
  hand.check(std::abs(name.GetCenter().y - letter.GetCenter().y) <= 1, "the name is beside the middle of its letters");
  hand.check(hand.explained_at({table_of_list()->Columns[1].MinX + px(20), name.Max.y + px(10)}),
             "the numbers go on over the columns of the shape and the type");
  hand.click(row + "###O mine");
  const auto values = [&] { return hand.experiment().loaded.values; };
  hand.await("O is compared", [&] { return has_loaded(hand.experiment()) && values() && (*values())[0] == 4; });
  hand.settle();
  hand.click(row + "###dO grads");
  const Backward& backward = hand.experiment().backward;
  hand.await("dO", [&] { return backward.on && backward.d_o_file.file == file + ":grads"; });
  hand.changes("closed", [&] { hand.click(list + "###close tensors"); }, [](Session& s) { s.view.show_tensors = false; });
  hand.ask("list its tensors");
  hand.check(hand.view().show_tensors, "the palette lists them");
  hand.click(list + "###close tensors");
  hand.choose(controls + "##input", "its tensors ...", [](Session& s) { s.view.show_tensors = true; });
}

/// Types the path of a kernel's gradient, which replaces a's, is judged, and is undone.
CASE(gradients, of_a_kernel) {
  Session session = small_session();
  session.experiment = with_backward(session.experiment);
  hand.open(session);
  const auto own = hand.result();
  const Matrix& golden = own->backward->golden->dq;
  std::vector<double> wrong = golden.values;
  for (double& x : wrong) x *= 2;
  Requests requests;
  for (const auto& [name, values] : {std::pair{"right.npy", &golden.values}, {"wrong.npy", &wrong}}) {
    write_file(hand.folder / name, npy_bytes(golden.rows, golden.cols, values->data()));
    hand.click(controls + "dQ/##incoming");
    hand.pick("open a file ...");
    hand.frames(2);
    hand.enter(hand.folder / name);
    hand.settle();
    const bool is_right = values == &golden.values;
    const auto found = [&] { return hand.stage.panel_input().side.kernel_gradients; };
    hand.await("the gradient is judged", [&] { return found() && found()->rounded[0] == is_right; });
    hand.check(hand.session().kernel_gradients.dq == hand.folder / name, "the file is in the session");
    const PanelInput input = hand.stage.panel_input();
    hand.check(input.answer.result->backward->a.dq.values == *values, "dQ is the file's");
    hand.check(input.answer.result->backward->a.dk.values == own->backward->a.dk.values, "dK is a's");
    hand.check(hand.stage.state->heat.result->a.values == *values, "the picture shows it");
    const std::string title = picture_title({hand.session(), input, *hand.stage.state, requests});
    hand.check(title.starts_with("Error of dQ of your kernel: "), title);
    hand.expect_text(title_of(tensor_table(*input.answer.result).columns[1]), "mean a");
  }
  hand.choose(controls + "dQ/##incoming", "a's", [](Session& s) { s.kernel_gradients.dq.clear(); });
  const auto numbers = [&] { return hand.result()->backward->a.dq.values; };
  hand.await("a's numbers are back", [&] { return numbers() == own->backward->a.dq.values; });
}

CASE(strip, long_legends_take_more_lines) {
  std::vector<LegendName> names(4);
  for (LegendName& name : names) name.name = "largest dS, three-pass";
  const float line = height_of_legend(4000, names, 3);
  hand.check(height_of_legend(300, names, 3) == 2 * line || height_of_legend(300, names, 3) == 3 * line,
             "more lines in less room");
  hand.check(height_of_legend(10, names, 3) == 3 * line && height_of_legend(10, names, 1) == line,
             "at most the requested number of lines");
}

}  // namespace
}  // namespace attoscope::testing::tensor_list
