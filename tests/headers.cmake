# Every header compiles alone: one source file each that includes it twice.
file(GLOB headers RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/kernels/*.h ${CMAKE_SOURCE_DIR}/app/*.h ${CMAKE_SOURCE_DIR}/tests/*.h)
if(ATTOSCOPE_GUI)
  file(GLOB ui_headers RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ui/*.h)
  list(APPEND headers ${ui_headers})
else()
  list(FILTER headers EXCLUDE REGEX "^app/(window|texture|app|draw)")
endif()

set(sources)
foreach(header ${headers})
  string(REPLACE "/" "_" source ${header})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${source}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()

add_library(attoscope_headers OBJECT ${sources})
foreach(target attoscope_kernels attoscope_ui attoscope_app attoscope_warnings GTest::gtest)
  if(TARGET ${target})
    target_link_libraries(attoscope_headers PRIVATE ${target})
  endif()
endforeach()
