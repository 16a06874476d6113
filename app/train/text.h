/// The text that models learn: a file of the user, or the one that comes with the program, which is Debian's common licences
/// (/usr/share/common-licenses: GNU, Mozilla, Apache, BSD and others, free to copy verbatim) joined when the build is
/// configured.
#pragma once

#include <string>

#include "kernels/train/plan/plan.h"

namespace attoscope {

/// The text in `file` (UTF-8); "" is the one that comes with the program. Throws std::runtime_error in one sentence that names
/// the file: it cannot be read, is too short or no text; or there is no text of the program's own.
TextSource read_text(const std::string& file);

/// The text that `source` is about, from `file`. Throws as `read_text` does, too where it has changed since.
TextSource read_same_text(const TextSource& source, const std::string& file);

/// "Debian's common licences", or the file.
std::string text_name(const TextSource& source);

}  // namespace attoscope
