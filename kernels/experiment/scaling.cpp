#include "kernels/experiment/scaling.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

constexpr int most_block = 1 << 20;

/// A factor, or the largest magnitude of a group's elements; none: the text is no number from 1e-30 to 1e30.
std::optional<double> factor_of(std::string_view text) {
  const auto x = to_number<double>(text);
  return x && *x >= 1e-30 && *x <= 1e30 ? x : std::nullopt;
}

/// Reads the parts of a scaling's text that follow the element.
class ScalingReader {
 public:
  ScalingReader(std::string_view text, Scaling& s) : text_(text), s_(s) {}

  void take(std::string_view part) {
    if (!takes_granularity(part) && !takes_scale(part) && !takes_rounding(part)) refuse(part);
  }
  /// Checks the parts together: a factor of a head is a fixed scale.
  void finish() {
    if (!has_factor_ || s_.granularity == Granularity::block) return;
    if (s_.granularity != Granularity::head || s_.rule != ScaleRule::amax) refuse("x" + shortest(s_.factor));
    s_.rule = ScaleRule::fixed;
  }

 private:
  bool takes_granularity(std::string_view part) {
    const std::size_t colon = part.find(':');
    const std::optional<Granularity> granularity = granularity_names.value_of(part.substr(0, colon));
    if (!granularity) return false;
    s_.granularity = *granularity;
    s_.block = 0;
    if (!has_block(s_.granularity)) return colon == std::string_view::npos;
    const auto block = colon == std::string_view::npos ? std::nullopt : to_number<int>(part.substr(colon + 1));
    if (!block || *block < 1 || *block > most_block) refuse(part);
    s_.block = *block;
    return true;
  }

  bool takes_scale(std::string_view part) {
    if (const auto scale = scale_format_names.value_of(part)) {
      s_.scale = *scale;
    } else if (part == "floor" || part == "ceil") {
      s_.rule = part == "floor" ? ScaleRule::floor : ScaleRule::ceil;
    } else if (part.starts_with("x")) {
      s_.factor = positive(part, part.substr(1));
      has_factor_ = true;
    } else if (part.starts_with("most:")) {
      s_.most = positive(part, part.substr(5));
    } else if (part.starts_with("plus:")) {
      s_.added = positive(part, part.substr(5));
    } else {
      return false;
    }
    return true;
  }

  bool takes_rounding(std::string_view part) {
    if (const auto quotient = quotient_names.value_of(part)) {
      s_.quotient = *quotient;
    } else if (part == "away" && s_.element.kind == Element::Kind::integer) {
      s_.tie = Tie::away;
    } else if (part == "shift") {
      s_.shifts = true;
    } else if (part.starts_with("to:")) {
      s_.in_operand = true;
      s_.operand = parse_rounding(part.substr(3));
    } else {
      return false;
    }
    return true;
  }

  double positive(std::string_view part, std::string_view number) const {
    const auto x = factor_of(number);
    if (!x) refuse(part);
    return *x;
  }
  [[noreturn]] void refuse(std::string_view part) const {
    throw std::invalid_argument("scaling " + in_quotes(text_) + " has " + in_quotes(part) + ", expected " +
                                std::string(scalings_expected));
  }

  std::string_view text_;
  Scaling& s_;
  bool has_factor_ = false;
};

std::string why_not_stored(const Scaling& s, ScaledTensor t, const std::string& what) {
  if (s.scale == ScaleFormat::e8m0_scale && s.rule == ScaleRule::amax)
    return what + ", whose scales are powers of two: expected floor or ceil beside e8m0";
  if (s.shifts) return what + ", but only P can have shift";
  if (s.granularity == Granularity::block && s.factor != 1)
    return what + ", but only P has a factor beside the scales of its blocks: expected no x" + shortest(s.factor);
  if (s.granularity == Granularity::thread && t == ScaledTensor::V) return what + ", but only Q and K can have thread";
  return "";
}

/// The error of granularity `tensor` for a tensor that is changed before it is stored: other heads are known only as given.
std::string why_not_over_all_heads(const Scalings& s, ScaledTensor t, const std::string& what) {
  const bool changed = t == ScaledTensor::V ? s.smooth_V : s.hadamard || (t == ScaledTensor::K ? s.smooth_K : s.smooth_Q > 0);
  if (s[t].granularity != Granularity::tensor || !changed) return "";
  return what + ", by the largest of all heads as they are given: expected neither hadamard nor smoothing of it";
}

std::string why_not_scaled_P(const Method& m, const std::string& what) {
  const Scaling& P = m.scaling.P;
  if (normalises_P(m.algorithm))
    return what + ", which needs an algorithm that divides by l at the end, not " + std::string(name(m.algorithm));
  if (P.element.kind == Element::Kind::integer) return what + ", of an integer element: expected a float such as e4m3 or e2m1";
  if (m.precision.sum_rounded_P) return what + ", and l sums rounded P: expected sum_rounded_P to be off";
  if (P.in_operand || P.added != 0 || P.most != 0) return what + ", but only Q, K and V can have to:, plus: or most:";
  if (P.scale == ScaleFormat::nvfp4_scale)
    return what + ", but the scale of nvfp4 needs the whole P at once: expected e4m3 with a factor";
  if (P.granularity == Granularity::tensor)
    return what + ", but P of other heads is never known: expected xF or block:16, block:32 or block:64";
  if (P.granularity == Granularity::head)
    return P.rule == ScaleRule::fixed ? "" : what + ", which has no factor: expected xF, as in e4m3/x256/shift";
  if (P.granularity != Granularity::block || P.block > 64 || 64 % P.block != 0)
    return what + ", expected xF or block:16, block:32 or block:64";
  if (P.scale == ScaleFormat::e8m0_scale && P.rule == ScaleRule::amax)
    return what + ", whose scales are powers of two: expected floor or ceil beside e8m0";
  return "";
}

std::string why_not_smoothed(const Scalings& s, const Problem& p) {
  if (s.hadamard && (p.d & (p.d - 1)) != 0) return "hadamard needs a power of 2 for d, which is " + std::to_string(p.d);
  if (s.smooth_K && (p.softcap != 0 || p.sink))
    return "smooth_K shifts S by a number, which changes softcap and sink: expected neither of them";
  if (s.smooth_V && p.sink) return "smooth_V adds the mean of V to O, whose weights do not sum to 1 with a sink: expected none";
  if (s.smoothed.stochastic) return "smoothed is stochastic, expected rounding to nearest";
  if (s.smooth_Q > 0 && s.hadamard) return "smooth_Q and hadamard are of different kernels, expected one of them";
  return "";
}

/// Number of elements that share a scale, in n x d numbers; the last group may be smaller.
double elements_of_a_scale(const Scaling& s, ScaledTensor t, int n, int d) {
  const double rows = std::min(s.block, n);
  switch (s.granularity) {
    case Granularity::head:
    case Granularity::tensor:  // times the number of heads, which is not known here
      return double{1} * n * d;
    case Granularity::rows:
      return rows * d;
    case Granularity::token:
      return d;
    case Granularity::thread:
      return std::max(1.0, rows / (t == ScaledTensor::Q ? 8 : 4)) * d;
    case Granularity::channel:
      return n;
    case Granularity::columns:
      return std::min(s.block, d);
    case Granularity::block:
      return std::min(s.block, t == ScaledTensor::V || t == ScaledTensor::P ? n : d);
  }
  return 1;
}

}  // namespace

double bits_per_element(const Scaling& s, ScaledTensor t, int n, int d) {
  const double scale_bits = s.rule == ScaleRule::fixed ? 0 : s.scale == ScaleFormat::fp32_scale ? 32 : 8;
  const double of_the_head = s.scale == ScaleFormat::nvfp4_scale ? 32.0 / n / d : 0;
  return bits_of_element(s.element) + scale_bits / elements_of_a_scale(s, t, n, d) + of_the_head;
}

std::string scaling_text(const Scaling& s) {
  if (!s.is_on()) return "off";
  std::string text = name(s.element);
  const auto add = [&](std::string_view part, std::string_view value = {}) { text.append("/").append(part).append(value); };
  add(name(s.granularity));
  if (has_block(s.granularity)) text.append(":").append(std::to_string(s.block));
  if (s.scale != ScaleFormat::fp32_scale) add(scale_format_names[s.scale]);
  if (s.rule == ScaleRule::floor || s.rule == ScaleRule::ceil) add(scale_rule_names[s.rule]);
  if (s.rule == ScaleRule::fixed || s.factor != 1) add("x", shortest(s.factor));
  if (s.most != 0) add("most:", shortest(s.most));
  if (s.quotient != Quotient::divided) add(quotient_names[s.quotient]);
  if (s.tie == Tie::away) add("away");
  if (s.added != 0) add("plus:", shortest(s.added));
  if (s.shifts) add("shift");
  if (s.in_operand) add("to:", rounding_text(s.operand));
  return text;
}

Scaling parse_scaling(std::string_view text) {
  if (text == "off") return {};
  const std::vector<std::string_view> parts = split(text, "/");
  Scaling s{.element = parse_element(parts.front())};
  ScalingReader reader(text, s);
  for (std::size_t i = 1; i < parts.size(); ++i) reader.take(parts[i]);
  reader.finish();
  return s;
}

Scaling with_part(const Scaling& s, std::string_view part, std::string_view value) {
  if (!s.is_on()) throw std::invalid_argument(std::string(part) + " is of a tensor that is not stored with scales");
  Scaling y = s;
  const auto refuse = [&](std::string_view expected) {
    throw std::invalid_argument(std::string(part) + " is " + in_quotes(value) + ", expected " + std::string(expected));
  };
  const auto choose = [&](const auto& names, auto& field) {
    const auto found = names.value_of(value);
    if (!found) refuse(listed(names));
    field = *found;
  };
  if (part == "element") {
    y.element = parse_element(value);
    if (y.element.kind != Element::Kind::integer) y.tie = Tie::even;  // `away` is of integers only
  } else if (part == "granularity") {
    const Scaling read = parse_scaling(name(s.element) + "/" + std::string(value));
    y.granularity = read.granularity;
    y.block = read.block;
  } else if (part == "scale") {
    choose(scale_format_names, y.scale);
  } else if (part == "rule") {
    choose(scale_rule_names, y.rule);
  } else if (part == "quotient") {
    choose(quotient_names, y.quotient);
  } else if (part == "factor") {
    const auto x = factor_of(value);
    if (!x) refuse("a number from 1e-30 to 1e30");
    y.factor = *x;
    if (y.granularity == Granularity::head) y.rule = ScaleRule::fixed;
  } else {
    throw std::invalid_argument(in_quotes(part) + " is no part of a storage, expected " + listed(scaling_parts));
  }
  return y;
}

std::string why_not_scaled(const Method& m, const Problem& p) {
  const Scalings& s = m.scaling;
  if (!s.any() || !is_emulated(m.algorithm)) return "";
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P}) {
    if (!s[t].is_on()) continue;
    const std::string what = std::string(scaled_tensor_names[t]) + " is " + scaling_text(s[t]);
    if (std::string why = t == ScaledTensor::P ? why_not_scaled_P(m, what) : why_not_stored(s[t], t, what); !why.empty())
      return why;
    if (std::string why = why_not_over_all_heads(s, t, what); !why.empty()) return why;
  }
  return why_not_smoothed(s, p);
}

}  // namespace attoscope
