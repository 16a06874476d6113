#include "app/model/model_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/model/kept_shares.h"
#include "app/model/model_files.h"
#include "app/model/model_words.h"
#include "app/model/run_words.h"
#include "app/model/tokenizer.h"
#include "app/tensors/exact_tensors.h"
#include "app/tensors/readers.h"
#include "app/threads/job.h"
#include "app/words/numbers.h"
#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/text.h"
#include "kernels/stop_token.h"

namespace attoscope::app {
namespace {

namespace fs = std::filesystem;

std::string name_of(const std::string& checkpoint) {
  if (const auto seed = random_seed(checkpoint)) return fmt::format("random weights of seed {}", *seed);
  const fs::path path = fs::path(checkpoint).has_filename() ? fs::path(checkpoint) : fs::path(checkpoint).parent_path();
  return checkpoint.ends_with(".gguf") ? path.stem().string() : path.filename().string();
}

Architecture described(const std::string& checkpoint, ui::ModelReading& reading) {
  const ModelConfig config = read_model_config(checkpoint);
  const Architecture& a = config.architecture;
  reading.name = name_of(checkpoint);
  reading.layers = a.layers;
  reading.heads = a.heads;
  reading.about = fmt::format("{}: {} layers of {} heads over {}, d {}, width {}, vocabulary {}", config.kind, a.layers,
                              a.heads, a.kv_heads, a.head_dim, a.width, a.vocabulary);
  return a;
}

/// The plan's text; none: its file holds tokens.
std::optional<std::string> text_of(const ui::ModelPlan& plan) {
  constexpr std::uint64_t longest_text = 1 << 22;
  if (plan.text < ui::ModelText::typed) return shipped_text(ui::model_text_names[plan.text]);
  if (plan.text == ui::ModelText::typed) return plan.typed;
  if (plan.file.empty()) throw std::runtime_error("no text file is named, expected one, or a tensor file with tokens");
  const std::string file = with_home(plan.file);
  if (random_seed(file) || is_tensor_file(tensor_ref(file).file)) return std::nullopt;
  return read_file(file, longest_text);
}

/// The bytes if they are UTF-8, else their hexadecimal numbers: a token may end within a character.
std::string shown_bytes(const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto c = decoded(bytes, at);
    if (!c) {
      std::string numbers;
      for (const char byte : bytes) numbers += fmt::format("<{:02X}>", static_cast<unsigned char>(byte));
      return numbers;
    }
    at += c->bytes;
  }
  return bytes;
}

/// The texts of the checkpoint's tokens; null: it has no byte-level tokenizer.
std::shared_ptr<const std::vector<std::string>> words_of(const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return nullptr;
  std::vector<std::string> words = tokenizer->texts();
  for (std::string& word : words) word = shown_bytes(word);
  return std::make_shared<const std::vector<std::string>>(std::move(words));
}

/// The text of a token, or its number if the text is unknown.
std::string token_text(const ui::ModelReading& reading, int token) {
  const bool known = reading.words && token >= 0 && static_cast<std::size_t>(token) < reading.words->size();
  return known ? (*reading.words)[static_cast<std::size_t>(token)] : std::to_string(token);
}

void read_text(const ui::ModelPlan& plan, const std::string& checkpoint, ui::ModelReading& reading) {
  const std::optional<std::string> text = text_of(plan);
  std::optional<Tokenizer> tokenizer;
  if (text && random_seed(checkpoint))
    throw std::runtime_error(checkpoint + ": random weights have no tokenizer, choose file under TEXT and type random:1 there");
  if (text) {
    tokenizer = read_tokenizer(checkpoint);
    reading.tokens = named_in_errors(checkpoint, [&] { return tokenizer->tokens(*text); });
  } else {
    reading.tokens = read_tokens(with_home(plan.file), checkpoint, 0);
    try {
      tokenizer = read_tokenizer(checkpoint);
    } catch (const std::runtime_error&) {  // the window then shows the tokens' numbers
    }
  }
  reading.all_tokens = reading.tokens.size();
  if (plan.limit > 0 && reading.tokens.size() > static_cast<std::size_t>(plan.limit))
    reading.tokens.resize(static_cast<std::size_t>(plan.limit));
  if (reading.tokens.size() < 2)
    throw std::runtime_error(fmt::format("the text has {}, expected 2 or more", counted(std::ssize(reading.tokens), "token")));
  reading.words = words_of(tokenizer ? &*tokenizer : nullptr);
  for (const int token : reading.tokens) reading.text.push_back(token_text(reading, token));
}

Table targets_table(const ui::ModelFound& found, const std::string& a_name, const std::string& b_name) {
  constexpr std::size_t most = 4096;
  Table table{
      .columns =
          {{.key = "place", .meaning = "The place of the token that is predicted, from 1: token 0 has no past."},
           {.key = "token", .meaning = "The token that follows there."},
           {.key = "dlogp_a", .title = "Δ " + a_name, .digits = 3, .meaning = "Its log p minus that of the exact model, nats."},
           {.key = "dlogp_b", .title = "Δ " + b_name, .digits = 3, .meaning = "Its log p minus that of the exact model, nats."},
           {.key = "logp_exact", .title = "log p", .digits = 4, .meaning = "The exact model's log-probability, nats."},
           {.key = "logp_a", .title = "log p, " + a_name, .digits = 4, .meaning = "Its log-probability, nats.", .minor = true},
           {.key = "logp_b", .title = "log p, " + b_name, .digits = 4, .meaning = "Its log-probability, nats.", .minor = true}},
      .rows = {}};
  const std::vector<double>&exact = found.answer->tokens[0].logp, &a = found.answer->tokens[1].logp,
        &b = found.answer->tokens[2].logp;
  for (const std::size_t i : most_moved(*found.answer, most))
    table.rows.push_back(
        {table_cell(i + 1), found.reading->text[i + 1], a[i] - exact[i], b[i] - exact[i], exact[i], a[i], b[i]});
  return table;
}

Table shares_table(const ModelAnswer& answer, ModelPart part) {
  Table table;
  if (part == ModelPart::step) table.columns = {{.key = "step", .meaning = "The rounding step that was left out."}};
  if (part != ModelPart::step) table.columns = {{.key = "layer", .meaning = "The layer that computed exactly."}};
  if (part == ModelPart::head) table.columns.push_back({.key = "head", .meaning = "Its head; the others of the layer round."});
  table.columns.push_back({.key = "share",
                           .title = "share, %",
                           .digits = 3,
                           .meaning =
                               "The part of a's mean |difference of log p| that goes away without it. Shares need not add up "
                               "to 100 %."});
  for (const ModelShare& s : answer.attribution) {
    std::vector<TableCell>& row = table.rows.emplace_back();
    if (part == ModelPart::step) row.emplace_back(s.step);
    if (part != ModelPart::step) row.push_back(table_cell(s.layer));
    if (part == ModelPart::head) row.push_back(table_cell(s.head));
    row.emplace_back(100 * s.share);
  }
  return table;
}

/// [n, heads d] as [heads, n, d].
ExactTensor tensor_of(const std::string& name, const std::vector<double>& x, int n, int heads, int d) {
  ExactTensor t{name, {static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(d)}, {}};
  t.values.reserve(x.size());
  for (int h = 0; h < heads; ++h) {
    const std::vector<double> head = head_columns(x, n, heads, h, d);
    t.values.insert(t.values.end(), head.begin(), head.end());
  }
  return t;
}

}  // namespace

std::string fetched_checkpoint() {
  const std::string points = default_point_cache();
  if (points.empty()) return "";
  const fs::path file = fs::path(points).parent_path() / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf";
  std::error_code error;
  return fs::is_regular_file(file, error) ? file.string() : "";
}

std::string checkpoint_of(const ui::ModelPlan& plan) {
  return plan.checkpoint.empty() ? fetched_checkpoint() : with_home(plan.checkpoint);
}

std::string checkpoint_at(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return fs::exists(fs::path(path) / "config.json", error) ? path : "";
  if (fs::path(path).filename() == "config.json") return fs::path(path).parent_path().string();
  if (!path.ends_with(".gguf")) return "";
  bool is_model = false;
  try {
    const TensorSet set = list_file(path);
    is_model = std::ranges::find(set.tensors, "token_embd.weight", &NamedTensor::name) != set.tensors.end();
  } catch (const std::exception&) {  // opening the file reports the error
  }
  return is_model ? path : "";
}

std::string text_state(const ui::ModelPlan& plan) {
  return plan.text == ui::ModelText::file ? file_state(tensor_ref(with_home(plan.file)).file) : "";
}

ReadPlan read_plan(const ui::ModelPlan& plan) {
  auto reading = std::make_shared<ui::ModelReading>();
  ReadPlan read;
  reading->asked = plan;
  const std::string checkpoint = checkpoint_of(plan);
  reading->wrong = with_full_stop(failure_of([&] {
    if (checkpoint.empty())
      throw std::runtime_error("There is no model yet: app/fetch-model brings SmolLM2-135M (98 MB), or open " +
                               std::string(checkpoint_specs));
    surroundings(plan.around);
    parse_place("only", plan.only);
    read.architecture = described(checkpoint, *reading);
    read_text(plan, checkpoint, *reading);
  }));
  read.reading = std::move(reading);
  return read;
}

ui::ModelFound asked_by(const ui::Session& session, std::shared_ptr<const ui::ModelReading> reading) {
  const Experiment& e = session.experiment;
  const auto name_of = [&](const Method& m) {
    const std::string_view kernel = kernel_name(m, e.problem, e.format);
    return kernel.empty() ? method_name(m) : std::string(kernel);
  };
  return {.reading = std::move(reading),
          .a = e.a,
          .b = e.b,
          .a_name = name_of(e.a),
          .b_name = name_of(e.b),
          .format = e.format,
          .seed = e.problem.seed};
}

bool same_question(const ui::ModelFound& x, const ui::ModelFound& y) {
  return x.reading == y.reading && x.a == y.a && x.b == y.b && x.format == y.format && x.seed == y.seed;
}

ModelQuestion question_of(const ui::ModelFound& found, const LanguageModel& model) {
  ModelQuestion q{.model = &model, .tokens = found.reading->tokens, .a = found.a, .b = found.b, .format = found.format};
  q.seed = found.seed;
  q.around = surroundings(found.reading->asked.around);
  q.only = parse_place("only", found.reading->asked.only);
  q.yardsticks = found.reading->asked.yardsticks;
  return q;
}

/// Judges the captured run in the plan's `against`.
static void compare_run(ui::ModelFound& asked, const ModelQuestion& q, const Options& options) {
  const ui::ModelPlan& plan = asked.reading->asked;
  const std::optional<std::string> around = plan.around == "exact" ? std::nullopt : std::optional(plan.around);
  asked.against_wrong = with_full_stop(failure_of([&] {
    const JudgedRun run = judge_file(with_home(plan.against), *q.model, q.tokens, q.a, around,
                                     Options{.cancelled = options.cancelled, .threads = options.threads, .isa = options.isa});
    asked.against = run_conclusion(run);
    asked.against_lines = run_lines(run);
  }));
}

ui::ModelFound answered(ui::ModelFound asked, const LanguageModel& model, const Options& options) {
  const ModelQuestion q = question_of(asked, model);
  asked.answer = std::make_shared<const ModelAnswer>(answer_model(q, options));
  asked.conclusion = model_conclusion(q, *asked.answer, asked.a_name);
  asked.times = run_times(*asked.answer);
  const bool alike = asked.a_name == asked.b_name;
  const std::string a = asked.a_name + (alike ? " (a)" : ""), b = asked.b_name + (alike ? " (b)" : "");
  asked.runs = runs_table(q, *asked.answer, a, b);
  asked.targets = targets_table(asked, a, b);
  if (!asked.reading->asked.against.empty()) compare_run(asked, q, options);
  return asked;
}

ui::ModelShares attributed(std::shared_ptr<const ui::ModelFound> found, ModelPart part, const LanguageModel& model,
                           const Options& options) {
  ModelQuestion q = question_of(*found, model);
  ModelAnswer whole = *found->answer;
  {
    ModelQuestion parts = q;
    parts.attribute = part;
    parts.yardsticks = false;
    KeptShares kept(default_point_cache(), parts);
    whole.attribution = answer_model(parts, options, kept.memory()).attribution;
  }
  ui::ModelShares shares{.of = found, .part = part};
  shares.conclusion = model_conclusion(q, whole, found->a_name);
  shares.shares = shares_table(whole, part);
  shares.answer = std::make_shared<const ModelAnswer>(std::move(whole));
  return shares;
}

ui::ModelView computed_model(const ui::Session& session, const Options& options) {
  ui::ModelView view{.checkpoint = checkpoint_of(session.model)};
  view.reading = read_plan(session.model).reading;
  if (!view.reading->wrong.empty()) return view;
  view.progress.remark = with_full_stop(failure_of([&] {
    view.found = std::make_shared<const ui::ModelFound>(
        answered(asked_by(session, view.reading), read_language_model(view.checkpoint), options));
  }));
  return view;
}

std::string heads_title(const ui::ModelFound& found, int layer) {
  return fmt::format("{}, layer {}", found.reading->name, layer);
}

std::string heads_file(const ui::ModelFound& found, int layer, const LanguageModel& model, const Options& options) {
  const Architecture& a = model.architecture;
  const int n = static_cast<int>(found.reading->tokens.size());
  const LayerHeads<double> x = on_threads(options.threads, [&] {
    const StopToken stop(options);
    ModelRun<double> run(model, found.reading->tokens, {}, stop);
    std::vector<double> stream = run.embedded();
    for (int l = 0; l < layer; ++l) run.run_layer(l, stream, {});
    return run.heads(layer, stream);
  });
  std::string heads;
  for (int h = 0; h < a.heads; ++h) heads += fmt::format("{}layer{}.head{}", h == 0 ? "" : ",", layer, h);
  return safetensors_bytes({tensor_of("q", x.q, n, a.heads, a.head_dim), tensor_of("k", x.k, n, a.kv_heads, a.head_dim),
                            tensor_of("v", x.v, n, a.kv_heads, a.head_dim)},
                           {{"heads", heads},
                            {"layer", std::to_string(layer)},
                            {"model", found.reading->name},
                            {"title", heads_title(found, layer)},
                            {"tokens", fmt::format("{}", fmt::join(found.reading->tokens, ","))},
                            {"version", ATTOSCOPE_VERSION}});
}

}  // namespace attoscope::app
