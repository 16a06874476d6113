/// `attoscope heads`: every head of a file, worst first.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "app/commands/tables.h"
#include "app/heads/heads.h"
#include "app/session/experiment_options.h"

namespace attoscope {

/// The options as typed.
struct HeadsArguments : ExperimentOptions, TableFiles {
  std::string file;  ///< what `--input` would name, without a head
  std::string layer, sort = "a.rel_rms", top = "20";
  std::string device = "cpu", threads = "0";
  bool no_cache = false;
  bool quiet = false;
};

/// Computes every head and writes what was asked for: nothing at all if anything fails. `terminal` null: no progress is shown.
void heads(const HeadsArguments& arguments, std::ostream& out, std::ostream* terminal);

/// What the arguments of a command about all heads of a file come to.
struct HeadsJob {
  Experiment base;
  CallFiles files;
  std::shared_ptr<KeptHeads> kept;  ///< what `question` looks rows up in
  HeadsQuestion question;
};
/// Checks the arguments, the places of output first, and opens the file. Throws std::invalid_argument or std::runtime_error in
/// a sentence.
HeadsJob heads_job(const HeadsArguments& arguments);

/// Calls work(options, done) with options that stop at an interrupt; `done`, called for each head, shows the progress. Throws a
/// sentence where it was stopped.
void run_heads(const HeadsJob& job, const HeadsArguments& arguments, std::ostream* terminal,
               const std::function<void(const Options&, const std::function<void()>& done)>& work);

}  // namespace attoscope
