/// Lists all tensors of files with their parts in the call, and computes statistics of one tensor.
#pragma once

#include <string>

#include "app/tensors/stored_tensor.h"
#include "ui/frame/entries.h"

namespace attoscope::app {

/// Tensors of `files`, a TensorSpec's text, sorted by name; if tensors were chosen one by one, all tensors of their files.
/// Reads no data. Throws std::runtime_error with one sentence if a file cannot be read.
ui::TensorList tensors_of(const std::string& files);

/// True if a list is worth showing: it has more than 8 tensors, and some that are no part of the call.
bool is_worth_a_look(const ui::TensorList& list);

/// Statistics of the tensor of a `TensorEntry::spec`. Throws std::runtime_error with one sentence if it cannot be read, or if
/// `watch` asks to stop.
ui::TensorStatistics statistics_of(const std::string& spec, const ReadWatch& watch = {});

/// The newest choice for `files`, a TensorSpec's text, in the file `list`; "" if there is none, or if its tensors are gone.
std::string chosen_tensors(const std::string& list, const std::string& files);

/// Stores `tensors` in the file `list` as the choice for `files`; removes the choice if both are the same. Does nothing if
/// `list` is "", or if the tensors are not Q, K and V of a call.
void remember_tensors(const std::string& list, const std::string& files, const std::string& tensors);

}  // namespace attoscope::app
