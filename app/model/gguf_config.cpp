// The architecture in the metadata of a .gguf.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "app/model/model_files.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {
namespace {

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
  const std::string* const type = m.find(m.key("rope.scaling.type"));
  if (type == nullptr || *type == "none") return r;
  if (*type != "linear") m.refuse(m.key("rope.scaling.type"), "'none' or 'linear'");
  r.scaling = RopeScaling::linear;
  r.factor = m.number("rope.scaling.factor", 1);
  if (!(r.factor >= 1)) m.refuse(m.key("rope.scaling.factor"), "a number of at least 1");
  return r;
}

}  // namespace

Architecture gguf_architecture(const TensorSet& set, const std::string& path, std::string& kind) {
  Metadata m(set, path);
  const std::string* const name = m.find("general.architecture");
  if (name == nullptr || std::ranges::find(gguf_kinds, *name) == gguf_kinds.end())
    m.refuse("general.architecture", listed(gguf_kinds));
  m.begin_with(kind = *name);
  Architecture a;
  a.width = m.whole("embedding_length"), a.layers = m.whole("block_count"), a.inner = m.whole("feed_forward_length");
  a.heads = m.whole("attention.head_count"), a.kv_heads = m.whole("attention.head_count_kv", a.heads);
  a.head_dim = m.whole("attention.key_length", std::max(1, a.width / a.heads));
  if (m.whole("attention.value_length", a.head_dim) != a.head_dim)
    m.refuse(m.key("attention.value_length"), std::to_string(a.head_dim) + ", as many as K has columns");
  a.epsilon = m.number("attention.layer_norm_rms_epsilon", 1e-6);
  a.rope = gguf_rope(m, kind, a.head_dim);
  const auto embedding = std::ranges::find(set.tensors, "token_embd.weight", &NamedTensor::name);
  if (embedding == set.tensors.end() || embedding->tensor.shape.size() != 2)
    throw std::runtime_error(path + ": has no tensor 'token_embd.weight' [vocabulary, " + std::to_string(a.width) +
                             "], expected one");
  a.vocabulary = static_cast<int>(std::min<std::uint64_t>(embedding->tensor.shape[0], 1 << 25));
  try {
    validate(a);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return a;
}

}  // namespace attoscope::app
