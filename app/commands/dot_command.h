/// `attoscope dot`: dot products as a GPU's tensor cores add them up.
#pragma once

#include <ostream>
#include <string>

namespace attoscope {

/// The options as typed; files are .npy, "" is none.
struct DotArguments {
  std::string gpu, format, result = "f32";
  std::string a, b, c;
  std::string out, json;  ///< json "-" to standard output
};

/// Reads a and b (rows x K) and c (rows), rounds them to the format, and writes one sum a row: nothing at all if anything
/// fails.
void dot(const DotArguments& arguments, std::ostream& out);

}  // namespace attoscope
