// The backward pass: the switch, dO and dL, named kernels, and the rounding of each step for each method.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"
#include "ui/controls/controls.h"
#include "ui/controls/gradient_target.h"
#include "ui/controls/matrix.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

// --- gradients that come in -------------------------------------------------------------------------------------------

/// dO, dL, or a gradient computed by a kernel, and its choices other than a file.
struct Incoming {
  const char* title;
  const std::string& path;  ///< path of its file; empty: none
  std::span<const Choice> others;
  std::size_t chosen;  ///< index in `others`; others.size(): the file
  PathPrompt& prompt;
  PathTexts texts;
};

constexpr std::array<Choice, 2> d_o_choices{{
    {"normal", "N(0, 1) from the seed, in a stream of its own."},
    {"ones", "All ones: the gradient of the sum of all elements of O."},
}};
constexpr std::array<Choice, 1> d_lse_choices{{{"0", "The log-sum-exp has no gradient, as usual."}}};

/// A list of `others`, the loaded file, and entries that open another file. Returns the chosen index; sets `types` if the path
/// popup must open.
std::size_t incoming_combo(const Incoming& x, float width, const PanelInput& in, Requests& requests, bool& types) {
  const bool has_file = !x.path.empty();
  const std::size_t of_file = x.others.size();
  const std::string file = shown_file(x.path), now = x.chosen == of_file ? file : std::string(x.others[x.chosen].label);
  std::size_t chosen = x.chosen;
  const WithId id(x.title);
  const float name = text_width(Face::label, x.title) + px(6);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(matrix_header_height), Face::label, colours().secondary, x.title);
  ImGui::SetCursorScreenPos({at.x + name, at.y});
  const WithField f(Face::label, matrix_header_height);
  if (begin_combo("##incoming", fitted(Face::label, now, width - name - px(36)), width - name)) {
    for (std::size_t i = 0; i < of_file; ++i) {
      if (ImGui::Selectable(std::string(x.others[i].label).c_str(), i == x.chosen)) chosen = i;
      explain(x.others[i].what);
    }
    if (has_file && ImGui::Selectable((file + "###loaded").c_str(), x.chosen == of_file)) chosen = of_file;
    types = file_entries(x.texts.use, in, requests, "A .npy or .safetensors file. Dropping it onto the window does the same.");
    ImGui::EndCombo();
  } else {
    takes_files(x.texts.use);
    explain(x.texts.what, x.chosen == of_file ? std::string_view(x.path) : x.texts.formula);
  }
  return chosen;
}

/// The list, and the popup for a path.
std::size_t edit_incoming(const Incoming& x, float width, const PanelInput& in, Requests& requests) {
  const std::string popup = std::string(x.title) + " file";
  bool types = false;
  const std::size_t chosen = incoming_combo(x, width, in, requests, types);
  if (types) ImGui::OpenPopup(popup.c_str());
  path_popup(popup.c_str(), x.prompt, in, x.texts, requests);
  return chosen;
}

constexpr const char* gradient_path_hint = "FILE.npy or FILE.safetensors, :INDEX if it is not Q's head";

void edit_incoming(Backward& b, const PanelInput& in, Popups& popups, Requests& requests) {
  const float room = ImGui::GetContentRegionAvail().x, gap = px(8), left = std::floor((room - gap) / 2);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Incoming of_o{"dO",
                      b.d_o_file.file,
                      d_o_choices,
                      static_cast<std::size_t>(b.d_o),
                      popups.files[FileUse::d_o],
                      {FileUse::d_o, gradient_path_hint, parameter("do").sentence, "n x d_v, rounded by a's input step",
                       "Reads dO from the file."}};
  const Incoming of_lse{
      "dL",
      b.d_lse_file.file,
      d_lse_choices,
      b.d_lse_file.file.empty() ? 0u : 1u,
      popups.files[FileUse::d_lse],
      {FileUse::d_lse, gradient_path_hint, "The gradient of the log-sum-exp of each query, subtracted from delta.",
       "delta_i = sum_c dO_ic O_ic - dL_i", "Reads dL from the file."}};
  const auto d_o = static_cast<OutputGradient>(edit_incoming(of_o, left, in, requests));
  ImGui::SetCursorScreenPos({at.x + left + gap, at.y});
  const bool drops = edit_incoming(of_lse, room - gap - left, in, requests) == 0 && of_lse.chosen != 0;
  ImGui::SetCursorScreenPos({at.x, at.y + px(matrix_header_height + 2)});
  b.d_o = d_o;
  if (drops) b.d_lse_file = {};
}

// --- named kernels ----------------------------------------------------------------------------------------------------

/// The named backward pass whose roundings are nearest, and the number of steps that differ.
struct NearestGradient {
  std::string_view name;
  GradPrecision precision;
  int changed = grad_step_count + 1;
  bool is_whole = false;  ///< everything else equals the named backward pass too
};
NearestGradient nearest_gradient(const GradTarget& t) {
  const GradMethod& g = t.gradient();
  const Problem& p = t.e.problem;
  NearestGradient best;
  for (const GradKernel& k : grad_kernels()) {
    const GradMethod named = grad_method(k.name, p.d, p.mask);
    int changed = 0;
    for (const GradStepInfo& s : grad_step_infos) changed += !(named.precision[s.step] == g.precision[s.step]);
    const bool is_whole = named == g;
    if (is_whole || (changed < best.changed && !best.is_whole)) best = {k.name, named.precision, changed, is_whole};
    if (is_whole) break;
  }
  return best;
}

/// The backward pass of a or b as a column of the matrix.
struct GradColumn {
  GradTarget target;
  const char* id;  ///< also its name
  Colour colour;
  NearestGradient nearest;
};

void choose_kernel(const GradColumn& c) {
  const GradTarget& t = c.target;
  for (const GradKernel& k : grad_kernels()) {
    const GradMethod named = grad_method(k.name, t.e.problem.d, t.e.problem.mask);
    const std::string reason = t.why_not(named);
    const std::string text(k.name);
    const bool pressed = if_possible(reason.empty(), [&] { return ImGui::Selectable(text.c_str(), named == t.gradient()); });
    explain(fmt::format("{}.{}", k.what, reason.empty() ? "" : " Not here: " + reason), k.source);
    if (pressed) t.gradient() = named;
  }
}

void kernel_combo(const GradColumn& c, float width) {
  constexpr std::size_t prefix = std::string_view("grad_").size();
  const NearestGradient& n = c.nearest;
  const std::string preview = n.is_whole ? std::string(n.name.substr(prefix)) : "custom";
  column_combo(
      "##kernel", preview, {c.colour, width}, [&] { choose_kernel(c); },
      [&] {
        if (n.is_whole) return explain(fmt::format("{}: {}.", n.name, grad_kernel(n.name).what), grad_kernel(n.name).source);
        explain(fmt::format("No named backward pass equals this one. {} has the nearest roundings.", n.name),
                n.changed > 0 ? counted(n.changed, "cell differs", "cells differ") + ", marked with a dot" : std::string());
      });
}

// --- steps ------------------------------------------------------------------------------------------------------------

/// Reason why a step has no effect; "": it has an effect.
std::string idle_reason(const GradTarget& t, GradStep step) {
  if (step == GradStep::scaled_K && t.gradient().scale_at != ScaleAt::K) return "Without effect unless the scale is on K. ";
  const bool again = step == GradStep::lse || step == GradStep::probability;
  return again && normalises_P(t.method().algorithm) ? "Without effect if P is e/l, as in this forward pass. " : "";
}

/// One sentence why the step cannot be rounded (tensor cores round their sums themselves); "": it can.
std::string why_not_rounded(const GradTarget& t, GradStep step) {
  if (t.gradient().precision[step] != exact) return "";
  GradMethod tried = t.gradient();
  tried.precision[step] = to_main;
  return step == GradStep::dp_step || step == GradStep::dv_step || step == GradStep::dk_step || step == GradStep::dq_step
             ? t.why_not(tried)
             : "";
}

void step_cell(const GradColumn& c, GradStep step, const MatrixPlace& place, std::size_t column, float height,
               std::string& typed) {
  const GradTarget& t = c.target;
  RoundingCell cell{name(step), c.colour, place.left[column], place.width, height, c.nearest.name, c.nearest.precision[step]};
  const std::string idle = idle_reason(t, step), reason = why_not_rounded(t, step);
  cell.idle = !idle.empty();
  cell.what = fmt::format("{} of {}: {}. {}{}", name(step), c.id, info(step).what, idle,
                          reason.empty() ? "" : "Not here: " + reason + " ");
  if_possible(reason.empty(), [&] { edit_rounding(t.gradient().precision[step], cell, t.e.format, typed); });
}

/// Draws an item of a column, if the method has a backward pass.
void in_column(const GradColumn& c, const std::function<void()>& draw) {
  const WithId method(c.id), pass("grad");
  if (is_emulated(c.target.method().algorithm)) draw();
}

}  // namespace

std::string GradTarget::why_not(const GradMethod& chosen) const {
  const std::string why = why_no_gradient(e, method(), chosen);
  return why.empty() || why == why_no_gradient(e, method(), gradient()) ? "" : why + ".";
}

std::string turn_backward(Experiment& e) {
  Experiment turned = e;
  turned.backward.on = false;
  if (!e.backward.on) {
    turned = with_backward(std::move(turned));
    if (const std::string why = why_no_gradients(turned); !why.empty()) return why + ".";
  }
  e = std::move(turned);
  return "";
}

void edit_pass(Experiment& e, float width, float height) {
  Experiment turned = e;
  const std::string reason = e.backward.on ? "" : turn_backward(turned);
  const std::string what =
      std::string(parameter("backward").sentence) + " Key D." + (reason.empty() ? "" : " Not here: " + reason);
  const std::array<Choice, 2> passes{
      {{"forward", "Computes only O. The settings of the backward pass are kept. Key D."}, {"backward", what}}};
  bool on = e.backward.on;
  if (segmented("pass", passes, on, {.width = width, .height = height, .disabled = reason.empty() ? -1 : 1})) turn_backward(e);
}

void edit_kernel_gradients(const Frame& frame) {
  static constexpr std::array<Choice, 1> own{{{"a's", "Method a computes it; no file is compared."}}};
  KernelGradients& files = frame.session.kernel_gradients;
  const float gap = px(8), width = std::floor((ImGui::GetContentRegionAvail().x - 2 * gap) / 3);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  float left = at.x;
  const auto edit = [&](FileUse use, const char* title, std::string& file, const char* what) {
    const PathTexts texts{use, gradient_path_hint,
                          "A gradient computed by your own kernel, which replaces a's. It is compared with golden and judged.",
                          "file - golden", what};
    ImGui::SetCursorScreenPos({left, at.y});
    left += width + gap;
    const Incoming x{title, file, own, file.empty() ? 0u : 1u, frame.state.popups.files[use], texts};
    if (edit_incoming(x, width, frame.input, frame.requests) == 0) file.clear();
  };
  edit(FileUse::dq, "dQ", files.dq, "Reads dQ from the file, and shows it instead of a's.");
  edit(FileUse::dk, "dK", files.dk, "Reads dK from the file, and shows it instead of a's.");
  edit(FileUse::dv, "dV", files.dv, "Reads dV from the file, and shows it instead of a's.");
  ImGui::SetCursorScreenPos({at.x, at.y + px(matrix_header_height + 2)});
  ImGui::Dummy({0, 0});
}

void edit_gradients(Experiment& e, const PanelInput& input, Popups& popups, Requests& requests, std::string& typed) {
  edit_incoming(e.backward, input, popups, requests);
  const MatrixPlace place = matrix_place(px(88));  // width of "probability"
  const auto column = [&](const char* id, bool of_b, Colour colour) {
    const GradTarget target{e, of_b};
    return GradColumn{target, id, colour, nearest_gradient(target)};
  };
  const std::array<GradColumn, 2> columns{column("a", false, colours().a), column("b", true, colours().b)};
  const auto header = [&](const char* title, const std::function<void(const GradColumn&)>& edit) {
    matrix_header(place, title, [&](std::size_t i) { in_column(columns[i], [&] { edit(columns[i]); }); });
  };
  header("kernel", [&](const GradColumn& c) { kernel_combo(c, place.width); });
  header("options", [&](const GradColumn& c) { edit_gradient_options(c.target, place.width, px(matrix_header_height)); });
  header("sums", [&](const GradColumn& c) { edit_gradient_sums(c.target, c.colour, place.width); });
  header("scales", [&](const GradColumn& c) { edit_gradient_scales(c.target, c.colour, place.width, typed); });
  const float height = matrix_row_height(grad_step_count);
  for (const GradStepInfo& row : grad_step_infos)
    matrix_row(place, {row.name, row.what, ""}, height, [&](std::size_t i) {
      const GradColumn& c = columns[i];
      const bool none = !is_emulated(c.target.method().algorithm);
      if (none && row.step == GradStep::lse) draw_no_cell(place, i, height, "none");
      in_column(c, [&] { step_cell(c, row.step, place, i, height, typed); });
    });
  ImGui::Dummy({0, 0});
}

}  // namespace attoscope::ui
