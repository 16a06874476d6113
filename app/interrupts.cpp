#include "app/interrupts.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace attoscope {

Interrupts::Interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  signals_ = Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
}

Interrupts::~Interrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool Interrupts::arrived() const {
  signalfd_siginfo signal{};
  if (!arrived_ && ::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) arrived_ = true;
  return arrived_;
}

}  // namespace attoscope
