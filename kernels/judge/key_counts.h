/// The times that a kernel counted each key, found from its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {

/// Sums in which a key may count otherwise: in O and in l, or in one of them alone.
enum class Counted : std::uint8_t { everywhere, in_O, in_l };

/// With which weight a kernel took each key: 1 where it is visible and 0 where it is hidden, if the kernel is right.
struct KeyCounts {
  std::vector<double> visible, hidden;  ///< n_k each
  Counted where = Counted::everywhere;
  std::string text{};  ///< "keys 128 to 191 count 0 times"; "": the counts are right, or fit nothing simple
};

/// Runs of keys that count other than they should.
std::vector<Keys> miscounted(const KeyCounts& counts);

/// sum exp(S) over the row's visible keys, and the sink's.
double sum_of_exp(const VariantHead& head, const SoftmaxVariant& right, int row);

/// The counts that bring O nearest to `output`, n x d_v, in these rows, those with a text. O sum a M = sum a T is linear in the
/// counts a, where M and T are a part's sums of P and P V: least squares over runs of 16 keys, then over the single keys of the
/// runs that stand out and of their neighbours; over every 4th to every 32nd key; and, in O alone, over single keys.
std::vector<KeyCounts> fitted_counts(const VariantHead& head, const SoftmaxVariant& right, const std::vector<double>& output,
                                     const std::vector<int>& rows, Counted where, const Options& options);

}  // namespace attoscope
