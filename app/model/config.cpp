// The architecture of a model: in a config.json of Hugging Face's transformers, and in the metadata of a .gguf.
#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/json/json.h"
#include "app/json/json_place.h"
#include "app/model/model_files.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {
namespace {

constexpr int most = 1 << 24;
constexpr std::array<std::string_view, 4> config_kinds{"llama", "mistral", "qwen2", "qwen3"};

/// Keys of a config. A key that is absent or null has its default.
class Config {
 public:
  explicit Config(JsonPlace place) : place_(std::move(place)) {}
  bool says(const char* key) const { return place_.json().contains(key); }
  bool has(const char* key) const { return says(key) && !place_.json().at(key).is_null(); }
  JsonPlace at(const char* key) const { return place_.at(key); }
  int whole(const char* key) const { return at(key).whole(1, most); }
  int whole(const char* key, int usual) const { return has(key) ? whole(key) : usual; }
  double number(const char* key, double usual) const { return has(key) ? number(key) : usual; }
  double number(const char* key) const {
    if (!at(key).json().is_number()) at(key).refuse("a number");
    return at(key).json().get<double>();
  }
  double positive(const char* key, double usual) const {
    const double x = number(key, usual);
    if (!(x > 0)) at(key).refuse("a number above 0");
    return x;
  }
  std::string text(const char* key, const char* usual) const { return has(key) ? at(key).text() : usual; }
  bool flag(const char* key, bool usual) const {
    if (!has(key)) return usual;
    if (!at(key).json().is_boolean()) at(key).refuse("true or false");
    return at(key).json().get<bool>();
  }
  std::vector<double> numbers(const char* key, std::size_t count) const {
    at(key).expect_size(count);
    std::vector<double> x;
    for (std::size_t i = 0; i < count; ++i) {
      const JsonPlace number = at(key).at(i);
      if (!number.json().is_number() || !(number.json().get<double>() > 0)) number.refuse("a number above 0");
      x.push_back(number.json().get<double>());
    }
    return x;
  }

 private:
  JsonPlace place_;
};

/// The keys under rope_parameters (transformers 5) or rope_scaling.
void read_scaling(const Config& c, const Config& all, int head_dim, Rope& r) {
  const std::string type = c.has("rope_type") ? c.at("rope_type").text() : c.text("type", "default");
  const auto known = std::ranges::find(rope_scaling_names, type);
  if (known == rope_scaling_names.end())
    c.at(c.has("rope_type") ? "rope_type" : "type").refuse("one of " + listed(rope_scaling_names));
  r.scaling = static_cast<RopeScaling>(known - rope_scaling_names.begin());
  if (r.scaling == RopeScaling::none) return;
  const char* const original = "original_max_position_embeddings";
  const bool says_original = c.has(original) || all.has(original);
  const bool llama3 = r.scaling == RopeScaling::llama3, longrope = r.scaling == RopeScaling::longrope;
  r.original_length = says_original || llama3 ? (c.has(original) ? c : all).whole(original) : r.longest;
  const bool has_ratio = says_original && r.longest > 0 && (longrope || r.scaling == RopeScaling::yarn);
  const double ratio = r.longest / r.original_length;
  r.factor = has_ratio && !c.has("factor") ? ratio : c.number("factor");
  if (!(r.factor >= 1)) c.at("factor").refuse("a number of at least 1");
  if (has_ratio && longrope && r.factor != ratio)
    c.at("factor").refuse(shortest(ratio) + ", max_position_embeddings over " + original);
  if (!(r.original_length >= 1) || (r.scaling == RopeScaling::dynamic && !(r.longest >= 1)))
    throw std::runtime_error(std::string("max_position_embeddings is missing, expected it beside a rope_type of ") + type);
  if (llama3) {
    r.low_factor = c.number("low_freq_factor");
    r.high_factor = c.number("high_freq_factor");
  }
  r.beta_fast = c.positive("beta_fast", r.beta_fast);
  r.beta_slow = c.positive("beta_slow", r.beta_slow);
  r.truncates = c.flag("truncate", true);
  if (c.has("attention_factor")) r.attention_factor = c.positive("attention_factor", 1);
  r.mscale = c.number("mscale", 0);
  r.mscale_all = c.number("mscale_all_dim", 0);
  if (!longrope) return;
  if (!(r.original_length > 1)) (c.has(original) ? c : all).at(original).refuse("a number above 1, whose logarithm divides");
  const auto pairs = static_cast<std::size_t>(head_dim / 2);
  r.short_factors = c.numbers("short_factor", pairs);
  r.long_factors = c.numbers("long_factor", pairs);
}

/// Throws if only some columns of a head are rotated.
void check_columns(const Config& c) {
  if (c.number("partial_rotary_factor", 1) != 1) c.at("partial_rotary_factor").refuse("1");
}

/// Throws unless the keys of a scaling stand in the object itself; other models have an object for each kind of layer.
void check_one_rule(const JsonPlace& scaling) {
  if (!scaling.json().is_object()) scaling.refuse("an object or null");
  for (const auto& [key, value] : scaling.json().items())
    if (value.is_object()) scaling.at(key).refuse("one rule for all layers, directly in " + scaling.path());
}

Rope rope_of(const Config& c, int head_dim) {
  const char* const place = c.has("rope_parameters") ? "rope_parameters" : c.has("rope_scaling") ? "rope_scaling" : nullptr;
  Rope r;
  r.longest = c.has("max_position_embeddings") ? c.whole("max_position_embeddings") : 0;
  r.theta = c.number("rope_theta", 10000);
  check_columns(c);
  if (place == nullptr) return r;
  if (c.has("rope_scaling") && c.at(place).json() != c.at("rope_scaling").json())
    c.at("rope_scaling").refuse("null beside other rope_parameters");
  check_one_rule(c.at(place));
  const Config scaling(c.at(place));
  check_columns(scaling);
  r.theta = scaling.number("rope_theta", r.theta);
  read_scaling(scaling, c, head_dim, r);
  return r;
}

/// Throws for keys whose values mean another function or are of another type.
void check_rest(const Config& c) {
  const std::string act = c.text("hidden_act", "silu");
  if (act != "silu" && act != "swish") c.at("hidden_act").refuse("'silu'");
  if (c.flag("mlp_bias", false)) c.at("mlp_bias").refuse("false");
  if (c.flag("use_sliding_window", false)) c.at("use_sliding_window").refuse("false: every query sees all keys before it");
  if (const std::string kind = c.text("model_type", ""); kind == "mistral") {
    if (!c.says("sliding_window"))
      throw std::runtime_error("sliding_window is missing, expected null: without it transformers has a window of 4096");
    if (c.has("sliding_window")) c.at("sliding_window").refuse("null: every query sees all keys before it");
  } else if (kind != "llama" && c.has("layer_types")) {
    for (std::size_t i = 0; i < c.at("layer_types").size(); ++i) c.at("layer_types").at(i).expect_text("full_attention");
  }
  if (c.has("quantization_config")) c.at("quantization_config").refuse("none: weights of F32, F16 or BF16");
}

ModelConfig config_of(const Config& c) {
  ModelConfig config{.kind = c.at("model_type").text()};
  if (std::ranges::find(config_kinds, config.kind) == config_kinds.end()) c.at("model_type").refuse(listed(config_kinds));
  check_rest(c);
  config.tied = c.flag("tie_word_embeddings", false);
  const bool reads_bias = config.kind == "llama" || config.kind == "qwen3";  // in transformers mistral and qwen2 do not
  config.attention_bias = reads_bias && c.flag("attention_bias", false);
  Architecture& a = config.architecture;
  a.vocabulary = c.whole("vocab_size");
  a.width = c.whole("hidden_size");
  a.layers = c.whole("num_hidden_layers");
  a.heads = c.whole("num_attention_heads");
  a.kv_heads = c.whole("num_key_value_heads", a.heads);
  a.inner = c.whole("intermediate_size");
  a.head_dim = c.whole("head_dim", config.kind == "qwen3" ? 128 : std::max(1, a.width / a.heads));
  a.epsilon = c.number("rms_norm_eps", 1e-6);
  a.rope = rope_of(c, a.head_dim);
  return config;
}

/// Returns the config; throws if its architecture is invalid.
ModelConfig checked(const std::string& file, ModelConfig config) try {
  validate(config.architecture);
  return config;
} catch (const std::invalid_argument& error) {
  throw std::runtime_error(file + ": " + error.what());
}

// --- the metadata of a .gguf ---------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 3> gguf_kinds{"llama", "qwen2", "qwen3"};

class Metadata {
 public:
  Metadata(const TensorSet& set, const std::string& path) : all_(set.metadata), path_(path) {}
  void begin_with(const std::string& kind) { kind_ = kind + "."; }
  const std::string* find(const std::string& key) const {
    const auto found = all_.find(key);
    return found == all_.end() ? nullptr : &found->second;
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const {
    const std::string* const value = find(key);
    throw std::runtime_error(path_ + ": " + key +
                             (value ? " is " + in_quotes(*value) + ", expected " : " is missing, expected ") + expected);
  }
  int whole(const std::string& key) const {
    const std::string* const text = find(kind_ + key);
    const auto value = text ? to_number<int>(*text) : std::nullopt;
    if (!value || *value < 1) refuse(kind_ + key, "a whole number above 0");
    return *value;
  }
  int whole(const std::string& key, int usual) const { return find(kind_ + key) ? whole(key) : usual; }
  /// A number that the file holds in fp32.
  double number(const std::string& key, double usual) const {
    const std::string* const text = find(kind_ + key);
    if (text == nullptr) return usual;
    const auto value = to_number<float>(*text);
    if (!value) refuse(kind_ + key, "a number");
    return *value;
  }
  std::string key(const std::string& name) const { return kind_ + name; }

 private:
  const std::map<std::string, std::string>& all_;
  const std::string& path_;
  std::string kind_;
};

Rope gguf_rope(const Metadata& m, const std::string& kind, int head_dim) {
  Rope r;
  r.theta = m.number("rope.freq_base", 10000);
  r.pairs = kind == "llama" ? RotaryPairs::neighbours : RotaryPairs::halves;
  if (m.whole("rope.dimension_count", head_dim) != head_dim)
    m.refuse(m.key("rope.dimension_count"), std::to_string(head_dim) + ", as many as a head has columns");
  if (m.number("rope.scaling.attn_factor", 1) != 1) m.refuse(m.key("rope.scaling.attn_factor"), "1");
  const std::string* const type = m.find(m.key("rope.scaling.type"));  // llama.cpp scales linearly without it
  if (type != nullptr && *type == "none") return r;
  if (type != nullptr && *type != "linear") m.refuse(m.key("rope.scaling.type"), "'none' or 'linear'");
  const std::string factor = m.find(m.key("rope.scaling.factor")) ? "rope.scaling.factor" : "rope.scale_linear";
  r.factor = m.number(factor, 1);
  if (!(r.factor >= 1)) m.refuse(m.key(factor), "a number of at least 1");
  if (r.factor > 1) r.scaling = RopeScaling::linear;
  return r;
}

}  // namespace

ModelConfig config_of_folder(const std::string& folder) {
  constexpr std::uint64_t longest_config = 1 << 22;
  constexpr int deepest_config = 16;
  const std::string file = (std::filesystem::path(folder) / "config.json").string(), text = read_file(file, longest_config);
  return named_in_errors(file, [&] {
    const nlohmann::json json = parse_json(text, deepest_config);
    return checked(file, config_of(Config({json, ""})));
  });
}

ModelConfig config_of_gguf(const TensorSet& set, const std::string& path) {
  Metadata m(set, path);
  const std::string* const name = m.find("general.architecture");
  if (name == nullptr || std::ranges::find(gguf_kinds, *name) == gguf_kinds.end())
    m.refuse("general.architecture", listed(gguf_kinds));
  m.begin_with(*name);
  ModelConfig config{.kind = *name};
  Architecture& a = config.architecture;
  a.width = m.whole("embedding_length");
  a.layers = m.whole("block_count");
  a.inner = m.whole("feed_forward_length");
  a.heads = m.whole("attention.head_count");
  a.kv_heads = m.whole("attention.head_count_kv", a.heads);
  a.head_dim = m.whole("attention.key_length", std::max(1, a.width / a.heads));
  if (m.whole("attention.value_length", a.head_dim) != a.head_dim)
    m.refuse(m.key("attention.value_length"), std::to_string(a.head_dim) + ", as many as K has columns");
  a.epsilon = m.number("attention.layer_norm_rms_epsilon", 1e-6);
  a.rope = gguf_rope(m, config.kind, a.head_dim);
  const auto embedding = std::ranges::find(set.tensors, "token_embd.weight", &NamedTensor::name);
  if (embedding == set.tensors.end() || embedding->tensor.shape.size() != 2)
    throw std::runtime_error(path + ": has no tensor 'token_embd.weight' [vocabulary, " + std::to_string(a.width) +
                             "], expected one");
  a.vocabulary = static_cast<int>(std::min<std::uint64_t>(embedding->tensor.shape[0], 1 << 25));
  return checked(path, std::move(config));
}

}  // namespace attoscope::app
