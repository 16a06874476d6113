// Kernel outputs: dropped, typed, as a or b, their verdict, invalid files.

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/session/session.h"
#include "app/tensors/npy.h"
#include "imgui_internal.h"
#include "kernels/arithmetic/format.h"
#include "kernels/compute.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/explore/output_files.h"
#include "ui/controls/controls.h"
#include "ui/frame/loaded_output.h"
#include "ui/frame/ui_state.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/theme.h"

namespace attoscope::testing {
namespace {

const std::string kernel = controls + "##kernel", place = controls + "kernel as/";

/// The exact output of a row in which key j counts count(j) times.
template <class Count>
std::vector<double> exact_row(const Tensors& t, const Problem& p, int row, const Count& count) {
  std::vector<double> o(static_cast<std::size_t>(t.d_v));
  double l = 0;
  const auto at = [](int i, int columns, int c) { return static_cast<std::size_t>(i * columns + c); };
  for (int key = 0; key < t.n_k; ++key) {
    double s = 0;
    for (int c = 0; c < t.d; ++c) s += t.q[at(row, t.d, c)] * t.k[at(key, t.d, c)];
    const double P = std::exp(s * scale_of(p)) * count(key);
    l += P;
    for (int c = 0; c < t.d_v; ++c) o[static_cast<std::size_t>(c)] += P * t.v[at(key, t.d_v, c)];
  }
  for (double& x : o) x /= l;
  return o;
}

/// A file with the small session's correct output, or with the output of its problem changed by `edit`.
template <class F>
std::string output_file(Hand& hand, const char* name, F edit) {
  Experiment e = small_session().experiment;
  edit(e.problem);
  const Result r = compute(e);
  return hand.folder.write(name, npy_bytes(r.a.rows, r.a.cols, r.a.values.data()));
}
std::string right_output(Hand& hand) {
  return output_file(hand, "right.npy", [](Problem&) {});
}
std::string wrong_output(Hand& hand) {
  return output_file(hand, "wrong.npy", [](Problem& p) { p.scale = 1; });
}

/// The verdict on the head on screen.
struct Found {
  HeadVerdict all;
  const HeadJudgement& head() const { return all.call.worst_row().found; }
  std::string sentence() const { return all.call.sentences[0] + " " + all.call.sentences[1]; }
  bool rounded() const { return all.call.verdict() == "rounded"; }
  bool wrong() const { return all.call.verdict() == "wrong"; }
  const std::optional<Slip>& slip() const { return all.call.worst_row().slip; }
};
Found verdict(Hand& hand) {
  hand.settle();
  const auto known = [&] {
    const PanelInput input = hand.stage.panel_input();
    return input.side.verdict && input.side.verdict->experiment == verdict_question(hand.experiment());
  };
  if (hand.await("a verdict", known)) return {*hand.stage.panel_input().side.verdict};
  Found none;
  none.all.call.table.resize(1);
  return none;
}

void use(Session& s, const KernelOutput& loaded, bool as_b = false) {
  s.experiment.loaded = loaded;
  (as_b ? s.experiment.b : s.experiment.a).algorithm = Algorithm::loaded;
}

CASE(kernel, an_output_dropped) {
  const std::string file = right_output(hand);
  hand.check(!hand.exists(place + "a"), "nothing is loaded");
  hand.changes(
      "a dropped .npy is the output of a", [&] { hand.drop({file}); }, [&](Session& s) { use(s, hand.experiment().loaded); });
  const KernelOutput& o = hand.experiment().loaded;
  hand.check(o.file == file && o.type == "F64" && o.n == 96 && o.d == 16 && o.digest != 0, "the output was read");
  hand.check(verdict(hand).rounded(), "it is rounded: " + verdict(hand).sentence());
  hand.check(!verdict(hand).slip(), "no slip is named");
}

CASE(kernel, output_as_a_as_b_nowhere) {
  hand.drop({right_output(hand)});
  const auto put = [](Algorithm a, Algorithm b) {
    return [a, b](Session& s) { s.experiment.a.algorithm = a, s.experiment.b.algorithm = b; };
  };
  hand.each({{place + "b", put(Algorithm::flash2, Algorithm::loaded)}});
  hand.check(verdict(hand).rounded(), "a loaded b is judged as well");
  hand.each({{place + "off", put(Algorithm::flash2, Algorithm::three_pass)},
             {place + "a", put(Algorithm::loaded, Algorithm::three_pass)},
             {place + "a", [](Session&) {}}});
  hand.changes("undone", [&] { hand.key(undo_key); }, put(Algorithm::flash2, Algorithm::three_pass));
}

CASE(kernel, output_by_typed_path) {
  const std::string file = wrong_output(hand);
  const auto open = [&](const std::string& text) {
    hand.close_popups();
    hand.choose(kernel, "open a file ...");
    hand.fill("//$FOCUSED/##path", text, settled);
  };
  hand.changes("a typed output", [&] { open(file); }, [&](Session& s) { use(s, hand.experiment().loaded); });
  const auto found = verdict(hand);
  hand.check(found.slip() && found.slip()->kind == Slip::Kind::scale, "the missing scale is named: " + found.sentence());
  hand.leaves("a path that is none", [&] { open(hand.folder / "absent.npy"); });
  hand.expect_error("absent.npy");
  hand.leaves("a file of no kind", [&] { open("o.txt"); });
  hand.expect_error("o.txt");
}

/// The verdict follows the problem: with the kernel's real scale the output is right.
CASE(kernel, verdict_follows_the_question) {
  hand.drop({wrong_output(hand)});
  hand.check(verdict(hand).wrong(), "the scale is missing");
  hand.experiment().problem.scale = 1;
  hand.check(verdict(hand).rounded(), "with that scale it is right: " + verdict(hand).sentence());
}

/// A file of Q, K, V and O: choosing it as input offers the output; dropping it loads both.
CASE(kernel, output_of_the_file_of_q_k_v) {
  const Result r = compute(small_session().experiment);
  const std::string bytes = bf16_file({{"q", {96, 16}, r.inputs->q},
                                       {"k", {96, 16}, r.inputs->k},
                                       {"v", {96, 16}, r.inputs->v},
                                       {"out", {96, 16}, r.a.values}});
  const std::string file = hand.folder.write("all.safetensors", bytes), again = hand.folder.write("again.safetensors", bytes);
  hand.stage.explorer().open(hand.session(), file);
  hand.settle();
  hand.check(hand.experiment().problem.input.file == file && hand.experiment().a.algorithm == Algorithm::flash2,
             "Q, K, V are the input");
  hand.choose(kernel, "###offered",
              [&](Session& s) { use(s, hand.experiment().loaded), s.view.heads_show = HeadsShow::verdict; });
  hand.check(verdict(hand).rounded(), "it is right: " + verdict(hand).sentence());
  hand.drop({again});
  hand.check(hand.experiment().problem.input.file == again && hand.experiment().loaded.file == again &&
                 hand.experiment().a.algorithm == Algorithm::loaded,
             "input and output are loaded");
}

CASE(kernel, refused_outputs) {
  const std::vector<double> few(95 * 16);
  write_file(hand.folder / "short.npy", npy_bytes(95, 16, few.data()));
  hand.folder.write("empty.npy", "");
  const auto before = hand.result();
  for (const auto& [file, words] :
       {std::pair{"short.npy", "expected [96, 16]"}, {"empty.npy", "empty.npy"}, {"absent.npy", "absent.npy"}}) {
    hand.leaves(std::string("dropping ") + file, [&, file = file] { hand.drop({hand.folder / file}); });
    hand.expect_error(words);
    hand.check(hand.error().find('\n') == std::string::npos, "one sentence");
    hand.check(hand.result() == before, "the window keeps its answer");
  }
  Session lost = small_session();
  lost.experiment.a.algorithm = Algorithm::loaded;
  lost.experiment.loaded.file = hand.folder / "absent.npy";
  hand.open(lost);
  hand.expect_error("absent.npy");
  hand.click(place + "off", [](Session& s) { s.experiment.a.algorithm = Algorithm::flash2; });
}

CASE(kernel, output_of_another_size) {
  hand.drop({right_output(hand)});
  hand.experiment().problem.n = 80;
  hand.settle();
  hand.expect_error("96 x 16");
  hand.experiment().problem.n = 96;
  hand.check(verdict(hand).rounded(), "its own N is fine again");
}

/// A picture shows the log-sum-exp by query; a click traces the query. Verdict and picture name the same wrong rows.
CASE(kernel, log_sum_exp_by_query) {
  const std::string o = right_output(hand), picture = "//Statistics/**/L by query";
  std::vector<double> lse = compute(small_session().experiment).golden_lse;
  const auto drop = [&] {
    hand.open(small_session());
    hand.drop({o, hand.folder.write("lse.npy", npy_bytes(static_cast<int>(lse.size()), 1, lse.data()))});
    return verdict(hand).all.lse ? verdict(hand).all.lse->judged : LseJudgement{};
  };
  const LseJudgement right = drop();
  hand.check(right.rounded && right.shares.size() == 96, "the right one is rounded");
  for (int i = 32; i < 40; ++i) lse[static_cast<std::size_t>(i)] += 0.5;
  const LseJudgement wrong = drop();
  for (int i = 0; i < 96 && hand.well(); ++i) {
    const bool is_wrong = i >= 32 && i < 40;
    const auto at = static_cast<std::size_t>(i);
    hand.check((wrong.shares.at(at) > 1) == is_wrong && std::abs(wrong.errors.at(at) - (is_wrong ? 0.5 : 0)) < 1e-4,
               "query " + std::to_string(i));
  }
  const std::vector<LseBar> bars = lse_bars(wrong, 10);
  hand.check(lse_bars(wrong, 96).size() == 96 && bars.size() == 10 + 1, "no more bars than there is room for");
  hand.check(bars.back().wrong && bars.back().first == 30 && bars.back().end == 40 && bars.back().down == 0 &&
                 bars.back().up == *std::max_element(wrong.shares.begin() + 30, wrong.shares.begin() + 40),
             "a bar of several queries shows the largest error");
  hand.stage.resize(1600, 1000);
  hand.settle();
  hand.press(hand.place(picture, 36.5F / 96), settled);
  hand.check(hand.experiment().problem.traced_row == 36, "the query under the click is traced");
  hand.check(hand.explained_at(hand.place(picture, 0.2F)), "the plot has a tooltip");
  ImGui::FocusWindow(ImGui::FindWindowByName("Statistics"));
  int pressed = 0;
  do hand.key(ImGuiKey_Tab);
  while (++pressed < 60 && ImGui::GetCurrentContext()->NavId != hand.id(picture));
  hand.key(ImGuiKey_RightArrow);
  hand.key(ImGuiKey_Enter, settled);
  hand.check(hand.experiment().problem.traced_row == 1, "an arrow goes to the next query, Enter traces it");
}

/// A file of two heads.
std::string stacked(const TemporaryDirectory& folder, const char* name, std::vector<double> first,
                    const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return folder.write(name, npy_of(first, 2, 96, 16));
}

/// The output shows the same head as Q, K, V until another head is chosen; the verdict names both.
CASE(kernel, heads_of_an_output) {
  Experiment e = small_session().experiment, other = e;
  other.problem.seed = 2;
  const Result x = compute(e), y = compute(other);
  const auto file = [&](const char* name, const std::vector<double> Tensors::* part) {
    return stacked(hand.folder, name, (*x.inputs).*part, (*y.inputs).*part);
  };
  const std::string q = file("q.npy", &Tensors::q), k = file("k.npy", &Tensors::k), v = file("v.npy", &Tensors::v);
  const std::string o = stacked(hand.folder, "o.npy", x.a.values, y.a.values);
  hand.drop({o, v, k, q});
  hand.check(hand.experiment().problem.input.file == q + "," + k + "," + v && hand.experiment().loaded.file == o,
             "four files are Q, K, V and O: " + hand.error());
  hand.check(verdict(hand).rounded(), "head 0 is right: " + verdict(hand).sentence());
  hand.choose(controls + "##head", "###head 1", settled);
  hand.check(hand.experiment().loaded.index == 1, "the output's head follows");
  hand.check(verdict(hand).rounded(), "head 1 is right: " + verdict(hand).sentence());
  hand.check(verdict(hand).all.call.heads == 2 && verdict(hand).all.call.worst_row().head == 1,
             "the verdict names the worst head");
  hand.choose(controls + "##output head", "head 0##0", settled);
  hand.check(hand.experiment().loaded.index == 0 && hand.experiment().problem.input.index == 1, "another head is chosen");
  hand.check(verdict(hand).all.call.heads == 1, "the head is judged alone");
  hand.check(verdict(hand).wrong(), "output and input are of other heads");
  hand.drop({o});
  hand.check(hand.experiment().loaded.index == 1, "an output that is opened has the input's head");
}

/// A rewritten file is read again; a half-written file is not.
CASE(kernel, rewritten_output) {
  const std::string file = wrong_output(hand), good = read_file(right_output(hand), 1 << 20);
  hand.drop({file});
  hand.check(verdict(hand).wrong(), "wrong at first");
  const std::uint64_t before = hand.experiment().loaded.digest;
  write_file(file, good.substr(0, good.size() / 2));
  hand.await("a notice comes", [&] { return hand.notice().starts_with("wrong.npy was rewritten, but cannot be read yet"); });
  hand.check(hand.experiment().loaded.digest == before, "half a file is not loaded");
  write_file(file, good);
  hand.await("the new one is read", [&] { return hand.experiment().loaded.digest != before; });
  hand.check(verdict(hand).rounded(), "the new one is right: " + verdict(hand).sentence());
}

/// The small session's output, rounded once, with one wrong element in row 37.
std::vector<double> one_wrong() {
  std::vector<double> values = compute(small_session().experiment).golden->values;
  for (double& x : values) x = round(bf16, x);
  values[37 * 16 + 5] += 3;
  return values;
}

/// A failing verdict leads to the first wrong row.
CASE(kernel, first_wrong_row_shown) {
  hand.drop({hand.folder.write("one.npy", npy_bytes(96, 16, one_wrong().data()))});
  const auto found = verdict(hand);
  hand.check(found.head().first_row == 37 && found.head().worst_col == 5, "row 37 is wrong: " + found.sentence());
  hand.check(has(found.sentence(), "in row 37"), found.sentence());
  hand.frames(2);
  hand.click("//Statistics/###first wrong", settled);
  const View& view = hand.session().view;
  hand.check(view.cell_row == 37 && view.cell_col == 5, "its worst cell is pinned");
  hand.check(view.zoom.row0 <= 37 && view.zoom.row1 > 37 && view.zoom.row1 - view.zoom.row0 < 96, "its tile is shown");
  hand.check(view.field == Field::a_error, "its error is shown");
}

/// A verdict longer than its box has a tooltip and never scrolls; a click copies it. The panel below keeps room.
CASE(kernel, verdict_in_a_low_window) {
  hand.resize(1366, 768);
  hand.drop({hand.folder.write("one.npy", npy_bytes(96, 16, one_wrong().data()))});
  const std::string sentence = verdict(hand).sentence();
  hand.frames(2);
  const ImVec2 button = hand.place("//Statistics/###first wrong", 0.5f, 0);
  const ImVec2 last_line{button.x, button.y - 16};
  hand.check(hand.explained_at(last_line), "the verdict above the button has a tooltip");
  const auto scrolls = [&](const ImGuiWindow* w) {
    return w->WasActive && has(w->Name, "Statistics/") && w->ScrollbarY && w->Rect().Contains(last_line);
  };
  const ImVector<ImGuiWindow*>& windows = ImGui::GetCurrentContext()->Windows;
  hand.check(std::ranges::none_of(windows, scrolls), "the verdict has no scroll bar");
  hand.click("//Statistics/verdict");
  hand.check(std::string_view(ImGui::GetClipboardText()).starts_with(sentence), "the whole verdict is copied");
  const auto measures = std::ranges::find_if(windows, [](const ImGuiWindow* w) { return has(w->Name, "/deviations"); });
  hand.check(measures != windows.end() && (*measures)->Rect().Max.y < 768 - 180, "the measures leave room for a detail");
}

/// One click shows the named slip's output as the other half of a swipe, and one click ends the swipe.
CASE(kernel, slip_shown) {
  hand.drop({wrong_output(hand)});
  hand.check(verdict(hand).slip() && verdict(hand).slip()->output, "the slip has an output: " + verdict(hand).sentence());
  hand.show(&View::field, Field::golden);
  const std::string button = "//Statistics/###slip";
  const auto swipes = [](Session& s) {
    s.view.comparison = Comparison::swipe;
    s.view.second_slip = true;
    s.view.field = s.view.second_field = Field::a_error;
  };
  hand.changes("the slip's errors next to the output's", [&] { hand.click(button); }, swipes);
  const HeatState &loaded = hand.stage.state->heat, &slip = hand.stage.state->second;
  hand.await("the slip's output is shown", [&] {
    const PanelInput input = hand.stage.panel_input();
    return input.side.slip_output && slip.result && slip.result == input.side.slip_output->answer;
  });
  hand.check(slip.values.size() == loaded.values.size() && !slip.values.empty(), "it has as many elements");
  float apart = 0;
  for (std::size_t i = 0; i < slip.values.size(); ++i) apart = std::max(apart, std::abs(slip.values[i] - loaded.values[i]));
  hand.check(loaded.largest > 0 && apart < 0.1f * loaded.largest, "the slip explains the errors element by element");
  hand.choose(heatmap + "##second field", "golden/     golden",
              [](Session& s) { s.view.second_slip = false, s.view.second_field = Field::golden; });
  hand.changes("undone", [&] { hand.key(undo_key); }, swipes);
  hand.click(button, [](Session& s) { s.view.comparison = Comparison::none, s.view.second_slip = false; });
  hand.experiment().problem.scale = 1;
  verdict(hand);
  hand.frames(2);
  hand.check(!hand.exists(button), "a right output has no slip");
}

/// Loads an output with one wrong element in row 37 as a; b is flash2.
void open_one_wrong(Hand& hand) {
  hand.experiment().b = hand.experiment().a;
  hand.drop({hand.folder.write("one.npy", npy_bytes(96, 16, one_wrong().data()))});
  verdict(hand);
}

/// With a loaded output as a the strip follows b, in b's colour, and marks the failing rows; a click traces one of them.
CASE(kernel, b_followed) {
  open_one_wrong(hand);
  const auto followed = [&] { return recurrence_answer(hand.stage.panel_input()); };
  hand.await("b's recurrence is there", [&] { return followed() != hand.result(); });
  const Result expected = compute(exchanged(hand.experiment()));
  hand.check(followed()->trace.tiles.size() == expected.trace.tiles.size() && expected.trace.tiles.size() > 2, "its tiles");
  for (std::size_t i = 0; i < expected.trace.tiles.size(); ++i)
    hand.check(followed()->trace.tiles[i].max_used == expected.trace.tiles[i].max_used, "m of b");
  hand.check(hand.stage.state->strip.result == followed() && hand.stage.state->strip.of_b, "the strip shows b's recurrence");
  hand.click(strip + "###first tile", [](Session& s) { s.view.scrubbed_tile = 0; });
  hand.changes("the next by key", [&] { hand.key(ImGuiKey_Period); }, [](Session& s) { s.view.scrubbed_tile = 1; });
  const KernelRows& rows = *hand.stage.state->kernel_rows;
  hand.check(rows.first_bad == std::vector<int>{37} && rows.tile == 16 && rows.bad == std::vector<double>{40},
             "row 37 is marked");
  hand.check(rows.share.size() == 6 && rows.share[2] > 1 && rows.share[1] < 1, "tiles by error over tolerance");
  hand.press(hand.place(strip + "kernel rows", 0.45f), [](Session& s) { s.experiment.problem.traced_row = 37; });
}

/// Three passes have no recurrence: the strip shows flash2's, with the tile in which the traced row first differs:
/// the tile of the first key that the named slip spoils, or the tile in which the row ends early, or none.
CASE(kernel, flash2_followed_with_the_tile_where_the_row_parts) {
  Session s = small_session();
  s.experiment.b = with_algorithm(s.experiment.b, Algorithm::three_pass);
  s.experiment.problem.traced_row = 40;
  hand.open(s);
  const Experiment e = hand.experiment();
  const Result r = compute(e);
  const auto exact = [&](int row, const auto& count) { return exact_row(*r.inputs, e.problem, row, count); };
  const auto opened = [&](const char* name, const auto& output_of_row) {
    std::vector<double> o = r.a.values;
    for (int row = 0; row < 96; ++row) {
      const std::vector<double> values = output_of_row(row);
      if (!values.empty()) std::ranges::copy(values, o.begin() + static_cast<std::ptrdiff_t>(row) * 16);
    }
    hand.drop({hand.folder.write(name, npy_bytes(96, 16, o.data()))});
    verdict(hand);
    hand.await("flash2 is followed", [&] {
      const PanelInput input = hand.stage.panel_input();
      return shown_followed(input) != nullptr && recurrence_answer(input) != input.answer.result;
    });
    hand.frames(1);
    return hand.stage.state->strip.parts_at;
  };
  const auto said = [&] { return shown_verdict(hand.stage.panel_input())->sentences[0]; };
  const int twice = opened("twice.npy", [&](int row) { return exact(row, [](int key) { return key / 16 == 2 ? 2 : 1; }); });
  hand.check(twice == 2, "keys 32 to 47 count twice: tile 2, not " + std::to_string(twice) + ": " + said());
  Method flash = default_experiment().a;
  flash.block_q = s.experiment.b.block_q, flash.block_k = s.experiment.b.block_k;
  hand.check(recurrence_answer(hand.stage.panel_input())->experiment.a == flash, "flash2 in D with b's tiles");
  hand.check(hand.experiment().b == s.experiment.b, "b stays");
  const int early = opened("early.npy", [&](int row) {
    return row == 40 ? exact(row, [](int key) { return key < 64 ? 1 : 0; }) : std::vector<double>();
  });
  hand.check(early == 4, "row 40 ends after four tiles, not " + std::to_string(early));
  const int unknown =
      opened("spoilt.npy", [&](int row) { return row == 40 ? std::vector<double>(16, 3.0) : std::vector<double>(); });
  hand.check(unknown == -1, "the tile is unknown, not " + std::to_string(unknown));
  hand.experiment().problem.traced_row = 3;
  hand.settle();
  hand.frames(3);
  hand.check(hand.stage.state->strip.parts_at == -1, "a right row differs nowhere");
}

/// Saves a plot of the strip as pixels, with the numbers that the strip shows: b's.
CASE(kernel, recurrence_of_b_exported) {
  hand.stage.resize(1600, 1000);
  open_one_wrong(hand);
  const auto followed = [&] { return recurrence_answer(hand.stage.panel_input()); };
  hand.await("b's recurrence is there", [&] { return followed() != hand.result(); });
  hand.stage.exporter = PlotExporter(hand.folder / "pictures");
  hand.move(hand.place(strip + "error so far", 0.5f, 0.5f));
  hand.frames(2);
  hand.click(strip + "###save error");
  hand.frames(2);
  hand.pick("###keep");
  hand.frames(5);
  hand.expect_notice("-error-1.png and .csv");
  const std::string csv = read_file(hand.folder / "pictures/attoscope-error-1.csv", 1 << 20);
  hand.check(csv == recurrence_csv(compute(exchanged(hand.experiment()))), "b's numbers: " + csv);
  hand.check(csv != recurrence_csv(*hand.result()), "not the loaded output's");
  hand.stage.exporter = PlotExporter("");
}

/// Without a recurrence beside them, the rows' save button leaves their words legible, too.
CASE(kernel, save_below_the_words_of_the_rows) {
  hand.stage.resize(1600, 1000);
  hand.experiment().a.block_k = 128;
  open_one_wrong(hand);
  const auto input = [&] { return hand.stage.panel_input(); };
  hand.await("b's answer is there", [&] { return recurrence_answer(input()) != hand.result(); });
  hand.frames(3);
  hand.expect_text(why_no_recurrence(input()).substr(0, 8), "One tile");
  hand.move(hand.place(strip + "kernel rows", 0.5f, 0.5f));
  hand.frames(2);
  hand.check(hand.rect(hand.id(strip + "###save kernel rows")).Min.y >= hand.rect(hand.id(strip + "kernel rows")).Min.y,
             "save lies within the plot");
}

/// With the loaded output as b the same rows fail, and the strip follows a.
CASE(kernel, failing_rows_of_b) {
  open_one_wrong(hand);
  hand.click(place + "b");
  verdict(hand);
  hand.frames(2);
  hand.check(!hand.stage.state->strip.of_b, "a is followed");
  hand.check(!hand.stage.state->kernel_rows->of_a && hand.stage.state->kernel_rows->first_bad == std::vector<int>{37},
             "row 37 of b is marked");
  hand.click(place + "off", settled);
  hand.check(!hand.exists(strip + "kernel rows"), "nothing is marked without an output");
}

/// An unreadable file is reported next to its path, which stays for correction; the answer on screen is marked as the former
/// one.
CASE(kernel, failed_load) {
  const std::string good = right_output(hand);
  hand.drop({good});
  hand.check(verdict(hand).rounded(), "right");
  const PathPrompt& prompt = hand.stage.state->popups.files[FileUse::output];
  hand.choose(kernel, "open a file ...");
  hand.fill("//$FOCUSED/##path", hand.folder / "absent.npy");
  hand.frames(3);
  hand.check(prompt.failed && hand.stage.panel_input().messages.load_failed, "the load failed");
  hand.check(hand.has_popup(), "the path stays");
  hand.enter(hand.folder / "gone.npy");  // the whole path is selected: this text replaces it
  hand.frames(3);
  hand.check(prompt.typed == hand.folder / "gone.npy", "typing replaces the path: " + prompt.typed);
  hand.enter(good);
  hand.frames(3);
  hand.settle();
  hand.check(!prompt.failed && !hand.stage.panel_input().messages.load_failed, "the existing file is loaded");
  hand.check(hand.error().empty(), "no error is left");
  hand.check(!hand.has_popup(), "the popup closes");
}

/// The verdict on screen turns grey after another file could not be read.
CASE(kernel, verdict_grey_after_a_failed_load) {
  hand.drop({right_output(hand)});
  verdict(hand);
  const auto is_green = [&] {
    hand.frames(3);
    const PanelInput input = hand.stage.panel_input();
    const CallJudgement* const call = shown_verdict(input);
    return call != nullptr && kernel_tone(*call, input) == colours().good;
  };
  hand.check(is_green(), "a right output is green");
  hand.drop({hand.folder / "absent.npy"});
  hand.check(!is_green(), "not after a failed load");
  hand.drop({hand.folder / "right.npy"});
  verdict(hand);
  hand.check(is_green(), "green again");
}

/// D becomes the type of the output, in one step that can be undone.
CASE(kernel, format_of_an_output) {
  Experiment e = small_session().experiment;
  e.format = fp16;
  const Format before = hand.experiment().format;
  hand.drop({hand.folder.write("o.npy", npy_bytes(96, 16, compute(e).a.values.data()))});
  hand.check(before == bf16 && hand.experiment().format == fp16, "D is fp16 now");
  hand.check(hand.notice().starts_with("D is fp16 now"), "the notice says it: " + hand.notice());
  hand.check(verdict(hand).rounded(), "and the output is right: " + verdict(hand).sentence());
  hand.key(undo_key, settled);
  hand.check(hand.experiment().format == bf16, "undone");
}

/// With only the first tokens of a file, the output is compared with attention on these tokens.
CASE(kernel, first_tokens) {
  Session session = small_session();
  Experiment& e = session.experiment;
  e.problem.n = 256, e.problem.d = 64;
  e.problem.mask.kind = Mask::Kind::window, e.problem.mask.window = 64;
  e.problem.input = {.kind = InputKind::tensors,
                     .file = assets_directory() + "/examples/smollm2_135m.safetensors",
                     .index = 1,
                     .tensors = nullptr};
  e.a.algorithm = Algorithm::loaded;
  e.loaded.file = assets_directory() + "/screenshots/sessions/window_65.npy";
  hand.open(session);
  const Found found = verdict(hand);
  hand.check(found.wrong() && found.slip() && found.slip()->kind == Slip::Kind::mask, found.sentence());
}

/// The tensors in a file are listed while its path is typed.
CASE(kernel, tensors_of_a_file_listed) {
  const std::string file = right_output(hand);
  hand.stage.explorer().look_into(file);
  const FileContent content = hand.stage.panel_input().choices.content;
  hand.check(content.files == file && content.tensors == std::vector<std::string>{"right.npy: [96, 16] F64"}, "one tensor");
  hand.stage.explorer().look_into(hand.folder / "absent.npy");
  hand.check(hand.stage.panel_input().choices.content.tensors.empty(), "without a file no tensors are listed");
}

}  // namespace

}  // namespace attoscope::testing
