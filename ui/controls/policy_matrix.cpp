// Rounding of each intermediate, one choice a method.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/frame/panel_input.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

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
  return has_tiles(a) || !info(s).rescales;
}

/// True if the flush interval applies to P.V of the method.
bool flushes(const Method& m) { return matters(parameter("flush"), m); }

/// True if the step has no effect: P.V is accumulated in O, or P is stored with scales.
bool is_idle(const Method& m, Step s) {
  if (s == Step::P) return m.scaling.P.is_on();
  if (s != Step::PV) return false;
  return flushes(m) ? flush_interval(m) == 0 : m.precision.accumulate_in_O && m.algorithm != Algorithm::flash1;
}

/// Reason why the cell has no effect; "" if it has one.
std::string idle_reason(bool idle, Step step, const Method& m) {
  if (!idle) return "";
  return step == Step::P ? "Without effect while P is stored as " + scaling_text(m.scaling.P) + ", see scales. "
                         : "Without effect while P·V continues in O. ";
}

bool step_cell(const Column& c, Step step, const Format& main, float height, std::string& typed) {
  RoundingCell cell{name(step), c.colour, c.left, c.width, height, c.nearest.name};
  if (c.nearest.precision != nullptr) cell.usual = (*c.nearest.precision)[step];
  cell.idle = is_idle(c.method, step);
  cell.what = std::string(name(step)) + " of " + c.id + ": " + std::string(info(step).what) + ". " +
              idle_reason(cell.idle, step, c.method);
  ImGui::PushID(c.id);
  const bool changed = edit_rounding(c.method.precision[step], cell, main, typed);
  ImGui::PopID();
  return changed;
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
     "P.V continues in the rescaled O, as tensor cores do, instead of a fresh accumulator that is rounded (PV) and then added.",
     "yes: O = fma(P, V, alpha O)     no: O = alpha O + round(P V)"},
}};

bool flag_cell(const Column& c, const FlagRow& row, float height) {
  bool& on = c.method.precision.*row.flag;
  const bool usual = c.nearest.precision != nullptr ? c.nearest.precision->*row.flag : on;
  const ImVec2 from{c.left, ImGui::GetCursorScreenPos().y};
  ImGui::PushID(c.id);
  const bool pressed = ImGui::InvisibleButton(row.id, {c.width, height});
  if (pressed) on = !on;
  const bool idle = row.flag == &Precision::accumulate_in_O && flushes(c.method) && c.method.flush != flush_of_policy;
  draw_cell(from, {from.x + c.width, from.y + height - px(2)}, c.colour,
            {on ? Rounding::Kind::main : Rounding::Kind::exact, on ? "yes" : "no", usual != on, idle});
  explain(std::string(row.what) + (idle ? " Without effect while flush says it." : ""),
          std::string(row.formula) + "\n" + std::string(c.nearest.name) + " has " + (usual ? "yes" : "no") + " here");
  ImGui::PopID();
  return pressed;
}

/// Moves the cursor to a column of the row that begins at `at`.
void go_to(const Column& c, ImVec2 at) { ImGui::SetCursorScreenPos({c.left, at.y}); }

bool edit_heads(const std::array<Column, 2>& columns, Experiment& e, const PanelInput& input, std::string& typed) {
  static constexpr std::array titles{"algorithm", "options", "preset", "sums", "scales"};
  bool changed = false;
  for (std::size_t line = 0; line < titles.size(); ++line) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const WithField f(Face::mono_small, 21);
    ImGui::PushStyleVarX(ImGuiStyleVar_FramePadding, px(5));
    draw_text({at.x, at.y + (px(21) - line_height(Face::label)) / 2}, Face::label, colours().secondary, titles[line]);
    for (const Column& c : columns) {
      go_to(c, at);
      ImGui::PushID(c.id);
      changed |= line == 0   ? edit_algorithm(c.method, e, input, c.colour, c.width)
                 : line == 1 ? edit_method_options(c.method, e.format, c.width, px(21))
                 : line == 2 ? edit_preset(e, c.id[0] == 'b', c.colour, c.width)
                 : line == 3 ? edit_sums(e, c.method, c.colour, c.width)
                             : edit_scales(e, c.method, c.colour, c.width, typed);
      ImGui::PopID();
    }
    ImGui::PopStyleVar();
    ImGui::SetCursorScreenPos({at.x, at.y + px(23)});
  }
  return changed;
}

/// Name at the left of a row, with the row's tooltip.
void row_name(const char* title, ImVec2 size, std::string_view what, const std::string& formula) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton((std::string("about ") + title).c_str(), size);
  draw_text({at.x, at.y + (size.y - px(2) - line_height(Face::mono)) / 2}, Face::mono, colours().text, title);
  explain(what, formula);
}

/// Text of a column that is not emulated: the GPU or the file rounds.
void draw_not_emulated(const Column& c, ImVec2 at, float height) {
  if (is_emulated(c.method.algorithm)) return;
  const char* text = c.method.algorithm == Algorithm::hardware ? "the device's" : "the file's";
  draw_text({c.left + c.width / 2, at.y + (height - px(2) - line_height(Face::small)) / 2}, Face::small, colours().faint, text,
            0.5f);
}

/// One row for each rounding step.
bool edit_steps(const std::array<Column, 2>& columns, const Format& main, ImVec2 name_size, std::string& typed) {
  bool changed = false;
  for (const StepInfo& row : step_infos) {
    const Step step = row.step;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    row_name(row.name.data(), name_size, row.effect,
             std::string(row.formula) + "\nFlashAttention-2 (arXiv 2307.08691), Algorithm 1: " + std::string(row.line));
    for (const Column& c : columns) {
      go_to(c, at);
      if (has_step(c, step)) changed |= step_cell(c, step, main, name_size.y, typed);
      if (step == Step::qk_step) draw_not_emulated(c, at, name_size.y);
    }
    ImGui::SetCursorScreenPos({at.x, at.y + name_size.y});
  }
  return changed;
}

bool edit_flags(const std::array<Column, 2>& columns, ImVec2 name_size) {
  bool changed = false;
  for (const FlagRow& row : flags) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    row_name(row.title, name_size, row.what, row.formula);
    for (const Column& c : columns) {
      go_to(c, at);
      if (row.applies(c.method.algorithm)) changed |= flag_cell(c, row, name_size.y);
    }
    ImGui::SetCursorScreenPos({at.x, at.y + name_size.y});
  }
  return changed;
}

}  // namespace

bool edit_precision(Experiment& e, const PanelInput& input, std::string& typed) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x, gap = px(6);
  const float names = std::clamp(room - 2 * px(96) - gap, px(84), px(92));  // width of "base_eager"
  const float width = std::floor(std::clamp((room - names - gap) / 2, px(60), px(140)));
  const auto column = [&](const char* id, Method& m, Colour colour, float left) {
    return Column{id,   m,     colour,
                  left, width, is_emulated(m.algorithm) ? nearest_policy(m.precision, m.algorithm) : NearestPolicy{}};
  };
  const std::array<Column, 2> columns{column("a", e.a, colours().a, from.x + room - 2 * width - gap),
                                      column("b", e.b, colours().b, from.x + room - width)};
  bool changed = edit_heads(columns, e, input, typed);
  const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowSize().y - px(6);
  const float rest = bottom - ImGui::GetCursorScreenPos().y - ImGui::GetScrollY();
  const ImVec2 name_size{columns[0].left - from.x - gap, std::floor(std::clamp(rest / (step_count + 2), px(17), px(21)))};
  changed |= edit_steps(columns, e.format, name_size, typed);
  changed |= edit_flags(columns, name_size);
  ImGui::Dummy({0, 0});
  return changed;
}

}  // namespace attoscope
