/// What the machine has left to work in.
#pragma once

namespace attoscope {

/// Bytes that the machine can still give, by its own account.
double available_bytes();

}  // namespace attoscope
