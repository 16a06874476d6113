/// The command line as a function that JavaScript calls. Files are in the module's memory.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/commands/command_line.h"

/// Runs the command whose arguments are a JSON list of texts. Returns JSON, valid until the next call: "code", the exit code,
/// and the texts written to "out" and "err".
extern "C" const char* attoscope_command(const char* arguments) {
  static std::string answer;
  std::ostringstream out, err;
  const int code = attoscope::app::run_command_line(nlohmann::json::parse(arguments).get<std::vector<std::string>>(), out, err);
  answer = nlohmann::json{{"code", code}, {"out", out.str()}, {"err", err.str()}}.dump();
  return answer.c_str();
}
