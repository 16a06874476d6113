// attoscope_ui_tests [FILE|ABOUT|NAME...]: all tests of the window, or the tests of a file (strip_cases), the tests of a
// subject, or one test. The last line is "N passed, N failed".
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "imgui_te_context.h"
#include "imgui_te_engine.h"
#include "tests/ui/cases.h"

namespace attoscope::testing {
namespace {

/// The test engine, bound to the stage's context; its destructor keeps the order that the engine needs.
class Engine {
 public:
  Engine() : engine_(ImGuiTestEngine_CreateContext()) {
    ImGuiTestEngineIO& io = ImGuiTestEngine_GetIO(engine_);
    io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
    io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Error;
    io.ConfigVerboseLevelOnError = ImGuiTestVerboseLevel_Warning;
    io.ConfigLogToTTY = true;
    io.ConfigSavedSettings = false;
    io.ConfigMouseDrawCursor = false;
    io.ConfigNoThrottle = true;
    io.ConfigFixedDeltaTime = 1 / 60.0f;
    io.ConfigWatchdogWarning = io.ConfigWatchdogKillTest = 1e9f;
  }
  ~Engine() { ImGuiTestEngine_DestroyContext(engine_); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ImGuiTestEngine* get() const { return engine_; }

 private:
  ImGuiTestEngine* engine_;
};

void add(ImGuiTestEngine* engine, const Case& test, Stage& stage) {
  ImGuiTest* entry = ImGuiTestEngine_RegisterTest(engine, test.about, test.name);
  entry->TestFunc = [&stage, run = test.run](ImGuiTestContext* context) {
    context->PopupCloseAll();
    context->MouseTeleportToPos({2, 2});
    stage.resize(1280, 800);
    Hand hand(*context, stage);
    hand.open(small_session());
    run(hand);
  };
  ImGuiTestEngine_QueueTest(engine, entry);
}

/// The cases that any of the words names; all if there are no words.
std::vector<Case> wanted_cases(const std::vector<std::string>& words) {
  std::vector<Case> wanted;
  std::ranges::sort(groups(), {}, &Group::name);
  for (const Group& group : groups())
    for (const Case& test : group.cases) {
      const auto names = [&](const std::string& word) { return word == group.name || word == test.about || word == test.name; };
      if (words.empty() || std::ranges::any_of(words, names)) wanted.push_back(test);
    }
  return wanted;
}

/// Keeps every library loaded until the end: the driver unloads itself, and the leak checker then has no names for its leaks.
void keep_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        return 0;
      },
      &names);
  for (const std::string& name : names)
    if (!name.empty()) dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int run(const std::vector<std::string>& words) {
  setenv("ATTOSCOPE_DIALOGS", "none", 1);  // the cases type paths, even if this desktop has a dialog
  const std::vector<Case> cases = wanted_cases(words);
  Engine engine;
  Stage stage(1280, 800);
  ImGuiTestEngine_Start(engine.get(), ImGui::GetCurrentContext());
  for (const Case& test : cases) add(engine.get(), test, stage);
  while (!ImGuiTestEngine_IsTestQueueEmpty(engine.get())) {
    stage.draw();
    ImGuiTestEngine_PostSwap(engine.get());
  }
  keep_libraries();
  ImGuiTestEngineResultSummary sum;
  ImGuiTestEngine_GetResultSummary(engine.get(), &sum);
  ImGuiTestEngine_Stop(engine.get());
  std::printf("%d passed, %d failed\n", sum.CountSuccess, sum.CountTested - sum.CountSuccess);
  return sum.CountTested > 0 && sum.CountSuccess == sum.CountTested ? 0 : 1;
}

}  // namespace

std::vector<Group>& groups() {
  static std::vector<Group> all;
  return all;
}

Listed::Listed(const Case& test, std::string_view file) {
  const std::string name = std::filesystem::path(file).stem().string();
  const auto known = std::ranges::find(groups(), name, &Group::name);
  Group& group = known == groups().end() ? groups().emplace_back(Group{name, {}}) : *known;
  group.cases.push_back(test);
}

}  // namespace attoscope::testing

int main(int count, char** arguments) try {
  return attoscope::testing::run({arguments + 1, arguments + count});
} catch (const std::exception& error) {
  std::printf("%s\n0 passed, 1 failed\n", error.what());
  return 1;
}
