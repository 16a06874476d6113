// A number in one or several formats: its bits, the stored number, its neighbours, the range.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ui/learn/views/view_parts.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

/// A number and its rounding to a format.
struct Rounded {
  Format format;
  std::string_view name;
  double x, stored;
};

constexpr float names_width = 64;  ///< width of the column of names

/// A line from `low` to `high` over [left, right].
struct Axis {
  double low, high;
  float left, right;
  float at(double value) const {
    const double t = std::clamp((value - low) / (high - low), -0.5, 1.5);
    return left + static_cast<float>(t) * (right - left);
  }
};

/// Draws a diamond, the mark of x.
void draw_diamond(ImDrawList* list, ImVec2 c, Colour colour) {
  const float r = px(5);
  list->AddQuadFilled({c.x, c.y - r}, {c.x + r, c.y}, {c.x, c.y + r}, {c.x - r, c.y}, colour);
}

/// Draws a number of the format on the line; the stored one has a disc.
void draw_tick(const Axis& axis, float y, double value, bool stored) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x = axis.at(value);
  list->AddLine({x, y - px(7)}, {x, y + px(7)}, stored ? colours().text : colours().secondary, px(1.4f));
  if (stored) list->AddCircleFilled({x, y}, px(4), colours().text);
  const std::string text = in_full(value);
  const float half = text_width(Face::mono_small, text) / 2;
  draw_text({std::clamp(x, axis.left + half, std::max(axis.left + half, axis.right - half)), y + px(9)}, Face::mono_small,
            stored ? colours().text : colours().secondary, text, 0.5f);
}

void draw_between(const Rounded& n, double below, double above, ImVec2 at, float width) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const double span = above - below;
  const Axis axis{below - 0.14 * span, above + 0.14 * span, at.x, at.x + width};
  const float y = at.y + px(22);
  const double from = below + (n.stored - below) / 2, to = n.stored + (above - n.stored) / 2;
  list->AddRectFilled({axis.at(from), y - px(7)}, {axis.at(to), y + px(7)}, faded(colours().accent, 0.28f));
  list->AddLine({axis.left, y}, {axis.right, y}, colours().line, px(1.4f));
  for (const double value : {below, above}) draw_tick(axis, y, value, false);
  draw_tick(axis, y, n.stored, true);
  const float x = axis.at(n.x);
  list->AddLine({x, y - px(12)}, {x, y}, colours().golden, px(1.4f));
  draw_diamond(list, {x, y - px(14)}, colours().golden);
  draw_text({x + px(8), y - px(22)}, Face::mono_small, colours().golden, "x");
}

constexpr float bar_height = 14;

/// One format's bar: subnormals pale, normal numbers full.
void draw_bar(const Format& f, const Axis& axis, float top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = px(bar_height), left = axis.left, right = axis.right;
  const double low = std::log10(smallest_subnormal(f)), normal = std::log10(smallest_normal(f)), high = std::log10(largest(f));
  const auto x = [&](double v) { return std::clamp(axis.at(v), left, right); };
  list->AddRectFilled({x(low), top}, {x(normal), top + height}, mixed(colours().panel, colours().good, 0.3f));
  list->AddRectFilled({x(normal), top}, {x(high), top + height}, mixed(colours().panel, colours().good, 0.7f));
}

/// Writes the ends of the bar beside it, on a filled background.
void draw_ends(const Format& f, const Axis& axis, float top) {
  const auto write = [&](double end, const std::string& words, float side) {
    const float x = std::clamp(axis.at(std::log10(end)), axis.left, axis.right) + side * px(6);
    const float y = top + (px(bar_height) - line_height(Face::mono_small)) / 2, width = text_width(Face::mono_small, words);
    const float left = side < 0 ? x - width : x;
    ImGui::GetWindowDrawList()->AddRectFilled({left - px(2), y}, {left + width + px(2), y + line_height(Face::mono_small)},
                                              colours().panel);
    draw_text({left, y}, Face::mono_small, colours().secondary, words);
  };
  if (axis.at(std::log10(smallest_subnormal(f))) > axis.left)
    write(smallest_subnormal(f), scientific(smallest_subnormal(f), 2), -1);
  write(largest(f), compact(largest(f)), 1);
}

void draw_decades(const Axis& axis, float top, float bottom) {
  const double room = static_cast<double>((axis.right - axis.left) / px(64));
  for (const double e : round_ticks(axis.low, axis.high, std::min(room, axis.high - axis.low))) {
    const float x = std::floor(axis.at(e)) + 0.5f;
    ImGui::GetWindowDrawList()->AddLine({x, top}, {x, bottom}, faded(colours().line, 0.6f));
    const std::string text = fmt::format("1e{:.0f}", e);
    if (x + text_width(Face::mono_small, text) / 2 <= axis.right)
      draw_text({x, bottom + px(3)}, Face::mono_small, colours().faint, text, 0.5f);
  }
}

/// Draws |x| as a line across the bars of the formats.
void draw_x(const Axis& axis, double magnitude, float top, float bottom) {
  const float x = axis.at(std::clamp(std::log10(magnitude), axis.low, axis.high));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({x, top - px(4)}, {x, bottom}, colours().golden, px(1.4f));
  draw_diamond(list, {x, top - px(8)}, colours().golden);
  draw_text({x + px(8), top - px(15)}, Face::mono_small, colours().golden, "|x|");
}

Axis range_axis(std::span<const Format> formats, double magnitude, bool upper, float left, float right) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Format& f : formats) {
    low = std::min(low, upper ? 0 : std::log10(smallest_subnormal(f)));
    high = std::max(high, std::log10(largest(f)));
  }
  if (upper) {
    double nearest = high;
    for (const Format& f : formats) nearest = std::min(nearest, std::log10(largest(f)));
    high = std::max(nearest + 4, std::min(high, 10.0));
  }
  const bool seen = magnitude > 0 && std::isfinite(magnitude);
  if (seen) low = std::min(low, std::max(std::log10(magnitude), low - 0.1 * (high - low)));
  if (seen) high = std::max(high, std::min(std::log10(magnitude), high + 0.1 * (high - low)));
  const double margin = (high - low) * static_cast<double>(px(76) / (right - left - px(152)));
  return {low - (upper ? 0 : margin), high + margin, left, right};
}

/// Draws the stored number between its neighbours, the band that rounds to it, and x; a sentence if x is beyond the largest
/// number.
void draw_neighbours(const Rounded& n, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton((std::string("neighbours ") + std::string(n.name)).c_str(), {width, px(48)});
  const double below = neighbour(n.format, n.stored, false), above = neighbour(n.format, n.stored, true);
  if (std::isfinite(n.stored) && std::isfinite(n.x) && std::isfinite(below) && std::isfinite(above) &&
      std::abs(n.x) <= largest(n.format)) {
    draw_between(n, below, above, {at.x + px(names_width), at.y}, width - px(names_width));
  } else {
    const std::string most = "The largest number is " + in_full(largest(n.format)) + "; the one before it is " +
                             in_full(neighbour(n.format, largest(n.format), false)) + ".";
    draw_fitted({at.x + px(names_width), at.y + px(16)}, Face::label, colours().secondary, most, width - px(names_width));
  }
  explain(
      "The stored number and its neighbours on either side. Everything in the band is rounded to the stored number; a point "
      "exactly halfway goes to the neighbour whose last bit is 0.",
      std::isfinite(n.stored) ? fmt::format("ulp = {:g}: 2^{}", ulp(n.format, n.stored), std::ilogb(ulp(n.format, n.stored)))
                              : std::string());
}

/// Draws the ranges of formats on one logarithmic axis, subnormals and normal numbers, and x across them. `upper`: the axis
/// begins at 1.
void draw_ranges(std::span<const Format> formats, double x, bool upper, float width) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float row = px(24), header = px(20), rows = row * static_cast<float>(formats.size());
  ImGui::InvisibleButton("range", {width, header + rows + px(20)});
  const Axis axis = range_axis(formats, std::abs(x), upper, at.x + px(names_width), at.x + width);
  const float top = at.y + header, bottom = top + rows;
  draw_decades(axis, top, bottom);
  const auto y_of = [&](std::size_t i) { return top + row * static_cast<float>(i) + px(5); };
  for (std::size_t i = 0; i < formats.size(); ++i) {
    draw_in_line({at.x, y_of(i)}, px(bar_height), Face::mono, colours().text, name(formats[i]));
    draw_bar(formats[i], axis, y_of(i));
  }
  if (x != 0 && std::isfinite(x)) draw_x(axis, std::abs(x), top, bottom);
  for (std::size_t i = 0; i < formats.size(); ++i) draw_ends(formats[i], axis, y_of(i));
  explain(
      "From the smallest subnormal number (pale, where bits are lost one by one) over the normal numbers to the largest. Right "
      "of a bar "
      "x overflows; left of it, it becomes 0.",
      "2^(2 - 2^(E-1) - M)  ..  2^(2 - 2^(E-1))  ..  (2 - 2^-M) 2^(2^(E-1) - 1)");
}

constexpr std::array<std::string_view, 3> shown{"neighbours", "range", "overflow"};

/// x in one format.
struct Stored {
  Format format;
  std::string name;
  double value;  ///< x, rounded
  BitText bits;
};

// --- the value --------------------------------------------------------------------------------------------------------

/// x as sign * 2^exponent * (1 + fraction / 1024).
struct Split {
  static constexpr int steps = 1024;
  int exponent = 0, fraction = 0;
};
Split split(double x, int least) {
  if (x == 0 || !std::isfinite(x)) return {least, 0};
  const int e = std::ilogb(x);
  return {e, static_cast<int>(std::floor((std::ldexp(std::abs(x), -e) - 1) * Split::steps))};
}

/// The exponents from below the smallest number of all formats to above the largest.
std::pair<int, int> exponents(const std::vector<Format>& formats) {
  int low = 0, high = 0;
  for (const Format& f : formats) {
    low = std::min(low, min_exponent(f) - f.mantissa_bits - 2);
    high = std::max(high, max_exponent(f) + 1);
  }
  return {std::max(low, -160), std::min(high, 140)};
}

bool slide_value(double& x, const std::vector<Format>& formats, float width) {
  const auto [low, high] = exponents(formats);
  const Split before = split(x, low);
  Split s = before;
  const float each = std::floor((width - px(24)) / 2);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  bool changed = false;
  {
    const WithWidth half(each);
    changed |= slider({"exponent", low, high, low, high}, s.exponent);
    explain("The power of two in x: adding one doubles x and the distance between its neighbours.",
            "x = 2^exponent (1 + fraction / 1024)");
  }
  ImGui::SetCursorScreenPos({at.x + each + px(24), at.y});
  {
    const WithWidth half(each);
    changed |= slider({"fraction", 0, Split::steps - 1, 0, Split::steps - 1}, s.fraction);
    explain("The position of x between two powers of two.", "x = 2^exponent (1 + fraction / 1024)");
  }
  if (!changed) return false;
  const bool finite = x != 0 && std::isfinite(x);
  if (s.fraction == before.fraction && finite)
    x = std::ldexp(x, s.exponent - before.exponent);
  else
    x = std::copysign(std::ldexp(1 + static_cast<double>(s.fraction) / Split::steps, s.exponent), std::isnan(x) ? 1.0 : x);
  return true;
}

/// The field, the sign, the next numbers, the sliders. True if they changed x.
bool edit_value(LessonScene& scene, double& x, const std::vector<Format>& formats) {
  const auto typed =
      typed_value(scene, "value", "0.1", px(200),
                  "The number x that is to be stored. A decimal number, p/q, 2^k, exp(y), inf or nan; Enter sets it.",
                  "x -> round(format, x)");
  const std::optional<double> number = typed ? real_of(*typed) : std::nullopt;
  if (typed && !number) scene.state.complaint = refusal("value", typed->substr(0, 24), real_expected);
  bool changed = number.has_value();
  x = number.value_or(x);
  const auto button = [&](const char* label, double result, const std::string& what, const char* formula) {
    ImGui::SameLine(0, px(8));
    if (push_button(label, false, {px(32), 0})) {
      x = result;
      changed = true;
    }
    explain(what, formula);
  };
  const double stored = round(formats[0], x);
  const std::string next = "The next number of " + name(formats[0]);
  button("±###sign", -x, "The other sign: one bit.", "x -> -x");
  button("◀###previous", neighbour(formats[0], stored, false), next + " below.", "x -> x +- ulp");
  button("▶###next", neighbour(formats[0], stored, true), next + " above.", "x -> x +- ulp");
  changed |= slide_value(x, formats, scene.width);
  if (changed) scene.state.complaint.clear();
  if (!scene.state.complaint.empty()) label(Face::label, colours().bad, scene.state.complaint);
  return changed;
}

// --- one format -------------------------------------------------------------------------------------------------------

/// The effect of rounding on x, in a few words.
struct Loss {
  std::string text;
  bool bad = false;
};
Loss loss_of(const Stored& s, double x) {
  const double error = s.value - x;
  if (std::isnan(x)) return {"NaN", true};
  if (std::isnan(s.value)) return {"overflows to NaN", true};
  if (std::isinf(s.value))
    return std::isinf(x) ? Loss{"exact"} : Loss{"overflows: largest " + compact(largest(s.format)), true};
  if (std::abs(x) > largest(s.format) && s.value != x) return {"saturates at " + compact(largest(s.format)), true};
  if (error == 0) return {"exact"};
  if (s.value == 0) return {"underflows to 0", true};
  const std::string ulps = fmt::format("{}  {:.3f} ulp", signed_scientific(error), error / ulp(s.format, x));
  return {std::abs(s.value) < smallest_normal(s.format) ? ulps + "  subnormal" : ulps};
}

/// A part of the formula under the bits.
struct Piece {
  Colour colour;
  std::string text;
};

std::vector<Piece> formula(const Stored& s) {
  const Format& f = s.format;
  const Piece sign{colours().moved, s.bits.sign == "1" ? "− " : "+ "};
  if (std::isnan(s.value)) return {{colours().bad, "not a number"}};
  if (std::isinf(s.value)) return {sign, {colours().bad, "infinity"}};
  if (s.value == 0) return {sign, {colours().text, "0: no bit is set"}};
  const int e = std::max(std::ilogb(s.value), min_exponent(f)), bias = (1 << (f.exponent_bits - 1)) - 1;
  const double significand = std::ldexp(std::abs(s.value), -e);
  const std::string power = significand < 1 ? fmt::format("2^{}", e) : fmt::format("2^({} − {})", e + bias, bias);
  return {sign,
          {colours().good, power},
          {colours().faint, " × "},
          {colours().text, in_full(significand)},
          {colours().faint, " = "},
          {colours().text, in_full(s.value)}};
}

/// True if the loss fits beside the formula.
bool loss_fits(const LessonScene& scene, const Stored& s, double x) {
  float needed = px(names_width) + px(16) + text_width(Face::mono, loss_of(s, x).text);
  for (const Piece& p : formula(s)) needed += text_width(Face::mono, p.text);
  return needed < scene.width;
}

/// Draws the name, the bits (a click flips one), the formula, and the loss: `below`, else beside if it fits. True if a bit was
/// flipped.
bool draw_number(const LessonScene& scene, const Stored& s, double& x, bool below) {
  const int bits = 1 + s.format.exponent_bits + s.format.mantissa_bits;
  const float names = px(names_width), height = px(24),
              box = std::min(px(24), std::floor((scene.width - names) / static_cast<float>(bits)));
  const ImVec2 at = ImGui::GetCursorScreenPos(), boxes{at.x + names, at.y}, size{box * static_cast<float>(bits), height};
  draw_in_line(at, height, Face::mono, colours().text, s.name);
  ImGui::SetCursorScreenPos(boxes);
  ImGui::PushID(s.name.c_str());
  const bool pressed = ImGui::InvisibleButton("bits", size, ImGuiButtonFlags_EnableNav);
  ImGui::PopID();
  std::string digits = s.bits.sign + s.bits.exponent + s.bits.mantissa;
  const int i = hovered_bit(bits, boxes, size);
  draw_bit_boxes(s.format, {bits, digits, i}, boxes, size);
  explain(fmt::format("{}: 1 sign bit, {} exponent bits, {} mantissa bits. Click a bit to flip it: x becomes that number.",
                      s.name, s.format.exponent_bits, s.format.mantissa_bits),
          fmt::format("0x{:0{}x} = (-1)^s 2^(E - {}) 1.M", std::stoull(digits, nullptr, 2), (bits + 3) / 4,
                      (1 << (s.format.exponent_bits - 1)) - 1));
  float left = boxes.x;
  float under = at.y + height + px(4);
  const std::vector<Piece> pieces = formula(s);
  float needed = 0;
  for (const Piece& p : pieces) needed += text_width(Face::mono, p.text);
  const bool breaks = boxes.x + needed > at.x + scene.width;  // before the equals sign
  for (const Piece& p : pieces) {
    if (breaks && p.text == " = ") {
      under += px(18);
      left = boxes.x;
    }
    left += draw_text({left, under}, Face::mono, p.colour, p.text);
  }
  const Loss loss = loss_of(s, x);
  const Colour ink = loss.bad ? colours().bad : colours().secondary;
  const float right = at.x + scene.width;
  if (below) {
    under += px(18);
    draw_text({boxes.x, under}, Face::mono, ink, loss.text);
  } else if (left + px(16) + text_width(Face::mono, loss.text) < right) {
    draw_text({right, under}, Face::mono, ink, loss.text, 1);
  }
  ImGui::SetCursorScreenPos({at.x, under + px(24)});
  if (!pressed || i < 0) return false;
  char& digit = digits[static_cast<std::size_t>(i)];
  digit = digit == '0' ? '1' : '0';
  x = number_of(s.format, std::stoull(digits, nullptr, 2));
  return true;
}

/// Losses below the formulas stay there while x changes, so that the rows keep their places.
struct BitsState {
  float width = 0;
  bool losses_below = false;
};

/// The sentence of the whole view.
std::string sentence(const std::vector<Stored>& all, double x) {
  if (std::isnan(x)) return "NaN stays NaN in every format.";
  const Stored* best = nullptr;
  int exact_ones = 0;
  for (const Stored& s : all) {
    const double error = std::abs(s.value - x);
    exact_ones += s.value == x;
    if (std::isfinite(error) && (best == nullptr || error < std::abs(best->value - x))) best = &s;
  }
  if (all.size() > 1 && exact_ones == static_cast<int>(all.size()))
    return fmt::format("x = {} is a number of all {} formats.", in_full(x), all.size());
  if (all.size() > 1 && best != nullptr && exact_ones == 0)
    return fmt::format("x = {} is a number of none of these formats; {} is closest, {} off.", in_full(x), best->name,
                       scientific(std::abs(best->value - x)));
  if (all.size() > 1) return fmt::format("x = {} is a number of {} of these {} formats.", in_full(x), exact_ones, all.size());
  const Stored& s = all.front();
  if (exact_ones == 1) return fmt::format("x = {} is a number of {}: nothing is lost.", in_full(x), s.name);
  return fmt::format("x = {} is stored in {} as {}.", in_full(x), s.name, in_full(s.value));
}

}  // namespace

std::string draw_bits_view(LessonScene& scene) {
  if (!value_of(scene, "storage").empty()) return draw_block_bits(scene);
  std::string problem;
  const std::vector<Format> formats = formats_of(scene, "fp16", problem);
  double x = real_of(scene, "value", 0.1, problem);
  const std::vector<std::string> parts = list_of(scene, "show", formats.size() == 1 ? "neighbours, range" : "range");
  if (problem.empty()) problem = unknown_word("show", parts, shown);
  if (!problem.empty()) return problem;
  const auto shows = [&](std::string_view part) { return std::ranges::find(parts, part) != parts.end(); };
  const WithSpacing spacing({px(8), px(8)});
  bool changed = !is_on_page(scene) && edit_value(scene, x, formats);
  std::vector<Stored> all;
  for (const Format& f : formats) all.push_back({f, name(f), round(f, x), bits_of(f, x)});
  draw_view_summary(scene, sentence(all, x));
  const double asked = x;
  auto& state = own_state<BitsState>(scene);
  if (state.width != scene.width) state = {scene.width, false};
  state.losses_below |= !std::ranges::all_of(all, [&](const Stored& s) { return loss_fits(scene, s, asked); });
  const bool below = state.losses_below && scene.room == 0;  // more lines would make a presented view's type too small
  for (const Stored& s : all) {
    changed |= draw_number(scene, s, x, below);
    if (shows("neighbours")) draw_neighbours({s.format, s.name, asked, s.value}, scene.width);
  }
  if (shows("range") || shows("overflow")) draw_ranges(formats, asked, shows("overflow"), scene.width);
  if (changed) change(scene, "value", in_full(x));
  return "";
}

}  // namespace attoscope::ui
