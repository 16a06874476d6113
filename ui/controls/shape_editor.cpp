// Sizes: tokens, head dimension, tiles, rows to compute; the device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"
#include "kernels/experiment/traffic.h"
#include "ui/controls/controls.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// A size: its track without a file, the file's size, and the tooltip with a file.
struct Size {
  const char* key;
  int from, to;
  int Problem::* value;
  int Tensors::* given;
  const char* of_file;
};
constexpr std::array<Size, 4> problem_sizes{{
    {"n", 16, 65536, &Problem::n, &Tensors::n, "Tokens: the first N of the {} in the file."},
    {"n_k", 16, 131072, &Problem::n_k, &Tensors::n_k, "Keys: the first of the {} in the file."},
    {"d", 8, 256, &Problem::d, nullptr, "Head dimension: given by the tensors."},
    {"d_v", 8, 256, &Problem::d_v, nullptr, "Columns of V: given by the tensors."},
}};

/// A slider of a size. A file of tensors limits n and n_k, and sets d and d_v.
void edit_size(Problem& problem, const Size& size) {
  const Parameter& p = parameter(size.key);
  const bool from_file = problem.input.kind == InputKind::tensors, limited = size.given != nullptr;
  const Tensors* const tensors = from_file && limited ? problem.input.tensors.get() : nullptr;
  const int most = tensors != nullptr ? tensors->*size.given : static_cast<int>(p.range.max);
  const std::string name(p.label);
  const Slider spec = tensors != nullptr ? Slider{name.c_str(), 1, most, 1, most, true}
                                         : Slider{name.c_str(), size.from, size.to, 1, most, true};
  if_possible(!from_file || limited, [&] { slider(spec, problem.*size.value); });
  const std::string typable = fmt::format("{} Click the number to type any value up to {}.", p.sentence, most);
  explain(tensors != nullptr ? fmt::format(fmt::runtime(size.of_file), most) + " Click the number to type any value from 1."
          : from_file && !limited ? std::string(size.of_file)
                                  : typable,
          p.formula);
}

void edit_tiles(Experiment& e, bool square) {
  for (const bool of_keys : {true, false}) {
    const Parameter& p = parameter(of_keys ? "block_k" : "block_q");
    int side = of_keys ? e.a.block_k : e.a.block_q;
    if (slider({p.key.c_str(), 1, 2048, 1, max_n, true}, side))
      e = square ? with_tiles(e, {side, side}) : of_keys ? with_block_k(e, side) : with_block_q(e, side);
    explain(std::string(p.sentence) + (of_keys ? " Click the number to type any value." : ""), p.formula);
  }
}

std::string rows_text(int rows) { return rows == 0 ? std::string("all rows") : counted(rows, "row"); }

/// Usual numbers of rows, and a field for any other.
void choose_rows(Problem& problem) {
  for (const int rows : {0, 64, 256, 1024, 4096}) {
    if (rows >= problem.n && rows != 0) continue;
    if (ImGui::Selectable(rows_text(rows).c_str(), rows == problem.rows)) problem.rows = rows;
    explain(rows == 0 ? std::string("Every query row.")
                      : fmt::format("{} rows, {} apart: faster, and exact for these rows.", rows, problem.n / rows));
  }
  ImGui::SetNextItemWidth(px(84));
  int typed = problem.rows;
  if (ImGui::InputInt("##rows typed", &typed, 0, 0, ImGuiInputTextFlags_EnterReturnsTrue)) {
    problem.rows = std::clamp(typed, 0, max_n);
    ImGui::CloseCurrentPopup();
  }
  explain("Any number of rows; 0: all.");
}

void rows_combo(Problem& problem, float width) {
  const WithField f(Face::label);
  if (!begin_combo("##rows", rows_text(problem.rows), width))
    return explain(parameter("rows").sentence, parameter("rows").formula);
  choose_rows(problem);
  ImGui::EndCombo();
}

/// Square lock of the two tile sizes (off if the sizes differ), and a button that exchanges them.
void square_and_swap(Experiment& e, bool& locked) {
  bool square = locked && has_square_tiles(e.a);
  if (toggle("square", square, px(76))) {
    locked = square;
    if (square && !has_square_tiles(e.a)) e = with_block_q(e, e.a.block_k);
  }
  explain("Keeps block_q equal to block_k: changing one changes both.", "block_q = block_k");
  ImGui::SameLine();
  if (push_button("swap", false, {px(46), 0}) && !has_square_tiles(e.a)) e = with_swapped_tiles(e);
  explain("Exchanges block_q and block_k. Wider tiles of keys round the running state less often; block_q changes no bit.",
          "block_q x block_k  ->  block_k x block_q");
}

constexpr int most_elements = 1 << 30;
constexpr std::array<int, 4> kibibytes{48, 99, 163, 227};
constexpr std::array<Choice, 4> sizes{{
    {"48 KB", "The memory that every CUDA block may use without opt-in."},
    {"99 KB", "The maximum of a block on compute capability 8.6 and 8.9: RTX 30 and 40, L4, L40."},
    {"163 KB", "The maximum of a block on compute capability 8.0: A100."},
    {"227 KB", "The maximum of a block on compute capability 9.0: H100, H200."},
}};

/// M in elements, and in KB of D's elements: two views of one number.
void edit_M(int& elements, const Format& format) {
  const int bytes = element_bytes(format);
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(128));
  int typed = elements;
  if (ImGui::InputInt("##M elements", &typed, 0)) elements = std::clamp(typed, 1, most_elements);
  explain("On-chip memory M that one step of the inner loop may fill, in elements.", "M");
  ImGui::SameLine();
  label(Face::label, colours().secondary, "elements =");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(px(84));
  double kilo = elements * static_cast<double>(bytes) / 1024;
  if (ImGui::InputDouble("##M KB", &kilo, 0, 0, "%.6g") && std::isfinite(kilo))
    elements = static_cast<int>(std::clamp(std::floor(kilo * 1024 / bytes), 1.0, double{most_elements}));
  explain("M in KB, for elements of the main format.", fmt::format("KB = M * {} / 1024", bytes));
  ImGui::SameLine();
  label(Face::label, colours().secondary, "KB of " + name(format));
}

void edit_helper(Experiment& e, View& view) {
  label(Face::section, colours().faint, "TILES FROM ON-CHIP MEMORY");
  edit_M(view.on_chip_elements, e.format);
  const int bytes = element_bytes(e.format);
  const auto same = std::ranges::find_if(kibibytes, [&](int kilo) { return kilo * 1024 / bytes == view.on_chip_elements; });
  int chosen = same == kibibytes.end() ? -1 : static_cast<int>(same - kibibytes.begin());
  if (segmented("M of", sizes, chosen, px(392)))
    view.on_chip_elements = kibibytes[static_cast<std::size_t>(chosen)] * 1024 / bytes;
  const TileSizes t = tiles_for_memory(view.on_chip_elements, e.problem.d);
  label(Face::mono, colours().text,
        fmt::format("Bc = ceil(M / 4d) = ceil({} / {}) = {}", view.on_chip_elements, 4 * e.problem.d, t.block_k));
  label(Face::mono, colours().text, fmt::format("Br = min(Bc, d)   = min({}, {}) = {}", t.block_k, e.problem.d, t.block_q));
  label(Face::small, colours().secondary, "arXiv 2205.14135, Algorithm 1, line 1: M is shared by tiles of Q, K, V and O");
  const bool for_a = push_button("for a");
  explain("Gives method a these tiles.", "block_k = Bc, block_q = Br");
  ImGui::SameLine();
  const bool for_both = push_button("for a and b");
  explain("Gives both methods these tiles.", "block_k = Bc, block_q = Br");
  if (!for_a && !for_both) return;
  if (for_both)
    e = with_tiles(e, t);
  else
    e.a = with_tiles(e.a, t);
  view.square_tiles &= has_square_tiles(e.a);  // tiles of two sizes end the square lock
  ImGui::CloseCurrentPopup();
}

bool is_gpu(const DeviceEntry& e) { return e.spec.starts_with("cuda"); }

/// Entries of the list: auto, each device, and all usable GPUs together if there are several.
std::vector<DeviceEntry> choices_of(const std::vector<DeviceEntry>& devices) {
  std::vector<DeviceEntry> all{
      {"auto", "the GPU that draws, or the first; the CPU for fewer than 512 rows or without a GPU", ""}};
  std::string together;
  int gpus = 0;
  if (devices.empty()) all.push_back({"cpu", "the processor", ""});
  for (const DeviceEntry& e : devices) {
    all.push_back(e);
    if (!is_gpu(e) || !e.reason.empty()) continue;
    together += (gpus++ > 0 ? "," : "") + e.spec;
  }
  if (gpus > 1) all.push_back({together, fmt::format("{} GPUs, each with a part of the rows", gpus), ""});
  return all;
}

/// One sentence why the session's device is unavailable; empty: available. "cuda" is the first GPU; a list needs all its
/// devices.
std::string reason_against(const std::string& device, const std::vector<DeviceEntry>& choices) {
  if (device.empty()) return "The session names no device; expected auto, cpu or one of the list.";
  for (const std::string_view one : split(device, ",")) {
    const auto entry =
        std::ranges::find_if(choices, [&](const DeviceEntry& e) { return e.spec == one || (one == "cuda" && is_gpu(e)); });
    if (entry == choices.end())
      return "This machine has no device '" + std::string(one) + "'; expected auto, cpu or one of the list.";
    if (!entry->reason.empty()) return entry->reason;
  }
  return "";
}

void choose(std::string& device, const std::vector<DeviceEntry>& choices) {
  for (const DeviceEntry& e : choices) {
    const std::string text = e.spec + "###" + e.spec;
    if (if_possible(e.reason.empty(), [&] { return ImGui::Selectable(text.c_str(), e.spec == device); })) device = e.spec;
    explain(e.reason.empty() ? e.name : e.name.empty() ? e.reason : e.name + ": " + e.reason);
  }
  if (const std::string reason = reason_against(device, choices); !reason.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, colours().bad);
    if_possible(false, [&] { return ImGui::Selectable((device + "###unknown device").c_str(), true); });
    ImGui::PopStyleColor();
    explain(reason);
  }
}

/// A button with a popup: FlashAttention's rule for tiles that fit into on-chip memory M.
void edit_tiles_for_memory(Experiment& e, View& view, float width) {
  const TileSizes t = tiles_for_memory(view.on_chip_elements, e.problem.d);
  const double kilo = view.on_chip_elements * static_cast<double>(element_bytes(e.format)) / 1024;
  const std::string text = fitted(Face::label, fmt::format("tiles that fit {:.4g} KB …", kilo), width - px(12));
  if (push_button((text + "###tiles for M").c_str(), false, {width, 0})) ImGui::OpenPopup("tiles for M");
  explain(fmt::format("FlashAttention's rule for tiles that fit into on-chip memory of M = {} elements: {} x {}. Click to set "
                      "M, in elements or KB, and to give the tiles to a or to both.",
                      view.on_chip_elements, t.block_q, t.block_k),
          "Bc = ceil(M / 4d), Br = min(Bc, d)");
  in_popup("tiles for M", [&] { edit_helper(e, view); });
}

/// The device; unavailable ones are greyed, with their reason.
void edit_device(std::string& device, const PanelInput& input, float width) {
  const std::vector<DeviceEntry> choices = choices_of(input.choices.devices);
  const std::string reason = reason_against(device, choices);
  const WithField f(Face::label);
  const std::string preview = fitted(Face::label, device == "auto" ? "device: auto" : device, width - px(36));
  if (!begin_combo("##device", preview, width, reason.empty() ? std::nullopt : std::optional(colours().bad)))
    return explain(reason.empty() ? "The device that computes. Emulated kernels give the same bits everywhere, so this changes "
                                    "only their time; the method `hardware` runs only on the GPU."
                                  : reason,
                   input.answer.device.empty() ? "" : "the answer on screen: " + input.answer.device);
  choose(device, choices);
  ImGui::EndCombo();
}

}  // namespace

void edit_shape(Session& session, const PanelInput& input) {
  Experiment& e = session.experiment;
  bool& square = session.view.square_tiles;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  for (const Size& size : problem_sizes)  // n_k and d_v only if they are set
    if (e.problem.*size.value != 0) edit_size(e.problem, size);
  edit_tiles(e, square && has_square_tiles(e.a));
  ImGui::PopStyleVar();
  const float room = ImGui::GetContentRegionAvail().x, gap = px(6), half = std::floor((room - gap) * 0.42f);
  const WithSpacing spacing({gap, px(4)});
  square_and_swap(e, square);
  ImGui::SameLine();
  edit_tiles_for_memory(e, session.view, room - px(76 + 46) - 2 * gap);
  rows_combo(e.problem, half);
  ImGui::SameLine();
  edit_device(session.device, input, room - gap - half);
}

}  // namespace attoscope::ui
