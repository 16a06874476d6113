// Textures: a picture is the same if its pixels are sent, computed at painting, or written into the texture by the GPU; and
// the effects of failures.
#include "app/window/texture.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/window/gui.h"
#include "app/window/offscreen.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "kernels/compute.h"
#include "kernels/gpu/device_matrices.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "ui/picture/heatmap_view.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

constexpr int width = 160, height = 120, rows = 300, cols = 40;

/// Counts of calls to a stand-in GPU, and its failures.
struct Log {
  int shared = 0, alive = 0, painted = 0;
  bool refuses = false, breaks = false, serves = true;
};

/// Stands in for a GPU that writes the texture: copies pixels from the CPU.
class Painter final : public SharedTexture {
 public:
  Painter(Log& log, unsigned texture) : log_(log), texture_(texture) { ++log_.shared, ++log_.alive; }
  ~Painter() override {
    --log_.alive;
    EXPECT_TRUE(glIsTexture(texture_)) << "the texture was destroyed before its share";
  }
  bool serves(const CellSource&) const override { return log_.serves; }
  void paint(const CellSource& s, int w, int h) override {
    if (log_.breaks) throw std::runtime_error("The GPU fell off the bus.");
    int texels_x = 0, texels_y = 0;
    glBindTexture(GL_TEXTURE_2D, texture_);
    glGetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_WIDTH, &texels_x);
    glGetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_HEIGHT, &texels_y);
    EXPECT_EQ(texels_x, w);
    EXPECT_EQ(texels_y, h);
    const std::vector<float> pixels = sampled(*s.values, s.rows, s.cols, s.cells, w, h, PixelImage::nothing);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, w, h, GL_RED, GL_FLOAT, pixels.data());
    ++log_.painted;
  }

 private:
  Log& log_;
  unsigned texture_;
};

ShareTexture stand_in(Log& log) {
  return [&log](unsigned texture, const CellSource&) -> std::unique_ptr<SharedTexture> {
    if (log.refuses) return nullptr;
    return std::make_unique<Painter>(log, texture);
  };
}

/// Pictures of one matrix, with pixels or with a source.
class TexturePictures : public ::testing::Test {
 protected:
  TexturePictures() {
    Dice dice(5);
    for (float& x : values_) x = static_cast<float>(dice.normal());
    values_[777] = NAN;
    values_[778] = HUGE_VALF;
  }

  PixelImage sent(const CellRect& cells, int w = width, int h = height) {
    PixelImage image{.width = w, .height = h, .version = ++made_};
    image.pixels = sampled(values_, rows, cols, cells, w, h, PixelImage::nothing);
    return image;
  }
  PixelImage described(const CellRect& cells, int w = width, int h = height) {
    PixelImage image{.width = w, .height = h, .version = ++made_};
    image.source = {&values_, rows, cols, cells, Field::a_error, std::make_shared<const DeviceMatrices>()};
    return image;
  }

  /// Pixels of the screen after a frame that paints the image.
  std::vector<std::uint8_t> shown(Texture& texture, const PixelImage& image) {
    ImGui::GetIO().DisplaySize = {width, height};
    ImGui_ImplOpenGL3_NewFrame();
    ImGui::NewFrame();
    texture.paint(ImGui::GetBackgroundDrawList(), {0, 0}, {static_cast<float>(image.width), static_cast<float>(image.height)},
                  image, {.diverging = true, .log = false, .range = 2, .knee = 1});
    gui_.draw(0xff000000);
    texture.end_frame();
    return screen_.read().rgb;
  }

  /// Expects the same screen from the stand-in GPU as from sent pixels of these cells.
  void expect_shown_as_sent(const PixelImage& image, const CellRect& cells, int w = width) {
    EXPECT_EQ(shown(sharing_, image), shown(sending_, sent(cells, w)));
  }

  std::vector<float> values_ = std::vector<float>(rows * cols);
  const CellRect whole_{0, 0, rows, cols}, part_{20.5, 3.25, 90, 31};

 private:
  std::uint64_t made_ = 0;  ///< number of images: the version that distinguishes images at one address
  Offscreen screen_{width, height};
  Gui gui_;

 protected:
  Log log_;
  Texture sending_, sharing_{stand_in(log_)};
};

TEST_F(TexturePictures, AreTheSameWhoeverMakesThePixels) {
  Texture making(ShareTexture{});
  for (const CellRect& cells : {whole_, part_}) {
    const PixelImage with_pixels = sent(cells), with_source = described(cells);
    const std::vector<std::uint8_t> expected = shown(sending_, with_pixels);
    EXPECT_GT(std::ranges::count_if(expected, [](int x) { return x > 60; }), width * height / 4) << "nothing was drawn";
    PixelImage nowhere = with_source;
    nowhere.source.on_device.reset();
    EXPECT_EQ(shown(making, nowhere), expected);
    EXPECT_EQ(shown(making, with_source), expected) << "without a sharing function";
    EXPECT_EQ(shown(sharing_, with_source), expected);
  }
  EXPECT_EQ(log_.painted, 2);
  EXPECT_EQ(sharing_.take_remark(), "");
}

TEST_F(TexturePictures, AreMadeHereWhereTheGpuDrawsSomethingElse) {
  log_.refuses = true;
  expect_shown_as_sent(described(whole_), whole_);
  EXPECT_EQ(sharing_.take_remark(), "");
}

TEST_F(TexturePictures, OfAGpuThatCudaDoesNotSeeInThisContextAreMadeHere) {
  Texture texture(cuda_sharing());
  PixelImage image = described(whole_);
  DeviceMatrices elsewhere;
  elsewhere.device = 63;
  image.source.on_device = std::make_shared<const DeviceMatrices>(elsewhere);
  EXPECT_EQ(shown(texture, image), shown(sending_, sent(whole_)));
  EXPECT_EQ(texture.take_remark(), "");
}

TEST_F(TexturePictures, OfAResultOnAGpuAreThoseOfTheSameResultOnTheCpu) {
  const auto on_cpu = std::make_shared<const Result>(compute(sized_experiment(96, 16)));
  Result copy = *on_cpu;
  copy.on_device = std::make_shared<const DeviceMatrices>();
  const auto on_gpu = std::make_shared<const Result>(std::move(copy));
  HeatState cpu, gpu;
  for (const CellRect& cells : {CellRect{0, 0, 96, 16}, {10, 2.5, 50, 11}})
    for (const Field field : {Field::golden, Field::a}) {
      refresh_values(cpu, {.result = on_cpu}, field);
      refresh_values(gpu, {.result = on_gpu}, field);
      refresh_image(cpu, cells, width, height);
      refresh_image(gpu, cells, width, height);
      EXPECT_FALSE(cpu.image.pixels.empty());
      EXPECT_TRUE(gpu.image.pixels.empty()) << "pixels are not computed on the CPU";
      EXPECT_EQ(shown(sharing_, gpu.image), shown(sending_, cpu.image));
    }
  EXPECT_EQ(log_.painted, 4);
  refresh_values(gpu, {.result = on_gpu}, Field::a_storage);
  refresh_image(gpu, {0, 0, 96, 16}, width, height);
  EXPECT_FALSE(gpu.image.pixels.empty()) << "the GPU has no matrix of parts of an error";
  refresh_values(gpu, {.result = on_cpu}, Field::a);
  refresh_image(gpu, {0, 0, 96, 16}, width, height);
  EXPECT_FALSE(gpu.image.source.on_device) << "the matrices of the previous result are released";
}

TEST_F(TexturePictures, OfAPictureInThePlaceOfAnotherAreItsOwn) {
  const auto result = std::make_shared<const Result>(compute(sized_experiment(96, 16)));
  HeatState picture;
  for (const Field field : {Field::golden, Field::a_error}) {
    picture = HeatState{};
    refresh_values(picture, {.result = result}, field);
    refresh_image(picture, {0, 0, 96, 16}, width, height);
    Texture fresh;
    EXPECT_EQ(shown(sending_, picture.image), shown(fresh, picture.image));
  }
}

TEST_F(TexturePictures, AreSharedOnceAndPaintedWhenTheyChange) {
  PixelImage image = described(whole_);
  shown(sharing_, image);
  shown(sharing_, image);
  EXPECT_EQ(log_.painted, 1) << "nothing changed";
  image.source.cells = part_;
  ++image.version;
  expect_shown_as_sent(image, part_);
  EXPECT_EQ(log_.painted, 2);
  EXPECT_EQ(log_.shared, 1) << "the texture kept its size";
  log_.serves = false;
  ++image.version;
  shown(sharing_, image);
  EXPECT_EQ(log_.shared, 2) << "the matrices moved to another GPU";
}

TEST_F(TexturePictures, AreNoLongerSharedBeforeTheTextureChangesOrGoes) {
  Log log;
  {
    Texture texture(stand_in(log)), sending;
    PixelImage image = described(whole_);
    shown(texture, image);
    image.width = 100;
    EXPECT_EQ(shown(texture, image), shown(sending, sent(whole_, 100)));
    EXPECT_EQ(log.shared, 2);
    EXPECT_EQ(log.alive, 1);
    const PixelImage another = described(part_);
    shown(texture, another);  // releases the share of `image`
    EXPECT_EQ(log.alive, 1);
    shown(texture, sent(part_));  // releases the share of `another`
    EXPECT_EQ(log.alive, 0);
    shown(texture, another);
  }
  EXPECT_EQ(log.alive, 0);
}

TEST_F(TexturePictures, WithPixelsOfTheirOwnEndTheSharing) {
  PixelImage image = described(whole_);
  shown(sharing_, image);
  const std::vector<std::uint8_t> expected = shown(sending_, sent(part_));
  image = sent(part_);
  EXPECT_EQ(shown(sharing_, image), expected);
  EXPECT_EQ(log_.alive, 0);
}

TEST_F(TexturePictures, AreMadeHereWhenTheGpuFailsAndOneSentenceSaysSo) {
  PixelImage image = described(whole_);
  shown(sharing_, image);
  log_.breaks = true;
  image.source.cells = part_;
  ++image.version;
  expect_shown_as_sent(image, part_);
  EXPECT_EQ(sharing_.take_remark(),
            "Pictures are copied from the CPU now, since the GPU cannot draw them: The GPU fell off the bus.");
  EXPECT_EQ(sharing_.take_remark(), "");
  EXPECT_EQ(log_.alive, 0);
  log_.breaks = false;
  ++image.version;
  expect_shown_as_sent(image, part_);
  EXPECT_EQ(log_.shared, 1) << "a GPU that failed is not used again";
  EXPECT_EQ(sharing_.take_remark(), "");
}

TEST_F(TexturePictures, WithoutPixelsAndSourceAreNotDrawn) {
  Texture texture;
  const std::vector<std::uint8_t> nothing = shown(texture, PixelImage{});
  EXPECT_EQ(shown(texture, PixelImage{.width = 50, .height = 50}), nothing);
  PixelImage cut = sent(whole_);
  cut.pixels.resize(5);
  EXPECT_EQ(shown(texture, cut), nothing);
}

}  // namespace
}  // namespace attoscope
