// Storage of a method with scales.
#include "tests/ui/cases.h"

namespace attoscope::testing::scale_cases {
namespace {

/// A session whose P is unnormalised, so that all of Q, K, V and P may be scaled.
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

/// Expects that the storage of a tensor of a becomes `text` by `act` in the popup, with the parts of the tensor on show.
void expect_stored(Hand& hand, const std::string& tensor, Scaling Scalings::* field, const std::string& what,
                   const std::function<void()>& act, const char* text) {
  hand.changes(
      what,
      [&] {
        in_popup(hand, controls + "a/##scales")([&] {
          hand.click(focused + "###parts of " + tensor);
          act();
        });
      },
      [&](Session& s) { s.experiment.a.scaling.*field = parse_scaling(text); });
}

/// Chooses a usual storage in the popup of a or b.
std::function<void()> storage(Hand& hand, const std::string& tensor, const std::string& text, const char* column = "a/") {
  return [&hand, tensor, text, column] {
    in_popup(hand, controls + column + "##scales")([&] { hand.choose(focused + "##" + tensor, escaped(text)); });
  };
}

CASE(scales, usual_storage) {
  hand.open(small_flash());
  const auto stores = [&](const std::string& tensor, const char* text, Scaling Scalings::* field) {
    hand.changes(tensor + " " + text, storage(hand, tensor, text),
                 [&](Session& s) { s.experiment.a.scaling.*field = parse_scaling(text); });
  };
  stores("Q", "int8/token", &Scalings::Q);
  stores("K", "e2m1/block:16/nvfp4", &Scalings::K);
  stores("V", "e4m3/channel", &Scalings::V);
  stores("P", "e4m3/x256/shift", &Scalings::P);
  stores("P", "e2m1/block:16/e4m3/x2688/shift", &Scalings::P);
  stores("K", "off", &Scalings::K);
  stores("K", "off", &Scalings::K);
  hand.changes("of b", storage(hand, "V", "e4m3/head", "b/"),
               [](Session& s) { s.experiment.b.scaling.V = parse_scaling("e4m3/head"); });
  hand.each({{focused + "no scales", [](Session& s) { s.experiment.a.scaling = {}; }}},
            in_popup(hand, controls + "a/##scales"));
}

/// Each list, field and button of the parts of K in turn.
CASE(scales, parts_of_k) {
  hand.open(storing("int8/token"));
  const auto expect = [&](const std::string& what, const std::function<void()>& act, const char* text) {
    expect_stored(hand, "K", &Scalings::K, what, act, text);
  };
  const auto choose = [&](const char* list, const char* item, const char* text) {
    expect(std::string(list) + " " + item, [&] { hand.choose(focused + list, item); }, text);
  };
  const auto fill = [&](const char* field, const char* value, const char* text) {
    expect(std::string(field) + " " + value, [&] { hand.fill(focused + field, value); }, text);
  };
  const auto press = [&](const char* item, const char* text) { expect(item, [&] { hand.click(focused + item); }, text); };
  choose("##element", "e4m3", "e4m3/token");
  choose("##granularity", "block", "e4m3/block:32");
  choose("##scale", "e8m0", "e4m3/block:32/e8m0/ceil");
  choose("##rule", "floor", "e4m3/block:32/e8m0/floor");
  choose("##quotient", "unrounded", "e4m3/block:32/e8m0/floor/unrounded");
  choose("##quotient", "divided", "e4m3/block:32/e8m0/floor");
  choose("##scale", "nvfp4", "e4m3/block:32/nvfp4/floor");
  choose("##rule", "amax", "e4m3/block:32/nvfp4");
  choose("##element", "e2m1", "e2m1/block:32/nvfp4");
  choose("##granularity", "tensor", "e2m1/tensor/nvfp4");
  choose("##granularity", "head", "e2m1/head/nvfp4");
  choose("##rule", "fixed", "e2m1/head/nvfp4/x1");
  choose("##granularity", "thread", "e2m1/thread:64/nvfp4");
  hand.open(storing("int8/rows:64"));
  fill("##of", "16", "int8/rows:16");
  fill("##scaled to", "2.25", "int8/rows:16/most:2.25");
  fill("##plus", "0.001", "int8/rows:16/most:2.25/plus:0.001");
  fill("##plus", "0", "int8/rows:16/most:2.25");
  fill("##scaled to", "0", "int8/rows:16");
  press("##away from zero", "int8/rows:16/away");
  press("##in the operand", "int8/rows:16/away/to:main");
  press("read back as", "int8/rows:16/away/to:exact");
  press("##in the operand", "int8/rows:16/away");
}

CASE(scales, parts_of_p) {
  Session session = small_flash();
  session.experiment.a.scaling.P = parse_scaling("e4m3/x256/shift");
  hand.open(session);
  const auto expect = [&](const char* what, const std::function<void()>& act, const char* text) {
    expect_stored(hand, "P", &Scalings::P, what, act, text);
  };
  expect("factor", [&] { hand.fill(focused + "##factor", "448"); }, "e4m3/x448/shift");
  expect("not in the exponent", [&] { hand.click(focused + "##shift"); }, "e4m3/x448");
  expect("block", [&] { hand.choose(focused + "##granularity", "block"); }, "e4m3/block:32/x448");
  expect("of 16", [&] { hand.click(focused + "of/16"); }, "e4m3/block:16/x448");
  in_popup(hand, controls + "a/##scales")([&] {
    hand.click(focused + "###parts of P");
    hand.check(!hand.exists(focused + "##plus") && !hand.exists(focused + "##in the operand"), "these are not of P");
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
  inside([&] { hand.check(hand.disabled(focused + "##K minus its mean"), "a sink sees K's mean"); });
  session.experiment.a.algorithm = Algorithm::loaded;
  hand.stage.open(session);
  hand.frames(3);
  hand.check(hand.disabled(controls + "a/##scales"), "a loaded output is stored in its own way");
}

/// A storage that the experiment no longer allows can be removed.
CASE(scales, impossible_storage_removed) {
  Session session = small_flash();
  session.experiment.a.algorithm = Algorithm::three_pass;
  session.experiment.a.scaling.P = parse_scaling("e4m3/x448");
  hand.stage.open(session);
  hand.frames(3);
  hand.changes("P off", storage(hand, "P", "off"), [](Session& s) { s.experiment.a.scaling.P = {}; });
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
  storage(hand, "K", "e4m3/head")();
  hand.settle();
  hand.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  hand.settle();
  hand.check(hand.experiment() == before.experiment, "undone");
}

}  // namespace
}  // namespace attoscope::testing::scale_cases
