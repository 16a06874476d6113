// The Train workspace: every control of the view, the request of each button, and every state.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/train/train_seeds.h"
#include "imgui_internal.h"
#include "kernels/experiment/presets.h"
#include "tests/support/figure_support.h"
#include "tests/ui/workspaces/train_scene.h"
#include "ui/train/panels.h"
#include "ui/train/series.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::testing::train_cases {
namespace {

using Act = TrainRequest::Act;

const std::string plan_panel = train_plan_panel, middle = train_middle, numbers = "//Train numbers/",
                  rows = "//Train numbers/**/";
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

/// Expects that `act` changes nothing of the session and sends this request.
void requests(Hand& hand, const std::string& what, const std::function<void()>& act, const TrainRequest& expected) {
  hand.stage.train_request = {};
  hand.leaves(what, act);
  const TrainRequest& found = hand.stage.train_request;
  hand.check(found == expected,
             what + fmt::format(": act {}, step {}, run {}, head {}.{} of {}, '{}'", static_cast<int>(found.act), found.step,
                                found.run, found.layer, found.head, found.sequence, found.file));
}

CASE(train, looks) {
  show_training(hand, train_session(TrainKind::reference));
  hand.each({{middle + "##measure", [](Session& s) { s.train_look.measure = TrainMeasure::wasserstein; }, {}, "###wasserstein"},
             {middle + "##relative", [](Session& s) { s.train_look.relative = true; }},
             {middle + "##log", [](Session& s) { s.train_look.log_y = false; }},
             {middle + "legend bf16 - fp32", [](Session& s) { s.train_look.hidden = 1 << 3; }},
             {middle + "legend a - b", [](Session& s) { s.train_look.hidden = 1 << 3 | 1; }},
             {middle + "legend a - b", [](Session& s) { s.train_look.hidden = 1 << 3; }},
             {middle + "##of runs", [](Session& s) { s.train_look.of_runs = RunMeasure::delta_bias; }, {}, "###delta_bias"},
             {middle + "##worst head", [](Session& s) { s.train_look.worst = false; }},
             {middle + "runs/##log", [](Session& s) { s.train_look.log_runs = true; }},
             {middle + "legend b", [](Session& s) { s.train_look.hidden_runs = 2; }},
             {middle + "picture/matrix", [](Session& s) { s.train_look.picture = WeightPicture::matrix; }},
             {middle + "##tensor", [](Session& s) { s.train_look.tensor = 3; }, {}, "###tensor 3"},
             {middle + "##tensor", [](Session& s) { s.train_look.tensor = -1; }, {}, "###tensor all"},
             {middle + "##pair", [](Session& s) { s.train_look.pair = 2; }, {}, "###pair 2"},
             {rows + "##tensor layer 0 W_Q", [](Session& s) { s.train_look.tensor = 4; }}});
  const ImRect row = hand.rect(hand.id(rows + "##tensor layer 0 W_Q")),
               next = hand.rect(hand.id(rows + "##tensor layer 0 W_K"));
  hand.check(row.Max.y <= next.Min.y + 0.5f, "rows do not overlap");
  hand.leaves("sorting", [&] { hand.click(rows + "###wasserstein"); });
  hand.each(
      {{rows + "##layer 1 head 2", [](Session& s) { s.train_look.layer = 1, s.train_look.head = 2; }},
       {numbers + "##run", [](Session& s) { s.train_look.run = 1; }, {}, "###run 1"},
       {numbers + "##sequence", [](Session& s) { s.train_look.sequence = 5; }, "5"},
       {middle + "##measure", [](Session& s) { s.train_look.measure = TrainMeasure::update_cosine; }, {}, "###update_cosine"}});
  hand.check(hand.disabled(middle + "##relative") && hand.disabled(middle + "##log"), "a cosine has no unit, and no logarithm");
}

/// Saves a plot as a figure; new and opened sessions keep the choices for figures, unless they have their own.
CASE(train, figures) {
  if (!has_gnuplot()) return;
  hand.stage.exporter = PlotExporter(hand.folder / "pictures");
  show_training(hand, train_session(), 40);
  hand.view().figure = {.as = ExportAs::svg, .slide = true, .font = "Times"};
  hand.move(hand.on_plot(middle + "deviation", 20));
  hand.frames(2);
  hand.leaves("a figure", [&] {
    hand.click(middle + "###save deviation");
    hand.pick("###keep");
    hand.await("the work is done", [&] { return !hand.stage.exporter.busy(); });
  });
  const std::string drawn = hand.folder / "pictures/attoscope-deviation-1/attoscope-deviation-1.svg";
  hand.check(std::filesystem::exists(drawn),
             "a figure is drawn: " + hand.stage.context().explorer.panel_input().messages.error);
  hand.stage.exporter = PlotExporter("");
  hand.stage.told.reset();
  const FigureChoice chosen = hand.view().figure;
  hand.key(ImGuiMod_Ctrl | ImGuiKey_N, settled);
  hand.check(hand.view().figure == chosen, "a new session keeps the choices");
  Session another = small_session();
  hand.stage.explorer().adopt(hand.session(), another, {});
  hand.check(hand.view().figure == chosen, "an opened session keeps the choices");
  another.view.figure.font = "Arial";
  hand.stage.explorer().adopt(hand.session(), another, {});
  hand.check(hand.view().figure == another.view.figure, "a session with its own choices keeps these");
}

CASE(train, steps) {
  show_training(hand, train_session());
  const auto press = [&](const char* plot, double step) {
    return [&hand, plot, step] { hand.press(hand.on_plot(middle + plot, step)); };
  };
  const auto picked = [](int step) { return [step](Session& s) { s.train_look.step = step; }; };
  hand.changes("a measured step of the curves", press("deviation", 201), picked(200));
  hand.changes("let go", press("deviation", 201), picked(-1));
  hand.changes("any step of the runs", press("runs", 101.4), picked(101));
  hand.changes("a step of the picture", press("weights", 121), picked(120));
  hand.changes("a kept state", [&] { hand.press(hand.place(middle + "kept steps", 0.49f)); }, picked(200));
}

CASE(train, requested) {
  show_training(hand, train_session(), 0);
  hand.check(!hand.exists(middle + "###train"), "one button runs it");
  requests(hand, "run", [&] { hand.click(middle + "###run training"); }, {.act = Act::run});
  requests(hand, "one step", [&] { hand.click(middle + "###one step"); }, {.act = Act::one_step});
  hand.check(hand.disabled(middle + "###restart") && hand.disabled(middle + "###go back") && hand.disabled(middle + "###fork"),
             "there is nothing to go back to");
  requests(hand, "space", [&] { hand.key(ImGuiKey_Space); }, {.act = Act::run});
  requests(hand, "N", [&] { hand.key(ImGuiKey_N); }, {.act = Act::one_step});
  requests(hand, "Shift+R", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_R); }, {});
  show_training(hand, train_session(), 240);
  requests(hand, "resume", [&] { hand.click(middle + "###run training"); }, {.act = Act::run});
  requests(hand, "restart", [&] { hand.click(middle + "###restart"); }, {.act = Act::restart});
  requests(hand, "Shift+R", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_R); }, {.act = Act::restart});
  requests(hand, "back to the newest state", [&] { hand.click(middle + "###go back"); }, {.act = Act::go_back, .step = 200});
  hand.check(hand.disabled(middle + "###fork"), "an unchanged plan forks nothing");
  hand.session().train_look.step = 199;
  requests(hand, "back to the state before the picked step", [&] { hand.click(middle + "###go back"); },
           {.act = Act::go_back, .step = 100});
  hand.stage.told->train.progress.stale = true;
  requests(hand, "fork", [&] { hand.click(middle + "###fork"); }, {.act = Act::fork, .step = 100});
  hand.check(hand.disabled(middle + "###restart"), "after a change of the plan one button restarts");
  hand.stage.told->train.progress.forkable = "The model is another one.";
  hand.frames(2);
  hand.check(hand.disabled(middle + "###fork"), "a plan that does not fit cannot be forked");
  hand.stage.told->train.progress.state = TrainProgress::State::running;
  requests(hand, "pause", [&] { hand.click(middle + "###run training"); }, {.act = Act::pause});
  hand.check(hand.disabled(middle + "###one step"), "a running training takes no single steps");
  hand.stage.told->train.progress.state = TrainProgress::State::paused;
  hand.stage.told->train.progress.wrong = "model.width is 130, expected a multiple of model.heads, which is 4";
  hand.frames(2);
  hand.check(hand.disabled(middle + "###run training") && hand.disabled(middle + "###restart"), "a wrong plan is not trained");
  requests(hand, "space", [&] { hand.key(ImGuiKey_Space); }, {});
}

/// The notice that the plan changed does not give its place to a second line of the headline.
CASE(train, notice_at_225_percent) {
  Session s = train_session();
  s.view.ui_scale = 2.25;
  show_training(hand, s);
  hand.resize(1280, 800);
  hand.stage.told->train.progress.stale = true;
  hand.move({2, 2});
  hand.frames(3);
  const Picture shown = hand.picture();
  const ImRect run = hand.rect(hand.id(middle + "###run training"));
  int accents = 0;  // pixels in the colour of the notice, the only blue above the buttons
  for (int y = static_cast<int>(ImGui::FindWindowByName("Train")->Pos.y); y < static_cast<int>(run.Min.y); ++y)
    for (int x = static_cast<int>(run.Min.x); x < static_cast<int>(ImGui::FindWindowByName("Train")->InnerRect.Max.x); ++x) {
      const std::uint8_t* const at = shown.rgb.data() + static_cast<std::size_t>(y * shown.width + x) * 3;
      accents += at[2] > at[0] + 32 ? 1 : 0;
    }
  hand.check(accents > 0, "the notice is drawn");
}

CASE(train, ends) {
  Session s = train_session();
  show_training(hand, s, 400);
  hand.check(hand.disabled(middle + "###run training") && hand.disabled(middle + "###one step"), "a finished one cannot run");
  hand.stage.told->train.progress.stale = true;
  requests(hand, "a changed plan restarts", [&] { hand.click(middle + "###run training"); }, {.act = Act::run});
  show_training(hand, s, 240);
  hand.stage.told->train.progress.state = TrainProgress::State::stopped;
  hand.frames(2);
  hand.check(hand.disabled(middle + "###run training") && !hand.disabled(middle + "###go back"),
             "a diverged training can go back");
}

/// The wheel zooms all plots; a double click, a button and another training show all steps.
CASE(train, train_zoom) {
  show_training(hand, train_session());
  const TrainPanelState& m = *hand.stage.state->train;
  const auto zoom_in = [&] {
    hand.leaves("zooming", [&] { hand.wheel(hand.on_plot(middle + "deviation", 100), 3); });
    hand.check(m.zoom1 > m.zoom0 && m.zoom1 < 400, "fewer steps are shown");
  };
  hand.check(hand.disabled(middle + "###all steps"), "all steps are shown");
  zoom_in();
  hand.leaves("the button", [&] { hand.click(middle + "###all steps"); });
  hand.check(m.zoom1 == 0, "the button shows all steps");
  zoom_in();
  hand.press(hand.on_plot(middle + "runs", 100), 2);
  hand.check(m.zoom1 == 0, "a double click shows all steps");
  zoom_in();
  hand.stage.told->train = made_view(made_record(hand.session().train, 260));
  hand.frames(2);
  hand.check(m.zoom1 > 0, "further steps keep the zoom");
  requests(hand, "restart", [&] { hand.click(middle + "###restart"); }, {.act = Act::restart});
  hand.stage.told->train = made_view(made_record(hand.session().train, 20));
  hand.frames(2);
  hand.check(m.zoom1 == 0 && m.branches.left.empty(), "a new run shows all its steps, and nothing of the old one");
}

/// Steps abandoned by going back or by a fork stay as a pale curve.
CASE(train, branches) {
  show_training(hand, train_session(), 240);
  const TrainBranches& b = hand.stage.state->train->branches;
  const auto tell = [&](const std::shared_ptr<TrainRecord>& record) {
    hand.stage.told->train = made_view(record);
    hand.frames(3);
  };
  const auto plan = hand.session().train;
  tell(made_record(plan, 100));
  hand.check(b.left.size() == 1 && b.left[0].from == 100 && !b.left[0].fork && b.left[0].record->step == 240,
             "going back leaves a branch");
  hand.check(hand.stage.state->train->drawing.last >= 240, "the axis shows the whole branch");
  auto forked = made_record(plan, 180);
  forked->forks = {{140, "a: policy eager -> hw"}};
  for (RunRecord& run : forked->runs)
    for (StepReport& step : run.steps)
      if (step.step > 140) step.loss += 0.5;
  tell(made_record(plan, 170));
  tell(forked);
  hand.check(b.left.size() == 2 && b.left[1].from == 140 && b.left[1].fork, "a fork leaves a branch");
  auto on = std::make_shared<TrainRecord>(*forked);
  on->step = 181;
  tell(on);
  hand.check(b.left.size() == 2, "further steps of the fork keep the branches");
  auto other = made_record(plan, 60);
  for (RunRecord& run : other->runs)
    for (StepReport& step : run.steps) step.loss += 1;
  tell(other);
  hand.check(b.left.empty(), "another training has no branches");
}

CASE(train, checkpoints) {
  show_training(hand, train_session(), 240);
  const auto inside = [&](const std::string& button, const std::string& file) {
    hand.click(middle + "###checkpoint");
    hand.frames(2);
    if (!file.empty()) {
      hand.click("//$FOCUSED/##checkpoint");
      hand.type_only(file);
    }
    hand.click("//$FOCUSED/" + button);
  };
  requests(hand, "save", [&] { inside("###save checkpoint", "/tmp/a.checkpoint"); },
           {.act = Act::save, .file = "/tmp/a.checkpoint"});
  requests(hand, "open", [&] { inside("###open checkpoint", "/tmp/b.checkpoint"); },
           {.act = Act::open, .file = "/tmp/b.checkpoint"});
  hand.stage.told->train.progress.left_over = "/tmp/left.checkpoint";
  requests(hand, "what was left", [&] { inside("###open left over", ""); }, {.act = Act::open, .file = "/tmp/left.checkpoint"});
}

CASE(train, beside_exact_attention) {
  show_training(hand, train_session());
  for (const auto& [name, bit] : {std::pair{"a - b", 0}, {"a - exact", 1}, {"b - exact", 2}})
    for (int twice = 0; twice < 2; ++twice)
      hand.click(middle + "legend " + name, [bit = bit](Session& s) { s.train_look.hidden ^= 1U << bit; });
  hand.click(middle + "legend exact", [](Session& s) { s.train_look.hidden_runs = 4; });
  Session s = train_session();
  s.train.with_exact = false;
  show_training(hand, s);
  hand.check(!hand.exists(middle + "legend a - exact"), "without the third model there is none");
}

CASE(train, explored) {
  Session s = train_session();
  s.train_look.run = 1, s.train_look.layer = 1, s.train_look.head = 3, s.train_look.sequence = 6;
  show_training(hand, s, 240);
  requests(hand, "the newest step", [&] { hand.click(numbers + "###open head"); },
           {.act = Act::explore, .step = 240, .run = 1, .layer = 1, .head = 3, .sequence = 6});
  hand.session().train_look.step = 120;
  requests(hand, "the picked step", [&] { hand.click(numbers + "###open head"); },
           {.act = Act::explore, .step = 120, .run = 1, .layer = 1, .head = 3, .sequence = 6});
  hand.session().train_look.run = 99, hand.session().train_look.layer = 11;
  requests(hand, "only what there is", [&] { hand.click(numbers + "###open head"); },
           {.act = Act::explore, .step = 120, .run = 2, .layer = 1, .head = 3, .sequence = 6});
}

CASE(train, suspects) {
  show_training(hand, train_session(TrainKind::bisect), 240);
  const TrainRecord& r = *hand.stage.told->train.record;
  const std::vector<RankedSuspect> ranked = ranked_suspects(r, TrainMeasure::max_abs, -1, -1);
  hand.check(ranked.size() + 1 == r.pairs.size() && std::ranges::is_sorted(ranked, {}, &RankedSuspect::share),
             "the suspect with the most effect is the first");
  const double left =
      r.pairs[ranked[0].pair].points.back().deviations[0].max_abs / r.pairs[0].points.back().deviations[0].max_abs;
  hand.check(ranked[0].share == left, "what is left is a share of a - b's");
  const int pair = static_cast<int>(ranked[1].pair);
  hand.click(rows + "##suspect " + r.pairs[static_cast<std::size_t>(pair)].pair.name,
             [&](Session& s) { s.train_look.pair = pair; });
  hand.changes(
      "hidden in the list of all",
      [&] {
        hand.click(middle + "deviation/###all curves");
        hand.frames(2);
        hand.click("//$FOCUSED/##" + r.pairs[9].pair.name);
      },
      [](Session& s) { s.train_look.hidden = 1 << 9; });
  hand.key(ImGuiKey_Escape);
}

/// Draws the test's input in all views, with the mouse over everything.
void look(Hand& hand, const std::string& what) {
  TrainLook& look = hand.session().train_look;
  for (int i = 0; i < 12; ++i) {
    look.measure = static_cast<TrainMeasure>(i % 6);
    look.of_runs = static_cast<RunMeasure>(i % 7);
    look.picture = static_cast<WeightPicture>(i % 2);
    look.relative = i % 3 == 0;
    look.log_y = i % 4 < 2;
    look.log_runs = look.log_y;
    look.tensor = i % 5 - 1;
    look.step = i % 2 == 0 ? -1 : 7 * i;
    hand.frames(1);
    if (i % 4 != 0) continue;
    for (const ImVec2 at : {ImVec2{500, 150}, ImVec2{600, 300}, ImVec2{700, 560}, ImVec2{600, 720}, ImVec2{1200, 300},
                            ImVec2{1230, 700}, ImVec2{100, 300}})
      hand.move(at);
  }
  const Picture picture = hand.picture();
  const auto [least, most] = std::minmax_element(picture.rgb.begin(), picture.rgb.end());
  hand.check(*most - *least > 100, what + " is drawn");
}

CASE(train, strange_states) {
  Session s = train_session(TrainKind::reference);
  hand.stage.resize(1280, 800);
  show_training(hand, s, 0);
  look(hand, "nothing");
  show_training(hand, s, 1);
  look(hand, "one point");
  auto record = made_record(s.train, 60);
  record->pairs[0].points.clear();
  for (RunRecord& run : record->runs) run.health.clear(), run.steps.clear();
  hand.stage.told->train = made_view(record);
  look(hand, "no point");
  record = made_record(s.train, 240);
  for (PairRecord& pair : record->pairs)
    for (PairPoint& point : pair.points) {
      point.loss_difference = nan;
      for (WeightDeviation& d : point.deviations) d = {point.step > 100 ? nan : inf, nan, -inf, nan, 0};
      for (auto& profile : point.profiles)
        if (!profile.empty())
          profile[0] = std::numeric_limits<float>::quiet_NaN(), profile.back() = std::numeric_limits<float>::infinity();
    }
  for (RunRecord& run : record->runs) {
    run.stopped = "Run " + run.run.name + " diverged at step 240: the loss is NaN.";
    for (StepReport& step : run.steps) step.loss = nan, step.gradient_norm = inf, step.skipped = step.step % 3 == 0;
    for (RunHealth& health : run.health)
      for (HeadHealth& head : health.heads) head.statistics = {}, head.query_norm = nan;
  }
  record->forks = {{100, std::string(300, 'x')}, {150, ""}};
  hand.stage.told->train = made_view(record);
  hand.stage.told->train.progress.state = TrainProgress::State::stopped;
  hand.stage.told->train.progress.remark = std::string(400, 'y');
  look(hand, "nothing that is finite");
  s.train.model = {12, 96, 16, 16, Norm::layer};
  s.train.kind = TrainKind::bisect;
  s.train.bisect = BisectBy::head;
  show_training(hand, s, 20);
  look(hand, "192 suspects");
  for (const auto& [width, height, scale] :
       {std::tuple{1280, 800, 1.0}, {1280, 800, 2.0}, {640, 400, 1.0}, {1920, 1080, 1.5}}) {
    hand.stage.resize(width, height);
    hand.view().ui_scale = scale;
    look(hand, fmt::format("{} x {} at {:.1f}", width, height, scale));
    if (hand.exists(plan_panel + "plan or numbers/numbers")) hand.click(plan_panel + "plan or numbers/numbers");
    hand.frames(2);
  }
}

CASE(train, found_by_typing) {
  show_training(hand, train_session());
  hand.ask("set train.recipe.steps to 800", [](Session& s) { s.train.recipe.steps = 800; });
  hand.ask("train: measure: directionality", [](Session& s) { s.train_look.measure = TrainMeasure::directionality; });
  requests(hand, "run", [&] { hand.ask("Train: run, pause or resume"); }, {.act = Act::run});
}

/// Every item has a tooltip; pictures over steps show their numbers instead.
CASE(train, explained) {
  show_training(hand, train_session(TrainKind::bisect));
  hand.click(plan_panel + "###backward steps");
  for (const std::string window : {"//Train plan", "//Train", "//Train numbers"})
    for (const auto& [id, label] : hand.items(window))
      if (!label.empty() && !label.starts_with("#SCROLL") && !label.starts_with("#RESIZE") && !label.starts_with("save"))
        hand.check(hand.explained(id), "'" + label + "' in " + window + " has no tooltip");
}

/// Draws frames until the view is `ready`.
void wait_for(Hand& hand, const std::string& what, const std::function<bool(const TrainView&)>& ready) {
  hand.await(what, [&] { return ready(hand.stage.panel_input().train); });
}

/// Goes back, forks, and captures a head of a trained run.
void revisited(Hand& hand) {
  hand.session().train_look.step = 4;
  hand.click(middle + "###go back");
  wait_for(hand, "step 3 is there again",
           [](const TrainView& v) { return v.record->step == 3 && v.record->pairs[0].points.size() == 2; });
  hand.session().train.a.method.block_k = 4;
  wait_for(hand, "the plan is another one", [](const TrainView& v) { return v.progress.stale && v.progress.forkable.empty(); });
  hand.click(middle + "###fork");
  wait_for(hand, "the training continues under the new plan",
           [](const TrainView& v) { return v.record->finished() && v.progress.state == TrainProgress::State::done; });
  const TrainRecord& r = *hand.stage.panel_input().train.record;
  hand.check(r.forks.size() == 1 && r.forks[0].step == 3 && r.forks[0].sentence == "a: block_k 32 -> 4", "the fork is noted");
  hand.session().train_look.run = 1, hand.session().train_look.head = 1, hand.session().train_look.step = 4;
  hand.frames(2);
  hand.click(numbers + "###open head");
  wait_for(hand, "Q, K and V are opened in Explore",
           [&](const TrainView&) { return hand.view().workspace == Workspace::explore; });
  const Experiment& e = hand.session().experiment;
  hand.expect_text(e.problem.input.file, hand.folder / "captures/b-layer-0-head-1-sequence-0-step-4.safetensors");
  hand.check(e.problem.n == 16 && e.problem.d == 8 && e.problem.mask.kind == Mask::Kind::causal, "the head as captured");
  hand.check(e.a == hand.session().train.a.method && e.b == hand.session().train.b.method && e.format == bf16,
             "with the methods of the training");
}

/// A session whose plan trains in milliseconds, with its text in the test's folder.
Session tiny_session(Hand& hand) {
  const std::filesystem::path file = hand.folder / "text.txt";
  std::ofstream out(file);
  for (int i = 0; i < 400; ++i) out << "the sum of " << i << " and " << i * 7 % 31 << "\n";
  Session s = train_session();
  s.train.text.file = file.string();
  s.train.model = {1, 16, 2, 16, Norm::layer};
  s.train.recipe.batch = 2, s.train.recipe.steps = 6, s.train.measure_every = 2, s.train.checkpoint_every = 3;
  return s;
}

/// Trains a tiny model by the buttons.
CASE(train, trained) {
  hand.stage.data_directory = hand.folder / "";
  const Session s = tiny_session(hand);
  hand.stage.resize(1600, 1000);
  hand.open(s);
  wait_for(hand, "the text is read", [](const TrainView& v) { return v.progress.vocabulary > 10; });
  hand.click(middle + "###one step");
  wait_for(hand, "one step is taken", [](const TrainView& v) {
    return v.record && v.record->step == 1 && v.progress.state == TrainProgress::State::paused;
  });
  hand.key(ImGuiKey_Space);
  wait_for(hand, "all steps are taken", [](const TrainView& v) {
    return v.record && v.record->finished() && v.progress.state == TrainProgress::State::done;
  });
  const TrainRecord& r = *hand.stage.panel_input().train.record;
  hand.check(r.pairs[0].points.back().step == 6 && r.pairs[0].points.back().deviations[0].max_abs > 0, "the models differ");
  hand.check(train_words(hand.stage.panel_input().train).headline.starts_with("After 6 steps flash2 and three-pass differ by "),
             train_words(hand.stage.panel_input().train).headline);
  revisited(hand);
  hand.stage.data_directory.clear();
  hand.open(s);
}

/// Checks that the table has a row for each seed of the command's JSON.
void check_seed_rows(Hand& hand, const std::vector<std::shared_ptr<const TrainRecord>>& shown, const Json& json) {
  int skipped_steps = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const Json& seed = json["seeds"][i];
    const auto loss = [&](int run) { return value_text(seed["runs"][run]["heldout_loss"].get<double>(), 3); };
    const auto skipped = [&](int run) { return std::to_string(seed["runs"][run]["skipped_steps"].get<int>()); };
    hand.check(seed_cells(*shown[i]) == std::array{skipped(0), skipped(1), loss(0), loss(1)}, "numbers of " + seed.dump());
    hand.check(hand.exists(rows + "##seed " + seed["seed"].dump()), "a row of seed " + seed["seed"].dump());
    skipped_steps += seed["skipped_steps"].get<int>();
  }
  hand.check(skipped_steps > 0, "a step is skipped");
}

/// Checks that a curve's band has the numbers of the command's JSON at these steps.
void check_band(Hand& hand, const Series& curve, const Json& band, const std::vector<double>& steps) {
  if (!hand.check(curve.x == steps && curve.low.back() < curve.high.back(), "there is a band")) return;
  for (std::size_t k = 0; k < steps.size(); ++k)
    hand.check(curve.low[k] == band["least"][k].get<double>() && curve.high[k] == band["greatest"][k].get<double>(),
               fmt::format("step {}: {} to {}", steps[k], curve.low[k], curve.high[k]));
}

/// Three seeds, trained by the button: bands and table have the numbers that `attoscope train --seeds 3 --json` prints.
CASE(train, seeds) {
  hand.stage.data_directory = hand.folder / "";
  Session s = tiny_session(hand);
  s.train.a.format = s.train.b.format = fp16;
  s.train.recipe.loss_scale = 0x1p20, s.train.recipe.steps = 12;
  hand.stage.resize(1600, 1000);
  hand.open(s);
  hand.changes("seeds", [&] { hand.type(plan_panel + "##seeds", "3"); }, [](Session& x) { x.train_look.seeds = 3; });
  wait_for(hand, "the text is read", [](const TrainView& v) { return v.progress.vocabulary > 10; });
  hand.click_at_rest(middle + "###run training");
  const auto all_done = [](const TrainView& v) {
    return v.seeds.size() == 2 && v.progress.state == TrainProgress::State::done;
  };
  wait_for(hand, "all seeds are trained", all_done);
  std::vector<std::shared_ptr<const TrainRecord>> shown = hand.stage.panel_input().train.seeds;
  shown.insert(shown.begin(), hand.stage.panel_input().train.record);
  std::vector<TrainRecord> records;
  for (int i = 0; i < 3; ++i) records.push_back(app::trained(at_seed(shown[0]->plan, i)).record);
  const Json json = seeds_json(records);
  check_seed_rows(hand, shown, json);
  const TrainDrawing& d = hand.stage.state->train->drawing;
  const Json& pair = json["bands"]["pairs"][0];
  check_band(hand, d.pairs.series[0], pair["rel_l2"], pair["step"].get<std::vector<double>>());
  check_band(hand, d.runs.series[1], json["bands"]["runs"][1]["loss"], {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  hand.changes("one seed", [&] { hand.type(plan_panel + "##seeds", "1"); }, [](Session& x) { x.train_look.seeds = 1; });
  hand.check(d.seeds.empty() && d.pairs.series[0].low.empty(), "one seed has no band");
  hand.stage.data_directory.clear();
  hand.open(s);
}

}  // namespace

}  // namespace attoscope::testing::train_cases
