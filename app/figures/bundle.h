/// A figure's files together: the picture, its data, its script, and the JSON that reproduces it.
#pragma once

#include <string>

#include "app/figures/figure.h"
#include "app/json.h"

namespace attoscope {

/// Writes FILE.pdf|svg|png and, beside it, .csv, .gp and .json, all or none; without gnuplot the last three, and then throws
/// std::runtime_error in a sentence. Throws std::invalid_argument where `file` is no picture's name.
void write_bundle(const std::string& file, const Figure& figure, const Json& reproduction);

}  // namespace attoscope
