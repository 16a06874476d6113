#include <algorithm>
#include <cmath>

#include "imgui_internal.h"
#include "ui/learn/learn_state.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// The least page width (at scale 1) for a view beside the text, and the largest width of a single column.
constexpr float beside = 1000, widest = 960;
/// The preferred width of a view, and the least width of the text beside it.
constexpr float view_wants = 672, text_keeps = 380;
/// Margins above the page and around its columns, the latter smaller in narrow columns.
constexpr float top_margin = 16, margin = 32, narrow_margin = 24, narrow = 700;

/// The data that a block draws and changes.
struct Page {
  Session& session;
  const LessonPlace& place;
  const PanelInput& input;
  LearnState& state;
  Requests& requests;
  bool settles = false;  ///< a table of the column being drawn is in its first frames
};

/// A sentence about an error, drawn at its place.
void draw_problem(Page& page, const std::string& sentence) {
  page.state.problems.push_back(sentence);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Indent(px(12));
  wrapped(Face::label, colours().bad, sentence, ImGui::GetContentRegionAvail().x);
  ImGui::Unindent(px(12));
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + px(2), ImGui::GetCursorScreenPos().y - ImGui::GetStyle().ItemSpacing.y},
                                            colours().bad);
}

/// The colour of a measure: of its method, golden or rescales, else of text.
Colour colour_of(const std::string& measure) {
  if (measure.starts_with("a.")) return colours().a;
  if (measure.starts_with("b.")) return colours().b;
  if (measure.starts_with("golden")) return colours().golden;
  if (measure.find("rescales") != std::string::npos) return colours().moved;
  return colours().text;
}

/// Draws a live number; a click opens its setting.
void draw_number(Page& page, const LessonNumber& number) {
  if (!number.problem.empty()) {
    inline_button(number.written, colours().bad, number.problem, number.target);
    return;
  }
  page.requests.lesson.push_back(number.question);
  const LessonAnswerPtr answer = answer_of(page.input.learn.answers.get(), number.question);
  std::string text = number.written, what = "This number is being computed.";
  Colour colour = colours().faint;
  if (answer != nullptr && !answer->table.cells.empty()) {
    text = live_text(number.written, answer->number());
    colour = colour_of(number.question.measure);
    what = "Computed just now: " + answer->table.measure + ". The lesson was written with " + number.written + ".";
  }
  if (answer != nullptr && !answer->problem.empty()) {
    colour = colours().bad;
    what = answer->problem;
  }
  what += " A click opens its setting; Learn then stays at this step.";
  if (inline_button(text, colour, what, number.target)) page.requests.open_number = number.question;
}

/// Draws a block's text, or one paragraph of it.
void draw_text_block(Page& page, const LessonBlock& block, const std::string& markdown, int paragraph) {
  TextState& text = page.state.texts[{&block, paragraph}];
  const float width = ImGui::GetContentRegionAvail().x;
  if (text.width != width || text.scale != px(1)) {
    if (text.scale != px(1)) text.drawn = 0;
    text.width = width;
    text.scale = px(1);
    text.problems.clear();
    text.text = page.state.markdown.fitted(markdown, width, text.problems);
  }
  page.state.markdown.draw(text.text, [&](int index) {
    if (index < 0 || index >= static_cast<int>(block.numbers.size())) return;
    ImGui::PushID(index);
    draw_number(page, block.numbers[static_cast<std::size_t>(index)]);
    ImGui::PopID();
  });
  constexpr int settling = 3;  // frames until the columns have found their widths, and the page its scroll bar
  if (text.drawn < settling && markdown.find("\n|") != std::string::npos) {
    ++text.drawn;
    page.settles = true;
  }
  for (const std::string& problem : text.problems) draw_problem(page, problem);
  for (std::size_t i = 0; i < block.numbers.size(); ++i) {
    const LessonNumber& number = block.numbers[i];
    if (markdown.find("<num" + std::to_string(i) + "/>") == std::string::npos) continue;
    const LessonAnswerPtr answer = answer_of(page.input.learn.answers.get(), number.question);
    if (!number.problem.empty())
      draw_problem(page, number.problem);
    else if (answer != nullptr && !answer->problem.empty())
      draw_problem(page, number.target + ": " + answer->problem);
  }
}

/// The experiment of a view with the reader's changes, rebuilt when they changed. `state.problem`: the error of the first
/// invalid change.
const Experiment& experiment_of(const LessonView& view, const LessonViewEdits& edits, const PanelInput& input,
                                LessonViewState& state) {
  if (state.experiment && state.changes == edits.changes) return *state.experiment;
  state.experiment = view.experiment;
  state.changes = edits.changes;
  state.problem.clear();
  for (const LessonParameter& c : edits.changes) {
    if (is_own_key(view.kind, c.key) || !input.learn.vary) continue;
    const std::string problem = input.learn.vary(*state.experiment, c.key, c.value);
    if (state.problem.empty()) state.problem = problem;
  }
  return *state.experiment;
}

/// The entry of the reader's changes to a view; the end: there are none.
auto find_edits(LessonState& lesson, const std::string& name, int view) {
  return std::ranges::find_if(lesson.views, [&](const LessonViewEdits& s) { return s.lesson == name && s.view == view; });
}
/// Saves the changes; removes the entry if there are none.
void keep_edits(LessonState& lesson, LessonViewEdits edits) {
  const auto found = find_edits(lesson, edits.lesson, edits.view);
  if (found != lesson.views.end() && edits.changes.empty())
    lesson.views.erase(found);
  else if (found != lesson.views.end())
    *found = std::move(edits);
  else if (!edits.changes.empty() && lesson.views.size() < max_lesson_views)
    lesson.views.push_back(std::move(edits));
}

constexpr float question_scale = 1.07f;  ///< scale of presented questions: their text is as large as the page's

/// Draws a view; `room`: the height of a presented view, in pixels.
void draw_view_block(Page& page, const LessonView& view, float room) {
  if (!view.problem.empty()) return draw_problem(page, view.problem);
  LessonViewState& state = page.state.views[view.index];
  if (state.fit.room != room || state.fit.width != ImGui::GetContentRegionAvail().x || state.fit.scale != px(1))
    state.fit = {.width = ImGui::GetContentRegionAvail().x,
                 .room = room,
                 .scale = px(1),
                 .shrink = room > 0 && is_question(view.kind) ? question_scale : 1};
  const WithScale smaller(state.fit.shrink);
  const float top = ImGui::GetCursorScreenPos().y;
  const std::string& lesson = page.place.lesson->name;
  const auto kept = find_edits(page.session.lesson, lesson, view.index);
  LessonViewEdits edits = kept == page.session.lesson.views.end() ? LessonViewEdits{lesson, view.index, {}} : *kept;
  const Experiment& experiment = experiment_of(view, edits, page.input, state);
  LessonScene scene{.view = view,
                    .edits = edits,
                    .state = state,
                    .experiment = experiment,
                    .input = page.input,
                    .requests = page.requests,
                    .width = ImGui::GetContentRegionAvail().x,
                    .room = room,
                    .stepping = page.state.stepping,
                    .window = page.session.view};
  ImGui::PushID(view.index);
  const std::string problem = info(view.kind).draw(scene);
  ImGui::PopID();
  for (const std::string& sentence : {problem, state.problem})
    if (!sentence.empty()) draw_problem(page, std::string(name(view.kind)) + ": " + sentence);
  keep_edits(page.session.lesson, std::move(edits));
  if (room <= 0) return;
  ImGui::Dummy({0, 0});  // a view may end by setting the cursor
  fit(state.fit, ImGui::GetCurrentWindow()->DC.CursorMaxPos.y - top);
}

void draw_block(Page& page, const LessonBlock& block) {
  const WithId id(block.line);
  if (block.view.empty())
    draw_text_block(page, block, block.markdown, -1);
  else
    draw_view_block(page, block.view.front(), 0);
  ImGui::Dummy({0, px(8)});
}

/// True if the block belongs to the column of views: views but questions, which are part of the text.
bool is_in_side_column(const LessonBlock& block) {
  return !block.view.empty() && !is_question(block.view.front().kind) && block.view.front().problem.empty();
}

/// True if no displayed formula has to shrink by more than a fifth in a column of this width, and no table is in a narrow
/// column.
bool text_fits(Page& page, const std::vector<LessonBlock>& blocks, float width) {
  constexpr float table = 440;
  return std::ranges::all_of(blocks, [&](const LessonBlock& block) {
    if (width < px(table) && block.markdown.find("\n|") != std::string::npos) return false;
    TextState& text = page.state.texts[{&block, -1}];
    if (text.formula_scale != px(1)) {
      text.formula_scale = px(1);
      text.formula = page.state.markdown.widest_formula(block.markdown);
    }
    return 0.8f * text.formula <= width;
  });
}

void draw_title(const Page& page) {
  ImGui::PushFont(fonts().semibold, 24);
  ImGui::TextWrapped("%s", step_of(page.place).title.c_str());
  ImGui::PopFont();
  if (const std::string& needs = page.place.lesson->needs; page.place.step == 0 && !needs.empty())
    wrapped(Face::label, colours().secondary, needs, ImGui::GetContentRegionAvail().x);
  ImGui::Dummy({0, 0});
}

/// Draws a column of the page that scrolls by itself, with its margins. Returns the height in pixels that does not fit. A
/// column whose tables have not found their widths is not shown: the tables are too high and push the text below them.
template <class Draw>
float draw_column(Page& page, PageColumn column, float x, ImVec2 size, const Draw& draw, float above = top_margin) {
  float& scrolled = page.state.scrolled[static_cast<std::size_t>(column)];
  const float around = px(size.x < px(narrow) ? narrow_margin : margin),
              inner =
                  2 * std::floor(std::min(size.x - 2 * around, px(widest)) / 2);  // even: centred items begin at whole pixels
  ImGui::SetCursorPosX(x);
  if (page.state.was_kept)
    ImGui::SetNextWindowScroll({-1, scrolled});  // an exported frame shows the whole page, so it does not scroll
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {std::floor((size.x - inner) / 2), px(above)});
  // a scroll bar would change the width to which a presented view is fitted, and pictures of pages have no bar
  const bool has_bar = !page.input.exporting && !is_presenting(page.session);
  const ImGuiWindowFlags bar = has_bar ? ImGuiWindowFlags_None : ImGuiWindowFlags_NoScrollbar;
  const char* const name = column == PageColumn::text ? "text" : "views";
  const bool is_visible =
      ImGui::BeginChild(name, size, ImGuiChildFlags_AlwaysUseWindowPadding | ImGuiChildFlags_NavFlattened, bar);
  ImGui::PopStyleVar();  // tooltips and lists keep their own
  page.settles = false;
  if (is_visible) draw();
  if (page.settles && !page.input.exporting) {
    const ImRect& whole = ImGui::GetCurrentWindow()->InnerRect;
    ImGui::GetWindowDrawList()->AddRectFilled(whole.Min, whole.Max, colours().panel);
    for (ImGuiWindow* const child : ImGui::GetCurrentWindow()->DC.ChildWindows) child->Hidden = true;  // until it begins again
  }
  if (!page.input.exporting) scrolled = ImGui::GetScrollY();
  const float beyond = ImGui::GetScrollMaxY();
  const bool ends = page.state.scrolls > 0 ? ImGui::GetScrollY() >= beyond : ImGui::GetScrollY() <= 0;
  if (page.state.scrolls != 0 && !ends) {
    constexpr float part = 0.85f;  // share of the visible height
    ImGui::SetScrollY(ImGui::GetScrollY() + static_cast<float>(page.state.scrolls) * part * size.y);
    page.state.scrolls_on = true;
  }
  ImGui::EndChild();
  return beyond;
}

// --- presented ----------------------------------------------------------------------------------------------------------

constexpr float presented_margin = 10;    ///< above and below
constexpr float beside_presented = 768;   ///< width of a view beside a presented text
constexpr float presented_beside = 1200;  ///< least page width, at scale 1, for a view beside a presented text

/// Draws an item; returns its height.
float draw_item(Page& page, ScreenItem& item, float room) {
  const float top = ImGui::GetCursorPosY();
  if (item.block == nullptr) {
    draw_title(page);
  } else {
    const WithId line(item.block->line), index(item.index);
    if (item.paragraph.empty()) {
      draw_view_block(page, item.block->view.front(), room);
    } else {
      const WithScale smaller(item.shrink);
      draw_text_block(page, *item.block, item.paragraph, item.index);
    }
    if (!item.alone) ImGui::Dummy({0, px(4)});
  }
  return ImGui::GetCursorPosY() - top;
}

/// True for a table. A table is far too high in its first frames, until its columns have found their widths.
bool is_table(const ScreenItem& item) { return item.paragraph.starts_with('|'); }
/// Height of a table with one line per row.
float rows_height(const ScreenItem& item) {
  constexpr float row = 30;
  return px(row) * static_cast<float>(std::ranges::count(item.paragraph, '\n'));
}

/// Measures, out of sight, the items that were never drawn.
void measure(Page& page, PresentedStep& step, float height) {
  const ImVec2 at = ImGui::GetCursorPos();
  const auto is_unknown = [](const ScreenItem& item) { return item.height < 0; };
  if (std::ranges::none_of(step.items, is_unknown)) return;
  const ImVec2 size{ImGui::GetContentRegionAvail().x, 1};
  if (ImGui::BeginChild("measured", size, 0, ImGuiWindowFlags_NoInputs | ImGuiWindowFlags_NoScrollbar))
    for (ScreenItem& item : step.items)
      if (is_unknown(item)) item.height = item.alone ? 0 : is_table(item) ? rows_height(item) : draw_item(page, item, height);
  ImGui::EndChild();
  ImGui::SetCursorPos(at);
}

/// The step on screen with its items, measured for this width.
PresentedStep& presented(Page& page, bool is_split, float width) {
  PresentedStep& p = page.state.presented;
  const LessonStep& step = step_of(page.place);
  if (p.of != &step) p.screen = p.from_end ? 1 << 20 : 0;
  if (p.of != &step || p.is_split != is_split || p.width != width || p.scale != px(1)) {
    p.of = &step;
    p.is_split = is_split;
    p.width = width;
    p.scale = px(1);
    p.items = screen_items(step, is_split);
  }
  p.from_end = false;
  return p;
}

/// Draws the items of the shown screen.
void draw_items(Page& page, bool is_split, float height) {
  PresentedStep& p = presented(page, is_split, ImGui::GetContentRegionAvail().x);
  measure(page, p, height);
  std::vector<std::size_t> starts = p.starts = screen_starts(p.items, height);
  p.screens = static_cast<int>(starts.size());
  p.screen = std::clamp(p.screen, 0, p.screens - 1);
  p.shows_view = !is_split || p.screen + 1 == p.screens;
  starts.push_back(p.items.size());
  float left = height;
  for (std::size_t i = starts[static_cast<std::size_t>(p.screen)]; i < starts[static_cast<std::size_t>(p.screen) + 1]; ++i) {
    ScreenItem& item = p.items[i];
    const float took = draw_item(page, item, left);
    if (!item.alone) item.height = is_table(item) ? std::min(took, rows_height(item)) : took;
    const float room = is_table(item) ? left : height;  // a table stays with the sentence that leads to it
    // smaller type wraps fewer cells of a table: shrinking it in small steps leaves it as large as it can be
    const float by = is_table(item) ? std::min(0.97f, std::sqrt(room / took)) : room / took;
    if (!item.alone && !page.settles && took > room + 1) item.shrink = std::max(0.4f, item.shrink * by);
    left -= took;
  }
}

/// Draws a presented step: its text screen by screen, beside its views or before them.
float draw_presented(Page& page, ImVec2 size) {
  const std::vector<LessonBlock>& blocks = step_of(page.place).blocks;
  const bool is_split = size.x >= px(presented_beside) && std::ranges::any_of(blocks, is_in_side_column);
  const float x = ImGui::GetCursorPosX(), y = ImGui::GetCursorPosY(),
              text = is_split ? std::floor(std::max(px(text_keeps), size.x - px(beside_presented))) : size.x,
              height = size.y - 2 * px(presented_margin) - 1;
  const float beyond =
      draw_column(page, PageColumn::text, x, {text, size.y}, [&] { draw_items(page, is_split, height); }, presented_margin);
  if (!is_split) return beyond;
  const auto views = static_cast<float>(std::ranges::count_if(blocks, is_in_side_column));
  const auto draw_views = [&] {
    for (const LessonBlock& block : blocks)
      if (is_in_side_column(block)) draw_view_block(page, block.view.front(), height / views - px(4));
  };
  ImGui::SetCursorPosY(y);
  return std::max(beyond,
                  draw_column(page, PageColumn::views, x + text, {size.x - text, size.y}, draw_views, presented_margin));
}

}  // namespace

float draw_page(Session& session, const LessonPlace& place, const PanelInput& input, LearnState& state, Requests& requests,
                ImVec2 size) {
  Page page{.session = session, .place = place, .input = input, .state = state, .requests = requests};
  state.problems.clear();
  if (is_presenting(session) && input.learn.page_part == 0) return draw_presented(page, size);
  const std::vector<LessonBlock>& blocks = step_of(place).blocks;
  const float column = std::floor(std::min(size.x * 0.4f, std::max(px(text_keeps), size.x - px(view_wants))));
  const bool split = size.x >= px(beside) && std::ranges::any_of(blocks, is_in_side_column) &&
                     text_fits(page, blocks, column - 2 * px(narrow_margin));
  const float text_width = split ? column : size.x;
  const float x = ImGui::GetCursorPosX(), y = ImGui::GetCursorPosY();
  const WithId id(place.step);
  float beyond = draw_column(page, PageColumn::text, x, {text_width, size.y}, [&] {
    draw_title(page);
    for (const LessonBlock& block : blocks)
      if (!split || !is_in_side_column(block)) draw_block(page, block);
  });
  if (split) {
    const ImVec2 top = ImGui::GetWindowPos();
    const float line = top.x + x + text_width;
    ImGui::GetWindowDrawList()->AddLine({line, top.y + y}, {line, top.y + y + size.y}, colours().line);
    ImGui::SetCursorPosY(y);
    const float views_beyond = draw_column(page, PageColumn::views, x + text_width, {size.x - text_width, size.y}, [&] {
      for (const LessonBlock& block : blocks)
        if (is_in_side_column(block)) draw_block(page, block);
    });
    beyond = std::max(beyond, views_beyond);
  }
  state.was_kept = input.exporting;
  return beyond;
}

}  // namespace attoscope::ui
