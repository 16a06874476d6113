#include "kernels/experiment.h"

#include <cmath>

namespace attoscope {
namespace {

template <class Number>
void require(bool holds, const char* key, Number value, const std::string& expected) {
  if (!holds) throw std::invalid_argument(std::string(key) + " is " + std::to_string(value) + ": expected " + expected);
}

void validate_format(const Format& f, const std::string& key) {
  const auto text = [](int low, int high) { return std::to_string(low) + " .. " + std::to_string(high); };
  require(f.exponent_bits >= min_exponent_bits && f.exponent_bits <= max_exponent_bits, (key + ".exponent_bits").c_str(),
          f.exponent_bits, text(min_exponent_bits, max_exponent_bits));
  require(f.mantissa_bits >= 0 && f.mantissa_bits <= max_mantissa_bits, (key + ".mantissa_bits").c_str(), f.mantissa_bits,
          text(0, max_mantissa_bits));
  if (f.top_code_nan && f.overflow == Overflow::infinity)
    throw std::invalid_argument(key + ".overflow is infinity: expected saturate or nan, since the format has no infinity");
}

void validate_method(const Method& m, const std::string& key) {
  require(m.block_q >= 1, (key + ".block_q").c_str(), m.block_q, "at least 1");
  require(m.block_k >= 1, (key + ".block_k").c_str(), m.block_k, "at least 1");
  const auto at_most = [](int low, int high) { return std::to_string(low) + " .. " + std::to_string(high); };
  require(m.splits >= 1 && m.splits <= max_splits, (key + ".splits").c_str(), m.splits, at_most(1, max_splits));
  require(m.tau >= 0 && m.tau <= 64, (key + ".tau").c_str(), m.tau, at_most(0, 64));
  require(m.tie_beta == 0 || (m.tie_beta > 1 && m.tie_beta <= 64), (key + ".tie_beta").c_str(), m.tie_beta, "0 (off), or above 1 and at most 64");
  require(m.exp2_degree >= 0 && m.exp2_degree <= 5, (key + ".exp2_degree").c_str(), m.exp2_degree, at_most(0, 5));
  require(m.p_exponent >= -max_p_exponent && m.p_exponent <= max_p_exponent, (key + ".p_exponent").c_str(), m.p_exponent,
          at_most(-max_p_exponent, max_p_exponent));
  require(m.sum_lanes >= 1 && m.sum_lanes <= max_sum_lanes, (key + ".sum_lanes").c_str(), m.sum_lanes, at_most(1, max_sum_lanes));
  for (int i = 0; i < step_count; ++i) {
    const Rounding& r = m.precision.steps[static_cast<std::size_t>(i)];
    if (r.kind == Rounding::Kind::format) validate_format(r.format, key + "." + std::string(step_texts[static_cast<std::size_t>(i)].name));
  }
}

void validate_problem(const Problem& p) {
  const std::string up_to = "1 .. ";
  require(p.n >= 1 && p.n <= max_n, "problem.n", p.n, up_to + std::to_string(max_n));
  require(p.d >= 1 && p.d <= max_d, "problem.d", p.d, up_to + std::to_string(max_d));
  require(std::isfinite(p.scale) && p.scale >= 0, "problem.scale", p.scale, "a finite number above 0, or 0 for 1/sqrt(d)");
  require(p.rows >= 0, "problem.rows", p.rows, "0 (all) or more");
  require(p.mask.kind != Mask::Kind::window || p.mask.window >= 1, "problem.mask.window", p.mask.window, "at least 1");
  require(!p.sink || std::isfinite(*p.sink), "problem.sink", p.sink.value_or(0), "a finite number");
  require(std::isfinite(p.softcap) && p.softcap >= 0, "problem.softcap", p.softcap, "a finite number above 0, or 0 (off)");
  require(std::isfinite(p.alibi) && std::fabs(p.alibi) <= 1e6, "problem.alibi", p.alibi, "a finite slope of at most 1e6");
  if (p.input.kind != InputKind::tensors) return;
  if (!p.input.tensors) throw std::invalid_argument("problem.input is '" + p.input.file + "': its tensors have not been loaded");
  const Tensors& t = *p.input.tensors;
  require(p.n <= t.n, "problem.n", p.n, "at most " + std::to_string(t.n) + ", the tokens of " + p.input.file);
  require(p.d == t.d, "problem.d", p.d, std::to_string(t.d) + ", the head dimension of " + p.input.file);
}

}  // namespace

bool works_in_double(const Experiment& e) {
  const auto wide = [](const Format& f) { return significand_bits(f) > 24; };
  if (wide(e.format)) return true;
  for (const Method* m : {&e.a, &e.b})
    for (const Rounding& r : m->precision.steps)
      if (r.kind == Rounding::Kind::format && wide(r.format)) return true;
  return false;
}

double scale_of(const Problem& p) { return p.scale > 0 ? p.scale : 1 / std::sqrt(static_cast<double>(p.d)); }

int traced_row(const Problem& p) {
  const int row = p.traced_row < 0 ? p.n + p.traced_row : p.traced_row;
  return row < 0 ? 0 : (row >= p.n ? p.n - 1 : row);
}

void validate(const Experiment& e) {
  validate_problem(e.problem);
  validate_format(e.format, "format");
  validate_method(e.a, "a");
  validate_method(e.b, "b");
}

}  // namespace attoscope
