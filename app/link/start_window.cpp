#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "app/files/files.h"
#include "app/link/link.h"
#include "app/link/live_link.h"

namespace attoscope::app {
namespace {

constexpr const char* program = "/proc/self/exe";

/// In the child process: starts a session of its own, with errors to `complaints`, and becomes the window.
[[noreturn]] void become_window(int complaints) {
  ::setsid();
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, 0);
  ::dup2(nowhere, 1);
  ::dup2(complaints, 2);
  ::execl(program, "attoscope", static_cast<char*>(nullptr));
  ::_exit(127);
}

/// First line of a file in memory, without the program's name.
std::string first_line(int file) {
  char text[400] = {};
  const ssize_t count = ::pread(file, text, sizeof text - 1, 0);
  std::string line(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  line = line.substr(0, line.find('\n'));
  constexpr std::string_view name = "attoscope: ";
  return line.starts_with(name) ? line.substr(name.size()) : line;
}

}  // namespace

void start_window_with(const std::string& path, const LinkMessage& message) {
  const Descriptor complaints(::memfd_create("attoscope", MFD_CLOEXEC));
  const pid_t window = ::fork();
  if (window == 0) become_window(complaints.get());
  if (window < 0) throw std::runtime_error("no window could be started: the system has no room for another process");
  for (int i = 0; i < 200; ++i) {
    if (send_to_window(path, message)) return;
    int status = 0;
    if (::waitpid(window, &status, WNOHANG) == window) {
      const std::string why = first_line(complaints.get());
      throw std::runtime_error("no window runs, and the one that was started ended: " +
                               (why.empty() ? "it printed nothing" : why));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("a window was started, but does not listen at " + (path.empty() ? "any place" : path));
}

}  // namespace attoscope::app
