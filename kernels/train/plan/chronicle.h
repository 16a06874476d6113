/// The text that comes with the program: the chronicle of an invented country, written by a rule.
#pragma once

#include <string>

namespace attoscope {

/// The chronicle, in ASCII: the same bytes on every machine, since it is made of Philox's numbers and of whole numbers alone.
///
/// An entry says where a person lives, as what, since when, and what the person owns; its later sentences, and later entries,
/// repeat it. The letters of a name can therefore be known from text that is far back, and hardly from the last few letters.
std::string chronicle();

}  // namespace attoscope
