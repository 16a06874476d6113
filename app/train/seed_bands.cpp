#include "app/train/seed_bands.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/train/weight_measures.h"
#include "ui/frame/pair_look.h"

namespace attoscope {
namespace {

void add_pair(std::vector<SeedLine>& lines, const std::string& label, const PairRecord& pair) {
  auto line = std::ranges::find(lines, label, &SeedLine::label);
  if (line == lines.end()) line = lines.insert(lines.end(), SeedLine{label, {}, {}});
  for (const PairPoint& p : pair.points) {
    const auto at = static_cast<std::size_t>(std::ranges::find(line->steps, p.step) - line->steps.begin());
    if (at == line->steps.size()) line->steps.push_back(p.step), line->found.emplace_back();
    line->found[at].push_back(p.deviations[0]);
  }
}

Series series_of(const SeedLine& line, std::size_t i, double WeightDeviation::* value) {
  constexpr std::array inks{Ink::a, Ink::one, Ink::two, Ink::golden, Ink::three, Ink::four, Ink::five, Ink::six, Ink::b};
  Series s;
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
  if (!line.found.empty() && line.found[0].size() < 2) s.low.clear(), s.high.clear();
  return s;
}

}  // namespace

std::vector<SeedLine> seed_lines(std::span<const FigureRecord> records) {
  std::vector<SeedLine> lines;
  for (const FigureRecord& r : records)
    for (std::size_t i = 0; i < r.record.pairs.size(); ++i)
      add_pair(lines, i == 0 ? r.line : pair_label(r.record.pairs[i].pair), r.record.pairs[i]);
  return lines;
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
  for (FigurePanel& panel : f.panels) panel.y.log = true;
  return f;
}

}  // namespace attoscope
