/// Inner loop of the comparison: sums the deviation of one chunk of two arrays in eight interleaved chains, whatever the width
/// of the lanes. A GPU's lane computes one chain.
#pragma once

#include "kernels/lanes/job.h"
#include "kernels/lanes/lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

class DeviationChunk {
  using V = DoubleV;
  using I = Int64V;
  static constexpr int width = Lanes<double>::width, parts = metered_chains / width;

 public:
  /// Selects the chains first_chain .. first_chain + metered_chains - 1.
  ATTOSCOPE_HOST_DEVICE explicit DeviationChunk(const DeviationRule& rule, int first_chain = 0)
      : rule_(rule),
        first_chain_(first_chain),
        lowest_((std::int64_t{min_exponent(rule.format)} + 1023 > 1 ? std::int64_t{min_exponent(rule.format)} + 1023 : 1)
                << 52) {
    for (V& v : largest_) v = splat<V>(-1);
  }

  /// The sums of these chains; 0 for the other chains.
  ATTOSCOPE_HOST_DEVICE DeviationSums sums(const double* x, const double* y, int count) {
    if constexpr (metered_chains > 1)
      if (rule_.all_finite) return rule_.centred_alone ? sums_of<true, true>(x, y, count) : sums_of<true, false>(x, y, count);
    return sums_of<false, false>(x, y, count);
  }

 private:
  /// `all_finite` and `centred_alone` as in the rule; false: the rule decides at run time.
  template <bool all_finite, bool centred_alone>
  ATTOSCOPE_HOST_DEVICE DeviationSums sums_of(const double* x, const double* y, int count) {
    // Separate from the sums, which can stay in registers. Each lane has its own counts: errors are often alike, and lanes that
    // share bins would wait for each other.
    std::int32_t counts[width][spare_bin + 1] = {};
    std::int64_t bins[noted] = {};
    counts_ = counts;
    bins_ = bins;
    int i = 0;
    for (; i + first_chain_ + metered_chains <= count; i += DeviationSums::chains) {
      add<all_finite, centred_alone>(x + i, y + i, i);
      if (noted_ == noted) count_noted();
    }
    if constexpr (metered_chains > 1)
      if (i < count) add_rest(x + i, y + i, i, count - i);
    count_noted();
    return collected();
  }

  /// Pads missing elements with NaN, which is not counted.
  ATTOSCOPE_HOST_DEVICE void add_rest(const double* x, const double* y, int first, int count) {
    double rest[2][DeviationSums::chains];
    for (int i = 0; i < DeviationSums::chains; ++i) {
      rest[0][i] = i < count ? x[i] : std::numeric_limits<double>::quiet_NaN();
      rest[1][i] = i < count ? y[i] : 0;
    }
    add<false, false>(rest[0], rest[1], first);
  }

  template <bool all_finite, bool centred_alone>
  ATTOSCOPE_HOST_DEVICE_INLINE void add(const double* x, const double* y, int first) {
    for (int p = 0; p < parts; ++p) {
      V u = loaded<V>(x + first_chain_ + p * width), v = loaded<V>(y + first_chain_ + p * width);
      const V zero{}, one = splat<V>(1);
      V finite = one;
      if constexpr (!all_finite) {
        finite = u - u == zero ? (v - v == zero ? one : zero) : zero;  // x - x is 0 only for finite x
        u = finite == one ? u : zero;
        v = finite == one ? v : zero;
      }
      const V d = u - v, off = d - rule_.centre;
      centred_[p] += all_finite ? off * off : (finite == one ? off * off : zero);
      if (centred_alone || rule_.centred_alone) continue;
      const V size = d < zero ? -d : d;
      absolute_[p] += size;
      plain_[p] += d;
      square_[p] += d * d;
      xy_[p] += u * v;
      xx_[p] += u * u;
      yy_[p] += v * v;
      finite_[p] += finite;
      note_largest(p, all_finite ? size : (finite == one ? size : splat<V>(-1)), first);
      count_ulps(p, d, v, finite);
    }
  }

  ATTOSCOPE_HOST_DEVICE void note_largest(int p, V size, int first) {
    const V index = splat<V>(first);
    worst_[p] = size > largest_[p] ? index : worst_[p];
    largest_[p] = size > largest_[p] ? size : largest_[p];
  }

  ATTOSCOPE_HOST_DEVICE void count_ulps(int p, V d, V y, V finite) {
    const V zero{}, size = y < zero ? -y : y, reference = size > rule_.floor ? size : splat<V>(rule_.floor);
    I exponent = bits_of(reference) & (std::int64_t{0x7ff} << 52);
    exponent = exponent < lowest_ ? I{} + lowest_ : exponent;
    exponent = exponent > highest ? I{} + highest : exponent;  // if the floor is infinite
    // d / 2^(e - Y) by two exact factors, neither 0 nor infinite: 2^(1-e) and 2^(Y-1)
    const V inverse = from_bits<V>((std::int64_t{2047} << 52) - exponent);
    const V ulps = d * inverse * power_of_two<double>(rule_.format.mantissa_bits - 1), many = ulps < zero ? -ulps : ulps;
    most_ulps_[p] = many > most_ulps_[p] ? many : most_ulps_[p];
    V at = (ulps + double{UlpHistogram::reach}) * double{UlpHistogram::per_ulp};
    at = at < -1.0 ? splat<V>(-1) : (at > double{UlpHistogram::inner} ? splat<V>(UlpHistogram::inner) : at);
    const V magic = splat<V>(0x1.8p52), nearest = (at + magic) - magic, below = nearest > at ? nearest - 1.0 : nearest;
    const I bin = bits_of((finite == 1.0 ? below + 1.0 : splat<V>(spare_bin)) + magic) - bits_of(magic);
    for (int lane = 0; lane < width; ++lane) bins_[noted_ + lane] = lane_of(bin, lane);
    noted_ += width;
  }
  /// Counts the noted bins together: reading them from memory is faster than extracting single lanes.
  ATTOSCOPE_HOST_DEVICE_INLINE void count_noted() {
    for (int i = 0; i < noted_; i += width)
      for (int lane = 0; lane < width; ++lane) counts_[lane][bins_[i + lane]] += 1;
    noted_ = 0;
  }

  ATTOSCOPE_HOST_DEVICE DeviationSums collected() const {
    DeviationSums s;
    for (int p = 0; p < parts; ++p)
      for (int lane = 0; lane < width; ++lane) {
        const int chain = first_chain_ + p * width + lane;
        s.absolute[chain] = lane_of(absolute_[p], lane);
        s.plain[chain] = lane_of(plain_[p], lane);
        s.square[chain] = lane_of(square_[p], lane);
        s.centred[chain] = lane_of(centred_[p], lane);
        s.xy[chain] = lane_of(xy_[p], lane);
        s.xx[chain] = lane_of(xx_[p], lane);
        s.yy[chain] = lane_of(yy_[p], lane);
        s.finite += static_cast<std::int64_t>(lane_of(finite_[p], lane));
        s.max_ulp = lane_of(most_ulps_[p], lane) > s.max_ulp ? lane_of(most_ulps_[p], lane) : s.max_ulp;
        const std::int64_t index = static_cast<std::int64_t>(lane_of(worst_[p], lane)) + chain;
        const bool larger =
            lane_of(largest_[p], lane) > s.max_abs || (lane_of(largest_[p], lane) == s.max_abs && index < s.worst);
        if (larger) {
          s.max_abs = lane_of(largest_[p], lane);
          s.worst = index;
        }
      }
    for (int lane = 0; lane < width; ++lane)
      for (int i = 0; i < spare_bin; ++i) s.ulps.counts[static_cast<unsigned>(i)] += counts_[lane][i];
    return s;
  }

  static constexpr int spare_bin = UlpHistogram::inner + 2;
  static constexpr int noted = width == 1 ? 1 : 256;
  static constexpr std::int64_t highest = std::int64_t{2046} << 52;  // exponent of the largest numbers
  const DeviationRule& rule_;
  int first_chain_;
  std::int64_t lowest_;
  V absolute_[parts] = {}, plain_[parts] = {}, square_[parts] = {}, centred_[parts] = {}, xy_[parts] = {}, xx_[parts] = {},
    yy_[parts] = {}, finite_[parts] = {}, most_ulps_[parts] = {}, worst_[parts] = {};
  V largest_[parts] = {};
  std::int32_t (*counts_)[spare_bin + 1] = nullptr;
  std::int64_t* bins_ = nullptr;
  int noted_ = 0;
};

/// Sums |x - y| in eight interleaved chains.
ATTOSCOPE_HOST_DEVICE inline void gaps(const double* x, const double* y, int count, double* chain) {
  constexpr int chains = DeviationSums::chains, width = Lanes<double>::width, parts = chains / width;
  DoubleV sum[parts] = {};
  int i = 0;
  for (; i + chains <= count; i += chains)
    for (int p = 0; p < parts; ++p) {
      const DoubleV d = loaded<DoubleV>(x + i + p * width) - loaded<DoubleV>(y + i + p * width), zero{};
      sum[p] += d < zero ? -d : d;
    }
  for (int c = 0; c < chains; ++c) chain[c] = lane_of(sum[c / width], c % width);
  for (int c = 0; i < count; ++i, ++c) chain[c] += x[i] < y[i] ? y[i] - x[i] : x[i] - y[i];
}

/// Bounds of the magnitudes of x[0] .. x[count - 1].
inline BitsOfMagnitudes magnitudes(const double* x, std::size_t count) {
  constexpr std::size_t width = Lanes<double>::width;
  constexpr std::int64_t size = std::numeric_limits<std::int64_t>::max();
  BitsOfMagnitudes m;
  const auto note = [&m](std::uint64_t all, std::uint64_t below, std::uint64_t greatest) {
    m.all |= all;
    m.below = below < m.below ? below : m.below;
    m.greatest = greatest > m.greatest ? greatest : m.greatest;
  };
  Int64V all{}, below = Int64V{} + size, greatest{};
  std::size_t i = 0;
  for (; i + width <= count; i += width) {
    const Int64V bits = bits_of(loaded<DoubleV>(x + i)) & size, less = (bits - 1) & size;
    all |= bits;
    below = less < below ? less : below;
    greatest = bits > greatest ? bits : greatest;
  }
  for (int lane = 0; lane < Lanes<double>::width; ++lane)
    note(static_cast<std::uint64_t>(lane_of(all, lane)), static_cast<std::uint64_t>(lane_of(below, lane)),
         static_cast<std::uint64_t>(lane_of(greatest, lane)));
  for (; i < count; ++i) {
    const std::uint64_t bits = bit_as<std::uint64_t>(x[i]) & static_cast<std::uint64_t>(size);
    note(bits, (bits - 1) & static_cast<std::uint64_t>(size), bits);
  }
  return m;
}

/// Sums x[0] .. x[count - 1] in eight interleaved chains; x[0] is element `first` of the array.
ATTOSCOPE_HOST_DEVICE inline MomentSums moments(const double* x, std::size_t first, int count) {
  constexpr int chains = DeviationSums::chains, width = Lanes<double>::width, parts = chains / width;
  DoubleV squares[parts] = {}, finite_count[parts] = {};
  UInt64V digest[parts] = {}, place[parts] = {};
  for (int c = 0; c < chains; ++c) set_lane(place[c / width], c % width, first + static_cast<std::size_t>(c));
  const auto add = [&](const double* from) {
    for (int p = 0; p < parts; ++p) {
      const DoubleV v = loaded<DoubleV>(from + p * width), zero{}, one = splat<DoubleV>(1);
      const auto finite = v - v == zero;
      squares[p] += finite ? v * v : zero;
      finite_count[p] += finite ? one : zero;
      const DoubleV digested = v == v ? v : splat<DoubleV>(bit_as<double>(digested_nan));
      digest[p] += digest_term_of<UInt64V>(UInt64V(bits_of(digested)), place[p]);
      place[p] += static_cast<std::uint64_t>(chains);
    }
  };
  int i = 0;
  for (; i + chains <= count; i += chains) add(x + i);
  MomentSums m;
  for (int c = 0; c < chains; ++c) {
    m.squares[c] = lane_of(squares[c / width], c % width);
    m.nonfinite += i / chains - static_cast<std::int64_t>(lane_of(finite_count[c / width], c % width));
    m.digest += lane_of(digest[c / width], c % width);
  }
  for (int c = 0; i < count; ++i, ++c) {
    const bool finite = x[i] - x[i] == 0;
    m.squares[c] += finite ? x[i] * x[i] : 0.0;
    m.nonfinite += finite ? 0 : 1;
    m.digest += digest_term_of<std::uint64_t>(x[i] == x[i] ? bit_as<std::uint64_t>(x[i]) : digested_nan,
                                              first + static_cast<std::size_t>(i));
  }
  return m;
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
