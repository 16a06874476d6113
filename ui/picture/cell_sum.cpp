#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "kernels/experiment/result.h"
#include "kernels/questions/product_sum.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/sum_rows.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// Draws a sentence, wrapped at the window's width.
void say(Colour colour, const std::string& text) { wrapped(Face::label, colour, text, ImGui::GetContentRegionAvail().x); }

/// Controls for method and product. Replaces a method with an unknown order of sums by the other one.
void choose(CellSumState& s, const Experiment& e) {
  const MethodNames names = method_names(e);
  const float half = (ImGui::GetContentRegionAvail().x - px(16)) / 2;
  const bool a_tells = is_emulated(e.a.algorithm), b_tells = is_emulated(e.b.algorithm);
  constexpr std::string_view untold = "The order in which this output was added up is not known.";
  const std::array<Choice, 2> methods{
      {{names.a, a_tells ? "The sum as a adds it up." : untold}, {names.b, b_tells ? "The sum as b adds it up." : untold}}};
  if (segmented("sum of", methods, s.of_b, half)) s.block = -1;
  if (a_tells != b_tells) s.of_b = b_tells;
  ImGui::SameLine(0, px(16));
  constexpr std::array<Choice, 2> products{
      {{"P·V", "P times the column of V, over the keys of the last tile in which the row sees one."},
       {"q·k", "The row's query times the last key that it sees."}}};
  int product = s.product == AttentionProduct::pv ? 0 : 1;
  if (segmented("product", products, product, half)) s.block = -1;
  s.product = product == 0 ? AttentionProduct::pv : AttentionProduct::qk;
}

/// Terms of the sum, and the start value of its first block.
std::string subject(const ProductSum& s) {
  const ProductSumQuestion& q = s.question;
  if (q.product == AttentionProduct::qk)
    return fmt::format("q of row {} times k of key {}, the last one that it sees.", q.row, s.key);
  const std::string tile =
      fmt::format("P of row {} times column {} of V, in tile {}, the last in which it sees a key", q.row, q.column, s.tile);
  if (s.start == 0) return tile + ". The sum starts at 0.";
  return fmt::format("{}. The sum starts at {}, which includes {}.", tile, s.start,
                     counted(s.tiles_in_sum - 1, "earlier tile"));
}

Algorithm algorithm_of(const ProductSum& s) {
  const Experiment& e = s.question.experiment;
  return (s.question.of_b ? e.b : e.a).algorithm;
}

/// Sentence about the last block's result and its use.
std::string outcome(const ProductSum& s) {
  const std::string last = s.rule ? "The last block" : "The last step";
  const std::string off = s.exact == s.result
                              ? std::string("exact")
                              : fmt::format("off by {} in all", compact(static_cast<double>(s.result) - s.exact));
  if (s.question.product == AttentionProduct::qk)
    return fmt::format("{} gives q·k = {}, {}; the score of this key is {}.", last, s.result, off, s.S);
  if (s.continues_O) return fmt::format("{} gives {}, {}: O after this tile, bit for bit.", last, s.result, off);
  if (algorithm_of(s) == Algorithm::flash1)
    return fmt::format("{} gives {}, {}: P·V of this tile. O, which is divided by l at every tile, is {} after it.", last,
                       s.result, off, s.O_after);
  return fmt::format("{} gives {}, {}; added to O = {} it is O = {} after this tile.", last, s.result, off, s.O_before,
                     s.O_after);
}

/// Steps of a chain on a page.
constexpr int page_of_steps = 16;

/// Number of kept blocks, or of pages of kept steps.
int pages(const ProductSum& s) {
  return s.rule ? static_cast<int>(s.blocks.size())
                : (static_cast<int>(s.chain.parts.size()) + page_of_steps - 1) / page_of_steps;
}

/// Index of the block or page on show.
int shown_block(const CellSumState& state, const ProductSum& s) {
  const int last = pages(s) - 1;
  return state.block < 0 ? last : std::min(state.block, last);
}

void choose_block(CellSumState& state, const ProductSum& s, const std::string& place) {
  const int last = pages(s) - 1, shown = shown_block(state, s);
  const auto button = [&](const char* text, int to, const char* what) {
    if (push_button(text, false, {px(104), 0}, to >= 0 && to <= last)) state.block = to == last ? -1 : to;
    explain(what);
  };
  button(s.rule ? "block before###block before" : "steps before###block before", shown - 1,
         s.rule ? "The block whose result is c here." : "The steps that come before these.");
  ImGui::SameLine(0, px(8));
  button(s.rule ? "next block###next block" : "next steps###next block", shown + 1,
         s.rule ? "The block that starts from this one's result." : "The steps that come after these.");
  ImGui::SameLine(0, px(12));
  label(Face::label, colours().secondary, place);
}

std::string block_sentence(const TensorCoreBlock& block, const SumTable& table) {
  if (block.count == 0) return fmt::format("Every product is 0: the sum stays {}.", block.result);
  if (!std::isfinite(block.result)) return fmt::format("The result is {}.", block.result);
  const std::string cut = table.lost == 0
                              ? std::string("Nothing is cut off")
                              : fmt::format("Bits below 2^{} are cut off, {} in all", block.unit, compact(table.lost));
  return fmt::format("{}; the result, c of the next block, is {}.", cut, block.result);
}

/// Sentence of a block's first half.
std::string half_sentence(const TensorCoreBlock& block) {
  return fmt::format(
      "The first half of a block, products 0 and 1 of every four, starts from 0. The second half starts from its result, {}.",
      block.result);
}

void draw_block(CellSumState& state, const ProductSum& s) {
  const auto i = static_cast<std::size_t>(shown_block(state, s));
  const TensorCoreBlock& block = s.blocks[i];
  const bool pv = s.question.product == AttentionProduct::pv;
  const float width = ImGui::GetContentRegionAvail().x;
  const SumTable table =
      sum_table(*s.rule, block, {.a = pv ? "V" : "k", .b = pv ? "P" : "q", .first = s.first_places[i], .step = s.step},
                sum_columns(width));
  choose_block(state, s, fmt::format("block {} of {}", s.earlier_blocks + i + 1, s.earlier_blocks + pages(s)));
  const bool first_half = s.rule->carry == CarryPlace::after_the_halves && !block.added;
  say(colours().text, first_half ? half_sentence(block) : block_sentence(block, table));
  draw_sum_table(block, table, width);
}

/// Draws a page of the chain: the steps that lose bits, and runs of steps that lose none.
void draw_chain(CellSumState& state, const ProductSum& s) {
  const bool pv = s.question.product == AttentionProduct::pv;
  const std::span<const ChainPart> all(s.chain.parts);
  const auto from = static_cast<std::size_t>(shown_block(state, s) * page_of_steps);
  const std::span<const ChainPart> shown = all.subspan(from, std::min<std::size_t>(page_of_steps, all.size() - from));
  const float width = ImGui::GetContentRegionAvail().x;
  const SumTable table =
      chain_table(shown, s.chain.format, {.a = pv ? "V" : "k", .b = pv ? "P" : "q", .first = s.first_places[0], .step = s.step},
                  chain_columns(width));
  choose_block(
      state, s,
      fmt::format("steps {} .. {} of {}", shown.front().first + 1, shown.back().first + shown.back().steps, s.chain.steps));
  const std::string steps = counted(s.chain.steps, "step");
  say(colours().text, s.chain.losing == 0 ? fmt::format("No bit is lost in {}.", steps)
                                          : fmt::format("Bits are lost in {} of {}.", s.chain.losing, steps));
  draw_chain_table(table, width);
}

void draw_known(CellSumState& state, const ProductSum& s) {
  if (!s.why_none.empty()) return say(colours().secondary, s.why_none);
  say(colours().secondary, subject(s));
  if (pages(s) == 0) return;
  s.rule ? draw_block(state, s) : draw_chain(state, s);
  say(colours().secondary, outcome(s));
  say(colours().faint, (s.rule ? rule_text(*s.rule)
                               : fmt::format("one fma after the other in fp32, each sum {}",
                                             s.chain.format == fp32 ? "kept in fp32" : "rounded to " + name(s.chain.format))) +
                           ".");
}

void draw_inside(Session& session, const PanelInput& input, CellSumState& state, Requests& requests) {
  choose(state, session.experiment);
  const View& view = session.view;
  const ProductSumQuestion question{session.experiment, state.of_b, state.product, view.cell_row, view.cell_col};
  const ProductSum* known = input.side.sum.get();
  const bool answered = known != nullptr && known->question == question;
  const bool is_complete = input.answer.result && input.answer.result->experiment == session.experiment;
  if (!answered && is_complete) requests.side.sum = question;
  if (known != nullptr && known->question.product == state.product && known->question.of_b == state.of_b)
    draw_known(state, *known);
  else
    say(colours().secondary, "Adding it up ...");
}

}  // namespace

bool has_cell_sum(const View& view) { return view.picture == PictureKind::output && view.cell_row >= 0 && view.cell_col >= 0; }

void draw_cell_sum(const Frame& frame) {
  View& view = frame.session.view;
  const Problem& p = frame.session.experiment.problem;
  if (!view.show_sum || !has_cell_sum(view) || !frame.state.heat.is_output() || view.cell_row >= p.n ||
      view.cell_col >= value_columns(p))
    return;
  const ImGuiViewport* screen = ImGui::GetMainViewport();
  const float width = std::min(px(760), screen->Size.x - px(40));
  ImGui::SetNextWindowPos({std::floor((screen->Size.x - width) / 2), px(84)}, ImGuiCond_Appearing);
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, screen->Size.y - px(120)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {px(14), px(10)});
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(8), px(8)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colours().panel);
  const std::string title = fmt::format("The sum behind row {}, dim {}###The sum", view.cell_row, view.cell_col);
  const ImGuiWindowFlags flags = ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoSavedSettings |
                                 ImGuiWindowFlags_AlwaysAutoResize;
  if (ImGui::Begin(title.c_str(), &view.show_sum, flags))
    draw_inside(frame.session, frame.input, frame.state.sum, frame.requests);
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(3);
}

}  // namespace attoscope::ui
