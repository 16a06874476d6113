/// The commands that need the window: opening it, and drawing it to a file. A build without a window says so.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/figure_command.h"
#include "app/session/experiment_options.h"

namespace attoscope {

/// Options of `attoscope render` as typed.
struct RenderArguments {
  std::string session;  ///< "": the last one
  std::string out;
  std::string size = "1600x1000";
  std::optional<std::string> device{};  ///< none: the session's
};

/// Options of `attoscope lessons` as typed.
struct LessonsArguments {
  std::string html;  ///< the directory that the pages are written into
};

/// Options of the window as typed.
struct WindowArguments {
  std::vector<std::string> files;       ///< a session, a file of tensors or of an output, or q, k, v and o .npy; none: the last
  std::optional<std::string> device{};  ///< for this window alone; none: the session's
  bool no_link = false;                 ///< other programs cannot tell it what to open

  /// The session among them; "": the last one.
  std::string session() const {
    const auto names = [&](std::string_view type) { return files.front().find(type) != std::string::npos; };
    return files.size() == 1 && !names(".npy") && !names(".safetensors") ? files.front() : "";
  }
};

/// Options of `attoscope open` as typed.
struct OpenArguments : ExperimentOptions {
  std::vector<std::string> files;
};

/// Width and height in pixels.
struct PictureSize {
  int width = 0, height = 0;
};

/// "1600x1000". Throws std::invalid_argument in a sentence.
PictureSize parse_size(const std::string& text);

/// Draws a session to a PNG and says where it is.
void render_picture(const RenderArguments& arguments, std::ostream& out);

/// Writes the lessons as static pages and says which.
void write_lessons(const LessonsArguments& arguments, std::ostream& out);

/// Draws a plot of the window as a figure, as `draw_plot` says.
void draw_window_plot(const FigureArguments& arguments, std::ostream& out);

/// Sends files to the window that runs, or to one that it starts, and returns.
void send_files(const OpenArguments& arguments);

/// Opens the window and returns when it was closed.
void open_window(const WindowArguments& arguments);

}  // namespace attoscope
