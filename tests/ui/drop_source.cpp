// attoscope_drop_source [--hold MS] WINDOW X Y FILE...: drops files onto a window, as a file manager does (XDND, version 5),
// held over it for MS milliseconds. X and Y are in the window. Exit code 0: the window took the files; 1: it did not; 2: wrong
// usage.
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <poll.h>

#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Close {
  void operator()(Display* display) const { XCloseDisplay(display); }
};

/// "file:///a%20b" and a line end for each file.
std::string uri_list(const std::vector<std::string>& files) {
  std::string list;
  for (const std::string& file : files) {
    list += "file://";
    for (const char c : file) {
      const auto byte = static_cast<unsigned char>(c);
      char code[4];
      std::snprintf(code, sizeof code, "%%%02X", byte);
      list += std::isalnum(byte) || c == '/' || c == '.' || c == '-' || c == '_' ? std::string(1, c) : code;
    }
    list += "\r\n";
  }
  return list;
}

/// Holds files over a window, drops them, and sends them.
class DropSource {
 public:
  DropSource(Window target, std::string list) : display_(XOpenDisplay(nullptr)), target_(target), list_(std::move(list)) {
    if (!display_) throw std::runtime_error("there is no display");
    source_ = XCreateSimpleWindow(display_.get(), DefaultRootWindow(display_.get()), 0, 0, 1, 1, 0, 0, 0);
    if (!is_aware()) throw std::runtime_error("the window takes no drops");
    XSetSelectionOwner(display_.get(), atom("XdndSelection"), source_, CurrentTime);
  }

  void drop(int x, int y, int hold) {
    Window child = 0;
    int root_x = 0, root_y = 0;
    XTranslateCoordinates(display_.get(), target_, DefaultRootWindow(display_.get()), x, y, &root_x, &root_y, &child);
    send("XdndEnter", {version << 24, static_cast<long>(atom("text/uri-list")), 0, 0});
    send("XdndPosition",
         {0, (static_cast<long>(root_x) << 16) | root_y, CurrentTime, static_cast<long>(atom("XdndActionCopy"))});
    if ((await("XdndStatus").data.l[1] & 1) == 0) throw std::runtime_error("the window refuses the drop");
    poll(nullptr, 0, hold);
    send("XdndDrop", {0, CurrentTime, 0, 0});
    await("XdndFinished");
    if (!asked_) throw std::runtime_error("the window did not ask for the files");
  }

 private:
  static constexpr long version = 5;

  Atom atom(const char* name) const { return XInternAtom(display_.get(), name, False); }

  bool is_aware() const {
    Atom type = None;
    int format = 0;
    unsigned long count = 0, rest = 0;
    unsigned char* value = nullptr;
    XGetWindowProperty(display_.get(), target_, atom("XdndAware"), 0, 1, False, XA_ATOM, &type, &format, &count, &rest, &value);
    if (value != nullptr) XFree(value);
    return type == XA_ATOM && count == 1;
  }

  void send(const char* what, const std::vector<long>& data) {
    XEvent event{};
    event.xclient.type = ClientMessage;
    event.xclient.window = target_;
    event.xclient.message_type = atom(what);
    event.xclient.format = 32;
    event.xclient.data.l[0] = static_cast<long>(source_);
    for (std::size_t i = 0; i < data.size(); ++i) event.xclient.data.l[i + 1] = data[i];
    XSendEvent(display_.get(), target_, False, NoEventMask, &event);
    XFlush(display_.get());
  }

  /// Waits for a message of the window, and sends the files on request meanwhile.
  XClientMessageEvent await(const char* what) {
    const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
    while (Clock::now() < end) {
      while (XPending(display_.get()) > 0) {
        XEvent event;
        XNextEvent(display_.get(), &event);
        if (event.type == SelectionRequest) serve(event.xselectionrequest);
        if (event.type == ClientMessage && event.xclient.message_type == atom(what)) return event.xclient;
      }
      pollfd ready{ConnectionNumber(display_.get()), POLLIN, 0};
      poll(&ready, 1, 100);
    }
    throw std::runtime_error(std::string("the window sends no ") + what);
  }

  void serve(const XSelectionRequestEvent& request) {
    asked_ |= request.target == atom("text/uri-list");
    XChangeProperty(display_.get(), request.requestor, request.property, request.target, 8, PropModeReplace,
                    reinterpret_cast<const unsigned char*>(list_.data()), static_cast<int>(list_.size()));
    XEvent event{};
    event.xselection.type = SelectionNotify;
    event.xselection.requestor = request.requestor;
    event.xselection.selection = request.selection;
    event.xselection.target = request.target;
    event.xselection.property = request.property;
    event.xselection.time = request.time;
    XSendEvent(display_.get(), request.requestor, False, NoEventMask, &event);
    XFlush(display_.get());
  }

  std::unique_ptr<Display, Close> display_;
  Window target_, source_ = 0;
  std::string list_;
  bool asked_ = false;
};

}  // namespace

int main(int count, char** arguments) try {
  const bool holds = count > 2 && std::string(arguments[1]) == "--hold";
  const int hold = holds ? std::atoi(arguments[2]) : 0;
  if (holds) arguments += 2, count -= 2;
  if (count < 5) {
    std::fprintf(stderr, "usage: attoscope_drop_source [--hold MS] WINDOW X Y FILE...\n");
    return 2;
  }
  DropSource source(std::strtoul(arguments[1], nullptr, 0), uri_list({arguments + 4, arguments + count}));
  source.drop(std::atoi(arguments[2]), std::atoi(arguments[3]), hold);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "attoscope_drop_source: %s\n", error.what());
  return 1;
}
