/// The check of a GPU as JSON, for reports, and as text.
#pragma once

#include <string>

#include "app/json/json.h"

namespace attoscope {

struct GpuCheck;

/// `attoscope.gpu_check/1`: the GPU, the test, digests, and for each kind of products the number of sums that each rule gives,
/// with the first one that the nearest rule misses, in bits of fp32. `cuda`: version that the driver supports. Contains no user
/// data.
Json gpu_check_json(const GpuCheck& check, int cuda);

/// "NVIDIA H200, compute capability 9.0".
std::string gpu_text(const GpuCheck& check);

}  // namespace attoscope
