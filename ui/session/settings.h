/// Every field of an experiment and of a view as text: what the palette sets and what two pins are compared by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/session/session.h"

namespace attoscope {

/// One field: its path as in session files, its value as text, and what it may be.
struct Setting {
  std::string path;                    ///< "a.block_k"
  std::string text;                    ///< "64"
  std::vector<std::string> choices{};  ///< all values, where they are few
  std::string expected{};              ///< "a whole number from 1 to 64": empty where `choices` says it
};

std::vector<Setting> settings(const Experiment& experiment);
/// Those of a view begin with "view.".
std::vector<Setting> settings(const View& view);
/// Those of a training begin with "train." and "train_look.".
std::vector<Setting> settings(const TrainPlan& plan, const TrainLook& look);

/// Sets the field at `path` to what `value` says. Returns one sentence where that cannot be, and changes nothing then.
std::string set_setting(Session& session, std::string_view path, std::string_view value);

/// The fields in which two experiments differ, as they are in `x` and in `y`; traced row and digests aside.
struct Difference {
  std::string path, x, y;
};
std::vector<Difference> differences(const Experiment& x, const Experiment& y);

}  // namespace attoscope
