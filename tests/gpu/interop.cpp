// attoscope_gpu_interop: checks that pictures made by a GPU from its own matrices are the CPU's, bit for bit: in memory, in a
// texture of OpenGL, on screen. The last line is "N passed, N failed"; without a GPU, or if it does not draw, it names the
// SKIPPED parts.
#include <epoxy/gl.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "app/window/texture.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "kernels/compute.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/device.h"
#include "tests/gpu/tally.h"

namespace attoscope::app {

using namespace ui;
using gpu_check::Tally;

namespace {

struct Size {
  int width, height;
};

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::bit_cast<std::uint32_t>(x[i]) != std::bit_cast<std::uint32_t>(y[i])) return false;
  return true;
}

/// A result with its matrices on the GPU and on the host.
struct Held {
  std::string what;
  std::shared_ptr<const Result> result;
};

std::vector<Held> results(int gpu) {
  std::vector<Held> all;
  for (const auto& [n, d] : {std::pair{1, 1}, {37, 5}, {203, 40}, {1000, 64}, {4096, 64}, {257, 1024}})
    for (const Format& format : {bf16, e4m3, fp64}) {
      Experiment e = default_experiment();
      e.problem.n = n;
      e.problem.d = d;
      e.format = format;
      e.a.precision = policy(n % 2 == 0 ? "hw" : "all_tile").precision;
      auto result = std::make_shared<const Result>(compute(e, {.device = "cuda:" + std::to_string(gpu)}));
      all.push_back({std::to_string(n) + " x " + std::to_string(d) + " in " + name(format), std::move(result)});
    }
  return all;
}

std::vector<CellRect> rects(const Result& r) {
  const double rows = r.golden->rows, cols = r.golden->cols;
  return {{0, 0, rows, cols}, {rows * 0.31, cols * 0.17, rows * 0.62, cols * 0.9}, {-3, -2, rows + 5, cols / 2}};
}

/// The picture as input of the painters.
PixelImage described(const Result& r, const std::vector<float>& values, Field field, const CellRect& cells, Size size) {
  PixelImage image{.width = size.width, .height = size.height};
  image.source = {&values, r.golden->rows, r.golden->cols, cells, field, r.on_device};
  return image;
}

/// A texture of one float a texel, for the scope.
class FloatTexture {
 public:
  explicit FloatTexture(Size size) : size_(size) {
    glGenTextures(1, &name_);
    glBindTexture(GL_TEXTURE_2D, name_);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_R32F, size.width, size.height, 0, GL_RED, GL_FLOAT, nullptr);
  }
  ~FloatTexture() { glDeleteTextures(1, &name_); }
  FloatTexture(const FloatTexture&) = delete;
  FloatTexture& operator=(const FloatTexture&) = delete;

  unsigned name() const { return name_; }
  std::vector<float> texels() const {
    std::vector<float> values(static_cast<std::size_t>(size_.width) * static_cast<std::size_t>(size_.height));
    glBindTexture(GL_TEXTURE_2D, name_);
    glPixelStorei(GL_PACK_ALIGNMENT, 4);
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RED, GL_FLOAT, values.data());
    return values;
  }

 private:
  unsigned name_ = 0;
  Size size_;
};

constexpr Size sizes[] = {{1, 1}, {33, 64}, {701, 397}};

/// Checks every field of a result at every zoom: sampled by the GPU into memory and, if it draws, into a texture.
void check_pixels(const Held& held, const ShareTexture* share, Tally& tally) {
  const Result& r = *held.result;
  for (int f = 0; f < field_count; ++f) {
    const auto field = static_cast<Field>(f);
    if (is_extra(field)) continue;  // drawn from the host's matrices
    const std::vector<float> values = field_values(r, field);
    for (const Size size : sizes) {
      if (size.height == 397 && f % 3 != 0) continue;
      for (const CellRect& cells : rects(r)) {
        const std::string what = held.what + ", " + std::string(text(field).name) + " at " + std::to_string(size.width) +
                                 " x " + std::to_string(size.height);
        const std::vector<float> expected =
            sampled(values, r.golden->rows, r.golden->cols, cells, size.width, size.height, PixelImage::nothing);
        tally.note(
            same_bits(sample_on_device(*r.on_device, field, cells, size.width, size.height, PixelImage::nothing), expected),
            what + ": pixels in memory");
        if (!share) continue;
        const FloatTexture texture(size);
        const PixelImage image = described(r, values, field, cells, size);
        (*share)(texture.name(), image.source)->paint(image.source, size.width, size.height);
        tally.note(same_bits(texture.texels(), expected), what + ": texels");
      }
    }
  }
}

/// Draws one image in a separate frame, as the window does.
std::vector<std::uint8_t> shown(Offscreen& screen, Gui& gui, Texture& texture, const PixelImage& image) {
  ImGui::GetIO().DisplaySize = {static_cast<float>(screen.width()), static_cast<float>(screen.height())};
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  texture.paint(ImGui::GetBackgroundDrawList(), {0, 0}, {static_cast<float>(image.width), static_cast<float>(image.height)},
                image, {.range = 0.01f, .knee = 3e-5f});
  gui.draw(0xff000000);
  texture.end_frame();
  return screen.read().rgb;
}

/// Checks the picture on screen both ways while it is moved and resized, and times the painting.
void check_screen(Offscreen& screen, Gui& gui, const Held& held, Tally& tally) {
  const Result& r = *held.result;
  const std::vector<float> values = field_values(r, Field::a_error);
  Texture sharing, copying(ShareTexture{});
  PixelImage image = described(r, values, Field::a_error, {}, {});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    image.width = screen.width() - i % 5;
    image.height = screen.height() - i % 3;
    image.source.cells = {0.0 + i, 0, static_cast<double>(r.golden->rows), static_cast<double>(r.golden->cols)};
    ++image.version;
    tally.note(shown(screen, gui, sharing, image) == shown(screen, gui, copying, image),
               held.what + ": on screen, frame " + std::to_string(i));
  }
  tally.note(sharing.take_remark().empty(), "the GPU went on sharing");
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  std::printf("%s: %.2f ms for a frame drawn both ways and read back\n", held.what.c_str(), spent.count() / 100);
}

/// Milliseconds until a picture of the largest result is in the texture, GL included.
double painting_ms(const Held& held, const ShareTexture& share) {
  const Size size{1000, 800};
  const FloatTexture texture(size);
  const Result& r = *held.result;
  const std::vector<float> values = field_values(r, Field::a_error);
  const PixelImage image = described(r, values, Field::a_error, rects(r)[0], size);
  const auto shared = share(texture.name(), image.source);
  shared->paint(image.source, size.width, size.height);
  glFinish();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) shared->paint(image.source, size.width, size.height);
  glFinish();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / 200;
}

/// Times frames of the window while a worker computes on the same GPU: the median and the longest within two seconds.
void time_frames_beside_a_worker(Offscreen& screen, Gui& gui, const Held& held, int gpu) {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> over{false};
  std::atomic<int> answers{0};
  const std::jthread worker([&] {
    Experiment e = default_experiment();
    e.problem.n = 16384;
    ComputeCache cache;
    const Options options{.cancelled = [&] { return over.load(); }, .cache = &cache, .device = "cuda:" + std::to_string(gpu)};
    try {
      for (; !over; ++answers) ++e.problem.seed, compute(e, options);
    } catch (const Stopped&) {
    }
  });
  const std::vector<float> values = field_values(*held.result, Field::a_error);
  Texture sharing;
  PixelImage image = described(*held.result, values, Field::a_error, rects(*held.result)[0], {screen.width(), screen.height()});
  std::vector<double> ms;
  for (const auto begun = Clock::now(); Clock::now() - begun < std::chrono::seconds(2);) {
    const auto start = Clock::now();
    ++image.version;
    shown(screen, gui, sharing, image);
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  over = true;
  std::ranges::sort(ms);
  std::printf("beside a worker at N = 16,384 (%d answers): %zu frames, half of them within %.2f ms, the longest %.2f ms\n",
              answers.load(), ms.size(), ms[ms.size() / 2], ms.back());
}

void check_gpu(const DeviceInfo& gpu, Tally& tally) {
  const std::vector<Held> all = results(gpu.index);
  for (const Held& held : all)
    tally.note(held.result->on_device && device_index(*held.result->on_device) == gpu.index, held.what + ": lies on the GPU");
  Offscreen screen(640, 480, gpu.index);
  Gui gui;
  const FloatTexture probe({4, 4});
  const ShareTexture share = cuda_sharing();
  CellSource source;
  source.on_device = all.front().result->on_device;
  const bool draws = share(probe.name(), source) != nullptr;
  std::printf("%s; OpenGL: %s%s\n", gpu.name.c_str(), reinterpret_cast<const char*>(glGetString(GL_RENDERER)),
              draws ? "" : "; SKIPPED: textures, since OpenGL draws on something else");
  for (const Held& held : all) check_pixels(held, draws ? &share : nullptr, tally);
  if (!draws) return;
  for (const Held& held : all) {
    if (held.result->golden->rows < 4096) continue;
    check_screen(screen, gui, held, tally);
    std::printf("%s: %.3f ms to paint 1000 x 800 pixels\n", held.what.c_str(), painting_ms(held, share));
  }
  time_frames_beside_a_worker(screen, gui, all.front(), gpu.index);
}

int run() {
  if (cuda_devices().empty()) {
    std::printf("SKIPPED: no device (%s)\n0 passed, 0 failed\n", why_no_cuda().c_str());
    return 0;
  }
  Tally tally;
  for (const DeviceInfo& gpu : cuda_devices()) check_gpu(gpu, tally);
  return tally.finish();
}

}  // namespace
}  // namespace attoscope::app

int main() try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // keeps the output if the time runs out
  return attoscope::app::run();
} catch (const std::exception& error) {
  std::printf("FAILED: %s\n0 passed, 1 failed\n", error.what());
  return 1;
}
