#include "app/model/model_files.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "app/json/json.h"
#include "app/json/json_place.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"
#include "kernels/system_memory.h"
#include "ui/session/session.h"

namespace attoscope::app {
namespace {

namespace fs = std::filesystem;

/// A layer's tensors by Hugging Face's names and by GGUF's, behind "model.layers.N." and "blk.N.".
struct LayerName {
  std::string_view folder, gguf;
};
constexpr std::array<LayerName, layer_tensor_count> layer_names{{{"input_layernorm.weight", "attn_norm.weight"},
                                                                 {"self_attn.q_proj.weight", "attn_q.weight"},
                                                                 {"self_attn.k_proj.weight", "attn_k.weight"},
                                                                 {"self_attn.v_proj.weight", "attn_v.weight"},
                                                                 {"self_attn.q_proj.bias", "attn_q.bias"},
                                                                 {"self_attn.k_proj.bias", "attn_k.bias"},
                                                                 {"self_attn.v_proj.bias", "attn_v.bias"},
                                                                 {"self_attn.q_norm.weight", "attn_q_norm.weight"},
                                                                 {"self_attn.k_norm.weight", "attn_k_norm.weight"},
                                                                 {"self_attn.o_proj.weight", "attn_output.weight"},
                                                                 {"self_attn.o_proj.bias", "attn_output.bias"},
                                                                 {"post_attention_layernorm.weight", "ffn_norm.weight"},
                                                                 {"mlp.gate_proj.weight", "ffn_gate.weight"},
                                                                 {"mlp.up_proj.weight", "ffn_up.weight"},
                                                                 {"mlp.down_proj.weight", "ffn_down.weight"}}};

/// The names of one kind of file.
struct ModelNames {
  std::string embedding, norm, head, layer;
  bool is_gguf;
  std::string of(int l, std::size_t t) const {
    return layer + std::to_string(l) + "." + std::string(is_gguf ? layer_names[t].gguf : layer_names[t].folder);
  }
};
const ModelNames folder_names{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "model.layers.", false};
const ModelNames gguf_names{"token_embd.weight", "output_norm.weight", "output.weight", "blk.", true};

/// The tensors of a model by name, of one file or several.
class ModelTensors {
 public:
  ModelTensors(std::string path, const ModelNames& names) : path_(std::move(path)), names_(names) {}

  void add(const TensorSet& set) {
    for (const NamedTensor& t : set.tensors) add(t);
  }
  void add(const NamedTensor& t) {
    if (!all_.emplace(t.name, t).second) throw std::runtime_error(path_ + ": has tensor " + in_quotes(t.name) + " twice");
  }
  bool has(const std::string& name) const { return all_.contains(name); }

  WeightMatrix read(const std::string& name, std::array<int, 2> shape) {
    const auto found = all_.find(name);
    const std::string expected = shape[0] == 1 ? "[" + std::to_string(shape[1]) + "]"
                                               : "[" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "]";
    if (found == all_.end())
      throw std::runtime_error(path_ + ": has no tensor " + in_quotes(name) + ", expected one of shape " + expected);
    const NamedTensor& t = readable(found->second);
    const StoredTensor& stored = t.tensor;
    if (shape_text(stored.shape) != expected) refuse_shape(stored, expected);
    if (stored.type != ElementType::F32 && stored.type != ElementType::F16 && stored.type != ElementType::BF16)
      throw std::runtime_error(stored.label + " has dtype " + in_quotes(t.dtype) + ", expected F32, F16 or BF16");
    const std::vector<double> x = read_matrix(*t.file, stored, {1, shape[0], shape[1]}, 0);
    used_.insert(name);
    return {shape[0], shape[1], {x.begin(), x.end()}};
  }

  /// Throws if a tensor of a layer was not read: the model has another architecture and computes another function.
  void expect_all_used() const {
    for (const auto& [name, t] : all_)
      if (name.starts_with(names_.layer) && !used_.contains(name) && !name.ends_with("rotary_emb.inv_freq"))
        throw std::runtime_error(path_ + ": has tensor " + in_quotes(name) + ", which this layout or number of layers lacks");
  }

  const ModelNames& names() const { return names_; }

 private:
  std::string path_;
  const ModelNames& names_;
  std::map<std::string, NamedTensor> all_;
  std::set<std::string> used_;
};

/// Throws if the model's weights do not fit into memory.
void check_weights_memory(const Architecture& a, const std::string& path) {
  double count = 2.0 * a.vocabulary * a.width;
  for (std::size_t t = 0; t < layer_tensor_count; ++t) {
    const auto [rows, cols] = shape_of(a, static_cast<LayerTensor>(t));
    count += static_cast<double>(a.layers) * rows * cols;
  }
  const double needed = 4 * count, there = available_bytes();
  if (needed > there)
    throw std::runtime_error(path + ": needs " + shortest(needed) + " bytes of memory, expected at most the " +
                             shortest(there) + " that are free");
}

/// True if the model must have the tensor: Qwen2 the biases of q, k and v, Qwen3 the norms of q and k. In a folder it has no
/// others, because transformers ignores them.
bool is_needed(const ModelConfig& config, LayerTensor t) {
  if (t == LayerTensor::q_norm || t == LayerTensor::k_norm) return config.kind == "qwen3";
  if (t == LayerTensor::o_bias) return config.attention_bias;
  if (is_optional(t)) return config.kind == "qwen2" || config.attention_bias;  // biases of q, k and v
  return true;
}

LanguageModel read_tensors(ModelTensors& tensors, const ModelConfig& config) {
  const ModelNames& names = tensors.names();
  const Architecture& a = config.architecture;
  const std::array<int, 2> words{a.vocabulary, a.width};
  LanguageModel model{a, tensors.read(names.embedding, words), {}, {}, {}};
  for (int l = 0; l < a.layers; ++l) {
    LayerWeights& layer = model.layers.emplace_back();
    for (std::size_t t = 0; t < layer_tensor_count; ++t) {
      const auto which = static_cast<LayerTensor>(t);
      const std::string name = names.of(l, t);
      const bool may_be = names.is_gguf && which != LayerTensor::q_norm && which != LayerTensor::k_norm;
      if (is_needed(config, which) || (may_be && tensors.has(name))) layer[t] = tensors.read(name, shape_of(a, which));
    }
  }
  model.norm = tensors.read(names.norm, {1, a.width});
  if (!config.tied && (!names.is_gguf || tensors.has(names.head))) model.head = tensors.read(names.head, words);
  tensors.expect_all_used();
  return model;
}

constexpr std::string_view index_name = "model.safetensors.index.json", single_name = "model.safetensors";

/// The file of each tensor in an index.
std::map<std::string, std::string> read_index(const fs::path& index) {
  constexpr std::uint64_t longest_index = 1 << 26;
  std::map<std::string, std::string> file_of;
  named_in_errors(index.string(), [&] {
    const nlohmann::json json = parse_json(read_file(index.string(), longest_index), 8);
    const JsonPlace files = JsonPlace(json, "").at("weight_map");
    for (const auto& [name, file] : files.json().items()) file_of[name] = files.at(name).text();
  });
  return file_of;
}

/// Adds the tensors of a folder: of the files in its index, or of model.safetensors.
void list_folder(const fs::path& folder, ModelTensors& tensors) {
  const fs::path index = folder / index_name, single = folder / single_name;
  if (!fs::exists(index)) {
    if (!fs::exists(single))
      throw std::runtime_error(folder.string() +
                               ": has neither model.safetensors nor model.safetensors.index.json, expected one");
    return tensors.add(list_file(single.string()));
  }
  std::map<std::string, TensorSet> sets;
  for (const auto& [name, file] : read_index(index)) {
    if (file.find('/') != file.npos || !file.ends_with(".safetensors"))
      throw std::runtime_error(index.string() + ": " + in_quotes(name) + " lies in " + in_quotes(file) +
                               ", expected a .safetensors file beside the index");
    if (!sets.contains(file)) sets[file] = list_file((folder / file).string());
    const auto found = std::ranges::find(sets[file].tensors, name, &NamedTensor::name);
    if (found == sets[file].tensors.end())
      throw std::runtime_error((folder / file).string() + ": has no tensor " + in_quotes(name) + ", which " +
                               index.filename().string() + " says it has");
    tensors.add(*found);
  }
}

LanguageModel read_folder(const fs::path& folder) {
  const ModelConfig config = config_of_folder(folder.string());
  check_weights_memory(config.architecture, folder.string());
  ModelTensors tensors(folder.string(), folder_names);
  list_folder(folder, tensors);
  return read_tensors(tensors, config);
}

LanguageModel read_gguf(const std::string& path) {
  const TensorSet set = list_file(path);
  ModelConfig config = config_of_gguf(set, path);
  Architecture& a = config.architecture;
  check_weights_memory(a, path);
  ModelTensors tensors(path, gguf_names);
  tensors.add(set);
  if (tensors.has("rope_freqs.weight")) {
    const WeightMatrix divisors = tensors.read("rope_freqs.weight", {1, a.head_dim / 2});
    a.rope.divisors.assign(divisors.values.begin(), divisors.values.end());
  }
  return read_tensors(tensors, config);
}

[[noreturn]] void refuse_checkpoint(const std::string& path) {
  throw std::runtime_error("the model is " + in_quotes(path) + ", expected " + std::string(checkpoint_specs));
}

}  // namespace

std::vector<std::string> files_of_checkpoint(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {};
  std::set<std::string> names{"config.json", "tokenizer.json", std::string(index_name), std::string(single_name)};
  if (const fs::path index = fs::path(folder) / index_name; fs::exists(index, error))
    for (const auto& [tensor, file] : read_index(index)) names.insert(file);
  std::vector<std::string> files;
  for (const std::string& name : names)
    if (const fs::path file = fs::path(folder) / name; fs::exists(file, error)) files.push_back(file.string());
  return files;
}

std::optional<std::uint64_t> random_seed(const std::string& name) {
  if (!name.starts_with(ui::random_name)) return std::nullopt;
  const auto seed = to_number<std::uint64_t>(name.substr(ui::random_name.size()));
  if (!seed)
    throw std::runtime_error("the seed of " + in_quotes(name) + " is wrong, expected " +
                             whole_range_text(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()));
  return seed;
}

LanguageModel read_language_model(const std::string& path) {
  if (const auto seed = random_seed(path)) return random_model(*seed);
  std::error_code error;
  if (fs::is_directory(path, error)) return read_folder(path);
  if (path.ends_with(".gguf")) return read_gguf(path);
  refuse_checkpoint(path);
}

ModelConfig read_model_config(const std::string& path) {
  if (const auto seed = random_seed(path)) return {"not a trained model", random_model(*seed).architecture, true};
  std::error_code error;
  if (fs::is_directory(path, error)) return config_of_folder(path);
  if (path.ends_with(".gguf")) return config_of_gguf(list_file(path), path);
  refuse_checkpoint(path);
}

}  // namespace attoscope::app
