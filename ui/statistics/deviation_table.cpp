// The tables of the panel Statistics: every measure of a and b, the parts of storage and arithmetic, the log-sum-exp; all
// tensors of a backward pass, and delta, an input of dS.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/experiment/measures.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/picture/heatmap_view.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

using Form = DeviationMeasure::Form;

/// Width of a column of numbers at scale 1.
constexpr float number_column = 75;

/// Three digits, or fewer to fit `room`. Ulps below 9999.5 are written without an exponent.
std::string number_text(double x, const DeviationMeasure& m, float room) {
  if (m.unit == DeviationMeasure::Unit::ulps && x < 9999.5) return fmt::format("{:.{}f}", x, x < 99.95 ? 1 : 0);
  std::string text;
  for (int digits = 3; digits > 0 && (text.empty() || text_width(Face::mono, text) > room); --digits)
    text = m.form == Form::signed_value ? signed_scientific(x, digits) : scientific(x, digits);
  return text;
}

/// The ratio, with one digit if it would touch b's column.
std::string ratio_text(double ratio) {
  const std::string text = times(ratio);
  return text_width(Face::mono, text) <= px(48) ? text : scientific(ratio, 1) + "×";
}

double value_of(const Deviation& d, const DeviationMeasure& m) { return shown_number(m, numbers_of(d).*m.value); }

/// Right edges of the columns, in pixels.
struct Edges {
  float a, b, ratio, difference;
};
Edges edges_of(float width) {
  return {width - px(2 * number_column + 56), width - px(number_column + 56), width - px(number_column), width};
}

/// Width of a number that touches neither its neighbours nor the name of its line.
float number_room(const Edges& x, float name_width) { return std::min(px(number_column - 10), x.a - name_width - px(6)); }

void draw_row(const Result& r, const DeviationMeasure& row, const Edges& x, float width, float height) {
  const PanelLine line = panel_line(height, width);
  const double a = value_of(r.a_error, row), b = value_of(r.b_error, row), difference = value_of(r.a_minus_b, row);
  if (ImGui::IsItemHovered())
    ImGui::GetWindowDrawList()->AddRectFilled(
        {line.at.x - px(4), line.at.y}, {line.at.x + line.width + px(4), line.at.y + height}, faded(colours().raised, 0.7f));
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  const float room = number_room(x, text_width(Face::label, row.label));
  const auto number = [&](double v) { return number_text(v, row, room); };
  const bool has_ratio = row.form != Form::signed_value;
  draw_text({line.at.x, y}, Face::label, colours().secondary, row.label);
  draw_text({line.at.x + x.a, y}, Face::mono, colours().text, number(a), 1);
  draw_text({line.at.x + x.b, y}, Face::mono, colours().text, number(b), 1);
  draw_text({line.at.x + x.ratio, y}, Face::mono, has_ratio ? colours().secondary : colours().faint,
            has_ratio ? ratio_text(a / b) : "", 1);
  draw_text({line.at.x + x.difference, y}, Face::mono, colours().secondary, number(difference), 1);
  explain(row.what, has_ratio ? std::string(row.formula) + "\na / b = " + times(a / b) : std::string(row.formula));
}

void draw_nonfinite(const Result& r, const DeviationMeasure& row, const Edges& x, float width, float height) {
  const PanelLine line = panel_line(height, width);
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  draw_text({line.at.x, y}, Face::label, colours().secondary, row.label);
  const auto count = [&](float edge, std::int64_t value) {
    draw_text({line.at.x + edge, y}, Face::mono, value > 0 ? colours().bad : colours().faint,
              value >= 1000000 ? scientific(static_cast<double>(value)) : std::to_string(value), 1);
  };
  count(x.a, r.a_error.nonfinite);
  count(x.b, r.b_error.nonfinite);
  count(x.difference, r.a_minus_b.nonfinite);
  explain(row.what, "golden: " + std::to_string(r.golden_nonfinite));
}

/// A part of the error of a method that stores Q, K, V or P with scales.
struct ErrorPart {
  Deviation ErrorParts::* numbers;
  const char *label, *what, *formula;
};
constexpr std::array<ErrorPart, 2> error_parts{{
    {&ErrorParts::storage, "storage",
     "The effect of storage alone: golden on the numbers that stored Q, K and V represent, against golden. Element by element, "
     "storage and arithmetic add up to the error; their means and maxima need not.",
     "golden of the stored - golden"},
    {&ErrorParts::arithmetic, "arithmetic",
     "The effect of the arithmetic on top: the output against golden on the numbers that stored Q, K and V represent. Element "
     "by element, storage and arithmetic add up to the error; their means and maxima need not.",
     "output - golden of the stored"},
}};
/// True for measures with a line for each part.
bool has_lines_of_parts(const DeviationMeasure& m) { return m.key == "max_abs" || m.key == "mean_abs" || m.key == "rms"; }

/// Line of a part, below its measure.
void draw_part(const Result& r, const DeviationMeasure& row, const ErrorPart& part, const Edges& x, float width, float height) {
  const PanelLine line = panel_line(height, width);
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  const auto of = [&](const std::optional<ErrorParts>& parts) {
    return parts ? value_of((*parts).*part.numbers, row) : std::nan("");
  };
  const double a = of(r.a_parts), b = of(r.b_parts);
  const float room = number_room(x, px(2) + text_width(Face::small, part.label));
  const auto number = [&](float edge, bool known, double value) {
    draw_text({line.at.x + edge, y}, Face::mono, known ? colours().secondary : colours().faint,
              known ? number_text(value, row, room) : "–", 1);
  };
  draw_text({line.at.x + px(2), y}, Face::small, colours().faint, part.label);
  number(x.a, r.a_parts.has_value(), a);
  number(x.b, r.b_parts.has_value(), b);
  const bool both = r.a_parts && r.b_parts;
  if (both) draw_text({line.at.x + x.ratio, y}, Face::mono, colours().secondary, ratio_text(a / b), 1);
  explain(std::string(row.label) + ", " + part.label + ": " + part.what,
          std::string(part.formula) + (both ? "\na / b = " + times(a / b) : "\n–: this method stores nothing with scales"));
}

/// A row of the log-sum-exp: error of the L that a method stores, in its base, against golden's natural L; for a loaded output,
/// the error in its verdict.
struct LseRow {
  const char *label, *what;
  double LseError::* value;
};
constexpr std::array<LseRow, 2> lse_lines{{
    {"L max", "The largest error of the log-sum-exp that each method stores for the backward pass and for merges.",
     &LseError::max_abs},
    {"L rms", "The root mean square error of the stored log-sum-exp.", &LseError::rms},
}};

/// Error of a method's L; NaN if unknown.
double lse_of(const Result& r, bool of_a, const LseRow& row, const HeadVerdict* verdict) {
  const std::vector<double>& lse = of_a ? r.a_lse : r.b_lse;
  const Method& m = of_a ? r.experiment.a : r.experiment.b;
  if (m.algorithm == Algorithm::loaded) {
    if (verdict == nullptr || !verdict->lse) return std::nan("");
    const std::vector<double>& errors = verdict->lse->judged.errors;
    return lse_error(std::vector<double>(errors.size()), errors, false).*row.value / verdict->lse->unit;
  }
  return lse.empty() ? std::nan("") : lse_error(r.golden_lse, lse, is_base_2(m.lse_base)).*row.value;
}

/// "base e", "base 2", "base 2, your kernel's", "not given"
std::string base_words(const Method& m, const HeadVerdict* verdict) {
  if (m.algorithm != Algorithm::loaded) return is_base_2(m.lse_base) ? "base 2" : "base e";
  return verdict == nullptr || !verdict->lse ? "not given"
                                             : "base " + std::string(name(verdict->lse->base)) + ", your kernel's";
}

void draw_lse_row(const Result& r, const LseRow& row, const HeadVerdict* verdict, const Edges& x, float width, float height) {
  const PanelLine line = panel_line(height, width);
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  const double a = lse_of(r, true, row, verdict), b = lse_of(r, false, row, verdict);
  const auto number = [&](float edge, double value) {
    draw_text({line.at.x + edge, y}, Face::mono, std::isnan(value) ? colours().faint : colours().text,
              std::isnan(value) ? "–" : scientific(value, 3), 1);
  };
  draw_text({line.at.x, y}, Face::label, colours().secondary, row.label);
  number(x.a, a);
  number(x.b, b);
  if (a == a && b == b) draw_text({line.at.x + x.ratio, y}, Face::mono, colours().secondary, ratio_text(a / b), 1);
  explain(row.what, "L = ln sum_j exp(S_j), less golden's, natural\na: " + base_words(r.experiment.a, verdict) +
                        "\nb: " + base_words(r.experiment.b, verdict));
}

/// Height of the picture of L at scale 1.
constexpr float lse_picture = 44;

/// A kernel's L by queries: bars as high as their errors over the tolerance, which is shaded. A click traces the query.
void draw_lse_by_query(const HeadLse& lse, Problem& problem, float width) {
  const LseJudgement& l = lse.judged;
  const PanelLine line = panel_line(px(lse_picture), width);
  draw_in_line(line.at, px(lse_picture), Face::label, colours().secondary, "L by query");
  const float left = line.at.x + px(72), room = line.at.x + width - left, half = px(lse_picture) / 2 - px(3),
              middle = line.at.y + px(lse_picture) / 2, least = 1 / ImGui::GetIO().DisplayFramebufferScale.x;
  const int count = static_cast<int>(l.shares.size());
  const double highest = std::max(1.0, std::isfinite(l.ratio) ? l.ratio : 1.0);
  const auto x_of = [&](int query) { return left + room * static_cast<float>(query) / static_cast<float>(count); };
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float allowed = std::max(least, half / static_cast<float>(highest));
  list->AddRectFilled({left, middle - allowed}, {left + room, middle + allowed}, colours().raised);
  const float gap = room > px(4) * static_cast<float>(count) ? px(1) : 0;
  const auto height_of = [&](double share) {
    return std::max(least, half * static_cast<float>(std::min(1.0, share / highest)));
  };
  for (const LseBar& bar : lse_bars(l, static_cast<int>(room / least)))
    list->AddRectFilled({x_of(bar.first), middle - height_of(bar.up)},
                        {std::max(x_of(bar.first) + least, x_of(bar.end) - gap), middle + height_of(bar.down)},
                        bar.wrong ? colours().bad : colours().a);
  ImGui::SetCursorScreenPos({left, line.at.y});
  const bool clicked = ImGui::InvisibleButton("L by query", {room, px(lse_picture)}, ImGuiButtonFlags_EnableNav);
  const ImVec2 bar{room / static_cast<float>(count), px(lse_picture)};
  const int query = pointed_place({left, line.at.y}, bar, count, 1).value_or(GridPlace{}).column;
  const auto at = static_cast<std::size_t>(query);
  if (clicked) problem.traced_row = query;
  explain(fmt::format("The error of your kernel's log-sum-exp over its tolerance, query by query; the tolerance is shaded. "
                      "L of query {} is off by {} its tolerance{}. A click traces the query.",
                      query, std::isfinite(l.shares[at]) ? times(l.shares[at]) : "infinitely many times",
                      std::isfinite(l.errors[at]) ? ", " + signed_scientific(l.errors[at] / lse.unit, 2) : ""),
          "base " + std::string(name(lse.base)) + (l.as.empty() ? "" : ", if " + l.as));
}

/// Least heights of the panel below the table, and below the rows of the log-sum-exp; with less room the table scrolls.
constexpr float least_detail = 180, least_below_lse = 300;

/// Errors of a tensor in both methods.
struct TensorErrors {
  AnswerTensor tensor;
  const Deviation &a, &b;
};

/// The tensors with errors; dO is an input.
std::array<TensorErrors, 4> errors_of(const Result& r) {
  const GradientDeviations &a = r.backward->a_error, &b = r.backward->b_error;
  return {{{AnswerTensor::O, r.a_error, r.b_error},
           {AnswerTensor::dQ, a.dq, b.dq},
           {AnswerTensor::dK, a.dk, b.dk},
           {AnswerTensor::dV, a.dv, b.dv}}};
}

/// A measure that the table shows for both methods.
struct ShownMeasure {
  const char *key, *title, *meaning;
  double Deviation::* value;
};
constexpr std::array<ShownMeasure, 3> shown_measures{{
    {"mean_abs", "mean", "The mean |error| of {}.", &Deviation::mean_abs},
    {"max_abs", "max", "The largest |error| of {}.", &Deviation::max_abs},
    {"rel_rms", "rel.", "RMS error of {} over the RMS of golden.", &Deviation::rel_rms},
}};

/// Rule by which a method computes delta.
const char* delta_rule(const GradMethod& method) { return method.precision.delta_from == DeltaFrom::output ? "dO.O" : "P.dP"; }

void draw_delta(const Result& r) {
  const BackwardResult& found = *r.backward;
  const Backward& asked = r.experiment.backward;
  const MethodNames names = method_names(r.experiment);
  paragraph(Face::small, colours().secondary,
            fmt::format("delta's bias: {} {} ({}), {} {} ({})", names.a, signed_scientific(found.a_delta.bias, 3),
                        delta_rule(asked.a), names.b_after_a, signed_scientific(found.b_delta.bias, 3), delta_rule(asked.b)),
            ImGui::GetContentRegionAvail().x);
  explain(
      "The signed mean of delta - golden's delta over all queries that see a key. delta is the mean of dP under the weights P, "
      "which softmax's derivative subtracts. dO.O and P.dP are the same sum in exact arithmetic; the first uses the rounded O.",
      fmt::format("delta_i = sum_c dO_ic O_ic = sum_j P_ij dP_ij\nlargest: {} and {}\nRMS: {} and {}",
                  scientific(found.a_delta.max_abs), scientific(found.b_delta.max_abs), scientific(found.a_delta.rms),
                  scientific(found.b_delta.rms)));
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
  explain("Each element has its own tolerance, as in attoscope judge --dq, --dk and --dv.");
  ImGui::Dummy({0, px(4)});
}

}  // namespace

std::vector<LseBar> lse_bars(const LseJudgement& l, int most) {
  const int count = static_cast<int>(l.shares.size()), room = std::max(1, most), together = (count + room - 1) / room;
  std::vector<LseBar> bars;
  for (const bool wrong : {false, true})
    for (int first = 0; first < count; first += together) {
      LseBar bar{.first = first, .end = std::min(count, first + together), .wrong = wrong};
      bool any = false;
      for (auto i = static_cast<std::size_t>(bar.first); i < static_cast<std::size_t>(bar.end); ++i) {
        const bool finite = std::isfinite(l.errors[i]);
        if (l.wrong[i] != wrong || (!finite && !wrong)) continue;
        any = true;
        if (!finite || l.errors[i] > 0) bar.up = std::max(bar.up, l.shares[i]);
        if (!finite || l.errors[i] < 0) bar.down = std::max(bar.down, l.shares[i]);
      }
      if (any) bars.push_back(bar);
    }
  return bars;
}

void draw_deviations(const Frame& frame) {
  const ShownTensor& tensor = on_show(frame);
  const Result& r = *tensor.result;
  const MethodNames names = method_names(r.experiment);
  const float width = ImGui::GetContentRegionAvail().x;
  const Edges x = edges_of(width);
  const float height = std::floor(std::clamp((ImGui::GetContentRegionAvail().y - px(230)) / 11.5f, px(16), px(20)));
  const PanelLine header = panel_line(height);
  const float y = header.at.y + (height - line_height(Face::small)) / 2;
  const float about =
      r.backward ? draw_text({header.at.x, y}, Face::small, colours().faint, fmt::format("of {}", tensor.name)) : 0;
  draw_fitted({header.at.x + x.a, y}, Face::small, colours().a, names.a, x.a - about - (about > 0 ? px(6) : 0), 1);
  draw_fitted({header.at.x + x.b, y}, Face::small, colours().b, names.b_after_a, x.b - x.a - px(6), 1);
  draw_text({header.at.x + x.ratio, y}, Face::small, colours().secondary, "ratio", 1);
  draw_text({header.at.x + x.difference, y}, Face::small, colours().secondary, "apart", 1);
  explain(about_tensor(tensor, "Errors of " + names.a + " (a) and " + names.b +
                                   " (b) from golden, their ratio a/b, and the difference a − b of the two. Golden is the "
                                   "reference of both: the same attention of the same rounded inputs, computed in fp64 or "
                                   "better."),
          tensor.is_output() ? "golden = softmax(scale Q K^T) V" : "");
  const auto in_parts = [&](const DeviationMeasure& row) { return (r.a_parts || r.b_parts) && has_lines_of_parts(row); };
  const int least = r.backward ? 3 : 6,
            parts = static_cast<int>(std::ranges::count_if(deviation_measures, in_parts) * error_parts.size());
  const bool with_lse = tensor.is_output() && !r.golden_lse.empty() && (!r.a_lse.empty() || !r.b_lse.empty());
  int all = static_cast<int>(deviation_measures.size()) + parts;
  const float available = ImGui::GetContentRegionAvail().y, room = available - px(least_detail);
  const int with_them = all + static_cast<int>(lse_lines.size());
  const HeadVerdict* const head_verdict = shown_head_verdict(frame.input);
  const bool has_picture =
      with_lse && head_verdict != nullptr && head_verdict->lse && !head_verdict->lse->judged.shares.empty();
  const bool is_asked = has_picture || !r.experiment.loaded.lse.empty();
  if (with_lse && (is_asked || available - height * static_cast<float>(with_them) >= px(least_below_lse))) all = with_them;
  const float shown = height * std::clamp(std::floor(room / height), static_cast<float>(least), static_cast<float>(all)) +
                      (has_picture && room >= height * static_cast<float>(all) + px(lse_picture) ? px(lse_picture) : 0);
  ImGui::BeginChild("deviations", {width + px(12), shown}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_NoBackground);
  for (const DeviationMeasure& row : deviation_measures) {
    row.form == Form::count ? draw_nonfinite(r, row, x, width, height) : draw_row(r, row, x, width, height);
    for (const ErrorPart& part : error_parts)
      if (in_parts(row)) draw_part(r, row, part, x, width, height);
  }
  for (const LseRow& row : lse_lines)
    if (with_lse) draw_lse_row(r, row, head_verdict, x, width, height);
  if (has_picture) draw_lse_by_query(*head_verdict->lse, frame.session.experiment.problem, width);
  ImGui::EndChild();
}

Table tensor_table(const Result& r) {
  const auto rows = errors_of(r);
  MethodNames names = method_names(r.experiment);
  if (std::ranges::any_of(r.backward->tensors, &TensorNumbers::is_loaded)) names.a = "a";  // two methods in one column
  std::vector<TableColumn<TensorErrors>> columns{
      table_column<TensorErrors>({.key = "tensor"}, [](const TensorErrors& e) { return name(e.tensor); })};
  for (const ShownMeasure& m : shown_measures)
    for (const bool b : {false, true}) {
      ColumnHeading heading{.key = fmt::format("{}_{}", b ? "b" : "a", m.key),
                            .title = fmt::format("{} {}", m.title, b ? names.b_after_a : names.a),
                            .digits = 3,
                            .meaning = fmt::format(fmt::runtime(m.meaning), b ? "b" : "a"),
                            .minor = b && m.value != &Deviation::mean_abs};
      columns.push_back(table_column<TensorErrors>(
          std::move(heading), [b, value = m.value](const TensorErrors& e) { return (b ? e.b : e.a).*value; }));
    }
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
