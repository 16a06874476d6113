// All tensors of a backward pass in a table, and delta, from which dS is made.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/experiment/result.h"
#include "ui/picture/heatmap_view.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// Errors of a tensor in both methods.
struct TensorErrors {
  AnswerTensor tensor;
  const Deviation &a, &b;
};

/// The tensors that have errors; dO is given.
std::array<TensorErrors, 4> errors_of(const Result& r) {
  const GradientDeviations &a = r.backward->a_error, &b = r.backward->b_error;
  return {{{AnswerTensor::O, r.a_error, r.b_error},
           {AnswerTensor::dQ, a.dq, b.dq},
           {AnswerTensor::dK, a.dk, b.dk},
           {AnswerTensor::dV, a.dv, b.dv}}};
}

/// A column of a measure of one method.
TableColumn<TensorErrors> error_column(ColumnHeading heading, bool of_b, double Deviation::* measure) {
  heading.digits = 3;
  return table_column<TensorErrors>(std::move(heading), [=](const TensorErrors& e) { return (of_b ? e.b : e.a).*measure; });
}

/// delta's formula by a's rule, and its meaning.
std::string delta_sentence(const Experiment& e) {
  const bool of_output = e.backward.a.precision.delta_from == DeltaFrom::output;
  return fmt::format("delta_i = sum over {}: the mean of dP under the weights P, which softmax's derivative subtracts.",
                     of_output ? "c of dO_ic O_ic" : "j of P_ij dP_ij");
}

/// Name of the rule by which a method takes delta.
const char* delta_rule(const GradMethod& method) { return method.precision.delta_from == DeltaFrom::output ? "dO.O" : "P.dP"; }

void draw_delta(const Result& r) {
  const BackwardResult& found = *r.backward;
  const Backward& asked = r.experiment.backward;
  const MethodNames names = method_names(r.experiment);
  label(Face::small, colours().secondary,
        fitted(Face::small,
               fmt::format("delta's bias: {} {} ({}), {} {} ({})", names.a, signed_scientific(found.a_delta.bias, 3),
                           delta_rule(asked.a), names.b_after_a, signed_scientific(found.b_delta.bias, 3), delta_rule(asked.b)),
               ImGui::GetContentRegionAvail().x));
  explain(
      "The signed mean of delta - golden's delta over all queries that see a key. dO.O and P.dP are the same sum in exact "
      "arithmetic; the first is made of the rounded O.",
      fmt::format("largest: {} and {}\nRMS: {} and {}", scientific(found.a_delta.max_abs), scientific(found.b_delta.max_abs),
                  scientific(found.a_delta.rms), scientific(found.b_delta.rms)));
  wrapped(Face::small, colours().faint, delta_sentence(r.experiment), ImGui::GetContentRegionAvail().x);
}

/// Errors of the gradient of the sink's logit.
void draw_sink(const BackwardResult& r, const MethodNames& names) {
  const double golden = r.golden->dsink;
  label(Face::small, colours().secondary,
        fmt::format("dsink: {} {}, {} {} off", names.a, signed_scientific(r.a.dsink - golden, 3), names.b_after_a,
                    signed_scientific(r.b.dsink - golden, 3)));
  explain("The gradient of the sink's logit, minus golden's.",
          fmt::format("golden {}\n{} {}\n{} {}", scientific(golden, 6), names.a, scientific(r.a.dsink, 6), names.b_after_a,
                      scientific(r.b.dsink, 6)));
}

/// The verdict on a kernel's gradients, in the words of `attoscope judge`.
void draw_kernel_gradients(const KernelGradientsAnswer& found) {
  std::string text;
  for (const std::string& s : found.sentences) text += (text.empty() || s.empty() ? "" : " ") + s;
  const bool wrong = std::ranges::any_of(found.rounded, [](const std::optional<bool>& r) { return r && !*r; });
  wrapped(Face::small, wrong ? colours().bad : colours().secondary,
          text.empty() ? "Your kernel's gradients: rounded or wrong? They are being judged." : text,
          ImGui::GetContentRegionAvail().x);
  explain("Each element is held to its own tolerance, as attoscope judge --dq, --dk and --dv hold it.");
  ImGui::Dummy({0, px(4)});
}

}  // namespace

Table tensor_table(const Result& r) {
  const auto rows = errors_of(r);
  const MethodNames names = method_names(r.experiment);
  const auto titled = [&](const char* of, bool b) { return fmt::format("{} {}", of, b ? names.b_after_a : names.a); };
  const std::vector<TableColumn<TensorErrors>> columns{
      table_column<TensorErrors>({.key = "tensor"}, [](const TensorErrors& e) { return name(e.tensor); }),
      error_column({.key = "a_mean_abs", .title = titled("mean", false), .meaning = "The mean |error| of a."}, false,
                   &Deviation::mean_abs),
      error_column({.key = "b_mean_abs", .title = titled("mean", true), .meaning = "The mean |error| of b."}, true,
                   &Deviation::mean_abs),
      error_column({.key = "a_max_abs", .title = titled("max", false), .meaning = "The largest |error| of a."}, false,
                   &Deviation::max_abs),
      error_column({.key = "b_max_abs", .title = titled("max", true), .meaning = "The largest |error| of b.", .minor = true},
                   true, &Deviation::max_abs),
      error_column({.key = "a_rel_rms", .title = titled("rel.", false), .meaning = "RMS error of a over the RMS of golden."},
                   false, &Deviation::rel_rms),
      error_column({.key = "b_rel_rms",
                    .title = titled("rel.", true),
                    .meaning = "RMS error of b over the RMS of golden.",
                    .minor = true},
                   true, &Deviation::rel_rms)};
  return table_of(columns, std::span<const TensorErrors>(rows));
}

void draw_gradients(const Frame& frame) {
  const Result& r = *frame.input.answer.result;
  View& view = frame.session.view;
  const Table table = tensor_table(r);
  const auto tensors = errors_of(r);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, line = line_height(Face::mono_small) + px(6);
  const float height = static_cast<float>(tensors.size() + 1) * line + px(13);  // headings in two lines
  ImGui::BeginChild("tensors", {width, height}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_NoBackground);
  const auto row = [&](std::size_t i) {
    const std::string tensor(name(tensors[i].tensor));
    return TableRow{.id = "tensor " + tensor,
                    .meaning = "A click shows " + tensor + " in the picture and in the numbers below.",
                    .chosen = tensors[i].tensor == view.tensor};
  };
  if (const auto clicked = draw_table("tensors", table, {.row = row})) choose_tensor(view, tensors[*clicked].tensor);
  ImGui::EndChild();
  offer_export({Plot::window, "tensors", at, {at.x + width, at.y + height}, [&] { return csv_text(table); }}, view,
               frame.requests);
  if (const KernelGradientsAnswer* const found = shown_kernel_gradients(frame.input)) draw_kernel_gradients(*found);
  draw_delta(r);
  if (r.experiment.problem.sink) draw_sink(*r.backward, method_names(r.experiment));
  ImGui::Dummy({0, px(4)});
}

}  // namespace attoscope::ui
