/// Everything that can be done, by name: the actions of the keys, every field, every shipped experiment.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/commands/keys.h"

namespace attoscope {

struct Command {
  std::string name;  ///< "theme: light"
  std::string what;  ///< more words for it
  std::string keys;  ///< the key that does it, or ""
  std::function<void(KeyTarget&)> act;
  std::string complete;  ///< instead of `act`: what the query becomes, for a value to be typed after it
  double behind = -1;    ///< how far it stands behind others that fit as well; negative: the longer its name, the further
};

/// All commands that need no value.
std::vector<Command> commands(const KeyTarget& target);

/// How well `query` fits a command: the more the better, negative where it does not. Every word of the query has to be found
/// in the name or the explanation, if only as letters in this order.
double fitness(std::string_view query, const Command& command);

/// What the query may mean, best first: `all` ranked, after what a query with a value asks for ("set N to 4096").
std::vector<Command> found(std::string_view query, const std::vector<Command>& all, const KeyTarget& target, std::size_t most);

}  // namespace attoscope
