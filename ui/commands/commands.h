/// All actions by name: keys, settings, shipped experiments.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/frame.h"

namespace attoscope::ui {

/// Scope of a key. presenting: a lesson fills the window. steps: Explore and Learn.
enum class KeyScope { everywhere, explore, train, learn, presenting, steps };

/// One line of the help. Lines without `act` stand for mouse actions or ranges of keys.
struct Key {
  std::string_view keys, what;
  int chord = 0;  ///< ImGuiKeyChord
  void (*act)(const Frame&) = nullptr;
  bool repeats = false;
  KeyScope scope = KeyScope::everywhere;
};

/// All keys, in the order of the help.
std::span<const Key> keys();

/// Acts on the keys pressed in this frame, unless a text is being typed.
void handle_keys(const Frame& target);

/// The help window.
void draw_help(bool& open, View& view);

/// Frame around the panel with the keyboard focus, while keys move the focus.
void draw_panel_focus();

/// A question that a part of the window answers.
struct UserQuestion {
  std::string_view name;      ///< its test label
  std::string_view words;     ///< "Which head is worst?"
  std::string_view answer;    ///< a sentence on the result of a click
  void (*act)(const Frame&);  ///< opens the answer
};
/// All questions, the most frequent first; the palette lists them as "ask: ...".
std::span<const UserQuestion> questions();

/// The list of questions while it is open.
void draw_questions(const Frame& frame);

struct PaletteCommand {
  std::string name;  ///< "theme: light"
  std::string what;  ///< synonyms and an explanation, searched too
  std::function<void(const Frame&)> act{};
  std::string keys{};      ///< key of the command, or ""
  std::string complete{};  ///< if not empty, replaces the query instead of calling `act`: the beginning of an assignment
  double behind = -1;      ///< penalty among equally good matches; negative: grows with the name's length
};

/// All commands without a typed value: keys, workspaces, lessons and their steps, the loaded kernel and its files, presets,
/// devices, heads, sessions, pins, plans of sweeps, figures, settings.
std::vector<PaletteCommand> commands(const Frame& target);

/// Score of `command` for `query`: higher is better, negative is no match. Every word of the query must occur in the name or
/// the explanation, at least as letters in its order.
double fitness(std::string_view query, const PaletteCommand& command);

/// Meanings of the query, best first: assignments ("set N to 4096"), then `all` ranked; at most `most`.
std::vector<PaletteCommand> found(std::string_view query, const std::vector<PaletteCommand>& all, const Frame& target,
                                  std::size_t most);

}  // namespace attoscope::ui
