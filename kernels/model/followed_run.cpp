#include "kernels/model/followed_run.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

template <class T>
class Followed final : public FollowedRun {
 public:
  Followed(const RunQuestion& q, const ModelProgram& p, const StopSign& stop)
      : q_(q), p_(p), run_(*q.model, p_.architecture, q.tokens, p_.around, stop) {
    run_.tap = [this](ModelTensor t, int layer, std::vector<T>& x) { pass(t, layer, x); };
  }

  void begin() override {
    made.clear();
    x_ = run_.embedded();
  }
  void layer(int l) override {
    made.clear();
    const LayerHeads<T> heads = run_.heads(l, x_);
    run_.finish(l, attended(l, heads), x_);
  }
  void end() override {
    made.clear();
    last_ = run_.last_norm(x_);
  }
  std::vector<double> logits(int first, int count) override { return run_.logits(last_, first, count); }
  std::vector<double> state() const override { return {x_.begin(), x_.end()}; }
  void resume(const std::vector<double>& state) override { x_.assign(state.begin(), state.end()); }

 private:
  void pass(ModelTensor t, int layer, std::vector<T>& x) {
    if (quiet_ || !q_.captured->has(t, layer)) return;
    std::vector<double>& own = made[t];
    own.assign(x.begin(), x.end());
    const Format stored = q_.captured->stored(t, layer);
    if (!p_.around.in_double && significand_bits(stored) < 24)
      for (double& v : own) v = round(stored, v);
    const bool is_residual = t == ModelTensor::embedding || t == ModelTensor::middle || t == ModelTensor::output;
    if (p_.keeps_residual && is_residual && t != ModelTensor::embedding) return;
    const std::vector<double> captured = q_.captured->numbers(t, layer);
    // a stream that is rounded only on reading keeps the bits that the file lacks
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!p_.around.unrounded_variance || !is_residual || own[i] != captured[i]) x[i] = static_cast<T>(captured[i]);
  }

  std::vector<T> attended(int l, const LayerHeads<T>& heads) {
    const AttentionChoice all{.method = p_.golden ? nullptr : &p_.heads, .format = p_.format};
    if (p_.changed_head < 0) return run_.attended(l, heads, all);
    quiet_ = true;
    std::vector<T> o = run_.attended(l, heads, all);
    const std::vector<T> other =
        run_.attended(l, heads, {.method = &p_.changed, .format = p_.format, .only = {.layer = l, .head = p_.changed_head}});
    quiet_ = false;
    o = with_head(p_.architecture, std::move(o), other, p_.changed_head);
    pass(ModelTensor::attention, l, o);
    return o;
  }

  const RunQuestion& q_;
  const ModelProgram p_;
  ModelRun<T> run_;
  std::vector<T> x_, last_;
  bool quiet_ = false;  ///< true: tensors are neither recorded nor replaced
};

class Changes {
 public:
  Changes(const RunQuestion& q, const ModelProgram& p) : q_(q), p_(p) {}

  std::vector<RunChange> all(bool wide) {
    std::vector<Format> formats{p_.format};
    for (const Format& f : {bf16, fp16, e4m3})
      if (!wide && f != p_.format) formats.push_back(f);
    for (const AroundStepInfo& s : around_steps)
      if (!s.rounded.empty()) round_step(s, formats);
    if (significand_bits(p_.format) == 24) shorten_factors();
    if (!wide) keep_residual();
    turn_otherwise();
    for (const double epsilon : {0.0, 1e-6, 1e-5})
      if (epsilon != q_.model->architecture.epsilon)
        architecture("RMSNorm: epsilon is " + shortest(epsilon), [&](Architecture& a) { a.epsilon = epsilon; });
    for (const Format& f : {e4m3, e5m2}) round_P(f, wide);
    return std::move(changes_);
  }

 private:
  template <class Change>
  void add(std::string text, Change change) {
    RunChange& c = changes_.emplace_back(RunChange{std::move(text), p_});
    change(c);
  }
  template <class Change>
  void architecture(std::string text, Change change) {
    add(std::move(text), [&](RunChange& c) { change(c.program.architecture); });
  }

  static void set(RunChange& c, AroundStep step, const Rounding& r) {
    c.program.around[step] = r;
    if (step == AroundStep::weights) c.program.around[AroundStep::norm_weight] = r;
  }

  void round_step(const AroundStepInfo& s, const std::vector<Format>& formats) {
    const std::string subject(s.rounded);
    const Rounding now = p_.around[s.step];
    const bool is_narrow = now.kind == Rounding::Kind::format && significand_bits(now.format) < 24;
    if (is_narrow) add(subject + " not rounded to " + name(now.format), [&](RunChange& c) { set(c, s.step, exact); });
    for (const Format& f : formats)
      if (significand_bits(f) <= 24 && !(now == to_format(f)))
        add(subject + " rounded to " + name(f) + (is_narrow ? " instead of " + name(now.format) : ""),
            [&](RunChange& c) { set(c, s.step, to_format(f)); });
  }

  void shorten_factors() {
    add("the factors of projections are rounded to tf32", [](RunChange& c) {
      c.program.around[AroundStep::weights] = to_format(tf32);
      c.program.around.rounds_factors = true;
    });
  }

  void keep_residual() {
    if (p_.around[AroundStep::residual] == exact) return;
    add("RMSNorm: the residual stream is normalised before it is rounded", [](RunChange& c) {
      c.program.around[AroundStep::residual] = exact;
      c.program.keeps_residual = c.from_layer_before = true;
    });
  }

  void turn_otherwise() {
    const Rope& rope = q_.model->architecture.rope;
    const bool halves = p_.around.pairs.value_or(rope.pairs) == RotaryPairs::halves;
    add(halves ? "RoPE: columns 2i and 2i + 1 are turned together instead of i and i + d/2"
               : "RoPE: columns i and i + d/2 are turned together instead of 2i and 2i + 1",
        [&](RunChange& c) { c.program.around.pairs = halves ? RotaryPairs::neighbours : RotaryPairs::halves; });
    for (const double theta : {1e4, 1e5, 5e5, 1e6})
      if (theta != rope.theta)
        architecture("RoPE: theta is " + shortest(theta) + " instead of " + shortest(rope.theta),
                     [&](Architecture& a) { a.rope.theta = theta; });
    if (rope.scaling != RopeScaling::none)
      architecture("RoPE: its frequencies are not scaled", [](Architecture& a) { a.rope.scaling = RopeScaling::none; });
    for (const int first : std::set<int>{q_.first_position, 1, -1})
      if (first != 0)
        architecture("RoPE: the first token has position " + std::to_string(first),
                     [&](Architecture& a) { a.rope.first_position = first; });
  }

  void round_P(const Format& f, bool wide) {
    Method changed = p_.heads;
    changed.precision[Step::P] = to_format(f);
    const std::string what = "attention's weights P are rounded to " + name(f);
    add(what + " in every head", [&](RunChange& c) { c.program.heads = changed, c.program.golden = false; });
    for (int h = 0; !wide && h < q_.model->architecture.heads; ++h)
      add(what + " in head " + std::to_string(h),
          [&](RunChange& c) { c.program.changed_head = h, c.program.changed = changed; });
  }

  const RunQuestion& q_;
  const ModelProgram& p_;
  std::vector<RunChange> changes_;
};

}  // namespace

std::unique_ptr<FollowedRun> followed_run(const RunQuestion& question, const ModelProgram& program, const StopSign& stop) {
  if (program.around.in_double) return std::make_unique<Followed<double>>(question, program, stop);
  return std::make_unique<Followed<float>>(question, program, stop);
}

std::vector<RunChange> run_changes(const RunQuestion& question, const ModelProgram& program, bool wide) {
  return Changes(question, program).all(wide);
}

}  // namespace attoscope
