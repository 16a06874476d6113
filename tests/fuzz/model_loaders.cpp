// Loaders of language models: checkpoints, tokenizers, captured runs. The files are in memory.
#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/model/model_files.h"
#include "app/model/run_words.h"
#include "app/model/tokenizer.h"
#include "kernels/model/model_run.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/memory_file.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

namespace fs = std::filesystem;

constexpr int model_words = 6, model_width = 4, model_inner = 3;

/// A tensor [rows, cols] of small numbers; rows 0: a vector.
FileTensor made_tensor(const std::string& name, int rows, int cols) {
  std::vector<float> x(static_cast<std::size_t>(std::max(rows, 1) * cols));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) / 8 - 0.5F;
  return {name, "F32", rows == 0 ? sizes_text({cols}) : sizes_text({rows, cols}), raw(x)};
}

/// Tensors of a model of one layer, with two heads of Q over one of K and V; `names` in the order of the list.
std::vector<FileTensor> tensors_of(const std::array<const char*, 11>& names) {
  constexpr std::array<std::array<int, 2>, 11> shapes{{{model_words, model_width},
                                                       {0, model_width},
                                                       {0, model_width},
                                                       {model_width, model_width},
                                                       {2, model_width},
                                                       {2, model_width},
                                                       {model_width, model_width},
                                                       {0, model_width},
                                                       {model_inner, model_width},
                                                       {model_inner, model_width},
                                                       {model_width, model_inner}}};
  std::vector<FileTensor> all;
  for (std::size_t i = 0; i < names.size(); ++i) all.push_back(made_tensor(names[i], shapes[i][0], shapes[i][1]));
  return all;
}

/// A config.json with `more` keys, a zero, and a model.safetensors.
std::string checkpoint(const std::string& more) {
  const std::string config = R"({"model_type":"llama","hidden_size":4,"intermediate_size":3,"num_hidden_layers":1,)"
                             R"("num_attention_heads":2,"num_key_value_heads":1,"vocab_size":6,)" +
                             more + R"("rms_norm_eps":1e-5,"max_position_embeddings":64,"tie_word_embeddings":true})";
  return config + '\0' +
         safetensors(tensors_of({"model.embed_tokens.weight", "model.norm.weight", "model.layers.0.input_layernorm.weight",
                                 "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight",
                                 "model.layers.0.self_attn.v_proj.weight", "model.layers.0.self_attn.o_proj.weight",
                                 "model.layers.0.post_attention_layernorm.weight", "model.layers.0.mlp.gate_proj.weight",
                                 "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight"}));
}

std::vector<std::string> checkpoints_of_models() {
  return {checkpoint(""), checkpoint(R"("rope_parameters":{"rope_type":"yarn","factor":4,"rope_theta":1e4,"beta_fast":32},)"),
          checkpoint(R"("rope_scaling":{"rope_type":"longrope","factor":2,"short_factor":[1],"long_factor":[2],)"
                     R"("original_max_position_embeddings":32},)"),
          checkpoint(R"("rope_scaling":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,)"
                     R"("original_max_position_embeddings":32},)"),
          checkpoint(R"("rope_scaling":{"type":"dynamic","factor":2},)")};
}

/// Expects a model whose arrays have the sizes that it states, and whose rotary embedding can be computed.
void expect_whole(const LanguageModel& model) {
  const Architecture& a = model.architecture;
  expect_that(model.layers.size() == static_cast<std::size_t>(a.layers), "another number of layers");
  for (const LayerWeights& layer : model.layers)
    for (std::size_t t = 0; t < layer.size(); ++t) {
      const auto [rows, cols] = shape_of(a, static_cast<LayerTensor>(t));
      expect_that(layer[t].empty() || layer[t].values.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols),
                  "weights of another size than the file says");
    }
  expect_that(rope_table(a.rope, a.head_dim, 3, surroundings("hf_bf16")).cos.size() == at(3 * a.head_dim / 2),
              "a rotary embedding of another size");
}

LanguageModel model_in(std::string_view bytes) {
  static const MemoryFile config({"config.json"}), weights({"model.safetensors"});
  static const TemporaryDirectory folder;
  const std::size_t zero = std::min(bytes.find('\0'), bytes.size());
  const std::string first = config.holding(bytes.substr(0, zero), "config.json"),
                    second = weights.holding(bytes.substr(std::min(zero + 1, bytes.size())), "model.safetensors");
  if (std::error_code error; !fs::exists(folder / "config.json", error)) {
    fs::create_symlink(first, folder / "config.json");
    fs::create_symlink(second, folder / "model.safetensors");
  }
  return read_language_model(folder / ".");
}

void load_models(std::string_view bytes) { expect_whole(model_in(bytes)); }

// --- .gguf ----------------------------------------------------------------------------------------------------------------

std::string gguf_text(const std::string& text) { return little_endian(text.size(), 8) + text; }
std::string gguf_key(const std::string& key, int type, const std::string& value) {
  return gguf_text(key) + little_endian(static_cast<std::uint64_t>(type), 4) + value;
}
std::string gguf_list(const std::string& key, const std::vector<std::string>& texts) {
  std::string values;
  for (const std::string& text : texts) values += gguf_text(text);
  return gguf_key(key, 9, little_endian(8, 4) + little_endian(texts.size(), 8) + values);
}

/// A model with its tokenizer.
std::string whole_gguf() {
  constexpr int u32 = 4, f32 = 6, text = 8, list = 9;
  const auto number = [](std::uint64_t x) { return little_endian(x, 4); };
  const auto real = [](float x) { return little_endian(std::bit_cast<std::uint32_t>(x), 4); };
  const std::vector<std::string> keys{
      gguf_key("general.architecture", text, gguf_text("llama")),
      gguf_key("llama.embedding_length", u32, number(model_width)),
      gguf_key("llama.block_count", u32, number(1)),
      gguf_key("llama.feed_forward_length", u32, number(model_inner)),
      gguf_key("llama.attention.head_count", u32, number(2)),
      gguf_key("llama.attention.head_count_kv", u32, number(1)),
      gguf_key("llama.attention.layer_norm_rms_epsilon", f32, real(1e-5F)),
      gguf_key("llama.rope.freq_base", f32, real(1e4F)),
      gguf_key("tokenizer.ggml.model", text, gguf_text("gpt2")),
      gguf_key("tokenizer.ggml.pre", text, gguf_text("llama-bpe")),
      gguf_list("tokenizer.ggml.tokens", {"a", "b", "1", "\xC4\xA0", "ab",
                                          "\xC4\xA0"
                                          "a",
                                          "<s>"}),
      gguf_list("tokenizer.ggml.merges", {"a b", "\xC4\xA0 a"}),
      gguf_key("tokenizer.ggml.token_type", list,
               little_endian(5, 4) + little_endian(7, 8) + raw(std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, 3}))};
  std::vector<FileTensor> tensors =
      tensors_of({"token_embd.weight", "output_norm.weight", "blk.0.attn_norm.weight", "blk.0.attn_q.weight",
                  "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_norm.weight",
                  "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"});
  tensors.push_back({"rope_freqs.weight", "F32", "[1]", raw(std::vector<float>{2})});
  std::string head = "GGUF" + little_endian(3, 4) + little_endian(tensors.size(), 8) + little_endian(keys.size(), 8), data;
  for (const std::string& key : keys) head += key;
  for (const FileTensor& t : tensors) {
    auto shape = nlohmann::json::parse(t.shape).get<std::vector<std::uint64_t>>();
    std::ranges::reverse(shape);
    head += gguf_text(t.name) + little_endian(shape.size(), 4);
    for (const std::uint64_t size : shape) head += little_endian(size, 8);
    head += little_endian(0, 4) + little_endian(data.size(), 8);
    data += t.bytes;
    data.resize((data.size() + 31) / 32 * 32);
  }
  head.resize((head.size() + 31) / 32 * 32);
  return head + data;
}

/// Cuts a text into the tokenizer's tokens, and looks up their texts.
void use_tokenizer(const Tokenizer& t, std::string_view text) {
  const std::vector<std::string> texts = t.texts();
  for (const int token : t.tokens(text))
    expect_that(token >= 0 && static_cast<std::size_t>(token) < texts.size(), "a token without a text");
}

void load_gguf_models(std::string_view bytes) {
  static const MemoryFile file({"x.gguf"});
  const std::string path = file.holding(bytes, "x.gguf");
  refused_in_a_sentence([](std::string_view name) { expect_whole(read_language_model(std::string(name))); }, path);
  use_tokenizer(read_tokenizer(path), "ab 1  a<s>b");
}

std::vector<std::string> gguf_models() { return {whole_gguf()}; }

// --- tokenizers and captured runs ----------------------------------------------------------------------------------------

void load_tokenizers(std::string_view bytes) {
  static const MemoryFile file({"tokenizer.json"});
  use_tokenizer(read_tokenizer(fs::path(file.holding(bytes, "tokenizer.json")).parent_path().string()),
                "ab 12  a<s>I'll\n\n be \xC3\xA9");
}

std::vector<std::string> tokenizers() {
  std::vector<std::string> seeds;
  for (const char* const name : {"gpt2", "llama3", "qwen2", "smollm"})
    seeds.push_back(read_file(std::string("tests/data/tokenizers/") + name + ".json", 1 << 20));
  return seeds;
}

void load_captured_runs(std::string_view bytes) {
  static const MemoryFile file({"x.safetensors"});
  static const LanguageModel model = model_in(checkpoint(""));
  const std::vector<int> tokens{0, 1, 2};
  const JudgedRun judged = judge_file(file.holding(bytes, "x.safetensors"), model, tokens, Method{}, "fp32", {.threads = 1});
  Json json;
  add_run_json(json, judged, tokens);
  expect_that(!run_conclusion(judged).empty() && !json_text(json).empty(), "a judgement without words");
}

/// A run of vLLM, whose Q, K and V are one tensor and whose heads' inputs are apart; log-probabilities; two calls with padding.
std::vector<std::string> captured_runs() {
  const FileTensor tokens{"tokens", "I32", "[3]", raw(std::vector<std::int32_t>{0, 1, 2})};
  const std::string layer = "model.layers.0.";
  const FileTensor keys{layer + "k_rope", "F32", "[1,2,3,2]", made_tensor("", 2, 6).bytes};
  return {
      safetensors({tokens, made_tensor("model.embed_tokens", 3, model_width), made_tensor(layer + "self_attn.qkv_proj", 3, 8),
                   made_tensor(layer + "q_rope", 3, model_width), keys, made_tensor(layer + "attn_out", 3, model_width),
                   made_tensor(layer + "mlp.gate_up_proj", 3, 2 * model_inner),
                   made_tensor(layer + "mlp.act_fn", 3, model_inner), made_tensor(layer + "output.0", 3, model_width),
                   made_tensor(layer + "output.1", 3, model_width), made_tensor("lm_head", 3, model_words)}),
      safetensors({tokens, {"logprobs", "F32", "[2]", raw(std::vector<float>{-1, -2})}}),
      safetensors({made_tensor("call0.model.embed_tokens", 3, model_width),
                   made_tensor("call1.model.embed_tokens", 5, model_width),
                   made_tensor("call1.model.layers.0.input_layernorm.1", 5, model_width)})};
}

}  // namespace

std::vector<Loader> model_loaders() {
  return {{"models", checked<load_models>, checkpoints_of_models},
          {"gguf_models", checked<load_gguf_models>, gguf_models},
          {"tokenizers", checked<load_tokenizers>, tokenizers},
          {"captured_runs", checked<load_captured_runs>, captured_runs}};
}

}  // namespace attoscope::testing
