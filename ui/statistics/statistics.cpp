// The right panel: the answer in a sentence, then its numbers.
#include "ui/statistics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// The verdict on a kernel's gradient.
Verdict verdict_of(const KernelGradientsAnswer& found, std::size_t place) {
  const std::string tensor(name(gradient_tensors[place]));
  const std::optional<bool> rounded = found.rounded[place];
  if (!rounded) {
    const bool computing = found.sentences[0].empty();
    return {Verdict::Tone::plain, tensor + " of your kernel",
            computing ? "rounded or wrong? being computed" : found.sentences[0]};
  }
  if (*rounded) return {Verdict::Tone::good, tensor + " is rounded", "every element is within its tolerance"};
  return {Verdict::Tone::bad, tensor + " is wrong", found.sentences[0]};
}

/// The verdict on the tensor on show; dO is an input and has none.
Verdict verdict_of(const Frame& frame) {
  const ShownTensor& shown = on_show(frame);
  if (shown.name == name(AnswerTensor::dO))
    return {Verdict::Tone::plain, "dO is given", "golden, a and b take the same numbers"};
  const KernelGradientsAnswer* const found = shown_kernel_gradients(frame.input);
  if (const auto place = place_of_kernels(found, frame.session.view.tensor)) return verdict_of(*found, *place);
  Verdict v = verdict(*shown.result);
  const bool says_tensor = !shown.is_output() || shows_pairs(frame.session.view, shown.result->experiment);
  if (says_tensor) v.headline = fmt::format("{}: {}", shown.name, v.headline);
  return v;
}

void draw_no_answer(const PanelInput& input) {
  const PanelLine header = panel_line(px(28)), second = panel_line(px(24));
  draw_text(header.at, Face::headline, colours().text, input.answer.computing ? "Computing" : "No answer yet");
  draw_text(second.at, Face::label, colours().secondary,
            input.answer.computing         ? "the first rows are being computed"
            : input.messages.error.empty() ? ""
                                           : "see the line below");
}

/// Headline in the largest face that fits one line.
void draw_verdict_headline(const Verdict& v) {
  const PanelLine header = panel_line(px(28));
  const Colour tone = v.tone == Verdict::Tone::bad ? colours().bad : colours().text;
  Face face = Face::headline;
  for (const Face smaller : {Face::body, Face::label, Face::small})
    if (text_width(face, v.headline) > header.width) face = smaller;
  draw_fitted({header.at.x, header.at.y + (line_height(Face::headline) - line_height(face)) / 2}, face, tone, v.headline,
              header.width);
}

/// Sentence of the verdict, and at the right the progress of the answer.
void draw_verdict_sentence(const Verdict& v, const ShownTensor& shown, const PanelInput& input) {
  const Result& result = *shown.result;
  const PanelLine second = panel_line(px(24));
  const bool part = static_cast<int>(result.rows.size()) < result.experiment.problem.n;
  const bool stale = is_stale(input);
  const std::string computed =
      shown.keys_down ? fmt::format("{} of {} keys", result.rows.size(), result.experiment.problem.n) : rows_text(result);
  const std::string tail = stale ? "computing" : part ? computed : "";
  const float tail_width = tail.empty() ? 0 : text_width(Face::small, tail) + px(8);
  std::string sentence = v.sentence;
  if (text_width(Face::label, sentence) > second.width - tail_width) sentence = sentence.substr(0, sentence.find(':'));
  draw_fitted(second.at, Face::label, v.tone == Verdict::Tone::good ? colours().good : colours().secondary, sentence,
              second.width - tail_width);
  if (!tail.empty()) draw_text({second.at.x + second.width, second.at.y + px(1)}, Face::small, colours().faint, tail, 1);
  explain(
      "FlashAttention's own test: the largest error of a may be at most twice that of a plain implementation in the same "
      "format. PyTorch's tests allow 5 times. It is a rule of thumb for kernels that round like the baseline: an emulated "
      "method that rounds in more places can be outside without being wrong. The headline compares the mean errors.",
      "max |a - golden| <= 2 max |b - golden|" + hardware_lines(result));
}

/// Scale of the two error bars: b's error is at 1 of `reach`. The lines at 2 b and 5 b stay in place unless a is far above
/// them.
struct Bars {
  static constexpr double reach = 5.4;
  float left, width;
  explicit Bars(const PanelLine& line) : left(line.at.x + px(44)), width(line.width - px(44)) {}
  float place(double times_b, double full) const { return std::floor(left + width * static_cast<float>(times_b / full)); }
};

/// The badge of the bits at the left, and names of the lines at 2 b and 5 b.
void draw_bar_names(View& view, const PanelInput& input, const Experiment& asked) {
  const PanelLine line = panel_line(px(17));
  const Bars bars(line);
  for (const auto& [factor, name] : {std::pair{2.0, "2×"}, std::pair{5.0, "5×"}})
    draw_text({bars.place(factor, Bars::reach), line.at.y + px(3)}, Face::mono_small, colours().faint, name, 0.5f);
  draw_bits_badge(view, input, asked, line.at, bars.place(2, Bars::reach) - px(12) - line.at.x);
}

/// Bars of a above b, with lines at 2 b and 5 b.
void draw_pair(const ShownTensor& shown, const char* what, double a, double b) {
  const PanelLine line = panel_line(px(26));
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
  draw_bar_names(frame.session.view, frame.input, frame.session.experiment);
  draw_pair(shown, "mean", result.a_error.mean_abs, result.b_error.mean_abs);
  draw_pair(shown, "max", result.a_error.max_abs, result.b_error.max_abs);
}

/// Number of wrong heads of a loaded output, a button that shows them, and one that stops judging.
void draw_heads_headline(Session& session, const PanelInput& input, HeadsState& heads, Requests& requests) {
  const HeadVerdicts found = shown_verdicts(session.experiment, input);
  const PanelLine header = panel_line(px(28));
  const float button = px(56), gap = px(6), taken = (button + gap) * (found.complete() ? 1.0f : 2.0f);
  const HeadVerdict* const own = shown_head_verdict(input);
  const bool has_wrong_lse = own != nullptr && own->lse && !own->lse->judged.rounded;
  const std::string words = heads_words(found) + (has_wrong_lse ? ", this L wrong" : "");
  const Face face = text_width(Face::headline, words) <= header.width - taken ? Face::headline : Face::body;
  draw_fitted({header.at.x, header.at.y + (line_height(Face::headline) - line_height(face)) / 2}, face,
              has_wrong_lse ? colours().bad : heads_tone(found), words, header.width - taken);
  const ImVec2 next = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({header.at.x + header.width - taken + gap, header.at.y});
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

/// Draws a loaded output's verdict, and buttons that show its errors in the picture.
void draw_answer_of_output(Session& session, const PanelInput& input, HeadsState& heads, float height, Requests& requests) {
  if (has_several_outputs(session.experiment, input.choices))
    draw_heads_headline(session, input, heads, requests);
  else
    draw_verdict_headline(verdict(*input.answer.result));
  ImGui::Dummy({0, px(2)});
  draw_kernel_verdict(input, ImGui::GetContentRegionAvail().x, height - px(28 + 2 + 4 + control_height));
  const PanelLine ways = panel_line(px(control_height));
  ImGui::SetCursorScreenPos(ways.at);
  const float taken = first_wrong_button(session, input);
  draw_bits_badge(session.view, input, session.experiment, {ways.at.x + taken, ways.at.y + px(4)}, ways.width - taken);
}

/// Draws the answer above the table. Its height depends on the panel alone: the table does not move with outputs or verdicts.
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
  constexpr EnumArray<Detail, Plot> plots{Plot::ulps, Plot::scatter, Plot::why, Plot::window, Plot::traffic};
  const BitsShow bits = frame.session.view.bits_show;
  const std::string plot(shown == Detail::same_bits && bits != BitsShow::runs ? bits_show_names[bits] : detail_names[shown]);
  const std::string name = is_of_tensor(shown) ? about_tensor(on_show(frame), plot, " ") : plot;
  const bool suspects = shown == Detail::why && explained_experiment(frame.session).a.algorithm == Algorithm::loaded;
  const auto csv = [&] {
    if (const CallJudgement* const call = shown_verdict(frame.input); suspects && call != nullptr) return suspects_csv(*call);
    View view = frame.session.view;
    view.detail = shown;
    return detail_csv(view, frame.input, on_show(frame));
  };
  offer_export({.plot = suspects ? Plot::window : plots[shown],
                .name = name,
                .min = at,
                .max = {at.x + width, at.y + height},
                .csv = csv,
                .header = is_of_tensor(shown) ? px(detail_title) : 0},
               frame.session.view, frame.requests);
}

/// Draws the panel below the table, and the buttons that choose it. A high panel has both plots of the tensor, the chosen one
/// first.
void draw_lower(const Frame& frame) {
  static constexpr EnumArray<Detail, Choice> choices{{
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
  const float room = ImGui::GetContentRegionAvail().y;
  const bool both = is_of_tensor(shown) && room >= px(2 * plot_height);
  draw_saved_detail(shown, both ? px(plot_height) : room, frame);
  if (both) draw_saved_detail(shown == Detail::ulps ? Detail::scatter : Detail::ulps, ImGui::GetContentRegionAvail().y, frame);
}

}  // namespace

const ShownTensor& on_show(const Frame& frame) {
  return shown_answer(frame.state.seen, frame.input.answer.result, frame.session.view);
}

PanelLine panel_line(float height, float width) {
  const PanelLine line{ImGui::GetCursorScreenPos(), width};
  ImGui::Dummy({line.width, height});
  return line;
}
PanelLine panel_line(float height) { return panel_line(height, ImGui::GetContentRegionAvail().x); }

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
  return {words, conclusion_of(*found), colour, kernel_tone(*found, input)};
}

bool draw_headline(const Frame& frame) {
  const Headline line = headline_of(frame);
  const Result* const result = frame.input.answer.result.get();
  const bool loaded = result != nullptr && has_loaded(result->experiment);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, one = line_height(Face::body),
              high = wrapped_height(Face::body, line.words, width);
  const std::string brief = line.more.substr(0, line.more.find(':'));
  const float beside = text_width(Face::body, line.words) + px(12);
  const bool apart = high > 1.5f * one || (loaded && width < px(640)) || beside + text_width(Face::label, brief) > width;
  const float height = px(control_height) + high - one + (apart ? one : 0);
  const bool clicked = ImGui::InvisibleButton("headline", {width, kept_height(width, height)}, ImGuiButtonFlags_EnableNav);
  explain("The answer in a sentence. Click: the panel Statistics, with its numbers.", line.more);
  draw_wrapped(at, Face::body, line.colour, line.words, width);
  const float x = apart ? 0 : beside, room = width - x, y = one - line_height(Face::label) + (apart ? high : 0);
  const bool whole = loaded || text_width(Face::label, line.more) <= room;
  draw_fitted({at.x + x, at.y + y}, Face::label, line.more_colour, whole ? line.more : brief, room);
  return clicked;
}

void draw_statistics(const Frame& frame) {
  const Result* result = frame.input.answer.result.get();
  const WithSpacing spacing({0, 0});
  ImGui::Dummy({0, px(4)});
  if (result == nullptr) {
    draw_no_answer(frame.input);
  } else {
    draw_answer(frame);
    if (result->backward) draw_gradients(frame);
    draw_deviations(frame);
    draw_lower(frame);
  }
  dim_if_stale(frame.input);
}

}  // namespace attoscope::ui
