#include "app/run_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "app/files.h"
#include "app/interrupts.h"
#include "app/json.h"
#include "app/npy.h"
#include "app/numbers.h"
#include "app/precision_text.h"
#include "app/report.h"
#include "app/tensors.h"
#include "kernels/compute.h"
#include "kernels/presets.h"

namespace attoscope {
namespace {

template <class T>
T whole(const char* option, const std::string& text, T min, T max) {
  const auto value = to_number<T>(text);
  if (value && *value >= min && *value <= max) return *value;
  throw std::invalid_argument(std::string(option) + " is " + in_quotes(text) + ", expected a whole number from " +
                              std::to_string(min) + " to " + std::to_string(max));
}

double scale(const std::string& text) {
  if (text == "auto") return 0;
  const auto value = to_number<double>(text);
  if (value && std::isfinite(*value) && *value > 0) return *value;
  throw std::invalid_argument("--scale is " + in_quotes(text) + ", expected a finite number above 0, or auto for 1/sqrt(d)");
}

/// Names the option in front of what `read` throws about its value.
template <class F>
auto of_option(const char* option, F read) {
  try {
    return read();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(option) + ": " + error.what());
  }
}

/// d of the inputs that are no file, where none is given.
constexpr int usual_n = 1024, usual_d = 64;

Problem problem_of(const RunArguments& x) {
  Problem p;
  p.input = of_option("--input", [&] { return parse_input(x.input); });
  p.n = x.n.empty() ? usual_n : whole("--n", x.n, 1, max_n);
  p.d = x.d.empty() ? usual_d : whole("--d", x.d, 1, max_d);
  p.seed = whole<std::uint64_t>("--seed", x.seed, 0, UINT64_MAX);
  p.scale = scale(x.scale);
  p.mask = of_option("--mask", [&] { return parse_mask(x.mask); });
  p.rows = x.rows == "all" ? 0 : whole("--rows", x.rows, 1, max_n);
  p.traced_row = whole("--row", x.row, -max_n, max_n - 1);
  return p;
}

/// Reads the file of tensors; n and d are its own where the options leave them open.
void load(Problem& p, const RunArguments& x) {
  load_tensors(p.input);
  if (!p.input.tensors) return;
  if (x.n.empty()) p.n = p.input.tensors->n;
  if (x.d.empty()) p.d = p.input.tensors->d;
}

void check_device(const std::string& device) {
  if (device == "auto" || device == "cpu") return;
  if (device == "cuda") throw std::runtime_error("--device cuda: this build has no CUDA, use --device cpu");
  throw std::invalid_argument("--device is " + in_quotes(device) + ", expected auto, cpu or cuda");
}

bool truth(const std::string& value) {
  if (value == "true") return true;
  if (value == "false") return false;
  throw std::invalid_argument(in_quotes(value) + " is neither true nor false");
}

/// Sets what is called `key` in a method.
void set(Method& method, const std::string& key, const std::string& value) {
  if (key == "algorithm") return static_cast<void>(method.algorithm = parse_algorithm(value));
  if (key == "block_q") return static_cast<void>(method.block_q = whole("block_q", value, 1, max_n));
  if (key == "block_k") return static_cast<void>(method.block_k = whole("block_k", value, 1, max_n));
  if (key == "sum_rounded_P") return static_cast<void>(method.precision.sum_rounded_P = truth(value));
  if (key == "accumulate_in_O") return static_cast<void>(method.precision.accumulate_in_O = truth(value));
  for (int i = 0; i < step_count; ++i) {
    const auto step = static_cast<Step>(i);
    if (key == name(step)) return static_cast<void>(method.precision[step] = parse_rounding(value));
  }
  std::string known;
  for (const StepText& step : step_texts) known += std::string(step.name) + ", ";
  throw std::invalid_argument(in_quotes(key) + " is unknown, expected " + known +
                              "sum_rounded_P, accumulate_in_O, algorithm, block_q or block_k");
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

/// Before anything is computed: could the files be written at all?
void check_places(const RunArguments& x) {
  std::error_code error;
  if (!x.save.empty() && std::filesystem::exists(x.save, error) && !std::filesystem::is_directory(x.save, error)) {
    throw std::runtime_error("--save " + x.save + ": is a file, expected a directory");
  }
  if (x.json.empty() || x.json == "-") return;
  const std::filesystem::path parent = std::filesystem::path(x.json).parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent, error)) {
    throw std::runtime_error("--json " + x.json + ": there is no directory " + parent.string());
  }
  if (std::filesystem::is_directory(x.json, error))
    throw std::runtime_error("--json " + x.json + ": is a directory, expected a file");
}

Result computed(const Experiment& experiment, int threads) {
  const Interrupts interrupts;
  try {
    return compute(experiment, {.cancelled = [&] { return interrupts.arrived(); }, .memory = nullptr, .threads = threads});
  } catch (const Stopped&) {
    throw std::runtime_error("stopped before the answer was there; nothing was written");
  }
}

}  // namespace

void apply_setting(Experiment& experiment, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  const bool of_a = setting.starts_with("a."), of_b = setting.starts_with("b.");
  if ((!of_a && !of_b) || equals == std::string::npos) {
    throw std::invalid_argument("--set is " + in_quotes(setting) + ", expected a.NAME=VALUE or b.NAME=VALUE, such as a.O=fp32");
  }
  try {
    set(of_a ? experiment.a : experiment.b, setting.substr(2, equals - 2), setting.substr(equals + 1));
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("--set " + setting + ": " + error.what());
  }
}

Experiment experiment_of(const RunArguments& x) {
  Experiment e;
  e.problem = problem_of(x);
  e.format = of_option("--format", [&] { return parse_format(x.format); });
  e.a.algorithm = of_option("--algorithm", [&] { return parse_algorithm(x.algorithm); });
  e.a.block_q = whole("--block-q", x.block_q, 1, max_n);
  e.a.block_k = whole("--block-k", x.block_k, 1, max_n);
  const std::string usual = e.a.algorithm == Algorithm::three_pass ? "base_eager" : "hw";
  e.a.precision = of_option("--policy", [&] { return policy(x.policy.empty() ? usual : x.policy).precision; });
  const Policy& rival = of_option("--baseline", [&]() -> const Policy& { return policy(x.baseline); });
  e.b = {rival.algorithm, e.a.block_q, e.a.block_k, rival.precision};
  for (const std::string& setting : x.set) apply_setting(e, setting);
  load(e.problem, x);
  validate(e);
  return e;
}

void run(const RunArguments& x, std::ostream& out) {
  const int threads = whole("--threads", x.threads, 0, 4096);
  check_device(x.device);
  const Experiment experiment = experiment_of(x);
  check_places(x);
  const Result result = computed(experiment, threads);
  StagedFiles files;
  if (!x.save.empty()) stage_matrices(files, x.save, result);
  const std::string json = x.json.empty() ? "" : json_text(result_json(result));
  if (!json.empty() && x.json != "-") files.add(x.json, json);
  files.commit();
  out << (x.json == "-" ? json : report(result)) << std::flush;
}

}  // namespace attoscope
