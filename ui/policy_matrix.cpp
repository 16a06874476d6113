// Where rounding happens: one choice per intermediate and method, with named presets.
#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// One column of the matrix.
struct Column {
  const char* id;
  Method& method;
  Colour colour;
  float left, width;
};

/// The steps an algorithm does not have.
bool has_step(Algorithm a, Step s) {
  return a != Algorithm::three_pass || (s != Step::alpha && s != Step::rescaled);
}

constexpr std::array<Choice, 8> algorithms{{
    {"three_pass", "Safe softmax: one pass for the max, one for the sum, one that normalises P and multiplies it by V. Nothing is "
                   "rescaled."},
    {"two_pass", "Online softmax (arXiv 1805.02867): one pass over the tiles for the running max and row sum, a second normalises P "
                 "and multiplies it by V."},
    {"flash1", "FlashAttention (arXiv 2205.14135), Algorithm 1: exp against the max of the tile alone, O divided by l at every "
               "tile."},
    {"flash2", "FlashAttention-2 (arXiv 2307.08691), Algorithm 1: exp against the running max, O divided by l once, at the end."},
    {"flash4", "FlashAttention-4: flash2 that keeps a stale max, and rescales nothing, while the new one exceeds it by at most "
               "tau."},
    {"split_kv", "Flash-Decoding: flash2 over several runs of tiles, merged by their log-sum-exp."},
    {"hardware", "Not emulated: a FlashAttention kernel on a GPU's tensor cores. Its rounding is the device's, so its bits may "
                 "differ from one device to another."},
    {"loaded", "Not computed: the output of your own kernel, read from a file, held against the truth on the same Q, K, V."},
}};
constexpr std::array<std::string_view, 8> formulas{
    "m = max S; l = sum exp(S - m)\nP = exp(S - m) / l; O = P V",
    "m' = max(m, max S); l = exp(m - m') l + sum exp(S - m')\nthen P = exp(S - m) / l; O = P V",
    "m' = max(m, m~); a = exp(m - m'), b = exp(m~ - m')\nl' = a l + b l~; O = (a l O + b P V) / l'",
    "m' = max(m, max S); a = exp(m - m')\nl = a l + sum e; O = a O + P V",
    "m' = m while (max S - m) log2 e <= tau, else max S\nl = a l + sum e; O = a O + P V",
    "O = sum_i w_i O_i / sum_i w_i\nw_i = exp(lse_i - max lse)", "mma.sync, fp32 accumulators, P in the input's type", ""};

/// Whether a policy says where the kernels of this algorithm round: there are policies for three passes, and for all others.
bool fits(const Policy& p, Algorithm a) { return (p.algorithm == Algorithm::three_pass) == (a == Algorithm::three_pass); }

/// The other algorithm's policy of the same spirit.
std::string_view counterpart(std::string_view policy) {
  constexpr std::array<std::array<std::string_view, 2>, 6> pairs{{{"hw", "base_hw"},
                                                                  {"eager", "base_eager"},
                                                                  {"all_tile", "base_all"},
                                                                  {"all_direct", "base_all"},
                                                                  {"tile", "base_eager"},
                                                                  {"eager", "base_ops"}}};
  for (const auto& [flash, base] : pairs) {
    if (policy == flash) return base;
    if (policy == base) return flash;
  }
  return policy == "base_floor" ? "hw" : "";
}

/// Another algorithm; a named policy becomes its counterpart where the old one would not fit.
void choose_algorithm(Method& m, Algorithm algorithm) {
  const bool passes = m.algorithm == Algorithm::three_pass, will_pass = algorithm == Algorithm::three_pass;
  const std::string_view other = passes == will_pass ? "" : counterpart(policy_name(m.precision, m.algorithm));
  m.algorithm = algorithm;
  if (!other.empty()) m.precision = policy(other).precision;
}

bool algorithm_combo(const Column& c) {
  Method& m = c.method;
  bool changed = false;
  if (begin_combo("##algorithm", std::string(name(m.algorithm)), c.width)) {
    for (std::size_t i = 0; i < algorithm_names.size(); ++i) {
      const auto algorithm = static_cast<Algorithm>(i);
      const bool pressed = ImGui::Selectable(std::string(algorithms[i].label).c_str(), algorithm == m.algorithm);
      explain(algorithms[i].what, formulas[i]);
      if (!pressed || algorithm == m.algorithm) continue;
      choose_algorithm(m, algorithm);
      changed = true;
    }
    ImGui::EndCombo();
  } else {
    const auto i = static_cast<std::size_t>(m.algorithm);
    explain("The order of operations. " + std::string(name(m.algorithm)) + ": " + std::string(algorithms[i].what), formulas[i]);
  }
  return changed;
}

bool preset_combo(const Column& c) {
  Method& m = c.method;
  const NearestPolicy nearest = nearest_policy(m.precision, m.algorithm);
  const std::string preview =
      std::string(nearest.name) + (nearest.changed > 0 ? printed(" +%d", nearest.changed) : std::string());
  bool changed = false;
  if (begin_combo("##preset", preview, c.width)) {
    for (const Policy& p : policies()) {
      if (!fits(p, m.algorithm)) continue;
      if (ImGui::Selectable(std::string(p.name).c_str(), p.precision == m.precision)) {
        changed |= !(m.precision == p.precision);
        m.precision = p.precision;
      }
      explain(p.what);
    }
    ImGui::EndCombo();
  } else if (!nearest.name.empty()) {
    explain(
        "Where the kernels of the field round. " + std::string(nearest.name) + ": " + std::string(policy(nearest.name).what),
        nearest.changed > 0 ? printed("+%d: steps that differ, marked with a dot", nearest.changed) : std::string());
  }
  return changed;
}

void choose_stochastic(Rounding& r, const Palette& colours) {
  ImGui::BeginDisabled(r.kind == Rounding::Kind::exact);
  toggle("stochastic", colours, r.stochastic, px(130));
  ImGui::EndDisabled();
  explain(
      "Rounds up or down with the probability of the distance instead of to the nearest, by dice that the seed starts: right on "
      "average, so errors do not add up in one direction. The cell shows it by ~.",
      "P(up) = (x - down) / (up - down)");
}

/// Formats to choose from, and any other by its name.
void choose_rounding(Rounding& r, std::string& typed, const Palette& colours) {
  const WithFace f(Face::mono);
  const auto become = [&r](Rounding wanted) {
    wanted.stochastic = r.stochastic;
    r = wanted;
  };
  if (ImGui::Selectable("exact", r.kind == Rounding::Kind::exact)) r = exact;
  if (ImGui::Selectable("D, the main format", r.kind == Rounding::Kind::main)) become(to_main);
  ImGui::Separator();
  for (const Format& format : {bf16, fp16, tf32, fp32, fp64, e4m3, e5m2})
    if (ImGui::Selectable(name(format).c_str(), r.kind == Rounding::Kind::format && r.format == format))
      become(to_format(format));
  ImGui::SetNextItemWidth(px(130));
  if (ImGui::InputTextWithHint("##format", "e5m7", &typed, ImGuiInputTextFlags_EnterReturnsTrue)) try {
      become(to_format(parse_format(typed)));
      ImGui::CloseCurrentPopup();
    } catch (const std::exception&) {
      typed.clear();  // the hint says what is wanted
    }
  explain("Any format: eXmY, X 2 .. 11 exponent bits, Y 0 .. 52 mantissa bits. Enter sets it.");
  choose_stochastic(r, colours);
}

bool format_popup(const char* id, Rounding& r, std::string& typed, const Palette& colours) {
  if (!ImGui::BeginPopup(id)) return false;
  const Rounding before = r;
  choose_rounding(r, typed, colours);
  ImGui::EndPopup();
  return !(r == before);
}

std::string rounding_text(const Rounding& r, const Format& main) {
  if (r.kind == Rounding::Kind::exact) return "exact";
  std::string text = name(format_of(r, main));
  if (r.stochastic) text.insert(text.begin(), '~');
  return text;
}

/// A filled cell means rounded; an outline, to a format of its own; grey, exact. A dot: not as the preset has it.
void draw_cell(ImVec2 from, ImVec2 to, const Column& c, const Palette& colours, Rounding::Kind kind, const std::string& text,
               bool differs) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool hot = ImGui::IsItemHovered();
  const float rounding = px(2.5f), middle = (from.x + to.x) / 2, y = (from.y + to.y - line_height(Face::mono_small)) / 2;
  const Colour fill = kind == Rounding::Kind::main ? c.colour : colours.raised;
  list->AddRectFilled(from, to, hot ? mixed(fill, colours.text, 0.15f) : fill, rounding);
  if (kind == Rounding::Kind::format) list->AddRect(from, to, c.colour, rounding, px(1.4f));
  const Colour ink = kind == Rounding::Kind::main ? colours.panel : kind == Rounding::Kind::format ? c.colour : colours.faint;
  draw_text({middle, y}, Face::mono_small, ink, fitted(Face::mono_small, text, to.x - from.x - px(4)), 0.5f);
  if (differs) list->AddCircleFilled({to.x + px(1), from.y + px(2)}, px(3), colours.text);
}

bool step_cell(const Column& c, Step step, const Format& main, float height, const Palette& colours, std::string& typed) {
  Rounding& r = c.method.precision[step];
  const NearestPolicy nearest = nearest_policy(c.method.precision, c.method.algorithm);
  const ImVec2 from{c.left, ImGui::GetCursorScreenPos().y};
  ImGui::PushID(c.id);
  bool changed = false;
  if (ImGui::InvisibleButton(name(step).data(), {c.width, height})) {
    r = r.kind == Rounding::Kind::exact ? to_main : exact;
    changed = true;
  }
  const bool differs = nearest.precision != nullptr && !((*nearest.precision)[step] == r);
  draw_cell(from, {from.x + c.width, from.y + height - px(2)}, c, colours, r.kind, rounding_text(r, main), differs);
  const std::string popup = std::string(name(step)) + " rounding";
  ImGui::OpenPopupOnItemClick(popup.c_str(), ImGuiPopupFlags_MouseButtonRight);
  explain(std::string(name(step)) + " of " + c.id + ": " + std::string(step_texts[static_cast<std::size_t>(step)].what) +
              ". Click: exact or D. Right click: a format of its own.",
          r.kind == Rounding::Kind::exact ? "stays in the working type" : "x -> round(" + rounding_text(r, main) + ", x)");
  changed |= format_popup(popup.c_str(), r, typed, colours);
  ImGui::PopID();
  return changed;
}

bool flag_cell(const Column& c, const char* id, bool Precision::*flag, float height, const Palette& colours, const char* what) {
  bool& on = c.method.precision.*flag;
  const NearestPolicy nearest = nearest_policy(c.method.precision, c.method.algorithm);
  const ImVec2 from{c.left, ImGui::GetCursorScreenPos().y};
  ImGui::PushID(c.id);
  const bool pressed = ImGui::InvisibleButton(id, {c.width, height});
  if (pressed) on = !on;
  draw_cell(from, {from.x + c.width, from.y + height - px(2)}, c, colours, on ? Rounding::Kind::main : Rounding::Kind::exact,
            on ? "yes" : "no", nearest.precision != nullptr && nearest.precision->*flag != on);
  explain(what);
  ImGui::PopID();
  return pressed;
}

/// Puts the cursor at a column of the row that begins at `at`.
void go_to(const Column& c, ImVec2 at) { ImGui::SetCursorScreenPos({c.left, at.y}); }

bool edit_heads(const std::array<Column, 2>& columns, const Palette& colours) {
  bool changed = false;
  for (int line = 0; line < 3; ++line) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const WithField f(Face::mono_small, 21);
    draw_text({at.x, at.y + (px(21) - line_height(Face::label)) / 2}, Face::label, colours.secondary,
              std::array{"algorithm", "options", "preset"}[static_cast<std::size_t>(line)]);
    for (const Column& c : columns) {
      go_to(c, at);
      ImGui::PushID(c.id);
      if (line == 1) {
        changed |= edit_method_options(c.method, colours, c.width, px(21));
      } else {
        ImGui::PushStyleColor(ImGuiCol_Text, c.colour);
        changed |= line == 2 ? preset_combo(c) : algorithm_combo(c);
        ImGui::PopStyleColor();
      }
      ImGui::PopID();
    }
    ImGui::SetCursorScreenPos({at.x, at.y + px(23)});
  }
  return changed;
}

}  // namespace

bool edit_precision(Experiment& e, const Palette& colours, std::string& typed) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x, width = std::floor(px(98)), gap = px(6);
  const std::array<Column, 2> columns{
      {{"a", e.a, colours.a, from.x + room - 2 * width - gap, width}, {"b", e.b, colours.b, from.x + room - width, width}}};
  bool changed = edit_heads(columns, colours);
  const float rest =
      ImGui::GetWindowPos().y + ImGui::GetWindowSize().y - ImGui::GetCursorScreenPos().y - px(6) + ImGui::GetScrollY();
  const float height = std::floor(std::clamp(rest / (step_count + 2), px(15), px(21)));
  const auto row = [&](std::string_view text, auto cell) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text({at.x, at.y + (height - px(2) - line_height(Face::mono)) / 2}, Face::mono, colours.text, text);
    for (const Column& c : columns) {
      go_to(c, at);
      changed |= cell(c);
    }
    ImGui::SetCursorScreenPos({at.x, at.y + height});
  };
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    row(name(step), [&](const Column& c) {
      return has_step(c.method.algorithm, step) && step_cell(c, step, e.format, height, colours, typed);
    });
  }
  row("l sums P", [&](const Column& c) {
    return !normalises_P(c.method.algorithm) &&
           flag_cell(c, "sum_rounded_P", &Precision::sum_rounded_P, height, colours,
                     "The row sum adds P as rounded for P.V, instead of e: numerator and denominator then err alike.");
  });
  row("P·V into O", [&](const Column& c) {
    return flag_cell(
        c, "accumulate_in_O", &Precision::accumulate_in_O, height, colours,
        "P.V continues in the rescaled O, as tensor cores do, instead of a fresh accumulator that is rounded (PV) and "
        "then added.");
  });
  ImGui::Dummy({0, 0});
  return changed;
}

}  // namespace attoscope
