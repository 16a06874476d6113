#include "ui/widgets/compiling.h"

#include <fmt/format.h>

#include <algorithm>

#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

using State = CompilingInput::State;

bool shows_compiling(const CompilingInput& input) {
  return input.state == State::stopped || (input.state != State::none && input.seconds > shown_after);
}

std::string compiling_sentence(const CompilingInput& input) {
  const std::string code = "the code for " + input.gpu, meanwhile = input.cpu_computes ? "; the CPU computes meanwhile" : "";
  if (input.state == State::stopped)
    return fmt::format("{} is not compiled yet, {} of {} parts are{}", code, input.done, input.all, meanwhile);
  const std::string now = fmt::format("{} of {} ({}), {:.0f} s", input.done + 1, input.all, input.part, input.seconds);
  if (input.state == State::stopping) return fmt::format("compiling {} stops after this one: {}{}", code, now, meanwhile);
  return fmt::format("{} is being compiled: {}{}", code, now, meanwhile);
}

float draw_compiling(const CompilingInput& input, const Palette& colours, float width, float height, Requests& requests) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float button = px(64), gap = px(10);
  const bool stops = input.state == State::running;
  ImGui::SetCursorScreenPos({at.x, at.y + px(2)});
  ImGui::BeginDisabled(input.state == State::stopping);
  if (push_button(stops                           ? "cancel###compiling"
                  : input.state == State::stopped ? "compile###compiling"
                                                  : "stops###compiling",
                  colours, false, {button, height - px(4)}))
    (stops ? requests.stop_compiling : requests.compile) = true;
  ImGui::EndDisabled();
  explain(stops ? "Stops after the present part, which a driver does not interrupt. What is compiled is kept."
                : "Goes on where it stopped; then the GPU computes.");
  const std::string sentence = compiling_sentence(input),
                    shown = fitted(Face::small, sentence, std::max(px(40), width - button - gap));
  const ImVec2 text{at.x + button + gap, at.y};
  ImGui::SetCursorScreenPos(text);
  ImGui::Dummy({text_width(Face::small, shown), height});
  explain(sentence + ". The driver keeps what it compiled: the next start does without.");
  draw_text({text.x, text.y + (height - line_height(Face::small)) / 2}, Face::small, colours.accent, shown);
  return button + gap + text_width(Face::small, shown);
}

}  // namespace attoscope
