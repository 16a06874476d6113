// The text of the arithmetic around attention, there and back.
#include "kernels/model/surroundings.h"

#include <gtest/gtest.h>

#include <string>

namespace attoscope {
namespace {

TEST(Surroundings, TextsGiveWhatTheyCameFrom) {
  for (const std::string text :
       {"exact", "fp32,weights=bf16", "fp32,weights=bf16,norm_weight=exact", "hf_bf16,norm=fp16,logits=exact",
        "hf_bf16,sums=h100", "fused,weights=fp16,norm=fp16,attention=fp16,gated=fp16,sums=v100",
        "exact,pieces=8,variance=unrounded,pairs=halves,loss=512", "fp32,loss=7,loss_exp=e5m2,log_probability=bf16"}) {
    const Surroundings s = surroundings(text);
    const std::string preset = text.substr(0, text.find(','));
    EXPECT_EQ(surroundings(surroundings_text(preset, s)), s) << text << " " << surroundings_text(preset, s);
    for (const std::string_view other : {"exact", "fp32"})
      if (s.in_double == (other == "exact")) {
        EXPECT_EQ(surroundings(surroundings_text(other, s)), s) << text << " from " << other;
      }
  }
  EXPECT_EQ(surroundings_text("fp32", surroundings("fp32,weights=bf16,norm_weight=exact")),
            "fp32,weights=bf16,norm_weight=exact");
  EXPECT_EQ(surroundings_text("hf_bf16", surroundings("hf_bf16")), "hf_bf16");
}

TEST(Surroundings, EveryOfferedChoiceIsRead) {
  for (const AroundChoice& choice : around_choices)
    for (const std::string_view value : choice.offered)
      if (!value.empty()) {
        const Surroundings s = surroundings("hf_bf16," + std::string(choice.name) + "=" + std::string(value));
        EXPECT_EQ(choice.text(s), value) << choice.name;
      }
}

}  // namespace
}  // namespace attoscope
