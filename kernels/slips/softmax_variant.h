/// Attention of one row in double, with the deviations of mistaken kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"

namespace attoscope {

/// -infinity is the score of a key that is not seen.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline double square(double x) { return x * x; }
/// The Euclidean norm.
double length_of(const double* x, int count);

/// Numbers that several heads share.
class SharedNumbers {
 public:
  SharedNumbers() = default;
  SharedNumbers(std::vector<double> x) : x_(std::make_shared<const std::vector<double>>(std::move(x))) {}
  SharedNumbers(std::shared_ptr<const std::vector<double>> x) : x_(std::move(x)) {}
  const double* data() const { return x_->data(); }
  const double& operator[](std::size_t i) const { return (*x_)[i]; }

 private:
  std::shared_ptr<const std::vector<double>> x_;
};

/// Q, K, V of one head, K by columns.
struct VariantHead {
  AttentionShape shape;
  SharedNumbers q, k_columns, v;  ///< n x d, d x n_k, n_k x d_v
  SharedNumbers k_length;         ///< n_k: the Euclidean norm of each key

  /// Takes K by rows, n_k x d.
  void set_k(const std::vector<double>& k);
};
VariantHead variant_head(Tensors t);
/// The head with other numbers for Q, K or V, by rows.
using TensorsPart = std::vector<double> Tensors::*;
VariantHead with_part(VariantHead head, TensorsPart part, std::vector<double> numbers);
/// The same, which shares Q and V with the tensors.
VariantHead variant_head(const std::shared_ptr<const Tensors>& t);

/// Makes a head when it is first asked for, once, by any thread.
using SharedHead = std::shared_ptr<const VariantHead>;
using MakeHead = std::function<SharedHead()>;
MakeHead made_once(std::function<VariantHead()> make);

/// Runs of keys that are computed apart and merged with weights exp(power * log-sum-exp): right for power 1, a mean for 0.
struct MergedRuns {
  int count = 0;
  double power = 1;
};

/// The wrong max of a loop over tiles. old: P is exp(S - m) with the m before its tile. first: alpha is always taken from the m
/// of the first tile. late: alpha is that of the tile before. lost: m is never stored, so that alpha is 0.
enum class StaleMax : std::uint8_t { none, old, first, late, lost };

/// Three-pass softmax. The default of every field is the correct one; `scale` and `keys` have none.
struct SoftmaxVariant {
  double scale = 1;
  std::function<Keys(int row)> keys{};
  double softcap = 0, alibi = 0;
  int diagonal = 0;                          ///< the key at which query 0 stands, from which ALiBi counts
  std::shared_ptr<const MaskTensor> mask{};  ///< whose terms are added to scores; null: none are
  bool caps_before_scale = false;            ///< softcap * tanh(q.k / softcap) * scale
  std::optional<double> cap_factor{};        ///< of tanh(S / softcap), instead of softcap
  std::optional<double> hidden_score{};      ///< score of hidden keys, or with adds_hidden the number added to theirs
  bool adds_hidden = false;
  std::optional<double> sink{};
  bool divides = true;                      ///< by l
  bool subtracts_max = true;                ///< before exp
  int stale_tile = 0;                       ///< keys of a tile after which m moves; 0: m is the row's max from the start
  bool stale_O = false, stale_l = false;    ///< never rescaled by alpha
  int extra_keys = 0;                       ///< additional keys after the last, of score 0 and value 0
  MergedRuns runs{};                        ///< count 0: one run, merged with nothing
  StaleMax stale_max = StaleMax::none;      ///< of tiles of stale_tile keys
  int repeated_from = -1;                   ///< keys from this one on are counted twice, in l and in O; negative: none
  std::function<int(int key)> value_row{};  ///< the row of V that a key is combined with, negative: zeros; none: its own
  /// Formats that these are rounded to, in this order; none: not rounded.
  std::optional<Format> products{};       ///< q.k
  std::optional<Format> scores{};         ///< S before soft cap and ALiBi
  std::optional<Format> capped{};         ///< S / cap, its tanh, and cap times that
  std::optional<Format> biased{};         ///< ALiBi's bias, and S with it
  std::optional<Format> differences{};    ///< S - m, where m is the largest of the row's scores and the sink
  std::optional<Format> exponentials{};   ///< exp(S - m), where `differences` are stored, and l
  std::optional<Format> probabilities{};  ///< the normalised P
  std::optional<Format> partials{};       ///< the output of each of `runs`
  std::optional<Format> undivided{};      ///< O before it is divided by l
  bool bias_by_key = false;               ///< ALiBi's bias is slope * key, which differs by a number for each row
  /// P, or O, is cut off to this format: on average it gets half a unit in the last place nearer to 0.
  std::optional<Format> truncated_P{}, truncated_O{};
  bool sums_truncated_P = false;  ///< l sums the cut P
  double tanh_error = 0;          ///< largest relative error of the soft cap's tanh
  bool sums_in_sequence = false;  ///< each q.k is an fp32 sum of d terms in sequence, whose error shows
};

/// l as a format stores it, and how far another correct sum may be stored from that, relative to l: one in fp32, of
/// exponentials that were rounded to the format or not (a compiler may fuse exp into the sum). `squares`: the sum of their
/// squares.
struct StoredSum {
  double l = 0, step = 0;
};
StoredSum stored_sum(const Format& format, double l, double squares);

/// q.k of `row` with every key.
void products(const VariantHead& head, int row, std::vector<double>& out);

/// S of the row's visible keys, n_k values, those of hidden keys 0.
std::vector<double> scores(const VariantHead& head, const SoftmaxVariant& variant, int row);

/// P of `row`, n_k values, those of hidden keys 0; `variant` must make scores from products as kernels do.
std::vector<double> weights(const VariantHead& head, const SoftmaxVariant& variant, int row);

/// Writes d_v values; all NaN if the row sees no key. `slack`, if given, holds d_v zeros and gets the largest distance from
/// these values of correct kernels with such roundings, beside P and O's last rounding: scores so near the middle of two
/// numbers that an fp32 sum may round them the other way (for each such key P |V - O| times the step), a stored l that lies so
/// near the middle, the error of tanh, and O's partial results.
void attend(const VariantHead& head, const SoftmaxVariant& variant, int row, double* out, double* slack = nullptr);

/// The correct arithmetic of a problem.
SoftmaxVariant right_softmax(const Problem& problem);

}  // namespace attoscope
