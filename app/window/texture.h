/// Pictures of values on the GPU: R32F textures coloured where they are drawn.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/window/texture_cuda.h"
#include "ui/frame/pixel_image.h"

struct ImDrawCmd;

struct ImDrawList;
struct ImVec2;

namespace attoscope {

/// The name of an OpenGL object, deleted with its owner in the context that made it.
template <void (*destroy)(unsigned)>
class GlObject {
 public:
  GlObject() = default;
  explicit GlObject(unsigned name) : name_(name) {}
  ~GlObject() { reset(); }
  GlObject(GlObject&& other) noexcept : name_(other.name_) { other.name_ = 0; }
  GlObject& operator=(GlObject&& other) noexcept {
    if (this != &other) {
      reset();
      name_ = other.name_;
      other.name_ = 0;
    }
    return *this;
  }
  explicit operator bool() const { return name_ != 0; }
  unsigned get() const { return name_; }

 private:
  void reset() {
    if (name_ != 0) destroy(name_);
    name_ = 0;
  }
  unsigned name_ = 0;
};

namespace gl {
void destroy_texture(unsigned name);
void destroy_program(unsigned name);
void destroy_vertex_array(unsigned name);
}  // namespace gl
using GlTexture = GlObject<gl::destroy_texture>;
using GlProgram = GlObject<gl::destroy_program>;
using GlVertexArray = GlObject<gl::destroy_vertex_array>;

/// A texture and what shares it, which ends first: also where others take their place.
template <class Name, class Shared>
struct SharedPair {
  Name texture{};
  std::unique_ptr<Shared> shared{};  ///< last, so it ends first

  SharedPair() = default;
  SharedPair(SharedPair&&) noexcept = default;
  SharedPair& operator=(SharedPair&& other) noexcept {
    if (this == &other) return *this;
    shared.reset();
    texture = std::move(other.texture);
    shared = std::move(other.shared);
    return *this;
  }
};

/// Paints PixelImages. Belongs to the thread and context that made it, and outlives the frame that it paints.
/// An image is known by its address: what lies there is sent to the GPU again when its version or size changed. Where the GPU
/// with the image's source draws this context, it writes the texture itself; where it does not, or fails, pixels are made here
/// and sent. The picture is the same.
class Texture {
 public:
  /// An empty `share`: every picture is made here and sent. Needs a current OpenGL 3.3 context; throws std::runtime_error if
  /// the shader does not build.
  explicit Texture(ShareTexture share = cuda_sharing());

  /// Adds the image to the draw list, over [min, max]. One value becomes one pixel where the sizes agree, and blocks or
  /// dropped pixels where they do not. Call it between ImGui's NewFrame and Render.
  void paint(ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image, const Colouring& colouring);

  /// Forgets the images that were not painted since the last call; once a frame, after rendering.
  void end_frame();

  /// One sentence about why pictures are copied from now on, once; or "".
  std::string take_remark() { return std::exchange(remark_, {}); }

 private:
  /// One image on the GPU.
  struct Slot {
    const PixelImage* image = nullptr;
    std::uint64_t version = 0;
    int width = 0, height = 0;       ///< of the image
    int texels_x = 0, texels_y = 0;  ///< of the texture: smaller than the image where that exceeds the limit
    bool painted = false;
    SharedPair<GlTexture, SharedTexture> on_gpu{};
  };
  struct Draw;
  static void draw(const ImDrawList* list, const ImDrawCmd* command);

  const Slot& slot_of(const PixelImage& image);
  void fill(Slot& slot, const PixelImage& image);
  bool paint_by_source(Slot& slot, const PixelImage& image);
  void upload(Slot& slot, const PixelImage& image);
  const GlTexture& table(bool diverging, Theme theme);
  int uniform(const char* name) const;

  GlProgram program_;
  GlVertexArray vertex_array_;
  std::vector<Slot> slots_;
  std::array<GlTexture, 2 * theme_names.size()> tables_;
  ShareTexture share_;
  bool shares_ = true;  ///< until sharing failed
  std::string remark_;
  int limit_ = 0;
};

}  // namespace attoscope
