// Where rounding happens: one choice per intermediate and method.
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/sentences.h"
#include "ui/step_guide.h"
#include "ui/widgets.h"

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

/// Whether a method has a step. a's input is rounded for everybody, whoever computes a.
bool has_step(const Column& c, Step s) {
  const Algorithm a = c.method.algorithm;
  if (!is_emulated(a)) return s == Step::input && (a == Algorithm::hardware || c.id[0] == 'a');
  return a != Algorithm::three_pass || (s != Step::alpha && s != Step::rescaled);
}

/// Whether its value never comes to be: P.V continues in O.
bool is_idle(const Method& m, Step s) {
  return s == Step::PV && m.precision.accumulate_in_O && m.algorithm != Algorithm::flash1;
}

void choose_stochastic(Rounding& r, const Palette& colours) {
  ImGui::BeginDisabled(r.kind == Rounding::Kind::exact);
  toggle("stochastic", colours, r.stochastic, px(148));
  ImGui::EndDisabled();
  explain(
      "Rounds up or down with the probability of the distance instead of to the nearest, by dice that the seed starts: right "
      "on "
      "average, so errors do not add up in one direction. The cell shows it by ~.",
      "P(up) = (x - down) / (up - down)");
}

/// Why a text is no format; empty: it is one, or nothing.
std::string complaint(const std::string& typed) {
  if (typed.empty()) return {};
  try {
    parse_format(typed);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Any format by its name. True if Enter set one.
bool type_format(Format& format, std::string& typed, const Palette& colours) {
  if (ImGui::IsWindowAppearing()) typed.clear();
  ImGui::SetNextItemWidth(px(148));
  const bool entered = ImGui::InputTextWithHint("##format", "e5m7", &typed, ImGuiInputTextFlags_EnterReturnsTrue);
  explain(
      "Any format: eXmY, X 2 .. 11 exponent bits, Y 0 .. 52 mantissa bits, then /saturate, /nan or /infinity if overflow is to "
      "be "
      "otherwise. Enter sets it.",
      "e8m7 = bf16, e5m10 = fp16");
  const std::string wrong = complaint(typed);
  if (!wrong.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, colours.bad);
    wrapped(Face::small, wrong, px(220));
    ImGui::PopStyleColor();
  }
  if (!entered || typed.empty() || !wrong.empty()) return false;
  format = parse_format(typed);
  return true;
}

/// Formats to choose from, and any other by its name.
void choose_rounding(Rounding& r, const Format& main, std::string& typed, const Palette& colours) {
  const auto become = [&r](Rounding wanted) {
    wanted.stochastic = r.stochastic;
    r = wanted;
  };
  {
    const WithFace f(Face::mono);
    if (ImGui::Selectable("exact", r.kind == Rounding::Kind::exact)) r = exact;
    explain("Not rounded: the step stays in the working type, float or double.");
    if (ImGui::Selectable("D, the main format", r.kind == Rounding::Kind::main)) become(to_main);
    explain("Follows the main format, now " + name(main) + ".");
    ImGui::Separator();
    for (const Format& format : {bf16, fp16, tf32, fp32, fp64, e4m3, e5m2}) {
      const bool is_set = r.kind == Rounding::Kind::format && r.format == format;
      if (ImGui::Selectable(name(format).c_str(), is_set)) become(to_format(format));
      explain("Always " + name(format) + ", whatever the main format is.",
              printed("eps = %g, max = %g", epsilon(format), largest(format)));
    }
    Format other;
    if (type_format(other, typed, colours)) {
      become(to_format(other));
      ImGui::CloseCurrentPopup();
    }
  }
  choose_stochastic(r, colours);
}

bool format_popup(const char* id, Rounding& r, const Format& main, std::string& typed, const Palette& colours) {
  if (!ImGui::BeginPopup(id)) return false;
  const Rounding before = r;
  choose_rounding(r, main, typed, colours);
  ImGui::EndPopup();
  return !(r == before);
}

std::string rounding_text(const Rounding& r, const Format& main) {
  if (r.kind == Rounding::Kind::exact) return "exact";
  std::string text = name(format_of(r, main));
  if (r.stochastic) text.insert(text.begin(), '~');
  return text;
}

/// How a cell looks.
struct CellLook {
  Rounding::Kind kind;
  std::string text;
  bool differs;       ///< from the preset
  bool idle = false;  ///< changes nothing at present
};

/// A filled cell means rounded; an outline, to a format of its own; grey, exact. A dot: not as the preset has it.
void draw_cell(ImVec2 from, ImVec2 to, const Column& c, const Palette& colours, const CellLook& look) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float rounding = px(2.5f), middle = (from.x + to.x) / 2, y = (from.y + to.y - line_height(Face::mono_small)) / 2;
  const bool main = look.kind == Rounding::Kind::main, own = look.kind == Rounding::Kind::format;
  const Colour fill = main ? mixed(c.colour, colours.panel, look.idle ? 0.6f : 0.0f) : colours.raised;
  list->AddRectFilled(from, to, ImGui::IsItemHovered() ? mixed(fill, colours.text, 0.15f) : fill, rounding);
  if (own) list->AddRect(from, to, c.colour, rounding, px(1.4f));
  const Colour ink = main ? colours.panel : own ? c.colour : colours.faint;
  draw_text({middle, y}, Face::mono_small, ink, fitted(Face::mono_small, look.text, to.x - from.x - px(24)), 0.5f);
  if (look.differs) list->AddCircleFilled({from.x + px(8), (from.y + to.y) / 2}, px(3), main ? colours.panel : colours.text);
}

/// The part of a cell that opens its popup, shown while the mouse is over the cell. True if the mouse is in it.
bool over_arrow(ImVec2 from, ImVec2 to, Colour ink) {
  if (!ImGui::IsItemHovered()) return false;
  const float x = to.x - px(9), y = (from.y + to.y) / 2, size = px(3.5f);
  ImGui::GetWindowDrawList()->AddTriangleFilled({x - size, y - size / 2}, {x + size, y - size / 2}, {x, y + size}, ink);
  return ImGui::GetMousePos().x > to.x - px(18);
}

/// What a cell says under the mouse.
void explain_cell(const Column& c, Step step, const Format& main) {
  const Rounding& r = c.method.precision[step];
  const bool is_exact = r.kind == Rounding::Kind::exact;
  std::string formula = is_exact ? std::string("not rounded: stays in the working type")
                                 : printed("x -> round(%s, x)", rounding_text(r, main).c_str());
  if (c.nearest.precision != nullptr)
    formula += printed("\n%s has %s here", std::string(c.nearest.name).c_str(),
                       rounding_text((*c.nearest.precision)[step], main).c_str());
  explain(std::string(name(step)) + " of " + c.id + ": " + std::string(step_texts[static_cast<std::size_t>(step)].what) + ". " +
              (is_idle(c.method, step) ? "Without effect while P·V continues in O. " : "") +
              "Click: exact or D. Right click, or the arrow: a format of its own, stochastic.",
          formula);
}

bool step_cell(const Column& c, Step step, const Format& main, float height, const Palette& colours, std::string& typed) {
  Rounding& r = c.method.precision[step];
  const ImVec2 from{c.left, ImGui::GetCursorScreenPos().y}, to{from.x + c.width, from.y + height - px(2)};
  ImGui::PushID(c.id);
  const bool pressed = ImGui::InvisibleButton(name(step).data(), {c.width, height});
  const bool differs = c.nearest.precision != nullptr && !((*c.nearest.precision)[step] == r);
  draw_cell(from, to, c, colours, {r.kind, rounding_text(r, main), differs, is_idle(c.method, step)});
  const bool arrow = over_arrow(from, to, r.kind == Rounding::Kind::main ? colours.panel : colours.secondary);
  const std::string popup = std::string(name(step)) + " rounding";
  ImGui::OpenPopupOnItemClick(popup.c_str(), ImGuiPopupFlags_MouseButtonRight);
  explain_cell(c, step, main);
  if (pressed && arrow) ImGui::OpenPopup(popup.c_str());
  const bool turned = pressed && !arrow;
  if (turned) r = r.kind == Rounding::Kind::exact ? to_main : exact;
  const bool chosen = format_popup(popup.c_str(), r, main, typed, colours);
  ImGui::PopID();
  return turned || chosen;
}

/// A choice between two ways, as a row of the matrix.
struct FlagRow {
  const char *title, *id;
  bool Precision::*flag;
  bool (*applies)(Algorithm);
  const char *what, *formula;
};
constexpr std::array<FlagRow, 2> flags{{
    {"l sums P", "sum_rounded_P", &Precision::sum_rounded_P, [](Algorithm a) { return is_emulated(a) && !normalises_P(a); },
     "The row sum adds P as rounded for P.V, instead of e: numerator and denominator then err alike.",
     "yes: l = sum P     no: l = sum e"},
    {"P·V into O", "accumulate_in_O", &Precision::accumulate_in_O,
     [](Algorithm a) { return is_emulated(a) && a != Algorithm::flash1; },
     "P.V continues in the rescaled O, as tensor cores do, instead of a fresh accumulator that is rounded (PV) and then added.",
     "yes: O = fma(P, V, alpha O)     no: O = alpha O + round(P V)"},
}};

bool flag_cell(const Column& c, const FlagRow& row, float height, const Palette& colours) {
  bool& on = c.method.precision.*row.flag;
  const bool usual = c.nearest.precision != nullptr ? c.nearest.precision->*row.flag : on;
  const ImVec2 from{c.left, ImGui::GetCursorScreenPos().y};
  ImGui::PushID(c.id);
  const bool pressed = ImGui::InvisibleButton(row.id, {c.width, height});
  if (pressed) on = !on;
  draw_cell(from, {from.x + c.width, from.y + height - px(2)}, c, colours,
            {on ? Rounding::Kind::main : Rounding::Kind::exact, on ? "yes" : "no", usual != on});
  explain(row.what, std::string(row.formula) + "\n" + std::string(c.nearest.name) + " has " + (usual ? "yes" : "no") + " here");
  ImGui::PopID();
  return pressed;
}

/// Puts the cursor at a column of the row that begins at `at`.
void go_to(const Column& c, ImVec2 at) { ImGui::SetCursorScreenPos({c.left, at.y}); }

bool edit_heads(const std::array<Column, 2>& columns, const Experiment& e, const Frame& frame, const Palette& colours) {
  bool changed = false;
  for (int line = 0; line < 3; ++line) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const WithField f(Face::mono_small, 21);
    ImGui::PushStyleVarX(ImGuiStyleVar_FramePadding, px(5));
    draw_text({at.x, at.y + (px(21) - line_height(Face::label)) / 2}, Face::label, colours.secondary,
              std::array{"algorithm", "options", "preset"}[static_cast<std::size_t>(line)]);
    for (const Column& c : columns) {
      go_to(c, at);
      ImGui::PushID(c.id);
      changed |= line == 0   ? edit_algorithm(c.method, e, frame, colours, c.colour, c.width)
                 : line == 1 ? edit_method_options(c.method, colours, c.width, px(21))
                             : edit_policy(c.method, c.colour, c.width);
      ImGui::PopID();
    }
    ImGui::PopStyleVar();
    ImGui::SetCursorScreenPos({at.x, at.y + px(23)});
  }
  return changed;
}

/// The name at the left of a row, which explains the row.
void row_name(const char* title, ImVec2 size, const Palette& colours, std::string_view what, const std::string& formula) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton((std::string("about ") + title).c_str(), size);
  draw_text({at.x, at.y + (size.y - px(2) - line_height(Face::mono)) / 2}, Face::mono, colours.text, title);
  explain(what, formula);
}

/// Says in an empty column who rounds instead.
void draw_not_emulated(const Column& c, ImVec2 at, float height, const Palette& colours) {
  if (is_emulated(c.method.algorithm)) return;
  const char* text = c.method.algorithm == Algorithm::hardware ? "the device's" : "the file's";
  draw_text({c.left + c.width / 2, at.y + (height - px(2) - line_height(Face::small)) / 2}, Face::small, colours.faint, text,
            0.5f);
}

/// A row a step.
bool edit_steps(const std::array<Column, 2>& columns, const Format& main, ImVec2 name_size, const Palette& colours,
                std::string& typed) {
  bool changed = false;
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    const StepGuide& guide = guide_of(step);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    row_name(name(step).data(), name_size, colours, guide.what,
             std::string(guide.formula) + "\nFlashAttention-2 (arXiv 2307.08691), Algorithm 1: " + std::string(guide.line));
    for (const Column& c : columns) {
      go_to(c, at);
      if (has_step(c, step)) changed |= step_cell(c, step, main, name_size.y, colours, typed);
      if (step == Step::qk_step) draw_not_emulated(c, at, name_size.y, colours);
    }
    ImGui::SetCursorScreenPos({at.x, at.y + name_size.y});
  }
  return changed;
}

bool edit_flags(const std::array<Column, 2>& columns, ImVec2 name_size, const Palette& colours) {
  bool changed = false;
  for (const FlagRow& row : flags) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    row_name(row.title, name_size, colours, row.what, row.formula);
    for (const Column& c : columns) {
      go_to(c, at);
      if (row.applies(c.method.algorithm)) changed |= flag_cell(c, row, name_size.y, colours);
    }
    ImGui::SetCursorScreenPos({at.x, at.y + name_size.y});
  }
  return changed;
}

}  // namespace

bool edit_precision(Experiment& e, const Frame& frame, const Palette& colours, std::string& typed) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x, gap = px(6), names = px(84);
  const float width = std::floor(std::clamp((room - names - gap) / 2, px(60), px(140)));
  const auto column = [&](const char* id, Method& m, Colour colour, float left) {
    return Column{id,   m,     colour,
                  left, width, is_emulated(m.algorithm) ? nearest_policy(m.precision, m.algorithm) : NearestPolicy{}};
  };
  const std::array<Column, 2> columns{column("a", e.a, colours.a, from.x + room - 2 * width - gap),
                                      column("b", e.b, colours.b, from.x + room - width)};
  bool changed = edit_heads(columns, e, frame, colours);
  const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowSize().y - px(6);
  const float rest = bottom - ImGui::GetCursorScreenPos().y - ImGui::GetScrollY();
  const ImVec2 name_size{columns[0].left - from.x - gap, std::floor(std::clamp(rest / (step_count + 2), px(17), px(21)))};
  changed |= edit_steps(columns, e.format, name_size, colours, typed);
  changed |= edit_flags(columns, name_size, colours);
  ImGui::Dummy({0, 0});
  return changed;
}

}  // namespace attoscope
