#include "kernels/experiment/experiment.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

/// Checks every field and throws where a value is not allowed.
class Checker {
 public:
  explicit Checker(std::string path) : path_(std::move(path)) {}

  template <class T>
  void integer(std::string_view key, const T& x, T min, T max) const {
    if (x < min || x > max) refuse(key, std::to_string(x), whole_range_text(min, max));
  }
  void real(std::string_view key, double x, const RealRange& range) {
    if (!contains(range, x)) refuse(key, shortest(x), attoscope::text(range));
  }
  void optional_real(std::string_view key, const std::optional<double>& x, const RealRange& range) {
    if (x) real(key, *x, range);
  }
  template <class E, std::size_t N>
  void choice(std::string_view key, E x, const std::array<std::string_view, N>& names) {
    const auto index = static_cast<std::size_t>(x);
    if (index >= N) refuse(key, std::to_string(index), listed(names));
  }
  void format(std::string_view key, const Format& f) {
    const Checker inner(path_of(key));
    inner.integer("exponent_bits", f.exponent_bits, min_exponent_bits, max_exponent_bits);
    inner.integer("mantissa_bits", f.mantissa_bits, 0, max_mantissa_bits);
    if (f.top_code_nan && f.overflow == Overflow::infinity)
      inner.refuse("overflow", "infinity", "saturate or nan, since the format has no infinity");
  }
  void rounding(std::string_view key, const Rounding& x) {
    if (x.kind == Rounding::Kind::format) format(key, x.format);
  }
  void scaling(std::string_view key, const Scaling& x) {
    if (!x.is_on()) return;
    const std::string text = scaling_text(x);
    try {
      if (parse_scaling(text) == x) return;
    } catch (const std::invalid_argument&) {
      // expected: below
    }
    refuse(key, text, std::string(scalings_expected));
  }
  void flag(std::string_view, bool) {}
  void text(std::string_view, const std::string&) {}
  void hex(std::string_view, std::uint64_t) {}
  void policy(std::string_view, const Precision&) {}
  template <class F>
  void object(std::string_view key, F visit) {
    Checker inner(key == "precision" ? path_ : path_of(key));  // "a.O", as in --set
    visit(inner);
  }

 private:
  std::string path_of(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }
  [[noreturn]] void refuse(std::string_view key, const std::string& value, const std::string& expected) const {
    throw std::invalid_argument(path_of(key) + " is " + value + ", expected " + expected);
  }
  std::string path_;
};

/// Checks that the tensors of a file were read and fit the problem.
void validate_tensors(const Problem& p) {
  const auto refuse = [&](const char* key, int value, const std::string& expected) {
    throw std::invalid_argument(std::string("problem.") + key + " is " + std::to_string(value) + ", expected " + expected +
                                p.input.file);
  };
  if (!p.input.tensors)
    throw std::invalid_argument("problem.input is '" + p.input.file + "': its tensors have not been loaded");
  const Tensors& t = *p.input.tensors;
  const auto holds = [](const std::vector<double>& x, int rows, int columns) {
    return x.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  if (!holds(t.q, t.n, t.d) || !holds(t.k, t.n_k, t.d) || !holds(t.v, t.n_k, t.d_v))
    throw std::invalid_argument("problem.input is '" + p.input.file + "': its tensors are not n x d, n_k x d and n_k x d_v");
  if (p.n > t.n) refuse("n", p.n, "at most " + std::to_string(t.n) + ", the " + (t.n == t.n_k ? "tokens" : "queries") + " of ");
  if (key_count(p) > t.n_k) refuse("n_k", key_count(p), "at most " + std::to_string(t.n_k) + ", the keys of ");
  if (p.d != t.d) refuse("d", p.d, std::to_string(t.d) + ", the head dimension of ");
  if (value_columns(p) != t.d_v) refuse("d_v", value_columns(p), std::to_string(t.d_v) + ", the columns of V in ");
}

/// Checks that the GPU that adds up a product of `m`, a or b, has such products.
void validate_accumulators(const Experiment& e, const Method& m) {
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv}) {
    const Accumulator accumulator = accumulator_of(m, product);
    const std::string why = why_no_accumulator(e, m, product, accumulator);
    if (!why.empty())
      throw std::invalid_argument((&m == &e.a ? "a.accumulator." : "b.accumulator.") + std::string(name(product)) + " is " +
                                  std::string(name(accumulator)) + ": " + why);
  }
}

/// Checks that `m`, a or b, can be scaled as it says.
void validate_scalings(const Experiment& e, const Method& m) {
  if (const std::string why = why_not_scaled(m, e.problem); !why.empty())
    throw std::invalid_argument((&m == &e.a ? "a.scaling: " : "b.scaling: ") + why);
}

/// Checks that the loaded output was read and has the problem's shape.
void validate_loaded(const Experiment& e) {
  const KernelOutput& o = e.loaded;
  if (o.file.empty())
    throw std::invalid_argument("loaded.file is empty, expected the .npy or .safetensors file of your kernel's output");
  if (!o.values) throw std::invalid_argument("loaded.file is '" + o.file + "': its output has not been loaded");
  const bool fits = o.n == e.problem.n && o.d == value_columns(e.problem) &&
                    o.values->size() == static_cast<std::size_t>(o.n) * static_cast<std::size_t>(o.d);
  if (!fits)
    throw std::invalid_argument("loaded.file '" + o.file + "' holds " + std::to_string(o.n) + " x " + std::to_string(o.d) +
                                ", expected the problem's " + std::to_string(e.problem.n) + " x " +
                                std::to_string(value_columns(e.problem)));
}

}  // namespace

bool contains(const RealRange& r, double x) {
  if (x == 0 && !r.zero.empty()) return true;
  return x >= r.min && x <= r.max && !(r.above_min && x == r.min);
}

std::string text(const RealRange& r) {
  const bool bounded = r.max != RealRange{}.max;
  std::string s = bounded ? "a number" : "a finite number";
  if (r.above_min) {
    s += " above " + shortest(r.min) + (bounded ? " and at most " + shortest(r.max) : "");
  } else if (bounded) {
    s += " from " + shortest(r.min) + " to " + shortest(r.max);
  }
  return r.zero.empty() ? s : s + ", or 0 for " + std::string(r.zero);
}

bool works_in_double(const Experiment& e) {
  const auto wide = [](const Format& f) { return significand_bits(f) > 24; };
  if (wide(e.format)) return true;
  for (const Method* m : {&e.a, &e.b})
    for (const Rounding& r : m->precision.steps)
      if (r.kind == Rounding::Kind::format && wide(r.format)) return true;
  return false;
}

/// Both ends of every mask grow from the query at the first key to the query at the last key, so that two rows bound the keys.
Keys keys_of_rows(const Problem& p, int first, int last) {
  const int at_first = -diagonal(p), at_last = key_count(p) - 1 - diagonal(p);
  const Keys low = visible_keys(p, std::max(first, std::min(last, at_first))),
             high = visible_keys(p, std::min(last, std::max(first, at_last)));
  return high.empty() ? Keys{} : Keys{low.empty() ? high.first : low.first, high.end};
}

double scale_of(const Problem& p) { return p.scale > 0 ? p.scale : 1 / std::sqrt(static_cast<double>(p.d)); }

int traced_row(const Problem& p) {
  const int row = p.traced_row < 0 ? p.n + p.traced_row : p.traced_row;
  return row < 0 ? 0 : (row >= p.n ? p.n - 1 : row);
}

std::vector<int> computed_rows(const Problem& p) {
  const int count = p.rows == 0 ? p.n : std::min(p.rows, p.n);
  std::vector<int> rows(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    rows[static_cast<std::size_t>(i)] = static_cast<int>(static_cast<std::int64_t>(i) * p.n / count);
  const int traced = traced_row(p);
  if (std::binary_search(rows.begin(), rows.end(), traced)) return rows;
  *(std::upper_bound(rows.begin(), rows.end(), traced) - 1) = traced;
  return rows;
}

void validate(const Experiment& e) {
  Checker checker("");
  visit_experiment(checker, e);
  for (const Method* m : {&e.a, &e.b}) validate_scalings(e, *m);
  for (const Method* m : {&e.a, &e.b}) validate_accumulators(e, *m);
  if (e.problem.input.kind == InputKind::tensors) validate_tensors(e.problem);
  if (e.a.algorithm == Algorithm::loaded || e.b.algorithm == Algorithm::loaded) validate_loaded(e);
}

}  // namespace attoscope
