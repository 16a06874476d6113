#include "kernels/slips/slip_suspects.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/experiment/result.h"
#include "kernels/slips/softmax_variant.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using SharedHead = std::shared_ptr<const VariantHead>;
using SharedTensors = std::shared_ptr<const Tensors>;
using MakeHead = std::function<SharedHead()>;
constexpr int most_heads = 64;

/// Collects suspects in the order in which they are added.
class Collection {
 public:
  Collection(const Result& result, const OtherHeads& heads)
      : e_(result.experiment), p_(e_.problem), inputs_(result.inputs), heads_(heads), right_(right_softmax(p_)) {
    own_ = [inputs = inputs_, made = std::make_shared<SharedHead>()] {
      if (!*made) *made = share(variant_head(inputs->n, inputs->d, inputs->q, inputs->k, inputs->v));
      return *made;
    };
  }

  std::vector<Suspect> take() {
    add_scales();
    add_masks();
    add_biases();
    add_divisions();
    add_operands();
    add_tiles();
    add_formats();
    add_heads();
    return std::move(suspects_);
  }

 private:
  static SharedHead share(VariantHead head) { return std::make_shared<const VariantHead>(std::move(head)); }

  void add(Kind kind, std::string text, SoftmaxVariant variant, MakeHead head, std::optional<Problem> problem = {}) {
    suspects_.push_back({kind, std::move(text),
                         [variant = std::move(variant), head = std::move(head)]() -> ExpectedRow {
                           return [variant, made = head()](int row, double* out) {
                             attend(*made, variant, row, out);
                             return true;
                           };
                         },
                         std::move(problem)});
  }
  void add(Kind kind, std::string text, SoftmaxVariant variant, std::optional<Problem> problem = {}) {
    add(kind, std::move(text), std::move(variant), own_, std::move(problem));
  }

  void add_scale(Kind kind, const char* text, double scale) {
    if (!(scale > 0) || !std::isfinite(scale) || std::abs(scale - right_.scale) <= 1e-12 * right_.scale) return;
    SoftmaxVariant v = right_;
    v.scale = scale;
    Problem p = p_;
    p.scale = scale;
    add(kind, text, v, p);
  }
  void add_scales() {
    const double usual = 1 / std::sqrt(static_cast<double>(p_.d));
    int padded = 1;
    while (padded < p_.d) padded *= 2;
    add_scale(Kind::scale, p_.scale == 0 ? "a missing scale 1/sqrt(d)" : "a missing scale", 1);
    add_scale(Kind::scale, "the scale 1/sqrt(d) instead of the problem's", usual);
    add_scale(Kind::scale, p_.scale == 0 ? "the scale applied twice (1/d)" : "the scale applied twice",
              right_.scale * right_.scale);
    add_scale(Kind::scale, "scores divided by the scale instead of multiplied", 1 / right_.scale);
    add_scale(Kind::scale, "the scale of d padded to a power of two", 1 / std::sqrt(static_cast<double>(padded)));
    add_scale(Kind::scale, "the scale 1/sqrt(d - 1)", 1 / std::sqrt(p_.d - 1.0));
    add_scale(Kind::scale, "the scale 1/sqrt(d + 1)", 1 / std::sqrt(p_.d + 1.0));
    add_scale(Kind::exponential, "exp2 without log2 e", right_.scale * std::numbers::ln2);
    add_scale(Kind::exponential, "exp with a log2 e meant for exp2", right_.scale * std::numbers::log2e);
    SoftmaxVariant v = right_;
    v.scale = v.alibi = 0;
    add(Kind::scale, "scores that are all equal (a mean of V)", v);
  }

  void add_mask(const char* text, std::function<Keys(int)> keys, std::optional<Mask> mask = {}) {
    SoftmaxVariant v = right_;
    v.keys = std::move(keys);
    std::optional<Problem> p;
    if (mask) p = p_, p->mask = *mask;
    add(Kind::mask, text, v, p);
  }
  void add_mask(const char* text, Mask mask) {
    add_mask(text, [mask, n = p_.n](int row) { return visible_keys(mask, row, n); }, mask);
  }

  void add_masks() {
    const int n = p_.n, w = p_.mask.window;
    const auto kind = p_.mask.kind;
    using M = Mask::Kind;
    if (kind == M::none) {
      add_mask("a causal mask where none is wanted", {M::causal, w});
    } else {
      add_mask(kind == M::causal ? "a missing causal mask" : "a missing mask", {M::none, w});
      if (kind == M::window) add_mask("a causal mask without its window", {M::causal, w});
      if (kind == M::padding) add_mask("a causal mask that shows the padding", {M::causal, w});
    }
    if (p_.mask.has_width()) {
      const bool window = kind == M::window;
      add_mask(window ? "a window that is one key too wide" : "a padding that is one key too wide", {kind, w + 1});
      if (w > 1)
        add_mask(window ? "a window that is one key too narrow" : "a padding that is one key too narrow", {kind, w - 1});
    }
    if (kind == M::window)
      add_mask("a window that looks ahead as far as back",
               [n, w](int i) { return Keys{std::max(0, i + 1 - w), std::min(n, i + w)}; });
    const auto first = [mask = p_.mask, n, kind](int i) { return kind == M::none ? 0 : visible_keys(mask, i, n).first; };
    add_mask(kind == M::none ? "a causal mask that hides the diagonal, where none is wanted"
                             : "a causal mask shifted by one key: it hides the diagonal (key < row)",
             [first](int i) { return Keys{std::min(first(i), i), i}; });
    add_mask(kind == M::none ? "a causal mask shifted by one key, where none is wanted"
                             : "a causal mask shifted by one key: it shows the next (key <= row + 1)",
             [first, n](int i) { return Keys{std::min(first(i), i), std::min(n, i + 2)}; });
    add_mask("a causal mask upside down (key >= row)", [n](int i) { return Keys{i, n}; });
  }

  void add_biases() {
    const auto edited = [&](const char* text, auto edit) {
      SoftmaxVariant v = right_;
      Problem p = p_;
      edit(v, p);
      add(Kind::bias, text, v, p);
    };
    if (p_.softcap != 0) {
      edited("a missing soft cap", [](auto& v, auto& p) { v.softcap = p.softcap = 0; });
      SoftmaxVariant v = right_;
      v.caps_before_scale = true;
      add(Kind::bias, "a soft cap before the scale instead of after it", v);
    }
    if (p_.alibi != 0) {
      edited("a missing ALiBi slope", [](auto& v, auto& p) { v.alibi = p.alibi = 0; });
      edited("an ALiBi slope of the wrong sign", [](auto& v, auto& p) { v.alibi = p.alibi = -p.alibi; });
    }
    if (p_.sink) edited("a missing sink", [](auto& v, auto& p) { v.sink.reset(), p.sink.reset(); });
    if (!p_.sink) edited("one extra logit of 0 in every row sum", [](auto& v, auto& p) { v.sink = p.sink = 0.0; });
  }

  void add_divisions() {
    SoftmaxVariant v = right_;
    v.divides = false;
    add(Kind::division, "a missing division by l", v);
    v.subtracts_max = false;
    add(Kind::division, "a missing division by l, and exp(S) without its max subtracted", v);
  }

  /// Heads made of the inputs in other roles or readings.
  void add_head(Kind kind, const char* text, std::vector<double> Tensors::* q, std::vector<double> Tensors::* k,
                std::vector<double> Tensors::* v, std::vector<double> Tensors::* transposed = nullptr) {
    add(kind, text, right_, [inputs = inputs_, q, k, v, transposed] {
      const auto part = [&](auto which) {
        std::vector<double> x = (*inputs).*which;
        if (which != transposed) return x;
        const auto n = static_cast<std::size_t>(inputs->n), d = static_cast<std::size_t>(inputs->d);
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t c = 0; c < d; ++c) x[j * d + c] = ((*inputs).*which)[c * n + j];
        return x;
      };
      return share(variant_head(inputs->n, inputs->d, part(q), part(k), part(v)));
    });
  }
  void add_operands() {
    using T = Tensors;
    add_head(Kind::operands, "K and V swapped", &T::q, &T::v, &T::k);
    add_head(Kind::operands, "Q and K swapped", &T::k, &T::q, &T::v);
    add_head(Kind::operands, "K in the place of V", &T::q, &T::k, &T::k);
    add_head(Kind::operands, "V in the place of K", &T::q, &T::v, &T::v);
    add_head(Kind::operands, "K read as d x n", &T::q, &T::k, &T::v, &T::k);
    add_head(Kind::operands, "V read as d x n", &T::q, &T::k, &T::v, &T::v);
    add_head(Kind::operands, "Q read as d x n", &T::q, &T::k, &T::v, &T::q);
    const int n = p_.n;
    add_values(Kind::operands, "values shifted by one against their keys (P[j] V[j + 1])", [n](int j) { return (j + 1) % n; });
    add_values(Kind::operands, "values shifted by one against their keys (P[j] V[j - 1])",
               [n](int j) { return (j - 1 + n) % n; });
    if (n < 2) return;
    add_values(Kind::tail, "the last row of V replaced by the one before it", [n](int j) { return std::min(j, n - 2); });
    add_values(Kind::tail, "the last row of V in the place of the one before it, too",
               [n](int j) { return j == n - 2 ? n - 1 : j; });
    add_values(Kind::tail, "the last row of V never read (zeros)", [n](int j) { return j == n - 1 ? -1 : j; });
    SoftmaxVariant v = right_;
    v.repeated_key = n - 1;
    add(Kind::tail, "the last row of K and V counted twice", v);
  }
  /// Keys with other rows of V than their own.
  void add_values(Kind kind, std::string text, std::function<int(int)> value_row) {
    SoftmaxVariant v = right_;
    v.value_row = std::move(value_row);
    add(kind, std::move(text), std::move(v));
  }

  void add_tiles() {
    for (const int tile : likely_tiles(e_)) {
      const std::string of = " (tiles of " + std::to_string(tile) + " keys)";
      const auto stale = [&](const char* text, bool o, bool l) {
        SoftmaxVariant v = right_;
        v.stale_tile = tile, v.stale_O = o, v.stale_l = l;
        add(Kind::rescale, text + of, v);
      };
      stale("O never rescaled by alpha", true, false);
      stale("l never rescaled by alpha", false, true);
      stale("neither O nor l rescaled by alpha", true, true);
      add_stale_max(tile, of);
      add_tile_mask(tile, of);
      add_tile_tail(tile, of);
      add_tail_values(tile, of);
    }
    for (int splits = 2; splits <= 16 && splits < p_.n; splits *= 2) {
      SoftmaxVariant v = right_;
      v.averaged_splits = splits;
      add(Kind::rescale, std::to_string(splits) + " splits averaged instead of merged by their log-sum-exp", v);
    }
  }

  void add_stale_max(int tile, const std::string& of) {
    if (p_.sink) return;
    const auto stale = [&](const char* text, StaleMax kind) {
      SoftmaxVariant v = right_;
      v.stale_tile = tile, v.stale_max = kind;
      add(Kind::rescale, text + of, v);
    };
    stale("a stale max: P is exp(S - m) with the m before its tile", StaleMax::old);
    stale("a stale max: alpha is always taken from the m of the first tile", StaleMax::first);
    stale("a stale max: alpha is that of the tile before", StaleMax::late);
    stale("a max that is never stored: alpha is 0, so that only the last tile counts", StaleMax::lost);
  }

  void add_tile_mask(int tile, const std::string& of) {
    if (p_.mask.kind == Mask::Kind::none) return;
    const auto with_end = [&](const std::string& text, auto end) {
      SoftmaxVariant v = right_;
      v.keys = [right = right_.keys, end](int i) { return Keys{std::min(right(i).first, end(i)), end(i)}; };
      add(Kind::mask, text + of, v);
    };
    with_end("the diagonal tile left unmasked", [tile, n = p_.n](int i) { return std::min(n, (i / tile + 1) * tile); });
    with_end("the diagonal tile skipped", [tile](int i) { return i / tile * tile; });
  }

  void add_tile_tail(int tile, const std::string& of) {
    const int n = p_.n, rest = n % tile;
    if (rest == 0) return;
    SoftmaxVariant v = right_;
    v.keys = [right = right_.keys, last = n - rest](int i) { return Keys{right(i).first, std::min(right(i).end, last)}; };
    add(Kind::tail, "the last, partial tile of keys left out" + of, v);
    if (p_.mask.kind != Mask::Kind::none) return;
    v = right_;
    v.extra_keys = tile - rest;
    add(Kind::tail, "the keys behind the last one counted in l" + of, v);
  }

  /// Rows of V that are wrong in the last, partial tile of keys.
  void add_tail_values(int tile, const std::string& of) {
    const int n = p_.n, rest = n % tile, last = n - rest;
    if (rest == 0) return;
    const auto in_tail = [&](const std::string& text, auto from) {
      add_values(Kind::tail, text + " in the last, partial tile of keys" + of,
                 [last, from](int j) { return j < last ? j : from(j); });
    };
    in_tail("rows of V taken from the tile before", [tile](int j) { return j - tile; });
    in_tail("rows of V shifted, since the tile was read up to the last row,",
            [tile, rest](int j) { return j - (tile - rest); });
    if (last == tail_of_values_) return;  // the same rows as those of a smaller tile
    tail_of_values_ = last;
    in_tail("rows of V zeroed", [](int) { return -1; });
    if (rest < 2) return;
    in_tail("the first row of V repeated", [last](int) { return last; });
    in_tail("the last row of V repeated", [n](int) { return n - 1; });
    in_tail("rows of V shifted by one (P[j] V[j + 1])", [n](int j) { return j + 1 < n ? j + 1 : -1; });
    in_tail("rows of V shifted by one (P[j] V[j - 1])", [](int j) { return j - 1; });
    in_tail("rows of V rotated by one (P[j] V[j + 1])", [n, last](int j) { return j + 1 < n ? j + 1 : last; });
    in_tail("rows of V rotated by one (P[j] V[j - 1])", [n, last](int j) { return j > last ? j - 1 : n - 1; });
    in_tail("the row of V before the tile repeated", [last](int) { return last - 1; });
  }

  /// Not the kernel's mistake: it saw the inputs in another format than the truth did.
  void add_formats() {
    const Rounding& own = e_.a.precision[Step::input];
    const auto name_of = [](const Rounding& r, const Format& f) {
      return r.kind == Rounding::Kind::exact ? std::string("as they are") : "in " + name(f);
    };
    for (const Format& f : {fp32, fp16, bf16}) {
      if (own.kind != Rounding::Kind::exact && format_of(own, e_.format) == f) continue;
      Experiment e = e_;
      e.a.precision[Step::input] = to_format(f);
      e.problem.rows = 1;
      const std::string text = "inputs in " + name(f) + ", where the truth saw them " + name_of(own, e_.format);
      add(Kind::format, text, right_, [e] {
        const std::shared_ptr<const Tensors> x = compute(e).inputs;
        return share(variant_head(x->n, x->d, x->q, x->k, x->v));
      });
      suspects_.back().inputs = f;
    }
  }

  /// The head that was read last; the suspects of one head come after each other.
  struct LatestHead {
    explicit LatestHead(const Collection& all) : collection(std::make_unique<Collection>(all)) {}
    std::unique_ptr<Collection> collection;
    int head = -1;
    SharedTensors tensors{};

    /// The file's own where this head has another shape.
    SharedTensors read(int wanted) {
      if (head != wanted) tensors = collection->rounded_head(wanted);
      head = wanted;
      return tensors ? tensors : collection->inputs_;
    }
  };

  /// Another head's tensors, rounded like the inputs.
  std::shared_ptr<const Tensors> rounded_head(int head) const {
    const std::shared_ptr<const Tensors> raw = heads_.read(head);
    const Rounding& r = e_.a.precision[Step::input];
    const int n = inputs_->n, d = inputs_->d;
    if (!raw || raw->n < n || raw->d != d) return nullptr;
    Tensors t = *raw;
    t.n = t.n_k = n;
    for (auto* part : {&t.q, &t.k, &t.v}) {
      part->resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(d));
      if (r.kind != Rounding::Kind::exact)
        for (double& x : *part) x = round(format_of(r, e_.format), x);
    }
    return std::make_shared<const Tensors>(std::move(t));
  }

  void add_heads() {
    const int own = p_.input.index, count = std::min(heads_.count, most_heads);
    if (p_.input.kind != InputKind::tensors || !heads_.read || own >= heads_.count) return;
    const auto latest = std::make_shared<LatestHead>(*this);
    for (int g = 0; g < count; ++g) {
      if (g == own) continue;
      const std::string other = "head " + std::to_string(g), mine = "head " + std::to_string(own);
      const auto mixed = [&](std::string text, bool q, bool k, bool v) {
        add(Kind::head, std::move(text), right_, [latest, g, inputs = inputs_, q, k, v] {
          const SharedTensors x = latest->read(g);
          return share(variant_head(x->n, x->d, (q ? *x : *inputs).q, (k ? *x : *inputs).k, (v ? *x : *inputs).v));
        });
      };
      mixed(other + " instead of " + mine, true, true, true);
      mixed("K and V of " + other + " with Q of " + mine, false, true, true);
      mixed("Q of " + other + " with K and V of " + mine, true, false, false);
      mixed("K of " + other + " with Q and V of " + mine, false, true, false);
      mixed("V of " + other + " with Q and K of " + mine, false, false, true);
    }
    add_interleaved(own, heads_.count);
  }

  /// n x heads x d read as heads x n x d: only the rows that hold this head can be predicted.
  void add_interleaved(int own, int heads) {
    suspects_.push_back({Kind::head, "n x heads x d read as heads x n x d",
                         [own, heads, n = p_.n, right = right_, head = own_]() -> ExpectedRow {
                           return [own, heads, n, right, made = head()](int row, double* out) {
                             const std::int64_t flat = static_cast<std::int64_t>(own) * n + row;
                             if (heads < 2 || flat % heads != own) return false;
                             attend(*made, right, static_cast<int>(flat / heads), out);
                             return true;
                           };
                         }});
  }

  Experiment e_;
  Problem p_;
  std::shared_ptr<const Tensors> inputs_;
  OtherHeads heads_;
  SoftmaxVariant right_;
  MakeHead own_;
  std::vector<Suspect> suspects_;
  int tail_of_values_ = -1;  ///< first key of the last tile whose rows of V are suspected already
};

}  // namespace

std::vector<int> likely_tiles(const Experiment& e) {
  std::vector<int> tiles{16, 32, 64, 128, 256, e.a.block_k, e.b.block_k};
  std::ranges::sort(tiles);
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  std::erase_if(tiles, [&](int t) { return t >= e.problem.n; });
  return tiles;
}

std::vector<Suspect> arithmetic_suspects(const Result& result, const OtherHeads& heads) {
  return Collection(result, heads).take();
}

}  // namespace attoscope
