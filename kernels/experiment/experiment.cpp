#include "kernels/experiment/experiment.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/settings.h"

namespace attoscope {
namespace {

/// Checks the ranges of all settings.
void check_settings(const Experiment& e) {
  struct Listed {
    Experiment of;
    Settings settings = attoscope::settings(of);
  };
  thread_local Listed listed;  // the list takes ten times as long as its check
  listed.of = e;
  check(listed.settings);
  listed.of = {};  // a thread keeps no tensors of a valid experiment
}

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
  if (t.mask && (t.mask->n < p.n || t.mask->n_k < key_count(p)))
    throw std::invalid_argument("problem.input is '" + p.input.file + "': its mask is " + std::to_string(t.mask->n) + " x " +
                                std::to_string(t.mask->n_k) + ", expected n x n_k");
}

/// Checks that the accumulators of `m`, a or b, can add up its products.
void validate_accumulators(const Experiment& e, const Method& m) {
  for (const AttentionProduct product : {AttentionProduct::qk, AttentionProduct::pv}) {
    const Accumulator accumulator = m.accumulator[product];
    const std::string why = why_no_accumulator(e, m, product, accumulator);
    if (!why.empty())
      throw std::invalid_argument((&m == &e.a ? "a.accumulator." : "b.accumulator.") + std::string(name(product)) + " is " +
                                  std::string(name(accumulator)) + ": " + why);
  }
}

/// Checks the scalings of `m`, a or b.
void validate_scalings(const Experiment& e, const Method& m) {
  if (const std::string why = why_not_scaled(m, e.problem); !why.empty())
    throw std::invalid_argument((&m == &e.a ? "a.scaling: " : "b.scaling: ") + why);
}

/// Checks that the tensor of `what`, "loaded", was read and is n x columns.
void validate_file(const std::string& what, const std::string& meaning, const KernelOutput& o, int n, int columns) {
  if (o.file.empty())
    throw std::invalid_argument(what + ".file is empty, expected the .npy or .safetensors file of " + meaning);
  if (!o.values) throw std::invalid_argument(what + ".file is '" + o.file + "': it has not been loaded");
  const bool fits =
      o.n == n && o.d == columns && o.values->size() == static_cast<std::size_t>(o.n) * static_cast<std::size_t>(o.d);
  if (!fits)
    throw std::invalid_argument(what + ".file '" + o.file + "' holds " + std::to_string(o.n) + " x " + std::to_string(o.d) +
                                ", expected the problem's " + std::to_string(n) + " x " + std::to_string(columns));
}

void validate_backward(const Experiment& e) {
  const Backward& b = e.backward;
  if (!b.on) return;
  if (b.d_o == OutputGradient::file)
    validate_file("backward.d_o_file", "dO", b.d_o_file, e.problem.n, value_columns(e.problem));
  if (!b.d_lse_file.file.empty()) validate_file("backward.d_lse_file", "dL", b.d_lse_file, e.problem.n, 1);
  if (const std::string why = why_no_gradients(e); !why.empty()) throw std::invalid_argument(why);
}

/// The reason why the backward pass cannot store its tensors so: one sentence without a full stop; "": it can.
std::string why_not_stored(const GradScalings& s) {
  for (const auto& [called, scaling] :
       {std::pair{"dO", &s.dO}, std::pair{"P", &s.P}, std::pair{"dS", &s.dS}, std::pair{"dS_of_dK", &s.dS_of_dK}}) {
    const std::string what = std::string(called) + " is " + scaling_text(*scaling);
    if (scaling->granularity == Granularity::tensor && scaling->is_on())
      return what + ", but other heads are not known here: expected head";
    if (scaling->shifts) return what + ", but only P of the forward pass has shift";
    if (scaling->granularity == Granularity::thread && scaling->is_on())
      return what + ", but only Q and K of the forward pass have thread";
  }
  return "";
}

}  // namespace

bool works_in_double(const Experiment& e) {
  const auto wide = [](const Format& f) { return significand_bits(f) > 24; };
  const auto rounds_wide = [&](const auto& method) {
    return std::ranges::any_of(method.precision.steps,
                               [&](const Rounding& r) { return r.kind == Rounding::Kind::format && wide(r.format); });
  };
  return wide(e.format) || rounds_wide(e.a) || rounds_wide(e.b) ||
         (e.backward.on && (rounds_wide(e.backward.a) || rounds_wide(e.backward.b)));
}

/// Both ends of every rule grow from the query at the first key to the query at the last key: two rows bound the keys.
Keys keys_of_rows(const Problem& p, int first, int last) {
  if (mask_view(p).rows != nullptr) {
    Keys all{};
    for (int row = first; row <= last; ++row)
      if (const Keys keys = visible_keys(p, row); !keys.empty())
        all = all.empty() ? keys : Keys{std::min(all.first, keys.first), std::max(all.end, keys.end)};
    return all;
  }
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
  check_settings(e);
  for (const Method* m : {&e.a, &e.b}) validate_scalings(e, *m);
  for (const Method* m : {&e.a, &e.b}) validate_accumulators(e, *m);
  if (e.problem.input.kind == InputKind::tensors) validate_tensors(e.problem);
  if (e.a.algorithm == Algorithm::loaded || e.b.algorithm == Algorithm::loaded)
    validate_file("loaded", "your kernel's output", e.loaded, e.problem.n, value_columns(e.problem));
  validate_backward(e);
}

std::string why_no_gradient(const Experiment& e, const Method& m, const GradMethod& g) {
  const std::string which = &m == &e.a ? "a." : "b.";
  if (!is_emulated(m.algorithm))
    return which + "algorithm is " + std::string(name(m.algorithm)) +
           ", which has no backward pass: expected an emulated algorithm (`attoscope judge` takes the gradients of your own "
           "kernel)";
  if (m.scaling.hadamard || m.scaling.smooth_Q > 0)
    return which + "scaling." + (m.scaling.hadamard ? "hadamard" : "smooth_Q") +
           " is on, which has no backward pass here: expected it off";
  if (m.scaling.smooth_K && !e.backward.d_lse_file.file.empty())
    return which + "scaling.smooth_K is on, and dL's gradient of the mean of K is not computed: expected no dL";
  const bool adds = e.problem.softcap != 0 || e.problem.alibi != 0 || mask_view(e.problem).terms != nullptr;
  if (g.scale_at == ScaleAt::K && (adds || m.scaling.Q.is_on() || m.scaling.K.is_on()))
    return which +
           "grad.scale_at is K, which recomputes S without soft cap, ALiBi, terms of a mask and scales of Q and K: expected "
           "product or dS";
  for (const GradProduct product : {GradProduct::dP, GradProduct::dV, GradProduct::dK, GradProduct::dQ})
    if (const std::string why = why_no_accumulator(e, m, g, product); !why.empty())
      return which + "grad.accumulator." + std::string(name(product)) + " is " + std::string(name(g.accumulator[product])) +
             ": " + why;
  if (const std::string why = why_not_stored(g.scaling); !why.empty()) return which + "grad.scaling: " + why;
  return "";
}

std::string why_no_gradients(const Experiment& e) {
  const std::string of_a = why_no_gradient(e, e.a, e.backward.a);
  return of_a.empty() ? why_no_gradient(e, e.b, e.backward.b) : of_a;
}

}  // namespace attoscope
