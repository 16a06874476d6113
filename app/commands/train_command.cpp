#include "app/commands/train_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/papers/named_bundle.h"
#include "app/tensors/npy.h"
#include "app/train/checkpoint.h"
#include "app/train/train_capture.h"
#include "app/train/train_figures.h"
#include "app/train/train_seeds.h"
#include "app/train/train_tables.h"
#include "app/train/trained.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "kernels/gpu/device.h"
#include "kernels/train/plan/plan.h"
#include "kernels/train/plan/plan_settings.h"
#include "kernels/train/record.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

/// Sets the fields of the options that were typed.
template <std::size_t N>
void set_typed(const std::array<FieldOption, N>& options, const std::array<Typed, N>& typed, const Settings& settings) {
  for (std::size_t i = 0; i < N; ++i)
    if (typed[i]) set_field(options[i].option, settings, options[i].key, *typed[i]);
}

bool was_typed(const TrainArguments& x, std::string_view option) {
  const auto place = std::ranges::find(recipe_options, option, &FieldOption::option);
  return place != recipe_options.end() && x.of_recipe[static_cast<std::size_t>(place - recipe_options.begin())].has_value();
}

/// "L" or "L:H"
HeadPlace head_place(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto layer = to_number<int>(std::string_view(text).substr(0, colon));
  const auto head = colon == text.size() ? std::optional(-1) : to_number<int>(std::string_view(text).substr(colon + 1));
  if (!layer || !head || *layer < 0 || (colon < text.size() && *head < 0))
    refuse("--exact", text, "LAYER or LAYER:HEAD, from 0 on, such as 1:0");
  return {*layer, *head};
}

/// Applies a setting such as `a.grad.dS=fp32`; returns false if it is not one of a gradient.
bool set_gradient(TrainPlan& plan, const std::string& setting) {
  constexpr std::string_view of_a = "a.grad.", of_b = "b.grad.";
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || (!setting.starts_with(of_a) && !setting.starts_with(of_b))) return false;
  Settings known = settings(setting.starts_with(of_a) ? plan.a.gradient : plan.b.gradient);
  for (const GradStepInfo& step : grad_step_infos)
    if (!is_of_training(step.step)) std::erase_if(known, [&](const Setting& s) { return s.key == step.name; });
  set_field("--set " + setting.substr(0, equals), known, setting.substr(of_a.size(), equals - of_a.size()),
            setting.substr(equals + 1));
  return true;
}

/// Sets the named backward policy, or the method's usual one if the method is new.
void set_backward(TrainMethod& method, const char* option, const Typed& named, bool is_new) {
  if (named)
    method.gradient = of_option(option, [&] { return grad_policy(*named).precision; });
  else if (is_new)
    method.gradient = usual_grad_policy(method.method).precision;
}

/// Sets the main format of one method; its tau may follow.
void set_main_format(TrainMethod& m, const Format& format) {
  m.method = with_main_format(m.method, m.format, format);
  m.format = format;
}

/// Sets the storage of weights and moments: one option for both methods, another for b alone.
void set_stored(TrainPlan& plan, const TrainArguments& x) {
  const auto set = [](const char* option, const Typed& typed, std::initializer_list<Rounding*> stored) {
    if (!typed) return;
    const Rounding rounding = of_option(option, [&] { return parse_rounding(*typed); });
    for (Rounding* const r : stored) *r = rounding;
  };
  set("--weights", x.weights, {&plan.a.weights, &plan.b.weights});
  set("--optimiser", x.optimiser, {&plan.a.optimiser, &plan.b.optimiser});
  set("--baseline-weights", x.baseline_weights, {&plan.b.weights});
  set("--baseline-optimiser", x.baseline_optimiser, {&plan.b.optimiser});
}

void set_train_methods(TrainPlan& plan, const TrainArguments& x, bool fresh) {
  if (const auto* t = x.methods.find("format")) {
    const Format format = of_option("--format", [&] { return parse_format(*t); });
    for (TrainMethod* m : {&plan.a, &plan.b}) set_main_format(*m, format);
  }
  if (x.baseline_format)
    set_main_format(plan.b, of_option("--baseline-format", [&] { return parse_format(*x.baseline_format); }));
  Experiment e{.problem = {}, .format = plan.a.format, .a = plan.a.method, .b = plan.b.method, .loaded = {}};
  ExperimentOptions options = x.methods;
  options.typed.erase("format");
  set_methods(e, options, fresh);
  plan.a.method = e.a;
  plan.b.method = e.b;
  set_backward(plan.a, "--gradient", x.gradient,
               fresh || x.methods.find("algorithm") != nullptr || x.methods.find("policy") != nullptr);
  set_backward(plan.b, "--baseline-gradient", x.baseline_gradient, fresh || x.methods.find("baseline") != nullptr);
  for (const std::string& setting : x.methods.set)
    if (!set_gradient(plan, setting)) apply_setting(e, setting);
  plan.a.method = e.a;
  plan.b.method = e.b;
  if (!x.exact.empty()) plan.a.exact.clear();
  for (const std::string& place : x.exact) plan.a.exact.push_back(head_place(place));
}

/// `--save-qkv`, parsed.
struct QkvFile {
  int run = 0, layer = 0, head = 0, sequence = 0;
  std::string file;
};

QkvFile qkv_file(const std::string& text, const TrainPlan& plan) {
  constexpr const char* expected =
      "RUN:LAYER:HEAD=FILE.safetensors or RUN:LAYER:HEAD:SEQUENCE=FILE.safetensors, such as a:1:0=qkv.safetensors";
  const std::size_t equals = text.find('='), colon = std::min(text.find(':'), text.size());
  if (equals == std::string::npos || colon > equals || !text.ends_with(".safetensors")) refuse("--save-qkv", text, expected);
  QkvFile wanted{.file = text.substr(equals + 1)};
  const std::string run = text.substr(0, colon);
  const TrainRuns runs = runs_of(plan);
  const std::vector<std::string_view> names = names_in(runs.runs);
  const auto place = std::ranges::find(names, run);
  if (place == names.end()) refuse("--save-qkv: run", run, listed(names));
  wanted.run = static_cast<int>(place - names.begin());
  const std::vector<std::string> numbers = split(std::string_view(text).substr(colon + 1, equals - colon - 1), ':');
  if (numbers.size() != 2 && numbers.size() != 3) refuse("--save-qkv", text, expected);
  wanted.layer = whole_number("--save-qkv: layer", numbers[0], 0, plan.model.layers - 1);
  wanted.head = whole_number("--save-qkv: head", numbers[1], 0, plan.model.heads - 1);
  if (numbers.size() == 3) wanted.sequence = whole_number("--save-qkv: sequence", numbers[2], 0, plan.recipe.batch - 1);
  return wanted;
}

/// Everything that is set before the first step.
struct Task {
  TrainPlan plan;
  std::optional<Checkpoint> resumed;
  std::vector<QkvFile> qkv;
  int until = 0, threads = 0;
};

/// Throws if an output could not be written, or would replace an input other than the checkpoint of --resume.
void check_places(const TrainArguments& x, const Task& task, const Streams& streams) {
  std::vector<OutputPlace> others, named = streams.files;
  std::erase_if(named, [](const OutputPlace& place) { return place.option == "--resume"; });
  for (const std::string& file : bundle_files(x.figure)) others.push_back({"--figure", file});
  for (const QkvFile& q : task.qkv) others.push_back({"--save-qkv", q.file});
  check_outputs({{"--checkpoint", x.checkpoint}, {"--json", x.json}, {"--csv", x.csv}}, named, others);
  if (x.checkpoint == "-") refuse("--checkpoint", x.checkpoint, "a file");
  if (!x.save.empty()) check_directory_place("--save", x.save);
  if (!x.figure.empty()) check_bundle_place("--figure", x.figure);
  typed_style(x.style);
  for (const QkvFile& q : task.qkv) check_place("--save-qkv", q.file);
}

/// Sentences on typed options that only other kinds of training use.
std::vector<std::string> options_of_other_kinds(const TrainArguments& x, TrainKind kind) {
  std::vector<std::string> sentences;
  const auto check = [&](const Typed& typed, const char* option, bool used) {
    if (typed && !used) sentences.push_back(fmt::format("{} changes nothing: the kind is {}", option, train_kind_names[kind]));
  };
  check(x.bisect, "--bisect", kind == TrainKind::bisect);
  check(x.with_exact, "--with-exact", may_add_exact(kind));
  return sentences;
}

Task task_of(const TrainArguments& x, const Streams& streams) {
  Task task;
  task.threads = thread_option(x.threads);
  check_device("--device", x.device);
  if (!x.resume.empty()) task.resumed = read_checkpoint(x.resume);
  const TrainPlan* const earlier = task.resumed ? &task.resumed->record.plan : nullptr;
  task.plan = train_plan_of(x, earlier);
  task.until = task.plan.recipe.steps;
  const int least = x.seeds ? 1 : task.resumed ? task.resumed->record.step : 0;  // seeds of no step have no numbers
  if (x.until) task.until = whole_number("--until", *x.until, least, task.plan.recipe.steps);
  for (const std::string& text : x.save_qkv) task.qkv.push_back(qkv_file(text, task.plan));
  check_places(x, task, streams);
  Experiment methods;
  methods.a = task.plan.a.method;
  methods.b = task.plan.b.method;
  tell(options_without_effect(x.methods, methods), streams);
  tell(options_of_other_kinds(x, task.plan.kind), streams);
  const std::string file = x.text.value_or(task.plan.text.file);
  task.plan.text = earlier != nullptr ? read_same_text(earlier->text, file) : read_text(file);
  return task;
}

/// The number of `--seeds`; 0 if it is not given. Throws std::invalid_argument in a sentence, also if an option is given that
/// keeps or needs the state of one training.
int seed_count(const TrainArguments& x) {
  if (!x.seeds) return 0;
  for (const auto& [option, given] :
       {std::pair{"--checkpoint", !x.checkpoint.empty()}, std::pair{"--resume", !x.resume.empty()},
        std::pair{"--save", !x.save.empty()}, std::pair{"--save-qkv", !x.save_qkv.empty()}})
    if (given) refuse("--seeds", *x.seeds, std::string("it without ") + option + ", which is about one training");
  return whole_number("--seeds", *x.seeds, 1, ui::max_train_seeds);
}

/// Progress of a training that began at step `begin`, `seconds` ago.
std::string progress_text(const TrainRecord& r, int begin, int until, double seconds) {
  const double rate = (r.step - begin) / seconds;
  const auto loss = [&](std::size_t run) { return r.runs[run].steps.empty() ? 0 : r.runs[run].steps.back().loss; };
  const std::vector<PairPoint>& points = r.pairs[0].points;
  return fmt::format("step {} of {}, loss of a {:.4f}, of b {:.4f}, relative L2 of a - b {:.3g}, {:.3g} steps/s, {:.0f} s left",
                     r.step, until, loss(0), loss(1), points.empty() ? 0 : points.back().deviations[0].rel_l2, rate,
                     (until - r.step) / rate);
}

/// Keeps states in the file of `--checkpoint`, if given. Warns if a write fails, goes on training, and tries again at the next
/// checkpoint.
class CheckpointSaver {
 public:
  /// `resumed`: file of `--resume`, a state of step `step`; "" if not given.
  CheckpointSaver(const std::string& file, const std::string& resumed, int step, std::ostream& warnings)
      : file_(file), resumed_(resumed), resumed_step_(step), warnings_(warnings) {}
  void keep(const PairedTraining& training) {
    const int step = training.record().step;
    if (file_.empty() || tried_ == step) return;
    tried_ = step;
    try {
      write_checkpoint(file_, training.record(), training.state());
      kept_ = step;
      failure_.clear();
    } catch (const std::runtime_error& error) {
      failure_ = fmt::format("the checkpoint of step {} could not be written ({})", step, error.what());
      warnings_ << "attoscope: warning: " << failure_ << "; training goes on\n" << std::flush;
    }
  }
  bool has_one() const { return kept_ >= 0; }
  /// "the last checkpoint is FILE at step N ...", or a sentence that nothing was kept.
  std::string note() const {
    if (has_one())
      return fmt::format("the last checkpoint is {} at step {}, from which --resume {} goes on", file_, kept_, file_);
    if (!resumed_.empty())
      return fmt::format("nothing was kept since step {}, from which --resume {} goes on", resumed_step_, resumed_);
    return file_.empty() ? "nothing was kept to go on from, expected --checkpoint FILE" : "nothing was kept to go on from";
  }
  /// The failure to write the newest state, and the state that the file has; "" if there was no failure.
  std::string failure() const { return failure_.empty() ? "" : failure_ + "; " + note(); }

 private:
  std::string file_, failure_, resumed_;
  int resumed_step_;
  std::ostream& warnings_;
  int kept_ = -1, tried_ = -1;  ///< last step written, and last step tried
};

/// Trains up to `until`. Returns a sentence on why it ended before, or why the last checkpoint failed; "" if neither.
std::string follow(PairedTraining& training, const Task& task, CheckpointSaver& saver, const Cancelled& cancelled,
                   std::ostream* terminal) {
  ProgressLine line(terminal);
  const int begin = training.record().step;
  const auto step = [&] {
    try {
      return training.step(cancelled);
    } catch (const Stopped&) {
      return false;
    }
  };
  while (training.record().step < task.until && !cancelled() && step()) {
    line.show([&] { return progress_text(training.record(), begin, task.until, line.seconds()); });
    if (training.record().step % task.plan.checkpoint_every == 0) saver.keep(training);
  }
  const std::string diverged = ended(training.record());
  if (diverged.empty() || !saver.has_one()) saver.keep(training);  // keep a state from before the divergence, not the last one
  if (!diverged.empty()) return without_full_stop(diverged) + "; " + saver.note();
  if (training.record().step >= task.until) return saver.failure();
  return fmt::format("stopped at step {} of {}; {}", training.record().step, task.plan.recipe.steps, saver.note());
}

/// "b, seed 2" as a folder.
std::string file_name(std::string name) {
  for (char& c : name)
    if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'))) c = '_';
  return name;
}

void stage_weights(StagedFiles& files, const std::string& directory, const PairedTraining& training) {
  const TrainRecord& record = training.record();
  for (std::size_t run = 0; run < record.runs.size(); ++run) {
    const fs::path folder = fs::path(directory) / file_name(record.runs[run].run.name);
    files.make_directory(folder.string());
    const std::vector<float>& weights = training.weights(static_cast<int>(run));
    for (const ParameterTensor& t : record.parameters.tensors)
      files.add((folder / (file_name(t.name) + ".npy")).string(), npy_bytes(t.rows, t.cols, weights.data() + t.first));
  }
}

/// The JSON that reproduces a record's figure: its plan, or the whole record if the plan does not suffice (forks, unfinished).
Json reproduction(const PairedTraining& training, const Figure& figure) {
  Trained t{training.record(), {}};
  if (!t.record.forks.empty() || !t.record.finished()) return train_json(t.record);
  for (std::size_t i = 0; i < t.record.runs.size(); ++i) t.weights.push_back(training.weights(static_cast<int>(i)));
  AskedFigure asked;
  asked.name = figure.name;
  asked.plan = t.record.plan;
  const std::vector<std::uint64_t> digests = digests_of(t);
  for (std::size_t i = 0; i < digests.size(); ++i) asked.digests.push_back({t.record.runs[i].run.name, digests[i]});
  Json json = asked_json(asked);
  json["caption"] = figure.caption;
  return json;
}

std::string json_of(const TrainRecord& record) { return json_text(train_json(record), -1); }

/// Writes all files together. Returns a sentence if there is no picture, else "".
std::string write_files(const TrainArguments& x, const Task& task, PairedTraining& training) {
  const TrainRecord& record = training.record();
  StagedFiles files;
  if (!x.json.empty() && x.json != "-") files.add(x.json, json_of(record));
  if (!x.csv.empty() && x.csv != "-") files.add(x.csv, train_csv(record));
  if (!x.save.empty()) stage_weights(files, x.save, training);
  for (const QkvFile& q : task.qkv) {
    const auto at = static_cast<std::size_t>(q.run);
    const RunPlan& run = record.runs[at].run;
    const int step = record.runs[at].stopped.empty() ? record.step : training.state().runs[at].step;
    const CapturePlace place{run.name, q.layer, q.head, q.sequence, step};
    files.add(q.file, capture_file(training.captured(q.run, q.layer, q.head, q.sequence), place, run.method));
  }
  std::string no_picture;
  if (!x.figure.empty()) {
    const FigureStyle style = typed_style(x.style);
    const Figure figure = in_style(train_figure(record), style);
    Json json = reproduction(training, figure);
    json["print"] = style_json(style);
    no_picture = stage_unless_interrupted(files, x.figure, figure, json);
  }
  files.commit();
  return no_picture;
}

/// The text for standard output; `why`: why the chosen device is no GPU, or "".
std::string shown_of(const TrainArguments& x, const TrainRecord& record, const std::string& why) {
  if (x.json == "-") return json_of(record);
  if (x.csv == "-") return train_csv(record);
  return train_report(record) + (why.empty() ? "" : fmt::format("\nTrained on {}: {}\n", record.device, why));
}

/// Trains the task, prints and writes the outputs.
void train_and_write(const TrainArguments& x, Task& task, const TrainDevice& device, CheckpointSaver& saver,
                     const Interrupts& interrupts, const Streams& streams) {
  PairedTraining training = task.resumed ? PairedTraining(task.plan, task.resumed->record, task.resumed->state, device)
                                         : PairedTraining(task.plan, device);
  task.resumed.reset();  // the training has its own copy of all weights
  const std::string ended = follow(training, task, saver, [&] { return interrupts.arrived(); }, streams.terminal);
  streams.out << shown_of(x, training.record(), device.why) << std::flush;  // before the files, for which the disk may be full
  const std::string no_picture = write_files(x, task, training);
  if (!ended.empty()) throw std::runtime_error(ended);
  if (!no_picture.empty()) throw std::runtime_error(no_picture);
}

std::string gradient_help(const char* whose) {
  return std::string("where ") + whose + "'s backward pass rounds: " + listed(names_in(grad_policies()), ", ") +
         " (the one that belongs to its policy)";
}

void declare_plan(OptionList& c, TrainArguments& x) {
  c.group("Plan");
  std::string plans;
  for (const NamedPlan& p : named_plans())
    plans += (plans.empty() ? "" : "; ") + std::string(p.name) + ": " + std::string(p.what);
  c.add("--plan", x.plan, "start from a named plan, which the other options then change. " + plans);
  c.group("Text and model");
  c.add("--text", x.text, "file of UTF-8 text to learn (the chronicle, which comes with the program)");
  c.add(model_options, x.of_model).group("Training").add(recipe_options, x.of_recipe);
  c.add("--seeds", x.seeds,
        "number of trainings, from --seed and --data-seed on; prints the least, mean and greatest of every number");
  c.methods(x.methods, "eager");
  c.describe("--set", "one choice on top, such as a.O=fp32, a.grad.dS=fp32, a.grad.delta_from=probabilities; repeatable");
  c.describe("--block-k", "keys of a tile of a and b (32)");
  c.add("--baseline-format", x.baseline_format, "main format of b (a's)");
  c.add("--weights", x.weights, "how weights are stored: exact is fp32, or bf16, bf16/stochastic (exact)");
  c.add("--optimiser", x.optimiser, "how the two moments of AdamW are stored, likewise (exact)");
  c.add("--baseline-weights", x.baseline_weights, "--weights of b alone (a's)");
  c.add("--baseline-optimiser", x.baseline_optimiser, "--optimiser of b alone (a's)");
  c.add("--baseline-gradient", x.baseline_gradient, gradient_help("b"));
  c.group("Method a");
  c.add("--gradient", x.gradient, gradient_help("a"));
  c.add("--exact", x.exact, "LAYER or LAYER:HEAD of a, whose attention rounds nothing but its input; repeatable");
  c.group("Measurement");
  c.add("--kind", x.kind,
        "methods: a and b; reference: also another initialisation and other formats; bisect: also a with one piece at a time "
        "made exact; replay: the direct effect of a's step from b's state (methods)");
  c.add("--bisect", x.bisect, "what is made exact one by one: step, gradient, layer or head (step)");
  c.add("--with-exact", x.with_exact,
        "kinds methods and reference: true trains one more model, b with exact attention, and compares a and b with it; false "
        "saves its time (true)");
  c.add("--measure-every", x.measure_every, "steps between two measurements (10)");
}

void declare(OptionList& c, TrainArguments& x) {
  declare_plan(c, x);
  c.group("Checkpoints");
  c.add("--checkpoint", x.checkpoint,
        "keep the state in this file: every so often, at the end, on a signal; a divergence leaves the last one before it");
  c.add("--checkpoint-every", x.checkpoint_every, "steps between two checkpoints (100)");
  c.add("--resume", x.resume,
        "go on from this checkpoint, with its plan; other options then change it, which is noted as a fork");
  c.add("--until", x.until, "stop after this step, of all --steps");
  c.device(x.device, x.threads, "what trains: auto, cpu, cuda or cuda:K").group("Output");
  c.add("--json", x.json, "write everything to this file, - for standard output");
  c.add("--csv", x.csv, "long table step,pair,tensor,measure,value, - for standard output");
  c.add("--figure", x.figure, figure_help).style(x.style);
  c.add("--save", x.save, "write the final weights to this directory: a .npy of each run's tensor");
  c.add("--save-qkv", x.save_qkv, "RUN:LAYER:HEAD[:SEQUENCE]=FILE.safetensors, Q, K, V for attoscope run --input; repeatable");
  c.quiet();
}

void train_on_device(const TrainArguments& x, const Streams& streams) { train(x, streams); }

}  // namespace

TrainPlan train_plan_of(const TrainArguments& x, const TrainPlan* resumed) {
  if (x.plan && resumed != nullptr) refuse("--plan", *x.plan, "it without --resume, whose plan goes on");
  TrainPlan plan = resumed != nullptr ? *resumed
                   : x.plan           ? of_option("--plan", [&] { return named_plan(*x.plan); })
                                      : default_train_plan();
  set_typed(model_options, x.of_model, settings(plan.model));
  set_typed(recipe_options, x.of_recipe, settings(plan.recipe));
  if (was_typed(x, "--rate") && !was_typed(x, "--final-rate")) plan.recipe.final_rate = plan.recipe.rate / 10;
  const auto set = [&](const char* option, const char* key, const Typed& typed) {
    if (typed) set_field(option, settings(plan), key, *typed);
  };
  set("--kind", "kind", x.kind);
  set("--bisect", "bisect", x.bisect);
  set("--with-exact", "with_exact", x.with_exact);
  set("--measure-every", "measure_every", x.measure_every);
  set("--checkpoint-every", "checkpoint_every", x.checkpoint_every);
  set_train_methods(plan, x, resumed == nullptr && !x.plan);
  set_stored(plan, x);
  validate(plan);
  return plan;
}

void train(const TrainArguments& x, const Streams& streams, const MakeDevice& make) {
  const int seeds = seed_count(x);
  Task task = task_of(x, streams);
  if (seeds > 0) return train_seeds(x, {task.plan, seeds, task.until, task.threads}, streams);
  const Interrupts interrupts;  // must be made before there are threads
  CheckpointSaver saver(x.checkpoint, x.resume, task.resumed ? task.resumed->record.step : 0, streams.warnings);
  try {
    prepare_gpus(x.device, streams, {training_code});
    const TrainDevice device = make(x.device, task.threads);
    train_and_write(x, task, device, saver, interrupts, streams);
  } catch (const DeviceFailure& failure) {
    throw std::runtime_error(without_full_stop(failure.what()) + "; " + saver.note());
  }
}

Command train_command() {
  return command<TrainArguments>("train",
                                 "Train two copies of a small transformer and measure how far their weights drift apart",
                                 declare, train_on_device);
}

}  // namespace attoscope::app
