// The backward pass in the controls: its switch, dO, named kernels, options, sums, scales and rounding steps.

#include "app/session/session.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/rules.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/output_files.h"
#include "ui/frame/ui_state.h"

namespace attoscope::testing::gradient_controls {
namespace {

const std::string pass = controls + "pass/";
std::string cells_of(char which) { return controls + which + "/grad/"; }
GradMethod& gradient(Session& s, char which) { return which == 'a' ? s.experiment.backward.a : s.experiment.backward.b; }
GradMethod named(const char* kernel) { return grad_method(kernel, 16, {}); }

Session with_gradients() {
  Session session = small_session();
  session.experiment = with_backward(session.experiment);
  return session;
}

CASE(gradients, switch_and_key) {
  hand.check(!hand.exists(cells_of('a') + "dS"), "a session begins without a backward pass");
  const auto on = [](Session& s) { s.experiment = with_backward(s.experiment); };
  const auto off = [](Session& s) { s.experiment.backward.on = false; };
  hand.changes("the switch", [&] { hand.click(pass + "backward"); }, on);
  hand.check(hand.result()->backward.has_value(), "the answer has gradients");
  hand.click(cells_of('a') + "dP", [](Session& s) { s.experiment.backward.a.precision[GradStep::dP] = to_main; });
  hand.changes("off, and the rest is kept", [&] { hand.key(ImGuiKey_D); }, off);
  hand.check(!hand.result()->backward.has_value(), "the answer has O alone");
  hand.changes("on again", [&] { hand.key(ImGuiKey_D); }, [](Session& s) { s.experiment.backward.on = true; });
  hand.leaves("on, again", [&] { hand.click(pass + "backward"); });
  hand.changes("undone", [&] { hand.key(undo_key); }, off);
}

/// Every change of a forward pass sets its usual backward pass, even if that is off; a chosen backward pass stays.
CASE(gradients, usual_ones_follow) {
  hand.open(with_gradients());
  hand.check(hand.experiment().backward.a == named("grad_hw") && hand.experiment().backward.b == named("grad_base_eager"),
             "a and b have their usual backward passes");
  hand.click(controls + "steps of/O");
  hand.choose(controls + "a/##preset", "eager", settled);
  hand.check(hand.experiment().backward.a == named("grad_eager"), "a policy of a");
  hand.choose(controls + "b/##algorithm", "flash2", settled);
  hand.check(hand.experiment().backward.b == named("grad_eager"), "an algorithm of b");
  hand.key(ImGuiMod_Shift | ImGuiKey_G);
  hand.type_only("all_tile");
  hand.frames(2);
  hand.enter("all_tile");
  hand.settle();
  hand.check(hand.experiment().backward.a == usual_gradient(hand.experiment().a, {}), "a policy of the gallery");
  hand.ask("a: kernel fa3", settled);
  hand.check(hand.experiment().backward.a == usual_gradient(hand.experiment().a, {}), "a kernel of the palette");
  hand.click(pass + "forward");
  hand.choose(controls + "a/##preset", "eager");
  hand.click(pass + "backward", settled);
  hand.check(hand.experiment().backward.a == named("grad_eager"), "a policy chosen while gradients were off");
  hand.experiment().backward.a = named("grad_fa2");
  hand.click(controls + "steps of/O");
  hand.choose(controls + "a/##preset", "hw", settled);
  hand.check(hand.experiment().backward.a == named("grad_fa2"), "a chosen backward pass stays");
}

CASE(gradients, kernels) {
  hand.open(with_gradients());
  for (const char which : {'a', 'b'})
    for (const GradKernel& k : grad_kernels()) {
      const GradMethod chosen = grad_method(k.name, 16, {});
      if (chosen == gradient(hand.session(), which)) continue;
      hand.choose(cells_of(which) + "##kernel", std::string(k.name), [&](Session& s) { gradient(s, which) = chosen; });
    }
  hand.experiment().problem.softcap = 30;
  hand.experiment().backward.a = named("grad_hw");
  hand.settle();
  hand.click(cells_of('a') + "##kernel");
  hand.check(hand.disabled(focused + "grad_triton") && !hand.disabled(focused + "grad_fa2"),
             "scale on K is grey where S has a soft cap");
  hand.check(hand.explained(hand.id(focused + "grad_triton")), "with the reason");
  hand.key(ImGuiKey_Escape);
}

/// An algorithm without a backward pass cannot be chosen while that is on.
CASE(gradients, algorithms_without_them) {
  hand.open(with_gradients());
  hand.tell().choices.no_hardware.clear();
  hand.experiment().loaded.file = "mine.npy";
  hand.click(controls + "steps of/O");
  for (const char which : {'a', 'b'}) {
    hand.click(controls + which + "/##algorithm");
    for (const char* const kernel : {"hardware", "loaded"})
      hand.check(hand.disabled(focused + kernel), std::string(kernel) + " is grey");
    hand.check(!hand.disabled(focused + "flash1"), "emulated methods are not grey");
    hand.key(ImGuiKey_Escape);
  }
}

CASE(gradients, every_step) {
  hand.open(with_gradients());
  for (const char which : {'a', 'b'})
    for (const GradStepInfo& row : grad_step_infos) {
      const std::string path = cells_of(which) + std::string(row.name);
      const bool was_exact = gradient(hand.session(), which).precision[row.step] == exact;
      hand.click(path, [&](Session& s) { gradient(s, which).precision[row.step] = was_exact ? to_main : exact; });
    }
}

CASE(gradients, options) {
  hand.open(with_gradients());
  const auto inside = in_popup(hand, cells_of('a') + "###options");
  const auto a = [](auto set) { return [set](Session& s) { set(s.experiment.backward.a); }; };
  const auto delta_from_P = [](GradMethod& g) { g.precision.delta_from = DeltaFrom::probabilities; };
  hand.each({{focused + "##block_q", a([](GradMethod& g) { g.block_q = 16; }), "16"},
             {focused + "##block_k", a([](GradMethod& g) { g.block_k = 32; }), "32"},
             {focused + "##last to first", a([](GradMethod& g) { g.last_queries_first = true; })},
             {focused + "##order", a([](GradMethod& g) { g.order = GradOrder::buffers; }), {}, "buffers"},
             {focused + "##buffers", a([](GradMethod& g) { g.buffers = 4; }), "4"},
             {focused + "##order", a([](GradMethod& g) { g.order = GradOrder::shuffled; }), {}, "shuffled"},
             {focused + "##order_seed", a([](GradMethod& g) { g.order_seed = 77; }), "77"},
             {focused + "##delta_from", a(delta_from_P), {}, "probabilities"},
             {focused + "##scale_at", a([](GradMethod& g) { g.scale_at = ScaleAt::dS; }), {}, "dS"},
             {focused + "##exponential", a([](GradMethod& g) { g.exponential = GradExponential::exp2; }), {}, "exp2"},
             {focused + "###defaults", a([](GradMethod& g) { g = named("grad_hw"); })}},
            inside);
}

CASE(gradients, sums_of_tensor_cores) {
  hand.open(with_gradients());
  hand.choose(cells_of('a') + "##sums", "h100", settled);
  const GradAccumulators all{Accumulator::h100, Accumulator::h100, Accumulator::h100, Accumulator::h100};
  hand.check(hand.experiment().backward.a.accumulator == all, "all products of a");
  hand.check(hand.disabled(cells_of('a') + "dv_step"), "rounding after every fma is grey then");
  hand.check(hand.explained(hand.id(cells_of('a') + "dv_step")), "with the reason");
  hand.check(!hand.disabled(cells_of('b') + "dv_step"), "b still has it");
  const auto dP_by_fma = [&] { hand.click(cells_of('a') + "##sums"), hand.click(focused + "sums of/dP"), hand.pick("fma"); };
  hand.changes("one product alone", dP_by_fma, [](Session& s) { s.experiment.backward.a.accumulator.dP = Accumulator::fma; });
  hand.click(cells_of('b') + "##sums");
  hand.check(hand.disabled(focused + "f64"), "the backward pass has no sums in fp64");
  hand.key(ImGuiKey_Escape);
}

CASE(gradients, storage) {
  hand.open(with_gradients());
  const auto stored = [](const char* list, const char* text, Scaling GradScalings::* place) {
    const auto change = [text, place](Session& s) { s.experiment.backward.b.scaling.*place = parse_scaling(text); };
    return Hand::Control{focused + list, change, {}, escaped(text)};
  };
  hand.each({stored("##dS", "e4m3/head", &GradScalings::dS),
             stored("##P", "e4m3/head/x256", &GradScalings::P),
             stored("##dO", "int8/token", &GradScalings::dO),
             stored("##dS_of_dK", "e4m3/block:32/e8m0/ceil", &GradScalings::dS_of_dK),
             {focused + "no scales", [](Session& s) { s.experiment.backward.b.scaling = {}; }}},
            in_popup(hand, cells_of('b') + "##scales"));
}

/// Methods without a backward pass: the switch is grey; with a backward pass on, these methods are grey.
CASE(gradients, methods_without) {
  hand.experiment().a.scaling.smooth_Q = 8;
  hand.settle();
  hand.check(hand.disabled(pass + "backward"), "a's storage has no backward pass");
  hand.leaves("the key", [&] { hand.key(ImGuiKey_D); });
  hand.expect_text(hand.error(), "a.scaling.smooth_Q is on, which has no backward pass here: expected it off.");
  hand.open(with_gradients());
  hand.click(controls + "steps of/O");
  hand.experiment().loaded.file = "mine.npy";
  hand.frames(2);
  hand.click(controls + "a/##algorithm");
  hand.check(hand.disabled(focused + "loaded") && hand.disabled(focused + "hardware"), "loaded outputs have no backward pass");
  hand.key(ImGuiKey_Escape);
  hand.check(hand.disabled(controls + "kernel as/a"), "the loaded output has no backward pass");
}

/// n x d times a number as a .npy file.
std::string written(const TemporaryDirectory& folder, const std::string& name, int n, int d, double value) {
  const std::vector<double> all(static_cast<std::size_t>(n) * static_cast<std::size_t>(d), value);
  return folder.write(name, npy_bytes(n, d, all.data()));
}

CASE(gradients, incoming) {
  const std::string d_o = written(hand.folder, "mine.npy", 96, 16, 0.5), dropped = written(hand.folder, "dout.npy", 96, 16, 2),
                    d_lse = written(hand.folder, "dlse.npy", 96, 1, 0.25), small = written(hand.folder, "do.npy", 8, 16, 1);
  hand.open(with_gradients());
  hand.choose(controls + "dO/##incoming", "ones", [](Session& s) { s.experiment.backward.d_o = OutputGradient::ones; });
  const auto type = [&](const std::string& title, const std::string& path) {
    hand.choose(controls + title + "/##incoming", "open a file ...");
    hand.fill(focused + "##path", path, settled);
    hand.close_popups();
  };
  type("dO", d_o);
  type("dL", d_lse);
  const Backward& b = hand.experiment().backward;
  hand.check(b.d_o == OutputGradient::file && b.d_o_file.file == d_o && b.d_lse_file.file == d_lse, "both are files");
  const auto incoming = [&] { return hand.result()->backward->incoming; };
  hand.check(incoming()->d_o[5] == 0.5 && incoming()->d_lse[7] == 0.25, "the answer uses their numbers");
  hand.leaves("a dO of another size", [&] { type("dO", small); });
  hand.expect_error("do.npy");
  hand.choose(controls + "dL/##incoming", "0", [](Session& s) { s.experiment.backward.d_lse_file = {}; });
  hand.click(pass + "forward");
  hand.drop({dropped});
  hand.check(b.on && b.d_o_file.file == dropped && incoming()->d_o[0] == 2, "a dropped dO turns the backward pass on");
  std::vector<std::string> remarks;
  Session again = parse_session(session_text(hand.session()), remarks);
  hand.check(again.experiment == hand.experiment() && remarks.empty(), "a saved session keeps dO");
  hand.open(again);
  hand.check(incoming()->d_o[0] == 2, "the file of dO is read again");
}

/// A loaded output has no backward pass: the window shows the output or the gradients of dO, whichever was dropped last.
CASE(gradients, beside_an_output) {
  const std::string o = written(hand.folder, "o.npy", 96, 16, 0.5), d_o = written(hand.folder, "do.npy", 96, 16, 2);
  hand.open(with_gradients());
  hand.drop({o});
  hand.check(hand.experiment().a.algorithm == Algorithm::loaded && !hand.experiment().backward.on, "an output switches it off");
  hand.expect_notice("backward");
  hand.drop({d_o});
  hand.check(hand.experiment().a.algorithm == Algorithm::flash2 && hand.experiment().backward.on, "a dO switches it on");
  hand.check(hand.experiment().loaded.file == o, "the session keeps the output's file");
}

CASE(gradients, pins_keep_them) {
  hand.open(with_gradients());
  hand.choose(cells_of('a') + "##kernel", "grad_fa2", settled);
  const Experiment kept = hand.experiment();
  hand.key(ImGuiKey_K);
  hand.click(pass + "forward");
  hand.click(controls + "a/P", settled);
  hand.check(hand.session().pins.size() == 1 && hand.session().pins[0].experiment == kept, "the pin has its backward pass");
  hand.ask("pin: " + hand.session().pins[0].name, settled);
  hand.check(hand.experiment() == kept, "the pin restores its backward pass");
}

}  // namespace
}  // namespace attoscope::testing::gradient_controls
