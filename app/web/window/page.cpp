/// Functions that the page calls, and the window's link, by which it sends the window files to open.
#include "app/web/window/page.h"

#include <emscripten.h>

#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "app/explore/app.h"
#include "app/files/paths.h"
#include "app/link/live_link.h"
#include "app/session/session.h"
#include "app/session/session_store.h"

namespace attoscope::app {
namespace {

std::optional<LinkMessage> told;

void tell_window(LinkMessage message) {
  told = std::move(message);
  wake_page();
}

/// Opens the window with the session of the last visit, or with generated inputs until the example has arrived.
void open_kept_session() {
  Start start{.autosave = std::make_shared<const Autosave>(default_session_file()), .example_file = example_file()};
  LastSession last = last_session(start.autosave->file(), start.remarks);
  if (last.stays) start.autosave = std::make_shared<const Autosave>(default_session_file(), true);
  if (!last.first) start.session = std::move(last.session);
  start.session.view.welcome |= last.first;
  start.document = std::move(last.document);
  start.first = last.first;
  run_window(start);
}

}  // namespace

std::string link_path() { return "page"; }

LiveLink::LiveLink(std::string path, std::function<void()> published)
    : path_(std::move(path)), published_(std::move(published)) {}
LiveLink::~LiveLink() = default;

std::optional<LinkMessage> LiveLink::take() { return std::exchange(told, std::nullopt); }

bool send_to_window(const std::string&, const LinkMessage&) { return false; }

}  // namespace attoscope::app

/// Opens a link in the window, as `attoscope open`. Returns half a sentence if the link is wrong, else ""; valid until the next
/// call.
extern "C" EMSCRIPTEN_KEEPALIVE const char* attoscope_open(const char* url) {
  static std::string why;
  why.clear();
  try {
    attoscope::app::tell_window(attoscope::app::parse_link_url(url));
  } catch (const std::exception& error) {
    why = error.what();
  }
  return why.c_str();
}

/// Sets the text that the next paste gets.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_paste(const char* text) { attoscope::app::set_pasted(text); }

/// Shows a new user's session, after its example has arrived.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_show_example() {
  attoscope::app::tell_window({.files = {}, .session = attoscope::app::short_session_text(attoscope::app::first_session())});
}

/// Causes a frame, because files that the window waits for have arrived.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_fetched() { attoscope::app::wake_page(); }

/// Saves the session at once, because the page is left.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_leave() {
  try {
    attoscope::app::leave_page();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
  }
}

/// Starts the window; the page then requests its frames.
int main() {
  try {
    attoscope::app::open_kept_session();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
  return 0;
}
