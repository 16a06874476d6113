#include "tests/questions/planted_roundings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attoscope::planted {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

/// Eager attention in fp32, each operation's result stored in f.
class Eager {
 public:
  Eager(const Problem& p, const Format& f, const EagerForm& form) : x_(seen(p)), f_(f), form_(form) {}

  Values output() {
    const float scale = static_cast<float>(scale_of(x_.p)), root = std::sqrt(scale);
    if (form_.scaled == Scaled::queries) times(x_.t.q, scale);
    if (form_.scaled == Scaled::keys) times(x_.t.k, scale);
    if (form_.scaled == Scaled::roots) times(x_.t.q, root), times(x_.t.k, root);
    Values o;
    for (int i = 0; i < x_.t.n; ++i) add_row(i, o);
    return o;
  }

 private:
  float stored(float x) const { return static_cast<float>(round(f_, static_cast<double>(x))); }
  void times(Values& x, float factor) const {
    for (double& y : x) y = stored(static_cast<float>(y) * factor);
  }

  float score(int i, int j) const {
    float s = 0;
    for (int c = 0; c < x_.t.d; ++c) s = std::fma(static_cast<float>(x_.q(i, c)), static_cast<float>(x_.k(j, c)), s);
    const auto scale = static_cast<float>(scale_of(x_.p)), cap = static_cast<float>(x_.p.softcap);
    if (form_.scaled != Scaled::unstored) s = stored(s);
    if (form_.scaled == Scaled::divided) s = stored(s / stored(1 / scale));
    if (form_.scaled == Scaled::scores || form_.scaled == Scaled::unstored) s = stored(s * scale);
    if (cap != 0) s = stored(stored(std::tanh(stored(s / cap))) * cap);
    if (x_.p.alibi != 0) {
      const int distance = form_.bias_by_key ? j : -std::abs(x_.stands_at(i) - j);
      s = stored(s + stored(static_cast<float>(x_.p.alibi) * static_cast<float>(distance)));
    }
    return s;
  }

  void add_row(int i, Values& o) const {
    std::vector<float> s;
    for (int j = 0; j < x_.t.n_k; ++j) s.push_back(x_.sees(i, j) ? score(i, j) : lowest);
    if (x_.p.sink) s.push_back(static_cast<float>(*x_.p.sink));
    const float m = *std::ranges::max_element(s);
    float l = 0;
    for (float& y : s) l += y = std::exp(form_.subtracts_max ? stored(y - m) : y - m);
    for (float& P : s) P = form_.stores_P ? stored(P / l) : P / l;
    for (int c = 0; c < x_.t.d_v; ++c) {
      float sum = 0;
      for (int j = 0; j < x_.t.n_k; ++j) sum = std::fma(s[static_cast<std::size_t>(j)], static_cast<float>(x_.v(j, c)), sum);
      o.push_back(sum);
    }
  }

  Seen x_;
  Format f_;
  EagerForm form_;
};

}  // namespace

Values eager(const Problem& p, const Format& f, const EagerForm& form) { return Eager(p, f, form).output(); }

Values flash(const Problem& p, const Entry& S, const std::function<double(double)>& of_P,
             const std::function<double(double)>& of_O, int splits, const std::function<double(double)>& of_part) {
  const Seen x = seen(p);
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values s, row(static_cast<std::size_t>(x.t.d_v));
    for (int j = 0; j < x.t.n_k; ++j) s.push_back(x.sees(i, j) ? S(i, j) : -infinity), m = std::max(m, s.back());
    const int length = (x.t.n_k + splits - 1) / splits;
    for (int first = 0; first < x.t.n_k; first += length) {
      double part_l = 0;
      Values part(row.size());
      for (int j = first; j < std::min(x.t.n_k, first + length); ++j) {
        const double e = std::exp(s[static_cast<std::size_t>(j)] - m), P = of_P(e);
        part_l += e;
        for (std::size_t c = 0; c < part.size(); ++c) part[c] += P * x.v(j, static_cast<int>(c));
      }
      l += part_l;
      for (std::size_t c = 0; c < part.size(); ++c)
        row[c] += part_l > 0 && of_part ? part_l * of_part(part[c] / part_l) : part[c];
    }
    for (const double y : row) o.push_back((of_O ? of_O(y) : y) / l);
  }
  return o;
}

Values flash_of_stored_products(const Problem& p, const Format& f, int tile) {
  const Seen x = seen(p);
  Values o;
  for (int i = 0; i < x.t.n; ++i) {
    double m = -infinity, l = 0;
    Values row(static_cast<std::size_t>(x.t.d_v));
    for (int first = 0; first <= i; first += tile) {
      const int end = std::min(i + 1, first + tile);
      Values s, part(row.size());
      for (int j = first; j < end; ++j) s.push_back(round(f, x.dot(i, j)) * scale_of(p));
      const double top = std::max(m, *std::ranges::max_element(s)), alpha = std::exp(m - top);
      l *= alpha;
      for (int j = first; j < end; ++j) {
        const double e = std::exp(s[static_cast<std::size_t>(j - first)] - top), P = round(f, e);
        l += e;
        for (std::size_t c = 0; c < part.size(); ++c) part[c] += P * x.v(j, static_cast<int>(c));
      }
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = row[c] * alpha + round(f, part[c]);
      m = top;
    }
    for (const double y : row) o.push_back(round(f, y / l));
  }
  return o;
}

}  // namespace attoscope::planted
