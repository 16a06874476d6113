// Storage of Q, K, V and P: usual choices, every part by itself, changes before storage, and refusals.
#include <array>

#include "kernels/experiment/kernel_presets.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

const std::string focused = "//$FOCUSED/";

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

/// A label as a part of a path: its slashes are escaped.
std::string escaped(const std::string& label) {
  std::string part;
  for (const char c : label) part += c == '/' ? std::string("\\/") : std::string(1, c);
  return part;
}

/// Opens the popup of a or b, acts in it, closes it.
void inside(Hand& hand, const char* column, const std::function<void()>& act) {
  hand.click(controls + column + "/##scales");
  act();
  hand.key(ImGuiKey_Escape);
  hand.key(ImGuiKey_Escape);
}

/// Chooses an item of a list in the popup of a, whose parts of `tensor` are shown.
std::function<void()> choice(Hand& hand, const std::string& list, const std::string& item) {
  return [&hand, list, item] { inside(hand, "a", [&] { hand.choose(focused + list, escaped(item)); }); };
}
std::function<void()> part_of(Hand& hand, const std::string& tensor, const std::string& list, const std::string& item) {
  return [&hand, tensor, list, item] {
    inside(hand, "a", [&] {
      hand.click(focused + "###parts of " + tensor);
      hand.choose(focused + list, item);
    });
  };
}

void usual(Hand& hand) {
  hand.open(small_flash());
  const auto stores = [&](const std::string& tensor, const char* text, Scaling Scalings::* field) {
    hand.changes(tensor + " " + text, choice(hand, "##" + tensor, text),
                 [&](Session& s) { s.experiment.a.scaling.*field = parse_scaling(text); });
  };
  stores("Q", "int8/token", &Scalings::Q);
  stores("K", "e2m1/block:16/nvfp4", &Scalings::K);
  stores("V", "e4m3/channel", &Scalings::V);
  stores("P", "e4m3/x256/shift", &Scalings::P);
  stores("P", "e2m1/block:16/e4m3/x2688/shift", &Scalings::P);
  stores("K", "off", &Scalings::K);
  hand.leaves("what it is already", choice(hand, "##K", "off"));
  hand.changes(
      "of b", [&] { inside(hand, "b", [&] { hand.choose(focused + "##V", escaped("e4m3/head")); }); },
      [](Session& s) { s.experiment.b.scaling.V = parse_scaling("e4m3/head"); });
  hand.changes(
      "no scales", [&] { inside(hand, "a", [&] { hand.click(focused + "no scales"); }); },
      [](Session& s) { s.experiment.a.scaling = {}; });
}

void parts(Hand& hand) {
  hand.open(storing("int8/token"));
  const auto becomes = [&](const char* list, const char* item, const char* text) {
    hand.changes(std::string(list) + " " + item, part_of(hand, "K", list, item),
                 [&](Session& s) { s.experiment.a.scaling.K = parse_scaling(text); });
  };
  becomes("##element", "e4m3", "e4m3/token");
  becomes("##granularity", "block", "e4m3/block:32");
  becomes("##scale", "e8m0", "e4m3/block:32/e8m0/ceil");
  becomes("##rule", "floor", "e4m3/block:32/e8m0/floor");
  becomes("##quotient", "unrounded", "e4m3/block:32/e8m0/floor/unrounded");
  becomes("##quotient", "divided", "e4m3/block:32/e8m0/floor");
  becomes("##scale", "nvfp4", "e4m3/block:32/nvfp4/floor");
  becomes("##rule", "amax", "e4m3/block:32/nvfp4");
  becomes("##element", "e2m1", "e2m1/block:32/nvfp4");
  becomes("##granularity", "tensor", "e2m1/tensor/nvfp4");
  becomes("##granularity", "head", "e2m1/head/nvfp4");
  becomes("##rule", "fixed", "e2m1/head/nvfp4/x1");
  becomes("##granularity", "thread", "e2m1/thread:64/nvfp4");
}

void numbers(Hand& hand) {
  hand.open(storing("int8/rows:64"));
  const auto fills = [&](const char* field, const char* value, const char* text) {
    hand.changes(
        std::string(field) + " " + value,
        [&] {
          inside(hand, "a", [&] {
            hand.click(focused + "###parts of K");
            hand.fill(focused + field, value);
          });
        },
        [&](Session& s) { s.experiment.a.scaling.K = parse_scaling(text); });
  };
  fills("##of", "16", "int8/rows:16");
  fills("##scaled to", "2.25", "int8/rows:16/most:2.25");
  fills("##plus", "0.001", "int8/rows:16/most:2.25/plus:0.001");
  fills("##plus", "0", "int8/rows:16/most:2.25");
  fills("##scaled to", "0", "int8/rows:16");
  const auto presses = [&](const char* item, const char* text) {
    hand.changes(
        item,
        [&] {
          inside(hand, "a", [&] {
            hand.click(focused + "###parts of K");
            hand.click(focused + item);
          });
        },
        [&](Session& s) { s.experiment.a.scaling.K = parse_scaling(text); });
  };
  presses("##away from zero", "int8/rows:16/away");
  presses("##in the operand", "int8/rows:16/away/to:main");
  presses("read back as", "int8/rows:16/away/to:exact");
  presses("##in the operand", "int8/rows:16/away");
}

void of_P(Hand& hand) {
  Session session = small_flash();
  session.experiment.a.scaling.P = parse_scaling("e4m3/x256/shift");
  hand.open(session);
  const auto act = [&](const char* what, const std::function<void()>& in_popup, const char* text) {
    hand.changes(
        what,
        [&] {
          inside(hand, "a", [&] {
            hand.click(focused + "###parts of P");
            in_popup();
          });
        },
        [&](Session& s) { s.experiment.a.scaling.P = parse_scaling(text); });
  };
  act("factor", [&] { hand.fill(focused + "##factor", "448"); }, "e4m3/x448/shift");
  act("not in the exponent", [&] { hand.click(focused + "##shift"); }, "e4m3/x448");
  act("block", [&] { hand.choose(focused + "##granularity", "block"); }, "e4m3/block:32/x448");
  act("of 16", [&] { hand.click(focused + "of/16"); }, "e4m3/block:16/x448");
  inside(hand, "a", [&] {
    hand.click(focused + "###parts of P");
    hand.check(!hand.exists(focused + "##plus") && !hand.exists(focused + "##in the operand"), "these are not of P");
  });
}

void transforms(Hand& hand) {
  hand.open(storing("int8/token"));
  const auto press = [&](const char* what, const char* item, bool Scalings::* flag) {
    hand.changes(
        what, [&] { inside(hand, "a", [&] { hand.click(focused + item); }); },
        [&](Session& s) { s.experiment.a.scaling.*flag = !(s.experiment.a.scaling.*flag); });
  };
  press("rotated", "##rotate Q and K", &Scalings::hadamard);
  press("not rotated", "##rotate Q and K", &Scalings::hadamard);
  press("K without its mean", "##K minus its mean", &Scalings::smooth_K);
  press("V without its mean", "##V minus its mean", &Scalings::smooth_V);
  hand.changes(
      "Q without its mean", [&] { inside(hand, "a", [&] { hand.fill(focused + "##smooth Q", "32"); }); },
      [](Session& s) { s.experiment.a.scaling.smooth_Q = 32; });
  hand.changes(
      "means rounded", [&] { inside(hand, "a", [&] { hand.click(focused + "rounded to"); }); },
      [](Session& s) { s.experiment.a.scaling.smoothed = to_main; });
  inside(hand, "a",
         [&] { hand.check(hand.disabled(focused + "##rotate Q and K"), "smooth_Q and hadamard exclude each other"); });
}

void refused(Hand& hand) {
  Session session = small_session();  // three passes normalise P
  session.experiment.a.algorithm = Algorithm::three_pass;
  hand.open(session);
  inside(hand, "a", [&] {
    hand.click(focused + "##P");
    hand.check(hand.disabled(focused + escaped("e4m3/x448")), "three passes divide before P is rounded");
    hand.check(!hand.disabled(focused + "off"), "off is always possible");
  });
  session = storing("e4m3/head");
  session.experiment.problem.sink = 0.0;
  hand.open(session);
  inside(hand, "a", [&] { hand.check(hand.disabled(focused + "##K minus its mean"), "a sink sees K's mean"); });
  session.experiment.a.algorithm = Algorithm::loaded;
  hand.stage.open(session);
  hand.frames(3);
  hand.check(hand.disabled(controls + "a/##scales"), "a loaded output is stored in its own way");
}

/// A storage that the experiment no longer allows can be removed.
void cured(Hand& hand) {
  Session session = small_flash();
  session.experiment.a.algorithm = Algorithm::three_pass;
  session.experiment.a.scaling.P = parse_scaling("e4m3/x448");
  hand.stage.open(session);
  hand.frames(3);
  hand.changes("P off", choice(hand, "##P", "off"), [](Session& s) { s.experiment.a.scaling.P = {}; });
}

/// The editor of options neither counts nor resets scales, and undo takes an edit back.
void beside_options(Hand& hand) {
  hand.open(storing("int8/token"));
  hand.leaves("as it comes", [&] {
    hand.click(controls + "a/###options");
    hand.check(hand.disabled(focused + "###defaults"), "no option differs");
    hand.key(ImGuiKey_Escape);
  });
  const Session before = hand.session();
  choice(hand, "##K", "e4m3/head")();
  hand.settle();
  hand.key(ImGuiMod_Ctrl | ImGuiKey_Z);
  hand.settle();
  hand.check(hand.experiment() == before.experiment, "undone");
}

constexpr std::array cases{
    Case{"scales", "usual", usual},           Case{"scales", "parts", parts},
    Case{"scales", "numbers", numbers},       Case{"scales", "of P", of_P},
    Case{"scales", "transforms", transforms}, Case{"scales", "refused", refused},
    Case{"scales", "cured", cured},           Case{"scales", "beside options", beside_options},
};

}  // namespace

std::span<const Case> scales_cases() { return cases; }

}  // namespace attoscope::testing
