/// Errors of a file's heads with K and V in fewer bits, and tables of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/heads/heads.h"
#include "app/json/json.h"
#include "kernels/questions/kv_cache.h"

namespace attoscope {

/// Index in `kv_storages` of that key. Throws std::invalid_argument that lists the known ones.
std::size_t kv_storage(std::string_view key);

/// Computes every head with every storage; a scale covers all heads of the layer, even those not requested. Several threads
/// call `found`, one at a time. Throws as `compute_heads`.
void compute_kv_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                      const std::function<void(const KvRow&)>& found);

/// A text table of the first `most` heads (0: all): the error of each storage.
std::string kv_report(const std::vector<KvRow>& rows, const CallFiles& files, std::size_t by, std::size_t most);
/// The table of `kernels/questions/kv_cache.h`.
Table kv_table(const std::vector<KvRow>& rows, const CallFiles& files);
/// `attoscope.kv/1`.
Json kv_json(const std::vector<KvRow>& rows, const CallFiles& files);

}  // namespace attoscope
