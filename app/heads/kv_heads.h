/// Which heads of a file may keep K and V in fewer bits, and the tables of that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/heads/heads.h"
#include "app/json/json.h"
#include "kernels/questions/kv_cache.h"

namespace attoscope {

/// The place of that key among `kv_storages`. Throws std::invalid_argument that lists the known ones.
std::size_t kv_storage(std::string_view key);

/// Every head under every storage, with one scale for all heads of its layer, whichever of them are asked for; `found` is told
/// each from many threads, one call at a time. Throws as `compute_heads` does.
void compute_kv_heads(const HeadsQuestion& question, const CallFiles& files, const Options& options,
                      const std::function<void(const KvRow&)>& found);

/// A table of the first `most` heads (0: all): the error of each storage.
std::string kv_report(const std::vector<KvRow>& rows, const CallFiles& files, std::size_t by, std::size_t most);
/// The table of `kernels/questions/kv_rows.h`.
Table kv_table(const std::vector<KvRow>& rows, const CallFiles& files);
/// `attoscope.kv/1`.
Json kv_json(const std::vector<KvRow>& rows, const CallFiles& files);

}  // namespace attoscope
