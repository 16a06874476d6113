// A method: its algorithm, places of rounding and options.
#include "kernels/experiment/kernel_presets.h"
#include "tests/ui/cases.h"
#include "ui/controls/controls.h"

namespace attoscope::testing::method_cases {
namespace {

// --- algorithm and places of rounding ---------------------------------------------------------------------------------

Method& method(Session& s, char which) { return which == 'a' ? s.experiment.a : s.experiment.b; }
std::string column(char which) { return controls + which + '/'; }

CASE(precision, policies_of_methods) {
  for (const char which : {'a', 'b'})
    for (const Policy& p : policies()) {
      if (p.algorithm != method(hand.session(), which).algorithm) continue;
      hand.choose(column(which) + "##preset", std::string(p.name),
                  [&](Session& s) { method(s, which).precision = p.precision; });
    }
}

CASE(precision, algorithms) {
  const auto becomes = [](char which, Algorithm algorithm, const char* preset) {
    return [=](Session& s) {
      method(s, which).algorithm = algorithm;
      method(s, which).precision = policy(preset).precision;
    };
  };
  const std::string of_a = column('a') + "##algorithm", of_b = column('b') + "##algorithm";
  hand.choose(of_a, "three_pass", becomes('a', Algorithm::three_pass, "base_hw"));
  hand.choose(of_a, "flash2", becomes('a', Algorithm::flash2, "hw"));
  hand.choose(of_b, "flash2", becomes('b', Algorithm::flash2, "eager"));
  for (const Algorithm algorithm :
       {Algorithm::two_pass, Algorithm::flash1, Algorithm::flash4, Algorithm::split_kv, Algorithm::flash2})
    hand.choose(of_a, std::string(name(algorithm)), [=](Session& s) { s.experiment.a.algorithm = algorithm; });
  hand.choose(of_b, "three_pass", becomes('b', Algorithm::three_pass, "base_eager"));
  hand.leaves("b as it is", [&] { hand.choose(of_b, "three_pass"); });
  hand.click(column('a') + "m");  // its steps are no policy's now, and another algorithm keeps them
  hand.choose(of_a, "three_pass", [](Session& s) { s.experiment.a.algorithm = Algorithm::three_pass; });
}

CASE(precision, every_place_of_rounding) {
  for (const char which : {'a', 'b'})
    for (int i = 0; i < step_count; ++i) {
      const auto step = static_cast<Step>(i);
      const std::string path = column(which) + std::string(name(step));
      if (!has_step(method(hand.session(), which).algorithm, step)) {
        hand.check(!hand.exists(path), path + " has no cell");
        continue;
      }
      for (int twice = 0; twice < 2; ++twice) {
        const bool was_exact = method(hand.session(), which).precision[step].kind == Rounding::Kind::exact;
        hand.click(path, [&](Session& s) { method(s, which).precision[step] = was_exact ? to_main : exact; });
      }
    }
}

CASE(precision, flags) {
  const auto fresh = [](Session& s) { s.experiment.a.precision.accumulate_in_O ^= true; };
  for (int twice = 0; twice < 2; ++twice)
    hand.each({{controls + "a/sum_rounded_P", [](Session& s) { s.experiment.a.precision.sum_rounded_P ^= true; }},
               {controls + "a/accumulate_in_O", fresh},
               {controls + "b/accumulate_in_O", [](Session& s) { s.experiment.b.precision.accumulate_in_O ^= true; }}});
  hand.check(!hand.exists(controls + "b/sum_rounded_P"), "three passes have no such choice");
  hand.choose(controls + "a/##algorithm", "flash1");
  hand.check(!hand.exists(controls + "a/accumulate_in_O"), "flash1 always adds a fresh P.V");
}

/// Algorithms that cannot run here are grey, with the reason; others can be chosen.
CASE(precision, kernels_of_others) {
  hand.tell().choices.no_hardware = "There is no GPU.";
  hand.click(column('a') + "##algorithm");
  hand.check(hand.disabled("//$FOCUSED/hardware"), "hardware is grey without a GPU");
  hand.check(hand.disabled("//$FOCUSED/loaded"), "loaded is grey without an output");
  hand.check(!hand.disabled("//$FOCUSED/flash2"), "emulated methods are not grey");
  hand.key(ImGuiKey_Escape);
  hand.stage.told->choices.no_hardware.clear();
  hand.experiment().loaded.file = "mine.npy";
  hand.each({{column('a') + "##algorithm", [](Session& s) { s.experiment.a.algorithm = Algorithm::hardware; }, {}, "hardware"},
             {column('b') + "##algorithm", [](Session& s) { s.experiment.b.algorithm = Algorithm::loaded; }, {}, "loaded"}});
  hand.check(hand.exists(column('a') + "input") && !hand.exists(column('a') + "S"),
             "a's inputs are still rounded, nothing else");
  hand.check(!hand.exists(column('b') + "input") && !hand.exists(column('b') + "accumulate_in_O"), "b has no step");
  hand.check(hand.disabled(column('a') + "##preset") && hand.disabled(column('b') + "##preset"), "neither method has a policy");
  hand.choose(column('b') + "##algorithm", "flash1", [](Session& s) {
    s.experiment.b.algorithm = Algorithm::flash1;
    s.experiment.b.precision = policy("eager").precision;
  });
}

CASE(precision, own_formats) {
  const auto set = [&](const char* text, Rounding r) {
    hand.choose(controls + "a/l", text, [&](Session& s) { s.experiment.a.precision[Step::l] = r; }, 1);
  };
  set("fp16", to_format(fp16));
  set("e4m3", to_format(e4m3));
  set("D, the main format", to_main);
  set("fp64", to_format(fp64));
  Rounding dice = to_format(fp64);
  dice.stochastic = true;
  const auto stochastic = [&] {
    hand.click(controls + "a/l", 1);
    hand.pick("##stochastic");
    hand.key(ImGuiKey_Escape);
  };
  hand.changes("stochastic", stochastic, [&](Session& s) { s.experiment.a.precision[Step::l] = dice; });
  dice.format = bf16;
  set("bf16", dice);
  hand.changes("to nearest", stochastic, [&](Session& s) { s.experiment.a.precision[Step::l] = to_format(bf16); });
  set("exact", exact);
  const auto type = [&](const std::string& text) {
    hand.click(controls + "b/output", 1);
    hand.fill("//$FOCUSED/##format", text);
  };
  hand.changes(
      "a format by name", [&] { type("e6m5"); },
      [](Session& s) { s.experiment.b.precision[Step::output] = to_format({6, 5}); });
  hand.leaves("no format", [&] { type("e99m1"), hand.key(ImGuiKey_Escape); });
  hand.changes(
      "a format by the arrow", [&] { hand.press(hand.place(column('a') + "O", 0.95f)), hand.pick("fp16"); },
      [](Session& s) { s.experiment.a.precision[Step::O] = to_format(fp16); });
}

// --- options ----------------------------------------------------------------------------------------------------------

Session of_algorithm(Algorithm a) {
  Session session = small_session();
  session.experiment.a.algorithm = a;
  if (a == Algorithm::three_pass) session.experiment.a.precision = policy("base_hw").precision;
  return session;
}

CASE(options, options_of_a_method) {
  hand.open(of_algorithm(Algorithm::flash4));
  const auto inside = in_popup(hand, controls + "a/###options");
  hand.each({{focused + "##tau", [](Session& s) { s.experiment.a.tau = 2.5; }, "2.5"},
             {focused + "##tau", [](Session&) {}, "-1"},
             {focused + "##tie_beta", [](Session& s) { s.experiment.a.tie_beta = 4; }, "4"},
             {focused + "##tie_beta", [](Session& s) { s.experiment.a.tie_beta = 0; }, "0"},
             {focused + "exponential/exp2", [](Session& s) { s.experiment.a.exponential = ExponentialKind::exp2; }},
             {focused + "##exp2_degree", [](Session& s) { s.experiment.a.exp2_degree = 3; }, "3"},
             {focused + "##p_exponent", [](Session& s) { s.experiment.a.p_exponent = 8; }, "8"},
             {focused + "##compensated", [](Session& s) { s.experiment.a.kahan_l = true; }},
             {focused + "order/pairwise", [](Session& s) { s.experiment.a.order = SumOrder::pairwise; }},
             {focused + "order/lanes", [](Session& s) { s.experiment.a.order = SumOrder::interleaved; }},
             {focused + "##sum_lanes", [](Session& s) { s.experiment.a.sum_lanes = max_sum_lanes; }, "999"},
             {focused + "##last to first", [](Session& s) { s.experiment.a.reverse_keys = true; }}},
            inside);
  hand.check(options_changed(hand.experiment().a, hand.experiment().format) == 8, "eight differ from the default");
  const auto defaults = [](Session& s) {
    const Method& a = s.experiment.a;
    s.experiment.a = {.algorithm = a.algorithm, .block_q = a.block_q, .block_k = a.block_k, .precision = a.precision};
  };
  hand.each({{focused + "###defaults", defaults}}, inside);
  hand.check(options_changed(hand.experiment().a, hand.experiment().format) == 0, "no option differs any more");
}

CASE(options, options_of_algorithms) {
  for (const Algorithm algorithm : emulated_algorithms) {
    hand.open(of_algorithm(algorithm));
    in_popup(hand, controls + "a/###options")([&] {
      hand.check(hand.exists(focused + "##splits") == (algorithm == Algorithm::split_kv), "only split_kv has splits");
      hand.check(hand.exists(focused + "##tau") == (algorithm == Algorithm::flash4), "only flash4 has tau");
    });
  }
  hand.each({{focused + "##splits", [](Session& s) { s.experiment.a.splits = 3; }, "3"}},
            in_popup(hand, controls + "a/###options"));
  hand.each({{focused + "##p_exponent", [](Session& s) { s.experiment.b.p_exponent = -2; }, "-2"}},
            in_popup(hand, controls + "b/###options"));
}

CASE(options, options_of_scores) {
  hand.each({{focused + "##sink", [](Session& s) { s.experiment.problem.sink = 0; }},
             {focused + "##sink value", [](Session& s) { s.experiment.problem.sink = 1.5; }, "1.5"},
             {focused + "##softcap", [](Session& s) { s.experiment.problem.softcap = 30; }, "30"},
             {focused + "##softcap", [](Session&) {}, "-3"},
             {focused + "##alibi", [](Session& s) { s.experiment.problem.alibi = 0.125; }, "0.125"},
             {focused + "##sink", [](Session& s) { s.experiment.problem.sink.reset(); }},
             {focused + "##n_k", [](Session& s) { s.experiment.problem.n_k = 300; }, "300"},
             {focused + "##d_v", [](Session& s) { s.experiment.problem.d_v = 24; }, "24"}},
            in_popup(hand, controls + "mask/###more"));
  Problem p;
  hand.check(options_changed(p) == 0, "no option of the scores is on");
  p.empty_rows = EmptyRule::nan, p.mask.right = 3;
  hand.check(options_changed(p) == 1, "NaN for rows without keys; only a window has keys on the right");
  p.mask.kind = Mask::Kind::window;
  hand.check(options_changed(p) == 2, "and a window's right side");
}

/// Other numbers of keys than of queries, and of columns of V than of Q.
CASE(options, rectangle) {
  hand.experiment().problem.n_k = 290, hand.experiment().problem.d_v = 40;
  hand.settle();
  hand.changes("keys", [&] { hand.type(controls + "##keys", "300"); }, [](Session& s) { s.experiment.problem.n_k = 300; });
  hand.changes("columns of V", [&] { hand.type(controls + "##d_v", "24"); }, [](Session& s) { s.experiment.problem.d_v = 24; });
  hand.each({{controls + "mask/causal", [](Session& s) { s.experiment.problem.mask.kind = Mask::Kind::causal; }}});
  hand.each({{focused + "##top-left", [](Session& s) { s.experiment.problem.mask.top_left = true; }}},
            in_popup(hand, controls + "mask/###more"));
  const Result& r = *hand.result();
  hand.check(r.a.rows == 96 && r.a.cols == 24 && r.rescale_map.tiles == 19, "the answer has its shape");
}

}  // namespace
}  // namespace attoscope::testing::method_cases
