// Names of tensors in dumps by hooks on modules and by llama.cpp's callback.
#include <gtest/gtest.h>

#include <array>

#include "app/model/captured_run.h"

namespace attoscope::app {
namespace {

using Part = RunName::Part;

struct Named {
  const char* name;
  int layer;
  ModelTensor tensor;
  Part part = Part::tensor;
};

constexpr std::array known{
    // modules of Hugging Face
    Named{"model.embed_tokens", -1, ModelTensor::embedding},
    Named{"model.layers.3.self_attn.q_proj", 3, ModelTensor::q},
    Named{"model.layers.3.self_attn.o_proj", 3, ModelTensor::o},
    Named{"model.layers.3.mlp.act_fn", 3, ModelTensor::gated, Part::activation},
    Named{"model.layers.3.mlp", 3, ModelTensor::down},
    Named{"model.layers.3", 3, ModelTensor::output},
    Named{"hidden_states.0", -1, ModelTensor::embedding},
    Named{"hidden_states.4", 3, ModelTensor::output},
    Named{"lm_head", -1, ModelTensor::logits},
    // modules of vLLM
    Named{"model.layers.3.self_attn.qkv_proj", 3, ModelTensor::q, Part::qkv},
    Named{"model.layers.3.self_attn.attn", 3, ModelTensor::attention},
    Named{"model.layers.3.mlp.gate_up_proj", 3, ModelTensor::gate, Part::gate_up},
    // modules of Megatron
    Named{"decoder.layers.3.self_attention.core_attention", 3, ModelTensor::attention},
    Named{"decoder.layers.3.self_attention.linear_proj", 3, ModelTensor::o},
    Named{"decoder.layers.3.pre_mlp_layernorm", 3, ModelTensor::mlp_norm},
    Named{"decoder.layers.3.mlp.linear_fc2", 3, ModelTensor::down},
    Named{"decoder.final_layernorm", -1, ModelTensor::norm},
    // modules of Meta
    Named{"layers.3.attention.wq", 3, ModelTensor::q},
    Named{"layers.3.feed_forward.w2", 3, ModelTensor::down},
    Named{"tok_embeddings", -1, ModelTensor::embedding},
    // names in llama.cpp's callback
    Named{"inp_embd", -1, ModelTensor::embedding},
    Named{"attn_norm-3", 3, ModelTensor::attention_norm},
    Named{"Qcur-3", 3, ModelTensor::q},
    Named{"kqv_out-3", 3, ModelTensor::attention},
    Named{"attn_out-3", 3, ModelTensor::o},
    Named{"ffn_inp-3", 3, ModelTensor::middle},
    Named{"ffn_out-3", 3, ModelTensor::down},
    Named{"l_out-3", 3, ModelTensor::output},
    Named{"result_norm", -1, ModelTensor::norm},
    Named{"result_output", -1, ModelTensor::logits},
};

TEST(RunNames, AreThoseOfCommonDumps) {
  for (const Named& x : known) {
    RunName found;
    ASSERT_TRUE(read_run_name(x.name, found)) << x.name;
    EXPECT_EQ(found.layer, x.layer) << x.name;
    EXPECT_EQ(found.tensor, x.tensor) << x.name;
    EXPECT_EQ(found.part, x.part) << x.name;
  }
}

/// Megatron interleaves Q, K and V by group: the name linear_qkv is not accepted as the usual order.
TEST(RunNames, OthersAreNotGuessed) {
  RunName found;
  for (const char* const name : {"decoder.layers.3.self_attention.linear_qkv", "optimizer.step", "layers.3.rotary_emb"})
    EXPECT_FALSE(read_run_name(name, found)) << name;
}

}  // namespace
}  // namespace attoscope::app
