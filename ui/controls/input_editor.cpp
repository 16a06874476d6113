// Source of Q, K, V, and the mask.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"
#include "ui/controls/controls.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<InputKind, Choice> inputs{{
    {"normal", "Q, K, V are independent draws of N(0, 1)."},
    {"uniform", "Independent draws from [0, 1): all scores are positive and close, V has a mean."},
    {"outliers", "N(0, 1) + N(0, 100) with probability 0.001: the mix of the FlashAttention-3 paper."},
    {"ones", "As normal, and V is all ones: the exact output is 1 everywhere, so all error comes from l and P."},
    {"constant", "Every element of Q, K, V is the same value: all scores tie."},
    {"ties", "Scores with planted equal maxima: several keys share the max, and rounding P to few bits shows its effect."},
    {"ascending",
     "Keys sorted so that scores rise: the running max moves in every tile, which gives the largest number of rescales."},
    {"descending", "Keys sorted so that scores fall: the first tile holds the max, so there is no rescale."},
    {"shuffled", "The same keys in random order: H_T - 1 rescales a row are expected."},
    {"biased", "V has a mean, 1 unless another is typed: sums rounded towards zero drift."},
    {"tensors", "Q, K, V of one head, read from a file."},
}};

constexpr std::array<Choice, 4> masks{{
    {"none", "Every query sees every key."},
    {"causal", "Query i sees keys 0 .. i. Wholly masked tiles are skipped."},
    {"window", "Query i sees itself and the keys just before it, `window` in all. Wholly masked tiles are skipped."},
    {"pad",
     "Causal, without the first `width` keys: a sequence padded on the left. The same number of rows see no key at all: their "
     "output is 0, or NaN if the options say so."},
}};

/// Makes a head of a file the input. The app reads it; the head's length limits N.
void choose_tensors(Problem& problem, const std::string& file, int index) {
  problem = with_input(problem, {.kind = InputKind::tensors,
                                 .value = problem.input.value,
                                 .file = file,
                                 .index = index,
                                 .digest = 0,
                                 .tensors = nullptr});
}

constexpr PathTexts path_of_tensors{
    FileUse::tensors, "FILE.safetensors, FILE.npz, a folder, or q.npy,k.npy,v.npy",
    "The path of a tensor file or of a folder of such files; :1 at the end takes its second head, [n h d] gives the order of "
    "its dimensions. Or several files separated by commas, files of scales last.",
    "qkv.safetensors:1    q.npy,k.npy,v.npy,k_scale=s.npy    dump/[n h d]:7", "Reads Q, K, V, N and d from the file."};

void input_combo(Problem& problem, const PanelInput& in, float width, Requests& requests) {
  Input& input = problem.input;
  const bool from_file = input.kind == InputKind::tensors;
  const std::string preview = from_file ? shown_stem(input.file) : std::string(name(input.kind));
  bool ask = false;
  const WithField f(Face::label);
  if (begin_combo("##input", fitted(Face::label, preview, width - px(36)), width)) {
    for (std::size_t i = 0; i + 1 < inputs.size(); ++i) {
      if (ImGui::Selectable(std::string(inputs[i].label).c_str(), input.kind == static_cast<InputKind>(i)))
        input.kind = static_cast<InputKind>(i);
      explain(inputs[i].what);
    }
    ImGui::Separator();
    const bool other = !input.file.empty() && input.file != in.choices.example_file;
    if (!in.choices.example_file.empty()) {
      if (ImGui::Selectable((shown_file(in.choices.example_file) + "###example").c_str(), from_file && !other)) {
        choose_tensors(problem, in.choices.example_file, 0);
        problem.n = max_n;
        problem.n_k = 0;
        problem.mask.kind = Mask::Kind::causal;
      }
      explain("Captured attention of a real language model, shipped with the program. Its mask is causal.");
    }
    if (other) {
      if (ImGui::Selectable((shown_file(input.file) + "###loaded").c_str(), from_file) && !from_file)
        choose_tensors(problem, std::string(input.file), input.index);
      explain(input.file);
    }
    if (from_file) {
      requests.files.list_tensors = ImGui::Selectable("its tensors ...");
      explain("A list of all tensors of the file: shapes, types, numbers, and which are used as Q, K, V, O and dO.");
    }
    ask = file_entries(FileUse::tensors, in, requests,
                       "A .safetensors, .pt, .gguf or .npz file with Q, K, V of one or more heads, .npy files, or a folder of "
                       "such files. Dropping them onto the window does the same.");
    ImGui::EndCombo();
  } else {
    takes_files(FileUse::tensors);
    explain(parameter("input").sentence, from_file ? input.file : std::string(inputs[input.kind].what));
  }
  if (ask) ImGui::OpenPopup("tensor file");
}

/// A name without its sequence, which has its own field.
std::string without_sequence(const std::string& name, const LayerEntry& layer) {
  const std::string own = "sequence " + std::to_string(layer.sequence);
  const std::size_t at = layer.sequence < 0 ? std::string::npos : name.find(own);
  if (at == std::string::npos) return name;
  const bool ends = at + own.size() == name.size();
  return name.substr(0, ends && at >= 2 ? at - 2 : at) + (ends ? "" : name.substr(at + own.size() + 2));
}

/// Lists the heads of one layer, under its name unless `is_alone`.
void layer_heads(Problem& problem, const TensorFileInfo& info, const LayerEntry& layer, bool is_alone) {
  const int now = problem.input.index;
  const std::string title = without_sequence(layer.name, layer);
  const bool own = now >= layer.first && now < layer.first + layer.heads;
  const int flags = ImGuiTreeNodeFlags_SpanAvailWidth | (own ? ImGuiTreeNodeFlags_DefaultOpen : 0);
  if (!is_alone && !ImGui::TreeNodeEx((title + "###layer " + std::to_string(layer.first)).c_str(), flags)) return;
  for (int i = layer.first; i < layer.first + layer.heads; ++i) {
    const std::string name = without_sequence(info.head_names[static_cast<std::size_t>(i)], layer), before = title + ", ";
    const std::string text = name.starts_with(before) ? name.substr(before.size()) : name;
    if (!ImGui::Selectable((text + "###head " + std::to_string(i)).c_str(), i == now) || i == now) continue;
    problem = on_head(problem, info, i);
    ImGui::CloseCurrentPopup();
  }
  if (!is_alone) ImGui::TreePop();
}

/// The sequence of a packed or paged call; layer and head stay.
void sequence_combo(Problem& problem, const TensorFileInfo& info, const LayerEntry& now, float width) {
  const WithField f(Face::label);
  const std::string layer = without_sequence(now.name, now), shown = "sequence " + std::to_string(now.sequence);
  if (begin_combo("##sequence", fitted(Face::label, shown, width - px(36)), width)) {
    for (const LayerEntry& x : info.layers) {
      if (x.sequence < 0 || without_sequence(x.name, x) != layer) continue;
      const bool is_now = x.first == now.first;
      const std::string sizes = "  " + counted(x.shape.n, "query", "queries") + ", " + counted(x.shape.n_k, "key");
      if (ImGui::Selectable(fmt::format("sequence {}{}###sequence {}", x.sequence, sizes, x.sequence).c_str(), is_now) &&
          !is_now)
        problem = on_head(problem, info, x.first + std::min(problem.input.index - now.first, x.heads - 1));
    }
    ImGui::EndCombo();
  } else {
    explain("The sequence of a packed or paged call. Layer and head stay.");
  }
}

/// The layer of the input's head; null: its file is not known yet.
const LayerEntry* layer_now(const Problem& problem, const TensorFileInfo& info) {
  const bool known = problem.input.kind == InputKind::tensors && info.file == problem.input.file && !info.head_names.empty();
  return known ? layer_of(info, problem.input.index) : nullptr;
}

/// True if the file of the input has several sequences.
bool has_sequences(const Problem& problem, const TensorFileInfo& info) {
  const LayerEntry* const now = layer_now(problem, info);
  return now != nullptr && now->sequence >= 0 && info.layers.size() > 1;
}

/// The head; preceded by the sequence if there are several.
void head_combo(Problem& problem, const TensorFileInfo& info, float width) {
  const LayerEntry* const now = layer_now(problem, info);
  const bool of_sequence = has_sequences(problem, info);
  if (of_sequence) {
    const float gap = px(6), half = std::floor((width - gap) / 2);
    sequence_combo(problem, info, *now, half);
    ImGui::SameLine(0, gap);
    width -= half + gap;
  }
  std::string name = now != nullptr ? info.head_names[static_cast<std::size_t>(problem.input.index)]
                                    : fmt::format("head {}", problem.input.index);
  if (of_sequence) name = without_sequence(name, *now);
  std::vector<const LayerEntry*> layers;
  for (const LayerEntry& x : info.layers)
    if (now != nullptr && (!of_sequence || x.sequence == now->sequence)) layers.push_back(&x);
  const WithField f(Face::label);
  if (begin_combo("##head", fitted(Face::label, name, width - px(36)), width)) {
    for (const LayerEntry* const x : layers) layer_heads(problem, info, *x, layers.size() == 1);
    ImGui::EndCombo();
  } else {
    explain(parameter("head").sentence, now != nullptr && !now->scales.empty() ? "scales: " + now->scales : "");
  }
}

/// Draws the name at the left of a field; the field gets the rest of `width`.
void name_field(const char* title, float width) {
  const float name_width = text_width(Face::label, title) + px(6);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::label, colours().secondary, title);
  ImGui::SetCursorScreenPos({at.x + name_width, at.y});
  ImGui::SetNextItemWidth(width - name_width);
}

void edit_value(Problem& problem, float width) {
  name_field("value", width);
  const WithField f(Face::mono);
  double value = problem.input.value;
  if (ImGui::InputDouble("##value", &value, 0, 0, "%.6g") && std::isfinite(value)) problem.input.value = value;
  explain(parameter("value").sentence, parameter("value").formula);
}

/// The parameter of the input kind, a head or a value; else a button that opens a file.
void edit_detail(Problem& problem, const PanelInput& in, float width, Requests& requests) {
  if (problem.input.kind == InputKind::tensors) return head_combo(problem, in.choices.tensors, width);
  if (has_value(problem.input.kind)) return edit_value(problem, width);
  if (push_button("open or drop a file###open file", false, {width, 0}) && must_type(FileUse::tensors, in, requests))
    ImGui::OpenPopup("tensor file");
  takes_files(FileUse::tensors);
  explain(
      "Your own Q, K and V: a .safetensors file with one or more heads, or three .npy files. Dropping them anywhere on the "
      "window does the same.",
      "FILE.safetensors, or q.npy,k.npy,v.npy");
}

constexpr PathTexts path_of_missing{
    FileUse::missing, "the file's new path",
    "The current path of this file. Other missing files are looked up by name in the same folder.", "folder/q.npy",
    "Uses this file instead of the missing one, and computes again."};

/// A line below the input if a file is missing or a tensor has changed since the session was saved.
void draw_file_state(const PanelInput& in, PathPrompt& prompt, Requests& requests) {
  const ChoicesInput& c = in.choices;
  const float room = ImGui::GetContentRegionAvail().x, button = px(84), gap = px(8);
  if (!c.missing.empty()) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const std::string text = fitted(Face::label, shown_file(c.missing) + " is missing", room - button - gap);
    draw_in_line(at, px(control_height), Face::label, colours().bad, text);
    ImGui::InvisibleButton("missing file", {room - button - gap, px(control_height)});
    explain(c.missing_text);
    ImGui::SameLine(0, gap);
    if (push_button("locate ...###locate", true, {button, 0}) && must_type(FileUse::missing, in, requests))
      ImGui::OpenPopup("missing file");
    takes_files(FileUse::missing);
    explain("Sets the new path of the file. The rest of the session stays.");
    path_popup("missing file", prompt, in, path_of_missing, requests);
  }
  if (c.changed_text.empty()) return;
  label(Face::label, colours().bad, fitted(Face::label, "tensors are not those of the session", room));
  explain(c.changed_text);
}

/// A pseudo-random successor of the seed, at most six digits.
std::uint64_t next_seed(std::uint64_t seed) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15u;  // splitmix64 (Steele, Lea, Flood 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  const std::uint64_t next = (x ^ (x >> 31)) % 1'000'000;
  return next == seed ? next + 1 : next;
}

/// The seed, with buttons to other seeds; grey unless numbers are `drawn`.
void edit_seed(Problem& problem, bool drawn, float width) {
  const float button = px(28), gap = px(4);
  const std::string none = drawn ? "" : "No random numbers: Q, K and V come from a file, and no rounding is stochastic.";
  ImGui::BeginDisabled(!drawn);
  name_field("seed", width - 2 * (button + gap));
  std::uint64_t seed = problem.seed;
  {
    const WithField f(Face::mono);
    ImGui::InputScalar("##seed", ImGuiDataType_U64, &seed);
  }
  explain(drawn ? parameter("seed").sentence : none, parameter("seed").formula);
  ImGui::SameLine(0, gap);
  if (push_button("+1###next seed", false, {button, 0})) ++seed;
  explain(drawn ? "The next seed: other draws from the same distribution. An effect at every seed is not random." : none,
          "seed + 1");
  ImGui::SameLine(0, gap);
  if (push_button("⚄###dice", false, {button, 0})) seed = next_seed(seed);
  explain(drawn ? "Any other seed." : none);
  ImGui::EndDisabled();
  problem.seed = seed;
}

/// Value of a typed scale: 0 if empty, negative if invalid.
double typed_scale(const std::string& text) { return text.empty() ? 0 : to_number<double>(text).value_or(-1); }

/// Factor of the scores; empty: 1/sqrt(d).
void edit_scale(Problem& problem, float width) {
  name_field("scale", width);
  const WithField f(Face::mono);
  std::string text = problem.scale == 0 ? std::string() : fmt::format("{:.6g}", problem.scale);
  const bool typed = ImGui::InputTextWithHint("##scale", "1/√d", &text, ImGuiInputTextFlags_CharsScientific);
  explain(parameter("scale").sentence,
          fmt::format("{}\nnow {:.6g}", std::string(parameter("scale").formula), scale_of(problem)));
  const double scale = typed_scale(text);
  if (typed && scale >= 0) problem.scale = scale;
}

void edit_mask_width(Mask& mask, float width) {
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(width);
  if (ImGui::InputInt("##window size", &mask.window, 0)) mask.window = std::clamp(mask.window, 1, max_n);
  switch (mask.kind) {
    case Mask::Kind::window:
      explain("The keys that a query sees: itself and those just before it.", "keys i - width + 1 .. i");
      break;
    case Mask::Kind::prefix:
      explain("The number of keys at the start that every query sees.", "keys 0 .. max(i, width - 1)");
      break;
    case Mask::Kind::chunk:
      explain("The number of keys in a chunk. A query sees the keys of its chunk up to its own.", "keys i - i mod width .. i");
      break;
    case Mask::Kind::right_padding:
      explain("The number of keys at the end that no query sees.", "keys 0 .. min(i, n_k - width - 1)");
      break;
    default:
      explain("The number of keys at the start that no query sees.", "keys width .. i");
  }
}

void edit_mask(Problem& problem) {
  Mask& mask = problem.mask;
  const bool wide = mask.has_width();
  const float gap = px(6), more = px(28), field = wide ? px(58) : 0;
  const float room = ImGui::GetContentRegionAvail().x - more - gap - (wide ? field + gap : 0);
  segmented("mask", masks, mask.kind, room);
  ImGui::SameLine(0, gap);
  if (wide) {
    edit_mask_width(mask, field);
    ImGui::SameLine(0, gap);
  }
  const WithId id("mask");
  edit_problem_options(problem, more);
}

}  // namespace

void edit_input(Experiment& e, const PanelInput& in, Popups& popups, Requests& requests) {
  Problem& problem = e.problem;
  const float room = ImGui::GetContentRegionAvail().x, gap = px(8);
  const bool has_line = has_sequences(problem, in.choices.tensors);  // sequence and head have their own line
  const float left = has_line ? room : std::floor((room - gap) * 0.48f);
  input_combo(problem, in, left, requests);
  if (!has_line) ImGui::SameLine(0, gap);
  edit_detail(problem, in, has_line ? room : room - gap - left, requests);
  path_popup("tensor file", popups.files[FileUse::tensors], in, path_of_tensors, requests);
  draw_file_state(in, popups.files[FileUse::missing], requests);
  edit_mask(problem);
  const float seed = std::floor((room - gap) * 0.64f);
  edit_seed(problem, depends_on_seed(e), seed);
  ImGui::SameLine(0, gap);
  edit_scale(problem, room - gap - seed);
}

}  // namespace attoscope::ui
