// Rounding of each intermediate, one column for each method.
#include <array>
#include <functional>

#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/controls/matrix.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// One column of the matrix.
struct Column {
  const char* id;
  Method& method;
  Colour colour;
  float left, width;
  NearestPolicy nearest;
};

/// True if a method has the step. All methods share the input step, which a sets.
bool has_step(const Column& c, Step s) {
  const Algorithm a = c.method.algorithm;
  if (!is_emulated(a)) return s == Step::input && (a == Algorithm::hardware || c.id[0] == 'a');
  return attoscope::has_step(a, s);
}

/// True if the flush interval applies to P.V of the method.
bool flushes(const Method& m) { return matters(parameter("flush"), m); }

/// True if the step has no effect: P.V is accumulated in O, or P is stored with scales.
bool is_idle(const Method& m, Step s) {
  if (s == Step::P) return m.scaling.P.is_on();
  if (s != Step::PV) return false;
  return flushes(m) ? flush_interval(m) == 0 : m.precision.accumulate_in_O && m.algorithm != Algorithm::flash1;
}

void step_cell(const Column& c, Step step, const Format& main, float height, std::string& typed) {
  RoundingCell cell{name(step), c.colour, c.left, c.width, height, c.nearest.name};
  if (c.nearest.precision != nullptr) cell.usual = (*c.nearest.precision)[step];
  cell.idle = is_idle(c.method, step);
  cell.what = std::string(name(step)) + " of " + c.id + ": " + std::string(info(step).what) + ". ";
  if (cell.idle)
    cell.what += step == Step::P ? "Without effect while P is stored as " + scaling_text(c.method.scaling.P) + ", see scales. "
                                 : "Without effect while P·V continues in O. ";
  const WithId id(c.id);
  edit_rounding(c.method.precision[step], cell, main, typed);
}

/// A flag with two texts, as a row of the matrix.
struct FlagRow {
  const char *title, *id;
  bool Precision::* flag;
  bool (*applies)(Algorithm);
  const char *what, *formula;
};
constexpr std::array<FlagRow, 2> flags{{
    {"l sums P", "sum_rounded_P", &Precision::sum_rounded_P, [](Algorithm a) { return is_emulated(a) && !normalises_P(a); },
     "The row sum adds P as rounded for P.V, instead of e: numerator and denominator then have the same error.",
     "yes: l = sum P     no: l = sum e"},
    {"P·V into O", "accumulate_in_O", &Precision::accumulate_in_O,
     [](Algorithm a) { return is_emulated(a) && a != Algorithm::flash1; },
     "P.V continues in the rescaled O, as tensor cores do, instead of a new accumulator that is rounded (PV) and then added.",
     "yes: O = fma(P, V, alpha O)     no: O = alpha O + round(P V)"},
}};

void flag_cell(const Column& c, const FlagRow& row, float height) {
  bool& on = c.method.precision.*row.flag;
  const bool usual = c.nearest.precision != nullptr ? c.nearest.precision->*row.flag : on;
  const ImVec2 from{c.left, ImGui::GetCursorScreenPos().y};
  const WithId id(c.id);
  if (ImGui::InvisibleButton(row.id, {c.width, height}, ImGuiButtonFlags_EnableNav)) on = !on;
  const bool idle = row.flag == &Precision::accumulate_in_O && flushes(c.method) && c.method.flush != flush_of_policy;
  draw_cell(from, {from.x + c.width, from.y + height - px(2)}, c.colour,
            {on ? Rounding::Kind::main : Rounding::Kind::exact, on ? "yes" : "no", usual != on, idle});
  explain(std::string(row.what) + (idle ? " Without effect while flush is set." : ""),
          std::string(row.formula) + "\n" + std::string(c.nearest.name) + " has " + (usual ? "yes" : "no") + " here");
}

void edit_heads(const MatrixPlace& place, const std::array<Column, 2>& columns, Experiment& e, const PanelInput& input,
                std::string& typed) {
  const auto header = [&](const char* title, const std::function<void(const Column&)>& edit) {
    matrix_header(place, title, [&](std::size_t i) {
      const WithId id(columns[i].id);
      edit(columns[i]);
    });
  };
  header("algorithm", [&](const Column& c) { edit_algorithm(c.method, e, input, c.colour, c.width); });
  header("options", [&](const Column& c) { edit_method_options(c.method, e.format, c.width, px(matrix_header_height)); });
  header("preset", [&](const Column& c) { edit_preset(e, c.id[0] == 'b', c.colour, c.width); });
  header("sums", [&](const Column& c) { edit_sums(e, c.method, c.colour, c.width); });
  header("scales", [&](const Column& c) { edit_scales(e, c.method, c.colour, c.width, typed); });
}

/// One row for each rounding step.
void edit_steps(const MatrixPlace& place, const std::array<Column, 2>& columns, const Format& main, float height,
                std::string& typed) {
  for (const StepInfo& row : step_infos) {
    const std::string formula =
        std::string(row.formula) + "\nFlashAttention-2 (arXiv 2307.08691), Algorithm 1: " + std::string(row.line);
    matrix_row(place, {row.name, row.effect, formula}, height, [&](std::size_t i) {
      const Column& c = columns[i];
      if (row.step == Step::qk_step && !is_emulated(c.method.algorithm))
        draw_no_cell(place, i, height, c.method.algorithm == Algorithm::hardware ? "the device's" : "the file's");
      if (has_step(c, row.step)) step_cell(c, row.step, main, height, typed);
    });
  }
}

void edit_flags(const MatrixPlace& place, const std::array<Column, 2>& columns, float height) {
  for (const FlagRow& row : flags)
    matrix_row(place, {row.title, row.what, row.formula}, height, [&](std::size_t i) {
      if (row.applies(columns[i].method.algorithm)) flag_cell(columns[i], row, height);
    });
}

}  // namespace

void edit_precision(Experiment& e, const PanelInput& input, std::string& typed) {
  const MatrixPlace place = matrix_place(px(84));
  const auto column = [&](const char* id, Method& m, Colour colour, float left) {
    return Column{id,   m,           colour,
                  left, place.width, is_emulated(m.algorithm) ? nearest_policy(m.precision, m.algorithm) : NearestPolicy{}};
  };
  const std::array<Column, 2> columns{column("a", e.a, colours().a, place.left[0]),
                                      column("b", e.b, colours().b, place.left[1])};
  edit_heads(place, columns, e, input, typed);
  const float height = matrix_row_height(step_count + 2);
  edit_steps(place, columns, e.format, height, typed);
  edit_flags(place, columns, height);
  ImGui::Dummy({0, 0});
}

}  // namespace attoscope::ui
