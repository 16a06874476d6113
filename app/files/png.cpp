#include "app/files/png.h"

#include <png.h>

#include <stdexcept>

#include "app/files/files.h"

namespace attoscope::app {
namespace {

[[noreturn]] void fail(png_image& image) {
  const std::string reason = image.message;
  png_image_free(&image);
  throw std::runtime_error("Cannot make a PNG picture: " + reason + ".");
}

}  // namespace

std::string to_png(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);  // upper bound, to compress only once
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.rgb.data(), 0, nullptr)) fail(image);
  bytes.resize(size);
  return bytes;
}

void write_png(const std::string& path, const Picture& picture) { write_file(path, to_png(picture)); }

}  // namespace attoscope::app
