#include "app/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/bench.h"
#include "app/commands/check_gpu_command.h"
#include "app/commands/dot_command.h"
#include "app/commands/figure_command.h"
#include "app/commands/heads_command.h"
#include "app/commands/invariance_command.h"
#include "app/commands/judge_command.h"
#include "app/commands/kv_command.h"
#include "app/commands/progress_line.h"
#include "app/commands/run_command.h"
#include "app/commands/sweep_command.h"
#include "app/commands/train_command.h"
#include "app/commands/window_commands.h"
#include "app/heads/heads_table.h"
#include "app/json/json.h"
#include "app/link/link_message.h"
#include "app/papers/named.h"
#include "app/session/report.h"
#include "app/session/result_json.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_scales.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/words/devices.h"
#include "app/words/numbers.h"
#include "kernels/arithmetic/accumulator.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/questions/kv_cache.h"
#include "kernels/train/plan/named_plans.h"

namespace attoscope {
namespace {

std::string device_help() { return "what computes: " + std::string(device_specs); }

/// Where progress is shown; null: nowhere.
std::ostream* shown_progress(bool quiet) { return quiet ? nullptr : terminal(); }

/// Everything that can be typed; the chosen command is left in `command`.
struct Invocation {
  explicit Invocation(std::ostream& warnings) : err(warnings) {}

  RunArguments run;
  BenchArguments bench;
  SweepArguments sweep;
  TrainArguments train;
  FigureArguments figure;
  HeadsArguments heads, kv;
  InvarianceArguments invariance;
  RenderArguments render;
  LessonsArguments lessons;
  DotArguments dot;
  CheckGpuArguments check_gpu;
  JudgeArguments judge;
  WindowArguments window;
  OpenArguments open;
  bool presets_as_json = false;
  ExitCode outcome = done;
  std::ostream& err;
  std::function<void(std::ostream&)> command;
};

/// The option of a parameter.
void add_parameter(CLI::App& c, ExperimentOptions& x, const ExperimentParameter& p, const std::string& help) {
  const std::string option = std::string(p.option) + (p.key == "n" ? ",--n-q" : ""), key(p.key);
  if (p.is_flag)
    c.add_flag_callback(option, [&x, key] { x.typed[key] = "true"; }, help);
  else
    c.add_option_function<std::string>(option, [&x, key](const std::string& text) { x.typed[key] = text; }, help);
}
void add_parameter(CLI::App& c, ExperimentOptions& x, const ExperimentParameter& p) { add_parameter(c, x, p, help_of(p)); }

/// The options of one table, each with its place.
template <std::size_t N>
void add_fields(CLI::App& c, const std::array<FieldOption, N>& options, std::array<Typed, N>& typed) {
  for (std::size_t i = 0; i < N; ++i) c.add_option(options[i].option, typed[i], options[i].what);
}

/// An option that may be given several times.
void add_repeatable(CLI::App& c, const char* option, std::vector<std::string>& typed, const std::string& what) {
  c.add_option(option, typed, what + "; repeatable")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Options that are added from here on stand under this heading in the command's help.
void begin_group(CLI::App& c, const char* heading) { c.option_defaults()->group(heading); }

const std::string layout_help = "order of the dimensions of the tensors: " + std::string(layout_specs);

/// The files of the scales of Q, K, V and, where there is one, O.
void add_scales(CLI::App& c, ExperimentOptions& x, std::size_t parts = 3) {
  begin_group(c, "Scales of stored tensors");
  constexpr std::array<const char*, 4> letters{"q", "k", "v", "o"}, called{"Q", "K", "V", "O"};
  for (std::size_t i = 0; i < parts; ++i)
    c.add_option(scale_options[i], x.scales[i],
                 std::string("what ") + called[i] + " is multiplied by: FILE.npy or FILE.safetensors[:TENSOR], behind it [" +
                     std::string(scale_groups) + "] where its shape fits several (for 8 bits, " + letters[i] +
                     "_scale or the like beside " + called[i] + ")");
}

void add_problem(CLI::App& c, ExperimentOptions& x) {
  begin_group(c, "Input");
  c.add_option("--preset", x.preset, "start from a probe (see attoscope presets); the other options then change it");
  add_parameter(c, x, parameter("input"), "Q, K, V: " + std::string(input_specs) + " (normal)");
  c.add_option("--layout", x.layout, layout_help + " (told by the shapes)");
  for (const std::string_view key :
       {"n", "n_k", "d", "d_v", "seed", "scale", "mask", "sink", "softcap", "alibi", "rows", "traced_row"})
    add_parameter(c, x, *find_parameter(key));
  add_scales(c, x);
}

void add_arithmetic(CLI::App& c, ExperimentOptions& x) {
  begin_group(c, "Arithmetic");
  add_parameter(c, x, parameter("format"));
  add_repeatable(c, "--set", x.set, "one choice on top, such as a.O=fp32, b.P=main/stochastic, b.tau=4");
}

/// `usual`: a's policy where none is named. `cut`: also how it cuts the keys.
void add_method_a(CLI::App& c, ExperimentOptions& x, const std::string& usual, bool cut) {
  begin_group(c, "Method a");
  add_parameter(c, x, parameter("algorithm"), "of a: " + listed(algorithm_names) + " (flash2)");
  add_parameter(c, x, parameter("policy"),
                "where a rounds (see attoscope presets); " + usual + ", or base_eager for three_pass");
  for (const std::string_view key : {"block_q", "block_k", "splits", "tau", "tie_beta", "exponential", "exp2_degree",
                                     "p_exponent", "order", "kahan_l", "reverse_keys"})
    if (cut || (key != "block_k" && key != "splits")) add_parameter(c, x, *find_parameter(key));
}

void add_kernel_of_a(CLI::App& c, ExperimentOptions& x) {
  begin_group(c, "Tensor cores, method a");
  c.add_option("--like", x.like,
               "a whole kernel: tiles, roundings, options and its GPU's sums (see attoscope presets), such as fa3_h100; the "
               "other options then change it");
  for (const std::string_view key : {"accumulator", "flush"}) add_parameter(c, x, *find_parameter(key));
  begin_group(c, "Storage with scales, method a");
  for (const std::string_view key : {"scaling.Q", "scaling.K", "scaling.V", "scaling.P", "scaling.hadamard", "scaling.smooth_K",
                                     "scaling.smooth_Q", "scaling.smooth_V", "scaling.smoothed"})
    add_parameter(c, x, *find_parameter(key));
}

/// `usual`: a's policy where none is named.
void add_methods(CLI::App& c, ExperimentOptions& x, const std::string& usual = "hw") {
  add_arithmetic(c, x);
  add_method_a(c, x, usual, true);
  add_kernel_of_a(c, x);
  begin_group(c, "Method b");
  add_parameter(c, x, parameter("baseline"));
}

void add_kernel(CLI::App& c, ExperimentOptions& x) {
  begin_group(c, "Your own kernel");
  c.add_option("--kernel", x.kernel,
               "your own kernel's output on these inputs, in the place of a: " + std::string(kernel_output_specs));
  c.add_option("--kernel-as", x.kernel_as, "which method your kernel's output takes the place of: a or b")
      ->capture_default_str();
}

void add_run(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("run", "Compute one experiment and print how far a and b are from the truth");
  RunArguments& x = typed.run;
  add_problem(c, x);
  add_methods(c, x);
  add_kernel(c, x);
  begin_group(c, "Device");
  c.add_option("--device", x.device, device_help())->capture_default_str();
  c.add_option("--threads", x.threads, "0 is all")->capture_default_str();
  begin_group(c, "Output");
  c.add_flag("--attribute", x.attribute, "print what each rounding step of a costs");
  c.add_option("--json", x.json, "write the result to this file, - for standard output");
  c.add_option("--save", x.save, "write q k v golden a b .npy to this directory");
  add_repeatable(c, "--save-field", x.save_field, "FIELD=FILE.npy, a field of the heat map such as a_error or b_ulps");
  c.callback([&] { typed.command = [&x](std::ostream& out) { run(x, out); }; });
}

std::string axis_help() {
  std::string text = "KEY=VALUES, once or twice: V1,V2 or FIRST:LAST:STEP or FIRST:LAST:xFACTOR; KEY is one of ";
  for (const AxisKey& key : axis_keys()) text += std::string(key.key) + ", ";
  return text + "a.NAME or b.NAME";
}

void add_sweep(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("sweep", "Vary one or two parameters of an experiment, over seeds");
  SweepArguments& x = typed.sweep;
  add_problem(c, x.base);
  add_methods(c, x.base);
  add_kernel(c, x.base);
  begin_group(c, "Sweep");
  c.add_option("--vary", x.vary, axis_help())->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  c.add_option("--seeds", x.seeds, "how many, from --seed on")->capture_default_str();
  c.add_option("--measure", x.measure, "a. b. a_minus_b. or ratio. and a deviation, perhaps /golden; rescales, ...")
      ->capture_default_str();
  c.add_option("--shard", x.shard, "K/N: only every N-th point, from the K-th on");
  c.add_option("--merge", x.merge, "directories that --out wrote: their points as one sweep, nothing is computed");
  c.add_flag("--no-cache", x.no_cache, "compute every point, and keep none");
  begin_group(c, "Device");
  c.add_option("--device", x.device, "what computes: cpu, cuda, cuda:K or a list cuda:0,cuda:1")->capture_default_str();
  c.add_option("--threads", x.threads, "0 is all")->capture_default_str();
  begin_group(c, "Output");
  c.add_option("--csv", x.csv, "table of the measure as CSV, - for standard output");
  c.add_option("--json", x.json, "the same as JSON");
  c.add_option("--markdown", x.markdown, "the same as a Markdown table");
  c.add_option("--latex", x.latex, "the same as a LaTeX table");
  c.add_option("--figure", x.figure,
               "draw it: FILE.pdf, FILE.svg or FILE.png with .csv, .gp and .json beside it, or FILE.zip with all of them");
  c.add_option("--spread", x.spread, "what the figure's bars reach over the seeds: std or min-max")->capture_default_str();
  c.add_flag("--heat-map", x.heat_map, "draw two parameters as a map: the first across, the second down");
  c.add_option("--out", x.out, "directory for the sweep and every number of every point");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
  c.callback([&] { typed.command = [&x](std::ostream& out) { sweep(x, out, shown_progress(x.quiet)); }; });
}

std::string gradient_help(const char* whose) {
  std::string text = std::string("where ") + whose + "'s backward pass rounds: ";
  for (const GradPolicy& p : grad_policies()) text += std::string(p.name) + (&p == &grad_policies().back() ? "" : ", ");
  return text + " (the one that belongs to its policy)";
}

void add_train_plan(CLI::App& c, TrainArguments& x) {
  begin_group(c, "Plan");
  std::string plans;
  for (const NamedPlan& p : named_plans())
    plans += (plans.empty() ? "" : "; ") + std::string(p.name) + ": " + std::string(p.what);
  c.add_option("--plan", x.plan, "start from a named plan, which the other options then change. " + plans);
  begin_group(c, "Text and model");
  c.add_option("--text", x.text, "file of UTF-8 text to learn (the chronicle, which comes with the program)");
  add_fields(c, model_options, x.of_model);
  begin_group(c, "Training");
  add_fields(c, recipe_options, x.of_recipe);
  c.add_option("--seeds", x.seeds,
               "train so often, from --seed and --data-seed on, and tell the least, mean and greatest of every number");
  add_methods(c, x.methods, "eager");
  c.get_option("--set")->description(
      "one choice on top, such as a.O=fp32, a.grad.dS=fp32, a.grad.delta_from=probabilities; repeatable");
  c.get_option("--block-k")->description("keys of a tile of a and b (32)");
  c.add_option("--baseline-format", x.baseline_format, "main format of b (a's)");
  c.add_option("--weights", x.weights, "how weights are stored: exact is fp32, or bf16, bf16/stochastic (exact)");
  c.add_option("--optimiser", x.optimiser, "how the two moments of AdamW are stored, likewise (exact)");
  c.add_option("--baseline-weights", x.baseline_weights, "the same of b alone (a's)");
  c.add_option("--baseline-optimiser", x.baseline_optimiser, "the same of b alone (a's)");
  c.add_option("--baseline-gradient", x.baseline_gradient, gradient_help("b"));
  begin_group(c, "Method a");
  c.add_option("--gradient", x.gradient, gradient_help("a"));
  add_repeatable(c, "--exact", x.exact, "LAYER or LAYER:HEAD of a, whose attention rounds nothing but its input");
  begin_group(c, "Measurement");
  c.add_option("--kind", x.kind,
               "methods: a and b; reference: also another initialisation and other formats; bisect: also a with one piece "
               "at a time made exact; replay: the direct effect of a's step from b's state (methods)");
  c.add_option("--bisect", x.bisect, "what is made exact one by one: step, gradient, layer or head (step)");
  c.add_option("--with-exact", x.with_exact,
               "kinds methods and reference: true trains one more model, b with exact attention, and compares a and b with "
               "it; false saves its time (true)");
  c.add_option("--measure-every", x.measure_every, "steps between two measurements (10)");
}

void add_train(CLI::App& app, Invocation& typed) {
  CLI::App& c =
      *app.add_subcommand("train", "Train two copies of a small transformer and measure how far their weights drift apart");
  TrainArguments& x = typed.train;
  add_train_plan(c, x);
  begin_group(c, "Checkpoints");
  c.add_option(
      "--checkpoint", x.checkpoint,
      "keep the state in this file: every so often, at the end, on a signal; a divergence leaves the last one before it");
  c.add_option("--checkpoint-every", x.checkpoint_every, "steps between two checkpoints (100)");
  c.add_option("--resume", x.resume,
               "go on from this checkpoint, with its plan; other options then change it, which is noted as a fork");
  c.add_option("--until", x.until, "stop after this step, of all --steps");
  begin_group(c, "Device");
  c.add_option("--device", x.device, "what trains: auto, cpu, cuda or cuda:K")->capture_default_str();
  c.add_option("--threads", x.threads, "0 is all")->capture_default_str();
  begin_group(c, "Output");
  c.add_option("--json", x.json, "write everything to this file, - for standard output");
  c.add_option("--csv", x.csv, "long table step,pair,tensor,measure,value, - for standard output");
  c.add_option("--figure", x.figure,
               "draw it: FILE.pdf, FILE.svg or FILE.png with .csv, .gp and .json beside it, or FILE.zip with all of them");
  c.add_option("--save", x.save, "write the final weights to this directory: a .npy of each run's tensor");
  add_repeatable(c, "--save-qkv", x.save_qkv, "RUN:LAYER:HEAD[:SEQUENCE]=FILE.safetensors, Q, K, V for attoscope run --input");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
  c.callback(
      [&] { typed.command = [&x, &err = typed.err](std::ostream& out) { train(x, {out, err, shown_progress(x.quiet)}); }; });
}

void add_figure(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("figure", "Draw an experiment of the papers, with its data, script and JSON");
  FigureArguments& x = typed.figure;
  std::string known;
  for (const NamedFigure& f : named_figures()) known += std::string(f.name) + ", ";
  c.add_option("what", x.what, known + "the .json or .zip of an earlier figure, or a session");
  begin_group(c, "Plots of a session");
  c.add_option("--plot", x.plot,
               "of a session: heat_map, strip, running_max, rescales, row_sum, largest_P, error, ulps, scatter, why, traffic, "
               "sweep, train_deviation, train_runs (these two train the session's plan)");
  c.add_option("--columns", x.columns, "of a page that a plot spans: 1 (85 mm) or 2 (175 mm)");
  begin_group(c, "Figures of the papers");
  c.add_option("--policy", x.policy, "where a rounds (eager)");
  c.add_flag("--all-policies", x.all_policies,
             "draw every flash policy; not of train-weights and train-reference, which train a small model");
  c.add_option("--n", x.n, "tokens (1024); not of training");
  c.add_option("--d", x.d, "head dimension (64); not of training");
  c.add_option("--seeds", x.seeds, "how many (5); not of training");
  c.add_flag("--list", x.list, "only list the figures");
  c.add_flag("--no-cache", x.no_cache, "compute every point, and keep none");
  begin_group(c, "Output");
  c.add_option("--out", x.out, "FILE.pdf, FILE.svg or FILE.png, with .csv, .gp and .json beside it; or FILE.zip");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
  c.callback([&] {
    typed.command = [&x](std::ostream& out) {
      asks_for_plot(x) ? draw_window_plot(x, out) : figure(x, out, shown_progress(x.quiet));
    };
  });
}

void add_presets(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("presets", "List the named policies, whole kernels, and the probes with what to look for");
  c.add_flag("--json", typed.presets_as_json, "as JSON");
  c.callback([&] {
    typed.command = [&typed](std::ostream& out) {
      out << (typed.presets_as_json ? json_text(presets_json()) : presets_report());
    };
  });
}

void add_bench(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("bench", "Time every stage against this machine's own limit");
  c.add_option("--only", typed.bench.only, "stages of the CPU whose names contain this text")->type_name("TEXT");
  c.add_flag("--growth", typed.bench.growth, "also how the cost grows with N, from 256 to 65536");
  c.add_option("--device", typed.bench.device, device_help())->capture_default_str();
  c.add_option("--json", typed.bench.json, "write the rows to this file, - for standard output");
  c.callback([&] { typed.command = [&typed](std::ostream& out) { run_bench(typed.bench, out); }; });
}

void add_render(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand(
      "render",
      "Draw the window to a picture, without a display; a sweep or a training that is shown is computed in full first");
  RenderArguments& x = typed.render;
  c.add_option("session", x.session, "session file (the last one)");
  c.add_option("--out", x.out, "PNG file to write")->required();
  c.add_option("--size", x.size, "WIDTHxHEIGHT in pixels")->capture_default_str();
  c.add_option("--device", x.device, device_help() + " (the session's)");
  c.callback([&] { typed.command = [&x](std::ostream& out) { render_picture(x, out); }; });
}

void add_lessons(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("lessons", "Write the lessons as static pages with their views drawn, without a display");
  c.add_option("--html", typed.lessons.html, "directory for the pages, which is made")->required();
  c.callback([&] { typed.command = [&typed](std::ostream& out) { write_lessons(typed.lessons, out); }; });
}

std::string gpu_help() {
  std::string text;
  for (const TensorCoreText& gpu : tensor_core_texts) text += (text.empty() ? "" : " ") + std::string(gpu.name);
  return "one of " + text;
}

void add_dot(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("dot", "Add up dot products bit for bit as a GPU's tensor cores do, on any machine");
  DotArguments& x = typed.dot;
  c.add_option("GPU", x.gpu, gpu_help())->required();
  begin_group(c, "Input");
  c.add_option("--format", x.format, "of a and b, which are rounded to it first: fp16, bf16, tf32, e4m3 or e5m2")->required();
  c.add_option("--a", x.a, ".npy file of rows x K numbers")->required();
  c.add_option("--b", x.b, ".npy file of as many")->required();
  c.add_option("--c", x.c, ".npy file of one number a row, to start from (0)");
  c.add_option("--result", x.result, "type of sums and of c: f32 or f16")->capture_default_str();
  begin_group(c, "Output");
  c.add_option("--out", x.out, ".npy file for the sums, one a row, in float32")->required();
  c.add_option("--json", x.json, "write the rule and what was rounded to this file, - for standard output");
  c.callback([&] { typed.command = [&x](std::ostream& out) { dot(x, out); }; });
}

void add_check_gpu(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand(
      "check-gpu", "Tell whether your GPU has the CPU's bits, and by whose rule its tensor cores add: exit code 3 is by none");
  CheckGpuArguments& x = typed.check_gpu;
  c.add_option("--device", x.device, "the GPU: cuda or cuda:K")->capture_default_str();
  begin_group(c, "Products");
  c.add_option("--count", x.count, "sums of products of each format, 1 to 1000000")->capture_default_str();
  c.add_option("--seed", x.seed, "of their random numbers")->capture_default_str();
  std::string known;
  for (const ProductKind& kind : product_kinds) known += (known.empty() ? "" : ", ") + name(kind);
  c.add_option("--formats", x.formats, "some of " + known + ", with commas between them (all)");
  begin_group(c, "Output");
  c.add_option("--json", x.json, "write everything to this file, to be sent in, - for standard output");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
  c.callback([&] {
    typed.command = [&typed, &x](std::ostream& out) {
      typed.outcome = check_gpu(x, {out, shown_progress(x.quiet)}) ? done : judged_wrong;
    };
  });
}

void add_judge(CLI::App& app, Invocation& typed) {
  CLI::App& c =
      *app.add_subcommand("judge", "Tell whether your kernel's output is rounded or wrong: exit code 0 is rounded, 3 is wrong");
  JudgeArguments& x = typed.judge;
  begin_group(c, "Tensors");
  constexpr const char* one = " of the call, all heads: FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR";
  c.add_option("--q", x.q, std::string("Q") + one);
  c.add_option("--k", x.k, std::string("K") + one + "; its heads may be fewer than those of Q");
  c.add_option("--v", x.v, std::string("V") + one);
  c.add_option("--o", x.o, std::string("your kernel's output") + one);
  c.add_option("--input", x.input, "FILE.safetensors with those of q, k, v and o that are not named");
  c.add_option("--layout", x.layout, layout_help + " (told by the shapes, else b h n d)");
  c.add_option("--head", x.head, "judge this head alone");
  add_scales(c, x, 4);
  begin_group(c, "What the kernel computes");
  for (const std::string_view key : {"mask", "scale", "softcap", "alibi", "sink"}) add_parameter(c, x, *find_parameter(key));
  begin_group(c, "How it rounds");
  add_parameter(c, x, parameter("format"), "main format D of its P (that of Q, or the narrow one that all its numbers fit)");
  add_parameter(c, x, parameter("policy"),
                "where it rounds (see attoscope presets); without it, as kernels do that keep scores, "
                "max and sums in fp32");
  c.add_option("--like", x.like, "a whole kernel (see attoscope presets), such as fa3_h100");
  begin_group(c, "Device");
  c.add_option("--threads", x.threads, "0 is all")->capture_default_str();
  begin_group(c, "Output");
  c.add_option("--json", x.json, "write the verdict to this file, - for standard output");
  c.add_option("--report", x.report,
               "write a page with the verdict, a map of the errors and how the tolerance came about: FILE.html");
  c.add_flag("--unsaved", x.unsaved, "the files will be gone: the page names no command and no link");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
  c.callback([&] {
    typed.command = [&typed, &x](std::ostream& out) {
      typed.outcome = judge(x, out, shown_progress(x.quiet)) ? done : judged_wrong;
    };
  });
}

/// What commands about all heads of a file share; `measures` are what they sort by, `add` adds what they alone have.
template <class Measures, class Add>
void add_all_heads(CLI::App& c, HeadsArguments& x, const Measures& measures, Add add) {
  c.add_option("file", x.file, "Q, K and V of many heads: " + std::string(tensor_file_specs))->required();
  std::string keys;
  for (const auto& m : measures) keys += (keys.empty() ? "" : ", ") + std::string(m.key);
  begin_group(c, "Heads");
  c.add_option("--layer", x.layer, "only the heads of this layer, by its name or number");
  c.add_option("--sort", x.sort, "by what they are ordered: " + keys)->capture_default_str();
  c.add_flag("--no-cache", x.no_cache, "compute every head, and keep none");
  c.add_option("--top", x.top, "how many are printed; 0 is all")->capture_default_str();
  add();
  c.add_option("--threads", x.threads, "heads computed at a time; 0 is as many as the machine has")->capture_default_str();
  begin_group(c, "Output");
  c.add_option("--csv", x.csv, "write a line for each head to this file, - for standard output");
  c.add_option("--json", x.json, "the same as JSON");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
}

void add_heads(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("heads", "Compute every head of a file and list them, the worst first");
  HeadsArguments& x = typed.heads;
  add_all_heads(c, x, head_measures, [&] {
    add_problem(c, x);
    add_methods(c, x);
    add_kernel(c, x);
    begin_group(c, "Device");
    c.add_option("--device", x.device, device_help())->capture_default_str();
  });
  c.callback([&] { typed.command = [&x](std::ostream& out) { heads(x, out, shown_progress(x.quiet)); }; });
}

void add_kv(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand("kv", "Tell which heads of a file may keep K and V in fewer bits, the worst first");
  HeadsArguments& x = typed.kv;
  x.sort = kv_storages[usual_kv_order].key;
  add_all_heads(c, x, kv_storages, [&] {
    begin_group(c, "What the kernel computes");
    for (const std::string_view key : {"n", "mask", "scale", "softcap", "alibi", "sink", "rows", "block_k"})
      add_parameter(c, x, *find_parameter(key));
    add_scales(c, x);
    begin_group(c, "Device");
  });
  c.callback([&] { typed.command = [&x](std::ostream& out) { kv(x, out, shown_progress(x.quiet)); }; });
}

void add_invariance(CLI::App& app, Invocation& typed) {
  CLI::App& c = *app.add_subcommand(
      "invariance", "Tell whether bits depend on how the keys are cut, which serving engines choose by the batch");
  InvarianceArguments& x = typed.invariance;
  add_problem(c, x);
  begin_group(c, "Schedules");
  c.add_option("--splits", x.splits,
               "runs of tiles, such as 1,2,4; the first is a's own, with which others are compared (1, 2, "
               "4, ... 64 that fit)");
  c.add_option("--block-k", x.block_k, "keys of a tile, such as 64,128; the first is a's own (a's, 32, 64, 128 that fit)");
  c.add_option("--orders", x.orders, "forward,reverse: how the keys are taken; the first is a's own (both)");
  c.add_option("--sums", x.sums, "accumulators, such as fma,h100,a100; the first is a's own, of both products (a's)");
  add_arithmetic(c, x);
  add_method_a(c, x, "hw", false);
  add_kernel_of_a(c, x);
  begin_group(c, "Device");
  c.add_option("--device", x.device, device_help())->capture_default_str();
  c.add_option("--threads", x.threads, "0 is all")->capture_default_str();
  begin_group(c, "Output");
  c.add_option("--csv", x.csv, "write a line for each schedule to this file, - for standard output");
  c.add_option("--json", x.json, "the same, and which have equal bits, as JSON");
  c.add_flag("--quiet", x.quiet, "show no progress (it is shown on terminals only)");
  c.callback([&] { typed.command = [&x](std::ostream& out) { invariance(x, out, shown_progress(x.quiet)); }; });
}

void add_open(CLI::App& app, Invocation& typed) {
  CLI::App& c =
      *app.add_subcommand("open", "Show files in the window that runs, or in one that is started, and return at once");
  OpenArguments& x = typed.open;
  c.add_option("file", x.files, "a session, FILE.safetensors[:HEAD], your kernel's o.npy, q.npy k.npy v.npy o.npy, or a link")
      ->required();
  begin_group(c, "What the kernel computes");
  for (const std::string_view key : link_settings) add_parameter(c, x, *find_parameter(key));
  c.callback([&] { typed.command = [&x](std::ostream&) { send_files(x); }; });
}

/// No subcommand: the window. A word that is no file was meant to be a command.
void open_window_on(const WindowArguments& x) {
  for (const std::string& file : x.files) {
    const bool file_like = file.ends_with(".json") || file.find('/') != std::string::npos;
    std::error_code error;
    if (!file_like && !std::filesystem::exists(file, error))
      throw std::invalid_argument(in_quotes(file) +
                                  " is neither a command (run, sweep, train, figure, presets, bench, dot, check-gpu, judge, "
                                  "heads, kv, invariance, open, "
                                  "render, lessons) nor a session file");
  }
  if (x.files.size() == 2 || x.files.size() > 4)
    throw std::invalid_argument(std::to_string(x.files.size()) +
                                " files were given, expected a session, an output, tensors, or q.npy k.npy v.npy o.npy");
  open_window(x);
}

/// What is typed without a command belongs to the window alone.
void refuse_before_command(const WindowArguments& x) {
  if (!x.files.empty()) throw std::invalid_argument(in_quotes(x.files.front()) + " was not expected before a command");
  if (x.device) throw std::invalid_argument("--device was not expected before a command, expected after it");
}

void check_written(std::ostream& out) {
  if (!out.flush()) throw std::runtime_error("standard output was closed, or is full, before everything was written");
}

/// Parses and runs; CLI's own outcomes (help, version, wrong usage) leave as CLI::ParseError.
void parse_and_run(CLI::App& app, Invocation& typed, const std::vector<std::string>& arguments, std::ostream& out) {
  app.add_option("file", typed.window.files,
                 "what to open in the window: a session (the last one), your kernel's o.npy, or q.npy k.npy v.npy o.npy");
  app.add_option("--device", typed.window.device, device_help() + " (the session's)");
  app.add_flag("--no-link", typed.window.no_link, "do not let attoscope open and Python's view show files in this window");
  add_run(app, typed);
  add_sweep(app, typed);
  add_train(app, typed);
  add_figure(app, typed);
  add_presets(app, typed);
  add_bench(app, typed);
  add_render(app, typed);
  add_lessons(app, typed);
  add_dot(app, typed);
  add_check_gpu(app, typed);
  add_judge(app, typed);
  add_heads(app, typed);
  add_kv(app, typed);
  add_invariance(app, typed);
  add_open(app, typed);
  app.set_version_flag("--version", std::string("attoscope ") + ATTOSCOPE_VERSION, "print the version");
  app.require_subcommand(0, 1);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  if (!typed.command) return open_window_on(typed.window);
  refuse_before_command(typed.window);
  typed.command(out);
  check_written(out);
}

int complain(std::ostream& err, const std::string& sentence, ExitCode code) {
  err << "attoscope: " << printable(sentence) << std::endl;
  return code;
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  CLI::App app("Attoscope: a microscope for attention arithmetic.", "attoscope");
  Invocation typed(err);
  try {
    try {
      parse_and_run(app, typed, arguments, out);
    } catch (const CLI::Success& asked) {  // --help, --version
      app.exit(asked, out, err);
      check_written(out);
    }
    return typed.outcome;
  } catch (const CLI::ParseError& error) {
    return complain(err, std::string(error.what()) + " (see attoscope --help)", wrong_usage);
  } catch (const std::invalid_argument& error) {
    return complain(err, error.what(), wrong_usage);
  } catch (const std::bad_alloc&) {
    return complain(err, "there is not enough memory for this", failed);
  } catch (const std::exception& error) {
    return complain(err, error.what(), failed);
  }
}

}  // namespace attoscope
