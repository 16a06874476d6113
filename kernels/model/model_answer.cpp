#include "kernels/model/model_answer.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"
#include "kernels/model/logit_measures.h"
#include "kernels/stop_token.h"
#include "kernels/system_memory.h"

namespace attoscope {
namespace {

/// The surroundings of "bf16 everywhere", for eager attention: Hugging Face's modules.
Surroundings all_bf16(int pieces) {
  Surroundings s = surroundings("hf_bf16");
  s.sum_pieces = pieces;
  return s;
}
constexpr int pieces_of_another_order = 8;

/// A run up to its last norm. Reports the work of its logits (`work` for a row) and adds their time to `seconds`.
template <class T>
class FinishedRun final : public LogitSource {
 public:
  FinishedRun(std::shared_ptr<ModelRun<T>> run, std::vector<T> last, const StopToken& stop, double work, double& seconds)
      : run_(std::move(run)), last_(std::move(last)), loss_(run_->loss()), stop_(stop), work_(work), seconds_(seconds) {}
  std::vector<double> logits(int first, int count) override {
    const AddedTime timed(seconds_);
    std::vector<double> x = run_->logits(last_, first, count);
    stop_.report(work_ * count);
    return x;
  }
  LogitSum sum(const LogitLanes& lanes, const double* x, int count) const override {
    return loss_.block > 0 ? run_->lanes().online_sum(loss_, x, count) : LogitSource::sum(lanes, x, count);
  }
  double log_probability(const LogitSum& sum, double logit) const override {
    return loss_.block > 0 ? run_->lanes().log_probability(loss_, sum, logit) : LogitSource::log_probability(sum, logit);
  }

 private:
  std::shared_ptr<ModelRun<T>> run_;
  std::vector<T> last_;
  OnlineLoss<T> loss_;
  const StopToken& stop_;
  double work_;
  double& seconds_;
};

/// Called with the residual stream before layer 0 and after each layer.
template <class T>
using LayerWatch = std::function<void(int layers_done, const std::vector<T>& x)>;

/// Seconds of a layer over all tokens; the cost of logits as a number of layers.
struct LayerCosts {
  double exact = 0, around = 0, bf16 = 0;
  double layers_of_logits = 0;
};

/// RMS of x - y over RMS of y; sums in ascending order.
template <class T>
double relative_rms(const std::vector<T>& x, const std::vector<double>& y) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double d = static_cast<double>(x[i]) - y[i];
    difference += d * d;
    size += y[i] * y[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

/// Throws if the exact model has an infinity or NaN at `place`.
void check_exact(const std::vector<double>& x, const std::string& place) {
  const auto odd = std::ranges::find_if(x, [](double v) { return !std::isfinite(v); });
  if (odd != x.end())
    throw std::runtime_error("the exact model has " + std::string(std::isnan(*odd) ? "NaN" : "an infinity") + " " + place +
                             ", expected finite numbers, from which a and b differ");
}

/// Steps that a method rounds.
std::vector<Step> rounding_steps(const Method& m) {
  std::vector<Step> steps;
  for (int i = 0; i < step_count; ++i)
    if (m.precision[static_cast<Step>(i)] != exact) steps.push_back(static_cast<Step>(i));
  return steps;
}

class ModelWork {
 public:
  ModelWork(const ModelQuestion& q, const StopToken& stop, const LayerCosts& costs, const ShareMemory& memory)
      : q_(q), model_(*q.model), stop_(stop), costs_(costs), memory_(memory) {}

  ModelAnswer answer() {
    const AttentionChoice a = choice(q_.a), b = choice(q_.b);
    cost_ = costs_.exact;
    const auto keep = [&](int done, const std::vector<double>& x) {
      check_exact(x, done == 0 ? "in its embedding" : "after layer " + std::to_string(done - 1));
      exact_hidden_.push_back(x);
    };
    const auto exact = run<double>({}, {}, keep, answer_.seconds[0]);
    answer_.layers.resize(model_.layers.size());
    cost_ = costs_.around;
    const auto of_a = around_run(a, &LayerGrowth::a, answer_.seconds[1]);
    const auto of_b = around_run(b, &LayerGrowth::b, answer_.seconds[2]);
    const Method eager = policy("base_eager").method();
    const AttentionChoice bf16_heads{.method = &eager, .format = attoscope::bf16};
    cost_ = costs_.bf16;
    std::vector<LogitSource*> runs{exact.get(), of_a.get(), of_b.get()};
    std::array<Source, 2> yardsticks;
    for (std::size_t i = 0; q_.yardsticks && i < yardsticks.size(); ++i) {
      yardsticks[i] = run<float>(all_bf16(i == 0 ? 1 : pieces_of_another_order), bf16_heads, {}, other_seconds_);
      runs.push_back(yardsticks[i].get());
    }
    measure(runs);
    cost_ = costs_.around;
    if (q_.attribute != ModelPart::none) attribute(a);
    if (q_.keeps_outputs)
      for (const std::vector<double>& x : exact_hidden_)
        answer_.hidden_exact.insert(answer_.hidden_exact.end(), x.begin(), x.end());
    return std::move(answer_);
  }

 private:
  using Source = std::unique_ptr<LogitSource>;

  AttentionChoice choice(const Method& m) const {
    return {.method = &m, .format = q_.format, .seed = q_.seed, .only = q_.only};
  }

  template <class T>
  Source run(const Surroundings& around, const AttentionChoice& heads, const LayerWatch<T>& watch, double& seconds) {
    const AddedTime timed(seconds);
    auto model = std::make_shared<ModelRun<T>>(model_, q_.tokens, around, stop_);
    std::vector<T> x = model->embedded();
    if (watch) watch(0, x);
    return run_from(model, 0, std::move(x), heads, watch, seconds);
  }
  /// Runs layers `first` and later; x is the residual stream before layer `first`.
  template <class T>
  Source run_from(const std::shared_ptr<ModelRun<T>>& model, int first, std::vector<T> x, const AttentionChoice& heads,
                  const LayerWatch<T>& watch, double& seconds) {
    for (int l = first; l < model_.architecture.layers; ++l) {
      model->run_layer(l, x, heads);
      stop_.report(cost_);
      if (watch) watch(l + 1, x);
    }
    const double work = cost_ * costs_.layers_of_logits / static_cast<double>(q_.tokens.size());
    return std::make_unique<FinishedRun<T>>(model, model->last_norm(x), stop_, work, seconds);
  }

  /// A run that stores its difference from exact after each layer in the member `growth` of the layer.
  Source around_run(const AttentionChoice& heads, double LayerGrowth::* growth, double& seconds) {
    const auto watch = [&](int done, const auto& x) {
      if (done > 0) answer_.layers[at(done - 1)].*growth = relative_rms(x, exact_hidden_[at(done)]);
    };
    return q_.around.in_double ? run<double>(q_.around, heads, watch, seconds) : run<float>(q_.around, heads, watch, seconds);
  }

  void measure(const std::vector<LogitSource*>& runs) {
    std::vector<RunPair> pairs{{1, 0}, {2, 0}, {2, 1}};
    if (q_.yardsticks) pairs.insert(pairs.end(), {{3, 0}, {4, 3}});
    const auto keep = [&](std::size_t run, const std::vector<double>& x) {
      if (run == 0) check_exact(x, "in its logits");
      if (run < answer_.tokens.size()) add_likeliest(answer_.tokens[run], x);
      if (!q_.keeps_outputs) return;
      if (run == 0) answer_.logits_exact.insert(answer_.logits_exact.end(), x.begin(), x.end());
      if (run == 1) answer_.logits_a.insert(answer_.logits_a.end(), x.begin(), x.end());
      if (run == 2) answer_.logits_b.insert(answer_.logits_b.end(), x.begin(), x.end());
    };
    const LogitComparison all = compared_logits(runs, pairs, q_.tokens, model_.architecture.vocabulary, stop_, keep);
    const std::vector<RunMeasures>& found = all.measures;
    answer_.exact_nll = all.nll[0];
    answer_.a = found[0];
    answer_.b = found[1];
    answer_.a_b = found[2];
    if (q_.yardsticks) {
      answer_.bf16 = found[3];
      answer_.order = found[4];
    }
    for (std::size_t run = 0; run < answer_.tokens.size(); ++run) answer_.tokens[run].logp = all.logp[run];
    exact_logp_ = all.logp[0];
    answer_.dlogp_a = all.logp[1];
    for (std::size_t i = 0; i < exact_logp_.size(); ++i) answer_.dlogp_a[i] -= exact_logp_[i];
  }

  /// Adds the three likeliest tokens of every row of logits.
  void add_likeliest(RunTokens& tokens, const std::vector<double>& logits) const {
    const int vocabulary = model_.architecture.vocabulary;
    for (std::size_t row = 0; row < logits.size(); row += static_cast<std::size_t>(vocabulary)) {
      const double* const x = logits.data() + row;
      std::array<int, 3>& best = tokens.likeliest.emplace_back(std::array{-1, -1, -1});
      for (int token = 0; token < vocabulary; ++token)
        for (int held = token; int& place : best)
          if (place < 0 || x[held] > x[place]) {
            std::swap(held, place);
            if (held < 0) break;
          }
    }
  }

  // --- attribution ---

  void attribute(const AttentionChoice& a) {
    if (q_.attribute == ModelPart::step)
      attribute_steps(a);
    else if (q_.around.in_double)
      attribute_places<double>(a);
    else
      attribute_places<float>(a);
    std::ranges::stable_sort(answer_.attribution, std::ranges::greater{},
                             [](const ModelShare& s) { return std::isnan(s.share) ? -HUGE_VAL : s.share; });
  }

  double share_of(LogitSource& without) {
    const LogitComparison found = compared_logits({&without}, {}, q_.tokens, model_.architecture.vocabulary, stop_);
    const double left = size_of_difference(mean_abs_difference(found.logp[0], exact_logp_));
    const double whole = size_of_difference(answer_.a.dlogp_mean_abs);
    if (std::isinf(left)) return NAN;
    if (std::isinf(whole)) return 1;
    return whole > 0 ? (whole - left) / whole : 0;
  }

  /// Adds a part with its known share, or with the share of `without()`, the run in which the part is exact.
  template <class Without>
  void add_part(ModelShare part, Without without) {
    const std::optional<double> known = memory_.known ? memory_.known(part) : std::nullopt;
    if (known) {
      part.share = *known;
      stop_.report(cost_ * (model_.architecture.layers - std::max(part.layer, 0) + costs_.layers_of_logits));
    } else {
      part.share = share_of(*without());
      if (memory_.found) memory_.found(part);
    }
    answer_.attribution.push_back(std::move(part));
  }

  /// Attributes to layers or heads: each run begins at the layer of its part, from a's residual stream before it.
  template <class T>
  void attribute_places(const AttentionChoice& a) {
    auto model = std::make_shared<ModelRun<T>>(model_, q_.tokens, q_.around, stop_);
    std::vector<T> x = model->embedded();
    for (int l = 0; l < model_.architecture.layers; ++l) {
      const LayerHeads<T> heads = model->heads(l, x);
      const std::vector<T> rounded = model->attended(l, heads, a), golden = model->attended(l, heads, {});
      for (const ModelShare& part : parts_of(q_)) {
        if (part.layer != l) continue;
        add_part(part, [&] {
          std::vector<T> y = x;
          model->finish(l, part.head < 0 ? golden : with_head(model_.architecture, rounded, golden, part.head), y);
          stop_.report(cost_);
          return run_from(model, l + 1, std::move(y), a, {}, other_seconds_);
        });
      }
      model->finish(l, rounded, x);
    }
  }

  void attribute_steps(const AttentionChoice& a) {
    const auto add = [&](std::string name, const Surroundings& around, const AttentionChoice& heads) {
      add_part({-1, -1, std::move(name), 0}, [&] {
        return around.in_double ? run<double>(around, heads, {}, other_seconds_)
                                : run<float>(around, heads, {}, other_seconds_);
      });
    };
    for (const Step s : rounding_steps(q_.a)) {
      Method m = q_.a;
      m.precision[s] = exact;
      AttentionChoice heads = a;
      heads.method = &m;
      add(std::string(name(s)), q_.around, heads);
    }
    for (const AroundStepInfo& s : around_steps) {
      Surroundings around = q_.around;
      if (std::exchange(around[s.step], exact) != exact) add("around." + std::string(s.name), around, a);
    }
  }

  const ModelQuestion& q_;
  const LanguageModel& model_;
  const StopToken& stop_;
  const LayerCosts& costs_;
  double cost_ = 0;  ///< of a layer of the next run
  const ShareMemory& memory_;
  ModelAnswer answer_;
  std::vector<std::vector<double>> exact_hidden_;
  std::vector<double> exact_logp_;
  double other_seconds_ = 0;  ///< of yardsticks and parts
};

/// Number of layers that an attribution runs under a.
double layers_of_attribution(const ModelQuestion& q) {
  const double layers = q.model->architecture.layers;
  const double of_place = q.only.layer >= 0 ? layers - q.only.layer : (layers + 1) / 2;  // from the layer on, or on average
  return part_count(q) * (q.attribute == ModelPart::step ? layers : of_place);
}

double total_seconds(const ModelQuestion& q, const LayerCosts& c) {
  const double of_run = q.model->architecture.layers + c.layers_of_logits;
  return of_run * (c.exact + 2 * c.around + (q.yardsticks ? 2 * c.bf16 : 0)) +
         (layers_of_attribution(q) + part_count(q) * c.layers_of_logits) * c.around;
}

/// Seconds of layer 0 over all tokens, extrapolated from the first tokens.
template <class T>
double seconds_of_layer(const ModelQuestion& q, const Surroundings& around, const AttentionChoice& heads,
                        const StopSign& stop) {
  constexpr std::size_t timed_tokens = 64;
  const std::span<const int> some(q.tokens.data(), std::min(timed_tokens, q.tokens.size()));
  ModelRun<T> run(*q.model, some, around, stop);
  std::vector<T> x = run.embedded();
  run.run_layer(0, x, heads);  // warms up: memory is touched, pages are mapped
  double seconds = 0;
  {
    const AddedTime timed(seconds);
    run.run_layer(0, x, heads);
  }
  return seconds * static_cast<double>(q.tokens.size()) / static_cast<double>(some.size());
}

LayerCosts costs_of(const ModelQuestion& q, int vocabulary, const StopSign& stop) {
  const AttentionChoice a{.method = &q.a, .format = q.format, .seed = q.seed};
  const Method eager = policy("base_eager").method();
  LayerCosts c;
  c.exact = seconds_of_layer<double>(q, {}, {}, stop);
  c.around =
      q.around.in_double ? seconds_of_layer<double>(q, q.around, a, stop) : seconds_of_layer<float>(q, q.around, a, stop);
  c.bf16 = seconds_of_layer<float>(q, all_bf16(1), {.method = &eager, .format = attoscope::bf16}, stop);
  double weights = 0;
  for (const WeightMatrix& w : q.model->layers.front()) weights += static_cast<double>(w.values.size());
  c.layers_of_logits = static_cast<double>(vocabulary) * q.model->architecture.width / weights;
  return c;
}

/// A layer of these shapes, and a vocabulary of one token. Its weights have 11 significant bits, like weights in files: an
/// emulated fma of numbers with few bits takes longer.
LanguageModel one_layer(Architecture a) {
  auto matrix = [seed = 1U](int rows, int cols) mutable {
    WeightMatrix w{rows, cols, std::vector<float>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols))};
    for (float& x : w.values) x = static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 21U) * 0x1p-15F - 0x1p-5F;
    return w;
  };
  a.layers = 1;
  a.vocabulary = 1;
  LanguageModel model{.architecture = a,
                      .embedding = matrix(1, a.width),
                      .layers = std::vector<LayerWeights>(1),
                      .norm = matrix(1, a.width),
                      .head{}};
  for (std::size_t t = 0; t < layer_tensor_count; ++t)
    if (const auto tensor = static_cast<LayerTensor>(t); !is_optional(tensor)) {
      const auto [rows, cols] = shape_of(a, tensor);
      model.layers[0][t] = matrix(rows, cols);
    }
  return model;
}

}  // namespace

void validate(const ModelQuestion& q) {
  const Architecture& a = q.model->architecture;
  const int n = static_cast<int>(q.tokens.size());
  if (n < 2) throw std::invalid_argument((n == 1 ? "there is " : "there are ") + counted(n, "token") + ", expected 2 or more");
  for (const int t : q.tokens)
    if (t < 0 || t >= a.vocabulary)
      throw std::invalid_argument("token " + std::to_string(t) + " is not one of the vocabulary's " +
                                  std::to_string(a.vocabulary) + ", expected 0 to " + std::to_string(a.vocabulary - 1));
  for (const Method* const m : {&q.a, &q.b}) {
    if (!is_emulated(m->algorithm))
      throw std::invalid_argument("the algorithm is " + std::string(name(m->algorithm)) +
                                  ", expected one that is emulated, for the heads of a model");
    validate(head_experiment(a, n, *m, q.format, q.seed));
  }
  if (q.only.layer >= a.layers || q.only.head >= a.heads)
    throw std::invalid_argument("--only names layer " + std::to_string(q.only.layer) +
                                (q.only.head < 0 ? "" : ", head " + std::to_string(q.only.head)) + ", expected layers 0 to " +
                                std::to_string(a.layers - 1) + " and heads 0 to " + std::to_string(a.heads - 1));
  const double needed = model_bytes(q), there = available_bytes();
  if (needed > there)
    throw std::runtime_error("this needs " + shortest(std::ceil(needed)) +
                             " bytes of memory beside the weights, expected at most the " + shortest(there) + " that are free");
}

double model_bytes(const ModelQuestion& q) {
  const Architecture& a = q.model->architecture;
  const double n = static_cast<double>(q.tokens.size()), width = a.width, vocabulary = a.vocabulary;
  const double states = n * width * (a.layers + 1), wide = n * (2.0 * a.inner + 3.0 * a.heads * a.head_dim + 8 * width);
  const double logits = 5 * logit_block * vocabulary * 3;
  return 8 * (states * (q.keeps_outputs ? 2 : 1) + wide + logits) + (q.keeps_outputs ? 16 * n * vocabulary : 0);
}

std::vector<ModelShare> parts_of(const ModelQuestion& q) {
  std::vector<ModelShare> parts;
  if (q.attribute == ModelPart::step) {
    for (const Step s : rounding_steps(q.a)) parts.push_back({-1, -1, std::string(name(s)), 0});
    for (const AroundStepInfo& s : around_steps)
      if (q.around[s.step] != exact) parts.push_back({-1, -1, "around." + std::string(s.name), 0});
  }
  const Architecture& a = q.model->architecture;
  for (int l = 0; l < a.layers; ++l) {
    if (q.only.layer >= 0 && q.only.layer != l) continue;
    if (q.attribute == ModelPart::layer) parts.push_back({l, -1, "", 0});
    for (int h = 0; q.attribute == ModelPart::head && h < a.heads; ++h)
      if (q.only.layer < 0 || q.only.holds(l, h)) parts.push_back({l, h, "", 0});
  }
  return parts;
}

int part_count(const ModelQuestion& q) { return static_cast<int>(parts_of(q).size()); }

ModelAnswer answer_model(const ModelQuestion& question, const Options& options, const ShareMemory& memory) {
  validate(question);
  return on_threads(options.threads, [&] {
    StopToken stop(options);
    const LayerCosts costs = costs_of(question, question.model->architecture.vocabulary, stop);
    stop.expect(total_seconds(question, costs));
    return ModelWork(question, stop, costs, memory).answer();
  });
}

std::array<double, 4> expected_seconds(ModelQuestion q, const Options& options) {
  validate(q);
  const LanguageModel& model = *q.model;
  const LanguageModel shape = model.layers.empty() ? one_layer(model.architecture) : LanguageModel{};
  ModelQuestion timed = q;
  if (model.layers.empty()) {
    timed.model = &shape;
    timed.tokens.assign(q.tokens.size(), 0);
  }
  const LayerCosts costs = on_threads(options.threads, [&] {
    const StopToken stop(options);
    return costs_of(timed, model.architecture.vocabulary, stop);
  });
  std::array<double, 4> seconds{};
  for (std::size_t part = 0; part < seconds.size(); ++part) {
    q.attribute = static_cast<ModelPart>(part);
    seconds[part] = total_seconds(q, costs);
  }
  return seconds;
}

}  // namespace attoscope
