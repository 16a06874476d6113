/// The text that comes with the program: the chronicle of an invented country, written by a rule.
#pragma once

#include <string>

namespace attoscope {

/// The chronicle, in ASCII: the same bytes on every machine, since it is made of Philox's numbers and of whole numbers alone.
///
/// An entry states who lives where, as what, since when, and owns which thing; its later sentences, and later entries, say it
/// again. So the letters of a name can be known from text that is far back, and hardly from the last few letters.
std::string chronicle();

}  // namespace attoscope
