/// `attoscope bench`: every stage against the machine's or a GPU's own limit, measured in the same run.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"

namespace attoscope {

struct BenchArguments {
  bool growth = false;         ///< also time N = 256 .. 65536
  std::string only;            ///< stages of the CPU whose names contain this
  std::string device = "cpu";  ///< auto, cpu, cuda, cuda:K
  std::string json;            ///< file for the rows as JSON, "-" for `out`, or empty
};

/// One measured stage.
struct BenchRow {
  std::string name;
  double ms = 0;        ///< of one call, the best of many
  double gflops = 0;    ///< useful ones a second; 0 where they are not the measure
  double percent = 0;   ///< of `limit`; 0 where none is known
  double ns = 0;        ///< of one element
  std::string limit{};  ///< what it cannot exceed: "FMA", "copy"; empty: nothing is known
};

struct BenchReport {
  std::string device;
  double float_peak = 0, double_peak = 0;  ///< GFLOP/s of all threads, or of the GPU
  std::vector<BenchRow> rows;
  std::optional<Timing> update{};  ///< the parts of a full update at N = 1024 on the CPU
  int threads = 1;
};

/// Throws std::invalid_argument or std::runtime_error, one sentence, where there is no such device.
BenchReport bench(const BenchArguments& arguments);

/// Prints the report as a table, and as JSON where asked for. Throws std::runtime_error where the file cannot be written.
void run_bench(const BenchArguments& arguments, std::ostream& out);

}  // namespace attoscope
