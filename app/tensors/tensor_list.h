/// All tensors of files as a list, with the parts that they are taken as, and the numbers of one.
#pragma once

#include <string>

#include "app/tensors/stored_tensor.h"
#include "ui/frame/entries.h"

namespace attoscope {

/// Tensors of `files`, a TensorSpec's text, sorted by name; for tensors that were chosen one by one, all of their files. Reads
/// no data. Throws std::runtime_error in a sentence where a file cannot be read.
TensorList tensors_of(const std::string& files);

/// True if a list is worth a look: it has more than a few tensors, and some that are not taken.
bool is_worth_a_look(const TensorList& list);

/// Numbers of the tensor of a `TensorEntry::spec`. Throws std::runtime_error in a sentence where it cannot be read, or where
/// `watch` asks to stop.
TensorStatistics statistics_of(const std::string& spec, const ReadWatch& watch = {});

}  // namespace attoscope
