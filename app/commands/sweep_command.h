/// `attoscope sweep`: one or two parameters varied, over seeds; tables, points and their reproduction.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "app/session/experiment_options.h"
#include "app/sweep/sweep.h"

namespace attoscope {

/// The options as typed.
struct SweepArguments {
  ExperimentOptions base{};  ///< the experiment that is varied
  std::vector<std::string> vary{};
  std::string seeds = "1", measure = "a.mean_abs", threads = "0", device = "cpu";
  std::string csv, json, markdown, latex;  ///< tables of the measure; "-" for standard output
  std::string figure;                      ///< FILE.pdf, .svg or .png with its data, script and JSON; or .zip
  std::string spread = "std";              ///< what the figure's bars reach: std or min-max
  bool heat_map = false;                   ///< the figure of two parameters as a map
  std::string out;                         ///< directory for sweep.json and points.csv
  std::string shard;                       ///< "K/N": every N-th point, from the K-th of 1 .. N on
  std::vector<std::string> merge{};        ///< directories of shards, instead of computing
  bool no_cache = false, quiet = false;
};

/// The sweep that the options describe. Throws as `experiment_of`, `parse_axis` and `parse_measure` do.
Sweep sweep_of(const SweepArguments& arguments);

/// Computes what is not known yet and writes what was asked for; a table for people goes to `out`, progress to `terminal`
/// (null: nowhere). What was finished before a signal is kept: the same command continues there.
void sweep(const SweepArguments& arguments, std::ostream& out, std::ostream* terminal);

}  // namespace attoscope
