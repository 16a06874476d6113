#include "app/figures/gnuplot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "app/files.h"
#include "app/numbers.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

/// For print: the light theme's roles, then Okabe and Ito's palette in an order of alternating lightness.
constexpr std::array<const char*, 12> inks{"#9a5f00", "#0b68a8", "#59636f", "#a03f79", "#c2301c", "#0b7a57",
                                           "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"};
const char* ink(Ink i) { return inks[static_cast<std::size_t>(i)]; }
/// Marks that stay apart in black and white.
constexpr std::array<int, 12> marks{7, 5, 9, 11, 13, 15, 7, 5, 9, 13, 6, 4};

/// A literal text: every sign that could mean something is an octal escape, which gnuplot reads after everything else; so
/// is every digit, which would be taken for a part of the escape before it. Control
/// characters become spaces.
std::string literal(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) result += ' ';
    else if (code >= 0x80 || std::isalpha(code) || c == ' ') result += c;
    else result += fmt::format("\\{:03o}", code);
  }
  return result + '"';
}

/// A tick's literal text: there % begins a number's format.
std::string literal_tick(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '%' ? 2 : 1, c);
  return literal(doubled);
}

std::string number(double x) { return std::isnan(x) ? "NaN" : fmt::format("{:.9g}", x); }

/// "$P0S2": the data of a series.
std::string block_name(std::size_t panel, std::size_t series) { return fmt::format("$P{}S{}", panel, series); }

std::string series_block(const std::string& name, const Series& s) {
  std::string text = name + " << EOD\n";
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    text += fmt::format("{} {}", number(s.x[i]), number(s.y[i]));
    if (!s.low.empty()) text += fmt::format(" {} {}", number(s.low[i]), number(s.high[i]));
    text += '\n';
  }
  return text + "EOD\n";
}

double shown(double value, const FigureHeat& h) {
  const double share = std::clamp(value / h.range, -1.0, 1.0);
  return h.log ? std::asinh(300 * share) / std::asinh(300.0) : share;
}

std::string heat_block(const std::string& name, const FigureHeat& h) {
  std::string text = name + " << EOD\n";
  for (int y = 0; y < h.height; ++y)
    for (int x = 0; x < h.width; ++x)
      text += fmt::format("{} {} {}\n", number(h.x0 + (x + 0.5) * (h.x1 - h.x0) / h.width),
                          number(h.y0 + (y + 0.5) * (h.y1 - h.y0) / h.height),
                          number(shown(h.values[static_cast<std::size_t>(y) * static_cast<std::size_t>(h.width) + static_cast<std::size_t>(x)], h)));
  return text + "EOD\n";
}

/// The least and the largest x of the panel's series.
std::pair<double, double> x_range(const FigurePanel& p) {
  double least = INFINITY, largest = 0;
  for (const Series& s : p.series)
    for (const double x : s.x) least = std::min(least, x), largest = std::max(largest, x);
  return {least, largest};
}

/// Marks and ticks at the ends of a log axis need room.
std::string range_with_room(const FigurePanel& p) {
  const auto [least, largest] = x_range(p);
  return least > 0 && largest < INFINITY ? fmt::format("set xrange [{}:{}]\n", number(least / 1.12), number(largest * 1.12)) : "";
}

/// Powers of 2 over the panel's x, every one or every other: (128, 512, 2048).
std::string ticks_of_two(const FigurePanel& p) {
  const auto [least, largest] = x_range(p);
  if (!(least > 0) || !(largest < INFINITY)) return "autofreq";
  const double step = largest / least > 128 ? 4 : 2;
  std::string text;
  for (double x = std::exp2(std::floor(std::log2(least))); x <= largest; x *= step) text += (text.empty() ? "(" : ", ") + number(x);
  return text + ")";
}

std::string axis_commands(const char* which, const FigureAxis& a, const std::string& ticks_of_log2) {
  std::string text = fmt::format("set {}label {} noenhanced\n", which, literal(a.label));
  text += a.log ? fmt::format("set logscale {} {}\n", which, a.base) : fmt::format("unset logscale {}\n", which);
  text += fmt::format("set {}range [{}:{}]\n", which, a.min ? number(*a.min) : "*", a.max ? number(*a.max) : "*");
  if (a.categories.empty()) {
    text += fmt::format("set {0}tics {2} norotate\nset format {0} {1}\n", which,
                        a.log ? a.base == 2 ? "'%.0f'" : "'10^{%L}'" : "'%h'", a.log && a.base == 2 ? ticks_of_log2 : "autofreq");
    return text;
  }
  std::size_t longest = 0;
  text += fmt::format("set {0}tics (", which);
  for (std::size_t i = 0; i < a.categories.size(); ++i) {
    text += (i == 0 ? "" : ", ") + literal_tick(a.categories[i]) + " " + std::to_string(i);
    longest = std::max(longest, a.categories[i].size());
  }
  text += longest * a.categories.size() > 48 ? ") rotate by -35 noenhanced\n" : ") norotate noenhanced\n";
  return text;
}

std::string error_bars(const std::string& block, const char* colour) {
  return fmt::format("{} using 1:3:(0):($4-$3) with vectors nohead lc rgb '{}' lw 1 notitle", block, colour);
}

std::string series_plot(const std::string& block, const Series& s, int width) {
  const auto i = static_cast<std::size_t>(s.ink);
  const std::string colour = fmt::format("lc rgb '{}'", ink(s.ink)), title = s.label.empty() ? "notitle" : "title " + literal(s.label) + " noenhanced";
  const std::string line = fmt::format("lw {} dt {}", 1.6, s.dashed ? 2 : 1), mark = fmt::format("pt {} ps {}", marks[i], 0.55);
  std::string text;
  if (!s.low.empty() && s.shape != Shape::bars)
    text = error_bars(block, ink(s.ink)) + ", ";
  switch (s.shape) {
    case Shape::line: return text + fmt::format("{} with lines {} {} {}", block, colour, line, title);
    case Shape::marks: return text + fmt::format("{} with points {} {} {}", block, colour, mark, title);
    case Shape::line_and_marks: return text + fmt::format("{} with linespoints {} {} {} {}", block, colour, line, mark, title);
    case Shape::steps: return text + fmt::format("{} with steps {} {} {}", block, colour, line, title);
    case Shape::bars: break;
  }
  text = fmt::format("{} using 1:2:({}) with boxes fs solid 0.85 noborder {} {}", block, 0.8 / width, colour, title);
  if (!s.low.empty()) text += ", " + error_bars(block, "#1b2027");
  return text;
}

/// Bars of several series stand beside each other.
std::vector<Series> beside_each_other(const std::vector<Series>& series, int& groups) {
  std::vector<Series> moved = series;
  groups = static_cast<int>(std::ranges::count(series, Shape::bars, &Series::shape));
  int at = 0;
  for (Series& s : moved) {
    if (s.shape != Shape::bars) continue;
    for (double& x : s.x) x += (at + 0.5) / groups * 0.8 - 0.4;
    ++at;
  }
  groups = std::max(groups, 1);
  return moved;
}

std::string palette_of(const FigureHeat& h) {
  // both ends of the window's diverging map about white; a ramp from light to dark in print
  const char* const colours = h.diverging ? "-1 '#0a3f38', -0.66 '#0f7f6c', -0.33 '#7fd8c4', 0 '#ffffff', 0.33 '#f2a5cc', 0.66 '#c23a86', 1 '#5a1440'"
                                          : "0 '#ffffe5', 0.25 '#a8ddb5', 0.5 '#43a2ca', 0.75 '#0868ac', 1 '#081d58'";
  std::string text = fmt::format("set palette defined ({})\nset cbrange [{}:1]\nset cblabel {} noenhanced\n", colours, h.diverging ? -1 : 0, literal(h.label));
  std::string tics;
  for (const double share : {-1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0}) {
    if ((!h.diverging && share < 0) || (!h.log && std::fabs(share) == 0.01)) continue;
    tics += fmt::format("{}'{:.1e}' {}", tics.empty() ? "" : ", ", share * h.range, number(shown(share * h.range, h)));
  }
  return text + "set cbtics (" + tics + ") noenhanced\n";
}

std::string panel_script(const FigurePanel& p, std::size_t index) {
  int groups = 1;
  const std::vector<Series> series = beside_each_other(p.series, groups);
  std::string text, plots;
  for (std::size_t i = 0; i < series.size(); ++i) text += series_block(block_name(index, i), series[i]);
  if (p.heat) text += heat_block(fmt::format("$H{}", index), *p.heat);
  text += p.title.empty() ? "unset title\n" : "set title " + literal(p.title) + " noenhanced\n";
  text += axis_commands("x", p.x, ticks_of_two(p)) + axis_commands("y", p.y, "autofreq");
  if (p.heat) text += palette_of(*p.heat) + fmt::format("set yrange [{}:{}]\nset xrange [{}:{}]\nunset key\n", number(p.heat->y1), number(p.heat->y0), number(p.heat->x0), number(p.heat->x1));
  else text += series.size() > 1 ? "set key\n" : "unset key\n";
  if (!p.x.categories.empty() && !p.heat) text += fmt::format("set xrange [-0.6:{}]\n", static_cast<double>(p.x.categories.size()) - 0.4);
  if (p.x.log && !p.heat) text += range_with_room(p);
  if (p.heat) plots = fmt::format("$H{} using 1:2:3 with image pixels notitle", index);
  for (std::size_t i = 0; i < series.size(); ++i) plots += (plots.empty() ? "" : ", \\\n  ") + series_plot(block_name(index, i), series[i], groups);
  return text + "plot " + plots + "\n";
}

/// 86 mm or 178 mm wide, as journals' columns are.
std::pair<double, double> inches(const Figure& f) {
  const int down = (static_cast<int>(f.panels.size()) + f.panels_across - 1) / f.panels_across;
  const double width = f.columns == 1 ? 3.39 : 7.01;
  return {width, down * width / f.panels_across * (f.panels_across == 1 && f.columns == 2 ? 0.5 : 0.78)};
}

std::string terminal(const Figure& f, PictureFormat format) {
  const auto [width, height] = inches(f);
  switch (format) {
    case PictureFormat::pdf: return fmt::format("pdfcairo enhanced color font 'Inter,8' size {:.3f}in,{:.3f}in", width, height);
    case PictureFormat::svg: return fmt::format("svg enhanced font 'Inter,11' size {:.0f},{:.0f} background rgb 'white'", width * 96, height * 96);
    case PictureFormat::png: break;
  }
  return fmt::format("pngcairo enhanced font 'Inter,8' fontscale 3 linewidth 3 pointscale 3 size {:.0f},{:.0f} background rgb 'white'", width * 300, height * 300);
}

const char* ending(PictureFormat f) { return f == PictureFormat::pdf ? ".pdf" : f == PictureFormat::svg ? ".svg" : ".png"; }

std::string gnuplot_program() {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string program = (fs::path(rest.substr(0, end)) / "gnuplot").string();
    if (end > 0 && ::access(program.c_str(), X_OK) == 0) return program;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  throw std::runtime_error("There is no gnuplot to draw the picture with (package gnuplot-nox); its data, script and JSON can be had without.");
}

/// A directory that goes away.
class Workshop {
 public:
  Workshop() {
    std::string name = (fs::temp_directory_path() / "attoscope-figure-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
    path_ = name;
  }
  ~Workshop() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Runs gnuplot on script.gp in `directory`, what it says going to log.txt; its exit status.
int run_gnuplot(const std::string& program, const fs::path& directory) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "log.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::string name = "gnuplot", script = "script.gp";
  std::array<char*, 3> arguments{name.data(), script.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(program + ": cannot be run");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace

PictureFormat picture_format(const std::string& file) {
  for (const PictureFormat f : {PictureFormat::pdf, PictureFormat::svg, PictureFormat::png})
    if (file.ends_with(ending(f))) return f;
  throw std::invalid_argument(in_quotes(file) + " is no picture file, expected a name that ends in .pdf, .svg or .png");
}

std::string gnuplot_script(const Figure& f, PictureFormat format, const std::string& stem) {
  std::string text = "set encoding utf8\nset terminal " + terminal(f, format) + "\nset output " + literal(stem + ending(format)) + "\n";
  text += "set border 3 lc rgb '#4a5462' lw 0.75\nset tics nomirror out scale 0.5 textcolor rgb '#1b2027'\n"
          "set grid y lc rgb '#e6e9ee' lw 0.5 dt 1\nset key above left samplen 1.6 spacing 1.1 noenhanced\n"
          "set datafile missing 'NaN'\n";
  const bool several = f.panels.size() > 1;
  if (several) text += fmt::format("set multiplot layout {},{}\n", (f.panels.size() + static_cast<std::size_t>(f.panels_across) - 1) / static_cast<std::size_t>(f.panels_across), f.panels_across);
  for (std::size_t i = 0; i < f.panels.size(); ++i) text += panel_script(f.panels[i], i);
  return text + (several ? "unset multiplot\n" : "") + "unset output\n";
}

std::string drawn(const std::string& script, const std::string& picture_file) {
  constexpr std::uint64_t largest = 1 << 28;
  const std::string program = gnuplot_program();
  const Workshop workshop;
  write_file(workshop / "script.gp", script);
  const int status = run_gnuplot(program, workshop.path());
  const std::string said = read_file(workshop / "log.txt", largest), picture = workshop / picture_file.c_str();
  std::error_code error;
  if (status != 0 || !fs::exists(picture, error) || fs::file_size(picture, error) == 0)
    throw std::runtime_error("gnuplot could not draw " + picture_file + ": " + in_quotes(said.substr(0, 200)));
  return read_file(picture, largest);
}

}  // namespace attoscope
