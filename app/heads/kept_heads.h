/// What was found of heads, on disk: found again by what was asked of them.
#pragma once

#include <optional>
#include <string>

#include "app/sweep/kept_values.h"
#include "kernels/experiment/experiment.h"
#include "kernels/questions/kv_cache.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

/// Rows of `compute_heads` and `compute_kv_heads`, beside the points of sweeps. Nothing is kept of a method that is `hardware`,
/// nor of one whose scales are of all heads, which the input's digest does not tell apart. From any thread.
class KeptHeads {
 public:
  /// `directory` empty: remembers nothing.
  explicit KeptHeads(const std::string& directory);

  /// The row of the experiment's head, its number and its layer left open; none where it is not known.
  std::optional<HeadRow> find(const Experiment& experiment) const;
  void keep(const Experiment& experiment, const HeadRow& row);
  /// The errors of its K and V kept in fewer bits.
  std::optional<std::vector<double>> find(const Experiment& experiment, const KvRange& layer) const;
  void keep(const Experiment& experiment, const KvRange& layer, const std::vector<double>& errors);

 private:
  KeptValues rows_, errors_;
};

}  // namespace attoscope
