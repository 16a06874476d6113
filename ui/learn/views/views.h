/// The live views of lessons, functions of their scene listed in ui/frame/lesson.h: each draws, keeps the reader's changes in
/// the state, and returns an error sentence about its parameters, or "". The page draws the sentence below the view.
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
  int at = 0, start = 0, last = 0;  ///< its step, the lesson's start, and the last step
  int by = 0;                       ///< steps requested by a key
  bool toggles = false;             ///< a key requested playing or a pause
  bool restarts = false;            ///< the next stepper on screen begins at `start`
  bool found = false;               ///< the first stepper of this frame was drawn
  int playing = -1;                 ///< LessonView::index of the playing stepper; -1: none
  double next = 0;                  ///< time of its next step, in seconds of ImGui's clock
  int speed = 3;                    ///< playing speed, in steps per second
};

/// Fits a presented view to the height of its room, in pixels: first by flexible heights, then by smaller type.
struct ViewFit {
  float width = 0, room = 0, scale = 0;  ///< for which the other members were computed
  float stretch = 0, shrink = 1;
  bool flexes = false, is_lowest = false;  ///< a height in it is flexible; this height is at its least
};

/// The state of one view between frames.
struct LessonViewState {
  ViewFit fit;
  std::shared_ptr<void> own;              ///< the state of its kind, made by `own_state`
  std::string complaint;                  ///< the reason if the typed text is no number
  std::string summary;                    ///< the view's summary line, with its numbers
  std::optional<LessonAnswerPtr> latest;  ///< newest answer to the view's question, shown until a newer one comes; null: none
                                          ///< yet; empty: nothing was requested

  std::vector<LessonParameter> changes;  ///< the changes that `experiment` contains
  std::optional<Experiment> experiment;
  std::string problem;
};

/// Parameters of drawing a view.
struct LessonScene {
  const LessonView& view;
  LessonViewEdits& edits;  ///< the reader's changes, saved with the session
  LessonViewState& state;
  const Experiment& experiment;  ///< experiment of the view, with the reader's changes
  const PanelInput& input;
  Requests& requests;
  float width;  ///< available width, in pixels
  float room;   ///< height of the view while a lesson is presented, in pixels; 0: no limit
  Stepping& stepping;
  View& window;  ///< the window's, which has the menu of figures
};

/// The state of a view's kind, a type that the kind's file defines.
template <class State>
State& own_state(LessonScene& scene) {
  if (!scene.state.own) scene.state.own = std::make_shared<State>();
  return *static_cast<State*>(scene.state.own.get());
}

/// True on a static page, without the program: views draw no controls.
bool is_on_page(const LessonScene& scene);
/// The step that a scene shows, 0 to `last`: `at`; on a static page, if the lesson names no step, the end of the page's part.
int shown_step(const LessonScene& scene, int at, int last);

/// Sets the next speed of a list; after the highest, the lowest.
void take_next_speed(Stepping& stepping);
/// Handles step keys and playing: returns `at`, or the step, 0 to `last`, to which they move. `start`: the lesson's start. Call
/// it at the top of the view.
int stepped(LessonScene& scene, int at, int start, int last);
/// Starts or pauses playing of the view's steps; returns `at`, or 0 if playing starts at the last step.
int play_or_pause(LessonScene& scene, int at, int last);
/// A flexible height in pixels: `wanted`; while the lesson is presented, the height that makes the view fill its room, at least
/// `least`.
float flexible_height(LessonScene& scene, float wanted, float least);
/// Adjusts the fit to a view that took this height, for the next frame.
void fit(ViewFit& fit, float taken);

/// The value of a key: the reader's change, else the lesson's value, else `otherwise`.
std::string value_of(const LessonScene& scene, std::string_view key, std::string_view otherwise = {});
/// Parses the value of a key as a whole number in [least, most]; on an error returns `otherwise` and sets `problem` to a
/// sentence.
int whole_of(const LessonScene& scene, std::string_view key, int otherwise, int least, int most, std::string& problem);
/// The words between the commas of a value.
std::vector<std::string> list_of(const LessonScene& scene, std::string_view key, std::string_view otherwise = {});
/// Sets the reader's value of a key of the view or of the experiment ("block_k", "a.O"), from the next frame on. The lesson's
/// own value removes the change.
void change(LessonScene& scene, std::string_view key, std::string value);
/// Error text "`key` is 'value', expected `expected`", without the place, as "policy, line 12: " before it.
std::string refusal(std::string_view key, std::string_view value, std::string_view expected);

/// Requests the answer in this frame; returns the newest one: to this question, or until then to the view's previous question.
/// Null: none yet.
LessonAnswerPtr ask(LessonScene& scene, const LessonQuestion& question);

/// The panels of a plot that only lessons have, from its keys; `kind` is bytes, loop, staircase, exp, heaps or sweep. A sweep
/// needs the `answer` to `lesson_question`. Throws std::invalid_argument with a sentence.
std::vector<FigurePanel> lesson_panels(const Experiment& experiment, const std::vector<LessonParameter>& keys,
                                       const LessonAnswerPtr& answer = nullptr);
/// The question that a plot of `lesson_panels` needs answered; empty: none, or its keys are invalid.
std::optional<LessonQuestion> lesson_question(const Experiment& experiment, std::string_view kind,
                                              const std::vector<LessonParameter>& keys);

/// Sliders and menus for the experiment keys that `controls: format, policy, n, block_k` lists.
std::string draw_lesson_controls(LessonScene& scene);

}  // namespace attoscope::ui
