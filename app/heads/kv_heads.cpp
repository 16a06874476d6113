#include "app/heads/kv_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "app/heads/heads_table.h"
#include "app/heads/kept_heads.h"
#include "app/threads/each_head.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"

namespace attoscope {
namespace {

/// All heads of the layers of these heads.
std::vector<int> heads_beside(const std::vector<int>& heads, const CallFiles& files) {
  std::set<int> layers;
  for (const int head : heads) layers.insert(files.layer_index(head));
  std::vector<int> all;
  for (const int i : layers) {
    const CallFiles::Layer& layer = files.layers()[static_cast<std::size_t>(i)];
    for (int h = 0; h < layer.q.count(); ++h) all.push_back(layer.first + h);
  }
  return all;
}

/// Largest K and V over all heads of each requested layer.
std::vector<KvRange> ranges_of_layers(const HeadsQuestion& question, const CallFiles& files, const Options& options) {
  std::vector<KvRange> ranges(files.layers().size());
  std::mutex mutex;
  each_head(heads_beside(question.heads, files), options, [&](int head, const Options&) {
    const KvRange own = kv_range(files.inputs(head));
    const std::lock_guard lock(mutex);
    KvRange& all = ranges[static_cast<std::size_t>(files.layer_index(head))];
    all = {std::max(all.K, own.K), std::max(all.V, own.V)};
  });
  return ranges;
}

}  // namespace

std::size_t kv_storage(std::string_view key) {
  const auto* const found = std::ranges::find(kv_storages, key, &KvStorage::key);
  if (found != kv_storages.end()) return static_cast<std::size_t>(found - kv_storages.begin());
  std::vector<std::string_view> known;
  for (const KvStorage& s : kv_storages) known.push_back(s.key);
  throw std::invalid_argument("--sort is " + in_quotes(key) + ", expected " + listed(known));
}

void compute_kv_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                      const std::function<void(const KvRow&)>& found) {
  const std::vector<KvRange> ranges = ranges_of_layers(question, files, options);
  std::mutex mutex;
  each_head(question.heads, options, [&](int head, const Options& own) {
    const int layer = files.layer_index(head);
    const Experiment e = experiment_of_head(question, files, head);
    const KvRange& range = ranges[static_cast<std::size_t>(layer)];
    std::optional<std::vector<double>> known = question.kept != nullptr ? question.kept->find(e, range) : std::nullopt;
    const KvRow row{head, layer, shape_of(e.problem), known ? *known : kv_errors(e, range, own)};
    if (!known && question.kept != nullptr) question.kept->keep(e, range, row.errors);
    const std::lock_guard lock(mutex);
    found(row);
  });
}

std::string kv_report(const std::vector<KvRow>& rows, const CallFiles& files, std::size_t by, std::size_t most) {
  Table table = kv_table(rows, files);
  if (most > 0 && most < table.rows.size()) table.rows.resize(most);
  std::string text = plain_text(table);
  text += fmt::format(
      "RMS error over the RMS of the exact output, K and V kept so, all else in bf16. {} of {} heads, worst first by {}.\n",
      table.rows.size(), rows.size(), kv_storages[by].key);
  for (const KvStorage& s : kv_storages) text += fmt::format("  {:<10} {}\n", s.key, s.what);
  return text + notes_on_files(files);
}

Table kv_table(const std::vector<KvRow>& rows, const CallFiles& files) {
  std::vector<std::string> layers;
  for (const CallFiles::Layer& layer : files.layers()) layers.push_back(layer.name);
  return kv_table(rows, files.head_names(), layers);
}

Json kv_json(const std::vector<KvRow>& rows, const CallFiles& files) {
  return {{"schema", "attoscope.kv/1"}, {"heads", rows_json(kv_table(rows, files))}};
}

}  // namespace attoscope
