#include "app/session/experiment_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/judge/judgement.h"
#include "app/session/probes.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/tensors/call_files.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {

double scale(const std::string& text) {
  if (text == "auto") return 0;
  const auto value = to_number<double>(text);
  if (value && std::isfinite(*value) && *value > 0) return *value;
  refuse("--scale", text, "a finite number above 0, or auto for 1/sqrt(d)");
}

/// Sets a part of a tensor's storage, "K.granularity"; false if the key is not one.
bool set_part_of_storage(Scalings& all, const std::string& label, const std::string& key, const std::string& value) {
  const std::string_view path = key.starts_with("scaling.") ? std::string_view(key).substr(8) : std::string_view(key);
  const auto tensor = std::ranges::find(scaled_tensor_names, path.substr(0, path.find('.')));
  if (tensor == scaled_tensor_names.end() || path.find('.') == std::string_view::npos) return false;
  Scaling& s = all[static_cast<ScaledTensor>(tensor - scaled_tensor_names.begin())];
  s = of_option(label.c_str(), [&] { return with_part(s, path.substr(2), value); });
  return true;
}

/// Sets order, seed and buffers of dQ from "ascending", "shuffled:7" or "buffers:4".
void set_order(GradMethod& g, const std::string& label, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string order = text.substr(0, colon);
  const auto set = [&](const std::string& key, const std::string& value) { set_field(label, settings(g), key, value); };
  const bool takes_number = order == "shuffled" || order == "buffers";
  if (std::ranges::find(grad_order_names, order) == grad_order_names.end() || (colon != std::string::npos && !takes_number))
    refuse(label, text, "ascending, descending, shuffled[:SEED] or buffers:K");
  set("order", order);
  if (colon != std::string::npos) set(order == "shuffled" ? "order_seed" : "buffers", text.substr(colon + 1));
}

/// Sets a field of a method. "order=interleaved:4" and "accumulator=h100" set two, "K.granularity=token" a part of one.
void set_of_method(Method& method, const std::string& label, const std::string& key, const std::string& value) {
  const auto set = [&](const std::string& k, const std::string& v) { set_field(label, settings(method), k, v); };
  if (set_part_of_storage(method.scaling, label, key, value)) return;
  if (key == "accumulator") {
    set("accumulator.qk", value);
    return set("accumulator.pv", value);
  }
  const std::size_t colon = value.find(':');
  if (key != "order" || colon == std::string::npos) return set(key, value);
  if (value.substr(0, colon) != "interleaved") refuse(label, value, "sequential, pairwise or interleaved[:LANES]");
  set("order", "interleaved");
  set("sum_lanes", value.substr(colon + 1));
}

/// Options that do more than set one field.
constexpr std::array<std::string_view, 11> special{"format", "algorithm", "policy", "block_q", "block_k",   "baseline",
                                                   "input",  "scale",     "mask",   "rows",    "traced_row"};
/// Options of the backward pass; each turns it on.
constexpr std::array<std::string_view, 6> of_backward{"backward",      "do", "dlse", "gradient", "baseline_gradient",
                                                      "gradient_order"};

/// Sets the other typed settings of the problem, or of method a: set(option, key, value).
template <class Set>
void set_plain(const ExperimentOptions& x, bool of_a, Set set) {
  for (const Parameter& p : experiment_parameters()) {
    const std::string* const typed = x.find(p.key);
    if (typed == nullptr || is_of_a_method(p) != of_a || std::ranges::find(special, p.key) != special.end() ||
        std::ranges::find(of_backward, p.key) != of_backward.end())
      continue;
    set(std::string(p.option), p.key, *typed);
  }
}

/// Sets algorithm and policy of a; a policy does not change an algorithm that is given too.
void set_kind_of_a(Method& a, const ExperimentOptions& x, bool fresh) {
  const std::string *const algorithm = x.find("algorithm"), *const text = x.find("policy");
  const Policy* const named = text != nullptr ? of_option("--policy", [&] { return &policy(*text); }) : nullptr;
  if (algorithm != nullptr) {
    Method asked = a;
    set_of_method(asked, "--algorithm", "algorithm", *algorithm);
    const bool usual = fresh && !same_family(a.algorithm, asked.algorithm);
    a = with_algorithm(a, asked.algorithm);
    if (usual) a.precision = usual_policy(a.algorithm).precision;
    if (named != nullptr) a.precision = named->precision;
  } else if (named != nullptr) {
    a = with_policy(a, *named);
  }
}

/// The first typed option on scales or packed parts of the input; "" if none.
std::string first_part(const ExperimentOptions& x) {
  for (std::size_t i = 0; i < packed_part_names.size(); ++i)
    if (const auto part = static_cast<PackedPart>(i); !x.packed[part].empty()) return option_of(part);
  const auto* const scale = std::ranges::find_if(x.scales, [](const Typed& typed) { return typed.has_value(); });
  return scale == x.scales.end() ? "" : scale_options[static_cast<std::size_t>(scale - x.scales.begin())];
}

/// The input with the scales and the packed parts of the options, which replace the ones in its text.
Input with_scales(Input input, const ExperimentOptions& x) {
  if (input.kind != InputKind::tensors) {
    if (const std::string option = first_part(x); !option.empty())
      throw std::invalid_argument(option + " was not expected: the input is " + in_quotes(input_spec(input)) +
                                  ", not files of tensors");
    return input;
  }
  const TensorSpec spec = input.file;
  ScaleSpecs scales = spec.scales();
  for (std::size_t part = 0; part < x.scales.size(); ++part)
    if (x.scales[part]) scales[part] = scale_of_option(part, *x.scales[part]);
  input.file = TensorSpec(spec.files(), spec.layout(), scales, x.packed.over(spec.packed())).text();
  return input;
}

/// The input, with the layout and the scales of the options.
Input input_of(const std::string& typed, const ExperimentOptions& x) {
  const Input input = with_scales(of_option("--input", [&] { return parse_input(typed); }), x);
  if (!x.layout) return input;
  const auto layout = parse_layout(*x.layout);
  if (!layout) refuse("--layout", *x.layout, std::string(layout_specs));
  return with_layout(input, *layout);
}

/// Throws if an option describes the input, which is not named.
void check_has_input(const ExperimentOptions& x) {
  if (const std::string option = x.layout ? "--layout" : first_part(x); !option.empty() && x.find("input") == nullptr)
    throw std::invalid_argument(option + " was not expected without --input");
}

/// Specification of the output, with the input's layout if it is in the same file.
std::string kernel_spec(const std::string& typed, const Input& input) {
  const bool same = input.kind == InputKind::tensors && typed == TensorSpec(input.file).files();
  return same ? input.file : typed;
}

/// Reads the file of tensors; n and d are the file's, unless the options set them.
void load(Problem& p, const ExperimentOptions& x) {
  load_tensors(p.input);
  if (!p.input.tensors || x.find("input") == nullptr) return;
  const auto said = [&](std::string_view key) { return x.find(key) != nullptr; };
  const AttentionShape own = p.input.tensors->shape();
  AttentionShape s = own;
  if (said("n")) {
    s.n = p.n;
    s.n_k = own.n == own.n_k ? p.n : own.n_k;
  }
  if (said("d")) {
    s.d = p.d;
    s.d_v = own.d == own.d_v ? p.d : own.d_v;
  }
  if (said("n_k")) s.n_k = key_count(p);
  if (said("d_v")) s.d_v = value_columns(p);
  p = with_shape(p, s);
}

/// Sets the numbers of the head that is read, from lists, files, or tensors beside Q, K and V.
void set_head_numbers(Problem& p, const ExperimentOptions& x) {
  if (p.input.kind == InputKind::tensors && x.find("input") != nullptr) {
    p = HeadNumbers(x.typed, CallFiles(p.input.file)).of_head(p, p.input.index);
  } else if (const auto lists = head_number_texts(x.typed); !lists.empty()) {
    const bool are_heads = p.input.kind == InputKind::tensors;
    refuse("--" + lists.begin()->first, lists.begin()->second,
           are_heads ? "one number without --input" : "one number: the input is not a file of heads");
  }
}

/// Sets a named backward pass of a, or b.
void set_gradient(Experiment& e, bool of_b, const std::string& label, const std::string& value) {
  e = with_backward(std::move(e));
  (of_b ? e.backward.b : e.backward.a) = of_option(label, [&] { return grad_method(value, e.problem.d, e.problem.mask); });
}

bool has_backward(const ExperimentOptions& x) {
  const auto is_set = [](const std::string& s) { return is_of_backward(std::string_view(s).substr(0, s.find('='))); };
  return std::ranges::any_of(of_backward, [&](std::string_view key) { return x.find(key) != nullptr; }) ||
         std::ranges::any_of(x.set, is_set);
}

/// Turns the backward pass on if one of its options is given, and sets the options that name no file.
void set_backward(Experiment& e, const ExperimentOptions& x) {
  if (!has_backward(x)) return;
  e = with_backward(std::move(e));
  if (const auto* t = x.find("gradient")) set_gradient(e, false, "--gradient", *t);
  if (const auto* t = x.find("baseline_gradient")) set_gradient(e, true, "--baseline-gradient", *t);
  if (const auto* t = x.find("gradient_order")) set_order(e.backward.a, "--gradient-order", *t);
  if (const auto* t = x.find("do"); t != nullptr && *t == "normal") e.backward.d_o = OutputGradient::normal;
  if (const auto* t = x.find("do"); t != nullptr && *t == "ones") e.backward.d_o = OutputGradient::ones;
}

/// Reads the files of dO and dL, whose shapes are the problem's.
void set_gradient_files(Experiment& e, const ExperimentOptions& x) {
  Backward& b = e.backward;
  if (const auto* t = x.find("do"); t != nullptr && *t != "normal" && *t != "ones") {
    b.d_o = OutputGradient::file;
    try {
      b.d_o_file = read_gradient(*t, e.problem, false);
    } catch (const std::invalid_argument& error) {
      const std::string wrong = error.what();
      throw std::invalid_argument("--do: " + wrong + (wrong.ends_with(kernel_output_specs()) ? ", normal or ones" : ""));
    }
  }
  if (const auto* t = x.find("dlse")) b.d_lse_file = of_option("--dlse", [&] { return read_gradient(*t, e.problem, true); });
}

/// Loads an output as method a or b; n and d_v are the output's, unless the options or a file of tensors set them.
void load_kernel(Experiment& e, const ExperimentOptions& x) {
  const std::string as = x.kernel_as.value_or("a");
  if (!x.kernel && x.kernel_as) throw std::invalid_argument("--kernel-as was not expected without --kernel");
  if (!x.kernel && has_loaded(e) && e.loaded.file.empty())
    throw std::invalid_argument("--kernel is missing, expected the file of the output that the algorithm loaded shows: " +
                                kernel_output_specs());
  if (!x.kernel) return;
  if (as != "a" && as != "b") refuse("--kernel-as", as, "a or b");
  of_option("--kernel", [&] { return parse_kernel_output(*x.kernel); });
  const bool given = e.problem.input.kind == InputKind::tensors;
  const auto said = [&](std::string_view key) { return given || x.find(key) != nullptr; };
  const bool columns_said = said("d") || said("d_v");
  Problem asked = e.problem;
  if (!said("n")) asked.n = 0;
  if (!columns_said) asked.d = asked.d_v = 0;
  KernelOutput output = read_kernel_output(kernel_spec(*x.kernel, e.problem.input), asked);
  e.problem.n = output.n;
  if (!columns_said) e.problem.d = output.d;
  use_kernel_output(e, std::move(output), as == "b");
  if (x.find("format") == nullptr) e = with_format(e, format_of_loaded(e));
}

}  // namespace

void set_problem(Problem& p, const ExperimentOptions& x) {
  if (const auto* t = x.find("input")) p = with_input(p, input_of(*t, x));
  if (const auto* t = x.find("scale")) p.scale = scale(*t);
  if (const auto* t = x.find("mask")) p.mask = of_option("--mask", [&] { return parse_mask(*t); });
  if (const auto* t = x.find("rows")) p.rows = *t == "all" ? 0 : whole_number("--rows", *t, 1, max_n);
  set_plain(x, false, [&](const std::string& option, const std::string& key, const std::string& value) {
    set_field(option, settings(p), key, value);
  });
}

void set_methods(Experiment& e, const ExperimentOptions& x, bool fresh) {
  if (x.like) {
    const KernelPreset& kernel = of_option("--like", [&]() -> const KernelPreset& { return kernel_preset(*x.like); });
    e = with_kernel(std::move(e), kernel);
    fresh = false;
  }
  if (const auto* t = x.find("format")) e = with_format(e, of_option("--format", [&] { return parse_format(*t); }));
  const Experiment before = e;
  set_kind_of_a(e.a, x, fresh);
  e = with_gradients_in_step(before, std::move(e));
  if (const auto* t = x.find("block_q")) e = with_block_q(e, whole_number("--block-q", *t, 1, max_tile));
  if (const auto* t = x.find("block_k")) e = with_block_k(e, whole_number("--block-k", *t, 1, max_tile));
  set_plain(x, true, [&](const std::string& option, const std::string& key, const std::string& value) {
    set_of_method(e.a, option, key, value);
  });
  if (const auto* t = x.find("baseline"))
    e = with_baseline(e, of_option("--baseline", [&]() -> const Policy& { return policy(*t); }));
}

std::vector<std::string> options_without_effect(const ExperimentOptions& x, const Experiment& e) {
  std::vector<std::string> sentences;
  const auto check = [&](const Parameter& p, std::string_view option, bool of_b) {
    if (!matters(p, of_b ? e.b : e.a))
      sentences.push_back(std::string(option) + " changes nothing: " + (of_b ? "b" : "a") +
                          " does not use it with its other settings");
  };
  for (const Parameter& p : experiment_parameters())
    if (is_of_a_method(p) && x.find(p.key) != nullptr) check(p, p.option, false);
  for (const std::string& setting : x.set) {
    const std::string path = setting.substr(0, setting.find('='));
    if (const Parameter* const p = parameter_at(path)) check(*p, "--set " + path, path.starts_with("b."));
  }
  return sentences;
}

int row_of(const std::string& typed, int n) { return whole_number("--row", typed, -n, n - 1); }

void apply_setting(Experiment& experiment, const std::string& setting, const std::string& option) {
  const std::size_t equals = setting.find('=');
  const bool of_a = setting.starts_with("a."), of_b = setting.starts_with("b.");
  if ((!of_a && !of_b) || equals == std::string::npos)
    refuse(option, setting, "a.NAME=VALUE or b.NAME=VALUE, such as a.O=fp32");
  const std::string path = setting.substr(0, equals), value = setting.substr(equals + 1),
                    label = option + " " + shown_key(path);
  if (path.substr(1) == ".gradient" || path.substr(1) == ".grad.policy") return set_gradient(experiment, of_b, label, value);
  if (path.substr(1).starts_with(".grad.")) {
    experiment = with_backward(std::move(experiment));
    GradMethod& g = of_a ? experiment.backward.a : experiment.backward.b;
    const std::string key = path.substr(7);
    return key == "order" ? set_order(g, label, value) : set_field(label, settings(g), key, value);
  }
  Experiment changed = experiment;
  set_of_method(of_a ? changed.a : changed.b, label, path.substr(2), value);
  experiment = following(experiment, changed, path, value);
}

std::string option_of(PackedPart part) {
  std::string option = "--" + std::string(packed_part_names[part]);
  std::ranges::replace(option, '_', '-');
  return option;
}

ScaleSpec scale_of_option(std::size_t part, const std::string& typed) {
  ScaleSpec scale = scale_spec(typed);
  of_option(scale_options[part], [&] { return file_of_part(scale, part); });
  return scale;
}

ExperimentOptions without_head_numbers(ExperimentOptions x) {
  for (const auto& [key, list] : head_number_texts(x.typed)) x.typed.erase(key);
  return x;
}

/// Says which row is traced if the session's is none of the problem's, which may have fewer rows by now.
static void tell_traced_row(const std::string& session, const Problem& p, SessionRemarks& about) {
  if (p.traced_row >= -p.n && p.traced_row < p.n) return;
  about.unread.push_back(session + ": experiment.problem.traced_row is '" + std::to_string(p.traced_row) + "', expected " +
                         whole_range_text(-p.n, p.n - 1) + "; row " + std::to_string(traced_row(p)) + " is traced");
}

/// The initial experiment: of --preset, of --session, or the default.
static Experiment first_experiment(const ExperimentOptions& x, SessionRemarks& about) {
  if (x.session && x.preset) refuse("--preset", *x.preset, "either it or --session");
  if (x.preset) return of_option("--preset", [&] { return probe(*x.preset); }).experiment;
  return x.session ? read_session(*x.session, about.unread).experiment : default_experiment();
}

Experiment experiment_of(const ExperimentOptions& typed, SessionRemarks* about) {
  const ExperimentOptions x = without_head_numbers(typed);
  SessionRemarks unasked;
  SessionRemarks& remarks = about != nullptr ? *about : unasked;
  Experiment e = first_experiment(x, remarks);
  check_has_input(x);
  set_problem(e.problem, x);
  if (x.like || has_backward(x)) load(e.problem, x);  // sets tiles that depend on the head dimension
  if (x.session) remarks.changed = load_found(e);
  set_methods(e, x, !x.preset && !x.session);
  set_backward(e, x);
  for (const std::string& setting : x.set) apply_setting(e, setting);
  load(e.problem, x);
  set_head_numbers(e.problem, typed);
  if (x.session) std::ranges::move(other_numbers(e.problem, x.typed), std::back_inserter(remarks.unread));
  load_kernel(e, x);
  set_gradient_files(e, x);
  if (const auto* t = x.find("traced_row")) e.problem.traced_row = row_of(*t, e.problem.n);
  if (x.session) tell_traced_row(*x.session, e.problem, remarks);
  validate(e);
  return e;
}

}  // namespace attoscope::app
