// The list of questions, each of which opens the part of the window that answers it; the title of the picture.
#include <string>

#include "app/files/files.h"
#include "kernels/compute.h"
#include "kernels/experiment/rules.h"
#include "tests/ui/cases.h"
#include "tests/ui/explore/output_files.h"
#include "ui/commands/commands.h"
#include "ui/frame/ui_state.h"
#include "ui/picture/pictures.h"

namespace attoscope::testing {
namespace {

/// Clicks a question in the list of the top bar.
void ask_window(Hand& hand, const std::string& name) {
  hand.click(top_bar + "###questions");
  hand.frames(2);
  hand.pick("##" + name);
  hand.frames(4);
}

/// Each question changes only the view, and shows its answer.
CASE(questions, lead_to_their_answers) {
  hand.stage.resize(1280, 800);
  hand.open(all_heads(128));
  hand.show(&View::picture, PictureKind::output, 3);
  const auto leads = [&](const char* question, const Hand::Change& change) {
    hand.changes(question, [&] { ask_window(hand, question); }, change);
  };
  leads("worst head", [](Session& s) { s.view.picture = PictureKind::heads, s.view.heads_show = HeadsShow::grid; });
  leads("kv", [](Session& s) { s.view.heads_show = HeadsShow::kv_cache; });
  leads("order", [](Session& s) { s.view.detail = Detail::same_bits, s.view.bits_show = BitsShow::schedules; });
  leads("same bits", [](Session& s) { s.view.bits_show = BitsShow::runs; });
  leads("step", [](Session& s) { s.view.detail = Detail::why; });
  ask_window(hand, "gradient");
  hand.settle();
  hand.check(hand.experiment().backward.on && hand.view().tensor == AnswerTensor::dQ && hand.view().detail == Detail::why &&
                 hand.view().picture == PictureKind::output,
             "the gradient's errors are shown");
  ask_window(hand, "format");
  hand.check(hand.view().workspace == Workspace::sweep && hand.session().sweep.first.key == "format", "a sweep over formats");
  ask_window(hand, "training");
  hand.check(hand.view().workspace == Workspace::train, "Train");
  ask_window(hand, "lesson");
  hand.check(hand.view().workspace == Workspace::learn && hand.session().lesson.step == 0, "the first lesson");
}

/// Asks from another workspace, and in a narrow window, where the numbers are a tab behind the controls.
CASE(questions, bring_the_numbers_to_the_front) {
  hand.stage.resize(1024, 768);
  hand.open(small_session(Workspace::sweep));
  hand.ask("does order matter");
  hand.frames(4);
  hand.check(hand.view().workspace == Workspace::explore && hand.view().bits_show == BitsShow::schedules,
             "the palette opens the schedules");
  hand.check(hand.exists("//Statistics/**/bits"), "the tab of the numbers is in front");
}

/// The question about a kernel first opens the prompt for its output; with an output it shows the mistakes.
CASE(questions, is_my_kernel_right) {
  const Result r = compute(hand.experiment());
  write_file(hand.folder / "o.npy", npy_bytes(r.a.rows, r.a.cols, r.a.values.data()));
  hand.show(&View::welcome, true, 3);
  hand.click(heatmap + "###ask");
  hand.frames(2);
  hand.pick("##my kernel");
  hand.frames(6);
  hand.enter(hand.folder / "o.npy");
  hand.settle();
  hand.check(has_loaded(hand.experiment()), "the output is loaded");
  hand.view().picture = PictureKind::scores;
  ask_window(hand, "my kernel");
  hand.check(hand.view().picture == PictureKind::output && hand.view().detail == Detail::why, "its mistakes are shown");
}

std::string title(Hand& hand) {
  Requests requests;
  const PanelInput input = hand.stage.panel_input();
  return picture_title({hand.session(), input, *hand.stage.state, requests});
}

/// The title says what the picture is, of which method, in which format, and of which input.
CASE(questions, title_of_the_picture) {
  const auto expect = [&](const std::string& text) { hand.expect_text(title(hand), text); };
  hand.open(all_heads(128));
  hand.show(&View::picture, PictureKind::output);
  expect("Error of flash2 in bf16: layer 0, head 3 of grouped, 128 tokens");
  hand.show(&View::field, Field::golden);
  expect("Exact output, golden: layer 0, head 3 of grouped, 128 tokens");
  hand.show(&View::picture, PictureKind::heads);
  expect("Flash2 beside three-pass in bf16: every head of grouped, 128 tokens");
  hand.show(&View::heads_show, HeadsShow::kv_cache);
  expect("Relative RMS error of flash2 in bf16, K and V in fewer bits: every head of grouped, 128 tokens");
  hand.show(&View::heads_show, HeadsShow::verdict);
  expect("Flash2 beside three-pass in bf16: every head of grouped, 128 tokens");
  hand.show(&View::heads_show, HeadsShow::outputs);
  expect("Error of flash2 in bf16 over the RMS of the output: every head of grouped, 128 tokens");
  hand.show(&View::heads_range, HeadsRange::shared);
  expect("Size of the error of flash2 in bf16: every head of grouped, 128 tokens");
  Session session = small_session();
  session.experiment.problem.n_k = 40;
  session.view.field = Field::b_abs;
  hand.open(session);
  expect("Size of the error of three-pass in bf16: drawn inputs, normal, 96 queries, 40 keys");
  hand.show(&View::picture, PictureKind::scores);
  expect("Weights P of flash2 in bf16: drawn inputs, normal, 96 queries, 40 keys");
  const std::vector<double> numbers(96 * 16, 1.0);
  std::vector<std::string> files;
  for (const char* name : {"q.npy", "k.npy", "v.npy"})
    files.push_back(hand.folder.write(name, npy_bytes(96, 16, numbers.data())));
  hand.open_files(files);
  hand.check(has(title(hand), " of q.npy, k.npy, v.npy, 96 tokens"), title(hand));

  const ShownTensor dQ{.result = {}, .name = "dQ"};
  hand.expect_text(picture_title({session.view, session.experiment, dQ, {}}, Field::a),
                   "dQ of flash2 in bf16: drawn inputs, normal, 96 queries, 40 keys");
  TensorFileInfo packed{.file = "packed.pt", .heads = 2, .shape = AttentionShape::square(17, 8)};
  packed.layers = {{"", 0, 1, 1, AttentionShape::square(17, 8)}, {"", 1, 1, 1, AttentionShape::square(55, 8)}};
  session.view.picture = PictureKind::heads;
  session.experiment.problem.input.kind = InputKind::tensors;
  session.experiment.problem.input.file = packed.file;
  session.experiment.problem = with_shape(session.experiment.problem, packed.shape);
  hand.expect_text(picture_title({session.view, session.experiment, {}, packed}, Field::a_error),
                   "Flash2 beside three-pass in bf16: every head of packed, 17 to 55 tokens");
  hand.expect_text(picture_title({session.view, session.experiment, {}, packed, HeadsShow::verdict}, Field::a_error),
                   "Error over tolerance of your kernel: every head of packed, 17 to 55 tokens");
}

}  // namespace
}  // namespace attoscope::testing
