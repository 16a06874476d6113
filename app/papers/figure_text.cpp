#include "app/papers/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <vector>

#include "app/words/numbers.h"
#include "kernels/experiment/letters.h"
#include "kernels/questions/expression.h"

namespace attoscope::app {
namespace {

constexpr const char* not_known = "not known";

struct PanelPoint {
  const ui::FigurePanel* panel;
  double x, y;
};

/// Index of point "first", "last", "least", "3" or "bf16" in a series; none if there is no such point.
std::optional<std::size_t> place_of(std::string_view name, const ui::FigurePanel& panel, const ui::Series& s) {
  if (name == "first") return 0;
  if (name == "last") return s.y.size() - 1;
  if (name == "least") return static_cast<std::size_t>(std::ranges::min_element(s.y) - s.y.begin());
  if (const auto place = to_number<std::size_t>(name)) return *place < s.y.size() ? place : std::nullopt;
  const auto category = static_cast<double>(std::ranges::find(panel.x.categories, name) - panel.x.categories.begin());
  const auto found = std::ranges::find(s.x, category);
  return found == s.x.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - s.x.begin()));
}

/// The point that "0_1_last" names.
std::optional<PanelPoint> point_called(std::string_view name, const Figure* figure) {
  const std::size_t first = name.find('_'), second = name.find('_', first + 1);
  if (figure == nullptr || first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto panel = to_number<std::size_t>(name.substr(0, first));
  if (!panel || *panel >= figure->panels.size()) return std::nullopt;
  const ui::FigurePanel& p = figure->panels[*panel];
  const std::string_view which = name.substr(first + 1, second - first - 1);
  const std::size_t series = which == "last" ? p.series.size() - 1 : to_number<std::size_t>(which).value_or(p.series.size());
  if (series >= p.series.size() || p.series[series].y.empty()) return std::nullopt;
  const auto place = place_of(name.substr(second + 1), p, p.series[series]);
  return place ? std::optional(PanelPoint{&p, p.series[series].x[*place], p.series[series].y[*place]}) : std::nullopt;
}

/// The value of an expression.
double value_of(std::string_view expression, const FigureScope& scope) {
  std::vector<std::string> names;
  std::vector<double> values;
  for (std::size_t at = 0; at < expression.size();) {
    std::size_t end = at;
    while (end < expression.size() && (is_letter_or_digit(expression[end]) || expression[end] == '_')) ++end;
    const std::string name(expression.substr(at, end - at));
    at = end + 1;
    const bool is_x = name.starts_with('x');
    if (const auto known = scope.numbers.find(name); known != scope.numbers.end()) {
      names.push_back(name);
      values.push_back(known->second);
    } else if ((is_x || name.starts_with('y')) && name.find('_') != std::string::npos) {
      const auto point = point_called(std::string_view(name).substr(1), scope.figure);
      names.push_back(name);
      values.push_back(point ? (is_x ? point->x : point->y) : NAN);
    }
  }
  return evaluated(expression, names, values);
}

/// "rises 2.9-fold", "falls 1.9-fold", "changes by less than 10 %".
std::string growth_text(double ratio) {
  constexpr double little = 0.1;
  if (!std::isfinite(ratio)) return std::string("is ") + not_known;
  if (ratio == 0) return "falls to 0";
  if (ratio > 1 - little && ratio < 1 + little) return "changes by less than 10 %";
  return ratio > 1 ? "rises " + two_digits(ratio) + "-fold" : "falls " + two_digits(1 / ratio) + "-fold";
}

std::string number_text(double x, std::string_view form) {
  if (form == "two") return two_digits(x);
  if (form == "fold") return growth_text(x);
  try {
    const std::string number = fmt::format(fmt::runtime("{:" + std::string(form) + "}"), x);
    return std::isfinite(x) ? number : not_known;
  } catch (const fmt::format_error&) {
    throw std::invalid_argument(in_quotes(form) + " is no form of a number, expected two, fold or one such as .2g");
  }
}

/// "eager, uniform, 16": the points whose y is within [least, most], given as "7_14".
std::string places_within(std::string_view range, const Figure& figure) {
  const std::size_t between = range.find('_');
  const double least = to_number<double>(range.substr(0, between)).value_or(NAN),
               most = to_number<double>(range.substr(between + 1)).value_or(NAN);
  std::string text;
  for (const ui::FigurePanel& panel : figure.panels)
    for (const ui::Series& s : panel.series)
      for (std::size_t i = 0; i < s.x.size() && !s.dashed; ++i)
        if (s.y[i] >= least && s.y[i] <= most)
          text += (text.empty() ? "" : "; ") + s.label + ", " + panel.title + ", " + two_digits(s.x[i]);
  return text.empty() ? "nowhere" : text;
}

/// Position of the first `wanted` from `at` on outside inner braces; the text's size if there is none.
std::size_t find_outside(std::string_view text, char wanted, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    if (depth == 0 && text[at] == wanted) return at;
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
  }
  return text.size();
}

/// True if "a > b" or "a < b" holds for two finite numbers.
bool holds(std::string_view condition, const FigureScope& scope) {
  const std::size_t at = condition.find_first_of("<>");
  if (at == std::string_view::npos) throw std::invalid_argument(in_quotes(condition) + " is no condition, expected < or >");
  const double left = value_of(condition.substr(0, at), scope), right = value_of(condition.substr(at + 1), scope);
  if (!std::isfinite(left) || !std::isfinite(right)) return false;
  return condition[at] == '<' ? left < right : left > right;
}

/// Replacement for the text between braces.
std::string replacement(std::string_view inner, const FigureScope& scope) {
  if (const std::size_t question = find_outside(inner, '?', 0); question < inner.size()) {
    const std::size_t bar = find_outside(inner, '|', question);
    return filled(holds(inner.substr(0, question), scope) ? inner.substr(question + 1, bar - question - 1)
                                                          : inner.substr(std::min(bar + 1, inner.size())),
                  scope);
  }
  if (const auto known = scope.texts.find(inner); known != scope.texts.end()) return known->second;
  if (inner.starts_with("places_")) return scope.figure == nullptr ? "" : places_within(inner.substr(7), *scope.figure);
  if (inner.starts_with("name")) {
    const auto point = point_called(inner.substr(4), scope.figure);
    return point ? point->panel->x.categories.at(static_cast<std::size_t>(point->x)) : "";
  }
  const std::size_t colon = std::min(inner.find(':'), inner.size());
  return number_text(value_of(inner.substr(0, colon), scope), inner.substr(std::min(colon + 1, inner.size())));
}

}  // namespace

std::string two_digits(double x) {
  if (!std::isfinite(x)) return not_known;
  const double size = std::abs(x);
  if (size >= 0.95 && size < 9.5) return fmt::format("{:.1f}", x);
  return size >= 9.5 && size < 9999 ? fmt::format("{:.0f}", x) : fmt::format("{:.2g}", x);
}

void FigureScope::bind(const std::string& name, const std::string& value) {
  texts[name] = value;
  if (const auto number = to_number<double>(value)) numbers[name] = *number;
}

std::string filled(std::string_view text, const FigureScope& scope) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    const std::size_t close = find_outside(text, '}', std::min(open + 1, text.size()));
    result += text.substr(at, open - at);
    if (open < text.size()) result += replacement(text.substr(open + 1, close - open - 1), scope);
    at = std::min(close, text.size() - 1) + 1;
  }
  return result;
}

double filled_number(std::string_view text, const FigureScope& scope) {
  const std::string number = filled(text, scope);
  if (const auto value = to_number<double>(number)) return *value;
  throw std::invalid_argument(in_quotes(number) + " is no number");
}

}  // namespace attoscope::app
