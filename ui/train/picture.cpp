// |dW| of a tensor: along its rows over the steps, or element by element at the newest measured step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "implot.h"
#include "ui/picture/heatmap_view.h"
#include "ui/train/panels.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<WeightPicture, Choice> pictures{{
    {"over steps",
     "Rows of the tensor from top to bottom, steps from left to right: where and when the two models diverge. For all tensors: "
     "one row each."},
    {"matrix", "Every element of the tensor at the newest measured step."},
}};
const ParameterTensor* shown_tensor(const TrainScene& s) { return tensor_of(*s.record(), s.look()); }

/// Sets the largest finite number and the flags of NaN and infinities; empty cells are ignored.
void measure_cells(CellPicture& p) {
  p.largest = 0;
  p.has_nan = p.has_infinity = p.has_minus_infinity = false;
  for (const float v : p.values) {
    if (v == PixelImage::nothing) continue;
    p.has_nan |= std::isnan(v);
    p.has_infinity |= std::isinf(v);
    if (std::isfinite(v)) p.largest = std::max(p.largest, std::abs(v));
  }
  p.image.width = 0;
}

bool shows_gap(const TrainScene& s) {
  const WeightGap* const gap = s.input.train.gap.get();
  return s.look().picture == WeightPicture::matrix && gap != nullptr && gap->tensor == s.look().tensor &&
         gap->pair == s.look().pair;
}

void refresh_picture(const TrainScene& s, const PairRecord& pair) {
  TrainPanelState& m = s.state;
  const StepSpan x = m.zoom1 > m.zoom0 ? StepSpan{m.zoom0, m.zoom1} : StepSpan{0, m.drawing.last};
  TrainLook look = s.look();
  look.step = look.run = look.layer = look.head = look.sequence = 0;
  const std::shared_ptr<const WeightGap>& gap = s.input.train.gap;
  const std::tuple of{s.input.train.record, gap, look, x.from, x.to};
  if (m.picture_of == of) return;
  m.picture_of = of;
  CellPicture& p = m.picture;
  if (shows_gap(s)) {
    p.rows = p.n = gap->rows;
    p.cols = p.across = gap->cols;
    p.values = gap->values;
  } else {
    WeightCells cells = weight_cells(pair.points, look.tensor, x, s.record()->plan.measure_every);
    p.rows = p.n = cells.rows;
    p.cols = p.across = cells.columns;
    p.values = std::move(cells.values);
  }
  measure_cells(p);
}

void pick_pair(const TrainScene& s, float width) {
  const TrainRecord& r = *s.record();
  const WithField f(Face::label, 22);
  const PairRecord* const shown = pair_of(r, s.look());
  if (!begin_combo("##pair", shown != nullptr ? named(r.plan, shown->pair.name) : "–", width))
    return explain("The models whose weights are compared in this picture and in the table at the right.");
  for (std::size_t p = 0; p < r.pairs.size(); ++p) {
    if (ImGui::Selectable((named(r.plan, r.pairs[p].pair.name) + "###pair " + std::to_string(p)).c_str(),
                          static_cast<int>(p) == s.look().pair))
      s.look().pair = static_cast<int>(p);
    explain(fmt::format("{} minus {}", named(r.plan, r.runs[static_cast<std::size_t>(r.pairs[p].pair.x)].run.name),
                        named(r.plan, r.runs[static_cast<std::size_t>(r.pairs[p].pair.y)].run.name)));
  }
  ImGui::EndCombo();
}

/// All tensors, layer by layer.
void pick_tensor(const TrainScene& s, float width) {
  const std::vector<ParameterTensor>& all = s.record()->parameters.tensors;
  const WithField f(Face::label, 22);
  const ParameterTensor* const shown = shown_tensor(s);
  if (!begin_combo("##tensor", shown != nullptr ? shown->name : "all tensors", width))
    return explain("The tensor whose difference is shown here and in the curves above.");
  if (ImGui::Selectable("all tensors###tensor all", s.look().tensor < 0)) s.look().tensor = -1;
  explain("Everything together.");
  int layer = -1;
  for (std::size_t t = 0; t < all.size(); ++t) {
    if (all[t].layer != layer) {
      layer = all[t].layer;
      label(Face::section, colours().faint, layer >= 0 ? "LAYER " + std::to_string(layer) : "AFTER THE LAYERS");
    }
    if (ImGui::Selectable((all[t].name + "###tensor " + std::to_string(t)).c_str(), static_cast<int>(t) == s.look().tensor))
      s.look().tensor = static_cast<int>(t);
    explain(fmt::format("{} × {}", all[t].rows, all[t].cols));
  }
  ImGui::EndCombo();
}

void draw_title(const TrainScene& s, const Box& box) {
  ImGui::SetCursorScreenPos(box.min);
  const float width = box.width(), kind = px(150), rest = width - kind - px(16), tensor = std::min(px(180), rest * 0.55f);
  segmented("picture", pictures, s.look().picture, kind);
  ImGui::SameLine(0, px(8));
  pick_tensor(s, tensor);
  ImGui::SameLine(0, px(8));
  pick_pair(s, std::min(px(180), rest - tensor));
}

/// The number under the mouse.
void read_out(const Box& map, const std::string& where, double value) {
  draw_note(map, ImGui::GetIO().MousePos,
            std::array{NoteLine{colours().text, where}, NoteLine{colours().secondary, "|ΔW| " + scientific(value, 4)}});
}

/// The name of the picture's row under the mouse: rows of the tensor, or a tensor.
std::string row_text(const TrainScene& s, double share) {
  if (const ParameterTensor* const tensor = shown_tensor(s)) {
    const int parts = std::max(1, s.state.picture.rows), part = std::min(parts - 1, static_cast<int>(share * parts));
    const int first = part * tensor->rows / parts, last = std::max(first, (part + 1) * tensor->rows / parts - 1);
    return first == last ? fmt::format("row {}", first) : fmt::format("rows {} to {}", first, last);
  }
  const std::vector<ParameterTensor>& all = s.record()->parameters.tensors;
  const auto t = std::min(all.size() - 1, static_cast<std::size_t>(share * static_cast<double>(all.size())));
  return all.empty() ? "" : all[t].name;
}

void point_at_steps(const TrainScene& s, const PanelMouse& mouse, const PairRecord& pair) {
  const int step = point_at_step(s, mouse, s.state.drawing.pairs);
  const PairPoint* const point = step >= 0 ? point_at(pair, step) : nullptr;
  const std::vector<float> values = point != nullptr ? weight_column(*point, s.look().tensor) : std::vector<float>{};
  const double share = std::clamp(1 - mouse.y, 0.0, 0.9999);
  if (!values.empty())
    read_out({mouse.from, mouse.to}, fmt::format("step {}, ", point->step) + row_text(s, share),
             static_cast<double>(values[static_cast<std::size_t>(share * static_cast<double>(values.size()))]));
}

void point_at_cell(const TrainScene& s, const PanelMouse& mouse) {
  const CellPicture& p = s.state.picture;
  if (!mouse.over || p.values.empty()) return;
  const int row = std::clamp(static_cast<int>((1 - mouse.y) * p.rows), 0, p.rows - 1),
            col = std::clamp(static_cast<int>(mouse.x), 0, p.cols - 1);
  read_out({mouse.from, mouse.to}, fmt::format("row {}, column {}", row, col),
           static_cast<double>(p.values[cell_index(row, p.cols, col)]));
}

std::string picture_csv(const CellPicture& p) {
  std::string text;
  for (int row = 0; row < p.rows; ++row)
    for (int col = 0; col < p.cols; ++col) {
      const float v = p.values[cell_index(row, p.cols, col)];
      text += (v == PixelImage::nothing ? "" : in_full(static_cast<double>(v))) + (col + 1 < p.cols ? "," : "\n");
    }
  return text;
}

/// Ends of the rows, and the picture's meaning under it.
void draw_names(const TrainScene& s, const PanelMouse& mouse, bool matrix) {
  const CellPicture& p = s.state.picture;
  const ParameterTensor* const tensor = shown_tensor(s);
  const auto rows = tensor != nullptr ? tensor->rows : static_cast<int>(s.record()->parameters.tensors.size());
  const float line = line_height(Face::mono_small);
  draw_text({mouse.from.x - px(6), mouse.from.y - px(1)}, Face::mono_small, colours().faint, "0", 1);
  draw_text({mouse.from.x - px(6), mouse.to.y - line}, Face::mono_small, colours().faint, std::to_string(rows - 1), 1);
  const std::string what = matrix ? fmt::format("{} × {} elements at step {}", p.rows, p.cols, s.input.train.gap->step)
                           : tensor != nullptr ? "largest |ΔW| along the rows of the tensor, steps as above"
                                               : "largest |ΔW| of each tensor, in the order of the table, steps as above";
  draw_fitted({mouse.from.x, mouse.to.y + px(18)}, Face::small, colours().faint, what, mouse.to.x - mouse.from.x);
}

/// The picture's pixels in the current plot.
void paint(const TrainScene& s, const Colouring& how) {
  const ImVec2 at = ImPlot::GetPlotPos(), size = ImPlot::GetPlotSize(), scale = ImGui::GetIO().DisplayFramebufferScale;
  CellPicture& p = s.state.picture;
  refresh_image(p, {0, 0, static_cast<double>(p.rows), static_cast<double>(p.cols)}, static_cast<int>(size.x * scale.x),
                static_cast<int>(size.y * scale.y));
  if (s.input.paint) s.input.paint(ImPlot::GetPlotDrawList(), at, {at.x + size.x, at.y + size.y}, p.image, how);
}

}  // namespace

void draw_train_picture(const TrainScene& s, const Box& box) {
  const PairRecord* const pair = pair_of(*s.record(), s.look());
  draw_title(s, box);
  constexpr float title_height = 28;
  const ImVec2 at{box.min.x, box.min.y + px(title_height + 4)}, size{box.max.x - at.x, box.max.y - px(18) - at.y};
  if (pair == nullptr || size.x < px(160) || size.y < px(48)) return;
  refresh_picture(s, *pair);
  CellPicture& p = s.state.picture;
  const bool matrix = s.look().picture == WeightPicture::matrix, empty = (matrix && !shows_gap(s)) || p.rows == 0;
  const Colouring how = colouring(false, automatic_range(static_cast<double>(p.largest)), s.session.view);
  FigurePanel panel;
  panel.x = {.whole = true, .min = 0, .max = matrix ? std::max(1, p.cols) : s.state.drawing.last};
  panel.y.min = 0;
  panel.y.max = 1;
  PanelLook look = step_look(s.state, "weights");
  look.hides_y = true;
  if (matrix) look.shown = {};
  if (!empty) look.behind = [&] { paint(s, how); };
  if (!empty && !matrix) look.above = [&] { draw_picked(s); };
  ImGui::SetCursorScreenPos(at);
  const PanelMouse mouse = draw_panel(panel, look, size);
  if (empty) {
    const char* text = matrix && shown_tensor(s) == nullptr ? "Choose a tensor: its elements are shown one by one."
                                                            : "The picture appears with the first measured step.";
    draw_fitted({(mouse.from.x + mouse.to.x) / 2, (mouse.from.y + mouse.to.y) / 2 - px(8)}, Face::label, colours().faint, text,
                mouse.to.x - mouse.from.x, 0.5f);
    return;
  }
  draw_colour_bar({{mouse.to.x + px(8), mouse.from.y}, {mouse.to.x + px(18), mouse.to.y}}, how, p);
  draw_names(s, mouse, matrix);
  matrix ? point_at_cell(s, mouse) : point_at_steps(s, mouse, *pair);
  offer_export({Plot::train_weights, "weights", box.min, box.max, [&] { return picture_csv(p); }}, s.session.view, s.requests);
}

}  // namespace attoscope::ui
