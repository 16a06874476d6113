// The Train workspace: every control of the plan and of the look, what each button asks for, and every state that it can be in.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "imgui_internal.h"
#include "kernels/experiment/presets.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "tests/ui/workspaces/made_record.h"
#include "ui/train/panels.h"
#include "ui/train/train_state.h"
#include "ui/train/words.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::testing {
namespace {

using Act = TrainRequest::Act;

const std::string plan_panel = "//Train plan/", middle = "//Train/", numbers = "//Train numbers/", rows = "//Train numbers/**/";
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

Session train_session(TrainKind kind = TrainKind::methods) {
  Session s = small_session();
  s.view.workspace = Workspace::train;
  s.train.kind = kind;
  return s;
}

/// A window that is told this, after the session's plan was trained for so many steps; 0: nothing was.
void show(Hand& hand, const Session& session, int steps = 240) {
  hand.stage.resize(1600, 1000);
  hand.open(session);
  PanelInput input = hand.stage.panel_input();
  input.train = steps == 0 ? ready_view(session.train) : made_view(made_record(session.train, steps));
  hand.stage.told = input;
  hand.frames(3);
}

/// `act` changes nothing of the session and asks for this.
void requests(Hand& hand, const std::string& what, const std::function<void()>& act, const TrainRequest& expected) {
  hand.stage.train_request = {};
  hand.leaves(what, act);
  const TrainRequest& found = hand.stage.train_request;
  hand.check(found == expected,
             what + fmt::format(": act {}, step {}, run {}, head {}.{} of {}, '{}'", static_cast<int>(found.act), found.step,
                                found.run, found.layer, found.head, found.sequence, found.file));
}

void kinds(Hand& hand) {
  show(hand, train_session());
  hand.changes(
      "bands", [&] { hand.click(plan_panel + "kind/bands"); }, [](Session& s) { s.train.kind = TrainKind::reference; });
  hand.changes("replay", [&] { hand.click(plan_panel + "kind/replay"); }, [](Session& s) { s.train.kind = TrainKind::replay; });
  hand.changes("bisect", [&] { hand.click(plan_panel + "kind/bisect"); }, [](Session& s) { s.train.kind = TrainKind::bisect; });
  for (const auto& [label, by] : {std::pair{"gradient", BisectBy::gradient}, std::pair{"layer", BisectBy::layer},
                                  std::pair{"head", BisectBy::head}, std::pair{"step", BisectBy::step}})
    hand.changes(
        std::string("by ") + label, [&, label = label] { hand.click(plan_panel + "bisect/" + label); },
        [by = by](Session& s) { s.train.bisect = by; });
  hand.changes("a - b", [&] { hand.click(plan_panel + "kind/a − b"); }, [](Session& s) { s.train.kind = TrainKind::methods; });
  hand.check(!hand.exists(plan_panel + "bisect/layer"), "what is not bisected has no pieces");
  hand.changes(
      "no exact attention", [&] { hand.click(plan_panel + "##exact attention too"); },
      [](Session& s) { s.train.with_exact = false; });
  hand.changes("undone", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_Z); }, [](Session& s) { s.train.with_exact = true; });
  hand.changes("undone", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_Z); }, [](Session& s) { s.train.kind = TrainKind::bisect; });
}

void methods(Hand& hand) {
  show(hand, train_session());
  hand.changes(
      "format of b", [&] { hand.choose(plan_panel + "b/##format", "fp16"); }, [](Session& s) { s.train.b.format = fp16; });
  hand.changes(
      "algorithm of a", [&] { hand.choose(plan_panel + "a/##algorithm", "flash4"); },
      [](Session& s) { s.train.a.method.algorithm = Algorithm::flash4; });
  hand.changes(
      "policy of a, and its backward pass", [&] { hand.choose(plan_panel + "a/##preset", "hw"); },
      [](Session& s) {
        s.train.a.method.precision = policy("hw").precision;
        s.train.a.gradient = grad_policy("grad_hw").precision;
      });
  hand.changes(
      "backward policy", [&] { hand.choose(plan_panel + "a/##backward", "###grad_all"); },
      [](Session& s) { s.train.a.gradient = grad_policy("grad_all").precision; });
  hand.changes(
      "a policy beside a backward pass of one's own", [&] { hand.choose(plan_panel + "a/##preset", "tile"); },
      [](Session& s) { s.train.a.method.precision = policy("tile").precision; });
  hand.changes(
      "delta of b", [&] { hand.click(plan_panel + "b/###delta from"); },
      [](Session& s) { s.train.b.gradient.delta_from = DeltaFrom::output; });
  hand.leaves("the steps are unfolded", [&] { hand.click(plan_panel + "###backward steps"); });
  hand.changes(
      "dS of a is exact", [&] { hand.click(plan_panel + "a/backward/dS"); },
      [](Session& s) { s.train.a.gradient[GradStep::dS] = exact; });
  hand.changes(
      "dQ of b in fp32",
      [&] {
        hand.click(plan_panel + "b/backward/dQ", 1);
        hand.pick("fp32");
      },
      [](Session& s) { s.train.b.gradient[GradStep::dQ] = to_format(fp32); });
  hand.changes(
      "an option of a",
      [&] {
        hand.click(plan_panel + "a/###options");
        hand.pick("##compensated");
      },
      [](Session& s) { s.train.a.method.kahan_l = true; });
  hand.key(ImGuiKey_Escape);
  hand.click(plan_panel + "a/##algorithm");
  hand.check(hand.disabled("//$FOCUSED/hardware") && hand.disabled("//$FOCUSED/loaded"),
             "what is not emulated cannot be trained");
  hand.key(ImGuiKey_Escape);
}

void exact_heads(Hand& hand) {
  show(hand, train_session());
  const auto press = [&](const char* method, int layer, int head, bool shift) {
    if (shift) hand.hold_key(ImGuiMod_Shift, true);
    hand.press(hand.place(plan_panel + method + "/exact heads", (static_cast<float>(head) + 0.5f) / 4,
                          (static_cast<float>(layer) + 0.5f) / 2));
    if (shift) hand.hold_key(ImGuiMod_Shift, false);
  };
  hand.changes("a head", [&] { press("a", 1, 2, false); }, [](Session& s) { s.train.a.exact = {{1, 2}}; });
  hand.changes("a layer", [&] { press("a", 0, 3, true); }, [](Session& s) { s.train.a.exact = {{0, -1}, {1, 2}}; });
  hand.changes(
      "a head of it rounds", [&] { press("a", 0, 0, false); },
      [](Session& s) { s.train.a.exact = {{0, 1}, {0, 2}, {0, 3}, {1, 2}}; });
  hand.changes("b", [&] { press("b", 1, 0, false); }, [](Session& s) { s.train.b.exact = {{1, 0}}; });
  hand.changes("b again", [&] { press("b", 1, 0, false); }, [](Session& s) { s.train.b.exact = {}; });
}

void exchange(Hand& hand) {
  Session s = train_session();
  s.experiment.format = fp16;
  s.experiment.a.precision = policy("tile").precision;
  s.experiment.a.precision[Step::O] = to_format(fp32);
  show(hand, s);
  hand.changes(
      "taken from Explore", [&] { hand.click(plan_panel + "###take methods"); },
      [](Session& x) {
        x.train.a.method = x.experiment.a, x.train.b.method = x.experiment.b;
        x.train.a.format = x.train.b.format = fp16;
        x.train.a.gradient = usual_grad_policy(x.experiment.a).precision;
        x.train.b.gradient = usual_grad_policy(x.experiment.b).precision;
      });
  hand.changes(
      "another policy", [&] { hand.choose(plan_panel + "a/##preset", "all_tile"); },
      [](Session& x) {
        x.train.a.method.precision = policy("all_tile").precision;
        x.train.a.gradient = grad_policy("grad_all").precision;
      });
  hand.changes(
      "given back", [&] { hand.click(plan_panel + "###give methods"); },
      [](Session& x) { x.experiment.a = x.train.a.method, x.experiment.b = x.train.b.method; });
  hand.session().experiment.a.algorithm = Algorithm::hardware;
  hand.frames(2);
  hand.check(hand.disabled(plan_panel + "###take methods"), "a GPU's own kernel cannot be taken");
}

void model_and_recipe(Hand& hand) {
  show(hand, train_session());
  hand.changes("layers", [&] { hand.type(plan_panel + "##layers", "3"); }, [](Session& s) { s.train.model.layers = 3; });
  hand.changes("width", [&] { hand.type(plan_panel + "##width", "96"); }, [](Session& s) { s.train.model.width = 96; });
  hand.changes("heads", [&] { hand.type(plan_panel + "##heads", "6"); }, [](Session& s) { s.train.model.heads = 6; });
  hand.changes("context", [&] { hand.type(plan_panel + "##context", "64"); }, [](Session& s) { s.train.model.context = 64; });
  hand.changes("norm", [&] { hand.click(plan_panel + "norm/RMSNorm"); }, [](Session& s) { s.train.model.norm = Norm::rms; });
  hand.changes("steps", [&] { hand.type(plan_panel + "##steps", "5000"); }, [](Session& s) { s.train.recipe.steps = 5000; });
  hand.changes("batch", [&] { hand.type(plan_panel + "##batch", "12"); }, [](Session& s) { s.train.recipe.batch = 12; });
  hand.changes("warm-up", [&] { hand.type(plan_panel + "##warm-up", "7"); }, [](Session& s) { s.train.recipe.warmup = 7; });
  hand.changes("rate", [&] { hand.fill(plan_panel + "##rate", "0.002"); }, [](Session& s) { s.train.recipe.rate = 0.002; });
  struct Field {
    const char *id, *text;
    void (*mutate)(TrainPlan&);
  };
  constexpr std::array<Field, 12> fields{{
      {"##final_rate", "0.0002", [](TrainPlan& p) { p.recipe.final_rate = 0.0002; }},
      {"##beta1", "0.8", [](TrainPlan& p) { p.recipe.beta1 = 0.8; }},
      {"##beta2", "0.99", [](TrainPlan& p) { p.recipe.beta2 = 0.99; }},
      {"##epsilon", "1e-6", [](TrainPlan& p) { p.recipe.epsilon = 1e-6; }},
      {"##weight_decay", "0", [](TrainPlan& p) { p.recipe.weight_decay = 0; }},
      {"##clip", "2.5", [](TrainPlan& p) { p.recipe.clip = 2.5; }},
      {"##seed", "17", [](TrainPlan& p) { p.recipe.seed = 17; }},
      {"##data_seed", "18", [](TrainPlan& p) { p.recipe.data_seed = 18; }},
      {"##loss_scale", "1024", [](TrainPlan& p) { p.recipe.loss_scale = 1024; }},
      {"##scale_growth", "50", [](TrainPlan& p) { p.recipe.scale_growth = 50; }},
      {"##measure_every", "5", [](TrainPlan& p) { p.measure_every = 5; }},
      {"##checkpoint_every", "40", [](TrainPlan& p) { p.checkpoint_every = 40; }},
  }};
  hand.click(plan_panel + "###more");
  hand.frames(2);
  for (const Field& f : fields)
    hand.changes(f.id, [&] { hand.fill(std::string("//$FOCUSED/") + f.id, f.text); }, [&](Session& s) { f.mutate(s.train); });
  hand.leaves("numbers out of range are not taken", [&] { hand.fill("//$FOCUSED/##beta1", "1.5"); });
  hand.key(ImGuiKey_Escape);
}

void text(Hand& hand) {
  show(hand, train_session());
  hand.changes(
      "a file", [&] { hand.fill(plan_panel + "##text", "/tmp/novel.txt"); },
      [](Session& s) {
        s.train.text = {};
        s.train.text.file = "/tmp/novel.txt";
      });
  hand.changes(
      "the embedded text", [&] { hand.click(plan_panel + "###embedded text"); }, [](Session& s) { s.train.text = {}; });
  hand.check(part_of("model.width is 10, expected a multiple of model.heads") == PlanPart::model &&
                 part_of("a.format is fp64") == PlanPart::methods && part_of("recipe.rate is 2") == PlanPart::recipe &&
                 part_of("bisect is head") == PlanPart::kind && part_of("/tmp/x.txt is not UTF-8") == PlanPart::text,
             "what is wrong is said where it is");
}

void looks(Hand& hand) {
  show(hand, train_session(TrainKind::reference));
  hand.changes(
      "measure", [&] { hand.choose(middle + "##measure", "###wasserstein"); },
      [](Session& s) { s.train_look.measure = TrainMeasure::wasserstein; });
  hand.changes("relative", [&] { hand.click(middle + "##relative"); }, [](Session& s) { s.train_look.relative = true; });
  hand.changes("linear", [&] { hand.click(middle + "##log"); }, [](Session& s) { s.train_look.log_y = false; });
  hand.changes(
      "a curve is hidden", [&] { hand.click(middle + "legend bf16 - fp32"); },
      [](Session& s) { s.train_look.hidden = 1 << 3; });
  hand.changes(
      "and another", [&] { hand.click(middle + "legend a - b"); }, [](Session& s) { s.train_look.hidden = 1 << 3 | 1; });
  hand.changes("and shown", [&] { hand.click(middle + "legend a - b"); }, [](Session& s) { s.train_look.hidden = 1 << 3; });
  hand.changes(
      "of the runs", [&] { hand.choose(middle + "##of runs", "###delta_bias"); },
      [](Session& s) { s.train_look.of_runs = RunMeasure::delta_bias; });
  hand.changes("of one head", [&] { hand.click(middle + "##worst head"); }, [](Session& s) { s.train_look.worst = false; });
  hand.changes("logarithmic", [&] { hand.click(middle + "runs/##log"); }, [](Session& s) { s.train_look.log_runs = true; });
  hand.changes("b is hidden", [&] { hand.click(middle + "legend b"); }, [](Session& s) { s.train_look.hidden_runs = 2; });
  hand.changes(
      "matrix", [&] { hand.click(middle + "picture/matrix"); },
      [](Session& s) { s.train_look.picture = WeightPicture::matrix; });
  hand.changes("tensor", [&] { hand.choose(middle + "##tensor", "###tensor 3"); }, [](Session& s) { s.train_look.tensor = 3; });
  hand.changes(
      "all tensors", [&] { hand.choose(middle + "##tensor", "###tensor all"); }, [](Session& s) { s.train_look.tensor = -1; });
  hand.changes("pair", [&] { hand.choose(middle + "##pair", "###pair 2"); }, [](Session& s) { s.train_look.pair = 2; });
  hand.changes(
      "a row of the table", [&] { hand.click(rows + "##tensor layer 0 W_Q"); }, [](Session& s) { s.train_look.tensor = 4; });
  hand.leaves("sorting", [&] { hand.click(numbers + "sort by W1"); });
  hand.changes(
      "a head", [&] { hand.click(rows + "##layer 1 head 2"); },
      [](Session& s) { s.train_look.layer = 1, s.train_look.head = 2; });
  hand.changes("whose Q, K, V", [&] { hand.choose(numbers + "##run", "###run 1"); }, [](Session& s) { s.train_look.run = 1; });
  hand.changes(
      "which sequence", [&] { hand.fill(numbers + "##sequence", "5"); }, [](Session& s) { s.train_look.sequence = 5; });
  hand.changes(
      "cosine", [&] { hand.choose(middle + "##measure", "###update_cosine"); },
      [](Session& s) { s.train_look.measure = TrainMeasure::update_cosine; });
  hand.check(hand.disabled(middle + "##relative") && hand.disabled(middle + "##log"), "a cosine has no unit, and no logarithm");
}

void steps(Hand& hand) {
  show(hand, train_session());
  const auto at = [&](const char* plot, float x) { return hand.place(middle + plot, x); };
  // the axis reaches to 400
  hand.changes(
      "a measured step of the curves", [&] { hand.press(at("deviation area", 0.503f)); },
      [](Session& s) { s.train_look.step = 200; });
  hand.changes("let go", [&] { hand.press(at("deviation area", 0.503f)); }, [](Session& s) { s.train_look.step = -1; });
  hand.changes(
      "any step of the runs", [&] { hand.press(at("runs area", 0.2535f)); }, [](Session& s) { s.train_look.step = 101; });
  hand.changes("of the picture", [&] { hand.press(at("weights", 0.302f)); }, [](Session& s) { s.train_look.step = 120; });
  hand.changes("of the kept states", [&] { hand.press(at("kept steps", 0.49f)); }, [](Session& s) { s.train_look.step = 200; });
  hand.leaves("zooming", [&] { hand.wheel(at("deviation area", 0.5f), 3); });
  hand.check(hand.stage.state->train->zoom1 > 0 && hand.stage.state->train->zoom1 < 400, "shows fewer steps");
  hand.leaves("a double click shows all", [&] { hand.press(at("runs area", 0.1f), 2); });
  hand.check(hand.stage.state->train->zoom1 == 0, "all steps are shown");
}

void requested(Hand& hand) {
  show(hand, train_session(), 0);
  hand.check(!hand.exists(middle + "###train"), "one button runs it");
  requests(hand, "run", [&] { hand.click(middle + "###run training"); }, {.act = Act::run});
  requests(hand, "one step", [&] { hand.click(middle + "###one step"); }, {.act = Act::one_step});
  hand.check(hand.disabled(middle + "###restart") && hand.disabled(middle + "###go back") && hand.disabled(middle + "###fork"),
             "there is nothing to go back to");
  requests(hand, "space", [&] { hand.key(ImGuiKey_Space); }, {.act = Act::run});
  requests(hand, "N", [&] { hand.key(ImGuiKey_N); }, {.act = Act::one_step});
  requests(hand, "Shift+R", [&] { hand.key(ImGuiMod_Shift | ImGuiKey_R); }, {});
  show(hand, train_session(), 240);
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
  hand.check(hand.disabled(middle + "###restart"), "one button begins anew under a plan that changed");
  hand.stage.told->train.progress.forkable = "The model is another one.";
  hand.frames(2);
  hand.check(hand.disabled(middle + "###fork"), "what does not fit cannot be forked");
  hand.stage.told->train.progress.state = TrainProgress::State::running;
  requests(hand, "pause", [&] { hand.click(middle + "###run training"); }, {.act = Act::pause});
  hand.check(hand.disabled(middle + "###one step"), "what runs takes no single steps");
  hand.stage.told->train.progress.state = TrainProgress::State::paused;
  hand.stage.told->train.progress.wrong = "model.width is 130, expected a multiple of model.heads, which is 4";
  hand.frames(2);
  hand.check(hand.disabled(middle + "###run training") && hand.disabled(middle + "###restart"), "a wrong plan is not trained");
  requests(hand, "space", [&] { hand.key(ImGuiKey_Space); }, {});
}

void ends(Hand& hand) {
  Session s = train_session();
  show(hand, s, 400);
  hand.check(hand.disabled(middle + "###run training") && hand.disabled(middle + "###one step"), "what is done does not go on");
  hand.stage.told->train.progress.stale = true;
  requests(hand, "but begins anew under another plan", [&] { hand.click(middle + "###run training"); }, {.act = Act::run});
  show(hand, s, 240);
  hand.stage.told->train.progress.state = TrainProgress::State::stopped;
  hand.frames(2);
  hand.check(hand.disabled(middle + "###run training") && !hand.disabled(middle + "###go back"),
             "what diverged can be taken back");
}

/// The zoom goes with a button, and with another training.
void zoom(Hand& hand) {
  show(hand, train_session());
  const TrainPanelState& m = *hand.stage.state->train;
  const auto zoom_in = [&] {
    hand.wheel(hand.place(middle + "deviation area", 0.5f), 3);
    hand.check(m.zoom1 > m.zoom0, "fewer steps are shown");
  };
  hand.check(hand.disabled(middle + "###all steps"), "all steps are shown");
  zoom_in();
  hand.leaves("the button", [&] { hand.click(middle + "###all steps"); });
  hand.check(m.zoom1 == 0, "shows all");
  zoom_in();
  hand.stage.told->train = made_view(made_record(hand.session().train, 260));
  hand.frames(2);
  hand.check(m.zoom1 > 0, "further steps leave it");
  requests(hand, "restart", [&] { hand.click(middle + "###restart"); }, {.act = Act::restart});
  hand.stage.told->train = made_view(made_record(hand.session().train, 20));
  hand.frames(2);
  hand.check(m.zoom1 == 0 && m.branches.left.empty(), "a new run shows all its steps, and nothing of the old one");
}

/// What was left by going back or by a fork stays as a pale curve from there on.
void branches(Hand& hand) {
  show(hand, train_session(), 240);
  const TrainBranches& b = hand.stage.state->train->branches;
  const auto tell = [&](const std::shared_ptr<TrainRecord>& record) {
    hand.stage.told->train = made_view(record);
    hand.move({2, 2});
    hand.frames(3);
    return hand.picture().rgb;
  };
  const auto plan = hand.session().train;
  const auto back = tell(made_record(plan, 100));
  hand.check(b.left.size() == 1 && b.left[0].from == 100 && !b.left[0].fork && b.left[0].record->step == 240,
             "going back leaves a branch");
  hand.check(hand.stage.state->train->drawing.last >= 240, "which the axis shows");
  auto forked = made_record(plan, 180);
  forked->forks = {{140, "a: policy eager -> hw"}};
  for (RunRecord& run : forked->runs)
    for (StepReport& step : run.steps)
      if (step.step > 140) step.loss += 0.5;
  tell(made_record(plan, 170));
  tell(forked);
  hand.check(b.left.size() == 2 && b.left[1].from == 140 && b.left[1].fork, "so does a fork");
  auto on = std::make_shared<TrainRecord>(*forked);
  on->step = 181;
  tell(on);
  hand.check(b.left.size() == 2, "which goes on");
  auto other = made_record(plan, 60);
  for (RunRecord& run : other->runs)
    for (StepReport& step : run.steps) step.loss += 1;
  tell(other);
  hand.check(b.left.empty(), "another training has none");
  tell(made_record(plan, 240));
  show(hand, train_session(), 100);
  hand.check(tell(made_record(plan, 100)) != back, "a branch is seen");
}

/// No row of the tables is cut, and no name of a tensor that is listed beside its numbers.
void whole_cells(Hand& hand) {
  hand.check(whole_rows(100, 18) == 90 && whole_rows(5, 18) == 18, "whole rows");
  for (const auto& [width, height] : {std::pair{1280, 800}, std::pair{1600, 1000}, std::pair{1920, 1080}}) {
    show(hand, train_session(), 240);
    hand.stage.resize(width, height);
    hand.frames(4);
    for (const auto& [child, row] : {std::pair{"tensors", 18.0f}, std::pair{"heads", 33.0f}}) {
      const std::string prefix = std::string("Train numbers/") + child;
      for (const ImGuiWindow* w : ImGui::GetCurrentContext()->Windows)
        if (w->Active && std::string(w->Name).starts_with(prefix))
          hand.check(std::fmod(w->Size.y, row) == 0, std::string(w->Name) + " cuts a row at " + std::to_string(height));
    }
    const float room = (ImGui::FindWindowByName("Train numbers")->Size.x - 24 - 10) - 5 * 50 + 4;
    for (const ParameterTensor& t : hand.stage.told->train.record->parameters.tensors)
      hand.check(text_width(Face::small, short_name(t)) <= room, short_name(t) + " is cut at " + std::to_string(width));
  }
}

/// Where the numbers of a and b are the same, both colours are seen.
void both_seen(Hand& hand) {
  Session s = train_session();
  s.train.with_exact = false;
  for (const Theme theme : {Theme::dark, Theme::light}) {
    s.view.theme = theme;
    show(hand, s, 240);
    auto record = made_record(s.train, 240);
    record->runs[1].steps = record->runs[0].steps;
    hand.stage.told->train = made_view(record);
    hand.frames(2);
    const ImVec2 from = hand.place(middle + "runs area", 0.3f, 0), to = hand.place(middle + "runs area", 0.5f, 1);
    hand.move({2, 2});
    const Picture picture = hand.picture();
    const auto count = [&](Colour colour) {
      int pixels = 0;
      for (int y = static_cast<int>(from.y); y < static_cast<int>(to.y); ++y)
        for (int x = static_cast<int>(from.x); x < static_cast<int>(to.x); ++x) {
          bool same = true;
          for (int c = 0; c < 3; ++c)
            same &= std::abs(picture.rgb[static_cast<std::size_t>((y * picture.width + x) * 3 + c)] -
                             static_cast<int>(colour >> (8 * c) & 255)) < 40;
          pixels += same;
        }
      return pixels;
    };
    const int a = count(palette(theme).a), b = count(palette(theme).b), columns = static_cast<int>(to.x - from.x);
    hand.check(a > columns / 2 && b > columns / 2, fmt::format("{} pixels of a, {} of b in {} columns", a, b, columns));
  }
}

void checkpoints(Hand& hand) {
  show(hand, train_session(), 240);
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

void beside_exact(Hand& hand) {
  show(hand, train_session());
  for (const auto& [name, bit] : {std::pair{"a - b", 0}, std::pair{"a - exact", 1}, std::pair{"b - exact", 2}}) {
    hand.changes(
        std::string(name) + " is a curve", [&, name = name] { hand.click(middle + "legend " + name); },
        [bit = bit](Session& s) { s.train_look.hidden ^= 1U << bit; });
    hand.changes(
        std::string(name) + " is shown again", [&, name = name] { hand.click(middle + "legend " + name); },
        [bit = bit](Session& s) { s.train_look.hidden ^= 1U << bit; });
  }
  hand.changes(
      "the third model's loss is a curve", [&] { hand.click(middle + "legend exact"); },
      [](Session& s) { s.train_look.hidden_runs = 4; });
  Session s = train_session();
  s.train.with_exact = false;
  show(hand, s);
  hand.check(!hand.exists(middle + "legend a - exact"), "without the third model there is none");
}

void explored(Hand& hand) {
  Session s = train_session();
  s.train_look.run = 1, s.train_look.layer = 1, s.train_look.head = 3, s.train_look.sequence = 6;
  show(hand, s, 240);
  requests(hand, "the newest step", [&] { hand.click(numbers + "###open head"); },
           {.act = Act::explore, .step = 240, .run = 1, .layer = 1, .head = 3, .sequence = 6});
  hand.session().train_look.step = 120;
  requests(hand, "the picked step", [&] { hand.click(numbers + "###open head"); },
           {.act = Act::explore, .step = 120, .run = 1, .layer = 1, .head = 3, .sequence = 6});
  hand.session().train_look.run = 99, hand.session().train_look.layer = 11;
  requests(hand, "only what there is", [&] { hand.click(numbers + "###open head"); },
           {.act = Act::explore, .step = 120, .run = 2, .layer = 1, .head = 3, .sequence = 6});
}

void suspects(Hand& hand) {
  show(hand, train_session(TrainKind::bisect), 240);
  const TrainRecord& r = *hand.stage.told->train.record;
  const std::vector<RankedSuspect> ranked = ranked_suspects(r, TrainMeasure::max_abs, -1, -1);
  hand.check(ranked.size() + 1 == r.pairs.size() && std::ranges::is_sorted(ranked, {}, &RankedSuspect::share),
             "the most telling suspect is the first");
  const double left =
      r.pairs[ranked[0].pair].points.back().deviations[0].max_abs / r.pairs[0].points.back().deviations[0].max_abs;
  hand.check(ranked[0].share == left, "what is left is a share of a - b's");
  const int pair = static_cast<int>(ranked[1].pair);
  hand.changes(
      "a suspect is looked at", [&] { hand.click(rows + "##suspect " + r.pairs[static_cast<std::size_t>(pair)].pair.name); },
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

/// Draws what is told in all looks, with the mouse over everything.
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

void strange_states(Hand& hand) {
  Session s = train_session(TrainKind::reference);
  hand.stage.resize(1280, 800);
  show(hand, s, 0);
  look(hand, "nothing");
  show(hand, s, 1);
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
  show(hand, s, 20);
  look(hand, "192 suspects");
  for (const auto& [width, height, scale] :
       {std::tuple{1280, 800, 1.0}, std::tuple{1280, 800, 2.0}, std::tuple{640, 400, 1.0}, std::tuple{1920, 1080, 1.5}}) {
    hand.stage.resize(width, height);
    hand.view().ui_scale = scale;
    look(hand, fmt::format("{} x {} at {:.1f}", width, height, scale));
    if (hand.exists(plan_panel + "plan or numbers/numbers")) hand.click(plan_panel + "plan or numbers/numbers");
    hand.frames(2);
  }
}

void found_by_typing(Hand& hand) {
  show(hand, train_session());
  const auto ask = [&](const std::string& query) {
    hand.key(ImGuiMod_Ctrl | ImGuiKey_P);
    hand.frames(2);
    hand.enter(query);
    hand.frames(2);
  };
  hand.changes("steps", [&] { ask("set train.recipe.steps to 800"); }, [](Session& s) { s.train.recipe.steps = 800; });
  hand.changes(
      "measure", [&] { ask("train: measure: directionality"); },
      [](Session& s) { s.train_look.measure = TrainMeasure::directionality; });
  requests(hand, "run", [&] { ask("Train: run, pause or resume"); }, {.act = Act::run});
}

/// Every item explains itself; pictures over steps tell their numbers instead.
void explained(Hand& hand) {
  show(hand, train_session(TrainKind::bisect));
  hand.click(plan_panel + "###backward steps");
  for (const std::string window : {"//Train plan", "//Train", "//Train numbers"})
    for (const auto& [id, label] : hand.items(window))
      if (!label.empty() && !label.starts_with("#SCROLL") && !label.starts_with("#RESIZE") && !label.starts_with("save") &&
          !label.ends_with(" area") && label != "weights")
        hand.check(hand.explained(id), "'" + label + "' in " + window + " says nothing");
}

/// Goes back, forks, and looks into a head of a run that the desk has trained; `wait` until the view is as it should be.
template <class Wait>
void revisited(Hand& hand, const TemporaryDirectory& scratch, const Wait& wait) {
  hand.session().train_look.step = 4;
  hand.click(middle + "###go back");
  wait([](const TrainView& v) { return v.record->step == 3 && v.record->pairs[0].points.size() == 2; },
       "step 3 is there again");
  hand.session().train.a.method.block_k = 4;
  wait([](const TrainView& v) { return v.progress.stale && v.progress.forkable.empty(); }, "the plan is another one");
  hand.click(middle + "###fork");
  wait([](const TrainView& v) { return v.record->finished() && v.progress.state == TrainProgress::State::done; },
       "it goes on under it");
  const TrainRecord& r = *hand.stage.panel_input().train.record;
  hand.check(r.forks.size() == 1 && r.forks[0].step == 3 && r.forks[0].sentence == "a: block_k 64 -> 4", "the fork is noted");
  hand.session().train_look.run = 1, hand.session().train_look.head = 1, hand.session().train_look.step = 4;
  hand.frames(2);
  hand.click(numbers + "###open head");
  wait([&](const TrainView&) { return hand.view().workspace == Workspace::explore; }, "Q, K and V are opened in Explore");
  const Experiment& e = hand.session().experiment;
  hand.check(e.problem.input.file == scratch / "captures/b-layer-0-head-1-sequence-0-step-4.safetensors", e.problem.input.file);
  hand.check(e.problem.n == 16 && e.problem.d == 8 && e.problem.mask.kind == Mask::Kind::causal, "as attention got them");
  hand.check(e.a == hand.session().train.a.method && e.b == hand.session().train.b.method && e.format == bf16,
             "with the methods of the training");
}

/// A tiny model, really trained by the buttons.
void trained(Hand& hand) {
  const TemporaryDirectory scratch;
  hand.stage.data_directory = scratch / "";
  const std::filesystem::path file = scratch / "text.txt";
  std::ofstream out(file);
  for (int i = 0; i < 400; ++i) out << "the sum of " << i << " and " << i * 7 % 31 << "\n";
  out.close();
  Session s = train_session();
  s.train.text.file = file.string();
  s.train.model = {1, 16, 2, 16, Norm::layer};
  s.train.recipe.batch = 2, s.train.recipe.steps = 6, s.train.measure_every = 2, s.train.checkpoint_every = 3;
  hand.stage.resize(1600, 1000);
  hand.open(s);
  const auto wait = [&](const std::function<bool(const TrainView&)>& ready, const std::string& what) {
    for (int i = 0; i < 8000 && !ready(hand.stage.panel_input().train); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      hand.frames(1);
    }
    hand.check(ready(hand.stage.panel_input().train), what);
    hand.frames(2);
  };
  wait([](const TrainView& v) { return v.progress.vocabulary > 10; }, "the text is read");
  hand.click(middle + "###one step");
  wait([](const TrainView& v) { return v.record && v.record->step == 1 && v.progress.state == TrainProgress::State::paused; },
       "one step is taken");
  hand.key(ImGuiKey_Space);
  wait([](const TrainView& v) { return v.record && v.record->finished() && v.progress.state == TrainProgress::State::done; },
       "all steps are taken");
  const TrainRecord& r = *hand.stage.panel_input().train.record;
  hand.check(r.pairs[0].points.back().step == 6 && r.pairs[0].points.back().deviations[0].max_abs > 0, "and the models differ");
  hand.check(train_words(hand.stage.panel_input().train).headline.starts_with("After 6 steps a and b differ by "),
             train_words(hand.stage.panel_input().train).headline);
  revisited(hand, scratch, wait);
  hand.stage.data_directory.clear();
  hand.open(s);
}

constexpr std::array cases{
    Case{"train", "kinds", kinds},
    Case{"train", "methods", methods},
    Case{"train", "exact heads", exact_heads},
    Case{"train", "exchange", exchange},
    Case{"train", "model and recipe", model_and_recipe},
    Case{"train", "text", text},
    Case{"train", "looks", looks},
    Case{"train", "beside exact attention", beside_exact},
    Case{"train", "steps", steps},
    Case{"train", "requests", requested},
    Case{"train", "ends", ends},
    Case{"train", "train zoom", zoom},
    Case{"train", "branches", branches},
    Case{"train", "both seen", both_seen},
    Case{"train", "whole cells", whole_cells},
    Case{"train", "checkpoints", checkpoints},
    Case{"train", "explored", explored},
    Case{"train", "suspects", suspects},
    Case{"train", "strange states", strange_states},
    Case{"train", "found by typing", found_by_typing},
    Case{"train", "explained", explained},
    Case{"train", "trained", trained},
};

}  // namespace

std::span<const Case> train_cases() { return cases; }

}  // namespace attoscope::testing
