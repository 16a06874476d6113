// Cost of each rounding step: the mean error if that step alone were exact; or the suspects of a loaded output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/experiment/rules.h"
#include "kernels/questions/attribution.h"
#include "kernels/questions/gradient_attribution.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// Name of the method that *why* explains.
std::string explained_name(const Session& s) {
  const MethodNames names = method_names(s.experiment);
  return explains_b(s) ? names.b : names.a;
}

Colour explained_colour(const Session& s) { return explains_b(s) ? colours().b : colours().a; }

/// Tooltip of a source: its description, and the effect of a click. `method`: the method's name.
std::string explanation(const ErrorSource& source, const Scalings& scaling, const std::string& method) {
  if (!source.stored)
    return "The mean error of " + method + " if " + std::string(name(source)) +
           " alone were exact: " + std::string(what(source)) + ". Click: make it exact.";
  const auto tensor = static_cast<std::size_t>(*source.stored);
  return fmt::format("The mean error of {} if {} alone were {}, instead of stored as {}. Click: take its scales away.", method,
                     scaled_tensor_names[tensor],
                     *source.stored == ScaledTensor::P ? "left in the working type" : "taken as it is given",
                     scaling_text(scaling[*source.stored]));
}

/// The experiment with this source of a exact.
Experiment made_exact(Experiment e, const GradSource& source) {
  GradMethod& m = e.backward.a;
  if (source.stored)
    m.scaling[*source.stored] = {};
  else if (source.sums)
    m.accumulator[*source.sums] = Accumulator::fma;
  else if (source.forward)
    e.a = without_rounding(e.a);
  else
    m.precision[source.step] = {};
  return e;
}

/// Draws the shares as a table with bars; `meaning` returns a share's tooltip. Returns the clicked one.
std::optional<std::size_t> draw_shares(const StepError& total, const std::vector<NamedShare>& shares, Colour colour,
                                       const std::function<std::string(std::size_t)>& meaning) {
  const Table table = shares_table(total, shares);
  const auto change = [&](std::size_t i) { return std::get<double>(table.rows[i][1]); };
  double largest = 0;
  for (std::size_t i = 0; i < table.rows.size(); ++i) largest = std::fmax(largest, std::abs(change(i)));
  const auto row = [&](std::size_t i) {
    return TableRow{.id = "why " + std::string(shares[i].name),
                    .meaning = meaning(i),
                    .formula = "now            " + scientific(total.mean_abs) + "\nif exact       " +
                               scientific(shares[i].without.mean_abs) + "\nthis one alone " +
                               scientific(shares[i].alone.mean_abs),
                    .mark = change(i) > 0 ? colours().bad : colour};
  };
  const auto bar = [&](std::size_t i, std::size_t column) {
    const bool is_known = column == 1 && std::isfinite(change(i)) && largest > 0;
    return is_known ? static_cast<float>(std::min(1.0, std::abs(change(i)) / largest)) : -1.0f;
  };
  return draw_table("steps", table, {.row = row, .bar = bar});
}

void draw_no_steps(const std::string& method) {
  label(Face::label, colours().secondary, "No step of " + method + " rounds anything but the inputs.");
}

void draw_steps(Session& session, const Attribution& all) {
  const std::string method = explained_name(session);
  if (all.steps.empty()) return draw_no_steps(method);
  Method& m = explains_b(session) ? session.experiment.b : session.experiment.a;
  const auto meaning = [&](std::size_t i) { return explanation(all.steps[i].source, m.scaling, method); };
  if (const auto clicked = draw_shares(all.total, named_shares(all), explained_colour(session), meaning))
    m = made_exact(m, all.steps[*clicked].source);
}

/// Draws the steps for a gradient.
void draw_gradient_steps(Session& session, const GradAttribution& all, AnswerTensor tensor) {
  const std::string method = explained_name(session);
  if (all.shares.empty()) return draw_no_steps(method);
  const std::vector<GradShare> sorted = sorted_shares(all, tensor);
  const auto meaning = [&](std::size_t i) {
    const GradSource& source = sorted[i].source;
    return fmt::format("The mean error of {}'s {} if {} alone were exact: {}. Click: make it exact.", method, name(tensor),
                       name(source), what(source));
  };
  if (const auto clicked =
          draw_shares(all.total[gradient_place(tensor)], named_shares(sorted, tensor), explained_colour(session), meaning)) {
    const Experiment exact = made_exact(explained_experiment(session), sorted[*clicked].source);
    session.experiment = explains_b(session) ? exchanged(exact) : exact;
  }
}

/// "leaves 3 %"; "explains it" if the slip has no output.
std::string left_words(const SlipShare& s) {
  if (std::isnan(s.left)) return "explains it";
  const double percent = 100 * s.left;
  return percent < 0.05   ? "leaves 0 %"
         : percent < 9.95 ? fmt::format("leaves {:.1f} %", percent)
                          : fmt::format("leaves {:.0f} %", percent);
}

/// Starts or ends a swipe against the slip's output.
void swipe_against(View& view, const Slip& slip, const Experiment& e, bool on) {
  view.picture = PictureKind::output;
  view.second_slip = on;
  view.comparison = on ? Comparison::swipe : Comparison::none;
  view.slip = on ? slip.text : "";
  if (on) view.field = view.second_field = e.a.algorithm == Algorithm::loaded ? Field::a_error : Field::b_error;
}

/// Draws a slip: its sentence, and the share of the error that it leaves, as a bar and in percent.
void draw_suspect(Session& session, const PanelInput& input, const SlipShare& s, const char* id, float width) {
  const float right = px(84), pad = px(8), inner = width - right - 2 * pad;
  const std::string words = s.slip->text + (s.named ? " (named)" : "");
  const float text = wrapped_height(Face::label, words, inner), height = text + px(15);
  const ImVec2 at = ImGui::GetCursorScreenPos(), end{at.x + width, at.y + height};
  const bool known = s.slip->output != nullptr;
  const bool on = known && compares_with_slip(session.view, input) && compared_slip(session.view, input)->text == s.slip->text;
  const bool clicked =
      if_possible(known, [&] { return ImGui::InvisibleButton(id, {width, height}, ImGuiButtonFlags_EnableNav); });
  const bool hovered = ImGui::IsItemHovered();
  explain(
      known ? "The part of the error's root mean square that is left if the exact output has this mistake. A click swipes your "
              "output against it: if this is the mistake, both halves are the same picture."
            : "Its output cannot be computed, so there is nothing to swipe against.",
      fmt::format("RMS(O - with the mistake) / RMS(O - golden){}", std::isnan(s.left) ? "" : fmt::format(" = {:.3g}", s.left)));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (on || hovered) list->AddRectFilled(at, end, on ? faded(colours().accent, 0.22f) : faded(colours().raised, 0.7f), px(3));
  if (s.named) list->AddRectFilled({at.x, at.y + px(3)}, {at.x + px(3), end.y - px(3)}, colours().bad);
  draw_wrapped({at.x + pad, at.y + px(3)}, Face::label, s.named ? colours().text : colours().secondary, words, inner);
  draw_text({end.x - px(2), at.y + px(4)}, Face::mono_small, s.named ? colours().text : colours().secondary, left_words(s), 1);
  const float y = end.y - px(8), bar = px(4);
  list->AddRectFilled({at.x + pad, y}, {end.x - px(2), y + bar}, colours().raised, px(2));
  const float share = std::isnan(s.left) ? 0 : static_cast<float>(std::clamp(s.left, 0.0, 1.0));
  if (share > 0)
    list->AddRectFilled({at.x + pad, y}, {at.x + pad + std::max(px(2), (end.x - px(2) - at.x - pad) * share), y + bar},
                        s.named ? colours().bad : colours().faint, px(2));
  if (clicked) swipe_against(session.view, *s.slip, input.answer.result->experiment, !on);
}

/// Draws the suspects with their shares, filling the rest of the panel; a click swipes the output against a suspect's. For a
/// rounded output, draws a sentence.
void draw_suspects(Session& session, const PanelInput& input) {
  const float width = ImGui::GetContentRegionAvail().x;
  const CallJudgement* const call = shown_verdict(input);
  const auto say = [&](std::string_view text) {
    wrapped(Face::label, colours().secondary, text, width);
    ImGui::Dummy({0, px(4)});
  };
  if (call == nullptr) return say("The output is being judged ...");
  if (!call->incomparable().empty()) return say(call->sentences[0]);
  if (call->rounded()) {
    say("It is rounded: no mistake is left to be found.");
    return say(call->sentences[1] + " " + call->sentences[2]);
  }
  const std::vector<SlipShare> all = suspects_of(*call);
  if (ImGui::BeginChild("suspects", ImGui::GetContentRegionAvail(), ImGuiChildFlags_NavFlattened,
                        ImGuiWindowFlags_NoBackground)) {
    const float room = ImGui::GetContentRegionAvail().x;
    for (std::size_t i = 0; i < all.size(); ++i)
      draw_suspect(session, input, all[i], ("suspect " + std::to_string(i)).c_str(), room);
    if (all.empty() || !all.front().named) say(call->sentences[2]);
  }
  ImGui::EndChild();
}

/// Switch for the method whose error is explained; the picture then shows this method's error, too.
void choose_explained(Session& session) {
  const MethodNames names = method_names(session.experiment);
  const std::array<Choice, 2> methods{{{names.a, "The error of method a, which the picture shows, too."},
                                       {names.b, "The error of method b, which the picture shows, too."}}};
  bool of_b = explains_b(session);
  ImGui::Dummy({0, px(4)});
  if (segmented("why of", methods, of_b, ImGui::GetContentRegionAvail().x - px(48)))
    session.view.field = field_of_method(session.view.field, of_b);
}

}  // namespace

bool explains_b(const Session& session) {
  if (session.view.field == Field::tolerance) return session.experiment.b.algorithm == Algorithm::loaded;
  return text(session.view.field).name.starts_with('b');
}

Experiment explained_experiment(const Session& session) {
  return explains_b(session) ? exchanged(session.experiment) : session.experiment;
}

Field field_of_method(Field field, bool b) {
  std::string wanted(text(field).name);
  wanted[0] = b ? 'b' : 'a';
  const auto found = std::ranges::find(field_texts, wanted, &FieldText::name);
  if (found != field_texts.end()) return static_cast<Field>(found - field_texts.begin());
  return b ? Field::b_error : Field::a_error;
}

void draw_why(Session& session, const PanelInput& input, Requests& requests) {
  choose_explained(session);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float title = px(26), width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({width, title});
  const Experiment asked = explained_experiment(session);
  if (asked.a.algorithm == Algorithm::loaded) {
    explain(
        "Usual mistakes, each computed exactly, and the part of your output's error that it leaves. A click on a mistake "
        "swipes against it.",
        "RMS(O - with the mistake) / RMS(O - golden)");
    draw_text({at.x, at.y + px(7)}, Face::label, colours().text, "Mistakes, and the error that each leaves");
    return draw_suspects(session, input);
  }
  explain("Each rounding step of " + explained_name(session) +
              ", made exact by itself: how much smaller (−) or larger (+) the mean error would be. A click on a step makes it "
              "exact.",
          "(mean |error| if exact - mean |error|) / mean |error|");
  const std::optional<AnswerTensor> gradient = attributed_gradient(session.view.tensor, session.experiment);
  draw_text(
      {at.x, at.y + px(7)}, Face::label, colours().text,
      gradient ? fmt::format("Mean error of {} if one step were exact", name(*gradient)) : "Mean error if one step were exact");
  if (!is_emulated(asked.a.algorithm))
    return label(Face::label, colours().secondary, "Tensor cores have no steps to make exact.");
  const bool asks = !input.answer.computing && !ImGui::IsAnyMouseDown();
  if (gradient) {
    if (const GradAttribution* const known = input.side.gradient_why.get(); known && answers(known->experiment, asked))
      return draw_gradient_steps(session, *known, *gradient);
    if (asks) requests.side.gradient_why = asked;
  } else {
    if (input.side.why && answers(input.side.why->experiment, asked)) return draw_steps(session, *input.side.why);
    if (asks) requests.side.why = asked;
  }
  label(Face::label, colours().secondary, "making each step exact in turn ...");
}

std::optional<AnswerTensor> attributed_gradient(AnswerTensor t, const Experiment& e) {
  return e.backward.on && is_gradient(t) ? std::optional(t) : std::nullopt;
}

std::vector<GradShare> sorted_shares(const GradAttribution& all, AnswerTensor tensor) {
  std::vector<GradShare> sorted = all.shares;
  const std::size_t at = gradient_place(tensor);
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [at](const GradShare& s) { return std::isnan(s.relief[at]) ? -HUGE_VAL : s.relief[at]; });
  return sorted;
}

std::vector<NamedShare> named_shares(const std::vector<GradShare>& shares, AnswerTensor tensor) {
  const std::size_t at = gradient_place(tensor);
  std::vector<NamedShare> named;
  for (const GradShare& s : shares) named.push_back({name(s.source), s.without[at], s.alone[at], s.relief[at]});
  return named;
}

std::vector<SlipShare> suspects_of(const CallJudgement& call) {
  std::vector<SlipShare> all;
  const std::optional<Slip>& named = call.worst_row().slip;
  const auto is_named = [&](const Slip& slip) { return named && slip.text == named->text; };
  for (const RankedSlip& ranked : call.suspects) all.push_back({&ranked.slip, ranked.left, is_named(ranked.slip)});
  const auto first = std::ranges::find_if(all, &SlipShare::named);
  if (first != all.end()) std::rotate(all.begin(), first, first + 1);
  if (named && first == all.end()) all.insert(all.begin(), {&*named, std::nan(""), true});
  return all;
}

std::string suspects_csv(const CallJudgement& call) {
  std::string text = "slip,left,named\n";
  for (const SlipShare& s : suspects_of(call)) {
    std::string words = s.slip->text;
    std::ranges::replace(words, ',', ';');
    text += fmt::format("{},{},{}\n", words, s.left, s.named ? 1 : 0);
  }
  return text;
}

FigurePanel why_panel(double total, const std::vector<NamedShare>& shares, bool of_b) {
  FigurePanel p;
  p.y = number_axis("change of mean |error|, %");
  Series s = series_of("", of_b ? Ink::b : Ink::a, Shape::bars);
  for (const NamedShare& share : shares) {
    s.x.push_back(static_cast<double>(p.x.categories.size()));
    s.y.push_back(-100 * share.relief / total);
    p.x.categories.emplace_back(share.name);
  }
  p.x.label = "step made exact";
  if (!s.y.empty()) {
    const auto [least, largest] = std::ranges::minmax(s.y);
    if (least >= 0) p.y.min = 0;
    if (largest <= 0) p.y.max = least < 0 ? 0 : 1;
  }
  p.series = {std::move(s)};
  return p;
}

}  // namespace attoscope::ui
