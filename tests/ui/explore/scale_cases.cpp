// Storage of a method with scales.
#include "tests/ui/cases.h"

namespace attoscope::testing::scale_cases {
namespace {

/// A session with unnormalised P, in which all of Q, K, V and P may have scales.
Session small_flash() {
  Session session = small_session();
  session.experiment.a.precision = session.experiment.b.precision = policy("hw").precision;
  session.experiment.a.algorithm = session.experiment.b.algorithm = Algorithm::flash2;
  return session;
}

Session storing(const char* K) {
  Session session = small_flash();
  session.experiment.a.scaling.K = parse_scaling(K);
  return session;
}

/// Storage of a tensor of a, chosen in the popup of its scales.
Hand::Control stored(const std::string& tensor, const char* text, Scaling Scalings::* field) {
  const auto change = [=](Session& s) { s.experiment.a.scaling.*field = parse_scaling(text); };
  return {focused + "##" + tensor, change, {}, escaped(text)};
}

/// Runs acts in the popup of a's scales, with the parts of a tensor shown.
std::function<void(const std::function<void()>&)> in_parts_of(Hand& hand, const std::string& tensor) {
  return [&hand, tensor](const std::function<void()>& act) {
    in_popup(hand, controls + "a/##scales")([&] {
      hand.click(focused + "###parts of " + tensor);
      act();
    });
  };
}

CASE(scales, usual_storage) {
  hand.open(small_flash());
  const auto inside = in_popup(hand, controls + "a/##scales");
  hand.each({stored("Q", "int8/token", &Scalings::Q), stored("K", "e2m1/block:16/nvfp4", &Scalings::K),
             stored("V", "e4m3/channel", &Scalings::V), stored("P", "e4m3/x256/shift", &Scalings::P),
             stored("P", "e2m1/block:16/e4m3/x2688/shift", &Scalings::P), stored("K", "off", &Scalings::K),
             stored("K", "off", &Scalings::K)},
            inside);
  const auto b_stores_V = [](Session& s) { s.experiment.b.scaling.V = parse_scaling("e4m3/head"); };
  hand.each({{focused + "##V", b_stores_V, {}, escaped("e4m3/head")}}, in_popup(hand, controls + "b/##scales"));
  hand.each({{focused + "no scales", [](Session& s) { s.experiment.a.scaling = {}; }}}, inside);
}

/// Changes each list, field and button of the parts of K in turn.
CASE(scales, parts_of_k) {
  hand.open(storing("int8/token"));
  const auto K = [](const char* text) { return [text](Session& s) { s.experiment.a.scaling.K = parse_scaling(text); }; };
  hand.each({{focused + "##element", K("e4m3/token"), {}, "e4m3"},
             {focused + "##granularity", K("e4m3/block:32"), {}, "block"},
             {focused + "##scale", K("e4m3/block:32/e8m0/ceil"), {}, "e8m0"},
             {focused + "##rule", K("e4m3/block:32/e8m0/floor"), {}, "floor"},
             {focused + "##quotient", K("e4m3/block:32/e8m0/floor/unrounded"), {}, "unrounded"},
             {focused + "##quotient", K("e4m3/block:32/e8m0/floor"), {}, "divided"},
             {focused + "##scale", K("e4m3/block:32/nvfp4/floor"), {}, "nvfp4"},
             {focused + "##rule", K("e4m3/block:32/nvfp4"), {}, "amax"},
             {focused + "##element", K("e2m1/block:32/nvfp4"), {}, "e2m1"},
             {focused + "##granularity", K("e2m1/tensor/nvfp4"), {}, "tensor"},
             {focused + "##granularity", K("e2m1/head/nvfp4"), {}, "head"},
             {focused + "##rule", K("e2m1/head/nvfp4/x1"), {}, "fixed"},
             {focused + "##granularity", K("e2m1/thread:64/nvfp4"), {}, "thread"}},
            in_parts_of(hand, "K"));
  hand.open(storing("int8/rows:64"));
  hand.each({{focused + "##of", K("int8/rows:16"), "16"},
             {focused + "##scaled to", K("int8/rows:16/most:2.25"), "2.25"},
             {focused + "##plus", K("int8/rows:16/most:2.25/plus:0.001"), "0.001"},
             {focused + "##plus", K("int8/rows:16/most:2.25"), "0"},
             {focused + "##scaled to", K("int8/rows:16"), "0"},
             {focused + "##away from zero", K("int8/rows:16/away")},
             {focused + "##in the operand", K("int8/rows:16/away/to:main")},
             {focused + "read back as", K("int8/rows:16/away/to:exact")},
             {focused + "##in the operand", K("int8/rows:16/away")}},
            in_parts_of(hand, "K"));
}

CASE(scales, parts_of_p) {
  Session session = small_flash();
  session.experiment.a.scaling.P = parse_scaling("e4m3/x256/shift");
  hand.open(session);
  const auto inside = in_parts_of(hand, "P");
  const auto P = [](const char* text) { return [text](Session& s) { s.experiment.a.scaling.P = parse_scaling(text); }; };
  hand.each({{focused + "##factor", P("e4m3/x448/shift"), "448"},
             {focused + "##shift", P("e4m3/x448")},
             {focused + "##granularity", P("e4m3/block:32/x448"), {}, "block"},
             {focused + "of/16", P("e4m3/block:16/x448")}},
            inside);
  inside([&] {
    hand.check(!hand.exists(focused + "##plus") && !hand.exists(focused + "##in the operand"), "P has no such parts");
  });
}

CASE(scales, changes_before_storage) {
  hand.open(storing("int8/token"));
  const auto inside = in_popup(hand, controls + "a/##scales");
  hand.each({{focused + "##rotate Q and K", [](Session& s) { s.experiment.a.scaling.hadamard = true; }},
             {focused + "##rotate Q and K", [](Session& s) { s.experiment.a.scaling.hadamard = false; }},
             {focused + "##K minus its mean", [](Session& s) { s.experiment.a.scaling.smooth_K = true; }},
             {focused + "##V minus its mean", [](Session& s) { s.experiment.a.scaling.smooth_V = true; }},
             {focused + "##smooth Q", [](Session& s) { s.experiment.a.scaling.smooth_Q = 32; }, "32"},
             {focused + "rounded to", [](Session& s) { s.experiment.a.scaling.smoothed = to_main; }}},
            inside);
  inside([&] { hand.check(hand.disabled(focused + "##rotate Q and K"), "smooth_Q and hadamard exclude each other"); });
}

CASE(scales, refused_storage) {
  const auto inside = in_popup(hand, controls + "a/##scales");
  Session session = small_session();  // three passes normalise P
  session.experiment.a.algorithm = Algorithm::three_pass;
  hand.open(session);
  inside([&] {
    hand.click(focused + "##P");
    hand.check(hand.disabled(focused + escaped("e4m3/x448")), "three passes divide before P is rounded");
    hand.check(!hand.disabled(focused + "off"), "off is always possible");
  });
  session = storing("e4m3/head");
  session.experiment.problem.sink = 0.0;
  hand.open(session);
  inside([&] { hand.check(hand.disabled(focused + "##K minus its mean"), "a sink excludes subtracting K's mean"); });
  session.experiment.a.algorithm = Algorithm::loaded;
  hand.stage.open(session);
  hand.frames(3);
  hand.check(hand.disabled(controls + "a/##scales"), "a loaded output has no storage settings");
}

/// A storage that the experiment no longer allows can be removed.
CASE(scales, impossible_storage_removed) {
  Session session = small_flash();
  session.experiment.a.algorithm = Algorithm::three_pass;
  session.experiment.a.scaling.P = parse_scaling("e4m3/x448");
  hand.stage.open(session);
  hand.frames(3);
  hand.each({{focused + "##P", [](Session& s) { s.experiment.a.scaling.P = {}; }, {}, "off"}},
            in_popup(hand, controls + "a/##scales"));
}

/// The editor of options neither counts nor resets scales, and undo takes an edit back.
CASE(scales, storage_beside_options) {
  hand.open(storing("int8/token"));
  hand.leaves("as it comes", [&] {
    hand.click(controls + "a/###options");
    hand.check(hand.disabled(focused + "###defaults"), "no option differs");
    hand.key(ImGuiKey_Escape);
  });
  const Session before = hand.session();
  in_popup(hand, controls + "a/##scales")([&] { hand.choose(focused + "##K", escaped("e4m3/head")); });
  hand.settle();
  hand.key(undo_key, settled);
  hand.check(hand.experiment() == before.experiment, "undone");
}

}  // namespace
}  // namespace attoscope::testing::scale_cases
