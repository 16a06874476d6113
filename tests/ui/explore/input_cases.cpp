// Sources of Q, K, V: every kind, heads of a file, masks, seed, value, invalid files.
#include <algorithm>
#include <array>
#include <vector>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/session/session.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "ui/words/sentences.h"

namespace attoscope::testing {
namespace {

const std::string input = controls + "##input", head = controls + "##head", tokens = controls + "##N";

Session example_session() {
  Session session = small_session();
  Problem& problem = session.experiment.problem;
  problem.input.kind = InputKind::tensors;
  problem.input.file = example_file();
  problem.n = 64;
  problem.d = 64;
  return session;
}

void kinds(Hand& hand) {
  for (std::size_t i = 0; i + 1 < input_names.size(); ++i) {
    const auto kind = static_cast<InputKind>((i + 1) % (input_names.size() - 1));
    hand.changes(
        "input " + std::string(name(kind)), [&] { hand.choose(input, std::string(name(kind))); },
        [&](Session& s) { s.experiment.problem.input.kind = kind; });
  }
}

void masks(Hand& hand) {
  for (const auto kind : {Mask::Kind::causal, Mask::Kind::window, Mask::Kind::padding, Mask::Kind::none}) {
    const std::string text(kind == Mask::Kind::padding ? "pad" : mask_names[static_cast<std::size_t>(kind)]);
    hand.changes(
        "mask " + text, [&] { hand.click(controls + "mask/" + text); },
        [&](Session& s) { s.experiment.problem.mask.kind = kind; });
  }
  hand.leaves("the mask again", [&] { hand.click(controls + "mask/none"); });
  hand.click(controls + "mask/window");
  const auto window = [&](const std::string& text, int expected) {
    hand.changes(
        "window " + text, [&] { hand.fill(controls + "##window size", text); },
        [&](Session& s) { s.experiment.problem.mask.window = expected; });
  };
  window("7", 7);
  window("0", 1);
  window("99999999", max_n);
}

void seed_and_value(Hand& hand) {
  hand.changes(
      "seed", [&] { hand.fill(controls + "##seed", "18446744073709551615"); },
      [](Session& s) { s.experiment.problem.seed = ~std::uint64_t{0}; });
  hand.choose(input, "constant");
  hand.changes(
      "value", [&] { hand.fill(controls + "##value", "-0.375"); },
      [](Session& s) { s.experiment.problem.input.value = -0.375; });
  for (const char* text : {"nan", "inf", "no number"})
    hand.leaves(std::string("value ") + text, [&] { hand.fill(controls + "##value", text); });
}

void other_seeds(Hand& hand) {
  const auto seed = [&](std::uint64_t value) { return [value](Session& s) { s.experiment.problem.seed = value; }; };
  hand.changes("the next seed", [&] { hand.click(controls + "###next seed"); }, seed(2));
  std::vector<std::uint64_t> met{2};
  for (int i = 0; i < 5; ++i) {
    Session expected = hand.session();
    hand.click(controls + "###dice");
    hand.settle();
    expected.experiment.problem.seed = hand.experiment().problem.seed;
    hand.check(hand.session() == expected, "the dice change the seed alone:" + difference(expected, hand.session()));
    hand.check(std::ranges::find(met, hand.experiment().problem.seed) == met.end(), "they fall otherwise each time");
    met.push_back(hand.experiment().problem.seed);
  }
  hand.fill(controls + "##seed", "18446744073709551615");
  hand.changes("the seed after the last", [&] { hand.click(controls + "###next seed"); }, seed(0));
}

void scales(Hand& hand) {
  const auto scale = [&](const char* text, double value) {
    hand.changes(
        std::string("scale ") + text, [&] { hand.fill(controls + "##scale", text); },
        [value](Session& s) { s.experiment.problem.scale = value; });
  };
  scale("0.5", 0.5);
  scale("-1", 0.5);
  scale("nan", 0.5);
  scale("inf", 0.5);
  scale("1e-3", 1e-3);
  scale("1e", 1e-3);  // not a number yet
  scale("0", 0);
  hand.leaves("a click into it alone", [&] { hand.click(controls + "##scale"), hand.key(ImGuiKey_Enter); });
}

void heads(Hand& hand) {
  if (!hand.check(!example_file().empty(), "the shipped example is there")) return;
  hand.open(example_session());
  const TensorFileInfo info = hand.stage.panel_input().choices.tensors;
  hand.check(info.heads >= 2 && static_cast<int>(info.head_names.size()) == info.heads, "the example's heads have names");
  for (int i = info.heads - 1; i >= 0; --i) {
    Session expected = hand.session();
    hand.choose(head, info.head_names[static_cast<std::size_t>(i)] + "##" + std::to_string(i));
    hand.settle();
    expected.experiment.problem.input.index = i;
    expected.experiment.problem.input.digest = hand.experiment().problem.input.digest;
    hand.check(hand.session() == expected, "a head changes the index alone:" + difference(expected, hand.session()));
    const auto& tensors = hand.experiment().problem.input.tensors;
    hand.check(tensors && tensors->n >= 64, "its tensors were read");
  }
}

void example(Hand& hand) {
  Session expected = hand.session();
  hand.choose(input, "###example");
  hand.settle();
  Problem& problem = expected.experiment.problem;
  const Problem& found = hand.experiment().problem;
  problem.input = found.input;
  problem.mask.kind = Mask::Kind::causal;
  problem.n = found.input.tensors ? found.input.tensors->n : 0;
  problem.d = found.input.tensors ? found.input.tensors->d : 0;
  hand.check(found.input.kind == InputKind::tensors && found.input.file == example_file(), "the example is the input");
  hand.check(hand.session() == expected, "the example brings its sizes and its mask:" + difference(expected, hand.session()));
  hand.changes(
      "back to draws", [&] { hand.choose(input, "normal"); },
      [](Session& s) { s.experiment.problem.input.kind = InputKind::normal; });
}

void tokens_of_a_file(Hand& hand) {
  hand.open(example_session());
  const int most = hand.experiment().problem.input.tensors->n;
  const auto n = [](int value) { return [value](Session& s) { s.experiment.problem.n = value; }; };
  hand.changes("N typed", [&] { hand.type(tokens, "100"); }, n(100));
  hand.changes("N of 1", [&] { hand.type(tokens, "1"); }, n(1));
  hand.changes("N beyond the file", [&] { hand.type(tokens, "70000"); }, n(most));
  hand.changes("N to the left", [&] { hand.drag(hand.place(tokens, 0.9f), hand.place(tokens, 0.0f)); }, n(1));
  hand.changes("N to the right", [&] { hand.drag(hand.place(tokens, 0.1f), hand.place(tokens, 1.0f)); }, n(most));
  hand.check(hand.disabled(controls + "##d"), "d is the file's");
  hand.leaves("its number", [&] { hand.press(hand.place(controls + "##d", 1.4f)), hand.enter("12"); });
  hand.check(!hand.disabled(tokens), "N is not");
}

void typed_files(Hand& hand) {
  const auto open = [&](const std::string& text) {
    if (text.starts_with("/nowhere")) {
      hand.click(controls + "###open file");
    } else {
      hand.click(input);
      hand.pick("open a file ...");
    }
    hand.fill("//$FOCUSED/##path", text);
    hand.settle();
    for (int i = 0; i < 3 && ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopup); ++i) hand.key(ImGuiKey_Escape);
  };
  hand.leaves("a file that is not there", [&] { open("/nowhere/none.safetensors"); });
  const std::string message = hand.stage.panel_input().messages.error;
  hand.check(message.find("none.safetensors") != std::string::npos, "the status bar names it: " + message);
  hand.check(hand.stage.panel_input().answer.result != nullptr, "the window keeps what it shows");
  open(example_file() + ":1");
  const Problem& problem = hand.experiment().problem;
  hand.check(problem.input.kind == InputKind::tensors && problem.input.index == 1 && problem.n == problem.input.tensors->n,
             "head 1 of the typed file is the input");
  hand.check(hand.stage.panel_input().messages.error.empty(), "an answer clears the message");
}

/// True for one sentence: it ends, and nothing follows.
bool is_sentence(const std::string& text) {
  return text.size() > 10 && text.find('\n') == std::string::npos && text.size() < 400;
}

void bad_drops(Hand& hand) {
  const TemporaryDirectory folder;
  folder.write("note.txt", "not a tensor");
  folder.write("cut.safetensors", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9));
  folder.write("empty.npy", "");
  folder.write("broken.json", "{ \"schema\": ");
  folder.write("other.json", "{\"schema\":\"something.else/1\"}");
  folder.write(
      "lost.json",
      R"({"schema":"attoscope.session/1","experiment":{"problem":{"input":{"kind":"tensors","file":"/no/t.safetensors"}}}})");
  const std::vector<std::vector<std::string>> drops{{"note.txt"},
                                                    {"cut.safetensors"},
                                                    {"empty.npy"},
                                                    {"broken.json"},
                                                    {"other.json"},
                                                    {"lost.json"},
                                                    {"absent.npy"},
                                                    {""},
                                                    {"note.txt", "cut.safetensors"},
                                                    {"note.txt", "empty.npy", "cut.safetensors"}};
  const auto before = hand.stage.panel_input().answer.result;
  for (const auto& names : drops) {
    std::vector<std::string> files;
    for (const std::string& file : names) files.push_back(folder / file);
    hand.stage.explorer().show_error("");
    hand.leaves("dropping " + names[0], [&] { open_files(files, hand.stage.desk()); });
    const std::string message = hand.stage.panel_input().messages.error;
    hand.check(is_sentence(message), "one sentence about " + names[0] + ": " + message);
    hand.check(hand.stage.panel_input().answer.result == before, "the window keeps what it shows after " + names[0]);
  }
}

void good_drops(Hand& hand) {
  const TemporaryDirectory folder;
  const std::string file = folder / "mine.json";
  Session saved = small_session();
  saved.experiment.format = fp16;
  saved.view.theme = Theme::light;
  write_file(file, session_text(saved));
  open_files({file}, hand.stage.desk());
  hand.settle();
  saved.origin = hand.session().origin;
  hand.check(hand.session() == saved, "a dropped session is shown:" + difference(saved, hand.session()));
  open_files({example_file()}, hand.stage.desk());
  hand.settle();
  hand.check(hand.experiment().problem.input.kind == InputKind::tensors, "dropped tensors are the input");
  hand.check(hand.stage.panel_input().messages.error.empty(),
             "nothing to complain about: " + hand.stage.panel_input().messages.error);
}

void files_with_scales(Hand& hand) {
  hand.check(shown_file("/a/qkv.safetensors,k_scale=/b/s.npy") == "qkv.safetensors", "scales are no part of the name");
  hand.check(shown_file("/a/q.npy,/a/k.npy,/a/v.npy") == "v.npy", "the last file is shown");
}

constexpr std::array cases{
    Case{"input", "every kind", kinds},
    Case{"input", "masks", masks},
    Case{"input", "seed and value", seed_and_value},
    Case{"input", "other seeds", other_seeds},
    Case{"input", "scales", scales},
    Case{"input", "heads", heads},
    Case{"input", "example", example},
    Case{"input", "N of a file", tokens_of_a_file},
    Case{"input", "typed files", typed_files},
    Case{"input", "bad drops", bad_drops},
    Case{"input", "good drops", good_drops},
    Case{"input", "files with scales", files_with_scales},
};

}  // namespace

std::span<const Case> input_cases() { return cases; }

}  // namespace attoscope::testing
