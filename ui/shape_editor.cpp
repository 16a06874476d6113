// Sizes: tokens, head dimension, tiles, rows to compute, and what computes them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

bool edit_sizes(Problem& problem, const Palette& colours) {
  const bool fixed = problem.input.kind == InputKind::tensors;
  const Tensors* given = fixed ? problem.input.tensors.get() : nullptr;
  const Slider tokens = given != nullptr ? Slider{"N", 1, given->n, 1, given->n, true} : Slider{"N", 16, 65536, 1, max_n, true};
  bool changed = slider(tokens, colours, problem.n);
  explain(given != nullptr
              ? printed("Tokens: the first N of the %d in the file. Click the number to type any value from 1.", given->n)
              : std::string("Tokens: rows of Q, K and V. Each score row has N entries, so l sums N of them. "
                            "Click the number to type any value up to 1048576."),
          "S = scale Q K^T is N x N, never stored");
  ImGui::BeginDisabled(fixed);
  changed |= slider({"d", 8, 256, 1, max_d, true}, colours, problem.d);
  explain(fixed ? "Head dimension: given by the tensors."
                : "Head dimension: every score is a sum of d products. Click the number to "
                  "type any value up to 1024.",
          "scale = 1/sqrt(d)");
  ImGui::EndDisabled();
  return changed;
}

bool edit_tiles(Experiment& e, bool square, const Palette& colours) {
  Method& a = e.a;
  bool changed = false;
  if (slider({"block_k", 1, 2048, 1, max_n, true}, colours, a.block_k)) {
    if (square) a.block_q = a.block_k;
    changed = true;
  }
  explain(
      "Keys of a tile, Bc: after each tile the running max, row sum and output are handed on, rescaled and rounded. One tile "
      "is plain softmax; 1 is the per-element recurrence. Click the number to type any value.",
      "T = ceil(N / block_k) tiles a row");
  if (slider({"block_q", 1, 2048, 1, max_n, true}, colours, a.block_q)) {
    if (square) a.block_k = a.block_q;
    changed = true;
  }
  explain("Query rows of a tile, Br: how often K and V are read again. It changes the traffic, never a bit of the output.",
          "K, V read ceil(N / block_q) times");
  if (changed) e.b.block_q = a.block_q, e.b.block_k = a.block_k;
  return changed;
}

std::string rows_text(int rows) { return rows == 0 ? std::string("all rows") : printed("%d rows", rows); }

/// Some counts, and any other by typing.
bool choose_rows(Problem& problem) {
  bool changed = false;
  for (const int rows : {0, 64, 256, 1024, 4096}) {
    if (rows >= problem.n && rows != 0) continue;
    if (ImGui::Selectable(rows_text(rows).c_str(), rows == problem.rows)) {
      problem.rows = rows;
      changed = true;
    }
    explain(rows == 0 ? std::string("Every query row.")
                      : printed("%d rows, %d apart: quicker, and exact for these rows.", rows, problem.n / rows));
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
    explain(
        "How many query rows are computed, evenly spread. Rows are independent, so a subset is exact for its rows and its "
        "statistics are unbiased; only the largest error may be missed.",
        "rows floor(i N / rows), i = 0 .. rows - 1");
    return false;
  }
  const bool changed = choose_rows(problem);
  ImGui::EndCombo();
  return changed;
}

/// Lock and exchange of the two tile sizes, side by side.
bool square_and_swap(Experiment& e, bool& square, const Palette& colours) {
  bool changed = false;
  if (toggle("square", colours, square, px(76)) && square && e.a.block_q != e.a.block_k) {
    e.a.block_q = e.b.block_q = e.a.block_k;
    changed = true;
  }
  explain("Keeps block_q equal to block_k: moving one moves both.", "block_q = block_k");
  ImGui::SameLine();
  if (push_button("swap", colours, false, {px(46), 0}) && e.a.block_q != e.a.block_k) {
    std::swap(e.a.block_q, e.a.block_k);
    e.b.block_q = e.a.block_q, e.b.block_k = e.a.block_k;
    changed = true;
  }
  explain("Exchanges block_q and block_k. Wider tiles of keys round the running state less often; block_q changes no bit.",
          "block_q x block_k  ->  block_k x block_q");
  return changed;
}

}  // namespace

bool edit_shape(Session& session, const Frame& frame, const Palette& colours) {
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
  changed |= edit_device(session.device, frame, colours, room - gap - half);
  ImGui::PopStyleVar();
  return changed;
}

}  // namespace attoscope
