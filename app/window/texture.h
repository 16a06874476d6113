/// Pictures of values on the GPU: R32F textures, coloured when drawn.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "ui/frame/pixel_image.h"

struct ImDrawCmd;
struct ImDrawList;
struct ImVec2;

namespace attoscope::app {

/// A GL texture that another API writes. Destroy it before the texture is deleted or resized.
class SharedTexture {
 public:
  virtual ~SharedTexture() = default;
  /// True if it can paint this source.
  virtual bool serves(const ui::CellSource& source) const = 0;
  /// Writes the whole picture; GL may use the texture after it returns. Throws std::runtime_error.
  virtual void paint(const ui::CellSource& source, int width, int height) = 0;
};

/// Shares a GL texture of one float per texel with the GPU of a source; null if that GPU does not draw the current context.
/// Throws std::runtime_error with one sentence if sharing fails.
using ShareTexture = std::function<std::unique_ptr<SharedTexture>(unsigned texture, const ui::CellSource& source)>;

/// Sharing by CUDA, for one context; null for every texture in a build without CUDA.
ShareTexture cuda_sharing();

/// Owner of an OpenGL object's name, which deletes it in the context that created it.
template <void (*destroy)(unsigned)>
class GlObject {
 public:
  GlObject() = default;
  explicit GlObject(unsigned name) : name_(name) {}
  ~GlObject() {
    if (name_ != 0) destroy(name_);
  }
  GlObject(GlObject&& other) noexcept : name_(std::exchange(other.name_, 0)) {}
  GlObject& operator=(GlObject other) noexcept {
    std::swap(name_, other.name_);
    return *this;
  }
  explicit operator bool() const { return name_ != 0; }
  unsigned get() const { return name_; }

 private:
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

/// Paints PixelImages. Used on the thread and context that created it; must outlive the frame.
/// An image is identified by its address, and sent again when its version or size changed. The GPU with the image's source
/// writes the texture itself if it draws this context; otherwise, or on failure, pixels are made on the CPU and sent. The
/// picture is the same.
class Texture {
 public:
  /// `share` empty: all pixels are made on the CPU. Needs a current OpenGL 3.3 context; throws std::runtime_error if the shader
  /// cannot be built.
  explicit Texture(ShareTexture share = cuda_sharing());

  /// Adds the image to the draw list, over [min, max]. Equal sizes map values to pixels one to one; others repeat or skip
  /// values. Call between ImGui's NewFrame and Render.
  void paint(ImDrawList* list, const ImVec2& min, const ImVec2& max, const ui::PixelImage& image,
             const ui::Colouring& colouring);

  /// Drops images that were not painted since the last call; call once a frame, after rendering.
  void end_frame();

  /// One sentence on why pictures are now copied from the CPU, returned once; else "".
  std::string take_remark() { return std::exchange(remark_, {}); }

 private:
  /// An image on the GPU.
  struct Slot {
    const ui::PixelImage* image = nullptr;
    std::uint64_t version = 0;
    int width = 0, height = 0;       ///< of the image
    int texels_x = 0, texels_y = 0;  ///< of the texture; smaller if the image exceeds the limit
    bool painted = false;
    GlTexture texture{};
    std::unique_ptr<SharedTexture> shared{};  ///< last, so that it is destroyed first
  };
  struct Draw;
  static void draw(const ImDrawList* list, const ImDrawCmd* command);

  const Slot& slot_of(const ui::PixelImage& image);
  void fill(Slot& slot, const ui::PixelImage& image);
  bool paint_by_source(Slot& slot, const ui::PixelImage& image);
  void upload(Slot& slot, const ui::PixelImage& image);
  const GlTexture& table(bool diverging, ui::Theme theme);
  int uniform(const char* name) const;

  GlProgram program_;
  GlVertexArray vertex_array_;
  std::list<Slot> slots_;
  std::array<GlTexture, 2 * ui::theme_names.size()> tables_;
  ShareTexture share_;
  bool shares_ = true;  ///< false after sharing failed
  std::string remark_;
  int limit_ = 0;
};

}  // namespace attoscope::app
