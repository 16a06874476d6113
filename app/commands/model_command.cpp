/// `attoscope model`: runs a model under a, b and exact, and measures how far attention's rounding moves the next token.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/files/paths.h"
#include "app/model/kept_shares.h"
#include "app/model/model_files.h"
#include "app/model/model_words.h"
#include "app/model/run_words.h"
#include "app/model/tokenizer.h"
#include "app/tensors/exact_tensors.h"
#include "app/tensors/npy.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/settings.h"
#include "kernels/model/model_answer.h"
#include "kernels/model/model_run.h"
#include "kernels/parallel/parallel.h"
#include "kernels/stop_token.h"

namespace attoscope::app {
namespace {

/// The options as typed.
struct ModelArguments : ExperimentOptions {
  std::string checkpoint, tokens, text;
  Typed around;
  std::string limit = "0", only, attribute;
  std::string threads = "0", json, save, against, capture;
  bool no_cache = false;
};

constexpr std::array saved_files{"logits_exact.npy", "logits_a.npy", "logits_b.npy", "hidden_exact.npy"};

ModelPart part_of(const std::string& text) {
  if (text.empty()) return ModelPart::none;
  const auto found = std::find(model_part_names.begin() + 1, model_part_names.end(), text);
  if (found == model_part_names.end()) refuse("--attribute", text, "layer, head or step");
  return static_cast<ModelPart>(found - model_part_names.begin());
}

/// Throws if the options of tokens or outputs are wrong; call it before reading or computing.
void check_places(const ModelArguments& x, const Streams& streams) {
  if (!x.save.empty()) check_directory_place("--save", x.save);
  std::vector<OutputPlace> saved;
  if (!x.save.empty())
    for (const char* const name : saved_files) saved.push_back({"--save", (std::filesystem::path(x.save) / name).string()});
  if (x.tokens.empty() == x.text.empty())
    throw std::invalid_argument("expected one of --tokens FILE and --text FILE, whose tokens the model reads");
  if (x.capture == "-") refuse("--capture", x.capture, "a file");
  std::vector<OutputPlace> read = streams.files;
  const std::vector<std::string> parts = files_of_checkpoint(x.checkpoint);
  if (!parts.empty()) std::erase_if(read, [](const OutputPlace& place) { return place.option == "checkpoint"; });
  for (const std::string& file : parts) read.push_back({"checkpoint", file});  // others of its folder may be outputs
  check_outputs({{"--json", x.json}, {"--capture", x.capture}}, read, saved);
}

/// The question, without its model.
ModelQuestion question_of(const ModelArguments& x) {
  for (const std::string& setting : x.set)
    if (attoscope::is_of_backward(setting.substr(0, setting.find('='))))
      refuse("--set", setting, "a setting of the forward pass: the model has no backward pass");
  const Experiment e = experiment_of(x);
  ModelQuestion q;
  q.a = e.a;
  q.b = e.b;
  q.format = e.format;
  q.seed = e.problem.seed;
  q.around = surroundings(x.around.value_or("exact"));
  q.only = parse_place("--only", x.only);
  q.attribute = part_of(x.attribute);
  q.keeps_outputs = !x.save.empty();
  const int limit = whole_number("--limit", x.limit, 0, 1 << 20);
  q.tokens = x.text.empty() ? read_tokens(x.tokens, x.checkpoint, limit) : tokens_of_text(x.text, x.checkpoint, limit);
  return q;
}

/// Sets the methods again for heads of this model: kernels of --like choose their tiles by mask and head dimension.
void shape_methods(ModelQuestion& q, ModelArguments x, const Architecture& a) {
  x.typed["mask"] = "causal";
  x.typed["d"] = std::to_string(a.head_dim);
  const Experiment e = experiment_of(x);
  q.a = e.a;
  q.b = e.b;
}

/// The bytes of a .safetensors with every tensor of a's run, named as `attoscope.capture` does.
template <class T>
std::string captured_bytes_in(const ModelQuestion& q, const Cancelled& cancelled) {
  const StopToken stop(cancelled);
  const Architecture& a = q.model->architecture;
  const auto n = static_cast<std::uint64_t>(q.tokens.size());
  std::vector<ExactTensor> tensors{{"tokens", {n}, {q.tokens.begin(), q.tokens.end()}}};
  const Format format = format_of(q.around);
  const std::string stored = format == bf16 ? "BF16" : format == fp16 ? "F16" : format == fp64 ? "F64" : "F32";
  ModelRun<T> run(*q.model, q.tokens, q.around, stop);
  run.tap = [&](ModelTensor t, int layer, std::vector<T>& x) {
    const std::string prefix = layer < 0 ? "model." : "model.layers." + std::to_string(layer) + ".";
    tensors.push_back({prefix + std::string(name(t)), {n, x.size() / n}, {x.begin(), x.end()}, stored});
  };
  std::vector<T> x = run.embedded();
  for (int l = 0; l < a.layers; ++l) run.run_layer(l, x, {.method = &q.a, .format = q.format, .seed = q.seed, .only = q.only});
  tensors.push_back(
      {"logits", {n, static_cast<std::uint64_t>(a.vocabulary)}, run.logits(run.last_norm(x), 0, static_cast<int>(n)), stored});
  return safetensors_bytes(tensors, {});
}
std::string captured_bytes(const ModelQuestion& q, int threads) {
  return unless_stopped("stopped before the capture was there; nothing was written", [&](const Cancelled& cancelled) {
    return on_threads(threads, [&] {
      return q.around.in_double ? captured_bytes_in<double>(q, cancelled) : captured_bytes_in<float>(q, cancelled);
    });
  });
}

void stage_outputs(StagedFiles& files, const std::string& directory, const ModelQuestion& q, const ModelAnswer& answer) {
  files.make_directory(directory);
  const Architecture& a = q.model->architecture;
  const int n = static_cast<int>(q.tokens.size());
  const std::array shape{a.layers + 1, n, a.width};
  const auto add = [&](std::size_t i, const std::string& bytes) {
    files.add((std::filesystem::path(directory) / saved_files[i]).string(), bytes);
  };
  add(0, npy_bytes(n, a.vocabulary, answer.logits_exact.data()));
  add(1, npy_bytes(n, a.vocabulary, answer.logits_a.data()));
  add(2, npy_bytes(n, a.vocabulary, answer.logits_b.data()));
  add(3, npy_bytes(shape, answer.hidden_exact));
}

/// Judges the run of --against, with progress.
JudgedRun run_of(const ModelArguments& x, const ModelQuestion& q, const Streams& streams, int threads) {
  return unless_stopped("stopped before the answer was there; nothing was written", [&](const Cancelled& cancelled) {
    ProgressLine line(streams.terminal);
    const Progress progress = [&](double share) { line.show([&] { return fmt::format("{:.0f} %", 100 * share); }); };
    return judge_file(x.against, *q.model, q.tokens, q.a, x.around,
                      Options{.cancelled = cancelled, .progress = progress, .threads = threads});
  });
}

/// Prints the expected time before the work if it is longer than a minute.
void tell_time(const ModelQuestion& q, const Options& options, const KeptShares& shares, const Streams& streams) {
  constexpr double short_wait = 60;
  const std::array<double, 4> expected = expected_seconds(q, options);
  const int all = part_count(q), parts = all - shares.on_disk();
  const double of_parts = expected[static_cast<std::size_t>(q.attribute)] - expected[0];
  const double seconds = expected[0] + (all > 0 ? of_parts * parts / all : 0);
  if (seconds < short_wait) return;
  std::string text = fmt::format("this takes about {:.0f} minutes here", std::ceil(seconds / 60));
  if (parts > 0)
    text += fmt::format(": {} {}s, one at a time{}", parts, model_part_names[q.attribute],
                        shares.keeps() ? "; those that are done are kept where it is stopped, and not computed again" : "");
  streams.warnings << text << "\n";
}

/// Error sentence on an interruption.
std::string stopped_text(const ModelQuestion& q, const KeptShares& shares) {
  if (part_count(q) == 0 || !shares.keeps()) return "stopped before the answer was there; nothing was written";
  return fmt::format("stopped after {} of {} {}s; those are kept, and the same command goes on from there",
                     shares.known() + shares.kept(), part_count(q), model_part_names[q.attribute]);
}

ModelAnswer answer_of(const ModelQuestion& q, const Streams& streams, int threads, bool no_cache) {
  KeptShares shares(no_cache || q.attribute == ModelPart::none ? "" : default_point_cache(), q);
  try {
    const Interrupts interrupts;
    ProgressLine line(streams.terminal);
    const Progress progress = [&](double share) {
      line.show([&] {
        const std::string parts =
            part_count(q) > 0 ? fmt::format("{} of {} parts, ", shares.known() + shares.kept(), part_count(q)) : "";
        return parts + fmt::format("{:.0f} %, {:.0f} s left", 100 * share, line.seconds() * (1 / share - 1));
      });
    };
    const Options options{.cancelled = [&] { return interrupts.arrived(); }, .progress = progress, .threads = threads};
    tell_time(q, options, shares, streams);
    ModelAnswer answer = answer_model(q, options, shares.memory());
    line.clear();
    if (shares.known() > 0)
      streams.warnings << fmt::format("{} of {} parts were known from an earlier run\n", shares.known(), part_count(q));
    if (const std::string remark = shares.remark(); !remark.empty()) streams.warnings << remark << "\n";
    return answer;
  } catch (const Stopped&) {
    throw std::runtime_error(stopped_text(q, shares));
  }
}

void tell_model(const ModelArguments& x, const Streams& streams) {
  const int threads = thread_option(x.threads);
  check_places(x, streams);
  ModelQuestion q = question_of(x);
  const LanguageModel model = read_language_model(x.checkpoint);
  q.model = &model;
  if (x.like) shape_methods(q, x, model.architecture);
  validate(q);
  Experiment methods;
  methods.a = q.a;
  methods.b = q.b;
  tell(options_without_effect(x, methods), streams);
  std::optional<JudgedRun> run;
  if (!x.against.empty()) run = run_of(x, q, streams, threads);
  const ModelAnswer answer = answer_of(q, streams, threads, x.no_cache);
  const std::string a_name = x.like.value_or(method_name(q.a));
  const std::vector<MovedToken> moved = tokens_that_move_most(q, answer, x.checkpoint);
  const auto json = [&] {
    Json all = model_json(q, answer, a_name, moved);
    if (run) add_run_json(all, *run, q.tokens);
    return json_text(all);
  };
  const std::string capture = x.capture.empty() ? "" : captured_bytes(q, threads);
  StagedFiles files;
  if (!x.save.empty()) stage_outputs(files, x.save, q, answer);
  if (!x.capture.empty()) files.add(x.capture, capture);
  write_outputs(
      files, {{x.json, json}},
      [&] {
        return (run ? fmt::format("{}\n{}\n", run_conclusion(*run), run_lines(*run)) : "") +
               model_report(q, answer, a_name, moved);
      },
      streams.out);
}

void declare(OptionList& c, ModelArguments& x) {
  c.add("checkpoint", x.checkpoint, std::string(checkpoint_specs)).required();
  c.group("Tokens");
  c.add("--tokens", x.tokens,
        "whole numbers [n]; nothing is put in front: " + tensor_specs() + "; or random:SEED, 1024 random tokens");
  c.add("--text", x.text,
        listed(shipped_text_names) + ", or a file in UTF-8, cut into tokens by the model's own byte-level BPE");
  c.add("--limit", x.limit, "only this many tokens; 0 is all");
  c.group("Model").parameters(x, {"seed"});
  c.add("--around", x.around,
        "what surrounds attention in a and b: " + listed(around_preset_names) +
            " (exact), with ,STEP=FORMAT behind it for steps of " + listed(around_steps, " or ", &AroundStepInfo::name) +
            "; sums=h100 (tensor cores add the projections), pieces=8, variance=unrounded, pairs=halves, loss=1024 (cross "
            "entropy by blocks of so many logits)");
  c.add("--only", x.only, "a and b in this layer alone, or in this head of it: L or L:H");
  c.add("--attribute", x.attribute, "make one layer, head or step of a exact at a time: layer, head or step");
  c.add("--against", x.against,
        "activations or log-probabilities of somebody's run over these tokens: the first tensor that differs, and why; without "
        "--around under the preset that fits it best");
  c.add("--no-cache", x.no_cache, "compute every part of --attribute, and keep none");
  c.methods(x).group("Device").add("--threads", x.threads, "0 is all").quiet();
  c.group("Output");
  c.add("--capture", x.capture,
        "write every tensor of a's run to this .safetensors, as attoscope.capture does of other programs");
  c.add("--json", x.json, "write the answer to this file, - for standard output");
  c.add("--save", x.save, "write logits_exact logits_a logits_b hidden_exact .npy to this directory");
}

}  // namespace

Command model_command() {
  return command<ModelArguments>("model", "Run a language model under a and b, and tell how far its next tokens move", declare,
                                 tell_model);
}

}  // namespace attoscope::app
