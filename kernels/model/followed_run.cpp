#include "kernels/model/followed_run.h"

#include <algorithm>

#include "kernels/arithmetic/format.h"

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
    // a stream that is rounded where it is read keeps the bits of which the file has none
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
  bool quiet_ = false;  ///< nothing is kept
};

}  // namespace

std::unique_ptr<FollowedRun> followed_run(const RunQuestion& question, const ModelProgram& program, const StopSign& stop) {
  if (program.around.in_double) return std::make_unique<Followed<double>>(question, program, stop);
  return std::make_unique<Followed<float>>(question, program, stop);
}

}  // namespace attoscope
