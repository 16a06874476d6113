// Comparison of the bits of runs: runs that must agree, a under other schedules, dQ in other orders.
#include "kernels/questions/same_bits.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/experiment/result.h"
#include "kernels/questions/gpu_check.h"
#include "kernels/questions/gradient_spread.h"
#include "kernels/questions/invariance.h"
#include "kernels/questions/schedules.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// The question for dQ in other orders; it depends neither on a's own order nor on b.
Experiment spread_question(Experiment e) {
  const GradMethod usual;
  e.backward.a.order = usual.order;
  e.backward.a.order_seed = usual.order_seed;
  e.backward.a.buffers = usual.buffers;
  e.b = Method{.algorithm = Algorithm::three_pass};
  e.backward.b = usual;
  return e;
}

/// Sentence about the elements of dQ that differ between runs.
std::string spread_words(const OrderSpread& s) {
  if (s.moved == 0) return fmt::format("In these {} orders no element of dQ moves.", s.shuffled.size());
  const double share = 100 * static_cast<double>(s.moved) / static_cast<double>(std::max<std::int64_t>(1, s.elements));
  return fmt::format("{} of {} elements of dQ move, {:.2g} %, by at most {} ulp of {}.", s.moved, s.elements, share,
                     compact(s.max_ulp), name(s.experiment.format));
}

/// The runs of dQ as a table: shuffled orders first, then schedules.
void draw_spread(Session& session, const OrderSpread& spread) {
  const float width = ImGui::GetContentRegionAvail().x;
  wrapped(Face::small, colours().text, spread_words(spread), width);
  wrapped(
      Face::small, colours().secondary,
      fmt::format("Atomic additions add the key tiles in any order; these {} orders are drawn by seeds.",
                  spread.shuffled.size()) +
          (spread.schedules_repeat ? " The schedules below them repeated their bits." : " A schedule did not repeat its bits."),
      width);
  ImGui::Dummy({0, px(4)});
  const std::size_t shuffled = spread.shuffled.size();
  const auto run_at = [&](std::size_t i) -> const OrderRun& {
    return i < shuffled ? spread.shuffled[i] : spread.schedules[i - shuffled];
  };
  GradMethod& a = session.experiment.backward.a;
  const auto row = [&](std::size_t i) {
    const OrderRun& run = run_at(i);
    const bool is_a = a == with_order(a, run.schedule);
    return TableRow{.id = "order " + std::to_string(i),
                    .meaning = run.what + (i == 0 ? ": the others are compared with it." : ".") +
                               (is_a ? " It is a's order." : " A click makes it a's order; Ctrl+Z comes back."),
                    .formula = fmt::format("{} of {} numbers of dQ move, at most {} ulp of {}\nmean |dQ - golden| {}\n{}",
                                           run.moved, spread.elements, compact(run.max_ulp), name(spread.experiment.format),
                                           scientific(run.mean_abs_error), hex16(run.digest)),
                    .chosen = is_a,
                    .mark = run.moved == 0 ? colours().good : colours().bad};
  };
  if (const auto clicked = draw_table("orders", order_spread_table(spread), {.row = row}))
    a = with_order(a, run_at(*clicked).schedule);
}

/// Result of the comparison in two words.
struct Badge {
  const char* text;
  Colour colour;
  std::string what;
};

const SameBits* known_bits(const PanelInput& input, const Experiment& asked) {
  return input.side.same_bits && answers(input.side.same_bits->experiment, asked) ? input.side.same_bits.get() : nullptr;
}

Badge badge(const PanelInput& input, const Experiment& asked) {
  const SameBits* bits = known_bits(input, asked);
  if (bits != nullptr && bits->agree())
    return {"same bits", colours().good, fmt::format("{} runs gave the same bits.", bits->compared())};
  if (bits != nullptr) return {"bits differ", colours().bad, "A run gave different bits."};
  if (input.answering.same_bits)
    return {"checking bits", colours().accent, "The same experiment is being computed in every other way."};
  return {"same bits? check …", colours().faint, "Not checked yet: does every way to compute this give the same bits?"};
}

void draw_runs(const SameBits& bits) {
  const auto row = [&](std::size_t i) {
    const SameBitsRun& run = bits.runs[i];
    const Digests& d = run.digests;
    TableRow shown{.id = "run " + std::to_string(i), .meaning = run.skipped, .mark = colours().faint};
    if (!run.skipped.empty()) return shown;
    shown.meaning =
        i == 0 ? "As the window computes it; every other run is compared with this one." : "The digests of this run.";
    shown.formula = "golden " + hex16(d.golden) + "\na      " + hex16(d.a) + "\nb      " + hex16(d.b);
    shown.mark = agrees(run, bits.runs[0]) ? colours().good : colours().bad;
    return shown;
  };
  draw_table("runs", same_bits_table(bits), {.row = row});
}

/// Methods a and b compared: differing numbers of O, and the tile from which a row differs.
void draw_methods(const SameBits& bits, float width) {
  const MethodsApart& apart = bits.methods;
  if (apart.numbers == 0) return;
  const std::vector<std::string> lines = apart_lines(apart, bits.experiment);
  ImGui::BeginGroup();
  for (const std::string& line : lines)
    label(Face::small, line == lines[0] ? colours().text : colours().secondary, fitted(Face::small, line, width));
  ImGui::EndGroup();
  const std::string tiles = apart.parting ? fmt::format("It sees keys of {} tiles. ", apart.parting->tiles) : "";
  explain("The two methods of this experiment against each other, number by number. " + tiles + apart.why_no_tile,
          "bits of a and b at the same place;\nS, m, P, l, O of one row, tile by tile");
}

/// Draws a real kernel against its second run and its emulation; nothing if neither a nor b is one.
void draw_hardware(const PanelInput& input, float width) {
  const HardwareWords words = input.answer.result ? hardware_words(*input.answer.result) : HardwareWords{};
  if (words.runs.empty()) return;
  ImGui::BeginGroup();
  label(Face::small, words.repeats ? colours().good : colours().bad, fitted(Face::small, words.runs, width));
  label(Face::small, colours().secondary, fitted(Face::small, words.emulation, width));
  ImGui::EndGroup();
  explain(words.runs + "; " + words.emulation +
              ". The kernel ran twice on the same inputs; its emulation is flash2 hw with the same tile and exp2.",
          "ulp = |kernel - emulation| / ulp(|emulation|),\nno ulp finer than at 1 % of its RMS");
}

/// Button that checks this machine's GPU.
void draw_gpu_button(const Session& session, const PanelInput& input, float width, Requests& requests) {
  const auto gpu = std::ranges::find_if(input.choices.devices, [](const DeviceEntry& d) { return d.spec.starts_with("cuda"); });
  const std::string why = gpu == input.choices.devices.end() ? "There is no GPU here." : gpu->reason;
  if (push_button("check GPU###check gpu", false, {width, px(21)}, why.empty() && !input.answering.gpu_check))
    requests.side.gpu_check = session.device;
  explain(
      why.empty()
          ? "Does the GPU add as is written? Computes some experiments on it and on the CPU, and 100,000 sums of products of "
            "every format on its tensor cores; compares these with the recorded rules of all GPUs."
          : why,
      "attoscope check-gpu --json FILE");
}

/// Result of the check of this machine's GPU.
void draw_gpu_check(const PanelInput& input, float width) {
  const GpuCheck* const known = input.side.gpu_check.get();
  if (known == nullptr && !input.answering.gpu_check) return;
  const std::string text = input.answering.gpu_check ? "computing on the GPU and on the CPU ..." : gpu_check_sentence(*known);
  std::string lines = known != nullptr ? digests_line(known->digests) : "";
  if (known != nullptr)
    for (const ProductsCheck& kind : known->kinds) lines += "\n" + products_line(kind);
  paragraph(Face::small,
            known == nullptr      ? colours().secondary
            : known->as_written() ? colours().good
                                  : colours().bad,
            text, width);
  explain(text, lines);
}

void draw_checked_runs(const Session& session, const PanelInput& input, Requests& requests) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float title = px(28), width = ImGui::GetContentRegionAvail().x, button = px(58), gpu_button = px(82),
              words = width - button - gpu_button - 2 * px(8);
  const SameBits* bits = known_bits(input, session.experiment);
  ImGui::Dummy({words, title});
  explain(
      "The same experiment on three instruction sets, with 1, 2 and all threads, with other block_q, and on every GPU. Every "
      "sum has a defined order, so no bit may change. Then a against b: how many numbers differ, and from which tile on.",
      "digest = hash of the bit patterns, row-major");
  draw_fitted({at.x, at.y + px(8)}, Face::label, colours().text, "Bits of all runs; a against b", words);
  ImGui::SetCursorScreenPos({at.x + width - button - px(8) - gpu_button, at.y + px(5)});
  draw_gpu_button(session, input, gpu_button, requests);
  ImGui::SetCursorScreenPos({at.x + width - button, at.y + px(5)});
  if (push_button("check###check bits", false, {button, px(21)}, !input.answering.same_bits && !input.answer.computing))
    requests.side.same_bits = session.experiment;
  explain("Computes the experiment in every way that this machine offers; takes about fifteen times as long as one run.");
  ImGui::SetCursorScreenPos({at.x, at.y + title});
  draw_hardware(input, width);
  draw_gpu_check(input, width);
  if (bits != nullptr) {
    draw_methods(*bits, width);
    ImGui::Dummy({0, px(4)});
    return draw_runs(*bits);
  }
  label(Face::label, colours().secondary,
        input.answering.same_bits ? "computing it in every way ..." : "Not checked for this experiment yet.");
}

/// The runs that the panel shows: without a backward pass no orders.
BitsShow shown_bits(const Session& s) {
  return s.view.bits_show == BitsShow::orders && !s.experiment.backward.on ? BitsShow::runs : s.view.bits_show;
}

/// Switch between runs, schedules and, with a backward pass, orders; leaves room for the save button.
void show_switch(Session& session) {
  static constexpr EnumArray<BitsShow, Choice> shows{{
      {"runs", "Instruction sets, threads, block_q and devices, which must not change a bit; and a against b."},
      {"schedules",
       "a with other splits, tiles of keys and order of keys, which serving engines choose by the size of the batch: does the "
       "traced row keep its bits?"},
      {"order of dQ",
       "dQ of a with its key tiles added in other orders, as atomic additions and deterministic schedules add them: do its "
       "bits move?"},
  }};
  BitsShow shown = shown_bits(session);
  const std::span<const Choice> offered = std::span(shows).first(session.experiment.backward.on ? 3 : 2);
  if (segmented("bits show", offered, shown, ImGui::GetContentRegionAvail().x - px(48))) session.view.bits_show = shown;
}

/// The tooltip of a row.
std::string numbers_text(const Invariance& answer, const ScheduleRun& run) {
  const std::string parts = parting_text(run);
  return fmt::format(
      "row {}: {} of {} numbers of O differ{}\nall rows: {} of {}, at most {} ulp of {}\nmax |O - golden| {}\n{}", answer.row,
      run.differing_in_row, answer.columns, parts.empty() ? "" : ",\n  " + parts, run.differing,
      static_cast<std::int64_t>(answer.rows) * answer.columns, compact(run.max_ulp), name(answer.experiment.format),
      scientific(run.max_error), hex16(run.digest));
}

void draw_answer(Session& session, const Invariance& answer) {
  const std::string sentence = invariance_sentence(answer);
  label(Face::small, colours().text, fitted(Face::small, sentence, ImGui::GetContentRegionAvail().x));
  explain(sentence);
  const Method a = session.experiment.a;
  const auto method = [&](std::size_t i) { return with_schedule(a, answer.runs[i].schedule); };
  const auto row = [&](std::size_t i) {
    const ScheduleRun& run = answer.runs[i];
    const bool is_b = session.experiment.b == method(i);
    const std::string which = schedule_text(run.schedule) + (i == 0 ? ": a itself, with which the others are compared." : "."),
                      click = is_b ? " It is b."
                                   : " A click makes it b, so that a against b shows what differs; Ctrl+Z comes back.";
    return TableRow{.id = "schedule " + std::to_string(i),
                    .meaning = which + click,
                    .formula = numbers_text(answer, run),
                    .chosen = is_b,
                    .mark = run.same_bits() ? colours().good : colours().bad};
  };
  if (const auto clicked = draw_table("schedules", invariance_table(answer), {.row = row}))
    session.experiment.b = method(*clicked);
}

void draw_schedules(Session& session, const PanelInput& input, Requests& requests) {
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::Dummy({0, px(4)});
  if (const std::string why = why_no_schedules(session.experiment.a); !why.empty())
    return wrapped(Face::label, "There are no schedules: " + why + ".", width);
  const Experiment asked = invariance_question(session.experiment);
  if (const Invariance* const known = input.side.invariance.get(); known != nullptr && known->experiment == asked)
    return draw_answer(session, *known);
  label(Face::label, colours().secondary, "computing a under every schedule ...");
  if (!input.answer.computing && !ImGui::IsAnyMouseDown()) requests.side.invariance = asked;
}

/// Draws the runs of dQ; requests missing ones. A click on a line makes its order a's.
void draw_orders(Session& session, const PanelInput& input, Requests& requests) {
  ImGui::Dummy({0, px(4)});
  if (!is_emulated(session.experiment.a.algorithm))
    return wrapped(Face::label, method_names(session.experiment).a + " has no backward pass whose order could be chosen.",
                   ImGui::GetContentRegionAvail().x);
  if (const OrderSpread* const known = input.side.order_spread.get();
      known != nullptr && answers(known->experiment, spread_question(session.experiment)))
    return draw_spread(session, *known);
  label(Face::label, colours().secondary, "computing dQ in every order ...");
  if (!input.answer.computing && !ImGui::IsAnyMouseDown()) requests.side.order_spread = spread_question(session.experiment);
}

}  // namespace

GradMethod with_order(GradMethod m, const TileSchedule& s) {
  m.order = s.order;
  if (s.order == GradOrder::shuffled) m.order_seed = s.seed;
  if (s.order == GradOrder::buffers) m.buffers = s.buffers;
  return m;
}

std::vector<std::string> apart_lines(const MethodsApart& apart, const Experiment& e) {
  const MethodNames names = method_names(e);
  if (apart.differing == 0)
    return {fmt::format("{} and {}: the same bits in all {} numbers of O", names.a, names.b, apart.numbers)};
  const double share = static_cast<double>(apart.differing) / static_cast<double>(apart.numbers);
  std::vector<std::string> lines{fmt::format("{} and {} differ in {} of {} numbers of O, {:.2g} %", names.a, names.b,
                                             apart.differing, apart.numbers, 100 * share),
                                 fmt::format("by at most {} ulp of {}, first in row {}, dim {}", compact(apart.max_ulp),
                                             name(e.format), apart.row, apart.column)};
  if (const auto& p = apart.parting)
    lines.push_back(fmt::format("row {} parts in tile {}, keys {} .. {}: first in {}", apart.row, p->tile, p->first_key,
                                p->first_key + p->keys - 1, p->quantity));
  return lines;
}

void draw_bits_badge(View& view, const PanelInput& input, const Experiment& asked, ImVec2 at, float room) {
  const Badge shown = badge(input, asked);
  const std::string words = text_width(Face::small, shown.text) <= room - px(14) ? shown.text : "bits";
  const ImVec2 back = ImGui::GetCursorScreenPos();
  const float height = px(16);
  ImGui::SetCursorScreenPos(at);
  if (ImGui::InvisibleButton("same bits", {px(14) + text_width(Face::small, words), height}, ImGuiButtonFlags_EnableNav))
    view.detail = Detail::same_bits;
  const bool hot = ImGui::IsItemHovered();
  explain(shown.what + " Click: the runs.",
          "same digest of golden, a and b for every\ninstruction set, thread count, block_q, device");
  ImGui::GetWindowDrawList()->AddCircleFilled({at.x + px(4), at.y + height / 2}, px(3.5f), shown.colour);
  draw_text({at.x + px(13), at.y + px(1)}, Face::small,
            hot                             ? colours().text
            : shown.colour == colours().bad ? colours().bad
                                            : colours().secondary,
            words);
  ImGui::SetCursorScreenPos(back);
}

void draw_same_bits(Session& session, const PanelInput& input, Requests& requests) {
  ImGui::Dummy({0, px(4)});
  show_switch(session);
  switch (shown_bits(session)) {
    case BitsShow::runs:
      return draw_checked_runs(session, input, requests);
    case BitsShow::schedules:
      return draw_schedules(session, input, requests);
    case BitsShow::orders:
      return draw_orders(session, input, requests);
  }
}

}  // namespace attoscope::ui
