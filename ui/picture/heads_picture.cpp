// All heads of a file: small pictures, worst first; a table of KV cache formats; or the verdicts on a loaded output.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/experiment/rules.h"
#include "kernels/questions/kv_cache.h"
#include "ui/frame/frame.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/picture_frame.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/progress.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

constexpr float card_width = 176, card_height = 138, small_width = 64, small_height = 96;

/// Reason why no heads can be shown; empty: they can.
std::string why_no_heads(const Session& session, const PanelInput& input) {
  const Input& asked = session.experiment.problem.input;
  if (asked.kind != InputKind::tensors) return "Inputs that are drawn have one head: open or drop a file with many.";
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

/// The largest finite error of all pictures.
float largest_error(const std::vector<HeadRow>& rows) {
  float largest = 0;
  for (const HeadRow& row : rows)
    for (const float x : row.picture)
      if (std::isfinite(x)) largest = std::max(largest, x);
  return largest;
}

/// View on show: verdicts only if several heads of an output can be judged.
HeadsShow shown_of(const Session& session, const PanelInput& input) {
  const bool none = session.view.heads_show == HeadsShow::verdict && !has_several_outputs(session.experiment, input.choices);
  return none ? HeadsShow::outputs : session.view.heads_show;
}

void show_switch(Session& session, const PanelInput& input) {
  static constexpr Choice shows[] = {
      {"outputs", "The errors of a and b in every head, under their methods as they are."},
      {"KV cache",
       "The error of every head where its K and V are kept in fewer bits and all else is in bf16: which heads must not be "
       "quantised. The table of attoscope kv."},
      {"verdict",
       "Your kernel's output by layers and heads, rounded or wrong: the largest error of each head over its tolerance."}};
  const bool judges = has_several_outputs(session.experiment, input.choices);
  int shown = static_cast<int>(shown_of(session, input));
  if (segmented("heads show", std::span(shows).first(judges ? 3 : 2), shown, px(judges ? 200 : 136)))
    session.view.heads_show = static_cast<HeadsShow>(shown);
}

void sort_combo(std::size_t& sort) {
  ImGui::SameLine();
  const WithField f(Face::label);
  if (begin_combo("##heads sort", std::string(head_measures[sort].title), px(116))) {
    for (std::size_t i = 0; i < head_measures.size(); ++i) {
      const HeadMeasure& measure = head_measures[i];
      if (ImGui::Selectable((std::string(measure.title) + "###" + std::string(measure.key)).c_str(), i == sort)) sort = i;
      explain(measure.what);
    }
    ImGui::EndCombo();
  } else {
    explain("The number that orders the heads, the largest first; those with NaN or infinite elements stand before all.");
  }
}

void layer_combo(HeadsState& m, const TensorFileInfo& info) {
  if (info.layers.size() < 2) return;
  if (m.layer >= static_cast<int>(info.layers.size())) m.layer = -1;
  ImGui::SameLine();
  const WithField f(Face::label);
  const bool are_sequences = info.layers.front().name.starts_with("sequence");
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

/// Number of finished heads, and a button that stops or resumes the search.
template <class Row>
void progress(HeadsState& m, const FoundHeads<Row>& heads, Requests& requests) {
  const std::size_t found = heads.rows ? heads.rows->size() : 0;
  const bool all = heads.all > 0 && found >= static_cast<std::size_t>(heads.all);
  const std::string text =
      all             ? fmt::format("{} heads", found)
      : heads.all > 0 ? fmt::format("{} of {} heads", found, heads.all) + (m.stopped ? "" : time_left(heads.seconds_left))
                      : "looking at the heads";
  ImGui::SameLine();
  if (text_width(Face::small, text) + (all ? 0 : px(64)) > ImGui::GetContentRegionAvail().x) ImGui::NewLine();
  ImGui::AlignTextToFramePadding();
  label(Face::small, colours().secondary, text);
  if (all) return;
  ImGui::SameLine();
  if (push_button(m.stopped ? "go on###heads stop" : "stop###heads stop", false, {px(56), 0})) {
    m.stopped = !m.stopped;
    requests.side.stop_heads = m.stopped;
  }
  explain(m.stopped ? "Computes the heads that are missing." : "Stops; the heads that were found stay.");
}

/// The deviation of a as a small picture; adjacent pixels of one colour are one rectangle.
void draw_small(const HeadRow& row, ImVec2 at, const ColourTable& table, const Mapping& how) {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float wide = px(small_width) / HeadRow::across, high = px(small_height) / HeadRow::down;
  for (int y = 0; y < HeadRow::down; ++y) {
    const float* const line = row.picture.data() + static_cast<std::ptrdiff_t>(y) * HeadRow::across;
    for (int x = 0, end = 0; x < HeadRow::across; x = end) {
      const int entry = colour_entry(line[x], how);
      for (end = x + 1; end < HeadRow::across && colour_entry(line[end], how) == entry;) ++end;
      list->AddRectFilled({at.x + static_cast<float>(x) * wide, at.y + static_cast<float>(y) * high},
                          {at.x + static_cast<float>(end) * wide, at.y + static_cast<float>(y + 1) * high},
                          table[static_cast<std::size_t>(entry)]);
    }
  }
}

void draw_numbers(const HeadRow& row, ImVec2 at) {
  const float step = line_height(Face::mono_small) + px(3);
  const auto line = [&](Colour colour, const std::string& text) {
    draw_text(at, Face::mono_small, colour, text);
    at.y += step;
  };
  line(colours().a, "a " + scientific(row.a_rel, 2));
  line(colours().b, "b " + scientific(row.b_rel, 2));
  line(colours().text, fmt::format("a/b {:.3g}", row.ratio));
  line(colours().secondary, fmt::format("{:.2g} resc.", row.rescales));
  line(colours().secondary, fmt::format("S {:.3g}", row.largest_score));
  if (row.nonfinite > 0) line(colours().bad, fmt::format("{:.0f} NaN", row.nonfinite));
}

std::string numbers_text(const HeadRow& row) {
  std::string text;
  for (const HeadMeasure& m : head_measures) text += fmt::format("{:<15} {:.4g}\n", m.title, row.*m.value);
  text.pop_back();
  return text;
}

/// Common parameters of the cards.
struct Cards {
  const TensorFileInfo& info;
  const ColourTable& table;
  const Mapping& how;
  int open = 0;  ///< head of the session's question
};

/// True if the card was clicked.
bool draw_card(const HeadRow& row, const Cards& cards) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{px(card_width), px(card_height)};
  const bool clicked = ImGui::InvisibleButton(("##head " + std::to_string(row.head)).c_str(), size);
  const auto place = static_cast<std::size_t>(row.head);
  const std::string name =
      place < cards.info.head_names.size() ? cards.info.head_names[place] : fmt::format("head {}", row.head);
  const bool hovered = ImGui::IsItemHovered();
  explain(name + ": a click opens it, Ctrl+Z comes back.", numbers_text(row));
  ImDrawList* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, colours().raised, px(4));
  if (hovered || row.head == cards.open)
    list->AddRect(at, {at.x + size.x, at.y + size.y}, hovered ? colours().text : colours().accent, px(4));
  draw_text({at.x + px(8), at.y + px(6)}, Face::small, colours().text, fitted(Face::small, name, size.x - px(16)));
  const ImVec2 picture{at.x + px(8), at.y + px(30)};
  draw_small(row, picture, cards.table, cards.how);
  draw_numbers(row, {picture.x + px(small_width + 10), picture.y});
  return clicked;
}

template <class Row>
void open_head(Session& session, const Row& row) {
  Problem& p = session.experiment.problem;
  const bool same_sizes = shape_of(p) == row.shape;
  p = with_shape(with_head(p, row.head), row.shape);
  session.view.picture = PictureKind::output;
  if (!same_sizes) look_at_all(session.view);
}

void draw_cards(Session& session, const PanelInput& input, const HeadsState& m) {
  const ColourTable table = colour_table(false, session.view.theme);
  const float range = m.largest > 0 ? m.largest : 1;
  const Mapping how =
      mapping({.diverging = false, .log = true, .range = range, .knee = range / 300, .theme = session.view.theme});
  const Cards cards{input.choices.tensors, table, how, session.experiment.problem.input.index};
  const float gap = px(8), room = ImGui::GetContentRegionAvail().x;
  const int across = std::max(1, static_cast<int>((room + gap) / (px(card_width) + gap)));
  const std::vector<const HeadRow*>& shown = m.outputs.shown;
  const int count = static_cast<int>(shown.size());
  const HeadRow* clicked = nullptr;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap, gap});
  ImGuiListClipper clipper;
  clipper.Begin((count + across - 1) / across, px(card_height) + gap);
  while (clipper.Step())
    for (int line = clipper.DisplayStart; line < clipper.DisplayEnd; ++line)
      for (int i = line * across; i < std::min(count, (line + 1) * across); ++i) {
        if (i > line * across) ImGui::SameLine();
        if (draw_card(*shown[static_cast<std::size_t>(i)], cards)) clicked = shown[static_cast<std::size_t>(i)];
      }
  ImGui::PopStyleVar();
  if (clicked != nullptr) open_head(session, *clicked);
}

void draw_outputs(Session& session, const PanelInput& input, HeadsState& m, Requests& requests) {
  const HeadsView heads = found_of(input.side.heads, session.experiment);
  if (refresh(m.outputs, heads.rows, m.layer)) m.largest = heads.rows ? largest_error(*heads.rows) : 0;
  sort_combo(m.outputs.sort);
  layer_combo(m, input.choices.tensors);
  progress(m, heads, requests);
  if (ImGui::BeginChild("heads", {0, 0})) draw_cards(session, input, m);
  ImGui::EndChild();
}

void draw_kv(Session& session, const PanelInput& input, HeadsState& m, Requests& requests) {
  const KvView heads = found_of(input.side.kv, kv_question(session.experiment));
  if (refresh(m.kv, heads.rows, m.layer)) measure_kv(m);
  layer_combo(m, input.choices.tensors);
  progress(m, heads, requests);
  const int open = session.experiment.problem.input.index;
  if (const KvRow* const clicked = draw_kv_table(m, input.choices.tensors, open)) open_head(session, *clicked);
}

void draw_verdicts(Session& session, const PanelInput& input, HeadsState& m, Requests& requests) {
  const HeadVerdicts found = shown_verdicts(session.experiment, input);
  const JudgedView judged = found_of(input.side.judged, verdict_question(session.experiment));
  ImGui::SameLine();
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
  const int head = draw_verdict_grid(judged, info, p.input.index);
  for (const LayerEntry& layer : info.layers)
    if (head >= layer.first && head < layer.first + layer.heads)
      open_head(session, JudgedHead{.head = head, .layer = 0, .shape = layer.shape});
}

/// The share of its cell that the bar of an error fills.
float share_of(const HeadsState& heads, double error) {
  if (std::isnan(error) || std::isinf(error)) return 1;
  if (!(error > 0)) return 0;
  const double low = heads.kv_least / 2, range = std::log(heads.kv_most / low);
  return static_cast<float>(std::clamp(std::log(error / low) / range, 0.0, 1.0));
}

}  // namespace

void draw_heads(const Frame& frame, const Box& room) {
  HeadsState& m = frame.state.heads;
  const std::string why = why_no_heads(frame.session, frame.input);
  if (!why.empty()) return draw_instead(places(room.min, room.max, {.side = 0, .below = 0, .bars = 0}), why);
  const HeadsShow shown = shown_of(frame.session, frame.input);
  if (shown == HeadsShow::kv_cache && !m.stopped) frame.requests.side.kv = heads_of_file(kv_question(frame.session.experiment));
  if (shown == HeadsShow::outputs && !m.stopped) frame.requests.side.heads = heads_of_file(frame.session.experiment);
  show_switch(frame.session, frame.input);
  switch (shown) {
    case HeadsShow::outputs:
      return draw_outputs(frame.session, frame.input, m, frame.requests);
    case HeadsShow::kv_cache:
      return draw_kv(frame.session, frame.input, m, frame.requests);
    case HeadsShow::verdict:
      return draw_verdicts(frame.session, frame.input, m, frame.requests);
  }
}

void measure_kv(HeadsState& heads) {
  heads.kv_least = heads.kv_most = 0;
  if (!heads.kv.found) return;
  for (const KvRow& row : *heads.kv.found)
    for (const double x : row.errors) {
      if (!(x > 0) || std::isinf(x)) continue;
      heads.kv_least = heads.kv_least > 0 ? std::min(heads.kv_least, x) : x;
      heads.kv_most = std::max(heads.kv_most, x);
    }
}

Table shown_kv_table(const HeadsState& heads, const TensorFileInfo& info) {
  std::vector<KvRow> rows;
  for (const KvRow* const row : heads.kv.shown) rows.push_back(*row);
  std::vector<std::string> layers;
  for (const LayerEntry& layer : info.layers) layers.push_back(layer.name);
  return kv_table(rows, info.head_names, layers);
}

const KvRow* draw_kv_table(const HeadsState& heads, const TensorFileInfo& info, int open) {
  const Table table = shown_kv_table(heads, info);
  const auto row = [&](std::size_t i) {
    const int head = heads.kv.shown[i]->head;
    return TableRow{
        .id = "kv head " + std::to_string(head),
        .meaning = head == open ? "It is open: a click shows it, Ctrl+Z comes back." : "A click opens it, Ctrl+Z comes back.",
        .formula =
            "RMS error over the RMS of the exact output\nbar: from the least to the largest of the table, "
            "logarithmic",
        .chosen = head == open,
        .mark = {}};
  };
  const auto bar = [&](std::size_t i, std::size_t column) {
    const auto* const error = std::get_if<double>(&table.rows[i][column]);
    return error == nullptr ? -1.0f : share_of(heads, *error);
  };
  const auto clicked = draw_table("kv", table, {.row = row, .bar = bar});
  return clicked ? heads.kv.shown[*clicked] : nullptr;
}

}  // namespace attoscope
