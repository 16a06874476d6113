/// `attoscope run`: computes one experiment from options; writes its table, JSON and matrices.
#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands/commands.h"
#include "app/json/json.h"
#include "app/judge/judge_report.h"
#include "app/judge/judgement.h"
#include "app/session/report.h"
#include "app/session/result_json.h"
#include "app/tensors/call_files.h"
#include "app/tensors/npy.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/gpu/device.h"
#include "kernels/questions/attribution.h"
#include "kernels/tensor_core/hardware.h"

namespace attoscope::app {
namespace {

/// The options as typed.
struct RunArguments : ExperimentOptions {
  std::string device = "auto", threads = "0";
  bool attribute = false, strict = false;
  std::string json, save;                 ///< outputs; "" is none, "-" of json standard output
  std::vector<std::string> save_field{};  ///< "a_error=FILE.npy"
};

/// The files of `--save`.
constexpr std::array matrix_files{"q.npy", "k.npy", "v.npy", "golden.npy", "a.npy", "b.npy"};

constexpr std::array saved_lse_files{"lse.npy", "a_lse.npy", "b_lse.npy"};
constexpr std::array saved_gradient_files{"do.npy",   "golden_dq.npy", "golden_dk.npy", "golden_dv.npy", "a_dq.npy",
                                          "a_dk.npy", "a_dv.npy",      "b_dq.npy",      "b_dk.npy",      "b_dv.npy"};

/// Stages the gradients of a result, and dO.
void stage_gradients(StagedFiles& files, const std::filesystem::path& where, const Result& r) {
  std::size_t next = 0;
  const auto add = [&](const std::string& bytes) { files.add((where / saved_gradient_files[next++]).string(), bytes); };
  const BackwardResult& b = *r.backward;
  add(npy_bytes(r.experiment.problem.n, value_columns(r.experiment.problem), b.incoming->d_o.data()));
  for (const Gradients* const g : {b.golden.get(), &b.a, &b.b})
    for (const Matrix* const m : {&g->dq, &g->dk, &g->dv}) add(npy_bytes(m->rows, m->cols, m->values.data()));
}

/// Stages the six matrices of a result, its log-sum-exps and its gradients.
void stage_matrices(StagedFiles& files, const std::string& directory, const Result& r) {
  files.make_directory(directory);
  const std::filesystem::path where(directory);
  std::size_t next = 0;
  const auto add = [&](int rows, int cols, const std::vector<double>& x) {
    files.add((where / matrix_files[next++]).string(), npy_bytes(rows, cols, x.data()));
  };
  const Tensors& t = *r.inputs;
  add(t.n, t.d, t.q);
  add(t.n_k, t.d, t.k);
  add(t.n_k, t.d_v, t.v);
  add(r.golden->rows, r.golden->cols, r.golden->values);
  add(r.a.rows, r.a.cols, r.a.values);
  add(r.b.rows, r.b.cols, r.b.values);
  const std::array lses{r.backward ? &r.backward->golden->lse : &r.golden_lse, &r.a_lse, &r.b_lse};
  for (std::size_t i = 0; i < lses.size(); ++i)
    if (!lses[i]->empty()) files.add((where / saved_lse_files[i]).string(), npy_bytes(*lses[i]));
  if (r.backward) stage_gradients(files, where, r);
}

/// A field, and the file it goes to.
struct FieldFile {
  Field field;
  std::string file;
};

/// Field by its name in files, such as "a_error". Throws std::invalid_argument that lists the known names.
Field field_named(std::string_view name) {
  const auto found = std::ranges::find(field_texts, name, &FieldText::name);
  if (found != field_texts.end()) return static_cast<Field>(found - field_texts.begin());
  throw std::invalid_argument("field " + in_quotes(name) + " is unknown, expected " + listed(names_in(field_texts)));
}

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

/// True if a result of the experiment may have the field; an output that cannot be judged has no tolerance.
bool may_have_field(const Experiment& e, Field field) {
  if (!is_extra(field)) return true;
  if (field == Field::tolerance) return has_loaded(e);
  const Method& m = field == Field::a_storage || field == Field::a_arithmetic ? e.a : e.b;
  return is_emulated(m.algorithm) && m.scaling.stores();
}

/// Throws for a field that the result lacks.
[[noreturn]] void refuse_field(Field field) {
  refuse("--save-field", field_texts[static_cast<std::size_t>(field)].name,
         field == Field::tolerance ? "it with a loaded output that can be judged"
                                   : "it with a method that stores Q, K or V with scales");
}

/// Throws if an output could not be written; call it before computing.
void check_places(const RunArguments& x, const std::vector<FieldFile>& fields, const Experiment& e, const Streams& streams) {
  for (const FieldFile& f : fields) {
    if (!may_have_field(e, f.field)) refuse_field(f.field);
    check_place("--save-field", f.file);
  }
  if (!x.save.empty()) check_directory_place("--save", x.save);
  std::vector<OutputPlace> all;
  for (const FieldFile& f : fields) all.push_back({"--save-field", f.file});
  const auto add = [&](const char* name) { all.push_back({"--save", (std::filesystem::path(x.save) / name).string()}); };
  if (!x.save.empty()) {
    std::ranges::for_each(matrix_files, add);
    std::ranges::for_each(saved_lse_files, add);
  }
  if (!x.save.empty() && e.backward.on) std::ranges::for_each(saved_gradient_files, add);
  check_outputs({{"--json", x.json}}, streams.files, all);
}

struct Answer {
  Result result;
  std::optional<Attribution> attribution;
  std::optional<CallJudgement> verdict;
};

Answer answer(const Experiment& experiment, const RunArguments& x, int threads) {
  ComputeCache cache;
  return unless_stopped("stopped before the answer was there; nothing was written", [&](const Cancelled& cancelled) {
    const Options options{.cancelled = cancelled, .cache = &cache, .threads = threads, .device = x.device};
    Answer answer{compute(experiment, options), std::nullopt, std::nullopt};
    if (x.attribute) answer.attribution = attribute(experiment, options);
    if (has_loaded(experiment)) answer.verdict = judge_experiment(experiment, options);
    return answer;
  });
}

/// Stages the fields. Throws std::invalid_argument in a sentence if the result lacks one.
void stage_fields(StagedFiles& files, const std::vector<FieldFile>& fields, const Answer& answer) {
  if (fields.empty()) return;
  const auto shares = answer.verdict ? shares_of(*answer.verdict) : nullptr;
  const auto judged = shares ? with_shares(answer.result, *shares) : nullptr;
  const Result& result = judged ? *judged : answer.result;
  for (const FieldFile& f : fields) {
    if (!has_field(result, f.field)) refuse_field(f.field);
    files.add(f.file, field_npy(result, f.field));
  }
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

/// A line on another layout that the experiment's file fits as well; "": there is none.
std::string other_reading_of(const Input& input) {
  const std::string sentence = input.kind == InputKind::tensors ? CallFiles(input.file).other_reading() : "";
  return sentence.empty() ? "" : sentence + ".\n";
}

/// Computes and writes the outputs: none if anything fails.
void run_experiment(const RunArguments& x, const Streams& streams) {
  const int threads = thread_option(x.threads);
  check_device("--device", x.device);
  SessionRemarks about;
  const Experiment experiment = experiment_of(x, &about);
  tell(about.unread, streams);
  tell(options_without_effect(x, experiment), streams);
  if (about.changed.empty()) about.changed = changed_since(x.json, experiment);
  tell_changed(about.changed, x.strict, streams);
  const std::vector<FieldFile> fields = field_files(x);
  check_places(x, fields, experiment, streams);
  std::vector<LoadCode*> codes{attention_code};
  if (has_hardware(experiment)) codes.push_back(hardware_code(experiment.format));
  prepare_gpus(x.device, streams, codes);
  const Answer found = answer(experiment, x, threads);
  StagedFiles files;
  if (!x.save.empty()) stage_matrices(files, x.save, found.result);
  stage_fields(files, fields, found);
  write_outputs(
      files, {{x.json, [&] { return json_of(found); }}},
      [&] { return table_of(found) + other_reading_of(experiment.problem.input); }, streams.out);
}

void declare(OptionList& c, RunArguments& x) {
  c.session(x, x.strict).problem(x).methods(x).backward(x).kernel(x).device(x.device, x.threads, device_help()).group("Output");
  c.add("--attribute", x.attribute, "print what each rounding step of a costs");
  c.add("--json", x.json, "write the result to this file, - for standard output");
  c.add("--save", x.save,
        "write q k v golden a b lse a_lse b_lse .npy to this directory, with a backward pass also do and golden_ a_ b_ dq dk "
        "dv .npy");
  c.add("--save-field", x.save_field, "FIELD=FILE.npy, a field of the heat map such as a_error or b_ulps; repeatable");
}

}  // namespace

Command run_command() {
  return command<RunArguments>("run", "Compute one experiment and print how far a and b are from golden", declare,
                               run_experiment);
}

}  // namespace attoscope::app
