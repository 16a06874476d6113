/// `attoscope kv`: which heads of a file may keep K and V in fewer bits.
#pragma once

#include <ostream>

#include "app/commands/heads_command.h"

namespace attoscope {

/// Computes every head under every storage and writes what was asked for: nothing at all if anything fails. `arguments.sort` is
/// one of `kv_storages`. `terminal` null: no progress is shown.
void kv(const HeadsArguments& arguments, std::ostream& out, std::ostream* terminal);

}  // namespace attoscope
