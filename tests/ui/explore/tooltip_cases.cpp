// Every control has a tooltip: the mouse rests on each in turn.
#include <array>
#include <functional>

#include "app/files/paths.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

/// Every item of a window opens a tooltip; an item without a name, as the canvas of a plot, lies below one with a tooltip.
void all_explained(Hand& hand, const std::string& window, int least) {
  int count = 0;
  for (const auto& [id, label] : hand.items(window)) {
    if (label.empty() || label.starts_with("#SCROLL") || label.starts_with("#RESIZE")) continue;
    ++count;
    hand.check(hand.explained(id), "'" + label + "' in " + window + " says nothing");
  }
  hand.check(count >= least, window + " has " + std::to_string(count) + " items, expected " + std::to_string(least));
}

void panel(Hand& hand) {
  hand.stage.resize(1600, 1200);
  hand.frames(3);
  all_explained(hand, "//Controls", 80);
}

void in_popup(Hand& hand, const std::function<void()>& open, int least) {
  open();
  hand.frames(2);
  all_explained(hand, "//$FOCUSED", least);
  hand.key(ImGuiKey_Escape);
}

void popups(Hand& hand) {
  hand.stage.resize(1600, 1200);
  hand.frames(3);
  const auto click = [&](const std::string& path, int button = 0) {
    return [&hand, path, button] { hand.click(controls + path, button); };
  };
  in_popup(hand, click("##input"), 10);
  in_popup(hand, click("###open file"), 2);
  in_popup(hand, click("##rows"), 2);
  in_popup(hand, click("##device"), 2);
  in_popup(hand, click("###tiles for M"), 8);
  in_popup(hand, click("mask/###more"), 3);
  for (const char* column : {"a/", "b/"}) {
    in_popup(hand, click(std::string(column) + "##algorithm"), 8);
    in_popup(hand, click(std::string(column) + "##preset"), 5);
    in_popup(hand, click(std::string(column) + "##sums"), 20);
    in_popup(hand, click(std::string(column) + "##scales"), 12);
    in_popup(hand, click(std::string(column) + "###options"), 8);
    in_popup(hand, click(std::string(column) + "S", 1), 11);
  }
}

void traffic(Hand& hand) {
  hand.stage.resize(1600, 1000);
  Session session = small_session();
  session.view.detail = Detail::traffic;
  hand.open(session);
  all_explained(hand, "//Statistics", 6);
}

void kv_table(Hand& hand) {
  hand.stage.resize(1600, 1000);
  Session session = all_heads(128);
  session.view.heads_show = HeadsShow::kv_cache;
  hand.open(session);
  for (int i = 0; i < 20000 && !hand.exists(heatmap + "**/##kv head 0"); ++i) hand.frames(1);
  for (const char* item : {"heads show/outputs", "heads show/KV cache", "**/###bf16", "**/###nvfp4", "**/##kv head 3"})
    hand.check(hand.explained(hand.id(heatmap + item)), std::string(item) + " says nothing");
}

void sweep(Hand& hand) {
  hand.stage.resize(1600, 1200);
  Session session = small_session();
  session.view.workspace = Workspace::sweep;
  session.sweep.second = {"format", "bf16,fp16"};
  hand.open(session);
  hand.frames(10);
  all_explained(hand, "//Sweep plan", 30);
  all_explained(hand, "//Sweep picture", 3);
}

void details(Hand& hand) {
  Session session = small_session();
  session.experiment.problem.input.kind = InputKind::constant;
  session.experiment.problem.mask.kind = Mask::Kind::window;
  session.device = "nowhere";
  hand.open(session);
  for (const char* field : {"##value", "##window size", "##device"})
    hand.check(hand.explained(hand.id(controls + field)), std::string(field) + " says nothing");
  session.experiment.problem.input.kind = InputKind::tensors;
  session.experiment.problem.input.file = example_file();
  session.experiment.problem.d = 64;
  hand.open(session);
  for (const char* field : {"##head", "##d"})
    hand.check(hand.explained(hand.id(controls + field)), std::string(field) + " says nothing");
}

/// Terms in the panels have tooltips.
void words(Hand& hand) {
  hand.stage.resize(1600, 1000);
  hand.frames(3);
  for (const char* head : {"about FORMAT D", "about WHERE ROUNDING HAPPENS"})
    hand.check(hand.explained(hand.id(controls + head)), std::string(head) + " is explained");
  const ImVec2 corner = hand.place(strip + "rescales", 1, 0);
  hand.check(hand.explained_at({corner.x - 40, corner.y - 30}), "H_T - 1 is explained");
}

/// A tooltip does not cover a control that is pressed or dragged.
void while_held(Hand& hand) {
  const ImVec2 at = hand.place(controls + "##N", 0.5f);
  hand.check(hand.explained_at(at), "the slider is explained");
  const Session before = hand.session();
  hand.check(!hand.explained_at(at, true), "but not while it is held");
  hand.session() = before;
}

constexpr std::array cases{Case{"tooltips", "details", details}, Case{"tooltips", "controls", panel},
                           Case{"tooltips", "words", words},     Case{"tooltips", "while held", while_held},
                           Case{"tooltips", "popups", popups},   Case{"tooltips", "traffic", traffic},
                           Case{"tooltips", "sweep", sweep},     Case{"tooltips", "KV table", kv_table}};

}  // namespace

std::span<const Case> tooltip_cases() { return cases; }

}  // namespace attoscope::testing
