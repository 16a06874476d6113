/// Mistakes that explain wrong gradients: computes each exactly, and names it if every given tensor lies within its tolerance.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>

#include "kernels/judge/gradient_group.h"
#include "kernels/parallel/parallel.h"
#include "kernels/slips/softmax_variant.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

using enum GradientTensor;

/// Tensors as bits: dQ, dK, dV.
using Affected = unsigned;
constexpr Affected in_dq = 1, in_dk = 2, in_dv = 4, in_dq_dk = in_dq | in_dk, in_dk_dv = in_dk | in_dv, in_all = 7;
constexpr Affected bit_of(GradientTensor t) { return 1u << static_cast<unsigned>(t); }

/// "dQ", "dQ and dK", "dQ, dK and dV"
std::string texts_of(Affected tensors) {
  std::vector<std::string> names;
  for (const GradientTensor t : {dq, dk, dv})
    if (tensors & bit_of(t)) names.emplace_back(text(t));
  return names.size() == 1 ? names[0] : names.size() == 2 ? names[0] + " and " + names[1] : "dQ, dK and dV";
}

/// A mistake, and a function that computes the group's gradients with it; the function returns false if the mistake cannot fit.
struct Candidate {
  GradientSlip slip;
  Affected affects = in_all;
  std::function<bool(const GradientGroup&, GroupGradients&)> make;
};

/// Adds a mistake to what a head computes.
using HeadChange = std::function<void(const GradientGroup& group, GradientVariant& variant, int head)>;

/// True if the given tensors differ from golden by about as much as these gradients, and in the same direction.
bool lies_along(const GradientGroup& group, const GroupGradients& x) {
  for (const GradientTensor t : {dq, dk, dv}) {
    if (!group.has(t)) continue;
    const Matrix &wrong = x.of(t, 0), &right = group.golden().of(t, 0);
    const std::vector<double>& values = group.given().numbers_of(t, 0);
    double along = 0, apart = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double step = wrong.values[i] - right.values[i];
      along += step * (values[i] - right.values[i]);
      apart += step * step;
    }
    if (!(along > 0.7 * apart && along < 1.4 * apart)) return false;
  }
  return true;
}

/// Replaces dK, or dV, or both, by those of a group or of a head.
void take_dk_dv(GroupGradients& x, const auto& from, Affected where) {
  if (where & in_dk) {
    x.dk = from.dk;
    x.dk_error = from.dk_error;
  }
  if (where & in_dv) {
    x.dv = from.dv;
    x.dv_error = from.dv_error;
  }
}

/// True if these numbers are roughly the expected ones.
bool are_near(const std::vector<double>& numbers, const std::vector<double>& expected) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    apart += square(numbers[i] - expected[i]);
    size += square(expected[i]);
  }
  return apart < size / 4;
}

/// Takes dK, or dV, or both from another group; false if that group was not given this group's in exchange.
bool exchange(const GradientGroup& group, const OtherGroup& other, Affected where, GroupGradients& out) {
  for (const GradientTensor t : {dk, dv})
    if ((where & bit_of(t)) && !(group.has(t) && are_near(other.numbers(t), group.golden().of(t, 0).values))) return false;
  const JudgedGradients given = other.read();
  out = group.golden();
  take_dk_dv(out, GradientGroup(given, group.form(), group.stop()).golden(), where);
  return true;
}

/// Tensor cores with TF32 inputs: Q, K, V, dO, and P and dS in products.
bool take_tf32(const GradientGroup& group, GroupGradients& out) {
  std::vector<GradientOperands> shorter;
  const auto cut = [](std::vector<double> x) {
    for (double& y : x) y = round(tf32, y);
    return x;
  };
  for (int h = 0; h < group.heads(); ++h) {
    const GradientOperands& x = group.operands(h);
    Tensors t = *x.tensors;
    t.q = cut(t.q);
    t.k = cut(t.k);
    t.v = cut(t.v);
    shorter.push_back(gradient_operands(std::make_shared<const Tensors>(std::move(t)),
                                        std::make_shared<const std::vector<double>>(cut(*x.d_o)), x.d_lse));
  }
  GradientRounding rounding = group.rounding();
  rounding.format = tf32;
  group.changed_on(shorter, rounding, [](GradientVariant& v, int) { v.products = tf32; }, out);
  return lies_along(group, out);
}

/// Generates the mistakes that a group may have. Candidates hold only values, no reference to this object or to the group.
class SlipCandidates {
 public:
  SlipCandidates(const GradientGroup& group, const std::vector<TensorJudgement>& judged) : group_(group), judged_(judged) {}

  std::vector<Candidate> all() {
    scales();
    deltas();
    logs();
    masks();
    scores();
    heads();
    exchanges();
    halves();
    tiles();
    if (group_.given().format == fp32) all_.push_back({{"format", "products take TF32, not fp32"}, in_all, take_tf32});
    return std::move(all_);
  }

 private:
  /// Problem of the first head; all heads have the same mask rule.
  const Problem& problem() const { return group_.problem(0); }

  /// Adds a slip, and, if kernels may sum delta from P and dP, the same slip of such a kernel.
  void add(const std::string& kind, const std::string& text, Affected affects, const HeadChange& change) {
    const bool is_eager = group_.rounding().stores_dP && !group_.rounding().stores_tiles;
    const bool may_sum = is_eager && kind != "delta" && kind != "dlse";
    for (const bool sums : {false, true})
      if (!sums || may_sum)
        all_.push_back({{kind, text}, affects, [affects, change, sums](const GradientGroup& g, GroupGradients& out) {
                          const auto of_head = [&](GradientVariant& v, int head) { change(g, v, head), v.sums_delta = sums; };
                          return g.changed(of_head, out, (affects & in_dq) != 0);
                        }});
  }
  /// Adds a slip that changes golden's gradients themselves.
  void add_edit(std::string kind, std::string text, Affected affects,
                std::function<void(const GradientGroup&, GroupGradients&)> edit) {
    all_.push_back(
        {{std::move(kind), std::move(text)}, affects, [edit = std::move(edit)](const GradientGroup& g, GroupGradients& out) {
           out = g.golden();
           edit(g, out);
           return true;
         }});
  }

  static void multiply(Matrix& x, Matrix& error, double factor) {
    for (double& y : x.values) y *= factor;
    for (double& y : error.values) y *= std::abs(factor);
  }

  void scales() {
    struct Factor {
      const char* text;
      double factor;
      int scale = 0;  ///< power of the scale in the factor
    };
    const Factor factors[]{{"the scale is missing in ", 1, -1},
                           {"the scale is applied twice in ", 1, 1},
                           {"the factor ln 2 is missing (K has the scale times log2 e) in ", std::numbers::log2e},
                           {"the factor ln 2 is too many in ", std::numbers::ln2},
                           {"the sign is wrong in ", -1}};
    for (const Factor& f : factors)
      for (const Affected where : {in_dq, in_dk, in_dq_dk})
        if (f.factor != 1 || group_.given().any_head([](const Problem& p) { return scale_of(p) != 1; }))
          add_edit(f.factor < 0 ? "number" : "scale", f.text + texts_of(where), where,
                   [where, f](const GradientGroup& g, GroupGradients& out) {
                     for (int h = 0; h < g.heads(); ++h) {
                       ExactGradients& x = out.heads[at(h)];
                       const double by = f.factor * std::pow(scale_of(g.problem(h)), f.scale);
                       if (where & in_dq) multiply(x.dq, x.dq_error, by);
                       if (where & in_dk) multiply(x.dk, x.dk_error, by);
                     }
                     g.sum_heads(out);
                   });
    const double d = group_.shape().d;
    for (const auto& [text, scale] : {std::pair{"1", 1.0}, {"1/d", 1 / d}, {"1/sqrt(d)", 1 / std::sqrt(d)}})
      if (group_.given().any_head([scale = scale](const Problem& p) { return scale_of(p) != scale; }))
        add("scale", std::string("the backward pass's scale is ") + text, in_all,
            [scale = scale](const GradientGroup&, GradientVariant& v, int) { v.scale = scale; });
  }

  using DeltaOf = std::function<double(const GradientGroup& group, int head, int row)>;
  void add_delta(const std::string& kind, const std::string& text, const DeltaOf& delta) {
    add(kind, text, in_dq_dk, [delta](const GradientGroup& g, GradientVariant& v, int head) {
      for (std::size_t i = 0; i < v.delta.size(); ++i) v.delta[i] = delta(g, head, static_cast<int>(i));
    });
  }
  static double d_lse(const GradientGroup& g, int head, int row) {
    const std::vector<double>& x = g.operands(head).d_lse;
    return x.empty() ? 0 : x[at(row)];
  }
  static double part_of_delta(const GradientGroup& g, int head, int row, int first, int end) {
    double sum = 0;
    const std::vector<double>& d_o = *g.operands(head).d_o;
    for (int c = first; c < end; ++c) sum += d_o[at(row) * at(g.shape().d_v) + at(c)] * g.rows(head).o(row, c);
    return sum - d_lse(g, head, row);
  }

  /// delta of the undivided O is l times larger, and so is its error.
  void undivided() {
    add("delta", "delta is that of O before its division by l", in_dq_dk,
        [](const GradientGroup& g, GradientVariant& v, int head) {
          const GradientRows& r = g.rows(head);
          v.delta_error = r.delta_error;
          for (std::size_t i = 0; i < v.delta.size(); ++i) {
            if (!std::isfinite(r.lse[i])) continue;
            const double l = std::exp(r.lse[i] - r.max[i]), d_l = d_lse(g, head, static_cast<int>(i));
            v.delta[i] = (r.delta[i] + d_l) * l - d_l;
            v.delta_error[i] *= l;
          }
        });
  }

  /// O^2 has twice the relative error of O.
  void squared() {
    add("delta", "delta is rowsum(O*O), not rowsum(dO*O)", in_dq_dk, [](const GradientGroup& g, GradientVariant& v, int head) {
      const GradientRows& r = g.rows(head);
      v.delta_error = r.delta_error;
      for (int i = 0; i < r.o.rows; ++i) {
        double sum = 0, stored = 0;
        for (int c = 0; c < r.o.cols; ++c) {
          sum += square(r.o(i, c));
          stored += square(2 * r.o(i, c) * ulp(g.rounding().stored_o, r.o(i, c))) / 12;
        }
        const double length = g.operands(head).d_o_length[at(i)];
        v.delta[at(i)] = sum - d_lse(g, head, i);
        v.delta_error[at(i)] = std::sqrt(stored + (length > 0 ? 4 * sum * square(v.delta_error[at(i)] / length) : 0));
      }
    });
  }

  void deltas() {
    const int d_v = group_.shape().d_v;
    add_delta("delta", "no delta: dS is P*dP", [](const GradientGroup&, int, int) { return 0; });
    add_delta("delta", "delta is that of the first half of O's columns",
              [d_v](const GradientGroup& g, int h, int i) { return part_of_delta(g, h, i, 0, d_v / 2); });
    add_delta("delta", "delta is that of the second half of O's columns",
              [d_v](const GradientGroup& g, int h, int i) { return part_of_delta(g, h, i, d_v / 2, d_v); });
    undivided();
    squared();
    add_delta("delta", "delta has the wrong sign: it is added",
              [](const GradientGroup& g, int h, int i) { return -g.rows(h).delta[at(i)]; });
    add_delta("delta", "delta is subtracted twice",
              [](const GradientGroup& g, int h, int i) { return 2 * g.rows(h).delta[at(i)]; });
    add_delta("delta", "delta is that of the query before",
              [](const GradientGroup& g, int h, int i) { return g.rows(h).delta[at(std::max(0, i - 1))]; });
    if (group_.operands(0).d_lse.empty()) return;
    add_delta("dlse", "dL, the gradient of the log-sum-exp, is dropped",
              [](const GradientGroup& g, int h, int i) { return g.rows(h).delta[at(i)] + d_lse(g, h, i); });
    add_delta("dlse", "dL, the gradient of the log-sum-exp, has the wrong sign",
              [](const GradientGroup& g, int h, int i) { return g.rows(h).delta[at(i)] + 2 * d_lse(g, h, i); });
  }

  void add_lse(const std::string& kind, const std::string& text, const std::function<double(double lse, double max)>& lse) {
    add(kind, text, in_all, [lse](const GradientGroup& g, GradientVariant& v, int head) {
      for (std::size_t i = 0; i < v.lse.size(); ++i)
        if (std::isfinite(v.lse[i])) v.lse[i] = lse(v.lse[i], g.rows(head).max[i]);
    });
  }

  void logs() {
    add_lse("lse", "L, in base 2, is read as a natural logarithm", [](double l, double) { return l * std::numbers::log2e; });
    add_lse("lse", "L, a natural logarithm, is read as one of base 2", [](double l, double) { return l * std::numbers::ln2; });
    add_lse("lse", "L is ln l without the max", [](double l, double m) { return l - m; });
    add_lse("lse", "L is the max alone, without ln l", [](double, double m) { return m; });
    const int n_k = key_count(problem());
    if (problem().mask.kind == Mask::Kind::none)
      for (const int end : {(n_k + 15) / 16 * 16, (n_k + 63) / 64 * 64, (n_k + 127) / 128 * 128})
        if (end > n_k)
          add_lse("padding",
                  "L counts padded " + run_text("key", n_k, end - 1, ", whose score is 0", ", whose scores are 0") +
                      ": P is too small",
                  [more = std::log(end - n_k)](double l, double) {
                    return std::max(l, more) + std::log1p(std::exp(-std::abs(l - more)));
                  });
    if (!problem().sink) return;
    add_sink("L is without the sink", [](const GradientGroup&, int) { return -infinity; });
    each_number([](const Problem& p) { return *p.sink; },
                [&](int h) {
                  add_sink("L of all heads of the group has the sink of its head " + std::to_string(h),
                           [h](const GradientGroup& g, int) { return *g.problem(h).sink; });
                });
  }
  /// Adds a slip that computes L with another sink.
  void add_sink(const std::string& text, const std::function<double(const GradientGroup& group, int head)>& sink) {
    add("sink", text, in_all, [sink](const GradientGroup& g, GradientVariant& v, int head) {
      const double right = *g.problem(head).sink, wrong = sink(g, head);
      for (double& l : v.lse)
        if (std::isfinite(l)) l += std::log1p(std::exp(wrong - l) - std::exp(right - l));
    });
  }
  /// Calls add(head) for each head of the group whose number differs from some other head's.
  template <class Number>
  void each_number(const Number& number, const std::function<void(int head)>& add) const {
    for (int h = 0; h < group_.heads(); ++h)
      if (group_.given().any_head([&](const Problem& p) { return number(p) != number(group_.problem(h)); })) add(h);
  }
  /// Adds slips of a kernel that uses one head's number for all heads of the group.
  void add_number(const char* kind, const char* name, double (*number)(const Problem& p), double GradientVariant::* place) {
    each_number(number, [&](int h) {
      add(kind,
          "the backward pass takes the " + std::string(name) + " of head " + std::to_string(h) +
              " of the group in all its heads",
          in_all, [=](const GradientGroup& g, GradientVariant& v, int) { v.*place = number(g.problem(h)); });
    });
  }

  void add_mask(const std::string& text, const std::function<Keys(const Problem& p, int row)>& keys) {
    add("mask", text, in_all, [keys](const GradientGroup& g, GradientVariant& v, int head) {
      v.keys = [keys, p = g.problem(head)](int row) { return keys(p, row); };
    });
  }
  void add_mask(const std::string& text, const Mask& mask) {
    add_mask(text, [mask](Problem p, int row) {
      p.mask = mask;
      return visible_keys(p, row);
    });
  }

  void masks() {
    const Problem p = problem();
    const int n_k = key_count(p);
    if (mask_view(p).rows != nullptr) {
      const auto rule = [mask = p.mask, at = diagonal(p), n_k](int row) { return visible_keys(mask, row + at, n_k); };
      add("mask", "the mask tensor is ignored in the backward pass", in_all,
          [rule](const GradientGroup&, GradientVariant& v, int) { v.keys = rule, v.mask = nullptr; });
      if (p.mask.kind == Mask::Kind::none) return;
    }
    if (p.mask.kind == Mask::Kind::none) {
      for (const bool top_left : {false, true})
        if (!top_left || p.n != n_k)
          add_mask("the backward pass has a causal mask, where none is wanted", {Mask::Kind::causal, 256, top_left});
      return;
    }
    add_mask("the mask is ignored in the backward pass", Mask{});
    if (p.mask.kind == Mask::Kind::window)
      add_mask("the window is ignored in the backward pass, which is causal", {Mask::Kind::causal, 256, p.mask.top_left});
    if (p.mask.kind == Mask::Kind::padding || p.mask.kind == Mask::Kind::right_padding)
      add_mask("the padding is ignored in the backward pass", {Mask::Kind::causal, 256, p.mask.top_left});
    if (p.n != n_k) {
      Mask other = p.mask;
      other.top_left = !other.top_left;
      add_mask(other.top_left ? "the backward pass's mask is aligned top-left, with query 0 at the first key"
                              : "the backward pass's mask is aligned bottom-right, with the last query at the last key",
               other);
    }
    for (const int more : {1, -1})
      add_mask(std::string("the backward pass's mask lets every query see one key ") + (more > 0 ? "more" : "fewer"),
               [n_k, more](const Problem& p, int row) {
                 const Keys k = visible_keys(p, row);
                 return Keys{k.first, std::min(n_k, k.end + more)};
               });
    if (p.mask.kind != Mask::Kind::window) return;
    for (const int more : {1, -1}) {
      Mask other = p.mask;
      other.window += more;
      if (other.window > 0)
        add_mask(std::string("the backward pass's window is one key ") + (more > 0 ? "wider" : "narrower"), other);
    }
  }

  void scores() {
    if (group_.given().any_head([](const Problem& p) { return p.softcap != 0; })) {
      add("softcap", "the soft cap's derivative is missing in dS", in_dq_dk,
          [](const GradientGroup&, GradientVariant& v, int) { v.has_cap_factor = false; });
      add("softcap", "the soft cap is ignored in the backward pass", in_all,
          [](const GradientGroup&, GradientVariant& v, int) { v.softcap = 0; });
    }
    if (group_.given().any_head([](const Problem& p) { return p.alibi != 0; }))
      add("bias", "ALiBi's bias is ignored in the backward pass", in_all,
          [](const GradientGroup&, GradientVariant& v, int) { v.alibi = 0; });
    add_number("scale", "scale", [](const Problem& p) { return scale_of(p); }, &GradientVariant::scale);
    add_number("softcap", "soft cap", [](const Problem& p) { return p.softcap; }, &GradientVariant::softcap);
    add_number("bias", "slope", [](const Problem& p) { return p.alibi; }, &GradientVariant::alibi);
    const AttentionShape s = group_.shape();
    if (s.d_v > s.d)
      add("columns", "dP sums the first d columns of V alone, of d_v", in_dq_dk,
          [d = s.d](const GradientGroup&, GradientVariant& v, int) { v.dp_columns = d; });
    if (s.d == s.d_v)
      add_edit("exchange", "dK and dV are exchanged", in_dk_dv,
               [](const GradientGroup&, GroupGradients& x) { std::swap(x.dk, x.dv), std::swap(x.dk_error, x.dv_error); });
  }

  void heads() {
    const int count = group_.heads();
    if (count < 2) return;
    for (const Affected where : {in_dk_dv, in_dk, in_dv}) {
      const std::string tensors = texts_of(where);
      for (int h = 0; h < count; ++h)
        add_edit("group",
                 tensors + (where == in_dk_dv ? " are those" : " is that") + " of head " + std::to_string(h) +
                     " of the group alone, not summed over its " + std::to_string(count) + " heads",
                 where, [where, h](const GradientGroup&, GroupGradients& x) { take_dk_dv(x, x.heads[at(h)], where); });
      for (const auto& [words, factor] : {std::pair{"the heads of a group are summed twice in ", 2.0},
                                          {"the heads of a group are averaged, not summed, in ", 1.0 / count}})
        add_edit("group", words + tensors, where, [where, factor = factor](const GradientGroup&, GroupGradients& x) {
          if (where & in_dk) multiply(x.dk, x.dk_error, factor);
          if (where & in_dv) multiply(x.dv, x.dv_error, factor);
        });
    }
    for (int h = 0; h < count; ++h)
      for (int g = h + 1; g < count; ++g)
        add_edit("group",
                 "dQ of head " + std::to_string(h) + " and that of head " + std::to_string(g) + " of the group are exchanged",
                 in_dq, [g, h](const GradientGroup&, GroupGradients& x) {
                   std::swap(x.heads[at(g)].dq, x.heads[at(h)].dq);
                   std::swap(x.heads[at(g)].dq_error, x.heads[at(h)].dq_error);
                 });
  }

  void exchanges() {
    const int own = group_.given().place;
    for (const OtherGroup& other : group_.given().others)
      for (const Affected where : {in_dk_dv, in_dk, in_dv})
        all_.push_back(
            {{"group", "heads " + std::to_string(std::min(own, other.place)) + " and " +
                           std::to_string(std::max(own, other.place)) + " of " + texts_of(where) + " are exchanged"},
             where,
             [where, other](const GradientGroup& g, GroupGradients& out) { return exchange(g, other, where, out); }});
  }

  /// A halved dK or dV may also be a mean over two heads, which heads() names.
  void halves() {
    for (const GradientTensor t : {dq, dk, dv})
      add_edit("number", std::string(text(t)) + " is halved", bit_of(t), [t](const GradientGroup&, GroupGradients& x) {
        if (t == dk) multiply(x.dk, x.dk_error, 0.5);
        if (t == dv) multiply(x.dv, x.dv_error, 0.5);
        if (t == dq)
          for (ExactGradients& h : x.heads) multiply(h.dq, h.dq_error, 0.5);
      });
  }

  static void count_in(GradientVariant& v, Affected where, const PairCount& count) {
    if (where & in_dq) v.dq_count = count;
    if (where & in_dk) v.dk_count = count;
    if (where & in_dv) v.dv_count = count;
  }

  void add_run(const CountedRun& run, Affected where, bool of_keys) {
    const bool lost = run.times == 0;
    const std::string text =
        run_text(of_keys ? "key" : "query", run.first, run.end - 1, lost ? " is missing in " : " counts twice in ",
                 lost ? " are missing in " : " count twice in ") +
        texts_of(where);
    add("tile", text, where, [run, where, of_keys](const GradientGroup&, GradientVariant& v, int) {
      count_in(v, where, [run, of_keys](int i, int j) {
        const int x = of_keys ? j : i;
        return x >= run.first && x < run.end ? run.times : 1.0;
      });
    });
  }

  void tiles() {
    Affected wrong = 0;
    for (const TensorJudgement& t : judged_)
      if (!t.found.rounded && t.tensor != dsink) wrong |= bit_of(t.tensor);
    for (const TensorJudgement& t : judged_) {
      if (t.found.rounded || t.found.nonfinite > 0 || t.tensor == dsink) continue;
      const std::optional<CountedRun> run = counted_run(group_, t);
      if (!run) continue;
      const bool of_all_queries = t.tensor != dq && run->first == 0 && run->end == group_.shape().n;
      if (of_all_queries && group_.heads() > 1) continue;  // heads() names a group's sum that counts twice
      for (const Affected where : {bit_of(t.tensor), wrong})
        if (where == wrong || wrong != bit_of(t.tensor)) add_run(*run, where, t.tensor == dq);
    }
    for (const int tile : {16, 32, 64, 128})
      for (const double times : {0.0, 2.0})
        if (tile < std::max(group_.shape().n, group_.shape().n_k) && wrong != 0)
          add("tile",
              "the diagonal tiles of " + std::to_string(tile) + (times == 0 ? " are missing in " : " count twice in ") +
                  texts_of(wrong),
              wrong, [wrong, tile, times, shift = diagonal(problem())](const GradientGroup&, GradientVariant& v, int) {
                count_in(v, wrong, [=](int i, int j) { return (i + shift) / tile == j / tile ? times : 1.0; });
              });
  }

  const GradientGroup& group_;
  const std::vector<TensorJudgement>& judged_;
  std::vector<Candidate> all_;
};

/// Names wrong rows of one tensor that all hold 0 or all hold NaN.
std::optional<GradientSlip> unwritten(const GradientGroup& group, const TensorJudgement& t) {
  if (t.tensor == dsink || t.found.wrong_rows.empty()) return {};
  const std::vector<double>& values = group.given().numbers_of(t.tensor, t.head);
  const int columns = t.tensor == dv ? group.shape().d_v : group.shape().d;
  const double first = values[at(t.found.wrong_rows[0]) * at(columns)];
  for (const int row : t.found.wrong_rows)
    for (int c = 0; c < columns; ++c) {
      const double x = values[at(row) * at(columns) + at(c)];
      if (!(x == first) && !(std::isnan(x) && std::isnan(first))) return {};
    }
  if (first != 0 && !std::isnan(first)) return {};
  const std::string place = t.found.where.empty() ? "" : " " + t.found.where;
  return GradientSlip{
      "place", std::string(text(t.tensor)) + " is " + (first == 0 ? "0" : "NaN") + place + ", as if it was never written"};
}

/// Names the mistake of a wrong dSink.
std::optional<GradientSlip> sink_slip(const GradientGroup& group, const std::optional<GradientSlip>& of_others) {
  const JudgedGradients& g = group.given();
  const int count = group.heads();
  const auto fits = [&](int h, double value, double error) {
    return std::abs((*g.dsink)[at(h)] - value) <= 8 * error + ulp(g.format, value);
  };
  const auto all = [&](const std::function<SinkGradient(int head)>& of) {
    for (int h = 0; h < count; ++h)
      if (const SinkGradient x = of(h); !fits(h, x.value, x.error)) return false;
    return true;
  };
  if (std::ranges::all_of(*g.dsink, [](double x) { return x == 0; })) return GradientSlip{"sink", "dSink is 0: it was dropped"};
  if (all([&](int h) { return SinkGradient{-group.sink(h).value, group.sink(h).error}; }))
    return GradientSlip{"sink", "dSink has the wrong sign"};
  SinkGradient sum;
  for (int h = 0; h < count; ++h) {
    sum.value += group.sink(h).value;
    sum.error += group.sink(h).error;
  }
  if (count > 1 && all([&](int) { return sum; }))
    return GradientSlip{"group", "dSink of each head is the sum over the heads of the group"};
  for (int one = 0; one < count && count > 1; ++one)
    if (all([&](int) { return group.sink(one); }))
      return GradientSlip{"group", "dSink of all heads of the group is that of its head " + std::to_string(one)};
  if (count > 1 && all([&](int h) { return group.sink(count - 1 - h); }))
    return GradientSlip{"group", "dSink has the heads of the group in reverse order"};
  return of_others;
}

/// The candidate that fits best; none if no candidate fits.
std::optional<GradientSlip> best_of(const GradientGroup& group, const std::vector<Candidate>& candidates, Affected given,
                                    Affected wrong, bool exactly) {
  std::optional<GradientSlip> best;
  double least = infinity;
  for (const Candidate& c : candidates) {
    group.stop().check();
    if ((wrong & ~c.affects) != 0 || (exactly && c.affects != wrong)) continue;
    GroupGradients expected;
    if (!c.make(group, expected)) continue;
    double sum = 0;
    bool fits = true;
    for (const GradientTensor t : {dq, dk, dv}) {
      if (!(given & bit_of(t)) || !fits) continue;
      const HeadJudgement found = group.judged(t, expected).found;
      fits = found.rounded;
      sum += found.whole * found.whole;
    }
    if (!fits || sum >= 0.8 * least) continue;
    best = c.slip;
    least = sum;
  }
  return best;
}

/// Names the mistakes of a group's wrong tensors; if `known` is not empty, tries only those.
void name_wrong(const GradientGroup& group, const std::vector<GradientSlip>& known, std::vector<TensorJudgement>& judged) {
  Affected given = 0, wrong = 0;
  for (TensorJudgement& t : judged) {
    if (t.tensor == dsink) continue;
    if (!t.found.rounded) t.slip = padding_slip(group, t);
    if (!t.found.rounded && !t.slip) t.slip = unwritten(group, t);
    if (!t.slip) given |= bit_of(t.tensor);
    if (!t.found.rounded && !t.slip) wrong |= bit_of(t.tensor);
  }
  std::optional<GradientSlip> slip;
  if (wrong != 0) {
    std::vector<Candidate> candidates = SlipCandidates(group, judged).all();
    std::erase_if(candidates, [&](const Candidate& c) {
      return !known.empty() && std::ranges::find(known, c.slip.text, &GradientSlip::text) == known.end();
    });
    slip = best_of(group, candidates, given, wrong, false);
    for (TensorJudgement& t : judged)
      if (wrong & bit_of(t.tensor)) t.slip = slip ? slip : best_of(group, candidates, bit_of(t.tensor), bit_of(t.tensor), true);
  }
  for (TensorJudgement& t : judged)
    if (t.tensor == dsink && !t.found.rounded) t.slip = sink_slip(group, slip);
}

bool is_unnamed(const TensorJudgement& t) { return !t.found.rounded && !t.slip; }

/// Keeps the form of rounding that leaves the fewest wrong tensors without a name.
void search(const JudgedGradients& given, GroupJudgement& judged, const Options& options, const GroupJudgement& like) {
  const StopToken stop(options);
  std::vector<GradientSlip> known;
  for (const TensorJudgement& t : like.tensors)
    if (t.slip) known.push_back(*t.slip);
  std::ptrdiff_t fewest = std::ranges::count_if(judged.tensors, is_unnamed);
  constexpr std::int64_t many_scores = std::int64_t{1} << 18;  // only without dQ: its first rows reject most mistakes early
  const auto look = [&, fitting = judged.as](const GradientGroup& group, const std::string& as,
                                             const std::vector<RivalError>& rivals) {
    const bool is_long = !group.has(dq) && std::int64_t{group.shape().n} * group.shape().n_k * group.heads() > many_scores;
    if (is_long && known.empty() && !as.empty() && as != fitting) return false;
    std::vector<TensorJudgement> tensors = group.judged_all(group.golden());
    name_wrong(group, known, tensors);
    if (const std::ptrdiff_t unnamed = std::ranges::count_if(tensors, is_unnamed); unnamed < fewest) {
      judged.tensors = std::move(tensors);
      judged.as = as;
      judged.family = rivals;
      fewest = unnamed;
    }
    return fewest == 0;
  };
  each_form(given, stop, look, known.empty() ? std::optional<std::string>{} : like.as);
}

}  // namespace

void find_gradient_slips(const JudgedGradients& given, GroupJudgement& judged, const Options& options,
                         const GroupJudgement& like) {
  if (judged.rounded() || !judged.incomparable.empty()) return;
  on_threads(options.threads, [&] { search(given, judged, options, like); });
}

}  // namespace attoscope
