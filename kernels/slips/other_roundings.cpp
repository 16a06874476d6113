#include <cmath>
#include <numbers>

#include "kernels/experiment/text.h"
#include "kernels/slips/slips.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

constexpr double approximate_tanh = 0x1p-11;  ///< largest relative error of tanh.approx.f32 (PTX ISA, instruction tanh)

using SharedTensors = std::shared_ptr<const Tensors>;

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

/// A kernel that rounds P to a format of eight bits. Sources: `kernel_presets.cpp`.
struct KernelOfEightBits {
  Format format;
  const char* text;
  double factor;    ///< of P before it is rounded
  double lazy = 0;  ///< the max stays while a tile's max exceeds it by at most this
};
constexpr KernelOfEightBits kernels_of_eight_bits[]{{e4m3, ", as in FlashAttention-3", 256},
                                                    {e4m3, ", as in FlashInfer", 448},
                                                    {e5m2, ", as in FlashInfer", 57344},
                                                    {e4m3, ", as in SageAttention 2", 447.8898},
                                                    {e4m3, ", with cuDNN's lazy max", 2, 4 * std::numbers::ln2},
                                                    {e4m3, "", 1},
                                                    {e5m2, "", 1}};

/// Sums of products: in fp32, or of 14 bits.
struct SumsOfEightBits {
  const char* text;
  double product_error, sum_error;  ///< as in `RoundedP`
};
constexpr SumsOfEightBits sums_of_eight_bits[]{{"", 0x1p-21, 0}, {"; its sums have 14 bits, as on an H100", 0x1p-13, 0x1p-19}};

/// Factors of Q and K, applied and rounded before the product; the scores are not scaled again.
struct Prescaled {
  double q = 1, k = 1;
};

class Collection {
 public:
  Collection(const Problem& p, SharedTensors inputs, const Format& format, const Format& stored)
      : p_(p), inputs_(std::move(inputs)), format_(format), stored_(stored) {}

  std::vector<OtherRounding> take(SharedTensors given, const std::optional<Format>& of_P) {
    const bool narrow = significand_bits(format_) <= 16;  // else fp32's own errors hide the stored numbers
    if (narrow) add_stored_scores();
    add_stored_operands(narrow);
    if (given) add("its Q, K, V are used as they are, not" + to_, right_, made_once([given] { return variant_head(given); }));
    if (narrow) add_stored_outputs();
    if (of_P) add_P_of_eight_bits(*of_P);
    return std::move(all_);
  }

 private:
  void add_stored_scores() {
    SoftmaxVariant v = right_;
    v.scores = format_;
    add_eager("its scores are" + to_ + " before the softmax, as in PyTorch's eager attention", v);
    if (p_.alibi != 0) {
      v.scores.reset();
      v.biased = format_;
      add_biased("its scores are" + to_ + " with ALiBi's bias", v);
    }
    const double scale = scale_of(p_), divisor = round(format_, 1 / scale);
    v = right_;
    v.rounds.products = v.scores = format_;
    if (!is_power_of_two(scale))
      add_eager("its q.k are" + to_ + ", and again once they are scaled, as in PyTorch's eager attention", v);
    if (divisor != 0 && 1 / divisor != scale) {
      v.scale = 1 / divisor;
      add_eager(
          "its q.k are" + to_ + ", and again once they are divided by 1 / scale" + to_ + ", as in GPT-2's eager attention", v);
    }
    if (is_power_of_two(scale)) return;
    v = right_;
    v.rounds.products = format_;
    add_eager("its q.k are" + to_ + " before they are scaled", v);
  }

  /// x rounded to the kernels' working type, fp32, unless D is wider; used for the scale.
  double working(double x) const { return significand_bits(format_) <= 24 ? round(fp32, x) : x; }

  void add_stored_operands(bool narrow) {
    const double scale = working(scale_of(p_)), root = working(std::sqrt(std::abs(scale)));
    const auto add_both = [&](const std::string& text, Prescaled by) {
      const MakeHead head = prescaled(by);
      add_prescaled(text + to_ + " before q.k", by, head, right_);
      SoftmaxVariant v = right_;
      v.scores = format_;
      if (!narrow) return;
      each_eager(text + to_ + " before q.k, and so are its scores", v,
                 [&](const std::string& t, const SoftmaxVariant& x) { add_prescaled(t, by, head, x); });
    };
    if (!is_power_of_two(scale)) {
      add_both("its Q is scaled and", {scale, 1});
      add_both("its K is scaled and", {1, scale});
    }
    const Prescaled with_log2_e{working(scale * std::numbers::log2e), 1};
    add_prescaled("its Q is scaled, log2 e included, and" + to_ + " before q.k", with_log2_e, prescaled(with_log2_e), right_);
    if (scale > 0 && !is_power_of_two(root)) add_both("its Q and K are each scaled by the root of the scale and", {root, root});
  }

  void add_stored_outputs() {
    SoftmaxVariant v = right_;
    if (p_.softcap != 0) {
      v.tanh_error = approximate_tanh;
      add("its soft cap's tanh has 11 bits, as the instruction tanh.approx has", v);
    }
    const std::string to = " rounded to " + name(stored_);
    v = right_;
    v.runs.count = 4;
    v.partials = stored_;
    add("its partial outputs of parts of the keys are" + to, v);
    v = right_;
    v.undivided = format_;
    add("its O is" + to_ + " before it is divided by l", v);
    v = right_;
    v.rounds.products = v.tile_products = format_;
    add("its q.k and each tile's P.V are" + to_ + ", as in PyTorch's kernel for CPUs with a generic BLAS", v);
    v = right_;
    v.truncated_O = stored_;
    add("its O is cut off to " + name(stored_) + " instead of rounded", v);
    v = right_;
    v.truncated_P = format_;
    add("its P is cut off to " + name(format_) + " instead of rounded", v);
    v.sums_truncated_P = true;
    add("its P is cut off to " + name(format_) + " instead of rounded, also in l", v);
  }

  void add_P_of_eight_bits(const Format& f) {
    for (const SumsOfEightBits& sums : sums_of_eight_bits)
      for (const KernelOfEightBits& kernel : kernels_of_eight_bits)
        if (kernel.format == f) add_tiles_of(kernel, sums);
  }

  /// Adds the kernel with every usual tile of keys, from the first and from the last on.
  void add_tiles_of(const KernelOfEightBits& kernel, const SumsOfEightBits& by) {
    RoundedP P{kernel.format, kernel.factor, key_count(p_), false, kernel.lazy, by.product_error, by.sum_error};
    std::string text = "its P is rounded to " + name(kernel.format);
    if (kernel.factor != 1) text += " after a multiplication by " + shortest(kernel.factor);
    const auto add_P = [&](const std::string& tiles) {
      SoftmaxVariant v = right_;
      v.rounds.P = P;
      add(text + tiles + kernel.text + by.text, v);
      all_.back().P = P;
    };
    add_P("");
    for (P.tile = 32; P.tile <= 256 && P.tile < key_count(p_); P.tile += 32)
      for (const bool is_reversed : {true, false}) {
        P.is_reversed = is_reversed;
        add_P(" in tiles of " + std::to_string(P.tile) + " keys" + (is_reversed ? ", the last first" : ""));
      }
  }

  /// Adds variants of `v`: each operation after the scores stores its result, or does not.
  /// Rounded scores take few values, and so does P. The rounding errors of P are then equal for many keys and no longer small
  /// against the others, so both P rounded after the softmax and P not rounded are added.
  template <class Add>
  void each_eager(const std::string& text, const SoftmaxVariant& v, const Add& add) {
    for (const bool stores_later : {true, false}) {
      if (stores_later && p_.softcap == 0 && p_.alibi == 0 && !p_.sink) continue;
      SoftmaxVariant x = v;
      std::string whole = text;
      if (stores_later) {
        if (p_.softcap != 0) x.capped = format_;
        if (p_.alibi != 0) x.biased = format_;
        whole += ", and so is what each later operation makes of them";
      }
      for (const bool stores_differences : {true, false}) {
        if (stores_differences && !p_.sink) continue;
        x.differences = stores_differences ? std::optional(format_) : std::nullopt;
        x.probabilities = format_;
        add(whole, x);
        x.probabilities.reset();
        add(whole, x);
      }
    }
  }
  void add_eager(const std::string& text, const SoftmaxVariant& v) {
    each_eager(text, v, [&](const std::string& t, const SoftmaxVariant& x) { add_biased(t, x); });
    SoftmaxVariant x = v;
    if (p_.softcap != 0) x.capped = format_;
    if (p_.alibi != 0) x.biased = format_;
    x.differences = x.exponentials = x.probabilities = format_;
    add_biased(text + ", and so are S - m, exp, l and P, as in JAX's softmax", x);
  }
  /// Adds ALiBi's bias counted from the query, and, since it rounds differently, from the first key.
  void add_biased(const std::string& text, SoftmaxVariant v) {
    add(text, v);
    if (!v.biased || p_.mask.kind == Mask::Kind::none || p_.mask.kind == Mask::Kind::padding) return;
    v.bias_by_key = true;
    add(text, v);
  }

  void add(std::string text, SoftmaxVariant variant) { add(std::move(text), std::move(variant), own_); }
  void add(std::string text, SoftmaxVariant variant, MakeHead head) {
    all_.push_back({std::move(text), [variant = std::move(variant), head = std::move(head)]() -> RoundedRow {
                      return [variant, made = head()](int row, double* out, double* slack) {
                        attend(*made, variant, row, out, slack);
                      };
                    }});
  }

  MakeHead prescaled(Prescaled by) const {
    const auto multiply = [format = format_](std::vector<double>& x, double factor) {
      for (double& y : x) y = round(format, y * factor);
    };
    return made_once([by, multiply, own = own_, t = inputs_] {
      VariantHead head = *own();
      for (const auto& [part, factor] : {std::pair{&Tensors::q, by.q}, {&Tensors::k, by.k}})
        if (factor != 1) {
          std::vector<double> scaled = (*t).*part;
          multiply(scaled, factor);
          head = with_part(std::move(head), part, std::move(scaled));
        }
      return head;
    });
  }
  void add_prescaled(std::string text, Prescaled by, MakeHead head, SoftmaxVariant variant) {
    variant.scale = working(scale_of(p_)) / (by.q * by.k);
    variant.sums_in_sequence = format_ == fp32;
    add(std::move(text), std::move(variant), std::move(head));
  }

  const Problem& p_;
  SharedTensors inputs_;
  Format format_, stored_;
  SoftmaxVariant right_ = right_softmax(p_);
  MakeHead own_ = made_once([t = inputs_] { return variant_head(t); });
  std::string to_ = " rounded to " + name(format_);
  std::vector<OtherRounding> all_;
};

}  // namespace

std::vector<OtherRounding> other_roundings(const Problem& problem, std::shared_ptr<const Tensors> inputs,
                                           std::shared_ptr<const Tensors> given, const Format& format, const Format& stored,
                                           const std::optional<Format>& of_P) {
  return Collection(problem, std::move(inputs), format, stored).take(std::move(given), of_P);
}

}  // namespace attoscope
