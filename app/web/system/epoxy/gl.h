/// OpenGL ES 3.0 (WebGL 2 of browsers) instead of OpenGL 3.3.
#pragma once

#include <GLES3/gl3.h>

#include <cstring>

inline int epoxy_gl_version() { return 33; }

/// Sets the source; replaces a first line of OpenGL 3.3 by that of GLSL ES.
inline void glsl_es_source(GLuint shader, GLsizei count, const GLchar* const* parts, const GLint* sizes) {
  static constexpr char core[] = "#version 330 core",
                        es[] = "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp sampler2D;";
  if (count < 1 || count > 2 || std::strncmp(parts[0], core, sizeof core - 1) != 0)
    return glShaderSource(shader, count, parts, sizes);
  const GLchar* const sources[] = {es, parts[0] + sizeof core - 1, count > 1 ? parts[1] : ""};
  glShaderSource(shader, 3, sources, nullptr);
}
#define glShaderSource glsl_es_source
