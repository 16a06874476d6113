/// Names of tensors in dumps of a model's run.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "app/model/captured_run.h"

namespace attoscope {
namespace {

using Part = RunName::Part;

/// A name's end behind its layer, words joined by dots.
struct LayerPart {
  std::string_view text;
  ModelTensor tensor;
  Part part = Part::tensor;
};
constexpr std::array layer_parts{LayerPart{"input_layernorm", ModelTensor::attention_norm},
                                 LayerPart{"attention_norm", ModelTensor::attention_norm},
                                 LayerPart{"attn_norm", ModelTensor::attention_norm},
                                 LayerPart{"ln_1", ModelTensor::attention_norm},
                                 LayerPart{"q_proj", ModelTensor::q},
                                 LayerPart{"wq", ModelTensor::q},
                                 LayerPart{"q", ModelTensor::q},
                                 LayerPart{"k_proj", ModelTensor::k},
                                 LayerPart{"wk", ModelTensor::k},
                                 LayerPart{"k", ModelTensor::k},
                                 LayerPart{"v_proj", ModelTensor::v},
                                 LayerPart{"wv", ModelTensor::v},
                                 LayerPart{"v", ModelTensor::v},
                                 LayerPart{"qcur", ModelTensor::q},
                                 LayerPart{"kcur", ModelTensor::k},
                                 LayerPart{"vcur", ModelTensor::v},
                                 LayerPart{"q_norm", ModelTensor::q_norm},
                                 LayerPart{"q_layernorm", ModelTensor::q_norm},
                                 LayerPart{"k_norm", ModelTensor::k_norm},
                                 LayerPart{"k_layernorm", ModelTensor::k_norm},
                                 LayerPart{"q_rope", ModelTensor::q_rope},
                                 LayerPart{"q_rot", ModelTensor::q_rope},
                                 LayerPart{"k_rope", ModelTensor::k_rope},
                                 LayerPart{"k_rot", ModelTensor::k_rope},
                                 LayerPart{"attn_out", ModelTensor::attention},
                                 LayerPart{"self_attn.attn", ModelTensor::attention},
                                 LayerPart{"core_attention", ModelTensor::attention},
                                 LayerPart{"attn_output", ModelTensor::attention},
                                 LayerPart{"o_proj", ModelTensor::o},
                                 LayerPart{"wo", ModelTensor::o},
                                 LayerPart{"self_attention.linear_proj", ModelTensor::o},
                                 LayerPart{"self_attn", ModelTensor::o},
                                 LayerPart{"self_attention", ModelTensor::o},
                                 LayerPart{"attention", ModelTensor::o},
                                 LayerPart{"residual", ModelTensor::middle},
                                 LayerPart{"ffn_inp", ModelTensor::middle},
                                 LayerPart{"post_attention_layernorm", ModelTensor::mlp_norm},
                                 LayerPart{"ffn_norm", ModelTensor::mlp_norm},
                                 LayerPart{"pre_mlp_layernorm", ModelTensor::mlp_norm},
                                 LayerPart{"ln_2", ModelTensor::mlp_norm},
                                 LayerPart{"gate_proj", ModelTensor::gate},
                                 LayerPart{"w1", ModelTensor::gate},
                                 LayerPart{"ffn_gate", ModelTensor::gate},
                                 LayerPart{"up_proj", ModelTensor::up},
                                 LayerPart{"w3", ModelTensor::up},
                                 LayerPart{"ffn_up", ModelTensor::up},
                                 LayerPart{"act", ModelTensor::gated},
                                 LayerPart{"mlp.act_fn", ModelTensor::gated},
                                 LayerPart{"down_proj", ModelTensor::down},
                                 LayerPart{"w2", ModelTensor::down},
                                 LayerPart{"mlp.linear_fc2", ModelTensor::down},
                                 LayerPart{"ffn_out", ModelTensor::down},
                                 LayerPart{"mlp", ModelTensor::down},
                                 LayerPart{"feed_forward", ModelTensor::down},
                                 LayerPart{"output", ModelTensor::output},
                                 LayerPart{"hidden_states", ModelTensor::output},
                                 LayerPart{"hidden", ModelTensor::output},
                                 LayerPart{"l_out", ModelTensor::output},
                                 LayerPart{"", ModelTensor::output},
                                 LayerPart{"qkv_proj", ModelTensor::q, Part::qkv},
                                 LayerPart{"qkv", ModelTensor::q, Part::qkv},
                                 LayerPart{"gate_up_proj", ModelTensor::gate, Part::gate_up},
                                 LayerPart{"mlp.linear_fc1", ModelTensor::gate, Part::gate_up}};
constexpr std::array whole_parts{LayerPart{"embed_tokens", ModelTensor::embedding},
                                 LayerPart{"word_embeddings", ModelTensor::embedding},
                                 LayerPart{"tok_embeddings", ModelTensor::embedding},
                                 LayerPart{"wte", ModelTensor::embedding},
                                 LayerPart{"embedding", ModelTensor::embedding},
                                 LayerPart{"inp_embd", ModelTensor::embedding},
                                 LayerPart{"norm", ModelTensor::norm},
                                 LayerPart{"final_layernorm", ModelTensor::norm},
                                 LayerPart{"ln_f", ModelTensor::norm},
                                 LayerPart{"result_norm", ModelTensor::norm},
                                 LayerPart{"lm_head", ModelTensor::logits},
                                 LayerPart{"output_layer", ModelTensor::logits},
                                 LayerPart{"logits", ModelTensor::logits},
                                 LayerPart{"result_output", ModelTensor::logits},
                                 LayerPart{"logprobs", ModelTensor::logprobs},
                                 LayerPart{"log_probs", ModelTensor::logprobs},
                                 LayerPart{"prompt_logprobs", ModelTensor::logprobs},
                                 LayerPart{"tokens", ModelTensor::embedding, Part::tokens},
                                 LayerPart{"input_ids", ModelTensor::embedding, Part::tokens}};

/// Lower-case words between dots, colons, commas, spaces, slashes and dashes.
std::vector<std::string> words_of_name(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (std::string_view(".:, /-[]()").find(c) == std::string_view::npos)
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

std::optional<int> number_of(std::string_view word) {
  if (word.empty() || word.size() > 6 || !std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; })) return {};
  return std::stoi(std::string(word));
}

/// "call3": 3; "step3", "pass3" and "forward3" are calls, too.
std::optional<int> call_of(std::string_view word) {
  for (const std::string_view start : {"call", "step", "pass", "forward"})
    if (word.starts_with(start)) {
      std::string_view rest = word.substr(start.size());
      if (rest.starts_with("_")) rest.remove_prefix(1);
      return number_of(rest);
    }
  return {};
}

/// The longest part that these words end with.
template <class Parts>
const LayerPart* part_called(const std::vector<std::string>& words, const Parts& parts, bool whole) {
  std::string joined;
  for (const std::string& w : words) joined += (joined.empty() ? "" : ".") + w;
  const LayerPart* best = nullptr;
  for (const LayerPart& p : parts) {
    const bool is_end = joined.ends_with(p.text) && (joined.size() == p.text.size() ||
                                                     (!p.text.empty() && joined[joined.size() - p.text.size() - 1] == '.'));
    if (is_end && (!whole || joined.size() == p.text.size()) && (best == nullptr || p.text.size() > best->text.size()))
      best = &p;
  }
  return best;
}

/// Takes the layer's number and the words before it out; -1: there is none.
int take_layer(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    for (const std::string_view start : {"layers", "layer", "blocks", "block", "blk", "h"}) {
      if (!word.starts_with(start)) continue;
      std::string_view rest = word.substr(start.size());
      if (rest.starts_with("_")) rest.remove_prefix(1);
      const std::size_t used = rest.empty() ? i + 1 : i;
      const auto layer = rest.empty() && i + 1 < words.size() ? number_of(words[i + 1]) : number_of(rest);
      if (!layer) continue;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(used) + 1);
      return *layer;
    }
  }
  return -1;
}

/// llama.cpp's "attn_norm-7", whose number stands last.
int take_layer_behind(std::vector<std::string>& words) {
  if (words.size() != 2 || !number_of(words[1]) || part_called({words[0]}, layer_parts, true) == nullptr) return -1;
  const int layer = *number_of(words[1]);
  words.pop_back();
  return layer;
}

}  // namespace

bool read_run_name(const std::string& name, RunName& found) {
  found = {};
  std::vector<std::string> words = words_of_name(name);
  std::erase_if(words, [&](const std::string& w) {
    const auto call = call_of(w);
    if (call) found.call = *call;
    return call.has_value();
  });
  if (words.size() > 1 && words.front().starts_with("hidden_states") && number_of(words.back())) {
    const int state = *number_of(words.back());
    found.tensor = state == 0 ? ModelTensor::embedding : ModelTensor::output;
    found.layer = state - 1;
    return true;
  }
  found.layer = take_layer(words);
  if (found.layer < 0) found.layer = take_layer_behind(words);
  if (words.size() > 1 && number_of(words.back())) {
    found.piece = *number_of(words.back());
    words.pop_back();
  }
  if (found.layer >= 0 && words.size() == 1 && number_of(words.back())) {
    found.piece = *number_of(words.back());
    words.clear();
  }
  while (words.size() > 1 && (words.back() == "out" || (words.back() == "output" && found.layer >= 0))) words.pop_back();
  const LayerPart* const part =
      found.layer < 0 ? part_called(words, whole_parts, false) : part_called(words, layer_parts, false);
  if (part == nullptr || (part->text.empty() && !words.empty())) return false;
  found.tensor = part->tensor;
  found.part = part->part;
  return true;
}

}  // namespace attoscope
