#include "app/commands/run_command.h"

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/first_use.h"
#include "app/files/files.h"
#include "app/files/interrupts.h"
#include "app/json/json.h"
#include "app/judge/judge_json.h"
#include "app/judge/judgement.h"
#include "app/session/report.h"
#include "app/session/result_json.h"
#include "app/tensors/field_npy.h"
#include "app/tensors/npy.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/questions/attribution.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope {
namespace {

/// What `--save` writes.
constexpr std::array matrix_files{"q.npy", "k.npy", "v.npy", "golden.npy", "a.npy", "b.npy"};

/// The six matrices of a result, to appear together.
void stage_matrices(StagedFiles& files, const std::string& directory, const Result& r) {
  files.make_directory(directory);
  const std::filesystem::path where(directory);
  std::size_t next = 0;
  const auto add = [&](int rows, int cols, const std::vector<double>& x) {
    files.add((where / matrix_files[next++]).string(), npy_bytes(rows, cols, x.data()));
  };
  const Tensors& t = *r.inputs;
  add(t.n, t.d, t.q), add(t.n_k, t.d, t.k), add(t.n_k, t.d_v, t.v);
  add(r.golden->rows, r.golden->cols, r.golden->values);
  add(r.a.rows, r.a.cols, r.a.values);
  add(r.b.rows, r.b.cols, r.b.values);
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
  std::vector<OutputPlace> all{{"--json", x.json}};
  for (const FieldFile& f : fields) all.push_back({"--save-field", f.file});
  if (!x.save.empty())
    for (const char* const name : matrix_files) all.push_back({"--save", (std::filesystem::path(x.save) / name).string()});
  check_distinct(all);
}

struct Answer {
  Result result;
  std::optional<Attribution> attribution;
  std::optional<CallJudgement> verdict;
};

Answer answer(const Experiment& experiment, const RunArguments& x, int threads) {
  const Interrupts interrupts;
  ComputeCache cache;
  const Options options{
      .cancelled = [&] { return interrupts.arrived(); }, .cache = &cache, .threads = threads, .device = x.device};
  try {
    Answer answer{compute(experiment, options), std::nullopt, std::nullopt};
    if (x.attribute) answer.attribution = attribute(experiment, options);
    if (has_loaded(experiment)) answer.verdict = judge_experiment(experiment, options);
    return answer;
  } catch (const Stopped&) {
    throw std::runtime_error("stopped before the answer was there; nothing was written");
  }
}

/// Has their code compiled where they are newer than the program. Of "auto" `compute` decides by the question.
void prepare_gpus(const Experiment& experiment, const std::string& device) {
  const bool on_gpu = has_hardware(experiment);
  if (device != "auto" || on_gpu) compile_code(devices_of(device));
  if (on_gpu) compile_code(missing_code(devices_of(device), hardware_code(experiment.format)));
}

std::string json_of(const Answer& answer) {
  Json json = result_json(answer.result);
  if (answer.attribution) json["attribution"] = attribution_json(*answer.attribution);
  if (answer.verdict) json["verdict"] = verdict_json(*answer.verdict);
  return json_text(json);
}

std::string table_of(const Answer& answer) {
  return report(answer.result) + (answer.attribution ? attribution_report(*answer.attribution) : "") +
         (answer.verdict ? verdict_report(*answer.verdict) : "");
}

}  // namespace

void run(const RunArguments& x, std::ostream& out) {
  const int threads = whole_number("--threads", x.threads, 0, 4096);
  check_device("--device", x.device);
  const Experiment experiment = experiment_of(x);
  const std::vector<FieldFile> fields = field_files(x);
  check_places(x, fields);
  prepare_gpus(experiment, x.device);
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
