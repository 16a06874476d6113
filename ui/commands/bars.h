/// The top bar, the status bar, and the command palette.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/entries.h"
#include "ui/frame/frame.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

/// Height of a line of the session's menu and of the palette at UI scale 1.
inline constexpr float menu_line_height = 28;

/// The top bar.
void draw_top_bar(const Frame& frame);

/// Makes text and controls larger by so many eighths of 100 %, or smaller if negative, up to the setting's limits.
void scale_ui(View& view, int eighths);

/// The status bar: device, numbers of the workspace on show, and a message.
void draw_status_bar(const Session& session, const PanelInput& input, Requests& requests);

/// A number of the status bar, its minimal width at UI scale 1, and its tooltip.
struct StatusNumber {
  std::string text;
  float width;
  std::string what;
  bool lit = false;
};
/// Numbers of the workspace on show.
std::vector<StatusNumber> status_numbers(const Session& session, const PanelInput& input);

/// The command palette while it is open: commands are found by typing.
void draw_palette(const Frame& frame);

/// Label of the button of figures: "figures", or the progress of the current figure in text of fixed width.
std::string figures_label(const PanelInput& input);
/// A button with a menu: figures to draw, their settings, and the progress of the current one.
void figures_button(View& view, const PanelInput& input, Requests& requests);

/// The session's file name without folder and ending, or "untitled".
std::string session_name(const SessionFiles& files);
/// Window title: a dot if unsaved, the session, the program.
std::string window_title(const SessionFiles& files);

/// Requests an action on the session's file. Opens the menu to type a path if one is needed and the desktop has no file dialog.
void ask_session(SessionRequest::Act act, const PanelInput& input, UiState& state, Requests& requests);

inline constexpr float session_button_width = 108;
/// A button with the session's name and the menu: new, open, save, recent files, the session as text.
void session_button(const PanelInput& input, UiState& state, Requests& requests);

/// Shows a new error over the panels for the time that it takes to read; the status bar shows it until its cause changes.
void draw_error(const PanelInput& input, ErrorNote& note);
/// While files are dragged over the window: its frame, and a sentence that says how they will be used.
void draw_drop_target(const PanelInput& input);

/// Lists the lines of the opened session that could not be read, until the list is closed.
void draw_remarks(const PanelInput& input, Requests& requests);
/// True while the remarks are on screen.
bool shows_remarks(const PanelInput& input);

/// All entries of the gallery.
std::vector<GalleryEntry> gallery_entries(const PanelInput& input);
/// Entries of the chosen kind (0: all) that match the query, best first; in their own order without a query.
std::vector<const GalleryEntry*> found_entries(const GalleryState& state);
/// Opens the entry in Explore: replaces the experiment, or method a.
void apply(const GalleryEntry& entry, const PanelInput& input, Session& session, UiState& state);

/// The gallery while it is open; a click applies, Esc closes.
void draw_gallery(const Frame& frame);

/// The tabs of the top bar, in the order of `Workspace`.
inline constexpr EnumArray<Workspace, Choice> workspaces{{
    {"Explore", "Drag any control and see, element by element and tile by tile, how far attention is from golden."},
    {"Sweep",
     "Vary one or two parameters over seeds, watch the points appear, open any of them in Explore, export the figure."},
    {"Train",
     "Two copies of a small transformer learn the same text, one with each method: how far their weights drift apart, "
     "and what that means."},
    {"Model",
     "A language model reads a text with both methods: how far they move its next tokens, and in which layer and head."},
    {"Learn", "Lessons about the recurrence with its real numbers: every view runs the kernel."},
}};

}  // namespace attoscope::ui
