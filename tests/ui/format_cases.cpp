// The main format, its bits, sizes, tiles, rows, device.
#include <array>
#include <bit>

#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

const std::string editor = controls + "main format/";

void named(Hand& hand) {
  struct Named {
    const char* name;
    Format format;
  };
  for (const auto& [text, format] : {Named{"fp16", fp16}, Named{"tf32", tf32}, Named{"fp32", fp32}, Named{"fp64", fp64},
                                     Named{"e4m3", e4m3}, Named{"e5m2", e5m2}, Named{"bf16", bf16}})
    hand.changes(
        text, [&] { hand.click(editor + "format/" + text); }, [&](Session& s) { s.experiment.format = format; });
}

/// Drags a slider to both ends and to places between; `powers`: only powers of two are met on the way.
void drag_all(Hand& hand, const std::string& path, int from, int to, bool powers, int& value,
              const std::function<void(Session&, int)>& set) {
  const auto drag = [&](float x0, float x1) {
    hand.changes(
        path, [&] { hand.drag(hand.place(path, x0), hand.place(path, x1)); }, [&](Session& s) { set(s, value); });
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
        path + " typed " + text, [&] { hand.type(path, text); }, [&](Session& s) { set(s, expected); });
    hand.check(value == expected, path + " takes " + text);
  }
}

void exponent(Hand& hand) {
  const auto set = [](Session& s, int bits) { s.experiment.format.exponent_bits = bits; };
  drag_all(hand, editor + "##exponent", 2, 11, false, hand.experiment().format.exponent_bits, set);
  type_some(hand, editor + "##exponent", {{"5", 5}, {"1", 2}, {"99", 11}, {"-3", 2}}, hand.experiment().format.exponent_bits,
            set);
}

void mantissa(Hand& hand) {
  const auto set = [](Session& s, int bits) { s.experiment.format.mantissa_bits = bits; };
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
  hand.changes(
      "square off", [&] { hand.click(controls + "##square"); }, [](Session& s) { s.view.square_tiles = false; });
  drag_all(hand, controls + "##block_k", 1, 2048, true, hand.experiment().a.block_k, set_k);
  drag_all(hand, controls + "##block_q", 1, 2048, true, hand.experiment().a.block_q, set_q);
  type_some(hand, controls + "##block_k", {{"7", 7}, {"0", 1}, {"5", 5}}, hand.experiment().a.block_k, set_k);
  type_some(hand, controls + "##block_q", {{"9999999", max_n}, {"33", 33}}, hand.experiment().a.block_q, set_q);
  hand.changes(
      "swap", [&] { hand.click(controls + "swap"); }, [](Session& s) { set_k(s, 33), set_q(s, 5); });
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
    hand.changes(
        text, [&] { hand.choose(controls + "##rows", text); }, [&](Session& s) { s.experiment.problem.rows = count; });
    hand.check(static_cast<int>(hand.stage.frame().result->rows.size()) == (count == 0 ? 5000 : count), text + " are there");
  }
}

void device(Hand& hand) {
  hand.leaves("the only device", [&] { hand.choose(controls + "##device", "cpu"); });
}

constexpr std::array cases{
    Case{"format", "named formats", named}, Case{"format", "exponent", exponent}, Case{"format", "mantissa", mantissa},
    Case{"format", "overflow", overflow},   Case{"shape", "N", tokens},           Case{"shape", "d", dimension},
    Case{"shape", "blocks", blocks},        Case{"shape", "square", square},      Case{"shape", "rows", rows},
    Case{"shape", "device", device},
};

}  // namespace

std::span<const Case> format_cases() { return cases; }

}  // namespace attoscope::testing
