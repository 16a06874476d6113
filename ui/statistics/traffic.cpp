// Bytes between HBM and the chip: bars to scale, on-chip memory of a step, and the roofline.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/recurrence/recurrence.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/panel_plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// Level of detail by height: tall also shows the tiles in HBM, low has one line for on-chip memory.
enum class Room { low, middle, tall };

constexpr float name_width = 76, ratio_width = 52;

/// Draws in a rectangle the bytes of an algorithm, their ratio to the first algorithm's, and a bar to scale.
void draw_bytes(const TrafficOf& t, double largest, double first, ImVec2 at, ImVec2 size, Room room) {
  const float bar = px(room == Room::low ? 3 : 5), y = at.y + size.y - bar - px(3), right = at.x + size.x;
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton(t.name, size);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text({right - px(ratio_width), at.y}, Face::mono, colours().text, bytes_text(t.bytes), 1);
  draw_text({right, at.y}, Face::mono, colours().secondary, times(t.bytes / first), 1);
  list->AddRectFilled({at.x, y}, {right, y + bar}, colours().raised, px(2));
  list->AddRectFilled({at.x, y}, {at.x + std::max(px(2), size.x * static_cast<float>(t.bytes / largest)), y + bar},
                      traffic_colour(t), px(2));
  explain(t.what, t.counted);
}

/// Draws the lines of all three algorithms: the forward pass with its formula, or both passes side by side.
void draw_bars(const TrafficOfAll& all, std::span<const TrafficOf> backward, Room room) {
  double most = 0;
  for (const TrafficOf& t : all) most = std::max(most, t.bytes);
  for (const TrafficOf& t : backward) most = std::max(most, t.bytes);
  float left = px(name_width);
  for (const TrafficOf& t : all) left = std::max(left, text_width(Face::label, t.name) + px(8));
  const float width = ImGui::GetContentRegionAvail().x, height = px(room == Room::low ? 22 : 26),
              column = (width - left - px(12)) / 2,
              formula = width - left - px(ratio_width + 6) - text_width(Face::mono, "0.00 MB");
  ImVec2 at = ImGui::GetCursorScreenPos();
  if (!backward.empty()) {
    draw_text({at.x + left, at.y}, Face::small, colours().faint, "forward");
    draw_text({at.x + width - column, at.y}, Face::small, colours().faint, "backward");
    at.y += px(15);
  }
  for (std::size_t i = 0; i < all.size(); ++i, at.y += height) {
    if (backward.empty()) {
      draw_bytes(all[i], most, all[0].bytes, at, {width, height}, room);
      draw_fitted({at.x + left, at.y + px(1)}, Face::mono_small, colours().faint, all[i].formula, formula);
    } else {
      draw_bytes(all[i], most, all[0].bytes, {at.x + left, at.y}, {column, height}, room);
      draw_bytes(backward[i], most, backward[0].bytes, {at.x + width - column, at.y}, {column, height}, room);
    }
    draw_text(at, Face::label, colours().text, all[i].name);
  }
  ImGui::SetCursorScreenPos(at);
}

/// Caption of the numbers, and the button of the loop.
void draw_caption(const Result& r, bool& shows_loop) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float button = px(64), width = ImGui::GetContentRegionAvail().x - px(48);  // the save button is at the right
  const std::string stored = stored_bytes_text(r.experiment);
  const std::string caption = stored.empty() ? fmt::format("between HBM and chip, {} B each", r.traffic.element_bytes)
                                             : fmt::format("{} B with scales, others {} B", stored, r.traffic.element_bytes);
  draw_fitted({at.x, at.y + px(2)}, Face::small, colours().faint, caption, width - button - px(8));
  ImGui::SetCursorScreenPos({at.x + width - button, at.y});
  toggle("loop", shows_loop, button);
  explain("The double loop as a picture, with the block of the traced row and the tile under the scrubber of the recurrence.");
}

/// Step of the loop at the traced row's block and the scrubbed tile, or the last step before it.
int loop_step_of(const LoopPicture& picture, const Result& r, const View& view) {
  const int block = r.trace.row / tile_rows(r.experiment.a, r.experiment.problem.n), index = scrubbed(r, view);
  const int tile = index < 0 ? 0 : r.trace.tiles[static_cast<std::size_t>(index)].tile;
  int at = 0;
  for (std::size_t i = 0; i < picture.steps.size(); ++i)
    if (picture.steps[i].query_block == block && (picture.steps[i].key_tile <= tile || picture.steps[i].outer_begins))
      at = static_cast<int>(i);
  return at;
}

/// The loop as a sentence and a picture, filling the rest of the panel.
void draw_loop(TrafficState& state, const Result& r, const View& view) {
  if (!state.loop) state.loop = std::make_shared<LoopPicture>();
  LoopPicture& picture = *state.loop;
  refresh_loop(picture, r.experiment);
  const int at = loop_step_of(picture, r, view);
  ImGui::Dummy({0, px(4)});
  wrapped(Face::small, colours().secondary, loop_sentence(picture, at), ImGui::GetContentRegionAvail().x);
  const ImVec2 from = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  if (room.y < px(72)) return;
  const float height = std::min(room.y - px(4), px(360));
  ImGui::InvisibleButton("loop picture", {room.x, height});
  draw_loop_picture(picture, at, {from.x, from.y + px(4)}, {room.x, height - px(4)});
}

/// Q, K, V and O as strips of N or n_k rows, with the current tile highlighted.
void draw_hbm(ImVec2 at, ImVec2 size, const Experiment& e) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float step = size.x / 4, top = at.y + px(13), height = size.y - px(13);
  for (int i = 0; i < 4; ++i) {
    const bool keys = i == 1 || i == 2;
    const int all = keys ? key_count(e.problem) : e.problem.n;
    const float n = static_cast<float>(all), rows = static_cast<float>(std::min(keys ? e.a.block_k : e.a.block_q, all));
    const float x = at.x + step * static_cast<float>(i), tile = std::max(px(2), height * rows / n);
    const float start = top + (height - tile) * (keys ? 0.35f : 0.65f);
    draw_text({x + (step - px(4)) / 2, at.y - px(1)}, Face::mono_small, colours().secondary,
              std::string_view("QKVO").substr(i, 1), 0.5f);
    list->AddRectFilled({x, top}, {x + step - px(4), top + height}, colours().raised, px(1));
    list->AddRectFilled({x, start}, {x + step - px(4), start + tile}, keys ? colours().accent : colours().golden, px(1));
  }
}

/// Tiles of one step side by side, to scale with M.
void draw_chip(ImVec2 at, ImVec2 size, const OnChip& c, double M) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double full = std::max(c.total(), M);
  const auto x_of = [&](double elements) { return at.x + size.x * static_cast<float>(elements / full); };
  list->AddRectFilled(at, {x_of(M), at.y + size.y}, colours().raised, px(2));
  struct Part {
    const char* name;
    double elements;
    Colour colour;
  };
  double from = 0;
  for (const Part& p : {Part{"Q", c.Q, colours().golden}, Part{"K", c.K, colours().accent}, Part{"V", c.V, colours().accent},
                        Part{"O", c.O, colours().golden}, Part{"S", c.S, mixed(colours().faint, colours().raised, 0.25f)},
                        Part{"", c.m_and_l, mixed(colours().faint, colours().raised, 0.25f)}}) {
    const float x0 = x_of(from), x1 = std::max(x0 + 1, x_of(from + p.elements) - px(1));
    list->AddRectFilled({x0, at.y}, {x1, at.y + size.y}, p.colour, px(1));
    if (x1 - x0 > px(11))
      draw_text({(x0 + x1) / 2, at.y + (size.y - line_height(Face::mono_small)) / 2 - px(1)}, Face::mono_small, colours().panel,
                p.name, 0.5f);
    from += p.elements;
  }
  if (c.total() > M) list->AddRectFilled({x_of(M), at.y + size.y - px(3)}, {x_of(c.total()), at.y + size.y}, colours().bad);
  const float x = std::floor(x_of(M));
  list->AddLine({x, at.y - px(4)}, {x, at.y + size.y + px(3)}, colours().text, px(1.5f));
}

std::string chip_table(const OnChip& c, const Experiment& e) {
  const int rows = std::min(e.a.block_q, e.problem.n), keys = std::min(e.a.block_k, key_count(e.problem)), d = e.problem.d,
            d_v = value_columns(e.problem);
  const std::string tiles =
      d == d_v ? fmt::format("Q, O  {} x {} = {:.0f} each\nK, V  {} x {} = {:.0f} each\n", rows, d, c.Q, keys, d, c.K)
               : fmt::format("Q     {} x {} = {:.0f}\nO     {} x {} = {:.0f}\nK     {} x {} = {:.0f}\nV     {} x {} = {:.0f}\n",
                             rows, d, c.Q, rows, d_v, c.O, keys, d, c.K, keys, d_v, c.V);
  return tiles +
         fmt::format("S     {} x {} = {:.0f}, then P in its place\nm, l  2 x {} = {:.0f}\nall   {:.0f} elements = ", rows, keys,
                     c.S, rows, c.m_and_l, c.total()) +
         bytes_text(c.total() * element_bytes(e.format));
}

/// On-chip memory of one step of the inner loop, compared with M.
void draw_on_chip(const Experiment& e, int M, Room room) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool tall = room == Room::tall, low = room == Room::low;
  const float width = ImGui::GetContentRegionAvail().x, caption = low ? 0 : px(18), sketch = px(tall ? 44 : 18),
              bar = px(tall ? 20 : 14);
  const OnChip c = on_chip(e.problem, e.a);
  const bool fits = c.total() <= M;
  const double percent = 100 * c.total() / M;
  const std::string share = percent < 99999 ? fmt::format("{:.0f} %", percent) : std::string(">99999 %");
  const std::string text = low ? share : fmt::format("{:.0f} of M = {}, ", c.total(), M) + share;
  const float text_left = text_width(Face::mono, low ? ">99999 %" : text);
  ImGui::InvisibleButton("on chip", {width, caption + sketch});
  draw_text(at, Face::label, colours().text, tall ? "HBM → on chip" : "On chip");
  draw_text({at.x + width, at.y}, Face::mono, fits ? colours().secondary : colours().bad, text, 1);
  const float hbm = px(76), left = tall ? hbm + px(28) : low ? px(76) : 0, right = low ? width - text_left : width - px(1);
  const float y = at.y + caption + (low ? px(2) : (sketch - bar) / 2);
  if (tall) {
    draw_hbm({at.x, at.y + caption}, {hbm, sketch - px(4)}, e);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const float from = at.x + hbm + px(2), tip = from + px(22), middle = y + bar / 2, head = px(4);
    list->AddLine({from, middle}, {tip - px(6), middle}, colours().faint, px(1.2f));
    list->AddTriangleFilled({tip - px(6), middle - head}, {tip - px(6), middle + head}, {tip, middle}, colours().faint);
  }
  draw_chip({at.x + left, y}, {right - left, bar}, c, M);
  explain(
      fits
          ? "The elements that one step of the inner loop holds on chip. It fits into M, marked by the line; the helper beside "
            "the tile sizes sets M."
          : "The elements that one step of the inner loop holds on chip: more than M. FlashAttention's rule shares M among the "
            "tiles of Q, K, V and O alone; S comes on top, and real kernels keep it in registers.",
      chip_table(c, e));
}

/// Operands of the byte counts: sizes, bytes per number in the main format, rows that are read.
struct Counted {
  double n, n_k, d, d_v, size;
  double Q, K, V;  ///< bytes per number as stored
  double query_rows, key_rows;
};

Counted counted(const Experiment& e, const Traffic& t) {
  const Problem& p = e.problem;
  Counted c{};
  c.n = p.n;
  c.n_k = key_count(p);
  c.d = p.d;
  c.d_v = value_columns(p);
  c.size = t.element_bytes;
  c.Q = stored_bytes(e, ScaledTensor::Q);
  c.K = stored_bytes(e, ScaledTensor::K);
  c.V = stored_bytes(e, ScaledTensor::V);
  const double key = c.d * c.K + c.d_v * c.V;
  c.query_rows = (t.flash1 - c.n_k * key) / (c.d * c.Q + (2 * c.d_v + 4) * c.size);
  c.key_rows = (t.flash2 - c.n * (c.d * c.Q + (c.d_v + 1) * c.size)) / key;
  return c;
}

/// Tensors that each algorithm moves between HBM and the chip.
constexpr std::array<const char*, 3> movements{"read Q, K; write S; read S; write P; read P, V; write O",
                                               "K, V once; per tile Q, O, l, m in, then O, l, m out",
                                               "Q, O and the log-sum-exp once; per tile K, V in"};

/// The elements that an algorithm moves, and their bytes as a sum of numbers.
struct Formula {
  std::string elements, bytes;
};
using Formulas = std::array<Formula, 3>;

/// For n_k = N and d_v = d.
Formulas square_formulas(const Counted& c, bool masked) {
  return {
      {{"4Nd + 4N²", fmt::format("(4 * {0:.0f} * {1:.0f} + 4 * {0:.0f}^2) * {2:.0f} B = ", c.n, c.d, c.size)},
       {masked ? "2Nd + (3d+4)ΣBr" : "2Nd + Tc·N(3d+4)",
        fmt::format("(2 * {0:.0f} * {1:.0f} + {2:.0f} * (3 * {1:.0f} + 4)) * {3:.0f} B = ", c.n, c.d, c.query_rows, c.size)},
       {masked ? "2Nd + N + 2dΣBc" : "2Nd + N + Tr·2Nd",
        fmt::format("(2 * {0:.0f} * {1:.0f} + {0:.0f} + {2:.0f} * 2 * {1:.0f}) * {3:.0f} B = ", c.n, c.d, c.key_rows,
                    c.size)}}};
}

/// For n_k != N or d_v != d.
Formulas other_formulas(const Counted& c) {
  return {{{"(N+n_k)(d+d_v) + 4N·n_k",
            fmt::format("(({0:.0f} + {1:.0f}) * ({2:.0f} + {3:.0f}) + 4 * {0:.0f} * {1:.0f}) * {4:.0f} B = ", c.n, c.n_k, c.d,
                        c.d_v, c.size)},
           {"n_k(d+d_v) + (d+2d_v+4)ΣBr",
            fmt::format("({0:.0f} * ({1:.0f} + {2:.0f}) + {3:.0f} * ({1:.0f} + 2 * {2:.0f} + 4)) * {4:.0f} B = ", c.n_k, c.d,
                        c.d_v, c.query_rows, c.size)},
           {"N(d+d_v+1) + (d+d_v)ΣBc",
            fmt::format("({0:.0f} * ({1:.0f} + {2:.0f} + 1) + {3:.0f} * ({1:.0f} + {2:.0f})) * {4:.0f} B = ", c.n, c.d, c.d_v,
                        c.key_rows, c.size)}}};
}

/// Bytes for Q, K or V stored with scales: average bytes per number, scales included.
std::array<std::string, 3> bytes_with_scales(const Counted& c) {
  const std::string query = fmt::format("{:.0f} * {:.4g}", c.d, c.Q),
                    key = fmt::format("({:.0f} * {:.4g} + {:.0f} * {:.4g})", c.d, c.K, c.d_v, c.V);
  return {fmt::format("{0:.0f} * ({1} + {2:.0f} * {3:.0f}) + {4:.0f} * {5} + 4 * {0:.0f} * {4:.0f} * {3:.0f} B = ", c.n, query,
                      c.d_v, c.size, c.n_k, key),
          fmt::format("{:.0f} * {} + {:.0f} * ({} + (2 * {:.0f} + 4) * {:.0f}) B = ", c.n_k, key, c.query_rows, query, c.d_v,
                      c.size),
          fmt::format("{:.0f} * ({} + ({:.0f} + 1) * {:.0f}) + {:.0f} * {} B = ", c.n, query, c.d_v, c.size, c.key_rows, key)};
}

TrafficOfAll traffic_of_all(const Experiment& e, const Traffic& t) {
  const Counted c = counted(e, t);
  const Formulas formulas = shape_of(e.problem).is_square() ? square_formulas(c, t.skipped_tiles > 0) : other_formulas(c);
  const double flops = useful_flops(e.problem);
  const std::string stored = stored_bytes_text(e),
                    tiles = fmt::format("\n{} of {} tiles visited", t.tiles - t.skipped_tiles, t.tiles);
  TrafficOfAll all{
      {{.name = "Algorithm 0",
        .bytes = t.algorithm0,
        .what = "Standard attention in three kernels (arXiv 2205.14135, Algorithm 0): S and P are written in full, N x N, and "
                "read again, masked or not."},
       {.name = "FA-1",
        .bytes = t.flash1,
        .what = "FlashAttention (arXiv 2205.14135, Algorithm 1): K and V outside: Q, O, l and m are read and written "
                "for every tile of keys. Large block_k helps. By its Theorem 2 the order is N² d² / M."},
       {.name = "FA-2",
        .bytes = t.flash2,
        .what = "FlashAttention-2 (arXiv 2307.08691, Algorithm 1): Q outside, O stays on chip, K and V are read again for "
                "every tile of queries. Large block_q helps. Every load counts, even those that a cache would serve."}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int index = static_cast<int>(i);
    const std::string sum =
        stored.empty() ? "\n" + formulas[i].bytes
                       : fmt::format("\n{} B per number as stored, scales included; all else {:.0f} B\n", stored, c.size) +
                             bytes_with_scales(c)[i];
    all[i].formula = formulas[i].elements;
    all[i].counted = movements[i] + sum + bytes_text(all[i].bytes) + (i > 0 ? tiles : "");
    all[i].flops = flops;
    all[i].intensity = flops / all[i].bytes;
    all[i].ink = info(e.a.algorithm).traffic == index ? Ink::a : info(e.b.algorithm).traffic == index ? Ink::b : Ink::golden;
  }
  return all;
}

}  // namespace

double least_seconds(const TrafficOf& of, const DataSheet& machine) {
  return std::max(of.flops * 1e-12 / machine.tera_flops, of.bytes * 1e-9 / machine.giga_bytes);
}

TrafficOfAll traffic_of_all(const Result& r) { return traffic_of_all(r.experiment, r.traffic); }
TrafficOfAll traffic_of_all(const Experiment& e) { return traffic_of_all(e, traffic(e)); }

Colour traffic_colour(const TrafficOf& of) {
  return of.ink == Ink::golden ? mixed(colours().faint, colours().raised, 0.25f) : ink_colour(of.ink);
}

void draw_traffic_lines(const TrafficOfAll& all) { draw_bars(all, {}, Room::middle); }

void draw_traffic(Session& session, const PanelInput& input, TrafficState& state) {
  if (!input.answer.result) return label(Face::label, colours().secondary, "No answer yet");
  const Result& r = *input.answer.result;
  const float height = ImGui::GetContentRegionAvail().y / px(1);
  const Room room = height >= 236 ? Room::tall : height >= 206 ? Room::middle : Room::low;
  const WithSpacing spacing({px(8), 0});
  ImGui::Dummy({0, px(4)});
  if (height >= 254) draw_caption(r, state.shows_loop);
  if (state.shows_loop && height >= 254) {
    draw_loop(state, r, session.view);
  } else {
    draw_bars(traffic_of_all(r), backward_traffic_of_all(r.experiment), room);
    draw_on_chip(r.experiment, session.view.on_chip_elements, room);
    draw_roofline(session.view, traffic_of_passes(r));
  }
}

}  // namespace attoscope::ui
