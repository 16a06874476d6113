/// All tensors of files as a list, with the parts that they are taken as, and the numbers of one.
#pragma once

#include <string>

#include "app/tensors/stored_tensor.h"
#include "ui/frame/entries.h"

namespace attoscope::app {

/// Tensors of `files`, a TensorSpec's text, sorted by name; for tensors that were chosen one by one, all of their files. Reads
/// no data. Throws std::runtime_error in a sentence where a file cannot be read.
ui::TensorList tensors_of(const std::string& files);

/// True if a list is worth a look: it has more than a few tensors, and some that are not taken.
bool is_worth_a_look(const ui::TensorList& list);

/// Numbers of the tensor of a `TensorEntry::spec`. Throws std::runtime_error in a sentence where it cannot be read, or where
/// `watch` asks to stop.
ui::TensorStatistics statistics_of(const std::string& spec, const ReadWatch& watch = {});

/// The choice for `files`, as a TensorSpec's text: the newest in the list of this path. "": there is none, or its tensors are
/// no longer there.
std::string chosen_tensors(const std::string& list, const std::string& files);

/// Keeps `tensors` as the choice for `files`, or none where both are the same. Nothing is kept without a list, or where the
/// chosen tensors are not Q, K and V of a call.
void remember_tensors(const std::string& list, const std::string& files, const std::string& tensors);

}  // namespace attoscope::app
