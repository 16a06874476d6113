#include "ui/widgets/widgets.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "imgui_internal.h"

namespace attoscope::ui {

namespace {

struct FaceText {
  ImFont* font;
  float size;
};

float least_type = 0;  ///< least size of all faces, in pixels at scale 1

FaceText usual_face(Face face) {
  const Fonts& f = fonts();
  const EnumArray<Face, FaceText> faces{{{f.sans, size::body},
                                         {f.sans, size::label},
                                         {f.sans, 12},
                                         {f.semibold, size::section},
                                         {f.semibold, size::headline},
                                         {f.mono, size::mono},
                                         {f.mono, 14.5f},
                                         {f.mono, 11.5f}}};
  return faces[face];
}

FaceText face_text(Face face) {
  const FaceText usual = usual_face(face);
  return {usual.font, std::max(usual.size, least_type)};
}

int drawn_controls = 0;
bool shows_tooltips = true;

/// Edges of buttons side by side: equal widths, or, if a text would not fit, equal margins around the texts.
std::vector<float> edges_of(std::span<const Choice> choices, float width) {
  std::vector<float> texts, edges{0};
  for (const Choice& c : choices) texts.push_back(text_width(Face::label, c.label.substr(0, c.label.find("##"))));
  const float count = static_cast<float>(texts.size()), sum = std::accumulate(texts.begin(), texts.end(), 0.0f);
  const bool equal = std::ranges::all_of(texts, [&](float t) { return t + px(8) <= width / count; });
  for (const float t : texts) edges.push_back(edges.back() + (equal ? width / count : t + (width - sum) / count));
  return edges;
}

/// Position of `value` on a track, 0 .. 1.
float share_of(const Slider& spec, int value) {
  const double from = spec.from, to = spec.to, v = value;
  if (to <= from) return 1;
  const double t = spec.powers ? std::log2(std::max(1.0, v) / from) / std::log2(to / from) : (v - from) / (to - from);
  return static_cast<float>(std::clamp(t, 0.0, 1.0));
}

void draw_track(ImVec2 at, ImVec2 size, float share) {
  const float radius = px(6), x0 = at.x + radius, x1 = at.x + size.x - radius, x = x0 + (x1 - x0) * share,
              y = at.y + size.y / 2;
  const bool hot = ImGui::IsItemHovered() || ImGui::IsItemActive();
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto shade = [](Colour c) { return ImGui::GetColorU32(c); };
  list->AddRectFilled({x0, y - px(1.5f)}, {x1, y + px(1.5f)}, shade(colours().line), px(1.5f));
  list->AddRectFilled({x0, y - px(1.5f)}, {x, y + px(1.5f)}, shade(colours().accent), px(1.5f));
  list->AddCircleFilled({x, y}, hot ? radius * 1.12f : radius * 0.95f,
                        shade(hot ? colours().text : mixed(colours().text, colours().accent, 0.15f)));
}

/// A triangle or a chevron that points right (`way` 1) or left (-1), centred at `c`.
void draw_chevron(ImDrawList* list, ImVec2 c, float way, Colour colour) {
  const float half = px(4.5f);
  const ImVec2 points[3] = {
      {c.x - way * half / 2, c.y - half}, {c.x + way * half / 2, c.y}, {c.x - way * half / 2, c.y + half}};
  list->AddPolyline(points, 3, colour, 0, px(1.6f));
}

void draw_icon(TransportIcon icon, ImVec2 c, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = px(5);
  if (icon == TransportIcon::play) {
    list->AddTriangleFilled({c.x - half * 0.7f, c.y - half}, {c.x - half * 0.7f, c.y + half}, {c.x + half, c.y}, colour);
  } else if (icon == TransportIcon::pause) {
    for (const float x : {c.x - half * 0.8f, c.x + half * 0.2f})
      list->AddRectFilled({x, c.y - half}, {x + half * 0.6f, c.y + half}, colour);
  } else {
    const bool back = icon == TransportIcon::first || icon == TransportIcon::previous,
               end = icon == TransportIcon::first || icon == TransportIcon::last;
    const float way = back ? -1.0f : 1.0f;
    draw_chevron(list, {c.x - (end ? way * px(1.5f) : 0), c.y}, way, colour);
    if (end) list->AddLine({c.x + way * px(4), c.y - half}, {c.x + way * px(4), c.y + half}, colour, px(1.6f));
  }
}

}  // namespace

float px(float length) { return length * ImGui::GetStyle().FontScaleMain; }

WithFace::WithFace(Face face) {
  const FaceText f = face_text(face);
  ImGui::PushFont(f.font, f.size);
}
WithFace::~WithFace() { ImGui::PopFont(); }

WithId::WithId(const char* id) { ImGui::PushID(id); }
WithId::WithId(int id) { ImGui::PushID(id); }
WithId::~WithId() { ImGui::PopID(); }

WithSpacing::WithSpacing(ImVec2 spacing) { ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, spacing); }
WithSpacing::~WithSpacing() { ImGui::PopStyleVar(); }

float line_height(Face face) { return px(face_text(face).size); }

float text_width(Face face, std::string_view text) {
  const WithFace f(face);
  return ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
}

float draw_text(ImDrawList* list, ImVec2 at, Face face, Colour colour, std::string_view text, float align) {
  const WithFace f(face);
  const float width = ImGui::CalcTextSize(text.data(), text.data() + text.size()).x;
  list->AddText({std::floor(at.x - align * width), std::floor(at.y)}, ImGui::GetColorU32(colour), text.data(),
                text.data() + text.size());
  return width;
}

float draw_text(ImVec2 at, Face face, Colour colour, std::string_view text, float align) {
  return draw_text(ImGui::GetWindowDrawList(), at, face, colour, text, align);
}

float draw_in_line(ImVec2 at, float height, Face face, Colour colour, std::string_view text, float align) {
  return draw_text({at.x, at.y + (height - line_height(face)) / 2}, face, colour, text, align);
}

std::string fitted(Face face, std::string_view text, float width) {
  const std::string all(text);
  if (text_width(face, all) <= width) return all;
  const WithFace f(face);
  ImFont& font = *ImGui::GetFont();
  const float size = ImGui::GetFontSize(), dots = font.CalcTextSizeA(size, FLT_MAX, 0, "…").x;
  const char* end = nullptr;
  font.CalcTextSizeA(size, width - dots + 0.5f, 0, all.c_str(), nullptr, &end);  // a text as wide as the room fits
  return std::string(all.c_str(), end) + "…";
}

float draw_fitted(ImVec2 at, Face face, Colour colour, std::string_view text, float width, float align) {
  return draw_text(at, face, colour, fitted(face, text, width), align);
}

void take_room(ImVec2 from, ImVec2 size) {
  ImGui::SetCursorScreenPos(from);
  ImGui::Dummy(size);
}

void label(Face face, Colour colour, std::string_view text) {
  const WithFace f(face);
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopStyleColor();
}

void section(std::string_view title) {
  ImGui::Dummy({0, px(3)});
  label(Face::section, colours().faint, title);
}

Colour faded(Colour colour, float alpha) {
  const auto a = static_cast<Colour>(std::lround(static_cast<float>(colour >> 24) * alpha));
  return (colour & 0x00ffffffu) | (a << 24);
}

Colour mixed(Colour x, Colour y, float t) {
  Colour result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const auto from = static_cast<float>((x >> shift) & 255), to = static_cast<float>((y >> shift) & 255);
    result |= static_cast<Colour>(std::lround(from + (to - from) * t)) << shift;
  }
  return result;
}

WithWidth::WithWidth(float width) : right_(ImGui::GetCurrentWindow()->ContentRegionRect.Max.x) {
  ImGuiWindow& window = *ImGui::GetCurrentWindow();
  window.ContentRegionRect.Max.x = std::min(right_, window.DC.CursorPos.x + width);
}
WithWidth::~WithWidth() { ImGui::GetCurrentWindow()->ContentRegionRect.Max.x = right_; }

namespace {

/// The lines, of at most `width`, of a text in the current face.
std::vector<std::string_view> lines_of(std::string_view text, float width) {
  std::vector<std::string_view> lines;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    const char* newline = std::find(at, end, '\n');
    const char* stop = ImGui::GetFont()->CalcWordWrapPosition(ImGui::GetFontSize(), at, newline, width);
    if (stop <= at) stop = std::min(at + 1, end);
    lines.emplace_back(at, static_cast<std::size_t>(stop - at));
    at = stop;
    while (at < end && (*at == ' ' || (at == newline && *at == '\n'))) ++at;
  }
  return lines;
}

constexpr float leading = 4;  ///< between the lines of `draw_wrapped`

}  // namespace

void wrapped(Face face, std::string_view text, float width) {
  const WithFace f(face);
  for (const std::string_view line : lines_of(text, width)) ImGui::TextUnformatted(line.data(), line.data() + line.size());
}

void wrapped(Face face, Colour colour, std::string_view text, float width) {
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  wrapped(face, text, width);
  ImGui::PopStyleColor();
}

void paragraph(Face face, Colour colour, std::string_view text, float width) {
  ImGui::BeginGroup();
  wrapped(face, colour, text, width);
  ImGui::EndGroup();
}

float kept_height(float width, float height) {
  ImGuiStorage& kept = *ImGui::GetStateStorage();
  const ImGuiID of_width = ImGui::GetID("width of words"), of_height = ImGui::GetID("height of words");
  if (!ImGui::IsWindowAppearing() && kept.GetFloat(of_width) == width) height = std::max(height, kept.GetFloat(of_height));
  kept.SetFloat(of_width, width);
  kept.SetFloat(of_height, height);
  return height;
}

void draw_words(std::string_view headline, Colour colour, std::string_view sentence, Colour of_sentence) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const bool low = room.y < px(320),
             only_headline = low && of_sentence == colours().secondary && text_width(Face::headline, headline) > room.x;
  ImGui::BeginGroup();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(4)});
  if (only_headline) {
    wrapped(Face::headline, colour, fitted_lines(Face::headline, headline, room.x, 2), FLT_MAX);
  } else {
    wrapped(Face::headline, colour, low ? fitted(Face::headline, headline, room.x) : std::string(headline), room.x);
    wrapped(Face::label, of_sentence, low ? fitted(Face::label, sentence, room.x) : std::string(sentence), room.x);
  }
  ImGui::PopStyleVar();
  const float height = ImGui::GetItemRectMax().y - at.y, kept = kept_height(room.x, height);
  if (kept > height) {
    ImGui::SetCursorScreenPos(at);
    ImGui::Dummy({0, kept});
  }
  ImGui::EndGroup();
  explain(headline, sentence);
}

float wrapped_height(Face face, std::string_view text, float width) {
  const WithFace f(face);
  const auto lines = static_cast<float>(std::max<std::size_t>(1, lines_of(text, width).size()));
  return lines * line_height(face) + (lines - 1) * px(leading);
}

std::size_t lines_within(Face face, float height) {
  return static_cast<std::size_t>(std::max(1.0f, (height + px(leading) + 0.5f) / (line_height(face) + px(leading))));
}

std::string fitted_lines(Face face, std::string_view text, float width, std::size_t lines) {
  const WithFace f(face);
  std::string shown;
  for (const std::string_view line : lines_of(text, width)) {
    if (!shown.empty()) shown += "\n";
    if (--lines == 0) return shown + fitted(face, text.substr(static_cast<std::size_t>(line.data() - text.data())), width);
    shown += line;
  }
  return shown;
}

void draw_wrapped(ImVec2 at, Face face, Colour colour, std::string_view text, float width) {
  const WithFace f(face);
  for (const std::string_view line : lines_of(text, width)) {
    draw_text(at, face, colour, line);
    at.y += line_height(face) + px(leading);
  }
}

Colour ink_of_entry(bool chosen, Colour otherwise) { return chosen || ImGui::IsItemHovered() ? colours().text : otherwise; }

bool titled_entry(std::string_view name, std::string_view title, std::string_view sentence, bool chosen, float width,
                  std::string_view number) {
  const float pad = px(8), indent = number.empty() ? 0 : text_width(Face::body, "10  "), inner = width - 2 * pad - indent,
              header = wrapped_height(Face::body, title, inner) + px(4);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool pressed = ImGui::Selectable(("##" + std::string(name)).c_str(), chosen, 0,
                                         {width, header + wrapped_height(Face::small, sentence, inner) + 2 * pad});
  const float left = at.x + pad + indent, top = at.y + pad;
  draw_text({at.x + pad, top - px(2)}, Face::body, colours().text, number);
  draw_wrapped({left, top - px(2)}, Face::body, colours().text, title, inner);
  draw_wrapped({left, top + header}, Face::small, ink_of_entry(chosen, colours().secondary), sentence, inner);
  return pressed;
}

WithoutTooltips::WithoutTooltips(bool without) : before_(shows_tooltips) { shows_tooltips = shows_tooltips && !without; }
WithoutTooltips::~WithoutTooltips() { shows_tooltips = before_; }

WithLeastType::WithLeastType(float size) : before_(std::exchange(least_type, size)) {}
WithLeastType::~WithLeastType() { least_type = before_; }

WithScale::WithScale(float factor) : before_(ImGui::GetStyle().FontScaleMain) {
  ImGui::GetStyle().FontScaleMain *= factor;
  ImGui::PushFont(nullptr, 0);  // the current one, in its new size
}
WithScale::~WithScale() {
  ImGui::GetStyle().FontScaleMain = before_;
  ImGui::PopFont();
}

std::optional<GridPlace> taken_arrow() {
  const ImGuiContext& g = *ImGui::GetCurrentContext();
  const bool has_keyboard = g.NavCursorVisible && g.NavHighlightItemUnderNav && ImGui::IsItemFocused();
  if (!has_keyboard || !g.NavMoveSubmitted || (g.NavMoveFlags & ImGuiNavMoveFlags_IsTabbing) != 0) return {};
  constexpr std::array<GridPlace, ImGuiDir_COUNT> ways{{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
  const GridPlace way = g.NavMoveDir == ImGuiDir_None ? GridPlace{} : ways[static_cast<std::size_t>(g.NavMoveDir)];
  if (way == GridPlace{}) return {};
  ImGui::NavMoveRequestCancel();
  return way;
}

std::optional<GridPlace> keyed_place(int columns, int rows) {
  const ImGuiContext& g = *ImGui::GetCurrentContext();
  if (!g.NavCursorVisible || !g.NavHighlightItemUnderNav || !ImGui::IsItemFocused()) return {};
  int& kept = *ImGui::GetStateStorage()->GetIntRef(g.LastItemData.ID, 0);
  GridPlace at{std::min(kept % columns, columns - 1), std::min(kept / columns, rows - 1)};
  if (const auto way = taken_arrow())
    at = {std::clamp(at.column + way->column, 0, columns - 1), std::clamp(at.row + way->row, 0, rows - 1)};
  kept = at.row * columns + at.column;
  return at;
}

std::optional<GridPlace> pointed_place(ImVec2 at, ImVec2 cell, int columns, int rows) {
  if (const auto keyed = keyed_place(columns, rows)) return keyed;
  if (!ImGui::IsItemHovered()) return {};
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  return GridPlace{std::clamp(static_cast<int>((mouse.x - at.x) / cell.x), 0, columns - 1),
                   std::clamp(static_cast<int>((mouse.y - at.y) / cell.y), 0, rows - 1)};
}

void explain(std::string_view what, std::string_view formula) {
  if (!shows_tooltips) return;
  if (ImGui::IsAnyMouseDown()) return;  // a tooltip would cover the dragged item
  // While a text is typed, a tooltip opened by keyboard focus would cover the suggestions and the error.
  const ImGuiHoveredFlags asked_by = ImGui::IsItemActive() ? ImGuiHoveredFlags_NoNavOverride : ImGuiHoveredFlags_None;
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip | asked_by) || !ImGui::BeginTooltip()) return;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(5)});
  wrapped(Face::label, what, px(350));
  wrapped(Face::mono, colours().faint, formula, px(460));
  ImGui::PopStyleVar();
  ImGui::EndTooltip();
}

int controls_drawn() { return drawn_controls; }

bool push_button(const char* text, bool on, ImVec2 size, bool possible) {
  ++drawn_controls;
  const WithFace f(Face::label);
  const ImGuiStyle& style = ImGui::GetStyle();
  if (size.x == 0) size.x = ImGui::CalcTextSize(text, nullptr, true).x + px(20);
  if (size.y == 0) size.y = px(control_height);
  ImGui::PushStyleColor(ImGuiCol_Button, vec(on ? colours().accent : colours().raised));
  ImGui::PushStyleColor(ImGuiCol_ButtonHovered, vec(mixed(on ? colours().accent : colours().raised, colours().text, 0.12f)));
  ImGui::PushStyleColor(ImGuiCol_ButtonActive, vec(mixed(on ? colours().accent : colours().raised, colours().text, 0.2f)));
  ImGui::PushStyleColor(ImGuiCol_Text, vec(on ? colours().panel : colours().text));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      {0, std::min(style.FramePadding.y, std::max(0.0f, (size.y - ImGui::GetFontSize()) / 2))});
  const bool pressed = if_possible(possible, [&] { return ImGui::Button(text, size); });
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(4);
  return pressed;
}

constexpr float quiet_padding = 10;

float quiet_width(const char* text) {
  const WithFace f(Face::label);
  return ImGui::CalcTextSize(text, nullptr, true).x + 2 * px(quiet_padding);
}

bool quiet_button(const char* text, float width) {
  ++drawn_controls;
  const WithFace f(Face::label);
  ImGui::PushStyleColor(ImGuiCol_Button, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, colours().secondary);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {width == 0 ? px(quiet_padding) : 0, ImGui::GetStyle().FramePadding.y});
  const bool pressed = ImGui::Button(text, {width, px(26)});
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
  return pressed;
}

bool segmented(const char* id, std::span<const Choice> choices, int& chosen, const SegmentedLook& look) {
  const float width = look.width == 0 ? ImGui::GetContentRegionAvail().x : look.width;
  const ImVec2 from = ImGui::GetCursorScreenPos(), size{width, look.height == 0 ? px(control_height) : look.height};
  ImGui::GetWindowDrawList()->AddRectFilled(from, {from.x + size.x, from.y + size.y}, colours().raised, px(3));
  const WithId row(id);
  const WithSpacing spacing({0, ImGui::GetStyle().ItemSpacing.y});
  bool changed = false;
  const std::vector<float> shares = edges_of(choices, width);
  for (int i = 0; i < static_cast<int>(choices.size()); ++i) {
    const Choice& choice = choices[static_cast<std::size_t>(i)];
    if (i > 0) ImGui::SameLine();
    const float left = std::floor(shares[static_cast<std::size_t>(i)]),
                right = std::floor(shares[static_cast<std::size_t>(i) + 1]);
    const bool pressed =
        push_button(std::string(choice.label).c_str(), i == chosen, {right - left, size.y}, i != look.disabled);
    changed |= pressed && i != chosen;
    if (pressed) chosen = i;
    if (!choice.what.empty()) explain(choice.what);
  }
  return changed;
}

bool toggle(const char* text, bool& on, float width) {
  const ImVec2 size{width > 0 ? width : text_width(Face::label, text) + px(38), px(control_height)};
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool pressed = push_button((std::string("##") + text).c_str(), false, size);
  if (pressed) on = !on;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float side = px(13), y = at.y + (size.y - side) / 2, x = at.x + px(9);
  list->AddRect({x, y}, {x + side, y + side}, on ? colours().accent : colours().faint, px(2));
  if (on) {
    list->AddRectFilled({x, y}, {x + side, y + side}, colours().accent, px(2));
    const ImVec2 tick[3] = {
        {x + side * 0.22f, y + side * 0.52f}, {x + side * 0.42f, y + side * 0.74f}, {x + side * 0.8f, y + side * 0.28f}};
    list->AddPolyline(tick, 3, colours().panel, 0, px(1.6f));
  }
  draw_in_line({x + side + px(6), at.y}, size.y, Face::label, on ? colours().text : colours().secondary, text);
  return pressed;
}

bool track(const Slider& spec, int& value, ImVec2 size) {
  ++drawn_controls;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string id_text = std::string("##") + spec.name;
  const ImGuiID id = ImGui::GetID(id_text.c_str());
  bool typing = ImGui::TempInputIsActive(id);
  int shown = std::clamp(value, spec.least, spec.most);
  const WithFace f(Face::mono);
  for (const ImGuiCol c : {ImGuiCol_SliderGrab, ImGuiCol_SliderGrabActive}) ImGui::PushStyleColor(c, 0);
  for (const ImGuiCol c : {ImGuiCol_FrameBg, ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive})
    ImGui::PushStyleColor(c, typing ? colours().raised : 0);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {px(4), (size.y - ImGui::GetFontSize()) / 2});
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, typing ? ImGui::GetStyle().FrameBorderSize : 0.0f);
  ImGui::SetNextItemWidth(size.x);
  const bool changed =
      ImGui::SliderInt(id_text.c_str(), &shown, spec.from, spec.to, "", spec.powers ? ImGuiSliderFlags_Logarithmic : 0);
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor(5);
  typing |= ImGui::TempInputIsActive(id);
  if (changed && spec.powers && !typing && shown < spec.to) shown = 1 << std::lround(std::log2(std::max(1, shown)));
  shown = std::clamp(shown, spec.least, spec.most);
  if (!typing) draw_track(at, size, share_of(spec, shown));
  if (!changed || shown == value) return false;
  value = shown;
  return true;
}

bool slider(const Slider& spec, int& value) {
  const float height = px(22), width = ImGui::GetContentRegionAvail().x, name_width = px(90), value_width = px(62);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, height, Face::label, colours().secondary, spec.name);
  ImGui::SetCursorScreenPos({at.x + name_width, at.y});
  const bool changed = track(spec, value, {width - name_width - value_width - px(8), height});
  const bool enabled = (ImGui::GetItemFlags() & ImGuiItemFlags_Disabled) == 0;
  if (enabled && ImGui::IsWindowHovered() &&
      ImGui::IsMouseHoveringRect({at.x + width - value_width, at.y}, {at.x + width, at.y + height})) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_TextInput);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) ImGui::SetKeyboardFocusHere(-1);
  }
  draw_in_line({at.x + width, at.y}, height, Face::mono, colours().text, std::to_string(value), 1);
  return changed;
}

WithField::WithField(Face face, float height) : face_(face) {
  ++drawn_controls;
  const float padding = std::floor((px(height) - ImGui::GetFontSize()) / 2);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {px(8), padding});
}
WithField::~WithField() { ImGui::PopStyleVar(); }

bool begin_panel_popup(const char* id, ImGuiWindowFlags flags) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(16), px(12)});
  ImGui::PushStyleColor(ImGuiCol_PopupBg, colours().panel);
  const bool open = ImGui::BeginPopup(id, flags);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  return open;
}

void in_popup(const char* id, const std::function<void()>& draw) {
  ImGui::PushStyleColor(ImGuiCol_PopupBg, colours().panel);
  if (ImGui::BeginPopup(id)) {
    draw();
    ImGui::EndPopup();
  }
  ImGui::PopStyleColor();
}

bool begin_combo(const char* text, const std::string& preview, float width, std::optional<Colour> colour) {
  ImGui::SetNextItemWidth(width);
  if (colour) ImGui::PushStyleColor(ImGuiCol_Text, *colour);
  const bool open = ImGui::BeginCombo(text, preview.c_str(), ImGuiComboFlags_HeightLarge);
  if (colour) ImGui::PopStyleColor();
  if (open) return true;
  ImGuiContext& g = *ImGui::GetCurrentContext();
  IMGUI_TEST_ENGINE_ITEM_INFO(g.LastItemData.ID, text, g.LastItemData.StatusFlags);  // ImGui's combos do not report labels
  return false;
}

void draw_dashed(ImDrawList* list, ImVec2 from, ImVec2 to, Colour colour, float dash, float gap) {
  const float length = std::hypot(to.x - from.x, to.y - from.y);
  if (!(length > 0) || length > 20000) return;
  const ImVec2 u{(to.x - from.x) / length, (to.y - from.y) / length};
  for (float t = 0; t < length; t += dash + gap) {
    const float end = std::min(t + dash, length);
    list->AddLine({from.x + u.x * t, from.y + u.y * t}, {from.x + u.x * end, from.y + u.y * end}, colour, px(1.2f));
  }
}

float transport_width() { return px(26); }

bool transport_button(const char* id, TransportIcon icon, bool on) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{transport_width(), px(control_height)};
  const bool pressed = push_button(id, on, size);
  draw_icon(icon, {at.x + size.x / 2, at.y + size.y / 2}, on ? colours().panel : colours().text);
  return pressed;
}

bool mark_button(const char* id, bool forward, Colour mark) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{px(control_height), px(control_height)};
  const bool pressed = push_button(id, false, size);
  const float way = forward ? 1.0f : -1.0f;
  const ImVec2 c{at.x + size.x / 2, at.y + size.y / 2};
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_chevron(list, {c.x - way * px(4), c.y}, way, ImGui::GetColorU32(colours().text));
  list->AddCircleFilled({c.x + way * px(4), c.y}, px(3), ImGui::GetColorU32(mark));
  return pressed;
}

}  // namespace attoscope::ui
