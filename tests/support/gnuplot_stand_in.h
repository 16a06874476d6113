/// A program in place of gnuplot.
#pragma once

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/environment.h"
#include "tests/support/rooms.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {

/// While this lives, `gnuplot` is a shell program that writes its process id into a file and then does `end`.
class GnuplotStandIn {
 public:
  explicit GnuplotStandIn(const std::string& end) {
    const std::string program =
        scratch_.write("gnuplot", "#!/bin/sh\necho $$ >" + (scratch_ / "new") + "\nmv " + (scratch_ / "new") + " " +
                                      (scratch_ / "number") + "\n" + end + "\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  bool began() const { return std::filesystem::exists(scratch_ / "number"); }
  bool runs() const { return ::kill(std::stoi(bytes_of_file(scratch_ / "number")), 0) == 0; }

 private:
  TemporaryDirectory scratch_;
  Environment here_first_{"PATH", (scratch_ / "") + ":" + std::getenv("PATH")};
};

}  // namespace attoscope::testing
