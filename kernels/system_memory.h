/// Free system memory.
#pragma once

namespace attoscope {

/// Bytes of memory that the system reports as available.
double available_bytes();

}  // namespace attoscope
