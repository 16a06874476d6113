// Somebody's own output: which file, in whose place, and whether it is rounded or wrong.
#include <algorithm>
#include <array>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/presets.h"
#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

constexpr std::array<Choice, 3> places{{
    {"a", "Your kernel's output stands under the microscope, as method a; b is its rival."},
    {"b", "Your kernel's output is the rival, method b; a is computed."},
    {"off", "a and b are both computed; the file stays at hand."},
}};

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

int place_of(const Experiment& e) {
  return e.a.algorithm == Algorithm::loaded ? 0 : e.b.algorithm == Algorithm::loaded ? 1 : 2;
}

/// The output stands for a (0), b (1) or nobody; who is rid of it is computed as by default.
void put(Experiment& e, int place) {
  const Experiment usual = default_experiment();
  if (e.a.algorithm == Algorithm::loaded) e.a.algorithm = usual.a.algorithm;
  if (e.b.algorithm == Algorithm::loaded) e.b.algorithm = usual.b.algorithm;
  if (place < 2) (place == 0 ? e.a : e.b).algorithm = Algorithm::loaded;
}

/// "o.npy : 3 · BF16"
std::string title_of(const KernelOutput& o) {
  return file_name(o.file) + (o.index > 0 ? printed(" : %d", o.index) : "") + (o.type.empty() ? "" : " · " + o.type);
}

void ask_for(const std::string& spec, const Experiment& e, Wishes& wishes) {
  wishes.open_kernel = spec;
  wishes.kernel_as_b = place_of(e) == 1;
}

void path_popup(const Experiment& e, std::string& typed, Wishes& wishes, const Palette& colours) {
  if (!ImGui::BeginPopup("kernel file")) return;
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  label(Face::small, colours.secondary, "FILE.npy or FILE.safetensors, :INDEX for another head than 0");
  bool entered = false;
  {
    const WithField f(Face::mono);
    ImGui::SetNextItemWidth(px(300));
    entered = ImGui::InputText("##kernel path", &typed, ImGuiInputTextFlags_EnterReturnsTrue);
    explain("The output O of your kernel on the Q, K, V above: n x d, heads x n x d or n x heads x d.",
            "O = softmax(scale Q K^T) V");
  }
  ImGui::SameLine();
  if ((push_button("open", colours) || entered) && !typed.empty()) {
    ask_for(typed, e, wishes);
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

/// True where a path is to be typed.
bool kernel_combo(const Experiment& e, const Frame& frame, float width, Wishes& wishes) {
  const Input& input = e.problem.input;
  const bool none = e.loaded.file.empty(), of_input = input.kind == InputKind::tensors && input.file == frame.tensors.file;
  const bool offered = of_input && frame.tensors.has_output && input.file != e.loaded.file;
  const std::string preview = !none     ? title_of(e.loaded)
                              : offered ? "the file holds an O, too ..."
                                        : "your kernel's output ...";
  bool type_path = false;
  const WithField f(Face::label);
  if (begin_combo("##kernel", fitted(Face::label, preview, width - px(36)), width)) {
    if (offered) {
      if (ImGui::Selectable(("O of " + file_name(frame.tensors.file) + "###offered").c_str()))
        ask_for(frame.tensors.file + printed(":%d", input.index), e, wishes);
      explain("The file of Q, K, V holds an output, too.");
    }
    type_path = ImGui::Selectable("open a file ...");
    explain("A .npy or .safetensors file with the output of your kernel. Dropping it onto the window does the same.");
    ImGui::EndCombo();
  } else {
    explain(
        "The output of your own kernel on the same Q, K, V, in the place of a or b. It is held against the truth as it is "
        "stored.",
        none ? "O - golden" : e.loaded.file);
  }
  return type_path;
}

/// The text in at most `count` lines of `width`, the last one cut short.
std::vector<std::string> lines_of(std::string_view text, float width, int count) {
  const WithFace f(Face::label);
  std::vector<std::string> lines;
  while (!text.empty() && static_cast<int>(lines.size()) < count) {
    const char* end = text.data() + text.size();
    const char* stop = static_cast<int>(lines.size()) + 1 == count
                           ? end
                           : ImGui::GetFont()->CalcWordWrapPosition(ImGui::GetFontSize(), text.data(), end, width);
    const auto length = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, stop - text.data()));
    lines.push_back(fitted(Face::label, text.substr(0, length), width));
    text.remove_prefix(length);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return lines;
}

Colour tone_of(const Diagnosis& d, const Palette& colours) {
  if (d.verdict == Diagnosis::Verdict::rounded) return colours.good;
  return d.verdict == Diagnosis::Verdict::wrong ? colours.bad : colours.text;
}

}  // namespace

bool edit_kernel(Experiment& e, const Frame& frame, const Palette& colours, std::string& typed, Wishes& wishes) {
  const float room = ImGui::GetContentRegionAvail().x, right = e.loaded.file.empty() ? 0 : px(104);
  if (kernel_combo(e, frame, room - right - (right > 0 ? px(8) : 0), wishes)) ImGui::OpenPopup("kernel file");
  path_popup(e, typed, wishes, colours);
  if (right == 0) return false;
  ImGui::SameLine(0, px(8));
  int place = place_of(e);
  const bool changed = segmented("kernel as", colours, places, place, right);
  if (changed) put(e, place);
  return changed;
}

void draw_kernel_verdict(const Frame& frame, const Palette& colours, float width, Wishes& wishes) {
  if (!frame.result || !has_loaded(frame.result->experiment)) return;
  const bool known = frame.diagnosis && frame.diagnosis->experiment == frame.result->experiment;
  wishes.diagnose = !known;
  const float line = px(17), chip = px(10);
  const int count = ImGui::GetContentRegionAvail().y < px(560) ? 2 : 3;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({width, static_cast<float>(count) * line + px(4)});
  const std::string sentence = known ? frame.diagnosis->sentence : "Rounded or wrong? Every usual slip is being tried.";
  explain(
      "Your kernel's largest error against twice that of its rival, or of rounding to its type where that is larger. Outside "
      "the line every usual slip of scale, mask, rescale, layout, head and tail is computed for itself: one is named where the "
      "error all but vanishes against it.\n" +
          sentence,
      "max |O - golden| <= 2 max |rival - golden|" + hardware_lines(*frame.result));
  const bool is_a = frame.result->experiment.a.algorithm == Algorithm::loaded;
  const std::vector<std::string> lines = lines_of(sentence, width - chip, count);
  const float end = at.y + static_cast<float>(lines.size()) * line;
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + px(2)}, {at.x + px(3), end - px(2)}, is_a ? colours.a : colours.b);
  float y = at.y;
  for (const std::string& text : lines) {
    draw_text({at.x + chip, y}, Face::label, known ? tone_of(*frame.diagnosis, colours) : colours.faint, text);
    y += line;
  }
}

}  // namespace attoscope
