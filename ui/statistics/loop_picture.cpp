#include <fmt/format.h>

#include <algorithm>

#include "kernels/experiment/rules.h"
#include "ui/picture/picture_frame.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

constexpr long long most_cells = 1 << 14;

/// Sizes and counts of query blocks and key tiles.
struct LoopBlocks {
  int n, n_k, rows, keys, blocks, tiles;
};
LoopBlocks loop_blocks(const Experiment& e) {
  const int n = e.problem.n, n_k = key_count(e.problem), rows = std::min(e.a.block_q, n), keys = std::min(e.a.block_k, n_k);
  return {n, n_k, rows, keys, tile_count(n, rows), tile_count(n_k, keys)};
}

/// Layout of the picture.
struct LoopPlaces {
  ImVec2 grid, grid_size;  ///< scores: a row of cells for each block of queries
  float strip, gap;        ///< thickness of the strips of Q, K, V, O, and the room around them
  ImVec2 chip, chip_size;
  float text;  ///< height of a line
};

LoopPlaces loop_places(ImVec2 from, ImVec2 size) {
  LoopPlaces p{};
  p.strip = px(14);
  p.gap = px(5);
  p.text = line_height(Face::small);
  const float top = 2 * (p.strip + p.gap) + p.text + px(4), left = p.strip + p.gap + px(2), right = p.strip + 2 * p.gap;
  const float hbm = size.x * 0.62f;
  p.grid = {from.x + left, from.y + top};
  p.grid_size = {hbm - left - right, size.y - top - px(2)};
  p.chip = {from.x + hbm + px(38), from.y + p.text + px(4)};
  p.chip_size = {size.x - hbm - px(38), size.y - p.text - px(6)};
  return p;
}

/// Coordinate of the begin of piece `i` of `length` rows or keys.
float edge(float from, float size, int i, int length, int n) {
  return from + size * static_cast<float>(std::min(i * length, n)) / static_cast<float>(n);
}
Box rows_of(const LoopPlaces& p, const LoopBlocks& g, int block, float x, float width) {
  return {{x, edge(p.grid.y, p.grid_size.y, block, g.rows, g.n)},
          {x + width, edge(p.grid.y, p.grid_size.y, block + 1, g.rows, g.n)}};
}
Box keys_of(const LoopPlaces& p, const LoopBlocks& g, int tile, float y, float height) {
  return {{edge(p.grid.x, p.grid_size.x, tile, g.keys, g.n_k), y},
          {edge(p.grid.x, p.grid_size.x, tile + 1, g.keys, g.n_k), y + height}};
}
Box cell_of(const LoopPlaces& p, const LoopBlocks& g, const LoopStep& s) {
  const Box row = rows_of(p, g, s.query_block, p.grid.x, p.grid_size.x), column = keys_of(p, g, s.key_tile, p.grid.y, 0);
  return {{column.min.x, row.min.y}, {column.max.x, row.max.y}};
}
void fill(const Box& b, Colour colour, float between = 1) {
  const float x = b.width() > 3 * px(between) ? px(between) : 0, y = b.height() > 3 * px(between) ? px(between) : 0;
  ImGui::GetWindowDrawList()->AddRectFilled(b.min, {std::max(b.min.x + 1, b.max.x - x), std::max(b.min.y + 1, b.max.y - y)},
                                            colour, px(1));
}

/// The matrices in HBM: Q at the left, K and V above, O at the right; parts on chip are highlighted.
void draw_matrices(const LoopPlaces& p, const LoopBlocks& g, const LoopStep& s) {
  const float right = p.grid.x + p.grid_size.x + p.gap, left = p.grid.x - p.gap - p.strip, V = p.grid.y - p.gap - p.strip,
              K = V - p.gap + px(2) - p.strip;
  for (const float x : {left, right}) {
    fill({{x, p.grid.y}, {x + p.strip, p.grid.y + p.grid_size.y}}, colours().raised);
    fill(rows_of(p, g, s.query_block, x, p.strip), colours().golden);
  }
  for (const float y : {K, V}) {
    fill({{p.grid.x, y}, {p.grid.x + p.grid_size.x, y + p.strip}}, colours().raised);
    fill(keys_of(p, g, s.key_tile, y, p.strip), colours().accent);
  }
  const auto letter = [&](float x, float y, const char* text, bool lit) {
    draw_in_line({x + p.strip / 2, y}, p.strip, Face::mono_small, lit ? colours().panel : colours().secondary, text, 0.5f);
  };
  letter(left, p.grid.y, "Q", s.query_block == 0);
  letter(right, p.grid.y, "O", s.query_block == 0);
  letter(p.grid.x, K, "K", s.key_tile == 0);
  letter(p.grid.x, V, "V", s.key_tile == 0);
}

/// The scores by block and tile: visited, on chip, or not yet visited. They never exist as a whole.
void draw_cells(const LoopPicture& picture, int at, const LoopPlaces& p, const LoopBlocks& g) {
  ImGui::GetWindowDrawList()->AddRectFilled(p.grid, {p.grid.x + p.grid_size.x, p.grid.y + p.grid_size.y},
                                            mixed(colours().panel, colours().raised, 0.4f), px(1));
  for (std::size_t i = 0; i < picture.steps.size(); ++i)
    fill(cell_of(p, g, picture.steps[i]),
         static_cast<int>(i) < at ? mixed(colours().raised, colours().a, 0.35f) : colours().raised);
  fill(cell_of(p, g, picture.steps[static_cast<std::size_t>(at)]), colours().a);
}

void draw_arrow(ImVec2 from, ImVec2 to, Colour colour) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float head = px(4), way = to.x > from.x ? 1.0f : -1.0f;
  list->AddLine(from, {to.x - way * px(5), to.y}, colour, px(1.5f));
  list->AddTriangleFilled({to.x - way * px(6), to.y - head}, {to.x - way * px(6), to.y + head}, to, colour);
}

/// A matrix on chip, `rows` x `columns`, drawn to the scale of the others.
struct OnChipPart {
  const char* name;
  float rows, columns;
  Colour colour;
  bool arrives;  ///< loaded from HBM in this step
};

/// The matrices on chip, to scale, one below the other.
void draw_chip(const LoopPicture& picture, int at, const LoopPlaces& p, const LoopBlocks& g) {
  const LoopStep& s = picture.steps[static_cast<std::size_t>(at)];
  const bool queries = picture.order == LoopOrder::queries_outside;
  const Problem& problem = picture.experiment.problem;
  const auto d = static_cast<float>(problem.d), d_v = static_cast<float>(value_columns(problem)),
             rows = static_cast<float>(g.rows), keys = static_cast<float>(g.keys);
  const std::array<OnChipPart, 5> parts{{{"Q", rows, d, colours().golden, !queries || s.outer_begins},
                                         {"K", keys, d, colours().accent, queries || s.outer_begins},
                                         {"V", keys, d_v, colours().accent, queries || s.outer_begins},
                                         {"S, P", rows, keys, colours().a, false},
                                         {"O, m, l", rows, d_v + 2, colours().golden, !queries}}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect(p.chip, {p.chip.x + p.chip_size.x, p.chip.y + p.chip_size.y}, colours().line, px(3), px(1));
  float highest = 0, widest = 0;
  for (const OnChipPart& part : parts) {
    highest += part.rows;
    widest = std::max(widest, part.columns);
  }
  const float room = p.chip_size.y - px(12) - 5 * px(6) - p.text, width = p.chip_size.x - px(12) - px(60);
  float y = p.chip.y + px(8);
  for (const OnChipPart& part : parts) {
    const float height = std::max(px(6), room * part.rows / highest), w = std::max(px(6), width * part.columns / widest);
    const Box box{{p.chip.x + px(8), y}, {p.chip.x + px(8) + w, y + height}};
    list->AddRectFilled(box.min, box.max, part.colour, px(1));
    draw_in_line({box.max.x + px(6), y}, height, Face::mono_small, colours().text, part.name);
    if (part.arrives) draw_arrow({p.chip.x - px(22), y + height / 2}, {p.chip.x - px(4), y + height / 2}, part.colour);
    y += height + px(6);
  }
}

/// An arrow from the chip to HBM, and the text of the stored bytes.
void draw_stored(const LoopPicture& picture, int at, const LoopPlaces& p) {
  const double bytes = picture.steps[static_cast<std::size_t>(at)].stored;
  if (bytes == 0) return;
  const std::string text = bytes_text(bytes) + (picture.order == LoopOrder::keys_outside ? ": O, l, m" : ": O, log-sum-exp");
  const float y = p.chip.y + p.chip_size.y - px(4) - p.text / 2;
  draw_arrow({p.chip.x + px(6), y}, {p.chip.x - px(22), y}, colours().golden);
  draw_fitted({p.chip.x + px(10), y - p.text / 2}, Face::small, colours().text, text, p.chip_size.x - px(14));
}

std::string moved(const LoopPicture& picture, int at) {
  const LoopStep &s = picture.steps[static_cast<std::size_t>(at)], &end = picture.steps.back();
  return bytes_text(s.bytes) + " of " + bytes_text(end.bytes) + ", " +
         fmt::format("{} of {} Mflop: {} flop/B.", three_digits(s.flops * 1e-6), three_digits(end.flops * 1e-6),
                     three_digits(s.flops / s.bytes));
}

}  // namespace

void refresh_loop(LoopPicture& picture, const Experiment& experiment) {
  if (picture.experiment == experiment && (picture.too_many || !picture.steps.empty())) return;
  picture.experiment = experiment;
  picture.order = experiment.a.algorithm == Algorithm::flash1 ? LoopOrder::keys_outside : LoopOrder::queries_outside;
  picture.too_many = loop_cells(experiment) > most_cells;
  picture.steps = picture.too_many ? std::vector<LoopStep>{} : loop_steps(experiment, picture.order);
}

std::string loop_sentence(const LoopPicture& picture, int at) {
  if (picture.steps.empty())
    return picture.too_many ? "There are too many tiles for a picture: make them larger." : "No query sees a key.";
  const LoopBlocks g = loop_blocks(picture.experiment);
  const LoopStep& s = picture.steps[static_cast<std::size_t>(at)];
  const bool queries = picture.order == LoopOrder::queries_outside;
  const char* const loads = queries ? (s.outer_begins ? "loads Q, K, V" : "loads K, V")
                                    : (s.outer_begins ? "loads K, V, Q, O, l, m" : "loads Q, O, l, m");
  return fmt::format("Query block {} of {}, key tile {} of {}: {}{}. ", s.query_block + 1, g.blocks, s.key_tile + 1, g.tiles,
                     loads, s.stored > 0 ? ", stores O" : "") +
         moved(picture, at);
}

std::vector<FigurePanel> loop_figure(const LoopPicture& picture, int at) {
  const LoopBlocks g = loop_blocks(picture.experiment);
  FigurePanel tiles, moved_bytes;
  tiles.title = loop_sentence(picture, at);
  tiles.x = number_axis("key tile");
  tiles.y = number_axis("query block");
  FigureHeat& h = tiles.heat.emplace();
  h.width = g.tiles;
  h.height = g.blocks;
  h.values.assign(static_cast<std::size_t>(g.tiles) * static_cast<std::size_t>(g.blocks), FigureHeat::nothing);
  h.x0 = h.y0 = -0.5;
  h.x1 = g.tiles - 0.5;
  h.y1 = g.blocks - 0.5;
  h.diverging = false;
  h.range = static_cast<double>(picture.steps.size());
  h.label = "step in which the tile of S is on chip";
  Series moves = series_of("so far", Ink::a, Shape::line);
  for (std::size_t i = 0; i <= static_cast<std::size_t>(at); ++i) {
    const LoopStep& s = picture.steps[i];
    h.values[cell_index(s.query_block, g.tiles, s.key_tile)] = static_cast<float>(i + 1);
    moves.x.push_back(static_cast<double>(i + 1));
    moves.y.push_back(s.bytes);
  }
  moved_bytes.x = {.label = "step", .whole = true, .min = 0, .max = static_cast<double>(picture.steps.size() + 1)};
  moved_bytes.y = {.label = "moved between HBM and chip", .unit = "B", .min = 0, .max = 1.05 * picture.steps.back().bytes};
  moved_bytes.series = {std::move(moves)};
  return {std::move(tiles), std::move(moved_bytes)};
}

void draw_loop_picture(const LoopPicture& picture, int at, ImVec2 from, ImVec2 size) {
  if (picture.steps.empty()) {
    ImGui::GetWindowDrawList()->AddRect(from, {from.x + size.x, from.y + size.y}, colours().line);
    draw_text({from.x + size.x / 2, from.y + size.y / 2}, Face::label, colours().secondary, loop_sentence(picture, 0), 0.5f);
    return;
  }
  const LoopBlocks g = loop_blocks(picture.experiment);
  const LoopPlaces p = loop_places(from, size);
  const LoopStep& s = picture.steps[static_cast<std::size_t>(at)];
  const std::string_view outside = "Q, K, V, O in HBM; between them S, of which one tile exists at a time";
  const float room = p.chip.x - from.x - px(8);
  const bool whole = text_width(Face::small, outside) <= room;
  draw_text(from, Face::small, colours().faint, whole ? outside : outside.substr(0, outside.find(';')));
  draw_text({p.chip.x, from.y}, Face::small, colours().faint, "on chip (SRAM)");
  draw_matrices(p, g, s);
  draw_cells(picture, at, p, g);
  draw_chip(picture, at, p, g);
  draw_stored(picture, at, p);
}

bool draw_loop_transport(const LoopPicture& picture, int& at, bool& playing, float width) {
  const int last = std::max(0, static_cast<int>(picture.steps.size()) - 1), before = at;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {px(2), 0});
  if (transport_button("###loop first", TransportIcon::first, false)) at = 0;
  explain("The first block with its first tile.");
  ImGui::SameLine();
  if (transport_button("###loop play", playing ? TransportIcon::pause : TransportIcon::play, playing)) {
    playing = !playing;
    if (playing && at == last) at = 0;
  }
  explain("Goes through the whole loop.");
  ImGui::SameLine();
  if (transport_button("###loop step", TransportIcon::next, false)) at = std::min(last, at + 1);
  explain("The next step: one block with one tile.");
  ImGui::SameLine();
  ImGui::PopStyleVar();
  const std::string digits = fmt::format("{} of {}", at + 1, last + 1);
  const float left = 3 * (transport_width() + px(2)) + px(8), right = text_width(Face::mono, digits) + px(12);
  const ImVec2 here = ImGui::GetCursorScreenPos();
  track({"loop", 0, std::max(1, last), 0, last}, at, {std::max(px(40), width - left - right), px(control_height)});
  explain("The step: a block of queries with a tile of keys.");
  draw_in_line({here.x - left + width + px(6), here.y}, px(control_height), Face::mono, colours().text, digits, 1);
  at = std::clamp(at, 0, last);
  return at != before;
}

}  // namespace attoscope::ui
