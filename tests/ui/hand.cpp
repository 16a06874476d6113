#include "tests/ui/hand.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>
#include <vector>

#include "app/session/session.h"
#include "imgui_internal.h"
#include "imgui_te_context.h"
#include "imgui_te_engine.h"
#include "implot.h"
#include "implot_internal.h"
#include "tests/support/eventually.h"

namespace attoscope::testing {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::string difference(const Session& expected, const Session& found) {
  const auto x = lines_of(session_text(expected)), y = lines_of(session_text(found));
  std::string text;
  for (std::size_t i = 0; i < std::max(x.size(), y.size()); ++i) {
    const std::string from = i < x.size() ? x[i] : "", to = i < y.size() ? y[i] : "";
    if (from != to) text += "\n    expected" + from + "\n    found   " + to;
  }
  return text.empty() ? " (not in what is saved)" : text;
}

bool Hand::check(bool truth, const std::string& what, Where where) {
  ImGuiTestEngine_Check(where.file, where.function, where.line, ImGuiTestCheckFlags_SilentSuccess, truth, what.c_str());
  return truth;
}

bool Hand::well() const { return !context_.IsError(); }

void Hand::changes(const std::string& what, const std::function<void()>& act, const Change& mutate, Where where) {
  if (!mutate) {
    act();
    return settle(where);
  }
  if (!well()) return;
  Session expected = session();
  act();
  settle(where);
  mutate(expected);
  if (!(session() == expected)) check(false, what + difference(expected, session()), where);
}

void Hand::leaves(const std::string& what, const std::function<void()>& act, Where where) {
  changes(what, act, [](Session&) {}, where);
}

void Hand::each(const std::vector<Control>& all, const std::function<void(const std::function<void()>&)>& inside, Where where) {
  for (const Control& control : all) {
    const auto use = [&] {
      if (control.item) return choose(control.path, *control.item);
      control.text ? fill(control.path, *control.text) : click(control.path);
    };
    const std::string what = control.path + " " + control.text.value_or(control.item.value_or("clicked"));
    changes(what, [&] { inside ? inside(use) : use(); }, control.mutate, where);
  }
}

void Hand::frames(int count) { context_.Yield(count); }

void Hand::settle(Where where) {
  context_.Yield(2);
  const auto end = std::chrono::steady_clock::now() + patience;
  const auto answered = [&] {
    const PanelInput input = stage.panel_input();
    const bool reads = session().view.workspace == Workspace::model && input.model.progress.reads;
    return stage.told || !input.messages.error.empty() ||
           (!reads && !input.answer.computing && input.answer.result && input.answer.result->experiment == experiment());
  };
  while (well() && !answered()) {
    if (std::chrono::steady_clock::now() > end) {
      check(false, "there is no answer", where);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    context_.Yield();
  }
  context_.Yield(2);  // the answer may have arrived after the frame; one more frame draws it
}

bool Hand::await(const std::string& what, const std::function<bool()>& holds, Where where) {
  const bool held = check(eventually(holds, [&] { frames(1); }), what, where);
  frames(2);
  return held;
}

void Hand::open(Session opened, int count) {
  stage.open(std::move(opened));
  settle();
  if (count > 0) frames(count);
}

void Hand::resize(int width, int height, int count) {
  stage.resize(width, height);
  frames(count);
}

void Hand::drop(const std::vector<std::string>& files) {
  stage.explorer().open_dropped(session(), files);
  settle();
}

void Hand::open_files(const std::vector<std::string>& files) {
  app::open_files(files, stage.context());
  settle();
}

void Hand::expect_error(const std::string& words, Where where) {
  check(error().find(words) != std::string::npos, "'" + error() + "' instead of an error with '" + words + "'", where);
}

void Hand::expect_notice(const std::string& words, Where where) {
  check(error().empty() && notice().find(words) != std::string::npos,
        "'" + error() + notice() + "' instead of a notice with '" + words + "'", where);
}

void Hand::expect_text(const std::string& found, const std::string& expected, Where where) {
  check(found == expected, "'" + found + "' instead of '" + expected + "'", where);
}

const char* Hand::awaited_item(const std::string& path) {
  eventually([&] { return !well() || exists(path); }, [&] { frames(1); });
  return path.c_str();
}

void Hand::click(const std::string& path, int button) { context_.ItemClick(awaited_item(path), button); }

void Hand::click_at_rest(const std::string& path) {
  float last = 0;
  for (int still = 0, seen = 0; still < 20 && seen < 1000; ++seen) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    frames(1);
    const float now = place(path, 0).y;
    still = now == last ? still + 1 : 0;
    last = now;
  }
  click(path);
}

void Hand::choose(const std::string& list, const std::string& item, int button) {
  click(list, button);
  pick(item);
}

void Hand::pick(const std::string& item) {
  const std::string path = "//$FOCUSED/" + item;
  context_.ItemClick(awaited_item(path));
  context_.Yield();
}

bool Hand::exists(const std::string& path) { return context_.ItemExists(path.c_str()); }

bool Hand::has_popup() const { return ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup); }

bool Hand::has_tooltip() const {
  return std::ranges::any_of(ImGui::GetCurrentContext()->Windows, [](const ImGuiWindow* w) {
    return (w->Flags & ImGuiWindowFlags_Tooltip) != 0 && w->Active && !w->Hidden;
  });
}

bool Hand::disabled(const std::string& path) {
  return (context_.ItemInfo(awaited_item(path)).ItemFlags & ImGuiItemFlags_Disabled) != 0;
}

bool Hand::disabled(ImGuiID item) { return (context_.ItemInfo(item).ItemFlags & ImGuiItemFlags_Disabled) != 0; }

void Hand::key(int chord) {
  context_.KeyPress(chord);
  context_.Yield();
}

void Hand::type(const std::string& path, const std::string& text) {
  context_.ItemInput(awaited_item(path));
  context_.KeyCharsReplaceEnter(text.c_str());
  context_.Yield();
}

void Hand::fill(const std::string& path, const std::string& text) {
  context_.ItemClick(awaited_item(path));
  context_.KeyCharsReplaceEnter(text.c_str());
  context_.Yield();
}

void Hand::type_only(const std::string& text) {
  context_.KeyCharsReplace(text.c_str());
  context_.Yield();
}

void Hand::enter(const std::string& text) {
  context_.KeyCharsReplaceEnter(text.c_str());
  context_.Yield();
}

void Hand::ask(const std::string& query) {
  key(ImGuiMod_Ctrl | ImGuiKey_P);
  frames(2);
  enter(query);
  frames(2);
}

void Hand::close_popups() {
  for (int i = 0; i < 3 && has_popup(); ++i) key(ImGuiKey_Escape);
}

std::vector<std::pair<ImGuiID, std::string>> Hand::items(const std::string& window) {
  ImGuiTestItemList list;
  context_.GatherItems(&list, window.c_str());
  std::vector<std::pair<ImGuiID, std::string>> found;
  for (int i = 0; i < list.GetSize(); ++i)
    if (const ImGuiTestItemInfo& item = *list.GetByIndex(i);
        item.RectClipped.GetWidth() > 0 && item.RectClipped.GetHeight() > 0)
      found.emplace_back(item.ID, item.DebugLabel);
  return found;
}

ImGuiID Hand::id(const std::string& path) { return context_.ItemInfo(awaited_item(path)).ID; }

ImRect Hand::rect(ImGuiID item) { return context_.ItemInfo(item).RectFull; }

void Hand::hold_mouse(bool down, int button) {
  down ? context_.MouseDown(button) : context_.MouseUp(button);
  context_.Yield();
}

bool Hand::explained(ImGuiID item) {
  return tooltip_after([&] { context_.MouseMove(item, ImGuiTestOpFlags_NoFocusWindow); });
}

bool Hand::explained_at(ImVec2 place, bool held) {
  const bool shown = tooltip_after([&] {
    move(place);
    if (held) hold_mouse(true);
  });
  if (held) hold_mouse(false);
  return shown;
}

bool Hand::tooltip_after(const std::function<void()>& rest) {
  ImGuiStyle& style = ImGui::GetStyle();
  const ImGuiStyle before = style;
  style.HoverStationaryDelay = style.HoverDelayShort = 0;
  rest();
  context_.Yield(3);
  style = before;
  return has_tooltip();
}

ImVec2 Hand::place(const std::string& path, float x, float y) {
  const ImRect rect = context_.ItemInfo(awaited_item(path)).RectFull;
  return {rect.Min.x + x * rect.GetWidth(), rect.Min.y + y * rect.GetHeight()};
}

ImVec2 Hand::on_plot(const std::string& path, double x, float y) {
  ImPlotPlot* const plot = ImPlot::GetCurrentContext()->Plots.GetByKey(id(path));
  if (!check(plot != nullptr, path + " is a plot")) return {};
  return {plot->Axes[ImAxis_X1].PlotToPixels(x), plot->PlotRect.Min.y + y * plot->PlotRect.GetHeight()};
}

void Hand::move(ImVec2 to) {
  context_.MouseMoveToPos(to);
  context_.Yield();
}

void Hand::press(ImVec2 at, int clicks) {
  move(at);
  context_.MouseClickMulti(0, clicks);
  context_.Yield(2);
}

void Hand::drag(ImVec2 from, ImVec2 to) {
  move(from);
  context_.MouseDown();
  move({(from.x + to.x) / 2, (from.y + to.y) / 2});
  move(to);
  context_.MouseUp();
  context_.Yield(2);
}

void Hand::wheel(ImVec2 at, float by) {
  move(at);
  context_.MouseWheel({0, by});
  context_.Yield(2);
}

void Hand::click(const std::string& path, const Change& change, Where where) {
  changes(path + " clicked", [&] { click(path); }, change, where);
}

void Hand::choose(const std::string& list, const std::string& item, const Change& change, int button, Where where) {
  changes(list + " " + item, [&] { choose(list, item, button); }, change, where);
}

void Hand::key(int chord, const Change& change, Where where) {
  changes("key " + std::string(ImGui::GetKeyChordName(chord)), [&] { key(chord); }, change, where);
}

void Hand::type(const std::string& path, const std::string& text, const Change& change, Where where) {
  changes(path + " " + text, [&] { type(path, text); }, change, where);
}

void Hand::fill(const std::string& path, const std::string& text, const Change& change, Where where) {
  changes(path + " " + text, [&] { fill(path, text); }, change, where);
}

void Hand::ask(const std::string& query, const Change& change, Where where) {
  changes(query, [&] { ask(query); }, change, where);
}

void Hand::press(ImVec2 at, const Change& change, int clicks, Where where) {
  changes("press", [&] { press(at, clicks); }, change, where);
}

void Hand::drag(ImVec2 from, ImVec2 to, const Change& change, Where where) {
  changes("drag", [&] { drag(from, to); }, change, where);
}

void Hand::wheel(ImVec2 at, float by, const Change& change, Where where) {
  changes("wheel", [&] { wheel(at, by); }, change, where);
}

void Hand::hold_key(int key, bool down) { down ? context_.KeyDown(key) : context_.KeyUp(key); }

Picture Hand::picture() {
  context_.Yield(2);  // the test runs at the end of a frame; a theme needs one more
  stage.take_picture();
  while (!stage.picture()) context_.Yield();
  return *stage.picture();
}

std::function<void(const std::function<void()>&)> in_popup(Hand& hand, const std::string& button) {
  return [&hand, button](const std::function<void()>& act) {
    hand.click(button);
    act();
    hand.close_popups();
  };
}

std::string escaped(const std::string& label) {
  std::string part;
  for (const char c : label) part += c == '/' ? std::string("\\/") : std::string(1, c);
  return part;
}

}  // namespace attoscope::testing
