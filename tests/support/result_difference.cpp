#include "tests/support/result_difference.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/experiment/measures.h"
#include "tests/support/support.h"

namespace attoscope::testing {
namespace {

/// Collects the first difference.
class Comparison {
 public:
  void number(const std::string& name, double x, double y) {
    if (same(x, y) || !found_.empty()) return;
    char text[160];
    std::snprintf(text, sizeof text, ": %.17g and %.17g", x, y);
    found_ = name + text;
  }
  void digest(const std::string& name, std::uint64_t x, std::uint64_t y) {
    if (x == y || !found_.empty()) return;
    char text[80];
    std::snprintf(text, sizeof text, ": digest %016" PRIx64 " and %016" PRIx64, x, y);
    found_ = name + text;
  }
  template <class List, class Visit>
  void each(const std::string& name, const List& x, const List& y, Visit visit) {
    number(name + " count", static_cast<double>(x.size()), static_cast<double>(y.size()));
    for (std::size_t i = 0; i < x.size() && found_.empty(); ++i) visit(name + "[" + std::to_string(i) + "]", x[i], y[i]);
  }
  template <class List>
  void numbers(const std::string& name, const List& x, const List& y) {
    number(name + " count", static_cast<double>(x.size()), static_cast<double>(y.size()));
    for (std::size_t i = 0; i < x.size() && found_.empty(); ++i) {
      const double u = static_cast<double>(x[i]), v = static_cast<double>(y[i]);
      if (!same(u, v)) number(name + "[" + std::to_string(i) + "]", u, v);
    }
  }
  const std::string& found() const { return found_; }

 private:
  std::string found_;
};

void compare(Comparison& c, const std::string& name, const Deviation& x, const Deviation& y) {
  const DeviationNumbers u = numbers_of(x), v = numbers_of(y);
  for (const DeviationMeasure& m : deviation_measures) c.number(name + " " + std::string(m.key), u.*m.value, v.*m.value);
  c.number(name + " worst_row", x.worst_row, y.worst_row);
  c.number(name + " worst_col", x.worst_col, y.worst_col);
  c.numbers(name + " ulps", x.ulps.counts, y.ulps.counts);
}

void compare(Comparison& c, const Trace& x, const Trace& y) {
  c.each("trace", x.tiles, y.tiles, [&c](const std::string& at, const TraceTile& u, const TraceTile& v) {
    std::vector<double> theirs;
    visit_tile(v, [&](const char*, auto number) { theirs.push_back(static_cast<double>(number)); });
    std::size_t i = 0;
    visit_tile(u, [&](const char* key, auto number) { c.number(at + " " + key, static_cast<double>(number), theirs[i++]); });
  });
}

void compare(Comparison& c, const Rescales& x, const Rescales& y) {
  c.number("rescales tiles", x.tiles, y.tiles);
  c.number("rescales nominal", x.nominal, y.nominal);
  c.number("rescales effective_mean", x.effective_mean, y.effective_mean);
  c.number("rescales expected", x.expected, y.expected);
  c.numbers("rescales per_tile", x.per_tile, y.per_tile);
  c.numbers("rescales expected_per_tile", x.expected_per_tile, y.expected_per_tile);
  c.each("max_quantiles", x.max_quantiles, y.max_quantiles,
         [&c](const std::string& at, const auto& u, const auto& v) { c.numbers(at, u, v); });
}

void compare(Comparison& c, const std::string& name, const Gradients& x, const Gradients& y) {
  c.numbers(name + " dQ", x.dq.values, y.dq.values);
  c.numbers(name + " dK", x.dk.values, y.dk.values);
  c.numbers(name + " dV", x.dv.values, y.dv.values);
  c.numbers(name + " delta", x.delta, y.delta);
  c.numbers(name + " lse", x.lse, y.lse);
  c.number(name + " dsink", x.dsink, y.dsink);
  c.number(name + " lost dS", x.lost_ds, y.lost_ds);
}

void compare(Comparison& c, const std::string& name, const GradientDeviations& x, const GradientDeviations& y) {
  compare(c, name + " dQ", x.dq, y.dq);
  compare(c, name + " dK", x.dk, y.dk);
  compare(c, name + " dV", x.dv, y.dv);
}

void compare(Comparison& c, const BackwardResult& x, const BackwardResult& y) {
  c.digest("golden's gradients", x.golden_digest, y.golden_digest);
  c.digest("a's gradients", x.a_digest, y.a_digest);
  c.digest("b's gradients", x.b_digest, y.b_digest);
  compare(c, "golden", *x.golden, *y.golden);
  compare(c, "a", x.a, y.a);
  compare(c, "b", x.b, y.b);
  c.numbers("keys", x.keys, y.keys);
  c.numbers("dO", x.incoming->d_o, y.incoming->d_o);
  compare(c, "gradients of a", x.a_error, y.a_error);
  compare(c, "gradients of b", x.b_error, y.b_error);
  compare(c, "gradients of a against b", x.a_minus_b, y.a_minus_b);
  c.number("bias of a's delta", x.a_delta.bias, y.a_delta.bias);
  c.number("bias of b's delta", x.b_delta.bias, y.b_delta.bias);
  c.number("rms of a's delta", x.a_delta.rms, y.a_delta.rms);
  c.number("rms of b's delta", x.b_delta.rms, y.b_delta.rms);
}

}  // namespace

std::string difference(const std::string& name, const Deviation& x, const Deviation& y) {
  Comparison c;
  compare(c, name, x, y);
  return c.found();
}

std::string difference(const Result& x, const Result& y) {
  Comparison c;
  c.digest("golden", x.digests.golden, y.digests.golden);
  c.digest("a", x.digests.a, y.digests.a);
  c.digest("b", x.digests.b, y.digests.b);
  c.numbers("rows", x.rows, y.rows);
  c.numbers("golden", x.golden->values, y.golden->values);
  c.numbers("a", x.a.values, y.a.values);
  c.numbers("b", x.b.values, y.b.values);
  c.numbers("golden_lse", x.golden_lse, y.golden_lse);
  c.numbers("a_lse", x.a_lse, y.a_lse);
  c.numbers("b_lse", x.b_lse, y.b_lse);
  c.number("golden_rms", x.golden_rms, y.golden_rms);
  c.number("golden_nonfinite", static_cast<double>(x.golden_nonfinite), static_cast<double>(y.golden_nonfinite));
  compare(c, "a_error", x.a_error, y.a_error);
  compare(c, "b_error", x.b_error, y.b_error);
  compare(c, "a_minus_b", x.a_minus_b, y.a_minus_b);
  compare(c, x.rescales, y.rescales);
  c.number("map tiles", x.rescale_map.tiles, y.rescale_map.tiles);
  c.number("map row_step", x.rescale_map.row_step, y.rescale_map.row_step);
  c.numbers("map m", x.rescale_map.m, y.rescale_map.m);
  c.number("trace row", x.trace.row, y.trace.row);
  compare(c, x.trace, y.trace);
  c.number("backward passes", x.backward ? 1 : 0, y.backward ? 1 : 0);
  if (x.backward && y.backward) compare(c, *x.backward, *y.backward);
  return c.found();
}

}  // namespace attoscope::testing
