// Bytes of the backward pass between HBM and the chip, in words; and the roofline of a machine, with the algorithms on it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/experiment/result.h"
#include "kernels/experiment/traffic.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// "Q in      1.05 MB = 524288 x 2 B", a line for each tensor, then the sum.
std::string counted_parts(const std::vector<TrafficPart>& parts) {
  std::string text;
  for (const TrafficPart& part : parts)
    text += fmt::format("{:24} {:>8} = {:.0f} x {:.4g} B\n", part.what, bytes_text(part.elements * part.bytes), part.elements,
                        part.bytes);
  return text + fmt::format("{:24} {:>8}", "all", bytes_text(total_bytes(parts)));
}

/// Numbers of elements in the papers' symbols: the short formula for n_k = N, d_v = d and no mask, and the general one.
struct BackwardFormula {
  const char *square, *any;
};
constexpr BackwardFormula of_stored_P{"8Nd + 7N²", "2(N+n_k)(d+d_v) + 7N·n_k"},
    of_flash1{"4Nd + Tc·N(5d+2)", "2n_k(d+d_v) + (3d+2d_v+2)ΣBr"},
    of_flash2{"8Nd + N + Tc·N(4d+2)", "N(2d_v+1) + 2n_k(d+d_v) + 2Nd + (3d+d_v+2)ΣBr"};

TrafficOf backward_of(const char* name, const std::vector<TrafficPart>& parts, const BackwardFormula& formula, bool square,
                      const char* what) {
  return {.name = name,
          .bytes = total_bytes(parts),
          .formula = square ? formula.square : formula.any,
          .counted = counted_parts(parts),
          .what = what};
}

static_assert(machine_names.size() == data_sheets.size());

void machine_combo(Machine& machine, float width) {
  const auto sheet = [](std::size_t i) -> const DataSheet& { return data_sheets[i]; };
  const auto numbers = [&](std::size_t i) {
    return fmt::format("{:g} Tflop/s dense fp16, {:g} GB/s\nridge at {:.0f} flop/B", sheet(i).tera_flops, sheet(i).giga_bytes,
                       ridge(sheet(i)));
  };
  const WithField f(Face::label, 20);
  if (begin_combo("##machine", std::string(sheet(static_cast<std::size_t>(machine)).name), width)) {
    for (std::size_t i = 0; i < data_sheets.size(); ++i) {
      if (ImGui::Selectable(std::string(sheet(i).name).c_str(), static_cast<std::size_t>(machine) == i))
        machine = static_cast<Machine>(i);
      explain("From the manufacturer's data sheet, not measured here.", numbers(i));
    }
    ImGui::EndCombo();
  } else {
    explain(
        "Machine of the roofline. Peak and bandwidth are from the manufacturer's data sheet, not measured: fp16 inputs, fp32 "
        "accumulation, no sparsity.",
        numbers(static_cast<std::size_t>(machine)));
  }
}

/// Algorithms with known intensity, ascending.
std::vector<const TrafficOf*> in_order(std::span<const TrafficOf> all) {
  std::vector<const TrafficOf*> sorted;
  for (const TrafficOf& t : all)
    if (t.intensity > 0) sorted.push_back(&t);
  std::ranges::stable_sort(sorted, {}, &TrafficOf::intensity);
  return sorted;
}

/// A dot on the roof for each algorithm, with its name at a vertical line below it. Names further left are lower, so that no
/// line crosses a name.
void draw_points(std::span<const TrafficOf> all, const DataSheet& machine) {
  const float bottom = ImPlot::GetPlotPos().y + ImPlot::GetPlotSize().y,
              right = ImPlot::GetPlotPos().x + ImPlot::GetPlotSize().x;
  ImDrawList* list = ImPlot::GetPlotDrawList();
  float y = bottom - px(1);
  for (const TrafficOf* t : in_order(all)) {
    const ImVec2 dot = ImPlot::PlotToPixels(std::log10(t->intensity), attainable(machine, t->intensity));
    const bool left = dot.x + px(4) + text_width(Face::small, t->name) > right;
    y -= px(13);
    list->AddLine(dot, {dot.x, y + px(12)}, faded(traffic_colour(*t), 0.6f), px(1));
    list->AddCircleFilled(dot, px(3.5f), traffic_colour(*t));
    draw_text(list, {left ? dot.x - px(4) : dot.x + px(4), y}, Face::small, colours().secondary, t->name, left ? 1.0f : 0.0f);
  }
}

void draw_plot(std::span<const TrafficOf> all, const DataSheet& machine, ImVec2 size) {
  const FigurePanel p = roofline_panel(all, machine);
  const Series& roof = p.series.front();
  const double first = std::log10(*p.x.min), last = std::log10(*p.x.max);  // the plot's axis is linear in the exponent
  std::vector<double> x_ticks;
  std::vector<std::string> texts;
  for (double e = first; e <= last; ++e) {  // "1", "100", "10k"
    x_ticks.push_back(e);
    texts.push_back(e >= 3 && e < 6 ? compact(std::pow(10.0, e - 3)) + "k" : compact(std::pow(10.0, e)));
  }
  std::vector<const char*> x_labels;
  for (const std::string& text : texts) x_labels.push_back(text.c_str());
  const double low = roof.y.front(), high = 2.5 * machine.tera_flops;
  static constexpr std::array<double, 5> y_ticks{0.1, 1, 10, 100, 1000};
  static constexpr std::array<const char*, 5> y_labels{"0.1", "1", "10", "100", "1000"};
  const PlotFrame frame{"##roofline", first, last, low, high, p.y.log, x_ticks, y_ticks, x_labels, y_labels};
  if (!begin_plot(frame, size)) return;
  std::vector<double> x;
  for (const double intensity : roof.x) x.push_back(std::log10(intensity));
  ImPlot::PlotLine("##roof", x.data(), roof.y.data(), static_cast<int>(x.size()), stroke(colours().golden));
  draw_points(all, machine);
  end_plot();
}

/// Attainable speed and smallest time of each algorithm, and the machine's ridge point.
std::string bounds_table(std::span<const TrafficOf> all, const DataSheet& machine) {
  std::string text;
  for (const TrafficOf& t : all)
    text += fmt::format("{:15} {:>6} flop/B  {:>6} Tflop/s  at least {}\n", t.name, three_digits(t.intensity),
                        three_digits(attainable(machine, t.intensity)), seconds_text(least_seconds(t, machine)));
  return text + fmt::format("ridge           {:6.0f} flop/B", ridge(machine));
}

/// The algorithm of a, or else of b; FA-2 if neither is one of the three.
const TrafficOf& of_interest(std::span<const TrafficOf> all) {
  for (const Ink ink : {Ink::a, Ink::b})
    for (const TrafficOf& t : all)
      if (t.ink == ink) return t;
  return all.back();
}

}  // namespace

std::vector<TrafficOf> backward_traffic_of_all(const Experiment& e) {
  if (!e.backward.on) return {};
  const BackwardTraffic t = backward_traffic(e);
  const bool square = shape_of(e.problem).is_square() && t.skipped_tiles == 0;
  std::vector<TrafficOf> all{
      backward_of(
          "P stored, back", t.stored_P, of_stored_P, square,
          "The standard backward pass (arXiv 2205.14135, Algorithm 3) with the P that the forward pass stored: P, dP and "
          "dS are N x N in HBM, masked or not."),
      backward_of(
          "FA-1 back", t.flash1, of_flash1, square,
          "FlashAttention (arXiv 2205.14135, Algorithm 4): K and V outside, P is recomputed from S, l and m. Q, O, dO and "
          "dQ are read and dQ is written for every tile of keys."),
      backward_of("FA-2 back", t.flash2, of_flash2, square,
                  "FlashAttention-2 (arXiv 2307.08691, Algorithm 2): delta is computed first: the loop reads no O. K and V "
                  "outside, P is recomputed from S and L; dQ is added to its sum in HBM for every tile of keys. Large block_k "
                  "helps.")};
  const std::string buffers = e.backward.a.order == GradOrder::buffers && e.backward.a.buffers > 1
                                  ? fmt::format(" + {}Nd for the buffers", e.backward.a.buffers - 1)
                                  : "";
  all[2].formula += buffers;
  const double flops = useful_backward_flops(e.problem);
  for (TrafficOf& of : all) {
    const auto index = static_cast<int>(&of - all.data());
    of.ink = info(e.a.algorithm).traffic == index ? Ink::a : info(e.b.algorithm).traffic == index ? Ink::b : Ink::golden;
    of.flops = flops;
    of.intensity = flops / of.bytes;
    of.counted = of.formula + " elements\n" + of.counted;
    if (index > 0) of.counted += fmt::format("\n{} of {} tiles visited", t.tiles - t.skipped_tiles, t.tiles);
  }
  return all;
}

std::vector<TrafficOf> traffic_of_passes(const Result& r) {
  const TrafficOfAll forward = traffic_of_all(r);
  std::vector<TrafficOf> all(forward.begin(), forward.end());
  for (TrafficOf& of : backward_traffic_of_all(r.experiment)) all.push_back(std::move(of));
  return all;
}

void draw_roofline(View& view, std::span<const TrafficOf> all) {
  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const float line = px(22), combo = px(128);
  if (room.y < line) return;
  const DataSheet& machine = data_sheets[static_cast<std::size_t>(view.machine)];
  const bool plotted = room.y >= line + px(64);
  const TrafficOf& t = of_interest(all);
  const std::string words =
      t.name + fmt::format(" {} flop/B, {} Tflop/s", three_digits(t.intensity), three_digits(attainable(machine, t.intensity)));
  draw_in_line(at, line, Face::label, colours().text,
               fitted(Face::label, plotted ? "Roofline, Tflop/s by flop/B" : words, room.x - combo - px(8)));
  ImGui::SetCursorScreenPos({at.x + room.x - combo, at.y + px(1)});
  machine_combo(view.machine, combo);
  if (!plotted) return;
  ImGui::SetCursorScreenPos({at.x, at.y + line});
  draw_plot(all, machine, {room.x - px(10), room.y - line});
  ImGui::SetCursorScreenPos({at.x, at.y + line});
  ImGui::InvisibleButton("roofline", {room.x, room.y - line});
  explain(
      "The most that memory and arithmetic of this machine allow, by its data sheet: useful operations (4 d for each pair of "
      "query and key that meet; 8 d in the backward pass) over the bytes above. Left of the bend the bytes are the limit.",
      "min(peak, bandwidth * flop/B)\n" + bounds_table(all, machine));
}

FigurePanel bytes_panel(std::span<const TrafficOf> all) {
  FigurePanel p;
  p.y = {.label = "HBM traffic", .unit = "B", .min = 0};
  for (const TrafficOf& t : all) {
    Series s = series_of("", t.ink, Shape::bars);
    s.x = {static_cast<double>(p.x.categories.size())};
    s.y = {t.bytes};
    p.series.push_back(std::move(s));
    p.x.categories.emplace_back(t.name);
  }
  return p;
}

FigurePanel roofline_panel(std::span<const TrafficOf> all, const DataSheet& machine) {
  FigurePanel p;
  p.title = std::string(machine.name) + ", by its data sheet";
  p.y = number_axis("attainable Tflop/s", true);
  double first = 1, last = 1e4;
  for (const TrafficOf& t : all)
    if (t.intensity > 0) {
      first = std::min(first, std::pow(10.0, std::floor(std::log10(t.intensity))));
      last = std::max(last, std::pow(10.0, std::ceil(std::log10(t.intensity))));
    }
  Series roof = series_of("roof", Ink::golden, Shape::line);
  roof.x = {first, ridge(machine), last};
  for (const double x : roof.x) roof.y.push_back(attainable(machine, x));
  p.series.push_back(std::move(roof));
  constexpr std::array shapes{Ink::four, Ink::two, Ink::one, Ink::five, Ink::three, Ink::six};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Ink own = all[i].ink;
    Series s = series_of(all[i].name, own == Ink::golden ? shapes[i] : own, Shape::marks);
    s.x = {all[i].intensity};
    s.y = {attainable(machine, all[i].intensity)};
    p.series.push_back(std::move(s));
  }
  p.x = {.label = "useful operations per byte", .log = true, .min = first, .max = last};
  return p;
}

}  // namespace attoscope::ui
