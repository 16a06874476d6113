#include "kernels/questions/gradient_attribution.h"

#include <stdexcept>
#include <string>

#include "kernels/backward/backward.h"
#include "kernels/deviation/deviation.h"
#include "kernels/parallel/parallel.h"
#include "kernels/questions/row_tiles.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

constexpr std::array<GradStored, 4> grad_stored{GradStored::dO, GradStored::P, GradStored::dS, GradStored::dS_of_dK};
constexpr std::array<GradProduct, 4> grad_products{GradProduct::dP, GradProduct::dV, GradProduct::dK, GradProduct::dQ};

/// A forward pass and its backward pass.
struct BothPasses {
  Method forward;
  bool exact_forward = false;
  GradMethod backward;
};

/// The sources of a: the forward pass if it rounds anything, then the backward pass's sources.
std::vector<GradSource> gradient_sources(const Experiment& e) {
  const GradMethod& g = e.backward.a;
  std::vector<GradSource> sources;
  if (without_rounding(e.a) != e.a) sources.push_back({.forward = true});
  for (const GradStepInfo& s : grad_step_infos)
    if (g.precision[s.step] != exact) sources.push_back({.step = s.step});
  for (const GradProduct p : grad_products)
    if (g.accumulator[p] != Accumulator::fma) sources.push_back({.sums = p});
  for (const GradStored s : grad_stored)
    if (g.scaling[s].is_on()) sources.push_back({.stored = s});
  return sources;
}

/// `to` with this source taken from `from`.
BothPasses with_source(BothPasses to, const BothPasses& from, const GradSource& source) {
  if (source.forward) {
    to.forward = from.forward;
    to.exact_forward = from.exact_forward;
  } else if (source.sums) {
    to.backward.accumulator[*source.sums] = from.backward.accumulator[*source.sums];
  } else if (source.stored) {
    to.backward.scaling[*source.stored] = from.backward.scaling[*source.stored];
  } else {
    to.backward.precision[source.step] = from.backward.precision[source.step];
  }
  return to;
}

StepError error_of(const Matrix& x, const Measured& golden, const Format& main, const StopSign& stop) {
  const Deviation d = unordered_deviation(unsorted(x, stop), golden, main, stop);
  return {d.mean_abs, d.rms, d.nonfinite};
}

/// Runs variants of method a on the same inputs. T is the working type of the experiment.
template <class T>
class GradientVariants {
 public:
  GradientVariants(const Experiment& e, const StopSign& stop) : e_(e), stop_(stop) {}

  GradErrors errors(const BothPasses& m) {
    const Gradients g = gradients<T>(e_.problem, m.forward, m.backward, e_.format, x_, incoming_, stop_, forward_of(m));
    return {error_of(g.dq, measured_[0], e_.format, stop_), error_of(g.dk, measured_[1], e_.format, stop_),
            error_of(g.dv, measured_[2], e_.format, stop_)};
  }

 private:
  struct Forward {
    Matrix output;
    RowStates<T> states;
  };
  /// The forward pass of m: the rounded or the exact one, each run once.
  ForwardAnswer<T> forward_of(const BothPasses& m) {
    std::optional<Forward>& known = forwards_[m.exact_forward ? 1 : 0];
    if (!known) {
      const MethodOperands<T> own(e_.problem, m.forward, e_.format, x_, stop_);
      known.emplace();
      known->output =
          run(job(e_.problem, m.forward, e_.format, own.get()), numbers(e_.problem.n), nullptr, stop_, &known->states);
    }
    return {&known->output, &known->states};
  }

  const Experiment& e_;
  const StopSign& stop_;
  const Operands<T> x_ = common_operands<T>(e_, stop_);
  const OutputGradients incoming_ = output_gradients(e_, stop_);
  const Gradients golden_ =
      golden_gradients(e_.problem, *as_tensors(x_, shape_of(e_.problem), stop_), incoming_, std::is_same_v<T, double>, stop_);
  const std::array<Measured, 3> measured_{unsorted(golden_.dq, stop_), unsorted(golden_.dk, stop_),
                                          unsorted(golden_.dv, stop_)};
  std::array<std::optional<Forward>, 2> forwards_;
};

template <class T>
void attribute_in(GradAttribution& all, const StopSign& stop) {
  const Experiment& e = all.experiment;
  const BothPasses a{e.a, false, e.backward.a};
  BothPasses bare{without_rounding(e.a), true, e.backward.a};  // a with every source exact
  bare.backward.precision.steps = {};
  bare.backward.accumulator = {};
  bare.backward.scaling = {};
  GradientVariants<T> runs(e, stop);
  all.total = runs.errors(a);
  all.floor = runs.errors(bare);
  for (const GradSource& source : gradient_sources(e)) {
    GradShare share{.source = source,
                    .without = runs.errors(with_source(a, bare, source)),
                    .alone = runs.errors(with_source(bare, a, source))};
    for (std::size_t t = 0; t < share.relief.size(); ++t) share.relief[t] = all.total[t].mean_abs - share.without[t].mean_abs;
    all.shares.push_back(share);
  }
}

}  // namespace

std::string_view name(const GradSource& source) {
  constexpr std::array<std::string_view, 4> sums{"dP sums", "dV sums", "dK sums", "dQ sums"},
      stored{"dO stored", "P stored", "dS stored", "dS stored for dK"};
  if (source.forward) return "forward pass";
  if (source.sums) return sums[static_cast<std::size_t>(*source.sums)];
  if (source.stored) return stored[static_cast<std::size_t>(*source.stored)];
  return name(source.step);
}

std::string_view what(const GradSource& source) {
  if (source.forward)
    return "all roundings of the forward pass: of O, the log-sum-exp, and S as the backward pass recomputes it; exact: none";
  if (source.sums) return "the product as tensor cores add it; exact: a chain of fma in the working type";
  if (source.stored == GradStored::dS_of_dK)
    return "elements and scales of dS in the product of dK; exact: dK uses the dS of dQ";
  if (source.stored) return "elements and scales of the tensor; exact: as given";
  return info(source.step).what;
}

GradAttribution attribute_gradients(const Experiment& experiment, const Options& options) {
  if (!experiment.backward.on) throw std::invalid_argument("backward.on is false, expected an experiment with a backward pass");
  refuse(experiment, options.threads);
  if (!is_emulated(experiment.a.algorithm))
    throw std::invalid_argument("attribution: method a is `" + std::string(name(experiment.a.algorithm)) +
                                "`, expected an emulated algorithm");
  GradAttribution all{.experiment = experiment, .total = {}, .floor = {}, .shares = {}};
  const StopToken stop(options);
  on_threads(options.threads,
             [&] { works_in_double(experiment) ? attribute_in<double>(all, stop) : attribute_in<float>(all, stop); });
  return all;
}

Table gradient_attribution_table(const GradAttribution& all) {
  std::vector<TableColumn<GradShare>> columns{
      table_column<GradShare>({.key = "source"}, [](const GradShare& s) { return name(s.source); })};
  constexpr std::array<std::string_view, 3> tensors{"dQ", "dK", "dV"}, keys{"dq", "dk", "dv"};
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::string tensor(tensors[t]), key(keys[t]);
    columns.push_back(table_column<GradShare>({.key = key + "_mean_without",
                                               .title = tensor + " if exact",
                                               .digits = 3,
                                               .meaning = "The mean error of " + tensor + " if the source alone were exact."},
                                              [t](const GradShare& s) { return s.without[t].mean_abs; }));
    columns.push_back(table_column<GradShare>({.key = key + "_mean_alone",
                                               .title = tensor + " alone",
                                               .digits = 3,
                                               .meaning = "The mean error of " + tensor + " if no other source rounded.",
                                               .minor = true},
                                              [t](const GradShare& s) { return s.alone[t].mean_abs; }));
    columns.push_back(table_column<GradShare>({.key = key + "_mean_now", .shown = ColumnFor::files},
                                              [now = all.total[t].mean_abs](const GradShare&) { return now; }));
  }
  return table_of(columns, std::span<const GradShare>(all.shares));
}

}  // namespace attoscope
