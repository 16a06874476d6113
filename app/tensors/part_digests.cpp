#include "app/tensors/part_digests.h"

#include <array>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/json/json.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

/// The parts that are remembered: a digest names its parts for good, and nothing in the list becomes wrong.
class Known {
 public:
  std::optional<PartDigests> find(std::uint64_t digest) {
    const std::lock_guard lock(mutex_);
    const auto found = parts_.find(digest);
    return found == parts_.end() ? std::nullopt : std::optional(found->second);
  }
  void add(std::uint64_t digest, const PartDigests& parts) {
    constexpr std::size_t most = 1 << 16;
    const std::lock_guard lock(mutex_);
    if (parts_.size() >= most) parts_.clear();
    parts_[digest] = parts;
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, PartDigests> parts_;
};
Known& known() {
  static Known all;
  return all;
}

constexpr std::array<std::pair<const char*, std::uint64_t PartDigests::*>, 4> part_fields{
    {{"q", &PartDigests::q}, {"k", &PartDigests::k}, {"v", &PartDigests::v}, {"mask", &PartDigests::mask}}};

}  // namespace

std::optional<PartDigests> parts_of_digest(std::uint64_t digest) { return known().find(digest); }

void remember_parts(std::uint64_t digest, const PartDigests& parts) { known().add(digest, parts); }

Json part_digests_json(const std::vector<const Experiment*>& experiments) {
  Json all;
  for (const Experiment* const e : experiments) {
    const Input& input = e->problem.input;
    const auto parts = input.kind == InputKind::tensors && input.digest != 0 ? parts_of_digest(input.digest) : std::nullopt;
    if (!parts) continue;
    Json& one = all[hex16(input.digest)];
    for (const auto& [name, field] : part_fields)
      if (*parts.*field != 0) one[name] = hex16(*parts.*field);
  }
  return all;
}

void read_part_digests(const nlohmann::json& json) {
  if (!json.is_object()) return;
  for (const auto& [digest, parts] : json.items()) {
    const std::optional<std::uint64_t> of = from_hex16(digest);
    PartDigests read;
    bool well = of.has_value() && parts.is_object();
    for (const auto& [name, field] : part_fields) {
      if (!well || !parts.contains(name)) continue;
      const auto value = parts[name].is_string() ? from_hex16(parts[name].get<std::string>()) : std::nullopt;
      well = value.has_value();
      if (value) read.*field = *value;
    }
    if (well) remember_parts(*of, read);
  }
}

}  // namespace attoscope
