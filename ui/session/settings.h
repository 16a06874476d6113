/// Every field of an experiment and of a view as text, for the palette and for comparing pins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/session/session.h"

namespace attoscope {

/// A field: its path as in session files, its value as text, and its possible values.
struct Setting {
  std::string path;                    ///< "a.block_k"
  std::string text;                    ///< "64"
  std::vector<std::string> choices{};  ///< values to offer: all of a choice, or common ones
  std::string expected{};              ///< "a whole number from 1 to 64"; empty: `choices` lists all
};

std::vector<Setting> settings(const Experiment& experiment);
/// Fields of a view; their paths begin with "view.".
std::vector<Setting> settings(const View& view);
/// Fields of a training; their paths begin with "train." and "train_look.".
std::vector<Setting> settings(const TrainPlan& plan, const TrainLook& look);

/// Parses `value` into the field at `path`. Returns "", or one sentence on failure; the session is then unchanged.
std::string set_setting(Session& session, std::string_view path, std::string_view value);

/// A field in which two experiments differ, with both values; traced row and digests are ignored.
struct Difference {
  std::string path, x, y;
};
std::vector<Difference> differences(const Experiment& x, const Experiment& y);

}  // namespace attoscope
