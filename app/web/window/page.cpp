/// The functions that the page calls, and the window's link, through which it tells the window what to open.
#include "app/web/window/page.h"

#include <emscripten.h>

#include <exception>
#include <iostream>
#include <optional>
#include <utility>

#include "app/commands/command_line.h"
#include "app/link/live_link.h"

namespace attoscope {
namespace {

std::optional<LinkMessage> told;

}  // namespace

std::string link_path() { return "page"; }

LiveLink::LiveLink(std::string path, std::function<void()> published)
    : path_(std::move(path)), published_(std::move(published)) {}
LiveLink::~LiveLink() = default;

std::optional<LinkMessage> LiveLink::take() { return std::exchange(told, std::nullopt); }

bool send_to_window(const std::string&, const LinkMessage&) { return false; }

}  // namespace attoscope

/// Tells the window to open what a link says, as `attoscope open` does. Returns half a sentence where it makes no sense, else
/// "", valid until the next call.
extern "C" EMSCRIPTEN_KEEPALIVE const char* attoscope_open(const char* url) {
  static std::string why;
  why.clear();
  try {
    attoscope::told = attoscope::parse_link_url(url);
    attoscope::wake_page();
  } catch (const std::exception& error) {
    why = error.what();
  }
  return why.c_str();
}

/// Sets the text that the next paste gets.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_paste(const char* text) { attoscope::set_pasted(text); }

/// Starts the window; the page calls for its frames.
int main() { return attoscope::run_command_line({}, std::cout, std::cerr); }
