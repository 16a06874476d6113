// Sizes: tokens, head dimension, tiles, rows to compute; the device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/frame/panel_input.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// A size: its track without a file, the file's own size, and the words for what the file sets.
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
bool edit_size(Problem& problem, const Size& size) {
  const Parameter& p = parameter(size.key);
  const bool from_file = problem.input.kind == InputKind::tensors, limited = size.given != nullptr;
  const Tensors* const tensors = from_file && limited ? problem.input.tensors.get() : nullptr;
  const int most = tensors != nullptr ? tensors->*size.given : static_cast<int>(p.range.max);
  const std::string name(p.label);
  const Slider spec = tensors != nullptr ? Slider{name.c_str(), 1, most, 1, most, true}
                                         : Slider{name.c_str(), size.from, size.to, 1, most, true};
  ImGui::BeginDisabled(from_file && !limited);
  const bool changed = slider(spec, problem.*size.value);
  ImGui::EndDisabled();
  const std::string typable = fmt::format("{} Click the number to type any value up to {}.", p.sentence, most);
  explain(tensors != nullptr ? fmt::format(fmt::runtime(size.of_file), most) + " Click the number to type any value from 1."
          : from_file && !limited ? std::string(size.of_file)
                                  : typable,
          p.formula);
  return changed;
}

/// The sizes; n_k and d_v where they are set apart.
bool edit_sizes(Problem& problem) {
  bool changed = false;
  for (const Size& size : problem_sizes)
    if (problem.*size.value != 0) changed |= edit_size(problem, size);
  return changed;
}

bool edit_tiles(Experiment& e, bool square) {
  bool changed = false;
  for (const bool of_keys : {true, false}) {
    const Parameter& p = parameter(of_keys ? "block_k" : "block_q");
    int side = of_keys ? e.a.block_k : e.a.block_q;
    if (slider({p.key.c_str(), 1, 2048, 1, max_n, true}, side)) {
      e = square ? with_tiles(e, {side, side}) : of_keys ? with_block_k(e, side) : with_block_q(e, side);
      changed = true;
    }
    explain(std::string(p.sentence) + (of_keys ? " Click the number to type any value." : ""), p.formula);
  }
  return changed;
}

std::string rows_text(int rows) { return rows == 0 ? std::string("all rows") : fmt::format("{} rows", rows); }

/// Usual numbers of rows, and a field for any other.
bool choose_rows(Problem& problem) {
  bool changed = false;
  for (const int rows : {0, 64, 256, 1024, 4096}) {
    if (rows >= problem.n && rows != 0) continue;
    if (ImGui::Selectable(rows_text(rows).c_str(), rows == problem.rows)) {
      problem.rows = rows;
      changed = true;
    }
    explain(rows == 0 ? std::string("Every query row.")
                      : fmt::format("{} rows, {} apart: faster, and exact for these rows.", rows, problem.n / rows));
  }
  ImGui::SetNextItemWidth(px(84));
  int typed = problem.rows;
  if (ImGui::InputInt("##rows typed", &typed, 0, 0, ImGuiInputTextFlags_EnterReturnsTrue)) {
    problem.rows = std::clamp(typed, 0, max_n);
    changed = true;
    ImGui::CloseCurrentPopup();
  }
  explain("Any number of rows; 0: all.");
  return changed;
}

bool rows_combo(Problem& problem, float width) {
  const WithField f(Face::label);
  if (!begin_combo("##rows", rows_text(problem.rows), width)) {
    explain(parameter("rows").sentence, parameter("rows").formula);
    return false;
  }
  const bool changed = choose_rows(problem);
  ImGui::EndCombo();
  return changed;
}

/// Square lock of the two tile sizes, and a button that exchanges them.
bool square_and_swap(Experiment& e, bool& square) {
  bool changed = false;
  if (toggle("square", square, px(76)) && square && !has_square_tiles(e.a)) {
    e = with_block_q(e, e.a.block_k);
    changed = true;
  }
  explain("Keeps block_q equal to block_k: changing one changes both.", "block_q = block_k");
  ImGui::SameLine();
  if (push_button("swap", false, {px(46), 0}) && !has_square_tiles(e.a)) {
    e = with_swapped_tiles(e);
    changed = true;
  }
  explain("Exchanges block_q and block_k. Wider tiles of keys round the running state less often; block_q changes no bit.",
          "block_q x block_k  ->  block_k x block_q");
  return changed;
}

}  // namespace

bool edit_shape(Session& session, const PanelInput& input) {
  Experiment& e = session.experiment;
  bool& square = session.view.square_tiles;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  bool changed = edit_sizes(e.problem);
  changed |= edit_tiles(e, square);
  ImGui::PopStyleVar();
  const float room = ImGui::GetContentRegionAvail().x, gap = px(6), half = std::floor((room - gap) * 0.42f);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, px(4)});
  changed |= square_and_swap(e, square);
  ImGui::SameLine();
  changed |= edit_tiles_for_memory(e, session.view, room - px(76 + 46) - 2 * gap);
  changed |= rows_combo(e.problem, half);
  ImGui::SameLine();
  changed |= edit_device(session.device, input, room - gap - half);
  ImGui::PopStyleVar();
  return changed;
}

}  // namespace attoscope
