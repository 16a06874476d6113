// All heads of a file: a grid and a table of measures; small pictures, worst first; a table of KV cache formats; or the
// verdicts on a loaded output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "kernels/experiment/rules.h"
#include "kernels/questions/kv_cache.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr float card_width = 176, card_height = 138, small_width = 64, small_height = 96;

/// Reason why no heads can be shown; empty: they can.
std::string why_no_heads(const Session& session, const PanelInput& input) {
  const Input& asked = session.experiment.problem.input;
  if (asked.kind != InputKind::tensors) return "Drawn inputs have one head: open or drop a file with many.";
  if (input.choices.tensors.file != asked.file) return "looking into the file";
  return "";
}

bool is_worse(const HeadRow& x, const HeadRow& y, std::size_t by) { return is_worse(x, y, head_measures[by]); }

/// Updates the heads on show and their order. True if something changed.
template <class Row>
bool refresh(ShownHeads<Row>& m, const std::shared_ptr<const std::vector<Row>>& rows, int layer) {
  if (m.found == rows && m.sorted_by == m.sort && m.of_layer == layer) return false;
  m.found = rows;
  m.sorted_by = m.sort;
  m.of_layer = layer;
  m.shown.clear();
  if (!rows) return true;
  for (const Row& row : *rows)
    if (layer < 0 || row.layer == layer) m.shown.push_back(&row);
  std::ranges::sort(m.shown, [&](const Row* x, const Row* y) { return is_worse(*x, *y, m.sort); });
  return true;
}

/// The largest finite error of a picture.
float largest_error(const HeadRow& row) {
  float largest = 0;
  for (const float x : row.picture)
    if (std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

/// 1 over the RMS of a head's exact output; 0: not known.
float relative_factor(const HeadRow& row) {
  const double factor = row.a_rel / row.a_rms;
  return std::isfinite(factor) ? static_cast<float>(factor) : 0;
}

/// Updates the ranges of all pictures, and the heads that stand apart.
void measure_outputs(HeadsState& m) {
  m.largest = m.largest_relative = 0;
  m.outliers.clear();
  if (!m.outputs.found) return;
  for (const HeadRow& row : *m.outputs.found) {
    const float largest = largest_error(row);
    m.largest = std::max(m.largest, largest);
    m.largest_relative = std::max(m.largest_relative, largest * relative_factor(row));
  }
  m.outliers = head_outliers(*m.outputs.found);
}

/// Factor for a picture's errors: the end of its colours is 1.
float picture_factor(const HeadRow& row, const HeadsState& m, HeadsRange range) {
  const float own = range == HeadsRange::relative ? relative_factor(row) : 1;
  const float most = range == HeadsRange::relative ? m.largest_relative
                     : range == HeadsRange::shared ? m.largest
                                                   : largest_error(row);
  return most > 0 ? own / most : 0;
}

void show_switch(Session& session, const PanelInput& input) {
  static constexpr EnumArray<HeadsShow, Choice> shows{
      {{"grid", "Layers by heads in the colours of a number, the table of all numbers, and the heads that stand apart."},
       {"pictures", "The errors of a in every head as small pictures with numbers, the worst first."},
       {"KV cache",
        "The error of every head with its K and V stored in fewer bits and all else in bf16: which heads must not be "
        "quantised. The table of attoscope kv."},
       {"verdict",
        "Your kernel's output by layers and heads, rounded or wrong: the largest error of each head over its tolerance."}}};
  const bool judges = has_several_outputs(session.experiment, input.choices);
  HeadsShow shown = shown_heads(session, input);
  const float width = std::min(px(judges ? 256 : 192), ImGui::GetContentRegionAvail().x);
  if (segmented("heads show", std::span(shows).first(judges ? 4 : 3), shown, width)) session.view.heads_show = shown;
}

/// Stays on the line of the previous item if there is room for `width`.
void beside_if_fits(float width) {
  ImGui::SameLine();
  if (width > ImGui::GetContentRegionAvail().x) ImGui::NewLine();
}

void sort_combo(std::size_t& sort, int heads, const MethodNames& names) {
  const std::size_t shown = shown_measure(sort, heads);
  beside_if_fits(px(140));
  const WithField f(Face::label);
  if (begin_combo("##heads sort", title_of(head_measures[shown], names), px(140))) {
    for (std::size_t i = 0; i < head_measures.size(); ++i) {
      const HeadMeasure& measure = head_measures[i];
      if (ImGui::Selectable((title_of(measure, names) + "###" + std::string(measure.key)).c_str(), i == shown)) sort = i;
      explain(named_text(measure, measure.what, names));
    }
    ImGui::EndCombo();
  } else {
    explain(
        "The number that orders and colours the heads, the largest first; those with NaN or infinite elements before all "
        "others. unusual: the heads that stand apart from the others by any number.");
  }
}

void layer_combo(HeadsState& m, const TensorFileInfo& info) {
  if (m.layer >= static_cast<int>(info.layers.size())) m.layer = -1;
  if (info.layers.size() < 2) return;
  beside_if_fits(px(116));
  const WithField f(Face::label);
  const bool are_sequences = info.layers.front().sequence >= 0;
  const std::string all = are_sequences ? "all sequences" : "all layers";
  const std::string now = m.layer < 0 ? all : info.layers[static_cast<std::size_t>(m.layer)].name;
  if (begin_combo("##heads layer", fitted(Face::label, now, px(80)), px(116))) {
    if (ImGui::Selectable((all + "###all").c_str(), m.layer < 0)) m.layer = -1;
    for (int i = 0; i < static_cast<int>(info.layers.size()); ++i)
      if (ImGui::Selectable((info.layers[static_cast<std::size_t>(i)].name + "###layer " + std::to_string(i)).c_str(),
                            i == m.layer))
        m.layer = i;
    ImGui::EndCombo();
  } else {
    explain(are_sequences ? "Only the heads of this sequence of the packed or paged call." : "Only the heads of this layer.");
  }
}

/// Range of the colours of the small pictures.
void range_combo(HeadsRange& range) {
  static constexpr EnumArray<HeadsRange, Choice> ranges{
      {{"relative range",
        "Errors over the RMS of the head's own exact output: heads are comparable, whatever the size of their V."},
       {"own ranges", "Each picture has its own range: shapes show, sizes do not."},
       {"one range", "Errors as they are, one range for all: a head with a large V makes the others dark."}}};
  beside_if_fits(px(116));
  choice_combo("##heads range", ranges, heads_range_names, 116, range);
}

/// Number of finished heads of the file, and a button that stops or resumes the search.
template <class Row>
void progress(HeadsState& m, const std::string& file, const FoundHeads<Row>& heads, Requests& requests) {
  const bool stopped = m.stopped == file;
  const std::size_t found = heads.rows ? heads.rows->size() : 0;
  const bool all = heads.all > 0 && found >= static_cast<std::size_t>(heads.all);
  const std::string text = all             ? counted(heads.all, "head")
                           : heads.all > 0 ? fmt::format("{} of {}", found, counted(heads.all, "head")) +
                                                 (stopped ? "" : time_left(heads.seconds_left))
                           : stopped       ? "stopped"
                                           : "looking at the heads";
  beside_if_fits(text_width(Face::small, text) + (all ? 0 : px(64)));
  ImGui::AlignTextToFramePadding();
  label(Face::small, colours().secondary, text);
  if (all) return;
  ImGui::SameLine();
  if (push_button(stopped ? "go on###heads stop" : "stop###heads stop", false, {px(56), 0})) {
    m.stopped = stopped ? "" : file;
    requests.side.stop_heads = !stopped;
  }
  explain(stopped ? "Computes the heads that are missing." : "Stops; the heads that were found stay.");
}

/// Colours of the small pictures, whose ranges end at 1.
Colouring card_colouring(Theme theme) {
  return {.diverging = false, .log = true, .range = 1, .knee = 1.0f / 300, .theme = theme};
}

/// Draws the colours of the small pictures between the ends of their range.
void draw_card_colours(const HeadsState& m, const View& view) {
  static constexpr EnumArray<HeadsRange, const char*> units{"|error| / RMS of the head's exact output",
                                                            "|error| / the largest of the head", "|error|"};
  if (m.outputs.shown.empty()) return;
  const bool own = view.heads_range == HeadsRange::own;
  const std::string end =
      own ? "largest" : scientific(view.heads_range == HeadsRange::relative ? m.largest_relative : m.largest, 2);
  const float zero = text_width(Face::mono_small, "0") + px(6), bar = px(96), height = px(control_height), thick = px(10),
              width = zero + bar + px(6) + text_width(Face::mono_small, end);
  beside_if_fits(width);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({width, height});
  explain("The colours of the pictures, logarithmic.", units[view.heads_range]);
  draw_in_line(at, height, Face::mono_small, colours().secondary, "0");
  const Colouring how = card_colouring(view.theme);
  draw_shades({at.x + zero, at.y + (height - thick) / 2}, {bar, thick},
              [&](double share) { return colour(bar_value(static_cast<float>(share), how), how); });
  draw_in_line({at.x + width, at.y}, height, Face::mono_small, colours().secondary, end, 1);
}

/// The deviation of a as a small picture; adjacent pixels of one colour are one rectangle.
void draw_small(const HeadRow& row, ImVec2 at, const ColourTable& table, const Mapping& how, float factor) {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float wide = px(small_width) / HeadRow::across, high = px(small_height) / HeadRow::down;
  for (int y = 0; y < HeadRow::down; ++y) {
    const float* const line = row.picture.data() + static_cast<std::ptrdiff_t>(y) * HeadRow::across;
    for (int x = 0, end = 0; x < HeadRow::across; x = end) {
      const int entry = colour_entry(line[x] * factor, how);
      for (end = x + 1; end < HeadRow::across && colour_entry(line[end] * factor, how) == entry;) ++end;
      list->AddRectFilled({at.x + static_cast<float>(x) * wide, at.y + static_cast<float>(y) * high},
                          {at.x + static_cast<float>(end) * wide, at.y + static_cast<float>(y + 1) * high},
                          table[static_cast<std::size_t>(entry)]);
    }
  }
}

void draw_numbers(const HeadRow& row, ImVec2 at) {
  const float step = line_height(Face::mono_small) + px(3);
  const auto line = [&](Colour colour, const std::string& text, Face face = Face::mono_small) {
    draw_text(at, face, colour, text);
    at.y += step;
  };
  line(colours().a, "a " + scientific(row.a_rel, 2));
  line(colours().b, "b " + scientific(row.b_rel, 2));
  line(colours().text, fmt::format("{:.3g}×", row.ratio));
  line(colours().secondary, fmt::format("{:.2g} rescales", row.rescales), Face::small);
  line(colours().secondary, fmt::format("score {:.3g}", row.largest_score), Face::small);
  if (row.nonfinite > 0) line(colours().bad, fmt::format("{:.0f} NaN, inf", row.nonfinite));
}

/// Common parameters of the cards.
struct Cards {
  const TensorFileInfo& info;
  const ColourTable& table;
  const Mapping& how;
  const HeadsState& heads;
  HeadsRange range;
  int open = 0;  ///< head of the session's question
};

/// True if the card was clicked.
bool draw_card(const HeadRow& row, const Cards& cards) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{px(card_width), px(card_height)};
  const bool clicked = ImGui::InvisibleButton(("##head " + std::to_string(row.head)).c_str(), size, ImGuiButtonFlags_EnableNav);
  const std::string name = head_name(cards.info, row.head);
  const bool hovered = ImGui::IsItemHovered();
  explain(name + ": a click opens it, Ctrl+Z comes back.", all_numbers(row, cards.heads.names));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, colours().raised, px(4));
  if (hovered || row.head == cards.open)
    list->AddRect(at, {at.x + size.x, at.y + size.y}, hovered ? colours().text : colours().accent, px(4));
  draw_fitted({at.x + px(8), at.y + px(6)}, Face::small, colours().text, name, size.x - px(16));
  const ImVec2 picture{at.x + px(8), at.y + px(30)};
  draw_small(row, picture, cards.table, cards.how, picture_factor(row, cards.heads, cards.range));
  draw_numbers(row, {picture.x + px(small_width + 10), picture.y});
  return clicked;
}

/// Opens a head; -1: none.
void open_head(Session& session, const TensorFileInfo& info, int head) {
  if (layer_of(info, head) == nullptr) return;
  Problem& p = session.experiment.problem;
  const AttentionShape before = shape_of(p);
  p = on_head(p, info, head);
  session.view.picture = PictureKind::output;
  if (shape_of(p) != before) look_at_all(session.view);
}

void draw_cards(Session& session, const PanelInput& input, const HeadsState& m) {
  const ColourTable table = colour_table(false, session.view.theme);
  const Mapping how = mapping(card_colouring(session.view.theme));
  const Cards cards{input.choices.tensors, table, how, m, session.view.heads_range, session.experiment.problem.input.index};
  const float gap = px(8), room = ImGui::GetContentRegionAvail().x;
  const int across = std::max(1, static_cast<int>((room + gap) / (px(card_width) + gap)));
  const std::vector<const HeadRow*>& shown = m.outputs.shown;
  const int count = static_cast<int>(shown.size());
  int clicked = -1;
  const WithSpacing spacing({gap, gap});
  ImGuiListClipper clipper;
  clipper.Begin((count + across - 1) / across, px(card_height) + gap);
  while (clipper.Step())
    for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line)
      for (int i = line * across; i < std::min(count, (line + 1) * across); ++i) {
        if (i > line * across) ImGui::SameLine();
        const HeadRow& row = *shown[static_cast<std::size_t>(i)];
        if (draw_card(row, cards)) clicked = row.head;
      }
  open_head(session, cards.info, clicked);
}

/// Draws a line for each of the most unusual heads; a click opens the head.
void draw_outliers(Session& session, const TensorFileInfo& info, const HeadsState& m, bool all) {
  constexpr std::size_t most = 3;
  const float width = ImGui::GetContentRegionAvail().x;
  const WithFace f(Face::label);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, px(2)});
  if (m.outliers.empty() && all && m.outputs.shown.size() > 1)
    label(Face::small, colours().secondary,
          fitted(Face::small, "No head stands apart: no number is 3 times the largest of the other heads'.", width));
  for (std::size_t i = 0; i < std::min(most, m.outliers.size()); ++i) {
    const HeadOutlier& found = m.outliers[i];
    const std::size_t more = i + 1 == most ? m.outliers.size() - most : 0;
    const std::string words =
        outlier_words(found, head_name(info, found.head), m.names) + (more > 0 ? fmt::format("; {} more", more) : "");
    ImGui::PushStyleColor(ImGuiCol_Text, colours().bad);
    const bool clicked =
        ImGui::Selectable((fitted(Face::label, words, width) + "###apart " + std::to_string(found.head)).c_str(), false);
    ImGui::PopStyleColor();
    explain(words + ". A click opens it, Ctrl+Z comes back.");
    if (clicked) open_head(session, info, found.head);
  }
  ImGui::PopStyleVar();
  ImGui::Dummy({0, px(4)});
}

/// Draws the heads under a and b: the grid and its table, or small pictures.
void draw_outputs(Session& session, const PanelInput& input, HeadsState& m, bool grid, Requests& requests) {
  const HeadsView heads = found_of(input.side.heads, session.experiment);
  const TensorFileInfo& info = input.choices.tensors;
  const bool is_new = refresh(m.outputs, heads.rows, grid ? -1 : m.layer);
  if (is_new) measure_outputs(m);
  const MethodNames before = std::exchange(m.names, method_names(session.experiment));
  if (is_new || m.names != before) m.outputs.table = shown_heads_table(m, info);
  sort_combo(m.outputs.sort, info.heads, m.names);
  if (!grid) layer_combo(m, info);
  if (!grid) range_combo(session.view.heads_range);
  progress(m, session.experiment.problem.input.file, heads, requests);
  if (!grid) draw_card_colours(m, session.view);
  draw_outliers(session, info, m, heads.all > 0 && heads.rows && static_cast<int>(heads.rows->size()) == heads.all);
  if (grid) return open_head(session, info, draw_measure_grid(m, info, session.experiment.problem.input.index));
  if (ImGui::BeginChild("heads", {0, 0}, ImGuiChildFlags_NavFlattened)) draw_cards(session, input, m);
  ImGui::EndChild();
}

/// Share of a table cell that an error's bar fills.
float share_of(const PositiveRange& all, double error) {
  if (std::isnan(error) || std::isinf(error)) return 1;
  if (!(error > 0)) return 0;
  const double low = all.least / 2, range = std::log(all.most / low);
  return static_cast<float>(std::clamp(std::log(error / low) / range, 0.0, 1.0));
}

/// Draws the table; a click on a heading orders by it. Returns the head that was clicked; -1: none.
int draw_kv_table(const HeadsState& heads, int open) {
  const Table& table = heads.kv.table;
  PositiveRange all;
  if (heads.kv.found)
    for (const KvRow& row : *heads.kv.found) std::ranges::for_each(row.errors, [&](double x) { all.take(x); });
  const auto row = [&](std::size_t i) {
    const int head = heads.kv.shown[i]->head;
    return TableRow{
        .id = "kv head " + std::to_string(head),
        .meaning = head == open ? "Open now: a click shows it, Ctrl+Z comes back." : "A click opens it, Ctrl+Z comes back.",
        .formula = "RMS error over the RMS of the exact output\nbar: from the least to the largest of the table, logarithmic",
        .chosen = head == open};
  };
  const auto bar = [&](std::size_t i, std::size_t column) {
    const auto* const error = std::get_if<double>(&table.rows[i][column]);
    return error == nullptr ? -1.0f : share_of(all, *error);
  };
  const auto clicked = draw_table("kv", table, {.row = row, .bar = bar});
  return clicked ? heads.kv.shown[*clicked]->head : -1;
}

void draw_kv(Session& session, const PanelInput& input, HeadsState& m, Requests& requests) {
  const KvView heads = found_of(input.side.kv, kv_question(session.experiment));
  if (refresh(m.kv, heads.rows, m.layer)) m.kv.table = shown_kv_table(m, input.choices.tensors);
  layer_combo(m, input.choices.tensors);
  progress(m, session.experiment.problem.input.file, heads, requests);
  const int open = session.experiment.problem.input.index;
  open_head(session, input.choices.tensors, draw_kv_table(m, open));
}

void draw_verdicts(Session& session, const PanelInput& input, HeadsState& m, Requests& requests) {
  const HeadVerdicts found = shown_verdicts(session.experiment, input);
  const JudgedView judged = found_of(input.side.judged, verdict_question(session.experiment));
  beside_if_fits(text_width(Face::label, heads_words(found)));
  ImGui::AlignTextToFramePadding();
  label(Face::label, heads_tone(found), heads_words(found));
  if (!found.complete()) ImGui::SameLine();
  judging_button(found, session.experiment, m, px(56), requests);
  if (!found.complete() && !judging_stopped(m, session.experiment)) {
    ImGui::SameLine();
    label(Face::mono_small, colours().secondary, time_left(judged.seconds_left));
  }
  const Problem& p = session.experiment.problem;
  const TensorFileInfo& info = input.choices.tensors;
  open_head(session, info, draw_verdict_grid(judged, info, p.input.index));
}

}  // namespace

HeadsShow shown_heads(const Session& session, const PanelInput& input) {
  const bool none = session.view.heads_show == HeadsShow::verdict && !has_several_outputs(session.experiment, input.choices);
  return none ? HeadsShow::grid : session.view.heads_show;
}

void draw_heads(const Frame& frame, const Box& room) {
  HeadsState& m = frame.state.heads;
  const std::string why = why_no_heads(frame.session, frame.input);
  if (!why.empty()) return draw_instead(places(room.min, room.max, {.side = 0, .below = 0, .bars = 0}), why);
  const HeadsShow shown = shown_heads(frame.session, frame.input);
  const bool stopped = m.stopped == frame.session.experiment.problem.input.file;
  if (shown == HeadsShow::kv_cache && !stopped) frame.requests.side.kv = heads_of_file(kv_question(frame.session.experiment));
  const bool outputs = shown == HeadsShow::outputs || shown == HeadsShow::grid;
  if (outputs && !stopped) frame.requests.side.heads = heads_of_file(frame.session.experiment);
  show_switch(frame.session, frame.input);
  switch (shown) {
    case HeadsShow::grid:
    case HeadsShow::outputs:
      return draw_outputs(frame.session, frame.input, m, shown == HeadsShow::grid, frame.requests);
    case HeadsShow::kv_cache:
      return draw_kv(frame.session, frame.input, m, frame.requests);
    case HeadsShow::verdict:
      return draw_verdicts(frame.session, frame.input, m, frame.requests);
  }
}

Table shown_kv_table(const HeadsState& heads, const TensorFileInfo& info) {
  std::vector<KvRow> rows;
  for (const KvRow* const row : heads.kv.shown) rows.push_back(*row);
  std::vector<std::string> layers;
  for (const LayerEntry& layer : info.layers) layers.push_back(layer.name);
  return kv_table(rows, info.head_names, layers);
}

}  // namespace attoscope::ui
