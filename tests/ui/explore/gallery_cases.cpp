// The gallery: its cards, ways to open it, changes by a click, and pictures computed in the background.
#include <algorithm>
#include <string>

#include "imgui_internal.h"
#include "kernels/compute.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/rules.h"
#include "tests/ui/cases.h"
#include "ui/commands/bars.h"
#include "ui/frame/entries.h"
#include "ui/picture/heatmap_view.h"

namespace attoscope::testing {
namespace {

void open_gallery(Hand& hand) {
  hand.key(ImGuiMod_Shift | ImGuiKey_G);
  hand.frames(3);
}

/// Path of a card of the open gallery.
std::string card(const std::string& name) {
  return std::string("//") + ImGui::GetCurrentContext()->NavWindow->RootWindow->Name + "/**/##card " + name;
}

bool is_open(Hand& hand) { return hand.exists("//$FOCUSED/##gallery query"); }

/// The picture of a card; null: none yet.
const GalleryPicture* picture_of(const std::vector<GalleryPicture>& all, const std::string& key) {
  const auto found = std::ranges::find(all, key, &GalleryPicture::key);
  return found == all.end() ? nullptr : &*found;
}

/// The gallery opens by its key, the list of presets and the palette; Esc closes it.
CASE(gallery, gallery_opened) {
  const auto by_list = [&] {
    hand.click(top_bar + "###presets");
    hand.frames(2);
    hand.click("//$FOCUSED/###gallery");
    hand.frames(3);
  };
  for (const auto& [how, open] : {std::pair<const char*, std::function<void()>>{"its key", [&] { open_gallery(hand); }},
                                  {"the list of presets", by_list},
                                  {"the palette", [&] { hand.ask("gallery"), hand.frames(1); }}}) {
    hand.leaves(how, open);
    hand.check(is_open(hand), std::string(how) + " opens the gallery");
    hand.leaves("Esc", [&] { hand.key(ImGuiKey_Escape); });
    hand.frames(2);
    hand.check(!is_open(hand) && !hand.has_popup(), "Esc closes the gallery");
  }
}

/// The gallery has every shipped example, with its sentence.
CASE(gallery, gallery_complete) {
  const PanelInput input = hand.stage.panel_input();
  const std::vector<GalleryEntry> entries = gallery_entries(input);
  const auto has = [&](GalleryEntry::Kind kind, std::string_view name) {
    return std::ranges::any_of(
        entries, [&](const GalleryEntry& e) { return e.kind == kind && e.name == name && e.sentence.size() > 10; });
  };
  for (const ProbeEntry& p : *input.choices.probes) hand.check(has(GalleryEntry::Kind::experiment, p.name), p.name);
  for (const KernelPreset& k : kernel_presets()) hand.check(has(GalleryEntry::Kind::kernel, k.name), std::string(k.name));
  for (const char* p : {"hw", "tile", "eager", "all_tile", "all_direct"}) hand.check(has(GalleryEntry::Kind::policy, p), p);
  for (const GalleryEntry& x : entries)
    hand.check(std::ranges::count(entries, x.question.key, [](const GalleryEntry& e) { return e.question.key; }) == 1, x.name);
}

CASE(gallery, gallery_searched) {
  GalleryState state;
  state.entries = gallery_entries(hand.stage.panel_input());
  const auto first = [&](const std::string& query) {
    state.query = query;
    const std::vector<const GalleryEntry*> found = found_entries(state);
    return found.empty() ? std::string() : found.front()->name;
  };
  hand.check(found_entries(state).size() == state.entries.size(), "all cards without a query");
  hand.expect_text(first("tied maxima"), "tied_maxima");
  hand.expect_text(first("stale max"), "fp8_stale_max");
  hand.expect_text(first("sage2"), "sage2");
  hand.check(first("zzqqxx").empty() && first("tied zzqqxx").empty(), "an unknown text finds nothing");
}

/// A click opens the experiment, or changes method a; undo reverts it.
CASE(gallery, gallery_applied) {
  const auto choose = [&](const std::string& query, const std::string& name) {
    open_gallery(hand);
    hand.type_only(query);
    hand.frames(2);
    hand.click(card(name));
    hand.frames(2);
    hand.check(!is_open(hand), "the gallery closes");
  };
  const Session before = hand.session();
  const std::vector<ProbeEntry>& probes = *hand.stage.panel_input().choices.probes;
  const ProbeEntry& probe = *std::ranges::find(probes, "masked_tiles", &ProbeEntry::name);
  hand.show(&View::zoom, {2, 2, 8, 8});
  hand.changes(
      "an experiment", [&] { choose("masked", "masked_tiles"); },
      [&](Session& s) { s.experiment = probe.experiment, s.view.zoom = {}; });
  hand.key(undo_key, [&](Session& s) { s.experiment = before.experiment, s.view.zoom = {2, 2, 8, 8}; });
  hand.changes(
      "a policy", [&] { choose("eager", "eager"); }, [](Session& s) { s.experiment.a.precision = policy("eager").precision; });
  hand.experiment().a = policy("base_eager").method();
  hand.settle();
  hand.changes(
      "a policy of the other family", [&] { choose("all_tile", "all_tile"); },
      [](Session& s) { s.experiment.a = with_policy(s.experiment.a, policy("all_tile")); });
  hand.check(hand.experiment().a.algorithm == Algorithm::flash2, "a becomes an algorithm that the policy fits");
  hand.show(&View::workspace, Workspace::sweep);
  hand.changes(
      "a kernel, by Enter",
      [&] {
        open_gallery(hand);
        hand.enter("fa3_fp8");
        hand.frames(2);
      },
      [&](Session& s) {
        s.view.workspace = Workspace::explore;
        s.experiment = with_kernel(s.experiment, kernel_preset("fa3_fp8"));
      });
}

/// Pictures are computed while the window runs, show their own experiments, and are kept.
CASE(gallery, gallery_pictures) {
  open_gallery(hand);
  const std::size_t all = gallery_entries(hand.stage.panel_input()).size();
  const auto known = [&] {
    const auto& found = hand.stage.panel_input().side.gallery;
    return found ? found->size() : 0;
  };
  if (!hand.await("every picture is there", [&] { return known() == all && !hand.stage.panel_input().answering.gallery; }))
    return;
  const auto found = hand.stage.panel_input().side.gallery;
  for (const GalleryPicture& p : *found)
    hand.check(p.problem.empty() && p.thumbnail.size() == pin_width * pin_height, p.key + ": " + p.problem);
  Experiment e = default_experiment();
  e.a.precision = policy("tile").precision;
  e.problem.rows = 128;
  const Result r = compute(e);
  const GalleryPicture* const tile = picture_of(*found, "2 tile");
  hand.check(tile != nullptr && tile->thumbnail == thumbnail_of(r) && tile->a_mean == r.a_error.mean_abs, "its own picture");
  hand.key(ImGuiKey_Escape);
  hand.frames(3);
  open_gallery(hand);
  hand.check(hand.stage.panel_input().side.gallery == found, "the pictures are kept");
  hand.key(ImGuiKey_Escape);
}

}  // namespace

}  // namespace attoscope::testing
