// The two methods side by side: format, algorithm, options and rounding.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/frame/panel_input.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// A frame and an experiment with which the lists of Explore refuse choices that cannot be trained.
struct TrainingContext {
  PanelInput input;
  Experiment experiment;
};
TrainingContext asked() {
  TrainingContext a;
  a.input.choices.no_hardware = "A model is trained only with emulated methods: every step of their backward pass is defined.";
  return a;
}

/// A list of main formats.
void edit_main_format(const MethodColumn& c) {
  ImGui::PushStyleColor(ImGuiCol_Text, c.colour);
  const bool open = begin_combo("##format", name(c.method.format), c.width);
  ImGui::PopStyleColor();
  if (!open)
    return explain(
        "The main format D: of what enters and leaves every matrix product, and of the steps that round to D. "
        "Accumulators are fp32.",
        fmt::format("eps = {:g}, max = {:g}", epsilon(c.method.format), largest(c.method.format)));
  for (const NamedFormat& named : named_formats) {
    const Format& format = named.format;
    if (format == fp64) continue;  // weights are fp32
    if (ImGui::Selectable(name(format).c_str(), format == c.method.format)) {
      c.method.method = with_main_format(c.method.method, c.method.format, format);
      c.method.format = format;
    }
    explain("Everything that rounds to D rounds to " + name(format) + ".",
            fmt::format("eps = {:g}, max = {:g}", epsilon(format), largest(format)));
  }
  ImGui::EndCombo();
}

/// The rounding of what an update stores.
void edit_stored(const TrainScene& s, const MethodColumn& c, const char* name, Rounding& rounding, const char* what) {
  edit_rounding(rounding, {name, c.colour, c.left, c.width, px(method_field_height), "fp32", Rounding{}, false, what},
                c.method.format, s.state.typed_format);
}

/// A change of the forward pass; the backward pass follows while it is the usual one.
template <class Edit>
void edit_forward(TrainMethod& method, Edit edit) {
  const bool usual = method.gradient == usual_grad_policy(method.method).precision;
  edit();
  if (usual) method.gradient = usual_grad_policy(method.method).precision;
}

/// a and b of Explore as methods of the training; the backward pass is the usual one of each.
void take_from_explore(TrainPlan& plan, const Experiment& e) {
  for (const auto& [to, from] : {std::pair{&plan.a, &e.a}, std::pair{&plan.b, &e.b}}) {
    to->format = e.format;
    to->method = *from;
    to->gradient = usual_grad_policy(*from).precision;
  }
}

void give_to_explore(const TrainPlan& plan, Experiment& e) {
  e.a = plan.a.method;
  e.b = plan.b.method;
  e.format = plan.a.format;
}

void exchange_buttons(const TrainScene& s, float width) {
  Experiment& e = s.session.experiment;
  const float half = (width - px(8)) / 2;
  const bool possible = is_emulated(e.a.algorithm) && is_emulated(e.b.algorithm);
  ImGui::BeginDisabled(!possible);
  if (push_button("take from Explore###take methods", false, {half, 0})) take_from_explore(s.plan(), e);
  ImGui::EndDisabled();
  explain(possible ? "Takes a, b and the main format from Explore; each backward pass becomes the usual one of its method."
                   : "Explore shows a method that is not emulated, so it cannot be used for training.");
  ImGui::SameLine(0, px(8));
  if (push_button("give to Explore###give methods", false, {half, 0})) give_to_explore(s.plan(), e);
  explain("Gives these methods and a's main format to Explore, where each step of the forward pass can be changed.");
}

}  // namespace

void method_row(ImVec2 at, float height, const char* name) {
  draw_text({at.x, at.y + (px(height) - line_height(Face::label)) / 2}, Face::label, colours().secondary, name);
}

void method_rows(const std::array<MethodColumn, 2>& columns, std::span<const char* const> names,
                 const std::function<void(std::size_t, const MethodColumn&)>& edit) {
  ImVec2 at = ImGui::GetCursorScreenPos();
  for (std::size_t row = 0; row < names.size(); ++row, at.y += px(control_height)) {
    const WithField f(Face::mono_small, method_field_height);
    ImGui::PushStyleVarX(ImGuiStyleVar_FramePadding, px(5));
    method_row(at, method_field_height, names[row]);
    for (const MethodColumn& c : columns) {
      ImGui::SetCursorScreenPos({c.left, at.y});
      ImGui::PushID(c.id);
      edit(row, c);
      ImGui::PopID();
    }
    ImGui::PopStyleVar();
  }
  ImGui::SetCursorScreenPos(at);
}

void edit_train_methods(const TrainScene& s, float width) {
  section("ATTENTION");
  const float heading = ImGui::GetItemRectMin().y;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float gap = px(6), names = px(84), column = std::floor((width - names - gap) / 2);
  const std::array<MethodColumn, 2> columns{
      MethodColumn{"a", s.plan().a, colours().a, from.x + width - 2 * column - gap, column},
      MethodColumn{"b", s.plan().b, colours().b, from.x + width - column, column}};
  for (const MethodColumn& c : columns)
    draw_text({c.left, heading}, Face::small, c.colour, fitted(Face::small, named(s.plan(), c.id), c.width));
  TrainingContext a = asked();
  constexpr std::array rows{"format", "algorithm", "options", "forward", "sums", "weights", "optimiser"};
  method_rows(columns, rows, [&](std::size_t row, const MethodColumn& c) {
    if (row == 0) edit_main_format(c);
    if (row == 1)
      edit_forward(c.method, [&] { edit_algorithm(c.method.method, a.experiment, a.input, c.colour, c.width); });
    if (row == 2) edit_method_options(c.method.method, c.method.format, c.width, px(method_field_height));
    if (row == 3) edit_forward(c.method, [&] { edit_policy(c.method.method, c.colour, c.width); });
    if (row == 4) edit_sums({.format = c.method.format, .a = c.method.method}, c.method.method, c.colour, c.width);
    if (row == 5) edit_stored(s, c, rows[row], c.method.weights, "The weights, as an update stores them. Exact is fp32. ");
    if (row == 6)
      edit_stored(s, c, rows[row], c.method.optimiser, "AdamW's two moments, as an update stores them. Exact is fp32. ");
  });
  edit_backward(s, columns);
  edit_exact_heads(s, columns);
  exchange_buttons(s, width);
  complain(s, PlanPart::methods, width);
}

}  // namespace attoscope::ui
