/// What the app tells the Sweep workspace: what can be varied and measured, and what is known of the sweep so far.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attoscope {

/// A parameter that can be varied.
struct SweepParameter {
  std::string key, title, what;
  std::string group;    ///< "tiles"
  std::string example;  ///< values to begin with
  bool numeric = false;
};

/// A number that can be measured.
struct SweepQuantity {
  std::string name, title;
  bool of_method = true;  ///< a, b and their difference have one each
  bool has_unit = true;   ///< of the output: can be divided by the RMS of golden
};

struct SweepOffer {
  std::vector<SweepParameter> parameters;
  std::vector<SweepQuantity> quantities;
};

/// A parameter and its values in order.
struct SweepValues {
  std::string key, title;
  std::vector<std::string> names;
  std::vector<double> numbers;  ///< as many; empty where one of the values is no number
};

/// A measure over the seeds of one combination of values.
struct SweepCell {
  int count = 0;                               ///< seeds that have an answer
  double mean = 0, std = 0, min = 0, max = 0;  ///< NaN where nothing is known
  double rival = 0;                            ///< the mean of the same number of b; NaN where there is none
  std::int32_t error = -1;                     ///< index of `SweepTable::errors`; -1: none
};

/// What is known of a sweep; immutable.
struct SweepTable {
  std::vector<SweepValues> axes;  ///< one or two
  std::string measure;            ///< "mean |error|, a"
  std::string quantity;           ///< "mean |error|"
  std::string of;                 ///< "a", "b", "a_minus_b", "ratio"; empty: of no method
  bool has_rival = false;         ///< the same number of b stands beside it
  int seeds = 1;
  std::vector<SweepCell> cells;  ///< all combinations in the order of the axes' values, the last axis fastest
  std::vector<std::string> errors;

  std::size_t across() const { return axes.size() > 1 ? axes[1].names.size() : 1; }
};

/// Where a sweep stands.
struct SweepProgress {
  enum class State : std::uint8_t { idle, running, paused, done };
  State state = State::idle;
  bool waits = false;  ///< for Explore, which computes
  bool stale = false;  ///< the table answers an earlier plan
  std::size_t points = 0, done = 0, failed = 0;
  double seconds_left = -1;                 ///< negative: unknown
  std::array<std::string, 2> wrong_values;  ///< one sentence about each parameter's values; empty: they are well
  std::string wrong;                        ///< one sentence about the plan as a whole
  std::string no_seeds;  ///< why seeds would change nothing, so that there is one answer a combination: one sentence, or empty
  std::array<std::vector<std::string>, 2> values;  ///< what the plan's texts stand for
  std::string remark;                              ///< one sentence about what could not be kept
};

/// All of it.
struct SweepView {
  std::shared_ptr<const SweepOffer> offer;  ///< null: nothing can be swept
  std::shared_ptr<const SweepTable> table;  ///< null: nothing is known
  SweepProgress progress;
};

/// What is to become of the sweep.
enum class SweepRequest : std::uint8_t { none, run, pause, cancel };

/// A combination, as indices of its axes' values.
using SweepPlace = std::array<int, 2>;

}  // namespace attoscope
