/// The settings of a session: for its files, as texts for the palette, and for comparing pins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/settings.h"
#include "ui/session/session.h"

namespace attoscope::ui {

Settings settings(Session& session);
Settings settings(FigureSettings& figure);

/// A setting as text: its path, its value, and its possible values.
struct SettingText {
  std::string path;                    ///< "a.block_k", "view.theme", "train.recipe.rate"
  std::string text;                    ///< "64"
  std::vector<std::string> choices{};  ///< values to offer: all values of a choice, or common ones
  std::string expected{};              ///< "a whole number from 1 to 64"; empty: `choices` lists all
};
/// The settings of the experiment and the view; in the Train and Model workspaces also the workspace's settings.
std::vector<SettingText> setting_texts(const Session& session);

/// Parses `value` into the setting at `path`. Returns "", or one sentence on failure; the session is then unchanged.
std::string set_setting(Session& session, std::string_view path, std::string_view value);

/// A setting in which two experiments differ, with both values; traced row and digests are ignored.
struct Difference {
  std::string path, x, y;
};
std::vector<Difference> differences(const Experiment& x, const Experiment& y);

}  // namespace attoscope::ui
