#include "kernels/slips/slip_suspects.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

namespace attoscope {

SuspectList::SuspectList(const Result& result, const OtherHeads& heads, const KernelRounding& rounds)
    : e_(result.experiment), inputs_(result.inputs), heads_(heads) {
  right_.rounds = rounds;
}

void SuspectList::add(Slip::Kind kind, std::string text, SoftmaxVariant variant, MakeHead head, std::optional<Problem> problem,
                      std::optional<Format> inputs) {
  suspects_.push_back({kind, std::move(text),
                       [variant = std::move(variant), head = std::move(head)]() -> ExpectedRow {
                         return [variant, made = head()](int row, double* out) {
                           attend(*made, variant, row, out);
                           return true;
                         };
                       },
                       std::move(problem), inputs});
}
SuspectList::AsSeen SuspectList::as_seen() const {
  return [shape = inputs_->shape(), rounding = e_.a.precision[Step::input],
          format = e_.format](const std::shared_ptr<const Tensors>& raw) -> std::shared_ptr<const Tensors> {
    if (!raw || raw->n < shape.n || raw->n_k < shape.n_k || raw->d != shape.d || raw->d_v != shape.d_v) return nullptr;
    std::shared_ptr<const Tensors> taken = raw;
    if (raw->n > shape.n || raw->n_k > shape.n_k) {
      Tensors t = *raw;
      t.n = shape.n;
      t.n_k = shape.n_k;
      t.q.resize(at(t.n) * at(t.d));
      t.k.resize(at(t.n_k) * at(t.d));
      t.v.resize(at(t.n_k) * at(t.d_v));
      taken = std::make_shared<const Tensors>(std::move(t));
    }
    return rounding.kind == Rounding::Kind::exact ? taken : seen_in(format_of(rounding, format), taken);
  };
}

namespace {

using Kind = Slip::Kind;

void add_scale(SuspectList& list, Kind kind, const char* text, double scale) {
  const double right = list.right().scale;
  if (!(scale > 0) || !std::isfinite(scale) || std::abs(scale - right) <= 1e-12 * right) return;
  Problem p = list.problem();
  p.scale = scale;
  list.add_problem(kind, text, p);
}

void add_scales(SuspectList& list) {
  const int d = list.shape().d;
  const double usual = 1 / std::sqrt(static_cast<double>(d)), right = list.right().scale;
  const bool is_usual = list.problem().scale == 0;
  int padded = 1;
  while (padded < d) padded *= 2;
  add_scale(list, Kind::scale, is_usual ? "a missing scale 1/sqrt(d)" : "a missing scale", 1);
  add_scale(list, Kind::scale, "the scale 1/sqrt(d) instead of the problem's", usual);
  add_scale(list, Kind::scale, is_usual ? "the scale applied twice (1/d)" : "the scale applied twice", right * right);
  add_scale(list, Kind::scale, "scores divided by the scale instead of multiplied", 1 / right);
  add_scale(list, Kind::scale, "the scale of d padded to a power of two", 1 / std::sqrt(static_cast<double>(padded)));
  add_scale(list, Kind::scale, "the scale 1/sqrt(d - 1)", 1 / std::sqrt(d - 1.0));
  add_scale(list, Kind::scale, "the scale 1/sqrt(d + 1)", 1 / std::sqrt(d + 1.0));
  if (const int d_v = list.shape().d_v; d_v != d)
    add_scale(list, Kind::scale, "the scale 1/sqrt(d_v) instead of 1/sqrt(d)", 1 / std::sqrt(static_cast<double>(d_v)));
  add_scale(list, Kind::exponential, "exp2 without log2 e", right * std::numbers::ln2);
  add_scale(list, Kind::exponential, "exp with a log2 e meant for exp2", right * std::numbers::log2e);
  list.add_with(Kind::scale, "scores that are all equal (a mean of V)", [](auto& v) { v.scale = v.alibi = 0; });
}

/// Adds the right softmax of a changed problem.
void add_edited(SuspectList& list, const char* text, auto edit) {
  Problem p = list.problem();
  edit(p);
  list.add_problem(Kind::bias, text, p);
}

/// Adds soft caps S = cap * tanh(S / cap) with a factor that is missing or misplaced.
void add_soft_caps(SuspectList& list) {
  const double cap = list.problem().softcap;
  if (cap == 0) return;
  add_edited(list, "a missing soft cap", [](auto& p) { p.softcap = 0; });
  const auto add = [&](const char* text, auto edit) { list.add_with(Kind::bias, text, edit); };
  add("a soft cap before the scale instead of after it", [](auto& v) { v.caps_before_scale = true; });
  if (cap == 1) return;
  add("a soft cap folded into the scale: tanh(S / cap) is not multiplied by cap", [](auto& v) { v.cap_factor = 1; });
  add("a soft cap whose tanh takes S instead of S / cap", [cap](auto& v) { v.softcap = 1, v.cap_factor = cap; });
  add("a soft cap folded into the scale: S / cap, without a tanh", [cap](auto& v) { v.scale /= cap, v.softcap = 0; });
}

void add_biases(SuspectList& list) {
  add_soft_caps(list);
  const Problem& p = list.problem();
  if (p.alibi != 0) {
    add_edited(list, "a missing ALiBi slope", [](auto& q) { q.alibi = 0; });
    add_edited(list, "an ALiBi slope of the wrong sign", [](auto& q) { q.alibi = -q.alibi; });
  }
  if (p.sink) add_edited(list, "a missing sink", [](auto& q) { q.sink.reset(); });
  if (!p.sink) add_edited(list, "one extra logit of 0 in every row sum", [](auto& q) { q.sink = 0.0; });
}

void add_divisions(SuspectList& list) {
  list.add_with(Kind::division, "a missing division by l", [](auto& v) { v.divides = false; });
  list.add_with(Kind::division, "a missing division by l, and exp(S) without its max subtracted",
                [](auto& v) { v.divides = v.subtracts_max = false; });
}

/// Adds inputs in another format than the golden value's; this is not a mistake of the kernel.
void add_formats(SuspectList& list) {
  const Experiment& own = list.experiment();
  const Rounding& rounding = own.a.precision[Step::input];
  const bool is_exact = rounding.kind == Rounding::Kind::exact;
  const Format seen = format_of(rounding, own.format);
  for (const Format& f : {fp32, fp16, bf16}) {
    if (!is_exact && seen == f) continue;
    Experiment e = own;
    e.a.precision[Step::input] = to_format(f);
    e.problem.rows = 1;
    list.add(
        Kind::format, "inputs in " + name(f) + ", where golden saw them " + (is_exact ? "as they are" : "in " + name(seen)),
        list.right(), [e] { return std::make_shared<const VariantHead>(variant_head(compute(e).inputs)); }, {}, f);
  }
}

}  // namespace

std::vector<int> likely_tiles(const Experiment& e, int length) {
  std::set<int> tiles{16, 32, 64, 128, 256, e.a.block_k, e.b.block_k};
  std::erase_if(tiles, [&](int t) { return t >= length; });
  return {tiles.begin(), tiles.end()};
}

std::vector<Suspect> arithmetic_suspects(const Result& result, const OtherHeads& heads, const KernelRounding& rounds) {
  SuspectList list(result, heads, rounds);
  add_scales(list);
  add_mask_suspects(list);
  add_biases(list);
  add_divisions(list);
  add_operand_suspects(list);
  add_tile_suspects(list);
  add_formats(list);
  add_head_suspects(list);
  return list.take();
}

}  // namespace attoscope
