/// The live views of lessons. Each is a function of its scene: it draws, keeps the reader's changes in the state, and returns
/// one sentence about what is wrong with its parameters, or "": the page then draws the sentence in place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/figure_panel.h"
#include "ui/frame/frame.h"
#include "ui/frame/lesson.h"

namespace attoscope::ui {

/// The stepper that keys move, the first one on screen, and the one that plays.
struct Stepping {
  int view = -1;                    ///< LessonView::index; -1: no stepper is on screen
  int at = 0, start = 0, last = 0;  ///< its step, the one that the lesson begins with, and its last
  int by = 0;                       ///< so many steps are asked for by a key
  bool toggles = false;             ///< a key asks to play or to pause
  bool restarts = false;            ///< the next stepper that comes on screen begins at `start`
  bool found = false;               ///< the first one of this frame has been drawn
  int playing = -1;                 ///< LessonView::index of the one that plays; -1: none
  double next = 0;                  ///< time of its next step, in seconds of ImGui's clock
  int speed = 3;                    ///< steps a second of what plays
};

/// Makes a presented view as high as its room, in pixels: first what can be lower or higher, then all of it by smaller type.
struct ViewFit {
  float width = 0, room = 0, scale = 0;  ///< for which the rest holds
  float stretch = 0, shrink = 1;
  bool flexes = false, is_lowest = false;  ///< something in it can be lower or higher; it is as low as it can be
};

/// The state of one view between frames.
struct LessonViewState {
  ViewFit fit;
  std::shared_ptr<void> own;              ///< the state of its kind, made by `own_state`
  std::string complaint;                  ///< the reason if the typed text is no number
  std::string summary;                    ///< the line that the view says about itself, with its numbers
  std::optional<LessonAnswerPtr> latest;  ///< newest answer to the view's question, shown until a newer one comes; null: none
                                          ///< yet; none: nothing was asked

  std::vector<LessonParameter> changes;  ///< the changes that `experiment` contains
  std::optional<Experiment> experiment;
  std::string problem;
};

/// All that a view is drawn from.
struct LessonScene {
  const LessonView& view;
  LessonViewEdits& edits;  ///< the reader's changes, saved with the session
  LessonViewState& state;
  const Experiment& experiment;  ///< of the view, with the reader's changes
  const PanelInput& input;
  Requests& requests;
  float width;  ///< that it may fill, in pixels
  float room;   ///< height that it has while a lesson is presented, in pixels; 0: as much as it likes
  Stepping& stepping;
  View& window;  ///< of the window, whose menu of figures it shares
};

/// The state of a view's kind, a type that the kind's file defines.
template <class State>
State& own_state(LessonScene& scene) {
  if (!scene.state.own) scene.state.own = std::make_shared<State>();
  return *static_cast<State*>(scene.state.own.get());
}

/// True on a page without a program: a view then draws no control.
bool is_on_page(const LessonScene& scene);
/// The step, from 0 to `last`, that a scene shows: `at`, or on a page, where the lesson names none, the end of its part.
int shown_step(const LessonScene& scene, int at, int last);

/// Plays at the next speed of a list, after the highest at the lowest.
void take_next_speed(Stepping& stepping);
/// Takes part in the keys that step, and in playing: `at`, or the step from 0 to `last` that they move it to. `start` is the
/// lesson's own. To be called where the view begins.
int stepped(LessonScene& scene, int at, int start, int last);
/// Plays the view's steps, or pauses; `at`, or 0 where it was the last.
int play_or_pause(LessonScene& scene, int at, int last);
/// A height that may change, in pixels: `wanted`, or while the lesson is presented what makes the view fill its room, at least
/// `least`.
float flexible_height(LessonScene& scene, float wanted, float least);
/// Adjusts the fit to a view that took this height, for the next frame.
void fit(ViewFit& fit, float taken);

/// The value of a key: the reader's where he changed it, else the lesson's, else `otherwise`.
std::string value_of(const LessonScene& scene, std::string_view key, std::string_view otherwise = {});
/// The same as a whole number within [least, most]; where it is none, `problem` says so in a sentence and `otherwise` stands.
int whole_of(const LessonScene& scene, std::string_view key, int otherwise, int least, int most, std::string& problem);
/// The words between the commas of a value.
std::vector<std::string> list_of(const LessonScene& scene, std::string_view key, std::string_view otherwise = {});
/// The reader's value of a key, one of the view's own or of the experiment's ("block_k", "a.O"), from the next frame on. The
/// lesson's own value is no change.
void change(LessonScene& scene, std::string_view key, std::string value);
/// "policy, line 12: n is 'x', expected ..." without the place: `key` is 'value', expected `expected`.
std::string refusal(std::string_view key, std::string_view value, std::string_view expected);

/// Asks in this frame, and returns the newest answer: to this question, or, until it is there, to what the view asked before.
/// Null: none yet.
LessonAnswerPtr ask(LessonScene& scene, const LessonQuestion& question);

/// The panels of a plot that only lessons have, of these keys: `kind` is bytes, loop, staircase, exp, heaps or sweep, whose
/// `answer` is that to `lesson_question`. Throws std::invalid_argument in a sentence.
std::vector<FigurePanel> lesson_panels(const Experiment& experiment, const std::vector<LessonParameter>& keys,
                                       const LessonAnswerPtr& answer = nullptr);
/// The question that such a plot needs an answer to; none: it needs none, or its keys are impossible.
std::optional<LessonQuestion> lesson_question(const Experiment& experiment, std::string_view kind,
                                              const std::vector<LessonParameter>& keys);

/// Sliders and menus for the experiment keys that `controls: format, policy, n, block_k` lists.
std::string draw_lesson_controls(LessonScene& scene);

/// A view's function, which page.cpp declares: see the head of this file.
using DrawLessonView = std::string(LessonScene& scene);

}  // namespace attoscope::ui
