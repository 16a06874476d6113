// Controls of the problem: Q, K, V and their files, masks, the main format, sizes, tiles, rows, device.
#include <algorithm>
#include <vector>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/session/session.h"
#include "kernels/experiment/rules.h"
#include "tests/ui/cases.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string inputs = controls + "##input", head = controls + "##head", tokens = controls + "##N",
                  editor = controls + "main format/";

// --- Q, K, V ----------------------------------------------------------------------------------------------------------

Session example_session() {
  Session session = small_session();
  Problem& problem = session.experiment.problem;
  problem.input.kind = InputKind::tensors;
  problem.input.file = example_file();
  problem.n = 64;
  problem.d = 64;
  return session;
}

CASE(input, every_kind_of_input) {
  for (std::size_t i = 0; i + 1 < input_names.size(); ++i) {
    const auto kind = static_cast<InputKind>((i + 1) % (input_names.size() - 1));
    hand.choose(inputs, std::string(name(kind)), [&](Session& s) { s.experiment.problem.input.kind = kind; });
  }
}

CASE(input, every_mask) {
  const auto mask = [](Mask::Kind kind) { return [kind](Session& s) { s.experiment.problem.mask.kind = kind; }; };
  const auto window = [](int size) { return [size](Session& s) { s.experiment.problem.mask.window = size; }; };
  hand.each({{controls + "mask/causal", mask(Mask::Kind::causal)},
             {controls + "mask/pad", mask(Mask::Kind::padding)},
             {controls + "mask/none", mask(Mask::Kind::none)},
             {controls + "mask/none", mask(Mask::Kind::none)},
             {controls + "mask/window", mask(Mask::Kind::window)},
             {controls + "##window size", window(7), "7"},
             {controls + "##window size", window(1), "0"},
             {controls + "##window size", window(max_n), "99999999"}});
}

CASE(input, seed_scale_and_value) {
  const auto seed = [](std::uint64_t value) { return [value](Session& s) { s.experiment.problem.seed = value; }; };
  const auto scale = [](double value) { return [value](Session& s) { s.experiment.problem.scale = value; }; };
  const auto nothing = [](Session&) {};
  hand.each({{controls + "###next seed", seed(2)},
             {controls + "##seed", seed(~std::uint64_t{0}), "18446744073709551615"},
             {controls + "###next seed", seed(0)},
             {controls + "##scale", scale(0.5), "0.5"},
             {controls + "##scale", nothing, "-1"},
             {controls + "##scale", nothing, "nan"},
             {controls + "##scale", nothing, "inf"},
             {controls + "##scale", nothing, "1e"},
             {controls + "##scale", scale(0), "0"}});
  hand.leaves("a click into the scale alone", [&] { hand.click(controls + "##scale"), hand.key(ImGuiKey_Enter); });
  Session expected = hand.session();
  hand.click(controls + "###dice", settled);
  hand.check(hand.experiment().problem.seed != expected.experiment.problem.seed, "the dice give another seed");
  expected.experiment.problem.seed = hand.experiment().problem.seed;
  hand.check(hand.session() == expected, "and change nothing else:" + difference(expected, hand.session()));
  hand.choose(inputs, "constant");
  hand.each({{controls + "##value", [](Session& s) { s.experiment.problem.input.value = -0.375; }, "-0.375"},
             {controls + "##value", nothing, "nan"},
             {controls + "##value", nothing, "inf"},
             {controls + "##value", nothing, "no number"}});
}

CASE(input, heads_of_a_file) {
  if (!hand.check(!example_file().empty(), "the shipped example is there")) return;
  hand.open(example_session());
  const TensorFileInfo info = hand.stage.panel_input().choices.tensors;
  hand.check(info.heads >= 2 && static_cast<int>(info.head_names.size()) == info.heads, "the example's heads have names");
  for (int i = info.heads - 1; i >= 0; --i) {
    Session expected = hand.session();
    hand.choose(head, "###head " + std::to_string(i), settled);
    expected.experiment.problem.input.index = i;
    expected.experiment.problem.input.digest = hand.experiment().problem.input.digest;
    hand.check(hand.session() == expected, "a head changes the index alone:" + difference(expected, hand.session()));
    const auto& tensors = hand.experiment().problem.input.tensors;
    hand.check(tensors && tensors->n >= 64, "its tensors were read");
  }
}

CASE(input, shipped_example) {
  Session expected = hand.session();
  hand.choose(inputs, "###example", settled);
  Problem& problem = expected.experiment.problem;
  const Problem& found = hand.experiment().problem;
  problem.input = found.input;
  problem.mask.kind = Mask::Kind::causal;
  problem.n = found.input.tensors ? found.input.tensors->n : 0;
  problem.d = found.input.tensors ? found.input.tensors->d : 0;
  hand.check(found.input.kind == InputKind::tensors && found.input.file == example_file(), "the example is the input");
  hand.check(hand.session() == expected, "the example brings its sizes and its mask:" + difference(expected, hand.session()));
  hand.choose(inputs, "normal", [](Session& s) { s.experiment.problem.input.kind = InputKind::normal; });
}

CASE(input, sizes_of_a_file) {
  hand.open(example_session());
  const int most = hand.experiment().problem.input.tensors->n;
  const auto n = [](int value) { return [value](Session& s) { s.experiment.problem.n = value; }; };
  hand.changes("N typed", [&] { hand.type(tokens, "100"); }, n(100));
  hand.changes("N beyond the file", [&] { hand.type(tokens, "70000"); }, n(most));
  hand.changes("N to the left", [&] { hand.drag(hand.place(tokens, 0.9f), hand.place(tokens, 0.0f)); }, n(1));
  hand.changes("N to the right", [&] { hand.drag(hand.place(tokens, 0.1f), hand.place(tokens, 1.0f)); }, n(most));
  hand.check(hand.disabled(controls + "##d"), "the file sets d");
  hand.leaves("its number", [&] { hand.press(hand.place(controls + "##d", 1.4f)), hand.enter("12"); });
}

CASE(input, files_by_typed_path) {
  const auto open = [&](const std::string& text) {
    if (text.starts_with("/nowhere")) {
      hand.click(controls + "###open file");
    } else {
      hand.click(inputs);
      hand.pick("open a file ...");
    }
    hand.fill("//$FOCUSED/##path", text, settled);
    hand.close_popups();
  };
  hand.leaves("a file that is not there", [&] { open("/nowhere/none.safetensors"); });
  hand.expect_error("none.safetensors");
  hand.check(hand.result() != nullptr, "the window keeps its answer");
  open(example_file() + ":1");
  const Problem& problem = hand.experiment().problem;
  hand.check(problem.input.kind == InputKind::tensors && problem.input.index == 1 && problem.n == problem.input.tensors->n,
             "head 1 of the typed file is the input");
  hand.check(hand.error().empty(), "an answer clears the message");
  hand.check(shown_file("/a/qkv.safetensors,k_scale=/b/s.npy") == "qkv.safetensors", "scales are no part of the name");
}

/// Each unreadable file gives one sentence that names it; the window keeps its answer.
CASE(input, broken_files_dropped) {
  for (const auto& [name, text] :
       {std::pair{"note.txt", "not a tensor"}, std::pair{"photo.png", "\x89PNG"}, std::pair{"empty.npy", ""},
        std::pair{"empty", ""}, std::pair{"x.safetensors", "no"}, std::pair{"x.npy", "no"}, std::pair{"x.json", "{}"},
        std::pair{"broken.json", "{ \"schema\": "}, std::pair{"other.json", "{\"schema\":\"attoscope.figure/1\"}"}})
    hand.folder.write(name, text);
  hand.folder.write("cut.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9));
  hand.folder.write(
      "lost.json",
      R"({"schema":"attoscope.session/1","experiment":{"problem":{"input":{"kind":"tensors","file":"/no/t.safetensors"}}}})");
  std::vector<std::vector<std::string>> drops{{"note.txt", "cut.safetensors"}, {"note.txt", "empty.npy", "cut.safetensors"}};
  for (const char* const alone : {"note.txt", "photo.png", "empty.npy", "empty", "x.safetensors", "x.npy", "x.json",
                                  "broken.json", "other.json", "absent.npy", "", "cut.safetensors"})
    drops.push_back({alone});
  const auto before = hand.result();
  for (const auto& names : drops) {
    std::vector<std::string> files;
    for (const std::string& file : names) files.push_back(hand.folder / file);
    hand.stage.explorer().show_error("");
    hand.leaves("dropping " + names[0], [&] { hand.open_files(files); });
    const std::string message = hand.error();
    hand.check(message.size() > 10 && message.size() < 400 && message.find('\n') == std::string::npos,
               "one sentence about " + names[0] + ": " + message);
    hand.check(hand.result() == before, "the window keeps what it shows after " + names[0]);
  }
}

CASE(input, good_files_dropped) {
  const std::string file = hand.folder / "mine.json";
  Session saved = small_session();
  saved.experiment.format = fp16;
  saved.view.theme = Theme::light;
  write_file(file, session_text(saved));
  hand.open_files({file});
  saved.origin = hand.session().origin;
  hand.check(hand.session() == saved, "a dropped session is shown:" + difference(saved, hand.session()));
  hand.open_files({example_file()});
  hand.check(hand.experiment().problem.input.kind == InputKind::tensors, "dropped tensors are the input");
  hand.check(hand.error().empty(), "there is no error: " + hand.error());
}

// --- the main format --------------------------------------------------------------------------------------------------

/// Sets the main format as controls do, which may change tau.
template <class Edit>
void edit_format(Session& s, Edit edit) {
  Format format = s.experiment.format;
  edit(format);
  s.experiment = with_format(s.experiment, format);
}

CASE(format, named_formats) {
  const auto becomes = [](Format f) { return [f](Session& s) { s.experiment = with_format(s.experiment, f); }; };
  std::vector<Hand::Control> buttons;
  for (const NamedFormat& f : attoscope::named_formats)
    buttons.push_back({editor + "format/" + std::string(f.name), becomes(f.format)});
  std::rotate(buttons.begin(), buttons.begin() + 1, buttons.end());  // bf16, which is chosen at first, comes last
  hand.each(buttons);
}

CASE(format, overflow_and_top_code) {
  const auto becomes = [](Overflow o) { return [o](Session& s) { s.experiment.format.overflow = o; }; };
  const auto as_IEEE = [](Session& s) { s.experiment.format.top_code_nan = false; };
  const std::string overflow = editor + "###overflow", top_code = editor + "###top code";
  hand.each(
      {{overflow, becomes(Overflow::saturate)}, {overflow, becomes(Overflow::nan)}, {overflow, becomes(Overflow::infinity)}});
  hand.each({{top_code,
              [](Session& s) { s.experiment.format.top_code_nan = true, s.experiment.format.overflow = Overflow::saturate; }},
             {top_code, as_IEEE}});
  hand.click(editor + "format/e4m3");
  hand.each({{overflow, becomes(Overflow::nan)}, {overflow, becomes(Overflow::saturate)}, {top_code, as_IEEE}});
}

/// A click into the middle of box `bit` of 16 sets the numbers of exponent and mantissa bits.
CASE(format, bits_by_click) {
  const auto click = [&](int bit, int exponent, int mantissa) {
    const auto boxes =
        static_cast<float>(std::max(16, 1 + hand.experiment().format.exponent_bits + hand.experiment().format.mantissa_bits));
    hand.press(hand.place(editor + "bits", (static_cast<float>(bit) + 0.4f) / boxes),
               [=](Session& s) { edit_format(s, [=](Format& f) { f.exponent_bits = exponent, f.mantissa_bits = mantissa; }); });
  };
  click(0, 8, 7);   // the sign does not change
  click(11, 8, 3);  // the mantissa now ends at the clicked bit
  click(11, 8, 2);  // its last bit goes
  click(15, 8, 7);  // an unused bit is added
  click(5, 5, 7);   // the exponent now ends at the clicked bit
  click(5, 4, 7);   // its last bit goes
  click(1, 2, 7);   // never fewer than two exponent bits
  click(3, 2, 1);
  click(3, 2, 0);
  hand.click(editor + "format/fp64");
  click(63, 11, 51);
}

// --- sizes ------------------------------------------------------------------------------------------------------------

void set_k(Session& s, int block) { s.experiment.a.block_k = s.experiment.b.block_k = block; }
void set_q(Session& s, int block) { s.experiment.a.block_q = s.experiment.b.block_q = block; }

/// A slider, its ends, and typed texts with the values that they give.
struct Slider {
  std::string path;
  int least, largest;
  void (*set)(Session&, int);
  std::vector<std::pair<std::string, int>> typed;
};

CASE(shape, sliders) {
  const auto set_exponent = [](Session& s, int x) { edit_format(s, [=](Format& f) { f.exponent_bits = x; }); };
  const auto set_mantissa = [](Session& s, int x) { edit_format(s, [=](Format& f) { f.mantissa_bits = x; }); };
  const std::vector<Slider> all{
      {tokens, 16, 65536, [](Session& s, int x) { s.experiment.problem.n = x; }, {{"1", 1}, {"777", 777}, {"0", 1}, {"9", 9}}},
      {editor + "##exponent", 2, 11, set_exponent, {{"5", 5}, {"1", 2}, {"99", 11}, {"-3", 2}}},
      {editor + "##mantissa", 0, 52, set_mantissa, {{"10", 10}, {"60", 52}, {"-1", 0}}},
      {controls + "##d", 8, 256, [](Session& s, int x) { s.experiment.problem.d = x; }, {{"1", 1}, {"5000", 1024}, {"17", 17}}},
      {controls + "##block_k", 1, 2048, set_k, {{"7", 7}, {"0", 1}, {"5", 5}}},
      {controls + "##block_q", 1, 2048, set_q, {{"9999999", max_n}, {"33", 33}}}};
  hand.view().square_tiles = false;
  hand.experiment().problem.rows = 16, hand.experiment().problem.d = 8;
  for (const Slider& slider : all) {
    const auto to = [&](int value) { return [&slider, value](Session& s) { slider.set(s, value); }; };
    hand.drag(hand.place(slider.path, 0.5f), hand.place(slider.path, 0.0f), to(slider.least));
    hand.drag(hand.place(slider.path, 0.5f), hand.place(slider.path, 1.0f), to(slider.largest));
    for (const auto& [text, value] : slider.typed) hand.type(slider.path, text, to(value));
  }
}

/// A click on the number next to a slider edits it; a click on its name does not.
CASE(shape, number_typed_beside_a_slider) {
  const auto type = [&](const std::string& text) { hand.press(hand.place(tokens, 1.4f)), hand.enter(text); };
  hand.changes("N", [&] { type("77"); }, [](Session& s) { s.experiment.problem.n = 77; });
  hand.leaves("its name", [&] { hand.press(hand.place(tokens, -0.3f)), hand.frames(3); });
  hand.tell();  // the following answers are not computed
  hand.changes("the largest N", [&] { type("1048576"); }, [](Session& s) { s.experiment.problem.n = max_n; });
  hand.changes("beyond the largest N", [&] { type("1048577"); }, [](Session& s) { s.experiment.problem.n = max_n; });
}

/// Square tiles: setting one side sets the other.
CASE(shape, tiles) {
  hand.changes("block_k", [&] { hand.type(controls + "##block_k", "24"); }, [](Session& s) { set_k(s, 24), set_q(s, 24); });
  hand.changes("block_q", [&] { hand.type(controls + "##block_q", "8"); }, [](Session& s) { set_k(s, 8), set_q(s, 8); });
  hand.leaves("swap of a square", [&] { hand.click(controls + "swap"); });
  hand.changes("square off", [&] { hand.click(controls + "##square"); }, [](Session& s) { s.view.square_tiles = false; });
  hand.changes("block_q alone", [&] { hand.type(controls + "##block_q", "33"); }, [](Session& s) { set_q(s, 33); });
  hand.each({{controls + "swap", [](Session& s) { set_k(s, 33), set_q(s, 8); }},
             {controls + "##square", [](Session& s) { s.view.square_tiles = true, set_q(s, 33); }}});
}

CASE(shape, rows_of_q) {
  hand.type(controls + "##N", "5000");
  for (const int count : {64, 256, 1024, 4096, 0}) {
    const std::string text = count == 0 ? "all rows" : std::to_string(count) + " rows";
    hand.changes(text, [&] { hand.choose(controls + "##rows", text); }, [&](Session& s) { s.experiment.problem.rows = count; });
    hand.check(static_cast<int>(hand.result()->rows.size()) == (count == 0 ? 5000 : count), text + " rows are computed");
  }
  for (const auto& [text, count] : {std::pair{"7", 7}, {"-4", 0}, {"99999999", max_n}})
    hand.each({{focused + "##rows typed", [count = count](Session& s) { s.experiment.problem.rows = count; }, text}},
              in_popup(hand, controls + "##rows"));
}

CASE(shape, device) {
  hand.tell().choices.devices = {{"cpu", "cpu avx2, 8 threads", ""},
                                 {"cuda:0", "NVIDIA H200", ""},
                                 {"cuda:1", "NVIDIA T4", "It has compute capability 7.5, expected 8.0 or more."},
                                 {"cuda:2", "NVIDIA L4", ""}};
  for (const char* spec : {"cuda:0", "cuda:0,cuda:2", "cpu", "cuda:2", "auto"})
    hand.choose(controls + "##device", std::string("###") + spec, [&](Session& s) { s.device = spec; });
  hand.click(controls + "##device");
  hand.check(hand.disabled("//$FOCUSED/###cuda:1"), "a GPU that is too old is grey");
  hand.check(!hand.exists("//$FOCUSED/###unknown device"), "auto is a known device");
  hand.key(ImGuiKey_Escape);
  for (const char* spec : {"cuda:7", "tpu", "", "cuda:0,cuda:9", "cuda:1", ",,"}) {
    hand.session().device = spec;
    hand.leaves(std::string("looking at '") + spec + "'", [&] { hand.click(controls + "##device"); });
    hand.check(hand.disabled("//$FOCUSED/###unknown device"), std::string("'") + spec + "' is shown and grey");
    hand.key(ImGuiKey_Escape);
  }
  hand.session().device = "cuda";
  hand.click(controls + "##device");
  hand.check(!hand.exists("//$FOCUSED/###unknown device"), "cuda is the first GPU");
  hand.key(ImGuiKey_Escape);
}

/// The popup for on-chip memory: M in elements and in KB, and the tiles that M gives.
CASE(shape, tiles_for_on_chip_memory) {
  const auto inside = in_popup(hand, controls + "###tiles for M");
  const auto M = [](int elements) { return [elements](Session& s) { s.view.on_chip_elements = elements; }; };
  hand.each({{focused + "##M elements", M(2000), "2000"},
             {focused + "##M elements", M(1), "0"},
             {focused + "##M KB", M(1792), "3.5"},
             {focused + "##M KB", [](Session&) {}, "nan"},
             {focused + "M of/163 KB", M(163 * 1024 / 2)}},  // M of an A100
            inside);
  hand.click(editor + "format/fp32", settled);
  const auto tiles_of_a = [](Session& s) {
    s.experiment.a.block_k = 26;  // ceil(1601 / 64)
    s.experiment.a.block_q = 16;  // d
    s.view.square_tiles = false;
  };
  hand.each({{focused + "M of/163 KB", M(163 * 1024 / 4)},  // the same bytes of fp32
             {focused + "##M elements", M(1601), "1601"},
             {focused + "for a", tiles_of_a},
             {focused + "for a and b", [](Session& s) { s.experiment.b.block_k = 26, s.experiment.b.block_q = 16; }}},
            inside);
  hand.check(hand.result()->traffic.on_chip_elements == 2 * 16 * (26 + 16), "the answer has these tiles");
}

}  // namespace

}  // namespace attoscope::testing
