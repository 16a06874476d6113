/// The file that a window keeps its session in, so that it is there after the window is closed or killed.
#pragma once

#include <string>
#include <vector>

#include "app/files/files.h"

namespace attoscope {

/// A window's own file, locked for as long as this lives.
class Autosave {
 public:
  /// Takes the newest file of `path`, "session-2.json", "session-3.json" and so on that no running window has, or a new one of
  /// these names; `fresh`: always a new one. Where there are `most` of them, the oldest is taken instead of a new one.
  explicit Autosave(const std::string& path, bool fresh = false);

  const std::string& file() const { return file_; }

  static constexpr int most = 64;

 private:
  bool take(const std::string& file);

  std::string file_;
  Descriptor lock_;
};

/// The existing ones of `path`, the newest first.
std::vector<std::string> autosaves(const std::string& path);

}  // namespace attoscope
