/// Messages between the window and its page.
#pragma once

#include <string>

namespace attoscope::app {

/// Sets the text that the next paste gets.
void set_pasted(std::string text);
/// Causes a frame.
void wake_page();
/// Saves the session as when a window is closed; the page may come back.
void leave_page();

}  // namespace attoscope::app
