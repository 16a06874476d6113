#include <algorithm>
#include <array>
#include <string>

#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {
namespace {

/// A text and its colour.
struct Piece {
  const char* text;
  Colour colour;
};

/// The sentence left of its button, in two parts: the comparison, and the first steps. `loaded`: an output is loaded.
std::array<std::array<Piece, 4>, 2> sentence(bool loaded) {
  return {{{Piece{"a (orange)", colours().a}, Piece{" against ", colours().text}, Piece{"b (blue)", colours().b},
            Piece{", both against golden, the fp64 result: ", colours().text}},
           {Piece{"drag ", colours().text}, Piece{"mantissa", colours().accent},
            Piece{loaded ? ", or begin with" : ", drop your kernel's O, or begin with", colours().text},
            Piece{"", colours().text}}}};
}

/// Text of both parts.
std::string whole(const std::array<std::array<Piece, 4>, 2>& parts) {
  std::string text;
  for (const auto& part : parts)
    for (const Piece& piece : part) text += piece.text;
  return text + " lesson 1.";
}

float width_of(const std::array<Piece, 4>& part) {
  float width = 0;
  for (const Piece& piece : part) width += text_width(Face::label, piece.text);
  return width;
}

/// Draws a part; returns its right end.
float draw_part(const std::array<Piece, 4>& part, ImVec2 at, float end) {
  for (const Piece& piece : part) at.x += draw_fitted(at, Face::label, piece.colour, piece.text, std::max(0.0f, end - at.x));
  return at.x;
}

/// True if `asked` equals the probe's experiment; the traced row and the digest of its files are ignored.
bool same_question(const Experiment& probe, const Experiment& asked) {
  Experiment x = probe;
  x.problem.traced_row = asked.problem.traced_row;
  x.problem.input.digest = asked.problem.input.digest;
  return x == asked;
}

const ProbeEntry* asked_probe(const Session& session, const PanelInput& input) {
  if (!input.choices.probes) return nullptr;
  const auto at = std::ranges::find_if(*input.choices.probes,
                                       [&](const ProbeEntry& p) { return same_question(p.experiment, session.experiment); });
  return at == input.choices.probes->end() ? nullptr : &*at;
}

}  // namespace

void open_first_lesson(Session& session) {
  session.view.workspace = Workspace::learn;
  session.lesson.name.clear();
  session.lesson.step = 0;
}

void draw_welcome(Session& session, UiState& state) {
  if (!session.view.welcome) return;
  const auto parts = sentence(has_loaded(session.experiment));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, pad = px(8), close = px(24), lesson = px(72), ask = px(104),
              line = px(18);
  const float room = width - lesson - ask - close - 5 * pad;
  const bool two_lines = width_of(parts[0]) + width_of(parts[1]) + pad > room;
  const float height = px(control_height + 8) + (two_lines ? line : 0);
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + width, at.y + height}, colours().raised, px(3));
  ImGui::Dummy({room, height});
  explain(whole(parts));
  const float last = at.y + height - px(control_height + 4), text = last + (px(control_height) - line_height(Face::label)) / 2;
  const float first_end = draw_part(parts[0], {at.x + pad, text - (two_lines ? line : 0)},
                                    two_lines ? at.x + width - close - 2 * pad : at.x + room);
  const float end = draw_part(parts[1], {two_lines ? at.x + pad : first_end, text}, at.x + room);
  ImGui::SetCursorScreenPos({end + pad, last});
  if (push_button("lesson 1###first lesson", true, {lesson, 0})) open_first_lesson(session);
  explain("The first lesson: why attention's arithmetic needs care, each number computed while you read.");
  ImGui::SetCursorScreenPos({end + 2 * pad + lesson, last});
  if (push_button("ask a question###ask", false, {ask, 0})) state.popups.questions_asked = true;
  explain("A list of questions that the window answers: which head is worst, is my kernel right, which format is enough.");
  ImGui::SetCursorScreenPos({at.x + width - close - px(4), at.y + px(4)});
  if (push_button("×###dismiss welcome", false, {close, 0})) session.view.welcome = false;
  explain("Hides this line for good; find … brings it back as \"welcome\".");
  ImGui::SetCursorScreenPos({at.x, at.y + height + px(4)});
}

void ask_probe(Session& session, UiState& state, const ProbeEntry& probe) {
  session.experiment = probe.experiment;
  look_at_all(session.view);
  state.dismissed_probe.clear();
}

void presets_button(Session& session, const PanelInput& input, UiState& state) {
  const bool any = input.choices.probes && !input.choices.probes->empty();
  if (if_possible(any, [] { return quiet_button("presets###presets"); })) ImGui::OpenPopup("presets");
  explain(any ? "Experiments that each show one effect, with what to look for." : "The shipped experiments are missing.");
  set_menu_place();
  if (!ImGui::BeginPopup("presets")) return;
  const float width = std::min(px(520), ImGui::GetMainViewport()->Size.x - px(60));
  const ProbeEntry* current = asked_probe(session, input);
  if (push_button("gallery with pictures …###gallery", true, {width, 0})) {
    state.popups.gallery.asked = true;
    ImGui::CloseCurrentPopup();
  }
  explain(
      "The gallery: these experiments, whole kernels and policies, each with a small picture, found by typing. Key Shift+G.");
  for (std::size_t i = 0; any && i < input.choices.probes->size(); ++i) {
    const ProbeEntry& probe = (*input.choices.probes)[i];
    if (titled_entry(probe.name, probe.title, probe.sentence, &probe == current, width)) ask_probe(session, state, probe);
  }
  ImGui::EndPopup();
}

void draw_probe_sentence(const Session& session, const PanelInput& input, UiState& state) {
  const ProbeEntry* probe = asked_probe(session, input);
  if (probe == nullptr || probe->name == state.dismissed_probe) return;
  const float width = ImGui::GetContentRegionAvail().x, close = px(24), pad = px(8), inner = width - close - 3 * pad;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float title = line_height(Face::label) + px(4), sentence = wrapped_height(Face::small, probe->sentence, inner);
  const bool whole = ImGui::GetContentRegionAvail().y > sentence + px(240);  // else the sentence is only in the tooltip
  const float height = (whole ? title + sentence : line_height(Face::label)) + 2 * pad;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + width, at.y + height}, colours().raised, px(3));
  draw_text({at.x + pad, at.y + pad - px(1)}, Face::label, colours().text, probe->title);
  if (whole) {
    draw_wrapped({at.x + pad, at.y + pad + title}, Face::small, colours().secondary, probe->sentence, inner);
  } else {
    take_room(at, {inner, height});
    explain(probe->sentence);
  }
  ImGui::SetCursorScreenPos({at.x + width - close - px(4), at.y + px(4)});
  if (push_button("×###dismiss", false, {close, 0})) state.dismissed_probe = probe->name;
  explain("Hides the sentence. The experiment stays; the list of presets shows the sentence again.");
  ImGui::SetCursorScreenPos({at.x, at.y + height + px(4)});
}

}  // namespace attoscope::ui
