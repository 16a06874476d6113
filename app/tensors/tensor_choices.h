/// The tensors of files that were chosen as Q, K, V and O, kept from session to session.
#pragma once

#include <string>

namespace attoscope {

/// The choice for `files`, as a TensorSpec's text: the newest in the list of this path. "": there is none, or its tensors are
/// no longer there.
std::string chosen_tensors(const std::string& list, const std::string& files);

/// Keeps `tensors` as the choice for `files`, or none where both are the same. Nothing is kept without a list, or where the
/// chosen tensors are not Q, K and V of a call.
void remember_tensors(const std::string& list, const std::string& files, const std::string& tensors);

}  // namespace attoscope
