#include "app/heads/kv_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <stdexcept>

#include "app/heads/kept_heads.h"
#include "app/threads/each_head.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment_fields.h"

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

const std::string& layer_name(const KvRow& row, const CallFiles& files) {
  return files.layers()[static_cast<std::size_t>(row.layer)].name;
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
  const std::vector<std::string> names = files.head_names();
  std::size_t width = 4;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text = fmt::format("{:>6}  {:<{}}", "head", "name", width);
  for (const KvStorage& s : kv_storages) text += fmt::format("  {:>10}", s.key);
  text += '\n';
  const std::size_t shown = most == 0 ? rows.size() : std::min(most, rows.size());
  for (const KvRow& row : std::span(rows).first(shown)) {
    text += fmt::format("{:>6}  {:<{}}", row.head, names[static_cast<std::size_t>(row.head)], width);
    for (const double error : row.errors) text += fmt::format("  {:>10.3g}", error);
    text += '\n';
  }
  text += fmt::format(
      "RMS error over the RMS of the exact output, K and V kept so, all else in bf16. {} of {} heads, worst first by {}.\n",
      shown, rows.size(), kv_storages[by].key);
  for (const KvStorage& s : kv_storages) text += fmt::format("  {:<10} {}\n", s.key, s.what);
  for (const std::string& scales : files.scale_texts()) text += "scales: " + scales + ".\n";
  for (const std::string& sentence : files.left_out()) text += "left out: " + sentence + ".\n";
  return text;
}

std::string kv_csv(const std::vector<KvRow>& rows, const CallFiles& files) {
  std::vector<std::string> layers;
  for (const CallFiles::Layer& layer : files.layers()) layers.push_back(layer.name);
  return kv_csv(rows, files.head_names(), layers);
}

Json kv_json(const std::vector<KvRow>& rows, const CallFiles& files) {
  const std::vector<std::string> names = files.head_names();
  Json list = Json::array();
  for (const KvRow& row : rows) {
    Json line{{"head", row.head},
              {"name", json_string(names[static_cast<std::size_t>(row.head)])},
              {"layer", json_string(layer_name(row, files))}};
    for (std::size_t i = 0; i < kv_storages.size(); ++i) line[std::string(kv_storages[i].key)] = number_json(row.errors[i]);
    list.push_back(std::move(line));
  }
  return {{"schema", "attoscope.kv/1"}, {"heads", std::move(list)}};
}

}  // namespace attoscope
