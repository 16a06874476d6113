/// Textures written by the GPU that holds the matrices, without copies through the host.
#pragma once

#include <functional>
#include <memory>

#include "ui/frame/pixel_image.h"

namespace attoscope::app {

/// A GL texture that is not written by GL. Destroy it before the texture is deleted or resized.
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

}  // namespace attoscope::app
