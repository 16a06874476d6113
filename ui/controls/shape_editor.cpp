// Sizes: tokens, head dimension, tiles, rows to compute; the device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/experiment/experiment_parameters.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/frame/panel_input.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

/// Meaning of a number, and the largest value that can be typed.
std::string typable(const ExperimentParameter& p) {
  return std::string(p.sentence) + fmt::format(" Click the number to type any value up to {:.0f}.", p.range.max);
}

bool edit_sizes(Problem& problem, const Palette& colours) {
  const bool fixed = problem.input.kind == InputKind::tensors;
  const Tensors* given = fixed ? problem.input.tensors.get() : nullptr;
  const Slider tokens = given != nullptr ? Slider{"N", 1, given->n, 1, given->n, true} : Slider{"N", 16, 65536, 1, max_n, true};
  bool changed = slider(tokens, colours, problem.n);
  constexpr const ExperimentParameter& n = parameter("n");
  explain(given != nullptr
              ? fmt::format("Tokens: the first N of the {} in the file. Click the number to type any value from 1.", given->n)
              : typable(n),
          n.formula);
  if (problem.n_k != 0) {  // n_k is set apart
    const Slider keys =
        given != nullptr ? Slider{"keys", 1, given->n_k, 1, given->n_k, true} : Slider{"keys", 16, 131072, 1, max_n, true};
    changed |= slider(keys, colours, problem.n_k);
    constexpr const ExperimentParameter& n_k = parameter("n_k");
    explain(given != nullptr
                ? fmt::format("Keys: the first of the {} in the file. Click the number to type any value from 1.", given->n_k)
                : typable(n_k),
            n_k.formula);
  }
  ImGui::BeginDisabled(fixed);
  changed |= slider({"d", 8, 256, 1, max_d, true}, colours, problem.d);
  constexpr const ExperimentParameter& d = parameter("d");
  explain(fixed ? std::string("Head dimension: given by the tensors.") : typable(d), d.formula);
  if (problem.d_v != 0) {
    changed |= slider({"d_v", 8, 256, 1, max_d, true}, colours, problem.d_v);
    constexpr const ExperimentParameter& d_v = parameter("d_v");
    explain(fixed ? std::string("Columns of V: given by the tensors.") : typable(d_v), d_v.formula);
  }
  ImGui::EndDisabled();
  return changed;
}

bool edit_tiles(Experiment& e, bool square, const Palette& colours) {
  bool changed = false;
  TileSizes tiles = tiles_of(e.a);
  if (slider({"block_k", 1, 2048, 1, max_n, true}, colours, tiles.block_k)) {
    e = square ? with_tiles(e, {tiles.block_k, tiles.block_k}) : with_block_k(e, tiles.block_k);
    changed = true;
  }
  explain(fmt::format("{} Click the number to type any value.", parameter("block_k").sentence), parameter("block_k").formula);
  tiles = tiles_of(e.a);
  if (slider({"block_q", 1, 2048, 1, max_n, true}, colours, tiles.block_q)) {
    e = square ? with_tiles(e, {tiles.block_q, tiles.block_q}) : with_block_q(e, tiles.block_q);
    changed = true;
  }
  explain(parameter("block_q").sentence, parameter("block_q").formula);
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
bool square_and_swap(Experiment& e, bool& square, const Palette& colours) {
  bool changed = false;
  if (toggle("square", colours, square, px(76)) && square && !has_square_tiles(e.a)) {
    e = with_block_q(e, e.a.block_k);
    changed = true;
  }
  explain("Keeps block_q equal to block_k: changing one changes both.", "block_q = block_k");
  ImGui::SameLine();
  if (push_button("swap", colours, false, {px(46), 0}) && !has_square_tiles(e.a)) {
    e = with_swapped_tiles(e);
    changed = true;
  }
  explain("Exchanges block_q and block_k. Wider tiles of keys round the running state less often; block_q changes no bit.",
          "block_q x block_k  ->  block_k x block_q");
  return changed;
}

}  // namespace

bool edit_shape(Session& session, const PanelInput& input, const Palette& colours) {
  Experiment& e = session.experiment;
  bool& square = session.view.square_tiles;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  bool changed = edit_sizes(e.problem, colours);
  changed |= edit_tiles(e, square, colours);
  ImGui::PopStyleVar();
  const float room = ImGui::GetContentRegionAvail().x, gap = px(6), half = std::floor((room - gap) * 0.42f);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, px(4)});
  changed |= square_and_swap(e, square, colours);
  ImGui::SameLine();
  changed |= edit_tiles_for_memory(e, session.view, colours, room - px(76 + 46) - 2 * gap);
  changed |= rows_combo(e.problem, half);
  ImGui::SameLine();
  changed |= edit_device(session.device, input, colours, room - gap - half);
  ImGui::PopStyleVar();
  return changed;
}

}  // namespace attoscope
