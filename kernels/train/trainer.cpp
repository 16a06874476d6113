#include "kernels/train/trainer.h"

#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "kernels/arithmetic/exponential.h"
#include "kernels/system_memory.h"
#include "kernels/train/activations.h"

namespace attoscope {
namespace {

constexpr double least_loss_scale = 0x1p-24, most_loss_scale = 0x1p40;
constexpr double loss_factor = 3, loss_margin = 3;  ///< a loss above factor * first loss + margin is divergence

/// x^n by squaring, in the same order on every machine.
double power(double x, int n) {
  double result = 1;
  for (; n > 0; n >>= 1, x *= x)
    if (n & 1) result *= x;
  return result;
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// The stream of attention's random bits in a step.
constexpr std::uint64_t attention_stream = 0x73746570;
/// The stream of the random bits of an update's stores.
constexpr std::uint64_t update_stream = 0x75706474;

constexpr const char* not_finite = "the first number that is not finite";

/// "the embedded text holds ", "layer 1, keys K, holds "
std::string holder(const std::string& place) { return place + (place.find(',') == std::string::npos ? " holds " : ", holds "); }

/// The tensor that contains element `i` of the flat array.
const ParameterTensor& tensor_at(const Parameters& parameters, std::int64_t i) {
  const auto place = static_cast<std::size_t>(i);
  std::size_t t = parameters.tensors.size() - 1;
  while (parameters.tensors[t].first > place) --t;
  return parameters.tensors[t];
}

/// Throws if the CPU's memory cannot hold the run, before allocating it; on a GPU the allocation itself fails.
void check_memory(const TrainPlan& plan, const RunPlan& run, const std::string& device) {
  const ModelShape& model = plan.model;
  const int vocabulary = static_cast<int>(plan.text.corpus->characters.size());
  const double needed = bytes_of_training(model, vocabulary, plan.recipe.batch), free = available_bytes();
  if (!device.starts_with("cpu") || needed <= free) return;
  char text[240];
  std::snprintf(text, sizeof text,
                "model.layers is %d, model.width is %d, model.context is %d and recipe.batch is %d: run %s needs %.0f bytes, "
                "expected at most the %.0f that are free",
                model.layers, model.width, model.context, plan.recipe.batch, run.name.c_str(), needed, free);
  throw std::runtime_error(text);
}

/// Throws unless it is a state of run `run` with `size` weights.
void check(const TrainState& state, std::size_t size, const std::string& run) {
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    throw std::invalid_argument("the state of run " + run + " has " + what + ", expected " + expected);
  };
  const std::pair<const char*, const std::vector<float>*> arrays[] = {
      {"weights", &state.weights}, {"m", &state.m}, {"v", &state.v}};
  for (const auto& [name, array] : arrays)
    if (array->size() != size) refuse(std::to_string(array->size()) + " numbers in " + name, std::to_string(size));
  if (state.step < 0 || state.updates < 0 || state.updates > state.step)
    refuse(std::to_string(state.updates) + " updates in " + std::to_string(state.step) + " steps", "one a step at most");
  if (state.steps_since_overflow < 0 || state.steps_since_overflow > state.step)
    refuse(std::to_string(state.steps_since_overflow) + " steps since an overflow",
           "at most its " + std::to_string(state.step));
  if (!(state.loss_scale >= least_loss_scale && state.loss_scale <= most_loss_scale))
    refuse("the loss scale " + number(state.loss_scale), "one from 2^-24 to 2^40");
}

}  // namespace

double rate_at(const Recipe& recipe, int step) {
  if (step <= recipe.warmup) return recipe.rate * step / recipe.warmup;
  if (step >= recipe.steps) return recipe.final_rate;
  const double share = static_cast<double>(step - recipe.warmup) / (recipe.steps - recipe.warmup);
  return recipe.final_rate + (recipe.rate - recipe.final_rate) * (0.5 * (1 + sincos_turns(0.5 * share).cos));
}

bool scales_loss(const Format& format) { return format.exponent_bits < fp32.exponent_bits; }

struct Trainer::Parts {
  Parts(const TrainPlan& train_plan, const RunPlan& run_plan, std::unique_ptr<Primitives<float>> primitives)
      : plan(train_plan),
        run(run_plan),
        on(std::move(primitives)),
        model(plan.model, static_cast<int>(plan.text.corpus->characters.size()), plan.recipe.batch, run.method, *on),
        to_weights(attoscope::plan<float>(run.method.weights, run.method.format)),
        to_moments(attoscope::plan<float>(run.method.optimiser, run.method.format)),
        weights(*on, model.parameters().size),
        m(*on, weights.size()),
        v(*on, weights.size()),
        gradient(*on, weights.size()),
        loss_scale(scales() ? plan.recipe.loss_scale : 1) {
    weights.write(first_weights(model.parameters(), plan.model, run.seed));
    round_stored();
  }

  Batch next_batch() const {
    return batch_at(training_text(plan), plan.recipe.data_seed, next(), plan.recipe.batch, plan.model.context);
  }

  double forward() { return model.forward(weights.get(), next_batch(), rounding_seed_of(run.seed, next(), attention_stream)); }

  void check_loss(double loss) const {
    const bool finite = std::isfinite(loss);
    if (finite && !(loss > loss_factor * first_loss + loss_margin)) return;
    const std::string what =
        finite ? "the loss is " + number(loss) + ", more than three times the first" : "the loss is not finite";
    const std::string place = model.first_nonfinite();
    diverge(what + "; " + (place.empty() ? holder(model.largest()) + "the largest number" : holder(place) + not_finite));
  }

  /// Rounds weights and moments to nearest; values that an update of this run stored do not change.
  void round_stored() {
    const auto round = [&](DeviceArray<float, float>& x, const Rounding& rounding) {
      Rounding nearest = rounding;
      nearest.stochastic = false;
      const RounderPlan<float> to = attoscope::plan<float>(nearest, run.method.format);
      if (to.rounds()) on->rounded(x.get(), static_cast<std::int64_t>(x.size()), to, x.get());
    };
    round(weights, run.method.weights);
    round(m, run.method.optimiser);
    round(v, run.method.optimiser);
  }

  void check_gradient(const GradientSize& size) const {
    if (size.nonfinite == 0 || (scales() && loss_scale / 2 >= least_loss_scale)) return;
    const std::string what = "the gradient of " + tensor_at(model.parameters(), size.first).name;
    diverge((scales() ? "the loss scale fell below 2^-24, and " + what + " still" : what) + " holds " + not_finite);
  }

  void update() {
    const Recipe& recipe = plan.recipe;
    const double norm = prepared->gradient_norm;
    ++updates;
    AdamStep<float> s;
    s.unscale = static_cast<float>(1 / loss_scale);
    s.clip = static_cast<float>(recipe.clip > 0 && norm > recipe.clip ? recipe.clip / norm : 1);
    s.beta1 = static_cast<float>(recipe.beta1);
    s.beta2 = static_cast<float>(recipe.beta2);
    s.correction1 = static_cast<float>(1 / (1 - power(recipe.beta1, updates)));
    s.correction2 = static_cast<float>(1 / (1 - power(recipe.beta2, updates)));
    s.rate = static_cast<float>(prepared->rate);
    s.epsilon = static_cast<float>(recipe.epsilon);
    s.weights = to_weights;
    s.moments = to_moments;
    s.seed = rounding_seed_of(run.seed, next(), update_stream);
    for (const ParameterTensor& tensor : model.parameters().tensors) {
      s.count = static_cast<std::int64_t>(tensor.size());
      s.first = static_cast<std::int64_t>(tensor.first);
      s.w = weights.get() + tensor.first;
      s.m = m.get() + tensor.first;
      s.v = v.get() + tensor.first;
      s.g = gradient.get() + tensor.first;
      s.decay = static_cast<float>(tensor.decays ? recipe.weight_decay : 0);
      on->adam(s);
    }
    if (++steps_since_overflow < recipe.scale_growth) return;
    steps_since_overflow = 0;
    if (may_grow()) loss_scale *= 2;
  }

  std::vector<HeadStatistics> all_heads() const {
    std::vector<HeadStatistics> heads;
    for (int layer = 0; layer < plan.model.layers; ++layer) {
      const std::vector<HeadStatistics> some = model.statistics(layer);
      heads.insert(heads.end(), some.begin(), some.end());
    }
    return heads;
  }

  [[noreturn]] void diverge(const std::string& why) const {
    throw Diverged("Run " + run.name + " diverged at step " + std::to_string(next()) + ": " + why + ".");
  }

  int next() const { return step + 1; }
  bool scales() const { return scales_loss(run.method.format); }
  /// True if the scale may grow. If the format saturates, overflow cannot be detected, and the scale never changes.
  bool may_grow() const { return scales() && run.method.format.overflow != Overflow::saturate && loss_scale < most_loss_scale; }

  TrainPlan plan;
  RunPlan run;
  std::unique_ptr<Primitives<float>> on;
  Model<float> model;
  RounderPlan<float> to_weights, to_moments;
  DeviceArray<float, float> weights, m, v, gradient;
  int step = 0, steps_since_overflow = 0, updates = 0;
  double loss_scale, first_loss = std::numeric_limits<double>::quiet_NaN();
  std::optional<StepReport> prepared;  ///< the prepared step, whose gradient is in `gradient`
};

Trainer::Trainer(const TrainPlan& plan, const RunPlan& run, std::unique_ptr<Primitives<float>> on) {
  check_memory(plan, run, on->name());
  parts_ = std::make_unique<Parts>(plan, run, std::move(on));
}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

const Parameters& Trainer::parameters() const { return parts_->model.parameters(); }
std::string Trainer::device() const { return parts_->on->name(); }
int Trainer::step_count() const { return parts_->step; }

StepReport Trainer::prepare(bool with_statistics) {
  Parts& p = *parts_;
  p.prepared.reset();
  StepReport report{.step = p.next(), .rate = rate_at(p.plan.recipe, p.next()), .loss_scale = p.loss_scale};
  report.loss = p.forward();
  p.check_loss(report.loss);
  p.model.backward(p.weights.get(), static_cast<float>(p.loss_scale), p.gradient.get());
  const GradientSize size =
      p.on->gradient_size(p.gradient.get(), static_cast<std::int64_t>(p.gradient.size()), 1 / p.loss_scale);
  p.check_gradient(size);
  report.skipped = size.nonfinite > 0;
  report.gradient_norm = report.skipped ? std::numeric_limits<double>::infinity() : std::sqrt(size.squares);
  p.prepared = report;
  if (with_statistics) report.heads = p.all_heads();
  return report;
}

void Trainer::commit() {
  Parts& p = *parts_;
  if (!p.prepared) throw std::logic_error("a step is committed that was not prepared");
  if (p.prepared->skipped) {
    p.loss_scale /= 2;
    p.steps_since_overflow = 0;
  } else {
    p.update();
  }
  if (std::isnan(p.first_loss)) p.first_loss = p.prepared->loss;
  ++p.step;
  p.prepared.reset();
}

StepReport Trainer::step(bool with_statistics) {
  StepReport report = prepare(with_statistics);
  commit();
  return report;
}

std::vector<float> Trainer::weights() const { return parts_->weights.read(); }

void Trainer::read_weights(std::span<float> x) const { parts_->on->download(parts_->weights.get(), x.size_bytes(), x.data()); }

TrainState Trainer::state() const {
  const Parts& p = *parts_;
  return {p.step, p.loss_scale, p.steps_since_overflow, p.updates, p.first_loss, p.weights.read(), p.m.read(), p.v.read()};
}

void Trainer::restore(const TrainState& state) {
  Parts& p = *parts_;
  check(state, p.weights.size(), p.run.name);
  p.weights.write(state.weights);
  p.m.write(state.m);
  p.v.write(state.v);
  p.round_stored();
  p.step = state.step;
  p.loss_scale = p.scales() ? state.loss_scale : 1;
  p.steps_since_overflow = state.steps_since_overflow;
  p.updates = state.updates;
  p.first_loss = state.first_loss;
  p.prepared.reset();
}

double Trainer::heldout_loss() {
  constexpr int least_pieces = 64;
  Parts& p = *parts_;
  const std::span<const std::uint16_t> text = held_out_text(p.plan);
  if (text.empty()) return std::numeric_limits<double>::quiet_NaN();
  p.prepared.reset();
  const int sequences = p.plan.recipe.batch, batches = (least_pieces + sequences - 1) / sequences;
  double sum = 0;
  for (int i = 0; i < batches; ++i)
    sum += p.model.forward(p.weights.get(), spaced_batch(text, i, batches, sequences, p.plan.model.context),
                           rounding_seed_of(p.run.seed, 0, attention_stream));
  return sum / batches;
}

CapturedHead Trainer::captured(int layer, int head, int sequence) {
  parts_->prepared.reset();
  parts_->forward();
  return parts_->model.captured(layer, head, sequence);
}

}  // namespace attoscope
