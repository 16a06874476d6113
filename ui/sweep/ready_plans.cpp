// Ready-made plans for the session's experiment.
#include <algorithm>

#include "ui/sweep/panels.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr std::array<ReadyPlan, 9> ready{{
    {"tile size", "Which tile size?",
     "The error over the keys of a tile, beside the baseline's: under many policies larger tiles mean longer chains of rounded "
     "sums.",
     "block_k", "16:1024:x2", "", "", 5, "mean_abs", SweepRelation::absolute, true, false},
    {"format", "Which format?",
     "The error relative to the output for every usual format: each mantissa bit halves it, unless the range ends first.",
     "format", "e4m3,e5m2,fp16,bf16,tf32,fp32", "", "", 3, "mean_abs", SweepRelation::golden, true, false},
    {"bits", "How many mantissa bits?",
     "Each bit halves a rounding error: where the slope changes, the error has another cause.", "mantissa_bits", "2:16", "", "",
     3, "mean_abs", SweepRelation::absolute, true, false},
    {"statement", "Where does the paper's statement turn?",
     "Flash's error over three-pass attention's under every policy and format: below 1, Flash has the smaller error.", "policy",
     "hw,tile,eager,all_tile,all_direct", "format", "bf16,fp16", 5, "mean_abs", SweepRelation::ratio, true, false},
    {"length", "What does length do?", "The ratio of the two errors over N, a line for each policy.", "n", "64:1024:x2",
     "policy", "hw,tile,eager,all_tile", 3, "mean_abs", SweepRelation::ratio, true, false},
    {"tile shape", "Square or long tiles?", "Tiles of one area and five shapes, query rows x keys.", "tile",
     "16x256,32x128,64x64,128x32,256x16", "", "", 5, "mean_abs", SweepRelation::absolute, false, false},
    {"bits and length", "Bits and length",
     "A map of the error over mantissa bits and N: how many bits a longer sequence needs.", "n", "64:1024:x2", "mantissa_bits",
     "4:12", 2, "mean_abs", SweepRelation::golden, true, true},
    {"one step", "What does one step cost?", "Only the running output in four formats; the other steps follow the policy.",
     "a.O", "exact,fp32,fp16,bf16", "", "", 5, "mean_abs", SweepRelation::absolute, true, false},
    {"stale max", "How stale may the max be?", "Rescales of a row over flash4's threshold tau.", "tau", "0,1,2,4,8,16",
     "algorithm", "flash4", 3, "rescales", SweepRelation::absolute, false, false},
}};

}  // namespace

std::span<const ReadyPlan> ready_plans() { return ready; }

SweepPlan plan_of(const ReadyPlan& r, const SweepPlan& before) {
  SweepPlan p;
  p.first = {std::string(r.key), std::string(r.values)};
  p.second = {std::string(r.second_key), std::string(r.second_values)};
  p.seeds = r.seeds;
  p.measure = r.measure;
  p.relation = r.relation;
  p.log_y = r.log_y;
  p.heat_map = r.heat_map;
  p.spread = before.spread;
  return p;
}

void ready_plans_button(const SweepScene& s, float width) {
  if (push_button("ready-made plans###ready plans", false, {width, 0})) ImGui::OpenPopup("ready plans");
  explain("Plans that each answer one question, for the experiment in Explore.");
  const ImGuiViewport* view = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + px(4)}, ImGuiCond_Appearing);
  ImGui::SetNextWindowSizeConstraints({0, 0}, {view->Size.x, view->Size.y - px(36 + 26 + 48)});
  if (!ImGui::BeginPopup("ready plans")) return;
  for (const ReadyPlan& r : ready) {
    const SweepPlan plan = plan_of(r, s.plan());
    if (titled_entry(r.name, r.title, r.sentence, plan == s.plan(), std::min(px(460), view->Size.x - px(60)))) s.plan() = plan;
  }
  ImGui::EndPopup();
}

}  // namespace attoscope::ui
