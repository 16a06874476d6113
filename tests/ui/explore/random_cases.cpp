// Random use: clicks, drags, keys, texts and changes, while sweeps and trainings run, inputs hold NaN and N is huge.
// A seed (ATTOSCOPE_SEED) gives the events. For twenty seconds nothing may crash, hang or be refused
// wrongly, or for ATTOSCOPE_SECONDS: 3600 is like a day's use, and from 600 on memory may not grow.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/tensors/npy.h"
#include "imgui.h"
#include "tests/support/support.h"
#include "tests/ui/cases.h"

extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace attoscope::testing {
namespace {

using Clock = std::chrono::steady_clock;

double number_from(const char* variable, double usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : std::atof(text);
}

/// True under ASan.
bool is_sanitized() { return __sanitizer_get_current_allocated_bytes != nullptr; }

/// The program's allocated heap, in MB.
double held_mb() {
  if (is_sanitized()) return static_cast<double>(__sanitizer_get_current_allocated_bytes()) * 1e-6;
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) * 1e-6;
}

/// Moves the current directory and all files that the window writes into the test's folder.
class Elsewhere {
 public:
  explicit Elsewhere(Hand& hand) : hand_(hand), before_(std::filesystem::current_path()) {
    std::filesystem::current_path(hand.folder / "");
    hand.stage.exporter = PlotExporter(hand.folder / "pictures");
    hand.stage.places = {std::make_shared<const Autosave>(hand.folder / "session.json"), hand.folder / "recent.json"};
    hand.stage.points_directory = hand.folder / "points";
    hand.stage.data_directory = hand.folder / "data";
  }
  ~Elsewhere() {
    hand_.stage.exporter = PlotExporter("");
    hand_.stage.places = {};
    hand_.stage.points_directory = hand_.stage.data_directory = "";
    hand_.stage.open(small_session());
    std::filesystem::current_path(before_);
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  Hand& hand_;
  std::filesystem::path before_;
};

/// A user with random actions.
class Anybody {
 public:
  Anybody(Hand& hand, std::uint64_t seed) : hand_(hand), dice_(seed) {
    std::vector<double> nasty(std::size_t{64} * 16);
    for (double& x : nasty) x = dice_.one_in(9) ? std::numeric_limits<double>::quiet_NaN() : dice_.normal();
    nasty[7] = INFINITY;
    for (const char* const name : {"q.npy", "k.npy", "v.npy"}) write_file(hand.folder / name, npy_bytes(64, 16, nasty.data()));
  }

  void do_something() {
    const int event = dice_.between(0, 19);
    if (event < 4) return hand_.press(anywhere(), dice_.one_in(5) ? 2 : 1);
    if (event < 6) return hand_.drag(anywhere(), anywhere());
    if (event < 8) return hand_.wheel(anywhere(), static_cast<float>(dice_.between(-3, 3)));
    if (event < 11) return press_key();
    if (event < 12) return write();
    if (event < 13) return hand_.stage.resize(dice_.between(640, 1920), dice_.between(400, 1080));
    if (event < 14) return change_workspace();
    if (event < 16) return change_experiment();
    if (event < 17) return open_strange_tensors();
    if (event < 18) return sweep();
    if (event < 19) return train();
    keep();
  }

 private:
  ImVec2 anywhere() {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    return {static_cast<float>(dice_.unit()) * size.x, static_cast<float>(dice_.unit()) * size.y};
  }

  void press_key() {
    constexpr std::array<int, 12> special{ImGuiKey_Escape,     ImGuiKey_Escape,  ImGuiKey_Enter,     ImGuiKey_Tab,
                                          ImGuiKey_Space,      ImGuiKey_UpArrow, ImGuiKey_DownArrow, ImGuiKey_LeftArrow,
                                          ImGuiKey_RightArrow, ImGuiKey_PageUp,  ImGuiKey_Delete,    ImGuiKey_F1};
    int chord = dice_.one_in(2) ? dice_.any(special) : dice_.between(ImGuiKey_A, ImGuiKey_Z);
    if (dice_.one_in(4)) chord |= ImGuiMod_Ctrl;
    if (dice_.one_in(8)) chord |= ImGuiMod_Shift;
    hand_.key(chord);
  }

  void write() {
    constexpr std::array<const char*, 9> texts{"nan",  "-1",         "1e308",  "0",           "4096",
                                               "e5m7", "\xce\xb2 x", "normal", "../nowhere/x"};
    if (ImGui::GetIO().WantTextInput) dice_.one_in(2) ? hand_.enter(dice_.any(texts)) : hand_.type_only(dice_.any(texts));
  }

  void change_workspace() {
    constexpr std::array all{Workspace::explore, Workspace::sweep, Workspace::train, Workspace::model, Workspace::learn};
    hand_.view().workspace = dice_.any(all);
  }

  void change_experiment() {
    constexpr std::array sizes{1, 2, 7, 96, 96, 257, 1000, 4096, 65536};
    constexpr std::array formats{bf16, fp16, fp32, e4m3};
    constexpr std::array masks{Mask::Kind::none, Mask::Kind::causal};
    Experiment& e = hand_.experiment();
    if (dice_.one_in(2)) e.problem.input = {};
    e.problem.seed = dice_.bits();
    e.problem.n = dice_.any(sizes);
    e.problem.d = dice_.between(1, e.problem.n > 4096 ? 8 : 64);
    e.problem.rows = e.problem.n > 1000 ? 64 : 0;
    e.problem.mask.kind = dice_.any(masks);
    e.problem.traced_row = -1;
    e.format = dice_.any(formats);
    e.a.algorithm = dice_.any(emulated_algorithms);
    e.a.block_k = dice_.between(1, 128);
  }

  void open_strange_tensors() {
    const auto& folder = hand_.folder;
    open_files({folder / "q.npy", folder / "k.npy", folder / "v.npy"}, hand_.stage.context());
  }

  void sweep() {
    constexpr std::array acts{SweepRequest::run, SweepRequest::run, SweepRequest::pause, SweepRequest::cancel};
    hand_.session().sweep.first = {"block_k", dice_.one_in(2) ? "8:64:x2" : "nonsense"};
    hand_.session().sweep.seeds = dice_.between(1, 50);
    Requests requests;
    requests.sweep = dice_.any(acts);
    hand_.stage.sweeper().handle(requests, hand_.session());
  }

  void train() {
    using Act = TrainRequest::Act;
    constexpr std::array acts{Act::run,     Act::run,  Act::one_step, Act::pause, Act::restart,
                              Act::go_back, Act::fork, Act::save,     Act::open,  Act::explore};
    TrainPlan& plan = hand_.session().train;
    plan.model = {.layers = 1, .width = 16, .heads = 2, .context = 16, .norm = Norm::rms};
    plan.recipe.batch = 2;
    plan.recipe.steps = 200;
    TrainRequest request{.act = dice_.any(acts)};
    request.step = dice_.between(0, 200);
    if (request.act == Act::save || request.act == Act::open) request.file = hand_.folder / "c";
    hand_.stage.train().handle(request, hand_.session());
  }

  void keep() { autosave(hand_.stage.context(), ++autosaves_ * 100, true); }

  Hand& hand_;
  Dice dice_;
  int autosaves_ = 0;
};

/// Heap in MB at rest, after all earlier work has ended.
double held_at_rest(Hand& hand) {
  hand.stage.exporter = PlotExporter(hand.folder / "pictures");  // cancels unfinished pictures
  for (int i = 0; i < 4; ++i) hand.key(ImGuiKey_Escape);
  hand.stage.resize(1280, 800);
  hand.open(small_session());
  for (int i = 0; i < 10; ++i) {
    hand.stage.take_picture();  // makes the driver draw pending frames and free some memory
    hand.frames(3);
  }
  return held_mb();
}

CASE(random, nothing_grows_in_a_day) {
  const double seconds = number_from("ATTOSCOPE_SECONDS", 20);
  const auto seed = static_cast<std::uint64_t>(number_from("ATTOSCOPE_SEED", 1));
  const Elsewhere elsewhere(hand);
  hand.open(small_session());
  Anybody anybody(hand, seed);
  constexpr int parts = 10, warm = 7;  // the first parts fill caches, pages and pictures
  std::array<double, parts> held{};
  int events = 0;
  const auto begin = Clock::now();
  for (int part = 0; part < parts && hand.well(); ++part) {
    const auto end = begin + std::chrono::duration<double>(seconds * (part + 1) / parts);
    while (Clock::now() < end && hand.well()) {
      anybody.do_something();
      ++events;
    }
    held[static_cast<std::size_t>(part)] = held_at_rest(hand);
  }
  const double before = *std::max_element(held.begin(), held.begin() + warm),
               after = *std::min_element(held.begin() + warm, held.end());
  std::printf(
      "%d random events of seed %llu: at rest %.1f MB were held at first, %.1f MB at most until %d %% of the time, %.1f MB "
      "at least since\n",
      events, static_cast<unsigned long long>(seed), held.front(), before, warm * 100 / parts, after);
  hand.check(events > 20, "events were sent");
  constexpr double long_enough = 600;  // in less time, caches, pages and pictures look like growth
  hand.check(seconds < long_enough || after - before < 20,
             "memory grew from " + std::to_string(before) + " to " + std::to_string(after) + " MB");
}

}  // namespace

}  // namespace attoscope::testing
