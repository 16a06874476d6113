// A method: its algorithm, places of rounding, options, accumulators, whole kernels, storage with scales; the sum behind a
// cell.
#include <algorithm>
#include <cmath>

#include "kernels/experiment/kernel_presets.h"
#include "kernels/questions/product_sum.h"
#include "tests/support/eventually.h"
#include "tests/ui/cases.h"
#include "ui/controls/controls.h"
#include "ui/widgets/sum_rows.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string focused = "//$FOCUSED/";

/// Acts in the popup of a button: opens it before and closes it after.
std::function<void(const std::function<void()>&)> in_popup(Hand& hand, const std::string& button) {
  return [&hand, button](const std::function<void()>& act) {
    hand.click(button);
    act();
    for (int i = 0; i < 3 && ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup); ++i) hand.key(ImGuiKey_Escape);
  };
}

/// A label as a part of a path: its slashes are escaped.
std::string escaped(const std::string& label) {
  std::string part;
  for (const char c : label) part += c == '/' ? std::string("\\/") : std::string(1, c);
  return part;
}

// --- algorithm and places of rounding ---------------------------------------------------------------------------------

Method& method(Session& s, char which) { return which == 'a' ? s.experiment.a : s.experiment.b; }
std::string column(char which) { return controls + which + '/'; }

bool has_step(const Method& m, Step step) {
  return m.algorithm != Algorithm::three_pass || (step != Step::alpha && step != Step::rescaled);
}

CASE(precision, policies_of_methods) {
  for (const char which : {'a', 'b'})
    for (const Policy& p : policies()) {
      if (p.algorithm != method(hand.session(), which).algorithm) continue;
      hand.changes(
          "preset " + std::string(p.name), [&] { hand.choose(column(which) + "##preset", std::string(p.name)); },
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

CASE(precision, every_place_of_rounding) {
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

/// Algorithms that cannot be computed here are grey, with the reason; others are chosen like any other.
CASE(precision, kernels_of_others) {
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
  hand.each({{column('a') + "##algorithm", [](Session& s) { s.experiment.a.algorithm = Algorithm::hardware; }, {}, "hardware"},
             {column('b') + "##algorithm", [](Session& s) { s.experiment.b.algorithm = Algorithm::loaded; }, {}, "loaded"}});
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

CASE(precision, own_formats) {
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
  hand.check(options_changed(hand.experiment().a, hand.experiment().format) == 0, "none is left");
}

CASE(options, options_of_algorithms) {
  for (const Algorithm algorithm : emulated_algorithms) {
    hand.open(of_algorithm(algorithm));
    in_popup(hand, controls + "a/###options")([&] {
      hand.check(hand.exists(focused + "##splits") == (algorithm == Algorithm::split_kv), "splits are those of split_kv");
      hand.check(hand.exists(focused + "##tau") == (algorithm == Algorithm::flash4), "tau is that of flash4");
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
}

/// Keys and columns of V apart from queries and columns of Q.
CASE(options, rectangle) {
  hand.experiment().problem.n_k = 290, hand.experiment().problem.d_v = 40;
  hand.settle();
  hand.changes("keys", [&] { hand.type(controls + "##keys", "300"); }, [](Session& s) { s.experiment.problem.n_k = 300; });
  hand.changes("columns of V", [&] { hand.type(controls + "##d_v", "24"); }, [](Session& s) { s.experiment.problem.d_v = 24; });
  hand.each({{controls + "mask/causal", [](Session& s) { s.experiment.problem.mask.kind = Mask::Kind::causal; }}});
  hand.each({{focused + "##top-left", [](Session& s) { s.experiment.problem.mask.top_left = true; }}},
            in_popup(hand, controls + "mask/###more"));
  const Result& r = *hand.stage.panel_input().answer.result;
  hand.check(r.a.rows == 96 && r.a.cols == 24 && r.rescale_map.tiles == 19, "the answer has its shape");
}

// --- accumulators and whole kernels -----------------------------------------------------------------------------------

Accumulators both(Accumulator a) { return {a, a}; }

/// A small question whose a rounds P as V, so that tensor cores can add it up.
Session of_hardware() {
  Session session = small_session();
  session.experiment.a.precision = session.experiment.b.precision = policy("hw").precision;
  session.experiment.b.algorithm = Algorithm::flash2;
  return session;
}

CASE(sums, accumulators) {
  hand.open(of_hardware());
  const auto choose = [&](const char* column, const std::string& item) {
    return [&hand, column, item] { hand.choose(controls + column + "/##sums", item); };
  };
  hand.changes("both of a", choose("a", "h100"), [](Session& s) { s.experiment.a.accumulator = both(Accumulator::h100); });
  hand.changes("both of b", choose("b", "f64"), [](Session& s) { s.experiment.b.accumulator = both(Accumulator::f64); });
  const auto of_product = [&](const std::string& product, const std::string& item) {
    return [&hand, product, item] {
      in_popup(hand, controls + "a/##sums")([&] {
        hand.click(focused + "sums of/" + product);
        hand.click(focused + item);
      });
    };
  };
  hand.changes("q.k alone", of_product("q·k", "fma"), [](Session& s) { s.experiment.a.accumulator.qk = Accumulator::fma; });
  hand.changes("P.V alone", of_product("P·V", "a100"), [](Session& s) { s.experiment.a.accumulator.pv = Accumulator::a100; });
  hand.leaves("what it is already", of_product("P·V", "a100"));
}

CASE(sums, impossible_accumulators) {
  Session session = of_hardware();
  const auto inside = in_popup(hand, controls + "a/##sums");
  hand.open(session);
  inside([&] {
    hand.check(hand.disabled(focused + "v100"), "a V100 does not multiply bf16");
    hand.check(!hand.disabled(focused + "a100"), "an A100 does");
    hand.check(hand.disabled(focused + "###h100:f16"), "sums in fp16 are not those of bf16");
  });
  session.experiment.format = fp16;
  hand.open(session);
  inside([&] {
    hand.check(!hand.disabled(focused + "v100"), "a V100 multiplies fp16");
    hand.check(!hand.disabled(focused + "###h100:f16"), "sums in fp16 are those of fp16");
  });
  session.experiment.a.precision[Step::P] = exact;
  hand.open(session);
  inside([&] {
    hand.check(hand.disabled(focused + "h100"), "P in fp32 is not multiplied");
    hand.click(focused + "sums of/q·k");
    hand.check(!hand.disabled(focused + "h100"), "q.k is");
  });
  session.experiment.a.algorithm = Algorithm::loaded;
  hand.stage.open(session);
  hand.frames(3);
  hand.check(hand.disabled(controls + "a/##sums"), "an output that was loaded adds up in its own way");
}

CASE(sums, flushes) {
  hand.open(of_hardware());
  const auto inside = in_popup(hand, controls + "a/##sums");
  const auto flush = [](int tiles) { return [tiles](Session& s) { s.experiment.a.flush = tiles; }; };
  hand.each({{focused + "flush/never", flush(0)},
             {focused + "flush/every n tiles", flush(4)},
             {focused + "##flush", flush(3), "3"},
             {focused + "flush/as the policy", flush(flush_of_policy)}},
            inside);
  Session session = of_hardware();
  session.experiment.a.algorithm = Algorithm::flash1;
  hand.open(session);
  inside([&] { hand.check(!hand.exists(focused + "flush/never"), "flash1 has none"); });
}

CASE(sums, whole_kernels) {
  for (const KernelPreset& k : kernel_presets()) {
    hand.open(small_session());
    hand.changes(
        std::string(k.name), [&] { hand.choose(controls + "a/##preset", std::string(k.name)); },
        [&](Session& s) { s.experiment = with_kernel(s.experiment, k); });
    hand.check(method_names(hand.experiment()).a == k.name, "a is called " + method_names(hand.experiment()).a);
  }
  hand.open(small_session());
  hand.changes(
      "as b", [&] { hand.choose(controls + "b/##preset", "fa3_h100"); },
      [](Session& s) { s.experiment = with_kernel_as_b(s.experiment, kernel_preset("fa3_h100")); });
  Session session = small_session();
  session.experiment.format = fp32;
  hand.open(session);
  hand.click(controls + "b/##preset");
  hand.check(hand.disabled(focused + "fa3_h100"), "no tensor core multiplies fp32");
  hand.key(ImGuiKey_Escape);
}

// --- the sum behind a cell --------------------------------------------------------------------------------------------

/// Waits until the sum of the session's pinned cell is known.
const ProductSum& known_sum(Hand& hand, AttentionProduct product, bool of_b) {
  const auto answered = [&] {
    const auto sum = hand.stage.panel_input().side.sum;
    return sum && sum->question.product == product && sum->question.of_b == of_b &&
           sum->question.experiment == hand.experiment() && sum->question.row == hand.view().cell_row;
  };
  hand.check(eventually(answered, [&] { hand.frames(1); }), "the sum is known");
  hand.frames(2);
  return *hand.stage.panel_input().side.sum;
}

/// A click pins a cell; beside it stands the offer of the sum behind it.
CASE(sums, sum_of_a_cell) {
  const std::string window = "//###The sum/";
  Session session = of_hardware();
  session.experiment.a.accumulator = both(Accumulator::h100);
  session.experiment.a.block_k = 48;
  session.experiment.a.flush = 0;
  hand.open(session);
  hand.check(!hand.exists(heatmap + "###sum"), "no cell is pinned");
  hand.press(hand.place(heatmap + "picture", 0.5f));
  hand.settle();
  hand.check(hand.exists(heatmap + "###sum"), "a pinned cell has a sum");
  hand.click(heatmap + "###sum");
  hand.check(hand.view().show_sum, "it is shown");
  const ProductSum& pv = known_sum(hand, AttentionProduct::pv, false);
  hand.check(pv.why_none.empty() && pv.result == pv.O_after && pv.continues_O, "the sum is O after the tile");
  hand.check(!hand.disabled(window + "###block before") && hand.disabled(window + "###next block"),
             "it ends in the last block");
  hand.click(window + "product/q·k");
  const ProductSum& qk = known_sum(hand, AttentionProduct::qk, false);
  hand.check(qk.blocks.size() == 1 && qk.key == hand.experiment().problem.n - 1, "q.k of 16 columns is one block");
  hand.click(window + "sum of/flash2 fma");
  const ProductSum& by_fma = known_sum(hand, AttentionProduct::qk, true);
  hand.check(by_fma.why_none.empty() && by_fma.blocks.empty() && by_fma.chain.steps == 16, "fma has a chain of 16 steps");
  hand.key(ImGuiKey_Escape);
  hand.frames(2);
  hand.check(!hand.exists(window + "product/q·k"), "without a pinned cell there is no window");
}

/// The sum of the default methods: a chain of fma, in pages of its steps that lose bits, the others as runs.
CASE(sums, sum_by_fma) {
  const std::string window = "//###The sum/";
  Session session = small_session();
  session.experiment.problem.n = 512;
  session.view.cell_row = 400;
  session.view.cell_col = 3;
  session.view.show_sum = true;
  hand.open(session);
  const ProductSum& a = known_sum(hand, AttentionProduct::pv, false);
  hand.check(a.why_none.empty() && a.result == a.O_after && a.chain.losing > 0, "it ends in O after the tile");
  hand.click(window + "sum of/three-pass");
  const ProductSum& b = known_sum(hand, AttentionProduct::pv, true);
  hand.check(b.chain.steps == 512 && b.chain.parts.size() > 32, "three-pass adds up all keys in one chain");
  hand.check(!hand.disabled(window + "###block before") && hand.disabled(window + "###next block"), "its last page is shown");
  hand.click(window + "###block before");
  hand.frames(2);
  hand.check(!hand.disabled(window + "###next block"), "there are others");
  const SumTable table = chain_table(b.chain.parts, b.chain.format, {}, 60);
  double lost = 0;
  int runs = 0;
  for (const ChainPart& part : b.chain.parts) lost += part.lost, runs += part.is_exact();
  hand.check(table.lost == lost && std::abs(lost - (b.exact - static_cast<double>(b.result))) < 1e-12,
             "the losses add up to the error");
  hand.check(runs == std::ranges::count(table.rows, "", &SumRow::label), "each run of exact steps is one line");
}

/// V may have more columns than Q and K: each has its sum.
CASE(sums, sum_of_a_column_beyond_d) {
  Session session = of_hardware();
  session.experiment.a.accumulator = both(Accumulator::h100);
  session.experiment.problem.d_v = 2 * session.experiment.problem.d;
  session.view.cell_row = 40;
  session.view.cell_col = session.experiment.problem.d_v - 1;
  session.view.show_sum = true;
  hand.open(session);
  hand.check(known_sum(hand, AttentionProduct::pv, false).why_none.empty(), "the last column has one");
}

/// The sum is b's if a is a loaded output.
CASE(sums, sum_beside_a_loaded_output) {
  Session session = of_hardware();
  const Problem& p = session.experiment.problem;
  session.experiment.loaded = {.file = "o.npy",
                               .type = "F32",
                               .n = p.n,
                               .d = p.d,
                               .values = std::make_shared<const std::vector<double>>(static_cast<std::size_t>(p.n) * p.d, 0.5)};
  session.experiment.a.algorithm = Algorithm::loaded;
  session.experiment.b = of_hardware().experiment.a;
  session.experiment.b.accumulator = both(Accumulator::h100);
  session.view.cell_row = session.view.cell_col = 3;
  session.view.show_sum = true;
  hand.open(session);
  hand.check(known_sum(hand, AttentionProduct::pv, true).why_none.empty(), "it is b's");
}

// --- storage with scales ----------------------------------------------------------------------------------------------

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

}  // namespace attoscope::testing
