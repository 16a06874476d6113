/// Textures that the GPU with the matrices writes into itself, so that a picture goes from kernel to screen without the host.
#pragma once

#include <functional>
#include <memory>

#include "ui/frame/pixel_image.h"

namespace attoscope {

/// A GL texture that something else than GL writes into. Ends before the texture does, and before that gets another size.
class SharedTexture {
 public:
  virtual ~SharedTexture() = default;
  /// True if it can paint what lies where this source lies.
  virtual bool serves(const CellSource& source) const = 0;
  /// Writes the whole picture; GL may use the texture again when this returns. Throws std::runtime_error.
  virtual void paint(const CellSource& source, int width, int height) = 0;
};

/// Shares a GL texture of one float a texel with the GPU on which a source lies; null where that does not draw in the current
/// context. Throws std::runtime_error in a sentence where it does, but refuses.
using ShareTexture = std::function<std::unique_ptr<SharedTexture>(unsigned texture, const CellSource& source)>;

/// Sharing by CUDA. Belongs to one context; null for every texture in a build without CUDA.
ShareTexture cuda_sharing();

}  // namespace attoscope
