// A figure as a gnuplot script.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "app/figures/gnuplot.h"
#include "app/figures/gnuplot_text.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/text.h"
#include "ui/frame/panel_axes.h"

namespace attoscope::app {

std::string gnuplot_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f)
      result += ' ';
    else if (code >= 0x80 || is_letter(c) || c == ' ')
      result += c;
    else
      result += fmt::format("\\{:03o}", code);
  }
  return result + '"';
}

std::string gnuplot_number(double x) { return std::isfinite(x) ? shortest(x) : "NaN"; }

std::string gnuplot_colour(std::uint32_t rgb) { return fmt::format("'#{:06x}'", rgb); }

PrintLook print_look(ui::Ink ink, int round) {
  static constexpr std::array<PrintLook, 13> looks{{{0x7a4800, 7, "1"},
                                                    {0x2f8fd0, 8, "(8,3)"},
                                                    {0x59636f, 9, "1"},
                                                    {0xa03f79, 11, "1"},
                                                    {0xc2301c, 13, "1"},
                                                    {0x0b7a57, 15, "1"},
                                                    {0x0e356b, 7, "1"},
                                                    {0xd98f00, 5, "(10,4)"},
                                                    {0x007b5e, 9, "(3,3)"},
                                                    {0x7cc8f5, 13, "(12,3,3,3)"},
                                                    {0x8c2800, 6, "(6,3)"},
                                                    {0xc0629a, 4, "(12,3,3,3,3,3)"},
                                                    {0x1b2027, 12, "1"}}};
  PrintLook look = looks[static_cast<std::size_t>(ink)];
  if (round == 0) return look;
  constexpr int marks = 15, marks_on = 7, one = static_cast<int>(ui::Ink::one), inks = static_cast<int>(ui::Ink::six) - one + 1;
  look.mark = (look.mark - 1 + round * marks_on) % marks + 1;
  look.dash = looks[static_cast<std::size_t>(one + (static_cast<int>(ink) - one + round) % inks)].dash;
  return look;
}

namespace {

const auto literal = gnuplot_literal;
const auto number = gnuplot_number;

constexpr std::uint32_t text_colour = 0x1b2027;
std::string ink(ui::Ink i) { return gnuplot_colour(print_look(i).colour); }

/// Print parameters of a panel.
struct Print {
  bool latex = false;
  double across = 5, up = 5;    ///< numbers of ticks that fit
  double weight = 1;            ///< of lines
  double mark = 1;              ///< size of marks; TikZ draws them smaller
  double wide = 85, high = 66;  ///< size of the panel in mm, scaled to an 8-point font
};

constexpr double letter_mm = 1.45, digit_mm = 1.6;  ///< width of a letter and of a digit at 8 points
constexpr double line_mm = 2.8;                     ///< height of a line at 8 points
constexpr double tick_mm = 15;                      ///< width of a panel for each tick of x
constexpr double label_share = 0.85;                ///< of a panel's side, for the label along it

/// A tick's literal text, with % doubled: in ticks it begins a number format.
std::string literal_tick(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '%' ? 2 : 1, c);
  return literal(doubled);
}

// --- data -------------------------------------------------------------------------------------------------------------

/// "$P0S2": the data of a series.
std::string block_name(std::size_t panel, std::size_t series) { return fmt::format("$P{}S{}", panel, series); }
std::string heat_name(std::size_t panel) { return fmt::format("$H{}", panel); }

/// Each value as a horizontal segment half a step to either side.
ui::Series stairs(const ui::Series& s) {
  ui::Series levels = s;
  levels.shape = ui::Shape::line;
  levels.x.clear();
  levels.y.clear();
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const double before = i > 0 ? s.x[i] - s.x[i - 1] : i + 1 < s.x.size() ? s.x[i + 1] - s.x[i] : 1;
    const double after = i + 1 < s.x.size() ? s.x[i + 1] - s.x[i] : before;
    levels.x.insert(levels.x.end(), {s.x[i] - before / 2, s.x[i] + after / 2});
    levels.y.insert(levels.y.end(), 2, s.y[i]);
  }
  return levels;
}

std::string series_block(const std::string& name, const ui::Series& s) {
  if (s.shape == ui::Shape::steps) return series_block(name, stairs(s));
  std::string text = name + " << EOD\n";
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    text += fmt::format("{} {}", number(s.x[i]), number(s.y[i]));
    if (!s.low.empty()) text += fmt::format(" {} {}", number(s.low[i]), number(s.high[i]));
    text += '\n';
  }
  if (s.x.empty()) text += "NaN NaN NaN NaN\n";
  return text + "EOD\n";
}

// --- axes -------------------------------------------------------------------------------------------------------------

/// True if the panel has something to draw: gnuplot draws no empty plot.
bool has_points(const ui::FigurePanel& p) {
  const auto drawable = [](double value, const ui::FigureAxis& a) { return std::isfinite(value) && (!a.log || value > 0); };
  for (const ui::Series& s : p.series)
    for (std::size_t i = 0; i < s.x.size(); ++i)
      if (drawable(s.x[i], p.x) && drawable(s.y[i], p.y)) return true;
  return p.heat.has_value();
}

/// Axes of an empty panel, with a label that no value can be drawn.
std::string empty_axes(const ui::FigurePanel& p) {
  const bool has_range = (p.x.min && p.x.max) || !p.x.categories.empty();
  return std::string(has_range ? "" : "set xrange [1:10]\n") + (p.y.min && p.y.max ? "" : "set yrange [1:10]\n") +
         "set label 1 \"no value can be drawn\" at graph 0.5, graph 0.5 center noenhanced\n";
}

/// Powers of 2 in the range, all or every second one: (128, 512, 2048).
std::string ticks_of_two(const ui::NumberSpan& range) {
  const double step = range.high / range.low > 256 ? 4 : 2;
  std::string text;
  for (double x = std::exp2(std::ceil(std::log2(range.low))); x <= range.high; x *= step)
    text += (text.empty() ? "(" : ", ") + number(x);
  return text.empty() ? "autofreq" : text + ")";
}

/// A number as printed: "−0.5", "1.05×10^{-4}".
std::string printed(double x, bool latex) {
  std::string text = ui::tick_text(x);
  const std::size_t e = text.find('e');
  if (e == std::string::npos && latex) return "'$" + text + "$'";
  if (e != std::string::npos) {
    const std::string factor = text.substr(0, e), power = "10^{" + text.substr(e + 1) + "}";
    const bool one = factor == "1" || factor == "-1";
    text = (one ? factor.substr(0, factor.size() - 1) : factor + (latex ? "\\times " : "×")) + power;
    if (latex) return "'$" + text + "$'";
  }
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 3) text.replace(at, 1, "−");
  return "'" + text + "'";
}

/// Ticks with distinct texts; a logarithmic axis of less than 6 decades also has minor ticks.
std::string ticks_of(const ui::FigureAxis& a, const ui::NumberSpan& range, double most, bool latex) {
  std::string text;
  const auto add = [&](const std::string& tick) { text += (text.empty() ? "(" : ", ") + tick; };
  const std::vector<double> ticks = ui::axis_ticks(range.low, range.high, a.log, most);
  for (const double t : ticks)
    if (!a.whole || t == std::floor(t)) add(printed(t, latex) + " " + number(t));
  const double decades = a.log ? std::log10(range.high / range.low) : 0;
  if (decades >= std::log10(8.0) && decades < 6)
    for (double power = std::pow(10, std::floor(std::log10(range.low))); power <= range.high; power *= 10)
      for (int k = 1; k <= 9; ++k)
        if (const double t = k * power; t >= range.low && t <= range.high) add("'' " + number(t) + " 1");
  return text.empty() ? "autofreq" : text + ")";
}

/// Number of visible letters of a text, which may be LaTeX.
std::size_t letters_of(std::string_view text) {
  std::size_t letters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && is_letter_or_digit(text[i + 1]))
      while (i + 1 < text.size() && is_letter_or_digit(text[i + 1])) ++i;
    else if (std::string_view("\\{}$").find(text[i]) != std::string_view::npos ||
             (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80)
      continue;
    ++letters;
  }
  return letters;
}

/// Breaks a text into lines of about equal length, at most `mm` wide at 8 points.
std::string in_lines(std::string rest, double mm) {
  const double width = static_cast<double>(letters_of(rest)) * letter_mm, lines = std::max(1.0, std::ceil(width / mm));
  std::string text;
  for (double left = lines; left > 1; --left) {
    const auto even = static_cast<std::size_t>(std::ceil(static_cast<double>(rest.size()) / left));
    const std::size_t before = rest.rfind(' ', even), after = rest.find(' ', even);
    const bool fits = after != rest.npos && static_cast<double>(letters_of(rest.substr(0, after))) * letter_mm <= mm;
    const std::size_t end = fits ? after : before;
    if (end == rest.npos || end == 0) break;
    text += literal(rest.substr(0, end)) + ".\"\\n\".";
    rest.erase(0, end + 1);
  }
  return text + literal(rest);
}

double letters_of_longest(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, letters_of(name));
  return static_cast<double>(longest);
}

/// Ticks with names along `mm` at 8 points: those of x are rotated if they are too long, and further where rotated lines would
/// overlap; of more names than lines fit, every second, third, ... is shown.
std::string named_ticks(const char* which, const std::vector<std::string>& names, double mm) {
  constexpr double sine = 0.574;  // of 35 degrees
  const double apart = mm / static_cast<double>(names.size());
  const auto step = static_cast<std::size_t>(std::ceil(line_mm / apart));
  std::string text = fmt::format("set {}tics (", which);
  for (std::size_t i = 0; i < names.size(); i += step)
    text += (i == 0 ? "" : ", ") + literal_tick(names[i]) + " " + std::to_string(i);
  const bool rotates = *which == 'x' && (letters_of_longest(names) + 1) * digit_mm > apart;
  const char* const turned = !rotates ? "norotate" : apart * sine < line_mm ? "rotate by -90" : "rotate by -35";
  return text + ") " + turned + " noenhanced\n";
}

/// Range of a numeric axis, as in the window; none for a heat map, which sets its own, unless names of y narrow it.
std::optional<ui::NumberSpan> range_of(const ui::FigurePanel& p, bool is_x) {
  if (p.heat && is_x && p.x.categories.empty() && !p.y.categories.empty()) return ui::NumberSpan{p.heat->x0, p.heat->x1};
  if (p.heat || !(is_x ? p.x : p.y).categories.empty() || !has_points(p)) return std::nullopt;
  std::vector<const ui::Series*> all;
  for (const ui::Series& s : p.series) all.push_back(&s);
  const ui::NumberSpan range = is_x ? x_range(p) : y_range(p.y, all);
  return range.low < range.high && (!(is_x ? p.x : p.y).log || range.low > 0) ? std::optional(range) : std::nullopt;
}

std::string axis_commands(const char* which, const ui::FigureAxis& a, const ui::FigurePanel& p, const Print& print) {
  const double label_mm = label_share * (*which == 'x' ? print.wide : print.high);
  const std::string label = in_lines(a.label, label_mm);
  const bool wide = print.latex && *which == 'y' && label.find("\\n") != std::string::npos;  // TikZ keeps room for one line
  std::string text = fmt::format("set {}label {} noenhanced offset {},0\n", which, label, wide ? -1 : 0);
  text += a.log ? fmt::format("set logscale {} {}\n", which, a.base) : fmt::format("unset logscale {}\n", which);
  const std::optional<ui::NumberSpan> range = range_of(p, *which == 'x');
  text += range ? fmt::format("set {}range [{}:{}]\n", which, number(range->low), number(range->high))
                : fmt::format("set {}range [{}:{}]\n", which, a.min ? number(*a.min) : "*", a.max ? number(*a.max) : "*");
  if (!a.categories.empty()) return text + named_ticks(which, a.categories, 0.75 * (*which == 'x' ? print.wide : print.high));
  const bool of_two = a.log && a.base == 2;
  const std::string format = !a.unit.empty() ? "'%.1s %c" + a.unit + "'" : of_two ? "'%.0f'" : print.latex ? "'$%h$'" : "'%h'";
  const std::string places = !range || !a.unit.empty() ? "autofreq"
                             : of_two ? ticks_of_two(*range)
                                      : ticks_of(a, *range, *which == 'x' ? print.across : print.up, print.latex);
  return text + fmt::format("set {0}tics {2} norotate enhanced\nset format {0} {1}\n", which, format, places);
}

// --- series -----------------------------------------------------------------------------------------------------------

std::string error_bars(const std::string& block, const std::string& colour, double weight) {
  return fmt::format("{} using 1:3:(0):($4-$3) with vectors nohead lc rgb {} lw {} notitle", block, colour, weight);
}

/// A band within `around` bands of its ink; the legend has it as dark as it is over them.
std::string band_plot(const std::string& block, const ui::Series& s, const std::string& title, int around) {
  constexpr double opacity = 0.14;
  const auto filled = [&](double dark) {
    return fmt::format("with filledcurves lc rgb {} fs transparent solid {:.2g} noborder", ink(s.ink), dark);
  };
  const std::string band = block + " using 1:3:4 " + filled(opacity);
  if (around == 0) return band + " " + title;
  return band + " notitle, NaN " + filled(1 - std::pow(1 - opacity, around + 1)) + " " + title;
}

/// A curve or its marks, without error bars. `own_dash`: draw it with its ink's dash pattern.
std::string curve_plot(const std::string& block, const ui::Series& s, const std::string& title, const Print& print,
                       bool own_dash) {
  const PrintLook look = print_look(s.ink, s.round);
  const std::string colour = "lc rgb " + gnuplot_colour(look.colour);
  const std::string line = fmt::format("lw {} dt {}", (s.ink == ui::Ink::golden ? 1.0 : 1.6) * print.weight,
                                       s.dashed   ? "2"
                                       : own_dash ? look.dash
                                                  : "1");
  const std::string mark = fmt::format("pt {} ps {}", look.mark, 0.55 * print.mark);
  switch (s.shape) {
    case ui::Shape::line:
    case ui::Shape::steps:
      return fmt::format("{} with lines {} {} {}", block, colour, line, title);
    case ui::Shape::marks:
      return fmt::format("{} with points {} {} {}", block, colour, mark, title);
    case ui::Shape::dots:
      return fmt::format("{} with points {} pt 7 ps {} {}", block, colour, 0.15 * print.mark, title);
    case ui::Shape::band:
    case ui::Shape::bars:
    case ui::Shape::line_and_marks:
      break;
  }
  return fmt::format("{} with linespoints {} {} {} {}", block, colour, line, mark, title);
}

/// `groups`: number of bars side by side at one x. `around`: number of bands around a band.
std::string series_plot(const std::string& block, const ui::Series& s, int groups, int around, const Print& print,
                        bool own_dash) {
  const std::string title = s.label.empty() ? "notitle" : "title " + literal(s.label) + " noenhanced";
  if (s.shape == ui::Shape::band) return band_plot(block, s, title, around);
  if (s.shape == ui::Shape::bars) {
    const std::string bars =
        fmt::format("{} using 1:2:({}) with boxes fs solid 0.85 noborder lc rgb {} {}", block, 0.8 / groups, ink(s.ink), title);
    return s.low.empty() ? bars : bars + ", " + error_bars(block, gnuplot_colour(text_colour), print.weight);
  }
  return (!s.low.empty() ? error_bars(block, ink(s.ink), print.weight) + ", " : "") +
         curve_plot(block, s, title, print, own_dash);
}

/// Number of earlier bands of the ink of series `i`.
int bands_before(const std::vector<ui::Series>& series, std::size_t i) {
  int bands = 0;
  for (std::size_t k = 0; k < i; ++k) bands += series[k].shape == ui::Shape::band && series[k].ink == series[i].ink;
  return bands;
}

/// Largest number of bars at one x.
int bars_at_a_place(const std::vector<ui::Series>& series) {
  std::map<double, int> bars;
  for (const ui::Series& s : series)
    if (s.shape == ui::Shape::bars)
      for (const double x : s.x) ++bars[x];
  int most = 1;
  for (const auto& [x, count] : bars) most = std::max(most, count);
  return most;
}

/// Moves bars of several series at the same x side by side.
std::vector<ui::Series> beside_each_other(std::vector<ui::Series> series, int groups) {
  int at = 0;
  for (ui::Series& s : series) {
    if (groups == 1 || s.shape != ui::Shape::bars) continue;
    for (double& x : s.x) x += (at + 0.5) / groups * 0.8 - 0.4;
    ++at;
  }
  return series;
}

// --- legends ----------------------------------------------------------------------------------------------------------

bool same_look(const ui::Series& x, const ui::Series& y) {
  return x.label == y.label && x.ink == y.ink && x.shape == y.shape && x.dashed == y.dashed && x.round == y.round;
}

/// True if all panels show the same series: then one legend stands above all of them.
bool shares_legend(const Figure& f) {
  return f.panels.size() > 1 && f.panels[0].series.size() > 1 && std::ranges::all_of(f.panels, [&](const ui::FigurePanel& p) {
           return !p.heat && std::ranges::equal(p.series, f.panels[0].series, same_look);
         });
}

/// Number of legend entries of these series.
int entries_of(std::span<const ui::Series> series) {
  return static_cast<int>(std::ranges::count_if(series, [](const ui::Series& s) { return !s.label.empty(); }));
}

std::size_t longest_label(std::span<const ui::Series> series) {
  std::size_t longest = 1;
  for (const ui::Series& s : series) longest = std::max(longest, s.label.size());
  return longest;
}

/// Height of a panel over its width.
double aspect_of(const Figure& f) { return f.aspect > 0 ? f.aspect : f.panels_across == 1 && f.columns == 2 ? 0.5 : 0.78; }

/// The figure's width in mm, scaled to an 8-point font.
double width_in_letters(const Figure& f) { return width_mm(f) * 8 / font_points(f); }

/// Number of legend entries that fit side by side into `mm`.
int legend_columns(std::span<const ui::Series> series, double mm) {
  constexpr double sample = 9, letter = 1.5;  // mm at 8 points
  return std::max(1, static_cast<int>(mm / (sample + letter * static_cast<double>(longest_label(series)))));
}

/// Columns of the legend above all panels. gnuplot wraps long entries within the first panel's width.
int shared_columns(const Figure& f) {
  constexpr std::size_t long_label = 10;
  const std::vector<ui::Series>& series = f.panels[0].series;
  return legend_columns(series,
                        longest_label(series) > long_label ? 0.8 * width_in_letters(f) / f.panels_across : width_in_letters(f));
}

/// Lines of the legend above all panels; 0: each panel has its own.
int shared_lines(const Figure& f) {
  if (!shares_legend(f)) return 0;
  const int across = shared_columns(f), lines = (entries_of(f.panels[0].series) + across - 1) / across;
  return lines + lines / 4;  // legend lines are a little further apart than title lines
}

std::string legend_commands(const Figure& f, std::size_t index) {
  const ui::FigurePanel& p = f.panels[index];
  if (shares_legend(f)) {
    if (index > 0) return "unset key\n";
    return fmt::format("set key at screen 0.5, screen 0.995 center top horizontal maxcols {}\n", shared_columns(f));
  }
  if (p.heat ? !has_markers(*p.heat) : entries_of(p.series) < 2) return "unset key\n";
  return fmt::format("set key above left horizontal maxcols {}\n",
                     legend_columns(p.series, 0.8 * width_in_letters(f) / f.panels_across));
}

/// A panel's title in as many lines as its width needs.
std::string title_command(const Figure& f, const ui::FigurePanel& p) {
  if (p.title.empty()) return "unset title\n";
  constexpr double share = 0.75;  // of the panel's width
  return "set title " + in_lines(p.title, share * width_in_letters(f) / f.panels_across) + " noenhanced offset 0,-0.4\n";
}

// --- the whole --------------------------------------------------------------------------------------------------------

/// Print parameters for the figure's panels.
Print print_of(const Figure& f, bool latex) {
  const double width = width_in_letters(f) / f.panels_across, aspect = f.aspect > 0 ? f.aspect : 0.7;
  return {latex,
          std::clamp(width / tick_mm, 2.0, 9.0),
          std::clamp(width * aspect / 11, 2.0, 7.0),
          f.style.slide ? 2.0 : 1.0,
          (f.style.slide ? 2.0 : 1.0) * (latex ? 1.8 : 1),
          width,
          width * aspect_of(f)};
}

std::string panel_script(const Figure& f, std::size_t index, bool latex) {
  const ui::FigurePanel& p = f.panels[index];
  Print print = print_of(f, latex);
  print.across = std::max(2.0, print.across - letters_of_longest(p.y.categories) * letter_mm / tick_mm);
  const bool own_dash = std::ranges::none_of(p.series, [](const ui::Series& s) { return s.dashed; });
  const int groups = bars_at_a_place(p.series);
  const std::vector<ui::Series> series = beside_each_other(p.series, groups);
  std::string text, plots;
  for (std::size_t i = 0; i < series.size(); ++i) text += series_block(block_name(index, i), series[i]);
  if (p.heat) text += heat_block(heat_name(index), *p.heat);
  text += title_command(f, p);
  text += axis_commands("x", p.x, p, print) + axis_commands("y", p.y, p, print) + legend_commands(f, index);
  if (p.heat)
    text += heat_settings(*p.heat, in_lines(p.heat->label, label_share * print.high));
  else if (!p.x.categories.empty())
    text += fmt::format("set xrange [-0.6:{}]\n", static_cast<double>(p.x.categories.size()) - 0.4);
  text += has_points(p) ? "unset label 1\n" : empty_axes(p);
  if (p.heat) plots = heat_plot(heat_name(index), *p.heat);
  for (std::size_t i = 0; i < series.size(); ++i)
    plots += (plots.empty() ? "" : ", \\\n  ") +
             series_plot(block_name(index, i), series[i], groups, bands_before(series, i), print, own_dash);
  return text + "plot " + plots + "\n";
}

int panels_down(const Figure& f) { return (static_cast<int>(f.panels.size()) + f.panels_across - 1) / f.panels_across; }

/// Lines of the panels' own legends that exceed the usual height.
int further_lines(const Figure& f) {
  constexpr int usual = 3;
  if (shares_legend(f)) return 0;
  int lines = usual;
  for (const ui::FigurePanel& p : f.panels) {
    const int across = legend_columns(p.series, 0.8 * width_in_letters(f) / f.panels_across);
    lines = std::max(lines, (entries_of(p.series) + across - 1) / across);
  }
  return lines - usual;
}

/// Width and height in inches. The width is a whole number of points plus a little, because gnuplot cuts fractions of a point.
std::pair<double, double> inches(const Figure& f) {
  constexpr double mm = 25.4, points = 72, more = 0.1;
  const double legend_line_mm = 0.45 * font_points(f);
  const double width = (std::round(width_mm(f) / mm * points) + more) / points;
  return {width, panels_down(f) * width / f.panels_across * aspect_of(f) +
                     (shared_lines(f) + panels_down(f) * further_lines(f)) * legend_line_mm / mm};
}

std::string terminal(const Figure& f, PictureFormat format) {
  const auto [width, height] = inches(f);
  const int size = font_points(f);
  const std::string font = is_font_name(f.style.font) ? f.style.font : FigureStyle{}.font;
  switch (format) {
    case PictureFormat::pdf:  // font scale 0.75 makes its points those of print
      return fmt::format("pdfcairo enhanced color fontscale 0.75 font '{},{}' size {:.3f}in,{:.3f}in", font, size, width,
                         height);
    case PictureFormat::svg:
      return fmt::format("svg enhanced font '{},{}' size {:.0f},{:.0f} background rgb 'white'", font,
                         std::lround(size * 96 / 72.0), width * 96, height * 96);
    case PictureFormat::tikz:
      return fmt::format(
          "tikz createstyle\nset terminal tikz color font '\\fontsize{{{}}}{{{}}}\\selectfont' size {:.3f}in,{:.3f}in", size,
          1.2 * size, width, height);
    case PictureFormat::png:
      break;
  }
  return fmt::format(
      "pngcairo enhanced font '{},{}' fontscale 3 linewidth 3 pointscale 3 size {:.0f},{:.0f} background rgb 'white'", font,
      size, width * 300, height * 300);
}

/// Panels in rows; an empty title reserves the lines of a shared legend.
std::string layout_commands(const Figure& f) {
  std::string title;
  for (int i = 1; i < shared_lines(f); ++i) title += "\\n";
  return fmt::format("set multiplot layout {},{}{}\n", panels_down(f), f.panels_across,
                     shares_legend(f) ? " title \" " + title + "\"" : "");
}

}  // namespace

std::string gnuplot_script(const Figure& figure, PictureFormat format, const std::string& stem) {
  const bool latex = format == PictureFormat::tikz;
  const Figure f = latex ? in_latex(figure) : figure;
  std::string text = "set encoding utf8\nset terminal " + terminal(f, format) + "\nset output " +
                     literal(stem + picture_ending(format)) + "\n";
  text += fmt::format(
      "set border 3 lc rgb '#4a5462' lw 0.75\nset tics nomirror out scale 0.5 textcolor rgb {}\n"
      "set key samplen 1.6 spacing 1.1 reverse Left noenhanced\nset datafile missing 'NaN'\n",
      gnuplot_colour(text_colour));
  const bool several = f.panels.size() > 1;
  if (several) text += layout_commands(f);
  for (std::size_t i = 0; i < f.panels.size(); ++i)
    text += "set grid y lc rgb '#e6e9ee' lw 0.5 dt 1\nset border 3\n" + panel_script(f, i, latex);
  return text + (several ? "unset multiplot\n" : "") + "unset output\n";
}

}  // namespace attoscope::app
