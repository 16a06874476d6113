#include "app/window/offscreen.h"

#include <dlfcn.h>
#include <epoxy/common.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/window/canvas.h"

namespace attoscope::app {
namespace {

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error("Cannot draw without a display: " + why + "."); }

/// CUDA's index of an EGL device; -1: CUDA does not know it.
int cuda_index(EGLDeviceEXT device) {
  EGLAttrib index = -1;
  if (!epoxy_extension_in_string(eglQueryDeviceStringEXT(device, EGL_EXTENSIONS), "EGL_NV_device_cuda")) return -1;
  return eglQueryDeviceAttribEXT(device, EGL_CUDA_DEVICE_NV, &index) ? static_cast<int>(index) : -1;
}

/// Devices of this machine, best first: the wanted GPU, other GPUs, software renderers.
std::vector<EGLDeviceEXT> devices(const char* client_extensions, int gpu) {
  const auto can = [&](const char* query) {
    return epoxy_extension_in_string(client_extensions, "EGL_EXT_device_base") ||
           epoxy_extension_in_string(client_extensions, query);
  };
  EGLint count = 0;
  std::vector<EGLDeviceEXT> found(64);
  const bool listed =
      can("EGL_EXT_device_enumeration") && eglQueryDevicesEXT(static_cast<EGLint>(found.size()), found.data(), &count);
  if (!listed) return {};
  found.resize(static_cast<std::size_t>(count));
  if (!can("EGL_EXT_device_query")) return found;
  const auto rank = [&](EGLDeviceEXT device) {
    if (gpu >= 0 && cuda_index(device) == gpu) return 0;
    return epoxy_extension_in_string(eglQueryDeviceStringEXT(device, EGL_EXTENSIONS), "EGL_MESA_device_software") ? 2 : 1;
  };
  std::ranges::stable_sort(found, {}, rank);
  return found;
}

/// Displays to try, best first.
std::vector<EGLDisplay> displays(int gpu) {
  const char* extensions = eglQueryString(EGL_NO_DISPLAY, EGL_EXTENSIONS);
  std::vector<EGLDisplay> found;
  if (epoxy_extension_in_string(extensions, "EGL_EXT_platform_base")) {
    if (epoxy_extension_in_string(extensions, "EGL_EXT_platform_device"))
      for (EGLDeviceEXT device : devices(extensions, gpu))
        found.push_back(eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT, device, nullptr));
    if (epoxy_extension_in_string(extensions, "EGL_MESA_platform_surfaceless"))
      found.push_back(eglGetPlatformDisplayEXT(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr));
  }
  found.push_back(eglGetDisplay(EGL_DEFAULT_DISPLAY));
  return found;
}

/// Makes OpenGL 3.3 core current on an initialised display, without a surface; EGL_NO_CONTEXT on failure.
EGLContext make_current(EGLDisplay display) {
  const char* extensions = eglQueryString(display, EGL_EXTENSIONS);
  if (!epoxy_extension_in_string(extensions, "EGL_KHR_surfaceless_context") || !eglBindAPI(EGL_OPENGL_API))
    return EGL_NO_CONTEXT;
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
  EGLConfig config = nullptr;  // EGL_NO_CONFIG_KHR
  EGLint count = 0;
  eglChooseConfig(display, wanted, &config, 1, &count);
  if (count == 0 && !epoxy_extension_in_string(extensions, "EGL_KHR_no_config_context")) return EGL_NO_CONTEXT;
  const EGLint attributes[] = {
      EGL_CONTEXT_MAJOR_VERSION,           3,       EGL_CONTEXT_MINOR_VERSION, 3, EGL_CONTEXT_OPENGL_PROFILE_MASK,
      EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT, EGL_NONE};
  const EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, attributes);
  if (context == EGL_NO_CONTEXT) return context;
  if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context)) return context;
  eglDestroyContext(display, context);
  return EGL_NO_CONTEXT;
}

/// True if an OpenGL library is installed; epoxy ends the program without one.
bool has_gl() {
  for (const char* const name : {"libOpenGL.so.0", "libGL.so.1"})
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return dlclose(library) == 0;
  return false;
}

}  // namespace

/// A current EGL context and its display.
class Offscreen::Context {
 public:
  explicit Context(int gpu) {
    if (!epoxy_has_egl()) fail("libEGL.so.1 is missing (Debian: libegl1)");
    if (!has_gl()) fail("libGL.so.1 is missing (Debian: libgl1)");
    for (EGLDisplay display : displays(gpu)) {
      if (display == EGL_NO_DISPLAY || !eglInitialize(display, nullptr, nullptr)) continue;
      display_ = display;
      context_ = make_current(display);
      if (context_ != EGL_NO_CONTEXT) return;
      eglTerminate(display);
    }
    fail("no EGL display of this machine offers OpenGL 3.3 (Debian: libgl1-mesa-dri has a software renderer)");
  }
  ~Context() {
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display_, context_);
    eglTerminate(display_);
  }
  Context(Context&&) = delete;

 private:
  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
};

Offscreen::Offscreen(int width, int height, int gpu)
    : width_(width), height_(height), context_(std::make_unique<Context>(gpu)) {
  const int limit = Framebuffer::largest_side();
  if (width < 1 || height < 1 || width > limit || height > limit)
    fail("the size " + std::to_string(width) + "x" + std::to_string(height) + " is not within 1x1 .. " + std::to_string(limit) +
         "x" + std::to_string(limit));
  pixels_ = std::make_unique<Framebuffer>(width, height);
}

Offscreen::~Offscreen() = default;

Picture Offscreen::read() const {
  glBindFramebuffer(GL_FRAMEBUFFER, pixels_->name());
  return read_back(0, 0, width_, height_);
}

}  // namespace attoscope::app
