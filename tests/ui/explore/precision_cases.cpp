// Places of rounding: algorithms, presets, every cell of the matrix.
#include <array>

#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

Method& method(Session& s, char which) { return which == 'a' ? s.experiment.a : s.experiment.b; }
std::string column(char which) { return controls + which + '/'; }

bool has_step(const Method& m, Step step) {
  return m.algorithm != Algorithm::three_pass || (step != Step::alpha && step != Step::rescaled);
}

void presets(Hand& hand) {
  for (const char which : {'a', 'b'})
    for (const Policy& p : policies()) {
      if (p.algorithm != method(hand.session(), which).algorithm) continue;
      hand.changes(
          "preset " + std::string(p.name), [&] { hand.choose(column(which) + "##preset", std::string(p.name)); },
          [&](Session& s) { method(s, which).precision = p.precision; });
    }
}

void algorithms(Hand& hand) {
  const auto becomes = [](char which, Algorithm algorithm, const char* preset) {
    return [=](Session& s) {
      method(s, which).algorithm = algorithm;
      method(s, which).precision = policy(preset).precision;
    };
  };
  const auto choose = [&](char which, const char* algorithm) {
    return [&hand, which, item = std::string(algorithm)] { hand.choose(column(which) + "##algorithm", item); };
  };
  hand.changes("a in three passes", choose('a', "three_pass"), becomes('a', Algorithm::three_pass, "base_hw"));
  hand.changes("a as flash", choose('a', "flash2"), becomes('a', Algorithm::flash2, "hw"));
  hand.changes("b as flash", choose('b', "flash2"), becomes('b', Algorithm::flash2, "eager"));
  for (const Algorithm algorithm :
       {Algorithm::two_pass, Algorithm::flash1, Algorithm::flash4, Algorithm::split_kv, Algorithm::flash2})
    hand.changes(std::string(name(algorithm)), choose('a', std::string(name(algorithm)).c_str()),
                 [=](Session& s) { s.experiment.a.algorithm = algorithm; });
  hand.changes("b in three passes", choose('b', "three_pass"), becomes('b', Algorithm::three_pass, "base_eager"));
  hand.leaves("b as it is", choose('b', "three_pass"));
  hand.click(column('a') + "m");
  hand.changes("an algorithm keeps steps that are nobody's", choose('a', "three_pass"),
               [](Session& s) { s.experiment.a.algorithm = Algorithm::three_pass; });
}

void cells(Hand& hand) {
  for (const char which : {'a', 'b'})
    for (int i = 0; i < step_count; ++i) {
      const auto step = static_cast<Step>(i);
      const std::string path = column(which) + std::string(name(step));
      if (!has_step(method(hand.session(), which), step)) {
        hand.check(!hand.exists(path), path + " has no cell");
        continue;
      }
      for (int twice = 0; twice < 2; ++twice) {
        const bool was_exact = method(hand.session(), which).precision[step].kind == Rounding::Kind::exact;
        hand.changes(
            path, [&] { hand.click(path); },
            [&](Session& s) { method(s, which).precision[step] = was_exact ? to_main : exact; });
      }
    }
}

void flags(Hand& hand) {
  for (int twice = 0; twice < 2; ++twice) {
    hand.changes(
        "l sums P", [&] { hand.click(controls + "a/sum_rounded_P"); },
        [](Session& s) { s.experiment.a.precision.sum_rounded_P ^= true; });
    for (const char which : {'a', 'b'})
      hand.changes(
          "P.V into O", [&] { hand.click(column(which) + "accumulate_in_O"); },
          [&](Session& s) { method(s, which).precision.accumulate_in_O ^= true; });
  }
  hand.check(!hand.exists(controls + "b/sum_rounded_P"), "three passes have no such choice");
  hand.choose(controls + "a/##algorithm", "flash1");
  hand.check(!hand.exists(controls + "a/accumulate_in_O"), "flash1 always adds a fresh P.V");
}

/// Algorithms that cannot be computed here are grey, with the reason; others are chosen like any other.
void others_kernels(Hand& hand) {
  PanelInput input = hand.stage.panel_input();
  input.choices.no_hardware = "There is no GPU.";
  hand.stage.told = input;
  hand.click(column('a') + "##algorithm");
  hand.check(hand.disabled("//$FOCUSED/hardware"), "hardware is grey where it cannot run");
  hand.check(hand.disabled("//$FOCUSED/loaded"), "loaded is grey where nothing is");
  hand.check(!hand.disabled("//$FOCUSED/flash2"), "what is emulated is not");
  hand.key(ImGuiKey_Escape);
  hand.stage.told->choices.no_hardware.clear();
  hand.experiment().loaded.file = "mine.npy";
  hand.changes(
      "a on tensor cores", [&] { hand.choose(column('a') + "##algorithm", "hardware"); },
      [](Session& s) { s.experiment.a.algorithm = Algorithm::hardware; });
  hand.changes(
      "b from a file", [&] { hand.choose(column('b') + "##algorithm", "loaded"); },
      [](Session& s) { s.experiment.b.algorithm = Algorithm::loaded; });
  hand.check(hand.exists(column('a') + "input") && !hand.exists(column('a') + "S"),
             "a's inputs are still rounded, nothing else");
  hand.check(!hand.exists(column('b') + "input") && !hand.exists(column('b') + "accumulate_in_O"), "b has no step");
  hand.check(hand.disabled(column('a') + "##preset") && hand.disabled(column('b') + "##preset"), "and neither has a policy");
  hand.changes(
      "b emulated again", [&] { hand.choose(column('b') + "##algorithm", "flash1"); },
      [](Session& s) {
        s.experiment.b.algorithm = Algorithm::flash1;
        s.experiment.b.precision = policy("eager").precision;
      });
}

/// The right end of a cell opens the same list as a right click.
void arrows(Hand& hand) {
  hand.changes(
      "a format by the arrow", [&] { hand.press(hand.place(column('a') + "O", 0.95f)), hand.pick("fp16"); },
      [](Session& s) { s.experiment.a.precision[Step::O] = to_format(fp16); });
  hand.changes(
      "a click beside the arrow", [&] { hand.press(hand.place(column('a') + "O", 0.7f)); },
      [](Session& s) { s.experiment.a.precision[Step::O] = exact; });
}

void own_formats(Hand& hand) {
  const auto set = [&](const char* text, Rounding r) {
    hand.changes(
        text, [&] { hand.click(controls + "a/l", 1), hand.pick(text); },
        [&](Session& s) { s.experiment.a.precision[Step::l] = r; });
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
}

constexpr std::array cases{
    Case{"precision", "presets", presets},
    Case{"precision", "algorithms", algorithms},
    Case{"precision", "cells", cells},
    Case{"precision", "flags", flags},
    Case{"precision", "own formats", own_formats},
    Case{"precision", "others' kernels", others_kernels},
    Case{"precision", "arrows", arrows},
};

}  // namespace

std::span<const Case> precision_cases() { return cases; }

}  // namespace attoscope::testing
