/// The matrix product in a CPU's registers. B is packed by panels, [k][columns of a panel]; A is broadcast.
#pragma once

#include "kernels/lanes/micro_kernel.h"
#include "kernels/train/primitives/row_math.h"
#include "kernels/train/primitives/train_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {

/// The blocking of a product: sums of block_rows x panel columns in registers, B in stretches of k.
template <class T>
struct ProductShape {
  static constexpr int panel_columns = Lanes<T>::rows;
  static constexpr int block_rows = 6;
  static constexpr int stretch = 256;
};

/// Packs rows first_k .. first_k + depth - 1 of a part's columns of B; columns beyond the part are 0.
template <class T>
class Panel {
 public:
  Panel(const MatrixProduct<T>& p, const ProductPart& part, T* packed)
      : p_(p), b_(p.b + part.first_col * p.b_col), columns_(part.end_col - part.first_col), packed_(packed) {}

  void pack(int first_k, int depth) {
    int k = 0;
    if (p_.b_row == 1 && p_.b_col != 1)
      for (; k + width <= depth; k += width) pack_transposed(first_k + k, packed_ + k * stride);
    for (; k < depth; ++k) pack_row(b_ + (first_k + k) * p_.b_row, packed_ + k * stride);
  }

 private:
  using V = typename Lanes<T>::V;
  static constexpr int width = Lanes<T>::width, stride = ProductShape<T>::panel_columns;

  void pack_row(const T* b, T* row) const {
    if (p_.b_col == 1) {
      for (int j = 0; j < columns_; ++j) row[j] = b[j];
    } else {
      for (int j = 0; j < columns_; ++j) row[j] = b[j * p_.b_col];
    }
    for (int j = columns_; j < stride; ++j) row[j] = T(0);
  }
  /// Packs rows k .. k + width - 1 of B, whose columns are contiguous in memory.
  void pack_transposed(int k, T* rows) const {
    for (int j = 0; j < stride; j += width) {
      V x[width];
      for (int i = 0; i < width; ++i) x[i] = j + i < columns_ ? loaded<V>(b_ + k + (j + i) * p_.b_col) : V{};
      transpose<width / 2>(x);
      for (int i = 0; i < width; ++i) *as_vectors(rows + i * stride + j) = x[i];
    }
  }

  const MatrixProduct<T>& p_;
  const T* b_;
  int columns_;
  T* packed_;
};

/// Continues chain[i][.] over k = 0 .. depth - 1, from 0 if it `begins`: M rows, N vectors of columns. Returns false, and
/// leaves the chains unchanged, if an fma is in doubt.
template <class T, int M, int N, class Fma>
inline bool chains_by(Fma& fma, const MatrixProduct<T>& p, const T* a, const T* panel, int depth, bool begins, T* chain) {
  using V = typename Lanes<T>::V;
  constexpr int stride = Lanes<T>::vectors;
  const V* b = as_vectors(panel);
  V* c = as_vectors(chain);
  V sum[M][N];
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r) sum[i][r] = begins ? V{} : c[i * stride + r];
  for (int k = 0; k < depth; ++k, b += stride, a += p.a_col) {
    for (int i = 0; i < M; ++i) {
      const V x = splat<V>(a[i * p.a_row]);
      for (int r = 0; r < N; ++r) sum[i][r] = fma.in_any_order(x, b[r], sum[i][r]);
    }
  }
  if (fma.is_in_doubt()) return false;
  for (int i = 0; i < M; ++i)
    for (int r = 0; r < N; ++r) c[i * stride + r] = sum[i][r];
  return true;
}

/// chains_by with a quick fma, or with the sure one if the quick one is in doubt.
template <class T, int M, int N>
inline void chain_block(const MatrixProduct<T>& p, const T* a, const T* panel, int depth, bool begins, QuickFma quick,
                        T* chain) {
  using V = typename Lanes<T>::V;
  SureFma sure;
  if constexpr (Lane<V>::emulates_fma) {
    if (by_quick_fma<V>(quick, [&](auto& fma) { return chains_by<T, M, N>(fma, p, a, panel, depth, begins, chain); })) return;
    for (int i = 0; i < M; ++i) chains_by<T, 1, N>(sure, p, a + i * p.a_row, panel, depth, begins, chain + i * Lanes<T>::rows);
  } else {
    chains_by<T, M, N>(sure, p, a, panel, depth, begins, chain);
  }
}

template <class T>
using ChainBlock = void (*)(const MatrixProduct<T>&, const T*, const T*, int, bool, QuickFma, T*);

/// chain_block for up to block_rows rows and a panel of `vectors` vectors.
template <class T, int M = ProductShape<T>::block_rows, int N = Lanes<T>::vectors>
inline ChainBlock<T> chain_block_of(int rows, int vectors) {
  if constexpr (N > 1) {
    if (vectors < N) return chain_block_of<T, M, N - 1>(rows, vectors);
  }
  if constexpr (M > 1) {
    if (rows < M) return chain_block_of<T, M - 1, N>(rows, vectors);
  }
  return chain_block<T, M, N>;
}

/// Elements of the scratch: a panel's stretch, and for every row of the part its chains and the total of the earlier pieces.
template <class T>
std::size_t product_scratch(int rows) {
  return static_cast<std::size_t>(ProductShape<T>::stretch + 2 * rows) * ProductShape<T>::panel_columns;
}

/// One part of a product.
template <class T>
class PartialProduct {
 public:
  PartialProduct(const MatrixProduct<T>& p, const ProductPart& part, T* scratch)
      : p_(p),
        part_(part),
        packed_(scratch),
        chains_(packed_ + ProductShape<T>::stretch * stride),
        totals_(chains_ + static_cast<std::ptrdiff_t>(part.end_row - part.first_row) * stride),
        panel_(p, part, packed_) {}

  void run() {
    const int piece = p_.piece > 0 ? p_.piece : p_.k;
    for (int first = 0; first < p_.k; first += piece) {
      const int end = p_.k - first < piece ? p_.k : first + piece;
      for (int k = first; k < end; k += ProductShape<T>::stretch)
        stretch({k, end - k < ProductShape<T>::stretch ? end : k + ProductShape<T>::stretch, k == first, first == 0}, end);
    }
  }

 private:
  using V = typename Lanes<T>::V;
  static constexpr int stride = ProductShape<T>::panel_columns, width = Lanes<T>::width, height = ProductShape<T>::block_rows;

  /// Steps first .. end - 1 of k; begins_piece, in_first_piece: at the start of a piece, in the first piece.
  struct Stretch {
    int first, end;
    bool begins_piece, in_first_piece;
  };

  void stretch(const Stretch& s, int end_of_piece) {
    panel_.pack(s.first, s.end - s.first);
    const int columns = part_.end_col - part_.first_col, vectors = (columns + width - 1) / width;
    quick_ = quick_fma_of(s);
    for (int row = part_.first_row; row < part_.end_row; row += height) {
      const int rows = part_.end_row - row < height ? part_.end_row - row : height;
      const std::ptrdiff_t place = static_cast<std::ptrdiff_t>(row - part_.first_row) * stride;
      chain_block_of<T>(rows, vectors)(p_, p_.a + row * p_.a_row + s.first * p_.a_col, packed_, s.end - s.first, s.begins_piece,
                                       quick_, chains_ + place);
      if (s.end != end_of_piece) continue;
      if (!s.in_first_piece) add(totals_ + place, chains_ + place, rows);
      if (s.end != p_.k && s.in_first_piece) copy(chains_ + place, totals_ + place, rows);
      if (s.end == p_.k) finish(row, rows, s.in_first_piece ? chains_ + place : totals_ + place);
    }
  }

  /// The quickest usable fma. A chain without a quick fma may be infinite, and LikelyFma cannot continue an infinite chain.
  QuickFma quick_fma_of(const Stretch& s) const {
    if constexpr (Lane<V>::emulates_fma) {
      const int depth = s.end - s.first;
      const QuickFma quick = quick_fma<T>(measured(p_.a + part_.first_row * p_.a_row + s.first * p_.a_col,
                                                   part_.end_row - part_.first_row, p_.a_row, depth, p_.a_col),
                                          measured(packed_, 1, 0, depth * stride));
      return quick == QuickFma::likely && !s.begins_piece && quick_ == QuickFma::none ? quick_ : quick;
    } else {
      return QuickFma::none;
    }
  }

  static void add(T* total, const T* chain, int rows) {
    for (int i = 0; i < rows * Lanes<T>::vectors; ++i) as_vectors(total)[i] = as_vectors(total)[i] + as_vectors(chain)[i];
  }
  static void copy(const T* chain, T* total, int rows) {
    for (int i = 0; i < rows * Lanes<T>::vectors; ++i) as_vectors(total)[i] = as_vectors(chain)[i];
  }

  /// Writes rows of C.
  void finish(int row, int rows, const T* sums) const {
    with_rounder(p_.rounding, Step::input, RandomBits<T>{}, [&](auto rounder) {
      for (int i = 0; i < rows; ++i) {
        const T* sum = sums + i * stride;
        T* c = p_.c + (row + i) * p_.c_row + part_.first_col;
        each_lanes<V>(part_.end_col - part_.first_col, [&](auto at) {
          const V product = rounder(at.of(sum));
          at.put(c, p_.adds ? at.of(c) + product : product);
        });
      }
    });
  }

  const MatrixProduct<T>& p_;
  const ProductPart& part_;
  T *packed_, *chains_, *totals_;
  Panel<T> panel_;
  QuickFma quick_ = QuickFma::none;  ///< of the current stretch
};

template <class T>
void product_part(const MatrixProduct<T>& p, const ProductPart& part, T* scratch) {
  PartialProduct<T>(p, part, scratch).run();
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope
