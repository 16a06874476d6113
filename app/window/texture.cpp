#include "app/window/texture.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "imgui.h"
#include "ui/widgets/colours.h"

namespace attoscope::app {

void gl::destroy_texture(unsigned name) { glDeleteTextures(1, &name); }
void gl::destroy_program(unsigned name) { glDeleteProgram(name); }
void gl::destroy_vertex_array(unsigned name) { glDeleteVertexArrays(1, &name); }

namespace {

// Shaders of the heat map (GLSL 3.30).

/// A rectangle from two corners in clip space; no buffers.
constexpr char vertex_shader[] = R"(#version 330 core
uniform vec4 corners;  // left, top, right, bottom
out vec2 place;        // 0 .. 1, from the top left
void main() {
  vec2 unit = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  place = unit;
  gl_Position = vec4(mix(corners.xy, corners.zw, unit), 0.0, 1.0);
}
)";

/// `colour_entry` of ui/widgets/colours.cpp, and a look-up in its table. Tests NaN and infinity by their bits, because drivers
/// may assume that there are none.
constexpr char fragment_shader[] = R"(#version 330 core
uniform sampler2D values;
uniform sampler2D table;
uniform ivec2 texels;
uniform bool logarithmic, diverging;
uniform float range, inverse_knee, factor, centre, reach, nothing, masked;
uniform int map_size;
in vec2 place;
out vec4 colour;

float signed_log(float x) { return sign(x) * log(abs(x) + sqrt(x * x + 1.0)); }

int entry(float value) {
  uint bits = floatBitsToUint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return map_size;
  if (magnitude == 0x7f800000u) return map_size + (bits == magnitude ? 1 : 2);
  if (bits == floatBitsToUint(nothing)) return map_size + 3;
  if (bits == floatBitsToUint(masked)) return map_size + (mod(gl_FragCoord.x + gl_FragCoord.y, 7.0) < 1.5 ? 4 : 3);
  float v = clamp(diverging ? value : abs(value), -range, range);
  float share = clamp((logarithmic ? signed_log(v * inverse_knee) : v) * factor, -1.0, 1.0);
  return int(centre + reach * share + 0.5);
}

void main() {
  ivec2 texel = clamp(ivec2(floor(place * vec2(texels))), ivec2(0), texels - 1);
  colour = texelFetch(table, ivec2(entry(texelFetch(values, texel, 0).r), 0), 0);
}
)";

/// Restores unpacking parameters and the bound texture.
class UnpackState {
 public:
  UnpackState() {
    glGetIntegerv(GL_TEXTURE_BINDING_2D, &texture_);
    glGetIntegerv(GL_UNPACK_ALIGNMENT, &alignment_);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  }
  ~UnpackState() {
    glPixelStorei(GL_UNPACK_ALIGNMENT, alignment_);
    glBindTexture(GL_TEXTURE_2D, static_cast<unsigned>(texture_));
  }
  UnpackState(UnpackState&&) = delete;

 private:
  int texture_ = 0, alignment_ = 4;
};

/// A texture that is read only by texelFetch.
GlTexture make_texture() {
  unsigned name = 0;
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_2D, name);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  return GlTexture(name);
}

void attach(const GlProgram& program, unsigned kind, const char* source) {
  const unsigned shader = glCreateShader(kind);
  glShaderSource(shader, 1, &source, nullptr);
  glCompileShader(shader);
  glAttachShader(program.get(), shader);
  glDeleteShader(shader);  // deleted with the program
}

GlProgram build_program() {
  GlProgram program(glCreateProgram());
  attach(program, GL_VERTEX_SHADER, vertex_shader);
  attach(program, GL_FRAGMENT_SHADER, fragment_shader);
  glLinkProgram(program.get());
  int linked = 0;
  glGetProgramiv(program.get(), GL_LINK_STATUS, &linked);
  if (linked) return program;
  char log[512] = "";
  glGetProgramInfoLog(program.get(), sizeof log, nullptr, log);
  throw std::runtime_error(std::string("This OpenGL driver cannot build the heat map's shader: ") + log);
}

/// Priority of a value in shrunk images: NaN, infinity, then |value|; `masked` and `nothing` last.
float weight(float value) {
  if (std::isnan(value)) return std::numeric_limits<float>::infinity();
  if (std::isinf(value)) return std::numeric_limits<float>::max();
  return value == ui::PixelImage::nothing ? -1 : value == ui::PixelImage::masked ? -0.5f : std::fabs(value);
}

std::size_t pixel_count(const ui::PixelImage& image) {
  return static_cast<std::size_t>(std::max(image.width, 0)) * static_cast<std::size_t>(std::max(image.height, 0));
}

/// True if the image has pixels, or values to make them from.
bool is_whole(const ui::PixelImage& image) {
  return pixel_count(image) > 0 &&
         (!image.pixels.empty() ? image.pixels.size() >= pixel_count(image) : image.source.values != nullptr);
}

/// Pixels of the image, made on the CPU.
std::vector<float> pooled(const ui::PixelImage& image) {
  const ui::CellSource& s = image.source;
  return sampled(*s.values, s.rows, s.cols, s.cells, image.width, image.height, ui::PixelImage::nothing);
}

/// The image at a smaller size; each pixel shows the value of highest priority below it.
std::vector<float> shrunk(const ui::PixelImage& image, std::span<const float> pixels, int width, int height) {
  std::vector<float> out(static_cast<std::size_t>(width) * height, ui::PixelImage::nothing);
  for (int y = 0; y < image.height; ++y) {
    const std::size_t row = static_cast<std::size_t>(static_cast<std::int64_t>(y) * height / image.height) * width;
    for (int x = 0; x < image.width; ++x) {
      const float value = pixels[static_cast<std::size_t>(y) * image.width + x];
      float& shown = out[row + static_cast<std::size_t>(static_cast<std::int64_t>(x) * width / image.width)];
      if (weight(value) > weight(shown)) shown = value;
    }
  }
  return out;
}

/// The rectangle in framebuffer pixels; its corner is rounded, its size is the image's if nearly equal.
ImVec4 snapped(const ImVec2& min, const ImVec2& max, const ImVec2& origin, const ImVec2& scale, int width, int height) {
  const float x0 = std::round((min.x - origin.x) * scale.x), y0 = std::round((min.y - origin.y) * scale.y);
  const float w = (max.x - min.x) * scale.x, h = (max.y - min.y) * scale.y;
  return {x0, y0, x0 + (std::fabs(w - width) < 1.5f ? width : w), y0 + (std::fabs(h - height) < 1.5f ? height : h)};
}

/// Restricts drawing to the command's clip rectangle; false if that is empty.
bool clip_to(const ImVec4& clip, const ImVec2& origin, const ImVec2& scale, const ImVec2& size) {
  const float x0 = std::max((clip.x - origin.x) * scale.x, 0.0f), x1 = std::min((clip.z - origin.x) * scale.x, size.x);
  const float y0 = std::max((clip.y - origin.y) * scale.y, 0.0f), y1 = std::min((clip.w - origin.y) * scale.y, size.y);
  if (x1 <= x0 || y1 <= y0) return false;
  glScissor(static_cast<int>(x0), static_cast<int>(size.y - y1), static_cast<int>(x1 - x0), static_cast<int>(y1 - y0));
  return true;
}

}  // namespace

/// Data of the draw callback; copied into the draw list.
struct Texture::Draw {
  const Texture* owner;
  ImVec2 min, max;
  unsigned values, table;
  int width, height, texels_x, texels_y;
  ui::Mapping mapping;
};

Texture::Texture(ShareTexture share) : program_(build_program()), share_(std::move(share)) {
  unsigned name = 0;
  glGenVertexArrays(1, &name);
  vertex_array_ = GlVertexArray(name);
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &limit_);
}

int Texture::uniform(const char* name) const { return glGetUniformLocation(program_.get(), name); }

void Texture::paint(ImDrawList* list, const ImVec2& min, const ImVec2& max, const ui::PixelImage& image,
                    const ui::Colouring& colouring) {
  if (list == nullptr || !is_whole(image)) return;
  const UnpackState restored_at_the_end;
  const Slot& slot = slot_of(image);
  Draw draw{this,        min,          max,           slot.texture.get(), table(colouring.diverging, colouring.theme).get(),
            image.width, image.height, slot.texels_x, slot.texels_y,      mapping(colouring)};
  list->AddCallback(&Texture::draw, &draw, sizeof draw);
  list->AddCallback(ImGui::GetPlatformIO().DrawCallback_ResetRenderState, nullptr);
}

void Texture::end_frame() {
  std::erase_if(slots_, [](const Slot& slot) { return !slot.painted; });
  for (Slot& slot : slots_) slot.painted = false;
}

const Texture::Slot& Texture::slot_of(const ui::PixelImage& image) {
  auto slot = std::ranges::find(slots_, &image, &Slot::image);
  if (slot == slots_.end()) slot = slots_.insert(slot, Slot{.image = &image});
  if (!slot->texture || slot->version != image.version || slot->width != image.width || slot->height != image.height)
    fill(*slot, image);
  slot->painted = true;
  return *slot;
}

void Texture::fill(Slot& slot, const ui::PixelImage& image) {
  const int width = std::min(image.width, limit_), height = std::min(image.height, limit_);
  if (slot.texels_x != width || slot.texels_y != height) {
    slot.shared.reset();
    slot.texture = make_texture();
    glTexImage2D(GL_TEXTURE_2D, 0, GL_R32F, width, height, 0, GL_RED, GL_FLOAT, nullptr);
  }
  slot.texels_x = width;
  slot.texels_y = height;
  if (!paint_by_source(slot, image)) upload(slot, image);
  slot.version = image.version;
  slot.width = image.width;
  slot.height = image.height;
}

/// Lets the GPU with the image's source write the texture; false if it cannot.
bool Texture::paint_by_source(Slot& slot, const ui::PixelImage& image) {
  const bool fits = slot.texels_x == image.width && slot.texels_y == image.height;
  if (!share_ || !image.source.on_device || !shares_ || !fits) return false;
  try {
    if (slot.shared && !slot.shared->serves(image.source)) slot.shared.reset();
    if (!slot.shared) slot.shared = share_(slot.texture.get(), image.source);
    if (!slot.shared) return false;
    slot.shared->paint(image.source, image.width, image.height);
    return true;
  } catch (const std::runtime_error& error) {
    slot.shared.reset();
    shares_ = false;
    remark_ = std::string("Pictures are copied from the CPU now, since the GPU cannot draw them: ") + error.what();
    return false;
  }
}

void Texture::upload(Slot& slot, const ui::PixelImage& image) {
  slot.shared.reset();
  const std::vector<float> made = image.pixels.empty() ? pooled(image) : std::vector<float>{};
  const std::span<const float> pixels = made.empty() ? std::span<const float>(image.pixels) : made;
  const bool fits = slot.texels_x == image.width && slot.texels_y == image.height;
  const std::vector<float> smaller = fits ? std::vector<float>{} : shrunk(image, pixels, slot.texels_x, slot.texels_y);
  glBindTexture(GL_TEXTURE_2D, slot.texture.get());
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, slot.texels_x, slot.texels_y, GL_RED, GL_FLOAT,
                  fits ? pixels.data() : smaller.data());
}

const GlTexture& Texture::table(bool diverging, ui::Theme theme) {
  GlTexture& texture = tables_[2 * static_cast<std::size_t>(theme) + (diverging ? 1 : 0)];
  if (!texture) {
    const ui::ColourTable colours = colour_table(diverging, theme);
    texture = make_texture();
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, ui::entry::count, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, colours.data());
  }
  return texture;
}

void Texture::draw(const ImDrawList*, const ImDrawCmd* command) {
  const Draw& d = *static_cast<const Draw*>(command->UserCallbackData);
  const ImDrawData& data = *ImGui::GetDrawData();
  const ImVec2 scale = data.FramebufferScale, size(data.DisplaySize.x * scale.x, data.DisplaySize.y * scale.y);
  if (!clip_to(command->ClipRect, data.DisplayPos, scale, size)) return;
  const ImVec4 box = snapped(d.min, d.max, data.DisplayPos, scale, d.width, d.height);
  const Texture& t = *d.owner;
  glUseProgram(t.program_.get());
  glBindVertexArray(t.vertex_array_.get());
  glUniform4f(t.uniform("corners"), box.x / size.x * 2 - 1, 1 - box.y / size.y * 2, box.z / size.x * 2 - 1,
              1 - box.w / size.y * 2);
  glUniform2i(t.uniform("texels"), d.texels_x, d.texels_y);
  glUniform1i(t.uniform("logarithmic"), d.mapping.log);
  glUniform1i(t.uniform("diverging"), d.mapping.diverging);
  glUniform1f(t.uniform("range"), d.mapping.range);
  glUniform1f(t.uniform("inverse_knee"), d.mapping.inverse_knee);
  glUniform1f(t.uniform("factor"), d.mapping.factor);
  glUniform1f(t.uniform("centre"), d.mapping.centre);
  glUniform1f(t.uniform("reach"), d.mapping.reach);
  glUniform1f(t.uniform("nothing"), ui::PixelImage::nothing);
  glUniform1f(t.uniform("masked"), ui::PixelImage::masked);
  glUniform1i(t.uniform("map_size"), ui::entry::map_size);
  glUniform1i(t.uniform("values"), 0);
  glUniform1i(t.uniform("table"), 1);
  glActiveTexture(GL_TEXTURE1);
  glBindTexture(GL_TEXTURE_2D, d.table);
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D, d.values);
  glBindSampler(0, 0);  // the backend's sampler would filter
  glBindSampler(1, 0);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

}  // namespace attoscope::app
