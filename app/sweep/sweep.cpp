#include "app/sweep/sweep.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <stdexcept>
#include <utility>

#include "app/session/experiment_options.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

/// The entry of this name; null if there is none.
template <class T, std::size_t count>
const T* named_in(const std::array<T, count>& entries, std::string_view name) {
  const auto* const found = std::ranges::find(entries, name, &T::name);
  return found == entries.end() ? nullptr : found;
}

/// Parts of "a.mean_abs/golden" and "a.dq.mean_abs"; field is null if the name is not one of a deviation.
struct Parts {
  std::string_view who;
  const DeviationMeasure* field = nullptr;
  bool over_golden = false;
  const SweptGradient* tensor = nullptr;  ///< null: measure of the output
};
Parts parts_of(std::string_view name) {
  Parts p;
  constexpr std::string_view golden = "/golden";
  p.over_golden = name.ends_with(golden);
  if (p.over_golden) name.remove_suffix(golden.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return p;
  p.who = name.substr(0, dot);
  name.remove_prefix(dot + 1);
  p.tensor = named_in(gradient_tensors, name.substr(0, name.find('.')));
  if (p.tensor != nullptr) name.remove_prefix(std::min(name.size(), p.tensor->name.size() + 1));
  const DeviationMeasure* const found = deviation_measure(name);
  const bool known = p.who == "a" || p.who == "b" || p.who == "a_minus_b" || p.who == "ratio";
  const bool divisible = !p.over_golden || (found != nullptr && is_divisible(*found) && p.who != "ratio");
  if (found != nullptr && known && divisible) p.field = found;
  return p;
}

const NamedMeasure<BackwardSummary>* backward_measure(std::string_view name) { return named_in(backward_measures, name); }
const NamedMeasure<PointSummary>* plain_measure(std::string_view name) { return named_in(plain_measures, name); }

/// "mean |error|" -> "mean |difference| of the two outputs"
std::string difference_title(std::string title, std::string_view of) {
  constexpr std::string_view error = "error";
  if (const auto at = title.find(error); at != std::string::npos) title.replace(at, error.size(), "difference");
  return title + " of the two " + std::string(of);
}

GradientNumbers numbers_of(const GradientDeviations& d) {
  return {attoscope::numbers_of(d.dq), attoscope::numbers_of(d.dk), attoscope::numbers_of(d.dv)};
}

/// Root mean square of the finite elements.
double rms_of(const Matrix& m) {
  double squares = 0, count = 0;
  for (const double x : m.values)
    if (std::isfinite(x)) {
      squares += x * x;
      ++count;
    }
  return std::sqrt(squares / count);
}

BackwardSummary summary(const BackwardResult& b) {
  return {.a = numbers_of(b.a_error),
          .b = numbers_of(b.b_error),
          .a_minus_b = numbers_of(b.a_minus_b),
          .golden_dq_rms = rms_of(b.golden->dq),
          .golden_dk_rms = rms_of(b.golden->dk),
          .golden_dv_rms = rms_of(b.golden->dv),
          .a_delta_max = b.a_delta.max_abs,
          .a_delta_rms = b.a_delta.rms,
          .a_delta_bias = b.a_delta.bias,
          .b_delta_max = b.b_delta.max_abs,
          .b_delta_rms = b.b_delta.rms,
          .b_delta_bias = b.b_delta.bias,
          .golden_dsink = b.golden->dsink,
          .a_dsink = b.a.dsink,
          .b_dsink = b.b.dsink,
          .a_lost_ds = b.a.lost_ds,
          .b_lost_ds = b.b.lost_ds,
          .golden_digest = b.golden_digest,
          .a_digest = b.a_digest,
          .b_digest = b.b_digest};
}

bool varies(const Sweep& s, std::string_view key) { return std::ranges::find(s.axes, key, &Axis::key) != s.axes.end(); }

/// Throws if an axis would undo the repetitions, or if a varied head, or seeds, would leave parts of the experiment behind.
void check_repetitions(const Sweep& s) {
  for (const std::string_view key : {"head", "input"})
    if (varies(s, key) && s.over.kind != ui::SweepOver::seed)
      throw std::invalid_argument("vary " + std::string(key) + " would undo --over " + text(s.over) +
                                  ", which chooses the heads, expected another parameter beside it");
  if (varies(s, "head")) check_gradients("vary head", s.base);
  const bool draws = s.base.problem.input.kind != InputKind::tensors && (s.seeds > 1 || varies(s, "seed"));
  if (draws && has_loaded(s.base))
    throw std::invalid_argument(
        "a sweep over seeds draws other Q, K and V than those of the loaded output, expected one seed, or --input FILE");
}

/// Sets these values of the axes, parameters of lower rank first, with the tiles that follow them and the settings that they
/// replace; calls varied(axis, problem before) after each axis.
template <class F>
void set_values(Experiment& e, const Sweep& s, const std::array<int, 2>& at, F varied) {
  const bool second_first = s.axes.size() == 2 && axis_key(s.axes[1].key).rank < axis_key(s.axes[0].key).rank;
  for (std::size_t k = 0; k < s.axes.size(); ++k) {
    const std::size_t i = second_first ? 1 - k : k;
    const Problem before = e.problem;
    vary(e, s.axes[i].key, s.axes[i].values[static_cast<std::size_t>(at[i])]);
    if (!s.like.empty() && (s.axes[i].key == "d" || s.axes[i].key == "mask"))
      e = with_tiles_of(std::move(e), kernel_preset(s.like));
    for (const std::string& setting : s.set)
      if (replaces(s.axes[i].key, setting)) apply_setting(e, setting);
    varied(s.axes[i], before);
  }
}

}  // namespace

PointSummary summary(const Result& r) {
  PointSummary s{.a = numbers_of(r.a_error),
                 .b = numbers_of(r.b_error),
                 .a_minus_b = numbers_of(r.a_minus_b),
                 .golden_rms = r.golden_rms,
                 .rescales = r.rescales.effective_mean,
                 .expected_rescales = r.rescales.expected,
                 .nominal_rescales = r.rescales.nominal,
                 .algorithm0 = r.traffic.algorithm0,
                 .flash1 = r.traffic.flash1,
                 .flash2 = r.traffic.flash2,
                 .a_storage = r.a_parts ? r.a_parts->storage.rms : 0,
                 .a_arithmetic = r.a_parts ? r.a_parts->arithmetic.rms : r.a_error.rms,
                 .b_storage = r.b_parts ? r.b_parts->storage.rms : 0,
                 .b_arithmetic = r.b_parts ? r.b_parts->arithmetic.rms : r.b_error.rms,
                 .golden_digest = r.digests.golden,
                 .a_digest = r.digests.a,
                 .b_digest = r.digests.b};
  if (r.backward) s.backward = summary(*r.backward);
  return s;
}

PointSummary empty_summary(bool backward) {
  PointSummary s;
  if (backward) s.backward.emplace();
  return s;
}

Measure parse_measure(std::string_view text) {
  if (parts_of(text).field != nullptr || plain_measure(text) != nullptr || backward_measure(text) != nullptr)
    return {std::string(text)};
  std::string fields, others;
  for (const DeviationMeasure& m : deviation_measures) fields += (fields.empty() ? "" : ", ") + std::string(m.key);
  for (const auto& m : plain_measures) others += ", " + std::string(m.name);
  for (const auto& m : backward_measures) others += ", " + std::string(m.name);
  throw std::invalid_argument("measure is " + in_quotes(text) +
                              ", expected a., b., a_minus_b. or ratio., of gradients then dq., " + "dk. or dv., and one of " +
                              fields + ", perhaps with /golden" + others);
}

double value_of(const Measure& measure, const PointSummary& s) {
  if (const auto* const plain = plain_measure(measure.name)) return s.*plain->value;
  const Parts p = parts_of(measure.name);
  if (is_of_backward(measure) && !s.backward) return std::nan("");
  if (const auto* const plain = backward_measure(measure.name)) return (*s.backward).*plain->value;
  if (p.field == nullptr) throw std::invalid_argument("measure " + in_quotes(measure.name) + " is unknown");
  const auto of = [&](DeviationNumbers PointSummary::* output, GradientNumbers BackwardSummary::* gradients) {
    return (p.tensor == nullptr ? s.*output : (*s.backward).*gradients.*p.tensor->numbers).*p.field->value;
  };
  const double a = of(&PointSummary::a, &BackwardSummary::a), b = of(&PointSummary::b, &BackwardSummary::b);
  if (p.who == "ratio") return a / b;
  const double value = p.who == "a" ? a : p.who == "b" ? b : of(&PointSummary::a_minus_b, &BackwardSummary::a_minus_b);
  if (!p.over_golden) return value;
  return value / (p.tensor == nullptr ? s.golden_rms : (*s.backward).*p.tensor->golden_rms);
}

bool is_of_backward(const Measure& measure) {
  const Parts p = parts_of(measure.name);
  return backward_measure(measure.name) != nullptr || (p.field != nullptr && p.tensor != nullptr);
}

bool has_backward(const Sweep& s) {
  return s.base.backward.on || std::ranges::any_of(s.axes, [](const Axis& a) { return attoscope::is_of_backward(a.key); });
}

std::string title_of(const Measure& measure) {
  if (const auto* const plain = plain_measure(measure.name)) return std::string(plain->title);
  if (const auto* const plain = backward_measure(measure.name)) return std::string(plain->title);
  const Parts p = parts_of(measure.name);
  if (p.field == nullptr) return measure.name;
  const std::string tensor(p.tensor == nullptr ? "" : p.tensor->title);
  const std::string title = (tensor.empty() ? "" : tensor + ": ") + std::string(p.field->title);
  if (p.who == "ratio") return title + ", a / b";
  return (p.who == "a_minus_b" ? difference_title(title, tensor.empty() ? "outputs" : "gradients")
                               : title + ", " + std::string(p.who)) +
         (p.over_golden ? " / RMS of golden" + (tensor.empty() ? "" : " " + tensor) : "");
}

bool replaces(std::string_view axis, std::string_view setting) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> keys) {
    return std::ranges::find(keys, axis) != keys.end();
  };
  const std::string_view path = setting.substr(0, setting.find('=')), side = path.substr(0, 2),
                         field = path.substr(side.size());
  const bool of_gradient = attoscope::is_of_backward(path);
  if (is_one_of({"format", "mantissa_bits", "exponent_bits"})) return field == "tau";
  if (is_one_of({"d", "mask"})) return of_gradient;
  const bool of_whole = field == "gradient" || field == "grad.policy";
  if (is_one_of({"gradient", "a.grad.policy"})) return of_gradient && side == "a." && !of_whole;
  if (is_one_of({"baseline_gradient", "b.grad.policy"})) return of_gradient && side == "b." && !of_whole;
  const bool of_a = is_one_of({"policy", "a.policy", "algorithm", "a.algorithm"}),
             of_b = is_one_of({"baseline", "b.policy", "b.algorithm"});
  Method method;
  const bool of_policy = of_gradient || find(settings(method), "precision." + std::string(field)) != nullptr;
  return of_policy && ((of_a && side == "a.") || (of_b && side == "b."));
}

std::string why_no_seeds(const Sweep& s) {
  const auto depends = [&](const std::array<int, 2>& at) { return depends_on_seed(with_values(s, at)); };
  if (s.axes.empty() ? depends_on_seed(s.base) : std::ranges::any_of(single_values(s), depends)) return "";
  return "Q, K and V come from a file and nothing is drawn: seeds change nothing, heads, layers and windows of tokens do.";
}

std::size_t point_count(const Sweep& s) {
  if (s.axes.empty() || s.axes.size() > 2)
    throw std::invalid_argument("a sweep varies " + std::to_string(s.axes.size()) + " parameters, expected one or two");
  if (s.axes.size() == 2 && s.axes[0].key == s.axes[1].key)
    throw std::invalid_argument("a sweep varies " + printable(s.axes[0].key) + " twice, expected two different parameters");
  if (s.seeds < 1 || s.seeds > max_seeds)
    throw std::invalid_argument("a sweep has " + count_text(s.over, s.seeds) + ", expected 1 to " + std::to_string(max_seeds));
  std::size_t count = static_cast<std::size_t>(s.seeds);
  for (const Axis& axis : s.axes) {
    if (axis.values.empty()) throw std::invalid_argument("vary " + printable(axis.key) + " has no value");
    count *= axis.values.size();
  }
  check_repetitions(s);
  if (count > max_points)
    throw std::invalid_argument("a sweep has " + std::to_string(count) + " points, expected at most " +
                                std::to_string(max_points));
  return count;
}

PointPlace place_of(const Sweep& s, std::size_t index) {
  PointPlace p;
  const auto take = [&](std::size_t count) {
    const auto i = static_cast<int>(index % count);
    index /= count;
    return i;
  };
  // innermost: axes that keep the golden value, then seeds, then axes that change it
  const auto take_axes = [&](bool moves_golden) {
    for (std::size_t i = s.axes.size(); i-- > 0;)
      if (axis_key(s.axes[i].key).moves_golden == moves_golden) p.at[i] = take(s.axes[i].values.size());
  };
  take_axes(false);
  p.seed = take(static_cast<std::size_t>(s.seeds));
  take_axes(true);
  return p;
}

std::size_t combination(const Sweep& s, const PointPlace& p) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < s.axes.size(); ++i) index = index * s.axes[i].values.size() + static_cast<std::size_t>(p.at[i]);
  return index;
}

bool has_whole_heads(const Sweep& s) {
  const Tensors* const read = s.base.problem.input.tensors.get();
  return read != nullptr && read->shape() == shape_of(s.base.problem) && !varies(s, "n") && !varies(s, "n_k");
}

Experiment with_values(const Sweep& s, const std::array<int, 2>& at) {
  Experiment e = s.base;
  set_values(e, s, at, [](const Axis&, const Problem&) {});
  return e;
}

std::vector<std::array<int, 2>> single_values(const Sweep& s, std::size_t most) {
  std::vector<std::array<int, 2>> all;
  for (std::size_t i = 0; i < s.axes.size(); ++i)
    for (std::size_t value = 0; value < std::min(s.axes[i].values.size(), most); ++value)
      all.emplace_back()[i] = static_cast<int>(value);
  return all;
}

Experiment experiment_of(const Sweep& s, std::size_t index) {
  const PointPlace p = place_of(s, index);
  Experiment e = s.base;
  const bool of_seeds = s.over.kind == ui::SweepOver::seed;
  if (!of_seeds) repeat(e, s.over, p.seed);
  set_values(e, s, p.at, [&](const Axis& axis, const Problem& before) {
    if (axis.key == "head") follow_head(e, before, has_whole_heads(s));
  });
  if (of_seeds) e.problem.seed += static_cast<std::uint64_t>(p.seed);
  load_tensors(e.problem.input);
  if (has_loaded(e)) load_kernel_output(e.loaded, e.problem);
  validate(e);
  return e;
}

}  // namespace attoscope::app
