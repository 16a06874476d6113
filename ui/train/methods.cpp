// The two methods side by side: format, algorithm, options, rounding forward and backward, the heads that do not round at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/controls/matrix.h"
#include "ui/frame/panel_input.h"
#include "ui/train/panels.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// One of the two methods as a column of rows.
struct MethodColumn {
  const char* id;
  TrainMethod& method;
  Colour colour;
  float left, width;
};

/// Places of the columns, and of the names at the cursor.
MatrixPlace place_of(const std::array<MethodColumn, 2>& columns) {
  const float left = columns[0].left;
  return {{left, columns[1].left}, columns[0].width, left - ImGui::GetCursorScreenPos().x - px(6)};
}

/// The number of choices in which two roundings differ.
int differences(const GradPrecision& x, const GradPrecision& y) {
  int count = x.delta_from != y.delta_from;
  for (int i = 0; i < grad_step_count; ++i) count += !(x[static_cast<GradStep>(i)] == y[static_cast<GradStep>(i)]);
  return count;
}

const GradPolicy& nearest_policy(const GradPrecision& p) {
  return *std::ranges::min_element(grad_policies(), {},
                                   [&](const GradPolicy& policy) { return differences(p, policy.precision); });
}

/// The steps that a policy rounds to D.
std::string steps_of(const GradPrecision& p) {
  std::string text = "to D:";
  for (int i = 0; i < grad_step_count; ++i)
    if (p[static_cast<GradStep>(i)].kind != Rounding::Kind::exact) text.append(" ").append(name(static_cast<GradStep>(i)));
  return text + "\ndelta from " + std::string(delta_from_names[p.delta_from]);
}

/// The name without the common prefix.
std::string short_policy(const GradPolicy& policy) { return std::string(policy.name.substr(std::string_view("grad_").size())); }

void edit_policy(const MethodColumn& c) {
  const GradPolicy& nearest = nearest_policy(c.method.gradient);
  const int changed = differences(c.method.gradient, nearest.precision);
  const std::string preview = short_policy(nearest) + (changed > 0 ? fmt::format(" +{}", changed) : "");
  if (!begin_combo("##backward", preview, c.width, c.colour))
    return explain("The rounding of attention's backward pass. " + std::string(nearest.name) + ": " + std::string(nearest.what),
                   steps_of(c.method.gradient));
  for (const GradPolicy& p : grad_policies()) {
    if (ImGui::Selectable((short_policy(p) + "###" + std::string(p.name)).c_str(), p.precision == c.method.gradient))
      c.method.gradient = p.precision;
    explain(p.what, steps_of(p.precision));
  }
  ImGui::EndCombo();
}

void edit_delta_from(const MethodColumn& c) {
  DeltaFrom& from = c.method.gradient.delta_from;
  const bool output = from == DeltaFrom::output;
  if (push_button(output ? "dO·O###delta from" : "P·dP###delta from", false, {c.width, px(matrix_header_height)}))
    from = output ? DeltaFrom::probabilities : DeltaFrom::output;
  explain(
      "The sum in delta: dO·O, as FlashAttention does, or P·dP, as the backward of a softmax does. Equal in exact arithmetic; "
      "a biased error of a rounded O affects only the first (arXiv 2510.04212). A click changes it.",
      output ? "delta = rowsum(dO * O)" : "delta = rowsum(P * dP)");
}

void edit_steps(const TrainScene& s, const std::array<MethodColumn, 2>& columns) {
  for (int i = 0; i < grad_step_count; ++i) {
    const auto step = static_cast<GradStep>(i);
    if (!is_of_training(step)) continue;
    const std::string text(name(step)), what(info(step).what), about = "Backward pass: " + what + ".";
    const MatrixRow row{text, about, "FlashAttention-2 (arXiv 2307.08691), Algorithm 2"};
    matrix_row(place_of(columns), row, px(control_height), [&](std::size_t column) {
      const MethodColumn& c = columns[column];
      const GradPolicy& nearest = nearest_policy(c.method.gradient);
      const WithId method(c.id), pass("backward");
      edit_rounding(c.method.gradient[step],
                    {text, c.colour, c.left, c.width, px(control_height), nearest.name, nearest.precision[step], false,
                     text + " of " + c.id + "'s backward pass: " + what + ". "},
                    c.method.format, s.state.typed_format);
    });
  }
}

/// The shortest list of places that covers the exact heads.
std::vector<HeadPlace> places_of(const std::vector<bool>& is_exact, const ModelShape& shape) {
  std::vector<HeadPlace> places;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const auto first = is_exact.begin() + static_cast<std::ptrdiff_t>(layer) * shape.heads;
    if (std::all_of(first, first + shape.heads, [](bool x) { return x; })) {
      places.push_back({layer, -1});
      continue;
    }
    for (int head = 0; head < shape.heads; ++head)
      if (first[head]) places.push_back({layer, head});
  }
  return places;
}

void draw_heads(const TrainScene& s, const MethodColumn& c, ImVec2 at, ImVec2 cell, const std::vector<bool>& is_exact,
                int under) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ModelShape& shape = s.plan().model;
  const float gap = cell.x > px(8) ? px(2) : 1;
  for (int i = 0; i < shape.layers * shape.heads; ++i) {
    const ImVec2 from{at.x + static_cast<float>(i % shape.heads) * cell.x, at.y + static_cast<float>(i / shape.heads) * cell.y};
    const Colour fill = is_exact[static_cast<std::size_t>(i)] ? c.colour : colours().raised;
    list->AddRectFilled(from, {from.x + cell.x - gap, from.y + cell.y - gap},
                        i == under ? mixed(fill, colours().text, 0.2f) : fill, px(2));
  }
}

void edit_heads(const TrainScene& s, const MethodColumn& c, float row) {
  const ModelShape& shape = s.plan().model;
  const ImVec2 at{c.left, ImGui::GetCursorScreenPos().y}, cell{c.width / static_cast<float>(shape.heads), row};
  std::vector<bool> is_exact;  // [layer * heads + head]
  for (int layer = 0; layer < shape.layers; ++layer)
    for (int head = 0; head < shape.heads; ++head) is_exact.push_back(c.method.is_exact(layer, head));
  ImGui::PushID(c.id);
  const bool pressed =
      ImGui::InvisibleButton("exact heads", {c.width, row * static_cast<float>(shape.layers)}, ImGuiButtonFlags_EnableNav);
  ImGui::PopID();
  const auto pointed = pointed_place(at, cell, shape.heads, shape.layers);
  const int under = pointed ? pointed->row * shape.heads + pointed->column : -1;
  draw_heads(s, c, at, cell, is_exact, under);
  const std::string place = under >= 0
                                ? fmt::format("Layer {}, head {}: {}. ", under / shape.heads, under % shape.heads,
                                              is_exact[static_cast<std::size_t>(under)] ? "exact" : "as the method rounds")
                                : std::string();
  explain(place +
          "A click makes a head's attention exact, forward and backward, or lets it round again; with Shift, all heads of the "
          "layer. A row is a layer.");
  if (!pressed || under < 0) return;
  const bool wanted = !is_exact[static_cast<std::size_t>(under)];
  const int first = ImGui::GetIO().KeyShift ? under - under % shape.heads : under,
            end = ImGui::GetIO().KeyShift ? first + shape.heads : under + 1;
  for (int i = first; i < end; ++i) is_exact[static_cast<std::size_t>(i)] = wanted;
  c.method.exact = places_of(is_exact, shape);
}

/// A list of main formats.
void edit_main_format(const MethodColumn& c) {
  if (!begin_combo("##format", name(c.method.format), c.width, c.colour))
    return explain(
        "The main format D: of the inputs and outputs of every matrix product, and of the steps that round to D. "
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

/// Edits the rounding of numbers that an update stores.
void edit_stored(const TrainScene& s, const MethodColumn& c, const char* name, Rounding& rounding, const char* what) {
  edit_rounding(rounding, {name, c.colour, c.left, c.width, px(matrix_header_height), "fp32", Rounding{}, false, what},
                c.method.format, s.state.typed_format);
}

/// Changes the forward pass; updates the backward pass if it is the usual one.
template <class Edit>
void edit_forward(TrainMethod& method, Edit edit) {
  const bool usual = method.gradient == usual_grad_policy(method.method).precision;
  edit();
  if (usual) method.gradient = usual_grad_policy(method.method).precision;
}

/// Sets the training's methods to a and b of Explore, each with its usual backward pass.
void take_from_explore(TrainPlan& plan, const Experiment& e) {
  for (const auto& [to, from] : {std::pair{&plan.a, &e.a}, std::pair{&plan.b, &e.b}}) {
    to->format = e.format;
    to->method = *from;
    to->gradient = usual_grad_policy(*from).precision;
  }
}

void exchange_buttons(const TrainScene& s, float width) {
  Experiment& e = s.session.experiment;
  const float half = (width - px(8)) / 2;
  const bool possible = is_emulated(e.a.algorithm) && is_emulated(e.b.algorithm);
  if (push_button("take from Explore###take methods", false, {half, 0}, possible)) take_from_explore(s.plan(), e);
  explain(possible ? "Takes a, b and the main format from Explore; each backward pass becomes the usual one of its method."
                   : "Explore shows a method that is not emulated, so it cannot be used for training.");
  ImGui::SameLine(0, px(8));
  if (push_button("give to Explore###give methods", false, {half, 0})) {
    e.a = s.plan().a.method;
    e.b = s.plan().b.method;
    e.format = s.plan().a.format;
  }
  explain("Gives these methods and a's main format to Explore, where each step of the forward pass can be changed.");
}

/// Draws rows with these names from the cursor down; `edit(row, column)` draws the cell of a column.
void method_rows(const std::array<MethodColumn, 2>& columns, std::span<const char* const> names,
                 const std::function<void(std::size_t, const MethodColumn&)>& edit) {
  for (std::size_t row = 0; row < names.size(); ++row)
    matrix_header(place_of(columns), names[row], [&](std::size_t i) {
      const WithId id(columns[i].id);
      edit(row, columns[i]);
    });
}

/// Backward policy, the sum in delta and, unfolded, a row for each step.
void edit_backward(const TrainScene& s, const std::array<MethodColumn, 2>& columns) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  constexpr std::array rows{"backward", "delta from"};
  method_rows(columns, rows, [&](std::size_t row, const MethodColumn& c) { row == 0 ? edit_policy(c) : edit_delta_from(c); });
  const float width = columns[1].left + columns[1].width - from.x;
  bool& open = s.state.shows_gradient;
  if (push_button(open ? "fold its steps###backward steps" : "its 14 steps###backward steps", false,
                  {width, px(matrix_header_height)}))
    open = !open;
  explain("The steps of the backward pass, one by one, like those of the forward pass in Explore's matrix.");
  ImGui::SetCursorScreenPos({from.x, from.y + 3 * px(control_height) + px(2)});
  if (open) edit_steps(s, columns);
}

/// One cell for each head. A click makes its attention exact; a second click restores the method's rounding.
void edit_exact_heads(const TrainScene& s, const std::array<MethodColumn, 2>& columns) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const int layers = s.plan().model.layers;
  const float row = std::floor(layers > 4 ? px(9) : px(14));
  draw_text({at.x, at.y}, Face::label, colours().secondary, "exact heads");
  for (const MethodColumn& c : columns) {
    ImGui::SetCursorScreenPos({c.left, at.y});
    edit_heads(s, c, row);
  }
  ImGui::SetCursorScreenPos({at.x, at.y + std::max(row * static_cast<float>(layers), px(16)) + px(6)});
}

}  // namespace

void edit_train_methods(const TrainScene& s, float width) {
  section("ATTENTION");
  const float heading = ImGui::GetItemRectMin().y;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float gap = px(6), names = px(84), column = std::floor((width - names - gap) / 2);
  const std::array<MethodColumn, 2> columns{
      MethodColumn{"a", s.plan().a, colours().a, from.x + width - 2 * column - gap, column},
      MethodColumn{"b", s.plan().b, colours().b, from.x + width - column, column}};
  for (const MethodColumn& c : columns) draw_fitted({c.left, heading}, Face::small, c.colour, named(s.plan(), c.id), c.width);
  PanelInput input;  // with `input` and `experiment`, Explore's lists refuse choices that cannot be trained
  input.choices.no_hardware = "A model is trained only with emulated methods: every step of their backward pass is defined.";
  Experiment experiment;
  constexpr std::array rows{"format", "algorithm", "options", "forward", "sums", "weights", "optimiser"};
  method_rows(columns, rows, [&](std::size_t row, const MethodColumn& c) {
    if (row == 0) edit_main_format(c);
    if (row == 1) edit_forward(c.method, [&] { edit_algorithm(c.method.method, experiment, input, c.colour, c.width); });
    if (row == 2) edit_method_options(c.method.method, c.method.format, c.width, px(matrix_header_height));
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
