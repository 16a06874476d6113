// The Train workspace: every control of the plan.
#include <string>
#include <utility>

#include "kernels/experiment/presets.h"
#include "tests/ui/workspaces/train_scene.h"
#include "ui/train/panels.h"
#include "ui/train/series.h"

namespace attoscope::testing::train_plan_cases {
namespace {

const std::string plan_panel = train_plan_panel;

CASE(train_plan, kinds) {
  show_training(hand, train_session());
  hand.each({{plan_panel + "kind/bands", [](Session& s) { s.train.kind = TrainKind::reference; }},
             {plan_panel + "kind/replay", [](Session& s) { s.train.kind = TrainKind::replay; }},
             {plan_panel + "kind/bisect", [](Session& s) { s.train.kind = TrainKind::bisect; }}});
  for (const auto& [label, by] : {std::pair{"gradient", BisectBy::gradient}, std::pair{"layer", BisectBy::layer},
                                  std::pair{"head", BisectBy::head}, std::pair{"step", BisectBy::step}})
    hand.click(plan_panel + "bisect/" + label, [by = by](Session& s) { s.train.bisect = by; });
  hand.changes("pair", [&] { hand.click(plan_panel + "kind/pair"); }, [](Session& s) { s.train.kind = TrainKind::methods; });
  hand.check(!hand.exists(plan_panel + "bisect/layer"), "a plan without bisecting has no pieces");
  hand.click(plan_panel + "##exact attention too", [](Session& s) { s.train.with_exact = false; });
  hand.changes("undone", [&] { hand.key(undo_key); }, [](Session& s) { s.train.with_exact = true; });
  hand.changes("undone", [&] { hand.key(undo_key); }, [](Session& s) { s.train.kind = TrainKind::bisect; });
}

CASE(train_plan, methods) {
  show_training(hand, train_session());
  hand.each({{plan_panel + "b/##format", [](Session& s) { s.train.b.format = fp16; }, {}, "fp16"},
             {plan_panel + "a/##algorithm", [](Session& s) { s.train.a.method.algorithm = Algorithm::flash4; }, {}, "flash4"},
             {plan_panel + "a/##preset",
              [](Session& s) {
                s.train.a.method.precision = policy("hw").precision;
                s.train.a.gradient = grad_policy("grad_hw").precision;
              },
              {},
              "hw"},
             {plan_panel + "a/##backward",
              [](Session& s) { s.train.a.gradient = grad_policy("grad_all").precision; },
              {},
              "###grad_all"},
             {plan_panel + "a/##preset", [](Session& s) { s.train.a.method.precision = policy("tile").precision; }, {}, "tile"},
             {plan_panel + "b/###delta from", [](Session& s) { s.train.b.gradient.delta_from = DeltaFrom::output; }}});
  hand.leaves("the steps are unfolded", [&] { hand.click(plan_panel + "###backward steps"); });
  hand.click(plan_panel + "a/backward/dS", [](Session& s) { s.train.a.gradient[GradStep::dS] = exact; });
  hand.choose(plan_panel + "b/backward/dQ", "fp32", [](Session& s) { s.train.b.gradient[GradStep::dQ] = to_format(fp32); }, 1);
  hand.changes("weights of a", [&] { hand.click(plan_panel + "a/weights"); }, [](Session& s) { s.train.a.weights = to_main; });
  hand.choose(plan_panel + "b/optimiser", "fp16", [](Session& s) { s.train.b.optimiser = to_format(fp16); }, 1);
  hand.choose(plan_panel + "a/###options", "##compensated", [](Session& s) { s.train.a.method.kahan_l = true; });
  hand.key(ImGuiKey_Escape);
  hand.click(plan_panel + "a/##algorithm");
  hand.check(hand.disabled("//$FOCUSED/hardware") && hand.disabled("//$FOCUSED/loaded"),
             "methods that are not emulated cannot be trained");
  hand.key(ImGuiKey_Escape);
}

CASE(train_plan, exact_heads) {
  show_training(hand, train_session());
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

CASE(train_plan, exchange) {
  Session s = train_session();
  s.experiment.format = fp16;
  s.experiment.a.precision = policy("tile").precision;
  s.experiment.a.precision[Step::O] = to_format(fp32);
  show_training(hand, s);
  hand.each({{plan_panel + "###take methods",
              [](Session& x) {
                x.train.a.method = x.experiment.a, x.train.b.method = x.experiment.b;
                x.train.a.format = x.train.b.format = fp16;
                x.train.a.gradient = usual_grad_policy(x.experiment.a).precision;
                x.train.b.gradient = usual_grad_policy(x.experiment.b).precision;
              }},
             {plan_panel + "a/##preset",
              [](Session& x) {
                x.train.a.method.precision = policy("all_tile").precision;
                x.train.a.gradient = grad_policy("grad_all").precision;
              },
              {},
              "all_tile"},
             {plan_panel + "###give methods",
              [](Session& x) { x.experiment.a = x.train.a.method, x.experiment.b = x.train.b.method; }}});
  hand.session().experiment.a.algorithm = Algorithm::hardware;
  hand.frames(2);
  hand.check(hand.disabled(plan_panel + "###take methods"), "a GPU's own kernel cannot be taken");
}

CASE(train_plan, model_and_recipe) {
  show_training(hand, train_session());
  hand.changes("layers", [&] { hand.type(plan_panel + "##layers", "3"); }, [](Session& s) { s.train.model.layers = 3; });
  hand.changes("width", [&] { hand.type(plan_panel + "##width", "96"); }, [](Session& s) { s.train.model.width = 96; });
  hand.changes("heads", [&] { hand.type(plan_panel + "##heads", "6"); }, [](Session& s) { s.train.model.heads = 6; });
  hand.changes("context", [&] { hand.type(plan_panel + "##context", "64"); }, [](Session& s) { s.train.model.context = 64; });
  hand.changes("norm", [&] { hand.click(plan_panel + "norm/RMSNorm"); }, [](Session& s) { s.train.model.norm = Norm::rms; });
  hand.changes("steps", [&] { hand.type(plan_panel + "##steps", "5000"); }, [](Session& s) { s.train.recipe.steps = 5000; });
  hand.changes("batch", [&] { hand.type(plan_panel + "##batch", "12"); }, [](Session& s) { s.train.recipe.batch = 12; });
  hand.changes("warm-up", [&] { hand.type(plan_panel + "##warm-up", "7"); }, [](Session& s) { s.train.recipe.warmup = 7; });
  hand.changes("rate", [&] { hand.fill(plan_panel + "##rate", "0.002"); }, [](Session& s) { s.train.recipe.rate = 0.002; });
  hand.click(plan_panel + "###more");
  hand.frames(2);
  const auto fill = [&](const char* id, const char* text, void (*mutate)(TrainPlan&)) {
    hand.fill(focused + id, text, [&](Session& s) { mutate(s.train); });
  };
  fill("##final_rate", "0.0002", [](TrainPlan& p) { p.recipe.final_rate = 0.0002; });
  fill("##beta1", "0.8", [](TrainPlan& p) { p.recipe.beta1 = 0.8; });
  fill("##beta2", "0.99", [](TrainPlan& p) { p.recipe.beta2 = 0.99; });
  fill("##epsilon", "1e-6", [](TrainPlan& p) { p.recipe.epsilon = 1e-6; });
  fill("##weight_decay", "0", [](TrainPlan& p) { p.recipe.weight_decay = 0; });
  fill("##clip", "2.5", [](TrainPlan& p) { p.recipe.clip = 2.5; });
  fill("##seed", "17", [](TrainPlan& p) { p.recipe.seed = 17; });
  fill("##data_seed", "18", [](TrainPlan& p) { p.recipe.data_seed = 18; });
  fill("##loss_scale", "1024", [](TrainPlan& p) { p.recipe.loss_scale = 1024; });
  fill("##scale_growth", "50", [](TrainPlan& p) { p.recipe.scale_growth = 50; });
  fill("##held_out", "0.2", [](TrainPlan& p) { p.recipe.held_out = 0.2; });
  fill("##measure_every", "5", [](TrainPlan& p) { p.measure_every = 5; });
  fill("##checkpoint_every", "40", [](TrainPlan& p) { p.checkpoint_every = 40; });
  hand.leaves("numbers out of range are not taken", [&] { hand.fill("//$FOCUSED/##beta1", "1.5"); });
  hand.key(ImGuiKey_Escape);
}

CASE(train_plan, text) {
  show_training(hand, train_session());
  hand.each({{plan_panel + "##text",
              [](Session& s) {
                s.train.text = {};
                s.train.text.file = "/tmp/novel.txt";
              },
              "/tmp/novel.txt"},
             {plan_panel + "###embedded text", [](Session& s) { s.train.text = {}; }}});
  hand.check(part_of("model.width is 10, expected a multiple of model.heads") == PlanPart::model &&
                 part_of("a.format is fp64") == PlanPart::methods && part_of("recipe.rate is 2") == PlanPart::recipe &&
                 part_of("bisect is head") == PlanPart::kind && part_of("/tmp/x.txt is not UTF-8") == PlanPart::text,
             "each error is shown at its part of the plan");
}

}  // namespace

}  // namespace attoscope::testing::train_plan_cases
