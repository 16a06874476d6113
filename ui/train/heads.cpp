// Every head's numbers at the picked step, of a and of b, and the button that opens its Q, K, V.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "imgui.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float line_step = 15, row_gap = 3;

/// A number of a head: its name, explanation and notation.
struct Column {
  const char *title, *what, *formula;
  double (*of)(const HeadHealth&);
  bool share;
};
constexpr std::array<Column, 6> columns{{
    {"δ bias",
     "Signed mean error of delta as a share of the mean |delta|: one-sided errors add up over steps (arXiv 2510.04212).",
     "sum(delta - exact) / sum |exact|", [](const HeadHealth& h) { return h.delta_bias(); }, false},
    {"‖W_Q‖", "Spectral norm of the head's W_Q.", "largest singular value", [](const HeadHealth& h) { return h.query_norm; },
     false},
    {"ties", "Share of the rows whose largest score belongs to several keys.", "tied rows / rows",
     [](const HeadHealth& h) { return measure_of(h, RunMeasure::ties); }, true},
    {"sat.", "Share of scores and P beyond the largest number of their format, infinite or NaN.", "count / (row, key) pairs",
     [](const HeadHealth& h) { return measure_of(h, RunMeasure::saturated); }, true},
    {"under.", "Share of the weights above 0 that round to P = 0.", "count / (row, key) pairs",
     [](const HeadHealth& h) { return measure_of(h, RunMeasure::underflowed); }, true},
    {"lost dS", "Share of dS that rounds to 0 though P (dP - delta) is not.", "count / (row, key) pairs",
     [](const HeadHealth& h) {
       return h.statistics.weights > 0 ? static_cast<double>(h.statistics.lost_dS) / static_cast<double>(h.statistics.weights)
                                       : 0;
     },
     true},
}};

std::string number_text(const Column& c, double x) {
  if (!std::isfinite(x)) return scientific(x);
  if (c.share) return x == 0 ? "0" : x < 1e-4 ? "<0.01%" : fmt::format("{:.{}f}%", 100 * x, x < 0.01 ? 2 : 1);
  return c.of == columns[1].of ? fmt::format("{:.2f}", x) : signed_scientific(x, 2);
}

/// The head statistics of both runs at a step.
struct Healths {
  const RunHealth *a = nullptr, *b = nullptr;
  std::size_t count() const { return std::max(a != nullptr ? a->heads.size() : 0, b != nullptr ? b->heads.size() : 0); }
};

void draw_numbers(const TrainScene& s, const RunHealth* health, std::size_t head, Colour colour, float left, float step,
                  float y) {
  if (health == nullptr || head >= health->heads.size()) return;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double x = columns[i].of(health->heads[head]);
    const bool quiet = x == 0;
    draw_text({left + static_cast<float>(i + 1) * step, y}, Face::mono_small,
              !std::isfinite(x) ? s.colours.bad
              : quiet           ? s.colours.faint
                                : colour,
              number_text(columns[i], x), 1);
  }
}

/// Two lines, a above b; a click chooses the head.
void draw_row(const TrainScene& s, const Healths& healths, int index, float width, float names) {
  const int heads = s.record()->plan.model.heads, layer = index / heads, head = index % heads;
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{width, px(2 * line_step + row_gap)};
  if (ImGui::InvisibleButton(fmt::format("##layer {} head {}", layer, head).c_str(), size))
    s.look().layer = layer, s.look().head = head, s.look().worst = false;
  light_row(at, size, s.look().layer == layer && s.look().head == head, s.colours);
  explain(fmt::format("Layer {}, head {}. A click chooses it for the curves of the runs, and for Explore.", layer, head));
  draw_text({at.x, at.y + px(line_step + row_gap) / 2}, Face::mono_small, s.colours.text, fmt::format("{}.{}", layer, head));
  const float step = (width - names) / static_cast<float>(columns.size()), y = at.y + px(row_gap) / 2 + px(1);
  draw_numbers(s, healths.a, static_cast<std::size_t>(index), s.colours.a, at.x + names, step, y);
  draw_numbers(s, healths.b, static_cast<std::size_t>(index), s.colours.b, at.x + names, step, y + px(line_step));
}

/// A menu of the trained models.
void pick_run(const TrainScene& s, float width) {
  const TrainRecord& r = *s.record();
  const auto shown = std::min(r.runs.size() - 1, static_cast<std::size_t>(s.look().run));
  const WithField f(Face::label, 22);
  if (!begin_combo("##run", r.runs[shown].run.name, width)) return explain("The model whose Q, K, V are opened.");
  for (std::size_t i = 0; i < r.runs.size(); ++i) {
    if (ImGui::Selectable((r.runs[i].run.name + "###run " + std::to_string(i)).c_str(), i == shown))
      s.look().run = static_cast<int>(i);
    explain("The model with this name.");
  }
  ImGui::EndCombo();
}

}  // namespace

void draw_train_heads(const TrainScene& s, float height) {
  const TrainRecord& r = *s.record();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - px(10), names = px(34),
              step = (width - names) / static_cast<float>(columns.size());
  const Healths healths{r.runs.empty() ? nullptr : health_at(r.runs[0], s.look().step),
                        r.runs.size() < 2 ? nullptr : health_at(r.runs[1], s.look().step)};
  draw_text(at, Face::label, s.colours.text, "Heads");
  const float used = text_width(Face::label, "Heads ") +
                     draw_text({at.x + text_width(Face::label, "Heads  "), at.y}, Face::label, s.colours.a, "a");
  draw_text({at.x + used + px(12), at.y}, Face::label, s.colours.b, "b");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ImGui::SetCursorScreenPos({at.x + names + static_cast<float>(i) * step, at.y + px(19)});
    ImGui::InvisibleButton((std::string("about ") + columns[i].title).c_str(), {step, px(17)});
    explain(columns[i].what, columns[i].formula);
    draw_text({at.x + names + static_cast<float>(i + 1) * step, at.y + px(20)}, Face::small, s.colours.faint,
              fitted(Face::small, columns[i].title, step - px(3)), 1);
  }
  draw_rows(
      s, "heads", at, {width, height}, px(38), px(2 * line_step + row_gap), healths.count(),
      [&](std::size_t i) { draw_row(s, healths, static_cast<int>(i), width, names); },
      [&] { return heads_csv(r, s.look().step); });
}

void draw_train_explore(const TrainScene& s) {
  const TrainRecord& r = *s.record();
  if (r.runs.empty()) return;
  const float width = ImGui::GetContentRegionAvail().x, run = px(84), place = px(76);
  TrainLook& look = s.look();
  const int layer = std::min(look.layer, r.plan.model.layers - 1), head = std::min(look.head, r.plan.model.heads - 1),
            sequence = std::min(look.sequence, r.plan.recipe.batch - 1);
  pick_run(s, run);
  const ImVec2 at{ImGui::GetItemRectMax().x + px(10), ImGui::GetItemRectMin().y};
  draw_text({at.x, at.y + (px(22) - line_height(Face::mono_small)) / 2}, Face::mono_small, s.colours.text,
            fmt::format("head {}.{}", layer, head));
  ImGui::SetCursorScreenPos({at.x + place, at.y - px(1)});
  draw_text({at.x + place, at.y + (px(22) - line_height(Face::label)) / 2}, Face::label, s.colours.secondary, "sequence");
  const float left = place + text_width(Face::label, "sequence") + px(8);
  ImGui::SetCursorScreenPos({at.x + left, at.y - px(1)});
  whole_field("##sequence", look.sequence, 0, std::max(0, r.plan.recipe.batch - 1), (width - run - px(10) - left) / px(1));
  explain("The sequence in the step's batch.");
  const int step = look.step >= 0 ? look.step : r.step;
  if (push_button(fmt::format("open its Q, K, V of step {} in Explore###open head", step).c_str(), s.colours, false,
                  {width, 0}))
    s.requests.train = {.act = TrainRequest::Act::explore,
                        .step = step,
                        .run = std::min(look.run, static_cast<int>(r.runs.size()) - 1),
                        .layer = layer,
                        .head = head,
                        .sequence = sequence};
  explain(
      "The input of this head in the batch after the selected step: rounded inputs and a causal mask, with the methods of the "
      "training. States in between are trained again from the last kept one, with the same bits.");
}

}  // namespace attoscope
