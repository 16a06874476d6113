// Tiles from on-chip memory, as FlashAttention chose them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/experiment/rules.h"
#include "kernels/experiment/traffic.h"
#include "ui/controls/controls.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr int most_elements = 1 << 30;
constexpr std::array<int, 4> kibibytes{48, 99, 163, 227};
constexpr std::array<Choice, 4> sizes{{
    {"48 KB", "The memory that every CUDA block may use without asking."},
    {"99 KB", "The most a block can have on compute capability 8.6 and 8.9: RTX 30 and 40, L4, L40."},
    {"163 KB", "The most a block can have on compute capability 8.0: A100."},
    {"227 KB", "The most a block can have on compute capability 9.0: H100, H200."},
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
  explain("The same in KB of the main format's elements.", fmt::format("KB = M * {} / 1024", bytes));
  ImGui::SameLine();
  label(Face::label, colours().secondary, "KB of " + name(format));
}

bool edit_helper(Experiment& e, View& view) {
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
  if (!for_a && !for_both) return false;
  if (for_both)
    e = with_tiles(e, t);
  else
    e.a = with_tiles(e.a, t);
  view.square_tiles &= has_square_tiles(e.a);  // tiles of two sizes end the square lock
  ImGui::CloseCurrentPopup();
  return true;
}

}  // namespace

bool edit_tiles_for_memory(Experiment& e, View& view, float width) {
  const TileSizes t = tiles_for_memory(view.on_chip_elements, e.problem.d);
  const std::string text =
      fitted(Face::label, fmt::format("M {}: {} × {}", view.on_chip_elements, t.block_q, t.block_k), width - px(12));
  if (push_button((text + "###tiles for M").c_str(), false, {width, 0})) ImGui::OpenPopup("tiles for M");
  explain(
      "FlashAttention's rule for tiles that fit into on-chip memory of M elements. Click to set M, in elements or KB, and to "
      "give the tiles to a or to both.",
      "Bc = ceil(M / 4d), Br = min(Bc, d)");
  ImGui::PushStyleColor(ImGuiCol_PopupBg, colours().panel);
  const bool open = ImGui::BeginPopup("tiles for M");
  const bool changed = open && edit_helper(e, view);
  if (open) ImGui::EndPopup();
  ImGui::PopStyleColor();
  return changed;
}

}  // namespace attoscope
