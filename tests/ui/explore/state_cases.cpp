// Every panel with nothing, something running, NaN and infinities, extreme sizes, small windows; and a monkey.
#include <algorithm>
#include <array>
#include <random>

#include "app/session/session.h"
#include "kernels/compute.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

/// Draws the told input in both themes, with the mouse everywhere, every field and a zoom.
void look(Hand& hand, const std::string& what) {
  for (const bool light : {false, true}) {
    hand.view().theme = light ? Theme::light : Theme::dark;
    for (int i = 0; i < field_count; i += light ? 5 : 1) {
      hand.view().field = static_cast<Field>(i);
      hand.frames(1);
    }
    hand.view().field = Field::a_error;
    for (const ImVec2 at : {ImVec2{150, 300}, ImVec2{150, 600}, ImVec2{600, 300}, ImVec2{600, 60}, ImVec2{1100, 300},
                            ImVec2{1100, 120}, ImVec2{500, 650}, ImVec2{1150, 650}, ImVec2{400, 750}, ImVec2{300, 790}})
      hand.move(at);
    const Picture picture = hand.picture();
    const auto [least, most] = std::minmax_element(picture.rgb.begin(), picture.rgb.end());
    hand.check(*most - *least > 100, what + " is drawn");
  }
  hand.view().theme = Theme::dark;
}

PanelInput told(Result result) {
  PanelInput input;
  input.answer.device = result.device;
  input.answer.result = std::make_shared<const Result>(std::move(result));
  return input;
}

void no_answer(Hand& hand) {
  hand.stage.told = PanelInput{};
  look(hand, "no answer");
  hand.stage.told->answer.computing = true;
  hand.stage.told->answer.computing_seconds = 3;
  look(hand, "the first answer on its way");
  hand.stage.told->answer.computing = false;
  hand.stage.told->messages.error = std::string(500, 'x') + " cannot be read.";
  look(hand, "a long complaint");
}

void running(Hand& hand) {
  PanelInput input = told(compute(small_session().experiment));
  const auto picture_at = [&](double seconds) {
    input.answer.computing = seconds > 0;
    input.answer.computing_seconds = seconds;
    hand.stage.told = input;
    hand.frames(2);
    return hand.picture();
  };
  const Picture fresh = picture_at(0), soon = picture_at(0.05), late = picture_at(0.5);
  hand.check(fresh.rgb == soon.rgb, "for 100 ms the old picture stays as it is");
  hand.check(fresh.rgb != late.rgb, "then it is dimmed");
  look(hand, "an old answer");
}

void not_finite(Hand& hand) {
  Session session = small_session();
  session.experiment.format = {2, 1};
  session.experiment.problem.input.kind = InputKind::constant;
  session.experiment.problem.input.value = 1e30;
  session.experiment.a.precision = policy("all_tile").precision;
  hand.open(session);
  hand.check(hand.stage.panel_input().answer.result->golden_nonfinite > 0, "golden itself is not finite");
  look(hand, "golden that is not finite");
  session.experiment.problem.input.kind = InputKind::outliers;
  session.experiment.problem.d = 64;
  session.experiment.problem.scale = 40;
  session.experiment.format = {4, 3};
  hand.open(session);
  look(hand, "overflows");
}

void planted(Hand& hand) {
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
  hand.stage.told = told(std::move(result));
  look(hand, "planted NaN and infinities");
}

void sizes(Hand& hand) {
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
    hand.check(hand.stage.panel_input().answer.result != nullptr, "N = " + std::to_string(n) + " has an answer");
    look(hand, "N = " + std::to_string(n) + ", d = " + std::to_string(d));
    hand.wheel(hand.place(heatmap + "picture", 0.3f, 0.7f), 9);
    look(hand, "its zoom");
  }
}

void rows_without_keys(Hand& hand) {
  Session session = small_session();
  session.experiment.problem.mask.kind = Mask::Kind::window;
  session.experiment.problem.mask.window = 3;
  session.experiment.problem.traced_row = 0;
  hand.open(session);
  look(hand, "a narrow window");
  session.experiment.a = session.experiment.b;
  hand.open(session);
  look(hand, "three passes against themselves");
}

void too_large(Hand& hand) {
  const auto before = hand.stage.panel_input().answer.result;
  hand.experiment().problem.n = max_n;
  hand.experiment().problem.d = max_d;
  hand.settle();
  const std::string message = hand.stage.panel_input().messages.error;
  hand.check(!message.empty() && message.find("bytes") != std::string::npos, "refused with the bytes: " + message);
  hand.check(hand.stage.panel_input().answer.result == before, "the window keeps what it shows");
  hand.experiment().problem.n = 32;
  hand.experiment().problem.d = 8;
  hand.settle();
  hand.check(hand.stage.panel_input().messages.error.empty() &&
                 hand.stage.panel_input().answer.result->experiment == hand.experiment(),
             "and goes on");
}

void remarks(Hand& hand) {
  Session session = small_session();
  Explorer explorer({.session = session, .remarks = {"session.json: view.range is -1.", "session.json: d is 0."}}, [] {});
  const auto answer = [&] {
    for (int i = 0; i < 500 && (!explorer.panel_input().answer.result || explorer.computing()); ++i) {
      explorer.update(session);
      hand.frames(1);
    }
  };
  answer();
  hand.check(
      explorer.panel_input().answer.result && explorer.panel_input().messages.error.find("view.range") != std::string::npos,
      "what was wrong with the session file is told beside the first answer");
  session.experiment.problem.seed = 2;
  explorer.update(session);
  hand.check(explorer.panel_input().messages.error.empty(), "until something else is asked");
}

void windows(Hand& hand) {
  for (const auto& [width, height] : {std::pair{640, 400}, std::pair{320, 200}, std::pair{1000, 700}, std::pair{1920, 1080}})
    for (const double scale : {0.75, 1.0, 2.0, 3.0}) {
      hand.stage.resize(width, height);
      hand.view().ui_scale = scale;
      hand.frames(4);
      look(hand, std::to_string(width) + " x " + std::to_string(height));
    }
}

/// Clicks, drags, wheels and keys at random: nothing breaks, and every resulting session is saved and read back.
void monkey(Hand& hand) {
  std::mt19937 dice(7);
  const auto upto = [&](int most) { return static_cast<int>(dice() % static_cast<unsigned>(most + 1)); };
  const auto anywhere = [&] { return ImVec2{static_cast<float>(upto(1279)), static_cast<float>(upto(799))}; };
  hand.stage.told = told(compute(small_session().experiment));
  constexpr std::array keys{ImGuiKey_L,         ImGuiKey_P,     ImGuiKey_G,     ImGuiKey_0,        ImGuiKey_Escape,
                            ImGuiKey_LeftArrow, ImGuiKey_Home,  ImGuiKey_T,     ImGuiKey_H,        ImGuiKey_4,
                            ImGuiKey_Tab,       ImGuiKey_Space, ImGuiKey_Enter, ImGuiKey_DownArrow};
  for (int i = 0; i < 250 && hand.well(); ++i) {
    switch (upto(5)) {
      case 0:
        hand.drag(anywhere(), anywhere());
        break;
      case 1:
        hand.wheel(anywhere(), static_cast<float>(upto(10) - 5));
        break;
      case 2:
        hand.key(keys[static_cast<std::size_t>(upto(static_cast<int>(keys.size()) - 1))]);
        break;
      default:
        hand.press(anywhere(), 1 + upto(1));
        break;
    }
    std::vector<std::string> remarks;
    const Session read = parse_session(session_text(hand.session()), remarks);
    hand.check(remarks.empty() && read == hand.session(), "it is read back as it was" + difference(hand.session(), read));
  }
}

constexpr std::array cases{
    Case{"states", "no answer", no_answer},   Case{"states", "running", running},
    Case{"states", "not finite", not_finite}, Case{"states", "planted", planted},
    Case{"states", "sizes", sizes},           Case{"states", "rows without keys", rows_without_keys},
    Case{"states", "too large", too_large},   Case{"states", "windows", windows},
    Case{"states", "remarks", remarks},       Case{"states", "monkey", monkey},
};

}  // namespace

std::span<const Case> state_cases() { return cases; }

}  // namespace attoscope::testing
