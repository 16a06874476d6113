// Options of a method and of the scores, each in its popup; names that follow the algorithm.
#include <array>

#include "tests/ui/cases.h"
#include "ui/controls/controls.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string focused = "//$FOCUSED/";

Session with(Algorithm a) {
  Session session = small_session();
  session.experiment.a.algorithm = a;
  if (a == Algorithm::three_pass) session.experiment.a.precision = policy("base_hw").precision;
  return session;
}

/// Opens a popup, acts in it, closes it.
void inside(Hand& hand, const std::string& button, const std::function<void()>& act) {
  hand.click(button);
  act();
  hand.key(ImGuiKey_Escape);
}

void method_options(Hand& hand) {
  const std::string button = controls + "a/###options";
  const auto fill = [&](const char* what, const std::string& text, void (*mutate)(Session&)) {
    hand.changes(
        std::string(what) + " " + text, [&] { inside(hand, button, [&] { hand.fill(focused + what, text); }); }, mutate);
  };
  const auto press = [&](const char* what, void (*mutate)(Session&)) {
    hand.changes(what, [&] { inside(hand, button, [&] { hand.click(focused + what); }); }, mutate);
  };
  hand.open(with(Algorithm::flash4));
  fill("##tau", "2.5", [](Session& s) { s.experiment.a.tau = 2.5; });
  fill("##tau", "-1", [](Session&) {});
  fill("##tie_beta", "4", [](Session& s) { s.experiment.a.tie_beta = 4; });
  fill("##tie_beta", "0", [](Session& s) { s.experiment.a.tie_beta = 0; });
  press("exponential/exp2", [](Session& s) { s.experiment.a.exponential = ExponentialKind::exp2; });
  fill("##exp2_degree", "3", [](Session& s) { s.experiment.a.exp2_degree = 3; });
  fill("##p_exponent", "8", [](Session& s) { s.experiment.a.p_exponent = 8; });
  press("##compensated", [](Session& s) { s.experiment.a.kahan_l = true; });
  press("order/pairwise", [](Session& s) { s.experiment.a.order = SumOrder::pairwise; });
  press("order/lanes", [](Session& s) { s.experiment.a.order = SumOrder::interleaved; });
  fill("##sum_lanes", "999", [](Session& s) { s.experiment.a.sum_lanes = max_sum_lanes; });
  press("##last to first", [](Session& s) { s.experiment.a.reverse_keys = true; });
  hand.check(options_changed(hand.experiment().a, hand.experiment().format) == 8, "eight differ from the default");
  press("###defaults", [](Session& s) {
    const Method& a = s.experiment.a;
    s.experiment.a = {.algorithm = a.algorithm, .block_q = a.block_q, .block_k = a.block_k, .precision = a.precision};
  });
  hand.check(options_changed(hand.experiment().a, hand.experiment().format) == 0, "none is left");
}

void of_algorithms(Hand& hand) {
  for (const Algorithm algorithm : emulated_algorithms) {
    hand.open(with(algorithm));
    inside(hand, controls + "a/###options", [&] {
      hand.check(hand.exists(focused + "##splits") == (algorithm == Algorithm::split_kv), "splits are those of split_kv");
      hand.check(hand.exists(focused + "##tau") == (algorithm == Algorithm::flash4), "tau is that of flash4");
    });
  }
  hand.changes(
      "splits", [&] { inside(hand, controls + "a/###options", [&] { hand.fill(focused + "##splits", "3"); }); },
      [](Session& s) { s.experiment.a.splits = 3; });
  hand.changes(
      "b has its own", [&] { inside(hand, controls + "b/###options", [&] { hand.fill(focused + "##p_exponent", "-2"); }); },
      [](Session& s) { s.experiment.b.p_exponent = -2; });
}

void score_options(Hand& hand) {
  const std::string button = controls + "mask/###more";
  const auto fill = [&](const char* what, const char* text, void (*mutate)(Session&)) {
    hand.changes(what, [&] { inside(hand, button, [&] { hand.fill(focused + what, text); }); }, mutate);
  };
  const auto sink = [&] { inside(hand, button, [&] { hand.click(focused + "##sink"); }); };
  hand.changes("sink", sink, [](Session& s) { s.experiment.problem.sink = 0; });
  fill("##sink value", "1.5", [](Session& s) { s.experiment.problem.sink = 1.5; });
  fill("##softcap", "30", [](Session& s) { s.experiment.problem.softcap = 30; });
  fill("##softcap", "-3", [](Session&) {});
  fill("##alibi", "0.125", [](Session& s) { s.experiment.problem.alibi = 0.125; });
  hand.changes("no sink", sink, [](Session& s) { s.experiment.problem.sink.reset(); });
}

/// Keys and columns of V apart from queries and columns of Q.
void rectangle(Hand& hand) {
  hand.open(small_session());
  const std::string button = controls + "mask/###more";
  const auto fill = [&](const std::string& field, const std::string& text, void (*change)(Session&)) {
    hand.changes(field + " " + text, [&] { inside(hand, button, [&] { hand.fill(focused + field, text.c_str()); }); }, change);
  };
  fill("##n_k", "300", [](Session& s) { s.experiment.problem.n_k = 300; });
  fill("##d_v", "24", [](Session& s) { s.experiment.problem.d_v = 24; });
  hand.changes(
      "keys by the slider", [&] { hand.type(controls + "##keys", "290"); }, [](Session& s) { s.experiment.problem.n_k = 290; });
  hand.changes("keys", [&] { hand.type(controls + "##keys", "300"); }, [](Session& s) { s.experiment.problem.n_k = 300; });
  hand.changes(
      "columns of V by the slider", [&] { hand.type(controls + "##d_v", "40"); },
      [](Session& s) { s.experiment.problem.d_v = 40; });
  hand.changes("columns of V", [&] { hand.type(controls + "##d_v", "24"); }, [](Session& s) { s.experiment.problem.d_v = 24; });
  hand.changes(
      "causal", [&] { hand.click(controls + "mask/causal"); },
      [](Session& s) { s.experiment.problem.mask.kind = Mask::Kind::causal; });
  hand.changes(
      "top-left", [&] { inside(hand, button, [&] { hand.click(focused + "##top-left"); }); },
      [](Session& s) { s.experiment.problem.mask.top_left = true; });
  hand.settle();
  const Result& r = *hand.stage.panel_input().answer.result;
  hand.check(r.a.rows == 96 && r.a.cols == 24 && r.rescale_map.tiles == 19, "the answer has its shape");
}

void names(Hand& hand) {
  for (const Algorithm algorithm : emulated_algorithms) {
    const Session session = with(algorithm);
    hand.open(session);
    const MethodNames found = method_names(session.experiment);
    hand.check(found.a != found.b, "a and b are told apart");
    const bool flash = name(algorithm).starts_with("flash");
    hand.check((found.a.find("flash") != std::string::npos) == flash, "a is called " + found.a);
  }
}

constexpr std::array cases{
    Case{"options", "of a method", method_options},
    Case{"options", "of algorithms", of_algorithms},
    Case{"options", "of the scores", score_options},
    Case{"options", "rectangle", rectangle},
    Case{"options", "names", names},
};

}  // namespace

std::span<const Case> option_cases() { return cases; }

}  // namespace attoscope::testing
