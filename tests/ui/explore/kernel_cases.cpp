// Somebody's own output: dropped, typed, in whose place it stands, what is thought of it, files that are none.
#include <array>
#include <chrono>
#include <thread>

#include "app/files/files.h"
#include "app/session/session.h"
#include "app/tensors/npy.h"
#include "kernels/compute.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

const std::string kernel = controls + "##kernel", place = controls + "kernel as/";

/// A right output for the small session, or one that `edit` made of its problem.
template <class F>
std::string output_file(const TemporaryDirectory& folder, const char* name, F edit) {
  Experiment e = small_session().experiment;
  edit(e.problem);
  const Result r = compute(e);
  write_file(folder / name, npy_bytes(r.a.rows, r.a.cols, r.a.values.data()));
  return folder / name;
}
std::string right_output(const TemporaryDirectory& folder) {
  return output_file(folder, "right.npy", [](Problem&) {});
}
std::string wrong_output(const TemporaryDirectory& folder) {
  return output_file(folder, "wrong.npy", [](Problem& p) { p.scale = 1; });
}

/// Waits for the verdict on what is on screen.
std::shared_ptr<const Diagnosis> verdict(Hand& hand) {
  hand.settle();
  for (int i = 0; i < 2000; ++i) {
    const PanelInput input = hand.stage.panel_input();
    if (input.side.diagnosis && input.side.diagnosis->experiment == hand.experiment()) return input.side.diagnosis;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    hand.frames(1);
  }
  hand.check(false, "no verdict");
  return std::make_shared<const Diagnosis>();
}

void use(Session& s, const KernelOutput& loaded, bool as_b = false) {
  s.experiment.loaded = loaded;
  (as_b ? s.experiment.b : s.experiment.a).algorithm = Algorithm::loaded;
}

void dropped(Hand& hand) {
  const TemporaryDirectory folder;
  const std::string file = right_output(folder);
  hand.check(!hand.exists(place + "a"), "nothing is loaded");
  const auto load = [&] { hand.stage.explorer().open_dropped(hand.session(), {file}); };
  hand.changes("a dropped .npy is the output of a", load, [&](Session& s) { use(s, hand.experiment().loaded); });
  const KernelOutput& o = hand.experiment().loaded;
  hand.check(o.file == file && o.type == "F64" && o.n == 96 && o.d == 16 && o.digest != 0, "it was read");
  hand.check(verdict(hand)->verdict == Diagnosis::Verdict::rounded, "it is rounded: " + verdict(hand)->sentence);
  hand.check(!verdict(hand)->slip, "nothing is suspected");
}

void places(Hand& hand) {
  const TemporaryDirectory folder;
  hand.stage.explorer().open_dropped(hand.session(), {right_output(folder)});
  hand.settle();
  const auto put = [](Algorithm a, Algorithm b) {
    return [a, b](Session& s) { s.experiment.a.algorithm = a, s.experiment.b.algorithm = b; };
  };
  hand.changes("the output as b", [&] { hand.click(place + "b"); }, put(Algorithm::flash2, Algorithm::loaded));
  hand.check(verdict(hand)->verdict == Diagnosis::Verdict::rounded, "b is looked at as well");
  hand.changes("the output nowhere", [&] { hand.click(place + "off"); }, put(Algorithm::flash2, Algorithm::three_pass));
  hand.changes("the output as a", [&] { hand.click(place + "a"); }, put(Algorithm::loaded, Algorithm::three_pass));
  hand.leaves("the output as a again", [&] { hand.click(place + "a"); });
  hand.changes("undone", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_Z); }, put(Algorithm::flash2, Algorithm::three_pass));
}

void typed(Hand& hand) {
  const TemporaryDirectory folder;
  const std::string file = wrong_output(folder);
  const auto open = [&](const std::string& text) {
    hand.choose(kernel, "open a file ...");
    hand.fill("//$FOCUSED/##kernel path", text);
    hand.settle();
  };
  hand.changes("a typed output", [&] { open(file); }, [&](Session& s) { use(s, hand.experiment().loaded); });
  const auto found = verdict(hand);
  hand.check(found->slip && found->slip->kind == Slip::Kind::scale, "the missing scale is named: " + found->sentence);
  hand.leaves("a path that is none", [&] { open(folder / "absent.npy"); });
  hand.check(hand.stage.panel_input().messages.error.find("absent.npy") != std::string::npos, "the file is named");
  hand.leaves("a file of no kind", [&] { open("o.txt"); });
  hand.check(hand.stage.panel_input().messages.error.find("o.txt") != std::string::npos, "the text is named");
}

/// The verdict follows the question: the scale that the kernel really had makes it right.
void followed(Hand& hand) {
  const TemporaryDirectory folder;
  hand.stage.explorer().open_dropped(hand.session(), {wrong_output(folder)});
  hand.check(verdict(hand)->verdict == Diagnosis::Verdict::wrong, "the scale is missing");
  const Picture wrong = hand.picture();
  hand.experiment().problem.scale = 1;
  hand.check(verdict(hand)->verdict == Diagnosis::Verdict::rounded, "with that scale it is right: " + verdict(hand)->sentence);
  hand.check(hand.picture().rgb != wrong.rgb, "another verdict is shown");
}

/// A file of Q, K, V and O: the input is taken, and the output is offered.
void offered(Hand& hand) {
  const TemporaryDirectory folder;
  const Result r = compute(small_session().experiment);
  std::string header = "{", data;
  const auto add = [&](const char* name, const std::vector<double>& x) {
    const std::string begin = std::to_string(data.size());
    data.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double));
    header += std::string(header.size() > 1 ? "," : "") + "\"" + name + R"(":{"dtype":"F64","shape":[96,16],"data_offsets":[)" +
              begin + "," + std::to_string(data.size()) + "]}";
  };
  add("q", r.inputs->q), add("k", r.inputs->k), add("v", r.inputs->v), add("out", r.golden->values);
  header += "}";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size() & 255), length[1] = static_cast<char>(header.size() >> 8);
  const std::string file = folder.write("all.safetensors", length + header + data);
  hand.stage.explorer().open_dropped(hand.session(), {file});
  hand.settle();
  hand.check(hand.experiment().problem.input.file == file && hand.experiment().a.algorithm == Algorithm::flash2,
             "Q, K, V are taken");
  hand.changes(
      "the file's own output", [&] { hand.choose(kernel, "###offered"); },
      [&](Session& s) { use(s, hand.experiment().loaded); });
  hand.check(verdict(hand)->verdict == Diagnosis::Verdict::rounded, "it is right: " + verdict(hand)->sentence);
}

void refused(Hand& hand) {
  const TemporaryDirectory folder;
  const std::vector<double> few(95 * 16);
  write_file(folder / "short.npy", npy_bytes(95, 16, few.data()));
  folder.write("empty.npy", "");
  const auto before = hand.stage.panel_input().answer.result;
  for (const auto& [file, words] : {std::pair{"short.npy", "expected [96, 16]"}, std::pair{"empty.npy", "empty.npy"},
                                    std::pair{"absent.npy", "absent.npy"}}) {
    hand.leaves(std::string("dropping ") + file,
                [&, file = file] { hand.stage.explorer().open_dropped(hand.session(), {folder / file}); });
    const std::string message = hand.stage.panel_input().messages.error;
    hand.check(message.find(words) != std::string::npos && message.find('\n') == std::string::npos, "one sentence: " + message);
    hand.check(hand.stage.panel_input().answer.result == before, "the window keeps what it shows");
  }
  Session lost = small_session();
  lost.experiment.a.algorithm = Algorithm::loaded;
  lost.experiment.loaded.file = folder / "absent.npy";
  hand.open(lost);
  hand.check(hand.stage.panel_input().messages.error.find("absent.npy") != std::string::npos,
             "a session's output that is gone is named");
  hand.changes(
      "the window stays usable", [&] { hand.click(place + "off"); },
      [](Session& s) { s.experiment.a.algorithm = Algorithm::flash2; });
}

void another_size(Hand& hand) {
  const TemporaryDirectory folder;
  hand.stage.explorer().open_dropped(hand.session(), {right_output(folder)});
  hand.settle();
  hand.experiment().problem.n = 80;
  hand.settle();
  const std::string message = hand.stage.panel_input().messages.error;
  hand.check(message.find("96 x 16") != std::string::npos, "another N is complained about: " + message);
  hand.experiment().problem.n = 96;
  hand.check(verdict(hand)->verdict == Diagnosis::Verdict::rounded, "its own N is fine again");
}

constexpr std::array cases{
    Case{"kernel", "dropped", dropped},           Case{"kernel", "in whose place", places}, Case{"kernel", "typed", typed},
    Case{"kernel", "followed", followed},         Case{"kernel", "refused", refused},       Case{"kernel", "offered", offered},
    Case{"kernel", "another size", another_size},
};

}  // namespace

std::span<const Case> kernel_cases() { return cases; }

}  // namespace attoscope::testing
