/// What a sweep varies: one parameter of an experiment and the values that it takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// One parameter and its values, as text that `vary` understands.
struct Axis {
  std::string key;  ///< "block_k", "format", "a.O"
  std::vector<std::string> values;

  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A parameter that can be varied.
struct AxisKey {
  std::string_view key, title, what;
  bool numeric;      ///< its values are numbers with an order, not names
  bool moves_truth;  ///< the golden value changes with it
  int rank = 0;      ///< of two parameters, the one of lower rank is set first
};
/// The named ones; beside them stands every field of a method: "a.O", "b.tau".
std::vector<AxisKey> axis_keys();
/// The key's entry, or that of a method's field.
AxisKey axis_key(std::string_view key);

/// "block_k=16:1024:x2", "mantissa_bits=2:23", "alibi=0:1:0.25", "format=bf16,fp16,fp32". Values that contain commas are parted
/// by semicolons. Throws std::invalid_argument in a sentence.
Axis parse_axis(std::string_view text);
/// The text that `parse_axis` reads back.
std::string axis_text(const Axis& axis);
inline constexpr std::size_t max_axis_values = 4096;

/// Sets the parameter. A tile is that of both methods; everything else of a method is a's unless the key says "b.". Files are
/// not read. Throws std::invalid_argument in a sentence that names the key, the value and what was expected.
void vary(Experiment& experiment, std::string_view key, const std::string& value);

}  // namespace attoscope
