#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>

#include "kernels/experiment/csv_text.h"
#include "kernels/experiment/text.h"
#include "ui/picture/pictures.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/progress.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// "The mean |error| of flash2 hw", "The max error of flash2 hw, ulps", "The number of NaN and infinite elements of flash2 hw".
std::string subject(const SweepTable& t) {
  if (t.of.empty()) return t.quantity;
  const std::string method = t.of == "a_minus_b" ? t.methods[0] + " − " + t.methods[1] : t.methods[t.of == "b" ? 1 : 0];
  std::string text = (t.quantity.ends_with("elements") ? "The number of " : "The ") + t.quantity;
  text.insert(std::min({text.find(" / "), text.find(", "), text.size()}), " of " + method);
  return text + (t.measure.ends_with("golden") ? " / golden" : "");
}

/// "The mean |error| of flash2 hw falls 2.31× from block_k 16 to 1024".
std::string trend(const SweepTable& t, const SweepExtremes& e, std::size_t from, std::size_t to) {
  const double x = t.cells[from].mean, y = t.cells[to].mean;
  const std::string way = " from " + t.axes[0].title + " " + t.axes[0].names[from] + " to " + t.axes[0].names[to];
  if (std::abs(y - x) <= 5e-4 * std::abs(x)) return subject(t) + " stays the same" + way;
  if (!(x > 0 && y > 0)) return subject(t) + " goes" + way + ": " + mean_text(e, x) + " to " + mean_text(e, y);
  const double factor = std::max(x, y) / std::min(x, y);
  const std::string amount = factor < 1.1 ? fmt::format("{:.1f} %", 100 * std::abs(y / x - 1)) : times(factor);
  return subject(t) + (y >= x ? " grows " : " falls ") + amount + way;
}

/// "0.51× … 4.60×"; one number if both texts are equal.
std::string span_of(const std::string& least, const std::string& largest) {
  return least == largest ? least : least + " … " + largest;
}

/// "fp32, N 64": values, numbers with their parameter's name.
std::string short_place(const SweepTable& t, std::size_t cell) {
  std::string text;
  const SweepPlace place = place_of(t, cell);
  for (std::size_t i = 0; i < t.axes.size(); ++i)
    text += (i > 0 ? ", " : "") + (t.axes[i].numbers.empty() ? "" : t.axes[i].title + " ") +
            t.axes[i].names[static_cast<std::size_t>(place[i])];
  return text;
}

std::string ratio_words(const SweepTable& t, const SweepExtremes& e) {
  const std::string least = times(t.cells[e.least].mean), largest = times(t.cells[e.largest].mean);
  const auto is = [&](const std::string& times) { return fmt::format("{} is {} {}", t.methods[0], times, t.methods[1]); };
  if (e.known == 1) return is(least);
  const std::string range = is(span_of(least, largest));
  if (e.below_one == 0 && e.above_one == 0) return range + ": the same";
  if (e.above_one == e.known) return range + ": more, everywhere";
  if (e.below_one == 0) return range + fmt::format(": more at {} of {}", e.above_one, e.known);
  if (e.below_one == e.known) return range + ": less, everywhere";
  return range + fmt::format(": less at {} of {}", e.below_one, e.known);
}

std::string known_words(const SweepTable& t, const SweepExtremes& e) {
  if (t.of == "ratio") return ratio_words(t, e);
  if (e.known == 1) return subject(t) + ": " + mean_text(e, t.cells[e.least].mean) + " at " + short_place(t, e.least);
  if (t.axes.size() == 1 && !t.axes[0].numbers.empty()) {
    std::vector<std::size_t> known;
    for (std::size_t i = 0; i < t.cells.size(); ++i)
      if (t.cells[i].count > 0 && std::isfinite(t.cells[i].mean)) known.push_back(i);
    const auto by_value = [&](std::size_t i) { return t.axes[0].numbers[i]; };
    return trend(t, e, std::ranges::min(known, {}, by_value), std::ranges::max(known, {}, by_value));
  }
  return subject(t) + ": " + span_of(mean_text(e, t.cells[e.least].mean), mean_text(e, t.cells[e.largest].mean));
}

/// Headline without results.
std::string waiting_words(const SweepView& s) {
  const SweepProgress& p = s.progress;
  if (!p.wrong.empty() || !p.wrong_values[0].empty() || !p.wrong_values[1].empty()) return "This plan cannot be run yet";
  if (p.state == SweepProgress::State::running) return "Computing the first points";
  if (p.done == 0) return "Run it: " + counted(p.points, "point");
  return p.failed == p.done ? "No point could be computed" : "No finite number anywhere";
}

std::string sentence(const SweepTable& t, bool captured, const SweepPlan& plan, const SweepExtremes& e) {
  const bool all = plan.spread == SeedSpread::min_max;
  const bool is_trend = t.axes.size() == 1 && !t.axes[0].numbers.empty() && t.of != "ratio";
  const std::string ends =
      e.known > 1 && !is_trend ? "; least at " + short_place(t, e.least) + ", most at " + short_place(t, e.largest) : "";
  if (t.seeds == 1) return measure_title(t) + (captured ? ", captured input" : ", one seed") + ends;
  return measure_title(t) + fmt::format(": mean of {}, ", t.repeats) +
         (all ? "least and largest" : "± one standard deviation") + ends;
}

std::string input_text(const Input& input, const TensorFileInfo& file) {
  if (input.kind != InputKind::tensors) return std::string(name(input.kind));
  return shown_file(input.file) + ", " + head_name(file.file == input.file ? file : TensorFileInfo(), input.index);
}

/// The values separated by commas, or by semicolons if one has a comma.
std::string listed(const std::vector<std::string>& values) {
  const bool semicolons = std::ranges::any_of(values, [](const std::string& v) { return v.find(',') != std::string::npos; });
  return fmt::format("{}", fmt::join(values, semicolons ? ";" : ",")) + (semicolons && values.size() == 1 ? ";" : "");
}

}  // namespace

SweepExtremes extremes(const SweepTable& t) {
  SweepExtremes e;
  double least_size = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < t.cells.size(); ++i) {
    const SweepCell& c = t.cells[i];
    if (c.count == 0 || !std::isfinite(c.mean)) continue;
    if (e.known == 0) e.least = e.largest = i;
    if (c.mean < t.cells[e.least].mean) e.least = i;
    if (c.mean > t.cells[e.largest].mean) e.largest = i;
    e.largest_size = std::max(e.largest_size, std::abs(c.mean));
    if (c.mean != 0) least_size = std::min(least_size, std::abs(c.mean));
    if (c.mean > 0 && (e.least_above == 0 || c.mean < e.least_above)) e.least_above = c.mean;
    e.below_one += c.mean < 1;
    e.above_one += c.mean > 1;
    ++e.known;
  }
  if (e.largest_size > 0 && least_size >= 0.01 && e.largest_size < 1e4)  // the largest mean has four digits
    e.decimals = std::clamp(3 - static_cast<int>(std::floor(std::log10(e.largest_size))), 0, 3);
  return e;
}

std::string mean_text(const SweepExtremes& e, double x, int more) {
  const bool plain = e.decimals >= 0 && std::isfinite(x) && std::abs(x) < 1e6;
  if (!plain) return scientific(x, 3 + more);
  const int decimals = e.decimals + more;
  if (x != 0 && std::abs(x) < 0.5 * std::pow(10.0, -decimals)) return scientific(x, 2);
  return fmt::format("{:.{}f}", x, decimals);
}

bool refresh(SweepDrawing& d, const std::shared_ptr<const SweepTable>& table, const SweepPlan& plan) {
  const SweepAxes axes{plan.spread, plan.log_x, plan.log_y};
  if (d.table == table && d.axes == axes) return false;
  d = SweepDrawing{};
  d.table = table;
  d.axes = axes;
  if (!table) return true;
  const SweepTable& t = *table;
  static_cast<SweepLines&>(d) = sweep_lines(t, axes);
  d.extremes = extremes(t);
  for (std::size_t i = 0; i < t.axes.size(); ++i) d.longest[i] = std::ranges::max(t.axes[i].names, {}, &std::string::size);
  return true;
}

SweepPlace place_of(const SweepTable& t, std::size_t cell) {
  return {static_cast<int>(cell / t.across()), static_cast<int>(cell % t.across())};
}

const SweepCell* cell_at(const SweepTable& table, const SweepPlace& place) {
  const auto count = [&](std::size_t i) { return i < table.axes.size() ? static_cast<int>(table.axes[i].names.size()) : 1; };
  if (place[0] < 0 || place[1] < 0 || place[0] >= count(0) || place[1] >= count(1)) return nullptr;
  return &table.cells[static_cast<std::size_t>(place[0]) * table.across() + static_cast<std::size_t>(place[1])];
}

std::string sweep_csv(const SweepTable& table) {
  std::string header;
  for (const SweepValues& axis : table.axes) header += axis.key + ",";
  CsvText csv(header + "mean,std,min,max,seeds,error");
  for (std::size_t i = 0; i < table.cells.size(); ++i) {
    const SweepCell& c = table.cells[i];
    if (c.count == 0 && c.error < 0) continue;
    csv.add(table.axes[0].names[i / table.across()]);
    if (table.axes.size() > 1) csv.add(table.axes[1].names[i % table.across()]);
    for (const double x : {c.mean, c.std, c.min, c.max}) csv.add(c.count > 0 ? fmt::format("{:.17g}", x) : "");
    csv.add(c.count).add(c.error < 0 ? "" : table.errors[static_cast<std::size_t>(c.error)]).end_line();
  }
  return csv.take();
}

std::string progress_text(const SweepProgress& p) {
  std::string text = fmt::format("{:{}} of {}", p.done, std::to_string(p.points).size(), counted(p.points, "point"));
  if (p.waits) return text + ", waits for Explore";
  if (p.state == SweepProgress::State::running && p.seconds_left >= 0) text += ", " + time_left(p.seconds_left);
  if (p.state == SweepProgress::State::paused) text += ", paused";
  return text;
}

std::string place_text(const SweepTable& t, const SweepPlace& place) {
  std::string text;
  for (std::size_t i = 0; i < t.axes.size(); ++i)
    text += (i > 0 ? ", " : "") + t.axes[i].title + " " + t.axes[i].names[static_cast<std::size_t>(place[i])];
  return text;
}

SweepWords sweep_words(const SweepView& s, const SweepPlan& plan, const SweepExtremes& e) {
  const bool captured = !s.progress.no_seeds.empty();
  if (!s.table || e.known == 0 || (s.progress.stale && s.progress.done == 0))
    return {waiting_words(s), s.table && !s.progress.stale ? sentence(*s.table, captured, plan, e) : ""};
  return {known_words(*s.table, e), sentence(*s.table, captured, plan, e)};
}

std::string fixed_text(const Experiment& e, const SweepPlan& plan, const TensorFileInfo& file) {
  std::vector<std::string> parts;
  const auto add = [&](std::initializer_list<std::string_view> keys, const std::string& text) {
    if (std::ranges::none_of(keys, [&](std::string_view k) { return plan.first.key == k || plan.second.key == k; }))
      parts.push_back(text);
  };
  add({"algorithm", "policy"}, "a: " + method_words(e.a));
  add({"baseline"}, "b: " + method_words(e.b));
  add({"format", "mantissa_bits", "exponent_bits"}, name(e.format));
  add({"n"}, fmt::format("N {}", e.problem.n));
  if (e.problem.n_k > 0) add({"n_k"}, fmt::format("keys {}", e.problem.n_k));
  add({"d"}, fmt::format("d {}", e.problem.d));
  if (e.problem.d_v > 0) add({"d_v"}, fmt::format("d_v {}", e.problem.d_v));
  add({"block_k", "block_q", "tile", "tile_square", "tile_area"}, fmt::format("tiles {}×{}", e.a.block_q, e.a.block_k));
  add({"mask"}, "mask " + mask_text(e.problem.mask));
  add({"input", "head"}, input_text(e.problem.input, file));
  return fmt::format("{}", fmt::join(parts, ", "));
}

ValueForm form_of(std::string_view values) {
  const std::size_t last = values.rfind(':');
  if (last == std::string_view::npos) return ValueForm::list;
  return values.substr(last + 1).starts_with('x') ? ValueForm::doubling : ValueForm::linear;
}

std::string in_form(ValueForm form, const std::vector<std::string>& values) {
  if (form == ValueForm::list || values.empty()) return listed(values);
  std::vector<double> numbers;
  for (const std::string& v : values) numbers.push_back(std::atof(v.c_str()));
  const auto [least, largest] = std::ranges::minmax(numbers);
  if (form == ValueForm::doubling) {
    const double first = least > 0 ? least : 1;
    return fmt::format("{:.12g}:{:.12g}:x2", first, std::max(first, largest));
  }
  const double apart = (largest - least) / std::max(1.0, static_cast<double>(values.size()) - 1);
  const bool whole = std::ranges::all_of(numbers, [](double x) { return x == std::floor(x); });
  const double step = whole ? std::max(1.0, std::round(apart)) : apart > 0 ? apart : 1;
  return fmt::format("{:.12g}:{:.12g}:{:.12g}", least, largest, step);
}

std::string without(const std::vector<std::string>& values, std::size_t removed) {
  std::vector<std::string> rest = values;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(removed));
  return listed(rest);
}

}  // namespace attoscope::ui
