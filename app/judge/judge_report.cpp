#include "app/judge/judge_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "app/files/png.h"
#include "app/words/base64.h"
#include "app/words/mathml.h"

namespace attoscope::app {
namespace {

constexpr double plot_width = 640, plot_left = 56;

constexpr const char* style =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:64em;margin:2em auto;padding:0 "
    "1em;color:#1c1e21;background:#fff}h1{font-size:1.5em;line-height:1.25;border-left:.3em solid "
    "var(--mark);padding-left:.6em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse}td,th{padding:.2em "
    ".8em;text-align:right;border-bottom:1px solid "
    "#d8dce2;font-variant-numeric:tabular-nums}td.text,th.text{text-align:left}tr.wrong "
    "td{background:#fdece6}code{background:#f1f3f6;padding:.15em "
    ".35em;overflow-wrap:anywhere}image{image-rendering:pixelated}.key "
    "span{display:inline-block;width:1.6em;height:.9em;margin:0 .4em 0 1em;border:1px solid #d8dce2;vertical-align:-.1em}svg "
    "text{font:11px system-ui,sans-serif;fill:#555}";

/// The error over the tolerance of an element of the shown head, clamped to the axes.
double share_of(const CallJudgement& call, int row, int c) { return std::min(call.share(row, c), 1e9); }

struct Colour {
  double r, g, b;
};
Colour between(const Colour& x, const Colour& y, double t) {
  return {x.r + (y.r - x.r) * t, x.g + (y.g - x.g) * t, x.b + (y.b - x.b) * t};
}
/// White to blue within the tolerance; beyond it orange to dark red, ever darker up to a hundred times.
Colour colour_of(double share) {
  if (share <= 1) return between({255, 255, 255}, {76, 120, 178}, share);
  return between({245, 150, 60}, {120, 0, 20}, std::min(1.0, std::log10(share) / 2));
}

/// The largest share of each cell of elements: rows down, columns across.
struct ShareMap {
  int width = 0, height = 0, rows_a_cell = 1;
  std::vector<double> shares{};
};
ShareMap share_map(const CallJudgement& call) {
  constexpr int most_rows = 512;
  ShareMap m;
  m.rows_a_cell = (call.shape.n + most_rows - 1) / most_rows;
  m.width = call.shape.d_v;
  m.height = (call.shape.n + m.rows_a_cell - 1) / m.rows_a_cell;
  m.shares.assign(static_cast<std::size_t>(m.width) * static_cast<std::size_t>(m.height), 0);
  for (int row = 0; row < call.shape.n; ++row)
    for (int c = 0; c < call.shape.d_v; ++c) {
      double& cell = m.shares[static_cast<std::size_t>(row / m.rows_a_cell) * static_cast<std::size_t>(m.width) +
                              static_cast<std::size_t>(c)];
      cell = std::max(cell, share_of(call, row, c));
    }
  return m;
}

/// Ticks along an axis of `count` indices.
std::vector<int> ticks(int count) {
  int step = 1;
  for (const int factor : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536, 262144})
    if ((count - 1) / step >= 8) step = factor;
  std::vector<int> at;
  for (int i = 0; i < count; i += step) at.push_back(i);
  return at;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, text);
}

std::string map_html(const ShareMap& m, const CallJudgement& call) {
  Picture picture{m.width, m.height, {}};
  for (const double share : m.shares) {
    const Colour c = colour_of(share);
    for (const double x : {c.r, c.g, c.b}) picture.rgb.push_back(static_cast<std::uint8_t>(x));
  }
  const std::string png = to_png(picture), padding((3 - png.size() % 3) % 3, '=');
  const double width = plot_width, height = std::clamp(480.0, static_cast<double>(m.height), 4.0 * m.height);
  std::string svg = fmt::format(
      "<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"error over tolerance of every element\"><image x=\"{}\" "
      "width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,{}\"/>",
      plot_left + width + 8, height + 24, plot_left, width, height, base64(png, base64_digits) + padding);
  for (const int row : ticks(call.shape.n))
    svg += label(plot_left - 6, std::max(9.0, height * row / call.shape.n + 4), "end", std::to_string(row));
  for (const int c : ticks(call.shape.d_v))
    svg += label(plot_left + width * (c + 0.5) / call.shape.d_v, height + 16, "middle", std::to_string(c));
  return svg + "</svg>\n";
}

/// The elements that are furthest beyond their tolerance.
std::string worst_elements_html(const CallJudgement& call) {
  constexpr std::size_t most = 10;
  std::vector<std::pair<double, int>> all;
  for (int i = 0; i < call.shape.n * call.shape.d_v; ++i)
    if (const double share = share_of(call, i / call.shape.d_v, i % call.shape.d_v); share > 1) all.emplace_back(-share, i);
  if (all.empty()) return "";
  const std::size_t shown = std::min(most, all.size());
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(shown));
  std::string html =
      "<h2>Furthest off</h2>\n<table><tr><th>row</th><th>column</th><th>O</th><th>golden</th><th>tolerance</th><th>error / "
      "tolerance</th></tr>\n";
  for (const auto& [share, i] : std::span(all).first(shown)) {
    const int row = i / call.shape.d_v, c = i % call.shape.d_v;
    const double o = call.output[static_cast<std::size_t>(i)];
    html +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", row, c, number_text(o, 6),
                    number_text(call.detail.tolerance.golden(row, c), 6), number_text(call.detail.tolerance.of(row, c, o), 2),
                    std::isfinite(o) ? fmt::format("{:.3g}", -share) : "infinite");
  }
  return html + "</table>\n";
}

/// A bar chart of the number of suspect elements in each tile of 64 rows.
std::string tiles_svg(const CallJudgement& call) {
  constexpr int tile = 64;
  constexpr double height = 80;
  std::vector<int> suspects(static_cast<std::size_t>((call.shape.n + tile - 1) / tile), 0);
  for (int i = 0; i < call.shape.n * call.shape.d_v; ++i)
    suspects[static_cast<std::size_t>(i / call.shape.d_v / tile)] += share_of(call, i / call.shape.d_v, i % call.shape.d_v) > 1;
  const int most = *std::ranges::max_element(suspects);
  if (most == 0) return "";
  const double wide = plot_width / static_cast<double>(suspects.size());
  std::string svg = fmt::format(
      "<h2>Suspects in each tile of {} rows</h2>\n<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"suspects in each "
      "tile of rows\">{}{}",
      tile, plot_left + plot_width + 8, height + 24, label(plot_left - 6, 10, "end", std::to_string(most)),
      label(plot_left - 6, height, "end", "0"));
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    const double tall = height * suspects[i] / most;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#f5963c\"/>",
                       plot_left + wide * static_cast<double>(i) + 0.5, height - tall, std::max(1.0, wide - 1), tall);
  }
  for (const int i : ticks(static_cast<int>(suspects.size())))
    svg += label(plot_left + wide * (i + 0.5), height + 16, "middle", std::to_string(i * tile));
  return svg + "</svg>\n";
}

/// The largest share of every row, or of every column.
std::vector<double> profile(const CallJudgement& call, bool along_rows) {
  std::vector<double> most(static_cast<std::size_t>(along_rows ? call.shape.n : call.shape.d_v), 0);
  for (int row = 0; row < call.shape.n; ++row)
    for (int c = 0; c < call.shape.d_v; ++c) {
      double& x = most[static_cast<std::size_t>(along_rows ? row : c)];
      x = std::max(x, share_of(call, row, c));
    }
  return most;
}

/// A curve over a logarithmic axis from 1/100 of the tolerance on, with the tolerance as a line.
std::string profile_svg(const std::vector<double>& most, const char* what) {
  constexpr double width = plot_width, height = 130, left = plot_left, bottom = 20;
  const double top = std::max(1.0, std::ceil(std::log10(std::min(1e6, *std::ranges::max_element(most) + 1e-9))));
  const auto y_of = [&](double share) {
    return height * (top - std::clamp(std::log10(std::max(share, 1e-9)), -2.0, top)) / (top + 2);
  };
  std::string points;
  for (std::size_t i = 0; i < most.size(); ++i)
    points += fmt::format("{:.1f},{:.1f} ", left + width * (static_cast<double>(i) + 0.5) / static_cast<double>(most.size()),
                          y_of(most[i]));
  std::string svg =
      fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"largest error over tolerance along {}s\">",
                  width + left + 8, height + bottom + 4, what);
  for (int power = -2; power <= static_cast<int>(top); ++power)
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\"/><text x=\"{4}\" y=\"{5:.1f}\" "
        "text-anchor=\"end\">{6:g}</text>",
        left, left + width, y_of(std::pow(10.0, power)), power == 0 ? "#c0392b" : "#e3e6ea", left - 6,
        std::clamp(y_of(std::pow(10.0, power)) + 4, 10.0, height), std::pow(10.0, power));
  svg += fmt::format("<polyline fill=\"none\" stroke=\"#4c78b2\" stroke-width=\"1.2\" points=\"{}\"/>", points);
  return svg + fmt::format("<text x=\"{}\" y=\"{}\">{} 0</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text></svg>\n",
                           left, height + bottom - 4, what, left + width, height + bottom - 4, most.size() - 1);
}

std::string heads_html(const CallJudgement& call) {
  std::string html =
      "<table><tr><th>head</th><th class=\"text\">verdict</th><th>error / tolerance</th><th>suspects</th><th>largest "
      "error</th><th>rms</th><th class=\"text\">where</th><th class=\"text\">explained by</th></tr>\n";
  for (const JudgedRow& r : call.table) {
    const HeadJudgement& h = r.found;
    html += fmt::format(
        "<tr{}><td>{}</td><td class=\"text\">{}</td><td>{:.3g}</td><td>{}</td><td>{:.3g}</td><td>{:.3g}</td><td "
        "class=\"text\">{}</td><td class=\"text\">{}</td></tr>\n",
        h.rounded ? "" : " class=\"wrong\"", r.head, h.rounded ? "rounded" : "wrong", h.ratio, h.suspects, h.max_abs, h.rms,
        html_escaped(place_text(r)), html_escaped(r.slip ? r.slip->text : h.as));
  }
  return html + "</table>\n";
}

std::string family_html(const CallJudgement& call) {
  std::string html = "<table><tr><th class=\"text\">correct kernel</th><th>largest error</th><th>rms</th></tr>\n";
  for (const RivalError& r : call.family)
    html += fmt::format("<tr><td class=\"text\">{}</td><td>{:.3g}</td><td>{:.3g}</td></tr>\n", html_escaped(r.name), r.max_abs,
                        r.rms);
  return html + "</table>\n";
}

std::string again_html(const SeenAgain& again) {
  std::string html = "<h2>Again</h2>\n";
  if (!again.kept) return html + "<p>The tensors were not kept.</p>\n";
  html += "<p><code>" + html_escaped(again.command) + "</code></p>\n";
  if (again.link.empty()) return html + "<p>A window would not find these tensors by their names.</p>\n";
  return html + "<p><a href=\"" + html_escaped(again.link) + "\">Show the tensors in the window</a> (where the program is " +
         "installed), or <code>attoscope open '" + html_escaped(again.link) + "'</code></p>\n";
}

std::string key_html() {
  std::string html = "<p class=\"key\">";
  for (const auto& [share, text] :
       {std::pair{0.0, "no error"}, {1.0, "the tolerance"}, {1.01, "just beyond"}, {100.0, "100 times and more"}}) {
    const Colour c = colour_of(share);
    html += fmt::format("<span style=\"background:rgb({:.0f},{:.0f},{:.0f})\"></span>{}", c.r, c.g, c.b, text);
  }
  return html + "</p>\n";
}

}  // namespace

std::string judgement_html(const CallJudgement& call, const SeenAgain& again, const std::optional<CallGradients>& gradients,
                           const std::optional<CallLse>& lse) {
  const ShareMap map = share_map(call);
  const bool is_rounded = call.rounded() && (!gradients || gradients->rounded()) && (!lse || lse->rounded());
  std::string body =
      fmt::format("<h1 style=\"--mark:{}\">{}</h1>\n<p>{}</p>\n<p>{}</p>\n", is_rounded ? "#2e8b57" : "#c0392b",
                  html_escaped(call.sentences[0]), html_escaped(call.sentences[1]), html_escaped(call.sentences[2]));
  body += fmt::format("<p>{} x {}, {} of {} heads; D is {}, O is in {}.</p>\n", call.shape.n, call.shape.d_v, call.table.size(),
                      call.heads, name(call.claim.format), stored_text(call.claim));
  if (gradients) body += gradient_html(*gradients);
  if (lse) body += lse_html(*lse);
  body += "<h2>Heads</h2>\n" + heads_html(call);
  body += fmt::format("<h2>Error over tolerance, {}</h2>\n<p>Columns of O across, rows down{}.</p>\n", call.worst_row().name,
                      map.rows_a_cell > 1 ? fmt::format(", each line the largest of {} rows", map.rows_a_cell) : "");
  body += key_html() + map_html(map, call) + worst_elements_html(call) + tiles_svg(call) + "<h2>Along the rows</h2>\n" +
          profile_svg(profile(call, true), "row") + "<h2>Along the columns</h2>\n" +
          profile_svg(profile(call, false), "column");
  body += "<h2>Where the tolerance comes from</h2>\n<ul>\n";
  for (const std::string& s : call.derivation) body += "<li>" + html_escaped(s) + "</li>\n";
  body += "</ul>\n" + family_html(call) + again_html(again);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title><style>{}</style></head>\n"
      "<body>\n{}<p>Attoscope {}</p>\n</body></html>\n",
      html_escaped(call.sentences[0]), style, body, ATTOSCOPE_VERSION);
}

}  // namespace attoscope::app
