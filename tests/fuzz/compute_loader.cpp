// Loader of experiments: bytes become an experiment, which is computed with two instruction sets.
#include <cstring>

#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/settings.h"
#include "tests/fuzz/loaders.h"
#include "tests/support/support.h"

namespace attoscope::testing {
namespace {

/// Reads numbers from the front of a string of bytes; zeros after its end.
class Bytes {
 public:
  explicit Bytes(std::string_view left) : left_(left) {}
  std::uint64_t bits(std::size_t count) {
    std::uint64_t x = 0;
    const std::size_t there = std::min(count, left_.size());
    std::memcpy(&x, left_.data(), there);
    left_.remove_prefix(there);
    return x;
  }
  int between(int low, int high) { return low + static_cast<int>(bits(2) % static_cast<std::uint64_t>(high - low + 1)); }
  bool flag() { return bits(1) % 2 == 1; }
  /// A small multiple of 1/256, or a double of any bits.
  double number() {
    const std::uint64_t kind = bits(1);
    return kind % 4 == 0 ? std::bit_cast<double>(bits(8)) : static_cast<double>(static_cast<std::int16_t>(bits(2))) / 256;
  }

 private:
  std::string_view left_;
};

/// Sets x from the bytes, within its range.
void fill(Bytes& bytes, int& x, const RealRange& range) {
  const int small = static_cast<int>(bytes.bits(2) % 300), min = static_cast<int>(range.min);
  x = std::clamp(min < 0 && bytes.flag() ? -small : small, min, static_cast<int>(range.max));
}
void fill(Bytes& bytes, double& x, const RealRange& range) {
  if (const double read = bytes.number(); contains(range, read)) x = read;
}
void fill(Bytes& bytes, Format& x) {
  const auto kind = static_cast<std::size_t>(bytes.bits(1));
  x = kind % 2 == 0 ? named_formats[kind / 2 % named_formats.size()].format
                    : Format{bytes.between(min_exponent_bits, max_exponent_bits), bytes.between(0, max_mantissa_bits),
                             static_cast<Overflow>(bytes.bits(1) % 3), bytes.flag()};
}
void fill(Bytes& bytes, Rounding& x) {
  const std::uint64_t kind = bytes.bits(1);
  x = kind % 4 == 1 ? to_main : exact;
  if (kind % 4 == 2) fill(bytes, (x = to_format(bf16)).format);
  x.stochastic = x.kind != Rounding::Kind::exact && kind > 192;
}
void fill(Bytes& bytes, Scaling& x) {
  const std::uint64_t kind = bytes.bits(1);
  if (kind % 4 != 0) return;
  x.element = named_elements[kind / 4 % named_elements.size()].element;
  x.granularity = static_cast<Granularity>(bytes.bits(1) % granularity_names.size());
  x.block = has_block(x.granularity) ? 1 << bytes.bits(1) % 8 : 0;
  x.scale = static_cast<ScaleFormat>(bytes.bits(1) % scale_format_names.size());
  x.rule = static_cast<ScaleRule>(bytes.bits(1) % 3);
  x.quotient = static_cast<Quotient>(bytes.bits(1) % quotient_names.size());
  const std::uint64_t flags = bytes.bits(1);
  if ((flags & 1) != 0) x.factor = 448, x.rule = x.granularity == Granularity::head ? ScaleRule::fixed : x.rule;
  if (x.granularity != Granularity::head && x.granularity != Granularity::block) x.factor = 1;
  x.tie = (flags & 2) != 0 && x.element.kind == Element::Kind::integer ? Tie::away : Tie::even;
  x.shifts = (flags & 4) != 0;
  x.in_operand = (flags & 8) != 0;
  x.operand = x.in_operand && (flags & 16) != 0 ? to_main : exact;
}

/// Sets every setting of an experiment except files and digests.
void fill(Bytes& bytes, const Settings& settings) {
  for (const Setting& s : settings) {
    if (auto* const* x = std::get_if<int*>(&s.value)) fill(bytes, **x, s.range);
    if (auto* const* x = std::get_if<std::uint64_t*>(&s.value)) **x = bytes.bits(2) % 300;
    if (auto* const* x = std::get_if<double*>(&s.value)) fill(bytes, **x, s.range);
    if (auto* const* x = std::get_if<std::optional<double>*>(&s.value); x != nullptr && bytes.flag())
      fill(bytes, (*x)->emplace(0), s.range);
    if (auto* const* x = std::get_if<bool*>(&s.value)) **x = bytes.flag();
    if (const auto* x = std::get_if<NamedValue>(&s.value))
      *x->value = static_cast<std::uint8_t>(bytes.bits(1) % x->names.size());
    if (auto* const* x = std::get_if<Format*>(&s.value)) fill(bytes, **x);
    if (auto* const* x = std::get_if<Rounding*>(&s.value)) fill(bytes, **x);
    if (auto* const* x = std::get_if<Scaling*>(&s.value)) fill(bytes, **x);
    if (const auto* x = std::get_if<PolicyValue>(&s.value)) x->take(std::string(x->names()[bytes.bits(1) % x->names().size()]));
    if (const auto* x = std::get_if<PartValue>(&s.value); x != nullptr && (s.key != "precision" || bytes.flag()))
      fill(bytes, **x);
  }
}

/// A small experiment (a thousand run in a second) without files and GPUs.
Experiment experiment_of(Bytes& bytes) {
  Experiment e = default_experiment();
  fill(bytes, settings(e));
  e.problem.n = 1 + e.problem.n % 20;
  e.problem.n_k = e.problem.n_k % 20;
  e.problem.d = 1 + e.problem.d % 6;
  e.problem.d_v = e.problem.d_v % 6;
  e.problem.rows = std::min(e.problem.rows, e.problem.n);
  e.problem.traced_row = e.problem.traced_row % e.problem.n;
  if (e.problem.input.kind == InputKind::tensors)
    e.problem.input = given(drawn_tensors(shape_of(e.problem), [&] { return bytes.number(); }));
  for (Method* const m : {&e.a, &e.b})
    if (m->algorithm == Algorithm::loaded || m->algorithm == Algorithm::hardware) m->algorithm = Algorithm::flash2;
  return e;
}

void compute_experiment(std::string_view bytes) {
  Bytes left(bytes);
  const Experiment e = experiment_of(left);
  const Result best = compute(e, {.threads = 1}), plain = compute(e, {.threads = 1, .isa = "simt"});
  const Digests &x = best.digests, &y = plain.digests;
  expect_that(x.golden == y.golden && x.a == y.a && x.b == y.b, "other bits on another instruction set: " + describe(e));
}

std::vector<std::string> experiment_bytes() {
  std::vector<std::string> seeds;
  Dice dice(9);
  for (int i = 0; i < 40; ++i) {
    std::string& seed = seeds.emplace_back();
    for (int k = 0; k < 200; ++k) seed += static_cast<char>(dice.bits());
  }
  return seeds;
}

}  // namespace

std::vector<Loader> compute_loaders() { return {{"compute", checked<compute_experiment>, experiment_bytes}}; }

}  // namespace attoscope::testing
