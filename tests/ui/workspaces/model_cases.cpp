// The Model workspace: running, attributing and cancelling a random model, and opening its heads in Explore.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/files/files.h"
#include "app/model/model_files.h"
#include "app/tensors/exact_tensors.h"
#include "imgui_internal.h"
#include "kernels/arithmetic/format.h"
#include "kernels/model/model_answer.h"
#include "kernels/stop_token.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/model/panels.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace attoscope::testing {
namespace {

const std::string model_plan = "//Model plan/", model_middle = "//Model/", model_tokens = "//Model tokens/";
constexpr int tiny_layers = 2, tiny_heads = 4, tiny_kv_heads = 2, tiny_width = 24, tiny_inner = 40, tiny_head_dim = 6;

/// A random model in Llama's layout; its tokens are the printable characters.
class TinyCheckpoint {
 public:
  TinyCheckpoint() {
    nlohmann::json vocabulary{{"\xC4\xA0", 0}, {"\xC4\x8A", 1}};
    for (int c = 33; c < 127; ++c) vocabulary[std::string(1, static_cast<char>(c))] = c - 31;
    const auto words = static_cast<std::uint64_t>(vocabulary.size());
    write_file(path("config.json"), nlohmann::json{{"model_type", "llama"},
                                                   {"hidden_size", tiny_width},
                                                   {"intermediate_size", tiny_inner},
                                                   {"num_hidden_layers", tiny_layers},
                                                   {"num_attention_heads", tiny_heads},
                                                   {"num_key_value_heads", tiny_kv_heads},
                                                   {"vocab_size", words},
                                                   {"rms_norm_eps", 1e-5},
                                                   {"rope_theta", 1e4},
                                                   {"max_position_embeddings", 4096},
                                                   {"tie_word_embeddings", true}}
                                        .dump());
    write_file(path("tokenizer.json"),
               nlohmann::json{{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", nlohmann::json::array()}}},
                              {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
                              {"normalizer", nullptr}}
                   .dump());
    add("model.embed_tokens.weight", words, tiny_width, 1);
    add("model.norm.weight", 0, tiny_width, 0);
    for (int l = 0; l < tiny_layers; ++l) add_layer("model.layers." + std::to_string(l) + ".");
    write_file(path("model.safetensors"), safetensors_bytes(tensors_, {}));
  }
  std::string path(const std::string& name = "") const { return folder_ / name; }

 private:
  void add_layer(const std::string& name) {
    const std::uint64_t q = tiny_heads * tiny_head_dim, kv = tiny_kv_heads * tiny_head_dim;
    const double size = 1.5 / std::sqrt(tiny_width);
    add(name + "self_attn.q_proj.weight", q, tiny_width, size);
    add(name + "self_attn.k_proj.weight", kv, tiny_width, size);
    add(name + "self_attn.v_proj.weight", kv, tiny_width, size);
    add(name + "self_attn.o_proj.weight", tiny_width, q, size);
    add(name + "mlp.gate_proj.weight", tiny_inner, tiny_width, size);
    add(name + "mlp.up_proj.weight", tiny_inner, tiny_width, size);
    add(name + "mlp.down_proj.weight", tiny_width, tiny_inner, size);
    add(name + "input_layernorm.weight", 0, tiny_width, 0);
    add(name + "post_attention_layernorm.weight", 0, tiny_width, 0);
  }
  /// Adds a tensor of numbers within +-2 size; rows 0: a vector of ones.
  void add(const std::string& name, std::uint64_t rows, std::uint64_t cols, double size) {
    ExactTensor t{name, {cols}, {}};
    if (rows > 0) t.shape = {rows, cols};
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(rows, 1) * cols; ++i) {
      seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
      const double x = static_cast<double>(seed_ >> 40U) / (1U << 23U) - 1;
      t.values.push_back(rows == 0 ? 1.0 : static_cast<double>(static_cast<float>(2 * size * x)));
    }
    tensors_.push_back(std::move(t));
  }

  const TemporaryDirectory folder_;
  std::vector<ExactTensor> tensors_;
  std::uint64_t seed_ = 11;
};

Session model_session(const TinyCheckpoint& checkpoint, int tokens = 40) {
  Session s = small_session(Workspace::model);
  s.model.checkpoint = checkpoint.path();
  s.model.limit = tokens;
  return s;
}

/// Draws frames until the model is `ready`.
void wait_for(Hand& hand, const std::function<bool(const ModelView&)>& ready, const std::string& what) {
  hand.await(what, [&] { return ready(hand.stage.model().view()); });
}
bool is_read(const ModelView& v) { return v.reading != nullptr && !v.progress.reads; }
bool is_idle(const ModelView& v) { return !v.progress.runs && !v.progress.attributes && !v.progress.opens; }

void open_model_window(Hand& hand, const Session& session) {
  hand.stage.resize(1600, 1000);
  hand.open(session);
  wait_for(hand, is_read, "checkpoint and text are read");
}
void run_model(Hand& hand) {
  const auto before = hand.stage.model().view().found;
  hand.click_at_rest(model_middle + "###run model");
  wait_for(hand, [&](const ModelView& v) { return is_idle(v) && v.found && v.found != before; }, "the model is run");
}

CASE(model, run) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint));
  hand.check(!hand.stage.model().view().found, "nothing runs by itself");
  wait_for(hand, [](const ModelView& v) { return v.progress.expected[0] > 0; }, "its time is known before");
  const auto expected = hand.stage.model().view().progress.expected;
  hand.check(expected[3] > expected[0] && expected[2] > expected[1] && expected[1] > expected[0],
             "attributions take longer, by head longer than by layer");
  run_model(hand);
  ModelView v = hand.stage.model().view();
  const ModelAnswer& x = *v.found->answer;
  hand.check(v.progress.remark.empty() && !v.progress.stale, "without a remark");
  hand.check(v.found->reading->tokens.size() == 40 && x.tokens[2].logp.size() == 39 && x.tokens[0].likeliest.size() == 40,
             "40 tokens are read");
  hand.check(std::ranges::min(x.seconds) > 0 && v.found->times.starts_with("exact "), v.found->times);
  hand.check(v.found->runs.rows.size() == 6 && x.bf16.nll > 0, "with yardsticks");
  hand.check(
      v.found->conclusion.starts_with("flash2 hw moves the median token by ") && has(v.found->conclusion, "bf16 everywhere"),
      v.found->conclusion);
  double largest = 0;
  for (std::size_t i = 0; i < x.dlogp_a.size(); ++i)
    largest = std::max(largest, std::fabs(x.tokens[1].logp[i] - x.tokens[0].logp[i]));
  hand.check(largest == x.a.dlogp_max_abs && largest > 0, "the tokens' numbers are the measures'");
  hand.check(std::fabs(std::get<double>(v.found->targets.rows[0][2])) == largest, "the first target moves most");
  for (std::size_t i = 0; i < x.tokens[0].likeliest.size(); ++i) {
    const auto best = x.tokens[0].likeliest[i];
    hand.check(best[0] >= 0 && best[0] != best[1] && best[1] != best[2] && best[2] >= 0, "three likeliest tokens");
  }
  hand.changes("yardsticks", [&] { hand.click(model_plan + "##yardsticks"); }, [](Session& s) { s.model.yardsticks = false; });
  hand.frames(2);
  hand.check(hand.stage.model().view().progress.stale, "the answer belongs to other settings");
  wait_for(hand, is_read, "they are read");
  const double kl_mean = x.a.kl_mean;
  run_model(hand);
  v = hand.stage.model().view();  // x belongs to the earlier answer
  hand.check(v.found->runs.rows.size() == 4 && v.found->answer->a.kl_mean == kl_mean, "the same without yardsticks");
  hand.check(!has(v.found->conclusion, "bf16"), "the sentence does not mention bf16");
}

/// The folder of a rewritten file keeps its time.
CASE(model, rewritten_weights) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint));
  run_model(hand);
  const double before = hand.stage.model().view().found->answer->exact_nll;
  std::string bytes = read_file(checkpoint.path("model.safetensors"), 1 << 24);
  std::fill(bytes.end() - 4096, bytes.end(), '\0');
  std::ofstream(checkpoint.path("model.safetensors"), std::ios::binary) << bytes;
  run_model(hand);
  hand.check(hand.stage.model().view().found->answer->exact_nll != before, "new weights give another answer");
}

CASE(model, text_without_tokens) {
  const TinyCheckpoint checkpoint;
  Session session = model_session(checkpoint);
  session.model.text = ModelText::typed;
  session.model.typed = "\xC3\xA9";
  open_model_window(hand, session);
  const std::string wrong = hand.stage.model().view().reading->wrong;
  hand.check(wrong.starts_with(checkpoint.path() + ": has no token"), wrong);
}

CASE(model, rewritten_text) {
  const TinyCheckpoint checkpoint;
  Session session = model_session(checkpoint);
  session.model.text = ModelText::file;
  session.model.file = hand.folder / "text.txt";
  write_file(session.model.file, "The first text.");
  open_model_window(hand, session);
  run_model(hand);
  hand.check(!hand.stage.model().view().progress.stale, "the answer is on the first text");
  write_file(session.model.file, "Another text, and longer.");
  hand.frames(2);
  wait_for(hand, is_read, "it is read again");
  hand.check(hand.stage.model().view().progress.stale, "the answer is on an earlier text");
  run_model(hand);
  const ModelView v = hand.stage.model().view();
  hand.check(v.found->reading->tokens.size() == 25 && !v.progress.stale, "the answer is on the new text");
}

CASE(model, random_weights) {
  Session session = small_session(Workspace::model);
  session.model.checkpoint = session.model.file = "random:3";
  session.model.text = ModelText::file;
  session.model.limit = 20;
  open_model_window(hand, session);
  run_model(hand);
  const ModelView v = hand.stage.model().view();
  hand.check(v.progress.remark.empty() && v.found->reading->name == "random weights of seed 3", v.progress.remark);
  hand.check(v.found->reading->tokens.size() == 20 && v.found->reading->all_tokens == 1024, "20 of its 1024 tokens are read");
}

/// Tab goes to the text, an arrow to the next token, and Enter chooses the token.
CASE(model, tokens_by_keys) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint));
  run_model(hand);
  const auto token = [&](int i) { return hand.id("//Model tokens/**/##token " + std::to_string(i)); };
  ImGui::FocusWindow(ImGui::FindWindowByName("Model tokens"));
  for (int i = 0; i < 60 && ImGui::GetCurrentContext()->NavId != token(0); ++i) hand.key(ImGuiKey_Tab);
  hand.check(ImGui::GetCurrentContext()->NavId == token(0), "Tab goes to the first token");
  hand.key(ImGuiKey_RightArrow);
  hand.check(ImGui::GetCurrentContext()->NavId == token(1), "an arrow goes to the second token");
  hand.key(ImGuiKey_Enter);
  hand.frames(2);
  hand.check(hand.stage.state->model->chosen == 1, "Enter chooses the token");
}

/// In large text the answer's parts keep their heights, and the panel scrolls.
CASE(model, large_text) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint));
  run_model(hand);
  hand.stage.resize(1280, 800);
  hand.show(&View::ui_scale, 2.25, 4);
  const ImRect plot = hand.rect(hand.id(model_middle + "growth")), button = hand.rect(hand.id(model_middle + "###by layer"));
  hand.check(plot.GetHeight() > 250, "the plot has " + std::to_string(plot.GetHeight()) + " pixels");
  hand.check(plot.Max.y < button.Min.y, "the plot ends above the buttons");
  hand.check(ImGui::FindWindowByName("Model")->ScrollMax.y > 0, "the panel scrolls");
  ImGuiContext& g = *ImGui::GetCurrentContext();
  for (int i = 0; i < g.Tables.GetMapSize(); ++i)
    if (const ImGuiTable* t = g.Tables.TryGetMapData(i); t != nullptr && t->LastFrameActive >= g.FrameCount - 1)
      hand.check(t->Columns[0].WidthGiven < 0.7f * t->OuterRect.GetWidth(), "names leave room for numbers");
}

CASE(model, tokens_have_contrast) {
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast}) {
    const Palette& p = palette(theme);
    hand.check(contrast_ratio(p.text, mixed(p.panel, p.a, token_fill)) >= 4.5,
               std::string(theme_names[theme]) + ": the most moved token is legible");
  }
}

CASE(model, controls) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint));
  const ImRect above = hand.rect(hand.id(model_plan + "main format/###top code")),
               only = hand.rect(hand.id(model_plan + "##only"));
  hand.check(only.Min.y - above.Max.y > line_height(Face::label) + 2 * ImGui::GetStyle().ItemSpacing.y,
             "the label of only is nearer to its field than to the row above");
  hand.each({{model_plan + "text/licence", [](Session& s) { s.model.text = ModelText::licence; }},
             {model_plan + "text/own", [](Session& s) { s.model.text = ModelText::typed; }},
             {model_plan + "text/file", [](Session& s) { s.model.text = ModelText::file; }},
             {model_plan + "##text file", [](Session& s) { s.model.file = "no.txt"; }, "no.txt"},
             {model_plan + "text/chronicle", [](Session& s) { s.model.text = ModelText::chronicle; }},
             {model_plan + "##only", [](Session& s) { s.model.only = "1:2"; }, "1:2"},
             {model_plan + "around/hf_bf16", [](Session& s) { s.model.around = "hf_bf16"; }},
             {model_plan + "##yardsticks", [](Session& s) { s.model.yardsticks = false; }}});
  hand.click(model_plan + "###around steps");
  hand.frames(2);
  hand.choose("//$FOCUSED/##norm", "fp16", [](Session& s) { s.model.around = "hf_bf16,norm=fp16"; });
  hand.choose("//$FOCUSED/##pieces", "8", [](Session& s) { s.model.around = "hf_bf16,norm=fp16,pieces=8"; });
}

CASE(model, against) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint));
  run_model(hand);
  const std::vector<double> logp = hand.stage.model().view().found->answer->tokens[1].logp;
  const auto compared_with = [&](const std::string& name, std::vector<double> numbers) {
    if (!numbers.empty())
      write_file(hand.folder / name, safetensors_bytes({ExactTensor{"logprobs", {numbers.size()}, numbers}}, {}));
    hand.fill(model_plan + "##against", hand.folder / name);
    hand.check(hand.session().model.against == hand.folder / name, "the session has the file");
    wait_for(hand, is_read, "it is read");
    run_model(hand);
    return hand.stage.model().view().found;
  };
  const auto same = compared_with("same.safetensors", logp);
  hand.check(same->against.starts_with("no tensor of the captured run differs"), same->against + same->against_wrong);
  std::vector<double> moved = logp;
  moved[20] -= 3;
  const auto found = compared_with("moved.safetensors", moved);
  hand.check(found->against.starts_with("the first tensor that differs is logprobs"), found->against + found->against_wrong);
  hand.check(has(found->against_lines, "token    21"), found->against_lines);
  const auto none = compared_with("none.safetensors", {});
  hand.check(none->against.empty() && has(none->against_wrong, "none.safetensors"), none->against_wrong);
  hand.check(none->answer->tokens[1].logp == logp, "the model's own answer stays");
  hand.move(hand.place(model_plan + "##against", 0.5f));
  hand.tell().dragging = true;
  hand.frames(3);
  hand.check(held_over() == FileUse::captured_run, "the field accepts a file held over it");
  hand.stage.told.reset();
  Requests dropped;
  dropped.files.open = FileRequest{FileUse::captured_run, hand.folder / "same.safetensors"};
  handle(dropped, hand.stage.panel_input(), hand.session(), hand.stage.explorer(), hand.stage.exporter);
  hand.check(hand.session().model.against == hand.folder / "same.safetensors", "the session has the dropped file");
}

/// True if something on screen has the colour of errors.
bool shows_red(const Picture& picture) {
  for (std::size_t i = 0; i < picture.rgb.size(); i += 3)
    if (const int red = picture.rgb[i], green = picture.rgb[i + 1], blue = picture.rgb[i + 2];
        red - std::max(green, blue) > 100)
      return true;
  return false;
}

/// A window without a checkpoint says how to get one, which is no error; a wrong path is one.
CASE(model, no_checkpoint_yet) {
  const Environment nowhere("XDG_CACHE_HOME", hand.folder / "cache");
  open_model_window(hand, small_session(Workspace::model));
  hand.check(has(hand.stage.model().view().reading->wrong, "app/fetch-model"), "it says how to get a model");
  hand.check(!shows_red(hand.picture()), "a first visit shows no error");
  hand.fill(model_plan + "##checkpoint", "/nowhere/at/all");
  wait_for(hand, is_read, "it is read");
  hand.frames(2);
  hand.check(shows_red(hand.picture()), "a wrong path is an error");
}

CASE(model, bad_checkpoints) {
  const TinyCheckpoint checkpoint, broken;
  write_file(broken.path("model.safetensors"), "nothing");
  open_model_window(hand, model_session(checkpoint));
  hand.fill(model_plan + "##checkpoint", "/nowhere/at/all");
  wait_for(hand, is_read, "it is read");
  const std::string wrong = hand.stage.model().view().reading->wrong;
  hand.check(has(wrong, "/nowhere/at/all") && wrong.ends_with(".") && wrong.find('\n') == std::string::npos, wrong);
  hand.check(hand.disabled(model_middle + "###run model"), "a missing model cannot be run");
  hand.session().model.checkpoint = broken.path();
  hand.frames(2);
  wait_for(hand, is_read, "config.json is read");
  hand.click_at_rest(model_middle + "###run model");
  wait_for(hand, [](const ModelView& v) { return !v.progress.remark.empty(); }, "its weights are refused");
  const std::string remark = hand.stage.model().view().progress.remark;
  hand.check(has(remark, "model.safetensors") && remark.ends_with("."), remark);
  hand.session().model = model_session(checkpoint).model;
  hand.frames(2);
  wait_for(hand, is_read, "a good one is read");
  run_model(hand);
  hand.check(hand.stage.model().view().progress.remark.empty(), "the good model runs");
}

CASE(model, attribution_and_cancel) {
  const TinyCheckpoint checkpoint;
  const TemporaryDirectory scratch;
  const Environment at_scratch("XDG_CACHE_HOME", scratch / "cache");  // no share is known from an earlier run
  open_model_window(hand, model_session(checkpoint));
  run_model(hand);
  hand.click(model_middle + "###by layer");
  wait_for(hand, [](const ModelView& v) { return v.shares != nullptr; }, "layers are made exact");
  const auto shares = hand.stage.model().view().shares;
  hand.check(shares->part == ModelPart::layer && shares->shares.rows.size() == tiny_layers, "every layer has a share");
  hand.check(has(shares->conclusion, "layer"), shares->conclusion);
  hand.session().model.limit = 3000;  // too long to finish before the click
  hand.frames(2);
  wait_for(hand, is_read, "3000 tokens are read");
  run_model(hand);
  hand.check(!hand.stage.model().view().shares, "an answer begins without shares");
  const auto found = hand.stage.model().view().found;
  hand.click(model_middle + "###by head");
  hand.check(hand.stage.model().view().progress.attributes, "heads are made exact");
  hand.click(model_middle + "###cancel model");
  wait_for(hand, is_idle, "until it is cancelled");
  const ModelView after = hand.stage.model().view();
  hand.check(!after.shares && after.found == found && after.progress.remark.empty(), "the answer stays after cancelling");
}

CASE(model, newest_question) {
  const TinyCheckpoint checkpoint;
  open_model_window(hand, model_session(checkpoint, 900));
  hand.click_at_rest(model_middle + "###run model");
  hand.session().model.limit = 24;
  hand.frames(2);
  wait_for(hand, is_read, "24 tokens are read");
  hand.click_at_rest(model_middle + "###run model");  // the first run may be over
  const auto newest = [](const ModelView& v) { return is_idle(v) && v.found && v.found->reading->tokens.size() == 24; };
  wait_for(hand, newest, "the answer has the newest settings' tokens");
}

CASE(model, head_in_explore) {
  const TinyCheckpoint checkpoint;
  hand.stage.data_directory = hand.folder / "";
  open_model_window(hand, model_session(checkpoint));
  run_model(hand);
  const Session before = hand.session();
  hand.click(model_middle + "**/##head 6");  // layer 1, head 2
  hand.await("Explore is on show", [&] { return hand.view().workspace == Workspace::explore; });
  hand.settle();
  const Experiment& e = hand.experiment();
  const LanguageModel model = read_language_model(checkpoint.path());
  const Cancelled never;
  const StopToken stop(never);
  const std::vector<int> tokens = hand.stage.model().view().found->reading->tokens;
  ModelRun<double> run(model, tokens, {}, stop);
  std::vector<double> x = run.embedded();
  run.run_layer(0, x, {});
  const LayerHeads<double> heads = run.heads(1, x);
  const Tensors* const t = e.problem.input.tensors.get();
  bool same = t != nullptr && e.problem.mask.kind == Mask::Kind::causal && e.a == before.experiment.a && e.problem.n == 40;
  for (int row = 0; same && row < 40; ++row)
    for (int c = 0; c < tiny_head_dim; ++c) {
      const auto at = static_cast<std::size_t>(row * tiny_head_dim + c);
      same &= t->q[at] == heads.q[static_cast<std::size_t>(row * tiny_width + 2 * tiny_head_dim + c)];
      const auto kv = static_cast<std::size_t>(row * tiny_kv_heads * tiny_head_dim + tiny_head_dim + c);
      same &= t->k[at] == heads.k[kv] && t->v[at] == heads.v[kv];
    }
  hand.check(same, "with Q, K and V of the exact model, bit for bit");
  hand.check(e.problem.input.file.starts_with(hand.folder / "") && e.problem.input.index == 2, e.problem.input.file);
  hand.key(undo_key);
  hand.frames(2);
  hand.check(hand.view().workspace == Workspace::model, "undone");
  hand.stage.data_directory.clear();
}

CASE(model, drops) {
  const TinyCheckpoint checkpoint;
  open_files({checkpoint.path("config.json")}, hand.stage.context());
  hand.check(hand.view().workspace == Workspace::model, "a config.json belongs to Model");
  hand.check(hand.session().model.checkpoint + "/" == checkpoint.path() || hand.session().model.checkpoint == checkpoint.path(),
             hand.session().model.checkpoint);
  write_file(checkpoint.path("own.txt"), "a text");
  open_files({checkpoint.path("own.txt")}, hand.stage.context());
  hand.check(hand.session().model.text == ModelText::file && hand.session().model.file == checkpoint.path("own.txt"),
             "a text beside it belongs to Model");
}

}  // namespace
}  // namespace attoscope::testing
