#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "app/command_line.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe becomes an error of the stream
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return attoscope::run_command_line(arguments, std::cout, std::cerr);
}
