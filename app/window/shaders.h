/// Shaders of the heat map (GLSL 3.30).
#pragma once

namespace attoscope {

/// A rectangle from two corners in clip space; no buffers.
inline constexpr char vertex_shader[] = R"(#version 330 core
uniform vec4 corners;  // left, top, right, bottom
out vec2 place;        // 0 .. 1, from the top left
void main() {
  vec2 unit = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  place = unit;
  gl_Position = vec4(mix(corners.xy, corners.zw, unit), 0.0, 1.0);
}
)";

/// `colour_entry` of ui/widgets/colours.cpp, and a look-up in its table. NaN and infinity are tested by their bits, as drivers
/// may assume that there are none.
inline constexpr char fragment_shader[] = R"(#version 330 core
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

}  // namespace attoscope
