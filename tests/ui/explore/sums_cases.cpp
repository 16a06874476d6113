// Accumulators of q.k and P.V, flush, whole kernels, and the sum behind a cell.
#include <array>
#include <chrono>
#include <thread>

#include "kernels/experiment/kernel_presets.h"
#include "kernels/questions/product_sum.h"
#include "tests/ui/cases.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

constexpr int palette_key = ImGuiMod_Ctrl | ImGuiKey_P;
const std::string focused = "//$FOCUSED/", window = "//###The sum/";

Accumulators both(Accumulator a) { return {a, a}; }

/// A small question whose a rounds P as V, so that tensor cores can add it up.
Session of_hardware() {
  Session session = small_session();
  session.experiment.a.precision = session.experiment.b.precision = policy("hw").precision;
  session.experiment.b.algorithm = Algorithm::flash2;
  return session;
}

/// Opens the list of a or b, acts in it, closes it.
void inside(Hand& hand, const char* column, const std::function<void()>& act) {
  hand.click(controls + column + "/##sums");
  act();
  hand.key(ImGuiKey_Escape);
}

void accumulators(Hand& hand) {
  hand.open(of_hardware());
  const auto choose = [&](const char* column, const std::string& item) {
    return [&hand, column, item] { hand.choose(controls + column + "/##sums", item); };
  };
  hand.changes("both of a", choose("a", "h100"), [](Session& s) { s.experiment.a.accumulator = both(Accumulator::h100); });
  hand.changes("both of b", choose("b", "f64"), [](Session& s) { s.experiment.b.accumulator = both(Accumulator::f64); });
  const auto of_product = [&](const std::string& product, const std::string& item) {
    return [&hand, product, item] {
      inside(hand, "a", [&] {
        hand.click(focused + "sums of/" + product);
        hand.click(focused + item);
      });
    };
  };
  hand.changes("q.k alone", of_product("q·k", "fma"), [](Session& s) { s.experiment.a.accumulator.qk = Accumulator::fma; });
  hand.changes("P.V alone", of_product("P·V", "a100"), [](Session& s) { s.experiment.a.accumulator.pv = Accumulator::a100; });
  hand.leaves("what it is already", of_product("P·V", "a100"));
}

void impossible(Hand& hand) {
  Session session = of_hardware();
  hand.open(session);
  inside(hand, "a", [&] {
    hand.check(hand.disabled(focused + "v100"), "a V100 does not multiply bf16");
    hand.check(!hand.disabled(focused + "a100"), "an A100 does");
    hand.check(hand.disabled(focused + "###h100:f16"), "sums in fp16 are not those of bf16");
  });
  session.experiment.format = fp16;
  hand.open(session);
  inside(hand, "a", [&] {
    hand.check(!hand.disabled(focused + "v100"), "a V100 multiplies fp16");
    hand.check(!hand.disabled(focused + "###h100:f16"), "sums in fp16 are those of fp16");
  });
  session.experiment.a.precision[Step::P] = exact;
  hand.open(session);
  inside(hand, "a", [&] {
    hand.check(hand.disabled(focused + "h100"), "P in fp32 is not multiplied");
    hand.click(focused + "sums of/q·k");
    hand.check(!hand.disabled(focused + "h100"), "q.k is");
  });
  session.experiment.a.algorithm = Algorithm::loaded;
  hand.stage.open(session);
  hand.frames(3);
  hand.check(hand.disabled(controls + "a/##sums"), "an output that was loaded adds up in its own way");
}

void flush(Hand& hand) {
  hand.open(of_hardware());
  const auto press = [&](const char* choice) {
    return [&hand, choice] { inside(hand, "a", [&] { hand.click(focused + "flush/" + choice); }); };
  };
  hand.changes("never", press("never"), [](Session& s) { s.experiment.a.flush = 0; });
  hand.changes("every n", press("every n tiles"), [](Session& s) { s.experiment.a.flush = 4; });
  hand.changes(
      "every 3", [&] { inside(hand, "a", [&] { hand.fill(focused + "##flush", "3"); }); },
      [](Session& s) { s.experiment.a.flush = 3; });
  hand.changes("as the policy", press("as the policy"), [](Session& s) { s.experiment.a.flush = flush_of_policy; });
  Session session = of_hardware();
  session.experiment.a.algorithm = Algorithm::flash1;
  hand.open(session);
  inside(hand, "a", [&] { hand.check(!hand.exists(focused + "flush/never"), "flash1 has none"); });
}

void kernels(Hand& hand) {
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

void palette(Hand& hand) {
  hand.open(of_hardware());
  const auto ask = [&](const char* query) {
    return [&hand, query] {
      hand.key(palette_key);
      hand.frames(2);
      hand.enter(query);
      hand.frames(2);
    };
  };
  hand.changes("sums of a", ask("a: sums h100"), [](Session& s) { s.experiment.a.accumulator = both(Accumulator::h100); });
  hand.changes("a kernel", ask("a: kernel fa2_a100"),
               [](Session& s) { s.experiment = with_kernel(s.experiment, kernel_preset("fa2_a100")); });
  hand.changes("of b", ask("b: kernel fa3_h100"),
               [](Session& s) { s.experiment = with_kernel_as_b(s.experiment, kernel_preset("fa3_h100")); });
}

void called(Hand& hand) {
  Experiment e = of_hardware().experiment;
  e.a.accumulator = both(Accumulator::h100);
  e.b = e.a;
  e.b.accumulator = both(Accumulator::a100);
  hand.check(method_names(e).a == "flash2 h100" && method_names(e).b_after_a == "a100", "two GPUs: " + method_names(e).a);
  e.b = e.a;
  e.b.flush = 4;
  hand.check(method_names(e).b_after_a == "flush 4", "two flushes: " + method_names(e).b_after_a);
}

/// Waits until the sum of the session's pinned cell is known.
const ProductSum& known_sum(Hand& hand, AttentionProduct product, bool of_b) {
  const auto answered = [&] {
    const auto sum = hand.stage.panel_input().side.sum;
    return sum && sum->question.product == product && sum->question.of_b == of_b &&
           sum->question.experiment == hand.experiment() && sum->question.row == hand.view().cell_row;
  };
  for (int i = 0; i < 4000 && !answered(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    hand.frames(1);
  }
  hand.check(answered(), "the sum is known");
  hand.frames(2);
  return *hand.stage.panel_input().side.sum;
}

/// A click pins a cell; beside it stands the offer of the sum behind it.
void of_a_cell(Hand& hand) {
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
  hand.check(!known_sum(hand, AttentionProduct::qk, true).why_none.empty(), "fma has no blocks, and the window says so");
  hand.key(ImGuiKey_Escape);
  hand.frames(2);
  hand.check(!hand.exists(window + "product/q·k"), "without a pinned cell there is no window");
}

/// V may have more columns than Q and K: each has its sum.
void of_a_column_beyond_d(Hand& hand) {
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
void beside_a_loaded_output(Hand& hand) {
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

constexpr std::array cases{
    Case{"sums", "of a column beyond d", of_a_column_beyond_d},
    Case{"sums", "beside a loaded output", beside_a_loaded_output},
    Case{"sums", "accumulators", accumulators},
    Case{"sums", "impossible", impossible},
    Case{"sums", "flush", flush},
    Case{"sums", "kernels", kernels},
    Case{"sums", "palette", palette},
    Case{"sums", "called", called},
    Case{"sums", "of a cell", of_a_cell},
};

}  // namespace

std::span<const Case> sums_cases() { return cases; }

}  // namespace attoscope::testing
