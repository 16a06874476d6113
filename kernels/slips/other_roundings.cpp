#include "kernels/slips/other_roundings.h"

#include <cmath>
#include <numbers>

#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

using SharedTensors = std::shared_ptr<const Tensors>;

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

/// Factors that Q and K are multiplied by, and rounded, before the product; the scores then need no more.
struct Prescaled {
  double q = 1, k = 1;
};

class Collection {
 public:
  Collection(const Problem& p, SharedTensors inputs, const Format& format)
      : p_(p), inputs_(std::move(inputs)), format_(format), right_(right_softmax(p)) {}

  std::vector<OtherRounding> take(SharedTensors given) {
    const double scale = scale_of(p_), root = std::sqrt(std::abs(scale));
    const std::string to = " rounded to " + name(format_);
    add_eager("its scores are" + to + " before the softmax, as in PyTorch's eager attention", {}, format_);
    if (!is_power_of_two(scale)) {
      add_eager("its q.k are" + to + ", and again once they are scaled, as in PyTorch's eager attention", format_, format_);
      add_eager("its q.k are" + to + " before they are scaled", format_, {});
      add_prescaled("its Q is scaled and" + to + " before q.k", {scale, 1}, false);
      add_prescaled("its K is scaled and" + to + " before q.k", {1, scale}, false);
    }
    add_prescaled("its Q is scaled, log2 e included, and" + to + " before q.k", {scale * std::numbers::log2e, 1}, false);
    if (scale > 0 && !is_power_of_two(root)) {
      add_prescaled("its Q and K are each scaled by the root of the scale and" + to, {root, root}, false);
      add_prescaled("its Q and K, each scaled by the root of the scale, and its scores are" + to, {root, root}, true);
    }
    if (given) add("its Q, K, V are used as they are, not" + to, right_, std::move(given));
    return std::move(all_);
  }

 private:
  /// Scores that are rounded take few values, and so does P: what P's rounding leaves is then alike for many keys, and no
  /// longer small against the other errors. So with P rounded as softmax gives it, and with P as it is.
  void add_eager(const std::string& text, std::optional<Format> products, std::optional<Format> scores) {
    SoftmaxVariant variant = right_;
    variant.products = products, variant.scores = scores;
    add(text, variant);
    variant.probabilities = format_;
    add(text, variant);
  }
  void add(std::string text, SoftmaxVariant variant) { add(std::move(text), std::move(variant), inputs_); }
  void add(std::string text, SoftmaxVariant variant, SharedTensors t) {
    const bool rounds = variant.scores || variant.products;
    all_.push_back({std::move(text), rounds, [variant = std::move(variant), t = std::move(t)]() -> ExpectedRow {
                      return attending(variant, variant_head(*t));
                    }});
  }

  static ExpectedRow attending(const SoftmaxVariant& variant, VariantHead head) {
    return [variant, made = std::make_shared<const VariantHead>(std::move(head))](int row, double* out) {
      attend(*made, variant, row, out);
      return true;
    };
  }

  void add_prescaled(std::string text, Prescaled by, bool rounds_scores) {
    SoftmaxVariant variant = right_;
    variant.scale = scale_of(p_) / (by.q * by.k);
    if (rounds_scores) variant.scores = format_;
    const auto times = [format = format_](const std::vector<double>& x, double factor) {
      std::vector<double> y = x;
      if (factor != 1)
        for (double& z : y) z = round(format, z * factor);
      return y;
    };
    all_.push_back({std::move(text), rounds_scores, [variant, by, times, t = inputs_]() -> ExpectedRow {
                      return attending(variant, variant_head(t->shape(), times(t->q, by.q), times(t->k, by.k), t->v));
                    }});
  }

  const Problem& p_;
  SharedTensors inputs_;
  Format format_;
  SoftmaxVariant right_;
  std::vector<OtherRounding> all_;
};

}  // namespace

std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format) {
  return Collection(problem, std::move(inputs), format).take(std::move(given));
}

}  // namespace attoscope
