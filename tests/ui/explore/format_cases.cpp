// The main format, its bits, sizes, tiles, rows, device.
#include <algorithm>
#include <array>
#include <bit>

#include "kernels/experiment/rules.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

const std::string editor = controls + "main format/";

/// Sets the main format as every control does: tau may follow.
void set_format(Session& s, const Format& format) { s.experiment = with_format(s.experiment, format); }
template <class Edit>
void edit_format(Session& s, Edit edit) {
  Format format = s.experiment.format;
  edit(format);
  set_format(s, format);
}

void named(Hand& hand) {
  struct Named {
    const char* name;
    Format format;
  };
  for (const auto& [text, format] : {Named{"fp16", fp16}, Named{"tf32", tf32}, Named{"fp32", fp32}, Named{"fp64", fp64},
                                     Named{"e4m3", e4m3}, Named{"e5m2", e5m2}, Named{"bf16", bf16}})
    hand.changes(
        text, [&, text = text] { hand.click(editor + "format/" + text); },
        [format = format](Session& s) { set_format(s, format); });
}

/// Drags a slider to both ends and to places between; `powers`: it stops at powers of two only.
void drag_all(Hand& hand, const std::string& path, int from, int to, bool powers, int& value,
              const std::function<void(Session&, int)>& set) {
  const auto drag = [&](float x0, float x1) {
    hand.changes(path, [&] { hand.drag(hand.place(path, x0), hand.place(path, x1)); }, [&](Session& s) { set(s, value); });
  };
  drag(0.5f, 0.0f);
  hand.check(value == from, path + " at its left end is " + std::to_string(value));
  int last = value;
  for (const float x : {0.3f, 0.6f, 0.8f}) {
    drag(0.1f, x);
    hand.check(value > last, path + " grows to the right: " + std::to_string(value));
    hand.check(!powers || std::has_single_bit(static_cast<unsigned>(value)), path + " snaps: " + std::to_string(value));
    last = value;
  }
  drag(0.8f, 1.0f);
  hand.check(value == to, path + " at its right end is " + std::to_string(value));
}

void type_some(Hand& hand, const std::string& path, std::initializer_list<std::pair<const char*, int>> typed, int& value,
               const std::function<void(Session&, int)>& set) {
  for (const auto& [text, expected] : typed) {
    hand.changes(
        path + " typed " + text, [&, text = text] { hand.type(path, text); },
        [&, expected = expected](Session& s) { set(s, expected); });
    hand.check(value == expected, path + " takes " + text);
  }
}

void exponent(Hand& hand) {
  const auto set = [](Session& s, int bits) { edit_format(s, [=](Format& f) { f.exponent_bits = bits; }); };
  drag_all(hand, editor + "##exponent", 2, 11, false, hand.experiment().format.exponent_bits, set);
  type_some(hand, editor + "##exponent", {{"5", 5}, {"1", 2}, {"99", 11}, {"-3", 2}}, hand.experiment().format.exponent_bits,
            set);
}

void mantissa(Hand& hand) {
  const auto set = [](Session& s, int bits) { edit_format(s, [=](Format& f) { f.mantissa_bits = bits; }); };
  drag_all(hand, editor + "##mantissa", 0, 52, false, hand.experiment().format.mantissa_bits, set);
  type_some(hand, editor + "##mantissa", {{"10", 10}, {"60", 52}, {"-1", 0}}, hand.experiment().format.mantissa_bits, set);
}

void overflow(Hand& hand) {
  const auto becomes = [](Overflow o) { return [o](Session& s) { s.experiment.format.overflow = o; }; };
  const auto click = [&] { hand.click(editor + "###overflow"); };
  for (const auto o : {Overflow::saturate, Overflow::nan, Overflow::infinity}) hand.changes("overflow", click, becomes(o));
  hand.click(editor + "format/e4m3");
  for (const auto o : {Overflow::nan, Overflow::saturate}) hand.changes("overflow of e4m3", click, becomes(o));
}

void top_code(Hand& hand) {
  const auto click = [&] { hand.click(editor + "###top code"); };
  hand.changes("bf16 without infinity", click, [](Session& s) {
    s.experiment.format.top_code_nan = true;
    s.experiment.format.overflow = Overflow::saturate;
  });
  hand.changes("bf16 with its codes, saturating", click, [](Session& s) { s.experiment.format.top_code_nan = false; });
  hand.click(editor + "format/e4m3");
  hand.changes("e4m3 as IEEE has it", click, [](Session& s) { s.experiment.format.top_code_nan = false; });
}

/// A click into the middle of box `bit` of 16 changes the bits to these.
void bits(Hand& hand) {
  const auto click = [&](int bit, int exponent, int mantissa) {
    const auto boxes =
        static_cast<float>(std::max(16, 1 + hand.experiment().format.exponent_bits + hand.experiment().format.mantissa_bits));
    hand.changes(
        "bit " + std::to_string(bit),
        [&] { hand.press(hand.place(editor + "bits", (static_cast<float>(bit) + 0.4f) / boxes)); },
        [=](Session& s) { edit_format(s, [=](Format& f) { f.exponent_bits = exponent, f.mantissa_bits = mantissa; }); });
  };
  click(0, 8, 7);   // the sign does not change
  click(11, 8, 3);  // the mantissa ends here
  click(11, 8, 2);  // its last bit goes
  click(15, 8, 7);  // an empty place is filled
  click(5, 5, 7);   // the exponent ends here
  click(5, 4, 7);   // its last bit goes
  click(1, 2, 7);   // never fewer than two
  click(3, 2, 1);
  click(3, 2, 0);
  hand.click(editor + "format/fp64");
  click(63, 11, 51);
}

void typed_numbers(Hand& hand) {
  const auto type = [&](const std::string& path, const std::string& text) {
    hand.press(hand.place(path, 1.4f));
    hand.enter(text);
  };
  hand.changes(
      "mantissa", [&] { type(editor + "##mantissa", "3"); },
      [](Session& s) { edit_format(s, [](Format& f) { f.mantissa_bits = 3; }); });
  hand.changes("N", [&] { type(controls + "##N", "77"); }, [](Session& s) { s.experiment.problem.n = 77; });
  hand.leaves("its name", [&] { hand.press(hand.place(controls + "##N", -0.3f)), hand.frames(3); });
  hand.stage.told = hand.stage.panel_input();  // nobody computes the following answers
  hand.changes("the largest N", [&] { type(controls + "##N", "1048576"); }, [](Session& s) { s.experiment.problem.n = max_n; });
  hand.changes(
      "beyond the largest N", [&] { type(controls + "##N", "1048577"); }, [](Session& s) { s.experiment.problem.n = max_n; });
}

void tokens(Hand& hand) {
  const auto set = [](Session& s, int n) { s.experiment.problem.n = n; };
  hand.session().experiment.problem.rows = 16;
  hand.session().experiment.problem.d = 8;
  drag_all(hand, controls + "##N", 16, 65536, true, hand.experiment().problem.n, set);
  type_some(hand, controls + "##N", {{"1", 1}, {"777", 777}, {"0", 1}, {"9", 9}}, hand.experiment().problem.n, set);
}

void dimension(Hand& hand) {
  const auto set = [](Session& s, int d) { s.experiment.problem.d = d; };
  drag_all(hand, controls + "##d", 8, 256, true, hand.experiment().problem.d, set);
  type_some(hand, controls + "##d", {{"1", 1}, {"5000", 1024}, {"17", 17}}, hand.experiment().problem.d, set);
}

void set_k(Session& s, int block) { s.experiment.a.block_k = s.experiment.b.block_k = block; }
void set_q(Session& s, int block) { s.experiment.a.block_q = s.experiment.b.block_q = block; }

void blocks(Hand& hand) {
  hand.changes("square off", [&] { hand.click(controls + "##square"); }, [](Session& s) { s.view.square_tiles = false; });
  drag_all(hand, controls + "##block_k", 1, 2048, true, hand.experiment().a.block_k, set_k);
  drag_all(hand, controls + "##block_q", 1, 2048, true, hand.experiment().a.block_q, set_q);
  type_some(hand, controls + "##block_k", {{"7", 7}, {"0", 1}, {"5", 5}}, hand.experiment().a.block_k, set_k);
  type_some(hand, controls + "##block_q", {{"9999999", max_n}, {"33", 33}}, hand.experiment().a.block_q, set_q);
  hand.changes("swap", [&] { hand.click(controls + "swap"); }, [](Session& s) { set_k(s, 33), set_q(s, 5); });
  hand.changes(
      "square on", [&] { hand.click(controls + "##square"); }, [](Session& s) { s.view.square_tiles = true, set_q(s, 33); });
  hand.leaves("swap of a square", [&] { hand.click(controls + "swap"); });
}

void square(Hand& hand) {
  hand.changes(
      "block_k takes block_q along", [&] { hand.type(controls + "##block_k", "24"); },
      [](Session& s) { set_k(s, 24), set_q(s, 24); });
  hand.changes(
      "block_q takes block_k along", [&] { hand.type(controls + "##block_q", "8"); },
      [](Session& s) { set_k(s, 8), set_q(s, 8); });
}

void rows(Hand& hand) {
  hand.type(controls + "##N", "5000");
  for (const int count : {64, 256, 1024, 4096, 0}) {
    const std::string text = count == 0 ? "all rows" : std::to_string(count) + " rows";
    hand.changes(text, [&] { hand.choose(controls + "##rows", text); }, [&](Session& s) { s.experiment.problem.rows = count; });
    hand.check(static_cast<int>(hand.stage.panel_input().answer.result->rows.size()) == (count == 0 ? 5000 : count),
               text + " are there");
  }
}

void typed_rows(Hand& hand) {
  const auto type = [&](const std::string& text, int rows) {
    hand.changes(
        "rows " + text,
        [&] {
          hand.click(controls + "##rows");
          hand.fill("//$FOCUSED/##rows typed", text);
          hand.key(ImGuiKey_Escape);
        },
        [rows](Session& s) { s.experiment.problem.rows = rows; });
  };
  type("7", 7);
  type("-4", 0);
  type("99999999", max_n);
}

void device(Hand& hand) {
  PanelInput input = hand.stage.panel_input();
  input.choices.devices = {{"cpu", "cpu avx2, 8 threads", ""},
                           {"cuda:0", "NVIDIA H200", ""},
                           {"cuda:1", "NVIDIA T4", "It has compute capability 7.5, expected 8.0 or more."},
                           {"cuda:2", "NVIDIA L4", ""}};
  hand.stage.told = input;
  for (const char* spec : {"cuda:0", "cuda:0,cuda:2", "cpu", "cuda:2", "auto"})
    hand.changes(
        spec, [&] { hand.choose(controls + "##device", std::string("###") + spec); }, [&](Session& s) { s.device = spec; });
  hand.click(controls + "##device");
  hand.check(hand.disabled("//$FOCUSED/###cuda:1"), "a GPU that is too old is grey");
  hand.check(!hand.exists("//$FOCUSED/###unknown device"), "auto is known");
  hand.key(ImGuiKey_Escape);
  for (const char* spec : {"cuda:7", "tpu", "", "cuda:0,cuda:9", "cuda:1", ",,"}) {
    hand.session().device = spec;
    hand.leaves(std::string("looking at '") + spec + "'", [&] { hand.click(controls + "##device"); });
    hand.check(hand.disabled("//$FOCUSED/###unknown device"), std::string("'") + spec + "' is shown, and cannot be had");
    hand.key(ImGuiKey_Escape);
  }
  hand.session().device = "cuda";
  hand.click(controls + "##device");
  hand.check(!hand.exists("//$FOCUSED/###unknown device"), "cuda is the first GPU");
  hand.key(ImGuiKey_Escape);
}

/// The helper's popup: M in elements and in KB, and the tiles that follow from it.
void memory_helper(Hand& hand) {
  const auto inside = [&](const std::function<void()>& act) {
    return [&hand, act] {
      hand.click(controls + "###tiles for M");
      act();
      if (hand.exists("//$FOCUSED/for a")) hand.key(ImGuiKey_Escape);
    };
  };
  const auto M = [](int elements) { return [elements](Session& s) { s.view.on_chip_elements = elements; }; };
  hand.changes("M typed", inside([&] { hand.fill("//$FOCUSED/##M elements", "2000"); }), M(2000));
  hand.changes("M of 0", inside([&] { hand.fill("//$FOCUSED/##M elements", "0"); }), M(1));
  hand.changes("M in KB", inside([&] { hand.fill("//$FOCUSED/##M KB", "3.5"); }), M(1792));
  hand.leaves("M of no KB", inside([&] { hand.fill("//$FOCUSED/##M KB", "nan"); }));
  hand.changes("an A100's", inside([&] { hand.click("//$FOCUSED/M of/163 KB"); }), M(163 * 1024 / 2));
  hand.click(editor + "format/fp32");
  hand.settle();
  hand.changes("the same bytes of fp32", inside([&] { hand.click("//$FOCUSED/M of/163 KB"); }), M(163 * 1024 / 4));
  hand.changes("M for odd tiles", inside([&] { hand.fill("//$FOCUSED/##M elements", "1601"); }), M(1601));
  hand.changes("tiles of a", inside([&] { hand.click("//$FOCUSED/for a"); }), [](Session& s) {
    s.experiment.a.block_k = 26;  // ceil(1601 / 64)
    s.experiment.a.block_q = 16;  // d
    s.view.square_tiles = false;
  });
  hand.changes("tiles of both", inside([&] { hand.click("//$FOCUSED/for a and b"); }),
               [](Session& s) { s.experiment.b.block_k = 26, s.experiment.b.block_q = 16; });
  hand.check(hand.stage.panel_input().answer.result->traffic.on_chip_elements == 2 * 16 * (26 + 16),
             "the answer has these tiles");
}

constexpr std::array cases{
    Case{"format", "named formats", named},
    Case{"format", "exponent", exponent},
    Case{"format", "mantissa", mantissa},
    Case{"format", "overflow", overflow},
    Case{"shape", "N", tokens},
    Case{"shape", "d", dimension},
    Case{"shape", "blocks", blocks},
    Case{"shape", "square", square},
    Case{"shape", "rows", rows},
    Case{"shape", "device", device},
    Case{"format", "top code", top_code},
    Case{"format", "bits", bits},
    Case{"shape", "typed numbers", typed_numbers},
    Case{"shape", "typed rows", typed_rows},
    Case{"shape", "helper", memory_helper},
};

}  // namespace

std::span<const Case> format_cases() { return cases; }

}  // namespace attoscope::testing
