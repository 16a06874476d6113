# CMAKE_PROJECT_INCLUDE of the build for browsers. SSE instructions map to one or several vector instructions of WebAssembly
# with the same rounding. Never -mrelaxed-simd: its fma may round once or twice.
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -msimd128 -msse2 -fwasm-exceptions -fexperimental-library -DFMT_HEADER_ONLY -include ${CMAKE_CURRENT_LIST_DIR}/from_chars.h -isystem ${CMAKE_CURRENT_LIST_DIR}/system -isystem ${ATTOSCOPE_WEB_LIBRARIES}/include")
set(CMAKE_FIND_ROOT_PATH ${ATTOSCOPE_WEB_LIBRARIES})
foreach(name nlohmann_json CLI11 fmt)  # header only
  set(${name}_DIR ${CMAKE_CURRENT_LIST_DIR}/headers)
endforeach()
set(ENV{PKG_CONFIG_LIBDIR} ${ATTOSCOPE_WEB_LIBRARIES}/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH} ${ATTOSCOPE_WEB_LIBRARIES}/lib/pkgconfig)
set(PKG_CONFIG_USE_CMAKE_PREFIX_PATH OFF)
# Headers of `instead` replace the program's headers of the same path.
set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -DIMGUI_IMPL_OPENGL_ES3 -iquote ${CMAKE_CURRENT_LIST_DIR}/instead")
foreach(name glfw3 epoxy egl fontconfig)  # emscripten's own, and replacements in app/web
  file(WRITE ${ATTOSCOPE_WEB_LIBRARIES}/lib/pkgconfig/${name}.pc "Name: ${name}\nDescription: none\nVersion: 3.3\n")
endforeach()
