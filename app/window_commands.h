/// The commands that need the window: opening it, and drawing it to a file. A build without a window says so.
#pragma once

#include <ostream>
#include <string>

namespace attoscope {

/// Options of `attoscope render` as typed.
struct RenderArguments {
  std::string session;  ///< "": the last one
  std::string out;
  std::string size = "1600x1000";
};

/// Width and height in pixels.
struct PictureSize {
  int width = 0, height = 0;
};

/// "1600x1000". Throws std::invalid_argument in a sentence.
PictureSize parse_size(const std::string& text);

/// Draws a session to a PNG and says where it is.
void render_picture(const RenderArguments& arguments, std::ostream& out);

/// Opens the window on a session file, "" for the last session, and returns when it was closed.
void open_window(const std::string& session_file);

}  // namespace attoscope
