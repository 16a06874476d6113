/// Cache of heads on disk, by their question.
#pragma once

#include <optional>
#include <string>

#include "app/sweep/kept_values.h"
#include "kernels/experiment/experiment.h"
#include "kernels/questions/kv_cache.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

/// Rows of `compute_heads` and `compute_kv_heads`, beside the points of sweeps. Not cached: the method `hardware`, and scales
/// over all heads, which the input's digest does not distinguish. Thread-safe.
class KeptHeads {
 public:
  /// `directory` empty: caches nothing.
  explicit KeptHeads(const std::string& directory);

  /// The row of the experiment's head, without its number and layer; none: not cached.
  std::optional<HeadRow> find(const Experiment& experiment) const;
  void keep(const Experiment& experiment, const HeadRow& row);
  /// Errors of the head with K and V in fewer bits; none: not cached.
  std::optional<std::vector<double>> find(const Experiment& experiment, const KvRange& layer) const;
  void keep(const Experiment& experiment, const KvRange& layer, const std::vector<double>& errors);

 private:
  KeptValues rows_, errors_;
};

}  // namespace attoscope
