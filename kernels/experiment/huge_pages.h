/// Large pages for large arrays.
#pragma once

#include <cstddef>

namespace attoscope {

/// Asks the system for pages of 2 MiB in new memory of so many bytes, as far as it has whole ones: the first touch of 4 KiB
/// each costs more than what is then done with them. Nothing depends on whether the system agrees.
void ask_for_huge_pages(void* memory, std::size_t bytes);

}  // namespace attoscope
