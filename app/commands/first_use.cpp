#include "app/commands/first_use.h"

#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <stdexcept>

#include "app/commands/progress_line.h"
#include "app/files/interrupts.h"
#include "kernels/gpu/device.h"

namespace attoscope {
namespace {

using State = CodeLoader::State;

/// What takes no longer is not told, in seconds.
constexpr double told_after = 1;

bool runs(State state) { return state == State::loading || state == State::stopping; }

std::string progress_text(const CodeLoader& code, const CodeProgress& now) {
  return fmt::format("compiling the code for {}: {} of {} ({}), {:.0f} s", code.gpu(), now.done + 1, now.all, now.part,
                     now.seconds);
}

/// Ctrl-C ends the command.
struct Interrupted final : StopSign {
  void check() const override {
    if (interrupts.arrived()) throw std::runtime_error("stopped while the driver compiled the GPU's code; nothing was written");
  }
  Interrupts interrupts;
};

}  // namespace

void watch_compiling(CodeLoader& code, const StopSign& stop, std::ostream* terminal, std::ostream& err) {
  using namespace std::chrono_literals;
  ProgressLine line(terminal);
  bool told = terminal != nullptr;
  code.start();
  for (State state = code.progress().state; runs(state); state = code.wait(100ms, stop)) {
    const CodeProgress now = code.progress();
    if (now.seconds < told_after || !runs(now.state)) continue;
    line.show([&] { return progress_text(code, now); });
    if (!told)
      err << "attoscope: the driver compiles the code for " << code.gpu() << ", once: about half a minute" << std::endl;
    told = true;
  }
}

void compile_code(CodeLoader* missing) {
  if (missing != nullptr) watch_compiling(*missing, Interrupted(), terminal(), std::cerr);
}

void compile_code(const std::vector<int>& gpus) {
  for (const int gpu : gpus) compile_code(missing_code({gpu}));
}

void compile_code(const std::string& device) {
  if (device != "auto") compile_code(devices_of(device));
}

}  // namespace attoscope
