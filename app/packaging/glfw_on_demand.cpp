// GLFW for packages: loads its library (and with it X11's) at the start of the program if present, because only the window
// needs it. Each function of GLFW is a jump through a pointer.
#include <dlfcn.h>

#include <cstdint>
#include <filesystem>
#include <string>

#define GLFW_FUNCTIONS(F)              \
  F(glfwCreateStandardCursor)          \
  F(glfwCreateWindow)                  \
  F(glfwCreateWindowSurface)           \
  F(glfwDestroyCursor)                 \
  F(glfwDestroyWindow)                 \
  F(glfwFocusWindow)                   \
  F(glfwGetClipboardString)            \
  F(glfwGetCursorPos)                  \
  F(glfwGetError)                      \
  F(glfwGetFramebufferSize)            \
  F(glfwGetGamepadState)               \
  F(glfwGetInputMode)                  \
  F(glfwGetKey)                        \
  F(glfwGetKeyName)                    \
  F(glfwGetMonitorContentScale)        \
  F(glfwGetMonitorPos)                 \
  F(glfwGetMonitorWorkarea)            \
  F(glfwGetMonitors)                   \
  F(glfwGetPlatform)                   \
  F(glfwGetPrimaryMonitor)             \
  F(glfwGetTime)                       \
  F(glfwGetVideoMode)                  \
  F(glfwGetWindowAttrib)               \
  F(glfwGetWindowContentScale)         \
  F(glfwGetWindowPos)                  \
  F(glfwGetWindowSize)                 \
  F(glfwGetWindowUserPointer)          \
  F(glfwGetX11Display)                 \
  F(glfwGetX11Window)                  \
  F(glfwInit)                          \
  F(glfwInitHint)                      \
  F(glfwMakeContextCurrent)            \
  F(glfwPollEvents)                    \
  F(glfwPostEmptyEvent)                \
  F(glfwSetCharCallback)               \
  F(glfwSetClipboardString)            \
  F(glfwSetCursor)                     \
  F(glfwSetCursorEnterCallback)        \
  F(glfwSetCursorPos)                  \
  F(glfwSetCursorPosCallback)          \
  F(glfwSetDropCallback)               \
  F(glfwSetErrorCallback)              \
  F(glfwSetFramebufferSizeCallback)    \
  F(glfwSetInputMode)                  \
  F(glfwSetKeyCallback)                \
  F(glfwSetMonitorCallback)            \
  F(glfwSetMouseButtonCallback)        \
  F(glfwSetScrollCallback)             \
  F(glfwSetWindowAttrib)               \
  F(glfwSetWindowCloseCallback)        \
  F(glfwSetWindowContentScaleCallback) \
  F(glfwSetWindowFocusCallback)        \
  F(glfwSetWindowOpacity)              \
  F(glfwSetWindowPos)                  \
  F(glfwSetWindowPosCallback)          \
  F(glfwSetWindowRefreshCallback)      \
  F(glfwSetWindowShouldClose)          \
  F(glfwSetWindowSize)                 \
  F(glfwSetWindowSizeCallback)         \
  F(glfwSetWindowSizeLimits)           \
  F(glfwSetWindowTitle)                \
  F(glfwSetWindowUserPointer)          \
  F(glfwShowWindow)                    \
  F(glfwSwapBuffers)                   \
  F(glfwSwapInterval)                  \
  F(glfwTerminate)                     \
  F(glfwWaitEvents)                    \
  F(glfwWaitEventsTimeout)             \
  F(glfwWindowHint)                    \
  F(glfwWindowHintString)              \
  F(glfwWindowShouldClose)

#if defined(__x86_64__)
#define JUMP_TO(name) "endbr64\n jmp *pointer_to_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP_TO(name) "adrp x16, pointer_to_" #name "\n ldr x16, [x16, :lo12:pointer_to_" #name "]\n br x16\n"
#endif

namespace {

/// Replaces every function of GLFW if its library is missing: glfwInit returns false, and no other function is called.
std::intptr_t nothing() { return 0; }

}  // namespace

#define POINTER(name)                                                                                                     \
  extern "C" {                                                                                                            \
  [[gnu::visibility("hidden"), gnu::used]] void* pointer_to_##name = reinterpret_cast<void*>(&nothing);                   \
  }                                                                                                                       \
  asm(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n" JUMP_TO(name) ".size " #name \
                                                                                                           ", .-" #name "\n");
GLFW_FUNCTIONS(POINTER)

namespace {

/// The library in ../lib of the program (wheels, archives), else the system's; null if neither loads.
void* glfw() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string own = (program.parent_path().parent_path() / "lib" / "libglfw.so.3").string();
  if (void* const library = dlopen(own.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  return dlopen("libglfw.so.3", RTLD_NOW | RTLD_LOCAL);
}

bool load() {
  void* const library = glfw();
  if (library == nullptr) return false;
#define LOAD(name) \
  if (void* const found = dlsym(library, #name)) pointer_to_##name = found;
  GLFW_FUNCTIONS(LOAD)
  return true;
}

[[maybe_unused]] const bool loaded = load();

}  // namespace
