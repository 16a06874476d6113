/// Attention of one row in double, with the deviations of mistaken kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/matrix.h"

namespace attoscope {

/// The score of a hidden key is -infinity.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

inline double square(double x) { return x * x; }
/// Euclidean norm of each row of `columns` numbers.
std::vector<double> row_lengths(const std::vector<double>& x, int columns);
/// For each query a bound of its scores, apart from a mask tensor's terms; rows that are not finite count as 0.
std::vector<double> largest_scores(const Problem& problem, const Tensors& inputs);
/// A rows x columns matrix, column by column.
std::vector<double> by_columns(const std::vector<double>& x, int rows, int columns);

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

/// Q, K, V of one head; K is transposed.
struct VariantHead {
  AttentionShape shape;
  SharedNumbers q, k_columns, v;  ///< n x d, d x n_k, n_k x d_v
  SharedNumbers k_length;         ///< n_k: Euclidean norm of each key

  /// Sets K from rows, n_k x d.
  void set_k(const std::vector<double>& k);
};
VariantHead variant_head(Tensors t);
/// The head with other numbers for Q, K or V, row-major.
using TensorsPart = std::vector<double> Tensors::*;
VariantHead with_part(VariantHead head, TensorsPart part, std::vector<double> numbers);
/// Same, but shares Q and V with the tensors.
VariantHead variant_head(const std::shared_ptr<const Tensors>& t);

/// Returns a function that calls `make` once for each number and returns the same value later; thread-safe.
template <class Value>
std::function<Value(int)> once_each(std::function<Value(int)> make) {
  struct Made {
    std::once_flag once;
    Value value;
  };
  struct All {
    std::mutex mutex;
    std::map<int, Made> made;
  };
  return [make = std::move(make), all = std::make_shared<All>()](int number) {
    std::unique_lock lock(all->mutex);
    Made& made = all->made[number];
    lock.unlock();
    std::call_once(made.once, [&] { made.value = make(number); });
    return made.value;
  };
}

/// Returns a function that makes a head at its first call and returns the same one later; thread-safe.
using SharedHead = std::shared_ptr<const VariantHead>;
using MakeHead = std::function<SharedHead()>;
MakeHead made_once(const std::function<VariantHead()>& make);

/// Runs of keys with separate softmaxes, merged with weights exp(power * log-sum-exp): power 1 is right, 0 is a mean.
struct MergedRuns {
  int count = 0;
  double power = 1;
};

/// A wrong max in a loop over tiles. old: P is exp(S - m) with the m before its tile. first: alpha uses the m of the first
/// tile. late: alpha is the previous tile's. lost: m is never stored, so alpha is 0.
enum class StaleMax : std::uint8_t { none, old, first, late, lost };

/// Keys per tile of PyTorch's flash kernel for CPUs (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp).
inline constexpr int key_tile_of_cpu = 512;

/// P of a kernel that keeps it in a short format: exp(S - m) with the running max of its tile of keys, times a factor, rounded.
struct RoundedP {
  Format format = e4m3;
  double factor = 1;
  int tile = 128;            ///< keys
  bool is_reversed = false;  ///< begins with the last tile
  double lazy = 0;           ///< the max stays while a tile's max exceeds it by at most this
  double product_error = 0;  ///< largest error of a q.k, relative to |q| |k|
  double sum_error = 0;      ///< largest error of P.V for each key, relative to O
};

/// Steps at which a correct kernel rounds beside the usual ones.
struct KernelRounding {
  std::optional<Format> products{};  ///< q.k, before it is scaled
  std::optional<RoundedP> P{};       ///< only where P is multiplied by V
};

/// Three-pass softmax. All defaults are correct, except for `scale` and `keys`, which must be set.
struct SoftmaxVariant {
  double scale = 1;
  std::function<Keys(int row)> keys{};
  double softcap = 0, alibi = 0;
  int diagonal = 0;                          ///< key index of query 0, for ALiBi
  std::shared_ptr<const MaskTensor> mask{};  ///< mask whose terms are added to scores; null: no terms
  bool caps_before_scale = false;            ///< softcap * tanh(q.k / softcap) * scale
  std::optional<double> cap_factor{};        ///< factor of tanh(S / softcap), instead of softcap
  std::optional<double> hidden_score{};      ///< score of hidden keys, or, if adds_hidden, a number added to their scores
  bool adds_hidden = false;
  std::optional<double> sink{};
  bool divides = true;                      ///< divides by l
  bool subtracts_max = true;                ///< subtracts the max before exp
  int stale_tile = 0;                       ///< keys per tile, after which m moves; 0: m is the row's max from the start
  bool stale_O = false, stale_l = false;    ///< never rescaled by alpha
  int extra_keys = 0;                       ///< additional keys after the last, of score 0 and value 0
  MergedRuns runs{};                        ///< count 0: one run, no merge
  StaleMax stale_max = StaleMax::none;      ///< in tiles of stale_tile keys
  int repeated_from = -1;                   ///< first key of those counted twice in l and in O; negative: none
  std::function<int(int key)> value_row{};  ///< row of V for a key, negative: zeros; none: the key's own
  KernelRounding rounds{};
  /// Formats to which these are rounded, in this order, after q.k; none: not rounded.
  std::optional<Format> scores{};         ///< S before soft cap and ALiBi
  std::optional<Format> capped{};         ///< S / cap, its tanh, and cap times the tanh
  std::optional<Format> biased{};         ///< ALiBi's bias, and S with it
  std::optional<Format> differences{};    ///< S - m; m is the largest of the row's scores and the sink
  std::optional<Format> exponentials{};   ///< exp(S - m), if `differences` are stored, and l
  std::optional<Format> probabilities{};  ///< the normalised P
  std::optional<Format> partials{};       ///< the output of each of `runs`
  std::optional<Format> undivided{};      ///< O before its division by l
  std::optional<Format> tile_products{};  ///< P.V of each tile of `key_tile_of_cpu` keys, before it is added to O
  bool bias_by_key = false;               ///< ALiBi's bias is slope * key; it differs from the right one by a constant per row
  /// P, or O, is truncated to this format: the variant subtracts the average loss, half a unit in the last place, from its
  /// size.
  std::optional<Format> truncated_P{}, truncated_O{};
  bool sums_truncated_P = false;  ///< l sums the truncated P
  double tanh_error = 0;          ///< largest relative error of the soft cap's tanh
  bool sums_in_sequence = false;  ///< each q.k is an fp32 sum of d terms in sequence, with that sum's error
};

/// l rounded to a format, and the largest distance, relative to l, of another correct stored sum: one summed in fp32, of
/// exponentials that were rounded to the format or not (a compiler may fuse exp into the sum). `squares` is the sum of the
/// exponentials' squares.
struct StoredSum {
  double l = 0, step = 0;
};
StoredSum stored_sum(const Format& format, double l, double squares);

/// Adds `rows` rows of x, `stride` numbers apart, each times its factor, to `out`.
void add_weighted_rows(const double* x, const double* factor, int rows, int columns, std::ptrdiff_t stride, double* out);
/// q.k of `row` with these keys, n_k values; the others have 0.
std::vector<double> products(const VariantHead& head, int row, Keys keys);

/// Rounds the weights of P.V, exp(S - m) with the row's largest score m, as the kernel does tile by tile. `scores` are
/// -infinity or not in `keys` for hidden keys. `steps`, if given, gets for each key the distance of the two weights of a P so
/// near their middle that the error of its score may round it to either; 0 for all others.
void round_P(const RoundedP& p, const VariantHead& head, double scale, int row, Keys keys, const std::vector<double>& scores,
             std::vector<double>& weights, std::vector<double>* steps = nullptr);
/// Adds the effect of such `steps`, and of short sums, to the slack of a row's output `out`; l is the sum of its weights.
void add_slack_of_P(const VariantHead& head, const RoundedP& p, const std::vector<double>& steps, double l, Keys keys,
                    const double* out, double* slack);

/// exp(sink - m); 0 without a sink.
double sink_weight(const SoftmaxVariant& variant, double m);

/// S of the row, n_k values; hidden keys have 0.
std::vector<double> scores(const VariantHead& head, const SoftmaxVariant& variant, int row);
/// Same if the row saw every key.
inline std::vector<double> scores_of_all(const VariantHead& head, SoftmaxVariant variant, int row) {
  variant.keys = [n_k = head.shape.n_k](int) { return Keys{0, n_k}; };
  return scores(head, variant, row);
}

/// P of `row`, n_k values; hidden keys have 0. `variant` must compute scores from products as correct kernels do.
std::vector<double> weights(const VariantHead& head, const SoftmaxVariant& variant, int row);

/// Largest score and log-sum-exp of a row, -infinity without keys, and the largest distance from it of correct kernels that
/// store scores: as in `attend`, scores may be rounded to either of two numbers.
struct RowSum {
  double max = -infinity, lse = -infinity, slack = 0;
};
/// `variant` must compute scores from products as correct kernels do.
RowSum row_sum(const VariantHead& head, const SoftmaxVariant& variant, int row);

/// Writes d_v values; all NaN if the row sees no key. `slack`, if given, must hold d_v zeros; adds the largest distance from
/// these values of correct kernels with such roundings, apart from rounding P and the final O: scores so near the middle of two
/// numbers that an fp32 sum may round them the other way (for each such key P |V - O| times the step), a P of `rounds` or a
/// stored l that near the middle, the error of tanh, and O's partial results.
void attend(const VariantHead& head, const SoftmaxVariant& variant, int row, double* out, double* slack = nullptr);

/// The right softmax of a problem, in a kernel that rounds so.
SoftmaxVariant right_softmax(const Problem& problem, const KernelRounding& rounds = {});

}  // namespace attoscope
