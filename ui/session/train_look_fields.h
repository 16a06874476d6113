/// Fields of a TrainLook, listed once.
#pragma once

#include "kernels/train/plan/train_fields.h"
#include "ui/session/train_look.h"

namespace attoscope {

inline constexpr int max_train_seeds = 1000;

template <class V, class L>
void visit_train_look(V& v, L& look) {
  v.choice("measure", look.measure, train_measure_names);
  v.choice("of_runs", look.of_runs, run_measure_names);
  v.choice("picture", look.picture, weight_picture_names);
  v.flag("relative", look.relative);
  v.flag("log_y", look.log_y);
  v.flag("log_runs", look.log_runs);
  v.integer("hidden", look.hidden, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  v.integer("hidden_runs", look.hidden_runs, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  v.flag("worst", look.worst);
  v.integer("pair", look.pair, 0, 1000);
  v.integer("tensor", look.tensor, -1, 1000);
  v.integer("run", look.run, 0, 1000);
  v.integer("layer", look.layer, 0, max_layers - 1);
  v.integer("head", look.head, 0, max_heads - 1);
  v.integer("sequence", look.sequence, 0, max_batch - 1);
  v.integer("step", look.step, -1, max_train_steps);
  v.integer("seeds", look.seeds, 1, max_train_seeds);
}

}  // namespace attoscope
