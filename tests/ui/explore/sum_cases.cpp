// Accumulators and whole kernels of a method; the sum behind a cell.
#include <algorithm>
#include <cmath>

#include "kernels/experiment/kernel_presets.h"
#include "kernels/questions/product_sum.h"
#include "tests/ui/cases.h"
#include "ui/controls/controls.h"
#include "ui/widgets/sum_rows.h"
#include "ui/words/sentences.h"

namespace attoscope::testing::sum_cases {
namespace {

Accumulators both(Accumulator a) { return {a, a}; }

/// A small session whose a rounds P to V's format, which tensor cores need.
Session of_hardware() {
  Session session = small_session();
  session.experiment.a.precision = session.experiment.b.precision = policy("hw").precision;
  session.experiment.b.algorithm = Algorithm::flash2;
  return session;
}

CASE(sums, accumulators) {
  hand.open(of_hardware());
  hand.choose(controls + "a/##sums", "h100", [](Session& s) { s.experiment.a.accumulator = both(Accumulator::h100); });
  hand.choose(controls + "b/##sums", "f64", [](Session& s) { s.experiment.b.accumulator = both(Accumulator::f64); });
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
  hand.leaves("the current value", of_product("P·V", "a100"));
}

CASE(sums, impossible_accumulators) {
  Session session = of_hardware();
  const auto inside = in_popup(hand, controls + "a/##sums");
  hand.open(session);
  inside([&] {
    hand.check(hand.disabled(focused + "v100"), "a V100 does not multiply bf16");
    hand.check(!hand.disabled(focused + "a100"), "an A100 does");
    hand.check(hand.disabled(focused + "###h100:f16"), "bf16 has no sums in fp16");
  });
  session.experiment.format = fp16;
  hand.open(session);
  inside([&] {
    hand.check(!hand.disabled(focused + "v100"), "a V100 multiplies fp16");
    hand.check(!hand.disabled(focused + "###h100:f16"), "fp16 has sums in fp16");
  });
  session.experiment.a.precision[Step::P] = exact;
  hand.open(session);
  inside([&] {
    hand.check(hand.disabled(focused + "h100"), "P.V in fp32 is not multiplied");
    hand.click(focused + "sums of/q·k");
    hand.check(!hand.disabled(focused + "h100"), "q.k can be added by an H100");
  });
  session.experiment.a.algorithm = Algorithm::loaded;
  hand.stage.open(session);
  hand.frames(3);
  hand.check(hand.disabled(controls + "a/##sums"), "a loaded output has no setting of sums");
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
  inside([&] { hand.check(!hand.exists(focused + "flush/never"), "flash1 has no flush"); });
}

CASE(sums, whole_kernels) {
  for (const KernelPreset& k : kernel_presets()) {
    hand.open(small_session());
    hand.choose(controls + "a/##preset", std::string(k.name), [&](Session& s) { s.experiment = with_kernel(s.experiment, k); });
    hand.check(method_names(hand.experiment()).a == k.name, "a is called " + method_names(hand.experiment()).a);
  }
  hand.open(small_session());
  hand.choose(controls + "b/##preset", "fa3_h100",
              [](Session& s) { s.experiment = with_kernel_as_b(s.experiment, kernel_preset("fa3_h100")); });
  Session session = small_session();
  session.experiment.format = fp32;
  hand.open(session);
  hand.click(controls + "b/##preset");
  hand.check(hand.disabled(focused + "fa3_h100"), "no tensor core multiplies fp32");
  hand.key(ImGuiKey_Escape);
}

// --- the sum behind a cell --------------------------------------------------------------------------------------------

/// Waits for the sum of the session's pinned cell.
const ProductSum& known_sum(Hand& hand, AttentionProduct product, bool of_b) {
  const auto answered = [&] {
    const auto sum = hand.stage.panel_input().side.sum;
    return sum && sum->question.product == product && sum->question.of_b == of_b &&
           sum->question.experiment == hand.experiment() && sum->question.row == hand.view().cell_row;
  };
  hand.await("the sum is known", answered);
  return *hand.stage.panel_input().side.sum;
}

/// A click pins a cell; a button next to it opens the cell's sum.
CASE(sums, sum_of_a_cell) {
  const std::string window = "//###The sum/";
  Session session = of_hardware();
  session.experiment.a.accumulator = both(Accumulator::h100);
  session.experiment.a.block_k = 48;
  session.experiment.a.flush = 0;
  hand.open(session);
  hand.check(!hand.exists(heatmap + "###sum"), "no cell is pinned");
  hand.press(hand.place(heatmap + "picture", 0.5f), settled);
  hand.check(hand.exists(heatmap + "###sum"), "a pinned cell has a sum");
  hand.click(heatmap + "###sum");
  hand.check(hand.view().show_sum, "the sum is shown");
  const ProductSum& pv = known_sum(hand, AttentionProduct::pv, false);
  hand.check(pv.why_none.empty() && pv.result == pv.O_after && pv.continues_O, "the sum is O after the tile");
  hand.check(!hand.disabled(window + "###block before") && hand.disabled(window + "###next block"),
             "the last block is shown at first");
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
  hand.check(!hand.disabled(window + "###next block"), "there are later pages");
  const SumTable table = chain_table(b.chain.parts, b.chain.format, {}, 60);
  double lost = 0;
  int runs = 0;
  for (const ChainPart& part : b.chain.parts) lost += part.lost, runs += part.is_exact();
  hand.check(table.lost == lost && std::abs(lost - (b.exact - static_cast<double>(b.result))) < 1e-12,
             "the losses add up to the error");
  hand.check(runs == std::ranges::count(table.rows, "", &SumRow::label), "each run of exact steps is one line");
}

/// V may have more columns than Q and K; each column has a sum.
CASE(sums, sum_of_a_column_beyond_d) {
  Session session = of_hardware();
  session.experiment.a.accumulator = both(Accumulator::h100);
  session.experiment.problem.d_v = 2 * session.experiment.problem.d;
  session.view.cell_row = 40;
  session.view.cell_col = session.experiment.problem.d_v - 1;
  session.view.show_sum = true;
  hand.open(session);
  hand.check(known_sum(hand, AttentionProduct::pv, false).why_none.empty(), "the last column has a sum");
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
  hand.check(known_sum(hand, AttentionProduct::pv, true).why_none.empty(), "the sum is b's");
}

}  // namespace
}  // namespace attoscope::testing::sum_cases
