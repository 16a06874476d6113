// The right panel: the answer in a sentence, then its numbers.
#include "ui/statistics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/experiment/lse_error.h"
#include "kernels/experiment/measures.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/frame/frame.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope {

namespace {

/// The tensor of the answer that the panel shows.
const ShownTensor& on_show(const Frame& frame) {
  return shown_answer(frame.state.seen, frame.input.answer.result, frame.session.view);
}

/// The verdict on a kernel's gradient.
Verdict verdict_of(const KernelGradientsAnswer& found, std::size_t place) {
  const std::string tensor(name(static_cast<AnswerTensor>(place + static_cast<std::size_t>(AnswerTensor::dQ))));
  const std::optional<bool> rounded = found.rounded[place];
  if (!rounded) {
    const bool computing = found.sentences[0].empty();
    return {Verdict::Tone::plain, tensor + " of your kernel",
            computing ? "rounded or wrong? being computed" : found.sentences[0]};
  }
  if (*rounded) return {Verdict::Tone::good, tensor + " is rounded", "every element is within its tolerance"};
  return {Verdict::Tone::bad, tensor + " is wrong", found.sentences[0]};
}

/// Place of the tensor on show among a kernel's gradients; none: it is a's.
std::optional<std::size_t> kernels_place(const Frame& frame) {
  return place_of_kernels(shown_kernel_gradients(frame.input), frame.session.view.tensor);
}

/// The verdict on the tensor on show; dO is given, so that there is none.
Verdict verdict_of(const Frame& frame) {
  const ShownTensor& shown = on_show(frame);
  if (shown.name == name(AnswerTensor::dO))
    return {Verdict::Tone::plain, "dO is given", "golden, a and b take the same numbers"};
  if (const auto place = kernels_place(frame)) return verdict_of(*shown_kernel_gradients(frame.input), *place);
  Verdict v = verdict(*shown.result);
  const bool says_tensor = !shown.is_output() || shows_pairs(frame.session.view, shown.result->experiment);
  if (says_tensor) v.headline = fmt::format("{}: {}", shown.name, v.headline);
  return v;
}

/// A line of the panel, in which text is placed freely.
struct Line {
  ImVec2 at;
  float width;
};
Line next_line(float height, float width) {
  const Line line{ImGui::GetCursorScreenPos(), width};
  ImGui::Dummy({line.width, height});
  return line;
}
Line next_line(float height) { return next_line(height, ImGui::GetContentRegionAvail().x); }

void draw_no_answer(const PanelInput& input) {
  const Line head = next_line(px(28)), second = next_line(px(24));
  draw_text(head.at, Face::headline, colours().text, input.answer.computing ? "Computing" : "No answer yet");
  draw_text(second.at, Face::label, colours().secondary,
            input.answer.computing         ? "the first rows are being computed"
            : input.messages.error.empty() ? ""
                                           : "see the line below");
}

/// Headline in the largest face that fits one line.
void draw_verdict_headline(const Verdict& v) {
  const Line head = next_line(px(28));
  const Colour tone = v.tone == Verdict::Tone::bad ? colours().bad : colours().text;
  Face face = Face::headline;
  for (const Face smaller : {Face::body, Face::label, Face::small})
    if (text_width(face, v.headline) > head.width) face = smaller;
  draw_text({head.at.x, head.at.y + (line_height(Face::headline) - line_height(face)) / 2}, face, tone,
            fitted(face, v.headline, head.width));
}

/// "512 of 16384 rows"; of dK and dV keys.
std::string computed_part(const ShownTensor& shown) {
  if (!shown.keys_down) return rows_text(*shown.result);
  return fmt::format("{} of {} keys", shown.result->rows.size(), shown.result->experiment.problem.n);
}

/// Sentence of the verdict, and at the right the progress of the answer.
void draw_verdict_sentence(const Verdict& v, const ShownTensor& shown, const PanelInput& input) {
  const Result& result = *shown.result;
  const Line second = next_line(px(24));
  const bool part = static_cast<int>(result.rows.size()) < result.experiment.problem.n;
  const bool stale = is_stale(input);
  const std::string tail = stale ? "computing" : part ? computed_part(shown) : "";
  const float tail_width = tail.empty() ? 0 : text_width(Face::small, tail) + px(8);
  std::string sentence = v.sentence;
  if (text_width(Face::label, sentence) > second.width - tail_width) sentence = sentence.substr(0, sentence.find(':'));
  draw_text(second.at, Face::label, v.tone == Verdict::Tone::good ? colours().good : colours().secondary,
            fitted(Face::label, sentence, second.width - tail_width));
  if (!tail.empty()) draw_text({second.at.x + second.width, second.at.y + px(1)}, Face::small, colours().faint, tail, 1);
  explain(
      "FlashAttention's own test: the largest error of a may be at most twice that of a plain implementation in the same "
      "format. PyTorch's tests allow 5 times. It is a rule of thumb for kernels that round like the baseline: an emulated "
      "method that rounds in more places can be outside without being wrong. The headline compares the mean errors.",
      "max |a - golden| <= 2 max |b - golden|" + hardware_lines(result));
}

/// Headline for a hidden panel: of a loaded output, or of two methods.
struct Headline {
  std::string words, more;
  Colour colour, more_colour;
};
Headline headline_of(const Frame& frame) {
  const PanelInput& input = frame.input;
  if (!input.answer.result)
    return {input.answer.computing ? "Computing" : "No answer yet", "", colours().text, colours().secondary};
  const Verdict v = verdict_of(frame);
  const Colour tone = v.tone == Verdict::Tone::bad ? colours().bad : colours().text;
  if (!has_loaded(input.answer.result->experiment))
    return {v.headline, v.sentence, tone, v.tone == Verdict::Tone::good ? colours().good : colours().secondary};
  const Experiment& e = input.answer.result->experiment;
  const HeadVerdicts heads = shown_verdicts(e, input);
  const bool several = has_several_outputs(e, input.choices);
  const std::string words = several ? heads_words(heads) : v.headline;
  const Colour colour = several ? heads_tone(heads) : tone;
  const CallJudgement* const found = shown_verdict(input);
  if (found == nullptr) return {words, "rounded or wrong? being computed", colour, colours().faint};
  return {words, found->sentences[0], colour, kernel_tone(*found, input)};
}

/// Scale of the two error bars: b's error is at 1 of `reach`, so that the lines at 2 b and 5 b stay in place unless a is far
/// above them.
struct Bars {
  static constexpr double reach = 5.4;
  float left, width;
  explicit Bars(const Line& line) : left(line.at.x + px(44)), width(line.width - px(44)) {}
  float place(double times_b, double full) const { return std::floor(left + width * static_cast<float>(times_b / full)); }
};

/// The badge of the bits at the left, and names of the lines at 2 b and 5 b.
void draw_bar_heads(View& view, const PanelInput& input, const Experiment& asked) {
  const Line line = next_line(px(17));
  const Bars bars(line);
  for (const auto& [factor, name] : {std::pair{2.0, "2×"}, std::pair{5.0, "5×"}})
    draw_text({bars.place(factor, Bars::reach), line.at.y + px(3)}, Face::mono_small, colours().faint, name, 0.5f);
  draw_bits_badge(view, input, asked, line.at, bars.place(2, Bars::reach) - px(12) - line.at.x);
}

/// Bars of a above b, with lines at 2 b and 5 b.
void draw_pair(const ShownTensor& shown, const char* what, double a, double b) {
  const Line line = next_line(px(26));
  const Bars bars(line);
  const float bar = px(9), y = line.at.y + px(2);
  const bool known = std::isfinite(a) && std::isfinite(b);
  const double full = known && b > 0 ? Bars::reach * b : std::max(a, b);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text({line.at.x, y + px(2)}, Face::small, colours().secondary, what);
  const auto draw = [&](double value, float top, Colour c) {
    list->AddRectFilled({bars.left, top}, {bars.left + bars.width, top + bar}, colours().raised, px(2));
    if (!known || !(value > 0)) return;
    const float share = static_cast<float>(std::min(1.0, value / full)), end = bars.left + std::max(px(2), bars.width * share);
    list->AddRectFilled({bars.left, top}, {end, top + bar}, c, px(2));
    if (value > full) list->AddTriangleFilled({end, top - px(1)}, {end + px(6), top + bar / 2}, {end, top + bar + px(1)}, c);
  };
  draw(a, y, colours().a);
  draw(b, y + bar + px(2), colours().b);
  explain(about_tensor(shown, what) +
              " |error| of a (above) and b (below) from golden. The lines mark twice and five times b's, which "
              "FlashAttention's and PyTorch's tests allow.",
          "a = " + scientific(a) + "\nb = " + scientific(b) + "\na / b = " + times(a / b));
  if (!known || b <= 0) return;
  for (const double factor : {2.0, 5.0}) {
    const float x = bars.place(factor, Bars::reach);
    list->AddLine({x, y - px(2)}, {x, y + 2 * bar + px(4)}, factor == 2 ? colours().text : colours().secondary, px(1.5f));
  }
}

/// Answer for two methods: headline, sentence, and bars of their mean and largest errors.
void draw_answer_of_methods(const Frame& frame, float air) {
  const ShownTensor& shown = on_show(frame);
  const Result& result = *shown.result;
  const Verdict v = verdict_of(frame);
  draw_verdict_headline(v);
  draw_verdict_sentence(v, shown, frame.input);
  ImGui::Dummy({0, air});
  draw_bar_heads(frame.session.view, frame.input, frame.session.experiment);
  draw_pair(shown, "mean", result.a_error.mean_abs, result.b_error.mean_abs);
  draw_pair(shown, "max", result.a_error.max_abs, result.b_error.max_abs);
}

/// Number of wrong heads of a loaded output, a button that shows them, and one that stops judging.
void draw_heads_headline(Session& session, const PanelInput& input, HeadsState& heads, Requests& requests) {
  const HeadVerdicts found = shown_verdicts(session.experiment, input);
  const Line head = next_line(px(28));
  const float button = px(56), gap = px(6), taken = (button + gap) * (found.complete() ? 1.0f : 2.0f);
  const HeadVerdict* const own = shown_head_verdict(input);
  const bool has_wrong_lse = own != nullptr && own->lse && !own->lse->judged.rounded;
  const std::string words = heads_words(found) + (has_wrong_lse ? ", this L wrong" : "");
  const Face face = text_width(Face::headline, words) <= head.width - taken ? Face::headline : Face::body;
  draw_text({head.at.x, head.at.y + (line_height(Face::headline) - line_height(face)) / 2}, face,
            has_wrong_lse ? colours().bad : heads_tone(found), fitted(face, words, head.width - taken));
  const ImVec2 next = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({head.at.x + head.width - taken + gap, head.at.y});
  const bool shown = session.view.picture == PictureKind::heads && session.view.heads_show == HeadsShow::verdict;
  if (push_button("heads###verdicts", shown, {button, 0})) {
    session.view.picture = shown ? PictureKind::output : PictureKind::heads;
    session.view.heads_show = HeadsShow::verdict;
  }
  explain("Every head of your kernel's output, layers by heads: rounded or wrong, and how far off.");
  ImGui::SameLine(0, gap);
  judging_button(found, session.experiment, heads, button, requests);
  ImGui::SetCursorScreenPos(next);
}

/// A loaded output: its verdict, and ways from it to the picture.
void draw_answer_of_output(Session& session, const PanelInput& input, HeadsState& heads, float height, Requests& requests) {
  if (has_several_outputs(session.experiment, input.choices))
    draw_heads_headline(session, input, heads, requests);
  else
    draw_verdict_headline(verdict(*input.answer.result));
  ImGui::Dummy({0, px(2)});
  draw_kernel_verdict(input, ImGui::GetContentRegionAvail().x, height - px(28 + 2 + 4 + control_height));
  const Line ways = next_line(px(control_height));
  ImGui::SetCursorScreenPos(ways.at);
  const float taken = first_wrong_button(session, input);
  draw_bits_badge(session.view, input, session.experiment, {ways.at.x + taken, ways.at.y + px(4)}, ways.width - taken);
}

/// The answer above the table. Its height depends on the panel alone, so that the table does not move with outputs or verdicts.
void draw_answer(const Frame& frame) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool high = ImGui::GetContentRegionAvail().y >= px(590);
  const float height = px(high ? 140 : 123);
  if (has_loaded(frame.input.answer.result->experiment))
    draw_answer_of_output(frame.session, frame.input, frame.state.heads, height, frame.requests);
  else
    draw_answer_of_methods(frame, high ? px(12) : 0);
  ImGui::SetCursorScreenPos({at.x, at.y + height});
}

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
  const Line line = next_line(height, width);
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
  const Line line = next_line(height, width);
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
     "The effect of storage alone: golden on the numbers that stored Q, K and V stand for, against golden. Element by element, "
     "storage and arithmetic add up to the error; their means and maxima need not.",
     "golden of the stored - golden"},
    {&ErrorParts::arithmetic, "arithmetic",
     "The effect of the arithmetic on top: the output against golden on the numbers that stored Q, K and V stand for. Element "
     "by "
     "element, storage and arithmetic add up to the error; their means and maxima need not.",
     "output - golden of the stored"},
}};
bool has_parts(const Result& r) { return r.a_parts || r.b_parts; }
/// True for measures with a line for each part.
bool has_lines_of_parts(const DeviationMeasure& m) { return m.key == "max_abs" || m.key == "mean_abs" || m.key == "rms"; }

/// Line of a part, below its measure.
void draw_part(const Result& r, const DeviationMeasure& row, const ErrorPart& part, const Edges& x, float width, float height) {
  const Line line = next_line(height, width);
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
          std::string(part.formula) + (both ? "\na / b = " + times(a / b) : "") +
              (r.a_parts && r.b_parts ? "" : "\n–: this method stores nothing with scales"));
}

/// The rows of the log-sum-exp: L of a and b, in the base that each stores, less golden's, natural; of a loaded output what its
/// verdict found.
struct LseRow {
  const char *label, *what;
  double LseError::* value;
};
constexpr std::array<LseRow, 2> lse_rows{{
    {"L max", "The largest error of the log-sum-exp that each method stores for the backward pass and for merges.",
     &LseError::max_abs},
    {"L rms", "The root mean square error of the stored log-sum-exp.", &LseError::rms},
}};
bool has_lse(const Result& r) { return !r.golden_lse.empty() && (!r.a_lse.empty() || !r.b_lse.empty()); }

/// The error of a method's L; NaN where it is not known.
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

/// "base e", "base 2", "base 2 (of your kernel)"
std::string base_words(const Method& m, const HeadVerdict* verdict) {
  if (m.algorithm != Algorithm::loaded) return is_base_2(m.lse_base) ? "base 2" : "base e";
  return verdict == nullptr || !verdict->lse ? "not given"
                                             : "base " + std::string(name(verdict->lse->base)) + ", your kernel's";
}

void draw_lse_row(const Result& r, const LseRow& row, const HeadVerdict* verdict, const Edges& x, float width, float height) {
  const Line line = next_line(height, width);
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  const double a = lse_of(r, true, row, verdict), b = lse_of(r, false, row, verdict);
  const auto number = [&](float edge, double value) {
    draw_text({line.at.x + edge, y}, Face::mono, std::isnan(value) ? colours().faint : colours().text,
              std::isnan(value) ? "–" : scientific(value, 3), 1);
  };
  draw_text({line.at.x, y}, Face::label, colours().secondary, row.label);
  number(x.a, a), number(x.b, b);
  if (a == a && b == b) draw_text({line.at.x + x.ratio, y}, Face::mono, colours().secondary, ratio_text(a / b), 1);
  explain(row.what, "L = ln sum_j exp(S_j), less golden's, natural\na: " + base_words(r.experiment.a, verdict) +
                        "\nb: " + base_words(r.experiment.b, verdict));
}

/// Height of the picture of L at scale 1.
constexpr float lse_picture = 44;

/// A kernel's L by queries: bars as high as their errors over the tolerance, which is shaded. A click traces the query.
void draw_lse_by_query(const HeadLse& lse, Problem& problem, float width) {
  const LseJudgement& l = lse.judged;
  const Line line = next_line(px(lse_picture), width);
  draw_text({line.at.x, line.at.y + (px(lse_picture) - line_height(Face::label)) / 2}, Face::label, colours().secondary,
            "L by query");
  const float left = line.at.x + px(72), room = line.at.x + width - left, half = px(lse_picture) / 2 - px(3),
              middle = line.at.y + px(lse_picture) / 2, least = 1 / ImGui::GetIO().DisplayFramebufferScale.x;
  const int count = static_cast<int>(l.shares.size());
  const double highest = std::max(1.0, std::isfinite(l.ratio) ? l.ratio : 1.0);
  const auto x_of = [&](int query) { return left + room * static_cast<float>(query) / static_cast<float>(count); };
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float allowed = std::max(least, half / static_cast<float>(highest));
  list->AddRectFilled({left, middle - allowed}, {left + room, middle + allowed}, colours().raised);
  for (const bool wrong : {false, true})  // wrong ones lie above others of their pixel
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (l.wrong[at] != wrong) continue;
      const bool finite = std::isfinite(l.errors[at]);
      if (!finite && !wrong) continue;
      const float size = finite ? half * static_cast<float>(std::min(1.0, l.shares[at] / highest)) : half;
      const float up = !finite || l.errors[at] > 0 ? size : least, down = !finite || l.errors[at] < 0 ? size : least;
      list->AddRectFilled(
          {x_of(i), middle - up},
          {std::max(x_of(i) + least, x_of(i + 1) - (room > px(4) * static_cast<float>(count) ? px(1) : 0)), middle + down},
          wrong ? colours().bad : colours().a);
    }
  ImGui::SetCursorScreenPos({left, line.at.y});
  const bool clicked = ImGui::InvisibleButton("L by query", {room, px(lse_picture)}, ImGuiButtonFlags_EnableNav);
  const ImVec2 bar{room / static_cast<float>(count), px(lse_picture)};
  const int query = pointed_place({left, line.at.y}, bar, count, 1).value_or(GridPlace{}).column;
  const auto at = static_cast<std::size_t>(query);
  if (clicked) problem.traced_row = query;
  explain(fmt::format("The log-sum-exp of your kernel less the right one, query by query, over its tolerance, which is shaded. "
                      "L of query {} is {} its tolerance off{}. A click traces the query.",
                      query, std::isfinite(l.shares[at]) ? times(l.shares[at]) : "infinitely often",
                      std::isfinite(l.errors[at]) ? ", by " + signed_scientific(l.errors[at] / lse.unit, 2) : ""),
          "base " + std::string(name(lse.base)) + (l.as.empty() ? "" : ", if " + l.as));
}

/// Minimal heights of the panel below the table, and below the rows of the log-sum-exp, to which one else scrolls.
constexpr float least_detail = 116, least_below_lse = 300;

/// Height of a row, from the height of the panel.
float row_height() { return std::floor(std::clamp((ImGui::GetContentRegionAvail().y - px(230)) / 11.5f, px(16), px(20))); }

void draw_table(const Frame& frame) {
  const ShownTensor& tensor = on_show(frame);
  const Result& r = *tensor.result;
  MethodNames names = method_names(r.experiment);
  if (kernels_place(frame)) names.a = "your kernel";
  const float width = ImGui::GetContentRegionAvail().x;
  const Edges x = edges_of(width);
  const float height = row_height();
  const Line head = next_line(height);
  const float y = head.at.y + (height - line_height(Face::small)) / 2;
  const float about =
      r.backward ? draw_text({head.at.x, y}, Face::small, colours().faint, fmt::format("of {}", tensor.name)) : 0;
  draw_text({head.at.x + x.a, y}, Face::small, colours().a, fitted(Face::small, names.a, x.a - about - (about > 0 ? px(6) : 0)),
            1);
  draw_text({head.at.x + x.b, y}, Face::small, colours().b, fitted(Face::small, names.b_after_a, x.b - x.a - px(6)), 1);
  draw_text({head.at.x + x.ratio, y}, Face::small, colours().secondary, "ratio", 1);
  draw_text({head.at.x + x.difference, y}, Face::small, colours().secondary, "apart", 1);
  explain(
      about_tensor(tensor, "Errors of " + names.a + " (a) and " + names.b +
                               " (b) from golden, their ratio a/b, and the difference a − b of the two. Golden is the truth "
                               "that both are held to: the same attention of the same rounded inputs, computed in fp64 or "
                               "better."),
      tensor.is_output() ? "golden = softmax(scale Q K^T) V" : "");
  const auto in_parts = [&](const DeviationMeasure& row) { return has_parts(r) && has_lines_of_parts(row); };
  const int least = r.backward ? 3 : 6,
            parts = static_cast<int>(std::ranges::count_if(deviation_measures, in_parts) * error_parts.size());
  const bool with_lse = has_lse(r) && tensor.is_output();
  int all = static_cast<int>(deviation_measures.size()) + parts;
  const float available = ImGui::GetContentRegionAvail().y, room = available - px(least_detail);
  const int with_them = all + static_cast<int>(lse_rows.size());
  const HeadVerdict* const head_verdict = shown_head_verdict(frame.input);
  const bool has_picture =
      with_lse && head_verdict != nullptr && head_verdict->lse && !head_verdict->lse->judged.shares.empty();
  const bool is_asked = has_picture || !r.experiment.loaded.lse.empty();
  if (with_lse && (is_asked || available - height * static_cast<float>(with_them) >= px(least_below_lse))) all = with_them;
  const float shown = height * std::clamp(std::floor(room / height), static_cast<float>(least), static_cast<float>(all)) +
                      (has_picture && room >= height * static_cast<float>(all) + px(lse_picture) ? px(lse_picture) : 0);
  ImGui::BeginChild("deviations", {width + px(12), shown}, ImGuiChildFlags_NavFlattened, ImGuiWindowFlags_NoBackground);
  const Edges edges = edges_of(width);
  for (const DeviationMeasure& row : deviation_measures) {
    row.form == Form::count ? draw_nonfinite(r, row, edges, width, height) : draw_row(r, row, edges, width, height);
    for (const ErrorPart& part : error_parts)
      if (in_parts(row)) draw_part(r, row, part, edges, width, height);
  }
  for (const LseRow& row : lse_rows)
    if (with_lse) draw_lse_row(r, row, head_verdict, edges, width, height);
  if (has_picture) draw_lse_by_query(*head_verdict->lse, frame.session.experiment.problem, width);
  ImGui::EndChild();
}

void draw_detail(Detail shown, const Frame& frame) {
  switch (shown) {
    case Detail::ulps:
      return draw_histogram(on_show(frame));
    case Detail::scatter:
      return draw_scatter(frame.state.scatter, on_show(frame), frame.requests);
    case Detail::why:
      return draw_why(frame.session, frame.input, frame.requests);
    case Detail::same_bits:
      return draw_same_bits(frame.session, frame.input, frame.requests);
    case Detail::traffic:
      return draw_traffic(frame.session, frame.input, frame.state.traffic);
  }
}

/// True if the detail shows the tensor on show.
constexpr bool is_of_tensor(Detail detail) { return detail == Detail::ulps || detail == Detail::scatter; }

/// A detail in `height` pixels, with a save button.
void draw_saved_detail(Detail shown, float height, const Frame& frame) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  draw_detail(shown, frame);
  constexpr std::array<Plot, detail_names.size()> plots{Plot::ulps, Plot::scatter, Plot::why, Plot::window, Plot::traffic};
  const auto detail = static_cast<std::size_t>(shown);
  const auto bits = static_cast<std::size_t>(frame.session.view.bits_show);
  const std::string plot(shown == Detail::same_bits && bits > 0 ? bits_show_names[bits] : detail_names[detail]);
  const std::string name = is_of_tensor(shown) ? about_tensor(on_show(frame), plot, " ") : plot;
  const bool suspects = shown == Detail::why && explained_experiment(frame.session).a.algorithm == Algorithm::loaded;
  const auto csv = [&] {
    if (const CallJudgement* const call = shown_verdict(frame.input); suspects && call != nullptr) return suspects_csv(*call);
    View view = frame.session.view;
    view.detail = shown;
    return detail_csv(view, frame.input, on_show(frame));
  };
  offer_export({suspects ? Plot::window : plots[detail], name, at, {at.x + width, at.y + height}, csv}, frame.session.view,
               frame.requests);
}

/// Plot below the chosen one in a high panel.
std::optional<Detail> plot_under(Detail chosen) {
  if (chosen == Detail::ulps) return Detail::scatter;
  if (chosen == Detail::scatter) return Detail::ulps;
  return {};
}

/// The panel below the table, and the buttons that choose it.
void draw_lower(const Frame& frame) {
  static constexpr std::array<Choice, 5> choices{{
      {"ulps", "The frequency of each signed error, in ulps of the main format."},
      {"scatter", "The error of every element over its magnitude, beside half an ulp of the main format."},
      {"why", "The cost of each step of a method: its mean error if that step were exact."},
      {"bits", "The bits under every instruction set, number of threads, block_q and device: they must be the same."},
      {"traffic", "Bytes between HBM and the chip: three passes, FlashAttention 1 and 2, and a roofline."},
  }};
  if (ImGui::GetContentRegionAvail().y < px(72)) return;
  ImGui::Dummy({0, px(6)});
  segmented("detail", choices, frame.session.view.detail);
  constexpr float plot_height = 310;
  const Detail shown = frame.session.view.detail;
  const std::optional<Detail> under = plot_under(shown);
  const float room = ImGui::GetContentRegionAvail().y;
  const bool both = under && room >= px(2 * plot_height);
  draw_saved_detail(shown, both ? px(plot_height) : room, frame);
  if (both) draw_saved_detail(*under, ImGui::GetContentRegionAvail().y, frame);
}

}  // namespace

bool draw_headline(const Frame& frame) {
  const Headline line = headline_of(frame);
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{ImGui::GetContentRegionAvail().x, px(control_height)};
  const bool clicked = ImGui::InvisibleButton("headline", size, ImGuiButtonFlags_EnableNav);
  explain("The answer in a sentence. Click: the panel Statistics, with its numbers.", line.more);
  const float x = at.x + draw_text(at, Face::body, line.colour, fitted(Face::body, line.words, size.x)) + px(12);
  const float room = at.x + size.x - x, lower = line_height(Face::body) - line_height(Face::label);
  if (room > px(64)) draw_text({x, at.y + lower}, Face::label, line.more_colour, fitted(Face::label, line.more, room));
  return clicked;
}

void draw_statistics(const Frame& frame) {
  const Result* result = frame.input.answer.result.get();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::Dummy({0, px(4)});
  if (result == nullptr) {
    draw_no_answer(frame.input);
  } else {
    draw_answer(frame);
    if (result->backward) draw_gradients(frame);
    draw_table(frame);
    draw_lower(frame);
  }
  ImGui::PopStyleVar();
  dim_if_stale(frame.input);
}

}  // namespace attoscope
