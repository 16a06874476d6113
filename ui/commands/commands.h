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
  std::string what;  ///< synonyms and an explanation, searched too
  std::string keys;  ///< key of the command, or ""
  std::function<void(KeyTarget&)> act;
  std::string complete;  ///< if not empty, replaces the query instead of calling `act`: the beginning of an assignment
  double behind = -1;    ///< penalty among equally good matches; negative: it grows with the length of the name
};

/// All commands that need no value.
std::vector<Command> commands(const KeyTarget& target);

/// Score of `command` for `query`: higher is better, negative is no match. Every word of the query must occur in the name or
/// the explanation, at least as letters in this order.
double fitness(std::string_view query, const Command& command);

/// Meanings of the query, best first: assignments ("set N to 4096"), then `all` ranked; at most `most`.
std::vector<Command> found(std::string_view query, const std::vector<Command>& all, const KeyTarget& target, std::size_t most);

/// Workspaces, lessons and their steps, the loaded kernel and its files, presets, devices, heads, sessions, pins, plans of
/// sweeps, figures.
void add_offers(const KeyTarget& target, std::vector<Command>& all);

}  // namespace attoscope
