/// Large pages for large arrays.
#pragma once

#include <cstddef>

namespace attoscope {

/// Requests pages of 2 MiB for new memory of this size: first touches of 4 KiB pages cost more than the work on them. Results
/// do not depend on whether the system grants them.
void ask_for_huge_pages(void* memory, std::size_t bytes);

}  // namespace attoscope
