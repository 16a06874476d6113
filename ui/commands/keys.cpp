#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "imgui_internal.h"
#include "ui/commands/bars.h"
#include "ui/commands/commands.h"
#include "ui/controls/controls.h"
#include "ui/learn/learn_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/model/panels.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/pictures.h"
#include "ui/recurrence/recurrence.h"
#include "ui/sweep/panels.h"
#include "ui/train/panels.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

void toggle_scale(const Frame& t) {
  t.session.view.scale = t.session.view.scale == ValueScale::log ? ValueScale::linear : ValueScale::log;
}
void toggle_pin(const Frame& t) { toggle_pinned_range(t.state, t.session.view); }
void fit_colours(const Frame& t) { fit_range(t.state, t.session.view); }
/// The choice after this one, then the first again.
template <class E, std::size_t count>
void step_on(E& value, const std::array<std::string_view, count>&) {
  value = static_cast<E>((static_cast<std::size_t>(value) + 1) % count);
}
void paste(const Frame& t) {
  const char* text = ImGui::GetClipboardText();
  t.requests.clipboard.paste = true;
  t.requests.clipboard.paste_text = text ? text : "";
}
void present(const Frame& t) { t.session.lesson.presenting = !t.session.lesson.presenting; }
/// Runs, pauses or resumes the sweep if Sweep is on show; runs the model if Model is.
void sweep_on(const Frame& t) {
  if (t.session.view.workspace == Workspace::model) t.requests.model.act = next_model_act(t.input.model);
  if (t.session.view.workspace == Workspace::sweep) t.requests.sweep = next_request(t.input.sweep.progress);
}
/// Runs, pauses or resumes the training, unless the space bar presses a control.
void train_on(const Frame& t) {
  if (ImGui::GetIO().NavVisible && ImGui::IsKeyPressed(ImGuiKey_Space)) return;
  t.session.view.workspace = Workspace::train;
  t.requests.train.act = next_train_act(t.input.train);
}
void train_one_step(const Frame& t) {
  if (next_train_act(t.input.train) == TrainRequest::Act::run) t.requests.train.act = TrainRequest::Act::one_step;
}
void train_anew(const Frame& t) {
  if (t.input.train.record && t.input.train.progress.wrong.empty()) t.requests.train.act = TrainRequest::Act::restart;
}
/// Escape acts on the first of: remarks, keys, presentation, sweep, model, file being read or computation, sum of the pinned
/// cell, pin of the cell.
void escape(const Frame& t) {
  if (shows_remarks(t.input))
    t.requests.remarks_read = true;
  else if (t.state.popups.help)
    t.state.popups.help = false;
  else if (is_presenting(t.session))
    present(t);
  else if (t.session.view.workspace == Workspace::sweep && !t.input.answer.reading)
    t.requests.sweep = SweepRequest::cancel;
  else if (t.session.view.workspace == Workspace::model && !t.input.answer.reading)
    t.requests.model.act = ModelRequest::Act::cancel;
  else if (t.input.answer.computing && t.input.answer.computing_seconds > shown_after)
    t.requests.cancel = true;
  else if (t.session.view.workspace == Workspace::explore && has_cell_sum(t.session.view) && t.session.view.show_sum)
    t.session.view.show_sum = false;
  else
    t.session.view.cell_row = t.session.view.cell_col = -1;
}
void keep(const Frame& t) {
  keep_pin(t.session, t.input, t.state.pins);
  if (!t.session.view.show_pins) t.requests.error = t.state.pins.complaint;
}
template <SessionRequest::Act act>
void session_file(const Frame& t) {
  ask_session(act, t.input, t.state, t.requests);
}
/// Turns a page. While presenting: moves by a step of the stepper on screen, or by a screen.
template <int by, bool past_steps = false>
void turn(const Frame& t) {
  const Lessons* const lessons = t.input.learn.lessons.get();
  if (is_presenting(t.session) && t.state.learn)
    go_on(t.session.lesson, lessons, *t.state.learn, by, past_steps);
  else
    turn_page(t.session.lesson, lessons, by);
}
/// While presenting: switches between text and view if they have separate screens, else goes on. While reading: scrolls,
/// unless the space bar presses a control.
template <int by>
void space(const Frame& t) {
  if (!t.state.learn) return;
  if (!is_presenting(t.session)) {
    t.state.learn->scrolls = ImGui::GetIO().NavVisible ? 0 : by;
    return;
  }
  const int other = other_screen(t.state.learn->presented);
  if (other < 0) return turn<by>(t);
  t.state.learn->presented.screen = other;
}
void black(const Frame& t) {
  if (t.state.learn) t.state.learn->is_black = true;
}
void next_speed(const Frame& t) {
  if (t.state.learn) take_next_speed(t.state.learn->stepping);
}
void first_step(const Frame& t) { turn_to_end(t.session.lesson, t.input.learn.lessons.get(), false); }
void last_step(const Frame& t) { turn_to_end(t.session.lesson, t.input.learn.lessons.get(), true); }
/// The steps of the strip on screen.
StripSteps followed(const Frame& t) { return strip_steps(t.session, t.input); }

template <TileEvent event, int by>
void to_event(const Frame& t) {
  scrub_to_event(t.session.view, followed(t).recurrence(), event, by);
}
/// Steps the strip of Explore, or the stepper of a lesson.
template <int by>
void step_on_screen(const Frame& t) {
  if (t.session.view.workspace == Workspace::explore)
    scrub(t.session.view, followed(t), by);
  else if (t.state.learn)
    t.state.learn->stepping.by = by;
}
void play_on_screen(const Frame& t) {
  if (t.session.view.workspace == Workspace::explore)
    play_or_pause(t.state.playback, t.session.view, followed(t), ImGui::GetTime());
  else if (t.state.learn)
    t.state.learn->stepping.toggles = true;
}
void turn_pass(const Frame& t) { t.requests.error = turn_backward(t.session.experiment); }
void open_palette(const Frame& t) { t.state.popups.palette.asked = true; }
void save_window(const Frame& t) { t.requests.exports.plot = ExportRequest{.name = "window"}; }
void redo(const Frame& t) { t.state.history.redo(t.session); }

constexpr float highest_bar = 40;

/// True if a window is a panel, visible or behind another's tab; false for popups and child windows.
bool is_panel(const ImGuiWindow& w) {
  constexpr ImGuiWindowFlags others =
      ImGuiWindowFlags_Popup | ImGuiWindowFlags_Tooltip | ImGuiWindowFlags_NoNavFocus | ImGuiWindowFlags_NoNavInputs;
  const bool is_part = (w.Flags & ImGuiWindowFlags_ChildWindow) != 0 && !w.DockIsActive,
             is_behind = w.DockIsActive && !w.DockTabIsVisible;
  return w.WasActive && (is_behind || !w.Hidden) && !is_part && (w.Flags & others) == 0 && !w.IsFallbackWindow;
}

/// Panel with the keyboard focus; null: none.
ImGuiWindow* focused_panel() {
  const ImGuiWindow* const at = ImGui::GetCurrentContext()->NavWindow;
  return at != nullptr && at->RootWindow != nullptr && is_panel(*at->RootWindow) ? at->RootWindow : nullptr;
}

/// Gives the keyboard to the next panel on screen (`by` 1) or to the one before (-1), in reading order: the top bar, then from
/// the left to the right and downwards, the status bar last.
void focus_panel(int by) {
  std::vector<ImGuiWindow*> all;
  for (ImGuiWindow* const w : ImGui::GetCurrentContext()->Windows)
    if (is_panel(*w)) all.push_back(w);
  if (all.empty()) return;
  const float middle = ImGui::GetMainViewport()->GetCenter().y;
  std::ranges::stable_sort(all, {}, [middle](const ImGuiWindow* w) {
    const bool is_bar = w->Size.y <= px(highest_bar);
    return std::tuple{is_bar ? (w->Pos.y < middle ? 0 : 2) : 1, w->Pos.x, w->Pos.y};
  });
  const auto count = static_cast<std::ptrdiff_t>(all.size());
  const auto found = std::ranges::find(all, focused_panel());
  const std::ptrdiff_t before = by > 0 ? -1 : count, at = found == all.end() ? before : found - all.begin();
  ImGuiWindow* const next = all[static_cast<std::size_t>((at + by + count) % count)];
  ImGui::FocusWindow(next);
  ImGui::NavInitWindow(next, false);
  ImGui::SetNavCursorVisible(true);
}

constexpr std::array table{
    Key{"1 .. 9", "picture: golden, a, b, errors, magnitudes, ulps"},
    Key{"Shift+1 .. 3", "picture: relative errors, a − b"},
    Key{"L", "signed log or linear colours", ImGuiKey_L, toggle_scale, false, KeyScope::explore},
    Key{"P", "fix the range of the colours", ImGuiKey_P, toggle_pin, false, KeyScope::explore},
    Key{"Shift+P", "fit the range of the colours to the values as they are now", ImGuiMod_Shift | ImGuiKey_P, fit_colours,
        false, KeyScope::explore},
    Key{"G", "tile grid over the picture", ImGuiKey_G,
        [](const Frame& t) { t.session.view.show_tiles = !t.session.view.show_tiles; }, false, KeyScope::explore},
    Key{"Shift+G", "gallery of experiments, kernels and policies, with pictures", ImGuiMod_Shift | ImGuiKey_G,
        [](const Frame& t) { t.state.popups.gallery.asked = true; }},
    Key{"0", "whole picture", ImGuiKey_0, [](const Frame& t) { picture_settings(t.session.view).zoom = {}; }, false,
        KeyScope::explore},
    Key{"D", "forward pass alone, or dQ, dK and dV of the backward pass too", ImGuiKey_D, turn_pass, false, KeyScope::explore},
    Key{"M", "next kind of picture: output, rescale map, scores, heads", ImGuiKey_M,
        [](const Frame& t) { step_on(t.session.view.picture, picture_names); }, false, KeyScope::explore},
    Key{"V", "next comparison: one picture, side by side, swipe, flicker", ImGuiKey_V,
        [](const Frame& t) { step_on(t.session.view.comparison, comparison_names); }, false, KeyScope::explore},
    Key{"B", "swap the two compared fields", ImGuiKey_B,
        [](const Frame& t) { std::swap(t.session.view.field, t.session.view.second_field); }, false, KeyScope::explore},
    Key{"X", "row and column through the cell under the mouse, as curves", ImGuiKey_X,
        [](const Frame& t) { t.session.view.profiles = !t.session.view.profiles; }, false, KeyScope::explore},
    Key{"Esc", "close what is on top; stop reading, computing, the sweep, the model or presenting; unpin the cell",
        ImGuiKey_Escape, escape},
    Key{",", "previous tile; previous step of a lesson's stepper", ImGuiKey_Comma, step_on_screen<-1>, true, KeyScope::steps},
    Key{".", "next tile; next step of a lesson's stepper", ImGuiKey_Period, step_on_screen<1>, true, KeyScope::steps},
    Key{"Shift+,", "first tile or step", ImGuiMod_Shift | ImGuiKey_Comma, step_on_screen<-max_n>, false, KeyScope::steps},
    Key{"Shift+.", "last tile or step", ImGuiMod_Shift | ImGuiKey_Period, step_on_screen<max_n>, false, KeyScope::steps},
    Key{"Ctrl+,", "previous rescale of the row", ImGuiMod_Ctrl | ImGuiKey_Comma, to_event<TileEvent::rescale, -1>, true,
        KeyScope::explore},
    Key{"Ctrl+.", "next rescale of the row", ImGuiMod_Ctrl | ImGuiKey_Period, to_event<TileEvent::rescale, 1>, true,
        KeyScope::explore},
    Key{"Ctrl+Shift+,", "previous saturated tile", ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Comma,
        to_event<TileEvent::limit, -1>, true, KeyScope::explore},
    Key{"Ctrl+Shift+.", "next saturated tile", ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Period, to_event<TileEvent::limit, 1>,
        true, KeyScope::explore},
    Key{"J", "play or pause the tiles, or a lesson's stepper", ImGuiKey_J, play_on_screen, false, KeyScope::steps},
    Key{"Shift+J", "Learn: next playing speed", ImGuiMod_Shift | ImGuiKey_J, next_speed, false, KeyScope::learn},
    Key{"Page Down", "Learn: next step; presenting also →: the stepper's next step, else the next screen", ImGuiKey_PageDown,
        turn<1>, true, KeyScope::learn},
    Key{"Page Up", "Learn: previous step; presenting also ←, in the same way", ImGuiKey_PageUp, turn<-1>, true,
        KeyScope::learn},
    Key{"↓", "presenting: next screen, past the stepper's steps", ImGuiKey_DownArrow, turn<1, true>, true,
        KeyScope::presenting},
    Key{"↑", "presenting: previous screen, past the stepper's steps", ImGuiKey_UpArrow, turn<-1, true>, true,
        KeyScope::presenting},
    Key{"Space", "Learn: scroll, then the next step; presenting: text or view where each has its own screen, else on",
        ImGuiKey_Space, space<1>, true, KeyScope::learn},
    Key{"Shift+Space", "Learn: scroll back, then the previous step", ImGuiMod_Shift | ImGuiKey_Space, space<-1>, true,
        KeyScope::learn},
    Key{"Home", "presenting: first step of the lesson", ImGuiKey_Home, first_step, false, KeyScope::presenting},
    Key{"End", "presenting: last step of the lesson", ImGuiKey_End, last_step, false, KeyScope::presenting},
    Key{"B", "presenting: a black screen until the next key", ImGuiKey_B, black, false, KeyScope::presenting},
    Key{"hold L", "presenting: a light at the mouse"},
    Key{"F5", "Learn: one step at a time in large type; Esc leaves", ImGuiKey_F5, present, false, KeyScope::learn},
    Key{"K", "keep the experiment as a pin", ImGuiKey_K, keep},
    Key{"Shift+K", "list of pins", ImGuiMod_Shift | ImGuiKey_K,
        [](const Frame& t) { t.session.view.show_pins = !t.session.view.show_pins; }},
    Key{"R", "run, pause or resume the sweep; Model: run", ImGuiKey_R, sweep_on},
    Key{"Space", "Train: run, pause or resume", ImGuiKey_Space, train_on, false, KeyScope::train},
    Key{"N", "Train: take one step", ImGuiKey_N, train_one_step, true, KeyScope::train},
    Key{"Shift+R", "Train: start again from the first step", ImGuiMod_Shift | ImGuiKey_R, train_anew, false, KeyScope::train},
    Key{"Ctrl+P", "find any control or action by name; also Ctrl+Shift+P and /", ImGuiMod_Ctrl | ImGuiKey_P, open_palette},
    Key{"F12", "save the window as a picture", ImGuiKey_F12, save_window},
    Key{"T", "dark, light or high-contrast theme", ImGuiKey_T,
        [](const Frame& t) { t.session.view.theme = next(t.session.view.theme); }},
    Key{"+", "larger", ImGuiKey_Equal, [](const Frame& t) { scale_ui(t.session.view, 1); }, true},
    Key{"−", "smaller", ImGuiKey_Minus, [](const Frame& t) { scale_ui(t.session.view, -1); }, true},
    Key{"H", "this help", ImGuiKey_H, [](const Frame& t) { t.state.popups.help = !t.state.popups.help; }},
    Key{"Ctrl+Z", "undo", ImGuiMod_Ctrl | ImGuiKey_Z, [](const Frame& t) { t.state.history.undo(t.session); }, true},
    Key{"Ctrl+Shift+Z", "redo", ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z, redo, true},
    Key{"Ctrl+Y", "redo", ImGuiMod_Ctrl | ImGuiKey_Y, redo, true},
    Key{"Ctrl+S", "save the session", ImGuiMod_Ctrl | ImGuiKey_S, session_file<SessionRequest::Act::save>},
    Key{"Ctrl+Shift+S", "save the session under another name", ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_S,
        session_file<SessionRequest::Act::save_as>},
    Key{"Ctrl+O", "open a session", ImGuiMod_Ctrl | ImGuiKey_O, session_file<SessionRequest::Act::open>},
    Key{"Ctrl+N", "new session", ImGuiMod_Ctrl | ImGuiKey_N, session_file<SessionRequest::Act::fresh>},
    Key{"Ctrl+C", "copy the session as text", ImGuiMod_Ctrl | ImGuiKey_C,
        [](const Frame& t) { t.requests.clipboard.copy = true; }},
    Key{"Ctrl+V", "paste a session", ImGuiMod_Ctrl | ImGuiKey_V, paste},
    Key{"Tab, arrows", "move between controls; Space presses, Enter types"},
    Key{"F6", "next panel gets the keyboard", ImGuiKey_F6, [](const Frame&) { focus_panel(1); }, true},
    Key{"Shift+F6", "previous panel gets the keyboard", ImGuiMod_Shift | ImGuiKey_F6, [](const Frame&) { focus_panel(-1); },
        true},
    Key{"Ctrl+Q", "quit", ImGuiMod_Ctrl | ImGuiKey_Q, [](const Frame& t) { t.requests.quit = true; }},
    Key{"wheel", "zoom around the mouse; Shift: head dimension, Ctrl: rows"},
    Key{"drag", "move the picture; double click: all of it"},
    Key{"wheel, drag", "in plots: zoom, move; double click: all of it"},
    Key{"click", "pin a cell and trace its row"},
    Key{"Ctrl+click", "type a slider's value; so does a click on the number"},
};

constexpr int field_key_count = static_cast<int>(Field::a_storage);  // fields that only some results have: no key

/// Second keys for actions of the table; not in the help.
constexpr std::array aliases{
    Key{"Ctrl+Shift+P", "", ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P, open_palette},
    Key{"/", "", ImGuiKey_Slash, open_palette},
    Key{"→", "", ImGuiKey_RightArrow, turn<1>, true, KeyScope::presenting},
    Key{"←", "", ImGuiKey_LeftArrow, turn<-1>, true, KeyScope::presenting},
};

/// Modifiers held when the key went down, even if both happened within one frame.
int modifiers_of(ImGuiKey key) {
  const ImVector<ImGuiInputEvent>& events = ImGui::GetCurrentContext()->InputEventsTrail;
  const auto is_key = [&](int i, ImGuiKey wanted) {
    return events[i].Type == ImGuiInputEventType_Key && events[i].Key.Key == wanted;
  };
  int down = -1;
  for (int i = 0; i < events.Size; ++i)
    if (is_key(i, key) && events[i].Key.Down) down = i;
  int held = ImGui::GetIO().KeyMods;
  for (const ImGuiKey modifier : {ImGuiMod_Ctrl, ImGuiMod_Shift, ImGuiMod_Alt, ImGuiMod_Super})
    for (int i = events.Size - 1; i > down && down >= 0; --i)  // undo the events after the key
      if (is_key(i, modifier)) held = events[i].Key.Down ? held & ~modifier : held | modifier;
  return held;
}

bool pressed(const Key& key) {
  const auto plain = static_cast<ImGuiKey>(key.chord & ~ImGuiMod_Mask_);
  if (!ImGui::IsKeyPressed(plain, key.repeats)) return false;
  int held = modifiers_of(plain);
  if (plain == ImGuiKey_Equal) held &= ~ImGuiMod_Shift;  // + is Shift+= on many layouts
  return held == (key.chord & ImGuiMod_Mask_);
}

/// True if any key but a modifier was pressed in this frame.
bool any_key_pressed() {
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_GamepadStart; ++key) {
    const bool is_modifier = key >= ImGuiKey_LeftCtrl && key <= ImGuiKey_RightSuper;
    if (!is_modifier && ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false)) return true;
  }
  return false;
}

/// True if keys of this scope act in the workspace on show.
bool acts_on(const Session& session, KeyScope scope) {
  const Workspace shown = session.view.workspace;
  const bool explore = shown == Workspace::explore, learn = shown == Workspace::learn;
  const EnumArray<KeyScope, bool> acts{
      true, explore, shown == Workspace::train, learn, is_presenting(session), explore || learn};
  return acts[scope];
}

/// Columns of the help, and the widths of the keys and of the sentences in each.
struct HelpColumns {
  std::size_t count;
  float keys, what;
};
constexpr float between_columns = 32;

/// The columns that fit `room`; longer sentences are wrapped.
HelpColumns help_columns(float room) {
  constexpr float shortest_line = 280;
  float keys = 0, what = 0;
  for (const Key& key : table) {
    keys = std::max(keys, text_width(Face::mono, key.keys) + px(16));
    what = std::max(what, text_width(Face::label, key.what) + 1);
  }
  const std::size_t count = room < 2 * (keys + px(shortest_line)) + px(between_columns) ? 1 : 2;
  const float gaps = px(between_columns) * static_cast<float>(count - 1);
  return {count, keys, std::min(what, (room - gaps) / static_cast<float>(count) - keys)};
}

/// One column of the help: keys [from, to).
void help_column(const HelpColumns& columns, std::size_t from, std::size_t to) {
  ImGui::BeginGroup();
  const float left = ImGui::GetCursorPosX();
  for (std::size_t i = from; i < to; ++i) {
    label(Face::mono, colours().accent, table[i].keys);
    ImGui::SameLine();
    ImGui::SetCursorPosX(left + columns.keys);
    paragraph(Face::label, colours().text, table[i].what, columns.what);
  }
  ImGui::EndGroup();
}

/// The keys in columns that fit `room`.
void draw_keys(float room) {
  const HelpColumns columns = help_columns(room);
  const std::size_t rows = (table.size() + columns.count - 1) / columns.count;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(6)});
  help_column(columns, 0, rows);
  if (columns.count > 1) {
    ImGui::SameLine(0, px(between_columns));
    help_column(columns, rows, table.size());
  }
  ImGui::PopStyleVar();
}

}  // namespace

void scale_ui(View& view, int eighths) {
  view.ui_scale = std::clamp((std::round(view.ui_scale * 8) + eighths) / 8, min_ui_scale, max_ui_scale);
}

std::span<const Key> keys() { return table; }

void handle_keys(const Frame& target) {
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantTextInput || ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup)) return;
  if (is_presenting(target.session) && target.state.learn && any_key_pressed()) {
    target.state.learn->hides_mouse = true;
    if (std::exchange(target.state.learn->is_black, false)) return;
  }
  for (int i = 0; i < field_key_count && acts_on(target.session, KeyScope::explore); ++i) {
    const int key = i < 9 ? ImGuiKey_1 + i : ImGuiMod_Shift | (ImGuiKey_1 + i - 9);
    if (pressed({"", "", key})) target.session.view.field = static_cast<Field>(i);
  }
  for (const std::span<const Key> list : {std::span<const Key>(table), std::span<const Key>(aliases)})
    for (const Key& key : list)
      if (key.act != nullptr && acts_on(target.session, key.scope) && pressed(key)) key.act(target);
}

void draw_help(bool& open, View& view) {
  if (!open) return;
  const ImGuiViewport* const screen = ImGui::GetMainViewport();
  const ImVec2 most{0.96f * screen->Size.x, 0.94f * screen->Size.y};
  ImGui::SetNextWindowPos(screen->GetCenter(), ImGuiCond_Always, {0.5f, 0.5f});
  ImGui::SetNextWindowSizeConstraints({0, 0}, most);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(20), px(16)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::Begin("Help", &open,
               ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar(2);
  label(Face::headline, colours().text, "Keys");
  label(Face::label, colours().secondary, "Every control shows an explanation when the mouse rests on it.");
  ImGui::Dummy({0, px(4)});
  draw_keys(most.x - px(2 * 20) - ImGui::GetStyle().ScrollbarSize - px(2));
  ImGui::Dummy({0, px(4)});
  if (push_button("close")) open = false;
  ImGui::SameLine(0, px(16));
  toggle("reduced motion", view.reduced_motion, px(160));
  explain("Nothing moves by itself: the two fields of flicker change by key B, and the text cursor does not blink.");
  ImGui::End();
}

void draw_panel_focus() {
  const ImGuiWindow* const panel = ImGui::GetIO().NavVisible ? focused_panel() : nullptr;
  if (panel == nullptr) return;
  const ImRect at = panel->Rect();
  ImGui::GetForegroundDrawList()->AddRect({at.Min.x + 1, at.Min.y + 1}, {at.Max.x - 1, at.Max.y - 1}, colours().accent, 0,
                                          px(1.5f));
}

}  // namespace attoscope::ui
