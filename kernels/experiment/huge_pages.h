/// Large pages for large arrays.
#pragma once

#include <cstddef>

namespace attoscope {

/// Asks the system for pages of 2 MiB in new memory of this size: a first touch of every 4 KiB costs more than the work on
/// them. Results do not depend on the answer.
void ask_for_huge_pages(void* memory, std::size_t bytes);

}  // namespace attoscope
