// Bisection: what is left of the deviation without each suspect. Replay: the direct effect beside what adds up. Seeds: the
// skipped steps and the held-out loss that each ended with.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "imgui.h"
#include "ui/frame/pair_look.h"
#include "ui/train/panels.h"
#include "ui/train/words.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float row_height = 18;
constexpr std::array<const char*, 4> seed_columns{"skipped a", "b", "held-out a", "b"};
constexpr std::array<float, 4> seed_column_ends{0.5f, 0.6f, 0.86f, 1};  ///< right edges, as shares of the width

/// The name, a bar as long as what is left, and the share; a dashed line stands at 1, where the piece makes no difference.
void draw_row(const TrainScene& s, const RankedSuspect& suspect, float width, double longest) {
  const std::string& name = s.record()->pairs[suspect.pair].pair.name;
  const std::string piece = name.substr(0, name.rfind(" exact"));
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{width, px(row_height)};
  if (ImGui::InvisibleButton(("##suspect " + name).c_str(), size)) s.look().pair = static_cast<int>(suspect.pair);
  light_row(at, size, s.look().pair == static_cast<int>(suspect.pair), s.colours);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string share = std::isfinite(suspect.share) ? times(suspect.share) : "–";
  const bool a_stopped = !s.record()->runs[0].stopped.empty();
  const char* const fate = !a_stopped      ? ""
                           : suspect.lives ? " a stopped; with this piece exact, training continues."
                                           : " a stopped, and this run stopped too.";
  explain(name + ": " + share + " of the deviation of a - b is left." + fate + " A click shows its weights.",
          "measure of (a with the piece exact) - b over that of a - b");
  const float names = px(116), numbers = px(56), left = at.x + names, room = width - names - numbers - px(8),
              y = at.y + (size.y - line_height(Face::mono_small)) / 2;
  const Colour colour = ink_colour(pair_ink(s.record()->pairs[suspect.pair].pair, suspect.pair), s.colours);
  draw_text({at.x, y}, Face::mono_small,
            !a_stopped      ? s.colours.text
            : suspect.lives ? s.colours.good
                            : s.colours.bad,
            fitted(Face::mono_small, piece, names - px(6)));
  if (std::isfinite(suspect.share))
    list->AddRectFilled(
        {left, at.y + px(4)},
        {left + room * static_cast<float>(std::clamp(suspect.share / longest, 0.0, 1.0)), at.y + size.y - px(4)}, colour,
        px(1));
  const float one = left + room * static_cast<float>(1 / longest);
  list->AddLine({one, at.y}, {one, at.y + size.y}, s.colours.secondary, px(1));
  draw_text({at.x + width, y}, Face::mono_small, std::isfinite(suspect.share) ? s.colours.text : s.colours.faint, share, 1);
}

/// A line with a name and a number.
void draw_number(const TrainScene& s, const char* name, const std::string& number, const char* what, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(name, {width, px(row_height)});
  explain(what);
  draw_text({at.x, at.y + px(2)}, Face::label, s.colours.secondary, name);
  draw_text({at.x + width, at.y + px(3)}, Face::mono_small, s.colours.text, number, 1);
}

void draw_seed(const TrainScene& s, const TrainRecord& r, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string seed = std::to_string(r.plan.recipe.seed);
  ImGui::InvisibleButton(("##seed " + seed).c_str(), {width, px(row_height)});
  explain("Seed " + seed + ": " + runs_text(r) + ".", "loss = -mean log P(next character)");
  const std::array<std::string, 4> cells = seed_cells(r);
  draw_text({at.x, at.y + px(3)}, Face::mono_small, s.colours.text, fitted(Face::mono_small, seed, 0.2f * width));
  for (std::size_t i = 0; i < cells.size(); ++i)
    draw_text({at.x + seed_column_ends[i] * width, at.y + px(3)}, Face::mono_small, s.colours.secondary, cells[i], 1);
}

}  // namespace

void draw_train_suspects(const TrainScene& s, float height) {
  const TrainRecord& r = *s.record();
  const TrainMeasure measure = is_size(s.look().measure) ? s.look().measure : TrainMeasure::rel_l2;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - px(10);
  const std::vector<RankedSuspect> ranked = ranked_suspects(r, measure, s.look().tensor, s.look().step);
  double longest = 1.25;
  for (const RankedSuspect& x : ranked)
    if (std::isfinite(x.share)) longest = std::max(longest, std::min(x.share, 4.0));
  draw_text(at, Face::label, s.colours.text, "What is left with each piece exact");
  draw_text({at.x + width, at.y + px(1)}, Face::small, s.colours.faint, fitted(Face::small, text_of(measure).title, px(90)), 1);
  ImGui::SetCursorScreenPos({at.x, at.y + px(20)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  if (ImGui::BeginChild("suspects", {0, height - px(20)}, ImGuiChildFlags_NavFlattened)) {
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(ranked.size()), px(row_height));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        draw_row(s, ranked[static_cast<std::size_t>(i)], width, longest);
  }
  ImGui::EndChild();
  ImGui::PopStyleVar();
  offer_export({Plot::window, "suspects", at, {at.x + width, at.y + height}, [&] { return deviation_csv(r); }}, s.session.view,
               s.colours, s.requests);
}

void draw_train_replay(const TrainScene& s) {
  const TrainRecord& r = *s.record();
  const TrainMeasure measure = is_size(s.look().measure) ? s.look().measure : TrainMeasure::rel_l2;
  const float width = ImGui::GetContentRegionAvail().x - px(10);
  double sum = 0, squares = 0, newest = 0;
  std::size_t count = 0;
  if (!r.pairs.empty())
    for (const PairPoint& p : r.pairs[0].points) {
      if (s.look().step >= 0 && p.step > s.look().step) break;
      newest = measure_of(p, measure, s.look().tensor);
      sum += newest, squares += newest * newest, ++count;
    }
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  label(Face::label, s.colours.text, std::string("Direct effect, ") + text_of(measure).title);
  ImGui::Dummy({0, px(4)});
  draw_number(s, "of this step", count > 0 ? scientific(newest, 3) : "–",
              "The distance between one step by a and one step by b from the same state.", width);
  draw_number(s, "mean of a step", count > 0 ? scientific(sum / static_cast<double>(count), 3) : "–",
              "Over the measured steps so far.", width);
  draw_number(s, "added up", count > 0 ? scientific(sum, 3) : "–",
              "The sum if all measured steps had one direction: an upper bound of their direct effects.", width);
  draw_number(s, "added up at random", count > 0 ? scientific(std::sqrt(squares), 3) : "–",
              "The sum if the measured steps had random directions: the root of the sum of squares.", width);
  ImGui::PopStyleVar();
}

void draw_train_seeds(const TrainScene& s, float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x - px(10);
  draw_text(at, Face::label, s.colours.text, "Seed");
  for (std::size_t i = 0; i < seed_columns.size(); ++i)
    draw_text({at.x + seed_column_ends[i] * width, at.y + px(2)}, Face::small, s.colours.faint, seed_columns[i], 1);
  const auto& further = s.state.drawing.seeds;
  draw_rows(
      s, "seeds", at, {width, height}, px(20), px(row_height), 1 + further.size(),
      [&](std::size_t i) { draw_seed(s, i == 0 ? *s.record() : *further[i - 1], width); },
      [&] { return seeds_csv(s.state.drawing); });
  ImGui::Dummy({0, 0});
}

}  // namespace attoscope
