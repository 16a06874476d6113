// The window: layout, progress and cancelling, tooltips; every panel without an answer, during work, with NaN and infinities,
// in extreme sizes and small windows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "app/files/paths.h"
#include "app/session/session.h"
#include "imgui_internal.h"
#include "kernels/compute.h"
#include "tests/support/eventually.h"
#include "tests/ui/explore/strip_scene.h"
#include "ui/explore.h"
#include "ui/widgets/theme.h"

namespace attoscope::testing {
namespace {

/// Drags the lines between panels; the palette restores the first layout.
CASE(layout, panel_sizes) {
  hand.frames(3);
  const auto place_of = [](const char* window) { return ImGui::FindWindowByName(window)->Pos; };
  const auto drag = [&](ImVec2 from, float dx, float dy) {
    return [&hand, from, dx, dy] { hand.drag(from, {from.x + dx, from.y + dy}); };
  };
  hand.changes("the line between controls and picture", drag({place_of(heatmap_window).x - 0.5f, 300}, 64, 0),
               [](Session& s) { s.view.panels.left = 380; });
  hand.changes("the line before the statistics", drag({place_of(statistics_window).x - 0.5f, 200}, -40, 0),
               [](Session& s) { s.view.panels.right = 388; });
  hand.changes("the line above the strip", drag({700, place_of(recurrence_window).y - 0.5f}, 0, 30),
               [](Session& s) { s.view.panels.bottom = 232; });
  hand.show(&View::show_pins, true, 4);
  hand.changes("the line beside the pins", drag({place_of(heatmap_window).x - 0.5f, 300}, 40, 0),
               [](Session& s) { s.view.panels.pins = 328; });
  hand.changes("reset layout", [&] { hand.ask("reset layout"); }, [](Session& s) { s.view.panels = {}; });
  for (const double absurd : {64.0, 8192.0}) {
    hand.show(&View::panels, {absurd, absurd, absurd}, 4);
    hand.check(ImGui::FindWindowByName(heatmap_window)->Size.x >= 100, "the picture keeps room");
  }
}

/// Each row of the table of panels has its own window, docked while shown.
CASE(layout, panels_of_the_table) {
  for (const bool with_pins : {false, true}) {
    hand.show(&View::show_pins, with_pins, 4);
    std::set<std::string> names;
    for (const Panel& panel : panels()) {
      hand.check(names.insert(panel.name).second, std::string(panel.name) + " is the name of one panel");
      const ImGuiWindow* const window = ImGui::FindWindowByName(panel.name);
      const bool shown = panel.shown == nullptr || hand.view().*panel.shown;
      hand.check((window != nullptr && window->WasActive && window->DockNode != nullptr) == shown, panel.name);
    }
  }
}

/// The window has its theme's colours, or the colours that a scope sets.
CASE(layout, colours_of_the_window) {
  for (const Theme theme : {Theme::light, Theme::high_contrast, Theme::dark}) {
    hand.show(&View::theme, theme);
    hand.check(&colours() == &palette(theme) && colours().theme == theme, "colours of a theme");
    Palette other = colours();
    other.a = other.b;
    {
      const WithColours replaced(other);
      hand.check(colours().a == palette(theme).b, "colours of a scope");
    }
    hand.check(&colours() == &palette(theme), "colours after the scope");
  }
}

/// A button to cancel appears if an answer takes half a second.
CASE(progress, button_to_cancel) {
  AnswerInput& answer = hand.tell().answer;
  const auto offered = [&](bool computing, double seconds) {
    answer.computing = computing, answer.computing_seconds = seconds;
    hand.frames(3);
    return hand.exists("//Status bar/###cancel");
  };
  hand.check(!offered(true, 0.3), "no button at once");
  for (const auto& [share, left] : {std::pair{0.0, -1.0}, {0.99, 5000.0}, {1.0, 1e9}, {std::nan(""), std::nan("")}}) {
    answer.progress = share, answer.seconds_left = left;
    hand.check(offered(true, 0.6), "later there is a button");
  }
  offered(false, 0);
  hand.frames(60);
  hand.check(!offered(false, 0), "the button goes away");
}

/// A session whose answer takes seconds.
Session slow_session() {
  Session session = small_session();
  session.experiment.problem.n = 32768;
  session.experiment.problem.d = 128;
  session.experiment.a.precision = policy("all_tile").precision;
  return session;
}

CASE(progress, cancelling) {
  for (const bool by_key : {false, true}) {
    hand.open(small_session());
    const auto old = hand.result();
    hand.session() = slow_session();
    double largest = 0;
    for (int i = 0; i < 20000 && !(hand.stage.panel_input().answer.computing_seconds > 0.7 && largest > 0); ++i) {
      hand.frames(1);
      largest = std::max(largest, hand.stage.panel_input().answer.progress);
    }
    hand.check(largest > 0 && largest < 1, "progress is shown");
    const Session before = hand.session();
    by_key ? hand.key(ImGuiKey_Escape) : hand.click("//Status bar/###cancel");
    hand.await("the work stops", [&] { return !hand.stage.panel_input().answer.computing; });
    hand.check(hand.error().starts_with("Stopped: "), "the stop is shown: " + hand.error());
    const PanelInput input = hand.stage.panel_input();
    hand.check(input.answer.result && (input.answer.result == old || input.answer.result->experiment == before.experiment),
               "the picture stays");
    hand.check(hand.session() == before, "nothing else changes");
    hand.experiment() = small_session().experiment;
    hand.settle();
    hand.check(hand.error().empty() && hand.result()->experiment == hand.experiment(), "the window computes again");
  }
}

// --- tooltips ---------------------------------------------------------------------------------------------------------

/// Expects a tooltip for every item of a window, except items without a name below others, as the canvas of a plot, and
/// pictures, which show their values.
void all_explained(Hand& hand, const std::string& window, int least) {
  int count = 0;
  for (const auto& [id, label] : hand.items(window)) {
    if (label.empty() || label.starts_with("#SCROLL") || label.starts_with("#RESIZE") || has(label, "picture")) continue;
    ++count;
    hand.check(hand.explained(id), "'" + label + "' in " + window + " has no tooltip");
  }
  hand.check(count >= least, window + " has " + std::to_string(count) + " items, expected " + std::to_string(least));
}

/// Checks tooltips of every control of a panel, and of the toolbar of each kind of picture.
CASE(tooltips, panels_are_explained) {
  hand.resize(1600, 1200);
  all_explained(hand, "//Controls", 80);
  Session session = small_session();
  session.view.detail = Detail::traffic;
  session.view.comparison = Comparison::swipe;
  session.view.rescale_show = RescaleShow::amount;
  hand.open(session);
  all_explained(hand, "//Statistics", 6);
  for (const PictureKind kind : {PictureKind::output, PictureKind::rescales, PictureKind::scores}) {
    hand.view().picture = kind;
    hand.settle();
    all_explained(hand, "//Heat map", 7);
  }
  session.view.workspace = Workspace::sweep;
  session.sweep.second = {"format", "bf16,fp16"};
  hand.open(session, 10);
  all_explained(hand, "//Sweep plan", 30);
  all_explained(hand, "//Sweep picture", 3);
}

/// Expects that a click on a control opens a popup of at least `least` items, all with tooltips.
void popup_explained(Hand& hand, const std::string& control, int least, int button = 0) {
  hand.click(controls + control, button);
  hand.frames(2);
  all_explained(hand, "//$FOCUSED", least);
  hand.key(ImGuiKey_Escape);
}

CASE(tooltips, popups_are_explained) {
  hand.resize(1600, 1200);
  popup_explained(hand, "##input", 10);
  popup_explained(hand, "###open file", 2);
  popup_explained(hand, "##rows", 2);
  popup_explained(hand, "##device", 2);
  popup_explained(hand, "###tiles for M", 8);
  popup_explained(hand, "mask/###more", 3);
  for (const std::string column : {"a/", "b/"}) {
    popup_explained(hand, column + "##algorithm", 8);
    popup_explained(hand, column + "##preset", 5);
    popup_explained(hand, column + "##sums", 20);
    popup_explained(hand, column + "##scales", 12);
    popup_explained(hand, column + "###options", 8);
    popup_explained(hand, column + "S", 11, 1);
  }
}

/// Checks tooltips of controls that exist in some states only.
CASE(tooltips, seldom_controls_are_explained) {
  const auto explained = [&](std::initializer_list<std::string> items) {
    for (const std::string& item : items) hand.check(hand.explained(hand.id(item)), item + " has no tooltip");
  };
  explained({controls + "about FORMAT D", controls + "about WHERE ROUNDING HAPPENS", heatmap + "pin"});
  Session session = small_session();
  session.experiment.problem.input.kind = InputKind::constant;
  session.experiment.problem.mask.kind = Mask::Kind::window;
  session.device = "nowhere";
  hand.open(session);
  explained({controls + "##value", controls + "##window size", controls + "##device"});
  session.experiment.problem.input.kind = InputKind::tensors;
  session.experiment.problem.input.file = example_file();
  session.experiment.problem.d = 64;
  hand.open(session);
  explained({controls + "##head", controls + "##d"});
  session = all_heads(128);
  session.view.heads_show = HeadsShow::kv_cache;
  hand.open(session);
  hand.await("heads are there", [&] { return hand.exists(heatmap + "**/##kv head 0"); });
  explained({heatmap + "heads show/grid", heatmap + "heads show/pictures", heatmap + "heads show/KV cache",
             heatmap + "**/###bf16", heatmap + "**/###nvfp4", heatmap + "**/##kv head 3"});
}

/// A tooltip does not cover a control that is pressed or dragged.
CASE(tooltips, no_tooltip_while_held) {
  const ImVec2 at = hand.place(controls + "##N", 0.5f);
  hand.check(hand.explained_at(at), "the slider is explained");
  const Session before = hand.session();
  hand.check(!hand.explained_at(at, true), "but not while it is held");
  hand.session() = before;
}

// --- states -----------------------------------------------------------------------------------------------------------

/// Draws the test's input with every field and the mouse everywhere.
void look(Hand& hand, const std::string& what) {
  for (int i = 0; i < field_count; ++i) {
    hand.show(&View::field, static_cast<Field>(i), 1);
  }
  hand.view().field = Field::a_error;
  for (const ImVec2 at : {ImVec2{150, 300}, ImVec2{150, 600}, ImVec2{600, 300}, ImVec2{600, 60}, ImVec2{1100, 300},
                          ImVec2{1100, 120}, ImVec2{500, 650}, ImVec2{1150, 650}, ImVec2{400, 750}, ImVec2{300, 790}})
    hand.move(at);
  const Picture picture = hand.picture();
  const auto [least, most] = std::minmax_element(picture.rgb.begin(), picture.rgb.end());
  hand.check(*most - *least > 100, what + " is drawn");
}

CASE(states, no_answer) {
  hand.stage.told = PanelInput{};
  look(hand, "no answer");
  hand.stage.told->answer.computing = true;
  hand.stage.told->answer.computing_seconds = 3;
  look(hand, "the first answer on its way");
  hand.stage.told->answer.computing = false;
  hand.stage.told->messages.error = std::string(500, 'x') + " cannot be read.";
  look(hand, "a long complaint");
  hand.stage.told = telling(compute(small_session().experiment));
  hand.stage.told->answer.computing = true;
  hand.stage.told->answer.computing_seconds = 0.5;
  look(hand, "an old answer");
}

CASE(states, not_finite) {
  Session session = small_session();
  session.experiment.format = {2, 1};
  session.experiment.problem.input.kind = InputKind::constant;
  session.experiment.problem.input.value = 1e30;
  session.experiment.a.precision = policy("all_tile").precision;
  hand.open(session);
  hand.check(hand.result()->golden_nonfinite > 0, "golden itself is not finite");
  look(hand, "golden that is not finite");
  session.experiment.problem.input.kind = InputKind::outliers;
  session.experiment.problem.d = 64;
  session.experiment.problem.scale = 40;
  session.experiment.format = {4, 3};
  hand.open(session);
  look(hand, "overflows");
}

CASE(states, planted_nan_and_infinities) {
  Result result = compute(small_session().experiment);
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  result.a.values[5] = nan;
  result.a.values[200] = inf;
  result.b.values[300] = -inf;
  result.a_error.nonfinite = 2;
  result.b_error.nonfinite = 1;
  for (double Deviation::* value : {&Deviation::max_abs, &Deviation::mean_abs, &Deviation::cosine, &Deviation::wasserstein})
    result.a_error.*value = nan, result.b_error.*value = inf;
  for (TraceTile& tile : result.trace.tiles) tile.max_used = -inf, tile.l = nan, tile.error = inf, tile.alpha = nan;
  for (auto& quantiles : result.rescales.max_quantiles) quantiles.fill(std::numeric_limits<float>::quiet_NaN());
  hand.stage.told = telling(std::move(result));
  look(hand, "planted NaN and infinities");
}

CASE(states, extreme_sizes) {
  struct Size {
    int n, d, rows, block;
  };
  for (const auto& [n, d, rows, block] : {Size{1, 1, 0, 1}, Size{1, 1, 0, 64}, Size{2, 3, 0, 1}, Size{65536, 8, 64, 64},
                                          Size{4096, 8, 64, 1}, Size{3, 1024, 0, 2}, Size{17, 5, 4, 2048}}) {
    Session session = small_session();
    Problem& problem = session.experiment.problem;
    problem.n = n;
    problem.d = d;
    problem.rows = rows;
    session.experiment.a.block_k = session.experiment.b.block_k = block;
    session.view.show_tiles = true;
    session.view.cell_row = session.view.cell_col = 0;
    hand.open(session);
    hand.check(hand.result() != nullptr, "N = " + std::to_string(n) + " has an answer");
    look(hand, "N = " + std::to_string(n) + ", d = " + std::to_string(d));
    hand.wheel(hand.place(heatmap + "picture", 0.3f, 0.7f), 9);
    look(hand, "its zoom");
  }
}

CASE(states, rows_without_keys) {
  Session session = small_session();
  session.experiment.problem.mask.kind = Mask::Kind::window;
  session.experiment.problem.mask.window = 3;
  session.experiment.problem.traced_row = 0;
  hand.open(session);
  look(hand, "a narrow window");
}

CASE(states, too_large) {
  const auto before = hand.result();
  hand.experiment().problem.n = max_n;
  hand.experiment().problem.d = max_d;
  hand.settle();
  hand.expect_error("bytes");
  hand.check(hand.result() == before, "the window keeps what it shows");
  hand.experiment().problem.n = 32;
  hand.experiment().problem.d = 8;
  hand.settle();
  hand.check(hand.error().empty() && hand.result()->experiment == hand.experiment(), "the window computes again");
}

CASE(states, remarks_of_a_session_file) {
  Session session = small_session();
  Explorer explorer({.session = session, .remarks = {"session.json: view.range is -1.", "session.json: d is 0."}}, [] {});
  const bool answered = eventually([&] { return explorer.panel_input().answer.result && !explorer.computing(); },
                                   [&] { explorer.update(session), hand.frames(1); });
  hand.check(answered && has(explorer.panel_input().messages.error, "view.range"),
             "the error of the session file is shown with the first answer");
  session.experiment.problem.seed = 2;
  explorer.update(session);
  hand.check(explorer.panel_input().messages.error.empty(), "the next session clears the error");
}

CASE(states, small_windows) {
  for (const auto& [width, height, scale] : {std::tuple{640, 400, 1.0}, {320, 200, 3.0}, {1920, 1080, 2.0}}) {
    hand.stage.resize(width, height);
    hand.show(&View::ui_scale, scale, 4);
    look(hand, std::to_string(width) + " x " + std::to_string(height));
  }
}

}  // namespace

}  // namespace attoscope::testing
