// The main views against pictures kept in tests/ui/golden, which show a missing panel or a changed colour map.
// ATTOSCOPE_GOLDEN=write rewrites them; look at them then.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "app/files/paths.h"
#include "tests/ui/cases.h"
#include "tests/ui/pictures.h"

namespace attoscope::testing {
namespace {

constexpr int width = 1600, height = 1000;

std::string golden_file(const std::string& name) { return "tests/ui/golden/" + name + ".png"; }

/// The shipped example, as a first visitor sees it.
Session example_session() {
  Session s;
  s.experiment.problem.input.kind = InputKind::tensors;
  s.experiment.problem.input.file = example_file();
  s.experiment.problem.input.index = 1;
  s.experiment.problem.mask.kind = Mask::Kind::causal;
  return s;
}

/// A main view; `ready`: its answers have arrived.
struct MainView {
  const char* name;
  void (*edit)(View&);
  bool (*ready)(const PanelInput&);
};
bool answered(const PanelInput& f) { return f.answer.result != nullptr && !f.answer.computing; }
const std::array<MainView, 8> views{{
    {"explore", [](View&) {}, answered},
    {"light", [](View& v) { v.theme = Theme::light, v.field = Field::golden; }, answered},
    {"contrast", [](View& v) { v.theme = Theme::high_contrast, v.detail = Detail::scatter; }, answered},
    {"side_by_side", [](View& v) { v.comparison = Comparison::side_by_side, v.detail = Detail::traffic; }, answered},
    {"swipe", [](View& v) { v.comparison = Comparison::swipe, v.show_tiles = true; }, answered},
    {"curves", [](View& v) { v.profiles = true, v.cell_row = 600, v.cell_col = 20, v.scrubbed_tile = 4; }, answered},
    {"rescales", [](View& v) { v.picture = PictureKind::rescales, v.detail = Detail::why; },
     [](const PanelInput& f) { return answered(f) && f.side.why != nullptr; }},
    {"scores", [](View& v) { v.picture = PictureKind::scores; },
     [](const PanelInput& f) { return answered(f) && f.side.scores != nullptr; }},
}};

Picture picture_of(Hand& hand, const MainView& view) {
  Session session = example_session();
  view.edit(session.view);
  hand.open(session);
  hand.move({2, 2});
  hand.await(std::string(view.name) + " is answered", [&] { return view.ready(hand.stage.panel_input()); });
  hand.frames(20);  // fades
  return shrunken(hand.picture());
}

/// Compares the picture with the golden one, or writes it as the golden one.
void expect_golden(Hand& hand, const std::string& view, const Picture& found) {
  const char* asked = std::getenv("ATTOSCOPE_GOLDEN");
  if (asked != nullptr && std::string(asked) == "write") return write_png(golden_file(view), found);
  const PictureDifference d = difference_of(read_picture(golden_file(view)), found);
  if (hand.check(d.within(), view + " looks otherwise: " + text(d))) return;
  write_png(std::filesystem::temp_directory_path() / ("attoscope-" + view + ".png"), found);
}

CASE(golden, main_views) {
  hand.stage.resize(width, height);
  for (const MainView& view : views) expect_golden(hand, view.name, picture_of(hand, view));
}

/// Runs two layers of SmolLM2 and attributes the error to heads.
CASE(golden, model) {
  Session session = example_session();
  session.view.workspace = Workspace::model;
  session.model.checkpoint = "tests/data/smollm2/cut.gguf";
  session.model.limit = 10;  // one line of text: where longer ones break depends on the font
  session.model.text = ModelText::file;
  session.model.file = "tests/data/smollm2/tokens.npy";
  hand.stage.resize(width, height);
  hand.open(session);
  const auto wait_for = [&](const char* what, auto ready) {
    hand.await(what, [&] { return ready(hand.stage.model().view()); });
  };
  wait_for("the model is read", [](const ModelView& v) { return v.reading != nullptr && !v.progress.reads; });
  hand.click("//Model/###run model");
  wait_for("the model is run", [](const ModelView& v) { return v.found != nullptr && !v.progress.runs; });
  hand.click("//Model/**/###by head");
  wait_for("the model's heads are compared", [](const ModelView& v) { return v.shares != nullptr && !v.progress.attributes; });
  hand.move({2, 2});
  hand.frames(20);
  expect_golden(hand, "model", shrunken(hand.picture()));
}

/// The picture with a rectangle of the screen filled with one colour.
Picture without(Picture p, int x0, int y0, int x1, int y1) {
  const std::array<std::uint8_t, 3> panel{27, 31, 38};
  for (int y = y0 / shrink; y < y1 / shrink; ++y)
    for (int x = x0 / shrink; x < x1 / shrink; ++x)
      std::copy(panel.begin(), panel.end(), p.rgb.begin() + (y * p.width + x) * 3);
  return p;
}

/// The comparison itself finds planted changes, and ignores differences between fonts.
CASE(golden, planted_differences) {
  hand.stage.resize(width, height);
  const Picture right = picture_of(hand, views[0]);
  const auto sees = [&](const Picture& other, const std::string& what) {
    hand.check(!difference_of(right, other).within(), what + " is seen: " + text(difference_of(right, other)));
  };
  hand.check(difference_of(right, right).worst == 0, "nothing differs from itself");
  hand.check(!difference_of(Picture{}, right).within(), "an empty picture does not match");
  sees(without(right, 1255, 160, 1590, 420), "a missing table");
  sees(without(right, 1255, 520, 1590, 690), "a missing histogram");
  sees(without(right, 330, 740, 640, 940), "a missing curve");
  sees(without(right, 10, 530, 310, 900), "a missing matrix of steps");
  sees(without(right, 10, 235, 310, 280), "two missing sliders");
  Picture swapped = right;  // pink for mint
  for (std::size_t i = 0; i + 2 < swapped.rgb.size(); i += 3) std::swap(swapped.rgb[i], swapped.rgb[i + 1]);
  sees(swapped, "another colour map");
  Picture dimmer = right;
  for (std::uint8_t& c : dimmer.rgb) c = static_cast<std::uint8_t>(c * 3 / 4);
  sees(dimmer, "a picture that is dimmed");
  Picture moved = right;  // by a pixel of the shrunken picture: five of the screen, more than any font moves
  std::rotate(moved.rgb.begin(), moved.rgb.begin() + 3, moved.rgb.end());
  Picture blurred = right;
  for (std::size_t i = 0; i < blurred.rgb.size(); ++i)
    blurred.rgb[i] = static_cast<std::uint8_t>((4 * right.rgb[i] + moved.rgb[i]) / 5);
  hand.check(difference_of(right, blurred).within(),
             "letters moved by a pixel are tolerated: " + text(difference_of(right, blurred)));
}

}  // namespace

}  // namespace attoscope::testing
