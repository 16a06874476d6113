/// The Sweep workspace's input from the app: parameters, measures, progress and results.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attoscope::ui {

/// A parameter that a sweep can vary.
struct SweepParameter {
  std::string key, title, what;
  std::string group;    ///< "tiles"
  std::string example;  ///< initial values
  bool numeric = false;
};

/// A measure of a sweep.
struct SweepQuantity {
  std::string name, title;
  bool of_method = true;  ///< has values for a, b and their difference
  bool has_unit = true;   ///< in units of the output: can be divided by the RMS of golden
};

struct SweepOffer {
  std::vector<SweepParameter> parameters;
  std::vector<SweepQuantity> quantities;
};

/// A parameter and its values in order.
struct SweepValues {
  std::string key, title;
  std::vector<std::string> names;
  std::vector<double> numbers;  ///< same length as names; empty if a value is not a number
};

/// A measure over the seeds of one combination of values.
struct SweepCell {
  int count = 0;                               ///< seeds with an answer
  double mean = 0, std = 0, min = 0, max = 0;  ///< NaN if unknown
  double rival = 0;                            ///< mean of the same quantity of b; NaN if unknown
  std::int32_t error = -1;                     ///< index of `SweepTable::errors`; -1: none
};

/// Results of a sweep so far; immutable.
struct SweepTable {
  std::vector<SweepValues> axes;                 ///< one or two
  std::string measure;                           ///< "mean |error|, a"
  std::string quantity;                          ///< "mean |error|"
  std::string of;                                ///< "a", "b", "a_minus_b", "ratio"; empty: independent of the methods
  bool has_rival = false;                        ///< cells hold the same quantity of b
  std::array<std::string, 2> methods{"a", "b"};  ///< "flash2 hw", "three-pass base_eager"; varied settings left out
  int seeds = 1;
  std::string repeats;           ///< "3 seeds", "9 heads"
  std::vector<SweepCell> cells;  ///< all combinations of the axes' values, the last axis fastest
  std::vector<std::string> errors;
  std::uint64_t digest = 0;  ///< hash over the digests of all points; 0: not computed

  std::size_t across() const { return axes.size() > 1 ? axes[1].names.size() : 1; }
};

/// Progress of a sweep.
struct SweepProgress {
  enum class State : std::uint8_t { idle, running, paused, done };
  State state = State::idle;
  bool waits = false;  ///< waits until Explore has its answer
  bool stale = false;  ///< the table belongs to an earlier plan
  std::size_t points = 0, done = 0, failed = 0;
  double seconds_left = -1;                 ///< negative: unknown
  std::array<std::string, 2> wrong_values;  ///< one sentence on an error in each parameter's values; empty: valid
  std::string wrong;                        ///< one sentence on an error in the plan
  std::string repeats;                      ///< "3 seeds", "9 heads", of the plan
  int count = 1;                            ///< number of repeats
  std::string no_seeds;  ///< one sentence why seeds change nothing and each combination has one answer; or empty
  std::array<std::vector<std::string>, 2> values;  ///< values parsed from the plan's texts
  std::string remark;                              ///< one sentence on a result that could not be saved
};

/// Everything that the Sweep workspace shows.
struct SweepView {
  std::shared_ptr<const SweepOffer> offer;  ///< null: no sweeps here
  std::shared_ptr<const SweepTable> table;  ///< null: no results
  SweepProgress progress;
};

/// An action on the sweep.
enum class SweepRequest : std::uint8_t { none, run, pause, cancel };

/// A combination, as indices of its axes' values.
using SweepPlace = std::array<int, 2>;

}  // namespace attoscope::ui
