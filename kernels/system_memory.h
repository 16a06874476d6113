/// Free system memory.
#pragma once

#include <string>

namespace attoscope {

/// The limit of a container, in bytes, from the files of its control group; infinity: none.
double memory_limit(const std::string& cgroup);
/// Bytes of memory that the system reports as available, at most the limit of this container.
double available_bytes();

}  // namespace attoscope
