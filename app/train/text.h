/// The text that models learn: a file of the user, or the one that comes with the program, the chronicle.
#pragma once

#include <string>

#include "kernels/train/plan/plan.h"

namespace attoscope {

/// The text in `file` (UTF-8); "" is the one that comes with the program. Throws std::runtime_error in one sentence that names
/// the file: it cannot be read, is too short or no text.
TextSource read_text(const std::string& file);

/// The text that `source` is about, from `file`. Throws as `read_text` does, too where it has changed since.
TextSource read_same_text(const TextSource& source, const std::string& file);

/// "the chronicle", or the file.
std::string text_name(const TextSource& source);

}  // namespace attoscope
