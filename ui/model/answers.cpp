// The answer of a model: measures, growth, shares, the text and its tokens.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/model/model_answer.h"
#include "ui/model/panels.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/save_menu.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr float title_height = 22;

/// Draws the title of a part; returns the box below the title.
Box titled(const Box& box, const std::string& title) {
  draw_fitted(box.min, Face::label, colours().text, title, box.width());
  return {{box.min.x, box.min.y + px(title_height)}, box.max};
}

template <class Draw>
void in_child(const char* id, const Box& box, const Draw& draw) {
  ImGui::SetCursorScreenPos(box.min);
  if (ImGui::BeginChild(id, box.size(), ImGuiChildFlags_NavFlattened)) draw();
  ImGui::EndChild();
}

void offer_table(const ModelScene& s, const char* name, const Box& box, const Table& table) {
  offer_export({Plot::window, name, box.min, box.max, [&table] { return csv_text(table); }}, s.session.view, s.requests);
}

/// Colour of a run's row: its method's; none for yardsticks.
std::optional<Colour> mark_of(std::size_t row) {
  constexpr std::array<Ink, 3> inks{Ink::golden, Ink::a, Ink::b};
  return row < inks.size() ? std::optional(ink_colour(inks[row])) : std::nullopt;
}

double dlogp_of(const ModelAnswer& x, std::size_t run, std::size_t target) {
  return x.tokens[run].logp[target] - x.tokens[0].logp[target];
}

/// The three likeliest tokens after a position, under one run.
std::string likeliest_text(const ModelFound& f, std::size_t run, std::size_t position) {
  std::string text;
  for (const int token : f.answer->tokens[run].likeliest[position]) {
    if (token < 0) continue;
    const bool known = f.reading->words && static_cast<std::size_t>(token) < f.reading->words->size();
    std::string word = known ? (*f.reading->words)[static_cast<std::size_t>(token)] : std::to_string(token);
    std::ranges::replace(word, '\n', ' ');
    text += (text.empty() ? "" : " | ") + word;
  }
  return text;
}

/// The lines about token `place`, which is not the first.
std::string token_lines(const ModelFound& f, std::size_t place) {
  constexpr std::array<const char*, 3> names{"exact", "a    ", "b    "};
  std::string text;
  for (std::size_t run = 0; run < names.size(); ++run) {
    const double logp = f.answer->tokens[run].logp[place - 1];
    text += fmt::format("{} log p {:9.5f}", names[run], logp);
    if (run > 0) text += fmt::format("  {}", signed_scientific(dlogp_of(*f.answer, run, place - 1)));
    text += "  likeliest: " + likeliest_text(f, run, place - 1) + "\n";
  }
  return text;
}

/// A token in the flow of the text; after a token with a line break a new line starts.
struct FlowedToken {
  std::size_t place;
  ImVec2 at;
  float width;
  std::string text;
};

constexpr std::size_t most_shown_tokens = 4096;

std::vector<FlowedToken> flowed(const ModelReading& r, float width, float line) {
  std::vector<FlowedToken> all;
  ImVec2 at{0, 0};
  for (std::size_t i = 0; i < std::min(r.text.size(), most_shown_tokens); ++i) {
    std::string text = r.text[i];
    const bool breaks = text.find('\n') != std::string::npos;
    for (std::size_t n; (n = text.find('\n')) != std::string::npos;) text.replace(n, 1, "↵");
    const float wide = text_width(Face::label, text) + px(2);
    if (at.x > 0 && at.x + wide > width) at = {0, at.y + line};
    all.push_back({i, at, wide, std::move(text)});
    at.x += wide;
    if (breaks) at = {0, at.y + line};
  }
  return all;
}

/// Draws a token; true if it was clicked.
bool draw_token(const ModelFound& f, const FlowedToken& token, ImVec2 at, float line, double largest, bool chosen) {
  ImGui::SetCursorScreenPos(at);
  ImGui::PushItemFlag(ImGuiItemFlags_NoTabStop, token.place > 0);  // arrow keys reach the others from the first
  const bool clicked =
      ImGui::InvisibleButton(fmt::format("##token {}", token.place).c_str(), {token.width, line}, ImGuiButtonFlags_EnableNav);
  ImGui::PopItemFlag();
  const bool hot = ImGui::IsItemHovered();
  const double moved = token.place > 0 ? std::fabs(dlogp_of(*f.answer, 1, token.place - 1)) : 0;
  if (token.place > 0)
    explain(fmt::format("Token {} of {}; a moves its log-probability by {} nats.", token.place, f.reading->tokens.size(),
                        scientific(moved)),
            token_lines(f, token.place));
  else
    explain("The first token follows no other, so nothing is predicted here.");
  const float share = largest > 0 ? static_cast<float>(std::sqrt(moved / largest)) : 0;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  if (share > 0)
    list->AddRectFilled(at, {at.x + token.width, at.y + line}, mixed(colours().panel, colours().a, token_fill * share));
  if (hot || chosen) list->AddRect(at, {at.x + token.width, at.y + line}, colours().text, 0, 0, px(1.4f));
  draw_in_line({at.x + px(1), at.y}, line, Face::label, colours().text, token.text);
  return clicked;
}

void draw_flow(const ModelScene& s, const ModelFound& f) {
  const float line = line_height(Face::label) + px(4);
  const ImVec2 from = ImGui::GetCursorScreenPos(), seen = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const std::vector<FlowedToken> all = flowed(*f.reading, ImGui::GetContentRegionAvail().x - px(4), line);
  for (const FlowedToken& token : all) {
    const ImVec2 at{from.x + token.at.x, from.y + token.at.y};
    if (at.y + line < seen.y || at.y > seen.y + size.y) continue;
    const bool chosen = s.state.chosen == token.place;
    if (draw_token(f, token, at, line, f.answer->a.dlogp_max_abs, chosen))
      s.state.chosen = chosen ? std::nullopt : std::optional(token.place);
  }
  if (!all.empty()) take_room(from, {px(1), all.back().at.y + line});
}

/// Layers and heads of the model, for the grid of heads.
TensorFileInfo heads_of(const ModelReading& r) {
  TensorFileInfo info;
  info.heads = r.layers * r.heads;
  for (int l = 0; l < r.layers; ++l) {
    info.layers.push_back({fmt::format("layer {}", l), l * r.heads, r.heads, r.heads, {}});
    for (int h = 0; h < r.heads; ++h) info.head_names.push_back(fmt::format("layer {}, head {}", l, h));
  }
  return info;
}

/// The share of each head; a layer's share is given to all its heads. NaN: not known.
std::vector<double> shares_by_head(const ModelShares* shares, const ModelReading& r) {
  std::vector<double> all(static_cast<std::size_t>(r.layers * r.heads), NAN);
  if (shares == nullptr) return all;
  for (const ModelShare& x : shares->answer->attribution)
    for (int h = 0; h < r.heads; ++h)
      if (x.layer >= 0 && (x.head < 0 || x.head == h)) all[static_cast<std::size_t>(x.layer * r.heads + h)] = x.share;
  return all;
}

void draw_share_grid(const ModelScene& s, const Box& box) {
  const ModelFound& f = *s.found();
  const ModelShares* const shares = s.model().shares.get();
  const TensorFileInfo info = heads_of(*f.reading);
  const std::vector<double> by_head = shares_by_head(shares, *f.reading);
  double largest = 0;
  for (const double x : by_head) largest = std::max(largest, std::fabs(x));
  const auto cell_of = [&](int head) {
    const double x = by_head[static_cast<std::size_t>(head)];
    const std::string name = info.head_names[static_cast<std::size_t>(head)];
    GridCell cell{.known = !std::isnan(x), .sentence = name + ": a click opens its Q, K and V of the exact model in Explore."};
    if (!cell.known) return cell;
    const auto share = static_cast<float>(largest > 0 ? std::fabs(x) / largest : 0);
    cell.fill = mixed(colours().raised, x < 0 ? colours().moved : colours().a, share);
    cell.number = fmt::format("{:.1f}", 100 * x);
    const bool of_layer = shares->part == ModelPart::layer;
    cell.sentence = fmt::format("Without the rounding of {} a's mean |difference of log p| is {:.2f} % {}. {}",
                                of_layer ? info.layers[static_cast<std::size_t>(head / f.reading->heads)].name : name,
                                std::fabs(100 * x), x < 0 ? "larger" : "smaller", cell.sentence);
    return cell;
  };
  ImGui::SetCursorScreenPos(box.min);
  const int clicked = draw_head_grid(info, {.cell = cell_of}, box.size());
  if (clicked >= 0)
    s.ask({.act = ModelRequest::Act::explore, .layer = clicked / f.reading->heads, .head = clicked % f.reading->heads});
}

void draw_share_buttons(const ModelScene& s, float width) {
  constexpr std::array<const char*, 3> labels{"layers###by layer", "heads###by head", "steps###by step"};
  constexpr std::array<const char*, 3> meanings{"Makes a exact in one layer at a time, in all heads.",
                                                "Makes a exact in one head at a time.",
                                                "Makes one rounding step of or around a exact at a time, in all layers."};
  const ModelProgress& p = s.model().progress;
  const float each = std::floor((width - px(12)) / 3);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) ImGui::SameLine(0, px(6));
    const auto part = static_cast<ModelPart>(i + 1);
    if (push_button(labels[i], s.model().shares && s.model().shares->part == part, {each, 0}))
      s.ask({.act = ModelRequest::Act::attribute, .part = part});
    const std::string time = about_seconds(p.expected[i + 1]);
    explain(meanings[i] + (time.empty() ? "" : " It takes " + time + "."), "share = (D - D') / D, D = mean |d log p| of a");
  }
}

/// The relative RMS of the difference over the layers, as a plot.
FigurePanel growth_panel(const ModelFound& f) {
  FigurePanel panel{"difference after each layer", number_axis("layer"), number_axis("relative RMS", true), {}, {}};
  panel.x.whole = true;
  Series a = series_of(f.a_name, Ink::a, Shape::line_and_marks), b = series_of(f.b_name, Ink::b, Shape::line_and_marks);
  for (std::size_t l = 0; l < f.answer->layers.size(); ++l) {
    a.x.push_back(static_cast<double>(l));
    a.y.push_back(f.answer->layers[l].a);
    b.x.push_back(static_cast<double>(l));
    b.y.push_back(f.answer->layers[l].b);
  }
  panel.y.log =
      std::ranges::any_of(a.y, [](double y) { return y > 0; }) || std::ranges::any_of(b.y, [](double y) { return y > 0; });
  panel.x.min = -0.5;
  panel.x.max = static_cast<double>(f.answer->layers.size()) - 0.5;
  panel.series = {std::move(a), std::move(b)};
  return panel;
}

}  // namespace

void draw_model_runs(const ModelScene& s, const Box& box) {
  const Table& table = s.found()->runs;
  const auto row = [&](std::size_t i) { return TableRow{.id = "run " + std::to_string(i), .meaning = "", .mark = mark_of(i)}; };
  in_child("runs", box, [&] { draw_table("runs", table, {.row = row}); });
  offer_table(s, "model runs", box, table);
}

void draw_model_growth(const ModelScene& s, const Box& box) {
  const ModelFound& f = *s.found();
  const FigurePanel panel = growth_panel(f);
  const Box rest = titled(box, "difference after each layer, relative RMS");
  std::vector<LegendName> names;
  for (const Series& series : panel.series) names.push_back(legend_name(series, false));
  draw_legend(rest.min, rest.width(), names);
  ImGui::SetCursorScreenPos({rest.min.x, rest.min.y + px(20)});
  const PanelMouse mouse = draw_panel(panel, {.id = "growth"}, {rest.width(), std::max(px(40), rest.height() - px(20))});
  const auto layer = static_cast<std::ptrdiff_t>(std::lround(mouse.x));
  if (mouse.over && layer >= 0 && layer < std::ssize(f.answer->layers)) {
    const LayerGrowth& g = f.answer->layers[static_cast<std::size_t>(layer)];
    const std::array<NoteLine, 3> lines{NoteLine{colours().text, fmt::format("after layer {}", layer)},
                                        NoteLine{colours().a, "a " + scientific(g.a)},
                                        NoteLine{colours().b, "b " + scientific(g.b)}};
    draw_note(box, ImGui::GetIO().MousePos, lines);
  }
  const auto csv = [&f] {
    std::string text = "layer,a,b\n";
    for (std::size_t l = 0; l < f.answer->layers.size(); ++l)
      text += fmt::format("{},{},{}\n", l, in_full(f.answer->layers[l].a), in_full(f.answer->layers[l].b));
    return text;
  };
  offer_export({Plot::window, "growth by layer", box.min, box.max, csv}, s.session.view, s.requests);
}

void draw_model_shares(const ModelScene& s, const Box& box) {
  const ModelShares* const shares = s.model().shares.get();
  const Box rest = titled(box, shares ? "shares of a's mean |difference of log p|, %" : "shares of layers, heads or steps:");
  ImGui::SetCursorScreenPos(rest.min);
  draw_share_buttons(s, rest.width());
  const Box below{{rest.min.x, rest.min.y + px(control_height + 8)}, rest.max};
  if (shares == nullptr || shares->part != ModelPart::step) {
    draw_share_grid(s, below);
  } else {
    const auto row = [](std::size_t i) { return TableRow{.id = "step " + std::to_string(i)}; };
    in_child("steps", below, [&] { draw_table("steps", shares->shares, {.row = row}); });
  }
  if (shares != nullptr) offer_table(s, "shares", box, shares->shares);
}

void draw_model_text(const ModelScene& s, const Box& box) {
  if (s.found() == nullptr) {
    ImGui::SetCursorScreenPos(box.min);
    return wrapped(Face::label, colours().faint,
                   "The text appears here after a run. The colour of a token shows how far a moves its log-probability.",
                   box.width());
  }
  const std::string shown =
      s.found()->reading->text.size() > most_shown_tokens ? fmt::format("the first {} tokens", most_shown_tokens) : "the text";
  const Box rest =
      titled(box, fmt::format("{}; the strongest colour is {} nats", shown, scientific(s.found()->answer->a.dlogp_max_abs)));
  in_child("flow", rest, [&] { draw_flow(s, *s.found()); });
  offer_table(s, "tokens in their text", box, s.found()->targets);
}

void draw_model_targets(const ModelScene& s, const Box& box) {
  if (s.found() == nullptr) return;
  const Table& table = s.found()->targets;
  const Box rest = titled(box, "tokens that move most");
  const auto place = [&](std::size_t i) { return static_cast<std::size_t>(std::get<std::int64_t>(table.rows[i][0])); };
  const auto row = [&](std::size_t i) {
    return TableRow{.id = fmt::format("target {}", place(i)),
                    .meaning = "A click marks it in the text.",
                    .formula = token_lines(*s.found(), place(i)),
                    .chosen = s.state.chosen == place(i)};
  };
  in_child("targets", rest, [&] {
    if (const auto clicked = draw_table("targets", table, {.row = row})) s.state.chosen = place(*clicked);
  });
  offer_table(s, "tokens", box, table);
}

}  // namespace attoscope::ui
