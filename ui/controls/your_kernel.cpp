// The loaded output of a kernel: file, method, verdict.
#include <fmt/format.h>

#include <algorithm>
#include <cfloat>

#include "kernels/experiment/letters.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/frame/loaded_output.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<LoadedPlace, Choice> places{{
    {"a", "Your kernel's output is method a, compared with method b."},
    {"b", "Your kernel's output is method b; a is computed."},
    {"off", "a and b are both computed; the file stays loaded."},
}};

/// "o.npy : 3 · BF16"
std::string title_of(const KernelOutput& o) {
  return shown_file(o.file) + (o.index > 0 ? fmt::format(" : {}", o.index) : "") + (o.type.empty() ? "" : " · " + o.type);
}

constexpr PathTexts path_of_output{FileUse::output, "FILE.npy or FILE.safetensors, :INDEX if it is not head 0",
                                   "The output O of your kernel on the Q, K, V above: n x d, heads x n x d or n x heads x d.",
                                   "O = softmax(scale Q K^T) V", "Reads the file, and compares it with golden."};

/// Choice of the output's head, for a file with several.
void output_head_combo(Experiment& e, const PanelInput& in, float width) {
  const WithField f(Face::label);
  if (begin_combo("##output head", fitted(Face::label, fmt::format("head {}", e.loaded.index), width - px(28)), width)) {
    for (int i = 0; i < in.choices.output.heads; ++i)
      if (ImGui::Selectable(fmt::format("head {}##{}", i, i).c_str(), i == e.loaded.index) && i != e.loaded.index)
        e.loaded = with_head(e.loaded, i);
    ImGui::EndCombo();
  } else {
    explain("The compared head of your kernel's output. It follows the head of Q, K, V while both are equal.");
  }
}

/// Choice of the file; true if the path popup must open.
bool kernel_combo(const Experiment& e, const PanelInput& in, float width, Requests& requests) {
  const Input& input = e.problem.input;
  const bool none = e.loaded.file.empty(), of_input = input.kind == InputKind::tensors && input.file == in.choices.tensors.file;
  const bool offered = of_input && in.choices.tensors.has_output && input.file != e.loaded.file;
  const std::string preview = !none ? title_of(e.loaded) : offered ? "the file also has an O ..." : "your kernel's output ...";
  bool type_path = false;
  const WithField f(Face::label);
  if (begin_combo("##kernel", fitted(Face::label, preview, width - px(36)), width)) {
    if (offered) {
      if (ImGui::Selectable(("O of " + shown_file(in.choices.tensors.file) + "###offered").c_str()))
        requests.files.open = FileRequest{FileUse::output, in.choices.tensors.file + fmt::format(":{}", input.index),
                                          loaded_place(e) == LoadedPlace::b};
      explain("The file of Q, K, V also has an output.");
    }
    type_path =
        file_entries(FileUse::output, in, requests,
                     "A .npy or .safetensors file with the output of your kernel. Dropping it onto the window does the same.");
    ImGui::EndCombo();
  } else {
    takes_files(FileUse::output);
    explain(
        "The output of your own kernel on the same Q, K, V, instead of a or b. It is compared with golden, without any further "
        "rounding.",
        none ? "O - golden" : e.loaded.file);
  }
  return type_path;
}

/// The sentences of the verdict, and the compared heads if they differ.
std::string sentence_of(const CallJudgement& call, const Experiment& e) {
  std::string text = conclusion_of(call);
  for (std::size_t i = 1; i < call.sentences.size(); ++i)
    text += (text.empty() || call.sentences[i].empty() ? "" : " ") + call.sentences[i];
  if (e.problem.input.kind == InputKind::tensors && e.loaded.index != e.problem.input.index)
    text += fmt::format(" Compared: head {} of O with head {} of Q, K, V.", e.loaded.index, e.problem.input.index);
  return text;
}

/// A button that swipes between the errors of the loaded output and of the named slip's output.
void slip_button(Session& session, const PanelInput& input) {
  const Slip* const slip = compared_slip(session.view, input);
  if (slip == nullptr) return;
  View& view = session.view;
  const bool on = compares_with_slip(view, input) && view.picture == PictureKind::output;
  ImGui::SameLine(0, px(6));
  if (push_button("swipe###slip", on)) {
    view.second_slip = !on;
    view.comparison = on ? Comparison::none : Comparison::swipe;
    view.picture = PictureKind::output;
    if (!on)
      view.field = view.second_field =
          input.answer.result->experiment.a.algorithm == Algorithm::loaded ? Field::a_error : Field::b_error;
  }
  explain("A swipe: errors of your kernel's output left of the divider, errors of the exact output of " + slip->text +
          " right of it. If your kernel has this slip, both halves are equal.");
}

/// Shows the tile of rows with an element of the loaded output, and pins the element.
void show_element(Session& session, const Result& result, int row, int column) {
  const Experiment& e = result.experiment;
  const bool of_a = e.a.algorithm == Algorithm::loaded;
  View& view = session.view;
  const int n = e.problem.n, tile = tile_rows(of_a ? e.b : e.a, n), first = row / tile * tile;
  view.picture = PictureKind::output;
  if (view.field != Field::tolerance) view.field = of_a ? Field::a_error : Field::b_error;
  view.zoom = {static_cast<double>(first), 0, static_cast<double>(std::min(first + tile, n)),
               static_cast<double>(value_columns(e.problem))};
  view.cell_row = row;
  view.cell_col = column;
  session.experiment.problem.traced_row = row;
}

}  // namespace

void edit_kernel(Experiment& e, const PanelInput& in, PathPrompt& prompt, Requests& requests) {
  const float room = ImGui::GetContentRegionAvail().x, right = e.loaded.file.empty() ? 0 : px(104);
  const OutputFileInfo& output = in.choices.output;
  const bool several = !e.loaded.file.empty() && output.file == e.loaded.file && output.heads > 1;
  const float heads = several ? px(output.heads > 100 ? 92 : 84) : 0;
  const ImVec2 at = ImGui::GetCursorScreenPos(), next{at.x, at.y + px(control_height) + ImGui::GetStyle().ItemSpacing.y};
  const bool chosen = kernel_combo(e, in, room - right - (right > 0 ? px(8) : 0) - (heads > 0 ? heads + px(8) : 0), requests);
  if (chosen) ImGui::OpenPopup("kernel file");
  path_popup("kernel file", prompt, in, path_of_output, requests, loaded_place(e) == LoadedPlace::b);
  if (right == 0) return;
  if (heads > 0) {
    ImGui::SameLine(0, px(8));
    output_head_combo(e, in, heads);
  }
  ImGui::SameLine(0, px(8));
  LoadedPlace place = loaded_place(e);
  // an output has no backward pass
  if_possible(!e.backward.on, [&] { segmented("kernel as", places, place, right); });
  if (place != loaded_place(e)) e = with_loaded(e, place);
  ImGui::SetCursorScreenPos(next);  // content below stays at the same height without an output
}

std::string conclusion_of(const CallJudgement& call) {
  std::string text = call.sentences[0];
  constexpr std::string_view rounded = "Rounded";
  if (call.heads < 2 || !text.starts_with(rounded)) return text;
  text.replace(0, rounded.size(), call.worst_row().name + " is rounded");
  text[0] = capital_letter(text[0]);
  return text;
}

Colour kernel_tone(const CallJudgement& call, const PanelInput& in) {
  if (in.messages.load_failed) return colours().secondary;
  if (!call.incomparable().empty()) return colours().text;
  const HeadVerdict* const head = shown_head_verdict(in);
  if (!call.rounded() || (head != nullptr && head->lse && !head->lse->judged.rounded)) return colours().bad;
  const Experiment& e = in.answer.result->experiment;
  return has_several_outputs(e, in.choices) && !shown_verdicts(e, in).rounded() ? colours().text : colours().good;
}

void draw_kernel_verdict(const PanelInput& in, float width, float height) {
  if (!in.answer.result || !has_loaded(in.answer.result->experiment)) return;
  const CallJudgement* const known = shown_verdict(in);
  std::string sentence =
      known != nullptr ? sentence_of(*known, in.answer.result->experiment) : "Rounded or wrong? It is being judged.";
  if (in.messages.load_failed) sentence = "Still of " + title_of(in.answer.result->experiment.loaded) + ": " + sentence;
  const bool is_a = in.answer.result->experiment.a.algorithm == Algorithm::loaded;
  const float chip = px(10);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_wrapped({at.x + chip, at.y}, Face::label, known != nullptr ? kernel_tone(*known, in) : colours().faint,
               fitted_lines(Face::label, sentence, width - chip, lines_within(Face::label, height)), FLT_MAX);
  if (ImGui::InvisibleButton("verdict", {width, height}, ImGuiButtonFlags_EnableNav)) ImGui::SetClipboardText(sentence.c_str());
  explain(sentence +
              "\nA click copies it. Each element has its own tolerance, twice the error of correct kernels in its row on these "
              "tensors: the verdict "
              "of attoscope judge. If it is wrong, every usual slip is computed, and one is named if it explains the error.",
          hardware_lines(*in.answer.result));
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + px(2)}, {at.x + px(3), at.y + height - px(2)},
                                            is_a ? colours().a : colours().b);
  ImGui::Dummy({0, px(4)});
}

float first_wrong_button(Session& session, const PanelInput& input) {
  const HeadVerdict* const verdict = shown_head_verdict(input);
  if (verdict == nullptr) return 0;
  const Result& result = *input.answer.result;
  const HeadJudgement& found = verdict->call.worst_row().found;
  const float left = ImGui::GetCursorScreenPos().x;
  bool drawn = false;
  if (found.first_row >= 0) {
    if (push_button("first wrong###first wrong")) show_element(session, result, found.first_row, found.worst_col);
    const std::size_t wrong = found.wrong_rows.size();
    explain((wrong == 1 ? "The only wrong row: rounding explains the errors of all others."
                        : fmt::format("The first of {} wrong rows.", wrong)) +
            fmt::format(" A click shows the tile of row {}, and pins the cell with its largest error.", found.first_row));
    ImGui::SameLine(0, px(6));
    drawn = true;
  }
  if (verdict->furthest_row >= 0) {
    if (push_button("furthest###furthest")) show_element(session, result, verdict->furthest_row, verdict->furthest_column);
    explain(fmt::format(
        "The element whose error is largest over its tolerance: row {}, dim {}. A click shows its tile, and pins it.",
        verdict->furthest_row, verdict->furthest_column));
    drawn = true;
  }
  if (!drawn) return 0;
  slip_button(session, input);
  return ImGui::GetItemRectMax().x + px(8) - left;
}

}  // namespace attoscope::ui
