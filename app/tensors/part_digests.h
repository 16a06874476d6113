/// Digests of the single tensors behind an input's digest.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "app/json/json.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {

/// Digests of the bits and sizes of Q, K, V and the mask tensor; 0: there is none.
struct PartDigests {
  std::uint64_t q = 0, k = 0, v = 0, mask = 0;
};

/// The parts of tensors with this digest, from any thread; none: they were neither read nor named by a file in this program.
std::optional<PartDigests> parts_of_digest(std::uint64_t digest);
/// Remembers them.
void remember_parts(std::uint64_t digest, const PartDigests& parts);

/// {"0123456789abcdef": {"q", "k", "v", "mask"}} by the digests of the inputs, as far as they are known; null: none is.
Json part_digests_json(const std::vector<const Experiment*>& experiments);
/// Remembers those of such an object; whatever is no digest is left out.
void read_part_digests(const nlohmann::json& json);

}  // namespace attoscope
