#include "ui/learn/views/view_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <limits>
#include <stdexcept>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"
#include "kernels/questions/expression.h"
#include "ui/picture/picture_frame.h"
#include "ui/widgets/save_menu.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

bool is_on_page(const LessonScene& scene) { return scene.input.learn.page_part > 0; }

int shown_step(const LessonScene& scene, int at, int last) {
  if (is_on_page(scene) && written(scene.view, "at").empty()) at = last * scene.input.learn.page_part / page_parts;
  return std::clamp(at, 0, std::max(0, last));
}

void take_next_speed(Stepping& stepping) {
  constexpr std::array speeds{1, 2, 3, 5, 10, 20};
  const auto next = std::ranges::upper_bound(speeds, stepping.speed);
  stepping.speed = next == speeds.end() ? speeds.front() : *next;
}

int play_or_pause(LessonScene& scene, int at, int last) {
  Stepping& s = scene.stepping;
  const bool starts = s.playing != scene.view.index;
  s.playing = starts ? scene.view.index : -1;
  s.next = ImGui::GetTime() + 1.0 / s.speed;
  return starts && at == last ? 0 : at;
}

int stepped(LessonScene& scene, int at, int start, int last) {
  Stepping& s = scene.stepping;
  constexpr float enough = 200;  // height of a view on screen
  if (is_on_page(scene) || !ImGui::IsRectVisible({scene.width, enough})) return at;
  const bool is_first = !s.found, is_asked = is_first && s.view == scene.view.index;
  if (is_first && s.restarts) at = start;
  if (is_asked && s.toggles) at = play_or_pause(scene, at, last);
  if (is_asked && s.by != 0) {
    at = std::clamp(at + std::clamp(s.by, -last, last), 0, last);
    s.playing = -1;
  }
  if (s.playing == scene.view.index) {
    scene.requests.animate = true;
    if (const double now = ImGui::GetTime(); now >= s.next) {
      at = std::min(last, at + 1);
      s.next = std::max(s.next, now - 1.0 / s.speed) + 1.0 / s.speed;
    }
    if (at >= last) s.playing = -1;
  }
  if (is_first) {
    s.found = true;
    s.view = scene.view.index;
    s.at = at;
    s.start = start;
    s.last = last;
  }
  return at;
}

float flexible_height(LessonScene& scene, float wanted, float least) {
  if (scene.room <= 0) return wanted;
  ViewFit& fit = scene.state.fit;
  const float height = std::max(least, wanted + fit.stretch);
  fit.stretch = height - wanted;
  fit.flexes = true;
  fit.is_lowest = height <= least;
  return height;
}

void fit(ViewFit& fit, float taken) {
  const float excess = taken - fit.room;
  if (std::abs(excess) <= 1) return;
  if (fit.flexes && (excess < 0 || !fit.is_lowest))
    fit.stretch = std::min(fit.stretch - excess, fit.room);
  else if (excess > 0)
    fit.shrink = std::max(0.4f, fit.shrink * fit.room / taken);
}

std::string value_of(const LessonScene& scene, std::string_view key, std::string_view otherwise) {
  const auto& changes = scene.edits.changes;
  const auto changed = std::ranges::find(changes, key, &LessonParameter::key);
  if (changed != changes.end()) return changed->value;
  const std::string_view value = written(scene.view, key);
  return std::string(value.empty() ? otherwise : value);
}

int whole_of(const LessonScene& scene, std::string_view key, int otherwise, int least, int most, std::string& problem) {
  const std::string text = value_of(scene, key);
  if (text.empty()) return otherwise;
  if (const auto value = to_number<int>(text); value && *value >= least && *value <= most) return *value;
  problem = refusal(key, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return otherwise;
}

std::vector<std::string> list_of(const LessonScene& scene, std::string_view key, std::string_view otherwise) {
  return listed_words(value_of(scene, key, otherwise));
}

void change(LessonScene& scene, std::string_view key, std::string value) {
  auto& changes = scene.edits.changes;
  const auto changed = std::ranges::find(changes, key, &LessonParameter::key);
  const bool as_written = value == written(scene.view, key);
  if (changed == changes.end()) {
    if (!as_written && changes.size() < max_lesson_changes) changes.push_back({std::string(key), std::move(value)});
  } else if (as_written) {
    changes.erase(changed);
  } else {
    changes.erase(changed);  // the newest change is applied last
    changes.push_back({std::string(key), std::move(value)});
  }
}

std::string refusal(std::string_view key, std::string_view value, std::string_view expected) {
  return std::string(key) + " is '" + std::string(value) + "', expected " + std::string(expected);
}

LessonAnswerPtr ask(LessonScene& scene, const LessonQuestion& question) {
  scene.requests.lesson.push_back(question);
  std::optional<LessonAnswerPtr>& latest = scene.state.latest;
  if (LessonAnswerPtr answer = answer_of(scene.input.learn.answers.get(), question); answer || !latest)
    latest = std::move(answer);
  return *latest;
}

std::optional<double> real_of(std::string_view text) {
  static const std::array<std::string, 2> names{"inf", "nan"};
  constexpr std::array<double, 2> values{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view magnitude = text.substr(text.starts_with('-') ? 1 : 0);
  try {
    const bool is_power = magnitude.starts_with("2^");
    double x = evaluated(is_power ? magnitude.substr(2) : text, names, values);
    if (is_power) x = text == magnitude ? std::exp2(x) : -std::exp2(x);
    return std::isfinite(x) || std::ranges::find(names, magnitude) != names.end() ? std::optional(x) : std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

double real_of(const LessonScene& scene, std::string_view key, double otherwise, std::string& problem) {
  const std::string text = value_of(scene, key);
  if (text.empty()) return otherwise;
  const auto x = real_of(text);
  if (!x) problem = refusal(key, text, real_expected);
  return x.value_or(otherwise);
}

std::vector<double> reals_of(std::string_view key, const std::vector<std::string>& words, std::size_t most,
                             std::string& problem) {
  std::vector<double> numbers;
  for (const std::string& word : words) {
    const auto x = real_of(word);
    if (!x) problem = refusal(key, word, real_expected);
    numbers.push_back(x.value_or(0));
  }
  if (numbers.empty() || numbers.size() > most)
    problem = refusal(key, std::to_string(numbers.size()) + " numbers",
                      "1 to " + std::to_string(most) + ", with commas between them");
  return numbers;
}

std::vector<Format> formats_of(const LessonScene& scene, std::string_view otherwise, std::string& problem) {
  constexpr std::size_t most = 6;
  const std::string_view key = value_of(scene, "formats").empty() ? "format" : "formats";
  std::vector<Format> formats;
  for (const std::string& word : list_of(scene, key, otherwise)) {
    try {
      formats.push_back(parse_format(word));
    } catch (const std::exception& error) {
      problem = std::string(key) + ": " + error.what();
    }
  }
  if (problem.empty() && (formats.empty() || formats.size() > most))
    problem = refusal(key, value_of(scene, key), "one to six formats such as fp16, bf16, e4m3");
  return formats;
}

std::string unknown_word(std::string_view key, const std::vector<std::string>& words, std::span<const std::string_view> known) {
  for (const std::string& word : words)
    if (std::ranges::find(known, word) == known.end()) return refusal(key, word, listed(known));
  return {};
}

void choose(LessonScene& scene, const char* key, std::span<const Choice> choices, std::span<const std::string_view> values,
            std::string_view value, float width) {
  const auto found = std::ranges::find(values, value);
  int chosen = found == values.end() ? -1 : static_cast<int>(found - values.begin());
  if (segmented(key, choices, chosen, width)) change(scene, key, std::string(values[static_cast<std::size_t>(chosen)]));
}

void draw_speed(LessonScene& scene) {
  if (push_button(fmt::format("{}/s###speed", scene.stepping.speed).c_str(), false, {px(speed_width), px(control_height)}))
    take_next_speed(scene.stepping);
  explain("Playing speed in steps a second; a click takes the next of 1, 2, 3, 5, 10 and 20. Key Shift+J.");
  ImGui::SameLine();
}

std::optional<std::string> typed_value(LessonScene& scene, const std::string& key, std::string_view otherwise, float width,
                                       std::string_view what, std::string_view formula) {
  const WithField field(Face::mono);
  ImGui::SetNextItemWidth(width);
  std::string typed = value_of(scene, key, otherwise);
  const bool entered = ImGui::InputText(("##" + key).c_str(), &typed, ImGuiInputTextFlags_EnterReturnsTrue);
  explain(what, formula);
  if (!entered) return std::nullopt;
  scene.state.complaint.clear();
  return typed;
}

void draw_view_summary(LessonScene& scene, std::string_view text, Colour colour) {
  scene.state.summary = text;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float lines = scene.width < px(680) ? 2 : 1;
  ImGui::SetCursorScreenPos({at.x, at.y + px(3)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(3)});
  wrapped(Face::label, colour, fitted(Face::label, text, scene.width * (lines - (lines > 1 ? 0.15f : 0))), scene.width);
  ImGui::PopStyleVar();
  take_room(at, {scene.width, px(6) + px(18) * lines});
}

void draw_verdict(const Verdict& v, float width) {
  const Face face = text_width(Face::headline, v.headline) <= width ? Face::headline : Face::label;
  draw_fitted(ImGui::GetCursorScreenPos(), face, v.tone == Verdict::Tone::bad ? colours().bad : colours().text, v.headline,
              width);
  ImGui::Dummy({width, line_height(Face::headline)});
  label(Face::label, v.tone == Verdict::Tone::good ? colours().good : colours().secondary,
        fitted(Face::label, v.sentence, width));
}

void draw_instead(ImVec2 size, std::string_view sentence) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  Places room;
  room.min = at;
  room.max = {at.x + size.x, at.y + size.y};
  draw_instead(room, std::string(sentence));
  take_room(at, size);
}

bool card_button(const char* label, bool on, ImVec2 size) {
  Palette on_card = colours();
  on_card.raised = on_card.panel;
  const WithColours of_card(on_card);
  return push_button(label, on, size);
}

void draw_card(const LessonScene& scene, const std::function<void(float width)>& draw) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float padding = px(16);
  list->ChannelsSplit(2);
  list->ChannelsSetCurrent(1);
  ImGui::SetCursorScreenPos({at.x + padding, at.y + padding});
  ImGui::BeginGroup();
  draw(scene.width - 2 * padding);
  ImGui::EndGroup();
  const float bottom = ImGui::GetItemRectMax().y + padding;
  list->ChannelsSetCurrent(0);
  list->AddRectFilled(at, {at.x + scene.width, bottom}, colours().raised, px(4));
  list->ChannelsMerge();
  take_room(at, {scene.width, bottom - at.y});
}

std::shared_ptr<const Result> answered(LessonScene& scene, ImVec2 size) {
  const LessonAnswerPtr answer = ask(scene, {.experiment = scene.experiment});
  if (answer && answer->result) return answer->result;
  draw_instead(size, !answer ? "computing" : answer->problem.empty() ? "no answer" : answer->problem);
  return nullptr;
}

void dim_if_earlier(const LessonScene& scene, const Result& shown, ImVec2 from, ImVec2 to) {
  if (!(shown.experiment == scene.experiment))
    ImGui::GetWindowDrawList()->AddRectFilled(from, to, faded(colours().panel, 0.35f));
}

void offer_figure(LessonScene& scene, Plot plot, const std::string& name, ImVec2 from, ImVec2 to,
                  std::function<Session()> session) {
  if (is_on_page(scene) || scene.input.exporting) return;
  Exportable picture{plot, name, from, to, {}};
  picture.of = std::move(session);
  offer_export(picture, scene.window, scene.requests);
}

void offer_own_figure(LessonScene& scene, ImVec2 from, ImVec2 to) {
  const std::string kind(written(scene.view, "kind"));
  offer_figure(scene, Plot::lesson, kind, from, to, [&] {
    Session s;
    s.experiment = scene.experiment;
    LessonViewEdits keys{.lesson = kind, .view = 0, .changes = scene.edits.changes};
    for (const LessonParameter& p : scene.view.parameters)
      if (is_own_key(scene.view.kind, p.key) &&
          std::ranges::find(keys.changes, p.key, &LessonParameter::key) == keys.changes.end())
        keys.changes.push_back(p);
    s.lesson.views.push_back(std::move(keys));
    return s;
  });
}

}  // namespace attoscope::ui
