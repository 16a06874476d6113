// Named figures of trainings at several seeds: for each pair a line with mean, least and greatest.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "app/train/train_figures.h"
#include "kernels/experiment/text.h"
#include "ui/frame/pair_look.h"

namespace attoscope::app {
namespace {

void add_pair(std::vector<SeedLine>& lines, const std::string& label, const PairRecord& pair) {
  auto line = std::ranges::find(lines, label, &SeedLine::label);
  if (line == lines.end()) line = lines.insert(lines.end(), SeedLine{label, {}, {}});
  for (const PairPoint& p : pair.points) {
    const auto at = static_cast<std::size_t>(std::ranges::find(line->steps, p.step) - line->steps.begin());
    if (at == line->steps.size()) {
      line->steps.push_back(p.step);
      line->found.emplace_back();
    }
    line->found[at].push_back(p.deviations[0]);
  }
}

std::vector<SeedLine> seed_lines(std::span<const FigureRecord> records) {
  std::vector<SeedLine> lines;
  for (const FigureRecord& r : records) add_record(lines, r.line, r.record);
  return lines;
}

ui::Series series_of(const SeedLine& line, std::size_t i, double WeightDeviation::* value) {
  constexpr std::array inks{ui::Ink::a,    ui::Ink::one,  ui::Ink::two, ui::Ink::golden, ui::Ink::three,
                            ui::Ink::four, ui::Ink::five, ui::Ink::six, ui::Ink::b};
  ui::Series s;
  s.label = line.label;
  s.ink = inks[i % inks.size()];
  s.dashed = line.label == other_tiles || line.label == "another seed";
  for (std::size_t k = 0; k < line.steps.size(); ++k) {
    const SeedBand at = band_of(line.found[k], value);
    s.x.push_back(line.steps[k]);
    s.y.push_back(at.mean);
    s.low.push_back(at.least);
    s.high.push_back(at.greatest);
  }
  if (!line.found.empty() && line.found[0].size() < 2) {
    s.low.clear();
    s.high.clear();
  }
  return s;
}

/// The mean Wasserstein-1 of a line at its first, or last, measured step; NaN if there is no such line.
double distance(const std::vector<SeedLine>& lines, std::string_view label, bool first) {
  const auto line = std::ranges::find(lines, label, &SeedLine::label);
  if (line == lines.end() || line->found.empty()) return NAN;
  return band_of(first ? line->found.front() : line->found.back(), &WeightDeviation::wasserstein).mean;
}

/// The pair fp16 - fp32 of a training with references; null if there is none.
const PairRecord* half_and_single(const TrainRecord& r) {
  const auto pair = std::ranges::find(r.pairs, "fp16 - fp32", [](const PairRecord& p) { return p.pair.name; });
  return pair == r.pairs.end() || pair->points.empty() ? nullptr : &*pair;
}

/// The steps that the loss scale skipped in the fp16 run of that pair.
std::vector<int> skips_of(const TrainRecord& r) {
  std::vector<int> steps;
  if (const PairRecord* const pair = half_and_single(r))
    for (const StepReport& s : r.runs[static_cast<std::size_t>(pair->pair.x)].steps)
      if (s.skipped) steps.push_back(s.step);
  return steps;
}

/// Final Wasserstein-1 of fp16 - fp32 divided by a - b's, for every seed; `without_skips`: of the line `unskipped`
/// instead of fp16 - fp32.
std::vector<double> half_over_ab(std::span<const FigureRecord> records, bool without_skips) {
  std::vector<double> ratios;
  for (const FigureRecord& r : records) {
    const PairRecord* pair = half_and_single(r.record);
    if (pair == nullptr || r.record.pairs[0].points.empty()) continue;
    const auto control = std::ranges::find_if(records, [&](const FigureRecord& x) {
      return x.line == unskipped && x.record.plan.recipe.seed == r.record.plan.recipe.seed;
    });
    if (without_skips) pair = control == records.end() ? nullptr : &control->record.pairs[0];
    if (pair == nullptr || pair->points.empty()) continue;
    ratios.push_back(pair->points.back().deviations[0].wasserstein / r.record.pairs[0].points.back().deviations[0].wasserstein);
  }
  return ratios;
}

/// A curve's y at x, linearly interpolated; NaN outside its points.
double y_at(const ui::Series& s, double x) {
  for (std::size_t i = 1; i < s.x.size(); ++i)
    if (s.x[i - 1] <= x && x <= s.x[i]) return s.y[i - 1] + (s.y[i] - s.y[i - 1]) * (x - s.x[i - 1]) / (s.x[i] - s.x[i - 1]);
  return NAN;
}

/// Marks the steps that fp16 skipped at any seed, on the curve of fp16 - fp32.
void mark_skips(std::span<const FigureRecord> records, Figure& f) {
  for (ui::FigurePanel& panel : f.panels) {
    const auto curve = std::ranges::find(panel.series, "fp16 - fp32", &ui::Series::label);
    if (curve == panel.series.end()) continue;
    ui::Series marks;
    marks.label = "step that fp16 skipped";
    marks.ink = ui::Ink::b;
    marks.shape = ui::Shape::marks;
    for (const FigureRecord& r : records)
      for (const int step : skips_of(r.record)) {
        marks.x.push_back(step);
        marks.y.push_back(y_at(*curve, step));
      }
    if (!marks.x.empty()) panel.series.push_back(std::move(marks));
  }
}

/// "0.2 to 0.3", or "0.2" if both are equal.
std::string range_text(const std::vector<double>& values, int digits = 2) {
  const SeedBand band = band_of(values);
  const std::string least = fmt::format("{:.{}g}", band.least, digits),
                    greatest = fmt::format("{:.{}g}", band.greatest, digits);
  return least == greatest ? least : least + " to " + greatest;
}

/// Describes the effect of fp16's skipped steps on its distance from fp32, compared with the control `unskipped`.
std::string skips_text(std::span<const FigureRecord> records) {
  std::vector<double> first;
  std::size_t count = 0;
  for (const FigureRecord& r : records) {
    const std::vector<int> skips = skips_of(r.record);
    if (!skips.empty()) first.push_back(skips.front());
    count += skips.size();
  }
  if (half_over_ab(records, false).empty()) return "";
  const std::string at_end = "fp16 - fp32 is " + range_text(half_over_ab(records, false)) + " times a - b at the end";
  if (first.empty()) return "No step of fp16 is skipped; " + at_end + ". ";
  int skipped_in_control = 0;
  for (const FigureRecord& r : records)
    if (r.line == unskipped) skipped_in_control += skipped_steps(r.record.runs[0]);
  const std::string control = half_over_ab(records, true).empty()
                                  ? ""
                                  : fmt::format(", and with a loss scale of {:g}, which skips {}, {} times", low_loss_scale,
                                                skipped_in_control, range_text(half_over_ab(records, true)));
  constexpr int of_a_step = 7;  // digits
  return fmt::format("The loss scale of fp16 skips {} over all seeds (marked), the first at step {}; {}{}. ",
                     counted(count, "step"), range_text(first, of_a_step), at_end, control);
}

std::string seeds_text(const ui::FigureSettings& settings) {
  return settings.seeds == 1 ? "seed 1" : fmt::format("mean, least and greatest over seeds 1 to {}", settings.seeds);
}

/// The training conditions of a and b for a caption, without the seed.
std::string conditions_of(const ui::FigureSettings& settings, std::span<const FigureRecord> records) {
  std::string text = training_conditions(records.front().record);
  const std::string seed = fmt::format("seed {}", records.front().record.plan.recipe.seed);
  if (const auto at = text.find(seed); at != std::string::npos) text.replace(at, seed.size(), seeds_text(settings));
  return text;
}

}  // namespace

Figure weights_over_seeds(const ui::FigureSettings& settings, std::span<const FigureRecord> records) {
  const std::vector<SeedLine> lines = seed_lines(records);
  Figure f = bands_figure("train-weights", lines);
  const double ab = distance(lines, "a - b", false), control = distance(lines, other_tiles, false);
  f.caption = fmt::format(
      "Distance of the weights of two models that learn the same batches from the same first weights. At the end a - b is "
      "{:.2g} in Wasserstein-1, a - exact attention {:.2g} and b - exact attention {:.2g}. Two models with exact attention "
      "that differ in their tiles alone ('other tiles') are {:.2g} times a - b apart after the first step and {:.2g} times at "
      "the end{}. a - b {} over training, {} the paper's figure 7; ",
      ab, distance(lines, "a - exact", false), distance(lines, "b - exact", false),
      distance(lines, other_tiles, true) / distance(lines, "a - b", true), control / ab,
      control > 0.5 * ab ? ", so that much of a - b is not the attention's own rounding" : "",
      ab > distance(lines, "a - b", true) ? "rises" : "does not rise",
      ab > distance(lines, "a - b", true) ? "as in" : "unlike");
  f.caption += conditions_of(settings, records);
  return f;
}

Figure references_over_seeds(const ui::FigureSettings& settings, std::span<const FigureRecord> records) {
  const std::vector<SeedLine> lines = seed_lines(records);
  Figure f = bands_figure("train-reference", lines);
  mark_skips(records, f);
  const double ab = distance(lines, "a - b", false), seed = distance(lines, "another seed", false),
               precision = distance(lines, "bf16 - fp32", false), half = distance(lines, in_half, false);
  const bool agrees = ab < seed && seed < precision && precision > 2 * ab;
  f.caption = fmt::format(
      "Distance of the weights beside that of another seed and of other formats. In Wasserstein-1 a - b is {:.2g} times bf16 - "
      "fp32 and {:.2g} times another seed. The paper's figure 8 orders them a - b, initialisation, precision, with precision 2 "
      "to 5 times a - b: this figure {}. With a and b in fp16, a - b is 1/{:.2g} of bf16 - fp32. {}",
      ab / precision, ab / seed, agrees ? "agrees" : "does not agree", precision / half, skips_text(records));
  f.caption += conditions_of(settings, records);
  return f;
}

void add_record(std::vector<SeedLine>& lines, const std::string& line, const TrainRecord& record) {
  for (std::size_t i = 0; i < record.pairs.size(); ++i)
    add_pair(lines, i == 0 ? line : ui::pair_label(record.pairs[i].pair), record.pairs[i]);
}

SeedBand band_of(const std::vector<double>& values) {
  SeedBand band{NAN, 0, NAN};
  int count = 0;
  for (const double x : values) {
    if (std::isnan(x)) continue;
    band.least = std::fmin(band.least, x);
    band.greatest = std::fmax(band.greatest, x);
    band.mean += (x - band.mean) / ++count;
  }
  if (count == 0) band.mean = NAN;
  return band;
}

SeedBand band_of(const std::vector<WeightDeviation>& found, double WeightDeviation::* value) {
  std::vector<double> values;
  for (const WeightDeviation& d : found) values.push_back(d.*value);
  return band_of(values);
}

Figure bands_figure(const char* name, const std::vector<SeedLine>& lines) {
  Figure f = over_steps(name, lines.size(), "", [&](std::size_t i, auto value) { return series_of(lines[i], i, value); });
  for (ui::FigurePanel& panel : f.panels) panel.y.log = true;
  return f;
}

}  // namespace attoscope::app
