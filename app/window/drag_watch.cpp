#include "app/window/drag_watch.h"

#if __has_include(<X11/Xlib.h>)
#include <X11/Xlib.h>
#include <dlfcn.h>

#include <cstdlib>
#include <limits>
#include <utility>

/// Declared here because GLFW's own header includes more of X11; null without X11.
extern "C" Display* glfwGetX11Display();

namespace attoscope::app {
namespace {

/// Xlib's conversion of an event from the wire; the last is an xEvent.
using Convert = int (*)(Display*, XEvent*, void*);

/// Head of the list of a display's extension data.
XExtData*& kept_with(Display* display) { return reinterpret_cast<_XPrivDisplay>(display)->ext_data; }

}  // namespace

/// Stored in the display's extension data; freed when the display is closed.
struct DragWatch::Hook {
  Convert before;
  Atom position, leave, drop;
  DragWatch* owner;

  static int forget(XExtData* data) {
    delete reinterpret_cast<Hook*>(data->private_data);
    return 0;
  }

  static const Hook* of(Display* display) {
    const XExtData* at = kept_with(display);
    while (at != nullptr && at->free_private != forget) at = at->next;
    return at == nullptr ? nullptr : reinterpret_cast<const Hook*>(at->private_data);
  }

  /// Converts a message with the earlier function, and reports messages of a drag.
  static int convert(Display* display, XEvent* event, void* wire) {
    const Hook* const hook = of(display);
    if (hook == nullptr) return 0;
    const int well = hook->before(display, event, wire);
    const Atom type = event->xclient.message_type;
    if (hook->owner != nullptr && (type == hook->position || type == hook->leave || type == hook->drop))
      hook->owner->tell(type == hook->position);
    return well;
  }
};

DragWatch::DragWatch(std::function<void()> changed) : changed_(std::move(changed)) {
  void* const xlib =
      dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD);  // loaded only if GLFW uses it: not by a program without a window
  Display* const display = xlib == nullptr ? nullptr : glfwGetX11Display();
  if (display == nullptr) return;
  const auto set = reinterpret_cast<Convert (*)(Display*, int, Convert)>(dlsym(xlib, "XESetWireToEvent"));
  const auto atom = reinterpret_cast<Atom (*)(Display*, const char*, int)>(dlsym(xlib, "XInternAtom"));
  auto* const data = static_cast<XExtData*>(std::calloc(1, sizeof(XExtData)));  // freed by Xlib
  if (set == nullptr || atom == nullptr || data == nullptr) {
    std::free(data);
    return;
  }
  const auto named = [&](const char* name) { return atom(display, name, 0); };
  hook_ = new Hook{nullptr, named("XdndPosition"), named("XdndLeave"), named("XdndDrop"), this};
  data->number = std::numeric_limits<int>::max();
  data->free_private = Hook::forget;
  data->private_data = reinterpret_cast<XPointer>(hook_);
  data->next = std::exchange(kept_with(display), data);
  hook_->before = set(display, ClientMessage, Hook::convert);
}

DragWatch::~DragWatch() {
  if (hook_ != nullptr) hook_->owner = nullptr;
}
#else
#include <utility>

namespace attoscope::app {

DragWatch::DragWatch(std::function<void()> changed) : changed_(std::move(changed)) {}
DragWatch::~DragWatch() = default;
#endif

}  // namespace attoscope::app
