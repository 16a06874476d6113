/// The check of a GPU as JSON, which people can send in, and as text.
#pragma once

#include <string>

#include "app/json/json.h"

namespace attoscope {

struct GpuCheck;

/// `attoscope.gpu_check/1`: the GPU, what was asked, digests, and of every kind of products how many sums each rule gives, with
/// the first that the nearest one does not, in bits of fp32. `cuda`: what the driver runs. Nothing of the user's is in it.
Json gpu_check_json(const GpuCheck& check, int cuda);

/// "NVIDIA H200, compute capability 9.0".
std::string gpu_text(const GpuCheck& check);

}  // namespace attoscope
