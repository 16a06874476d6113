/// A varied parameter of a sweep, and its values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::app {

/// A parameter and its values, as text for `vary`.
struct Axis {
  std::string key;  ///< "block_k", "format", "a.O"
  std::vector<std::string> values;

  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A parameter that sweeps can vary.
struct AxisKey {
  std::string_view key, title, what;
  bool numeric;       ///< values are numbers with an order, not names
  bool moves_golden;  ///< the golden value depends on it
  int rank = 0;       ///< parameters of lower rank are set first
};
/// The named parameters. Every field of a method can be varied too: "a.O", "b.tau".
std::vector<AxisKey> axis_keys();
/// Entry of a key, also of a method's field.
AxisKey axis_key(std::string_view key);

/// Parses "block_k=16:1024:x2", "mantissa_bits=2:23", "alibi=0:1:0.25", "format=bf16,fp16,fp32". Values with commas are
/// separated by semicolons. Throws std::invalid_argument with one sentence.
Axis parse_axis(std::string_view text);
/// The axis as text for `parse_axis`.
std::string axis_text(const Axis& axis);
inline constexpr std::size_t max_axis_values = 4096;

/// Sets the parameter. Tiles are set for both methods; other fields of a method for a, unless the key begins with "b.". Reads
/// no file. Throws std::invalid_argument with one sentence that names the key, the value and what was expected.
void vary(Experiment& experiment, std::string_view key, const std::string& value);

}  // namespace attoscope::app
