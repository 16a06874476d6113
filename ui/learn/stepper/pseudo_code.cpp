#include "ui/learn/stepper/pseudo_code.h"

#include <algorithm>
#include <string>

#include "ui/widgets/widgets.h"

namespace attoscope {

namespace {

constexpr CodeLine three_pass[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},
    {"for j = 1 .. N", {}, 0},
    {"  m = max(m, S_j)", StepKind::max},
    {"for j = 1 .. N", {}, 1},
    {"  l = l + exp(S_j - m)", StepKind::sum},
    {"for j = 1 .. N", {}, 2},
    {"  P_j = exp(S_j - m) / l", StepKind::normalise},
    {"  O = O + P_j · V_j", StepKind::output},
    {"return O", StepKind::finish},
};
constexpr CodeLine two_pass[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},
    {"for each tile t", {}, 0},
    {"  m' = m;  m = max(m', S_t)", StepKind::max},
    {"  α = exp(m' - m)", StepKind::alpha},
    {"  l = α·l + Σ exp(S_t - m)", StepKind::sum},
    {"for each tile t", {}, 1},
    {"  P = exp(S_t - m) / l", StepKind::normalise},
    {"  O = O + P · V_t", StepKind::output},
    {"return O", StepKind::finish},
};
constexpr CodeLine flash1[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},
    {"for each tile t", {}, 0},
    {"  m~ = max(S_t)", StepKind::tile_max},
    {"  P = exp(S_t - m~)", StepKind::weights},
    {"  m' = m;  m = max(m', m~)", StepKind::max},
    {"  α = exp(m'-m);  β = exp(m~-m)", StepKind::alpha},
    {"  l' = l;  l = α·l' + β·Σ P", StepKind::sum},
    {"  O = (α·l'·O + β·P · V_t) / l", StepKind::output},
    {"return O", StepKind::finish},
};
constexpr CodeLine flash2[] = {
    {"m = -∞;  l = 0;  O = 0", StepKind::start},    {"for each tile t", {}, 0},
    {"  m' = m;  m = max(m', S_t)", StepKind::max}, {"  α = exp(m' - m)", StepKind::alpha},
    {"  P = exp(S_t - m)", StepKind::weights},      {"  l = α·l + Σ P", StepKind::sum},
    {"  O = α·O + P · V_t", StepKind::output},      {"return O / l", StepKind::finish},
};

constexpr float line_step = 20, padding = 8, number_width = 26;
/// Of the longest algorithm: the box keeps its height.
constexpr std::size_t most_lines = std::max({std::size(three_pass), std::size(two_pass), std::size(flash1), std::size(flash2)});

}  // namespace

std::span<const CodeLine> pseudo_code(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::three_pass:
      return three_pass;
    case Algorithm::two_pass:
      return two_pass;
    case Algorithm::flash1:
      return flash1;
    case Algorithm::flash2:
      return flash2;
    default:
      return {};
  }
}

std::string_view code_title(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::three_pass:
      return "three_pass: safe softmax";
    case Algorithm::two_pass:
      return "two_pass: online softmax";
    case Algorithm::flash1:
      return "flash1: one pass, O normalised at every tile";
    case Algorithm::flash2:
      return "flash2: one pass, O divided once";
    default:
      return "";
  }
}

ImVec2 pseudo_code_size(Algorithm algorithm) {
  float widest = 0;
  for (const CodeLine& line : pseudo_code(algorithm)) widest = std::max(widest, text_width(Face::mono, line.text));
  return {widest + px(number_width + 3 * padding), static_cast<float>(most_lines) * px(line_step) + 2 * px(padding)};
}

void draw_pseudo_code(Algorithm algorithm, std::optional<Running> running, float width, const Palette& colours) {
  const std::span<const CodeLine> lines = pseudo_code(algorithm);
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{width, pseudo_code_size(algorithm).y};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, colours.background, px(4));
  list->AddRect(at, {at.x + size.x, at.y + size.y}, colours.line, px(4));
  float y = at.y + px(padding);
  for (std::size_t i = 0; i < lines.size(); ++i, y += px(line_step)) {
    const bool runs = running && lines[i].kind == running->kind, loops = running && lines[i].pass == running->pass;
    if (runs) {
      list->AddRectFilled({at.x, y}, {at.x + size.x, y + px(line_step)}, faded(colours.a, 0.16f));
      list->AddRectFilled({at.x, y}, {at.x + px(3), y + px(line_step)}, colours.a);
    }
    const float text_y = y + (px(line_step) - line_height(Face::mono)) / 2;
    draw_text({at.x + px(number_width), text_y}, Face::mono_small, colours.faint, std::to_string(i + 1), 1);
    const Colour colour = runs || !running ? colours.text : loops ? colours.text : colours.secondary;
    draw_text({at.x + px(number_width + padding), text_y}, Face::mono, colour,
              fitted(Face::mono, lines[i].text, size.x - px(number_width + 2 * padding)));
  }
  ImGui::Dummy(size);
}

}  // namespace attoscope
