/// Computes every head of a file under a and b, one thread per head, keeps their rows on disk, and writes them as tables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/json/json.h"
#include "app/sweep/kept_values.h"
#include "app/tensors/call_files.h"
#include "app/tensors/head_numbers.h"
#include "kernels/compute.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/table.h"
#include "kernels/questions/kv_cache.h"
#include "ui/frame/heads_answer.h"

namespace attoscope::app {

class KeptHeads;

/// Heads to compute, and their experiment.
struct HeadsQuestion {
  Experiment base;            ///< its input names the file; the head in it is ignored
  bool whole = true;          ///< all tokens of each head; else at most the base's n
  std::vector<int> heads;     ///< indices of the heads
  KeptHeads* kept = nullptr;  ///< cache of rows; null: compute all
  HeadNumbers numbers{};      ///< of all heads of the files
};

/// Indices of the heads of a layer given by name ("layer 7") or number (7), or of all heads if it is "". Throws
/// std::invalid_argument with one sentence that lists the layers.
std::vector<int> heads_of_layer(const CallFiles& files, const std::string& layer);

/// The experiment of one head, with tensors read. Throws if it cannot be computed.
Experiment experiment_of_head(const HeadsQuestion& question, const CallFiles& files, int head);

/// Computes every head. Several threads call `found`, one at a time. `options`: threads, device, cancellation. Throws Stopped,
/// or one sentence that names the head that failed.
void compute_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                   const std::function<void(const ui::HeadRow&)>& found);

/// Disk cache of the rows of `compute_heads` and `compute_kv_heads`, beside the points of sweeps. Not cached: the method
/// `hardware`, and scales over all heads, which the input's digest does not distinguish. Thread-safe.
class KeptHeads {
 public:
  /// `directory` empty: caches nothing.
  explicit KeptHeads(const std::string& directory);

  /// The row of the experiment's head, without its number and layer; none: not cached.
  std::optional<ui::HeadRow> find(const Experiment& experiment) const;
  void keep(const Experiment& experiment, const ui::HeadRow& row);
  /// Errors of the head with K and V in fewer bits; none: not cached.
  std::optional<std::vector<double>> find(const Experiment& experiment, const KvRange& layer) const;
  void keep(const Experiment& experiment, const KvRange& layer, const std::vector<double>& errors);

 private:
  KeptValues rows_, errors_;
};

/// Computes every head with every storage; a scale covers all heads of the layer, even those not requested. Several threads
/// call `found`, one at a time. Throws as `compute_heads`.
void compute_kv_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                      const std::function<void(const KvRow&)>& found);

/// A text table of the first `most` heads (0: all): the error of each storage.
std::string kv_report(const std::vector<KvRow>& rows, const CallFiles& files, std::size_t by, std::size_t most);
/// The rows as the table that `kernels/questions/kv_cache.h` defines.
Table kv_table(const std::vector<KvRow>& rows, const CallFiles& files);
/// The rows as JSON, `attoscope.kv/1`.
Json kv_json(const std::vector<KvRow>& rows, const CallFiles& files);

/// A text table of the first `most` heads (0: all), in the given order, and their total number.
std::string heads_report(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const ui::HeadMeasure& by,
                         std::size_t most);

/// A row for each head: head, name, layer, n, d and every measure.
Table heads_table(const std::vector<ui::HeadRow>& rows, const CallFiles& files);

/// The rows as JSON, `attoscope.heads/1`, with the experiment whose input names the file.
Json heads_json(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const Experiment& base);

}  // namespace attoscope::app
