#include "kernels/experiment/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace attoscope {

void ask_for_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t page = 2 << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), first = (begin + page - 1) / page * page,
             end = (begin + bytes) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace attoscope
