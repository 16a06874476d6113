#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/arithmetic/double_double.h"
#include "kernels/model/model_run.h"

namespace attoscope {
namespace {

using Precise = DD<double>;

/// ln x to about 30 digits: one Newton step from the double value.
Precise log_of(double x) {
  const double y = logarithm(x);
  const Precise back = exponential(Precise{-y, 0}) * Precise{x, 0} - Precise{1, 0};
  const Precise half = back * back * Precise{0.5, 0};
  return Precise{y, 0} + back - half;
}

/// x^y for x > 0.
double power(double x, double y) { return exponential(log_of(x) * Precise{y, 0}).high; }

/// theta^(-2i/d), to the last bit or next to it.
std::vector<double> plain_frequencies(double theta, int head_dim) {
  const Precise log_theta = log_of(theta);
  std::vector<double> f;
  for (int i = 0; i < head_dim; i += 2)
    f.push_back(
        exponential(log_theta * (Precise{-static_cast<double>(i), 0} / Precise{static_cast<double>(head_dim), 0})).high);
  return f;
}

/// Index of the pair that makes `turns` turns within `length` tokens.
double pair_of_turns(double turns, int head_dim, double theta, double length) {
  return head_dim * logarithm(length / (turns * 2 * std::numbers::pi)) / (2 * logarithm(theta));
}

double yarn_mscale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * logarithm(factor) + 1; }

/// The factor of cos and sin for yarn (arXiv 2309.00071).
double yarn_factor(const Rope& r) {
  if (r.attention_factor > 0) return r.attention_factor;
  if (r.mscale != 0 && r.mscale_all != 0) return yarn_mscale(r.factor, r.mscale) / yarn_mscale(r.factor, r.mscale_all);
  return yarn_mscale(r.factor, 1);
}

/// Interpolates from the plain frequencies to the frequencies over `factor`, along a ramp of pairs.
void scale_as_yarn(const Rope& r, int head_dim, std::vector<double>& f) {
  double low = pair_of_turns(r.beta_fast, head_dim, r.theta, r.original_length);
  double high = pair_of_turns(r.beta_slow, head_dim, r.theta, r.original_length);
  if (r.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, head_dim - 1.0);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double plain = 1 - std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    f[i] = f[i] / r.factor * (1 - plain) + f[i] * plain;
  }
}

void scale_as_llama3(const Rope& r, std::vector<double>& f) {
  for (double& x : f) {
    const double length = 2 * std::numbers::pi / x;
    const double smooth = (r.original_length / length - r.low_factor) / (r.high_factor - r.low_factor);
    const double scaled = x / r.factor;
    if (length > r.original_length / r.low_factor)
      x = scaled;
    else if (length >= r.original_length / r.high_factor)
      x = (1 - smooth) * scaled + smooth * x;
  }
}

/// The base of `dynamic`, which grows if the context is longer than the model's.
double dynamic_theta(const Rope& r, int head_dim, int n) {
  const double length = std::max<double>(n, r.longest), growth = r.factor * length / r.longest - (r.factor - 1);
  return r.theta * power(growth, head_dim / (head_dim - 2.0));
}

void divide(std::vector<double>& f, const std::vector<double>& by) {
  for (std::size_t i = 0; i < std::min(f.size(), by.size()); ++i) f[i] /= by[i];
}

/// 1 / (2 pi), to 32 digits.
constexpr Precise per_turn{0x1.45f306dc9c883p-3, -0x1.6b01ec5417056p-57};

/// cos and sin of any angle up to 2^40.
SinCos<double> cos_sin(double angle) {
  const Precise turns = Precise{angle, 0} * per_turn;
  const Precise within = turns - Precise{std::floor(turns.high), 0};
  const double u = within.high + within.low;
  return sincos_turns(u < 0 ? u + 1 : u >= 1 ? u - 1 : u);
}

double rounded(const Rounding& r, double x) { return r.kind == Rounding::Kind::exact ? x : round(r.format, x); }

/// Frequencies of the head_dim / 2 pairs over a context of n tokens, in double, and the factor of cos and sin of their scaling.
/// Formulas: transformers' modeling_rope_utils.
struct RopeFrequencies {
  std::vector<double> frequencies;
  double factor = 1;
};
RopeFrequencies rope_frequencies(const Rope& r, int head_dim, int n) {
  const bool dynamic = r.scaling == RopeScaling::dynamic;
  RopeFrequencies x{plain_frequencies(dynamic ? dynamic_theta(r, head_dim, n) : r.theta, head_dim), 1};
  divide(x.frequencies, r.divisors);
  switch (r.scaling) {
    case RopeScaling::none:
    case RopeScaling::dynamic:
      break;
    case RopeScaling::linear:
      for (double& f : x.frequencies) f /= r.factor;
      break;
    case RopeScaling::llama3:
      scale_as_llama3(r, x.frequencies);
      break;
    case RopeScaling::yarn:
      scale_as_yarn(r, head_dim, x.frequencies);
      x.factor = yarn_factor(r);
      break;
    case RopeScaling::longrope:
      divide(x.frequencies, n > r.original_length ? r.long_factors : r.short_factors);
      x.factor = r.attention_factor > 0 ? r.attention_factor
                 : r.factor <= 1        ? 1
                                        : std::sqrt(1 + logarithm(r.factor) / logarithm(r.original_length));
      break;
  }
  return x;
}

}  // namespace

RopeTable rope_table(const Rope& rope, int head_dim, int n, const Surroundings& s) {
  const RopeFrequencies f = rope_frequencies(rope, head_dim, n);
  RopeTable t;
  for (int position = 0; position < n; ++position)
    for (const double frequency : f.frequencies) {
      const double p = rounded(s[AroundStep::rope_position], position + rope.first_position);
      const double w = rounded(s[AroundStep::rope_frequency], frequency);
      const SinCos<double> x = cos_sin(rounded(s[AroundStep::rope_angle], p * w));
      const Rounding& table = s[AroundStep::rope_table];
      // rounded to fp32 first, as in tables made in fp32: double rounding on purpose
      const auto made = [&](double v) {
        return rounded(table, s.in_double ? v * f.factor : round(fp32, round(fp32, v) * round(fp32, f.factor)));
      };
      t.cos.push_back(made(x.cos));
      t.sin.push_back(made(x.sin));
    }
  return t;
}

}  // namespace attoscope
