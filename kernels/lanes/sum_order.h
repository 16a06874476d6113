/// Sums in an order other than one chain: interleaved chains or a balanced tree. The shape depends only on the terms' indices;
/// keys that a row does not see are terms of 0.
#pragma once

#include "kernels/lanes/micro_kernel.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// Number of partial sums of an unfinished sum of at most `terms` terms.
ATTOSCOPE_HOST_DEVICE inline int partial_sums(SumOrder order, int chains, int terms) {
  int levels = 0;
  while (order == SumOrder::pairwise && terms >> levels != 0) ++levels;
  return order == SumOrder::pairwise ? levels : chains;
}

/// Adds terms in ascending order of index, rounding after every addition, for one vector of lanes.
template <class V, class Rounder>
class OrderedSum {
 public:
  /// `first`: index of the first term to be added; terms before it are 0. r, i, k: the RoundingKey, with the k of index 0.
  ATTOSCOPE_HOST_DEVICE OrderedSum(SumOrder order, int chains, int first, Rounder rounder, int r, int i, int k)
      : order_(order),
        chains_(order == SumOrder::interleaved ? chains : 1),
        index_(first),
        rounder_(rounder),
        r_(r),
        i_(i),
        k_(k) {
    if (order == SumOrder::pairwise)
      for (V& part : parts_) part = neutral();
  }

  /// Adds a*b: by one fma to its chain, or rounded as a leaf of the tree. `visible(x, otherwise)` selects by lane.
  template <class Visible>
  ATTOSCOPE_HOST_DEVICE void add_product(V a, V b, Visible visible) {
    if (order_ == SumOrder::pairwise) return add_leaf(visible(rounder_(a * b, at(0, index_)), neutral()));
    V& chain = parts_[index_ % chains_];
    chain = visible(rounder_(fused(a, b, chain), at(0, index_)), chain);
    ++index_;
  }

  ATTOSCOPE_HOST_DEVICE void add(V x) {
    // a leaf is rounded too; then adding the 0 of an unseen key changes nothing
    if (order_ == SumOrder::pairwise) return add_leaf(rounder_(x, at(0, index_)));
    V& chain = parts_[index_ % chains_];
    chain = rounder_(chain + x, at(0, index_));
    ++index_;
  }

  /// Adds the chains in order, or the tree's open branches from the smallest up.
  ATTOSCOPE_HOST_DEVICE V total() {
    V sum{};
    if (order_ != SumOrder::pairwise) {
      sum = parts_[0];
      for (int chain = 1; chain < chains_; ++chain) sum = rounder_(sum + parts_[chain], at(chain, 0));
      return sum;
    }
    bool open = false;
    for (int level = 0; index_ >> level != 0; ++level) {
      if (((index_ >> level) & 1) == 0) continue;
      sum = open ? rounder_(parts_[level] + sum, node(level + 1)) : parts_[level];
      open = true;
    }
    return sum;
  }

  /// Continues a sum of the same kind after `first` terms, from partial sums stored by `keep`.
  template <class Array>
  ATTOSCOPE_HOST_DEVICE void resume(Array kept) {
    for (int part = 0; part < parts_in_use(); ++part) parts_[part] = kept[part];
  }
  template <class Array>
  ATTOSCOPE_HOST_DEVICE void keep(Array kept) const {
    for (int part = 0; part < parts_in_use(); ++part) kept[part] = parts_[part];
  }

 private:
  ATTOSCOPE_HOST_DEVICE int parts_in_use() const { return partial_sums(order_, chains_, index_); }

  /// x + -0 is x for every x.
  ATTOSCOPE_HOST_DEVICE static V neutral() { return splat<V>(typename Lane<V>::Scalar(-0.0)); }

  /// Adds a leaf like a binary counter: for every set bit of the index, parts_ holds the sum of that many terms.
  ATTOSCOPE_HOST_DEVICE void add_leaf(V x) {
    int level = 0;
    for (unsigned full = static_cast<unsigned>(index_); (full & 1) != 0; full >>= 1, ++level)
      x = rounder_(parts_[level] + x, node(level + 1));
    parts_[level] = x;
    ++index_;
  }

  /// Key of a rounding: identifies the terms that are added. A running count would not do: the number of unseen keys before a
  /// term depends on the other rows of the block.
  ATTOSCOPE_HOST_DEVICE RoundingKey at(int what, int index) const { return {r_, i_, k_ + index + (what << 21)}; }
  /// Key of the tree node at `level` that holds the latest term.
  ATTOSCOPE_HOST_DEVICE RoundingKey node(int level) const { return at(level, (index_ >> level) << level); }

  SumOrder order_;
  int chains_, index_;
  Rounder rounder_;
  int r_, i_, k_;
  V parts_[max_sum_lanes] = {};
};

/// Order of a product's terms if not sequential; `index` is the first term's index in the sum.
struct TermOrder {
  SumOrder order = SumOrder::sequential;
  int chains = 1, index = 0;
};

/// Computes row m of C = A * B like `product`, with every element summed in the order `terms`. Not register-blocked. If
/// `keeps`, p.resume continues the sums that an earlier call stored in `parts`, vector by vector.
template <bool keeps, class P, class Rounder, class Parts>
ATTOSCOPE_HOST_DEVICE inline void ordered_row(const P& p, int m, const TermOrder& terms, Rounder rounder,
                                              [[maybe_unused]] Parts parts) {
  using L = Lanes<typename P::T>;
  using V = typename L::V;
  const auto b = as_vectors(p.b);
  for (int r = 0; r < L::vectors; ++r) {
    OrderedSum<V, Rounder> sum(terms.order, terms.chains, terms.index, rounder, r, p.first_m + m, p.first_k - terms.index);
    if constexpr (keeps)
      if (p.resume) sum.resume(parts);
    for (int k = 0; k < p.depth; ++k)
      sum.add_product(splat<V>(p.a[m * p.m_stride + k * p.k_stride]), b[k * L::vectors + r],
                      [&](V x, V otherwise) { return p.first ? taking_part(p, k, r, x, otherwise) : x; });
    if constexpr (keeps) sum.keep(parts);
    as_vectors(p.c)[m * L::vectors + r] = sum.total();
  }
}

/// Computes all rows of C = A * B by `ordered_row`; the warps of a team share them. `parts_of(m)` returns the partial sums of
/// row m.
template <bool keeps, class P, class T, class PartsOf>
ATTOSCOPE_HOST_DEVICE inline void ordered_product(const P& p, const RounderPlan<T>& plan, const TermOrder& terms,
                                                  PartsOf parts_of) {
  p.group.sync();  // B is complete
  with_rounder(plan, p.step, p.random, [&](auto rounder) {
    p.group.each_own(p.m, [&](int m, int end) {
      for (; m < end; ++m) ordered_row<keeps>(p, m, terms, rounder, parts_of(m));
    });
  });
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
