/// Names of tensors in dumps of a model's run.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "app/model/captured_run.h"

namespace attoscope::app {
namespace {

using Part = RunName::Part;

/// A part with the endings of its names, separated by spaces; words are joined by dots.
struct RunPart {
  std::string_view ends;
  ModelTensor tensor;
  Part part = Part::tensor;
};
/// Parts named behind a layer's number; a name that ends there denotes the layer's output.
constexpr std::array layer_parts{
    RunPart{"input_layernorm attention_norm attn_norm ln_1", ModelTensor::attention_norm},
    RunPart{"q_proj wq q qcur", ModelTensor::q},
    RunPart{"k_proj wk k kcur", ModelTensor::k},
    RunPart{"v_proj wv v vcur", ModelTensor::v},
    RunPart{"q_norm q_layernorm", ModelTensor::q_norm},
    RunPart{"k_norm k_layernorm", ModelTensor::k_norm},
    RunPart{"q_rope q_rot", ModelTensor::q_rope},
    RunPart{"k_rope k_rot", ModelTensor::k_rope},
    RunPart{"attn_out self_attn.attn core_attention attn_output kqv_out", ModelTensor::attention},
    RunPart{"o_proj wo self_attention.linear_proj self_attn self_attention attention", ModelTensor::o},
    RunPart{"residual ffn_inp", ModelTensor::middle},
    RunPart{"post_attention_layernorm ffn_norm pre_mlp_layernorm ln_2", ModelTensor::mlp_norm},
    RunPart{"gate_proj w1 ffn_gate", ModelTensor::gate},
    RunPart{"up_proj w3 ffn_up", ModelTensor::up},
    RunPart{"act", ModelTensor::gated},
    RunPart{"down_proj w2 mlp.linear_fc2 ffn_out mlp feed_forward", ModelTensor::down},
    RunPart{"output hidden_states hidden l_out", ModelTensor::output},
    RunPart{"qkv_proj qkv", ModelTensor::q, Part::qkv},
    RunPart{"gate_up_proj mlp.linear_fc1", ModelTensor::gate, Part::gate_up},
    RunPart{"mlp.act_fn", ModelTensor::gated, Part::activation}};
constexpr std::array whole_parts{
    RunPart{"embed_tokens word_embeddings tok_embeddings wte embedding inp_embd", ModelTensor::embedding},
    RunPart{"norm final_layernorm ln_f result_norm", ModelTensor::norm},
    RunPart{"lm_head output_layer logits result_output", ModelTensor::logits},
    RunPart{"logprobs log_probs prompt_logprobs", ModelTensor::logprobs},
    RunPart{"tokens input_ids", ModelTensor::embedding, Part::tokens}};

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

/// The part with the longest ending of these words; null: none.
template <class Parts>
const RunPart* part_called(const std::vector<std::string>& words, const Parts& parts) {
  std::string joined;
  for (const std::string& w : words) joined += "." + w;
  const RunPart* best = nullptr;
  std::size_t longest = 0;
  for (const RunPart& p : parts)
    for (std::string_view rest = p.ends; !rest.empty();) {
      const std::string_view end = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), end.size() + 1));
      if (end.size() > longest && joined.ends_with("." + std::string(end))) {
        best = &p;
        longest = end.size();
      }
    }
  return best;
}

/// Removes the layer's number and the words before it, and returns the number; -1: there is none.
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

/// The same for llama.cpp's "attn_norm-7", whose number is last.
int take_layer_behind(std::vector<std::string>& words) {
  if (words.size() != 2 || !number_of(words[1]) || part_called({words[0]}, layer_parts) == nullptr) return -1;
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
    found.is_state = true;
    return true;
  }
  found.layer = take_layer(words);
  const bool is_of_llama_cpp = found.layer < 0 && (found.layer = take_layer_behind(words)) >= 0;
  if (words.size() > 1 && number_of(words.back())) {
    found.piece = *number_of(words.back());
    words.pop_back();
  }
  if (found.layer >= 0 && words.size() == 1 && number_of(words.back())) {
    found.piece = *number_of(words.back());
    words.clear();
  }
  while (words.size() > 1 && (words.back() == "out" || (words.back() == "output" && found.layer >= 0))) words.pop_back();
  if (found.layer >= 0 && words.empty()) {
    found.tensor = ModelTensor::output;
    return true;
  }
  const RunPart* const part = found.layer < 0 ? part_called(words, whole_parts) : part_called(words, layer_parts);
  if (part == nullptr) return false;
  found.tensor = is_of_llama_cpp && words.back() == "attn_out" ? ModelTensor::o : part->tensor;  // after its W_O
  found.part = part->part;
  return true;
}

}  // namespace attoscope::app
