// Undo and redo, copy and paste, the shipped experiments, and answers that come in two parts.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/session.h"
#include "kernels/compute.h"
#include "tests/ui/cases.h"
#include "ui/heatmap_view.h"

namespace attoscope::testing {
namespace {

constexpr int undo_key = ImGuiMod_Ctrl | ImGuiKey_Z, redo_key = ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z;

void undo_everything(Hand& hand) {
  const std::vector<std::function<void()>> acts{
      [&] { hand.click(controls + "mask/causal"); },
      [&] { hand.choose(controls + "a/##algorithm", "flash4"); },
      [&] { hand.click(controls + "a/P"); },
      [&] { hand.click(heatmap + "###scale"); },
      [&] { hand.wheel(hand.place(heatmap + "picture", 0.4f, 0.4f), 3); },
      [&] { hand.press(hand.place(heatmap + "picture", 0.5f, 0.5f)), hand.frames(40); },
      [&] { hand.click(strip + "###previous tile"); },
      [&] { hand.click(top_bar + "###theme"); },
      [&] { hand.fill(controls + "##seed", "1234567"); },
      [&] { hand.drag(hand.place(controls + "##N", 0.3f), hand.place(controls + "##N", 0.5f)); },
  };
  std::vector<Session> seen{hand.session()};
  for (const auto& act : acts) {
    act();
    hand.settle();
    hand.check(!(hand.session() == seen.back()), "act " + std::to_string(seen.size()) + " changes something");
    seen.push_back(hand.session());
  }
  for (std::size_t i = seen.size() - 1; i-- > 0;)
    hand.changes(
        "undo to " + std::to_string(i), [&] { hand.key(undo_key); }, [&](Session& s) { s = seen[i]; });
  hand.leaves("nothing is left to undo", [&] { hand.key(undo_key); });
  for (std::size_t i = 1; i < seen.size(); ++i)
    hand.changes(
        "redo to " + std::to_string(i), [&] { hand.key(i % 2 ? redo_key : ImGuiMod_Ctrl | ImGuiKey_Y); },
        [&](Session& s) { s = seen[i]; });
  hand.leaves("nothing is left to redo", [&] { hand.key(redo_key); });
}

void undo_buttons(Hand& hand) {
  hand.check(hand.disabled(top_bar + "###undo") && hand.disabled(top_bar + "###redo"), "nothing to undo yet");
  hand.click(controls + "mask/causal");
  hand.changes(
      "undo", [&] { hand.click(top_bar + "###undo"); }, [](Session& s) { s.experiment.problem.mask.kind = Mask::Kind::none; });
  hand.changes(
      "redo", [&] { hand.click(top_bar + "###redo"); }, [](Session& s) { s.experiment.problem.mask.kind = Mask::Kind::causal; });
  hand.click(top_bar + "###undo");
  hand.click(controls + "a/P");
  hand.check(hand.disabled(top_bar + "###redo"), "a change forgets what could be done again");
}

void copy_and_paste(Hand& hand) {
  hand.click(controls + "mask/causal");
  hand.choose(controls + "a/##algorithm", "split_kv");
  const Session copied = hand.session();
  hand.leaves("copy", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_C); });
  hand.check(!hand.stage.frame().note.empty(), "says that it was copied");
  std::vector<std::string> remarks;
  hand.check(parse_session(ImGui::GetClipboardText(), remarks) == copied && remarks.empty(), "the clipboard holds the session");
  hand.open(small_session());
  hand.view().theme = Theme::light;
  hand.changes(
      "paste", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_V); }, [&](Session& s) { s = copied, s.view.theme = Theme::light; });
  hand.changes(
      "undo the paste", [&] { hand.key(undo_key); }, [](Session& s) { s = small_session(), s.view.theme = Theme::light; });
  ImGui::SetClipboardText("a poem");
  hand.leaves("what is no session", [&] { hand.click(top_bar + "###paste"); });
  hand.check(hand.stage.frame().message.starts_with("The clipboard"), "is refused: " + hand.stage.frame().message);
}

void typed_text_is_its_own(Hand& hand) {
  hand.leaves("Ctrl+C, Ctrl+V and Ctrl+Z in a text field", [&] {
    hand.click(controls + "##input");
    hand.pick("open a file ...");
    hand.fill("//$FOCUSED/##path", "");
    for (const int key : {ImGuiKey_C, ImGuiKey_V, ImGuiKey_Z}) hand.key(ImGuiMod_Ctrl | key);
    hand.key(ImGuiKey_Escape);
    hand.key(ImGuiKey_Escape);
  });
}

void presets(Hand& hand) {
  const ProbeEntries probes = hand.stage.frame().probes;
  if (!hand.check(probes && probes->size() >= 10, "the shipped experiments are there")) return;
  for (const ProbeEntry& p : *probes) {
    if (static_cast<double>(p.experiment.problem.n) * p.experiment.problem.n * p.experiment.problem.d > 1e8) continue;
    hand.click(top_bar + "###presets");
    hand.pick("##" + p.name);
    hand.settle();
    Experiment expected = p.experiment;
    expected.problem.input.digest = hand.experiment().problem.input.digest;
    hand.check(hand.experiment() == expected, p.name + " is asked");
    hand.check(hand.exists(heatmap + "###dismiss"), p.name + " says what to look for");
  }
  hand.leaves("dismissing its sentence", [&] { hand.click(heatmap + "###dismiss"); });
  hand.frames(2);
  hand.check(!hand.exists(heatmap + "###dismiss"), "it is gone");
  hand.click(top_bar + "###presets");
  hand.pick("##" + probes->front().name);
  hand.settle();
  hand.check(hand.exists(heatmap + "###dismiss"), "another has its own");
  hand.click(controls + "b/P");
  hand.settle();
  hand.check(!hand.exists(heatmap + "###dismiss"), "and loses it when another question is asked");
}

/// The answer to `experiment` from some of its rows.
Frame first_of(const Experiment& experiment, int rows) {
  Experiment part = experiment;
  part.problem.rows = rows;
  Result result = compute(part);
  result.experiment = experiment;
  Frame frame;
  frame.computing = true;
  frame.computing_seconds = 0.5;
  frame.result = std::make_shared<const Result>(std::move(result));
  return frame;
}

/// The row of Q under a point of the picture, as a click pins it.
int pinned_row(Hand& hand, float y) {
  hand.frames(40);
  hand.view().cell_row = hand.view().cell_col = -1;
  hand.press(hand.place(heatmap + "picture", 0.52f, y));
  return hand.view().cell_row;
}

void two_parts(Hand& hand) {
  Session session = small_session();
  session.experiment.problem.n = 8192;
  session.experiment.problem.d = 8;
  session.experiment.a.block_q = 1024;
  session.view.show_tiles = true;
  hand.stage.open(session);
  const Frame all = first_of(session.experiment, 8192);
  hand.stage.told = first_of(session.experiment, 512);
  hand.frames(3);
  hand.check(is_first_answer(*hand.stage.told->result) && !is_first_answer(*all.result), "the first answer is told from the last");
  for (const float y : {0.01f, 0.37f, 0.5f, 0.99f})
    hand.check(std::abs(pinned_row(hand, y) - y * 8192) <= 60, "the axis is that of all rows, at " + std::to_string(y));
  hand.view().zoom = {2000, 0, 6000, 8};
  hand.check(std::abs(pinned_row(hand, 0.25f) - 3000) <= 60, "so is its zoom");
  hand.wheel(hand.place(heatmap + "picture", 0.5f, 0.5f), 2);
  const CellRect seen = hand.view().zoom;
  hand.check(std::abs(seen.row0 + seen.row1 - 8000) < 60 && seen.row1 - seen.row0 < 4000, "the wheel counts rows of Q");
  hand.view().cell_row = 4001, hand.view().cell_col = 3;
  hand.frames(3);
  hand.leaves("the whole answer", [&] { hand.stage.told = all, hand.stage.told->computing = false; });
  hand.check(hand.view().zoom == seen, "keeps the zoom");
  const double pixel = (seen.row1 - seen.row0) / (hand.place(heatmap + "picture", 0, 1).y - hand.place(heatmap + "picture", 0, 0).y);
  const int clicked = pinned_row(hand, 0.5f);
  hand.check(std::abs(clicked - (seen.row0 + seen.row1) / 2) <= 2 * pixel + 1, "and has the row that was clicked: " + std::to_string(clicked));
}

void first_answer_comes(Hand& hand) {
  Session session = small_session();
  session.experiment.problem.n = 8192;
  session.view.zoom = {1000, 0, 3000, 16};
  hand.stage.open(session);
  std::size_t fewest = 1u << 30;
  for (int i = 0; i < 4000 && fewest > 8192; ++i) {
    hand.frames(1);
    if (const auto& r = hand.stage.frame().result) fewest = std::min(fewest, r->rows.size());
  }
  hand.check(fewest < 8192, "some rows come first: " + std::to_string(fewest));
  hand.settle();
  const auto wait = [&] { return hand.stage.frame().computing; };
  for (int i = 0; i < 100000 && wait(); ++i) hand.frames(1);
  hand.check(hand.stage.frame().result->rows.size() == 8192, "then all");
  hand.check(hand.session() == session, "and nothing of the session moved");
}

constexpr std::array cases{
    Case{"session", "undo everything", undo_everything},
    Case{"session", "undo buttons", undo_buttons},
    Case{"session", "copy and paste", copy_and_paste},
    Case{"session", "typed text", typed_text_is_its_own},
    Case{"session", "presets", presets},
    Case{"session", "an answer in two parts", two_parts},
    Case{"session", "the first answer", first_answer_comes},
};

}  // namespace

std::span<const Case> session_cases() { return cases; }

}  // namespace attoscope::testing
