#include "app/run_command.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/devices.h"
#include "app/field_npy.h"
#include "app/field_setter.h"
#include "app/files.h"
#include "app/interrupts.h"
#include "app/json.h"
#include "app/kernel_output.h"
#include "app/npy.h"
#include "app/probes.h"
#include "app/report.h"
#include "app/tensors.h"
#include "kernels/attribution.h"

namespace attoscope {
namespace {

double scale(const std::string& text) {
  if (text == "auto") return 0;
  const auto value = to_number<double>(text);
  if (value && std::isfinite(*value) && *value > 0) return *value;
  refuse("--scale", text, "a finite number above 0, or auto for 1/sqrt(d)");
}

/// Sets a field of a method; "order=interleaved:4" sets two.
void set_of_method(Method& method, const std::string& label, const std::string& key, const std::string& value) {
  const auto set = [&](const std::string& k, const std::string& v) {
    set_field(label, k, v, [&](FieldSetter& setter) { visit_method(setter, method); });
  };
  const std::size_t colon = value.find(':');
  if (key != "order" || colon == std::string::npos) return set(key, value);
  if (value.substr(0, colon) != "interleaved") refuse(label, value, "sequential, pairwise or interleaved[:LANES]");
  set("order", "interleaved");
  set("sum_lanes", value.substr(colon + 1));
}

void set_problem(Problem& p, const RunArguments& x) {
  if (x.input) p.input = of_option("--input", [&] { return parse_input(*x.input); });
  if (x.n) p.n = whole_number("--n", *x.n, 1, max_n);
  if (x.d) p.d = whole_number("--d", *x.d, 1, max_d);
  if (x.seed) p.seed = whole_number<std::uint64_t>("--seed", *x.seed, 0, UINT64_MAX);
  if (x.scale) p.scale = scale(*x.scale);
  if (x.mask) p.mask = of_option("--mask", [&] { return parse_mask(*x.mask); });
  if (x.rows) p.rows = *x.rows == "all" ? 0 : whole_number("--rows", *x.rows, 1, max_n);
  if (x.row) p.traced_row = whole_number("--row", *x.row, -max_n, max_n - 1);
  for (std::size_t i = 0; i < problem_options.size(); ++i) {
    const auto& [option, key, what, is_flag] = problem_options[i];
    if (x.of_problem[i]) set_field(option, key, *x.of_problem[i], [&](FieldSetter& s) { visit_problem(s, p); });
  }
}

/// Another kind of algorithm brings its usual policy along, unless one is named.
void set_a(Method& a, const RunArguments& x) {
  const bool was_baseline = a.algorithm == Algorithm::three_pass;
  if (x.algorithm) set_of_method(a, "--algorithm", "algorithm", *x.algorithm);
  const bool is_baseline = a.algorithm == Algorithm::three_pass;
  if (is_baseline != was_baseline) a.precision = policy(is_baseline ? "base_eager" : "hw").precision;
  if (x.policy) a.precision = of_option("--policy", [&] { return policy(*x.policy).precision; });
  if (x.block_q) set_of_method(a, "--block-q", "block_q", *x.block_q);
  if (x.block_k) set_of_method(a, "--block-k", "block_k", *x.block_k);
  for (std::size_t i = 0; i < method_options.size(); ++i)
    if (x.of_a[i]) set_of_method(a, method_options[i].option, method_options[i].key, *x.of_a[i]);
}

/// The rival: another policy, and with it its algorithm; where `fresh`, in a's tiles.
void set_b(Experiment& e, const RunArguments& x, bool fresh) {
  if (fresh) {
    e.b.block_q = e.a.block_q;
    e.b.block_k = e.a.block_k;
  }
  if (!x.baseline) return;
  const Policy& rival = of_option("--baseline", [&]() -> const Policy& { return policy(*x.baseline); });
  e.b.algorithm = rival.algorithm;
  e.b.precision = rival.precision;
}

/// Reads the file of tensors; n and d are its own where the options name the file but leave them open.
void load(Problem& p, const RunArguments& x) {
  load_tensors(p.input);
  if (!p.input.tensors || !x.input) return;
  if (!x.n) p.n = p.input.tensors->n;
  if (!x.d) p.d = p.input.tensors->d;
}

/// Somebody's output takes the place of a method; n and d are its own where neither the options nor a file of tensors tell
/// them.
void load_kernel(Experiment& e, const RunArguments& x) {
  if (!x.kernel) return;
  if (x.kernel_as != "a" && x.kernel_as != "b") refuse("--kernel-as", x.kernel_as, "a or b");
  Problem& p = e.problem;
  KernelOutput output = of_option("--kernel", [&] { return parse_kernel_output(*x.kernel); });
  const bool given = p.input.kind == InputKind::tensors;
  load_kernel_output(output, given || x.n ? p.n : 0, given || x.d ? p.d : 0);
  p.n = output.n;
  p.d = output.d;
  use_kernel_output(e, std::move(output), x.kernel_as == "b");
}

/// The six matrices of a result, to appear together.
void stage_matrices(StagedFiles& files, const std::string& directory, const Result& r) {
  files.make_directory(directory);
  const std::filesystem::path where(directory);
  const auto add = [&](const char* file, int rows, int cols, const std::vector<double>& x) {
    files.add((where / file).string(), npy_bytes(rows, cols, x.data()));
  };
  const Tensors& t = *r.inputs;
  add("q.npy", t.n, t.d, t.q);
  add("k.npy", t.n, t.d, t.k);
  add("v.npy", t.n, t.d, t.v);
  add("golden.npy", r.golden->rows, r.golden->cols, r.golden->values);
  add("a.npy", r.a.rows, r.a.cols, r.a.values);
  add("b.npy", r.b.rows, r.b.cols, r.b.values);
}

/// A field, and the file it goes to.
struct FieldFile {
  Field field;
  std::string file;
};
std::vector<FieldFile> field_files(const RunArguments& x) {
  std::vector<FieldFile> files;
  for (const std::string& text : x.save_field) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || !text.ends_with(".npy"))
      refuse("--save-field", text, "FIELD=FILE.npy, such as a_error=error.npy");
    files.push_back({of_option("--save-field", [&] { return field_named(text.substr(0, equals)); }), text.substr(equals + 1)});
  }
  return files;
}

/// Before anything is computed: could the files be written at all?
void check_places(const RunArguments& x, const std::vector<FieldFile>& fields) {
  for (const FieldFile& f : fields) check_place("--save-field", f.file);
  if (!x.save.empty()) check_directory_place("--save", x.save);
  if (!x.json.empty() && x.json != "-") check_place("--json", x.json);
}

struct Answer {
  Result result;
  std::optional<Attribution> attribution;
  std::optional<Diagnosis> diagnosis;
};

Answer answer(const Experiment& experiment, const RunArguments& x, int threads) {
  const Interrupts interrupts;
  Memory memory;
  const Options options{
      .cancelled = [&] { return interrupts.arrived(); }, .memory = &memory, .threads = threads, .device = x.device};
  try {
    Answer answer{compute(experiment, options), std::nullopt, std::nullopt};
    if (x.attribute) answer.attribution = attribute(experiment, options);
    if (has_loaded(experiment)) answer.diagnosis = diagnose_with_heads(answer.result, options);
    return answer;
  } catch (const Stopped&) {
    throw std::runtime_error("stopped before the answer was there; nothing was written");
  }
}

std::string json_of(const Answer& answer) {
  Json json = result_json(answer.result);
  if (answer.attribution) json["attribution"] = attribution_json(*answer.attribution);
  if (answer.diagnosis) json["verdict"] = verdict_json(*answer.diagnosis);
  return json_text(json);
}

std::string table_of(const Answer& answer) {
  return report(answer.result) + (answer.attribution ? attribution_report(*answer.attribution) : "") +
         (answer.diagnosis ? verdict_report(*answer.diagnosis) : "");
}

}  // namespace

void set_methods(Experiment& e, const RunArguments& x, bool fresh) {
  if (x.format) e.format = of_option("--format", [&] { return parse_format(*x.format); });
  if (fresh) e.a.tau = e.b.tau = usual_tau(e.format);
  set_a(e.a, x);
  set_b(e, x, fresh);
}

void apply_setting(Experiment& experiment, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const bool of_a = setting.starts_with("a."), of_b = setting.starts_with("b.");
  if ((!of_a && !of_b) || equals == std::string::npos)
    refuse("--set", setting, "a.NAME=VALUE or b.NAME=VALUE, such as a.O=fp32");
  set_of_method(of_a ? experiment.a : experiment.b, "--set " + setting.substr(0, equals), setting.substr(2, equals - 2),
                setting.substr(equals + 1));
}

Experiment experiment_of(const RunArguments& x) {
  Experiment e = x.preset ? of_option("--preset", [&] { return probe(*x.preset); }).experiment : default_experiment();
  set_problem(e.problem, x);
  set_methods(e, x, !x.preset);
  for (const std::string& setting : x.set) apply_setting(e, setting);
  load(e.problem, x);
  load_kernel(e, x);
  validate(e);
  return e;
}

void run(const RunArguments& x, std::ostream& out) {
  const int threads = whole_number("--threads", x.threads, 0, 4096);
  check_device("--device", x.device);
  const Experiment experiment = experiment_of(x);
  const std::vector<FieldFile> fields = field_files(x);
  check_places(x, fields);
  const Answer found = answer(experiment, x, threads);
  StagedFiles files;
  if (!x.save.empty()) stage_matrices(files, x.save, found.result);
  for (const FieldFile& f : fields) files.add(f.file, field_npy(found.result, f.field));
  const std::string json = x.json.empty() ? "" : json_of(found);
  if (!json.empty() && x.json != "-") files.add(x.json, json);
  files.commit();
  out << (x.json == "-" ? json : table_of(found)) << std::flush;
}

}  // namespace attoscope
