/// The user of a test: clicks real widgets by label and compares whole sessions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "imgui.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/stage.h"

struct ImGuiTestContext;
struct ImRect;

namespace attoscope::testing {

/// The panels' paths.
inline const std::string controls = "//Controls/", heatmap = "//Heat map/", strip = "//Recurrence/", top_bar = "//Top bar/",
                         statistics = "//Statistics/", focused = "//$FOCUSED/";
/// Undoes a change.
inline constexpr int undo_key = ImGuiMod_Ctrl | ImGuiKey_Z;

class Hand {
 public:
  /// A line of a test: std::source_location, which clang 14 lacks.
  struct Where {
    const char* file;
    const char* function;
    int line;
    static constexpr Where current(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                                   int line = __builtin_LINE()) {
      return {file, function, line};
    }
  };
  Hand(ImGuiTestContext& context, Stage& at) : stage(at), context_(context) {}

  Stage& stage;
  const TemporaryDirectory folder;  ///< for files of the test
  Session& session() { return stage.session; }
  Experiment& experiment() { return stage.session.experiment; }
  View& view() { return stage.session.view; }

  /// Counts a failure, with its place, unless `truth`.
  bool check(bool truth, const std::string& what, Where where = Where::current());
  /// True as long as nothing failed.
  bool well() const;

  /// Makes the change expected from an act.
  using Change = std::function<void(Session&)>;
  /// Expects that `act` changes exactly what `mutate` does, and waits for the answer; no `mutate`: it may change anything.
  void changes(const std::string& what, const std::function<void()>& act, const Change& mutate, Where where = Where::current());
  /// Expects that `act` changes nothing.
  void leaves(const std::string& what, const std::function<void()>& act, Where where = Where::current());
  /// A control, and the change that it makes; `text`: typed into it; `item`: chosen from its list; else it is clicked.
  struct Control {
    std::string path;
    Change mutate;
    std::optional<std::string> text = {}, item = {};
  };
  /// Expects that each control in turn makes exactly its change; `inside` runs the act where the control is, as in a popup.
  void each(const std::vector<Control>& all, const std::function<void(const std::function<void()>&)>& inside = {},
            Where where = Where::current());

  /// Sets a part of the view and draws frames.
  template <class T>
  void show(T View::* part, std::type_identity_t<T> value, int count = 2) {
    view().*part = std::move(value);
    frames(count);
  }
  void frames(int count);
  /// Draws frames until the question on screen is answered.
  void settle(Where where = Where::current());
  /// Draws frames until `holds`, which is expected, and two more.
  bool await(const std::string& what, const std::function<bool()>& holds, Where where = Where::current());
  /// Opens a window on `opened`, waits for its answer, and draws `count` further frames.
  void open(Session opened, int count = 0);
  /// Resizes the window and draws frames.
  void resize(int width, int height, int count = 3);
  /// Drops files on the picture and waits for the answer.
  void drop(const std::vector<std::string>& files);
  /// Drops files on the window, as sessions and checkpoints, too, and waits for the answer.
  void open_files(const std::vector<std::string>& files);
  /// The answer on screen; null: none yet.
  std::shared_ptr<const Result> result() const { return stage.panel_input().answer.result; }
  /// The error and the notice in the status bar.
  std::string error() const { return stage.panel_input().messages.error; }
  std::string notice() const { return stage.panel_input().messages.notice; }
  /// Expects an error, or a notice without an error, that contains `words`.
  void expect_error(const std::string& words, Where where = Where::current());
  void expect_notice(const std::string& words, Where where = Where::current());

  /// Expects that `found` equals `expected`.
  void expect_text(const std::string& found, const std::string& expected, Where where = Where::current());

  /// Replaces the explorer's input of the panels from now on; starts as a copy of the current input.
  PanelInput& tell() { return stage.told.emplace(stage.panel_input()); }
  /// Clicks an item. This and all acts below wait for their item: workers may still read the file that shows it.
  void click(const std::string& path, int button = 0);
  /// Clicks an item once it keeps its place: text above it may still grow.
  void click_at_rest(const std::string& path);
  /// Opens a list, by the right button if that is 1, and clicks one of its items.
  void choose(const std::string& list, const std::string& item, int button = 0);
  /// Clicks an item of the focused popup.
  void pick(const std::string& item);
  bool exists(const std::string& path);
  bool has_popup() const;
  bool disabled(const std::string& path);
  bool disabled(ImGuiID item);
  void key(int chord);
  /// Ctrl+click, then text and Enter.
  void type(const std::string& path, const std::string& text);
  /// Clicks into a text field, replaces its text, Enter.
  void fill(const std::string& path, const std::string& text);

  /// Types text into the focused field, then Enter.
  void enter(const std::string& text);
  /// Types into the palette, then Enter.
  void ask(const std::string& query);
  void close_popups();
  /// The items of a window that the mouse can touch, with their labels.
  std::vector<std::pair<ImGuiID, std::string>> items(const std::string& window);
  ImGuiID id(const std::string& path);
  /// The whole rectangle of an item, also where its window cuts it off.
  ImRect rect(ImGuiID item);
  /// True while a tooltip is on screen.
  bool has_tooltip() const;
  /// True if a tooltip opens when the mouse rests on the item.
  bool explained(ImGuiID item);

  /// Types into the focused field, without Enter.
  void type_only(const std::string& text);

  /// A place of a widget: (0, 0) is its top left, (1, 1) its bottom right.
  ImVec2 place(const std::string& path, float x, float y = 0.5f);
  /// A place of a plot: x on its axis, y as in `place`.
  ImVec2 on_plot(const std::string& plot, double x, float y = 0.5f);
  void move(ImVec2 to);
  void press(ImVec2 at, int clicks = 1);
  void drag(ImVec2 from, ImVec2 to);
  void wheel(ImVec2 at, float by);

  /// The acts above, each with the exact change expected from it.
  void click(const std::string& path, const Change& change, Where where = Where::current());
  void choose(const std::string& list, const std::string& item, const Change& change, int button = 0,
              Where where = Where::current());
  void key(int chord, const Change& change, Where where = Where::current());
  void type(const std::string& path, const std::string& text, const Change& change, Where where = Where::current());
  void fill(const std::string& path, const std::string& text, const Change& change, Where where = Where::current());
  void ask(const std::string& query, const Change& change, Where where = Where::current());
  void press(ImVec2 at, const Change& change, int clicks = 1, Where where = Where::current());
  void drag(ImVec2 from, ImVec2 to, const Change& change, Where where = Where::current());
  void wheel(ImVec2 at, float by, const Change& change, Where where = Where::current());

  void hold_key(int key, bool down);
  void hold_mouse(bool down, int button = 0);
  /// True if a tooltip opens when the mouse rests there, or while it is held down there.
  bool explained_at(ImVec2 place, bool held = false);

  /// The pixels on screen.
  Picture picture();

 private:
  /// `path`, once an item has it, or after the timeout.
  const char* awaited_item(const std::string& path);
  /// True if a tooltip is open after the mouse came to rest.
  bool tooltip_after(const std::function<void()>& rest);

  ImGuiTestContext& context_;
};

/// Replaces an expected change: the act may change anything, then waits for the answer, as in `hand.key(undo_key, settled)`.
inline const Hand::Change settled;
/// True if `text` contains `part`.
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
/// Runs acts in the popup of a button: opens it before and closes it after.
std::function<void(const std::function<void()>&)> in_popup(Hand& hand, const std::string& button);
/// A label as a part of a path: its slashes are escaped.
std::string escaped(const std::string& label);

/// The lines in which the saved forms of two sessions differ.
std::string difference(const Session& expected, const Session& found);

}  // namespace attoscope::testing
