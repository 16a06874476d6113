#include "app/files/file_mapping.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace attoscope::app {
namespace {

/// Jump target of a copy that meets a missing page; null: this thread is not copying.
thread_local sigjmp_buf* volatile missing_page = nullptr;

/// SIGBUS handler before ours.
struct sigaction earlier_action;

/// SIGBUS handler: aborts a copy, else restores and raises the earlier handler.
void leave_copy(int) {
  if (missing_page) siglongjmp(*missing_page, 1);
  ::sigaction(SIGBUS, &earlier_action, nullptr);
  ::raise(SIGBUS);
}

void expect_missing_pages() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_handler = leave_copy;
    action.sa_flags = SA_NODEFER;  // jumping out of the handler must not leave SIGBUS blocked
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &earlier_action);
  });
}

/// memcpy that returns false on a missing page. It must not have objects with destructors, which a jump skips.
bool copied(char* to, const char* from, std::size_t size) {
  sigjmp_buf back;
  if (sigsetjmp(back, 0) != 0) {
    missing_page = nullptr;
    return false;
  }
  missing_page = &back;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // keeps memcpy between both assignments
  std::memcpy(to, from, size);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  missing_page = nullptr;
  return true;
}

}  // namespace

FileMapping::FileMapping(int descriptor, std::uint64_t size) : size_(size) {
  if (size == 0) return;
  void* begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (begin == MAP_FAILED) return;
  begin_ = static_cast<const char*>(begin);
  expect_missing_pages();
}

FileMapping::~FileMapping() {
  if (begin_) ::munmap(const_cast<char*>(begin_), size_);
}

bool FileMapping::copy(std::uint64_t offset, std::span<char> bytes) const {
  return copied(bytes.data(), begin_ + offset, bytes.size());
}

}  // namespace attoscope::app
