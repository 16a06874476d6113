#include "app/files/interrupts.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>

namespace attoscope::app {

Interrupts::Interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  struct sigaction hang_up{};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // nohup ignores it
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::arrived() const {
  using Clock = std::chrono::steady_clock;
  constexpr Clock::duration pause =
      std::chrono::milliseconds(1);  // asking the system is slower than most work between two polls
  const std::int64_t now = Clock::now().time_since_epoch().count();
  std::int64_t next = next_look_;
  if (now < next || !next_look_.compare_exchange_strong(next, now + pause.count())) return arrived_;
  signalfd_siginfo signal{};
  if (!arrived_ && ::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) arrived_ = true;
  return arrived_;
}

}  // namespace attoscope::app
