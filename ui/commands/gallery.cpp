#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "imgui.h"
#include "imgui_stdlib.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "ui/commands/bars.h"
#include "ui/commands/commands.h"
#include "ui/controls/controls.h"
#include "ui/picture/heatmap_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

using Kind = GalleryEntry::Kind;

constexpr float gallery_width = 1120, card_height = 156, picture_side = 3, card_width = 340, gap = 12;

constexpr std::array<Choice, 4> kinds{{
    {"all", "Experiments, kernels and policies."},
    {"experiments", "Shipped experiments that each show one effect."},
    {"kernels", "Whole kernels as they run on GPUs: a click makes one method a of the current experiment."},
    {"policies", "The steps that a rounds: a click changes method a of the current experiment."},
}};

/// `e` with a under a policy.
Experiment under_policy(Experiment e, const Policy& p) {
  const Experiment before = e;
  e.a = with_policy(e.a, p);
  return with_gradients_in_step(before, std::move(e));
}

GalleryEntry entry_of(Kind kind, std::string_view name, std::string_view title, std::string sentence, Experiment experiment) {
  const auto number = static_cast<std::size_t>(kind);
  return {kind,
          std::string(name),
          std::string(title),
          std::move(sentence),
          {fmt::format("{} {}", number, std::string(name)), std::move(experiment)}};
}

/// Score of an entry for a query; negative: no match. Scattered letters of a sentence do not match.
double fitness_of(const GalleryEntry& e, const std::string& query) {
  constexpr double least = 20;
  const double fit = fitness(query, {e.title + " " + e.name, e.sentence});
  const auto words = static_cast<double>(1 + std::ranges::count(query, ' '));
  return fit < least * words ? -1 : fit;
}

using Pictures = std::shared_ptr<const std::vector<GalleryPicture>>;

const GalleryPicture* picture_of(const Pictures& pictures, const GalleryEntry& entry) {
  if (!pictures) return nullptr;
  const auto found = std::ranges::find(*pictures, entry.question.key, &GalleryPicture::key);
  return found == pictures->end() ? nullptr : &*found;
}

/// Mean errors next to the picture, or the reason why there are none.
void draw_numbers(ImVec2 at, float width, const GalleryPicture* picture) {
  if (picture == nullptr) return (void)draw_text(at, Face::small, colours().faint, "computing");
  if (!picture->problem.empty()) return (void)draw_fitted(at, Face::small, colours().bad, picture->problem, width);
  const std::array<std::tuple<const char*, std::string, Colour>, 3> lines{
      {{"a / b", times(picture->a_mean / picture->b_mean), colours().text},
       {"a", scientific(picture->a_mean), colours().a},
       {"b", scientific(picture->b_mean), colours().b}}};
  float y = at.y;
  for (const auto& [name, text, colour] : lines) {
    draw_text({at.x, y}, Face::small, colours().faint, name);
    draw_text({at.x + width, y}, Face::mono_small, colour, text, 1);
    y += px(18);
  }
}

/// A sentence in at most `count` lines, the last one shortened.
void draw_sentence(ImVec2 at, float width, int count, std::string_view text) {
  const WithFace f(Face::small);
  for (int i = 0; i < count && !text.empty(); ++i, at.y += px(15)) {
    const char* const end = text.data() + text.size();
    const char* const stop =
        i + 1 == count ? end : ImGui::GetFont()->CalcWordWrapPosition(ImGui::GetFontSize(), text.data(), end, width);
    const auto length = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, stop - text.data()));
    draw_fitted(at, Face::small, colours().secondary, text.substr(0, length), width);
    text.remove_prefix(length);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
}

/// Title, picture, numbers, sentence; true if the card was clicked.
bool draw_card(const GalleryEntry& entry, const Pictures& pictures, ImVec2 size, const ThumbnailShades& shades) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = px(10), inner = size.x - 2 * pad, picture = px(pin_width * picture_side);
  const bool pressed = ImGui::InvisibleButton(("##card " + entry.name).c_str(), size, ImGuiButtonFlags_EnableNav);
  explain(entry.sentence, entry.kind == Kind::experiment ? "" : "on N(0, 1), N = 1024, d = 64, b is base_eager");
  if (!ImGui::IsItemVisible()) return pressed;
  const bool hot = ImGui::IsItemHovered();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + size.x, at.y + size.y},
                                            hot ? mixed(colours().raised, colours().text, 0.08f) : colours().raised, px(3));
  const std::string kind = entry.kind == Kind::experiment ? "" : entry.kind == Kind::kernel ? "kernel" : "policy";
  const float aside = kind.empty() ? 0 : text_width(Face::small, kind) + px(8);
  draw_fitted({at.x + pad, at.y + px(6)}, Face::label, colours().text, entry.title, inner - aside);
  draw_text({at.x + size.x - pad, at.y + px(7)}, Face::small, colours().faint, kind, 1);
  const GalleryPicture* const found = picture_of(pictures, entry);
  const ImVec2 image{at.x + pad, at.y + px(28)};
  draw_thumbnail(image, picture_side,
                 found != nullptr ? std::span<const std::int8_t>(found->thumbnail) : std::span<const std::int8_t>(), shades);
  draw_numbers({image.x + picture + px(12), image.y}, inner - picture - px(12), found);
  draw_sentence({at.x + pad, image.y + px(pin_height * picture_side + 8)}, inner, 3, entry.sentence);
  return pressed;
}

/// Search field and buttons of the kinds; true on Enter.
bool draw_search(GalleryState& state) {
  const float choice = px(360), room = ImGui::GetContentRegionAvail().x;
  bool entered = false;
  {
    const WithField f(Face::body, 28);
    ImGui::SetNextItemWidth(std::max(px(120), room - choice - px(gap)));
    if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
    entered = ImGui::InputTextWithHint("##gallery query", "an effect, a format, a kernel: “max”, “fp8”, “sage”", &state.query,
                                       ImGuiInputTextFlags_EnterReturnsTrue);
  }
  ImGui::SameLine(0, px(gap));
  segmented("gallery kind", kinds, state.kind, std::min(choice, ImGui::GetContentRegionAvail().x));
  return entered;
}

/// The cards in rows; returns the clicked one, or null.
const GalleryEntry* draw_cards(const std::vector<const GalleryEntry*>& shown, const PanelInput& input) {
  const ThumbnailShades shades = thumbnail_shades();
  const float room = ImGui::GetContentRegionAvail().x;
  const int across = std::max(1, static_cast<int>((room + px(gap)) / px(card_width + gap)));
  const ImVec2 size{std::floor((room - px(gap) * static_cast<float>(across - 1)) / static_cast<float>(across)),
                    px(card_height)};
  const GalleryEntry* chosen = nullptr;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(gap), px(gap)});
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (i % static_cast<std::size_t>(across) != 0) ImGui::SameLine();
    if (draw_card(*shown[i], input.side.gallery, size, shades)) chosen = shown[i];
  }
  ImGui::PopStyleVar();
  if (shown.empty()) label(Face::label, colours().secondary, "Nothing matches.");
  return chosen;
}

}  // namespace

std::vector<GalleryEntry> gallery_entries(const PanelInput& input) {
  std::vector<GalleryEntry> all;
  if (input.choices.probes)
    for (const ProbeEntry& p : *input.choices.probes)
      all.push_back(entry_of(Kind::experiment, p.name, p.title, p.sentence, p.experiment));
  for (const KernelPreset& k : kernel_presets())
    all.push_back(entry_of(Kind::kernel, k.name, k.name, fmt::format("{} {}", std::string(k.what), std::string(k.source)),
                           with_kernel(default_experiment(), k)));
  for (const Policy& p : policies())
    if (policy_name(p.precision, Algorithm::flash2) == p.name)
      all.push_back(entry_of(Kind::policy, p.name, p.name, std::string(p.what), under_policy(default_experiment(), p)));
  return all;
}

std::vector<const GalleryEntry*> found_entries(const GalleryState& state) {
  std::vector<std::pair<double, const GalleryEntry*>> ranked;
  for (const GalleryEntry& e : state.entries) {
    const double fit = state.query.empty() ? 0 : fitness_of(e, state.query);
    if (fit >= 0 && (state.kind == 0 || state.kind == static_cast<int>(e.kind) + 1)) ranked.emplace_back(fit, &e);
  }
  std::ranges::stable_sort(ranked, std::greater{}, &std::pair<double, const GalleryEntry*>::first);
  std::vector<const GalleryEntry*> shown;
  for (const auto& [fit, entry] : ranked) shown.push_back(entry);
  return shown;
}

void apply(const GalleryEntry& entry, const PanelInput& input, Session& session, UiState& state) {
  session.view.workspace = Workspace::explore;
  if (entry.kind == Kind::kernel) {
    session.experiment = with_kernel(session.experiment, kernel_preset(entry.name));
  } else if (entry.kind == Kind::policy) {
    session.experiment = under_policy(session.experiment, policy(entry.name));
  } else if (input.choices.probes) {
    const auto probe = std::ranges::find(*input.choices.probes, entry.name, &ProbeEntry::name);
    if (probe != input.choices.probes->end()) ask_probe(session, state, *probe);
  }
}

void draw_gallery(const Frame& frame) {
  GalleryState& state = frame.state.popups.gallery;
  if (std::exchange(state.asked, false)) {
    state = {};
    state.entries = gallery_entries(frame.input);
    ImGui::OpenPopup("gallery");
  }
  const ImGuiViewport* view = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({view->GetCenter().x, view->Pos.y + px(44)}, ImGuiCond_Always, {0.5f, 0});
  ImGui::SetNextWindowSize({std::min(px(gallery_width), view->Size.x - px(32)), view->Size.y - px(44 + 34)});
  if (!begin_panel_popup("gallery", ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoScrollbar)) return;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape)) ImGui::CloseCurrentPopup();
  frame.requests.side.gallery.emplace();
  for (const GalleryEntry& e : state.entries) frame.requests.side.gallery->push_back(e.question);
  const bool entered = draw_search(state);
  ImGui::Dummy({0, px(4)});
  const std::vector<const GalleryEntry*> shown = found_entries(state);
  const GalleryEntry* chosen = entered && !shown.empty() ? shown.front() : nullptr;
  if (ImGui::BeginChild("cards", {0, 0}, ImGuiChildFlags_NavFlattened))
    if (const GalleryEntry* const clicked = draw_cards(shown, frame.input)) chosen = clicked;
  ImGui::EndChild();
  if (chosen != nullptr) {
    apply(*chosen, frame.input, frame.session, frame.state);
    ImGui::CloseCurrentPopup();
  }
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
